r"""Rotations, motions, forces and inertias of bodies, compiled, as tuples of numbers.

A motion is $(v, \omega)$ and a force $(f, n)$ about some point, the linear part first. Machine code
keeps tuples in registers, where it must write and read arrays that could be one another.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ukctrl.core.arrays import Matrix
from ukctrl.core.compiled import inlined
from ukctrl.robot.twist_kernels import Triple, Twist, add_scaled, cross

Rotation = tuple[Triple, Triple, Triple]
"""A rotation matrix, by its rows."""
Inertia = tuple[float, Triple, tuple[Triple, Triple]]
"""Mass, first moment ``m c``, and the inertia about the same point: its diagonal, and its entries
``yz``, ``xz`` and ``xy``."""


@inlined
def row3(X: Matrix, k: int) -> Triple:
    """Return a row of three numbers."""
    return X[k, 0], X[k, 1], X[k, 2]


@inlined
def write_row3(x: Triple, X: Matrix, k: int) -> None:
    """Write a row of three numbers."""
    X[k, 0], X[k, 1], X[k, 2] = x[0], x[1], x[2]


@inlined
def row6(X: Matrix, k: int) -> Twist:
    """Return a row of six numbers, a motion or a force."""
    return (X[k, 0], X[k, 1], X[k, 2]), (X[k, 3], X[k, 4], X[k, 5])


@inlined
def write_row6(x: Twist, X: Matrix, k: int) -> None:
    """Write a row of six numbers."""
    X[k, 0], X[k, 1], X[k, 2] = x[0][0], x[0][1], x[0][2]
    X[k, 3], X[k, 4], X[k, 5] = x[1][0], x[1][1], x[1][2]


@inlined
def rotation_at(R: NDArray[np.float64], k: int) -> Rotation:
    """Return one rotation of several."""
    return (
        (R[k, 0, 0], R[k, 0, 1], R[k, 0, 2]),
        (R[k, 1, 0], R[k, 1, 1], R[k, 1, 2]),
        (R[k, 2, 0], R[k, 2, 1], R[k, 2, 2]),
    )


@inlined
def rotation_of(R: Matrix) -> Rotation:
    """Return the rotation of a matrix."""
    return (R[0, 0], R[0, 1], R[0, 2]), (R[1, 0], R[1, 1], R[1, 2]), (R[2, 0], R[2, 1], R[2, 2])


@inlined
def transposed(R: Rotation) -> Rotation:
    """Return ``R'``."""
    return (R[0][0], R[1][0], R[2][0]), (R[0][1], R[1][1], R[2][1]), (R[0][2], R[1][2], R[2][2])


@inlined
def write_rotation(T: Rotation, R: NDArray[np.float64], k: int) -> None:
    """Write one rotation of several."""
    R[k, 0, 0], R[k, 0, 1], R[k, 0, 2] = T[0][0], T[0][1], T[0][2]
    R[k, 1, 0], R[k, 1, 1], R[k, 1, 2] = T[1][0], T[1][1], T[1][2]
    R[k, 2, 0], R[k, 2, 1], R[k, 2, 2] = T[2][0], T[2][1], T[2][2]


@inlined
def dot(a: Triple, b: Triple) -> float:
    """Return ``a . b``."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@inlined
def rotate(R: Rotation, x: Triple) -> Triple:
    """Return ``R x``."""
    return dot(R[0], x), dot(R[1], x), dot(R[2], x)


@inlined
def rotate_back(R: Rotation, x: Triple) -> Triple:
    """Return ``R' x``."""
    return (
        x[0] * R[0][0] + x[1] * R[1][0] + x[2] * R[2][0],
        x[0] * R[0][1] + x[1] * R[1][1] + x[2] * R[2][1],
        x[0] * R[0][2] + x[1] * R[1][2] + x[2] * R[2][2],
    )


@inlined
def composed(A: Rotation, B: Rotation) -> Rotation:
    """Return ``A B``."""
    return rotate_back(B, A[0]), rotate_back(B, A[1]), rotate_back(B, A[2])


@inlined
def rotate_spatial(R: Rotation, x: Twist) -> Twist:
    """Return a motion or a force in other axes."""
    return rotate(R, x[0]), rotate(R, x[1])


@inlined
def rotate_spatial_back(R: Rotation, x: Twist) -> Twist:
    """Return what `rotate_spatial` makes ``x`` of."""
    return rotate_back(R, x[0]), rotate_back(R, x[1])


@inlined
def axis_rotation(axis: Triple, c: float, s: float) -> Rotation:
    """Return the rotation about a unit axis by an angle of this cosine and sine."""
    x, y, z = axis[0], axis[1], axis[2]
    xy, yz, zx = x * y * (1.0 - c), y * z * (1.0 - c), z * x * (1.0 - c)
    return (
        (c + x * x * (1.0 - c), xy - z * s, zx + y * s),
        (xy + z * s, c + y * y * (1.0 - c), yz - x * s),
        (zx - y * s, yz + x * s, c + z * z * (1.0 - c)),
    )


@inlined
def quaternion_rotation(x: float, y: float, z: float, w: float) -> Rotation:
    """Return the rotation of a unit quaternion."""
    return (
        (1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - z * w), 2.0 * (x * z + y * w)),
        (2.0 * (x * y + z * w), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - x * w)),
        (2.0 * (x * z - y * w), 2.0 * (y * z + x * w), 1.0 - 2.0 * (x * x + y * y)),
    )


@inlined
def shift_motion(x: Twist, p: Triple) -> Twist:
    """Return a motion about a point that is ``p`` away."""
    return add_scaled(x[0], 1.0, cross(x[1], p)), x[1]


@inlined
def shift_force(f: Twist, p: Triple) -> Twist:
    """Return the force about here of one about a point that is ``p`` away."""
    return f[0], add_scaled(f[1], 1.0, cross(p, f[0]))


@inlined
def power(x: Twist, f: Twist) -> float:
    """Return the power of a force along a motion."""
    return dot(x[0], f[0]) + dot(x[1], f[1])


@inlined
def inertia_at(Y: Matrix, k: int) -> Inertia:
    """Return an inertia of several; see `ukctrl.robot.rigid.tree_kernels.KinematicTree`."""
    diagonal, off_diagonal = (Y[k, 4], Y[k, 6], Y[k, 9]), (Y[k, 8], Y[k, 7], Y[k, 5])
    return Y[k, 0], (Y[k, 1], Y[k, 2], Y[k, 3]), (diagonal, off_diagonal)


@inlined
def write_inertia(inertia: Inertia, Y: Matrix, k: int) -> None:
    """Write an inertia of several."""
    m, h, (d, o) = inertia
    Y[k, 0], Y[k, 1], Y[k, 2], Y[k, 3] = m, h[0], h[1], h[2]
    Y[k, 4], Y[k, 5], Y[k, 6], Y[k, 7], Y[k, 8], Y[k, 9] = d[0], o[2], d[1], o[1], o[0], d[2]


@inlined
def unit_inertia(number: int) -> Inertia:
    """Return the inertia of which one of the ten numbers is one, and all others zero."""
    n = number
    h = (1.0 * (n == 1), 1.0 * (n == 2), 1.0 * (n == 3))
    diagonal = (1.0 * (n == 4), 1.0 * (n == 6), 1.0 * (n == 9))
    return 1.0 * (n == 0), h, (diagonal, (1.0 * (n == 8), 1.0 * (n == 7), 1.0 * (n == 5)))


@inlined
def rotational_momentum(inertia: Inertia, w: Triple) -> Triple:
    """Return the product of the inertia about its point and an angular velocity."""
    d, o = inertia[2]
    return (
        d[0] * w[0] + o[2] * w[1] + o[1] * w[2],
        o[2] * w[0] + d[1] * w[1] + o[0] * w[2],
        o[1] * w[0] + o[0] * w[1] + d[2] * w[2],
    )


@inlined
def momentum(inertia: Inertia, x: Twist) -> Twist:
    """Return the momentum of a body that moves."""
    m, h, _ = inertia
    v, w = x
    return add_scaled(cross(w, h), m, v), add_scaled(
        rotational_momentum(inertia, w), 1.0, cross(h, v)
    )


@inlined
def momentum_of_rotation(inertia: Inertia, w: Triple) -> Twist:
    """Return the momentum of a body that turns about its point."""
    return cross(w, inertia[1]), rotational_momentum(inertia, w)


@inlined
def newton_euler_force(inertia: Inertia, acceleration: Twist, velocity: Twist) -> Twist:
    r"""Return the force that moves a body so.

    With $a$, $\alpha$ of the acceleration, $v$, $\omega$ of the velocity, and what the point itself
    feels, $a_p = a + \omega \times v$:
    $f = m a_p + \alpha \times h + \omega \times (\omega \times h)$ and
    $n = I \alpha + \omega \times I \omega + h \times a_p$.
    """
    m, h, _ = inertia
    v, w = velocity
    felt = add_scaled(acceleration[0], 1.0, cross(w, v))
    push = add_scaled(add_scaled(cross(acceleration[1], h), m, felt), 1.0, cross(w, cross(w, h)))
    turn = add_scaled(
        rotational_momentum(inertia, acceleration[1]),
        1.0,
        cross(w, rotational_momentum(inertia, w)),
    )
    return push, add_scaled(turn, 1.0, cross(h, felt))


@inlined
def rotate_inertia(R: Rotation, inertia: Inertia) -> Inertia:
    """Return an inertia in other axes."""
    m, h, (d, o) = inertia
    rows = ((d[0], o[2], o[1]), (o[2], d[1], o[0]), (o[1], o[0], d[2]))
    x, y, z = rotate(rows, R[0]), rotate(rows, R[1]), rotate(rows, R[2])
    diagonal = (dot(R[0], x), dot(R[1], y), dot(R[2], z))
    return m, rotate(R, h), (diagonal, (dot(R[1], z), dot(R[0], z), dot(R[0], y)))


@inlined
def shift_inertia(inertia: Inertia, p: Triple) -> Inertia:
    """Return the inertia about here of one about a point that is ``p`` away.

    ``I + (2 h.p + m p.p) 1 - h p' - p h' - m p p'``.
    """
    m, h, (d, o) = inertia
    g, along = add_scaled(h, m, p), 2.0 * dot(h, p) + m * dot(p, p)
    diagonal = (
        d[0] + along - (h[0] * p[0] + p[0] * g[0]),
        d[1] + along - (h[1] * p[1] + p[1] * g[1]),
        d[2] + along - (h[2] * p[2] + p[2] * g[2]),
    )
    off_diagonal = (
        o[0] - (h[1] * p[2] + p[1] * g[2]),
        o[1] - (h[0] * p[2] + p[0] * g[2]),
        o[2] - (h[0] * p[1] + p[0] * g[1]),
    )
    return m, g, (diagonal, off_diagonal)


@inlined
def add_inertias(a: Inertia, b: Inertia) -> Inertia:
    """Return the inertia of two bodies together."""
    tensor = add_scaled(a[2][0], 1.0, b[2][0]), add_scaled(a[2][1], 1.0, b[2][1])
    return a[0] + b[0], add_scaled(a[1], 1.0, b[1]), tensor
