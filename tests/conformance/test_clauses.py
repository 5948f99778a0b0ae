"""Each clause finds the fault that it is there for, and no other clause hides it."""

from __future__ import annotations

import numpy as np
import pytest

from ukctrl import Command, Controller, Law, Robot, Scenario, Task
from ukctrl.analysis import conformance
from ukctrl.control import Allocation, Allocator, Baumgarte, BoundFeedback, Feedback, LeastNorm
from ukctrl.control.task import Signal
from ukctrl.core.fields import Number, Text, spec
from ukctrl.mechanics.constraints import Attached, Constraint
from ukctrl.robot import Functions

HELIX = Scenario.load("scara-helix")


def failing(suite, part) -> set[str]:
    """Return the clauses that a part does not satisfy, and check that each says why."""
    found = suite.examine(part, "part")
    assert all(f.detail for f in found.findings if not f.ok)
    return {f.clause for f in found.findings if not f.ok}


# Feedbacks


@spec
class Faulty(Feedback):
    fault: Text = ""

    def attach(self, stack):
        if self.fault == "refuses":
            from ukctrl.core.errors import GainError

            raise GainError("not these rows.")
        return FaultyBound(self.fault, stack)


class FaultyBound(BoundFeedback):
    def __init__(self, fault, stack):
        self.fault, self.calls = fault, 0
        self.memory = np.zeros(1)

    def demand(self, rows, memory):
        self.calls += 1
        demand = rows.b - 3.0 * rows.beta
        match self.fault:
            case "shape":
                return demand[:-1]
            case "nan":
                return demand - rows.phi + np.nan
            case "list":
                return demand.tolist()
            case "bias":
                return demand + 1.0
            case "feeds":
                return rows.b + 3.0 * rows.beta
            case "writes":
                rows.beta[:] = 0.0
            case "counts":
                return demand + 1e-3 * self.calls * rows.beta
            case "raises":
                raise ZeroDivisionError("by nothing")
        return demand

    def memory_rate(self, rows, memory):
        return np.zeros(2 if self.fault == "rate" else 1)


EVERY = {"shapes", "asks_nothing_on_the_path", "opposes_errors"}
FEEDBACK_FAULTS = {
    "none": set(),
    "shape": {"shapes"},
    "nan": {"shapes"},
    "list": {"shapes"},
    "rate": {"shapes"},
    "bias": {"asks_nothing_on_the_path"},
    "feeds": {"opposes_errors"},
    "writes": {"leaves_its_arguments_alone"},
    "counts": {"depends_on_its_arguments_alone"},
    "raises": {"shapes", "asks_nothing_on_the_path", "leaves_its_arguments_alone"},
    "refuses": EVERY,
}


@pytest.mark.parametrize(("fault", "clauses"), FEEDBACK_FAULTS.items())
def test_a_faulty_feedback_is_found(fault, clauses):
    found = failing(conformance.FEEDBACK, Faulty(fault=fault))
    assert clauses <= found
    assert bool(found) == bool(clauses)


# Records


class Loose(Faulty):
    """Frozen by its decorator, and thawed again by hand."""

    def __setattr__(self, name, value):
        object.__setattr__(self, name, value)


def test_a_part_that_can_be_changed_is_found():
    assert "record" in failing(conformance.FEEDBACK, Loose())


def test_a_part_that_does_not_pickle_is_found():
    @spec
    class Local(Faulty):
        pass

    assert failing(conformance.FEEDBACK, Local()) == {"record"}


# Allocations


@spec
class Sharing(Allocation):
    fault: Text = ""

    def attach(self, task, rows):
        return Shared(self.fault, LeastNorm().attach(task, rows))


class Shared(Allocator):
    def __init__(self, fault, right):
        self.fault, self.right, self.calls = fault, right, 0

    def input(self, rows, demand, dynamics):
        self.calls += 1
        u = self.right.input(rows, demand, dynamics)
        match self.fault:
            case "misses":
                return 0.9 * u
            case "shape":
                return np.append(u, 0.0)
            case "writes":
                demand *= 0.5
            case "counts":
                return u + 1e-14 * self.calls * u.max()
        return u


ALLOCATION_FAULTS = {
    "none": set(),
    "misses": {"meets_the_rows"},
    "shape": {"shapes"},
    "writes": {"leaves_its_arguments_alone"},
    "counts": {"depends_on_its_arguments_alone"},
}


@pytest.mark.parametrize(("fault", "clauses"), ALLOCATION_FAULTS.items())
def test_a_faulty_allocation_is_found(fault, clauses):
    found = failing(conformance.ALLOCATION, Sharing(fault=fault))
    assert clauses <= found
    assert bool(found) == bool(clauses)


# Controllers


@spec
class Holding(Controller):
    fault: Text = ""
    gain: Number = 1.0

    def start(self, task: Task) -> Law:
        return HoldingLaw(self, task)


class HoldingLaw(Law):
    started = 0

    def __init__(self, spec, task):
        super().__init__(task)
        self.fault, self.calls = spec.fault, 0
        type(self).started += 1
        self.bias = 0.1 * self.started if spec.fault == "starts" else 0.0
        self.memory = np.zeros(1)

    def step(self, dynamics, memory):
        s = dynamics.snapshot
        u = s.nle - 5.0 * s.v + self.bias
        self.calls += 1
        match self.fault:
            case "nan":
                u = u * np.nan
            case "shape":
                return Command(u[:2], np.zeros(1))
            case "rate":
                return Command(u, np.zeros(3))
            case "counts":
                u = u + 1e-6 * self.calls
            case "writes":
                memory[0] += 1.0
        return Command(u, np.zeros(1))

    def signals(self, dynamics, memory):
        self.calls += 1
        match self.fault:
            case "taken":
                return {"phi": Signal(1.0, "m", "an error")}
            case "wordless":
                return {"mine": Signal(1.0, "m", "")}
            case "changing":
                return {"mine": Signal(np.zeros(1 + self.calls % 2), "m", "a length")}
        return {}


CONTROLLER_FAULTS = {
    "none": set(),
    "nan": {"shapes"},
    "shape": {"shapes"},
    "rate": {"shapes"},
    "starts": {"starts_afresh"},
    "counts": {"remembers_in_its_memory_alone"},
    "writes": {"leaves_its_arguments_alone"},
    "taken": {"names_its_signals"},
    "wordless": {"names_its_signals"},
    "changing": {"names_its_signals"},
}


@pytest.mark.parametrize(("fault", "clauses"), CONTROLLER_FAULTS.items())
def test_a_faulty_controller_is_found(fault, clauses):
    found = failing(conformance.CONTROLLER, conformance.Trial(Holding(fault=fault), HELIX))
    assert clauses <= found
    assert bool(found) == bool(clauses)


# Constraints


@spec
class Height(Constraint):
    """The last slide at 0.1 m, quadratically, with one of its derivatives wrong."""

    fault: Text = ""

    def attach(self, robot: Robot) -> Attached:
        return HeightRow(self.fault)


class HeightRow(Attached):
    block, names, units, holonomic = "height", ("height",), ("m",), (True,)

    def __init__(self, fault):
        self.fault = fault

    def write(self, snapshot, rows):
        z, w = snapshot.q[3], snapshot.v[3]
        rows.A[0, 3] = 2.0 * z
        rows.beta[0] = 2.0 * z * w * (1.1 if self.fault == "beta" else 1.0)
        rows.b[0] = 0.0 if self.fault == "b" else -2.0 * w * w
        rows.phi[0] = np.nan if self.fault == "phi" else z * z - 0.01


CONSTRAINT_FAULTS = {
    "none": set(),
    "beta": {"beta_is_the_rate_of_phi", "rows_are_the_rate_of_beta"},
    "b": {"rows_are_the_rate_of_beta"},
    "phi": {"shapes", "beta_is_the_rate_of_phi"},
}


@pytest.mark.parametrize(("fault", "clauses"), CONSTRAINT_FAULTS.items())
def test_a_faulty_constraint_is_found(fault, clauses):
    placed = conformance.Placed(Height(fault=fault), Robot.load("scara"))
    assert failing(conformance.CONSTRAINT, placed) == clauses


# Robots


def test_a_robot_whose_forces_do_not_fit_its_energy_is_found():
    robot = Robot.build(
        Functions(
            coordinates={"x": "rad"},
            M=lambda q: np.array([[2.0 + np.cos(q[0])]]),
            nle=lambda q, v: np.array([0.0]),
            potential=lambda q: 0.0,
        )
    )
    assert "energy_balance" in failing(conformance.ROBOT, robot)


# Reports


def test_a_report_lists_what_fails():
    report = conformance.FEEDBACK.examine(Faulty(fault="bias"), "biased")
    with pytest.raises(
        conformance.Broken, match="feedback 'biased' does not conform: asks_nothing"
    ):
        report.confirm()
    assert report.to_dict()["ok"] is False


@pytest.mark.parametrize("clause", conformance.FEEDBACK, ids=str)
def test_a_clause_can_be_a_test_of_ones_own(clause):
    clause(Baumgarte(alpha=20.0, beta=100.0))
