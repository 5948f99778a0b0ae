"""The figures of the page: those of the paper's report."""

from __future__ import annotations

from pathlib import Path

from ukctrl import papers, plot


def draw(folder: Path) -> None:
    """Write every figure as a PNG file."""
    for drawing in papers.pseudoinverses.PAPER.figures():
        (folder / f"pseudoinverses-{drawing.name}.png").write_bytes(plot.style.png(drawing.draw()))
