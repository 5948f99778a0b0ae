"""A plugin of pytest: tells coverage which test is running, here and in processes it starts, and
keeps how long each took that passed.

What is made once for several tests is told by itself, since all of them can notice a fault there:
the fixtures of a module or of the session, and what a file of tests does when it is loaded. What
the library keeps from one test to the next is dropped before each.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import coverage
import pytest

LABEL = "UKCTRL_TEST"
"""The processes that a test starts find its name here."""
TIMES = "UKCTRL_TEST_TIMES"
"""Folder for how long the tests took."""
SHARED = "shared "
"""Begins the name of what several tests share."""

_elsewhere = [0.0]
"""Time since the present test began that went into what others share [s]."""
_kept: dict[str, list[Any]] = {}
"""The functions of each module of the library that keep what they return."""


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Name the test to coverage while it runs."""
    _forget()
    failed_before = item.session.testsfailed
    _elsewhere[0] = 0.0
    with _told(item.nodeid) as begun:
        yield
        seconds = time.perf_counter() - begun - _elsewhere[0]
    if item.session.testsfailed == failed_before:  # what fails without a fault finds none
        _write(item.nodeid, seconds, list(getattr(item, "fixturenames", ())))


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(
    fixturedef: pytest.FixtureDef[Any], request: pytest.FixtureRequest
) -> Iterator[None]:
    """Name a fixture that several tests share while it is made."""
    if fixturedef.scope == "function":
        return (yield)
    name = f"{SHARED}{fixturedef.baseid}::{fixturedef.argname}"
    with _told(name) as begun:
        made = yield
        seconds = time.perf_counter() - begun
    _elsewhere[0] += seconds
    _write(name, seconds, [])
    return made


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Iterator[None]:
    """Name a file of tests while it is loaded."""
    if not isinstance(collector, pytest.Module):
        return (yield)
    with _told(f"{SHARED}{collector.nodeid}"):
        return (yield)


@contextlib.contextmanager
def _told(name: str) -> Iterator[float]:
    """Have coverage call what happens by a name; give the time when it begins [s]."""
    measured = coverage.Coverage.current()
    before = os.environ.get(LABEL, "")
    os.environ[LABEL] = name
    if measured is not None:
        measured.switch_context(name)
    try:
        yield time.perf_counter()
    finally:
        os.environ[LABEL] = before
        if measured is not None:
            measured.switch_context(before)


def _forget() -> None:
    for name, module in list(sys.modules.items()):
        if name.startswith("ukctrl") and name not in _kept and hasattr(module, "__dict__"):
            _kept[name] = [one for one in vars(module).values() if _keeps(one, name)]
    for functions in _kept.values():
        for function in functions:
            function.cache_clear()


def _keeps(value: object, module: str) -> bool:
    return hasattr(value, "cache_clear") and getattr(value, "__module__", "") == module


def _write(name: str, seconds: float, fixtures: list[str]) -> None:
    with (Path(os.environ[TIMES]) / f"{os.getpid()}.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps([name, seconds, fixtures]) + "\n")
