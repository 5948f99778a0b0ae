"""Gains of a scenario's controller from what is asked of its errors, and how slowly it may tick."""

from __future__ import annotations

import dataclasses as dc
import functools
import math
from collections.abc import Mapping
from functools import cached_property
from typing import Any, NamedTuple, final

import numpy as np

from ukctrl.analysis.linear.linear_loop import as_rates, growth, growth_of, linear_loop
from ukctrl.analysis.linear.loop_terms import row_bandwidths
from ukctrl.analysis.linear.margins import disk_at
from ukctrl.analysis.linear.operating_point import At, OperatingPoint, operating_point
from ukctrl.control.controller import law_name
from ukctrl.control.terms import SETTLED, Terms
from ukctrl.core.algebra.threads import one_blas_thread
from ukctrl.core.arrays import Vector
from ukctrl.core.errors import InputError, UkctrlError
from ukctrl.core.extremes import max_abs
from ukctrl.simulation.loop import Loop
from ukctrl.simulation.scenario import Scenario

KNOWN = (
    "servo with a feedback of this kind (at a damping of 1 or more: any but exact), "
    "computed_torque, operational_space, resolved_acceleration, pd_gravity, pid, slotine_li, "
    "pole_placement, lqr, lqi or mpc"
)
DIGITS = 6
"""Significant digits of a gain; a settling time is kept to as many."""
DECADES = 12
"""How far the weight of an input is moved from the card's, either way, in the search for it."""
BRIEF = 20.0
"""Length of a scenario of which the start alone is looked at, in ticks or samples."""
NEAR = 1e-5
"""How near the logarithm of the weight is brought to its limit."""


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

    Joint-space laws whose gains are forces get them times the inertia that each joint has at the
    start. Of a regulator, the weight of the inputs is chosen so that its slowest pole settles in
    that time, or the row of least bandwidth has that much; its damping follows from the other
    weights.

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

    def __call__(self, terms: Terms) -> Design:
        """Return the gains that bring the errors about as asked."""
        law, notes = self._scenario.controller, []
        asked: list[Vector] = []

        def inertia() -> Vector:
            asked.append(self._inertia)
            return self._inertia

        gains = law.gains_for(terms, inertia)
        if asked:
            notes.append("each joint as if it were alone, with its inertia at the start.")
        if gains is None and law.searched_weight is not None:
            gains = {law.searched_weight: _weight(self._scenario, law.searched_weight, terms)}
            notes.append("the damping of a regulator follows from its weights.")
        if gains is None:
            raise NoDesign(
                f"controller '{law_name(law)}' must be one whose gains follow from {terms}: "
                f"{KNOWN}."
            )
        rounded = {f"controller.{path}": _rounded(value) for path, value in gains.items()}
        return Design(terms=terms, gains=rounded, notes=tuple(notes))


def _weight(scenario: Scenario, name: str, terms: Terms) -> float:
    """Return the largest weight of all inputs with which a regulator is as quick as asked."""
    if terms.settling is None:
        what, unit, needed = "bandwidth", "rad/s", terms.as_bandwidth()
    else:
        what, unit, needed = "decay of its slowest pole", "1/s", -math.log(SETTLED) / terms.settling

    briefly = brief(scenario)

    @functools.cache
    def quickness(R: float) -> float:
        weighed = briefly.replace({f"controller.{name}": R})
        try:
            if terms.settling is None:
                return min(row_bandwidths(linear_loop(weighed)), default=-math.inf)
            law = Loop(weighed).law
        except (UkctrlError, ArithmeticError, ValueError):
            return -math.inf
        assert law.poles is not None  # it has a weight to be searched
        return float(-growth_of(as_rates(law.poles, scenario.timing.control)))

    exponents = np.arange(DECADES, -DECADES - 1, -1).tolist()
    quick = next((k for k in exponents if quickness(10.0**k) >= needed), None)
    if quick is None:
        best = max(quickness(10.0**k) for k in exponents)
        raise InputError(
            f"no weight of the inputs makes the regulator as quick as asked, {terms}: its {what} "
            f"is {best:.3g} {unit} at most, and {needed:.3g} {unit} is needed. Change the weights "
            "of the states, or ask for less."
        )
    low, high = float(quick), float(quick + 1)
    while high - low >= NEAR:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if quickness(10.0**middle) >= needed else (low, middle)
    return float(10.0**low)


def brief(scenario: Scenario) -> Scenario:
    """Return a scenario for what is looked at near its start alone, with little to plan."""
    step = scenario.timing.control or min(scenario.timing.sample, scenario.timing.duration)
    duration = min(BRIEF * step, scenario.timing.duration)
    times = {"duration": duration, "sample": min(scenario.timing.sample, duration)}
    return scenario.replace({f"timing.{name}": value for name, value in times.items()})


def _rounded(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(_rounded(each) for each in value)
    return float(f"{value:.{DIGITS}g}")


def _written(value: Any) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(map(_written, value))}]"
    return f"{value:.{DIGITS}g}"


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
