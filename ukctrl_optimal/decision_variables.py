"""What a motion is to do, and the unknowns by which it is described."""

from __future__ import annotations

import dataclasses as dc
import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ukctrl.core.arrays import Indices, Vector


@dc.dataclass(frozen=True, eq=False, kw_only=True)
class MotionProblem:
    """What a motion is to do, in the coordinates of a `IndependentCoordinates`."""

    t: float
    """When it starts [s]."""
    rate: Vector
    """Rates at the start, shape ``(n,)``."""
    goal: Vector
    """Coordinates at the end, shape ``(n,)``; NaN where they are free. The rates are zero there."""
    duration: float | None
    """How long it takes, or about how long; None where that is looked for [s]."""
    minimises_time: bool
    """Whether the time is to be least, and not the effort."""
    limit_share: float = 1.0
    """Part of the limits of motors and speeds that may be used."""


class DecisionVariables(NamedTuple):
    """The unknowns of a program; also their places, or their bounds."""

    y: NDArray[Any]
    """Where steps meet, shape ``(steps + 1, n)``."""
    w: NDArray[Any]
    """Shape ``(steps + 1, n)``."""
    y_points: NDArray[Any]
    """Coordinates at the points, shape ``(k, n)``."""
    rate: NDArray[Any]
    """Shape ``(k, n)``."""
    a: NDArray[Any]
    """Shape ``(k, n)``."""
    u: NDArray[Any]
    """Shape ``(k, nu)``."""
    path_states: NDArray[Any]
    """Coordinates, rates and accelerations where it is looked at what is kept, shape
    ``(3, m, n)``."""
    sigma: NDArray[Any]
    """Shape ``(1, 1)``."""


class VariableLayout:
    """The unknowns of a program, one after the other.

    Args:
        steps: Number of steps.
        stages: Points of each.
        n: Number of coordinates.
        nu: Number of inputs.
        grid_points: Number of points where the path's inequalities are rows.

    Attributes:
        count: Number of unknowns.
    """

    def __init__(self, steps: int, stages: int, n: int, nu: int, grid_points: int) -> None:
        meet, points, inputs = (steps + 1, n), (steps * stages, n), (steps * stages, nu)
        self._shapes = (meet, meet, points, points, points, inputs, (3, grid_points, n), (1, 1))
        self._ends = np.cumsum([0, *(math.prod(shape) for shape in self._shapes)])
        self.count = int(self._ends[-1])

    def split(self, z: Vector | Indices) -> DecisionVariables:
        """Return a vector of unknowns by name."""
        blocks = np.split(z, self._ends[1:-1])
        shaped = (block.reshape(shape) for block, shape in zip(blocks, self._shapes, strict=True))
        return DecisionVariables(*shaped)
