"""What a task leaves free, and whether gravity moves it."""

from __future__ import annotations

import numpy as np

from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.errors import UkctrlError
from ukctrl.simulation.loop import Loop

AT_REST = 1e-6
"""Free accelerations [rad/s^2, m/s^2] and loads [N m, N] below this are those of rest."""
DEPENDENT = 1e-9
"""A singular value that is smaller than this fraction of the largest counts as zero."""


def falling(loop: Loop, q: Vector) -> list[str]:
    """Return a note where a law lets gravity move what its task leaves free.

    At rest at the configuration, the law's own input must leave an acceleration along a direction
    that neither the passive nor the servo rows see, where gravity pulls and a motor could hold.

    Args:
        loop: The scenario, ready to run.
        q: Configuration, shape ``(nq,)``.
    """
    allocation = loop.scenario.controller.row_allocation
    if allocation is None or not allocation.behaviour(loop.law.task).leaves_motors_idle:
        return []
    truth, servo = loop.truth, loop.recorder.servo
    truth.move(loop.t0, q, np.zeros(loop.robot.nv))
    A, G = servo.write(truth.snapshot).A.copy(), truth.G.copy()
    gravity = truth.snapshot.gravity.copy()
    allowed = _free(truth.passive.rows.A.copy(), loop.robot.nv)
    inside = _free(A @ allowed, allowed.shape[1])
    free, mobility = allowed @ inside, allowed.shape[1]
    motors = np.linalg.matrix_rank(G, rtol=DEPENDENT)
    idle = motors > np.linalg.matrix_rank(A @ G, rtol=DEPENDENT)
    if not free.size or not idle or np.abs(gravity @ free).max() <= AT_REST:
        return []
    try:
        command = loop.command(loop.t0, q, np.zeros(loop.robot.nv), loop.state.memory)
        a = truth.acceleration(command.u)
    except (UkctrlError, ArithmeticError):
        return []  # told elsewhere
    if np.abs(a @ free).max() <= AT_REST:
        return []
    count = free.shape[1]
    return [
        f"{mobility - count} of {mobility} freedoms are held; the other {count} "
        f"{'moves' if count == 1 else 'move'} freely under gravity: give allocation.null_space, "
        'e.g. { kind = "damping", gain = 1.0 }, or more rows.'
    ]


def _free(A: Matrix, size: int) -> Matrix:
    """Return an orthonormal basis of what rows leave free, shape ``(size, k)``."""
    from scipy.linalg import null_space

    basis: Matrix = null_space(A, rcond=DEPENDENT) if A.size else np.eye(size)
    return basis
