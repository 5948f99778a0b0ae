"""What the start and the task, without their law, make of the limits that the law keeps."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ukctrl.analysis.check.findings import Judgement
from ukctrl.analysis.check.task_motion import Motion
from ukctrl.control.keep.keeper import Keeper
from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.errors import UkctrlError, quoted
from ukctrl.core.number_text import si
from ukctrl.mechanics.constraints import Stack
from ukctrl.simulation.loop import Loop

LOST = 1e-9
"""A row of which motors accelerate a smaller part is out of their reach."""
MOST_NAMED = 3
"""Of more quantities the others are counted."""
INSIDE = 1e-9
"""A quantity above minus this [unit] is kept."""


def kept_limits(loop: Loop, motion: Motion) -> Iterator[Judgement]:
    """Yield whether the start is inside, and which limits the exact task crosses, by how much."""
    keeper = loop.law.keeper
    if keeper is None:
        return
    stack = keeper.stack_on(loop.robot)
    snapshot = loop.truth.snapshot

    def at(t: float, q: Vector, v: Vector, a: Vector | None = None) -> tuple[Vector, Vector]:
        snapshot.move(q, v, t)
        return keeper.state_of(stack.write(snapshot), a)

    for doubt in keeper.doubts():
        yield Judgement("warning", "keep", doubt, None, "Give a smaller deceleration or speed.")
    try:
        yield from _out_of_reach(keeper, loop, stack)
        yield from _start(keeper, *at(loop.t0, *loop.state[:2]))
        if len(motion.t):
            knots = zip(motion.t, motion.q, motion.v, motion.a, strict=True)
            every = [at(*knot)[0] for knot in knots]
            yield from _along(keeper, motion.t, np.array(every))
    except UkctrlError as error:
        yield Judgement("warning", "keep", f"what is to be kept is not known: {error}")


def _out_of_reach(keeper: Keeper, loop: Loop, stack: Stack) -> Iterator[Judgement]:
    """Yield which quantities no input accelerates at the start."""
    q, v, _ = loop.state
    loop.truth.move(loop.t0, q, v)
    A, G = stack.write(loop.truth.snapshot).A[keeper.barriers.row], loop.truth.G
    felt = np.linalg.norm(A @ G, axis=1)
    size = np.linalg.norm(A, axis=1) * np.linalg.norm(G)
    lost = [
        name for name, x, most in zip(keeper.names, felt, size, strict=False) if x <= LOST * most
    ]
    if lost:
        more = f" and {len(lost) - MOST_NAMED} more" if len(lost) > MOST_NAMED else ""
        text = (
            f"no motor accelerates {quoted(lost[:MOST_NAMED])}{more} at once at the start, as "
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


def _along(keeper: Keeper, t: Vector, h: Matrix) -> Iterator[Judgement]:
    for block in dict.fromkeys(keeper.blocks):
        own = np.array([name == block for name in keeper.blocks])
        rows = np.flatnonzero(own & ~np.isnan(h).any(axis=0))
        if not len(rows):  # of forces, or of accelerations without any
            continue
        worst = rows[int(np.argmin(h[:, rows].min(axis=0)))]
        beyond = h[:, worst] < -INSIDE
        unit, least = keeper.units[worst], float(h[:, worst].min())
        if not beyond.any():
            text = f"the exact task stays within '{block}', with {si(least, unit)} to spare."
            yield Judgement("note", "keep", text)
            continue
        text = (
            f"the exact task goes beyond '{keeper.names[worst]}' by {si(-least, unit)} at t = "
            f"{t[int(h[:, worst].argmin())]:.4g} s, first at t = {t[int(beyond.argmax())]:.4g} s: "
            "the law keeps the limit, and the task gives way."
        )
        yield Judgement("warning", "keep", text, float(t[int(beyond.argmax())]))
