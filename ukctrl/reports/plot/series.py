"""Everything over time: motion, inputs, errors, energy, passive rows, grip, measured, signals."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ukctrl.core.arrays import Array
from ukctrl.core.number_text import si_prefix, unit_text
from ukctrl.reports.plot import line_labels, marks, panels, style
from ukctrl.simulation.result import sample_measures
from ukctrl.simulation.result.logged_channels import is_logged
from ukctrl.simulation.result.quantities import FIELDS, common_unit, per_second
from ukctrl.simulation.result.result import Result
from ukctrl.simulation.result.result_files import netcdf_variables
from ukctrl.simulation.result.verdicts.error_floor import NEGLIGIBLE, ErrorFloor, error_floor

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@style.styled
def motion(result: Result) -> Figure:
    """Draw the configuration on the left and the velocity on the right, a row for each unit."""
    labels = result.labels
    left, right = _columns_by_unit(labels.coordinate_units), _columns_by_unit(labels.dof_units)
    pairs: list[tuple[str | None, str | None]] = [
        (unit, per_second(unit)) for unit in left if per_second(unit) in right
    ]
    matched = {unit for pair in pairs for unit in pair}
    alone = [[unit for unit in groups if unit not in matched] for groups in (left, right)]
    pairs.extend(itertools.zip_longest(alone[0], alone[1]))  # quaternions, cosines and sines
    drawn = []
    for at_position, at_velocity in pairs:
        of_position = _unit_panels(result, "q", at_position, left, labels.coordinates)
        of_velocity = _unit_panels(result, "v", at_velocity, right, labels.dofs)
        for row in itertools.zip_longest(of_position, of_velocity):
            shown = [panel for panel in row if panel is not None]
            drawn += [panel._replace(columns=3 - len(shown)) for panel in shown]
    return panels.grid(drawn)


@style.styled
def inputs(result: Result) -> Figure:
    """Draw the inputs, a panel for each unit, with finite limits and the times at a limit."""
    labels = result.labels
    groups = [
        (unit, chunk)
        for unit, columns in _columns_by_unit(labels.actuator_units).items()
        for chunk in line_labels.split_columns(columns)
    ]
    wide = len(groups) % 2  # an odd number of panels: the first takes both columns
    drawn = []
    for k, (unit, columns) in enumerate(groups):

        def draw(
            axes: Axes, legend_width: float, unit: str = unit, columns: list[int] = columns
        ) -> None:
            values, names = _columns(result, "u", columns), [labels.actuators[i] for i in columns]
            ends = marks.input_limits(result, columns)
            marks.shade_saturation(axes, result, columns)
            marks.draw_commands(axes, result, columns)
            panels.lines(axes, result.time, values, names, legend_width)
            axes.set_ylabel(f"u [{unit_text(unit)}]")
            panels.fit_y_axis(axes, values)
            marks.mark_limits(axes, values, ends, names)
            marks.mark_exceeded(axes, result.time, values, ends, when=False)
            marks.draw_log(axes, result.time, _logged(result, "u", columns))
            marks.draw_switches(axes, result)

        title = {"N m": "torques", "N": "forces"}.get(unit, "inputs")
        drawn.append(panels.Panel(title, draw, columns=2 if wide and k == 0 else 1))
    return panels.grid(drawn, height=2.2)


@style.styled
def errors(result: Result) -> Figure:
    """Draw the error of each servo block on a log scale, and of each row on a linear one."""
    labels = result.labels
    drawn = []
    for name, symbol, meaning in (("phi", "φ", "position level"), ("beta", "β", "velocity level")):
        norms = {
            block: sample_measures.error_norm(result.samples, name, block)
            for block in labels.blocks
        }
        norms = {block: norm for block, norm in norms.items() if np.isfinite(norm).any()}
        if norms:
            drawn.append(_norms(result, norms, name, f"|{symbol}| at {meaning}"))
    drawn = panels.widen_single(drawn)
    with_phi = sample_measures.holonomic_rows(result.samples)
    shown = [("phi", "φ", i) for i in with_phi] or [
        ("beta", "β", i) for i in range(len(labels.rows))
    ]
    rows = _columns_by_unit([labels.row_units[i] for _, _, i in shown])
    for k, (unit, columns) in enumerate(rows.items()):
        picked = [shown[c] for c in columns]
        name, symbol = picked[0][:2]
        wide = len(rows) % 2 and k == len(rows) - 1
        chunks = line_labels.split_columns([int(i) for _, _, i in picked])
        for chunk in chunks:
            panel = _scaled_rows(result, name, symbol, unit, chunk)
            drawn.append(panel._replace(columns=2 if wide and len(chunks) == 1 else 1))
    return panels.grid(drawn)


@style.styled
def energy(result: Result) -> Figure:
    """Draw the total energy beside what was fed in, and what remains unaccounted for."""
    total = result["energy"]
    imbalance = sample_measures.energy_imbalance(result.samples)

    def balance(axes: Axes, legend_width: float) -> None:
        curves = {"E(t)": total, "E(0) + energy fed in": total - imbalance}
        finite_curves = {name: y for name, y in curves.items() if np.isfinite(y).any()}
        values = np.stack(list(finite_curves.values()), axis=1)
        for k, (name, y) in enumerate(finite_curves.items()):
            x, shown = panels.thin(result.time, panels.finite_on_paper(y))
            width, dash = ((4.0, "-"), (1.2, "--"))[k]
            color = (style.PALETTE[5], style.INK)[k]
            axes.plot(x, shown, dash, color=color, linewidth=width, label=name)
        axes.set_ylabel("energy [J]")
        panels.fit_y_axis(axes, panels.finite_on_paper(values))
        line_labels.legend(axes, legend_width)

    drawn = [panels.Panel("energy", balance)]
    if np.isfinite(imbalance).any():
        factor, unit = si_prefix(marks.largest(imbalance), "J")
        values, label = factor * imbalance[:, None], f"imbalance [{unit}]"
        drawn.append(_lines("unaccounted energy", label, result.time, values, [""]))
    return panels.grid(panels.widen_single(drawn))


@style.styled
def passive(result: Result) -> Figure:
    """Draw how far the passive constraints drift from where physics holds them."""
    units = result.labels.passive_row_units
    drawn = []
    for name, symbol, level in (
        ("passive_phi", "φ", "position level"),
        ("passive_beta", "β", "velocity level"),
    ):
        norm = sample_measures.error_norm(result.samples, name)
        if np.isfinite(norm).any():
            unit = common_unit(units if name == "passive_phi" else map(per_second, units))

            text = f"|{symbol}| [{unit_text(unit) or '1'}]"

            def draw(
                axes: Axes,
                legend_width: float,
                norm: Array = norm,
                text: str = text,
                level: str = name.removeprefix("passive_"),
            ) -> None:
                promised = error_floor(result, level)
                _log_lines(axes, result.time, norm[:, None], [""], legend_width, promised)
                axes.set_ylabel(text)

            drawn.append(panels.Panel(f"passive drift at {level}", draw))
    if "reaction" in result.samples:
        return panels.grid([*drawn, *_reactions(result)])
    names = result.labels.dofs
    force = result["passive_force"]
    groups = _columns_by_unit(FIELDS["passive_force"].units(result.labels))
    for unit, columns in groups.items():
        if np.nan_to_num(force[:, columns]).any():
            for panel in _unit_panels(result, "passive_force", unit, groups, names):
                drawn.append(panel._replace(title="force of the passive rows"))
    return panels.grid(drawn)


@style.styled
def grip(result: Result) -> Figure:
    """Draw rank and smallest singular value of `H = A G`, and what was out of reach."""
    drawn = []
    for name, title, log in (
        ("rank", "rank of H", False),
        ("sigma_min", "smallest singular value of H", True),
        ("reach", "demand out of reach", True),
    ):
        if name in result.samples and np.isfinite(result[name]).any():

            def draw(axes: Axes, legend_width: float, name: str = name, log: bool = log) -> None:
                values = panels.finite_on_paper(result[name])[:, None]
                if log:
                    floor = ErrorFloor(NEGLIGIBLE, "rounding") if name == "reach" else None
                    _log_lines(axes, result.time, values, [""], legend_width, floor)
                else:
                    x, y = panels.thin(result.time, values[:, 0])
                    axes.step(x, y, where="post", color=style.PALETTE[0])
                    axes.set_ylim(-0.3, len(result.labels.rows) + 0.3)
                    axes.locator_params(axis="y", integer=True, nbins=6)
                unit = unit_text(FIELDS[name].units(result.labels)[0])
                axes.set_ylabel(f"[{unit}]" if unit else "rank")

            drawn.append(panels.Panel(title, draw))
    return panels.grid(drawn)


@style.styled
def signals(result: Result) -> Figure:
    """Draw what the controller recorded about itself; an error in one panel with its bound."""
    drawn = []
    signals = (name for name in result.samples.signals if not is_logged(name))
    shown = [name for name in signals if np.isfinite(result[name]).any()]
    errors = [name for name in shown if name.endswith("_error")]
    bounds = {name: name.removesuffix("_error") + "_bound" for name in errors}
    for name in shown:
        if name in bounds.values():
            continue
        signal, values = result.samples.signals[name], result[name]
        values = values[:, None] if values.ndim == 1 else values
        names = list(signal.components) or [""]
        if bounds.get(name) in shown:
            values = np.column_stack([values, result[bounds[name]]])
            names = ["error", "bound"]
        title = panels.shorten(signal.long_name or name, panels.LEGEND_NAME)
        unit = unit_text(signal.units)
        label = panels.shorten(name) + (f" [{unit}]" if unit else "")
        drawn.append(_lines(title, label, result.time, values, names, result))
    return panels.grid(drawn)


@style.styled
def quantity(result: Result, name: str) -> Figure:
    """Draw one recorded quantity over time, a panel for each unit."""
    variables, values = netcdf_variables(result.samples), np.asarray(result[name], dtype=float)
    names = [""]
    for dim, size in zip(variables[name].dims[1:], values.shape[1:], strict=True):
        entries = [str(entry) for entry in variables[dim].values] if dim in variables else []
        entries = entries or [str(k) for k in range(size)]
        names = [f"{prefix} {entry}".strip() for prefix in names for entry in entries]
    signal = result.samples.signals.get(name)
    units = [signal.units] if signal is not None else FIELDS[name].units(result.labels) or [""]
    groups = _columns_by_unit([unit for unit in units for _ in range(len(names) // len(units))])
    flat, title = values.reshape(len(values), -1), variables[name].attributes["long_name"]
    drawn = []
    for unit, columns in groups.items():
        label = f"{name} [{unit_text(unit)}]" if unit_text(unit) else name
        shown = [names[k] or name for k in columns]
        drawn.append(_lines(title, label, result.time, flat[:, columns], shown))
    return panels.grid(panels.widen_single(drawn))


@style.styled
def measured(result: Result) -> Figure:
    """Draw by how much the measured state is off the true one, a panel for each unit.

    At output times between two ticks that is the measurement of the last tick. The end of the run
    is no tick and left out.
    """
    labels = result.labels
    named = {"q": labels.coordinates, "v": labels.dofs}
    drawn = [
        panel
        for name, names in named.items()
        for panel in _error_panels(
            result,
            (result[f"{name}_measured"] - result[name]),
            FIELDS[name].units(labels),
            ("measurement error", f"{name} measured - true", names),
        )
    ]
    return panels.grid(drawn)


@style.styled
def estimated(result: Result) -> Figure:
    """Draw by how much the true state is off the estimate, and what the observer says of that."""
    labels, drawn = result.labels, list[panels.Panel]()
    for name in ("q", "v"):
        field = f"{name}_estimate_error"
        words = "estimation error", f"{name} true - estimated", labels.dofs
        drawn += _error_panels(result, result[field], FIELDS[field].units(labels), words)
    for field, quantity in (("estimated", "estimated"), ("error", "true - estimated")):
        if (field := f"disturbance_{field}") in result.samples:
            words = "force that is not explained", quantity, labels.dofs
            drawn += _error_panels(result, result[field], FIELDS[field].units(labels), words)
    if "nees" in result.samples:
        both = np.column_stack([result["nees"], result["nis"]])
        words = "consistency", "squared error / covariance", ("state, NEES", "reading, NIS")
        drawn += _error_panels(result, both, ("1", "1"), words)
    return panels.grid(drawn)


def _error_panels(
    result: Result, off: Array, units: Sequence[str], words: tuple[str, str, Sequence[str]]
) -> Iterator[panels.Panel]:
    """Yield a panel for each unit of errors at ticks: of all samples but the last.

    ``words`` are title, label and names of the columns.
    """
    title, quantity, names = words
    upto = max(len(result.time) - 1, 1)
    off = panels.finite_on_paper(off[:upto])
    for unit, at in _columns_by_unit(units).items():
        factor, text = si_prefix(float(np.nanmax(np.abs(off[:, at]), initial=0.0)), unit)
        label, chosen = f"{quantity} [{text or '1'}]", [names[i] for i in at]
        yield _lines(title, label, result.time[:upto], factor * off[:, at], chosen)


def _reactions(result: Result) -> Iterator[panels.Panel]:
    """Yield a panel for each unit: the length of every constraint's reaction in that unit."""
    sizes = sample_measures.reaction_norms(result.samples)
    for unit in dict.fromkeys(unit for _, unit in sizes):
        named = {block: size for (block, of), size in sizes.items() if of == unit}
        values, label = np.column_stack(list(named.values())), f"|λ| [{unit_text(unit)}]"
        yield _lines("reactions", label, result.time, values, list(named))._replace(columns=2)


def _columns_by_unit(units: Sequence[str]) -> dict[str, list[int]]:
    """Return each unit with the columns that have it, in order of appearance."""
    columns: dict[str, list[int]] = {}
    for i, unit in enumerate(units):
        columns.setdefault(unit, []).append(i)
    return columns


_TITLES = {"rad": "angles", "m": "positions", "1": "orientation", "rad/s": "angular velocities"}


def _unit_panels(
    result: Result,
    name: str,
    unit: str | None,
    groups: Mapping[str, list[int]],
    names: Sequence[str],
) -> Iterator[panels.Panel]:
    """Yield the panels of all that has a unit, each with no more lines than it can name."""
    if unit is None:
        return
    title = _TITLES.get(unit, "velocities" if name == "v" else "coordinates")
    symbol = f"{name} " if name in ("q", "v") else ""
    label = f"{symbol}[{unit_text(unit) or '1'}]"
    columns, shared = groups[unit], result.labels.coordinates
    with_position = [k for k in columns if names[k] in shared]  # so that a row has the same joints
    without_position = [k for k in columns if names[k] not in shared]
    together = (
        [columns] if len(columns) <= line_labels.FULL_LEGEND else [with_position, without_position]
    )
    for columns in itertools.chain(*map(line_labels.split_columns, together)):
        values, chosen = _columns(result, name, columns), [names[i] for i in columns]
        panel = _lines(title, label, result.time, values, chosen, result)
        yield _with_limits(panel, result, name, columns, chosen) if symbol else panel


def _with_limits(
    panel: panels.Panel, result: Result, name: str, columns: list[int], names: Sequence[str]
) -> panels.Panel:
    """Return a panel with the limits of its joints, and with what is beyond them."""
    ends = marks.joint_limits(result, name, columns)

    def draw(axes: Axes, legend_width: float) -> None:
        panel.draw(axes, legend_width)
        values = _columns(result, name, columns)
        marks.mark_limits(axes, values, ends, names)
        marks.mark_exceeded(axes, result.time, values, ends)
        marks.draw_log(axes, result.time, _logged(result, name, columns))

    return panel._replace(draw=draw)


def _columns(result: Result, name: str, columns: Sequence[int]) -> Array:
    """Return some columns of an array; neighbours are not copied, for there may be many rows."""
    first, last = columns[0], columns[-1] + 1
    values = result[name]
    return values[:, first:last] if last - first == len(columns) else values[:, columns]


def _logged(result: Result, name: str, columns: Sequence[int]) -> Array | None:
    """Return what was logged of some columns of an array; None where there is no log."""
    return None if result.logged is None else result.logged[name][:, columns]


def _lines(
    title: str,
    label: str,
    time: Array,
    values: Array,
    names: Sequence[str],
    switched: Result | None = None,
    scale: float = 1.0,
) -> panels.Panel:
    """Return a panel of columns over time, with the switches of a result where it is given."""

    def draw(axes: Axes, legend_width: float) -> None:
        panels.lines(axes, time, values, names, legend_width, scale)
        axes.set_ylabel(label)
        panels.fit_y_axis(axes, values, scale=scale)
        if switched is not None:
            marks.draw_switches(axes, switched)

    return panels.Panel(title, draw)


def _norms(result: Result, norms: dict[str, Array], name: str, title: str) -> panels.Panel:
    def draw(axes: Axes, legend_width: float) -> None:
        values, promised = np.stack(list(norms.values()), axis=1), error_floor(result, name)
        _log_lines(axes, result.time, values, list(norms), legend_width, promised)
        if (logged := result.logged) is not None:
            columns = [sample_measures.error_norm(logged, name, block) for block in norms]
            marks.draw_log(axes, result.time, np.stack(columns, axis=1))
        units = [
            result.labels.row_units[i] for block in norms for i in result.labels.block_rows(block)
        ]
        unit = common_unit(units if name == "phi" else map(per_second, units))
        axes.set_ylabel(f"error [{unit_text(unit) or '1'}]")

    return panels.Panel(title, draw)


def _log_lines(
    axes: Axes,
    time: Array,
    values: Array,
    names: Sequence[str],
    legend_width: float,
    promised: ErrorFloor | None = None,
) -> None:
    panels.log_scale(axes, values, floor=promised.size if promised else 0.0)
    panels.lines(axes, time, np.where(values > 0.0, values, 1e-300), names, legend_width)
    if promised:
        marks.grey_floor(axes, promised)


def _scaled_rows(
    result: Result, name: str, symbol: str, unit: str, rows: list[int]
) -> panels.Panel:
    values, promised = _columns(result, name, rows), error_floor(result, name)
    largest = marks.largest(values)
    floor_band = [promised.size, -promised.size] if largest < promised.size else []
    unit = unit if name == "phi" else per_second(unit)
    factor, text = si_prefix(max([largest, *floor_band]), unit)
    label, names = f"{symbol} [{text or '1'}]", [result.labels.rows[i] for i in rows]
    panel = _lines("error of each row", label, result.time, values, names, scale=factor)

    def draw(axes: Axes, legend_width: float) -> None:
        panel.draw(axes, legend_width)
        if floor_band:
            panels.fit_y_axis(axes, values, [factor * end for end in floor_band], scale=factor)
            marks.grey_floor(axes, promised, scale=factor)
        marks.draw_log(axes, result.time, _logged(result, name, rows), factor)

    return panel._replace(draw=draw)
