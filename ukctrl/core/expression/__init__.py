"""Formulas in text: a small safe language, its units, its exact derivatives, its compiled form.

Files hold formulas such as ``"30*deg"`` or ``"q1 + q2 + q3"``. They are read by a whitelist
(``syntax``), never by ``eval`` or ``sympify``; evaluated at once when they are constant
(``units``); else turned into sympy expressions (``symbolic``), differentiated (``rows``) and
compiled to plain Python arithmetic (``codegen``). sympy is imported on first use.
"""

from ukctrl.core.expression.codegen import DomainError, compile_function
from ukctrl.core.expression.lagrange import Motion, derive_motion
from ukctrl.core.expression.rows import DerivedRows, derive_rows
from ukctrl.core.expression.symbolic import Vocabulary, check, parse
from ukctrl.core.expression.syntax import FUNCTIONS
from ukctrl.core.expression.units import UNITS, constant

__all__ = [
    "FUNCTIONS",
    "UNITS",
    "DerivedRows",
    "DomainError",
    "Motion",
    "Vocabulary",
    "check",
    "compile_function",
    "constant",
    "derive_motion",
    "derive_rows",
    "parse",
]
