"""The figures of the page."""

from pathlib import Path

from ukctrl import papers

figures = papers.review.figures

FIGURES = {
    "log-spiral-particle-motion": figures.spiral_motion,
    "log-spiral-particle-path": figures.spiral_trajectory,
    "log-spiral-particle-errors": figures.spiral_errors,
}


def draw(folder: Path) -> None:
    """Write every figure as a PNG file."""
    for name, make in FIGURES.items():
        make().savefig(folder / f"{name}.png", metadata={"Software": None})
