"""Provenance of a result: versions, machine, seed, timing, what the model's audit said."""

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
from ukctrl.mechanics.dynamics import StabilisationGains
from ukctrl.robot import Robot
from ukctrl.simulation.assemble.loop import Loop
from ukctrl.simulation.result.run_id import new_run_id
from ukctrl.simulation.result.sample_measures import LIMIT_RTOL
from ukctrl.simulation.result.samples import Samples
from ukctrl.simulation.scenario import Scenario
from ukctrl.simulation.step.simulation_run import SimulationRun

PACKAGES = ("ukctrl", "pin", "numpy", "scipy", "numba")


def provenance(run: SimulationRun, samples: Samples, timing: Mapping[str, float]) -> dict[str, Any]:
    """Return what a result of a run records beside its numbers.

    Args:
        run: What was run.
        samples: What was recorded.
        timing: How long it took, how often the law was asked, and how long that takes.
    """
    loop, scenario = run.loop, run.loop.scenario
    return {
        "scenario": scenario.name or scenario.title,
        "robot": loop.robot.name,
        "controller": law_name(scenario.controller),
        **software_versions(),
        "run_id": new_run_id(),
        "seed": scenario.seed,
        "gains": "given",
        "rank": dc.asdict(scenario.rank),
        "start_moved": dict(loop.start_shift),
        **verdict_facts(run, samples, drawn=True),
        "timing": dict(timing),
        "audit": [finding._asdict() for finding in loop.robot.audit],
    }


def verdict_facts(run: SimulationRun, samples: Samples, *, drawn: bool) -> dict[str, Any]:
    """Return what verdicts on a run go by, beside its samples.

    Args:
        run: What was run.
        samples: What was recorded.
        drawn: Whether to tell what was drawn for the effects.
    """
    loop, recorder, stepper = run.loop, run.recorder, run.stepper
    scenario, effects = loop.scenario, loop.effects
    grip = recorder.weakest_authority()
    # behind springs, or while it swings up, no motor moves the rows at once: lost ones are no news
    matters = bool(grip) and (scenario.controller.needs_grip or grip["hold"] == "weak")
    facts = {
        "random": effects.random or scenario.start.spread > 0.0,
        **_passive(scenario, loop.plant.gains, recorder.passive(samples.arrays)),
        "switches": list(stepper.switches) or None,
        "contacts": stepper.contacts and stepper.contacts.report(),
        "observer": loop.estimator and loop.estimator.report(),
        "effects": effects.report(drawn=drawn) or None,
        "weak_grip": grip if matters else None,
        **_step_halving(loop),
        "beyond_limits": exceeded_limits(loop.robot, samples),
        **joint_limits(loop.robot),
        "rows_demanded": recorder.rows_demanded(),
    }
    return {name: fact for name, fact in facts.items() if fact is not None}


def software_versions() -> dict[str, Any]:
    """Return which versions computed something, on what machine, and when."""
    return {
        "versions": {"python": platform.python_version(), **dict(versions_of(PACKAGES))},
        "machine": f"{platform.system()} {platform.machine()}",
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def _step_halving(loop: Loop) -> dict[str, Any]:
    """Return what halved steps say of a fixed one, where there is one."""
    share = loop.plants.step_halving()
    if share is None:
        return {}
    return {"step_halving": {"share": share, "method": loop.scenario.integrator.method}}


def _passive(
    scenario: Scenario, gains: StabilisationGains, passive: Mapping[str, object]
) -> dict[str, Mapping[str, object]]:
    """Return what is to be known of passive constraints, where there are any."""
    if not passive:
        return {}
    chosen = {"kind": scenario.stabilisation.kind, **gains._asdict()}
    return {"stabilisation": chosen, "passive": passive}


# looking them up takes as long as a short run
@functools.cache
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


def exceeded_limits(robot: Robot, samples: Samples) -> list[str]:
    """Say which joints pass a limit of their position or speed, and when first.

    A simulated joint has no stops: it runs through its limits as if there were none.
    """
    messages: list[str] = []
    for name, names, units, lower, upper in (
        ("q", robot.coordinates, robot.coordinate_units, robot.q_lower, robot.q_upper),
        ("v", robot.dofs, robot.dof_units, -robot.velocity_limit, robot.velocity_limit),
    ):
        # a joint that rests at its limit is a rounding beyond it at some samples
        slack = LIMIT_RTOL * np.maximum(1.0, np.abs(np.where(np.isfinite(upper), upper, 0.0)))
        limited = np.flatnonzero(np.isfinite(lower) | np.isfinite(upper))
        if not len(samples) or not limited.size:
            continue
        values = samples[name][:, limited]
        lowest, highest = np.fmin.reduce(values), np.fmax.reduce(values)
        violations = (lowest < (lower - slack)[limited]) | (highest > (upper + slack)[limited])
        for i, series in zip(limited[violations], values.T[violations], strict=True):
            k = int(np.argmax((series < lower[i] - slack[i]) | (series > upper[i] + slack[i])))
            limit, t = upper[i] if series[k] > upper[i] else lower[i], samples.time[k]
            messages.append(
                f"'{names[i]}' passes its limit of {limit:.4g} {units[i]} at t = {t:.4g} s."
            )
    return messages
