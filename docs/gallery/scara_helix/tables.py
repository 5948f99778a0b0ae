"""The tables of the page: what the paper prints, and what the scenarios give."""

from __future__ import annotations

from collections.abc import Iterable

import markdown_text
import numpy as np
from markdown_text import minus, power, table

from ukctrl import papers

paper = papers.scara.formulas
misprints = papers.scara.misprints
runs = papers.scara.runs

PAPER = ["**paper**", "**0.8**", "**7**", "**10**"]
"""Its largest errors in x, y, z [mm]."""


def sig(value: float, digits: int = 3) -> str:
    """Return a number with so many significant digits."""
    exponent = int(f"{value:.{digits - 1}e}".split("e")[1])
    if -3 < exponent <= 2:
        return minus(f"{value:.{digits - 1 - exponent}f}")
    return power(value, digits)


def fixed(values: Iterable[float], decimals: int) -> str:
    """Return numbers with so many decimals."""
    return ", ".join(markdown_text.fixed(value, decimals) for value in values)


def milli(values: Iterable[float], digits: int = 3) -> list[str]:
    """Return numbers in thousandths, such as millimetres."""
    return [sig(1e3 * value, digits) for value in values]


def printed() -> str:
    """Return every number of the paper's numerical section beside ours."""
    x, y, z, turn = runs.peak_errors(runs.run(runs.DRIFT))
    late = runs.peak_errors(runs.run(runs.STABILISED), after=10.0)
    off, _ = paper.violation(paper.START_READINGS[paper.LITERAL_START], paper.V_PRINTED)
    damping = paper.DECAY / np.sqrt(paper.BETA)
    rows = [
        ["m1, m2, m3, m4", "20, 15, 15, 0.5 kg", "as printed", ""],
        ["l0, l1, l2, r1, r2", "0, 0.2, 0.25, 0.1, 0.125 m", "as printed", ""],
        ["Iz1, Iz2, Iz3, Iz4", "0.27, 0.31, 0.02, 0.0001 kg m²", "as printed",
         "M, C and G of the URDF equal (34) to (36)"],
        ["g", "not printed", "9.81 m/s²", "enters Q_c4 only"],
        ["q1(0), q2(0), q3(0)", "30°, 55°, 24°", "30°, −55°, 24°",
         f"literally, the tool starts {sig(abs(off[0]))} m (x) and {sig(abs(off[1]))} m (y) off "
         f"the path, turned by {np.degrees(off[2]):.0f}°: a sign is lost"],
        ["q4(0)", "0 m", "as printed", ""],
        ["velocities", "−0.157, 0.0001, 0.157 rad/s, 0.0195 m/s", "as printed",
         "near the exact ones, see *The start*"],
        ["horizon", "not printed", "20 s", "0.01 m = (0.02 − 0.0195) m/s × 20 s"],
        ["largest x error, not stabilised", "about 8·10⁻⁴ m", f"{sig(x)} m", "see *The drift*"],
        ["largest y error", "7·10⁻³ m", f"{sig(y)} m", "see *The drift*"],
        ["largest z error", "0.01 m", f"{sig(z)} m", "reproduced"],
        ["orientation error", "not printed", f"{sig(turn)} rad", "30° − 55° + 24° = −1°, kept"],
        ["α, β in (52)", "0.5, 200", "as printed",
         f"decay exp(−t/4) at {paper.FREQUENCY:.2f} rad/s, damping ratio {damping:.4f}"],
        ["stabilised errors", "“acceptable”",
         f"x {sig(late[0], 2)} m, y {sig(late[1], 2)} m, z {sig(late[2], 2)} m from 10 s on",
         "see *Stabilised*"],
    ]  # fmt: skip
    return table(["quantity", "paper", "ours", "note"], rows)


def start() -> str:
    """Return the printed start and the two exact ones."""
    rows = [["paper", "30, 55, 24", "−0.157, 0.0001, 0.157", "0.0195"]]
    for name, elbow in ((paper.EXACT_RIGHT, -1.0), (paper.EXACT_LEFT, 1.0)):
        q, v = paper.exact_start(elbow)
        assert max(np.abs(part).max() for part in paper.violation(q, v)) < 1e-12
        rows.append([name, fixed(np.degrees(q[:3]), 4), fixed(v[:3], 4), fixed(v[3:], 4)])
    return table(["start", "q1, q2, q3 [deg]", "v1, v2, v3 [rad/s]", "v4 [m/s]"], rows)


def drift() -> str:
    """Return the drift from each reading of the initial angles."""
    rows = [[*PAPER, ""]]
    for name, q in paper.START_READINGS.items():
        result = runs.run(runs.DRIFT, name)
        if name == paper.LITERAL_START:
            leaves = paper.workspace_exit_time(paper.linear_drift)
            assert result.status != "completed", result.message
            assert leaves - 0.011 < result.time[-1] <= leaves
            rows.append([name, f"leaves the workspace at {leaves:.3f} s", "", "", ""])
            continue
        expected = paper.linear_drift(q, result.time)[:, runs.ROW_ORDER]
        np.testing.assert_allclose(result["phi"], expected, rtol=0.0, atol=1e-8)
        rows.append([name, *milli(runs.peak_errors(result))])
    head = ["initial angles [deg]", "x [mm]", "y [mm]", "z [mm]", "orientation [mrad]"]
    return table(head, rows)


def coarse() -> str:
    """Return the same drift as coarse integration sees it."""
    rows = [["**paper**", "", *PAPER[1:3], *PAPER[1:3]]]
    for name, q in paper.START_READINGS.items():
        if name != paper.LITERAL_START:
            times, errors = paper.dormand_prince(q)
            theirs = np.abs(errors).max(axis=0)
            ours = runs.peak_errors(runs.run(runs.DRIFT, name, True))
            steps = str((len(times) - 1) // 10)
            rows.append([name, steps, *milli((*theirs[:2], *ours[:2]), 2)])
    head = ["initial angles [deg]", "ode45: steps", "x [mm]", "y [mm]", "RK45: x [mm]", "y [mm]"]
    return table(head, rows)


def decay() -> str:
    """Return the stabilised errors from each reading of the initial angles."""
    rows = []
    for name, q in paper.START_READINGS.items():
        result = runs.run(runs.STABILISED, name)
        if name == paper.LITERAL_START:
            leaves = paper.workspace_exit_time(paper.damped_error)
            assert result.status != "completed", result.message
            assert leaves - 0.011 < result.time[-1] <= leaves
            rows.append([name, f"leaves the workspace at {leaves:.3f} s", "", "", "", ""])
            continue
        expected = paper.damped_error(q, result.time)[:, runs.ROW_ORDER]
        np.testing.assert_allclose(result["phi"], expected, rtol=0.0, atol=1e-9)
        late = runs.peak_errors(result, after=10.0)[:1]
        rows.append([name, *milli((*runs.peak_errors(result), *late))])
    head = ["initial angles [deg]", "x [mm]", "y [mm]", "z [mm]", "orientation [mrad]"]
    return table([*head, "x from 10 s on [mm]"], rows)


def joints() -> str:
    """Return the largest joint errors, before and after."""
    rows = []
    for words, name, after in (
        ("not stabilised", runs.DRIFT, 0.0),
        ("stabilised", runs.STABILISED, 0.0),
        ("stabilised, from 10 s on", runs.STABILISED, 10.0),
    ):
        *turn, slide = runs.peak_joint_errors(runs.run(name), after)
        rows.append([words, *(sig(error) for error in np.degrees(turn)), *milli([slide])])
    return table(["largest error", "q1 [deg]", "q2 [deg]", "q3 [deg]", "q4 [mm]"], rows)


def torques() -> str:
    """Return the constraint torques along the exact path and of the stabilised run."""
    taken = []
    for name, elbow in ((paper.EXACT_LEFT, 1.0), (paper.EXACT_RIGHT, -1.0)):
        taken.append((name.replace("exact", "on the path"), runs.exact_run(elbow)["u"]))
    taken.append(("stabilised, " + paper.SIGNED_START, runs.run(runs.STABILISED)["u"]))
    rows = []
    for words, u in taken:
        u = np.where(np.abs(u) > 1e-9, u, 0.0)  # rounding is no torque
        low, high = u.min(axis=0), u.max(axis=0)
        spans = [
            fixed([a], 3) if b - a < 1e-9 else f"{fixed([a], 3)} .. {fixed([b], 3)}"
            for a, b in zip(low, high, strict=True)
        ]
        rows.append([words + ": t = 0", *(fixed([value], 5) for value in u[0])])
        rows.append([words + ": range", *spans])
    return table(["", "Q_c1 [N m]", "Q_c2 [N m]", "Q_c3 [N m]", "Q_c4 [N]"], rows)


def formulas() -> str:
    """Return how far the misprinted formulas miss (34) and (35)."""
    texts = {
        "17": (r"$\mathrm{Ad}^{-1}$ of $e^{\hat\xi_1 q_1} \cdots e^{\hat\xi_i q_i}\, g(0)$",
               r"of $e^{\hat\xi_j q_j} \cdots e^{\hat\xi_i q_i}\, g(0)$ in column $j$", "$M$"),
        "24": (r"$\mathrm{Ad}^{-1}$ of $g_{SC_i}(q)$", r"of $g_{SC_i}(0)$", "$M$"),
        "26": (r"$\mathrm{Ad}^\top M_i\, \mathrm{Ad}^{-1}$ of $g_{SC_i}(q)$",
               r"$\mathrm{Ad}^{-\top} M_i\, \mathrm{Ad}^{-1}$ of $g_{SC_i}(0)$", "$M$"),
        "30": (r"$[A_{li}\, \xi_i, \xi_k]^\top$", r"$[A_{ki}\, \xi_i, \xi_k]^\top$",
               r"$\partial M / \partial q$, hence $C$"),
    }  # fmt: skip
    rows = []
    for claim in misprints.formula_claims():
        assert claim.verdict == "differs: misprint"
        number = claim.where.strip("eq ()")
        before, after, what = texts[number]
        miss = sig(abs(claim.printed - claim.ours), 2)
        rows.append([f"({number})", before, after, f"{what}, by {miss}"])
    return table(["eq.", "printed", "correct", "as printed it misses"], rows)


TABLES = {
    make.__name__: make
    for make in (printed, start, drift, coarse, decay, joints, torques, formulas)
}
"""Every table by the name that the page calls it by."""


def nearest() -> list[str]:
    """Return the x and y errors of the coarse run from the nearest whole degrees."""
    _, errors = paper.dormand_prince(paper.START_READINGS[paper.NEAREST_START])
    return milli(np.abs(errors).max(axis=0)[:2], 2)


FACTS = {
    "y": lambda: f"{milli([paper.largest_y_error()], 2)[0]} mm",
    "z": lambda: f"{milli([runs.peak_errors(runs.run(runs.STABILISED))[2]], 2)[0]} mm",
    "nearest": lambda: " and ".join(nearest()) + " mm",
}
"""Numbers that stand in a sentence of the page."""
