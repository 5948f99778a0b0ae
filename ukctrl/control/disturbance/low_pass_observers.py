r"""Observers that filter what the believed robot does not explain, by a low-pass of first order.

With the robot's acceleration $a = \bar a(u) + \delta$, of which it believes
$\bar a(u) = a_\mathrm{free} + G u$, no acceleration need be measured: a memory $z$ follows the
velocity, or the momentum, as the model says that it goes on, and lags by what it does not say.
"""

from __future__ import annotations

import abc
from collections.abc import Iterator, Mapping
from typing import Annotated, ClassVar, Literal, final

import numpy as np

from ukctrl.control.allocation.input_limits import InputLimits, InputLimitSpec
from ukctrl.control.disturbance.disturbance_observer import BoundObserver, DisturbanceObserver
from ukctrl.control.error_dynamics_spec import ErrorSpec
from ukctrl.control.task import Signal, Task
from ukctrl.core.algebra import block_diagonal
from ukctrl.core.algebra.factorisation import copy_into, solve_lower, solve_upper
from ukctrl.core.algebra.row_space import mass_weighted_unit_columns, remove_constrained, row_space
from ukctrl.core.arrays import Indices, Matrix, Vector
from ukctrl.core.compiled import allocating, compiled
from ukctrl.core.errors import GainError
from ukctrl.core.fields import Quantity, spec
from ukctrl.core.program import BoundKernel, KernelStep
from ukctrl.mechanics.dynamics import Dynamics
from ukctrl.robot import Snapshot

Bandwidth = Annotated[float, Quantity("1/s", minimum=0.0, open_minimum=True)]
BANDWIDTH_RTOL = 1e-9
"""A bandwidth may exceed one over the period by this, relatively."""


@spec
class LowPassObserver(DisturbanceObserver):
    """What both observers share."""

    assumed: ClassVar[tuple[str, ...]] = ("limit",)

    limit: InputLimitSpec | None = None
    """What the motors give at most [N m or N], a number or a pair for all, or a table by motor,
    beside the limits of the robot's file: the estimate reckons with the input within both."""

    def gains_for(self, terms: ErrorSpec) -> Mapping[str, float]:
        """Return the natural frequency of the error as bandwidth: the third pole of a PID."""
        return {"bandwidth": terms.frequency()}


@spec
class MomentumObserver(LowPassObserver):
    r"""Estimate the generalised force that the believed robot does not explain, by its momentum.

    With $p = M v$ and $\bar a(u)$ the believed acceleration under the input

    $$ \hat d = K (p - z), \qquad \dot z = M \bar a(u) + \dot M v + \hat d, \qquad z_0 = p_0, $$

    so that with a right model $\dot{\hat d} = K (d - \hat d)$: each entry of an unknown force is
    followed at the rate $K$, whatever the motion. The rows are asked for $y - A W \hat d$ with the
    inverse mass $W$ of the robot under its passive rows. On closed chains $d$ is what the
    reactions leave of the force, $M W d$.

    A wrong model is a disturbance, too. Held over a period $h$ the estimate settles while
    $K h M < 2 M_\mathrm{true}$ in every direction: a robot much lighter than believed does not.

    References:
        De Luca & Mattone, "Actuator failure detection and isolation using generalized momenta",
        IEEE ICRA, 2003; Ohnishi, Shibata & Murakami, "Motion control for advanced mechatronics",
        IEEE/ASME Trans. Mechatronics 1(1), 1996.
    """

    kind: Literal["momentum_observer"] = "momentum_observer"
    bandwidth: Bandwidth
    """$K$, the rate at which the estimate follows [1/s]; times a control period at most 1."""

    def attach(self, task: Task) -> BoundObserver:
        return _BoundMomentumObserver(self.bandwidth, self.limit, task)


@spec
class AccelerationObserver(LowPassObserver):
    r"""Estimate the acceleration that the believed robot does not explain, by its velocity.

    $$ \hat\delta = K (v - z), \qquad \dot z = \bar a(u) + \hat\delta, \qquad z_0 = v_0, $$

    which is the filter $K/(s+K)$ of the measured acceleration less the believed one; so
    $\dot{\hat\delta} = K (\delta - \hat\delta)$. It needs no mass matrix, and follows a
    constant force less well than `MomentumObserver` does where the robot's inertia changes.

    Without a bandwidth it is $1/h$ of the control period $h$, and the filter the difference of two
    ticks, $\hat\delta_k = (v_k - v_{k-1})/h - \bar a_{k-1}(u_{k-1})$: time-delay estimation, with
    the believed robot in place of a constant inertia.

    References:
        Ohnishi, Shibata & Murakami, IEEE/ASME Trans. Mechatronics 1(1), 1996; Youcef-Toumi & Ito,
        "A time delay controller for systems with unknown dynamics", J. Dyn. Syst. Meas. Control
        112(1), 1990.
    """

    kind: Literal["acceleration_observer"] = "acceleration_observer"
    bandwidth: Bandwidth | None = None
    """$K$, the rate at which the estimate follows [1/s]; absent: one over the control period."""

    def attach(self, task: Task) -> BoundObserver:
        return _BoundAccelerationObserver(self.bandwidth, self.limit, task)


def require_bandwidth(bandwidth: float | None, period: float | None) -> float:
    """Return the bandwidth, or one over the control period where there is none [1/s].

    Raises:
        GainError: It is too fast for the period, or there is neither.
    """
    if bandwidth is None and period is None:
        raise GainError(
            "an observer without a bandwidth takes the difference of two ticks; give "
            "timing.control, or a bandwidth."
        )
    fastest = 1.0 / period if period is not None else np.inf
    rate = fastest if bandwidth is None else bandwidth
    # a filter faster than one over the period overshoots what it follows
    if rate > (1.0 + BANDWIDTH_RTOL) * fastest:
        raise GainError(
            f"bandwidth must be at most one over the control period, {fastest:g} 1/s, for an "
            f"estimate that does not overshoot; got {rate:g} 1/s."
        )
    return float(rate)


class SaturatedInput:
    """The input that motors give of what is commanded, as far as their limits are known."""

    def __init__(self, limit: InputLimitSpec | None, task: Task) -> None:
        bounds = task.robot.actuation.bounds
        # what is not known to saturate is taken as commanded: nothing is clipped
        has_limits = limit is not None or bool(np.isfinite([bounds.lower, bounds.upper]).any())
        self._limits = InputLimits(limit, task) if has_limits else None

    def steps(self, snapshot: Snapshot, u: Vector) -> tuple[Vector, Iterator[KernelStep]]:
        """Return where the input is, and what writes it of the one that is there then."""
        return (
            (u, iter(()))
            if self._limits is None
            else self._clipped_steps(self._limits, snapshot, u)
        )

    @staticmethod
    def _clipped_steps(
        limits: InputLimits, s: Snapshot, u: Vector
    ) -> tuple[Vector, Iterator[KernelStep]]:
        low, high, u_sat = np.zeros((3, len(u)))

        def steps() -> Iterator[KernelStep]:
            # rates of the input stay out: what was applied is known by then
            yield from limits.steps(s, np.zeros(0), low, high)
            yield BoundKernel(clip_to_limits, u, low, high, u_sat)

        return u_sat, steps()


class _BoundLowPassObserver(BoundObserver, abc.ABC):
    def __init__(self, bandwidth: float | None, limit: InputLimitSpec | None, task: Task) -> None:
        self._rate = require_bandwidth(bandwidth, task.period)
        self._saturated_input = SaturatedInput(limit, task)
        self._dofs, self._rank_tolerance = task.robot.dofs, float(task.rank.passive)
        self._unit = force_unit(task.robot.structure.dof_units)
        self._estimate = np.zeros(task.robot.nv)  # the last one: between ticks it stays
        self.memory = self.begin(task.robot.snapshot(task.q, task.v, task.start))

    def memory_steps(
        self, dynamics: Dynamics, memory: Vector, u: Vector, rate: Vector
    ) -> Iterator[KernelStep]:
        d, a = dynamics, np.zeros(len(memory))
        u_sat, steps = self._saturated_input.steps(d.snapshot, u)
        yield from steps
        yield BoundKernel(block_diagonal.apply_input_blockwise, d.ties, d.a_free, d.G, u_sat, a)
        yield from self._rate_steps(d, memory, a, rate)

    @abc.abstractmethod
    def _rate_steps(
        self, dynamics: Dynamics, memory: Vector, a: Vector, rate: Vector
    ) -> Iterator[KernelStep]:
        """Yield what writes the memory's rate for the believed acceleration that is there then."""

    def signals(self, dynamics: Dynamics, memory: Vector) -> Mapping[str, Signal]:
        """Return the estimate as a generalised force."""
        words = "estimate of the force that the believed robot does not explain"
        return {
            "disturbance_hat": Signal(
                self._generalised_force(dynamics), self._unit, words, self._dofs
            )
        }

    @abc.abstractmethod
    def _generalised_force(self, dynamics: Dynamics) -> Vector:
        """Return the last estimate as a generalised force, shape ``(nv,)``."""


@final
class _BoundMomentumObserver(_BoundLowPassObserver):
    def begin(self, snapshot: Snapshot) -> Vector:
        momentum: Vector = snapshot.M @ snapshot.v
        return momentum

    def steps(self, dynamics: Dynamics, memory: Vector, delta: Vector) -> Iterator[KernelStep]:
        d, s = dynamics, dynamics.snapshot
        yield BoundKernel(momentum_residual, self._rate, d.ties, s.M, s.v, memory, self._estimate)
        yield BoundKernel(
            force_acceleration, d.L, d.passive.rows.A, self._rank_tolerance, self._estimate, delta
        )

    def _rate_steps(
        self, dynamics: Dynamics, memory: Vector, a: Vector, rate: Vector
    ) -> Iterator[KernelStep]:
        s, turned = dynamics.snapshot, np.zeros(len(memory))
        yield from s.momentum_drift_steps(turned)
        args = self._rate, dynamics.ties, s.M, s.v, memory
        yield BoundKernel(momentum_observer_rate, *args, a, turned, rate)

    def _generalised_force(self, dynamics: Dynamics) -> Vector:
        return self._estimate


@final
class _BoundAccelerationObserver(_BoundLowPassObserver):
    def begin(self, snapshot: Snapshot) -> Vector:
        return snapshot.v.copy()

    def steps(self, dynamics: Dynamics, memory: Vector, delta: Vector) -> Iterator[KernelStep]:
        yield BoundKernel(low_pass_residual, self._rate, dynamics.snapshot.v, memory, delta)
        yield BoundKernel(copy_into, delta, self._estimate)

    def _rate_steps(
        self, dynamics: Dynamics, memory: Vector, a: Vector, rate: Vector
    ) -> Iterator[KernelStep]:
        yield BoundKernel(low_pass_residual, self._rate, dynamics.snapshot.v, memory, rate)
        yield BoundKernel(accumulate, a, rate)

    def _generalised_force(self, dynamics: Dynamics) -> Vector:
        force: Vector = dynamics.snapshot.M @ self._estimate
        return force


def force_unit(units: tuple[str, ...]) -> str:
    """Return the unit of forces along velocities of these units."""
    forces = {"N" if unit == "m/s" else "N m" for unit in units}
    return forces.pop() if len(forces) == 1 else "N m or N"


@compiled
def clip_to_limits(u: Vector, low: Vector, high: Vector, u_sat: Vector) -> None:
    """Write an input within limits."""
    for k in range(len(u)):
        u_sat[k] = min(max(u[k], low[k]), high[k])


@compiled
def low_pass_residual(rate: float, y: Vector, memory: Vector, estimate: Vector) -> None:
    """Write ``rate (y - memory)``."""
    for i in range(len(y)):
        estimate[i] = rate * (y[i] - memory[i])


@compiled
def accumulate(x: Vector, total: Vector) -> None:
    """Add a vector to another."""
    for i in range(len(x)):
        total[i] += x[i]


@compiled
def momentum_residual(
    rate: float, ties: Indices, M: Matrix, v: Vector, memory: Vector, force: Vector
) -> None:
    """Write ``K (M v - z)``."""
    for i in range(len(v)):
        force[i] = rate * block_diagonal.block_momentum_entry(-memory[i], ties, M, v, i)


@compiled
def momentum_observer_rate(
    rate: float,
    ties: Indices,
    M: Matrix,
    v: Vector,
    memory: Vector,
    a: Vector,
    turned: Vector,
    total: Vector,
) -> None:
    r"""Write $M a + \dot M v + K (M v - z)$."""
    for i in range(len(v)):
        # the momentum by itself would have M differentiated: its drift is by kernel
        lag = block_diagonal.block_momentum_entry(-memory[i], ties, M, v, i)
        total[i] = block_diagonal.block_momentum_entry(turned[i], ties, M, a, i) + rate * lag


@allocating
def force_acceleration(L: Matrix, A_p: Matrix, lost: float, force: Vector, x: Vector) -> None:
    """Write the acceleration that a force adds under the passive rows, ``W force``."""
    copy_into(force, x)
    solve_lower(L, x)
    # without passive rows W is M^-1, by the factor that is there
    if len(A_p) > 0:
        columns, right = mass_weighted_unit_columns(L, A_p, np.zeros((1, len(A_p))))
        remove_constrained(row_space(columns.T.copy(), right, lost), x)
    solve_upper(L, x)
