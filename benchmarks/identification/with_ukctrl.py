"""Base parameters by ukctrl: rows in batches, a triangle of each equation, least squares.

``fit`` solves the rows that the script solves, ``identify`` is all that a user calls, from a log of
positions and torques; ``log`` predicts the torques of what was held out of a real one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pinocchio as pin
from protocol import Clock, Samples, answer

from ukctrl import Robot
from ukctrl_identification.identify import identify
from ukctrl_identification.joint_log import JointLog
from ukctrl_identification.least_squares import weighted_fit
from ukctrl_identification.measured_motion import Motion
from ukctrl_identification.motion_equations import structural_base
from ukctrl_identification.passive_motion import FreeMotion
from ukctrl_identification.regression import Regression


def equations(robot: Robot, samples: Samples, which: slice = slice(None)) -> FreeMotion:
    """Return the equations of every sample, unfiltered."""
    q, v, a, tau = (samples[name][which] for name in ("q", "v", "a", "tau"))
    nothing = np.broadcast_to(0.0, tau.shape)
    return FreeMotion(Motion(nothing[:, 0], q, v, a, tau), tuple(range(robot.nv)), None, tau)


def fit(samples: Samples, clock: Clock) -> dict[str, Any]:
    """Return which parameters are fitted, and the fit."""
    robot = Robot.load("panda")
    clock.lap("loading")
    regression = Regression(robot, np.full(robot.nv, float(samples["scale"])))
    motion = equations(robot, samples)
    base = structural_base(regression, motion)
    clock.lap("columns")
    triangles = regression.triangles([motion], base.kept())
    clock.lap("rows and triangles")
    prior = np.zeros(len(base.independent))
    found = weighted_fit(triangles, base, np.ones(robot.nv), prior, weighted=False)
    clock.lap("solution")
    return {"independent": base.independent, "values": found.values}


def joint_log(robot: Robot, samples: Samples, positions: str, which: slice) -> JointLog:
    """Return positions and torques as they were logged."""
    q, tau = samples[positions][which], samples["tau"][which]
    position = {name: q[:, i] for i, name in enumerate(robot.coordinates)}
    effort = {name: tau[:, i] for i, name in enumerate(robot.dofs)}
    return JointLog("samples", samples["t"][which], position, {}, effort)


def whole(samples: Samples, clock: Clock) -> dict[str, Any]:
    """Return all that a user gets of a log."""
    robot = Robot.load("panda")
    clock.lap("loading")
    found = identify(robot, [joint_log(robot, samples, "q", slice(None))])
    clock.lap("identify")
    return {"independent": found.base.independent, "values": found.fit.values}


def log(samples: Samples, clock: Clock) -> dict[str, Any]:
    """Return the torques that three models ask for where nothing was fitted."""
    robot, split = Robot.load("panda"), int(samples["split"])
    seen, unseen = slice(None, split), slice(split, None)
    clock.lap("loading")
    log, judged_by = (joint_log(robot, samples, "raw", which) for which in (seen, unseen))
    found = identify(robot, [log], validate=[judged_by])
    clock.lap("identify")
    values = np.array([found.regression.model_values()] * 3)
    values[1] = 0.0
    values[1, found.base.independent], values[2] = found.fit.values, found.consistent.values
    motion, every = equations(robot, samples, unseen), np.ones(values.shape[1], dtype=bool)
    left = found.regression.residuals([motion], every, values)
    return dict(zip(("before", "base", "bodies"), samples["tau"][unseen] - left, strict=True))


if __name__ == "__main__":
    works = {"fit": fit, "identify": whole, "log": log}
    answer(works, f"ukctrl, pin {pin.__version__}, numpy {np.__version__}")
