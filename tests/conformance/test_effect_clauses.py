"""Each clause for effects and scenarios finds the fault that it is there for."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import pytest

from ukctrl import Scenario
from ukctrl.analysis import conformance
from ukctrl.core.fields import Text, spec
from ukctrl.simulation.effects import (
    ClockEffect,
    Drive,
    InputEffect,
    PlantEffect,
    Sensor,
    SensorEffect,
)

HELIX = Scenario.load("scara-helix")


@spec
class Reading(SensorEffect):
    sampled: ClassVar[bool] = True
    fault: Text = "none"

    def attach(self, bench, rng):
        return ReadingSensor(self.fault, rng)


class ReadingSensor(Sensor):
    seed = 0

    def __init__(self, fault, rng):
        type(self).seed += 1
        self.fault = fault
        self.rng = np.random.default_rng(self.seed) if fault == "own numbers" else rng

    def read(self, t, q, v):
        if self.fault == "writes":
            q[0] += 1.0
        if self.fault == "short":
            return q[:-1], v
        return q + 1e-9 * self.rng.normal(size=len(q)), v


@spec
class Applying(InputEffect):
    fault: Text = "none"

    def attach(self, bench, rng):
        return ApplyingDrive(self.fault)


class ApplyingDrive(Drive):
    def __init__(self, fault):
        self.fault = fault

    def apply(self, t, u, rate):
        if self.fault == "writes":
            u *= 0.5
        return u * np.nan if self.fault == "nan" else u


@spec
class Replacing(PlantEffect):
    fault: Text = "none"

    def instants(self):
        return (np.inf,) if self.fault == "never" else ()

    def altered(self, robot, at, rng):
        from ukctrl import Robot

        return Robot.load("two_link") if self.fault == "another robot" else robot


@spec
class Ticking(ClockEffect):
    fault: Text = "none"

    def ticks(self, times, bench, rng):
        return {"late": times + 1e-4, "back": times[::-1]}.get(self.fault, times)


FAULTS = {
    "sensor": (Reading(), set()),
    "sensor that writes": (Reading(fault="writes"), {"answers_in_shape"}),
    "sensor of another shape": (Reading(fault="short"), {"answers_in_shape", "runs"}),
    "sensor with numbers of its own": (Reading(fault="own numbers"), {"repeats_with_its_seed"}),
    "drive": (Applying(), set()),
    "drive that writes": (Applying(fault="writes"), {"answers_in_shape"}),
    "drive without numbers": (Applying(fault="nan"), {"answers_in_shape", "runs"}),
    "plant": (Replacing(), set()),
    "plant with other names": (Replacing(fault="another robot"), {"keeps_the_names"}),
    "plant that changes at no time": (Replacing(fault="never"), {"keeps_time"}),
    "clock": (Ticking(), set()),
    "clock that starts late": (Ticking(fault="late"), {"keeps_time"}),
    "clock that goes back": (Ticking(fault="back"), {"keeps_time"}),
}


@pytest.mark.parametrize(("effect", "clauses"), FAULTS.values(), ids=FAULTS)
def test_a_faulty_effect_is_found(effect, clauses):
    found = conformance.EFFECT.examine(conformance.Exposed(effect, HELIX), "effect")
    failing = {finding.clause for finding in found.findings if not finding.ok}
    assert clauses <= failing
    assert bool(failing) == bool(clauses)


SCENARIOS = {
    "as it is": ({}, set()),
    "without a title": ({"title": " "}, {"says_what_it_is"}),
    "out of reach": ({"servo.tool.path.center": [0.0, 3.0, 0.0]}, {"starts"}),
}


@pytest.mark.parametrize(("changes", "clauses"), SCENARIOS.values(), ids=SCENARIOS)
def test_a_faulty_scenario_is_found(changes, clauses):
    path = {"kind": "circle", "center": [0.0, 0.33, 0.1], "radius": 0.05, "period": 5.0}
    scenario = HELIX.replace({"servo.tool.path": path, "start.solve": True}).replace(changes)
    found = conformance.SCENARIO.examine(scenario, "scenario")
    failing = {finding.clause for finding in found.findings if not finding.ok}
    assert clauses <= failing
    assert bool(failing) == bool(clauses)
