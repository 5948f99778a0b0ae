"""The tables of the page: what the plain law is told, and the runs beside the closed forms."""

from __future__ import annotations

import functools

import numpy as np
from markdown_text import below, table
from solutions import SOLUTIONS

from ukctrl import Loop, Result, Scenario, relative_degree, simulate

SLOW = True
EXACT, TRACKED = 1e-7, 1e-6
"""What is left beside integration to a relative 1e-9, where every row has an input of its own; and
where LQR brings it back slowly, or nothing does [m, rad]."""
INPUT, PLANNED = 1e-6, 1e-7
"""Of an input, part of its peak: with feedback of up to eight derivatives of the error; and of the
planned one, between the knots of its cubic pieces."""
PLAIN = {"controller": {"use": "servo-baumgarte"}}
FEEDFORWARD = {"controller": {"use": "feedforward-flat"}}


@functools.cache
def run(name: str, alone: bool = False) -> Result:
    """Return a run: as the scenario says, or by the input of the flat motion alone."""
    scenario = Scenario.load(name)
    return simulate(scenario.replace(FEEDFORWARD) if alone else scenario)


def refused() -> str:
    """Return what is told to who tries the plain law."""
    rows = []
    for name in SOLUTIONS:
        loop = Loop(Scenario.load(name).replace(PLAIN))
        q, v, _ = loop.state
        servo = loop.servo
        alone = relative_degree.relative_degrees(loop.plant, servo, loop.t0, q, v)
        whole = relative_degree.shared_channel_degree(loop.plant, servo, loop.t0, q, v, alone)
        if whole is None or whole.orders is None:
            raise RuntimeError(f"{name}: the rows together have no relative degree.")
        rows.append([
            f"`{name}`", str(whole.states), str(loop.robot.nu),
            f"{whole.channels} of {len(servo)}" if whole.extended else "each its own",
            ", ".join(map(str, whole.orders)), str(whole.internal),
        ])  # fmt: skip
    head = ["scenario", "states", "inputs", "channels of the rows", "relative degree together"]
    return table([*head, "internal states"], rows)


def solved() -> str:
    """Return how far the runs are from the closed forms."""
    rows = []
    for name, solution in SOLUTIONS.items():
        for alone in (False, True):
            found = run(name, alone)
            motion = TRACKED if alone or _card(name) == "tvlqr-flat" else EXACT
            force = PLANNED if alone else INPUT
            q, u = solution(found.data["time"].values)
            peak = float(np.abs(u).max())
            rows.append([
                f"`{name}`", "flat, input alone" if alone else f"`{_card(name)}`",
                below(found.metric("peak_phi"), motion),
                below(float(np.abs(found.data["q"].values - q).max()), motion),
                below(float(np.abs(found.data["u"].values - u).max()) / peak, force),
                f"{peak:.4g} N",
            ])  # fmt: skip
    head = ["scenario", "controller", "largest error of the rows [m]"]
    head += ["q to the closed form [m, rad]", "u to it, part of its peak", "peak"]
    return table(head, rows)


def _card(name: str) -> str:
    return "tvlqr-flat" if name.startswith("crane") else "io-linearisation"


def message() -> str:
    """Return what a run of the plain law on the crane says."""
    found = simulate(Scenario.load("crane-planar").replace(PLAIN))
    return found.message.split(") ", 1)[-1].split(". ", 1)[-1]


TABLES = {"refused": refused, "solved": solved}
FACTS = {"message": message}
