r"""Udwadia and Wanichanon's generalised sliding surface: errors stay in a box.

In place of a sign, which would chatter, it pushes with an odd function. Each is increasing, has
$f(-x) = -f(x)$, and is scaled so that $f(1) = 1$: 1 is the edge of the error box. They differ in
how hard they push inside it and how hard outside.
"""

from __future__ import annotations

import abc
from typing import Annotated, ClassVar, Literal, NamedTuple, final

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from ukctrl.control.feedback.feedback import (
    Ask,
    Feedback,
    ModelFeedback,
    NonNegativePerRow,
    PositivePerRow,
    Promise,
    RateGain,
    StiffnessGain,
    spread,
)
from ukctrl.control.feedback.surface import require_grip
from ukctrl.core.arrays import Vector
from ukctrl.core.errors import GainError
from ukctrl.core.extremes import first_largest, max_abs
from ukctrl.core.fields import Fraction, Instance, Positive, Quantity, Rate, spec
from ukctrl.mechanics.constraints import Rows, Stack
from ukctrl.mechanics.dynamics import Dynamics


@spec
class OddFunction(abc.ABC):
    """A smooth increasing odd function with ``f(1) = 1``."""

    @abc.abstractmethod
    def __call__(self, x: Vector) -> Vector:
        """Return the values, entry by entry."""


@spec
class Tanh(OddFunction):
    r"""$f(x) = \tanh(x/w) / \tanh(1/w)$: bounded, so the push never exceeds the gain by much."""

    kind: Literal["tanh"] = "tanh"
    width: Positive = 0.3
    """Where it turns, as a fraction of the box."""

    def __call__(self, x: Vector) -> Vector:
        y: Vector = np.tanh(x / self.width) / np.tanh(1.0 / self.width)
        return y


@spec
class Arctan(OddFunction):
    r"""$f(x) = \arctan(x/w) / \arctan(1/w)$: bounded, and still rising outside the box."""

    kind: Literal["arctan"] = "arctan"
    width: Positive = 0.3
    """Where it turns, as a fraction of the box."""

    def __call__(self, x: Vector) -> Vector:
        y: Vector = np.arctan(x / self.width) / np.arctan(1.0 / self.width)
        return y


@spec
class Power(OddFunction):
    r"""$f(x) = x\,|x|^{p-1}$: gentle inside the box, ever harder outside; never saturates."""

    kind: Literal["power"] = "power"
    exponent: Annotated[float, Quantity("1", minimum=1.0)] = 3.0
    """$p$; 1 is a plain linear feedback, 3 a cubic one."""

    def __call__(self, x: Vector) -> Vector:
        y: Vector = np.sign(x) * np.abs(x) ** self.exponent
        return y


@spec
class Sinh(OddFunction):
    r"""$f(x) = \sinh(x/w) / \sinh(1/w)$: linear inside, exponential outside; never saturates."""

    kind: Literal["sinh"] = "sinh"
    width: Annotated[float, Quantity("1", minimum=0.01)] = 0.5
    """Where it turns, as a fraction of the box."""

    def __call__(self, x: Vector) -> Vector:
        far = 700.0 * self.width  # beyond this the exponential is no number any more
        y: Vector = np.sinh(np.clip(x, -far, far) / self.width) / np.sinh(1.0 / self.width)
        return y


AnyOddFunction = Annotated[Tanh | Arctan | Power | Sinh, Field(discriminator="kind")]
"""Any odd function of the catalogue."""


class Error(NamedTuple):
    """An error of all rows at one time; of a nonholonomic row ``phi`` is zero."""

    phi: Vector
    beta: Vector
    rate: Vector
    """Time derivative of ``beta``."""


@final
class NominalError:
    r"""The solution of $\ddot\phi + \alpha\dot\phi + \beta\phi = 0$, row by row.

    Of a nonholonomic row that of $\dot\psi + \alpha\psi = 0$, which is the same equation with
    $\beta = 0$ and $\psi = \dot\phi$.
    """

    def __init__(self, alpha: Vector, beta: Vector, holonomic: NDArray[np.bool_]) -> None:
        self._alpha, self._beta = alpha, np.where(holonomic, beta, 0.0)
        self._holonomic = holonomic
        root = np.sqrt(np.asarray(alpha**2 / 4.0 - self._beta, dtype=np.complex128))
        self._slow, self._apart = -alpha / 2.0 - root, 2.0 * root

    def at(self, t: float, phi: Vector, beta: Vector) -> Error:
        """Return the error ``t`` seconds after it was ``phi`` with the velocity ``beta``."""
        if not (phi.any() or beta.any()):
            return Error(phi, phi, phi)
        # The solutions that start as (0, 1) and (1, 0); S stays accurate where the roots meet.
        first = np.exp(self._slow * t)
        near = np.abs(self._apart) * t < 1e-8
        apart = np.where(near, 1.0, self._apart)
        S = first * np.where(near, t, np.expm1(apart * t) / apart)
        C = first - self._slow * S
        S_rate = self._slow * S + first * np.exp(self._apart * t)
        now: Vector = (phi * C + beta * S).real
        moving: Vector = (beta * S_rate - phi * self._beta * S).real
        rate = -self._alpha * moving - self._beta * now
        return Error(np.where(self._holonomic, now, 0.0), moving, rate)


NEARLY = 1e-9
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


@final
class BoundSliding(ModelFeedback):
    """The sliding law on the rows of a task.

    Its memory is the start, as constants: time, position errors and velocity errors.

    Attributes:
        needed: The least gain that keeps the box [1/s].
        gain: The gain in use [1/s].
        promised: Fraction of the box that errors stay within.
    """

    def __init__(self, spec: Sliding, stack: Stack) -> None:
        require_grip(spec.mismatch)
        if stack.holonomic.any() and spec.rate == 0.0:
            raise GainError(
                "rate must be positive for a box on position errors; got 0. Choose how fast an "
                "error in the box should decay, such as 20 1/s."
            )
        box = spread(spec.box, stack, "box")
        self._holonomic, self._box = stack.holonomic, box
        self._rate: Vector = np.where(stack.holonomic, spec.rate, 0.0)
        self._sigma: Vector = np.where(stack.holonomic, spec.rate * box, box)
        self._function = spec.function
        alpha, beta = spread(spec.alpha, stack, "alpha"), spread(spec.beta, stack, "beta")
        self._nominal = NominalError(alpha, beta, stack.holonomic)
        drive = spread(spec.uncertainty, stack, "uncertainty") / self._sigma
        worst = first_largest(drive)
        self._drive, self._mismatch = float(drive.max()), spec.mismatch
        self._fastest = float(self._rate.max())
        self.needed = (self._drive + 2.0 * spec.mismatch * self._fastest) / (1.0 - spec.mismatch)
        self.gain = self.needed if spec.gain is None else spec.gain
        if not self.gain >= (1.0 - NEARLY) * self.needed:
            raise GainError(
                f"gain must be at least {self.needed:.6g} 1/s to keep the box against this "
                f"uncertainty, which presses most on row '{stack.names[worst]}'; got "
                f"{self.gain:g} 1/s. Raise the gain, widen the box, or leave the gain out."
            )
        self.promised = self._fraction()
        self._still = np.zeros(1 + 2 * len(stack))
        self.names, self.units = stack.names, ("1", "1")

    def _fraction(self) -> float:
        """Return the least fraction of the box at which the push outweighs the uncertainty."""
        low, high = 0.0, 1.0
        for _ in range(60):
            r = 0.5 * (low + high)
            push = self.gain * (1.0 - self._mismatch) * float(self._function(np.array([r]))[0])
            if push >= self._drive + 2.0 * self._mismatch * self._fastest * r:
                high = r
            else:
                low = r
        return high

    def begin(self, t: float, rows: Rows) -> Vector:
        return np.concatenate(([t], np.where(self._holonomic, rows.phi, 0.0), rows.beta))

    def _errors(self, t: float, rows: Rows, memory: Vector) -> tuple[Error, Vector, Vector]:
        """Return the nominal error, the error about it, and its rate; both of the latter (m,)."""
        m = len(self._box)
        nominal = self._nominal.at(t - memory[0], memory[1 : 1 + m], memory[1 + m :])
        position = np.where(self._holonomic, rows.phi - nominal.phi, 0.0)
        return nominal, position, rows.beta - nominal.beta

    def ask(self, rows: Rows, memory: Vector, dynamics: Dynamics) -> Ask:
        nominal, e, e_dot = self._errors(dynamics.snapshot.t, rows, memory)
        z = (e_dot + self._rate * e) / self._sigma
        push = self.gain * self._sigma * self._function(z)
        demand = rows.b + nominal.rate - self._rate * e_dot - push
        return Ask(rows, demand, self._still)

    def promise(self, t: float, rows: Rows, memory: Vector) -> Promise:
        """Return the worst row's errors as fractions of its box."""
        _, e, e_dot = self._errors(t, rows, memory)
        surface = max_abs((e_dot + self._rate * e) / self._sigma)
        position = max_abs(e / self._box)
        return Promise(surface, self.promised, position, self.promised)
