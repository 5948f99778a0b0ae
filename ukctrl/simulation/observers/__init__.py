r"""What does a sampled law know of a state that its sensors do not show whole?

An observer knows the believed robot, the input that acted since the last tick, and what is
measured at this one. From these it estimates configuration and velocity, and the law gets the
estimate in place of the readings.

In order:

1. ``sensing``: which quantities are measured. ``measurements``: each as a function of a moment.
2. ``believed_motion``: from a tick to the next. ``inertial``: what it feels.
   ``filters``: an estimate, predicted and corrected.
3. ``observer``: what a table says of any. ``differences``: no model. ``kalman``, ``luenberger``:
   one gain. ``extended``, ``unscented``: a covariance that goes along.
4. ``instruments``: sensors at frames in a run. ``unexplained``: the force that no model explains.
   ``estimator``: an observer in a run, with readings that arrive late, and what is recorded of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ukctrl.core.kinds import any_of, kinds
from ukctrl.simulation.observers.believed_motion import BelievedMotion
from ukctrl.simulation.observers.differences import Differences
from ukctrl.simulation.observers.extended import Ekf
from ukctrl.simulation.observers.filters import Corrected, Estimate, Filter, Near
from ukctrl.simulation.observers.kalman import Kalman
from ukctrl.simulation.observers.luenberger import Luenberger
from ukctrl.simulation.observers.measurements import Joints, Measurement, Moment
from ukctrl.simulation.observers.observer import Observer, Stochastic
from ukctrl.simulation.observers.sensing import Camera, Imu, Sensing, Triad
from ukctrl.simulation.observers.unscented import Ukf

if TYPE_CHECKING:
    AnyObserver = Observer
else:
    AnyObserver = any_of(kinds(__name__, Observer, without=("estimator", "unexplained")))
"""Any observer of the catalogue, told apart by its ``kind``."""

__all__ = [
    "AnyObserver",
    "BelievedMotion",
    "Camera",
    "Corrected",
    "Differences",
    "Ekf",
    "Estimate",
    "Filter",
    "Imu",
    "Joints",
    "Kalman",
    "Luenberger",
    "Measurement",
    "Moment",
    "Near",
    "Observer",
    "Sensing",
    "Stochastic",
    "Triad",
    "Ukf",
]
