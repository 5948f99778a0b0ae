"""The plant of a scenario as a linear system: from the motors to the errors of the servo rows."""

from __future__ import annotations

import dataclasses as dc
from collections.abc import Sequence
from typing import TYPE_CHECKING, final

import numpy as np
from numpy.typing import NDArray

from ukctrl.analysis.linear.operating_point import At, OperatingPoint, operating_point, plant_at
from ukctrl.analysis.linear.python_control import SignalNames, signal_names, state_space
from ukctrl.analysis.linear.zeros import invariant_zeros
from ukctrl.core.algebra.finite_differences import jacobian
from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.errors import InputError, unknown_name
from ukctrl.mechanics.constraints import Stack
from ukctrl.mechanics.linearise import Linearization, Linearizer, output_matrix
from ukctrl.simulation.assemble.retimed_rows import servo_constraints
from ukctrl.simulation.scenario import Scenario

if TYPE_CHECKING:
    import control

AXES = ("x", "y", "z")
MAX_DOFS = 300
"""Matrices of larger robots are full all the same, and take minutes."""


@final
@dc.dataclass(frozen=True, eq=False, kw_only=True)
class LinearPlant:
    r"""A scenario's plant near a state, $\dot x = A x + B\,\delta u$, $y = C x$.

    Passive constraints are kept: the states are as many deviations as they leave.
    """

    linear: Linearization
    """The robot alone, with what its states mean."""
    point: OperatingPoint
    """Where it is linearised."""
    C: Matrix
    """Shape ``(p, n)``."""
    outputs: tuple[str, ...]
    """Names of the outputs: the servo rows, by ``phi`` or, of rows on velocities, by ``beta``;
    then what else was asked for."""
    output_units: tuple[str, ...]

    @property
    def A(self) -> Matrix:
        """Shape ``(n, n)``."""
        return self.linear.A

    @property
    def B(self) -> Matrix:
        """Shape ``(n, nu)``."""
        return self.linear.B

    @property
    def D(self) -> Matrix:
        """Zeros, shape ``(p, nu)``: an input moves nothing at once."""
        return np.zeros((len(self.C), self.B.shape[1]))

    @property
    def states(self) -> tuple[str, ...]:
        """Names of the states."""
        return self.linear.states

    @property
    def inputs(self) -> tuple[str, ...]:
        """Names of the motors."""
        return self.linear.inputs

    def poles(self) -> NDArray[np.complex128]:
        """Return the eigenvalues of ``A`` [1/s]."""
        return self.linear.poles()

    def zeros(self) -> NDArray[np.complex128]:
        """Return the invariant zeros from the motors to the outputs [1/s]."""
        return invariant_zeros(self.A, self.B, self.C, self.D)

    def to_control(self, name: str = "plant") -> control.StateSpace:
        """Return the system for python-control; dots in names of signals become underscores."""
        named = SignalNames(self.states, signal_names(self.inputs), signal_names(self.outputs))
        return state_space(name, self.A, self.B, self.C, None, named)


def linear_plant(
    scenario: Scenario,
    at: At | OperatingPoint = "start",
    *,
    servo: bool = True,
    outputs: Sequence[str] = (),
) -> LinearPlant:
    """Return the plant of a scenario as a linear system near a state.

    Args:
        scenario: The scenario. Its controller is asked for no more than the input at the start,
            where the robot cannot be held at rest.
        at: ``"start"``, a time of the run [s], or a state and an input.
        servo: Whether the errors of the servo rows are outputs.
        outputs: What else is: freedoms (``q1``), their rates (``v.q1``), places of frames
            (``tool``, as ``tool.x``, ``tool.y``, ``tool.z``).

    Raises:
        InputError: The scenario does not fit its robot, is too large, or cannot be looked at there.
        UnknownName: An output is neither a freedom, a rate nor a frame.
    """
    point = at if isinstance(at, OperatingPoint) else operating_point(scenario, at)
    robot = plant_at(scenario, point.t)
    if robot.nv > MAX_DOFS:
        raise InputError(
            f"linear analysis is for robots of up to {MAX_DOFS} freedoms; "
            f"'{robot.name}' has {robot.nv}. Take fewer."
        )
    linearizer = Linearizer(robot, scenario.rank, contacts=point.contacts)
    linear = linearizer.at(point.t, point.q, point.v, point.u)
    rows: list[Matrix] = [np.zeros((0, 2 * robot.nv))]
    names: list[str] = []
    units: list[str] = []
    if servo and scenario.servo:
        stack = Stack(servo_constraints(scenario), robot)
        rows.append(output_matrix(stack, linear, point.t))
        names += stack.names
        units += [
            unit if holonomic else f"{unit or '1'}/s"
            for unit, holonomic in zip(stack.units, stack.holonomic, strict=True)
        ]
    for output in outputs:
        output_rows, its_names, its_units = _output(output, linear, point.t)
        rows.append(output_rows)
        names += its_names
        units += its_units
    repeated = {name for name in names if names.count(name) > 1}
    if repeated:
        raise InputError(f"outputs must have names of their own; '{min(repeated)}' comes twice.")
    return LinearPlant(
        linear=linear,
        point=point,
        C=np.vstack(rows) @ linear.full,
        outputs=tuple(names),
        output_units=tuple(units),
    )


def _output(name: str, linear: Linearization, t: float) -> tuple[Matrix, list[str], list[str]]:
    """Return how what is named changes with all deviations, and its names and units."""
    robot, n = linear.robot, linear.robot.nv
    rates = [f"v.{dof}" for dof in robot.dofs]
    state_names = [*robot.dofs, *rates]
    if name in state_names:
        k = state_names.index(name)
        unit = robot.dof_units[k % n]
        return np.eye(2 * n)[[k]], [name], [unit.removesuffix("/s") if k < n else unit]
    if name not in robot.frames:
        raise unknown_name("output", name, (*state_names, *robot.frames))
    site, snapshot = robot.site(name), robot.snapshot(linear.q)

    def place(d: Vector) -> Vector:
        snapshot.move(robot.integrate(linear.q, d), linear.v, t)
        return snapshot.point(site)

    by_q = jacobian(place, n)
    return np.hstack([by_q, np.zeros((3, n))]), [f"{name}.{axis}" for axis in AXES], ["m"] * 3
