"""Posts from where robots are fastened down to the floor of a scene."""

from __future__ import annotations

import dataclasses as dc

import numpy as np

from ukctrl.reports.scene.scene import Actor
from ukctrl.reports.visual.mesh_collector import JOINT
from ukctrl.reports.visual.visual_model import MountPoint, VisualPart
from ukctrl.robot.geometry import primitive_meshes

LOWEST = 1.5
"""A foot that is no more than so many times its radius above the floor stands on it."""


def add_pedestals(actor: Actor, ground: float | None) -> Actor:
    """Return an actor whose feet stand on posts.

    Args:
        actor: The actor; the first carrier of one with feet is the world.
        ground: Height of the floor [m]; None where there is none.
    """
    if ground is None:
        return actor
    posts = [visual for foot in actor.visuals.mounts for visual in _post(foot, ground)]
    if not posts:
        return actor
    return dc.replace(
        actor, visuals=dc.replace(actor.visuals, parts=(*actor.visuals.parts, *posts))
    )


def _post(foot: MountPoint, ground: float) -> tuple[VisualPart, ...]:
    height, r = float(foot.at[2]) - ground, foot.radius
    if height <= LOWEST * r:
        return ()
    post = primitive_meshes.cylinder(0.8 * r, ground, ground + height)
    plinth = primitive_meshes.cylinder(2.2 * r, ground, ground + 0.4 * r)
    mesh = primitive_meshes.merge([post, plinth]).moved(np.eye(3), np.array([*foot.at[:2], 0.0]))
    return (VisualPart(name="stand", mesh=mesh, frame=0, color=JOINT),)
