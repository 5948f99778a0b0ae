"""From model files, linkages and particles to the parts of a robot, by Pinocchio."""

from __future__ import annotations

import contextlib
import dataclasses as dc
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pinocchio as pin

from ukctrl.core.errors import ModelError
from ukctrl.core.files import AnyPath
from ukctrl.core.files.toml import blaming
from ukctrl.core.own_processes import memory
from ukctrl.robot import audit
from ukctrl.robot.actuators import actuation
from ukctrl.robot.appearance import Appearance, ModelText
from ukctrl.robot.assembly import PROBES, Assembly, folded
from ukctrl.robot.audit import Finding
from ukctrl.robot.by_name import home_of, with_limits
from ukctrl.robot.elastic import elastic
from ukctrl.robot.forces import Forces, forces
from ukctrl.robot.models import urdf
from ukctrl.robot.models.build import Built, build
from ukctrl.robot.models.joined_models import joined
from ukctrl.robot.models.maximal import BY_CONSTRUCTION, maximal
from ukctrl.robot.models.particles import particles
from ukctrl.robot.models.source import Macros, Source, read
from ukctrl.robot.rigid import ModelStructure, rigid_structure
from ukctrl.robot.schema.linkage_tables import Linkage
from ukctrl.robot.schema.picture_tables import refuse_unknown_names
from ukctrl.robot.schema.robot_file import ExtraFrame, Options, RobotFile
from ukctrl.robot.structure import Structure
from ukctrl.robot.tree import largest_tree

if TYPE_CHECKING:
    from ukctrl.robot.mjcf.read import Reading

NO_TEXT = "<robot name='none'><link name='world'/></robot>"
"""Model text of a robot that is not made of any."""


def bodies_of_file(spec: RobotFile, name: str, path: Path, label: str, trust: bool) -> Assembly:
    """Return the robot of a ``robot.toml`` that is made of rigid bodies."""
    macros = Macros(spec.xacro_arguments, spec.package_path, trust)
    if spec.model is not None:
        return _assemble(read(spec.model, macros), spec, name, spec.title, spec.source, path)
    if spec.part is not None:
        with blaming(label):
            whole = joined(spec.part, name, spec.floating_base, macros)
        source = dc.replace(whole, label=label)
        robot = _assemble(source, spec, name, spec.title, spec.source, path)
        shown = tuple(
            ModelText(read(part.model, macros).text, part.model, part.prefix, spec.package_path)
            for part in spec.part
        )
        return dc.replace(robot, appearance=dc.replace(robot.appearance, models=shown))
    if spec.linkage is not None:
        return _linked(spec, spec.linkage, name, path, label)
    assert spec.particles is not None  # the schema asks for one of them
    none, built = dc.replace(read(NO_TEXT), label=label), Built(particles(spec.particles), ())
    swarm = _assemble(none, spec, name, spec.title, spec.source, path, built)
    return dc.replace(swarm, audit=())  # of slides without mass, which are meant


def _linked(spec: RobotFile, linkage: Linkage, name: str, path: Path, label: str) -> Assembly:
    """Return the robot of a ``[linkage]``."""
    with blaming(f"{label}: linkage"):
        tree = maximal(linkage, name)
    motors, closures = (*tree.actuator, *(spec.actuator or ())), (*tree.passive, *spec.passive)
    options = dc.replace(spec, actuator=motors, passive=closures)
    source = dc.replace(read(NO_TEXT), label=label)
    built = Built(tree.model, ())
    robot = _assemble(source, options, name, spec.title, spec.source, path, built)
    audit = tuple(finding for finding in robot.audit if finding.code not in BY_CONSTRUCTION)
    drawn = dc.replace(robot.appearance, models=(), linkage=linkage.expanded())
    return dc.replace(robot, home=tree.home, audit=audit, appearance=drawn)


def from_source(
    source: AnyPath, options: Options, name: str | None = None, trust: bool = False
) -> Assembly:
    """Build a robot from the text or the path of a model; see `Robot.build`."""
    checked = read(source, Macros(options.xacro_arguments, options.package_path, trust))
    own = checked.path.stem if checked.path else checked.root.get("name")
    called = name or own or checked.root.get("model") or "robot"
    return _assemble(checked, options, called, called, "", checked.path)


def _assemble(
    source: Source,
    options: Options,
    name: str,
    title: str,
    origin: str,
    path: Path | None,
    built: Built | None = None,
) -> Assembly:
    is_urdf = source.format == "URDF"
    if is_urdf:
        urdf.refuse_what_parsers_take(source)
    mjcf = _mjcf(source, options) if source.format == "MJCF" and built is None else None
    if mjcf is not None:
        built = Built(mjcf.structure.model, ())
    built = built or build(source, options.floating_base)
    model, motors = built.model, options.actuator
    if mjcf is not None and motors is None:
        motors = mjcf.motors
    if model.nv == 0:
        raise ModelError(f"{source.label}: must have at least one joint that moves.")
    tied = options.passive or (mjcf and mjcf.passive)
    together = model.nv if tied else largest_tree(model)
    _refuse_what_does_not_fit(model.nv, together, source.label)
    if options.gravity is not None:
        model.gravity.linear = np.array(options.gravity)
    with blaming(source.label):
        # The arrays of the one that was compared with MuJoCo, where nothing else is asked for.
        kept = mjcf is not None and options.gravity is None
        structure = mjcf.structure if mjcf and kept else rigid_structure(model)
        followers = list(urdf.mimics(source, structure)) if is_urdf else []
    with blaming(path) if path is not None else contextlib.nullcontext():
        for number, extra in enumerate(options.frame):
            with blaming(f"frame[{number}]"):
                structure = _with_frame(structure, extra)
        mimicking = frozenset(joint for joint, _, _ in followers)
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
        springs = mjcf.springs if mjcf else ()
        pushes = forces(whole, options.force, options.friction_velocity, springs)
        if mjcf is not None:
            pushes = Forces((*pushes.terms, *mjcf.terms(whole)))
        if joints is not None:
            pushes = Forces((*pushes.terms, joints))
        home = home_of(whole, options.home)
        refuse_unknown_names(
            options.picture, whole.picture_words, whole.frames, driven.names, options.passive
        )
    shapes = mjcf.shapes if mjcf else None
    shown = ModelText(source.text, source.path, "", options.package_path, shapes)
    robot = Assembly(
        name=name,
        title=title,
        source=origin,
        structure=whole,
        actuation=driven,
        forces=pushes,
        elastic=joints,
        passive=(
            *options.passive,
            *(table for _, table, _ in followers if table is not None),
            *(mjcf.passive if mjcf else ()),
        ),
        path=path,
        home=home,
        keyframes=mjcf.keyframes if mjcf else {},
        appearance=Appearance(options.picture, (shown,)),
    )
    findings = [finding for _, _, finding in followers]
    findings += [audit.warning("parser", name, text) for text in built.warnings]
    findings += mjcf.findings if mjcf else ()
    findings += urdf.findings(source, structure) if is_urdf else ()
    findings += audit.model_findings(structure)
    _stop_at_error(findings, source)
    rng = np.random.default_rng(0)
    probes = [robot.random(rng) for _ in range(PROBES)]
    findings += audit.mass_findings(
        whole,
        (robot.snapshot(q).M for q in probes),
        str(model.name),
        "an absurd length",
        "Give the links beyond it a mass and an inertia, or make the joint fixed.",
    )
    _stop_at_error(findings, source)
    findings = list(audit.of_motors(findings, structure, inputs))
    if motors != ():  # who asks for no motor need not be told
        findings += audit.actuation_findings(structure, inputs)
    return dc.replace(robot, actuation=folded(robot, probes), audit=tuple(findings))


def _mjcf(source: Source, options: Options) -> Reading:
    """Return what MuJoCo makes of an MJCF file; nobody else pays for importing it."""
    if options.floating_base:
        raise ModelError(
            f"{source.label}: floating_base is for URDF; in MJCF, write <freejoint/> in the "
            "body that moves freely."
        )
    from ukctrl.robot.mjcf.read import read_mjcf

    with blaming(source.label):
        return read_mjcf(source)


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


def _needed(nv: float, alone: float) -> float:
    """Return the memory that a run of so many freedoms needs [B]."""
    return 8.0 * (TABLES * float(alone) ** 3 + MATRICES * float(nv) ** 2)


TABLES = 4
"""Tables of ``nv**3`` numbers in every ``pinocchio.Data``: its second derivatives of the inverse
dynamics. They are allocated, and touched, whether anyone asks for them or not."""
MATRICES = 16
"""Tables of ``nv**2`` numbers that a run has at a time."""


def _refuse_what_does_not_fit(nv: int, alone: int, label: str) -> None:
    """Refuse a robot that would fill the memory: the system would kill the process without a word.

    Args:
        nv: Its freedoms.
        alone: Those of the largest tree of joints that stands on the world, or of what passive
            constraints tie together: their tables are smaller, but take as long as they grow.
        label: What to call it.

    Raises:
        ModelError: It has too many freedoms for this machine.
    """
    needed, there = _needed(nv, alone), memory()
    if needed > there:
        most = nv
        while most > 1 and _needed(most, alone * most / nv) > there:
            most -= 1
        raise ModelError(
            f"{label}: a robot with {nv} freedoms needs about {needed / 1e9:.0f} GB of memory, and "
            f"this machine has {there / 1e9:.0f} GB, enough for {most}. Take fewer parts."
        )
