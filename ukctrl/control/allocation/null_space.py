"""What the motors do where the task leaves them free: the ``s`` of Chen's formula."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, Literal, final

import numpy as np
from pydantic import Field

from ukctrl.control.actuation import InverseActuation
from ukctrl.control.allocation.internal_force import BoundInternalForce, InternalForce
from ukctrl.control.task import Task
from ukctrl.core.algebra.kernels import force_for
from ukctrl.core.algebra.nearest_input import ACCELERATION, nearest_input
from ukctrl.core.algebra.span import independent, span
from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.compiled import compiled
from ukctrl.core.errors import GainError
from ukctrl.core.fields import NonNegative, Number, Rate, RateSquared, spec
from ukctrl.core.program import Call, Kept, Step, Steps
from ukctrl.mechanics.dynamics import Dynamics
from ukctrl.robot.configuration_kernels import difference


@spec
class Damping:
    r"""Brake the robot where the task leaves it free: $u_0 = B^+ (-k\, v)$."""

    kind: Literal["damping"] = "damping"
    gain: NonNegative
    """Damping $k$ [N m s/rad or N s/m]."""
    gravity: bool = True
    r"""Also carry the gravity load, $B^+ g(q)$, so that the free motion does not sag."""


@spec
class Posture:
    r"""Pull towards a posture where the task leaves it free.

    $u_0 = B^+ (k_p (q_0 \ominus q) - k_d v)$
    """

    kind: Literal["posture"] = "posture"
    kp: NonNegative
    """Stiffness [N m/rad or N/m]."""
    kd: NonNegative
    """Damping [N m s/rad or N s/m]."""
    q: tuple[Number, ...] | Literal["middle"] | None = None
    """Posture, one number a coordinate; ``"middle"`` of the ranges, away from their ends, with the
    start where there is none; absent: the start."""
    gravity: bool = True
    r"""Also carry the gravity load, $B^+ g(q)$."""


@spec
class SelfMotion:
    r"""Ask for an acceleration of the joints where the task leaves it free.

    $u_0 = G^+ (a_0 - a_\mathrm{free})$ with $a_0 = k_p (q_0 \ominus q) - k_d v$; with one motor a
    freedom it is $B^{-1} (M a_0 + \mathrm{nle} - f)$. In the metric ``resolved_acceleration`` the
    joints then accelerate as near to $a_0$ as task, motors and closures allow.

    References:
        Hsu, Hauser & Sastry, "Dynamic control of redundant manipulators", J. Robot. Syst. 6(2),
        1989.
    """

    kind: Literal["self_motion"] = "self_motion"
    kp: RateSquared = 0.0
    """Gain towards the posture [1/s^2]."""
    kd: Rate
    """Gain against the velocity [1/s]."""
    q: tuple[Number, ...] | Literal["middle"] | None = None
    """Posture, one number a coordinate; ``"middle"`` of the ranges, away from their ends, with the
    start where there is none; absent: the start."""


AnyNullSpace = Annotated[
    Damping | Posture | SelfMotion | InternalForce, Field(discriminator="kind")
]
"""Any null-space input of the catalogue."""


class NullSpace:
    """A null-space input bound to a task; by itself, none."""

    def __init__(self, task: Task) -> None:
        self._bound: Kept[Dynamics, tuple[Vector, Steps]] = Kept(self._of_robot)

    def _of_robot(self, dynamics: Dynamics) -> tuple[Vector, Steps]:
        u0 = np.zeros(dynamics.robot.nu)
        return u0, Steps(self._preference(dynamics, u0))

    @final
    def steps(self, dynamics: Dynamics) -> tuple[Vector, Sequence[Step]]:
        """Return where ``u0`` is, and what writes it at the state that ``dynamics`` has then."""
        u0, steps = self._bound(dynamics)
        return u0, steps.every

    def _preference(self, dynamics: Dynamics, u0: Vector) -> Iterator[Step]:
        """Yield what writes the preference into ``u0``."""
        yield from ()

    def adjust(self, u: Vector, A: Matrix, R: Matrix, dynamics: Dynamics) -> Iterator[Step]:
        """Yield what adds something to the input ``u`` that leaves the rows ``A`` alone.

        Args:
            u: Input that serves the task, shape ``(nu,)``.
            A: Servo constraint matrix, shape ``(m, nv)``.
            R: Input metric, shape ``(nu, nu)``, or ``(0, 0)`` for the identity.
            dynamics: The believed robot.
        """
        yield from ()


@compiled
def pulled(kp: float, kd: float, away: Vector, v: Vector, load: Vector, force: Vector) -> None:
    """Write ``kp away - kd v + load``."""
    for i in range(len(force)):
        force[i] = kp * away[i] - kd * v[i] + load[i]


@final
class _Restoring(NullSpace):
    """Damping or posture: a force in the coordinates, brought to the motors."""

    def __init__(self, spec: Damping | Posture, task: Task) -> None:
        super().__init__(task)
        self._kp, self._kd, self._q = 0.0, 0.0, task.q
        if isinstance(spec, Damping):
            self._kd = spec.gain
        else:
            self._kp, self._kd, self._q = spec.kp, spec.kd, _posture(spec.q, task)
        self._gravity = spec.gravity
        self._motors = InverseActuation(task)

    def _preference(self, dynamics: Dynamics, u0: Vector) -> Iterator[Step]:
        s, n = dynamics.snapshot, dynamics.robot.nv
        away, load, force = np.zeros(n), np.zeros(n), np.zeros(n)
        if self._kp:
            yield _towards(dynamics, self._q, away)
        if self._gravity:
            yield from s.gravity_steps(load)
        yield Call(pulled, float(self._kp), float(self._kd), away, s.v, load, force)
        yield self._motors.step(s, force, u0)


@final
class _SelfMotion(NullSpace):
    """An acceleration of the joints, brought to the motors."""

    def __init__(self, spec: SelfMotion, task: Task) -> None:
        super().__init__(task)
        self._spec, self._q = spec, _posture(spec.q, task)
        self._motors = InverseActuation(task)
        self._any = not task.robot.passive and self._motors.rank == task.robot.nv

    def _preference(self, dynamics: Dynamics, u0: Vector) -> Iterator[Step]:
        s, n = dynamics.snapshot, dynamics.robot.nv
        away, none, a, force = np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(n)
        if self._spec.kp:
            yield _towards(dynamics, self._q, away)
        yield Call(pulled, float(self._spec.kp), float(self._spec.kd), away, s.v, none, a)
        if self._any:  # every acceleration is within the motors' reach
            yield Call(force_for, s.M, s.nle, s.f, a, force)
            yield self._motors.step(s, force, u0)
        else:

            def care(code: int) -> None:
                u0[:] = _nearest(dynamics, a)

            robot = s.M, s.B, dynamics.G, dynamics.a_free
            lost = float(dynamics.rank.servo)
            yield Call(nearest_input, ACCELERATION, *robot, a, lost, u0, fault=care)


def _nearest(dynamics: Dynamics, a: Vector) -> Vector:
    """Return ``G^+ (a - a_free)``."""
    motors, lost = dynamics.lengths(np.zeros((0, len(a)))).motors, dynamics.rank.servo
    rank = independent(dynamics.L.T @ dynamics.G, motors, lost)
    return span(dynamics.G, motors, rank=rank).least(a - dynamics.a_free)


def _towards(dynamics: Dynamics, posture: Vector, away: Vector) -> Step:
    """Return what writes how far a posture is from the state, along the tangent."""
    blocks = dynamics.robot.structure.configurations
    return Call(difference, blocks, dynamics.snapshot.q, np.array(posture), away)


def _posture(given: tuple[float, ...] | str | None, task: Task) -> Vector:
    if given is None:
        return task.q
    if isinstance(given, str):
        with np.errstate(invalid="ignore"):  # of joints without ends
            middle = 0.5 * (task.robot.q_lower + task.robot.q_upper)
        return np.where(np.isfinite(middle), middle, task.q)
    if len(given) != task.robot.nq:
        raise GainError(
            f"posture must have one number a coordinate, {task.robot.nq}; got {len(given)}."
        )
    return task.robot.normalize(np.array(given))


@final
class _Squeezing(NullSpace):
    """An internal force: added after the task has been served, so that it cannot disturb it."""

    def __init__(self, spec: InternalForce, task: Task) -> None:
        super().__init__(task)
        self._force = BoundInternalForce(spec, task)

    def adjust(self, u: Vector, A: Matrix, R: Matrix, dynamics: Dynamics) -> Iterator[Step]:
        return self._force.steps(u, A, R, dynamics)


def bind(spec: Damping | Posture | SelfMotion | InternalForce | None, task: Task) -> NullSpace:
    """Return a null-space input bound to a task."""
    if spec is None:
        return NullSpace(task)
    if isinstance(spec, InternalForce):
        return _Squeezing(spec, task)
    if isinstance(spec, SelfMotion):
        return _SelfMotion(spec, task)
    return _Restoring(spec, task)
