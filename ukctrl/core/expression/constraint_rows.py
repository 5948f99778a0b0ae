"""Constraint rows, derived exactly from text: A, b, beta and phi as one compiled function."""

from __future__ import annotations

import dataclasses as dc
import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

from ukctrl.core.errors import ExpressionError, ShapeError, quoted
from ukctrl.core.expression.codegen import compile_function
from ukctrl.core.expression.compiled_formula import CompiledFormula
from ukctrl.core.expression.formula_cache import cached_formula
from ukctrl.core.expression.symbolic import Vocabulary, check_names, parse
from ukctrl.core.expression.syntax import formula_error

if TYPE_CHECKING:
    import sympy

Form = Literal["holonomic", "nonholonomic", "pfaffian"]


@dc.dataclass(frozen=True)
class DerivedRows:
    r"""What a list of formulas says at the level of acceleration.

    For a holonomic $\phi(q, t) = 0$, with $\dot q$ a function of $(q, v)$,

    $$ \beta = \dot\phi, \qquad A = \partial\beta/\partial v, \qquad
       b = -\left(\frac{\partial\beta}{\partial q}\,\dot q
                  + \frac{\partial\beta}{\partial t}\right), $$

    and for a nonholonomic $\psi(q, v, t) = 0$ the same with $\beta = \psi$ and $\phi$ = NaN.
    A Pfaffian form is the $\psi$ that it becomes when divided by $dt$.
    """

    form: Form
    """How the texts were read."""
    texts: tuple[str, ...]
    """The formulas, one for each row."""
    words: Vocabulary
    """What they are about."""
    rates: tuple[str, ...]
    """How the coordinates change."""
    evaluate: CompiledFormula = dc.field(repr=False, compare=False)
    """``evaluate(q, v, t)``: flat A row by row (m nv), then b (m), beta (m) and phi (m)."""

    @property
    def m(self) -> int:
        """Number of rows."""
        return len(self.texts)

    @property
    def phi(self) -> tuple[sympy.Expr, ...]:
        """Symbolic phi (empty unless holonomic)."""
        return tuple(row.phi for row in self._symbolic) if self.form == "holonomic" else ()

    @property
    def beta(self) -> tuple[sympy.Expr, ...]:
        """Symbolic beta."""
        return tuple(row.beta for row in self._symbolic)

    @property
    def A(self) -> tuple[tuple[sympy.Expr, ...], ...]:
        """Symbolic constraint matrix, m rows of nv."""
        return tuple(row.A for row in self._symbolic)

    @property
    def b(self) -> tuple[sympy.Expr, ...]:
        """Symbolic constraint vector."""
        return tuple(row.b for row in self._symbolic)

    @property
    def _symbolic(self) -> Sequence[_SymbolicRow]:
        return _symbolic(self.texts, self.form, self.words, self.rates)


def derive_rows(
    texts: Sequence[str],
    *,
    form: Form,
    coordinates: Sequence[str],
    dofs: Sequence[str],
    rates: Sequence[str],
    constants: Sequence[tuple[str, float]] = (),
) -> DerivedRows:
    """Derive constraint rows from their formulas.

    Args:
        texts: One formula per row, over the coordinates and ``t``; nonholonomic ones also over
            ``v.<dof>``; Pfaffian ones over ``d.<dof>`` and ``d.t``, in which they are linear.
        form: How to read the formulas.
        coordinates: Names of q, (nq).
        dofs: Names of v, (nv).
        rates: q_dot as formulas over the coordinates and ``v.<dof>``, (nq); ``"v.q1"`` for most.
        constants: Names that stand for numbers, and the numbers.

    Raises:
        ExpressionError: A formula is not in the language or not of the form.
        ShapeError: There is not one rate for each coordinate.
    """
    if len(rates) != len(coordinates):
        raise ShapeError(
            f"rates must be {len(coordinates)}, one for each coordinate; got {len(rates)}."
        )
    if not texts:
        raise ExpressionError("must have at least one formula; got none.")
    words = Vocabulary(tuple(coordinates), tuple(dofs), constants=tuple(constants))
    return _derive(tuple(texts), form, words, tuple(rates))


@functools.lru_cache(maxsize=128)  # a study derives the same rows for every run
def _derive(
    texts: tuple[str, ...], form: Form, words: Vocabulary, rates: tuple[str, ...]
) -> DerivedRows:
    def evaluate() -> CompiledFormula:
        rows = _symbolic(texts, form, words, rates)
        phi = [row.phi for row in rows] if form == "holonomic" else []
        return compile_function(
            [e for row in rows for e in row.A] + [row.b for row in rows]
            + [row.beta for row in rows] + phi,
            [words.plain, [f"v.{dof}" for dof in words.velocities], "t"],
            label="; ".join(texts),
            missing=len(texts) - len(phi),
        )  # fmt: skip

    key = ("rows", texts, form, words, rates)
    # with parameters of a plant, each sample of a study would leave a file
    formula = evaluate() if words.constants else cached_formula(key, evaluate)
    return DerivedRows(form, texts, words, rates, formula)


@functools.lru_cache(maxsize=128)
def _symbolic(
    texts: tuple[str, ...], form: Form, words: Vocabulary, rates: tuple[str, ...]
) -> Sequence[_SymbolicRow]:
    motion = _ChainRule(words, rates)
    read_row = {"holonomic": _holonomic, "nonholonomic": _nonholonomic, "pfaffian": _pfaffian}[form]
    return [read_row(text, motion) for text in texts]


class _SymbolicRow(NamedTuple):
    phi: sympy.Expr
    beta: sympy.Expr
    A: tuple[sympy.Expr, ...]
    b: sympy.Expr


class _ChainRule:
    """How the coordinates move: the chain rule along ``q_dot(q, v)``."""

    def __init__(self, words: Vocabulary, rates: tuple[str, ...]) -> None:
        import sympy

        self.words = words
        self.velocities = [sympy.Symbol(f"v.{dof}") for dof in words.velocities]
        self.time = sympy.Symbol("t")
        vocabulary = dc.replace(words, time=False)
        self.rates = {
            sympy.Symbol(name): parse(rate, vocabulary)
            for name, rate in zip(words.plain, rates, strict=True)
        }

        # d q_dot_i / d v_j, and the part of d q_dot_i / dt that does not come from a
        self.rate_gradients = {
            symbol: [rate.diff(velocity) for velocity in self.velocities]
            for symbol, rate in self.rates.items()
        }
        self.rate_drifts = {symbol: self.derivative(rate) for symbol, rate in self.rates.items()}

    def derivative(self, expr: sympy.Expr) -> sympy.Expr:
        """Return the time derivative of an expression at zero acceleration."""
        return self.chained(self.gradient(expr), expr)

    def gradient(self, expr: sympy.Expr) -> dict[sympy.Symbol, sympy.Expr]:
        """Return the derivatives with respect to the coordinates that occur."""
        present = expr.free_symbols
        return {symbol: expr.diff(symbol) for symbol in self.rates if symbol in present}

    def chained(self, gradient: dict[sympy.Symbol, sympy.Expr], expr: sympy.Expr) -> sympy.Expr:
        """Return the time derivative, given the gradient."""
        import sympy

        terms = [partial * self.rates[symbol] for symbol, partial in gradient.items()]
        return sympy.Add(*terms, expr.diff(self.time))


def _holonomic(text: str, motion: _ChainRule) -> _SymbolicRow:
    """Return phi; beta = phi_q q_dot + phi_t; A = phi_q (d q_dot / d v); b = -(d beta / dt)."""
    import sympy

    used = check_names(text, motion.words)
    velocities = sorted(name for name in used if name.startswith("v."))
    if velocities:
        raise formula_error(
            text, f"phi must not contain velocities; it has {quoted(velocities)}. Write it as psi."
        )
    phi = parse(text, dc.replace(motion.words, velocities=()))
    gradient = motion.gradient(phi)
    if not gradient:
        raise formula_error(text, "must contain a coordinate; no motion could change it.")
    partials = list(gradient.items())
    A = tuple(
        sympy.Add(*(partial * motion.rate_gradients[symbol][j] for symbol, partial in partials))
        for j in range(len(motion.velocities))
    )
    # beta is differentiated part by part: the Hessian is symmetric, and shorter than d beta / dq
    phi_t = phi.diff(motion.time)
    drift = [phi_t.diff(motion.time)]
    for index, (symbol, partial) in enumerate(partials):
        rate = motion.rates[symbol]
        drift += [partial * motion.rate_drifts[symbol], partial.diff(symbol) * rate**2]
        drift += [2 * partial.diff(motion.time) * rate]
        for coordinate, _ in partials[:index]:
            drift.append(2 * partial.diff(coordinate) * rate * motion.rates[coordinate])
    return _SymbolicRow(phi, motion.chained(gradient, phi), A, -sympy.Add(*drift))


def _nonholonomic(text: str, motion: _ChainRule) -> _SymbolicRow:
    psi = parse(text, motion.words)
    if not any(symbol in psi.free_symbols for symbol in motion.velocities):
        raise formula_error(
            text, "psi must contain a velocity such as v.q1; without one, write it as phi."
        )
    return _velocity_row(psi, motion)


def _velocity_row(psi: sympy.Expr, motion: _ChainRule) -> _SymbolicRow:
    """Return beta = psi; A = psi_v; b = -(psi_q q_dot + psi_t)."""
    import sympy

    A = tuple(psi.diff(velocity) for velocity in motion.velocities)
    return _SymbolicRow(sympy.nan, psi, A, -motion.derivative(psi))


def _pfaffian(text: str, motion: _ChainRule) -> _SymbolicRow:
    import sympy

    dofs = motion.words.velocities
    form = parse(text, dc.replace(motion.words, velocities=(), differentials=(*dofs, "t")))
    d_time = sympy.Symbol("d.t")
    differentials = [sympy.Symbol(f"d.{dof}") for dof in dofs]
    everywhere = [*differentials, d_time]
    coefficients = [form.diff(differential) for differential in everywhere]
    linear = not any(c.has(d) for c in coefficients for d in everywhere)
    if not linear or form.xreplace(dict.fromkeys(everywhere, sympy.Integer(0))) != 0:
        raise formula_error(
            text, "a Pfaffian form must be a sum of terms, each a coefficient times one d.NAME."
        )
    if not any(coefficients[:-1]):
        raise formula_error(text, "a Pfaffian form must contain a differential such as d.q1.")
    rates = [*motion.velocities, sympy.Integer(1)]
    psi = sympy.Add(*(c * rate for c, rate in zip(coefficients, rates, strict=True)))
    return _velocity_row(psi, motion)
