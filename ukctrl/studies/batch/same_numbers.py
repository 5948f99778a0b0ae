"""Does another process compute the same numbers? What decides them there must be as here."""

from __future__ import annotations

import functools
import hashlib
import os
import platform
import socket
import sys
from collections.abc import Mapping
from typing import Any

from threadpoolctl import threadpool_info

from ukctrl.core.cache_folder import source_hash
from ukctrl.core.files import catalog
from ukctrl.simulation.loop.provenance import origin, versions_of

DECISIVE = ("llvmlite", "libpinocchio", "coal", "sympy", "daqp", "control")
"""Packages that have a part in the last digit of a number, beside those that a result names."""
GO_ON = "go on by the same command (sweep, tune: with --resume)"
"""What the user is to do once what is wrong with a cluster is right."""
DIGITS = 12
"""Digits of a hash that a person is shown."""


@functools.cache
def origin_here() -> dict[str, str]:
    """Return what decides the numbers of this process: versions, our source, the catalogue."""
    versions = {**origin()["versions"], **versions_of(DECISIVE)}
    return {**versions, "source": source_hash()[:DIGITS], "catalogue": _catalogue()[:DIGITS]}


def _catalogue() -> str:
    digest = hashlib.sha256()
    for kind in ("robots", "controllers"):
        for path in sorted((catalog.root() / kind).rglob("*.*")):
            if path.is_file() and "__pycache__" not in path.parts:
                digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def processor() -> str:
    """Return the kind of this processor, to which BLAS fits itself, as numbers show in their last
    digits.
    """
    kinds = {str(library.get("architecture", "")) for library in threadpool_info()}
    return " ".join([platform.machine(), *sorted(kinds - {""})])


def refusal(where: str, there: Mapping[str, str], here: Mapping[str, str]) -> str:
    """Return why another process may not compute; nothing where it gives the same numbers.

    Args:
        where: How it is called.
        there: Its origin.
        here: The origin of whoever wants to have computed.
    """
    wrong = [
        f"{name} {there.get(name, 'unknown')} instead of {ours}"
        for name, ours in here.items()
        if there.get(name) != ours
    ]
    if not wrong:
        return ""
    return (
        f"{where} must compute as it is done here, for the same numbers; it has "
        f"{', '.join(wrong)}. Install there what is here, or end it, and {GO_ON}."
    )


def this_process() -> str:
    """Return how a worker is called: by its address, where it is one of a Dask cluster's."""
    distributed: Any = sys.modules.get("distributed")
    try:
        return f"the Dask worker at '{distributed.get_worker().address}'"
    except (AttributeError, ValueError):
        return f"process {os.getpid()} of '{socket.gethostname()}'"
