"""Machine code store: what compiled functions are read from and written to, named by content.

Numba's own cache goes by the absolute path, time stamp and size of a source file, so that what one
machine has compiled is of no use to another. Here a function's machine code is named after what it
is made of: its module, name and argument types, the processor, Python and Numba, in a folder that
is named after all sources (`ukctrl.core.cache_folder`). A wheel ships such a store, made for a
generic processor, which is searched first and never written to.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import pickle
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import FunctionType
from typing import Any, ClassVar, final

import llvmlite
import numba
from numba import types
from numba.core import compiler, runtime
from numba.core import serialize as numba_serialize

from ukctrl.core import cache_folder
from ukctrl.core.cache_folder import shipped_file, shipped_manifest, write_atomically
from ukctrl.core.jit.compile_lock import FileLocks
from ukctrl.core.subprocess_safety import reports_progress

config: Any = numba.config  # its settings come from the environment, unseen by type checkers
RUNTIME: Any = vars(runtime)["rtsys"]
serialize: Any = numba_serialize
BaseTuple: Any = types.BaseTuple
CompileResult: Any = vars(compiler)["CompileResult"]
PYTHON = sys.implementation.cache_tag
MADE_WITH = f"numba {numba.__version__} llvmlite {llvmlite.__version__} {PYTHON}"
GENERIC = "generic", ""
"""Processor and features that shipped machine code is made for."""
SECONDS_BEFORE_NOTICE = 0.5
"""For so long a command compiles and says nothing [s]."""


@final
class MachineCodeStore:
    """The machine code of one function, by the types of its arguments: what Numba asks as a cache.

    What no disk takes or gives is compiled, and is no error.
    """

    def __init__(self, label: str, content: str) -> None:
        self._label, self._content = label.translate(_PLAIN), f"{MADE_WITH} {content}"
        self._locked: str | None = None

    @staticmethod
    def of(function: FunctionType) -> MachineCodeStore:
        """Return that of a function of Python."""
        label = f"{function.__module__}.{function.__qualname__}"
        return MachineCodeStore(label, source_content(function))

    def load_overload(self, signature: Any, target: Any) -> Any:
        """Return machine code, or None where there is none; this process then has the lock on it.

        Numba would first import all that compiling needs, which takes longer than to load all of
        ours; where it does compile, it imports that still.
        """
        RUNTIME.initialize(target)
        return self.load(signature, target, lambda state: CompileResult._rebuild(target, *state))

    def load(self, signature: Any, target: Any, rebuild: Callable[[Any], Any]) -> Any:
        """Return what is rebuilt of machine code, or None as `load_overload`."""
        arguments = _text_of(signature)
        triple, *processor = target.codegen().magic_tuple()
        # machine code made with another Numba would call what is not there
        if not _shipped_mismatch():
            stored = shipped_file(self._name(arguments, triple, GENERIC))
            if stored is not None and (loaded := _rebuilt(stored, rebuild)) is not None:
                return loaded
        name = self._name(arguments, triple, processor)
        loaded = _loaded(name, rebuild)
        folder = _writable()
        # one process compiles, the others wait for it and load (decision 0156)
        if loaded is None and folder is not None:
            self._locked = name
            if _locks(folder).acquire(
                name, CompileNotice.report
            ):  # another process may have had it
                loaded = _loaded(name, rebuild)
        if loaded is None:
            CompileNotice.functions += 1
            CompileNotice.report()
        return loaded

    def is_stored(self, arguments: Any, target: Any) -> bool:
        """Return whether there is machine code for arguments of such types."""
        triple, *processor = target.codegen().magic_tuple()
        named = self._name(_text_of(arguments), triple, processor)
        folders = cache_folder.readable_folders(str(config.CACHE_DIR))
        if any((folder / named).exists() for folder in folders):
            return True
        generic = self._name(_text_of(arguments), triple, GENERIC)
        return not _shipped_mismatch() and shipped_file(generic) is not None

    def save_overload(self, signature: Any, result: Any) -> None:
        """Store what was compiled."""
        # addresses of this process must not be stored
        if not result.library.has_dynamic_globals:
            self.save(signature, result.target_context, result._reduce)

    def save(self, signature: Any, target: Any, reduced: Callable[[], Any]) -> None:
        """Store machine code, in a form that can be rebuilt."""
        folder = _writable()
        if folder is None:
            return
        triple, *processor = target.codegen().magic_tuple()
        name = self._name(_text_of(signature), triple, processor)
        with contextlib.suppress(OSError):
            write_atomically(folder / name, serialize.dumps(reduced()))

    def release(self) -> None:
        """Let other processes load what was compiled, or compile what could not be."""
        folder = _writable()
        if self._locked is not None and folder is not None:
            _locks(folder).release(self._locked)
            self._locked = None

    def _name(self, arguments: str, triple: str, processor: Any) -> str:
        content = "\0".join((self._content, arguments, triple, *processor))
        digest = hashlib.sha256(content.encode("utf-8", "surrogateescape")).hexdigest()
        # short enough for every file system
        return f"{self._label[-80:]}-{digest[:32]}.code"


_PLAIN = str.maketrans("<>:", "___")
"""What file names on some systems must not have."""


def _loaded(name: str, rebuild: Callable[[Any], Any]) -> Any:
    for folder in cache_folder.readable_folders(str(config.CACHE_DIR)):
        with contextlib.suppress(OSError):
            loaded = _rebuilt((folder / name).read_bytes(), rebuild)
            if loaded is not None:
                return loaded
    return None


def _rebuilt(stored: bytes, rebuild: Callable[[Any], Any]) -> Any:
    """Return what was stored, or None where what it calls was compiled anew since."""
    try:
        return rebuild(pickle.loads(stored))
    # half a file, or one whose dependencies changed: as if it were not there
    except (FileNotFoundError, EOFError, pickle.UnpicklingError):
        return None


def _text_of(signature: Any) -> str:
    """Return argument types in full: Numba's own text of a named tuple leaves out its module."""
    arguments = getattr(signature, "args", signature)
    return ", ".join(map(_type_text, arguments))


def _type_text(kind: Any) -> str:
    if not isinstance(kind, BaseTuple):
        return str(kind)
    of = getattr(kind, "instance_class", tuple)
    return f"{of.__module__}.{of.__qualname__}({', '.join(map(_type_text, kind))})"


def source_content(function: FunctionType) -> str:
    """Return what tells the source of a function from others of its name."""
    content = f"{function.__code__.co_firstlineno} {_closure(function)}"
    # the folder's name has the hash of our sources: a stranger's file has its own
    return content if _is_ours(function) else content + _file_digest(function.__code__.co_filename)


def _closure(function: FunctionType) -> str:
    cells = [cell.cell_contents for cell in function.__closure__ or ()]
    return hashlib.sha256(serialize.dumps(cells)).hexdigest() if cells else ""


def _is_ours(function: FunctionType) -> bool:
    folders = tuple(f"{package}{os.sep}" for package in cache_folder.PACKAGES)
    return function.__code__.co_filename.startswith(folders)


@functools.cache
def _file_digest(path: str) -> str:
    with contextlib.suppress(OSError):
        return hashlib.sha256(Path(path).read_bytes()).hexdigest()
    return path


def _writable() -> Path | None:
    return cache_folder.writable_folder(str(config.CACHE_DIR))


@functools.cache
def _locks(folder: Path) -> FileLocks:
    return FileLocks(folder / "locks")


class CompileNotice:
    """What a command says, once, when it compiles for longer than one would notice."""

    functions: ClassVar[int] = 0
    """How many this process has compiled."""
    began: ClassVar[float | None] = None
    is_reported: ClassVar[bool] = False

    @classmethod
    def report(cls) -> None:
        """Note that something is compiled; say so unless that is said, or all that there is."""
        instant = time.perf_counter()
        cls.began = cls.began or instant
        # a message for half a second would only flicker
        late = instant - cls.began > SECONDS_BEFORE_NOTICE
        if late and reports_progress() and not cls.is_reported and sys.stderr is not None:
            cls.is_reported = True
            print(f"ukctrl: compiling{_compile_reason()} ...", file=sys.stderr, flush=True)


@functools.cache
def _shipped_mismatch() -> str:
    """Return why the machine code that a wheel brought along is not used, or nothing."""
    manifest = shipped_manifest()
    if not manifest or manifest["made_with"] == MADE_WITH:
        return ""
    return f"what came with ukctrl was made with {manifest['made_with']}, here is {MADE_WITH}"


def _compile_reason() -> str:
    reason = f" ({_shipped_mismatch()})" if _shipped_mismatch() else ""
    if _writable() is None:
        return f"{reason}, each time anew: set NUMBA_CACHE_DIR to a folder that can be written to"
    return f", once on this machine{reason}"
