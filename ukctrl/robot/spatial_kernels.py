r"""Rotations, motions, forces and inertias of bodies, compiled, as tuples of numbers.

A motion is $(v, \omega)$ and a force $(f, n)$ about some point, the linear part first. Machine code
keeps tuples in registers, where it must write and read arrays that could be one another.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ukctrl.core.arrays import Matrix
from ukctrl.core.compiled import inlined
from ukctrl.robot.twist_kernels import Three, Twist, cross, plus

Turn = tuple[Three, Three, Three]
"""A rotation matrix, by its rows."""
Inertia = tuple[float, Three, tuple[Three, Three]]
"""Mass, first moment ``m c``, and the inertia about the same point: its diagonal, and its entries
``yz``, ``xz`` and ``xy``."""


@inlined
def three(X: Matrix, k: int) -> Three:
    """Return a row of three numbers."""
    return X[k, 0], X[k, 1], X[k, 2]


@inlined
def write_three(x: Three, X: Matrix, k: int) -> None:
    """Write a row of three numbers."""
    X[k, 0], X[k, 1], X[k, 2] = x[0], x[1], x[2]


@inlined
def six(X: Matrix, k: int) -> Twist:
    """Return a row of six numbers, a motion or a force."""
    return (X[k, 0], X[k, 1], X[k, 2]), (X[k, 3], X[k, 4], X[k, 5])


@inlined
def write_six(x: Twist, X: Matrix, k: int) -> None:
    """Write a row of six numbers."""
    X[k, 0], X[k, 1], X[k, 2] = x[0][0], x[0][1], x[0][2]
    X[k, 3], X[k, 4], X[k, 5] = x[1][0], x[1][1], x[1][2]


@inlined
def turn_at(R: NDArray[np.float64], k: int) -> Turn:
    """Return one rotation of several."""
    return (
        (R[k, 0, 0], R[k, 0, 1], R[k, 0, 2]),
        (R[k, 1, 0], R[k, 1, 1], R[k, 1, 2]),
        (R[k, 2, 0], R[k, 2, 1], R[k, 2, 2]),
    )


@inlined
def turn_in(R: Matrix) -> Turn:
    """Return the rotation of a matrix."""
    return (R[0, 0], R[0, 1], R[0, 2]), (R[1, 0], R[1, 1], R[1, 2]), (R[2, 0], R[2, 1], R[2, 2])


@inlined
def transposed(R: Turn) -> Turn:
    """Return ``R'``."""
    return (R[0][0], R[1][0], R[2][0]), (R[0][1], R[1][1], R[2][1]), (R[0][2], R[1][2], R[2][2])


@inlined
def write_turn(T: Turn, R: NDArray[np.float64], k: int) -> None:
    """Write one rotation of several."""
    R[k, 0, 0], R[k, 0, 1], R[k, 0, 2] = T[0][0], T[0][1], T[0][2]
    R[k, 1, 0], R[k, 1, 1], R[k, 1, 2] = T[1][0], T[1][1], T[1][2]
    R[k, 2, 0], R[k, 2, 1], R[k, 2, 2] = T[2][0], T[2][1], T[2][2]


@inlined
def dot(a: Three, b: Three) -> float:
    """Return ``a . b``."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@inlined
def rotated(R: Turn, x: Three) -> Three:
    """Return ``R x``."""
    return dot(R[0], x), dot(R[1], x), dot(R[2], x)


@inlined
def rotated_back(R: Turn, x: Three) -> Three:
    """Return ``R' x``."""
    return (
        x[0] * R[0][0] + x[1] * R[1][0] + x[2] * R[2][0],
        x[0] * R[0][1] + x[1] * R[1][1] + x[2] * R[2][1],
        x[0] * R[0][2] + x[1] * R[1][2] + x[2] * R[2][2],
    )


@inlined
def composed(A: Turn, B: Turn) -> Turn:
    """Return ``A B``."""
    return rotated_back(B, A[0]), rotated_back(B, A[1]), rotated_back(B, A[2])


@inlined
def both_rotated(R: Turn, x: Twist) -> Twist:
    """Return a motion or a force in other axes."""
    return rotated(R, x[0]), rotated(R, x[1])


@inlined
def both_rotated_back(R: Turn, x: Twist) -> Twist:
    """Return what `both_rotated` makes ``x`` of."""
    return rotated_back(R, x[0]), rotated_back(R, x[1])


@inlined
def about(axis: Three, c: float, s: float) -> Turn:
    """Return the rotation about a unit axis by an angle of this cosine and sine."""
    x, y, z = axis[0], axis[1], axis[2]
    xy, yz, zx = x * y * (1.0 - c), y * z * (1.0 - c), z * x * (1.0 - c)
    return (
        (c + x * x * (1.0 - c), xy - z * s, zx + y * s),
        (xy + z * s, c + y * y * (1.0 - c), yz - x * s),
        (zx - y * s, yz + x * s, c + z * z * (1.0 - c)),
    )


@inlined
def of_quaternion(x: float, y: float, z: float, w: float) -> Turn:
    """Return the rotation of a unit quaternion."""
    return (
        (1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - z * w), 2.0 * (x * z + y * w)),
        (2.0 * (x * y + z * w), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - x * w)),
        (2.0 * (x * z - y * w), 2.0 * (y * z + x * w), 1.0 - 2.0 * (x * x + y * y)),
    )


@inlined
def motion_at(x: Twist, p: Three) -> Twist:
    """Return a motion about a point that is ``p`` away."""
    return plus(x[0], 1.0, cross(x[1], p)), x[1]


@inlined
def force_from(f: Twist, p: Three) -> Twist:
    """Return the force about here of one about a point that is ``p`` away."""
    return f[0], plus(f[1], 1.0, cross(p, f[0]))


@inlined
def power(x: Twist, f: Twist) -> float:
    """Return the power of a force along a motion."""
    return dot(x[0], f[0]) + dot(x[1], f[1])


@inlined
def body(Y: Matrix, k: int) -> Inertia:
    """Return an inertia of several; see `ukctrl.robot.tree_kernels.Tree`."""
    diagonal, beside = (Y[k, 4], Y[k, 6], Y[k, 9]), (Y[k, 8], Y[k, 7], Y[k, 5])
    return Y[k, 0], (Y[k, 1], Y[k, 2], Y[k, 3]), (diagonal, beside)


@inlined
def write_body(inertia: Inertia, Y: Matrix, k: int) -> None:
    """Write an inertia of several."""
    m, h, (d, o) = inertia
    Y[k, 0], Y[k, 1], Y[k, 2], Y[k, 3] = m, h[0], h[1], h[2]
    Y[k, 4], Y[k, 5], Y[k, 6], Y[k, 7], Y[k, 8], Y[k, 9] = d[0], o[2], d[1], o[1], o[0], d[2]


@inlined
def unit_body(number: int) -> Inertia:
    """Return the inertia of which one of the ten numbers is one, and all others zero."""
    n = number
    h = (1.0 * (n == 1), 1.0 * (n == 2), 1.0 * (n == 3))
    diagonal = (1.0 * (n == 4), 1.0 * (n == 6), 1.0 * (n == 9))
    return 1.0 * (n == 0), h, (diagonal, (1.0 * (n == 8), 1.0 * (n == 7), 1.0 * (n == 5)))


@inlined
def angular(inertia: Inertia, w: Three) -> Three:
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
    return plus(cross(w, h), m, v), plus(angular(inertia, w), 1.0, cross(h, v))


@inlined
def momentum_of_turning(inertia: Inertia, w: Three) -> Twist:
    """Return the momentum of a body that turns about its point."""
    return cross(w, inertia[1]), angular(inertia, w)


@inlined
def force_of(inertia: Inertia, acceleration: Twist, velocity: Twist) -> Twist:
    r"""Return the force that moves a body so.

    With $a$, $\alpha$ of the acceleration, $v$, $\omega$ of the velocity, and what the point itself
    feels, $a_p = a + \omega \times v$:
    $f = m a_p + \alpha \times h + \omega \times (\omega \times h)$ and
    $n = I \alpha + \omega \times I \omega + h \times a_p$.
    """
    m, h, _ = inertia
    v, w = velocity
    felt = plus(acceleration[0], 1.0, cross(w, v))
    push = plus(plus(cross(acceleration[1], h), m, felt), 1.0, cross(w, cross(w, h)))
    turn = plus(angular(inertia, acceleration[1]), 1.0, cross(w, angular(inertia, w)))
    return push, plus(turn, 1.0, cross(h, felt))


@inlined
def rotated_body(R: Turn, inertia: Inertia) -> Inertia:
    """Return an inertia in other axes."""
    m, h, (d, o) = inertia
    rows = ((d[0], o[2], o[1]), (o[2], d[1], o[0]), (o[1], o[0], d[2]))
    x, y, z = rotated(rows, R[0]), rotated(rows, R[1]), rotated(rows, R[2])
    diagonal = (dot(R[0], x), dot(R[1], y), dot(R[2], z))
    return m, rotated(R, h), (diagonal, (dot(R[1], z), dot(R[0], z), dot(R[0], y)))


@inlined
def body_from(inertia: Inertia, p: Three) -> Inertia:
    """Return the inertia about here of one about a point that is ``p`` away.

    ``I + (2 h.p + m p.p) 1 - h p' - p h' - m p p'``.
    """
    m, h, (d, o) = inertia
    g, along = plus(h, m, p), 2.0 * dot(h, p) + m * dot(p, p)
    diagonal = (
        d[0] + along - (h[0] * p[0] + p[0] * g[0]),
        d[1] + along - (h[1] * p[1] + p[1] * g[1]),
        d[2] + along - (h[2] * p[2] + p[2] * g[2]),
    )
    beside = (
        o[0] - (h[1] * p[2] + p[1] * g[2]),
        o[1] - (h[0] * p[2] + p[0] * g[2]),
        o[2] - (h[0] * p[1] + p[0] * g[1]),
    )
    return m, g, (diagonal, beside)


@inlined
def body_sum(a: Inertia, b: Inertia) -> Inertia:
    """Return the inertia of two bodies together."""
    own = plus(a[2][0], 1.0, b[2][0]), plus(a[2][1], 1.0, b[2][1])
    return a[0] + b[0], plus(a[1], 1.0, b[1]), own
