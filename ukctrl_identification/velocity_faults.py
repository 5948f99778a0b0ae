"""Whether velocities are the rates of positions: unit, sign, joint, delay, and where they part."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

import numpy as np

from ukctrl.core.arrays import Indices, Vector
from ukctrl_identification.joint_log import JointLog
from ukctrl_identification.log_fault import (
    ROUNDING,
    FaultKind,
    JointChannels,
    LogFault,
    counted,
    median_period,
    resolution,
    runs_of,
)
from ukctrl_identification.rate_fit import (
    FOLLOWS,
    Comparison,
    RateFit,
    compare,
    correlation,
    fit_factor,
    fit_rate,
    without_breaks,
)

SMOOTH = 0.5
"""Changes over windows that follow each other are alike to this correlation, if not noise."""
FOLLOWS_OTHER = 0.98
"""With another joint's position more is asked for."""
FACTOR_RTOL = 0.05
"""How near a factor between units must be."""
MAX_FACTOR_ERROR = 0.2
"""A factor farther from one is that of a velocity that is filtered, or has an offset."""
OTHER_UNIT = 2.0
"""A factor beyond is one of units."""
LONG_WINDOW = 50
"""Samples over which position and velocity must agree everywhere."""
OUTLIER = 20.0
"""A difference that is so many times the usual one is told."""
CLOCK_PERIODS = 10.0
"""By so many median periods stamps may be late, as those of a busy computer are."""


def velocity_faults(log: JointLog, motions: Mapping[str, JointChannels]) -> Iterator[LogFault]:
    """Yield velocities that contradict the positions."""
    pairs = {
        name: pair
        for name, motion in motions.items()
        if (pair := compare(log.time, motion)) is not None
    }
    fits = {name: fit_rate(pair) for name, pair in pairs.items()}
    in_other_time = _time_unit(log, motions, fits)
    if in_other_time is not None:
        yield in_other_time
        return
    for name, pair in pairs.items():
        fit, unit = fits[name], motions[name].unit
        other = _followed_joint(name, pairs) if _is_unlike(pair) else None
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


def _time_unit(
    log: JointLog, motions: Mapping[str, JointChannels], fits: Mapping[str, RateFit]
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
                f"time grows {1.0 / factor:.0f} times as fast as positions and velocities say; is "
                f'it in {unit}? Then say time_unit = "{unit}".',
                True,
            )
    return None


DEGREES = 180.0 / math.pi
UNIT_FACTORS: Mapping[str, tuple[tuple[float, str, str], ...]] = {
    "rad": (
        (DEGREES, "position", 'Is it in degrees? Then say position_unit = "deg".'),
        (1.0 / DEGREES, "velocity", 'Is it in deg/s? Then say velocity_unit = "deg/s".'),
        (math.pi / 30.0, "velocity", 'Is it in rpm? Then say velocity_unit = "rpm".'),
        (2.0 * math.pi, "velocity", 'Is it in turns a second? Then say velocity_unit = "rev/s".'),
        (6.0, "position", 'Is it in degrees, and the velocity in rpm? Then say position_unit = '
         '"deg" and velocity_unit = "rpm".'),
    ),
    "m": (
        (1e3, "position", 'Is it in millimetres? Then say position_unit = "mm".'),
        (1e-3, "velocity", 'Is it in mm/s? Then say velocity_unit = "mm/s".'),
    ),
}  # fmt: skip
"""What it may mean that the rate of a position is so many times its velocity: of which channel."""
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
    meaning = min(UNIT_FACTORS[unit], key=lambda m: abs(size / m[0] - 1.0))
    if abs(size / meaning[0] - 1.0) > FACTOR_RTOL:
        meaning = (size, "velocity", OTHER_FACTOR)
    if max(size, 1.0 / size) > OTHER_UNIT:
        _, quantity, question = meaning
        channel = f"{quantity}.{name}"
        if quantity == "velocity":
            text = f"it is {1.0 / size:.4g} times the rate of position.{name}."
        else:
            text = f"its rate is {size:.4g} times velocity.{name}."
        yield LogFault("unit", channel, float(log.time[0]), f"{channel}: {text} {question}", True)
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


def _is_unlike(pair: Comparison) -> bool:
    """Whether the velocity is not the rate of the position, which itself is more than noise."""
    change, _, _ = pair.windows()
    is_smooth = correlation(change[1:], change[:-1]) > SMOOTH
    return is_smooth and abs(fit_factor(pair, 0.0).correlation) < FOLLOWS


def _followed_joint(name: str, pairs: Mapping[str, Comparison]) -> str | None:
    """Return another joint whose position a velocity is the rate of."""
    own = pairs[name]
    for other, pair in pairs.items():
        if other != name and np.array_equal(pair.time, own.time):
            mixed = own._replace(position=pair.position)
            fit = fit_factor(mixed, 0.0)
            is_rate = abs(abs(fit.factor) - 1.0) < MAX_FACTOR_ERROR
            if is_rate and abs(fit.correlation) >= FOLLOWS_OTHER:
                return other
    return None


def _disagreements(name: str, unit: str, pair: Comparison, fit: RateFit) -> Iterator[LogFault]:
    """Yield where a velocity that is the rate of its position is so no more."""
    n = len(pair.time)
    # jumps and gaps are told by themselves
    windows = without_breaks(np.arange(0, n - LONG_WINDOW, LONG_WINDOW), pair.breaks, LONG_WINDOW)
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
        within = (pair.time[begins] + fit.delay >= pair.time[0]) & (
            pair.time[ends] + fit.delay <= pair.time[-1]
        )
        begins, ends = begins[within], ends[within]
        difference = _difference(pair, fit, begins, ends)
        travel = np.abs(pair.integral[ends] - pair.integral[begins])
        bound = least + 2.0 * (wiggle[ends] - wiggle[begins]) + MAX_FACTOR_ERROR * travel
        outside = difference > bound
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
