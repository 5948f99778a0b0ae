"""What the start and the task, without their law, make of the limits that the law keeps."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ukctrl.analysis.check.findings import AlongMotion, Judgement
from ukctrl.analysis.check.kept_along import INSIDE, Left, Stretch
from ukctrl.analysis.check.planned_lifts import Lifts
from ukctrl.control.keep.keeper import Keeper
from ukctrl.core.arrays import Vector
from ukctrl.core.errors import UkctrlError, quoted
from ukctrl.core.number_text import si
from ukctrl.mechanics.constraints import Stack
from ukctrl.mechanics.constraints.constraint import Rows
from ukctrl.simulation.loop import Loop

LOST = 1e-9
"""A row of which motors accelerate a smaller part is out of their reach."""
OPPOSED = 1e-9
"""Two rows are opposed when their directions differ from that by less than this."""
MOST_NAMED = 3
"""Of more quantities the others are counted."""


def kept_limits(loop: Loop, along: AlongMotion, lifts: Lifts) -> Iterator[Judgement]:
    """Yield whether the start is inside, which limits the exact task crosses, by how much, where
    no input keeps them beside the task, and where they contradict each other.
    """
    keeper = loop.law.keeper
    if keeper is None:
        return
    stack = keeper.stack_on(loop.robot)
    for doubt in keeper.doubts():
        yield Judgement("warning", "keep", doubt, None, "Give a smaller deceleration or speed.")
    try:
        yield from _out_of_reach(keeper, loop, stack, lifts)
        q, v, _ = loop.state
        loop.truth.snapshot.move(q, v, loop.t0)
        rows = stack.write(loop.truth.snapshot)
        h, inward = keeper.state_of(rows)
        yield from _start(keeper, h, inward)
        yield from _without_room(keeper, rows, h)
    except UkctrlError as error:
        yield _unknown("at the start", str(error))
        return
    if along.kept_unknown:
        yield _unknown("all along the exact task", along.kept_unknown)
    if along.left is not None and along.curves is not None:
        yield from _along(along.left, along.curves.t)
    for stretch in along.kept.stretches if along.kept is not None else ():
        if stretch.conflict or not stretch.crossed:
            yield _without_input(stretch)


def _unknown(where: str, why: str) -> Judgement:
    text = f"what is to be kept is not known {where}: {why}"
    cure = "Keep what has a value wherever the robot may be."
    return Judgement("warning", "keep", text, None, cure)


def _without_room(keeper: Keeper, rows: Rows, h: Vector) -> Iterator[Judgement]:
    """Yield which positions pull against each other at the start, with no room in between."""
    b, of = keeper.barriers, np.flatnonzero(keeper.barriers.degree == 2)
    inward = (b.sign[:, None] * rows.A[b.row])[of]
    size = np.linalg.norm(inward, axis=1)
    free = (h[: len(b.row)] - b.margin)[of]
    along = inward @ inward.T + size * size[:, None]
    gap = -(free * size[:, None] + free[:, None] * size)
    lacks = np.triu((along < OPPOSED * size * size[:, None]) & (gap > INSIDE * size), 1)
    for i, k in list(zip(*np.nonzero(lacks), strict=True))[:MOST_NAMED]:
        names, unit = [keeper.names[of[i]], keeper.names[of[k]]], keeper.units[of[i]]
        text = (
            f"{quoted(names)} contradict each other at the start, whatever the task asks: they "
            f"leave no room, but lack {si(float(gap[i, k] / size[k]), unit)} of it."
        )
        cure = "Move one of them; or say by order which gives way first."
        yield Judgement("warning", "keep", text, None, cure)


def _without_input(stretch: Stretch) -> Judgement:
    """Say of a stretch that is not only beyond a limit that no input keeps all."""
    when = f"from t = {stretch.start:.4g} s to {stretch.stop:.4g} s"
    if stretch.conflict:
        several = len(stretch.limits) + len(stretch.motors) != 1
        why = "they contradict each other at" if several else "the worst is"
        text = (
            f"{when} no input keeps all limits, whatever the task asks: {why} t = "
            f"{stretch.worst_at:.4g} s{stretch.by}."
        )
        cure = "Move a limit, or the path; or say by order which gives way first."
        return Judgement("warning", "keep", text, stretch.start, cure)
    text = (
        f"{when} no input serves the task and keeps all limits{stretch.by}: the task gives way, by "
        f"up to {stretch.gives_up:.3g} of its accelerations (t = {stretch.worst_at:.4g} s)."
    )
    cure = "Slow the path down there, keep further away, or give a shorter decay."
    return Judgement("warning", "keep", text, stretch.start, cure)


def _out_of_reach(keeper: Keeper, loop: Loop, stack: Stack, lifts: Lifts) -> Iterator[Judgement]:
    """Yield which quantities no input accelerates at the start, nor while contacts are lifted."""
    q, v, _ = loop.state
    lost = np.ones(len(keeper.barriers.row), dtype=bool)
    for t in (loop.t0, *(kind.middle for kind in lifts.kinds[1:])):
        loop.truth.move(t, q, v)
        A, G = stack.write(loop.truth.snapshot).A[keeper.barriers.row], loop.truth.G
        size = np.linalg.norm(A, axis=1) * np.linalg.norm(G)
        lost &= np.linalg.norm(A @ G, axis=1) <= LOST * size
    names = [keeper.names[i] for i in np.flatnonzero(lost)]
    if names:
        more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
        text = (
            f"no motor accelerates {quoted(names[:MOST_NAMED])}{more} at once at the start, as "
            "behind springs or at a singularity: nothing keeps it there, and it gives way."
        )
        cure = "Keep what the motors move at once, such as the joints before the springs."
        yield Judgement("warning", "keep", text, None, cure)


def _start(keeper: Keeper, h: Vector, inward: Vector) -> Iterator[Judgement]:
    for k, (name, unit) in enumerate(zip(keeper.names, keeper.units, strict=True)):
        if h[k] < -INSIDE:
            text = (
                f"the start is beyond the limit '{name}' by {si(-float(h[k]), unit)}: the law "
                "comes back to it, but nothing keeps it until then."
            )
            yield Judgement("warning", "keep", text, None, "Start inside, or move the limit.")
        elif inward[k] < -INSIDE:
            text = (
                f"the start moves towards the limit '{name}' faster than its decay lets it, with "
                f"{si(float(h[k]), unit)} left: it may be crossed."
            )
            cure = "Start slower, or give a shorter decay."
            yield Judgement("warning", "keep", text, None, cure)


def _along(left: Left, t: Vector) -> Iterator[Judgement]:
    """Yield of every block how much the exact task leaves, or by how much it is beyond."""
    for block in dict.fromkeys(left.blocks[: left.forces]):
        own = np.array([name == block for name in left.blocks[: left.forces]])
        rows = np.flatnonzero(own & ~np.isnan(left.h[:, : left.forces]).any(axis=0))
        if not len(rows):  # of accelerations without any
            continue
        row = rows[int(np.argmin(left.h[:, rows].min(axis=0)))]
        h, unit = left.h[:, row], left.units[row]
        beyond, least = h < -INSIDE, float(h.min())
        if not beyond.any():
            text = f"the exact task stays within '{block}', with {si(least, unit)} to spare."
            yield Judgement("note", "keep", text)
            continue
        since = float(t[int(beyond.argmax())])
        text = (
            f"the exact task goes beyond '{left.names[row]}' by {si(-least, unit)} at t = "
            f"{t[int(h.argmin())]:.4g} s, first at t = {since:.4g} s: the law keeps the limit, and "
            "the task gives way."
        )
        yield Judgement("warning", "keep", text, since)
