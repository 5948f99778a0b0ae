r"""Rigid-body terms of a tree of joints, compiled: what `RigidSnapshot` evaluates at every state.

The recursions of Newton and Euler and of composite bodies in the frames of the joints
(Featherstone, Rigid Body Dynamics Algorithms, 2008, Tables 5.1 and 6.2), so that a robot far from
the world's origin loses no digit. A motion is $(v_O, \omega)$ and a force $(f, n_O)$ about the
origin of a joint's frame, the linear part first, as in Pinocchio, which is the judge of every
number (`ukctrl.robot.tree`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ukctrl.core.arrays import Indices, Matrix, Vector
from ukctrl.core.compiled import compiled

SCREW, PRISMATIC, CIRCLE, PLANAR, SPHERICAL, FREE = range(6)
"""How a joint moves; a screw turns, and moves along its axis by what it turns, or not at all."""
PARENT, KIND, IQ, IV, NV, END = range(6)
"""Columns of `Tree.joints`."""


class Tree(NamedTuple):
    """Joints, each after its parent, and the bodies that they move; 0 is the world."""

    joints: Indices
    """Parent, kind, first place in ``q`` and in ``v``, and freedoms of each, and the place in ``v``
    after all that it carries, shape ``(n, 6)``: what a joint carries follows it."""
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


class Room(NamedTuple):
    """What the recursions write on their way, of each joint in its own frame."""

    rotations: NDArray[np.float64]
    """Of each joint in its parent's frame, shape ``(n, 3, 3)``."""
    translations: Matrix
    """The same, shape ``(n, 3)`` [m]."""
    velocity: Matrix
    """Shape ``(n, 6)``."""
    acceleration: Matrix
    """Without that of the joints, shape ``(n, 6)``; the world's rises against gravity."""
    force: Matrix
    """Shape ``(n, 6)``."""
    composite: Matrix
    """Inertia of each body and of all beyond it, shape ``(n, 10)``."""
    carried: Matrix
    """What each velocity takes of the joint that was last looked at, shape ``(6, nv)``."""
    matrix: Matrix
    """Scratch, shape ``(3, 3)``."""
    vectors: Matrix
    """Scratch, shape ``(4, 6)``."""


@compiled
def turn_about(axis: Vector, c: float, s: float, R: Matrix) -> None:
    """Write the rotation about a unit axis by an angle of this cosine and sine."""
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        R[i, i] = c + axis[i] * axis[i] * (1.0 - c)
        R[i, j] = axis[i] * axis[j] * (1.0 - c) - axis[k] * s
        R[i, k] = axis[i] * axis[k] * (1.0 - c) + axis[j] * s


@compiled
def turn_of(x: float, y: float, z: float, w: float, R: Matrix) -> None:
    """Write the rotation of a unit quaternion."""
    R[0, 0], R[0, 1], R[0, 2] = (
        1.0 - 2.0 * (y * y + z * z),
        2.0 * (x * y - z * w),
        2.0 * (x * z + y * w),
    )
    R[1, 0], R[1, 1], R[1, 2] = (
        2.0 * (x * y + z * w),
        1.0 - 2.0 * (x * x + z * z),
        2.0 * (y * z - x * w),
    )
    R[2, 0], R[2, 1], R[2, 2] = (
        2.0 * (x * z - y * w),
        2.0 * (y * z + x * w),
        1.0 - 2.0 * (x * x + y * y),
    )


@compiled
def joint_motion(kind: int, iq: int, screw: Vector, q: Vector, R: Matrix, x: Vector) -> None:
    """Write how far a joint has turned and moved at ``q``.

    ``screw`` is what its first velocity does; ``R`` comes as the identity, and ``x`` as zero.
    """
    if kind <= PRISMATIC:
        for i in range(3):
            x[i] = screw[i] * q[iq]
    if kind == SCREW:
        turn_about(screw[3:], np.cos(q[iq]), np.sin(q[iq]), R)
    elif kind == CIRCLE:
        turn_about(screw[3:], q[iq], q[iq + 1], R)
    elif kind == PLANAR:
        x[0], x[1] = q[iq], q[iq + 1]
        R[0, 0], R[0, 1], R[1, 0], R[1, 1] = q[iq + 2], -q[iq + 3], q[iq + 3], q[iq + 2]
    elif kind == SPHERICAL:
        turn_of(q[iq], q[iq + 1], q[iq + 2], q[iq + 3], R)
    elif kind == FREE:
        turn_of(q[iq + 3], q[iq + 4], q[iq + 5], q[iq + 6], R)
        for i in range(3):
            x[i] = q[iq + i]


@compiled
def placed(A: Matrix, a: Vector, B: Matrix, b: Vector, R: Matrix, p: Vector) -> None:
    """Write where ``(B, b)`` is that is told in the frame ``(A, a)``: ``A B`` and ``a + A b``."""
    for i in range(3):
        p[i] = a[i] + A[i, 0] * b[0] + A[i, 1] * b[1] + A[i, 2] * b[2]
        for k in range(3):
            R[i, k] = A[i, 0] * B[0, k] + A[i, 1] * B[1, k] + A[i, 2] * B[2, k]


@compiled
def seen_inside(R: Matrix, p: Vector, outer: Vector, inner: Vector) -> None:
    """Write a motion as a joint sees it that is placed at ``(R, p)`` in the frame it is told in."""
    l0 = outer[0] + outer[4] * p[2] - outer[5] * p[1]
    l1 = outer[1] + outer[5] * p[0] - outer[3] * p[2]
    l2 = outer[2] + outer[3] * p[1] - outer[4] * p[0]
    for i in range(3):
        inner[i] = R[0, i] * l0 + R[1, i] * l1 + R[2, i] * l2
        inner[3 + i] = R[0, i] * outer[3] + R[1, i] * outer[4] + R[2, i] * outer[5]


@compiled
def seen_outside(R: Matrix, p: Vector, force: Vector) -> None:
    """Turn a force of a joint's frame into that of its parent, where it is at ``(R, p)``."""
    f0, f1, f2, n0, n1, n2 = force[0], force[1], force[2], force[3], force[4], force[5]
    for i in range(3):
        force[i] = R[i, 0] * f0 + R[i, 1] * f1 + R[i, 2] * f2
        force[3 + i] = R[i, 0] * n0 + R[i, 1] * n1 + R[i, 2] * n2
    force[3] += p[1] * force[2] - p[2] * force[1]
    force[4] += p[2] * force[0] - p[0] * force[2]
    force[5] += p[0] * force[1] - p[1] * force[0]


@compiled
def all_seen_outside(R: Matrix, p: Vector, forces: Matrix) -> None:
    """Turn forces, the columns, as `seen_outside` does."""
    x, y, z, a, b, c = forces[0], forces[1], forces[2], forces[3], forces[4], forces[5]
    for k in range(x.shape[0]):
        f0 = R[0, 0] * x[k] + R[0, 1] * y[k] + R[0, 2] * z[k]
        f1 = R[1, 0] * x[k] + R[1, 1] * y[k] + R[1, 2] * z[k]
        f2 = R[2, 0] * x[k] + R[2, 1] * y[k] + R[2, 2] * z[k]
        n0 = R[0, 0] * a[k] + R[0, 1] * b[k] + R[0, 2] * c[k]
        n1 = R[1, 0] * a[k] + R[1, 1] * b[k] + R[1, 2] * c[k]
        n2 = R[2, 0] * a[k] + R[2, 1] * b[k] + R[2, 2] * c[k]
        x[k], y[k], z[k] = f0, f1, f2
        a[k] = n0 + (p[1] * f2 - p[2] * f1)
        b[k] = n1 + (p[2] * f0 - p[0] * f2)
        c[k] = n2 + (p[0] * f1 - p[1] * f0)


@compiled
def along_all(motion: Vector, forces: Matrix, power: Vector) -> None:
    """Write the power of forces, the columns, along a motion."""
    for k in range(power.shape[0]):
        total = motion[0] * forces[0, k] + motion[1] * forces[1, k] + motion[2] * forces[2, k]
        total += motion[3] * forces[3, k] + motion[4] * forces[4, k] + motion[5] * forces[5, k]
        power[k] = total


@compiled
def momentum(Y: Vector, motion: Vector, out: Vector) -> None:
    """Write the momentum of a body of an inertia; see `Tree.inertias`."""
    v0, v1, v2, w0, w1, w2 = motion[0], motion[1], motion[2], motion[3], motion[4], motion[5]
    m, c0, c1, c2 = Y[0], Y[1], Y[2], Y[3]
    out[0] = m * v0 + w1 * c2 - w2 * c1
    out[1] = m * v1 + w2 * c0 - w0 * c2
    out[2] = m * v2 + w0 * c1 - w1 * c0
    out[3] = Y[4] * w0 + Y[5] * w1 + Y[7] * w2 + c1 * v2 - c2 * v1
    out[4] = Y[5] * w0 + Y[6] * w1 + Y[8] * w2 + c2 * v0 - c0 * v2
    out[5] = Y[7] * w0 + Y[8] * w1 + Y[9] * w2 + c0 * v1 - c1 * v0


@compiled
def add_motion_cross(a: Vector, b: Vector, out: Vector) -> None:
    """Add the derivative of a motion b that is fixed in a frame that moves with a."""
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        out[i] += a[3 + j] * b[k] - a[3 + k] * b[j] + a[j] * b[3 + k] - a[k] * b[3 + j]
        out[3 + i] += a[3 + j] * b[3 + k] - a[3 + k] * b[3 + j]


@compiled
def add_force_cross(a: Vector, h: Vector, out: Vector) -> None:
    """Add the derivative of a momentum h that is fixed in a frame that moves with a."""
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        out[i] += a[3 + j] * h[k] - a[3 + k] * h[j]
        out[3 + i] += a[3 + j] * h[3 + k] - a[3 + k] * h[3 + j] + a[j] * h[k] - a[k] * h[j]


@compiled
def add_inertia(R: Matrix, p: Vector, Y: Vector, half: Matrix, h: Vector, total: Vector) -> None:
    """Add a body's inertia to that of its parent, in whose frame it is placed at ``(R, p)``.

    ``half`` and ``h`` are scratch, shapes ``(3, 3)`` and ``(3,)`` or longer.
    """
    m = Y[0]
    for i in range(3):
        h[i] = R[i, 0] * Y[1] + R[i, 1] * Y[2] + R[i, 2] * Y[3]
        half[i, 0] = R[i, 0] * Y[4] + R[i, 1] * Y[5] + R[i, 2] * Y[7]
        half[i, 1] = R[i, 0] * Y[5] + R[i, 1] * Y[6] + R[i, 2] * Y[8]
        half[i, 2] = R[i, 0] * Y[7] + R[i, 1] * Y[8] + R[i, 2] * Y[9]
    # about the parent's origin: I + (2 h.p + m p.p) 1 - h p' - p h' - m p p'
    along = 2.0 * (h[0] * p[0] + h[1] * p[1] + h[2] * p[2])
    along += m * (p[0] * p[0] + p[1] * p[1] + p[2] * p[2])
    total[0] += m
    place = 4
    for i in range(3):
        total[1 + i] += h[i] + m * p[i]
        for k in range(i + 1):
            entry = half[i, 0] * R[k, 0] + half[i, 1] * R[k, 1] + half[i, 2] * R[k, 2]
            entry -= h[i] * p[k] + p[i] * h[k] + m * p[i] * p[k]
            total[place] += entry + along if i == k else entry
            place += 1


@compiled
def outwards(tree: Tree, room: Room, q: Vector, v: Vector) -> None:
    """Write how all bodies move and what force that takes, from the world to the tips."""
    T = room.matrix
    x, own, own_momentum = room.vectors[0], room.vectors[1], room.vectors[2]
    for j in range(1, len(tree.joints)):
        at = tree.joints[j]
        parent, iv, nv = at[PARENT], at[IV], at[NV]
        for i in range(3):
            x[i] = 0.0
            for k in range(3):
                T[i, k] = 1.0 if i == k else 0.0
        joint_motion(at[KIND], at[IQ], tree.subspace[iv], q, T, x)
        R, p = room.rotations[j], room.translations[j]
        placed(tree.rotations[j], tree.translations[j], T, x, R, p)
        for i in range(6):
            own[i] = 0.0
            for c in range(iv, iv + nv):
                own[i] += tree.subspace[c, i] * v[c]
        velocity, acceleration = room.velocity[j], room.acceleration[j]
        seen_inside(R, p, room.velocity[parent], velocity)
        seen_inside(R, p, room.acceleration[parent], acceleration)
        for i in range(6):
            velocity[i] += own[i]
        add_motion_cross(velocity, own, acceleration)
        Y = tree.inertias[j]
        momentum(Y, acceleration, room.force[j])
        momentum(Y, velocity, own_momentum)
        add_force_cross(velocity, own_momentum, room.force[j])
        for i in range(10):
            room.composite[j, i] = Y[i]


@compiled
def in_the_world(
    tree: Tree,
    room: Room,
    Jt: Matrix,
    dJt: Matrix,
    rotations: NDArray[np.float64],
    translations: Matrix,
) -> None:
    """Write where all joints are in the world and what each velocity does there."""
    twist = room.vectors[0]
    for j in range(1, len(tree.joints)):
        parent, iv, nv = tree.joints[j, PARENT], tree.joints[j, IV], tree.joints[j, NV]
        own, p = room.rotations[j], room.translations[j]
        placed(rotations[parent], translations[parent], own, p, rotations[j], translations[j])
        at_origin(rotations[j], translations[j], room.velocity[j], twist)
        for c in range(iv, iv + nv):
            at_origin(rotations[j], translations[j], tree.subspace[c], Jt[c])
            for i in range(6):
                dJt[c, i] = 0.0
            add_motion_cross(twist, Jt[c], dJt[c])


@compiled
def at_origin(R: Matrix, p: Vector, motion: Vector, out: Vector) -> None:
    """Write a motion of a joint's frame in world axes at the world's origin."""
    for i in range(3):
        out[i] = R[i, 0] * motion[0] + R[i, 1] * motion[1] + R[i, 2] * motion[2]
        out[3 + i] = R[i, 0] * motion[3] + R[i, 1] * motion[4] + R[i, 2] * motion[5]
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        out[i] += p[j] * out[3 + k] - p[k] * out[3 + j]


@compiled
def inwards(tree: Tree, room: Room, M: Matrix, nle: Vector) -> None:
    """Write the mass matrix and the bias force, from the tips to the world."""
    own_force, first_moment = room.vectors[0], room.vectors[1]
    for j in range(len(tree.joints) - 1, 0, -1):
        parent, iv, nv = tree.joints[j, PARENT], tree.joints[j, IV], tree.joints[j, NV]
        for c in range(iv, iv + nv):
            nle[c] = along(tree.subspace[c], room.force[j])
            momentum(room.composite[j], tree.subspace[c], own_force)
            for i in range(6):
                room.carried[i, c] = own_force[i]
        end = tree.joints[j, END]
        for c in range(iv, iv + nv):
            along_all(tree.subspace[c], room.carried[:, c:end], M[c, c:end])
            for d in range(c + 1, end):
                M[d, c] = M[c, d]
            M[c, c] += tree.armature[c]
        if parent > 0:
            R, p, force = room.rotations[j], room.translations[j], room.force[j]
            all_seen_outside(R, p, room.carried[:, iv:end])
            seen_outside(R, p, force)
            for i in range(6):
                room.force[parent, i] += force[i]
            own, whole = room.composite[j], room.composite[parent]
            add_inertia(R, p, own, room.matrix, first_moment, whole)


@compiled
def along(motion: Vector, force: Vector) -> float:
    """Return the power of a force along a motion."""
    total = 0.0
    for i in range(6):
        total += motion[i] * force[i]
    return total


@compiled
def mass_and_bias(tree: Tree, room: Room, q: Vector, v: Vector, M: Matrix, nle: Vector) -> None:
    """Write the mass matrix and the bias force at a state.

    Entries of ``M`` between joints neither of which carry the other are left as they are: zero.
    """
    outwards(tree, room, q, v)
    inwards(tree, room, M, nle)


@compiled
def rigid_terms(
    tree: Tree,
    room: Room,
    q: Vector,
    v: Vector,
    M: Matrix,
    nle: Vector,
    Jt: Matrix,
    dJt: Matrix,
    rotations: NDArray[np.float64],
    translations: Matrix,
) -> None:
    """Write all that a `Snapshot` of a rigid robot holds; ``M`` and ``nle`` as `mass_and_bias`."""
    mass_and_bias(tree, room, q, v, M, nle)
    in_the_world(tree, room, Jt, dJt, rotations, translations)
