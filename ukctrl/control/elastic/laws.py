"""Servo laws for links behind springs: with a loop for the motors, or the links' snap by them."""

from __future__ import annotations

import dataclasses as dc
from typing import Literal, NamedTuple

import numpy as np

from ukctrl import uk
from ukctrl.control.controller import Law
from ukctrl.control.elastic.elastic_motors import serves_any
from ukctrl.control.elastic.links import (
    Motion,
    ThroughSprings,
    ThroughSpringsLaw,
    Wanted,
    first,
    sampled,
    second,
)
from ukctrl.control.error_dynamics import ErrorPolynomial
from ukctrl.control.task import Task
from ukctrl.control.tick import Command
from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.fields import NonNegative, Rate, RateSquared, Seconds, spec
from ukctrl.mechanics.constraints import Stack
from ukctrl.mechanics.dynamics import Dynamics
from ukctrl.robot import ElasticJoints


@spec
class ElasticCascade(ThroughSprings):
    r"""Two loops: the servo law says which torque the springs should have, the motors go there.

    $$ \theta^* = q + K^{-1} \tau^*, \qquad
       u = \tau^* + J (a^* - \alpha (\dot\theta - \dot q) - \beta (\theta - \theta^*))
         - f_\theta . $$

    $a^*$ and $\tau^*$ are the servo law's, of the links driven directly, and $f_\theta$ acts on the
    motors beside input and springs. The stretch $\delta = \theta - q$ then obeys

    $$ \ddot\delta + \alpha \dot\delta
       + \left(\beta + (M^{-1} + J^{-1}) K\right) (\delta - K^{-1} \tau^*) = 0 : $$

    the torque lags by about $\alpha / (\beta + (M^{-1} + J^{-1}) K)$, of the order of $1/K$, which
    is what the links' error is made of. The law is never differentiated, so that any feedback and
    any allocation will do.

    References:
        De Luca & Book, "Robots with flexible elements", Springer Handbook of Robotics, 2016,
        section 11.1; Ott, "Cartesian impedance control of redundant and flexible-joint robots",
        Springer 2008.
    """

    kind: Literal["elastic_cascade"] = "elastic_cascade"
    alpha: Rate
    """Gain of the motors' rate against their links [1/s]."""
    beta: RateSquared
    """Gain of the motors' position error [1/s^2]."""

    def start(self, task: Task) -> Law:
        return _Cascade(self, task)


class _Cascade(ThroughSpringsLaw):
    def __init__(self, spec: ElasticCascade, task: Task) -> None:
        super().__init__(spec, spec.kind, serves_any, task)
        self._alpha, self._beta = spec.alpha, spec.beta

    def step(self, dynamics: Dynamics, memory: Vector) -> Command:
        s, inertia = dynamics.snapshot, self.joints.inertia
        wanted = self.links.wanted(s.t, s.q, s.v, memory)
        back = self._alpha * self.stretch_rate(dynamics)
        back += self._beta * self.motor_error(dynamics, wanted.torque)
        push = wanted.torque + inertia * (wanted.a - back) - self.other_force(dynamics)
        return Command(self.motors.input(s, push), wanted.memory_rate)


@spec
class ElasticSingularPerturbation(ThroughSprings):
    r"""A law for the slow motion, of a robot with rigid joints, and one for the fast, of springs.

    With stiff springs motors and links move as one robot of mass $M + J$, and the servo law's
    input to it is $\tau^* + J a^*$. The springs' own motion is quick, and a damping of the
    stretch $\delta = \theta - q$ makes it die out:

    $$ u = \tau^* + J a^* + K_f (\dot q - \dot\theta) - f, \qquad K_f = 2 \zeta \sqrt{K J} . $$

    The links then miss the servo law's motion by what the springs give way, of the order of
    $K^{-1/2}$ because $K_f$ grows with the stiffness. ``order = 1`` asks for the motion on which
    the stretch gives just the wanted torque, $\delta^* = K^{-1} \tau^*$:

    $$ u = \tau^* + J \left(a^* + K^{-1} \ddot\tau^*\right)
         + K_f \left(K^{-1} \dot\tau^* - \dot\delta\right) - f, $$

    with the derivatives along the servo law's own motion. The links that are on it stay on it,
    whatever the stiffness; the feedback must be twice differentiable.

    References:
        Spong, Khorasani & Kokotovic, "An integral manifold approach to the feedback control of
        flexible joint robots", IEEE J. Robot. Autom. 3(4), 1987.
    """

    kind: Literal["elastic_singular_perturbation"] = "elastic_singular_perturbation"
    zeta: NonNegative = 0.7
    r"""Damping ratio $\zeta$ of a motor on its spring, were the link held."""
    order: Literal[0, 1] = 0
    """Order of the correction for the springs that give way."""
    step: Seconds = 3e-3
    """Step of the differences along the motion, for ``order = 1`` [s]."""

    def start(self, task: Task) -> Law:
        return _Composite(self, task)


class _Composite(ThroughSpringsLaw):
    def __init__(self, spec: ElasticSingularPerturbation, task: Task) -> None:
        super().__init__(spec, spec.kind, serves_any, task)
        joints = self.joints
        self._damping = 2.0 * spec.zeta * np.sqrt(joints.stiffness * joints.inertia)
        self._corrected, self._h = spec.order == 1, spec.step

    def step(self, dynamics: Dynamics, memory: Vector) -> Command:
        s, joints, K = dynamics.snapshot, self.joints, self.joints.stiffness
        wanted = self.links.wanted(s.t, s.q, s.v, memory)
        push = wanted.torque + joints.inertia * wanted.a
        damped = -self.stretch_rate(dynamics)
        if self._corrected:
            rate, bend = self._torque_rates(dynamics, memory, wanted)
            push += joints.inertia * bend / K
            damped += rate / K
        push += self._damping * damped - self.other_force(dynamics)
        return Command(self.motors.input(s, push), wanted.memory_rate)

    def _torque_rates(
        self, dynamics: Dynamics, memory: Vector, wanted: Wanted
    ) -> tuple[Vector, Vector]:
        """Return the first and second derivative of the wanted torque, where it is obeyed."""
        links, h = self.links, self._h
        motion = links.motion(dynamics.snapshot, wanted.a, memory, wanted)
        jerk = first(sampled(lambda tau: links.wanted_after(motion, tau).a, h), h)
        motion = links.bent(motion, jerk, h)
        samples = sampled(lambda tau: links.wanted_after(motion, tau).torque, h)
        return first(samples, h), second(samples, wanted.torque, h)


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
