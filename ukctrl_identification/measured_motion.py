"""The motion of a log: states and accelerations in step, from filtered channels."""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np

from ukctrl.core.arrays import Flags, Matrix, Vector
from ukctrl.core.errors import InputError, quoted
from ukctrl.robot import Robot
from ukctrl_identification.joint_log import JointLog

FILTER_ORDER = 4
"""Of the Butterworth filter of positions, which runs forwards and backwards: nothing is late."""
POSITION_CUTOFF = 2.0
"""Of positions, by how much more passes than of equations, which filter their derivatives again."""
RATE_PER_CUTOFF = 2.5
"""Samples of a filtered equation that are kept in a period of the filter's frequency."""
WINDOW = 4
"""Half of the filter's window, in samples that are kept."""
MOTION_SHARE = 0.99
"""Of the power of the velocities, what lies below the frequency that counts as the motion's."""
CUTOFF_PER_MOTION = 20.0
"""By how much the filter lets more through than that."""
NOISE_FACTOR = 100.0
"""Power beside that of the sensor's noise from which on a frequency counts as motion."""
HIGHEST_CUTOFF = 0.2
"""Part of the samples' frequency that the filter's is at most."""
MAX_GAP = 10.0
"""Samples further apart than so many periods end a segment, which is filtered by itself."""
MIN_SEGMENT = 30
"""Samples that a segment must have to be of use."""
EDGE_PERIODS = 1.0
"""Periods of the positions' filter that are left out at the ends of a segment."""


TURNING = {
    "free": slice(3, 7), "spherical": slice(0, 4), "planar": slice(2, 4), "circle": slice(0, 2)
}  # fmt: skip
"""Coordinates of a joint that have length 1, by its shape."""


class LowPass(NamedTuple):
    """What equations are filtered and thinned by: a window that all their terms share.

    Efforts have what is too fast for the positions' derivatives, such as the steps of friction;
    filtered alike, both sides still agree.
    """

    taps: Vector
    """Symmetric, of sum 1; only 1 where nothing is filtered."""
    stride: int
    """Every which sample is kept."""

    @staticmethod
    def of(cutoff: float, period: float) -> LowPass:
        """Return the filter of a frequency [Hz] at a period of samples [s]."""
        stride = max(1, int(1.0 / (RATE_PER_CUTOFF * cutoff * period)))
        if not np.isfinite(cutoff) or stride == 1:
            return NO_FILTER
        from scipy import signal

        half = WINDOW * stride
        return LowPass(signal.firwin(2 * half + 1, cutoff, fs=1.0 / period), stride)

    @property
    def independent(self) -> float:
        """Share of the samples kept that are independent, by the noise that passes."""
        return min(1.0, self.stride * float(self.taps @ self.taps))

    def instants(self, n: int) -> slice:
        """Return which of ``n`` samples are kept: those with all of the window."""
        half = len(self.taps) // 2
        return slice(half, max(half, n - half), self.stride)


NO_FILTER = LowPass(np.ones(1), 1)


class Motion(NamedTuple):
    """States, accelerations and efforts at ``n`` instants, evenly spaced where it has a filter."""

    time: Vector
    """[s]"""
    q: Matrix
    """Configurations, shape ``(n, nq)``."""
    v: Matrix
    """Velocities, shape ``(n, nv)``."""
    a: Matrix
    """Accelerations, shape ``(n, nv)``."""
    effort: Matrix
    """Measured efforts on the joints, shape ``(n, nv)``; NaN where none is measured."""
    low_pass: LowPass = NO_FILTER
    """What its equations are filtered by."""
    current: Matrix | None = None
    """Currents of motors whose constants are not known, shape ``(n, nv)`` [A]; likewise NaN."""

    def part(self, where: slice) -> Motion:
        """Return some of the instants."""
        time, q, v, a, effort, low_pass, current = self
        current = None if current is None else current[where]
        return Motion(time[where], q[where], v[where], a[where], effort[where], low_pass, current)

    def measured(self) -> Flags:
        """Return of which velocities it has an effort or a current, shape ``(nv,)``."""
        channels = [self.effort] if self.current is None else [self.effort, self.current]
        return np.asarray(np.any([~np.isnan(one).all(axis=0) for one in channels], axis=0))


def motion_frequency(time: Vector, positions: Matrix) -> float:
    """Return the frequency below which nearly all of the motion's power lies [Hz].

    Args:
        time: Evenly spaced, shape ``(n,)`` [s].
        positions: Shape ``(n, k)``.
    """
    from scipy import signal

    period = float(time[1] - time[0])
    moved = positions.std(axis=0)
    positions = positions[:, moved > 1e-3 * moved.max(initial=0.0)]
    if not positions.shape[1]:
        return 1.0 / (len(time) * period)
    window = min(len(positions), max(256, int(10.0 / period)))
    spectra = [signal.welch(channel, 1.0 / period, nperseg=window) for channel in positions.T]
    frequency, power = spectra[0][0], np.column_stack([density for _, density in spectra])
    # what is as strong at all high frequencies is the sensor's, and differentiating lifts it
    floor = np.median(power[len(power) // 2 :], axis=0)
    speed = np.where(power > NOISE_FACTOR * floor, power, 0.0) * frequency[:, None] ** 2
    speed[-1] += np.finfo(float).tiny  # where nothing stands out, all frequencies may be motion
    shares = np.cumsum(speed, axis=0) / speed.sum(axis=0)
    return float(frequency[np.argmax(shares >= MOTION_SHARE, axis=0)].max())


def measured_motions(
    robot: Robot, log: JointLog, cutoff: float | None = None, highest: float = HIGHEST_CUTOFF
) -> tuple[list[Motion], float]:
    """Return the motion of a log, a stretch without gaps at a time, and the filter's frequency.

    Channels are brought to even times. Positions are filtered forwards and backwards and
    differentiated by central differences; a logged velocity is not needed. Where accelerations
    are logged, as simulations have them, all is taken as it is, and nothing is filtered unless a
    frequency is given.

    Args:
        robot: The robot.
        log: The log.
        cutoff: Frequency of the filter [Hz]; absent: from the motion; infinite: no filter.
        highest: Part of the samples' frequency that the filter's is at most.

    Raises:
        InputError: A coordinate or all efforts are missing, or nothing of the log is long enough.
    """
    missing = [name for name in robot.coordinates if name not in log.position]
    if missing:
        raise InputError(f"{log.source}: positions must be logged of {quoted(missing)}, too.")
    if not any(name in channels for name in robot.dofs for channels in (log.effort, log.current)):
        raise InputError(f"{log.source}: must have the effort of at least one joint; it has none.")
    exact = all(
        name in channels for name in robot.dofs for channels in (log.velocity, log.acceleration)
    )
    if (exact and cutoff is None) or cutoff == np.inf:
        if not exact:
            raise InputError(f"{log.source}: without a filter, accelerations must be logged.")
        return [_as_logged(robot, log)], np.inf
    pieces = [piece for piece in _even_pieces(robot, log) if len(piece.time) >= MIN_SEGMENT]
    if not pieces:
        raise InputError(
            f"{log.source}: must have {MIN_SEGMENT} samples without a gap; nothing is that long."
        )
    longest = max(pieces, key=lambda piece: len(piece.time))
    if cutoff is None:
        cutoff = CUTOFF_PER_MOTION * motion_frequency(longest.time, longest.q)
    cutoff = min(cutoff, highest / longest.period)
    motions = [_differentiated(robot, piece, cutoff) for piece in pieces]
    return [motion for motion in motions if len(motion.time)], cutoff


class _Piece(NamedTuple):
    """A stretch of a log at even times."""

    time: Vector
    q: Matrix
    effort: Matrix
    current: Matrix | None

    @property
    def period(self) -> float:
        """Time between samples [s]."""
        return float(self.time[1] - self.time[0])


def _channels(robot: Robot, log: JointLog) -> tuple[Matrix, Matrix, Matrix | None]:
    """Return positions, efforts and currents, in the robot's order."""
    nothing = np.full(len(log.time), np.nan)
    positions = np.column_stack([log.position[name] for name in robot.coordinates])
    efforts, currents = (
        np.column_stack([channels.get(name, nothing) for name in robot.dofs])
        for channels in (log.effort, log.current)
    )
    return positions, efforts, currents if log.current else None


def _even_pieces(robot: Robot, log: JointLog) -> list[_Piece]:
    """Return a log at even times, cut where samples are missing."""
    steps = np.diff(log.time)
    period = float(np.median(steps))
    ends = [0, *(np.flatnonzero(steps > MAX_GAP * period) + 1), len(log.time)]
    pieces, (positions, efforts, currents) = [], _channels(robot, log)
    for first, last in itertools.pairwise(ends):
        own = log.time[first:last]
        if len(own) < 2:
            continue
        even = own[0] + period * np.arange(int((own[-1] - own[0]) / period) + 1)
        q, effort = (_interpolated(even, own, some[first:last]) for some in (positions, efforts))
        current = None if currents is None else _interpolated(even, own, currents[first:last])
        pieces.append(_Piece(even, q, effort, current))
    return pieces


def _interpolated(even: Vector, time: Vector, channels: Matrix) -> Matrix:
    return np.column_stack([np.interp(even, time, channel) for channel in channels.T])


def _differentiated(robot: Robot, piece: _Piece, cutoff: float) -> Motion:
    """Return a stretch with its derivatives."""
    from scipy import signal

    period, corner = piece.period, POSITION_CUTOFF * cutoff
    sections = signal.butter(FILTER_ORDER, corner, fs=1.0 / period, output="sos")
    pad = min(len(piece.q) - 1, int(3.0 / (corner * period)))
    q = np.column_stack([signal.sosfiltfilt(sections, x, padlen=pad) for x in piece.q.T])
    _onto_manifold(robot, q)
    v = _velocities(robot, q, period)
    a = _central_difference(v, period)
    # ends have one-sided differences, and the filter knows nothing beyond them
    edge = 2 + int(EDGE_PERIODS / (corner * period))
    inner = slice(edge, max(edge, len(q) - edge))
    low_pass = LowPass.of(cutoff, period)
    return Motion(piece.time, q, v, a, piece.effort, low_pass, piece.current).part(inner)


def _as_logged(robot: Robot, log: JointLog) -> Motion:
    """Return a log that has all that it takes."""
    q, effort, current = _channels(robot, log)
    v, a = (
        np.column_stack([channels[name] for name in robot.dofs])
        for channels in (log.velocity, log.acceleration)
    )
    return Motion(log.time, q, v, a, effort, current=current)


def _onto_manifold(robot: Robot, q: Matrix) -> None:
    """Give quaternions, sines and cosines of configurations their unit length again."""
    for block in robot.blocks:
        if block.shape in TURNING:
            part = q[:, block.iq : block.iq + len(block.coordinates)][:, TURNING[block.shape]]
            part /= np.linalg.norm(part, axis=1, keepdims=True)


def _central_difference(x: Matrix, period: float) -> Matrix:
    """Return the derivative along the first axis, to the fourth order, at the ends the second."""
    result = np.empty_like(x)
    for column, slope in zip(x.T, result.T, strict=True):
        slope[:] = np.gradient(column, period, edge_order=2)
        near, far = column[3:-1] - column[1:-3], column[4:] - column[:-4]
        slope[2:-2] = (8.0 * near - far) / (12.0 * period)
    return result


def _velocities(robot: Robot, q: Matrix, period: float) -> Matrix:
    """Return the velocities of configurations at even times."""
    if robot.nq == robot.nv:
        return _central_difference(q, period)
    v = np.zeros((len(q), robot.nv))
    near = [robot.difference(one, two) for one, two in itertools.pairwise(q)]
    steps = np.array(near) / period
    v[1:-1] = (steps[1:] + steps[:-1]) / 2.0
    v[0], v[-1] = steps[0], steps[-1]
    # of rotations the fourth order by Richardson's rule: from twice the distance
    far = np.array([robot.difference(one, two) for one, two in zip(q[:-4], q[4:], strict=True)])
    v[2:-2] = (4.0 * v[2:-2] - far / (4.0 * period)) / 3.0
    return v
