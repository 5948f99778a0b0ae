r"""Measurements as functions of a moment, $y = h(x, u) + n$, and their slopes on the tangent."""

from __future__ import annotations

import abc
from collections.abc import Sequence
from typing import Any, NamedTuple, final

import numpy as np

from ukctrl.core.arrays import Indices, Matrix, Vector
from ukctrl.core.errors import InputError
from ukctrl.core.files.toml import blaming
from ukctrl.mechanics.integrate.system import State
from ukctrl.robot import Robot
from ukctrl.robot.by_name import by_freedom
from ukctrl.simulation.effects.effect import Bench, Effect, SensorEffect
from ukctrl.simulation.observers.sensing import Camera, Sensing


class Moment(NamedTuple):
    """All that a reading depends on."""

    t: float
    state: State
    """Configuration, velocity, and what else is estimated: biases, pushes."""
    u: Vector
    """The input that was held until then."""


class Measurement(abc.ABC):
    """Some measured quantities.

    Attributes:
        std: Their standard deviations, shape ``(m,)``.
        names: One a quantity.
    """

    std: Vector
    names: tuple[str, ...]

    @abc.abstractmethod
    def innovation(self, at: Moment, y: Any) -> Vector:
        """Return by how much a reading is off what a moment predicts, shape ``(m,)``."""

    @abc.abstractmethod
    def slopes(self, at: Moment, full: Matrix) -> Matrix:
        """Return how what is measured changes along directions, shape ``(m, k)``.

        Args:
            at: The moment.
            full: Directions ``(dq, dv, ...)``, one a column, as `BelievedMotion.full`.
        """


@final
class Joints(Measurement):
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

    def innovation(self, at: Moment, y: tuple[Vector, Vector]) -> Vector:
        q, v, _ = at.state
        dq, dv = self._robot.difference(q, y[0]), y[1] - v
        return np.concatenate([dq[self.positions], dv[self.speeds]])

    def slopes(self, at: Moment, full: Matrix) -> Matrix:
        rows: Matrix = full[np.concatenate([self.positions, self._robot.nv + self.speeds])]
        return rows


@final
class Seen(Measurement):
    """Where a camera sees a frame."""

    def __init__(self, camera: Camera, robot: Robot) -> None:
        robot.site(camera.frame)  # raises where there is none
        self._frame, self._snapshot = camera.frame, robot.snapshot(robot.neutral)
        self._still: Vector = np.zeros(robot.nv)
        self.std = np.full(3, camera.std)
        self.names = tuple(f"{camera.frame}.{axis}" for axis in "xyz")

    def position(self, q: Vector) -> Vector:
        """Return where the frame is, shape ``(3,)`` [m]."""
        self._snapshot.move(q, self._still)
        return self._snapshot.frame(self._frame).position.copy()

    def innovation(self, at: Moment, y: Vector) -> Vector:
        off: Vector = y - self.position(at.state.q)
        return off

    def slopes(self, at: Moment, full: Matrix) -> Matrix:
        self._snapshot.move(at.state.q, self._still)
        moved: Matrix = self._snapshot.frame(self._frame).J[:3] @ full[: len(self._still)]
        return moved


class Part(NamedTuple):
    """What of a measurement an analysis takes, as if it came at every tick."""

    measurement: Measurement
    chosen: Indices
    """Which of its quantities."""
    share: float
    """Of the ticks at which they really come."""


@final
class Together(Measurement):
    r"""Several measurements as one of every tick, each as sure as its rate makes it.

    A reading that comes at a share $r$ of the ticks counts as one of each of them with
    $\sigma/\sqrt r$.

    Args:
        parts: What of each.
        hidden: How many deviations there are beside those of the state, which are left out.
    """

    def __init__(self, parts: Sequence[Part], hidden: int) -> None:
        self._parts, self._hidden = parts, hidden
        each = [part.measurement.std[part.chosen] / np.sqrt(part.share) for part in parts]
        self.std = np.concatenate(each)
        self.names = tuple(part.measurement.names[i] for part in parts for i in part.chosen)

    def innovation(self, at: Moment, y: Sequence[Any]) -> Vector:
        each = zip(self._parts, y, strict=True)
        return np.concatenate([m.innovation(at, own)[chosen] for (m, chosen, _), own in each])

    def slopes(self, at: Moment, full: Matrix) -> Matrix:
        whole = np.vstack([full, np.zeros((self._hidden, full.shape[1]))])
        return np.concatenate([m.slopes(at, whole)[chosen] for m, chosen, _ in self._parts])


def _freedoms(robot: Robot, key: str, given: bool | Sequence[str] | None) -> Indices:
    """Return the freedoms that names stand for: joints, or single freedoms of them."""
    if given is None or given is True:
        return np.arange(robot.nv)
    with blaming(f"sensing: {key}"):
        chosen = by_freedom(robot.structure, dict.fromkeys(given or (), 1.0))
    return np.flatnonzero(chosen)


def joints(
    sensing: Sensing,
    effects: Sequence[Effect],
    bench: Bench,
    given: tuple[Vector | None, Vector | None],
) -> Joints:
    """Return what is measured of the joints, with the noise that an observer counts on.

    Args:
        sensing: What is measured.
        effects: Those on the readings, by whose noise it goes where none is given.
        bench: The run.
        given: Standard deviations of positions and of speeds, shape ``(nv,)`` each.

    Raises:
        InputError: There is no such joint; or speeds are measured, and worked out from positions.
    """
    robot = bench.robot
    positions = _freedoms(robot, "joints", sensing.joints)
    speeds = _freedoms(robot, "speeds", sensing.speeds)
    square = np.zeros((2, robot.nv))
    for effect in effects:
        if isinstance(effect, SensorEffect):
            linear = effect.linear(bench)
            if len(speeds) and linear is not None and linear.differentiates:
                raise InputError(
                    "sensing: speeds must have sensors of their own; a differentiation works them "
                    "out from the positions, which the observer has already. Remove it, or speeds."
                )
            square += np.square(effect.deviations(bench))
    std = [np.sqrt(own) if one is None else one for one, own in zip(given, square, strict=True)]
    return Joints(robot, positions, speeds, (std[0], std[1]))
