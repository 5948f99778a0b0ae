r"""What does a sampled law know of a state that its sensors do not show whole?

An observer knows the believed robot, the input that acted since the last tick, and what is
measured at this one. From these it estimates configuration and velocity, and the law gets the
estimate in place of the readings.

In order:

1. ``sensing``: which quantities are measured. ``measurements``: each as a function of the state.
2. ``believed_motion``: from a tick to the next. ``filters``: an estimate, predicted and corrected.
3. ``observer``: what a table says of any. ``kalman``, ``luenberger``: one gain. ``extended``,
   ``unscented``: a covariance that goes along.
4. ``estimator``: one in a run, with readings that arrive late, and what is recorded of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ukctrl.core.kinds import any_of, kinds
from ukctrl.simulation.observers.observer import Observer
from ukctrl.simulation.observers.sensing import Camera, Sensing

if TYPE_CHECKING:
    AnyObserver = Observer
else:
    AnyObserver = any_of(kinds(__name__, Observer, without=("estimator",)))
"""Any observer of the catalogue, told apart by its ``kind``."""

__all__ = ["AnyObserver", "Camera", "Observer", "Sensing"]
