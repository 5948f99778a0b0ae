r"""Linear analysis of a scenario: its plant and its loop near a state.

Near a state and an input, the plant of a scenario is $\dot x = A x + B\,\delta u$ with the errors
of the servo rows as outputs, $y = C x$; its states are the deviations that the passive constraints
leave (see [`ukctrl.linear`][ukctrl.linear]). The loop has the law's memory, the sensors and the
delays as further states, and ticks where the scenario's does.
"""

from ukctrl.control.settling import natural_frequency
from ukctrl.linear_analysis.analysis import LinearAnalysis, analyze
from ukctrl.linear_analysis.design import Design, designed
from ukctrl.linear_analysis.equilibria import Equilibrium, equilibria
from ukctrl.linear_analysis.iosystem import loop_system, plant_system, start_of
from ukctrl.linear_analysis.loop import LinearLoop, as_rates, linear_loop
from ukctrl.linear_analysis.margins import Margins, disk_gain, disk_margin, disk_phase, margins_at
from ukctrl.linear_analysis.modes import HiddenMode, unreached_modes, unseen_modes
from ukctrl.linear_analysis.period import LargestPeriod, largest_period
from ukctrl.linear_analysis.plant import LinearPlant, linear_plant
from ukctrl.linear_analysis.point import OperatingPoint, operating_point
from ukctrl.linear_analysis.response import frequencies, response_at
from ukctrl.linear_analysis.zeros import invariant_zeros

__all__ = [
    "Design",
    "Equilibrium",
    "HiddenMode",
    "LargestPeriod",
    "LinearAnalysis",
    "LinearLoop",
    "LinearPlant",
    "Margins",
    "OperatingPoint",
    "analyze",
    "as_rates",
    "designed",
    "disk_gain",
    "disk_margin",
    "disk_phase",
    "equilibria",
    "frequencies",
    "invariant_zeros",
    "largest_period",
    "linear_loop",
    "linear_plant",
    "loop_system",
    "margins_at",
    "natural_frequency",
    "operating_point",
    "plant_system",
    "response_at",
    "start_of",
    "unreached_modes",
    "unseen_modes",
]
