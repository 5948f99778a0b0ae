"""Section 8.3, for real: the motors turn the links through the flexible joints."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.integrate import solve_ivp

from ukctrl.core.arrays import Vector
from ukctrl_papers.claim import Claim, bounded_claim, zero_claim
from ukctrl_papers.review.flexible import ROUTE_TOLERANCE, FlexibleJointArm, P
from ukctrl_papers.review.runs import run

STEP = 2e-3
"""Of the differences along the motion [s]."""
TORQUE_TOLERANCE = 1e-6
"""What they leave of the torque, which has four derivatives of the angles in it [N m]."""
SECOND_DERIVATIVE = np.array([2.0, -27.0, 270.0, -490.0, 270.0, -27.0, 2.0]) / (180.0 * STEP**2)
"""Second derivative from seven equidistant values, to sixth order (B. Fornberg, 1988)."""
CHECKED_SAMPLES = (0, 20, 60, 150, 290)


def claims() -> Iterator[Claim]:
    """The motors, driven through the springs, so that the links move as (72) moves them."""
    links, motors = run("flexible-joint-arm-links"), run("flexible-joint-arm-motor")
    t, arm = motors.time, FlexibleJointArm()
    both = [np.column_stack((r["q"][:, :2], r["v"][:, :2])) for r in (links, motors)]
    yield bounded_claim(
        "eqs (66), (72)",
        "difference of the links' angles and rates from (72) on them",
        both[1] - both[0],
        ROUTE_TOLERANCE,
        unit="rad, rad/s",
        note="flexible-joint-arm-motor beside flexible-joint-arm-links, 3 s",
    )
    yield bounded_claim(
        "Figure 10",
        "difference of beta from 0.9 exp(-t/P)",
        motors["beta"][:, 0] - 0.9 * np.exp(-t / P),
        ROUTE_TOLERANCE,
        unit="rad/s",
        note="closed form; P = 0.4 s, by torques of the motors",
    )
    miss = 0.0
    for q, v, a, u in zip(*(motors[name] for name in "qvau"), strict=True):
        D, C, G = arm.dynamics(q[:2], v[:2])
        spring = q[:2] - q[2:]
        row = np.concatenate((D @ a[:2] + C @ v[:2] + G + spring, a[2:] - spring - u))
        miss = max(miss, float(np.abs(row).max()))
    yield zero_claim(
        "eq (66)",
        "largest residual of (66) along the run",
        miss,
        1e-9,
        unit="N m",
        note="independent route: the printed matrices",
    )
    states = np.column_stack((motors["q"][:, :2], motors["v"][:, :2]))
    gap = max(
        float(np.abs(motor_torque(arm, states[k]) - motors["u"][k]).max()) for k in CHECKED_SAMPLES
    )
    yield bounded_claim(
        "eq (66)",
        "difference of u from J q2'' - K (q1 - q2)",
        gap,
        TORQUE_TOLERANCE,
        unit="N m",
        note="independent route: q2 = K^-1 (72), differentiated twice along its own motion",
    )


def motor_torque(arm: FlexibleJointArm, state: Vector) -> Vector:
    """Return the torque of the motors for a state of the links, shape ``(2,)`` [N m]."""
    flow = arm.flow(P)

    def motor(tau: float) -> Vector:
        x = state
        if tau:
            x = solve_ivp(flow, (0.0, tau), state, "DOP853", rtol=1e-13, atol=1e-15).y[:, -1]
        return arm.law(x[:2], x[2:], P) / arm.K

    second = SECOND_DERIVATIVE @ np.array([motor(k * STEP) for k in range(-3, 4)])
    return np.asarray(second - arm.K * (state[:2] - motor(0.0)), dtype=np.float64)
