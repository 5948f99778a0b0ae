"""What a scene is made of, whoever shows it: actors that move, curves, arrows, and the time."""

from __future__ import annotations

import dataclasses as dc
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ukctrl.core.arrays import Matrix, Vector
from ukctrl.reports.scene.joint_sliders import JointSlider
from ukctrl.reports.visual.visual_model import Poses, VisualModel


@dc.dataclass(frozen=True, kw_only=True, eq=False)
class Actor:
    """A robot in a scene."""

    name: str
    """What the legend calls it, such as the controller."""
    visuals: VisualModel
    poses: Poses
    """Where its carriers are at the scene's times."""
    color: str = ""
    """That of all its parts, such as its controller's; empty: each part's own."""
    opacity: float = 1.0
    """From 0 to 1: of all its parts."""
    group: str = "robot"
    """What a viewer can hide at once: ``robot``, ``believed``, ``limits``, or a controller."""


@dc.dataclass(frozen=True, kw_only=True, eq=False)
class SceneCurve:
    """A line in space."""

    name: str
    points: Matrix
    """At the scene's times, shape ``(n, 3)`` [m]; NaN where there is none."""
    kind: Literal["reference", "trail"]
    """A reference is there from the start; a trail grows behind a dot."""
    color: str
    group: str


@dc.dataclass(frozen=True, kw_only=True, eq=False)
class Arrow:
    """A force, or a torque about an axis, at the scene's times."""

    name: str
    tail: Matrix
    """Where it acts, shape ``(n, 3)`` [m]."""
    vector: Matrix
    """Its value in world axes, shape ``(n, 3)`` [N or N m]."""
    unit: str
    group: Literal["inputs", "reactions"]
    limited: NDArray[np.bool_] = dc.field(default_factory=lambda: np.zeros(1, bool))
    """When its input is at its limit, or its contact slides, shape ``(n,)``; of one entry where it
    never does."""

    def is_limited(self, time: float, times: Vector) -> bool:
        """Tell whether it is at its limit at a time [s], of the scene's times."""
        index = int(np.searchsorted(times, time, side="right")) - 1
        return bool(self.limited[min(max(index, 0), len(self.limited) - 1)])


@dc.dataclass(frozen=True, kw_only=True, eq=False)
class Scene:
    """All that there is to see of one run, of several beside each other, or of a robot at rest."""

    title: str
    time: Vector
    """Shape ``(n,)`` [s]."""
    actors: tuple[Actor, ...]
    curves: tuple[SceneCurve, ...] = ()
    arrows: tuple[Arrow, ...] = ()
    low: NDArray[np.float64]
    """The lowest corner of the box that a camera must show, shape ``(3,)`` [m]."""
    high: NDArray[np.float64]
    """The highest."""
    ground: float | None
    """Height of the floor [m]; None where there is none, as where gravity is level."""
    up: tuple[float, float, float] = (0.0, 0.0, 1.0)
    """What a camera shows upwards; along y where gravity is against y."""
    notes: tuple[str, ...] = ()
    """What a user should know, such as meshes that are left out; a sentence each."""
    joints: tuple[JointSlider, ...] = ()
    """Sliders that move the first actor from its only moment."""
