"""The tables of the page: the linkage from every start, by every route, with and without help."""

from __future__ import annotations

import functools

import numpy as np
from markdown_text import below, table, within
from numpy.typing import NDArray

from ukctrl import Dynamics, Result, Robot, Scenario, papers, simulate

SLOW = True
STARTS = ((-45, 0.0), (-80, 0.0), (-10, 0.0), (30, 0.0), (60, 0.0), (-90, 8.0))
"""Angle of the links [deg] and its rate [rad/s]; the last three pass aligned positions."""
ANGLE, ALIGNED = 1e-10, 1e-8
"""What integration to a relative 1e-10 leaves of an angle over 20 s [rad]; where aligned positions
are passed, in which the rows lose rank, and in relative coordinates, a hundred times as much."""
ENERGY, CLOSURES = 1e-9, 1e-10
"""The same of the energy, relatively, and of the closures, which feedback holds [m]."""
COARSE = {"integrator.rtol": 1e-8, "integrator.atol": 1e-8}
"""The tolerance of the paper's Table 8."""
KINDS = ("none", "baumgarte", "projection")
CHANCES = 24
"""What is left to rounding is tried this many times, each at another tolerance."""
CORRECT = 1e-3
"""A link's angle farther off than this is wrong [rad]."""


@functools.cache
def run(
    degrees: int = -45, rate: float = 0.0, scenario: str = "five-bar", duration: float | None = None
) -> Result:
    """Run a scenario of the catalogue from one of the starts."""
    start = {"start.q.link1_angle": f"{degrees}*deg", "start.v": {"link1_angle": rate}}
    start |= {} if duration is None else {"timing.duration": duration}
    relative = scenario == "five-bar-relative"
    return simulate(Scenario.load(scenario, {} if relative else start))


@functools.cache
def coarse(kind: str, threshold: float, degrees: int, looser: float = 1.0) -> Result:
    """Run at the paper's tolerance with a rank threshold, stabilised in one of three ways."""
    changes = {
        **{path: looser * value for path, value in COARSE.items()},
        "rank.passive": threshold,
        "stabilisation": {"kind": kind},
        "start.q.link1_angle": f"{degrees}*deg",
    }
    return simulate(Scenario.load("five-bar-drift", changes))


def error(result: Result, degrees: int, rate: float = 0.0) -> NDArray[np.float64]:
    """Return how far link 1 is from the pendulum over time [rad]."""
    inertia, moment = papers.parallelogram.pendulum()
    square = moment * papers.parallelogram.GRAVITY / inertia
    exact, _ = papers.parallelogram.pendulum_motion(result.time, square, np.radians(degrees), rate)
    at = result.labels.coordinates.index("link1_angle")
    return np.abs(result["q"][:, at] - exact)


def starts() -> str:
    """Return every start of the linkage beside the closed form."""
    rows = []
    for degrees, rate in STARTS:
        result = run(degrees, rate)
        assert result.status == "completed", result.message
        energy = np.ptp(result["energy"]) / result["kinetic_energy"].max()
        rank = result["passive_rank"]
        passes = bool(np.ptp(np.sign(np.sin(result["q"][:, 2]))))
        rows.append(
            [
                f"{degrees}°, {rate:g} rad/s".replace("-", "−"),
                below(float(error(result, degrees, rate).max()), ALIGNED if passes else ANGLE),
                below(float(energy), ENERGY),
                below(result.metric("peak_passive_phi"), CLOSURES),
                "yes" if passes else "no",
                f"{rank.max():.0f}",
            ]
        )
    head = ["start", "θ to the closed form [rad]", "relative energy drift", "closures [m]",
            "passes aligned positions", "rank between them"]  # fmt: skip
    return table(head, rows)


def routes() -> str:
    """Return the differences between the routes over 20 s."""
    maximal, relative = run(), run(scenario="five-bar-relative")
    names = [f"link{k}_angle" for k in (1, 2, 3)]
    angles = [
        result["q"][:, [result.labels.coordinates.index(name) for name in names]]
        for result in (maximal, relative)
    ]
    apart = float(np.abs(angles[0] - angles[1]).max())
    places = (maximal["frame_position"][:, 1], relative["frame_position"][:, 1])
    rows = [
        ["maximal coordinates and the closed form", "12", "12", "11",
         f"{below(float(error(maximal, -45).max()), ANGLE)} rad"],
        ["relative coordinates and the closed form", "4", "4", "3",
         f"{below(float(error(relative, -45).max()), ALIGNED)} rad"],
        ["maximal and relative: three angles", "", "", "", f"{below(apart, ALIGNED)} rad"],
        ["maximal and relative: end of the coupler", "", "", "",
         f"{below(float(np.abs(places[0] - places[1]).max()), ALIGNED)} m"],
    ]  # fmt: skip
    return table(["routes", "coordinates", "rows", "rank", "largest difference"], rows)


def thresholds() -> str:
    """Return whether each stabilisation and rank threshold carries through 20 s."""
    cases = ((1e-8, -45), (1e-7, -45), (1e-4, -45), (1e-4, 30))
    rows = [[kind, *(_carried(kind, *case) for case in cases)] for kind in KINDS]
    head = ["stabilisation", "−45°: threshold 10⁻⁸", "10⁻⁷", "10⁻⁴ (default)", "30°: default"]
    return table(head, rows)


def _carried(kind: str, threshold: float, degrees: int) -> str:
    """Return how a run ends; one that nothing holds past aligned positions, by rounding."""
    chances = CHANCES if kind == "none" and degrees > 0 else 1
    ends = {_end(coarse(kind, threshold, degrees, 1.0 + k / 50.0), degrees) for k in range(chances)}
    return ends.pop() if len(ends) == 1 else " or ".join(sorted(ends)) + ", by rounding"


def _end(result: Result, degrees: int) -> str:
    if result.status != "completed":
        return "stops"
    return "wrong" if (error(result, degrees) > CORRECT).any() else "correct"


def growth() -> str:
    """Return the factor per second by which unstabilised closures open."""
    result = run(scenario="five-bar-drift", duration=30.0)
    opened = np.linalg.norm(result["passive_phi"], axis=1)
    late = (opened > 1e-7) & (opened < 1e-2)
    rate = np.exp(np.polyfit(result.time[late], np.log(opened[late]), 1)[0])
    return within(float(rate), 3.0, 4.5, "three to four")


def opened() -> str:
    """Return how far the unstabilised closures are open in the end.

    What grows is rounding of the first steps, of some 1e-15 m; its size is the processor's.
    """
    last = float(np.linalg.norm(run(scenario="five-bar-drift")["passive_phi"][-1]))
    return within(last, 1e-8, 1e-2, "less than a micrometre, or a millimetre")


def eleventh() -> str:
    """Return the eleventh singular value of the rows over the sine of the angle."""
    dynamics = Dynamics(Robot.load("five_bar"))
    angle = 1e-4
    dynamics.move(0.0, *papers.parallelogram.closed_configuration(angle))
    sigma = np.linalg.svd(dynamics.passive.rows.A, compute_uv=False)
    return f"{sigma[10] / np.sin(angle):.5f}"


def twelfth() -> str:
    """Return the twelfth singular value over a random error of the coordinates, in the median."""
    rng, dynamics = np.random.default_rng(0), Dynamics(Robot.load("five_bar"))
    q, v = papers.parallelogram.closed_configuration(np.radians(-45.0))
    shares = []
    for _ in range(200):
        error_ = 1e-6 * rng.standard_normal(12)
        dynamics.snapshot.move(q + error_, v)
        A = dynamics.passive.write(dynamics.snapshot).A
        D = A / np.sqrt(np.diag(dynamics.snapshot.M))
        shares.append(np.linalg.svd(D, compute_uv=False)[11] / 1e-6)
    return f"{np.median(shares):.1f}"


TABLES = {"starts": starts, "routes": routes, "thresholds": thresholds}
FACTS = {"growth": growth, "opened": opened, "eleventh": eleventh, "twelfth": twelfth}
