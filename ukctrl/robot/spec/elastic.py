"""Schema of ``[elastic]``: joints that their motors drive through springs."""

from __future__ import annotations

from typing import Annotated

from pydantic import WithJsonSchema

from ukctrl.fields import (
    Quantity,
    spec,
)
from ukctrl.robot.each import EACH, all_or_each

Each = Annotated[
    float | dict[str, float],
    all_or_each(Quantity(minimum=0.0, open_minimum=True).read),
    WithJsonSchema(EACH),
]
"""Number above zero for all joints, or a table of them by joint."""
EachOrNone = Annotated[
    float | dict[str, float], all_or_each(Quantity(minimum=0.0).read), WithJsonSchema(EACH)
]
"""Number that is zero or above for all joints, or a table of them by joint."""


@spec
class Elastic:
    """Joints that their motors drive through springs; see `ukctrl.robot.elastic`.

    The elastic joints are those that a table of stiffness or inertia names; with numbers alone,
    every joint with a motor.
    """

    stiffness: Each
    """Of the springs [N m/rad or N/m]."""
    motor_inertia: Each
    """Of the motors, before the gear [kg m^2 or kg]."""
    damping: EachOrNone = 0.0
    """Of the springs [N m s/rad or N s/m]."""
    gear: Each = 1.0
    """Turns of the motor per turn of the joint. The motor's coordinate is counted after the gear,
    so that its inertia there is ``gear^2 motor_inertia``; inputs are efforts after the gear."""
