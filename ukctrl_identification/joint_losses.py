"""Friction of joints, sorted by where a robot's files say it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from ukctrl.core.arrays import Vector
from ukctrl.core.errors import InputError
from ukctrl.robot import Robot
from ukctrl.robot.forces import Dampers
from ukctrl.robot.mjcf.disable_flags import EnabledForces
from ukctrl.robot.schema.robot_file import RobotFile
from ukctrl_identification.identified_dynamics import DofFriction, IdentifiedDynamics
from ukctrl_identification.robot_dynamics import friction_of


class JointLosses(NamedTuple):
    """Friction, sorted by where it is written."""

    dofs: frozenset[int]
    """Velocities whose friction is another."""
    damping: dict[str, float]
    """In model files, by joint."""
    dry_friction: dict[str, float]
    forces: list[dict[str, Any]]
    """As tables of ``[[force]]``."""


def changed_friction(robot: Robot, dynamics: IdentifiedDynamics) -> dict[int, DofFriction]:
    """Return the friction that is another than today's, by velocity.

    Of a joint with several freedoms, for which a model file has one number, that of all.
    """
    structure, present = robot.structure, friction_of(robot)
    today = {structure.dof(name): one for name, one in present.items()}
    given = {structure.dof(name): one for name, one in dynamics.friction.items()}
    # no file has the friction of a robot that was changed after it was loaded
    changed = [d for d, one in given.items() if robot.path is None or one != today.get(d)]
    blocks = {block.iv: block for block in map(structure.block_of, changed)}.values()
    dofs = [block.iv + k for block in blocks for k in range(block.nv)]
    return {dof: given.get(dof, today.get(dof, DofFriction())) for dof in sorted(dofs)}


def joint_losses(
    robot: Robot,
    spec: RobotFile,
    enabled: EnabledForces | None,
    friction: Mapping[int, DofFriction],
) -> JointLosses:
    """Sort friction: model files know damping and a level of joints with one freedom.

    Args:
        robot: The robot.
        spec: Its ``robot.toml``.
        enabled: Which forces an MJCF file switches on; None: its model is no MJCF.
        friction: What is written, by velocity.

    Raises:
        InputError: It is less than the damping of a servo whose command is the input.
    """
    losses = JointLosses(frozenset(friction), {}, {}, [])
    damps, rubs = (True, True) if enabled is None else (enabled.damper, enabled.friction)
    law = _servo_damping(robot, spec)
    for dof, one in friction.items():
        block, name = robot.structure.block_of(dof), robot.dofs[dof]
        viscous, has_place = one.viscous - law[dof], block.nv == 1 and not block.rotor
        if viscous < 0.0:
            raise InputError(
                f"friction of '{name}': viscous must be at least {law[dof]:g}, which the servo "
                f"there has by itself (servos = 'commands'); got {one.viscous:g}."
            )
        plain = one.static <= one.coulomb and not one.asymmetry
        rubs_here = has_place and rubs and plain
        rubs_here = rubs_here and one.velocity_scale == spec.friction_velocity
        if not block.rotor:
            losses.damping[block.name] = viscous if has_place and damps else 0.0
            losses.dry_friction[block.name] = one.coulomb if rubs_here else 0.0
        if viscous and not (has_place and damps):
            losses.forces.append({"kind": "joint_damper", "joint": name, "damping": viscous})
        if not rubs_here and (one.coulomb or not plain):
            losses.forces.append(_dry_friction(name, one))
    return losses


def _dry_friction(name: str, friction: DofFriction) -> dict[str, Any]:
    level, scale = friction.coulomb, friction.velocity_scale
    table = {"kind": "dry_friction", "joint": name, "level": level, "velocity_scale": scale}
    if friction.static > level:
        table |= {"static": friction.static, "stribeck_velocity": friction.stribeck_velocity}
    return table | ({"asymmetry": friction.asymmetry} if friction.asymmetry else {})


def _servo_damping(robot: Robot, spec: RobotFile) -> Vector:
    """Return the damping of servos whose commands are the inputs, shape ``(nv,)``."""
    damping = np.zeros(robot.nv)
    if spec.servos == "commands":
        damping -= robot.structure.damping
        for term in robot.forces.terms:
            if isinstance(term, Dampers):
                damping += term.damping
        for force in spec.force:
            if force.kind in ("joint_spring", "joint_damper"):
                damping[robot.structure.dof(force.joint)] -= force.damping
    return damping
