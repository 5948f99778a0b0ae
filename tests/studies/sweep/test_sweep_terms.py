"""Sweeps over terms: one bandwidth for whatever law, its gains worked out at every point."""

from __future__ import annotations

import shlex
from pathlib import Path

import numpy as np
import pytest
from studies import rows

from ukctrl import ErrorSpec, Scenario, designed, simulate
from ukctrl.core.errors import InputError
from ukctrl.studies.sweep import Factor, Levels, SamplingPlan, Study, sweep
from ukctrl.studies.sweep.dry_run import representative_scenarios
from ukctrl.studies.sweep.sample_task import SweepInput
from ukctrl.studies.sweep_analysis.sample_replay import replay_command

LAWS = ("servo-baumgarte", "pid", "servo-exact")


@pytest.fixture(scope="module")
def helix():
    noise = {"kind": "noise", "std": 1e-5}
    timing = {"timing.duration": 0.05, "timing.control": 0.001}
    return Scenario.load("scara-helix", {**timing, "effect": [noise]})


@pytest.fixture(scope="module")
def study(helix):
    return sweep(helix, [f"controller.use={','.join(LAWS)}", "bandwidth=20,90"], repeats=2)


@pytest.mark.slow
def test_a_sample_has_the_gains_that_are_designed_for_its_law_and_bandwidth(helix, study):
    for sample in (2, 6):  # each law at 90 rad/s, and at 20
        of = {name: column[sample] for name, column in study.columns.items()}
        law, bandwidth = of["controller.use"], of["bandwidth"]
        alone = helix.replace({"controller.use": law, "seed": int(of["seed"])})
        gains = designed(alone, ErrorSpec(bandwidth=bandwidth)).gains
        result = simulate(alone.replace(gains))
        assert result.metrics["rms_phi"] == of["rms_phi"]


@pytest.mark.slow
def test_repeats_of_a_point_differ_in_their_seed_alone(study):
    one, other = (study.scenario_of(k).to_table() for k in (4, 5))
    assert one.pop("seed") != other.pop("seed")
    assert one == other


@pytest.mark.slow
def test_a_law_without_such_gains_is_a_failed_sample_that_says_so(study):
    failed = rows(study.columns, study.columns["controller.use"] == "servo-exact")
    assert set(failed["status"]) == {"failed"}
    assert all("gains follow from a bandwidth" in told for told in failed["message"])


def test_a_saved_study_gives_the_same_scenarios(study, tmp_path):
    again = Study.load(study.save(tmp_path / "kept"))
    assert again.scenario_of(3).to_toml() == study.scenario_of(3).to_toml()


def test_what_varies_beside_the_terms_is_not_overruled_by_them(helix):
    found = sweep(helix, ["bandwidth=50", "controller.feedback.alpha=7"])
    feedback = found.scenario_of(0).to_table()["controller"]["feedback"]
    wanted = designed(helix, ErrorSpec(bandwidth=50.0)).gains
    assert feedback["alpha"] == 7.0
    assert feedback["beta"] == wanted["controller.feedback.beta"]


@pytest.mark.parametrize("text", ["bandwidth=-1,10", "bandwidth=fast,10", "damping=0.7,1.0"])
def test_a_term_that_is_none_is_refused_before_anything_runs(helix, text):
    with pytest.raises(InputError, match=r"bandwidth|settling"):
        sweep(helix, [text])


def test_the_command_for_a_sample_has_its_gains(study):
    words = shlex.split(replay_command(study, 2, Path("here")))
    changes = dict(words[k + 1].split("=", 1) for k, word in enumerate(words) if word == "--set")
    gains = designed(study.scenario_of(2), ErrorSpec(bandwidth=90.0)).gains
    assert words[:2] == ["ukctrl", "run"]
    assert {path: float(changes[path]) for path in gains} == dict(gains)


def test_the_command_for_a_sample_without_gains_tells_why(study):
    words = shlex.split(replay_command(study, 11, Path("here")))
    assert words[:2] == ["ukctrl", "analyze"]
    assert words[-2:] == ["--bandwidth", "90"]


def test_cards_that_differ_in_numbers_alone_are_looked_at_once(helix):
    cards = [{"use": "pid", "kp": [k, k, k, k]} for k in (1.0, 2.0, 3.0)]
    cards += [{"use": "servo-baumgarte"}, {"use": "pid", "kp": 4.0}]
    plan = SamplingPlan.of([Factor("controller", Levels(tuple(cards))), Factor.parse("seed=1,2,3")])
    found = representative_scenarios(SweepInput(scenario=helix, plan=plan))
    kinds = [
        (one.controller.name, np.ndim(one.to_table()["controller"].get("kp"))) for one in found
    ]
    assert kinds == [("pid", 1), ("servo-baumgarte", 0), ("pid", 0)]
