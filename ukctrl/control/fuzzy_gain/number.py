"""Fuzzy numbers with straight sides, and what a function is worth on average over one."""

from __future__ import annotations

import dataclasses as dc
import math
from typing import final

from ukctrl.core.errors import InputError
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
        values = [parse_value(part.strip()) for part in text.split(":")]
        numbers = [float(v) for v in values if isinstance(v, int | float) and type(v) is not bool]
        if len(numbers) != len(values) or len(values) not in (1, 3, 4):
            raise InputError(
                "a fuzzy number must be LOW:PEAK:HIGH, LOW:LEFT:RIGHT:HIGH or one number, such as "
                f"0:0.3:1; got '{text}'."
            )
        if len(numbers) == 1:
            return Fuzzy.crisp(numbers[0])
        return Fuzzy(numbers[0], numbers[1], numbers[-2], numbers[-1])

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
        if weight <= 1e-12 * max(abs(self.low), abs(self.high)):
            return float((0.5 * (self.left + self.right)) ** power)
        upper = _straight(self.high, self.right, power + 1)
        lower = _straight(self.low, self.left, power + 1)
        return (upper - lower) / ((power + 1) * weight)


def _straight(a: float, b: float, power: int) -> float:
    r"""Return $\int_0^1 (a + \alpha(b - a))^n d\alpha$, without dividing by $b - a$."""
    return math.fsum(a ** (power - k) * b**k for k in range(power + 1)) / (power + 1)
