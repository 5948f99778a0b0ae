"""From logs of a real robot to a model that one may believe, as a package beside ``ukctrl``.

It stands on all of ``ukctrl``, which has its command in ``cli/identify``, draws robots from its
files in ``simulation/effects/mismatch``, and names its path in ``core/entry_points``, as it takes
those of other distributions, and as a public name in ``mechanics/reference``.

In order:

1. What sensors said: ``joint_log``; ``log_settings`` (the table ``[log]``), ``log_header`` and
   ``log_columns`` (which column is what), ``log_table``, ``text_table``, ``array_tables`` and
   ``bag_table`` (formats), ``read_log``; ``log_fault``, ``time_faults``, ``channel_faults``,
   ``position_faults``, ``rate_fit``, ``velocity_faults``, ``log_states``, ``effort_faults`` and
   ``log_faults`` (what is wrong with them), ``checked_logs``.
2. What becomes of a robot: ``identified_dynamics``, ``robot_dynamics``, ``joint_losses``,
   ``model_files``, ``urdf_dynamics``, ``mjcf_elements``, ``mjcf_dynamics`` and
   ``identified_files`` (its files); ``identified_spread``, ``identified_json`` and
   ``drawn_robot`` (what a fit does not know).
3. From one to the other: ``measured_motion``, ``passive_motion``, ``logged_motions``,
   ``row_filter``, ``regressor_kernels``, ``regression`` (the equation that is linear in
   parameters),
   ``base_parameters``, ``least_squares``, ``friction_scales``, ``motion_equations`` (what all
   stretches of logs have in common), ``consistent_parameters`` (bodies that exist), ``validation``
   and ``identify``.
4. What motion would tell more: ``exciting_options``, ``fourier_series``, ``exciting_refusals``,
   ``independent_joints``, ``effort_information``, ``motion_limits``, ``sequential_programming``,
   ``excitation_search``, ``design_options``, ``design_problem`` and ``exciting_motion``;
   ``exciting_rows`` (the rows of a scenario that follow it) and ``exciting_path`` (what a file
   says of it), ``design_report`` and ``exciting_design``.
5. A scenario beside a log: ``replayed_scenario`` and ``log_replay``.
6. What is told: ``identification_verdicts``, ``identification_page``, and ``command``.
"""
