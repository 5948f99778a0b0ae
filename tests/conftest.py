"""What all tests need of the process they run in.

Their linear algebra keeps to one thread, as that of every run and check does: they run in as many
processes as there are cores, where more threads wait for each other and win nothing.
"""

from __future__ import annotations

import gc
import os
import signal

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # read when NumPy is imported


def pytest_configure() -> None:
    """Let Ctrl-C and a closed terminal be heard where whoever started the tests ignores them.

    A shell has what it starts in its background ignore Ctrl-C, `nohup` a closed terminal, and so
    do the children of these; the tests that stop a run by such a signal would wait for ever.
    """
    heard = {signal.SIGINT: signal.default_int_handler, signal.SIGHUP: signal.SIG_DFL}
    for number, handler in heard.items():
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, handler)


def pytest_collection_finish() -> None:
    """Leave the tests themselves, a million objects that stay, out of every later collection."""
    gc.collect()
    gc.freeze()
