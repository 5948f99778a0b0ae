"""Many tasks at a time: the same answers as one by one, and no task costs another."""

from __future__ import annotations

import dataclasses as dc
import errno
import os
import pickle
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from ukctrl import Scenario
from ukctrl.core.errors import (
    ConflictingConstraints,
    InfeasibleConstraint,
    InputError,
    MachineFailure,
)
from ukctrl.studies.batch.run_summary import RunSummary, SimulationTask, repeat_seed, training_seed
from ukctrl.studies.batch.task import RetryPolicy, SharedTaskInput, TaskFailure, TaskResults
from ukctrl.studies.batch.task_runner import TaskRunner, _RetryQueue
from ukctrl_papers.motion.errors import DependentRows, UndeterminedMotion


@pytest.mark.parametrize(
    "error",
    [
        InputError("no"),
        MachineFailure("full"),
        ConflictingConstraints(["a", "b"], [0.1, 0.2]),
        InfeasibleConstraint(["a"], [1.0], 0, 1, "Drop it."),
        DependentRows("schur", ["a"], ["kkt"]),
        UndeterminedMotion(["x"], 1, "Hold it."),
    ],
    ids=lambda error: type(error).__name__,
)
def test_an_error_comes_out_of_another_process_as_it_was(error):
    same = pickle.loads(pickle.dumps(error))
    assert type(same) is type(error)
    assert (str(same), vars(same)) == (str(error), vars(error))


@dc.dataclass(frozen=True)
class Square:
    """A task that may go wrong in its own way."""

    number: int
    fault: str = ""

    def __call__(self, watch):
        watch(0.5)
        if self.fault == "dies":
            os._exit(3)
        if self.fault.startswith("/"):  # dies as often as there are files in that folder
            for file in Path(self.fault).iterdir():
                file.unlink()
                os._exit(3)
        if self.fault == "lacks memory":
            raise MemoryError("nothing is left")
        if self.fault == "lacks disk":
            raise InputError("the file cannot be written.") from OSError(errno.ENOSPC, "no space")
        if self.fault == "exits":
            sys.exit(7)
        if self.fault == "hangs":
            time.sleep(1000.0)
        if self.fault == "raises":
            raise ZeroDivisionError("no number is left")
        if self.fault == "refuses":
            raise InputError("the task does not fit.")
        if self.fault == "waits":
            for _ in range(10_000):
                time.sleep(0.02)
                watch(0.5)
        return self.number**2


@dc.dataclass(frozen=True)
class Common(SharedTaskInput):
    """What the tasks of a test share."""

    number: int


@dc.dataclass(frozen=True)
class Pair:
    """A task that says which object it shares, and with what process."""

    shared: Common
    number: int

    def __call__(self, watch):
        return self.shared.number + self.number, (os.getpid(), id(self.shared))


GROWN: list[bytes] = []
"""What a process keeps of its tasks."""


@dc.dataclass(frozen=True)
class Growing:
    """A task that leaves its process larger, as one does that loads machine code."""

    size: int

    def __call__(self, watch):
        GROWN.append(b"1" * self.size)
        time.sleep(1.2 if self.size else 0.0)
        return os.getpid()


def collected(tasks, progress=None, **options):
    found = {}
    with TaskRunner(**options) as crew:
        finished = crew.run(tasks, found.__setitem__, progress)
    return finished, found


@pytest.fixture(scope="module")
def crews():
    """Crews of one and of two, whose processes start once; no test here ends one of them."""
    with TaskRunner(1) as alone, TaskRunner(2) as two:
        yield {1: alone, 2: two}


def done(crew, tasks):
    found = {}
    return crew.run(tasks, found.__setitem__), found


@pytest.mark.slow
def test_a_process_that_has_grown_goes_on():
    """What it has loaded, another would have to load again; and nothing is said of a leak."""
    pytest.importorskip("psutil")  # without it nobody looks
    tasks = [Growing(0), Growing(310_000_000), Growing(0), Growing(0)]
    found = {}
    with TaskRunner(jobs=1, care=RetryPolicy(in_processes=True)) as crew:
        for k, task in enumerate(tasks):
            crew.run([task], lambda _, pid, k=k: found.__setitem__(k, pid))
    assert len(set(found.values())) == 1
    assert os.getpid() not in found.values()


@pytest.mark.slow(only=["2"])
@pytest.mark.parametrize("jobs", [1, 2])
def test_a_task_that_raises_has_no_value_and_costs_no_other(crews, jobs):
    finished, found = done(crews[jobs], [Square(0), Square(1, "raises"), Square(2, "exits")])
    assert finished
    assert found[0] == 0
    assert found[1] == TaskFailure("ZeroDivisionError: no number is left")
    assert found[2] == TaskFailure("SystemExit: 7")


@pytest.mark.slow
def test_a_task_whose_process_dies_is_tried_again_alone_and_has_no_value_then(tmp_path):
    for name in ("once", "twice"):
        (tmp_path / name).mkdir()
    for name in ("once/1", "twice/1", "twice/2"):
        (tmp_path / name).touch()
    tasks, found = [Square(k) for k in range(8)], {}
    tasks[2], tasks[5] = Square(2, str(tmp_path / "once")), Square(5, str(tmp_path / "twice"))
    care = RetryPolicy(chunk_seconds=1.0, resume_advice="go home")
    with TaskRunner(2, care=care) as crew:
        with pytest.raises(MachineFailure) as told:
            crew.run(tasks, found.__setitem__)
        assert found == {k: k**2 for k in range(8) if k != 5}
        assert str(told.value) == (
            f"the machine failed at {tasks[5]}, and again with nothing beside it: its process died "
            "with exit code 3. Nothing is recorded of it, and the others are done. See to what "
            "ends processes here, such as a lack of memory, and go home."
        )
        assert crew.run(tasks[4:6], found.__setitem__)
    assert found[1] == 25


@pytest.mark.slow(only=["lacks memory-2"])
@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("fault", ["lacks memory", "lacks disk"])
def test_a_machine_that_lacks_something_is_no_value_of_a_task(crews, jobs, fault):
    found = {}
    with pytest.raises(MachineFailure, match=f"{fault}.*nothing beside it"):
        crews[jobs].run([Square(0, fault), Square(1), Square(2)], found.__setitem__)
    assert found == {1: 1, 2: 4}


def test_a_machine_that_can_do_nothing_more_is_given_up():
    queue = _RetryQueue(range(100), 1, RetryPolicy(), failed := {})
    lost, tries = (
        TaskResults(
            failure=TaskFailure("the disk is full", is_machine_failure=True), failed_index=0
        ),
        0,
    )
    while queue:
        assert list(queue.process_results(queue.next(alone=True), lost)) == []
        tries += 1
    assert sorted(failed) == list(range(100))
    assert tries == 100 + 20


def test_a_task_that_failed_with_its_machine_has_nothing_beside_it_the_second_time():
    queue = _RetryQueue(range(3), 2, RetryPolicy(), failed := {})
    lost = TaskResults(
        failure=TaskFailure("its process died", is_machine_failure=True), failed_index=0
    )
    first, second = (queue.next(alone=alone) for alone in (True, False))
    assert list(queue.process_results(first, lost)) == []
    assert queue.next(alone=False) == [2]
    assert queue.next(alone=False) == []
    assert list(queue.process_results(second, TaskResults([1]))) == [(1, 1)]
    assert list(queue.process_results([2], TaskResults([4]))) == [(2, 4)]
    assert queue.next(alone=True) == [0]
    assert not failed
    assert list(queue.process_results([0], lost)) == []
    assert failed == {0: "its process died"}
    assert not queue


@pytest.mark.slow
def test_a_task_that_never_ends_is_ended_and_no_other():
    tasks = [Square(0), Square(1, "hangs"), Square(2), Square(3)]
    care = RetryPolicy(in_processes=True, timeout=3.0, chunk_seconds=1.0)
    _, found = collected(tasks, jobs=1, care=care)
    assert found.pop(1) == TaskFailure("it took longer than 3 s.", timed_out=True)
    assert found == {0: 0, 2: 4, 3: 9}


@pytest.mark.slow
def test_what_tasks_share_is_made_once_in_each_process():
    shared = Common(7)
    tasks = [Pair(shared, k) for k in range(6)]
    with TaskRunner(2, care=RetryPolicy(chunk_seconds=1.0)) as crew:
        found = {}
        crew.run(tasks, found.__setitem__)
    assert {k: number for k, (number, _) in found.items()} == {k: 7 + k for k in range(6)}
    assert len({where for _, where in found.values()}) <= 2  # one object a process


def test_tasks_that_no_other_process_can_have_are_done_here(crews):
    tasks = [lambda watch, k=k: k for k in range(3)]
    assert done(crews[2], tasks) == (True, {0: 0, 1: 1, 2: 2})


@pytest.mark.parametrize("jobs", [1, 2])
def test_an_input_error_of_a_task_ends_it_all(crews, jobs):
    with pytest.raises(InputError, match="the task does not fit"):
        done(crews[jobs], [Square(0), Square(1, "refuses"), Square(2)])


@pytest.mark.slow
def test_stopping_keeps_what_is_done_and_does_not_wait_for_the_rest():
    tasks, found = [Square(0), Square(1, "waits"), Square(2, "waits")], {}
    seen = []

    def progress(done, total):
        seen.append(done)
        if found:
            raise KeyboardInterrupt

    began = time.perf_counter()
    with TaskRunner(3) as crew:
        finished = crew.run(tasks, found.__setitem__, progress)
    assert not finished
    assert found[0] == 0
    assert time.perf_counter() - began < 100.0  # a task by itself waits for 200 s
    assert seen


def test_somebody_elses_executor_does_as_well():
    tasks = [Square(0), Square(1, "raises"), Square(2)]
    with ThreadPoolExecutor(2) as executor:
        finished, found = collected(tasks, executor=executor)
    assert finished
    assert (found[0], found[2]) == (0, 4)
    assert found[1].message == "ZeroDivisionError: no number is left"


def test_progress_counts_tasks_and_parts_of_them():
    seen = []
    collected([Square(0), Square(1)], lambda done, total: seen.append((done, total)))
    assert seen == [(0.5, 2), (1, 2), (1.5, 2), (2, 2)]


def test_jobs_must_be_positive_and_go_without_an_executor():
    with pytest.raises(InputError, match="jobs must be at least 1; got 0"):
        collected([Square(0)], jobs=0)
    with ThreadPoolExecutor(1) as executor, pytest.raises(InputError, match="and not both"):
        collected([Square(0)], jobs=2, executor=executor)


@pytest.mark.slow
def test_runs_in_other_processes_give_the_same_bits(crews):
    scenario = Scenario.load("scara-helix", {"timing.duration": 0.5, "start.spread": 0.01})
    runs = [
        SimulationTask(
            scenario=scenario.replace({"seed": seed}), controller=str(seed), with_result=True
        )
        for seed in range(3)
    ]
    _, alone = done(crews[1], runs)
    _, shared = done(crews[2], runs)
    for k, outcome in alone.items():
        assert isinstance(shared[k], RunSummary)
        assert shared[k].result.identical(outcome.result)
        assert not shared[k].result["q"].flags.writeable
        for name, curve in outcome.curves.norms.items():
            np.testing.assert_array_equal(shared[k].curves.norms[name], curve)


def test_repeats_have_seeds_of_their_own_and_tuning_has_another():
    seeds = [repeat_seed(5, k) for k in range(2000)]
    assert seeds[0] == 5
    assert len({*seeds, training_seed(5)}) == 2001
    assert seeds[1:] != [repeat_seed(6, k) for k in range(1, 2000)]
