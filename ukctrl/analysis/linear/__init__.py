r"""Linear analysis of a scenario: its plant and its loop near a state.

Near a state and an input, the plant of a scenario is $\dot x = A x + B\,\delta u$ with the errors
of the servo rows as outputs, $y = C x$; its states are the deviations that the passive constraints
leave (see [`linearize`][ukctrl.linearize]). The loop has the law's
memory, the sensors and the delays as further states, and ticks where the scenario's does.

In order:

1. ``operating_point``, ``equilibria``: where to look.
2. ``zeros``, with hidden modes, ``sampled_systems``: numbers and ticks of any linear system.
   ``python_control``: how that library takes one.
3. ``linear_plant``, ``linear_law`` (with observer and active set), ``linear_loop``: what is there.
   ``nonlinear_systems``: not linearised.
4. ``response``, ``crossings``, ``delay_margin``, ``margins``: numbers of a loop.
5. ``performance``: a loop in terms that every law has. ``design``: gains for such terms; the
   longest period.
6. ``linear_analysis``: all of it for one scenario. ``linear_figures``, ``linear_page``: shown.
"""

from ukctrl.analysis.linear import linear_figures
from ukctrl.analysis.linear.design import Design, LargestPeriod, designed, largest_period
from ukctrl.analysis.linear.equilibria import Equilibrium, equilibria
from ukctrl.analysis.linear.linear_analysis import LinearAnalysis, analyze
from ukctrl.analysis.linear.linear_loop import LinearLoop, as_rates, linear_loop
from ukctrl.analysis.linear.linear_plant import LinearPlant, linear_plant
from ukctrl.analysis.linear.margins import Margins, disk_gain, disk_margin, disk_phase, margins_at
from ukctrl.analysis.linear.nonlinear_systems import initial_state, loop_system, plant_system
from ukctrl.analysis.linear.operating_point import OperatingPoint, operating_point
from ukctrl.analysis.linear.performance import LoopPerformance, loop_performance
from ukctrl.analysis.linear.response import frequencies, response_at
from ukctrl.analysis.linear.zeros import (
    HiddenMode,
    invariant_zeros,
    uncontrollable_modes,
    unobservable_modes,
)
from ukctrl.control.error_dynamics_spec import natural_frequency

__all__ = [
    "Design",
    "Equilibrium",
    "HiddenMode",
    "LargestPeriod",
    "LinearAnalysis",
    "LinearLoop",
    "LinearPlant",
    "LoopPerformance",
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
    "initial_state",
    "invariant_zeros",
    "largest_period",
    "linear_figures",
    "linear_loop",
    "linear_plant",
    "loop_performance",
    "loop_system",
    "margins_at",
    "natural_frequency",
    "operating_point",
    "plant_system",
    "response_at",
    "uncontrollable_modes",
    "unobservable_modes",
]
