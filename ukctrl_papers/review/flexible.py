"""Section 8.3: the flexible-joint arm, its law on the links and as a torque of the motors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from scipy.integrate import solve_ivp

from ukctrl.core.arrays import Matrix, Vector
from ukctrl_papers import catalogue_runs
from ukctrl_papers.claim import Claim, bounded_claim, zero_claim
from ukctrl_papers.claim_text import bound_text
from ukctrl_papers.integrability.classify import classify
from ukctrl_papers.review.runs import run

START = np.array([0.0, 0.0, 1.0, -0.1])
"""Angles and rates of the links; the angles are not printed."""
P = 0.4
"""Not printed; beta falls to 1 percent in 2 s for P up to 0.434 s."""
ROUTE_TOLERANCE = 1e-8
"""Two routes to the same motion may differ by this [rad, rad/s]."""
DIFFERENCE_TOLERANCE = 1e-8
"""What central differences over 1e-6 s leave of a rate that is zero, made of some J [W]."""
A = np.ones(2)


class FlexibleJointArm(NamedTuple):
    """The matrices of (67), (68) with the printed parameters, but for those given."""

    m1: float = 1.0
    m2: float = 1.0
    K: float = 1.0
    as_printed: bool = False
    """With m1 in c11, as (68) has it."""

    def dynamics(self, q: Vector, v: Vector) -> tuple[Matrix, Matrix, Vector]:
        """Return D, C and G."""
        l1, lc, inertia, g, m2 = 1.0, 0.5, 1.0, 9.81, self.m2
        cos, h = np.cos(q[1]), m2 * l1 * lc * np.sin(q[1])
        d12 = m2 * (lc**2 + l1 * lc * cos) + inertia
        d11 = m2 * (l1**2 + lc**2 + 2 * l1 * lc * cos) + self.m1 * lc**2 + 2 * inertia
        D = np.array([[d11, d12], [d12, m2 * lc**2 + inertia]])
        c11 = -h * v[1] * (self.m1 / m2 if self.as_printed else 1.0)
        C = np.array([[c11, -h * (v[0] + v[1])], [h * v[0], 0.0]])
        outer = m2 * lc * g * np.sin(q[0] + q[1])
        return D, C, np.array([(self.m1 * lc + m2 * l1) * g * np.sin(q[0]) + outer, outer])

    def law(self, q: Vector, v: Vector, P: float, with_K: bool = True) -> Vector:
        """Return (72); without K it is as printed."""
        D, C, G = self.dynamics(q, v)
        bias = C @ v + G + (self.K if with_K else 1.0) * q
        inverse = np.linalg.solve(D, A)
        force = A * (inverse @ bias) / (A @ inverse)  # D^1/2 (A D^-1/2)^+ = A' (A D^-1 A')^-1
        return np.asarray(force - D @ A / 2.0 * (A @ v) / P, dtype=np.float64)

    def flow(self, P: float, with_K: bool = True) -> Callable[[float, Vector], Vector]:
        """Return the rate of angles and rates of the links under (72)."""

        def rate(_: float, x: Vector) -> Vector:
            q, v = x[:2], x[2:]
            D, C, G = self.dynamics(q, v)
            u = self.law(q, v, P, with_K)
            return np.concatenate((v, np.linalg.solve(D, u - C @ v - G - self.K * q)))

        return rate


def link_motion(
    arm: FlexibleJointArm, t: Vector, P: float = P, with_K: bool = True, start: Vector = START
) -> Matrix:
    """Return angles and rates of the links when (72) stands in place of K q2 in (66)."""
    span = float(t[0]), float(t[-1])
    flow = arm.flow(P, with_K)
    solved = solve_ivp(flow, span, start, "DOP853", t, rtol=1e-12, atol=1e-13)
    return np.asarray(solved.y.T, dtype=np.float64)


def elastic_accelerations(arm: FlexibleJointArm, x: Vector, u: Vector) -> Vector:
    """Return the accelerations of (66), links then motors, at angles and rates ``x``, J = I."""
    q, motors, v = x[:2], x[2:4], x[4:6]
    D, C, G = arm.dynamics(q, v)
    spring = arm.K * (q - motors)
    return np.concatenate((np.linalg.solve(D, -C @ v - G - spring), u + spring))


def motor_motion(arm: FlexibleJointArm, t: Vector, P: float) -> Matrix:
    """Return angles and rates, links then motors, when (72) is the torque u of (66)."""

    def rate(_: float, x: Vector) -> Vector:
        u = arm.law(x[:2], x[4:6], P)
        return np.concatenate((x[4:], elastic_accelerations(arm, x, u)))

    start = np.concatenate((START[:2], np.zeros(2), START[2:], np.zeros(2)))
    span = float(t[0]), float(t[-1])
    solved = solve_ivp(rate, span, start, "DOP853", t, rtol=1e-11, atol=1e-12)
    return np.asarray(solved.y.T, dtype=np.float64)


def claims() -> Iterator[Claim]:
    """The law (71), (72) as a force on the links."""
    result = run("flexible-joint-arm-links")
    t, beta = result.time, result["beta"][:, 0]
    yield Claim(
        where="section 8.3",
        what="beta at the start",
        printed=0.9,
        ours=float(beta[0]),
        within=1e-12,
        unit="rad/s",
    )
    yield Claim(
        where="section 8.3",
        what="unit of the rates",
        printed="m/s",
        ours="rad/s",
        otherwise="differs: misprint",
        note="they are rates of angles",
    )
    yield bounded_claim(
        "eq (72)",
        "difference of beta from 0.9 exp(-t/P)",
        beta - 0.9 * np.exp(-t / P),
        ROUTE_TOLERANCE,
        unit="rad/s",
        note="closed form; P = 0.4 s",
    )
    settled = float(t[np.argmax(np.abs(beta) < 0.01 * beta[0])])
    yield Claim(
        where="Figure 10",
        what="time until the constraint is met to 1 percent",
        printed="no more than 2 s",
        ours=f"{settled:.2f} s",
        holds=settled <= 2.0,
        note=f"P is not printed; any P up to 2/log(100) = {2.0 / np.log(100.0):.3f} s agrees",
    )
    arrays = link_motion(FlexibleJointArm(), t)
    yield bounded_claim(
        "Figure 11",
        "difference of angles and rates from (72) on plain arrays",
        arrays - np.column_stack((result["q"], result["v"])),
        ROUTE_TOLERANCE,
        unit="rad, rad/s",
        note="independent route: the printed matrices, without any robot",
    )
    kind = classify(["v.q2 + v.q4"], ["q2", "q4"])
    yield Claim(
        where="eq (69)",
        what="integral of the constraint",
        ours=kind.rows[0].integral,
        holds=kind.kind == "holonomic",
        note="a holonomic constraint in the form of one on velocities",
    )
    yield from _matrices()
    stiff = link_motion(FlexibleJointArm(K=3.0), np.linspace(0.0, 4.0, 81), with_K=False)[-1]
    right = link_motion(FlexibleJointArm(K=3.0), np.linspace(0.0, 4.0, 81))[-1]
    size, residual = abs(float(stiff[2:].sum())), abs(float(right[2:].sum()))
    yield zero_claim(
        "eqs (71), (72)",
        "|beta| after 4 s with K = 3, q1 for K q1 as printed",
        size,
        1e-3,
        otherwise="differs: misprint",
        unit="rad/s",
        note=f"with K q1 it is {residual:.1e}; no effect for the printed K = I",
    )


def _matrices() -> Iterator[Claim]:
    """Compare (67), (68) with the robot, and (68) with the passivity of the arm."""
    arm, rng = FlexibleJointArm(), np.random.default_rng(4)
    robot = catalogue_runs.catalogue_robot("flexible_arm_links")
    miss = 0.0
    for q, v in rng.uniform(-2.0, 2.0, (5, 2, 2)):
        snapshot = robot.snapshot(q, v)
        D, C, G = arm.dynamics(q, v)
        bias = C @ v + G + arm.K * q - snapshot.nle
        miss = max(miss, float(np.abs(snapshot.M - D).max()), float(np.abs(bias).max()))
    yield zero_claim(
        "eqs (67), (68)",
        "difference of D, C q' + G + K q from Lagrange's",
        miss,
        1e-12,
        note="the printed parameters, for which m1 in c11 does no harm",
    )
    q, v, h = np.array([0.3, 0.7]), np.array([0.5, -0.8]), 1e-6
    skew = []
    for as_printed in (True, False):
        heavy = FlexibleJointArm(m1=2.0, as_printed=as_printed)
        forward, behind = (heavy.dynamics(q + step * v, v)[0] for step in (h, -h))
        N = (forward - behind) / (2.0 * h) - 2.0 * heavy.dynamics(q, v)[1]
        skew.append(abs(float(v @ N @ v)))
    yield zero_claim(
        "eq (68)",
        "v' (D' - 2 C) v with m1 = 2, c11 as printed",
        skew[0],
        1e-6,
        otherwise="differs: misprint",
        unit="W",
        note=f"c11 needs m2 for m1; then it is below {bound_text(skew[1], DIFFERENCE_TOLERANCE)}",
    )


def motor_claims() -> Iterator[Claim]:
    """The law (72) as a torque of the motors, as (66) has it."""
    robot, rng = catalogue_runs.catalogue_robot("flexible_joint_arm"), np.random.default_rng(5)
    miss = 0.0
    for x in rng.uniform(-2.0, 2.0, (5, 8)):
        u = rng.uniform(-1.0, 1.0, 2)
        snapshot = robot.snapshot(x[:4], x[4:])
        force = snapshot.f - snapshot.nle + snapshot.B @ u
        gap = np.linalg.solve(snapshot.M, force) - elastic_accelerations(FlexibleJointArm(), x, u)
        miss = max(miss, float(np.abs(gap).max()))
    yield zero_claim(
        "eq (66)",
        "difference of the accelerations from the elastic robot's",
        miss,
        1e-12,
        unit="rad/s^2",
        note="a Lagrangian of the links with elastic joints added, five random states",
    )
    snapshot = robot.snapshot(robot.neutral)
    row = np.array([1.0, 1.0, 0.0, 0.0])
    grip = float(np.abs(row @ np.linalg.solve(snapshot.M, snapshot.B)).max())
    yield Claim(
        where="eq (66)",
        what="A M^-1 B for the torque of the motors",
        ours=grip,
        holds=grip == 0.0,
        note="motors act on their own inertia, the links feel the springs: relative degree 3 at "
        "the level of rates, and the one-step formula does not apply",
    )
    t = np.array([0.0, 1.5, 3.0])
    beta = motor_motion(FlexibleJointArm(), t, 0.2)[:, 4:6].sum(axis=1)
    yield Claim(
        where="eqs (66), (72)",
        what="if u is applied, the system meets the constraint",
        printed="meets it within 2 s",
        otherwise="differs: claim does not hold",
        ours=", ".join(f"{value:.2f}" for value in beta) + " rad/s at 0, 1.5 and 3 s",
        holds=bool(abs(beta[-1]) < 0.01 * abs(beta[0])),
        note="P = 0.2 s, all angles zero: as a torque of the motors the law fails, beta oscillates "
        "and grows; it is a force on the links, in place of K q2 in the first row of (66)",
    )
