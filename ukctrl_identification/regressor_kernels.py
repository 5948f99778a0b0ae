r"""Rows of the equation that is linear in inertial parameters, many samples at a time, compiled.

With $s$ the motion that one velocity gives a body, in the axes of its joint, $a$ the acceleration
of the joint's origin against gravity, and $\omega$, $\dot\omega$ the body's turning, that velocity
feels of a body

$$ s_v \cdot (m\,a + \dot\omega \times h + \omega \times (\omega \times h))
   + s_\omega \cdot (h \times a + I \dot\omega + \omega \times I \omega), $$

linear in $m$, $h = m c$ and the entries of $I$ about the origin (Atkeson, An & Hollerbach 1986).

Each number is stored of `LANES` samples, side by side, so that a processor handles several of them
with one instruction; loops over samples are innermost and short for that.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ukctrl.core.arrays import Indices, Matrix, Vector
from ukctrl.core.compiled import compiled, inlined
from ukctrl.robot.rigid.tree_kernels import (
    IQ,
    IV,
    KIND,
    NV,
    PARENT,
    REVOLUTE_X,
    KinematicTree,
    joint_transform,
    rotate_about_axis,
)
from ukctrl.robot.spatial_kernels import (
    Rotation,
    composed,
    dot,
    rotate,
    rotate_spatial_back,
    rotation_at,
    row3,
    row6,
    shift_motion,
)
from ukctrl.robot.twist_kernels import Triple, Twist, add_scaled, add_scaled_twist, bracket, cross

PARAMETERS = 10
"""Inertial parameters of a body."""
LANES = 64
"""Samples side by side."""
ROTATION, OFFSET, VELOCITY, ACCELERATION, ORIGIN, OWN_V, OWN_A, NUMBERS = (
    0,
    9,
    12,
    18,
    24,
    27,
    33,
    39,
)
"""Where a joint's numbers begin: its place in its parent's frame, its velocity and acceleration
against gravity, its origin's acceleration, what its own velocities and accelerations are."""


class RowBuffers(NamedTuple):
    """What the recursion writes, in the axes of each joint; 0 is the world."""

    joints: Matrix
    """`NUMBERS` of each joint, shape ``(joints, 39 LANES)``."""
    axes: NDArray[np.float64]
    """What each velocity does, shape ``(joints, nv, 6 LANES)``."""
    coefficients: Vector
    """What a velocity feels of a body, shape ``(10 LANES,)``."""


def row_buffers(tree: KinematicTree, gravity: Vector) -> RowBuffers:
    """Return what the recursion writes, under a gravity [m/s^2]."""
    n, nv = len(tree.joints), len(tree.subspace)
    joints = np.zeros((n, NUMBERS, LANES))
    joints[0, ACCELERATION : ACCELERATION + 3] = -gravity[:, None]
    axes, coefficients = np.zeros((n, nv, 6 * LANES)), np.zeros(PARAMETERS * LANES)
    return RowBuffers(joints.reshape(n, -1), axes, coefficients)


@inlined
def triple(x: Vector, k: int, s: int) -> Triple:
    """Return three numbers of a sample."""
    return x[k * LANES + s], x[(k + 1) * LANES + s], x[(k + 2) * LANES + s]


@inlined
def twist(x: Vector, k: int, s: int) -> Twist:
    """Return six numbers of a sample."""
    return triple(x, k, s), triple(x, k + 3, s)


@inlined
def rotation(x: Vector, s: int) -> Rotation:
    """Return the rotation of a joint at a sample."""
    return triple(x, ROTATION, s), triple(x, ROTATION + 3, s), triple(x, ROTATION + 6, s)


@inlined
def write_triple(value: Triple, x: Vector, k: int, s: int) -> None:
    """Write three numbers of a sample."""
    x[k * LANES + s], x[(k + 1) * LANES + s], x[(k + 2) * LANES + s] = value


@inlined
def write_twist(value: Twist, x: Vector, k: int, s: int) -> None:
    """Write six numbers of a sample."""
    write_triple(value[0], x, k, s)
    write_triple(value[1], x, k + 3, s)


@compiled
def place_joint(tree: KinematicTree, j: int, q: Matrix, joint: Vector) -> None:
    """Write where a joint stands in its parent's frame."""
    kind, iq, iv = tree.joints[j, KIND], tree.joints[j, IQ], tree.joints[j, IV]
    base, arm = rotation_at(tree.rotations, j), row3(tree.translations, j)
    for s in range(len(q)):
        offset = arm
        if kind >= REVOLUTE_X:
            R, _ = rotate_about_axis(kind, base, np.cos(q[s, iq]), np.sin(q[s, iq]))
        else:
            turn, moved = joint_transform(kind, iq, tree.subspace[iv], q[s])
            R, offset = composed(base, turn), add_scaled(arm, 1.0, rotate(base, moved))
        for k in range(3):
            write_triple(R[k], joint, ROTATION + 3 * k, s)
        write_triple(offset, joint, OFFSET, s)


@compiled
def add_velocity(axis: Twist, v: Vector, a: Vector, joint: Vector) -> None:
    """Add one of a joint's own velocities and accelerations."""
    for s in range(len(v)):
        write_twist(add_scaled_twist(twist(joint, OWN_V, s), v[s], axis), joint, OWN_V, s)
        write_twist(add_scaled_twist(twist(joint, OWN_A, s), a[s], axis), joint, OWN_A, s)


@compiled
def move_joint(parent: Vector, joint: Vector, n: int) -> None:
    """Write how a joint moves."""
    for s in range(n):
        R, arm, own = rotation(joint, s), triple(joint, OFFSET, s), twist(joint, OWN_V, s)
        v = rotate_spatial_back(R, shift_motion(twist(parent, VELOCITY, s), arm))
        a = rotate_spatial_back(R, shift_motion(twist(parent, ACCELERATION, s), arm))
        v = add_scaled_twist(v, 1.0, own)
        a = add_scaled_twist(add_scaled_twist(a, 1.0, twist(joint, OWN_A, s)), 1.0, bracket(v, own))
        write_twist(v, joint, VELOCITY, s)
        write_twist(a, joint, ACCELERATION, s)
        write_triple(add_scaled(a[0], 1.0, cross(v[1], v[0])), joint, ORIGIN, s)


@compiled
def carry_axis(joint: Vector, of_parent: Vector, axis: Vector, n: int) -> None:
    """Write what a velocity does to a joint, of what it does to the parent."""
    for s in range(n):
        moved = shift_motion(twist(of_parent, 0, s), triple(joint, OFFSET, s))
        write_twist(rotate_spatial_back(rotation(joint, s), moved), axis, 0, s)


@compiled
def write_coefficients(joint: Vector, axis: Vector, x: Vector, n: int) -> None:
    """Write what a velocity feels of each inertial parameter of a body."""
    for i in range(n):
        sv, sw = twist(axis, 0, i)
        a, w, dw = (
            triple(joint, ORIGIN, i),
            triple(joint, VELOCITY + 3, i),
            triple(joint, ACCELERATION + 3, i),
        )
        turned = cross(w, cross(w, sv))
        moment = add_scaled(add_scaled(turned, -1.0, cross(dw, sv)), 1.0, cross(a, sw))
        g = cross(sw, w)
        xx, yy, zz = (
            sw[0] * dw[0] + g[0] * w[0],
            sw[1] * dw[1] + g[1] * w[1],
            sw[2] * dw[2] + g[2] * w[2],
        )
        xy = sw[0] * dw[1] + sw[1] * dw[0] + g[0] * w[1] + g[1] * w[0]
        xz = sw[0] * dw[2] + sw[2] * dw[0] + g[0] * w[2] + g[2] * w[0]
        yz = sw[1] * dw[2] + sw[2] * dw[1] + g[1] * w[2] + g[2] * w[1]
        x[i] = dot(sv, a)
        write_triple(moment, x, 1, i)
        write_triple((xx, xy, yy), x, 4, i)
        write_triple((xz, yz, zz), x, 7, i)


@compiled
def inertial_rows(
    tree: KinematicTree,
    buffers: RowBuffers,
    q: Matrix,
    v: Matrix,
    a: Matrix,
    columns: Indices,
    blocks: NDArray[np.float64],
) -> None:
    """Write the rows of every velocity at ``n`` samples.

    Args:
        tree: Joints and bodies; its inertias are not read.
        buffers: What the recursion writes.
        q: Configurations, shape ``(n, nq)``.
        v: Velocities, shape ``(nv, n)``.
        a: Accelerations, shape ``(nv, n)``.
        columns: Where a velocity's block has a parameter, or -1 where nowhere, shape
            ``(nv, 10 k)``; -2 where it has none of a body.
        blocks: Receives the rows, shape ``(nv, width, n)`` at least; what no parameter is written
            to is left as it is.
    """
    for first in range(0, len(q), LANES):
        last = min(first + LANES, len(q))
        n = last - first
        for j in range(1, len(tree.joints)):
            joint, parent, iv = buffers.joints[j], tree.joints[j, PARENT], tree.joints[j, IV]
            place_joint(tree, j, q[first:last], joint)
            joint[OWN_V * LANES :] = 0.0
            for c in range(iv, iv + tree.joints[j, NV]):
                axis = row6(tree.subspace, c)
                add_velocity(axis, v[c, first:last], a[c, first:last], joint)
                for s in range(n):
                    write_twist(axis, buffers.axes[j, c], 0, s)
            move_joint(buffers.joints[parent], joint, n)
            b, at = j, PARAMETERS * (j - 1)
            while b > 0:
                iv = tree.joints[b, IV]
                for c in range(iv, iv + tree.joints[b, NV]):
                    axes = buffers.axes[j, c]
                    if b != j:
                        carry_axis(joint, buffers.axes[parent, c], axes, n)
                    if columns[c, at] == -2:
                        continue
                    write_coefficients(joint, axes, buffers.coefficients, n)
                    for k in range(PARAMETERS):
                        to = columns[c, at + k]
                        if to >= 0:
                            for s in range(n):
                                blocks[c, to, first + s] = buffers.coefficients[k * LANES + s]
                b = tree.joints[b, PARENT]
