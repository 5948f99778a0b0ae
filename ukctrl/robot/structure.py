"""What a model is made of: its coordinates, joints and frames, by name."""

from __future__ import annotations

import dataclasses as dc
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from ukctrl.errors import InputError, unknown_name
from ukctrl.robot.layout import Block, identifier

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]

UNLIMITED = 1e20
"""Limits beyond this are how model files write "none"."""


class Site(NamedTuple):
    """Where a frame is fixed on the robot."""

    joint: int
    """Index of the joint that carries it; 0 is the world."""
    rotation: Matrix
    """Orientation in the joint's frame, shape ``(3, 3)``."""
    translation: Vector
    """Position in the joint's frame, shape ``(3,)`` [m]."""
    support: NDArray[np.bool_]
    """Which velocities move it, shape ``(nv,)``."""
    columns: NDArray[np.intp]
    """The indices of those velocities."""


@dc.dataclass(frozen=True, eq=False)
class Structure:
    """A Pinocchio model and the names of all that it has."""

    model: Any
    """The ``pinocchio.Model``."""
    blocks: tuple[Block, ...]
    """Names, units and kinematics joint by joint."""

    @cached_property
    def coordinates(self) -> tuple[str, ...]:
        """Names of the entries of ``q``."""
        return tuple(name for block in self.blocks for name in block.coordinates)

    @cached_property
    def dofs(self) -> tuple[str, ...]:
        """Names of the entries of ``v``."""
        return tuple(name for block in self.blocks for name in block.dofs)

    @cached_property
    def dof_units(self) -> tuple[str, ...]:
        """Units of the entries of ``v``."""
        return tuple(unit for block in self.blocks for unit in block.dof_units)

    @cached_property
    def joints(self) -> tuple[str, ...]:
        """Names of the joints in the model file."""
        return tuple(block.name for block in self.blocks)

    @cached_property
    def velocity_limit(self) -> Vector:
        """Largest absolute velocity, shape ``(nv,)``; infinite where unlimited."""
        limit = np.array(self.model.upperVelocityLimit)
        # Zero is how a model file says "not given"; a joint that may not move is fixed.
        return np.where((limit > 0.0) & (limit < UNLIMITED), limit, np.inf)

    @cached_property
    def q_lower(self) -> Vector:
        """Lower limits of the coordinates, shape ``(nq,)``; infinite where unlimited."""
        return self._position_limit(self.model.lowerPositionLimit, -np.inf)

    @cached_property
    def q_upper(self) -> Vector:
        """Upper limits of the coordinates, shape ``(nq,)``; infinite where unlimited."""
        return self._position_limit(self.model.upperPositionLimit, np.inf)

    def _position_limit(self, given: Any, unlimited: float) -> Vector:
        limit = np.full(self.model.nq, unlimited)
        for block in self.blocks:
            if block.shape == "line":
                part = slice(block.iq, block.iq + block.nq)
                limit[part] = np.asarray(given)[part]
        limit[np.abs(limit) >= UNLIMITED] = unlimited
        return limit

    def dof(self, name: str) -> int:
        """Return the index of a velocity, by its own name or that of a one-freedom joint.

        Raises:
            UnknownName: There is no such joint.
            InputError: The joint has several freedoms.
        """
        for block in self.blocks:
            if name in (block.name, identifier(block.name)) and name not in block.dofs:
                if block.nv == 1:
                    return block.iv
                raise InputError(
                    f"joint '{name}' has {block.nv} freedoms; name one of "
                    f"{', '.join(block.dofs)} instead."
                )
        if name not in self.dofs:
            raise unknown_name("joint", name, dict.fromkeys((*self.joints, *self.dofs)))
        return self.dofs.index(name)

    def block_of(self, dof: int) -> Block:
        """Return the block that a velocity belongs to."""
        return next(b for b in self.blocks if b.iv <= dof < b.iv + b.nv)

    @cached_property
    def frames(self) -> tuple[str, ...]:
        """Names of the frames; ``world`` is always one of them."""
        return tuple(self._frame_index)

    def site(self, name: str) -> Site:
        """Return where a frame is fixed.

        Raises:
            UnknownName: There is no frame of this name.
        """
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
        """Map names to Pinocchio's frames; a link goes before a joint of the same name."""
        index: dict[str, int] = {}
        links: set[str] = set()
        for i, frame in enumerate(self.model.frames):
            is_link = frame.type != pin.FrameType.JOINT
            if frame.name not in index or (is_link and frame.name not in links):
                index[frame.name] = i
                if is_link:
                    links.add(frame.name)
        index.setdefault("world", index.pop("universe", 0))
        return index

    def _make_site(self, index: int) -> Site:
        frame = self.model.frames[index]
        joint = int(frame.parentJoint)
        support = np.zeros(self.model.nv, dtype=bool)
        for ancestor in self.model.supports[joint]:
            start = self.model.joints[ancestor].idx_v
            if ancestor > 0:
                support[start : start + self.model.joints[ancestor].nv] = True
        return Site(
            joint,
            np.array(frame.placement.rotation, order="C"),
            np.array(frame.placement.translation),
            support,
            np.flatnonzero(support),
        )
