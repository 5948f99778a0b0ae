"""The parts of a study, each by itself: its samples, its trial, its records, its folder."""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import json
import math
import pickle

import numpy as np
import pytest
from scipy.stats import norm, qmc
from studies import ALPHA, BASE, assert_same, base_of, plan_of

from ukctrl.core.files import catalog
from ukctrl.studies.batch.environment_fingerprint import (
    changed_file,
    environment_fingerprint,
    scenario_file_digests,
)
from ukctrl.studies.batch.run_summary import RunSummary, SimulationTask, sample_seed
from ukctrl.studies.batch.task import TaskFailure
from ukctrl.studies.batch.task_runner import TaskRunner
from ukctrl.studies.batch.worker import run_received_tasks
from ukctrl.studies.sweep import (
    IntegerRange,
    Levels,
    Log,
    Normal,
    RetentionPolicy,
    SamplingPlan,
    Study,
    Uniform,
)
from ukctrl.studies.sweep import sweep as run_sweep
from ukctrl.studies.sweep.distributions import TAIL_PROBABILITY, distribution_from
from ukctrl.studies.sweep.sample_record import SampleRecord
from ukctrl.studies.sweep.sample_task import SampleOutput, SampleTask, SampleTasks, SweepInput
from ukctrl.studies.sweep.study import StudyDescription
from ukctrl.studies.sweep.sweep import SweepProgress

SWEEP = importlib.import_module("ukctrl.studies.sweep.sweep")


@pytest.mark.parametrize(
    ("spread", "place", "value"),
    [
        (Levels((1, 2, 3)), 0.34, 2), (Levels((1, 2, 3)), 1.0, 3), (Levels((1, 2, 3)), 0.0, 1),
        (Uniform(1.0, 3.0), 0.25, 1.5), (Log(1.0, 100.0), 0.25, math.sqrt(10.0)),
        (Log(0.1, 0.3), 1.0, 0.3), (IntegerRange(1, 4), 0.24, 1), (IntegerRange(1, 4), 0.26, 2),
        (IntegerRange(1, 4), 1.0, 4), (Normal(5.0, 2.0), 0.5, 5.0),
        (Normal(5.0, 2.0), 0.975, 5.0 + 2.0 * norm.ppf(0.975)),
        (Normal(0.0, 1.0), 0.0, norm.ppf(TAIL_PROBABILITY)), (Normal(0.0, 1.0), 1.0,
        -norm.ppf(TAIL_PROBABILITY)),
    ],
)  # fmt: skip
def test_what_stands_at_a_place_of_the_unit_interval(spread, place, value):
    assert spread.quantile(place) == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize(
    ("spread", "levels", "ends", "column"),
    [
        (Uniform(1.0, 3.0, 3), [1.0, 2.0, 3.0], (1.0, 3.0), "float"),
        (Log(1.0, 100.0, 3), [1.0, 10.0, 100.0], (1.0, 100.0), "float"),
        (IntegerRange(1, 6, 3), [1, 4, 6], (1, 6), "int"),
        (IntegerRange(1, 3, 9), [1, 2, 3], (1, 3), "int"),
        (Normal(5.0, 2.0, 2), [5.0 + 2.0 * norm.ppf(0.25), 5.0 + 2.0 * norm.ppf(0.75)], (5.0,),
         "float"),
        (Uniform(1.0, 3.0), None, (1.0, 3.0), "float"),
        (Levels((True, False)), (True, False), (True, False), "bool"),
        (Levels((True, 1)), (True, 1), (True, 1), "text"),
        (Levels((1, 2)), (1, 2), (1, 2), "int"), (Levels((1, 2.5)), (1, 2.5), (1, 2.5), "float"),
    ],
)  # fmt: skip
def test_the_values_of_a_grid_and_the_ends_of_a_range(spread, levels, ends, column):
    found = spread.grid_values()
    assert found is None if levels is None else list(found) == pytest.approx(list(levels))
    assert (spread.test_values(), spread.column_type()) == (ends, column)
    assert distribution_from(json.loads(json.dumps(spread.to_dict()))) == spread


def test_samples_are_points_and_their_repeats():
    plan = plan_of("a=0:1", "b=1:3", n=4, repeats=3, design="sobol")
    assert (plan.points, plan.count) == (4, 12)
    points = qmc.Sobol(2, seed=np.random.default_rng(np.random.SeedSequence(1))).random_base2(2)
    for k in range(12):
        x, y = points[k // 3]
        assert plan.values(k) == {"a": pytest.approx(x), "b": pytest.approx(1.0 + 2.0 * y)}
        assert plan.seed_of(k) == sample_seed(1, k)
    assert plan.to_dict() == {
        "factors": [one.to_dict() for one in plan.factors], "design": "sobol", "n": 4, "seed": 1,
        "repeats": 3, "samples": 12,
    }  # fmt: skip
    assert SamplingPlan.from_dict(plan.to_dict()).to_dict() == plan.to_dict()
    seeded = plan_of("seed=5,6")
    assert [seeded.seed_of(k) for k in range(2)] == [5, 6]
    assert seeded.scenario_changes(1) == {"seed": 6}


@pytest.mark.parametrize(
    ("one", "other", "grows"),
    [
        ({"n": 4, "design": "sobol"}, {"n": 4, "design": "sobol"}, True),
        ({"n": 4, "design": "sobol"}, {"n": 9, "design": "sobol"}, True),
        ({"n": 4, "design": "random"}, {"n": 9, "design": "random"}, True),
        ({"n": 9, "design": "random"}, {"n": 4, "design": "random"}, False),
        ({"n": 4, "design": "saltelli"}, {"n": 8, "design": "saltelli"}, False),
        ({"n": 4, "design": "sobol"}, {"n": 9, "design": "random"}, False),
        ({"n": 4, "design": "sobol"}, {"n": 9, "design": "sobol", "repeats": 2}, False),
        ({"n": 4, "design": "sobol"}, {"n": 9, "design": "sobol", "seed": 2}, False),
    ],
)
def test_which_designs_grow(one, other, grows):
    assert plan_of("a=0:1", **one).is_extended_by(plan_of("a=0:1", **other)) is grows


# One sample, of which nothing is simulated


@pytest.fixture(name="come")
def _come(monkeypatch):
    """Say what comes of a run, which is given the watch of its sample."""

    def build(function):
        monkeypatch.setattr(SimulationTask, "__call__", lambda self, watch: function(self, watch))

    return build


def outcome(run, **given):
    of = {"status": "completed", "message": "", "end_time": 0.5,
          "metrics": {"rms_phi": 2.0, "mean_tick_us": 9.0, "rms_phi.gap": 1.0}}  # fmt: skip
    return RunSummary(controller=run.controller, repeat=0, seed=0, mismatch=None, **{**of, **given})


def test_what_is_recorded_of_a_sample(come):
    asked = []
    come(lambda run, watch: asked.append(run) or outcome(run, message=" two\n lines "))
    base = base_of(f"{ALPHA}=1:9", n=4)
    finished = SampleTask(base, 2)(lambda fraction: None)
    assert finished == SampleOutput(SampleRecord(
        2, base.plan.values(2), base.plan.seed_of(2), "completed", "two lines", 0.5,
        {"rms_phi": 2.0, "rms_phi.gap": 1.0}, "ok",
    ))  # fmt: skip
    (run,) = asked
    assert run.scenario.controller.feedback.alpha == base.plan.values(2)[ALPHA]
    assert run.scenario.seed == base.plan.seed_of(2)
    assert (run.with_result, run.with_curves) == (False, False)
    assert run.robot is base.robot is not None
    assert base_of("robot=scara,two-mass-spring").robot is None
    assert str(SampleTask(base, 2)) == "sample 2"
    every = SampleTasks(base, [3, 1, 2])
    assert (len(every), every[1], list(every[1:])) == (
        3, SampleTask(base, 1), [SampleTask(base, 1), SampleTask(base, 2)],
    )  # fmt: skip


@pytest.mark.parametrize(
    ("keeping", "status", "kept"),
    [
        ({}, "diverged", False),
        ({"save_all": True}, "completed", True),
        ({"save_failed": True}, "completed", False),
        ({"save_failed": True}, "diverged", True),
        ({"save_all": True}, "diverged", True),
    ],
)
def test_which_results_are_kept_whole(keeping, status, kept, come):
    asked = []
    come(
        lambda run, watch: (
            asked.append(run.with_result) or outcome(run, status=status, result="all")
        )
    )
    finished = SampleTask(base_of(f"{ALPHA}=1:9", n=2, **keeping), 0)(lambda fraction: None)
    assert (finished.result == "all") is kept
    assert asked == [bool(keeping)]


def test_a_sample_that_could_not_be_run_says_why(come):
    come(lambda run, watch: outcome(run, status="infeasible", message="no way", metrics={}))
    row = SampleTask(base_of(f"{ALPHA}=1:9", n=2), 0)(lambda fraction: None).row
    assert (row.status, row.message, dict(row.metrics)) == ("failed", "no way", {})
    assert math.isnan(row.reached)
    row = SampleTask(base_of(f"{ALPHA}=-1,2"), 0)(lambda fraction: None).row
    assert row.status == "failed"
    assert "alpha" in row.message
    assert row.values == {ALPHA: -1}


@pytest.mark.parametrize("error", [MemoryError("none"), OSError(28, "No space left on device")])
def test_what_the_machine_lacks_is_no_property_of_a_sample(error, monkeypatch):
    def fails(self, sample):
        raise error

    monkeypatch.setattr(SweepInput, "scenario_of", fails)
    with pytest.raises(type(error)):
        SampleTask(base_of(f"{ALPHA}=1:9", n=2), 0)(lambda fraction: None)


def test_a_fault_in_a_users_code_costs_its_sample_alone(monkeypatch):
    def fails(self, sample):
        raise ValueError("odd")

    monkeypatch.setattr(SweepInput, "scenario_of", fails)
    row = SampleTask(base_of(f"{ALPHA}=1:9", n=2), 0)(lambda fraction: None).row
    assert (row.status, row.message) == ("failed", "ValueError: odd")


@pytest.fixture(name="clock")
def _clock(monkeypatch):
    now = [100.0]
    monkeypatch.setattr("ukctrl.studies.sweep.sample_task.time.monotonic", lambda: now[0])
    return now


@pytest.mark.parametrize("raises", [True, False])
def test_a_sample_may_take_its_time_from_its_first_step(come, clock, raises):
    def slow(run, watch):
        clock[0] += 1000.0  # loading and compiling
        for _ in range(3):
            try:
                watch(0.5)
            except KeyboardInterrupt:
                if raises:
                    raise
                return outcome(run, status="interrupted", message="stopped by the user at 0.1 s.")
            clock[0] += 4.0
        return outcome(run)

    come(slow)
    done = SampleTask(base_of(f"{ALPHA}=1:9", n=2, timeout=8.0), 0)(lambda fraction: None)
    assert done.row.status == "completed"
    late = SampleTask(base_of(f"{ALPHA}=1:9", n=2, timeout=7.5), 0)(lambda fraction: None).row
    assert (late.status, late.message) == ("timed_out", "it took longer than 7.5 s.")
    assert SampleTask(base_of(f"{ALPHA}=1:9", n=2), 0)(lambda fraction: None).row.completed


def test_a_sample_that_the_user_stops_is_none(come):
    asked = []

    def stopped(run, watch):
        with contextlib.suppress(KeyboardInterrupt):
            watch(0.5)
            asked.append("goes on")
        return outcome(run, status="interrupted", message="stopped by the user at 0.1 s.")

    come(stopped)

    def ask(fraction):
        raise KeyboardInterrupt

    sample = SampleTask(base_of(f"{ALPHA}=1:9", n=2, timeout=99.0), 0)
    assert sample(ask) is None
    assert asked == []  # the run itself heard of it
    assert sample(lambda fraction: None) is None  # Ctrl-C reached the run itself


def test_an_interrupt_of_a_users_code_in_a_worker_is_a_failure(come, monkeypatch):
    come(lambda run, watch: outcome(run, status="interrupted", message="stopped by the user."))
    monkeypatch.setattr("ukctrl.studies.sweep.sample_task.parent_process", lambda: "owner")
    row = SampleTask(base_of(f"{ALPHA}=1:9", n=2), 0)(lambda fraction: None).row
    assert (row.status, row.message) == ("failed", "it raised KeyboardInterrupt.")


def test_a_file_that_is_another_here_ends_the_study(tmp_path):
    law = tmp_path / "law.py"
    law.write_text("x = 1\n")
    digest = hashlib.sha256(b"x = 1\n").hexdigest()[:16]
    assert changed_file({str(law): digest}) == ""
    assert changed_file({str(law): "0" * 16}) == str(law)
    assert changed_file({str(tmp_path / "gone.py"): digest}) == str(tmp_path / "gone.py")
    tasks = pickle.dumps([SampleTask(base_of(f"{ALPHA}=1:9", n=2), 0)])
    ((told,), _) = pickle.loads(
        run_received_tasks(tasks, (), environment_fingerprint(), {str(law): "0" * 16})
    )
    assert str(told).startswith(f"the file '{law}' must be what it was at the start, on every")
    law.write_text("x = 2\n")
    assert changed_file({str(law): digest}) == str(law)


def test_files_that_a_scenario_names_have_digests(tmp_path):
    data = tmp_path / "data.csv"
    data.write_text("1\n")
    digest = hashlib.sha256(b"1\n").hexdigest()[:16]
    table = {"a": [{"b": str(data)}], "law": f"{data}:x", "c": "no/such.csv", "d": str(tmp_path)}
    assert scenario_file_digests(table) == {str(data): digest}
    law = tmp_path / "law.py"
    law.write_text("")
    assert list(scenario_file_digests({"law": f"{law}:Mine"})) == [str(law)]
    robot = str(catalog.find("robots", "scara"))
    for holder in (
        {"robot": "scara"},
        {"robot": {"use": "scara"}},
        {"believed": {"robot": "scara"}},
    ):
        assert robot in scenario_file_digests(holder)
    about = StudyDescription(scenario={}, plan=plan_of("seed=1,2"), versions={},
                  files={str(law): "1", robot: "2", "relative.py": "3"})  # fmt: skip
    assert about.input_file_digests == {str(law): "1"}


# All of it, with runs that are not made


def test_a_sweep_records_what_comes_and_tells_how_far_it_is(come, tmp_path, monkeypatch):
    come(lambda run, watch: outcome(
        run, status="diverged" if run.scenario.controller.feedback.alpha > 2.5 else "completed"
    ))  # fmt: skip
    monkeypatch.setattr(SWEEP, "dry_run", lambda base, crew, watch: watch(1, 2))
    told = []
    study = run_sweep(BASE, [f"{ALPHA}=1,2,3,4"], folder=tmp_path, progress=told.append)
    assert study.columns["status"].tolist() == ["completed"] * 2 + ["diverged"] * 2
    assert study.folder == tmp_path
    assert told[0] == SweepProgress(0.0, 4, 0, 0)
    assert told[-1] == SweepProgress(4, 4, 4, 2)
    assert study.scenario == StudyDescription.read(tmp_path).scenario
    assert run_sweep(BASE, [f"{ALPHA}=1,2"]).folder is None
    assert_same(Study.load(tmp_path).columns, study.columns)
    told.clear()
    run_sweep(BASE, [f"{ALPHA}=1,2,3,4"], folder=tmp_path, resume=True, progress=told.append)
    assert told == []  # nothing is run again


def test_what_was_lost_is_a_failure_or_overdue(come, monkeypatch, tmp_path):
    lost = [TaskFailure("its process died"), TaskFailure("late", timed_out=True)]

    def gather(self, tasks, take, progress=None, **given):
        asked.append((self.policy, len(tasks)))
        for k in range(len(tasks)):
            take(k, lost[k])
        return True

    asked = []
    monkeypatch.setattr(SWEEP, "dry_run", lambda *given: None)
    monkeypatch.setattr(TaskRunner, "run", gather)
    monkeypatch.setattr(SWEEP, "are_thread_safe", lambda *given: True)
    table = run_sweep(BASE, [f"{ALPHA}=1,2"], timeout=0.5, isolated=True).columns
    assert table["status"].tolist() == ["failed", "timed_out"]
    assert table["message"].tolist() == ["its process died", "it took longer than 0.5 s."]
    ((care, count),) = asked
    assert (care.in_processes, care.timeout, care.chunk_seconds, count) == (True, 0.5, 1.0, 2)
    assert care.resume_advice == "go on by --resume (resume=True)"
    lost[1] = lost[0]
    run_sweep(BASE, [f"{ALPHA}=1,2"])
    run_sweep(BASE, [f"{ALPHA}=1,2"], jobs=2)
    run_sweep(BASE, [f"{ALPHA}=1,2"], jobs=2, isolated=True)
    run_sweep(BASE, [f"{ALPHA}=1,2"], isolated=None)
    ways = [(care.thread_safe, care.in_processes) for care, _ in asked[1:]]
    assert ways == [(False, False), (True, False), (False, True), (True, False)]
    monkeypatch.setattr(SWEEP, "are_thread_safe", lambda *given: False)
    for way in ({}, {"jobs": 2}, {"isolated": None}):
        run_sweep(BASE, [f"{ALPHA}=1,2"], **way)
    assert [care.in_processes for care, _ in asked[5:]] == [False, True, True]
    assert not any(care.thread_safe for care, _ in asked[5:])


def test_the_worst_are_run_once_more_and_kept_where_they_are_not(come, monkeypatch, tmp_path):
    saved, asked = [], []

    class Result:
        def __init__(self, alpha):
            self.alpha = alpha

        def save(self, folder):
            saved.append((self.alpha, folder))

    def run(self, watch):
        alpha = self.scenario.controller.feedback.alpha
        asked.append((alpha, self.with_result))
        result = Result(alpha) if self.with_result else None
        return outcome(self, metrics={"rms_phi": alpha}, result=result)

    come(run)
    monkeypatch.setattr(SWEEP, "dry_run", lambda *given: None)
    there = tmp_path / "results" / "3"
    there.mkdir(parents=True)
    (there / "scenario.toml").touch()
    run_sweep(BASE, [f"{ALPHA}=1,2,3,4"], folder=tmp_path, keep="worst:2", timeout=9.0)
    assert asked == [(1.0, False), (2.0, False), (3.0, False), (4.0, False), (3.0, True)]
    assert saved == [(3.0, tmp_path / "results" / "2")]
    assert RetentionPolicy.parse("worst:2") == RetentionPolicy("worst", 2, "rms_phi")
    saved.clear()
    other = tmp_path / "other"
    run_sweep(BASE, [f"{ALPHA}=1,2"], folder=other, keep="all")
    assert saved == [(1.0, other / "results" / "0"), (2.0, other / "results" / "1")]
