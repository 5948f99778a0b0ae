"""The report of a study: whatever came of the samples, a page that says so."""

from __future__ import annotations

import json
import math
import re
import shlex
import shutil
import time

import numpy as np
import pytest
from studies import columns_of, rows

from ukctrl.cli import main
from ukctrl.core.errors import InputError, UnknownName
from ukctrl.core.files.table_paths import parse_value
from ukctrl.simulation.result.result import Result
from ukctrl.simulation.scenario import Scenario
from ukctrl.studies.sweep import Factor, SamplingPlan, Study, sweep
from ukctrl.studies.sweep.study import StudyDescription
from ukctrl.studies.sweep_analysis import SweepAnalysis, study_page, write_study_report
from ukctrl.studies.sweep_analysis.sample_replay import set_option_text

SCENARIO = Scenario.load(
    "two-mass-spring",
    {
        "timing": {"duration": 0.4, "sample": 0.02},
        "start.q": (0.1, 1.15),
        "start.v": (0.3, 0.1),
        "controller": {"use": "servo-baumgarte"},
        "integrator": {"method": "RK4", "step": 0.01},
    },
)
ALPHA, BETA = "controller.feedback.alpha", "controller.feedback.beta"


@pytest.fixture(name="study_of", scope="module")
def _study_of():
    """Build a study whose samples were never run, from what is said to have come of them."""

    def build(factors, metrics, *, status=None, n=None, design="random", scenario=SCENARIO):
        plan = SamplingPlan.of([Factor.parse(text) for text in factors], design=design, n=n, seed=1)
        values = [plan.values(k) for k in range(plan.count)]
        columns = {path: [value[path] for value in values] for path in values[0]}
        ended = ["completed"] * plan.count if status is None else list(status)
        columns = columns_of(
            {
                "sample": np.arange(plan.count),
                **columns,
                "seed": 0,
                "status": ended,
                "message": ["" if each == "completed" else f"{each} at 0.25 s." for each in ended],
                "reached": 0.4,
            }
            | {name: made(values) for name, made in metrics.items()}
        )
        return Study(about=StudyDescription.of(scenario, plan), columns=columns)

    return build


@pytest.fixture(name="swept", scope="module")
def _swept(tmp_path_factory):
    """Sweep a real scenario that sometimes diverges: held control, and periods too long."""
    folder = tmp_path_factory.mktemp("study")
    base = SCENARIO.replace({"timing.control": 0.01, "stabilisation": {"kind": "none"}})
    factors = [f"{ALPHA}=log:2:200", "timing.control=log:0.005:0.2"]
    return sweep(base, factors, design="random", n=40, seed=3, folder=folder)


@pytest.fixture(name="reported", scope="module")
def _reported(swept, tmp_path_factory):
    """Return the folder of the study's report, and what it is of."""
    folder = tmp_path_factory.mktemp("report")
    return folder, write_study_report(swept, folder)


def only_summary(folder):
    return json.loads((folder / "summary.json").read_text())


def page_of(folder):
    text = (folder / "report.html").read_text()
    assert "nan" not in re.sub(r"<(style|svg).*?</\1>", "", text, flags=re.DOTALL).lower().split()
    assert not re.search(r"(src|href)=\"https?:", text)
    assert "<image" not in text  # which the page's own policy would not show
    return text


@pytest.mark.slow
def test_a_study_gets_a_page_its_figures_and_numbers_for_programs(reported):
    folder, report = reported
    text, summary = page_of(folder), only_summary(folder)
    assert report.page == folder / "report.html"
    assert summary["samples"]["finished"] == 40
    values = report.insight.runs.metric("rms_phi")
    done = np.isfinite(values)
    assert summary["samples"]["completed"] == done.sum()
    assert 0 < done.sum() < 40  # both kinds are there, or the test shows nothing
    assert summary["cost"]["worst"] == values[done].max()
    for figure in ("spread", "factors", "sensitivity", "success", "map"):
        assert (folder / f"study_{figure}.png").stat().st_size > 10_000
        assert f'id="study_{figure}"' in text
    assert summary["sensitivity"]["rank"]["method"] == "polynomial"
    assert "Sobol indices of a polynomial" in text


def test_the_worst_and_the_first_failed_run_again_give_the_same_bits(reported):
    folder, report = reported
    assert [(entry.role, entry.exact) for entry in report.replays] == [
        ("worst", True),
        ("failed", True),
    ]
    worst, failed = (Result.load(folder / entry.folder) for entry in report.replays)
    assert worst.metric("rms_phi") == only_summary(folder)["cost"]["worst"]
    assert failed.status != "completed"
    text = page_of(folder)
    for entry in report.replays:
        assert f'href="{entry.folder}/report.html"' in text
        assert (folder / entry.folder / "report.html").is_file()


@pytest.mark.slow
def test_a_table_that_was_changed_is_found_out(swept, tmp_path):
    size = swept.columns["rms_phi"].copy()
    size[np.nanargmax(np.where(swept.columns["status"] == "completed", size, np.nan))] *= 1.5
    changed = Study(about=swept.about, columns={**swept.columns, "rms_phi": size})
    found = write_study_report(changed, tmp_path).replays[0]
    assert not found.exact
    assert "rms_phi is" in found.text
    assert "run again differs" in page_of(tmp_path)


@pytest.mark.slow
def test_the_command_of_a_sample_runs_it_again(reported, tmp_path, capsys):
    entry = only_summary(reported[0])["worst"][0]
    program, *arguments = shlex.split(entry["command"])
    assert program == "ukctrl"
    with pytest.raises(SystemExit) as ended:
        main([*arguments, "--out", str(tmp_path / "run"), "--json"])
    assert ended.value.code == 0
    assert json.loads(capsys.readouterr().out)["metrics"]["rms_phi"] == entry["cost"]


def test_values_survive_the_command_line():
    for value in (0.1 + 0.2, 3, True, "servo-pid", "1.5", "true", [0.1, 2.0], {"a b": 1.0}, "a=b"):
        assert parse_value(set_option_text(value)) == value


@pytest.mark.slow
def test_requirements_say_what_success_is(swept, tmp_path):
    strict = float(np.nanmedian(SweepAnalysis.of(swept).values))
    report = write_study_report(swept, tmp_path, require={"rms_phi": strict}, again=False)
    samples = only_summary(tmp_path)["samples"]
    within = (swept.columns["status"] == "completed") & (swept.columns["rms_phi"] <= strict)
    assert samples["succeeded"] == within.sum() < samples["completed"]
    assert report.insight.separations
    assert "rms_phi ≤" in page_of(tmp_path)


def test_one_sample_is_a_study(study_of, tmp_path):
    study = study_of([f"{ALPHA}=1:2"], {"rms_phi": lambda v: [0.5]}, n=1)
    write_study_report(study, tmp_path, again=False)
    assert "Samples completed: 1 of 1; rms_phi is" in page_of(tmp_path)


def test_a_study_whose_every_sample_failed_still_has_a_page(study_of, tmp_path):
    study = study_of([f"{ALPHA}=1:2", f"{BETA}=1:2"], {}, n=30, status=["failed"] * 30)
    report = write_study_report(study, tmp_path)
    text = page_of(tmp_path)
    assert "Samples completed: 0 of 30" in text
    assert "failed at 0.25 s." in text
    assert "it ended as &#39;failed&#39;" in text
    assert not report.insight.worst
    assert only_summary(tmp_path)["cost"]["percentiles"]["p50"]["value"] is None


def test_metrics_that_some_or_all_samples_lack_are_told_so(study_of, tmp_path):
    some = {
        "rms_phi": lambda v: [math.nan if k % 3 == 0 else 1.0 + k for k in range(len(v))],
        "settling_time": lambda v: [math.nan] * len(v),
    }
    study = study_of([f"{ALPHA}=1:2"], some, n=60)
    insight = write_study_report(study, tmp_path, again=False).insight
    page_of(tmp_path)
    assert insight.overall.without == 20
    assert [one.metric for one in insight.summaries] == ["rms_phi"]


def test_without_positions_the_velocity_error_is_the_cost(study_of, tmp_path):
    nothing = {"rms_phi": lambda v: [math.nan] * len(v), "rms_beta": lambda v: [1.0] * len(v)}
    study = study_of([f"{ALPHA}=1:2"], nothing, n=25)
    assert write_study_report(study, tmp_path, again=False).insight.cost.text == "rms_beta"
    page_of(tmp_path)  # a metric that is the same everywhere


@pytest.mark.slow
def test_constant_factors_and_names_have_their_place(study_of, tmp_path):
    names = "servo-baumgarte,servo-pid,servo-exact"
    study = study_of(
        [f"controller.use={names}", f"{ALPHA}=3", "timing.control=0.001,0.01"],
        {"rms_phi": lambda v: [len(str(each["controller.use"])) for each in v]},
        design="grid",
        scenario=SCENARIO.replace({"timing.control": 0.001}),
    )
    insight = write_study_report(study, tmp_path, again=False).insight
    assert [axis.path for axis in insight.strongest] == ["controller.use", "timing.control"]
    assert insight.sensitivities["value"].first["controller.use"].value == 1.0
    text = page_of(tmp_path)
    assert "servo-baumgarte" in text
    assert "confidence" not in text.partition("Metrics</h2>")[0].partition("grid")[0]


@pytest.mark.slow
def test_a_hundred_thousand_samples_make_a_page_of_ordinary_size(study_of, tmp_path):
    def metric(values):
        rng = np.random.default_rng(0)
        return np.array([v[ALPHA] for v in values]) * rng.lognormal(size=len(values))

    n = 100_000
    status = np.where(np.random.default_rng(1).random(n) < 0.1, "diverged", "completed")
    factors = [f"{ALPHA}=log:1:100", f"{BETA}=1:2"]
    study = study_of(factors, {"rms_phi": metric}, n=n, status=status, design="sobol")
    began = time.perf_counter()
    write_study_report(study, tmp_path, again=False)
    assert time.perf_counter() - began < 30.0
    assert len(page_of(tmp_path)) < 2_000_000


def test_names_from_strangers_stay_text(study_of, tmp_path):
    study = study_of(
        ['name="<script>alert(1)</script>",plain'],
        {"rms_phi": lambda v: range(1, len(v) + 1)},
        design="grid",
    )
    write_study_report(study, tmp_path, again=False)
    assert "<script>alert" not in page_of(tmp_path)


@pytest.mark.slow
def test_an_unfinished_study_is_told_as_far_as_it_is(swept, tmp_path):
    part = Study(about=swept.about, columns=rows(swept.columns, slice(None, None, 2)))
    write_study_report(part, tmp_path, again=False)
    assert "20 of 40 samples are finished" in page_of(tmp_path)


@pytest.mark.slow
def test_files_of_an_earlier_report_do_not_outlive_it(reported, swept, tmp_path):
    shutil.copytree(reported[0], tmp_path, dirs_exist_ok=True)
    first = {path.name for path in tmp_path.iterdir()}
    completed = np.flatnonzero(swept.columns["status"] == "completed")
    least = completed[np.argsort(swept.columns["rms_phi"][completed])[:12]]
    write_study_report(Study(about=swept.about, columns=rows(swept.columns, least)), tmp_path)
    second = {path.name for path in tmp_path.iterdir()}
    assert "study_success.png" in first - second
    assert len([name for name in second if name.startswith("failed-")]) == 0
    assert len([name for name in second if name.startswith("worst-")]) == 1


def test_wrong_names_are_refused_with_the_near_miss(swept):
    with pytest.raises(UnknownName, match="did you mean 'rms_phi'"):
        SweepAnalysis.of(swept, cost="rms_ph")
    with pytest.raises(UnknownName, match="no metric .* named 'rms_phi.gab'"):
        SweepAnalysis.of(swept, cost="rms_phi.gab")
    with pytest.raises(UnknownName, match="did you mean 'peak_u'"):
        SweepAnalysis.of(swept, require={"peak_v": 1.0})
    with pytest.raises(UnknownName, match="did you mean 'timing.control'"):
        SweepAnalysis.of(swept, maps=[(ALPHA, "timing.contrl")])
    with pytest.raises(InputError, match="a map must have two factors"):
        SweepAnalysis.of(swept, maps=[(ALPHA, ALPHA)])
    with pytest.raises(InputError, match="must be a number"):
        SweepAnalysis.of(swept, require={"rms_phi": math.inf})
    with pytest.raises(InputError, match="at least one finished sample"):
        SweepAnalysis.of(Study(about=swept.about, columns=rows(swept.columns, slice(0))))


def test_the_command_report_makes_the_page_of_a_study_or_of_a_run_again(
    reported, swept, tmp_path, capsys
):
    folder = swept.save(tmp_path / "study")
    single = tmp_path / "single"
    shutil.copytree(next(reported[0].glob("worst-*")), single)
    with pytest.raises(SystemExit) as ended:
        main(["report", str(folder), "--cost", "rms_phi + 0.1*peak_u", "--no-replay"])
    assert ended.value.code == 0
    told = capsys.readouterr().out
    assert "samples completed" in told
    assert "rms_phi + 0.1*peak_u" in told
    assert only_summary(folder)["cost"]["text"] == "rms_phi + 0.1*peak_u"
    (single / "report.html").unlink()
    with pytest.raises(SystemExit) as ended:
        main(["report", str(single), "--json"])
    assert ended.value.code == 0
    assert json.loads(capsys.readouterr().out)["status"] == "completed"
    assert (single / "report.html").is_file()


@pytest.mark.slow
def test_the_summary_fits_into_80_columns(swept, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    from ukctrl.cli.terminal.lines import print_lines, write_json
    from ukctrl.cli.terminal.studies_text import report_lines, study_data

    report = write_study_report(swept, tmp_path, again=False)
    print_lines(
        report_lines(study_page.report(report.insight, tmp_path, report.replays), tmp_path, 10)
    )
    lines = capsys.readouterr().out.splitlines()
    assert max(len(line) for line in lines if str(tmp_path) not in line) <= 80
    write_json(study_data(report.insight, tmp_path, None))
    assert json.loads(capsys.readouterr().out)["finished"] is True


@pytest.mark.slow
def test_a_card_of_ones_own_is_found_again(tmp_path, monkeypatch, capsys):
    from ukctrl.cli.workspace import create_workspace

    home = tmp_path / "home"
    create_workspace(home)
    card = (home / "controllers" / "my-controller.toml").read_text()
    (home / "controllers" / "mine.toml").write_text(card)
    arguments = ["sweep", str(home / "scenarios" / "my-scenario.toml"), "--set"]
    arguments += ["timing.duration=0.05", "--vary", "controller.use=mine,my-controller"]
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as ended:
        main([*arguments, "--out", "study", "--jobs", "1", "--json"])
    assert ended.value.code == 0
    told = json.loads(capsys.readouterr().out)
    assert [entry["exact"] for entry in told["replays"]] == [True]
    assert "The worst, sample" in page_of(tmp_path / "study")
    _, *again = shlex.split(told["worst"][0]["command"])
    with pytest.raises(SystemExit) as ended:
        main([*again, "--out", "run", "--json"])
    assert ended.value.code == 0
    assert json.loads(capsys.readouterr().out)["metrics"]["rms_phi"] == told["worst"][0]["cost"]
