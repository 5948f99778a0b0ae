"""Formula cache: formulas that sympy derived before, stored beside the machine code.

sympy takes as long to import as the rest of a short command takes. The lines of a stored formula
are read as those of a new one are, never executed.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import os
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path

from ukctrl.core.cache_folder import (
    readable_folders,
    shipped_file,
    source_hash,
    writable_folder,
    write_atomically,
)
from ukctrl.core.compiled import config
from ukctrl.core.expression.compiled_formula import CompiledFormula

MAX_STORED = 1000
"""Where so many are stored, all make room for a new one."""


def cached_formula(of: object, derive: Callable[[], CompiledFormula]) -> CompiledFormula:
    """Return a formula that this or an earlier process has derived, else derive and store it.

    Args:
        of: What it follows from, told in full by its ``repr``.
        derive: Derives it; what it raises is not stored.
    """
    digest = hashlib.sha256(f"{_derivation_version()} {of!r}".encode()).hexdigest()
    name = f"formulas/{digest}.json"
    for stored in _stored(name):
        with contextlib.suppress(ValueError):
            return CompiledFormula(**json.loads(stored))
    formula = derive()
    folder = writable_folder(str(config.CACHE_DIR))
    if folder is not None:
        with contextlib.suppress(OSError):  # a full disk: it is derived anew each time
            _store(folder / name, formula)
    return formula


@functools.cache
def _derivation_version() -> str:
    """Return what a derivation depends on beside what it derives from."""
    return f"{version('sympy')} {source_hash()}"


def _stored(name: str) -> Iterator[bytes]:
    shipped = shipped_file(name)
    if shipped is not None:
        yield shipped
    for folder in readable_folders(str(config.CACHE_DIR)):
        with contextlib.suppress(OSError):
            yield (folder / name).read_bytes()


def _store(path: Path, formula: CompiledFormula) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    entries = list(os.scandir(path.parent))
    # all of them: which is the oldest would need times of access, which file systems leave out
    for entry in entries if len(entries) >= MAX_STORED else ():
        os.unlink(entry)
    fields = {
        "parameters": formula.parameters,
        "lines": formula.lines,
        "label": formula.label,
        "time": formula.time,
    }
    write_atomically(path, json.dumps(fields).encode())
