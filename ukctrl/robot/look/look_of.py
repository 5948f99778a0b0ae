"""A robot's look, put together from what its files say and what its bodies are."""

from __future__ import annotations

import dataclasses as dc
from collections import Counter
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from ukctrl.core.files.toml import one_line
from ukctrl.robot.forces import FrameSpring, JointSprings
from ukctrl.robot.interface import RobotInterface, Site
from ukctrl.robot.look import meshes
from ukctrl.robot.look.carriers import Anchor, Between, Placed, RobotLook
from ukctrl.robot.look.drawing import ACCENT, JOINT, Drawing, coil, drum
from ukctrl.robot.look.linkage_look import draw_linkage
from ukctrl.robot.look.parts import Part
from ukctrl.robot.look.pictures import Stage, add_picture
from ukctrl.robot.look.proportions import Proportions
from ukctrl.robot.look.rotations import towards
from ukctrl.robot.look.shapes import Visual, Visuals
from ukctrl.robot.look.skeleton import Skeleton
from ukctrl.robot.look.visuals import visuals_of, within_budget
from ukctrl.robot.rigid_arrays import RigidStructure

MOST_NOTES = 8
"""Shapes that are left out are told one by one up to this number."""


def look_of(robot: RobotInterface) -> RobotLook:
    """Return what a robot looks like; see `Robot.look`."""
    structure: Any = robot.structure

    def anchor_of(frame: str) -> Anchor:
        return _anchor(structure.site(frame))

    stage = Stage(structure.picture_words, anchor_of)
    notes: list[str] = []
    linkage = robot.appearance.linkage
    names = {block.joint: block.name for block in structure.blocks}
    names |= {anchor_of(body.name).joint: body.name for body in (linkage.body if linkage else ())}
    if isinstance(structure, RigidStructure):
        _draw_bodies(robot, structure, stage, names, notes)
    unnamed = [picture.kind for picture in robot.appearance.seen if not picture.name]
    seen: Counter[str] = Counter()
    for picture in robot.appearance.seen:
        seen[picture.kind] += not picture.name
        add_picture(stage, picture, seen[picture.kind] if unnamed.count(picture.kind) > 1 else 0)
    if not stage.parts:
        notes.append("There is nothing to see: its file has no [[picture]].")
    return _assembled(structure, stage, {**names, 0: "world"}, tuple(notes))


def _anchor(site: Site) -> Anchor:
    return Anchor(site.joint, site.rotation, site.translation)


def _assembled(
    structure: Any, stage: Stage, names: dict[int, str], notes: tuple[str, ...]
) -> RobotLook:
    """Give rows to the carriers that something stands on, and number the parts by them."""
    carried = [carrier for _, carrier in stage.parts if carrier is not None]
    moving = tuple(dict.fromkeys(carried))
    joints = {0, *(part.carrier for part, carrier in stage.parts if carrier is None)}
    for carrier in moving:
        ends = (carrier,) if isinstance(carrier, Placed) else (carrier.first, carrier.second)
        joints |= {end.anchor.joint for end in ends}
    shown = sorted(joints)
    row = {joint: k for k, joint in enumerate(shown)}
    row_of_moving = {carrier: len(shown) + k for k, carrier in enumerate(moving)}
    parts = tuple(
        dc.replace(part, carrier=row[part.carrier] if carrier is None else row_of_moving[carrier])
        for part, carrier in stage.parts
    )
    return RobotLook(
        parts=parts,
        carriers=(*(names[joint] for joint in shown), *(carrier.name for carrier in moving)),
        feet=tuple(stage.feet),
        notes=notes,
        nq=structure.nq,
        tree=structure.tree if isinstance(structure, RigidStructure) else None,
        joints=np.array(shown),
        moving=moving,
        words=stage.words,
    )


def _draw_bodies(
    robot: RobotInterface,
    structure: RigidStructure,
    stage: Stage,
    names: dict[int, str],
    notes: list[str],
) -> None:
    """Draw links, springs and motors of a robot of rigid bodies."""
    appearance, drawing = robot.appearance, Drawing()
    read = [visuals_of(model) for model in appearance.models]
    if appearance.linkage is not None:
        draw_linkage(appearance.linkage, stage.anchor_of, drawing)
    elif not appearance.seen or any(visuals.has_any for visuals in read):
        springs = [term for term in robot.forces.terms if isinstance(term, JointSprings)]
        sprung = {structure.block_of(int(dof)).joint for one in springs for dof in one.dofs}
        bare, seen = _bare_and_seen(structure, read)
        skeleton = Skeleton(
            structure,
            _tied(robot.passive, "closure"),
            sprung,
            _driven(robot),
            _tied(robot.passive, "contact"),
            seen,
            drawing,
        )
        skeleton.draw(bare)
        if robot.elastic is not None:
            _add_motors(robot, skeleton, bare, stage)
    stage.feet.extend(drawing.feet)
    for part in drawing.parts(names):
        stage.parts.append((part, None))
    for term in robot.forces.terms:
        if isinstance(term, FrameSpring):
            ends = (Placed("spring", _anchor(site)) for site in (term.first, term.second))
            mesh = meshes.spring(*_gauge(structure))
            part = Part(name="spring", mesh=mesh, carrier=0, color=ACCENT)
            stage.add(Between("spring", *ends), part)
    _add_visuals(read, structure, stage, notes)


def _gauge(structure: RigidStructure) -> tuple[float, int, float]:
    """Return radius, turns and wire of a spring that suits the robot's size."""
    size = Proportions(structure, ()).size or 1.0
    return 0.03 * size, 10, 0.005 * size


def _driven(robot: RobotInterface) -> set[int]:
    """Return the joints that have a motor."""
    actuation, elastic = robot.actuation, robot.elastic
    pushed = actuation.constant.any(axis=1)
    for _, column in actuation.moving:
        pushed = pushed | (column.reached & (not column.on_bodies))
    moved = dict(zip(elastic.motors, elastic.links, strict=True)) if elastic else {}
    dofs = (int(moved.get(dof, dof)) for dof in np.flatnonzero(pushed))
    return {robot.structure.block_of(dof).joint for dof in dofs}


def _tied(passive: Sequence[Any], kind: str) -> set[str]:
    """Return the frames that passive constraints of a kind hold."""
    frames: set[str] = set()
    for table in passive:
        named = table.get("frames", [table.get("frame")])
        if table.get("kind") == kind and isinstance(named, list | tuple):
            frames.update(str(name) for name in named)
    return frames


def _bare_and_seen(
    structure: RigidStructure, read: Sequence[Visuals]
) -> tuple[Collection[int], Collection[int]]:
    """Return the bodies that a model file does not show, or not as it would, and those it does.

    A model with visuals means that its other links are not seen; one without says nothing. Two
    models may have a link each on one body.
    """
    carrier = dict(zip(structure.bodies.frames, structure.bodies.carriers.tolist(), strict=True))
    bare = set(range(len(structure.tree.joints)))
    bare -= {carrier[name] for each in read for name in each.links if name in carrier}
    for visuals in read:
        unseen = visuals.lost if visuals.has_any else visuals.links
        bare |= {carrier[name] for name in unseen if name in carrier}
    seen = {carrier[one.link] for each in read for one in each.shown if one.link in carrier}
    return bare, seen


def _add_visuals(
    read: Sequence[Visuals], structure: RigidStructure, stage: Stage, notes: list[str]
) -> None:
    """Add what model files show, and tell what they would and cannot."""
    visuals = [one for each in read for one in each.shown if one.link in structure.frames]
    lost = list(dict.fromkeys(why for each in read for why in each.lost.values()))
    notes += [f"Left out: {one_line(why, 300)}." for why in lost[:MOST_NOTES]]
    if len(lost) > MOST_NOTES:
        notes.append(f"Left out as well: {len(lost) - MOST_NOTES} more shapes.")
    visuals, fewer = within_budget(visuals)
    notes += [fewer] if fewer else []
    together: dict[tuple[str, str, float], list[Visual]] = {}
    for one in visuals:
        together.setdefault((one.link, one.color, one.opacity), []).append(one)
    for (link, color, opacity), several in together.items():
        anchor = stage.anchor_of(link)
        whole = meshes.together([one.mesh for one in several])
        mesh = whole.moved(anchor.rotation, anchor.translation)
        part = Part(name=link, mesh=mesh, carrier=anchor.joint, color=color, opacity=opacity)
        stage.parts.append((part, None))


def _add_motors(
    robot: RobotInterface, skeleton: Skeleton, bare: Collection[int], stage: Stage
) -> None:
    """Add the motors of elastic joints, rings that turn beside them, and springs in between."""
    structure, elastic = robot.structure, robot.elastic
    tree = structure.tree
    for dof, at in zip(elastic.links.tolist(), elastic.motor_coordinates.tolist(), strict=True):
        j = structure.block_of(dof).joint
        axis = skeleton.axis(j)
        if axis is None or not tree.subspace[dof, 3:].any() or j not in bare:
            continue
        parent, r = int(tree.joints[j, 0]), 1.25 * skeleton.radius(j)
        turn = tree.rotations[j] @ towards(axis)
        name = structure.coordinates[at]
        carrier = Placed(name, Anchor(parent, turn, tree.translations[j]), rpy=("0", "0", name))
        beside = np.array([0.0, 0.0, 2.6 * r])
        disc = drum(0.95 * r, 0.3 * r).moved(np.eye(3), beside)
        disc = meshes.together([disc, meshes.cylinder(0.3 * r, 0.0, 2.6 * r)])
        mark = meshes.box(0.8 * r, 0.2 * r, 0.66 * r)
        mark = mark.moved(np.eye(3), beside + np.array([0.6 * r, 0.0, 0.0]))
        spring = coil(1.05 * r, 1.0 * r, 2.5 * r)
        for mesh, color in ((disc, JOINT), (meshes.together([mark, spring]), ACCENT)):
            stage.add(carrier, Part(name=name, mesh=mesh, carrier=0, color=color))
