"""What may be wrong with a log, and what all checks of one need."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

import numpy as np

from ukctrl.core.arrays import Flags, Indices, Vector
from ukctrl.robot import Robot
from ukctrl_identification.joint_log import JointLog

FaultKind = Literal[
    "reading",
    "time_order",
    "period",
    "gap",
    "repeat",
    "not_a_number",
    "constant",
    "stuck",
    "saturated",
    "resolution",
    "jump",
    "wrapped",
    "limit",
    "unit",
    "sign",
    "other_joint",
    "delay",
    "disagreement",
]


GAP_PERIODS = 10.0
"""A longer step of the time, in median periods, is a gap."""
ROUNDING = 1e-9
"""What differs by less does not change [rad, m, N m and so on]."""
LARGEST = 1e12
"""What is larger is no number of a robot."""


class LogFault(NamedTuple):
    """One thing that is wrong, or worth knowing, of a log."""

    kind: FaultKind
    channel: str
    """``"time"``, or quantity and name, such as ``"position.elbow"``."""
    time: float
    """Where it begins [s]."""
    message: str
    """What it is, where, and what mends it; one line."""
    is_fatal: bool
    """Whether no model should be fitted before it is settled."""


class JointChannels(NamedTuple):
    """What one velocity's sensors said."""

    name: str
    """In `Robot.dofs`."""
    unit: str
    """Of the position, ``"rad"`` or ``"m"``."""
    position: Vector | None
    """Of a joint with one freedom; of one without end its angle, which counts turns."""
    velocity: Vector | None
    effort: Vector | None
    current: Vector | None
    """Of a motor whose constant is not known [A]."""
    has_motor: bool


def joint_motions(robot: Robot, log: JointLog) -> Mapping[str, JointChannels]:
    """Return the channels of every velocity of the robot that has any."""
    motions: dict[str, JointChannels] = {}
    driven = [bool(row.any()) for row in robot.actuation.acts_on]
    for block in robot.blocks:
        for k, dof in enumerate(block.dofs):
            position = log.position.get(block.coordinates[0]) if block.shape == "line" else None
            if block.shape == "circle" and set(block.coordinates) <= log.position.keys():
                cosine, sine = (log.position[name] for name in block.coordinates)
                position = np.unwrap(np.arctan2(sine, cosine))
            motion = JointChannels(
                dof,
                block.dof_units[k].removesuffix("/s"),
                position,
                log.velocity.get(dof),
                log.effort.get(dof),
                log.current.get(dof),
                driven[block.iv + k],
            )
            if any(channel is not None for channel in motion[2:6]):
                motions[dof] = motion
    return motions


def runs_of(flags: Flags) -> tuple[Indices, Indices]:
    """Return where stretches of true begin, and where they have ended."""
    edges = np.diff(np.concatenate(([False], flags, [False])).astype(np.int8))
    return np.flatnonzero(edges == 1), np.flatnonzero(edges == -1)


def resolution(samples: Vector) -> float:
    """Return the smallest step between two samples in turn; zero where none differs.

    What rounding makes differ does not count.
    """
    steps = np.abs(np.diff(samples))
    steps = steps[steps > ROUNDING]
    return float(steps.min()) if steps.size else 0.0


def is_constant(samples: Vector) -> bool:
    """Whether samples differ by rounding at most."""
    return not float(np.ptp(samples)) > ROUNDING


def are_numbers(samples: Vector) -> Flags:
    """Return which samples are numbers that a robot may have."""
    flags: Flags = np.abs(samples) <= LARGEST
    return flags


def growing_rows(time: Vector) -> Flags:
    """Return the samples whose time is later than that of all before them."""
    return np.concatenate(([True], np.diff(np.maximum.accumulate(time)) > 0.0))


def median_period(time: Vector) -> float:
    """Return the median of the growing steps of the time [s]."""
    steps = np.diff(time)
    steps = steps[steps > 0.0]
    return float(np.median(steps)) if steps.size else 0.0


def counted(count: int) -> str:
    """Return how often, where it is more than once: ``", 3 times"``."""
    return f", {count} times" if count > 1 else ""
