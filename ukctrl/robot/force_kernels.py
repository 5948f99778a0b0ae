r"""What motions take of a tree of joints and bodies, beside its terms at one state, compiled.

With $c(q, v)$ the bias force, Christoffel's $C(q, v)\, w$ is symmetric in ``v`` and ``w`` where
joints have one freedom, so that $C(q, v)\, w = (c(q, v + w) - c(q, v - w))/4$: gravity cancels.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.compiled import compiled
from ukctrl.robot.spatial_kernels import (
    both_rotated,
    both_rotated_back,
    force_from,
    force_of,
    motion_at,
    power,
    six,
    three,
    turn_at,
    unit_body,
    write_six,
)
from ukctrl.robot.tree_kernels import IV, NV, PARENT, Room, Tree, hand_on_force, outwards
from ukctrl.robot.twist_kernels import Twist, twist_sum

NUMBERS = 10
"""Inertial parameters of a body."""


@compiled
def bias_force(tree: Tree, room: Room, q: Vector, v: Vector, force: Vector) -> None:
    """Write the Coriolis, centrifugal and gravity force."""
    outwards(tree, room, q, v)
    for j in range(len(tree.joints) - 1, 0, -1):
        hand_on_force(tree.joints, j, room.axes, room.arms, room.force, force)


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
    """What `regressor` writes on its way, as `Room` does."""

    faster: Matrix
    """Velocity at ``v + w``, shape ``(n, 6)``."""
    motion: Matrix
    """What the force is linear in, beside products of velocities, shape ``(n, 6)``."""
    velocity: Vector
    """Scratch, shape ``(nv,)``."""

    @staticmethod
    def of(tree: Tree) -> Swept:
        """Return one to write into."""
        n, nv = len(tree.joints), len(tree.armature)
        return Swept(np.zeros((n, 6)), np.zeros((n, 6)), np.zeros(nv))


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
    write_six(six(room.acceleration, 0), room.force, 0)  # what a does, and the world's rise
    for j in range(1, len(tree.joints)):
        iv = tree.joints[j, IV]
        by_a = motion_at(six(room.force, tree.joints[j, PARENT]), three(room.arms, j))
        for c in range(iv, iv + tree.joints[j, NV]):
            by_a = twist_sum(by_a, a[c], six(room.axes, c))
        write_six(by_a, room.force, j)
        write_six(twist_sum(six(s.motion, j), 1.0, by_a), s.motion, j)


@compiled
def share_of(number: int, motion: Twist, slow: Twist, fast: Twist) -> Twist:
    """Return the force that one inertial parameter takes, in the axes of its joint."""
    unit, still = unit_body(number), ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
    force = twist_sum(force_of(unit, motion, still), 0.25, force_of(unit, still, fast))
    return twist_sum(force, -0.25, force_of(unit, still, slow))


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
    for j in range(1, len(tree.joints)):
        R = turn_at(room.rotations, j)
        motion = both_rotated_back(R, six(s.motion, j))
        slow, fast = (
            both_rotated_back(R, six(room.velocity, j)),
            both_rotated_back(R, six(s.faster, j)),
        )
        for k in range(NUMBERS):
            force, b = both_rotated(R, share_of(k, motion, slow, fast)), j
            while b > 0:
                first = tree.joints[b, IV]
                for c in range(first, first + tree.joints[b, NV]):
                    Y[c, NUMBERS * (j - 1) + k] = power(six(room.axes, c), force)
                force = force_from(force, three(room.arms, b))
                b = tree.joints[b, PARENT]
