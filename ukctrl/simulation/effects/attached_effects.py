"""Attached effects: all those of a scenario, bound to one run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, NamedTuple, final

import numpy as np

from ukctrl.control.task import Signal
from ukctrl.core.arrays import Vector
from ukctrl.core.errors import InputError
from ukctrl.core.files.toml import error_context
from ukctrl.robot import Robot, Snapshot
from ukctrl.simulation.effects.effect import (
    Bounds,
    ClockEffect,
    Drive,
    Effect,
    InputEffect,
    PlantEffect,
    RunContext,
    Sensor,
    SensorEffect,
    effect_labels,
    effect_rng,
    kind_of,
)
from ukctrl.simulation.effects.kernel_effects import DriveOutput, KernelFunction, SensorOutput
from ukctrl.simulation.effects.signal_chain import ChainLink, chain

TIME_RTOL = 1e-12
"""Instants this close, relatively, are one [s]."""


class PlantSegment(NamedTuple):
    """The true robot from a time on."""

    start: float
    robot: Robot


def refuse_contradictions(effects: Sequence[Effect], sampled: bool) -> None:
    """Refuse effects that contradict each other or the timing, before any robot is loaded.

    Args:
        effects: The effects of a scenario.
        sampled: Whether its law ticks (``timing.control``).

    Raises:
        InputError: Two of one kind contradict each other, two have one name, or one acts at the
            ticks of a loop that has none.
    """
    named = effect_labels(effects)
    for number, (effect, label) in enumerate(zip(effects, named, strict=True)):
        kind, where = kind_of(effect), f"effect[{number}]"
        first = next(i for i, peer in enumerate(effects) if kind_of(peer) == kind)
        if effect.alone and first < number:
            raise InputError(
                f"{where}: a scenario must have one effect of kind '{kind}'; effect[{first}] is "
                "one already. Put both into one, or remove one."
            )
        if label in named[:number]:
            raise InputError(
                f"{where}: effects must have names of their own; '{label}' is that of "
                f"effect[{named.index(label)}] too."
            )
        if effect.sampled and not sampled:
            raise InputError(
                f"{where}: '{kind}' acts at the ticks of a sampled controller, and this one has "
                "none; give timing.control, such as control = 1e-3, or remove the effect."
            )


@final
class AttachedEffects:
    """Attached effects of a run: plants over time, sensor chain and drive chain.

    Args:
        effects: The effects of the scenario, in order.
        context: The run.
        seed: The scenario's seed.

    Raises:
        InputError: An effect does not fit the robot or the timing; the message names it.
    """

    def __init__(self, effects: Sequence[Effect], context: RunContext, seed: int) -> None:
        self._context, self._seed = context, seed
        self._generators: list[tuple[np.random.Generator, Any]] = []
        self._effects = tuple(zip(effect_labels(effects), effects, strict=True))
        self._on_plant: list[tuple[int, str, PlantEffect]] = []
        sensors: list[ChainLink] = []
        drives: list[Drive] = []
        inputs: list[tuple[bool, ChainLink]] = []
        for number, (label, effect) in enumerate(self._effects):
            with error_context(f"effect[{number}]"):
                if isinstance(effect, SensorEffect):
                    sensor: Sensor | None = effect.attach(context, self._rng(label))
                    if sensor is None:
                        raise InputError("attach must return a Sensor; got None.")
                    sensors.append(ChainLink(label, sensor))
                elif isinstance(effect, InputEffect):
                    drive: Drive | None = effect.attach(context, self._rng(label))
                    if drive is None:
                        raise InputError("attach must return a Drive; got None.")
                    drives.append(drive)
                    inputs.append((effect.sampled, ChainLink(label, drive)))
                elif isinstance(effect, PlantEffect):
                    _refuse_past(effect, context.start)
                    self._on_plant.append((number, label, effect))
                elif not isinstance(effect, ClockEffect):
                    raise InputError(
                        f"'{kind_of(effect)}' must be derived from PlantEffect, SensorEffect, "
                        "InputEffect or ClockEffect."
                    )
        self._sensors = tuple(sensors)
        # What follows the last drive that acts at ticks has no state and acts all the time.
        last = max((k + 1 for k, (sampled, _) in enumerate(inputs) if sampled), default=0)
        self._at_ticks = tuple(link for _, link in inputs[:last])
        self._always = tuple(link for _, link in inputs[last:])
        self._drives = tuple(drives)
        self.delay = sum(drive.delay for drive in drives)
        """By how much inputs arrive late [s]."""
        # refused now rather than when the run has begun
        self.ticks([context.start], np.inf)
        self.plants = tuple(self._plants())
        """The true robot, piece by piece; the scenario's own where no effect acts on it."""

    def _rng(self, label: str) -> np.random.Generator:
        """Return the random numbers of an effect, the same ones at every call."""
        rng = effect_rng(self._seed, label)
        # the state at birth will tell whether anything was drawn
        self._generators.append((rng, rng.bit_generator.state))
        return rng

    @property
    def random(self) -> bool:
        """Whether some effect has drawn a random number so far."""
        return any(_has_drawn(rng, fresh) for rng, fresh in self._generators)

    @property
    def senses(self) -> bool:
        """Whether the law measures anything but the true state."""
        return bool(self._sensors)

    @property
    def drives(self) -> bool:
        """Whether anything but the command of the law is applied."""
        return bool(self._at_ticks or self._always) or self.delay > 0.0

    @property
    def only_redraws_inertia(self) -> bool:
        """Whether all that they do is to draw another robot, which stays the same."""
        clocked = any(isinstance(effect, ClockEffect) for _, effect in self._effects)
        has_signals = any(
            # the recorder of a reused loop goes on asking the effects of its first run
            type(effect).signals is not PlantEffect.signals
            for *_, effect in self._on_plant
        )
        return not (self.senses or self.drives or clocked or has_signals) and len(self.plants) == 1

    @property
    def acts_on_plant(self) -> bool:
        """Whether the true robot is not that of the scenario."""
        return bool(self._on_plant)

    def sensor_steps(self, clock: Vector, q: Vector, v: Vector) -> SensorOutput:
        """Return what the law measures of the state in these arrays, and what writes it.

        The steps must run once a tick, because sensors have state.
        """
        (q, v), steps = chain(self._sensors, clock, (q, v))
        return q, v, steps

    def tick_drives(self, clock: Vector, u: Vector, rate: Vector) -> DriveOutput:
        """Return what becomes of a command at a tick, before any delay, and what writes it."""
        (u,), steps = chain(self._at_ticks, clock, (u,), rate)
        return u, steps

    def continuous_drives(self, clock: Vector, u: Vector, rate: Vector) -> DriveOutput:
        """Return what of an accepted command acts at a state, and what writes it."""
        (u,), steps = chain(self._always, clock, (u,), rate)
        return u, steps

    def sense(self, t: float, q: Vector, v: Vector) -> tuple[Vector, Vector]:
        """Return what the steps of `sensor_steps` make of a state."""
        if not self._sensors:
            return q, v
        q_read, v_read = self._sense(t, q, v)
        return q_read, v_read

    def apply_tick_drives(self, t: float, u: Vector, rate: Vector) -> Vector:
        """Return what the steps of `tick_drives` make of a command."""
        if not self._at_ticks or np.shape(u) != rate.shape:
            # of another shape it is the law's fault, as the robot will say
            return u
        return self._accept(t, u, rate)[0]

    def apply_continuous_drives(self, t: float, u: Vector, rate: Vector) -> Vector:
        """Return what the steps of `continuous_drives` make of an accepted command."""
        if not self._always or np.shape(u) != rate.shape:
            return u
        return self._act(t, u, rate)[0]

    @cached_property
    def _sense(self) -> KernelFunction:
        return KernelFunction(self.sensor_steps, self._context.robot.nq, self._context.robot.nv)

    @cached_property
    def _accept(self) -> KernelFunction:
        return KernelFunction(self.tick_drives, self._context.robot.nu, self._context.robot.nu)

    @cached_property
    def _act(self) -> KernelFunction:
        return KernelFunction(
            self.continuous_drives, self._context.robot.nu, self._context.robot.nu
        )

    def bounds(self, rate: Vector) -> Bounds | None:
        """Return the bounds of the input in force; None where there are none."""
        for drive in self._drives:
            bounds = drive.bounds(rate)
            if bounds is not None:
                return bounds
        return None

    def ticks(self, times: Sequence[float], stop: float) -> Sequence[float]:
        """Return when the law ticks, given when it should, before the end of the run [s]."""
        for number, (label, effect) in enumerate(self._effects):
            if isinstance(effect, ClockEffect):
                with error_context(f"effect[{number}]"):
                    rng = self._rng(label)
                    ticks = effect.ticks(np.asarray(times), self._context, rng)
                    # without a tick at the start no input would act there
                    if not len(ticks) or ticks[0] != times[0] or not (np.diff(ticks) > 0.0).all():
                        raise InputError("ticks must increase, and the first one must stay.")
                times = ticks[ticks < stop].tolist()
        return times

    def _plants(self) -> Iterator[PlantSegment]:
        begin, end = self._context.start, self._context.start + self._context.duration
        moments = [begin]
        for _, _, effect in self._on_plant:
            moments += [t for t in effect.instants() if begin < t < end]
        moments.sort()
        for k, at in enumerate(moments):
            if k + 1 < len(moments) and moments[k + 1] - at <= TIME_RTOL * max(1.0, abs(at)):
                # of two that are one the later counts: there both effects have changed
                continue
            yield PlantSegment(begin if k == 0 else at, self._robot(at))

    def _robot(self, at: float) -> Robot:
        robot = self._context.robot
        for number, label, effect in self._on_plant:
            with error_context(f"effect[{number}]"):
                # a fresh generator at each instant, so that the same robot is drawn again
                robot = effect.altered(robot, at, self._rng(label))
        return robot

    def signals(self, snapshot: Snapshot, since: float) -> Iterator[tuple[str, Signal]]:
        """Yield what the effects on the plant want recorded, by name.

        Args:
            snapshot: The true robot.
            since: When the plant last changed [s].
        """
        for _, label, effect in self._on_plant:
            for name, reading in effect.signals(snapshot, since).items():
                yield f"{label}.{name}", reading

    def report(self, *, drawn: bool) -> list[dict[str, Any]]:
        """Return which effects there were, and what was ``drawn`` for them where that is asked."""
        moments = []
        end = self._context.start + self._context.duration
        for label, effect in self._effects:
            entry: dict[str, Any] = {"name": label, "kind": kind_of(effect)}
            if isinstance(effect, PlantEffect):
                if drawn and (facts := effect.facts(self._context.robot, self._rng(label))):
                    entry["drawn"] = dict(facts)
                instants = effect.instants()
                if instants and min(instants) >= end:
                    entry["never"] = f"it begins at {min(instants):g} s, after the run."
            moments.append(entry)
        return moments


def _refuse_past(effect: PlantEffect, start: float) -> None:
    """Refuse what is over before the run starts; what is to come after its end is told instead.

    The length of a run is changed for a trial, and its later events should not stand in the way.
    """
    instants = effect.instants()
    if instants and max(instants) <= start and not effect.lasts(start):
        raise InputError(
            f"'{kind_of(effect)}' never acts: it ends at {max(instants):g} s, and the run starts "
            f"at {start:g} s. Move it, or remove the effect."
        )


def _has_drawn(rng: np.random.Generator, fresh: Any) -> bool:
    """Tell whether numbers were drawn from a generator of that state, or others split from it."""
    sequence = rng.bit_generator.seed_seq
    # children that were split off leave the state of their parent as it was
    split = isinstance(sequence, np.random.SeedSequence) and sequence.n_children_spawned > 0
    return split or bool(rng.bit_generator.state != fresh)
