"""Which of many values every `make test` tries, and which `make slow` alone."""

from __future__ import annotations

from collections.abc import Container, Iterable
from typing import Any

import pytest


def slow_but(fast: Container[Any], values: Iterable[Any]) -> list[Any]:
    """Return values to try one after the other, slow but for some."""
    return [
        value if value in fast else pytest.param(*_together(value), marks=pytest.mark.slow)
        for value in values
    ]


def _together(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)
