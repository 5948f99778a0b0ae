r"""Linear analysis of a scenario: its plant and its loop near a state.

Near a state and an input, the plant of a scenario is $\dot x = A x + B\,\delta u$ with the errors
of the servo rows as outputs, $y = C x$; its states are the deviations that the passive constraints
leave (see [`ukctrl.linear`][ukctrl.linear]).
"""

from ukctrl.lti.equilibria import Equilibrium, equilibria
from ukctrl.lti.loop import LinearLoop, as_rates, linear_loop
from ukctrl.lti.plant import LinearPlant, linear_plant
from ukctrl.lti.point import OperatingPoint, operating_point
from ukctrl.lti.zeros import invariant_zeros

__all__ = [
    "Equilibrium",
    "LinearLoop",
    "LinearPlant",
    "OperatingPoint",
    "as_rates",
    "equilibria",
    "invariant_zeros",
    "linear_loop",
    "linear_plant",
    "operating_point",
]
