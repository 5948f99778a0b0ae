"""A motion that was recorded: by a run, by another program, by the sensors of a robot."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar, Literal

import numpy as np

from ukctrl.control.feedforward.inversion.inversion import Inversion
from ukctrl.control.feedforward.nominal_motion import NominalMotion
from ukctrl.control.task import Task
from ukctrl.core.errors import InputError
from ukctrl.core.fields import InputFile, spec
from ukctrl.mechanics.reference.csv_columns import read_columns

EVEN_RTOL = 1e-6
"""Steps of the time differ by less than this part of them."""


@spec
class Recorded(Inversion):
    """The motion and the inputs of a CSV file, such as ``motion.csv`` of ``ukctrl export``.

    Its columns are ``time`` [s], evenly spaced, and ``q.``, ``v.``, ``a.`` and ``u.`` with the
    names of the robot's coordinates, velocities and motors; others are not read. Nothing says that
    such a motion keeps the task's rows, or that its inputs make it.
    """

    kind: Literal["recorded"] = "recorded"
    forgets_growth: ClassVar[bool] = False
    file: InputFile
    """The CSV file."""

    def solve(self, task: Task) -> NominalMotion:
        robot = task.robot
        named = {"q": robot.coordinates, "v": robot.dofs, "a": robot.dofs, "u": robot.actuators}
        columns = [f"{quantity}.{name}" for quantity, names in named.items() for name in names]
        times, values = read_columns(Path(self.file), "time", columns)
        steps, end = np.diff(times), task.start + task.duration
        if np.ptp(steps) > 2.0 * EVEN_RTOL * steps[0]:
            raise InputError(
                f"controller.along: {Path(self.file).name}: time must have even steps; they are "
                f"from {steps.min():.6g} to {steps.max():.6g} s."
            )
        if times[0] > task.start + steps[0] or times[-1] < end - steps[0]:
            raise InputError(
                f"controller.along: {Path(self.file).name}: must last as long as the run, from "
                f"{task.start:g} to {end:g} s; it lasts from {times[0]:g} to {times[-1]:g} s."
            )
        q, v, a, u = np.split(values, np.cumsum([len(n) for n in named.values()])[:-1], axis=1)
        return NominalMotion(robot, times, q, v, a, u)
