r"""Udwadia and Wanichanon's generalised sliding surface: errors stay in a box."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Annotated, ClassVar, Literal, NamedTuple, final

import numpy as np

from ukctrl.control.error_dynamics_spec import ErrorSpec
from ukctrl.control.feedback.feedback import (
    ErrorBound,
    Feedback,
    FeedbackBuffers,
    ModelFeedback,
    NonNegativePerRow,
    PositivePerRow,
    RateGain,
    StiffnessGain,
    row_gains,
)
from ukctrl.control.feedback.odd_functions import AnyOddFunction, OddFunction, Tanh
from ukctrl.control.feedback.sliding_surface import require_small_mismatch
from ukctrl.core.arrays import Flags, Matrix, Vector
from ukctrl.core.compiled import compiled
from ukctrl.core.errors import GainError
from ukctrl.core.fields import Fraction, Instance, Rate, spec
from ukctrl.core.program import BoundKernel, KernelStep
from ukctrl.core.tie_breaking import first_largest, max_abs
from ukctrl.mechanics.constraints import Rows, Stack
from ukctrl.mechanics.dynamics import Dynamics


class RowErrorState(NamedTuple):
    """An error of all rows at one time; of a nonholonomic row ``phi`` is zero."""

    phi: Vector
    beta: Vector
    beta_rate: Vector
    """Time derivative of ``beta``."""


@final
class NominalError:
    r"""The solution of $\ddot\phi + \alpha\dot\phi + \beta\phi = 0$, row by row.

    Of a nonholonomic row that of $\dot\psi + \alpha\psi = 0$, which is the same equation with
    $\beta = 0$ and $\psi = \dot\phi$.
    """

    def __init__(self, alpha: Vector, beta: Vector, holonomic: Flags) -> None:
        self.coefficients = np.array([alpha, np.where(holonomic, beta, 0.0)])
        """Damping and stiffness, shape ``(2, m)``."""
        self.holonomic = holonomic

    def evaluate(self, t: float, phi: Vector, beta: Vector) -> RowErrorState:
        """Return the error ``t`` seconds after it was ``phi`` with the velocity ``beta``."""
        error = RowErrorState(*np.zeros((3, len(phi))))
        start = np.concatenate(([0.0], phi, beta))
        write_nominal_error(self.coefficients, self.holonomic, t, start, error)
        return error


@compiled
def write_nominal_error(
    equation: Matrix, holonomic: Flags, t: float, start: Vector, error: RowErrorState
) -> None:
    """Write the nominal error at a time, after a start: its time, ``phi`` and ``beta``."""
    t -= start[0]
    m = len(holonomic)
    for i in range(m):
        half, stiffness = 0.5 * equation[0, i], equation[1, i]
        phi, beta = start[1 + i], start[1 + m + i]
        # S and C start as (0, 1) and (1, 0); S stays accurate where the roots meet.
        square = half * half - stiffness
        apart = np.sqrt(abs(square))
        # real roots, a double one included; below the complex ones, with the same S and C
        if square >= 0.0:
            fast = half + apart
            slow = stiffness / fast if fast > 0.0 else 0.0
            decay = math.exp(-slow * t)
            S = decay * (t if apart * t < 1e-8 else -math.expm1(-2.0 * apart * t) / (2.0 * apart))
            C, S_rate = decay + slow * S, math.exp(-fast * t) - slow * S
        else:
            decay = math.exp(-half * t)
            S = decay * (t if apart * t < 1e-8 else np.sin(apart * t) / apart)
            C, S_rate = decay * np.cos(apart * t) + half * S, decay * np.cos(apart * t) - half * S
        position, moving = phi * C + beta * S, beta * S_rate - phi * stiffness * S
        error.phi[i] = position if holonomic[i] else 0.0
        error.beta[i] = moving
        error.beta_rate[i] = -equation[0, i] * moving - stiffness * position


GAIN_RTOL = 1e-9
"""A gain that falls short of the needed one by less than this, relatively, is rounded."""


@spec
class Sliding(Feedback):
    r"""An additional push that keeps the real motion near the nominal one, in an error box.

    The nominal error $\phi_n$ is what the believed model makes of the error at the start,
    $\ddot\phi_n + \alpha\dot\phi_n + \beta\phi_n = 0$. With $e = \phi - \phi_n$,
    $s = \dot e + \lambda e$ and $\sigma_i = \lambda \cdot \mathrm{box}_i$ the rows are asked for

    $$ b + \ddot\phi_n - \lambda\dot e - \gamma\,\sigma f(s/\sigma) $$

    with an odd function $f$, $f(1) = 1$. If the wrong model leaves at most $\eta_i$ of the nominal
    demand in each row, and spoils the grip of the motors by at most $\mu$ (largest row sum, rows
    in units of $\sigma$), then $|e_i| \le r\,\mathrm{box}_i$ for ever, where $r$ solves

    $$ \gamma (1-\mu) f(r) = \max_i \eta_i/\sigma_i + 2 \mu \lambda r . $$

    So the box is kept, $r \le 1$, by every gain of at least
    $\gamma = (\max_i \eta_i/\sigma_i + 2\mu\lambda)/(1-\mu)$. A nonholonomic row has
    $s = \psi - \psi_n$ and $\sigma = \mathrm{box}$.

    References:
        Udwadia & Wanichanon, "Control of uncertain nonlinear multibody mechanical systems", J.
        Appl. Mech. 81, 041020, 2014; for robots: Wang, Mei, Ma, Mech. Sci. 15, 55-62, 2024.
    """

    kind: Literal["sliding"] = "sliding"
    assumed: ClassVar[tuple[str, ...]] = ("box", "uncertainty", "mismatch", "function")
    told: ClassVar[tuple[str, ...]] = ("uncertainty", "mismatch")
    alpha: RateGain
    r"""Nominal gain of the velocity error $\alpha$ [1/s]."""
    beta: StiffnessGain
    r"""Nominal gain of the position error $\beta$ [1/s^2]."""
    rate: Rate
    r"""$\lambda$, the decay of $e$ once $s$ is zero [1/s]."""
    box: PositivePerRow
    """Half width of the error box [unit of phi; of beta on a nonholonomic row]."""
    uncertainty: NonNegativePerRow
    r"""Bound $\eta$ of the row acceleration that the wrong model leaves of the nominal demand
    [unit of the row per s^2]."""
    mismatch: Fraction = 0.0
    r"""$\mu$, how much of a demand's effect the wrong model may change; below 1."""
    gain: Rate | None = None
    r"""$\gamma$, the push at the edge of the box [1/s]; absent: the least that keeps the box."""
    function: AnyOddFunction | Annotated[OddFunction, Instance()] = Tanh()
    """How the push grows with the error."""

    def attach(self, stack: Stack) -> ModelFeedback:
        return BoundSliding(self, stack)

    def gains_for(self, terms: ErrorSpec) -> Mapping[str, float] | None:
        r"""Return gains for the errors near the nominal one; None below a damping of 1.

        There $s$ decays with $\gamma f'(0)$ and $e$ with $\lambda$. Both the nominal error and what
        is left of it get the same poles. A box too narrow for the push that follows is refused.
        """
        # near zero the law is linear, with the function's slope: its poles follow from that
        pair, slope = terms.real_pair(), self.function.slope()
        if pair is None or slope == 0.0:
            return None
        stiffness, damping = terms.second_order()
        return {"alpha": damping, "beta": stiffness, "rate": pair[0], "gain": pair[1] / slope}


@final
class BoundSliding(ModelFeedback):
    """The sliding law on the rows of a task.

    Its memory is the start, as constants: time, position errors and velocity errors.

    Attributes:
        needed: The least gain that keeps the box [1/s].
        gain: The gain in use [1/s].
        promised: Fraction of the box that errors stay within.
    """

    changes_rows = False

    def __init__(self, spec: Sliding, stack: Stack) -> None:
        require_small_mismatch(spec.mismatch)
        if stack.holonomic.any() and spec.rate == 0.0:
            raise GainError(
                "rate must be positive for a box on position errors; got 0. Choose how fast an "
                "error in the box should decay, such as 20 1/s."
            )
        box = row_gains(spec.box, stack, "box")
        self._holonomic, self._box = stack.holonomic, box
        # a row on velocities has no position to bring back
        self._rate: Vector = np.where(stack.holonomic, spec.rate, 0.0)
        self._sigma: Vector = np.where(stack.holonomic, spec.rate * box, box)
        self._function = spec.function
        alpha, beta = row_gains(spec.alpha, stack, "alpha"), row_gains(spec.beta, stack, "beta")
        self._equation = NominalError(alpha, beta, stack.holonomic).coefficients
        drive = row_gains(spec.uncertainty, stack, "uncertainty") / self._sigma
        worst = first_largest(drive)
        self._uncertainty_rate, self._mismatch = float(drive.max()), spec.mismatch
        self._largest_rate = float(self._rate.max())
        self.needed = (self._uncertainty_rate + 2.0 * spec.mismatch * self._largest_rate) / (
            1.0 - spec.mismatch
        )
        self.gain = self.needed if spec.gain is None else spec.gain
        # a gain given as exactly the least one may be below it by rounding
        if not self.gain >= (1.0 - GAIN_RTOL) * self.needed:
            raise GainError(
                f"gain must be at least {self.needed:.6g} 1/s to keep the box against this "
                f"uncertainty, which presses most on row '{stack.names[worst]}'; got "
                f"{self.gain:g} 1/s. Raise the gain, widen the box, or leave the gain out."
            )
        self.promised = self._solve_box_fraction()
        self.names, self.units = stack.names, ("1", "1")

    def _solve_box_fraction(self) -> float:
        """Return the least fraction of the box at which the push outweighs the uncertainty."""
        low, high = 0.0, 1.0
        # each halves the interval: 60 leave no digit of a double
        for _ in range(60):
            r = 0.5 * (low + high)
            push = self.gain * (1.0 - self._mismatch) * float(self._function(np.array([r]))[0])
            if push >= self._uncertainty_rate + 2.0 * self._mismatch * self._largest_rate * r:
                high = r
            else:
                low = r
        return high

    def begin(self, t: float, rows: Rows) -> Vector:
        return np.concatenate(([t], np.where(self._holonomic, rows.phi, 0.0), rows.beta))

    def steps(
        self, rows: Rows, memory: Vector, dynamics: Dynamics, buffers: FeedbackBuffers
    ) -> Iterable[KernelStep]:
        nominal, off, push = *self._new_errors(), np.zeros(len(self._box))
        yield BoundKernel(
            write_nominal_deviation,
            *self._deviation_arguments(rows, memory),
            dynamics.snapshot.clock,
            nominal,
            off,
        )
        yield self._function.step(off.z, push)
        args = rows.b, nominal.beta_rate, self._rate, off.beta, self.gain * self._sigma, push
        yield BoundKernel(sliding_demand, *args, buffers.demand)

    def _new_errors(self) -> tuple[RowErrorState, NominalDeviation]:
        workspace = np.zeros((6, len(self._box)))
        return RowErrorState(*workspace[:3]), NominalDeviation(*workspace[3:])

    def _deviation_arguments(
        self, rows: Rows, memory: Vector
    ) -> tuple[Matrix, Flags, Vector, Vector, Rows, Vector]:
        return self._equation, self._holonomic, self._rate, self._sigma, rows, memory

    def promise(self, t: float, rows: Rows, memory: Vector) -> ErrorBound:
        """Return the worst row's errors as fractions of its box."""
        nominal, off = self._new_errors()
        write_nominal_deviation(
            *self._deviation_arguments(rows, memory), np.array([t]), nominal, off
        )
        return ErrorBound(
            max_abs(off.z), self.promised, max_abs(off.phi / self._box), self.promised
        )


class NominalDeviation(NamedTuple):
    """How far the rows are from their nominal error."""

    phi: Vector
    """Zero of a nonholonomic row."""
    beta: Vector
    z: Vector
    """Error on the surface, as a fraction of the box."""


@compiled
def write_nominal_deviation(
    equation: Matrix,
    holonomic: Flags,
    rate: Vector,
    sigma: Vector,
    rows: Rows,
    start: Vector,
    clock: Vector,
    nominal: RowErrorState,
    off: NominalDeviation,
) -> None:
    """Write the nominal error and the error about it; see `Sliding`."""
    write_nominal_error(equation, holonomic, clock[0], start, nominal)
    for i in range(len(rate)):
        off.phi[i] = rows.phi[i] - nominal.phi[i] if holonomic[i] else 0.0
        off.beta[i] = rows.beta[i] - nominal.beta[i]
        off.z[i] = (off.beta[i] + rate[i] * off.phi[i]) / sigma[i]


@compiled
def sliding_demand(
    b: Vector,
    bend: Vector,
    rate: Vector,
    e_dot: Vector,
    strength: Vector,
    push: Vector,
    demand: Vector,
) -> None:
    """Write ``b + bend - rate e_dot - strength push``."""
    for i in range(len(demand)):
        demand[i] = b[i] + bend[i] - rate[i] * e_dot[i] - strength[i] * push[i]
