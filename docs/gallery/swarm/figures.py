"""The figures of the page."""

from pathlib import Path

from ukctrl import papers

figures = papers.review.figures

FIGURES = {
    "swarm-paths": figures.swarm_trajectories,
    "swarm-error": figures.swarm_error,
}


def draw(folder: Path) -> None:
    """Write every figure as a PNG file."""
    for name, make in FIGURES.items():
        make().savefig(folder / f"{name}.png", metadata={"Software": None})
