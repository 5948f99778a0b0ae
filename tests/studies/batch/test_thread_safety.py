"""Runs in threads of one process: none disturbs another, and one that never ends is given up."""

from __future__ import annotations

import dataclasses as dc
import threading
import time
import warnings

import numpy as np
import pytest
from faulty_task import faulty_task
from threadpoolctl import threadpool_info

from ukctrl import Budget, Plants, Robot, Scenario, compare, one_blas_thread, simulate, tune
from ukctrl.core.errors import InputError
from ukctrl.core.files import catalog
from ukctrl.core.suppressed_warnings import suppress_warnings
from ukctrl.studies.batch import executors, worker
from ukctrl.studies.batch.run_summary import SimulationTask
from ukctrl.studies.batch.task import RetryPolicy, TaskFailure
from ukctrl.studies.batch.task_runner import TaskRunner
from ukctrl.studies.batch.thread_safety import are_thread_safe


@pytest.fixture(autouse=True)
def _soon(monkeypatch):
    monkeypatch.setattr(worker, "OVERTIME_SECONDS", 0.2)


@dc.dataclass(frozen=True)
class Waits:
    """A task that looks whether it is to stop, or does not."""

    number: int
    looks: bool = True
    seconds: float = 0.0

    def __call__(self, watch):
        watch(0.5)
        end = time.monotonic() + self.seconds
        while time.monotonic() < end:
            time.sleep(0.01)
            if self.looks:
                watch(0.5)
        return self.number, threading.current_thread() is threading.main_thread()


def collected(tasks, progress=None, jobs=2, **care):
    found = {}
    with TaskRunner(jobs, care=RetryPolicy(thread_safe=True, **care)) as crew:
        finished = crew.run(tasks, found.__setitem__, progress)
    return finished, found


@pytest.mark.slow
def test_tasks_of_machine_code_are_done_by_threads_of_this_process():
    before = threading.active_count()
    tasks = [Waits(k, seconds=0.1) for k in range(4)]
    began = time.monotonic()
    assert collected(tasks, jobs=4) == (True, {k: (k, False) for k in range(4)})
    assert time.monotonic() - began < 0.4, "one after the other"
    assert threading.active_count() <= before
    assert collected(tasks, jobs=1) == (True, {k: (k, True) for k in range(4)})


def test_a_task_that_never_looks_whether_it_is_late_is_given_up_and_costs_no_other():
    tasks = [Waits(0), Waits(1, looks=False, seconds=3.0), Waits(2), Waits(3)]
    began = time.monotonic()
    finished, found = collected(tasks, jobs=1, timeout=0.5, chunk_seconds=1.0)
    assert finished
    assert found.pop(1) == TaskFailure("it took longer than 0.5 s.", timed_out=True)
    assert sorted(found) == [0, 2, 3]
    assert time.monotonic() - began < 3.0


def test_who_stops_is_handed_what_there_is_and_leaves_no_thread():
    before, found = threading.active_count(), {}

    def progress(done, total):
        if found:
            raise KeyboardInterrupt

    tasks = [Waits(0), *(Waits(k, seconds=60.0) for k in range(1, 4))]
    with TaskRunner(2, care=RetryPolicy(thread_safe=True)) as crew:
        assert not crew.run(tasks, found.__setitem__, progress)
    assert found[0] == (0, False)
    assert threading.active_count() <= before


def test_an_error_ends_all_and_leaves_no_thread():
    before = threading.active_count()
    refused = SimulationTask(
        scenario=helix({"servo.0.frame": "nowhere"}), controller="x", strict=True
    )
    with pytest.raises(InputError, match="x: .*nowhere"):
        collected([refused, Waits(1, seconds=60.0)])
    assert threading.active_count() <= before


def helix(changes=None):
    return Scenario.load("scara-helix", {"timing.duration": 0.3, **(changes or {})})


@pytest.mark.slow
def test_results_of_threads_have_the_bits_of_a_run_by_itself():
    scenarios = [helix({"start.spread": 0.01, "seed": k}) for k in range(3)]
    scenarios += [
        Scenario.load(name, {"timing.duration": 0.1, "seed": seed})
        for name in ("panda-pose-sampled", "five-bar", "cart-pole-swing-up")
        for seed in (1, 2)
    ]
    runs = [
        SimulationTask(scenario=scenario, controller="x", with_result=True)
        for scenario in scenarios
    ]
    _, found = collected(runs, jobs=4)
    for k, scenario in enumerate(scenarios):
        assert found[k].result.identical(simulate(scenario)), k


@pytest.mark.parametrize(
    ("name", "changes", "suits"),
    [
        ("panda-pose-sampled", {}, True),
        ("scara-helix", {}, True),
        ("coordinated-arms", {}, True),
        ("scara-helix", {"integrator.method": "Radau"}, False),
        ("cart-pole-swing-up", {}, True),
        ("cart-pole-swing-up", {"integrator": {"method": "RK4", "step": 0.01}}, False),  # its guard
        ("n-four-bar", {}, True),
        ("n-four-bar", {"integrator": {"method": "DOP853"}}, False),  # what corrects its steps
    ],
)
def test_threads_are_for_what_machine_code_runs_from_sample_to_sample(name, changes, suits):
    with TaskRunner(2) as crew:
        assert are_thread_safe([Scenario.load(name, changes)], crew) is suits


def test_what_python_of_a_users_own_would_do_is_not_tried_in_this_process(tmp_path):
    scenario = Scenario.load(faulty_task(tmp_path), {"effect.0.what": "dies at once"}, trust=True)
    with TaskRunner(2) as crew:
        assert not are_thread_safe([helix(), scenario], crew)
        assert are_thread_safe([helix()], crew)
        of_an_object = dc.replace(helix(), robot=Robot.load("scara"))
        assert not are_thread_safe([of_an_object], crew)  # it may come from a user's file


def test_what_cannot_begin_is_left_to_whoever_runs_it_and_a_stop_is_heard():
    def stop(done, total):
        raise KeyboardInterrupt

    with TaskRunner(2) as crew:
        assert not are_thread_safe([helix({"servo.0.frame": "nowhere"})], crew)
        with pytest.raises(KeyboardInterrupt):
            are_thread_safe([helix()], crew, stop)


def test_linear_algebra_keeps_to_one_thread_until_the_last_run_has_ended():
    def threads():
        return [entry["num_threads"] for entry in threadpool_info() if entry["user_api"] == "blas"]

    before, begun, may_end = threads(), threading.Event(), threading.Event()

    def other():
        with one_blas_thread():
            begun.set()
            may_end.wait(60.0)

    running = threading.Thread(target=other)
    with one_blas_thread():
        running.start()
        assert begun.wait(60.0)
    assert set(threads()) == {1}
    may_end.set()
    running.join()
    assert threads() == before


def test_filters_of_warnings_are_as_before_where_threads_were_quiet_at_a_time():
    before = warnings.filters[:]

    def other():
        for _ in range(200):
            with suppress_warnings():
                time.sleep(0.0)

    others = [threading.Thread(target=other) for _ in range(4)]
    for thread in others:
        thread.start()
    for thread in others:
        thread.join()
    assert warnings.filters == before


@pytest.mark.slow
def test_how_long_a_law_takes_does_not_count_what_others_do():
    def tick_us():
        return min(simulate(helix()).metric("mean_tick_us") for _ in range(3))

    alone, done = tick_us(), threading.Event()

    def busy():
        while not done.is_set():
            sum(range(1000))

    thread = threading.Thread(target=busy)
    thread.start()
    try:
        # One turn of the other takes 5 ms, a thousand times as long as a tick.
        assert tick_us() < 20.0 * alone
    finally:
        done.set()
        thread.join()


@pytest.mark.parametrize("name", catalog.names("scenarios"))
def test_what_a_change_does_not_reach_stays_and_the_rest_is_read_as_ever(name):
    scenario = Scenario.load(name)
    changed = scenario.replace({"seed": 7, "timing.sample": 0.03})
    assert changed.servo is scenario.servo or changed.servo == scenario.servo
    for ours, theirs in zip(changed.servo, scenario.servo, strict=True):
        assert ours is theirs
    assert changed.controller is scenario.controller
    table = scenario.to_table()
    expected = table | {"seed": 7, "timing": table["timing"] | {"sample": 0.03}}
    assert changed.to_table() == expected


@pytest.fixture
def no_process(monkeypatch):
    def start():
        raise AssertionError("a process was started")

    monkeypatch.setattr(executors, "_new_process", start)


@pytest.mark.slow
def test_a_comparison_and_a_search_by_threads_are_those_of_one_run_after_another(no_process):
    scenario = helix({"timing.duration": 0.05, "start.spread": 0.01})
    cards = ("servo-baumgarte", "computed-torque")
    alone, others = (compare(scenario, cards, repeats=3, jobs=jobs) for jobs in (1, 3))
    for ours, theirs in zip(alone.outcomes, others.outcomes, strict=True):
        assert (ours.controller, ours.repeat, ours.status) == (
            theirs.controller,
            theirs.repeat,
            "completed",
        )
        values = [
            [run.metrics[name] for name in alone.outcomes[0].metrics if name != "mean_tick_us"]
            for run in (ours, theirs)
        ]
        np.testing.assert_array_equal(*values)
        np.testing.assert_array_equal(ours.curves.norms["phi"], theirs.curves.norms["phi"])
    budget = Budget(simulations=8, plants=Plants(count=2, mismatch=0.1), method="evolution")
    assert tune(scenario, budget, jobs=3).tuning == tune(scenario, budget).tuning
