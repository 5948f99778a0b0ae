"""The runs that the claims and the gallery share."""

from __future__ import annotations

import functools

from ukctrl.result import Result
from ukctrl.scenario import Scenario
from ukctrl.simulation import simulate


@functools.lru_cache(maxsize=32)
def run(name: str, *changes: tuple[str, object]) -> Result:
    """Run a scenario of the catalogue, with changes that can be hashed."""
    return simulate(Scenario.load(name, dict(changes)))
