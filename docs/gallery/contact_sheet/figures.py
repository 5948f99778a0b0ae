"""The films of the page: every scenario of the catalogue, small and short."""

from __future__ import annotations

from pathlib import Path

from ukctrl import Result, Scenario, catalog, simulate
from ukctrl.reports.scene.film import record
from ukctrl.reports.scene.from_results import of_result

SIZE, RATE = (300, 190), 10.0
LONGEST = 4.0
"""A film takes no longer than this; a longer run is shown faster [s]."""


def film(result: Result, name: str, folder: Path) -> Path | None:
    """Write the film of a run, and return its path; None where it ended as it began."""
    scene = of_result(result)
    if scene is None:
        return None
    speed = max(1.0, float(scene.time[-1] - scene.time[0]) / LONGEST)
    path = folder / f"contact-sheet-{name}.webp"
    return record(scene, path, fps=RATE, size=SIZE, speed=speed)


def draw(folder: Path) -> None:
    """Simulate every scenario, and write its film."""
    for name in catalog.names("scenarios"):
        film(simulate(Scenario.load(name)), name, folder)
