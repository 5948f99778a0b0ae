"""Stepper: ticks, steps and samples from event to event, and switches of modes and plants."""

from __future__ import annotations

import time
from array import array
from collections.abc import Callable, Sequence

import numpy as np

from ukctrl.core.arrays import Vector
from ukctrl.core.compiled import config, is_tested_numba
from ukctrl.core.program import KernelSequence
from ukctrl.mechanics.dynamics import Dynamics
from ukctrl.mechanics.integrate.integrator import IntegrationFailed, check_bounded, locate_event
from ukctrl.mechanics.integrate.interval_kernels import (
    ARRIVAL_FAILED,
    BEGIN,
    DIVERGED,
    GUARD_CROSSED,
    GUARD_FAILED,
    INTERVALS_DONE,
    OUTPUTS_DONE,
    PAUSED,
    RATES_FAILED,
    SAMPLE_FAILED,
    STATUS,
    STEP_UNDERFLOW,
    TICK_FAILED,
    UNSETTLED,
    LoopState,
    begin_interval,
    continue_interval,
    run_intervals,
    take_sample,
)
from ukctrl.mechanics.integrate.ode_system import IntegratorState, OdeSystem
from ukctrl.mechanics.integrate.runge_kutta_kernels import T_OLD, T, dense_output, interpolate
from ukctrl.simulation.assemble.loop import Loop
from ukctrl.simulation.events.contact_events import ContactEvents
from ukctrl.simulation.events.event_schedule import (
    TIME_RTOL,
    EventSchedule,
    Interval,
    Segment,
    Times,
)
from ukctrl.simulation.events.input_delay import InputDelayLine
from ukctrl.simulation.record.recorder import Recorder
from ukctrl.simulation.step.plant_tables import (
    MeasuredState,
    PlantTables,
    TickState,
    guard_sequences,
    sample_sequence,
    tick_sequence,
)
from ukctrl.simulation.step.reset import InitialArrays

is_linkable = is_tested_numba and not config.DISABLE_JIT
if is_linkable:
    from ukctrl.simulation.step.linked_sequence import LinkedTables

PROGRESS_INTERVAL = 0.02
"""After so long Ctrl-C and progress have their turn [s]."""
Progress = Callable[[float, float], None]
"""Called now and then with the time reached and the duration [s]."""


class Stepper:
    """Stepper: advances a closed loop from event to event, and records its samples.

    It owns what changes from one event to the next beside the state: the memory and the measured
    state of a sampled law, inputs on their way, modes of contacts.
    """

    def __init__(self, loop: Loop, recorder: Recorder) -> None:
        self._loop, self._recorder = loop, recorder
        self.progress: Progress = lambda reached, duration: None
        """Called at times."""
        self.records_signals = True
        """Whether law or effects have something to tell beside what every run records."""
        self.switches: list[float] = []
        """When the law switched [s]."""
        q, v, memory = loop.state
        measured = MeasuredState(np.full(1, loop.t0), q.copy(), v.copy())
        self.ticks = TickState(measured, np.array(memory, dtype=np.float64), np.zeros(1, np.int64))
        self.contacts: ContactEvents | None = None
        """What becomes of contacts that only push; None where there are none."""
        if loop.plant.contacts is not None:
            keeper = loop.law.keeper
            models = [loop.believed_model, *(keeper.predicted_robots if keeper is not None else ())]
            # the believed robots' contacts follow the plant's; each once, and never the plant's own
            led = {id(one.contacts): one.contacts for one in models if one.contacts is not None}
            led.pop(id(loop.plant.contacts), None)
            self.contacts = ContactEvents([*led.values()])
        delay, period = loop.effects.delay, loop.scenario.timing.control or 0.0
        self._delay_line = InputDelayLine(
            delay, TIME_RTOL * period, loop.tick_times if delay else (), loop.robot.nu
        )
        self.arrival = KernelSequence((self._delay_line.arrive(loop.held_input),))
        """Lets the next delayed input act."""
        self.initial_arrays = InitialArrays()
        """What all tables held before the run."""
        self.tables: dict[Dynamics, PlantTables] = {}
        """What happens around each plant that the run has come to."""
        self._linked: list[LinkedTables] = []
        """Those of them that run often."""

    def run(self) -> None:
        """Run to the end.

        Under a hold the law's memory advances at the ticks. Between them there is none to
        integrate; its place is taken by the energy fed to the robot, which jumps too fast to be
        integrated from the samples. Under continuous control that energy, where it is wanted,
        stands behind the memory.
        """
        loop = self._loop
        for one in self._linked:
            one.begin()
        q, v, memory = loop.state
        fed = np.zeros(1 if loop.integrates_energy or loop.sampled else 0)
        state = IntegratorState(q, v, fed if loop.sampled else np.append(memory, fed))
        timing = loop.scenario.timing
        # ticks, arrivals and outputs are sums of periods, each off by its own roundings
        near = TIME_RTOL * (timing.sample if timing.control is None else timing.control)
        # under a hold forces are known after the first tick: `_start_events` settles them
        if not loop.sampled:
            state = self._settle_contacts(loop.t0, state)
        for segment in self._schedule(near, loop.tick_times).segments():
            # two changes within a rounding are two plants further
            for _ in range(segment.plant_changes):
                state = loop.plants.advance(float(segment.times[0, 0]), state)
            tables = self._plant_tables()
            # Three routes: whole segments in machine code, single intervals in machine code, and
            # steps by Python, slowest by far.
            if self._runs_segments(tables):
                state = self._run_segment(segment, tables, state)
                self._report_progress(float(segment.times[-1, 1]))
                continue
            for interval in segment.intervals():
                if loop.sampled:
                    state = self._start_events(state, interval)
                if self._steps_compiled(tables):
                    state = self._step_compiled(interval, tables, state)
                else:
                    state = self._step_in_python(interval, state)

    def _schedule(self, near: float, ticks: Sequence[float]) -> EventSchedule:
        """Return the intervals of the run."""
        loop = self._loop
        delay, changes = loop.effects.delay, loop.plants.change_times
        arrivals = [t + delay for t in ticks] if delay else ()
        if not loop.sampled and self._runs_segments(self._plant_tables()):
            # fixed steps begin anew at each output: so outputs part a continuous run into intervals
            ticks = loop.outputs
        return EventSchedule(loop.outputs, loop.t1, near, ticks, arrivals, changes)

    def _plant_tables(self) -> PlantTables:
        """Return what happens around the plant in force."""
        loop = self._loop
        plant = loop.plant
        if plant not in self.tables:
            self.tables[plant] = tables = PlantTables(
                sample_sequence(loop, self._recorder, self.ticks, signals=self.records_signals),
                self.tick_table(),
                self.arrival,
                *guard_sequences(loop),
                loop.plants.integrator.correction_steps,
                loop.plants.integrator.step_method,
            )
            self.initial_arrays.add(*tables)
            if is_linkable:
                linked = LinkedTables((loop.plants.integrator.system.steps, tables.tick))
                linked.begin()
                self._linked.append(linked)
        return self.tables[plant]

    def tick_table(self) -> KernelSequence:
        """Return what happens at a tick; nothing under continuous control."""
        if not self._loop.sampled:
            return KernelSequence(())
        return tick_sequence(self._loop, self.ticks, self._delay_line, self._switch_at_tick)

    @property
    def _has_modes(self) -> bool:
        """Whether something ends within an interval: a mode of the law, or of contacts."""
        loop = self._loop
        return self.contacts is not None or (loop.law.switches and not loop.sampled)

    def _runs_segments(self, tables: PlantTables) -> bool:
        """Return whether machine code runs interval after interval."""
        if tables.method is None:
            return False
        # fixed steps have no dense output in which to find where a mode ends
        if self._has_modes:
            return self._loop.sampled and tables.method.is_adaptive
        return self._loop.sampled or not tables.method.is_adaptive

    def _steps_compiled(self, tables: PlantTables) -> bool:
        """Return whether machine code takes the steps of an interval that runs alone."""
        if tables.method is None or self._loop.sampled:
            return False
        # fixed steps have no dense output in which to find where a mode ends
        return tables.method.is_adaptive or not self._has_modes

    def _start_events(self, plant: IntegratorState, interval: Interval) -> IntegratorState:
        """Let happen what does at the start of an interval: a tick of the law, and late inputs."""
        tables = self._plant_tables()
        self._write(interval.start, plant)
        if interval.tick:
            # the tick first, as in machine code: an observer is told the input that was held until
            # now
            tables.tick()
        for _ in range(interval.arrivals):
            tables.arrival()
        return self._settle_contacts(interval.start, plant)

    def _run_segment(
        self, segment: Segment, tables: PlantTables, state: IntegratorState
    ) -> IntegratorState:
        """Run intervals with what happens at their starts; return the state after them.

        Raises:
            IntegrationFailed: The motion cannot be continued.
            Exception: What a step of the tables met.
        """
        assert tables.method is not None
        system = self._loop.plants.integrator.system
        loop_state = _progress_arrays(float(segment.times[0, BEGIN]), state)
        while True:
            args = system.arrays, tables.events, tables.method, segment, loop_state
            code = run_intervals(*args)
            state = _state_or_fault(code, loop_state, system, tables, state)
            if code == 0:
                return state
            done = int(loop_state.progress[INTERVALS_DONE])
            interval = segment.interval(done)
            if code == UNSETTLED:
                state = self._settle_contacts(interval.start, state)
                state = self._step_compiled(interval, tables, state)
            else:
                # the sample at the start has been taken
                outputs = interval.outputs
                inside = outputs[1:] if outputs and outputs[0] == interval.start else outputs
                inner = interval._replace(outputs=inside)
                left = left_interval(code, inner, loop_state, system, tables, state)
                state = self._finish(*left, tables)
            loop_state.y[:] = np.concatenate(state)
            loop_state.progress[INTERVALS_DONE] = done + 1

    def _step_compiled(
        self, interval: Interval, tables: PlantTables, state: IntegratorState
    ) -> IntegratorState:
        """Run an interval, with the switches in it."""
        system = self._loop.plants.integrator.system
        return self._finish(
            *run_interval(interval, system, tables, state, self._report_progress), tables
        )

    def _finish(
        self,
        state: IntegratorState,
        remaining: Interval | None,
        switches: bool,
        tables: PlantTables,
    ) -> IntegratorState:
        """Run what is left of an interval that machine code has left; see `run_interval`."""
        system = self._loop.plants.integrator.system
        while remaining is not None:
            if not switches:
                # stalled near what may be a singular position: Python's steps may pass it
                return self._step_in_python(remaining, state)
            state = self._apply_switches(remaining.start, state)
            if not remaining.start < remaining.stop:
                # a switch at the very end leaves nothing to integrate, but samples to take
                for t in remaining.outputs:
                    self._record(t, state)
                return state
            args = system, tables, state, self._report_progress
            state, remaining, switches = run_interval(remaining, *args)
        return state

    def _step_in_python(self, interval: Interval, state: IntegratorState) -> IntegratorState:
        """Run an interval whose steps Python takes."""
        guard = None
        if self._has_modes:
            # the tables of a guard would write the plant's accelerations, which only contacts need
            guard = self._law_guard if self.contacts is None else self._guard_margin
        # a long run is not copied
        t, outputs = interval.start, memoryview(interval.outputs)
        if outputs and outputs[0] == t:
            self._record(t, state)
            outputs = outputs[1:]
        targets, at = _targets(outputs, interval), 0
        while at < len(targets):
            # a switch ends `advance` early: it goes on with the targets that are left
            tail, advance = targets[at:], self._loop.plants.integrator.advance
            for t, state in advance(t, state, interval.stop, tail, guard):  # noqa: B020
                if t == targets[at]:
                    if at < len(outputs):
                        self._record(t, state)
                    at += 1
            if self._has_modes:
                state = self._apply_switches(t, state)
        return state

    def _write(self, t: float, state: IntegratorState) -> None:
        """Write a state into the port of the loop."""
        self._loop.plants.integrator.system.write(t, state)

    def _record(self, t: float, state: IntegratorState) -> None:
        """Record a sample."""
        self._write(t, state)
        self._plant_tables().sample()
        self._report_progress(t)

    def _report_progress(self, t: float) -> None:
        """Tell how far the run is."""
        for one in self._linked:
            one.pass_time()
        self.progress(t - self._loop.t0, self._loop.t1 - self._loop.t0)

    def _apply_switches(self, t: float, state: IntegratorState) -> IntegratorState:
        """Return the state after the switches of law and contacts that are due."""
        if not self._loop.sampled:
            state = self.settle_law(t, state)
        return self._settle_contacts(t, state)

    def _settle_contacts(self, t: float, state: IntegratorState) -> IntegratorState:
        """Return the state with modes of the contacts that hold there."""
        if self.contacts is None:
            return state
        contacts = self._loop.plant.contacts
        assert contacts is not None

        def evaluate(t: float, state: IntegratorState) -> float:
            self._guard_margin(t, state)
            return float(contacts.smallest_margin[0])

        return self.contacts.consistent_state(self._loop.plant, t, state, evaluate)

    def _guard_margin(self, t: float, state: IntegratorState) -> float:
        """Return a number that is positive while the modes of law and contacts last."""
        tables = self._plant_tables()
        self._write(t, state)
        tables.guard()
        return float(tables.margin[0])

    def settle_law(self, t: float, state: IntegratorState) -> IntegratorState:
        """Return the state after the switches of the law that are due."""
        law = self._loop.law
        if not law.switches or self._law_guard(t, state) > 0.0:
            return state
        self.switches.append(t)
        # behind the memory of the law stands the metered energy, which no switch changes
        size = len(law.memory)
        memory = law.settled(self._loop.believed_model, state.memory[:size])
        return IntegratorState(state.q, state.v, np.append(memory, state.memory[size:]))

    def _law_guard(self, t: float, state: IntegratorState) -> float:
        """Return the law's guard at a state."""
        loop, (q, v, memory) = self._loop, state
        # a law switches by what it measures; at ticks that has been measured already
        if loop.effects.senses and not loop.sampled:
            q, v = loop.effects.sense(t, q, v)
        loop.believed_model.move(t, q, v)
        return loop.law.guard(loop.believed_model, memory[: len(loop.law.memory)])

    def _switch_at_tick(self) -> None:
        """Let a sampled law switch where it must, at its measured state."""
        measured, belief, memory = self.ticks.measured, self._loop.believed_model, self.ticks.memory
        belief.move(float(measured.clock[0]), measured.q, measured.v)
        settled = self._loop.law.settled(belief, memory)
        if settled is not memory:
            self.switches.append(float(measured.clock[0]))
            memory[:] = settled


def _targets(outputs: Times, interval: Interval) -> Times:
    """Return the times at which to stop in an interval: its outputs, and its end."""
    if outputs and outputs[-1] == interval.stop:
        return outputs
    return array("d", [*outputs, interval.stop])


def run_interval(
    interval: Interval,
    system: OdeSystem,
    tables: PlantTables,
    state: IntegratorState,
    pause: Callable[[float], None],
) -> tuple[IntegratorState, Interval | None, bool]:
    """Run one interval with steps that the error allows; ``pause`` is called now and then.

    Returns the state reached, what is left of the interval, and whether that is because the guard
    stopped being positive, which is for the law to settle. Else the steps hardly went on near what
    may be a singular position: it takes another method to pass.

    Raises:
        IntegrationFailed: The motion cannot be continued.
        Exception: What a step of the tables met.
    """
    assert tables.method is not None
    chosen, outputs, stop = tables.method.adaptive, np.asarray(interval.outputs), interval.stop
    loop_state = _progress_arrays(interval.start, state)
    code = 0
    # before `begin_interval`, which moves the state to find a first step
    if len(outputs) and outputs[0] == interval.start:
        code, outputs = (
            take_sample(system.arrays, tables.events, interval.start, loop_state),
            outputs[1:],
        )
    code = code or begin_interval(system.arrays, chosen, stop, loop_state)
    reached = _state_or_fault(code, loop_state, system, tables, state)
    args = system.arrays, tables.events, chosen, stop, outputs, loop_state
    # inside machine code there is no clock: calls take ever more steps, up to a pause
    code, steps = code or PAUSED, 1
    while code == PAUSED:
        began = time.perf_counter()
        code = continue_interval(*args, steps)
        reached = _state_or_fault(code, loop_state, system, tables, state)
        pause(float(loop_state.t[0]))
        # twice the steps must still end within the interval
        if time.perf_counter() - began < 0.5 * PROGRESS_INTERVAL:
            steps *= 2
    if code == 0:
        return reached, None, False
    inner = interval._replace(outputs=array("d", outputs.tobytes()))
    return left_interval(code, inner, loop_state, system, tables, reached)


def left_interval(
    code: int,
    interval: Interval,
    loop_state: LoopState,
    system: OdeSystem,
    tables: PlantTables,
    state: IntegratorState,
) -> tuple[IntegratorState, Interval | None, bool]:
    """Return what `run_interval` does of an interval that machine code has left before its end.

    Args:
        code: Why.
        interval: The interval, without an output at its start.
        loop_state: Where it was left.
        system: The closed loop.
        tables: What happens around its steps.
        state: The state there.
    """
    outputs = np.asarray(interval.outputs)
    if code == GUARD_CROSSED:
        state = _state_at_event(outputs, loop_state, system, tables)
    tail = array("d", outputs[int(loop_state.progress[OUTPUTS_DONE]) :].tobytes())
    left = interval._replace(start=float(loop_state.t[0]), outputs=tail)
    return state, left, code == GUARD_CROSSED


def _state_at_event(
    outputs: Vector, loop_state: LoopState, system: OdeSystem, tables: PlantTables
) -> IntegratorState:
    """Go to where the guard stops being positive within the last step, with samples before that."""
    assert tables.method is not None
    chosen, port, nq = tables.method.adaptive, system.arrays, len(system.arrays.q)
    trial, end = chosen.buffers, nq + len(port.v)
    start, stop = float(trial.times[T_OLD]), float(trial.times[T])
    # within the step just taken: its interpolant needs no steps of its own
    if dense_output(port, chosen.method, trial, chosen.dense) < 0:
        system.steps.raise_fault()

    def at_time(t: float) -> IntegratorState:
        within = trial.y_old, start, stop - start, np.array([t]), chosen.states
        interpolate(chosen.method.nested, chosen.dense, *within)
        y = chosen.states[0].copy()
        return IntegratorState(system.robot.normalize(y[:nq]), y[nq:end], y[end:])

    def guard(t: float, state: IntegratorState) -> float:
        system.write(t, state)
        tables.guard()
        return float(tables.margin[0])

    def keep(t: float) -> IntegratorState:
        state = at_time(t)
        loop_state.t[0], loop_state.y[:] = t, np.concatenate(state)
        return state

    switch = locate_event(guard, at_time, start, stop)
    for t in outputs[int(loop_state.progress[OUTPUTS_DONE]) :].tolist():
        # a sample at the switch itself shows the state before it
        if t > switch:
            break
        reached = keep(t)
        _state_or_fault(
            take_sample(port, tables.events, t, loop_state), loop_state, system, tables, reached
        )
        loop_state.progress[OUTPUTS_DONE] += 1
    return keep(switch)


def _progress_arrays(t: float, state: IntegratorState) -> LoopState:
    return LoopState(np.full(1, t), np.concatenate(state), np.zeros(3, dtype=np.int64))


def _state_or_fault(
    code: int, loop_state: LoopState, system: OdeSystem, tables: PlantTables, state: IntegratorState
) -> IntegratorState:
    """Return the state in which machine code has left the loop, or raise what ended it."""
    q, v = len(state.q), len(state.q) + len(state.v)
    reached = IntegratorState(loop_state.y[:q], loop_state.y[q:v], loop_state.y[v:])
    if code < 0:
        _raise_fault(
            int(loop_state.progress[STATUS]), float(loop_state.t[0]), reached, system, tables
        )
    # faults of halved steps and trials have passed: left there, they would be told later
    system.steps.take_fault()
    return reached


def _raise_fault(
    where: int, t: float, state: IntegratorState, system: OdeSystem, tables: PlantTables
) -> None:
    """Raise what ended the intervals."""
    sources = {
        RATES_FAILED: system.steps, TICK_FAILED: tables.tick, ARRIVAL_FAILED: tables.arrival,
        SAMPLE_FAILED: tables.sample, STEP_UNDERFLOW: system.steps, GUARD_FAILED: tables.guard,
    }  # fmt: skip
    if where == DIVERGED:
        check_bounded(t, state)
    # what failed within a step may be its correction, for which there is no status
    tables.correction.raise_fault()
    sources[where].raise_fault()
    raise IntegrationFailed(f"the integrator needs steps below rounding at t = {t:.6g} s.")
