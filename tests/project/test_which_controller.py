"""The study behind the page "Which controller for my robot?" can be repeated, and still holds."""

import importlib
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from ukctrl import Scenario
from ukctrl.core.files.table_paths import parse_value
from ukctrl.studies.comparison.entry import entry_scenarios

SCRIPTS = Path(__file__).resolve().parents[2] / "docs" / "gallery" / "which_controller"
NAMES = (
    "cases", "study", "tables", "verdicts", "trials", "survey", "outcomes", "survey_tables",
    "survey_verdicts", "survey_figure", "findings",
)  # fmt: skip


@pytest.fixture(scope="module")
def scripts():
    """The page's scripts by name, forgotten afterwards: other pages use the same names."""
    places = [str(SCRIPTS), str(SCRIPTS.parent / "shared")]
    sys.path[:0] = places
    try:
        yield {name: importlib.import_module(name) for name in NAMES}
    finally:
        for place in places:
            sys.path.remove(place)
        for name in NAMES:
            sys.modules.pop(name, None)


def check(*arguments, script="study.py"):
    return subprocess.run(
        [sys.executable, str(SCRIPTS / script), "--check", *arguments],
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.slow
def test_a_sample_of_the_study_comes_out_as_stored():
    done = check("far", "weak")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
def test_every_short_comparison_comes_out_as_stored():
    done = check("--quick")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("name", ["singular", "hanging", "elastic-1", "elastic-10", "noise-given"])
def test_a_sample_of_the_long_comparisons_comes_out_as_stored(name):
    done = check(name)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_comparison_is_stored_as_it_is_asked_for(scripts):
    stored = scripts["study"].load()
    assert list(stored) == list(scripts["cases"].CASES)
    for name, case in scripts["cases"].CASES.items():
        variants = entry_scenarios(Scenario.load(case.scenario, dict(case.changes)), case.entries)
        assert list(stored[name]["entries"]) == list(variants), name


def test_a_changed_number_and_a_changed_end_are_told(scripts):
    before = {
        "entries": {"one": {"status": "completed", "metrics": {"effort": 1.0, "rms_phi": 1e-12}}}
    }
    now = {"entries": {"one": {"status": "completed", "metrics": {"effort": 1.2, "rms_phi": 1e-9}}}}
    told = scripts["study"].differences("a", before, now)
    assert told == ["a: effort of 'one' was 1.0, and is 1.2."]
    now["entries"]["one"]["status"] = "diverged"
    told = scripts["study"].differences("a", before, now)
    assert told == ["a: 'one' was completed, and is diverged."]


@pytest.mark.slow
def test_advice_that_the_study_does_not_support_is_refused(scripts):
    stored = scripts["study"].load()
    assert "servo-bounded" in scripts["verdicts"].decide(stored)
    stored["singular"]["entries"]["operational-space"]["status"] = "completed"
    with pytest.raises(RuntimeError, match="does not support 'a path past a singular pose'"):
        scripts["verdicts"].decide(stored)


@pytest.mark.slow
def test_each_command_on_the_page_asks_for_the_same_comparison(scripts):
    for name, case in scripts["cases"].CASES.items():
        try:
            words = shlex.split(case.command())
        except TypeError:
            continue  # its law stands in the scenario, and has no card
        given = dict(enumerate(words))
        entries = [words[k + 1] for k, word in given.items() if word == "-c"]
        sets = [words[k + 1].partition("=") for k, word in given.items() if word == "--set"]
        changes = {path: parse_value(value) for path, _, value in sets}
        asked = entry_scenarios(Scenario.load(words[2], changes), entries)
        meant = entry_scenarios(Scenario.load(case.scenario, dict(case.changes)), case.entries)
        assert asked == meant, name


@pytest.mark.slow
def test_a_sample_of_the_survey_comes_out_as_stored():
    done = check("40", script="survey.py")
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_survey_has_every_law_at_every_bandwidth_on_every_robot_in_every_trouble(scripts):
    robots, troubles = scripts["trials"].ROBOTS, scripts["trials"].TROUBLES
    assert len(robots) >= 5
    assert len(troubles) >= 8
    wanted = {
        (name, trouble, law, bandwidth)
        for name, robot in robots.items()
        for trouble in troubles
        for law in robot.laws
        for bandwidth in robot.bandwidths
    }
    assert set(scripts["survey"].load()) == wanted
    assert len(scripts["survey_tables"].laws_of(tuple(robots))) >= 12


def test_gains_are_judged_on_other_plants_and_on_another_path(scripts):
    trials = scripts["trials"]
    assert not set(trials.TRAINING) & set(trials.JUDGING)
    for robot in trials.ROBOTS.values():
        one, other = (robot.base("an untold payload", judging=j) for j in (False, True))
        assert one.servo != other.servo
        assert one.effect != other.effect


def made_up(scripts, errors, travel=100.0):
    """Return settings of two laws whose errors are given, as the survey has them."""
    survey = scripts["survey"]
    rng = np.random.default_rng(0)
    shape = {name: len(seeds) for name, seeds in survey.PHASES.items()}
    return {
        law: {
            float(w): survey.Setting(
                **{
                    name: np.array(
                        [
                            error * k * (1.0 + 0.01 * rng.standard_normal(count)),
                            np.full(count, travel / k),
                        ]
                    )
                    for name, count in shape.items()
                },
                refused=False,
            )
            for w, k in ((10, 4.0), (20, 1.0), (40, 2.0))
        }
        for law, error in errors.items()
    }


def test_a_law_that_is_better_is_told_and_one_that_is_the_same_is_not(scripts):
    case_of = scripts["outcomes"]._case
    told = case_of("scara", "a push", made_up(scripts, {"one": 0.1, "other": 0.2}))
    assert told.best == ("one",)
    assert told.better["one", "other"] == pytest.approx(2.0, rel=0.02)
    assert told.beats.keys() == {("one", "other")}
    same = case_of("scara", "a push", made_up(scripts, {"one": 0.1, "other": 0.1}))
    assert set(same.best) == {"one", "other"}
    assert not same.beats
    assert {law.bandwidth for law in same.laws.values()} == {20.0}


def test_nobody_is_best_where_the_best_choice_is_an_end_of_the_range(scripts):
    laws = made_up(scripts, {"one": 0.1, "other": 0.2})
    del laws["one"][10.0], laws["one"][40.0]
    found = scripts["outcomes"]._case("scara", "a push", laws)
    assert found.withheld
    assert not found.best
    assert "†" in scripts["survey_tables"].cell(found, "one")
    assert "**" not in scripts["survey_tables"].cell(found, "one")


@pytest.mark.slow
def test_a_sentence_that_the_counts_do_not_carry_is_not_made(scripts, monkeypatch):
    findings, outcomes = scripts["findings"], scripts["outcomes"]
    said = findings.findings()
    assert "takes a force away" in said
    made = outcomes._case("scara", "a push", made_up(scripts, {"servo-baumgarte": 0.1, "pid": 0.2}))
    monkeypatch.setattr(findings, "cases", lambda: {("scara", "a push"): made})
    assert "takes a force away" not in findings.findings()
