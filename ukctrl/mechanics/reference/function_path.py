r"""A plain function of Python as a path, with the derivatives that it does not give itself.

Where the function computes with anything that adds, multiplies and knows NumPy's functions, it is
given a truncated power series $t + \tau$ for a time, and what it returns has all derivatives,
exactly. A function that takes plain numbers alone (``math.sin``, ``np.interp``) is differentiated
by central differences of order six over $t \pm 3h$, $h$ = 1 ms.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, final

import numpy as np

from ukctrl.core.arguments import argument_error
from ukctrl.core.errors import InputError
from ukctrl.core.expression.compiled_formula import DomainError
from ukctrl.core.message_text import error_text, literal_text
from ukctrl.core.python_function import PythonFunction
from ukctrl.mechanics.reference.reference import Path, Reference
from ukctrl.mechanics.reference.taylor import (
    Series,
    compose,
    factorials,
    product,
    quotient,
    sinusoid,
)

STEP = 1e-3
"""Step of differences [s]: rounding moves an acceleration by some 1e-9 of the path's size, and what
is left out of one of 100 rad/s by 2e-9 of it."""
STENCIL = np.array([[-1.0, 9.0, -45.0, 0.0, 45.0, -9.0, 1.0], [2, -27, 270, -490, 270, -27, 2]])
"""Sixtieths of the first difference, and 180ths of the second."""
PROBES = 0.0, 0.37, 1.41, 10.3
"""Times at which is seen whether a function takes a power series [s]: it may have branches."""


class TaylorNumber:
    """A truncated power series that computes as a number does, and compares by its value."""

    def __init__(self, c: Series) -> None:
        self.c = c

    def _coefficients(self, other: Any) -> Series:
        if isinstance(other, TaylorNumber):
            return other.c
        c = np.zeros(len(self.c))
        c[0] = other  # a TypeError where it is no number
        return c

    def _of(self, outer: Series) -> TaylorNumber:
        """Return a function of it, by the coefficients of that about its value."""
        return TaylorNumber(compose(outer[:, None], self.c)[:, 0])

    def __add__(self, other: Any) -> TaylorNumber:
        return TaylorNumber(self.c + self._coefficients(other))

    def __sub__(self, other: Any) -> TaylorNumber:
        return TaylorNumber(self.c - self._coefficients(other))

    def __rsub__(self, other: Any) -> TaylorNumber:
        return TaylorNumber(self._coefficients(other) - self.c)

    def __mul__(self, other: Any) -> TaylorNumber:
        return TaylorNumber(product(self.c, self._coefficients(other)))

    def __truediv__(self, other: Any) -> TaylorNumber:
        return TaylorNumber(quotient(self.c, self._coefficients(other)))

    def __rtruediv__(self, other: Any) -> TaylorNumber:
        return TaylorNumber(quotient(self._coefficients(other), self.c))

    def __pow__(self, power: Any) -> TaylorNumber:
        if isinstance(power, TaylorNumber):
            exponent = TaylorNumber(product(power.c, self.log().c))
            return exponent.exp()
        if power == int(power) and 0 <= power <= len(self.c):  # also of zero
            coefficients = self._coefficients(1.0)
            for _ in range(int(power)):
                coefficients = product(coefficients, self.c)
            return TaylorNumber(coefficients)
        outer, x = np.zeros(len(self.c)), float(self.c[0])
        for k in range(len(outer)):
            factor = math.prod((power - i) / (i + 1) for i in range(k))
            outer[k] = factor * x ** (power - k) if factor else 0.0
        return self._of(outer)

    def __rpow__(self, base: float) -> TaylorNumber:
        return TaylorNumber(math.log(base) * self.c).exp()

    def __mod__(self, period: float) -> TaylorNumber:
        return self - period * math.floor(float(self.c[0]) / period)

    def __neg__(self) -> TaylorNumber:
        return TaylorNumber(-self.c)

    def __pos__(self) -> TaylorNumber:
        return self

    def __abs__(self) -> TaylorNumber:
        return -self if self.c[0] < 0.0 else self

    def __lt__(self, other: Any) -> bool:
        return bool(self.c[0] < self._coefficients(other)[0])

    def __le__(self, other: Any) -> bool:
        return bool(self.c[0] <= self._coefficients(other)[0])

    def __gt__(self, other: Any) -> bool:
        return not self <= other

    def __ge__(self, other: Any) -> bool:
        return not self < other

    __radd__, __rmul__, __hash__ = __add__, __mul__, None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        return bool(self.c[0] == self._coefficients(other)[0])

    # by these names NumPy's functions ask for what an object is under them

    def sin(self) -> TaylorNumber:
        return self._of(sinusoid(1.0, float(self.c[0]), len(self.c) - 1)[1])

    def cos(self) -> TaylorNumber:
        return self._of(sinusoid(1.0, float(self.c[0]), len(self.c) - 1)[0])

    def tan(self) -> TaylorNumber:
        return self.sin() / self.cos()

    def exp(self) -> TaylorNumber:
        return self._of(math.exp(self.c[0]) / factorials(len(self.c) - 1))

    def log(self) -> TaylorNumber:
        k, x = np.arange(1.0, len(self.c)), float(self.c[0])
        return self._of(np.array([math.log(x), *(-((-1.0 / x) ** k) / k)]))

    def sqrt(self) -> TaylorNumber:
        return self**0.5

    def sinh(self) -> TaylorNumber:
        return (self.exp() - (-self).exp()) * 0.5

    def cosh(self) -> TaylorNumber:
        return (self.exp() + (-self).exp()) * 0.5

    def tanh(self) -> TaylorNumber:
        decayed = (abs(self) * -2.0).exp()
        size = (1.0 - decayed) / (1.0 + decayed)
        return -size if self.c[0] < 0.0 else size


@final
class FunctionPath(Reference):
    """Path that a function of Python gives: time [s] in, ``size`` numbers out.

    Args:
        function: It is asked also a little before the start and after the end.

    Raises:
        InputError: What it returns is no list of numbers.
    """

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self.function = PythonFunction(function)
        self._size = len(self._values(0.0))
        self.exact = all(self._taylor(t, 2) is not None for t in PROBES)
        """Whether its derivatives are those of a power series."""

    def __repr__(self) -> str:
        return repr(self.function)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FunctionPath) and self.function == other.function

    def __hash__(self) -> int:
        return hash(self.function)

    @property
    def size(self) -> int:
        return self._size

    @property
    def smoothness(self) -> float:
        return math.inf if self.exact else 2.0

    @property
    def remark(self) -> str:
        way = "exact, of a power series in time"
        if not self.exact:
            way = (
                f"central differences over {6e3 * STEP:g} ms, as it takes plain numbers alone: "
                "corners are rounded, and accelerations are right to about 1e-9 of its size; for "
                "exact ones write it with NumPy's functions"
            )
        return f"the path is a function of Python; its derivatives are {way}."

    def _values(self, t: Any) -> list[Any]:
        try:
            value = self.function(t)
        except Exception as error:
            if isinstance(t, TaylorNumber):
                raise  # this function takes numbers alone
            raise InputError(f"the path's function failed: {error_text(error)}.") from error
        entries = np.ravel(np.asarray(value, dtype=object)).tolist()
        if not entries or not all(
            isinstance(entry, TaylorNumber | int | float | np.number) for entry in entries
        ):
            raise InputError(
                f"the path's function must return a list of numbers; got {literal_text(value)}."
            )
        return entries

    def _taylor(self, t: float, order: int) -> Series | None:
        """Return the coefficients by a power series; None where it takes only numbers."""
        about = np.zeros(order + 1)
        about[:2] = t, 1.0
        try:
            # numpy says so too where an object is divided by zero
            with np.errstate(all="ignore"):
                entries = self._values(TaylorNumber(about))
        except Exception:  # a function of the user, of what he may not have thought of
            return None
        number = TaylorNumber(about)
        return np.column_stack([number._coefficients(entry) for entry in entries])

    def _differences(self, t: float) -> Series:
        samples = np.array([self._values(t + k * STEP) for k in range(-3, 4)], dtype=np.float64)
        first, second = STENCIL @ samples
        return np.array([samples[3], first / (60.0 * STEP), second / (360.0 * STEP**2)])

    def series(self, t: float, order: int) -> Series:
        coefficients = self._taylor(t, max(order, 1)) if self.exact else None
        if coefficients is None and order > 2:
            return super().series(t, order)  # which says that there are two alone
        return (self._differences(t) if coefficients is None else coefficients)[: order + 1]

    def compile(self) -> Path:
        scale = np.array([[1.0], [1.0], [2.0]])

        def evaluate(t: float) -> tuple[float, ...]:
            flat = (self.series(t, 2) * scale).ravel()
            if not (flat.shape == (3 * self._size,) and np.isfinite(flat).all()):
                raise DomainError(f"the path's function has no finite value at t = {t:g} s.")
            return tuple(flat.tolist())

        return evaluate


def reference_argument(value: Any) -> Any:
    """Return a function of Python as a path, and all else as it is.

    Raises:
        ArgumentError: It is a class.
    """
    if isinstance(value, type):
        raise argument_error("a path", "a path, a table, or a function of time", value)
    is_function = callable(value) and not isinstance(value, Reference)
    return FunctionPath(value) if is_function else value
