"""Motions of least effort or time between poses, by direct collocation.

In order: ``gauss`` (the scheme), ``freedoms`` (the robot in independent coordinates),
``kept_rows`` (what stays at or above zero), ``unknowns``, ``blocks``, ``differences``, ``falling``,
``kept_points`` and ``program`` (what a motion must obey), ``interior_point`` (what solves it),
``ways`` (from where), ``search`` and ``optimal_motion``.
"""

from ukctrl.mechanics.optimal.freedoms import Freedoms
from ukctrl.mechanics.optimal.kept_rows import Quantities
from ukctrl.mechanics.optimal.optimal_motion import OptimalMotion, optimal_motion
from ukctrl.mechanics.optimal.unknowns import Wanted

__all__ = ["Freedoms", "OptimalMotion", "Quantities", "Wanted", "optimal_motion"]
