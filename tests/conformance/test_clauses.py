"""Every clause for parts is broken by a part made for it, which is told so, and bears its border.

What each clause is broken by and what it allows stands in `BROKEN` and `ALLOWED`; a new clause
without either fails here.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

from ukctrl import Command, Controller, Law, Robot, Scenario, Task
from ukctrl.analysis import conformance
from ukctrl.analysis.conformance import controller_clauses
from ukctrl.control import Allocation, Allocator, Baumgarte, BoundFeedback, Feedback, LeastNorm
from ukctrl.control.allocation.allocation import AllocationBehaviour
from ukctrl.control.error_dynamics_spec import ErrorSpec
from ukctrl.control.error_polynomial import ErrorPolynomial
from ukctrl.control.feedback.feedback import FeedbackOutput
from ukctrl.control.task import Signal
from ukctrl.core.errors import GainError
from ukctrl.core.fields import Number, Text, spec
from ukctrl.mechanics.constraints import BoundConstraint, Constraint

HELIX = Scenario.load("scara-helix")
ROWS = ("tool.x", "tool.y", "tool.z", "orientation")
SUITES = {
    "feedback": conformance.FEEDBACK,
    "allocation": conformance.ALLOCATION,
    "controller": conformance.CONTROLLER,
    "constraint": conformance.CONSTRAINT,
}


def clause_of(suite, name):
    (clause,) = (one for one in suite if one.name == name)
    return clause


def failing(suite, part) -> set[str]:
    """Return the clauses that a part does not satisfy, and check that each says why."""
    found = suite.examine(part, "part")
    assert all(f.detail for f in found.findings if not f.ok)
    return {f.clause for f in found.findings if not f.ok}


def thawed(made):
    """Return a part, frozen by its decorator, that can be changed all the same."""
    return type("Loose", (made,), {"__setattr__": object.__setattr__})()


THAWED = "Loose must be frozen; its '…' can be set. Decorate it with @spec."


def test_a_part_of_every_kind_is_asked_to_be_a_record():
    said = "{} is a frozen record that can be compared, copied and pickled."
    assert {kind: clause_of(suite, "record").sentence for kind, suite in SUITES.items()} == {
        kind: said.format(f"{'An' if kind[0] in 'aeiou' else 'A'} {kind}") for kind in SUITES
    }


# Feedbacks


@spec
class Faulty(Feedback):
    fault: Text = "none"
    size: Number = 0.0

    def attach(self, stack):
        if self.fault == "refuses" or (self.fault == "serves one" and len(stack) != 4):
            raise GainError("not these rows.")
        return FaultyBound(self, stack)

    def gains_for(self, terms):
        return {"own gain": {"size": 1.0}, "other gain": {"rate": 1.0}}.get(self.fault)


class FaultyBound(BoundFeedback):
    def __init__(self, spec, stack):
        self.fault, self.size, self.stack, self.calls = spec.fault, spec.size, stack, 0
        self.memory = np.zeros(1)

    def demand(self, rows, memory):
        return rows.b - 3.0 * rows.beta

    def output(self, rows, memory, dynamics):
        self.calls += 1
        demand, rate = rows.b - 3.0 * rows.beta, np.zeros(1)
        match self.fault:
            case "shape":
                demand = demand[:-1]
            case "nan":
                demand = demand * np.nan
            case "list":
                demand = demand.tolist()
            case "short numbers":
                demand = demand.astype(np.float32)
            case "rate":
                rate = np.zeros(2)
            case "bias":
                demand = demand + self.size * (1.0 + np.abs(rows.b))
            case "feeds":
                demand = rows.b + self.size * rows.beta
            case "turns":
                demand = rows.b + 5.0 * np.append([rows.beta[1], -rows.beta[0]], 0.0 * rows.b[2:])
            case "writes rows":
                rows.beta[:] = 0.0
            case "writes memory":
                memory += 0.5
            case "counts":
                demand = demand + 1e-3 * self.calls * rows.beta
            case "raises":
                raise ZeroDivisionError("by nothing")
        return FeedbackOutput(rows, demand, rate)

    def error_polynomials(self, stack):
        names = {"nameless": stack.names[1:], "named": stack.names}.get(self.fault, ())
        return tuple(ErrorPolynomial(row=name, gains=(1.0, 2.0)) for name in names)


SAME = "must be the same bit for bit; they differ"
FEEDBACK_BROKEN = {
    "record": [(thawed(Faulty), THAWED)],
    "shapes": [
        ("shape", "the demand must have shape (4,); got (3,)."),
        ("nan", "the demand must be finite; got [nan, nan, nan, nan]."),
        ("list", "the demand must be an array of float64; got list."),
        ("short numbers", "the demand must be an array of float64; got float32 array."),
        ("rate", "the rate of the memory must have shape (1,); got (2,)."),
        ("refuses", "it must serve the rows of some situation; it refuses all of them."),
    ],
    "asks_nothing_on_the_path": [
        (Faulty(fault="bias", size=1.2e-9),
         "the demand on the path and b must agree to 1e-09; they differ by 1.2e-09."),
    ],
    "opposes_errors": [
        (Faulty(fault="feeds", size=1e-4),
         "what it adds must oppose the velocity error; it feeds it (…)."),
    ],
    "leaves_its_arguments_alone": [
        ("writes rows", f"'beta' before and after {SAME} by up to …."),
        ("writes memory", f"'memory' before and after {SAME} by up to 5.0e-01."),
    ],
    "depends_on_its_arguments_alone": [
        ("counts", f"two demands at one state {SAME} by up to …."),
    ],
    "answers_what_verdicts_ask": [
        ("nameless", f"error_polynomials must have one entry a row, or none; got {[*ROWS[1:]]}."),
        ("other gain", "gains_for must give its own fields; got ['rate']."),
    ],
}  # fmt: skip
FEEDBACK_ALLOWED = {
    "record": ["none", Baumgarte(alpha=20.0, beta=100.0)],
    "shapes": ["none", "serves one"],
    "asks_nothing_on_the_path": ["none", Faulty(fault="bias", size=0.9e-9)],
    "opposes_errors": ["none", "turns", Faulty(fault="feeds", size=0.0)],
    "leaves_its_arguments_alone": ["none"],
    "depends_on_its_arguments_alone": ["none"],
    "answers_what_verdicts_ask": ["named", "own gain"],
}


# Allocations


@spec
class Sharing(Allocation):
    fault: Text = "none"
    size: Number = 0.0

    def attach(self, task, rows):
        if self.fault == "refuses":
            raise GainError("not this robot.")
        return Shared(self, LeastNorm().attach(task, rows))

    def behaviour(self, task):
        sound = AllocationBehaviour(True, False, True)
        return {"vague": (True, None, False), "mute": (True, False)}.get(self.fault, sound)

    def levels(self, stack):
        blocks = tuple(dict.fromkeys(stack.blocks))
        each = tuple((block,) for block in blocks)
        faults = {"twice": (blocks, blocks[:1]), "forgets": (), "each": each}
        return faults.get(self.fault, (blocks,))

    def exact(self):
        return Sharing(fault="refuses") if self.fault == "inexact" else self


class Shared(Allocator):
    def __init__(self, spec, right):
        self.fault, self.size, self.right, self.calls = spec.fault, spec.size, right, 0
        self.changes, self.last = 0, np.zeros(0)

    def input(self, rows, demand, dynamics):
        self.calls += 1
        u = self.right.input(rows, demand, dynamics)
        match self.fault:
            case "misses":
                return (1.0 - self.size) * u
            case "shape":
                return np.append(u, 0.0)
            case "nan":
                return np.nan * u
            case "writes demand":
                demand *= 0.5
            case "writes A":
                rows.A[0, 0] += 1.0
            case "writes b":
                rows.b[:] += 1.0
            case "writes a_free":
                dynamics.a_free[:] += 1.0
            case "writes G":
                dynamics.G[0, 0] += 1.0
            case "counts":
                return u + 1e-14 * self.calls * u.max()
            case "counts changes":
                self.changes += not np.array_equal(demand, self.last)
                self.last = demand.copy()
                return u + 1e-14 * self.changes * u.max()
        return u


BLOCKS = ["orientation", "tool"]
QUESTIONS = "behaviour must answer three questions by True or False"
ALLOCATION_BROKEN = {
    "record": [(thawed(Sharing), THAWED)],
    "shapes": [
        ("shape", "the input must have shape (4,); got (5,)."),
        ("nan", "the input must be finite; got [nan, nan, nan, nan]."),
        ("refuses", "it must serve some situation; it refuses all of them."),
    ],
    "meets_the_rows": [
        (Sharing(fault="misses", size=1e-5),
         "the rows must be met; on the open chain they are missed by …."),
    ],
    "leaves_its_arguments_alone": [
        ("writes demand", f"'demand' before and after {SAME} by up to …."),
        *((f"writes {name}", f"'{name}' before and after {SAME} by up to 1.0e+00.")
          for name in ("A", "b", "a_free", "G")),
    ],
    "depends_on_its_arguments_alone": [
        ("counts", f"two inputs at one state {SAME} by up to …."),
        ("counts changes", f"two inputs at one state {SAME} by up to …."),
    ],
    "answers_what_verdicts_ask": [
        ("vague", f"{QUESTIONS}; got (True, None, False)."),
        ("mute", f"{QUESTIONS}; got (True, False)."),
        ("twice", f"levels must name every block of rows once, {BLOCKS}; "
                  "got ['tool', 'orientation', 'tool']."),
        ("forgets", f"levels must name every block of rows once, {BLOCKS}; got []."),
        ("inexact", "not this robot."),
    ],
}  # fmt: skip
ALLOCATION_ALLOWED = {
    "record": ["none"],
    "shapes": ["none"],
    "meets_the_rows": ["none", Sharing(fault="misses", size=0.9e-6)],
    "leaves_its_arguments_alone": ["none"],
    "depends_on_its_arguments_alone": ["none"],
    "answers_what_verdicts_ask": ["none", "each"],
}


# Controllers


@spec
class Holding(Controller):
    fault: Text = "none"
    gain: Number = 1.0

    def start(self, task: Task) -> Law:
        return HoldingLaw(self, task)

    @property
    def row_allocation(self):
        return LeastNorm() if self.fault in ("lawless", "lawful") else None

    @property
    def row_law(self):
        return self if self.fault == "lawful" else None

    def error_polynomials(self, stack):
        names = {"nameless": stack.names[:1], "named": stack.names}.get(self.fault, ())
        return tuple(ErrorPolynomial(row=name, gains=(1.0, 2.0)) for name in names)

    def gains_for(self, terms, inertia):
        assert (terms, inertia().tolist()) == (ErrorSpec(bandwidth=1.0), [1.0] * 4)
        gains = {"own gain": {"gain.tool": 1.0}, "other gain": {"gain": 1.0, "rate.gain": 2.0}}
        return gains.get(self.fault)


class HoldingLaw(Law):
    started = 0

    def __init__(self, spec, task):
        super().__init__(task)
        self.fault, self.calls = spec.fault, 0
        type(self).started += 1
        self.bias = 0.1 * self.started if spec.fault == "starts" else 0.0
        self.memory = np.zeros(1)
        if spec.fault == "remembers starts":
            self.memory = np.array([float(self.started)])

    def step(self, dynamics, memory):
        s = dynamics.snapshot
        u, demand = s.nle - 5.0 * s.v + self.bias, None
        self.calls += 1
        match self.fault:
            case "nan":
                u = u * np.nan
            case "shape":
                u = u[:2]
            case "rate":
                return Command(u, np.zeros(3))
            case "short demand":
                demand = np.zeros(3)
            case "demands":
                demand = np.zeros(4)
            case "counts":
                u = u + 1e-6 * self.calls
            case "writes memory":
                memory[0] += 1.0
            case "writes q" | "writes v" | "writes M" | "writes nle":
                getattr(s, self.fault.split()[1])[0] += 1.0
            case "writes a_free" | "writes G":
                getattr(dynamics, self.fault.split()[1])[0] += 1.0
        return Command(u, np.zeros(1), demand)

    def signals(self, dynamics, memory):
        self.calls += 1
        match self.fault:
            case "signals write":
                memory[0] += 2.0
            case "taken":
                return {"phi": Signal(1.0, "m", "an error")}
            case "wordless":
                return {"mine": Signal(1.0, "m", "")}
            case "unitless":
                return {"mine": Signal(1.0, None, "a length")}
            case "without dimension":
                return {"mine": Signal(1.0, "", "a number")}
            case "changing":
                return {"mine": Signal(np.zeros(1 + self.calls % 2), "m", "a length")}
        return {}


class Run(dict):
    """A result that a clause is shown."""

    def __init__(self, status="completed", message="", **arrays):
        super().__init__({name: np.atleast_1d(value) for name, value in arrays.items()})
        self.status, self.message = status, message


def first_and_then(first, then):
    """Return runs of which the first one is another one."""
    runs = iter([first])
    return lambda scenario: next(runs, then)


def by_period(continuous, far, near):
    """Return runs that end so far off, held over a period or a quarter of it."""
    ends = {None: continuous, 0.004: far, 0.001: near}
    return lambda scenario: Run(q=ends[scenario.timing.control])


class Shown(NamedTuple):
    """A trial whose runs are these."""

    runs: object
    scenario: Scenario = HELIX


def ended(period):
    return lambda scenario: (
        Run("diverged", "too far.", q=0.0) if scenario.timing.control == period else Run(q=0.0)
    )


CONTROLLER_BROKEN = {
    "record": [(thawed(Holding), THAWED)],
    "shapes": [
        ("nan", "the input u must be finite; got [nan, nan, nan, nan]."),
        ("shape", "the input u must have shape (4,); got (2,)."),
        ("rate", "memory_rate must have shape (1,); got (3,)."),
        ("short demand", "the demand must have shape (4,); got (3,)."),
    ],
    "starts_afresh": [
        ("starts", f"the inputs of two starts {SAME} by up to 1.0e-01."),
        ("remembers starts", f"the memories of two starts {SAME} by up to 1.0e+00."),
    ],
    "leaves_its_arguments_alone": [
        *((f"writes {name}", f"'{name}' before and after a step {SAME} by up to 1.0e+00.")
          for name in ("memory", "q", "v", "M", "nle", "a_free", "G")),
        ("signals write", f"'memory' before and after a step {SAME} by up to 2.0e+00."),
    ],
    "remembers_in_its_memory_alone": [
        ("counts", f"two inputs at one state and memory {SAME} by up to …."),
    ],
    "names_its_signals": [
        ("taken", "signals must not be called 'phi', which a result has already."),
        ("wordless", "signal 'mine' must say in words what it is."),
        ("unitless", "signal 'mine' must name its unit."),
        ("changing", "signals must stay the same; got {'mine': (2,)} and {'mine': (1,)}."),
    ],
    "answers_what_verdicts_ask": [
        ("nameless", "error_polynomials must have one entry a row, or none; got ['tool.x']."),
        ("other gain", "gains_for must give its own fields; got ['rate.gain']."),
        ("lawless", "a law by rows must name itself as row_law."),
    ],
    "repeats_its_runs": [
        (Shown(first_and_then(Run(u=1.0, q=0.0), Run(u=1.5, q=0.0))),
         f"the inputs of two runs {SAME} by up to 5.0e-01."),
        (Shown(first_and_then(Run(u=1.0, q=0.0), Run(u=1.0, q=0.25))),
         f"the motions of two runs {SAME} by up to 2.5e-01."),
    ],
    "works_under_a_hold": [
        (Shown(by_period(0.0, 0.1, 0.1)), "a quarter of the period must bring it closer; it is off "
                                          "by 1.0e-01, before 1.0e-01."),
        (Shown(by_period(0.0, -0.1, -0.3)), "a quarter of the period must bring it closer; it is "
                                            "off by 3.0e-01, before 1.0e-01."),
        (Shown(by_period(0.0, 0.0, 2e-6)), "a quarter of the period must bring it closer; it is "
                                           "off by 2.0e-06, before 0.0e+00."),
        (Shown(ended(None)), "a run ended as diverged: too far."),
        (Shown(ended(0.004)), "held over 0.004 s, it diverged: too far."),
        (Shown(ended(0.001)), "held over 0.001 s, it diverged: too far."),
    ],
    "survives_a_file": [
        (Shown(first_and_then(Run(u=1.0), Run(u=3.0))),
         "the inputs after a file must agree to 0e+00; they differ by 5.0e-01."),
    ],
}  # fmt: skip
CONTROLLER_ALLOWED = {
    "record": ["none"],
    "shapes": ["none", "demands"],
    "starts_afresh": ["none"],
    "leaves_its_arguments_alone": ["none"],
    "remembers_in_its_memory_alone": ["none", "remembers starts"],
    "names_its_signals": ["none", "without dimension"],
    "answers_what_verdicts_ask": ["none", "named", "own gain", "lawful"],
    "repeats_its_runs": [Shown(lambda scenario: Run(u=1.0, q=2.0))],
    "works_under_a_hold": [
        Shown(by_period(0.0, -0.1, 0.09)),
        Shown(by_period(0.0, 0.0, 0.9e-6)),
        # A law made for a hold has no continuous control to come close to: no run is made.
        Shown(None, HELIX.replace({"timing.control": 0.01})),
    ],
    "survives_a_file": [Shown(lambda scenario: Run(u=1.0))],
}


# Constraints


@spec
class Height(Constraint):
    """The last slide at 0.1 m, quadratically, with one of its derivatives wrong."""

    fault: Text = "none"
    size: Number = 0.0

    def attach(self, robot: Robot) -> BoundConstraint:
        return HeightRow(self)


class HeightRow(BoundConstraint):
    block, names, units, holonomic = "height", ("height",), ("m",), (True,)

    def __init__(self, spec):
        self.fault, self.size = spec.fault, spec.size
        if self.fault in ("slips", "slips with phi"):
            self.holonomic = (False,)

    def write(self, snapshot, rows):
        z, w, t = snapshot.q[3], snapshot.v[3], snapshot.t
        rows.A[0, 3] = 2.0 * z
        rows.beta[0] = 2.0 * z * w - 0.6 * t
        rows.b[0] = 0.6 - 2.0 * w * w
        rows.phi[0] = z * z - 0.3 * t * t
        match self.fault:
            case "beta":
                rows.beta[0] += self.size * (1.0 + abs(rows.beta[0])) * np.sin(1e-3 * t)
            case "offset":
                rows.beta[0] += self.size * (1.0 + abs(rows.beta[0]))
            case "b":
                rows.b[0] += self.size * (1.0 + abs(rows.A[0, 3] * 1.0 - rows.b[0]))
            case "A":
                rows.A[0, 0] = np.inf
            case "infinite b":
                rows.b[0] = np.inf
            case "infinite beta":
                rows.beta[0] = np.nan
            case "phi" | "slips":
                rows.phi[0] = np.nan


MISPLACED = "phi must be NaN where a row is nonholonomic and nowhere else."
CONSTRAINT_BROKEN = {
    "record": [(thawed(Height), THAWED)],
    "shapes": [
        ("phi", MISPLACED),
        ("slips with phi", MISPLACED),
        ("A", "A, row by row, must be finite; got [inf, 0.0, 0.0, …]."),
        ("infinite b", "b must be finite; got [inf]."),
        ("infinite beta", "beta must be finite; got [nan]."),
    ],
    "beta_is_the_rate_of_phi": [
        (Height(fault="offset", size=6e-6),
         "beta and the rate of phi must agree to 5e-06; they differ by 6.0e-06."),
    ],
    "rows_are_the_rate_of_beta": [
        (Height(fault="b", size=0.1),
         "A a - b and the rate of beta must agree to 5e-06; they differ by …."),
    ],
}  # fmt: skip
CONSTRAINT_ALLOWED = {
    "record": ["none"],
    "shapes": ["none", "slips"],
    "beta_is_the_rate_of_phi": ["none", "slips", Height(fault="offset", size=4e-6)],
    "rows_are_the_rate_of_beta": ["none", "slips", Height(fault="b", size=1e-6)],
}


# All of them

BROKEN = {
    "feedback": FEEDBACK_BROKEN, "allocation": ALLOCATION_BROKEN, "controller": CONTROLLER_BROKEN,
    "constraint": CONSTRAINT_BROKEN,
}  # fmt: skip
ALLOWED = {
    "feedback": FEEDBACK_ALLOWED, "allocation": ALLOCATION_ALLOWED,
    "controller": CONTROLLER_ALLOWED, "constraint": CONSTRAINT_ALLOWED,
}  # fmt: skip
MADE = {"feedback": Faulty, "allocation": Sharing, "controller": Holding, "constraint": Height}


def part_of(kind, given, monkeypatch):
    """Return what a clause for a kind is called with."""
    if isinstance(given, Shown):
        monkeypatch.setattr(controller_clauses, "simulate", given.runs)
        return conformance.ControllerCase(Holding(), given.scenario)
    part = MADE[kind](fault=given) if isinstance(given, str) else given
    if kind == "controller":
        return conformance.ControllerCase(part, HELIX)
    return conformance.ConstraintCase(part, Robot.load("scara")) if kind == "constraint" else part


@pytest.mark.parametrize("kind", SUITES)
def test_every_clause_has_a_part_that_breaks_it_and_one_that_it_allows(kind):
    names = [clause.name for clause in SUITES[kind]]
    assert list(BROKEN[kind]) == names
    assert list(ALLOWED[kind]) == names
    assert all(BROKEN[kind].values())
    assert all(ALLOWED[kind].values())


@pytest.mark.parametrize(
    ("kind", "name", "given", "sentence"),
    [(kind, name, *case) for kind, of in BROKEN.items() for name in of for case in of[name]],
)
def test_what_breaks_a_clause_is_told_so(kind, name, given, sentence, told, monkeypatch):
    told(clause_of(SUITES[kind], name), part_of(kind, given, monkeypatch), sentence)


@pytest.mark.parametrize(
    ("kind", "name", "given"),
    [(kind, name, given) for kind, of in ALLOWED.items() for name in of for given in of[name]],
)
def test_what_a_clause_just_allows(kind, name, given, monkeypatch):
    clause_of(SUITES[kind], name)(part_of(kind, given, monkeypatch))


def test_a_clause_is_broken_alone():
    """A part that breaks one clause is not told of others."""
    counts = Faulty(fault="counts")
    assert failing(conformance.FEEDBACK, counts) == {"depends_on_its_arguments_alone"}
    assert failing(conformance.FEEDBACK, Faulty(fault="raises")) == {
        "shapes", "asks_nothing_on_the_path", "opposes_errors", "leaves_its_arguments_alone",
        "depends_on_its_arguments_alone",
    }  # fmt: skip


def test_the_trial_of_a_controller_is_short_and_of_fixed_steps():
    trial = conformance.ControllerCase(Holding(), HELIX.replace({"timing.control": 0.01})).run
    assert (trial.timing.duration, trial.timing.sample, trial.timing.control) == (0.1, 0.02, 0.01)
    assert (trial.integrator.method, trial.integrator.step) == ("RK4", 2e-4)
    assert trial.controller == Holding()
    brief = conformance.ControllerCase(Holding(), HELIX.replace({"timing.duration": 0.06})).run
    assert brief.timing.duration == 0.06


@pytest.mark.parametrize("clause", conformance.FEEDBACK, ids=str)
def test_a_clause_can_be_a_test_of_ones_own(clause):
    clause(Baumgarte(alpha=20.0, beta=100.0))
