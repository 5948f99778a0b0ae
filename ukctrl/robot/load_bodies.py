"""From model files, linkages and particles to the parts of a robot, by Pinocchio."""

from __future__ import annotations

import contextlib
import dataclasses as dc
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin

from ukctrl.core.errors import ModelError
from ukctrl.core.files import AnyPath
from ukctrl.core.files.toml import error_context
from ukctrl.robot import model_audit
from ukctrl.robot.actuators import actuation
from ukctrl.robot.elastic import add_elastic_joints
from ukctrl.robot.forces import Forces, forces
from ukctrl.robot.model_audit import ModelDiagnostic
from ukctrl.robot.models import urdf
from ukctrl.robot.models.build_model import build_model
from ukctrl.robot.models.join_urdfs import join_urdfs
from ukctrl.robot.models.linkage_model import EXPECTED_CODES, linkage_model
from ukctrl.robot.models.model_source import ModelSource, XacroOptions, read_model
from ukctrl.robot.models.parsed_model import ParsedModel, checked_structure
from ukctrl.robot.models.particle_model import particle_model
from ukctrl.robot.rigid.pinocchio_structure import PinocchioStructure
from ukctrl.robot.robot_base import PROBES, RobotBase, fold_constant_columns
from ukctrl.robot.schema.linkage_tables import Linkage
from ukctrl.robot.schema.picture_tables import refuse_unknown_names
from ukctrl.robot.schema.robot_file import ExtraFrame, Options, RobotFile
from ukctrl.robot.shape_sources import ShapeSource, ShapeSources
from ukctrl.robot.structure import Structure
from ukctrl.robot.values_by_name import home_configuration, with_limits

NO_TEXT = "<robot name='none'><link name='world'/></robot>"
"""Model text of a robot that is not made of any."""


def robot_from_file(spec: RobotFile, name: str, path: Path, label: str, trust: bool) -> RobotBase:
    """Return the robot of a ``robot.toml`` that is made of rigid bodies."""
    macros = XacroOptions(spec.xacro_arguments, spec.package_path, trust)
    if spec.model is not None:
        source = read_model(spec.model, macros)
        parsed = _parsed(source, spec)
        return _assemble(parsed, source, spec, name, spec.title, spec.source, path)
    if spec.part is not None:
        with error_context(label):
            whole = join_urdfs(spec.part, name, spec.floating_base, macros)
        source = dc.replace(whole, label=label)
        parsed = _parsed(source, spec)
        robot = _assemble(parsed, source, spec, name, spec.title, spec.source, path)
        shown = tuple(
            ShapeSource(
                read_model(component.model, macros).text,
                component.model,
                component.prefix,
                spec.package_path,
            )
            for component in spec.part
        )
        return dc.replace(robot, shape_sources=dc.replace(robot.shape_sources, models=shown))
    if spec.linkage is not None:
        return _robot_from_linkage(spec, spec.linkage, name, path, label)
    assert spec.particles is not None  # the schema asks for one of them
    none = dc.replace(read_model(NO_TEXT), label=label)
    parsed = _generated_model(particle_model(spec.particles), spec, label)
    swarm = _assemble(parsed, none, spec, name, spec.title, spec.source, path)
    return dc.replace(swarm, audit=())  # of slides without mass, which are meant


def _robot_from_linkage(
    spec: RobotFile, linkage: Linkage, name: str, path: Path, label: str
) -> RobotBase:
    """Return the robot of a ``[linkage]``."""
    with error_context(f"{label}: linkage"):
        tree = linkage_model(linkage, name)
    motors, closures = (*tree.actuator, *(spec.actuator or ())), (*tree.passive, *spec.passive)
    options = dc.replace(spec, actuator=motors, passive=closures)
    source = dc.replace(read_model(NO_TEXT), label=label)
    parsed = _generated_model(tree.model, options, label)
    robot = _assemble(parsed, source, options, name, spec.title, spec.source, path)
    audit = tuple(finding for finding in robot.audit if finding.code not in EXPECTED_CODES)
    drawn = dc.replace(robot.shape_sources, models=(), linkage=linkage.expanded())
    return dc.replace(robot, home=tree.home, audit=audit, shape_sources=drawn)


def _parsed(source: ModelSource, options: Options) -> ParsedModel:
    """Return what a checked model text says of a robot.

    Raises:
        ModelError: Its parser does not accept it, or would make another robot of it.
    """
    if source.format == "MJCF":
        if options.floating_base:
            raise ModelError(
                f"{source.label}: floating_base is for URDF; in MJCF, write <freejoint/> in the "
                "body that moves freely."
            )
        from ukctrl.robot.mjcf.read_mjcf import read_mjcf  # nobody else pays for importing it

        with error_context(source.label):
            return read_mjcf(source, options)
    if options.servos == "commands":
        raise ModelError(f"{source.label}: servos is for MJCF; no other file has any.")
    is_urdf = source.format == "URDF"
    if is_urdf:
        urdf.refuse_misparsed(source)
    model, warnings = build_model(source, options.floating_base)
    with error_context(source.label):
        structure = checked_structure(model, bool(options.passive), options.gravity)
        followers = list(urdf.mimic_constraints(source, structure)) if is_urdf else []
    return ParsedModel(
        structure,
        followers=frozenset(joint for joint, _, _ in followers),
        passive=tuple(table for _, table, _ in followers if table is not None),
        diagnostics=(
            *(finding for _, _, finding in followers),
            *(model_audit.warning("parser", model.name, text) for text in warnings),
            *(urdf.urdf_diagnostics(source, structure) if is_urdf else ()),
        ),
    )


def _generated_model(model: Any, options: Options, label: str) -> ParsedModel:
    """Return a model that no file says."""
    with error_context(label):
        return ParsedModel(checked_structure(model, bool(options.passive), options.gravity))


def robot_from_source(
    source: AnyPath, options: Options, name: str | None = None, trust: bool = False
) -> RobotBase:
    """Build a robot from the text or the path of a model; see `Robot.build`."""
    checked = read_model(source, XacroOptions(options.xacro_arguments, options.package_path, trust))
    model_name = checked.path.stem if checked.path else checked.root.get("name")
    called = name or model_name or checked.root.get("model") or "robot"
    parsed = _parsed(checked, options)
    return _assemble(parsed, checked, options, called, called, "", checked.path)


def _assemble(
    parsed: ParsedModel,
    source: ModelSource,
    options: Options,
    name: str,
    title: str,
    origin: str,
    path: Path | None,
) -> RobotBase:
    structure, mimicking = parsed.structure, parsed.followers
    motors = parsed.motors if options.actuator is None else options.actuator
    with error_context(path) if path is not None else contextlib.nullcontext():
        for number, extra in enumerate(options.frame):
            with error_context(f"frame[{number}]"):
                structure = _with_frame(structure, extra)
        inputs = actuation(structure, motors, mimicking)
        driven, joints = inputs, None
        whole: Structure = structure
        if options.elastic is not None:
            whole, driven, joints = add_elastic_joints(
                options.elastic,
                structure,
                lambda given, sprung: actuation(given, motors, mimicking | sprung),
            )
        whole = with_limits(whole, options.limit)
        pushes = forces(whole, options.force, options.friction_velocity, parsed.springs)
        pushes = Forces((*pushes.terms, *parsed.terms(whole)))
        if joints is not None:
            pushes = Forces((*pushes.terms, joints))
        home = home_configuration(whole, options.home)
        refuse_unknown_names(
            options.picture, whole.picture_vocabulary, whole.frames, driven.names, options.passive
        )
    shown = ShapeSource(source.text, source.path, "", options.package_path, parsed.shapes)
    robot = RobotBase(
        name=name,
        title=title,
        source=origin,
        structure=whole,
        actuation=driven,
        forces=pushes,
        elastic=joints,
        passive=(*options.passive, *parsed.passive),
        path=path,
        home=home,
        keyframes=parsed.keyframes,
        shape_sources=ShapeSources(options.picture, (shown,)),
    )
    findings = [*parsed.diagnostics, *model_audit.model_diagnostics(structure)]
    findings += model_audit.unit_diagnostics(whole)
    _stop_at_error(findings, source)
    rng = np.random.default_rng(0)
    probes = [robot.random(rng) for _ in range(PROBES)]
    findings += model_audit.mass_diagnostics(
        whole,
        (robot.snapshot(q).M for q in probes),
        str(structure.model.name),
        "an absurd length",
        "Give the links beyond it a mass and an inertia, or make the joint fixed.",
    )
    _stop_at_error(findings, source)
    findings = list(model_audit.without_idle_efforts(findings, structure, inputs))
    if motors != ():  # who asks for no motor need not be told
        findings += model_audit.actuation_diagnostics(structure, inputs)
    return dc.replace(robot, actuation=fold_constant_columns(robot, probes), audit=tuple(findings))


def _stop_at_error(findings: list[ModelDiagnostic], source: ModelSource) -> None:
    errors = [finding for finding in findings if finding.level == "error"]
    if errors:
        more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
        raise ModelError(f"{source.label}: {errors[0].message}{more}")


def _with_frame(structure: PinocchioStructure, extra: ExtraFrame) -> PinocchioStructure:
    model = structure.model
    if extra.name in structure.frames:
        raise ModelError(f"the robot has a frame named '{extra.name}' already.")
    with error_context("parent"):
        parent = structure.site(extra.parent)
    pose = pin.SE3(parent.rotation, parent.translation) * pin.SE3(
        pin.rpy.rpyToMatrix(np.array(extra.rpy)), np.array(extra.position)
    )
    model.addFrame(pin.Frame(extra.name, parent.joint, 0, pose, pin.FrameType.OP_FRAME))
    return PinocchioStructure(structure.blocks, model)
