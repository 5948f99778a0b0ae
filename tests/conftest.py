"""What all tests need of the process they run in.

Their linear algebra keeps to one thread, as that of every run and check does: they run in as many
processes as there are cores, where more threads wait for each other and win nothing.
"""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import settings

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # read when NumPy is imported

# the first example of a test may import or compile, beside other tests
settings.register_profile("untimed", settings(), deadline=None)
settings.load_profile("untimed")

pytest_plugins = ["made_runs"]  # of tests/shared: runs made by hand, as fixtures


BLANK = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010806000000" "1f15c489"
    "0000000d49444154789c63000100000500010d0a2db4" "0000000049454e44ae426082"
)  # fmt: skip
"""A picture of one point."""


@pytest.fixture(autouse=True)
def _page_pictures_once(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have a test's pages draw each picture once, as SVG, with a blank PNG file beside it.

    Half of what a page takes is drawing it again; tests of painting are marked `painted`.
    """
    if request.node.get_closest_marker("painted") is None:
        monkeypatch.setattr("ukctrl.reports.plot.style.png", lambda figure: BLANK)


def pytest_configure() -> None:
    """Let Ctrl-C and a closed terminal be heard where whoever started the tests ignores them.

    A shell has what it starts in its background ignore Ctrl-C, `nohup` a closed terminal, and so
    do the children of these; the tests that stop a run by such a signal would wait for ever.
    """
    heard = {signal.SIGINT: signal.default_int_handler, signal.SIGHUP: signal.SIG_DFL}
    for number, handler in heard.items():
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, handler)
    gc.disable()  # until the tests are there: all that is made meanwhile stays


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Take the mark `slow` from the cases of a test that are quick: ``slow(only=...)`` names the
    slow ones, ``slow(but=...)`` the others.
    """
    for item in items:
        case = getattr(getattr(item, "callspec", None), "id", "")
        for mark in [mark for mark in item.own_markers if mark.name == "slow"]:
            only, but = mark.kwargs.get("only", (case,)), mark.kwargs.get("but", ())
            if case not in only or case in but:
                item.own_markers.remove(mark)


def pytest_collection_finish() -> None:
    """Leave the tests themselves, a million objects that stay, out of every later collection."""
    gc.collect()
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the site; a broken link, anchor, reference or navigation entry is an error."""
    pytest.importorskip("mkdocs")
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)],
        cwd=Path(__file__).parents[1],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return folder
