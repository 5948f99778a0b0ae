"""Where a result comes from: versions, machine, seed, timing, what the model's audit said."""

from __future__ import annotations

import dataclasses as dc
import platform
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from ukctrl.certify import RANK
from ukctrl.robot import Robot
from ukctrl.scenario import Scenario

PACKAGES = ("ukctrl", "pin", "numpy", "scipy", "numba")


def provenance(
    scenario: Scenario,
    robot: Robot,
    *,
    wall_seconds: float,
    ticks: int,
    tick_seconds: float,
    moved: Mapping[str, float],
) -> dict[str, Any]:
    """Return what a result records beside its numbers."""
    controller = scenario.controller
    return {
        "scenario": scenario.name or scenario.title,
        "robot": robot.name,
        "controller": controller.name or type(controller).__name__,
        "versions": {"python": platform.python_version(), **_versions()},
        "machine": f"{platform.system()} {platform.machine()}",
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "seed": scenario.seed,
        "gains": "given",
        "rank": dc.asdict(RANK),
        "start_moved": dict(moved),
        "timing": {
            "wall_seconds": wall_seconds,
            "ticks": ticks,
            "mean_tick_us": 1e6 * tick_seconds / ticks if ticks else float("nan"),
        },
        "audit": [finding._asdict() for finding in robot.audit],
    }


def _versions() -> dict[str, str]:
    found = {}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed"
    return found
