r"""The answer under passive rows that are clear of each other, by their Gram matrix; compiled.

Unit rows in mass-weighted coordinates are the columns of $T$, and $S = T^\top T = K D K^\top$. What
moves $x$ onto $T^\top x = d$ by the least is $T S^{-1} (d - T^\top x)$. It asks for no memory, and
takes half of the time of orthonormal rows (`ukctrl.core.algebra.row_space`), which decide wherever
rows come near each other.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ukctrl.core.algebra.clear_input import SQUARED, least_eigenvalue
from ukctrl.core.algebra.factorisation import (
    cholesky,
    copy_into,
    dot,
    factor_unrooted,
    solve_lower,
    solve_lower_columns,
    solve_unrooted,
    solve_upper,
    solve_upper_columns,
)
from ukctrl.core.algebra.kernels import Answer, Passive, Pushed
from ukctrl.core.algebra.products import column_lengths, write_gram, write_weighted_columns
from ukctrl.core.algebra.row_space import CLEAR, GRADUAL, NOTHING, drop_taken_up
from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.compiled import compiled

ROUND = 0.1
"""Squared singular values of unit rows above which squaring loses nothing."""
ITERATIONS = 6
"""Steps of inverse iteration for the smallest singular value."""


class Room(NamedTuple):
    """What `clear_answer` writes on its way; without rows it is not asked."""

    T: Matrix
    """Shape ``(n, m)``."""
    S: Matrix
    """And then its factor, as of `factor_unrooted`; shape ``(m, m)``."""
    each: Matrix
    """Lengths of the rows, ones, both demands for unit rows, and scratch, shape ``(5, m)``."""
    shares: Matrix
    """What inputs have of the rows, shape ``(m, nu)``."""


LENGTH, ONES, ASKED, BOTH, SCRATCH = range(5)


def room_for(n: int, m: int, nu: int) -> Room:
    """Return room for so many velocities, rows and inputs."""
    return Room(np.zeros((n, m)), np.zeros((m, m)), np.ones((5, m)), np.zeros((m, nu)))


@compiled
def clear_answer(room: Room, pushed: Pushed, passive: Passive, answer: Answer) -> int:
    """Do what `ukctrl.core.algebra.kernels.passive_answer` does; return 0 where rows are not clear
    of each other.
    """
    T, S, each, m = room.T, room.S, room.each, len(passive.A)
    (M, nle, f, B), (L, a_free, G, motors) = pushed, answer
    A, b, rtol, a_0, margins = passive
    length, asked, both = each[LENGTH], each[ASKED], each[BOTH]
    failed = cholesky(M, L)
    if failed > 0:
        return -failed
    write_weighted_columns(L, A, T)
    column_lengths(T, length)
    longest = 0.0
    for i in range(m):
        longest = max(longest, length[i])
    for i in range(m):
        if not length[i] > NOTHING * longest:
            return 0
        asked[i] = b[0, i] / length[i]
        both[i] = asked[i] + b[1, i] / length[i]
        scale = 1.0 / length[i]
        for c in range(len(T)):
            T[c, i] *= scale
    write_gram(T, S)
    if factor_unrooted(S, S) > 0:
        return 0
    least, border = least_eigenvalue(S, each[ONES], each[SCRATCH]), CLEAR * GRADUAL * rtol
    if not least > max(SQUARED, border * border):
        return 0
    margins[0], margins[1] = smallest_singular_value(S, each[SCRATCH]), 0.0
    times = 1 if least > ROUND else 2
    for i in range(len(a_0)):
        a_0[i] = f[i] - nle[i]
    solve_lower(L, a_0)
    move_onto(room, asked, times, a_0)
    copy_into(a_0, a_free)
    move_onto(room, both, times, a_free)
    solve_upper(L, a_0)
    solve_upper(L, a_free)
    copy_into(B, G)
    solve_lower_columns(L, G)
    column_lengths(G, motors)
    for _ in range(times):
        take_columns(room, G)
    drop_taken_up(motors, G)
    solve_upper_columns(L, G)
    return m


@compiled
def smallest_singular_value(S: Matrix, x: Vector) -> float:
    """Return that of unit rows from the factor of their Gram matrix; ``x`` is scratch.

    An estimate from above, by inverse iteration; the start leans on every direction.
    """
    length = 1.0
    for i in range(len(x)):
        x[i] = np.sin((i + 1.0) * (i + 1.0))
    length = np.sqrt(dot(x, x))
    for _ in range(ITERATIONS):
        for i in range(len(x)):
            x[i] /= length
        solve_unrooted(S, x)
        length = np.sqrt(dot(x, x))
    return float(1.0 / np.sqrt(length))


@compiled
def move_onto(room: Room, demand: Vector, times: int, x: Vector) -> None:
    """Move ``x`` by the least that makes ``T' x`` the demand."""
    T, z = room.T, room.each[SCRATCH]
    for _ in range(times):
        copy_into(demand, z)
        for c in range(len(x)):
            for i in range(len(z)):
                z[i] -= T[c, i] * x[c]
        solve_unrooted(room.S, z)
        for c in range(len(x)):
            for i in range(len(z)):
                x[c] += T[c, i] * z[i]


@compiled
def take_columns(room: Room, X: Matrix) -> None:
    """Take from every column of ``X`` what the rows have of it."""
    T, S, Z = room.T, room.S, room.shares
    (m, count), n = Z.shape, len(T)
    for i in range(m):
        for k in range(count):
            Z[i, k] = 0.0
        for c in range(n):
            for k in range(count):
                Z[i, k] += T[c, i] * X[c, k]
        for j in range(i):
            for k in range(count):
                Z[i, k] -= S[i, j] * Z[j, k]
    for i in range(m - 1, -1, -1):
        for k in range(count):
            Z[i, k] *= S[i, i]
        for j in range(i + 1, m):
            for k in range(count):
                Z[i, k] -= S[j, i] * Z[j, k]
    for c in range(n):
        for i in range(m):
            for k in range(count):
                X[c, k] -= T[c, i] * Z[i, k]
