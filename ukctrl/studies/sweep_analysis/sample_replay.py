"""Samples of a study run again: by whom reads of them, with a command, and by the page's writer.

Run again in full, a sample is compared with what the study recorded of it.
"""

from __future__ import annotations

import json
import math
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from ukctrl.core.errors import InputError, UkctrlError
from ukctrl.core.files import catalog
from ukctrl.reports.run_page import write_report
from ukctrl.simulation.result.result import STATUSES, Result
from ukctrl.simulation.simulate import simulate
from ukctrl.studies.sweep import Study
from ukctrl.studies.sweep.point_scenarios import split_terms
from ukctrl.studies.sweep_analysis.study_arrays import StudyArrays

SCENARIO_FILE = "scenario.toml"
"""The base scenario, beside the page."""
FILE_KINDS: Mapping[str, catalog.Kind] = {
    "controller.use": "controllers",
    "robot": "robots",
    "robot.use": "robots",
}
"""Values that are names of files."""


def replay_command(study: Study, sample: int, folder: Path) -> str:
    """Return what to type for one sample; of a law without the gains asked, what tells so."""
    changes, verb = study.about.plan.scenario_changes(sample), "run"
    terms, plain = split_terms(changes)
    if terms:
        try:
            changes, terms = study.points().values(changes), {}
        except UkctrlError:
            changes, verb = plain, "analyze"
    for path, kind in FILE_KINDS.items():
        if isinstance(changes.get(path), str):
            changes[path] = _file_or_name(
                str(changes[path]), kind, study.about.base_file, folder / SCENARIO_FILE
            )
    pairs = " ".join(
        f"--set {shlex.quote(f'{path}={set_option_text(value)}')}"
        for path, value in changes.items()
    )
    term_options = "".join(f" --{path} {set_option_text(value)}" for path, value in terms.items())
    return f"ukctrl {verb} {shlex.quote(str(folder / SCENARIO_FILE))} {pairs}{term_options}"


def _file_or_name(name: str, kind: catalog.Kind, base_file: Path | None, scenario: Path) -> str:
    """Return a name, or its file where the scenario beside the page would not find it."""
    try:
        file = catalog.find(kind, name, base_file)
    except InputError:  # the sample failed for it
        return name
    try:
        same = catalog.find(kind, name, scenario).samefile(file)
    except InputError:
        same = False
    return name if same else str(file)


def set_option_text(value: object) -> str:
    """Return a value as `--set` reads it back, to the last bit."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Mapping):
        entries = ", ".join(f"{json.dumps(str(k))} = {_toml(v)}" for k, v in value.items())
        return f"{{ {entries} }}"
    if isinstance(value, str):
        return value if _parses_as_text(value) else json.dumps(value)
    return _toml(value)


def _toml(value: object) -> str:
    if isinstance(value, bool | Mapping):
        return set_option_text(value)
    if isinstance(value, str):
        return json.dumps(value)
    if isinstance(value, Sequence):
        return f"[{', '.join(map(_toml, value))}]"
    return repr(value)


def _parses_as_text(text: str) -> bool:
    from ukctrl.core.files.table_paths import parse_value

    return parse_value(text) == text


Role = Literal["worst", "failed"]


class SampleReplay(NamedTuple):
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


def replay_sample(
    study: Study, runs: StudyArrays, row: int, role: Role, target: Path, trust: bool
) -> SampleReplay:
    """Run a sample again and write its result and its report to a folder.

    Args:
        study: The study.
        runs: Its samples.
        row: Which of them, as a row of the table.
        role: Why this one.
        target: The folder of the page.
        trust: Whether Python code that the scenario names may run.
    """
    number = int(runs.number[row])
    if runs.status[row] not in STATUSES:  # such as one whose process died, or that ran for ever
        return SampleReplay(role, number, "", False, f"it ended as '{runs.status[row]}'")
    try:
        result = simulate(study.scenario_of(number, trust=trust))
    except UkctrlError as error:
        return SampleReplay(role, number, "", False, f"it cannot be run: {error}")
    folder = f"{role}-{number}"
    result.save(target / folder)
    write_report(result, target / folder)
    text = _difference(result, runs, row)
    return SampleReplay(role, number, folder, not text, text, bool(result.provenance.get("random")))


def _difference(result: Result, runs: StudyArrays, row: int) -> str:
    """Return the first difference from the table in words; empty where there is none."""
    if result.status != runs.status[row]:
        return f"it ended as '{result.status}', the table has '{runs.status[row]}'"
    time = result.time
    reached = float(time[-1] - time[0]) if len(time) else 0.0
    recorded = float(runs.reached[row])
    if reached != recorded:
        return f"it reached {reached!r} s, the table has {recorded!r} s"
    for name, column in runs.metrics.items():
        ours, theirs = result.metrics.get(name, math.nan), float(column[row])
        if ours != theirs and not (math.isnan(ours) and math.isnan(theirs)):
            return f"{name} is {ours!r}, the table has {theirs!r}"
    return ""
