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
from ukctrl.core.files.toml import blaming
from ukctrl.robot import audit
from ukctrl.robot.actuators import actuation
from ukctrl.robot.appearance import Appearance, ModelText
from ukctrl.robot.assembly import PROBES, Assembly, folded
from ukctrl.robot.audit import Finding
from ukctrl.robot.by_name import home_of, with_limits
from ukctrl.robot.elastic import elastic
from ukctrl.robot.forces import Forces, forces
from ukctrl.robot.models import urdf
from ukctrl.robot.models.build import build
from ukctrl.robot.models.joined_models import joined
from ukctrl.robot.models.maximal import BY_CONSTRUCTION, maximal
from ukctrl.robot.models.parsed import ParsedModel, structured
from ukctrl.robot.models.particles import particles
from ukctrl.robot.models.source import Macros, Source, read
from ukctrl.robot.rigid import ModelStructure
from ukctrl.robot.schema.linkage_tables import Linkage
from ukctrl.robot.schema.picture_tables import refuse_unknown_names
from ukctrl.robot.schema.robot_file import ExtraFrame, Options, RobotFile
from ukctrl.robot.structure import Structure

NO_TEXT = "<robot name='none'><link name='world'/></robot>"
"""Model text of a robot that is not made of any."""


def bodies_of_file(spec: RobotFile, name: str, path: Path, label: str, trust: bool) -> Assembly:
    """Return the robot of a ``robot.toml`` that is made of rigid bodies."""
    macros = Macros(spec.xacro_arguments, spec.package_path, trust)
    if spec.model is not None:
        source = read(spec.model, macros)
        parsed = _parsed(source, spec)
        return _assemble(parsed, source, spec, name, spec.title, spec.source, path)
    if spec.part is not None:
        with blaming(label):
            whole = joined(spec.part, name, spec.floating_base, macros)
        source = dc.replace(whole, label=label)
        parsed = _parsed(source, spec)
        robot = _assemble(parsed, source, spec, name, spec.title, spec.source, path)
        shown = tuple(
            ModelText(read(part.model, macros).text, part.model, part.prefix, spec.package_path)
            for part in spec.part
        )
        return dc.replace(robot, appearance=dc.replace(robot.appearance, models=shown))
    if spec.linkage is not None:
        return _linked(spec, spec.linkage, name, path, label)
    assert spec.particles is not None  # the schema asks for one of them
    none = dc.replace(read(NO_TEXT), label=label)
    parsed = _made(particles(spec.particles), spec, label)
    swarm = _assemble(parsed, none, spec, name, spec.title, spec.source, path)
    return dc.replace(swarm, audit=())  # of slides without mass, which are meant


def _linked(spec: RobotFile, linkage: Linkage, name: str, path: Path, label: str) -> Assembly:
    """Return the robot of a ``[linkage]``."""
    with blaming(f"{label}: linkage"):
        tree = maximal(linkage, name)
    motors, closures = (*tree.actuator, *(spec.actuator or ())), (*tree.passive, *spec.passive)
    options = dc.replace(spec, actuator=motors, passive=closures)
    source = dc.replace(read(NO_TEXT), label=label)
    parsed = _made(tree.model, options, label)
    robot = _assemble(parsed, source, options, name, spec.title, spec.source, path)
    audit = tuple(finding for finding in robot.audit if finding.code not in BY_CONSTRUCTION)
    drawn = dc.replace(robot.appearance, models=(), linkage=linkage.expanded())
    return dc.replace(robot, home=tree.home, audit=audit, appearance=drawn)


def _parsed(source: Source, options: Options) -> ParsedModel:
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
        from ukctrl.robot.mjcf.read import read_mjcf  # nobody else pays for importing it

        with blaming(source.label):
            return read_mjcf(source, options)
    if options.servos == "commands":
        raise ModelError(f"{source.label}: servos is for MJCF; no other file has any.")
    is_urdf = source.format == "URDF"
    if is_urdf:
        urdf.refuse_what_parsers_take(source)
    model, warnings = build(source, options.floating_base)
    with blaming(source.label):
        structure = structured(model, bool(options.passive), options.gravity)
        followers = list(urdf.mimics(source, structure)) if is_urdf else []
    return ParsedModel(
        structure,
        mimicking=frozenset(joint for joint, _, _ in followers),
        passive=tuple(table for _, table, _ in followers if table is not None),
        findings=(
            *(finding for _, _, finding in followers),
            *(audit.warning("parser", model.name, text) for text in warnings),
            *(urdf.findings(source, structure) if is_urdf else ()),
        ),
    )


def _made(model: Any, options: Options, label: str) -> ParsedModel:
    """Return a model that no file says."""
    with blaming(label):
        return ParsedModel(structured(model, bool(options.passive), options.gravity))


def from_source(
    source: AnyPath, options: Options, name: str | None = None, trust: bool = False
) -> Assembly:
    """Build a robot from the text or the path of a model; see `Robot.build`."""
    checked = read(source, Macros(options.xacro_arguments, options.package_path, trust))
    own = checked.path.stem if checked.path else checked.root.get("name")
    called = name or own or checked.root.get("model") or "robot"
    parsed = _parsed(checked, options)
    return _assemble(parsed, checked, options, called, called, "", checked.path)


def _assemble(
    parsed: ParsedModel,
    source: Source,
    options: Options,
    name: str,
    title: str,
    origin: str,
    path: Path | None,
) -> Assembly:
    structure, mimicking = parsed.structure, parsed.mimicking
    motors = parsed.motors if options.actuator is None else options.actuator
    with blaming(path) if path is not None else contextlib.nullcontext():
        for number, extra in enumerate(options.frame):
            with blaming(f"frame[{number}]"):
                structure = _with_frame(structure, extra)
        inputs = actuation(structure, motors, mimicking)
        driven, joints = inputs, None
        whole: Structure = structure
        if options.elastic is not None:
            whole, driven, joints = elastic(
                options.elastic,
                structure,
                lambda given, sprung: actuation(given, motors, mimicking | sprung),
            )
        whole = with_limits(whole, options.limit)
        pushes = forces(whole, options.force, options.friction_velocity, parsed.springs)
        pushes = Forces((*pushes.terms, *parsed.terms(whole)))
        if joints is not None:
            pushes = Forces((*pushes.terms, joints))
        home = home_of(whole, options.home)
        refuse_unknown_names(
            options.picture, whole.picture_words, whole.frames, driven.names, options.passive
        )
    shown = ModelText(source.text, source.path, "", options.package_path, parsed.shapes)
    robot = Assembly(
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
        appearance=Appearance(options.picture, (shown,)),
    )
    findings = [*parsed.findings, *audit.model_findings(structure)]
    _stop_at_error(findings, source)
    rng = np.random.default_rng(0)
    probes = [robot.random(rng) for _ in range(PROBES)]
    findings += audit.mass_findings(
        whole,
        (robot.snapshot(q).M for q in probes),
        str(structure.model.name),
        "an absurd length",
        "Give the links beyond it a mass and an inertia, or make the joint fixed.",
    )
    _stop_at_error(findings, source)
    findings = list(audit.of_motors(findings, structure, inputs))
    if motors != ():  # who asks for no motor need not be told
        findings += audit.actuation_findings(structure, inputs)
    return dc.replace(robot, actuation=folded(robot, probes), audit=tuple(findings))


def _stop_at_error(findings: list[Finding], source: Source) -> None:
    errors = [finding for finding in findings if finding.level == "error"]
    if errors:
        more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
        raise ModelError(f"{source.label}: {errors[0].message}{more}")


def _with_frame(structure: ModelStructure, extra: ExtraFrame) -> ModelStructure:
    model = structure.model
    if extra.name in structure.frames:
        raise ModelError(f"the robot has a frame named '{extra.name}' already.")
    with blaming("parent"):
        parent = structure.site(extra.parent)
    place = pin.SE3(parent.rotation, parent.translation) * pin.SE3(
        pin.rpy.rpyToMatrix(np.array(extra.rpy)), np.array(extra.position)
    )
    model.addFrame(pin.Frame(extra.name, parent.joint, 0, place, pin.FrameType.OP_FRAME))
    return ModelStructure(structure.blocks, model)
