"""What can be known of a scenario before it is simulated.

In order:

1. ``contact_phases``: which rows are served while which contacts stand. ``motion_end``,
   ``task_motion``: the motion that a task asks for, where it ends, and the way to it from a start
   off the rows.
2. ``motion_ranks``: how rows are held along it. ``limit_usage``, ``input_feasibility``: what it
   takes of motors, joints and ground. ``safety_feasibility``: how much of it is feasible with what
   the law keeps. ``speed_factor``, ``timing``: how much faster it could be, and what the hold does
   to the errors. ``loop_stability``: the poles of the whole loop, and a run where they do not tell.
3. ``check_result``: these as data. ``sentences``: the words of every diagnostic, which
   ``start_diagnostics`` (ranks, reach, closures of the start) and ``diagnostics`` (what all of that
   means, and what follows from what) choose.
4. ``check_scenario`` asks them in this order; ``check_report`` shows: facts, figures, page, card.
5. ``first_scenario``, ``parser_differences`` (how others read a file), ``robot_check``: a robot
   before there is a task; ``robot_report`` shows it.
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
