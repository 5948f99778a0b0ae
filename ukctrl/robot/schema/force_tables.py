"""Schema of ``[[force]]``: springs, dampers, friction and given forces."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from ukctrl.core.fields import (
    ByName,
    Formula,
    JointDamping,
    JointEffort,
    JointPosition,
    JointSpeed,
    JointStiffness,
    NumberByName,
    Quantity,
    Text,
    spec,
)

Efforts = Annotated[NumberByName, ByName(Quantity("N m or N", minimum=0.0).read)]
"""Torques or forces, zero or above, for all joints, or a table of them by joint [N m or N]."""
Dampings = Annotated[NumberByName, ByName(Quantity("N m s/rad or N s/m", minimum=0.0).read)]
"""Damping, zero or above, for all joints, or a table of it by joint [N m s/rad or N s/m]."""


@spec
class JointSpring:
    """A spring (and damper) across a joint: ``-stiffness (q - rest) - damping v``."""

    kind: Literal["joint_spring"] = "joint_spring"
    joint: Text
    """Joint with one freedom and a plain coordinate."""
    stiffness: JointStiffness
    """[N m/rad] or [N/m]."""
    rest: JointPosition = 0.0
    """Coordinate at which it is relaxed [rad or m]."""
    damping: JointDamping = 0.0
    """[N m s/rad] or [N s/m]."""


@spec
class JointDamper:
    """Viscous friction in a joint: ``-damping v``."""

    kind: Literal["joint_damper"] = "joint_damper"
    joint: Text
    """Joint, or one velocity of a joint with several freedoms."""
    damping: JointDamping
    """[N m s/rad] or [N s/m]."""


@spec
class DryFriction:
    """Dry friction in a joint, smoothed: ``-level tanh(v / velocity_scale)``."""

    kind: Literal["dry_friction"] = "dry_friction"
    joint: Text
    """Joint, or one velocity of a joint with several freedoms."""
    level: JointEffort
    """Effort while sliding [N m or N]."""
    velocity_scale: JointSpeed = 0.01
    """Velocity at which 76 % of the level is reached [rad/s or m/s]; smaller is stiffer."""


@spec
class Spring:
    """A spring and damper along the line between the origins of two frames."""

    kind: Literal["spring"] = "spring"
    frames: tuple[Text, Text]
    """The two ends; ``world`` is the ground."""
    stiffness: Annotated[float, Quantity("N/m", minimum=0.0)]
    """[N/m]."""
    rest: Annotated[float, Quantity("m", minimum=0.0)] = 0.0
    """Length at which it is relaxed [m]."""
    damping: Annotated[float, Quantity("N s/m", minimum=0.0)] = 0.0
    """[N s/m], on the rate of the length."""


@spec
class GivenForce:
    """A generalised force given as a formula of the coordinates, ``v.<name>`` and ``t``."""

    kind: Literal["given"] = "given"
    joint: Text
    """Joint, or one velocity of a joint with several freedoms."""
    force: Formula
    """The force on that velocity [N m or N]."""


AnyForce = Annotated[
    JointSpring | JointDamper | DryFriction | Spring | GivenForce, Field(discriminator="kind")
]
