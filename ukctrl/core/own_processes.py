"""Our processes: where those that we start find modules, how much memory one may use, how quickly
it begins and ends, and which errors are its machine's.
"""

from __future__ import annotations

import contextlib
import errno
import gc
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from ukctrl.core.errors import MachineFailure

EXHAUSTED = (errno.ENOMEM, errno.ENOSPC, errno.EDQUOT, errno.EMFILE, errno.ENFILE, errno.EAGAIN)
"""What the system answers that has no more memory, disk, files or processes to give."""
VARIABLE = "PYTHONSAFEPATH"
"""Tells Python to leave the working folder, and that of the script, out of `sys.path`."""


@contextlib.contextmanager
def safe_path() -> Iterator[None]:
    """Let the processes that are started meanwhile import nothing from their working folder.

    A process that runs a text or a module looks there first: a `json.py` beside a scenario would
    run in its place. The variable is inherited, so that what they start is as safe.
    """
    before = os.environ.get(VARIABLE)
    os.environ[VARIABLE] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ[VARIABLE]
        else:
            os.environ[VARIABLE] = before


@contextlib.contextmanager
def out_of_the_folder(*settings: str) -> Iterator[None]:
    """Import meanwhile what takes settings from files of these names in the working folder.

    Whoever sends a scenario could send them along. The folder is left only where there is one.
    """
    if not any(map(os.path.lexists, settings)):
        yield
        return
    here = Path.cwd()
    os.chdir(Path(__file__).parent)
    try:
        yield
    finally:
        os.chdir(here)


def module_path() -> str:
    """Return where this process finds modules, as ``PYTHONPATH``, without its working folder.

    That folder stays only where ukctrl itself lies in it: then it is no stranger's.
    """
    home, here = Path(__file__).resolve().parents[2], Path.cwd().resolve()
    places = [Path(place).resolve() for place in sys.path if place]
    return os.pathsep.join(str(place) for place in places if place != here or place == home)


def collect_seldom() -> None:
    """Have Python look for circles of garbage seldom in this process.

    Each look goes through all that was loaded, so that they made a tenth of what starting takes.
    """
    gc.set_threshold(400_000, 20, 100)


class _Process:
    is_command = False
    is_quiet = False


def begin_command() -> None:
    """Begin a command, whose process is ours alone, without what only others could want.

    Linear algebra that is loaded from now on starts no threads, unless the user chose so: our
    matrices are small, and threads that wait for work took a tenth of a short command.
    """
    _Process.is_command = True
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def is_command() -> bool:
    """Tell whether this process runs a command, and nobody asks its libraries for help."""
    return _Process.is_command


def be_quiet() -> None:
    """Have this process tell nothing of its work, as ``--quiet`` asks: only errors."""
    _Process.is_quiet = True


def tells_of_its_work() -> bool:
    """Tell whether this process runs a command whose user has not asked it to be quiet."""
    return _Process.is_command and not _Process.is_quiet


def end_command() -> None:
    """Let the end of the process not search all that it holds for circles of garbage.

    The system takes the memory back at once; the search took a seventh of a short command.
    """
    gc.freeze()


def machine_failed(error: BaseException | None) -> bool:
    """Tell whether an error, or one that it comes from, is of the machine: elsewhere, or another
    time, the same work may well be done.
    """
    while error is not None:
        exhausted = isinstance(error, OSError) and error.errno in (*EXHAUSTED, errno.EIO)
        if exhausted or isinstance(error, MemoryError | MachineFailure):
            return True
        error = error.__cause__ or error.__context__
    return False


def memory() -> float:
    """Return how much memory this process may use [bytes]; infinite where nobody tells."""
    limits = [float("inf")]
    names = getattr(os, "sysconf_names", {})  # Windows has none
    if "SC_PHYS_PAGES" in names and "SC_PAGE_SIZE" in names:
        limits.append(float(os.sysconf("SC_PHYS_PAGES")) * os.sysconf("SC_PAGE_SIZE"))
    try:
        import resource  # not on Windows
    except ImportError:
        return min(limits)
    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    if soft != resource.RLIM_INFINITY:
        limits.append(float(soft))
    return min(limits)
