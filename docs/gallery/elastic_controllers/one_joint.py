"""One elastic joint under a sampled law: a linear system, whose stability has a closed form."""

from __future__ import annotations

import functools

import numpy as np
from scipy.linalg import expm

from ukctrl import Controller, Matrix, Robot, Task, constraints, reference, robot

M, J, K = 1.0, 0.2, 1e4
"""The shoulder of the arm, about: inertia of link and motor [kg m^2], stiffness [N m/rad]."""
PERIODS = np.geomspace(1e-4, 0.1, 400)
"""Control periods that are tried [s]."""


def gains(law: Controller) -> Matrix:
    """Return ``F`` of ``u = -F (q, theta, v, theta_dot)``: the law is linear here."""
    joint = Robot.build(
        robot.Lagrangian(coordinates=["q"], kinetic=f"{M}/2*v.q**2"),
        robot.Options(elastic=robot.Elastic(stiffness=K, motor_inertia=J)),
    )
    rows = (constraints.JointFollows(joints=("q",), path=reference.Constant(value=(0.0,))),)
    bound = law.start(Task(robot=joint, servo=rows, q=np.zeros(2), v=np.zeros(2)))
    columns = [-bound.command(0.0, x[:2], x[2:]).u for x in np.eye(4)]
    return np.column_stack(columns)


@functools.cache
def steps() -> tuple[Matrix, Matrix]:
    """Return the joint's motion over every period, input held: ``x -> A x + B u``."""
    A, B = np.zeros((4, 4)), np.array([[0.0], [0.0], [0.0], [1.0 / J]])
    A[:2, 2:] = np.eye(2)
    A[2, :2], A[3, :2] = [-K / M, K / M], [K / J, -K / J]
    whole = np.zeros((5, 5))
    whole[:4, :4], whole[:4, 4:] = A, B
    step = expm(PERIODS[:, None, None] * whole)
    return step[:, :4, :4], step[:, :4, 4:]


def longest(law: Controller) -> float:
    """Return the control period up to which a law is stable [s]; NaN where it never is."""
    A, B = steps()
    growth = np.abs(np.linalg.eigvals(A - B @ gains(law))).max(axis=1)
    unstable = np.flatnonzero(growth >= 1.0)
    first = int(unstable[0]) if unstable.size else len(PERIODS)
    return float(PERIODS[first - 1]) if first else float("nan")
