"""A Dask cluster as the place where samples run."""

from __future__ import annotations

import contextlib
import logging
import socket
from collections.abc import Iterator
from concurrent.futures import Executor
from typing import Any, NamedTuple

from ukctrl.core.errors import InputError
from ukctrl.simulation.loop.provenance import origin

ANSWER_SECONDS = 10.0
"""How long the scheduler, and the first worker, may take to answer [s]."""


class Cluster(NamedTuple):
    """Where samples run."""

    executor: Executor
    room: int
    """How many of them at a time."""


@contextlib.contextmanager
def cluster(address: str, *, timeout: float = ANSWER_SECONDS) -> Iterator[Cluster]:
    """Connect to the scheduler of a Dask cluster.

    Args:
        address: Such as ``tcp://192.168.0.7:8786``.
        timeout: How long it may take to answer [s].

    Raises:
        InputError: The extra is not installed, nobody answers, there are no workers, or these have
            other versions, whose numbers may differ.
    """
    try:
        import distributed
    except ImportError:
        raise InputError(
            "a cluster needs Dask, which is not installed; install it with "
            "pip install 'ukctrl[cluster]'."
        ) from None
    logging.getLogger("distributed").setLevel(logging.CRITICAL)  # we say ourselves what is wrong
    try:
        _knock(address, timeout)
        connect: Any = distributed.Client
        client = connect(address, timeout=timeout, set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        raise InputError(
            f"no Dask scheduler answers at '{address}' within {timeout:g} s "
            f"({' '.join(str(error).split()) or type(error).__name__}). Start one with "
            "'dask scheduler' and give the address that it prints."
        ) from None
    with client:
        with contextlib.suppress(Exception):  # what is wrong shows next
            client.wait_for_workers(1, timeout=timeout)
        room = sum(client.ncores().values())
        if not room:
            raise InputError(
                f"the Dask cluster at '{address}' has no workers; start some with "
                f"'dask worker {address}'."
            )
        _check_versions(client.run(_versions, on_error="return"))
        yield Cluster(client.get_executor(pure=False), room)


def _knock(address: str, timeout: float) -> None:
    """Look whether anybody is there: a client that waits in vain complains long after.

    Raises:
        OSError: Nobody is; ValueError: it is no address.
    """
    from distributed.comm.addressing import get_address_host_port, parse_address

    if parse_address(address)[0] in ("tcp", "tls"):
        host: Any = get_address_host_port
        with socket.create_connection(host(address), timeout):
            pass


def _versions() -> dict[str, str]:
    versions: dict[str, str] = origin()["versions"]
    return versions


def _check_versions(workers: dict[str, object]) -> None:
    ours = _versions()
    for worker, theirs in workers.items():
        if not isinstance(theirs, dict):
            raise InputError(f"the Dask worker at '{worker}' cannot import ukctrl: {theirs}.")
        for name, version in ours.items():
            if theirs.get(name) != version:
                raise InputError(
                    f"the Dask worker at '{worker}' must have the same versions as here; it has "
                    f"{name} {theirs.get(name)} instead of {version}."
                )
