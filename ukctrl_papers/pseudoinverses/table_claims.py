"""Tables 7 to 12 beside runs of today, and what the paper concludes from them."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from ukctrl_papers.claim import Claim, bounded_claim
from ukctrl_papers.claim_text import bound_text
from ukctrl_papers.pseudoinverses.linkage_runs import PAPER_METHODS, LinkageCase, run_case
from ukctrl_papers.pseudoinverses.printed_tables import (
    PRINTED_RUNS,
    STRONG_GAINS,
    PrintedTable,
    svd,
)

UNKNOWN_NOTE = (
    "start, g and integrator are not given; ours: at rest at -45 degrees, LSODA, threshold = TOL"
)
VIOLATION_BOUND = 1e-6
"""A violation that is bounded stays below this; one that is not reaches a centimetre [m]."""
ANGLE_BOUND = 1e-5
"""What LSODA at TOL = 1e-8 leaves of an angle over 20 s, at the most [rad]."""
STALLING_TOLERANCE = 1e-10
"""A TOL at which a threshold as large stalls on every processor; at 1e-8 the last bits decide."""
COPIED_ENTRIES = {"Greville": "NSTEPS", "LS-Householder": "NFUNC and NSTEPS"}
"""Entries of Table 9 that are those of Table 8."""


def claims() -> Iterator[Claim]:
    """Yield every entry of the tables, then the statements."""
    for table in PRINTED_RUNS:
        yield from _entries(table)
    yield from _inconsistencies()
    yield from _conclusions()


def table_case(table: PrintedTable, method: str) -> LinkageCase:
    """Return the run that stands beside a row."""
    alpha, beta = table.gains
    return LinkageCase(method=method, tolerance=table.tolerance, alpha=alpha, beta=beta)


def _entries(table: PrintedTable) -> Iterator[Claim]:
    for method, printed in table.rows.items():
        ours = run_case(table_case(table, method))
        where = f"Table {table.number}, {method}"
        copied = COPIED_ENTRIES.get(method, "") if table.number == 9 else ""
        yield Claim(
            where=where,
            what="result",
            printed=printed.result,
            ours=ours.table_text,
            otherwise="not reproducible",
            note=UNKNOWN_NOTE,
        )
        for quantity, theirs, mine, unit in (
            ("sum of psi^2 at the end", printed.psi_squared, ours.psi_squared, "m^2"),
            ("NFUNC", printed.evaluations, ours.evaluations, ""),
            ("NSTEPS", printed.steps, ours.steps, ""),
            ("CPU", printed.cpu, ours.seconds, "s"),
        ):
            if theirs is not None:
                yield Claim(
                    where=where,
                    what=quantity,
                    printed=theirs,
                    ours=mine,
                    unit=unit,
                    otherwise="not reproducible",
                    note="the entry of Table 8, copied"
                    if quantity in copied.split(" and ")
                    else "see the result",
                )


def _inconsistencies() -> Iterator[Claim]:
    greville = PRINTED_RUNS[2].rows["Greville"]
    assert greville.steps is not None
    assert greville.evaluations is not None
    yield Claim(
        where="Table 9, Greville",
        what="evaluations per step are at least one",
        ours=greville.evaluations / greville.steps,
        holds=greville.evaluations >= greville.steps,
        otherwise="differs: misprint",
        note="NSTEPS is that of Table 8",
    )
    rate = implied_rate()
    yield bounded_claim(
        "Table 9, SVD",
        "flops per second, by the paper's count for the pseudoinverses alone, if CPU is in seconds",
        rate,
        1e10,
        unit="1/s",
        otherwise="differs: underspecified",
        note="an Athlon of 2.1 GHz does a few 1e9 at best; the unit of CPU is not given",
    )


def implied_rate() -> float:
    """Return the flops per second of the SVD row of Table 9, if its CPU is in seconds."""
    fastest = PRINTED_RUNS[2].rows["SVD"]
    assert fastest.cpu is not None
    assert fastest.evaluations is not None
    return fastest.evaluations * svd(12, 12) / fastest.cpu


def _conclusions() -> Iterator[Claim]:
    counts = [
        (gram.evaluations, house.evaluations)
        for table in PRINTED_RUNS
        for gram, house in [(table.rows["LS-Modified GS"], table.rows["LS-Householder"])]
    ]
    ratios = [a / b for a, b in counts if a is not None and b is not None]
    yield Claim(
        where="Conclusions",
        what="Gram-Schmidt needs considerably more evaluations than Householder: largest ratio in "
        "the paper's own tables",
        ours=max(ratios),
        holds=max(ratios) > 1.1,
        otherwise="differs: claim does not hold",
        note=f"the smallest is {min(ratios):.2f}",
    )
    outcomes = {
        name: run_case(LinkageCase(method=name, alpha=10.0, beta=10.0)) for name in PAPER_METHODS
    }
    worst = max(o.error for o in outcomes.values())
    max_count, min_count = (f(o.evaluations for o in outcomes.values()) for f in (max, min))
    yield Claim(
        where="Conclusions",
        what="the method decides the number of evaluations: most over least of the five, "
        "TOL = 1e-8, alpha = beta = 10",
        ours=max_count / min_count,
        holds=max_count / min_count > 1.1,
        otherwise="differs: claim does not hold",
        note="with one rank threshold all methods give the same run, theta within "
        f"{bound_text(worst, ANGLE_BOUND)} rad of the closed form after 20 s",
    )
    yield from _thresholds()


def _thresholds() -> Iterator[Claim]:
    alpha, beta = STRONG_GAINS
    same = run_case(LinkageCase(tolerance=STALLING_TOLERANCE, alpha=alpha, beta=beta))
    above = run_case(
        LinkageCase(tolerance=STALLING_TOLERANCE, threshold=1e-5, alpha=alpha, beta=beta)
    )
    yield Claim(
        where="The problem of rank computation",
        what=f"a threshold equal to TOL is adequate: SVD, TOL = {STALLING_TOLERANCE:g}, alpha = "
        f"{alpha:g}, "
        f"beta = {beta:g}",
        ours=same.table_text,
        holds=same.table_text == "Correct",
        otherwise="differs: claim does not hold",
        note=f"with a threshold of 1e-5: {above.table_text.lower()}, theta within "
        f"{bound_text(above.error, ANGLE_BOUND)} rad; the paper's SVD runs with these gains stop "
        "after 0.17 to 1.17 s",
    )
    slow, fast = sorted(np.abs(np.roots([1.0, 2.0 * alpha, beta**2])))
    yield bounded_claim(
        "Figure 2 b",
        f"alpha = {alpha:g}, beta = {beta:g} bound the violation: sqrt(sum of psi^2) at 20 s",
        above.psi_squared**0.5,
        VIOLATION_BOUND,
        unit="m",
        note=f"the roots are -{slow:.2f} and -{fast:.0f} 1/s: stiff; alpha = beta = 10 do as well "
        "from this start",
    )
    growth = growth_rate()
    yield Claim(
        where="Figure 2 a",
        what="without stabilisation the violation grows; factor per second while the rank is right",
        ours=growth,
        holds=growth > 1.0,
        note="from coordinates off by 1e-9, TOL = 1e-12, threshold 1e-3, between 5 s and 8 s",
    )


def growth_rate(begin: float = 5.0, end: float = 8.0) -> float:
    """Return the factor per second by which a small violation grows while the rank is right."""
    early, late = (
        run_case(LinkageCase(tolerance=1e-12, threshold=1e-3, offset=1e-9, horizon=t))
        for t in (begin, end)
    )
    ratio = math.sqrt(late.psi_squared / early.psi_squared)
    return float(ratio ** (1.0 / (late.reached - early.reached)))
