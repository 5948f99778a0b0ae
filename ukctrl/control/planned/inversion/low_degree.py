"""What the DAE of a task can be solved for: rows of a relative degree that is not too high."""

from __future__ import annotations

from ukctrl.control.planned.inversion.dae_equations import Equations
from ukctrl.control.task import Task
from ukctrl.core.arrays import Vector
from ukctrl.core.errors import InputError
from ukctrl.mechanics.derivatives import check_smooth
from ukctrl.mechanics.relative_degree import HIGHEST_OF_DAE, advice, relative_degrees, whole_degree

WITH_GRIP = 2
"""Rows of this degree are followed on any path, as by the laws that look at accelerations."""


def require_low(equations: Equations, task: Task, q: Vector, v: Vector, kind: str) -> None:
    """Refuse rows that the DAE's index is too high for, and paths that jump where they must not.

    Args:
        equations: The DAE.
        task: The task.
        q: Configuration at the start.
        v: Velocity there.
        kind: What complaints call the inversion.

    Raises:
        InputError: The row is named, and what serves it.
    """
    dynamics, stack = equations.dynamics, equations.stack
    alone = relative_degrees(dynamics, stack, task.start, q, v)
    whole = whole_degree(dynamics, stack, task.start, q, v, alone)
    degrees = [one.value or WITH_GRIP for one in alone]
    if whole is not None and whole.orders is not None:
        degrees = list(whole.orders)
    worst = max(range(len(degrees)), key=degrees.__getitem__)
    if degrees[worst] > HIGHEST_OF_DAE:
        raise InputError(
            f"{kind} needs rows of relative degree {HIGHEST_OF_DAE} at most; that of row "
            f"'{stack.names[worst]}' is {degrees[worst]}. {advice(task.robot, whole)}"
        )
    check_smooth(stack, [r if r > WITH_GRIP else 1 for r in degrees])
