r"""Time-delay control: what moved the robot a moment ago stands for all that a model would say."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, ClassVar, Literal, final

import numpy as np

from ukctrl.control.allocation.input_limits import InputLimitSpec
from ukctrl.control.baselines.joint_space import JointTracking, SecondOrderGains
from ukctrl.control.command import LawBuffers
from ukctrl.control.controller import Law
from ukctrl.control.disturbance.low_pass_observers import (
    Bandwidth,
    SaturatedInput,
    force_unit,
    require_bandwidth,
)
from ukctrl.control.error_dynamics_spec import PoleCount
from ukctrl.control.feedback.feedback import RateGain, RowGain, StiffnessGain, row_gains
from ukctrl.control.inverse_actuation import FullActuation
from ukctrl.control.task import Signal, Task
from ukctrl.core.algebra.factorisation import add_scaled_into, matvec
from ukctrl.core.arrays import Flags, Matrix, Vector
from ukctrl.core.compiled import compiled
from ukctrl.core.fields import PerElement, Quantity, spec
from ukctrl.core.program import BoundKernel, KernelStep
from ukctrl.mechanics.constraints import Rows
from ukctrl.mechanics.dynamics import Dynamics
from ukctrl.robot import Snapshot

DiagonalInertia = Annotated[RowGain, PerElement(Quantity(minimum=0.0, open_minimum=True))]


@spec
class TimeDelay(SecondOrderGains, JointTracking):
    r"""Time-delay control: no model but a constant diagonal inertia $\bar M$ and the last tick.

    $$ u_k = B^+ \bigl(\bar M (\ddot q_r - k_d \dot e - k_p e) - \hat d_k\bigr), \qquad
       \hat d_k = \bar M a_{k-1} - B u_{k-1}, \qquad a_{k-1} = (v_k - v_{k-1})/h . $$

    $\hat d$ is gravity, Coriolis forces, friction, payload and what $\bar M$ misses of the inertia,
    one period $h$ ago. It is the observer `AccelerationObserver` about the robot
    $\bar M a = B u$ with the bandwidth $1/h$; a smaller one filters it, for noisy velocities. The
    estimate settles while $\lVert 1 - K h M^{-1} \bar M \rVert < 1$, at the rates of
    $K M^{-1} \bar M$: too small an inertia, or bandwidth, makes it slower than the error that it
    serves, and the loop then grows.

    On closed chains the motors do what that force would do along the free motions.

    References:
        Hsia, "A new technique for robust control of servo systems", IEEE Trans. Ind. Electron.
        36(1), 1989; Youcef-Toumi & Ito, "A time delay controller for systems with unknown
        dynamics", J. Dyn. Syst. Meas. Control 112(1), 1990.
    """

    kind: Literal["time_delay"] = "time_delay"
    poles_aimed_at: ClassVar[PoleCount | None] = 2
    assumed: ClassVar[tuple[str, ...]] = ("limit",)
    kp: StiffnessGain
    """Gain of the joint error [1/s^2]."""
    kd: RateGain
    """Gain of the joint rate error [1/s]."""
    inertia: DiagonalInertia | None = None
    r"""$\bar M$, one number or one a joint [kg m^2 or kg]; absent: the largest multiple of the
    diagonal of the believed mass matrix at the start with $\bar M \le M$ there."""
    bandwidth: Bandwidth | None = None
    """$K$, the rate at which the estimate follows [1/s]; absent: one over the control period."""
    limit: InputLimitSpec | None = None
    """What the motors give at most [N m or N], beside the limits of the robot's file, as of the
    disturbance observers."""

    def start(self, task: Task) -> Law:
        return _TimeDelayLaw(self, task)


@final
class _TimeDelayLaw(Law):
    """Its memory is the momentum of the constant inertia, as the inputs alone would change it."""

    def __init__(self, spec: TimeDelay, task: Task) -> None:
        super().__init__(spec.joint_task(task))
        self._kd, self._kp = (row_gains(getattr(spec, k), self.stack, k) for k in ("kd", "kp"))
        self._rate = require_bandwidth(spec.bandwidth, task.period)
        self._motors = FullActuation(task, spec.joints)
        self._saturated_input = SaturatedInput(spec.limit, task)
        self._unit = force_unit(task.robot.structure.dof_units)
        s = task.robot.snapshot(task.q, task.v, task.start)
        A = self.stack.write(s).A
        self._inertia = (
            # absent: the largest diagonal below M; with a larger one the delayed loop diverges
            bounding_diagonal_inertia(s.M, np.abs(A).sum(axis=0) > 0.0)
            if spec.inertia is None
            else np.abs(row_gains(spec.inertia, self.stack, "inertia") @ A)
        )
        self._estimate = np.zeros(task.robot.nv)  # the last one: between ticks it stays
        self.memory = self._inertia * task.v

    def begin(self, dynamics: Dynamics) -> Vector:
        return self._inertia * dynamics.snapshot.v

    def steps(self, dynamics: Dynamics, tick: LawBuffers) -> Iterator[KernelStep]:
        s, rows, force = dynamics.snapshot, self.stack.rows, np.zeros(dynamics.robot.nv)
        yield from self.stack.steps(s).items
        momentum = self._rate, self._inertia, s.v, tick.memory
        yield BoundKernel(momentum_residual_diagonal, *momentum, self._estimate)
        gains = self._inertia, self._kd, self._kp
        yield BoundKernel(inertial_force, rows, *gains, self._estimate, force)
        yield self._motors.step(dynamics, force, tick.u)
        yield from self._momentum_steps(s, tick)

    def _momentum_steps(self, s: Snapshot, tick: LawBuffers) -> Iterator[KernelStep]:
        """Yield what writes how fast the inputs alone would change the momentum."""
        pushed = np.zeros(len(s.v))
        # what the motors give, not what is asked: a limit is no disturbance
        u_sat, steps = self._saturated_input.steps(s, tick.u)
        yield from (*steps, BoundKernel(matvec, s.B, u_sat, pushed))
        yield BoundKernel(add_scaled_into, self._estimate, 1.0, pushed, tick.memory_rate)

    def anti_windup_steps(
        self, dynamics: Dynamics, loss: Vector, tick: LawBuffers
    ) -> Iterator[KernelStep]:
        yield from self._momentum_steps(dynamics.snapshot, tick)

    def signals(self, dynamics: Dynamics, memory: Vector) -> Mapping[str, Signal]:
        """Return the force that stands for the model."""
        words = "force that moves the constant inertia beside the motors"
        return {"disturbance_hat": Signal(self._estimate, self._unit, words, dynamics.robot.dofs)}


def bounding_diagonal_inertia(M: Matrix, moved: Flags) -> Vector:
    """Return the largest multiple of some entries of the diagonal of ``M`` that is below ``M``."""
    diagonal: Vector = np.diag(M) * moved
    # c D <= M for c up to 1 / |L^-1 D^(1/2)|^2, with M = L L'
    X = np.linalg.solve(np.linalg.cholesky(M), np.diag(np.sqrt(diagonal)))
    inertia: Vector = diagonal / np.linalg.norm(X, 2) ** 2
    return inertia


@compiled
def momentum_residual_diagonal(
    rate: float, inertia: Vector, v: Vector, memory: Vector, estimate: Vector
) -> None:
    """Write ``rate (inertia v - memory)``."""
    for i in range(len(v)):
        estimate[i] = rate * (inertia[i] * v[i] - memory[i])


@compiled
def inertial_force(
    rows: Rows, inertia: Vector, kd: Vector, kp: Vector, estimate: Vector, force: Vector
) -> None:
    """Write the force that accelerates the constant inertia as the rows ask, less an estimate."""
    for c in range(len(force)):
        a = 0.0
        for i in range(len(kp)):
            a += rows.A[i, c] * (rows.b[i] - kd[i] * rows.beta[i] - kp[i] * rows.phi[i])
        force[c] = inertia[c] * a - estimate[c]
