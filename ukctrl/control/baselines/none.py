"""No control at all: a mechanism left to itself."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np

from ukctrl.control.controller import Command, Controller, Law
from ukctrl.control.task import NO_MEMORY, Task
from ukctrl.core.arrays import Vector
from ukctrl.core.fields import spec
from ukctrl.mechanics.dynamics import Dynamics


@spec
class NoControl(Controller):
    """Every input stays zero: the controller of a scenario that names none.

    What moves is the mechanism by itself, under gravity, springs and its passive constraints.
    """

    kind: Literal["none"] = "none"
    name: str = "none"
    """Short name."""
    needs_servo: ClassVar[bool] = False
    acts: ClassVar[bool] = False

    def start(self, task: Task) -> Law:
        return _Idle(task)


class _Idle(Law):
    def __init__(self, task: Task) -> None:
        super().__init__(task)
        self._command = Command(np.zeros(task.robot.nu), NO_MEMORY)

    def step(self, dynamics: Dynamics, memory: Vector) -> Command:
        return self._command
