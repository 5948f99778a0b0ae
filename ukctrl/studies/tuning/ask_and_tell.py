"""Searches that call a function, turned round: they ask, and wait until they are answered."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, final

from ukctrl.studies.tuning.methods import Ended
from ukctrl.studies.tuning.tuning_record import Stage, Trial


class Asked(NamedTuple):
    """Candidates to try."""

    gains: Sequence[Mapping[str, float]]
    stage: Stage


@final
class Turned:
    """A search that calls a function, run as far as its next call.

    It runs in a thread of its own, which does nothing but wait for answers and propose.

    Args:
        work: The search; it calls `ask`, which raises `Ended` where its owner has no more answers.
    """

    def __init__(self, work: Callable[[], None]) -> None:
        self._asked: queue.SimpleQueue[Asked | None] = queue.SimpleQueue()
        self._answers: queue.SimpleQueue[Sequence[Trial] | None] = queue.SimpleQueue()
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, args=(work,), daemon=True)

    def start(self) -> None:
        """Run it as far as its first question."""
        self._thread.start()

    def question(self) -> Asked | None:
        """Wait for the next question; None where there are no more.

        Raises:
            Exception: What the search raised.
        """
        asked = self._asked.get()
        if asked is None and self._error is not None:
            raise self._error
        return asked

    def answer(self, trials: Sequence[Trial]) -> None:
        """Answer it, and let the search go on."""
        self._answers.put(trials)

    def end(self) -> None:
        """Let the search end, whatever it waits for."""
        self._answers.put(None)
        if self._thread.is_alive():
            self._thread.join()

    def ask(self, gains: Sequence[Mapping[str, float]], stage: Stage) -> Sequence[Trial]:
        """Put a question, in the thread of the search, and wait for the answer.

        Raises:
            Ended: There will be none.
        """
        self._asked.put(Asked(gains, stage))
        answer = self._answers.get()
        if answer is None:
            raise Ended
        return answer

    def _run(self, work: Callable[[], None]) -> None:
        try:
            work()
        except Ended:
            pass
        except BaseException as error:
            self._error = error
        self._asked.put(None)
