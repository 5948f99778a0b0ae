"""What every controller must do on a scenario that it serves."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ukctrl.analysis.conformance.clauses import (
    Suite,
    field_names,
    require,
    require_array,
    require_close,
    require_equal,
)
from ukctrl.analysis.conformance.situations import Situation, situation
from ukctrl.control.controller import Controller, Law
from ukctrl.control.terms import Terms
from ukctrl.core.errors import quoted
from ukctrl.core.extremes import max_abs
from ukctrl.simulation.result.quantities import FIELDS
from ukctrl.simulation.result.result import Result
from ukctrl.simulation.scenario import Scenario
from ukctrl.simulation.simulate import simulate

SHORT = 0.1
"""Length of the runs [s]."""
STEP = 2e-4
"""Step of their integration [s]."""
HOLD = 4e-3
"""Period of a zero-order hold [s], and four times a quicker one."""
CLOSE = 1e-6
"""A held run this close to continuous control has nothing left to gain [rad, m]."""


class Trial(NamedTuple):
    """A controller, and the scenario on which it is tried."""

    controller: Controller
    scenario: Scenario

    @property
    def run(self) -> Scenario:
        """The scenario under this controller, short."""
        short = {
            "timing.duration": min(SHORT, self.scenario.timing.duration),
            "timing.sample": 0.02,
            "controller": self.controller,
            # Of fixed steps, so that a faulty law cannot make it take for ever.
            "integrator": {"method": "RK4", "step": STEP},
        }
        return self.scenario.replace(short)

    def place(self) -> Situation:
        """Return the task and states around its start."""
        return situation(self.run)

    def law(self, place: Situation) -> Law:
        """Start the controller."""
        return self.controller.start(place.task)


CONTROLLER = Suite[Trial]("controller")
"""The clauses for controllers."""
CONTROLLER.record("A controller", lambda trial: trial.controller)


@CONTROLLER.clause
def shapes(trial: Trial) -> None:
    """A step answers one finite number a motor, and a rate of the memory's shape."""
    place = trial.place()
    law = trial.law(place)
    for dynamics in place.states():
        memory = law.settled(dynamics, law.memory)
        command = law.step(dynamics, memory)
        require_array("the input u", command.u, dynamics.robot.nu)
        require_array("memory_rate", command.memory_rate, len(law.memory))
        if command.demand is not None:
            require_array("the demand", command.demand, len(law.stack))


@CONTROLLER.clause
def starts_afresh(trial: Trial) -> None:
    """Started twice on one task, it gives two laws that answer alike."""
    place = trial.place()
    first, second = trial.law(place), trial.law(place)
    require_equal("the memories of two starts", first.memory, second.memory)
    for dynamics in place.states():
        u = first.step(dynamics, first.memory).u.copy()
        require_equal("the inputs of two starts", second.step(dynamics, second.memory).u, u)


@CONTROLLER.clause
def leaves_its_arguments_alone(trial: Trial) -> None:
    """A step changes neither the memory nor the robot that it is given."""
    place = trial.place()
    law = trial.law(place)
    for dynamics in place.states():
        s = dynamics.snapshot
        memory = law.memory.copy()
        arrays = {"q": s.q, "v": s.v, "M": s.M, "nle": s.nle, "B": s.B, "memory": memory}
        arrays |= {"a_free": dynamics.a_free, "G": dynamics.G}
        before = {name: array.copy() for name, array in arrays.items()}
        law.step(dynamics, memory)
        law.signals(dynamics, memory)
        for name, array in arrays.items():
            require_equal(f"'{name}' before and after a step", array, before[name])


@CONTROLLER.clause
def remembers_in_its_memory_alone(trial: Trial) -> None:
    """A step depends on state and memory alone: integrators go back and forth in time."""
    place = trial.place()
    law = trial.law(place)
    states = list(place.points)
    answers = []
    for t, q, v in [*states, *reversed(states)]:
        place.dynamics.move(t, q, v)
        answers.append(law.step(place.dynamics, law.memory).u.copy())
    for k, first in enumerate(answers[: len(states)]):
        require_equal("two inputs at one state and memory", answers[-1 - k], first)


@CONTROLLER.clause
def names_its_signals(trial: Trial) -> None:
    """Signals have names of their own, units, words, and are the same at every state."""
    place = trial.place()
    law = trial.law(place)
    shapes: dict[str, tuple[int, ...]] | None = None
    for dynamics in place.states():
        signals = law.signals(dynamics, law.memory)
        taken = [name for name in signals if name in FIELDS]
        require(
            not taken, f"signals must not be called {quoted(taken)}, which a result has already."
        )
        for name, signal in signals.items():
            require(bool(signal.long_name), f"signal '{name}' must say in words what it is.")
            require(isinstance(signal.units, str), f"signal '{name}' must name its unit.")
        now = {name: np.shape(signal.value) for name, signal in signals.items()}
        require(shapes in (None, now), f"signals must stay the same; got {shapes} and {now}.")
        shapes = now


@CONTROLLER.clause
def answers_what_verdicts_ask(trial: Trial) -> None:
    """What it says of its rows fits them: an equation of the error a row, and gains that it has."""
    place = trial.place()
    law, controller = trial.law(place), trial.controller
    rows = [each.row for each in controller.error_polynomials(law.stack)]
    require(
        not rows or rows == list(law.stack.names),
        f"error_polynomials must have one entry a row, or none; got {rows}.",
    )
    gains = controller.gains_for(Terms(bandwidth=1.0), lambda: np.ones(len(law.stack))) or {}
    wrong = sorted(name for name in gains if name.split(".")[0] not in field_names(controller))
    require(not wrong, f"gains_for must give its own fields; got {wrong}.")
    if controller.row_allocation is not None:
        require(controller.row_law is not None, "a law by rows must name itself as row_law.")


@CONTROLLER.clause
def repeats_its_runs(trial: Trial) -> None:
    """Equal scenarios give results of the same bits."""
    first, second = simulate(trial.run), simulate(trial.run)
    require_equal("the inputs of two runs", first["u"], second["u"])
    require_equal("the motions of two runs", first["q"], second["q"])


@CONTROLLER.clause
def works_under_a_hold(trial: Trial) -> None:
    """Held over a shorter period, its motion comes closer to that of continuous control."""
    if trial.run.timing.control is not None:
        return  # made for a hold: there is no continuous control to come close to
    ideal = simulate(trial.run)
    require(ideal.status == "completed", f"a run ended as {ideal.status}: {ideal.message}")
    far, near = (_off(trial, period, ideal) for period in (HOLD, HOLD / 4.0))
    require(
        near < max(far, CLOSE),
        f"a quarter of the period must bring it closer; it is off by {near:.1e}, before {far:.1e}.",
    )


def _off(trial: Trial, period: float, ideal: Result) -> float:
    held = simulate(trial.run.replace({"timing.control": period}))
    require(held.status == "completed", f"held over {period:g} s, it {held.status}: {held.message}")
    return max_abs(held["q"] - ideal["q"])


@CONTROLLER.clause
def survives_a_file(trial: Trial) -> None:
    """Written to a scenario's file and read back, it gives the same inputs."""
    run = trial.run.replace({"timing.duration": 0.04})
    again = Scenario.from_toml(run.to_toml(), trust=True)
    require_close("the inputs after a file", simulate(again)["u"], simulate(run)["u"], 0.0)
