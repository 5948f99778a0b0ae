"""How functions are compiled for the loop, and where the machine code is kept.

Numba's cache notices when a function's own file changes, but not when a function that it calls
from another file does: the old and the new code then meet in one process, and crash. So the
machine code of all of ukctrl's compiled functions lies in one folder that is named after the
contents of all their files. Changed or upgraded sources get a new folder.
"""

from __future__ import annotations

import contextlib
import functools
import getpass
import hashlib
import os
import stat
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar, ParamSpec, TypeVar

import numpy as np

from ukctrl.core.own_processes import out_of_the_folder, tells_of_its_work
from ukctrl.core.turns import Turns

with out_of_the_folder(".numba_config.yaml"):
    import numba
    from numba.core import caching, runtime

    from ukctrl.core.kernel import Kernel

P = ParamSpec("P")
T = TypeVar("T")

config: Any = numba.config  # its settings come from the environment, unseen by type checkers
config._config_fname = os.devnull  # or it would look there again whenever it compiles
NumbaCache: Any = vars(caching)["FunctionCache"]
RUNTIME: Any = vars(runtime)["rtsys"]
PACKAGE = Path(__file__).resolve().parents[1]
OPTIONS: Any = {"nopython": True, "boundscheck": None, "error_model": "numpy"}
"""How Numba compiles: no Python, no check of indices, and what is no number is no error."""
NOTICED_SECONDS = 0.5
"""For so long a command compiles and says nothing [s]."""
_CHANGING = threading.RLock()
"""Held while Numba's own settings are others."""


def compiled(function: Callable[P, T]) -> Callable[P, T]:
    """Compile for the loop: cached on disk, with IEEE arithmetic, so that runs repeat exactly.

    Other threads go on meanwhile. The function asks for no memory and returns no array, so that
    none of its arrays has to be counted: that would take longer than short loops do. With
    ``NUMBA_DISABLE_JIT=1`` it stays Python's, and as quiet as machine code where a result is no
    finite number.
    """
    return _njit(function, _nrt=False)


def inlined(function: Callable[P, T]) -> Callable[P, T]:
    """Compile as `compiled` does a short function, into whatever calls it.

    Its tuples stay in registers then, where a call would write and read them.
    """
    return _njit(function, _nrt=False, forceinline=True)


def allocating(function: Callable[P, T]) -> Callable[P, T]:
    """Compile as `compiled` does a function that asks for memory, or returns arrays."""
    return _njit(function, _nrt=True)


def for_python(function: Callable[P, T]) -> Callable[P, T]:
    """Compile as `compiled` does a function that Python calls often, and no kernel.

    It calls other kernels through a second function, which takes 0.1 µs.
    """
    return _njit(function, True, _nrt=False)


def _njit(function: Callable[P, T], for_python: bool = False, **options: bool) -> Callable[P, T]:
    if config.DISABLE_JIT:
        return np.errstate(all="ignore")(function)
    kernel: Any = Kernel(function, {**OPTIONS, "nogil": True, **options}, kept, for_python)
    return kernel  # type: ignore[no-any-return]


def kept(function: Callable[..., Any]) -> Any:
    """Return what keeps the machine code of a function on disk, in our folder."""
    with _CHANGING:
        before = config.CACHE_DIR
        config.CACHE_DIR = str(cache_folder(before))
        try:
            return _OnDisk(function)
        finally:
            config.CACHE_DIR = before


class _OnDisk(NumbaCache):  # type: ignore[misc]  # checkers know nothing of it
    """Machine code on a disk; what no disk takes or gives is made anew, not an error.

    Of processes that want the same, one makes it. Else each would make all, and what one has made
    would not fit what another has; and of two signatures that are kept at once, Numba may find one
    where the other is asked for.
    """

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return machine code, or None where there is none.

        Numba would first import all that compiling needs, which takes longer than to load all of
        ours; where it does compile, it imports that still.
        """
        RUNTIME.initialize(target_context)
        made = self._loaded(sig, target_context)
        if made is None:
            name, turns = self._impl.filename_base, _turns(self._cache_path)
            if turns.take(name, _Compiling.tell):  # another process may have had its turn
                made = self._loaded(sig, target_context)
        if made is None:
            _Compiling.tell()
        return made

    def leave(self) -> None:
        """Let other processes load what was made, or make what could not be."""
        _turns(self._cache_path).leave(self._impl.filename_base)

    def _loaded(self, sig: Any, target_context: Any) -> Any:
        with self._guard_against_spurious_io_errors():
            return self._load_overload(sig, target_context)

    def _guard_against_spurious_io_errors(self) -> Any:
        return contextlib.suppress(OSError)


@functools.cache
def _turns(folder: str) -> Turns:
    return Turns(Path(folder) / "turns")


class _Compiling:
    """What a command says, once, when it compiles for longer than one would notice."""

    began: ClassVar[float | None] = None
    is_told: ClassVar[bool] = False

    @classmethod
    def tell(cls) -> None:
        """Note that something is compiled; say so unless that is said, or all that there is."""
        now = time.perf_counter()
        cls.began = cls.began or now
        late = now - cls.began > NOTICED_SECONDS
        if late and tells_of_its_work() and not cls.is_told and sys.stderr is not None:
            cls.is_told = True
            print("ukctrl: compiling, once on this machine ...", file=sys.stderr, flush=True)


@functools.cache
def cache_folder(chosen: str) -> Path:
    """Return the folder for machine code: inside ``chosen`` (``NUMBA_CACHE_DIR``) when the user
    gave one, else beside the sources, else in the user's cache.
    """
    name = f"ukctrl-{source_hash(b'core.compiled')[:16]}"
    if chosen:
        return Path(chosen) / name
    for parent in (PACKAGE / "__pycache__", Path.home() / ".cache" / "ukctrl"):
        try:
            parent.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=parent):
                return parent / name
        except OSError:
            continue
    return _private(Path(tempfile.gettempdir()) / f"ukctrl-{getpass.getuser()}") / name


def _private(folder: Path) -> Path:
    """Return the folder if nobody else can have put anything into it, else a new one.

    What is read from it runs, and where all users may write its name could be taken.
    """
    with contextlib.suppress(OSError):
        folder.mkdir(mode=0o700, exist_ok=True)
        state = folder.lstat()
        ours = not hasattr(os, "getuid") or state.st_uid == os.getuid()
        if stat.S_ISDIR(state.st_mode) and ours and not state.st_mode & 0o077:
            return folder
    return Path(tempfile.mkdtemp(prefix="ukctrl-"))


def source_hash(marker: bytes = b"") -> str:
    """Return a digest of the contents of all our files, or of those that have a marker."""
    digest = hashlib.sha256()
    for source in _sources():
        if marker in source:
            digest.update(source)
    return digest.hexdigest()


@functools.cache
def _sources() -> tuple[bytes, ...]:
    return tuple(path.read_bytes() for path in sorted(PACKAGE.rglob("*.py")))
