"""What the survey found, one line a law and bandwidth on a robot in a trouble."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
from trials import JUDGING, ROBOTS, TRAINING, TROUBLES

STORE = Path(__file__).resolve().parent / "survey.csv"
METRICS = ("rms_phi", "input_travel")
"""What is small where a law is good, and what that costs."""
PHASES = {"choosing": TRAINING, "judging": JUDGING}
DIGITS = 5
Key = tuple[str, str, str, float]
"""Robot, trouble, law, bandwidth."""


class Setting(NamedTuple):
    """One law at one bandwidth on one robot in one trouble: both metrics of every plant."""

    choosing: np.ndarray
    """Shape ``(2, plants)``; NaN where a run did not complete."""
    judging: np.ndarray
    refused: bool
    """Whether the law does not begin at this bandwidth."""


def load() -> dict[Key, Setting]:
    """Return what is stored."""
    stored = {}
    head, *lines = STORE.read_text(encoding="utf-8").splitlines()
    names = head.split(",")
    for line in lines:
        cells = dict(zip(names, line.split(","), strict=True))
        key = (cells["robot"], cells["trouble"], cells["law"], float(cells["bandwidth"]))
        both = {
            phase: np.array(
                [[_read(cells[f"{metric}.{seed}"]) for seed in seeds] for metric in METRICS]
            )
            for phase, seeds in PHASES.items()
        }
        stored[key] = Setting(**both, refused=cells["refused"] == "1")
    return stored


def _read(cell: str) -> float:
    return float(cell) if cell else math.nan


def store(every: Mapping[Key, Setting]) -> None:
    """Keep what the page needs."""
    head = ["robot", "trouble", "law", "bandwidth", "refused"]
    head += [
        f"{metric}.{seed}" for seeds in PHASES.values() for metric in METRICS for seed in seeds
    ]
    lines = [",".join(head)]
    for key in sorted(every, key=_order):
        setting = every[key]
        values = [*setting.choosing.ravel(), *setting.judging.ravel()]
        cells = [*map(str, key), str(int(setting.refused))]
        cells += ["" if math.isnan(value) else f"{value:.{DIGITS}g}" for value in values]
        lines.append(",".join(cells))
    STORE.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _order(key: Key) -> tuple[int, int, int, float]:
    robot, trouble, law, bandwidth = key
    return (
        list(ROBOTS).index(robot),
        list(TROUBLES).index(trouble),
        ROBOTS[robot].laws.index(law),
        bandwidth,
    )
