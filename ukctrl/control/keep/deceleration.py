r"""What joints can brake with: all at once, wherever they are within their ranges and speeds.

With the inputs $u_0$ that hold the velocities and $\Delta u_j = G^+ e_j$, which brake joint $j$
alone, decelerations $d$ are there at a state, in whatever directions the joints move, where

$$ \sum_j d_j\, |\Delta u_j| \le \min(\bar u - u_0,\; u_0 - \underline u) . $$

It is asked at states that are drawn: a number for all of a range would need bounds of inertias.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ukctrl.control.task import Task
from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.errors import InputError
from ukctrl.core.remembered import Remembered
from ukctrl.mechanics.dynamics import Dynamics

DRAWN = 256
"""So many states beside the start, with a seed of their own."""
SHARE = 0.9
"""Part of what is there that is counted on: the rest is for what a tick loses, and for states
between those that were drawn."""
ALONE = 1e-6
"""A joint that the motors move together with others, by more than this part, cannot brake alone."""


class Ends(NamedTuple):
    """Limits of the joints with ranges, by joint; infinite where there are none."""

    low: Mapping[str, float]
    high: Mapping[str, float]
    fastest: Mapping[str, float]


class Brakes(NamedTuple):
    """What braking takes of the motors at ``n`` states, the start first."""

    joints: tuple[str, ...]
    needs: Matrix
    """Input per deceleration of each joint, shape ``(n, nu, k)``."""
    room: Matrix
    """Of every motor beside what holds the velocities, shape ``(n, nu)``."""
    alone: Vector
    """Whether the motors move each joint alone, shape ``(k,)``."""

    def share_of(self, decelerations: Vector) -> Matrix:
        """Return which part of its room each motor needs, shape ``(n, nu)``."""
        asked = self.needs @ decelerations
        with np.errstate(divide="ignore", invalid="ignore"):
            part = np.where(self.room > 0.0, asked / self.room, np.inf)
        return np.where((asked > 0.0) | (self.room < 0.0), part, 0.0)


_BRAKES: Remembered[Brakes] = Remembered()


def brakes(task: Task, joints: Sequence[str], ends: Ends) -> Brakes:
    """Return what it takes to brake joints, within their ends; once for a robot and its start."""
    state = task.start, task.q.tobytes(), task.v.tobytes()
    asked = task.robot, task.rank, task.gains, *state, tuple(joints), ends
    return _BRAKES.get(asked, lambda: _drawn(task, joints, ends))


def _drawn(task: Task, joints: Sequence[str], ends: Ends) -> Brakes:
    robot, dynamics = task.robot, Dynamics(task.robot, task.rank, task.gains)
    units = np.zeros((robot.nv, len(joints)))
    for k, joint in enumerate(joints):
        units[robot.dofs.index(joint), k] = 1.0
    needs, room, alone = [], [], np.ones(len(joints), dtype=bool)
    for q, v in _states(task, ends):
        dynamics.move(task.start, q, v)
        s, G = dynamics.snapshot, dynamics.G
        found = np.linalg.lstsq(G, np.column_stack([units, -dynamics.a_free]), rcond=None)[0]
        push, carrying = found[:, :-1], found[:, -1]
        alone &= np.linalg.norm(G @ push - units, axis=0) <= ALONE
        low, high = robot.input_bounds(s.v @ s.B)
        size = np.abs(push)
        needs.append(np.where(size > ALONE * size.max(axis=0, initial=0.0), size, 0.0))
        room.append(np.minimum(high - carrying, carrying - low))
    return Brakes(tuple(joints), np.array(needs), np.array(room), alone)


def available(found: Brakes, given: Mapping[str, float]) -> dict[str, float]:
    """Return decelerations that all joints have at once, of those that have none given.

    They are in the proportion of what the joints have alone.

    Raises:
        InputError: The motors do not move a joint alone, or have no limits, or no room.
    """
    own = np.array([given.get(joint, 0.0) for joint in found.joints])
    held = (found.room > 0.0).all(axis=1) | (np.arange(len(found.room)) == 0)
    needs, room = found.needs[held], found.room[held]
    with np.errstate(divide="ignore", invalid="ignore"):
        left = np.where(needs > 0.0, room[:, :, None] / needs, np.inf)
        alone = left.min(axis=(0, 1), initial=np.inf)
        asked = [joint for joint in found.joints if joint not in given]
        for joint in asked:
            _require(joint, bool(found.alone[found.joints.index(joint)]), alone, found.joints)
        wanted = np.where(own > 0.0, 0.0, alone)
        parts = (room - needs @ own) / (needs @ wanted)
    part = float(np.min(parts, initial=1.0, where=needs @ wanted > 0.0))
    if part <= 0.0:
        raise InputError(
            "deceleration must leave the other joints some; those given take all that the motors "
            "have at some state within the ranges. Give less, or give all of them."
        )
    return {joint: SHARE * part * float(wanted[found.joints.index(joint)]) for joint in asked}


def _require(joint: str, moved: bool, alone: Vector, joints: Sequence[str]) -> None:
    most = float(alone[joints.index(joint)])
    if moved and 0.0 < most < np.inf:
        return
    why = (
        "no motors move it alone"
        if not moved
        else "they have no limits"
        if most > 0.0
        else "they only just carry the load, or not even that"
    )
    raise InputError(
        f"deceleration of joint '{joint}' must be given, for it does not follow from the motors: "
        f"{why}. Write deceleration = {{ {joint} = ... }}."
    )


def _states(task: Task, ends: Ends) -> list[tuple[Vector, Vector]]:
    """Return the start, and states drawn within the ends; a robot with loops has only the start."""
    robot, states = task.robot, [(task.q, task.v)]
    if robot.passive:
        return states
    rng, at = np.random.default_rng(0), dict(zip(robot.coordinates, task.q.tolist(), strict=True))
    for _ in range(DRAWN):
        way, v = rng.uniform(-np.pi, np.pi, robot.nv), rng.uniform(-1.0, 1.0, robot.nv)
        part = rng.uniform(size=robot.nv)
        for i, dof in enumerate(robot.dofs):
            low, high = ends.low.get(dof, -np.inf), ends.high.get(dof, np.inf)
            if dof in at and np.isfinite([low, high]).all():
                way[i] = low + (high - low) * part[i] - at[dof]
            elif robot.dof_units[i] != "rad/s":
                way[i] = 0.0
            fastest = ends.fastest.get(dof, np.inf)
            v[i] = v[i] * fastest if np.isfinite(fastest) else task.v[i]
        states.append((robot.integrate(task.q, way), v))
    return states
