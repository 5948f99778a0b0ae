"""Whether the loop that a run closes is stable: of all freedoms, at the start and along the motion.

The poles are those of `analyze`, of the linear loop with plant, law, its memory, hold, delay and
sensors. A control period is to blame for a mode that grows where the same loop without a hold has
none that grows nearly as fast.
"""

from __future__ import annotations

import dataclasses as dc
import functools
import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ukctrl.analysis.check.task_motion import TaskMotion
from ukctrl.analysis.check.timing import first_loss
from ukctrl.analysis.linear.linear_analysis import stability_text
from ukctrl.analysis.linear.linear_loop import (
    LinearLoop,
    growing_count,
    growth_rate,
    linear_loop,
    linearise_loop,
    loop_growth_rate,
)
from ukctrl.analysis.linear.operating_point import OperatingPoint, operating_point
from ukctrl.core.arrays import Flags
from ukctrl.core.errors import InputError, UkctrlError
from ukctrl.core.tie_breaking import first_smallest
from ukctrl.simulation.assemble import Loop
from ukctrl.simulation.assemble.retimed_rows import servo_constraints
from ukctrl.simulation.effects import SensorEffect
from ukctrl.simulation.result.metrics.inequality_metrics import margin_rounding
from ukctrl.simulation.result.result import Result
from ukctrl.simulation.scenario import Scenario
from ukctrl.simulation.simulate import simulate

MAX_POINTS = 5
"""States at which the loop is looked at: the start, and evenly along the motion."""
HOLD_RATIO = 2.0
"""A mode that grows for its hold grows by more than this beside what it does without one."""
CERTAIN_GROWTH = math.log(1e6)
"""A mode that grows by more in a run leaves the motion, however small the deviation was."""
HOLD_GROWTH = 1.0
"""One that grows for its hold is a fault of the loop from this on."""
MAX_TRIAL_TICKS, MAX_TRIAL_TIME = 2000, 4.0
"""Ticks of a run that is tried; and its duration where the law acts all the time [s]."""
PUSH = 1e-2
"""By how much its start is off, to see whether it comes back: more than a cycle of friction [rad/s,
m/s]."""
MIN_PERIOD, MAX_PERIOD, PERIOD_RATIO = 1e-5, 10.0, 1.2
"""Periods that are tried for the stability limit, and their ratio [s, s, 1]."""
LIMIT_HALVINGS = 12
"""Halvings of the interval of the limit, to 5 digits."""
MAX_TRIES = 4
"""Periods that are tried on the scenario itself, each half the one before."""


BEYOND_KEPT = (
    "where the exact task is beyond what the law keeps, no run is, and the poles are not looked at."
)
"""What to note where that is so."""


@dc.dataclass(frozen=True, kw_only=True)
class LoopStability:
    """The poles of a scenario's loop."""

    text: str
    """Its stability at the start, in the words of `analyze`."""
    period: float | None
    """Period of the hold [s]; None under continuous control."""
    delay: float
    """By how much inputs arrive late [s]."""
    states: int
    times: tuple[float, ...]
    """Where it was looked at, the start first [s]."""
    growth: tuple[float, ...]
    """Rate of the mode that grows most or decays least at each; below zero it decays [1/s]."""
    worst_text: str
    """Its stability where a mode grows most."""
    log_growth: float
    """Logarithm of how much the modes that grow most make of a deviation over the run, at most."""
    of_hold: bool
    """Whether that growth is due to the hold, as far as that can be told."""
    smooth: bool
    """Whether the law is smooth at all of them: else its poles do not decide."""
    limit: float | None
    """Period up to which a hold makes no mode grow at any of them that does not without one, the
    delay in periods unchanged [s]; None where that is not known, as sensors or an observer are made
    for the period."""
    recommended: float | None = None
    """A period with which the scenario's loop was tried, and is stable [s]; None where none was
    found, or none is needed."""
    left_out: tuple[str, ...] = ()
    """What the worst poles do not show, as `analyze` notes it."""

    @property
    def worst_at(self) -> float:
        """When a mode grows most [s]."""
        return self.times[int(np.argmax(self.growth))]

    @property
    def diverges(self) -> bool:
        """Whether a mode is certain to grow within the run."""
        certain = HOLD_GROWTH if self.of_hold else CERTAIN_GROWTH
        return self.smooth and self.log_growth > certain

    @property
    def decides(self) -> bool:
        """Whether small deviations decay, with nothing left out, or grow with any period.

        What grows for its hold does so about the exact motion, which not every law follows.
        """
        decays = self.smooth and max(self.growth) < 0.0 and not self.left_out
        return decays or (self.diverges and not self.of_hold)


class LimitOverrun(NamedTuple):
    """How far a run is beyond a limit."""

    name: str
    depth: float
    unit: str
    t: float
    """When [s]."""


@dc.dataclass(frozen=True, kw_only=True)
class TrialRun:
    """A run that was tried, as poles do not decide, or to confirm them."""

    duration: float
    """[s]."""
    status: str
    message: str
    returns: bool
    """Whether another one, which starts a little off, comes back to it."""
    overruns: tuple[LimitOverrun, ...] = ()
    """Limits that it crosses although the law keeps them, each where it is furthest beyond."""


def trial_run(
    loop: Loop, stability: LoopStability | None, *, leaves_motion: bool
) -> TrialRun | None:
    """Return how a run goes whose ticks the poles do not judge, or condemn; None where they do.

    Args:
        loop: The scenario, ready to run.
        stability: Its poles.
        leaves_motion: Whether no run follows the exact motion, since a contact would slide or open,
            or a limit is kept: what happens then, no poles about that motion tell.
    """
    timing = loop.scenario.timing
    is_judged = timing.control is None or (stability is not None and stability.decides)
    if is_judged and not leaves_motion:
        return None
    longest = MAX_TRIAL_TICKS * timing.control if timing.control else MAX_TRIAL_TIME
    duration = min(timing.duration, longest)
    shorter = dc.replace(timing, duration=duration)
    # the rows as they are: a path that is planned from the start is another from one that is pushed
    servo = servo_constraints(loop.scenario, loop.robot)
    scenario = dc.replace(loop.scenario, timing=shorter, servo=servo)
    try:
        nominal = simulate(scenario)
        condemned = stability is not None and stability.diverges and nominal.status == "completed"
        returns = condemned and _returns(loop, scenario, nominal)
    except (UkctrlError, ArithmeticError):
        return None  # why it does not start is told elsewhere
    return TrialRun(
        duration=duration,
        status=nominal.status,
        message=nominal.message,
        returns=returns,
        overruns=tuple(_overruns(nominal)),
    )


def _overruns(result: Result) -> Iterator[LimitOverrun]:
    labels = result.labels
    for k, (name, unit) in enumerate(zip(labels.keep_rows, labels.keep_row_units, strict=True)):
        h = np.nan_to_num(result["keep"][:, k], nan=np.inf)
        at = first_smallest(h)
        if h[at] < -margin_rounding(unit):
            yield LimitOverrun(name, -float(h[at]), unit, float(result.time[at]))


def _returns(loop: Loop, scenario: Scenario, nominal: Result) -> bool:
    """Return whether a run from a start that is a little off comes nearer to another."""
    q, v = nominal["q"][0], nominal["v"][0]
    loop.plant.move(loop.t0, q, v)
    A, push = loop.plant.passive.rows.A, PUSH * (-1.0) ** np.arange(len(v))
    push -= np.linalg.pinv(A) @ (A @ push)  # what closures and contacts allow
    start = {"q": q.tolist(), "v": (v + push).tolist(), "solve": False}
    pushed = simulate(scenario.replace({f"start.{key}": value for key, value in start.items()}))
    if pushed.status != "completed":
        return False
    distance = np.abs(pushed["v"] - nominal["v"]).max(axis=1)
    # nearer than the push: two runs that swing as far as the loop lets them keep some distance
    tenth = 1 + len(distance) // 10
    return bool(distance[-tenth:].max() < distance[0])


def loop_stability(loop: Loop, motion: TaskMotion, crossed: Flags | None = None) -> LoopStability:
    """Return the poles of the loop along a motion.

    Args:
        loop: The scenario, ready to run.
        motion: The motion that its task asks for.
        crossed: At which of its knots it is beyond what the law keeps, where no run is; absent: at
            none.

    Raises:
        InputError: The scenario has no motors, or the law no command at the start.
    """
    scenario, period = loop.scenario, loop.scenario.timing.control
    loops, points = [], []
    knots = _knots(motion, crossed)
    for i, point in enumerate(_points(loop, motion, knots)):
        try:
            loops.append(linearise_loop(scenario, loop, point))
            points.append(point)
        except (UkctrlError, ArithmeticError):
            if not i:
                raise
    growth = [loop_growth_rate(linear) for linear in loops]
    bounds = _bounds_of_hold(loops)
    k = int(np.argmax(growth))
    beyond = () if crossed is None or not crossed.any() else (BEYOND_KEPT,)
    judged = bounds
    if bounds is None and growth[k] > 0.0:
        judged = _bounds_without_sensors(scenario, points)
    rates, times = np.maximum(growth, 0.0), [point.t for point in points]
    result = LoopStability(
        text=stability_text(loops[0]),
        period=period,
        delay=loops[k].delay,
        states=len(loops[k].A),
        times=tuple(times),
        growth=tuple(growth),
        worst_text=stability_text(loops[k]),
        log_growth=float(np.trapezoid([*rates, rates[-1]], [*times, loop.t1])),
        of_hold=period is not None and (judged is None or growth[k] > judged[k]),
        smooth=all(linear.smooth for linear in loops),
        limit=None if bounds is None else _hold_limit(loops, bounds),
        left_out=(*loops[k].notes, *beyond),
    )
    if not (result.diverges and result.of_hold) or period is None:
        return result
    longest = period if result.limit is None else min(period, result.limit)
    shorter = _tried_period(loop, points, judged or [0.0] * len(points), longest)
    return dc.replace(result, recommended=shorter)


def _knots(motion: TaskMotion, crossed: Flags | None) -> list[int]:
    """Return the knots at which the loop is looked at beside the start."""
    knots = np.linspace(0.0, len(motion.t) - 1.0, MAX_POINTS).astype(int)[1:]
    return [k for k in dict.fromkeys(knots.tolist()) if crossed is None or not crossed[k]]


def _points(loop: Loop, motion: TaskMotion, knots: list[int]) -> Iterator[OperatingPoint]:
    """Yield where the loop is looked at; a path alone, or links before springs, are no states."""
    yield operating_point(loop.scenario, "start", ready=loop)
    if not motion.has_dynamics or loop.robot.elastic is not None or not len(motion.t):
        return
    for k in knots:
        t, q, v = float(motion.t[k]), motion.q[k], motion.v[k]
        yield OperatingPoint(t=t, q=q, v=v, u=np.zeros(loop.robot.nu))


def _bounds_of_hold(loops: list[LinearLoop]) -> list[float] | None:
    """Return the growth up to which each loop's is not that of its hold [1/s].

    None where sensors or an observer are made for the period, and tell nothing without it.
    """
    try:
        without = [loop_growth_rate(linear.at_period(None)) for linear in loops]
    except InputError:
        return None
    return [max(rate, 0.0) * HOLD_RATIO for rate in without]


def _bounds_without_sensors(scenario: Scenario, points: list[OperatingPoint]) -> list[float] | None:
    """Return the same of a scenario whose law knows the state; None where it has no such loop."""
    effects = tuple(one for one in scenario.effect if not isinstance(one, SensorEffect))
    seen = dc.replace(scenario, effect=effects, sensing=None, observer=None)
    try:
        loop = Loop(seen)
        return _bounds_of_hold([linearise_loop(seen, loop, point) for point in points])
    except (UkctrlError, ArithmeticError):
        return None


def _hold_limit(loops: list[LinearLoop], bounds: list[float]) -> float:
    """Return the period up to which the hold makes no mode of any loop grow [s]."""
    growing = [growing_count(linear.at_period(None).rates()) for linear in loops]

    def harmless(period: float) -> bool:
        return all(map(functools.partial(_is_harmless, period), loops, bounds, growing))

    if not harmless(MIN_PERIOD):
        return 0.0
    limit = first_loss(
        harmless, MIN_PERIOD, MAX_PERIOD, ratio=PERIOD_RATIO, halvings=LIMIT_HALVINGS
    )
    return min(limit, MAX_PERIOD)


def _is_harmless(period: float, linear: LinearLoop, bound: float, growing: int) -> bool:
    with np.errstate(all="ignore"):  # what is unstable without a law may overflow in a long period
        held = linear.at_period(period)
        if not np.isfinite(held.closed).all():
            return False
        rates = held.rates()
    # beside a mode that grows anyway, one that the hold makes grow may stay below the bound
    return growth_rate(rates) <= bound and growing_count(rates) <= growing


def _tried_period(
    loop: Loop, points: list[OperatingPoint], bounds: list[float], longest: float
) -> float | None:
    """Return a shorter period with which the scenario itself has a stable loop [s]."""
    for halving in range(1, MAX_TRIES + 1):
        period = float(f"{longest * 0.5**halving:.2g}")
        if period < MIN_PERIOD:
            return None
        try:
            tried = [linear_loop(loop.scenario, at, period=period) for at in points]
        except (UkctrlError, ArithmeticError):
            continue
        rates = map(loop_growth_rate, tried)
        if all(rate <= bound for rate, bound in zip(rates, bounds, strict=True)):
            return period
    return None
