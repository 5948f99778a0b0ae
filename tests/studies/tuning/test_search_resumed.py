"""A search that is stopped or killed goes on from its journal, and repeats nothing."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import pytest
from studies import stop_after

from ukctrl import Scenario
from ukctrl.core.errors import InputError, MachineFailure
from ukctrl.studies.batch.run_summary import SimulationTask
from ukctrl.studies.batch.task_runner import TaskRunner
from ukctrl.studies.comparison import compare
from ukctrl.studies.tuning import METHODS, Budget, Plants, SimulationJournal, tune_all

CARDS = ("servo-baumgarte", "computed-torque")
BUDGET = Budget(simulations=12)


@pytest.fixture(name="helix", scope="module")
def _helix():
    """A short run that is sampled, so that high gains cost something."""
    return Scenario.load(
        "scara-helix",
        {
            "timing": {"duration": 0.2, "control": 0.02, "sample": 0.02},
            "believed.mass_scale": 0.8,
            "start.spread": 0.02,
            "integrator": {"method": "RK4", "step": 0.01},
        },
    )


@pytest.fixture(name="laws", scope="module")
def _laws(helix):
    return {name: helix.replace({"controller": {"use": name}}) for name in CARDS}


@pytest.fixture(name="ran")
def _ran(monkeypatch):
    """The runs that are really made."""
    ran = []
    simulated = SimulationTask.__call__
    monkeypatch.setattr(
        SimulationTask, "__call__", lambda run, w: (ran.append(run), simulated(run, w))[1]
    )
    return ran


@pytest.mark.slow(but=["cma"])
@pytest.mark.parametrize("method", METHODS)
def test_a_stopped_search_goes_on_to_the_result_it_would_have_had(laws, tmp_path, method, ran):
    budget = Budget(simulations=16, method=method, plants=Plants(count=2, mismatch=0.1))
    whole = tune_all(laws, budget)
    made, path = len(ran), tmp_path / "journal.jsonl"
    assert made == 32
    for count in (3, 9, 20):
        ran.clear()
        with SimulationJournal(path) as journal:
            stopped = tune_all(laws, budget, journal=journal, progress=stop_after(count))
        assert not all(found.finished for found in stopped.values())
    ran.clear()
    with SimulationJournal(path) as journal:
        kept = len(journal)
        assert 19 <= kept <= 21  # the run in progress is given up
        assert tune_all(laws, budget, journal=journal) == whole
        assert len(journal) == made
    assert len(ran) == made - kept + len(laws)  # the cards anew, to see that they are the same


@pytest.mark.slow
def test_a_comparison_that_was_stopped_while_tuning_goes_on(helix, tmp_path):
    path = tmp_path / "journal.jsonl"
    whole = compare(helix, CARDS, tuning=BUDGET)
    with SimulationJournal(path) as journal, pytest.raises(KeyboardInterrupt):
        compare(helix, CARDS, tuning=BUDGET, journal=journal, progress=stop_after(20))
    with SimulationJournal(path) as journal:
        assert 19 <= len(journal) <= 21
        resumed = compare(helix, CARDS, tuning=BUDGET, journal=journal)
    assert resumed.tunings == whole.tunings


@pytest.mark.slow
def test_what_is_of_another_scenario_or_other_files_is_not_believed(laws, tmp_path, ran):
    path = tmp_path / "journal.jsonl"
    with SimulationJournal(path) as journal:
        tune_all(laws, BUDGET, journal=journal)
    heavier = {name: law.replace({"believed.mass_scale": 0.9}) for name, law in laws.items()}
    ran.clear()
    with SimulationJournal(path) as journal:
        tune_all(heavier, BUDGET, journal=journal)
    assert len(ran) == 24
    # The file of the robot changed: nothing tells but what came of the card.
    lines = path.read_text().splitlines()
    first = json.loads(lines[0])
    first["metrics"]["rms_phi"] *= 1.0 + 1e-12
    path.write_text("\n".join([json.dumps(first), *lines[1:], ""]))
    ran.clear()
    with SimulationJournal(path) as journal:
        tune_all(laws, BUDGET, journal=journal)
    assert len(ran) == 24 + 2


@pytest.mark.slow
def test_another_cost_of_the_same_runs_needs_no_new_ones(laws, tmp_path, ran):
    budget = Budget(simulations=6, cost="rms_phi")  # the card and the Sobol points alone
    with SimulationJournal(tmp_path / "journal.jsonl") as journal:
        tune_all(laws, budget, journal=journal)
        ran.clear()
        other = tune_all(laws, Budget(simulations=3, cost="effort"), journal=journal)
    assert len(ran) <= 2 + 2  # the cards anew, and where the other cost leads
    assert other[CARDS[0]].cost == "effort"


@pytest.mark.slow
def test_a_line_that_was_being_written_is_cut_off(laws, tmp_path):
    path = tmp_path / "journal.jsonl"
    with SimulationJournal(path) as journal:
        whole = tune_all(laws, BUDGET, journal=journal)
    content = path.read_bytes()
    path.write_bytes(content[:-40])
    with SimulationJournal(path) as journal:
        assert len(journal) == 23
        assert tune_all(laws, BUDGET, journal=journal) == whole
    assert sorted(path.read_bytes().splitlines()) == sorted(content.splitlines())
    path.write_bytes(b"\xff\n[1]\n{}\n" + content)
    with SimulationJournal(path) as journal:
        assert len(journal) == 24


@pytest.mark.slow
def test_a_machine_that_fails_twice_is_no_property_of_the_candidate(laws, tmp_path, monkeypatch):
    path = tmp_path / "journal.jsonl"
    simulated, asked = SimulationTask.__call__, []

    def starved(run, watch):
        asked.append(run)
        if 9 < len(asked) < 15:
            raise MemoryError
        return simulated(run, watch)

    with monkeypatch.context() as patched, SimulationJournal(path) as journal:
        patched.setattr(SimulationTask, "__call__", starved)
        with pytest.raises(MachineFailure, match=r"plant 0 of 'computed-to.*MemoryError"):
            tune_all(laws, BUDGET, journal=journal)
        kept = len(journal)
        assert 9 <= kept < 24
        asked.clear()
        asked += [None] * 9  # also where the card that is run anew fails, nothing is forgotten
        with pytest.raises(MachineFailure, match="MemoryError"):
            tune_all(laws, BUDGET, journal=journal)
        assert len(journal) == kept
    with SimulationJournal(path) as journal:
        assert tune_all(laws, BUDGET, journal=journal) == tune_all(laws, BUDGET)


def test_two_searches_do_not_write_to_one_journal(tmp_path):
    with (
        SimulationJournal(tmp_path / "journal.jsonl"),
        pytest.raises(InputError, match="another search is writing to"),
    ):
        SimulationJournal(tmp_path / "journal.jsonl")


SCRIPT = """
import sys
from pathlib import Path
from ukctrl import Scenario
from ukctrl.studies.batch.task_runner import TaskRunner
from ukctrl.studies.tuning import Budget, Plants, SimulationJournal, tune_all

if __name__ == "__main__":
    scenario = Scenario.from_toml(Path(sys.argv[1]).read_text())
    budget = Budget(simulations=40, method=sys.argv[3], plants=Plants(count=2, mismatch=0.1))
    with SimulationJournal(Path(sys.argv[2])) as journal, TaskRunner(int(sys.argv[4])) as crew:
        tune_all({"law": scenario}, budget, journal=journal, crew=crew)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
@pytest.mark.parametrize(
    ("method", "jobs"),
    [
        pytest.param("evolution", "1", marks=pytest.mark.slow),
        pytest.param("cma", "2", marks=pytest.mark.slow),
        pytest.param("simplex", "2", marks=pytest.mark.slow),
    ],
)
def test_a_killed_search_loses_nothing_that_was_done(laws, tmp_path, method, jobs):
    scenario = laws[CARDS[0]]
    budget = Budget(simulations=40, method=method, plants=Plants(count=2, mismatch=0.1))
    whole = tune_all({"law": scenario}, budget)
    path = tmp_path / "journal.jsonl"
    (tmp_path / "scenario.toml").write_text(scenario.to_toml())
    (tmp_path / "search.py").write_text(SCRIPT)
    command = [sys.executable, "search.py", "scenario.toml", "journal.jsonl", method, jobs]
    for lines in (4, 23):
        process = subprocess.Popen(command, cwd=tmp_path, env=os.environ)
        until = time.monotonic() + 60.0
        while not path.exists() or path.read_bytes().count(b"\n") < lines:
            assert process.poll() is None, "the search ended before it was killed"
            assert time.monotonic() < until
            time.sleep(0.002)
        process.send_signal(signal.SIGKILL)
        process.wait()
    runs = [json.loads(line)["run"] for line in path.read_bytes().splitlines()[:-1]]
    assert len(runs) >= 22
    assert len(set(runs)) == len(runs)  # nothing was repeated
    with SimulationJournal(path) as journal:
        assert tune_all({"law": scenario}, budget, journal=journal) == whole


@pytest.mark.slow
def test_the_number_of_workers_changes_nothing(laws):
    budgets = [
        Budget(simulations=8, method=method, plants=Plants(count=2, mismatch=0.1))
        for method in METHODS
    ]
    alone = [tune_all(laws, budget) for budget in budgets]
    with TaskRunner(2) as crew:
        shared = [tune_all(laws, budget, crew=crew) for budget in budgets]
    assert shared == alone
