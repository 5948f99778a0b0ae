"""What `compare` prints: one column a controller, and what its numbers support in a sentence."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ukctrl.cli.terminal.lines import (
    Line,
    Part,
    clean,
    files,
    hanging,
    show,
    table,
    width,
    write_json,
)

if TYPE_CHECKING:
    from ukctrl.studies.comparison import Comparison, Robustness, Row

STATUS_STYLE = {"completed": "bold green", "interrupted": "bold yellow"}
LEVEL_STYLE = {"bad": "red", "warning": "yellow", "good": "bold green"}
MOST_TRIED = 6
"""Gains of more than these are on the page alone."""


def show_comparison(comparison: Comparison, folder: Path, as_json: bool) -> None:
    """Print the table of metrics, one column a controller."""
    if as_json:
        write_json(comparison.to_dict())
        return
    from ukctrl.core.number_text import unit_text
    from ukctrl.simulation.result.metrics import METRICS

    lines: list[Line] = hanging("", comparison.title, text_style="bold")
    for subject in ("repeats", "gains", "belief"):
        fact = next((fact for fact in comparison.facts if fact.subject == subject), None)
        if fact is not None and (not fact.equal or _noteworthy(comparison, subject)):
            lines += hanging(f"  {subject:<9}", fact.text, text_style="dim")
    metrics = [row for row in comparison.rows if "." not in row.metric]
    metrics = [row for row in metrics if any(map(math.isfinite, row.values.values()))]
    left = max((len(row.metric) + len(unit_text(row.unit)) for row in metrics), default=0) + 6
    cells = {
        (row.metric, name): _text(row, name, len(comparison.runs[name]))
        for row in metrics
        for name in row.values
    }
    widest = max(map(len, cells.values()), default=0)
    for part, names in enumerate(_beside(list(comparison.results), width() - left, widest)):
        if part:
            lines.append("")
        head: list[Part | str] = ["", "", *(Part(clean(name), "bold") for name in names)]
        rows: list[Sequence[Part | str]] = [head, _statuses(comparison, names)]
        for row in metrics:
            marked = [
                Part(cells[row.metric, name], "bold green" if name in row.best else "")
                for name in names
            ]
            rows.append([Part(row.metric, "cyan"), Part(unit_text(row.unit), "dim"), *marked])
            if row.metric == comparison.error and comparison.repeats > 1:
                rows += _spread(row, names)
        lines += table(rows, "<<" + ">" * len(names))
    if comparison.robustness is not None:
        lines += _robustness(comparison.robustness)
    lines += _tunings(comparison)
    told = [verdict for verdict in comparison.verdicts if verdict.subject not in METRICS]
    single = comparison.repeats < 2
    failed = {name: run.message for name, run in comparison.results.items() if run.message}
    failed = failed if single else {}
    for name, message in failed.items():
        lines += hanging(f"  {clean(name)}: ", message)
    for verdict in told:
        if verdict.level != "bad" or not single:
            lines += hanging("", verdict.text, text_style=LEVEL_STYLE.get(verdict.level, ""))
    written = [("report", "report.html"), ("data", "compare.csv")]
    if any(found.gains for found in comparison.tunings.values()):
        written.append(("cards", "tuned"))
    lines += files(folder, *written)
    show(lines)


def _noteworthy(comparison: Comparison, subject: str) -> bool:
    if subject == "repeats":
        return comparison.conditions.asked > 1
    return subject == "gains" and bool(comparison.tunings)


def _statuses(comparison: Comparison, names: Sequence[str]) -> list[Part | str]:
    cells: list[Part | str] = ["status", ""]
    for name in names:
        every = comparison.runs[name]
        done = sum(run.completed for run in every)
        status: str = comparison.results[name].status
        if len(every) > 1:
            status = "completed" if done == len(every) else f"{done} of {len(every)}"
        cells.append(Part(status, STATUS_STYLE.get(status, "bold red")))
    return cells


def _text(row: Row, name: str, runs: int) -> str:
    from ukctrl.core.number_text import plus_minus

    value, found = row.values[name], row.spreads[name]
    if math.isnan(value):
        return "-"
    half = found.high - found.mean
    text = plus_minus(value, half) if math.isfinite(half) else f"{value:.4g}"
    return f"{text} ({found.repeats} of {runs})" if found.repeats < runs else text


def _spread(row: Row, names: Sequence[str]) -> Iterator[list[Part | str]]:
    """Yield the median and the worst of a metric, one line each."""
    for what in ("median", "worst"):
        values = [getattr(row.spreads[name], what) for name in names]
        texts = ["-" if math.isnan(value) else f"{value:.4g}" for value in values]
        yield [Part(f"  {what}", "dim"), "", *(Part(text, "dim") for text in texts)]


def _robustness(found: Robustness) -> list[Line]:
    from ukctrl.core.number_text import unit_text

    unit = unit_text(found.unit)
    lines: list[Line] = ["", [Part(f"median {found.metric}{f' [{unit}]' if unit else ''}", "bold")]]
    heads = [f"{100.0 * level:.4g} %" for level in found.levels]
    rows: list[Sequence[Part | str]] = [
        [Part("mismatch", "dim"), *(Part(head, "dim") for head in heads)]
    ]
    for name, every in found.entries.items():
        cells = []
        for at, row in zip(every, found.rows, strict=True):
            share = "" if at.completed == at.runs else f" ({at.completed}/{at.runs})"
            value = "-" if math.isnan(at.median) else f"{at.median:.3g}"
            cells.append(Part(f"{value}{share}", "bold green" if name in row.best else ""))
        rows.append([Part(clean(name), "cyan"), *cells])
    return [*lines, *table(rows, "<" + ">" * len(found.levels))]


def _tunings(comparison: Comparison) -> list[Line]:
    """Return what the search for gains has found, one line a controller."""
    from ukctrl.core.number_text import number

    lines: list[Line] = []
    for name, found in comparison.tunings.items():
        if not found.gains:
            continue
        shown = ", ".join(
            f"{gain.path.removeprefix('controller.')} {number(found.best.gains[gain.path], 4)}"
            for gain in found.gains[:MOST_TRIED]
        )
        rest = len(found.gains) - MOST_TRIED
        more = f", and {rest} more" if rest > 0 else ""
        before = number(found.before, 4) if math.isfinite(found.before) else "failed"
        cost = f"{before} -> {number(found.after, 4)}"
        lines += hanging(f"  {clean(name)}: ", f"cost {cost} with {shown}{more}")
    return ["", [Part("tuned", "bold")], *lines] if lines else []


def _beside(names: Sequence[str], room: int, widest: int) -> Iterator[list[str]]:
    """Yield as many names at a time as fit beside each other, at least one."""
    chosen: list[str] = []
    used = 0
    for name in names:
        needed = 2 + max(len(clean(name)), widest, 11)
        if chosen and used + needed > room:
            yield chosen
            chosen, used = [], 0
        chosen.append(name)
        used += needed
    yield chosen
