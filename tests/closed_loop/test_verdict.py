"""A run may reach its end and be wrong: its verdict stands beside its status."""

from __future__ import annotations

import csv
import io
import json

import numpy as np
import pytest

from ukctrl import Comparison, Robot, Scenario, simulate, sweep
from ukctrl.cli.terminal.studies_text import report_lines
from ukctrl.cli.terminal.summaries import result_lines
from ukctrl.mechanics.integrate import fixed_step_integrator
from ukctrl.mechanics.integrate.fixed_step_integrator import step_doubling
from ukctrl.mechanics.integrate.fixed_step_kernels import NEXT_CHECKED
from ukctrl.reports import run_page
from ukctrl.simulation.result.result import Result
from ukctrl.studies.comparison import comparison_page
from ukctrl.studies.comparison.comparison_tables import metric_table
from ukctrl.studies.sweep import Study
from ukctrl.studies.sweep.study_table import rows_of
from ukctrl.studies.sweep_analysis import SweepAnalysis, study_page
from ukctrl.studies.sweep_analysis.study_arrays import StudyArrays
from ukctrl.studies.sweep_analysis.sweep_verdicts import verdicts

SPRING = {
    "coordinates": {"x1": "m", "x2": "m"},
    "kinetic": "m1/2*v.x1**2 + m2/2*v.x2**2",
    "potential": "k/2*(x2 - x1 - l)**2",
    "parameters": {"m1": 1.0, "m2": 2.0, "k": 1e6, "l": 0.5},
    "inputs": {"F": {"x1": 1.0}},
}
"""Two masses on a line, with a spring that swings at 1225 rad/s."""
WRONG = "not to be believed"


def scenario(toml, **tables):
    """Return a scenario from text and inline tables."""
    return Scenario.from_toml(toml + "\n".join(f"{key} = {table}" for key, table in tables.items()))


def swinging(integrator, robot="{ use = 'two_mass_spring', lagrangian = %s }"):
    inline = json.dumps(SPRING).replace('": ', '" = ')
    return simulate(
        scenario(
            'title = "Two masses"\n',
            robot=robot % inline,
            start="{ q = { x1 = 0.0, x2 = 0.6 } }",
            timing="{ duration = 0.5 }",
            integrator=integrator,
        )
    )


def styles(lines):
    """Return the style of every part of some lines, by its text."""
    parts = [part for line in lines for part in line if not isinstance(part, str)]
    return {part.text: part.style for part in parts}


@pytest.fixture(scope="module")
def half_true():
    """The case of the issue: 1 ms is one radian of this motion."""
    return swinging("{ method = 'RK4', step = 1e-3 }")


@pytest.mark.parametrize(
    ("integrator", "verdict"),
    [
        ("{ method = 'RK4', step = 2e-4 }", "ok"),
        ("{ method = 'semi_implicit_euler', step = 1e-3 }", WRONG),
        ("{ method = 'semi_implicit_euler', step = 1e-4 }", "warning"),
        ("{ method = 'semi_implicit_euler', step = 1e-5 }", "ok"),
        ("{ method = 'DOP853' }", "ok"),
    ],
)
def test_a_step_that_is_too_long_for_the_motion_is_not_believed(integrator, verdict):
    run = swinging(integrator)
    assert (run.status, run.belief.verdict) == ("completed", verdict)


def test_both_energy_and_halved_steps_speak_against_half_the_true_motion(half_true):
    assert half_true.status == "completed"
    assert half_true.belief.verdict == WRONG
    assert {"energy", "step"} <= {reason.subject for reason in half_true.belief.reasons}


def test_halved_steps_speak_where_nobody_knows_the_energy(half_true):
    kept = {k: v for k, v in half_true.samples.arrays.items() if k not in ("power", "energy")}
    unknown = Result.build(
        time=half_true.time,
        samples=kept,
        labels=half_true.labels,
        status="completed",
        provenance=half_true.provenance,
    )
    assert [reason.subject for reason in unknown.belief.reasons] == ["step"]
    assert unknown.belief.verdict == WRONG


def test_the_terminal_the_page_and_the_summary_say_so_and_none_in_green(half_true, tmp_path):
    lines = result_lines(half_true, tmp_path)
    looks = styles(lines)
    assert looks["completed"] == looks[WRONG] == "bold red"
    printed = "\n".join("".join(map(str, (getattr(p, "text", p) for p in line))) for line in lines)
    assert "completed, not to be believed" in printed
    assert "the integration is too coarse" in " ".join(printed.split())
    page = run_page.html(half_true, [])
    assert '<span class="badge bad">completed</span>' in page
    assert '<span class="badge bad">not to be believed</span>' in page
    half_true.save(tmp_path)
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert (summary["status"], summary["verdict"]) == ("completed", WRONG)
    assert {"level", "subject", "text"} == set(summary["verdict_reasons"][0])
    assert Result.load(tmp_path).belief == half_true.belief


def test_a_good_run_is_green_without_a_word_more(tmp_path):
    run = simulate(Scenario.load("scara-helix", {"timing.duration": 0.5}))
    assert run.summary()["verdict"] == "ok"
    assert run.summary()["verdict_reasons"] == []
    assert styles(result_lines(run, tmp_path))["completed"] == "bold green"


def test_looking_at_halved_steps_changes_no_bit(monkeypatch):
    for name in ("panda-pose-sampled", "n-four-bar"):
        given = Scenario.load(name, {"timing.duration": 0.1})
        looked = simulate(given)
        assert "step_halving" in looked.provenance
        with monkeypatch.context() as without:
            without.setattr(fixed_step_integrator, "step_doubling", blind)
            unseen = simulate(given, robot=Robot.load(given.robot))  # in a loop of its own
        assert "step_halving" not in unseen.provenance
        assert unseen.identical(looked)


def blind(*sizes):
    """An account of halved steps that never looks."""
    none = step_doubling(*sizes)
    none.counts[NEXT_CHECKED] = 10**9
    return none


def test_samples_far_apart_are_not_taken_for_a_wrong_integration():
    changes = {"timing.duration": 6.0, "timing.sample": 1.0}
    run = simulate(Scenario.load("two-mass-spring", changes))
    found = {verdict.subject: verdict for verdict in run.verdicts}
    assert run.belief.verdict in ("ok", "warning")
    assert "too coarse" not in found["energy"].text


def helix_limits(peak, limit=20.0):
    from ukctrl.simulation.result.quantities import Labels

    t = np.linspace(0.0, 1.0, 101)
    labels = Labels(
        coordinates=["j"],
        coordinate_units=["rad"],
        dofs=["j"],
        dof_units=["rad/s"],
        actuators=["m"],
        actuator_units=["N m"],
        effort_limit=[limit],
    )
    u = np.where(np.arange(101) == 50, peak, 1.0)[:, None]
    return Result.build(time=t, samples={"u": u}, labels=labels, status="completed")


@pytest.mark.parametrize(
    ("peak", "verdict"),
    [
        (15.0, "ok"),
        (25.0, "warning"),
        (41.0, WRONG),
        (15138.0, WRONG),
    ],
)
def test_a_motor_far_beyond_its_limit_is_no_motion_of_this_robot(peak, verdict):
    assert helix_limits(peak).belief.verdict == verdict


def test_a_comparison_says_whose_run_is_not_to_be_believed(tmp_path):
    comparison = Comparison.of({"calm": helix_limits(15.0), "wild": helix_limits(15138.0)})
    overall = comparison.verdicts[0]
    assert overall.level == "bad"
    assert "Not to be believed: 'wild'." in overall.text
    status, verdict = metric_table(comparison).rows[:2]
    assert [cell.mark for cell in status[2:]] == ["good", "bad"]
    assert [cell.text for cell in verdict[2:]] == ["ok", WRONG]
    shown = [
        {k: entry[k] for k in ("name", "verdict")} for entry in comparison.to_dict()["controllers"]
    ]
    assert shown == [
        {"name": "calm", "verdict": "ok"},
        {"name": "wild", "verdict": WRONG},
    ]
    looks = styles(report_lines(comparison_page.report(comparison), tmp_path))
    assert any("Not to be believed: 'wild'." in text for text in looks)
    reasons = [v.text for v in comparison_page.report(comparison).page_verdicts]
    assert any("'wild' is not to be believed" in text for text in reasons)
    for text in (comparison.to_csv(), comparison.runs_csv()):
        lines = {line["controller"]: line["verdict"] for line in csv.DictReader(io.StringIO(text))}
        assert lines == {"calm": "ok", "wild": WRONG}


def test_a_sweep_says_which_samples_are_not_to_be_believed(tmp_path):
    inline = json.dumps(SPRING).replace('": ', '" = ')
    base = scenario(
        'title = "Two masses"\n',
        robot=f"{{ use = 'two_mass_spring', lagrangian = {inline} }}",
        start="{ q = { x1 = 0.0, x2 = 0.6 } }",
        timing="{ duration = 0.1 }",
        integrator="{ method = 'RK4', step = 1e-3 }",
    )
    study = sweep(base, ["integrator.step=1e-5,1e-3"], folder=tmp_path / "study")
    assert list(study.columns["status"]) == ["completed", "completed"]
    assert list(study.columns["verdict"]) == ["ok", WRONG]
    again = Study.load(tmp_path / "study")
    assert list(again.columns["verdict"]) == ["ok", WRONG]
    journal = (tmp_path / "study" / "journal.jsonl").read_text("utf-8").splitlines()
    assert [json.loads(line)["verdict"] for line in journal] == ["ok", WRONG]
    insight = SweepAnalysis.of(study)
    (told,) = [verdict for verdict in verdicts(insight, ()) if verdict.subject == "belief"]
    assert (told.level, told.text) == (
        "bad",
        "Not to be believed: 1 of 2 samples, which are counted here all the same; the first is "
        "sample 1. Run it by itself, with its values, to see why.",
    )
    looks = styles(report_lines(study_page.report(insight, tmp_path, None), tmp_path, 10))
    assert looks["2 of 2 samples completed"] == "bold yellow"
    older = {name: column for name, column in study.columns.items() if name != "verdict"}
    assert [row.verdict for row in rows_of(study.factors, older)] == ["", ""]
    assert not StudyArrays.of(older, ["integrator.step"], "grid").unbelievable


@pytest.mark.parametrize(
    ("status", "message", "verdict"),
    [
        ("infeasible", "rows out of reach.", "warning"),
        ("drifted", "phi reached 3.", "warning"),
        ("drifted", "passive_phi reached 3.", WRONG),
        ("diverged", "grew.", WRONG),
        ("interrupted", "stopped.", "warning"),
    ],
)
def test_what_ends_a_run_for_its_task_alone_takes_nothing_from_its_samples(
    status, message, verdict
):
    t = np.linspace(0.0, 1.0, 11)
    run = Result.build(
        time=t, samples={}, labels=helix_limits(1.0).labels, status=status, message=message
    )
    assert run.belief.verdict == verdict
    assert run.status_level != "good"
