"""Servo laws for links behind springs: with a loop for the motors, or the links' snap by them."""

from __future__ import annotations

import dataclasses as dc
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal, NamedTuple

import numpy as np

from ukctrl import uk
from ukctrl.control.command import LawBuffers
from ukctrl.control.controller import Law
from ukctrl.control.elastic.elastic_motors import SpringState, supports_all_joints
from ukctrl.control.elastic.rigid_link_servo import (
    ElasticRowController,
    ElasticRowLaw,
    LinkQuantities,
    nested_gains,
)
from ukctrl.control.error_dynamics_spec import ErrorSpec
from ukctrl.control.error_polynomial import ErrorPolynomial
from ukctrl.control.task import Task
from ukctrl.core.algebra.block_diagonal import read_block
from ukctrl.core.algebra.factorisation import (
    copy_into,
    least_norm_solution,
    normalise_rows,
    pivoted_lq,
    solve_lower,
    solve_upper,
)
from ukctrl.core.arrays import Indices, Matrix, Vector
from ukctrl.core.compiled import allocating, compiled
from ukctrl.core.fields import NonNegative, Rate, RateSquared, Seconds, spec
from ukctrl.core.program import BoundKernel, KernelStep
from ukctrl.mechanics.constraints import Stack
from ukctrl.mechanics.dynamics import Dynamics
from ukctrl.robot import ElasticJoints, Snapshot

MOTOR_SPEED_RATIO = 6.0
"""How much quicker motors are designed to be than the links that they drive."""


@spec
class ElasticCascade(ElasticRowController):
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
        return _ElasticCascadeLaw(self, task)

    def gains_for(
        self, terms: ErrorSpec, inertia: Callable[[], Vector]
    ) -> Mapping[str, Any] | None:
        w = MOTOR_SPEED_RATIO * terms.frequency()
        return nested_gains(self.feedback, terms, alpha=2.0 * w, beta=w * w)


@compiled
def cascade_torque(
    alpha: float,
    beta: float,
    stiffness: Vector,
    inertia: Vector,
    springs: SpringState,
    target: LinkQuantities,
    push: Vector,
) -> None:
    """Write how the motors are pushed to where their springs give the wanted torque."""
    for i in range(len(push)):
        # theta - theta*, in which q cancels
        error = springs.stretch[i] - target.spring_torque[i] / stiffness[i]
        a = target.a[i] - (alpha * springs.stretch_rate[i] + beta * error)
        push[i] = target.spring_torque[i] + inertia[i] * a - springs.other_force[i]


class _ElasticCascadeLaw(ElasticRowLaw):
    def __init__(self, spec: ElasticCascade, task: Task) -> None:
        super().__init__(spec, spec.kind, supports_all_joints, task)
        self._alpha, self._beta = spec.alpha, spec.beta

    def steps(self, dynamics: Dynamics, tick: LawBuffers) -> Iterator[KernelStep]:
        s, joints, links = dynamics.snapshot, self.joints, self.links
        (springs, look), motion = self.motors.spring_state(s), links.new_motion()
        none, push, centre = (
            np.zeros(0),
            np.zeros(links.n_joints),
            np.zeros(len(links.quantities.array)),
        )
        gains = float(self._alpha), float(self._beta), joints.stiffness, joints.inertia
        yield look
        yield from links.start_motion_steps(s, none, tick.memory, motion, centre)
        yield BoundKernel(cascade_torque, *gains, springs, links.split(centre), push)
        yield from self.motors.steps(s, push, tick.u)
        yield BoundKernel(copy_into, motion.memory_rate, tick.memory_rate)


@spec
class ElasticSingularPerturbation(ElasticRowController):
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
        return _SingularPerturbationLaw(self, task)


@compiled
def composite_torque(
    stiffness: Vector,
    inertia: Vector,
    damping: Vector,
    springs: SpringState,
    target: LinkQuantities,
    rate: Vector,
    bend: Vector,
    push: Vector,
) -> None:
    """Write what the slow and the fast law push with; rate and bend are the wanted torque's."""
    for i in range(len(push)):
        a, damped = target.a[i], -springs.stretch_rate[i]
        # zeros where order = 0
        a += bend[i] / stiffness[i]
        damped += rate[i] / stiffness[i]
        push[i] = (
            target.spring_torque[i] + inertia[i] * a + damping[i] * damped - springs.other_force[i]
        )


class _SingularPerturbationLaw(ElasticRowLaw):
    def __init__(self, spec: ElasticSingularPerturbation, task: Task) -> None:
        super().__init__(spec, spec.kind, supports_all_joints, task)
        joints = self.joints
        self._damping = 2.0 * spec.zeta * np.sqrt(joints.stiffness * joints.inertia)
        self._first_order, self._difference_step = spec.order == 1, spec.step

    def steps(self, dynamics: Dynamics, tick: LawBuffers) -> Iterator[KernelStep]:
        s, joints, links, h = (
            dynamics.snapshot,
            self.joints,
            self.links,
            float(self._difference_step),
        )
        (springs, look), motion, k = self.motors.spring_state(s), links.new_motion(), links.n_joints
        centre, push = np.zeros(len(links.quantities.array)), np.zeros(k)
        rates: Matrix = np.zeros((2, len(centre)))
        target, rate, bend = (links.split(values) for values in (centre, *rates))
        yield look
        yield from links.start_motion_steps(s, target.a, tick.memory, motion, centre)
        if self._first_order:
            # in turns, for each derivative needs the ones before: acceleration, jerk, the memory's,
            # then all
            yield BoundKernel(copy_into, target.a, motion.a[:k])
            yield links.derivative_step(motion, h, centre, rates)
            yield BoundKernel(copy_into, rate.a, motion.jerk[:k])
            yield from links.memory_ddot_steps(motion, h, centre, rates)
            yield links.derivative_step(motion, h, centre, rates)
        slow = joints.stiffness, joints.inertia, self._damping, springs, target
        yield BoundKernel(composite_torque, *slow, rate.spring_torque, bend.spring_torque, push)
        yield from self.motors.steps(s, push, tick.u)
        yield BoundKernel(copy_into, motion.memory_rate, tick.memory_rate)


@spec
class ElasticLinearisation(ElasticRowController):
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
        return _ElasticLinearisationLaw(self, task)

    def gains_for(
        self, terms: ErrorSpec, inertia: Callable[[], Vector]
    ) -> Mapping[str, Any] | None:
        beta, alpha = terms.second_order()
        return nested_gains(self.feedback, terms, alpha=alpha, beta=beta)

    def error_polynomials(self, stack: Stack) -> tuple[ErrorPolynomial, ...]:
        inner = self.feedback.attach(stack).error_polynomials(stack)
        outer = np.array([1.0, self.alpha, self.beta])
        return tuple(
            dc.replace(
                poly, gains=tuple(np.polymul([1.0, *reversed(poly.gains)], outer)[:0:-1].tolist())
            )
            for poly in inner
            if not poly.integral
        )


class LinkErrorDerivatives(NamedTuple):
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
def link_jerk(
    L: Matrix, stiffness: Vector, stretch_rate: Vector, load_rate: Vector, L_q: Matrix, jerk: Vector
) -> None:
    """Write the links' jerk; ``L`` is the factor of the mass matrix, ``L_q`` receives theirs."""
    read_block(L, 0, 0, L_q)
    for i in range(len(jerk)):
        # the load's rate is of a motion without jerk, so it holds all but M j
        jerk[i] = stiffness[i] * stretch_rate[i] - load_rate[i]
    solve_lower(L_q, jerk)
    solve_upper(L_q, jerk)


@compiled
def linearising_torque(
    alpha: float,
    beta: float,
    stiffness: Vector,
    inertia: Vector,
    motors: Indices,
    M: Matrix,
    f: Vector,
    bent: LinkErrorDerivatives,
    target: LinkQuantities,
    rate: LinkQuantities,
    bend: LinkQuantities,
    push: Vector,
) -> None:
    """Write what pushes the motors so that the links' acceleration gets what the law wants."""
    k = len(push)
    for i in range(k):
        e, e_dot = bent.a[i] - target.a[i], bent.jerk[i] - rate.a[i]
        bent.e[i], bent.e_dot[i], bent.e_ddot[i] = e, e_dot, -alpha * e_dot - beta * e
    for i in range(k):
        # likewise of a motion without snap: M times that is still missing
        torque = bend.required_torque[i]
        for c in range(k):
            torque += M[i, c] * (bend.a[c] + bent.e_ddot[c])
        push[i] = inertia[i] * (bent.a[i] + torque / stiffness[i]) - f[motors[i]]


class MotorSprings(NamedTuple):
    """Springs between links and motors: stiffness, motor inertia, and velocities of the motors."""

    stiffness: Vector
    inertia: Vector
    motors: Indices


@allocating
def add_row_correction(
    alpha: float,
    L_q: Matrix,
    springs: MotorSprings,
    B: Matrix,
    bent: LinkErrorDerivatives,
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
    stiffness, inertia, motors = springs
    through = np.empty(k)
    for j in range(nu):
        for i in range(k):
            through[i] = stiffness[i] / inertia[i] * B[motors[i], j]
        solve_lower(L_q, through)
        solve_upper(L_q, through)
        for i in range(m):
            H[i, j] = 0.0
            for c in range(k):
                H[i, j] += A[i, c] * through[c]
    for i in range(m):
        d[i] = 0.0
        for c in range(k):
            # (A e)'' + alpha (A e)' less the terms that A e'' + alpha A e' has already
            d[i] -= A_bend[i, c] * bent.e[c]
            d[i] -= A_rate[i, c] * (2.0 * bent.e_dot[c] + alpha * bent.e[c])
    units, right = H.copy(), d.copy()
    normalise_rows(units, right, np.empty(m))
    factor = pivoted_lq(units, rtol)
    sure = bool(factor.rank == m)
    for i in range(factor.rank):
        sure = sure and bool(factor.L[i, i] > INDEPENDENT_ROW_TOLERANCE)
    # all rows or none: in doubt the pseudoinverse decides, and nothing is added twice
    if sure:
        step = least_norm_solution(factor, right)
        for j in range(nu):
            u[j] += step[j]
    return sure


INDEPENDENT_ROW_TOLERANCE = 1e-4
"""A row of which more is left beside the others is independent of them, whatever measures it."""


class _ElasticLinearisationLaw(ElasticRowLaw):
    def __init__(self, spec: ElasticLinearisation, task: Task) -> None:
        super().__init__(spec, spec.kind, _refuse_damped_springs, task)
        self._alpha, self._beta, self._difference_step = (
            float(spec.alpha),
            float(spec.beta),
            float(spec.step),
        )

    def steps(self, dynamics: Dynamics, tick: LawBuffers) -> Iterator[KernelStep]:
        s, joints, links, h = dynamics.snapshot, self.joints, self.links, self._difference_step
        K, J, k = joints.stiffness, joints.inertia, links.n_joints
        (springs, look), motion = self.motors.spring_state(s), links.new_motion()
        centre, push = np.zeros(len(links.quantities.array)), np.zeros(k)
        rates, load_rates = np.zeros((2, len(centre))), np.zeros((2, k))
        target, rate, bend = (links.split(values) for values in (centre, *rates))
        bent = LinkErrorDerivatives(motion.a[:k], motion.jerk[:k], *np.zeros((3, k)))
        L_q, gains = np.zeros((k, k)), (self._alpha, self._beta)
        yield look
        yield from links.start_motion_steps(s, dynamics.a_free[:k], tick.memory, motion, centre)
        yield links.load_derivative_step(motion, h, target.required_torque, load_rates)
        yield BoundKernel(
            link_jerk, dynamics.L, K, springs.stretch_rate, load_rates[0], L_q, bent.jerk
        )
        yield from links.memory_ddot_steps(motion, h, centre, rates)
        yield links.derivative_step(motion, h, centre, rates)
        derivatives = bent, target, rate, bend
        yield BoundKernel(
            linearising_torque, *gains, K, J, joints.motors, s.M, s.f, *derivatives, push
        )
        yield from self.motors.steps(s, push, tick.u)
        yield self._row_correction_step(s, L_q, bent, (target.A, rate.A, bend.A), tick.u)
        yield BoundKernel(copy_into, motion.memory_rate, tick.memory_rate)

    def _row_correction_step(
        self,
        s: Snapshot,
        L_q: Matrix,
        bent: LinkErrorDerivatives,
        rows: tuple[Matrix, Matrix, Matrix],
        u: Vector,
    ) -> KernelStep:
        """Return what adds what the rows need beside the links."""
        joints, rank = self.joints, self.task.rank
        H, d = np.zeros((len(rows[0]), len(u))), np.zeros(len(rows[0]))

        def with_care(code: int) -> None:
            u[:] += uk.least_squares_input(H, d, None, rank)

        springs = MotorSprings(joints.stiffness, joints.inertia, joints.motors)
        args = self._alpha, L_q, springs, s.B, bent, *rows, float(rank.servo), H, d, u
        return BoundKernel(add_row_correction, *args, fault=with_care)


def _refuse_damped_springs(joints: ElasticJoints) -> str:
    if not joints.damping.any():
        return ""
    return (
        "their springs have damping, which lets the motors reach the links after three derivatives "
        "already, through the damping alone; believe in a robot without it, or use kind = "
        '"elastic_cascade" or "elastic_singular_perturbation"'
    )
