"""From the arrays of an ``MjModel`` to a ``pinocchio.Model`` whose ``q`` is MuJoCo's ``qpos``.

A joint whose ``ref`` is not zero is placed turned or shifted by it, so that the coordinates are the
same numbers. Several joints of a body become a chain without mass in between. What differs between
the two libraries is the order of quaternions and, of free joints, the axes of the linear velocity:
MuJoCo's are the world's, ours those of the body.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import pinocchio as pin

from ukctrl.core.arrays import Matrix, Vector

FREE, BALL, SLIDE, HINGE = range(4)
"""MuJoCo's types of joints, by their number."""
SAME, SAME_AXES = 1, 3
"""MuJoCo's marks of inertial frames that are the body's, or parallel to it."""
KINDS = ("free", "ball", "slide", "hinge")


class MjcfNames(NamedTuple):
    """What the bodies, joints and sites of a model are called here, those without a name too."""

    bodies: tuple[str, ...]
    joints: tuple[str, ...]
    sites: tuple[str, ...]


def names_of(m: Any) -> MjcfNames:
    """Return names by which bodies, joints and sites can be told apart.

    A body without a name is called after its number, a joint after its body, a site after both. A
    site that is called like a body has ``_site`` added.
    """
    bodies: list[str] = []
    for b in range(m.nbody):
        bodies.append(_new(m.body(b).name or f"body{b}", bodies))
    joints: list[str] = []
    joint_names = {m.joint(j).name for j in range(m.njnt)}
    for j in range(m.njnt):
        default_name = f"{bodies[m.jnt_bodyid[j]]}_{KINDS[m.jnt_type[j]]}"
        joints.append(m.joint(j).name or _new(default_name, (*joints, *joint_names)))
    sites: list[str] = []
    for s in range(m.nsite):
        name = m.site(s).name or f"{bodies[m.site_bodyid[s]]}_site{s}"
        sites.append(_new(name + "_site" if name in bodies else name, (*bodies, *sites)))
    return MjcfNames(tuple(bodies), tuple(joints), tuple(sites))


def _new(name: str, names: Iterable[str]) -> str:
    name_set, tried, number = set(names), name, 1
    while tried in name_set:
        number += 1
        tried = f"{name}_{number}"
    return tried


def rotation_from_quaternion(quaternion: Vector) -> Matrix:
    """Return the rotation of a quaternion ``(w, x, y, z)`` of any length."""
    turned: Matrix = pin.Quaternion(*map(float, quaternion)).normalized().toRotationMatrix()
    return turned


def se3(quaternion: Vector, position: Vector) -> Any:
    """Return a ``pinocchio.SE3``."""
    return pin.SE3(rotation_from_quaternion(quaternion), np.array(position, dtype=np.float64))


def pinocchio_model(m: Any, names: MjcfNames, gravity: Vector, limited: bool) -> Any:
    """Return bodies, joints and frames as a ``pinocchio.Model``.

    Args:
        m: The ``MjModel``.
        names: What its parts are called.
        gravity: Shape ``(3,)`` [m/s^2].
        limited: Whether ranges of joints act.
    """
    model = pin.Model()
    model.gravity.linear = np.array(gravity)
    carrier = [0] * m.nbody
    poses = [pin.SE3.Identity() for _ in range(m.nbody)]
    for b in range(1, m.nbody):
        above = m.body_parentid[b]
        joint, at = carrier[above], poses[above] * se3(m.body_quat[b], m.body_pos[b])
        for j in range(m.body_jntadr[b], m.body_jntadr[b] + m.body_jntnum[b]):
            joint, at = _add_joint(model, m, j, joint, at, names.joints[j])
        carrier[b], poses[b] = joint, at
        centre, axes = inertial_frame(m, b)
        inertia = axes @ np.diag(m.body_inertia[b]) @ axes.T
        model.appendBodyToJoint(joint, pin.Inertia(float(m.body_mass[b]), centre, inertia), at)
        model.addFrame(pin.Frame(names.bodies[b], joint, 0, at, pin.FrameType.BODY), False)
    for s, name in enumerate(names.sites):
        b = m.site_bodyid[s]
        at = poses[b] * se3(m.site_quat[s], m.site_pos[s])
        model.addFrame(pin.Frame(name, carrier[b], 0, at, pin.FrameType.OP_FRAME), False)
    _set_ranges(model, m, limited)
    model.referenceConfigurations["neutral"] = from_qpos(m, np.array(m.qpos0))
    return model


def inertial_frame(m: Any, b: int) -> tuple[Vector, Matrix]:
    """Return centre of mass and principal axes of a body, in its frame.

    MuJoCo takes them as the body's own where they are nearly, by about 1e-6.
    """
    same = m.body_sameframe[b]
    centre = np.zeros(3) if same == SAME else np.array(m.body_ipos[b], dtype=np.float64)
    return centre, np.eye(3) if same in (SAME, SAME_AXES) else rotation_from_quaternion(
        m.body_iquat[b]
    )


def _add_joint(model: Any, m: Any, j: int, parent: int, at: Any, name: str) -> tuple[int, Any]:
    """Add a joint; return it, and where the body is in its frame."""
    kind, axis = m.jnt_type[j], np.array(m.jnt_axis[j])
    if kind == FREE:  # its coordinates are the place in the world, whatever the body's is at rest
        joint = model.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), name)
        model.addJointFrame(joint)
        return joint, pin.SE3.Identity()
    anchor = np.array(m.jnt_pos[j])
    at = at * pin.SE3(np.eye(3), anchor)
    ref = float(m.qpos0[m.jnt_qposadr[j]])
    if kind == HINGE:
        at = at * pin.SE3(pin.AngleAxis(-ref, axis).toRotationMatrix(), np.zeros(3))
    elif kind == SLIDE:
        at = at * pin.SE3(np.eye(3), -ref * axis)
    joint = model.addJoint(parent, _joint(kind, axis), at, name)
    model.addJointFrame(joint)
    return joint, pin.SE3(np.eye(3), -anchor)


def _joint(kind: int, axis: Vector) -> Any:
    if kind == BALL:
        return pin.JointModelSpherical()
    units = zip("XYZ", np.eye(3), strict=True)
    along = [letter for letter, unit in units if np.array_equal(axis, unit)]
    start, whole = ("R", "Revolute") if kind == HINGE else ("P", "Prismatic")
    if along:
        return getattr(pin, f"JointModel{start}{along[0]}")()
    return getattr(pin, f"JointModel{whole}Unaligned")(axis)


def _set_ranges(model: Any, m: Any, limited: bool) -> None:
    for limit, side in ((model.lowerPositionLimit, 0), (model.upperPositionLimit, 1)):
        limit[:] = np.inf if side else -np.inf
        for j in range(m.njnt):
            if limited and m.jnt_limited[j] and m.jnt_type[j] in (HINGE, SLIDE):
                limit[m.jnt_qposadr[j]] = m.jnt_range[j, side]
    for limit, side in ((model.lowerEffortLimit, 0), (model.upperEffortLimit, 1)):
        limit[:] = np.inf if side else -np.inf
        for j in range(m.njnt):
            if m.jnt_actfrclimited[j] and m.jnt_type[j] in (HINGE, SLIDE):
                limit[m.jnt_dofadr[j]] = m.jnt_actfrcrange[j, side]
    model.lowerVelocityLimit[:], model.upperVelocityLimit[:] = -np.inf, np.inf


def _quaternions(m: Any) -> list[int]:
    """Return where in ``qpos`` the quaternions begin."""
    begin = {FREE: 3, BALL: 0}
    kinds = enumerate(m.jnt_type)
    return [int(m.jnt_qposadr[j]) + begin[kind] for j, kind in kinds if kind in begin]


def from_qpos(m: Any, qpos: Vector) -> Vector:
    """Return MuJoCo's coordinates as ours: quaternions with the real part last."""
    q = np.array(qpos, dtype=np.float64)
    for at in _quaternions(m):
        q[at : at + 4] = np.roll(q[at : at + 4] / np.linalg.norm(q[at : at + 4]), -1)
    return q


def to_qpos(m: Any, q: Vector) -> Vector:
    """Return our coordinates as MuJoCo's."""
    qpos = np.array(q)
    for at in _quaternions(m):
        qpos[at : at + 4] = np.roll(q[at : at + 4], 1)
    return qpos


def velocity_map(m: Any, qpos: Vector) -> Matrix:
    """Return the matrix that makes our velocity of MuJoCo's, shape ``(nv, nv)``.

    The linear velocity of a free joint is along the world's axes there, the body's here.
    """
    T: Matrix = np.eye(m.nv)
    for j in np.flatnonzero(m.jnt_type == FREE):
        q, v = m.jnt_qposadr[j], m.jnt_dofadr[j]
        T[v : v + 3, v : v + 3] = rotation_from_quaternion(qpos[q + 3 : q + 7]).T
    return T
