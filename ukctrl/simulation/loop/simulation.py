"""A run of a loop to its end, or to what stops it, and what it then has to tell."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from ukctrl.core.errors import InfeasibleConstraint, UkctrlError, quoted
from ukctrl.core.files.plugins import blame
from ukctrl.core.own_processes import machine_failed
from ukctrl.core.program import Call, Steps, run
from ukctrl.mechanics.constraints.contact import MODE, OPEN
from ukctrl.mechanics.relative_degree import explain
from ukctrl.robot import Robot
from ukctrl.simulation.loop.rates import asked
from ukctrl.simulation.loop.recorder import Drifted
from ukctrl.simulation.loop.rewind import Origin
from ukctrl.simulation.loop.running import Progress, Running
from ukctrl.simulation.loop.sample_kernels import other_state
from ukctrl.simulation.result.record import STOPPED, Status
from ukctrl.simulation.scenario import Scenario

TIMED = 2e-4
"""For so long a law is asked, after the run, to tell how long it takes [s]."""
CRAWLING = 1e-7
"""Steps below this are those of a run that hardly moves on [s]."""
DECIDING = (
    "robot", "servo", "keep", "controller", "timing", "start", "integrator", "believed", "monitor",
    "stabilisation", "rank", "sensing", "observer",
)  # fmt: skip
"""Parts of a scenario that decide which tables a loop has, and what is in them."""
MACHINE_FAILED = "the machine failed"
"""How that of a run begins that found no more memory, disk or files."""


class Simulation(Running):
    """A scenario on its way from the start to the end, or to what stops it."""

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
            told = self.recorder.trail.signals(self.truth.snapshot, self._plants.since)
            self._tells = bool(signals or self.tick.steps.python or any(True for _ in told))
            self._run()
        except KeyboardInterrupt:
            if self.recorder.count == len(self.outputs):
                return "completed", f"{STOPPED} after the last sample."
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
        """Return what open contacts or the relative degree say about the rows, if anything."""
        if not error.rows:
            return ""
        states = {} if self.truth.contacts is None else self.truth.contacts.states
        loose = [name for name, state in states.items() if state[MODE] == OPEN]
        if loose:
            return (
                f" Open then, so that no motor pushes off there: {quoted(loose)}. Slow the motion "
                "down, or keep the forces of contacts, [[keep]] kind = 'contact_forces'."
            )
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


def _alike(one: Scenario, other: Scenario) -> bool:
    """Return whether two scenarios differ in their seeds and effects alone, names aside."""
    return all(
        getattr(one, name) is getattr(other, name) or getattr(one, name) == getattr(other, name)
        for name in DECIDING
    )
