"""The page of an identification: what it is worth first, then joints, parameters and figures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ukctrl.core.arrays import Vector
from ukctrl.core.number_text import number, sentence
from ukctrl.core.verdict import Verdict
from ukctrl.reports import html_page
from ukctrl.reports.plot import panels, style
from ukctrl.reports.report_table import Mark, ReportTable, TableCell, TableColumn
from ukctrl_identification.consistent_parameters import MODEL_DEVIATION
from ukctrl_identification.identification_verdicts import UNSURE, unexplained
from ukctrl_identification.identify import Identification
from ukctrl_identification.validation import WINDOWS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MAX_JOINTS = 12
"""Of more joints, those with the largest share unexplained are drawn."""
CAPTIONS = {
    "identify_efforts": (
        "Efforts of unseen motions",
        "What was measured, filtered, and what the identified robot and the model as it was ask "
        "for along the same motion. Nothing of it was used for the fit.",
    ),
    "identify_residuals": (
        "What is left",
        "Measured minus predicted efforts of the same motion. Bumps that come back with the motion "
        "are what the model does not have; noise has none.",
    ),
    "identify_parameters": (
        "Base parameters",
        "Each as identified beside its model's value, in standard deviations of the fit: how far "
        "the log moves it, and so how much it tells.",
    ),
}


def page(
    result: Identification, judgements: Sequence[Verdict]
) -> tuple[str, list[html_page.PageFigure]]:
    """Return the page and its figures."""
    draw: dict[str, Callable[[], Figure]] = {
        "identify_efforts": lambda: _effort_figure(result, residuals=False),
        "identify_residuals": lambda: _effort_figure(result, residuals=True),
        "identify_parameters": lambda: _parameter_figure(result),
    }
    figures = [html_page.page_figure(name, *CAPTIONS[name], make) for name, make in draw.items()]
    outcome, *more = judgements
    context = {
        "title": f"{result.robot.title}, as logs tell it",
        "what": "identification",
        "robot": result.robot.name,
        "logs": ", ".join(result.sources),
        "outcome": outcome,
        "headline": sentence(outcome.text),
        "verdicts": more,
        "joints": joint_table(result),
        "open_loop": open_loop_table(result),
        "bodies": body_table(result),
        "parameters": parameter_table(result),
        "figures": figures,
        "facts": facts(result),
        "contents": [
            ("outcome", "Outcome"), ("joints", "Joint by joint"), ("bodies", "Bodies"),
            *((figure.name, figure.title) for figure in figures), ("parameters", "Base parameters"),
            ("facts", "Facts"),
        ],
    }  # fmt: skip
    return html_page.render("identify.html.j2", context), figures


def joint_table(result: Identification) -> ReportTable:
    """Return a line a joint: what is left of its effort, before and after."""
    columns = [
        TableColumn("joint", "name"), TableColumn("unit", "unit"), TableColumn("as it was"),
        TableColumn("identified"), TableColumn("where fitted"), TableColumn("least squares"),
        TableColumn("unexplained"), TableColumn("correlation"),
    ]  # fmt: skip
    unseen, share = result.validation, unexplained(result)
    rows = []
    for k, name in enumerate(result.rows):
        before, after, free = (unseen[source].rms[k] for source in ("model", "consistent", "fit"))
        rows.append([
            TableCell(name), TableCell(result.unit(k)), TableCell(number(before)),
            TableCell(number(after), "best"), TableCell(number(result.training.rms[k])),
            TableCell(number(free)), TableCell(f"{number(100.0 * share[k])} %"),
            TableCell(f"{unseen['consistent'].correlation[k]:.2f}"),
        ])  # fmt: skip
    return ReportTable.from_rows(columns, rows)


def open_loop_table(result: Identification) -> ReportTable | None:
    """Return a line a joint: where the robot is when it is left to the logged efforts."""
    if not np.isfinite(result.open_loop["consistent"]).all():
        return None
    columns = [TableColumn("joint", "name"), TableColumn("unit", "unit")]
    columns += [TableColumn(f"after {window:g} s") for window in WINDOWS]
    rows = [
        [name, unit.removesuffix("/s"), *map(number, result.open_loop["consistent"][:, i])]
        for i, (name, unit) in enumerate(
            zip(result.robot.dofs, result.robot.dof_units, strict=True)
        )
    ]
    return ReportTable.from_rows(columns, rows)


def body_table(result: Identification) -> ReportTable:
    """Return a line a body: its mass and centre, with deviations, beside the model's."""
    columns = [
        TableColumn("body", "name"), TableColumn("mass of the model [kg]"),
        TableColumn("identified [kg]"), TableColumn("deviation [kg]"),
        TableColumn("centre of mass [m]", "text"), TableColumn("told by", "text"),
    ]  # fmt: skip
    values, deviations = result.consistent.values, np.sqrt(np.diag(result.consistent.covariance))
    model, rows = result.regression.model_values(), []
    for first in range(0, result.regression.inertial, 10):
        name = result.regression.parameters[first].owner
        m, h = values[first], values[first + 1 : first + 4]
        if not m > 0.0:
            continue
        told = "the model" if deviations[first] > 0.8 * MODEL_DEVIATION * m else "the log, too"
        centre = ", ".join(f"{x:.4f}" for x in h / m)
        rows.append([
            name, number(model[first]), number(m), number(deviations[first]), centre, told
        ])  # fmt: skip
    return ReportTable.from_rows(columns, rows)


def parameter_table(result: Identification) -> ReportTable:
    """Return a line a base parameter: its formula, value, deviation, and the model's value."""
    columns = [
        TableColumn("base parameter", "text"), TableColumn("unit", "unit"), TableColumn("value"),
        TableColumn("deviation"), TableColumn("model"),
    ]  # fmt: skip
    model = result.base.values(result.regression.model_values())
    rows = []
    for at, k in enumerate(result.base.independent):
        value, deviation = result.fit.values[at], result.fit.deviations[at]
        mark: Mark = "faint" if deviation > UNSURE * abs(value) else ""
        rows.append([
            TableCell(result.formulas[at]), TableCell(result.regression.parameters[k].unit),
            TableCell(number(value), mark), TableCell(number(deviation), mark),
            TableCell(number(model[at])),
        ])  # fmt: skip
    return ReportTable.from_rows(columns, rows)


def facts(result: Identification) -> list[tuple[str, str]]:
    """Return how it was done."""
    seen, unseen = result.samples
    constants = ", ".join(
        f"{name} {number(value)} {unit} (deviation {number(deviation)})"
        for name, value, deviation, unit in result.motor_constants()
    )
    return [
        ("logs", ", ".join(result.sources)),
        ("samples", f"{seen} fitted, {unseen} held out"),
        ("filter", "none" if not np.isfinite(result.cutoff) else f"{result.cutoff:.4g} Hz, of "
         "equations as a whole; positions at twice that, forwards and backwards"),
        ("motion", f"99 % of the power of the speeds is below {result.frequency:.3g} Hz"),
        *([("motor constants", constants)] if constants else []),
        ("base parameters", str(len(result.base.independent))),
        ("condition number",
         f"{result.excited.condition:.3g}, columns of unit length and weighted"),
        ("noise", ", ".join(f"{name} {number(x)}" for name, x in
                            zip(result.rows, result.fit.noise, strict=True))),
        ("samples for an independent one", ", ".join(f"{x:.3g}" for x in result.fit.thinning)),
    ]  # fmt: skip


@style.styled
def _effort_figure(result: Identification, *, residuals: bool) -> Figure:
    """Draw efforts of unseen motions, or what is left of them."""
    order = np.argsort(-unexplained(result), kind="stable")[:MAX_JOINTS]
    names = {"consistent": "identified", "model": "the model as it was"}
    keys = [] if residuals else [panels.LegendEntry("measured", style.PALETTE[2], "-")]
    keys += [
        panels.LegendEntry(names[source], color, dash)
        for source, color, dash in zip(names, style.PALETTE, ("-", "--"), strict=False)
    ]
    time = result.time - result.time[0]

    def panel(k: int) -> panels.Panel:
        curves = [] if residuals else [result.measured[:, k]]
        for source in names:
            y = result.predicted[source][:, k]
            curves.append(result.measured[:, k] - y if residuals else y)

        def draw(axes: Axes, width: float) -> None:
            for key, y in zip(keys, curves, strict=True):
                x, thinned = panels.thin(time, panels.finite_on_paper(y))
                axes.plot(x, thinned, key.dash, color=key.color)
            panels.fit_y_axis(axes, np.array(curves).T)
            axes.set_ylabel(f"{'left' if residuals else 'effort'} [{result.unit(k)}]")

        return panels.Panel(panels.shorten(result.rows[k]), draw)

    drawn = [panel(int(k)) for k in sorted(order)]
    return panels.grid(panels.widen_single(drawn), height=1.6, keys=keys)


@style.styled
def _parameter_figure(result: Identification) -> Figure:
    """Draw base parameters beside the model's, in deviations of the fit."""
    model = result.base.values(result.regression.model_values())
    with np.errstate(divide="ignore", invalid="ignore"):
        moved: Vector = (result.fit.values - model) / result.fit.deviations
    moved = np.nan_to_num(moved, posinf=0.0, neginf=0.0)
    at = np.arange(len(moved), dtype=np.float64)

    def draw(axes: Axes, width: float) -> None:
        axes.axhspan(-2.0, 2.0, color="0.92", linewidth=0)
        axes.plot(at, moved, "o", color=style.PALETTE[0], markersize=3)
        axes.set_yscale("symlog", linthresh=2.0)
        axes.yaxis.set_major_formatter(lambda y, _: f"{y:g}")
        axes.margins(x=0.02)
        axes.set_ylabel("moved [deviations]")

    return panels.grid(
        [panels.Panel("moved by the log, in deviations", draw, columns=2)],
        height=2.2, x_label="base parameter, in the order of the table",
    )  # fmt: skip
