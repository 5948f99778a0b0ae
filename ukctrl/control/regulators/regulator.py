"""Regulators about an equilibrium: what they share; LQR, and LQI with integrals of the errors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar, Literal, final

import numpy as np
from numpy.typing import NDArray

from ukctrl.control.anti_windup import clamp_integrals
from ukctrl.control.command import LawBuffers
from ukctrl.control.controller import Controller, Law
from ukctrl.control.error_dynamics_spec import ErrorSpec, PoleCount
from ukctrl.control.feedback.linear_feedback import write_integrand
from ukctrl.control.joint_motion import independent_joints, joint_motion
from ukctrl.control.regulators.riccati import (
    InputWeight,
    RegulatorGains,
    Weight,
    deviation_weight,
    input_weight,
    lqr_gains,
    second_order_weights,
    third_order_weights,
    weight_matrix,
)
from ukctrl.control.regulators.state_deviation import StateDeviation, cost_to_go, state_feedback
from ukctrl.control.task import Signal, Task
from ukctrl.core.algebra.factorisation import copy_into
from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.errors import InputError
from ukctrl.core.fields import Number, Seconds, spec
from ukctrl.core.program import BoundKernel, KernelStep
from ukctrl.core.tie_breaking import first_largest, max_abs
from ukctrl.mechanics.consistent_state import consistent_configuration
from ukctrl.mechanics.constraints import Stack
from ukctrl.mechanics.constraints.constraint import SampledPath
from ukctrl.mechanics.dynamics import Dynamics, passive_constraints
from ukctrl.mechanics.linearise import Linearization, Linearizer, equilibrium, output_matrix
from ukctrl.mechanics.reference import Reference
from ukctrl.mechanics.relative_degree import elastic_kinds
from ukctrl.robot import Snapshot
from ukctrl.robot.manifold_kernels import configuration_from_angles

CLOSURE_TOLERANCE = 1e-9
"""How far a given equilibrium may open the passive constraints [unit of the row]."""
REST_TOLERANCE = 1e-9
"""A joint that a task moves by less stands still [rad or m]."""
EQUILIBRIUM_ADVICE = 'follow = "equilibrium"'
"""What regulates robots whose task has no joint motion."""
N_MOTION_CHECKS = 101
"""Times along a task at which its joints are looked at."""


@spec
class EquilibriumRegulator(Controller):
    """What the regulators share."""

    needs_grip: ClassVar[bool] = False

    q: tuple[Number, ...] | None = None
    """Equilibrium, one number a coordinate; absent: where the servo rows hold, near the start. The
    feet of a robot that stands must be where it stands then, so give it if the start is off."""
    follow: Literal["equilibrium", "task"] = "equilibrium"
    """What deviations are measured from: the equilibrium, or the joint motion of the task."""
    plan_step: Seconds = 0.005
    """Step of the inverse kinematics of that motion [s]."""


class RegulatorLaw(Law):
    """A started regulator.

    Attributes:
        linear: The robot as a linear system about the equilibrium.
        regulator: The gains, and the poles of the closed loop.
    """

    linear: Linearization
    regulator: RegulatorGains

    def __init__(self, spec: EquilibriumRegulator, task: Task) -> None:
        super().__init__(task)
        robot = task.robot
        q = _equilibrium(spec, task)
        u = equilibrium(robot, q, task.start)
        self.linear = Linearizer(robot, task.rank).at(task.start, q, np.zeros(robot.nv), u)
        self._joint_reference = _joint_reference(spec, task) if spec.follow == "task" else None
        self.deviation = StateDeviation(self.linear, self._reference_steps)
        """What the regulator brings back to zero, shape ``(n,)``, at the state of a robot."""

    def _reference_steps(self, s: Snapshot, q: Vector, v: Vector) -> Iterator[KernelStep]:
        if self._joint_reference is None:
            q[:], v[:] = self.linear.q, self.linear.v
            return
        n = len(v)
        follow = SampledPath(self._joint_reference.compile(), 3 * n)
        yield follow.step(s.clock)
        yield BoundKernel(
            configuration_from_angles, s.robot.structure.manifold_table, follow.values[:n], q
        )
        yield BoundKernel(copy_into, follow.values[n : 2 * n], v)

    def steps(self, dynamics: Dynamics, tick: LawBuffers) -> Iterator[KernelStep]:
        x, deviations = self.deviation.steps(dynamics)
        yield from deviations
        u, K = np.array(self.linear.u), np.ascontiguousarray(self.regulator.K)
        yield BoundKernel(state_feedback, u, K, x, tick.memory, tick.u)

    def error_steps(self, dynamics: Dynamics, measure: Vector) -> Iterator[KernelStep]:
        r"""Yield what writes the cost that is left, $x^\top S x$, in the units of the weights."""
        x, deviations = self.deviation.steps(dynamics)
        yield from deviations
        S = np.ascontiguousarray(self.regulator.S[: len(x), : len(x)])  # integrals begin at zero
        yield BoundKernel(cost_to_go, x, S, measure)

    @property
    def poles(self) -> NDArray[np.complex128]:
        """Poles of the closed loop: ``s`` [1/s], or ``z`` where the input is held."""
        return self.regulator.poles


def _equilibrium(spec: EquilibriumRegulator, task: Task) -> Vector:
    """Return the configuration to regulate about.

    Raises:
        InputError: A given one has the wrong size, or breaks the passive constraints.
        StartError: None is near the start where the rows hold.
    """
    robot = task.robot
    passive = passive_constraints(robot)
    if spec.q is None:
        stack = Stack((*passive, *task.servo), robot)
        return consistent_configuration(stack, robot.snapshot(task.q), task.q, task.start)
    if len(spec.q) != robot.nq:
        raise InputError(
            f"controller.q must have one number a coordinate, {robot.nq}; got {len(spec.q)}."
        )
    q = robot.normalize(np.array(spec.q))
    stack = Stack(passive, robot, key=f"robot '{robot.name}': passive")
    # rows without a position level are NaN, and cannot be open
    open_by = np.abs(np.nan_to_num(stack.write(robot.snapshot(q)).phi))
    if max_abs(open_by) > CLOSURE_TOLERANCE:
        worst = first_largest(open_by)
        raise InputError(
            f"controller.q must keep the passive constraints; row '{stack.names[worst]}' is off by "
            f"{open_by[worst]:.2g} {stack.units[worst]}. Leave it out to find one near the start."
        )
    return q


def _joint_reference(spec: EquilibriumRegulator, task: Task) -> Reference:
    """Return the joint motion of the task, of all joints, also those that loops move.

    Raises:
        InputError: The task has no joint motion, or says nothing of the motors behind springs.
    """
    robot = task.robot
    independent_joints(task, EQUILIBRIUM_ADVICE)
    path = joint_motion(task, spec.plan_step, robot.dofs, EQUILIBRIUM_ADVICE).path
    # rows on links alone say nothing of motors, which then stay behind
    if robot.elastic is not None:
        times = np.linspace(task.start, task.start + task.duration, N_MOTION_CHECKS)
        r = np.array([np.array(path(t)).reshape(3, -1)[0] for t in times.tolist()])
        moves = np.ptp(r, axis=0) > REST_TOLERANCE
        idle = moves[robot.elastic.links] & ~moves[robot.elastic.motors]
        if idle.any():
            joint = robot.elastic.joints[int(np.argmax(idle))]
            raise InputError(
                f"the task must move motors along with their links to be followed; it leaves the "
                f"motor of '{joint}' where it is. Use {elastic_kinds(robot.elastic)}."
            )
    return path


@spec
class QuadraticRegulator(EquilibriumRegulator):
    """What the linear-quadratic regulators share."""

    poles_aimed_at: ClassVar[PoleCount | None] = 2

    Q: Weight = 1.0
    """Weight of the deviations; in a table of the configuration by ``q1`` and of the velocity by
    ``v.q1``, or of all of them by ``q`` and ``v``."""
    R: InputWeight = 1.0
    r"""Weight of the inputs, by actuator; ``acceleration``: of the accelerations that they give, so
    that with ``Q`` of $\omega^4$ and $(4\zeta^2 - 2)\omega^2$ every freedom that motors move alone
    has the poles of $s^2 + 2\zeta\omega s + \omega^2$."""

    def gains_for(self, terms: ErrorSpec, inertia: Callable[[], Vector]) -> Mapping[str, Any]:
        return second_order_weights(terms)


@spec
class Lqr(QuadraticRegulator):
    r"""Linear-quadratic regulator about an equilibrium: $u = u_0 - K x$.

    $K$ minimises $\int x^\top Q x + \delta u^\top R\, \delta u\, \mathrm dt$ for the robot
    linearised at rest, where $u_0$ holds it. ``Q`` and ``R`` are a number, a table by name, a
    list of the diagonal, or a matrix; ``Q`` weighs all $2 n_v$ deviations, in the order
    $(\delta q, \delta v)$. Under a zero-order hold the gains are those of the sampled system.

    References:
        Kalman, "Contributions to the theory of optimal control", Bol. Soc. Mat. Mex. 5, 1960;
        Anderson & Moore, "Optimal Control: Linear Quadratic Methods", 1990.
    """

    kind: Literal["lqr"] = "lqr"

    def start(self, task: Task) -> RegulatorLaw:
        return _LqrLaw(self, task)


@spec
class Lqi(QuadraticRegulator):
    r"""Linear-quadratic regulator with integrals $z = \int \phi$ of the servo rows' errors.

    $u = u_0 - K x - K_i z$, so that a wrong model leaves no steady error of rows that stand
    still. A nonholonomic row counts by $\int \beta$. There can be no more rows than inputs.

    References:
        Young & Willems, "An approach to the linear multivariable servomechanism problem", Int. J.
        Control 15(5), 1972.
    """

    kind: Literal["lqi"] = "lqi"
    poles_aimed_at: ClassVar[PoleCount | None] = 3
    Q_integral: Weight = 1.0
    """Weight of the integrals, by row of the task."""

    def gains_for(self, terms: ErrorSpec, inertia: Callable[[], Vector]) -> Mapping[str, Any]:
        Q, integral = third_order_weights(terms)
        return {**second_order_weights(terms), "Q": Q, "Q_integral": integral}

    def start(self, task: Task) -> RegulatorLaw:
        return _LqiLaw(self, task)


@final
class _LqrLaw(RegulatorLaw):
    def __init__(self, spec: Lqr, task: Task) -> None:
        super().__init__(spec, task)
        Q, R = _weights(spec, self.linear)
        A, B = self.linear
        self.regulator = lqr_gains(A, B, Q, R, self.linear.states, self.linear.inputs, task.period)


@final
class _LqiLaw(RegulatorLaw):
    def __init__(self, spec: Lqi, task: Task) -> None:
        super().__init__(spec, task)
        Q, R = _weights(spec, self.linear)
        from scipy.linalg import block_diag

        A, B = self.linear
        m, n = len(self.stack), len(A)
        if m > task.robot.nu:
            raise InputError(
                f"the task must have at most one row an input, {task.robot.nu}, for their "
                f'integrals to be kept at rest; got {m}. Use kind = "lqr".'
            )
        C = output_matrix(self.stack, self.linear, task.start) @ self.linear.full
        A = np.block([[A, np.zeros((n, m))], [C, np.zeros((m, m))]])
        B = np.vstack([B, np.zeros((m, B.shape[1]))])
        names = tuple(f"integral of {row}" for row in self.stack.names)
        Q = block_diag(Q, weight_matrix(spec.Q_integral, self.stack.names, "Q_integral"))
        states = (*self.linear.states, *names)
        self.regulator = lqr_gains(A, B, Q, R, states, self.linear.inputs, task.period)
        self.memory = np.zeros(m)

    def steps(self, dynamics: Dynamics, tick: LawBuffers) -> Iterator[KernelStep]:
        rows, stack = self.stack.rows, self.stack
        yield from super().steps(dynamics, tick)
        yield from stack.steps(dynamics.snapshot).items
        yield BoundKernel(write_integrand, stack.holonomic, rows.beta, rows.phi, tick.memory_rate)

    def anti_windup_steps(
        self, dynamics: Dynamics, loss: Vector, tick: LawBuffers
    ) -> Iterator[KernelStep]:
        yield BoundKernel(clamp_integrals, self.stack.rows.A, loss, tick.memory_rate)

    def signals(self, dynamics: Dynamics, memory: Vector) -> Mapping[str, Signal]:
        """Return the integrals."""
        units = dict.fromkeys(self.stack.units)
        unit = f"{next(iter(units))} s" if len(units) == 1 else ""
        return {"integral": Signal(memory, unit, "integrals of the rows' errors")}


def _weights(spec: QuadraticRegulator, linear: Linearization) -> tuple[Matrix, Matrix]:
    """Return the weights of the states and of the inputs."""
    return deviation_weight(spec.Q, "Q", linear), input_weight(spec.R, linear)
