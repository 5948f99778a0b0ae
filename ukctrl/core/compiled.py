"""How functions are compiled for the loop.

Machine code is stored (`ukctrl.core.jit.machine_code_store`) in one folder that is named after the
contents of all files of compiled functions, so that changed or upgraded sources get a new one:
Numba's own cache notices that a function's file has changed, but not that of a function that it
calls, and old and new code would meet in one process, and crash.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from typing import Any, ParamSpec, TypeVar

import numpy as np

from ukctrl.core import cache_folder
from ukctrl.core.jit.block_layout import pack_arguments
from ukctrl.core.subprocess_safety import outside_working_folder

with outside_working_folder(".numba_config.yaml"):
    import numba

    try:
        from ukctrl.core.jit import kernel as jit

        is_tested_numba = numba.__version__.startswith(jit.TESTED_NUMBA)
    except (ImportError, AttributeError, TypeError):  # Numba is another inside
        is_tested_numba = False

P = ParamSpec("P")
T = TypeVar("T")

config: Any = numba.config  # its settings come from the environment, unseen by type checkers
config._config_fname = os.devnull  # or it would look there again whenever it compiles
OPTIONS: Any = {"boundscheck": None, "error_model": "numpy", "nogil": True}
"""How Numba compiles: no check of indices, what is no number is no error, other threads go on."""


_COMPILING = threading.RLock()
"""Held while machine code is made or loaded, so that two threads do not both."""


def compiled(function: Callable[P, T]) -> Callable[P, T]:
    """Compile for the loop: cached on disk, with IEEE arithmetic, so that runs repeat exactly.

    Other threads go on meanwhile. The function asks for no memory and returns no array, so that
    none of its arrays has to be counted: that would take longer than short loops do. With
    ``NUMBA_DISABLE_JIT=1`` it stays Python's, and as quiet as machine code where a result is no
    finite number.
    """
    return _njit(function, _nrt=False)


def deferred(function: Callable[P, T]) -> Callable[P, T]:
    """Compile as `allocating` does once it has run as Python's function for a tenth of a second.

    For what most runs come to seldom or never. Machine code compiles it at once where it calls it
    and its annotated return is not None, a bool, an int or a float.
    """
    return _njit(function, deferred=True, _nrt=True)


def inlined(function: Callable[P, T]) -> Callable[P, T]:
    """Compile as `compiled` does a short function, into whatever calls it.

    Its tuples stay in registers then, where a call would write and read them.
    """
    return _njit(function, _nrt=False, forceinline=True)


def allocating(function: Callable[P, T]) -> Callable[P, T]:
    """Compile as `compiled` does a function that asks for memory, or returns arrays."""
    return _njit(function, _nrt=True)


def with_python_entry(function: Callable[P, T]) -> Callable[P, T]:
    """Compile as `compiled` does what Python calls often, too: it has an entry from the start."""
    kernel: Any = compiled(function)
    kernel.has_python_entry = True
    return kernel  # type: ignore[no-any-return]


def python_entry_only(function: Callable[P, T]) -> Callable[P, T]:
    """Compile as `compiled` does a function that Python calls often, and no kernel.

    It calls other kernels through a second function, which takes 0.1 µs.
    """
    return _njit(function, for_python=True, _nrt=False)


def _njit(
    function: Callable[P, T],
    *,
    for_python: bool = False,
    deferred: bool = False,
    forceinline: bool = False,
    _nrt: bool,
) -> Callable[P, T]:
    if config.DISABLE_JIT:
        return np.errstate(all="ignore")(function)
    if not is_tested_numba:
        return _plain_njit(function, forceinline)
    options = {"nopython": True, **OPTIONS, "_nrt": _nrt, "forceinline": forceinline}
    kernel: Any = jit.Kernel(function, options, for_python, deferred)
    return kernel  # type: ignore[no-any-return]


def _plain_njit(function: Callable[P, T], forceinline: bool) -> Callable[P, T]:
    """Compile by Numba's own decorator, with its own cache: slower, with the same numbers."""
    with _COMPILING:
        cache_dir = config.CACHE_DIR
        folder = cache_folder.writable_folder(cache_dir)
        config.CACHE_DIR = str(folder or "")
        try:
            plain: Callable[P, T] = numba.njit(
                forceinline=forceinline, cache=folder is not None, **OPTIONS
            )(function)
            return plain
        finally:
            config.CACHE_DIR = cache_dir


_ADDRESSES: dict[tuple[Any, tuple[Any, ...]], tuple[int, int]] = {}
"""By kernel and kinds of arguments: the addresses of an entrance, and of the kernel."""


def call_addresses(
    kernel: Any, arguments: Sequence[Any], words: list[int]
) -> tuple[tuple[Any, ...], tuple[int, int]]:
    """Lay out arguments for machine code; return what calls a kernel with them.

    Args:
        kernel: A compiled function that returns nothing, a truth or a number.
        arguments: Contiguous arrays, numbers, and tuples of these.
        words: Receives their words.

    Returns:
        The kinds of arguments; and the address of the entrance that takes the words apart, and that
        of the kernel; 0 where Python calls it, because nothing is compiled or this Numba was not
        tried.
    """
    kinds = pack_arguments(arguments, words)
    if config.DISABLE_JIT or not is_tested_numba:
        return kinds, (0, 0)
    if (kernel, kinds) not in _ADDRESSES:
        with _COMPILING:
            _ADDRESSES[kernel, kinds] = kernel.call_addresses(arguments)
    return kinds, _ADDRESSES[kernel, kinds]
