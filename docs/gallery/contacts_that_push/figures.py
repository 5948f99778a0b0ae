"""The films of the page."""

from __future__ import annotations

from pathlib import Path

from tables import block, run

from ukctrl import record

SIZE, RATE = (420, 280), 12.0
FILMS = {
    "push": "pushed, inside the cones",
    "falls": "pushed, without",
    "ice": "squat on ice, inside the cones",
    "lift": "one foot lifted",
    "trot": "trot in place",
}


def draw(folder: Path) -> None:
    """Film the runs."""
    for name, of in FILMS.items():
        record(run(of), folder / f"contacts-that-push-{name}.webp", fps=RATE, size=SIZE)
    path = folder / "contacts-that-push-block.webp"
    record(block(), path, fps=2.0 * RATE, size=SIZE, speed=0.5, show=["reactions"])
