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
from ukctrl.simulation.observers.measurements import Measurement, Seen, joints
from ukctrl.simulation.observers.observer import Observer
from ukctrl.simulation.observers.sensing import Camera, Sensing

WHOLE = 1e-6
"""A time this close to a whole number of control periods is one, in periods."""


class Given(NamedTuple):
    """What a scenario says about an observer."""

    observer: Observer
    sensing: Sensing
    effects: Sequence[Effect]
    seed: int
    rank: RankPolicy


class Tick(NamedTuple):
    """What an observer knows of a tick."""

    u: Vector
    """The input held since the tick before."""
    readings: list[tuple[Measurement, Any]]
    """What was measured at it, whenever that arrived."""
    estimate: Estimate


@final
class Pictures:
    """The pictures of a camera in a run: when they are taken, and when they arrive."""

    def __init__(self, camera: Camera, bench: Bench, seen: Seen, rng: np.random.Generator) -> None:
        period = bench.period or 1.0
        self.seen, self._rng, self._dropped = seen, rng, camera.dropped
        self._every = _whole("period", camera.period or period, period)
        self.late = _whole("delay", camera.delay, period)
        if self._every < 1:
            raise InputError(f"period must be at least the control period, {period:g} s.")
        self._coming: dict[int, Vector] = {}

    def arrived(self, tick: int, q: Vector) -> Vector | None:
        """Take a picture of the true robot where one is due; return what arrives at a tick."""
        if tick % self._every == 0:
            noise, luck = self._rng.standard_normal(3), self._rng.random()
            if luck >= self._dropped:
                self._coming[tick + self.late] = self.seen.position(q) + self.seen.std * noise
        return self._coming.pop(tick, None)


def _whole(key: str, time: float, period: float) -> int:
    count = round(time / period)
    if abs(time / period - count) > WHOLE:
        raise InputError(
            f"{key} must be a whole number of control periods, {period:g} s; got {time:g} s."
        )
    return count


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
    """

    def __init__(
        self, given: Given, believed: Robot, bench: Bench, at: tuple[float, Vector, Vector]
    ) -> None:
        observer, sensing, period = given.observer, given.sensing, bench.period
        assert period is not None  # the scenario has refused an observer without ticks
        self._robot = believed
        with blaming("observer"):
            motion = BelievedMotion(believed, given.rank, period / observer.steps, at)
            chart = motion.chart
            n, nv = len(chart.A), believed.nv
            chosen = np.concatenate([chart.positions, nv + chart.velocities])
            start = observer.start(believed)[chosen]
            own = observer.measured_std(believed)
            self.joints = joints(sensing, given.effects, bench, own)
            self.filter: Filter = observer.attach(motion, self.joints, start, period)
        self._pictures = tuple(self._cameras(given, bench))
        self._most = 1 + max((each.late for each in self._pictures), default=0)
        draw = start * generator(given.seed, "observer").standard_normal(n)
        state = State(np.array(at[1]), np.array(at[2]), np.zeros(0))
        state = motion.moved(at[0], state, chart.full @ draw) if draw.any() else state
        self._estimate = self.filter.first(at[0], state)
        self._ticks: list[Tick] = []
        self._count = 0
        self.measured = np.zeros(believed.nq), np.zeros(nv)
        self._innovation = np.zeros(len(self.joints.names))
        self.kept: dict[str, Vector] = {
            "q_estimated": np.zeros(believed.nq),
            "v_estimated": np.zeros(nv),
            "q_estimate_error": np.zeros(nv),
            "v_estimate_error": np.zeros(nv),
        }
        if len(self._estimate.P):
            self.kept |= {"nees": np.zeros(()), "nis": np.zeros(())}

    def _cameras(self, given: Given, bench: Bench) -> list[Pictures]:
        pictures = []
        for number, camera in enumerate(given.sensing.camera):
            with blaming(f"sensing: camera[{number}]"):
                if not given.observer.late:
                    raise InputError(
                        "a camera needs an observer that takes readings of other moments; use "
                        "kind = 'ekf' or 'ukf'."
                    )
                rng = generator(given.seed, f"camera.{camera.frame}")
                pictures.append(Pictures(camera, bench, Seen(camera, self._robot), rng))
        return pictures

    @property
    def measurements(self) -> tuple[Measurement, ...]:
        """All that is measured: joints, then cameras."""
        return (self.joints, *(each.seen for each in self._pictures))

    def facts(self) -> dict[str, Any]:
        """Return what a result says of it: how many states it estimates, from what."""
        names = [name for each in self.measurements for name in each.names]
        return {"states": len(self.filter.motion.chart.A), "measured": names}

    def notes(self) -> list[str]:
        """Return what a linear analysis leaves out of it."""
        cameras = ["cameras are left out of the observer."] if self._pictures else []
        return [self.filter.note, *cameras] if self.filter.note else cameras

    def reading(
        self, clock: Vector, true: tuple[Vector, Vector], q: Vector, v: Vector, u: Vector
    ) -> Reading:
        """Return the estimate as a sensor's reading.

        Args:
            clock: Time, shape ``(1,)`` [s].
            true: The true state, of which cameras take pictures.
            q: Configuration that the sensors of the joints give.
            v: Velocity, likewise.
            u: The input that the drives hold.
        """
        out = self.kept["q_estimated"], self.kept["v_estimated"]

        def estimate() -> None:
            self.measured[0][:], self.measured[1][:] = q, v
            self._tick(float(clock[0]), true, u)

        return Reading(*out, (estimate,))

    def _tick(self, t: float, true: tuple[Vector, Vector], u: Vector) -> None:
        q, v = (part.copy() for part in self.measured)
        here = Tick(u.copy(), [(self.joints, (q, v))], self._estimate._replace(t=t))
        ticks = self._ticks
        ticks.append(here)
        first = len(ticks) - 1
        for each in self._pictures:
            y = each.arrived(self._count, true[0])
            if y is not None:
                taken = len(ticks) - 1 - each.late
                ticks[taken].readings.append((each.seen, y))
                first = min(first, taken)
        try:
            for k in range(first, len(ticks)):
                joints = self._estimated_at(k)
        except np.linalg.LinAlgError as error:
            raise NotFinite(f"the observer has no estimate at t = {t:.6g} s: {error}.") from None
        self._count += 1
        del ticks[: -self._most - 1]
        self._keep(joints, ticks[-1].estimate, true)

    def _estimated_at(self, k: int) -> Corrected:
        """Estimate at a tick anew; return what the joints' readings made of it."""
        tick = self._ticks[k]
        if k:
            before = self._ticks[k - 1].estimate
            estimate = self.filter.predicted(before, tick.estimate.t, tick.u)
        else:  # older ones are dropped only where nothing goes back so far
            estimate = self._estimate
        joints: Corrected | None = None
        for measurement, y in tick.readings:
            corrected = self.filter.corrected(estimate, measurement, y)
            joints, estimate = joints or corrected, corrected.estimate
        assert joints is not None  # those of the joints are always there, and first
        if not all(np.isfinite(part).all() for part in estimate.state):
            raise NotFinite(
                f"the observer's estimate must be finite; it is not at t = {tick.estimate.t:.6g} "
                "s. Its noise may be too large by far, or its model run away."
            )
        self._ticks[k] = tick._replace(estimate=estimate)
        return joints

    def _keep(self, joints: Corrected, estimate: Estimate, true: tuple[Vector, Vector]) -> None:
        kept, (q, v) = self.kept, true
        state = estimate.state
        kept["q_estimated"][:], kept["v_estimated"][:] = state.q, state.v
        kept["q_estimate_error"][:] = self._robot.difference(state.q, q)
        kept["v_estimate_error"][:] = v - state.v
        self._innovation[:] = joints.innovation
        if "nees" in kept:
            motion = self.filter.motion
            error = motion.deviation(state, State(q, v, state.memory))
            kept["nees"][...] = normalised(error, estimate.P)
            kept["nis"][...] = normalised(joints.innovation, joints.S)

    def signals(self) -> Mapping[str, Signal]:
        """Return what is recorded beside: the innovation of the joints."""
        units = {False: "rad or m", True: "rad/s or m/s"}
        mixed = len(self.joints.speeds) > 0
        return {
            "observer.innovation": Signal(
                self._innovation,
                units[False] + (f", {units[True]}" if mixed else ""),
                "by how much readings are off what the observer predicted",
                self.joints.names,
            )
        }
