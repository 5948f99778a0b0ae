"""What can be known of a scenario before it is simulated.

In order:

1. ``free_rows``, ``planned_lifts``: rows along what passive constraints leave, and which of them
   are served while contacts stand. ``motion_end``, ``task_motion``: the motion that a task asks
   for, and where it ends; ``approach``: the way to it from a start off the rows.
2. ``ranks_along``, ``limit_use``, ``needed_inputs``, ``feasibility``, ``weakest_grip``: what that
   motion takes; ``kept_rows``, ``kept_along``: how much of it is feasible with what the law keeps.
3. ``path_timing``: how much faster it could be. ``control_period``: what the hold does to the
   errors. ``reach_search``, ``reach_map``: which part of a plane a frame reaches, and why no more.
4. ``findings``: these as data. ``at_start``: ranks, reach, closures, what the task leaves free.
5. ``observability``: what an observer sees along the motion. ``kept_limits``: what the task makes
   of limits that the law keeps. ``sticking``: what contacts hold until they slide. ``causes``: what
   follows from what. ``judgement``: what it all
   means.
6. ``check`` asks them, the start first; ``check_tables``, ``check_figure``, ``reach_figure`` and
   ``check_page`` show, ``check_card`` in notebooks.
7. ``first_scenario``, ``readers`` (how others read a file), ``robot_check``: a robot before there
   is a task; ``robot_tables`` and ``robot_page`` show it.
"""

from ukctrl.analysis.check.check import check
from ukctrl.analysis.check.findings import Actuation, AlongMotion, AtStart, Check, RowCheck, Way

__all__ = ["Actuation", "AlongMotion", "AtStart", "Check", "RowCheck", "Way", "check"]
