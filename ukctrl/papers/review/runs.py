"""The runs that the claims and the figures share."""

from __future__ import annotations

import functools

from ukctrl.papers import catalogued
from ukctrl.simulation.result.result import Result


@functools.lru_cache(maxsize=32)
def run(name: str, *changes: tuple[str, object]) -> Result:
    """Run a scenario of the catalogue, with changes that can be hashed."""
    return catalogued.run(name, dict(changes))
