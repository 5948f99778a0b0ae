"""Ranges of a search in terms of what errors do, which all laws with a design have in common.

From a hundredth to a hundred times the bandwidth of the card's loop, and no farther than one radian
a period of the hold; a damping from 0.5 to 3, or from 1 where a law has none below.
"""

from __future__ import annotations

import math

from ukctrl.analysis.linear.design import GainDesigner, shorten
from ukctrl.analysis.linear.linear_loop import linear_loop
from ukctrl.analysis.linear.performance import row_bandwidths
from ukctrl.control.error_dynamics_spec import MAX_DAMPING, MIN_DAMPING, ErrorSpec
from ukctrl.core.errors import UkctrlError
from ukctrl.core.subprocess_safety import is_machine_failure
from ukctrl.simulation.scenario import Scenario
from ukctrl.studies.tuning.gains import GAIN_DIGITS, Gain

BANDWIDTH_FACTOR = 100.0
"""By this factor a range of bandwidths reaches to both sides."""
DAMPING_RANGE = (0.5, 3.0)
CRITICAL_DAMPING = 1.0
"""Laws on a surface have real poles, and so no design below it."""


def error_dynamics_gains(scenario: Scenario) -> tuple[Gain, ...]:
    """Return bandwidth and damping, with their ranges, of a scenario's controller.

    Nothing of a law that has no design, and of one whose loop has no bandwidth to begin with;
    the bandwidth alone of one whose gains do not depend on the damping.
    """
    designer, nominal = GainDesigner(scenario), loop_bandwidth(scenario)
    dampings = () if math.isnan(nominal) else (DAMPING_RANGE[0], CRITICAL_DAMPING)
    min_damping = next((ratio for ratio in dampings if _has_design(designer, nominal, ratio)), None)
    if min_damping is None:
        return ()
    max_bandwidth = 1.0 / scenario.timing.control if scenario.timing.control else math.inf
    high = min(BANDWIDTH_FACTOR * nominal, max_bandwidth)
    low = min(nominal / BANDWIDTH_FACTOR, high / BANDWIDTH_FACTOR)
    bandwidth = Gain(
        "bandwidth", nominal, _rounded_gain(low), _rounded_gain(high), room=(0.0, max_bandwidth)
    )
    interval = (MIN_DAMPING if min_damping < CRITICAL_DAMPING else CRITICAL_DAMPING, MAX_DAMPING)
    damping = Gain("damping", math.nan, min_damping, DAMPING_RANGE[1], room=interval)
    ends = [
        designer.by_formula(ErrorSpec(bandwidth=nominal, damping=end)).gains
        for end in (min_damping, DAMPING_RANGE[1])
    ]
    return (bandwidth,) if ends[0] == ends[1] else (bandwidth, damping)


def _has_design(designer: GainDesigner, bandwidth: float, damping: float) -> bool:
    """Tell whether a law's gains follow from a bandwidth and a damping."""
    try:
        designer.by_formula(ErrorSpec(bandwidth=bandwidth, damping=damping))
    except (UkctrlError, ArithmeticError):
        return False
    return True


def loop_bandwidth(scenario: Scenario) -> float:
    """Return the least bandwidth of a row of the loop as it is [rad/s]; NaN: it has none."""
    try:
        bandwidths = row_bandwidths(linear_loop(shorten(scenario)))
    except Exception as error:  # a law of one's own may raise anything: its run tells
        if is_machine_failure(error):
            raise
        return math.nan
    return _rounded_gain(min((w for w in bandwidths if w > 0.0), default=math.nan))


def _rounded_gain(value: float) -> float:
    return float(f"{value:.{GAIN_DIGITS}g}")
