"""What there is: robots, controllers and scenarios, each with a line and what kind it is."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ukctrl.cli.completion.index import ACTUATIONS, PLANTS, ROBOT_KINDS, index
from ukctrl.core.errors import InputError, UkctrlError
from ukctrl.core.files import catalog, zoo
from ukctrl.core.files.toml import read_toml

MOVES = re.compile(r"""<joint\b[^>]*\btype\s*=\s*["'](?!fixed)\w+["']""")
"""A joint that moves, in a URDF file."""


class Entry(NamedTuple):
    """A robot, controller or scenario."""

    title: str
    kinds: tuple[str, ...] = ()

    def has(self, name: str, words: Iterable[str]) -> bool:
        """Return whether each word occurs in the name, the title or a kind."""
        text = "\n".join((name, self.title, *self.kinds)).lower()
        return all(word.lower() in text for word in words)


def entries(
    kind: catalog.Kind, words: Sequence[str] = (), *, whole: bool = False
) -> dict[str, Entry]:
    """Return what there is of a kind, by name.

    Args:
        kind: Robots, controllers or scenarios.
        words: What must occur in the name, the title or the kinds of each.
        whole: Whether to load robots for the kinds that their files do not tell; so are they where
            a word asks for one.
    """
    loads = kind == "robots" and (whole or any(map(_asks_actuation, words)))
    found: dict[str, Entry] = {}
    for name in catalog.names(kind):
        try:
            table = read_toml(path := catalog.find(kind, name))
            kinds = tuple(dict.fromkeys(filter(None, KINDS[kind](table, path))))
            entry = Entry(str(table.get("title", "")), kinds)
        except InputError as error:  # one broken file must not hide the others
            entry = Entry(f"(cannot be read: {error})")
        if loads and entry.kinds:
            entry = entry._replace(kinds=(*entry.kinds, *_actuation(name)))
        if entry.has(name, words):
            found[name] = entry
    return found


def zoo_entries(words: Sequence[str] = ()) -> dict[str, Entry]:
    """Return the robots of the zoo, by the names that commands take.

    Raises:
        InputError: The extra is not installed.
    """
    found = {}
    home = zoo.root() or Path()
    for name in zoo.names():
        path = zoo.find(f"{zoo.PREFIX}{name}")
        count = len(MOVES.findall(path.read_text("utf-8", "replace")))
        joints = "1 joint" if count == 1 else f"{count} joints"
        entry = Entry(f"{joints}, {path.relative_to(home).parts[0]}", ("zoo",))
        if entry.has(f"{zoo.PREFIX}{name}", words):
            found[f"{zoo.PREFIX}{name}"] = entry
    return found


def _asks_actuation(word: str) -> bool:
    parts = " ".join(ACTUATIONS.values()).split()
    return len(word) > 3 and any(part.startswith(word.lower()) for part in parts)


def _actuation(name: str) -> Iterator[str]:
    """Yield whether motors reach all of a robot's mobility; nothing where it cannot be loaded."""
    import numpy as np

    from ukctrl.analysis.check.at_start import actuation
    from ukctrl.mechanics.at_rest import closed, home
    from ukctrl.mechanics.dynamics import Dynamics
    from ukctrl.robot import Robot

    try:
        robot = Robot.load(name)
        dynamics = Dynamics(robot)
        dynamics.move(0.0, closed(robot, home(robot)), np.zeros(robot.nv))
        found = actuation(dynamics, robot.nv - dynamics.passive_rank) if robot.nu else "none"
    except UkctrlError:
        return
    yield ACTUATIONS[found]


def _robot_kinds(table: Mapping[str, Any], path: Path) -> Iterator[str]:
    yield from (word for key, word in PLANTS.items() if key in table)
    passive = _kinds(table.get("passive"))
    if "elastic" in table or "joint_spring" in _kinds(table.get("force")):
        yield "elastic"
    if table.get("floating_base") is True:
        yield "floating"
    if "closure" in passive or "linkage" in table:
        yield "closed loops"
    if passive or "linkage" in table:
        yield "constrained"
    yield from (kind for kind in passive if kind in ROBOT_KINDS)


def _controller_kinds(table: Mapping[str, Any], path: Path) -> Iterator[str]:
    kind = table.get("kind")
    if isinstance(kind, str):
        yield index()["controllers"].get(kind, "own")
        yield kind
    for key in ("feedback", "disturbance", "allocation"):
        yield from _kinds([table.get(key)])


def _scenario_kinds(table: Mapping[str, Any], path: Path) -> Iterator[str]:
    robot, controller = table.get("robot"), table.get("controller")
    yield from (_used(value) for value in (robot, controller))
    if isinstance(controller, Mapping):
        modes = controller.get("modes")
        laws = (
            [mode.get("law") for mode in modes if isinstance(mode, Mapping)]
            if isinstance(modes, list)
            else []
        )
        yield from (_used(law) for law in laws)
        yield from _kinds([controller, *laws])
    yield from _kinds(table.get("servo"))
    yield from _kinds(table.get("effect"))


def _used(value: object) -> str:
    """Return the name that a value is or uses."""
    name = value.get("use") if isinstance(value, Mapping) else value
    return name if isinstance(name, str) else ""


def _kinds(tables: object) -> list[str]:
    items = tables if isinstance(tables, list) else []
    found = [item.get("kind") for item in items if isinstance(item, Mapping)]
    return [kind for kind in found if isinstance(kind, str)]


KINDS: dict[str, Callable[[Mapping[str, Any], Path], Iterator[str]]] = {
    "robots": _robot_kinds,
    "controllers": _controller_kinds,
    "scenarios": _scenario_kinds,
}
