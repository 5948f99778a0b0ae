"""Sizes of a robot's bodies, from joints, frames and inertias: what a skeleton is drawn by."""

from __future__ import annotations

import dataclasses as dc
import re
from collections.abc import Collection, Mapping
from functools import cached_property

import numpy as np

from ukctrl.core.arrays import Matrix, Vector
from ukctrl.robot.rigid.rigid_structure import RigidStructure
from ukctrl.robot.rigid.tree_kernels import FREE, IV, KIND, NV, PARENT

THICK = 0.038
"""Radius of the thickest link, of the robot's size."""
THIN = 0.55
"""Least radius of a link, of what its place in the robot gives."""
DENSITY = 1000.0
"""Of a body whose inertia tells no size [kg/m^3]."""
TOOLS = re.compile(r"(^|_)(tool|gripper|hand|tcp|ee|effector)(_|\d|$)")
"""Frames at which a gripper is drawn, by their last word."""


def edges(mass: float, moments: Vector) -> Vector:
    """Return the edges of the box of these principal moments [kg m^2], shape ``(3,)`` [m]."""
    squares = 6.0 / mass * (moments.sum() - 2.0 * moments)
    lengths: Vector = np.sqrt(np.maximum(squares, 0.0))
    return lengths


@dc.dataclass
class BodyProportions:
    """What is known of the bodies of a robot, and how thick they are drawn."""

    structure: RigidStructure
    closures: Collection[str]
    """Frames at which passive constraints tie bodies together."""

    def __post_init__(self) -> None:
        tree, blocks = self.structure.tree, self.structure.blocks
        self.parents, self.kinds = tree.joints[:, PARENT], tree.joints[:, KIND]
        rotors = {block.joint for block in blocks if block.rotor}
        self.joints = [j for j in range(1, len(tree.joints)) if j not in rotors]
        self.translations, self.rotations = tree.translations, tree.rotations
        self.mass = tree.inertias[:, 0]
        self.distal_mass = self.mass.copy()
        for j in reversed(self.joints):
            self.distal_mass[self.parents[j]] += self.distal_mass[j] if self.parents[j] else 0.0

    @cached_property
    def children(self) -> Mapping[int, list[int]]:
        """The joints on each body, without motors of elastic joints."""
        children: dict[int, list[int]] = {j: [] for j in (0, *self.joints)}
        for j in self.joints:
            children[int(self.parents[j])].append(j)
        return children

    @cached_property
    def frames(self) -> Mapping[int, list[tuple[str, Vector]]]:
        """Names and places of the frames of each body."""
        bodies = self.structure.bodies
        frames: dict[int, list[tuple[str, Vector]]] = {j: [] for j in (0, *self.joints)}
        named = zip(bodies.frames, bodies.frame_parents.tolist(), bodies.translations, strict=True)
        for name, joint, at in named:
            frames.setdefault(joint, []).append((name, at))
        return frames

    @cached_property
    def size(self) -> float:
        """Longest way from the base along the joints to an end [m]; 0 for points."""
        reach = np.zeros(len(self.parents))
        for j in self.joints:
            parent = int(self.parents[j])
            step = self.translations[j] if parent else self.base_offset(j)[1]
            reach[j] = reach[parent] + float(np.linalg.norm(step))
        ends = [
            reach[j] + max([float(np.linalg.norm(end)) for _, end in self.ends(j)], default=0.0)
            for j in self.joints
        ]
        blocks = [self.box(j)[0].max() for j in self.joints if self.has_extent(j)]
        return max([0.0, *ends]) or 2.0 * max([0.0, *map(float, blocks)])

    def base_offset(self, j: int) -> tuple[Vector, Vector]:
        """Return the frame of its parent from which a first joint rises, and how far to it.

        It rises along its axis or against gravity, or not at all: it then stands by itself.
        """
        at, axis, gravity = self.translations[j], self.axis(j), self.structure.gravity
        spots = [position for _, position in self.frames[int(self.parents[j])]] or [np.zeros(3)]
        base = min(spots, key=lambda spot: float(np.linalg.norm(spot - at)))
        directions = [gravity] if axis is None else [gravity, self.rotations[j] @ axis]
        for direction in directions:
            # 0.4 and the 0.3 and 0.5 below are chosen by eye on the catalogue
            if np.linalg.norm(np.cross(at - base, direction)) < 0.4 * abs(
                float((at - base) @ direction)
            ):
                return base, at - base
        return at, np.zeros(3)

    def ends(self, j: int) -> list[tuple[int, Vector]]:
        """Return where a body ends: the joints that it carries, else a frame, 0 for no joint."""
        ends = [(k, self.translations[k]) for k in self.children[j] if self.translations[k].any()]
        frames = self.frames[j]
        tools = [one for one in frames if TOOLS.search(one[0])]
        if not tools:
            ends += [(0, at) for name, at in frames if name in self.closures and at.any()]
        if not ends and not self.children[j]:
            far = max(tools or frames, key=lambda one: float(np.linalg.norm(one[1])), default=None)
            if far is not None and far[1].any():
                ends.append((0, far[1]))
            elif self.mass[j] > 0.0:
                c = self.com(j)
                if float(np.linalg.norm(c)) > 0.3 * float(self.box(j)[0].max()) > 0.0:
                    ends.append((0, 2.0 * c))
        return ends

    def com(self, j: int) -> Vector:
        """Return a body's centre of mass in its joint's axes [m]."""
        center: Vector = self.structure.tree.inertias[j, 1:4] / self.mass[j]
        return center

    def box(self, j: int) -> tuple[Vector, Matrix]:
        """Return the edges of the box of the same inertia [m], and its axes as columns."""
        m, xx, xy, yy, xz, yz, zz = self.structure.tree.inertias[j, [0, 4, 5, 6, 7, 8, 9]]
        c = self.com(j)
        about = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        about -= m * (c @ c * np.eye(3) - np.outer(c, c))
        moments, axes = np.linalg.eigh(about)
        if np.linalg.det(axes) < 0.0:
            axes[:, 0] *= -1.0
        return edges(m, moments), axes

    def has_extent(self, j: int) -> bool:
        """Whether the inertia of a body tells its size, and is not a stand-in for a point's."""
        return bool(self.mass[j] > 0.0 and self.box(j)[0].max() > 0.5 * self.ball_radius(j))

    def ball_radius(self, j: int) -> float:
        """Return the radius of a ball of water of a body's mass [m]."""
        return float(np.cbrt(0.75 * self.mass[j] / (np.pi * DENSITY)))

    def radius(self, j: int) -> float:
        """Return how thick a body is [m]."""
        if j == 0:
            return THICK * self.size
        root = j
        while self.parents[root] and self.kinds[self.parents[root]] != FREE:
            root = int(self.parents[root])
        share = (
            self.distal_mass[j] / self.distal_mass[root] if self.distal_mass[root] > 0.0 else 1.0
        )
        r = THICK * self.size * max(0.55, float(np.cbrt(share)))
        if self.mass[j] > 0.0:
            rod_radius = float(self.box(j)[0].min()) / np.sqrt(3.0)  # of a thin rod, its radius
            r = float(np.clip(rod_radius, THIN * r, r))
        return r

    def axis(self, j: int) -> Vector | None:
        """Return the axis of a joint of one freedom in its own axes."""
        joint = self.structure.tree.joints[j]
        if joint[NV] != 1:
            return None
        linear, angular = np.split(self.structure.tree.subspace[joint[IV]], 2)
        axis: Vector = angular if angular.any() else linear
        unit: Vector = axis / np.linalg.norm(axis)
        return unit
