"""Motions that keep the servo rows, worked out before the run: feed-forward of two degrees.

In order:

1. ``inversion``: what one is; inverse kinematics is the simplest.
2. ``flat``: from the rows and their derivatives, by algebra.
3. ``dae_equations``, ``marching``: the rows as constraints, from state to state.
4. ``rest``: internal dynamics, and ends at rest. ``servo_dae``: forwards in time.
5. ``boundary``, ``stable``: over the whole horizon at once.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from ukctrl.control.planned.inversion.flat import Flat
from ukctrl.control.planned.inversion.inversion import JointMotion
from ukctrl.control.planned.inversion.servo_dae import ServoDae
from ukctrl.control.planned.inversion.stable import StableInversion
from ukctrl.control.servo import Servo

AnyInversion = Annotated[
    Servo | JointMotion | ServoDae | Flat | StableInversion, Field(discriminator="kind")
]
"""Any source of a motion to follow, told apart by its ``kind``: an inversion, or a servo law, whose
own run with the believed robot is the motion."""
