"""The report of one run: a single HTML page that needs nothing beside it, and its figures.

Everything comes from the [`Result`][ukctrl.Result], so the page can be
made again from a saved directory: `write_report(Result.load("out"), "out")`.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ukctrl.core.argument_errors import explain_argument_errors
from ukctrl.core.arguments import expect
from ukctrl.core.files import AnyPath
from ukctrl.core.number_text import duration, number, sentence, si, si_prefix, unit_text
from ukctrl.core.tie_breaking import first_largest
from ukctrl.core.verdict import Level, Verdict
from ukctrl.reports import html_page, plot
from ukctrl.reports.plot.style import styled
from ukctrl.reports.report_table import ReportTable, TableColumn, metric_description
from ukctrl.reports.scene.page_data import PageData
from ukctrl.reports.scene.run_scene import run_scene
from ukctrl.robot import Robot
from ukctrl.simulation.result import metrics, sample_measures
from ukctrl.simulation.result.atomic_files import toml_text
from ukctrl.simulation.result.logged_channels import log_differences
from ukctrl.simulation.result.metrics.metric_table import SETTLED_FLOOR
from ukctrl.simulation.result.result import Result
from ukctrl.simulation.result.run_id import run_id_of_result
from ukctrl.simulation.result.verdicts import headline

LOG_CAPTION = "Short dashes are the log of the real robot."
_AUDIT_LEVELS: Mapping[str, Level] = {"error": "bad", "warning": "warning"}


class KeyNumber(NamedTuple):
    """One key number."""

    name: str
    value: str
    unit: str
    note: str = ""


@explain_argument_errors
def write_report(result: Result, directory: AnyPath, robot: Robot | None = None) -> Path:
    """Write `report.html` and its figures as PNG files, each in one atomic step.

    Figures of an earlier run that this one does not have are removed.

    Args:
        result: The run.
        directory: Where to write.
        robot: Its robot, where it is at hand; absent: loaded as the result's scenario names it.

    Returns:
        The page.

    Raises:
        InputError: The directory cannot be written to.
    """
    result = expect("result", result, Result, "which simulate returns")
    images = page_figures(result)
    scene = html_page.embed_scene(run_scene(result, robot))
    texts = {"report.html": html(result, images, scene)}
    run_id = run_id_of_result(result.provenance)
    return html_page.write_page("the report", Path(directory), texts, images, plot.FIGURES, run_id)


@styled
def page_figures(result: Result) -> list[html_page.PageFigure]:
    """Draw every figure that has something to show."""
    logged = () if result.logged is None else ("path", "errors", "inputs", "motion")
    return [
        html_page.page_figure(
            name,
            plot.FIGURES[name].title,
            f"{plot.FIGURES[name].caption} {LOG_CAPTION if name in logged else ''}".rstrip(),
            functools.partial(plot.draw, result, name),
        )
        for name in plot.available(result)
    ]


def html(
    result: Result,
    images: Sequence[html_page.PageFigure],
    scene: PageData | None = None,
) -> str:
    """Return the page, with figures from `page_figures` and the moving robot."""
    audit = _audit(result.provenance)
    scenario = toml_text(result.scenario)
    contents = [("verdicts", "Verdicts"), *((image.name, image.title) for image in images)]
    contents.append(("metrics", "Metrics"))
    contents += [("audit", "Audit")] if audit else []
    contents += [("scenario", "Scenario")] if scenario else []
    contents.append(("provenance", "Provenance"))
    context = {
        "title": result.title,
        "names": result.names,
        "status": result.status,
        "status_level": result.status_level,
        "belief": result.belief,
        "headline": headline(result),
        "source": str(result.scenario.get("source") or "").rstrip("."),
        "contents": contents,
        "tiles": key_numbers(result),
        "verdicts": result.verdicts,
        "figures": images,
        "metrics": _metric_table(result),
        "blocks": _block_table(result),
        "differences": _difference_table(result),
        "audit": audit,
        "scenario": html_page.highlight_toml(scenario),
        "provenance": html_page.provenance_entries(result.provenance),
    }
    return html_page.render("report.html.j2", context, scene)


def key_numbers(result: Result) -> list[KeyNumber]:
    """Return the six numbers that a reader wants first."""
    if len(result.samples) == 0:
        return []
    if not result.labels.rows:
        return _free_tiles(result)
    level = sample_measures.error_level(result.samples)
    tiles = [
        _motion_tile(result),
        _error_tile(result, "largest error", f"peak_{level}"),
        _error_tile(result, "error at the end", f"final_{level}"),
        _settling_tile(result, level),
        _input_tile(result),
        _tile("work", result.metric("work"), "J", "energy that flows back is not subtracted"),
    ]
    return [tile for tile in tiles if tile.value != "–"]


def _settling_tile(result: Result, level: str) -> KeyNumber:
    """Return when an initial error has settled; of a start on the path, which has none, the rms."""
    if sample_measures.error_norm(result.samples, level)[0] <= SETTLED_FLOOR:
        return _error_tile(result, "rms error", f"rms_{level}")
    settled = result.metric("settling_time")
    if math.isfinite(settled):
        return KeyNumber("settled after", number(settled), "s", "to 2 % of the initial error")
    return KeyNumber("settled after", "not yet", "", "to 2 % of the initial error")


def _free_tiles(result: Result) -> list[KeyNumber]:
    """Return what matters where there is no task: whether the motion can be believed."""
    unit = metrics.unit_in("peak_passive_phi", result.labels)
    tiles = [
        _motion_tile(result),
        _tile("energy", float(result["energy"][0]), "J", "at the start"),
        _tile("energy drift", result.metric("energy_drift"), "J", "at worst"),
        _tile("closures open by", result.metric("peak_passive_phi"), unit, "at worst"),
    ]
    return [tile for tile in tiles if tile.value != "–"]


def _motion_tile(result: Result) -> KeyNumber:
    timing = result.provenance.get("timing")
    wall = timing.get("wall_seconds") if isinstance(timing, Mapping) else None
    took = f"simulated in {duration(float(wall))}" if isinstance(wall, int | float) else ""
    return KeyNumber("motion", number(float(result.time[-1] - result.time[0]), 4), "s", took)


def _error_tile(result: Result, label: str, name: str) -> KeyNumber:
    """Return an error; of two servo blocks with units of their own, each by itself."""
    labels = result.labels
    named = {block: result.metrics.get(f"{name}.{block}", math.nan) for block in labels.blocks}
    named = {block: value for block, value in named.items() if math.isfinite(value)}
    unit = metrics.unit_in(name, labels)
    if len(named) != 2 or "," not in unit:
        return _tile(label, result.metric(name), unit, "norm of all rows")
    (first, value), (second, second_value) = named.items()
    units = [metrics.unit_in(f"{name}.{block}", labels) for block in named]
    return _tile(
        label, value, units[0], f"in '{first}'; {si(second_value, units[1])} in '{second}'"
    )


def _input_tile(result: Result) -> KeyNumber:
    """Return the largest input, with the actuator that gave it."""
    if result["u"].size == 0:
        return KeyNumber("largest input", "–", "")
    peaks = np.array([np.nan_to_num(np.abs(series)).max() for series in result["u"].T])
    k = first_largest(peaks)
    unit = result.labels.actuator_units[k]
    return _tile("largest input", float(peaks[k]), unit, f"by '{result.labels.actuators[k]}'")


def _tile(label: str, value: float, unit: str, aside: str) -> KeyNumber:
    if 1e-12 <= abs(value) < 0.1 and "," not in unit:
        factor, text = si_prefix(abs(value), unit)
        return KeyNumber(label, number(factor * value), text, aside)
    return KeyNumber(label, number(value), unit_text(unit), aside)


def _metric_table(result: Result) -> ReportTable:
    """Return the metrics of the whole run.

    Without servo rows there is no task, and nothing to say about it.
    """
    labels = result.labels
    values = [TableColumn("value"), *([TableColumn("log")] if result.log_metrics else [])]
    columns = [TableColumn("metric", "name"), *values, TableColumn("unit", "unit")]
    return ReportTable.from_rows(
        [*columns, TableColumn("meaning", "meaning")],
        (
            [
                name,
                number(result.metric(name), 4),
                *([number(result.log_metrics[name], 4)] if result.log_metrics else []),
                unit_text(metrics.unit_in(name, labels)),
                metric_description(name),
            ]
            for name, metric in metrics.METRICS.items()
            if labels.rows or not metric.about_task
        ),
    )


def _block_table(result: Result) -> ReportTable | None:
    """Return the metrics of each servo block; None when a single block is the whole task."""
    labels = result.labels
    if len(labels.blocks) < 2:
        return None
    names = [name for name, metric in metrics.METRICS.items() if metric.per_block]
    sources = [("", result.metrics), (" in the log", result.log_metrics)]
    return ReportTable.from_rows(
        [TableColumn("block", "text"), *map(TableColumn, names)],
        (
            [f"{block}{label}"]
            + [si(values[name], metrics.unit_in(name, labels)) for name in of_block]
            for block in labels.blocks
            for of_block in ([f"{name}.{block}" for name in names],)
            for label, values in sources
            if values
        ),
    )


def _difference_table(result: Result) -> ReportTable | None:
    """Return how far the run is from its log, channel by channel; None where there is none."""
    columns = TableColumn("channel", "name"), TableColumn("rms"), TableColumn("largest")
    rows = [
        [f"{one.quantity}.{one.name}", si(one.rms, one.unit), si(one.largest, one.unit)]
        for one in log_differences(result.samples)
    ]
    return ReportTable.from_rows(columns, rows) if rows else None


def _audit(provenance: Mapping[str, Any]) -> list[Verdict]:
    """Return what loading the robot found, worst first."""
    entries = []
    for entry in provenance.get("audit") or []:
        level = _AUDIT_LEVELS.get(str(entry.get("level")), "note")
        subject = str(entry.get("subject") or entry.get("code") or "robot")
        entries.append(Verdict(level, subject, sentence(str(entry.get("message", "")))))
    order = ("bad", "warning", "note")
    return sorted(entries, key=lambda verdict: order.index(verdict.level))
