"""What an identification says of a robot: inertial parameters of bodies, and friction of joints."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from ukctrl.core.arrays import Vector

BODY_PARAMETERS = ("m", "mx", "my", "mz", "Ixx", "Ixy", "Iyy", "Ixz", "Iyz", "Izz")
"""Mass [kg], first moments [kg m] and inertia about the joint's origin [kg m^2] of a body, in the
axes of its joint: the order of Pinocchio's `Inertia.toDynamicParameters`."""

SPRINGS = ("stiffness", "damping")
"""What the spring of an elastic joint has."""


class DofFriction(NamedTuple):
    r"""Friction of one velocity ``v``.

    $$ f = -\left(F_c + (F_s - F_c)\, e^{-(v/v_s)^2}\right) \tanh\frac{v}{v_\varepsilon} - d\,v
           - f_0 . $$
    """

    coulomb: float = 0.0
    """$F_c$ [N m or N]."""
    viscous: float = 0.0
    """$d$ [N m s/rad or N s/m]."""
    asymmetry: float = 0.0
    """$f_0$: half of what sliding forward takes more than sliding back [N m or N]."""
    static: float = 0.0
    """$F_s$ [N m or N]; zero where it is the Coulomb level."""
    stribeck_velocity: float = 0.1
    """$v_s$ [rad/s or m/s]."""
    velocity_scale: float = 0.01
    r"""$v_\varepsilon$ [rad/s or m/s]."""


class IdentifiedDynamics(NamedTuple):
    """What replaces the numbers of a robot's model; what is absent stays as it is."""

    bodies: dict[str, Vector]
    """`BODY_PARAMETERS` by the name of the joint that moves the body, shape ``(10,)`` each."""
    armature: dict[str, float]
    """Inertia of rotors after the gear, by velocity (`Robot.dofs`) [kg m^2 or kg]."""
    friction: dict[str, DofFriction]
    """By velocity."""
    stiffness: Mapping[str, float] = MappingProxyType({})
    """Of the springs of elastic joints, by joint [N m/rad or N/m]."""
    damping: Mapping[str, float] = MappingProxyType({})
    """Likewise [N m s/rad or N s/m]."""
