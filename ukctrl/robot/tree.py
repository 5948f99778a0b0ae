"""The tree of joints and bodies of a Pinocchio model as arrays, whose terms Pinocchio judges."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pinocchio as pin

from ukctrl.core.arrays import Array, Indices, Matrix, Vector
from ukctrl.core.errors import ModelError
from ukctrl.core.extremes import max_abs
from ukctrl.robot.rigid_arrays import roots_of
from ukctrl.robot.rigid_snapshot import room_for
from ukctrl.robot.tree_kernels import (
    CIRCLE,
    FREE,
    IQ,
    IV,
    NV,
    PARENT,
    PLANAR,
    PRISMATIC,
    SCREW,
    SPHERICAL,
    TURN_X,
    TURN_Y,
    TURN_Z,
    Tree,
    rigid_terms,
)
from ukctrl.robot.whole_kernels import as_one_mass, gravity_load

KINDS = {
    "RUB": CIRCLE, "RevoluteUnb": CIRCLE, "RX": TURN_X, "RY": TURN_Y, "RZ": TURN_Z, "R": SCREW,
    "H": SCREW, "Planar": PLANAR, "P": PRISMATIC, "Spherical": SPHERICAL, "FreeFlyer": FREE,
}  # fmt: skip
"""By how Pinocchio's name of a joint begins; the first that fits."""
STATES = 3
"""States at which it is compared with Pinocchio."""
TOGETHER = 60
"""Velocities of separate trees that are compared at a time."""
CLOSE = 1e-12
"""Largest difference from Pinocchio, of the largest entry of each term."""


def tree_of(model: Any) -> Tree:
    """Return the arrays of a ``pinocchio.Model`` whose joints `ukctrl.robot.layout` knows."""
    neutral = pin.neutral(model)
    joints = np.zeros((model.njoints, 5), dtype=np.int64)
    subspace: Matrix = np.zeros((model.nv, 6))
    for j in range(1, model.njoints):
        joint = model.joints[j]
        joints[j] = model.parents[j], _kind(joint), joint.idx_q, joint.idx_v, joint.nv
        part = slice(joint.idx_v, joint.idx_v + joint.nv)
        own = joint.createData()
        joint.calc(own, neutral)
        subspace[part] = np.reshape(own.S, (6, -1)).T
    places = list(model.jointPlacements)
    return Tree(
        joints,
        subspace,
        np.array([place.rotation for place in places]),
        np.array([place.translation for place in places]),
        inertias_of(model),
        np.array(model.armature, dtype=np.float64),
    )


def inertias_of(model: Any) -> Matrix:
    """Return the inertial parameters of all bodies, shape ``(njoints, 10)``."""
    return np.array([body.toDynamicParameters() for body in model.inertias])


def _kind(joint: Any) -> int:
    name = joint.shortname().removeprefix("JointModel")
    return next(kind for start, kind in KINDS.items() if name.startswith(start))


class Compared(NamedTuple):
    """A term as it is here, and as it is in Pinocchio."""

    name: str
    ours: Array
    """A line for each of `joints`."""
    theirs: Any
    size: float
    """What it may cancel from; else its largest entry counts."""
    joints: Sequence[int] | Indices
    """What an error names; 0 is all of them."""


def compare_with_pinocchio(model: Any, tree: Tree) -> None:
    """Compare the terms with Pinocchio's at random states, some separate bodies at a time.

    Raises:
        ModelError: They differ by more than rounding; it names the joint.
    """
    for part in _parts(model, tree) if model.nv > TOGETHER else ((model, tree),):
        _compare(*part)


def largest_tree(model: Any) -> int:
    """Return how many velocities the largest tree has that stands on the world."""
    sizes = [0, *(joint.nv for joint in list(model.joints)[1:])]
    return int(np.bincount(roots_of(np.array(model.parents, dtype=np.int64)), sizes).max())


def _parts(model: Any, tree: Tree) -> Iterator[tuple[Any, Tree]]:
    """Yield trees that stand on the world, some at a time, each as a robot of its own.

    A ``pinocchio.Data`` has tables of ``nv**3`` numbers: gigabytes for a swarm.
    """
    parents, sizes = tree.joints[:, PARENT], tree.joints[:, NV]
    roots = roots_of(parents)
    number = np.cumsum(np.bincount(roots, weights=sizes))[roots] // TOGETHER
    for one in np.unique(number[1:]):
        joints = np.concatenate(([0], 1 + np.flatnonzero(number[1:] == one)))
        part, place = pin.Model(), np.zeros(len(parents), dtype=np.int64)
        part.gravity = model.gravity
        for j in joints[1:].tolist():
            at = int(place[parents[j]]), model.joints[j], model.jointPlacements[j], model.names[j]
            place[j] = part.addJoint(*at)
            part.appendBodyToJoint(int(place[j]), model.inertias[j], pin.SE3.Identity())
        velocities = np.flatnonzero(np.isin(_velocities(model), joints))
        part.armature[:] = model.armature[velocities]
        own = tree.joints[joints]
        own[:, PARENT] = place[own[:, PARENT]]
        for k in range(1, part.njoints):
            own[k, IQ], own[k, IV] = part.joints[k].idx_q, part.joints[k].idx_v
        bodies = tree.rotations[joints], tree.translations[joints], tree.inertias[joints]
        yield part, Tree(own, tree.subspace[velocities], *bodies, tree.armature[velocities])


def _compare(model: Any, tree: Tree) -> None:
    rng = np.random.default_rng(0)
    data, room = model.createData(), room_for(tree, np.array(model.gravity.linear), model.nq)
    nv = model.nv
    written = np.zeros((nv, nv)), np.zeros(nv), np.zeros((nv, 6)), np.zeros((nv, 6))
    terms = *written, room.rotations, room.translations
    whole = np.zeros(3), np.zeros((3, nv)), np.zeros(3), np.zeros(3), np.zeros(1), np.zeros(nv)
    for _ in range(STATES):
        q = pin.integrate(model, pin.neutral(model), rng.standard_normal(nv))
        v = rng.standard_normal(nv)
        rigid_terms(tree, room, q, v, *written)
        as_one_mass(tree, room, v, *whole[:-1])
        gravity_load(tree, room, whole[-1])
        compared = (*_joints(model, data, q, v, terms), *_whole(model, data, q, v, whole))
        for name, ours, theirs, size, joints in compared:
            off = np.abs(ours - np.asarray(theirs)).reshape(len(ours), -1).max(axis=1, initial=0.0)
            bad = np.flatnonzero(~(off <= CLOSE * max(max_abs(np.asarray(theirs)), size)))
            if bad.size:
                joint = int(joints[bad[0]])
                at = f"joint '{model.names[joint]}' ({model.joints[joint].shortname()})"
                raise ModelError(
                    f"the {name} at {at if joint else 'all joints together'} must be that of "
                    f"Pinocchio to {CLOSE:g}; it is off by {off[bad[0]]:.1e}. Please report the "
                    "model file."
                )


def _velocities(model: Any) -> Indices:
    """Return the joint that each velocity belongs to."""
    return np.repeat(np.arange(1, model.njoints), [joint.nv for joint in list(model.joints)[1:]])


def _joints(
    model: Any, data: Any, q: Vector, v: Vector, terms: tuple[Array, ...]
) -> Iterator[Compared]:
    """Yield what `rigid_terms` wrote."""
    M, nle, Jt, dJt, rotations, translations = terms
    nv, of_velocities, every = model.nv, _velocities(model), range(model.njoints)
    pin.crba(model, data, q)
    pin.nonLinearEffects(model, data, q, v)
    pin.computeJointJacobiansTimeVariation(model, data, q, v)
    half = np.triu(np.reshape(data.M, (nv, nv)))
    J, dJ = np.reshape(data.J, (6, nv)).T, np.reshape(data.dJ, (6, nv)).T
    turning = max_abs(M) * max_abs(v) ** 2  # what centrifugal forces may cancel from
    yield Compared("mass matrix", M, half + np.triu(half, 1).T, 0.0, of_velocities)
    yield Compared("bias force", nle, data.nle, turning, of_velocities)
    yield Compared("Jacobian", Jt, J, 0.0, of_velocities)
    yield Compared("drift of the Jacobian", dJt, dJ, max_abs(J), of_velocities)
    yield Compared("place", translations, [at.translation for at in data.oMi], 0.0, every)
    yield Compared("orientation", rotations, [at.rotation for at in data.oMi], 0.0, every)


def _whole(
    model: Any, data: Any, q: Vector, v: Vector, terms: tuple[Array, ...]
) -> Iterator[Compared]:
    """Yield what `as_one_mass` wrote, of bodies without mass the energy alone; and the load."""
    position, J, velocity, drift, potential, load = terms
    of_velocities, three = _velocities(model), [0] * 3
    pin.centerOfMass(model, data, q, v, np.zeros(model.nv), False)
    weight, mass = max_abs(model.gravity.linear), data.mass[0]
    reach = max_abs(np.array([at.translation for at in data.oMi]))
    reach += max_abs(np.array([body.lever for body in model.inertias]))
    energy = pin.computePotentialEnergy(model, data, q)
    yield Compared("potential energy", potential, [energy], mass * weight * reach, [0])
    theirs = pin.computeGeneralizedGravity(model, data, q).copy()
    yield Compared("gravity load", load, theirs, mass * weight * reach, of_velocities)
    if mass > 0.0:
        fast = max_abs(v) ** 2 * reach + weight  # what its acceleration may cancel from
        yield Compared("centre of mass", position, data.com[0].copy(), reach, three)
        yield Compared(
            "velocity of the centre of mass",
            velocity,
            data.vcom[0].copy(),
            max_abs(v) * reach,
            three,
        )
        yield Compared("drift of the centre of mass", drift, data.acom[0].copy(), fast, three)
        theirs = np.reshape(pin.jacobianCenterOfMass(model, data, q, False), (3, -1)).T
        yield Compared("Jacobian of the centre of mass", J.T, theirs, reach, of_velocities)
