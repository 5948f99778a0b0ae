r"""Internal dynamics: what a task leaves to itself.

Servo rows determine as many states as their relative degrees add up to. The others move by
themselves, or as the null space of the allocation moves them:

$$ \dim = n - \sum_k r_k , $$

with $n$ the states that the passive constraints leave: twice the mobility, where all of them hold
positions. Zero dynamics is this motion with the path at rest.
"""

from ukctrl.analysis.internal_dynamics.internal_dynamics import (
    LARGEST,
    InternalDynamics,
    internal_dynamics,
)
from ukctrl.analysis.internal_dynamics.internal_motion import Motion
from ukctrl.analysis.internal_dynamics.modes import Kind, Modes, modes
from ukctrl.analysis.internal_dynamics.near_a_state import Near
from ukctrl.analysis.internal_dynamics.periodic import Periodic

__all__ = [
    "LARGEST",
    "InternalDynamics",
    "Kind",
    "Modes",
    "Motion",
    "Near",
    "Periodic",
    "internal_dynamics",
    "modes",
]
