"""The 3RRR robot of Figures 2 to 4: its structure, and three routes to its accelerations."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ukctrl_papers import motion
from ukctrl_papers.claim import Claim, bounded_claim
from ukctrl_papers.recursive import three_rrr
from ukctrl_papers.recursive.kalman_recursion import (
    KalmanEstimate,
    mass_weighted,
    measurement_update,
)

TIMES = np.linspace(0.0, 2.0 * np.pi, 25)
"""One period of the platform's path [s]."""
ROUNDING_BOUND = 1e-11
DATA_NOTE = "No geometry or mass is in the text; data of the catalogue's three-rrr."


def structure_claims() -> Iterator[Claim]:
    """What is counted: modules, levels, freedoms, and who is coupled to whom."""
    s, s_dot, _ = three_rrr.path(0.0)
    at = three_rrr.state(s, s_dot)
    legs, robot = three_rrr.leg_level(at, np.zeros(3)), three_rrr.robot(at, np.zeros(3))
    modules = [name for name in robot.columns if "." in name or name == "platform"]
    yield Claim(where="Figure 4", what="modules at level 1", printed=10, ours=len(modules))
    yield Claim(where="Figure 4", what="modules at level 2", printed=4, ours=len(legs.parts))
    ranks = [finding.rank for finding in robot.findings]
    yield Claim(
        where="Figure 4",
        what="independent rows of levels 2 and 3, and freedoms left of 18 coordinates",
        ours=f"{sum(ranks[:3])}, {ranks[3]}, {robot.freedom}",
        holds=(sum(ranks[:3]), ranks[3], robot.freedom) == (9, 6, 3),
        note="The appendix with the counts is not in the text; a planar robot with three "
        "freedoms, and 10 modules with the coordinates of Figure 3, leave no other.",
    )
    A, _ = three_rrr.all_rows(at, np.zeros(3))
    apart = [
        np.abs(np.delete(A[3 * k : 3 * k + 3], np.arange(5 * k, 5 * k + 5), axis=1)).max()
        for k in range(3)
    ]
    coupled = np.abs(robot.M - np.diag(robot.M.diagonal())).max()
    outside = float(max(coupled, *apart))
    yield Claim(
        where="section 2, end",
        what="entries of M and of the legs' rows outside their modules",
        ours=outside,
        holds=outside == 0.0,
    )


def acceleration_claims() -> Iterator[Claim]:
    """Levels, one stroke and three coordinates, over a period of the path."""
    worst = dict.fromkeys(("path", "reduced", "stroke", "printed"), 0.0)
    for t in TIMES:
        s, s_dot, s_ddot = three_rrr.path(float(t))
        at = three_rrr.state(s, s_dot)
        u = three_rrr.torques(at, s_ddot)
        robot = three_rrr.robot(at, u)
        A, b = three_rrr.all_rows(at, u)
        root, H, a_0 = mass_weighted(robot.M, robot.Q, A)
        estimate = KalmanEstimate(a_0, np.eye(18))
        for rows in (slice(0, 9), slice(9, 15)):
            estimate = measurement_update(estimate, H[rows], b[rows])
        misses = {
            "path": robot.a[robot.columns["platform"]] - s_ddot,
            "reduced": robot.a - three_rrr.reduced_accelerations(at, u),
            "stroke": robot.a - motion.acceleration(robot.M, robot.Q, A, b),
            "printed": robot.a - root @ estimate.a,
        }
        for name, miss in misses.items():
            worst[name] = max(worst[name], float(np.abs(miss).max()))
    quantities = {
        "path": "platform acceleration under the torques that the path needs",
        "reduced": "all accelerations: levels and the platform's three coordinates",
        "stroke": "all accelerations: levels and one stroke",
        "printed": "all accelerations: levels and the printed recursion (4.14)-(4.16)",
    }
    for name, largest in worst.items():
        yield bounded_claim(
            "appendix S1",
            quantities[name],
            largest,
            ROUNDING_BOUND,
            unit="m/s^2, rad/s^2",
            note=DATA_NOTE,
        )
