"""The runs that the claims and the figures share."""

from __future__ import annotations

import functools

from ukctrl.simulation.result.result import Result
from ukctrl_papers import catalogue_runs


@functools.lru_cache(maxsize=32)
def run(name: str, *changes: tuple[str, object]) -> Result:
    """Run a scenario of the catalogue, with changes that can be hashed."""
    return catalogue_runs.run_catalogue_scenario(name, dict(changes))
