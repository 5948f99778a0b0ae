"""An observer in a run: what it reads at a tick, readings that arrive late, what is recorded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, final

import numpy as np

from ukctrl.control.task import Signal
from ukctrl.core.algebra.factorisation import copy_into
from ukctrl.core.algebra.rank_policy import RankPolicy
from ukctrl.core.arrays import Indices, Matrix, Vector
from ukctrl.core.compiled import allocating, compiled
from ukctrl.core.errors import InputError, NotFinite
from ukctrl.core.files.toml import error_context
from ukctrl.core.program import BoundKernel, KernelSequence, KernelStep
from ukctrl.mechanics.integrate.ode_system import IntegratorState
from ukctrl.robot import Robot
from ukctrl.robot.manifold_kernels import difference
from ukctrl.simulation.effects.effect import Effect, RunContext, effect_rng
from ukctrl.simulation.effects.kernel_effects import SensorOutput
from ukctrl.simulation.effects.signal_chain import is_finite
from ukctrl.simulation.observers.disturbance_state import attach_disturbance_estimate
from ukctrl.simulation.observers.estimates import EstimateArrays, StateEstimate, TimedState
from ukctrl.simulation.observers.filters import Filter, UpdateArrays, in_python, normalised_square
from ukctrl.simulation.observers.frame_sensors import (
    CameraModel,
    FrameSensorModel,
    ImuModel,
    TrueMotion,
)
from ukctrl.simulation.observers.measurements import (
    Measurement,
    MeasurementSelection,
    StackedMeasurement,
    joint_measurement,
)
from ukctrl.simulation.observers.motion_model import MotionModel
from ukctrl.simulation.observers.observer import Observer
from ukctrl.simulation.observers.sensing_tables import Sensing


class ObserverSetup(NamedTuple):
    """Observer settings of a scenario."""

    observer: Observer
    sensing: Sensing
    effects: Sequence[Effect]
    seed: int
    rank: RankPolicy


class TickArrays(NamedTuple):
    """What an observer is told at a tick."""

    clock: Vector
    """Shape ``(1,)`` [s]."""
    u: Vector
    """The input held since the tick before."""
    q: Vector
    """Configuration that the sensors of the joints gave."""
    v: Vector


class ObserverTick(NamedTuple):
    """Readings and estimate of a tick."""

    told: tuple[Vector, ...]
    """Of `TickArrays`."""
    readings: dict[int, Vector]
    """What sensors at frames measured then, whenever that arrived, by the number of the sensor."""
    estimate: StateEstimate | None
    """What has been made of it; None at first."""


@final
class Estimator:
    r"""An observer that estimates from tick to tick.

    A reading that arrives late counts at the tick at which it was taken: the estimates since then
    are made anew, with all that is known of the ticks between. So a filter is as good as one that
    waited for it, and never late itself.

    Args:
        setup: What the scenario says.
        believed: The robot that the law believes in.
        context: The run, with the true robot.
        at: Time, configuration and velocity of the start.

    Attributes:
        measured: Configuration and velocity that the sensors of the joints gave at the last tick.
        recorded_values: Quantities of the last tick, by name.
        filter: The observer itself.
        joints: What it reads of the joints at every tick.
        measures_acceleration: Whether it must be told the true acceleration.
    """

    def __init__(
        self,
        setup: ObserverSetup,
        believed: Robot,
        context: RunContext,
        at: tuple[float, Vector, Vector],
    ) -> None:
        observer, sensing, period = setup.observer, setup.sensing, context.period
        # the scenario has refused an observer without ticks
        assert period is not None
        self._robot, nu = believed, believed.nu
        with error_context("observer"):
            motion = MotionModel(believed, setup.rank, period / observer.steps, at)
        # before the filter: how many biases there are decides how many states it has
        self._instruments = tuple(self._at_frames(setup, context, motion))
        motion.bias_walk = np.concatenate(
            [np.zeros(0), *(instrument.walk for instrument in self._instruments)]
        )
        # where accelerations are measured, pushes are states of the filter
        motion.measures_acceleration = any(imu.accelerometer is not None for imu in sensing.imu)
        with error_context("observer"):
            chart = motion.chart
            n, nv = len(chart.A), believed.nv
            chosen = np.concatenate([chart.positions, nv + chart.velocities])
            start = observer.start(believed)[chosen]
            std = observer.measured_std(believed)
            self.joints = joint_measurement(sensing, setup.effects, context, std)
            start_std = np.concatenate(
                [start, *(instrument.start for instrument in self._instruments)]
            )
            self.filter: Filter = observer.attach(motion, self.joints, start_std, period)
            self._unexplained = attach_disturbance_estimate(
                observer, believed, setup.rank, at, context
            )
        self.measures_acceleration = motion.measures_acceleration or self._unexplained is not None
        self._history_length = 1 + max(
            (instrument.delay_ticks for instrument in self._instruments), default=0
        )
        # the first estimate is off by its own covariance: else no run could tell whether a filter
        # is consistent (decision 0137)
        draw = start * effect_rng(setup.seed, "observer").standard_normal(n)
        q, v = np.array(at[1]), np.array(at[2])
        bare = IntegratorState(q, v, np.zeros(0))
        if draw.any():
            q, v, _ = motion.retract(at[0], bare, chart.full @ draw)
        state = IntegratorState(q, v, np.zeros(motion.biases + len(motion.process_noise_indices)))
        self._first = self.filter.first(TimedState(at[0], state, np.zeros(nu)))
        self._x = x = EstimateArrays.of(self._first)
        self._tick = tick = TickArrays(*map(np.zeros, (1, nu, believed.nq, nv)))
        self.measured = tick.q, tick.v
        self._predict = KernelSequence(self.filter.prediction_steps(x, tick.clock, tick.u))
        self._update = UpdateArrays.of(self.joints, x.P)
        self._correct = self._correction(self.joints, self.measured, self._update)
        self._frame_readings = [
            (y := np.zeros(len(each.measurement.std)), self._correction(each.measurement, y))
            for each in self._instruments
        ]
        self._ticks: list[ObserverTick] = []
        self._count = 0
        self._bias = np.zeros((2, motion.biases))
        self.recorded_values: dict[str, Vector] = {
            "q_estimated": np.zeros(believed.nq),
            "v_estimated": np.zeros(nv),
            "q_estimate_error": np.zeros(nv),
            "v_estimate_error": np.zeros(nv),
        }
        if len(x.P):
            self.recorded_values |= {"nees": np.zeros(()), "nis": np.zeros(())}
        if self._unexplained is not None:
            self.recorded_values |= self._unexplained.recorded_values

    def _at_frames(
        self, setup: ObserverSetup, context: RunContext, motion: MotionModel
    ) -> list[FrameSensorModel]:
        instruments: list[FrameSensorModel] = []
        biases = 0
        kinds: dict[str, Any] = {"camera": CameraModel, "imu": ImuModel}
        for key, kind in kinds.items():
            for number, sensor in enumerate(getattr(setup.sensing, key)):
                with error_context(f"sensing: {key}[{number}]"):
                    if not setup.observer.late:
                        raise InputError(
                            f"a sensor at a frame, as this {key}, needs an observer that takes "
                            "readings of other moments; use kind = 'ekf' or 'ukf'."
                        )
                    # by its frame: another sensor does not change its numbers
                    rng = effect_rng(setup.seed, f"{key}.{sensor.frame}")
                    instruments.append(kind(sensor, context, motion, biases, rng))
                    biases += len(instruments[-1].bias)
        return instruments

    @property
    def measurements(self) -> tuple[Measurement, ...]:
        """Measurements that ever arrive: joints, then sensors at frames."""
        heard = [
            instrument.measurement
            for instrument in self._instruments
            if not instrument.never_arrives
        ]
        return (self.joints, *heard)

    def report(self) -> dict[str, Any]:
        """Return what a result says of it: how many states it estimates, from what."""
        names = [name for measurement in self.measurements for name in measurement.names]
        return {"states": self.filter.motion.state_count, "measured": names}

    @property
    def linear_measurement(self) -> Measurement:
        """All that is measured of the state, as a linear analysis takes it: at every tick."""
        heard = [
            instrument.selection()
            for instrument in self._instruments
            if not instrument.never_arrives
        ]
        if not heard:
            return self.joints
        motion, all_joints = self.filter.motion, np.arange(len(self.joints.names))
        hidden = motion.biases + len(motion.process_noise_indices)
        return StackedMeasurement(
            (MeasurementSelection(self.joints, all_joints, 1.0), *heard), hidden
        )

    def notes(self) -> list[str]:
        """Return how a linear analysis takes it."""
        filter_notes = [self.filter.note] if self.filter.note else []
        return [*filter_notes, *sorted({instrument.note for instrument in self._instruments})]

    @property
    def _bias_units(self) -> list[str]:
        units = {"a": "m/s^2", "w": "rad/s"}
        return list(dict.fromkeys(units[name.split(".")[-1][0]] for name in self.bias_names()))

    def bias_names(self) -> tuple[str, ...]:
        """Return the names of the biases that are estimated."""
        pairs = [(one.measurement.names, one.biased) for one in self._instruments]
        return tuple(names[i] for names, biased in pairs for i in biased)

    def reading(
        self, clock: Vector, true: tuple[Vector, Vector, Vector], q: Vector, v: Vector, u: Vector
    ) -> SensorOutput:
        """Return the estimate as a sensor's reading.

        Args:
            clock: Time, shape ``(1,)`` [s].
            true: The true state and acceleration, which sensors at frames read.
            q: Configuration that the sensors of the joints give.
            v: Velocity, likewise.
            u: The input that the drives hold.
        """
        recorded, (true_q, true_v, _) = self.recorded_values, true
        out, tick, x = (recorded["q_estimated"], recorded["v_estimated"]), self._tick, self._x
        errors = recorded["q_estimate_error"], recorded["v_estimate_error"]
        blocks = self._robot.structure.manifold_table
        steps: list[KernelStep] = [
            BoundKernel(copy_into, *pair) for pair in zip((clock, u, q, v), tick, strict=True)
        ]
        if self._instruments:
            steps.append(lambda: self._estimate(TrueMotion(float(clock[0]), *true)))
        else:
            started = np.zeros(1)
            steps += [
                self._predict.when_equal(started, 1),
                BoundKernel(start_estimate, started, clock, x.clock),
                *self._correct.items,
                BoundKernel(
                    is_finite_state, x.q, x.v, x.memory, fault=lambda _: self._not_finite()
                ),
            ]
        compared = x.q, x.v, true_q, true_v, *out, *errors
        steps.append(BoundKernel(compare_estimate, blocks, *compared))
        if "nees" in recorded:
            chart, squares = self.filter.motion.chart, (recorded["nees"], recorded["nis"])
            error = *errors, chart.positions, chart.velocities, self._bias[1]
            args = *error, x.P, *self._update, *(square.reshape(1) for square in squares)
            steps.append(BoundKernel(write_consistency, *args))
        if self._unexplained is not None:
            steps += self._unexplained.steps(x, (clock, *true))
        return *out, steps

    def _correction(
        self, measurement: Measurement, y: Any, update: UpdateArrays | None = None
    ) -> KernelSequence:
        update = update or UpdateArrays.of(measurement, self._x.P)
        return KernelSequence(self.filter.correction_steps(self._x, measurement, y, update))

    def _not_finite(self, code: int = 0) -> NotFinite:
        return NotFinite(
            f"the observer's estimate must be finite; it is not at t = {self._tick.clock[0]:.6g} "
            "s. Its noise may be too large by far, or its model run away."
        )

    def _estimate(self, true: TrueMotion) -> None:
        """Estimate where sensors at frames read, some of them late."""
        ticks = self._ticks
        ticks.append(ObserverTick(tuple(array.copy() for array in self._tick), {}, None))
        first = len(ticks) - 1
        # before the sensors read, which lets their biases walk on
        bias = np.concatenate([np.zeros(0), *(instrument.bias for instrument in self._instruments)])
        for number, instrument in enumerate(self._instruments):
            y = instrument.take_arrival(self._count, true)
            if y is not None:
                index = len(ticks) - 1 - instrument.delay_ticks
                ticks[index].readings[number] = y
                first = min(first, index)
        with in_python(self._tick.clock):
            for k in range(first, len(ticks)):
                self._estimate_at(k)
                ticks[k] = ticks[k]._replace(estimate=self._x.read())
        self._count += 1
        # one more than the longest delay: from its estimate the oldest reading is predicted
        del ticks[: -self._history_length - 1]
        estimated = self._x.memory[: len(bias)]
        self._bias[:] = estimated, bias - estimated

    def _estimate_at(self, k: int) -> None:
        """Make the estimate at a tick anew."""
        x, tick, last = self._x, self._ticks[k], self._ticks[k - 1].estimate if k else None
        for array, told in zip(self._tick, tick.told, strict=True):
            array[:] = told
        # the first tick: later ones are dropped only where no reading goes back so far
        x.write(last or self._first)
        if last is not None:
            self._predict()
        else:
            x.clock[:] = self._tick.clock
        self._correct()
        # in the order of sensors, not of arrivals: the same estimate however late one came
        for number, y in sorted(tick.readings.items()):
            measurement, in_range = self._instruments[number].in_range(y)
            into, correct = self._frame_readings[number]
            if measurement is self._instruments[number].measurement:
                into[:] = y
                correct()
            else:
                x.write(self.filter.corrected(x.read(), measurement, in_range).estimate)
        if not is_finite_state(x.q, x.v, x.memory):
            raise self._not_finite()

    def signals(self) -> Mapping[str, Signal]:
        """Return what is recorded beside: the innovation of the joints, and biases."""
        units = {False: "rad or m", True: "rad/s or m/s"}
        mixed = len(self.joints.speeds) > 0
        words = "reading less its prediction"
        unit = units[False] + (f", {units[True]}" if mixed else "")
        records = {"innovation": (self._update.innovation, unit, words, self.joints.names)}
        if self._bias.size:
            for name, value, words in (
                ("bias", self._bias[0], "bias that the observer estimates"),
                ("bias_error", self._bias[1], "true bias less its estimate"),
            ):
                records[name] = value, ", ".join(self._bias_units), words, self.bias_names()
        return {f"observer.{name}": Signal(*record) for name, record in records.items()}


@compiled
def start_estimate(started: Vector, clock: Vector, at: Vector) -> None:
    """Write the time of the first tick to the estimate that it begins with."""
    if started[0] == 0.0:
        at[0], started[0] = clock[0], 1.0


@compiled
def is_finite_state(q: Vector, v: Vector, memory: Vector) -> bool:
    """Return whether all of an estimate is finite."""
    return is_finite(q) and is_finite(v) and is_finite(memory)


@compiled
def compare_estimate(
    blocks: Indices,
    q: Vector,
    v: Vector,
    true_q: Vector,
    true_v: Vector,
    q_out: Vector,
    v_out: Vector,
    q_error: Vector,
    v_error: Vector,
) -> None:
    """Write an estimate, and the true state less it."""
    copy_into(q, q_out)
    difference(blocks, q, true_q, q_error)
    for i in range(len(v)):
        v_out[i], v_error[i] = v[i], true_v[i] - v[i]


@allocating
def write_consistency(
    q_error: Vector,
    v_error: Vector,
    positions: Indices,
    velocities: Indices,
    bias_error: Vector,
    P: Matrix,
    innovation: Vector,
    S: Matrix,
    nees: Vector,
    nis: Vector,
) -> None:
    """Write the squares of error and innovation, normalised by their covariances."""
    i, j = len(positions), len(velocities)
    error = np.empty(i + j + len(bias_error))
    for k in range(i):
        error[k] = q_error[positions[k]]
    for k in range(j):
        error[i + k] = v_error[velocities[k]]
    for k in range(len(bias_error)):
        error[i + j + k] = bias_error[k]
    nees[0], nis[0] = normalised_square(error, P), normalised_square(innovation, S)
