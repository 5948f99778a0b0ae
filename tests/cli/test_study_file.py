"""Study files: the options of `sweep`, `compare` and `tune` as keys of a table."""

from __future__ import annotations

import contextlib
import importlib
import inspect
from pathlib import Path

import pytest

from ukctrl.cli.main import app
from ukctrl.core.errors import InputError

MASSES = "two-mass-spring"
ALPHA = "controller.feedback.alpha"
COMPARE = "ukctrl.studies.comparison:compare"
SWEEP = "ukctrl.studies.sweep:sweep"
TUNE = "ukctrl.studies.tuning:tune"


class Reached(Exception):
    """What is recorded was called."""


@pytest.fixture(name="given_to")
def _given_to(monkeypatch, tmp_path):
    """Give what a command calls a function with, where a study file has this text."""
    monkeypatch.chdir(tmp_path)

    def given(place, text, *options):
        command = place.rpartition(":")[2]
        target = importlib.import_module(place.partition(":")[0])
        signature, taken = inspect.signature(getattr(target, command)), {}

        def record(*args, **kwargs):
            taken.update(signature.bind(*args, **kwargs).arguments)
            raise Reached

        Path("study.toml").write_text(f"[study]\n{text}", encoding="utf-8")
        with monkeypatch.context() as patch:
            patch.setattr(target, command, record)
            with pytest.raises(Reached):
                app([command, "study.toml", *options], prog_name="ukctrl", standalone_mode=False)
        return taken

    return given


SWEPT = f"""
scenario = "{MASSES}"
controller = "servo-baumgarte"
vary = "{ALPHA}=1:9"
n = 32
seed = 4
design = "random"
keep = "worst:3"
timeout = 7
isolated = true
set = ["timing.duration=0.25"]
out = "here"
"""


def test_a_sweep_has_its_options_from_the_file(given_to):
    given = given_to(SWEEP, SWEPT)
    assert given["scenario"].timing.duration == 0.25
    assert list(given["factors"]) == [f"{ALPHA}=1:9"]
    names = ("design", "n", "seed", "keep", "timeout", "isolated", "folder", "jobs")
    assert [given[name] for name in names] == [
        "random", 32, 4, "worst:3", 7, True, Path("here"), None,
    ]  # fmt: skip


def test_an_option_comes_before_the_file(given_to):
    given = given_to(SWEEP, SWEPT, "-n", "5", "--keep", "none", "--jobs", "2")
    assert (given["n"], given["keep"], given["seed"], given["jobs"]) == (5, "none", 4, 2)


def test_a_search_has_its_options_from_the_file(given_to):
    text = f"""
        scenario = "{MASSES}"
        controller = "servo-baumgarte"
        over = ["{ALPHA}=2:3"]
        cost = "peak_u"
        subject-to = ["rms_phi <= 1", "peak_phi <= 2"]
        ensemble = 4
        mismatch = 0.3
        aggregate = "worst"
        held-out = 6
        method = "evolution"
    """
    budget = given_to(TUNE, text, "--budget", "40")["budget"]
    assert (budget.simulations, budget.cost, budget.method) == (40, "peak_u", "evolution")
    assert budget.subject_to == ("rms_phi <= 1", "peak_phi <= 2")
    plants = budget.plants
    assert (plants.count, plants.mismatch, plants.aggregate, plants.held_out) == (
        4, 0.3, "worst", 6,
    )  # fmt: skip


def test_a_comparison_has_lists_where_an_option_has_commas(given_to):
    text = f"""
        scenario = "{MASSES}"
        controller = ["own", "servo-pid"]
        mismatch = [0.1, 0.2]
        front = ["rms_phi", "effort"]
        points = 8
    """
    given = given_to(COMPARE, text)
    assert given["mismatch"] == [0.1, 0.2]
    assert (given["front"].metrics, given["front"].points) == (("rms_phi", "effort"), 8)
    assert len(given["controllers"]) == 2


def test_figures_are_asked_for_once_by_the_file_or_the_option(given_to, monkeypatch):
    asked = []
    monkeypatch.setattr(
        "ukctrl.reports.plot.figure_files.figure_formats",
        lambda **given: asked.append(given) or contextlib.nullcontext(),
    )
    given_to(SWEEP, f'scenario = "{MASSES}"\nformat = ["pdf"]\nwidth = "page"\nn = 2')
    given_to(SWEEP, f'scenario = "{MASSES}"\nformat = ["pdf"]\nn = 2', "--format", "svg")
    assert asked == [{"formats": ["pdf"]}, {"width": "page"}, {"formats": ["svg"]}]


def test_the_scenario_is_looked_up_beside_the_file(monkeypatch, tmp_path):
    from ukctrl.cli.study_file import _read_study

    (tmp_path / "task.toml").touch()
    (tmp_path / "study.toml").write_text('[study]\nscenario = "task.toml"\n', encoding="utf-8")
    found = _read_study(str(tmp_path / "study.toml"))
    assert found == {"scenario": str(tmp_path / "task.toml")}
    assert _read_study(str(tmp_path / "task.toml")) == {}
    assert _read_study(MASSES) == {}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("n = 3", r"\[study\] must name its scenario"),
        (
            f"scenario = '{MASSES}'\nrepeat = 3",
            "no key of \\[study\\] named 'repeat'",
        ),
        (f"scenario = '{MASSES}'\ntrust = true", "no key of \\[study\\] named 'trust'"),
        (f"scenario = '{MASSES}'\ncluster = 'tcp://1.2.3.4:1'", "no key of .* named 'cluster'"),
        (f"scenario = '{MASSES}'\nn = 2.5", r"n must be a whole number; got 2\.5"),
        (f"scenario = '{MASSES}'\nisolated = 1", "isolated must be true or false; got 1"),
        (f"scenario = '{MASSES}'\ntimeout = 'long'", "timeout must be a number; got 'long'"),
        (f"scenario = '{MASSES}'\nvary = [{{a = 1}}]", "vary must be text"),
        (f"scenario = '{MASSES}'\n[robot]\n", "must have one table"),
    ],
)
def test_what_is_no_study_file_is_refused(text, says, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    Path("study.toml").write_text(f"[study]\n{text}", encoding="utf-8")
    with pytest.raises(InputError, match=says):
        app(["sweep", "study.toml"], prog_name="ukctrl", standalone_mode=False)
