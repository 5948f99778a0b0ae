r"""The link side of a robot with elastic joints: what its springs should do, and how that goes on.

A law for elastic joints needs the first and second time derivative of things that the robot says
only the value of: the load of the springs, and the acceleration that a servo law asks for. They are
measured along the links' motion (`ukctrl.control.elastic.derivatives_along_motion`): of a rigid
body, of a formula or of a user's own function, under rows of any kind.
"""

from __future__ import annotations

import dataclasses as dc
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Annotated, Any, ClassVar, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from ukctrl.control.allocation import AnyAllocation
from ukctrl.control.allocation.allocation import Allocation
from ukctrl.control.allocation.least_norm import LeastNorm
from ukctrl.control.command import LawBuffers
from ukctrl.control.controller import Controller, Law
from ukctrl.control.elastic.derivatives_along_motion import (
    EvaluationPoint,
    LinkMotion,
    differentiate_along,
    evaluate_along,
    start_motion,
)
from ukctrl.control.elastic.elastic_motors import (
    ElasticMotors,
    SpringState,
    UnsupportedReason,
    joint_units,
    require_elastic_joints,
)
from ukctrl.control.error_dynamics_spec import ErrorSpec, PoleCount
from ukctrl.control.feedback import AnyFeedback
from ukctrl.control.feedback.feedback import Feedback
from ukctrl.control.servo import Servo
from ukctrl.control.task import Signal, Task
from ukctrl.core.algebra import block_diagonal
from ukctrl.core.algebra.block_diagonal import read_block
from ukctrl.core.algebra.dynamics_kernels import inverse_dynamics
from ukctrl.core.algebra.factorisation import copy_into, matvec
from ukctrl.core.arrays import Indices, Matrix, Vector
from ukctrl.core.compiled import compiled
from ukctrl.core.errors import InputError, NotFinite
from ukctrl.core.fields import Instance, spec
from ukctrl.core.program import BoundKernel, KernelSequence, KernelStep, RobotBuffers
from ukctrl.mechanics.dynamics import Dynamics
from ukctrl.mechanics.relative_degree import SERVO_ADVICE
from ukctrl.robot import Snapshot, rigid_link_robot

PROBE_DISTANCE = 0.1
"""How far motors are turned to see whether they push links past the springs [rad, m, 1/s]."""


class LinkQuantities(NamedTuple):
    """What is evaluated of the links at a state, one behind the other; ``k`` joints, ``m`` rows."""

    array: Vector
    """All of it."""
    a: Vector
    """Acceleration that the servo law wants of the links, shape ``(k,)``."""
    spring_torque: Vector
    """Torque of the springs that gives it, shape ``(k,)``."""
    required_torque: Vector
    """Torque that the acceleration of the motion takes, shape ``(k,)``."""
    memory_rate: Vector
    """Time derivative of the law's memory."""
    A: Matrix
    """The rows of the task on the links, shape ``(m, k)``."""

    @staticmethod
    def split(all: Vector, k: int, memory: int) -> LinkQuantities:
        """Return the parts of what stands one behind the other."""
        fields = np.split(all, np.cumsum([k, k, k, memory]).tolist())
        fields[-1] = fields[-1].reshape(-1, k)
        return LinkQuantities(all, *fields)


@final
class RigidLinkServo:
    r"""The links of an elastic robot, driven by a servo law as if nothing were between.

    $$ M(q)\, a^* = \tau^* + f - \mathrm{nle}, \qquad A a^* = d, $$

    where the feedback says $d$ and the allocation which $\tau^*$.

    Attributes:
        robot: The links alone.
        law: The servo law.
        dynamics: The links where they were evaluated last.
        n_joints: Number ``k`` of joints.
        quantities: What the servo law wants of them, and what their load is.
    """

    def __init__(self, spec: ElasticRowController, task: Task) -> None:
        self.robot = rigid_link_robot(task.robot)
        direct = dc.replace(task, robot=self.robot)
        self.law = Servo(feedback=spec.feedback, allocation=spec.allocation).start(direct)
        self.dynamics = Dynamics(self.robot, task.rank, task.gains)
        self.n_joints = k = self.robot.nv // 2
        memory, m = len(self.law.memory), len(self.law.stack)
        self._tick, self._a = self.law.tick(self.dynamics), np.zeros(self.robot.nv)
        self.quantities = self.split(np.zeros(3 * k + memory + m * k))
        self._all_steps = KernelSequence(self._quantity_steps())
        s = self.dynamics.snapshot
        # without the law, which is most of the work
        self._load_steps = KernelSequence((*s.steps.items, self._load_step()))

    def _quantity_steps(self) -> Iterator[KernelStep]:
        dynamics, tick, s, target = (
            self.dynamics,
            self._tick,
            self.dynamics.snapshot,
            self.quantities,
        )
        a, u = np.zeros(len(self._a)), tick.u

        def unusable(code: int) -> Exception:
            return NotFinite(f"u must be finite; got {u}.")

        yield from dynamics.steps.items
        yield from tick.steps.items
        answer = dynamics.ties, dynamics.a_free, dynamics.G
        yield BoundKernel(block_diagonal.apply_input_blockwise, *answer, u, a, fault=unusable)
        yield BoundKernel(copy_into, a[: self.n_joints], target.a)
        yield BoundKernel(matvec, s.B, u, target.spring_torque)
        yield self._load_step()
        yield BoundKernel(copy_into, tick.memory_rate, target.memory_rate)
        yield BoundKernel(read_block, self.law.stack.rows.A, 0, 0, target.A)

    def _load_step(self) -> KernelStep:
        s = self.dynamics.snapshot
        return BoundKernel(
            inverse_dynamics, s.M, s.nle, s.f, self._a, self.quantities.required_torque
        )

    def new_motion(self) -> LinkMotion:
        """Return room for a motion."""
        of_velocities, of_memory = np.zeros((3, self.robot.nv)), np.zeros((3, len(self.law.memory)))
        return LinkMotion(np.zeros(1), np.zeros(self.robot.nq), *of_velocities, *of_memory)

    def start_motion_steps(
        self, s: Snapshot, a: Vector, memory: Vector, motion: LinkMotion, centre: Vector
    ) -> Iterator[KernelStep]:
        """Yield what begins a motion with an acceleration, and writes `wanted` at its start."""
        yield BoundKernel(start_motion, s.clock, s.q, s.v, a, memory, motion)
        point = self._evaluation_point(self._all_steps, self.quantities.array)
        yield BoundKernel(evaluate_along, motion, point, 0.0, inside=self._all_steps)
        yield BoundKernel(copy_into, self.quantities.array, centre)
        yield BoundKernel(copy_into, self.quantities.memory_rate, motion.memory_rate)

    def memory_ddot_steps(
        self, motion: LinkMotion, h: float, centre: Vector, rates: Matrix
    ) -> Iterator[KernelStep]:
        """Yield what writes how the memory bends along a motion that has got its jerk."""
        if len(motion.memory):
            yield self.derivative_step(motion, h, centre, rates)
            yield BoundKernel(copy_into, self.split(rates[0]).memory_rate, motion.memory_ddot)

    def split(self, values: Vector) -> LinkQuantities:
        """Return the parts of an array like `wanted`."""
        return LinkQuantities.split(values, self.n_joints, len(self.law.memory))

    def derivative_step(
        self, motion: LinkMotion, h: float, centre: Vector, rates: Matrix
    ) -> KernelStep:
        """Return what writes the derivatives of `wanted` along a motion; see the kernel."""
        point = self._evaluation_point(self._all_steps, self.quantities.array)
        args = motion, point, h, centre, rates
        return BoundKernel(differentiate_along, *args, inside=self._all_steps)

    def load_derivative_step(
        self, motion: LinkMotion, h: float, centre: Vector, rates: Matrix
    ) -> KernelStep:
        """Return what writes the derivatives of the load alone, shape ``(2, k)``."""
        args = (
            motion,
            self._evaluation_point(self._load_steps, self.quantities.required_torque),
            h,
            centre,
            rates,
        )
        return BoundKernel(differentiate_along, *args, inside=self._load_steps)

    def _evaluation_point(self, steps: KernelSequence, values: Vector) -> EvaluationPoint:
        s, blocks = self.dynamics.snapshot, self.robot.structure.manifold_table
        return EvaluationPoint(
            s.clock, s.q, s.v, self._a, self._tick.memory, blocks, steps.lines, values
        )


@spec
class ElasticRowController(Controller):
    """What laws have in common that drive links through elastic joints."""

    needs_grip: ClassVar[bool] = False
    poles_aimed_at: ClassVar[PoleCount | None] = 2

    feedback: AnyFeedback | Annotated[Feedback, Instance()]
    """What row acceleration to ask for."""
    allocation: AnyAllocation | Annotated[Allocation, Instance()] = LeastNorm()
    """Which torques of the springs give it."""

    def gains_for(
        self, terms: ErrorSpec, inertia: Callable[[], Vector]
    ) -> Mapping[str, Any] | None:
        return nested_gains(self.feedback, terms)

    @property
    def row_law(self) -> Controller:
        return Servo(feedback=self.feedback, allocation=self.allocation)


def nested_gains(
    feedback: Feedback, terms: ErrorSpec, **law_gains: float
) -> Mapping[str, float] | None:
    """Return the gains of the links' feedback, beside those of the law; None where it has none."""
    gains = feedback.gains_for(terms)
    if not gains:
        return None
    return {**{f"feedback.{name}": value for name, value in gains.items()}, **law_gains}


@compiled
def motor_losses(links: Indices, motors: Indices, loss: Vector, lost: Vector) -> None:
    """Write at each link what its motor loses."""
    for i in range(len(links)):
        lost[links[i]] = loss[motors[i]]


class ElasticRowLaw(Law):
    """A law that looks for the torque of the springs first."""

    def __init__(
        self, spec: ElasticRowController, kind: str, refused: UnsupportedReason, task: Task
    ) -> None:
        super().__init__(task)
        self.joints = require_elastic_joints(task, kind, refused)
        self.motors = ElasticMotors(task, self.joints)
        self.links = RigidLinkServo(spec, task)
        self.memory = self.links.law.memory
        self._evaluations = RobotBuffers(self._evaluation_at)
        self._refuse_rows_of_motors(kind)
        _refuse_direct_motor_forces(task, kind, self.joints.links)

    def anti_windup_steps(
        self, dynamics: Dynamics, loss: Vector, tick: LawBuffers
    ) -> Iterator[KernelStep]:
        # an input accelerates no link at once: what their motors lose tells what is lost
        lost = np.zeros(self.links.n_joints)
        yield BoundKernel(motor_losses, self.joints.links, self.joints.motors, loss, lost)
        yield from self.links.law.anti_windup_steps(dynamics, lost, tick)

    def _refuse_rows_of_motors(self, kind: str) -> None:
        task, joints = self.task, self.joints
        rows = self.stack.write(task.robot.snapshot(task.q, task.v, task.start))
        # exact zeros on purpose: a row that does not feel a motor is zero there to the last bit
        motor_rows = np.flatnonzero(rows.A[:, joints.motors].any(axis=1))
        if motor_rows.size:
            raise InputError(
                f"servo row '{self.stack.names[motor_rows[0]]}' must be about links for kind = "
                f'"{kind}"; it holds a motor. Use {SERVO_ADVICE}, which reaches motors at once.'
            )

    def _evaluation_at(
        self, dynamics: Dynamics
    ) -> tuple[tuple[LinkMotion, SpringState], Sequence[KernelStep]]:
        """Return what writes springs and `RigidLinkServo.quantities` where a robot is, with a
        memory.
        """
        (springs, write), motion = (
            self.motors.spring_state(dynamics.snapshot),
            self.links.new_motion(),
        )
        none, centre = np.zeros(self.links.n_joints), np.zeros(len(self.links.quantities.array))
        steps = self.links.start_motion_steps(
            dynamics.snapshot, none, motion.memory, motion, centre
        )
        return (motion, springs), (write, *steps)

    def signals(self, dynamics: Dynamics, memory: Vector) -> Mapping[str, Signal]:
        """Return the torque of the springs, what it should be, and the error of the motors."""
        joints, robot = self.joints, dynamics.robot
        (motion, springs), _ = self._evaluations.steps(dynamics)
        motion.memory[:] = memory
        self._evaluations(dynamics)
        torque = self.links.quantities.spring_torque.copy()
        angle, effort = joint_units(robot, joints)
        error = springs.stretch - torque / joints.stiffness
        return {
            "spring_torque": Signal(
                joints.stiffness * springs.stretch + joints.damping * springs.stretch_rate,
                effort,
                "torque of the springs",
            ),
            "wanted_torque": Signal(torque, effort, "torque wanted of the springs"),
            "motor_error": Signal(error, angle, "motors minus where their springs give it"),
        }


def _refuse_direct_motor_forces(task: Task, kind: str, links: NDArray[np.intp]) -> None:
    """Refuse applied forces on links that depend on motors otherwise than by the springs."""
    robot = rigid_link_robot(task.robot)
    motors = np.ones(robot.nv)
    motors[links] = 0.0
    base = robot.snapshot(task.q, task.v, task.start)
    probe = robot.snapshot(
        robot.integrate(task.q, PROBE_DISTANCE * motors),
        task.v + PROBE_DISTANCE * motors,
        task.start,
    )
    # exact equality on purpose: a force that ignores the motors is the same sum of the same numbers
    pushed = np.flatnonzero(base.f[links] != probe.f[links])
    if pushed.size:
        name = robot.dofs[links[pushed[0]]]
        raise InputError(
            f"the forces on link '{name}' of robot '{task.robot.name}' must depend on its motor by "
            f'the spring alone for kind = "{kind}"; another force does too.'
        )
