"""A tree of joints and bodies under gravity, compiled: as one mass, and what its joints carry."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.compiled import compiled
from ukctrl.robot.tree_kernels import IV, NV, PARENT, Room, Tree, along, momentum


@compiled
def as_one_mass(
    tree: Tree,
    room: Room,
    rotations: NDArray[np.float64],
    translations: Matrix,
    v: Vector,
    position: Vector,
    J: Matrix,
    velocity: Vector,
    drift: Vector,
    potential: Vector,
) -> None:
    r"""Write the motion of the centre of mass, after `rigid_terms`, and the potential energy.

    A velocity moves the centre by the momentum $p$ that it gives to all that its joint carries, in
    world axes, and forces $F$ on the joints at the world accelerate it,

    $$ J_c = p / m, \qquad c = \frac1m \sum_j (m_j x_j + R_j h_j), \qquad
       \ddot c = g + \frac1m \sum_j R_j F_j, \qquad V = -m\, g \cdot c . $$

    Args:
        tree: The joints and bodies.
        room: What `rigid_terms` has left there: inertias, forces; it starts with ``-g``.
        rotations: Of the joints in the world.
        translations: The same.
        v: Velocity.
        position: Receives ``c``, shape ``(3,)``; as ``J`` and the next two of no number where there
            is no mass.
        J: Receives its Jacobian, shape ``(3, nv)``.
        velocity: Receives ``J v``, shape ``(3,)``.
        drift: Receives its acceleration at ``a = 0``, shape ``(3,)``.
        potential: Receives ``V``, shape ``(1,)``.
    """
    mass, p = 0.0, room.vectors[0]
    for i in range(3):
        position[i] = velocity[i] = drift[i] = 0.0
    for j in range(1, len(tree.joints)):
        R, Y = rotations[j], room.composite[j]
        if tree.joints[j, PARENT] == 0:
            mass += Y[0]
            for i in range(3):
                position[i] += Y[0] * translations[j, i]
                for k in range(3):
                    position[i] += R[i, k] * Y[1 + k]
                    drift[i] += R[i, k] * room.force[j, k]
        for c in range(tree.joints[j, IV], tree.joints[j, IV] + tree.joints[j, NV]):
            momentum(Y, tree.subspace[c], p)
            for i in range(3):
                J[i, c] = R[i, 0] * p[0] + R[i, 1] * p[1] + R[i, 2] * p[2]
    if mass == 0.0:
        mass = np.nan
    potential[0] = 0.0
    for i in range(3):
        up = room.acceleration[0, i]
        potential[0] += up * position[i]
        position[i] /= mass
        drift[i] = drift[i] / mass - up
        for c in range(len(v)):
            J[i, c] /= mass
            velocity[i] += J[i, c] * v[c]


@compiled
def gravity_load(tree: Tree, room: Room, rotations: NDArray[np.float64], load: Vector) -> None:
    """Write the force that holds all joints at rest, after `rigid_terms`.

    Each carries what is beyond it, as if that were accelerated upwards.
    """
    up, force = room.vectors[0], room.vectors[1]
    for j in range(1, len(tree.joints)):
        for i in range(3):
            up[i] = up[3 + i] = 0.0
            for k in range(3):
                up[i] += rotations[j, k, i] * room.acceleration[0, k]
        momentum(room.composite[j], up, force)
        for c in range(tree.joints[j, IV], tree.joints[j, IV] + tree.joints[j, NV]):
            load[c] = along(tree.subspace[c], force)
