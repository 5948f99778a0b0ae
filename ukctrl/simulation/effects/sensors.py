"""What the law measures: noise, bias, quantisation, velocities by differentiation, delay."""

from __future__ import annotations

import math
from collections import deque
from typing import Annotated, ClassVar, Literal, final

import numpy as np
from pydantic import model_validator

from ukctrl.core.arrays import Vector
from ukctrl.core.errors import InputError
from ukctrl.core.fields import ByName, Hertz, NumberByName, Quantity, spec
from ukctrl.core.files.toml import blaming
from ukctrl.robot import Robot
from ukctrl.robot.by_joint import by_freedom
from ukctrl.simulation.effects.effect import Bench, Late, LinearReading, Sensor, SensorEffect, late
from ukctrl.simulation.effects.encoders import Encoders, Steps, encoders, refuse_zeros


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
        robot = bench.robot
        std, v_std = _by_freedom(robot, "std", self.std), _by_freedom(robot, "v_std", self.v_std)
        return _Noisy(robot, std, v_std, rng)


class _Noisy(Sensor):
    def __init__(self, robot: Robot, std: Vector, v_std: Vector, rng: np.random.Generator) -> None:
        self._robot, self._std, self._v_std = robot, std, v_std
        # Streams of their own: one deviation says nothing about the other's numbers.
        self._of_q, self._of_v = rng.spawn(2)

    def read(self, t: float, q: Vector, v: Vector) -> tuple[Vector, Vector]:
        off = self._std * self._of_q.standard_normal(len(v))
        off_v = self._v_std * self._of_v.standard_normal(len(v))
        return self._robot.integrate(q, off), v + off_v


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


class _Biased(Sensor):
    def __init__(self, robot: Robot, offset: Vector, v_offset: Vector) -> None:
        self._robot, self._offset, self._v_offset = robot, offset, v_offset

    def read(self, t: float, q: Vector, v: Vector) -> tuple[Vector, Vector]:
        return self._robot.integrate(q, self._offset), v + self._v_offset


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
        return _Rounded(bench.robot, encoders(bench.robot, "step", self.step))


class _Rounded(Sensor):
    def __init__(self, robot: Robot, joints: Encoders) -> None:
        self._robot, self._joints = robot, joints

    def read(self, t: float, q: Vector, v: Vector) -> tuple[Vector, Vector]:
        joints = self._joints
        angles = joints.values * np.round(joints.angles(q) / joints.values)
        read = q.copy()
        plain = ~joints.round
        read[joints.coordinates[plain]] = angles[plain]
        at = joints.coordinates[joints.round]
        read[at], read[at + 1] = np.cos(angles[joints.round]), np.sin(angles[joints.round])
        return read, v


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


class _Differentiated(Sensor):
    def __init__(self, robot: Robot, cutoff: float | None) -> None:
        self._robot = robot
        self._rate = math.inf if cutoff is None else math.tau * cutoff
        self._last: tuple[float, Vector, Vector] | None = None

    def read(self, t: float, q: Vector, v: Vector) -> tuple[Vector, Vector]:
        estimate = v
        if self._last is not None:
            before, old, filtered = self._last
            raw = self._robot.difference(old, q) / (t - before)
            share = -math.expm1(-self._rate * (t - before))
            estimate = raw if share == 1.0 else filtered + share * (raw - filtered)
        self._last = (t, q.copy(), estimate)
        return q, estimate


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
        return _Delayed(ticks)

    def linear(self, bench: Bench) -> LinearReading:
        return LinearReading(late=late(self, bench))


class _Delayed(Sensor):
    def __init__(self, ticks: int) -> None:
        self._kept: deque[tuple[Vector, Vector]] = deque(maxlen=ticks + 1)

    def read(self, t: float, q: Vector, v: Vector) -> tuple[Vector, Vector]:
        self._kept.append((q.copy(), v.copy()))
        return self._kept[0]
