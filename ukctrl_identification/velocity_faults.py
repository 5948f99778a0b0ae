r"""Whether velocities are the rates of positions: unit, sign, joint, delay, and where they part.

What a position changes by over a window of some samples is compared with the integral of the
velocity over it, which noise and resolution disturb less than a difference quotient.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np

from ukctrl.core.arrays import Indices, Vector
from ukctrl.core.tie_breaking import first_largest
from ukctrl_identification.channel_faults import jump_places
from ukctrl_identification.joint_log import JointLog
from ukctrl_identification.log_fault import (
    ROUNDING,
    FaultKind,
    JointMotion,
    LogFault,
    counted,
    median_period,
    resolution,
    runs_of,
)

WINDOW = 10
"""Samples over which changes are compared."""
MAX_WINDOWS = 4000
"""Windows that delay and factor are fitted to."""
FOLLOWS = 0.9
"""Of a correlation above this something is said."""
UNRELATED = 0.5
"""A correlation below this is none."""
FACTOR_RTOL = 0.05
"""How near a factor between units must be."""
MAX_FACTOR_ERROR = 0.2
"""A factor farther from one contradicts the position."""
LONGEST_DELAY = 0.25
"""Delays that are looked for [s]."""
LONG_WINDOW = 50
"""Samples over which position and velocity must agree everywhere."""
MIN_GAIN = 0.01
"""A velocity whose changes over a window are a smaller part of its travel times a second says
nothing of a delay [1/s]."""
OUTLIER = 20.0
"""A difference that is so many times the usual one is told."""
CLOCK_PERIODS = 10.0
"""By so many median periods stamps may be late, as those of a busy computer are."""


class Comparison(NamedTuple):
    """A position and a velocity that might be its rate, over the whole log."""

    time: Vector
    """Strictly growing."""
    position: Vector
    velocity: Vector
    integral: Vector
    """Of the velocity, by the trapezoidal rule."""
    starts: Indices
    """Where windows begin, without those that hold a jump."""
    jumps: Indices
    """After which samples the position jumps."""

    @property
    def ends(self) -> Indices:
        """Where windows end."""
        return self.starts + WINDOW

    @property
    def change(self) -> Vector:
        """What the position changes by over each window."""
        change: Vector = self.position[self.ends] - self.position[self.starts]
        return change

    def travel(self, delay: float = 0.0) -> Vector:
        """Return the integral of the velocity over each window, so much later."""
        first = np.interp(self.time[self.starts] + delay, self.time, self.integral)
        last = np.interp(self.time[self.ends] + delay, self.time, self.integral)
        travel: Vector = last - first
        return travel

    def gain(self, delay: float) -> Vector:
        """Return what the velocity changes by over each window, so much later."""
        first = np.interp(self.time[self.starts] + delay, self.time, self.velocity)
        last = np.interp(self.time[self.ends] + delay, self.time, self.velocity)
        gain: Vector = last - first
        return gain


class RateFit(NamedTuple):
    """By which factor and how much later a velocity is the rate of a position."""

    factor: float
    """The rate of the position over the velocity."""
    delay: float
    """By how much the velocity is late [s]."""
    delay_deviation: float
    """Standard deviation of the delay [s]."""
    correlation: float


def velocity_faults(log: JointLog, motions: Mapping[str, JointMotion]) -> Iterator[LogFault]:
    """Yield velocities that contradict the positions."""
    pairs = {
        name: pair
        for name, motion in motions.items()
        if (pair := _comparison(log.time, motion)) is not None
    }
    fits = {name: fit_rate(pair) for name, pair in pairs.items()}
    in_other_time = _time_unit(log, motions, fits)
    if in_other_time is not None:
        yield in_other_time
        return
    for name, pair in pairs.items():
        fit, unit = fits[name], motions[name].unit
        other = _followed_joint(name, pairs) if abs(fit.correlation) < UNRELATED else None
        if other is not None:
            yield _fault(
                log,
                "other_joint",
                name,
                f"follows the position of '{other}' and not that of '{name}'; are columns swapped?",
            )
        elif abs(fit.correlation) >= FOLLOWS:
            yield from _fit_faults(log, name, unit, fit)
            if abs(fit.factor - 1.0) < MAX_FACTOR_ERROR:
                yield from _disagreements(name, unit, pair, fit)


def _fault(log: JointLog, kind: FaultKind, name: str, text: str, is_fatal: bool = True) -> LogFault:
    channel = f"velocity.{name}"
    return LogFault(kind, channel, float(log.time[0]), f"{channel} {text}", is_fatal)


def _comparison(time: Vector, motion: JointMotion) -> Comparison | None:
    """Return the channels of a joint where both are numbers and the time grows; None: too few."""
    q, v = motion.position, motion.velocity
    if q is None or v is None:
        return None
    is_number = np.isfinite(q) & np.isfinite(v) & np.isfinite(time)
    latest = np.maximum.accumulate(np.where(is_number, time, -np.inf))
    rows = is_number & (time > np.concatenate(([-np.inf], latest[:-1])))
    if np.count_nonzero(rows) < 5 * WINDOW:
        return None
    t, q, v = time[rows], q[rows], v[rows]
    step = max(WINDOW, (len(t) - WINDOW) // MAX_WINDOWS)
    starts = np.arange(0, len(t) - WINDOW, step)
    jumps = jump_places(motion._replace(position=q), t)
    starts = _without_jumps(starts, jumps, WINDOW)
    integral = np.concatenate(([0.0], np.cumsum(0.5 * (v[1:] + v[:-1]) * np.diff(t))))
    pair = Comparison(t, q, v, integral, starts, jumps)
    return pair if np.any(pair.change) and np.any(pair.travel()) else None


def _without_jumps(starts: Indices, jumps: Indices, length: int) -> Indices:
    """Return where those windows of a length begin that hold no jump."""
    kept: Indices = starts[~np.isin(starts, (jumps[:, None] - np.arange(length)).ravel())]
    return kept


def _correlation(first: Vector, second: Vector) -> float:
    size = float(np.linalg.norm(first) * np.linalg.norm(second))
    return float(first @ second) / size if size else 0.0


def fit_rate(pair: Comparison) -> RateFit:
    r"""Fit $\Delta q = c \int v(t + d)\,dt$ to all windows, by Gauss and Newton.

    A delay is looked for on a grid where the velocity as it is does not fit.
    """
    change = pair.change
    delay = 0.0
    correlation = _correlation(change, pair.travel())
    if abs(correlation) < FOLLOWS:
        spacing = max(WINDOW * median_period(pair.time) / 2.0, LONGEST_DELAY / 100.0)
        grid = np.arange(-LONGEST_DELAY, LONGEST_DELAY + spacing, spacing)
        sizes = [abs(_correlation(change, pair.travel(d))) for d in grid]
        delay = float(grid[first_largest(sizes)])
    deviation = math.inf
    for _ in range(4):
        travel, gain = pair.travel(delay), pair.gain(delay)
        size = float(travel @ travel)
        factor = float(change @ travel) / size
        residual = change - factor * travel
        # what the factor does not do; nothing, where the velocity is constant or grows
        # exponentially
        own = gain - float(gain @ travel) / size * travel
        share = float(own @ own) / size
        if not (factor and share > MIN_GAIN**2 and own @ own > 0.01 * (gain @ gain)):
            delay, deviation = 0.0, math.inf
            break
        shift = float(own @ residual) / float(own @ own)
        residual -= shift * own
        deviation = math.sqrt(float(residual @ residual) / len(change) / float(own @ own))
        delay += shift / factor
        deviation /= abs(factor)
        if abs(delay) > LONGEST_DELAY:
            delay, deviation = 0.0, math.inf
            break
    travel = pair.travel(delay)
    factor = float(change @ travel) / float(travel @ travel)
    return RateFit(factor, delay, deviation, _correlation(change, travel))


def _time_unit(
    log: JointLog, motions: Mapping[str, JointMotion], fits: Mapping[str, RateFit]
) -> LogFault | None:
    """Return the question whether the time is in another unit, which all joints say together."""
    factors = [fit.factor for fit in fits.values() if abs(fit.correlation) >= FOLLOWS]
    turning = any(motions[name].unit == "rad" for name in fits)
    for unit, factor in (("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9)):
        near = [abs(abs(one) / factor - 1.0) < FACTOR_RTOL for one in factors]
        if near and all(near) and (turning or unit != "ms"):
            return LogFault(
                "unit",
                "time",
                float(log.time[0]),
                f"time grows {1.0 / factor:.0e} times as fast as positions and velocities say; is "
                f'it in {unit}? Then say time_unit = "{unit}".',
                True,
            )
    return None


DEGREES = 180.0 / math.pi
UNIT_FACTORS = {
    "rad": (
        (DEGREES, 'Is the position in degrees? Then say position_unit = "deg".'),
        (1.0 / DEGREES, 'Is the velocity in deg/s? Then say velocity_unit = "deg/s".'),
        (math.pi / 30.0, 'Is the velocity in rpm? Then say velocity_unit = "rpm".'),
        (2.0 * math.pi, 'Is the velocity in turns a second? Then say velocity_unit = "rev/s".'),
        (6.0, 'Is the position in degrees and the velocity in rpm? Then say position_unit = "deg" '
         'and velocity_unit = "rpm".'),
    ),
    "m": (
        (1e3, 'Is the position in millimetres? Then say position_unit = "mm".'),
        (1e-3, 'Is the velocity in mm/s? Then say velocity_unit = "mm/s".'),
    ),
}  # fmt: skip
"""What it may mean that the rate of a position is so many times its velocity."""
OTHER_FACTOR = (
    "Is one of both on the motor's side of a gear, or in another unit? Say so by position_unit or "
    "velocity_unit."
)


def _fit_faults(log: JointLog, name: str, unit: str, fit: RateFit) -> Iterator[LogFault]:
    """Yield what factor and delay say."""
    if fit.factor < 0.0:
        yield _fault(
            log,
            "sign",
            name,
            f"has the sign against the rate of position.{name}; turn one of both in the log, as "
            "sign turns both.",
        )
    size = abs(fit.factor)
    near = (text for one, text in UNIT_FACTORS[unit] if abs(size / one - 1.0) < FACTOR_RTOL)
    question = next(near, OTHER_FACTOR if abs(size - 1.0) > MAX_FACTOR_ERROR else "")
    if question:
        text = f"times {size:.4g} is the rate of position.{name}. {question}"
        yield _fault(log, "unit", name, text)
    period = median_period(log.time)
    if abs(fit.delay) > max(period, 4.0 * fit.delay_deviation):
        word = "later" if fit.delay > 0.0 else "earlier"
        yield _fault(
            log,
            "delay",
            name,
            f"is {abs(fit.delay) * 1e3:.3g} ms {word} than the rate of position.{name}.",
            False,
        )


def _followed_joint(name: str, pairs: Mapping[str, Comparison]) -> str | None:
    """Return another joint whose position a velocity is the rate of."""
    travel = pairs[name].travel()
    for other, pair in pairs.items():
        is_alike = other != name and np.array_equal(pair.starts, pairs[name].starts)
        if is_alike and abs(_correlation(pair.change, travel)) >= FOLLOWS:
            return other
    return None


def _disagreements(name: str, unit: str, pair: Comparison, fit: RateFit) -> Iterator[LogFault]:
    """Yield where a velocity that is the rate of its position is so no more."""
    n = len(pair.time)
    # jumps are told by themselves
    windows = _without_jumps(np.arange(0, n - LONG_WINDOW, LONG_WINDOW), pair.jumps, LONG_WINDOW)
    if not windows.size:
        return
    usual = float(np.median(_difference(pair, fit, windows, windows + LONG_WINDOW)))
    # the trapezoidal rule errs by less than the velocity's changes times the steps
    wiggle = np.cumsum(np.abs(np.diff(pair.velocity)) * np.diff(pair.time))
    wiggle = np.concatenate(([0.0], wiggle))
    clock = CLOCK_PERIODS * median_period(pair.time) * float(np.abs(pair.velocity).max())
    least = OUTLIER * usual + 5.0 * resolution(pair.position) + clock * abs(fit.factor) + ROUNDING
    begins_q, ends_q = runs_of(np.diff(pair.position) == 0.0)
    begins_v, ends_v = runs_of(np.diff(pair.velocity) == 0.0)
    told: list[tuple[float, float]] = []
    spans_by_kind: tuple[tuple[FaultKind, str, str, Indices, Indices], ...] = (
        ("stuck", "position", "stands still while the velocity goes on", begins_q, ends_q),
        ("stuck", "velocity", "stands still while the position goes on", begins_v, ends_v),
        ("disagreement", "position", "and velocity part", windows, windows + LONG_WINDOW),
    )
    for kind, channel, text, begins, ends in spans_by_kind:
        difference = _difference(pair, fit, begins, ends)
        outside = difference > least + 2.0 * (wiggle[ends] - wiggle[begins])
        spans = list(zip(pair.time[begins[outside]], pair.time[ends[outside]], strict=True))
        # a window around what was told already
        spans = [(b, e) for b, e in spans if all(e < first or b > last for first, last in told)]
        told += spans
        if spans:
            begin, end = spans[0]
            yield LogFault(
                kind,
                f"{channel}.{name}",
                float(begin),
                f"{channel}.{name} {text} from t = {begin:.6g} s to {end:.6g} s"
                f"{counted(len(spans))}, by up to {difference[outside].max():.3g} {unit}.",
                True,
            )


def _difference(pair: Comparison, fit: RateFit, begins: Indices, ends: Indices) -> Vector:
    """Return how far the change of the position is from what the velocity gives, span by span."""
    integral = np.interp(pair.time + fit.delay, pair.time, pair.integral)
    change = pair.position[ends] - pair.position[begins]
    difference: Vector = np.abs(change - fit.factor * (integral[ends] - integral[begins]))
    return difference
