"""A tick of ukctrl: ``law.command(t, q, v)``, state in, torques out; its reference included."""

from __future__ import annotations

from importlib.metadata import version

import numba
import numpy as np
import pinocchio as pin
from protocol import Case, Tick, serve

from ukctrl import Dynamics, Law, Loop, Scenario, Stack, Task, Vector


def states(case: Case) -> list[tuple[float, Vector, Vector]]:
    """Return time, configuration and velocity of every state."""
    return [
        (t, np.array(q), np.array(v))
        for t, q, v in zip(case["t"], case["q"], case["v"], strict=True)
    ]


def task_of(case: Case) -> tuple[Scenario, Task]:
    """Return the case's scenario and what its law is started on."""
    scenario = Scenario.load(case["scenario"])
    robot, (_, q, v) = Loop(scenario).robot, states(case)[0]
    return scenario, Task(robot=robot, servo=scenario.servo, q=q, v=v, rank=scenario.rank)


def prepare(case: Case) -> Tick:
    """Start the law."""
    scenario, task = task_of(case)
    law: Law = scenario.controller.start(task)
    at = states(case)
    law.command(*at[0])  # compiles
    return lambda k: law.command(*at[k]).u


def split(case: Case) -> dict[str, Tick]:
    """Return the parts of a tick.

    ``Dynamics.move`` is the first two and its kernel; ``command`` adds servo rows and allocation.
    """
    scenario, task = task_of(case)
    law = scenario.controller.start(task)
    dynamics, at = Dynamics(task.robot, task.rank, task.gains), states(case)
    dynamics.move(*at[0])
    servo = Stack(scenario.servo, task.robot)
    return {
        "Pinocchio": lambda k: dynamics.snapshot.move(at[k][1], at[k][2], at[k][0]),
        "contact rows": lambda k: dynamics.passive.write(dynamics.snapshot),
        "move": lambda k: dynamics.move(*at[k]),
        "servo rows": lambda k: servo.write(dynamics.snapshot),
        "law": lambda k: law.step(dynamics, law.memory),
        "tick": lambda k: law.command(*at[k]),
    }


def versions() -> str:
    """Return what ran."""
    parts = (version("ukctrl"), pin.__version__, numba.__version__, np.__version__)
    return "ukctrl {}, pin {}, numba {}, numpy {}".format(*parts)


if __name__ == "__main__":
    serve(prepare, versions, split)
