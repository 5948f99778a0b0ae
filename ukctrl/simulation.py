"""The closed loop; the only place that sees both the true robot and the believed one."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

import numpy as np

from ukctrl.constraints import Stack
from ukctrl.control import Command, Law, Task
from ukctrl.dynamics import Dynamics
from ukctrl.errors import InfeasibleConstraint, UkctrlError
from ukctrl.factor import Matrix, Vector
from ukctrl.files import blaming
from ukctrl.integrate import IntegrationFailed, State
from ukctrl.prepare import (
    believed_robot,
    grid,
    integrator,
    passive_gains,
    periods,
    start_state,
    true_robot,
)
from ukctrl.provenance import beyond_limits, provenance
from ukctrl.recorder import Recorder, joint_error
from ukctrl.relative_degree import explain
from ukctrl.result import Result, Status
from ukctrl.samples import Samples, Signal
from ukctrl.scenario import Scenario
from ukctrl.threads import one_blas_thread

Progress = Callable[[float, float], None]
"""Called now and then with the time reached and the duration [s]."""


class Drifted(UkctrlError, RuntimeError):
    """A constraint came apart further than the scenario's monitor allows."""


@one_blas_thread()
def simulate(scenario: Scenario, *, progress: Progress | None = None) -> Result:
    """Run a scenario in closed loop.

    A run never raises for what happens in it: `Result.status` and `Result.message` tell, and
    the samples up to that moment are kept. Ctrl-C ends it as ``interrupted`` in the same way.

    Args:
        scenario: What to run.
        progress: Called with the time reached and the duration [s] at every sample.

    Raises:
        InputError: The scenario does not fit its robot, such as an unknown frame.
    """
    loop = Loop(scenario)
    began = time.perf_counter()
    status, message = loop.run(progress or _silent)
    samples_at, arrays = loop.recorder.samples()
    signals, complaint = _signals(loop, samples_at, arrays["q"])
    message = " ".join(filter(None, (message, complaint)))
    return Result.build(
        time=samples_at,
        samples=arrays,
        signals=signals,
        labels=loop.recorder.labels(),
        status=status,
        message=message,
        scenario=scenario.to_table(),
        provenance=provenance(
            scenario,
            loop.robot,
            wall_seconds=time.perf_counter() - began,
            ticks=loop.recorder.ticks,
            tick_seconds=loop.recorder.tick_seconds,
            moved=loop.moved,
            switches=loop.switches,
            gains=loop.truth.gains,
            passive=loop.recorder.passive(),
            beyond_limits=beyond_limits(loop.robot, samples_at, arrays["q"], arrays["v"]),
        ),
    )


def _signals(loop: Loop, time: Vector, q: Matrix) -> tuple[dict[str, Signal], str]:
    """Return what to record beside the samples; a fault in it must not cost the run."""
    signals: dict[str, Signal] = {}
    try:
        signals.update(loop.recorder.signals())
        if loop.scenario.monitor.joint_error:
            signals.update(joint_error(loop.recorder.servo, time, q))
        if signals:
            Samples.build(time, {}, loop.recorder.labels(), signals)
    except (UkctrlError, ArithmeticError, TypeError, ValueError, LookupError) as error:
        return {}, f"the controller's signals are left out: {error}"
    except KeyboardInterrupt:
        return {}, "the signals are left out: stopped by the user."
    return signals, ""


class Loop:
    """A scenario, made ready to run."""

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self.robot = true_robot(scenario.robot)
        believed = believed_robot(self.robot, scenario.believed)
        rank, gains = scenario.rank, passive_gains(scenario.stabilisation, scenario.integrator)
        self.truth = Dynamics(self.robot, rank, gains)
        self.belief = self.truth if believed is self.robot else Dynamics(believed, rank, gains)
        servo = Stack(scenario.servo, self.robot)
        every = (*self.truth.passive.constraints, *scenario.servo)
        q, v, self.moved = start_state(scenario.start, self.robot, every, scenario.seed)
        self.t0, self.t1 = scenario.start.t, scenario.start.t + scenario.timing.duration
        task = Task(
            robot=believed,
            servo=scenario.servo,
            q=q,
            v=v,
            start=self.t0,
            duration=scenario.timing.duration,
            period=scenario.timing.control,
            rank=rank,
            gains=gains,
        )
        self.law: Law = scenario.controller.start(task)
        self.state = State(q, v, self.law.memory)
        self.outputs = grid(self.t0, self.t1, scenario.timing.sample)
        watched = scenario.monitor.frames
        with blaming("monitor.frames"):
            self.recorder = Recorder(self.truth, servo, self.law, len(self.outputs), watched)
        self.switches: list[float] = []
        """When the law switched [s]."""
        self.held: Vector | None = None
        """The input that a zero-order hold keeps; None under continuous control."""
        monitor = scenario.monitor
        self._limits = [("phi", monitor.max_phi)] if monitor.max_phi is not None else []
        if len(self.truth.passive):
            self._limits.append(("passive_phi", monitor.max_passive_phi))
            self._limits.append(("passive_beta", monitor.max_passive_beta))
        self.integrator = integrator(scenario, self, self.truth)

    def rates(self, t: float, q: Vector, v: Vector, memory: Vector) -> tuple[Vector, Vector]:
        """Return the acceleration and the memory's rate: the right-hand side of the loop."""
        truth = self.truth
        truth.move(t, q, v)
        if self.held is None:
            command = self.command(t, q, v, memory)
            return truth.acceleration(command.u), command.memory_rate
        a = truth.acceleration(self.held)
        return a, np.array([truth.power(a, self.held)])

    def command(self, t: float, q: Vector, v: Vector, memory: Vector) -> Command:
        """Step the law at a state to which the true robot has been moved."""
        if self.belief is not self.truth:
            self.belief.move(t, q, v)
        return self.law.step(self.belief, memory)

    def run(self, progress: Progress) -> tuple[Status, str]:
        """Run to the end, or to whatever stops it; return the status and why."""
        try:
            self.state = self._settled(self.t0, self.state)
            self.truth.move(self.t0, self.state.q, self.state.v)
            first = self.command(self.t0, *self.state)  # untimed: it may have to compile
            if np.shape(first.memory_rate) != self.law.memory.shape:
                raise IntegrationFailed(
                    f"the controller must return a memory_rate of shape {self.law.memory.shape}; "
                    f"got {np.shape(first.memory_rate)}."
                )
            if self.scenario.timing.control is None:
                self._run_continuous(progress)
            else:
                self._run_sampled(self.scenario.timing.control, progress)
        except KeyboardInterrupt:
            return "interrupted", f"stopped by the user at t = {self._reached():.6g} s."
        except InfeasibleConstraint as error:
            return "infeasible", f"after t = {self._reached():.6g} s: {error}{self._why(error)}"
        except Drifted as error:
            return "drifted", str(error)
        except (UkctrlError, ArithmeticError) as error:
            return "diverged", f"after t = {self._reached():.6g} s: {error}"
        except Exception as error:  # a fault in a user's law: keep what there is
            kind = type(error).__name__
            return "interrupted", f"after t = {self._reached():.6g} s: {kind}: {error}"
        return "completed", ""

    def _why(self, error: InfeasibleConstraint) -> str:
        """Return what the relative degree says about the rows, where it says something."""
        s = self.truth.snapshot
        told = explain(self.truth, self.recorder.servo, error.rows, s.t, s.q, s.v)
        return f" {told}" if told else ""

    def _reached(self) -> float:
        count = self.recorder.count
        return float(self.recorder.time[count - 1]) if count else self.t0

    def _run_continuous(self, progress: Progress) -> None:
        t, state, rest = self.t0, self.state, self.outputs[1:]
        self._keep(t, state, progress)
        guard = self._guard if self.law.switches else None
        while rest:
            for t, state in self.integrator.advance(t, state, self.t1, rest, guard):  # noqa: B020
                if t == rest[0]:
                    self._keep(t, state, progress)
                    rest = rest[1:]
            state = self._settled(t, state)

    def _guard(self, t: float, state: State) -> float:
        """Return the law's guard at a state."""
        self.truth.move(t, state.q, state.v)
        if self.belief is not self.truth:
            self.belief.move(t, state.q, state.v)
        return self.law.guard(self.belief, state.memory)

    def _settled(self, t: float, state: State) -> State:
        """Return the state after the switches of the law that are due."""
        if not self.law.switches or self._guard(t, state) > 0.0:
            return state
        self.switches.append(t)
        return State(state.q, state.v, self.law.settled(self.belief, state.memory))

    def _run_sampled(self, period: float, progress: Progress) -> None:
        """Hold the input over each control period; the memory advances once a period.

        Between ticks the law has no memory to integrate; its place is taken by the energy fed to
        the robot, which jumps too fast to be integrated from the samples.
        """
        law_memory = self.state.memory
        plant = State(self.state.q, self.state.v, np.zeros(1))
        self.recorder.keep_supplied_energy()
        for start, stop, outputs in periods(self.outputs, self.t0, self.t1, period):
            law_memory = self._settled(start, State(plant.q, plant.v, law_memory)).memory
            self.truth.move(start, plant.q, plant.v)
            lent = self._timed(start, State(plant.q, plant.v, law_memory))
            # The law may lend its own arrays, which its next step overwrites.
            command = Command(lent.u.copy(), np.array(lent.memory_rate))
            self.held = command.u
            if outputs and outputs[0] == start:
                self._keep_held(start, plant, law_memory, command, progress)
                outputs = outputs[1:]
            last = outputs[-1] if outputs else math.nan
            targets = outputs if last == stop else [*outputs, stop]
            for t, plant in self.integrator.advance(start, plant, stop, targets):  # noqa: B020
                if t in outputs:
                    self._keep_held(t, plant, law_memory, command, progress)
            law_memory = law_memory + (stop - start) * command.memory_rate

    def _timed(self, t: float, state: State) -> Command:
        began = time.perf_counter()
        command = self.command(t, state.q, state.v, state.memory)
        self.recorder.tick_seconds += time.perf_counter() - began
        self.recorder.ticks += 1
        if command.u.shape != (self.robot.nu,) or not np.isfinite(command.u).all():
            raise IntegrationFailed(
                f"the controller must return {self.robot.nu} finite inputs; got {command.u} at "
                f"t = {t:.6g} s."
            )
        return command

    def _keep(self, t: float, state: State, progress: Progress) -> None:
        self.truth.move(t, state.q, state.v)
        command = self._timed(t, state)
        self._record(t, state, command, progress)

    def _keep_held(
        self, t: float, plant: State, memory: Vector, command: Command, progress: Progress
    ) -> None:
        self.truth.move(t, plant.q, plant.v)
        if self.belief is not self.truth:
            self.belief.move(t, plant.q, plant.v)
        self.recorder.supply(plant.memory[0])
        self._record(t, State(plant.q, plant.v, memory), command, progress)

    def _record(self, t: float, state: State, command: Command, progress: Progress) -> None:
        recorder = self.recorder
        recorder.keep(t, state, command, self.belief)
        progress(t - self.t0, self.t1 - self.t0)
        k = recorder.count - 1
        for name, limit in self._limits:
            off = np.nan_to_num(recorder.arrays[name][k])
            if np.linalg.norm(off) > limit:
                known = recorder.labels()
                rows = known.passive_rows if name.startswith("passive") else known.rows
                raise Drifted(
                    f"{name} reached {np.linalg.norm(off):.2e} at t = {t:.6g} s, most on row "
                    f"'{rows[int(np.argmax(np.abs(off)))]}'; the monitor allows {limit:.2e}."
                )


def _silent(reached: float, duration: float) -> None:
    """Show no progress."""
