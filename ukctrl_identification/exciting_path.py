"""A path that is worked out from the robot: the motion that tells most of its parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from ukctrl.core.errors import InputError
from ukctrl.core.fields import spec
from ukctrl.mechanics.reference.reference import MotionPlan, Path, Reference
from ukctrl.mechanics.reference.taylor import Series
from ukctrl_identification.exciting_options import ExcitingOptions

if TYPE_CHECKING:
    from ukctrl.robot import Robot
    from ukctrl.simulation.scenario import Scenario

EXCITING_PLACE_ERROR = (
    'kind = "exciting" must stand in a servo row, as the path of kind = "joint_follows" and not '
    "within another path. It is worked out from the scenario's robot and start."
)
"""Why an exciting path has no value of its own."""


@spec
class Exciting(ExcitingOptions, Reference):
    """The motion whose efforts tell most of the robot's parameters, from the scenario's start.

    A Fourier series of each joint that begins and ends its period at rest, within the limits of
    joints, speeds and motors and what the scenario keeps.
    """

    is_planned: ClassVar[bool] = True
    kind: Literal["exciting"] = "exciting"

    @property
    def size(self) -> int:
        raise InputError(EXCITING_PLACE_ERROR)

    def plan(self, scenario: Scenario, robot: Robot) -> MotionPlan:
        # the scenario's class names this one
        from ukctrl_identification.exciting_rows import exciting_servo

        return exciting_servo(scenario, robot)

    def compile(self) -> Path:
        raise InputError(EXCITING_PLACE_ERROR)

    def series(self, t: float, order: int) -> Series:
        raise InputError(EXCITING_PLACE_ERROR)
