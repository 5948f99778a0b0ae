"""A frame that follows an orientation, alone or as a pose, compiled: one call for all its rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ukctrl.core.algebra.compiled import compiled
from ukctrl.core.arrays import Indices, Matrix, Vector
from ukctrl.mechanics.constraints.kinematics import frame_motion, orientation_rows, point_rows


@compiled
def turned_rows(
    Jt: Matrix,
    dJt: Matrix,
    v: Vector,
    rotations: NDArray[np.float64],
    translations: Matrix,
    joint: int,
    local_rotation: Matrix,
    local: Vector,
    columns: Indices,
    reference: tuple[float, ...],
    J: Matrix,
    A: Matrix,
    b: Vector,
    beta: Vector,
    phi: Vector,
) -> None:
    """Write the three rows that turn a frame as a reference has it: R_d, omega_d, omega_dot_d.

    ``J`` is room for the frame's Jacobian, zero where no joint moves the frame.
    """
    R, p, velocity, drift = np.empty((3, 3)), np.empty(3), np.empty(6), np.empty(6)
    joints = Jt, dJt, v, rotations, translations
    frame_motion(*joints, joint, local_rotation, local, columns, R, p, J, velocity, drift)
    desired = np.empty(15)
    for i in range(15):
        desired[i] = reference[i]
    wanted = desired[:9].reshape((3, 3)), desired[9:12], desired[12:]
    orientation_rows(R, J, velocity[3:], drift[3:], *wanted, A, b, beta, phi)


@compiled
def pose_rows(
    Jt: Matrix,
    dJt: Matrix,
    v: Vector,
    rotations: NDArray[np.float64],
    translations: Matrix,
    joint: int,
    local_rotation: Matrix,
    local: Vector,
    columns: Indices,
    axes: Indices,
    path: tuple[float, ...],
    orientation: tuple[float, ...],
    J: Matrix,
    p: Vector,
    A: Matrix,
    b: Vector,
    beta: Vector,
    phi: Vector,
) -> None:
    """Write the rows of a pose, position then orientation, and where the frame is."""
    joints = Jt, dJt, v, rotations, translations
    top, rest = (A[:3], b[:3], beta[:3], phi[:3]), (A[3:], b[3:], beta[3:], phi[3:])
    point_rows(*joints, joint, local, columns, axes, path, p, *top)
    turned_rows(*joints, joint, local_rotation, local, columns, orientation, J, *rest)
