"""The payloads of a run: they lie where they are picked up, move with a frame, and stay behind."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator
from typing import cast

import numpy as np

from ukctrl.core.arrays import Array, Vector
from ukctrl.core.errors import UkctrlError
from ukctrl.core.files.toml import read_spec
from ukctrl.reports.scene.scene import Actor
from ukctrl.reports.visual.body_proportions import DENSITY, edges
from ukctrl.reports.visual.visual_frames import RobotVisualModel
from ukctrl.reports.visual.visual_model import VisualPart
from ukctrl.robot import Robot
from ukctrl.robot.geometry import primitive_meshes
from ukctrl.robot.rigid.rigid_structure import RigidStructure
from ukctrl.simulation.effects.external_force import CarriedPayload
from ukctrl.simulation.result.result import Result

COLOR = "#009e73"


def payloads(
    result: Result, robot: Robot, time: Vector, configurations: Callable[[Vector], Array]
) -> Iterator[Actor]:
    """Yield the bodies that a run's effects fasten to frames, as boxes of their inertia.

    Args:
        result: The run.
        robot: Its robot.
        time: Of the scene, shape ``(k,)`` [s].
        configurations: Returns those of the run at some times, shape ``(k, nq)``.
    """
    for table in result.scenario.get("effect") or ():
        if table.get("kind") == "payload":
            with contextlib.suppress(UkctrlError):  # as of a file that somebody has changed
                payload = read_spec(CarriedPayload, table, "scenario", key="effect")
                if payload.mass > 0.0:
                    yield _actor(payload, robot, time, configurations)


def _actor(
    payload: CarriedPayload, robot: Robot, time: Vector, configurations: Callable[[Vector], Array]
) -> Actor:
    site, bodies = robot.site(payload.frame), cast("RigidStructure", robot.structure)
    body = primitive_meshes.box(*_edges(payload)).moved(
        np.eye(3), np.array(payload.com, dtype=np.float64)
    )
    look = RobotVisualModel(
        parts=(
            VisualPart(
                name="payload",
                mesh=body.moved(site.rotation, site.translation),
                frame=1 if site.joint else 0,
                color=COLOR,
            ),
        ),
        frame_names=("world", payload.frame) if site.joint else ("world",),
        nq=robot.nq,
        tree=bodies.tree,
        joints=np.array([0, site.joint] if site.joint else [0], dtype=np.int64),
    )
    start, stop = (
        edge if bound is None else bound
        for bound, edge in ((payload.start, -math.inf), (payload.stop, math.inf))
    )
    carried = np.clip(time, start, stop)
    poses = look.poses(configurations(carried), carried)
    return Actor(name="payload", visuals=look, poses=poses)


def _edges(payload: CarriedPayload) -> tuple[float, float, float]:
    """Return the edges of the box of its inertia, or of a cube of water of its mass [m]."""
    box = edges(payload.mass, np.array(payload.inertia, dtype=np.float64))
    if not (box > 0.0).all():
        box = np.full(3, np.cbrt(payload.mass / DENSITY))
    x, y, z = box.tolist()
    return x, y, z
