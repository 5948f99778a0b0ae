"""Every way to follow rows of a high relative degree, on every scenario that is made for one."""

from __future__ import annotations

import functools
import importlib.util
from pathlib import Path
from types import ModuleType

import by_hand
import numpy as np
from experiments import M1, M2, PATHS, TIMES, C, K, T, apart, at, independent, nominal
from markdown_text import below, table

from ukctrl import InputError, Scenario, control, simulate

LAW = {"controller": {"use": "io-linearisation"}}
PLAIN = {"controller": {"use": "servo-baumgarte"}}
REASONS = {
    "must be a flat output": "not flat",
    "an input of their own": "shared channel",
    "relative degree 4 at most": "degree too high",
    "grows without bound": "grows without bound",
}
"""What a refusal says, and what the table makes of it."""
GOOD_TO = {"io_linearisation": 1e-6, "flat": 1e-7, "servo_dae": 1e-5, "stable_inversion": 1e-5}
"""Bounds of what is left: beside the integrator's 1e-9, inputs of up to eight derivatives of the
error; of cubic pieces made to be right to 1e-7; of inputs between the knots of steps of 50 ms."""
UNTIL = {
    "two-mass-spring-far-solved": 2.0, "four-mass-chain": 4.0, "crane-planar": 4.0,
    "crane-spatial": 5.0, "mass-on-car": T, "elastic-arm-middle": 2.0, "elastic-arm-tip": 2.0,
    "elastic-two-link": 1.0,
}  # fmt: skip
"""When each path has come to rest [s]."""


def closed_forms() -> ModuleType:
    """Return the script of the page on far masses and cranes that has their closed forms."""
    path = Path(__file__).parents[1] / "high_relative_degree" / "solutions.py"
    spec = importlib.util.spec_from_file_location("closed_forms_of_flat_outputs", path)
    if spec is None or spec.loader is None:
        raise RuntimeError(f"{path} is no script.")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@functools.cache
def theirs(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return q and u at those times by a route that shares nothing with ukctrl."""
    t = times(name)
    if name == "mass-on-car":
        s, _, force = by_hand.car_inner(t, M1, M2, K, C, 0.0, T)
        y = by_hand.rest_to_rest([0.0], [1.0], T)(t)[0][0]
        return np.column_stack([y, s]), force[:, None]
    if name in PATHS:
        q, _, u = independent(name)
        return q, u
    q, u = closed_forms().SOLUTIONS[name](t)
    return q, u


def times(name: str) -> np.ndarray:
    """Return times of samples, of which most lie between knots."""
    if name in TIMES:
        return TIMES[name]
    count = round(Scenario.load(name).timing.duration / 0.01) + 1
    return 0.01 * np.arange(count)


def told(error: str) -> str:
    """Return why something was refused, in a word."""
    for said, short in REASONS.items():
        if said in error:
            return short
    raise RuntimeError(f"a refusal that the table has no word for: {error}")


def agreed(kind: str, ours: tuple[np.ndarray, ...], hand: tuple[np.ndarray, ...]) -> str:
    """Return the bound of the larger of two errors: of q, and of u beside its peak."""
    q, _, u = apart((ours[0], hand[0], ours[1]), (hand[0], hand[0], hand[1]))
    return below(max(q, u), GOOD_TO[kind])


def by_motion(name: str, along: control.Inversion) -> str:
    """Return how far the motion of an inversion is off, or why there is none."""
    t = times(name)
    try:
        q, _, u = at(nominal(Scenario.load(name), along), t)
    except InputError as error:
        return told(str(error))
    return agreed(along.kind, (q, u), theirs(name))


def by_law(name: str) -> str:
    """Return the same of input-output linearisation."""
    try:
        run = simulate(Scenario.load(name).replace(LAW))
    except InputError as error:
        return told(str(error))
    if run.status != "completed":
        return run.status
    t, hand = times(name), theirs(name)
    ours = np.array([int(np.abs(run.time - one).argmin()) for one in t])
    return agreed("io_linearisation", (run["q"][ours], run["u"][ours]), hand)


def kinds() -> str:
    """Return every scenario's answer to every kind."""
    rows = []
    for name, until in UNTIL.items():
        plain = simulate(Scenario.load(name).replace(PLAIN))
        motions = (control.Flat(), control.ServoDae(), control.StableInversion(until=until))
        rows.append(
            [f"`{name}`", plain.status, by_law(name), *(by_motion(name, one) for one in motions)]
        )
    head = ["scenario", "plain law", "`io_linearisation`", "`flat`", "`servo_dae`"]
    return table([*head, "`stable_inversion`"], rows)
