"""What the motors do where the task leaves them free: the ``s`` of Chen's formula."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, Literal, final

import numpy as np
from pydantic import Field

from ukctrl.control.allocation.internal_force import BoundInternalForce, InternalForce
from ukctrl.control.inverse_actuation import InverseActuation
from ukctrl.control.task import Task
from ukctrl.core.algebra.column_space import column_space, scaled_rank
from ukctrl.core.algebra.dynamics_kernels import inverse_dynamics
from ukctrl.core.algebra.nearest_input import ACCELERATION, InputMap, nearest_input
from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.compiled import compiled
from ukctrl.core.errors import GainError
from ukctrl.core.fields import NonNegative, Number, Rate, RateSquared, spec
from ukctrl.core.program import BoundKernel, KernelStep, RobotBuffers
from ukctrl.mechanics.dynamics import Dynamics
from ukctrl.robot.manifold_kernels import difference


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


class NullSpaceInput:
    """A null-space input bound to a task; by itself, none."""

    def __init__(self, task: Task) -> None:
        self._inputs = RobotBuffers(self._build)

    def _build(self, dynamics: Dynamics) -> tuple[Vector, Iterator[KernelStep]]:
        u0 = np.zeros(dynamics.robot.nu)
        return u0, self._preferred_input_steps(dynamics, u0)

    @final
    def steps(self, dynamics: Dynamics) -> tuple[Vector, Sequence[KernelStep]]:
        """Return where ``u0`` is, and what writes it at the state that ``dynamics`` has then."""
        return self._inputs.steps(dynamics)

    def _preferred_input_steps(self, dynamics: Dynamics, u0: Vector) -> Iterator[KernelStep]:
        """Yield what writes the preference into ``u0``."""
        yield from ()

    def adjustment_steps(
        self, u: Vector, A: Matrix, R: Matrix, dynamics: Dynamics
    ) -> Iterator[KernelStep]:
        """Yield what adds something to the input ``u`` that leaves the rows ``A`` alone.

        Args:
            u: Input that serves the task, shape ``(nu,)``.
            A: Servo constraint matrix, shape ``(m, nv)``.
            R: Input metric, shape ``(nu, nu)``, or ``(0, 0)`` for the identity.
            dynamics: The believed robot.
        """
        yield from ()


@compiled
def pd_force(kp: float, kd: float, away: Vector, v: Vector, load: Vector, force: Vector) -> None:
    """Write ``kp away - kd v + load``."""
    for i in range(len(force)):
        force[i] = kp * away[i] - kd * v[i] + load[i]


@final
class _RestoringInput(NullSpaceInput):
    """Damping or posture: a force in the coordinates, brought to the motors."""

    def __init__(self, spec: Damping | Posture, task: Task) -> None:
        super().__init__(task)
        self._kp, self._kd, self._q = 0.0, 0.0, task.q
        if isinstance(spec, Damping):
            self._kd = spec.gain
        else:
            self._kp, self._kd, self._q = spec.kp, spec.kd, _posture_configuration(spec.q, task)
        self._gravity = spec.gravity
        self._motors = InverseActuation(task)

    def _preferred_input_steps(self, dynamics: Dynamics, u0: Vector) -> Iterator[KernelStep]:
        s, n = dynamics.snapshot, dynamics.robot.nv
        away, load, force = np.zeros(n), np.zeros(n), np.zeros(n)
        if self._kp:
            yield _posture_error_step(dynamics, self._q, away)
        if self._gravity:
            yield from s.gravity_steps(load)
        yield BoundKernel(pd_force, float(self._kp), float(self._kd), away, s.v, load, force)
        yield self._motors.step(s, force, u0)


@final
class _SelfMotionInput(NullSpaceInput):
    """An acceleration of the joints, brought to the motors."""

    def __init__(self, spec: SelfMotion, task: Task) -> None:
        super().__init__(task)
        self._spec, self._q = spec, _posture_configuration(spec.q, task)
        self._motors = InverseActuation(task)
        # an open chain with a motor for each freedom: inverse dynamics is exact, no least squares
        self._reaches_all = not task.robot.passive and self._motors.rank == task.robot.nv

    def _preferred_input_steps(self, dynamics: Dynamics, u0: Vector) -> Iterator[KernelStep]:
        s, n = dynamics.snapshot, dynamics.robot.nv
        away, none, a, force = np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(n)
        if self._spec.kp:
            yield _posture_error_step(dynamics, self._q, away)
        yield BoundKernel(pd_force, float(self._spec.kp), float(self._spec.kd), away, s.v, none, a)
        if self._reaches_all:  # every acceleration is within the motors' reach
            yield BoundKernel(inverse_dynamics, s.M, s.nle, s.f, a, force)
            yield self._motors.step(s, force, u0)
        else:

            def care(code: int) -> None:
                u0[:] = _nearest_acceleration_input(dynamics, a)

            robot = InputMap(s.M, s.B, dynamics.G, dynamics.a_free)
            lost = float(dynamics.rank.servo)
            yield BoundKernel(nearest_input, ACCELERATION, robot, a, lost, u0, fault=care)


def _nearest_acceleration_input(dynamics: Dynamics, a: Vector) -> Vector:
    """Return ``G^+ (a - a_free)``."""
    motors, lost = dynamics.lengths(np.zeros((0, len(a)))).motors, dynamics.rank.servo
    rank = scaled_rank(dynamics.L.T @ dynamics.G, motors, lost)
    return column_space(dynamics.G, motors, rank=rank).solve(a - dynamics.a_free)


def _posture_error_step(dynamics: Dynamics, posture: Vector, away: Vector) -> KernelStep:
    """Return what writes how far a posture is from the state, along the tangent."""
    blocks = dynamics.robot.structure.manifold_table
    return BoundKernel(difference, blocks, dynamics.snapshot.q, np.array(posture), away)


def _posture_configuration(posture: tuple[float, ...] | str | None, task: Task) -> Vector:
    if posture is None:
        return task.q
    if isinstance(posture, str):
        with np.errstate(invalid="ignore"):  # of joints without ends
            middle = 0.5 * (task.robot.q_lower + task.robot.q_upper)
        return np.where(np.isfinite(middle), middle, task.q)
    if len(posture) != task.robot.nq:
        raise GainError(
            f"posture must have one number a coordinate, {task.robot.nq}; got {len(posture)}."
        )
    return task.robot.normalize(np.array(posture))


@final
class _InternalForceInput(NullSpaceInput):
    """An internal force: added after the task has been served, so that it cannot disturb it."""

    def __init__(self, spec: InternalForce, task: Task) -> None:
        super().__init__(task)
        self._force = BoundInternalForce(spec, task)

    def adjustment_steps(
        self, u: Vector, A: Matrix, R: Matrix, dynamics: Dynamics
    ) -> Iterator[KernelStep]:
        return self._force.steps(u, A, R, dynamics)


def bind_null_space(
    spec: Damping | Posture | SelfMotion | InternalForce | None, task: Task
) -> NullSpaceInput:
    """Return a null-space input bound to a task."""
    if spec is None:
        return NullSpaceInput(task)
    if isinstance(spec, InternalForce):
        return _InternalForceInput(spec, task)
    if isinstance(spec, SelfMotion):
        return _SelfMotionInput(spec, task)
    return _RestoringInput(spec, task)
