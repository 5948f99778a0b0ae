"""The motion of a whole robot from a log of some of its joints."""

from __future__ import annotations

import numpy as np

from ukctrl.robot import Robot
from ukctrl_identification.joint_log import JointLog
from ukctrl_identification.measured_motion import HIGHEST_CUTOFF, Motion, measured_motions
from ukctrl_identification.passive_motion import completed_motion, passive_stack

Span = tuple[float, float]
"""First and last time [s]."""
ALWAYS: Span = (-np.inf, np.inf)


def logged_motions(
    robot: Robot,
    log: JointLog,
    cutoff: float | None = None,
    span: Span = ALWAYS,
    highest: float = HIGHEST_CUTOFF,
) -> tuple[list[Motion], float]:
    """Return the motion of a log, a stretch without gaps at a time, and the filter's frequency.

    As `measured_motions`; positions of passive joints that were not logged follow from the others.

    Args:
        robot: The robot.
        log: The log.
        cutoff: Frequency of the filter [Hz]; absent: from the motion.
        span: What to return of it; stretches outside are left out.
        highest: As for `measured_motions`.

    Raises:
        InputError: As for `measured_motions`; or what was logged does not determine the rest.
    """
    if passive_stack(robot) is None:
        motions, frequency = measured_motions(robot, log, cutoff, highest)
        return _within(motions, span), frequency
    known = logged_velocities(robot, log)
    home = robot.neutral if robot.home is None else robot.home
    still = {name: np.full(len(log.time), home[i]) for i, name in enumerate(robot.coordinates)}
    log = log._replace(position=still | log.position)
    motions, frequency = measured_motions(robot, log, cutoff, highest)
    motions = _within(motions, span)
    return [completed_motion(robot, one, known, home) for one in motions], frequency


def logged_velocities(robot: Robot, log: JointLog) -> list[int]:
    """Return the velocities of joints all of whose coordinates were logged."""
    return [
        i
        for block in robot.blocks
        if all(name in log.position for name in block.coordinates)
        for i in range(block.iv, block.iv + len(block.dofs))
    ]


def _within(motions: list[Motion], span: Span) -> list[Motion]:
    """Return what of motions is within a span, without what is empty then."""
    first, last = span
    parts = [
        one.part(slice(int(np.searchsorted(one.time, first)),
                       int(np.searchsorted(one.time, last, side="right"))))
        for one in motions
    ]  # fmt: skip
    return [one for one in parts if len(one.time)]
