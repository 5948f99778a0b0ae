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
from ukctrl.control.error_dynamics_spec import ErrorSpec
from ukctrl.core.errors import quoted
from ukctrl.core.tie_breaking import max_abs
from ukctrl.simulation.result.quantities import FIELDS
from ukctrl.simulation.result.result import Result
from ukctrl.simulation.scenario import Scenario
from ukctrl.simulation.simulate import simulate

DURATION = 0.1
"""Length of the runs [s]."""
STEP = 2e-4
"""Step of their integration [s]."""
HOLD = 4e-3
"""Period of a zero-order hold [s], and four times a quicker one."""
DEVIATION_TOLERANCE = 1e-6
"""A held run this close to continuous control has nothing left to gain [rad, m]."""


class ControllerCase(NamedTuple):
    """A controller, and the scenario on which it is tried."""

    controller: Controller
    scenario: Scenario

    @property
    def run(self) -> Scenario:
        """The scenario under this controller, short."""
        short = {
            "timing.duration": min(DURATION, self.scenario.timing.duration),
            "timing.sample": 0.02,
            "controller": self.controller,
            # Of fixed steps, so that a faulty law cannot make it take for ever.
            "integrator": {"method": "RK4", "step": STEP},
        }
        return self.scenario.replace(short)

    def situation(self) -> Situation:
        """Return the task and states around its start."""
        return situation(self.run)

    def law(self, situation: Situation) -> Law:
        """Start the controller."""
        return self.controller.start(situation.task)


CONTROLLER = Suite[ControllerCase]("controller")
"""The clauses for controllers."""
CONTROLLER.record("A controller", lambda trial: trial.controller)


@CONTROLLER.clause
def shapes(trial: ControllerCase) -> None:
    """A step answers one finite number a motor, and a rate of the memory's shape."""
    situation = trial.situation()
    law = trial.law(situation)
    for dynamics in situation.states():
        memory = law.settled(dynamics, law.memory)
        command = law.step(dynamics, memory)
        require_array("the input u", command.u, dynamics.robot.nu)
        require_array("memory_rate", command.memory_rate, len(law.memory))
        if command.demand is not None:
            require_array("the demand", command.demand, len(law.stack))


@CONTROLLER.clause
def starts_afresh(trial: ControllerCase) -> None:
    """Started twice on one task, it gives two laws that answer alike."""
    situation = trial.situation()
    first, second = trial.law(situation), trial.law(situation)
    require_equal("the memories of two starts", first.memory, second.memory)
    for dynamics in situation.states():
        u = first.step(dynamics, first.memory).u.copy()
        require_equal("the inputs of two starts", second.step(dynamics, second.memory).u, u)


@CONTROLLER.clause
def leaves_its_arguments_alone(trial: ControllerCase) -> None:
    """A step changes neither the memory nor the robot that it is given."""
    situation = trial.situation()
    law = trial.law(situation)
    for dynamics in situation.states():
        s = dynamics.snapshot
        memory = law.memory.copy()
        arrays = {"q": s.q, "v": s.v, "M": s.M, "nle": s.nle, "B": s.B, "memory": memory}
        arrays |= {"a_free": dynamics.a_free, "G": dynamics.G}
        copies = {name: array.copy() for name, array in arrays.items()}
        law.step(dynamics, memory)
        law.signals(dynamics, memory)
        for name, array in arrays.items():
            require_equal(f"'{name}' before and after a step", array, copies[name])


@CONTROLLER.clause
def remembers_in_its_memory_alone(trial: ControllerCase) -> None:
    """A step depends on state and memory alone: integrators go back and forth in time."""
    situation = trial.situation()
    law = trial.law(situation)
    states = list(situation.points)
    answers = []
    for t, q, v in [*states, *reversed(states)]:
        situation.dynamics.move(t, q, v)
        answers.append(law.step(situation.dynamics, law.memory).u.copy())
    for k, first in enumerate(answers[: len(states)]):
        require_equal("two inputs at one state and memory", answers[-1 - k], first)


@CONTROLLER.clause
def names_its_signals(trial: ControllerCase) -> None:
    """Signals have names of their own, units, words, and are the same at every state."""
    situation = trial.situation()
    law = trial.law(situation)
    shapes: dict[str, tuple[int, ...]] | None = None
    for dynamics in situation.states():
        signals = law.signals(dynamics, law.memory)
        conflicts = [name for name in signals if name in FIELDS]
        require(
            not conflicts,
            f"signals must not be called {quoted(conflicts)}, which a result has already.",
        )
        for name, signal in signals.items():
            require(bool(signal.long_name), f"signal '{name}' must say in words what it is.")
            require(isinstance(signal.units, str), f"signal '{name}' must name its unit.")
        signal_shapes = {name: np.shape(signal.value) for name, signal in signals.items()}
        require(
            shapes in (None, signal_shapes),
            f"signals must stay the same; got {shapes} and {signal_shapes}.",
        )
        shapes = signal_shapes


@CONTROLLER.clause
def answers_what_verdicts_ask(trial: ControllerCase) -> None:
    """What it says of its rows fits them: an equation of the error a row, and gains that it has."""
    situation = trial.situation()
    law, controller = trial.law(situation), trial.controller
    rows = [polynomial.row for polynomial in controller.error_polynomials(law.stack)]
    require(
        not rows or rows == list(law.stack.names),
        f"error_polynomials must have one entry a row, or none; got {rows}.",
    )
    gains = controller.gains_for(ErrorSpec(bandwidth=1.0), lambda: np.ones(len(law.stack))) or {}
    wrong = sorted(name for name in gains if name.split(".")[0] not in field_names(controller))
    require(not wrong, f"gains_for must give its own fields; got {wrong}.")
    if controller.row_allocation is not None:
        require(controller.row_law is not None, "a law by rows must name itself as row_law.")


@CONTROLLER.clause
def repeats_its_runs(trial: ControllerCase) -> None:
    """Equal scenarios give results of the same bits."""
    first, second = simulate(trial.run), simulate(trial.run)
    require_equal("the inputs of two runs", first["u"], second["u"])
    require_equal("the motions of two runs", first["q"], second["q"])


@CONTROLLER.clause
def works_under_a_hold(trial: ControllerCase) -> None:
    """Held over a shorter period, its motion comes closer to that of continuous control."""
    if trial.run.timing.control is not None:
        return  # made for a hold: there is no continuous control to come close to
    ideal = simulate(trial.run)
    require(ideal.status == "completed", f"a run ended as {ideal.status}: {ideal.message}")
    # The error of a hold is of first order: a quarter must help, unless both are rounding.
    far, near = (_held_deviation(trial, period, ideal) for period in (HOLD, HOLD / 4.0))
    require(
        near < max(far, DEVIATION_TOLERANCE),
        f"a quarter of the period must bring it closer; it is off by {near:.1e}, before {far:.1e}.",
    )


def _held_deviation(trial: ControllerCase, period: float, ideal: Result) -> float:
    result = simulate(trial.run.replace({"timing.control": period}))
    require(
        result.status == "completed",
        f"held over {period:g} s, it {result.status}: {result.message}",
    )
    return max_abs(result["q"] - ideal["q"])


@CONTROLLER.clause
def survives_a_file(trial: ControllerCase) -> None:
    """Written to a scenario's file and read back, it gives the same inputs."""
    run = trial.run.replace({"timing.duration": 0.04})
    again = Scenario.from_toml(run.to_toml(), trust=True)
    require_close("the inputs after a file", simulate(again)["u"], simulate(run)["u"], 0.0)
