r"""Input metrics: what it costs to let one motor work rather than another.

| metric | R | the classical name |
|---|---|---|
| ``effort`` | $I$ | least torque norm |
| ``limits`` | $\mathrm{diag}(1/\bar u_i^2)$ | weighted: every motor by what it can give |
| a table ``{ u1 = 4.0 }`` | $\mathrm{diag}(w_i)$, 1 where not named | weighted |
| a matrix | itself | |
| ``gauss`` | $B^\top M^{-1} B$ | Udwadia-Kalaba force, operational space |
| ``resolved_acceleration`` | $B^\top M^{-2} B$ | resolved acceleration (least $|a - a_0|$) |

The classical names of the last two are for one motor a freedom.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Literal, final

import numpy as np

from ukctrl import uk
from ukctrl.control.actuation import InverseActuation
from ukctrl.control.task import Task
from ukctrl.core.algebra import kernels
from ukctrl.core.algebra.priorities import freedoms
from ukctrl.core.arrays import Matrix
from ukctrl.core.by_name import spread
from ukctrl.core.errors import GainError
from ukctrl.core.fields import Number, Positive
from ukctrl.mechanics.dynamics import Dynamics
from ukctrl.robot import Robot

MetricName = Literal["effort", "limits", "gauss", "resolved_acceleration"]
AnyMetric = MetricName | dict[str, Positive] | tuple[tuple[Number, ...], ...]
"""A name, a weight by motor, or a symmetric positive definite matrix, shape ``(nu, nu)``."""

REDUNDANT = (
    "metric must be positive definite on the inputs; it is not here, because motors are redundant. "
    'Use metric = "effort" or a matrix.'
)
"""What to say where a metric that depends on the robot fails."""

_POWER = MappingProxyType({"gauss": 1, "resolved_acceleration": 2})
"""The power of the inverse mass matrix in a metric."""


@final
class InputMetric:
    """A metric of one robot's inputs.

    Raises:
        GainError: It does not fit the robot.
        UnknownName: A weight is for a motor that the robot does not have.
    """

    def __init__(self, given: AnyMetric, task: Task) -> None:
        self._power = _POWER.get(given, 0) if isinstance(given, str) else 0
        self._constant = uk.NO_METRIC
        if self._power:
            _require_independent_motors(task, str(given))
        elif given != "effort":
            self._constant = _constant(given, task.robot)

    def at(self, dynamics: Dynamics) -> Matrix:
        """Return ``R``, shape ``(nu, nu)``, or ``(0, 0)`` for the identity."""
        if not self._power:
            return self._constant
        nu = dynamics.robot.nu
        R: Matrix = np.empty((nu, nu))
        kernels.motor_metric(dynamics.L, dynamics.snapshot.B, self._power, R)
        return R

    def freedoms(self, dynamics: Dynamics) -> Matrix:
        """Return ``S`` with ``S S' = R^-1``, shape ``(nu, nu)``."""
        nu = dynamics.robot.nu
        S: Matrix = np.empty((nu, nu))
        if not freedoms(self.at(dynamics), S):
            raise GainError(REDUNDANT)
        return S


def _constant(given: AnyMetric, robot: Robot) -> Matrix:
    if isinstance(given, str):  # "limits"
        limit = robot.effort_limit
        unlimited = np.flatnonzero(~np.isfinite(limit))
        if unlimited.size:
            raise GainError(
                f'metric = "limits" needs a limit of every motor; \''
                f"{robot.actuators[unlimited[0]]}' of robot '{robot.name}' has none."
            )
        return np.diag(limit.max() ** 2 / limit**2)
    if isinstance(given, dict):
        return np.diag(spread(given, robot.actuators, "motor (in metric)", 1.0))
    nu = robot.nu
    if len(given) != nu or any(len(row) != nu for row in given):
        raise GainError(f"metric must be a matrix of {nu} rows and columns.")
    R = np.array(given, dtype=np.float64)
    if not np.array_equal(R, R.T) or np.linalg.eigvalsh(R)[0] <= 0.0:
        raise GainError("metric must be symmetric positive definite; it is not.")
    return R


def _require_independent_motors(task: Task, metric: str) -> None:
    rank = InverseActuation(task).rank
    if rank < task.robot.nu:
        raise GainError(
            f'metric = "{metric}" needs motors that do not repeat each other, or it leaves their '
            f"shares open; robot '{task.robot.name}' has {task.robot.nu} motors of rank {rank}. "
            'Use metric = "effort" or a matrix.'
        )
