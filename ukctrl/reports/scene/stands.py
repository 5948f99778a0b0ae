"""Posts from where robots are fastened down to the floor of a scene."""

from __future__ import annotations

import dataclasses as dc

import numpy as np

from ukctrl.reports.scene.stage import Actor
from ukctrl.robot.look import meshes
from ukctrl.robot.look.drawing import JOINT
from ukctrl.robot.look.parts import Foot, Part

LOWEST = 1.5
"""A foot that is no more than so many times its radius above the floor stands on it."""


def standing(actor: Actor, ground: float | None) -> Actor:
    """Return an actor whose feet stand on posts.

    Args:
        actor: The actor; the first carrier of one with feet is the world.
        ground: Height of the floor [m]; None where there is none.
    """
    if ground is None:
        return actor
    posts = [part for foot in actor.look.feet for part in _post(foot, ground)]
    if not posts:
        return actor
    return dc.replace(actor, look=dc.replace(actor.look, parts=(*actor.look.parts, *posts)))


def _post(foot: Foot, ground: float) -> tuple[Part, ...]:
    height, r = float(foot.at[2]) - ground, foot.radius
    if height <= LOWEST * r:
        return ()
    post = meshes.cylinder(0.8 * r, ground, ground + height)
    plinth = meshes.cylinder(2.2 * r, ground, ground + 0.4 * r)
    mesh = meshes.together([post, plinth]).moved(np.eye(3), np.array([*foot.at[:2], 0.0]))
    return (Part(name="stand", mesh=mesh, carrier=0, color=JOINT),)
