"""Who may compute for a study, and what becomes of it when a cluster does not."""

from __future__ import annotations

import json
import os
import pickle
import shutil
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import pytest
from extras import needs
from faulty_task import faulty_task

import ukctrl
from ukctrl import Budget, Scenario, compare, sweep, tune
from ukctrl.core.errors import InputError, MachineFailure
from ukctrl.studies.batch import executors, worker
from ukctrl.studies.batch.dask_cluster import cluster
from ukctrl.studies.batch.environment_fingerprint import (
    RESUME_ADVICE,
    environment_fingerprint,
    fingerprint_mismatch,
    processor_kind,
)
from ukctrl.studies.batch.task_runner import TaskRunner
from ukctrl.studies.batch.worker import run_received_tasks

TREE = Path(ukctrl.__file__).parents[1]
PATIENCE = 120.0
"""Longer than this counts as hanging [s]."""
SOON = 100.0
"""A future is answered within this [s]."""
CLOCKED = "mean_tick_us"
OLD = {**environment_fingerprint(), "ukctrl": "0.0.1", "source": "0123"}


def seven(watch):
    return 7


def test_a_parcel_is_opened_where_the_numbers_are_the_same_and_nowhere_else():
    data = pickle.dumps([seven, seven])
    assert pickle.loads(run_received_tasks(data, (), environment_fingerprint()))[0] == [7, 7]
    for name in ("ukctrl", "source", "catalogue", "numpy", "scipy", "pin", "numba", "python"):
        ((told,), _) = pickle.loads(
            run_received_tasks(data, (), {**environment_fingerprint(), name: "other"})
        )
        assert isinstance(told, InputError)
        assert f"it has {name} {environment_fingerprint()[name]} instead of other." in str(told)
    ((told,), _) = pickle.loads(run_received_tasks(b"nonsense", (), environment_fingerprint()))
    assert "cannot read the runs (UnpicklingError" in str(told)


def test_a_study_ends_where_an_executor_computes_other_numbers(monkeypatch):
    monkeypatch.setattr(executors, "environment_fingerprint", lambda: OLD)
    with (
        ThreadPoolExecutor(1) as executor,
        TaskRunner(executor=executor) as crew,
        pytest.raises(InputError, match=r"ukctrl .* instead of 0\.0\.1, source .* of 0123\. I"),
    ):
        crew.run([seven], lambda k, value: None)


@pytest.mark.slow
def test_a_file_that_is_another_on_a_worker_is_no_property_of_the_sample(tmp_path, monkeypatch):
    scenario = Scenario.load(faulty_task(tmp_path), trust=True)
    options = {"beside": tmp_path / "task.toml", "trust": True, "folder": tmp_path / "out"}
    with monkeypatch.context() as patched, ThreadPoolExecutor(1) as pool:
        patched.setattr(worker, "changed_file", lambda files: next(iter(files)))
        for study in (
            lambda: sweep(scenario, ["seed=1,2"], executor=pool, **options),
            lambda: compare(scenario, ["own"], executor=pool, trust=True),
            lambda: tune(scenario, Budget(simulations=1), executor=pool),
        ):
            with pytest.raises(InputError, match=r"faults\.py' must be what it was .* on every m"):
                study()
    assert sweep(scenario, ["seed=1,2"], resume=True, **options).finished


@needs("distributed")
@pytest.mark.parametrize(
    ("address", "why"),
    [
        ("", "missing port"),
        ("nonsense", "missing port"),
        ("http://somewhere:80", "must begin with tcp:// or tls://"),
        ("inproc://somewhere", "must begin with tcp:// or tls://"),
        ("tcp://[::1", "invalid address"),
        ("tls://somewhere.invalid:8786", "certificates for TLS must be named"),
    ],
)
def test_what_is_no_address_is_refused(address, why):
    with pytest.raises(InputError, match=f"no Dask scheduler answers at .*{why}"), cluster(address):
        pass


@needs("distributed")
@pytest.mark.parametrize(
    ("greeting", "why"),
    [(b"", "timed out"), (b"SSH-2.0-Open", "who answers there is no Dask scheduler")],
)
def test_a_port_at_which_somebody_else_listens_is_refused(greeting, why):
    with socket.create_server(("", 0)) as server, ThreadPoolExecutor(1) as pool:
        answer = pool.submit(lambda: server.accept()[0])
        pool.submit(lambda: answer.result().sendall(greeting))
        address = f"tcp://{socket.gethostname()}:{server.getsockname()[1]}"
        with pytest.raises(InputError) as caught, cluster(address, timeout=0.5):
            pass
        assert str(caught.value) == (
            f"no Dask scheduler answers at '{address}' within 0.5 s ({why}). Start one with 'dask "
            "scheduler' and give the address that it prints."
        )
        answer.result().close()


class Client:
    """Somebody who answers as a Dask client does."""

    def __init__(self, executor):
        self.status, self.silent, self.threads = "running", False, {}
        self.introductions, self.over = {}, threading.Event()
        self.scheduler, self._executor = SimpleNamespace(ncores=None), executor

    def get_executor(self, pure):
        return self._executor

    def sync(self, ask, callback_timeout):
        if self.silent:
            raise TimeoutError
        return dict(self.threads)

    def run(self, function, workers, on_error):
        known = {worker: function() for worker in workers}
        return known | {k: v for k, v in self.introductions.items() if k in workers}


@pytest.fixture
def watched(monkeypatch):
    """An executor of a cluster with one worker, the client behind it, and what the user is told."""
    pytest.importorskip("distributed")
    module = sys.modules[cluster.__module__]
    monkeypatch.setattr(module, "POLL_SECONDS", 0.01)
    monkeypatch.setattr(module, "NOTIFY_AFTER_SECONDS", 0.02)
    told = []
    with ThreadPoolExecutor(1) as pool:
        client = Client(pool)
        client.threads["one"] = 2
        executor = module._MonitoredExecutor(client, "tcp://there:8786", 0.2, told.append)
        assert executor.begin() == 2
        try:
            yield executor, client, told
        finally:
            executor.end()
            client.over.set()


def waits(client):
    """Compute until the test has ended."""
    client.over.wait()


def test_a_cluster_whose_workers_are_gone_is_told_of_and_ends(watched):
    executor, client, told = watched
    future = executor.submit(waits, client)
    client.threads.clear()
    with pytest.raises(MachineFailure) as caught:
        future.result(SOON)
    start = "Start some with 'dask worker tcp://there:8786'."
    assert str(caught.value) == (
        f"the Dask scheduler at 'tcp://there:8786' has no workers for 0.2 s. {start} What is "
        f"recorded is kept; {RESUME_ADVICE}."
    )
    assert told == [
        "the Dask scheduler at 'tcp://there:8786' has no workers; waiting, 0.2 s at most. " + start
    ]
    with pytest.raises(MachineFailure, match="has no workers"):
        executor.submit(seven, None)


def test_a_scheduler_that_ends_or_freezes_ends_the_study_in_one_line(watched):
    executor, client, told = watched
    client.silent = True
    future = executor.submit(waits, client)
    with pytest.raises(MachineFailure) as caught:
        future.result(SOON)
    assert str(caught.value) == (
        "the Dask scheduler at 'tcp://there:8786' does not answer for 0.2 s. What is recorded is "
        f"kept; {RESUME_ADVICE}."
    )
    assert told == [
        "the Dask scheduler at 'tcp://there:8786' does not answer; waiting, 0.2 s at most."
    ]


def test_a_scheduler_that_is_gone_is_noticed_at_once(watched):
    executor, client, _ = watched
    future = executor.submit(waits, client)
    client.status, client.threads = "connecting", {}
    with pytest.raises(MachineFailure) as caught:
        future.result(SOON)
    assert str(caught.value) == (
        "the Dask scheduler at 'tcp://there:8786' answers no more. What is recorded is kept; start "
        f"it again, and {RESUME_ADVICE}."
    )


def test_workers_that_died_over_a_task_are_named_by_the_last(watched):
    from distributed.scheduler import KilledWorker

    def died():
        raise KilledWorker("run", SimpleNamespace(address="tcp://that:1"), 4)

    executor, _, _ = watched
    with pytest.raises(RuntimeError) as caught:
        executor.submit(died).result(SOON)
    assert str(caught.value) == "workers died, the last of them at 'tcp://that:1'"


def test_a_cluster_without_dask_is_refused_with_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(InputError) as caught, cluster("tcp://there:8786"):
        pass
    assert str(caught.value) == (
        "a cluster needs Dask, which is not installed; install it with pip install "
        "'ukctrl[cluster]'."
    )


def test_workers_that_join_late_are_looked_at(watched):
    executor, client, told = watched
    assert executor.submit(seven, None).result(SOON) == 7
    client.introductions = {
        "like it": (environment_fingerprint(), "another one"),
        "gone": ConnectionError("closed"),
        "bare": ModuleNotFoundError("No module named 'ukctrl'"),
        "old": (OLD, processor_kind()),
    }
    client.threads |= {"like it": 1, "gone": 1}
    future = executor.submit(waits, client)
    while not told:
        time.sleep(0.01)
    assert told[0] == (
        "the Dask worker at 'like it' has another kind of processor (another one instead of "
        f"{processor_kind()}): its numbers may differ in their last digits."
    )
    client.threads["old"] = 1
    with pytest.raises(
        InputError, match=r"worker at 'old' must compute as.*ukctrl 0\.0\.1 instead"
    ):
        future.result(SOON)


def test_a_worker_without_ukctrl_is_named(watched):
    executor, client, _ = watched
    client.introductions["bare"] = ModuleNotFoundError("No module named 'ukctrl'")
    client.threads["bare"] = 1
    future = executor.submit(waits, client)
    with pytest.raises(InputError, match="worker at 'bare' cannot import what is sent to it"):
        future.result(SOON)


def test_a_refusal_names_the_place_what_differs_and_what_to_do():
    assert fingerprint_mismatch("it", environment_fingerprint(), environment_fingerprint()) == ""
    told = fingerprint_mismatch("it", {}, {"numpy": "2"})
    assert told.startswith("it must compute as it is done here, for the same numbers; it has numpy")
    assert told.endswith(f"Install there what is here, or end it, and {RESUME_ADVICE}.")


class Dask:
    """A scheduler and workers, each a process."""

    def __init__(self, folder):
        self.folder, self.workers, self._begun = folder, [], []
        file = folder / "scheduler.json"
        options = ("--interface", "lo", "--port", "0", "--scheduler-file", str(file))
        self.scheduler = self.process(TREE, "scheduler", *options)
        assert until(lambda: file.exists() and file.read_text().strip())
        self.address = json.loads(file.read_text())["address"]

    def process(self, path, *words):
        begun = subprocess.Popen(
            [sys.executable, "-P", "-m", "dask", *words, "--no-dashboard"],
            env={**os.environ, "PYTHONPATH": str(path)}, cwd=self.folder,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        self._begun.append(begun)
        return begun

    def worker(self, path=TREE):
        """Start a worker that finds ukctrl in a folder."""
        return self.process(path, "worker", self.address, "--nthreads", "1", "--no-nanny")

    def end(self):
        for process in self._begun:
            process.kill()
            process.wait()


@pytest.fixture
def dask(tmp_path):
    pytest.importorskip("distributed")
    there = Dask(tmp_path)
    yield there
    there.end()


def until(condition):
    """Wait until something holds, and say whether it ever did."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.05)
    return False


def started(*words):
    """Start a command."""
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "ukctrl.cli", *map(str, words)],
        env={**os.environ, "PYTHONPATH": str(TREE)},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def lines_of(journal):
    """Return how many lines a journal has."""
    return len(journal.read_text().splitlines()) if journal.exists() else 0


def complaint(process):
    """Return the last line of what a command says that is refused."""
    last = process.communicate(timeout=PATIENCE)[1].splitlines()
    assert process.returncode == 2, last
    assert [line for line in last if not line.startswith("ukctrl: ")] == []
    return last[-1]


def untimed(folder):
    """Return the tables of a folder without what the clock has measured."""
    tables = {}
    for path in sorted(folder.glob("*.csv")):
        rows = [line.split(",") for line in path.read_text().splitlines()]
        kept = [k for k, name in enumerate(rows[0]) if CLOCKED not in name]
        tables[path.name] = [
            [row[k] for k in kept if k < len(row)] for row in rows if CLOCKED not in row
        ]
    return tables


NOISE = "effect=[{kind='noise', std=1e-4}]"
STUDIES = {
    "compare": (("-c", "own", "-c", "computed-torque", "--repeats", "80"), "runs.jsonl", ()),
    "tune": (("--budget", "160", "--ensemble", "2"), "journal.jsonl", ("--resume",)),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", STUDIES)
def test_comparisons_and_searches_on_a_cluster_are_those_of_this_machine(name, dask, tmp_path):
    options, file, resume = STUDIES[name]
    longer = ("--set", NOISE, "--set", "timing.duration=1.5", "--set", "timing.control=2e-3")
    work = (name, "scara-helix", *options, *longer, "--set", "timing.sample=2e-3")
    out, whole, on = tmp_path / "out", tmp_path / "whole", ("--cluster", dask.address)
    journal = out / file
    changed = another_source(tmp_path / "changed")
    first, study = dask.worker(), started(*work, *on, "--out", out)
    assert until(lambda: lines_of(journal) > 2)
    first.kill()
    second = dask.worker()
    before = lines_of(journal)
    assert until(lambda: lines_of(journal) > before + 1)
    stranger = dask.worker(changed)
    assert "source" in (told := complaint(study))
    assert "the Dask worker at 'tcp://" in told
    stranger.kill()
    before = lines_of(journal)
    assert before > 3
    study = started(*work, *on, *resume, "--out", out)
    assert until(lambda: lines_of(journal) > before)
    dask.scheduler.kill()
    assert "answers no more" in complaint(study)
    second.kill()
    assert "no Dask scheduler answers at" in complaint(started(*work, *on, *resume, "--out", out))
    assert journal.exists(), "it was done before all had happened"
    for process in (started(*work, *resume, "--out", out), started(*work, "--out", whole)):
        assert process.communicate(timeout=PATIENCE)[1] == ""
        assert process.returncode == 0
    assert untimed(out) == untimed(whole)
    assert untimed(out)


def another_source(folder):
    """Make a copy of ukctrl that differs in a comment."""
    shutil.copytree(TREE / "ukctrl", folder / "ukctrl")
    with (folder / "ukctrl/simulation/simulate.py").open("a") as file:
        file.write("# another line\n")
    for kind in ("robots", "controllers", "scenarios"):
        (folder / kind).symlink_to(TREE / kind)
    return folder


@pytest.mark.slow
def test_a_sweep_on_a_cluster_survives_all_that_happens_to_it(dask, tmp_path):
    faulty_task(tmp_path)
    changed, upgraded = another_source(tmp_path / "changed"), tmp_path / "upgraded"
    out = tmp_path / "out"
    (upgraded / "ukctrl-9.9.dist-info").mkdir(parents=True)
    (upgraded / "ukctrl").symlink_to(TREE / "ukctrl")
    text = "Metadata-Version: 2.1\nName: ukctrl\nVersion: 9.9\n"
    (upgraded / "ukctrl-9.9.dist-info/METADATA").write_text(text)
    many = ("--vary", "effect.0.what=waits", "--vary", "effect.0.scale=1:2:60", "--no-report")

    def sweeping(*more, folder=out):
        line = ("sweep", tmp_path / "task.toml", "--trust", *many)
        return started(*line, "--out", folder, *more)

    def recorded():
        return lines_of(out / "journal.jsonl")

    on = ("--cluster", dask.address)
    first, study = dask.worker(), sweeping(*on)
    assert until(lambda: recorded() > 2)
    first.kill()
    second = dask.worker()
    before = recorded()
    assert until(lambda: recorded() > before + 2)
    stranger = dask.worker(changed)
    assert "source" in (told := complaint(study))
    assert "the Dask worker at 'tcp://" in told
    stranger.kill()
    before, study = recorded(), sweeping(*on, "--resume")
    assert until(lambda: recorded() > before + 2)
    stranger = dask.worker(upgraded)
    assert "it has ukctrl 9.9 instead of" in complaint(study)
    stranger.kill()
    before, study = recorded(), sweeping(*on, "--resume")
    assert until(lambda: recorded() > before + 2)
    dask.scheduler.kill()
    assert "answers no more" in complaint(study)
    assert "no Dask scheduler answers at" in complaint(sweeping(*on, "--resume"))
    second.kill()
    assert recorded() < 60, "it was done before all had happened"
    for process in (sweeping("--resume"), sweeping(folder=tmp_path / "whole")):
        assert process.wait(PATIENCE) == 0
    assert (out / "study.csv").read_bytes() == (tmp_path / "whole/study.csv").read_bytes()
