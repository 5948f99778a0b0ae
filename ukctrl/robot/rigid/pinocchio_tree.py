"""The tree of joints and bodies of a Pinocchio model as arrays, whose terms Pinocchio judges."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pinocchio as pin

from ukctrl.core.arrays import Array, Indices, Matrix, Vector
from ukctrl.core.errors import ModelError
from ukctrl.core.tie_breaking import max_abs
from ukctrl.robot.rigid.com_kernels import centre_of_mass_motion, gravity_load
from ukctrl.robot.rigid.rigid_snapshot import tree_buffers
from ukctrl.robot.rigid.rigid_structure import tree_roots
from ukctrl.robot.rigid.tree_kernels import (
    CIRCLE,
    FREE,
    IQ,
    IV,
    NV,
    PARENT,
    PLANAR,
    PRISMATIC,
    REVOLUTE_X,
    REVOLUTE_Y,
    REVOLUTE_Z,
    SCREW,
    SPHERICAL,
    KinematicTree,
    rigid_terms,
)

KINDS = {
    "RUB": CIRCLE, "RevoluteUnb": CIRCLE, "RX": REVOLUTE_X, "RY": REVOLUTE_Y, "RZ": REVOLUTE_Z,
    "R": SCREW,
    "H": SCREW, "Planar": PLANAR, "P": PRISMATIC, "Spherical": SPHERICAL, "FreeFlyer": FREE,
}  # fmt: skip
"""By how Pinocchio's name of a joint begins; the first that fits."""
STATES = 3
"""States at which it is compared with Pinocchio."""
MAX_COMPARED = 60
"""Velocities of separate trees that are compared at a time."""
MAX_DIFFERENCE = 1e-12
"""Largest difference from Pinocchio, of the largest entry of each term."""


def kinematic_tree(model: Any) -> KinematicTree:
    """Return the arrays of a ``pinocchio.Model`` whose joints `ukctrl.robot.joint_layout` knows."""
    neutral = pin.neutral(model)
    joints = np.zeros((model.njoints, 5), dtype=np.int64)
    subspace: Matrix = np.zeros((model.nv, 6))
    for j in range(1, model.njoints):
        joint = model.joints[j]
        joints[j] = model.parents[j], _kind(joint), joint.idx_q, joint.idx_v, joint.nv
        span = slice(joint.idx_v, joint.idx_v + joint.nv)
        data = joint.createData()
        joint.calc(data, neutral)
        subspace[span] = np.reshape(data.S, (6, -1)).T
    poses = list(model.jointPlacements)
    return KinematicTree(
        joints,
        subspace,
        np.array([pose.rotation for pose in poses]),
        np.array([pose.translation for pose in poses]),
        inertial_parameters(model),
        np.array(model.armature, dtype=np.float64),
    )


def inertial_parameters(model: Any) -> Matrix:
    """Return the inertial parameters of all bodies, shape ``(njoints, 10)``."""
    return np.array([body.toDynamicParameters() for body in model.inertias])


def _kind(joint: Any) -> int:
    name = joint.shortname().removeprefix("JointModel")
    return next(kind for start, kind in KINDS.items() if name.startswith(start))


class TermComparison(NamedTuple):
    """A term as it is here, and as it is in Pinocchio."""

    name: str
    value: Array
    """A line for each of `joints`."""
    pinocchio_value: Any
    size: float
    """What it may cancel from; else its largest entry counts."""
    joints: Sequence[int] | Indices
    """What an error names; 0 is all of them."""


def compare_with_pinocchio(model: Any, tree: KinematicTree) -> None:
    """Compare the terms with Pinocchio's at random states, some separate bodies at a time.

    Raises:
        ModelError: They differ by more than rounding; it names the joint.
    """
    # apart where there are many: a `pinocchio.Data` holds tables of nv^3 numbers
    for subsystem in _parts(model, tree) if model.nv > MAX_COMPARED else ((model, tree),):
        _compare(*subsystem)


def largest_tree(model: Any) -> int:
    """Return how many velocities the largest tree has that stands on the world."""
    sizes = [0, *(joint.nv for joint in list(model.joints)[1:])]
    return int(np.bincount(tree_roots(np.array(model.parents, dtype=np.int64)), sizes).max())


def _parts(model: Any, tree: KinematicTree) -> Iterator[tuple[Any, KinematicTree]]:
    """Yield trees that stand on the world, some at a time, each as a robot of its own.

    A ``pinocchio.Data`` has tables of ``nv**3`` numbers: gigabytes for a swarm.
    """
    parents, sizes = tree.joints[:, PARENT], tree.joints[:, NV]
    roots = tree_roots(parents)
    number = np.cumsum(np.bincount(roots, weights=sizes))[roots] // MAX_COMPARED
    for one in np.unique(number[1:]):
        joints = np.concatenate(([0], 1 + np.flatnonzero(number[1:] == one)))
        submodel, joint_map = pin.Model(), np.zeros(len(parents), dtype=np.int64)
        submodel.gravity = model.gravity
        for j in joints[1:].tolist():
            at = (
                int(joint_map[parents[j]]),
                model.joints[j],
                model.jointPlacements[j],
                model.names[j],
            )
            joint_map[j] = submodel.addJoint(*at)
            submodel.appendBodyToJoint(int(joint_map[j]), model.inertias[j], pin.SE3.Identity())
        velocities = np.flatnonzero(np.isin(_velocities(model), joints))
        submodel.armature[:] = model.armature[velocities]
        rows = tree.joints[joints]
        rows[:, PARENT] = joint_map[rows[:, PARENT]]
        for k in range(1, submodel.njoints):
            rows[k, IQ], rows[k, IV] = submodel.joints[k].idx_q, submodel.joints[k].idx_v
        bodies = tree.rotations[joints], tree.translations[joints], tree.inertias[joints]
        yield (
            submodel,
            KinematicTree(rows, tree.subspace[velocities], *bodies, tree.armature[velocities]),
        )


def _compare(model: Any, tree: KinematicTree) -> None:
    rng = np.random.default_rng(0)
    data, buffers = model.createData(), tree_buffers(tree, np.array(model.gravity.linear), model.nq)
    nv = model.nv
    written = np.zeros((nv, nv)), np.zeros(nv), np.zeros((nv, 6)), np.zeros((nv, 6))
    terms = *written, buffers.rotations, buffers.translations
    whole = np.zeros(3), np.zeros((3, nv)), np.zeros(3), np.zeros(3), np.zeros(1), np.zeros(nv)
    for _ in range(STATES):
        q = pin.integrate(model, pin.neutral(model), rng.standard_normal(nv))
        v = rng.standard_normal(nv)
        rigid_terms(tree, buffers, q, v, *written)
        centre_of_mass_motion(tree, buffers, v, *whole[:-1])
        gravity_load(tree, buffers, whole[-1])
        compared = (*_joints(model, data, q, v, terms), *_whole(model, data, q, v, whole))
        for name, ours, theirs, size, joints in compared:
            off = np.abs(ours - np.asarray(theirs)).reshape(len(ours), -1).max(axis=1, initial=0.0)
            bad = np.flatnonzero(~(off <= MAX_DIFFERENCE * max(max_abs(np.asarray(theirs)), size)))
            if bad.size:
                joint = int(joints[bad[0]])
                at = f"joint '{model.names[joint]}' ({model.joints[joint].shortname()})"
                raise ModelError(
                    f"the {name} at {at if joint else 'all joints together'} must be that of "
                    f"Pinocchio to {MAX_DIFFERENCE:g}; it is off by {off[bad[0]]:.1e}. Please "
                    "report the "
                    "model file."
                )


def _velocities(model: Any) -> Indices:
    """Return the joint that each velocity belongs to."""
    return np.repeat(np.arange(1, model.njoints), [joint.nv for joint in list(model.joints)[1:]])


def _joints(
    model: Any, data: Any, q: Vector, v: Vector, terms: tuple[Array, ...]
) -> Iterator[TermComparison]:
    """Yield what `rigid_terms` wrote."""
    M, nle, Jt, dJt, rotations, translations = terms
    nv, of_velocities, joints = model.nv, _velocities(model), range(model.njoints)
    pin.crba(model, data, q)
    pin.nonLinearEffects(model, data, q, v)
    pin.computeJointJacobiansTimeVariation(model, data, q, v)
    half = np.triu(np.reshape(data.M, (nv, nv)))
    J, dJ = np.reshape(data.J, (6, nv)).T, np.reshape(data.dJ, (6, nv)).T
    turning = max_abs(M) * max_abs(v) ** 2  # what centrifugal forces may cancel from
    yield TermComparison("mass matrix", M, half + np.triu(half, 1).T, 0.0, of_velocities)
    yield TermComparison("bias force", nle, data.nle, turning, of_velocities)
    yield TermComparison("Jacobian", Jt, J, 0.0, of_velocities)
    yield TermComparison("drift of the Jacobian", dJt, dJ, max_abs(J), of_velocities)
    yield TermComparison("place", translations, [at.translation for at in data.oMi], 0.0, joints)
    yield TermComparison("orientation", rotations, [at.rotation for at in data.oMi], 0.0, joints)


def _whole(
    model: Any, data: Any, q: Vector, v: Vector, terms: tuple[Array, ...]
) -> Iterator[TermComparison]:
    """Yield what `centre_of_mass_motion` wrote, of bodies without mass the energy alone; and the
    load.
    """
    position, J, velocity, drift, potential, load = terms
    of_velocities, three = _velocities(model), [0] * 3
    pin.centerOfMass(model, data, q, v, np.zeros(model.nv), False)
    weight, mass = max_abs(model.gravity.linear), data.mass[0]
    reach = max_abs(np.array([at.translation for at in data.oMi]))
    reach += max_abs(np.array([body.lever for body in model.inertias]))
    energy = pin.computePotentialEnergy(model, data, q)
    yield TermComparison("potential energy", potential, [energy], mass * weight * reach, [0])
    theirs = pin.computeGeneralizedGravity(model, data, q).copy()
    yield TermComparison("gravity load", load, theirs, mass * weight * reach, of_velocities)
    if mass > 0.0:
        fast = max_abs(v) ** 2 * reach + weight  # what its acceleration may cancel from
        yield TermComparison("centre of mass", position, data.com[0].copy(), reach, three)
        yield TermComparison(
            "velocity of the centre of mass",
            velocity,
            data.vcom[0].copy(),
            max_abs(v) * reach,
            three,
        )
        yield TermComparison("drift of the centre of mass", drift, data.acom[0].copy(), fast, three)
        theirs = np.reshape(pin.jacobianCenterOfMass(model, data, q, False), (3, -1)).T
        yield TermComparison("Jacobian of the centre of mass", J.T, theirs, reach, of_velocities)
