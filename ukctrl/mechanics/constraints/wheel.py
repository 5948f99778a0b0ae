"""How a disc rolls on a plane, compiled."""

from __future__ import annotations

import numpy as np

from ukctrl.core.algebra.compiled import compiled
from ukctrl.core.arrays import Matrix, Vector
from ukctrl.mechanics.constraints.kinematics import cross


@compiled
def rolling_rows(
    R: Matrix,
    p: Vector,
    J: Matrix,
    velocity: Vector,
    drift: Vector,
    axle: Vector,
    radius: float,
    ground: Vector,
    n: Vector,
    A: Matrix,
    b: Vector,
    beta: Vector,
    phi: Vector,
) -> bool:
    r"""Write the rows of a disc that rolls on a plane: along, across and, if there, height.

    Returns whether the disc has a heading; where it lies flat, nothing is written. All three rows
    are components of the velocity $v_c$ of the material point in contact, along directions that
    turn; $n \cdot v_c$ is the rate of the height.
    """
    a = R @ axle
    omega = velocity[3:]
    a_dot, side, side_dot = np.empty(3), np.empty(3), np.empty(3)
    cross(omega, a, a_dot)
    cross(a, n, side)
    cross(a_dot, n, side_dot)
    s = np.sqrt(side @ side)
    if s == 0.0:
        return False
    lean, lean_dot = n @ a, n @ a_dot
    s_dot = -lean * lean_dot / s
    d = (n - lean * a) / s
    d_dot = (-lean_dot * a - lean * a_dot - s_dot * d) / s
    w_d, alpha_d, w_d_dot = np.empty(3), np.empty(3), np.empty(3)
    cross(omega, d, w_d)
    cross(drift[3:], d, alpha_d)
    cross(omega, d_dot, w_d_dot)
    v_c = velocity[:3] - radius * w_d
    v_c_drift = drift[:3] - radius * (alpha_d + w_d_dot)
    e, e_dot = np.empty((3, 3)), np.zeros((3, 3))
    e[0] = side / s
    e_dot[0] = (side_dot - s_dot * e[0]) / s
    cross(n, e[0], e[1])
    cross(n, e_dot[0], e_dot[1])
    e[2] = n
    lever = np.empty(3)
    for row in range(A.shape[0]):
        cross(d, e[row], lever)
        for c in range(A.shape[1]):
            total = 0.0
            for i in range(3):
                total += e[row, i] * J[i, c] - radius * lever[i] * J[3 + i, c]
            A[row, c] = total
        beta[row] = e[row] @ v_c
        b[row] = -(e_dot[row] @ v_c + e[row] @ v_c_drift)
        phi[row] = np.nan if row < 2 else n @ (p - ground) - radius * s
    return True
