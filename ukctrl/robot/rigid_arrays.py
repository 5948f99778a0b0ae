"""Plants of rigid bodies as arrays alone: what all of them are, and one that a file has kept."""

from __future__ import annotations

import abc
import dataclasses as dc
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, NoReturn, final

import numpy as np
from numpy.typing import NDArray

from ukctrl.core.arrays import Indices, Matrix, Vector
from ukctrl.core.errors import ModelError, unknown_name
from ukctrl.robot.interface import RobotInterface, Site
from ukctrl.robot.layout import Block
from ukctrl.robot.rigid_snapshot import RigidSnapshot
from ukctrl.robot.snapshot import Snapshot
from ukctrl.robot.structure import Structure
from ukctrl.robot.tree_kernels import Tree

UNLIMITED = 1e20
"""Limits beyond this are how model files write "none"."""
UNITS = {"circle": 0, "planar": 2, "spherical": 3, "free": 6}
"""Which coordinate of a joint is 1 at its zero, by the joint's shape; all others are 0."""


class Bodies(NamedTuple):
    """What a model of rigid bodies says beside the terms of its `Tree`."""

    parents: Indices
    """Joint that carries each joint, shape ``(n,)``; 0 is the world."""
    gravity: Vector
    """Shape ``(3,)`` [m/s^2]."""
    lower: Vector
    """Lower limits of the coordinates, shape ``(nq,)``; infinite where unlimited."""
    upper: Vector
    """Upper limits."""
    fastest: Vector
    """Largest absolute velocities, shape ``(nv,)``; infinite where unlimited."""
    strongest: Vector
    """Largest absolute efforts of motors."""
    damping: Vector
    """Viscous friction, shape ``(nv,)``."""
    friction: Vector
    """Dry friction."""
    frames: tuple[str, ...]
    """Names of its ``k`` frames."""
    carriers: Indices
    """Joint that carries each frame, shape ``(k,)``."""
    rotations: NDArray[np.float64]
    """Orientation of each in the joint's frame, shape ``(k, 3, 3)``."""
    translations: Matrix
    """Position of each in the joint's frame, shape ``(k, 3)`` [m]."""


def roots_of(parents: Indices) -> Indices:
    """Return the joint at the world that carries each joint."""
    roots = np.arange(len(parents))
    for j in range(1, len(parents)):
        roots[j] = roots[parents[j]] or j
    return roots


@dc.dataclass(frozen=True, eq=False)
class RigidStructure(Structure, abc.ABC):
    """Joints, rigid bodies and frames."""

    timeless: ClassVar[bool] = True

    @property
    @abc.abstractmethod
    def bodies(self) -> Bodies:
        """Limits, friction, gravity and frames."""

    @property
    @abc.abstractmethod
    def tree(self) -> Tree:
        """The joints and bodies, whose terms are those of Pinocchio."""

    @cached_property
    def trees(self) -> Indices:
        roots = roots_of(self.bodies.parents)
        return np.array([roots[b.joint] for b in self.blocks for _ in range(b.nv)], dtype=np.int64)

    @property
    def velocity_limit(self) -> Vector:
        return self.bodies.fastest

    @property
    def q_lower(self) -> Vector:
        return self.bodies.lower

    @property
    def q_upper(self) -> Vector:
        return self.bodies.upper

    @property
    def effort_limit(self) -> Vector:
        return self.bodies.strongest

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
    def _block_at(self) -> dict[int, Block]:
        return {block.joint: block for block in self.blocks}

    def _make_site(self, index: int) -> Site:
        bodies, support = self.bodies, np.zeros(self.nv, dtype=bool)
        joint = above = int(bodies.carriers[index])
        while above > 0:
            block = self._block_at[above]
            support[block.iv : block.iv + block.nv] = True
            above = int(bodies.parents[above])
        place = bodies.rotations[index].copy(), bodies.translations[index].copy()
        return Site(joint, *place, support, np.flatnonzero(support))

    @property
    def neutral(self) -> Vector:
        """The configuration with every joint at zero, shape ``(nq,)``."""
        q: Vector = np.zeros(self.nq)
        q[[block.iq + UNITS[block.shape] for block in self.blocks if block.shape in UNITS]] = 1.0
        return q

    def snapshot(self, robot: RobotInterface, q: Vector, v: Vector, t: float) -> Snapshot:
        return RigidSnapshot(robot, q, v, t)


class NeedsPinocchio(ModelError):
    """A robot that is arrays alone was asked for what its Pinocchio model knows."""

    def __init__(self) -> None:
        super().__init__(
            "a robot of kept arrays has no Pinocchio model, which this needs; load the robot from "
            "its own file, with Pinocchio (the package 'pin')."
        )


@final
@dc.dataclass(frozen=True, eq=False)
class KeptStructure(RigidStructure):
    """Rigid bodies as a file has kept their arrays, without a model of Pinocchio."""

    kept: tuple[Bodies, Tree]
    zero: Vector
    """What `neutral` is: of an MJCF file its ``qpos0``."""

    @property
    def neutral(self) -> Vector:
        return self.zero.copy()

    @property
    def bodies(self) -> Bodies:
        return self.kept[0]

    @property
    def tree(self) -> Tree:
        return self.kept[1]

    @property
    def model(self) -> Any:
        raise NeedsPinocchio

    def with_limits(self, lower: Vector, upper: Vector, fastest: Vector) -> NoReturn:
        raise NeedsPinocchio

    def with_rotors(self, blocks: tuple[Block, ...], inertia: Vector) -> NoReturn:
        raise NeedsPinocchio
