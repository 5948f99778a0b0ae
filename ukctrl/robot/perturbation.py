"""A robot that is not quite as its file says: wrong masses, payloads, friction."""

from __future__ import annotations

import dataclasses as dc
from collections.abc import Iterator
from typing import Annotated, Any, cast

import numpy as np
from pydantic import Field

from ukctrl.core.errors import InputError, ModelError, unknown_name
from ukctrl.core.fields import (
    NUMBER,
    ByName,
    JointSpeed,
    Kilograms,
    ListSize,
    Number,
    Position,
    Quantity,
    Text,
    Vec3,
    spec,
)
from ukctrl.core.files.toml import error_context
from ukctrl.robot.forces import Dampers, Forces, Friction
from ukctrl.robot.formulas.build_plant import with_parameters
from ukctrl.robot.rigid.rigid_structure import RigidStructure
from ukctrl.robot.robot_base import R, RobotBase
from ukctrl.robot.schema.force_tables import Dampings, Efforts, Factors
from ukctrl.robot.structure import Structure
from ukctrl.robot.values_by_name import joint_values, values_by_name


def _vec3(value: object) -> tuple[float, ...]:
    metres = Quantity("m")
    return tuple(metres.read(item) for item in ListSize(3, 3).read(value))


Shift = Annotated[
    tuple[float, float, float] | dict[str, tuple[float, float, float]],
    ByName(_vec3, {"type": "array", "items": NUMBER, "minItems": 3, "maxItems": 3}),
]
"""Vector [m], or a table of them by joint."""


@spec
class Payload:
    """A rigid body fastened to a frame."""

    frame: Text
    """Frame that carries it."""
    mass: Kilograms
    """[kg]."""
    com: Position = (0.0, 0.0, 0.0)
    """Centre of mass in the frame [m]."""
    inertia: Vec3 = (0.0, 0.0, 0.0)
    """Principal moments about the centre of mass along the frame's axes [kg m^2]."""


@spec
class Perturbation:
    """How a robot differs from its file.

    Where a table is allowed, its keys are joints and stand for the body that the joint moves.
    """

    mass_scale: Factors = 1.0
    """Factor on the mass and the rotational inertia, as if the density were another."""
    inertia_scale: Factors = 1.0
    """Further factor on the rotational inertia about the centre of mass."""
    com_shift: Shift = (0.0, 0.0, 0.0)
    """Shift of the centre of mass in the joint's frame [m]."""
    damping: Dampings = 0.0
    """Viscous friction added at one-freedom joints [N m s/rad or N s/m]."""
    friction: Efforts = 0.0
    """Dry friction added at one-freedom joints [N m or N]."""
    friction_velocity: JointSpeed = 0.01
    """Velocity at which 76 % of that dry friction is reached [rad/s or m/s]."""
    payload: Payload | None = None
    """A body to fasten to a frame."""
    gravity: Vec3 | None = None
    """Gravitational acceleration in world axes [m/s^2]; absent: unchanged."""
    stiffness_scale: Factors = 1.0
    """Factor on the stiffness of the springs of elastic joints."""
    parameters: dict[Text, Number] = Field(default_factory=dict)
    """Other values for parameters of a plant of formulas or functions."""

    def apply(self, robot: R) -> R:
        """Return the robot with these differences.

        Raises:
            UnknownName: A joint or frame does not exist.
            ModelError: The payload's frame does not move.
        """
        if self.parameters:
            with error_context("parameters"):
                robot = with_parameters(robot, self.parameters)
        if robot.structure.has_bodies:
            structure: Structure = self._bodies(cast("RigidStructure", robot.structure))
        else:
            self._refuse_bodies(robot)
            structure = robot.structure
        robot = self._springs(robot)
        terms = list(robot.forces.terms)
        if self.damping != 0.0 and (damping := joint_values(structure, self.damping)).any():
            terms.append(Dampers(damping))
        if self.friction != 0.0 and (level := joint_values(structure, self.friction)).any():
            dofs = np.flatnonzero(level)
            scale = np.full(dofs.size, self.friction_velocity)
            terms.append(Friction(dofs, level[dofs], scale))
        # No file describes this robot any more.
        return dc.replace(robot, structure=structure, forces=Forces(tuple(terms)), path=None)

    def _springs(self, robot: R) -> R:
        """Return the robot with springs of another stiffness in its elastic joints."""
        if self.stiffness_scale == 1.0:
            return robot
        with error_context("stiffness_scale"):
            joints = robot.elastic
            if joints is None:
                raise InputError(f"robot '{robot.name}' has no elastic joints.")
            scale = values_by_name(self.stiffness_scale, joints.joints, "elastic joint", 1.0)
        scaled = dc.replace(joints, stiffness=scale * joints.stiffness)
        terms = tuple(scaled if term is joints else term for term in robot.forces.terms)
        return dc.replace(robot, elastic=scaled, forces=Forces(terms))

    def _bodies(self, old: RigidStructure) -> RigidStructure:
        """Return the rigid bodies with these differences."""
        import pinocchio as pin

        from ukctrl.robot.rigid.pinocchio_structure import PinocchioStructure

        model = pin.Model(old.model)
        for joint, factor in _by_body(old, self.mass_scale, 1.0, "mass_scale"):
            body = model.inertias[joint]
            model.inertias[joint] = pin.Inertia(
                factor * body.mass, body.lever, factor * body.inertia
            )
        for joint, factor in _by_body(old, self.inertia_scale, 1.0, "inertia_scale"):
            body = model.inertias[joint]
            model.inertias[joint] = pin.Inertia(body.mass, body.lever, factor * body.inertia)
        for joint, shift in _by_body(old, self.com_shift, (0.0, 0.0, 0.0), "com_shift"):
            body = model.inertias[joint]
            model.inertias[joint] = pin.Inertia(
                body.mass, body.lever + np.array(shift), body.inertia
            )
        if self.payload is not None:
            self._load(old, model, self.payload)
        if self.gravity is not None:
            model.gravity.linear = np.array(self.gravity)
        return PinocchioStructure(old.blocks, model, template=old)

    def _refuse_bodies(self, robot: RobotBase) -> None:
        """Refuse what only rigid bodies have."""
        for name in ("mass_scale", "inertia_scale", "com_shift", "payload", "gravity"):
            if getattr(self, name) != getattr(Perturbation, name):
                names = ", ".join(robot.parameters) or "none, as yet"
                raise InputError(
                    f"{name}: robot '{robot.name}' has no bodies but formulas or functions; "
                    f"change their parameters instead, with parameters = {{ ... }}. Known: {names}."
                )

    @staticmethod
    def _load(old: RigidStructure, model: Any, payload: Payload) -> None:
        import pinocchio as pin

        site = old.site(payload.frame)
        if site.joint == 0:
            raise ModelError(
                f"frame '{payload.frame}' does not move; a payload there does nothing."
            )
        body = pin.Inertia(payload.mass, np.array(payload.com), np.diag(payload.inertia))
        pose = pin.SE3(site.rotation, site.translation)
        model.inertias[site.joint] += pose.act(body)


def _by_body(
    structure: RigidStructure, setting: Any, neutral: Any, noun: str
) -> Iterator[tuple[int, Any]]:
    """Yield Pinocchio's joint index and the value for every body that a setting changes."""
    if isinstance(setting, dict):
        joints = {
            name: block.joint
            for block in structure.blocks
            for name in {block.name, *(block.dofs if block.nv == 1 else ())}
        }
        for name, value in setting.items():
            if name not in joints:
                raise unknown_name(f"joint for {noun}", name, joints)
            yield joints[name], value
    elif setting != neutral:
        for block in structure.blocks:
            if not block.rotor:
                yield block.joint, setting
