"""The figure of the page: the cart keeps to its path, and the pole falls over."""

from __future__ import annotations

from pathlib import Path

from tables import falling

from ukctrl import internal_dynamics_figure, plot


def draw(folder: Path) -> None:
    """Write the figure as a PNG file."""
    target = folder / "internal-dynamics-pole.png"
    target.write_bytes(plot.style.png(internal_dynamics_figure(falling())))
    print(f"{target.name:40s}{target.stat().st_size / 1000:4.0f} kB")
