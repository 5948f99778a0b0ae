"""What the motors do where the task leaves them free: the ``s`` of Chen's formula."""

from __future__ import annotations

import abc
from typing import Annotated, Literal, final

import numpy as np
from pydantic import Field

from ukctrl.control.actuation import InverseActuation
from ukctrl.control.allocation.internal_force import BoundInternalForce, InternalForce
from ukctrl.control.base import Task
from ukctrl.dynamics import Dynamics
from ukctrl.errors import GainError
from ukctrl.factor import Matrix, Vector
from ukctrl.fields import NonNegative, Number, spec


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
    q: tuple[Number, ...] | None = None
    """Posture, one number a coordinate; absent: the start."""
    gravity: bool = True
    r"""Also carry the gravity load, $B^+ g(q)$."""


AnyNullSpace = Annotated[Damping | Posture | InternalForce, Field(discriminator="kind")]
"""Any null-space input of the catalogue."""


class NullSpace(abc.ABC):
    """A null-space input bound to a task."""

    @abc.abstractmethod
    def preference(self, dynamics: Dynamics) -> Vector:
        """Return ``u0``, the input that the task's own is nearest to, shape ``(nu,)``."""

    def adjust(self, u: Vector, A: Matrix, R: Matrix, dynamics: Dynamics) -> Vector:
        """Return the input with something added that leaves the rows ``A`` alone.

        Args:
            u: Input that serves the task, shape ``(nu,)``.
            A: Servo constraint matrix, shape ``(m, nv)``.
            R: Input metric, shape ``(nu, nu)``, or ``(0, 0)`` for the identity.
            dynamics: The believed robot.
        """
        return u


@final
class _Nothing(NullSpace):
    def __init__(self, nu: int) -> None:
        self._zero = np.zeros(nu)

    def preference(self, dynamics: Dynamics) -> Vector:
        return self._zero


@final
class _Restoring(NullSpace):
    """Damping or posture: a force in the coordinates, brought to the motors."""

    def __init__(self, spec: Damping | Posture, task: Task) -> None:
        self._spec = spec
        self._q = task.q
        self._motors = InverseActuation(task)
        if isinstance(spec, Posture) and spec.q is not None:
            if len(spec.q) != task.robot.nq:
                raise GainError(
                    f"posture must have one number a coordinate, {task.robot.nq}; "
                    f"got {len(spec.q)}."
                )
            self._q = task.robot.normalize(np.array(spec.q))

    def preference(self, dynamics: Dynamics) -> Vector:
        spec, s = self._spec, dynamics.snapshot
        if isinstance(spec, Damping):
            force = -spec.gain * s.v
        else:
            force = spec.kp * dynamics.robot.difference(s.q, self._q) - spec.kd * s.v
        if spec.gravity:
            force = force + s.gravity
        return self._motors.input(s, force)


@final
class _Squeezing(NullSpace):
    """An internal force: added after the task has been served, so that it cannot disturb it."""

    def __init__(self, spec: InternalForce, task: Task) -> None:
        self._zero = np.zeros(task.robot.nu)
        self._force = BoundInternalForce(spec, task)

    def preference(self, dynamics: Dynamics) -> Vector:
        return self._zero

    def adjust(self, u: Vector, A: Matrix, R: Matrix, dynamics: Dynamics) -> Vector:
        return self._force.added(u, A, R, dynamics)


def bind(spec: Damping | Posture | InternalForce | None, task: Task) -> NullSpace:
    """Return a null-space input bound to a task."""
    if spec is None:
        return _Nothing(task.robot.nu)
    if isinstance(spec, InternalForce):
        return _Squeezing(spec, task)
    return _Restoring(spec, task)
