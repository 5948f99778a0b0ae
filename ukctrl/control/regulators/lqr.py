"""Regulators about an equilibrium: LQR, and LQI with integrals of the servo rows' errors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal, final

import numpy as np

from ukctrl.control.controller import Command
from ukctrl.control.regulators.regulator import Regulating, Regulation
from ukctrl.control.regulators.riccati import (
    Weight,
    deviation_weight,
    input_weight,
    regulator,
    weight,
)
from ukctrl.control.task import Signal, Task
from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.errors import InputError
from ukctrl.core.fields import spec
from ukctrl.mechanics.dynamics import Dynamics
from ukctrl.mechanics.linearise import Linearization, output_matrix


@spec
class Quadratic(Regulating):
    """What the linear-quadratic regulators share."""

    searched_weight: ClassVar[str | None] = "R"

    Q: Weight = 1.0
    """Weight of the deviations; in a table of the configuration by ``q1`` and of the velocity by
    ``v.q1``, or of all of them by ``q`` and ``v``."""
    R: Weight = 1.0
    """Weight of the inputs, by actuator."""


@spec
class Lqr(Quadratic):
    r"""Linear-quadratic regulator about an equilibrium: $u = u_0 - K x$.

    $K$ minimises $\int x^\top Q x + \delta u^\top R\, \delta u\, \mathrm dt$ for the robot
    linearised at rest, where $u_0$ holds it. ``Q`` and ``R`` are a number, a table by name, a
    list of the diagonal, or a matrix; ``Q`` weighs all $2 n_v$ deviations, in the order
    $(\delta q, \delta v)$. Under a zero-order hold the gains are those of the sampled system.

    References:
        Kalman, "Contributions to the theory of optimal control", Bol. Soc. Mat. Mex. 5, 1960;
        Anderson & Moore, "Optimal Control: Linear Quadratic Methods", 1990.
    """

    kind: Literal["lqr"] = "lqr"

    def start(self, task: Task) -> Regulation:
        return _Lqr(self, task)


@spec
class Lqi(Quadratic):
    r"""Linear-quadratic regulator with integrals $z = \int \phi$ of the servo rows' errors.

    $u = u_0 - K x - K_i z$, so that a wrong model leaves no steady error of rows that stand
    still. A nonholonomic row counts by $\int \beta$. There can be no more rows than inputs.

    References:
        Young & Willems, "An approach to the linear multivariable servomechanism problem", Int. J.
        Control 15(5), 1972.
    """

    kind: Literal["lqi"] = "lqi"
    Q_integral: Weight = 1.0
    """Weight of the integrals, by row of the task."""

    def start(self, task: Task) -> Regulation:
        return _Lqi(self, task)


@final
class _Lqr(Regulation):
    def __init__(self, spec: Lqr, task: Task) -> None:
        super().__init__(spec, task)
        Q, R = _weights(spec, self.linear)
        A, B = self.linear
        self.regulator = regulator(A, B, Q, R, self.linear.states, self.linear.inputs, task.period)


@final
class _Lqi(Regulation):
    def __init__(self, spec: Lqi, task: Task) -> None:
        super().__init__(spec, task)
        Q, R = _weights(spec, self.linear)
        from scipy.linalg import block_diag

        A, B = self.linear
        m, n = len(self.stack), len(A)
        if m > task.robot.nu:
            raise InputError(
                f"the task must have at most one row an input, {task.robot.nu}, for their "
                f'integrals to be kept at rest; got {m}. Use kind = "lqr".'
            )
        C = output_matrix(self.stack, self.linear, task.start) @ self.linear.full
        A = np.block([[A, np.zeros((n, m))], [C, np.zeros((m, m))]])
        B = np.vstack([B, np.zeros((m, B.shape[1]))])
        names = tuple(f"integral of {row}" for row in self.stack.names)
        Q = block_diag(Q, weight(spec.Q_integral, self.stack.names, "Q_integral"))
        states = (*self.linear.states, *names)
        self.regulator = regulator(A, B, Q, R, states, self.linear.inputs, task.period)
        self.memory = np.zeros(m)

    def step(self, dynamics: Dynamics, memory: Vector) -> Command:
        rows = self.stack.write(dynamics.snapshot)
        x = np.concatenate([self.deviation(dynamics), memory])
        rate = np.where(self.stack.holonomic, rows.phi, rows.beta)
        return Command(self.linear.u - self.regulator.K @ x, rate)

    def signals(self, dynamics: Dynamics, memory: Vector) -> Mapping[str, Signal]:
        """Return the integrals."""
        units = dict.fromkeys(self.stack.units)
        unit = f"{next(iter(units))} s" if len(units) == 1 else ""
        return {"integral": Signal(memory, unit, "integrals of the rows' errors")}


def _weights(spec: Quadratic, linear: Linearization) -> tuple[Matrix, Matrix]:
    """Return the weights of the states and of the inputs."""
    return deviation_weight(spec.Q, "Q", linear), input_weight(spec.R, linear.inputs)
