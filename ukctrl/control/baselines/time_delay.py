r"""Time-delay control: what moved the robot a moment ago stands for all that a model would say."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, ClassVar, Literal, final

import numpy as np

from ukctrl.control.actuation import FullActuation
from ukctrl.control.allocation.input_limits import Limits
from ukctrl.control.baselines.joint_space import SecondOrder, Tracking
from ukctrl.control.controller import Law
from ukctrl.control.disturbance.low_pass import (
    Bandwidth,
    LimitedInput,
    checked_bandwidth,
    force_unit,
)
from ukctrl.control.feedback.feedback import PerRow, RateGain, StiffnessGain, spread
from ukctrl.control.task import Signal, Task
from ukctrl.control.terms import Poles
from ukctrl.control.tick import Tick
from ukctrl.core.algebra.factorisation import combined, multiplied
from ukctrl.core.arrays import Flags, Matrix, Vector
from ukctrl.core.compiled import compiled
from ukctrl.core.fields import Each, Quantity, spec
from ukctrl.core.program import Call, Step
from ukctrl.mechanics.constraints import Rows
from ukctrl.mechanics.dynamics import Dynamics

Inertia = Annotated[PerRow, Each(Quantity(minimum=0.0, open_minimum=True))]


@spec
class TimeDelay(SecondOrder, Tracking):
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
    poles_aimed_at: ClassVar[Poles | None] = 2
    assumed: ClassVar[tuple[str, ...]] = ("limit",)
    kp: StiffnessGain
    """Gain of the joint error [1/s^2]."""
    kd: RateGain
    """Gain of the joint rate error [1/s]."""
    inertia: Inertia | None = None
    r"""$\bar M$, one number or one a joint [kg m^2 or kg]; absent: the largest multiple of the
    diagonal of the believed mass matrix at the start with $\bar M \le M$ there."""
    bandwidth: Bandwidth | None = None
    """$K$, the rate at which the estimate follows [1/s]; absent: one over the control period."""
    limit: Limits | None = None
    """What the motors give at most [N m or N], beside the limits of the robot's file, as of the
    disturbance observers."""

    def start(self, task: Task) -> Law:
        return _TimeDelay(self, task)


@final
class _TimeDelay(Law):
    """Its memory is the momentum of the constant inertia, as the inputs alone would change it."""

    def __init__(self, spec: TimeDelay, task: Task) -> None:
        super().__init__(spec.along(task))
        self._kd, self._kp = (spread(getattr(spec, k), self.stack, k) for k in ("kd", "kp"))
        self._rate = checked_bandwidth(spec.bandwidth, task.period)
        self._motors, self._limited = FullActuation(task), LimitedInput(spec.limit, task)
        self._unit = force_unit(task.robot.structure.dof_units)
        s = task.robot.snapshot(task.q, task.v, task.start)
        A = self.stack.write(s).A
        self._inertia = (
            safe_inertia(s.M, np.abs(A).sum(axis=0) > 0.0)
            if spec.inertia is None
            else np.abs(spread(spec.inertia, self.stack, "inertia") @ A)
        )
        self._estimate = np.zeros(task.robot.nv)  # the last one: between ticks it stays
        self.memory = self._inertia * task.v

    def begin(self, dynamics: Dynamics) -> Vector:
        return self._inertia * dynamics.snapshot.v

    def steps(self, dynamics: Dynamics, tick: Tick) -> Iterator[Step]:
        s, rows, n = dynamics.snapshot, self.stack.rows, dynamics.robot.nv
        force, pushed = np.zeros((2, n))
        yield from self.stack.steps(s).every
        momentum = self._rate, self._inertia, s.v, tick.memory
        yield Call(lagging_momentum, *momentum, self._estimate)
        gains = self._inertia, self._kd, self._kp
        yield Call(inertial_force, rows, *gains, self._estimate, force)
        yield self._motors.step(dynamics, force, tick.u)
        given, steps = self._limited.steps(s, tick.u)
        yield from (*steps, Call(multiplied, s.B, given, pushed))
        yield Call(combined, self._estimate, 1.0, pushed, tick.memory_rate)

    def signals(self, dynamics: Dynamics, memory: Vector) -> Mapping[str, Signal]:
        """Return the force that stands for the model."""
        words = "force that moves the constant inertia beside the motors"
        return {"disturbance_hat": Signal(self._estimate, self._unit, words, dynamics.robot.dofs)}


def safe_inertia(M: Matrix, moved: Flags) -> Vector:
    """Return the largest multiple of some entries of the diagonal of ``M`` that is below ``M``."""
    own: Vector = np.diag(M) * moved
    X = np.linalg.solve(np.linalg.cholesky(M), np.diag(np.sqrt(own)))
    inertia: Vector = own / np.linalg.norm(X, 2) ** 2
    return inertia


@compiled
def lagging_momentum(
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
