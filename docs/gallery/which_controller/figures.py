"""The figure of the page."""

from __future__ import annotations

from pathlib import Path

import survey_figure


def draw(folder: Path) -> None:
    """Write it as a PNG file."""
    path = folder / "which-controller-fronts.png"
    survey_figure.fronts().savefig(path, metadata={"Software": None})
