"""What the law measures: noise, bias, quantisation, velocities by differentiation, delay."""

from __future__ import annotations

import math
from typing import Annotated, ClassVar, Literal, final

import numpy as np
from pydantic import model_validator

from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.errors import InputError
from ukctrl.core.fields import ByName, Hertz, NumberByName, Quantity, spec
from ukctrl.core.files.toml import blaming
from ukctrl.core.program import Call
from ukctrl.robot import Robot
from ukctrl.robot.by_name import by_freedom
from ukctrl.simulation.effects import sensor_kernels as kernels
from ukctrl.simulation.effects.compiled_parts import CompiledSensor, Reading
from ukctrl.simulation.effects.effect import (
    Bench,
    Late,
    LinearReading,
    Sensor,
    SensorEffect,
    late,
)
from ukctrl.simulation.effects.encoders import Encoders, Steps, encoders, refuse_zeros

DRAWN = 256
"""Ticks for which noise is drawn ahead."""


def _by_freedom(robot: Robot, key: str, given: NumberByName) -> Vector:
    with blaming(key):
        return by_freedom(robot.structure, given)


@final
@spec
class Noise(SensorEffect):
    r"""White noise: at every tick $q_m = q \oplus n_q$, $v_m = v + n_v$, normal and independent.

    The noise of the configuration is a step in its tangent space, so that angles of continuous
    joints and rotations of a floating base stay what they are.
    """

    kind: Literal["noise"] = "noise"
    sampled: ClassVar[bool] = True
    std: Annotated[NumberByName, ByName(Quantity("rad or m", minimum=0.0).read)] = 0.0
    """Standard deviation of the configuration, for all or by joint [rad or m]."""
    v_std: Annotated[NumberByName, ByName(Quantity("rad/s or m/s", minimum=0.0).read)] = 0.0
    """Standard deviation of the velocity, for all or by joint [rad/s or m/s]."""

    @model_validator(mode="after")
    def _some_noise(self) -> Noise:
        refuse_zeros(self, "std", "v_std")
        return self

    def attach(self, bench: Bench, rng: np.random.Generator) -> Sensor:
        return _Noisy(bench.robot, self.deviations(bench), rng)

    def deviations(self, bench: Bench) -> Matrix:
        names = ("std", "v_std")
        return np.array([_by_freedom(bench.robot, name, getattr(self, name)) for name in names])


class _Noisy(CompiledSensor):
    def __init__(self, robot: Robot, deviation: Matrix, rng: np.random.Generator) -> None:
        self._blocks, self._deviation = robot.structure.configurations, deviation
        # Streams of their own: one deviation says nothing about the other's numbers.
        self._streams = rng.spawn(2)
        self._numbers = np.zeros((2, DRAWN, robot.nv))
        self._used = np.zeros(1, dtype=np.int64)
        self._draw(0)

    def _draw(self, code: int) -> None:
        """Draw the numbers of the next ticks."""
        for stream, numbers in zip(self._streams, self._numbers, strict=True):
            stream.standard_normal(out=numbers)
        self._used[0] = 0

    def steps(self, clock: Vector, q: Vector, v: Vector) -> Reading:
        read, off = (np.zeros(len(q)), np.zeros(len(v))), np.zeros((2, len(v)))
        given = self._deviation, self._numbers, self._used, off
        draw = Call(kernels.draw, *given, fault=self._draw)
        return Reading(*read, (draw, Call(kernels.offset, self._blocks, q, v, *off, *read)))


@final
@spec
class Bias(SensorEffect):
    r"""A constant error of the measurement: $q_m = q \oplus o_q$, $v_m = v + o_v$."""

    kind: Literal["bias"] = "bias"
    offset: Annotated[NumberByName, ByName(Quantity("rad or m").read)] = 0.0
    """Of the configuration, for all or by joint [rad or m]."""
    v_offset: Annotated[NumberByName, ByName(Quantity("rad/s or m/s").read)] = 0.0
    """Of the velocity, for all or by joint [rad/s or m/s]."""

    @model_validator(mode="after")
    def _some_bias(self) -> Bias:
        refuse_zeros(self, "offset", "v_offset")
        return self

    def attach(self, bench: Bench, rng: np.random.Generator) -> Sensor:
        robot = bench.robot
        offset = _by_freedom(robot, "offset", self.offset)
        return _Biased(robot, offset, _by_freedom(robot, "v_offset", self.v_offset))

    def linear(self, bench: Bench) -> LinearReading:
        return LinearReading(steady=True)


class _Biased(CompiledSensor):
    def __init__(self, robot: Robot, offset: Vector, v_offset: Vector) -> None:
        self._blocks, self._offsets = robot.structure.configurations, (offset, v_offset)

    def steps(self, clock: Vector, q: Vector, v: Vector) -> Reading:
        read = np.zeros(len(q)), np.zeros(len(v))
        off = Call(kernels.offset, self._blocks, q, v, *self._offsets, *read)
        return Reading(*read, (off,))


@final
@spec
class Quantisation(SensorEffect):
    r"""Encoders with a finite resolution: $q_m = \Delta\,\mathrm{round}(q / \Delta)$.

    Joints with one freedom have encoders, and so have the motors of elastic joints; of a continuous
    joint it is the angle that is rounded. Velocities stay exact: list a ``differentiation`` after
    it for those that a drive works out from its encoder.
    """

    kind: Literal["quantisation"] = "quantisation"
    sampled: ClassVar[bool] = True
    alone: ClassVar[bool] = True
    step: Steps
    """Resolution, for all or by joint, such as ``"2*pi/4096"`` [rad or m]."""

    def attach(self, bench: Bench, rng: np.random.Generator) -> Sensor:
        return _Rounded(encoders(bench.robot, "step", self.step))

    def deviations(self, bench: Bench) -> Matrix:
        joints, deviations = encoders(bench.robot, "step", self.step), np.zeros((2, bench.robot.nv))
        deviations[0, joints.freedoms] = joints.values / math.sqrt(12.0)  # even over a step
        return deviations


class _Rounded(CompiledSensor):
    def __init__(self, joints: Encoders) -> None:
        self._joints = joints.coordinates, joints.round, joints.values

    def steps(self, clock: Vector, q: Vector, v: Vector) -> Reading:
        q_read = np.zeros(len(q))
        return Reading(q_read, v, (Call(kernels.rounded, *self._joints, q, q_read),))


@final
@spec
class Differentiation(SensorEffect):
    r"""Velocities worked out from the measured configurations of two ticks.

    $$ v_m = \frac{q_k \ominus q_{k-1}}{t_k - t_{k-1}}, $$

    then through a low-pass of first order, $\dot y = 2 \pi f_c (v_m - y)$, where a ``cutoff`` is
    given. At the first tick the velocity is the measured one.
    """

    kind: Literal["differentiation"] = "differentiation"
    sampled: ClassVar[bool] = True
    alone: ClassVar[bool] = True
    cutoff: Hertz | None = None
    """Corner frequency of the low-pass [Hz]; absent: none."""

    def attach(self, bench: Bench, rng: np.random.Generator) -> Sensor:
        return _Differentiated(bench.robot, self.cutoff)

    def linear(self, bench: Bench) -> LinearReading:
        return LinearReading(differentiates=True, cutoff=self.cutoff)


class _Differentiated(CompiledSensor):
    def __init__(self, robot: Robot, cutoff: float | None) -> None:
        rate = math.inf if cutoff is None else math.tau * cutoff
        self._given = robot.structure.configurations, rate
        self._memory = np.full(1, np.nan), np.zeros(robot.nq), np.zeros(robot.nv)

    def steps(self, clock: Vector, q: Vector, v: Vector) -> Reading:
        v_read = np.zeros(len(v))
        given = *self._given, clock, q, v, *self._memory
        return Reading(q, v_read, (Call(kernels.differentiated, *given, v_read),))


@final
@spec
class MeasurementDelay(SensorEffect, Late):
    """The law sees the robot as it was some ticks ago; before that time, as it was at the start."""

    kind: Literal["measurement_delay"] = "measurement_delay"
    sampled: ClassVar[bool] = True
    alone: ClassVar[bool] = True

    def attach(self, bench: Bench, rng: np.random.Generator) -> Sensor:
        delay, period = late(self, bench), bench.period or 1.0
        ticks = round(delay / period)
        if abs(delay - ticks * period) > 1e-9 * period:
            raise InputError(
                f"time must be a whole number of control periods, {period:g} s, for a measurement; "
                f"got {delay:g} s. An input_delay may be of any length."
            )
        return _Delayed(bench.robot, ticks)

    def linear(self, bench: Bench) -> LinearReading:
        return LinearReading(late=late(self, bench))


class _Delayed(CompiledSensor):
    def __init__(self, robot: Robot, ticks: int) -> None:
        rows = ticks + 1
        kept = np.zeros((rows, robot.nq)), np.zeros((rows, robot.nv))
        self._memory = *kept, np.zeros(1, dtype=np.int64)

    def steps(self, clock: Vector, q: Vector, v: Vector) -> Reading:
        read = np.zeros(len(q)), np.zeros(len(v))
        return Reading(*read, (Call(kernels.delayed, q, v, *self._memory, *read),))
