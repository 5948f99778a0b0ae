r"""A robot near a state, as a linear system.

Near a configuration, a velocity and an input, deviations obey $\dot x = A x + B \delta u$ to first
order, with $x = (\delta q, \delta v)$ in the tangent space and $q = q_0 \oplus \delta q$.

The parts, each on those before it: ``equilibrium``, ``force_derivatives``, ``free_directions``
(what passive constraints leave), ``linear_hold``; ``linearization``, which says how; ``outputs``.
"""

from ukctrl.mechanics.linearise.equilibrium import equilibrium
from ukctrl.mechanics.linearise.free_directions import FreeDirections, free_velocities
from ukctrl.mechanics.linearise.linear_hold import held
from ukctrl.mechanics.linearise.linearization import Linearization, Linearizer, linearize
from ukctrl.mechanics.linearise.outputs import output_matrix

__all__ = [
    "FreeDirections",
    "Linearization",
    "Linearizer",
    "equilibrium",
    "free_velocities",
    "held",
    "linearize",
    "output_matrix",
]
