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

from ukctrl.core.extremes import first_largest
from ukctrl.core.files import AnyPath
from ukctrl.core.number_text import duration, number, prefixed, sentence, si, unit_text
from ukctrl.core.verdict import Level, Verdict
from ukctrl.reports import plot, web_page
from ukctrl.reports.plot.style import styled
from ukctrl.reports.scene.from_results import of_result
from ukctrl.reports.table import Column, Table, meaning
from ukctrl.robot import Robot
from ukctrl.simulation.result import measures, metrics
from ukctrl.simulation.result.plain_files import toml_text
from ukctrl.simulation.result.result import Result
from ukctrl.simulation.result.run_id import run_id_in
from ukctrl.simulation.result.verdicts import headline

_AUDIT_LEVELS: Mapping[str, Level] = {"error": "bad", "warning": "warning"}


class Tile(NamedTuple):
    """One key number."""

    name: str
    value: str
    unit: str
    aside: str = ""


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
    images = pictures(result)
    scene = web_page.stage(of_result(result, robot))
    texts = {"report.html": html(result, images, scene)}
    run_id = run_id_in(result.provenance)
    return web_page.write_page("the report", Path(directory), texts, images, plot.FIGURES, run_id)


@styled
def pictures(result: Result) -> list[web_page.Picture]:
    """Draw every figure that has something to show."""
    return [
        web_page.picture(
            name,
            plot.FIGURES[name].title,
            plot.FIGURES[name].caption,
            functools.partial(plot.draw, result, name),
        )
        for name in plot.available(result)
    ]


def html(
    result: Result, images: Sequence[web_page.Picture], scene: web_page.Stage | None = None
) -> str:
    """Return the page, with figures from `pictures` and the moving robot."""
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
        "tiles": tiles(result),
        "verdicts": result.verdicts,
        "figures": images,
        "metrics": _metric_table(result),
        "blocks": _block_table(result),
        "audit": audit,
        "scenario": web_page.highlight_toml(scenario),
        "provenance": web_page.provenance_entries(result.provenance),
    }
    return web_page.render("report.html.j2", context, scene)


def tiles(result: Result) -> list[Tile]:
    """Return the six numbers that a reader wants first."""
    if len(result.samples) == 0:
        return []
    if not result.labels.rows:
        return _free_tiles(result)
    level = measures.error_level(result.samples)
    settled = result.metric("settling_time")
    after = number(settled) if math.isfinite(settled) else "not yet"
    tiles = [
        _motion_tile(result),
        _error_tile(result, "largest error", f"peak_{level}"),
        _error_tile(result, "error at the end", f"final_{level}"),
        Tile("settled after", after, "s" if after != "not yet" else "", "to 2 % of its start"),
        _input_tile(result),
        _tile("work", result.metric("work"), "J", "without recuperation"),
    ]
    return [tile for tile in tiles if tile.value != "–"]


def _free_tiles(result: Result) -> list[Tile]:
    """Return what matters where there is no task: whether the motion can be believed."""
    unit = metrics.unit_in("peak_passive_phi", result.labels)
    tiles = [
        _motion_tile(result),
        _tile("energy", float(result["energy"][0]), "J", "at the start"),
        _tile("energy drift", result.metric("energy_drift"), "J", "at worst"),
        _tile("closures open by", result.metric("peak_passive_phi"), unit, "at worst"),
    ]
    return [tile for tile in tiles if tile.value != "–"]


def _motion_tile(result: Result) -> Tile:
    timing = result.provenance.get("timing")
    wall = timing.get("wall_seconds") if isinstance(timing, Mapping) else None
    took = f"simulated in {duration(float(wall))}" if isinstance(wall, int | float) else ""
    return Tile("motion", number(float(result.time[-1] - result.time[0]), 4), "s", took)


def _error_tile(result: Result, label: str, name: str) -> Tile:
    """Return an error; of two servo blocks with units of their own, each by itself."""
    labels = result.labels
    named = {block: result.metrics.get(f"{name}.{block}", math.nan) for block in labels.blocks}
    named = {block: value for block, value in named.items() if math.isfinite(value)}
    unit = metrics.unit_in(name, labels)
    if len(named) != 2 or "," not in unit:
        return _tile(label, result.metric(name), unit, "norm of all rows")
    (first, value), (second, other) = named.items()
    units = [metrics.unit_in(f"{name}.{block}", labels) for block in named]
    return _tile(label, value, units[0], f"in '{first}'; {si(other, units[1])} in '{second}'")


def _input_tile(result: Result) -> Tile:
    """Return the largest input, with the actuator that gave it."""
    if result["u"].size == 0:
        return Tile("largest input", "–", "")
    peaks = np.array([np.nan_to_num(np.abs(each)).max() for each in result["u"].T])
    k = first_largest(peaks)
    unit = result.labels.actuator_units[k]
    return _tile("largest input", float(peaks[k]), unit, f"by '{result.labels.actuators[k]}'")


def _tile(label: str, value: float, unit: str, aside: str) -> Tile:
    if 1e-12 <= abs(value) < 0.1 and "," not in unit:
        factor, text = prefixed(abs(value), unit)
        return Tile(label, number(factor * value), text, aside)
    return Tile(label, number(value), unit_text(unit), aside)


def _metric_table(result: Result) -> Table:
    """Return the metrics of the whole run.

    Without servo rows there is no task, and nothing to say about it.
    """
    labels = result.labels
    columns = [Column("metric", "name"), Column("value"), Column("unit", "unit")]
    return Table.of(
        [*columns, Column("meaning", "meaning")],
        (
            [
                name,
                number(result.metric(name), 4),
                unit_text(metrics.unit_in(name, labels)),
                meaning(name),
            ]
            for name, metric in metrics.METRICS.items()
            if labels.rows or not metric.about_task
        ),
    )


def _block_table(result: Result) -> Table | None:
    """Return the metrics of each servo block; None when a single block is the whole task."""
    labels = result.labels
    if len(labels.blocks) < 2:
        return None
    names = [name for name, metric in metrics.METRICS.items() if metric.per_block]
    return Table.of(
        [Column("block", "text"), *map(Column, names)],
        (
            [block] + [si(result.metric(name), metrics.unit_in(name, labels)) for name in of_block]
            for block in labels.blocks
            for of_block in ([f"{name}.{block}" for name in names],)
        ),
    )


def _audit(provenance: Mapping[str, Any]) -> list[Verdict]:
    """Return what loading the robot found, worst first."""
    entries = []
    for entry in provenance.get("audit") or []:
        level = _AUDIT_LEVELS.get(str(entry.get("level")), "note")
        subject = str(entry.get("subject") or entry.get("code") or "robot")
        entries.append(Verdict(level, subject, sentence(str(entry.get("message", "")))))
    order = ("bad", "warning", "note")
    return sorted(entries, key=lambda verdict: order.index(verdict.level))
