"""Formulas that were derived before, kept on disk beside the machine code.

sympy takes as long to import as the rest of a short command takes. The lines of a kept formula are
read as those of a new one are, never executed.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import os
import tempfile
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

from ukctrl.core.compiled import cache_folder, config, source_hash
from ukctrl.core.expression.formula import Formula

MOST = 1000
"""Where so many are kept, all make room for a new one."""


def kept(of: object, derive: Callable[[], Formula]) -> Formula:
    """Return a formula that this or an earlier process has derived, else derive and keep it.

    Args:
        of: What it follows from, told in full by its ``repr``.
        derive: Derives it; what it raises is not kept.
    """
    name = hashlib.sha256(f"{_deriving()} {of!r}".encode()).hexdigest()
    path = cache_folder(str(config.CACHE_DIR)) / "formulas" / f"{name}.json"
    with contextlib.suppress(OSError, ValueError):
        return Formula(**json.loads(path.read_bytes()))
    formula = derive()
    with contextlib.suppress(OSError):  # a disk that takes nothing: it is derived anew each time
        _keep(path, formula)
    return formula


@functools.cache
def _deriving() -> str:
    """Return what a derivation depends on beside what it derives from."""
    return f"{version('sympy')} {source_hash()}"


def _keep(path: Path, formula: Formula) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    others = list(os.scandir(path.parent))
    for other in others if len(others) >= MOST else ():
        os.unlink(other)
    told = {
        "parameters": formula.parameters,
        "lines": formula.lines,
        "label": formula.label,
        "time": formula.time,
    }
    handle, unfinished = tempfile.mkstemp(dir=path.parent)
    with open(handle, "w", encoding="utf-8") as file:
        json.dump(told, file)
    os.replace(unfinished, path)
