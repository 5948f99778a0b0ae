"""The numbers of the page: every equation of motion on every system."""

from __future__ import annotations

import numpy as np
import systems
from markdown_text import table

from ukctrl import UkctrlError, motion, papers, pseudoinverse

three_rrr = papers.recursive.three_rrr

ROUNDING = 1e-11
"""What a difference must stay below to be called rounding; its digits depend on the machine."""
SYSTEMS = {
    "five-bar at −45°": lambda: systems.linkage(-45.0),
    "five-bar aligned": lambda: systems.linkage(0.0),
    "3RRR": systems.parallel_robot,
    "two masses": systems.two_masses,
    "Euler parameters": systems.rigid_body,
}


def shown(miss: float) -> str:
    """Return a difference, or that it is rounding."""
    return "agrees" if miss < ROUNDING else f"**{miss:.1e}**"


def outcome(system: systems.Known, form: motion.Form, method: str = "svd") -> str:
    """Return how far a form is from what is known, or why it refuses."""
    try:
        a = motion.acceleration(*system[:4], form, inverse=method)
    except UkctrlError as error:
        return f"refused: `{type(error).__name__}`"
    return shown(float(np.abs(a - system.exact).max() / np.abs(system.exact).max()))


def counts() -> str:
    """What the systems are."""
    rows = []
    for name, make in SYSTEMS.items():
        M, _, A, _, _ = make()
        n, m = len(M), len(A)
        ranks = [np.linalg.matrix_rank(X, tol=1e-9) for X in (M, A, np.vstack([M, A]))]
        rows.append([name, str(n), str(m), *map(str, ranks), str(n - ranks[1])])
    return table(
        ["", "coordinates", "rows", "rank of $M$", "rank of $A$", "of $(M; A)$", "freedoms"], rows
    )


def agreement() -> str:
    """Every form on every system."""
    known = {name: make() for name, make in SYSTEMS.items()}
    rows = [
        [f"`{form}`", *(outcome(system, form) for system in known.values())]
        for form in motion.FORMS
    ]
    return table(["", *known], rows)


def methods() -> str:
    """Every form with every pseudoinverse, on the linkage."""
    linkage = systems.linkage(-45.0)
    inverting = [form for form, card in motion.FORMS.items() if card.inverts]
    rows = [
        [f"`{method}`", *(outcome(linkage, form, method) for form in inverting)]
        for method in pseudoinverse.METHODS
    ]
    return table(["", *(f"`{form}`" for form in inverting)], rows)


def levels() -> str:
    """What each level of the 3RRR robot takes."""
    s, s_dot, s_ddot = three_rrr.path(1.0)
    at = three_rrr.state(s, s_dot)
    robot = three_rrr.robot(at, three_rrr.torques(at, s_ddot))
    left = 18
    rows = [["ten modules", "", "", "18"]]
    for finding in robot.findings:
        left -= finding.rank
        rows.append([finding.level, str(len(finding.variance)), str(finding.rank), str(left)])
    return table(["level", "rows", "independent", "freedoms left"], rows)


def levels_miss() -> str:
    """How far the levels are from the platform's three equations."""
    s, s_dot, s_ddot = three_rrr.path(1.0)
    at = three_rrr.state(s, s_dot)
    u = three_rrr.torques(at, s_ddot)
    robot, exact = three_rrr.robot(at, u), three_rrr.reduced_accelerations(at, u)
    return shown(float(np.abs(robot.a - exact).max() / np.abs(exact).max()))


TABLES = {"counts": counts, "agreement": agreement, "methods": methods, "levels": levels}
FACTS = {"levels_miss": levels_miss, "rounding": lambda: f"{ROUNDING:.0e}"}
