"""A run of a loop to its end, or to what stops it, and what it then has to tell."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from ukctrl.core.errors import InfeasibleConstraint, UkctrlError, quoted
from ukctrl.core.files.plugins import plugin_fault
from ukctrl.core.program import BoundKernel, KernelSequence, run
from ukctrl.core.subprocess_safety import is_machine_failure
from ukctrl.mechanics.constraints.contact import MODE, OPEN
from ukctrl.mechanics.relative_degree import explain_unreachable_rows
from ukctrl.robot import Robot
from ukctrl.simulation.assemble.right_hand_side import command_steps
from ukctrl.simulation.record.recorder import DriftExceeded
from ukctrl.simulation.record.sample_kernels import perturb_velocity
from ukctrl.simulation.result.run_record import STOPPED, Status
from ukctrl.simulation.scenario import Scenario
from ukctrl.simulation.step.reset import InitialArrays
from ukctrl.simulation.step.stepper import Progress, Stepper

TIMING_SECONDS = 2e-4
"""For so long a law is asked, after the run, to tell how long it takes [s]."""
SMALL_STEP = 1e-7
"""Steps below this are those of a run that hardly moves on [s]."""
TABLE_SECTIONS = (
    "robot", "servo", "keep", "controller", "timing", "start", "integrator", "believed", "monitor",
    "stabilisation", "rank", "sensing", "observer",
)  # fmt: skip
"""Parts of a scenario that decide which tables a loop has, and what is in them."""
MACHINE_FAILED = "the machine failed"
"""How that of a run begins that found no more memory, disk or files."""


class SimulationRun(Stepper):
    """A scenario on its way from the start to the end, or to what stops it."""

    def allocate(self) -> None:
        """Make room for the samples: before `run`, for where there is none nothing is kept.

        Raises:
            InputError: There is no room.
        """
        self.recorder.allocate(self._sampled or self._integrates_energy)
        self._initial_arrays, self._start = InitialArrays(), self.state
        self._initial_arrays.exclude(self.recorder.block)
        system, tick = self._plants.integrator.system, self.tick
        law = tick.steps, tick.memory, tick.u, tick.memory_rate, tick.demand, tick.has_demand
        buffers = (
            *self.measured_state,
            self.memory,
            self.tick_count,
            self.held_input,
            tuple(system.arrays),
        )
        self._initial_arrays.add(
            system.steps, self.plant.steps, self.believed_model.steps, *law, *buffers
        )

    def reuse_for(self, scenario: Scenario, robot: Robot) -> bool:
        """Make ready to run another scenario from its start; return whether this loop can run it.

        It can where the scenario differs in nothing but its seed and effects that draw the inertias
        of bodies, and where machine code alone has run the loop so far.
        """
        ours, start = self.scenario, self.scenario.start
        if (
            robot is not self.robot
            or not _same_tables(ours, scenario)
            or start.spread
            or start.planned
        ):
            return False
        if self.estimator is not None:
            return False  # it remembers its run
        effects, old_effects = self._attach_effects(scenario), self.effects
        if not (
            effects.only_redraws_inertia
            and old_effects.only_redraws_inertia
            and effects.acts_on_plant == old_effects.acts_on_plant
        ):
            return False
        self._initial_arrays.restore()
        if effects.acts_on_plant and not self.plant.take_inertias(effects.plants[0].robot):
            return False
        self.scenario, self.effects, self.state = scenario, effects, self._start
        self.recorder.reset()
        return True

    @property
    def is_reusable(self) -> bool:
        """Whether nothing is left of its run that `begin_again` cannot put back."""
        jumps = self.law.switches or self.contacts is not None
        return self._initial_arrays.is_complete and not jumps and bool(self.compiled()["compiled"])

    def run(self, progress: Progress) -> tuple[Status, str]:
        """Run to the end, or to whatever stops it, Ctrl-C included; return the status and why."""
        try:
            self._progress = progress
            if self.contacts is not None:
                self.contacts.set_initial_modes(self.plant, self.t0, self.state.q, self.state.v)
            self.state = self._settle_law(self.t0, self.state)
            self.plant.move(self.t0, self.state.q, self.state.v)
            command = self.command(self.t0, *self.state)  # untimed: it may have to compile
            self._law_checks.check_types(self.t0, command)
            signals = self.law.signals(self.believed_model, self.state.memory)
            self._law_checks.check_signals(signals)
            effect_signals = self.recorder.effects.signals(
                self.plant.snapshot, self._plants.start_time
            )
            self._records_signals = bool(
                signals or self.tick.steps.python_owners or any(True for _ in effect_signals)
            )
            self._run()
        except KeyboardInterrupt:
            if self.recorder.count == len(self.outputs):
                return "completed", f"{STOPPED} after the last sample."
            return (
                "interrupted",
                f"{STOPPED} at t = {self._last_time():.6g} s.{self._small_step_note()}",
            )
        except InfeasibleConstraint as error:
            return (
                "infeasible",
                f"after t = {self._last_time():.6g} s: {error}{self._infeasibility_reason(error)}",
            )
        except DriftExceeded as error:
            return "drifted", str(error)
        except (UkctrlError, ArithmeticError) as error:
            return "diverged", f"after t = {self._last_time():.6g} s: {error}"
        except Exception as error:  # a fault in a user's law: keep what there is
            reason = plugin_fault(error) or f"{type(error).__name__}: {error}"
            whose = f"{MACHINE_FAILED} " if is_machine_failure(error) else ""
            return "interrupted", f"{whose}after t = {self._last_time():.6g} s: {reason}"
        return "completed", ""

    def _small_step_note(self) -> str:
        """Return why the run took so long, where the steps say it."""
        step = self._plants.integrator.step
        if step is None or step >= SMALL_STEP or self._sampled:
            return ""
        return (
            f" The integrator was down to steps of {step:.1g} s; try timing.control, a stiff "
            "method of the integrator such as Radau, or monitor.max_phi."
        )

    def _infeasibility_reason(self, error: InfeasibleConstraint) -> str:
        """Return what open contacts or the relative degree say about the rows, if anything."""
        if not error.rows:
            return ""
        states = {} if self.plant.contacts is None else self.plant.contacts.modes
        loose = [name for name, state in states.items() if state[MODE] == OPEN]
        if loose:
            return (
                f" Open then, so that no motor pushes off there: {quoted(loose)}. Slow the motion "
                "down, or keep the forces of contacts, [[keep]] kind = 'contact_forces'."
            )
        s = self.believed_model.snapshot  # where the law was asked last
        t, q, v = s.t, s.q, s.v
        if not (np.isfinite(q).all() and np.isfinite(v).all()):
            # A trial step had left all bounds; the last sample is near where it began.
            t, q, v = self.t0, self.state.q, self.state.v
            if self.recorder.count:
                t, q, v = self._last_time(), self.recorder.last("q"), self.recorder.last("v")
        reason = explain_unreachable_rows(self.plant, self.recorder.servo, error.rows, t, q, v)
        return f" {reason}" if reason else ""

    def compiled(self) -> dict[str, Any]:
        """Return whether machine code runs from sample to sample, and which parts are Python's.

        At samples alone, signals may be Python's all the same. There need not be room for any.
        """
        around = self._arounds.get(self.plant)
        tick = around.tick if around else self._tick_table()
        integrator = self._plants.integrator
        python = {
            *integrator.system.steps.python_owners,
            *tick.python_owners,
            *integrator.correction_steps.python_owners,
        }
        stepping = self._stepping()
        guard = around.guard if around else self._guard_table(self.plant)[0]
        by_python = guard.python_owners or stepping is None or not stepping.is_adaptive
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
        return int(self.tick_count[0]) if self._sampled else self.recorder.count

    def timing(self) -> dict[str, float]:
        """Return how often the law was asked and how long it takes; look once, after the run."""
        law_timing = dict(self.law.timing())  # before it is asked again, for its time
        return {"ticks": self.ticks, "mean_tick_us": self.tick_us(), **law_timing}

    def tick_us(self) -> float:
        """Return how long the law takes at the last state, its robot included [us].

        NaN where there is no law, or it has no answer there.
        """
        if not (self.ticks and self.scenario.controller.acts):
            return float("nan")
        s = self.believed_model.snapshot
        robot = BoundKernel(perturb_velocity, s.v), *self.believed_model.steps_for(self.tick.steps)
        ask = KernelSequence((*robot, *command_steps(self.tick, s, self._law_checks)))
        # The clock of this thread alone: others may hold the interpreter meanwhile.
        began, spent, count, block = time.thread_time(), 0.0, 0, 2
        while spent < TIMING_SECONDS:
            for _ in range(block):
                if run(ask.lines) < 0:
                    return float("nan")
            count, block, spent = count + block, 2 * block, time.thread_time() - began
        return 1e6 * spent / count

    def _last_time(self) -> float:
        return float(self.recorder.last("time")) if self.recorder.count else self.t0


def _same_tables(one: Scenario, second: Scenario) -> bool:
    """Return whether two scenarios differ in their seeds and effects alone, names aside."""
    return all(
        getattr(one, name) is getattr(second, name) or getattr(one, name) == getattr(second, name)
        for name in TABLE_SECTIONS
    )
