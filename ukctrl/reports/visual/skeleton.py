"""Links as rods from joint to joint, and housings around joints: a robot without visuals.

What is known of a body are its joints, its frames and its inertia. A rod leaves a joint along that
joint's axis or across it and enters the next in the same way, whichever is nearer to the centre of
mass, as links of arms do. It is as thick as the robot is large, thinner where less mass hangs
beyond, and thinner still where its inertia says so.
"""

from __future__ import annotations

import dataclasses as dc
from collections.abc import Collection

import numpy as np

from ukctrl.core.arrays import Matrix, Vector
from ukctrl.reports.visual.body_proportions import TOOLS, BodyProportions
from ukctrl.reports.visual.mesh_collector import (
    ACCENT,
    BODY,
    JOINT,
    MeshCollector,
    bevelled_cylinder,
    joint_meshes,
    joint_spring,
)
from ukctrl.reports.visual.visual_model import MountPoint
from ukctrl.robot.geometry import primitive_meshes
from ukctrl.robot.geometry.primitive_meshes import Mesh
from ukctrl.robot.geometry.quaternions import rotation_towards
from ukctrl.robot.rigid.tree_kernels import FREE, PLANAR, PRISMATIC, SPHERICAL


@dc.dataclass
class Skeleton(BodyProportions):
    """Draws bodies of a robot."""

    sprung: Collection[int]
    """Joints with a spring about their axis."""
    driven: Collection[int]
    """Joints with a motor."""
    touching: Collection[str]
    """Frames that stand on something, as feet do."""
    seen: Collection[int]
    """Bodies of which a model file shows something."""
    out: MeshCollector
    balls: dict[float, Mesh] = dc.field(default_factory=dict)
    """Those of particles, by radius."""

    def draw(self, bodies: Collection[int]) -> None:
        """Draw some bodies; 0 stands for what rests."""
        if self.size <= 0.0:
            for j in self.joints:
                if j in bodies and self.mass[j] > 0.0:
                    self.out.add(j, self._ball(j))
            return
        for j in self.joints:
            parent = int(self.parents[j])
            if parent in bodies and (parent == 0 or parent in self.seen):
                self._draw_mount(j)
            if j in bodies:
                self._body(j)
                self._housing(j)

    def _ball(self, j: int) -> Mesh:
        """Return the ball of a body's mass; equal bodies share one."""
        r = round(self.ball_radius(j), 12)
        if r not in self.balls:
            self.balls[r] = primitive_meshes.sphere(r)
        return self.balls[r]

    def _body(self, j: int) -> None:
        r, ends = self.radius(j), self.ends(j)
        if self.kinds[j] in (FREE, PLANAR) or (not ends and not self.children[j]):
            self._block(j)
            if self.kinds[j] in (FREE, PLANAR):
                ends = [] if self._is_trunk(j) else [end for end in ends if end[0]]
        if j in self.seen:  # a rod would run through it
            ends = [end for end in ends if not end[0]]
        for child, end in ends:
            path = self._path(j, child, end)
            gripper = self._gripper_name(j, end) if child == 0 else ""
            to = self.radius(child) if child else 0.8 * r
            if gripper:
                path = self._draw_gripper(j, path, to)
            lengths = np.linalg.norm(np.diff(path, axis=0), axis=1)
            share = np.concatenate([[0.0], np.cumsum(lengths)]) / max(lengths.sum(), 1e-300)
            radii = r + (to - r) * share
            for a, b, ra, rb in zip(path, path[1:], radii, radii[1:], strict=False):
                self.out.add(j, primitive_meshes.rod(a, b, ra, rb))
            if not child and not gripper:
                at = next((n for n, position in self.frames[j] if np.allclose(position, end)), "")
                tip = primitive_meshes.sphere((1.6 if at in self.touching else 1.12) * to)
                self.out.add(j, tip.moved(np.eye(3), end), JOINT)

    def _path(self, j: int, child: int, end: Vector) -> Matrix:
        """Return the corners of a rod from a body's joint to one of its ends."""
        out, into = self.axis(j), self.axis(child) if child else None
        if into is not None:
            into = self.rotations[child] @ into
        # this and the shares below are chosen by eye on the catalogue
        near = 0.15 * self.radius(j)
        paths = []
        for first, last in ((out, into), (into, out), (None, into), (out, None), (None, None)):
            corners, remainder = [np.zeros(3)], end
            a = np.zeros(3) if first is None else (remainder @ first) * first
            remainder = remainder - a
            b = np.zeros(3) if last is None else (remainder @ last) * last
            for step in (a, remainder - b, b):
                if float(np.linalg.norm(step)) > near:
                    corners.append(corners[-1] + step)
            corners[-1] = end
            if len(corners) > 1:
                paths.append(np.array(corners))
        if self.mass[j] <= 0.0 or not paths:
            return paths[0] if paths else np.array([np.zeros(3), end])
        c = self.com(j)
        return min(paths, key=lambda way: round(_distance(way, c) / near) + 0.5 * len(way))

    def _gripper_name(self, j: int, end: Vector) -> str:
        at = (name for name, position in self.frames[j] if np.allclose(position, end))
        return next((name for name in at if TOOLS.search(name)), "")

    def _draw_gripper(self, j: int, path: Matrix, r: float) -> Matrix:
        """Draw a gripper at the end of a path; return the path to its palm."""
        last = path[-1] - path[-2]
        length = float(np.linalg.norm(last))
        along, finger = last / length, min(1.8 * r, 0.6 * length)
        turn, palm = rotation_towards(along), path[-1] - finger * along
        for x in (-0.75 * r, 0.75 * r):
            one = primitive_meshes.box(0.35 * r, 0.6 * r, finger)
            one = one.moved(np.eye(3), np.array([x, 0.0, 0.5 * finger]))
            self.out.add(j, one.moved(turn, palm), JOINT)
        hand = primitive_meshes.box(2.4 * r, 1.1 * r, 0.5 * r)
        self.out.add(j, hand.moved(turn, palm), JOINT)
        return np.array([*path[:-1], palm])

    def _block(self, j: int) -> None:
        """Draw a body by its inertia."""
        axis = self.axis(j)
        if axis is not None and self.kinds[j] != PRISMATIC and self.parents[j]:
            flange = bevelled_cylinder(1.1 * self.radius(j), 0.5 * self.radius(j))
            self.out.add(j, flange.moved(rotation_towards(axis), np.zeros(3)))
            return
        if self.mass[j] <= 0.0 or j in self.seen:
            return
        sides, axes = self.box(j)
        max_side = float(sides.max())
        if not self.has_extent(j):
            self.out.add(j, self._ball(j).moved(np.eye(3), self.com(j)))
            return
        # by eye: neither a sheet nor larger than the robot
        x, y, z = np.clip(sides, 0.12 * max_side, 1.5 * self.size)
        if not self._is_trunk(j):
            self.out.add(j, primitive_meshes.box(x, y, z).moved(axes, self.com(j)))
            return
        hips = (np.array([self.translations[k] for k in self.children[j]]) - self.com(j)) @ axes
        corners = 0.5 * np.array([[x, y], [x, -y], [-x, y], [-x, -y]])
        b, z = 0.25 * y, max(z, 2.0 * self.radius(self.children[j][0]))
        shell = np.vstack([0.8 * corners, hips[:, :2]])
        for share, height in ((1.0, 0.5 * z - 0.4 * b), (0.9, 0.5 * z)):
            trunk = primitive_meshes.plate(share * shell, b, -height, height)
            self.out.add(j, trunk.moved(axes, self.com(j)))

    def _is_trunk(self, j: int) -> bool:
        """Whether a body that moves freely has legs."""
        return self.kinds[j] == FREE and len(self.children[j]) > 2

    def _housing(self, j: int) -> None:
        axis, kind = self.axis(j), self.kinds[j]
        r = self.radius(j)
        if kind == SPHERICAL:
            self.out.add(j, primitive_meshes.sphere(1.35 * r), JOINT)
        if axis is None:
            return
        turn = rotation_towards(axis)
        if kind == PRISMATIC:
            self._slide(j, turn, r)
            return
        runs_along = any(self._is_along(j, axis, end) for _, end in self.ends(j))
        R, half = (1.14 * r, 0.45 * r) if runs_along else (1.25 * r, 1.35 * r)
        if runs_along:
            self.out.add(j, bevelled_cylinder(R, half).moved(turn, np.zeros(3)), JOINT)
        else:
            for mesh, color in joint_meshes(r, half, driven=j in self.driven):
                self.out.add(j, mesh.moved(turn, np.zeros(3)), color)
        if j in self.sprung:
            pin = bevelled_cylinder(0.5 * r, 0.5 * r).moved(
                np.eye(3), np.array([0.0, 0.0, 2.3 * r])
            )
            self.out.add(j, pin.moved(turn, np.zeros(3)), JOINT)
            self.out.add(
                j, joint_spring(1.2 * r, 1.0 * r, 2.4 * r).moved(turn, np.zeros(3)), ACCENT
            )

    def _is_along(self, j: int, axis: Vector, end: Vector) -> bool:
        first = self._path(j, 0, end)[1] if end.any() else axis
        return abs(float(first @ axis)) > 0.9 * float(np.linalg.norm(first))

    def _slide(self, j: int, turn: Matrix, r: float) -> None:
        """Draw a block that slides along a rail of its parent."""
        if self.distal_mass[j] <= 0.0:
            return
        block = self.structure.blocks[j - 1]
        low, high = (
            float(limit[block.iq]) for limit in (self.structure.q_lower, self.structure.q_upper)
        )
        if not (np.isfinite(low) and np.isfinite(high) and high - low < 4.0 * self.size):
            low, high = -0.25 * self.size, 0.25 * self.size
        rail = primitive_meshes.box(1.0 * r, 1.0 * r, high - low + 2.0 * r)
        rail = rail.moved(turn, np.zeros(3)).moved(np.eye(3), turn[:, 2] * 0.5 * (low + high))
        parent = int(self.parents[j])
        self.out.add(parent, rail.moved(self.rotations[j], self.translations[j]), JOINT)
        carriage = primitive_meshes.box(2.2 * r, 2.2 * r, 2.6 * r).moved(turn, np.zeros(3))
        self.out.add(j, carriage, JOINT if j in self.driven else BODY)
        if j in self.driven:
            band = primitive_meshes.box(2.3 * r, 2.3 * r, 0.5 * r)
            self.out.add(j, band.moved(turn, np.zeros(3)), ACCENT)

    def _draw_mount(self, j: int) -> None:
        """Draw what carries the first joint of an arm."""
        axis, r = self.axis(j), self.radius(j)
        if axis is None or self.kinds[j] == PRISMATIC:
            return
        (base, up), parent = self.base_offset(j), int(self.parents[j])
        if float(np.linalg.norm(up)) > 2.0 * r:
            start = base + up * min(0.5, 1.25 * r / float(np.linalg.norm(up)))
            self.out.add(parent, primitive_meshes.rod(start, self.translations[j], 1.25 * r, r))
            plinth = bevelled_cylinder(2.0 * r, 0.2 * r).moved(
                np.eye(3), np.array([0.0, 0.0, 0.2 * r])
            )
            self.out.add(parent, plinth.moved(rotation_towards(up), base), JOINT)
            return
        turn, at = self._motor_placement(j, axis, r)
        if parent == 0:
            self.out.feet.append(MountPoint(at, 1.1 * r))
        self.out.add(
            parent,
            bevelled_cylinder((1.7 if j in self.driven else 1.3) * r, r).moved(turn, at),
            JOINT,
        )
        axle = 0.5 * (at + self.translations[j])
        half = 0.5 * float(np.linalg.norm(at - self.translations[j]))
        self.out.add(parent, bevelled_cylinder(0.5 * r, half).moved(turn, axle), JOINT)

    def _motor_placement(self, j: int, axis: Vector, r: float) -> tuple[Matrix, Vector]:
        """Return where the motor of a first joint is: below it, or behind."""
        along = self.rotations[j] @ axis
        down = -along if along @ self.structure.gravity <= 0.0 else along
        if abs(along @ self.structure.gravity) < 1e-6 and along[1] < -0.5:
            down = -along  # behind the upright plane, which one sees from -y
        return rotation_towards(along), self.translations[j] + 2.6 * r * down


def _distance(path: Matrix, point: Vector) -> float:
    """Return how far a point is from the middle of a path, weighted by length."""
    middles, lengths = 0.5 * (path[1:] + path[:-1]), np.linalg.norm(np.diff(path, axis=0), axis=1)
    centre = (lengths[:, None] * middles).sum(0) / max(float(lengths.sum()), 1e-300)
    return float(np.linalg.norm(centre - point))
