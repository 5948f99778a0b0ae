"""Bodies that share no entry of ``M`` and ``B`` are solved one after the other, compiled.

Of a swarm the mass matrix is blocks on the diagonal, and so are its factor and ``G``: nothing else
of these tables is read or written, so that a state costs as much time and memory as there are
bodies. The *ties* of a freedom, shape ``(nv, 4)``, say where its block begins and ends: first and
last freedom, first and last input. Bodies that hang together have one block, which is all of it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ukctrl.core.algebra import dynamics_kernels
from ukctrl.core.algebra.factorisation import MIN_BLOCKED
from ukctrl.core.algebra.input_authority import surely_full_rank
from ukctrl.core.algebra.least_norm_input import ServoProblem, fast_input, rank_or_lost
from ukctrl.core.arrays import Flags, Indices, Matrix, Vector
from ukctrl.core.compiled import allocating, compiled, inlined

BEGIN, END, FIRST, LAST = range(4)
"""Columns of ties."""
STRIDE = 64
"""Entries of a row that are looked at together."""


def single_block(nv: int, nu: int) -> Indices:
    """Return the ties of freedoms that hang together."""
    return np.tile(np.array([0, nv, 0, nu], dtype=np.int64), (nv, 1))


def mass_blocks(trees: Indices, pushed: Flags) -> Indices:
    """Return the ties of freedoms.

    Args:
        trees: Number of the tree that carries each freedom, shape ``(nv,)``.
        pushed: Whether an input may push a freedom, shape ``(nv, nu)``.
    """
    nv, nu = pushed.shape
    # blocks are ranges: trees must be numbered in order, and few velocities gain nothing
    if nv < MIN_BLOCKED or (np.diff(trees) < 0).any():
        return single_block(nv, nu)
    begins = np.flatnonzero(np.diff(trees, prepend=-1))
    sizes = np.diff(begins, append=nv)
    freedoms, inputs = np.nonzero(pushed)
    order = np.argsort(inputs, kind="stable")
    owners, inputs = trees[freedoms[order]], inputs[order]
    # inputs must come in the order of the trees, and push one tree each
    if (np.diff(owners) < 0).any() or (np.diff(owners)[np.diff(inputs) == 0] != 0).any():
        return single_block(nv, nu)
    numbers = trees[begins]
    ends = np.searchsorted(owners, numbers, "right") - 1
    starts = np.searchsorted(owners, numbers, "left")
    some = starts <= ends
    ties = np.zeros((len(begins), 4), dtype=np.int64)
    ties[:, BEGIN], ties[:, END] = begins, begins + sizes
    ties[some, FIRST], ties[some, LAST] = inputs[starts[some]], inputs[ends[some]] + 1
    return np.repeat(ties, sizes, axis=0)


@allocating
def blockwise_acceleration(
    ties: Indices,
    pushed: dynamics_kernels.EquationOfMotion,
    answer: dynamics_kernels.AccelerationMap,
) -> int:
    """Write the acceleration map of separate bodies without passive rows, body by body; ``L`` and
    ``G`` begin as zeros.
    """
    (M, nle, f, B), (L, a_free, G, motors) = pushed, answer
    begin, none = 0, np.zeros((0, 0))
    mass, factor, inputs, moved = none, none, none, none
    while begin < len(a_free):
        end, first, last = ties[begin, END], ties[begin, FIRST], ties[begin, LAST]
        if B.shape[1] == 0:
            first = last = 0
        n, nu = end - begin, last - first
        # room is kept from body to body: a swarm allocates once
        if mass.shape[0] != n or inputs.shape[1] != nu:
            mass, factor = np.empty((n, n)), np.empty((n, n))
            inputs, moved = np.empty((n, nu)), np.empty((n, nu))
        read_block(M, begin, begin, mass)
        read_block(B, begin, first, inputs)
        equation = dynamics_kernels.EquationOfMotion(mass, nle[begin:end], f[begin:end], inputs)
        its = dynamics_kernels.AccelerationMap(factor, a_free[begin:end], moved, motors[first:last])
        failed = dynamics_kernels.unconstrained_acceleration(equation, its)
        if failed < 0:
            return failed - begin
        write_block(factor, begin, begin, L)
        write_block(moved, begin, first, G)
        begin = end
    return 0


@compiled
def read_block(X: Matrix, row: int, column: int, block: Matrix) -> None:
    """Write a block of a matrix."""
    for i in range(block.shape[0]):
        for k in range(block.shape[1]):
            block[i, k] = X[row + i, column + k]


@compiled
def write_block(block: Matrix, row: int, column: int, X: Matrix) -> None:
    """Write a block into a matrix."""
    for i in range(block.shape[0]):
        for k in range(block.shape[1]):
            X[row + i, column + k] = block[i, k]


@inlined
def is_zero_run(bits: Indices, i: int, c: int) -> bool:
    """Return whether a `STRIDE` of a row is zeros, to the last bit."""
    some = 0
    for k in range(c, c + STRIDE):
        some |= bits[i, k]
    return some == 0


class RowOwners(NamedTuple):
    """Which rows are whose."""

    is_disjoint: bool
    """Whether each row is that of one body, and there are several."""
    order: Indices
    """Rows, body by body, shape ``(m,)``."""
    owners: Indices
    """The first freedom of each row's body, shape ``(m,)``."""


@allocating
def row_owners(ties: Indices, A: Matrix) -> RowOwners:
    """Return which body each row is of; a row of zeros is none's, nor one that ties two."""
    m, n = A.shape
    owners = np.zeros(m, dtype=np.int64)
    alone = m > 0 and n > 0 and ties[0, END] < n
    if alone:
        bits = A.view(np.int64)  # of which the processor looks at several at once
        for i in range(m):
            c, last = 0, n
            while c + STRIDE < n and is_zero_run(bits, i, c):
                c += STRIDE
            while c < n and A[i, c] == 0.0:
                c += 1
            while last - STRIDE > c and is_zero_run(bits, i, last - STRIDE):
                last -= STRIDE
            while last > c and A[i, last - 1] == 0.0:
                last -= 1
            alone = alone and c < n and last <= ties[c, END]
            owners[i] = ties[c, BEGIN] if alone else 0
    return RowOwners(alone, np.argsort(owners, kind="mergesort") if alone else owners, owners)


class KeptOwners(NamedTuple):
    """The owners of rows that never change, as they were found at first; else without room."""

    found: Indices
    """0 before, then 1, or 2 where rows are not disjoint, shape ``(1,)``."""
    order: Indices
    owners: Indices


def kept_owners(count: int) -> KeptOwners:
    """Return room for so many rows that never change; 0: they may."""
    return KeptOwners(*(np.zeros(n, dtype=np.int64) for n in (1, count, count)))


@allocating
def owners_of(ties: Indices, A: Matrix, kept: KeptOwners) -> RowOwners:
    """Return which body each row is of: looking through all rows of a swarm takes long."""
    if len(kept.owners) == 0:
        return row_owners(ties, A)
    if kept.found[0] == 0:
        split = row_owners(ties, A)
        kept.order[:] = split.order
        kept.owners[:] = split.owners
        kept.found[0] = 1 if split.is_disjoint else 2
    return RowOwners(kept.found[0] == 1, kept.order, kept.owners)


@inlined
def row_range(ties: Indices, kept: KeptOwners, i: int, n: int) -> tuple[int, int]:
    """Return between which columns a row may have entries."""
    if kept.found[0] != 1:
        return 0, n
    return ties[kept.owners[i], BEGIN], ties[kept.owners[i], END]


class BlockProblem(NamedTuple):
    """What `fast_input` and `surely_full_rank` are given, of one body."""

    A: Matrix
    G: Matrix
    L: Matrix
    b: Vector
    residual: Vector


@allocating
def block_problem(
    A: Matrix, G: Matrix, L: Matrix, b: Vector, rows: Indices, tie: Indices, buffers: BlockProblem
) -> BlockProblem:
    """Return the part of one body; arrays are those of the body before where they fit."""
    m, n, nu = len(rows), tie[END] - tie[BEGIN], tie[LAST] - tie[FIRST]
    block = buffers
    if block.A.shape[0] != m or block.A.shape[1] != n or block.G.shape[1] != nu:
        block = BlockProblem(
            np.empty((m, n)), np.empty((n, nu)), np.empty((n, n)), np.empty(m), np.empty(m)
        )
    read_block(G, tie[BEGIN], tie[FIRST], block.G)
    read_block(L, tie[BEGIN], tie[BEGIN], block.L)
    for i in range(m):
        block.b[i] = b[rows[i]]
        for c in range(n):
            block.A[i, c] = A[rows[i], tie[BEGIN] + c]
    return block


@allocating
def empty_block_problem() -> BlockProblem:
    """Return room for no rows."""
    none = np.zeros((0, 0))
    return BlockProblem(none, none, none, np.zeros(0), np.zeros(0))


@compiled
def next_block(shares: RowOwners, start: int) -> int:
    """Return where in the order the rows of the next body begin."""
    stop = start
    order, owners = shares.order, shares.owners
    while stop < len(order) and owners[order[stop]] == owners[order[start]]:
        stop += 1
    return stop


@allocating
def blockwise_input(
    ties: Indices, kept: KeptOwners, demand: ServoProblem, reach: float, u: Vector, miss: Vector
) -> int:
    """Write the least input body by body; return as `least_norm_input.checked_input`."""
    A, b, a_free, G, L, motors, R, u0, rtol = demand
    split = owners_of(ties, A, kept)
    # a metric may couple motors of several bodies
    if not split.is_disjoint or len(R) > 0:
        return rank_or_lost(fast_input(demand, u, miss), demand, miss, reach)
    for k in range(len(u)):
        u[k] = u0[k]
    block, total, start = empty_block_problem(), 0, 0
    while start < len(b):
        stop = next_block(split, start)
        rows = split.order[start:stop]
        tie = ties[split.owners[rows[0]]]
        block = block_problem(A, G, L, b, rows, tie, block)
        free, mine = a_free[tie[BEGIN] : tie[END]], slice(tie[FIRST], tie[LAST])
        subproblem = ServoProblem(
            block.A, block.b, free, block.G, block.L, motors[mine], R, u0[mine], rtol
        )
        rank = fast_input(subproblem, u[mine], block.residual)
        if rank < 0:
            return rank
        for i in range(len(rows)):
            miss[rows[i]] = block.residual[i]
        total += rank
        start = stop
    return rank_or_lost(total, demand, miss, reach)


@allocating
def blockwise_full_rank(
    ties: Indices,
    kept: KeptOwners,
    L: Matrix,
    A: Matrix,
    G: Matrix,
    motors: Vector,
    grips: Vector,
) -> int:
    """Write the grip of every row, body by body; return as `input_authority.surely_full_rank`."""
    split = owners_of(ties, A, kept)
    if not split.is_disjoint:
        return surely_full_rank(L, A, G, motors, grips)
    block, start, sure = empty_block_problem(), 0, True
    while start < len(grips):
        stop = next_block(split, start)
        rows = split.order[start:stop]
        tie = ties[split.owners[rows[0]]]
        block = block_problem(A, G, L, grips, rows, tie, block)
        sure = (
            surely_full_rank(
                block.L, block.A, block.G, motors[tie[FIRST] : tie[LAST]], block.residual
            )
            > 0
            and sure
        )
        for i in range(len(rows)):
            grips[rows[i]] = block.residual[i]
        start = stop
    return len(grips) if sure else 0


@inlined
def block_product_entry(start: float, ties: Indices, G: Matrix, u: Vector, i: int) -> float:
    """Add an entry of ``G u``, or of ``B u``, to a number."""
    for k in range(ties[i, FIRST], ties[i, LAST]):
        start += G[i, k] * u[k]
    return start


@inlined
def block_momentum_entry(start: float, ties: Indices, M: Matrix, v: Vector, i: int) -> float:
    """Add an entry of ``M v`` to a number."""
    for c in range(ties[i, BEGIN], ties[i, END]):
        start += M[i, c] * v[c]
    return start


@compiled
def apply_input_blockwise(ties: Indices, a_free: Vector, G: Matrix, u: Vector, a: Vector) -> bool:
    """Write ``a = a_free + G u``; return whether ``u`` is finite."""
    if len(a) == 0 or ties[0, END] == len(a):
        return dynamics_kernels.apply_input(a_free, G, u, a)
    finite = True
    for k in range(len(u)):
        finite = finite and np.isfinite(u[k])
    for i in range(len(a)):
        a[i] = block_product_entry(a_free[i], ties, G, u, i)
    return finite
