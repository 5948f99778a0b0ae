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
from ukctrl.core.caches import LastValueCache
from ukctrl.core.errors import InputError
from ukctrl.mechanics.dynamics import Dynamics

N_SAMPLED_STATES = 256
"""So many states beside the start, with a seed of their own."""
USABLE_SHARE = 0.9
"""Part of what is there that is counted on: the rest is for what a tick loses, and for states
between those that were drawn."""
COUPLING_RTOL = 1e-6
"""A joint that the motors move together with others, by more than this part, cannot brake alone."""


class JointBounds(NamedTuple):
    """Limits of the joints with ranges, by joint; infinite where there are none."""

    lower: Mapping[str, float]
    upper: Mapping[str, float]
    speed: Mapping[str, float]


class BrakingSamples(NamedTuple):
    """What braking takes of the motors at ``n`` states, the start first."""

    joints: tuple[str, ...]
    input_per_deceleration: Matrix
    """Input per deceleration of each joint, shape ``(n, nu, k)``."""
    input_margin: Matrix
    """Of every motor beside what holds the velocities, shape ``(n, nu)``."""
    is_decoupled: Vector
    """Whether the motors move each joint alone, shape ``(k,)``."""

    def margin_usage(self, decelerations: Vector) -> Matrix:
        """Return which part of its room each motor needs, shape ``(n, nu)``."""
        need = self.input_per_deceleration @ decelerations
        with np.errstate(divide="ignore", invalid="ignore"):
            # a motor that cannot even carry its load is used without end
            usage = np.where(self.input_margin > 0.0, need / self.input_margin, np.inf)
        return np.where((need > 0.0) | (self.input_margin < 0.0), usage, 0.0)


_SAMPLES_CACHE: LastValueCache[BrakingSamples] = LastValueCache()


def braking_samples(task: Task, joints: Sequence[str], ends: JointBounds) -> BrakingSamples:
    """Return what it takes to brake joints, within their ends; once for a robot and its start."""
    state = task.start, task.q.tobytes(), task.v.tobytes()
    # what the samples depend on: runs that differ in gains of the law share them
    key = task.robot, task.rank, task.gains, *state, tuple(joints), ends
    return _SAMPLES_CACHE.get(key, lambda: _sample_braking(task, joints, ends))


def _sample_braking(task: Task, joints: Sequence[str], ends: JointBounds) -> BrakingSamples:
    robot, dynamics = task.robot, Dynamics(task.robot, task.rank, task.gains)
    units = np.zeros((robot.nv, len(joints)))
    for k, joint in enumerate(joints):
        units[robot.dofs.index(joint), k] = 1.0
    needs, margins, alone = [], [], np.ones(len(joints), dtype=bool)
    for q, v in _sample_states(task, ends):
        dynamics.move(task.start, q, v)
        s, G = dynamics.snapshot, dynamics.G
        solution = np.linalg.lstsq(G, np.column_stack([units, -dynamics.a_free]), rcond=None)[0]
        push, carrying = solution[:, :-1], solution[:, -1]
        # lstsq leaves some rounding; a joint that moves others as well is off by order one
        alone &= np.linalg.norm(G @ push - units, axis=0) <= COUPLING_RTOL
        low, high = robot.input_bounds(s.v @ s.B)
        size = np.abs(push)
        # entries that are rounding would count as a motor's need, and divide
        needs.append(np.where(size > COUPLING_RTOL * size.max(axis=0, initial=0.0), size, 0.0))
        margins.append(np.minimum(high - carrying, carrying - low))
    return BrakingSamples(tuple(joints), np.array(needs), np.array(margins), alone)


def joint_decelerations(
    samples: BrakingSamples, decelerations: Mapping[str, float]
) -> dict[str, float]:
    """Return decelerations that all joints have at once, of those that have none given.

    They are in the proportion of what the joints have alone.

    Raises:
        InputError: The motors do not move a joint alone, or have no limits, or no room.
    """
    values = np.array([decelerations.get(joint, 0.0) for joint in samples.joints])
    # a drawn state whose load takes all of a motor says nothing of braking; the start always counts
    is_usable = (samples.input_margin > 0.0).all(axis=1) | (
        np.arange(len(samples.input_margin)) == 0
    )
    needs, margin = samples.input_per_deceleration[is_usable], samples.input_margin[is_usable]
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.where(needs > 0.0, margin[:, :, None] / needs, np.inf)
        alone = ratios.min(axis=(0, 1), initial=np.inf)
        free_joints = [joint for joint in samples.joints if joint not in decelerations]
        for joint in free_joints:
            _require_deceleration(
                joint,
                bool(samples.is_decoupled[samples.joints.index(joint)]),
                alone,
                samples.joints,
            )
        profile = np.where(values > 0.0, 0.0, alone)
        # in the proportion of what joints have alone, as much as all motors have at once
        shares = (margin - needs @ values) / (needs @ profile)
    share = float(np.min(shares, initial=1.0, where=needs @ profile > 0.0))
    if share <= 0.0:
        raise InputError(
            "deceleration must leave the other joints some; those given take all that the motors "
            "have at some state within the ranges. Give less, or give all of them."
        )
    return {
        joint: USABLE_SHARE * share * float(profile[samples.joints.index(joint)])
        for joint in free_joints
    }


def _require_deceleration(joint: str, moved: bool, alone: Vector, joints: Sequence[str]) -> None:
    upper = float(alone[joints.index(joint)])
    if moved and 0.0 < upper < np.inf:
        return
    reason = (
        "no motors move it alone"
        if not moved
        else "they have no limits"
        if upper > 0.0
        else "they only just carry the load, or not even that"
    )
    raise InputError(
        f"deceleration of joint '{joint}' must be given, for it does not follow from the motors: "
        f"{reason}. Write deceleration = {{ {joint} = ... }}."
    )


def _sample_states(task: Task, ends: JointBounds) -> list[tuple[Vector, Vector]]:
    """Return the start, and states drawn within the ends; a robot with loops has only the start."""
    robot, states = task.robot, [(task.q, task.v)]
    # no states can be drawn that keep the closures: the start alone
    if robot.passive:
        return states
    rng, at = np.random.default_rng(0), dict(zip(robot.coordinates, task.q.tolist(), strict=True))
    for _ in range(N_SAMPLED_STATES):
        displacement, v = rng.uniform(-np.pi, np.pi, robot.nv), rng.uniform(-1.0, 1.0, robot.nv)
        fraction = rng.uniform(size=robot.nv)
        for i, dof in enumerate(robot.dofs):
            low, high = ends.lower.get(dof, -np.inf), ends.upper.get(dof, np.inf)
            if dof in at and np.isfinite([low, high]).all():
                displacement[i] = low + (high - low) * fraction[i] - at[dof]
            elif robot.dof_units[i] != "rad/s":
                # a slide without ends has no range to draw from
                displacement[i] = 0.0
            fastest = ends.speed.get(dof, np.inf)
            # without a limit of speed there is none to draw within
            v[i] = v[i] * fastest if np.isfinite(fastest) else task.v[i]
        states.append((robot.integrate(task.q, displacement), v))
    return states
