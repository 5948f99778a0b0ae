"""Machine code runs every scenario of the catalogue from sample to sample."""

import numpy as np
import pytest

from ukctrl import Scenario, simulate
from ukctrl.core.files import catalog
from ukctrl.simulation.assemble import Loop
from ukctrl.simulation.record.recorder import Recorder
from ukctrl.simulation.step.simulation_run import SimulationRun
from ukctrl.simulation.step.stepper import Stepper


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(catalog.names("scenarios")))
def test_no_part_of_a_scenario_is_pythons(name):
    loop = Loop(Scenario.load(name))
    run = SimulationRun(loop, Recorder(loop))
    assert run.compiled() == {"compiled": True, "python": []}


OBSERVERS = {
    "differences": {"kind": "differences", "cutoff": 100.0},
    "luenberger": {"kind": "luenberger", "bandwidth": 100.0},
    "kalman": {"kind": "kalman", "acceleration_std": 1.0},
    "ekf": {"kind": "ekf", "acceleration_std": 1.0, "start_std": 1e-4},
    "ukf": {"kind": "ukf", "acceleration_std": 1.0},
    "momentum": {
        "kind": "luenberger",
        "bandwidth": 100.0,
        "disturbance": {"kind": "momentum_observer", "bandwidth": 50.0},
    },
    "acceleration": {"kind": "differences", "disturbance": {"kind": "acceleration_observer"}},
}


@pytest.mark.slow(only=[f"{kind}-{name}" for kind in OBSERVERS for name in ("a1-lean", "five-bar")])
@pytest.mark.parametrize(
    "name", ["two-mass-spring", "quadrotor-hover", "three-rrr", "a1-lean", "five-bar"]
)
@pytest.mark.parametrize("kind", OBSERVERS)
def test_observers_of_all_kinds_are_compiled_too(kind, name):
    changes = {"timing.control": 1e-3, "timing.duration": 5e-3, "timing.sample": 1e-3}
    noise = [{"kind": "noise", "std": 1e-5}]
    result = simulate(
        Scenario.load(name, {"observer": OBSERVERS[kind], "effect": noise, **changes})
    )
    assert result.status == "completed", result.message
    assert result.provenance["loop"] == {"compiled": True, "python": []}


@pytest.mark.parametrize("name", ["a1-lean", "a1-ice"])
def test_ticks_with_contacts_and_near_singular_positions_are_compiled_too(name):
    result = simulate(Scenario.load(name, {"timing.duration": 0.1}))
    assert result.status == "completed"
    assert result.provenance["loop"] == {"compiled": True, "python": []}


def test_feet_that_slide_between_ticks_go_where_steps_of_python_take_them(monkeypatch):
    scenario = Scenario.load("a1-ice", {"timing.duration": 0.25, "keep": []})
    compiled = simulate(scenario)
    monkeypatch.setattr(Stepper, "_runs_segments", lambda *_: False)
    by_python = simulate(scenario)
    changes = [run.provenance["contacts"]["changes"] for run in (compiled, by_python)]
    assert changes[0] == changes[1] > 0
    np.testing.assert_allclose(compiled["q"], by_python["q"], rtol=0.0, atol=1e-7)
