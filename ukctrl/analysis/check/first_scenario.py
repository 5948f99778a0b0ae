"""A first scenario with a robot: a small move of what its motors move, as a file holds it."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from ukctrl.analysis.check.check_scenario import check
from ukctrl.core.arrays import Vector
from ukctrl.core.errors import UkctrlError
from ukctrl.mechanics.dynamics import Dynamics
from ukctrl.mechanics.home_configuration import home_configuration
from ukctrl.robot import Robot
from ukctrl.robot.joint_layout import JointBlock
from ukctrl.simulation.scenario import Scenario

JOINT_STEP = {"rad/s": 0.2, "m/s": 0.05}
"""How far the first motion goes [rad or m], by the unit of the velocity."""
MAX_DOFS = 16
"""Along the motion of larger robots a look takes from seconds to minutes, and is left to `check`
of the scenario; where nothing closes a loop, rows of joints are held wherever they are."""
STEP_SCALES = (1.0, 0.1)
"""The parts of that which are tried: a closed chain may have little room."""


def first_scenario(robot: Robot, reference: str, q: Vector, dynamics: Dynamics) -> str:
    """Return a scenario that moves what motors can move; or one of free motion."""
    for size in STEP_SCALES:
        text = _joint_motion(robot, reference, q, dynamics, size)
        if robot.nv > MAX_DOFS and not robot.passive:
            return f"# looked at at its start alone: ukctrl check looks along it\n{text}"
        try:
            if check(Scenario.from_toml(text, base=Path.cwd())).ok:
                return text
        except (UkctrlError, ArithmeticError):
            break  # whatever its size
    return _head(robot, reference, "moves freely", q) + "timing = { duration = 1.0 }   # [s]\n"


def _head(robot: Robot, reference: str, does: str, q: Vector) -> str:
    solve = "start.solve = true\n" if robot.passive else ""
    at_home = home_configuration(robot)
    start_lines = "".join(
        f"start.q.{block.dofs[0]} = {_angle(block, q):.6g}\n"
        for block in robot.blocks
        if block.nv == 1 and (robot.home is None or not np.allclose(q, at_home))
        if _angle(block, q)
    )
    return f'title = "{robot.name} {does}"\nrobot = "{reference}"\n{solve}{start_lines}'


def _joint_motion(robot: Robot, reference: str, q: Vector, dynamics: Dynamics, size: float) -> str:
    """Return the text of a scenario in which as many joints as are free make a small move."""
    B = np.abs(dynamics.snapshot.B)
    lone = [block for block in robot.blocks if block.nv == 1]
    lone.sort(key=lambda block: not B[block.iv].any())  # those with a motor of their own first
    chosen: list[JointBlock] = []
    for block in lone:  # those that the motors move independently of each other
        rows = np.eye(robot.nv)[[joint.iv for joint in (*chosen, block)]]
        if dynamics.grip(rows, [""] * len(rows)).level == "held":
            chosen.append(block)
    chosen.sort(key=lambda block: block.iv)
    begin = [_angle(block, q) for block in chosen]
    goals = [_goal(robot, block, at, size) for block, at in zip(chosen, begin, strict=True)]
    names = ", ".join(f'"{block.dofs[0]}"' for block in chosen)
    points = ", ".join(f"[{', '.join(f'{x:.6g}' for x in row)}]" for row in (begin, goals))
    return (
        _head(robot, reference, "makes a small move", q)
        + 'controller = { use = "servo-baumgarte" }\ntiming = { duration = 2.0 }   # [s]\n\n'
        + f'[[servo]]\nkind = "joint_follows"\njoints = [{names}]\n'
        + f'path = {{ kind = "min_jerk", times = [0.0, 1.5], points = [{points}] }}\n'
    )


def _angle(block: JointBlock, q: Vector) -> float:
    """Return where a joint of one freedom stands [rad or m], rounded as it is written."""
    if block.nq == 2:
        return float(f"{math.atan2(q[block.iq + 1], q[block.iq]):.6g}")
    return float(f"{q[block.iq]:.6g}")


def _goal(robot: Robot, block: JointBlock, at: float, size: float) -> float:
    """Return where a small move ends, within the limits."""
    step = size * JOINT_STEP.get(robot.dof_units[block.iv], 0.1)
    upper, lower = robot.q_upper[block.iq], robot.q_lower[block.iq]
    if block.nq == 2:
        return at + step
    if at + step <= upper:
        return at + step
    return max(at - step, float(lower))
