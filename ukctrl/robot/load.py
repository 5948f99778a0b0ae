"""From files to a `Robot`."""

from __future__ import annotations

import contextlib
import dataclasses as dc
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin

from ukctrl import catalog
from ukctrl.errors import ModelError
from ukctrl.files import blaming, read_spec, read_toml
from ukctrl.robot import audit
from ukctrl.robot.actuators import Actuation, actuation
from ukctrl.robot.audit import Finding
from ukctrl.robot.composite import without_composites
from ukctrl.robot.forces import forces
from ukctrl.robot.rigid import RigidStructure, rigid_structure
from ukctrl.robot.robot import Robot
from ukctrl.robot.source import Source, build, read
from ukctrl.robot.spec import ExtraFrame, Options, RobotFile
from ukctrl.robot.text import mimics, refuse_what_parsers_take, text_findings
from ukctrl.tables import merged

CONSTANT_ATOL = 1e-13
"""A column of ``B`` that varies by no more than this between configurations is constant."""
PROBES = 5
"""Configurations at which a model is tried out. What holds at a few drawn at random holds
everywhere, but for analytic accidents of measure zero."""


def load(reference: str | Path, beside: Path | None, override: Mapping[str, Any]) -> Robot:
    """Load a robot by name, from a ``robot.toml`` or from a model file; see `Robot.load`."""
    path = catalog.find("robots", reference, beside)
    label = f"{path}, as overridden" if override else str(path)
    if path.suffix != ".toml":
        return from_source(path, read_spec(Options, override, path, label=label))
    spec = read_spec(RobotFile, merged(read_toml(path), dict(override)), path, label=label)
    name = path.parent.name if path.name == "robot.toml" else path.stem
    source = read(spec.model)
    return _assemble(source, spec, name or "robot", spec.title, spec.source, path)


def from_source(source: str | Path, options: Options, name: str | None = None) -> Robot:
    """Build a robot from the text or the path of a model; see `Robot.from_urdf`."""
    checked = read(source)
    own = checked.path.stem if checked.path else checked.root.get("name")
    called = name or own or checked.root.get("model") or "robot"
    return _assemble(checked, options, called, called, "", checked.path)


def _assemble(
    source: Source, options: Options, name: str, title: str, origin: str, path: Path | None
) -> Robot:
    refuse_what_parsers_take(source)
    built = build(source, options.floating_base)
    model = without_composites(built.model, _composite_parts(source))
    if model.nv == 0:
        raise ModelError(f"{source.label}: must have at least one joint that moves.")
    if options.gravity is not None:
        model.gravity.linear = np.array(options.gravity)
    with blaming(source.label):
        structure = rigid_structure(model)
        followers = list(mimics(source, structure))
    with blaming(path) if path is not None else contextlib.nullcontext():
        for number, extra in enumerate(options.frame):
            with blaming(f"frame[{number}]"):
                structure = _with_frame(structure, extra)
        inputs = actuation(structure, options.actuator, frozenset(j for j, _, _ in followers))
        pushes = forces(structure, options.force, options.friction_velocity)
    robot = Robot(
        name=name,
        title=title,
        source=origin,
        structure=structure,
        actuation=inputs,
        forces=pushes,
        passive=(*options.passive, *(table for _, table, _ in followers if table is not None)),
        path=path,
    )
    findings = [finding for _, _, finding in followers]
    findings += [Finding("warning", "parser", name, text) for text in built.warnings]
    findings += text_findings(source, structure)
    findings += audit.model_findings(structure)
    _stop_at_error(findings, source)
    rng = np.random.default_rng(0)
    probes = [robot.random(rng) for _ in range(PROBES)]
    findings += audit.mass_findings(structure, probes)
    _stop_at_error(findings, source)
    findings += audit.actuation_findings(structure, robot.actuation)
    folded = _folded(robot, probes)
    return dc.replace(robot, actuation=folded, audit=tuple(findings))


def _stop_at_error(findings: list[Finding], source: Source) -> None:
    errors = [finding for finding in findings if finding.level == "error"]
    if errors:
        more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
        raise ModelError(f"{source.label}: {errors[0].message}{more}")


def _composite_parts(source: Source) -> Mapping[str, tuple[str, ...]]:
    """Return the names of the joints of every MJCF body with several, by Pinocchio's name."""
    parts: dict[str, tuple[str, ...]] = {}
    if source.format == "MJCF":
        for body in source.root.iter("body"):
            names = tuple(joint.get("name", "") for joint in body.findall("joint"))
            if len(names) > 1 and all(names):
                parts[f"Composite_{names[0]}"] = names
    return parts


def _with_frame(structure: RigidStructure, extra: ExtraFrame) -> RigidStructure:
    model = structure.model
    if extra.name in structure.frames:
        raise ModelError(f"the robot has a frame named '{extra.name}' already.")
    with blaming("parent"):
        parent = structure.site(extra.parent)
    place = pin.SE3(parent.rotation, parent.translation) * pin.SE3(
        pin.rpy.rpyToMatrix(np.array(extra.rpy)), np.array(extra.position)
    )
    model.addFrame(pin.Frame(extra.name, parent.joint, 0, place, pin.FrameType.OP_FRAME))
    return RigidStructure(structure.blocks, model)


def _folded(robot: Robot, probes: list[Any]) -> Actuation:
    """Return the actuation with columns that turn out not to depend on ``q`` made constant.

    In a planar mechanism a torque between two links pushes the same way everywhere.
    """
    given = robot.actuation
    if not given.varies:
        return given
    at_rest = robot.snapshot(robot.neutral).B
    samples = np.array([robot.snapshot(q).B for q in probes])
    varies = np.abs(samples - at_rest).max(axis=(0, 1)) > CONSTANT_ATOL
    constant = given.constant.copy()
    for index, _ in given.moving:
        if not varies[index]:
            constant[:, index] = at_rest[:, index]
    moving = tuple((index, column) for index, column in given.moving if varies[index])
    return dc.replace(given, constant=constant, moving=moving)
