"""Runs of the catalogue's scenarios, each made once, and what the paper prints of them."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from ukctrl.core.arrays import Matrix, Vector
from ukctrl.simulation.result.result import Result
from ukctrl_papers import catalogue_runs
from ukctrl_papers.servo import arms
from ukctrl_papers.servo.arms import Reading

READING_CARDS = MappingProxyType[Reading, str](
    {
        "minimum norm": "servo-baumgarte",
        "consistent": "servo-chen",
        "literal": "servo-frozen",
        "stacked": "servo-stacked",
    }
)
"""The controller card of each reading of (71)."""
MOTOR_NAMES = ("u1", "u2", "u3", "u4", "u5", "u6")
PRINTED_RANGES = np.array(
    [[0.0, 10.0], [3.0, 5.0], [-8.0, -5.5], [4.5, 10.0], [-4.5, 0.5], [-5.0, 0.0]]
)
"""Smallest and largest torque of each motor, in words in section VI, off Figures 9-14 [N m]."""


@functools.cache
def arms_run(reading: Reading) -> Result:
    """Return a period of the two arms under a reading of (71), in closed loop."""
    return catalogue_runs.run_catalogue_scenario(
        "coordinated-arms", {"controller": {"use": READING_CARDS[reading]}}
    )


@functools.cache
def squeeze_run(force: float | None) -> Result:
    """Return a period of the arms that squeeze the bar with a force [N], or with any."""
    hold = {"kind": "internal_force", "rows": "grip.x", "value": force}
    null_space = None if force is None else hold
    return catalogue_runs.run_catalogue_scenario(
        "coordinated-arms-squeeze", {"controller.allocation.null_space": null_space}
    )


def masses_run(changes: Mapping[str, object] | None = None) -> Result:
    """Return a run of the two masses, with changes by path."""
    return catalogue_runs.run_catalogue_scenario("two-mass-spring", changes)


class TorqueHistory(NamedTuple):
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
        return float(np.sqrt(np.mean((self.ranges - PRINTED_RANGES) ** 2)))


@functools.cache
def reading_torques(reading: Reading) -> TorqueHistory:
    """Return the torques of a reading over the period.

    Those of the closed loop; the literal ones along the known motion, because under them the
    closed loop does not keep it.
    """
    if reading == "literal":
        return TorqueHistory(*arms.period_torques(reading))
    run = arms_run(reading)
    return TorqueHistory(run.time, run["u"])


def torque_difference(reading: Reading) -> float:
    """Return how far the closed loop's torques are from the closed form's [N m]."""
    run = arms_run(reading)
    reference = [arms.torques(reading, t, *arms.known_motion(t)[:2]) for t in run.time.tolist()]
    return float(np.abs(run["u"] - reference).max())


def largest_motion_error(run: Result) -> float:
    """Return how far a run's link angles are from the known motion [rad]."""
    reference = [arms.known_motion(t).theta for t in run.time.tolist()]
    return float(np.abs(run["q"] - reference).max())
