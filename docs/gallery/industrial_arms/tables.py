"""The tables of the page: what the arms did, how near their limits, how it was verified."""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np
import pinocchio as pin
from makers_tables import panda_tool, ur5_tool
from markdown_text import below, error, fixed, table
from numpy.typing import NDArray

from ukctrl import Result, Robot, Scenario, catalog, simulate

SAME_STATE = 1e-11
"""Two routes to the same number at the same state, of some 10 N m, differ by rounding."""
INTEGRATED = 1e-8
"""What integration to a relative 1e-9 leaves of angles of some rad, and steps of 1 ms beside it."""
RUNS = {"ur5-pose": ("ur5", ur5_tool), "panda-pose": ("panda", panda_tool)}
NULL_SPACES: dict[str, dict[str, object]] = {
    "`posture`": {},
    "`damping`, 1 N m s/rad": {
        "controller.allocation.null_space": {"kind": "damping", "gain": 1.0}
    },
    "least torque (`servo-baumgarte`)": {"controller": {"use": "servo-baumgarte"}},
}


ORDERS: dict[str, tuple[str, ...]] = {
    "place, direction, posture": ("place", "direction", "posture"),
    "place, posture, direction": ("place", "posture", "direction"),
    "posture, place, direction": ("posture", "place", "direction"),
}


@functools.cache
def run(scenario: str) -> Result:
    """Run a scenario of the catalogue."""
    return simulate(Scenario.load(scenario))


@functools.cache
def two_rounds(null_space: str) -> Result:
    """Run the Panda's path, two rounds of it, with something else in its null space."""
    return simulate(Scenario.load("panda-pose").replace(NULL_SPACES[null_space]))


@functools.cache
def ordered(order: str) -> Result:
    """Run the Panda with its blocks in another order."""
    changes = {"controller.allocation.order": ORDERS[order]}
    return simulate(Scenario.load("panda-priorities").replace(changes))


def model(robot: str) -> pin.Model:
    """Return Pinocchio's own reading of a model file."""
    return pin.buildModelFromUrdf(str(catalog.root() / "robots" / robot / f"{robot}.urdf"))


def torque_gap(result: Result, arm: pin.Model) -> float:
    """Return the largest difference of the inputs from recursive Newton-Euler [N m]."""
    data = arm.createData()
    needed = [
        pin.rnea(arm, data, q, v, a)
        for q, v, a in zip(result["q"], result["v"], result["a"], strict=True)
    ]
    return float(np.abs(np.array(needed) - result["u"]).max())


def pose_gap(result: Result, tool: Callable[[NDArray[np.float64]], NDArray[np.float64]]) -> float:
    """Return how far the tool is from its path by the maker's table [m, rad]."""
    pose = Scenario.load(result.scenario["name"]).servo[0]
    worst = 0.0
    for t, q in zip(result.time, result["q"], strict=True):
        T = tool(q)
        off = pin.log3(pose.orientation(t).R.T @ T[:3, :3])
        worst = max(
            worst, float(np.abs(T[:3, 3] - pose.path(t)[0]).max()), float(np.abs(off).max())
        )
    return worst


def other_integrator(scenario: str) -> float:
    """Return how far the joints are from those of RK4 with steps of 1 ms [rad]."""
    fixed_steps = {"integrator": {"method": "RK4", "step": 1e-3}}
    other = simulate(Scenario.load(scenario).replace(fixed_steps))
    return float(np.abs(other["q"] - run(scenario)["q"]).max())


def routes() -> str:
    """Return what was compared, and how far apart it is."""
    rows = []
    for name, (robot, tool) in RUNS.items():
        result = run(name)
        rows += [
            [f"`{name}`", "inputs", "recursive Newton-Euler (Pinocchio) on the motion",
             f"{below(torque_gap(result, model(robot)), SAME_STATE)} N m"],
            ["", "pose of the tool", "the maker's Denavit-Hartenberg table, and the path",
             f"{below(pose_gap(result, tool), INTEGRATED)} m, rad"],
            ["", "joint angles", "RK4 with steps of 1 ms",
             f"{below(other_integrator(name), INTEGRATED)} rad"],
        ]  # fmt: skip
    return table(["run", "quantity", "compared with", "largest difference"], rows)


def limits() -> str:
    """Return how much of every joint's limits a run needs."""
    rows = []
    for name, (robot, _) in RUNS.items():
        arm, result = Robot.load(robot), run(name)
        torque = np.abs(result["u"]).max(axis=0) / arm.effort_limit
        speed = np.abs(result["v"]).max(axis=0) / arm.velocity_limit
        margin = np.minimum(result["q"] - arm.q_lower, arm.q_upper - result["q"]).min(axis=0)
        for i, joint in enumerate(arm.dofs):
            rows.append(
                [f"`{name}`" if i == 0 else "", f"`{joint}`", f"{100 * torque[i]:.0f} %",
                 f"{100 * speed[i]:.0f} %", fixed(float(np.rad2deg(margin[i])), 0)]
            )  # fmt: skip
    head = ["run", "joint", "of its torque", "of its speed", "least distance to a stop [deg]"]
    return table(head, rows)


def null_spaces() -> str:
    """Return what the seventh freedom does under three null-space inputs."""
    rows = []
    for name in NULL_SPACES:
        result = two_rounds(name)
        at = [int(np.argmin(np.abs(result.time - t))) for t in (3.0, 6.0)]
        shift = np.rad2deg(np.abs(result["q"][at[1]] - result["q"][at[0]]).max())
        speed = float(np.abs(result["v"]).max())
        beyond = "yes" if result.provenance["beyond_limits"] else "no"
        rows.append(
            [name, fixed(float(shift), 1), f"{speed:.2f}", beyond, f"{result.metric('effort'):.0f}",
             below(result.metric("peak_phi"), INTEGRATED)]
        )  # fmt: skip
    head = [
        "null space", "joints shift in the second round by [deg]", "fastest joint [rad/s]",
        "beyond its limits", "effort [(N m)² s]", "largest pose error [m, rad]",
    ]  # fmt: skip
    return table(head, rows)


def orders() -> str:
    """Return the largest error of every block in three orders."""
    rows = []
    for order in ORDERS:
        result = ordered(order)
        worst = [result.metric(f"peak_phi.{block}") for block in ("place", "direction", "posture")]
        moment = error(worst[0], INTEGRATED, "{:.2f}".format)
        turns = [error(value, INTEGRATED, "{:.2f}".format) for value in worst[1:]]
        gap = below(torque_gap(result, model("panda")), SAME_STATE)
        rows.append([order, moment, *turns, gap])
    head = [
        "order", "place [m]", "direction [rad]", "posture [rad]", "inputs to Newton-Euler [N m]"
    ]  # fmt: skip
    return table(head, rows)


TABLES = {"orders": orders, "routes": routes, "limits": limits, "null-spaces": null_spaces}
FACTS: dict[str, Callable[[], str]] = {}
