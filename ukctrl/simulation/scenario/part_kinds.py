"""Kinds of parts that files may name, found by the parts' being there."""

from __future__ import annotations

import inspect
from typing import Any, get_args

from ukctrl.control.allocation import AnyAllocation
from ukctrl.control.allocation.null_space import AnyNullSpace
from ukctrl.control.any_controller import AnyController
from ukctrl.control.disturbance import AnyDisturbanceObserver
from ukctrl.control.feedback import AnyFeedback
from ukctrl.control.safety import AnyKeep
from ukctrl.mechanics.constraints import AnyConstraint
from ukctrl.mechanics.reference import AnyOrientation, AnyReference
from ukctrl.simulation.effects import AnyEffect
from ukctrl.simulation.observers import AnyObserver
from ukctrl.simulation.result.metrics import METRICS

UNIONS: dict[str, Any] = {
    "controller": AnyController,
    "feedback": AnyFeedback,
    "allocation": AnyAllocation,
    "disturbance": AnyDisturbanceObserver,
    "null_space": AnyNullSpace,
    "constraint": AnyConstraint,
    "keep": AnyKeep,
    "reference": AnyReference,
    "orientation": AnyOrientation,
    "effect": AnyEffect,
    "observer": AnyObserver,
}


def part_kinds() -> dict[str, dict[str, str]]:
    """Return the parts of every sort by the ``kind`` that a file gives, each with a line.

    Metrics stand at the end, by the name that a cost takes.
    """
    sorts = {
        sort: {
            cls.kind: " ".join((inspect.getdoc(cls) or "").split("\n\n")[0].split())
            for cls in get_args(get_args(union)[0])
        }
        for sort, union in UNIONS.items()
    }
    return {**sorts, "metric": {name: metric.description for name, metric in METRICS.items()}}
