"""The tree of joints and bodies of a Pinocchio model as arrays, whose terms Pinocchio judges."""

from __future__ import annotations

from typing import Any

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.errors import ModelError
from ukctrl.core.extremes import max_abs
from ukctrl.robot.tree_kernels import (
    CIRCLE,
    FREE,
    NV,
    PLANAR,
    PRISMATIC,
    SCREW,
    SPHERICAL,
    Room,
    Tree,
    rigid_terms,
)

KINDS = {
    "RUB": CIRCLE, "RevoluteUnb": CIRCLE, "R": SCREW, "H": SCREW,
    "Planar": PLANAR, "P": PRISMATIC, "Spherical": SPHERICAL, "FreeFlyer": FREE,
}  # fmt: skip
"""By how Pinocchio's name of a joint begins; the first that fits."""
STATES = 3
"""States at which it is compared with Pinocchio."""
CLOSE = 1e-12
"""Largest difference from Pinocchio, of the largest entry of each term."""


def tree_of(model: Any) -> Tree:
    """Return the arrays of a ``pinocchio.Model`` whose joints `ukctrl.robot.layout` knows."""
    data = model.createData()
    pin.forwardKinematics(model, data, pin.neutral(model), np.zeros(model.nv))
    joints = np.zeros((model.njoints, 5), dtype=np.int64)
    subspace: Matrix = np.zeros((model.nv, 6))
    for j in range(1, model.njoints):
        joint = model.joints[j]
        joints[j] = model.parents[j], _kind(joint), joint.idx_q, joint.idx_v, joint.nv
        part = slice(joint.idx_v, joint.idx_v + joint.nv)
        subspace[part] = np.reshape(data.joints[j].S, (6, -1)).T
    places = list(model.jointPlacements)
    return Tree(
        joints,
        subspace,
        np.array([place.rotation for place in places]),
        np.array([place.translation for place in places]),
        np.array([body.toDynamicParameters() for body in model.inertias]),
        np.array(model.armature, dtype=np.float64),
    )


def _kind(joint: Any) -> int:
    name = joint.shortname().removeprefix("JointModel")
    return next(kind for start, kind in KINDS.items() if name.startswith(start))


def room_for(tree: Tree, gravity: Vector) -> Room:
    """Return what the recursions write on their way, at rest under a gravity [m/s^2]."""
    n = len(tree.joints)
    acceleration = np.zeros((n, 6))
    acceleration[0, :3] = -gravity
    return Room(
        np.zeros((n, 3, 3)), np.zeros((n, 3)), np.zeros((n, 6)), acceleration, np.zeros((n, 6)),
        np.zeros((n, 10)), np.zeros((3, 3)), np.zeros((4, 6)),
    )  # fmt: skip


def places(tree: Tree) -> tuple[NDArray[np.float64], Matrix]:
    """Return room for where joints are in the world, ``(n, 3, 3)`` and ``(n, 3)``."""
    n = len(tree.joints)
    return np.tile(np.eye(3), (n, 1, 1)), np.zeros((n, 3))


def compare_with_pinocchio(model: Any, tree: Tree) -> None:
    """Compare the terms with Pinocchio's at random states.

    Raises:
        ModelError: They differ by more than rounding; it names the joint.
    """
    rng = np.random.default_rng(0)
    data, room = model.createData(), room_for(tree, np.array(model.gravity.linear))
    n, nv = len(tree.joints), model.nv
    M, nle, Jt, dJt = np.zeros((nv, nv)), np.zeros(nv), np.zeros((nv, 6)), np.zeros((nv, 6))
    rotations, translations = places(tree)
    of_velocities = np.repeat(np.arange(n), tree.joints[:, NV])
    for _ in range(STATES):
        q = pin.integrate(model, pin.neutral(model), rng.standard_normal(nv))
        v = rng.standard_normal(nv)
        rigid_terms(tree, room, q, v, M, nle, Jt, dJt, rotations, translations)
        pin.crba(model, data, q)
        pin.nonLinearEffects(model, data, q, v)
        pin.computeJointJacobiansTimeVariation(model, data, q, v)
        half = np.triu(np.reshape(data.M, (nv, nv)))
        J = np.reshape(data.J, (6, nv)).T
        turning = max_abs(M) * max_abs(v) ** 2  # what centrifugal forces may cancel from
        for term, ours, theirs, size, joints in (
            ("mass matrix", M, half + np.triu(half, 1).T, 0.0, of_velocities),
            ("bias force", nle, data.nle, turning, of_velocities),
            ("Jacobian", Jt, J, 0.0, of_velocities),
            (
                "drift of the Jacobian",
                dJt,
                np.reshape(data.dJ, (6, nv)).T,
                max_abs(J),
                of_velocities,
            ),
            ("place", translations, [at.translation for at in data.oMi], 0.0, range(n)),
            ("orientation", rotations, [at.rotation for at in data.oMi], 0.0, range(n)),
        ):
            off = np.abs(ours - np.asarray(theirs)).reshape(len(ours), -1).max(axis=1, initial=0.0)
            bad = np.flatnonzero(~(off <= CLOSE * max(max_abs(np.asarray(theirs)), size)))
            if bad.size:
                joint = int(joints[bad[0]])
                raise ModelError(
                    f"the {term} at joint '{model.names[joint]}' "
                    f"({model.joints[joint].shortname()}) must be that of Pinocchio to {CLOSE:g}; "
                    f"it is off by {off[bad[0]]:.1e}. Please report the model file."
                )
