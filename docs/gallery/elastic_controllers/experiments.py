"""The runs behind the page, each made once."""

from __future__ import annotations

import dataclasses as dc
import functools
import json
from typing import NamedTuple

import numpy as np

from ukctrl import Result, Robot, Scenario, robot, simulate

LAWS = {
    "tracking": "elastic-tracking",
    "cascade": "elastic-cascade",
    "singular perturbation": "elastic-singular-perturbation",
    "integral manifold": "elastic-integral-manifold",
    "linearisation": "elastic-linearisation",
}
"""Cards, by the names of the page."""
MILLIMETRES = 1e3

SWING = """
title = "Both links swing from rest"
robot = "flexible_joint_arm"
[start]
springs = "loaded"
[[servo]]
kind   = "joint_follows"
joints = ["q2", "q4"]
path   = { kind = "expression", components = ["0.8*sin(t)**6", "-0.5*sin(t)**6"] }
[controller]
kind     = "servo"
feedback = { kind = "baumgarte", alpha = 7.0, beta = 12.0 }
[timing]
duration = 2.0
[integrator]
rtol = 1e-10
atol = 1e-12
"""
SLOW_LAW = {"feedback": {"kind": "baumgarte", "alpha": 7.0, "beta": 12.0}}
SOFT: dict[str, dict[str, object]] = {
    "tracking": {"kind": "elastic_tracking", "alpha": 1.1, "beta": 4.0},
    "cascade": {"kind": "elastic_cascade", "alpha": 20.0, "beta": 100.0},
    "singular perturbation": {"kind": "elastic_singular_perturbation"},
    "integral manifold": {"kind": "elastic_singular_perturbation", "order": 1},
    "linearisation": {"kind": "elastic_linearisation", "alpha": 20.0, "beta": 100.0},
}
"""Laws for the review paper's arm, by the names of the page."""
PAPER = {
    "feedback": {"kind": "first_order", "kappa": 2.5},
    "allocation": {
        "kind": "least_norm",
        "metric": "gauss",
        "feedback_metric": "resolved_acceleration",
        "null_space": {"kind": "posture", "kp": 1.0, "kd": 0.0, "q": [0.0] * 4, "gravity": False},
    },
}
"""The paper's law for the links; it is written for K theta, ours for the springs' K (theta - q)."""


class Outcome(NamedTuple):
    """What became of a run of the arm."""

    rms: float
    """Error of the tool's place [mm]; NaN where the run failed."""
    peak: float
    peak_u: float
    """[N m]."""
    failed: float | None
    """When it failed [s]."""


def outcome(run: Result) -> Outcome:
    """Return how far the tool was from its path."""
    failed = None if run.status == "completed" else float(run.time[-1])
    if failed is not None:
        return Outcome(np.nan, np.nan, np.nan, failed)
    apart = MILLIMETRES * np.linalg.norm(run["phi"][:, :3], axis=1)
    return Outcome(
        float(np.sqrt(np.mean(apart**2))), float(apart.max()), float(np.abs(run["u"]).max()), None
    )


@functools.cache
def _panda(law: str, changes: str) -> Result:
    scenario = Scenario.load("panda-elastic", {"controller": {"use": LAWS[law]}})
    return simulate(scenario.replace(json.loads(changes)))


def panda_run(law: str, **changes: object) -> Result:
    """Run the seven-joint arm; dots of paths are double underscores."""
    paths = {key.replace("__", "."): value for key, value in changes.items()}
    return _panda(law, json.dumps(paths))


def panda(law: str, **changes: object) -> Outcome:
    """Return how a run of the seven-joint arm went."""
    return outcome(panda_run(law, **changes))


@functools.cache
def swing(law: str, stiffness: float) -> Result:
    """Swing both links through springs of a stiffness [N m/rad]."""
    both = {"q2": stiffness, "q4": stiffness}
    changes = {"robot.elastic.stiffness": both, "controller": {**SOFT[law], **SLOW_LAW}}
    return simulate(Scenario.from_toml(SWING).replace(changes))


@functools.cache
def rigid_swing() -> Result:
    """Swing the links without springs."""
    scenario = Scenario.from_toml(SWING).replace({"start.springs": "relaxed"})
    rigid = robot.rigid_link_robot(Robot.load("flexible_joint_arm"))
    return simulate(dc.replace(scenario, robot=rigid))


def apart(law: str, stiffness: float) -> float:
    """Return how far the links are from the rigid motion [rad]; NaN where the run failed."""
    run = swing(law, stiffness)
    if run.status != "completed":
        return float("nan")
    return float(np.abs(run["q"][:, :2] - rigid_swing()["q"][:, :2]).max())


@functools.cache
def paper(law: str, relaxed: bool) -> Result:
    """Run the review paper's task, with motors where its motion wants them or springs relaxed."""
    scenario = Scenario.load("flexible-joint-arm-motor")
    changes: dict[str, object] = {"controller": {**SOFT[law], **PAPER}}
    if relaxed:
        changes["start.q"] = {"q2": 0.0, "q4": 0.0}
        changes["start.v"] = {"q2": 1.0, "q4": -0.1}
    return simulate(scenario.replace(changes))
