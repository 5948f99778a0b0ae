"""The plainest look of a robot made of bodies: balls at its joints, and rods between them."""

from __future__ import annotations

import dataclasses as dc

import numpy as np

from ukctrl.reports.visual.visual_model import Poses, VisualModel, VisualPart
from ukctrl.robot import Robot
from ukctrl.robot.geometry import primitive_meshes


@dc.dataclass(frozen=True, kw_only=True, eq=False)
class PlainLook(VisualModel):
    robot: Robot

    def poses(self, q, t):
        shot, found = self.robot.snapshot(self.robot.neutral), []
        rest = np.zeros(self.robot.nv)
        for k in range(len(q)):
            shot.move(q[k], rest, float(t[k]))
            found.append((shot.translations.copy(), shot.rotations.copy()))
        position = np.array([place for place, _ in found])
        quaternion = np.array([[quaternion_of(turn) for turn in turns] for _, turns in found])
        return Poses(position, quaternion, np.ones(position.shape[:2]))


def quaternion_of(R):
    """Return ``w x y z`` of a rotation, by its largest entry."""
    K = np.array([
        [R[0, 0] + R[1, 1] + R[2, 2], 0, 0, 0],
        [R[2, 1] - R[1, 2], R[0, 0] - R[1, 1] - R[2, 2], 0, 0],
        [R[0, 2] - R[2, 0], R[0, 1] + R[1, 0], R[1, 1] - R[0, 0] - R[2, 2], 0],
        [R[1, 0] - R[0, 1], R[0, 2] + R[2, 0], R[1, 2] + R[2, 1], R[2, 2] - R[0, 0] - R[1, 1]],
    ])  # fmt: skip
    return np.linalg.eigh(K, "L")[1][:, -1]


def plain_look(robot):
    shot = robot.snapshot(robot.neutral)
    places, turns = shot.translations.copy(), shot.rotations.copy()
    count = len(places)
    size = max(float(np.ptp(places, axis=0).max()), 0.2)
    parents = list(robot.model.parents) if count > 1 else [0]
    ball = primitive_meshes.sphere(0.035 * size)
    parts = []
    for j in range(1, count):
        parts.append(VisualPart(name=f"joint {j}", mesh=ball, frame=j, color="#3b4754"))
        reach = turns[parents[j]].T @ (places[j] - places[parents[j]])
        length = float(np.linalg.norm(reach))
        if length > 1e-6:
            rod = primitive_meshes.capsule(0.02 * size, 0.0, length).moved(
                along(reach / length), np.zeros(3)
            )
            parts.append(VisualPart(name=f"link {j}", mesh=rod, frame=parents[j]))
    names = ("world", *(f"joint {j}" for j in range(1, count)))
    return PlainLook(parts=tuple(parts), frame_names=names, robot=robot)


def along(z):
    """Return a rotation that takes z there."""
    x = np.cross(z, np.eye(3)[np.abs(z).argmin()])
    x /= np.linalg.norm(x)
    return np.stack([x, np.cross(z, x), z], axis=1)
