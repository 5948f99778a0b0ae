"""Schema of ``[elastic]``: joints that their motors drive through springs."""

from __future__ import annotations

from typing import Annotated

from ukctrl.core.fields import ByName, NumberByName, Quantity, spec
from ukctrl.robot.schema.force_tables import Dampings


@spec
class Elastic:
    """Joints that their motors drive through springs; see `ukctrl.robot.elastic`.

    The elastic joints are those that a table of stiffness or inertia names; with numbers alone,
    every joint with a motor.
    """

    stiffness: Annotated[
        NumberByName, ByName(Quantity("N m/rad or N/m", minimum=0.0, open_minimum=True).read)
    ]
    """Of the springs [N m/rad or N/m]."""
    motor_inertia: Annotated[
        NumberByName, ByName(Quantity("kg m^2 or kg", minimum=0.0, open_minimum=True).read)
    ]
    """Of the motors, before the gear [kg m^2 or kg]."""
    damping: Dampings = 0.0
    """Of the springs [N m s/rad or N s/m]."""
    gear: Annotated[NumberByName, ByName(Quantity("1", minimum=0.0, open_minimum=True).read)] = 1.0
    """Turns of the motor per turn of the joint. The motor's coordinate is counted after the gear,
    so that its inertia there is ``gear^2 motor_inertia``; inputs are efforts after the gear."""
