"""The figures of the page: those of ``ukctrl reproduce scara``."""

from __future__ import annotations

from pathlib import Path

from ukctrl import papers, plot


def draw(folder: Path) -> None:
    """Write every figure as a PNG file."""
    assert papers.scara.PAPER.figures is not None
    for drawing in papers.scara.PAPER.figures():
        target = folder / f"scara-helix-{drawing.name}.png"
        target.write_bytes(plot.style.png(drawing.draw()))
        print(f"{target.name:40s}{target.stat().st_size / 1000:4.0f} kB")
