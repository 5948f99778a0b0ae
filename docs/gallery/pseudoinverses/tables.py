"""The tables of the page: the paper's beside ours."""

from __future__ import annotations

import dataclasses as dc
import functools
from collections.abc import Iterator

import markdown_text
import study
from markdown_text import above, table
from study import ABOVE, GAINS, THRESHOLDS

from ukctrl import papers

flops = papers.pseudoinverses.flops
formulas = papers.pseudoinverses.formulas
paper = papers.pseudoinverses.printed_tables
rerun = papers.pseudoinverses.linkage_runs
runs = papers.pseudoinverses.table_claims

MISSED = 1.0
"""Where right formulas leave 1e-14, a residual of order one: how large it is without pivoting,
rounding decides, which is all that the triangle has on its diagonal."""


@functools.cache
def stored() -> tuple[str, dict[rerun.LinkageCase, rerun.LinkageRun]]:
    """Return the study that was measured."""
    return study.load()


def outcome(case: rerun.LinkageCase) -> rerun.LinkageRun:
    """Return what came of a case."""
    return stored()[1][case]


def power(value: float | None) -> str:
    """Return ``1.2·10⁻⁹`` for a number, a dash for none."""
    return "–" if value is None else markdown_text.power(value)


def count(value: int | None) -> str:
    """Return a count with its thousands apart."""
    return "–" if value is None else f"{value:,}".replace(",", "\u202f")


def operations() -> str:
    """Return Table 6 beside the sums of Tables 2 to 5."""
    rows = []
    for equation, printed in paper.TABLE_6.items():
        ours = [flops.total_flops(equation, m, n) for m, n in paper.SIZES]
        marks = [
            count(b) if a == b else f"{count(a)} → **{count(b)}**"
            for a, b in zip(printed, ours, strict=True)
        ]
        wide = flops.flops_with_transpose(equation, *paper.SIZES[-1])
        rows.append([f"({equation})", *marks, count(wide)])
    head = ["equation", *(f"m = {m}, n = {n}" for m, n in paper.SIZES)]
    return table([*head, "m = 19, n = 28, SVD of the transpose"], rows)


def details() -> str:
    """Return every row of Tables 2 to 5 beside the count that follows from its shapes."""
    m, n = paper.SIZES[-1]
    rows = []
    for equation, number in flops.DETAIL_TABLES.items():
        counts = flops.BY_ASSUMPTION[equation]
        for operation, ours in zip(paper.TABLES_2_TO_5[equation], counts, strict=True):
            a, b = operation.cost(m, n), ours(m, n)
            texts = [f"${operation.formula}$", f"${operation.printed}$"]
            rows.append([str(number), *texts, count(a), count(b) if a == b else f"**{count(b)}**"])
    return table(["table", "operation", "printed", f"at m = {m}, n = {n}", "by its shapes"], rows)


def by_assumption() -> str:
    """Return the sums of the counts that follow from the shapes, at the largest size."""
    m, n = paper.SIZES[-1]
    sums = [f"({e}) {count(sum(f(m, n) for f in flops.BY_ASSUMPTION[e]))}" for e in paper.TABLE_6]
    return ", ".join(sums)


def rows_of(with_gains: bool) -> Iterator[tuple[list[str], paper.PrintedRun, rerun.LinkageCase]]:
    """Yield the head of each row of Tables 7 to 9 or 10 to 12, the row, and our run beside it."""
    for run in paper.PRINTED_RUNS:
        if any(run.gains) is with_gains:
            for method, printed in run.rows.items():
                yield [f"{run.tolerance:.0e}", method], printed, runs.table_case(run, method)


def results(with_gains: bool) -> str:
    """Return what became of the runs: the paper's, and ours with two thresholds."""
    rows = []
    for head, printed, case in rows_of(with_gains):
        rows.append([*head, printed.result, power(printed.psi_squared)])
        for each in (case, dc.replace(case, threshold=ABOVE)):
            rows[-1] += [outcome(each).table_text, power(outcome(each).psi_squared)]
    ours = ["threshold TOL", "Σψ²", "threshold 10⁻³", "Σψ²"]
    return table(["TOL", "method", "paper", "Σψ²", *ours], rows)


def costs(with_gains: bool) -> str:
    """Return what the runs cost: the paper's, and ours with its threshold."""
    rows = []
    for head, printed, case in rows_of(with_gains):
        cpu = "–" if printed.cpu is None else f"{printed.cpu:g}"
        rows.append([*head, count(printed.evaluations), count(printed.steps), cpu])
        found = outcome(case)
        rows[-1] += [count(found.evaluations), count(found.steps), f"{found.seconds:.2f}"]
    theirs = ["paper: NFUNC", "NSTEPS", "CPU"]
    return table(["TOL", "method", *theirs, "ours: evaluations", "steps", "time [s]"], rows)


def mild() -> str:
    """Return the runs with alpha = beta = 10."""
    rows = []
    for tolerance in sorted({run.tolerance for run in paper.PRINTED_RUNS}):
        for method in rerun.PAPER_METHODS:
            case = rerun.LinkageCase(method=method, tolerance=tolerance, alpha=10.0, beta=10.0)
            rows.append([f"{tolerance:.0e}", method])
            for each in (case, dc.replace(case, threshold=ABOVE)):
                found = outcome(each)
                rows[-1] += [found.table_text, power(found.error), count(found.evaluations)]
    ours = ["error of θ [rad]", "evaluations"]
    head = ["TOL", "method", "threshold TOL: result", *ours, "threshold 10⁻³: result", *ours]
    return table(head, rows)


def thresholds() -> str:
    """Return how the threshold decides, from both sides of the ground line."""
    rows = []
    for start in (rerun.START, -rerun.START):
        for alpha, beta in GAINS:
            rows.append([f"{'−' if start < 0.0 else '+'}45°", f"{alpha:g}, {beta:g}"])
            for threshold in THRESHOLDS:
                found = outcome(
                    rerun.LinkageCase(alpha=alpha, beta=beta, threshold=threshold, start=start)
                )
                right = found.table_text == "Correct"
                rows[-1].append(
                    f"{found.table_text}, θ to {power(found.error)}" if right else found.table_text
                )
    head = ["start", "α, β", *(f"threshold {threshold:.0e}" for threshold in THRESHOLDS)]
    return table(head, rows)


def integrators() -> str:
    """Return the same runs by four integrators."""
    rows = []
    for alpha, beta in GAINS:
        for name in rerun.INTEGRATORS:
            rows.append([f"{alpha:g}, {beta:g}", name])
            for threshold in (0.0, ABOVE):
                case = rerun.LinkageCase(
                    alpha=alpha, beta=beta, threshold=threshold, integrator=name
                )
                found = outcome(case)
                rows[-1] += [found.table_text, count(found.evaluations), f"{found.seconds:.2f}"]
    ours = ["evaluations", "time [s]"]
    return table(
        ["α, β", "integrator", "threshold TOL: result", *ours, "threshold 10⁻³: result", *ours],
        rows,
    )


def misprints() -> str:
    """Return the formulas that do not hold as printed, and by how much they miss."""
    correct = {
        "eqs (12), (13)": r"$A^+ = P^\top B^+ Q^\top$: $P$ in (12) has the rows "
        r"$P_1^\top$, $P_2^\top$",
        "eqs (20), (21)": r"the QR of $A$ must be pivoted, $A = U (G_1; 0)\, \Pi^\top$; "
        r"then $\Pi$ enters (21)",
        "Greville, step 3": r"$A_i^+ = \left[ A_{i-1}^+ - b_i^\top d_i, \; b_i^\top \right]$",
        "eq (18)": "full row rank; else minimum norm and least squares are needed together",
        "eq (27)": r"$\lambda = S^+ (\Psi_q \ddot q_f - \gamma)$, the sign that (23) asks for",
    }
    rows = []
    for claim in formulas.claims():
        if claim.verdict != "agrees" and claim.where in correct:
            ours = claim.ours
            in_words = "singular" if claim.where == "eq (18)" else "shapes do not match"
            missed = f"{ours:.1f}" if isinstance(ours, float) else in_words
            if claim.where == "eqs (20), (21)":
                missed = above(float(ours), MISSED)
            rows.append([claim.where, claim.what, missed, correct[claim.where]])
    return table(["place", "put to the test", "as printed", "correct"], rows)


def free(what: str) -> list[float]:
    """Return a quantity of every unstabilised run with the larger threshold."""
    tolerances = {run.tolerance for run in paper.PRINTED_RUNS}
    cases = (
        rerun.LinkageCase(method=m, tolerance=t, threshold=ABOVE)
        for m in rerun.PAPER_METHODS
        for t in tolerances
    )
    return [getattr(outcome(case), what) for case in cases]


TABLES = {
    "operations": operations,
    "details": details,
    "misprints": misprints,
    "unstabilised": lambda: results(with_gains=False),
    "unstabilised-cost": lambda: costs(with_gains=False),
    "stabilised": lambda: results(with_gains=True),
    "stabilised-cost": lambda: costs(with_gains=True),
    "mild": mild,
    "thresholds": thresholds,
    "integrators": integrators,
}
"""Every table by the name that the page calls it by."""

FACTS = {
    "made": lambda: stored()[0],
    "by-assumption": by_assumption,
    "eleventh": lambda: f"{formulas.eleventh_singular_value():.5f}",
    "growth": lambda: f"{runs.growth_rate():.1f}",
    "implied": lambda: f"{runs.implied_rate() / 1e9:.0f}",
    "stall": lambda: f"{outcome(rerun.LinkageCase()).reached:.1f} s",
    "free-until": lambda: f"{min(free('correct_until')):.1f} to {max(free('correct_until')):.1f} s",
    "free-sum": lambda: (
        f"{power(min(free('psi_squared')))} to {power(max(free('psi_squared')))} m²"
    ),
    "mild-error": lambda: power(outcome(rerun.LinkageCase(alpha=10.0, beta=10.0)).error),
}
"""Numbers that stand in a sentence of the page."""
