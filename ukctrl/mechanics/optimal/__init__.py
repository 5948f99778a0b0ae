"""Motions of least effort or time between poses, by direct collocation.

In order: ``gauss`` (the scheme), ``freedoms`` (the robot in independent coordinates), ``unknowns``,
``program`` (what a motion must keep), ``interior_point`` (what solves it) and ``optimal_motion``.
"""

from ukctrl.mechanics.optimal.freedoms import Freedoms
from ukctrl.mechanics.optimal.optimal_motion import OptimalMotion, optimal_motion
from ukctrl.mechanics.optimal.unknowns import Wanted

__all__ = ["Freedoms", "OptimalMotion", "Wanted", "optimal_motion"]
