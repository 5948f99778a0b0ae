"""A machine that fails is no property of what it computed, which is tried again.

Who meets the fault ``is killed`` dies by SIGKILL, and who meets ``is starved`` has no memory, as
often as there are files in a folder. The second needs no processes, which take long to start.
"""

from __future__ import annotations

import errno
import json
import shutil

import pytest
from faulty_task import faulty_task

from ukctrl import Budget, Plants, Scenario, compare, sweep, tune
from ukctrl.analysis.linear.design import GainDesigner
from ukctrl.cli import main
from ukctrl.control.error_dynamics_spec import ErrorSpec
from ukctrl.core.errors import InputError, MachineFailure
from ukctrl.studies.batch.run_summary import SimulationTask
from ukctrl.studies.comparison.entry import default_controllers
from ukctrl.studies.comparison.equal_bandwidth import design_equal, summarise_loops
from ukctrl.studies.tuning.error_dynamics_ranges import loop_bandwidth
from ukctrl.studies.tuning.search import make_candidate

CARDS = ("servo-baumgarte", "computed-torque")
WAYS = pytest.mark.parametrize(
    ("fault", "jobs", "why"),
    [
        ("is starved", 1, "the machine failed after t = 0.02 s: faults.py, line .* MemoryError"),
        pytest.param("is killed", 2, "its process died of SIGKILL", marks=pytest.mark.slow),
    ],
)


@pytest.fixture
def task(tmp_path):
    return faulty_task(tmp_path)


@pytest.fixture
def kills(tmp_path):
    folder = tmp_path / "kills"
    folder.mkdir()

    def prepare(count):
        for file in folder.iterdir():
            file.unlink()
        for number in range(count):
            (folder / str(number)).touch()
        return str(folder)

    return prepare


def loaded(task, kills, **changes):
    return Scenario.load(task, {"effect.0.kills": kills(0), **changes}, trust=True)


def spread(task, kills, fault):
    return loaded(task, kills, **{"effect.0.what": fault, "start.spread": 0.01})


def recorded(folder):
    lines = (folder / "journal.jsonl").read_text().splitlines()
    return sorted(json.loads(line)["sample"] for line in lines)


def untimed(comparison):
    known = [(run.controller, run.seed, run.status, run.metrics) for run in comparison.outcomes]
    return [(*rest, values["rms_phi"], values["effort"]) for *rest, values in known]


@WAYS
def test_a_sweep_records_nothing_of_it_and_goes_on(task, kills, tmp_path, fault, jobs, why):
    scenario, out = loaded(task, kills), tmp_path / "out"
    factors = [f"effect.0.what=nothing,{fault},diverges"]
    options = {"beside": task, "trust": True, "jobs": jobs}
    whole = sweep(scenario, factors, folder=tmp_path / "whole", **options)
    assert list(whole.columns["status"]) == ["completed", "completed", "diverged"]
    kills(9)
    with pytest.raises(MachineFailure, match=f"sample 1, and again.*: {why}.* go on by --resume"):
        sweep(scenario, factors, folder=out, **options)
    assert recorded(out) == [0, 2]
    assert len((out / "study.csv").read_text().splitlines()) == 3
    kills(1)
    assert sweep(scenario, factors, folder=out, resume=True, **options).finished
    assert recorded(out) == [0, 1, 2]
    assert (out / "study.csv").read_bytes() == (tmp_path / "whole/study.csv").read_bytes()


@pytest.mark.slow
@WAYS
def test_a_search_is_the_same_as_if_nothing_had_happened(task, kills, tmp_path, fault, jobs, why):
    scenario = spread(task, kills, fault)
    budget = Budget(simulations=8, plants=Plants(count=2, mismatch=0.1))
    whole = tune(scenario, budget, folder=tmp_path / "whole")
    kills(1)
    assert tune(scenario, budget, folder=tmp_path / "once", jobs=jobs).tuning == whole.tuning
    kills(9)
    with pytest.raises(MachineFailure, match=f"plant . of 'servo-baumg.*: {why}.*by --resume"):
        tune(scenario, budget, folder=tmp_path / "out", jobs=jobs)
    kills(0)
    assert tune(scenario, budget, folder=tmp_path / "out", resume=True).tuning == whole.tuning
    texts = [(tmp_path / name / "journal.jsonl").read_text() for name in ("whole", "once", "out")]
    assert len({tuple(sorted(text.splitlines())) for text in texts}) == 1


@pytest.mark.slow
@WAYS
def test_a_comparison_is_of_what_the_machine_could_do(task, kills, fault, jobs, why):
    scenario = spread(task, kills, fault)
    options = {"repeats": 3, "jobs": jobs, "beside": task, "trust": True}
    whole = compare(scenario, CARDS, **options)
    kills(1)
    once = compare(scenario, CARDS, **options)
    assert once.conditions == whole.conditions
    assert untimed(once) == untimed(whole)
    kills(3)  # both first runs, and the one of them that is tried again first
    broken = compare(scenario, CARDS, **options)
    assert "repeat 0, and again with nothing beside it" in broken.conditions.failure
    assert [len(runs) for runs in broken.runs.values()] == [3]
    assert "The machine failed" in " ".join(v.text for v in broken.verdicts)
    kills(99)
    with pytest.raises(MachineFailure, match=r"\(and 1 more\).*give the same command again"):
        compare(scenario, CARDS, **options)


@pytest.mark.slow(only=["sweep", "compare"])
@pytest.mark.parametrize(
    "command",
    [
        ("sweep", "--repeats", "2"),
        ("tune", "--budget", "4", "--ensemble", "2", "-j", "1"),
        ("compare", "-c", CARDS[0], "-c", CARDS[1], "-j", "1"),
    ],
    ids=lambda command: command[0],
)
def test_a_command_says_so_in_one_line_and_exits_with_2(task, kills, tmp_path, capsys, command):
    changes = [f"effect.0.kills={kills(99)}", "effect.0.what=is starved", "start.spread=0.01"]
    given = [word for change in changes for word in ("--set", change)]
    name, *options = command
    with pytest.raises(SystemExit) as ended:
        main([name, str(task), "--trust", *given, *options, "-q", "--out", str(tmp_path / "out")])
    complaint = capsys.readouterr().err.splitlines()
    assert ended.value.code == 2
    assert len(complaint) == 1
    assert "the machine failed at " in complaint[0]


@pytest.mark.slow
def test_repeats_are_paired_by_their_number_where_some_are_missing(task, kills, monkeypatch):
    scenario, simulated = spread(task, kills, "nothing"), SimulationTask.__call__

    def starved(run, watch):
        if run.controller == CARDS[0] and run.repeat == 1:
            raise MemoryError
        return simulated(run, watch)

    monkeypatch.setattr(SimulationTask, "__call__", starved)
    broken = compare(scenario, CARDS, repeats=4, beside=task, trust=True)
    assert f"failed at '{CARDS[0]}', repeat 1, and again" in broken.conditions.failure
    for runs in broken.runs.values():
        assert [run.repeat for run in runs] == [0, 2, 3]
    (told,) = [v.text for v in broken.verdicts if v.subject == "machine"]
    assert told.startswith("The machine failed; all controllers have 3 of 4 repeats.")


UNREAD = InputError("the robot cannot be read.")
UNREAD.__cause__ = OSError(errno.ESTALE, "stale file handle")


def refusing(error):
    def fail(*args, **named):
        raise error

    return fail


def test_samples_without_room_on_the_disk_are_not_recorded(task, kills, tmp_path, monkeypatch):
    monkeypatch.setattr("ukctrl.simulation.result.sample_store.MAX_MEMORY_BYTES", 10)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(9, 8, 1))
    with pytest.raises(MachineFailure, match=r"sample 0 \(and 1 more\).*: there are 0 MB"):
        sweep(
            loaded(task, kills), ["effect.0.scale=1,2"], folder=tmp_path / "out", beside=task,
            trust=True,
        )  # fmt: skip
    assert recorded(tmp_path / "out") == []


def test_a_run_in_which_a_part_cannot_read_a_file_has_not_diverged(task, kills, monkeypatch):
    scenario = loaded(task, kills)
    monkeypatch.setattr("ukctrl.simulation.step.stepper.Stepper.run", refusing(UNREAD))
    with pytest.raises(MachineFailure, match=r"the machine failed after t = .*cannot be read"):
        SimulationTask(scenario=scenario, controller="own")(lambda _: None)


def test_no_law_is_left_out_or_called_unknown_for_it(monkeypatch):
    scenario = Scenario.load("scara-helix")
    monkeypatch.setattr("ukctrl.studies.comparison.entry.Loop", refusing(UNREAD))
    with pytest.raises(InputError, match="cannot be read"):
        default_controllers(scenario)
    equal = "ukctrl.studies.comparison.equal_bandwidth"
    monkeypatch.setattr(f"{equal}.loop_performance", refusing(MemoryError))
    with pytest.raises(MemoryError):
        summarise_loops({"own": scenario})
    monkeypatch.setattr(f"{equal}.designed", refusing(UNREAD))
    with pytest.raises(InputError, match=r"^the robot cannot be read\.$"):
        design_equal({"own": scenario}, ErrorSpec(bandwidth=3.0))


def test_no_candidate_is_refused_for_it(monkeypatch):
    designer = GainDesigner(Scenario.load("scara-helix"))
    monkeypatch.setattr(GainDesigner, "by_formula", refusing(UNREAD))
    with pytest.raises(InputError, match="cannot be read"):
        make_candidate("own", {"bandwidth": 3.0}, "start", (), designer)
    where = "ukctrl.studies.tuning.error_dynamics_ranges.linear_loop"
    monkeypatch.setattr(where, refusing(MemoryError))
    with pytest.raises(MemoryError):
        loop_bandwidth(Scenario.load("scara-helix"))
