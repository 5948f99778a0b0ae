"""The runs that the claims and the figures share."""

from __future__ import annotations

import functools

from ukctrl.reproduce import runs
from ukctrl.result import Result

catalogued = runs.robot


@functools.lru_cache(maxsize=32)
def run(name: str, *changes: tuple[str, object]) -> Result:
    """Run a scenario of the catalogue, with changes that can be hashed."""
    return runs.simulated(name, dict(changes))
