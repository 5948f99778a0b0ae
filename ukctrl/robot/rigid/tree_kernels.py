r"""Rigid-body terms of a tree of joints, compiled: what `RigidSnapshot` evaluates at every state.

The recursions of Newton and Euler and of composite bodies (Featherstone, Rigid Body Dynamics
Algorithms, 2008, Tables 5.1 and 6.2). The numbers of a joint are in world axes about its own
origin: from one joint to the next takes a shift and no turn, and a robot far from the world's
origin loses no digit. Pinocchio is the judge of every number (`ukctrl.robot.rigid.pinocchio_tree`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ukctrl.core.arrays import Indices, Matrix, Vector
from ukctrl.core.compiled import compiled, inlined
from ukctrl.robot.spatial_kernels import (
    Rotation,
    add_inertias,
    axis_rotation,
    composed,
    dot,
    inertia_at,
    momentum,
    momentum_of_rotation,
    newton_euler_force,
    power,
    quaternion_rotation,
    rotate,
    rotate_inertia,
    rotate_spatial,
    rotation_at,
    row3,
    row6,
    shift_force,
    shift_inertia,
    shift_motion,
    write_inertia,
    write_rotation,
    write_row3,
    write_row6,
)
from ukctrl.robot.twist_kernels import Triple, add_scaled, add_scaled_twist, bracket, cross

SCREW, PRISMATIC, CIRCLE, PLANAR, SPHERICAL, FREE, REVOLUTE_X, REVOLUTE_Y, REVOLUTE_Z = range(9)
"""How a joint moves; a screw turns, and moves along its axis by what it turns, or not at all. The
last three turn about an axis of their own frame, as most do, which takes half of the arithmetic."""
PARENT, KIND, IQ, IV, NV = range(5)
"""Columns of `KinematicTree.joints`."""


class KinematicTree(NamedTuple):
    """Joints, each after its parent, and the bodies that they move; 0 is the world."""

    joints: Indices
    """Parent, kind, first place in ``q`` and in ``v``, and freedoms of each, shape ``(n, 5)``."""
    subspace: Matrix
    """What each velocity does in its joint's own frame, shape ``(nv, 6)``."""
    rotations: NDArray[np.float64]
    """Of each joint's place in its parent's frame, shape ``(n, 3, 3)``."""
    translations: Matrix
    """The same, shape ``(n, 3)`` [m]."""
    inertias: Matrix
    """``m, m c, I_xx, I_xy, I_yy, I_xz, I_yz, I_zz`` about each joint's origin, ``(n, 10)``."""
    armature: Vector
    """What rotors add to the diagonal of the mass matrix, shape ``(nv,)``."""


class TreeBuffers(NamedTuple):
    """What the recursions write, of each joint in world axes about its origin."""

    rotations: NDArray[np.float64]
    """Of each joint in the world, shape ``(n, 3, 3)``."""
    translations: Matrix
    """The same, shape ``(n, 3)`` [m]."""
    offsets: Matrix
    """From its parent's origin to its own, shape ``(n, 3)`` [m]."""
    axes: Matrix
    """What each velocity does, shape ``(nv, 6)``."""
    velocity: Matrix
    """Shape ``(n, 6)``."""
    acceleration: Matrix
    """Without that of the joints, shape ``(n, 6)``; the world's rises against gravity."""
    force: Matrix
    """On each body and on all beyond it, shape ``(n, 6)``."""
    composite_inertia: Matrix
    """Inertia of each body and of all beyond it, shape ``(n, 10)``."""
    state: Vector
    """Of which `mass_and_bias` has been written, ``q`` and then ``v``; at first of no number."""


def world_rows(buffers: TreeBuffers) -> tuple[Vector, ...]:
    """Return what the recursions read of the world, and never write."""
    return (
        buffers.rotations[0], buffers.translations[0], buffers.velocity[0], buffers.acceleration[0]
    )  # fmt: skip


@inlined
def joint_transform(kind: int, iq: int, screw: Vector, q: Vector) -> tuple[Rotation, Triple]:
    """Return how far a joint has turned and moved at ``q``.

    ``screw`` is what its first velocity does, in the joint's frame.
    """
    turn, translation = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)), (0.0, 0.0, 0.0)
    if kind <= PRISMATIC:
        translation = (screw[0] * q[iq], screw[1] * q[iq], screw[2] * q[iq])
    if kind == SCREW:
        turn = axis_rotation((screw[3], screw[4], screw[5]), np.cos(q[iq]), np.sin(q[iq]))
    elif kind == CIRCLE:
        turn = axis_rotation((screw[3], screw[4], screw[5]), q[iq], q[iq + 1])
    elif kind == PLANAR:
        c, s, translation = q[iq + 2], q[iq + 3], (q[iq], q[iq + 1], 0.0)
        turn = ((c, -s, 0.0), (s, c, 0.0), (0.0, 0.0, 1.0))
    elif kind == SPHERICAL:
        turn = quaternion_rotation(q[iq], q[iq + 1], q[iq + 2], q[iq + 3])
    elif kind == FREE:
        turn = quaternion_rotation(q[iq + 3], q[iq + 4], q[iq + 5], q[iq + 6])
        translation = (q[iq], q[iq + 1], q[iq + 2])
    return turn, translation


@inlined
def rotate_about_axis(kind: int, R: Rotation, c: float, s: float) -> tuple[Rotation, Triple]:
    """Return a frame that turns about one of its own axes, and where that axis points."""
    x, y, z = R
    if kind == REVOLUTE_X:
        return (
            (x[0], c * x[1] + s * x[2], c * x[2] - s * x[1]),
            (y[0], c * y[1] + s * y[2], c * y[2] - s * y[1]),
            (z[0], c * z[1] + s * z[2], c * z[2] - s * z[1]),
        ), (x[0], y[0], z[0])
    if kind == REVOLUTE_Y:
        return (
            (c * x[0] - s * x[2], x[1], c * x[2] + s * x[0]),
            (c * y[0] - s * y[2], y[1], c * y[2] + s * y[0]),
            (c * z[0] - s * z[2], z[1], c * z[2] + s * z[0]),
        ), (x[1], y[1], z[1])
    return (
        (c * x[0] + s * x[1], c * x[1] - s * x[0], x[2]),
        (c * y[0] + s * y[1], c * y[1] - s * y[0], y[2]),
        (c * z[0] + s * z[1], c * z[1] - s * z[0], z[2]),
    ), (x[2], y[2], z[2])


@inlined
def forward_pass(tree: KinematicTree, buffers: TreeBuffers, q: Vector, v: Vector) -> None:
    """Write how all bodies move and what force that takes, from the world to the tips."""
    for j in range(1, len(tree.joints)):
        parent, kind, iv = tree.joints[j, PARENT], tree.joints[j, KIND], tree.joints[j, IV]
        iq = tree.joints[j, IQ]
        base = rotation_at(buffers.rotations, parent)
        arm = rotate(base, row3(tree.translations, j))
        R = base = composed(base, rotation_at(tree.rotations, j))
        velocity, acceleration = row6(buffers.velocity, parent), row6(buffers.acceleration, parent)
        # about an axis of its own: half of the arithmetic, and the same motion as the general
        # branch
        if kind >= REVOLUTE_X:
            R, axis = rotate_about_axis(kind, base, np.cos(q[iq]), np.sin(q[iq]))
            write_row6(((0.0, 0.0, 0.0), axis), buffers.axes, iv)
            spin = (v[iv] * axis[0], v[iv] * axis[1], v[iv] * axis[2])
            along, turning = shift_motion(velocity, arm)
            velocity = along, add_scaled(turning, 1.0, spin)
            rise, faster = shift_motion(acceleration, arm)
            rise, faster = (
                add_scaled(rise, 1.0, cross(along, spin)),
                add_scaled(faster, 1.0, cross(turning, spin)),
            )
            acceleration = rise, faster
        else:
            turn, translation = joint_transform(kind, iq, tree.subspace[iv], q)
            if kind != PRISMATIC:
                R = composed(base, turn)
            if kind != CIRCLE and kind != SPHERICAL:
                arm = add_scaled(arm, 1.0, rotate(base, translation))
            moved = ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
            for c in range(iv, iv + tree.joints[j, NV]):
                screw = rotate_spatial(R, row6(tree.subspace, c))
                write_row6(screw, buffers.axes, c)
                moved = add_scaled_twist(moved, v[c], screw)
            velocity = add_scaled_twist(shift_motion(velocity, arm), 1.0, moved)
            acceleration = shift_motion(acceleration, arm)
            acceleration = add_scaled_twist(acceleration, 1.0, bracket(velocity, moved))
        write_rotation(R, buffers.rotations, j)
        write_row3(arm, buffers.offsets, j)
        write_row3(
            add_scaled(row3(buffers.translations, parent), 1.0, arm), buffers.translations, j
        )
        inertia = rotate_inertia(R, inertia_at(tree.inertias, j))
        write_row6(velocity, buffers.velocity, j)
        write_row6(acceleration, buffers.acceleration, j)
        write_inertia(inertia, buffers.composite_inertia, j)
        write_row6(newton_euler_force(inertia, acceleration, velocity), buffers.force, j)


@inlined
def propagate_force(
    joints: Indices, j: int, axes: Matrix, arms: Matrix, forces: Matrix, bias: Vector
) -> None:
    """Write what a joint's velocities feel of its force, and hand that on to the parent."""
    parent, iv, force = joints[j, PARENT], joints[j, IV], row6(forces, j)
    for c in range(iv, iv + joints[j, NV]):
        bias[c] = power(row6(axes, c), force)
    if parent > 0:
        force = shift_force(force, row3(arms, j))
        write_row6(add_scaled_twist(row6(forces, parent), 1.0, force), forces, parent)


@inlined
def backward_pass(tree: KinematicTree, buffers: TreeBuffers, M: Matrix, nle: Vector) -> None:
    """Write the mass matrix and the bias force, from the tips to the world."""
    joints, axes, arms, bodies = (
        tree.joints,
        buffers.axes,
        buffers.offsets,
        buffers.composite_inertia,
    )
    for j in range(len(joints) - 1, 0, -1):
        parent, iv, inertia = joints[j, PARENT], joints[j, IV], inertia_at(bodies, j)
        propagate_force(joints, j, axes, arms, buffers.force, nle)
        for c in range(iv, iv + joints[j, NV]):
            axis, i = row6(axes, c), j
            # the rotation alone is not zero: same sums without the zeros
            if joints[j, KIND] >= REVOLUTE_X:
                carried = momentum_of_rotation(inertia, axis[1])
            else:
                carried = momentum(inertia, axis)
            while i > 0:
                first = joints[i, IV]
                # as above, for the entry of M
                if joints[i, KIND] >= REVOLUTE_X:
                    M[c, first] = M[first, c] = dot(row6(axes, first)[1], carried[1])
                else:
                    for d in range(first, min(first + joints[i, NV], c + 1)):
                        M[c, d] = M[d, c] = power(row6(axes, d), carried)
                carried = shift_force(carried, row3(arms, i))
                i = joints[i, PARENT]
            M[c, c] += tree.armature[c]
        if parent > 0:
            inertia = shift_inertia(inertia, row3(arms, j))
            write_inertia(add_inertias(inertia_at(bodies, parent), inertia), bodies, parent)


@compiled
def mass_and_bias(
    tree: KinematicTree, buffers: TreeBuffers, q: Vector, v: Vector, M: Matrix, nle: Vector
) -> None:
    """Write the mass matrix and the bias force at a state, where they are not of it already.

    Entries of ``M`` between joints neither of which carry the other are left as they are: zero.
    """
    same, n, state = True, len(q), buffers.state
    for i in range(n):
        same = same and state[i] == q[i]
    for i in range(len(v)):
        same = same and state[n + i] == v[i]
    if same:
        return
    forward_pass(tree, buffers, q, v)
    backward_pass(tree, buffers, M, nle)
    for i in range(n):
        state[i] = q[i]
    for i in range(len(v)):
        state[n + i] = v[i]


@compiled
def rigid_terms(
    tree: KinematicTree,
    buffers: TreeBuffers,
    q: Vector,
    v: Vector,
    M: Matrix,
    nle: Vector,
    Jt: Matrix,
    dJt: Matrix,
) -> None:
    """Write all that a `Snapshot` of a rigid robot holds; ``M`` and ``nle`` as `mass_and_bias`."""
    mass_and_bias(tree, buffers, q, v, M, nle)
    for j in range(1, len(tree.joints)):
        position, velocity = row3(buffers.translations, j), row6(buffers.velocity, j)
        back, iv = (-position[0], -position[1], -position[2]), tree.joints[j, IV]
        for c in range(iv, iv + tree.joints[j, NV]):
            axis = row6(buffers.axes, c)
            write_row6(shift_motion(axis, back), Jt, c)
            write_row6(shift_motion(bracket(velocity, axis), back), dJt, c)
