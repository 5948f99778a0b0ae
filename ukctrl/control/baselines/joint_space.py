"""Baselines in joint space, on the same face as the servo controller.

They follow a joint motion. Where a user gives none, it is the motion that keeps the servo
constraints, found once by inverse kinematics before the run, so that every controller of a
comparison is asked for the same thing.
"""

from __future__ import annotations

import dataclasses as dc
from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, Any, ClassVar, Literal, final

import numpy as np

from ukctrl.control.anti_windup import clamp_integrals
from ukctrl.control.command import LawBuffers
from ukctrl.control.controller import Controller, Law
from ukctrl.control.error_dynamics_spec import ErrorSpec, PoleCount
from ukctrl.control.error_polynomial import ErrorPolynomial
from ukctrl.control.feedback.feedback import RateGain, RowGain, StiffnessGain, row_gains
from ukctrl.control.feedback.linear_feedback import Baumgarte
from ukctrl.control.inverse_actuation import FullActuation
from ukctrl.control.joint_motion import independent_joints, joint_motion
from ukctrl.control.servo import Servo
from ukctrl.control.task import Signal, Task, TunableGain
from ukctrl.core.algebra.factorisation import copy_into
from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.compiled import compiled
from ukctrl.core.errors import InputError
from ukctrl.core.fields import PerElement, Quantity, Seconds, Text, spec
from ukctrl.core.program import BoundKernel, KernelStep
from ukctrl.mechanics.constraints import JointFollows, Rows, Stack
from ukctrl.mechanics.dynamics import Dynamics
from ukctrl.mechanics.reference import AnyReference

JointGain = Annotated[RowGain, PerElement(Quantity(minimum=0.0))]


class SecondOrderGains:
    r"""Laws of gains ``kp`` and ``kd`` whose error obeys $\ddot e + k_d \dot e + k_p e = 0$."""

    kp: RowGain
    kd: RowGain

    def feedback(self) -> Baumgarte:
        """Return the feedback that they are."""
        return Baumgarte(alpha=self.kd, beta=self.kp)

    def error_polynomials(self, stack: Stack) -> tuple[ErrorPolynomial, ...]:
        return self.feedback().attach(stack).error_polynomials(stack)

    def gains_for(self, terms: ErrorSpec, inertia: Callable[[], Vector]) -> Mapping[str, Any]:
        kp, kd = terms.second_order()
        return {"kp": kp, "kd": kd}


@spec
class JointTracking(Controller):
    """What the joint-space baselines share."""

    joints: tuple[Text, ...] = ()
    """Joints that follow; absent: all, or as many as passive constraints leave free."""
    path: AnyReference | None = None
    """Joint motion to follow, one component a joint [rad or m]; absent: inverse kinematics."""
    plan_step: Seconds = 0.005
    """Step of the inverse kinematics [s]."""

    def joint_task(self, task: Task) -> Task:
        """Return the task whose only constraint is the motion to follow.

        Raises:
            InputError: There is none, or the path has another number of components.
        """
        if self.path is None:
            motion = joint_motion(task, self.plan_step, self.joints)
            return dc.replace(task, servo=(motion,))
        joints = self.joints or independent_joints(task)
        if self.path.size != len(joints):
            raise InputError(
                f"controller.path must have {len(joints)} components, one for each of "
                f"{', '.join(joints)}; got {self.path.size}."
            )
        return dc.replace(task, servo=(JointFollows(joints=joints, path=self.path),))


@spec
class ComputedTorque(SecondOrderGains, JointTracking):
    r"""Computed torque: $u = B^+ (M (\ddot q_r + k_d \dot e + k_p e) + \mathrm{nle} - f)$.

    This is the servo controller whose constraint is the joint motion itself, ``A = I``.

    References:
        Spong, Hutchinson, Vidyasagar, "Robot Modeling and Control", section 9.3.
    """

    kind: Literal["computed_torque"] = "computed_torque"
    kp: StiffnessGain
    """Gain of the joint error [1/s^2]."""
    kd: RateGain
    """Gain of the joint rate error [1/s]."""

    def start(self, task: Task) -> Law:
        joint_task = self.joint_task(task)
        if not self.joints:  # some of the joints may have fewer motors, all of them may not
            FullActuation(task, ())
        law = Servo(feedback=self.feedback()).start(joint_task)
        own = {"alpha": "kd", "beta": "kp"}
        law.gains = tuple(gain._replace(name=own[gain.name]) for gain in law.gains)
        return law


@spec
class PdGravity(JointTracking):
    r"""PD with gravity compensation: $u = B^+ (g(q) - f(q, 0) - k_p e - k_d \dot e)$.

    $e = q - q_r$, and $f(q, 0)$ are the springs and given forces at rest. Exact at rest only;
    along a motion its error grows with the inertia that it neglects. With passive constraints $u$
    does along the free motions what that force would.

    References:
        Takegaki & Arimoto, J. Dyn. Syst. Meas. Control 103(2), 1981.
    """

    kind: Literal["pd_gravity"] = "pd_gravity"
    poles_aimed_at: ClassVar[PoleCount | None] = 2

    kp: JointGain
    """Stiffness, one number or one a joint [N m/rad or N/m]."""
    kd: JointGain
    """Damping, one number or one a joint [N m s/rad or N s/m]."""

    def start(self, task: Task) -> Law:
        return _PdGravityLaw(self, task)

    def gains_for(self, terms: ErrorSpec, inertia: Callable[[], Vector]) -> Mapping[str, Any]:
        load, (kp, kd) = inertia(), terms.second_order()
        return {"kp": tuple(kp * load), "kd": tuple(kd * load)}


@compiled
def joint_pid_force(
    rows: Rows, gains: Matrix, integral: Vector, load: Vector, force: Vector
) -> None:
    r"""Write $\mathrm{load} - A^\top (k_p \phi + k_d \beta + k_i \int\phi)$.

    ``gains`` has $k_p$, $k_d$ and $k_i$, a line each; without an integral it is empty.
    """
    copy_into(load, force)
    for i in range(len(rows.phi)):
        push = gains[0, i] * rows.phi[i] + gains[1, i] * rows.beta[i]
        if len(integral):
            push += gains[2, i] * integral[i]
        for c in range(len(force)):
            force[c] -= push * rows.A[i, c]


@compiled
def static_load(nle: Vector, f: Vector, load: Vector) -> None:
    """Write what the motors carry at rest, ``nle - f``."""
    for i in range(len(load)):
        load[i] = nle[i] - f[i]


@final
class _PdGravityLaw(Law):
    def __init__(self, spec: PdGravity, task: Task) -> None:
        super().__init__(spec.joint_task(task))
        self._gains = _gain_matrix(self.stack, kp=spec.kp, kd=spec.kd, ki=0.0)
        self.gains = _tunable(self.stack, self._gains, "kp", "kd")
        self._motors = FullActuation(task, spec.joints)

    def steps(self, dynamics: Dynamics, tick: LawBuffers) -> Iterator[KernelStep]:
        s, n = dynamics.snapshot, dynamics.robot.nv
        load, force = np.zeros(n), np.zeros(n)
        # springs and given forces at rest need a snapshot at rest; gravity alone does not
        if dynamics.robot.forces.is_nonempty:
            rest_state, rest_steps = s.at_rest()
            yield from (
                *rest_steps,
                *rest_state.steps.items,
                BoundKernel(static_load, rest_state.nle, rest_state.f, load),
            )
        else:
            yield from s.gravity_steps(load)
        yield from self.stack.steps(s).items
        yield BoundKernel(joint_pid_force, self.stack.rows, self._gains, tick.memory, load, force)
        yield self._motors.step(dynamics, force, tick.u)


def _gain_matrix(stack: Stack, **gains: RowGain) -> Matrix:
    """Return a line of gains for each name."""
    return np.array([row_gains(gain, stack, name) for name, gain in gains.items()])


def _tunable(stack: Stack, matrix: Matrix, *names: str) -> tuple[TunableGain, ...]:
    """Return gains, a line of a matrix for each name."""
    # units are of forces and of joints, which differ from row to row: the header says none
    return tuple(
        TunableGain(name, row, "", matrix, line * len(stack) + i)
        for line, name in enumerate(names)
        for i, row in enumerate(stack.names)
    )


@spec
class JointPid(JointTracking):
    r"""PID in joint space, without a model: $u = B^+ (-k_p e - k_i \int e - k_d \dot e)$.

    What most industrial drives do. The integral carries gravity, after a while; it is stable near
    rest for a small enough $k_i$, whose bound depends on the inertia.

    References:
        Arimoto & Miyazaki, "Stability and robustness of PID feedback control for robot
        manipulators of sensory capability", Robotics Research, 1984; Spong, Hutchinson,
        Vidyasagar, "Robot Modeling and Control", section 6.3.
    """

    kind: Literal["pid"] = "pid"
    poles_aimed_at: ClassVar[PoleCount | None] = 3

    kp: JointGain
    """Stiffness, one number or one a joint [N m/rad or N/m]."""
    ki: JointGain
    """Integral gain, one number or one a joint [N m/(rad s) or N/(m s)]."""
    kd: JointGain
    """Damping, one number or one a joint [N m s/rad or N s/m]."""

    def start(self, task: Task) -> Law:
        return _JointPidLaw(self, task)

    def gains_for(self, terms: ErrorSpec, inertia: Callable[[], Vector]) -> Mapping[str, Any]:
        load, gains = inertia(), terms.third_order()
        return {name: tuple(k * load) for name, k in zip(("kp", "ki", "kd"), gains, strict=True)}


@final
class _JointPidLaw(Law):
    def __init__(self, spec: JointPid, task: Task) -> None:
        super().__init__(spec.joint_task(task))
        self._gains = _gain_matrix(self.stack, kp=spec.kp, kd=spec.kd, ki=spec.ki)
        self.gains = _tunable(self.stack, self._gains, "kp", "kd", "ki")
        self._motors = FullActuation(task, spec.joints)
        self.memory = row_gains(0.0, self.stack, "memory")

    def steps(self, dynamics: Dynamics, tick: LawBuffers) -> Iterator[KernelStep]:
        n, rows = dynamics.robot.nv, self.stack.rows
        none, force = np.zeros(n), np.zeros(n)
        yield from self.stack.steps(dynamics.snapshot).items
        yield BoundKernel(joint_pid_force, rows, self._gains, tick.memory, none, force)
        yield self._motors.step(dynamics, force, tick.u)
        yield BoundKernel(copy_into, rows.phi, tick.memory_rate)

    def anti_windup_steps(
        self, dynamics: Dynamics, loss: Vector, tick: LawBuffers
    ) -> Iterator[KernelStep]:
        yield BoundKernel(clamp_integrals, self.stack.rows.A, loss, tick.memory_rate)

    def signals(self, dynamics: Dynamics, memory: Vector) -> Mapping[str, Signal]:
        """Return what the integral pushes with."""
        return {
            "integral_push": Signal(-self._gains[2] * memory, "", "push of the integral, by joint")
        }
