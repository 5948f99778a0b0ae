"""Equations of motion, derived exactly from a Lagrangian in text."""

from __future__ import annotations

import dataclasses as dc
import functools
from typing import TYPE_CHECKING

from ukctrl.core.errors import InputError
from ukctrl.core.expression.codegen import compile_function
from ukctrl.core.expression.compiled_formula import CompiledFormula
from ukctrl.core.expression.symbolic import Vocabulary, check_names, parse
from ukctrl.core.expression.syntax import formula_error
from ukctrl.core.files.toml import error_context

if TYPE_CHECKING:
    import sympy

Texts = tuple[str, ...]


@dc.dataclass(frozen=True)
class LagrangeEquations:
    r"""What a Lagrangian $L = T(q, v, t) - V(q, t)$ says about the motion.

    With $T = \tfrac12 v^\top M v + g^\top v + T_0$ and the momentum $p = \partial T/\partial v$,
    Lagrange's equations $\dot p - \partial L/\partial q = Q$ are $M a + \mathrm{nle} = Q$ with

    $$ \mathrm{nle} = \frac{\partial p}{\partial q} v + \frac{\partial p}{\partial t}
       - \frac{\partial T}{\partial q} + \frac{\partial V}{\partial q} . $$

    The energy $E = \tfrac12 v^\top M v + V - T_0$ (Jacobi's integral; $T + V$ where $T$ is
    quadratic) changes with the power $\dot E = Q^\top v - \partial L/\partial t$.
    """

    M: tuple[tuple[sympy.Expr, ...], ...]
    """Symbolic mass matrix, n rows of n."""
    nle: tuple[sympy.Expr, ...]
    """Symbolic bias force, n."""
    dissipative: tuple[sympy.Expr, ...]
    """Symbolic force -dF/dv of the dissipation F, n; zeros where there is none."""
    constant: bool
    """Whether M is made of numbers alone."""
    dynamics: CompiledFormula = dc.field(repr=False, compare=False)
    """``dynamics(q, v, t)``: flat M row by row (n n), then nle (n)."""
    potential: CompiledFormula = dc.field(repr=False, compare=False)
    """``potential(q, t)``: the part V - T_0 of the energy [J]."""
    drive: CompiledFormula | None = dc.field(repr=False, compare=False)
    """``drive(q, v, t)``: the power -dL/dt of what moves by itself [W]; None where it is zero."""
    friction: CompiledFormula | None = dc.field(repr=False, compare=False)
    """``friction(q, v, t)``: the force -dF/dv of the dissipation F (n); None where it is zero."""


@functools.lru_cache(maxsize=64)  # a study derives the same motion for every run
def derive_lagrange_equations(
    kinetic: Texts, potential: Texts, dissipation: Texts, words: Vocabulary
) -> LagrangeEquations:
    """Derive the equations of motion.

    Args:
        kinetic: Kinetic energy, at most quadratic in the velocities; the texts are added.
        potential: Potential energy, without velocities; the texts are added.
        dissipation: Rayleigh's function, whose negative gradient in the velocities is a force;
            half the power that it takes away, where it is quadratic.
        words: The coordinates, as many velocities of the same names, and the parameters.

    Raises:
        ExpressionError: A formula is not in the language, or not of the form; the message begins
            with ``kinetic``, ``potential`` or ``dissipation``.
    """
    import sympy

    q = [sympy.Symbol(name) for name in words.plain]
    v = [sympy.Symbol(f"v.{name}") for name in words.velocities]
    t = sympy.Symbol("t")
    T, momenta = _kinetic(kinetic, words, v)
    V = _sum("potential", potential, dc.replace(words, velocities=()))
    F = _dissipation(dissipation, words)
    at_rest = dict.fromkeys(v, sympy.Integer(0))
    with error_context("kinetic"):
        M = tuple(tuple(p.diff(velocity) for velocity in v) for p in momenta)
        _refuse_velocities(kinetic, M, v)
        T_0 = T.xreplace(at_rest)
    nle = []
    for x, p in zip(q, momenta, strict=True):
        present = p.free_symbols
        convected = [p.diff(y) * w for y, w in zip(q, v, strict=True) if y in present]
        nle.append(sympy.Add(*convected, p.diff(t), -T.diff(x), V.diff(x)))
    drive = V.diff(t) - T.diff(t)
    dissipative = tuple(-F.diff(w) for w in v)
    arguments = [words.plain, [f"v.{name}" for name in words.velocities], "t"]
    label = "; ".join((*kinetic, *potential))
    entries = [entry for row in M for entry in row]
    return LagrangeEquations(
        M=M,
        nle=tuple(nle),
        dissipative=dissipative,
        constant=all(entry.is_number for entry in entries),
        dynamics=compile_function([*entries, *nle], arguments, label),
        potential=compile_function([V - T_0], [words.plain, "t"], label),
        drive=None if drive == 0 else compile_function([drive], arguments, label),
        friction=None
        if F == 0
        else compile_function(dissipative, arguments, "; ".join(dissipation)),
    )


@functools.lru_cache(maxsize=64)
def derive_coriolis(motion: LagrangeEquations, words: Vocabulary) -> CompiledFormula:
    r"""Return ``C(q, v, t)``, flat row by row (n n), that makes $\dot M - 2 C$ skew-symmetric.

    $$ C_{ij} = \tfrac12 \sum_k \Bigl(\frac{\partial M_{ij}}{\partial q_k} +
       \frac{\partial M_{ik}}{\partial q_j} - \frac{\partial M_{jk}}{\partial q_i}\Bigr) v_k
       + \frac{\partial g_i}{\partial q_j} - \frac{\partial g_j}{\partial q_i}
       + \tfrac12 \frac{\partial M_{ij}}{\partial t} : $$

    Christoffel's symbols of ``M``, and what a kinetic energy with terms $g^\top v$, or one that
    contains the time, adds. Those follow from the part of ``nle`` that is linear in ``v``.

    References:
        Spong, Hutchinson & Vidyasagar, "Robot Modeling and Control", 2006, section 6.2.
    """
    import sympy

    M, q = motion.M, [sympy.Symbol(name) for name in words.plain]
    v, t = [sympy.Symbol(f"v.{name}") for name in words.velocities], sympy.Symbol("t")
    at_rest = dict.fromkeys(v, sympy.Integer(0))
    n = range(len(q))
    entries = [
        sympy.Add(
            *((M[i][j].diff(q[k]) + M[i][k].diff(q[j]) - M[j][k].diff(q[i])) * v[k] / 2 for k in n),
            motion.nle[i].diff(v[j]).xreplace(at_rest),
            -M[i][j].diff(t) / 2,
        )
        for i in n
        for j in n
    ]
    return compile_function(
        entries, [words.plain, [f"v.{name}" for name in words.velocities], "t"], "kinetic"
    )


def _sum(key: str, texts: Texts, words: Vocabulary) -> sympy.Expr:
    import sympy

    with error_context(key):
        return sympy.Add(*(parse(text, words) for text in texts))


def _kinetic(
    texts: Texts, words: Vocabulary, v: list[sympy.Symbol]
) -> tuple[sympy.Expr, list[sympy.Expr]]:
    """Return the kinetic energy and its gradient in the velocities."""
    T = _sum("kinetic", texts, words)
    present = T.free_symbols
    missing = [str(velocity) for velocity in v if velocity not in present]
    if missing:
        gone = any(missing[0] in str(text) for text in texts)
        defect = "vanishes with these parameters" if gone else "is missing"
        cure = "Give it an inertia" if gone else "Add its term"
        raise InputError(
            f"kinetic: must contain every velocity; '{missing[0]}' {defect}, so that moving "
            f"'{missing[0].removeprefix('v.')}' would move no inertia. {cure}, or make it a "
            "parameter."
        )
    return T, [T.diff(velocity) for velocity in v]


def _refuse_velocities(
    texts: Texts, M: tuple[tuple[sympy.Expr, ...], ...], v: list[sympy.Symbol]
) -> None:
    for row, one in zip(M, v, strict=True):
        for entry, second in zip(row, v, strict=True):
            if entry.free_symbols.intersection(v):
                raise formula_error(
                    "; ".join(texts),
                    "must be a polynomial of degree two in the velocities; its second derivative "
                    f"by '{one}' and '{second}' still contains a velocity.",
                )


def _dissipation(texts: Texts, words: Vocabulary) -> sympy.Expr:
    for text in texts:
        with error_context("dissipation"):
            if not any(name.startswith("v.") for name in check_names(text, words)):
                raise formula_error(
                    text, "must contain a velocity such as v.q1; without one it does nothing."
                )
    return _sum("dissipation", texts, words)
