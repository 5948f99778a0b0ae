"""The smallest capsule around the shapes that a model file has of a link."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, get_args

import numpy as np
from scipy.optimize import minimize
from scipy.spatial import ConvexHull, QhullError, transform

from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.errors import InputError
from ukctrl.core.message_text import quote_text
from ukctrl.robot.geometry.model_shapes import model_shapes
from ukctrl.robot.geometry.primitive_meshes import ROUND_SEGMENTS
from ukctrl.robot.shape_sources import ShapeKind

if TYPE_CHECKING:
    from ukctrl.robot.robot_base import RobotBase

CIRCUMSCRIBED_FACTOR = 1.0 / np.cos(np.pi / ROUND_SEGMENTS)
"""A round shape reaches beyond its corners by up to this."""


class FittedCapsule(NamedTuple):
    """A capsule: its axis from one end to the other, in the axes of what it is around [m]."""

    start: Vector
    end: Vector
    radius: float

    @property
    def volume(self) -> float:
        """Its volume [m^3]."""
        length = float(np.linalg.norm(self.end - self.start))
        return float(np.pi * self.radius**2 * (length + 4.0 / 3.0 * self.radius))


def capsule_around(robot: RobotBase, link: str, kind: ShapeKind = "visual") -> FittedCapsule:
    """Return the smallest capsule around all shapes of a link in a robot's model file.

    Args:
        robot: The robot.
        link: The name of the link, which is that of its frame.
        kind: Which shapes, those that are shown or those that collide.

    Raises:
        InputError: The file has none of them, or one that cannot be read.
    """
    points: list[Matrix] = []
    for model in robot.shape_sources.models:
        links = model_shapes(model, kind)
        if link in links.skipped:
            raise InputError(
                f"no capsule is fitted around link {quote_text(link)}: {links.skipped[link]}. "
                "Give the "
                "capsule's start, end and radius."
            )
        points += [shape.mesh.vertices for shape in links.shapes if shape.link == link]
    if not points:
        (alternative,) = {*get_args(ShapeKind)} - {kind}
        raise InputError(
            f"a capsule without a radius is fitted around the {kind} shapes of link "
            f"{quote_text(link)} in the robot's model file, which has none. Give its start, end "
            "and "
            f"radius, or around = {alternative!r}."
        )
    return smallest_capsule(np.concatenate(points))


def smallest_capsule(points: Matrix) -> FittedCapsule:
    """Return the smallest capsule around points, shape ``(k, 3)``, and around round shapes whose
    corners they are: a local minimum of the volume, the best from three axes.
    """
    try:
        points = points[ConvexHull(points).vertices]
    except QhullError:  # they lie in a plane
        points = np.unique(points, axis=0)
    middle = points.mean(axis=0)
    gaps = points - middle
    size = float(np.linalg.norm(gaps, axis=1).max())
    axes = np.linalg.svd(gaps, full_matrices=True)[2]

    def along(x: Vector, frame: Matrix) -> FittedCapsule:
        turned = transform.Rotation.from_rotvec([x[0], x[1], 0.0]).as_matrix() @ frame
        local = gaps @ turned.T - [size * x[2], size * x[3], 0.0]
        radii = np.hypot(local[:, 0], local[:, 1])
        radius = float(radii.max())
        cap = np.sqrt(np.maximum(radius**2 - radii**2, 0.0))
        low, high = float((local[:, 2] + cap).min()), float((local[:, 2] - cap).max())
        if low > high:
            low = high = 0.5 * (low + high)
        ends = np.array([[size * x[2], size * x[3], z] for z in (low, high)]) @ turned + middle
        return FittedCapsule(ends[0], ends[1], radius * CIRCUMSCRIBED_FACTOR)

    capsules = []
    for k in range(3):
        frame = np.roll(axes, -k, axis=0)
        best = minimize(
            lambda x, frame=frame: along(x, frame).volume,
            np.zeros(4),
            method="Nelder-Mead",
            options={"xatol": 1e-7, "fatol": 1e-12 * size**3, "maxiter": 2000},
        )
        capsules.append(along(best.x, frame))
    return min(capsules, key=lambda one: one.volume)
