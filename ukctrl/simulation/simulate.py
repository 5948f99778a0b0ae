"""One run: a scenario in, a result out."""

from __future__ import annotations

import contextlib
import threading
import time
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from ukctrl.control.task import Signal as Told
from ukctrl.core.algebra.threads import one_blas_thread
from ukctrl.core.arrays import Array, Vector
from ukctrl.core.errors import InfeasibleConstraint, UkctrlError
from ukctrl.core.files import catalog
from ukctrl.core.files.plugins import blame
from ukctrl.core.files.unchanged import Seen, noting, unchanged
from ukctrl.core.own_processes import machine_failed
from ukctrl.core.program import Call, Step, Steps, run
from ukctrl.mechanics.dynamics import Dynamics
from ukctrl.mechanics.integrate.held_kernels import Stepping
from ukctrl.mechanics.integrate.system import State
from ukctrl.mechanics.relative_degree import explain
from ukctrl.robot import Robot
from ukctrl.simulation.loop.around import Around, run_span, run_together
from ukctrl.simulation.loop.closed_loop import Loop
from ukctrl.simulation.loop.joint_error import joint_error
from ukctrl.simulation.loop.provenance import observed, provenance
from ukctrl.simulation.loop.rates import applied, asked, copy_common, copy_smaller, same_state
from ukctrl.simulation.loop.recorder import Drifted, Recorder
from ukctrl.simulation.loop.rewind import Origin
from ukctrl.simulation.loop.sample_kernels import other_state
from ukctrl.simulation.loop.scenario_robots import true_robot
from ukctrl.simulation.loop.spans import SAME, Schedule, Span, Times
from ukctrl.simulation.result.plain_files import writable
from ukctrl.simulation.result.quantities import FIELDS
from ukctrl.simulation.result.result import Result, Status
from ukctrl.simulation.result.samples import Samples, Signal, checked
from ukctrl.simulation.scenario import Scenario
from ukctrl.simulation.scenario.scenario import TableOf

Progress = Callable[[float, float], None]
"""Called now and then with the time reached and the duration [s]."""
Watch = Callable[[Recorder], None]
"""Called now and then with what is recorded so far, which it may read; see `Recorder.since`."""
TIMED = 2e-4
"""For so long a law is asked, after the run, to tell how long it takes [s]."""
CRAWLING = 1e-7
"""Steps below this are those of a run that hardly moves on [s]."""
DECIDING = (
    "robot", "servo", "keep", "controller", "timing", "start", "integrator", "believed", "monitor",
    "stabilisation", "rank", "sensing", "observer",
)  # fmt: skip
"""Parts of a scenario that decide which tables a loop has, and what is in them."""
STOPPED = "stopped by the user"
"""How the message of a run begins that somebody has stopped."""
MACHINE_FAILED = "the machine failed"
"""How that of a run begins that found no more memory, disk or files."""


@one_blas_thread()
def simulate(
    scenario: Scenario,
    *,
    progress: Progress | None = None,
    planning: Progress | None = None,
    watch: Watch | None = None,
    robot: Robot | None = None,
) -> Result:
    """Run a scenario in closed loop.

    A run never raises for what happens in it: `Result.status` and `Result.message` tell, and
    the samples up to that moment are kept. Ctrl-C ends it as ``interrupted`` in the same way.

    Args:
        scenario: What to run.
        progress: Called now and then with the time reached and the duration [s].
        planning: Called in the same way while the controller works out a motion before the run.
        watch: Called now and then with the samples so far, such as to show them; it changes
            nothing of the run.
        robot: The scenario's robot, where it has been loaded before.

    Raises:
        InputError: The scenario does not fit its robot, such as an unknown frame.
    """
    with _ready(scenario, robot, planning, whole=True) as loop:
        began = time.perf_counter()
        status, message, samples = _ran(loop, _watched(loop, progress or _silent, watch))
        wall = time.perf_counter() - began
        timing = {"wall_seconds": wall, **loop.timing()}
        return Result.of(
            samples,
            status=status,
            message=message,
            scenario=scenario.to_table(),
            provenance=provenance(loop, samples, timing) | {"loop": loop.compiled()},
        )


@one_blas_thread()
def measure(
    scenario: Scenario,
    *,
    timed: bool = True,
    progress: Progress | None = None,
    robot: Robot | None = None,
) -> Result:
    """Run a scenario as `simulate` does, for metrics and verdicts alone.

    Its provenance has what verdicts go by, and the law's time where that is asked (``timed``).
    """
    with _ready(scenario, robot, None, whole=False) as loop:
        status, message, samples = _ran(loop, progress or _silent)
        timing = {"timing": loop.timing()} if timed else {}
        return Result(
            status=status,
            message=writable(message),
            scenario=TableOf(scenario),
            provenance=observed(loop, samples, drawn=False) | timing,
            samples=samples,
        )


class _Last(threading.local):
    """The loop that ran last in each thread, and the files of its robot: it may be what the next
    scenario needs.
    """

    last: tuple[Simulation, list[Seen]] | None = None


_LAST = _Last()


@contextlib.contextmanager
def _ready(
    scenario: Scenario, robot: Robot | None, planning: Progress | None, *, whole: bool
) -> Iterator[Simulation]:
    """Yield a loop at its start, that of the run before where it can run this scenario too.

    Args:
        scenario: What is run.
        robot: Its robot, where that has been loaded.
        planning: Called while a plan is made.
        whole: Whether all is recorded, also what no metric and no verdict asks for.
    """
    last, _LAST.last = _LAST.last, None  # a law may simulate, too
    loop, files = last or (None, [])
    if robot is None and loop is not None and _is_still(loop.scenario.robot, scenario.robot, files):
        robot = loop.robot
    if robot is None:
        with noting() as files:
            robot = true_robot(scenario.robot)
    again = loop is not None and planning is None and loop.recorder.trail.effects_tell is whole
    if loop is None or not again or not loop.begin_again(scenario, robot):
        loop = Simulation(scenario, robot, planning)
        loop.recorder.trail.effects_tell = whole
        loop.make_room()
    yield loop
    if loop.fit_for_more:
        _LAST.last = loop, files


def _is_still(before: object, now: object, files: list[Seen]) -> bool:
    """Return whether a robot is the one before: by its name, and what has become of its files."""
    name = now.get("use") if isinstance(now, Mapping) else now
    if not isinstance(name, str) or now != before or not unchanged(files):
        return False
    return catalog.find("robots", name) == files[0].path


def _ran(loop: Simulation, progress: Progress) -> tuple[Status, str, Samples]:
    """Run a loop; return how it ended, why, and what was recorded."""
    recorder = loop.recorder
    status, message = loop.run(progress)
    arrays = recorder.samples()
    signals, complaint = _signals(loop, arrays)
    message = (
        f"{message.rstrip('.')}. {complaint}" if message and complaint else message + complaint
    )
    samples = Samples.build(
        arrays["time"],
        {name: array for name, array in arrays.items() if name in FIELDS},
        recorder.labels,
        signals,
        store=recorder.store,
    )
    return status, message, samples


def _signals(loop: Loop, arrays: Mapping[str, Array]) -> tuple[dict[str, Signal], str]:
    """Return what to record beside the samples; a fault in it must not cost the run."""
    signals: dict[str, Signal] = {}
    recorder, time = loop.recorder, arrays["time"]
    try:
        signals.update(recorder.signals(arrays))
        if loop.scenario.monitor.joint_error:
            signals.update(joint_error(recorder.servo, time, arrays["q"]))
        signals = {name: checked(name, signal, len(time)) for name, signal in signals.items()}
    except (UkctrlError, ArithmeticError, TypeError, ValueError, LookupError) as error:
        return {}, f"the controller's signals are left out: {error}"
    except KeyboardInterrupt:
        return {}, "the signals are left out: stopped by the user."
    return signals, ""


def _watched(loop: Loop, progress: Progress, watch: Watch | None) -> Progress:
    if watch is None:
        return progress

    def told(reached: float, duration: float) -> None:
        progress(reached, duration)
        watch(loop.recorder)

    return told


def _silent(reached: float, duration: float) -> None:
    """Show no progress."""


class Simulation(Loop):
    """A scenario on its way from the start to the end, or to what stops it."""

    _tells = True
    """Whether law or effects have something to tell beside what every run records."""

    def make_room(self) -> None:
        """Make room for the samples: before `run`, for where there is none nothing is kept.

        Raises:
            InputError: There is no room.
        """
        self.recorder.open(self._sampled or self._metered)
        self._origin, self._start = Origin(), self.state
        self._origin.leave(self.recorder.block)
        system, tick = self._plants.integrator.system, self.tick
        law = tick.steps, tick.memory, tick.u, tick.memory_rate, tick.demand, tick.asks
        own = *self.seen, self.memory, self.ticked, self.held, tuple(system.port)
        self._origin.note(system.steps, self.truth.steps, self.belief.steps, *law, *own)

    def begin_again(self, scenario: Scenario, robot: Robot) -> bool:
        """Make ready to run another scenario from its start; return whether this loop can run it.

        It can where the scenario differs in nothing but its seed and effects that draw the inertias
        of bodies, and where machine code alone has run the loop so far.
        """
        ours, start = self.scenario, self.scenario.start
        if robot is not self.robot or not _alike(ours, scenario) or start.spread or start.planned:
            return False
        if self.estimator is not None:
            return False  # it remembers its run
        met, before = self._met(scenario), self.conditions
        if not (met.only_draw and before.only_draw and met.acts_on_plant == before.acts_on_plant):
            return False
        self._origin.restore()
        if met.acts_on_plant and not self.truth.take_inertias(met.plants[0].robot):
            return False
        self.scenario, self.conditions, self.state = scenario, met, self._start
        self.recorder.begin_again()
        return True

    @property
    def fit_for_more(self) -> bool:
        """Whether nothing is left of its run that `begin_again` cannot put back."""
        jumps = self.law.switches or self.contacts is not None
        return self._origin.small and not jumps and bool(self.compiled()["compiled"])

    def run(self, progress: Progress) -> tuple[Status, str]:
        """Run to the end, or to whatever stops it, Ctrl-C included; return the status and why."""
        try:
            self._progress = progress
            if self.contacts is not None:
                self.contacts.begin(self.truth, self.t0, self.state.q, self.state.v)
            self.state = self._settled(self.t0, self.state)
            self.truth.move(self.t0, self.state.q, self.state.v)
            command = self.command(self.t0, *self.state)  # untimed: it may have to compile
            self._answers.typed(self.t0, command)
            signals = self.law.signals(self.belief, self.state.memory)
            self._answers.signalled(signals)
            told = any(True for _ in self._told_by_effects())
            self._tells = bool(signals or self.tick.steps.python or told)
            self._run()
        except KeyboardInterrupt:
            return "interrupted", f"{STOPPED} at t = {self._reached():.6g} s.{self._crawling()}"
        except InfeasibleConstraint as error:
            return "infeasible", f"after t = {self._reached():.6g} s: {error}{self._why(error)}"
        except Drifted as error:
            return "drifted", str(error)
        except (UkctrlError, ArithmeticError) as error:
            return "diverged", f"after t = {self._reached():.6g} s: {error}"
        except Exception as error:  # a fault in a user's law: keep what there is
            why = blame(error) or f"{type(error).__name__}: {error}"
            whose = f"{MACHINE_FAILED} " if machine_failed(error) else ""
            return "interrupted", f"{whose}after t = {self._reached():.6g} s: {why}"
        return "completed", ""

    def _told_by_effects(self) -> Iterator[tuple[str, Told]]:
        return self.recorder.trail.signals(self.truth.snapshot, self._plants.since)

    def _crawling(self) -> str:
        """Return why the run took so long, where the steps say it."""
        step = self._plants.integrator.step
        if step is None or step >= CRAWLING or self._sampled:
            return ""
        return (
            f" The integrator was down to steps of {step:.1g} s; try timing.control, a stiff "
            "method of the integrator such as Radau, or monitor.max_phi."
        )

    def _why(self, error: InfeasibleConstraint) -> str:
        """Return what the relative degree says about the rows, where it says something."""
        if not error.rows:
            return ""
        s = self.belief.snapshot  # where the law was asked last
        t, q, v = s.t, s.q, s.v
        if not (np.isfinite(q).all() and np.isfinite(v).all()):
            # A trial step had left all bounds; the last sample is near where it began.
            t, q, v = self.t0, self.state.q, self.state.v
            if self.recorder.count:
                t, q, v = self._reached(), self.recorder.last("q"), self.recorder.last("v")
        reason = explain(self.truth, self.recorder.servo, error.rows, t, q, v)
        return f" {reason}" if reason else ""

    def compiled(self) -> dict[str, Any]:
        """Return whether machine code runs from sample to sample, and which parts are Python's.

        At samples alone, signals may be Python's all the same. There need not be room for any.
        """
        around = self._arounds.get(self.truth)
        tick = around.tick if around else self._ticking()
        integrator = self._plants.integrator
        python = {*integrator.system.steps.python, *tick.python, *integrator.after.python}
        stepping = self._stepping()
        guard = around.guard if around else self._guarding(self.truth)[0]
        by_python = guard.python or stepping is None or not stepping.adapts
        if self.contacts is not None:
            python.add("what contacts do where they let go")
        if self.law.switches and not self._sampled and by_python:
            python.add(f"the guard of {type(self.law).__name__.lstrip('_')}")
        if stepping is None:
            python.add(f"what follows every step of {self.scenario.integrator.method}")
        return {"compiled": not python, "python": sorted(python)}

    @property
    def ticks(self) -> int:
        """How often the law has been asked, at its ticks or at samples."""
        return int(self.ticked[0]) if self._sampled else self.recorder.count

    def timing(self) -> dict[str, float]:
        """Return how often the law was asked and how long it takes; look once, after the run."""
        told = dict(self.law.timing())  # before it is asked again, for its time
        return {"ticks": self.ticks, "mean_tick_us": self.tick_us(), **told}

    def tick_us(self) -> float:
        """Return how long the law takes at the last state, its robot included [us].

        NaN where there is no law, or it has no answer there.
        """
        if not (self.ticks and self.scenario.controller.acts):
            return float("nan")
        s = self.belief.snapshot
        robot = Call(other_state, s.v), *self.belief.steps_for(self.tick.steps)
        ask = Steps((*robot, *asked(self.tick, s, self._answers)))
        # The clock of this thread alone: others may hold the interpreter meanwhile.
        began, spent, count, block = time.thread_time(), 0.0, 0, 2
        while spent < TIMED:
            for _ in range(block):
                if run(ask.lines) < 0:
                    return float("nan")
            count, block, spent = count + block, 2 * block, time.thread_time() - began
        return 1e6 * spent / count

    def _reached(self) -> float:
        return float(self.recorder.last("time")) if self.recorder.count else self.t0

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


def _alike(one: Scenario, other: Scenario) -> bool:
    """Return whether two scenarios differ in their seeds and effects alone, names aside."""
    return all(
        getattr(one, name) is getattr(other, name) or getattr(one, name) == getattr(other, name)
        for name in DECIDING
    )


def _targets(outputs: Times, span: Span) -> Times:
    """Return the times at which to stop in a span: its outputs, and its end."""
    if outputs and outputs[-1] == span.stop:
        return outputs
    return array("d", [*outputs, span.stop])
