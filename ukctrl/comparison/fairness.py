"""What a fair comparison keeps equal, checked on the resolved scenarios and on the arrays."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from ukctrl.result import Result

__all__ = ["Fact", "facts", "quoted_list"]

_CONDITIONS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "robot": ("robot", "passive"),
        "belief": ("believed",),
        "task": ("servo",),
        "start": ("start",),
        "timing": ("timing",),
        "integrator": ("integrator",),
        "effects": ("effect", "effects"),
        "seed": ("seed",),
    }
)
"""Parts of a scenario that a fair comparison keeps equal."""
_FREE = ("controller", "name", "title", "source", "description")
"""Parts of a scenario that may differ."""


class Fact(NamedTuple):
    """One condition of the comparison, and whether it was equal for all."""

    subject: str
    equal: bool
    text: str


def facts(results: Mapping[str, Result]) -> tuple[Fact, ...]:
    """Return every condition, whether it was equal for all, and where the gains come from."""
    known = {key for keys in _CONDITIONS.values() for key in keys} | set(_FREE)
    others = sorted({key for run in results.values() for key in run.scenario} - known)
    found = []
    for subject, keys in {**_CONDITIONS, **{key: (key,) for key in others}}.items():
        parts = {
            name: {key: run.scenario[key] for key in keys if key in run.scenario}
            for name, run in results.items()
        }
        if any(parts.values()) or subject == "effects":
            found.append(_fact(subject, parts))
    return (*found, _same_start(results), _gains(results))


def _same_start(results: Mapping[str, Result]) -> Fact:
    """Check on the arrays themselves that all runs started in the same state."""
    starts = {
        (run["q"][:1].tobytes(), run["v"][:1].tobytes(), run.time[:1].tobytes())
        for run in results.values()
    }
    same = len(starts) == 1
    text = "bit for bit the same in all runs" if same else "not the same in all runs"
    return Fact("first sample", same, text)


def _gains(results: Mapping[str, Result]) -> Fact:
    origin = {name: str(run.provenance.get("gains", "given")) for name, run in results.items()}
    if len(set(origin.values())) == 1:
        return Fact("gains", True, f"{next(iter(origin.values()))}, for every controller")
    parts = ", ".join(f"{how} for '{name}'" for name, how in origin.items())
    return Fact("gains", False, f"{parts}; tuned against given gains is no fair comparison")


def _fact(subject: str, parts: Mapping[str, Mapping[str, Any]]) -> Fact:
    keys = {name: json.dumps(part, sort_keys=True) for name, part in parts.items()}
    if len(set(keys.values())) == 1:
        part = next(iter(parts.values()))
        return Fact(subject, True, _DESCRIPTIONS.get(subject, _brief)(part) if part else "none")
    groups: dict[str, list[str]] = {}
    for name, key in keys.items():
        groups.setdefault(key, []).append(name)
    texts = [
        f"{_brief(parts[names[0]]) or 'none'} for {quoted_list(tuple(names))}"
        for names in groups.values()
    ]
    return Fact(subject, False, "; ".join(texts))


def _brief(part: Mapping[str, Any]) -> str:
    """Return a table of a scenario on one line, without the name of the only key."""
    value = next(iter(part.values())) if len(part) == 1 else part
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    text = text.replace('"', "")
    text = text[1:-1] if isinstance(value, Mapping) else text
    return text if len(text) <= 120 else f"{text[:117]}..."


def _robot(part: Mapping[str, Any]) -> str:
    robot = part.get("robot")
    if isinstance(robot, Mapping):
        return str(robot.get("name") or robot.get("title") or robot.get("model") or "as given")
    return str(robot or "as given")


def _task(part: Mapping[str, Any]) -> str:
    blocks = part.get("servo") or []
    kinds = [str(block.get("kind", "?")) for block in blocks if isinstance(block, Mapping)]
    return f"{len(blocks)} servo block{'s' * (len(blocks) != 1)}: {', '.join(kinds)}"


def _effects(part: Mapping[str, Any]) -> str:
    entries = [entry for entries in part.values() for entry in entries]
    return ", ".join(str(e.get("name") or e.get("kind")) for e in entries) or "none"


_DESCRIPTIONS: Mapping[str, Callable[[Mapping[str, Any]], str]] = MappingProxyType(
    {"robot": _robot, "task": _task, "effects": _effects}
)


def quoted_list(names: tuple[str, ...]) -> str:
    """Return `'a', 'b' and 'c'`."""
    texts = [f"'{name}'" for name in names]
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} and {texts[-1]}"
