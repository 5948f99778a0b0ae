"""Does another process compute the same numbers? What decides them there must be as here: versions,
our source and catalogue, and the user's files that scenarios name.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import platform
import socket
import sys
from collections.abc import Iterable, Mapping
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
    paths = [Path(name) for name in _file_names(table)]
    for holder in (table, table.get("believed") or {}):  # the true robot and the believed one
        robot = holder.get("robot")
        name = robot.get("use") if isinstance(robot, Mapping) else robot
        with contextlib.suppress(UkctrlError):  # whoever loads it says what is wrong
            path = catalog.find("robots", name) if isinstance(name, str) else None
            if path is not None:
                named = _file_names(read_toml(path)) if path.suffix == ".toml" else []
                paths += [path, *(path.parent / name for name in named)]
    return dict(sorted(_digests(paths).items()))


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
    current = _digests(map(Path, files))
    return next((path for path, digest in files.items() if current.get(path) != digest), "")


def _file_names(table: object) -> list[str]:
    """Return the texts of a table, each of which may be a file's name, or a class in one."""
    texts = [value for _, value in table_leaves(table) if isinstance(value, str)]
    return [text.rpartition(":")[0] if ".py:" in text else text for text in texts]


def _digests(paths: Iterable[Path]) -> dict[str, str]:
    """Return the digests of those that are files; a name without a suffix is taken for none."""
    digests: dict[str, str] = {}
    for path in paths:
        with contextlib.suppress(OSError, ValueError):  # a text that is no path, as a formula
            if path.suffix and path.is_file():
                stat = path.stat()
                digests[str(path)] = _digest(path, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_size)
    return digests


@functools.lru_cache(DIGEST_CACHE_SIZE)
def _digest(path: Path, *_as_it_is: int) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()[:DIGEST_DIGITS]
