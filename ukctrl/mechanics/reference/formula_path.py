"""A path written as formulas of time."""

from __future__ import annotations

import functools
from typing import Annotated, Literal, Self

import numpy as np
from pydantic import model_validator

from ukctrl.core.errors import ExpressionError, InputError
from ukctrl.core.expression.codegen import compile_function
from ukctrl.core.expression.compiled_formula import CompiledFormula as Compiled
from ukctrl.core.expression.formula_cache import cached_formula
from ukctrl.core.expression.symbolic import check_names, parse
from ukctrl.core.fields import Formula, ListSize, spec
from ukctrl.mechanics.reference.reference import Path, SmoothReference
from ukctrl.mechanics.reference.taylor import Series, factorials

MAX_COMPONENTS = 100
"""Most components of one path."""


@spec
class Expression(SmoothReference):
    """Formulas of the time ``t`` [s], differentiated exactly; none in the language has corners."""

    kind: Literal["expression"] = "expression"
    x: Formula | None = None
    """First component of a path in space [m]; comes with ``y`` and ``z``."""
    y: Formula | None = None
    """Second component [m]."""
    z: Formula | None = None
    """Third component [m]."""
    components: Annotated[tuple[Formula, ...], ListSize(1, MAX_COMPONENTS)] | None = None
    """Any number of components [m or rad], instead of ``x``, ``y`` and ``z``."""

    @model_validator(mode="after")
    def _names_known(self) -> Self:
        flags = [text is not None for text in (self.x, self.y, self.z)]
        if any(flags) == (self.components is not None) or any(flags) != all(flags):
            raise InputError("must have either x, y and z, or components.")
        names = "xyz" if self.components is None else range(len(self.components))
        for name, text in zip(names, self._texts, strict=True):
            try:
                check_names(text, ["t"])
            except ExpressionError as error:
                where = name if isinstance(name, str) else f"components[{name}]"
                raise InputError(f"{where}: {error}") from None
        return self

    @property
    def _texts(self) -> tuple[str, ...]:
        return self.components or tuple(text for text in (self.x, self.y, self.z) if text)

    @property
    def size(self) -> int:
        return len(self._texts)

    def compile(self) -> Path:
        """Return the flat function of time.

        Raises:
            ExpressionError: A formula cannot be differentiated.
        """
        return _compiled(self._texts, 2)

    def series(self, t: float, order: int) -> Series:
        """Return the Taylor coefficients about an instant [s], shape (order + 1, size).

        Raises:
            ExpressionError: A formula cannot be differentiated so often.
        """
        flat = np.array(_compiled(self._texts, order)(float(t)))
        return flat.reshape(order + 1, self.size) / factorials(order)[:, None]


@functools.lru_cache(maxsize=128)  # a study compiles the same path for every run
def _compiled(texts: tuple[str, ...], order: int) -> Path:
    return cached_formula(("path", texts, order), lambda: _derived(texts, order))


def _derived(texts: tuple[str, ...], order: int) -> Compiled:
    import sympy

    time = sympy.Symbol("t")
    rows = [[parse(text, ["t"]) for text in texts]]
    for _ in range(order):
        rows.append([component.diff(time) for component in rows[-1]])
    flat = [component for row in rows for component in row]
    return compile_function(flat, ["t"], label="; ".join(texts))
