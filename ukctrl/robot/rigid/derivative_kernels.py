r"""How the force that moves a tree of joints changes with its state, compiled.

A step of a velocity moves all that its joint carries along its axis $s$. Of body k beyond, with
velocity $v_k$, acceleration $a_k$, and $v_p$, $a_p$ of the joint's parent, that changes what the
body feels as if it were turned rigidly, but for what the parent does not take part in:

$$ \delta f_k = s \times^* f_k + I_k x + B_k y, \quad
   B_k y = I_k (y \times v_k) + y \times^* I_k v_k + v_k \times^* I_k y, $$

with $y = -s \times v_p$, $x = -s \times a_p - y \times v_p$ for a step of position, and
$y = s$, $x = (v + v_p) \times s$ without the first term for one of velocity.

References:
    Carpentier & Mansard, "Analytical derivatives of rigid body dynamics algorithms", RSS 2018.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.compiled import compiled, inlined
from ukctrl.robot.rigid.tree_kernels import IV, NV, PARENT, KinematicTree, TreeBuffers
from ukctrl.robot.spatial_kernels import (
    inertia_at,
    momentum,
    power,
    rotate_inertia,
    rotation_at,
    row3,
    row6,
    shift_force,
    shift_motion,
    write_row6,
)
from ukctrl.robot.twist_kernels import Twist, add_scaled, add_scaled_twist, bracket, cross

STILL = ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0))


class DerivativeBuffers(NamedTuple):
    """What `force_derivatives` writes on its way, of each joint about its own origin."""

    acceleration: Matrix
    """Shape ``(n, 6)``."""
    force: Matrix
    """On each body and on all beyond it, shape ``(n, 6)``."""
    products: NDArray[np.float64]
    """The matrices ``B`` of each body and of all beyond it by columns, shape ``(n, 6, 6)``."""
    moved: NDArray[np.float64]
    """``x`` and ``y`` of steps of position, and ``x`` of velocity, shape ``(3, nv, 6)``."""

    @staticmethod
    def of(tree: KinematicTree) -> DerivativeBuffers:
        """Return one to write into."""
        n, nv = len(tree.joints), len(tree.armature)
        return DerivativeBuffers(*map(np.zeros, ((n, 6), (n, 6), (n, 6, 6), (3, nv, 6))))


@inlined
def force_bracket(x: Twist, f: Twist) -> Twist:
    """Return how a force changes that is moved along a twist."""
    return cross(x[1], f[0]), add_scaled(cross(x[1], f[1]), 1.0, cross(x[0], f[0]))


@inlined
def unit_twist(k: int) -> Twist:
    """Return the twist of which one of six entries is one."""
    return (1.0 * (k == 0), 1.0 * (k == 1), 1.0 * (k == 2)), (
        1.0 * (k == 3), 1.0 * (k == 4), 1.0 * (k == 5)
    )  # fmt: skip


@compiled
def apply_columns(B: Matrix, x: Twist) -> Twist:
    """Return the sum of rows of ``B``, each times an entry of a twist."""
    u, w = x
    force = add_scaled_twist(STILL, u[0], row6(B, 0))
    force = add_scaled_twist(force, u[1], row6(B, 1))
    force = add_scaled_twist(force, u[2], row6(B, 2))
    force = add_scaled_twist(force, w[0], row6(B, 3))
    force = add_scaled_twist(force, w[1], row6(B, 4))
    return add_scaled_twist(force, w[2], row6(B, 5))


@compiled
def force_derivatives(
    tree: KinematicTree,
    buffers: TreeBuffers,
    a: Vector,
    s: DerivativeBuffers,
    by_q: Matrix,
    by_v: Matrix,
) -> None:
    """Write how ``M a + nle`` changes with ``q`` and ``v``, after `mass_and_bias`.

    Entries between joints neither of which carry the other are left as they are: zero.
    """
    joints, n = tree.joints, len(tree.joints)
    for j in range(1, n):
        parent, iv, arm = joints[j, PARENT], joints[j, IV], row3(buffers.offsets, j)
        by_a = shift_motion(row6(s.acceleration, parent), arm)
        for c in range(iv, iv + joints[j, NV]):
            by_a = add_scaled_twist(by_a, a[c], row6(buffers.axes, c))
        # at first without the bias, whose force is there already
        write_row6(by_a, s.acceleration, j)
        inertia = rotate_inertia(rotation_at(buffers.rotations, j), inertia_at(tree.inertias, j))
        velocity = row6(buffers.velocity, j)
        write_row6(momentum(inertia, by_a), s.force, j)
        carried = momentum(inertia, velocity)
        for k in range(6):
            y = unit_twist(k)
            force = momentum(inertia, bracket(y, velocity))
            force = add_scaled_twist(force, 1.0, force_bracket(y, carried))
            force = add_scaled_twist(force, 1.0, force_bracket(velocity, momentum(inertia, y)))
            write_row6(force, s.products[j], k)
    for j in range(1, n):
        parent, iv, arm = joints[j, PARENT], joints[j, IV], row3(buffers.offsets, j)
        v_p = shift_motion(row6(buffers.velocity, parent), arm)
        # the world rises against gravity in the bias, and has no acceleration by ``a``
        a_p = add_scaled_twist(
            row6(s.acceleration, parent), 1.0, row6(buffers.acceleration, parent)
        )
        a_p = shift_motion(a_p, arm)
        both = add_scaled_twist(row6(buffers.velocity, j), 1.0, v_p)
        for c in range(iv, iv + joints[j, NV]):
            axis = row6(buffers.axes, c)
            y = bracket(v_p, axis)
            write_row6(add_scaled_twist(bracket(a_p, axis), 1.0, bracket(v_p, y)), s.moved[0], c)
            write_row6(y, s.moved[1], c)
            write_row6(bracket(both, axis), s.moved[2], c)
    for j in range(n - 1, 0, -1):
        parent, iv, arm = joints[j, PARENT], joints[j, IV], row3(buffers.offsets, j)
        inertia, B = inertia_at(buffers.composite_inertia, j), s.products[j]
        whole = add_scaled_twist(row6(s.force, j), 1.0, row6(buffers.force, j))
        for c in range(iv, iv + joints[j, NV]):
            axis = row6(buffers.axes, c)
            # what its own step does to all joints that carry it
            f_q = momentum(inertia, row6(s.moved[0], c))
            f_q = add_scaled_twist(f_q, 1.0, apply_columns(B, row6(s.moved[1], c)))
            f_v = momentum(inertia, row6(s.moved[2], c))
            f_v = add_scaled_twist(f_v, 1.0, apply_columns(B, axis))
            for d in range(iv, iv + joints[j, NV]):
                by_q[d, c] = power(row6(buffers.axes, d), f_q)
                by_v[d, c] = power(row6(buffers.axes, d), f_v)
            f_q = add_scaled_twist(f_q, 1.0, force_bracket(axis, whole))
            # and what it feels of theirs
            g_x, b = momentum(inertia, axis), joints[j, PARENT]
            g_y = (
                (power(axis, row6(B, 0)), power(axis, row6(B, 1)), power(axis, row6(B, 2))),
                (power(axis, row6(B, 3)), power(axis, row6(B, 4)), power(axis, row6(B, 5))),
            )
            here = j
            while b > 0:
                shift = row3(buffers.offsets, here)
                f_q, f_v = shift_force(f_q, shift), shift_force(f_v, shift)
                g_x, g_y = shift_force(g_x, shift), shift_force(g_y, shift)
                first = joints[b, IV]
                for d in range(first, first + joints[b, NV]):
                    other = row6(buffers.axes, d)
                    by_q[d, c], by_v[d, c] = power(other, f_q), power(other, f_v)
                    x, y = row6(s.moved[0], d), row6(s.moved[1], d)
                    by_q[c, d] = power(x, g_x) + power(y, g_y)
                    by_v[c, d] = power(row6(s.moved[2], d), g_x) + power(other, g_y)
                here, b = b, joints[b, PARENT]
        if parent > 0:
            force = shift_force(row6(s.force, j), arm)
            write_row6(add_scaled_twist(row6(s.force, parent), 1.0, force), s.force, parent)
            for k in range(6):
                force = shift_force(apply_columns(B, shift_motion(unit_twist(k), arm)), arm)
                force = add_scaled_twist(row6(s.products[parent], k), 1.0, force)
                write_row6(force, s.products[parent], k)
