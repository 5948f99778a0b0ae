"""A robot's look, put together from what its files say and what its bodies are."""

from __future__ import annotations

import dataclasses as dc
from collections import Counter
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ukctrl.core.message_text import one_line
from ukctrl.reports.visual.body_proportions import BodyProportions
from ukctrl.reports.visual.linkage_visual import draw_linkage
from ukctrl.reports.visual.mesh_budget import fit_triangle_budget, hex_color
from ukctrl.reports.visual.mesh_collector import (
    ACCENT,
    JOINT,
    MeshCollector,
    bevelled_cylinder,
    joint_spring,
)
from ukctrl.reports.visual.picture_visuals import VisualBuilder, add_picture
from ukctrl.reports.visual.skeleton import Skeleton
from ukctrl.reports.visual.visual_frames import (
    FrameAnchor,
    PlacedFrame,
    RobotVisualModel,
    StretchedFrame,
)
from ukctrl.reports.visual.visual_model import VisualPart
from ukctrl.robot.elastic import ElasticJoints
from ukctrl.robot.forces import FrameSpring, JointSprings
from ukctrl.robot.frame_site import Site
from ukctrl.robot.geometry import primitive_meshes
from ukctrl.robot.geometry.link_shapes import LinkShape, ModelShapes
from ukctrl.robot.geometry.model_shapes import model_shapes
from ukctrl.robot.geometry.quaternions import rotation_towards
from ukctrl.robot.rigid.rigid_structure import RigidStructure

if TYPE_CHECKING:
    from ukctrl.robot.robot_base import RobotBase

MOST_NOTES = 8
"""Shapes that are left out are told one by one up to this number."""


def build_visuals(robot: RobotBase) -> RobotVisualModel:
    """Return what a robot looks like; see `Robot.look`."""
    structure: Any = robot.structure

    def anchor_of(frame: str) -> FrameAnchor:
        return _anchor(structure.site(frame))

    stage = VisualBuilder(structure.picture_vocabulary, anchor_of)
    notes: list[str] = []
    linkage = robot.shape_sources.linkage
    names = {block.joint: block.name for block in structure.blocks}
    names |= {anchor_of(body.name).joint: body.name for body in (linkage.body if linkage else ())}
    if structure.has_bodies:
        _draw_bodies(robot, structure, stage, names, notes)
    unnamed = [picture.kind for picture in robot.shape_sources.bodies if not picture.name]
    counts: Counter[str] = Counter()
    for picture in robot.shape_sources.bodies:
        counts[picture.kind] += not picture.name
        add_picture(stage, picture, counts[picture.kind] if unnamed.count(picture.kind) > 1 else 0)
    if not stage.parts:
        notes.append("There is nothing to see: its file has no [[picture]].")
    return _assembled(structure, stage, {**names, 0: "world"}, tuple(notes))


def _anchor(site: Site) -> FrameAnchor:
    return FrameAnchor(site.joint, site.rotation, site.translation)


def _assembled(
    structure: Any, stage: VisualBuilder, names: dict[int, str], notes: tuple[str, ...]
) -> RobotVisualModel:
    """Give rows to the carriers that something stands on, and number the parts by them."""
    carried = [carrier for _, carrier in stage.parts if carrier is not None]
    moving = tuple(dict.fromkeys(carried))
    joints = {0, *(visual.frame for visual, carrier in stage.parts if carrier is None)}
    for carrier in moving:
        ends = (carrier,) if isinstance(carrier, PlacedFrame) else (carrier.first, carrier.second)
        joints |= {end.anchor.joint for end in ends}
    shown = sorted(joints)
    row = {joint: k for k, joint in enumerate(shown)}
    row_of_moving = {carrier: len(shown) + k for k, carrier in enumerate(moving)}
    visuals = tuple(
        dc.replace(visual, frame=row[visual.frame] if carrier is None else row_of_moving[carrier])
        for visual, carrier in stage.parts
    )
    return RobotVisualModel(
        parts=visuals,
        frame_names=(*(names[joint] for joint in shown), *(carrier.name for carrier in moving)),
        mounts=tuple(stage.feet),
        notes=notes,
        nq=structure.nq,
        tree=structure.tree if structure.has_bodies else None,
        joints=np.array(shown),
        frames=moving,
        words=stage.words,
    )


def _draw_bodies(
    robot: RobotBase,
    structure: RigidStructure,
    stage: VisualBuilder,
    names: dict[int, str],
    notes: list[str],
) -> None:
    """Draw links, springs and motors of a robot of rigid bodies."""
    shape_sources, drawing = robot.shape_sources, MeshCollector()
    read = [model_shapes(model) for model in shape_sources.models]
    if shape_sources.linkage is not None:
        draw_linkage(shape_sources.linkage, stage.anchor_of, drawing)
    elif not shape_sources.bodies or any(visuals.has_any for visuals in read):
        springs = [term for term in robot.forces.terms if isinstance(term, JointSprings)]
        sprung = {structure.block_of(int(dof)).joint for one in springs for dof in one.dofs}
        bare, visible = _hidden_and_shown_bodies(structure, read)
        skeleton = Skeleton(
            structure,
            _constrained_frames(robot.passive, "closure"),
            sprung,
            _driven(robot),
            _constrained_frames(robot.passive, "contact"),
            visible,
            drawing,
        )
        skeleton.draw(bare)
        if robot.elastic is not None:
            _add_motors(structure, robot.elastic, skeleton, bare, stage)
    stage.feet.extend(drawing.feet)
    for visual in drawing.parts(names):
        stage.parts.append((visual, None))
    for term in robot.forces.terms:
        if isinstance(term, FrameSpring):
            ends = (PlacedFrame("spring", _anchor(site)) for site in (term.first, term.second))
            mesh = primitive_meshes.spring(*_spring_dimensions(structure))
            visual = VisualPart(name="spring", mesh=mesh, frame=0, color=ACCENT)
            stage.add(StretchedFrame("spring", *ends), visual)
    _add_visuals(read, structure, stage, notes)


def _spring_dimensions(structure: RigidStructure) -> tuple[float, int, float]:
    """Return radius, turns and wire of a spring that suits the robot's size."""
    size = BodyProportions(structure, ()).size or 1.0
    return 0.03 * size, 10, 0.005 * size


def _driven(robot: RobotBase) -> set[int]:
    """Return the joints that have a motor."""
    actuation, elastic = robot.actuation, robot.elastic
    pushed = actuation.constant.any(axis=1)
    for _, column in actuation.varying_columns:
        pushed = pushed | (column.acts_on & (not column.on_bodies))
    moved = dict(zip(elastic.motors, elastic.links, strict=True)) if elastic else {}
    dofs = (int(moved.get(dof, dof)) for dof in np.flatnonzero(pushed))
    return {robot.structure.block_of(dof).joint for dof in dofs}


def _constrained_frames(passive: Sequence[Any], kind: str) -> set[str]:
    """Return the frames that passive constraints of a kind hold."""
    frames: set[str] = set()
    for table in passive:
        named = table.get("frames", [table.get("frame")])
        if table.get("kind") == kind and isinstance(named, list | tuple):
            frames.update(str(name) for name in named)
    return frames


def _hidden_and_shown_bodies(
    structure: RigidStructure, read: Sequence[ModelShapes]
) -> tuple[Collection[int], Collection[int]]:
    """Return the bodies that a model file does not show, or not as it would, and those it does.

    A model with visuals means that its other links are not seen; one without says nothing. Two
    models may have a link each on one body.
    """
    carrier = dict(
        zip(structure.bodies.frames, structure.bodies.frame_parents.tolist(), strict=True)
    )
    bare = set(range(len(structure.tree.joints)))
    bare -= {carrier[name] for model in read for name in model.links if name in carrier}
    for visuals in read:
        unseen = visuals.skipped if visuals.has_any else visuals.links
        bare |= {carrier[name] for name in unseen if name in carrier}
    visible = {carrier[one.link] for model in read for one in model.shapes if one.link in carrier}
    return bare, visible


def _add_visuals(
    read: Sequence[ModelShapes], structure: RigidStructure, stage: VisualBuilder, notes: list[str]
) -> None:
    """Add what model files show, and tell what they would and cannot."""
    visuals = [one for model in read for one in model.shapes if one.link in structure.frames]
    lost = list(dict.fromkeys(reason for model in read for reason in model.skipped.values()))
    notes += [f"Left out: {one_line(reason, 300)}." for reason in lost[:MOST_NOTES]]
    if len(lost) > MOST_NOTES:
        notes.append(f"Left out as well: {len(lost) - MOST_NOTES} more shapes.")
    visuals, fewer = fit_triangle_budget(visuals)
    notes += [fewer] if fewer else []
    together: dict[tuple[str, str, float], list[LinkShape]] = {}
    for one in visuals:
        together.setdefault((one.link, _color(one), one.alpha), []).append(one)
    for (link, color, opacity), several in together.items():
        anchor = stage.anchor_of(link)
        whole = primitive_meshes.merge([one.mesh for one in several])
        mesh = whole.moved(anchor.rotation, anchor.translation)
        visual = VisualPart(name=link, mesh=mesh, frame=anchor.joint, color=color, opacity=opacity)
        stage.parts.append((visual, None))


def _color(shape: LinkShape) -> str:
    return "" if shape.rgb is None else hex_color(shape.rgb)


def _add_motors(
    structure: RigidStructure,
    elastic: ElasticJoints,
    skeleton: Skeleton,
    bare: Collection[int],
    stage: VisualBuilder,
) -> None:
    """Add the motors of elastic joints, rings that turn beside them, and springs in between."""
    tree = structure.tree
    for dof, at in zip(elastic.links.tolist(), elastic.motor_coordinates.tolist(), strict=True):
        j = structure.block_of(dof).joint
        axis = skeleton.axis(j)
        if axis is None or not tree.subspace[dof, 3:].any() or j not in bare:
            continue
        parent, r = int(tree.joints[j, 0]), 1.25 * skeleton.radius(j)
        turn = tree.rotations[j] @ rotation_towards(axis)
        name = structure.coordinates[at]
        carrier = PlacedFrame(
            name, FrameAnchor(parent, turn, tree.translations[j]), rpy=("0", "0", name)
        )
        offset = np.array([0.0, 0.0, 2.6 * r])
        disc = bevelled_cylinder(0.95 * r, 0.3 * r).moved(np.eye(3), offset)
        disc = primitive_meshes.merge([disc, primitive_meshes.cylinder(0.3 * r, 0.0, 2.6 * r)])
        mark = primitive_meshes.box(0.8 * r, 0.2 * r, 0.66 * r)
        mark = mark.moved(np.eye(3), offset + np.array([0.6 * r, 0.0, 0.0]))
        spring = joint_spring(1.05 * r, 1.0 * r, 2.5 * r)
        for mesh, color in ((disc, JOINT), (primitive_meshes.merge([mark, spring]), ACCENT)):
            stage.add(carrier, VisualPart(name=name, mesh=mesh, frame=0, color=color))
