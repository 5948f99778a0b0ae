"""Where parts are tried: open and closed chains, redundant motors, nonholonomic rows."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from ukctrl.control.task import Task
from ukctrl.core.arrays import Vector
from ukctrl.mechanics.constraints import Stack
from ukctrl.mechanics.dynamics import Dynamics
from ukctrl.simulation.assemble import Loop
from ukctrl.simulation.assemble.retimed_rows import servo_constraints
from ukctrl.simulation.scenario import Scenario

SCENARIOS: Mapping[str, str] = MappingProxyType(
    {
        "open chain": "scara-helix",
        "closed chain, redundant motors": "coordinated-arms",
        "motors with limits": "ur5-pose",
        "nonholonomic rows": "log-spiral-particle",
    }
)
"""What the catalogue has of each situation."""
STATES = 4
"""States at which a part is asked."""
SPREAD = 0.05
"""How far the states lie from the scenario's start [rad, m, and per second]."""
SEED = 20


class Situation(NamedTuple):
    """A task, and its robot at several states off the task's path."""

    name: str
    task: Task
    stack: Stack
    dynamics: Dynamics
    """At the last state that `states` yielded."""
    points: tuple[tuple[float, Vector, Vector], ...]
    """Times, configurations and velocities."""

    def states(self) -> Iterator[Dynamics]:
        """Yield the robot at one state after the other."""
        for t, q, v in self.points:
            self.dynamics.move(t, q, v)
            yield self.dynamics


def situation(scenario: Scenario, name: str = "") -> Situation:
    """Return the task of a scenario and states around its start."""
    loop = Loop(scenario)
    task = loop.law.task
    rng = np.random.default_rng(SEED)
    points = []
    for k in range(STATES):
        dq = SPREAD * rng.uniform(-1.0, 1.0, task.robot.nv)
        dv = SPREAD * rng.uniform(-1.0, 1.0, task.robot.nv)
        if len(loop.plant.passive):  # off the loops no motion is possible
            dq, dv = 0.0 * dq, 0.0 * dv
        q = np.ascontiguousarray(task.robot.integrate(loop.state.q, dq))
        points.append((loop.t0 + 0.1 * k, q, loop.state.v + dv))
    dynamics = Dynamics(loop.believed_model.robot, task.rank, task.gains)
    servo = Stack(servo_constraints(scenario), dynamics.robot)
    return Situation(name or scenario.name, task, servo, dynamics, tuple(points))


@functools.cache
def situations() -> tuple[Situation, ...]:
    """Return the situations that every feedback and allocation is tried in."""
    return tuple(situation(Scenario.load(name), words) for words, name in SCENARIOS.items())
