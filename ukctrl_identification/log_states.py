"""States of a robot at some moments of a log, smoothed around each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ukctrl.core.arrays import Matrix, Vector
from ukctrl.robot import Robot
from ukctrl.robot.joint_layout import JointBlock
from ukctrl_identification.joint_log import JointLog
from ukctrl_identification.log_fault import JointChannels, growing_rows, median_period
from ukctrl_identification.position_faults import jump_places

STATES = 300
"""At most so many moments, spread evenly."""
HALF_WINDOW = 0.03
"""Over so long before and after, a parabola is fitted to each position [s]."""
MIN_HALF_SAMPLES = 5
"""At least so many samples of it."""


class LogStates(NamedTuple):
    """Moments of a log, one a row."""

    time: Vector
    """[s]."""
    q: Matrix
    """Shape ``(k, nq)``."""
    v: Matrix
    """Shape ``(k, nv)``."""
    a: Matrix
    """Shape ``(k, nv)``."""
    effort: Matrix
    """Means around each moment of the efforts that were asked for, shape ``(k, n)``."""


def log_states(
    robot: Robot, log: JointLog, motions: Mapping[str, JointChannels], efforts: Sequence[str]
) -> LogStates | None:
    """Return states all over a log; None where it is too short or lacks a position.

    Joints with one freedom are differentiated by a parabola fitted to their positions; of the
    others velocities must have been logged. No window holds a jump of a position.
    """
    joints = [block for block in robot.blocks if block.shape in ("line", "circle")]
    bodies = [block for block in robot.blocks if block.shape not in ("line", "circle")]
    rows = growing_rows(log.time)
    time = log.time[rows]
    half = max(MIN_HALF_SAMPLES, round(HALF_WINDOW / median_period(time)))
    positions = [motions[b.dofs[0]].position for b in joints if b.dofs[0] in motions]
    angles = [angle[rows] for angle in positions if angle is not None]
    rates = [log.velocity[name][rows] for b in bodies for name in b.dofs if name in log.velocity]
    poses = [log.position[name] for b in bodies for name in b.coordinates if name in log.position]
    wanted = len(joints), sum(b.nv for b in bodies), sum(b.nq for b in bodies)
    if (len(angles), len(rates), len(poses)) != wanted or len(time) < 4 * half:
        return None
    jumps = np.array([k for angle in angles for k in jump_places(angle, time)], dtype=np.intp)
    centres = np.unique(np.linspace(half, len(time) - 1 - half, STATES).astype(np.intp))
    centres = centres[
        [not np.any((jumps >= centre - half) & (jumps < centre + half)) for centre in centres]
    ]
    k = len(centres)
    q, v, a = np.zeros((k, robot.nq)), np.zeros((k, robot.nv)), np.zeros((k, robot.nv))
    effort = np.array([log.effort[name][rows] for name in efforts])
    means = np.zeros((k, len(efforts)))
    pose_at = [b.iq + i for b in bodies for i in range(b.nq)]
    rate_at = [b.iv + i for b in bodies for i in range(b.nv)]
    for row, centre in enumerate(centres):
        window = slice(centre - half, centre + half + 1)
        since = time[window] - time[centre]
        means[row] = effort[:, window].mean(axis=1)
        q[row, pose_at] = [pose[rows][centre] for pose in poses]
        v[row, rate_at], a[row, rate_at] = _polynomial(since, rates, window, 1)
        for block, angle, speed, half_a in zip(
            joints, *_polynomial(since, angles, window, 2), strict=True
        ):
            q[row, block.iq : block.iq + block.nq] = _coordinates(block, angle)
            v[row, block.iv], a[row, block.iv] = speed, 2.0 * half_a
    return LogStates(time[centres], q, v, a, means)


def _polynomial(since: Vector, channels: Sequence[Vector], window: slice, degree: int) -> Matrix:
    """Return the coefficients of polynomials fitted to channels, shape ``(degree + 1, n)``."""
    if not channels:
        return np.zeros((degree + 1, 0))
    samples = np.array([channel[window] for channel in channels])
    basis = np.vander(since, degree + 1, increasing=True)
    coefficients: Matrix = np.linalg.lstsq(basis, samples.T, rcond=None)[0]
    return coefficients


def _coordinates(block: JointBlock, angle: float) -> tuple[float, ...]:
    return (np.cos(angle), np.sin(angle)) if block.shape == "circle" else (angle,)
