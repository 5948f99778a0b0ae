"""Motions that keep the servo rows, worked out before the run: feed-forward of two degrees.

In order:

1. ``inversion``: what one is; inverse kinematics is the simplest.
2. ``flat_outputs``: from the rows and their derivatives, by algebra.
3. ``servo_dae_equations``, ``collocation``: the rows as constraints, from state to state.
4. ``zero_dynamics``: internal dynamics, and ends at rest. ``servo_dae``: forwards in time.
5. ``boundary_value_problem``, ``stable_inversion``: over the whole horizon at once.
6. ``recorded_motion``: none is worked out; it stands in a file.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from ukctrl.control.feedforward.inversion.flat_outputs import Flat
from ukctrl.control.feedforward.inversion.inversion import JointMotion
from ukctrl.control.feedforward.inversion.recorded_motion import Recorded
from ukctrl.control.feedforward.inversion.servo_dae import ServoDae
from ukctrl.control.feedforward.inversion.stable_inversion import StableInversion
from ukctrl.control.servo import Servo

AnyInversion = Annotated[
    Servo | JointMotion | ServoDae | Flat | StableInversion | Recorded,
    Field(discriminator="kind"),
]
"""Any source of a motion to follow, told apart by its ``kind``: an inversion, or a servo law, whose
own run with the believed robot is the motion."""
