"""The tables and numbers of the page, made of the stored study."""

from __future__ import annotations

import functools

import numpy as np
import study
from markdown_text import minus, table
from numpy.typing import NDArray
from study import COST, LIMIT

from ukctrl import SweepAnalysis, number_text, statistics, sweep_analysis

number, si = number_text.number, number_text.si

CONTROLLER, PERIOD = "controller.use", "timing.control"
RANGES = 6


@functools.cache
def found() -> SweepAnalysis:
    """Return what the stored study shows."""
    return study.insight()


def _percent(share: statistics.Estimate) -> str:
    value, low, high = (minus(str(round(100.0 * number))) for number in share)
    return f"{value} % ({low} to {high})"


def factors() -> str:
    """Return what was varied."""
    rows = [
        [f"`{factor.path}`", sweep_analysis.study_tables.distribution_text(factor.to_dict())]
        for factor in found().study.factors
    ]
    return table(["factor", "varied"], rows)


def shares() -> str:
    """Return the Sobol indices of the error's rank and of success."""
    rank, success = (found().sensitivities[of] for of in ("rank", "success"))
    heads = ["factor", "rank, alone", "rank, with others", "success, alone", "success, with others"]
    rows = [
        [f"`{path}`", *(_percent(one[path]) for one in _both(rank)), *_cells(success, path)]
        for path in rank.ordered()
    ]
    return table(heads, rows)


def _both(
    one: sweep_analysis.Sensitivity,
) -> tuple[dict[str, statistics.Estimate], dict[str, statistics.Estimate]]:
    return dict(one.first), dict(one.total)


def _cells(one: sweep_analysis.Sensitivity, path: str) -> list[str]:
    return [_percent(each[path]) for each in _both(one)]


def periods() -> str:
    """Return how often each controller succeeds, by sampling period."""
    shown = found()
    axis, law = shown.runs.axis(PERIOD), shown.runs.axis(CONTROLLER)
    bins = sweep_analysis.study_arrays.bin_factor(axis, RANGES)
    rows = []
    for k in range(bins.size):
        low, high = 1e3 * bins.edges[k], 1e3 * bins.edges[k + 1]
        cells = [f"{number(low, 2)} to {number(high, 2)} ms"]
        for place in range(len(law.names)):
            chosen = (bins.bin_index == k) & (law.values == place)
            merit = shown.merit[chosen]
            median = float(np.median(merit))
            share = statistics.wilson(int(shown.good[chosen].sum()), int(chosen.sum()))
            told = si(median, "m", 2) if np.isfinite(median) else "failed"
            cells += [told, f"{100.0 * share.value:.0f} %"]
        rows.append(cells)
    heads = ["period", *(head for name in law.names for head in (f"`{name}`", "succeed"))]
    return table(heads, rows)


def samples() -> str:
    """Return how many samples there are."""
    return str(len(found().runs))


def completed() -> str:
    """Return how many completed."""
    return _percent(found().completed)


def succeeded() -> str:
    """Return how many succeeded."""
    return _percent(found().succeeded)


def limit() -> str:
    """Return what success asks for."""
    return si(LIMIT, "m")


def median() -> str:
    """Return the median of the error with its interval."""
    at = found().overall.percentile(0.5)
    return f"{si(at.value, 'm')} ({si(at.low, 'm')} to {si(at.high, 'm')})"


def split() -> str:
    """Return where the sampling period separates, in words."""
    one = next(each for each in found().separations if each.path == PERIOD)
    if one.split is None or not one.clear:
        raise ValueError("the page says that the sampling period separates; it does not.")
    above, below = one.split.above.share, one.split.below.share
    return (
        f"up to {number(1e3 * one.split.threshold, 2)} ms {100.0 * below.value:.0f} % succeed, "
        f"above {100.0 * above.value:.0f} %"
    )


def together() -> str:
    """Return how much of the rank's variance no factor has alone."""
    first = found().sensitivities["rank"].first
    return f"{100.0 * (1.0 - sum(max(0.0, share.value) for share in first.values())):.0f} %"


def law_alone() -> str:
    """Return what the law does to the rank alone."""
    return f"{100.0 * found().sensitivities['rank'].first[CONTROLLER].value:.0f} %"


def law_total() -> str:
    """Return what the law does to the rank together with others."""
    return f"{100.0 * found().sensitivities['rank'].total[CONTROLLER].value:.0f} %"


def _chosen(law: str, which: str) -> NDArray[np.intp]:
    """Return the samples of a law that succeeded, missed what is required, or did not complete."""
    runs = found().runs
    of_law = runs.axis(CONTROLLER).values == runs.axis(CONTROLLER).names.index(law)
    masks = {"good": found().good, "missed": ~found().good, "diverged": ~runs.completed}
    return np.flatnonzero(of_law & masks[which])


def _period(law: str, which: str, *, longest: bool = False) -> str:
    periods = found().runs.axis(PERIOD).values[_chosen(law, which)]
    return si(float(periods.max() if longest else periods.min()), "s")


def heaviest() -> str:
    """Return the heaviest payload with which the law without an integral succeeded."""
    masses = found().runs.axis("effect.payload.mass").values
    return f"{number(float(masses[_chosen('servo-baumgarte', 'good')].max()), 2)} kg"


def worst() -> str:
    """Return the worst that completed."""
    return f"{si(found().overall.worst, 'm')} (sample {found().overall.worst_sample})"


if COST != "rms_phi.tool":  # what the page's words are about
    raise ValueError("the page is about the error of the tool.")

TABLES = {"factors": factors, "shares": shares, "periods": periods}
FACTS = {
    "samples": samples,
    "completed": completed,
    "succeeded": succeeded,
    "limit": limit,
    "median": median,
    "split": split,
    "together": together,
    "law_alone": law_alone,
    "law_total": law_total,
    "worst": worst,
    "heaviest": heaviest,
    "pid_misses": lambda: _period("servo-pid", "missed"),
    "pid_last": lambda: _period("servo-pid", "good", longest=True),
    "plain_diverges": lambda: _period("servo-baumgarte", "diverged"),
}
