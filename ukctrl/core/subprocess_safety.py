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

EXHAUSTED_ERRNOS = (
    errno.ENOMEM,
    errno.ENOSPC,
    errno.EDQUOT,
    errno.EMFILE,
    errno.ENFILE,
    errno.EAGAIN,
)
"""What the system answers that has no more memory, disk, files or processes to give."""
MACHINE_ERRNOS = (*EXHAUSTED_ERRNOS, errno.EIO, errno.ESTALE)
"""The same, and what it answers where a disk fails, its own or one of another machine."""
SAFE_PATH_VARIABLE = "PYTHONSAFEPATH"
"""Tells Python to leave the working folder, and that of the script, out of `sys.path`."""


@contextlib.contextmanager
def safe_path() -> Iterator[None]:
    """Let the processes that are started meanwhile import nothing from their working folder.

    A process that runs a text or a module looks there first: a `json.py` beside a scenario would
    run in its place. The variable is inherited, so that what they start is as safe.
    """
    old_value = os.environ.get(SAFE_PATH_VARIABLE)
    os.environ[SAFE_PATH_VARIABLE] = "1"
    try:
        yield
    finally:
        if old_value is None:
            del os.environ[SAFE_PATH_VARIABLE]
        else:
            os.environ[SAFE_PATH_VARIABLE] = old_value


@contextlib.contextmanager
def outside_working_folder(*settings: str) -> Iterator[None]:
    """Import meanwhile what takes settings from files of these names in the working folder.

    Whoever sends a scenario could send them along. The folder is left only where there is one.
    """
    # a change of folder is a matter of the whole process: only where there is need
    if not any(map(os.path.lexists, settings)):
        yield
        return
    cwd = Path.cwd()
    os.chdir(Path(__file__).parent)
    try:
        yield
    finally:
        os.chdir(cwd)


def module_path() -> str:
    """Return where this process finds modules, as ``PYTHONPATH``, without its working folder.

    That folder stays only where ukctrl itself lies in it: then it is no stranger's.
    """
    home, cwd = Path(__file__).resolve().parents[2], Path.cwd().resolve()
    # an empty entry is the working folder
    entries = [Path(entry).resolve() for entry in sys.path if entry]
    return os.pathsep.join(str(entry) for entry in entries if entry != cwd or entry == home)


def raise_gc_threshold() -> None:
    """Have Python look for circles of garbage seldom in this process.

    Each look goes through all that was loaded, so that they made a tenth of what starting takes.
    """
    # well above the 150,000 objects that all imports leave: a short command never looks
    gc.set_threshold(400_000, 20, 100)


class _CommandState:
    is_command = False
    is_quiet = False


def begin_command() -> None:
    """Begin a command, whose process is ours alone, without what only others could want.

    Linear algebra that is loaded from now on starts no threads, unless the user chose so: our
    matrices are small, and threads that wait for work took a tenth of a short command.
    """
    _CommandState.is_command = True
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def is_command() -> bool:
    """Tell whether this process runs a command, and nobody asks its libraries for help."""
    return _CommandState.is_command


def set_quiet() -> None:
    """Have this process tell nothing of its work, as ``--quiet`` asks: only errors."""
    _CommandState.is_quiet = True


def reports_progress() -> bool:
    """Tell whether this process runs a command whose user has not asked it to be quiet."""
    return _CommandState.is_command and not _CommandState.is_quiet


def end_command() -> None:
    """Let the end of the process not search all that it holds for circles of garbage.

    The system takes the memory back at once; the search took a seventh of a short command.
    """
    gc.freeze()


def is_machine_failure(error: BaseException | None) -> bool:
    """Tell whether an error, or one that it comes from, is of the machine: elsewhere, or another
    time, the same work may well be done.
    """
    while error is not None:
        is_of_system = isinstance(error, OSError) and error.errno in MACHINE_ERRNOS
        if is_of_system or isinstance(error, MemoryError | MachineFailure):
            return True
        # a library may have wrapped it
        error = error.__cause__ or error.__context__
    return False


def memory_limit() -> float:
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
