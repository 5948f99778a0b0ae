"""The page of a study: its parts, what is run again, and the command of a sample."""

from __future__ import annotations

import math
import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from studies import ALPHA, SCENARIO, USE, columns_of, insight_of, study_of

from ukctrl.studies.sweep import Factor, SamplingPlan, Study
from ukctrl.studies.sweep.study import StudyDescription
from ukctrl.studies.sweep_analysis import SweepAnalysis, study_page
from ukctrl.studies.sweep_analysis.sample_replay import SampleReplay, replay_command
from ukctrl.studies.sweep_analysis.study_page import page_html as html
from ukctrl.studies.sweep_analysis.study_page import write_study_report

NAN, INF = math.nan, math.inf


@pytest.fixture(name="insight", scope="module")
def _insight():
    return insight_of(require={"peak_u": 3.5})


def page_of(insight, replays=(), folder=Path("here")):
    text = html(insight, (), replays, folder)
    parts = re.findall(r'<section id="(\w+)"', text)
    assert parts == re.findall(r'<a href="#(\w+)">', text)  # all that is there is linked to
    return text, parts


def test_the_page_has_every_part_that_there_is_something_for(insight):
    replays = [
        SampleReplay("worst", 3, "worst-3", True, ""),
        SampleReplay("failed", 5, "failed-5", True, ""),
    ]
    text, parts = page_of(insight, replays)
    assert parts == [
        "verdicts", "metrics", "factors", "worst", "failed", "scenario", "provenance",
    ]  # fmt: skip
    assert "study of 6 samples" in text
    assert "controller <b>" not in text
    assert "The first 1 of 1" in text
    assert '<a href="worst-3/report.html">the worst, sample 3</a>' in text
    assert '<a href="failed-5/report.html">the first that failed, sample 5</a>' in text
    assert "95 % confidence interval" not in text  # the points of a grid are chosen
    for each in (3, 2, 1, 0, 5):
        assert replay_command(insight.study, each, Path("here")).replace("'", "&#39;") in text
    assert "total shares, exact over the grid. The largest is marked." in text


def test_the_page_of_a_study_of_one_factor_has_no_table_over_factors():
    n = 64
    y = np.arange(n) / n
    drawn = study_of([f"{ALPHA}=1:9"], {"rms_phi": y}, ["completed"] * n, design="random", n=n)
    text, parts = page_of(SweepAnalysis.of(drawn))
    assert parts == ["verdicts", "metrics", "factors", "worst", "scenario", "provenance"]
    assert "Marked is the largest" not in text
    assert "95 % confidence interval" in text
    assert "those that failed, and" not in text
    lost = study_of([f"{ALPHA}=1:9"], {}, ["diverged"], design="random", n=1)
    text, parts = page_of(SweepAnalysis.of(lost))
    assert parts == ["verdicts", "factors", "failed", "scenario", "provenance"]
    assert "study of 1 sample<" in text


@pytest.mark.parametrize(
    ("method", "words"),
    [
        ("saltelli", "total shares, Sobol indices."),
        ("grid", "total shares, exact over the grid."),
        ("polynomial", "total shares, Sobol indices of a polynomial of the factors."),
        (None, "total shares, Sobol indices of a polynomial of the factors."),
    ],
)
def test_what_shares_are_called(method, words):
    one = {} if method is None else {"rms_phi": SimpleNamespace(method=method)}
    text = study_page._dependence_words(SimpleNamespace(dependence=one))
    assert text.endswith(f"a factor accounts for: {words}")


@pytest.mark.parametrize(
    ("entry", "name"),
    [
        ("two-mass", "two-mass"), ("../mine/arm.toml", "arm"), (None, ""), ({}, ""),
        ({"name": "a", "use": "b"}, "a"), ({"use": "b", "title": "c"}, "b"),
        ({"title": "c", "kind": "d"}, "c"), ({"kind": "d"}, "d"),
    ],
)  # fmt: skip
def test_what_a_robot_or_a_law_is_called(entry, name):
    assert study_page._name(entry) == name


def test_a_study_without_a_name_is_called_one(insight):
    about = insight.study.about
    table = {key: value for key, value in about.scenario.items() if key not in ("name", "title")}
    for given, title in (({}, "A study"), ({"name": "mine"}, "mine"), ({"title": "T"}, "T")):
        made = Study(
            about=StudyDescription(
                scenario=table | given, plan=about.plan, versions=about.versions
            ),
            columns=insight.study.columns,
        )
        assert f"<h1>{title}</h1>" in html(SweepAnalysis.of(made), (), (), Path("here"))


def test_which_samples_are_run_again(insight, tmp_path, monkeypatch):
    """The worst that completed, and the first failed one that ran at all."""
    asked = []

    def replay(study, runs, place, role, target, trust):
        asked.append((int(runs.number[place]), role, target, trust))
        return SampleReplay(role, place, f"{role}-{place}", True, "")

    monkeypatch.setattr(study_page, "replay_sample", replay)
    monkeypatch.setattr(study_page.study_figures, "pictures", lambda insight: ())
    for name in ("worst-0", "failed-9", "failed-5"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "result.nc").touch()
    (tmp_path / "worst-mine").mkdir()
    told = []
    study = insight.study
    status = ["failed", "completed", "completed", "completed", "timed_out", "diverged"]
    columns = columns_of({**study.columns, "status": status})
    columns["rms_phi"][0] = NAN
    found = write_study_report(
        Study(about=study.about, columns=columns), tmp_path, trust=True,
        progress=lambda *done: told.append(done),
    )  # fmt: skip
    assert asked == [(3, "worst", tmp_path, True), (5, "failed", tmp_path, True)]
    assert told == [(0, 2), (1, 2), (2, 2)]
    assert [one.role for one in found.replays] == ["worst", "failed"]
    folders = {path.name for path in tmp_path.iterdir() if path.is_dir()}
    assert folders == {"failed-5", "worst-mine"}  # what somebody else has put there stays
    names = {path.name for path in tmp_path.iterdir()} - folders
    assert names == {"report.html", "scenario.toml", "summary.json"}
    asked.clear()
    lost = columns_of({**study.columns, "status": ["timed_out"] * 5 + ["failed"]})
    write_study_report(Study(about=study.about, columns=lost), tmp_path)
    assert asked == [(0, "failed", tmp_path, False)]
    asked.clear()
    assert write_study_report(study, tmp_path, again=False).replays == ()
    assert asked == []


def test_the_command_of_a_sample_names_files_where_a_name_would_not_do(tmp_path, monkeypatch):
    home = tmp_path / "home"
    (home / "controllers").mkdir(parents=True)
    (home / "scenarios").mkdir()
    card = "kind = 'servo-constraint'\n[feedback]\nkind = 'baumgarte'\nalpha = 1.0\n"
    (home / "controllers" / "mine.toml").write_text(card)
    beside = home / "scenarios" / "mine.toml"
    beside.write_text("")
    plan = SamplingPlan.of([Factor.parse(f"{USE}=mine,servo-pid,nowhere")], seed=1)
    about = StudyDescription.of(SCENARIO, plan, beside)
    study = Study(about=about, columns={})
    monkeypatch.chdir(home)

    def use(sample, folder):
        return re.search(rf"--set {USE}=(\S+)", replay_command(study, sample, Path(folder)))[1]

    for inside in ("out", home / "out"):  # relative or not, a workspace finds its own cards
        Path(inside).mkdir(exist_ok=True)
        assert use(0, inside) == "mine"
    assert use(0, tmp_path) == str(home / "controllers" / "mine.toml")
    assert use(1, tmp_path) == "servo-pid"
    assert use(2, tmp_path) == "nowhere"
