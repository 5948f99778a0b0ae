"""Springs, dampers, friction, carried weights and fluids of a compiled model, as forces of ours."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from ukctrl.core.arrays import Matrix, Vector
from ukctrl.robot.forces import (
    AppliedForce,
    BallJointSprings,
    FluidDrag,
    GravityCompensation,
    NonlinearJointSprings,
)
from ukctrl.robot.joint_layout import JointBlock
from ukctrl.robot.mjcf import tendons
from ukctrl.robot.mjcf.disable_flags import EnabledForces
from ukctrl.robot.mjcf.pinocchio_model import (
    BALL,
    FREE,
    HINGE,
    SLIDE,
    MjcfNames,
    from_qpos,
    inertial_frame,
)
from ukctrl.robot.mjcf.supported_fields import (
    UnsupportedElements,
    UnsupportedFeature,
    listed_names,
    remark,
    report,
)
from ukctrl.robot.schema.force_tables import AnyForce, GivenForce, JointSpring
from ukctrl.robot.structure import Structure

MUJOCO_MINVAL = 1e-15
"""MuJoCo's smallest number that counts."""
JOINT = 0
"""MuJoCo's number of a transmission to a joint."""
SCALAR_JOINTS = (HINGE, SLIDE)


def joint_actuators(m: Any) -> Iterator[tuple[int, int]]:
    """Yield the actuators that drive a hinge or a slide, each with its velocity."""
    for i in range(m.nactuator):
        if m.actuator_trntype[i] == JOINT and m.jnt_type[m.actuator_trnid[i, 0]] in SCALAR_JOINTS:
            yield i, int(m.jnt_dofadr[m.actuator_trnid[i, 0]])


def set_losses(model: Any, m: Any, on: EnabledForces) -> None:
    """Write rotor inertia, damping and dry friction into a ``pinocchio.Model``.

    Those of an actuator at a joint act there with its gear, once squared.
    """
    model.armature[:] = m.dof_armature
    damping = np.array(m.dof_damping)
    for i, dof in joint_actuators(m):
        gear = float(m.actuator_gear[i, 0])
        model.armature[dof] += gear * gear * m.actuator_armature[i]
        damping[dof] += gear * gear * m.actuator_damping[i]
    model.damping[:] = damping if on.damper else 0.0
    level = np.array(m.dof_frictionloss)
    level[_sliding(m)] = 0.0
    model.friction[:] = level if on.friction else 0.0


def _sliding(m: Any) -> list[int]:
    """Return the linear velocities of free joints."""
    starts = [int(m.jnt_dofadr[j]) for j in np.flatnonzero(m.jnt_type == FREE)]
    return [start + k for start in starts for k in range(3)]


def import_springs(m: Any, structure: Structure, on: EnabledForces) -> list[AnyForce]:
    """Return the springs of hinges, slides and fixed tendons, and what rotors of free joints do."""
    springs: list[AnyForce] = [
        JointSpring(
            joint=structure.dofs[m.jnt_dofadr[j]],
            stiffness=float(m.jnt_stiffness[j]),
            rest=float(m.qpos_spring[m.jnt_qposadr[j]]),
        )
        for j in range(m.njnt)
        if on.spring and m.jnt_stiffness[j] > 0.0 and m.jnt_type[j] in SCALAR_JOINTS
    ]
    springs += tendons.tendon_springs(m, structure.blocks, on)
    for j in np.flatnonzero(m.jnt_type == FREE):
        springs += _steady_rotor(structure.blocks[j], float(m.dof_armature[m.jnt_dofadr[j]]))
    return springs


def _steady_rotor(block: JointBlock, inertia: float) -> Iterator[GivenForce]:
    r"""Yield $-J\,\omega \times v$ of a free joint with rotor inertia.

    MuJoCo adds it along the world's axes, where a steady velocity costs no force; along the axes of
    a body that turns, the same velocity changes.
    """
    vx, vy, vz, wx, wy, wz = (f"v.{dof}" for dof in block.dofs)
    across = f"{wy}*{vz} - {wz}*{vy}", f"{wz}*{vx} - {wx}*{vz}", f"{wx}*{vy} - {wy}*{vx}"
    for dof, text in zip(block.dofs, across, strict=False):
        if inertia:
            yield GivenForce(joint=dof, force=f"-({inertia!r})*({text})")


def import_force_terms(
    m: Any, names: MjcfNames, structure: Structure, on: EnabledForces
) -> list[AppliedForce]:
    """Return the forces that no ``[[force]]`` describes."""
    terms: list[AppliedForce] = []
    back = _body_springs(m)
    if on.spring and len(back.dofs):
        terms.append(back)
    uneven = _nonlinear_springs(m, on)
    if len(uneven.dofs):
        terms.append(uneven)
    moving = [structure.site(name) for name in names.bodies]
    lifted = [b for b in range(1, m.nbody) if m.body_gravcomp[b] and moving[b].support.any()]
    if lifted and on.gravity:
        joints, centres, reached = _body_points(m, moving, lifted)
        masses = np.array([m.body_mass[b] * m.body_gravcomp[b] for b in lifted])
        terms.append(GravityCompensation(joints, centres, masses, reached))
    heavy = [
        b for b in range(1, m.nbody) if m.body_mass[b] >= MUJOCO_MINVAL and moving[b].support.any()
    ]
    if heavy and (m.opt.density > 0.0 or m.opt.viscosity > 0.0):
        joints, centres, reached = _body_points(m, moving, heavy)
        axes = np.array([moving[b].rotation @ inertial_frame(m, b)[1] for b in heavy])
        boxes = np.array([_box(m.body_inertia[b], float(m.body_mass[b])) for b in heavy])
        medium = np.array([m.opt.density, m.opt.viscosity, *m.opt.wind], dtype=np.float64)
        terms.append(FluidDrag(joints, centres, axes, boxes, reached, medium))
    return terms


def _body_points(m: Any, moving: Sequence[Any], bodies: Sequence[int]) -> tuple[Any, Matrix, Any]:
    """Return joints, centres of mass and reached velocities of bodies."""
    sites = [moving[b] for b in bodies]
    inside = [inertial_frame(m, b)[0] for b in bodies]
    centres = [s.translation + s.rotation @ at for s, at in zip(sites, inside, strict=True)]
    return (
        np.array([s.joint for s in sites], dtype=np.int64),
        np.array(centres),
        np.array([s.support for s in sites]),
    )


def _box(inertia: Vector, mass: float) -> Vector:
    """Return the sides of the box that has this inertia [m]."""
    x, y, z = inertia
    across = np.array([y + z - x, x + z - y, x + y - z])
    sides: Vector = np.sqrt(6.0 * np.maximum(MUJOCO_MINVAL, across) / mass)
    return sides


def _body_springs(m: Any) -> BallJointSprings:
    rows: list[tuple[int, int, bool, list[float], list[float]]] = []
    for j in range(m.njnt):
        stiffness = [float(m.jnt_stiffness[j]), *map(float, m.jnt_stiffnesspoly[j])]
        if m.jnt_type[j] in SCALAR_JOINTS or not any(stiffness):
            continue
        at, dof = int(m.jnt_qposadr[j]), int(m.jnt_dofadr[j])
        equilibrium = from_qpos(m, m.qpos_spring)[at : at + 7].tolist()
        if m.jnt_type[j] == FREE:
            rows.append((at, dof, True, [*equilibrium[:3], 0.0], stiffness))
            rows.append((at + 3, dof + 3, False, equilibrium[3:], stiffness))
        else:
            rows.append((at, dof, False, equilibrium[:4], stiffness))
    columns = [list(column) for column in zip(*rows, strict=True)] or [[]] * 5
    return BallJointSprings(
        np.array(columns[0], dtype=np.int64),
        np.array(columns[1], dtype=np.int64),
        np.array(columns[2], dtype=np.bool_),
        np.array(columns[3], dtype=np.float64).reshape(-1, 4),
        np.array(columns[4], dtype=np.float64).reshape(-1, 3),
    )


def _nonlinear_springs(m: Any, on: EnabledForces) -> NonlinearJointSprings:
    stiffness, damping = np.zeros((m.nv, 2)), np.zeros((m.nv, 2))
    coordinates, equilibrium = np.zeros(m.nv, dtype=np.int64), np.zeros(m.nv)
    if on.damper:
        damping[:] = m.dof_dampingpoly
        for i, dof in joint_actuators(m):
            # MuJoCo 4.0 takes the gear squared here, too, and the joint's velocity.
            damping[dof] += m.actuator_dampingpoly[i] * float(m.actuator_gear[i, 0]) ** 2
        damping[_sliding(m)] = 0.0
    for j in range(m.njnt):
        if m.jnt_type[j] in SCALAR_JOINTS:
            at, dof = m.jnt_qposadr[j], m.jnt_dofadr[j]
            coordinates[dof], equilibrium[dof] = at, m.qpos_spring[at]
            if on.spring:
                stiffness[dof] = m.jnt_stiffnesspoly[j]
    dofs = np.flatnonzero(stiffness.any(axis=1) | damping.any(axis=1))
    return NonlinearJointSprings(
        coordinates[dofs], dofs, equilibrium[dofs], stiffness[dofs], damping[dofs]
    )


def unsupported_forces(m: Any, names: MjcfNames, on: EnabledForces) -> Iterator[UnsupportedFeature]:
    """Name the forces that are not in the robot."""
    yield from _unsupported_joint_forces(m, names, on)
    yield from tendons.unsupported_tendons(m, on)
    yield from _unsupported_elements(m, names)


def _unsupported_joint_forces(
    m: Any, names: MjcfNames, on: EnabledForces
) -> Iterator[UnsupportedFeature]:
    free = [int(j) for j in np.flatnonzero(m.jnt_type == FREE)]
    sliding = {j: slice(int(m.jnt_dofadr[j]), int(m.jnt_dofadr[j]) + 3) for j in free}

    def joints(test: Callable[[int], bool], among: Iterable[int]) -> list[str]:
        return [names.joints[j] for j in among if test(j)]

    def without_polynomials(model: Any) -> None:
        for j in free:
            model.dof_dampingpoly[sliding[j]] = 0.0

    yield from report(
        UnsupportedElements(
            "damping_told",
            joints(lambda j: on.damper and m.dof_dampingpoly[sliding[j]].any(), free),
            "the damping of {names} along the world's axes that is no multiple of the velocity is "
            "not in the robot: it slides more freely.",
            without_polynomials,
        ),
        UnsupportedElements(
            "friction_told",
            joints(lambda j: on.friction and m.dof_frictionloss[sliding[j]].any(), free),
            "the dry friction of {names} along the world's axes is not in the robot: it slides "
            'without; write kind = "given" in robot.toml.',
        ),
        UnsupportedElements(
            "range_told",
            joints(
                lambda j: on.limit and m.jnt_type[j] == BALL and m.jnt_limited[j], range(m.njnt)
            ),
            "the largest angle of the ball joint {names} is not in the robot: nothing says that a "
            "motion goes beyond it.",
        ),
        UnsupportedElements(
            "plastic_told",
            joints(lambda j: on.spring and m.jnt_plasticadr[j] >= 0, range(m.njnt)),
            "the springs of {names} never yield in the robot, as they would beyond springyield.",
        ),
    )
    if not on.limit and any(m.jnt_limited):
        text = "the file switches limits off; the ranges of its joints are not read."
        yield remark("range_off", "option", text)


def _unsupported_elements(m: Any, names: MjcfNames) -> Iterator[UnsupportedFeature]:
    in_fluid = m.opt.density > 0.0 or m.opt.viscosity > 0.0
    shaped = {int(m.geom_bodyid[g]) for g in range(m.ngeom) if m.geom_fluid[g, 0] > 0.0}
    carrying = [
        g for g in range(m.ngeom) if np.any(m.geom_adhesion[g]) or np.any(m.geom_surfacevel[g])
    ]
    yield from report(
        UnsupportedElements(
            "fluid_told",
            [names.bodies[b] for b in sorted(shaped) if in_fluid],
            "fluidshape = ellipsoid of body {names} is not read: the fluid acts as on the box that "
            "has the body's inertia, without lift and added mass.",
            _as_boxes,
        ),
        UnsupportedElements(
            "flex_told",
            ["flex"] * bool(m.nflex),
            f"deformable bodies, {m.nflex} of them, are not read: their points, if they move, are "
            "masses without anything that holds them together; take <flexcomp> or <deformable> out "
            "of the file.",
            _without_flex_stiffness,
        ),
        UnsupportedElements(
            "surface_told",
            [m.geom(g).name or f"geom{g}" for g in carrying],
            "adhesion and moving surfaces of {names} act in contacts, which are not read.",
        ),
        UnsupportedElements(
            "plugin_told",
            [names.bodies[b] for b in np.flatnonzero(m.body_plugin >= 0)],
            "the plugins that act on {names} are not read, nor what they push.",
            _without_plugins,
        ),
    )
    if m.nmocap:
        items = [names.bodies[b] for b in range(m.nbody) if m.body_mocapid[b] >= 0]
        listed = listed_names(items)
        text = f"mocap {listed}, which a program would move, rests where the file has it."
        yield remark("mocap_told", items[0], text)


def _as_boxes(model: Any) -> None:
    model.geom_fluid[:] = 0.0


def _without_flex_stiffness(model: Any) -> None:
    for name in ("stiffness", "bending", "damping", "edgestiffness", "edgedamping"):
        getattr(model, f"flex_{name}")[:] = 0.0


def _without_plugins(model: Any) -> None:
    model.body_plugin[:] = -1
