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
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar, NamedTuple, final

import numpy as np

from ukctrl.core.algebra.answer_checks import singular
from ukctrl.core.algebra.factorisation import cholesky, copy_into, solve_lower, solve_upper
from ukctrl.core.arrays import Indices, Matrix, Vector
from ukctrl.core.compiled import compiled
from ukctrl.core.expression.codegen import compile_function
from ukctrl.core.expression.formula import Formula
from ukctrl.core.expression.lagrange import Motion
from ukctrl.core.expression.symbolic import parse
from ukctrl.core.program import Call, Step, Steps
from ukctrl.mechanics.constraints import Expression, JointFollows, Stack
from ukctrl.mechanics.constraints.joints import derived_rows
from ukctrl.mechanics.derivatives.jets import Jets
from ukctrl.mechanics.reference import Reference
from ukctrl.robot import Snapshot
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
        self._passes: dict[int, Pass] = {}

    def within(self, order: int) -> bool:
        """Whether derivatives up to an order are short enough to be worth their formulas."""
        return all(
            _size(_stages(self._motion, self._B, self._names, k)) <= MAX_PARTS
            for k in range(order - 1)
        )

    def motion(self, t: float, q: Vector, v: Vector, U: Matrix, order: int) -> Matrix:
        """Return the coordinates and their derivatives, shape ``(order + 1, nv)``."""
        return self._along(t, q, v, U, max(order, 1)).levels[: order + 1].copy()

    def derivatives(self, t: float, q: Vector, v: Vector, U: Matrix, order: int) -> Matrix:
        return self._along(t, q, v, U, order).jets.copy()

    def _along(self, t: float, q: Vector, v: Vector, U: Matrix, order: int) -> Pass:
        """Return the derivatives up to an order, in arrays that the next call overwrites."""
        if order not in self._passes:
            along = self.pass_of(order)
            self._passes[order] = along
        along = self._passes[order]
        along.clock[0], along.levels[0], along.levels[1] = t, q, v
        along.pushes[:] = 0.0
        known = min(len(U), len(along.pushes))
        along.pushes[:known] = U[:known]
        along.steps()
        return along

    def with_inputs_steps(
        self, s: Snapshot, degrees: Sequence[int], push: Vector, drift: Matrix, E: Matrix
    ) -> Iterable[Step]:
        last = np.array(degrees, dtype=np.int64)
        for k in range(-1, len(push)):
            along = self.pass_of(max(degrees))
            state = s.clock, s.q, s.v, push, k
            yield Call(set_off, *state, along.clock, along.levels, along.pushes)
            yield from along.steps.every
            if k < 0:
                yield Call(copy_into, along.jets, drift)
            else:
                yield Call(share_of_input, last, along.jets, drift, push, k, E)

    def pass_of(self, order: int) -> Pass:
        """Return a way to the derivatives up to an order, with arrays of its own."""
        level = max((block.level for block in self._blocks), default=0)
        n, nu, highest = self.robot.nv, self.robot.nu, max(order + level, 1)
        along = Pass(
            np.zeros(1),
            np.zeros((highest + 1, n)),
            np.zeros((max(highest - 1, 1), nu)),
            np.zeros((order + 1, len(self.stack))),
        )
        along.steps = Steps((*self._motion_steps(along), *self._row_steps(along)))
        return along

    def _motion_steps(self, along: Pass) -> Iterator[Step]:
        clock, levels, pushes = along.clock, along.levels, along.pushes
        n = levels.shape[1]
        values, s, L = np.zeros(n * n + n), np.zeros(n), np.zeros((n, n))
        yield self._motion.dynamics.step((levels[0], levels[1], clock), values)
        yield Call(mass_factor, values, L, fault=singular)
        for k in range(len(levels) - 2):
            stage = _compiled_stage(self._motion, self._B, self._names, k)
            yield stage.step((*levels[: k + 2], *pushes[: k + 1], clock), s)
            yield Call(next_level, L, s, levels[k + 2])

    def _row_steps(self, along: Pass) -> Iterator[Step]:
        order = len(along.jets) - 1
        for block in self._blocks:
            first, size = block.where.start, block.where.stop - block.where.start
            values: Matrix = np.zeros((order + 1, size))
            if block.joints:
                yield Call(of_joints, along.levels, np.array(block.joints), values)
            else:
                rows = _compiled_rows(block.rows, self._names, order, block.level)
                levels = along.levels[: order + block.level + 1]
                yield rows.step((*levels, along.clock), values.reshape(-1))
            r: Matrix = np.zeros((order + 1, size))
            if block.path is not None:
                yield block.path.derivative_step(order, along.clock, r)
            yield Call(beyond, values, r, first, along.jets)


@final
class Pass:
    """A way from a state to the derivatives of its motion, and of rows along it.

    Attributes:
        clock: Time, shape ``(1,)``.
        levels: The coordinates and their derivatives, of which whoever runs it writes two.
        pushes: The input and its derivatives.
        jets: The rows and their derivatives.
        steps: What writes levels and jets.
    """

    steps: Steps

    def __init__(self, clock: Vector, levels: Matrix, pushes: Matrix, jets: Matrix) -> None:
        self.clock, self.levels, self.pushes, self.jets = clock, levels, pushes, jets


@compiled
def mass_factor(values: Vector, L: Matrix) -> int:
    """Write the factor of the mass matrix at the head of some values; see `singular`."""
    n = len(L)
    return -cholesky(values[: n * n].reshape(n, n), L)


@compiled
def next_level(L: Matrix, s: Vector, level: Vector) -> None:
    """Write ``-M^-1 s``."""
    for i in range(len(s)):
        level[i] = -s[i]
    solve_lower(L, level)
    solve_upper(L, level)


@compiled
def of_joints(levels: Matrix, joints: Indices, values: Matrix) -> None:
    """Write the derivatives of some coordinates."""
    for k in range(values.shape[0]):
        for i in range(len(joints)):
            values[k, i] = levels[k, joints[i]]


@compiled
def beyond(values: Matrix, r: Matrix, first: int, jets: Matrix) -> None:
    """Write how far rows are from what they follow, into columns from the first on."""
    for k in range(values.shape[0]):
        for i in range(values.shape[1]):
            jets[k, first + i] = values[k, i] - r[k, i]


@compiled
def set_off(
    clock: Vector,
    q: Vector,
    v: Vector,
    push: Vector,
    which: int,
    own_clock: Vector,
    levels: Matrix,
    pushes: Matrix,
) -> None:
    """Write the state and an input that is constant: one of the usual pushes, or below 0 none."""
    own_clock[0] = clock[0]
    for i in range(len(q)):
        levels[0, i], levels[1, i] = q[i], v[i]
    if which >= 0:
        pushes[0, which] = push[which]


@compiled
def share_of_input(
    last: Indices, pushed: Matrix, drift: Matrix, push: Vector, which: int, E: Matrix
) -> None:
    """Write what one input adds to the last derivative of each row, per unit."""
    for i in range(len(last)):
        E[i, which] = (pushed[last[i], i] - drift[last[i], i]) / push[which]


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
