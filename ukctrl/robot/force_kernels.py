r"""What motions take of a tree of joints and bodies, beside its terms at one state, compiled.

With $c(q, v)$ the bias force, Christoffel's $C(q, v)\, w$ is symmetric in ``v`` and ``w`` where
joints have one freedom, so that $C(q, v)\, w = (c(q, v + w) - c(q, v - w))/4$: gravity cancels.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.compiled import compiled
from ukctrl.robot.tree_kernels import (
    IV,
    NV,
    PARENT,
    Room,
    Tree,
    add_force_cross,
    along,
    momentum,
    outwards,
    seen_inside,
    seen_outside,
)

NUMBERS = 10
"""Inertial parameters of a body."""


@compiled
def bias_force(tree: Tree, room: Room, q: Vector, v: Vector, force: Vector) -> None:
    """Write the Coriolis, centrifugal and gravity force."""
    outwards(tree, room, q, v)
    for j in range(len(tree.joints) - 1, 0, -1):
        parent, iv, nv = tree.joints[j, PARENT], tree.joints[j, IV], tree.joints[j, NV]
        for c in range(iv, iv + nv):
            force[c] = along(tree.subspace[c], room.force[j])
        if parent > 0:
            seen_outside(room.rotations[j], room.translations[j], room.force[j])
            for i in range(6):
                room.force[parent, i] += room.force[j, i]


@compiled
def coriolis_force(
    tree: Tree, room: Room, q: Vector, v: Vector, w: Vector, both: Matrix, force: Vector
) -> None:
    """Write ``C(q, v) w``; ``both`` is scratch, shape ``(2, nv)``."""
    for i in range(len(v)):
        both[0, i] = v[i] - w[i]
    bias_force(tree, room, q, both[0], both[1])
    for i in range(len(v)):
        both[0, i] = v[i] + w[i]
    bias_force(tree, room, q, both[0], force)
    for i in range(len(v)):
        force[i] = 0.25 * (force[i] - both[1, i])


class Swept(NamedTuple):
    """What `regressor` writes on its way, of each joint in its own frame."""

    faster: Matrix
    """Velocity at ``v + w``, shape ``(n, 6)``."""
    motion: Matrix
    """What the force is linear in, beside products of velocities, shape ``(n, 6)``."""
    unit: Vector
    """Inertial parameters of a body, of which one is not zero, shape ``(10,)``."""
    vectors: Matrix
    """Scratch, shape ``(4, 6)``."""
    velocity: Vector
    """Scratch, shape ``(nv,)``."""

    @staticmethod
    def of(tree: Tree) -> Swept:
        """Return one to write into."""
        n, nv = len(tree.joints), len(tree.armature)
        every = np.zeros((n, 6)), np.zeros((n, 6)), np.zeros(NUMBERS), np.zeros((4, 6))
        return Swept(*every, np.zeros(nv))


@compiled
def sweep(tree: Tree, room: Room, q: Vector, v: Vector, w: Vector, a: Vector, s: Swept) -> None:
    """Write velocities at ``v + w`` and, into ``room``, at ``v - w``; and ``motion``.

    That is the acceleration of each joint by ``a``, against gravity, and what turns with the
    frames: a fourth of the difference between both.
    """
    for sign in (1.0, -1.0):
        for i in range(len(v)):
            s.velocity[i] = v[i] + sign * w[i]
        outwards(tree, room, q, s.velocity)
        for j in range(1, len(tree.joints)):
            for i in range(6):
                if sign > 0.0:
                    s.faster[j, i] = room.velocity[j, i]
                    s.motion[j, i] = 0.25 * room.acceleration[j, i]
                else:
                    s.motion[j, i] -= 0.25 * room.acceleration[j, i]
    for i in range(6):  # of each joint what a does there, and of the world's rise
        room.force[0, i] = room.acceleration[0, i]
    for j in range(1, len(tree.joints)):
        parent, iv, nv = tree.joints[j, PARENT], tree.joints[j, IV], tree.joints[j, NV]
        by_joints = room.force[j]
        seen_inside(room.rotations[j], room.translations[j], room.force[parent], by_joints)
        for i in range(6):
            for c in range(iv, iv + nv):
                by_joints[i] += tree.subspace[c, i] * a[c]
            s.motion[j, i] += by_joints[i]


@compiled
def regressor(
    tree: Tree, room: Room, q: Vector, v: Vector, w: Vector, a: Vector, s: Swept, Y: Matrix
) -> None:
    r"""Write the ``Y`` of ``Y pi = M a + C(q, v) w + g``, shape ``(nv, 10 k)``.

    One inertial parameter after the other: the force that it takes of its body, brought to the
    joints that carry that. Entries of joints that do not are left as they are: zero.

    Args:
        tree: Joints, each of one freedom, and bodies.
        room: What the recursions write.
        q: Configuration.
        v: Velocity.
        w: A second one.
        a: Acceleration.
        s: More that is written on the way.
        Y: Receives it.
    """
    sweep(tree, room, q, v, w, a, s)
    force, slow, fast = s.vectors[0], s.vectors[1], s.vectors[2]
    for j in range(1, len(tree.joints)):
        for k in range(NUMBERS):
            for i in range(NUMBERS):
                s.unit[i] = 1.0 if i == k else 0.0
            momentum(s.unit, s.motion[j], force)
            for i in range(6):
                slow[i] = fast[i] = 0.0
            momentum(s.unit, room.velocity[j], s.vectors[3])
            add_force_cross(room.velocity[j], s.vectors[3], slow)
            momentum(s.unit, s.faster[j], s.vectors[3])
            add_force_cross(s.faster[j], s.vectors[3], fast)
            for i in range(6):
                force[i] += 0.25 * (fast[i] - slow[i])
            b = j
            while b > 0:
                first = tree.joints[b, IV]
                for c in range(first, first + tree.joints[b, NV]):
                    Y[c, NUMBERS * (j - 1) + k] = along(tree.subspace[c], force)
                seen_outside(room.rotations[b], room.translations[b], force)
                b = tree.joints[b, PARENT]
