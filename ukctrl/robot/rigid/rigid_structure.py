"""Plants of rigid bodies as arrays: joints, limits, frames."""

from __future__ import annotations

import abc
import dataclasses as dc
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ukctrl.core.arrays import Indices, Matrix, Vector
from ukctrl.core.errors import unknown_name
from ukctrl.robot.frame_site import Site
from ukctrl.robot.joint_layout import JointBlock
from ukctrl.robot.rigid.rigid_snapshot import RigidSnapshot
from ukctrl.robot.rigid.tree_kernels import KinematicTree
from ukctrl.robot.snapshot import Snapshot
from ukctrl.robot.structure import Structure

if TYPE_CHECKING:
    from ukctrl.robot.robot_base import RobotBase

UNLIMITED = 1e20
"""Limits beyond this are how model files write "none"."""
UNITS = {"circle": 0, "planar": 2, "spherical": 3, "free": 6}
"""Which coordinate of a joint is 1 at its zero, by the joint's shape; all others are 0."""


class RigidModelData(NamedTuple):
    """What a model of rigid bodies says beside the terms of its `KinematicTree`."""

    parents: Indices
    """Joint that carries each joint, shape ``(n,)``; 0 is the world."""
    gravity: Vector
    """Shape ``(3,)`` [m/s^2]."""
    lower: Vector
    """Lower limits of the coordinates, shape ``(nq,)``; infinite where unlimited."""
    upper: Vector
    """Upper limits."""
    velocity_limit: Vector
    """Largest absolute velocities, shape ``(nv,)``; infinite where unlimited."""
    effort_limit: Vector
    """Largest absolute efforts of motors."""
    damping: Vector
    """Viscous friction, shape ``(nv,)``."""
    friction: Vector
    """Dry friction."""
    frames: tuple[str, ...]
    """Names of its ``k`` frames."""
    frame_parents: Indices
    """Joint that carries each frame, shape ``(k,)``."""
    rotations: NDArray[np.float64]
    """Orientation of each in the joint's frame, shape ``(k, 3, 3)``."""
    translations: Matrix
    """Position of each in the joint's frame, shape ``(k, 3)`` [m]."""


def tree_roots(parents: Indices) -> Indices:
    """Return the joint at the world that carries each joint."""
    roots = np.arange(len(parents))
    for j in range(1, len(parents)):
        roots[j] = roots[parents[j]] or j
    return roots


@dc.dataclass(frozen=True, eq=False)
class RigidStructure(Structure, abc.ABC):
    """Joints, rigid bodies and frames."""

    is_autonomous: ClassVar[bool] = True
    has_bodies: ClassVar[bool] = True

    @property
    @abc.abstractmethod
    def bodies(self) -> RigidModelData:
        """Limits, friction, gravity and frames."""

    @property
    @abc.abstractmethod
    def tree(self) -> KinematicTree:
        """The joints and bodies, whose terms are those of Pinocchio."""

    @cached_property
    def trees(self) -> Indices:
        roots = tree_roots(self.bodies.parents)
        return np.array([roots[b.joint] for b in self.blocks for _ in range(b.nv)], dtype=np.int64)

    @property
    def velocity_limit(self) -> Vector:
        return self.bodies.velocity_limit

    @property
    def q_lower(self) -> Vector:
        return self.bodies.lower

    @property
    def q_upper(self) -> Vector:
        return self.bodies.upper

    @property
    def effort_limit(self) -> Vector:
        return self.bodies.effort_limit

    @property
    def damping(self) -> Vector:
        return self.bodies.damping

    @property
    def friction(self) -> Vector:
        return self.bodies.friction

    @property
    def gravity(self) -> Vector:
        return self.bodies.gravity.copy()

    @property
    def frames(self) -> tuple[str, ...]:
        return self.bodies.frames

    def site(self, name: str) -> Site:
        site = self._sites.get(name)
        if site is None:
            if name not in self._frame_index:
                raise unknown_name("frame", name, self.frames)
            site = self._sites[name] = self._make_site(self._frame_index[name])
        return site

    @cached_property
    def _sites(self) -> dict[str, Site]:
        return {}

    @cached_property
    def _frame_index(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self.frames)}

    @cached_property
    def _block_at(self) -> dict[int, JointBlock]:
        return {block.joint: block for block in self.blocks}

    def _make_site(self, index: int) -> Site:
        bodies, support = self.bodies, np.zeros(self.nv, dtype=bool)
        joint = above = int(bodies.frame_parents[index])
        while above > 0:
            block = self._block_at[above]
            support[block.iv : block.iv + block.nv] = True
            above = int(bodies.parents[above])
        pose = bodies.rotations[index].copy(), bodies.translations[index].copy()
        return Site(joint, *pose, support, np.flatnonzero(support))

    @property
    def neutral(self) -> Vector:
        """The configuration with every joint at zero, shape ``(nq,)``."""
        q: Vector = np.zeros(self.nq)
        q[[block.iq + UNITS[block.shape] for block in self.blocks if block.shape in UNITS]] = 1.0
        return q

    def snapshot(self, robot: RobotBase, q: Vector, v: Vector, t: float) -> Snapshot:
        return RigidSnapshot(robot, q, v, t)
