"""A plant that is a Pinocchio model of rigid bodies."""

from __future__ import annotations

import dataclasses as dc
from collections.abc import Mapping
from functools import cached_property
from typing import Any, final

import numpy as np
import pinocchio as pin

from ukctrl.core.arrays import Vector
from ukctrl.robot.joint_layout import JointBlock, blocks_of
from ukctrl.robot.rigid.pinocchio_tree import (
    compare_with_pinocchio,
    inertial_parameters,
    kinematic_tree,
)
from ukctrl.robot.rigid.rigid_structure import UNLIMITED, RigidModelData, RigidStructure
from ukctrl.robot.rigid.tree_kernels import KinematicTree
from ukctrl.robot.structure import Structure

NEUTRAL = "neutral"
"""Name of the reference configuration of a Pinocchio model that stands for every joint at zero."""


@final
@dc.dataclass(frozen=True, eq=False)
class PinocchioStructure(RigidStructure):
    """A Pinocchio model and the names of all that it has."""

    pinocchio_model: Any
    """The ``pinocchio.Model``."""
    template: RigidStructure | None = None
    """One that differs in the inertias of bodies and in gravity alone."""

    @property
    def model(self) -> Any:
        return self.pinocchio_model

    @cached_property
    def tree(self) -> KinematicTree:
        """The joints and bodies as arrays, whose terms are those of Pinocchio.

        The terms are linear in inertias and gravity: joints are compared with Pinocchio once.
        """
        if self.template is not None:
            return self.template.tree._replace(inertias=inertial_parameters(self.model))
        tree = kinematic_tree(self.model)
        compare_with_pinocchio(self.model, tree)
        return tree

    def copy_inertias_from(self, source: Structure) -> bool:
        if not (isinstance(source, PinocchioStructure) and self.template is not None):
            return False
        if source._root is not self._root or (source.gravity != self.gravity).any():
            return False
        for j, body in enumerate(source.model.inertias):
            self.model.inertias[j] = body
        self.tree.inertias[:] = source.tree.inertias
        return True

    @property
    def _root(self) -> RigidStructure:
        """What it was made from with other inertias of bodies, or another gravity."""
        root: RigidStructure = self
        while isinstance(root, PinocchioStructure) and root.template is not None:
            root = root.template
        return root

    @property
    def neutral(self) -> Vector:
        """Every joint at zero, or where an MJCF file has it, shape ``(nq,)``."""
        references = self.model.referenceConfigurations
        return np.array(references[NEUTRAL]) if NEUTRAL in references else super().neutral

    def effort_range(self, dof: int) -> tuple[float, float]:
        model = self.model
        low, high = (float(x[dof]) for x in (model.lowerEffortLimit, model.upperEffortLimit))
        both = float(self.effort_limit[dof])
        # unlike ends are kept as they are; equal or missing ones are the limit of a URDF, which has
        # one
        return (low, high) if -high != low < high < UNLIMITED else (-both, both)

    @cached_property
    def bodies(self) -> RigidModelData:
        if self.template is not None:
            return self.template.bodies._replace(gravity=np.array(self.model.gravity.linear))
        model, frames = self.model, _frames(self.model)
        poses = [frame.placement for frame in frames.values()]
        return RigidModelData(
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
            np.array([pose.rotation for pose in poses]),
            np.array([pose.translation for pose in poses]),
        )

    def _position_limit(self, values: Any, unlimited: float) -> Vector:
        limit = np.full(self.model.nq, unlimited)
        for block in self.blocks:
            if block.shape == "line":
                span = slice(block.iq, block.iq + block.nq)
                limit[span] = np.asarray(values)[span]
        limit[np.abs(limit) >= UNLIMITED] = unlimited
        return limit

    def with_limits(self, lower: Vector, upper: Vector, fastest: Vector) -> PinocchioStructure:
        model = pin.Model(self.model)
        for block in self.blocks:
            if block.shape == "line":
                span = slice(block.iq, block.iq + block.nq)
                for limit, values in (
                    (model.lowerPositionLimit, lower),
                    (model.upperPositionLimit, upper),
                ):
                    limit[span] = values[span]
        model.upperVelocityLimit[:] = fastest
        return PinocchioStructure(self.blocks, model)

    def with_inertias(self, bodies: Mapping[int, Vector], armature: Vector) -> PinocchioStructure:
        """Return the structure with other bodies and rotors.

        Args:
            bodies: Inertial parameters by Pinocchio's number of the joint, shape ``(10,)`` each, in
                the order of its ``Inertia.toDynamicParameters``; without mass, no first moments.
            armature: Inertias of rotors after the gear, shape ``(nv,)``.
        """
        model = pin.Model(self.model)
        for joint, values in bodies.items():
            m, centre = values[0], np.zeros(3)
            if m == 0.0:
                xx, xy, yy, xz, yz, zz = values[4:]
                moments = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
                model.inertias[joint] = pin.Inertia(0.0, centre, moments)
            else:
                model.inertias[joint] = pin.Inertia.FromDynamicParameters(values)
        same = np.array_equal(armature, model.armature)
        model.armature[:] = armature
        return PinocchioStructure(self.blocks, model, template=self if same else None)

    def with_rotors(self, blocks: tuple[JointBlock, ...], inertia: Vector) -> PinocchioStructure:
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
            rotor_q = [q[at[block.joint]] for block in blocks]  # at their joints
            model.referenceConfigurations[NEUTRAL] = np.concatenate([q, rotor_q])
        return PinocchioStructure((*self.blocks, *rotors), model)


def _limit(values: Any) -> Vector:
    limit = np.array(values)
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


def rigid_structure(model: Any) -> PinocchioStructure:
    """Return a Pinocchio model with the names of its coordinates.

    Raises:
        ModelError: A joint type is not supported, or two joints end up with one name.
    """
    return PinocchioStructure(blocks_of(model), model)
