"""The gain that is best on average over a fuzzy uncertainty, in closed form.

Not a rule base: the law is an ordinary one with a guarantee, and only what is *expected* of it is
taken over a fuzzy number that says how large the uncertainty may be.
"""

from __future__ import annotations

import dataclasses as dc
import math
from collections.abc import Sequence
from typing import Any, final

import numpy as np

from ukctrl.control.feedback.chen_robust import ChenRobust
from ukctrl.core.arrays import Array
from ukctrl.core.errors import InputError, unknown_name
from ukctrl.core.files.table_paths import parse_value


@final
@dc.dataclass(frozen=True)
class Fuzzy:
    r"""A number that is known to be about so large: a trapezoid of membership $\mu$.

    Membership rises from 0 at ``low`` to 1 at ``left``, stays there up to ``right``, and falls to 0
    at ``high``. A triangle has ``left = right``, a crisp number all four the same.

    Raises:
        InputError: The four do not go up, or are not finite.
    """

    low: float
    left: float
    right: float
    high: float

    def __post_init__(self) -> None:
        if not (
            math.isfinite(self.low)
            and math.isfinite(self.high)
            and self.low <= self.left <= self.right <= self.high
        ):
            raise InputError(f"a fuzzy number must go up, as 0:0.3:1; got {self}.")

    @staticmethod
    def parse(text: str) -> Fuzzy:
        """Read ``LOW:PEAK:HIGH``, ``LOW:LEFT:RIGHT:HIGH``, or a crisp number.

        Raises:
            InputError: It is no such text.
        """
        values = [parse_value(field.strip()) for field in text.split(":")]
        numbers = [float(v) for v in values if isinstance(v, int | float) and type(v) is not bool]
        if len(numbers) != len(values) or len(values) not in (1, 3, 4):
            raise InputError(
                "a fuzzy number must be LOW:PEAK:HIGH, LOW:LEFT:RIGHT:HIGH or one number, such as "
                f"0:0.3:1; got '{text}'."
            )
        edges = numbers if len(numbers) > 1 else 3 * numbers
        return Fuzzy(edges[0], edges[1], edges[-2], edges[-1])

    @staticmethod
    def crisp(value: float) -> Fuzzy:
        """Return a number without any doubt."""
        return Fuzzy(value, value, value, value)

    def __str__(self) -> str:
        return f"{self.low:g}:{self.left:g}:{self.right:g}:{self.high:g}"

    def membership(self, value: float) -> float:
        r"""Return $\mu$ of a value, from 0 to 1."""
        if not self.low <= value <= self.high:
            return 0.0
        if value < self.left:
            return (value - self.low) / (self.left - self.low)
        if value > self.right:
            return (self.high - value) / (self.high - self.right)
        return 1.0

    def cut(self, level: float) -> tuple[float, float]:
        r"""Return the $\alpha$-cut: the interval in which the membership is at least the level."""
        return (
            self.low + level * (self.left - self.low),
            self.high - level * (self.high - self.right),
        )

    def average(self, power: int) -> float:
        r"""Return the $D$-operation of a power, what $\nu^n$ is worth on average.

        $$ D[\nu^n] = \frac{\int \nu^n \mu(\nu)\,d\nu}{\int \mu(\nu)\,d\nu}
           = \frac{\int_0^1 \int_{N_\alpha} \nu^n \,d\nu\,d\alpha}{\int_0^1 |N_\alpha|\,d\alpha} $$

        in closed form: the inner integral is $(r(\alpha)^{n+1} - l(\alpha)^{n+1})/(n+1)$, and the
        ends $l$ and $r$ of the cuts are straight in $\alpha$. Of a crisp number it is the power.

        References:
            Chen, "Performance analysis of controlled uncertain systems", Dyn. Control 6, 1996.
        """
        weight = 0.5 * (self.high - self.low + self.right - self.left)
        # a crisp number has no area to divide by: its moment is its power
        if weight <= 1e-12 * max(abs(self.low), abs(self.high)):
            return float((0.5 * (self.left + self.right)) ** power)
        upper = _integral_of_power(self.high, self.right, power + 1)
        lower = _integral_of_power(self.low, self.left, power + 1)
        return (upper - lower) / ((power + 1) * weight)


def _integral_of_power(a: float, b: float, power: int) -> float:
    r"""Return $\int_0^1 (a + \alpha(b - a))^n d\alpha$, without dividing by $b - a$."""
    return math.fsum(a ** (power - k) * b**k for k in range(power + 1)) / (power + 1)


def positive_root(p: float, q: float) -> float:
    r"""Return the one positive root of $\kappa^4 - p\kappa - q$, for $p, q \ge 0$, not both zero.

    Its coefficients change their sign once, so by Descartes' rule there is exactly one. Ferrari:
    with the positive root $y$ of the resolvent $y^3 + qy - p^2/8$ the quartic is a difference of
    squares, $(\kappa^2 + y)^2 = \bigl(\sqrt{2y}\,\kappa + p/2\sqrt{2y}\bigr)^2$, and so

    $$ \kappa = \tfrac12\Bigl(\sqrt{2y} + \sqrt{2p/\sqrt{2y} - 2y}\Bigr), \qquad
       y = \sqrt[3]{\tfrac{p^2}{16} + s} + \sqrt[3]{\tfrac{p^2}{16} - s}, \quad
       s = \sqrt{\tfrac{p^4}{256} + \tfrac{q^3}{27}} . $$

    A step of Newton's takes away the rounding of the differences.
    """
    # the quartic is pure then, and the resolvent below would divide by its root y = 0
    if p == 0.0:
        return math.pow(q, 0.25)
    # Both scaled to a root near 1, so that no power of them is too large or too small.
    size = max(math.cbrt(p), math.pow(q, 0.25))
    p, q = p / size**3, q / size**4
    half = p * p / 16.0
    s = math.sqrt(half * half + q**3 / 27.0)
    y = math.cbrt(half + s) + math.cbrt(half - s)
    y -= (y**3 + q * y - 2.0 * half) / (3.0 * y * y + q)
    root = math.sqrt(2.0 * y)
    kappa = 0.5 * (root + math.sqrt(max(0.0, 2.0 * p / root - 2.0 * y)))
    for _ in range(2):
        kappa -= (kappa**4 - p * kappa - q) / (4.0 * kappa**3 - p)
    return size * kappa


@final
@dc.dataclass(frozen=True, kw_only=True)
class FuzzyGainCost:
    r"""The average cost of a gain $\kappa$, and its minimum.

    $$ J(\kappa) = \frac{a}{\kappa} + \frac{b}{\kappa} + \frac{c}{\kappa^2} + \beta\kappa^2 $$

    with the transient $a/\kappa$, the steady part $b/\kappa + c/\kappa^2$, and the effort.
    """

    transient_weight: float
    """$a$."""
    layer_weight: float
    """$b$, of the law with its boundary layer."""
    linear_weight: float
    """$c$, of the law without: ``rho = 0``."""
    price: float
    r"""$\beta$, what the square of a gain costs [error^2 s^3]."""

    def gain_grid(self, points: int = 81) -> Array:
        """Return gains from a hundredth of the best to a hundred times that, in even ratios."""
        return np.asarray(self.kappa * np.logspace(-2.0, 2.0, points))

    @property
    def kappa(self) -> float:
        r"""The gain at the minimum [1/s].

        $J' = 0$ is $\kappa^4 - p\kappa - q = 0$ with $p = (a + b)/2\beta$ and $q = c/\beta$, which
        has one positive root, and $J$ is strictly convex for $\kappa > 0$: it is the minimum.
        """
        p = (self.transient_weight + self.layer_weight) / (2.0 * self.price)
        return positive_root(p, self.linear_weight / self.price)

    def cost_terms(self, kappa: float | Array) -> tuple[Any, Any, Any]:
        """Return the transient, the steady part and the effort of a gain [error^2 s]."""
        return (
            self.transient_weight / kappa,
            self.layer_weight / kappa + self.linear_weight / kappa**2,
            self.price * kappa**2,
        )

    def cost(self, kappa: float | Array) -> Any:
        """Return $J$ of a gain, or of several [error^2 s]."""
        return sum(self.cost_terms(kappa))

    def price_table(self, prices: Sequence[float]) -> list[dict[str, float]]:
        """Return the optimal gain and the parts of its cost for several prices, one a line."""
        lines = []
        for price in prices:
            priced = dc.replace(self, price=price)
            transient, steady, effort = priced.cost_terms(priced.kappa)
            lines.append(
                {
                    "price": price,
                    "kappa": priced.kappa,
                    "cost": transient + steady + effort,
                    "transient": transient,
                    "steady": steady,
                    "effort": effort,
                }
            )
        return lines


def fuzzy_gain(
    law: ChenRobust, *, start: Fuzzy, uncertainty: Fuzzy, horizon: float, price: float
) -> FuzzyGainCost:
    r"""Return what gains of the robust law cost on average over a fuzzy uncertainty.

    With $g = 1 - e$, where $e$ is the law's ``mismatch``, it guarantees

    $$ |z|^2 \le z_0^2\,e^{-2g\kappa t} + \frac{\epsilon\zeta^2}{4\kappa} \quad\text{or}\quad
       |z|^2 \le z_0^2\,e^{-g\kappa t} + \frac{\zeta^2}{g^2\kappa^2} : $$

    the first with the boundary layer, where the uncertainty is the share $\zeta \le 1$ of ``rho``;
    the second with ``rho = 0``, where it is $\zeta$ itself. The cost is the average of the integral
    of that bound over the horizon $T$, its decay for ever, plus $\beta\kappa^2$.

    Args:
        law: Whose ``epsilon``, ``mismatch`` and ``rho`` count; its ``kappa`` does not.
        start: $z_0$, about how large $|z|$ is at the start [weighed unit of the rows per s].
        uncertainty: $\zeta$, about how large the uncertainty is: a share of ``rho``, or where
            ``rho`` is zero the size itself [weighed unit of the rows per s^2].
        horizon: $T$, how long the steady error counts [s].
        price: $\beta$, what the square of a gain costs [error^2 s^3].

    Raises:
        InputError: A number is negative, a share is above 1, or there is nothing to weigh against
            the effort.
    """
    for name, value in (("horizon", horizon), ("price", price)):
        if not (math.isfinite(value) and value >= 0.0) or (name == "price" and value == 0.0):
            bound = "positive" if name == "price" else "zero or above"
            raise InputError(f"{name} must be {bound}; got {value:g}.")
    for name, number in (("start", start), ("uncertainty", uncertainty)):
        if number.low < 0.0:
            raise InputError(f"{name} is a size and must not be negative; got {number}.")
    layered = any(law.rho)
    if layered and uncertainty.high > 1.0:
        raise InputError(
            "uncertainty must be a share of rho, up to 1, so that the law's promise holds; got "
            f"{uncertainty}. Enlarge rho, or set it to zero to give the size itself."
        )
    grip = 1.0 - law.mismatch
    start_square, size = start.average(2), uncertainty.average(2)
    choice = FuzzyGainCost(
        transient_weight=start_square / (2.0 * grip) if layered else start_square / grip,
        layer_weight=0.25 * horizon * law.epsilon * size if layered else 0.0,
        linear_weight=0.0 if layered else horizon * size / grip**2,
        price=price,
    )
    if not choice.kappa > 0.0:
        raise InputError("start or uncertainty must be above zero, or every gain is too large.")
    return choice


FUZZY_KEYS = ("start", "uncertainty", "horizon", "price")


def read_fuzzy_gain(text: str, law: ChenRobust) -> FuzzyGainCost:
    """Read ``start=0:0.1:0.3, uncertainty=0:0.3:1, horizon=10, price=1e-6`` for a law.

    Raises:
        InputError: It is no such text, or `fuzzy_gain` refuses it.
    """
    fields: dict[str, str] = {}
    for field in text.split(","):
        name, equals, value = (piece.strip() for piece in field.partition("="))
        if name not in FUZZY_KEYS:
            raise unknown_name("key of --fuzzy", name, FUZZY_KEYS)
        if not equals or not value or name in fields:
            raise InputError(f"--fuzzy must give '{name}' once, as {name}=VALUE; got '{text}'.")
        fields[name] = value
    missing = [name for name in FUZZY_KEYS if name not in fields]
    if missing:
        raise InputError(
            f"--fuzzy must give {', '.join(FUZZY_KEYS)}; '{missing[0]}' is missing. Such as "
            '"start=0:0.1:0.3, uncertainty=0:0.3:1, horizon=10, price=1e-6".'
        )
    return fuzzy_gain(
        law,
        start=Fuzzy.parse(fields["start"]),
        uncertainty=Fuzzy.parse(fields["uncertainty"]),
        horizon=_read_number("horizon", fields["horizon"]),
        price=_read_number("price", fields["price"]),
    )


def _read_number(name: str, text: str) -> float:
    value = parse_value(text)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InputError(f"--fuzzy: {name} must be a number; got '{text}'.")
    return float(value)
