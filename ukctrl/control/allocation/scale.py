"""How long a servo row is that counts as one: what singular values are compared with."""

from __future__ import annotations

import numpy as np

from ukctrl import uk
from ukctrl.control.allocation.metric import REDUNDANT, InputMetric
from ukctrl.control.task import Task
from ukctrl.core.algebra.priorities import freedoms, row_lengths
from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.errors import GainError
from ukctrl.mechanics.constraints import Stack
from ukctrl.mechanics.dynamics import Dynamics


def row_scale(stack: Stack, metric: InputMetric, task: Task) -> Vector:
    """Return the length of every servo row at the start of the task, shape ``(m,)``.

    The length is that of ``H_i`` in the input metric, of the longest row of the same block and
    unit: a singular pose shortens rows, and one that starts there must not hide it. So a singular
    value of rows divided by it does not depend on units, nor on how strong the motors are.
    """
    dynamics = Dynamics(task.robot, task.rank, task.gains)
    dynamics.move(task.start, task.q, task.v)
    H = uk.servo_matrix(stack.write(dynamics.snapshot).A, dynamics.G, task.rank)
    lengths = np.empty(len(stack))
    row_lengths(H, input_freedoms(metric, dynamics), lengths)
    groups = list(zip(stack.blocks, stack.units, strict=True))
    longest = dict.fromkeys(groups, 0.0)
    for group, length in zip(groups, lengths.tolist(), strict=True):
        longest[group] = max(longest[group], length)
    scale = np.array([longest[group] for group in groups])
    scale[scale == 0.0] = scale.max(initial=0.0) or 1.0
    return scale


def input_freedoms(metric: InputMetric, dynamics: Dynamics) -> Matrix:
    """Return ``S`` with ``S S' = R^-1``, shape ``(nu, nu)``."""
    nu = dynamics.robot.nu
    S: Matrix = np.empty((nu, nu))
    if not freedoms(metric.at(dynamics), S):
        raise GainError(REDUNDANT)
    return S
