r"""Derivatives along a motion, derived exactly from formulas.

With the equation of motion $R_0 = M a + \mathrm{nle} - f - B u = 0$ and the total derivative

$$ D = \sum_k q^{(k+1)} \frac{\partial}{\partial q^{(k)}}
     + \sum_k u^{(k+1)} \frac{\partial}{\partial u^{(k)}} + \frac{\partial}{\partial t} , $$

$D^k R_0 = M q^{(k+2)} + s_k = 0$ gives one derivative of the motion after the other, with the same
mass matrix for all; then $D^k \phi$ are the rows'. The mass matrix is never inverted in symbols,
so that the formulas stay short.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar, NamedTuple, final

import numpy as np

from ukctrl.core.algebra.answer_checks import raise_if_singular
from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.expression.codegen import compile_function
from ukctrl.core.expression.formula import Formula
from ukctrl.core.expression.lagrange import Motion
from ukctrl.core.expression.symbolic import parse
from ukctrl.mechanics.constraints import Expression, JointFollows, Stack
from ukctrl.mechanics.constraints.joints import derived_rows
from ukctrl.mechanics.derivatives.jets import Jets
from ukctrl.mechanics.reference import Reference
from ukctrl.robot.actuators import Actuation, FormulaColumn
from ukctrl.robot.formulas.formula_structure import FormulaStructure
from ukctrl.robot.formulas.plant import Lagrangian, LagrangianForce

if TYPE_CHECKING:
    import sympy

MAX_PARTS = 10_000
"""A derivative of more different parts than this is measured instead."""

Exprs = tuple["sympy.Expr", ...]


def formula_jets(stack: Stack) -> FormulaJets | None:
    """Return exact derivatives; None where robot or rows are not formulas throughout."""
    robot = stack.robot
    structure, inputs = robot.structure, robot.actuation
    if not isinstance(structure, FormulaStructure) or len(structure.rotors) or robot.passive:
        return None
    plant = structure.plant
    if not isinstance(plant, Lagrangian):
        return None
    if any(not isinstance(term, LagrangianForce) for term in robot.forces.terms):
        return None
    if any(not isinstance(column, FormulaColumn) for _, column in inputs.moving):
        return None
    if any(not isinstance(one, Expression | JointFollows) for one in stack.constraints):
        return None
    return FormulaJets(stack, plant.motion, _actuation(inputs))


def _actuation(inputs: Actuation) -> tuple[Exprs, ...]:
    """Return ``B`` as symbols, nv rows of nu."""
    import sympy

    B = [[sympy.Float(x) if x else sympy.Integer(0) for x in row] for row in inputs.constant]
    for index, column in inputs.moving:
        assert isinstance(column, FormulaColumn)  # the caller looked
        for dof, text in zip(column.dofs, column.texts, strict=True):
            B[dof][index] = parse(text, column.words)
    return tuple(tuple(row) for row in B)


class _Names(NamedTuple):
    """The symbols of a motion's jet."""

    coordinates: tuple[str, ...]
    inputs: int

    def level(self, k: int) -> list[str]:
        """Return the names of the k-th derivatives of the coordinates."""
        if k == 0:
            return list(self.coordinates)
        if k == 1:
            return [f"v.{name}" for name in self.coordinates]
        return [f"{k}.{name}" for name in self.coordinates]

    def push(self, k: int) -> list[str]:
        """Return the names of the k-th derivatives of the inputs."""
        return [f"u{k}.{i}" for i in range(self.inputs)]

    def after(self, order: int) -> Mapping[sympy.Symbol, sympy.Symbol]:
        """Return the derivative of every symbol up to an order, as a symbol."""
        import sympy

        pairs = [
            (below, above)
            for k in range(order + 1)
            for names in (self.level, self.push)
            for below, above in zip(names(k), names(k + 1), strict=True)
        ]
        return {sympy.Symbol(below): sympy.Symbol(above) for below, above in pairs}


class _Total:
    """The total time derivative, by the chain rule over the parts that expressions share."""

    def __init__(self, after: Mapping[sympy.Symbol, sympy.Symbol]) -> None:
        import sympy

        self._sympy = sympy
        self._done: dict[sympy.Expr, sympy.Expr] = {sympy.Symbol("t"): sympy.Integer(1), **after}

    def __call__(self, expr: sympy.Expr) -> sympy.Expr:
        sympy, done = self._sympy, self._done
        if expr not in done:
            if expr.is_Atom:
                done[expr] = sympy.Integer(0)
            elif expr.is_Add:
                done[expr] = sympy.Add(*(self(part) for part in expr.args))
            elif expr.is_Mul:
                done[expr] = sympy.Add(
                    *(
                        sympy.Mul(self(part), *expr.args[:i], *expr.args[i + 1 :])
                        for i, part in enumerate(expr.args)
                    )
                )
            elif expr.is_Pow and expr.exp.is_number:
                base, exponent = expr.args
                done[expr] = exponent * base ** (exponent - 1) * self(base)
            elif expr.is_Pow:
                base, exponent = expr.args
                grown = self(exponent) * sympy.log(base) + exponent * self(base) / base
                done[expr] = expr * grown
            else:
                done[expr] = sympy.Add(
                    *(expr.fdiff(i + 1) * self(part) for i, part in enumerate(expr.args))
                )
        return done[expr]


def _size(exprs: Exprs) -> int:
    """Return how many different parts expressions have."""
    seen, ahead = set[object](), list(exprs)
    while ahead:
        part = ahead.pop()
        if part not in seen:
            seen.add(part)
            ahead.extend(part.args)
    return len(seen)


@functools.lru_cache(maxsize=64)  # a study derives the same stages for every run
def _stages(motion: Motion, B: tuple[Exprs, ...], names: _Names, k: int) -> Exprs:
    r"""Return $s_k$ of $D^k R_0 = M q^{(k+2)} + s_k$."""
    import sympy

    if k == 0:
        pushes = [sympy.Symbol(name) for name in names.push(0)]
        return tuple(
            bias - force - sympy.Add(*(b * u for b, u in zip(row, pushes, strict=True)))
            for bias, force, row in zip(motion.nle, motion.dissipative, B, strict=True)
        )
    total, below = _Total(names.after(k)), _stages(motion, B, names, k - 1)
    highest = [sympy.Symbol(name) for name in names.level(k + 1)]
    return tuple(
        sympy.Add(total(s), *(total(m) * x for m, x in zip(row, highest, strict=True)))
        for s, row in zip(below, motion.M, strict=True)
    )


@functools.lru_cache(maxsize=64)
def _compiled_stage(motion: Motion, B: tuple[Exprs, ...], names: _Names, k: int) -> Formula:
    arguments = [*map(names.level, range(k + 2)), *map(names.push, range(k + 1)), "t"]
    return compile_function(_stages(motion, B, names, k), arguments, "the equation of motion")


@functools.lru_cache(maxsize=64)
def _row(phi: sympy.Expr, names: _Names, k: int) -> sympy.Expr:
    """Return the k-th derivative of a row, of whose symbols none is of a level above 1."""
    return phi if k == 0 else _Total(names.after(k + 1))(_row(phi, names, k - 1))


@functools.lru_cache(maxsize=64)
def _compiled_rows(rows: Exprs, names: _Names, order: int, level: int) -> Formula:
    flat = [_row(row, names, k) for k in range(order + 1) for row in rows]
    lists = [names.level(k) for k in range(order + level + 1)]
    return compile_function(flat, [*lists, "t"], "the servo rows")


class _Block(NamedTuple):
    """The rows of one constraint."""

    where: slice
    level: int
    """0 where they have a position level, else 1."""
    rows: Exprs
    """The rows as symbols; empty where they are joints."""
    joints: tuple[int, ...] = ()
    path: Reference | None = None
    """What they follow instead of zero."""


@final
class FormulaJets(Jets):
    """Derivatives of the rows in text, of a robot in text.

    Args:
        stack: The rows: expressions, or joints that follow a path.
        motion: The robot's equation of motion.
        B: Its actuation as symbols, nv rows of nu.
    """

    exact: ClassVar[bool] = True

    def __init__(self, stack: Stack, motion: Motion, B: tuple[Exprs, ...]) -> None:
        super().__init__(stack)
        self._motion, self._B = motion, B
        self._names = _Names(tuple(self.robot.coordinates), self.robot.nu)
        self._blocks = tuple(_blocks(stack))
        # What is compiled is shared by all that ask for the same; here it is at hand.
        self._stages: list[Formula] = []
        self._rows: dict[tuple[int, int], Formula] = {}
        self._followed: tuple[float, int, list[Matrix | None]] = (np.nan, -1, [])

    def within(self, order: int) -> bool:
        """Whether derivatives up to an order are short enough to be worth their formulas."""
        return all(
            _size(_stages(self._motion, self._B, self._names, k)) <= MAX_PARTS
            for k in range(order - 1)
        )

    def motion(self, t: float, q: Vector, v: Vector, U: Matrix, order: int) -> Matrix:
        """Return the coordinates and their derivatives, shape ``(order + 1, nv)``."""
        n = self.robot.nv
        series = np.zeros((order + 1, n))
        series[:2] = [q, v][: order + 1]
        levels = [q.tolist(), v.tolist()]
        pushes = [*U.tolist(), *([[0.0] * self.robot.nu] * max(0, order - 1 - len(U)))]
        from scipy.linalg import lapack

        M: Matrix = np.reshape(self._motion.dynamics(*levels, t)[: n * n], (n, n))
        root, info = lapack.dpotrf(M, lower=1)
        raise_if_singular(-info)
        for k in range(order - 1):
            if k == len(self._stages):
                self._stages.append(_compiled_stage(self._motion, self._B, self._names, k))
            s = self._stages[k](*levels, *pushes[: k + 1], t)
            series[k + 2] = lapack.dpotrs(root, s, lower=1)[0]
            series[k + 2] *= -1.0
            levels.append(series[k + 2].tolist())
        return series

    def derivatives(self, t: float, q: Vector, v: Vector, U: Matrix, order: int) -> Matrix:
        highest = order + max((block.level for block in self._blocks), default=0)
        x = self.motion(t, q, v, U, max(highest, 1))
        levels = x.tolist()
        jets = np.empty((order + 1, len(self.stack)))
        for block, r in zip(self._blocks, self._paths(t, order), strict=True):
            if block.joints:
                jets[:, block.where] = x[: order + 1, list(block.joints)]
            else:
                flat = self._compiled(block, order)(*levels[: order + block.level + 1], t)
                jets[:, block.where] = np.reshape(flat, (order + 1, -1))
            if r is not None:
                jets[:, block.where] -= r
        return jets

    def _compiled(self, block: _Block, order: int) -> Formula:
        key = block.where.start, order
        if key not in self._rows:
            self._rows[key] = _compiled_rows(block.rows, self._names, order, block.level)
        return self._rows[key]

    def _paths(self, t: float, order: int) -> list[Matrix | None]:
        """Return the derivatives of what each block follows; a time is asked for many times."""
        if self._followed[:2] != (t, order):
            paths = (block.path for block in self._blocks)
            r = [None if path is None else path.derivatives(t, order) for path in paths]
            self._followed = t, order, r
        return self._followed[2]


def _blocks(stack: Stack) -> Sequence[_Block]:
    blocks, start = list[_Block](), 0
    for constraint, part in zip(stack.constraints, stack.attached, strict=True):
        where = slice(start, start + len(part.names))
        start = where.stop
        if isinstance(constraint, JointFollows):
            joints = tuple(stack.robot.dofs.index(name) for name in constraint.joints)
            blocks.append(_Block(where, 0, (), joints, constraint.path))
            continue
        assert isinstance(constraint, Expression)  # the caller looked
        derived = derived_rows(constraint, stack.robot)
        level = 0 if derived.phi else 1
        rows = derived.phi or derived.beta
        blocks.append(_Block(where, level, rows, path=constraint.path))
    return blocks
