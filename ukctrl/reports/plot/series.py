"""Everything over time: motion, inputs, errors, energy, passive rows, grip, measured, signals."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ukctrl.core.arrays import Array
from ukctrl.core.number_text import prefixed, unit_text
from ukctrl.reports.plot import marks, naming, panels, style
from ukctrl.simulation.result import measures
from ukctrl.simulation.result.quantities import FIELDS, common_unit, per_second
from ukctrl.simulation.result.result import Result
from ukctrl.simulation.result.verdicts.scales import NEGLIGIBLE, Promise, promise

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@style.styled
def motion(result: Result) -> Figure:
    """Draw the configuration on the left and the velocity on the right, a row for each unit."""
    labels = result.labels
    left, right = _groups(labels.coordinate_units), _groups(labels.dof_units)
    pairs: list[tuple[str | None, str | None]] = [
        (unit, per_second(unit)) for unit in left if per_second(unit) in right
    ]
    matched = {unit for pair in pairs for unit in pair}
    alone = [[unit for unit in groups if unit not in matched] for groups in (left, right)]
    pairs.extend(itertools.zip_longest(alone[0], alone[1]))  # quaternions, cosines and sines
    drawn = []
    for at_position, at_velocity in pairs:
        of_position = _group(result, "q", at_position, left, labels.coordinates)
        of_velocity = _group(result, "v", at_velocity, right, labels.dofs)
        for row in itertools.zip_longest(of_position, of_velocity):
            shown = [panel for panel in row if panel is not None]
            drawn += [panel._replace(columns=3 - len(shown)) for panel in shown]
    return panels.grid(drawn)


@style.styled
def inputs(result: Result) -> Figure:
    """Draw the inputs, a panel for each unit, with finite limits and the times at a limit."""
    labels = result.labels
    groups = [
        (unit, part)
        for unit, columns in _groups(labels.actuator_units).items()
        for part in naming.parted(columns)
    ]
    wide = len(groups) % 2  # an odd number of panels: the first takes both columns
    drawn = []
    for k, (unit, columns) in enumerate(groups):

        def draw(axes: Axes, room: float, unit: str = unit, columns: list[int] = columns) -> None:
            values, names = _columns(result, "u", columns), [labels.actuators[i] for i in columns]
            ends = marks.input_limits(result, columns)
            marks.saturation(axes, result, columns)
            marks.commands(axes, result, columns)
            panels.lines(axes, result.time, values, names, room)
            axes.set_ylabel(f"u [{unit_text(unit)}]")
            panels.fit(axes, values)
            marks.limits(axes, values, ends, names)
            marks.beyond(axes, result.time, values, ends, when=False)
            marks.switches(axes, result)

        title = {"N m": "torques", "N": "forces"}.get(unit, "inputs")
        drawn.append(panels.Panel(title, draw, columns=2 if wide and k == 0 else 1))
    return panels.grid(drawn, height=2.2)


@style.styled
def errors(result: Result) -> Figure:
    """Draw the error of each servo block on a log scale, and of each row on a linear one."""
    labels = result.labels
    drawn = []
    for name, symbol, meaning in (("phi", "φ", "position level"), ("beta", "β", "velocity level")):
        norms = {block: measures.error_norm(result.samples, name, block) for block in labels.blocks}
        norms = {block: norm for block, norm in norms.items() if np.isfinite(norm).any()}
        if norms:
            drawn.append(_norms(result, norms, name, f"|{symbol}| at {meaning}"))
    drawn = panels.alone_wide(drawn)
    with_phi = measures.holonomic(result.samples)
    shown = [("phi", "φ", i) for i in with_phi] or [
        ("beta", "β", i) for i in range(len(labels.rows))
    ]
    rows = _groups([labels.row_units[i] for _, _, i in shown])
    for k, (unit, columns) in enumerate(rows.items()):
        picked = [shown[c] for c in columns]
        name, symbol = picked[0][:2]
        wide = len(rows) % 2 and k == len(rows) - 1
        parts = naming.parted([int(i) for _, _, i in picked])
        for part in parts:
            panel = _scaled_rows(result, name, symbol, unit, part)
            drawn.append(panel._replace(columns=2 if wide and len(parts) == 1 else 1))
    return panels.grid(drawn)


@style.styled
def energy(result: Result) -> Figure:
    """Draw the total energy beside what was fed in, and what remains unaccounted for."""
    total = result["energy"]
    imbalance = measures.energy_imbalance(result.samples)

    def balance(axes: Axes, room: float) -> None:
        curves = {"E(t)": total, "E(0) + energy fed in": total - imbalance}
        known = {name: y for name, y in curves.items() if np.isfinite(y).any()}
        values = np.stack(list(known.values()), axis=1)
        for k, (name, y) in enumerate(known.items()):
            x, shown = panels.thin(result.time, panels.drawable(y))
            width, dash = ((4.0, "-"), (1.2, "--"))[k]
            color = (style.PALETTE[5], style.INK)[k]
            axes.plot(x, shown, dash, color=color, linewidth=width, label=name)
        axes.set_ylabel("energy [J]")
        panels.fit(axes, panels.drawable(values))
        naming.legend(axes, room)

    drawn = [panels.Panel("energy", balance)]
    if np.isfinite(imbalance).any():
        factor, unit = prefixed(marks.largest(imbalance), "J")
        values, label = factor * imbalance[:, None], f"imbalance [{unit}]"
        drawn.append(_lines("unaccounted energy", label, result.time, values, [""]))
    return panels.grid(panels.alone_wide(drawn))


@style.styled
def passive(result: Result) -> Figure:
    """Draw how far the passive constraints drift from where physics holds them."""
    units = result.labels.passive_row_units
    drawn = []
    for name, symbol, level in (
        ("passive_phi", "φ", "position level"),
        ("passive_beta", "β", "velocity level"),
    ):
        norm = measures.error_norm(result.samples, name)
        if np.isfinite(norm).any():
            unit = common_unit(units if name == "passive_phi" else map(per_second, units))

            text = f"|{symbol}| [{unit_text(unit) or '1'}]"

            def draw(
                axes: Axes,
                room: float,
                norm: Array = norm,
                text: str = text,
                level: str = name.removeprefix("passive_"),
            ) -> None:
                promised = promise(result, level)
                _log_lines(axes, result.time, norm[:, None], [""], room, promised)
                axes.set_ylabel(text)

            drawn.append(panels.Panel(f"passive drift at {level}", draw))
    if "reaction" in result.samples:
        return panels.grid([*drawn, *_reactions(result)])
    names = result.labels.dofs
    force = result["passive_force"]
    groups = _groups(FIELDS["passive_force"].units(result.labels))
    for unit, columns in groups.items():
        if np.nan_to_num(force[:, columns]).any():
            for panel in _group(result, "passive_force", unit, groups, names):
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

            def draw(axes: Axes, room: float, name: str = name, log: bool = log) -> None:
                values = panels.drawable(result[name])[:, None]
                if log:
                    known = Promise(NEGLIGIBLE, "rounding") if name == "reach" else None
                    _log_lines(axes, result.time, values, [""], room, known)
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
    shown = [name for name in result.samples.signals if np.isfinite(result[name]).any()]
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
        title = panels.short(signal.long_name or name, panels.LEGEND_NAME)
        unit = unit_text(signal.units)
        label = panels.short(name) + (f" [{unit}]" if unit else "")
        drawn.append(_lines(title, label, result.time, values, names, result))
    return panels.grid(drawn)


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
        for panel in _off(
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
        drawn += _off(result, result[field], FIELDS[field].units(labels), words)
    for field, said in (("estimated", "estimated"), ("error", "true - estimated")):
        if (field := f"disturbance_{field}") in result.samples:
            words = "force that is not explained", said, labels.dofs
            drawn += _off(result, result[field], FIELDS[field].units(labels), words)
    if "nees" in result.samples:
        both = np.column_stack([result["nees"], result["nis"]])
        words = "consistency", "squared error / covariance", ("state, NEES", "reading, NIS")
        drawn += _off(result, both, ("1", "1"), words)
    return panels.grid(drawn)


def _off(
    result: Result, off: Array, units: Sequence[str], words: tuple[str, str, Sequence[str]]
) -> Iterator[panels.Panel]:
    """Yield a panel for each unit of errors at ticks: of all samples but the last.

    ``words`` are title, label and names of the columns.
    """
    title, said, names = words
    upto = max(len(result.time) - 1, 1)
    off = panels.drawable(off[:upto])
    for unit, at in _groups(units).items():
        factor, text = prefixed(float(np.nanmax(np.abs(off[:, at]), initial=0.0)), unit)
        label, chosen = f"{said} [{text or '1'}]", [names[i] for i in at]
        yield _lines(title, label, result.time[:upto], factor * off[:, at], chosen)


def _reactions(result: Result) -> Iterator[panels.Panel]:
    """Yield a panel for each unit: the length of every constraint's reaction in that unit."""
    sizes = measures.reaction_sizes(result.samples)
    for unit in dict.fromkeys(unit for _, unit in sizes):
        named = {block: size for (block, of), size in sizes.items() if of == unit}
        values, label = np.column_stack(list(named.values())), f"|λ| [{unit_text(unit)}]"
        yield _lines("reactions", label, result.time, values, list(named))._replace(columns=2)


def _groups(units: Sequence[str]) -> dict[str, list[int]]:
    """Return each unit with the columns that have it, in order of appearance."""
    places: dict[str, list[int]] = {}
    for i, unit in enumerate(units):
        places.setdefault(unit, []).append(i)
    return places


_TITLES = {"rad": "angles", "m": "positions", "1": "orientation", "rad/s": "angular velocities"}


def _group(
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
    others = [k for k in columns if names[k] not in shared]
    together = [columns] if len(columns) <= naming.FULL_LEGEND else [with_position, others]
    for columns in itertools.chain(*map(naming.parted, together)):
        values, chosen = _columns(result, name, columns), [names[i] for i in columns]
        panel = _lines(title, label, result.time, values, chosen, result)
        yield _limited(panel, result, name, columns, chosen) if symbol else panel


def _limited(
    panel: panels.Panel, result: Result, name: str, columns: list[int], names: Sequence[str]
) -> panels.Panel:
    """Return a panel with the limits of its joints, and with what is beyond them."""
    ends = marks.joint_limits(result, name, columns)

    def draw(axes: Axes, room: float) -> None:
        panel.draw(axes, room)
        values = _columns(result, name, columns)
        marks.limits(axes, values, ends, names)
        marks.beyond(axes, result.time, values, ends)

    return panel._replace(draw=draw)


def _columns(result: Result, name: str, columns: Sequence[int]) -> Array:
    """Return some columns of an array; neighbours are not copied, for there may be many rows."""
    first, last = columns[0], columns[-1] + 1
    values = result[name]
    return values[:, first:last] if last - first == len(columns) else values[:, columns]


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

    def draw(axes: Axes, room: float) -> None:
        panels.lines(axes, time, values, names, room, scale)
        axes.set_ylabel(label)
        panels.fit(axes, values, scale=scale)
        if switched is not None:
            marks.switches(axes, switched)

    return panels.Panel(title, draw)


def _norms(result: Result, norms: dict[str, Array], name: str, title: str) -> panels.Panel:
    def draw(axes: Axes, room: float) -> None:
        values, promised = np.stack(list(norms.values()), axis=1), promise(result, name)
        _log_lines(axes, result.time, values, list(norms), room, promised)
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
    room: float,
    promised: Promise | None = None,
) -> None:
    panels.log_scale(axes, values, floor=promised.size if promised else 0.0)
    panels.lines(axes, time, np.where(values > 0.0, values, 1e-300), names, room)
    if promised:
        marks.rounding(axes, promised)


def _scaled_rows(
    result: Result, name: str, symbol: str, unit: str, rows: list[int]
) -> panels.Panel:
    values, promised = _columns(result, name, rows), promise(result, name)
    largest = marks.largest(values)
    beside = [promised.size, -promised.size] if largest < promised.size else []
    unit = unit if name == "phi" else per_second(unit)
    factor, text = prefixed(max([largest, *beside]), unit)
    label, names = f"{symbol} [{text or '1'}]", [result.labels.rows[i] for i in rows]
    panel = _lines("error of each row", label, result.time, values, names, scale=factor)

    def draw(axes: Axes, room: float) -> None:
        panel.draw(axes, room)
        if beside:
            panels.fit(axes, values, [factor * end for end in beside], scale=factor)
            marks.rounding(axes, promised, scale=factor)

    return panel._replace(draw=draw)
