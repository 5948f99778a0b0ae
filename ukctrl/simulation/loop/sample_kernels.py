"""What is kept of a sample, worked out at one state of the true robot, compiled."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ukctrl.core.algebra import separate
from ukctrl.core.algebra.factorisation import copy_into
from ukctrl.core.algebra.grip import firm
from ukctrl.core.algebra.products import write_times
from ukctrl.core.arrays import Indices, Matrix, Vector
from ukctrl.core.compiled import allocating, compiled


class Plain(NamedTuple):
    """Where quantities that every robot has stand in a sample."""

    time: Vector
    q: Vector
    v: Vector
    a: Vector
    u: Vector
    phi: Vector
    beta: Vector
    actuator_rate: Vector
    kinetic_energy: Vector
    energy: Vector
    power: Vector
    answer: Vector
    """``A G``, of the servo rows to the inputs, row by row; or none of it."""
    asked: Vector
    """``d - A a_free``, what the servo rows ask of the inputs."""


class Reactions(NamedTuple):
    """Where those of robots with passive constraints stand."""

    phi: Vector
    beta: Vector
    force: Vector
    rank: Vector
    sigma_min: Vector
    sigma_dropped: Vector
    reaction: Vector
    residual: Vector
    power: Vector


@compiled
def keep_plain(
    clock: Vector,
    q: Vector,
    v: Vector,
    a: Vector,
    u: Vector,
    ties: Indices,
    M: Matrix,
    B: Matrix,
    rows: tuple[Matrix, Vector, Vector, Vector],
    affine: tuple[Vector, Matrix],
    demand: Vector,
    asks: Vector,
    asked_at: Vector,
    potential: Vector,
    now: Plain,
) -> None:
    """Write the plain quantities but the power.

    The law's own demand counts where it was asked at this time, else that of the exact motion.
    """
    A, b, beta, phi = rows[0], rows[1], rows[2], rows[3]
    a_free, G = affine[0], affine[1]
    n, nu, m = len(v), len(u), len(b)
    now.time[0] = clock[0]
    copy_into(q, now.q)
    copy_into(v, now.v)
    copy_into(a, now.a)
    copy_into(u, now.u)
    copy_into(phi, now.phi)
    copy_into(beta, now.beta)
    kinetic = 0.0
    for i in range(n):
        kinetic += 0.5 * v[i] * separate.momentum(0.0, ties, M, v, i)
    for k in range(nu):
        now.actuator_rate[k] = 0.0
    for i in range(n):
        for k in range(ties[i, separate.FIRST], ties[i, separate.BEYOND]):
            now.actuator_rate[k] += v[i] * B[i, k]
    now.kinetic_energy[0], now.energy[0] = kinetic, kinetic + potential[0]
    own = asks[0] != 0.0 and asked_at[0] == clock[0]
    for i in range(m):
        now.asked[i] = demand[i] if own else b[i]
        for c in range(n):
            now.asked[i] -= A[i, c] * a_free[c]
    if len(now.answer) > 0:
        write_times(A, G, now.answer.reshape(m, nu))


class Reach(NamedTuple):
    """Where what the motors can do about many rows stands in a sample; see `row_grip`."""

    rank: Vector
    sigma_min: Vector
    reach: Vector


@allocating
def keep_reach(
    ties: Indices, A: Matrix, G: Matrix, asked: Vector, grips: Vector, lost: float, now: Reach
) -> bool:
    """Write what motors can do about rows of which no two share an input; return whether so.

    Such rows of ``A G`` are orthogonal, and their lengths its singular values.
    """
    taken, row = np.zeros(G.shape[1]), np.zeros(G.shape[1])
    rank, smallest, missed = 0.0, np.inf, 0.0
    for i in range(len(A)):
        square = 0.0
        for c in range(A.shape[1]):
            if A[i, c] != 0.0 and grips[i] > lost:
                for k in range(ties[c, separate.FIRST], ties[c, separate.BEYOND]):
                    row[k] += A[i, c] * G[c, k]
        for c in range(A.shape[1]):
            if A[i, c] != 0.0 and grips[i] > lost:
                for k in range(ties[c, separate.FIRST], ties[c, separate.BEYOND]):
                    if row[k] != 0.0:
                        if taken[k] != 0.0:
                            return False
                        square += row[k] * row[k]
                        taken[k], row[k] = 1.0, 0.0
        if square > 0.0:
            rank += 1.0
            smallest = min(smallest, np.sqrt(square))
        else:
            missed += asked[i] * asked[i]
    now.rank[0], now.sigma_min[0] = rank, smallest if rank > 0.0 else 0.0
    now.reach[0] = np.sqrt(missed)
    return True


@compiled
def keep_grip(L: Matrix, A: Matrix, G: Matrix, motors: Vector, grips: Vector, held: Vector) -> bool:
    """Write the grip of every row, and how many are held; return whether all are, for sure."""
    rank = firm(L, A, G, motors, grips)
    held[0] = rank
    return rank > 0


@compiled
def keep_separate_grip(
    ties: Indices, L: Matrix, A: Matrix, G: Matrix, motors: Vector, grips: Vector, held: Vector
) -> bool:
    """Do what `keep_grip` does, body by body."""
    rank = separate.separate_firm(ties, L, A, G, motors, grips)
    held[0] = rank
    return rank > 0


@compiled
def keep_reactions(
    rows: tuple[Matrix, Vector, Vector, Vector],
    nonideal: Vector,
    ranks: Indices,
    margins: Vector,
    now: Reactions,
) -> None:
    """Write what the passive constraints are and do, once ``force`` and ``reaction`` are there."""
    A, beta, phi = rows[0], rows[2], rows[3]
    copy_into(phi, now.phi)
    copy_into(beta, now.beta)
    now.rank[0], now.sigma_min[0], now.sigma_dropped[0] = ranks[0], margins[0], margins[1]
    now.power[0] = 0.0
    for i in range(len(beta)):
        now.power[0] += now.reaction[i] * beta[i]
    rest = 0.0
    for c in range(A.shape[1]):
        left = now.force[c] - nonideal[c]
        for i in range(len(beta)):
            left -= now.reaction[i] * A[i, c]
        rest += left * left
    now.residual[0] = np.sqrt(rest)


@compiled
def keep_place(rotation: Matrix, translation: Vector, inside: Vector, place: Vector) -> None:
    """Write where a point is that is fixed inside a joint's frame."""
    for i in range(3):
        place[i] = translation[i]
        for k in range(3):
            place[i] += rotation[i, k] * inside[k]


@compiled
def keep_trace(
    position: Vector, path: Vector, axes: Indices, place: Vector, reference: Vector
) -> None:
    """Write where a frame is and, along some axes, where its path has it."""
    copy_into(position, place)
    for i in range(len(axes)):
        reference[axes[i]] = path[i]


@compiled
def keep_row(now: Vector, counts: Indices, block: Matrix) -> bool:
    """Copy a sample into its row of the block; return whether there is one.

    ``counts`` are the samples so far and those before the first row.
    """
    row = counts[0] - counts[1]
    if row == len(block):
        return False
    for i in range(len(now)):
        block[row, i] = now[i]
    return True


@compiled
def is_later(counts: Indices) -> bool:
    """Return whether there is a sample already."""
    return bool(counts[0] > 0)


@compiled
def other_state(v: Vector) -> None:
    """Change a velocity a little, so that nothing that is known of the state is used again."""
    v[0] += 1e-9


@compiled
def count_up(counts: Indices) -> None:
    """Count a sample."""
    counts[0] += 1


@compiled
def within(part: Vector, limit: float) -> bool:
    """Return whether an error, without what is not a number, is not longer than a limit."""
    total = 0.0
    for i in range(len(part)):
        if part[i] == part[i]:
            total += part[i] * part[i]
    return bool(np.sqrt(total) <= limit)
