"""A tree of joints and bodies under gravity, compiled: as one mass, and what its joints carry."""

from __future__ import annotations

import numpy as np

from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.compiled import compiled, deferred
from ukctrl.robot.spatial_kernels import (
    body,
    dot,
    force_from,
    momentum,
    power,
    rotated_body,
    six,
    three,
    turn_at,
    write_six,
)
from ukctrl.robot.tree_kernels import IV, NV, PARENT, Room, Tree
from ukctrl.robot.twist_kernels import bracket, plus, twist_sum


@deferred
def as_one_mass(
    tree: Tree,
    room: Room,
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
        room: What `rigid_terms` has left there: places, inertias, forces; it starts with ``-g``.
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
        inertia, iv = body(room.composite, j), tree.joints[j, IV]
        if tree.joints[j, PARENT] == 0:
            mass += inertia[0]
            here = plus(inertia[1], inertia[0], three(room.translations, j))
            moment, force = plus(moment, 1.0, here), plus(force, 1.0, six(room.force, j)[0])
        for c in range(iv, iv + tree.joints[j, NV]):
            p = momentum(inertia, six(room.axes, c))[0]
            J[0, c], J[1, c], J[2, c] = p[0], p[1], p[2]
    if mass == 0.0:
        mass = np.nan
    up = six(room.acceleration, 0)[0]
    potential[0] = dot(up, moment)
    for i in range(3):
        position[i], drift[i], velocity[i] = moment[i] / mass, force[i] / mass - up[i], 0.0
        for c in range(len(v)):
            J[i, c] /= mass
            velocity[i] += J[i, c] * v[c]


@compiled
def gravity_load(tree: Tree, room: Room, load: Vector) -> None:
    """Write the force that holds all joints at rest, after `rigid_terms`.

    Each carries what is beyond it, as if that were accelerated upwards.
    """
    up = six(room.acceleration, 0)
    for j in range(1, len(tree.joints)):
        force, iv = momentum(body(room.composite, j), up), tree.joints[j, IV]
        for c in range(iv, iv + tree.joints[j, NV]):
            load[c] = power(six(room.axes, c), force)


@compiled
def momentum_drift(tree: Tree, room: Room, nle: Vector, carried: Matrix, drift: Vector) -> None:
    r"""Write $\dot M v$, after `rigid_terms`.

    The momentum $p_c = s_c \cdot h_j$ of a velocity is that of all that its joint carries, $h_j$,
    along its axis $s_c$. The first changes by what forces do, $M a + C v$, the axis turns with its
    body, so $\dot M v = (\mathrm{nle} - g)_c + (v_j \times s_c) \cdot h_j$.

    Args:
        tree: The joints and bodies.
        room: What `rigid_terms` has left there.
        nle: The bias force.
        carried: Scratch, shape ``(n, 6)``.
        drift: Receives it, shape ``(nv,)``.
    """
    gravity_load(tree, room, drift)
    for i in range(len(carried)):
        for k in range(6):
            carried[i, k] = 0.0
    for j in range(len(tree.joints) - 1, 0, -1):
        parent, iv, velocity = tree.joints[j, PARENT], tree.joints[j, IV], six(room.velocity, j)
        own = momentum(rotated_body(turn_at(room.rotations, j), body(tree.inertias, j)), velocity)
        total = twist_sum(six(carried, j), 1.0, own)
        for c in range(iv, iv + tree.joints[j, NV]):
            turned = power(bracket(velocity, six(room.axes, c)), total)
            drift[c] = nle[c] - drift[c] + turned
        handed = force_from(total, three(room.arms, j))
        write_six(twist_sum(six(carried, parent), 1.0, handed), carried, parent)
