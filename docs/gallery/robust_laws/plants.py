"""Two hundred robots that are not as their model says, and laws that promise to bear them.

The tests hold the same robots to the same promises (`tests/control/feedback/test_robust_bounds.py`).
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np

from ukctrl import Feedback, Result, Robot, Scenario, Stack, Task, control, robot, simulate

COUNT = 200
"""How many robots."""
ROUNDING = 1e-9
"""Of a bound that is reached, such as that of the start."""
OFF = 0.04
"""How far the elbow is from the path at the start of the runs that do not start on it [rad]."""
LEFT = 9.0
"""Bound of the tool's acceleration that the wrong model leaves, for all robots [m/s^2]."""
LOST = 0.6
"""Bound of the motors' grip that the wrong model takes, for all robots."""

TASK = """
title = "A two-link arm that is not as its model says follows a circle"
robot = "two_link"
start = { q = { shoulder = 1.0, elbow = -1.6 }, solve = true }
timing = { duration = 0.4, sample = 0.01 }
integrator = { rtol = 1e-7, atol = 1e-9 }
controller = { use = "servo-baumgarte" }

[[servo]]
kind  = "point_follows"
frame = "tool"
axes  = "xz"
path  = { kind = "expression", components = ["0.65 + 0.1*sin(pi*t)", "0.05 + 0.1*cos(pi*t)"] }
"""
JOINTS = ("shoulder", "elbow")

LAWS: dict[str, Feedback] = {
    "sliding, tanh": control.Sliding(
        alpha=20.0, beta=100.0, rate=20.0, box=0.004, uncertainty=LEFT, mismatch=LOST + 0.05
    ),
    "sliding, cubic": control.Sliding(
        alpha=20.0,
        beta=100.0,
        rate=20.0,
        box=0.004,
        uncertainty=LEFT,
        mismatch=LOST + 0.05,
        function=control.Power(exponent=3.0),
    ),
    "chen_robust": control.ChenRobust(
        kappa=10.0, rate=20.0, rho=(LEFT, 1.0), epsilon=0.25, mismatch=LOST
    ),
    "adaptive_robust": control.AdaptiveRobust(
        kappa=10.0,
        rate=20.0,
        growth=2e4,
        leak=8.0,
        epsilon=0.25,
        mismatch=LOST,
        supposed=LEFT / (1.0 - LOST),
    ),
    "lyapunov": control.Lyapunov(kappa=100.0, rate=20.0, tube=0.1, uncertainty=20.0),
}
"""The laws, with gains that follow from `LEFT` and `LOST`."""


def believed() -> Robot:
    """Return the robot as its file has it, in which all laws believe."""
    return Robot.load("two_link")


def drawn(seed: int) -> Robot:
    """Return a robot with other masses, centres of mass and friction, and a payload."""
    rng = np.random.default_rng(seed)
    return believed().perturbed(
        robot.Perturbation(
            mass_scale={joint: rng.uniform(0.7, 1.3) for joint in JOINTS},
            inertia_scale={joint: rng.uniform(0.7, 1.3) for joint in JOINTS},
            com_shift={
                joint: (rng.uniform(-0.03, 0.03), 0.0, rng.uniform(-0.03, 0.03)) for joint in JOINTS
            },
            damping={joint: rng.uniform(0.0, 0.5) for joint in JOINTS},
            friction={joint: rng.uniform(0.0, 0.5) for joint in JOINTS},
            friction_velocity=0.05,
            payload=robot.Payload(frame="tool", mass=rng.uniform(0.0, 0.3)),
        )
    )


@functools.cache
def base() -> Scenario:
    """Return the task, from a start on the path."""
    return Scenario.from_toml(TASK)


@functools.cache
def start() -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return the state on the path at the start."""
    first = simulate(base().replace({"timing.duration": 0.01}))
    return tuple(first["q"][0].tolist()), tuple(first["v"][0].tolist())


def run(law: str, truth: Robot, off: float = 0.0) -> Result:
    """Return a run of a law on a robot that it takes for another, from near the path."""
    q, v = start()
    changes = {
        "robot": truth,
        "believed": {"robot": "two_link"},
        "controller": control.Servo(feedback=LAWS[law]),
        "start": {"q": (q[0], q[1] + off), "v": v, "solve": False},
    }
    return simulate(base().replace(changes))


class Verdict(NamedTuple):
    """How a run kept its promise."""

    surface: float
    """Worst error on the surface, as a fraction of its bound."""
    position: float
    """Worst position error, as a fraction of its bound."""
    later: float
    """The worse of the two, 0.1 s and more after the start."""
    left: float
    """Worst uncertainty, as a fraction of what the law assumes."""
    lost: float
    """Worst loss of grip, as a fraction of what the law assumes."""

    @property
    def kept(self) -> bool:
        """Whether the promise was kept."""
        return self.surface <= 1.0 and self.position <= 1.0

    @property
    def assumed(self) -> bool:
        """Whether the law's assumptions held all along."""
        return self.left <= 1.0 and self.lost <= 1.0


def verdict(law: str, truth: Robot, result: Result) -> Verdict:
    """Return how a run kept its promise, and whether what it assumes did hold."""
    surface, position = (
        result[f"{level}_error"] / (result[f"{level}_bound"] + ROUNDING)
        for level in ("surface", "position")
    )
    after = result.time >= 0.1
    later = float(np.maximum(surface, position)[after].max())
    worst = float(surface.max()), float(position.max())
    return Verdict(*worst, later, *_assumed(LAWS[law], truth, result))


def _assumed(law: Feedback, truth: Robot, result: Result) -> tuple[float, float]:
    """Return uncertainty and loss of grip as fractions of what the law assumes of them."""
    model = believed()
    task = Task(robot=model, servo=base().servo, q=result["q"][0], v=result["v"][0])
    if isinstance(law, control.Lyapunov):
        return _along_row(law, task, truth, result), 0.0
    found = list(control.ModelMismatch(task, truth).along(result.time, result["q"], result["v"]))
    if isinstance(law, control.Sliding):
        nominal = [np.abs(_nominally(law, one, result, k)) for k, one in enumerate(found)]
        return float(np.max(nominal)) / LEFT, max(one.row_sum() for one in found) / law.mismatch
    assert isinstance(law, control.ChenRobust | control.AdaptiveRobust)
    on_surface = [float(np.linalg.norm(one.on_surface(law.rate))) for one in found]
    return max(on_surface) / LEFT, max(one.lost() for one in found) / law.mismatch


def _nominally(
    law: control.Sliding, one: control.RowMismatch, result: Result, k: int
) -> np.ndarray:
    """Return what the wrong model leaves of the nominal demand, which has alpha^2 = 4 beta."""
    t, w = result.time[k], law.alpha / 2.0
    phi, beta = result["phi"][0], result["beta"][0]
    slope = beta + w * phi
    now = (phi + slope * t) * np.exp(-w * t)
    moving = slope * np.exp(-w * t) - w * now
    return one.left + one.grip @ (-law.alpha * moving - law.beta * now)


def _along_row(law: control.Lyapunov, task: Task, truth: Robot, result: Result) -> float:
    """Return the acceleration along the error that the wrong model leaves, of that assumed."""
    stack, worst = Stack(task.servo, task.robot), 0.0
    for k, t in enumerate(result.time):
        q, v, u = result["q"][k], result["v"][k], result["u"][k]
        model = task.robot.snapshot(q, v, float(t))
        A = stack.write(model).A
        meant = np.linalg.solve(model.M, model.f - model.nle + model.B @ u)
        s = result["beta"][k] + law.rate * result["phi"][k]
        along = s / max(float(np.linalg.norm(s)), 1e-12)
        worst = max(worst, abs(float(along @ A @ (result["a"][k] - meant))))
    return worst / law.uncertainty
