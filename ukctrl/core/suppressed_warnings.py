"""Warnings that nobody is to see, also where several threads run at a time."""

from __future__ import annotations

import contextlib
import threading
import warnings
from collections.abc import Iterator

_LOCK = threading.RLock()
"""The filters of warnings are the whole process's: whoever leaves first would bring back others."""


@contextlib.contextmanager
def suppress_warnings(category: type[Warning] = Warning) -> Iterator[None]:
    """Show no warnings of a kind meanwhile."""
    with _LOCK, warnings.catch_warnings():
        warnings.simplefilter("ignore", category)
        yield
