"""What all tests need of the process they run in."""

from __future__ import annotations

import signal


def pytest_configure() -> None:
    """Let Ctrl-C be heard where the tests were started in the background of a shell.

    Such a shell has its children ignore it, and theirs after them; the tests that stop a run by it
    would then wait for ever.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
