"""Studies survive what happens to them: samples that go wrong, and being killed at any moment."""

from __future__ import annotations

import contextlib
import csv
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
from extras import needs
from faulty_task import faulty_task
from studies import assert_same

from ukctrl import Scenario
from ukctrl.studies.sweep import cluster, sweep

MANY = ("--vary", "effect.0.what=waits", "--vary", "effect.0.scale=1:2:120", "-j", "2")
"""120 samples of about a third of a second."""
KILLS = 8
PATIENCE = 120.0
"""Longer than this counts as hanging [s]."""


@pytest.fixture
def task(tmp_path):
    return faulty_task(tmp_path)


def command(task: Path, out: Path, *options: str) -> list[str]:
    """Return the command line of a sweep of the task."""
    cli = [sys.executable, "-m", "ukctrl.cli"]
    return [*cli, "sweep", str(task), "--trust", "--out", str(out), *options]


def run(task: Path, out: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Sweep the task in a process of its own."""
    return subprocess.run(
        command(task, out, *options), capture_output=True, text=True, timeout=300, check=False
    )


def lines(out: Path) -> Counter[int]:
    """Return how often the journal of a folder records each sample."""
    journal = out / "journal.jsonl"
    if not journal.exists():
        return Counter()
    whole = journal.read_bytes().splitlines(keepends=True)
    return Counter(json.loads(line)["sample"] for line in whole if line.endswith(b"\n"))


def children(parent: int) -> list[int]:
    """Return the worker processes of a process."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdecimal():
            continue
        try:
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
            name = (entry / "cmdline").read_text()
        except OSError:
            continue
        if int(fields[1]) == parent and fields[0] != "Z" and "spawn_main" in name:
            found.append(int(entry.name))
    return found


def alive(process: int) -> bool:
    """Return whether a process is still there, and not only waiting to be buried."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def end(process: int, number: int) -> None:
    """Send a signal to a process that may have gone by itself."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(process, number)


def table(folder):
    with (folder / "study.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def gone(processes):
    """Wait until processes have ended, and say whether they did."""
    return until(lambda: not any(alive(process) for process in processes))


def more_than(recorded, out, sweeping):
    """Wait until a sweep has recorded more samples, or has ended."""
    return until(lambda: sum(lines(out).values()) > recorded or sweeping.poll() is not None)


def until(condition):
    """Wait until something holds, and say whether it ever did."""
    end_of_it = time.monotonic() + PATIENCE
    while time.monotonic() < end_of_it:
        if condition():
            return True
        time.sleep(0.01)
    return False


def outcomes(task, out, *faults, options=()):
    """Sweep over faults, and return status and message of each sample."""
    done = run(task, out, "--vary", f"effect.0.what={','.join(faults)}", "-j", "2", *options)
    assert done.returncode == 0, done.stderr
    assert lines(out) == dict.fromkeys(range(len(faults)), 1)
    return [(row["status"], row["message"]) for row in table(out)]


@pytest.mark.slow
def test_a_sample_that_goes_wrong_costs_no_other_and_says_why(task, tmp_path):
    found = outcomes(task, tmp_path / "out", "exits", "refuses", "nothing")
    assert found == [
        ("failed", "SystemExit: 7"),
        ("failed", "effect[0]: the fault does not fit."),
        ("completed", ""),
    ]


@pytest.mark.slow
def test_a_sample_that_never_ends_is_ended_and_the_sweep_goes_on(task, tmp_path):
    # Nothing but samples that hang: on a busy machine any other may need longer than its second.
    found = outcomes(task, tmp_path / "out", "hangs", "hangs", options=("--timeout", "1"))
    assert found == [("timed_out", "it took longer than 1 s.")] * 2


@pytest.mark.slow
def test_so_does_any_other_fault(task, tmp_path):
    faults = ["raises", "interrupts", "diverges"]
    raises, interrupts, diverges = outcomes(task, tmp_path / "out", *faults)
    assert "no reading is left" in raises[1]
    assert interrupts == ("failed", "it raised KeyboardInterrupt.")
    assert diverges[0] == "diverged"


@pytest.mark.slow
def test_a_killed_sweep_goes_on_and_leaves_nobody_behind(task, tmp_path):
    scenario = Scenario.load(task, trust=True)
    factors = ["effect.0.what=nothing", "effect.0.scale=1:2:30"]
    whole, out = tmp_path / "whole", tmp_path / "out"
    options = {"beside": task, "trust": True}
    sweep(scenario, factors, folder=whole, **options)
    vary = [option for factor in factors for option in ("--vary", factor)]
    sweeping = subprocess.Popen(command(task, out, *vary, "-j", "2"), stderr=subprocess.DEVNULL)
    assert more_than(2, out, sweeping)
    workers = children(sweeping.pid)
    sweeping.kill()
    sweeping.wait()
    assert gone(workers)
    recorded = (out / "journal.jsonl").read_bytes()
    (out / "journal.jsonl").write_bytes(recorded + b'{"sample": 29, "values": {"effect.0.sc')
    with_the_rest = sweep(scenario, factors, folder=out, resume=True, **options)
    assert with_the_rest.finished
    assert (out / "journal.jsonl").read_bytes().startswith(recorded)
    assert lines(out) == dict.fromkeys(range(30), 1)
    assert (out / "study.csv").read_bytes() == (whole / "study.csv").read_bytes()


@pytest.mark.slow
def test_ctrl_c_keeps_what_there_is_and_says_how_to_go_on(task, tmp_path):
    out = tmp_path / "out"
    sweeping = subprocess.Popen(
        command(task, out, *MANY), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert until(lambda: sum(lines(out).values()) >= 2)
    sweeping.send_signal(signal.SIGINT)
    said, complaint = sweeping.communicate(timeout=PATIENCE)
    assert sweeping.returncode == 1, complaint
    assert "--resume goes on from here" in said
    assert f"{120 - sum(lines(out).values())} are still to run" in said
    assert len(table(out)) == sum(lines(out).values())
    assert set(lines(out).values()) == {1}


@pytest.mark.slow
def test_killing_workers_loses_and_repeats_nothing(task, tmp_path):
    run(task, tmp_path / "undisturbed", *MANY)
    out, chance = tmp_path / "out", random.Random(0)
    sweeping = subprocess.Popen(command(task, out, *MANY), stderr=subprocess.DEVNULL)
    killed = 0
    while killed < KILLS:
        # Not so late that a sample that was tried again would be among those that are killed.
        assert sum(lines(out).values()) < 100
        time.sleep(chance.uniform(0.2, 0.8))
        workers = children(sweeping.pid)
        if workers:
            end(chance.choice(workers), signal.SIGKILL)
            killed += 1
    assert sweeping.wait(timeout=PATIENCE) == 0
    assert lines(out) == dict.fromkeys(range(120), 1)
    assert (out / "study.csv").read_bytes() == (tmp_path / "undisturbed/study.csv").read_bytes()


@pytest.mark.slow
def test_killing_the_sweep_itself_loses_and_repeats_nothing(task, tmp_path):
    run(task, tmp_path / "undisturbed", *MANY)
    out, chance = tmp_path / "out", random.Random(1)
    for _ in range(KILLS):
        recorded = sum(lines(out).values())
        line = command(task, out, *MANY, *(("--resume",) if out.exists() else ()))
        sweeping = subprocess.Popen(line, stderr=subprocess.DEVNULL)
        assert more_than(recorded, out, sweeping)
        time.sleep(chance.uniform(0.0, 0.3))
        workers = children(sweeping.pid)
        sweeping.kill()
        sweeping.wait()
        assert gone(workers)
        assert set(lines(out).values()) == {1}
    assert sum(lines(out).values()) < 120, "it was done before it was killed often enough"
    assert run(task, out, *MANY, "--resume").returncode == 0
    assert lines(out) == dict.fromkeys(range(120), 1)
    assert (out / "study.csv").read_bytes() == (tmp_path / "undisturbed/study.csv").read_bytes()


@pytest.mark.slow
def test_memory_does_not_grow_with_the_number_of_samples(task, tmp_path):
    peak = (
        "import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True, "
        "stdout=subprocess.DEVNULL); "
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024)"
    )
    found = []
    for count in (100, 2000):
        vary = (
            "--vary",
            f"effect.0.scale=1:2:{count}",
            "--set",
            "timing.duration=0.005",
            "-j",
            "2",
        )
        line = [sys.executable, "-c", peak, *command(task, tmp_path / str(count), *vary)]
        found.append(float(subprocess.run(line, capture_output=True, check=True).stdout))
    assert found[1] < found[0] + 30.0, "megabytes, of some 300 that the libraries take"


@pytest.fixture(scope="module")
def study():
    scenario = Scenario.load("panda-pose-sampled", {"timing.duration": 0.03})
    return scenario, ["believed.mass_scale=0.8:1.2"]


WAYS = {
    "alone": {"jobs": 1},
    "threads": {"jobs": 2},
    "more threads": {"jobs": 5, "timeout": 1000.0},
    "processes": {"jobs": 2, "isolated": True},
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "changes", "factors"),
    [
        pytest.param(
            "panda-pose-sampled",
            {"timing.duration": 0.03},
            ["believed.mass_scale=0.8:1.2"],
            marks=pytest.mark.slow,
        ),
        (
            "scara-helix",
            {"timing.duration": 0.05, "start.spread": 0.01},
            ["controller.use=servo-baumgarte,servo-pid,computed-torque", "seed=whole:1:9"],
        ),
    ],
)
def test_the_table_does_not_depend_on_who_computes_nor_on_how_many(
    name, changes, factors, tmp_path
):
    scenario, tables = Scenario.load(name, changes), {}
    for way, options in WAYS.items():
        folder = tmp_path / way
        study = sweep(scenario, factors, design="random", n=12, folder=folder, **options)
        assert set(study.columns["status"]) == {"completed"}
        tables[way] = {file: (folder / file).read_bytes() for file in ("study.csv", "study.json")}
    assert all(table == tables["alone"] for table in tables.values())


@pytest.mark.slow
def test_threads_start_no_process_and_are_stopped_killed_and_gone_on_with(tmp_path):
    words = ["panda-pose-sampled", "--repeats", "60", "-j", "2", "--set", "timing.duration=3"]
    cli = [sys.executable, "-m", "ukctrl.cli", "sweep", *words, "--no-report", "--out"]
    scenario = Scenario.load("panda-pose-sampled", {"timing.duration": 3.0})
    out = tmp_path / "out"
    stopped = subprocess.Popen([*cli, str(out)], stdout=subprocess.PIPE, text=True)
    assert more_than(1, out, stopped)
    assert children(stopped.pid) == []
    stopped.send_signal(signal.SIGINT)
    said, _ = stopped.communicate(timeout=PATIENCE)
    assert stopped.returncode == 1
    assert f"{60 - sum(lines(out).values())} are still to run" in said
    assert "--resume goes on from here" in said
    recorded = sum(lines(out).values())
    killed = subprocess.Popen([*cli, str(out), "--resume"], stdout=subprocess.DEVNULL)
    assert more_than(recorded, out, killed)
    killed.kill()
    killed.wait()
    assert recorded < sum(lines(out).values()) < 60
    assert sweep(scenario, [], repeats=60, jobs=2, folder=out, resume=True).finished
    assert lines(out) == dict.fromkeys(range(60), 1)
    sweep(scenario, [], repeats=60, folder=tmp_path / "whole")
    assert (out / "study.csv").read_bytes() == (tmp_path / "whole/study.csv").read_bytes()


@pytest.mark.slow
def test_a_sample_that_takes_too_long_is_ended_where_threads_compute(tmp_path):
    scenario = Scenario.load("panda-pose-sampled", {"timing.duration": 3600.0})
    study = sweep(scenario, [], repeats=2, jobs=2, timeout=0.5, folder=tmp_path / "out")
    assert list(study.columns["status"]) == ["timed_out"] * 2
    assert list(study.columns["message"]) == ["it took longer than 0.5 s."] * 2


@pytest.mark.slow
def test_python_of_ones_own_and_what_the_user_wants_apart_run_in_processes(task, tmp_path):
    apart = ["panda-pose-sampled", "--repeats", "40", "--isolated"]
    own = [str(task), "--trust", "--set", "effect.0.what=waits", "--repeats", "40"]
    for k, words in enumerate((apart, own)):
        cli = [sys.executable, "-m", "ukctrl.cli", "sweep", *words, "-j", "1", "-q", "--out"]
        sweeping = subprocess.Popen([*cli, str(tmp_path / str(k))])
        assert until(lambda p=sweeping: children(p.pid) or p.poll() is not None)
        assert sweeping.poll() is None
        sweeping.kill()
        sweeping.wait()


@needs("distributed")
@pytest.mark.slow
def test_a_dask_cluster_gives_the_same_table(study, tmp_path):
    from distributed import LocalCluster

    scenario, factors = study
    here = sweep(scenario, factors, n=40, jobs=4, folder=tmp_path / "here")
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as local,
        cluster(local.scheduler_address) as place,
    ):
        there = sweep(
            scenario,
            factors,
            n=40,
            executor=place.executor,
            room=place.room,
            folder=tmp_path / "there",
        )
    assert_same(there.columns, here.columns)
    names = {path.name for path in (tmp_path / "here").glob("study.*")}
    assert names >= {"study.csv", "study.json"}
    for name in names - {"study.json"}:  # the one table, and as Parquet where that is written
        ours, theirs = ((tmp_path / where / name).read_bytes() for where in ("here", "there"))
        assert ours == theirs
    assert json.loads((tmp_path / "there/study.json").read_text())["samples"] == 40
