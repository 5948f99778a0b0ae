r"""The link side of a robot with elastic joints: what its springs should do, and how that goes on.

A law for elastic joints needs the first and second time derivative of things that the robot says
only the value of: the load of the springs, and the acceleration that a servo law asks for. They are
measured along the links' motion (`ukctrl.control.elastic.ahead_kernels`): of a rigid body, of a
formula or of a user's own function, under rows of any kind.
"""

from __future__ import annotations

import dataclasses as dc
from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, Any, ClassVar, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from ukctrl.control.allocation import AnyAllocation
from ukctrl.control.allocation.allocation import Allocation
from ukctrl.control.allocation.least_norm import LeastNorm
from ukctrl.control.controller import Controller, Law
from ukctrl.control.elastic.ahead_kernels import (
    Motion,
    Place,
    differentiated,
    evaluated_at,
    set_out,
)
from ukctrl.control.elastic.elastic_motors import Motors, Refusal, Springs, elastic_joints, units_at
from ukctrl.control.feedback import AnyFeedback
from ukctrl.control.feedback.feedback import Feedback
from ukctrl.control.servo import Servo
from ukctrl.control.task import Signal, Task
from ukctrl.control.terms import Poles, Terms
from ukctrl.core.algebra import separate
from ukctrl.core.algebra.factorisation import copy_into, multiplied
from ukctrl.core.algebra.kernels import force_for
from ukctrl.core.algebra.separate import take_block
from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.errors import InputError, NotFinite
from ukctrl.core.fields import Instance, spec
from ukctrl.core.program import Call, Kept, Step, Steps
from ukctrl.mechanics.dynamics import Dynamics
from ukctrl.robot import Snapshot, links_alone

NUDGE = 0.1
"""How far motors are turned to see whether they push links past the springs [rad, m, 1/s]."""


class Wanted(NamedTuple):
    """What is evaluated of the links at a state, one behind the other; ``k`` joints, ``m`` rows."""

    all: Vector
    """All of it."""
    a: Vector
    """Acceleration that the servo law wants of the links, shape ``(k,)``."""
    torque: Vector
    """Torque of the springs that gives it, shape ``(k,)``."""
    load: Vector
    """Torque that the acceleration of the motion takes, shape ``(k,)``."""
    memory_rate: Vector
    """Time derivative of the law's memory."""
    A: Matrix
    """The rows of the task on the links, shape ``(m, k)``."""

    @staticmethod
    def parts(all: Vector, k: int, memory: int) -> Wanted:
        """Return the parts of what stands one behind the other."""
        parts = np.split(all, np.cumsum([k, k, k, memory]).tolist())
        parts[-1] = parts[-1].reshape(-1, k)
        return Wanted(all, *parts)


@final
class Links:
    r"""The links of an elastic robot, driven by a servo law as if nothing were between.

    $$ M(q)\, a^* = \tau^* + f - \mathrm{nle}, \qquad A a^* = d, $$

    where the feedback says $d$ and the allocation which $\tau^*$.

    Attributes:
        robot: The links alone.
        law: The servo law.
        dynamics: The links where they were evaluated last.
        count: Number ``k`` of joints.
        wanted: What the servo law wants of them, and what their load is.
    """

    def __init__(self, spec: ThroughSprings, task: Task) -> None:
        self.robot = links_alone(task.robot)
        direct = dc.replace(task, robot=self.robot)
        self.law = Servo(feedback=spec.feedback, allocation=spec.allocation).start(direct)
        self.dynamics = Dynamics(self.robot, task.rank, task.gains)
        self.count = k = self.robot.nv // 2
        memory, m = len(self.law.memory), len(self.law.stack)
        self._tick, self._a = self.law.tick(self.dynamics), np.zeros(self.robot.nv)
        self.wanted = self.parts(np.zeros(3 * k + memory + m * k))
        self._whole = Steps(self._whole_steps())
        s = self.dynamics.snapshot
        self._loads = Steps((*s.steps.every, self._load_step()))

    def _whole_steps(self) -> Iterator[Step]:
        dynamics, tick, s, wanted = self.dynamics, self._tick, self.dynamics.snapshot, self.wanted
        a, u = np.zeros(len(self._a)), tick.u

        def unusable(code: int) -> Exception:
            return NotFinite(f"u must be finite; got {u}.")

        yield from dynamics.steps.every
        yield from tick.steps.every
        answer = dynamics.ties, dynamics.a_free, dynamics.G
        yield Call(separate.acceleration, *answer, u, a, fault=unusable)
        yield Call(copy_into, a[: self.count], wanted.a)
        yield Call(multiplied, s.B, u, wanted.torque)
        yield self._load_step()
        yield Call(copy_into, tick.memory_rate, wanted.memory_rate)
        yield Call(take_block, self.law.stack.rows.A, 0, 0, wanted.A)

    def _load_step(self) -> Step:
        s = self.dynamics.snapshot
        return Call(force_for, s.M, s.nle, s.f, self._a, self.wanted.load)

    def motion(self) -> Motion:
        """Return room for a motion."""
        of_velocities, of_memory = np.zeros((3, self.robot.nv)), np.zeros((3, len(self.law.memory)))
        return Motion(np.zeros(1), np.zeros(self.robot.nq), *of_velocities, *of_memory)

    def set_out(
        self, s: Snapshot, a: Vector, memory: Vector, motion: Motion, centre: Vector
    ) -> Iterator[Step]:
        """Yield what begins a motion with an acceleration, and writes `wanted` at its start."""
        yield Call(set_out, s.clock, s.q, s.v, a, memory, motion)
        place = self._place(self._whole, self.wanted.all)
        yield Call(evaluated_at, motion, place, 0.0, inside=self._whole)
        yield Call(copy_into, self.wanted.all, centre)
        yield Call(copy_into, self.wanted.memory_rate, motion.memory_rate)

    def bends(self, motion: Motion, h: float, centre: Vector, rates: Matrix) -> Iterator[Step]:
        """Yield what writes how the memory bends along a motion that has got its jerk."""
        if len(motion.memory):
            yield self.differentiated(motion, h, centre, rates)
            yield Call(copy_into, self.parts(rates[0]).memory_rate, motion.memory_bend)

    def parts(self, values: Vector) -> Wanted:
        """Return the parts of an array like `wanted`."""
        return Wanted.parts(values, self.count, len(self.law.memory))

    def differentiated(self, motion: Motion, h: float, centre: Vector, rates: Matrix) -> Step:
        """Return what writes the derivatives of `wanted` along a motion; see the kernel."""
        place = self._place(self._whole, self.wanted.all)
        given = motion, place, h, centre, rates
        return Call(differentiated, *given, inside=self._whole)

    def load_rate(self, motion: Motion, h: float, centre: Vector, rates: Matrix) -> Step:
        """Return what writes the derivatives of the load alone, shape ``(2, k)``."""
        given = motion, self._place(self._loads, self.wanted.load), h, centre, rates
        return Call(differentiated, *given, inside=self._loads)

    def _place(self, steps: Steps, values: Vector) -> Place:
        s, blocks = self.dynamics.snapshot, self.robot.structure.configurations
        return Place(s.clock, s.q, s.v, self._a, self._tick.memory, blocks, steps.lines, values)


@spec
class ThroughSprings(Controller):
    """What laws have in common that drive links through elastic joints."""

    needs_grip: ClassVar[bool] = False
    poles_aimed_at: ClassVar[Poles | None] = 2

    feedback: AnyFeedback | Annotated[Feedback, Instance()]
    """What row acceleration to ask for."""
    allocation: AnyAllocation | Annotated[Allocation, Instance()] = LeastNorm()
    """Which torques of the springs give it."""

    def gains_for(self, terms: Terms, inertia: Callable[[], Vector]) -> Mapping[str, Any] | None:
        return in_feedback(self.feedback, terms)

    @property
    def row_law(self) -> Controller:
        return Servo(feedback=self.feedback, allocation=self.allocation)


def in_feedback(feedback: Feedback, terms: Terms, **own: float) -> Mapping[str, float] | None:
    """Return the gains of the links' feedback, beside those of the law; None where it has none."""
    gains = feedback.gains_for(terms)
    if not gains:
        return None
    return {**{f"feedback.{name}": value for name, value in gains.items()}, **own}


class ThroughSpringsLaw(Law):
    """A law that looks for the torque of the springs first."""

    def __init__(self, spec: ThroughSprings, kind: str, refused: Refusal, task: Task) -> None:
        super().__init__(task)
        self.joints = elastic_joints(task, kind, refused)
        self.motors = Motors(task, self.joints)
        self.links = Links(spec, task)
        self.memory = self.links.law.memory
        self._looked_at: Kept[Dynamics, tuple[Motion, Springs, Steps]] = Kept(self._look)
        self._refuse_rows_of_motors(kind)
        _refuse_pushes_past_springs(task, kind, self.joints.links)

    def _refuse_rows_of_motors(self, kind: str) -> None:
        task, joints = self.task, self.joints
        rows = self.stack.write(task.robot.snapshot(task.q, task.v, task.start))
        held = np.flatnonzero(rows.A[:, joints.motors].any(axis=1))
        if held.size:
            raise InputError(
                f"servo row '{self.stack.names[held[0]]}' must be about links for kind = "
                f'"{kind}"; it holds a motor. Use kind = "servo", which reaches motors at once.'
            )

    def _look(self, dynamics: Dynamics) -> tuple[Motion, Springs, Steps]:
        """Return what writes springs and `Links.wanted` where a robot is, with a memory."""
        (springs, write), motion = self.motors.springs(dynamics.snapshot), self.links.motion()
        none, centre = np.zeros(self.links.count), np.zeros(len(self.links.wanted.all))
        every = self.links.set_out(dynamics.snapshot, none, motion.memory, motion, centre)
        return motion, springs, Steps((write, *every))

    def signals(self, dynamics: Dynamics, memory: Vector) -> Mapping[str, Signal]:
        """Return the torque of the springs, what it should be, and the error of the motors."""
        joints, robot = self.joints, dynamics.robot
        motion, springs, steps = self._looked_at(dynamics)
        motion.memory[:] = memory
        steps()
        wanted = self.links.wanted.torque.copy()
        angle, effort = units_at(robot, joints)
        error = springs.stretch - wanted / joints.stiffness
        return {
            "spring_torque": Signal(
                joints.stiffness * springs.stretch + joints.damping * springs.rate,
                effort,
                "torque of the springs",
            ),
            "wanted_torque": Signal(wanted, effort, "torque wanted of the springs"),
            "motor_error": Signal(error, angle, "motors minus where their springs give it"),
        }


def _refuse_pushes_past_springs(task: Task, kind: str, links: NDArray[np.intp]) -> None:
    """Refuse applied forces on links that depend on motors otherwise than by the springs."""
    robot = links_alone(task.robot)
    motors = np.ones(robot.nv)
    motors[links] = 0.0
    here = robot.snapshot(task.q, task.v, task.start)
    there = robot.snapshot(
        robot.integrate(task.q, NUDGE * motors), task.v + NUDGE * motors, task.start
    )
    pushed = np.flatnonzero(here.f[links] != there.f[links])
    if pushed.size:
        name = robot.dofs[links[pushed[0]]]
        raise InputError(
            f"the forces on link '{name}' of robot '{task.robot.name}' must depend on its motor by "
            f'the spring alone for kind = "{kind}"; another force does too.'
        )
