"""The tables of the page: torques of three and six motors, and the routes that verify them."""

from __future__ import annotations

import functools

import numpy as np
from markdown_text import below, table
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

from ukctrl import Result, Scenario, papers, simulate

three_rrr = papers.recursive.three_rrr

NAMES = ("platform_x", "platform_y", "platform_angle")
START = (0.02, -0.01, 0.1, 0.06, 0.04, -0.5)
"""Where the platform is let go: place [m, m, rad] and velocity."""
SAME_STATE = 1e-10
"""Torques of some N m at states that agree to `ON_PATH` differ by its share of the stiffest row."""
LET_GO = 1e-9
"""Two motions integrated to a relative 1e-10 and 1e-11 for 1 s."""
ON_PATH = 1e-12
"""A path of 0.1 m that feedback holds, in double precision [m, rad]."""


@functools.cache
def run(scenario: str = "three-rrr") -> Result:
    """Run a scenario of the catalogue."""
    return simulate(Scenario.load(scenario))


@functools.cache
def needed() -> NDArray[np.float64]:
    """Return the torques of three motors from the platform's own equation [N m]."""
    torques = []
    for t in run().time:
        s, s_dot, s_ddot = three_rrr.path(t)
        torques.append(three_rrr.torques(three_rrr.state(s, s_dot), s_ddot))
    return np.array(torques)


def torques() -> str:
    """Return the range of every torque."""
    rows = []
    three, six = run(), run("three-rrr-redundant")
    for name in six.labels.actuators:
        cells = []
        for result in (three, six):
            if name in result.labels.actuators:
                u = result["u"][:, result.labels.actuators.index(name)]
                cells.append(f"{u.min():.3f} to {u.max():.3f}".replace("-", "−"))
            else:
                cells.append("–")
        rows.append([f"`{name}`", *cells])
    rows.append(
        ["effort, ∫ u'u dt [(N m)² s]", *(f"{r.metric('effort'):.3f}" for r in (three, six))]
    )
    rows.append(
        ["work without recuperation [J]", *(f"{r.metric('work'):.3f}" for r in (three, six))]
    )
    return table(["motor", "three motors [N m]", "six motors [N m]"], rows)


def routes() -> str:
    """Return what was compared, and how far apart it is."""
    three, six = run(), run("three-rrr-redundant")
    inverse = float(np.abs(three["u"] - needed()).max())
    least = 0.0
    for k in range(0, len(six.time), 5):
        s, s_dot, s_ddot = three_rrr.path(six.time[k])
        at = three_rrr.state(s, s_dot)
        pushes = np.zeros((18, 6))
        for leg in range(3):
            pushes[5 * leg, 2 * leg] = 1.0
            pushes[[5 * leg + 4, 5 * leg + 1], 2 * leg + 1] = 1.0, -1.0
        work = at.T.T @ three_rrr.mass() @ (at.T @ s_ddot + at.drift)
        shortest = np.linalg.pinv(at.T.T @ pushes) @ work
        least = max(least, float(np.abs(six["u"][k] - shortest).max()))
    rows = [
        ["three torques over the period", "the platform's own equation",
         f"{below(inverse, SAME_STATE)} N m"],
        ["six torques over the period", "shortest solution of the principle of virtual work",
         f"{below(least, SAME_STATE)} N m"],
        ["motion of the platform let go, 1 s", "three equations, integrated",
         f"{below(forward(), LET_GO)} m, rad"],
        ["platform on its path", "the path", f"{below(three.metric('peak_phi'), ON_PATH)} m, rad"],
        ["closures", "", f"{below(three.metric('peak_passive_phi'), ON_PATH)} m"],
    ]  # fmt: skip
    return table(["quantity", "compared with", "largest difference"], rows)


def forward() -> float:
    """Return how far the platform, let go, is from its own equation after 1 s."""
    scenario = Scenario(
        title="The platform is let go",
        robot="three_rrr",
        start={
            "q": dict(zip(NAMES, START[:3], strict=True)),
            "v": dict(zip(NAMES, START[3:], strict=True)),
            "solve": True,
            "hold": NAMES,
        },
        timing={"duration": 1.0, "sample": 0.05},
    )
    result = simulate(scenario)

    def rates(t: float, state: NDArray[np.float64]) -> NDArray[np.float64]:
        at = three_rrr.state(state[:3], state[3:])
        return np.append(state[3:], three_rrr.reduced_accelerations(at, np.zeros(3))[-3:])

    alone = solve_ivp(rates, (0.0, 1.0), START, "DOP853", result.time, rtol=1e-11, atol=1e-12)
    at = [result.labels.coordinates.index(name) for name in NAMES]
    return float(np.abs(result["q"][:, at] - alone.y[:3].T).max())


def saved() -> str:
    """Return by how much six motors need less effort than three."""
    three, six = run().metric("effort"), run("three-rrr-redundant").metric("effort")
    return f"{100.0 * (1.0 - six / three):.0f} %"


TABLES = {"torques": torques, "routes": routes}
FACTS = {"saved": saved}
