"""How frames move, compiled: the arithmetic under every constraint that names a frame.

``Jt`` and ``dJt`` are the transposed world Jacobian of the joints and its time derivative,
shape ``(nv, 6)``, linear part first and taken at the world origin; `Snapshot` owns them, and the
poses of all joints. All that a frame needs follows from them, its place on its joint, and the
``columns`` of the joints that move it.
"""

from __future__ import annotations

import numpy as np

from ukctrl.core.algebra.factorisation import NEGLIGIBLE_RTOL
from ukctrl.core.arrays import Indices, Matrix, Vector
from ukctrl.core.compiled import allocating, compiled, inlined
from ukctrl.robot.frame_site import JointKinematics
from ukctrl.robot.snapshot import FrameMotion
from ukctrl.robot.spatial_kernels import (
    Rotation,
    composed,
    dot,
    rotate,
    rotate_back,
    rotation_at,
    rotation_of,
    row3,
    row6,
    shift_motion,
    transposed,
)
from ukctrl.robot.twist_kernels import Triple, Twist, add_scaled, add_scaled_twist
from ukctrl.robot.twist_kernels import cross as cross_of


@compiled
def write_cross(a: Vector, b: Vector, out: Vector) -> None:
    """Write ``a x b``."""
    out[0] = a[1] * b[2] - a[2] * b[1]
    out[1] = a[2] * b[0] - a[0] * b[2]
    out[2] = a[0] * b[1] - a[1] * b[0]


@inlined
def zero_if_rounding(total: float, terms: float) -> float:
    """Return an entry of a row, or 0 where it is only rounding beside the size of its ``terms``.

    A row that holds by itself, as those across the plane of a mechanism do, is then zero however
    the plane is turned, and whatever the units: neither can be told from the row alone.
    """
    return 0.0 if abs(total) <= NEGLIGIBLE_RTOL * terms else total


@inlined
def without_rounding(x: Triple) -> Triple:
    """Return a column of a Jacobian, without the entries that are rounding beside the others."""
    size = abs(x[0]) + abs(x[1]) + abs(x[2])
    return (
        zero_if_rounding(x[0], size),
        zero_if_rounding(x[1], size),
        zero_if_rounding(x[2], size),
    )


@inlined
def size_of(x: Vector) -> float:
    """Return the sum of the sizes of three entries."""
    return float(abs(x[0]) + abs(x[1]) + abs(x[2]))


@compiled
def clear_drift(A: Matrix, size: float, drift: Vector) -> None:
    """Set the drift of rows that are zero to zero too where it is rounding beside a ``size``.

    That of a row which is zero at one moment alone is not: a stretched arm has its centripetal one.
    """
    for i in range(len(drift)):
        if not A[i].any():
            drift[i] = zero_if_rounding(drift[i], size)


@inlined
def axis_component(axis: Vector, J: Matrix, first: int, c: int) -> float:
    """Return the component along an axis of the three entries of a column from ``first`` on."""
    x, y, z = axis[0] * J[first, c], axis[1] * J[first + 1, c], axis[2] * J[first + 2, c]
    return zero_if_rounding(x + y + z, abs(x) + abs(y) + abs(z))


@inlined
def point_position(joints: JointKinematics, joint: int, local: Vector) -> Triple:
    """Return where a point that is fixed on a joint is in the world."""
    arm = rotate(rotation_at(joints.rotations, joint), (local[0], local[1], local[2]))
    return add_scaled(row3(joints.translations, joint), 1.0, arm)


@inlined
def frame_twist(joints: JointKinematics, columns: Indices, p: Triple) -> tuple[Twist, Twist]:
    r"""Return the motion of a frame about its origin ``p``, and its classical drift.

    Of twists at the world's origin: $\dot p = v_O + \omega \times p$, and at $a = 0$
    $\ddot p = a_O + \dot\omega \times p + \omega \times \dot p$.
    """
    velocity = drift = ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
    for c in columns:
        velocity = add_scaled_twist(velocity, joints.v[c], row6(joints.Jt, c))
        drift = add_scaled_twist(drift, joints.v[c], row6(joints.dJt, c))
    velocity, drift = shift_motion(velocity, p), shift_motion(drift, p)
    return velocity, (add_scaled(drift[0], 1.0, cross_of(velocity[1], velocity[0])), drift[1])


@compiled
def point_rows(
    joints: JointKinematics,
    joint: int,
    local: Vector,
    columns: Indices,
    axes: Indices,
    reference: Vector,
    p: Vector,
    rows: tuple[Matrix, Vector, Vector, Vector],
) -> None:
    """Write the rows ``p(q) - r(t) = 0`` of a point on a body, for the chosen world axes, and p."""
    A, b, beta, phi = rows
    position, count = point_position(joints, joint, local), len(axes)
    velocity, drift = frame_twist(joints, columns, position)
    for c in columns:
        column = without_rounding(shift_motion(row6(joints.Jt, c), position)[0])
        for row in range(count):
            A[row, c] = column[axes[row]]
    for row in range(count):
        i = axes[row]
        phi[row] = position[i] - reference[row]
        beta[row] = velocity[0][i] - reference[count + row]
        b[row] = reference[2 * count + row] - drift[0][i]
    p[0], p[1], p[2] = position[0], position[1], position[2]


@compiled
def frame_motion(
    joints: JointKinematics,
    joint: int,
    local_rotation: Matrix,
    local: Vector,
    columns: Indices,
    frame: FrameMotion,
) -> None:
    """Write how a frame is placed and moves.

    Columns of ``J`` that belong to joints that do not move it are left alone.
    """
    p, R, J, velocity, drift = frame
    position = point_position(joints, joint, local)
    turn = composed(rotation_at(joints.rotations, joint), rotation_of(local_rotation))
    speed, change = frame_twist(joints, columns, position)
    for c in columns:
        column = shift_motion(row6(joints.Jt, c), position)
        moving, turning = without_rounding(column[0]), without_rounding(column[1])
        for i in range(3):
            J[i, c], J[3 + i, c] = moving[i], turning[i]
    for i in range(3):
        p[i], R[i, 0], R[i, 1], R[i, 2] = position[i], turn[i][0], turn[i][1], turn[i][2]
        velocity[i], velocity[3 + i] = speed[0][i], speed[1][i]
        drift[i], drift[3 + i] = change[0][i], change[1][i]


@compiled
def orientation_rows(
    moving: tuple[Matrix, Matrix, Vector, Vector],
    target: tuple[Matrix, Vector, Vector],
    rows: tuple[Matrix, Vector, Vector, Vector],
) -> None:
    r"""Write the rows that turn a frame into the orientation ``R_d(t)``.

    ``moving`` are its rotation, Jacobian, angular velocity and drift, ``target`` the orientation,
    angular velocity and acceleration.

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
    (R, J, omega, alpha), (R_d, omega_d, alpha_d), (A, b, beta, phi) = moving, target, rows
    turn, zero = rotation_of(R), (0.0, 0.0, 0.0)
    spin = (omega[0], omega[1], omega[2])
    faster = add_scaled(spin, -1.0, (omega_d[0], omega_d[1], omega_d[2]))
    change = (alpha[0] - alpha_d[0], alpha[1] - alpha_d[1], alpha[2] - alpha_d[2])
    w, body = rotate_back(turn, faster), rotate_back(turn, spin)
    # w is in turning axes: w' = R' (alpha - alpha_d) - body x w
    rate = add_scaled(rotate_back(turn, change), -1.0, cross_of(body, w))
    eta, epsilon = quaternion(composed(transposed(rotation_of(R_d)), turn))
    sigma = add_scaled(zero, 1.0 / (1.0 + eta), epsilon)
    T = rodrigues_rate(sigma)
    moved = rotate(T, w)
    sigma_dot = add_scaled(zero, 0.25, moved)
    # T_dot w + T rate
    drift = add_scaled(cross_of(sigma_dot, w), -dot(sigma, sigma_dot), w)
    drift = add_scaled(add_scaled(drift, dot(sigma, w), sigma_dot), dot(sigma_dot, w), sigma)
    drift = add_scaled(rotate(T, rate), 2.0, drift)
    for i in range(3):
        phi[i], beta[i], b[i] = 4.0 * sigma[i], moved[i], -drift[i]
    across = composed(T, transposed(turn))
    for c in range(A.shape[1]):
        column = without_rounding(rotate(across, (J[3, c], J[4, c], J[5, c])))
        A[0, c], A[1, c], A[2, c] = column[0], column[1], column[2]
    speed = size_of(omega) + size_of(omega_d)
    clear_drift(A, speed * speed + size_of(alpha) + size_of(alpha_d), b)


@inlined
def rodrigues_rate(sigma: Triple) -> Rotation:
    """Return the matrix of ``4 sigma_dot = T w``, with the angular velocity in the turned axes."""
    x, y, z = sigma[0], sigma[1], sigma[2]
    diagonal = 1.0 - dot(sigma, sigma)
    return (
        (diagonal + 2.0 * x * x, 2.0 * (x * y - z), 2.0 * (x * z + y)),
        (2.0 * (y * x + z), diagonal + 2.0 * y * y, 2.0 * (y * z - x)),
        (2.0 * (z * x - y), 2.0 * (z * y + x), diagonal + 2.0 * z * z),
    )


@inlined
def quaternion(E: Rotation) -> tuple[float, Triple]:
    """Return the unit quaternion of a rotation, real part first and not negative.

    The largest of the four squared components is computed first (Shepperd 1978), so no
    division by a small number occurs.
    """
    x, y, z = E[0][0], E[1][1], E[2][2]
    odd = (E[2][1] - E[1][2], E[0][2] - E[2][0], E[1][0] - E[0][1])
    even = (E[2][1] + E[1][2], E[0][2] + E[2][0], E[1][0] + E[0][1])
    if x + y + z >= max(x, y, z):
        eta = 0.5 * np.sqrt(max(0.0, 1.0 + x + y + z))
        return eta, add_scaled((0.0, 0.0, 0.0), 0.25 / eta, odd)
    # The largest takes the sign that leaves the real part not negative.
    if x >= y and x >= z:
        e = np.copysign(0.5 * np.sqrt(max(0.0, 1.0 + x - y - z)), odd[0])
        return odd[0] * 0.25 / e, (e, even[2] * 0.25 / e, even[1] * 0.25 / e)
    if y >= z:
        e = np.copysign(0.5 * np.sqrt(max(0.0, 1.0 + y - z - x)), odd[1])
        return odd[1] * 0.25 / e, (even[2] * 0.25 / e, e, even[0] * 0.25 / e)
    e = np.copysign(0.5 * np.sqrt(max(0.0, 1.0 + z - x - y)), odd[2])
    return odd[2] * 0.25 / e, (even[1] * 0.25 / e, even[0] * 0.25 / e, e)


@allocating
def relative_motion(
    a: FrameMotion, b: FrameMotion, x: Vector, x_dot: Vector, x_drift: Vector, A: Matrix
) -> None:
    r"""Write position, velocity, drift and Jacobian of point b as seen in the moving frame a.

    With $y = p_b - p_a$: $x = R_a^\top y$, $\dot x = R_a^\top(\dot y - \omega_a \times y)$,
    $\ddot x = R_a^\top(\ddot y - \alpha_a \times y - 2\omega_a \times \dot y
    + \omega_a \times (\omega_a \times y))$.
    """
    (p_a, R_a, J_a, v_a, drift_a), (p_b, _, J_b, v_b, drift_b) = a, b
    y = p_b - p_a
    y_dot = v_b[:3] - v_a[:3]
    omega, distance = v_a[3:], abs(y[0]) + abs(y[1]) + abs(y[2])
    t1, t2, t3, t4 = np.empty(3), np.empty(3), np.empty(3), np.empty(3)
    write_cross(omega, y, t1)
    write_cross(drift_a[3:], y, t2)
    write_cross(omega, y_dot, t3)
    write_cross(omega, t1, t4)
    for i in range(3):
        x[i] = 0.0
        x_dot[i] = 0.0
        x_drift[i] = 0.0
        for k in range(3):
            x[i] += R_a[k, i] * y[k]
            x_dot[i] += R_a[k, i] * (y_dot[k] - t1[k])
            x_drift[i] += R_a[k, i] * (drift_b[k] - drift_a[k] - t2[k] - 2.0 * t3[k] + t4[k])
        for c in range(A.shape[1]):
            total, terms = 0.0, 0.0
            for k in range(3):
                # omega x y column by column, without arrays for it
                m, n = (k + 1) % 3, (k + 2) % 3
                turning = J_a[3 + m, c] * y[n] - J_a[3 + n, c] * y[m]
                total += R_a[k, i] * (J_b[k, c] - J_a[k, c] - turning)
                terms += abs(J_b[k, c]) + abs(J_a[k, c]) + abs(J_a[3 + k, c]) * distance
            A[i, c] = zero_if_rounding(total, terms)
    turning = size_of(omega) * (size_of(omega) * distance + 2.0 * size_of(y_dot))
    moving = size_of(drift_b) + size_of(drift_a) + size_of(drift_a[3:]) * distance
    clear_drift(A, turning + moving, x_drift)


@compiled
def relative_jacobian_rows(
    R: Matrix, J_a: Matrix, J_b: Matrix, along: Indices, out: Matrix
) -> None:
    """Write some components of ``J_b - J_a`` in the axes that are the columns of ``R``."""
    for row in range(len(along)):
        i = along[row]
        for c in range(out.shape[1]):
            out[row, c] = 0.0
            for k in range(3):
                out[row, c] += R[k, i] * (J_b[k, c] - J_a[k, c])
