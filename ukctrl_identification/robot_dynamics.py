"""The numbers of a robot's dynamics: read from it, checked against it, and put into it."""

from __future__ import annotations

import dataclasses as dc
from collections.abc import Iterable, Mapping
from typing import Any, cast

import numpy as np

from ukctrl.core.arrays import Vector
from ukctrl.core.errors import InputError, unknown_name
from ukctrl.core.files.toml import error_context
from ukctrl.robot import Robot
from ukctrl.robot.elastic import ElasticJoints
from ukctrl.robot.forces import AppliedForce, Dampers, Forces, Friction, NonlinearJointSprings
from ukctrl.robot.rigid.pinocchio_structure import PinocchioStructure
from ukctrl_identification.identified_dynamics import (
    BODY_PARAMETERS,
    SPRINGS,
    DofFriction,
    IdentifiedDynamics,
)


def bodies_of(robot: Robot) -> dict[str, Vector]:
    """Return today's `BODY_PARAMETERS` of a robot, by the joint that moves the body.

    Raises:
        ModelError: The robot is made of formulas or functions, which know no bodies.
    """
    inertias = robot.model.inertias
    blocks = (block for block in robot.blocks if not block.rotor)
    return {block.name: np.array(inertias[block.joint].toDynamicParameters()) for block in blocks}


def armature_of(robot: Robot) -> dict[str, float]:
    """Return the inertias of rotors that are not zero, by velocity; those behind springs too."""
    values = np.array(robot.model.armature, dtype=np.float64)
    if robot.elastic is not None:
        values[robot.elastic.motors] = robot.elastic.inertia
    return {robot.dofs[i]: float(values[i]) for i in np.flatnonzero(values)}


def friction_of(robot: Robot) -> dict[str, DofFriction]:
    """Return the friction of a robot's own dampers and dry friction, by velocity.

    What a `DofFriction` cannot say is left out: damping with powers of the speed, and several dry
    frictions of one velocity that differ in more than their level.
    """
    viscous, other = np.zeros(robot.nv), set[int]()
    dry: dict[int, list[tuple[float, ...]]] = {}
    for term in robot.forces.terms:
        if isinstance(term, Dampers):
            viscous += term.damping
        elif isinstance(term, NonlinearJointSprings):
            other |= set(term.dofs[term.damping.any(axis=1)].tolist())
        elif isinstance(term, Friction):
            for dof, *columns in zip(term.dofs.tolist(), *term.columns(), strict=True):
                dry.setdefault(dof, []).append(tuple(map(float, columns)))
    friction: dict[str, DofFriction] = {}
    for dof in sorted({*np.flatnonzero(viscous).tolist(), *dry} - other):
        rows = dry.get(dof, [])
        shapes = {(scale, fall if excess else 0.0) for _, scale, excess, fall, _, _ in rows}
        if len(shapes) > 1:
            continue
        levels, _, excesses, _, damping, asymmetry = np.sum(rows, axis=0) if rows else np.zeros(6)
        one = DofFriction(float(levels), float(viscous[dof] + damping), float(asymmetry))
        if rows:
            one = one._replace(velocity_scale=rows[0][1])
        if excesses:
            one = one._replace(static=float(levels + excesses), stribeck_velocity=rows[0][3])
        friction[robot.dofs[dof]] = one
    return friction


def dynamics_of(robot: Robot) -> IdentifiedDynamics:
    """Return today's dynamics of a robot: what `with_dynamics` leaves as it is."""
    numbers = IdentifiedDynamics(bodies_of(robot), armature_of(robot), friction_of(robot))
    if robot.elastic is None:
        return numbers
    stiffness, damping = (
        dict(zip(robot.elastic.joints, values.tolist(), strict=True))
        for values in robot.elastic.stiffness_damping
    )
    return numbers._replace(stiffness=stiffness, damping=damping)


def with_dynamics(robot: Robot, dynamics: IdentifiedDynamics) -> Robot:
    """Return a robot with other bodies, rotors, friction and springs; what is absent stays.

    Raises:
        InputError: The robot has no such joint, or a number cannot be.
        ModelError: The robot has no bodies.
    """
    refuse_misfit(robot, dynamics)
    joints = {block.name: block.joint for block in robot.blocks}
    bodies = {joints[name]: np.asarray(body) for name, body in dynamics.bodies.items()}
    armature = np.array(robot.model.armature, dtype=np.float64)
    elastic, terms = robot.elastic, robot.forces.terms
    motors = {} if elastic is None else {int(dof): i for i, dof in enumerate(elastic.motors)}
    inertia = np.zeros(0) if elastic is None else elastic.inertia.copy()
    for name, value in dynamics.armature.items():
        dof = robot.structure.dof(name)
        if dof in motors:
            inertia[motors[dof]] = value
            rotor = robot.structure.block_of(dof).joint
            bodies[rotor] = value * np.array([0, 0, 0, 0, 1, 0, 1, 0, 0, 1], dtype=np.float64)
        else:
            armature[dof] = value
    if elastic is not None:
        stiffness, damping = springs_of(elastic, dynamics)
        sprung = dc.replace(elastic, inertia=inertia, stiffness=stiffness, damping=damping)
        terms = tuple(sprung if term is elastic else term for term in terms)
        elastic = sprung
    structure = cast("PinocchioStructure", robot.structure).with_inertias(bodies, armature)
    friction = {robot.structure.dof(name): one for name, one in dynamics.friction.items()}
    forces = Forces(tuple(_with_friction(robot, terms, friction)))
    return dc.replace(robot, structure=structure, forces=forces, elastic=elastic, path=None)


def springs_of(elastic: ElasticJoints, dynamics: IdentifiedDynamics) -> tuple[Vector, Vector]:
    """Return stiffness and damping of springs, with what dynamics say in place of today's."""
    stiffness, damping = (
        np.array([said.get(name, now) for name, now in zip(elastic.joints, values, strict=True)])
        for said, values in (
            (dynamics.stiffness, elastic.stiffness),
            (dynamics.damping, elastic.damping),
        )
    )
    return stiffness, damping


def _with_friction(
    robot: Robot, terms: Iterable[AppliedForce], friction: Mapping[int, DofFriction]
) -> list[AppliedForce]:
    """Return forces in which the friction of some velocities is another."""
    damping, replaced = np.zeros(robot.nv), list(friction)
    result: list[AppliedForce] = []
    for term in terms:
        if isinstance(term, Dampers):
            damping += term.damping
        elif isinstance(term, Friction):
            keep = ~np.isin(term.dofs, replaced)
            result.append(Friction(term.dofs[keep], *(column[keep] for column in term.columns())))
        elif isinstance(term, NonlinearJointSprings):
            powers = np.where(np.isin(term.dofs, replaced)[:, None], 0.0, term.damping)
            result.append(dc.replace(term, damping=powers))
        else:
            result.append(term)
    damping[replaced] = [one.viscous for one in friction.values()]
    dry = {dof: one for dof, one in friction.items() if one.coulomb or one.static or one.asymmetry}
    if dry:
        rows = [
            (one.coulomb, one.velocity_scale, max(one.static - one.coulomb, 0.0),
             one.stribeck_velocity, 0.0, one.asymmetry)
            for one in dry.values()
        ]  # fmt: skip
        result.append(Friction(np.array(list(dry)), *np.array(rows).T.copy()))
    return [*result, Dampers(damping)] if damping.any() else result


def refuse_misfit(robot: Robot, dynamics: IdentifiedDynamics) -> None:
    """Refuse dynamics that are none of a robot's.

    Raises:
        InputError: A joint or a velocity does not exist, or a number cannot be.
        ModelError: The robot has no bodies.
    """
    present = bodies_of(robot)
    for name, body in dynamics.bodies.items():
        if name not in present:
            raise unknown_name("joint that moves a body", name, present)
        with error_context(f"body of joint '{name}'"):
            _refuse_body(np.asarray(body))
    rotors = armature_of(robot)
    for name, value in dynamics.armature.items():
        block = robot.structure.block_of(robot.structure.dof(name))
        with error_context(f"armature of '{name}'"):
            _refuse_negative("it", value)
            if block.nv > 1 and value != rotors.get(name, 0.0):
                raise InputError(
                    f"joint '{block.name}' has {block.nv} freedoms, of which a model file knows "
                    "no rotors one by one; leave it out."
                )
    springs = () if robot.elastic is None else robot.elastic.joints
    for symbol in SPRINGS:
        for name, value in getattr(dynamics, symbol).items():
            if name not in springs:
                raise unknown_name("elastic joint", name, springs)
            with error_context(f"{symbol} of '{name}'"):
                _refuse_negative("it", value)
                if symbol == "stiffness" and not value:
                    raise InputError("it must be above zero: no spring drives the joint.")
    for name, friction in dynamics.friction.items():
        robot.structure.dof(name)
        with error_context(f"friction of '{name}'"):
            _refuse_friction(friction)


def _refuse_body(body: Any) -> None:
    count = len(BODY_PARAMETERS)
    if body.shape != (count,):
        raise InputError(
            f"must have shape ({count},), {', '.join(BODY_PARAMETERS)}; got {body.shape}."
        )
    for name, value in zip(BODY_PARAMETERS, body, strict=True):
        if not np.isfinite(value):
            raise InputError(f"{name} must be finite; got {value}.")
    if body[0] == 0.0 and body[1:4].any():
        raise InputError(
            "has first moments but no mass, which no body has; fit it physically consistent, or "
            "give it the mass that the fit does not know."
        )


def _refuse_friction(friction: DofFriction) -> None:
    for name in ("coulomb", "viscous", "static"):
        _refuse_negative(name, getattr(friction, name))
    if not np.isfinite(friction.asymmetry):
        raise InputError(f"asymmetry must be finite; got {friction.asymmetry}.")
    for name in ("velocity_scale", "stribeck_velocity"):
        value = getattr(friction, name)
        if not 0.0 < value < np.inf:
            raise InputError(f"{name} must be above zero and finite; got {value}.")
    if friction.static and friction.static < friction.coulomb:
        raise InputError(
            f"static must be zero, or at least coulomb, {friction.coulomb:g}; got "
            f"{friction.static:g}."
        )
    if friction.static and not friction.velocity_scale < friction.stribeck_velocity:
        raise InputError(
            f"velocity_scale must be below stribeck_velocity, {friction.stribeck_velocity:g}, for "
            f"static friction to be felt; got {friction.velocity_scale:g}."
        )


def _refuse_negative(name: str, value: float) -> None:
    if not 0.0 <= value < np.inf:
        raise InputError(f"{name} must be zero or above, and finite; got {value}.")
