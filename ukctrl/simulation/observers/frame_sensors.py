"""The sensors at frames in a run: when they read the true robot, and when that arrives."""

from __future__ import annotations

import abc
from typing import Any, ClassVar, NamedTuple, final

import numpy as np

from ukctrl.core.arrays import Indices, Vector
from ukctrl.core.errors import InputError
from ukctrl.simulation.effects.effect import RunContext
from ukctrl.simulation.observers.imu_measurement import ImuMeasurement
from ukctrl.simulation.observers.measurements import (
    CameraMeasurement,
    Measurement,
    MeasurementSelection,
    StackedMeasurement,
)
from ukctrl.simulation.observers.motion_model import MotionModel
from ukctrl.simulation.observers.sensing_tables import CameraSensor, FrameSensor, ImuSensor

PERIOD_TOLERANCE = 1e-6
"""A time this close to a whole number of control periods is one, in periods."""


class TrueMotion(NamedTuple):
    """The true motion at a tick."""

    t: float
    q: Vector
    v: Vector
    a: Vector
    """Acceleration under the input that was held until then, shape ``(nv,)``."""


class FrameSensorModel(abc.ABC):
    """A sensor at a frame in a run.

    Attributes:
        measurement: What an observer believes that it reads.
        delay_ticks: How many ticks later readings arrive.
        bias: How far those readings are off at present that have a bias, shape ``(k,)``.
        biased: Which of them that are.
        start: Standard deviations of these biases at the start.
        walk: Densities of their random walks.
        never_arrives: Whether no reading ever does.
    """

    measurement: Measurement
    bias: Vector = np.zeros(0)
    biased: Indices = np.zeros(0, dtype=np.int64)
    start: Vector = np.zeros(0)
    walk: Vector = np.zeros(0)
    note: ClassVar[str]
    """How a linear analysis takes it."""

    def __init__(self, sensor: FrameSensor, context: RunContext, rng: np.random.Generator) -> None:
        period = context.period or 1.0
        self._rng, self._dropped = rng, sensor.dropped
        self.never_arrives = sensor.dropped == 1.0
        self._every = _whole_periods("period", sensor.period or period, period)
        self.delay_ticks = _whole_periods("delay", sensor.delay, period)
        if not sensor.delay < context.duration:
            raise InputError(
                f"delay must be shorter than the run, {context.duration:g} s; "
                f"got {sensor.delay:g} s."
            )
        if self._every < 1:
            raise InputError(f"period must be at least the control period, {period:g} s.")
        self.period = self._every * period
        self._snapshot = context.robot.snapshot(context.robot.neutral)
        # a frame that does not exist is refused at the start, and not at the first reading
        context.robot.site(sensor.frame)
        self._frame = sensor.frame
        self._coming: dict[int, Vector] = {}

    def take_arrival(self, tick: int, true: TrueMotion) -> Vector | None:
        """Read the true robot where a reading is due; return what arrives at a tick."""
        if tick % self._every == 0:
            # drawn for lost readings, too: losses do not change the noise of the others
            reading, luck = self._read(true), self._rng.random()
            if luck >= self._dropped:
                self._coming[tick + self.delay_ticks] = reading
        return self._coming.pop(tick, None)

    def in_range(self, y: Vector) -> tuple[Measurement, Any]:
        """Return what of a reading counts, and as what."""
        return self.measurement, y

    def selection(self) -> MeasurementSelection:
        """Return what of it a linear analysis takes."""
        return MeasurementSelection(
            self.measurement, self.state_quantities(), (1.0 - self._dropped) / self._every
        )

    def state_quantities(self) -> Indices:
        """Return which of its quantities are functions of the state alone."""
        return np.arange(len(self.measurement.names))

    @abc.abstractmethod
    def _read(self, true: TrueMotion) -> Vector:
        """Return a reading, shape ``(m,)``."""


def _whole_periods(key: str, time: float, period: float) -> int:
    count = round(time / period)
    if abs(time / period - count) > PERIOD_TOLERANCE:
        raise InputError(
            f"{key} must be a whole number of control periods, {period:g} s; got {time:g} s."
        )
    return count


@final
class CameraModel(FrameSensorModel):
    """A camera in a run."""

    note = "cameras count as on time at every tick, as sure as their rate makes them."

    def __init__(
        self,
        camera: CameraSensor,
        context: RunContext,
        motion: MotionModel,
        first: int,
        rng: np.random.Generator,
    ) -> None:
        super().__init__(camera, context, rng)
        self.measurement = CameraMeasurement(camera, motion.robot)

    def _read(self, true: TrueMotion) -> Vector:
        self._snapshot.move(true.q, true.v, true.t)
        noise = self.measurement.std * self._rng.standard_normal(3)
        reading: Vector = self._snapshot.frame(self._frame).position + noise
        return reading


@final
class ImuModel(FrameSensorModel):
    """An inertial sensor in a run.

    Args:
        imu: The sensor.
        context: The run, with the true robot.
        motion: The believed robot.
        first: Place of its first bias among all biases.
        rng: Its random numbers.
    """

    note = "of inertial sensors the gyroscopes count, on time at every tick, without bias."

    def __init__(
        self,
        imu: ImuSensor,
        context: RunContext,
        motion: MotionModel,
        first: int,
        rng: np.random.Generator,
    ) -> None:
        super().__init__(imu, context, rng)
        triads = list(imu.parts().values())
        self._chosen = np.repeat([name in imu.parts() for name in "aw"], 3)
        self._noise = np.repeat([triad.density for triad in triads], 3) / np.sqrt(self.period)
        start = np.repeat([triad.bias for triad in triads], 3)
        walk = np.repeat([triad.walk for triad in triads], 3)
        self.biased = np.flatnonzero(start + walk)
        self.start, self.walk = start[self.biased], walk[self.biased]
        self._range = np.repeat([triad.range or np.inf for triad in triads], 3)
        self._step = np.repeat([triad.step or 0.0 for triad in triads], 3)
        self.bias = self.start * rng.standard_normal(len(self.start))
        self._gravity = context.robot.gravity
        # rounding to a step counts as noise, uniform over it
        std = np.sqrt(self._noise**2 + self._step**2 / 12.0)
        self.measurement = ImuMeasurement(imu, motion, std, self.biased, first)

    def in_range(self, y: Vector) -> tuple[Measurement, Any]:
        # a reading at the end of the range says that there was more, and not how much
        inside = np.abs(y) < self._range
        if inside.all():
            return self.measurement, y
        return StackedMeasurement(
            (MeasurementSelection(self.measurement, np.flatnonzero(inside), 1.0),), 0
        ), (y,)

    def state_quantities(self) -> Indices:
        # specific force goes by the input as well: of the state alone are rates of turn
        return np.flatnonzero(np.flatnonzero(self._chosen) >= 3)

    def _read(self, true: TrueMotion) -> Vector:
        self._snapshot.move(true.q, true.v, true.t)
        frame = self._snapshot.frame(self._frame)
        moved = frame.J[:3] @ true.a + frame.drift[:3] - self._gravity
        both = np.concatenate([frame.rotation.T @ moved, frame.rotation.T @ frame.velocity[3:]])
        noise, walked = self._rng.standard_normal((2, len(self._noise)))
        read = both[self._chosen] + self._noise * noise
        read[self.biased] += self.bias
        self.bias = self.bias + np.sqrt(self.period) * self.walk * walked[self.biased]
        stepped = self._step > 0.0
        read[stepped] = self._step[stepped] * np.round(read[stepped] / self._step[stepped])
        return np.asarray(np.clip(read, -self._range, self._range))
