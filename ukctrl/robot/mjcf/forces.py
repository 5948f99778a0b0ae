"""Springs, dampers, friction, carried weights and fluids of a compiled model, as forces of ours."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ukctrl.core.arrays import Matrix, Vector
from ukctrl.robot.forces import BodySprings, Carried, Fluid, Term, UnevenJoints
from ukctrl.robot.layout import Block
from ukctrl.robot.mjcf import tendons
from ukctrl.robot.mjcf.switches import Switches
from ukctrl.robot.mjcf.table import Told, lacks, listed, plural, remarks
from ukctrl.robot.mjcf.tree import BALL, FREE, HINGE, SLIDE, Names, inertial_frame, ours_of
from ukctrl.robot.schema.push_tables import AnyForce, GivenForce, JointSpring
from ukctrl.robot.structure import Structure

LEAST = 1e-15
"""MuJoCo's smallest number that counts."""
JOINT = 0
"""MuJoCo's number of a transmission to a joint."""
PLAIN = (HINGE, SLIDE)


def joint_actuators(m: Any) -> Iterator[tuple[int, int]]:
    """Yield the actuators that drive a hinge or a slide, each with its velocity."""
    for i in range(m.nactuator):
        if m.actuator_trntype[i] == JOINT and m.jnt_type[m.actuator_trnid[i, 0]] in PLAIN:
            yield i, int(m.jnt_dofadr[m.actuator_trnid[i, 0]])


def set_losses(model: Any, m: Any, on: Switches) -> None:
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


def springs(m: Any, structure: Structure, on: Switches) -> list[AnyForce]:
    """Return the springs of hinges, slides and fixed tendons, and what rotors of free joints do."""
    made: list[AnyForce] = [
        JointSpring(
            joint=structure.dofs[m.jnt_dofadr[j]],
            stiffness=float(m.jnt_stiffness[j]),
            rest=float(m.qpos_spring[m.jnt_qposadr[j]]),
        )
        for j in range(m.njnt)
        if on.spring and m.jnt_stiffness[j] > 0.0 and m.jnt_type[j] in PLAIN
    ]
    made += tendons.springs(m, structure.blocks, on)
    for j in np.flatnonzero(m.jnt_type == FREE):
        made += _steady_rotor(structure.blocks[j], float(m.dof_armature[m.jnt_dofadr[j]]))
    return made


def _steady_rotor(block: Block, inertia: float) -> Iterator[GivenForce]:
    r"""Yield $-J\,\omega \times v$ of a free joint with rotor inertia.

    MuJoCo adds it along the world's axes, where a steady velocity costs no force; along the axes of
    a body that turns, the same velocity changes.
    """
    vx, vy, vz, wx, wy, wz = (f"v.{dof}" for dof in block.dofs)
    across = f"{wy}*{vz} - {wz}*{vy}", f"{wz}*{vx} - {wx}*{vz}", f"{wx}*{vy} - {wy}*{vx}"
    for dof, text in zip(block.dofs, across, strict=False):
        if inertia:
            yield GivenForce(joint=dof, force=f"-({inertia!r})*({text})")


def terms(m: Any, names: Names, structure: Structure, on: Switches) -> list[Term]:
    """Return the forces that no ``[[force]]`` describes."""
    made: list[Term] = []
    back = _body_springs(m)
    if on.spring and len(back.dofs):
        made.append(back)
    uneven = _uneven(m, on)
    if len(uneven.dofs):
        made.append(uneven)
    moving = [structure.site(name) for name in names.bodies]
    lifted = [b for b in range(1, m.nbody) if m.body_gravcomp[b] and moving[b].support.any()]
    if lifted and on.gravity:
        joints, centres, reached = _on(m, moving, lifted)
        masses = np.array([m.body_mass[b] * m.body_gravcomp[b] for b in lifted])
        made.append(Carried(joints, centres, masses, reached))
    heavy = [b for b in range(1, m.nbody) if m.body_mass[b] >= LEAST and moving[b].support.any()]
    if heavy and (m.opt.density > 0.0 or m.opt.viscosity > 0.0):
        joints, centres, reached = _on(m, moving, heavy)
        axes = np.array([moving[b].rotation @ inertial_frame(m, b)[1] for b in heavy])
        boxes = np.array([_box(m.body_inertia[b], float(m.body_mass[b])) for b in heavy])
        medium = np.array([m.opt.density, m.opt.viscosity, *m.opt.wind], dtype=np.float64)
        made.append(Fluid(joints, centres, axes, boxes, reached, medium))
    return made


def _on(m: Any, moving: Sequence[Any], bodies: Sequence[int]) -> tuple[Any, Matrix, Any]:
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
    sides: Vector = np.sqrt(6.0 * np.maximum(LEAST, across) / mass)
    return sides


def _body_springs(m: Any) -> BodySprings:
    rows: list[tuple[int, int, bool, list[float], list[float]]] = []
    for j in range(m.njnt):
        stiffness = [float(m.jnt_stiffness[j]), *map(float, m.jnt_stiffnesspoly[j])]
        if m.jnt_type[j] in PLAIN or not any(stiffness):
            continue
        at, dof = int(m.jnt_qposadr[j]), int(m.jnt_dofadr[j])
        rest = ours_of(m, m.qpos_spring)[at : at + 7].tolist()
        if m.jnt_type[j] == FREE:
            rows.append((at, dof, True, [*rest[:3], 0.0], stiffness))
            rows.append((at + 3, dof + 3, False, rest[3:], stiffness))
        else:
            rows.append((at, dof, False, rest[:4], stiffness))
    columns = [list(column) for column in zip(*rows, strict=True)] or [[]] * 5
    return BodySprings(
        np.array(columns[0], dtype=np.int64),
        np.array(columns[1], dtype=np.int64),
        np.array(columns[2], dtype=np.bool_),
        np.array(columns[3], dtype=np.float64).reshape(-1, 4),
        np.array(columns[4], dtype=np.float64).reshape(-1, 3),
    )


def _uneven(m: Any, on: Switches) -> UnevenJoints:
    stiffness, damping = np.zeros((m.nv, 2)), np.zeros((m.nv, 2))
    coordinates, rest = np.zeros(m.nv, dtype=np.int64), np.zeros(m.nv)
    if on.damper:
        damping[:] = m.dof_dampingpoly
        for i, dof in joint_actuators(m):
            # MuJoCo 4.0 takes the gear squared here, too, and the joint's velocity.
            damping[dof] += m.actuator_dampingpoly[i] * float(m.actuator_gear[i, 0]) ** 2
        damping[_sliding(m)] = 0.0
    for j in range(m.njnt):
        if m.jnt_type[j] in PLAIN:
            at, dof = m.jnt_qposadr[j], m.jnt_dofadr[j]
            coordinates[dof], rest[dof] = at, m.qpos_spring[at]
            if on.spring:
                stiffness[dof] = m.jnt_stiffnesspoly[j]
    dofs = np.flatnonzero(stiffness.any(axis=1) | damping.any(axis=1))
    return UnevenJoints(coordinates[dofs], dofs, rest[dofs], stiffness[dofs], damping[dofs])


def told(m: Any, names: Names, on: Switches) -> Iterator[Told]:
    """Name the forces that are not in the robot."""
    yield from _joints_told(m, names, on)
    yield from tendons.told(m, on)
    yield from _rest_told(m, names)


def _joints_told(m: Any, names: Names, on: Switches) -> Iterator[Told]:
    free = [int(j) for j in np.flatnonzero(m.jnt_type == FREE)]
    sliding = {j: slice(int(m.jnt_dofadr[j]), int(m.jnt_dofadr[j]) + 3) for j in free}
    bent = [j for j in free if m.dof_dampingpoly[sliding[j]].any()]
    if bent and on.damper:

        def slide(model: Any) -> None:
            for j in bent:
                model.dof_dampingpoly[sliding[j]] = 0.0

        yield lacks(
            "damping_told",
            names.joints[bent[0]],
            f"the damping of {listed([names.joints[j] for j in bent])} along the world's axes "
            "that is no multiple of the velocity is not in the robot: it slides more freely.",
            slide,
        )
    rubbed = [j for j in free if m.dof_frictionloss[sliding[j]].any()]
    if rubbed and on.friction:
        yield lacks(
            "friction_told",
            names.joints[rubbed[0]],
            f"the dry friction of {listed([names.joints[j] for j in rubbed])} along the "
            'world\'s axes is not in the robot: it slides without; write kind = "given" in '
            "robot.toml.",
        )
    cones = [j for j in range(m.njnt) if m.jnt_type[j] == BALL and m.jnt_limited[j]]
    if cones and on.limit:
        yield lacks(
            "range_told",
            names.joints[cones[0]],
            f"the largest angle of the ball {plural(cones, 'joint', 'joints')} "
            f"{listed([names.joints[j] for j in cones])} is not in the robot: nothing says "
            "that a motion goes beyond it.",
        )
    if not on.limit and any(m.jnt_limited):
        yield remarks(
            "range_off",
            "option",
            "the file switches limits off; the ranges of its joints are not read.",
        )
    yielding = [j for j in range(m.njnt) if m.jnt_plasticadr[j] >= 0]
    if yielding and on.spring:
        yield lacks(
            "plastic_told",
            names.joints[yielding[0]],
            f"the springs of {listed([names.joints[j] for j in yielding])} never yield in the "
            "robot, as they would beyond springyield.",
        )


def _rest_told(m: Any, names: Names) -> Iterator[Told]:
    shaped = sorted(
        {int(m.geom_bodyid[g]) for g in range(m.ngeom) if m.geom_fluid[g, 0] > 0.0}
        if m.opt.density > 0.0 or m.opt.viscosity > 0.0
        else ()
    )
    if shaped:

        def as_boxes(model: Any) -> None:
            model.geom_fluid[:] = 0.0

        yield lacks(
            "fluid_told",
            names.bodies[shaped[0]],
            f"fluidshape = ellipsoid of the {plural(shaped, 'body', 'bodies')} "
            f"{listed([names.bodies[b] for b in shaped])} is not read: the fluid acts as on "
            "the box that has the body's inertia, without lift and added mass.",
            as_boxes,
        )
    if m.nflex:
        yield lacks(
            "flex_told",
            "flex",
            f"{m.nflex} deformable {plural(range(m.nflex), 'body is', 'bodies are')} "
            "not read: their points, if they move, are masses without anything that holds them "
            "together; take <flexcomp> or <deformable> out of the file.",
            _limp,
        )
    if m.nmocap:
        which = [names.bodies[b] for b in range(m.nbody) if m.body_mocapid[b] >= 0]
        yield remarks(
            "mocap_told",
            which[0],
            f"the mocap {plural(which, 'body', 'bodies')} {listed(which)}, which a program "
            "would move, rest where the file has them.",
        )
    carrying = [
        g for g in range(m.ngeom) if np.any(m.geom_adhesion[g]) or np.any(m.geom_surfacevel[g])
    ]
    if carrying:
        which = [m.geom(g).name or f"geom{g}" for g in carrying]
        yield lacks(
            "surface_told",
            which[0],
            f"adhesion and moving surfaces of {listed(which)} act in contacts, which are not read.",
        )
    if np.any(m.body_plugin >= 0):
        which = [names.bodies[b] for b in np.flatnonzero(m.body_plugin >= 0)]
        yield lacks(
            "plugin_told",
            which[0],
            f"the plugins that act on {listed(which)} are not read, nor what they push.",
            _without_plugins,
        )


def _limp(model: Any) -> None:
    for name in ("stiffness", "bending", "damping", "edgestiffness", "edgedamping"):
        getattr(model, f"flex_{name}")[:] = 0.0


def _without_plugins(model: Any) -> None:
    model.body_plugin[:] = -1
