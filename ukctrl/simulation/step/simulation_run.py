"""A run of a loop to its end, or to what stops it, and what it then has to tell."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from ukctrl.core.errors import InfeasibleConstraint, InputError, UkctrlError, quoted
from ukctrl.core.files.plugins import plugin_fault
from ukctrl.core.program import BoundKernel, KernelSequence, run
from ukctrl.core.subprocess_safety import is_machine_failure
from ukctrl.mechanics.constraints.contact import MODE, OPEN
from ukctrl.mechanics.relative_degree import explain_unreachable_rows
from ukctrl.robot import Robot
from ukctrl.simulation.assemble.loop import Loop
from ukctrl.simulation.assemble.right_hand_side import command_steps
from ukctrl.simulation.events.contact_events import WORDS
from ukctrl.simulation.record.recorder import DriftExceeded, Recorder
from ukctrl.simulation.record.sample_kernels import perturb_velocity
from ukctrl.simulation.result.run_record import STOPPED, Status
from ukctrl.simulation.scenario import Scenario
from ukctrl.simulation.step.plant_tables import guard_sequences
from ukctrl.simulation.step.reset import restart
from ukctrl.simulation.step.stepper import Progress, Stepper

TIMING_SECONDS = 1e-3
"""For so long a law is asked, after the run, to tell how long it takes [s]."""
SMALL_STEP = 1e-7
"""Steps below this are those of a run that hardly moves on [s]."""
MACHINE_FAILED = "the machine failed"
"""How that of a run begins that found no more memory, disk or files."""


class SimulationRun:
    """Run of an assembled loop: steps it to its end, records it, and says what stopped it."""

    def __init__(self, loop: Loop, recorder: Recorder) -> None:
        self.loop, self.recorder = loop, recorder
        self.stepper = Stepper(loop, recorder)

    def allocate(self) -> None:
        """Make room for the samples: before `run`, for where there is none nothing is recorded.

        Raises:
            InputError: There is no room.
        """
        loop, stepper = self.loop, self.stepper
        self.recorder.allocate(loop.sampled or loop.integrates_energy)
        initial, tick = stepper.initial_arrays, loop.tick
        # the largest array of all, and every row of it is written before it is read
        initial.exclude(self.recorder.block)
        law = tick.steps, tick.memory, tick.u, tick.memory_rate, tick.demand, tick.has_demand
        robots = loop.plant.steps, loop.believed_model.steps
        buffers = loop.held_input, tuple(loop.plants.integrator.system.arrays)
        initial.add(
            loop.plants.integrator.system.steps, *robots, *law, *buffers, tuple(stepper.ticks)
        )

    def reuse_for(self, scenario: Scenario, robot: Robot) -> bool:
        """Make ready to run another scenario from its start; return whether this loop can run it,
        which takes that machine code alone has run it so far.
        """
        if not restart(self.loop, self.stepper.initial_arrays, scenario, robot):
            return False
        self.recorder.reset()
        return True

    @property
    def is_reusable(self) -> bool:
        """Whether nothing is left of its run that `reuse_for` cannot put back."""
        # modes, and when they changed, are kept in Python, where no array restores them
        jumps = self.loop.law.switches or self.stepper.contacts is not None
        if jumps or not self.stepper.initial_arrays.is_complete:
            return False
        # a part in Python may remember its run anywhere
        return bool(self.compiled()["compiled"])

    def run(self, progress: Progress) -> tuple[Status, str]:
        """Run to the end, or to whatever stops it, Ctrl-C included; return the status and why."""
        loop = self.loop
        try:
            self.stepper.progress = progress
            self._begin()
            self.stepper.run()
        except KeyboardInterrupt:
            # nothing is missing of the run
            if self.recorder.count == len(loop.outputs):
                return "completed", f"{STOPPED} after the last sample."
            return (
                "interrupted",
                f"{STOPPED} at t = {self._last_time():.6g} s.{self._small_step_note()}",
            )
        except InfeasibleConstraint as error:
            return "infeasible", f"after t = {self._last_time():.6g} s: {self._explain(error)}"
        except DriftExceeded as error:
            return "drifted", str(error)
        except (UkctrlError, ArithmeticError) as error:
            reached = f"after t = {self._last_time():.6g} s: {error}"
            if is_machine_failure(error):
                return "interrupted", f"{MACHINE_FAILED} {reached}"
            # no run has begun: what is refused is the start, as where it is solved for, or a part
            if isinstance(error, InputError) and not self.recorder.count:
                raise
            return "diverged", reached
        # a fault in a user's law: keep the samples that there are
        except Exception as error:
            reason = plugin_fault(error) or f"{type(error).__name__}: {error}"
            whose = f"{MACHINE_FAILED} " if is_machine_failure(error) else ""
            return "interrupted", f"{whose}after t = {self._last_time():.6g} s: {reason}"
        return "completed", ""

    def _begin(self) -> None:
        """Settle modes at the start, and look once at what the law and the effects answer there."""
        loop, stepper = self.loop, self.stepper
        if stepper.contacts is not None:
            stepper.contacts.set_initial_modes(loop.plant, loop.t0, loop.state.q, loop.state.v)
        loop.state = stepper.settle_law(loop.t0, loop.state)
        loop.plant.move(loop.t0, loop.state.q, loop.state.v)
        # untimed: it may have to compile
        command = loop.command(loop.t0, *loop.state)
        loop.law_checks.check_types(loop.t0, command)
        signals = loop.law.signals(loop.believed_model, loop.state.memory)
        loop.law_checks.check_signals(signals)
        effect_signals = self.recorder.effects.signals(loop.plant.snapshot, loop.plants.start_time)
        # signals are a call of Python at each sample; a law in Python may have some later on
        stepper.records_signals = bool(
            signals or loop.tick.steps.python_owners or any(True for _ in effect_signals)
        )

    def _small_step_note(self) -> str:
        """Return why the run took so long, where the steps say it."""
        step = self.loop.plants.integrator.step
        # what is advised below is for continuous control
        if step is None or step >= SMALL_STEP or self.loop.sampled:
            return ""
        return (
            f" The integrator was down to steps of {step:.1g} s; try timing.control, a stiff "
            "method of the integrator such as Radau, or monitor.max_phi."
        )

    def _explain(self, error: InfeasibleConstraint) -> str:
        """Return an error with what open contacts or the relative degree say about its rows."""
        if not error.rows:
            return str(error)
        plant = self.loop.plant
        states = {} if plant.contacts is None else plant.contacts.modes
        loose = [name for name, state in states.items() if state[MODE] == OPEN]
        if loose:
            # neither fewer rows nor more motors help a robot that touches nothing
            keeper = self.loop.law.keeper
            kept = keeper is not None and len(keeper.contact_rows) > 0
            given = "with a larger least force" if kept else "with a least force"
            cure = (
                "Slow the motion down, or keep the forces of contacts, [[keep]] kind = "
                f"'contact_forces', {given}."
            )
            if self._starts_open(loose) and self.loop.start_is_solvable():
                cure = "They start above the ground: set start.solve = true."
            cure = f"Open then, so that no motor pushes off there: {quoted(loose)}. {cure}"
            return str(InfeasibleConstraint(error.rows, error.miss, error.rank, error.count, cure))
        # where the law was asked last
        s = self.loop.believed_model.snapshot
        t, q, v = s.t, s.q, s.v
        if not (np.isfinite(q).all() and np.isfinite(v).all()):
            # A trial step had left all bounds; the last sample is near where it began.
            t, (q, v, _) = self.loop.t0, self.loop.state
            if self.recorder.count:
                t, q, v = self._last_time(), self.recorder.last("q"), self.recorder.last("v")
        reason = explain_unreachable_rows(plant, self.loop.servo, error.rows, t, q, v)
        return f"{error} {reason}" if reason else str(error)

    def _starts_open(self, contacts: Sequence[str]) -> bool:
        """Return whether a run that ends at its start does so with contacts that begin open."""
        events = self.stepper.contacts
        begins_open = events is not None and any(
            events.initial_modes[name] == WORDS[OPEN] for name in contacts
        )
        return begins_open and self._last_time() == self.loop.t0

    def compiled(self) -> dict[str, Any]:
        """Return whether machine code runs from sample to sample, and which parts are Python's.

        At samples alone, signals may be Python's all the same. There need not be room for any.
        """
        loop, stepper = self.loop, self.stepper
        tables, integrator = stepper.tables.get(loop.plant), loop.plants.integrator
        tick = tables.tick if tables else stepper.tick_table()
        python = {
            *integrator.system.steps.python_owners,
            *tick.python_owners,
            *integrator.correction_steps.python_owners,
        }
        method = integrator.step_method
        guard = tables.guard if tables else guard_sequences(loop)[0]
        # fixed steps have no dense output: the moment of a switch is searched by steps of Python
        by_python = guard.python_owners or method is None or not method.is_adaptive
        if stepper.contacts is not None and by_python:
            python.add("the guard of contacts")
        if loop.law.switches and not loop.sampled and by_python:
            python.add(f"the guard of {type(loop.law).__name__.lstrip('_')}")
        if method is None:
            python.add(f"what follows every step of {loop.scenario.integrator.method}")
        return {"compiled": not python, "python": sorted(python)}

    @property
    def ticks(self) -> int:
        """How often the law has been asked, at its ticks or at samples."""
        return int(self.stepper.ticks.tick_count[0]) if self.loop.sampled else self.recorder.count

    def timing(self) -> dict[str, float]:
        """Return how often the law was asked and how long it takes; look once, after the run."""
        # read first: asking the law for its time counts in it, too
        law_timing = dict(self.loop.law.timing())
        return {"ticks": self.ticks, "mean_tick_us": self.tick_us(), **law_timing}

    def tick_us(self) -> float:
        """Return how long the law takes at the last state, its robot included [us].

        NaN where there is no law, or it has no answer there.
        """
        loop = self.loop
        if not (self.ticks and loop.scenario.controller.acts):
            return float("nan")
        s = loop.believed_model.snapshot
        # at a state that is known nothing would be evaluated again, and so measured (decision 0158)
        robot = BoundKernel(perturb_velocity, s.v), *loop.believed_model.steps_for(loop.tick.steps)
        ask = KernelSequence((*robot, *command_steps(loop.tick, s, loop.law_checks)))
        # The clock of this thread alone: others may hold the interpreter meanwhile. The fastest
        # block counts: in the first ones memory is cold.
        best, spent, block = np.inf, 0.0, 2
        while spent < TIMING_SECONDS:
            began = time.thread_time()
            for _ in range(block):
                if run(ask.lines) < 0:
                    return float("nan")
            took = time.thread_time() - began
            best, spent = min(best, took / block), spent + took
            # ever more calls for one look at the clock, which takes time itself
            block *= 2
        return 1e6 * best

    def _last_time(self) -> float:
        return float(self.recorder.last("time")) if self.recorder.count else self.loop.t0
