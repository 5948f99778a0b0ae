"""Ranges of a search in terms of what errors do, which all laws with a design have in common.

From a hundredth to a hundred times the bandwidth of the card's loop, and no farther than one radian
a period of the hold; a damping from 0.5 to 3, or from 1 where a law has none below.
"""

from __future__ import annotations

import math

from ukctrl.analysis.linear.design import Designer, brief
from ukctrl.analysis.linear.linear_loop import linear_loop
from ukctrl.analysis.linear.loop_terms import row_bandwidths
from ukctrl.control.terms import LEAST_DAMPING, MOST_DAMPING, Terms
from ukctrl.core.errors import UkctrlError
from ukctrl.simulation.scenario import Scenario
from ukctrl.studies.tuning.gains import DIGITS, Gain

WIDE = 100.0
"""By this factor a range of bandwidths reaches to both sides."""
DAMPING = (0.5, 3.0)
CRITICAL = 1.0
"""Laws on a surface have real poles, and so no design below it."""


def term_gains(scenario: Scenario) -> tuple[Gain, ...]:
    """Return bandwidth and damping, with their ranges, of a scenario's controller.

    Nothing of a law that has no design, and of one whose loop has no bandwidth to begin with;
    the bandwidth alone of one whose gains do not depend on the damping.
    """
    designer, own = Designer(scenario), own_bandwidth(scenario)
    dampings = () if math.isnan(own) else (DAMPING[0], CRITICAL)
    least = next((each for each in dampings if _has_design(designer, own, each)), None)
    if least is None:
        return ()
    most = 1.0 / scenario.timing.control if scenario.timing.control else math.inf
    high = min(WIDE * own, most)
    low = min(own / WIDE, high / WIDE)
    bandwidth = Gain("bandwidth", own, _plain(low), _plain(high), room=(0.0, most))
    room = (LEAST_DAMPING if least < CRITICAL else CRITICAL, MOST_DAMPING)
    damping = Gain("damping", math.nan, least, DAMPING[1], room=room)
    ends = [designer.nearly(Terms(bandwidth=own, damping=end)).gains for end in (least, DAMPING[1])]
    return (bandwidth,) if ends[0] == ends[1] else (bandwidth, damping)


def _has_design(designer: Designer, bandwidth: float, damping: float) -> bool:
    """Tell whether a law's gains follow from a bandwidth and a damping."""
    try:
        designer.nearly(Terms(bandwidth=bandwidth, damping=damping))
    except (UkctrlError, ArithmeticError):
        return False
    return True


def own_bandwidth(scenario: Scenario) -> float:
    """Return the least bandwidth of a row of the loop as it is [rad/s]; NaN: it has none."""
    try:
        found = row_bandwidths(linear_loop(brief(scenario)))
    except Exception:  # a law of one's own may raise anything: its run tells
        return math.nan
    return _plain(min((w for w in found if w > 0.0), default=math.nan))


def _plain(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")
