r"""Internal dynamics: what a task leaves to itself.

Servo rows determine as many states as their relative degrees add up to. The others move by
themselves, or as the null space of the allocation moves them:

$$ \dim = n - \sum_k r_k , $$

with $n$ the states that the passive constraints leave: twice the mobility, where all of them hold
positions. Zero dynamics is this motion with the path at rest.

In order:

1. ``held_rows``: the robot with its rows held.
2. ``modes``, ``states_of_rest``, ``near_a_state``: what it does near rest, of any relative degree.
3. ``internal_motion``, ``periodic``: what it does along the path.
4. ``internal_dynamics_record``, ``internal_verdict``: what is found, as data and in words.
5. ``internal_dynamics``: all of it for one scenario. ``internal_dynamics_figure``: drawn.
"""

from ukctrl.analysis.internal_dynamics.internal_dynamics import LARGEST, internal_dynamics
from ukctrl.analysis.internal_dynamics.internal_dynamics_record import InternalDynamics
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
