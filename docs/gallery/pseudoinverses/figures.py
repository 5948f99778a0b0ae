"""The figures of the page: those of the paper's report."""

from __future__ import annotations

from pathlib import Path

from ukctrl.papers.pseudoinverses import PAPER
from ukctrl.reports.plot import style


def draw(folder: Path) -> None:
    """Write every figure as a PNG file."""
    for drawing in PAPER.figures():
        (folder / f"pseudoinverses-{drawing.name}.png").write_bytes(style.png(drawing.draw()))
