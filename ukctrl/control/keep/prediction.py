r"""What rows lose until the end of a tick under the input that is held, compiled.

That is predicted: the robot is evaluated in the middle of the tick and at its end.
"""

from __future__ import annotations

from typing import NamedTuple

from ukctrl.control.keep.barriers import Barriers
from ukctrl.control.keep.program import terms
from ukctrl.core.algebra.factorisation import copy_into, long_dot
from ukctrl.core.algebra.separate import acceleration
from ukctrl.core.arrays import Indices, Matrix, Vector
from ukctrl.core.compiled import compiled
from ukctrl.core.program import run
from ukctrl.mechanics.constraints.constraint import Rows
from ukctrl.robot.configuration_kernels import integrate

AT = 1e-7
"""A row binds within this part of its terms."""
MIDDLE = 2.0
"""With the input a tick's losses change by up to so many times that of the midpoint rule: they grow
with the time, or its square."""


class Place(NamedTuple):
    """A state of a robot, where its steps read it."""

    clock: Vector
    q: Vector
    v: Vector


class Moved(NamedTuple):
    """A robot's answer to its input at the tick."""

    ties: Indices
    a_free: Vector
    G: Matrix
    L: Matrix
    motors: Vector


class Ahead(NamedTuple):
    """What predicts the end of a tick."""

    period: float
    """[s]; zero: nothing is predicted."""
    here: Place
    there: Place
    blocks: Indices
    """How configurations move."""
    lines: Indices
    """What evaluates the robot and the rows there, under the input of the tick."""
    a: Vector
    rows: Rows


class Asked(NamedTuple):
    """What inputs must obey: ``low <= C u <= high``."""

    low: Vector
    """Lowest inputs."""
    high: Vector
    """Highest inputs."""
    C: Matrix
    """One row for every motor, every row of which quantities are made, and every force; the first
    are there, and the last."""
    force: Vector
    """What forces are without any input."""
    row: Indices
    """Of every quantity to keep, which of these rows it is, forces last, shape ``(k,)``."""
    sign: Vector
    """And in which direction: 1 or -1."""
    least: Vector
    """What it must reach: written, for whoever tells why it cannot."""


class Seen(NamedTuple):
    """What an input does to the quantities, shape ``(k,)`` where no other stands there."""

    rows: Matrix
    """Rows with bounds times the input, and the sums of their terms, each without its sign; but
    for those of motors."""
    at: Vector
    """The row of each times the input, in its direction."""
    terms: Vector
    """The sum of its terms."""
    now: Vector
    """What each has, with all that acts without the input."""
    less: Matrix
    """What it loses until the middle of the tick, the same predicted again, and until its end,
    shape ``(3, k)``."""
    ways: Matrix
    """The acceleration under it, and scratch, shape ``(3, max(nv, rows))``."""


@compiled
def looked_at(asked: Asked, u: Vector, free: Vector, seen: Seen) -> None:
    """Write what all quantities have under an input, and without any, ``free``."""
    for i in range(len(u), len(asked.C)):
        seen.rows[0, i], seen.rows[1, i] = long_dot(asked.C[i], u), terms(asked.C[i], u)
    for i in range(len(free)):
        row = asked.row[i]
        seen.at[i], seen.terms[i] = asked.sign[i] * seen.rows[0, row], seen.rows[1, row]
        seen.now[i] = free[i] + seen.at[i]


@compiled
def predicted(
    ahead: Ahead, barriers: Barriers, robot: Moved, u: Vector, begin: int, end: int, seen: Seen
) -> bool:
    """Write what rows lose until stages of the tick, by a prediction of each; return whether there
    is one.

    The stages are those of Nyström's method of order 4.

    Args:
        ahead: What predicts.
        barriers: The rows.
        robot: At the tick.
        u: The input that is held.
        begin: The first stage; those before it were written for the same input.
        end: One past the last.
        seen: What the input does at the tick; receives it.
    """
    nv, then = len(robot.a_free), seen.ways[2]
    first, way = seen.ways[0, :nv], seen.ways[1, :nv]
    if begin == 0:
        acceleration(robot.ties, robot.a_free, robot.G, u, first)
        copy_into(first, ahead.a)
    for stage in range(begin, end):
        step = ahead.period if stage == 2 else 0.5 * ahead.period
        for c in range(nv):
            pull = ahead.a[c] if stage == 2 else first[c]
            way[c] = step * (ahead.here.v[c] + 0.5 * step * pull)
            ahead.there.v[c] = ahead.here.v[c] + step * ahead.a[c]
        integrate(ahead.blocks, ahead.here.q, way, ahead.there.q)
        ahead.there.clock[0] = ahead.here.clock[0] + step
        if run(ahead.lines) < 0:
            return False
        for k in range(len(ahead.rows.b)):
            then[k] = long_dot(ahead.rows.A[k], ahead.a) - ahead.rows.b[k]
        for i in range(len(barriers.row)):
            seen.less[stage, i] = seen.now[i] - barriers.sign[i] * then[barriers.row[i]]
    return True


@compiled
def losses(barriers: Barriers, stages: int, less: Matrix, beside: Vector, lost: Vector) -> None:
    """Write what each row loses until the end of the tick, zero or more: on average, or of a row of
    the acceleration itself at the most.

    All stages count with the weights of Nyström's method. The first alone counts with those of the
    midpoint rule, to which ``beside`` is added: by how much that fell short when all were known.
    """
    for i in range(len(barriers.row)):
        middle, again, end, most = less[0, i], less[1, i], less[2, i], barriers.degree[i] == 0
        by_middle = 2.0 * middle if most else middle
        if stages == 3:
            total = max(middle, again, end) if most else (middle + again) / 3.0 + end / 6.0
            beside[i] = total - by_middle
        lost[i] = max(by_middle + beside[i], 0.0)


@compiled
def change(seen: Seen, least: Vector, size: Vector, before: Vector, lost: Vector) -> float:
    """Return by which part of its size that is changed which a row asks of the input.

    Rows count that bind, and those that the input does not obey any more: without any, it stays.
    """
    most = 0.0
    for i in range(len(lost)):
        spare, more = seen.now[i] - least[i] - before[i], lost[i] - before[i]
        less = -more if spare <= AT * (size[i] + seen.terms[i]) else 0.0
        most = max(most, max(more - max(spare, 0.0), less) / size[i])
    return most
