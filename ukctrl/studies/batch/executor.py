"""Somebody else's executor, such as a cluster's, as a place for tasks.

They cannot be asked to stop there, and nobody sees how far they are.
"""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future
from typing import final

from ukctrl.core.errors import InputError
from ukctrl.core.files.plugins import loaded_files, reload_files
from ukctrl.studies.batch.queue import Delivery
from ukctrl.studies.batch.task import Lost, error_text
from ukctrl.studies.batch.worker import computed, packed, unpacked

AHEAD = 2
"""What the executor is given for each of its processors: some tasks to compute, some to wait."""
_GONE = "the executor can compute no more ({})."


@final
class Elsewhere:
    """An executor that is not ours.

    Args:
        executor: Where to compute.
        room: How many tasks it computes at a time.
    """

    grace = 0.0
    """How long to wait for what is asked to stop [s]."""

    def __init__(self, executor: Executor, room: int) -> None:
        self._executor, self.room = executor, AHEAD * room
        self._futures: set[Future[bytes]] = set()

    def submit(self, tasks: Sequence[object], granted: float | None) -> Future[bytes]:
        """Give it tasks, which know themselves how long they may take.

        Raises:
            PicklingError: They cannot be sent; so do AttributeError, TypeError.
            InputError: The executor has gone.
        """
        data = packed(tasks)
        try:
            future = self._executor.submit(_work, data, tuple(loaded_files()))
        except (BrokenExecutor, RuntimeError, OSError) as error:
            raise InputError(_GONE.format(error_text(error))) from error
        self._futures.add(future)
        return future

    def done(self) -> float:
        """Return how many of the tasks under way are done: nobody knows."""
        return 0.0

    def delivered(self, future: Future[bytes]) -> Delivery:
        """Return what came of tasks.

        Raises:
            InputError: It was not they that were lost, but the executor.
        """
        self._futures.discard(future)
        try:
            return Delivery(*pickle.loads(future.result()))
        except (BrokenExecutor, CancelledError, OSError) as error:
            raise InputError(_GONE.format(error_text(error))) from error
        except Exception:  # such as of a cluster whose workers died of it, one after the other
            return Delivery(lost=Lost("the process that ran it died.", died=True))

    def stop(self) -> None:
        """Take back what has not begun."""
        for future in self._futures:
            future.cancel()

    end = stop


def _work(data: bytes, files: Sequence[tuple[str, str]]) -> bytes:
    reload_files(files)  # users' files, without which the tasks cannot be read
    return computed(unpacked(data))
