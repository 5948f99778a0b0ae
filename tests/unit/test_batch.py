"""Many tasks at a time: the same answers as one by one, and no task costs another."""

from __future__ import annotations

import dataclasses as dc
import os
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from ukctrl import Scenario
from ukctrl.core.errors import InputError
from ukctrl.studies.batch.crew import Crew
from ukctrl.studies.batch.run_outcome import Outcome, Run, repeat_seed, training_seed
from ukctrl.studies.batch.task import Care, Lost, Shared


@dc.dataclass(frozen=True)
class Square:
    """A task that may go wrong in its own way."""

    number: int
    fault: str = ""

    def __call__(self, watch):
        watch(0.5)
        if self.fault == "dies":
            os._exit(3)
        if self.fault.startswith("/"):  # dies, but for the first time only
            with open(self.fault, "a+") as file:
                file.seek(0)
                known = file.read()
                file.write("here")
            if not known:
                os._exit(3)
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
class Common(Shared):
    """What the tasks of a test share."""

    number: int


@dc.dataclass(frozen=True)
class Pair:
    """A task that says which object it shares, and with what process."""

    shared: Common
    number: int

    def __call__(self, watch):
        return self.shared.number + self.number, (os.getpid(), id(self.shared))


def collected(tasks, progress=None, **options):
    found = {}
    with Crew(**options) as crew:
        finished = crew.gather(tasks, found.__setitem__, progress)
    return finished, found


def test_a_task_that_dies_or_raises_is_lost_and_no_other():
    tasks = [Square(k) for k in range(6)]
    tasks[1], tasks[3] = Square(1, "dies"), Square(3, "raises")
    finished, found = collected(tasks, jobs=2)
    assert finished
    assert {k: v for k, v in found.items() if k not in (1, 3)} == {0: 0, 2: 4, 4: 16, 5: 25}
    assert found[1] == Lost("the process that ran it died, with exit code 3.", died=True)
    assert found[3] == Lost("ZeroDivisionError: no number is left")


def test_a_task_that_was_lost_is_tried_again_before_it_is_blamed(tmp_path):
    tasks = [Square(k) for k in range(8)]
    tasks[2], tasks[5] = Square(2, str(tmp_path / "once")), Square(5, "dies")
    finished, found = collected(tasks, jobs=2, care=Care(batch=1.0))
    assert finished
    assert {k: v for k, v in found.items() if k != 5} == {k: k**2 for k in range(8) if k != 5}
    assert found[5].died


@pytest.mark.slow
def test_a_task_that_never_ends_is_ended_and_no_other():
    tasks = [Square(0), Square(1, "hangs"), Square(2), Square(3)]
    care = Care(isolated=True, timeout=3.0, batch=1.0)
    _, found = collected(tasks, jobs=1, care=care)
    assert found.pop(1) == Lost("it took longer than 3 s.", overdue=True)
    assert found == {0: 0, 2: 4, 3: 9}


def test_what_tasks_share_is_made_once_in_each_process():
    shared = Common(7)
    tasks = [Pair(shared, k) for k in range(6)]
    with Crew(2, care=Care(batch=1.0)) as crew:
        found = {}
        crew.gather(tasks, found.__setitem__)
    assert {k: number for k, (number, _) in found.items()} == {k: 7 + k for k in range(6)}
    assert len({where for _, where in found.values()}) <= 2  # one object a process


def test_tasks_that_no_other_process_can_have_are_done_here():
    tasks = [lambda watch, k=k: k for k in range(3)]
    assert collected(tasks, jobs=2) == (True, {0: 0, 1: 1, 2: 2})


@pytest.mark.parametrize("jobs", [1, 2])
def test_an_input_error_of_a_task_ends_it_all(jobs):
    with pytest.raises(InputError, match="the task does not fit"):
        collected([Square(0), Square(1, "refuses"), Square(2)], jobs=jobs)


def test_stopping_keeps_what_is_done_and_does_not_wait_for_the_rest():
    tasks, found = [Square(0), Square(1, "waits"), Square(2, "waits")], {}
    seen = []

    def progress(done, total):
        seen.append(done)
        if found:
            raise KeyboardInterrupt

    began = time.perf_counter()
    with Crew(3) as crew:
        finished = crew.gather(tasks, found.__setitem__, progress)
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


def test_runs_in_other_processes_give_the_same_bits():
    scenario = Scenario.load("scara-helix", {"timing.duration": 0.5, "start.spread": 0.01})
    runs = [
        Run(scenario=scenario.replace({"seed": seed}), entry=str(seed), keep=True)
        for seed in range(3)
    ]
    _, alone = collected(runs, jobs=1)
    _, shared = collected(runs, jobs=2)
    for k, outcome in alone.items():
        assert isinstance(shared[k], Outcome)
        assert shared[k].result.identical(outcome.result)
        assert not shared[k].result["q"].flags.writeable
        for name, curve in outcome.curves.norms.items():
            np.testing.assert_array_equal(shared[k].curves.norms[name], curve)


def test_repeats_have_seeds_of_their_own_and_tuning_has_another():
    seeds = [repeat_seed(5, k) for k in range(2000)]
    assert seeds[0] == 5
    assert len({*seeds, training_seed(5)}) == 2001
    assert seeds[1:] != [repeat_seed(6, k) for k in range(1, 2000)]
