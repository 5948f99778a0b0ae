"""Observer: what a table says of any, and what makes it one for a run."""

from __future__ import annotations

import abc
from typing import Annotated, ClassVar

import numpy as np

from ukctrl.control.disturbance import AnyDisturbanceObserver
from ukctrl.control.disturbance.disturbance_observer import DisturbanceObserver
from ukctrl.core.arrays import Vector
from ukctrl.core.errors import InputError
from ukctrl.core.fields import ByName, Count, Instance, NumberByName, Quantity, spec
from ukctrl.core.files.toml import error_context
from ukctrl.robot import Robot
from ukctrl.robot.values_by_name import freedom_values, values_by_name
from ukctrl.simulation.observers.filters import Filter
from ukctrl.simulation.observers.measurements import JointMeasurement
from ukctrl.simulation.observers.motion_model import MotionModel

PositionStd = Annotated[NumberByName, ByName(Quantity("rad or m", minimum=0.0).read)]
SpeedStd = Annotated[NumberByName, ByName(Quantity("rad/s or m/s", minimum=0.0).read)]
AccelerationStd = Annotated[NumberByName, ByName(Quantity("rad/s^2 or m/s^2", minimum=0.0).read)]
InputStd = Annotated[NumberByName, ByName(Quantity("N m or N", minimum=0.0).read)]


@spec
class Observer(abc.ABC):
    """State observer of a sampled law; the prediction is a step of the believed robot."""

    late: ClassVar[bool] = False
    """Whether it takes readings that arrive late, as those of cameras do."""

    steps: Count = 1
    """RK4 steps of the believed robot a control period."""
    start_std: PositionStd = 0.0
    """How far the first estimate is off in position, drawn with the scenario's seed, normal, for
    all or by joint [rad or m]."""
    start_v_std: SpeedStd = 0.0
    """And in speed [rad/s or m/s]."""
    disturbance: AnyDisturbanceObserver | Annotated[DisturbanceObserver, Instance()] | None = None
    """What estimates the force that the believed robot does not explain, beside the state, as of a
    controller; absent: nothing."""

    @abc.abstractmethod
    def attach(
        self, motion: MotionModel, joints: JointMeasurement, start: Vector, period: float
    ) -> Filter:
        """Bind to a run.

        Args:
            motion: Of the believed robot; its chart begins where the run does.
            joints: What is measured of the joints.
            start: Standard deviations of the first estimate and of biases, shape ``(n,)``.
            period: Between ticks [s].

        Raises:
            InputError: It does not fit the robot, or what is measured.
        """

    def measured_std(self, robot: Robot) -> tuple[Vector | None, Vector | None]:
        """Return the noise of positions and of speeds that it counts on; None: the effects'."""
        return None, None

    def start(self, robot: Robot) -> Vector:
        """Return the standard deviations of ``(dq, dv)`` at the start, shape ``(2 nv,)``."""
        return np.concatenate(
            [by_dof(robot, name, getattr(self, name)) for name in ("start_std", "start_v_std")]
        )


@spec
class StochasticObserver(Observer, abc.ABC):
    """Observer with noise of model and readings, which say how far either is to be believed."""

    acceleration_std: AccelerationStd = 0.0
    """Acceleration of the free robot that the model does not explain: normal, constant over a
    period, independent from one to the next, for all or by joint [rad/s^2 or m/s^2]."""
    input_std: InputStd = 0.0
    """The same of the inputs, for all or by actuator [N m or N]."""
    std: PositionStd | None = None
    """Standard deviation of measured positions, for all or by joint; absent: that of the
    scenario's effects (noise, and steps of quantisation over the root of 12) [rad or m]."""
    v_std: SpeedStd | None = None
    """And of measured speeds [rad/s or m/s]."""

    def measured_std(self, robot: Robot) -> tuple[Vector | None, Vector | None]:
        stds = [
            None if value is None else by_dof(robot, name, value)
            for name, value in (("std", self.std), ("v_std", self.v_std))
        ]
        return stds[0], stds[1]

    def process(self, robot: Robot) -> tuple[Vector, Vector]:
        """Return what the model does not explain: accelerations ``(nv,)``, inputs ``(nu,)``."""
        with error_context("input_std"):
            inputs = values_by_name(self.input_std, robot.actuators, "actuator", 0.0)
        return by_dof(robot, "acceleration_std", self.acceleration_std), inputs

    def require_noise(self, robot: Robot, joints: JointMeasurement, start: Vector) -> None:
        """Refuse noise that makes a filter divide by zero, or deaf.

        Raises:
            InputError: A reading has no noise, or neither model nor start have an error.
        """
        for name, std in zip(joints.names, joints.std.tolist(), strict=True):
            if not std > 0.0:
                key = "v_std" if name.startswith("v.") else "std"
                raise InputError(
                    f"{key} of '{name}' must be positive, because readings are weighed by their "
                    f"noise; it has none. Give {key}, or an effect with noise."
                )
        if not any(np.any(deviations) for deviations in (*self.process(robot), start)):
            raise InputError(
                "acceleration_std, input_std, start_std or start_v_std must be positive: a filter "
                "that trusts its model and its start wholly never looks at what is measured."
            )


def by_dof(robot: Robot, key: str, setting: NumberByName) -> Vector:
    """Return one value a freedom of a setting, shape ``(nv,)``."""
    with error_context(key):
        return freedom_values(robot.structure, setting)


def require_all_positions(kind: str, robot: Robot, joints: JointMeasurement) -> None:
    """Refuse what is measured unless it is the position of every joint.

    Raises:
        InputError: It is something else.
    """
    missing = np.setdiff1d(np.arange(robot.nv), joints.positions)
    if missing.size or len(joints.speeds):
        came = "speeds too" if not missing.size else "not that of "
        came += ", ".join(f"'{robot.dofs[i]}'" for i in missing)
        raise InputError(
            f"an observer '{kind}' must have the position of every joint, and nothing else; "
            f"got {came}. Change sensing, or use kind = 'kalman'."
        )
