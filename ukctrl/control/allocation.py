r"""Allocation: which input gives the row acceleration that the feedback asks for.

All inputs that meet the rows differ by null-space motion; the metric $R$ and the null-space
input $u_0$ choose among them, $\min (u - u_0)^\top R (u - u_0)$. With one motor a freedom:

| metric | R | the classical name |
|---|---|---|
| ``effort`` | $I$ | least torque norm |
| ``gauss`` | $B^\top M^{-1} B$ | Udwadia-Kalaba force, operational space |
| ``resolved_acceleration`` | $B^\top M^{-2} B$ | resolved acceleration (least $|a - a_0|$) |
"""

from __future__ import annotations

import abc
from typing import Annotated, Literal, final

import numpy as np
from pydantic import Field

from ukctrl import kernels, uk
from ukctrl.certify import raise_if_missed
from ukctrl.constraints import Rows
from ukctrl.control.actuation import InverseActuation
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


AnyNullSpace = Annotated[Damping | Posture, Field(discriminator="kind")]


@final
class NullSpaceInput:
    """``u0`` of a task."""

    def __init__(self, spec: Damping | Posture | None, task: Task) -> None:
        self._spec = spec
        self._zero = np.zeros(task.robot.nu)
        self._q = task.q
        self._motors = InverseActuation(task)
        if isinstance(spec, Posture) and spec.q is not None:
            if len(spec.q) != task.robot.nq:
                raise GainError(
                    f"posture must have one number a coordinate, {task.robot.nq}; "
                    f"got {len(spec.q)}."
                )
            self._q = task.robot.normalize(np.array(spec.q))

    def __call__(self, dynamics: Dynamics) -> Vector:
        """Return ``u0`` at a state, shape ``(nu,)``."""
        spec = self._spec
        if spec is None:
            return self._zero
        s = dynamics.snapshot
        if isinstance(spec, Damping):
            force = -spec.gain * s.v
        else:
            force = spec.kp * dynamics.robot.difference(s.q, self._q) - spec.kd * s.v
        if spec.gravity:
            force = force + s.gravity
        return self._motors.input(s, force)


@spec
class Allocation(abc.ABC):
    """How a servo controller shares its demand among the motors."""

    @abc.abstractmethod
    def attach(self, task: Task, rows: tuple[str, ...]) -> Allocator:
        """Bind to a robot and a task; ``rows`` are the names that a refusal mentions."""


class Allocator(abc.ABC):
    """An allocation bound to a task."""

    @abc.abstractmethod
    def input(self, rows: Rows, demand: Vector, dynamics: Dynamics) -> Vector:
        """Return the input that makes the rows accelerate as demanded, shape ``(nu,)``.

        Raises:
            InfeasibleConstraint: No input does.
        """


@spec
class LeastNorm(Allocation):
    r"""The input of least norm, $u_0 + R^{-1} H^\top (H R^{-1} H^\top)^+ (d - H u_0)$."""

    kind: Literal["least_norm"] = "least_norm"
    metric: Literal["effort", "gauss", "resolved_acceleration"] | tuple[tuple[Number, ...], ...] = (
        "effort"
    )
    """Input metric ``R``: a name, or a symmetric positive definite matrix ``(nu, nu)``."""
    null_space: AnyNullSpace | None = None
    """What the motors do where the task leaves them free; absent: nothing."""
    on_infeasible: Literal["raise", "least_squares"] = "raise"
    """What to do when the motors cannot give the demand: stop, or come as close as possible."""

    def attach(self, task: Task, rows: tuple[str, ...]) -> Allocator:
        return _LeastNorm(self, task, rows)


class _LeastNorm(Allocator):
    def __init__(self, spec: LeastNorm, task: Task, rows: tuple[str, ...]) -> None:
        self._null_space = NullSpaceInput(spec.null_space, task)
        self._rank = task.rank
        self._names = rows
        self._raise = spec.on_infeasible == "raise"
        self._power = {"gauss": 1, "resolved_acceleration": 2}.get(str(spec.metric), 0)
        self._miss = np.empty(len(rows))
        if self._power:
            _require_independent_motors(task, str(spec.metric))
        self._R = uk.NO_METRIC
        if not isinstance(spec.metric, str):
            self._R = _metric(spec.metric, task.robot.nu)

    def input(self, rows: Rows, demand: Vector, dynamics: Dynamics) -> Vector:
        a_free, G, R = dynamics.a_free, dynamics.G, self._R
        if self._power:
            nu = dynamics.robot.nu
            R = np.empty((nu, nu))
            kernels.motor_metric(dynamics.L, dynamics.snapshot.B, self._power, R)
        u0 = self._null_space(dynamics)
        u: Vector = np.empty(len(u0))
        miss = self._miss
        found = kernels.servo_input(rows.A, demand, a_free, G, R, u0, self._rank.servo, u, miss)
        if found == len(demand):
            return u
        if found < 0:
            raise GainError(
                "metric must be positive definite on the inputs; it is not here, because motors "
                'are redundant. Use metric = "effort" or a matrix.'
            )
        if self._raise:
            raise_if_missed(rows.A, demand, a_free, miss, found, self._rank, self._names)
            return u
        H = rows.A @ G
        d = demand - rows.A @ a_free - H @ u0
        closest: Vector = u0 + uk.least_squares_input(H, d, R if R.size else None, self._rank)
        return closest


def _require_independent_motors(task: Task, metric: str) -> None:
    rank = InverseActuation(task).rank
    if rank < task.robot.nu:
        raise GainError(
            f'metric = "{metric}" needs motors that do not repeat each other, or it leaves their '
            f"shares open; robot '{task.robot.name}' has {task.robot.nu} motors of rank {rank}. "
            'Use metric = "effort" or a matrix.'
        )


def _metric(given: tuple[tuple[float, ...], ...], nu: int) -> Matrix:
    if len(given) != nu or any(len(row) != nu for row in given):
        raise GainError(f"metric must be a matrix of {nu} rows and columns.")
    R = np.array(given, dtype=np.float64)
    if not np.array_equal(R, R.T) or np.linalg.eigvalsh(R)[0] <= 0.0:
        raise GainError("metric must be symmetric positive definite; it is not.")
    return R


AnyAllocation = LeastNorm
"""Any allocation of the catalogue."""
