"""An observer in a run: what it reads at a tick, readings that arrive late, what is recorded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, final

import numpy as np

from ukctrl.control.task import Signal
from ukctrl.core.algebra.rank_policy import RankPolicy
from ukctrl.core.arrays import Vector
from ukctrl.core.errors import InputError, NotFinite
from ukctrl.core.files.toml import blaming
from ukctrl.mechanics.integrate.system import State
from ukctrl.robot import Robot
from ukctrl.simulation.effects.compiled_parts import Reading
from ukctrl.simulation.effects.effect import Bench, Effect, generator
from ukctrl.simulation.observers.believed_motion import BelievedMotion
from ukctrl.simulation.observers.filters import Corrected, Estimate, Filter, normalised
from ukctrl.simulation.observers.instruments import Inertial, Instrument, Pictures, TrueMotion
from ukctrl.simulation.observers.measurements import Measurement, Moment, Part, Together, joints
from ukctrl.simulation.observers.observer import Observer
from ukctrl.simulation.observers.sensing import Sensing
from ukctrl.simulation.observers.unexplained import unexplained


class Given(NamedTuple):
    """What a scenario says about an observer."""

    observer: Observer
    sensing: Sensing
    effects: Sequence[Effect]
    seed: int
    rank: RankPolicy


class Tick(NamedTuple):
    """What an observer knows of a tick."""

    t: float
    u: Vector
    """The input held since the tick before."""
    readings: dict[int, tuple[Measurement, Any]]
    """What was measured at it, whenever that arrived, by the number of the sensor."""
    estimate: Estimate | None
    """What has been made of it; None at first."""


@final
class Estimator:
    r"""An observer that estimates from tick to tick.

    A reading that arrives late counts at the tick at which it was taken: the estimates since then
    are made anew, with all that is known of the ticks between. So a filter is as good as one that
    waited for it, and never late itself.

    Args:
        given: What the scenario says.
        believed: The robot that the law believes in.
        bench: The run, with the true robot.
        at: Time, configuration and velocity of the start.

    Attributes:
        measured: Configuration and velocity that the sensors of the joints gave at the last tick.
        kept: What is recorded of the last tick, by name.
        filter: The observer itself.
        joints: What it reads of the joints at every tick.
        feels: Whether it must be told the true acceleration.
    """

    def __init__(
        self, given: Given, believed: Robot, bench: Bench, at: tuple[float, Vector, Vector]
    ) -> None:
        observer, sensing, period = given.observer, given.sensing, bench.period
        assert period is not None  # the scenario has refused an observer without ticks
        self._robot, nu = believed, believed.nu
        with blaming("observer"):
            motion = BelievedMotion(believed, given.rank, period / observer.steps, at)
        self._instruments = tuple(self._at_frames(given, bench, motion))
        motion.walk = np.concatenate([np.zeros(0), *(each.walk for each in self._instruments)])
        motion.feels = any(imu.accelerometer is not None for imu in sensing.imu)
        with blaming("observer"):
            chart = motion.chart
            n, nv = len(chart.A), believed.nv
            chosen = np.concatenate([chart.positions, nv + chart.velocities])
            start = observer.start(believed)[chosen]
            own = observer.measured_std(believed)
            self.joints = joints(sensing, given.effects, bench, own)
            known = np.concatenate([start, *(each.start for each in self._instruments)])
            self.filter: Filter = observer.attach(motion, self.joints, known, period)
            self._unexplained = unexplained(observer, believed, given.rank, at, bench)
        self.feels = motion.feels or self._unexplained is not None
        self._most = 1 + max((each.late for each in self._instruments), default=0)
        draw = start * generator(given.seed, "observer").standard_normal(n)
        q, v = np.array(at[1]), np.array(at[2])
        bare = State(q, v, np.zeros(0))
        if draw.any():
            q, v, _ = motion.moved(at[0], bare, chart.full @ draw)
        state = State(q, v, np.zeros(motion.biases + len(motion.pushes)))
        self._first = self.filter.first(Moment(at[0], state, np.zeros(nu)))
        self._ticks: list[Tick] = []
        self._count = 0
        self.measured = np.zeros(believed.nq), np.zeros(nv)
        self._innovation = np.zeros(len(self.joints.names))
        self._bias = np.zeros((2, motion.biases))
        self.kept: dict[str, Vector] = {
            "q_estimated": np.zeros(believed.nq),
            "v_estimated": np.zeros(nv),
            "q_estimate_error": np.zeros(nv),
            "v_estimate_error": np.zeros(nv),
        }
        if len(self._first.P):
            self.kept |= {"nees": np.zeros(()), "nis": np.zeros(())}
        if self._unexplained is not None:
            self.kept |= self._unexplained.kept

    def _at_frames(self, given: Given, bench: Bench, motion: BelievedMotion) -> list[Instrument]:
        instruments: list[Instrument] = []
        biases = 0
        kinds: dict[str, Any] = {"camera": Pictures, "imu": Inertial}
        for key, kind in kinds.items():
            for number, sensor in enumerate(getattr(given.sensing, key)):
                with blaming(f"sensing: {key}[{number}]"):
                    if not given.observer.late:
                        raise InputError(
                            f"a sensor at a frame, as this {key}, needs an observer that takes "
                            "readings of other moments; use kind = 'ekf' or 'ukf'."
                        )
                    rng = generator(given.seed, f"{key}.{sensor.frame}")
                    instruments.append(kind(sensor, bench, motion, biases, rng))
                    biases += len(instruments[-1].bias)
        return instruments

    @property
    def measurements(self) -> tuple[Measurement, ...]:
        """All that is ever measured: joints, then sensors at frames."""
        heard = [each.measurement for each in self._instruments if not each.silent]
        return (self.joints, *heard)

    def facts(self) -> dict[str, Any]:
        """Return what a result says of it: how many states it estimates, from what."""
        names = [name for each in self.measurements for name in each.names]
        return {"states": self.filter.motion.known, "measured": names}

    @property
    def steady(self) -> Measurement:
        """All that is measured of the state, as a linear analysis takes it: at every tick."""
        heard = [each.part() for each in self._instruments if not each.silent]
        if not heard:
            return self.joints
        motion, all_joints = self.filter.motion, np.arange(len(self.joints.names))
        hidden = motion.biases + len(motion.pushes)
        return Together((Part(self.joints, all_joints, 1.0), *heard), hidden)

    def notes(self) -> list[str]:
        """Return how a linear analysis takes it."""
        own = [self.filter.note] if self.filter.note else []
        return [*own, *sorted({each.note for each in self._instruments})]

    @property
    def _bias_units(self) -> list[str]:
        units = {"a": "m/s^2", "w": "rad/s"}
        return list(dict.fromkeys(units[name.split(".")[-1][0]] for name in self.bias_names()))

    def bias_names(self) -> tuple[str, ...]:
        """Return the names of the biases that are estimated."""
        each = [(one.measurement.names, one.biased) for one in self._instruments]
        return tuple(names[i] for names, biased in each for i in biased)

    def reading(
        self, clock: Vector, true: tuple[Vector, Vector, Vector], q: Vector, v: Vector, u: Vector
    ) -> Reading:
        """Return the estimate as a sensor's reading.

        Args:
            clock: Time, shape ``(1,)`` [s].
            true: The true state and acceleration, which sensors at frames read.
            q: Configuration that the sensors of the joints give.
            v: Velocity, likewise.
            u: The input that the drives hold.
        """
        out = self.kept["q_estimated"], self.kept["v_estimated"]

        def estimate() -> None:
            self.measured[0][:], self.measured[1][:] = q, v
            self._tick(TrueMotion(float(clock[0]), *true), u)

        return Reading(*out, (estimate,))

    def _tick(self, true: TrueMotion, u: Vector) -> None:
        t, ticks = true.t, self._ticks
        q, v = (part.copy() for part in self.measured)
        ticks.append(Tick(t, u.copy(), {0: (self.joints, (q, v))}, None))
        first = len(ticks) - 1
        bias = np.concatenate([np.zeros(0), *(each.bias for each in self._instruments)])
        for number, each in enumerate(self._instruments, 1):
            y = each.arrived(self._count, true)
            if y is not None:
                taken = len(ticks) - 1 - each.late
                ticks[taken].readings[number] = each.heard(y)
                first = min(first, taken)
        try:
            with np.errstate(over="ignore", invalid="ignore"):  # what is not finite is told below
                for k in range(first, len(ticks)):
                    estimate, joints = self._estimated_at(k)
                    ticks[k] = ticks[k]._replace(estimate=estimate)
        except (
            np.linalg.LinAlgError,
            InputError,
        ) as error:  # of a step that is no number
            said = str(error).rstrip(".")
            raise NotFinite(f"the observer has no estimate at t = {t:.6g} s: {said}.") from None
        self._count += 1
        del ticks[: -self._most - 1]
        self._keep(joints, estimate, true, bias)

    def _estimated_at(self, k: int) -> tuple[Estimate, Corrected]:
        """Return the estimate at a tick made anew, and what the joints' readings made of it."""
        tick, before = self._ticks[k], self._ticks[k - 1].estimate if k else None
        if before is not None:
            estimate = self.filter.predicted(before, tick.t, tick.u)
        else:  # older ones are dropped only where nothing goes back so far
            estimate = self._first._replace(at=self._first.at._replace(t=tick.t))
        joints: Corrected | None = None
        for _, (measurement, y) in sorted(tick.readings.items()):
            corrected = self.filter.corrected(estimate, measurement, y)
            joints, estimate = joints or corrected, corrected.estimate
        assert joints is not None  # those of the joints are always there, and first
        if not all(np.isfinite(part).all() for part in estimate.at.state):
            raise NotFinite(
                f"the observer's estimate must be finite; it is not at t = {tick.t:.6g} "
                "s. Its noise may be too large by far, or its model run away."
            )
        return estimate, joints

    def _keep(self, joints: Corrected, estimate: Estimate, true: TrueMotion, bias: Vector) -> None:
        kept, motion, (state, P) = self.kept, self.filter.motion, (estimate.at.state, estimate.P)
        kept["q_estimated"][:], kept["v_estimated"][:] = state.q, state.v
        kept["q_estimate_error"][:] = self._robot.difference(state.q, true.q)
        kept["v_estimate_error"][:] = true.v - state.v
        self._innovation[:] = joints.innovation
        known, estimated = motion.known, state.memory[: motion.biases]
        self._bias[:] = estimated, bias - estimated
        if "nees" in kept:
            bare = state._replace(memory=estimated)
            error = motion.deviation(bare, State(true.q, true.v, bias))
            kept["nees"][...] = normalised(error, P[:known, :known])
            kept["nis"][...] = normalised(joints.innovation, joints.S)
        if self._unexplained is not None:
            self._unexplained.tick(estimate.at, true)

    def signals(self) -> Mapping[str, Signal]:
        """Return what is recorded beside: the innovation of the joints, and biases."""
        units = {False: "rad or m", True: "rad/s or m/s"}
        mixed = len(self.joints.speeds) > 0
        words = "reading less its prediction"
        unit = units[False] + (f", {units[True]}" if mixed else "")
        told = {"innovation": (self._innovation, unit, words, self.joints.names)}
        if self._bias.size:
            for name, value, words in (
                ("bias", self._bias[0], "bias that the observer estimates"),
                ("bias_error", self._bias[1], "true bias less its estimate"),
            ):
                told[name] = value, ", ".join(self._bias_units), words, self.bias_names()
        return {f"observer.{name}": Signal(*each) for name, each in told.items()}
