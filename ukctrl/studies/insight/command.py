"""The command that runs one sample of a study again."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

from ukctrl.core.errors import InputError
from ukctrl.core.files import catalog
from ukctrl.studies.sweep import Study

SCENARIO = "scenario.toml"
"""The base scenario, beside the page."""
NAMED: Mapping[str, catalog.Kind] = {
    "controller.use": "controllers",
    "robot": "robots",
    "robot.use": "robots",
}
"""Values that are names of files."""


def command_of(study: Study, sample: int, folder: Path) -> str:
    """Return what to type for one sample.

    Args:
        study: The study.
        sample: Its number.
        folder: Where the base scenario stands.
    """
    changes = study.about.plan.changes(sample)
    for path, kind in NAMED.items():
        if isinstance(changes.get(path), str):
            changes[path] = _found(str(changes[path]), kind, study.about.beside, folder / SCENARIO)
    pairs = " ".join(
        f"--set {shlex.quote(f'{path}={written(value)}')}" for path, value in changes.items()
    )
    return f"ukctrl run {shlex.quote(str(folder / SCENARIO))} {pairs}"


def _found(name: str, kind: catalog.Kind, beside: Path | None, scenario: Path) -> str:
    """Return a name, or its file where the scenario beside the page would not find it."""
    try:
        file = catalog.find(kind, name, beside)
    except InputError:  # the sample failed for it
        return name
    try:
        same = catalog.find(kind, name, scenario) == file
    except InputError:
        same = False
    return name if same else str(file)


def written(value: object) -> str:
    """Return a value as `--set` reads it back, to the last bit."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Mapping):
        entries = ", ".join(f"{json.dumps(str(k))} = {_toml(v)}" for k, v in value.items())
        return f"{{ {entries} }}"
    if isinstance(value, str):
        return value if _stays_text(value) else json.dumps(value)
    return _toml(value)


def _toml(value: object) -> str:
    if isinstance(value, bool | Mapping):
        return written(value)
    if isinstance(value, str):
        return json.dumps(value)
    if isinstance(value, Sequence):
        return f"[{', '.join(map(_toml, value))}]"
    return repr(value)


def _stays_text(text: str) -> bool:
    from ukctrl.core.files.table_paths import parse_value

    return parse_value(text) == text
