"""Silence for libraries that print to the process's stderr."""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
from collections.abc import Iterator
from typing import Any


@contextlib.contextmanager
def capture_stderr() -> Iterator[Any]:
    """Catch what is printed to the process's stderr; yields a function that reads it."""
    if sys.stderr is not None:
        sys.stderr.flush()
    with contextlib.ExitStack() as stack:
        try:
            saved = os.dup(2)
        except OSError:  # no stderr at all, as under some launchers
            yield lambda: ""
            return
        stack.callback(os.close, saved)
        sink = stack.enter_context(tempfile.TemporaryFile())
        os.dup2(sink.fileno(), 2)
        stack.callback(os.dup2, saved, 2)

        def said() -> str:
            sink.seek(0)
            return sink.read(65536).decode("utf-8", "replace")

        yield said
