"""The true robot of a scenario, drawn from what a fit to logs does not know."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ukctrl.robot import Robot
from ukctrl_identification.identified_json import read_identified
from ukctrl_identification.identified_spread import draw_dynamics
from ukctrl_identification.robot_dynamics import with_dynamics


def drawn_robot(robot: Robot, folder: Path, rng: np.random.Generator) -> Robot:
    """Return a robot with numbers drawn from a fit.

    Args:
        robot: Its kinematics, and the numbers that the fit does not have.
        folder: Of ``identified.json``.
        rng: Random numbers.

    Raises:
        InputError: The file is not acceptable, or of another robot.
    """
    return with_dynamics(robot, draw_dynamics(*read_identified(folder), rng))


def drawn_numbers(folder: Path, rng: np.random.Generator) -> dict[str, Any]:
    """Return the same numbers, as plain data."""
    drawn = draw_dynamics(*read_identified(folder), rng)
    bodies = {joint: body.tolist() for joint, body in drawn.bodies.items()}
    friction = {velocity: one._asdict() for velocity, one in drawn.friction.items()}
    return {"bodies": bodies, "armature": dict(drawn.armature), "friction": friction}
