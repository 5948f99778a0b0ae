"""What the start and the task, without their law, make of the limits that the law keeps."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ukctrl.analysis.check.check_result import Diagnostic, MotionCheck
from ukctrl.analysis.check.contact_phases import ContactSchedule
from ukctrl.analysis.check.safety_feasibility import (
    LIMIT_TOLERANCE,
    InfeasibleInterval,
    SlackCurves,
)
from ukctrl.control.safety.safety_filter import SafetyFilter
from ukctrl.core.arrays import Vector
from ukctrl.core.errors import UkctrlError, quoted
from ukctrl.core.number_text import si
from ukctrl.mechanics.constraints import Stack
from ukctrl.mechanics.constraints.constraint import Rows
from ukctrl.simulation.assemble import Loop

ACTUATION_RTOL = 1e-9
"""A row of which motors accelerate a smaller part is out of their reach."""
OPPOSITE_RTOL = 1e-9
"""Two rows are opposed when their directions differ from that by less than this."""
MAX_NAMED = 3
"""Of more quantities the others are counted."""


def safety_diagnostics(
    loop: Loop, along: MotionCheck, lifts: ContactSchedule
) -> Iterator[Diagnostic]:
    """Yield whether the start is inside, which limits the exact task crosses, by how much, where
    no input keeps them beside the task, and where they contradict each other.
    """
    keeper = loop.law.keeper
    if keeper is None:
        return
    stack = keeper.stack_on(loop.robot)
    for doubt in keeper.warnings():
        yield Diagnostic("warning", "keep", doubt, None, "Give a smaller deceleration or speed.")
    try:
        yield from _unactuated_limits(keeper, loop, stack, lifts)
        q, v, _ = loop.state
        loop.plant.snapshot.move(q, v, loop.t0)
        rows = stack.write(loop.plant.snapshot)
        h, inward = keeper.margins_at(rows)
        yield from _start_diagnostics(keeper, h, inward)
        yield from _opposed_limits(keeper, rows, h)
    except UkctrlError as error:
        yield _unknown_diagnostic("at the start", str(error))
        return
    if along.kept_unknown:
        yield _unknown_diagnostic("all along the exact task", along.kept_unknown)
    if along.left is not None and along.curves is not None:
        yield from _crossing_diagnostics(along.left, along.curves.t)
    for stretch in along.kept.stretches if along.kept is not None else ():
        if stretch.conflict or not stretch.crossed:
            yield _infeasible_diagnostic(stretch)


def _unknown_diagnostic(where: str, reason: str) -> Diagnostic:
    text = f"what is to be kept is not known {where}: {reason}"
    cure = "Keep what has a value wherever the robot may be."
    return Diagnostic("warning", "keep", text, None, cure)


def _opposed_limits(keeper: SafetyFilter, rows: Rows, h: Vector) -> Iterator[Diagnostic]:
    """Yield which positions pull against each other at the start, with no room in between."""
    b, of = keeper.barriers, np.flatnonzero(keeper.barriers.degree == 2)
    inward = (b.sign[:, None] * rows.A[b.row])[of]
    size = np.linalg.norm(inward, axis=1)
    free = (h[: len(b.row)] - b.margin)[of]
    along = inward @ inward.T + size * size[:, None]
    gap = -(free * size[:, None] + free[:, None] * size)
    lacks = np.triu(
        (along < OPPOSITE_RTOL * size * size[:, None]) & (gap > LIMIT_TOLERANCE * size), 1
    )
    for i, k in list(zip(*np.nonzero(lacks), strict=True))[:MAX_NAMED]:
        names, unit = [keeper.names[of[i]], keeper.names[of[k]]], keeper.units[of[i]]
        text = (
            f"{quoted(names)} contradict each other at the start, whatever the task asks: they "
            f"leave no room, but lack {si(float(gap[i, k] / size[k]), unit)} of it."
        )
        cure = "Move one of them; or say by order which gives way first."
        yield Diagnostic("warning", "keep", text, None, cure)


def _infeasible_diagnostic(stretch: InfeasibleInterval) -> Diagnostic:
    """Say of a stretch that is not only beyond a limit that no input keeps all."""
    when = f"from t = {stretch.start:.4g} s to {stretch.stop:.4g} s"
    if stretch.conflict:
        several = len(stretch.limits) + len(stretch.motors) != 1
        reason = "they contradict each other at" if several else "the worst is"
        text = (
            f"{when} no input keeps all limits, whatever the task asks: {reason} t = "
            f"{stretch.worst_at:.4g} s{stretch.binding_text}."
        )
        cure = "Move a limit, or the path; or say by order which gives way first."
        return Diagnostic("warning", "keep", text, stretch.start, cure)
    text = (
        f"{when} no input serves the task and keeps all limits{stretch.binding_text}: the task "
        "gives way, by "
        f"up to {stretch.gives_up:.3g} of its accelerations (t = {stretch.worst_at:.4g} s)."
    )
    cure = "Slow the path down there, keep further away, or give a shorter decay."
    return Diagnostic("warning", "keep", text, stretch.start, cure)


def _unactuated_limits(
    keeper: SafetyFilter, loop: Loop, stack: Stack, lifts: ContactSchedule
) -> Iterator[Diagnostic]:
    """Yield which quantities no input accelerates at the start, nor while contacts are lifted."""
    q, v, _ = loop.state
    lost = np.ones(len(keeper.barriers.row), dtype=bool)
    for t in (loop.t0, *(kind.middle for kind in lifts.distinct_phases[1:])):
        loop.plant.move(t, q, v)
        A, G = stack.write(loop.plant.snapshot).A[keeper.barriers.row], loop.plant.G
        size = np.linalg.norm(A, axis=1) * np.linalg.norm(G)
        lost &= np.linalg.norm(A @ G, axis=1) <= ACTUATION_RTOL * size
    names = [keeper.names[i] for i in np.flatnonzero(lost)]
    if names:
        more = f" and {len(names) - MAX_NAMED} more" if len(names) > MAX_NAMED else ""
        text = (
            f"no motor accelerates {quoted(names[:MAX_NAMED])}{more} at once at the start, as "
            "behind springs or at a singularity: nothing keeps it there, and it gives way."
        )
        cure = "Keep what the motors move at once, such as the joints before the springs."
        yield Diagnostic("warning", "keep", text, None, cure)


def _start_diagnostics(keeper: SafetyFilter, h: Vector, inward: Vector) -> Iterator[Diagnostic]:
    for k, (name, unit) in enumerate(zip(keeper.names, keeper.units, strict=True)):
        if h[k] < -LIMIT_TOLERANCE:
            text = (
                f"the start is beyond the limit '{name}' by {si(-float(h[k]), unit)}: the law "
                "comes back to it, but nothing keeps it until then."
            )
            yield Diagnostic("warning", "keep", text, None, "Start inside, or move the limit.")
        elif inward[k] < -LIMIT_TOLERANCE:
            text = (
                f"the start moves towards the limit '{name}' faster than its decay lets it, with "
                f"{si(float(h[k]), unit)} left: it may be crossed."
            )
            cure = "Start slower, or give a shorter decay."
            yield Diagnostic("warning", "keep", text, None, cure)


def _crossing_diagnostics(slack_curves: SlackCurves, t: Vector) -> Iterator[Diagnostic]:
    """Yield of every block how much the exact task leaves, or by how much it is beyond."""
    for block in dict.fromkeys(slack_curves.blocks[: slack_curves.force_offset]):
        block_mask = np.array(
            [name == block for name in slack_curves.blocks[: slack_curves.force_offset]]
        )
        rows = np.flatnonzero(
            block_mask & ~np.isnan(slack_curves.slack[:, : slack_curves.force_offset]).any(axis=0)
        )
        if not len(rows):  # of accelerations without any
            continue
        row = rows[int(np.argmin(slack_curves.slack[:, rows].min(axis=0)))]
        h, unit = slack_curves.slack[:, row], slack_curves.units[row]
        violations, slack = h < -LIMIT_TOLERANCE, float(h.min())
        if not violations.any():
            text = f"the exact task stays within '{block}', with {si(slack, unit)} to spare."
            yield Diagnostic("note", "keep", text)
            continue
        since = float(t[int(violations.argmax())])
        text = (
            f"the exact task goes beyond '{slack_curves.names[row]}' by {si(-slack, unit)} at t = "
            f"{t[int(h.argmin())]:.4g} s, first at t = {since:.4g} s: the law keeps the limit, and "
            "the task gives way."
        )
        yield Diagnostic("warning", "keep", text, since)
