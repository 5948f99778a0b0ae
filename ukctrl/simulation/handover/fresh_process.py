"""What the files of a folder make in a process of its own, which has read nothing else."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from importlib.metadata import requires
from pathlib import Path
from typing import NamedTuple

from ukctrl.core.algebra.threads import one_blas_thread
from ukctrl.core.errors import InputError
from ukctrl.core.own_processes import module_path, safe_path
from ukctrl.simulation.handover.runtime import Replay, Runtime, replay

MODULES = {"pin": "pinocchio"}
"""What packages are imported as that have another name themselves."""


class Fresh(NamedTuple):
    """A controller as a process of its own has made it."""

    replay: Replay
    """It beside the run."""
    packages: tuple[str, ...]
    """The packages that it took."""


def replay_afresh(folder: Path, *, pinocchio: bool, trust: bool) -> Fresh:
    """Let another process read a folder and replay its run.

    Args:
        folder: The folder.
        pinocchio: Whether that process may import Pinocchio.
        trust: Whether Python code that the files name may run.

    Raises:
        InputError: It could not.
    """
    asked = json.dumps([str(folder.resolve()), pinocchio, trust])
    with safe_path():
        done = subprocess.run(
            [sys.executable, "-m", __name__, asked],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "PYTHONPATH": module_path()},
        )
    said = (done.stderr if done.returncode else done.stdout).strip().splitlines() or [""]
    if done.returncode:
        raise InputError(f"'{folder}' cannot be read by a process of its own: {said[-1]}")
    found, packages = json.loads(said[-1])
    return Fresh(Replay(*found), tuple(packages))


def _main(asked: str) -> None:
    folder, pinocchio, trust = json.loads(asked)
    if not pinocchio:
        sys.modules["pinocchio"] = None  # type: ignore[assignment]  # to import it is an error
    with one_blas_thread():
        found = replay(Runtime.load(folder, trust=trust), Path(folder) / "motion.csv")
    print(json.dumps([found, [name for name in _declared() if _is_loaded(name)]]))


def _declared() -> list[str]:
    """Return the packages that ukctrl may take."""
    every = (need for need in requires("ukctrl") or () if "extra ==" not in need)
    return ["ukctrl", *(re.split(r"[^\w.-]", need)[0] for need in every)]


def _is_loaded(package: str) -> bool:
    return sys.modules.get(MODULES.get(package, package.replace("-", "_"))) is not None


if __name__ == "__main__":
    _main(sys.argv[1])
