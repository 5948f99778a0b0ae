"""A comparison that is stopped goes on from the runs that are done, and repeats none."""

from __future__ import annotations

import csv
import json
import math
import pickle

import numpy as np
import pytest
from studies import stop_after

from ukctrl import Scenario, write_comparison
from ukctrl.simulation.result.verdicts import RunVerdict
from ukctrl.studies.batch.run_store import RunStore, SimulationRecord
from ukctrl.studies.batch.run_summary import ErrorCurves, RunSummary, SimulationTask
from ukctrl.studies.comparison import compare
from ukctrl.studies.tuning import SimulationJournal

CARDS = ("servo-baumgarte", "computed-torque")
MANY = {"repeats": 4, "mismatch": [0.1]}
COUNT = 4 * 2 * 2
"""Runs of both laws, four repeats at two levels."""
CLOCKED = "mean_tick_us"


@pytest.fixture(name="helix", scope="module")
def _helix():
    return Scenario.load(
        "scara-helix",
        {
            "timing": {"duration": 0.1, "control": 0.02, "sample": 0.02},
            "start.spread": 0.02,
            "integrator": {"method": "RK4", "step": 0.01},
        },
    )


@pytest.fixture(name="ran")
def _ran(monkeypatch):
    """The runs that are really made."""
    ran, simulated = [], SimulationTask.__call__
    monkeypatch.setattr(
        SimulationTask, "__call__", lambda run, w: (ran.append(run), simulated(run, w))[1]
    )
    return ran


def table(comparison, folder):
    """Return the table of all runs as its file has it, without what the clock has measured."""
    write_comparison(comparison, folder)
    with (folder / "runs.csv").open() as file:
        return [
            {name: cell for name, cell in row.items() if CLOCKED not in name}
            for row in csv.DictReader(file)
            if CLOCKED not in row.values()
        ]


@pytest.mark.slow
def test_what_is_done_is_not_run_again_and_the_tables_are_the_same(helix, tmp_path, ran):
    whole = compare(helix, CARDS, **MANY)
    assert len(ran) == COUNT
    path = tmp_path / "runs.jsonl"
    for count in (5, 11):
        with SimulationJournal(path) as journal:
            stopped = compare(helix, CARDS, **MANY, journal=journal, progress=stop_after(count))
        assert stopped.conditions.stopped
        kept = len(path.read_text().splitlines())
        assert count - 1 <= kept <= count
    ran.clear()
    with SimulationJournal(path) as journal:
        resumed = compare(helix, CARDS, **MANY, journal=journal)
    assert len(ran) == 2 + COUNT - kept  # the first of each anew, to see that they are the same
    assert table(resumed, tmp_path / "a") == table(whole, tmp_path / "b")
    assert table(whole, tmp_path / "b")
    for ours, theirs in zip(resumed.outcomes, whole.outcomes, strict=True):
        assert (ours.validity, ours.seed, ours.mismatch) == (
            theirs.validity,
            theirs.seed,
            theirs.mismatch,
        )
        assert (ours.curves is None) == (theirs.curves is None)
        if ours.curves is not None:
            np.testing.assert_array_equal(ours.curves.time, theirs.curves.time)
            for name, norm in theirs.curves.norms.items():
                np.testing.assert_array_equal(ours.curves.norms[name], norm)


def test_runs_of_other_files_are_not_believed(helix, tmp_path, ran):
    path = tmp_path / "runs.jsonl"
    with SimulationJournal(path) as journal:
        whole = compare(helix, CARDS, **MANY, journal=journal)
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    lines[0]["metrics"]["rms_phi"] *= 2.0
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    ran.clear()
    with SimulationJournal(path) as journal:
        again = compare(helix, CARDS, **MANY, journal=journal)
        assert len(journal) == COUNT
    assert len(ran) == COUNT
    assert table(again, tmp_path / "a") == table(whole, tmp_path / "b")


@pytest.mark.slow
def test_repeats_whose_first_is_damaged_are_run_again(helix, tmp_path, ran):
    path = tmp_path / "runs.jsonl"
    with SimulationJournal(path) as journal:
        compare(helix, CARDS, **MANY, journal=journal)
    path.write_text("{}\n" + path.read_text().partition("\n")[2])
    ran.clear()
    with SimulationJournal(path) as journal:
        compare(helix, CARDS, **MANY, journal=journal)
    assert len(ran) == COUNT // 2 + 1


def test_what_has_no_number_comes_back_as_it_was(helix, tmp_path):
    first, again = (
        SimulationTask(scenario=helix, controller="law", with_result=keep) for keep in (True, False)
    )
    curves = ErrorCurves(np.array([0.0, 0.1]), {"phi": np.array([1.0 / 3.0, math.nan])})
    metrics = {"rms_phi": math.inf, "peak_u": math.nan, CLOCKED: 7.0, "effort": -0.0}
    outcome = RunSummary(
        controller="law", repeat=0, seed=helix.seed, mismatch=None, status="diverged",
        message="too large",
        end_time=0.1 + 0.2, metrics=metrics, validity=RunVerdict("ok", ()), is_random=True,
        curves=curves,
    )  # fmt: skip
    for _ in range(2):
        with SimulationJournal(tmp_path / "runs.jsonl") as journal:
            kept = RunStore(journal)
            kept.verify([first], [outcome])
            found = kept.find(again)
    assert repr(found) == repr(outcome)


def test_what_a_journal_keeps_can_be_sent_from_a_worker():
    done = SimulationRecord("completed", "", 1.0, False, {"rms_phi": 0.1})
    assert pickle.loads(pickle.dumps(done)) == done
