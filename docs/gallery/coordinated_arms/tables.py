"""The tables of the page: what the paper prints, and what the readings give."""

from __future__ import annotations

import math

import numpy as np
from markdown_text import below, error, fixed, minus, table

from ukctrl import papers

arms = papers.servo.arms
claims = papers.servo.motion_claims
equations = papers.servo.equations
literal = papers.servo.literal_steps
newton = papers.servo.newton_euler
runs = papers.servo.runs

WORDS = {
    "minimum norm": "minimum norm (`servo-baumgarte`, default)",
    "consistent": "consistent (`servo-chen`)",
    "stacked": "stacked (`servo-stacked`)",
    "literal": "literal (`servo-frozen`)",
}
HELD = 1e-11
"""What feedback leaves of rows of 1 m, and of the forces on the bar, in double precision."""
TORQUES = 1e-9
"""Torques of some 10 N m at states that agree to `HELD`, through the closure's inverse [N m]."""
SAME_STATE = 1e-12
"""Two ways to write the same matrix, of entries up to 100, differ by rounding."""
SQUEEZES = (None, 0.0, 20.0, 100.0)


def number(value: float, digits: int = 2) -> str:
    """Return a number with so many decimals, halves away from zero, and no negative zero."""
    return fixed(value + math.copysign(1e-9, value), digits)


def small(value: float, bound: float = HELD) -> str:
    """Return the bound of an error that is rounding, else the error."""
    return error(value, bound, lambda large: number(large, 3))


def said(value: float | str | None) -> str:
    """Return what a claim prints."""
    if value is None:
        return ""
    return value if isinstance(value, str) else minus(f"{value:g}")


def ranges() -> str:
    """Return the torque ranges of every reading beside the paper's prose."""
    found = [runs.reading_torques(reading) for reading in WORDS]
    rows = []
    for k, motor in enumerate(runs.MOTOR_NAMES):
        low, high = runs.PRINTED_RANGES[k]
        ours = [" .. ".join(number(end) for end in each.ranges[k]) for each in found]
        rows.append([motor, f"**{said(low)} .. {said(high)}**", *ours])
    norms = [number(float(np.linalg.norm(each.u[0]))) for each in found]
    rows.append(["norm of u(0)", "“minimum”", *norms])
    rows.append(["rms to the paper", "", *(number(each.distance) for each in found)])
    return table(["[N m]", "**paper**", *WORDS], rows)


def start() -> str:
    """Return u(0) of every reading."""
    found = [runs.reading_torques(reading).u[0] for reading in WORDS]
    return table(
        ["[N m]", *WORDS],
        ([motor, *(number(u[k], 4) for u in found)] for k, motor in enumerate(runs.MOTOR_NAMES)),
    )


def errors() -> str:
    """Return what the closed loops achieve over a period."""
    rows = []
    for reading, words in WORDS.items():
        run = runs.arms_run(reading)
        rows.append(
            [
                words,
                small(run.metric("peak_phi")),
                small(run.metric("peak_passive_phi")),
                small(runs.largest_motion_error(run)),
                below(runs.torque_difference(reading), TORQUES)
                if reading != "literal"
                else "leaves the motion",
            ]
        )
    return table(
        ["reading", "task [m, rad]", "closure [m]", "links to the known motion [rad]",
         "torques to the closed form [N m]"],
        rows,
    )  # fmt: skip


def squeeze() -> str:
    """Return what a squeeze costs and changes."""
    rows = []
    for force in SQUEEZES:
        run = runs.squeeze_run(force)
        found = newton.bar_forces(run)
        along = found.left_force[:, 0]
        rows.append(
            [
                "none asked for" if force is None else f"{force:g} N",
                f"{number(along.min())} .. {number(along.max())}",
                number(float(np.linalg.norm(run["u"], axis=1).max())),
                small(run.metric("peak_phi")),
                below(found.residual, HELD),
            ]
        )
    return table(
        ["squeeze", "force of the left arm along the bar [N]", "largest norm of u [N m]",
         "task error [m, rad]", "Newton and Euler's equations of the bar missed by [N, N m]"],
        rows,
    )  # fmt: skip


def motion() -> str:
    """Return the statements on the motion."""
    return table(
        ["place", "quantity", "paper", "ours"],
        (
            [
                one.where,
                f"{one.what} [{one.unit}]" if one.unit else one.what,
                said(one.printed) or "lost",
                _of_motion(one),
            ]
            for one in claims.arm_motion_claims()
        ),
    )


def _of_motion(one: papers.Claim) -> str:
    if isinstance(one.ours, str):
        return minus(one.ours)
    return small(one.ours) if one.within == claims.ERROR_TOLERANCE else number(one.ours, 0)


def misprints() -> str:
    """Return the misprints of the equations, with what they must be."""
    wrong = [*equations.misprint_claims(), *equations.theory_claims()]
    return table(
        ["place", "printed", "correct", "how we know"],
        ([one.where, said(one.printed), said(one.ours), one.note] for one in wrong),
    )


def matrices() -> str:
    """Return how far the paper's matrices are from ours."""
    return table(
        ["equation", "what", "largest difference"],
        (
            [one.where, one.what.split(": largest")[0], small(float(one.ours), SAME_STATE)]
            for one in equations.matrix_claims()
        ),
    )


def opened() -> str:
    """Return how far the closure opens."""
    gap = arms.closure_error(literal.angles_at(literal.literal_run(False), literal.READ_OFF_TIME))
    return f"{np.linalg.norm(gap):.2f} m, of which {abs(gap[1]):.2f} m in height,"


def broken() -> str:
    """Return when the literal steps break down."""
    return f"{literal.literal_run(False).end:.2f} s"


def lost() -> str:
    """Return how far the load leaves its path on a closed chain."""
    theta = literal.angles_at(literal.literal_run(True), literal.READ_OFF_TIME)
    height = float(np.sin(theta) @ [1.0, 1.0, 0.5, 0.0, 0.0])
    off = abs(height - 0.5 * (1.0 - np.cos(literal.READ_OFF_TIME)))
    return f"{off:.2f} m and {abs(theta[2]):.2f} rad"


def held() -> str:
    """Return how far the load leaves its path where feedback holds it back."""
    return f"{runs.arms_run('literal').metric('peak_phi'):.3f}"


def left() -> str:
    """Return the contraction factor."""
    factors = [literal.reaction_contraction(t) for t in np.linspace(0.0, arms.PERIOD, 181)]
    return f"{min(factors):.2f} to {max(factors):.2f}"


def matched() -> str:
    """Return how many printed bounds the consistent reading meets."""
    off = np.abs(runs.reading_torques("consistent").ranges - runs.PRINTED_RANGES)
    words = {11: "eleven"}
    count = int((off <= claims.FIGURE_TOLERANCE).sum())
    return words.get(count, str(count))


def cut() -> str:
    """Return how far the least norm depends on where the loop is cut."""
    off = np.abs(runs.squeeze_run(None)["u"] - runs.arms_run("minimum norm")["u"]).max()
    return below(float(off), TORQUES)


TABLES = {
    "ranges": ranges,
    "start": start,
    "errors": errors,
    "squeeze": squeeze,
    "motion": motion,
    "misprints": misprints,
    "matrices": matrices,
}
FACTS = {
    "opened": opened,
    "broken": broken,
    "lost": lost,
    "held": held,
    "left": left,
    "matched": matched,
    "cut": cut,
}
assert set(WORDS) == set(arms.READINGS)
