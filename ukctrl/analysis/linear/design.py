"""Gains of a scenario's controller from what is asked of its errors, and how slowly it may tick."""

from __future__ import annotations

import dataclasses as dc
import itertools
import math
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, NamedTuple, final

import numpy as np

from ukctrl.analysis.linear.linear_loop import as_rates, growth_rate, linear_loop, loop_growth_rate
from ukctrl.analysis.linear.margins import motor_disk_margin
from ukctrl.analysis.linear.operating_point import At, OperatingPoint, operating_point
from ukctrl.analysis.linear.performance import row_bandwidths
from ukctrl.control.controller import law_name
from ukctrl.control.error_dynamics_spec import SETTLING_BAND, ErrorSpec, PoleCount
from ukctrl.core.algebra.blas_threads import one_blas_thread
from ukctrl.core.argument_errors import explain_argument_errors
from ukctrl.core.arrays import Vector
from ukctrl.core.errors import InputError, UkctrlError
from ukctrl.core.tie_breaking import max_abs
from ukctrl.simulation.assemble import Loop
from ukctrl.simulation.scenario import AnyScenario, Scenario, as_scenario

SUPPORTED_LAWS = (
    "servo with a feedback of this kind (at a damping of 1 or more: any but exact), "
    "computed_torque, operational_space, resolved_acceleration, pd_gravity, pid, slotine_li, "
    "pole_placement, lqr, lqi, tvlqr, mpc, io_linearisation or one through elastic joints"
)
DIGITS = 6
"""Significant digits of a gain; a settling time is kept to as many."""
MAX_SCALE = 1e6
"""Up to which multiple, and down to which part, of what is asked a law is asked for instead."""
SHORT_TICKS = 20.0
"""Length of a scenario of which the start alone is looked at, in ticks or samples."""
LOG_TOLERANCE = 1e-6
"""How near the logarithm of what the loop has is brought to that of what is asked."""
ROOT_TOLERANCE = 1e-3
"""What is further off was no crossing but the end of what has a value."""
FIRST_STEP, MAX_STEP = 0.05, 1.2
"""Steps of the logarithm in the search for it."""
CONFIRM_RTOL = 1e-2
"""Part by which two values of the search differ that confirm each other."""


class GainDesignError(InputError):
    """A law's gains do not follow from what is asked of its errors."""


@final
@dc.dataclass(frozen=True, kw_only=True)
class Design:
    """Gains that were worked out, by their path."""

    terms: ErrorSpec
    """What was asked."""
    gains: Mapping[str, Any]
    """Values by path, as ``--set`` takes them: ``controller.feedback.alpha``."""
    notes: tuple[str, ...] = ()

    def arguments(self) -> list[str]:
        """Return the gains as ``PATH=VALUE``."""
        return [f"{path}={_gain_text(value)}" for path, value in self.gains.items()]


@explain_argument_errors
def designed(scenario: AnyScenario, terms: ErrorSpec) -> Design:
    """Return the gains of a scenario's controller that bring the errors about as asked.

    Where the gains of a law bring that about nearly, it is asked for more or less until the row of
    its loop that has least bandwidth has what an error has that does what is asked; or, of a
    regulator that is to settle in a time, until its slowest pole does.
    Joint-space laws whose gains are forces get them times the inertia that each joint has at the
    start.

    Raises:
        GainDesignError: The controller has no such gains.
        InputError: It cannot be as quick.
    """
    return GainDesigner(as_scenario(scenario))(terms)


@final
class GainDesigner:
    """Gains of one controller for one term after another; see `designed`."""

    def __init__(self, scenario: Scenario) -> None:
        self._scenario = scenario

    @cached_property
    def _inertia(self) -> Vector:
        """Inertia of each row of the started law at the start, as it believes, shape ``(m,)``."""
        loop = Loop(self._scenario)
        q, v, _ = loop.state
        robot = loop.believed_model.robot
        A = loop.law.stack.write(robot.snapshot(q, v, loop.t0)).A
        return np.asarray(np.einsum("ki,ij,kj->k", A, robot.snapshot(q).M, A))

    def by_formula(self, terms: ErrorSpec) -> Design:
        """Return the gains by the law's formula alone, however its loop comes out."""
        return self(terms, exactly=False)

    def __call__(self, terms: ErrorSpec, *, exactly: bool = True) -> Design:
        """Return the gains that bring the errors about as asked."""
        law, notes = self._scenario.controller, []
        inertias: list[Vector] = []

        def inertia() -> Vector:
            inertias.append(self._inertia)
            return self._inertia

        gains = law.gains_for(terms, inertia)
        # These are adjusted to their loop (decision 0136), others have the formula.
        if gains and exactly and law.poles_aimed_at is not None:
            gains = self._adjusted(terms, law.poles_aimed_at, inertia)
            notes.append(
                "asked for more or less, until the slowest row of the loop has that at the start."
            )
        elif inertias:
            notes.append("each joint as if it were alone, with its inertia at the start.")
        if gains is None:
            raise GainDesignError(
                f"controller '{law_name(law)}' must be one whose gains follow from {terms}: "
                f"{SUPPORTED_LAWS}."
            )
        return Design(terms=terms, gains=_as_paths(gains), notes=tuple(notes))

    def _adjusted(
        self, terms: ErrorSpec, poles: PoleCount, inertia: Callable[[], Vector]
    ) -> Mapping[str, Any]:
        """Return the gains with which the loop has what is asked.

        Raises:
            InputError: None give it that.
        """
        law, briefly = self._scenario.controller, shorten(self._scenario)
        placed = Loop(briefly).law.poles  # a card that does not fit the task says so here
        bandwidth = target = terms.as_bandwidth(poles)
        quantity, unit = "bandwidth of its slowest row", "rad/s"
        if terms.settling is not None and placed is not None:
            target = -math.log(SETTLING_BAND) / terms.settling
            quantity, unit = "decay of its slowest pole", "1/s"
        samples: dict[float, float] = {}
        refused: list[str] = []

        def gains(x: float) -> Mapping[str, Any]:
            trial_terms = ErrorSpec(bandwidth=bandwidth * math.exp(x), damping=terms.damping)
            return law.gains_for(trial_terms, inertia) or {}

        def quickness(variant: Scenario) -> float:
            if unit == "rad/s":
                return min(row_bandwidths(linear_loop(variant)), default=math.nan)
            placed = Loop(variant).law.poles
            assert placed is not None  # as those of the card
            return float(-growth_rate(as_rates(placed, variant.timing.control)))

        def miss(x: float) -> float:
            if x not in samples:
                try:
                    samples[x] = quickness(briefly.replace(_as_paths(gains(x))))
                except (UkctrlError, ArithmeticError, ValueError) as error:
                    refused.append(str(error))
                    samples[x] = 0.0
            return math.log(samples[x] / target) if samples[x] > 0.0 else -math.inf

        x = rising_root(miss, math.log(MAX_SCALE))
        if x is None:
            best = largest_confirmed(list(samples.values()))
            if best <= 0.0 and refused:
                raise InputError(
                    f"no gains of '{law_name(law)}' are found for {terms}: {refused[0]}"
                )
            bound, instead = f"{best:.3g} {unit} at most", "less"
            if best > target:
                min_value = min(value for value in samples.values() if value > 0.0)
                bound, instead = f"not known below {min_value:.3g} {unit}", "more"
            raise InputError(
                f"no gains of '{law_name(law)}' are found for {terms}: the {quantity} is {bound}, "
                f"and {target:.3g} {unit} is asked. Ask for {instead}."
            )
        return gains(x)


def largest_confirmed(values: list[float]) -> float:
    """Return the largest value that one beside it confirms, or else the largest.

    Gains beyond what numbers bear give values that scatter, of which the largest is luck.
    """
    twins = [
        one
        for one, neighbour in itertools.pairwise(values)
        if abs(neighbour - one) <= CONFIRM_RTOL * one
    ]
    return max((one for one in twins if one > 0.0), default=max(values))


def rising_root(miss: Callable[[float], float], furthest: float) -> float | None:
    """Return where a rising function is zero, from 0 outwards; None where it is not found.

    Args:
        miss: Minus infinity where it has no value.
        furthest: How far to look.
    """
    from scipy.optimize import brentq

    def bounded(x: float) -> float:
        return min(max(miss(x), -furthest), furthest)

    start_value = bounded(0.0)
    # From a loop too quick go down, from one too slow up; from none both ways.
    signs = (1.0,) if start_value > -furthest else (1.0, -1.0)
    for sign in (-1.0,) if start_value > 0.0 else signs:
        x, height, step = 0.0, start_value, min(max(1.1 * abs(start_value), FIRST_STEP), MAX_STEP)
        while abs(height) > LOG_TOLERANCE and abs(x) < furthest:
            x_prev, x = x, x + sign * step
            height = bounded(x)
            if height * start_value <= 0.0:
                x = float(brentq(bounded, x_prev, x, xtol=LOG_TOLERANCE))
                return x if abs(miss(x)) < ROOT_TOLERANCE else None
            step = min(2.0 * step, MAX_STEP)
        if abs(height) <= LOG_TOLERANCE:
            return x
    return None


def shorten(scenario: Scenario) -> Scenario:
    """Return a scenario for what is looked at near its start alone, with little to plan."""
    step = scenario.timing.control or min(scenario.timing.sample, scenario.timing.duration)
    duration = min(SHORT_TICKS * step, scenario.timing.duration)
    times = {"duration": duration, "sample": min(scenario.timing.sample, duration)}
    return scenario.replace({f"timing.{name}": value for name, value in times.items()})


def _as_paths(gains: Mapping[str, Any]) -> dict[str, Any]:
    """Return gains of a controller by their paths in its scenario, as they are written."""
    return {f"controller.{path}": _round_gains(value) for path, value in gains.items()}


def _round_gains(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(_round_gains(item) for item in value)
    if isinstance(value, Mapping):
        return {name: _round_gains(item) for name, item in value.items()}
    return value if isinstance(value, str) else float(f"{value:.{DIGITS}g}")


def _gain_text(value: Any) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(map(_gain_text, value))}]"
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{name}={_gain_text(item)}' for name, item in value.items())}}}"
    return f"'{value}'" if isinstance(value, str) else f"{value:.{DIGITS}g}"


FIRST_PERIOD = 0.02
"""The first period that is tried, in times of the quickest pole of the loop."""
PERIOD_GROWTH = 1.25
"""From one trial to the next."""
MAX_PERIODS = 80
PERIOD_RTOL = 1e-6
"""Relative width to which the limit is enclosed."""


class LargestPeriod(NamedTuple):
    """The largest period of the hold that keeps what was asked."""

    period: float
    """Just below the limit [s]."""
    beyond: float
    """Just above it [s]; the margin is lost there."""
    disk: float
    """The disk margin that is kept; 0: stability alone."""


@explain_argument_errors
@one_blas_thread()
def largest_period(
    scenario: AnyScenario, at: At | OperatingPoint = "start", *, disk: float = 0.0
) -> LargestPeriod:
    """Return the largest control period at which the loop keeps a margin at every motor.

    Periods are tried from short to long until one loses it, and the limit is then enclosed by
    bisection. Each trial starts the law anew, whose gains may depend on the period. Delays and
    sensors of the scenario are as they are.

    Args:
        scenario: The scenario, its name, or the path of its file.
        at: As for `linear_loop`.
        disk: The disk margin to keep; 0: stability alone.

    Raises:
        InputError: Even short periods do not keep it, or none loses it.
    """
    if not 0.0 <= disk < 2.0:
        raise InputError(f"the disk margin to keep must be at least 0 and below 2; got {disk:g}.")
    task = as_scenario(scenario)
    point = at if isinstance(at, OperatingPoint) else operating_point(task, at)

    def kept(period: float) -> bool:
        longer, duration = task, 2.0 * period
        if duration > task.timing.duration:  # without more ticks than a run may have
            times = {"duration": duration, "sample": period, "control": period}
            longer = task.replace({f"timing.{name}": value for name, value in times.items()})
        loop = linear_loop(longer, point, period=period)
        if loop_growth_rate(loop) > 0.0:
            return False
        motors = range(len(loop.inputs)) if disk > 0.0 else ()
        return all(motor_disk_margin(loop, motor)[0] >= disk for motor in motors)

    rates = linear_loop(task, point).rates()
    quickest = max_abs(rates[np.isfinite(rates)])
    period = FIRST_PERIOD / max(quickest, 1e-3)
    if not kept(period):
        requirement = f"a disk margin of {disk:g}" if disk else "stability"
        raise InputError(
            f"the loop must keep {requirement} at short periods for a longest one to exist; at "
            f"{period:.2g} s it does not. Change the gains first, or ask for less."
        )
    for _ in range(MAX_PERIODS):
        if not kept(PERIOD_GROWTH * period):
            break
        period *= PERIOD_GROWTH
    else:
        raise InputError(f"no period up to {period:.3g} s loses the margin; there is no limit.")
    low, high = period, PERIOD_GROWTH * period
    while high - low > PERIOD_RTOL * high:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if kept(middle) else (low, middle)
    return LargestPeriod(low, high, disk)
