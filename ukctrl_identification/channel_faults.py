"""What is wrong with single channels of a log: no numbers, no change, flat peaks."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

import numpy as np

from ukctrl.core.arrays import Vector
from ukctrl_identification.joint_log import JointLog
from ukctrl_identification.log_fault import (
    JointChannels,
    LogFault,
    are_numbers,
    counted,
    is_constant,
    resolution,
    runs_of,
)

MIN_FLAT = 5
"""Samples that are equal at the largest value, for a channel to be saturated."""
MAX_DRIFT = 0.05
"""So far a velocity that is noise may go while the joint stands [rad or m]."""
DRIFT_SHARE = 0.05
"""And this part of the way of a constant velocity."""
MIN_PEAK = 0.1
"""A flat peak below this part of the largest effort is none at a limit, but a motor let go."""
SMOOTH_DROP = 20.0
"""A rounded peak that is flat for `L` samples falls by less than so many steps of its resolution
within the next `L`: a parabola by nine."""


def not_a_number_faults(log: JointLog) -> Iterator[LogFault]:
    """Yield where channels hold NaN, infinity, or what is as good as it."""
    for quantity in ("position", "velocity", "effort", "current"):
        for name, samples in getattr(log, quantity).items():
            yield from _not_finite(log, f"{quantity}.{name}", samples)
    yield from _not_finite(log, "time", log.time)


def _not_finite(log: JointLog, channel: str, samples: Vector) -> Iterator[LogFault]:
    places = np.flatnonzero(~are_numbers(samples))
    if places.size:
        at = float(log.time[places[0]])
        where = f"t = {at:.6g} s" if math.isfinite(at) else f"sample {places[0] + 1}"
        yield LogFault(
            "not_a_number",
            channel,
            at,
            f"{channel} must be numbers; {places.size} of {len(samples)} are none, the first at "
            f"{where}. Take a part without them by start and stop.",
            True,
        )


def constant_faults(log: JointLog, motions: Mapping[str, JointChannels]) -> Iterator[LogFault]:
    """Yield channels that never change while others of their kind do."""
    for quantity in ("position", "velocity", "effort", "current"):
        of_motor = quantity in ("effort", "current")
        channels: dict[str, Vector] = {
            name: getattr(motion, quantity)
            for name, motion in motions.items()
            if motion.position is not None
            and getattr(motion, quantity) is not None
            and (motion.has_motor or not of_motor)
        }
        still = [name for name, samples in channels.items() if is_constant(samples)]
        for name in still:
            follows = None if of_motor else _follows(log.time, motions[name], quantity)
            if follows or (follows is None and len(still) == len(channels)):
                continue
            other = "velocity" if quantity == "position" else "position"
            reason = "others change." if follows is None else (
                f"the {other} of the joint changes; its sensor is stuck, or another column is "
                "meant."
            )  # fmt: skip
            value = round(float(channels[name][0]), 9)
            yield LogFault(
                "constant" if follows is None else "stuck",
                f"{quantity}.{name}",
                float(log.time[0]),
                f"{quantity}.{name} is {value:.6g} throughout, while {reason}",
                follows is not None,
            )


def _follows(time: Vector, motion: JointChannels, quantity: str) -> bool | None:
    """Return whether the one of position and velocity that is constant may be so.

    None where the other was not measured, or is constant as well.
    """
    q, v = motion.position, motion.velocity
    if q is None or v is None or (is_constant(q) and is_constant(v)):
        return None
    # a velocity may have an offset; then it says little of a joint that hardly moves
    if quantity == "position":
        v = v - v.mean()
    elif np.ptp(q) < MAX_DRIFT:
        return None
    steps = np.clip(np.diff(time), 0.0, None)
    travel = np.cumsum(0.5 * (v[1:] + v[:-1]) * steps)
    drift = float(np.abs(q[1:] - q[0] - travel).max())
    return drift <= max(MAX_DRIFT, DRIFT_SHARE * float(np.abs(travel).max()))


def saturation_faults(log: JointLog, motions: Mapping[str, JointChannels]) -> Iterator[LogFault]:
    """Yield efforts that stay at their largest or smallest value while the joint moves."""
    for name, motion in motions.items():
        quantity = "effort" if motion.current is None else "current"
        effort = motion.effort if motion.current is None else motion.current
        if effort is None or motion.position is None or is_constant(effort):
            continue
        least = MIN_PEAK * float(np.max(np.abs(effort)))
        for word, samples in (("largest", effort), ("smallest", -effort)):
            flat = _flat_peaks(samples, motion.position)
            if not flat or np.max(samples) < least:
                continue
            begin, end = max(flat, key=lambda run: run[1] - run[0])
            at, length = float(log.time[begin]), float(log.time[end - 1] - log.time[begin])
            unit = "N m" if motion.unit == "rad" else "N"
            unit = unit if motion.current is None else "A"
            yield LogFault(
                "saturated",
                f"{quantity}.{name}",
                at,
                f"{quantity}.{name} stays at its {word} value, {effort[begin]:.5g} {unit}, for "
                f"{length:.3g} s from t = {at:.6g} s{counted(len(flat))}; the motor or the sensor "
                "is at its limit.",
                False,
            )


def _flat_peaks(samples: Vector, position: Vector) -> list[tuple[int, int]]:
    """Return the stretches at the largest value with sharp ends, where the joint moves."""
    step = resolution(samples)
    moved = 0.01 * float(np.ptp(position))
    peaks = []
    for begin, end in zip(*runs_of(samples == np.max(samples)), strict=True):
        length = int(end - begin)
        if length < MIN_FLAT or not np.ptp(position[begin:end]) > moved:
            continue
        beside = samples[[k for k in (begin - length, end - 1 + length) if 0 <= k < len(samples)]]
        if beside.size and samples[begin] - beside.min() > SMOOTH_DROP * step:
            peaks.append((int(begin), int(end)))
    return peaks
