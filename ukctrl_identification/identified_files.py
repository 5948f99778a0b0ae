"""Robot files with identified numbers: ``robot.toml``, and its models beside it."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ukctrl.core.arrays import Vector
from ukctrl.core.errors import InputError, ModelError
from ukctrl.core.files import AnyPath, catalog
from ukctrl.core.files.table_paths import merged
from ukctrl.core.files.toml import read_spec, read_toml
from ukctrl.robot import Robot
from ukctrl.robot.model_audit import body_diagnostics
from ukctrl.robot.models.model_source import read_model
from ukctrl.robot.schema.robot_file import RobotFile
from ukctrl.robot.values_by_name import values_by_name
from ukctrl.simulation.assemble.scenario_robots import name_and_override
from ukctrl.simulation.result.atomic_files import (
    output_folder,
    to_plain_data,
    toml_text,
    write_atomically,
)
from ukctrl_identification.identified_dynamics import (
    BODY_PARAMETERS,
    SPRINGS,
    DofFriction,
    IdentifiedDynamics,
)
from ukctrl_identification.joint_losses import JointLosses, changed_friction, joint_losses
from ukctrl_identification.mjcf_dynamics import mjcf_files
from ukctrl_identification.mjcf_elements import MjcfFile
from ukctrl_identification.model_files import ModelDynamics, ModelFiles, body_inertia
from ukctrl_identification.robot_dynamics import (
    armature_of,
    bodies_of,
    dynamics_of,
    refuse_misfit,
    springs_of,
    with_dynamics,
)
from ukctrl_identification.urdf_dynamics import urdf_files

HEAD = "# Identified by ukctrl"
"""How the files of ``robot.toml`` begin that may be replaced."""
LOSSES = ("joint_damper", "dry_friction")
"""Kinds of ``[[force]]`` that friction replaces."""
SOURCE = "bodies, armature and friction identified from logs"
"""What ``source`` of ``robot.toml`` adds."""
MAX_DIFFERENCE = 1e-12
"""Largest difference of a written number from what was asked for, of the largest of its kind."""


class RobotCard(NamedTuple):
    """The files that a robot was loaded from."""

    path: Path
    """Its ``robot.toml``, or the model that is a robot alone."""
    table: dict[str, Any]
    """As of ``robot.toml``, with what was laid over it."""
    spec: RobotFile
    mjcf: MjcfFile | None
    """Its model, where that is MJCF."""


def write_identified(
    robot: Robot, reference: AnyPath | Mapping[str, Any], dynamics: IdentifiedDynamics, folder: Path
) -> dict[str, str]:
    """Write a robot with other bodies, rotors and friction, ready for ``robot = "FOLDER"``.

    Joints, frames, limits, shapes, closures, actuators, forces and pictures stay as they are, and
    so does what is absent in ``dynamics``. Links that are fixed to the one that a joint moves are
    one body with it: that link gets all, the others nothing. Damping and dry friction are written
    where the model file has a place for them, else as ``[[force]]``.

    Args:
        robot: The robot.
        reference: What it was loaded from: a name, a path, or a scenario's table with ``use``.
        dynamics: The numbers.
        folder: Where. Files of an earlier call are replaced, those of somebody else never.

    Returns:
        What was written, by the path in the folder.

    Raises:
        InputError: The robot is made of what has no inertial parameters, lacks a joint, or the
            folder holds files of somebody else.
        ModelError: No model file can say the numbers, such as a negative mass.
    """
    card = _card(robot, reference)
    refuse_misfit(robot, dynamics)
    if robot.path is None:  # it was changed after it was loaded, and its files say other numbers
        dynamics = dynamics_of(with_dynamics(robot, dynamics))
    enabled = None if card.mjcf is None else card.mjcf.enabled
    losses = joint_losses(robot, card.spec, enabled, changed_friction(robot, dynamics))
    numbers = _changed_numbers(robot, dynamics, losses)
    _refuse_impossible(numbers.bodies)
    model = _model_files(robot, card, numbers)
    table = _robot_table(robot, card, dynamics, losses, model.models)
    text = f"{HEAD}: robot '{robot.name}' with numbers from its logs.\n\n{toml_text(table)}"
    files = {**model.files, "robot.toml": text.encode()}
    with tempfile.TemporaryDirectory() as temporary:
        _write(files, Path(temporary))
        try:
            written = Robot.load(Path(temporary))
        except InputError as error:  # such as an inertia that MuJoCo takes for impossible
            raise type(error)(str(error).replace(temporary, str(folder))) from None
    _refuse_differences(robot, dynamics, written)
    _refuse_strangers(files, folder)
    with output_folder("the identified robot", folder):
        _write(files, folder)
    told = {"robot.toml": "the robot", **dict.fromkeys(model.models, "its model, as identified")}
    return {name: told.get(name, "a file of its model") for name in sorted(files)}


def _card(robot: Robot, reference: AnyPath | Mapping[str, Any]) -> RobotCard:
    """Return the files of a robot.

    Raises:
        InputError: It is made of what has no inertial parameters that a file could take.
    """
    use: AnyPath
    override: dict[str, Any] = {}
    if isinstance(reference, Mapping):
        use, override = name_and_override(reference)
    else:
        use = reference
    path = catalog.find("robots", use)
    override = override or dict(robot.override)
    if path.suffix == ".toml":
        laid = merged(read_toml(path), override)
    else:
        laid = {"title": robot.title or robot.name, "model": str(path.resolve()), **override}
    table: dict[str, Any] = to_plain_data(laid, "robot.toml")
    kind = next((f"[{key}]" for key in catalog.PLANT_KEYS if key in table), "nothing")
    models = robot.shape_sources.models
    if kind in ("[model]", "[part]") and models and models[0].path is not None:
        kind = read_model(models[0].text).format
    if kind not in ("URDF", "MJCF"):
        raise InputError(
            f"robot '{robot.name}' is made of {kind}, to which no inertial parameters can be "
            "written; identify a robot made of URDF or MJCF files."
        )
    spec = read_spec(RobotFile, table, path)
    mjcf = MjcfFile(models[0].path) if kind == "MJCF" and models[0].path is not None else None
    return RobotCard(path, table, spec, mjcf)


def _refuse_impossible(bodies: Mapping[str, Vector]) -> None:
    """Refuse bodies with which no robot is loaded."""
    for joint, parameters in bodies.items():
        body = body_inertia(parameters)
        for finding in body_diagnostics(f"body of joint {joint}", body.mass, body.inertia):
            if finding.level == "error":
                raise ModelError(
                    f"{finding.message} No robot is loaded with it; fit it physically consistent."
                )


def _changed_numbers(
    robot: Robot, dynamics: IdentifiedDynamics, losses: JointLosses
) -> ModelDynamics:
    """Return what is written into model files: what is not the same already, to the last bit."""
    present, rotors, structure = bodies_of(robot), armature_of(robot), robot.structure
    bodies = {
        name: np.asarray(body, dtype=np.float64)
        for name, body in dynamics.bodies.items()
        if robot.path is None or not np.array_equal(body, present[name])
    }
    armature = {
        structure.block_of(structure.dof(name)).name: float(value)
        for name, value in dynamics.armature.items()
        if value != rotors.get(name, 0.0) and not structure.block_of(structure.dof(name)).rotor
    }
    return ModelDynamics(bodies, armature, losses.damping, losses.dry_friction)


def _model_files(robot: Robot, card: RobotCard, dynamics: ModelDynamics) -> ModelFiles:
    if card.mjcf is not None:
        return mjcf_files(card.mjcf, bodies_of(robot), dynamics)
    base = robot.blocks[0].name if card.spec.floating_base else None
    return urdf_files(robot.shape_sources.models, card.spec.part or (), base, dynamics)


def _robot_table(
    robot: Robot,
    card: RobotCard,
    dynamics: IdentifiedDynamics,
    losses: JointLosses,
    models: tuple[str, ...],
) -> dict[str, Any]:
    """Return ``robot.toml``: what it was, with the new models, friction, motors and springs."""
    expanded = ("xacro_arguments", "package_path")  # the models hold what these led to
    table = {key: value for key, value in card.table.items() if key not in expanded}
    origin = table.get("source", "")
    if not origin.endswith(SOURCE):
        table["source"] = f"{origin}; {SOURCE}" if origin else SOURCE
    if "model" in table:
        (table["model"],) = models
    else:
        parts = zip(table["part"], models, strict=True)
        table["part"] = [{**component, "model": name} for component, name in parts]
    forces = []
    for force in table.get("force", ()):
        lossy = force["kind"] in (*LOSSES, "joint_spring")
        if lossy and robot.structure.dof(force["joint"]) in losses.dofs:
            if force["kind"] in LOSSES:
                continue
            force = {key: value for key, value in force.items() if key != "damping"}
        forces.append(force)
    if forces or losses.forces:
        table["force"] = [*forces, *losses.forces]
    sprung = _elastic_numbers(robot, card.spec, dynamics)
    if sprung:
        table["elastic"] = {**table["elastic"], **sprung}
    return table


def _elastic_numbers(
    robot: Robot, spec: RobotFile, dynamics: IdentifiedDynamics
) -> dict[str, dict[str, float]]:
    """Return what of ``[elastic]`` is another than before; motors' inertias before the gear."""
    joints, elastic = robot.elastic, spec.elastic
    if joints is None or elastic is None:
        return {}
    given = {robot.structure.dof(name): value for name, value in dynamics.armature.items()}
    gear = values_by_name(elastic.gear, joints.joints, "elastic joint", 1.0)
    inertia = values_by_name(elastic.motor_inertia, joints.joints, "elastic joint")
    wanted = [
        given.get(int(dof), now) for dof, now in zip(joints.motors, joints.inertia, strict=True)
    ]
    changed = np.array(wanted) != joints.inertia
    inertia[changed] = (np.array(wanted) / gear**2)[changed]
    numbers = {"motor_inertia": inertia} if changed.any() else {}
    for symbol, values in zip(SPRINGS, springs_of(joints, dynamics), strict=True):
        if not np.array_equal(values, getattr(joints, symbol)):
            numbers[symbol] = values
    return {
        key: dict(zip(joints.joints, values.tolist(), strict=True))
        for key, values in numbers.items()
    }


def _refuse_differences(robot: Robot, dynamics: IdentifiedDynamics, written: Robot) -> None:
    """Refuse files that are read back as another robot than was asked for."""
    wanted, came = (dynamics_of(one) for one in (with_dynamics(robot, dynamics), written))
    for noun, asked, read, none in (
        ("body of joint", wanted.bodies, came.bodies, np.zeros(len(BODY_PARAMETERS))),
        ("armature of", wanted.armature, came.armature, 0.0),
        ("friction of", wanted.friction, came.friction, DofFriction()),
        *((f"{one} of", getattr(wanted, one), getattr(came, one), 0.0) for one in SPRINGS),
    ):
        for name in {**asked, **read}:
            pair = [np.asarray(table.get(name, none)) for table in (asked, read)]
            if not np.abs(pair[0] - pair[1]).max() <= MAX_DIFFERENCE * np.abs(pair[0]).max():
                raise InputError(
                    f"the {noun} '{name}' cannot be written: the file would say {pair[1]}, not "
                    f"{pair[0]}. Please report the model file."
                )


def _refuse_strangers(files: Mapping[str, object], folder: Path) -> None:
    """Refuse a folder in which files would be replaced that are not of an earlier call."""
    card = folder / "robot.toml"
    try:
        if card.read_text(encoding="utf-8", errors="replace").startswith(HEAD):
            return
    except OSError:  # there is none
        pass
    taken = next((folder / name for name in files if os.path.lexists(folder / name)), None)
    if taken is not None:
        raise InputError(
            f"'{taken}' is there and would be replaced, and is not of an identified robot; name "
            "another folder."
        )


def _write(files: Mapping[str, bytes | Path], folder: Path) -> None:
    for name, content in files.items():
        data = content.read_bytes() if isinstance(content, Path) else content
        write_atomically(folder / name, data)
