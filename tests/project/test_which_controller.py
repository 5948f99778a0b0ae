"""The study behind the page "Which controller for my robot?" can be repeated, and still holds."""

import importlib
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from ukctrl import Scenario
from ukctrl.core.files.table_paths import parse_value
from ukctrl.studies.comparison.entries import variants_of

SCRIPTS = Path(__file__).resolve().parents[2] / "docs" / "gallery" / "which_controller"
NAMES = ("cases", "study", "tables", "verdicts")


@pytest.fixture
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


def check(*arguments):
    return subprocess.run(
        [sys.executable, str(SCRIPTS / "study.py"), "--check", *arguments],
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.portable
def test_a_sample_of_the_study_comes_out_as_stored():
    done = check("far", "weak", "sampled-20")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.portable
@pytest.mark.slow
def test_every_short_comparison_comes_out_as_stored():
    done = check("--quick")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.portable
@pytest.mark.slow
@pytest.mark.parametrize("name", ["singular", "hanging", "elastic-1", "elastic-10", "noise-given"])
def test_a_sample_of_the_long_comparisons_comes_out_as_stored(name):
    done = check(name)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_comparison_is_stored_as_it_is_asked_for(scripts):
    stored = scripts["study"].load()
    assert list(stored) == list(scripts["cases"].CASES)
    for name, case in scripts["cases"].CASES.items():
        variants = variants_of(Scenario.load(case.scenario, dict(case.changes)), case.entries)
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


def test_advice_that_the_study_does_not_support_is_refused(scripts):
    stored = scripts["study"].load()
    assert "servo-bounded" in scripts["verdicts"].decide(stored)
    stored["singular"]["entries"]["operational-space"]["status"] = "completed"
    with pytest.raises(RuntimeError, match="does not support 'a path past a singular pose'"):
        scripts["verdicts"].decide(stored)


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
        asked = variants_of(Scenario.load(words[2], changes), entries)
        meant = variants_of(Scenario.load(case.scenario, dict(case.changes)), case.entries)
        assert asked == meant, name
