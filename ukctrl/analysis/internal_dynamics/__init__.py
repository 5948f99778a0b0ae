r"""Internal dynamics: what a task leaves to itself.

Servo rows determine as many states as their relative degrees add up to. The others move by
themselves, or as the null space of the allocation moves them:

$$ \dim = n - \sum_k r_k , $$

with $n$ the states that the passive constraints leave: twice the mobility, where all of them hold
positions. Zero dynamics is this motion with the path at rest.

In order:

1. ``exact_tracking``: the robot with its rows held.
2. ``internal_equilibria``, ``local_dynamics``: what it does near rest, of any relative degree.
3. ``internal_motion``: what it does along the path.
4. ``internal_verdict``: what is found, as data and in words.
5. ``internal_dynamics``: all of it for one scenario. ``internal_dynamics_figure``: drawn.
"""

from ukctrl.analysis.internal_dynamics.internal_dynamics import MAX_DOFS, internal_dynamics
from ukctrl.analysis.internal_dynamics.internal_motion import InternalMotion, PeriodicOrbit
from ukctrl.analysis.internal_dynamics.internal_verdict import InternalDynamics
from ukctrl.analysis.internal_dynamics.local_dynamics import Kind, LocalDynamics, Modes, modes

__all__ = [
    "MAX_DOFS",
    "InternalDynamics",
    "InternalMotion",
    "Kind",
    "LocalDynamics",
    "Modes",
    "PeriodicOrbit",
    "internal_dynamics",
    "modes",
]
