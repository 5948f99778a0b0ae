"""What is wrong with the time of a log: its order, its period, its gaps."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ukctrl_identification.joint_log import JointLog
from ukctrl_identification.log_fault import (
    GAP_PERIODS,
    LogFault,
    counted,
    median_period,
    runs_of,
)

LONG_GAP = 0.1
"""What happens in a longer gap no filter can tell [s]."""
MAX_JITTER = 0.05
"""Steps whose root mean square deviation is below this part of the median are regular."""
LONGEST_PERIOD = 0.5
"""A longer period is doubtful: no motion of a robot shows at it [s]."""
LONGEST_REPEAT = 10
"""Samples in a row may repeat by chance of timing; more are a rest."""
MIN_REPEATS = 0.01
"""Fewer repeated samples, of all, are not worth telling."""


def time_faults(log: JointLog) -> Iterator[LogFault]:
    """Yield what is wrong with the time."""
    time = log.time
    steps = np.diff(time)
    period = median_period(time)
    for flags, what in ((steps < 0.0, "goes back"), (steps == 0.0, "stands still")):
        places = np.flatnonzero(flags)
        if places.size:
            at = time[places[0]]
            yield LogFault(
                "time_order",
                "time",
                float(at),
                f"time must grow; it {what} at t = {at:.6g} s{counted(places.size)}. Remove the "
                "rows, or name another column by time.",
                True,
            )
    gaps = np.flatnonzero(steps > GAP_PERIODS * period)
    if gaps.size:
        longest = float(steps[gaps].max())
        first = float(time[gaps[0]])
        yield LogFault(
            "gap",
            "time",
            first,
            f"time has a gap of {steps[gaps[0]]:.3g} s at t = {first:.6g} s{counted(gaps.size)}, "
            f"the longest {longest:.3g} s, where samples follow each other after {period:.3g} s. "
            "Take a part without it by start and stop.",
            longest > LONG_GAP,
        )
    regular = steps[(steps > 0.0) & (steps <= GAP_PERIODS * period)]
    if regular.size and np.sqrt(np.mean((regular / period - 1.0) ** 2)) > MAX_JITTER:
        yield LogFault(
            "period",
            "time",
            float(time[0]),
            f"time steps vary from {regular.min() * 1e3:.3g} to {regular.max() * 1e3:.3g} ms; "
            f"their median is {period * 1e3:.3g} ms.",
            False,
        )
    if period > LONGEST_PERIOD:
        yield LogFault(
            "unit",
            "time",
            float(time[0]),
            f'time steps are {period:.3g} s; is the time in ms? Then say time_unit = "ms".',
            False,
        )
    yield from _repeats(log)


def _repeats(log: JointLog) -> Iterator[LogFault]:
    """Yield that samples repeat the ones before them, in all channels, while the robot moves."""
    quantities = (log.position, log.velocity, log.effort, log.current)
    channels = [channel for quantity in quantities for channel in quantity.values()]
    if not channels:
        return
    same = np.all([np.diff(channel) == 0.0 for channel in channels], axis=0)
    begins, ends = runs_of(same)
    short = ends - begins <= LONGEST_REPEAT
    count = int((ends - begins)[short].sum())
    if count > MIN_REPEATS * len(log.time):
        at = float(log.time[begins[short][0] + 1])
        yield LogFault(
            "repeat",
            "time",
            at,
            f"{count} samples of {len(log.time)} repeat the one before in every channel, the first "
            f"at t = {at:.6g} s; the log was written faster than the sensors were read.",
            False,
        )
