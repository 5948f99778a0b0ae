r"""The link side of a robot with elastic joints: what its springs should do, and how that goes on.

A law for elastic joints needs the first and second time derivative of things that the robot says
only the value of: the load of the springs, and the acceleration that a servo law asks for. Along

$$ q(\tau) = q \oplus \left(v \tau + \tfrac12 a \tau^2 + \tfrac16 j \tau^3\right) $$

they are smooth functions of one number, and central differences of sixth order give their
derivatives to about ten digits: of a rigid body, of a formula or of a user's own function, under
rows of any kind.
"""

from __future__ import annotations

import dataclasses as dc
from collections.abc import Callable, Mapping
from typing import Annotated, ClassVar, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from ukctrl.control.allocation import AnyAllocation
from ukctrl.control.allocation.allocation import Allocation
from ukctrl.control.allocation.least_norm import LeastNorm
from ukctrl.control.controller import Controller, Law
from ukctrl.control.elastic.elastic_motors import Motors, Refusal, elastic_joints, units_at
from ukctrl.control.feedback import AnyFeedback
from ukctrl.control.feedback.feedback import Feedback
from ukctrl.control.servo import Servo
from ukctrl.control.task import Signal, Task
from ukctrl.core.algebra.differences import WEIGHTS
from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.errors import InputError
from ukctrl.core.fields import Instance, spec
from ukctrl.mechanics.dynamics import Dynamics
from ukctrl.robot import Robot, Snapshot, links_alone

PLACES = (-3.0, -2.0, -1.0, 1.0, 2.0, 3.0)
FIRST: Vector = np.array([*(-weight for weight in reversed(WEIGHTS)), *WEIGHTS])
SECOND: Vector = np.array([2.0, -27.0, 270.0, 270.0, -27.0, 2.0]) / 180.0
CENTRE = -490.0 / 180.0


class Motion(NamedTuple):
    """A state and how it goes on, with the memory of a law."""

    t: float
    """Time [s]."""
    q: Vector
    """Configuration, shape ``(nq,)``."""
    v: Vector
    """Velocity, shape ``(nv,)``."""
    a: Vector
    """Acceleration, shape ``(nv,)``."""
    jerk: Vector
    """Jerk, shape ``(nv,)``."""
    memory: Vector
    """Memory of the law."""
    memory_rate: Vector
    """Its time derivative."""
    memory_bend: Vector
    """Its second time derivative."""

    def after(self, tau: float, robot: Robot) -> tuple[float, Vector, Vector, Vector]:
        """Return time, configuration, velocity and memory ``tau`` seconds on."""
        step = tau * (self.v + tau / 2.0 * (self.a + tau / 3.0 * self.jerk))
        rate: Vector = self.v + tau * (self.a + tau / 2.0 * self.jerk)
        memory: Vector = self.memory + tau * (self.memory_rate + tau / 2.0 * self.memory_bend)
        return self.t + tau, robot.integrate(self.q, step), rate, memory


def sampled(value: Callable[[float], Vector], h: float) -> Matrix:
    """Return a function of time around zero, a row for each of `PLACES` in steps of ``h`` [s]."""
    return np.array([value(place * h) for place in PLACES])


def first(samples: Matrix, h: float) -> Vector:
    """Return the derivative at zero of what was `sampled`."""
    rate: Vector = FIRST @ samples
    rate /= h
    return rate


def second(samples: Matrix, centre: Vector, h: float) -> Vector:
    """Return the second derivative at zero of what was `sampled`, with its value there."""
    rate: Vector = SECOND @ samples
    rate += CENTRE * centre
    rate /= h * h
    return rate


NUDGE = 0.1
"""How far motors are turned to see whether they push links past the springs [rad, m, 1/s]."""


class Wanted(NamedTuple):
    """What the servo law wants of the links at a state; ``k`` joints."""

    a: Vector
    """Acceleration of the links, shape ``(k,)``."""
    torque: Vector
    """Torque of the springs that gives it, shape ``(k,)``."""
    memory_rate: Vector
    """Time derivative of the law's memory."""


@final
class Links:
    r"""The links of an elastic robot, driven by a servo law as if nothing were between.

    $$ M(q)\, a^* = \tau^* + f - \mathrm{nle}, \qquad A a^* = d, $$

    where the feedback says $d$ and the allocation which $\tau^*$.
    """

    def __init__(self, spec: ThroughSprings, task: Task) -> None:
        self.robot = links_alone(task.robot)
        direct = dc.replace(task, robot=self.robot)
        self.law = Servo(feedback=spec.feedback, allocation=spec.allocation).start(direct)
        self.dynamics = Dynamics(self.robot, task.rank, task.gains)
        self._snapshot = self.robot.snapshot(task.q)
        self.count = self.robot.nv // 2

    def wanted(self, t: float, q: Vector, v: Vector, memory: Vector) -> Wanted:
        """Return what the servo law wants at a state of the elastic robot."""
        self.dynamics.move(t, q, v)
        command = self.law.step(self.dynamics, memory)
        a = self.dynamics.acceleration(command.u)
        torque = self.dynamics.snapshot.B @ command.u
        k = self.count
        return Wanted(a[:k], torque[:k], np.array(command.memory_rate))

    @property
    def A(self) -> Matrix:
        """The rows of the task on the links, as of the last servo law, shape ``(m, k)``."""
        A: Matrix = self.law.stack.rows.A[:, : self.count]
        return A

    def motion(self, snapshot: Snapshot, a: Vector, memory: Vector, wanted: Wanted) -> Motion:
        """Return how the links go on from a state with an acceleration ``a``, shape ``(k,)``."""
        none = np.zeros(snapshot.robot.nv)
        s, rate = snapshot, wanted.memory_rate
        return Motion(s.t, s.q, s.v, self._padded(a), none, memory, rate, np.zeros_like(rate))

    def bent(self, motion: Motion, jerk: Vector, h: float) -> Motion:
        """Return the motion with a jerk, shape ``(k,)``, and the memory that belongs to it."""
        bend = motion.memory_bend
        if bend.size:
            bend = first(sampled(lambda tau: self.wanted_after(motion, tau).memory_rate, h), h)
        return motion._replace(jerk=self._padded(jerk), memory_bend=bend)

    def wanted_after(self, motion: Motion, tau: float) -> Wanted:
        """Return what the servo law wants ``tau`` seconds on."""
        return self.wanted(*motion.after(tau, self.robot))

    def load_after(self, motion: Motion, tau: float, a: Vector) -> Vector:
        """Return the torque that an acceleration of the links takes ``tau`` seconds on."""
        t, q, v, _ = motion.after(tau, self.robot)
        s, k = self._snapshot, self.count
        s.move(q, v, t)
        load: Vector = s.M[:k, :k] @ a + s.nle[:k] - s.f[:k]
        return load

    def _padded(self, links: Vector) -> Vector:
        """Return a rate of all coordinates, of which the motors' do not matter here."""
        return np.concatenate([links, np.zeros(self.count)])


@spec
class ThroughSprings(Controller):
    """What laws have in common that drive links through elastic joints."""

    needs_grip: ClassVar[bool] = False

    feedback: AnyFeedback | Annotated[Feedback, Instance()]
    """What row acceleration to ask for."""
    allocation: AnyAllocation | Annotated[Allocation, Instance()] = LeastNorm()
    """Which torques of the springs give it."""

    @property
    def row_law(self) -> Controller:
        return Servo(feedback=self.feedback, allocation=self.allocation)


class ThroughSpringsLaw(Law):
    """A law that looks for the torque of the springs first."""

    def __init__(self, spec: ThroughSprings, kind: str, refused: Refusal, task: Task) -> None:
        super().__init__(task)
        self.joints = elastic_joints(task, kind, refused)
        self.motors = Motors(task, self.joints)
        self.links = Links(spec, task)
        self.memory = self.links.law.memory
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

    def motor_error(self, dynamics: Dynamics, torque: Vector) -> Vector:
        """Return how far the motors are from where their springs give a torque."""
        joints = self.joints
        error: Vector = joints.stretch(dynamics.snapshot.q) - torque / joints.stiffness
        return error

    def spring_torque(self, dynamics: Dynamics) -> Vector:
        """Return the torque of the springs on the links."""
        joints = self.joints
        torque: Vector = joints.stiffness * joints.stretch(dynamics.snapshot.q)
        torque += joints.damping * self.stretch_rate(dynamics)
        return torque

    def other_force(self, dynamics: Dynamics) -> Vector:
        """Return what acts on the motors beside inputs and springs, such as friction."""
        force: Vector = dynamics.snapshot.f[self.joints.motors] + self.spring_torque(dynamics)
        return force

    def stretch_rate(self, dynamics: Dynamics) -> Vector:
        """Return how fast the motors run ahead of their joints."""
        v = dynamics.snapshot.v
        rate: Vector = v[self.joints.motors] - v[self.joints.links]
        return rate

    def signals(self, dynamics: Dynamics, memory: Vector) -> Mapping[str, Signal]:
        """Return the torque of the springs, what it should be, and the error of the motors."""
        s, joints = dynamics.snapshot, self.joints
        wanted = self.links.wanted(s.t, s.q, s.v, memory).torque
        angle, effort = units_at(s.robot, joints)
        error = self.motor_error(dynamics, wanted)
        return {
            "spring_torque": Signal(self.spring_torque(dynamics), effort, "torque of the springs"),
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
