"""A Dask cluster as the place where tasks run: who may compute there, and what becomes of it."""

from __future__ import annotations

import contextlib
import logging
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Executor, Future, InvalidStateError
from typing import Any, NamedTuple, cast, final

from ukctrl.core.errors import InputError, MachineFailure, UkctrlError
from ukctrl.studies.batch.environment_fingerprint import (
    RESUME_ADVICE,
    environment_fingerprint,
    fingerprint_mismatch,
    processor_kind,
)

CONNECT_TIMEOUT = 10.0
"""How long the scheduler may take to answer [s]."""
WORKER_TIMEOUT = 60.0
"""How long a cluster may be without workers [s]."""
MAX_GREETING_BYTES = 1_000_000
"""A scheduler's greeting is shorter than this [bytes]."""
POLL_SECONDS = 1.0
"""Interval at which one looks who is there [s]."""
NOTIFY_AFTER_SECONDS = 3.0
"""The user is told of a cluster without workers after this [s]."""


class Cluster(NamedTuple):
    """Where tasks run."""

    executor: Executor
    room: int
    """How many of them at a time."""


@contextlib.contextmanager
def cluster(
    address: str,
    *,
    timeout: float = CONNECT_TIMEOUT,
    patience: float = WORKER_TIMEOUT,
    tell: Callable[[str], None] = lambda _: None,
) -> Iterator[Cluster]:
    """Connect to the scheduler of a Dask cluster.

    Whoever waits for what is computed there meets a `MachineFailure` where the scheduler is gone or
    no worker was there for too long, and an `InputError` where a worker computes other numbers.

    Args:
        address: Such as ``tcp://192.168.0.7:8786``.
        timeout: How long the scheduler may take to answer [s].
        patience: How long there may be no workers, at the start as later [s].
        tell: Called with a line for the user, such as that there are no workers.

    Raises:
        InputError: The extra is not installed, nobody answers, or workers have other versions.
        MachineFailure: There are no workers.
    """
    try:
        import distributed
    except ImportError:
        raise InputError(
            "a cluster needs Dask, which is not installed; install it with "
            "pip install 'ukctrl[cluster]'."
        ) from None
    for name in ("distributed", "tornado", "asyncio", *logging.root.manager.loggerDict):
        if name.partition(".")[0] in ("distributed", "tornado", "asyncio"):
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)  # we say what is wrong
    try:
        _probe_scheduler(address, timeout)
        connect = cast("Any", distributed.Client)
        client = connect(address, timeout=timeout, set_as_default=False)
    except (OSError, ValueError, TypeError, ImportError, RuntimeError) as error:
        raise InputError(
            f"no Dask scheduler answers at '{address}' within {timeout:g} s "
            f"({' '.join(str(error).split()) or type(error).__name__}). Start one with "
            "'dask scheduler' and give the address that it prints."
        ) from None
    with client:
        watched = _MonitoredExecutor(client, address, patience, tell)
        try:
            yield Cluster(watched, watched.begin())
        finally:
            watched.end()


def _probe_scheduler(address: str, timeout: float) -> None:
    """Look whether a scheduler is there: a client that waits in vain does so for ever.

    A scheduler speaks first, and says how long its greeting is in eight bytes.

    Raises:
        OSError: Nobody is there; ValueError: it is no address, or somebody else is there.
    """
    from distributed import Security
    from distributed.comm.addressing import get_address_host_port, parse_address

    scheme, _ = parse_address(address)
    if scheme not in ("tcp", "tls"):
        raise ValueError("the address must begin with tcp:// or tls://")
    host, security = cast("Any", get_address_host_port)(address), cast("Any", Security)()
    context = security.get_connection_args("client")["ssl_context"] if scheme == "tls" else None
    if scheme == "tls" and context is None:
        raise ValueError("the certificates for TLS must be named in Dask's configuration")
    with (
        socket.create_connection(host, timeout) as plain,
        context.wrap_socket(plain) if context else plain as door,
    ):
        if not 0 < int.from_bytes(door.recv(8), "little") < MAX_GREETING_BYTES:
            raise ValueError("who answers there is no Dask scheduler")


@final
class _MonitoredExecutor(Executor):
    """The executor of a cluster, and a thread that sees which workers come and go.

    Args:
        client: Connected to the scheduler.
        address: Of the scheduler.
        patience: How long there may be no workers [s].
        tell: Called with a line for the user.
    """

    def __init__(
        self, client: Any, address: str, patience: float, tell: Callable[[str], None]
    ) -> None:
        self._client, self._executor = client, client.get_executor(pure=False)
        self._address, self._worker_timeout, self._notify = address, patience, tell
        self._open: set[Future[Any]] = set()
        self._unconfirmed_errors: list[tuple[Future[Any], BaseException]] = []
        self._checked: set[str] = set()
        self._processors = {processor_kind()}
        self._fault: UkctrlError | None = None
        self._last_seen, self._user_notified = time.monotonic(), False
        self._ended = threading.Event()

    def begin(self) -> int:
        """Wait for the first worker and begin to watch; return how many tasks have room.

        Raises:
            InputError: A worker computes other numbers.
            MachineFailure: There is none.
        """
        while not (threads := self._poll_workers()):
            time.sleep(POLL_SECONDS)
        threading.Thread(target=self._watch, daemon=True).start()
        return sum(threads.values())

    def end(self) -> None:
        """Watch no more."""
        self._ended.set()

    def submit(self, function: Callable[..., Any], /, *args: Any, **named: Any) -> Future[Any]:
        """Have something computed.

        Raises:
            UkctrlError: The cluster can compute no more.
        """
        ours: Future[Any] = Future()
        if self._fault is not None:
            raise self._fault
        try:
            theirs = self._executor.submit(function, *args, **named)
        except Exception as error:
            raise self._scheduler_lost() from error
        self._open.add(ours)
        ours.add_done_callback(self._open.discard)
        ours.add_done_callback(lambda _: theirs.cancel())
        theirs.add_done_callback(lambda _: self._copy_result(theirs, ours))
        return ours

    def _copy_result(self, theirs: Future[Any], ours: Future[Any]) -> None:
        from distributed.scheduler import KilledWorker

        with contextlib.suppress(InvalidStateError):  # it was cancelled, or failed meanwhile
            if theirs.cancelled():  # as is all that an ended scheduler had
                ours.set_exception(self._scheduler_lost())
            elif (error := theirs.exception()) is None:
                ours.set_result(theirs.result())
            elif isinstance(error, KilledWorker):
                last = error.last_worker.address
                ours.set_exception(RuntimeError(f"workers died, the last of them at '{last}'"))
            else:  # it could not be read there, perhaps
                self._unconfirmed_errors.append((ours, error))

    def _watch(self) -> None:
        while not self._ended.wait(POLL_SECONDS):
            try:
                self._poll_workers()
            except Exception as error:
                self._fault = error if isinstance(error, UkctrlError) else self._scheduler_lost()
                for future in list(self._open):
                    with contextlib.suppress(InvalidStateError):
                        future.set_exception(self._fault)
                return

    def _poll_workers(self) -> Mapping[str, int]:
        """Return the threads of each worker, once all have been checked."""
        threads = self._threads()
        if threads:
            self._last_seen, self._user_notified = time.monotonic(), False
        missing = time.monotonic() - self._last_seen
        if missing > NOTIFY_AFTER_SECONDS:
            fault = f"the Dask scheduler at '{self._address}' " + (
                "does not answer" if threads is None else "has no workers"
            )
            advice = "" if threads is None else f" Start some with 'dask worker {self._address}'."
            if not self._user_notified:
                self._user_notified = True
                self._notify(f"{fault}; waiting, {self._worker_timeout:g} s at most.{advice}")
            if missing > self._worker_timeout:
                raise MachineFailure(
                    f"{fault} for {self._worker_timeout:g} s.{advice} What is recorded is kept; "
                    f"{RESUME_ADVICE}."
                )
        doubtful, self._unconfirmed_errors = self._unconfirmed_errors, []
        if new := [worker for worker in threads or () if worker not in self._checked]:
            self._check(self._client.run(_worker_fingerprint, workers=new, on_error="return"))
        for future, error in doubtful:
            with contextlib.suppress(InvalidStateError):
                future.set_exception(error)
        return threads or {}

    def _threads(self) -> Mapping[str, int] | None:
        """Return the threads of each worker; None where the scheduler is silent."""
        if self._client.status != "running":
            raise self._scheduler_lost()
        ask, seconds = self._client.scheduler.ncores, CONNECT_TIMEOUT
        try:
            threads: Mapping[str, int] = self._client.sync(ask, callback_timeout=seconds)
        except TimeoutError:
            return None
        return threads

    def _check(self, introductions: Mapping[str, object]) -> None:
        """Refuse workers that compute other numbers.

        Raises:
            InputError: There is one.
        """
        for worker, introduction in introductions.items():
            where = f"the Dask worker at '{worker}'"
            if isinstance(introduction, OSError):  # it has gone again
                continue
            if not isinstance(introduction, tuple):
                message = " ".join(str(introduction).split())
                raise InputError(
                    f"{where} cannot import what is sent to it ({message}). Install there what is "
                    f"here, or end it, and {RESUME_ADVICE}."
                )
            origin, kind = introduction
            if fault := fingerprint_mismatch(where, origin, environment_fingerprint()):
                raise InputError(fault)
            self._checked.add(worker)
            if kind not in self._processors:
                self._processors.add(kind)
                self._notify(
                    f"{where} has another kind of processor ({kind} instead of "
                    f"{processor_kind()}): its numbers may differ in their last digits."
                )

    def _scheduler_lost(self) -> MachineFailure:
        return MachineFailure(
            f"the Dask scheduler at '{self._address}' answers no more. What is recorded is kept; "
            f"start it again, and {RESUME_ADVICE}."
        )


def _worker_fingerprint() -> tuple[dict[str, str], str]:
    return environment_fingerprint(), processor_kind()
