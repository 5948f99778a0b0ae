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
from ukctrl.control.actuation import InverseActuation
from ukctrl.control.task import Task
from ukctrl.core.algebra import kernels
from ukctrl.core.algebra.answer_checks import raise_if_indefinite
from ukctrl.core.algebra.priorities import freedoms
from ukctrl.core.arrays import Matrix
from ukctrl.core.errors import GainError
from ukctrl.core.fields import Number, Positive
from ukctrl.core.program import Call, Kept, Step, Steps
from ukctrl.mechanics.dynamics import Dynamics
from ukctrl.robot import Robot
from ukctrl.robot.by_name import spread

MetricName = Literal["effort", "limits", "gauss", "resolved_acceleration"]
AnyMetric = MetricName | dict[str, Positive] | tuple[tuple[Number, ...], ...]
"""A name, a weight by motor, or a symmetric positive definite matrix, shape ``(nu, nu)``."""

SINGULAR = 'metric must be positive definite on the inputs; it is not. Use metric = "effort".'
"""What to say where a metric that depends on the robot fails."""

_POWER = MappingProxyType({"gauss": 1, "resolved_acceleration": 2})
"""The power of the inverse mass matrix in a metric."""


@final
class InputMetric:
    """A metric of one robot's inputs.

    Args:
        given: The metric, as in a file.
        task: The task, with the robot.
        reacting: Whether the reactions of passive rows answer inputs.

    Raises:
        GainError: It does not fit the robot.
        UnknownName: A weight is for a motor that the robot does not have.
    """

    def __init__(self, given: AnyMetric, task: Task, reacting: bool = True) -> None:
        robot = task.robot
        self._power = _POWER.get(given, 0) if isinstance(given, str) else 0
        self._constant = uk.NO_METRIC
        self._reacting = reacting and bool(robot.passive)
        self._complete = self._reacting or robot.actuation.varies
        if self._power:
            self._complete = self._complete or InverseActuation(task).rank < robot.nu
        elif given != "effort":
            self._constant = _constant(given, robot)
        self._bound: Kept[Dynamics, tuple[Matrix, Steps]] = Kept(self._of_robot)
        self._freedoms: Kept[Dynamics, tuple[Matrix, Steps]] = Kept(self._free_of_robot)

    def at(self, dynamics: Dynamics) -> Matrix:
        """Return ``R``, shape ``(nu, nu)``, or ``(0, 0)`` for the identity.

        The array is the metric's own, which its `steps` overwrite.
        """
        R, steps = self._bound(dynamics)
        steps()
        return R

    def steps(self, dynamics: Dynamics) -> tuple[Matrix, Sequence[Step]]:
        """Return where ``R`` is, and what writes it at the state that ``dynamics`` has then."""
        R, steps = self._bound(dynamics)
        return R, steps.every

    def _of_robot(self, dynamics: Dynamics) -> tuple[Matrix, Steps]:
        if not self._power:
            return self._constant, Steps(())
        nu = dynamics.robot.nu
        R: Matrix = np.zeros((nu, nu))
        s, G = dynamics.snapshot, dynamics.G
        if self._complete or len(dynamics.passive):
            own = dynamics.L, s.B, G, self._power, self._reacting, self._complete, R
            return R, Steps((Call(kernels.input_metric, *own),))
        return R, Steps((Call(kernels.plain_metric, s.B, G, self._power, R),))

    def freedoms(self, dynamics: Dynamics) -> Matrix:
        """Return ``S`` with ``S S' = R^-1``, shape ``(nu, nu)``; an array of the metric's own."""
        S, steps = self._freedoms(dynamics)
        steps()
        return S

    def freedom_steps(self, dynamics: Dynamics) -> tuple[Matrix, Sequence[Step]]:
        """Return where ``S`` is, and what writes it at the state that ``dynamics`` has then."""
        S, steps = self._freedoms(dynamics)
        if self._power:
            return S, steps.every
        steps()  # once and for all
        return S, ()

    def _free_of_robot(self, dynamics: Dynamics) -> tuple[Matrix, Steps]:
        S: Matrix = np.zeros((dynamics.robot.nu,) * 2)
        R, steps = self.steps(dynamics)
        last = Call(freedoms, R, S, fault=lambda code: GainError(SINGULAR))
        return S, Steps((*steps, last))


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
    raise_if_indefinite(R)
    return R
