"""A plant that is a Pinocchio model of rigid bodies."""

from __future__ import annotations

import dataclasses as dc
from functools import cached_property
from typing import Any, ClassVar, final

import numpy as np
import pinocchio as pin

from ukctrl.core.arrays import Vector
from ukctrl.core.errors import unknown_name
from ukctrl.robot.interface import RobotInterface, Site
from ukctrl.robot.layout import Block, blocks_of
from ukctrl.robot.rigid_snapshot import RigidSnapshot
from ukctrl.robot.snapshot import Snapshot
from ukctrl.robot.structure import Structure
from ukctrl.robot.tree import compare_with_pinocchio, inertias_of, tree_of
from ukctrl.robot.tree_kernels import Tree

UNLIMITED = 1e20
"""Limits beyond this are how model files write "none"."""


@final
@dc.dataclass(frozen=True, eq=False)
class RigidStructure(Structure):
    """A Pinocchio model and the names of all that it has."""

    timeless: ClassVar[bool] = True
    bodies: Any
    """The ``pinocchio.Model``."""
    like: RigidStructure | None = None
    """One that differs in the inertias of bodies and in gravity alone."""

    @property
    def model(self) -> Any:
        return self.bodies

    @cached_property
    def tree(self) -> Tree:
        """The joints and bodies as arrays, whose terms are those of Pinocchio.

        The terms are linear in inertias and gravity: joints are compared with Pinocchio once.
        """
        if self.like is not None:
            return self.like.tree._replace(inertias=inertias_of(self.model))
        tree = tree_of(self.model)
        compare_with_pinocchio(self.model, tree)
        return tree

    @cached_property
    def velocity_limit(self) -> Vector:
        limit = np.array(self.model.upperVelocityLimit)
        # Zero is how a model file says "not given"; a joint that may not move is fixed.
        return np.where((limit > 0.0) & (limit < UNLIMITED), limit, np.inf)

    @cached_property
    def q_lower(self) -> Vector:
        return self._position_limit(self.model.lowerPositionLimit, -np.inf)

    @cached_property
    def q_upper(self) -> Vector:
        return self._position_limit(self.model.upperPositionLimit, np.inf)

    @cached_property
    def effort_limit(self) -> Vector:
        limit = np.array(self.model.upperEffortLimit)
        # Zero is how careless exporters write "not known"; the audit says so.
        return np.where((limit > 0.0) & (limit < UNLIMITED), limit, np.inf)

    def with_limits(self, lower: Vector, upper: Vector, fastest: Vector) -> RigidStructure:
        model = pin.Model(self.model)
        for block in self.blocks:
            if block.shape == "line":
                part = slice(block.iq, block.iq + block.nq)
                for limit, values in (
                    (model.lowerPositionLimit, lower),
                    (model.upperPositionLimit, upper),
                ):
                    limit[part] = values[part]
        model.upperVelocityLimit[:] = fastest
        return RigidStructure(self.blocks, model)

    @cached_property
    def damping(self) -> Vector:
        return np.array(self.model.damping, dtype=float)

    @cached_property
    def friction(self) -> Vector:
        return np.array(self.model.friction, dtype=float)

    @property
    def gravity(self) -> Vector:
        return np.array(self.model.gravity.linear)

    def _position_limit(self, given: Any, unlimited: float) -> Vector:
        limit = np.full(self.model.nq, unlimited)
        for block in self.blocks:
            if block.shape == "line":
                part = slice(block.iq, block.iq + block.nq)
                limit[part] = np.asarray(given)[part]
        limit[np.abs(limit) >= UNLIMITED] = unlimited
        return limit

    @cached_property
    def frames(self) -> tuple[str, ...]:
        return tuple(self._frame_index)

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

    @property
    def neutral(self) -> Vector:
        """The configuration with every joint at zero, shape ``(nq,)``."""
        return np.array(pin.neutral(self.model))

    def snapshot(self, robot: RobotInterface, q: Vector, v: Vector, t: float) -> Snapshot:
        return RigidSnapshot(robot, q, v, t)

    def with_rotors(self, blocks: tuple[Block, ...], inertia: Vector) -> RigidStructure:
        """Return the structure with motors of elastic joints as further coordinates.

        Each is a massless body that turns about an axis of its own through the world's origin, so
        that gravity and the centre of mass do not know of it. That of a prismatic joint turns,
        too: Pinocchio has no units.
        """
        model = pin.Model(self.model)
        infinite = np.full(1, np.inf)
        rotors = []
        for block, moment in zip(blocks, inertia, strict=True):
            joint = model.addJoint(
                0,
                pin.JointModelRZ(),
                pin.SE3.Identity(),
                block.name,
                infinite,
                infinite,
                -infinite,
                infinite,
            )
            turning = pin.Inertia(0.0, np.zeros(3), moment * np.eye(3))
            model.appendBodyToJoint(joint, turning, pin.SE3.Identity())
            rotors.append(dc.replace(block, joint=joint))
        return RigidStructure((*self.blocks, *rotors), model)


def rigid_structure(model: Any) -> RigidStructure:
    """Return a Pinocchio model with the names of its coordinates.

    Raises:
        ModelError: A joint type is not supported, or two joints end up with one name.
    """
    return RigidStructure(blocks_of(model), model)
