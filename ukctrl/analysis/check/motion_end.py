"""Which rows end the motion of a task, and why."""

from __future__ import annotations

import dataclasses as dc
from typing import Literal, NamedTuple

import numpy as np

from ukctrl.core.algebra.differences import shortened
from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.errors import quoted
from ukctrl.core.extremes import first_largest, max_abs
from ukctrl.mechanics.constraints import Stack
from ukctrl.mechanics.start import met_elsewhere


class Clash(NamedTuple):
    """Rows that no configuration nearby meets together."""

    rows: tuple[str, ...]
    """Names, the worst first."""
    blocks: tuple[str, ...]
    """The constraints that they belong to."""
    left: float
    """By how much the worst of them is missed [its unit]."""
    unit: str


MAX_TRIALS = 200
STRIDE = 1.0
"""The longest step of a search [rad or m]."""
SHARE = 0.05
"""A row with less than this of the largest error has no part in a clash."""


def clash(stack: Stack, q: Vector, t: float) -> Clash:
    r"""Return which rows stand against each other at a time: those of the nearest miss.

    Where $|\phi|^2$ is least and not zero, $A^\top \phi = 0$: the errors themselves are the weights
    with which the rows contradict each other, and a row with none of them has no part in it.
    """
    robot = stack.robot
    snapshot, rest = robot.snapshot(q), np.zeros(robot.nv)

    def errors(q: Vector) -> tuple[Matrix, Vector]:
        snapshot.move(q, rest, t)
        rows = stack.write(snapshot)
        return rows.A[stack.holonomic].copy(), rows.phi[stack.holonomic].copy()

    A, phi = errors(q)
    damping = 1e-3
    for _ in range(MAX_TRIALS):
        normal = A.T @ A
        scale = damping * (np.trace(normal) / len(normal) + 1e-12)
        step = np.linalg.solve(normal + scale * np.eye(len(normal)), A.T @ phi)
        trial = robot.integrate(q, -shortened(step, STRIDE))
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
    order = [i for i in np.argsort(-size).tolist() if size[i] >= SHARE * max_abs(size)]
    return Clash(
        rows=tuple(stack.names[i] for i in order),
        blocks=tuple(dict.fromkeys(stack.blocks[i] for i in order)),
        left=float(size[order[0]]),
        unit=stack.units[order[0]],
    )


LOOKS = tuple(2.0**-k for k in range(8, 3, -1)) + tuple(k / 12.0 for k in range(1, 13))
"""Parts of the time from the end of a motion to that of the run, when it is looked at again."""
SOON = 6
"""The first of them say whether rows can be met or not; the others by how much they are missed."""
MET = 1e-9
"""Rows that miss by less can be met [unit]."""


@dc.dataclass(frozen=True, kw_only=True)
class Stop:
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


def blamed(stack: Stack, q: Vector, t: float, end: float, own: int, text: str = "") -> Stop:
    """Say which rows end a motion at a time.

    Args:
        stack: The passive rows, and then those of the task.
        q: The last configuration that met them, shape ``(nq,)``.
        t: When they could be met no longer [s].
        end: End of the run [s].
        own: The number of passive rows.
        text: What to say where no row is to blame.
    """
    if not stack.holonomic.any():
        return Stop(t=t, why="law", rows=(), text=text)
    looks = [(t, clash(stack, q, t))]
    for part in LOOKS:
        later = t + part * max(end - t, 0.0)
        looks.append((later, clash(stack, q, later)))
    # What grows too slowly to be seen at once has been seen a little later.
    seen = [found for _, found in looks[:SOON] if found.left > MET]
    at, worst = looks[first_largest([found.left for _, found in looks])]
    if not seen:
        text = text or (
            f"at t = {t:.4g} s the joints would have to leap: the motion cannot be continued past "
            "a singular position."
        )
        return Stop(t=t, why="branch", rows=(), text=text)
    passive = set(stack.names[:own])
    found = seen[first_largest([clash.left for clash in seen])]
    rows = tuple(row for row in found.rows if row not in passive) or found.rows
    blocks = {stack.blocks[stack.names.index(row)] for row in rows}
    named = quoted(rows)
    missed = f"by up to {f'{worst.left:.2g} {worst.unit}'.strip()} (t = {at:.4g} s)"
    if len(blocks) == 1:
        which = f"row {named} is" if len(rows) == 1 else f"rows {named} are"
        if met_elsewhere(stack, at) is not None:
            text = (
                f"{which.rpartition(' ')[0]} cannot be kept from t = {t:.4g} s on: the motion runs "
                f"into a dead end, {missed}, though other positions meet it. Start in another."
            )
            return Stop(t=t, why="branch", rows=rows, text=text)
        text = f"{which} out of reach from t = {t:.4g} s on, {missed}."
        return Stop(t=t, why="reach", rows=rows, text=text)
    text = f"rows {named} contradict each other from t = {t:.4g} s on; they are missed {missed}."
    return Stop(t=t, why="conflict", rows=rows, text=text)
