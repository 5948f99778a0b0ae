"""Tests of what an extra brings, which are skipped where it is not installed."""

from __future__ import annotations

import importlib.util

import pytest


def needs(*libraries):
    """Skip a test where a library is missing that `pip install ukctrl` does not bring."""
    missing = [name for name in libraries if importlib.util.find_spec(name) is None]
    return pytest.mark.skipif(bool(missing), reason=f"not installed: {', '.join(missing)}")
