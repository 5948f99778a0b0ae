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

from ukctrl.core.algebra.factorisation import cholesky, copy_into, solve_lower, solve_upper
from ukctrl.core.algebra.solution_checks import singular_mass_error
from ukctrl.core.arrays import Indices, Matrix, Vector
from ukctrl.core.compiled import compiled
from ukctrl.core.expression.codegen import compile_function
from ukctrl.core.expression.compiled_formula import CompiledFormula
from ukctrl.core.expression.formula_cache import cached_formula
from ukctrl.core.expression.lagrange_equations import LagrangeEquations
from ukctrl.core.expression.symbolic import parse
from ukctrl.core.program import BoundKernel, KernelSequence, KernelStep
from ukctrl.mechanics.constraints import Expression, JointFollows, Stack
from ukctrl.mechanics.constraints.joints import derived_rows
from ukctrl.mechanics.derivatives.jets import Jets
from ukctrl.mechanics.reference import Reference
from ukctrl.robot import Snapshot
from ukctrl.robot.actuators import Actuation, FormulaColumn
from ukctrl.robot.formulas.coordinate_structure import FormulaStructure
from ukctrl.robot.formulas.equation_plants import LagrangianForce, LagrangianPlant

if TYPE_CHECKING:
    import sympy

MAX_NODES = 10_000
"""A derivative of more different parts than this is measured instead."""

Exprs = tuple["sympy.Expr", ...]


def formula_jets(stack: Stack) -> FormulaJets | None:
    """Return exact derivatives; None where robot or rows are not formulas throughout."""
    robot = stack.robot
    structure, inputs = robot.structure, robot.actuation
    # only what SymPy can differentiate as a whole: one Lagrangian, formulas of forces, inputs and
    # rows
    if not isinstance(structure, FormulaStructure) or len(structure.rotors) or robot.passive:
        return None
    plant = structure.plant
    if not isinstance(plant, LagrangianPlant):
        return None
    if any(not isinstance(term, LagrangianForce) for term in robot.forces.terms):
        return None
    if any(not isinstance(column, FormulaColumn) for _, column in inputs.varying_columns):
        return None
    if any(not isinstance(one, Expression | JointFollows) for one in stack.constraints):
        return None
    return FormulaJets(stack, plant.motion, _actuation(inputs))


def _actuation(inputs: Actuation) -> tuple[Exprs, ...]:
    """Return ``B`` as symbols, nv rows of nu."""
    import sympy

    B = [[sympy.Float(x) if x else sympy.Integer(0) for x in row] for row in inputs.constant]
    for index, column in inputs.varying_columns:
        assert isinstance(column, FormulaColumn)  # the caller looked
        for dof, text in zip(column.dofs, column.texts, strict=True):
            B[dof][index] = parse(text, column.words)
    return tuple(tuple(row) for row in B)


class _JetSymbols(NamedTuple):
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

    def input(self, k: int) -> list[str]:
        """Return the names of the k-th derivatives of the inputs."""
        return [f"u{k}.{i}" for i in range(self.inputs)]

    def derivative_symbols(self, order: int) -> Mapping[sympy.Symbol, sympy.Symbol]:
        """Return the derivative of every symbol up to an order, as a symbol."""
        import sympy

        pairs = [
            (below, above)
            for k in range(order + 1)
            for names in (self.level, self.input)
            for below, above in zip(names(k), names(k + 1), strict=True)
        ]
        return {sympy.Symbol(below): sympy.Symbol(above) for below, above in pairs}


class _TotalDerivative:
    """The total time derivative, by the chain rule over the parts that expressions share."""

    def __init__(self, derivatives: Mapping[sympy.Symbol, sympy.Symbol]) -> None:
        import sympy

        self._sympy = sympy
        self._done: dict[sympy.Expr, sympy.Expr] = {
            sympy.Symbol("t"): sympy.Integer(1),
            **derivatives,
        }

    def __call__(self, expr: sympy.Expr) -> sympy.Expr:
        sympy, done = self._sympy, self._done
        if expr not in done:
            if expr.is_Atom:
                done[expr] = sympy.Integer(0)
            elif expr.is_Add:
                done[expr] = sympy.Add(*(self(operand) for operand in expr.args))
            elif expr.is_Mul:
                done[expr] = sympy.Add(
                    *(
                        sympy.Mul(self(operand), *expr.args[:i], *expr.args[i + 1 :])
                        for i, operand in enumerate(expr.args)
                    )
                )
            elif expr.is_Pow and expr.exp.is_number:
                base, exponent = expr.args
                # without a logarithm, which a base below zero has not
                done[expr] = exponent * base ** (exponent - 1) * self(base)
            elif expr.is_Pow:
                base, exponent = expr.args
                grown = self(exponent) * sympy.log(base) + exponent * self(base) / base
                done[expr] = expr * grown
            else:
                done[expr] = sympy.Add(
                    *(expr.fdiff(i + 1) * self(operand) for i, operand in enumerate(expr.args))
                )
        return done[expr]


def _node_count(exprs: Exprs) -> int:
    """Return how many different parts expressions have."""
    nodes, queue = set[object](), list(exprs)
    while queue:
        node = queue.pop()
        if node not in nodes:
            nodes.add(node)
            queue.extend(node.args)
    return len(nodes)


@functools.lru_cache(maxsize=64)  # a study derives the same stages for every run
def _equation_derivative(
    motion: LagrangeEquations, B: tuple[Exprs, ...], names: _JetSymbols, k: int
) -> Exprs:
    r"""Return $s_k$ of $D^k R_0 = M q^{(k+2)} + s_k$."""
    import sympy

    if k == 0:
        pushes = [sympy.Symbol(name) for name in names.input(0)]
        return tuple(
            bias - force - sympy.Add(*(b * u for b, u in zip(row, pushes, strict=True)))
            for bias, force, row in zip(motion.nle, motion.dissipative, B, strict=True)
        )
    total, below = (
        _TotalDerivative(names.derivative_symbols(k)),
        _equation_derivative(motion, B, names, k - 1),
    )
    highest = [sympy.Symbol(name) for name in names.level(k + 1)]
    return tuple(
        sympy.Add(total(s), *(total(m) * x for m, x in zip(row, highest, strict=True)))
        for s, row in zip(below, motion.M, strict=True)
    )


@functools.lru_cache(maxsize=64)
def _compiled_equation_derivative(
    motion: LagrangeEquations, B: tuple[Exprs, ...], names: _JetSymbols, k: int
) -> CompiledFormula:
    import sympy

    arguments = [*map(names.level, range(k + 2)), *map(names.input, range(k + 1)), "t"]
    # the lines have every number to its last digit, and tell all but what inputs push
    friction = motion.friction.lines if motion.friction is not None else ()
    pushes = tuple(sympy.srepr(sympy.sympify(entry)) for row in B for entry in row)
    return cached_formula(
        ("equation of motion", motion.dynamics.lines, friction, pushes, names, k),
        lambda: compile_function(
            _equation_derivative(motion, B, names, k), arguments, "the equation of motion"
        ),
    )


@functools.lru_cache(maxsize=64)
def _row_derivative(phi: sympy.Expr, names: _JetSymbols, k: int) -> sympy.Expr:
    """Return the k-th derivative of a row, of whose symbols none is of a level above 1."""
    return (
        phi
        if k == 0
        else _TotalDerivative(names.derivative_symbols(k + 1))(_row_derivative(phi, names, k - 1))
    )


@functools.lru_cache(maxsize=64)
def _compiled_rows(rows: Exprs, names: _JetSymbols, order: int, level: int) -> CompiledFormula:
    import sympy

    lists = [names.level(k) for k in range(order + level + 1)]

    def derive() -> CompiledFormula:
        flat = [_row_derivative(row, names, k) for k in range(order + 1) for row in rows]
        return compile_function(flat, [*lists, "t"], "the servo rows")

    texts = tuple(sympy.srepr(row) for row in rows)
    return cached_formula(("servo rows", texts, names, order, level), derive)


class _RowBlock(NamedTuple):
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

    def __init__(self, stack: Stack, motion: LagrangeEquations, B: tuple[Exprs, ...]) -> None:
        super().__init__(stack)
        self._motion, self._B = motion, B
        self._names = _JetSymbols(tuple(self.robot.coordinates), self.robot.nu)
        self._blocks = tuple(_blocks(stack))
        self._passes: dict[int, JetEvaluation] = {}

    def is_short(self, order: int) -> bool:
        """Whether derivatives up to an order are short enough to be worth their formulas."""
        return all(
            _node_count(_equation_derivative(self._motion, self._B, self._names, k)) <= MAX_NODES
            for k in range(order - 1)
        )

    def motion(self, t: float, q: Vector, v: Vector, U: Matrix, order: int) -> Matrix:
        """Return the coordinates and their derivatives, shape ``(order + 1, nv)``."""
        return self._along(t, q, v, U, max(order, 1)).levels[: order + 1].copy()

    def derivatives(self, t: float, q: Vector, v: Vector, U: Matrix, order: int) -> Matrix:
        return self._along(t, q, v, U, order).jets.copy()

    def _along(self, t: float, q: Vector, v: Vector, U: Matrix, order: int) -> JetEvaluation:
        """Return the derivatives up to an order, in arrays that the next call overwrites."""
        if order not in self._passes:
            along = self.evaluation(order)
            self._passes[order] = along
        along = self._passes[order]
        along.clock[0], along.levels[0], along.levels[1] = t, q, v
        along.inputs[:] = 0.0
        count = min(len(U), len(along.inputs))
        along.inputs[:count] = U[:count]
        along.steps()
        return along

    def with_inputs_steps(
        self, s: Snapshot, degrees: Sequence[int], push: Vector, drift: Matrix, E: Matrix
    ) -> Iterable[KernelStep]:
        last = np.array(degrees, dtype=np.int64)
        # the drift first, then one pass an input: of an affine system their differences are the
        # columns
        for k in range(-1, len(push)):
            along = self.evaluation(max(degrees))
            state = s.clock, s.q, s.v, push, k
            yield BoundKernel(set_constant_input, *state, along.clock, along.levels, along.inputs)
            yield from along.steps.items
            if k < 0:
                yield BoundKernel(copy_into, along.jets, drift)
            else:
                yield BoundKernel(input_column, last, along.jets, drift, push, k, E)

    def evaluation(self, order: int) -> JetEvaluation:
        """Return a way to the derivatives up to an order, with arrays of its own."""
        level = max((block.level for block in self._blocks), default=0)
        n, nu, highest = self.robot.nv, self.robot.nu, max(order + level, 1)
        along = JetEvaluation(
            np.zeros(1),
            np.zeros((highest + 1, n)),
            np.zeros((max(highest - 1, 1), nu)),
            np.zeros((order + 1, len(self.stack))),
        )
        along.steps = KernelSequence((*self._motion_steps(along), *self._row_steps(along)))
        return along

    def _motion_steps(self, along: JetEvaluation) -> Iterator[KernelStep]:
        clock, levels, pushes = along.clock, along.levels, along.inputs
        n = levels.shape[1]
        values, s, L = np.zeros(n * n + n), np.zeros(n), np.zeros((n, n))
        yield self._motion.dynamics.as_step((levels[0], levels[1], clock), values)
        # the mass matrix is factored once: every stage solves with the same one
        yield BoundKernel(factor_mass, values, L, fault=singular_mass_error)
        for k in range(len(levels) - 2):
            stage = _compiled_equation_derivative(self._motion, self._B, self._names, k)
            yield stage.as_step((*levels[: k + 2], *pushes[: k + 1], clock), s)
            yield BoundKernel(solve_derivative, L, s, levels[k + 2])

    def _row_steps(self, along: JetEvaluation) -> Iterator[KernelStep]:
        order = len(along.jets) - 1
        for block in self._blocks:
            first, size = block.where.start, block.where.stop - block.where.start
            values: Matrix = np.zeros((order + 1, size))
            if block.joints:
                yield BoundKernel(joint_derivatives, along.levels, np.array(block.joints), values)
            else:
                rows = _compiled_rows(block.rows, self._names, order, block.level)
                levels = along.levels[: order + block.level + 1]
                yield rows.as_step((*levels, along.clock), values.reshape(-1))
            r: Matrix = np.zeros((order + 1, size))
            if block.path is not None:
                yield block.path.derivative_step(order, along.clock, r)
            yield BoundKernel(subtract_reference, values, r, first, along.jets)


@final
class JetEvaluation:
    """A way from a state to the derivatives of its motion, and of rows along it.

    Attributes:
        clock: Time, shape ``(1,)``.
        levels: The coordinates and their derivatives, of which whoever runs it writes two.
        inputs: The input and its derivatives.
        jets: The rows and their derivatives.
        steps: What writes levels and jets.
    """

    steps: KernelSequence

    def __init__(self, clock: Vector, levels: Matrix, pushes: Matrix, jets: Matrix) -> None:
        self.clock, self.levels, self.inputs, self.jets = clock, levels, pushes, jets


@compiled
def factor_mass(values: Vector, L: Matrix) -> int:
    """Write the factor of the mass matrix at the head of some values; see `singular_mass_error`."""
    n = len(L)
    return -cholesky(values[: n * n].reshape(n, n), L)


@compiled
def solve_derivative(L: Matrix, s: Vector, level: Vector) -> None:
    """Write ``-M^-1 s``."""
    for i in range(len(s)):
        level[i] = -s[i]
    solve_lower(L, level)
    solve_upper(L, level)


@compiled
def joint_derivatives(levels: Matrix, joints: Indices, values: Matrix) -> None:
    """Write the derivatives of some coordinates."""
    for k in range(values.shape[0]):
        for i in range(len(joints)):
            values[k, i] = levels[k, joints[i]]


@compiled
def subtract_reference(values: Matrix, r: Matrix, first: int, jets: Matrix) -> None:
    """Write how far rows are from what they follow, into columns from the first on."""
    for k in range(values.shape[0]):
        for i in range(values.shape[1]):
            jets[k, first + i] = values[k, i] - r[k, i]


@compiled
def set_constant_input(
    clock: Vector,
    q: Vector,
    v: Vector,
    push: Vector,
    column: int,
    own_clock: Vector,
    levels: Matrix,
    pushes: Matrix,
) -> None:
    """Write the state and an input that is constant: one of the usual pushes, or below 0 none."""
    own_clock[0] = clock[0]
    for i in range(len(q)):
        levels[0, i], levels[1, i] = q[i], v[i]
    if column >= 0:
        pushes[0, column] = push[column]


@compiled
def input_column(
    last: Indices, pushed: Matrix, drift: Matrix, push: Vector, column: int, E: Matrix
) -> None:
    """Write what one input adds to the last derivative of each row, per unit."""
    for i in range(len(last)):
        E[i, column] = (pushed[last[i], i] - drift[last[i], i]) / push[column]


def _blocks(stack: Stack) -> Sequence[_RowBlock]:
    blocks, start = list[_RowBlock](), 0
    for constraint, block in zip(stack.constraints, stack.attached, strict=True):
        where = slice(start, start + len(block.names))
        start = where.stop
        if isinstance(constraint, JointFollows):
            joints = tuple(stack.robot.dofs.index(name) for name in constraint.joints)
            blocks.append(_RowBlock(where, 0, (), joints, constraint.path))
            continue
        assert isinstance(constraint, Expression)  # the caller looked
        derived = derived_rows(constraint, stack.robot)
        # a row on velocities begins one derivative later
        level = 0 if derived.phi else 1
        rows = derived.phi or derived.beta
        blocks.append(_RowBlock(where, level, rows, path=constraint.path))
    return blocks
