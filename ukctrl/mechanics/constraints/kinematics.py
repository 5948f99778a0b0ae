"""How frames move, compiled: the arithmetic under every constraint that names a frame.

``Jt`` and ``dJt`` are the transposed world Jacobian of the joints and its time derivative,
shape ``(nv, 6)``, linear part first and taken at the world origin; `Snapshot` owns them, and the
poses of all joints. All that a frame needs follows from them, its place on its joint, and the
``columns`` of the joints that move it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ukctrl.core.arrays import Indices, Matrix, Vector
from ukctrl.core.compiled import compiled


@compiled
def cross(a: Vector, b: Vector, out: Vector) -> None:
    """Write ``a x b``."""
    out[0] = a[1] * b[2] - a[2] * b[1]
    out[1] = a[2] * b[0] - a[0] * b[2]
    out[2] = a[0] * b[1] - a[1] * b[0]


@compiled
def point_rows(
    Jt: Matrix,
    dJt: Matrix,
    v: Vector,
    rotations: NDArray[np.float64],
    translations: Matrix,
    joint: int,
    local: Vector,
    columns: Indices,
    axes: Indices,
    reference: Vector,
    p: Vector,
    A: Matrix,
    b: Vector,
    beta: Vector,
    phi: Vector,
) -> None:
    """Write the rows ``p(q) - r(t) = 0`` of a body-fixed point, for the chosen world axes, and p.

    With world-origin twists the point moves with ``p_dot = lin + ang x p`` and, at ``a = 0``,
    with ``p_ddot = lin0 + ang0 x p + ang x p_dot``.
    """
    for i in range(3):
        p[i] = translations[joint, i]
        for k in range(3):
            p[i] += rotations[joint, i, k] * local[k]
    twist = np.zeros(6)
    drift = np.zeros(6)
    for c in columns:
        for i in range(6):
            twist[i] += Jt[c, i] * v[c]
            drift[i] += dJt[c, i] * v[c]
    count = axes.shape[0]
    p_dot = np.empty(3)
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        p_dot[i] = twist[i] + twist[3 + j] * p[k] - twist[3 + k] * p[j]
    for row in range(count):
        i = axes[row]
        j, k = (i + 1) % 3, (i + 2) % 3
        for c in columns:
            A[row, c] = Jt[c, i] + Jt[c, 3 + j] * p[k] - Jt[c, 3 + k] * p[j]
        p_ddot = drift[i] + drift[3 + j] * p[k] - drift[3 + k] * p[j]
        p_ddot += twist[3 + j] * p_dot[k] - twist[3 + k] * p_dot[j]
        phi[row] = p[i] - reference[row]
        beta[row] = p_dot[i] - reference[count + row]
        b[row] = reference[2 * count + row] - p_ddot


@compiled
def frame_motion(
    Jt: Matrix,
    dJt: Matrix,
    v: Vector,
    rotations: NDArray[np.float64],
    translations: Matrix,
    joint: int,
    local_rotation: Matrix,
    local: Vector,
    columns: Indices,
    R: Matrix,
    p: Vector,
    J: Matrix,
    velocity: Vector,
    drift: Vector,
) -> None:
    """Write pose, Jacobian, velocity and classical drift of a frame, in world axes at its origin.

    ``J`` has shape ``(6, nv)``; columns of joints that do not move the frame are left alone.
    """
    for i in range(3):
        p[i] = translations[joint, i]
        for k in range(3):
            p[i] += rotations[joint, i, k] * local[k]
            R[i, k] = 0.0
            for j in range(3):
                R[i, k] += rotations[joint, i, j] * local_rotation[j, k]
    for i in range(6):
        velocity[i] = 0.0
        drift[i] = 0.0
    for c in columns:
        for i in range(3):
            j, k = (i + 1) % 3, (i + 2) % 3
            J[i, c] = Jt[c, i] + Jt[c, 3 + j] * p[k] - Jt[c, 3 + k] * p[j]
            J[3 + i, c] = Jt[c, 3 + i]
            drift[i] += (dJt[c, i] + dJt[c, 3 + j] * p[k] - dJt[c, 3 + k] * p[j]) * v[c]
            drift[3 + i] += dJt[c, 3 + i] * v[c]
        for i in range(6):
            velocity[i] += J[i, c] * v[c]
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        drift[i] += velocity[3 + j] * velocity[k] - velocity[3 + k] * velocity[j]


@compiled
def orientation_rows(
    R: Matrix,
    J: Matrix,
    omega: Vector,
    alpha: Vector,
    R_d: Matrix,
    omega_d: Vector,
    alpha_d: Vector,
    A: Matrix,
    b: Vector,
    beta: Vector,
    phi: Vector,
) -> None:
    r"""Write the rows that turn a frame into the orientation ``R_d(t)``.

    The error is four times the modified Rodrigues vector of ``E = R_d' R``, made of its unit
    quaternion $(\eta, \varepsilon)$ with $\eta \ge 0$,

    $$ \phi = 4 \sigma, \quad \sigma = \frac{\varepsilon}{1 + \eta} = n \tan\frac{\theta}{4}, \quad
       \dot\phi = T w, \quad w = R^\top (\omega - \omega_d), $$
    $$ T = (1 - |\sigma|^2) I + 2 [\sigma]_\times + 2 \sigma \sigma^\top, $$

    which is the rotation vector to third order. Unlike the logarithm it has polynomial
    derivatives, and unlike $2 \varepsilon$ it keeps its rank up to half a turn and at it:
    $T^{-1} = T^\top / (1 + |\sigma|^2)^2$.

    References:
        Shuster, "A survey of attitude representations", J. Astronaut. Sci. 41(4), 1993, sec. IV.
    """
    E = np.empty((3, 3))
    w = np.zeros(3)
    body = np.zeros(3)
    rate = np.zeros(3)
    for i in range(3):
        for k in range(3):
            E[i, k] = R_d[0, i] * R[0, k] + R_d[1, i] * R[1, k] + R_d[2, i] * R[2, k]
            w[i] += R[k, i] * (omega[k] - omega_d[k])
            body[i] += R[k, i] * omega[k]
            rate[i] += R[k, i] * (alpha[k] - alpha_d[k])
    eta, sigma = quaternion(E)
    turn = np.empty(3)
    cross(body, w, turn)
    for i in range(3):
        rate[i] -= turn[i]
        sigma[i] /= 1.0 + eta
    T = np.empty((3, 3))
    rodrigues_rate(sigma, T)
    sigma_dot = np.zeros(3)
    for i in range(3):
        for k in range(3):
            sigma_dot[i] += 0.25 * T[i, k] * w[k]
    along, growth, changed = 0.0, 0.0, 0.0
    for i in range(3):
        along += sigma[i] * w[i]
        changed += sigma_dot[i] * w[i]
        growth += sigma[i] * sigma_dot[i]
    twist = np.empty(3)
    cross(sigma_dot, w, twist)
    for i in range(3):
        phi[i] = 4.0 * sigma[i]
        beta[i] = 4.0 * sigma_dot[i]
        # T_dot w + T rate
        drift = 2.0 * (twist[i] - growth * w[i] + sigma_dot[i] * along + sigma[i] * changed)
        for k in range(3):
            drift += T[i, k] * rate[k]
        b[i] = -drift
        for c in range(A.shape[1]):
            total = 0.0
            for k in range(3):
                T_R = T[i, 0] * R[k, 0] + T[i, 1] * R[k, 1] + T[i, 2] * R[k, 2]
                total += T_R * J[3 + k, c]
            A[i, c] = total


@compiled
def rodrigues_rate(sigma: Vector, T: Matrix) -> None:
    """Write the matrix of ``4 sigma_dot = T w``, with the angular velocity in the turned axes."""
    squared = sigma[0] * sigma[0] + sigma[1] * sigma[1] + sigma[2] * sigma[2]
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        for c in range(3):
            T[i, c] = 2.0 * sigma[i] * sigma[c]
        T[i, i] += 1.0 - squared
        T[i, j] -= 2.0 * sigma[k]
        T[i, k] += 2.0 * sigma[j]


@compiled
def quaternion(E: Matrix) -> tuple[float, Vector]:
    """Return the unit quaternion of a rotation matrix, real part first and not negative.

    The largest of the four squared components is computed first (Shepperd 1978), so no
    division by a small number occurs.
    """
    e = np.empty(3)
    trace = E[0, 0] + E[1, 1] + E[2, 2]
    best, largest = -1, trace
    for i in range(3):
        if E[i, i] > largest:
            best, largest = i, E[i, i]
    if best < 0:
        eta = 0.5 * np.sqrt(max(0.0, 1.0 + trace))
        scale = 0.25 / eta
        for i in range(3):
            j, k = (i + 1) % 3, (i + 2) % 3
            e[i] = (E[k, j] - E[j, k]) * scale
        return eta, e
    i = best
    j, k = (i + 1) % 3, (i + 2) % 3
    size = 0.5 * np.sqrt(max(0.0, 1.0 + E[i, i] - E[j, j] - E[k, k]))
    e[i] = np.copysign(size, E[k, j] - E[j, k])  # of the sign that leaves the real part none
    scale = 0.25 / e[i]
    e[j] = (E[j, i] + E[i, j]) * scale
    e[k] = (E[k, i] + E[i, k]) * scale
    return (E[k, j] - E[j, k]) * scale, e


@compiled
def relative_motion(
    R_a: Matrix,
    p_a: Vector,
    J_a: Matrix,
    v_a: Vector,
    drift_a: Vector,
    p_b: Vector,
    J_b: Matrix,
    v_b: Vector,
    drift_b: Vector,
    x: Vector,
    x_dot: Vector,
    x_drift: Vector,
    A: Matrix,
) -> None:
    r"""Write position, velocity, drift and Jacobian of point b as seen in the moving frame a.

    With $y = p_b - p_a$: $x = R_a^\top y$, $\dot x = R_a^\top(\dot y - \omega_a \times y)$,
    $\ddot x = R_a^\top(\ddot y - \alpha_a \times y - 2\omega_a \times \dot y
    + \omega_a \times (\omega_a \times y))$.
    """
    y = p_b - p_a
    y_dot = v_b[:3] - v_a[:3]
    omega = v_a[3:]
    t1, t2, t3, t4 = np.empty(3), np.empty(3), np.empty(3), np.empty(3)
    cross(omega, y, t1)
    cross(drift_a[3:], y, t2)
    cross(omega, y_dot, t3)
    cross(omega, t1, t4)
    for i in range(3):
        x[i] = 0.0
        x_dot[i] = 0.0
        x_drift[i] = 0.0
        for k in range(3):
            x[i] += R_a[k, i] * y[k]
            x_dot[i] += R_a[k, i] * (y_dot[k] - t1[k])
            x_drift[i] += R_a[k, i] * (drift_b[k] - drift_a[k] - t2[k] - 2.0 * t3[k] + t4[k])
        for c in range(A.shape[1]):
            total = 0.0
            for k in range(3):
                m, n = (k + 1) % 3, (k + 2) % 3
                turning = J_a[3 + m, c] * y[n] - J_a[3 + n, c] * y[m]
                total += R_a[k, i] * (J_b[k, c] - J_a[k, c] - turning)
            A[i, c] = total


@compiled
def seen_along(R: Matrix, J_a: Matrix, J_b: Matrix, along: Indices, out: Matrix) -> None:
    """Write some components of ``J_b - J_a`` in the axes that are the columns of ``R``."""
    for row in range(len(along)):
        i = along[row]
        for c in range(out.shape[1]):
            out[row, c] = 0.0
            for k in range(3):
                out[row, c] += R[k, i] * (J_b[k, c] - J_a[k, c])
