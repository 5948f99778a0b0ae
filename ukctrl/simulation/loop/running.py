"""From span to span: ticks, steps, samples, and what happens where a mode or a plant ends."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property

import numpy as np

from ukctrl.core.arrays import Vector
from ukctrl.core.program import Call, Step, Steps
from ukctrl.mechanics.dynamics import Dynamics
from ukctrl.mechanics.integrate.held_kernels import Stepping
from ukctrl.mechanics.integrate.system import State
from ukctrl.simulation.loop.around import Around, run_span, run_together
from ukctrl.simulation.loop.closed_loop import Loop
from ukctrl.simulation.loop.rates import applied, copy_common, copy_smaller, same_state
from ukctrl.simulation.loop.rewind import Origin
from ukctrl.simulation.loop.spans import SAME, Schedule, Span, Times

Progress = Callable[[float, float], None]
"""Called now and then with the time reached and the duration [s]."""


class Running(Loop):
    """A loop on its way through time."""

    _origin: Origin
    """What its tables held before the run."""
    _progress: Progress
    _tells = True
    """Whether law or effects have something to tell beside what every run records."""

    def _run(self) -> None:
        """Run to the end.

        Under a hold the law's memory advances at the ticks. Between them there is none to
        integrate; its place is taken by the energy fed to the robot, which jumps too fast to be
        integrated from the samples. Under continuous control that energy, where it is wanted,
        stands behind the memory.
        """
        q, v, memory = self.state
        fed = np.zeros(1 if self._metered or self._sampled else 0)
        state = State(q, v, fed if self._sampled else np.append(memory, fed))
        timing = self.scenario.timing
        near = SAME * (timing.sample if timing.control is None else timing.control)
        if not self._sampled:
            state = self._touching(self.t0, state)
        for part in self._schedule(near, self.due).parts():
            if part.changes:
                state = self._changed(float(part.times[0, 0]), state)
            around, system = self._around(), self._plants.integrator.system
            if self._together(around):
                state = run_together(part, system, around, state)
                self._pause(float(part.times[-1, 1]))
                continue
            for span in part.spans():
                if self._sampled:
                    state = self._ticked(state, span)
                if self._by_machine_code(around):
                    state = self._adaptively(span, around, state)
                else:
                    state = self._one_by_one(span, state)

    def _by_machine_code(self, around: Around) -> bool:
        """Return whether machine code takes the steps of a span that runs alone."""
        if around.stepping is None or (self._sampled and self.contacts is None):
            return False
        return around.stepping.adapts or not self._has_modes

    @property
    def _has_modes(self) -> bool:
        """Whether something ends within a span: a mode of the law, or of contacts."""
        return self.contacts is not None or (self.law.switches and not self._sampled)

    def _adaptively(self, span: Span, around: Around, state: State) -> State:
        """Run a span, with the switches in it."""
        left: Span | None = span
        system = self._plants.integrator.system
        while left is not None:
            state, left, switches = run_span(left, system, around, state, self._pause)
            if switches and left is not None:
                state = self._switched(left.start, state)
                if left.start < left.stop:
                    continue
                for t in left.outputs:
                    self._keep(t, state)
                left = None
            elif left is not None:
                return self._one_by_one(left, state)
        return state

    def _schedule(self, near: float, ticks: Sequence[float]) -> Schedule:
        """Return the spans of the run."""
        delay, changes = self.conditions.delay, self._plants.changes
        arrivals = [t + delay for t in ticks] if delay else ()
        if not self._sampled and self._together(self._around()):
            ticks = self.outputs  # fixed steps begin anew at each
        return Schedule(self.outputs, self.t1, near, ticks, arrivals, changes)

    def _together(self, around: Around) -> bool:
        """Return whether machine code runs span after span."""
        if around.stepping is None or self._has_modes:
            return False
        return self._sampled or not around.stepping.adapts

    def _pause(self, t: float) -> None:
        """Tell how far the run is."""
        self._progress(t - self.t0, self.t1 - self.t0)

    def _one_by_one(self, span: Span, state: State) -> State:
        """Run a span whose steps Python takes."""
        guard = None
        if self._has_modes:
            guard = self._guard if self.contacts is None else self._margin
        t, outputs = span.start, memoryview(span.outputs)  # long ones are not copied
        if outputs and outputs[0] == t:
            self._keep(t, state)
            outputs = outputs[1:]
        targets, at = _targets(outputs, span), 0
        while at < len(targets):
            rest, advance = targets[at:], self._plants.integrator.advance
            for t, state in advance(t, state, span.stop, rest, guard):  # noqa: B020
                if t == targets[at]:
                    if at < len(outputs):
                        self._keep(t, state)
                    at += 1
            if self._has_modes:
                state = self._switched(t, state)
        return state

    def _margin(self, t: float, state: State) -> float:
        """Return a number that is positive while the modes of law and contacts last."""
        around = self._around()
        self._write(t, state)
        around.guard()
        return float(around.margin[0])

    def _switched(self, t: float, state: State) -> State:
        """Return the state after the switches of law and contacts that are due."""
        if not self._sampled:
            state = self._settled(t, state)
        return self._touching(t, state)

    def _touching(self, t: float, state: State) -> State:
        """Return the state with modes of the contacts that hold there."""
        if self.contacts is None:
            return state
        own = self.truth.contacts
        assert own is not None

        def evaluate(t: float, state: State) -> float:
            self._margin(t, state)
            return float(own.least[0])

        return self.contacts.settled(self.truth, t, state, evaluate)

    def _settled(self, t: float, state: State) -> State:
        """Return the state after the switches of the law that are due."""
        if not self.law.switches or self._guard(t, state) > 0.0:
            return state
        self.switches.append(t)
        size = len(self.law.memory)
        memory = self.law.settled(self.belief, state.memory[:size])
        return State(state.q, state.v, np.append(memory, state.memory[size:]))

    def _changed(self, t: float, state: State) -> State:
        """Go on with the next plant; what it has more of energy was fed to it."""
        state = self._plants.advance(t, state)
        self.truth = self.recorder.truth = self._plants.dynamics
        return state

    def _ticked(self, plant: State, span: Span) -> State:
        """Let happen what does at the start of a span: a tick of the law, and late inputs."""
        around = self._around()
        self._write(span.start, plant)
        if span.tick:
            around.tick()
        for _ in range(span.arrivals):
            around.arrival()
        return self._touching(span.start, plant)

    def _write(self, t: float, state: State) -> None:
        """Write a state into the port of the loop."""
        self._plants.integrator.system.write(t, state)

    def _keep(self, t: float, state: State) -> None:
        """Keep a sample."""
        self._write(t, state)
        self._around().sample()
        self._pause(t)

    @cached_property
    def _arounds(self) -> dict[Dynamics, Around]:
        return {}

    def _around(self) -> Around:
        """Return what happens around the plant in force."""
        plant = self.truth
        if plant not in self._arounds:
            self._arounds[plant] = around = Around(
                self.sampling(plant, self._plants.integrator.system, tells=self._tells),
                self._ticking(),
                Steps((self.arrive,)),
                *self._guarding(plant),
                self._plants.integrator.after,
                self._stepping(),
            )
            self._origin.note(*around)
        return self._arounds[plant]

    def _guarding(self, plant: Dynamics) -> tuple[Steps, Vector]:
        """Return what writes the law's guard at the state in the port of the loop, and where."""
        margin, law, steps = np.ones(1), np.full(1, np.inf), list[Step]()
        system, s, own = self._plants.integrator.system, plant.snapshot, plant.contacts
        if own is not None:
            u, drives = applied(self.conditions, s, self.held if self._sampled else self.tick.u)
            steps += [*system.steps.every, *drives, *plant.margin_steps(system.port.a, u)]
        if self.law.switches and not self._sampled:
            steps += self._law_guard(plant, law)
        if not steps:
            return Steps(()), margin
        least = law if own is None else own.least
        return Steps((*steps, Call(copy_smaller, law, least, margin))), margin

    def _law_guard(self, plant: Dynamics, margin: Vector) -> Iterator[Step]:
        """Yield what writes the law's guard there."""
        s, b, met = plant.snapshot, self.belief.snapshot, self.conditions
        memory = self.tick.memory
        yield Call(copy_common, self._plants.integrator.system.port.memory, memory)
        if self.belief is not plant:
            if met.senses:
                yield from plant.steps.every
            q, v, sensors = met.sensing(s.clock, s.q, s.v)
            yield from sensors
            yield Call(same_state, s.clock, q, v, b.clock, b.q, b.v)
        guard = Steps(self.law.guard_steps(self.belief, memory, margin))
        yield from (*self.belief.steps_for(guard), *guard.every)

    def _ticking(self) -> Steps:
        return self.ticking(self.truth) if self._sampled else Steps(())

    def _stepping(self) -> Stepping | None:
        """Return the method, where all of a step is compiled."""
        stepping = self._plants.integrator.stepping
        if self._sampled and stepping is not None and len(stepping.chosen.recent.steps):
            return None  # between ticks nobody looks out for singular positions yet
        return stepping


def _targets(outputs: Times, span: Span) -> Times:
    """Return the times at which to stop in a span: its outputs, and its end."""
    if outputs and outputs[-1] == span.stop:
        return outputs
    return array("d", [*outputs, span.stop])
