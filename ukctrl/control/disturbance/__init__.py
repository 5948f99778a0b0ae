r"""Disturbance observers: what moves a robot beside what its model explains, for any feedback.

A servo law asks the believed robot for the acceleration of its rows. An observer sees how the robot
really moved, and what is left over is an acceleration $\hat\delta$ by something unknown: a payload,
friction, a wrong model. The rows are then asked for $y - A \hat\delta$ instead of $y$.

In order: ``disturbance_observer`` (the base class, bound to a task), ``low_pass_observers`` (by
momentum or by velocity).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ukctrl.control.disturbance.disturbance_observer import DisturbanceObserver
from ukctrl.core.entry_points import with_entry_points
from ukctrl.core.kind_registry import classes_by_kind, union_of_kinds

if TYPE_CHECKING:
    AnyDisturbanceObserver = DisturbanceObserver
else:
    AnyDisturbanceObserver = union_of_kinds(
        with_entry_points(
            "disturbance", DisturbanceObserver, classes_by_kind(__name__, DisturbanceObserver)
        )
    )
"""Any disturbance observer of the catalogue."""
