"""Applied forces, what they store, and moving columns of ``B``, compiled."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ukctrl.core.arrays import Flags, Indices, Matrix, Vector
from ukctrl.core.compiled import allocating, compiled
from ukctrl.robot.frame_site import FramePlacement, JointKinematics

ENERGY, POWER = range(2)
"""Places in `Snapshot.stored`."""


class ForceBuffers(NamedTuple):
    """What forces add to: the generalised force, and the energy stored with its rate."""

    f: Vector
    stored: Vector


class JointSpringTable(NamedTuple):
    """Where springs of joints pull: coordinates, velocities, and where they are relaxed."""

    coordinates: Indices
    dofs: Indices
    rest: NDArray[np.float64]


class SpringLaw(NamedTuple):
    """A linear spring with its damper."""

    stiffness: float
    rest: float
    damping: float


class ElasticIndices(NamedTuple):
    """Where joints and motors are, in ``v`` and ``q``, and which turn without end."""

    links: Indices
    motors: Indices
    link_coordinates: Indices
    motor_coordinates: Indices
    continuous: Flags


class BodyPoints(NamedTuple):
    """Points of bodies: the joints that carry them, where in their frames, and what moves them."""

    joints: Indices
    centres: Matrix
    """Shape ``(k, 3)`` [m]."""
    reached: Flags
    """Which velocities move each, shape ``(k, nv)``."""


@compiled
def set_zero(f: Vector) -> None:
    """Write zeros."""
    for i in range(len(f)):
        f[i] = 0.0


@compiled
def add_into(f: Vector, nonideal: Vector, out: Vector) -> None:
    """Write the sum of two forces."""
    for i in range(len(f)):
        out[i] = f[i] + nonideal[i]


@compiled
def add_damping(damping: Vector, v: Vector, f: Vector) -> None:
    """Add ``-damping v``."""
    for i in range(len(f)):
        f[i] -= damping[i] * v[i]


@compiled
def add_friction(
    dofs: Indices,
    level: Vector,
    scale: Vector,
    excess: Vector,
    fall: Vector,
    viscous: Vector,
    asymmetry: Vector,
    v: Vector,
    f: Vector,
) -> None:
    """Add ``-(level + excess exp(-(v / fall)^2)) tanh(v / scale) - viscous v - asymmetry``."""
    for i in range(len(dofs)):
        slip, friction = v[dofs[i]], level[i]
        if excess[i] != 0.0:
            ratio = slip / fall[i]
            friction += excess[i] * math.exp(-(ratio * ratio))
        f[dofs[i]] -= friction * math.tanh(slip / scale[i]) + viscous[i] * slip + asymmetry[i]


@compiled
def add_joint_springs(
    springs: JointSpringTable, stiffness: Vector, q: Vector, v: Vector, out: ForceBuffers
) -> None:
    """Add ``-stiffness (q - rest)``."""
    (coordinates, dofs, equilibrium), (f, stored) = springs, out
    for i in range(len(dofs)):
        stretch = q[coordinates[i]] - equilibrium[i]
        force = stiffness[i] * stretch
        f[dofs[i]] -= force
        stored[ENERGY] += 0.5 * force * stretch
        stored[POWER] += force * v[dofs[i]]


@compiled
def add_nonlinear_springs(
    springs: JointSpringTable,
    stiffness: Matrix,
    damping: Matrix,
    q: Vector,
    v: Vector,
    out: ForceBuffers,
) -> None:
    """Add what springs and dampers do beyond their linear parts; see `NonlinearJointSprings`."""
    (coordinates, dofs, equilibrium), (f, stored) = springs, out
    for i in range(len(dofs)):
        rate, second, third = v[dofs[i]], stiffness[i, 0], stiffness[i, 1]
        if second != 0.0 or third != 0.0:
            x = q[coordinates[i]] - equilibrium[i]
            force = x * x * (second + third * x)
            f[dofs[i]] -= force
            stored[ENERGY] += x * x * x * (second / 3.0 + 0.25 * third * x)
            stored[POWER] += force * rate
        f[dofs[i]] -= rate * (damping[i, 0] * abs(rate) + damping[i, 1] * rate * rate)


@compiled
def add_ball_joint_springs(
    springs: JointSpringTable,
    slides: Flags,
    stiffness: Matrix,
    q: Vector,
    v: Vector,
    out: ForceBuffers,
) -> None:
    """Add what springs of ball and free joints do; see `BallJointSprings`."""
    (coordinates, dofs, equilibrium), (f, stored) = springs, out
    for i in range(len(dofs)):
        at, dof = coordinates[i], dofs[i]
        k1, k2, k3 = stiffness[i, 0], stiffness[i, 1], stiffness[i, 2]
        quaternion = at + 3 if slides[i] else at
        x, y, z, w = q[quaternion], q[quaternion + 1], q[quaternion + 2], q[quaternion + 3]
        if slides[i]:  # towards a place of the world, along the body's axes
            dx, dy, dz = (
                q[at] - equilibrium[i, 0],
                q[at + 1] - equilibrium[i, 1],
                q[at + 2] - equilibrium[i, 2],
            )
            a = (1 - 2 * (y * y + z * z)) * dx + 2 * (x * y + z * w) * dy + 2 * (x * z - y * w) * dz
            b = 2 * (x * y - z * w) * dx + (1 - 2 * (x * x + z * z)) * dy + 2 * (y * z + x * w) * dz
            c = 2 * (x * z + y * w) * dx + 2 * (y * z - x * w) * dy + (1 - 2 * (x * x + y * y)) * dz
            far = math.sqrt(dx * dx + dy * dy + dz * dz)
        else:  # towards an orientation, by the turn from there
            rx, ry, rz, rw = (
                equilibrium[i, 0],
                equilibrium[i, 1],
                equilibrium[i, 2],
                equilibrium[i, 3],
            )
            a = rw * x - rx * w - ry * z + rz * y
            b = rw * y - ry * w - rz * x + rx * z
            c = rw * z - rz * w - rx * y + ry * x
            d = rw * w + rx * x + ry * y + rz * z
            sine = math.sqrt(a * a + b * b + c * c)
            far = 2.0 * math.atan2(sine, d)
            if far > np.pi:
                far -= 2.0 * np.pi
            share = far / sine if sine > 0.0 else 0.0
            a, b, c, far = share * a, share * b, share * c, abs(far)
        pull = k1 + far * (k2 + far * k3)
        f[dof] -= pull * a
        f[dof + 1] -= pull * b
        f[dof + 2] -= pull * c
        stored[ENERGY] += far * far * (k1 / 2.0 + far * (k2 / 3.0 + far * k3 / 4.0))
        stored[POWER] += pull * (a * v[dof] + b * v[dof + 1] + c * v[dof + 2])


@compiled
def spring_stretch(at: int, motor: int, continuous: bool, q: Vector) -> float:
    """Return how far a motor is ahead of its joint; of one without end, the shorter way round."""
    if continuous:
        stretch = q[motor] - math.atan2(q[at + 1], q[at])
        return float(stretch - 2.0 * np.pi * np.rint(stretch / (2.0 * np.pi)))
    return float(q[motor] - q[at])


@compiled
def write_spring_stretches(
    joints: Indices, motors: Indices, continuous: Flags, q: Vector, out: Vector
) -> None:
    """Write how far motors are ahead of their joints; see `ElasticJoints.indices`."""
    for i in range(len(joints)):
        out[i] = spring_stretch(joints[i], motors[i], continuous[i], q)


@compiled
def add_elastic_torques(
    at: ElasticIndices,
    stiffness: Vector,
    damping: Vector,
    play: Vector,
    q: Vector,
    v: Vector,
    out: ForceBuffers,
) -> None:
    """Add what springs and dampers do between joints and their motors; see `ElasticJoints`.

    ``play`` is how far each is loose to either side. There the flanks push and never pull: damping
    cannot hold them together.
    """
    links, motors, link_coordinates, motor_coordinates, continuous = at
    f, stored = out
    for i in range(len(links)):
        stretch = spring_stretch(link_coordinates[i], motor_coordinates[i], continuous[i], q)
        stretch -= min(max(stretch, -play[i]), play[i])
        rate = v[motors[i]] - v[links[i]]
        force = stiffness[i] * stretch
        stored[ENERGY] += 0.5 * force * stretch
        stored[POWER] += force * rate
        torque = force + damping[i] * rate
        if play[i] > 0.0 and torque * stretch <= 0.0:
            continue
        f[links[i]] += torque
        f[motors[i]] -= torque


@compiled
def scatter_add(dofs: Indices, values: Vector, f: Vector) -> None:
    """Add values, each at its place."""
    for i in range(len(dofs)):
        f[dofs[i]] += values[i]


@compiled
def world_position(
    rotations: NDArray[np.float64], translations: Matrix, joint: int, local: Vector, out: Vector
) -> None:
    """Write where a point of a body is in the world."""
    for i in range(3):
        out[i] = translations[joint, i]
        for k in range(3):
            out[i] += rotations[joint, i, k] * local[k]


@compiled
def generalised_force(Jt: Matrix, point: Vector, force: Vector, torque: Vector, c: int) -> float:
    """Return the generalised force along a velocity of a push at a place of the world."""
    total = 0.0
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        moment = point[j] * force[k] - point[k] * force[j] + torque[i]
        total += Jt[c, i] * force[i] + Jt[c, 3 + i] * moment
    return total


@allocating
def add_frame_spring(
    moving: JointKinematics,
    start: FramePlacement,
    end: FramePlacement,
    spring: SpringLaw,
    gradient: Vector,
    out: ForceBuffers,
) -> None:
    """Add the tension of a spring between two points; ``gradient`` is room for its length's."""
    (Jt, _, v, rotations, translations), (f, stored) = moving, out
    stiffness, l_free, damping = spring
    a, b, none = np.empty(3), np.empty(3), np.zeros(3)
    world_position(rotations, translations, start.joint, start.translation, a)
    world_position(rotations, translations, end.joint, end.translation, b)
    line = b - a
    length = np.sqrt(line[0] * line[0] + line[1] * line[1] + line[2] * line[2])
    force = stiffness * (length - l_free)
    stored[ENERGY] += 0.5 * force * (length - l_free)
    if length == 0.0:
        return
    for i in range(3):
        line[i] /= length
    for c in range(len(v)):
        gradient[c] = 0.0
    for c in end.columns:
        gradient[c] += generalised_force(Jt, b, line, none, c)
    for c in start.columns:
        gradient[c] -= generalised_force(Jt, a, line, none, c)
    rate = 0.0
    for c in range(len(v)):
        rate += gradient[c] * v[c]
    stored[POWER] += force * rate
    tension = force + damping * rate
    for c in range(len(v)):
        f[c] -= tension * gradient[c]


@allocating
def add_gravity_compensation(
    moving: JointKinematics,
    points: BodyPoints,
    masses: Vector,
    gravity: Vector,
    out: ForceBuffers,
) -> None:
    """Add what carries masses against gravity; see `GravityCompensation`."""
    (Jt, _, v, rotations, translations), (f, stored) = moving, out
    joints, centres, reached = points
    point, force, none = np.empty(3), np.empty(3), np.zeros(3)
    for i in range(len(joints)):
        world_position(rotations, translations, joints[i], centres[i], point)
        for k in range(3):
            force[k] = -masses[i] * gravity[k]
            stored[ENERGY] -= force[k] * point[k]
        for c in range(len(v)):
            if reached[i, c]:
                push = generalised_force(Jt, point, force, none, c)
                f[c] += push
                stored[POWER] -= push * v[c]


@allocating
def add_fluid_drag(
    moving: JointKinematics,
    points: BodyPoints,
    axes: NDArray[np.float64],
    boxes: Matrix,
    medium: Vector,
    f: Vector,
) -> None:
    """Add what a fluid does to boxes; see `FluidDrag`. ``medium``: density, viscosity, wind."""
    Jt, _, v, rotations, translations = moving
    joints, centres, reached = points
    point, spin, slide = np.empty(3), np.empty(3), np.empty(3)
    force, torque, turn = np.empty(3), np.empty(3), np.empty((3, 3))
    density, viscosity = medium[0], medium[1]
    for i in range(len(joints)):
        world_position(rotations, translations, joints[i], centres[i], point)
        for k in range(3):
            spin[k], slide[k], force[k], torque[k] = 0.0, -medium[2 + k], 0.0, 0.0
            for n in range(3):
                turn[k, n] = 0.0
                for w in range(3):
                    turn[k, n] += rotations[joints[i], k, w] * axes[i, w, n]
        for c in range(len(v)):
            if reached[i, c]:
                for k in range(3):
                    n, w = (k + 1) % 3, (k + 2) % 3
                    spin[k] += Jt[c, 3 + k] * v[c]
                    arm = Jt[c, 3 + n] * point[w] - Jt[c, 3 + w] * point[n]
                    slide[k] += (Jt[c, k] + arm) * v[c]
        across = (boxes[i, 0] + boxes[i, 1] + boxes[i, 2]) / 3.0
        for k in range(3):  # along the axes of the box
            n, w = (k + 1) % 3, (k + 2) % 3
            turning = turn[0, k] * spin[0] + turn[1, k] * spin[1] + turn[2, k] * spin[2]
            sliding = turn[0, k] * slide[0] + turn[1, k] * slide[1] + turn[2, k] * slide[2]
            side, width = boxes[i, n], boxes[i, w]
            push = -3.0 * np.pi * across * viscosity * sliding
            push -= 0.5 * density * side * width * abs(sliding) * sliding
            twist = -np.pi * across**3 * viscosity * turning
            twist -= density * boxes[i, k] * (side**4 + width**4) * abs(turning) * turning / 64.0
            for x in range(3):
                force[x] += turn[x, k] * push
                torque[x] += turn[x, k] * twist
        for c in range(len(v)):
            if reached[i, c]:
                f[c] += generalised_force(Jt, point, force, torque, c)


@allocating
def wrench_column(
    moving: JointKinematics,
    frame: FramePlacement,
    force: Vector,
    torque: Vector,
    at: int,
    B: Matrix,
) -> None:
    """Write the column of a push that is fixed in a joint's frame; see `WrenchColumn`."""
    Jt, _, _, rotations, translations = moving
    joint, _, local, columns = frame
    point, turned, twisted = np.empty(3), np.zeros(3), np.zeros(3)
    world_position(rotations, translations, joint, local, point)
    for i in range(3):
        for k in range(3):
            turned[i] += rotations[joint, i, k] * force[k]
            twisted[i] += rotations[joint, i, k] * torque[k]
    for c in columns:
        B[c, at] = generalised_force(Jt, point, turned, twisted, c)


@allocating
def torque_column(
    moving: JointKinematics, joint: int, axis: Vector, sign: Vector, at: int, B: Matrix
) -> None:
    """Write the column of a torque between two frames; see `TorqueColumn`."""
    Jt, rotations = moving.Jt, moving.rotations
    turned = np.zeros(3)
    for i in range(3):
        for k in range(3):
            turned[i] += rotations[joint, i, k] * axis[k]
    for c in range(len(sign)):
        total = 0.0
        for i in range(3):
            total += Jt[c, 3 + i] * turned[i]
        B[c, at] = sign[c] * total


@compiled
def scatter_column(dofs: Indices, values: Vector, at: int, B: Matrix) -> None:
    """Write values, each at its place, into a column."""
    for i in range(len(dofs)):
        B[dofs[i], at] = values[i]


@compiled
def unpack_mass_and_bias(values: Vector, n_plant: int, M: Matrix, nle: Vector) -> None:
    """Write ``M`` row by row, and ``nle``, of a plant's own coordinates."""
    for i in range(n_plant):
        for k in range(n_plant):
            M[i, k] = values[i * n_plant + k]
        nle[i] = values[n_plant * n_plant + i]
