"""Does another process compute the same numbers? What decides them there must be as here: versions,
our source and catalogue, and the user's files that scenarios name.
"""

from __future__ import annotations

import functools
import hashlib
import os
import platform
import socket
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_info

from ukctrl.core.cache_folder import source_hash
from ukctrl.core.entry_points import part_distributions
from ukctrl.core.errors import UkctrlError
from ukctrl.core.files import catalog
from ukctrl.core.files.table_paths import table_leaves
from ukctrl.core.files.toml import read_toml
from ukctrl.simulation.provenance import software_versions, versions_of
from ukctrl.simulation.scenario import Scenario

NUMERICAL_PACKAGES = ("llvmlite", "libpinocchio", "coal", "sympy", "daqp", "control")
"""Packages that have a part in the last digit of a number, beside those that a result names."""
RESUME_ADVICE = "go on by the same command (sweep, tune: with --resume)"
"""What the user is to do once what is wrong with a cluster is right."""
HASH_DIGITS = 12
"""Digits of a hash that a person is shown."""
DIGEST_DIGITS = 16
"""Digits of a digest that are kept."""
DIGEST_CACHE_SIZE = 4096
"""So many files are not read again while they stay as they are."""


@functools.cache
def environment_fingerprint() -> dict[str, str]:
    """Return what decides the numbers of this process: versions, our source, the catalogue."""
    versions = {**software_versions()["versions"], **versions_of(NUMERICAL_PACKAGES)}
    return {
        **versions,
        **part_distributions(),
        "source": source_hash()[:HASH_DIGITS],
        "catalogue": _catalogue_hash()[:HASH_DIGITS],
    }


def _catalogue_hash() -> str:
    digest = hashlib.sha256()
    for kind in ("robots", "controllers"):
        for path in sorted((catalog.root() / kind).rglob("*.*")):
            if path.is_file() and "__pycache__" not in path.parts:
                digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def processor_kind() -> str:
    """Return the kind of this processor, to which BLAS fits itself, as numbers show in their last
    digits.
    """
    kinds = {str(library.get("architecture", "")) for library in threadpool_info()}
    return " ".join([platform.machine(), *sorted(kinds - {""})])


def fingerprint_mismatch(
    where: str, fingerprint: Mapping[str, str], reference: Mapping[str, str]
) -> str:
    """Return why another process may not compute; nothing where it gives the same numbers.

    Args:
        where: How it is called.
        fingerprint: Its origin.
        reference: The origin of whoever wants to have computed.
    """
    wrong = [
        f"{name} {fingerprint.get(name, 'unknown')} instead of {ours}"
        for name, ours in reference.items()
        if fingerprint.get(name) != ours
    ]
    if not wrong:
        return ""
    return (
        f"{where} must compute as it is done here, for the same numbers; it has "
        f"{', '.join(wrong)}. Install there what is here, or end it, and {RESUME_ADVICE}."
    )


def worker_name() -> str:
    """Return how a worker is called: by its address, where it is one of a Dask cluster's."""
    distributed: Any = sys.modules.get("distributed")
    try:
        return f"the Dask worker at '{distributed.get_worker().address}'"
    except (AttributeError, ValueError):
        return f"process {os.getpid()} of '{socket.gethostname()}'"


def input_file_digests(scenarios: Iterable[Scenario]) -> dict[str, str]:
    """Return the user's own files that scenarios name, each with a digest of what it holds."""
    digests: dict[str, str] = {}
    for scenario in scenarios:
        digests |= without_catalogue(scenario_file_digests(scenario.to_table()))
    return digests


def scenario_file_digests(table: Mapping[str, Any]) -> dict[str, str]:
    """Return the files that a scenario's table names, each with a digest of what it holds.

    These are robots with their models, laws and other code of the user's, tables of numbers. What
    a file of code imports, and the meshes of a model, are not among them.
    """
    digests: dict[str, str] = {}
    for text in _strings(table):
        _add_digest(digests, Path(text.rpartition(":")[0] if ".py:" in text else text))
    for robot in _robots(table):
        try:
            path = catalog.find("robots", robot)
            named = _strings(read_toml(path)) if path.suffix == ".toml" else []
        except UkctrlError:
            continue  # whoever loads it says what is wrong
        _add_digest(digests, path)
        for text in named:
            _add_digest(
                digests, path.parent / (text.rpartition(":")[0] if ".py:" in text else text)
            )
    return dict(sorted(digests.items()))


def without_catalogue(files: Mapping[str, str]) -> dict[str, str]:
    """Return files without those of the catalogue."""
    named, ours = {Path(path): digest for path, digest in files.items()}, catalog.root()
    return {
        str(path): digest
        for path, digest in named.items()
        if path.is_absolute() and not path.is_relative_to(ours)
    }


def changed_file(files: Mapping[str, str]) -> str:
    """Return a file of the user's that is missing here, or another than it was; nothing where none.

    Args:
        files: What `scenario_file_digests` said where it was right, perhaps on another machine.
    """
    for path, digest in files.items():
        digests: dict[str, str] = {}
        _add_digest(digests, Path(path))
        if digests.get(path) != digest:
            return path
    return ""


def _robots(table: Mapping[str, Any]) -> Iterator[str]:
    """Yield the robots of a scenario, the true one and the believed one, as they are named."""
    for holder in (table, table.get("believed") or {}):
        robot = holder.get("robot")
        name = robot.get("use") if isinstance(robot, Mapping) else robot
        if isinstance(name, str):
            yield name


def _strings(table: object) -> list[str]:
    return [value for _, value in table_leaves(table) if isinstance(value, str)]


def _add_digest(digests: dict[str, str], path: Path) -> None:
    try:
        if path.suffix and path.is_file():
            stat = path.stat()
            digests[str(path)] = _digest(path, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_size)
    except (OSError, ValueError):  # a text that is no path, such as a formula
        return


@functools.lru_cache(DIGEST_CACHE_SIZE)
def _digest(path: Path, *_as_it_is: int) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()[:DIGEST_DIGITS]
