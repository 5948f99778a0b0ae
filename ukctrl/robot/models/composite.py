"""Composite joints (several joints in one MJCF body) as chains of simple joints.

Pinocchio's ``computeJointJacobiansTimeVariation`` leaves out the part of ``dJ`` that comes from
an axis moving inside its own joint, so that drifts of composite joints are wrong. A chain of
simple joints with massless bodies between them is the same mechanism, and exact.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pinocchio as pin

_PER_VELOCITY = (
    "armature",
    "damping",
    "lowerDryFrictionLimit",
    "lowerEffortLimit",
    "lowerVelocityLimit",
    "rotorGearRatio",
    "rotorInertia",
    "upperDryFrictionLimit",
    "upperEffortLimit",
    "upperVelocityLimit",
)
_PER_COORDINATE = ("lowerPositionLimit", "positionLimitMargin", "upperPositionLimit")


def without_composites(model: Any, parts: Mapping[str, tuple[str, ...]]) -> Any:
    """Return the model with every composite joint replaced by a chain of its parts.

    Args:
        model: A ``pinocchio.Model``; returned as it is when it has no composite joint.
        parts: Names of the parts, by the name of the composite joint.
    """
    composite = [joint.shortname() == "JointModelComposite" for joint in model.joints]
    if not any(composite):
        return model
    made = pin.Model()
    made.name, made.gravity = model.name, model.gravity
    last = [0]  # the new joint that moves as each old one did
    for index in range(1, model.njoints):
        parent, name = last[model.parents[index]], str(model.names[index])
        place, joint = model.jointPlacements[index], model.joints[index]
        if composite[index]:
            inner = joint.extract()
            names = parts.get(name, ())
            if len(names) != len(inner.joints):
                names = tuple(f"{name}_{i + 1}" for i in range(len(inner.joints)))
            for part, inside, part_name in zip(
                inner.joints, inner.jointPlacements, names, strict=True
            ):
                parent = made.addJoint(parent, _fresh(part), place * inside, part_name)
                place = pin.SE3.Identity()
                made.addJointFrame(parent)
        else:
            parent = made.addJoint(parent, _fresh(joint), place, name)
            made.addJointFrame(parent)
        made.inertias[parent] = model.inertias[index]
        last.append(parent)
    made.inertias[0] = model.inertias[0]
    # Coordinates and velocities keep their order, so that limits can be copied whole.
    for field in (*_PER_VELOCITY, *_PER_COORDINATE):
        setattr(made, field, getattr(model, field))
    for frame in model.frames:
        if frame.type != pin.FrameType.JOINT and frame.name != "universe":
            made.addFrame(
                pin.Frame(frame.name, last[frame.parentJoint], 0, frame.placement, frame.type),
                False,
            )
    return made


def _fresh(joint: Any) -> Any:
    """Return a joint of the same type and axis that belongs to no model yet."""
    inner = joint.extract()
    kind = type(inner)
    return kind(inner.axis) if "Unaligned" in kind.__name__ else kind()
