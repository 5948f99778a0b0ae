"""Which rows end the motion of a task, and why."""

from __future__ import annotations

import dataclasses as dc
from typing import Literal, NamedTuple

import numpy as np

from ukctrl.core.algebra.finite_differences import limited_step
from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.errors import quoted
from ukctrl.core.tie_breaking import first_largest, max_abs
from ukctrl.mechanics.consistent_state import random_consistent_configuration
from ukctrl.mechanics.constraints import Stack


class RowConflict(NamedTuple):
    """Rows that no configuration nearby meets together."""

    rows: tuple[str, ...]
    """Names, the worst first."""
    blocks: tuple[str, ...]
    """The constraints that they belong to."""
    residual: float
    """By how much the worst of them is missed [its unit]."""
    unit: str


MAX_TRIALS = 200
MAX_STEP = 1.0
"""The longest step of a search [rad or m]."""
CONFLICT_RTOL = 0.05
"""A row with less than this of the largest error has no part in a clash."""


def row_conflict(stack: Stack, q: Vector, t: float) -> RowConflict:
    r"""Return which rows stand against each other at a time: those of the nearest miss.

    Where $|\phi|^2$ is least and not zero, $A^\top \phi = 0$: the errors themselves are the weights
    with which the rows contradict each other, and a row with none of them has no part in it.
    """
    robot = stack.robot
    snapshot, zero_velocity = robot.snapshot(q), np.zeros(robot.nv)

    def errors(q: Vector) -> tuple[Matrix, Vector]:
        snapshot.move(q, zero_velocity, t)
        rows = stack.write(snapshot)
        return rows.A[stack.holonomic].copy(), rows.phi[stack.holonomic].copy()

    A, phi = errors(q)
    damping = 1e-3
    # Levenberg-Marquardt, until nothing is gained or no step helps.
    for _ in range(MAX_TRIALS):
        normal = A.T @ A
        scale = damping * (np.trace(normal) / len(normal) + 1e-12)
        step = np.linalg.solve(normal + scale * np.eye(len(normal)), A.T @ phi)
        trial = robot.integrate(q, -limited_step(step, MAX_STEP))
        trial_errors = errors(trial)
        if trial_errors[1] @ trial_errors[1] < phi @ phi:
            gained = 1.0 - (trial_errors[1] @ trial_errors[1]) / (phi @ phi)
            q, (A, phi), damping = trial, trial_errors, max(0.1 * damping, 1e-9)
            if gained < 1e-10:
                break
        elif damping > 1e9:
            break
        else:
            damping *= 10.0
    size = np.zeros(len(stack))
    size[stack.holonomic] = np.abs(phi)
    order = [i for i in np.argsort(-size).tolist() if size[i] >= CONFLICT_RTOL * max_abs(size)]
    return RowConflict(
        rows=tuple(stack.names[i] for i in order),
        blocks=tuple(dict.fromkeys(stack.blocks[i] for i in order)),
        residual=float(size[order[0]]),
        unit=stack.units[order[0]],
    )


PROBE_FRACTIONS = tuple(2.0**-k for k in range(8, 3, -1)) + tuple(k / 12.0 for k in range(1, 13))
"""Parts of the time from the end of a motion to that of the run, when it is looked at again."""
EARLY_PROBES = 6
"""The first of them say whether rows can be met or not; the others by how much they are missed."""
RESIDUAL_TOLERANCE = 1e-9
"""Rows that miss by less can be met [unit]."""


@dc.dataclass(frozen=True, kw_only=True)
class MotionEnd:
    """Where a motion ends before the run does."""

    t: float
    """[s]."""
    why: Literal["reach", "conflict", "branch", "law"]
    """No configuration meets one constraint; or several together; or they can be met, but only by a
    leap; or the law that moves the robot gives up."""
    rows: tuple[str, ...]
    """The rows that are to blame, the worst first."""
    text: str
    """The same as a sentence."""


def diagnose_end(
    stack: Stack, q: Vector, t: float, end: float, passive_count: int, text: str = ""
) -> MotionEnd:
    """Say which rows end a motion at a time.

    Args:
        stack: The passive rows, and then those of the task.
        q: The last configuration that met them, shape ``(nq,)``.
        t: When they could be met no longer [s].
        end: End of the run [s].
        passive_count: The number of passive rows.
        text: What to say where no row is to blame.
    """
    if not stack.holonomic.any():
        return MotionEnd(t=t, why="law", rows=(), text=text)
    looks = [(t, row_conflict(stack, q, t))]
    for fraction in PROBE_FRACTIONS:
        later = t + fraction * max(end - t, 0.0)
        looks.append((later, row_conflict(stack, q, later)))
    # What grows too slowly to be seen at once has been seen a little later.
    clashes = [
        conflict for _, conflict in looks[:EARLY_PROBES] if conflict.residual > RESIDUAL_TOLERANCE
    ]
    at, worst = looks[first_largest([conflict.residual for _, conflict in looks])]
    # Rows that can be met a little later end by a leap of the joints: another branch.
    if not clashes:
        text = text or (
            f"at t = {t:.4g} s the joints would have to leap: the motion cannot be continued past "
            "a singular position."
        )
        return MotionEnd(t=t, why="branch", rows=(), text=text)
    passive = set(stack.names[:passive_count])
    conflict = clashes[first_largest([clash.residual for clash in clashes])]
    rows = tuple(row for row in conflict.rows if row not in passive) or conflict.rows
    blocks = {stack.blocks[stack.names.index(row)] for row in rows}
    named = quoted(rows)
    missed = f"by up to {f'{worst.residual:.2g} {worst.unit}'.strip()} (t = {at:.4g} s)"
    if len(blocks) == 1:
        label = f"row {named} is" if len(rows) == 1 else f"rows {named} are"
        # Met from elsewhere, the row is in reach: the motion runs into a dead end.
        if random_consistent_configuration(stack, at) is not None:
            text = (
                f"{label.rpartition(' ')[0]} cannot be kept from t = {t:.4g} s on: the motion runs "
                f"into a dead end, {missed}, though other positions meet it. Start in another."
            )
            return MotionEnd(t=t, why="branch", rows=rows, text=text)
        text = f"{label} out of reach from t = {t:.4g} s on, {missed}."
        return MotionEnd(t=t, why="reach", rows=rows, text=text)
    text = f"rows {named} contradict each other from t = {t:.4g} s on; they are missed {missed}."
    return MotionEnd(t=t, why="conflict", rows=rows, text=text)
