r"""What does a sampled law know of a state that its sensors do not show whole?

An observer knows the believed robot, the input that acted since the last tick, and what is measured
at this one. From these it estimates configuration and velocity, and the law gets the estimate in
place of the readings.

In order:

1. ``sensing_tables``: which quantities are measured. ``estimates``: of a moment. ``measurements``:
   each as a function of one.
2. ``transition_kernels``, ``motion_model``: from a tick to the next. ``imu_measurement``: what it
   feels. ``filters``: an estimate, predicted and corrected.
3. ``observer``: what a table says of any. ``difference_filter``: no model. ``kalman``,
   ``luenberger``: one gain. ``extended_kalman``, ``unscented_kalman``: a covariance that goes
   along.
4. ``frame_sensors``: sensors at frames in a run. ``disturbance_state``: the force that no model
   explains. ``estimator``: an observer in a run, with readings that arrive late, and what is
   recorded of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ukctrl.core.entry_points import with_entry_points
from ukctrl.core.kind_registry import classes_by_kind, union_of_kinds
from ukctrl.simulation.observers.difference_filter import Differences
from ukctrl.simulation.observers.estimates import StateEstimate, TimedState
from ukctrl.simulation.observers.extended_kalman import Ekf
from ukctrl.simulation.observers.filters import Filter, LinearObserver, MeasurementUpdate
from ukctrl.simulation.observers.kalman import Kalman
from ukctrl.simulation.observers.luenberger import Luenberger
from ukctrl.simulation.observers.measurements import JointMeasurement, Measurement
from ukctrl.simulation.observers.motion_model import MotionModel
from ukctrl.simulation.observers.observer import Observer, StochasticObserver
from ukctrl.simulation.observers.sensing_tables import (
    CameraSensor,
    ImuSensor,
    Sensing,
    TriaxialSensor,
)
from ukctrl.simulation.observers.unscented_kalman import Ukf

if TYPE_CHECKING:
    AnyObserver = Observer
else:
    AnyObserver = union_of_kinds(
        with_entry_points(
            "observer",
            Observer,
            classes_by_kind(__name__, Observer, without=("estimator", "unexplained")),
        )
    )
"""Any observer of the catalogue, told apart by its ``kind``."""

__all__ = [
    "AnyObserver",
    "CameraSensor",
    "Differences",
    "Ekf",
    "Filter",
    "ImuSensor",
    "JointMeasurement",
    "Kalman",
    "LinearObserver",
    "Luenberger",
    "Measurement",
    "MeasurementUpdate",
    "MotionModel",
    "Observer",
    "Sensing",
    "StateEstimate",
    "StochasticObserver",
    "TimedState",
    "TriaxialSensor",
    "Ukf",
]
