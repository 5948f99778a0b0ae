"""Robots with closures, turned in space together with gravity: all that is asked of them stays.

``python tests/shared/turned_loops.py [COUNT]`` prints, for every robot and law, how many of so many
random directions agree with the robot as it was drawn, the worst differences of start, inputs
(beside the largest) and motion, and the seeds of the directions that do not agree.
"""

from __future__ import annotations

import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import tomli_w
from scipy.spatial.transform import Rotation

from ukctrl import Scenario, check, simulate
from ukctrl.core.errors import UkctrlError

CATALOGUE = Path(__file__).parents[2] / "robots"
LINK = """<link name="{name}"><inertial><origin xyz="{half} 0 0"/><mass value="{mass}"/><inertia
ixx="{thin}" iyy="{inertia}" izz="{inertia}" ixy="0" ixz="0" iyz="0"/></inertial></link>"""
HINGE = """<joint name="{name}" type="continuous"><parent link="{parent}"/><child link="{child}"/>
<origin xyz="{at} 0 0"/><axis xyz="0 0 1"/></joint>"""
MOUNT = """<link name="mount"/><joint name="mount" type="fixed"><parent link="mount"/>
<child link="{root}"/><origin xyz="0 0 0" rpy="{rpy[0]} {rpy[1]} {rpy[2]}"/></joint></robot>"""
BARS = {"crank": 0.3, "coupler": 0.8, "rocker": 0.6}
BAR_HINGES = (("j1", "base", "crank", 0.0), ("j2", "crank", "coupler", 0.3),
              ("j4", "base", "rocker", 0.7))  # fmt: skip
ARM = {"upper": 0.5, "lower": 0.5, "hand": 0.5}
ARM_HINGES = (("j1", "base", "upper", 0.0), ("j2", "upper", "lower", 0.5),
              ("j3", "lower", "hand", 0.5))  # fmt: skip
TINY = 1e-4


def joints(begin: dict[str, float], velocity: list[float]) -> list[dict[str, Any]]:
    """Return the row that leads joints from where they begin, evenly: the start has a velocity."""
    path = {"kind": "line", "start": [*begin.values()], "velocity": velocity}
    return [{"kind": "joint_follows", "joints": [*begin], "path": path}]


LOOP = {"j1": 1.0, "j2": -0.6, "j4": 1.2}
GRIP = {"left1": 1.05, "left2": -2.1, "left3": 1.05}
PANDAS = {f"left_joint{k + 1}": q for k, q in enumerate((0.0, -0.78, 0.0, -2.35, 0.0, 1.57, 0.78))}
LINKS = {"link1_angle": -0.7, "coupler_turn": 0.75, "link2_angle": -0.7, "link3_angle": -0.65}
TURN = {"kind": "about_axis", "axis": "z", "angle": {"kind": "constant", "value": [1.2]}}
REACH = {"kind": "line", "start": [1.0, 0.6, 0.0], "end": [1.05, 0.6, 0.0], "duration": 1.0}
SEEN = {"kind": "relative_pose_follows", "frames": ["base", "hand_end"], "path": REACH}
ROW_LAWS = ("servo-baumgarte", "computed-torque")
CASES: dict[str, tuple[dict[str, float], list[dict[str, Any]], tuple[str, ...]]] = {
    "four_bar revolute": (LOOP, joints({"j1": 1.0}, [3.0]), (*ROW_LAWS, "pd-gravity")),
    "four_bar point": (LOOP, joints({"j1": 1.0}, [3.0]), (*ROW_LAWS, "pd-gravity")),
    "four_bar revolute tiny": (LOOP, joints({"j1": 1.0}, [3.0]), ROW_LAWS),
    "coordinated_arms_grip": (
        GRIP | {"right1": -1.0, "right2": 2.0}, joints(GRIP, [0.2, 0.2, -0.3]), ROW_LAWS
    ),
    "five_bar_relative": (LINKS, [], ("",)),
    "two_pandas": (
        {}, joints(PANDAS | {"right_joint3": 0.0}, [0.2, 0.1, 0.1, 0.1, 0.2, 0.1, -0.2, 0.2]),
        ROW_LAWS,
    ),
    "arm": ({"j1": 0.3, "j2": 0.7, "j3": 0.5}, [SEEN | {"orientation": TURN}], ROW_LAWS[:1]),
}  # fmt: skip
"""Guess of the start, task and laws of each robot; the arm has rows across its plane instead of a
closure."""


def planar_card(
    bars: dict[str, float], hinges: tuple[tuple[str, str, str, float], ...], size: float
) -> dict[str, Any]:
    """Return the card of bars in the xy plane, ``size`` times as long, with its model's text."""
    links = "".join(
        LINK.format(name=name, half=0.5 * size * length, mass=length,
                    thin=1e-3 * size**2, inertia=length**3 / 12.0 * size**2)
        for name, length in bars.items()
    )  # fmt: skip
    hinged = "".join(
        HINGE.format(name=name, parent=parent, child=child, at=at * size)
        for name, parent, child, at in hinges
    )
    ends = [
        {"name": f"{name}_end", "parent": name, "position": [length * size, 0.0, 0.0]}
        for name, length in bars.items()
    ]
    model = f'<robot name="bars"><link name="base"/>{links}{hinged}</robot>'
    return {"title": "bars", "frame": ends, "gravity": [0.0, -9.81, 0.0], "model": model}


def card_of(robot: str) -> dict[str, Any]:
    """Return the card of a robot, with the text of its model where that is one file."""
    kind, *rest = robot.split()
    if kind == "arm":
        return planar_card(ARM, ARM_HINGES, 1.0)
    if kind == "four_bar":
        ends = ["coupler_end", "rocker_end"]
        return planar_card(BARS, BAR_HINGES, TINY if "tiny" in rest else 1.0) | {
            "passive": [{"kind": "closure", "frames": ends, "type": rest[0]}],
            "actuator": [{"kind": "joint", "joint": "j1"}],
        }
    card = tomllib.loads((CATALOGUE / robot / "robot.toml").read_text("utf-8"))
    if "model" in card:
        card["model"] = (CATALOGUE / robot / card["model"]).read_text("utf-8")
    return card


def write_turned(robot: str, turn: Rotation, folder: Path) -> Path:
    """Write the card of a robot that is turned as a whole, gravity with it, and return its path."""
    card, rpy = card_of(robot), turn.as_euler("xyz").tolist()
    card["gravity"] = turn.apply(card.get("gravity", [0.0, 0.0, -9.81])).tolist()
    for part in card.get("part", []):
        part["model"] = str(CATALOGUE / robot / part["model"])
        if "parent" not in part:
            part |= {"position": turn.apply(part["position"]).tolist(), "rpy": rpy}
    if "model" in card:
        mount = MOUNT.format(root="base", rpy=rpy)
        (folder / "model.urdf").write_text(card["model"].replace("</robot>", mount))
        card["model"] = "model.urdf"
    path = folder / "robot.toml"
    path.write_text(tomli_w.dumps(card))
    return path


class Answers(NamedTuple):
    """All that is said of a robot, and what it does."""

    verdict: tuple[object, ...]
    """Of `check`, ranks, and the status of the run; or the refusal."""
    start: np.ndarray
    """``q`` and ``v``."""
    u: np.ndarray
    """Shape ``(k, nu)``."""
    q: np.ndarray
    """Shape ``(k, nq)``."""


def answers(
    robot: str, law: str, turn: Rotation, servo: list[dict[str, Any]] | None = None
) -> Answers:
    """Return what check and run say of a robot that is turned; ``servo`` is another task."""
    guess, task, _ = CASES[robot]
    with tempfile.TemporaryDirectory() as folder:
        table: dict[str, Any] = {
            "title": "turned", "robot": str(write_turned(robot, turn, Path(folder))),
            "start": {"q": guess, "solve": True}, "servo": servo or task,
            "timing": {"duration": 0.2, "sample": 0.01},
            "integrator": {"method": "RK4", "step": 2e-3},
        }  # fmt: skip
        if law:
            table["controller"] = {"use": law}
        nothing = np.zeros(0)
        try:
            scenario = Scenario.from_toml(tomli_w.dumps(table))
            report, run = check(scenario), simulate(scenario)
        except UkctrlError as error:
            return Answers((type(error).__name__, str(error)), nothing, nothing, nothing)
    start, ranks = report.start, report.motion.ranks
    along = () if ranks is None else (ranks.passive.lowest, ranks.servo.lowest, ranks.grip.lowest)
    said = (
        report.verdict, len(report.problems), run.status, start.mobility, start.passive.rank,
        start.passive.dependent, start.servo.rank, start.grip.rank, *along,
    )  # fmt: skip
    begin = np.concatenate([run["q"][:1].ravel(), run["v"][:1].ravel()])
    return Answers(said, begin, run["u"], run["q"])


def differences(turned: Answers, drawn: Answers) -> tuple[bool, float, float, float]:
    """Return whether verdicts agree, and how far start, inputs and motion are apart.

    Inputs as a part of the largest one.
    """
    same = turned.verdict == drawn.verdict
    if not same or not drawn.start.size:
        return same, 0.0, 0.0, 0.0
    start = float(np.abs(turned.start - drawn.start).max())
    scale = float(np.abs(drawn.u).max(initial=0.0)) or 1.0
    u = float(np.abs(turned.u - drawn.u).max(initial=0.0)) / scale
    return same, start, u, float(np.abs(turned.q - drawn.q).max())


def main(count: int) -> None:
    """Print the table."""
    print(f"{'robot':24s}{'law':18s}{'agree':>9s}{'start':>9s}{'inputs':>9s}{'motion':>9s}  differ")
    for robot, (*_, laws) in CASES.items():
        for law in laws:
            drawn = answers(robot, law, Rotation.identity())
            rows = [
                differences(answers(robot, law, Rotation.random(random_state=seed)), drawn)
                for seed in range(count)
            ]
            bad = [seed for seed, row in enumerate(rows) if not row[0]]
            worst = "".join(f"{value:9.1e}" for value in np.max([row[1:] for row in rows], axis=0))
            agree = f"{count - len(bad)}/{count}"
            print(f"{robot:24s}{law or 'none':18s}{agree:>9s}{worst} ", *bad, flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 12)
