"""An observer in a run: what it reads at a tick, readings that arrive late, what is recorded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, final

import numpy as np

from ukctrl.control.task import Signal
from ukctrl.core.algebra.rank_policy import RankPolicy
from ukctrl.core.arrays import Vector
from ukctrl.core.errors import InputError, NotFinite
from ukctrl.core.files.toml import error_context
from ukctrl.mechanics.integrate.ode_system import IntegratorState
from ukctrl.robot import Robot
from ukctrl.simulation.effects.effect import Effect, RunContext, effect_rng
from ukctrl.simulation.effects.kernel_effects import SensorOutput
from ukctrl.simulation.observers.disturbance_state import attach_disturbance_estimate
from ukctrl.simulation.observers.filters import (
    Filter,
    MeasurementUpdate,
    StateEstimate,
    normalised_square,
)
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
    TimedState,
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


class ObserverTick(NamedTuple):
    """Readings and estimate of a tick."""

    t: float
    u: Vector
    """The input held since the tick before."""
    readings: dict[int, tuple[Measurement, Any]]
    """What was measured at it, whenever that arrived, by the number of the sensor."""
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
        self._ticks: list[ObserverTick] = []
        self._count = 0
        self.measured = np.zeros(believed.nq), np.zeros(nv)
        self._innovation = np.zeros(len(self.joints.names))
        self._bias = np.zeros((2, motion.biases))
        self.recorded_values: dict[str, Vector] = {
            "q_estimated": np.zeros(believed.nq),
            "v_estimated": np.zeros(nv),
            "q_estimate_error": np.zeros(nv),
            "v_estimate_error": np.zeros(nv),
        }
        if len(self._first.P):
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
        out = self.recorded_values["q_estimated"], self.recorded_values["v_estimated"]

        def estimate() -> None:
            self.measured[0][:], self.measured[1][:] = q, v
            self._tick(TrueMotion(float(clock[0]), *true), u)

        return *out, (estimate,)

    def _tick(self, true: TrueMotion, u: Vector) -> None:
        t, ticks = true.t, self._ticks
        q, v = (vector.copy() for vector in self.measured)
        ticks.append(ObserverTick(t, u.copy(), {0: (self.joints, (q, v))}, None))
        first = len(ticks) - 1
        # before the sensors read, which lets their biases walk on
        bias = np.concatenate([np.zeros(0), *(instrument.bias for instrument in self._instruments)])
        for number, instrument in enumerate(self._instruments, 1):
            y = instrument.take_arrival(self._count, true)
            if y is not None:
                index = len(ticks) - 1 - instrument.delay_ticks
                ticks[index].readings[number] = instrument.in_range(y)
                first = min(first, index)
        try:
            # what is not finite is told below
            with np.errstate(over="ignore", invalid="ignore"):
                for k in range(first, len(ticks)):
                    estimate, joints = self._estimated_at(k)
                    ticks[k] = ticks[k]._replace(estimate=estimate)
        except (
            np.linalg.LinAlgError,
            InputError,
        ) as error:  # of a step that is no number
            reason = str(error).rstrip(".")
            raise NotFinite(f"the observer has no estimate at t = {t:.6g} s: {reason}.") from None
        self._count += 1
        # one more than the longest delay: from its estimate the oldest reading is predicted
        del ticks[: -self._history_length - 1]
        self._record(joints, estimate, true, bias)

    def _estimated_at(self, k: int) -> tuple[StateEstimate, MeasurementUpdate]:
        """Return the estimate at a tick made anew, and what the joints' readings made of it."""
        tick, last_estimate = self._ticks[k], self._ticks[k - 1].estimate if k else None
        if last_estimate is not None:
            estimate = self.filter.predicted(last_estimate, tick.t, tick.u)
        # the first tick: later ones are dropped only where no reading goes back so far
        else:
            estimate = self._first._replace(at=self._first.at._replace(t=tick.t))
        joints: MeasurementUpdate | None = None
        # in the order of sensors, not of arrivals: the same estimate however late one came
        for _, (measurement, y) in sorted(tick.readings.items()):
            corrected = self.filter.corrected(estimate, measurement, y)
            joints, estimate = joints or corrected, corrected.estimate
        # readings of the joints are always there, and first
        assert joints is not None
        if not all(np.isfinite(vector).all() for vector in estimate.at.state):
            raise NotFinite(
                f"the observer's estimate must be finite; it is not at t = {tick.t:.6g} "
                "s. Its noise may be too large by far, or its model run away."
            )
        return estimate, joints

    def _record(
        self, joints: MeasurementUpdate, estimate: StateEstimate, true: TrueMotion, bias: Vector
    ) -> None:
        records, motion, (state, P) = (
            self.recorded_values,
            self.filter.motion,
            (estimate.at.state, estimate.P),
        )
        records["q_estimated"][:], records["v_estimated"][:] = state.q, state.v
        records["q_estimate_error"][:] = self._robot.difference(state.q, true.q)
        records["v_estimate_error"][:] = true.v - state.v
        self._innovation[:] = joints.innovation
        size, estimated = motion.state_count, state.memory[: motion.biases]
        self._bias[:] = estimated, bias - estimated
        if "nees" in records:
            bare = state._replace(memory=estimated)
            error = motion.deviation(bare, IntegratorState(true.q, true.v, bias))
            records["nees"][...] = normalised_square(error, P[:size, :size])
            records["nis"][...] = normalised_square(joints.innovation, joints.S)
        if self._unexplained is not None:
            self._unexplained.tick(estimate.at, true)

    def signals(self) -> Mapping[str, Signal]:
        """Return what is recorded beside: the innovation of the joints, and biases."""
        units = {False: "rad or m", True: "rad/s or m/s"}
        mixed = len(self.joints.speeds) > 0
        words = "reading less its prediction"
        unit = units[False] + (f", {units[True]}" if mixed else "")
        records = {"innovation": (self._innovation, unit, words, self.joints.names)}
        if self._bias.size:
            for name, value, words in (
                ("bias", self._bias[0], "bias that the observer estimates"),
                ("bias_error", self._bias[1], "true bias less its estimate"),
            ):
                records[name] = value, ", ".join(self._bias_units), words, self.bias_names()
        return {f"observer.{name}": Signal(*record) for name, record in records.items()}
