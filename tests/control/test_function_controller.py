"""A plain function of Python as a controller: what a class with the same formula would do."""

from __future__ import annotations

import dataclasses as dc

import numpy as np
import pytest

from ukctrl import (
    Command,
    Controller,
    Entry,
    Law,
    Runtime,
    Scenario,
    analyze,
    check,
    compare,
    simulate,
    spec,
    sweep,
)  # fmt: skip

GOAL = np.array([0.3, -0.4, 0.2, 0.05])
SHORT = {"timing.duration": 0.2}


def spring(t, q, v):
    """Pull each joint to a place that wanders, without a look at the model."""
    return -20.0 * (q - GOAL * np.cos(t)) - 4.0 * v


@spec
class Spring(Controller):
    """The same as a class."""

    def start(self, task):
        return SpringLaw(task)


class SpringLaw(Law):
    def step(self, dynamics, memory):
        s = dynamics.snapshot
        return Command(spring(s.t, s.q, s.v), memory)


@pytest.fixture(name="scenario", params=[None, 0.01], ids=["continuous", "sampled"])
def _scenario(request):
    changes = {**SHORT, "timing.control": request.param}
    return Scenario.load("scara-helix", {k: v for k, v in changes.items() if v is not None})


def test_it_runs_as_the_class_with_its_formula_does(scenario):
    run, peer = (simulate(scenario.replace({"controller": law})) for law in (spring, Spring()))
    assert run.status == peer.status == "completed"
    for name in ("q", "v", "u", "phi"):
        np.testing.assert_array_equal(run[name], peer[name])
    at = run["q"], run["v"]
    again = [spring(t, q, v) for t, q, v in zip(run.time[:-1], *at, strict=False)]
    np.testing.assert_array_equal(run["u"][:-1], again)


def test_it_is_called_with_states_of_its_own():
    """What it does to them is no matter of the run."""

    def careless(t, q, v):
        u = spring(t, q, v)
        q[:], v[:] = np.nan, np.nan
        return u

    scenario = Scenario.load("scara-helix", SHORT)
    runs = [simulate(scenario.replace({"controller": law})) for law in (spring, careless)]
    np.testing.assert_array_equal(runs[0]["q"], runs[1]["q"])


def test_checks_linear_analyses_and_runtimes_take_it():
    scenario = Scenario.load("scara-helix", SHORT).replace({"controller": spring})
    peer = scenario.replace({"controller": Spring()})
    assert check(scenario).ok == check(peer).ok
    one, another = (np.sort_complex(analyze(law).loop.poles()) for law in (scenario, peer))
    np.testing.assert_allclose(one, another, rtol=1e-9)
    runtime = Runtime(scenario)
    np.testing.assert_array_equal(
        runtime.step(0.0, runtime.q, runtime.v), spring(0.0, runtime.q, runtime.v)
    )


@pytest.mark.parametrize("jobs", [1, 2])
def test_functions_of_one_name_are_compared_each_by_itself_in_processes_too(jobs):
    laws = [lambda t, q, v, k=k: k * spring(t, q, v) for k in (0.5, 1.0)]
    scenario = Scenario.load("scara-helix", SHORT)
    entries = [Entry(controller=law, name=f"law-{i}") for i, law in enumerate(laws)]
    comparison = compare(scenario, [*entries, spring], jobs=jobs)
    runs = comparison.results
    assert [*runs] == ["law-0", "law-1", "spring"]
    np.testing.assert_array_equal(runs["law-1"]["u"], runs["spring"]["u"])
    assert np.abs(runs["law-0"]["q"] - runs["law-1"]["q"]).max() > 1e-4
    for law, run in zip(laws, runs.values(), strict=False):
        alone = simulate(scenario.replace({"controller": law}))
        np.testing.assert_array_equal(run["q"], alone["q"])


def test_two_functions_of_one_name_are_told_to_have_names_of_their_own():
    scenario = Scenario.load("scara-helix", SHORT)
    with pytest.raises(ValueError, match="two controllers are named 'function'; give each its own"):
        compare(scenario, [lambda t, q, v: -v, lambda t, q, v: -2 * v])


def test_a_sweep_of_it_in_processes_has_the_numbers_of_one_alone():
    scenario = Scenario.load("scara-helix", SHORT).replace({"controller": spring})
    masses = {"believed.mass_scale": [0.8, 1.0]}
    one, two = (sweep(scenario, masses, jobs=jobs).columns["rms_phi"] for jobs in (1, 2))
    np.testing.assert_array_equal(one, two)


def test_what_a_run_leaves_behind_names_it_and_is_no_file_to_run(tmp_path):
    result = simulate(Scenario.load("scara-helix", SHORT).replace({"controller": spring}))
    assert result.names["controller"] == "spring"
    result.save(tmp_path)
    text = (tmp_path / "scenario.toml").read_text(encoding="utf-8")
    assert 'kind = "spring (made in Python, ' in text
    with pytest.raises(ValueError, match=r"kind must be one of .*; got 'spring \(made in Python"):
        Scenario.load(tmp_path / "scenario.toml")


def test_other_settings_are_changed_around_it():
    scenario = Scenario.load("scara-helix", SHORT).replace({"controller": spring})
    changed = scenario.replace({"controller.title": "x", "seed": 3, "timing.duration": 0.1})
    assert (changed.controller.title, changed.controller.name) == ("x", "spring")
    assert changed.controller.function == scenario.controller.function
    assert dc.replace(changed.controller, name="y").name == "y"
