"""What pushes on a robot, as arrows: its inputs, and the reactions of its closures."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from ukctrl.core.arrays import Array, Indices, Vector
from ukctrl.core.errors import UkctrlError
from ukctrl.reports.scene.stage import Arrow
from ukctrl.robot import Robot, Site
from ukctrl.robot.actuators import TorqueColumn, WrenchColumn
from ukctrl.robot.snapshot import Snapshot
from ukctrl.simulation.result import measures
from ukctrl.simulation.result.samples import Samples

MOST = 48
"""With more arrows than this nothing else could be seen."""
Aim = Callable[[Snapshot, int], tuple[Vector, Vector]]
"""Gives tail and vector of an arrow, of a robot at a moment."""


def arrows(robot: Robot, samples: Samples, picked: Indices) -> tuple[Arrow, ...]:
    """Return the arrows of a run at some of its samples; none where a robot has no bodies."""
    u = samples["u"][picked]
    lam = samples["reaction"][picked] if "reaction" in samples else np.empty((len(picked), 0))
    q, t = samples["q"][picked], samples.time[picked]
    try:
        snapshot = robot.snapshot(q[0], None, float(t[0]))
        if len(snapshot.rotations) < 2:
            return ()
        aims = [*_inputs(robot, u), *(_reactions(robot, samples, lam) if lam.size else ())]
    except UkctrlError:  # such as of a closure between frames that are gone
        return ()
    if len(aims) > MOST:
        return ()
    tails, vectors = np.empty((2, len(aims), len(t), 3))
    rest = np.zeros(robot.nv)
    limited = measures.at_limit(samples)[picked]
    for k in range(len(t)):
        snapshot.move(q[k], rest, float(t[k]))
        for i, (_, aim) in enumerate(aims):
            tails[i, k], vectors[i, k] = aim(snapshot, k)
    return tuple(
        Arrow(
            name=name,
            tail=tails[i],
            vector=vectors[i],
            unit=unit,
            group="reactions" if kind else "inputs",
            **({} if kind else {"limited": _limited(robot, name, limited)}),
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


Named = tuple[str, str, bool]
"""Name, unit, and whether it is a reaction."""


def _inputs(robot: Robot, u: Array) -> list[tuple[Named, Aim]]:
    """Return what the inputs do: efforts along joint axes, forces and torques at frames."""
    aims: list[tuple[Named, Aim]] = []
    actuation = robot.actuation
    effort = u @ actuation.constant.T
    elastic = robot.elastic  # a motor of an elastic joint is drawn at its joint
    moved = dict(zip(elastic.motors, elastic.links, strict=True)) if elastic else {}
    for dof in map(int, np.flatnonzero(actuation.constant.any(axis=1))):
        at = int(moved.get(dof, dof))
        turns = robot.dof_units[dof] == "rad/s"
        part, unit = (slice(3, 6), "N m") if turns else (slice(3), "N")
        joint = robot.structure.block_of(at).joint
        aims.append(((robot.dofs[dof], unit, False), _along_joint(joint, at, part, effort[:, dof])))
    for column, pushes in actuation.moving:
        named = robot.actuators[column]
        if isinstance(pushes, WrenchColumn):
            for unit, value in (("N", pushes.force), ("N m", pushes.torque)):
                if value.any():
                    aims.append(((named, unit, False), _at_site(pushes.site, value, u, column)))
        elif isinstance(pushes, TorqueColumn):  # its axis is in the joint's axes already
            site = pushes.first._replace(rotation=np.eye(3))
            aims.append(((named, "N m", False), _at_site(site, pushes.axis, u, column)))
    return aims


def _along_joint(joint: int, dof: int, part: slice, effort: Vector) -> Aim:
    def aim(s: Snapshot, k: int) -> tuple[Vector, Vector]:
        return s.translations[joint], s.Jt[dof, part] * effort[k]

    return aim


def _at_site(site: Site, value: Vector, u: Array, column: int) -> Aim:
    inside = site.rotation @ value

    def aim(s: Snapshot, k: int) -> tuple[Vector, Vector]:
        turn = s.rotations[site.joint]
        return s.translations[site.joint] + turn @ site.translation, turn @ inside * u[k, column]

    return aim


def _reactions(robot: Robot, samples: Samples, lam: Array) -> list[tuple[Named, Aim]]:
    """Return the forces that closures transmit, on their first frames."""
    labels, aims = samples.labels, []
    for table in robot.passive:
        if table.get("kind") != "closure":
            continue
        frames = table["frames"]
        name = table.get("name") or f"{frames[0]}_at_{frames[1]}"
        rows: dict[int, int] = {}
        for i, (block, row) in enumerate(
            zip(labels.passive_row_blocks, labels.passive_rows, strict=True)
        ):
            axis = row.rpartition(".")[2]
            if block == name and axis in ("x", "y", "z"):
                rows["xyz".index(axis)] = i
        if rows:
            aims.append(((name, "N", True), _at_closure(frames, rows, lam)))
    return aims


def _at_closure(frames: Sequence[str], rows: dict[int, int], lam: Array) -> Aim:
    axes, columns = list(rows), list(rows.values())

    def aim(s: Snapshot, k: int) -> tuple[Vector, Vector]:
        first, second = s.frame(frames[0]), s.frame(frames[1])
        return first.position, second.rotation[:, axes] @ lam[k, columns]

    return aim
