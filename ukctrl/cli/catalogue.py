"""What there is: robots, controllers and scenarios, each with a line and what kind it is."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ukctrl.core.errors import InputError, UkctrlError
from ukctrl.core.files import catalog, zoo
from ukctrl.core.files.toml import read_toml

PLANTS = {
    "model": "rigid",
    "part": "rigid",
    "lagrangian": "lagrangian",
    "functions": "functions",
    "linkage": "linkage",
    "particles": "particles",
}
"""What a robot is, by the key of its file that says what it is made of."""
ACTUATIONS = {
    "under": "underactuated",
    "fully": "fully actuated",
    "redundantly": "redundantly actuated",
    "none": "unactuated",
}
"""What only the robot itself can tell, so that it is loaded where somebody asks."""
ROBOT_KINDS = (
    *dict.fromkeys(PLANTS.values()),
    *("elastic", "floating", "closed loops", "constrained", "contact", "rolling"),
    *ACTUATIONS.values(),
)
LAW_FAMILIES = {
    "servo": ("servo",),
    "baselines": (
        *("computed_torque", "pd_gravity", "pid", "operational_space", "resolved_acceleration"),
        *("time_delay", "slotine_li", "slotine_li_adaptive"),
    ),
    "regulators": ("lqr", "lqi", "pole_placement"),
    "feedforward": ("tvlqr", "feedforward"),
    "predictive": ("mpc",),
    "elastic": (
        *("elastic_tracking", "elastic_cascade", "elastic_linearisation"),
        "elastic_singular_perturbation",
    ),
    "special": ("io_linearisation", "swing_up", "switching", "thrust_vectoring"),
    "controller": ("none",),
}
"""Kinds of controllers by package, whose import takes seconds; those of files of their own are
special."""
FAMILY = {kind: family for family, kinds in LAW_FAMILIES.items() for kind in kinds}
MOVING_JOINT = re.compile(r"""<joint\b[^>]*\btype\s*=\s*["'](?!fixed)\w+["']""")
"""A joint that moves, in a URDF file."""


class CatalogueEntry(NamedTuple):
    """A robot, controller or scenario."""

    title: str
    kinds: tuple[str, ...] = ()

    def matches(self, name: str, words: Iterable[str]) -> bool:
        """Return whether each word occurs in the name, the title or a kind."""
        text = "\n".join((name, self.title, *self.kinds)).lower()
        return all(word.lower() in text for word in words)


def catalogue_entries(
    kind: catalog.Kind, words: Sequence[str] = (), *, whole: bool = False
) -> dict[str, CatalogueEntry]:
    """Return what there is of a kind, by name.

    Args:
        kind: Robots, controllers or scenarios.
        words: What must occur in the name, the title or the kinds of each.
        whole: Whether to load robots for the kinds that their files do not tell; so are they where
            a word asks for one.
    """
    loads = kind == "robots" and (whole or any(map(_asks_actuation, words)))
    entries: dict[str, CatalogueEntry] = {}
    for name in catalog.names(kind):
        try:
            table = read_toml(path := catalog.find(kind, name))
            kinds = tuple(dict.fromkeys(filter(None, KINDS[kind](table, path))))
            entry = CatalogueEntry(str(table.get("title", "")), kinds)
        except InputError as error:  # one broken file must not hide the others
            entry = CatalogueEntry(f"(cannot be read: {error})")
        if loads and entry.kinds:
            entry = entry._replace(kinds=(*entry.kinds, *_actuation(name)))
        if entry.matches(name, words):
            entries[name] = entry
    return entries


def zoo_entries(words: Sequence[str] = ()) -> dict[str, CatalogueEntry]:
    """Return the robots of the zoo, by the names that commands take.

    Raises:
        InputError: The extra is not installed.
    """
    entries = {}
    home = zoo.root() or Path()
    for name in zoo.names():
        path = zoo.find(f"{zoo.PREFIX}{name}")
        count = len(MOVING_JOINT.findall(path.read_text("utf-8", "replace")))
        joints = "1 joint" if count == 1 else f"{count} joints"
        entry = CatalogueEntry(f"{joints}, {path.relative_to(home).parts[0]}", ("zoo",))
        if entry.matches(f"{zoo.PREFIX}{name}", words):
            entries[f"{zoo.PREFIX}{name}"] = entry
    return entries


def _asks_actuation(word: str) -> bool:
    keywords = " ".join(ACTUATIONS.values()).split()
    return len(word) > 3 and any(keyword.startswith(word.lower()) for keyword in keywords)


def _actuation(name: str) -> Iterator[str]:
    """Yield whether motors reach all of a robot's mobility; nothing where it cannot be loaded."""
    import numpy as np

    from ukctrl.analysis.check.start_diagnostics import actuation_class
    from ukctrl.mechanics.dynamics import Dynamics
    from ukctrl.mechanics.home_configuration import close_loops, home_configuration
    from ukctrl.robot import Robot

    try:
        robot = Robot.load(name)
        dynamics = Dynamics(robot)
        dynamics.move(0.0, close_loops(robot, home_configuration(robot)), np.zeros(robot.nv))
        actuation = (
            actuation_class(dynamics, robot.nv - dynamics.passive_rank) if robot.nu else "none"
        )
    except UkctrlError:
        return
    yield ACTUATIONS[actuation]


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
        yield FAMILY.get(kind, "own")
        yield kind
    for key in ("feedback", "disturbance", "allocation"):
        yield from _kinds([table.get(key)])


def _scenario_kinds(table: Mapping[str, Any], path: Path) -> Iterator[str]:
    robot, controller = table.get("robot"), table.get("controller")
    yield from (_used_name(value) for value in (robot, controller))
    if isinstance(controller, Mapping):
        modes = controller.get("modes")
        laws = (
            [mode.get("law") for mode in modes if isinstance(mode, Mapping)]
            if isinstance(modes, list)
            else []
        )
        yield from (_used_name(law) for law in laws)
        yield from _kinds([controller, *laws])
    yield from _kinds(table.get("servo"))
    yield from _kinds(table.get("effect"))


def _used_name(value: object) -> str:
    """Return the name that a value is or uses."""
    name = value.get("use") if isinstance(value, Mapping) else value
    return name if isinstance(name, str) else ""


def _kinds(tables: object) -> list[str]:
    items = tables if isinstance(tables, list) else []
    kinds = [item.get("kind") for item in items if isinstance(item, Mapping)]
    return [kind for kind in kinds if isinstance(kind, str)]


KINDS: dict[str, Callable[[Mapping[str, Any], Path], Iterator[str]]] = {
    "robots": _robot_kinds,
    "controllers": _controller_kinds,
    "scenarios": _scenario_kinds,
}
