"""Robots to draw from: those of the catalogue, and random trees; and where they start."""

from __future__ import annotations

import functools
import math
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import tomli_w
from runs import write

from ukctrl import Robot
from ukctrl.robot import Snapshot

Table = dict[str, Any]
RNG = np.random.Generator
TREE = "./tree/robot.toml"
"""A random robot, whose files are a part of the scenario."""
SIXTY = math.pi / 3.0
GRIPPING = {
    "left1": SIXTY, "left2": -2.0 * SIXTY, "left3": SIXTY, "right1": -SIXTY, "right2": 2.0 * SIXTY
}  # fmt: skip
SMALL_SWARM: Table = {"use": "swarm", "particles": {"count": 3}}


BOTH = ("servo", "servo", "joint_space", "task_space")
"""Laws for arms."""


class Family(NamedTuple):
    """Robots that take the same sorts of tasks."""

    robots: tuple[str | Table, ...]
    frame: str = ""
    """What follows paths."""
    axes: str = "xyz"
    """Along which it can."""
    turns: bool = False
    """Whether it can follow orientations too."""
    moved: float = 0.3
    """How far joints start from home, at most [rad or m]; 0: closed loops, which start there."""
    laws: tuple[str, ...] = BOTH
    start: Table | None = None
    """Where it starts instead."""
    heavy: bool = False
    """Python takes so long for it that steps must be few."""


FAMILIES = {
    "scara": Family(("scara",), "tool", laws=(*BOTH, "regulator", "planned")),
    "two_link": Family(("two_link",), "tool", "xz", laws=(*BOTH, "planned")),
    "tree": Family((TREE,), "tip", "xy"),
    "arm": Family(("panda", "ur5"), "tool", turns=True, heavy=True),
    "satellite": Family(("floating_arm",), laws=("servo",)),
    "quadrotor": Family(("quadrotor",), "body", laws=("thrust_vectoring",)),
    "legs": Family(("a1",), "trunk", turns=True, moved=0.0, laws=("servo",), heavy=True),
    "platform": Family(("three_rrr",), "platform", "xy", moved=0.0, laws=("servo",)),
    "grip": Family(
        ("coordinated_arms_grip",), "bar_centre", "xy", laws=("servo",), start={"q": GRIPPING}
    ),
    "two_arms": Family(("two_pandas",), "bar", turns=True, moved=0.0, laws=("servo",), heavy=True),
    "vehicle": Family(("mobile_ur5",), "nose", "xy", moved=0.0, laws=("servo",), heavy=True),
    "lagrangian": Family(
        ("mass_on_car", "crane_planar", "two_mass_spring", "four_mass_chain", "particle_polar"),
        laws=("servo", "servo", "regulator", "inversion", "none"),
    ),
    "plane": Family(("particle", "flexible_arm_links"), laws=("servo", "joint_space")),
    "under": Family(
        ("cart_pole", "furuta", "pendubot", "acrobot"), laws=("servo", "switching", "regulator")
    ),
    "elastic": Family(("panda_elastic",), "tool", moved=0.0, laws=("elastic",), heavy=True),
    "swarm": Family((SMALL_SWARM,), laws=("swarm",)),
    "free": Family(
        ("five_bar", "n_four_bar", "elastic_arm", "five_bar_relative"), moved=0.0, laws=("none",)
    ),
}


class Given(NamedTuple):
    """A robot at a start."""

    table: str | Table
    """What the scenario calls it."""
    robot: Robot
    start: Table
    angles: dict[str, float]
    """Joints of one freedom, and where they are."""
    files: dict[str, str]

    def place(self, frame: str) -> list[float]:
        """Return where a frame is."""
        return np.round(self.snapshot().frame(frame).position, 4).tolist()

    def snapshot(self) -> Snapshot:
        """Return the robot where it starts."""
        return self.robot.snapshot(self.robot.configuration(self.start.get("q", {})))


def given(rng: RNG, family: Family) -> Given:
    """Draw a robot and its start."""
    table = family.robots[int(rng.integers(len(family.robots)))]
    files = tree(rng) if table == TREE else {}
    robot = _from_files(files) if files else loaded(table if isinstance(table, str) else "swarm")
    if isinstance(table, dict):
        return Given(table, robot, {"spread": 5.0}, {}, {})
    angles = {name: _home(robot, name) for name in robot.joints if name in robot.dofs}
    if family.start:
        return Given(table, robot, dict(family.start), angles, files)
    if not family.moved:
        return Given(table, robot, {"solve": True}, angles, files)
    angles = {name: x + _draw(rng, family.moved) for name, x in angles.items()}
    start: Table = {"q": {name: round(x, 4) for name, x in angles.items()}}
    if rng.random() < 0.5:
        start["v"] = {name: _draw(rng, 0.3) for name in angles}
    if "root" in robot.joints and rng.random() < 0.5:
        start["v"] = {name: _draw(rng, 0.3) for name in robot.dofs}
    return Given(table, robot, start, start["q"], files)


def _home(robot: Robot, name: str) -> float:
    home = robot.neutral if robot.home is None else robot.home
    if name in robot.coordinates:
        return float(home[robot.coordinates.index(name)])
    cosine, sine = (home[robot.coordinates.index(f"{name}_{end}")] for end in ("cos", "sin"))
    return float(np.arctan2(sine, cosine))


def _draw(rng: RNG, size: float) -> float:
    return round(float(rng.uniform(-size, size)), 4)


@functools.cache
def loaded(name: str) -> Robot:
    """Return a robot of the catalogue."""
    return Robot.load(name)


def _from_files(files: dict[str, str]) -> Robot:
    with tempfile.TemporaryDirectory() as folder:
        write(files, Path(folder))
        return Robot.load(Path(folder) / TREE)


def tree(rng: RNG) -> dict[str, str]:
    """Return the files of a random tree of two to four joints, with springs, dampers, friction."""
    links = int(rng.integers(2, 5))
    parts, names, kinds = ['<robot name="tree">', _link(rng, "base")], ["base"], []
    for i in range(links):
        name = "tip" if i == links - 1 else f"link{i}"
        parent = names[-1] if rng.random() < 0.8 else str(rng.choice(names))
        kind = str(rng.choice(["revolute", "revolute", "continuous", "prismatic"]))
        parts += [_link(rng, name), _joint(rng, f"joint{i}", kind, parent, name)]
        names.append(name)
        kinds.append(kind)
    table: Table = {"title": "A random tree", "model": "tree.urdf"}
    table["gravity"] = [_draw(rng, 8.0) for _ in range(3)]
    forces: list[Table] = []
    for kind in ("joint_spring", "joint_damper", "dry_friction"):
        if rng.random() < 0.4:
            at = int(rng.integers(0, links))
            size = {"joint_spring": "stiffness", "joint_damper": "damping"}.get(kind, "level")
            one: Table = {"kind": kind, "joint": f"joint{at}", size: abs(_draw(rng, 2.0))}
            if kinds[at] == "continuous" and kind == "joint_spring":
                one = {
                    "kind": "given",
                    "joint": f"joint{at}",
                    "force": f"-joint{at}_sin + sin(9*t)",
                }
            forces.append(one)
    table["force"] = forces
    if rng.random() < 0.3:
        table["floating_base"] = True
    return {TREE: tomli_w.dumps(table), "tree/tree.urdf": "".join((*parts, "</robot>"))}


def _link(rng: RNG, name: str) -> str:
    mass, size = rng.uniform(0.2, 4.0), rng.uniform(0.05, 0.3, 3)
    xx, yy, zz = (mass * (size @ size - size * size)).tolist()
    return (
        f'<link name="{name}"><inertial><origin xyz="{_text(rng.uniform(-0.2, 0.2, 3))}" '
        f'rpy="{_text(rng.uniform(-2.0, 2.0, 3))}"/><mass value="{mass:.4f}"/><inertia '
        f'ixx="{xx:.6f}" iyy="{yy:.6f}" izz="{zz:.6f}" ixy="0" ixz="0" iyz="0"/></inertial></link>'
    )


def _joint(rng: RNG, name: str, kind: str, parent: str, child: str) -> str:
    axis = rng.standard_normal(3)
    at, turn = _text(rng.uniform(-0.4, 0.4, 3)), _text(rng.uniform(-2.0, 2.0, 3))
    limit = '<limit lower="-3" upper="3" effort="300" velocity="30"/>'
    return (
        f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
        f'<origin xyz="{at}" rpy="{turn}"/><axis xyz="{_text(axis / np.linalg.norm(axis))}"/>'
        f"{limit}</joint>"
    )


def _text(values: Any) -> str:
    return " ".join(f"{value:.6f}" for value in values)
