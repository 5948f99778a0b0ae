"""The runs and the robot model that the paper's numbers are compared with."""

from __future__ import annotations

import functools
from collections.abc import Mapping

import numpy as np

from ukctrl.core.arrays import Vector
from ukctrl.robot import Robot, Snapshot
from ukctrl.simulation.result.result import Result
from ukctrl_papers import catalogue_runs
from ukctrl_papers.scara.formulas import START_READINGS, exact_start

DRIFT, STABILISED, EXACT_SCENARIO = "scara-helix-drift", "scara-helix-baumgarte", "scara-helix"
"""Scenarios of the catalogue."""
ROW_ORDER = [0, 1, 3, 2]
"""From the paper's order x, y, orientation, z to the scenarios': x, y, z, orientation."""
COARSE_INTEGRATOR: Mapping[str, object] = {
    "method": "RK45",
    "rtol": 1e-3,
    "atol": 1e-6,
    "max_step": 20.0,
}
TEST_Q, TEST_V = np.array([0.3, -0.8, 0.5, 0.1]), np.array([0.7, -1.1, 0.4, 0.2])
"""Where formulas are evaluated: no special state [rad, m], [rad/s, m/s]."""


def robot_at(q: Vector = TEST_Q, v: Vector = TEST_V) -> Snapshot:
    """Return the catalogue's robot at a state."""
    return _robot().snapshot(q, v)


@functools.cache
def _robot() -> Robot:
    return catalogue_runs.catalogue_robot("scara")


@functools.cache
def run(scenario: str, start: str = "", coarse: bool = False) -> Result:
    """Run a scenario of the catalogue, from one of `START_READINGS` or with a coarse integrator."""
    changes: dict[str, object] = {"integrator": COARSE_INTEGRATOR} if coarse else {}
    if start:
        changes["start.q"] = START_READINGS[start].tolist()
    return catalogue_runs.run_catalogue_scenario(scenario, changes)


@functools.cache
def exact_run(elbow: float) -> Result:
    """Run the exact scenario on one branch; ``elbow`` is the sign of q2."""
    q, v = exact_start(elbow)
    return catalogue_runs.run_catalogue_scenario(
        EXACT_SCENARIO, {"start.q": q.tolist(), "start.v": v.tolist()}
    )


def peak_errors(result: Result, after: float = 0.0) -> Vector:
    """Return the largest error of each row: x, y, z [m], orientation [rad]."""
    worst: Vector = np.abs(result["phi"][result.time >= after]).max(axis=0)
    return worst


def peak_joint_errors(result: Result, after: float = 0.0) -> Vector:
    """Return the largest error of each joint [rad], and of the slide [m]."""
    late = result.time >= after
    turn = np.abs(result["joint_error"][late]).max(axis=0)
    return np.append(turn, np.abs(result["slide_error"][late]).max())
