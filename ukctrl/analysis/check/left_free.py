"""What the task leaves to itself, as `check` tells it."""

from __future__ import annotations

import numpy as np

from ukctrl.analysis.internal_dynamics import LARGEST, InternalDynamics, internal_dynamics
from ukctrl.control import Controller
from ukctrl.core.errors import UkctrlError
from ukctrl.simulation.loop import Loop


def internal(loop: Loop) -> tuple[InternalDynamics | None, list[str]]:
    """Return the internal dynamics, and a note where they are not known."""
    if not len(loop.recorder.servo) or loop.robot.nv > LARGEST:
        return None, []
    try:
        return internal_dynamics(loop.scenario), []
    except (UkctrlError, ArithmeticError, np.linalg.LinAlgError) as error:
        return None, [f"what the task leaves to itself is not known: {error}"]


def of_internal(found: InternalDynamics | None, controller: Controller) -> list[str]:
    """Return a warning where what is left runs away from a law that keeps its rows."""
    if found is None or found.kind != "runs_away" or controller.row_allocation is None:
        return []
    return [found.verdict]
