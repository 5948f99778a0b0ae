"""A plant that is a Pinocchio model of rigid bodies."""

from __future__ import annotations

import dataclasses as dc
from functools import cached_property
from typing import Any, final

import numpy as np
import pinocchio as pin

from ukctrl.core.arrays import Vector
from ukctrl.robot.layout import Block, blocks_of
from ukctrl.robot.rigid_arrays import UNLIMITED, Bodies, RigidStructure
from ukctrl.robot.structure import Structure
from ukctrl.robot.tree import compare_with_pinocchio, inertias_of, tree_of
from ukctrl.robot.tree_kernels import Tree

NEUTRAL = "neutral"
"""Name of the reference configuration of a Pinocchio model that stands for every joint at zero."""


@final
@dc.dataclass(frozen=True, eq=False)
class ModelStructure(RigidStructure):
    """A Pinocchio model and the names of all that it has."""

    given: Any
    """The ``pinocchio.Model``."""
    like: RigidStructure | None = None
    """One that differs in the inertias of bodies and in gravity alone."""

    @property
    def model(self) -> Any:
        return self.given

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

    def take_inertias(self, other: Structure) -> bool:
        if not (isinstance(other, ModelStructure) and self.like is not None):
            return False
        if other._root is not self._root or (other.gravity != self.gravity).any():
            return False
        for j, body in enumerate(other.model.inertias):
            self.model.inertias[j] = body
        self.tree.inertias[:] = other.tree.inertias
        return True

    @property
    def _root(self) -> RigidStructure:
        """What it was made from with other inertias of bodies, or another gravity."""
        root: RigidStructure = self
        while isinstance(root, ModelStructure) and root.like is not None:
            root = root.like
        return root

    @property
    def neutral(self) -> Vector:
        """Every joint at zero, or where an MJCF file has it, shape ``(nq,)``."""
        given = self.model.referenceConfigurations
        return np.array(given[NEUTRAL]) if NEUTRAL in given else super().neutral

    def effort_range(self, dof: int) -> tuple[float, float]:
        model = self.model
        low, high = (float(x[dof]) for x in (model.lowerEffortLimit, model.upperEffortLimit))
        both = float(self.effort_limit[dof])
        return (low, high) if -high != low < high < UNLIMITED else (-both, both)

    @cached_property
    def bodies(self) -> Bodies:
        if self.like is not None:
            return self.like.bodies._replace(gravity=np.array(self.model.gravity.linear))
        model, frames = self.model, _frames(self.model)
        places = [frame.placement for frame in frames.values()]
        return Bodies(
            np.array(model.parents, dtype=np.int64),
            np.array(model.gravity.linear),
            self._position_limit(model.lowerPositionLimit, -np.inf),
            self._position_limit(model.upperPositionLimit, np.inf),
            _limit(model.upperVelocityLimit),
            _limit(np.maximum(model.upperEffortLimit, -np.array(model.lowerEffortLimit))),
            np.array(model.damping, dtype=np.float64),
            np.array(model.friction, dtype=np.float64),
            tuple(frames),
            np.array([frame.parentJoint for frame in frames.values()], dtype=np.int64),
            np.array([place.rotation for place in places]),
            np.array([place.translation for place in places]),
        )

    def _position_limit(self, given: Any, unlimited: float) -> Vector:
        limit = np.full(self.model.nq, unlimited)
        for block in self.blocks:
            if block.shape == "line":
                part = slice(block.iq, block.iq + block.nq)
                limit[part] = np.asarray(given)[part]
        limit[np.abs(limit) >= UNLIMITED] = unlimited
        return limit

    def with_limits(self, lower: Vector, upper: Vector, fastest: Vector) -> ModelStructure:
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
        return ModelStructure(self.blocks, model)

    def with_rotors(self, blocks: tuple[Block, ...], inertia: Vector) -> ModelStructure:
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
        if NEUTRAL in model.referenceConfigurations:
            q, at = self.neutral, {block.joint: block.iq for block in self.blocks}
            ahead = [q[at[block.joint]] for block in blocks]  # at their joints
            model.referenceConfigurations[NEUTRAL] = np.concatenate([q, ahead])
        return ModelStructure((*self.blocks, *rotors), model)


def _limit(given: Any) -> Vector:
    limit = np.array(given)
    # Zero is how a model file says "not given", or careless exporters "not known", which the audit
    # tells; a joint that may not move is fixed.
    return np.where((limit > 0.0) & (limit < UNLIMITED), limit, np.inf)


def _frames(model: Any) -> dict[str, Any]:
    """Return Pinocchio's frames by name; a link goes before a joint of the same name."""
    named: dict[str, Any] = {}
    links: set[str] = set()
    for frame in model.frames:
        is_link = frame.type != pin.FrameType.JOINT
        if frame.name not in named or (is_link and frame.name not in links):
            named[frame.name] = frame
            if is_link:
                links.add(frame.name)
    named.setdefault("world", named.pop("universe", model.frames[0]))
    return named


def rigid_structure(model: Any) -> ModelStructure:
    """Return a Pinocchio model with the names of its coordinates.

    Raises:
        ModelError: A joint type is not supported, or two joints end up with one name.
    """
    return ModelStructure(blocks_of(model), model)
