"""Servo laws for links behind springs: with a loop for the motors, or the links' snap by them."""

from __future__ import annotations

import dataclasses as dc
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal, NamedTuple

import numpy as np

from ukctrl import uk
from ukctrl.control.controller import Law
from ukctrl.control.elastic.elastic_motors import Springs, serves_any
from ukctrl.control.elastic.links import ThroughSprings, ThroughSpringsLaw, Wanted, in_feedback
from ukctrl.control.error_dynamics import ErrorPolynomial
from ukctrl.control.task import Task
from ukctrl.control.terms import Terms
from ukctrl.control.tick import Tick
from ukctrl.core.algebra.factorisation import (
    copy_into,
    factor_rows,
    least_norm,
    solve_lower,
    solve_upper,
    unit_rows,
)
from ukctrl.core.algebra.separate import take_block
from ukctrl.core.arrays import Indices, Matrix, Vector
from ukctrl.core.compiled import allocating, compiled
from ukctrl.core.fields import NonNegative, Rate, RateSquared, Seconds, spec
from ukctrl.core.program import Call, Step
from ukctrl.mechanics.constraints import Stack
from ukctrl.mechanics.dynamics import Dynamics
from ukctrl.robot import ElasticJoints, Snapshot

QUICKER = 6.0
"""How much quicker motors are designed to be than the links that they drive."""


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

    def gains_for(self, terms: Terms, inertia: Callable[[], Vector]) -> Mapping[str, Any] | None:
        w = QUICKER * terms.frequency()
        return in_feedback(self.feedback, terms, alpha=2.0 * w, beta=w * w)


@compiled
def cascaded(
    alpha: float,
    beta: float,
    stiffness: Vector,
    inertia: Vector,
    springs: Springs,
    wanted: Wanted,
    push: Vector,
) -> None:
    """Write how the motors are pushed to where their springs give the wanted torque."""
    for i in range(len(push)):
        error = springs.stretch[i] - wanted.torque[i] / stiffness[i]
        a = wanted.a[i] - (alpha * springs.rate[i] + beta * error)
        push[i] = wanted.torque[i] + inertia[i] * a - springs.other[i]


class _Cascade(ThroughSpringsLaw):
    def __init__(self, spec: ElasticCascade, task: Task) -> None:
        super().__init__(spec, spec.kind, serves_any, task)
        self._alpha, self._beta = spec.alpha, spec.beta

    def steps(self, dynamics: Dynamics, tick: Tick) -> Iterator[Step]:
        s, joints, links = dynamics.snapshot, self.joints, self.links
        (springs, look), motion = self.motors.springs(s), links.motion()
        none, push, centre = np.zeros(0), np.zeros(links.count), np.zeros(len(links.wanted.all))
        gains = float(self._alpha), float(self._beta), joints.stiffness, joints.inertia
        yield look
        yield from links.set_out(s, none, tick.memory, motion, centre)
        yield Call(cascaded, *gains, springs, links.parts(centre), push)
        yield from self.motors.steps(s, push, tick.u)
        yield Call(copy_into, motion.memory_rate, tick.memory_rate)


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


@compiled
def composed(
    stiffness: Vector,
    inertia: Vector,
    damping: Vector,
    springs: Springs,
    wanted: Wanted,
    rate: Vector,
    bend: Vector,
    push: Vector,
) -> None:
    """Write what the slow and the fast law push with; rate and bend are the wanted torque's."""
    for i in range(len(push)):
        a, damped = wanted.a[i], -springs.rate[i]
        a += bend[i] / stiffness[i]
        damped += rate[i] / stiffness[i]
        push[i] = wanted.torque[i] + inertia[i] * a + damping[i] * damped - springs.other[i]


class _Composite(ThroughSpringsLaw):
    def __init__(self, spec: ElasticSingularPerturbation, task: Task) -> None:
        super().__init__(spec, spec.kind, serves_any, task)
        joints = self.joints
        self._damping = 2.0 * spec.zeta * np.sqrt(joints.stiffness * joints.inertia)
        self._corrected, self._h = spec.order == 1, spec.step

    def steps(self, dynamics: Dynamics, tick: Tick) -> Iterator[Step]:
        s, joints, links, h = dynamics.snapshot, self.joints, self.links, float(self._h)
        (springs, look), motion, k = self.motors.springs(s), links.motion(), links.count
        centre, push = np.zeros(len(links.wanted.all)), np.zeros(k)
        rates: Matrix = np.zeros((2, len(centre)))
        wanted, rate, bend = (links.parts(values) for values in (centre, *rates))
        yield look
        yield from links.set_out(s, wanted.a, tick.memory, motion, centre)
        if self._corrected:
            yield Call(copy_into, wanted.a, motion.a[:k])
            yield links.differentiated(motion, h, centre, rates)
            yield Call(copy_into, rate.a, motion.jerk[:k])
            yield from links.bends(motion, h, centre, rates)
            yield links.differentiated(motion, h, centre, rates)
        slow = joints.stiffness, joints.inertia, self._damping, springs, wanted
        yield Call(composed, *slow, rate.torque, bend.torque, push)
        yield from self.motors.steps(s, push, tick.u)
        yield Call(copy_into, motion.memory_rate, tick.memory_rate)


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

    def gains_for(self, terms: Terms, inertia: Callable[[], Vector]) -> Mapping[str, Any] | None:
        beta, alpha = terms.second_order()
        return in_feedback(self.feedback, terms, alpha=alpha, beta=beta)

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


class Bent(NamedTuple):
    """What the links do, and what the law needs of how that goes on; ``k`` joints."""

    a: Vector
    """Acceleration of the links, shape ``(k,)``."""
    jerk: Vector
    """Shape ``(k,)``."""
    e: Vector
    """How far the acceleration is from what the servo law wants, shape ``(k,)``."""
    e_dot: Vector
    """Its derivative."""
    e_ddot: Vector
    """That of its derivative that is asked for."""


@compiled
def links_jerk(
    L: Matrix, stiffness: Vector, stretch_rate: Vector, load_rate: Vector, own: Matrix, jerk: Vector
) -> None:
    """Write the links' jerk; ``L`` is the factor of the mass matrix, ``own`` receives theirs."""
    take_block(L, 0, 0, own)
    for i in range(len(jerk)):
        jerk[i] = stiffness[i] * stretch_rate[i] - load_rate[i]
    solve_lower(own, jerk)
    solve_upper(own, jerk)


@compiled
def linearised(
    alpha: float,
    beta: float,
    stiffness: Vector,
    inertia: Vector,
    motors: Indices,
    M: Matrix,
    f: Vector,
    bent: Bent,
    wanted: Wanted,
    rate: Wanted,
    bend: Wanted,
    push: Vector,
) -> None:
    """Write what pushes the motors so that the links' acceleration gets what the law wants."""
    k = len(push)
    for i in range(k):
        e, e_dot = bent.a[i] - wanted.a[i], bent.jerk[i] - rate.a[i]
        bent.e[i], bent.e_dot[i], bent.e_ddot[i] = e, e_dot, -alpha * e_dot - beta * e
    for i in range(k):
        torque = bend.load[i]
        for c in range(k):
            torque += M[i, c] * (bend.a[c] + bent.e_ddot[c])
        push[i] = inertia[i] * (bent.a[i] + torque / stiffness[i]) - f[motors[i]]


@allocating
def beside_rows(
    alpha: float,
    own: Matrix,
    stiffness: Vector,
    inertia: Vector,
    motors: Indices,
    B: Matrix,
    bent: Bent,
    A: Matrix,
    A_rate: Matrix,
    A_bend: Matrix,
    rtol: float,
    H: Matrix,
    d: Vector,
    u: Vector,
) -> bool:
    r"""Add what the rows' own error needs beside that of the links, where it is sure.

    $\rho = A e$, whose second derivative is not $A \ddot e$ alone. The inputs reach it by
    $H = A M^{-1} K J^{-1} B$. Returns whether all rows are reached, far from any doubt; else
    nothing is added.
    """
    m, k = A.shape
    nu = len(u)
    through = np.empty(k)
    for j in range(nu):
        for i in range(k):
            through[i] = stiffness[i] / inertia[i] * B[motors[i], j]
        solve_lower(own, through)
        solve_upper(own, through)
        for i in range(m):
            H[i, j] = 0.0
            for c in range(k):
                H[i, j] += A[i, c] * through[c]
    for i in range(m):
        d[i] = 0.0
        for c in range(k):
            d[i] -= A_bend[i, c] * bent.e[c]
            d[i] -= A_rate[i, c] * (2.0 * bent.e_dot[c] + alpha * bent.e[c])
    units, right = H.copy(), d.copy()
    unit_rows(units, right, np.empty(m))
    factor = factor_rows(units, rtol)
    sure = bool(factor.rank == m)
    for i in range(factor.rank):
        sure = sure and bool(factor.L[i, i] > SURE)
    if sure:
        step = least_norm(factor, right)
        for j in range(nu):
            u[j] += step[j]
    return sure


SURE = 1e-4
"""A row of which more is left beside the others is independent of them, whatever measures it."""


class _Linearised(ThroughSpringsLaw):
    def __init__(self, spec: ElasticLinearisation, task: Task) -> None:
        super().__init__(spec, spec.kind, _damped, task)
        self._alpha, self._beta, self._h = float(spec.alpha), float(spec.beta), float(spec.step)

    def steps(self, dynamics: Dynamics, tick: Tick) -> Iterator[Step]:
        s, joints, links, h = dynamics.snapshot, self.joints, self.links, self._h
        K, J, k = joints.stiffness, joints.inertia, links.count
        (springs, look), motion = self.motors.springs(s), links.motion()
        centre, push = np.zeros(len(links.wanted.all)), np.zeros(k)
        rates, load_rates = np.zeros((2, len(centre))), np.zeros((2, k))
        wanted, rate, bend = (links.parts(values) for values in (centre, *rates))
        bent = Bent(motion.a[:k], motion.jerk[:k], *np.zeros((3, k)))
        own, gains = np.zeros((k, k)), (self._alpha, self._beta)
        yield look
        yield from links.set_out(s, dynamics.a_free[:k], tick.memory, motion, centre)
        yield links.load_rate(motion, h, wanted.load, load_rates)
        yield Call(links_jerk, dynamics.L, K, springs.rate, load_rates[0], own, bent.jerk)
        yield from links.bends(motion, h, centre, rates)
        yield links.differentiated(motion, h, centre, rates)
        derivatives = bent, wanted, rate, bend
        yield Call(linearised, *gains, K, J, joints.motors, s.M, s.f, *derivatives, push)
        yield from self.motors.steps(s, push, tick.u)
        yield self._beside(s, own, bent, (wanted.A, rate.A, bend.A), tick.u)
        yield Call(copy_into, motion.memory_rate, tick.memory_rate)

    def _beside(
        self, s: Snapshot, own: Matrix, bent: Bent, rows: tuple[Matrix, Matrix, Matrix], u: Vector
    ) -> Step:
        """Return what adds what the rows need beside the links."""
        joints, rank = self.joints, self.task.rank
        H, d = np.zeros((len(rows[0]), len(u))), np.zeros(len(rows[0]))

        def with_care(code: int) -> None:
            u[:] += uk.least_squares_input(H, d, None, rank)

        through = own, joints.stiffness, joints.inertia, joints.motors, s.B
        given = self._alpha, *through, bent, *rows, float(rank.servo), H, d, u
        return Call(beside_rows, *given, fault=with_care)


def _damped(joints: ElasticJoints) -> str:
    if not joints.damping.any():
        return ""
    return (
        "their springs have damping, which lets the motors reach the links after three derivatives "
        "already, through the damping alone; believe in a robot without it, or use kind = "
        '"elastic_cascade" or "elastic_singular_perturbation"'
    )
