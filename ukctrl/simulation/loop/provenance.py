"""Where a result comes from: versions, machine, seed, timing, what the model's audit said."""

from __future__ import annotations

import dataclasses as dc
import functools
import platform
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from types import MappingProxyType
from typing import Any

import numpy as np

from ukctrl.control.controller import law_name
from ukctrl.mechanics.dynamics import Gains
from ukctrl.robot import Robot
from ukctrl.simulation.loop.closed_loop import Loop
from ukctrl.simulation.result.run_id import new_run_id
from ukctrl.simulation.result.samples import Samples
from ukctrl.simulation.scenario import Scenario

LIMIT_SLACK = 1e-9
"""A joint beyond its limit by less than this, relatively, is at it."""
PACKAGES = ("ukctrl", "pin", "numpy", "scipy", "numba")


def provenance(loop: Loop, samples: Samples, timing: Mapping[str, float]) -> dict[str, Any]:
    """Return what a result of a run records beside its numbers.

    Args:
        loop: What was run.
        samples: What was recorded.
        timing: How long it took, how often the law was asked, and how long that takes.
    """
    scenario = loop.scenario
    return {
        "scenario": scenario.name or scenario.title,
        "robot": loop.robot.name,
        "controller": law_name(scenario.controller),
        **origin(),
        "run_id": new_run_id(),
        "seed": scenario.seed,
        "gains": "given",
        "rank": dc.asdict(scenario.rank),
        "start_moved": dict(loop.moved),
        **observed(loop, samples, drawn=True),
        "timing": dict(timing),
        "audit": [finding._asdict() for finding in loop.robot.audit],
    }


def observed(loop: Loop, samples: Samples, *, drawn: bool) -> dict[str, Any]:
    """Return what verdicts on a run go by, beside its samples.

    Args:
        loop: What was run.
        samples: What was recorded.
        drawn: Whether to tell what was drawn for the effects.
    """
    scenario, recorder, conditions = loop.scenario, loop.recorder, loop.conditions
    effects, rows_demanded = conditions.facts(drawn=drawn), recorder.rows_demanded()
    grip = recorder.weak_grip()
    matters = bool(grip) and (scenario.controller.needs_grip or grip["hold"] == "weak")
    return {
        "random": conditions.random or scenario.start.spread > 0.0,
        **_passive(scenario, loop.truth.gains, recorder.passive(samples.arrays)),
        **({"switches": list(loop.switches)} if loop.switches else {}),
        **({"contacts": loop.contacts.told()} if loop.contacts is not None else {}),
        **({"observer": loop.estimator.facts()} if loop.estimator is not None else {}),
        **({"effects": effects} if effects else {}),
        **({"weak_grip": grip} if matters else {}),
        **loop.step_halving(),
        "beyond_limits": beyond_limits(loop.robot, samples),
        **joint_limits(loop.robot),
        **({} if rows_demanded is None else {"rows_demanded": rows_demanded}),
    }


def origin() -> dict[str, Any]:
    """Return which versions computed something, on what machine, and when."""
    return {
        "versions": {"python": platform.python_version(), **dict(versions_of(PACKAGES))},
        "machine": f"{platform.system()} {platform.machine()}",
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def _passive(
    scenario: Scenario, gains: Gains, passive: Mapping[str, object]
) -> dict[str, Mapping[str, object]]:
    """Return what is to be known of passive constraints, where there are any."""
    if not passive:
        return {}
    chosen = {"kind": scenario.stabilisation.kind, **gains._asdict()}
    return {"stabilisation": chosen, "passive": passive}


@functools.cache  # they take as long to look up as a short run
def versions_of(packages: tuple[str, ...]) -> Mapping[str, str]:
    """Return the versions of packages, by their names."""
    versions = {}
    for package in packages:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            versions[package] = "not installed"
    return MappingProxyType(versions)


def joint_limits(robot: Robot) -> dict[str, dict[str, dict[str, list[float | None]]]]:
    """Return the lowest and highest position and velocity of joints that have limits, by name."""
    limits: dict[str, dict[str, list[float | None]]] = {"q": {}, "v": {}}
    for name, names, lower, upper in (
        ("q", robot.coordinates, robot.q_lower, robot.q_upper),
        ("v", robot.dofs, -robot.velocity_limit, robot.velocity_limit),
    ):
        for joint, *ends in zip(names, lower.tolist(), upper.tolist(), strict=True):
            if np.isfinite(ends).any():
                limits[name][joint] = [end if np.isfinite(end) else None for end in ends]
    return {"joint_limits": limits} if any(limits.values()) else {}


def beyond_limits(robot: Robot, samples: Samples) -> list[str]:
    """Say which joints pass a limit of their position or speed, and when first.

    A simulated joint has no stops: it runs through its limits as if there were none.
    """
    said: list[str] = []
    for name, names, units, lower, upper in (
        ("q", robot.coordinates, robot.coordinate_units, robot.q_lower, robot.q_upper),
        ("v", robot.dofs, robot.dof_units, -robot.velocity_limit, robot.velocity_limit),
    ):
        slack = LIMIT_SLACK * np.maximum(1.0, np.abs(np.where(np.isfinite(upper), upper, 0.0)))
        limited = np.flatnonzero(np.isfinite(lower) | np.isfinite(upper))
        if not len(samples) or not limited.size:
            continue
        values = samples[name][:, limited]
        lowest, highest = np.fmin.reduce(values), np.fmax.reduce(values)
        beyond = (lowest < (lower - slack)[limited]) | (highest > (upper + slack)[limited])
        for i, own in zip(limited[beyond], values.T[beyond], strict=True):
            k = int(np.argmax((own < lower[i] - slack[i]) | (own > upper[i] + slack[i])))
            limit, t = upper[i] if own[k] > upper[i] else lower[i], samples.time[k]
            said.append(
                f"'{names[i]}' passes its limit of {limit:.4g} {units[i]} at t = {t:.4g} s."
            )
    return said
