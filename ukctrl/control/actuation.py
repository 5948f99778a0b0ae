"""From a generalised force to the inputs that give it."""

from __future__ import annotations

from typing import final

import numpy as np

from ukctrl.control.base import Task
from ukctrl.factor import Vector
from ukctrl.robot import Snapshot


@final
class InverseActuation:
    """``B^+`` of a task's robot, worked out once where ``B`` is constant."""

    def __init__(self, task: Task) -> None:
        B = task.robot.snapshot(task.q).B
        self.rank = int(np.linalg.matrix_rank(B))
        """Independent motors at the start."""
        self._constant = None if task.robot.actuation.varies else np.linalg.pinv(B)

    def input(self, snapshot: Snapshot, force: Vector) -> Vector:
        """Return the least-norm input whose generalised force is closest to ``force``."""
        inverse = np.linalg.pinv(snapshot.B) if self._constant is None else self._constant
        u: Vector = inverse @ force
        return u
