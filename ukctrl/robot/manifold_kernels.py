"""How configurations move, compiled: one table of blocks tells every kernel what a robot has.

A block is what Pinocchio stores of one joint, or of several whose coordinates are plain numbers
(`ukctrl.robot.joint_layout.JointManifold`). A tangent step moves it by the exponential of its
group.
"""

from __future__ import annotations

import math

import numpy as np

from ukctrl.core.arrays import Indices, Matrix, Vector
from ukctrl.core.compiled import compiled, deferred
from ukctrl.robot.twist_kernels import (
    Quaternion,
    Twist,
    bracket,
    exp_quaternion,
    exp_translation,
    log_quaternion,
    log_translation,
    quaternion_conjugate,
    quaternion_product,
    right_jacobian,
    right_jacobian_inverse,
    rotate_by_quaternion,
)

KIND, IQ, IV, NV = range(4)
"""Columns of the table: what kind a block is, its first places in ``q`` and ``v``, freedoms."""
LINE, CIRCLE, PLANAR, SPHERICAL, FREE = range(5)
"""Plain numbers; (cos, sin); (x, y, cos, sin); a quaternion (x, y, z, w); a place and that."""
NOT_UNIT = 1e-3
"""A quaternion or a (cos, sin) pair off unit length by more is none."""
UNIT = 1e-15
"""Numbers whose squares add up to 1 within this have unit length: more is rounding's alone."""


@compiled
def twist(kind: int, iv: int, v: Vector) -> Twist:
    """Return the velocity of a planar, spherical or free block as a twist."""
    if kind == PLANAR:
        return (v[iv], v[iv + 1], 0.0), (0.0, 0.0, v[iv + 2])
    if kind == SPHERICAL:
        return (0.0, 0.0, 0.0), (v[iv], v[iv + 1], v[iv + 2])
    return (v[iv], v[iv + 1], v[iv + 2]), (v[iv + 3], v[iv + 4], v[iv + 5])


@compiled
def write_twist(kind: int, iv: int, velocity: Twist, out: Vector) -> None:
    """Write a twist as the velocity of such a block."""
    linear, angular = velocity
    if kind == PLANAR:
        out[iv], out[iv + 1], out[iv + 2] = linear[0], linear[1], angular[2]
        return
    if kind == FREE:
        out[iv], out[iv + 1], out[iv + 2] = linear[0], linear[1], linear[2]
        iv += 3
    out[iv], out[iv + 1], out[iv + 2] = angular[0], angular[1], angular[2]


@compiled
def quaternion(at: int, q: Vector) -> Quaternion:
    """Return the four numbers from a place on."""
    return q[at], q[at + 1], q[at + 2], q[at + 3]


@compiled
def write_angle(c: float, s: float, angle: float, at: int, out: Vector) -> None:
    """Write cosine and sine after a turn from those before; the last factor keeps them unit."""
    co, si = math.cos(angle), math.sin(angle)
    x, y = co * c - si * s, si * c + co * s
    scale = (3.0 - (x * x + y * y)) / 2.0
    out[at], out[at + 1] = x * scale, y * scale


@compiled
def angle_between(c0: float, s0: float, c1: float, s1: float) -> float:
    """Return the angle between two (cos, sin) pairs; half a turn counts as positive."""
    return math.atan2((c0 * s1 - s0 * c1) + 0.0, c0 * c1 + s0 * s1)


@compiled
def configuration_from_angles(blocks: Indices, angles: Vector, out: Vector) -> None:
    """Write the configuration of joints of one freedom at their angles or positions."""
    for k in range(len(blocks)):
        kind, iq, iv = blocks[k, KIND], blocks[k, IQ], blocks[k, IV]
        if kind == CIRCLE:
            out[iq], out[iq + 1] = math.cos(angles[iv]), math.sin(angles[iv])
        else:
            for i in range(blocks[k, NV]):
                out[iq + i] = angles[iv + i]


@deferred
def integrate(blocks: Indices, q: Vector, dv: Vector, out: Vector) -> None:
    """Write the configuration reached from ``q`` by a tangent step; ``out`` may be ``q``."""
    for k in range(len(blocks)):
        kind, iq, iv = blocks[k, KIND], blocks[k, IQ], blocks[k, IV]
        if kind == LINE:
            for i in range(blocks[k, NV]):
                out[iq + i] = q[iq + i] + dv[iv + i]
        elif kind == CIRCLE:
            write_angle(q[iq], q[iq + 1], dv[iv], iq, out)
        else:
            integrate_group(kind, iq, iv, q, dv, out)


@deferred
def integrate_group(kind: int, iq: int, iv: int, q: Vector, dv: Vector, out: Vector) -> None:
    """Write the configuration a tangent step ahead, of a planar, spherical or free block."""
    if kind == PLANAR:
        x, y, _ = exp_translation(twist(kind, iv, dv))
        c, s = q[iq + 2], q[iq + 3]
        out[iq], out[iq + 1] = c * x - s * y + q[iq], s * x + c * y + q[iq + 1]
        write_angle(c, s, dv[iv + 2], iq + 2, out)
        return
    at = iq + 3 if kind == FREE else iq
    step, orientation = twist(kind, iv, dv), quaternion(at, q)
    if kind == FREE:
        moved = rotate_by_quaternion(orientation, exp_translation(step))
        for i in range(3):
            out[iq + i] = moved[i] + q[iq + i]
    x, y, z, w = quaternion_product(orientation, exp_quaternion(step[1]))
    scale = (3.0 - (x * x + y * y + z * z + w * w)) / 2.0  # keeps them unit
    if (
        kind == FREE
        and x * orientation[0] + y * orientation[1] + z * orientation[2] + w * orientation[3] < 0.0
    ):
        scale = -scale
    out[at], out[at + 1], out[at + 2] = x * scale, y * scale, z * scale
    out[at + 3] = w * scale


@deferred
def difference(blocks: Indices, q0: Vector, q1: Vector, out: Vector) -> None:
    """Write the tangent step from one configuration to another, of at most half a turn each."""
    for k in range(len(blocks)):
        kind, iq, iv = blocks[k, KIND], blocks[k, IQ], blocks[k, IV]
        if kind == LINE:
            for i in range(blocks[k, NV]):
                out[iv + i] = q1[iq + i] - q0[iq + i]
        elif kind == CIRCLE:
            out[iv] = angle_between(q0[iq], q0[iq + 1], q1[iq], q1[iq + 1])
        else:
            difference_in_group(kind, iq, iv, q0, q1, out)


@deferred
def difference_in_group(kind: int, iq: int, iv: int, q0: Vector, q1: Vector, out: Vector) -> None:
    """Write the tangent step between configurations of a planar, spherical or free block."""
    if kind == PLANAR:
        c, s = q0[iq + 2], q0[iq + 3]
        x, y = q1[iq] - q0[iq], q1[iq + 1] - q0[iq + 1]
        turn = (0.0, 0.0, angle_between(c, s, q1[iq + 2], q1[iq + 3]))
        translation = (c * x + s * y, c * y - s * x, 0.0)
        write_twist(kind, iv, (log_translation(translation, turn), turn), out)
        return
    at = iq + 3 if kind == FREE else iq
    orientation, translation = quaternion(at, q0), (0.0, 0.0, 0.0)
    turn = log_quaternion(orientation, quaternion(at, q1))
    if kind == FREE:
        offset = (q1[iq] - q0[iq], q1[iq + 1] - q0[iq + 1], q1[iq + 2] - q0[iq + 2])
        translation = log_translation(
            rotate_by_quaternion(quaternion_conjugate(orientation), offset), turn
        )
    write_twist(kind, iv, (translation, turn), out)


@compiled
def coordinate_rate(blocks: Indices, q: Vector, v: Vector, out: Vector) -> None:
    """Write ``q_dot`` of the motion with a velocity: the formulas of `JointBlock.rates`."""
    for k in range(len(blocks)):
        kind, iq, iv = blocks[k, KIND], blocks[k, IQ], blocks[k, IV]
        if kind == LINE:
            for i in range(blocks[k, NV]):
                out[iq + i] = v[iv + i]
        elif kind == CIRCLE:
            out[iq], out[iq + 1] = -q[iq + 1] * v[iv], q[iq] * v[iv]
        else:
            coordinate_rate_of_group(kind, iq, iv, q, v, out)


@deferred
def coordinate_rate_of_group(
    kind: int, iq: int, iv: int, q: Vector, v: Vector, out: Vector
) -> None:
    """Write ``q_dot`` of a planar, spherical or free block."""
    if kind == PLANAR:
        c, s, w = q[iq + 2], q[iq + 3], v[iv + 2]
        out[iq], out[iq + 1] = c * v[iv] - s * v[iv + 1], s * v[iv] + c * v[iv + 1]
        out[iq + 2], out[iq + 3] = -s * w, c * w
        return
    at = iq + 3 if kind == FREE else iq
    (linear, w), orientation = twist(kind, iv, v), quaternion(at, q)
    if kind == FREE:
        moved = rotate_by_quaternion(orientation, linear)
        for i in range(3):
            out[iq + i] = moved[i]
    rate = quaternion_product(orientation, (0.5 * w[0], 0.5 * w[1], 0.5 * w[2], 0.0))
    for i in range(4):
        out[at + i] = rate[i]


@compiled
def unit_norm_part(kind: int) -> tuple[int, int]:
    """Return how many numbers of a block go before those of unit length, and how many these are."""
    if kind == CIRCLE:
        return 0, 2
    if kind == PLANAR:
        return 2, 2
    if kind == SPHERICAL:
        return 0, 4
    return (3, 4) if kind == FREE else (0, 0)


@compiled
def has_unit_norms(blocks: Indices, q: Vector) -> bool:
    """Return whether every quaternion and (cos, sin) pair is of unit length within `NOT_UNIT`."""
    for k in range(len(blocks)):
        plain, round_ = unit_norm_part(blocks[k, KIND])
        length, first = 0.0, blocks[k, IQ] + plain
        for i in range(first, first + round_):
            length += q[i] * q[i]
        if round_ > 0 and abs(np.sqrt(length) - 1.0) > NOT_UNIT:
            return False
    return True


@compiled
def normalize(blocks: Indices, q: Vector, out: Vector) -> None:
    """Write ``q`` with quaternions and (cos, sin) pairs of unit length; ``out`` may be ``q``.

    What has been written before stays as it is, to the last bit.
    """
    for k in range(len(blocks)):
        iq = blocks[k, IQ]
        plain, round_ = unit_norm_part(blocks[k, KIND])
        plain = plain if round_ > 0 else blocks[k, NV]
        length = 0.0
        for i in range(iq + plain, iq + plain + round_):
            length += q[i] * q[i]
        length = 1.0 if length == 0.0 or abs(length - 1.0) <= UNIT else np.sqrt(length)
        for i in range(iq, iq + plain):
            out[i] = q[i]
        for i in range(iq + plain, iq + plain + round_):
            out[i] = q[i] / length


@deferred
def chart_rate(blocks: Indices, xi: Vector, v: Vector, out: Vector) -> None:
    r"""Write $\dot\xi = J_r(\xi)^{-1} v$, by which the step $\xi$ changes at a velocity."""
    for k in range(len(blocks)):
        kind, iv = blocks[k, KIND], blocks[k, IV]
        if kind <= CIRCLE:
            for i in range(iv, iv + blocks[k, NV]):
                out[i] = v[i]
            continue
        rate = right_jacobian_inverse(twist(kind, iv, xi), twist(kind, iv, v))
        write_twist(kind, iv, rate, out)


@deferred
def write_tangent_map(blocks: Indices, x: Vector, brackets: bool, out: Matrix) -> None:
    r"""Write the matrix of $J_r(x)$ or that of the bracket $[x, \cdot]$ into zeros.

    Args:
        blocks: The table.
        x: A tangent step or a velocity, shape ``(nv,)``.
        brackets: Whether the bracket is asked for.
        out: The matrix, shape ``(nv, nv)``.
    """
    unit, column = np.zeros(6), np.zeros(6)
    for k in range(len(blocks)):
        kind, iv = blocks[k, KIND], blocks[k, IV]
        if kind <= CIRCLE:
            for i in range(iv, iv + blocks[k, NV]):
                out[i, i] = 0.0 if brackets else 1.0
            continue
        tangent = twist(kind, iv, x)
        for j in range(blocks[k, NV]):
            unit[j] = 1.0
            along = twist(kind, 0, unit)
            unit[j] = 0.0
            along = bracket(tangent, along) if brackets else right_jacobian(tangent, along)
            write_twist(kind, 0, along, column)
            for i in range(blocks[k, NV]):
                out[iv + i, iv + j] = column[i]
