"""A path that is worked out from the robot: of least effort or least time to a pose."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from ukctrl.core.errors import InputError
from ukctrl.core.fields import Components, spec
from ukctrl.mechanics.reference.reference import MotionPlan, Path, Reference
from ukctrl.mechanics.reference.taylor import Series
from ukctrl_optimal.optimisation_options import OptimisationOptions

if TYPE_CHECKING:
    from ukctrl.robot import Robot
    from ukctrl.simulation.scenario import Scenario

OPTIMISED_PLACE_ERROR = (
    'kind = "optimised" must stand in a servo row, as the path of kind = "joint_follows" and not '
    "within another path. It is worked out from the scenario's robot and start."
)
"""Why an optimised path has no value of its own."""


@spec
class Optimised(OptimisationOptions, Reference):
    r"""The motion of least effort or time from the scenario's start to a pose, where it rests.

    Least of $\int u^\top u\, dt$ in a given time, or of the time itself, within the limits of
    motors, speeds and joints; by direct collocation of the robot's own dynamics, so that loops,
    springs and joints without motors are no special case.
    """

    is_planned: ClassVar[bool] = True
    kind: Literal["optimised"] = "optimised"
    to: Components
    """Where the joints of the row end, one component a joint [rad or m]."""

    @property
    def size(self) -> int:
        return len(self.to)

    def plan(self, scenario: Scenario, robot: Robot) -> MotionPlan:
        # the scenario's class names this one
        from ukctrl_optimal.optimised_rows import optimised_servo

        return optimised_servo(scenario, robot)

    def compile(self) -> Path:
        raise InputError(OPTIMISED_PLACE_ERROR)

    def series(self, t: float, order: int) -> Series:
        raise InputError(OPTIMISED_PLACE_ERROR)
