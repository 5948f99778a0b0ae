"""A plugin of pytest: tells coverage which test is running, here and in processes it starts, and
keeps how long each took that passed.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path

import coverage
import pytest

LABEL = "UKCTRL_TEST"
"""The processes that a test starts find its name here."""
TIMES = "UKCTRL_TEST_TIMES"
"""Folder for how long the tests took."""


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Name the test to coverage while it runs."""
    measured = coverage.Coverage.current()
    os.environ[LABEL] = item.nodeid
    if measured is not None:
        measured.switch_context(item.nodeid)
    begun = time.perf_counter()
    failed_before = item.session.testsfailed
    yield
    seconds = time.perf_counter() - begun
    if measured is not None:
        measured.switch_context("")
    if item.session.testsfailed > failed_before:
        return  # what fails without a fault finds none
    with (Path(os.environ[TIMES]) / f"{os.getpid()}.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps([item.nodeid, seconds]) + "\n")
