"""Bodies that share no entry of ``M`` and ``B`` are solved one after the other, compiled.

Of a swarm the mass matrix is blocks on the diagonal, and so are its factor and ``G``: nothing else
of these tables is read or written, so that a state costs as much time and memory as there are
bodies. The *ties* of a freedom, shape ``(nv, 4)``, say where its block begins and ends: first and
last freedom, first and last input. Bodies that hang together have one block, which is all of it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ukctrl.core.algebra import kernels
from ukctrl.core.algebra.factorisation import LONG
from ukctrl.core.algebra.grip import firm
from ukctrl.core.algebra.least_input import Demand, judged, quick_input
from ukctrl.core.arrays import Flags, Indices, Matrix, Vector
from ukctrl.core.compiled import allocating, compiled, inlined

BEGIN, END, FIRST, BEYOND = range(4)
"""Columns of ties."""
STRIDE = 64
"""Entries of a row that are looked at together."""


def all_tied(nv: int, nu: int) -> Indices:
    """Return the ties of freedoms that hang together."""
    return np.tile(np.array([0, nv, 0, nu], dtype=np.int64), (nv, 1))


def ties_of(trees: Indices, pushed: Flags) -> Indices:
    """Return the ties of freedoms.

    Args:
        trees: Number of the tree that carries each freedom, shape ``(nv,)``.
        pushed: Whether an input may push a freedom, shape ``(nv, nu)``.
    """
    nv, nu = pushed.shape
    if nv < LONG or (np.diff(trees) < 0).any():
        return all_tied(nv, nu)
    begins = np.flatnonzero(np.diff(trees, prepend=-1))
    sizes = np.diff(begins, append=nv)
    freedoms, inputs = np.nonzero(pushed)
    order = np.argsort(inputs, kind="stable")
    owners, inputs = trees[freedoms[order]], inputs[order]
    if (np.diff(owners) < 0).any() or (np.diff(owners)[np.diff(inputs) == 0] != 0).any():
        return all_tied(nv, nu)
    numbers = trees[begins]
    ends = np.searchsorted(owners, numbers, "right") - 1
    starts = np.searchsorted(owners, numbers, "left")
    some = starts <= ends
    ties = np.zeros((len(begins), 4), dtype=np.int64)
    ties[:, BEGIN], ties[:, END] = begins, begins + sizes
    ties[some, FIRST], ties[some, BEYOND] = inputs[starts[some]], inputs[ends[some]] + 1
    return np.repeat(ties, sizes, axis=0)


@allocating
def separate_answer(ties: Indices, pushed: kernels.Pushed, answer: kernels.Answer) -> int:
    """Do what `ukctrl.core.algebra.kernels.plain_answer` does, body by body; ``L`` and ``G`` begin
    as zeros.
    """
    (M, nle, f, B), (L, a_free, G, motors) = pushed, answer
    begin, none = 0, np.zeros((0, 0))
    mass, factor, inputs, moved = none, none, none, none
    while begin < len(a_free):
        end, first, beyond = ties[begin, END], ties[begin, FIRST], ties[begin, BEYOND]
        if B.shape[1] == 0:
            first = beyond = 0
        n, nu = end - begin, beyond - first
        if mass.shape[0] != n or inputs.shape[1] != nu:
            mass, factor = np.empty((n, n)), np.empty((n, n))
            inputs, moved = np.empty((n, nu)), np.empty((n, nu))
        take_block(M, begin, begin, mass)
        take_block(B, begin, first, inputs)
        own = kernels.Pushed(mass, nle[begin:end], f[begin:end], inputs)
        its = kernels.Answer(factor, a_free[begin:end], moved, motors[first:beyond])
        failed = kernels.plain_answer(own, its)
        if failed < 0:
            return failed - begin
        put_block(factor, begin, begin, L)
        put_block(moved, begin, first, G)
        begin = end
    return 0


@compiled
def take_block(X: Matrix, row: int, column: int, block: Matrix) -> None:
    """Write a block of a matrix."""
    for i in range(block.shape[0]):
        for k in range(block.shape[1]):
            block[i, k] = X[row + i, column + k]


@compiled
def put_block(block: Matrix, row: int, column: int, X: Matrix) -> None:
    """Write a block into a matrix."""
    for i in range(block.shape[0]):
        for k in range(block.shape[1]):
            X[row + i, column + k] = block[i, k]


@inlined
def is_clear(bits: Indices, i: int, c: int) -> bool:
    """Return whether a `STRIDE` of a row is zeros, to the last bit."""
    some = 0
    for k in range(c, c + STRIDE):
        some |= bits[i, k]
    return some == 0


class Shares(NamedTuple):
    """Which rows are whose."""

    alone: bool
    """Whether each row is that of one body, and there are several."""
    order: Indices
    """Rows, body by body, shape ``(m,)``."""
    owners: Indices
    """The first freedom of each row's body, shape ``(m,)``."""


@allocating
def shares(ties: Indices, A: Matrix) -> Shares:
    """Return which body each row is of; a row of zeros is none's, nor one that ties two."""
    m, n = A.shape
    owners = np.zeros(m, dtype=np.int64)
    alone = m > 0 and n > 0 and ties[0, END] < n
    if alone:
        bits = A.view(np.int64)  # of which the processor looks at several at once
        for i in range(m):
            c, last = 0, n
            while c + STRIDE < n and is_clear(bits, i, c):
                c += STRIDE
            while c < n and A[i, c] == 0.0:
                c += 1
            while last - STRIDE > c and is_clear(bits, i, last - STRIDE):
                last -= STRIDE
            while last > c and A[i, last - 1] == 0.0:
                last -= 1
            alone = alone and c < n and last <= ties[c, END]
            owners[i] = ties[c, BEGIN] if alone else 0
    return Shares(alone, np.argsort(owners, kind="mergesort") if alone else owners, owners)


class Own(NamedTuple):
    """What `quick_input` and `firm` are given, of one body."""

    A: Matrix
    G: Matrix
    L: Matrix
    b: Vector
    miss: Vector


@allocating
def own_part(
    A: Matrix, G: Matrix, L: Matrix, b: Vector, rows: Indices, tie: Indices, before: Own
) -> Own:
    """Return the part of one body; arrays are those of the body before where they fit."""
    m, n, nu = len(rows), tie[END] - tie[BEGIN], tie[BEYOND] - tie[FIRST]
    own = before
    if own.A.shape[0] != m or own.A.shape[1] != n or own.G.shape[1] != nu:
        own = Own(np.empty((m, n)), np.empty((n, nu)), np.empty((n, n)), np.empty(m), np.empty(m))
    take_block(G, tie[BEGIN], tie[FIRST], own.G)
    take_block(L, tie[BEGIN], tie[BEGIN], own.L)
    for i in range(m):
        own.b[i] = b[rows[i]]
        for c in range(n):
            own.A[i, c] = A[rows[i], tie[BEGIN] + c]
    return own


@allocating
def no_part() -> Own:
    """Return room for no rows."""
    none = np.zeros((0, 0))
    return Own(none, none, none, np.zeros(0), np.zeros(0))


@compiled
def next_body(shares: Shares, start: int) -> int:
    """Return where in the order the rows of the next body begin."""
    stop = start
    order, owners = shares.order, shares.owners
    while stop < len(order) and owners[order[stop]] == owners[order[start]]:
        stop += 1
    return stop


@allocating
def separate_input(ties: Indices, demand: Demand, reach: float, u: Vector, miss: Vector) -> int:
    """Do what `ukctrl.core.algebra.least_input.checked_input` does."""
    A, b, a_free, G, L, motors, R, u0, rtol = demand
    split = shares(ties, A)
    if not split.alone or len(R) > 0:
        return judged(quick_input(demand, u, miss), demand, miss, reach)
    for k in range(len(u)):
        u[k] = u0[k]
    own, total, start = no_part(), 0, 0
    while start < len(b):
        stop = next_body(split, start)
        rows = split.order[start:stop]
        tie = ties[split.owners[rows[0]]]
        own = own_part(A, G, L, b, rows, tie, own)
        free, mine = a_free[tie[BEGIN] : tie[END]], slice(tie[FIRST], tie[BEYOND])
        asked = Demand(own.A, own.b, free, own.G, own.L, motors[mine], R, u0[mine], rtol)
        rank = quick_input(asked, u[mine], own.miss)
        if rank < 0:
            return rank
        for i in range(len(rows)):
            miss[rows[i]] = own.miss[i]
        total += rank
        start = stop
    return judged(total, demand, miss, reach)


@allocating
def separate_firm(
    ties: Indices, L: Matrix, A: Matrix, G: Matrix, motors: Vector, grips: Vector
) -> int:
    """Do what `ukctrl.core.algebra.grip.firm` does."""
    split = shares(ties, A)
    if not split.alone:
        return firm(L, A, G, motors, grips)
    own, start, sure = no_part(), 0, True
    while start < len(grips):
        stop = next_body(split, start)
        rows = split.order[start:stop]
        tie = ties[split.owners[rows[0]]]
        own = own_part(A, G, L, grips, rows, tie, own)
        sure = firm(own.L, own.A, own.G, motors[tie[FIRST] : tie[BEYOND]], own.miss) > 0 and sure
        for i in range(len(rows)):
            grips[rows[i]] = own.miss[i]
        start = stop
    return len(grips) if sure else 0


@inlined
def moved_by(start: float, ties: Indices, G: Matrix, u: Vector, i: int) -> float:
    """Add an entry of ``G u``, or of ``B u``, to a number."""
    for k in range(ties[i, FIRST], ties[i, BEYOND]):
        start += G[i, k] * u[k]
    return start


@inlined
def momentum(start: float, ties: Indices, M: Matrix, v: Vector, i: int) -> float:
    """Add an entry of ``M v`` to a number."""
    for c in range(ties[i, BEGIN], ties[i, END]):
        start += M[i, c] * v[c]
    return start


@compiled
def acceleration(ties: Indices, a_free: Vector, G: Matrix, u: Vector, a: Vector) -> bool:
    """Write ``a = a_free + G u``; return whether ``u`` is finite."""
    if len(a) == 0 or ties[0, END] == len(a):
        return kernels.acceleration(a_free, G, u, a)
    finite = True
    for k in range(len(u)):
        finite = finite and np.isfinite(u[k])
    for i in range(len(a)):
        a[i] = moved_by(a_free[i], ties, G, u, i)
    return finite
