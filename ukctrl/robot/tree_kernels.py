r"""Rigid-body terms of a tree of joints, compiled: what `RigidSnapshot` evaluates at every state.

The recursions of Newton and Euler and of composite bodies (Featherstone, Rigid Body Dynamics
Algorithms, 2008, Tables 5.1 and 6.2). The numbers of a joint are in world axes about its own
origin: from one joint to the next takes a shift and no turn, and a robot far from the world's
origin loses no digit. Pinocchio is the judge of every number (`ukctrl.robot.tree`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ukctrl.core.arrays import Indices, Matrix, Vector
from ukctrl.core.compiled import compiled, inlined
from ukctrl.robot.spatial_kernels import (
    Turn,
    about,
    body,
    body_from,
    body_sum,
    both_rotated,
    composed,
    dot,
    force_from,
    force_of,
    momentum,
    momentum_of_turning,
    motion_at,
    of_quaternion,
    power,
    rotated,
    rotated_body,
    six,
    three,
    turn_at,
    write_body,
    write_six,
    write_three,
    write_turn,
)
from ukctrl.robot.twist_kernels import Three, bracket, cross, plus, twist_sum

SCREW, PRISMATIC, CIRCLE, PLANAR, SPHERICAL, FREE, TURN_X, TURN_Y, TURN_Z = range(9)
"""How a joint moves; a screw turns, and moves along its axis by what it turns, or not at all. The
last three turn about an axis of their own frame, as most do, which takes half of the arithmetic."""
PARENT, KIND, IQ, IV, NV = range(5)
"""Columns of `Tree.joints`."""


class Tree(NamedTuple):
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


class Room(NamedTuple):
    """What the recursions write, of each joint in world axes about its origin."""

    rotations: NDArray[np.float64]
    """Of each joint in the world, shape ``(n, 3, 3)``."""
    translations: Matrix
    """The same, shape ``(n, 3)`` [m]."""
    arms: Matrix
    """From its parent's origin to its own, shape ``(n, 3)`` [m]."""
    axes: Matrix
    """What each velocity does, shape ``(nv, 6)``."""
    velocity: Matrix
    """Shape ``(n, 6)``."""
    acceleration: Matrix
    """Without that of the joints, shape ``(n, 6)``; the world's rises against gravity."""
    force: Matrix
    """On each body and on all beyond it, shape ``(n, 6)``."""
    composite: Matrix
    """Inertia of each body and of all beyond it, shape ``(n, 10)``."""
    state: Vector
    """Of which `mass_and_bias` has been written, ``q`` and then ``v``; at first of no number."""


@inlined
def joint_motion(kind: int, iq: int, screw: Vector, q: Vector) -> tuple[Turn, Three]:
    """Return how far a joint has turned and moved at ``q``.

    ``screw`` is what its first velocity does, in the joint's frame.
    """
    turn, place = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)), (0.0, 0.0, 0.0)
    if kind <= PRISMATIC:
        place = (screw[0] * q[iq], screw[1] * q[iq], screw[2] * q[iq])
    if kind == SCREW:
        turn = about((screw[3], screw[4], screw[5]), np.cos(q[iq]), np.sin(q[iq]))
    elif kind == CIRCLE:
        turn = about((screw[3], screw[4], screw[5]), q[iq], q[iq + 1])
    elif kind == PLANAR:
        c, s, place = q[iq + 2], q[iq + 3], (q[iq], q[iq + 1], 0.0)
        turn = ((c, -s, 0.0), (s, c, 0.0), (0.0, 0.0, 1.0))
    elif kind == SPHERICAL:
        turn = of_quaternion(q[iq], q[iq + 1], q[iq + 2], q[iq + 3])
    elif kind == FREE:
        turn = of_quaternion(q[iq + 3], q[iq + 4], q[iq + 5], q[iq + 6])
        place = (q[iq], q[iq + 1], q[iq + 2])
    return turn, place


@inlined
def turned_about(kind: int, R: Turn, c: float, s: float) -> tuple[Turn, Three]:
    """Return a frame that turns about one of its own axes, and where that axis points."""
    x, y, z = R
    if kind == TURN_X:
        return (
            (x[0], c * x[1] + s * x[2], c * x[2] - s * x[1]),
            (y[0], c * y[1] + s * y[2], c * y[2] - s * y[1]),
            (z[0], c * z[1] + s * z[2], c * z[2] - s * z[1]),
        ), (x[0], y[0], z[0])
    if kind == TURN_Y:
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
def outwards(tree: Tree, room: Room, q: Vector, v: Vector) -> None:
    """Write how all bodies move and what force that takes, from the world to the tips."""
    for j in range(1, len(tree.joints)):
        parent, kind, iv = tree.joints[j, PARENT], tree.joints[j, KIND], tree.joints[j, IV]
        iq = tree.joints[j, IQ]
        base = turn_at(room.rotations, parent)
        arm = rotated(base, three(tree.translations, j))
        R = base = composed(base, turn_at(tree.rotations, j))
        velocity, acceleration = six(room.velocity, parent), six(room.acceleration, parent)
        if kind >= TURN_X:
            R, axis = turned_about(kind, base, np.cos(q[iq]), np.sin(q[iq]))
            write_six(((0.0, 0.0, 0.0), axis), room.axes, iv)
            own = (v[iv] * axis[0], v[iv] * axis[1], v[iv] * axis[2])
            along, turning = motion_at(velocity, arm)
            velocity = along, plus(turning, 1.0, own)
            rise, faster = motion_at(acceleration, arm)
            rise, faster = (
                plus(rise, 1.0, cross(along, own)),
                plus(faster, 1.0, cross(turning, own)),
            )
            acceleration = rise, faster
        else:
            turn, place = joint_motion(kind, iq, tree.subspace[iv], q)
            if kind != PRISMATIC:
                R = composed(base, turn)
            if kind != CIRCLE and kind != SPHERICAL:
                arm = plus(arm, 1.0, rotated(base, place))
            moved = ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
            for c in range(iv, iv + tree.joints[j, NV]):
                screw = both_rotated(R, six(tree.subspace, c))
                write_six(screw, room.axes, c)
                moved = twist_sum(moved, v[c], screw)
            velocity = twist_sum(motion_at(velocity, arm), 1.0, moved)
            acceleration = motion_at(acceleration, arm)
            acceleration = twist_sum(acceleration, 1.0, bracket(velocity, moved))
        write_turn(R, room.rotations, j)
        write_three(arm, room.arms, j)
        write_three(plus(three(room.translations, parent), 1.0, arm), room.translations, j)
        inertia = rotated_body(R, body(tree.inertias, j))
        write_six(velocity, room.velocity, j)
        write_six(acceleration, room.acceleration, j)
        write_body(inertia, room.composite, j)
        write_six(force_of(inertia, acceleration, velocity), room.force, j)


@inlined
def hand_on_force(
    joints: Indices, j: int, axes: Matrix, arms: Matrix, forces: Matrix, bias: Vector
) -> None:
    """Write what a joint's velocities feel of its force, and hand that on to the parent."""
    parent, iv, force = joints[j, PARENT], joints[j, IV], six(forces, j)
    for c in range(iv, iv + joints[j, NV]):
        bias[c] = power(six(axes, c), force)
    if parent > 0:
        force = force_from(force, three(arms, j))
        write_six(twist_sum(six(forces, parent), 1.0, force), forces, parent)


@inlined
def inwards(tree: Tree, room: Room, M: Matrix, nle: Vector) -> None:
    """Write the mass matrix and the bias force, from the tips to the world."""
    joints, axes, arms, bodies = tree.joints, room.axes, room.arms, room.composite
    for j in range(len(joints) - 1, 0, -1):
        parent, iv, inertia = joints[j, PARENT], joints[j, IV], body(bodies, j)
        hand_on_force(joints, j, axes, arms, room.force, nle)
        for c in range(iv, iv + joints[j, NV]):
            axis, i = six(axes, c), j
            if joints[j, KIND] >= TURN_X:
                carried = momentum_of_turning(inertia, axis[1])
            else:
                carried = momentum(inertia, axis)
            while i > 0:
                first = joints[i, IV]
                if joints[i, KIND] >= TURN_X:
                    M[c, first] = M[first, c] = dot(six(axes, first)[1], carried[1])
                else:
                    for d in range(first, min(first + joints[i, NV], c + 1)):
                        M[c, d] = M[d, c] = power(six(axes, d), carried)
                carried = force_from(carried, three(arms, i))
                i = joints[i, PARENT]
            M[c, c] += tree.armature[c]
        if parent > 0:
            inertia = body_from(inertia, three(arms, j))
            write_body(body_sum(body(bodies, parent), inertia), bodies, parent)


@compiled
def mass_and_bias(tree: Tree, room: Room, q: Vector, v: Vector, M: Matrix, nle: Vector) -> None:
    """Write the mass matrix and the bias force at a state, where they are not of it already.

    Entries of ``M`` between joints neither of which carry the other are left as they are: zero.
    """
    same, n, state = True, len(q), room.state
    for i in range(n):
        same = same and state[i] == q[i]
    for i in range(len(v)):
        same = same and state[n + i] == v[i]
    if same:
        return
    outwards(tree, room, q, v)
    inwards(tree, room, M, nle)
    for i in range(n):
        state[i] = q[i]
    for i in range(len(v)):
        state[n + i] = v[i]


@compiled
def rigid_terms(
    tree: Tree, room: Room, q: Vector, v: Vector, M: Matrix, nle: Vector, Jt: Matrix, dJt: Matrix
) -> None:
    """Write all that a `Snapshot` of a rigid robot holds; ``M`` and ``nle`` as `mass_and_bias`."""
    mass_and_bias(tree, room, q, v, M, nle)
    for j in range(1, len(tree.joints)):
        place, velocity = three(room.translations, j), six(room.velocity, j)
        back, iv = (-place[0], -place[1], -place[2]), tree.joints[j, IV]
        for c in range(iv, iv + tree.joints[j, NV]):
            axis = six(room.axes, c)
            write_six(motion_at(axis, back), Jt, c)
            write_six(motion_at(bracket(velocity, axis), back), dJt, c)
