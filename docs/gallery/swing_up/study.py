"""What the page measures: the runs, how far LQR catches, and what the energy row does alone."""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np

from ukctrl import Dynamics, Loop, Matrix, Result, Scenario, Vector, control, simulate

NAMES = ("cart-pole", "acrobot", "pendubot", "furuta")
HOLD = 1e-3
"""Period of the zero-order hold [s]."""
STATES = 4000
"""States of an ellipsoid at which its cost must fall."""
STARTS = 24
"""Runs from an ellipsoid."""
BACK = 1e-3
"""Largest error of a joint after a run that came back [rad, m]."""
STEPS = 4.0 ** np.arange(-6.0, 3.0)
"""Levels that are tried, in multiples of the one at which the scenario switches."""
DRAWS = 20
"""Swing-ups from drawn starts."""
SPREAD = 0.05
"""How far these lie from the scenario's [rad, m]."""
PATIENCE = 30.0
"""How long they may take [s]."""
QUICK = {"timing.sample": 0.05, "integrator": {"method": "DOP853", "rtol": 1e-7, "atol": 1e-9}}


@functools.cache
def run(name: str, held: bool = False) -> Result:
    """Return the swing-up of a robot."""
    return simulate(Scenario.load(f"{name}-swing-up", {"timing.control": HOLD} if held else {}))


def upright(found: Result) -> bool:
    """Return whether a run ends upright."""
    return found.status == "completed" and bool(np.abs(found["phi"][-1]).max() < BACK)


@functools.cache
def drawn(name: str, gain: str = "alpha", factor: float = 1.0) -> tuple[Result, ...]:
    """Return swing-ups from drawn starts, with a gain of the swing-up changed."""
    base = Scenario.load(f"{name}-swing-up", {"start.spread": SPREAD, **QUICK})
    value = getattr(base.controller.modes[0].law, gain)
    changes = {f"controller.modes.0.law.{gain}": factor * value}
    longer = base.replace({"timing.duration": PATIENCE, **changes})
    return tuple(simulate(longer.replace({"seed": seed})) for seed in range(DRAWS))


class Balance(NamedTuple):
    """LQR at the top of a swing-up."""

    scenario: Scenario
    law: control.RegulatorLaw
    enter: float
    leave: float


@functools.cache
def balance(name: str) -> Balance:
    """Return the second mode of a scenario."""
    scenario = Scenario.load(f"{name}-swing-up")
    mode = scenario.controller.modes[1]
    return Balance(scenario, Loop(scenario).law.laws[1], mode.enter, mode.leave)


def states(law: control.RegulatorLaw, count: int) -> Matrix:
    """Return deviations whose cost is 1, shape ``(count, 2 nv)``, evenly over the ellipsoid."""
    S = law.regulator.S
    normal = np.random.default_rng(0).standard_normal((count, len(S)))
    normal /= np.linalg.norm(normal, axis=1)[:, None]
    spread: Matrix = np.linalg.solve(np.linalg.cholesky(S).T, normal.T).T
    return spread


def place(law: control.RegulatorLaw, x: Vector) -> tuple[Vector, Vector]:
    """Return the configuration and velocity of a deviation."""
    n = law.task.robot.nv
    return np.ascontiguousarray(law.task.robot.integrate(law.linear.q, x[:n])), x[n:]


def falls(name: str, level: float) -> bool:
    """Return whether the cost falls at every state of a level that is tried."""
    law = balance(name).law
    dynamics, n, S = Dynamics(law.task.robot), law.task.robot.nv, law.regulator.S
    for x in np.sqrt(level) * states(law, STATES):
        dynamics.move(0.0, *place(law, x))
        a = dynamics.acceleration(law.step(dynamics, law.memory).u)
        if not x @ S @ np.concatenate([x[n:], a]) < 0.0:
            return False
    return True


@functools.cache
def returning(name: str, level: float) -> float:
    """Return the share of states of a level from which LQR alone brings the robot back."""
    case = balance(name)
    alone = {"controller": case.scenario.controller.modes[1].law, "timing.duration": 8.0, **QUICK}
    back = 0
    for x in np.sqrt(level) * states(case.law, STARTS):
        q, v = place(case.law, x)
        start = {"start.q": tuple(q.tolist()), "start.v": tuple(v.tolist())}
        back += upright(simulate(case.scenario.replace({**alone, **start})))
    return back / STARTS


@functools.cache
def largest(name: str, by_runs: bool) -> float:
    """Return the largest level tried up to which all levels hold."""
    best = 0.0
    for level in balance(name).enter * STEPS:
        if not (returning(name, level) == 1.0 if by_runs else falls(name, level)):
            break
        best = level
    return best


ROW = """
title = "The energy of the pole as a servo row"
robot = "cart_pole"

[[servo]]
kind   = "energy"
joints = ["pole"]
at     = { pole = "180*deg" }

[controller]
kind       = "servo"
feedback   = { kind = "first_order", kappa = 2.0 }
allocation = { kind = "least_norm" }

[timing]
duration = 10.0
"""


@functools.cache
def row(rate: float, allocation: str) -> Result:
    """Return a run of the energy row alone, the pole at 30 degrees with a rate [rad/s]."""
    start = {"start.q": {"pole": "30*deg"}, "start.v": {"pole": rate}}
    changes = {**start, "controller.allocation": {"kind": allocation}}
    return simulate(Scenario.from_toml(ROW).replace(changes))
