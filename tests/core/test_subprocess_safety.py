"""How much memory a process may use."""

from __future__ import annotations

import os
import sys

import pytest

from ukctrl.core.subprocess_safety import memory_limit

resource = pytest.importorskip("resource")  # not on Windows
INFINITE = resource.RLIM_INFINITY
SIZES = {"SC_PHYS_PAGES": 1000, "SC_PAGE_SIZE": 4096}


@pytest.mark.parametrize(
    ("told", "limit", "expected"),
    [
        (SIZES, INFINITE, 4096e3),
        (SIZES, 5_000_000, 4096e3),
        (SIZES, 1_000_000, 1e6),
        ({"SC_PHYS_PAGES": 1000}, INFINITE, float("inf")),
        ({"SC_PAGE_SIZE": 4096}, 1_000_000, 1e6),
        ({}, INFINITE, float("inf")),
    ],
)
def test_memory_is_the_least_of_what_the_machine_has_and_the_process_may_use(
    monkeypatch, told, limit, expected
):
    monkeypatch.setattr(os, "sysconf_names", dict.fromkeys(told, 0))
    monkeypatch.setattr(os, "sysconf", told.__getitem__)
    monkeypatch.setattr(resource, "getrlimit", lambda kind: {resource.RLIMIT_AS: (limit, 0)}[kind])
    assert memory_limit() == expected
    monkeypatch.setitem(sys.modules, "resource", None)
    assert memory_limit() == (4096e3 if told == SIZES else float("inf"))
