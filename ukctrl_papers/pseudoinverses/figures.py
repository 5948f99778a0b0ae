"""The paper's Figure 2, and why its runs fail."""

from __future__ import annotations

from collections.abc import Iterator

from matplotlib.figure import Figure

from ukctrl.reports.plot import style
from ukctrl_papers.claim import Drawing
from ukctrl_papers.figure_grid import power_of_ten_ticks
from ukctrl_papers.pseudoinverses.linkage_runs import LinkageCase, violation_history

RED, BLUE = style.PALETTE[1], style.PALETTE[0]
STABILISED_CASES = {
    "alpha = beta = 10": LinkageCase(alpha=10.0, beta=10.0),
    "alpha = 1000, beta = 100, threshold 1e-5": LinkageCase(
        alpha=1000.0, beta=100.0, threshold=1e-5
    ),
}
UNSTABILISED_CASES = {
    "threshold 1e-3": LinkageCase(threshold=1e-3),
    "threshold = TOL": LinkageCase(),
}


def drawings() -> Iterator[Drawing]:
    """Yield the figures."""
    yield Drawing(
        name="violation",
        title="Figure 2: violation of the position constraints",
        caption="Left without stabilisation, right with. SVD, LSODA, TOL = 1e-8, from rest at "
        "-45 degrees.",
        draw=violation_figure,
    )
    yield Drawing(
        name="rank",
        title="Why a threshold equal to the tolerance fails",
        caption="The twelfth singular value of D, zero on the exact manifold, follows the "
        "violation. Where it crosses the threshold the linkage loses its only freedom, and "
        "the run stalls.",
        draw=rank_figure,
    )


@style.styled
def violation_figure() -> Figure:
    """Draw the violation over time, without and with stabilisation."""
    figure = Figure(figsize=(9.0, 3.2), facecolor="white", layout="constrained")
    left_axes, right = figure.subplots(1, 2, sharey=True)
    for axes, cases in ((left_axes, UNSTABILISED_CASES), (right, STABILISED_CASES)):
        for (label, case), color in zip(cases.items(), (BLUE, RED), strict=True):
            past = violation_history(case)
            axes.semilogy(past.t[1:], past.violation[1:], color=color, label=label, lw=1.2)
        axes.set(xlabel="time [s]", xlim=(0.0, 20.0))
        axes.legend(loc="upper left")
    left_axes.set(title="a) without stabilisation", ylabel="violation [m]", ylim=(1e-12, 10.0))
    right.set(title="b) with Baumgarte stabilisation")
    power_of_ten_ticks(left_axes)
    return figure


@style.styled
def rank_figure() -> Figure:
    """Draw the twelfth singular value beside two thresholds."""
    figure = Figure(figsize=(9.0, 3.4), facecolor="white", layout="constrained")
    axes = figure.subplots()
    for (label, case), color in zip(UNSTABILISED_CASES.items(), (BLUE, RED), strict=True):
        past = violation_history(case)
        axes.semilogy(past.t[1:], past.twelfth[1:], color=color, label=label, lw=1.2)
        axes.axhline(case.threshold or case.tolerance, color=color, lw=0.9, ls="--")
    axes.plot(past.t[-1], past.twelfth[-1], "o", color=RED, label="stalls")
    axes.set(
        xlabel="time [s]", ylabel="twelfth singular value of D", xlim=(0.0, 20.0), ylim=(1e-13, 0.1)
    )
    axes.legend(loc="lower right")
    power_of_ten_ticks(axes)
    return figure
