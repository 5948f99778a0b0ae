"""A robot of an MJCF file beside MuJoCo: the same terms at random states, or an error.

MuJoCo's contacts, limits, equalities and dry friction, which are soft there, are off; what a
finding tells of is taken out of its model.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ukctrl.core.arrays import Array, Matrix, Vector
from ukctrl.core.errors import ModelError
from ukctrl.core.tie_breaking import first_largest
from ukctrl.robot.mjcf.actuators import ImportedActuators
from ukctrl.robot.mjcf.pinocchio_model import MjcfNames, to_qpos, velocity_map
from ukctrl.robot.robot_base import RobotBase
from ukctrl.robot.schema.force_tables import JointSpring

STATES = 3
"""States at which the two are compared."""
MAX_DIFFERENCE = 1e-9
"""Largest difference, of what the terms are made of."""
MIN_ACCELERATION = 1e-3
"""Accelerations below this are rounding, where nothing pulls [m/s^2 or rad/s^2]."""
STEP = 0.5
"""How far the states are from the file's own at most [rad, m]."""


def compare_with_mujoco(
    mujoco: Any,
    model: Any,
    names: MjcfNames,
    robot: RobotBase,
    removed: Sequence[Callable[[Any], None]],
    driven: ImportedActuators,
) -> None:
    """Compare mass matrix, bias, passive and motor forces, and frames with MuJoCo's.

    Args:
        mujoco: The library.
        model: Its ``MjModel``.
        names: What its parts are called here.
        robot: The robot, with its motors and without dry friction.
        removed: What takes out of a model what findings tell of.
        driven: Its motors, and what servos do beside their command.

    Raises:
        ModelError: They differ; it names the joint, the frame or the motor.
    """
    theirs = copy.copy(model)
    for remove in removed:
        remove(theirs)
    bits = mujoco.mjtDisableBit
    theirs.opt.disableflags |= int(bits.mjDSBL_CONSTRAINT) | int(bits.mjDSBL_CONTACT)
    data, rng = mujoco.MjData(theirs), np.random.default_rng(0)
    snapshot = robot.snapshot(robot.neutral)
    for number in range(STATES):
        q = robot.integrate(robot.neutral, STEP * rng.uniform(-1.0, 1.0, robot.nv))
        v = rng.uniform(-1.0, 1.0, robot.nv) * (number > 0)  # at rest first: gravity alone
        snapshot.move(q, v)
        data.qpos[:] = to_qpos(theirs, q)
        T = velocity_map(theirs, data.qpos)
        data.qvel[:] = np.linalg.solve(T, v)
        mujoco.mj_fwdPosition(theirs, data)
        mujoco.mj_fwdVelocity(theirs, data)
        _compare_terms(mujoco, theirs, data, T, robot, snapshot)
        _compare_frames(theirs, data, names, snapshot)
        _compare_motors(theirs, data, T, robot, snapshot, driven.columns)
        if driven.servos:
            _compare_servos(mujoco, theirs, data, robot, driven)


def _compare_terms(
    mujoco: Any, m: Any, data: Any, T: Matrix, robot: RobotBase, snapshot: Any
) -> None:
    M: Matrix = np.zeros((m.nv, m.nv))
    mujoco.mj_fullM(m, data, M)
    ours = T.T @ snapshot.M @ T
    size = np.sqrt(np.abs(np.diag(M))) + 1e-300
    _refuse(ours - M, np.outer(size, size), "mass matrix", robot.dofs)
    # Rotor inertia along the world's axes is none along axes that turn: a force makes up for it.
    turning, rotors = _turning(m, T, data.qvel), np.array(robot.model.armature)
    bias = T.T @ (snapshot.M @ turning - rotors * turning + snapshot.nle)
    passive = T.T @ (snapshot.f - rotors * turning)
    largest = max(np.abs(data.qfrc_bias / size).max(), np.abs(data.qfrc_passive / size).max())
    scale = size * max(float(largest), MIN_ACCELERATION)
    _refuse(bias - data.qfrc_bias, scale, "bias force", robot.dofs)
    carried = data.qfrc_gravcomp * _by_motors(m)
    _refuse(passive - data.qfrc_passive - carried, scale, "passive force", robot.dofs)


def _by_motors(m: Any) -> Vector:
    """Return 1 where motors carry what ``gravcomp`` lifts, which MuJoCo counts as theirs."""
    return np.array([float(m.jnt_actgravcomp[j]) for j in m.dof_jntid])


def _turning(m: Any, T: Matrix, qvel: Vector) -> Vector:
    """Return ``T_dot qvel``: the body's axes turn, and a steady velocity is none along them."""
    rate: Vector = np.zeros(m.nv)
    for j in np.flatnonzero(m.jnt_type == 0):
        at = int(m.jnt_dofadr[j])
        along = T[at : at + 3, at : at + 3] @ qvel[at : at + 3]
        rate[at : at + 3] = -np.cross(qvel[at + 3 : at + 6], along)
    return rate


def _compare_frames(m: Any, data: Any, names: MjcfNames, snapshot: Any) -> None:
    for kind, called, positions, turns in (
        ("body", names.bodies, data.xpos, data.xmat),
        ("site", names.sites, data.site_xpos, data.site_xmat),
    ):
        for k, name in enumerate(called):
            frame = snapshot.frame(name)
            for ours, theirs in (
                (frame.position, positions[k]),
                (frame.rotation.ravel(), turns[k]),
            ):
                _refuse(ours - theirs, 1.0 + np.abs(theirs), f"place of {kind}", [name] * len(ours))


def _compare_motors(
    m: Any,
    data: Any,
    T: Matrix,
    robot: RobotBase,
    snapshot: Any,
    columns: Sequence[tuple[int, float]],
) -> None:
    for column, (i, scale) in enumerate(columns):
        row = int(m.actuator_outadr[i])
        begin, count = int(data.moment_rowadr[row]), int(data.moment_rownnz[row])
        theirs: Vector = np.zeros(m.nv)
        theirs[data.moment_colind[begin : begin + count]] = (
            scale * data.actuator_moment[begin : begin + count]
        )
        largest = np.full(m.nv, np.abs(theirs).max() + 1e-300)
        called = [robot.actuators[column]] * m.nv
        _refuse(T.T @ snapshot.B[:, column] - theirs, largest, "push of motor", called)


def _compare_servos(
    mujoco: Any, m: Any, data: Any, robot: RobotBase, driven: ImportedActuators
) -> None:
    """Compare what servos do with commands of zero."""
    alone = copy.copy(m)
    motors = [i for i in range(m.nactuator) if i not in driven.servos]
    alone.actuator_biasprm[motors], alone.actuator_gainprm[motors] = 0.0, 0.0
    alone.actuator_forcelimited[:] = alone.jnt_actfrclimited[:] = 0
    mujoco.mj_fwdActuation(alone, data)
    ours: Vector = np.zeros(m.nv)
    for law in driven.laws:
        dof = robot.dofs.index(law.joint)
        ours[dof] -= law.damping * data.qvel[dof]
        if isinstance(law, JointSpring):
            q = data.qpos[m.jnt_qposadr[m.dof_jntid[dof]]]
            ours[dof] -= law.stiffness * (q - law.rest)
    largest = np.full(m.nv, np.abs(data.qfrc_actuator).max() + 1e-300)
    _refuse(ours - data.qfrc_actuator, largest, "law of the servo", robot.dofs)


def _refuse(difference: Array, scale: Any, label: str, names: Sequence[str]) -> None:
    """Refuse a robot whose term is not MuJoCo's.

    Raises:
        ModelError: It names the row where they differ most.
    """
    off = np.abs(difference) / scale
    off = np.where(np.isfinite(off), off, np.inf)
    worst = off.max(axis=1) if off.ndim == 2 else off
    if worst.size and worst.max() > MAX_DIFFERENCE:
        name = names[first_largest(worst)]
        raise ModelError(
            f"the {label} at '{name}' differs from MuJoCo's by {worst.max():.1e} of its size: this "
            "file has something that ukctrl reads wrongly. Please report it, with the file."
        )
