"""What is wrong with positions: coarse steps, jumps, wrapped angles, limits."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np

from ukctrl.core.arrays import Indices, Vector
from ukctrl.core.tie_breaking import first_largest
from ukctrl.robot import Robot
from ukctrl_identification.joint_log import JointLog
from ukctrl_identification.log_fault import (
    JointChannels,
    LogFault,
    counted,
    is_constant,
    median_period,
    resolution,
    runs_of,
)

COARSE_SHARE = 0.3
"""Share of samples of a moving joint that equal the one before, where its resolution is coarse."""
JUMP_RATIO = 10.0
"""A jump is so much larger than three of four steps around it."""
AROUND = 10
"""Steps before and after a jump that it is compared with."""
JUMP_SHARE = 0.02
"""Jumps below this part of the range are not told."""
PERIOD_RTOL = 0.05
"""How near jumps are to a period of the angle, or to each other, where it is wrapped."""
DEGREE_RATIO = 2.0
"""Positions that are so many times the larger limit may be in degrees."""
LIMIT_SHARE = 0.01
"""By how much of their range positions may exceed their limits without a word."""


def resolution_faults(log: JointLog, motions: Mapping[str, JointChannels]) -> Iterator[LogFault]:
    """Yield positions that change in steps so coarse that many samples do not differ."""
    for name, motion in motions.items():
        if motion.position is None or is_constant(motion.position):
            continue
        steps = np.diff(motion.position)
        begins, ends = runs_of(steps == 0.0)
        # a rest is longer than what a step of the resolution takes
        waits = (ends - begins)[ends - begins < max(10, len(steps) // 100)]
        moving = waits.sum() + np.count_nonzero(steps)
        step = resolution(motion.position)
        if not step:
            continue
        whole = np.abs(steps / step - np.rint(steps / step)) < 0.05
        if waits.sum() > COARSE_SHARE * moving and whole.mean() > 0.95:
            period = median_period(log.time)
            yield LogFault(
                "resolution",
                f"position.{name}",
                float(log.time[0]),
                f"position.{name} has a resolution of {step:.3g} {motion.unit}, which in one step "
                f"of {period * 1e3:.3g} ms is {step / period:.3g} {motion.unit}/s.",
                False,
            )


def jump_places(position: Vector, time: Vector) -> Indices:
    """Return after which samples a position jumps, further than its motion explains."""
    if is_constant(position):
        return np.empty(0, dtype=np.intp)
    steps = np.abs(np.diff(position))
    regular = np.diff(time) <= 3.0 * median_period(time)
    large = np.flatnonzero((steps > JUMP_SHARE * np.ptp(position)) & regular)
    padded = np.pad(steps, AROUND, mode="edge")
    windows = np.lib.stride_tricks.sliding_window_view(padded, 2 * AROUND + 1)[large]
    around = np.delete(windows, AROUND, axis=1)
    usual = np.partition(around, 3 * AROUND // 2, axis=1)[:, 3 * AROUND // 2]
    places: Indices = large[steps[large] > JUMP_RATIO * np.maximum(usual, resolution(position))]
    return places


def jump_faults(log: JointLog, motions: Mapping[str, JointChannels]) -> Iterator[LogFault]:
    """Yield positions that jump: by a period of the angle, or by anything."""
    for name, motion in motions.items():
        if motion.position is None:
            continue
        places = jump_places(motion.position, log.time)
        if not places.size:
            continue
        jumps = _jump_sizes(motion.position, places)
        at = float(log.time[places[0] + 1])
        period = _period(jumps, places) if motion.unit == "rad" else None
        size = f"{jumps[0]:.5g} {motion.unit}"
        if period is None:
            message = f"position.{name} jumps by {size} at t = {at:.6g} s{counted(len(jumps))}."
        else:
            setting = "true" if period == 2.0 * math.pi else f"{period:.6g} times the gear"
            advice = f"If the sensor starts again there, say unwrap = {setting}."
            if period == 360.0:
                advice = 'Is it in degrees? Then say position_unit = "deg" and unwrap = true.'
            message = (
                f"position.{name} jumps by {size} at t = {at:.6g} s{counted(len(jumps))}. {advice}"
            )
        yield LogFault(
            "jump" if period is None else "wrapped", f"position.{name}", at, message, True
        )


def _jump_sizes(position: Vector, places: Indices) -> Vector:
    """Return the jumps after some samples, without the motion of the steps before and after."""
    steps = np.diff(position)
    before, after = (steps[np.clip(places + k, 0, len(steps) - 1)] for k in (-1, 1))
    sizes: Vector = steps[places] - np.where(np.abs(before) < np.abs(after), before, after)
    return sizes


def _period(jumps: Vector, places: Indices) -> float | None:
    """Return the angle after which a sensor starts again; None where jumps have none in common."""
    sizes = np.abs(jumps)
    for period in (2.0 * math.pi, 360.0):
        if (np.abs(sizes - period) < PERIOD_RTOL * period).all():
            return period
    common = float(np.median(sizes))
    # there and back at once is a sample that is wrong
    apart = len(places) > 1 and bool((np.diff(places) > 1).all())
    return common if apart and (np.abs(sizes - common) < PERIOD_RTOL * common).all() else None


class _Bounded(NamedTuple):
    """A position and its limits."""

    name: str
    unit: str
    position: Vector
    lower: float
    upper: float

    @property
    def excess(self) -> Vector:
        """By how much it is beyond the nearer limit; negative within."""
        excess: Vector = np.maximum(self.position - self.upper, self.lower - self.position)
        return excess

    @property
    def farthest(self) -> float:
        """Its largest size."""
        return float(np.max(np.abs(self.position)))


def limit_faults(
    robot: Robot, log: JointLog, motions: Mapping[str, JointChannels]
) -> Iterator[LogFault]:
    """Yield positions beyond the joints' limits; as a question where degrees would explain it."""
    limits = zip(robot.coordinates, robot.q_lower.tolist(), robot.q_upper.tolist(), strict=True)
    joints = [
        _Bounded(name, motion.unit, motion.position, low, high)
        for name, low, high in limits
        if math.isfinite(high - low)
        and (motion := motions.get(name)) is not None
        and motion.position is not None
    ]
    turning = [joint for joint in joints if joint.unit == "rad"]
    far = [one for one in turning if one.farthest > DEGREE_RATIO * max(-one.lower, one.upper)]
    slack = math.radians(5.0)
    in_degrees = (one._replace(position=np.radians(one.position)) for one in turning)
    if far and 2 * len(far) >= len(turning) and all(np.max(o.excess) < slack for o in in_degrees):
        yield LogFault(
            "unit",
            f"position.{far[0].name}",
            float(log.time[first_largest(far[0].excess)]),
            f"positions of {len(far)} of {len(turning)} joints are far beyond their limits, such "
            f"as {far[0].farthest:.4g} of '{far[0].name}', and within them if in degrees. Are "
            'they? Then say position_unit = "deg".',
            True,
        )
        return
    for joint in joints:
        name, unit, _, low, high = joint
        excess = joint.excess
        if not np.max(excess) > LIMIT_SHARE * (high - low):
            continue
        worst = first_largest(excess)
        yield LogFault(
            "limit",
            f"position.{name}",
            float(log.time[np.flatnonzero(excess > 0.0)[0]]),
            f"position.{name} exceeds the limits of the model, {low:.4g} to {high:.4g} {unit}, by "
            f"{excess[worst]:.3g} {unit} at t = {log.time[worst]:.6g} s.",
            False,
        )
