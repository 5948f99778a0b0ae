"""The numerical section: the start, the drift, the stabilised motion and the torques."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from ukctrl.core.arrays import Vector
from ukctrl.core.number_text import number
from ukctrl_papers.claim import Claim, Verdict
from ukctrl_papers.claim_text import bound_text
from ukctrl_papers.scara import formulas
from ukctrl_papers.scara.formulas import (
    BETA,
    CLIMB_RATE,
    LITERAL_START,
    SIGNED_START,
    START_READINGS,
    V_PRINTED,
    X_PRINTED,
    Y_PRINTED,
    Z_PRINTED,
    dormand_prince,
)
from ukctrl_papers.scara.runs import (
    DRIFT,
    ROW_ORDER,
    STABILISED,
    exact_run,
    peak_errors,
    peak_joint_errors,
    run,
)

SECTION = "Simulation section"
PRINTED_ERRORS = (("x", X_PRINTED, 5e-5), ("y", Y_PRINTED, 5e-4), ("z", Z_PRINTED, 5e-3))
"""Largest errors as printed, and what their digits allow [m]."""
CLOSED_FORM_TOLERANCE = 1e-8
"""How well a simulated error must follow its closed form [m or rad]."""
LOST_SIGNS_NOTE = (
    "the signs of one or two angles are lost: exact are (30.75, -54.90, 24.15) or its mirror"
)


def start_claims() -> Iterator[Claim]:
    """The printed start."""
    exact = np.degrees(formulas.exact_start(-1.0)[0])
    for k, printed in enumerate((30.0, 55.0, 24.0)):
        yield Claim(
            where=SECTION,
            what=f"q{k + 1}(0), beside the start exactly on the path with q2 < 0",
            printed=printed,
            ours=float(exact[k]),
            within=0.5,
            unit="deg",
            otherwise="differs: misprint",
            note=("30.75 is cut off, not rounded", "the sign is lost", "")[k],
        )
    velocity = formulas.exact_start(-1.0)[1]
    for k in (0, 2):
        yield Claim(
            where=SECTION,
            what=f"v{k + 1}(0), beside the exact one",
            printed=float(V_PRINTED[k]),
            ours=float(velocity[k]),
            within=5e-4,
            unit="rad/s",
            note="the same on both branches of the elbow",
        )
    _, rate = formulas.violation(formulas.exact_start(-1.0)[0], V_PRINTED)
    yield Claim(
        where="Error reducing",
        what="largest rate at which the printed velocities leave the constraints",
        printed="not zero",
        ours=float(np.abs(rate).max()),
        unit="m/s",
        holds=bool(np.abs(rate).max() > 1e-4),
        note="the initial conditions are incompatible with the constraints on purpose: the slide "
        "moves at 0.0195 instead of 0.02 m/s",
    )
    off, _ = formulas.violation(START_READINGS[LITERAL_START], V_PRINTED)
    for quantity, value, unit in (
        ("x error", abs(off[0]), "m"),
        ("y error", abs(off[1]), "m"),
        ("orientation error", abs(np.degrees(off[2])), "deg"),
    ):
        yield Claim(
            where="Figures 3 to 5",
            what=f"{quantity} of the literal start (30, 55, 24)",
            printed="slight",
            ours=float(value),
            unit=unit,
            otherwise="differs: misprint",
            note=LOST_SIGNS_NOTE,
        )


def drift_claims() -> Iterator[Claim]:
    """The drift without stabilisation."""
    yield _workspace_claim(DRIFT, formulas.linear_drift, "Figures 2 to 5")
    yield Claim(
        where="Figures 2 to 5",
        what="horizon",
        ours=Z_PRINTED / (CLIMB_RATE - float(V_PRINTED[3])),
        unit="s",
        otherwise="differs: underspecified",
        note="the time in which the slide, too slow by 0.0005 m/s, falls 0.01 m behind",
    )
    for name, q in _feasible_starts():
        result = run(DRIFT, name)
        miss = float(
            np.abs(result["phi"] - formulas.linear_drift(q, result.time)[:, ROW_ORDER]).max()
        )
        worst = peak_errors(result)
        line = (
            f"the straight line Phi(0) + Phi'(0) t within {bound_text(miss, CLOSED_FORM_TOLERANCE)}"
        )
        for k, (axis, printed, within) in enumerate(PRINTED_ERRORS):
            if axis == "z" and name != SIGNED_START:
                continue  # it does not depend on the angles
            yield Claim(
                where="Figure 5",
                what=f"largest {axis} error{_start_text(name)}",
                printed=printed,
                ours=float(worst[k]),
                within=within,
                unit="m",
                otherwise=_verified_verdict("differs: underspecified", miss),
                note=line if axis == "z" else f"{line}; {REASON_NOTE}",
            )
    yield Claim(
        where="Figure 5",
        what="largest y error that goes with the printed x error, from any start that rounds to "
        "the printed velocities",
        printed=Y_PRINTED,
        ours=formulas.largest_y_error(),
        within=PRINTED_ERRORS[1][2],
        unit="m",
        otherwise="differs: underspecified",
        note="so no start gives both printed maxima; the integrator's error is part of them",
    )


REASON_NOTE = "the lost signs, and the unknown error of the paper's integrator"


def coarse_claims() -> Iterator[Claim]:
    """The drift as a coarse integrator sees it."""
    for name, q in _feasible_starts():
        times, errors = dormand_prince(q)
        worst = np.abs(errors).max(axis=0)
        for k, (axis, printed, within) in enumerate(PRINTED_ERRORS[:2]):
            yield Claim(
                where="Figure 5",
                what=f"largest {axis} error{_start_text(name)}, steps of ode45 at 0.001",
                printed=printed,
                ours=float(worst[k]),
                within=within,
                unit="m",
                otherwise="differs: underspecified",
                note=f"{(len(times) - 1) // 10} steps; the paper names neither integrator nor "
                "tolerance",
            )


def stabilised_claims() -> Iterator[Claim]:
    """The stabilised motion."""
    yield _workspace_claim(STABILISED, formulas.damped_error, "Figures 6 to 10")
    result = run(STABILISED)
    A, _ = formulas.rows(result["q"][0], result["v"][0])
    row_a = A @ result["a"][0]
    reference = formulas.stabilised(result["q"][0], result["v"][0])
    yield Claim(
        where="eq (54)",
        what="right-hand side, row x, at the start of the stabilised run",
        printed=float(reference[0]),
        ours=float(row_a[0]),
        unit="m/s^2",
        holds=bool(np.abs(row_a - reference).max() < CLOSED_FORM_TOLERANCE),
        note="ours is A q'' of the simulation; all rows agree",
    )
    slowest, miss = 0.0, 0.0
    for name, q in _feasible_starts():
        result = run(STABILISED, name)
        follows = np.abs(result["phi"] - formulas.damped_error(q, result.time)[:, ROW_ORDER]).max()
        slowest = max(slowest, float(peak_errors(result, after=10.0)[0] / peak_errors(result)[0]))
        miss = max(miss, float(follows))
    yield Claim(
        where="eq (52)",
        what="largest x error after 10 s over the largest, the worst of six starts",
        printed="tends to 0",
        ours=slowest,
        holds=miss < CLOSED_FORM_TOLERANCE and slowest < 0.1,
        note=f"exp(-t/4) times an oscillation at {formulas.FREQUENCY:.2f} rad/s, from every start "
        f"within {bound_text(miss, CLOSED_FORM_TOLERANCE)}",
    )
    drift_errors, final_errors = peak_joint_errors(run(DRIFT)), peak_joint_errors(run(STABILISED))
    for k in range(4):
        yield Claim(
            where="Figure 8",
            what=f"largest q{k + 1} error, stabilised over not "
            f"stabilised{_start_text(SIGNED_START)}",
            printed="lowered",
            ours=float(final_errors[k] / drift_errors[k]),
            holds=bool(final_errors[k] < 0.25 * drift_errors[k]),
            note="'substantially lowered' is read as below a quarter",
        )
    worst, late = peak_errors(run(STABILISED)), peak_errors(run(STABILISED), after=10.0)
    for k, axis in enumerate("xyz"):
        yield Claim(
            where="Figure 9",
            what=f"largest {axis} error from 10 s on{_start_text(SIGNED_START)}",
            printed="acceptable",
            ours=float(late[k]),
            unit="m",
            holds=bool(late[k] < 1e-3),
            note=f"at most {number(float(worst[k]))} m before; acceptable is read as below 1 mm",
        )


def torque_claims() -> Iterator[Claim]:
    """The constraint torques."""
    for branch, elbow in (("q2 > 0", 1.0), ("q2 < 0", -1.0)):
        result = exact_run(elbow)
        q, v = formulas.exact_start(elbow)
        closed = formulas.constraint_torque(q, v, formulas.rows(q, v)[1])
        miss = float(np.abs(result["u"][0] - closed).max())
        for k in range(4):
            yield Claim(
                where="Figure 10, eq (50)",
                what=f"Q_c{k + 1} on the path at t = 0, {branch}",
                ours=float(np.round(result["u"][0, k], 12)) + 0.0,
                unit="N" if k == 3 else "N m",
                otherwise=_verified_verdict("differs: underspecified", miss),
                note="no torque, no Q, no g and no branch is printed; with Q = -C q' - G, (50) "
                f"gives the same within {bound_text(miss, CLOSED_FORM_TOLERANCE)}",
            )
    result = exact_run(1.0)
    for k, quantity, reference, reason in (
        (2, "Q_c3", 0.0, "the tool does not turn"),
        (3, "Q_c4", 0.5 * formulas.GRAVITY, "m4 g: the slide moves uniformly"),
    ):
        yield Claim(
            where="Figure 10",
            what=f"{quantity} over the whole path: largest departure from {number(reference, 4)}",
            printed="constant",
            ours=float(np.abs(result["u"][:, k] - reference).max()),
            holds=bool(np.abs(result["u"][:, k] - reference).max() < CLOSED_FORM_TOLERANCE),
            unit="N" if k == 3 else "N m",
            note=reason,
        )
    result = run(STABILISED)
    q, v = result["q"][0], result["v"][0]
    closed = formulas.constraint_torque(q, v, formulas.stabilised(q, v))
    miss = float(np.abs(result["u"][0] - closed).max())
    yield Claim(
        where="Figure 10, eq (53)",
        what=f"Q_c1 of the stabilised motion at t = 0{_start_text(SIGNED_START)}",
        ours=float(result["u"][0, 0]),
        unit="N m",
        otherwise=_verified_verdict("differs: underspecified", miss),
        note=f"beta = {BETA:.0f} answers the x error of the start; (50) with the right-hand side "
        f"of (54) gives the same within {bound_text(miss, CLOSED_FORM_TOLERANCE)}",
    )


def _feasible_starts() -> Iterator[tuple[str, Vector]]:
    """Yield the readings of the initial angles that allow the motion."""
    yield from ((name, q) for name, q in START_READINGS.items() if name != LITERAL_START)


def _start_text(name: str) -> str:
    plain = name.replace("−", "-")
    return f" from {plain.replace('exact', 'the exact start')}"


def _workspace_claim(scenario: str, error: Callable[[Vector, Vector], Vector], where: str) -> Claim:
    """Return the claim that the literal start allows the motion that the figures show."""
    result = run(scenario, LITERAL_START)
    leaves = formulas.workspace_exit_time(error)
    agrees = result.status != "completed" and leaves - 0.011 < result.time[-1] <= leaves
    return Claim(
        where=where,
        what="time until the motion from (30, 55, 24) leaves the workspace",
        printed="never",
        ours=leaves,
        unit="s",
        otherwise="differs: misprint" if agrees else "differs",
        note=f"{LOST_SIGNS_NOTE}; det A = 0 there, and the simulation ends as '{result.status}' at "
        f"{result.time[-1]:.2f} s",
    )


def _verified_verdict(verdict: Verdict, miss: float) -> Verdict:
    """Return what a difference means, once our number is confirmed by another route."""
    return verdict if miss < CLOSED_FORM_TOLERANCE else "differs"
