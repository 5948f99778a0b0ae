"""Motions of least effort or time between poses, by direct collocation, as a plug-in of ``ukctrl``.

The package stands on all of ``ukctrl``, which names its path in ``core/entry_points``, as it takes
those of other distributions, and as a public name in ``mechanics/reference``. IPOPT solves; it
comes with the extra ``optimise``.

In order: ``gauss_legendre`` (the scheme), ``independent_coordinates`` (the robot in independent
coordinates), ``path_inequalities`` (what stays at or above zero), ``decision_variables``,
``sparse_blocks``, ``hessian_differences``, ``torque_speed_limits``, ``path_constraint_grid`` and
``nonlinear_program`` (what a motion must obey), ``interior_point`` (what solves it),
``initial_guesses`` (from where), ``multistart_search`` and ``optimal_motion``;
``optimisation_options``, ``optimised_rows`` (the rows of a scenario that follow such a motion) and
``optimised_path`` (what a file says of it).
"""
