"""The figures of the page: those of the study's own report."""

from __future__ import annotations

from pathlib import Path

from tables import found

from ukctrl import sweep_analysis

SHOWN = ("study_factors", "study_sensitivity", "study_map")


def draw(folder: Path) -> None:
    """Write the figures as PNG files."""
    for picture in sweep_analysis.study_figures.pictures(found()):
        if picture.name in SHOWN:
            target = folder / f"robustness-study-{picture.name.removeprefix('study_')}.png"
            target.write_bytes(picture.files["png"])
            print(f"{target.name:40s}{target.stat().st_size / 1000:4.0f} kB")
