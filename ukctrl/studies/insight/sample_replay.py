"""Samples of a study run again, in full, and compared with what the study recorded of them."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Literal, NamedTuple

from ukctrl.core.errors import UkctrlError
from ukctrl.reports.run_page import write_report
from ukctrl.simulation.result.result import STATUSES, Result
from ukctrl.simulation.simulate import simulate
from ukctrl.studies.insight.study_runs import Runs
from ukctrl.studies.sweep import Study

Role = Literal["worst", "failed"]


class Replay(NamedTuple):
    """A sample that was run again."""

    role: Role
    """Why this one: the worst that completed, or the first that did not."""
    sample: int
    folder: str
    """Name of its folder, beside the page; empty where it could not be run."""
    exact: bool
    """Whether status, time reached and every metric are those of the table, to the last bit."""
    text: str
    """The difference, or why it was not run; empty where there is none."""
    random: bool = False
    """Whether a seed had a part in it."""


def replay(study: Study, runs: Runs, place: int, role: Role, target: Path, trust: bool) -> Replay:
    """Run a sample again and write its result and its report to a folder.

    Args:
        study: The study.
        runs: Its samples.
        place: Which of them, as a row of the table.
        role: Why this one.
        target: The folder of the page.
        trust: Whether Python code that the scenario names may run.
    """
    number = int(runs.number[place])
    if runs.status[place] not in STATUSES:  # such as one whose process died, or that ran for ever
        return Replay(role, number, "", False, f"it ended as '{runs.status[place]}'")
    try:
        result = simulate(study.scenario_of(number, trust=trust))
    except UkctrlError as error:
        return Replay(role, number, "", False, f"it cannot be run: {error}")
    folder = f"{role}-{number}"
    result.save(target / folder)
    write_report(result, target / folder)
    text = _difference(result, runs, place)
    return Replay(role, number, folder, not text, text, bool(result.provenance.get("random")))


def _difference(result: Result, runs: Runs, place: int) -> str:
    """Return the first difference from the table in words; empty where there is none."""
    if result.status != runs.status[place]:
        return f"it ended as '{result.status}', the table has '{runs.status[place]}'"
    time = result.time
    reached = float(time[-1] - time[0]) if len(time) else 0.0
    recorded = float(runs.reached[place])
    if reached != recorded:
        return f"it reached {reached!r} s, the table has {recorded!r} s"
    for name, column in runs.metrics.items():
        ours, theirs = result.metrics.get(name, math.nan), float(column[place])
        if ours != theirs and not (math.isnan(ours) and math.isnan(theirs)):
            return f"{name} is {ours!r}, the table has {theirs!r}"
    return ""
