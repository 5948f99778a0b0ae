r"""Input metrics: what it costs to let one motor work rather than another.

| metric | R | the classical name |
|---|---|---|
| ``effort`` | $I$ | least torque norm |
| ``limits`` | $\mathrm{diag}(1/\bar u_i^2)$ | weighted: every motor by what it can give |
| a table ``{ u1 = 4.0 }`` | $\mathrm{diag}(w_i)$, 1 where not named | weighted |
| a matrix | itself | |
| ``gauss`` | $B^\top W B = G^\top M G$ | Udwadia-Kalaba force, operational space |
| ``resolved_acceleration`` | $B^\top W^2 B = G^\top G$ | resolved acceleration: least $|a - a_0|$ |

$W$ is the inverse mass of the robot with its passive rows, $M^{-1}$ without any: the last two
measure by how much inputs change the acceleration, $G (u - u_0)$. The classical names are for one
motor a freedom. Inputs that change no acceleration, of motors that repeat each other or press a
closed chain against itself, cost nothing in them; of those the least effort is taken.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType
from typing import Literal, final

import numpy as np

from ukctrl import uk
from ukctrl.control.inverse_actuation import InverseActuation
from ukctrl.control.task import Task
from ukctrl.core.algebra import dynamics_kernels
from ukctrl.core.algebra.solution_checks import raise_if_indefinite
from ukctrl.core.algebra.task_hierarchy import metric_root_inverse
from ukctrl.core.arrays import Matrix
from ukctrl.core.errors import GainError
from ukctrl.core.fields import Number, Positive
from ukctrl.core.program import BoundKernel, KernelStep, RobotBuffers
from ukctrl.mechanics.dynamics import Dynamics
from ukctrl.robot import Robot
from ukctrl.robot.values_by_name import values_by_name

MetricName = Literal["effort", "limits", "gauss", "resolved_acceleration"]
AnyMetric = MetricName | dict[str, Positive] | tuple[tuple[Number, ...], ...]
"""A name, a weight by motor, or a symmetric positive definite matrix, shape ``(nu, nu)``."""

INDEFINITE_METRIC = (
    'metric must be positive definite on the inputs; it is not. Use metric = "effort".'
)
"""What to say where a metric that depends on the robot fails."""

_INVERSE_MASS_POWER = MappingProxyType({"gauss": 1, "resolved_acceleration": 2})
"""The power of the inverse mass matrix in a metric."""


@final
class InputMetric:
    """A metric of one robot's inputs.

    Args:
        metric: The metric, as in a file.
        task: The task, with the robot.
        reacting: Whether the reactions of passive rows answer inputs.

    Raises:
        GainError: It does not fit the robot.
        UnknownName: A weight is for a motor that the robot does not have.
    """

    def __init__(self, metric: AnyMetric, task: Task, reacting: bool = True) -> None:
        robot = task.robot
        self._power = _INVERSE_MASS_POWER.get(metric, 0) if isinstance(metric, str) else 0
        self._constant = uk.NO_METRIC
        self._with_reactions = reacting and bool(robot.passive)
        # where inputs may be idle (reactions, a B that varies, dependent columns) R would be
        # singular
        self._is_regularised = self._with_reactions or robot.actuation.varies
        if self._power:
            self._is_regularised = self._is_regularised or InverseActuation(task).rank < robot.nu
        elif metric != "effort":
            self._constant = _constant_metric(metric, robot)
        self._metrics = RobotBuffers(self._build_metric)
        self._root_inverses = RobotBuffers(self._build_root_inverse)

    def at(self, dynamics: Dynamics) -> Matrix:
        """Return ``R``, shape ``(nu, nu)``, or ``(0, 0)`` for the identity.

        The array is the metric's own, which its `steps` overwrite.
        """
        return self._metrics(dynamics)

    def steps(self, dynamics: Dynamics) -> tuple[Matrix, Sequence[KernelStep]]:
        """Return where ``R`` is, and what writes it at the state that ``dynamics`` has then."""
        return self._metrics.steps(dynamics)

    def _build_metric(self, dynamics: Dynamics) -> tuple[Matrix, Sequence[KernelStep]]:
        if not self._power:
            return self._constant, ()
        nu = dynamics.robot.nu
        R: Matrix = np.zeros((nu, nu))
        s, G = dynamics.snapshot, dynamics.G
        # the cheap product needs G = M^-1 B, without reactions, and no completion
        if self._is_regularised or len(dynamics.passive):
            args = dynamics.L, s.B, G, self._power, self._with_reactions, self._is_regularised, R
            return R, (BoundKernel(dynamics_kernels.input_metric, *args),)
        return R, (BoundKernel(dynamics_kernels.unconstrained_metric, s.B, G, self._power, R),)

    def root_inverse(self, dynamics: Dynamics) -> Matrix:
        """Return ``S`` with ``S S' = R^-1``, shape ``(nu, nu)``; an array of the metric's own."""
        return self._root_inverses(dynamics)

    def root_inverse_steps(self, dynamics: Dynamics) -> tuple[Matrix, Sequence[KernelStep]]:
        """Return where ``S`` is, and what writes it at the state that ``dynamics`` has then."""
        if self._power:
            return self._root_inverses.steps(dynamics)
        return self._root_inverses(dynamics), ()  # once and for all: it is constant

    def _build_root_inverse(self, dynamics: Dynamics) -> tuple[Matrix, Sequence[KernelStep]]:
        S: Matrix = np.zeros((dynamics.robot.nu,) * 2)
        R, steps = self.steps(dynamics)
        last = BoundKernel(
            metric_root_inverse, R, S, fault=lambda code: GainError(INDEFINITE_METRIC)
        )
        return S, (*steps, last)


def _constant_metric(metric: AnyMetric, robot: Robot) -> Matrix:
    if isinstance(metric, str):  # "limits"
        limit = robot.effort_limit
        unlimited = np.flatnonzero(~np.isfinite(limit))
        if unlimited.size:
            raise GainError(
                f'metric = "limits" needs a limit of every motor; \''
                f"{robot.actuators[unlimited[0]]}' of robot '{robot.name}' has none."
            )
        return np.diag(limit.max() ** 2 / limit**2)
    if isinstance(metric, dict):
        return np.diag(values_by_name(metric, robot.actuators, "motor (in metric)", 1.0))
    nu = robot.nu
    if len(metric) != nu or any(len(row) != nu for row in metric):
        raise GainError(f"metric must be a matrix of {nu} rows and columns.")
    R = np.array(metric, dtype=np.float64)
    raise_if_indefinite(R)
    return R
