r"""Measurements as functions of a moment, $y = h(x, u) + n$, and their slopes on the tangent."""

from __future__ import annotations

import abc
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, final

import numpy as np

from ukctrl.core.algebra.factorisation import copy_into, gather_rows
from ukctrl.core.arrays import Indices, Matrix, Vector
from ukctrl.core.compiled import compiled
from ukctrl.core.errors import InputError
from ukctrl.core.files.toml import error_context
from ukctrl.core.program import BoundKernel, KernelStep
from ukctrl.robot import Robot
from ukctrl.robot.manifold_kernels import difference
from ukctrl.robot.values_by_name import freedom_values
from ukctrl.simulation.effects.effect import Effect, RunContext, SensorEffect
from ukctrl.simulation.observers.estimates import EstimateArrays, TimedState
from ukctrl.simulation.observers.sensing_tables import CameraSensor, Sensing


class Measurement(abc.ABC):
    """Measurement model of some quantities.

    Attributes:
        std: Their standard deviations, shape ``(m,)``.
        names: One a quantity.
    """

    std: Vector
    names: tuple[str, ...]

    @abc.abstractmethod
    def innovation(self, at: TimedState, y: Any) -> Vector:
        """Return by how much a reading is off what a moment predicts, shape ``(m,)``."""

    def innovation_steps(self, x: EstimateArrays, y: Any, out: Vector) -> Iterable[KernelStep]:
        """Return what writes `innovation` for the estimate and the reading that are there then."""
        return (lambda: copy_into(self.innovation(x.at, y), out),)

    def slope_steps(self, x: EstimateArrays, full: Matrix, H: Matrix) -> Iterable[KernelStep]:
        """Return what writes `slopes` for the estimate and the directions that are there then."""
        return (lambda: copy_into(self.slopes(x.at, full), H),)

    @abc.abstractmethod
    def slopes(self, at: TimedState, full: Matrix) -> Matrix:
        """Return how what is measured changes along directions, shape ``(m, k)``.

        Args:
            at: The moment.
            full: Directions ``(dq, dv, ...)``, one a column, as `MotionModel.tangent_basis`.
        """


@final
class JointMeasurement(Measurement):
    r"""Positions and speeds of joints: $q_m \ominus q$ and $v_m - v$, those that are measured.

    Args:
        robot: The robot.
        positions: The freedoms whose position is measured.
        speeds: Those whose speed is.
        std: Of all positions and of all speeds, shape ``(nv,)`` each.
    """

    def __init__(
        self, robot: Robot, positions: Indices, speeds: Indices, std: tuple[Vector, Vector]
    ) -> None:
        self._robot, self.positions, self.speeds = robot, positions, speeds
        self.std = np.concatenate([std[0][positions], std[1][speeds]])
        names = robot.dofs
        self.names = (*(names[i] for i in positions), *(f"v.{names[j]}" for j in speeds))

    def innovation(self, at: TimedState, y: tuple[Vector, Vector]) -> Vector:
        out: Vector = np.zeros(len(self.std))
        robot, (q, v, _) = self._robot, at.state
        # a filter of Python's may have states of any shape, which machine code would not notice
        joint_innovation(*self._arguments(robot.checked_q(q), robot.checked_v(v), y, out))
        return out

    def _arguments(self, q: Vector, v: Vector, y: tuple[Vector, Vector], out: Vector) -> Any:
        blocks = self._robot.structure.manifold_table
        return blocks, q, v, *y, self.positions, self.speeds, np.zeros(len(v)), out

    def innovation_steps(self, x: EstimateArrays, y: Any, out: Vector) -> Iterable[KernelStep]:
        return (BoundKernel(joint_innovation, *self._arguments(x.q, x.v, y, out)),)

    def slopes(self, at: TimedState, full: Matrix) -> Matrix:
        rows: Matrix = full[self._rows]
        return rows

    def slope_steps(self, x: EstimateArrays, full: Matrix, H: Matrix) -> Iterable[KernelStep]:
        return (BoundKernel(gather_rows, full, self._rows, H),)

    @property
    def _rows(self) -> Indices:
        return np.concatenate([self.positions, self._robot.nv + self.speeds])


@compiled
def joint_innovation(
    blocks: Indices,
    q: Vector,
    v: Vector,
    q_read: Vector,
    v_read: Vector,
    positions: Indices,
    speeds: Indices,
    dq: Vector,
    out: Vector,
) -> None:
    """Write by how much measured positions and speeds are off; ``dq`` is scratch, ``(nv,)``."""
    difference(blocks, q, q_read, dq)
    for k in range(len(positions)):
        out[k] = dq[positions[k]]
    for k in range(len(speeds)):
        out[len(positions) + k] = v_read[speeds[k]] - v[speeds[k]]


@final
class CameraMeasurement(Measurement):
    """Position of a frame, as a camera measures it."""

    def __init__(self, camera: CameraSensor, robot: Robot) -> None:
        # a frame that does not exist is refused at the start, and not at the first reading
        robot.site(camera.frame)
        self._frame, self._snapshot = camera.frame, robot.snapshot(robot.neutral)
        self._still: Vector = np.zeros(robot.nv)
        self.std = np.full(3, camera.std)
        self.names = tuple(f"{camera.frame}.{axis}" for axis in "xyz")

    def position(self, q: Vector) -> Vector:
        """Return where the frame is, shape ``(3,)`` [m]."""
        self._snapshot.move(q, self._still)
        return self._snapshot.frame(self._frame).position.copy()

    def innovation(self, at: TimedState, y: Vector) -> Vector:
        off: Vector = y - self.position(at.state.q)
        return off

    def slopes(self, at: TimedState, full: Matrix) -> Matrix:
        self._snapshot.move(at.state.q, self._still)
        moved: Matrix = self._snapshot.frame(self._frame).J[:3] @ full[: len(self._still)]
        return moved


class MeasurementSelection(NamedTuple):
    """Selected quantities of a measurement, for an analysis as if they came at every tick."""

    measurement: Measurement
    chosen: Indices
    """Which of its quantities."""
    share: float
    """Of the ticks at which they really come."""


@final
class StackedMeasurement(Measurement):
    r"""Several measurements as one of every tick, each as sure as its rate makes it.

    A reading that comes at a share $r$ of the ticks counts as one of each of them with
    $\sigma/\sqrt r$.

    Args:
        selections: The measurements, and which of their numbers count.
        hidden: How many deviations there are beside those of the state, which are left out.
    """

    def __init__(self, selections: Sequence[MeasurementSelection], hidden: int) -> None:
        self._parts, self._hidden = selections, hidden
        deviations = [
            selection.measurement.std[selection.chosen] / np.sqrt(selection.share)
            for selection in selections
        ]
        self.std = np.concatenate(deviations)
        self.names = tuple(
            selection.measurement.names[i] for selection in selections for i in selection.chosen
        )

    def innovation(self, at: TimedState, y: Sequence[Any]) -> Vector:
        pairs = zip(self._parts, y, strict=True)
        return np.concatenate(
            [m.innovation(at, reading)[chosen] for (m, chosen, _), reading in pairs]
        )

    def slopes(self, at: TimedState, full: Matrix) -> Matrix:
        whole = np.vstack([full, np.zeros((self._hidden, full.shape[1]))])
        return np.concatenate([m.slopes(at, whole)[chosen] for m, chosen, _ in self._parts])


def _dof_indices(robot: Robot, key: str, setting: bool | Sequence[str] | None) -> Indices:
    """Return the freedoms that names stand for: joints, or single freedoms of them."""
    if setting is None or setting is True:
        return np.arange(robot.nv)
    with error_context(f"sensing: {key}"):
        chosen = freedom_values(robot.structure, dict.fromkeys(setting or (), 1.0))
    return np.flatnonzero(chosen)


def joint_measurement(
    sensing: Sensing,
    effects: Sequence[Effect],
    context: RunContext,
    observer_std: tuple[Vector | None, Vector | None],
) -> JointMeasurement:
    """Return what is measured of the joints, with the noise that an observer counts on.

    Args:
        sensing: What is measured.
        effects: Those on the readings, by whose noise it goes where none is given.
        context: The run.
        observer_std: Standard deviations of positions and of speeds, shape ``(nv,)`` each.

    Raises:
        InputError: There is no such joint; or speeds are measured, and worked out from positions.
    """
    robot = context.robot
    positions = _dof_indices(robot, "joints", sensing.joints)
    speeds = _dof_indices(robot, "speeds", sensing.speeds)
    square = np.zeros((2, robot.nv))
    for effect in effects:
        if isinstance(effect, SensorEffect):
            linear = effect.linear(context)
            if len(speeds) and linear is not None and linear.differentiates:
                raise InputError(
                    "sensing: speeds must have sensors of their own; a differentiation works them "
                    "out from the positions, which the observer has already. Remove it, or speeds."
                )
            # errors of independent effects: variances add up
            square += np.square(effect.deviations(context))
    std = [
        np.sqrt(variance) if one is None else one
        for one, variance in zip(observer_std, square, strict=True)
    ]
    return JointMeasurement(robot, positions, speeds, (std[0], std[1]))
