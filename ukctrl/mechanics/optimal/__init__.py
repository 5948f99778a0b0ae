"""Motions of least effort or time between poses, by direct collocation.

In order: ``gauss_legendre`` (the scheme), ``independent_coordinates`` (the robot in independent
coordinates), ``path_inequalities`` (what stays at or above zero), ``decision_variables``,
``sparse_blocks``, ``hessian_differences``, ``torque_speed_limits``, ``path_constraint_grid`` and
``nonlinear_program`` (what a motion must obey), ``interior_point`` (what solves it),
``initial_guesses`` (from where), ``multistart_search`` and ``optimal_motion``.
"""

from ukctrl.mechanics.optimal.decision_variables import MotionProblem
from ukctrl.mechanics.optimal.independent_coordinates import IndependentCoordinates
from ukctrl.mechanics.optimal.optimal_motion import OptimalMotion, optimal_motion
from ukctrl.mechanics.optimal.path_inequalities import InequalityTable

__all__ = [
    "IndependentCoordinates",
    "InequalityTable",
    "MotionProblem",
    "OptimalMotion",
    "optimal_motion",
]
