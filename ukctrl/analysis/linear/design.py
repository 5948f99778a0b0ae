"""Gains of a scenario's controller from what is asked of its errors, and how slowly it may tick."""

from __future__ import annotations

import dataclasses as dc
import itertools
import math
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, NamedTuple, final

import numpy as np

from ukctrl.analysis.linear.linear_loop import as_rates, growth, growth_of, linear_loop
from ukctrl.analysis.linear.loop_terms import row_bandwidths
from ukctrl.analysis.linear.margins import disk_at
from ukctrl.analysis.linear.operating_point import At, OperatingPoint, operating_point
from ukctrl.control.controller import law_name
from ukctrl.control.terms import SETTLED, Poles, Terms
from ukctrl.core.algebra.threads import one_blas_thread
from ukctrl.core.arrays import Vector
from ukctrl.core.errors import InputError, UkctrlError
from ukctrl.core.extremes import max_abs
from ukctrl.simulation.loop import Loop
from ukctrl.simulation.scenario import Scenario

KNOWN = (
    "servo with a feedback of this kind (at a damping of 1 or more: any but exact), "
    "computed_torque, operational_space, resolved_acceleration, pd_gravity, pid, slotine_li, "
    "pole_placement, lqr, lqi, tvlqr, mpc, io_linearisation or one through elastic joints"
)
DIGITS = 6
"""Significant digits of a gain; a settling time is kept to as many."""
MOST = 1e6
"""Up to which multiple, and down to which part, of what is asked a law is asked for instead."""
BRIEF = 20.0
"""Length of a scenario of which the start alone is looked at, in ticks or samples."""
NEAR = 1e-6
"""How near the logarithm of what the loop has is brought to that of what is asked."""
SURELY = 1e-3
"""What is further off was no crossing but the end of what has a value."""
FIRST_STEP, LONGEST_STEP = 0.05, 1.2
"""Steps of the logarithm in the search for it."""
ALIKE = 1e-2
"""Part by which two values of the search differ that confirm each other."""


class NoDesign(InputError):
    """A law's gains do not follow from what is asked of its errors."""


@final
@dc.dataclass(frozen=True, kw_only=True)
class Design:
    """Gains that were worked out, by their path."""

    terms: Terms
    """What was asked."""
    gains: Mapping[str, Any]
    """Values by path, as ``--set`` takes them: ``controller.feedback.alpha``."""
    notes: tuple[str, ...] = ()

    def arguments(self) -> list[str]:
        """Return the gains as ``PATH=VALUE``."""
        return [f"{path}={_written(value)}" for path, value in self.gains.items()]


def designed(scenario: Scenario, terms: Terms) -> Design:
    """Return the gains of a scenario's controller that bring the errors about as asked.

    Where the gains of a law bring that about nearly, it is asked for more or less until the row of
    its loop that has least bandwidth has what an error has that does what is asked; or, of a
    regulator that is to settle in a time, until its slowest pole does.
    Joint-space laws whose gains are forces get them times the inertia that each joint has at the
    start.

    Raises:
        NoDesign: The controller has no such gains.
        InputError: It cannot be as quick.
    """
    return Designer(scenario)(terms)


@final
class Designer:
    """Gains of one controller for one term after another; see `designed`."""

    def __init__(self, scenario: Scenario) -> None:
        self._scenario = scenario

    @cached_property
    def _inertia(self) -> Vector:
        """Inertia of each row of the started law at the start, as it believes, shape ``(m,)``."""
        loop = Loop(self._scenario)
        q, v, _ = loop.state
        robot = loop.belief.robot
        A = loop.law.stack.write(robot.snapshot(q, v, loop.t0)).A
        return np.asarray(np.einsum("ki,ij,kj->k", A, robot.snapshot(q).M, A))

    def nearly(self, terms: Terms) -> Design:
        """Return the gains by the law's formula alone, however its loop comes out."""
        return self(terms, exactly=False)

    def __call__(self, terms: Terms, *, exactly: bool = True) -> Design:
        """Return the gains that bring the errors about as asked."""
        law, notes = self._scenario.controller, []
        asked: list[Vector] = []

        def inertia() -> Vector:
            asked.append(self._inertia)
            return self._inertia

        gains = law.gains_for(terms, inertia)
        if gains and exactly and law.poles_aimed_at is not None:
            gains = self._adjusted(terms, law.poles_aimed_at, inertia)
            notes.append(
                "asked for more or less, until the slowest row of the loop has that at the start."
            )
        elif asked:
            notes.append("each joint as if it were alone, with its inertia at the start.")
        if gains is None:
            raise NoDesign(
                f"controller '{law_name(law)}' must be one whose gains follow from {terms}: "
                f"{KNOWN}."
            )
        return Design(terms=terms, gains=_within(gains), notes=tuple(notes))

    def _adjusted(
        self, terms: Terms, poles: Poles, inertia: Callable[[], Vector]
    ) -> Mapping[str, Any]:
        """Return the gains with which the loop has what is asked.

        Raises:
            InputError: None give it that.
        """
        law, briefly = self._scenario.controller, brief(self._scenario)
        placed = Loop(briefly).law.poles  # a card that does not fit the task says so here
        bandwidth = wanted = terms.as_bandwidth(poles)
        what, unit = "bandwidth of its slowest row", "rad/s"
        if terms.settling is not None and placed is not None:
            wanted = -math.log(SETTLED) / terms.settling
            what, unit = "decay of its slowest pole", "1/s"
        found: dict[float, float] = {}
        refused: list[str] = []

        def gains(x: float) -> Mapping[str, Any]:
            asked = Terms(bandwidth=bandwidth * math.exp(x), damping=terms.damping)
            return law.gains_for(asked, inertia) or {}

        def quickness(variant: Scenario) -> float:
            if unit == "rad/s":
                return min(row_bandwidths(linear_loop(variant)), default=math.nan)
            placed = Loop(variant).law.poles
            assert placed is not None  # as those of the card
            return float(-growth_of(as_rates(placed, variant.timing.control)))

        def miss(x: float) -> float:
            if x not in found:
                try:
                    found[x] = quickness(briefly.replace(_within(gains(x))))
                except (UkctrlError, ArithmeticError, ValueError) as error:
                    refused.append(str(error))
                    found[x] = 0.0
            return math.log(found[x] / wanted) if found[x] > 0.0 else -math.inf

        x = crossing(miss, math.log(MOST))
        if x is None:
            best = confirmed(list(found.values()))
            if best <= 0.0 and refused:
                raise InputError(
                    f"no gains of '{law_name(law)}' are found for {terms}: {refused[0]}"
                )
            most, instead = f"{best:.3g} {unit} at most", "less"
            if best > wanted:
                least = min(value for value in found.values() if value > 0.0)
                most, instead = f"not known below {least:.3g} {unit}", "more"
            raise InputError(
                f"no gains of '{law_name(law)}' are found for {terms}: the {what} is {most}, and "
                f"{wanted:.3g} {unit} is asked. Ask for {instead}."
            )
        return gains(x)


def confirmed(values: list[float]) -> float:
    """Return the largest value that one beside it confirms, or else the largest.

    Gains beyond what numbers bear give values that scatter, of which the largest is luck.
    """
    twins = [one for one, other in itertools.pairwise(values) if abs(other - one) <= ALIKE * one]
    return max((one for one in twins if one > 0.0), default=max(values))


def crossing(miss: Callable[[float], float], furthest: float) -> float | None:
    """Return where a rising function is zero, from 0 outwards; None where it is not found.

    Args:
        miss: Minus infinity where it has no value.
        furthest: How far to look.
    """
    from scipy.optimize import brentq

    def bounded(x: float) -> float:
        return min(max(miss(x), -furthest), furthest)

    here = bounded(0.0)
    ways = (1.0,) if here > -furthest else (1.0, -1.0)
    for way in (-1.0,) if here > 0.0 else ways:
        x, height, step = 0.0, here, min(max(1.1 * abs(here), FIRST_STEP), LONGEST_STEP)
        while abs(height) > NEAR and abs(x) < furthest:
            before, x = x, x + way * step
            height = bounded(x)
            if height * here <= 0.0:
                x = float(brentq(bounded, before, x, xtol=NEAR))
                return x if abs(miss(x)) < SURELY else None
            step = min(2.0 * step, LONGEST_STEP)
        if abs(height) <= NEAR:
            return x
    return None


def brief(scenario: Scenario) -> Scenario:
    """Return a scenario for what is looked at near its start alone, with little to plan."""
    step = scenario.timing.control or min(scenario.timing.sample, scenario.timing.duration)
    duration = min(BRIEF * step, scenario.timing.duration)
    times = {"duration": duration, "sample": min(scenario.timing.sample, duration)}
    return scenario.replace({f"timing.{name}": value for name, value in times.items()})


def _within(gains: Mapping[str, Any]) -> dict[str, Any]:
    """Return gains of a controller by their paths in its scenario, as they are written."""
    return {f"controller.{path}": _rounded(value) for path, value in gains.items()}


def _rounded(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(_rounded(each) for each in value)
    if isinstance(value, Mapping):
        return {name: _rounded(each) for name, each in value.items()}
    return value if isinstance(value, str) else float(f"{value:.{DIGITS}g}")


def _written(value: Any) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(map(_written, value))}]"
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{name}={_written(each)}' for name, each in value.items())}}}"
    return f"'{value}'" if isinstance(value, str) else f"{value:.{DIGITS}g}"


FIRST = 0.02
"""The first period that is tried, in times of the quickest pole of the loop."""
GROWTH = 1.25
"""From one trial to the next."""
TRIALS = 80
EXACT = 1e-6
"""Relative width to which the limit is enclosed."""


class LargestPeriod(NamedTuple):
    """The largest period of the hold that keeps what was asked."""

    period: float
    """Just below the limit [s]."""
    beyond: float
    """Just above it [s]; the margin is lost there."""
    disk: float
    """The disk margin that is kept; 0: stability alone."""


@one_blas_thread()
def largest_period(
    scenario: Scenario, at: At | OperatingPoint = "start", *, disk: float = 0.0
) -> LargestPeriod:
    """Return the largest control period at which the loop keeps a margin at every motor.

    Periods are tried from short to long until one loses it, and the limit is then enclosed by
    bisection. Each trial starts the law anew, whose gains may depend on the period. Delays and
    sensors of the scenario are as they are.

    Args:
        scenario: The scenario.
        at: As for `linear_loop`.
        disk: The disk margin to keep; 0: stability alone.

    Raises:
        InputError: Even short periods do not keep it, or none loses it.
    """
    if not 0.0 <= disk < 2.0:
        raise InputError(f"the disk margin to keep must be at least 0 and below 2; got {disk:g}.")
    point = at if isinstance(at, OperatingPoint) else operating_point(scenario, at)

    def kept(period: float) -> bool:
        longer, duration = scenario, 2.0 * period
        if duration > scenario.timing.duration:  # without more ticks than a run may have
            times = {"duration": duration, "sample": period, "control": period}
            longer = scenario.replace({f"timing.{name}": value for name, value in times.items()})
        loop = linear_loop(longer, point, period=period)
        if growth(loop) > 0.0:
            return False
        motors = range(len(loop.inputs)) if disk > 0.0 else ()
        return all(disk_at(loop, motor)[0] >= disk for motor in motors)

    rates = linear_loop(scenario, point).rates()
    quickest = max_abs(rates[np.isfinite(rates)])
    period = FIRST / max(quickest, 1e-3)
    if not kept(period):
        what = f"a disk margin of {disk:g}" if disk else "stability"
        raise InputError(
            f"the loop must keep {what} at short periods for a longest one to exist; at "
            f"{period:.2g} s it does not. Change the gains first, or ask for less."
        )
    for _ in range(TRIALS):
        if not kept(GROWTH * period):
            break
        period *= GROWTH
    else:
        raise InputError(f"no period up to {period:.3g} s loses the margin; there is no limit.")
    low, high = period, GROWTH * period
    while high - low > EXACT * high:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if kept(middle) else (low, middle)
    return LargestPeriod(low, high, disk)
