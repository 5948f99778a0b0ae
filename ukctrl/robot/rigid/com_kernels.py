"""A tree of joints and bodies under gravity, compiled: as one mass, and what its joints carry."""

from __future__ import annotations

import numpy as np

from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.compiled import compiled, deferred
from ukctrl.robot.rigid.tree_kernels import IV, NV, PARENT, KinematicTree, TreeBuffers
from ukctrl.robot.spatial_kernels import (
    dot,
    inertia_at,
    momentum,
    power,
    rotate_inertia,
    rotation_at,
    row3,
    row6,
    shift_force,
    write_row6,
)
from ukctrl.robot.twist_kernels import add_scaled, add_scaled_twist, bracket


@deferred
def centre_of_mass_motion(
    tree: KinematicTree,
    buffers: TreeBuffers,
    v: Vector,
    position: Vector,
    J: Matrix,
    velocity: Vector,
    drift: Vector,
    potential: Vector,
) -> None:
    r"""Write the motion of the centre of mass, after `rigid_terms`, and the potential energy.

    A velocity moves the centre by the momentum $p$ that it gives to all that its joint carries, and
    forces $F$ on the joints at the world accelerate it,

    $$ J_c = p / m, \qquad c = \frac1m \sum_j (m_j x_j + h_j), \qquad
       \ddot c = g + \frac1m \sum_j F_j, \qquad V = -m\, g \cdot c . $$

    Args:
        tree: The joints and bodies.
        buffers: What `rigid_terms` has left there: places, inertias, forces; it starts with ``-g``.
        v: Velocity.
        position: Receives ``c``, shape ``(3,)``; as ``J`` and the next two of no number where there
            is no mass.
        J: Receives its Jacobian, shape ``(3, nv)``.
        velocity: Receives ``J v``, shape ``(3,)``.
        drift: Receives its acceleration at ``a = 0``, shape ``(3,)``.
        potential: Receives ``V``, shape ``(1,)``.
    """
    mass, moment, force = 0.0, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    for j in range(1, len(tree.joints)):
        inertia, iv = inertia_at(buffers.composite_inertia, j), tree.joints[j, IV]
        if tree.joints[j, PARENT] == 0:
            mass += inertia[0]
            tree_moment = add_scaled(inertia[1], inertia[0], row3(buffers.translations, j))
            moment, force = (
                add_scaled(moment, 1.0, tree_moment),
                add_scaled(force, 1.0, row6(buffers.force, j)[0]),
            )
        for c in range(iv, iv + tree.joints[j, NV]):
            p = momentum(inertia, row6(buffers.axes, c))[0]
            J[0, c], J[1, c], J[2, c] = p[0], p[1], p[2]
    if mass == 0.0:
        mass = np.nan
    up = row6(buffers.acceleration, 0)[0]
    potential[0] = dot(up, moment)
    for i in range(3):
        position[i], drift[i], velocity[i] = moment[i] / mass, force[i] / mass - up[i], 0.0
        for c in range(len(v)):
            J[i, c] /= mass
            velocity[i] += J[i, c] * v[c]


@compiled
def gravity_load(tree: KinematicTree, buffers: TreeBuffers, load: Vector) -> None:
    """Write the force that holds all joints at rest, after `rigid_terms`.

    Each carries what is beyond it, as if that were accelerated upwards.
    """
    up = row6(buffers.acceleration, 0)
    for j in range(1, len(tree.joints)):
        force, iv = momentum(inertia_at(buffers.composite_inertia, j), up), tree.joints[j, IV]
        for c in range(iv, iv + tree.joints[j, NV]):
            load[c] = power(row6(buffers.axes, c), force)


@compiled
def momentum_rate(
    tree: KinematicTree, buffers: TreeBuffers, nle: Vector, carried: Matrix, drift: Vector
) -> None:
    r"""Write $\dot M v$, after `rigid_terms`.

    The momentum $p_c = s_c \cdot h_j$ of a velocity is that of all that its joint carries, $h_j$,
    along its axis $s_c$. The first changes by what forces do, $M a + C v$, the axis turns with its
    body, so $\dot M v = (\mathrm{nle} - g)_c + (v_j \times s_c) \cdot h_j$.

    Args:
        tree: The joints and bodies.
        buffers: What `rigid_terms` has left there.
        nle: The bias force.
        carried: Scratch, shape ``(n, 6)``.
        drift: Receives it, shape ``(nv,)``.
    """
    gravity_load(tree, buffers, drift)
    for i in range(len(carried)):
        for k in range(6):
            carried[i, k] = 0.0
    for j in range(len(tree.joints) - 1, 0, -1):
        parent, iv, velocity = tree.joints[j, PARENT], tree.joints[j, IV], row6(buffers.velocity, j)
        body_momentum = momentum(
            rotate_inertia(rotation_at(buffers.rotations, j), inertia_at(tree.inertias, j)),
            velocity,
        )
        total = add_scaled_twist(row6(carried, j), 1.0, body_momentum)
        for c in range(iv, iv + tree.joints[j, NV]):
            turned = power(bracket(velocity, row6(buffers.axes, c)), total)
            drift[c] = nle[c] - drift[c] + turned
        handed = shift_force(total, row3(buffers.offsets, j))
        write_row6(add_scaled_twist(row6(carried, parent), 1.0, handed), carried, parent)
