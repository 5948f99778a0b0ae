"""From span to span: ticks, steps, samples, and what happens where a mode or a plant ends."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property

import numpy as np

from ukctrl.core.arrays import Vector
from ukctrl.core.program import BoundKernel, KernelSequence, KernelStep
from ukctrl.mechanics.dynamics import Dynamics
from ukctrl.mechanics.integrate.interval_kernels import StepMethod
from ukctrl.mechanics.integrate.ode_system import IntegratorState
from ukctrl.simulation.assemble.loop import Loop
from ukctrl.simulation.assemble.right_hand_side import (
    applied_input,
    copy_leading,
    copy_minimum,
    copy_state,
)
from ukctrl.simulation.events.event_schedule import TIME_RTOL, EventSchedule, Interval, Times
from ukctrl.simulation.step.plant_tables import PlantTables, run_interval, run_segment
from ukctrl.simulation.step.reset import InitialArrays

Progress = Callable[[float, float], None]
"""Called now and then with the time reached and the duration [s]."""


class Stepper(Loop):
    """A loop on its way through time."""

    _initial_arrays: InitialArrays
    """What its tables held before the run."""
    _progress: Progress
    _records_signals = True
    """Whether law or effects have something to tell beside what every run records."""

    def _run(self) -> None:
        """Run to the end.

        Under a hold the law's memory advances at the ticks. Between them there is none to
        integrate; its place is taken by the energy fed to the robot, which jumps too fast to be
        integrated from the samples. Under continuous control that energy, where it is wanted,
        stands behind the memory.
        """
        q, v, memory = self.state
        fed = np.zeros(1 if self._integrates_energy or self._sampled else 0)
        state = IntegratorState(q, v, fed if self._sampled else np.append(memory, fed))
        timing = self.scenario.timing
        near = TIME_RTOL * (timing.sample if timing.control is None else timing.control)
        if not self._sampled:
            state = self._settle_contacts(self.t0, state)
        for segment in self._schedule(near, self.tick_times).segments():
            for _ in range(segment.plant_changes):  # two within a rounding are two
                state = self._next_plant(float(segment.times[0, 0]), state)
            around, system = self._plant_tables(), self._plants.integrator.system
            # whole segments in machine code; else single intervals; else steps by Python, slowest
            # by far
            if self._runs_segments(around):
                state = run_segment(segment, system, around, state)
                self._report_progress(float(segment.times[-1, 1]))
                continue
            for span in segment.intervals():
                if self._sampled:
                    state = self._start_events(state, span)
                if self._steps_compiled(around):
                    state = self._step_compiled(span, around, state)
                else:
                    state = self._step_in_python(span, state)

    def _steps_compiled(self, around: PlantTables) -> bool:
        """Return whether machine code takes the steps of a span that runs alone."""
        if around.method is None or (self._sampled and self.contacts is None):
            return False
        return around.method.is_adaptive or not self._has_modes

    @property
    def _has_modes(self) -> bool:
        """Whether something ends within a span: a mode of the law, or of contacts."""
        return self.contacts is not None or (self.law.switches and not self._sampled)

    def _step_compiled(
        self, span: Interval, around: PlantTables, state: IntegratorState
    ) -> IntegratorState:
        """Run a span, with the switches in it."""
        remaining: Interval | None = span
        system = self._plants.integrator.system
        while remaining is not None:
            state, remaining, switches = run_interval(
                remaining, system, around, state, self._report_progress
            )
            if switches and remaining is not None:
                state = self._apply_switches(remaining.start, state)
                if remaining.start < remaining.stop:
                    continue
                for t in remaining.outputs:
                    self._record(t, state)
                remaining = None
            elif remaining is not None:
                return self._step_in_python(remaining, state)
        return state

    def _schedule(self, near: float, ticks: Sequence[float]) -> EventSchedule:
        """Return the spans of the run."""
        delay, changes = self.effects.delay, self._plants.change_times
        arrivals = [t + delay for t in ticks] if delay else ()
        if not self._sampled and self._runs_segments(self._plant_tables()):
            ticks = self.outputs  # fixed steps begin anew at each
        return EventSchedule(self.outputs, self.t1, near, ticks, arrivals, changes)

    def _runs_segments(self, around: PlantTables) -> bool:
        """Return whether machine code runs span after span."""
        # an event within a span ends it, and the next begins elsewhere
        if around.method is None or self._has_modes:
            return False
        return self._sampled or not around.method.is_adaptive

    def _report_progress(self, t: float) -> None:
        """Tell how far the run is."""
        self._progress(t - self.t0, self.t1 - self.t0)

    def _step_in_python(self, span: Interval, state: IntegratorState) -> IntegratorState:
        """Run a span whose steps Python takes."""
        guard = None
        if self._has_modes:
            guard = self._guard if self.contacts is None else self._guard_margin
        t, outputs = span.start, memoryview(span.outputs)  # long ones are not copied
        if outputs and outputs[0] == t:
            self._record(t, state)
            outputs = outputs[1:]
        targets, at = _targets(outputs, span), 0
        while at < len(targets):
            tail, advance = targets[at:], self._plants.integrator.advance
            for t, state in advance(t, state, span.stop, tail, guard):  # noqa: B020
                if t == targets[at]:
                    if at < len(outputs):
                        self._record(t, state)
                    at += 1
            if self._has_modes:
                state = self._apply_switches(t, state)
        return state

    def _guard_margin(self, t: float, state: IntegratorState) -> float:
        """Return a number that is positive while the modes of law and contacts last."""
        around = self._plant_tables()
        self._write(t, state)
        around.guard()
        return float(around.margin[0])

    def _apply_switches(self, t: float, state: IntegratorState) -> IntegratorState:
        """Return the state after the switches of law and contacts that are due."""
        if not self._sampled:
            state = self._settle_law(t, state)
        return self._settle_contacts(t, state)

    def _settle_contacts(self, t: float, state: IntegratorState) -> IntegratorState:
        """Return the state with modes of the contacts that hold there."""
        if self.contacts is None:
            return state
        contacts = self.plant.contacts
        assert contacts is not None

        def evaluate(t: float, state: IntegratorState) -> float:
            self._guard_margin(t, state)
            return float(contacts.smallest_margin[0])

        return self.contacts.consistent_state(self.plant, t, state, evaluate)

    def _settle_law(self, t: float, state: IntegratorState) -> IntegratorState:
        """Return the state after the switches of the law that are due."""
        if not self.law.switches or self._guard(t, state) > 0.0:
            return state
        self.switches.append(t)
        size = len(self.law.memory)
        memory = self.law.settled(self.believed_model, state.memory[:size])
        return IntegratorState(state.q, state.v, np.append(memory, state.memory[size:]))

    def _next_plant(self, t: float, state: IntegratorState) -> IntegratorState:
        """Go on with the next plant; what it has more of energy was fed to it."""
        state = self._plants.advance(t, state)
        self.plant = self.recorder.truth = self._plants.dynamics
        return state

    def _start_events(self, plant: IntegratorState, span: Interval) -> IntegratorState:
        """Let happen what does at the start of a span: a tick of the law, and late inputs."""
        around = self._plant_tables()
        self._write(span.start, plant)
        if span.tick:
            around.tick()
        for _ in range(span.arrivals):
            around.arrival()
        return self._settle_contacts(span.start, plant)

    def _write(self, t: float, state: IntegratorState) -> None:
        """Write a state into the port of the loop."""
        self._plants.integrator.system.write(t, state)

    def _record(self, t: float, state: IntegratorState) -> None:
        """Keep a sample."""
        self._write(t, state)
        self._plant_tables().sample()
        self._report_progress(t)

    @cached_property
    def _arounds(self) -> dict[Dynamics, PlantTables]:
        return {}

    def _plant_tables(self) -> PlantTables:
        """Return what happens around the plant in force."""
        plant = self.plant
        if plant not in self._arounds:
            self._arounds[plant] = around = PlantTables(
                self.sample_steps(
                    plant, self._plants.integrator.system, tells=self._records_signals
                ),
                self._tick_table(),
                KernelSequence((self.arrival_step,)),
                *self._guard_table(plant),
                self._plants.integrator.correction_steps,
                self._stepping(),
            )
            self._initial_arrays.add(*around)
        return self._arounds[plant]

    def _guard_table(self, plant: Dynamics) -> tuple[KernelSequence, Vector]:
        """Return what writes the law's guard at the state in the port of the loop, and where."""
        margin, law, steps = np.ones(1), np.full(1, np.inf), list[KernelStep]()
        system, s, contacts = self._plants.integrator.system, plant.snapshot, plant.contacts
        if contacts is not None:
            u, drives = applied_input(
                self.effects, s, self.held_input if self._sampled else self.tick.u
            )
            steps += [*system.steps.items, *drives, *plant.margin_steps(system.arrays.a, u)]
        if self.law.switches and not self._sampled:
            steps += self._law_guard(plant, law)
        if not steps:
            return KernelSequence(()), margin
        contact_margin = law if contacts is None else contacts.smallest_margin
        return KernelSequence(
            (*steps, BoundKernel(copy_minimum, law, contact_margin, margin))
        ), margin

    def _law_guard(self, plant: Dynamics, margin: Vector) -> Iterator[KernelStep]:
        """Yield what writes the law's guard there."""
        s, b, effects = plant.snapshot, self.believed_model.snapshot, self.effects
        memory = self.tick.memory
        yield BoundKernel(copy_leading, self._plants.integrator.system.arrays.memory, memory)
        if self.believed_model is not plant:
            if effects.senses:
                yield from plant.steps.items
            q, v, sensors = effects.sensor_steps(s.clock, s.q, s.v)
            yield from sensors
            yield BoundKernel(copy_state, s.clock, q, v, b.clock, b.q, b.v)
        guard = KernelSequence(self.law.guard_steps(self.believed_model, memory, margin))
        yield from (*self.believed_model.steps_for(guard), *guard.items)

    def _tick_table(self) -> KernelSequence:
        return self.tick_steps(self.plant) if self._sampled else KernelSequence(())

    def _stepping(self) -> StepMethod | None:
        """Return the method, where all of a step is compiled."""
        stepping = self._plants.integrator.step_method
        if self._sampled and stepping is not None and len(stepping.adaptive.history.steps):
            return None  # between ticks nobody looks out for singular positions yet
        return stepping


def _targets(outputs: Times, span: Interval) -> Times:
    """Return the times at which to stop in a span: its outputs, and its end."""
    if outputs and outputs[-1] == span.stop:
        return outputs
    return array("d", [*outputs, span.stop])
