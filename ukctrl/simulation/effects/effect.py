"""Effect: one thing that stands between the ideal loop and the bench.

An `Effect` is a frozen description, readable from a file. It acts in one of four places:

| class | acts on | becomes |
|---|---|---|
| `PlantEffect` | the true robot, which no law sees | another `Robot` |
| `SensorEffect` | what the law measures | a `Sensor` |
| `InputEffect` | what is applied of what the law commands | a `Drive` |
| `ClockEffect` | when a sampled law ticks | other times |

A `Sensor` or `Drive` holds the state of one run, such as the samples that a delay keeps back. Those
that act at the ticks of a sampled loop are called once a tick, in order; only `sampled = False`
ones, which have no state, also serve continuous control. The loop calls them from machine code;
those of the catalogue are kernels (`ukctrl.simulation.effects.kernel_effects`), which is faster.
"""

from __future__ import annotations

import abc
import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
from pydantic import model_validator

from ukctrl.control.task import Signal
from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.errors import InputError
from ukctrl.core.fields import Count, Seconds, spec
from ukctrl.robot import Robot, Snapshot


class RunContext(NamedTuple):
    """The run that an effect is attached to."""

    robot: Robot
    """The true robot, before any effect."""
    start: float
    """Time of the start [s]."""
    duration: float
    """Length of the run [s]."""
    period: float | None = None
    """Period of the zero-order hold [s]; None under continuous control."""


@spec
class Effect:
    """Base class of all effects. Derive your own from one of the four classes below."""

    sampled: ClassVar[bool] = False
    """Whether it acts at the ticks of a sampled loop, so that it needs ``timing.control``."""
    alone: ClassVar[bool] = False
    """Whether a second one of its kind would contradict it."""

    moves_ticks: ClassVar[bool] = False
    """Whether the law ticks at other times than its period says."""

    name: str = ""
    """Short name, which its signals and its random numbers go by; absent: its kind."""


@spec
class PlantEffect(Effect, abc.ABC):
    """Changes the true robot, from some times on where it says so."""

    def instants(self) -> tuple[float, ...]:
        """Return the times at which it changes abruptly [s]; the integration restarts there."""
        return ()

    def lasts(self, at: float) -> bool:
        """Return whether it acts from the start of the run, or from an instant, until the next."""
        return True

    @abc.abstractmethod
    def altered(self, robot: Robot, at: float, rng: np.random.Generator) -> Robot:
        """Return the robot as it is from the time ``at`` until the next instant.

        Args:
            robot: The true robot, with the effects before this one.
            at: The start of the run, or an instant of this or another effect [s].
            rng: Random numbers of this effect alone, the same ones at every call.

        Raises:
            InputError: The effect does not fit the robot.
        """

    def signals(self, snapshot: Snapshot, since: float) -> Mapping[str, Signal]:
        """Return what to record of it; called at output times only.

        Args:
            snapshot: The true robot.
            since: The last instant of any effect, from which on the robot is as it is [s].
        """
        return {}

    def facts(self, robot: Robot, rng: np.random.Generator) -> Mapping[str, Any]:
        """Return what was drawn, for the provenance."""
        return {}


class Sensor(abc.ABC):
    """A part of the way from the robot to the law, in one run."""

    @abc.abstractmethod
    def read(self, t: float, q: Vector, v: Vector) -> tuple[Vector, Vector]:
        """Return what becomes of the measured configuration and velocity at a tick.

        The arguments must not be changed in place.
        """


class LinearSensorModel(NamedTuple):
    """Linear part of a sensor, for the analysis of a loop near a state."""

    is_constant_offset: bool = False
    """Whether it is off by a constant, which moves the point but adds no dynamics."""
    delay: float = 0.0
    """How late readings are [s]."""
    differentiates: bool = False
    """Whether it works velocities out from the configurations of two ticks."""
    cutoff: float | None = None
    """Of the low-pass on those velocities [Hz]; None where there is none."""


@spec
class SensorEffect(Effect, abc.ABC):
    """Changes what the law measures."""

    def linear(self, context: RunContext) -> LinearSensorModel | None:
        """Return its linear part; None where it has none: a linear analysis leaves it out."""
        return None

    def deviations(self, context: RunContext) -> Matrix:
        """Return the standard deviations of its noise, of positions and speeds: ``(2, nv)``."""
        return np.zeros((2, context.robot.nv))

    @abc.abstractmethod
    def attach(self, context: RunContext, rng: np.random.Generator) -> Sensor:
        """Bind to a run.

        Raises:
            InputError: The effect does not fit the robot.
        """


class Bounds(NamedTuple):
    """Input bounds, each of shape ``(nu,)``."""

    low: Vector
    high: Vector


class Drive(abc.ABC):
    """A part of the way from the law to the robot, in one run."""

    delay: float = 0.0
    """By how much the input arrives late [s]."""

    @abc.abstractmethod
    def apply(self, t: float, u: Vector, rate: Vector) -> Vector:
        """Return what becomes of an input; ``u`` must not be changed in place.

        Args:
            t: Time [s].
            u: Input, shape ``(nu,)``.
            rate: Rates of the actuators, $B^T v$, shape ``(nu,)``.
        """

    def bounds(self, rate: Vector) -> Bounds | None:
        """Return the bounds that it keeps the input to; None where it has none."""
        return None


@spec
class InputEffect(Effect, abc.ABC):
    """Changes what is applied of what the law commands."""

    only_delays: ClassVar[bool] = False
    """Whether an input is applied as it is, and late: that is linear."""

    @abc.abstractmethod
    def attach(self, context: RunContext, rng: np.random.Generator) -> Drive:
        """Bind to a run.

        Raises:
            InputError: The effect does not fit the robot.
        """


@spec
class ClockEffect(Effect, abc.ABC):
    """Changes when a sampled law ticks."""

    sampled: ClassVar[bool] = True
    moves_ticks: ClassVar[bool] = True

    @abc.abstractmethod
    def ticks(self, times: Vector, context: RunContext, rng: np.random.Generator) -> Vector:
        """Return the times of the ticks [s], increasing; the first one must stay.

        Args:
            times: The ticks, with the effects before this one.
            context: The run.
            rng: Random numbers of this effect alone.

        Raises:
            InputError: The effect does not fit the period.
        """


def kind_of(effect: Effect) -> str:
    """Return the kind of an effect as a file says it; of a user's own class, its name."""
    kind = getattr(effect, "kind", None)
    return kind if isinstance(kind, str) else type(effect).__name__


def effect_labels(effects: Sequence[Effect]) -> tuple[str, ...]:
    """Return one label an effect: its name, or its kind, numbered from the second on.

    >>> from ukctrl.simulation.effects import Bias, Noise
    >>> effect_labels((Noise(std=1), Bias(offset=1), Noise(std=2), Noise(std=3, name="gyro")))
    ('noise', 'bias', 'noise_2', 'gyro')
    """
    names: list[str] = []
    count: dict[str, int] = {}
    for effect in effects:
        kind = kind_of(effect)
        if not effect.name:
            count[kind] = count.get(kind, 0) + 1
        number = count.get(kind, 1)
        names.append(effect.name or (kind if number == 1 else f"{kind}_{number}"))
    return tuple(names)


def effect_rng(seed: int, label: str) -> np.random.Generator:
    """Return the random numbers of one effect.

    They depend on the scenario's seed and on the effect's label and on nothing else: every
    controller meets the same ones, and another effect does not change them.
    """
    # Python's own hash differs from process to process
    digest = hashlib.sha256(label.encode("utf-8", "surrogateescape")).digest()
    # the order of bytes is stated: the same numbers on every machine
    words = np.frombuffer(digest[:16], dtype="<u4").tolist()
    return np.random.default_rng(np.random.SeedSequence([seed, *words]))


@spec
class DelayLength(Effect):
    """Length of a delay, in time or in ticks."""

    time: Seconds | None = None
    """How late [s]; or else ``ticks``."""
    ticks: Count | None = None
    """How late, in control periods."""

    @model_validator(mode="after")
    def _one_length(self) -> DelayLength:
        if (self.time is None) == (self.ticks is None):
            came = "neither" if self.time is None else "both"
            raise InputError(f"needs either time [s] or ticks; got {came}.")
        return self


def delay_seconds(delay: DelayLength, context: RunContext) -> float:
    """Return the length of a delay [s].

    Raises:
        InputError: It is as long as the run.
    """
    length = delay.time if delay.time is not None else (delay.ticks or 0) * (context.period or 0.0)
    if not length < context.duration:
        raise InputError(
            f"the delay must be shorter than the run, {context.duration:g} s; got {length:g} s."
        )
    return length
