"""What pushes on a robot, as arrows: its inputs, and the reactions of closures and the ground."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ukctrl.core.arrays import Array, Indices, Vector
from ukctrl.core.errors import UkctrlError
from ukctrl.mechanics.constraints.ground import plane_tangents, unit_vector
from ukctrl.mechanics.dynamics import passive_constraints
from ukctrl.reports.scene.scene import Arrow
from ukctrl.reports.visual.visual_frames import FormulaValues
from ukctrl.robot import Robot, Site
from ukctrl.robot.actuators import TorqueColumn, WrenchColumn
from ukctrl.robot.snapshot import Snapshot
from ukctrl.simulation.result import sample_measures
from ukctrl.simulation.result.samples import Samples

MAX_ARROWS = 48
"""With more arrows than this nothing else could be seen."""
ArrowFunction = Callable[[Snapshot, int], tuple[Vector, Vector]]
"""Gives tail and vector of an arrow, of a robot at a moment."""


def force_arrows(robot: Robot, samples: Samples, picked: Indices) -> tuple[Arrow, ...]:
    """Return the arrows of a run at some of its samples.

    Those of a robot of bodies follow from what pushes where; further ones, and those of a plant of
    formulas, are said by its file: ``[[picture]]`` of the kind ``force``.
    """
    u = samples["u"][picked]
    lam = samples["reaction"][picked] if "reaction" in samples else np.empty((len(picked), 0))
    q, t = samples["q"][picked], samples.time[picked]
    try:
        snapshot = robot.snapshot(q[0], None, float(t[0]))
        aims = list(_picture_arrows(robot, samples, u, lam, q, t))
        if len(snapshot.rotations) > 1:
            aims += [*_inputs(robot, u), *(_reactions(robot, samples, lam) if lam.size else ())]
    except UkctrlError:  # such as of a closure between frames that are gone
        return ()
    if len(aims) > MAX_ARROWS:
        return ()
    tails, vectors = np.empty((2, len(aims), len(t), 3))
    zero_v = np.zeros(robot.nv)
    limited = sample_measures.inputs_at_limit(samples)[picked]
    slides = {
        force.block: force.is_sliding[picked] for force in sample_measures.ground_forces(samples)
    }
    for k in range(len(t)):
        snapshot.move(q[k], zero_v, float(t[k]))
        for i, (_, aim) in enumerate(aims):
            tails[i, k], vectors[i, k] = aim(snapshot, k)
    return tuple(
        Arrow(
            name=name,
            tail=tails[i],
            vector=vectors[i],
            unit=unit,
            group="reactions" if kind else "inputs",
            limited=slides.get(name, np.zeros(1, bool)) if kind else _limited(robot, name, limited),
        )
        for i, ((name, unit, kind), _) in enumerate(aims)
        if np.abs(np.nan_to_num(vectors[i])).max(initial=0.0) > 0.0
    )


def _limited(robot: Robot, name: str, limited: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return when the input of an arrow is at its limit, where a single input makes it."""
    at = [k for k, actuator in enumerate(robot.actuators) if actuator == name]
    if name in robot.dofs:
        at = np.flatnonzero(robot.actuation.constant[robot.dofs.index(name)]).tolist()
    return limited[:, at[0]] if len(at) == 1 else np.zeros(1, bool)


ArrowLabel = tuple[str, str, bool]
"""Name, unit, and whether it is a reaction."""


def _inputs(robot: Robot, u: Array) -> list[tuple[ArrowLabel, ArrowFunction]]:
    """Return what the inputs do: efforts along joint axes, forces and torques at frames."""
    aims: list[tuple[ArrowLabel, ArrowFunction]] = []
    actuation = robot.actuation
    input_names = [picture.input or "" for picture in robot.shape_sources.forces]
    effort = u @ np.where(np.isin(robot.actuators, input_names), 0.0, actuation.constant).T
    elastic = robot.elastic  # a motor of an elastic joint is drawn at its joint
    moved = dict(zip(elastic.motors, elastic.links, strict=True)) if elastic else {}
    for dof in map(int, np.flatnonzero(actuation.constant.any(axis=1))):
        at = int(moved.get(dof, dof))
        turns = robot.dof_units[dof] == "rad/s"
        axes, unit = (slice(3, 6), "N m") if turns else (slice(3), "N")
        joint = robot.structure.block_of(at).joint
        aims.append(((robot.dofs[dof], unit, False), _along_joint(joint, at, axes, effort[:, dof])))
    for column, pushes in actuation.varying_columns:
        named = robot.actuators[column]
        if named in input_names:
            continue
        if isinstance(pushes, WrenchColumn):
            # The torque that comes with a force, such as a propeller's drag, would lie about it.
            is_force = pushes.force.any()
            value, unit = (pushes.force, "N") if is_force else (pushes.torque, "N m")
            aims.append(((named, unit, False), _at_site(pushes.site, value, u, column)))
        elif isinstance(pushes, TorqueColumn):  # its axis is in the joint's axes already
            site = pushes.first._replace(rotation=np.eye(3))
            aims.append(((named, "N m", False), _at_site(site, pushes.axis, u, column)))
    return aims


def _along_joint(joint: int, dof: int, axes: slice, effort: Vector) -> ArrowFunction:
    def aim(s: Snapshot, k: int) -> tuple[Vector, Vector]:
        return s.translations[joint], s.Jt[dof, axes] * effort[k]

    return aim


def _at_site(site: Site, value: Vector, u: Array, column: int) -> ArrowFunction:
    inside = site.rotation @ value

    def aim(s: Snapshot, k: int) -> tuple[Vector, Vector]:
        turn = s.rotations[site.joint]
        return s.translations[site.joint] + turn @ site.translation, turn @ inside * u[k, column]

    return aim


def _picture_arrows(
    robot: Robot, samples: Samples, u: Array, lam: Array, q: Array, t: Vector
) -> Iterator[tuple[ArrowLabel, ArrowFunction]]:
    """Yield the forces of which the robot's file says where they act."""
    labels = samples.labels
    for picture in robot.shape_sources.forces:
        if picture.input is not None:
            column = robot.actuators.index(picture.input)
            unit, value = robot.actuation.units[column], u[:, column]
        elif picture.reaction in labels.passive_rows and lam.size:
            row = labels.passive_rows.index(picture.reaction)
            unit = "N m" if labels.passive_row_units[row] == "rad" else "N"
            value = lam[:, row]
        else:
            continue
        numbers = FormulaValues(
            (*picture.at, *picture.along), robot.structure.picture_vocabulary
        ).at(q, t)
        numbers[:, 3:] *= value[:, None]
        name = picture.name or picture.input or picture.reaction or ""
        yield (name, unit, picture.input is None), _in_frame(picture.frame, numbers)


def _in_frame(frame: str, numbers: Array) -> ArrowFunction:
    def aim(s: Snapshot, k: int) -> tuple[Vector, Vector]:
        at, vector = numbers[k, :3], numbers[k, 3:]
        if frame == "world":
            return at, vector
        axes = s.frame(frame)
        return axes.position + axes.rotation @ at, axes.rotation @ vector

    return aim


def _reactions(
    robot: Robot, samples: Samples, lam: Array
) -> list[tuple[ArrowLabel, ArrowFunction]]:
    """Return the forces that closures transmit, on their first frames, and those of the ground."""
    rows, aims = samples.labels.passive_rows, []
    for spec in passive_constraints(robot):
        kind = getattr(spec, "kind", "")  # a constraint of one's own need not have one
        frames = getattr(spec, "frames", None) or (getattr(spec, "frame", ""),)
        if kind not in _ROWS:
            continue
        between = "_at_".join(frames)
        name = spec.name or (between if kind == "closure" else f"{between}_{kind}")
        row_names = [f"{name}.{axis}" for axis in _ROWS[kind]]
        columns = {axis: rows.index(row) for axis, row in enumerate(row_names) if row in rows}
        if columns:
            axes, indices = list(columns), list(columns.values())
            if kind == "closure":
                aim = _at_closure(frames, axes, lam[:, indices])
            else:
                aim = _at_ground(spec, axes, lam[:, indices])
            aims.append(((name, "N", True), aim))
    return aims


_ROWS = {
    "closure": ("x", "y", "z"),
    "contact": ("slip_x", "slip_y", "height"),
    "rolling": ("along", "across", "height"),
}
"""Rows of passive constraints whose multipliers are forces, along three axes."""


def _at_ground(spec: Any, axes: list[int], force: Array) -> ArrowFunction:
    """Return the force of the ground on what stands or rolls on it."""
    normal = unit_vector(spec.ground.normal)

    def aim(s: Snapshot, k: int) -> tuple[Vector, Vector]:
        frame = s.frame(spec.frame)
        if spec.kind == "contact":
            if spec.on is not None:
                return frame.position, s.frame(spec.on).rotation[:, axes] @ force[k]
            return frame.position, np.vstack([plane_tangents(normal), normal])[axes].T @ force[k]
        axle = frame.rotation @ np.array(spec.axle)
        heading = np.cross(axle, normal)
        heading /= np.linalg.norm(heading)
        across = np.cross(normal, heading)
        down = np.cross(heading, axle)  # from the ground to the wheel's centre
        at = frame.position - spec.radius * down / np.linalg.norm(down)
        return at, np.stack([heading, across, normal])[axes].T @ force[k]

    return aim


def _at_closure(frames: Sequence[str], axes: list[int], force: Array) -> ArrowFunction:
    def aim(s: Snapshot, k: int) -> tuple[Vector, Vector]:
        first, second = s.frame(frames[0]), s.frame(frames[1])
        return first.position, second.rotation[:, axes] @ force[k]

    return aim
