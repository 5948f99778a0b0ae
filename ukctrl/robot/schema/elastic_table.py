"""Schema of ``[elastic]``: joints that their motors drive through springs."""

from __future__ import annotations

from typing import Annotated

from pydantic import WithJsonSchema

from ukctrl.core.fields import Quantity, spec
from ukctrl.robot.by_joint import EACH, Dampings, all_or_each

Stiffnesses = Annotated[
    float | dict[str, float],
    all_or_each(Quantity("N m/rad or N/m", minimum=0.0, open_minimum=True).read),
    WithJsonSchema(EACH),
]
"""Above zero [N m/rad or N/m], for all joints, or a table of them by joint."""
Inertias = Annotated[
    float | dict[str, float],
    all_or_each(Quantity("kg m^2 or kg", minimum=0.0, open_minimum=True).read),
    WithJsonSchema(EACH),
]
"""Above zero [kg m^2 or kg], for all joints, or a table of them by joint."""
Gears = Annotated[
    float | dict[str, float],
    all_or_each(Quantity("1", minimum=0.0, open_minimum=True).read),
    WithJsonSchema(EACH),
]
"""Plain number above zero, for all joints, or a table of them by joint."""


@spec
class Elastic:
    """Joints that their motors drive through springs; see `ukctrl.robot.elastic`.

    The elastic joints are those that a table of stiffness or inertia names; with numbers alone,
    every joint with a motor.
    """

    stiffness: Stiffnesses
    """Of the springs [N m/rad or N/m]."""
    motor_inertia: Inertias
    """Of the motors, before the gear [kg m^2 or kg]."""
    damping: Dampings = 0.0
    """Of the springs [N m s/rad or N s/m]."""
    gear: Gears = 1.0
    """Turns of the motor per turn of the joint. The motor's coordinate is counted after the gear,
    so that its inertia there is ``gear^2 motor_inertia``; inputs are efforts after the gear."""
