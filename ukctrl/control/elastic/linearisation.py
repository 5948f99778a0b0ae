"""Exact linearisation of links behind elastic joints, of relative degree 4."""

from __future__ import annotations

import dataclasses as dc
from typing import Literal, NamedTuple

import numpy as np

from ukctrl import uk
from ukctrl.control.controller import Command, Law
from ukctrl.control.elastic.links import (
    Motion,
    ThroughSprings,
    ThroughSpringsLaw,
    first,
    sampled,
    second,
)
from ukctrl.control.error_dynamics import ErrorPolynomial
from ukctrl.control.task import Task
from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.fields import Rate, RateSquared, Seconds, spec
from ukctrl.mechanics.constraints import Stack
from ukctrl.mechanics.dynamics import Dynamics
from ukctrl.robot import ElasticJoints


@spec
class ElasticLinearisation(ThroughSprings):
    r"""The links' snap by the motors, so that every row obeys a polynomial of fourth order.

    A feedback asks the rows for $\ddot\phi = -\alpha_1 \dot\phi - \beta_1 \phi$. What is missing,
    $\rho = \ddot\phi + \alpha_1 \dot\phi + \beta_1 \phi$, is a function of links and motors whose
    second derivative contains the input,

    $$ \ddot\rho = \dots + A M^{-1} K J^{-1} B\, u , $$

    and the input makes it $\ddot\rho + \alpha \dot\rho + \beta \rho = 0$. So the four poles of a
    row are the roots of $(s^2 + \alpha_1 s + \beta_1)(s^2 + \alpha s + \beta)$; of a nonholonomic
    row with $\dot\psi = -\kappa \psi$ they are three. Where the rows leave links free, the error
    of their acceleration, $e = a - a^*$, obeys $\ddot e + \alpha \dot e + \beta e = 0$ as nearly
    as the rows allow: in the least norm of the input.

    The derivatives of the model and of the law are taken along the links' motion, whose
    acceleration and jerk the believed robot knows: $M a = \tau + f - \mathrm{nle}$ and
    $M j = \dot\tau - \dots$, with $\tau = K (\theta - q)$. The feedback must be twice
    differentiable, and so must the second derivative of the path.

    References:
        Spong, "Modeling and control of elastic joint robots", ASME J. Dyn. Sys. Meas. Control 109,
        1987; De Luca & Book, "Robots with flexible elements", Springer Handbook of Robotics, 2016.
    """

    kind: Literal["elastic_linearisation"] = "elastic_linearisation"
    alpha: Rate
    r"""Gain of $\dot\rho$ [1/s]."""
    beta: RateSquared
    r"""Gain of $\rho$ [1/s^2]."""
    step: Seconds = 3e-3
    """Step of the differences along the motion [s]."""

    def start(self, task: Task) -> Law:
        return _Linearised(self, task)

    def error_polynomials(self, stack: Stack) -> tuple[ErrorPolynomial, ...]:
        inner = self.feedback.attach(stack).error_polynomials(stack)
        outer = np.array([1.0, self.alpha, self.beta])
        return tuple(
            dc.replace(
                each, gains=tuple(np.polymul([1.0, *reversed(each.gains)], outer)[:0:-1].tolist())
            )
            for each in inner
            if not each.integral
        )


class _Linearised(ThroughSpringsLaw):
    def __init__(self, spec: ElasticLinearisation, task: Task) -> None:
        super().__init__(spec, spec.kind, _damped, task)
        self._alpha, self._beta, self._h = spec.alpha, spec.beta, spec.step
        self._still = np.zeros(task.robot.nv)

    def step(self, dynamics: Dynamics, memory: Vector) -> Command:
        s, joints, links, h = dynamics.snapshot, self.joints, self.links, self._h
        K, k = joints.stiffness, links.count
        a, M = dynamics.a_free[:k].copy(), s.M[:k, :k]
        wanted = links.wanted(s.t, s.q, s.v, memory)
        A = links.A.copy()
        motion = links.motion(s, a, memory, wanted)
        load_rate = first(sampled(lambda tau: links.load_after(motion, tau, a), h), h)
        torque_rate = K * self.stretch_rate(dynamics)
        jerk: Vector = np.asarray(np.linalg.solve(M, torque_rate - load_rate))
        motion = links.bent(motion, jerk, h)
        derivatives = self._along(motion, a, jerk, A.shape)

        e, e_dot = a - wanted.a, jerk - derivatives.a_rate
        e_ddot = -self._alpha * e_dot - self._beta * e
        torque_bend = M @ (derivatives.a_bend + e_ddot) + derivatives.load_bend
        push = joints.inertia * (a + torque_bend / K) - s.f[joints.motors]
        u = self.motors.input(s, push)
        # The rows' own error is rho = A e, whose second derivative is not A e_ddot alone.
        beside = derivatives.A_bend @ e + derivatives.A_rate @ (2.0 * e_dot + self._alpha * e)
        through = (K / joints.inertia)[:, None] * s.B[joints.motors]
        H = A @ np.linalg.solve(M, through)
        u += uk.least_squares_input(H, -beside, None, self.task.rank)
        return Command(u, wanted.memory_rate)

    def _along(self, motion: Motion, a: Vector, jerk: Vector, shape: tuple[int, int]) -> _Along:
        links, h, k = self.links, self._h, len(a)

        def value(tau: float) -> Vector:
            load = links.load_after(motion, tau, a + tau * jerk)
            return np.concatenate([links.wanted_after(motion, tau).a, load, links.A.ravel()])

        samples = sampled(value, h)
        rate, bend = first(samples, h), second(samples, value(0.0), h)
        return _Along(
            a_rate=rate[:k],
            a_bend=bend[:k],
            load_bend=bend[k : 2 * k],
            A_rate=rate[2 * k :].reshape(shape),
            A_bend=bend[2 * k :].reshape(shape),
        )


class _Along(NamedTuple):
    """First and second derivatives along the links' motion, if it had no snap."""

    a_rate: Vector
    """Of the acceleration that the servo law wants."""
    a_bend: Vector
    load_bend: Vector
    """Of the torque that the acceleration takes."""
    A_rate: Matrix
    """Of the rows."""
    A_bend: Matrix


def _damped(joints: ElasticJoints) -> str:
    if not joints.damping.any():
        return ""
    return (
        "their springs have damping, which lets the motors reach the links after three derivatives "
        "already, through the damping alone; believe in a robot without it, or use kind = "
        '"elastic_cascade" or "elastic_singular_perturbation"'
    )
