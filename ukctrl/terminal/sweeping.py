"""What `sweep` shows: how far it is, and what came of the runs."""

from __future__ import annotations

import contextlib
import sys
import textwrap
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

from ukctrl.terminal.lines import Line, Part, clean, files, hanging, show, table, write_json

if TYPE_CHECKING:
    import pandas as pd

    from ukctrl.sweep import Study, Tally

STATUS_STYLE = {"completed": "green", "failed": "red", "timed_out": "red"}
TITLE_WIDTH = 28
"""Width of the title beside the progress bar."""
QUIET_SECONDS = 1.0
"""A sweep shorter than this shows no progress."""
REFRESH_SECONDS = 0.2
LINE_SECONDS = 30.0
"""Interval of the lines that stand in for a bar where there is no terminal [s]."""
SPAN_SECONDS = 20.0
"""The speed shown is that of the last so many seconds [s]."""
MOST_REASONS = 5
"""Different reasons of failure that are shown."""
SHOWN = ("rms_phi", "peak_phi", "final_phi", "settling_time", "effort", "peak_u", "work")
"""Metrics that are shown; all of them are in the table."""
QUANTILES = (0.0, 0.5, 0.95, 1.0)


@final
class _Speed:
    """How many samples a second, lately."""

    def __init__(self) -> None:
        self._seen: deque[tuple[float, float]] = deque()

    def see(self, now: float, done: float) -> None:
        """Note how many were done at a time."""
        self._seen.append((now, done))
        while len(self._seen) > 2 and now - self._seen[0][0] > SPAN_SECONDS:
            self._seen.popleft()

    def text(self, total: int) -> str:
        """Return the speed and how long the rest takes."""
        (began, before), (now, done) = self._seen[0], self._seen[-1]
        if now - began < QUIET_SECONDS or done <= before:
            return ""
        speed = (done - before) / (now - began)
        left = _duration((total - done) / speed)
        return f"{speed:.3g}/s, {left} left"


@contextlib.contextmanager
def sweep_progress(title: str, hidden: bool) -> Iterator[Callable[[Tally], None]]:
    """Yield a callback that shows how far a sweep is.

    In a terminal it draws a bar; elsewhere it writes a line now and then, for a log.
    """
    if hidden or sys.stderr is None:
        yield lambda tally: None
        return
    speed = _Speed()
    if not sys.stderr.isatty():
        yield _in_lines(speed)
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    bar = Progress(
        TextColumn("{task.description}", style="bold", markup=False),
        BarColumn(bar_width=None),
        TextColumn("{task.fields[told]}", markup=False),
        console=Console(stderr=True),
        transient=True,
        expand=True,
    )
    short = textwrap.shorten(clean(title), TITLE_WIDTH, placeholder=" ...")
    task = bar.add_task(short, total=1.0, told="")
    began, drawn = time.perf_counter(), 0.0

    def draw(tally: Tally) -> None:
        nonlocal drawn
        now = time.perf_counter()
        if now - drawn < REFRESH_SECONDS:
            return
        drawn = now
        speed.see(now, tally.done)
        if now - began < QUIET_SECONDS:
            return
        told = ", ".join(part for part in (_counted(tally), speed.text(tally.total)) if part)
        bar.update(task, completed=tally.done, total=tally.total, told=told)
        if not bar.live.is_started:
            bar.start()

    try:
        yield draw
    finally:
        bar.stop()


def _in_lines(speed: _Speed) -> Callable[[Tally], None]:
    last = time.perf_counter()

    def write_line(tally: Tally) -> None:
        nonlocal last
        now = time.perf_counter()
        speed.see(now, tally.done)
        if now - last >= LINE_SECONDS:
            last = now
            told = ", ".join(part for part in (_counted(tally), speed.text(tally.total)) if part)
            print(f"ukctrl: {told}", file=sys.stderr, flush=True)

    return write_line


def _counted(tally: Tally) -> str:
    failed = f", {tally.failed} failed" if tally.failed else ""
    return f"{tally.finished} of {tally.total}{failed}"


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes:02d} min"
    return f"{minutes} min {rest:02d} s" if minutes else f"{rest} s"


def show_study(study: Study, folder: Path, as_json: bool) -> None:
    """Print what came of a sweep."""
    if as_json:
        write_json(_data(study, folder))
        return
    found, total = study.table, study.about.plan.count
    counts = _counts(found)
    name = clean(str(study.scenario.get("name") or study.scenario.get("title") or "study"))
    verdict = Part("finished", "bold green") if study.finished else Part("stopped", "bold yellow")
    lines: list[Line] = [[Part(name, "bold"), ": ", verdict]]
    told = ", ".join(f"{count} {status}" for status, count in counts.items()) or "nothing"
    lines += hanging("  ", f"{len(found)} of {total} samples: {told}")
    varied = ", ".join(factor.path for factor in study.factors) or "the seed alone"
    lines += hanging("  ", f"design {study.design}, seed {study.seed}; varied: {varied}",
                     text_style="dim")  # fmt: skip
    rows: list[Sequence[Part | str]] = _metric_rows(found)
    if rows:
        head = [Part(text, "dim") for text in ("metric", "least", "median", "95 %", "most")]
        lines += table([head, *rows], "<>>>>")
    for status, message, count, sample in _reasons(found)[:MOST_REASONS]:
        times = f"{count} samples, the first is {sample}" if count > 1 else f"sample {sample}"
        lines += hanging(f"{clean(status)}: ", f"{message} ({times})", STATUS_STYLE.get(status, ""))
    lines += files(folder, ("table", "study.csv"), ("", "study.parquet"))
    if not study.finished:
        lines += hanging("", "The same command with --resume goes on from here.")
    show(lines)


def _data(study: Study, folder: Path) -> dict[str, Any]:
    return {
        "folder": str(folder),
        "scenario": study.scenario.get("name", ""),
        "design": study.design,
        "seed": study.seed,
        "factors": [factor.to_dict() for factor in study.factors],
        "samples": study.about.plan.count,
        "recorded": len(study.table),
        "finished": study.finished,
        "statuses": _counts(study.table),
        "reasons": [
            {"status": status, "message": message, "count": count, "first": sample}
            for status, message, count, sample in _reasons(study.table)
        ],
        "metrics": {
            name: dict(zip(("least", "median", "q95", "most"), values, strict=True))
            for name in study.table.columns[study.table.columns.get_loc("reached") + 1 :]
            if (values := _quantiles(study.table, name))
        },
    }


def _counts(found: pd.DataFrame) -> dict[str, int]:
    counts = found["status"].value_counts(sort=False)
    ordered = sorted(counts.items(), key=lambda item: (item[0] != "completed", str(item[0])))
    return {str(status): int(count) for status, count in ordered}


def _reasons(found: pd.DataFrame) -> list[tuple[str, str, int, int]]:
    """Return status, message, number and first sample of what did not complete, most first."""
    failed = found[found["status"] != "completed"]
    groups = failed.groupby(["status", "message"], sort=False)["sample"]
    told = [(str(s), str(m), len(group), int(group.min())) for (s, m), group in groups]
    return sorted(told, key=lambda entry: (-entry[2], entry[3]))


def _metric_rows(found: pd.DataFrame) -> list[Sequence[Part | str]]:
    rows: list[Sequence[Part | str]] = []
    for name in SHOWN:
        values = _quantiles(found, name)
        if values:
            rows.append([Part(name, "cyan"), *(f"{value:.4g}" for value in values)])
    return rows


def _quantiles(found: pd.DataFrame, name: str) -> list[float]:
    """Return quantiles over the runs that completed; nothing where none has the metric."""
    import numpy as np

    if name not in found:
        return []
    values = found.loc[found["status"] == "completed", name].to_numpy(dtype=np.float64)
    values = values[np.isfinite(values)]
    return [float(value) for value in np.quantile(values, QUANTILES)] if len(values) else []
