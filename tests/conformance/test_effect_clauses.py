"""Each clause for effects and scenarios is broken by one made for it, and bears its border."""

from __future__ import annotations

from typing import ClassVar, NamedTuple

import numpy as np
import pytest

from ukctrl import Robot, Scenario
from ukctrl.analysis import conformance
from ukctrl.analysis.conformance import effect_clauses, scenario_clauses
from ukctrl.core.fields import Number, Text, spec
from ukctrl.simulation.effects import (
    ClockEffect,
    Drive,
    Effect,
    InputEffect,
    PlantEffect,
    Sensor,
    SensorEffect,
)
from ukctrl.simulation.effects.effect import LinearSensorModel
from ukctrl.simulation.scenario import Timing

HELIX = Scenario.load("scara-helix")
SAME = "must be the same bit for bit; they differ by up to"


@spec
class Reading(SensorEffect):
    sampled: ClassVar[bool] = True
    fault: Text = "none"
    late: Number = 0.0

    def attach(self, context, rng):
        return ReadingSensor(self.fault, rng)

    def linear(self, context):
        assert (context.robot.name, context.start, context.duration) == ("scara", 0.0, 0.03)
        assert context.period == 0.005
        late = np.inf if self.fault == "never" else self.late
        return None if self.fault == "crooked" else LinearSensorModel(delay=late)


class ReadingSensor(Sensor):
    seed = 0

    def __init__(self, fault, rng):
        type(self).seed += 1
        self.fault = fault
        self.rng = np.random.default_rng(self.seed) if fault == "own numbers" else rng

    def read(self, t, q, v):
        match self.fault:
            case "writes q":
                q[0] += 1.0
            case "writes v":
                v[0] += 1.0
            case "short":
                return q[:-1], v
            case "short v":
                return q, v[:-1]
        return q + 1e-9 * self.rng.normal(size=len(q)), v


@spec
class Applying(InputEffect):
    fault: Text = "none"

    def attach(self, context, rng):
        return ApplyingDrive(self.fault)


class ApplyingDrive(Drive):
    def __init__(self, fault):
        self.fault = fault

    def apply(self, t, u, rate):
        match self.fault:
            case "writes u":
                u += 1.0
            case "writes rate":
                rate += 1.0
            case "short":
                return u[1:]
        return u * np.nan if self.fault == "nan" else u


class Changed:
    """A robot with other motors, other forces or another mass matrix from some time on."""

    def __init__(self, robot, **given):
        self._robot = robot
        self.__dict__.update(given)

    def __getattr__(self, name):
        return getattr(self._robot, name)

    def snapshot(self, q, v, t):
        s = self._robot.snapshot(q, v, t)
        s.M[0, 0] *= getattr(self, "mass", 1.0)
        s.f[0] += getattr(self, "force", 0.0)
        return s


@spec
class Replacing(PlantEffect):
    fault: Text = "none"

    def instants(self):
        times = {"never": (np.inf,), "later": (0.01,), "later motors": (0.01,)}
        return times.get(self.fault, ())

    def altered(self, robot, at, rng):
        match self.fault:
            case "another robot":
                return Robot.load("two_link")
            case "dofs" | "actuators":
                return Changed(robot, **{self.fault: ("one",)})
            case "later motors" if at > 0.0:
                return Changed(robot, actuators=("one",))
            case "later" if at > 0.0:
                return Changed(robot, force=np.nan)
            case "massless":
                return Changed(robot, mass=np.inf)
            case "moody":
                type(self).calls = getattr(self, "calls", 0) + 1
                return Changed(robot, force=float(self.calls))
        return robot


@spec
class Ticking(ClockEffect):
    fault: Text = "none"

    def ticks(self, times, context, rng):
        made = {
            "late": times + 1e-4,
            "back": times[::-1] * np.where(times[::-1] == times[-1], 0.0, 1.0),
            "twice": np.maximum(times - 0.005, 0.0),
            "close": 1e-3 * times,
        }
        if self.fault == "own numbers":
            type(self).seed = getattr(self, "seed", 0) + 1
            return times + np.append(0.0, 1e-6 * self.seed * np.ones(5))
        return made.get(self.fault, times)


@spec
class Nowhere(Effect):
    pass


class Run(dict):
    """A result that a clause is shown."""

    def __init__(self, status="completed", message="", **arrays):
        plain = dict.fromkeys("qvau", 0.0) | arrays
        super().__init__({name: np.atleast_1d(value) for name, value in plain.items()})
        self.status, self.message = status, message


class Shown(NamedTuple):
    """One whose runs are these; the last one goes on."""

    runs: tuple[Run, ...]


SCARA, MOTORS = ("q1", "q2", "q3", "q4"), ("u1", "u2", "u3", "u4")
EFFECT_BROKEN = {
    "record": [
        (Nowhere(), "it must be derived from one of PlantEffect, SensorEffect, InputEffect, "
                    "ClockEffect."),
        (type("Loose", (Ticking,), {"__setattr__": object.__setattr__})(),
         "Loose must be frozen; its '…' can be set. Decorate it with @spec."),
    ],
    "answers_in_shape": [
        (Nowhere(), "it acts in no known place."),
        (Reading(fault="writes q"), f"'q' before and after a reading {SAME} 1.0e+00."),
        (Reading(fault="writes v"), f"'v' before and after a reading {SAME} 1.0e+00."),
        (Reading(fault="short"), "the configuration read must have shape (4,); got (3,)."),
        (Reading(fault="short v"), "the velocity read must have shape (4,); got (3,)."),
        (Applying(fault="writes u"), f"'u' before and after {SAME} 1.0e+00."),
        (Applying(fault="writes rate"), f"'rate' before and after {SAME} 1.0e+00."),
        (Applying(fault="short"), "the input applied must have shape (4,); got (3,)."),
        (Applying(fault="nan"), "the input applied must be finite; got [nan, nan, nan, nan]."),
        (Replacing(fault="another robot"), "q must have shape (2,); got (4,)."),
        (Replacing(fault="massless"), f"M, row by row, must be finite; got [inf{', …' * 15}]."),
        (Replacing(fault="later"), "nle - f must be finite; got [nan, …, …, …]."),
    ],
    "repeats_with_its_seed": [
        (Reading(fault="own numbers"), f"the configuration read with one seed {SAME} …."),
        (Replacing(fault="moody"), f"nle - f with one seed {SAME} 1.0e+00."),
        (Ticking(fault="own numbers"), f"the ticks with one seed {SAME} 1.0e-06."),
    ],
    "keeps_the_names": [
        (Replacing(fault="another robot"),
         f"coordinates must stay {SCARA}; got ('shoulder', 'elbow')."),
        (Replacing(fault="dofs"), f"dofs must stay {SCARA}; got ('one',)."),
        (Replacing(fault="actuators"), f"actuators must stay {MOTORS}; got ('one',)."),
        (Replacing(fault="later motors"), f"actuators must stay {MOTORS}; got ('one',)."),
    ],
    "keeps_time": [
        (Replacing(fault="never"), "its instants must be finite; got [inf]."),
        (Ticking(fault="late"), "the first tick must stay 0 s; got 0.0001."),
        (Ticking(fault="back"), "ticks must increase; got [0.0, 0.02, 0.015, …, 0.005, 0.0]."),
        (Ticking(fault="twice"), "ticks must increase; got [0.0, 0.0, …, …, …, …]."),
    ],
    "answers_what_an_analysis_asks": [
        (Reading(late=-1e-3), "linear must be late by a finite time; got -0.001 s."),
        (Reading(fault="never"), "linear must be late by a finite time; got inf s."),
    ],
    "runs": [
        (Shown((Run("diverged", "too far."),)), "a short run diverged: too far."),
        *((Shown((Run(), Run(**{name: 0.5}))), f"'{name}' of two runs {SAME} 5.0e-01.")
          for name in "qvu"),
    ],
}  # fmt: skip
EFFECT_ALLOWED = {
    "record": [Reading(), Applying(), Replacing(), Ticking()],
    "answers_in_shape": [Reading(), Applying(), Replacing(), Replacing(fault="dofs"), Ticking()],
    "repeats_with_its_seed": [Reading(), Applying(), Replacing(), Ticking(fault="late")],
    "keeps_the_names": [Reading(), Replacing(), Replacing(fault="later")],
    "keeps_time": [Reading(), Replacing(fault="later"), Ticking(), Ticking(fault="close")],
    "answers_what_an_analysis_asks": [
        Ticking(), Reading(), Reading(late=0.5), Reading(fault="crooked"),
    ],
    "runs": [Reading(), Shown((Run(), Run(a=1.0)))],
}  # fmt: skip
NAMELESS = HELIX.replace({"title": " "})
SCENARIO_BROKEN = {
    "says_what_it_is": [(NAMELESS, "a scenario must have a title; it is empty.")],
    "starts": [
        (Shown((Run("diverged", "too far."),)), "a short run diverged: too far."),
        *((Shown((Run(**{name: [0.0, bad]}),)), f"'{name}' must be finite in every sample.")
          for name, bad in zip("qvau", (np.nan, np.inf, -np.inf, np.nan), strict=True)),
    ],
    "repeats": [
        *((Shown((Run(), Run(**{name: 0.5}))), f"'{name}' of two runs {SAME} 5.0e-01.")
          for name in "qvu"),
    ],
    "survives_a_file": [
        (Shown((Run(), Run(q=2.0))), f"'q' after a file {SAME} 2.0e+00."),
    ],
}  # fmt: skip
SCENARIO_ALLOWED = {
    "says_what_it_is": [HELIX],
    "starts": [HELIX, Shown((Run(),))],
    "repeats": [Shown((Run(), Run(a=1.0)))],
    "survives_a_file": [Shown((Run(), Run(u=1.0)))],
}
SUITES = {
    "effect": (conformance.EFFECT, EFFECT_BROKEN, EFFECT_ALLOWED),
    "scenario": (conformance.SCENARIO, SCENARIO_BROKEN, SCENARIO_ALLOWED),
}


@pytest.fixture
def given(monkeypatch):
    """Return what a clause for a kind is called with."""

    def given(kind, part):
        if isinstance(part, Shown):
            runs, last = iter(part.runs), part.runs[-1]
            for clauses in (effect_clauses, scenario_clauses):
                monkeypatch.setattr(clauses, "simulate", lambda _: next(runs, last))
            part = Ticking() if kind == "effect" else HELIX
        return conformance.EffectCase(part, HELIX) if kind == "effect" else part

    return given


@pytest.mark.parametrize("kind", SUITES)
def test_every_clause_has_one_that_breaks_it_and_one_that_it_allows(kind):
    suite, broken, allowed = SUITES[kind]
    names = [clause.name for clause in suite]
    assert (list(broken), list(allowed)) == (names, names)
    assert all((*broken.values(), *allowed.values()))


@pytest.mark.parametrize(
    ("kind", "clause", "part", "sentence"),
    [
        (kind, clause, *case)
        for kind, (suite, broken, _) in SUITES.items()
        for clause in suite
        for case in broken[clause.name]
    ],
    ids=str,
)
def test_what_breaks_a_clause_is_told_so(kind, clause, part, sentence, given, told):
    told(clause, given(kind, part), sentence)


@pytest.mark.parametrize(
    ("kind", "clause", "part"),
    [
        (kind, clause, part)
        for kind, (suite, _, allowed) in SUITES.items()
        for clause in suite
        for part in allowed[clause.name]
    ],
    ids=str,
)
def test_what_a_clause_just_allows(kind, clause, part, given):
    clause(given(kind, part))


def test_a_scenario_whose_file_cannot_be_read_is_told_so(monkeypatch, told):
    monkeypatch.setattr(Scenario, "to_toml", lambda _: "title = 1")
    told(
        list(conformance.SCENARIO)[-1],
        HELIX,
        "its own file must be readable; scenario: title: must be text; got 1. (and 2 more)",
    )


def test_the_run_of_an_effect_is_six_ticks_with_it_alone():
    run = conformance.EffectCase(Ticking(), HELIX.replace({"effect": (Applying(),)})).run
    assert run.effect == (Ticking(),)
    timing = run.timing
    assert (timing.duration, timing.sample, timing.control) == (pytest.approx(0.03), 0.005, 0.005)


@pytest.mark.parametrize(
    ("timing", "duration"),
    [
        (Timing(duration=5.0, sample=0.01), 0.05),  # five samples
        (Timing(duration=5.0, sample=0.01, control=0.02), 0.1),  # five periods
        (Timing(duration=5.0, sample=0.02), 0.1),
        (Timing(duration=5.0, sample=0.2), 1.0),
        (Timing(duration=0.5, sample=0.2), 0.5),
        (Timing(duration=0.03, sample=0.01), 0.03),
    ],
)
def test_the_run_of_a_scenario_is_short(timing, duration):
    short = scenario_clauses._short(HELIX.replace({"timing": timing}))
    assert short.timing.duration == pytest.approx(duration)


def test_a_scenario_that_cannot_start_is_found():
    path = {"kind": "circle", "center": [0.0, 3.0, 0.0], "radius": 0.05, "period": 5.0}
    scenario = HELIX.replace({"servo.tool.path": path, "start.solve": True})
    found = conformance.SCENARIO.examine(scenario, "scenario")
    assert [finding.ok for finding in found.findings] == [True, False, False, False]
