"""A started law near a state, as a linear system from what it measures to its command."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ukctrl.analysis.linear.operating_point import OperatingPoint
from ukctrl.control.controller import Law
from ukctrl.core.algebra.finite_differences import STEP, jacobian
from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.errors import InputError, UkctrlError
from ukctrl.core.tie_breaking import max_abs
from ukctrl.mechanics.dynamics import Dynamics

FINE_STEP_RATIO = 0.1
"""Slopes are compared with those at this fraction of the step."""
SMOOTH_RTOL = 1e-3
"""Slopes that differ by more than this fraction are those of a law that is not smooth there."""


class LinearLaw(NamedTuple):
    """Deviations of a law's command, ``du = K x + K_m dm`` and ``dm' = F x + F_m dm``."""

    u: Vector
    """The command at the state itself."""
    K: Matrix
    K_m: Matrix
    F: Matrix
    F_m: Matrix
    nonsmoothness: float
    """By which fraction the slopes depend on the step; small where the law is smooth."""
    set_changes: bool
    """Whether what the law keeps binds otherwise for the smallest deviations that were tried."""


def linear_law(law: Law, belief: Dynamics, point: OperatingPoint, directions: Matrix) -> LinearLaw:
    """Linearise a law by differences of its step.

    The modes of a law that switches stay as they are, and so does the rest of its memory.

    Args:
        law: The law, started.
        belief: The robot that it believes in; it is moved about.
        point: What the law measures, and its memory.
        directions: Deviations ``(dq, dv)`` to look along, shape ``(2 nv, k)``.

    Raises:
        InputError: The law has no command there, or at a state nearby.
    """
    robot, n, k = belief.robot, belief.robot.nv, directions.shape[1]
    memory = law.memory if point.memory is None else point.memory
    # Modes of a law that switches have no slope.
    m = 0 if law.switches else len(memory)
    bound = np.zeros(0) if law.keeper is None else law.keeper.diagnostics.active
    patterns = set[bytes]()

    def answer(d: Vector) -> Vector:
        x = directions @ d[:k]
        belief.move(point.t, robot.integrate(point.q, x[:n]), point.v + x[n:])
        recalled = memory.copy()
        recalled[:m] += d[k:]
        command = law.step(belief, recalled)
        patterns.add(bound.tobytes())
        return np.concatenate([command.u, np.asarray(command.memory_rate)[:m]])

    try:
        nominal = answer(np.zeros(k + m))
        slopes = jacobian(answer, k + m)
        patterns.clear()
        finer = jacobian(answer, k + m, FINE_STEP_RATIO * STEP)
    except (UkctrlError, ArithmeticError) as error:
        raise InputError(
            f"the law must have a command at {point.source} to be looked at: {error}"
        ) from None
    size = max(max_abs(slopes), 1e-12)
    rough = max_abs(slopes - finer) / size
    nu = robot.nu
    return LinearLaw(
        u=nominal[:nu],
        K=slopes[:nu, :k],
        K_m=slopes[:nu, k:],
        F=slopes[nu:, :k],
        F_m=slopes[nu:, k:],
        nonsmoothness=rough if rough > SMOOTH_RTOL else 0.0,
        set_changes=len(patterns) > 1,
    )
