"""Sensor effects: noise, bias, quantisation, velocities by differentiation, delay."""

from __future__ import annotations

import math
from typing import Annotated, ClassVar, Literal, final

import numpy as np
from pydantic import model_validator

from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.errors import InputError
from ukctrl.core.fields import ByName, Hertz, NumberByName, Quantity, spec
from ukctrl.core.files.toml import error_context
from ukctrl.core.program import BoundKernel
from ukctrl.robot import Robot
from ukctrl.robot.values_by_name import freedom_values
from ukctrl.simulation.effects import sensor_kernels as kernels
from ukctrl.simulation.effects.effect import (
    DelayLength,
    LinearSensorModel,
    RunContext,
    Sensor,
    SensorEffect,
    delay_seconds,
)
from ukctrl.simulation.effects.encoder_settings import (
    EncoderSteps,
    encoder_settings,
    refuse_zeros,
)
from ukctrl.simulation.effects.kernel_effects import KernelSensor, SensorOutput

NOISE_BLOCK = 256
"""Ticks for which noise is drawn ahead."""


def _by_freedom(robot: Robot, key: str, setting: NumberByName) -> Vector:
    with error_context(key):
        return freedom_values(robot.structure, setting)


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

    def attach(self, context: RunContext, rng: np.random.Generator) -> Sensor:
        blocks, deviation = context.robot.structure.manifold_table, self.deviations(context)
        # Streams of their own: one deviation says nothing about the other's numbers.
        streams = rng.spawn(2)
        numbers, used = np.zeros((2, NOISE_BLOCK, context.robot.nv)), np.zeros(1, dtype=np.int64)

        def draw(code: int) -> None:
            """Draw the numbers of the next ticks."""
            for stream, block in zip(streams, numbers, strict=True):
                # kernels cannot draw: a block ahead has the numbers of one draw a tick
                stream.standard_normal(out=block)
            used[0] = 0

        def steps(clock: Vector, q: Vector, v: Vector) -> SensorOutput:
            read, off = (np.zeros(len(q)), np.zeros(len(v))), np.zeros((2, len(v)))
            scale = BoundKernel(kernels.scale_noise, deviation, numbers, used, off, fault=draw)
            return *read, (scale, BoundKernel(kernels.add_error, blocks, q, v, *off, *read))

        draw(0)
        return KernelSensor(steps)

    def deviations(self, context: RunContext) -> Matrix:
        names = ("std", "v_std")
        return np.array([_by_freedom(context.robot, name, getattr(self, name)) for name in names])


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

    def attach(self, context: RunContext, rng: np.random.Generator) -> Sensor:
        robot, names = context.robot, ("offset", "v_offset")
        offsets = [_by_freedom(robot, name, getattr(self, name)) for name in names]
        blocks = robot.structure.manifold_table

        def steps(clock: Vector, q: Vector, v: Vector) -> SensorOutput:
            read = np.zeros(len(q)), np.zeros(len(v))
            return *read, (BoundKernel(kernels.add_error, blocks, q, v, *offsets, *read),)

        return KernelSensor(steps)

    def linear(self, context: RunContext) -> LinearSensorModel:
        return LinearSensorModel(is_constant_offset=True)


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
    step: EncoderSteps
    """Resolution, for all or by joint, such as ``"2*pi/4096"`` [rad or m]."""

    def attach(self, context: RunContext, rng: np.random.Generator) -> Sensor:
        joints = encoder_settings(context.robot, "step", self.step)
        encoders = joints.coordinates, joints.is_continuous, joints.values

        def steps(clock: Vector, q: Vector, v: Vector) -> SensorOutput:
            q_read = np.zeros(len(q))
            return q_read, v, (BoundKernel(kernels.quantise, *encoders, q, q_read),)

        return KernelSensor(steps)

    def deviations(self, context: RunContext) -> Matrix:
        joints, deviations = (
            encoder_settings(context.robot, "step", self.step),
            np.zeros((2, context.robot.nv)),
        )
        # the error of rounding is uniform over a step: its variance is step^2 / 12
        deviations[0, joints.freedoms] = joints.values / math.sqrt(12.0)
        return deviations


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

    def attach(self, context: RunContext, rng: np.random.Generator) -> Sensor:
        robot = context.robot
        rate = math.inf if self.cutoff is None else math.tau * self.cutoff
        memory = np.full(1, np.nan), np.zeros(robot.nq), np.zeros(robot.nv)

        def steps(clock: Vector, q: Vector, v: Vector) -> SensorOutput:
            v_read = np.zeros(len(v))
            args = robot.structure.manifold_table, rate, clock, q, v, *memory, v_read
            return q, v_read, (BoundKernel(kernels.differentiate, *args),)

        return KernelSensor(steps)

    def linear(self, context: RunContext) -> LinearSensorModel:
        return LinearSensorModel(differentiates=True, cutoff=self.cutoff)


@final
@spec
class MeasurementDelay(SensorEffect, DelayLength):
    """The law sees the robot as it was some ticks ago; before that time, as it was at the start."""

    kind: Literal["measurement_delay"] = "measurement_delay"
    sampled: ClassVar[bool] = True
    alone: ClassVar[bool] = True

    def attach(self, context: RunContext, rng: np.random.Generator) -> Sensor:
        delay, period = delay_seconds(self, context), context.period or 1.0
        ticks = round(delay / period)
        # readings exist at ticks alone; a rounding off one is one
        if abs(delay - ticks * period) > 1e-9 * period:
            raise InputError(
                f"time must be a whole number of control periods, {period:g} s, for a measurement; "
                f"got {delay:g} s. An input_delay may be of any length."
            )
        rows, robot = ticks + 1, context.robot
        memory = (
            np.zeros((rows, robot.nq)), np.zeros((rows, robot.nv)), np.zeros(1, dtype=np.int64)
        )  # fmt: skip

        def steps(clock: Vector, q: Vector, v: Vector) -> SensorOutput:
            read = np.zeros(len(q)), np.zeros(len(v))
            return *read, (BoundKernel(kernels.delay_state, q, v, *memory, *read),)

        return KernelSensor(steps)

    def linear(self, context: RunContext) -> LinearSensorModel:
        return LinearSensorModel(delay=delay_seconds(self, context))
