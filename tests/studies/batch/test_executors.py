"""Who computes tasks, how many are handed over at a time, and how far they are: all by hand."""

from __future__ import annotations

import pickle
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from types import SimpleNamespace

import pytest

from ukctrl.core.errors import InputError, MachineFailure
from ukctrl.studies.batch import executors, worker
from ukctrl.studies.batch import task_runner as crew_module
from ukctrl.studies.batch.environment_fingerprint import fingerprint_mismatch
from ukctrl.studies.batch.executors import ExternalExecutor, LocalWorkers
from ukctrl.studies.batch.task import (
    RetryPolicy,
    TaskFailure,
    TaskResults,
    error_text,
    scaled_progress,
)
from ukctrl.studies.batch.task_runner import TaskRunner, _RetryQueue


@pytest.fixture(name="crew_of")
def _crew_of(monkeypatch):
    """Build a crew of a machine with four processors, whose processes only tell what they get."""
    monkeypatch.setattr(crew_module, "_cpu_count", lambda: 4)
    handed = []

    def over(self, batch, chosen):
        kind = "threads" if self._factory is executors._new_thread else "processes"
        handed.append((kind, self.slots, list(chosen)))
        return batch.run_serially(chosen)

    monkeypatch.setattr(
        crew_module._TaskBatch, "run_on", lambda self, place, chosen: over(place, self, chosen)
    )
    monkeypatch.setattr(
        LocalWorkers, "scale_to", lambda self, count: setattr(self, "_workers", [0] * count)
    )
    monkeypatch.setattr(LocalWorkers, "end", lambda self: None)

    return handed


@pytest.mark.parametrize(
    ("jobs", "count", "care", "handed"),
    [
        (1, 5, {}, []),
        (3, 1, {}, []),  # one task alone is not worth a process
        (3, 5, {}, [("processes", 3, [0, 1, 2, 3, 4])]),
        (3, 2, {}, [("processes", 2, [0, 1])]),
        (1, 5, {"in_processes": True}, [("processes", 1, [0, 1, 2, 3, 4])]),
        (3, 1, {"in_processes": True}, [("processes", 1, [0])]),
        (None, 6, {}, [("processes", 4, [0, 1, 2, 3, 4, 5])]),
        (None, 1, {}, []),
        (None, 6, {"in_processes": True}, [("processes", 4, [0, 1, 2, 3, 4, 5])]),
        (1, 5, {"thread_safe": True}, []),
        (3, 1, {"thread_safe": True}, []),
        (3, 2, {"thread_safe": True}, [("threads", 2, [0, 1])]),
        (None, 6, {"thread_safe": True}, [("threads", 4, [0, 1, 2, 3, 4, 5])]),
        (
            1,
            2,
            {"thread_safe": True, "timeout": 9.0},
            [("threads", 1, [0, 1])],
        ),  # seen from outside
        (3, 2, {"thread_safe": True, "in_processes": True}, [("processes", 2, [0, 1])]),
        (1, 2, {"timeout": 9.0}, []),
    ],
)
def test_who_computes(jobs, count, care, handed, crew_of):
    taken = []
    with TaskRunner(jobs, care=RetryPolicy(**care)) as crew:
        assert crew.run([lambda watch: 1.0] * count, lambda k, value: taken.append(k))
    assert crew_of == handed
    assert sorted(taken) == list(range(count))


def test_how_many_tasks_are_handed_over_at_a_time():
    def sizes(batch, seconds, jobs=1):
        queue = _RetryQueue(range(100), jobs, RetryPolicy(chunk_seconds=batch), {})
        first = queue.next(alone=True)
        list(queue.process_results(first, TaskResults([0] * len(first), seconds)))
        return len(first), len(queue.next(alone=False))

    assert sizes(1.0, 0.1) == (1, 10)  # as many as take a second together
    assert sizes(1.0, 0.3) == (1, 3)
    assert sizes(1.0, 5.0) == (1, 1)
    assert sizes(0.0, 0.1) == (1, 1)
    assert sizes(1.0, 1e-9) == (1, 24)  # a quarter of what is left, so that all end together
    assert sizes(1.0, 1e-9, jobs=2) == (1, 12)


def test_the_mean_duration_of_a_task_follows_slowly():
    queue = _RetryQueue(range(1000), 1, RetryPolicy(chunk_seconds=9.0), {})
    list(queue.process_results(queue.next(alone=True), TaskResults([0], 1.0)))
    chosen = queue.next(alone=True)
    assert len(chosen) == 9
    list(queue.process_results(chosen, TaskResults([0] * 9, 90.0)))  # ten each: 0.9 + 0.1 10 = 1.9
    assert len(queue.next(alone=True)) == 4


def test_what_was_not_begun_comes_first_again_and_what_was_lost_is_told():
    queue = _RetryQueue(range(8), 1, RetryPolicy(chunk_seconds=3.0), {})
    list(queue.process_results(queue.next(alone=True), TaskResults([0], 1.0)))
    assert queue.next(alone=True) == [1]
    queue._waiting.extendleft([1])
    chosen = [queue._waiting.popleft() for _ in range(4)]
    late = TaskFailure("late", timed_out=True)
    assert list(queue.process_results(chosen, TaskResults([10], 1.0, late, 1))) == [
        (1, 10),
        (3, late),
    ]
    assert list(queue._waiting) == [2, 4, 5, 6, 7]
    whole = TaskFailure("who knows")
    assert list(queue.process_results([2, 4], TaskResults(failure=whole))) == [
        (2, whole),
        (4, whole),
    ]


def test_progress_is_the_whole_tasks_and_the_part_of_the_one_under_way():
    told = []

    def task(watch):
        for fraction in (-1.0, 0.25, 7.0):
            watch(fraction)
        return 0

    assert TaskRunner().run([task, task], lambda k, value: None, lambda *done: told.append(done))
    assert told == [(0.0, 2), (0.25, 2), (1.0, 2), (1, 2), (1.0, 2), (1.25, 2), (2.0, 2), (2, 2)]


def test_the_progress_of_a_part_is_a_part_of_the_progress():
    told = []
    report = scaled_progress(lambda *done: told.append(done), 10.0, 5.0, 40.0)
    report(0.0, 4.0)
    report(2.0, 4.0)
    report(0.0, 0.0)
    report(0.25, 0.5)
    assert told == [(10.0, 40.0), (12.5, 40.0), (10.0, 40.0), (11.25, 40.0)]
    scaled_progress(None, 0.0, 1.0, 2.0)(1.0, 1.0)


@pytest.mark.parametrize("asked", [True, False])
def test_a_task_that_is_stopped_ends_it_and_one_that_was_asked_to_hands_over(asked):
    taken = []

    def ask(done, total):
        if asked and done:
            raise KeyboardInterrupt

    def stops(watch):
        try:
            watch(0.5)
        except KeyboardInterrupt:
            return "half"
        return None if not asked else "never"

    tasks = [stops, lambda watch: "another"]
    assert not TaskRunner().run(tasks, lambda k, value: taken.append(value), ask)
    assert taken == (["half"] if asked else [])


def test_an_error_of_the_input_is_raised_and_one_of_a_task_is_its_value():
    def refuses(watch):
        raise InputError("no")

    with pytest.raises(InputError, match="^no$"):
        TaskRunner().run([refuses], lambda k, value: None)
    assert error_text(ValueError("")) == "ValueError"
    assert error_text(ValueError("x: ")) == "ValueError: x"


class Here(Executor):
    """An executor that computes at once, or fails as it is told."""

    def __init__(self, error=None, late=None):
        self.error, self.late, self.given = error, late, []

    def submit(self, function, *given):
        if self.error is not None:
            raise self.error
        self.given.append(given)
        future = Future()
        if self.late is None:
            future.set_result(function(*given))
        else:
            future.set_exception(self.late)
        return future


def square(watch):
    return 9


def test_an_executor_gets_more_than_it_has_room_for_and_says_when_it_has_gone():
    assert ExternalExecutor(Here(), 3, {}).slots == 3 * executors.PREFETCH
    place = ExternalExecutor(Here(), 1, {})
    assert place.progress() == 0.0
    assert place.result(place.submit([square], None)).values == [9]
    for gone in (RuntimeError("shut"), OSError("far"), executors.BrokenExecutor("dead")):
        with pytest.raises(InputError, match=r"the executor can compute no more \(.*: "):
            ExternalExecutor(Here(gone), 1, {}).submit([square], None)
    with pytest.raises(MachineFailure, match="^full$"):
        ExternalExecutor(Here(MachineFailure("full")), 1, {}).submit([square], None)
    for late in (OSError("far"), executors.CancelledError()):
        place = ExternalExecutor(Here(late=late), 1, {})
        with pytest.raises(InputError, match="can compute no more"):
            place.result(place.submit([square], None))
    place = ExternalExecutor(Here(late=ValueError("killed")), 1, {})
    delivery = place.result(place.submit([square], None))
    assert delivery == TaskResults(
        failure=TaskFailure("ValueError: killed", is_machine_failure=True)
    )
    place = ExternalExecutor(Here(late=InputError("no")), 1, {})
    with pytest.raises(InputError, match="^no$"):
        place.result(place.submit([square], None))


def test_what_an_executor_has_not_begun_is_taken_back():
    class Slow(Here):
        def submit(self, function, *given):
            return Future()

    place = ExternalExecutor(Slow(), 1, {})
    futures = [place.submit([square], None) for _ in range(2)]
    place.stop()
    assert all(future.cancelled() for future in futures)


@pytest.mark.parametrize(
    ("report", "cause"),
    [
        ("exit codes are {SIGKILL(-9)}", "its process died of SIGKILL"),
        ("exit codes are {EXIT(3)}", "its process died with exit code 3"),
        ("nothing is known", "its process died"),
    ],
)
def test_what_a_process_died_of(report, cause):
    assert executors._death_cause(report) == cause


def a_worker(*, error=None, process=1, late=False, task=2):
    future = Future()
    if error is not None:
        future.set_exception(error)
    board = SimpleNamespace(pid=process, task_index=task, fraction=0.5, deadline=0.0)
    return SimpleNamespace(
        future=future,
        status=board,
        timed_out=late,
        timeout=7.5,
        end=lambda: None,
        progress=lambda: 2.5,
    )


@pytest.mark.parametrize(
    ("given", "delivery"),
    [
        ({"error": executors.BrokenExecutor("SIGKILL(-9)"), "late": True},
         TaskResults(failure=TaskFailure("it took longer than 7.5 s.", timed_out=True),
         failed_index=2)),
        ({"error": executors.BrokenExecutor("SIGKILL(-9)")},
         TaskResults(failure=TaskFailure("its process died of SIGKILL", is_machine_failure=True),
         failed_index=2)),
        ({"error": ValueError("torn")},
        TaskResults(failure=TaskFailure("ValueError: torn"), failed_index=2)),
        ({"error": MemoryError("none")},
         TaskResults(failure=TaskFailure("MemoryError: none", is_machine_failure=True),
         failed_index=2)),
        ({"error": executors.BrokenExecutor("SIGKILL(-9)"), "process": 0}, TaskResults()),
    ],
)  # fmt: skip
def test_what_came_of_tasks_whose_process_died(given, delivery, monkeypatch):
    monkeypatch.setattr(executors, "_new_process", lambda files: "a new one")
    here, dead = LocalWorkers(False, {}), a_worker(**given)
    here._workers = [a_worker(), dead]
    assert here.result(dead.future) == delivery
    assert here._workers[1] == "a new one"


def test_processes_that_never_begin_are_a_fault_of_the_script_or_of_the_machine(monkeypatch):
    monkeypatch.setattr(executors, "_new_process", lambda files: a_worker(error=error, process=0))
    here, error = LocalWorkers(False, {}), executors.BrokenExecutor("EXIT(1)")
    here.scale_to(1)
    assert here.slots == 1
    with pytest.raises(InputError) as caught:
        here.result(here._workers[0].future)
    assert str(caught.value) == (
        "a process for the runs ended before it began (its process died with exit code 1). If the "
        "machine has memory enough, a script asks for several jobs where it is imported; put its "
        "work under `if __name__ == '__main__':`."
    )
    here, error = LocalWorkers(False, {}), executors.BrokenExecutor("SIGKILL(-9)")
    here.scale_to(1)
    for _ in range(executors.MAX_FAILED_STARTS):
        assert here.result(here._workers[0].future) == TaskResults()
    with pytest.raises(MachineFailure) as caught:
        here.result(here._workers[0].future)
    assert str(caught.value) == (
        "the machine cannot start a process for the runs (its process died of SIGKILL). What "
        "was recorded is kept; see to what it lacks, and go on from there."
    )


def test_a_process_that_delivers_is_free_again():
    here, one = LocalWorkers(False, {}), a_worker()
    here._workers = [one]
    one.future.set_result(pickle.dumps(([4], 0.5)))
    future = one.future
    assert here.result(future) == TaskResults([4], 0.5)
    assert one.future is None
    here._workers = [a_worker(), a_worker()]
    assert here.progress() == 5.0
    here.stop()
    assert [each.status.stop_requested for each in here._workers] == [1, 1]


def test_a_system_that_starts_no_process_is_told(monkeypatch):
    def refuse(files):
        raise OSError("too many")

    monkeypatch.setattr(executors, "_new_process", refuse)
    with pytest.raises(MachineFailure, match=r"for the runs \(OSError: too many\)\. What was"):
        LocalWorkers(False, {}).scale_to(1)


@pytest.fixture(name="process")
def _process(monkeypatch):
    clock = [100.0]
    monkeypatch.setattr(worker.time, "monotonic", lambda: clock[0])
    return worker.Worker(worker.WorkerStatus()), clock


def test_a_worker_says_on_its_board_how_far_it_is_and_when_it_is_overdue(process):
    here, clock = process
    board = here.status
    assert here.start_task(3, None)
    assert (board.task_index, board.fraction, board.deadline) == (3, 0.0, 0.0)
    assert board.pid
    assert here.start_task(0, 5.0)
    assert board.deadline == 100.0 + 5.0 + worker.OVERTIME_SECONDS + worker.WARM_UP_SECONDS
    watch = here.task_callback(5.0)
    clock[0] = 130.0  # what comes before is loading and compiling
    watch(-1.0)
    assert (board.fraction, board.deadline) == (0.0, 135.0 + worker.OVERTIME_SECONDS)
    clock[0] = 131.0
    watch(2.0)
    assert (board.fraction, board.deadline) == (1.0, 135.0 + worker.OVERTIME_SECONDS)
    assert here.start_task(1, 5.0)
    assert board.deadline == 136.0 + worker.OVERTIME_SECONDS
    board.stop_requested = 1
    with pytest.raises(KeyboardInterrupt):
        watch(0.5)
    assert not here.start_task(2, 5.0)


def test_a_worker_ends_before_a_task_that_is_no_longer_wanted():
    tasks = [lambda watch: 1, lambda watch: 2, lambda watch: 3]
    values, seconds = pickle.loads(worker.run_tasks(tasks, print, lambda place: place < 2))
    assert values == [1, 2]
    assert 0.0 <= seconds < 10.0

    def stopped(watch):
        raise KeyboardInterrupt

    def refused(watch):
        raise MachineFailure("x")

    values, _ = pickle.loads(worker.run_tasks([stopped, refused], print, lambda place: True))
    assert values == [TaskFailure("KeyboardInterrupt"), TaskFailure("x", is_machine_failure=True)]


def test_other_numbers_are_refused_and_the_same_ones_are_not():
    here = {"numpy": "2", "scipy": "1"}
    assert fingerprint_mismatch("it", here, here) == ""
    assert fingerprint_mismatch("it", {"numpy": "3"}, here) == (
        "it must compute as it is done here, for the same numbers; it has numpy 3 instead of 2, "
        "scipy unknown instead of 1. Install there what is here, or end it, and go on by the same "
        "command (sweep, tune: with --resume)."
    )
    values, _ = pickle.loads(
        worker.run_received_tasks(pickle.dumps([square]), (), {"numpy": "none"})
    )
    assert isinstance(values[0], InputError)
    assert "numpy" in str(values[0])
    values, _ = pickle.loads(
        worker.run_received_tasks(b"torn", (), worker.environment_fingerprint())
    )
    assert "cannot read the runs" in str(values[0])
    values, _ = pickle.loads(
        worker.run_received_tasks(pickle.dumps([square]), (), worker.environment_fingerprint())
    )
    assert values == [9]


def test_an_executor_has_room_for_as_many_as_it_is_said_to(monkeypatch):
    monkeypatch.setattr(crew_module, "_cpu_count", lambda: 4)
    executor = ProcessPoolExecutor.__new__(ProcessPoolExecutor)
    assert TaskRunner(None, executor)._external.slots == 4 * executors.PREFETCH
    assert TaskRunner(1, executor, room=3)._external.slots == 3 * executors.PREFETCH
    with pytest.raises(InputError, match="give jobs or an executor, and not both; got 2"):
        TaskRunner(2, executor)
    with pytest.raises(InputError, match="jobs must be at least 1; got 0"):
        TaskRunner(0)
