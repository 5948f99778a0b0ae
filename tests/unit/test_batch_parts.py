"""Who computes tasks, how many are handed over at a time, and how far they are: all by hand."""

from __future__ import annotations

import pickle
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from types import SimpleNamespace

import pytest

from ukctrl.core.errors import InputError, MachineFailure
from ukctrl.studies.batch import crew as crew_module
from ukctrl.studies.batch import places, worker
from ukctrl.studies.batch.crew import Crew, _Queue
from ukctrl.studies.batch.places import Elsewhere, OwnWorkers
from ukctrl.studies.batch.same_numbers import refusal
from ukctrl.studies.batch.task import Care, Delivery, Lost, error_text, part


@pytest.fixture(name="crew_of")
def _crew_of(monkeypatch):
    """Build a crew of a machine with four processors, whose processes only tell what they get."""
    monkeypatch.setattr(crew_module, "_processors", lambda: 4)
    clock = [0.0]
    monkeypatch.setattr(crew_module.time, "perf_counter", lambda: clock[0])
    handed = []

    def over(self, batch, chosen):
        kind = "threads" if self._make is places._thread else "processes"
        handed.append((kind, self.room, list(chosen)))
        return batch.in_turn(chosen)

    monkeypatch.setattr(
        crew_module._Batch, "over", lambda self, place, chosen: over(place, self, chosen)
    )
    monkeypatch.setattr(
        OwnWorkers, "raise_to", lambda self, count: setattr(self, "_workers", [0] * count)
    )
    monkeypatch.setattr(OwnWorkers, "end", lambda self: None)

    def tasks(count, seconds):
        def task(watch):
            clock[0] += seconds
            return seconds

        return [task] * count

    return tasks, handed


@pytest.mark.parametrize(
    ("jobs", "count", "care", "handed"),
    [
        (1, 5, {}, []),
        (3, 1, {}, []),  # one task alone is not worth a process
        (3, 5, {}, [("processes", 3, [0, 1, 2, 3, 4])]),
        (3, 2, {}, [("processes", 2, [0, 1])]),
        (1, 5, {"isolated": True}, [("processes", 1, [0, 1, 2, 3, 4])]),
        (3, 1, {"isolated": True}, [("processes", 1, [0])]),
        (None, 6, {"isolated": True}, [("processes", 4, [0, 1, 2, 3, 4, 5])]),
        (1, 5, {"compiled": True}, []),
        (3, 1, {"compiled": True}, []),
        (3, 2, {"compiled": True}, [("threads", 2, [0, 1])]),
        (None, 6, {"compiled": True}, [("threads", 4, [0, 1, 2, 3, 4, 5])]),
        (1, 2, {"compiled": True, "timeout": 9.0}, [("threads", 1, [0, 1])]),  # seen from outside
        (3, 2, {"compiled": True, "isolated": True}, [("processes", 2, [0, 1])]),
        (1, 2, {"timeout": 9.0}, []),
    ],
)
def test_who_computes(jobs, count, care, handed, crew_of):
    tasks, found = crew_of
    taken = []
    with Crew(jobs, care=Care(**care)) as crew:
        assert crew.gather(tasks(count, 1.0), lambda k, value: taken.append(k))
    assert found == handed
    assert sorted(taken) == list(range(count))


@pytest.mark.parametrize(
    ("count", "seconds", "processes"),
    # Of the rest, one in four is what processes still wait for: with 9, 8 - 2 = 6 are saved.
    [(9, 0.66, False), (9, 0.67, True), (2, 100.0, False), (1, 100.0, False)],
)
def test_processes_are_started_where_they_save_more_than_they_cost(
    count, seconds, processes, crew_of
):
    tasks, handed = crew_of
    with Crew(None) as crew:
        assert crew.gather(tasks(count, seconds), lambda k, value: None)
    assert handed == ([("processes", 4, list(range(1, count)))] if processes else [])


def test_what_processes_would_have_saved_adds_up_and_then_they_stay(crew_of):
    tasks, handed = crew_of
    with Crew(None) as crew:
        for _ in range(2):
            crew.gather(tasks(9, 0.5), lambda k, value: None)
        assert handed == [("processes", 4, list(range(1, 9)))]
        crew.gather(tasks(3, 0.01), lambda k, value: None)
        assert handed[1:] == [("processes", 3, [0, 1, 2])]


def test_how_many_tasks_are_handed_over_at_a_time():
    def sizes(batch, seconds, jobs=1):
        queue = _Queue(range(100), jobs, Care(batch=batch), {})
        first = queue.next(alone=True)
        list(queue.settle(first, Delivery([0] * len(first), seconds)))
        return len(first), len(queue.next(alone=False))

    assert sizes(1.0, 0.1) == (1, 10)  # as many as take a second together
    assert sizes(1.0, 0.3) == (1, 3)
    assert sizes(1.0, 5.0) == (1, 1)
    assert sizes(0.0, 0.1) == (1, 1)
    assert sizes(1.0, 1e-9) == (1, 24)  # a quarter of what is left, so that all end together
    assert sizes(1.0, 1e-9, jobs=2) == (1, 12)


def test_the_mean_duration_of_a_task_follows_slowly():
    queue = _Queue(range(1000), 1, Care(batch=9.0), {})
    list(queue.settle(queue.next(alone=True), Delivery([0], 1.0)))
    chosen = queue.next(alone=True)
    assert len(chosen) == 9
    list(queue.settle(chosen, Delivery([0] * 9, 90.0)))  # ten each: 0.9 + 0.1 10 = 1.9
    assert len(queue.next(alone=True)) == 4


def test_what_was_not_begun_comes_first_again_and_what_was_lost_is_told():
    queue = _Queue(range(8), 1, Care(batch=3.0), {})
    list(queue.settle(queue.next(alone=True), Delivery([0], 1.0)))
    assert queue.next(alone=True) == [1]
    queue._waiting.extendleft([1])
    chosen = [queue._waiting.popleft() for _ in range(4)]
    late = Lost("late", overdue=True)
    assert list(queue.settle(chosen, Delivery([10], 1.0, late, 1))) == [(1, 10), (3, late)]
    assert list(queue._waiting) == [2, 4, 5, 6, 7]
    whole = Lost("who knows")
    assert list(queue.settle([2, 4], Delivery(lost=whole))) == [(2, whole), (4, whole)]


def test_progress_is_the_whole_tasks_and_the_part_of_the_one_under_way():
    told = []

    def task(watch):
        for fraction in (-1.0, 0.25, 7.0):
            watch(fraction)
        return 0

    assert Crew().gather([task, task], lambda k, value: None, lambda *done: told.append(done))
    assert told == [(0.0, 2), (0.25, 2), (1.0, 2), (1, 2), (1.0, 2), (1.25, 2), (2.0, 2), (2, 2)]


def test_the_progress_of_a_part_is_a_part_of_the_progress():
    told = []
    report = part(lambda *done: told.append(done), 10.0, 5.0, 40.0)
    report(0.0, 4.0)
    report(2.0, 4.0)
    report(0.0, 0.0)
    report(0.25, 0.5)
    assert told == [(10.0, 40.0), (12.5, 40.0), (10.0, 40.0), (11.25, 40.0)]
    part(None, 0.0, 1.0, 2.0)(1.0, 1.0)


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
    assert not Crew().gather(tasks, lambda k, value: taken.append(value), ask)
    assert taken == (["half"] if asked else [])


def test_an_error_of_the_input_is_raised_and_one_of_a_task_is_its_value():
    def refuses(watch):
        raise InputError("no")

    with pytest.raises(InputError, match="^no$"):
        Crew().gather([refuses], lambda k, value: None)
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
    assert Elsewhere(Here(), 3, {}).room == 3 * places.AHEAD
    place = Elsewhere(Here(), 1, {})
    assert place.done() == 0.0
    assert place.delivered(place.submit([square], None)).values == [9]
    for gone in (RuntimeError("shut"), OSError("far"), places.BrokenExecutor("dead")):
        with pytest.raises(InputError, match=r"the executor can compute no more \(.*: "):
            Elsewhere(Here(gone), 1, {}).submit([square], None)
    with pytest.raises(MachineFailure, match="^full$"):
        Elsewhere(Here(MachineFailure("full")), 1, {}).submit([square], None)
    for late in (OSError("far"), places.CancelledError()):
        place = Elsewhere(Here(late=late), 1, {})
        with pytest.raises(InputError, match="can compute no more"):
            place.delivered(place.submit([square], None))
    place = Elsewhere(Here(late=ValueError("killed")), 1, {})
    delivery = place.delivered(place.submit([square], None))
    assert delivery == Delivery(lost=Lost("ValueError: killed", machine=True))
    place = Elsewhere(Here(late=InputError("no")), 1, {})
    with pytest.raises(InputError, match="^no$"):
        place.delivered(place.submit([square], None))


def test_what_an_executor_has_not_begun_is_taken_back():
    class Slow(Here):
        def submit(self, function, *given):
            return Future()

    place = Elsewhere(Slow(), 1, {})
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
    assert places._cause(report) == cause


def a_worker(*, error=None, process=1, late=False, task=2):
    future = Future()
    if error is not None:
        future.set_exception(error)
    board = SimpleNamespace(process=process, task=task, fraction=0.5, until=0.0)
    return SimpleNamespace(
        future=future, board=board, late=late, granted=7.5, end=lambda: None, done=lambda: 2.5
    )


@pytest.mark.parametrize(
    ("given", "delivery"),
    [
        ({"error": places.BrokenExecutor("SIGKILL(-9)"), "late": True},
         Delivery(lost=Lost("it took longer than 7.5 s.", overdue=True), which=2)),
        ({"error": places.BrokenExecutor("SIGKILL(-9)")},
         Delivery(lost=Lost("its process died of SIGKILL", machine=True), which=2)),
        ({"error": ValueError("torn")}, Delivery(lost=Lost("ValueError: torn"), which=2)),
        ({"error": MemoryError("none")},
         Delivery(lost=Lost("MemoryError: none", machine=True), which=2)),
        ({"error": places.BrokenExecutor("SIGKILL(-9)"), "process": 0}, Delivery()),
    ],
)  # fmt: skip
def test_what_came_of_tasks_whose_process_died(given, delivery, monkeypatch):
    monkeypatch.setattr(places, "_process", lambda files: "a new one")
    here, dead = OwnWorkers.processes({}), a_worker(**given)
    here._workers = [a_worker(), dead]
    assert here.delivered(dead.future) == delivery
    assert here._workers[1] == "a new one"


def test_processes_that_never_begin_are_a_fault_of_the_script_or_of_the_machine(monkeypatch):
    monkeypatch.setattr(places, "_process", lambda files: a_worker(error=error, process=0))
    here, error = OwnWorkers.processes({}), places.BrokenExecutor("EXIT(1)")
    here.raise_to(1)
    assert here.room == 1
    with pytest.raises(InputError) as caught:
        here.delivered(here._workers[0].future)
    assert str(caught.value) == (
        "a process for the runs ended before it began (its process died with exit code 1). If the "
        "machine has memory enough, a script asks for several jobs where it is imported; put its "
        "work under `if __name__ == '__main__':`."
    )
    here, error = OwnWorkers.processes({}), places.BrokenExecutor("SIGKILL(-9)")
    here.raise_to(1)
    for _ in range(places.MOST_STILLBORN):
        assert here.delivered(here._workers[0].future) == Delivery()
    with pytest.raises(MachineFailure) as caught:
        here.delivered(here._workers[0].future)
    assert str(caught.value) == (
        "the machine cannot start a process for the runs (its process died of SIGKILL). What "
        "was recorded is kept; see to what it lacks, and go on from there."
    )


def test_a_process_that_delivers_is_free_again():
    here, one = OwnWorkers.processes({}), a_worker()
    here._workers = [one]
    one.future.set_result(pickle.dumps(([4], 0.5)))
    future = one.future
    assert here.delivered(future) == Delivery([4], 0.5)
    assert one.future is None
    here._workers = [a_worker(), a_worker()]
    assert here.done() == 5.0
    here.stop()
    assert [each.board.stop for each in here._workers] == [1, 1]


def test_a_system_that_starts_no_process_is_told(monkeypatch):
    def refuse(files):
        raise OSError("too many")

    monkeypatch.setattr(places, "_process", refuse)
    with pytest.raises(MachineFailure, match=r"for the runs \(OSError: too many\)\. What was"):
        OwnWorkers.processes({}).raise_to(1)


@pytest.fixture(name="process")
def _process(monkeypatch):
    clock = [100.0]
    monkeypatch.setattr(worker.time, "monotonic", lambda: clock[0])
    return worker.Worker(worker.Board()), clock


def test_a_worker_says_on_its_board_how_far_it_is_and_when_it_is_overdue(process):
    here, clock = process
    board = here.board
    assert here.begin(3, None)
    assert (board.task, board.fraction, board.until) == (3, 0.0, 0.0)
    assert board.process
    assert here.begin(0, 5.0)
    assert board.until == 100.0 + 5.0 + worker.OVERTIME_SECONDS + worker.FIRST_SECONDS
    watch = here.watch(5.0)
    clock[0] = 130.0  # what comes before is loading and compiling
    watch(-1.0)
    assert (board.fraction, board.until) == (0.0, 135.0 + worker.OVERTIME_SECONDS)
    clock[0] = 131.0
    watch(2.0)
    assert (board.fraction, board.until) == (1.0, 135.0 + worker.OVERTIME_SECONDS)
    assert here.begin(1, 5.0)
    assert board.until == 136.0 + worker.OVERTIME_SECONDS
    board.stop = 1
    with pytest.raises(KeyboardInterrupt):
        watch(0.5)
    assert not here.begin(2, 5.0)


def test_a_worker_ends_before_a_task_that_is_no_longer_wanted():
    tasks = [lambda watch: 1, lambda watch: 2, lambda watch: 3]
    values, seconds = pickle.loads(worker.computed(tasks, print, lambda place: place < 2))
    assert values == [1, 2]
    assert 0.0 <= seconds < 10.0

    def stopped(watch):
        raise KeyboardInterrupt

    def refused(watch):
        raise MachineFailure("x")

    values, _ = pickle.loads(worker.computed([stopped, refused], print, lambda place: True))
    assert values == [Lost("KeyboardInterrupt"), Lost("x", machine=True)]


def test_other_numbers_are_refused_and_the_same_ones_are_not():
    here = {"numpy": "2", "scipy": "1"}
    assert refusal("it", here, here) == ""
    assert refusal("it", {"numpy": "3"}, here) == (
        "it must compute as it is done here, for the same numbers; it has numpy 3 instead of 2, "
        "scipy unknown instead of 1. Install there what is here, or end it, and go on by the same "
        "command (sweep, tune: with --resume)."
    )
    values, _ = pickle.loads(worker.opened(pickle.dumps([square]), (), {"numpy": "none"}))
    assert isinstance(values[0], InputError)
    assert "numpy" in str(values[0])
    values, _ = pickle.loads(worker.opened(b"torn", (), worker.origin_here()))
    assert "cannot read the runs" in str(values[0])
    values, _ = pickle.loads(worker.opened(pickle.dumps([square]), (), worker.origin_here()))
    assert values == [9]


def test_an_executor_has_room_for_as_many_as_it_is_said_to(monkeypatch):
    monkeypatch.setattr(crew_module, "_processors", lambda: 4)
    executor = ProcessPoolExecutor.__new__(ProcessPoolExecutor)
    assert Crew(None, executor)._elsewhere.room == 4 * places.AHEAD
    assert Crew(1, executor, room=3)._elsewhere.room == 3 * places.AHEAD
    with pytest.raises(InputError, match="give jobs or an executor, and not both; got 2"):
        Crew(2, executor)
    with pytest.raises(InputError, match="jobs must be at least 1; got 0"):
        Crew(0)
