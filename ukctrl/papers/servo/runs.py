"""Runs of the catalogue's scenarios, each made once, and what the paper prints of them."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from ukctrl.core.arrays import Matrix, Vector
from ukctrl.papers import catalogued
from ukctrl.papers.servo import arms
from ukctrl.papers.servo.arms import Reading
from ukctrl.simulation.result.result import Result

CARDS = MappingProxyType[Reading, str](
    {
        "minimum norm": "servo-baumgarte",
        "consistent": "servo-chen",
        "literal": "servo-frozen",
        "stacked": "servo-stacked",
    }
)
"""The controller card of each reading of (71)."""
MOTORS = ("u1", "u2", "u3", "u4", "u5", "u6")
PRINTED = np.array([[0.0, 10.0], [3.0, 5.0], [-8.0, -5.5], [4.5, 10.0], [-4.5, 0.5], [-5.0, 0.0]])
"""Smallest and largest torque of each motor, in words in section VI, off Figures 9-14 [N m]."""


@functools.cache
def arms_run(reading: Reading) -> Result:
    """Return a period of the two arms under a reading of (71), in closed loop."""
    return catalogued.run("coordinated-arms", {"controller": {"use": CARDS[reading]}})


@functools.cache
def squeezed(force: float | None) -> Result:
    """Return a period of the arms that squeeze the bar with a force [N], or with any."""
    hold = {"kind": "internal_force", "rows": "grip.x", "value": force}
    null_space = None if force is None else hold
    return catalogued.run(
        "coordinated-arms-squeeze", {"controller.allocation.null_space": null_space}
    )


def masses_run(changes: Mapping[str, object] | None = None) -> Result:
    """Return a run of the two masses, with changes by path."""
    return catalogued.run("two-mass-spring", changes)


class Torques(NamedTuple):
    """Torques over the period."""

    time: Vector
    u: Matrix

    @property
    def ranges(self) -> Matrix:
        """Smallest and largest of each motor, shape (6, 2) [N m]."""
        return np.stack((self.u.min(axis=0), self.u.max(axis=0)), axis=1)

    @property
    def distance(self) -> float:
        """Root mean square difference to the twelve printed bounds [N m]."""
        return float(np.sqrt(np.mean((self.ranges - PRINTED) ** 2)))


@functools.cache
def torques(reading: Reading) -> Torques:
    """Return the torques of a reading over the period.

    Those of the closed loop; the literal ones along the known motion, because under them the
    closed loop does not keep it.
    """
    if reading == "literal":
        return Torques(*arms.over_a_period(reading))
    run = arms_run(reading)
    return Torques(run.time, run["u"])


def checked(reading: Reading) -> float:
    """Return how far the closed loop's torques are from the closed form's [N m]."""
    run = arms_run(reading)
    known = [arms.torques(reading, t, *arms.motion(t)[:2]) for t in run.time.tolist()]
    return float(np.abs(run["u"] - known).max())


def motion_error(run: Result) -> float:
    """Return how far a run's link angles are from the known motion [rad]."""
    known = [arms.motion(t).theta for t in run.time.tolist()]
    return float(np.abs(run["q"] - known).max())
