"""The figures of the page: those that `ukctrl reproduce servo` draws."""

from __future__ import annotations

from pathlib import Path

from ukctrl import papers

figures = papers.servo.figures


def draw(folder: Path) -> None:
    """Write every figure as a PNG file."""
    for drawing in figures.drawings():
        target = folder / f"coordinated-arms-{drawing.name}.png"
        figure = drawing.draw()
        figure.savefig(target, metadata={"Software": None}, pil_kwargs={"optimize": True})
        print(f"{target.name:40s}{target.stat().st_size / 1000:4.0f} kB")
