"""What can be known of a scenario before it is simulated.

In order:

1. ``projected_rows``, ``contact_phases``: rows along what passive constraints leave, and which of
   them are served while contacts stand. ``motion_end``, ``task_motion``: the motion that a task
   asks for, and where it ends; ``initial_transient``: the way to it from a start off the rows.
2. ``motion_ranks``, ``limit_usage``, ``required_inputs``, ``feasibility``, ``weakest_authority``:
   what that motion takes; ``safety_rows``, ``safety_feasibility``: how much of it is feasible with
   what the law keeps.
3. ``path_timing``: how much faster it could be. ``sampled_error``: what the hold does to the
   errors.
4. ``check_result``: these as data. ``start_diagnostics``: ranks, reach, closures, what the task
   leaves free.
5. ``observability``: what an observer sees along the motion. ``safety_diagnostics``: what the task
   makes of limits that the law keeps. ``stick_slip``: what contacts hold until they slide.
   ``root_causes``: what follows from what. ``motion_diagnostics``: what it all means.
6. ``check_scenario`` asks them, the start first; ``check_tables``, ``check_figure`` and
   ``check_page`` show, ``check_card`` in notebooks.
7. ``first_scenario``, ``parser_differences`` (how others read a file), ``robot_check``: a robot
   before there is a task; ``robot_tables`` and ``robot_page`` show it.
"""

from ukctrl.analysis.check.check_result import (
    Actuation,
    Check,
    MotionCheck,
    RowCheck,
    StartCheck,
    TaskMotionSummary,
)
from ukctrl.analysis.check.check_scenario import check

__all__ = [
    "Actuation",
    "Check",
    "MotionCheck",
    "RowCheck",
    "StartCheck",
    "TaskMotionSummary",
    "check",
]
