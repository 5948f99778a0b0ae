"""What every scenario must do: load, start, run, repeat, and survive a file."""

from __future__ import annotations

import numpy as np

from ukctrl.analysis.conformance.clauses import Suite, require, require_equal
from ukctrl.core.errors import UkctrlError
from ukctrl.simulation.result.result import Result
from ukctrl.simulation.scenario import Scenario
from ukctrl.simulation.simulate import simulate

SCENARIO = Suite[Scenario]("scenario")
"""The clauses for scenarios."""
SAMPLES = 5
"""Samples of the short runs."""


def _short(scenario: Scenario) -> Scenario:
    timing = scenario.timing
    period = max(timing.control or 0.0, timing.sample)
    duration = min(timing.duration, SAMPLES * period, 0.1 if period <= 0.02 else timing.duration)
    return scenario.replace({"timing.duration": duration})


def _run(scenario: Scenario) -> Result:
    run = simulate(_short(scenario))
    require(run.status == "completed", f"a short run {run.status}: {run.message}")
    return run


@SCENARIO.clause
def says_what_it_is(scenario: Scenario) -> None:
    """It has a title."""
    require(bool(scenario.title.strip()), "a scenario must have a title; it is empty.")


@SCENARIO.clause
def starts(scenario: Scenario) -> None:
    """Its first moments run through, and every sample is finite."""
    run = _run(scenario)
    for name in ("q", "v", "a", "u"):
        require(bool(np.isfinite(run[name]).all()), f"'{name}' must be finite in every sample.")


@SCENARIO.clause
def repeats(scenario: Scenario) -> None:
    """Run twice, it gives the same bits."""
    first, second = _run(scenario), _run(scenario)
    for name in ("q", "v", "u"):
        require_equal(f"'{name}' of two runs", first[name], second[name])


@SCENARIO.clause
def survives_a_file(scenario: Scenario) -> None:
    """Written to a file and read back, it gives the same bits."""
    try:
        again = Scenario.from_toml(scenario.to_toml(), trust=True)
    except UkctrlError as error:
        require(False, f"its own file must be readable; {error}")
    else:
        require_equal("'q' after a file", _run(again)["q"], _run(scenario)["q"])
