r"""What motions take of a tree of joints and bodies, beside its terms at one state, compiled.

With $c(q, v)$ the bias force, Christoffel's $C(q, v)\, w$ is symmetric in ``v`` and ``w`` where
joints have one freedom, so that $C(q, v)\, w = (c(q, v + w) - c(q, v - w))/4$: gravity cancels.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.compiled import compiled
from ukctrl.robot.rigid.tree_kernels import (
    IV,
    NV,
    PARENT,
    KinematicTree,
    TreeBuffers,
    forward_pass,
    propagate_force,
)
from ukctrl.robot.spatial_kernels import (
    newton_euler_force,
    power,
    rotate_spatial,
    rotate_spatial_back,
    rotation_at,
    row3,
    row6,
    shift_force,
    shift_motion,
    unit_inertia,
    write_row6,
)
from ukctrl.robot.twist_kernels import Twist, add_scaled_twist

NUMBERS = 10
"""Inertial parameters of a body."""


@compiled
def bias_force(
    tree: KinematicTree, buffers: TreeBuffers, q: Vector, v: Vector, force: Vector
) -> None:
    """Write the Coriolis, centrifugal and gravity force."""
    forward_pass(tree, buffers, q, v)
    for j in range(len(tree.joints) - 1, 0, -1):
        propagate_force(tree.joints, j, buffers.axes, buffers.offsets, buffers.force, force)


@compiled
def coriolis_force(
    tree: KinematicTree,
    buffers: TreeBuffers,
    q: Vector,
    v: Vector,
    w: Vector,
    both: Matrix,
    force: Vector,
) -> None:
    """Write ``C(q, v) w``; ``both`` is scratch, shape ``(2, nv)``."""
    for i in range(len(v)):
        both[0, i] = v[i] - w[i]
    bias_force(tree, buffers, q, both[0], both[1])
    for i in range(len(v)):
        both[0, i] = v[i] + w[i]
    bias_force(tree, buffers, q, both[0], force)
    for i in range(len(v)):
        force[i] = 0.25 * (force[i] - both[1, i])


class RegressorBuffers(NamedTuple):
    """What `regressor` writes on its way, as `TreeBuffers` does."""

    faster: Matrix
    """Velocity at ``v + w``, shape ``(n, 6)``."""
    motion: Matrix
    """What the force is linear in, beside products of velocities, shape ``(n, 6)``."""
    velocity: Vector
    """Scratch, shape ``(nv,)``."""

    @staticmethod
    def of(tree: KinematicTree) -> RegressorBuffers:
        """Return one to write into."""
        n, nv = len(tree.joints), len(tree.armature)
        return RegressorBuffers(np.zeros((n, 6)), np.zeros((n, 6)), np.zeros(nv))


@compiled
def two_velocity_recursion(
    tree: KinematicTree,
    buffers: TreeBuffers,
    q: Vector,
    v: Vector,
    w: Vector,
    a: Vector,
    s: RegressorBuffers,
) -> None:
    """Write velocities at ``v + w`` and, into ``buffers``, at ``v - w``; and ``motion``.

    That is the acceleration of each joint by ``a``, against gravity, and what turns with the
    frames: a fourth of the difference between both.
    """
    for sign in (1.0, -1.0):
        for i in range(len(v)):
            s.velocity[i] = v[i] + sign * w[i]
        forward_pass(tree, buffers, q, s.velocity)
        for j in range(1, len(tree.joints)):
            for i in range(6):
                if sign > 0.0:
                    s.faster[j, i] = buffers.velocity[j, i]
                    s.motion[j, i] = 0.25 * buffers.acceleration[j, i]
                else:
                    s.motion[j, i] -= 0.25 * buffers.acceleration[j, i]
    write_row6(row6(buffers.acceleration, 0), buffers.force, 0)  # what a does, and the world's rise
    for j in range(1, len(tree.joints)):
        iv = tree.joints[j, IV]
        by_a = shift_motion(row6(buffers.force, tree.joints[j, PARENT]), row3(buffers.offsets, j))
        for c in range(iv, iv + tree.joints[j, NV]):
            by_a = add_scaled_twist(by_a, a[c], row6(buffers.axes, c))
        write_row6(by_a, buffers.force, j)
        write_row6(add_scaled_twist(row6(s.motion, j), 1.0, by_a), s.motion, j)


@compiled
def parameter_force(number: int, motion: Twist, slow: Twist, fast: Twist) -> Twist:
    """Return the force that one inertial parameter takes, in the axes of its joint."""
    unit, still = unit_inertia(number), ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
    force = add_scaled_twist(
        newton_euler_force(unit, motion, still), 0.25, newton_euler_force(unit, still, fast)
    )
    return add_scaled_twist(force, -0.25, newton_euler_force(unit, still, slow))


@compiled
def regressor(
    tree: KinematicTree,
    buffers: TreeBuffers,
    q: Vector,
    v: Vector,
    w: Vector,
    a: Vector,
    s: RegressorBuffers,
    Y: Matrix,
) -> None:
    r"""Write the ``Y`` of ``Y pi = M a + C(q, v) w + g``, shape ``(nv, 10 k)``.

    One inertial parameter after the other: the force that it takes of its body, brought to the
    joints that carry that. Entries of joints that do not are left as they are: zero.

    Args:
        tree: Joints, each of one freedom, and bodies.
        buffers: What the recursions write.
        q: Configuration.
        v: Velocity.
        w: A second one.
        a: Acceleration.
        s: More that is written on the way.
        Y: Receives it.
    """
    two_velocity_recursion(tree, buffers, q, v, w, a, s)
    for j in range(1, len(tree.joints)):
        R = rotation_at(buffers.rotations, j)
        motion = rotate_spatial_back(R, row6(s.motion, j))
        slow, fast = (
            rotate_spatial_back(R, row6(buffers.velocity, j)),
            rotate_spatial_back(R, row6(s.faster, j)),
        )
        for k in range(NUMBERS):
            force, b = rotate_spatial(R, parameter_force(k, motion, slow, fast)), j
            while b > 0:
                first = tree.joints[b, IV]
                for c in range(first, first + tree.joints[b, NV]):
                    Y[c, NUMBERS * (j - 1) + k] = power(row6(buffers.axes, c), force)
                force = shift_force(force, row3(buffers.offsets, b))
                b = tree.joints[b, PARENT]
