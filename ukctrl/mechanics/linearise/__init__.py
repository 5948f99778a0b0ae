r"""A robot near a state, as a linear system.

Near a configuration, a velocity and an input, deviations obey $\dot x = A x + B \delta u$ to first
order, with $x = (\delta q, \delta v)$ in the tangent space and $q = q_0 \oplus \delta q$.

In order: ``equilibrium``, ``free_directions`` (what passive constraints leave), ``plant_slopes``
(what has derivatives in closed form), ``along`` (the rest); ``linearization``, which says how.
"""

from ukctrl.mechanics.linearise.equilibrium import equilibrium
from ukctrl.mechanics.linearise.free_directions import FreeDirections, free_velocities
from ukctrl.mechanics.linearise.linearization import (
    Linearization,
    Linearizer,
    held,
    linearize,
    output_matrix,
)

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
