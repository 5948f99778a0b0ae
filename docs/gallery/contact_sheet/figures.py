"""The films of the page: every scenario of the catalogue, small and short."""

from __future__ import annotations

from pathlib import Path

from tables import STILL

from ukctrl import Result, Scenario, catalog, record, simulate

SIZE, RATE = (300, 190), 10.0
LONGEST = 4.0
"""A film takes no longer than this; a longer run is shown faster [s]."""


def film(result: Result, name: str, folder: Path) -> Path:
    """Write the film of a run, or a still picture where nothing moves, and return its path."""
    if name in STILL:
        return record(result, folder / f"contact-sheet-{name}.png", size=SIZE)
    speed = max(1.0, float(result.time[-1] - result.time[0]) / LONGEST)
    path = folder / f"contact-sheet-{name}.webp"
    return record(result, path, fps=RATE, size=SIZE, speed=speed)


def draw(folder: Path) -> None:
    """Simulate every scenario, and write its film."""
    for name in catalog.names("scenarios"):
        film(simulate(Scenario.load(name)), name, folder)
