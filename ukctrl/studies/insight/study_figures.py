"""The figures of a study."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from ukctrl.reports import web_page
from ukctrl.studies.insight import sample_figures, share_figures
from ukctrl.studies.insight.insight_verdicts import METHODS, OF
from ukctrl.studies.insight.sensitivity import Sensitivity

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ukctrl.studies.insight.insight import Insight

MOST_PANELS = 8
"""Factors with a panel of their own; of more, those that matter most."""
BESIDE = ("rms_phi", "rms_beta", "effort", "peak_u", "settling_time")
"""Metrics that have a histogram beside the cost, as far as they differ and as there is room."""
NAMES = ("study_spread", "study_factors", "study_sensitivity", "study_success", "study_map")
"""Figures of a study; maps beyond the first have a number behind."""


def pictures(insight: Insight) -> list[web_page.Picture]:
    """Draw every figure that has something to show."""
    return [
        web_page.picture(name, title, caption, draw)
        for name, title, caption, draw in _wanted(insight)
    ]


Wanted = tuple[str, str, str, Callable[[], "Figure"]]


def _wanted(insight: Insight) -> Iterator[Wanted]:
    runs, cost = insight.runs, insight.cost.text
    known = np.isfinite(insight.values)
    if known.any():
        yield (
            NAMES[0],
            "How it spreads",
            f"How many samples have which value. Lines are percentiles{_shade(insight)}. A red bar "
            "counts the samples that have no value, which is worse than any: percentiles among "
            "them are named there.",
            lambda: sample_figures.histograms(_amounts(insight)),
        )
    strongest = insight.strongest[:MOST_PANELS]
    if known.any() and strongest:
        thinned = (
            " Of many samples a part is drawn." if len(runs) > sample_figures.MOST_DOTS else ""
        )
        yield (
            NAMES[1],
            "Against each factor",
            f"'{cost}' against the factors, those that matter most first. Dots are samples, the "
            "dark line is their median, and between 5 and 95 % of them lie within the grey. Red "
            f"ticks at the top are samples that failed, which count as the worst.{thinned}",
            lambda: sample_figures.clouds(cost, insight.unit, insight.merit, strongest),
        )
    sensitivities = list(insight.sensitivities.values())
    if sensitivities:
        yield (
            NAMES[2],
            "Which factors matter",
            f"{_capital(METHODS[sensitivities[0].method])}. "
            f"{_interval_words(sensitivities[0])}{_rank_words(sensitivities)}",
            lambda: share_figures.bars(
                {OF[one.of].format(cost=cost): one for one in sensitivities}
            ),
        )
    if insight.separations:
        yield (
            NAMES[3],
            "Where samples succeed",
            "The share of samples that completed"
            f"{' within what is required' if insight.require else ''}, over ranges of each factor "
            "with about as many samples each; the factor that separates best first."
            f"{'' if runs.design == 'grid' else ' Lines are 95 % confidence intervals (Wilson).'}",
            lambda: share_figures.rates(
                insight.separations[:MOST_PANELS], intervals=runs.design != "grid"
            ),
        )
    for place, one in enumerate(insight.maps):
        others = len(runs.varied) > 2
        exact = one.x.single and one.y.single
        what = "Each cell is a pair of values" if exact else "Each cell is a range of both factors"
        yield (
            f"{NAMES[4]}{'' if place == 0 else f'_{place + 1}'}",
            f"{one.x.path} × {one.y.path}",
            f"{what}{', over which the others vary' if others else ''}. Left: the median of "
            f"'{cost}', red where half of the samples failed. Right: how many succeeded"
            f"{'' if exact and not others else '; numbers are samples'}. Empty: no sample.",
            functools.partial(share_figures.chart, cost, insight.unit, one),
        )


def _amounts(insight: Insight) -> list[sample_figures.Amount]:
    named = {one.metric: one for one in insight.summaries}
    chosen = [insight.overall]
    chosen += [
        named[name]
        for name in BESIDE
        if name in named and name != insight.cost.text and named[name].best != named[name].worst
    ]
    amounts = []
    for one in chosen[:4]:
        of_cost = one is insight.overall
        values = insight.values if of_cost else insight.runs.metric(one.metric)
        unit = insight.unit_of(one.metric)
        amounts.append(sample_figures.Amount(one, unit, values[np.isfinite(values)]))
    return amounts


def _shade(insight: Insight) -> str:
    grid = insight.runs.design == "grid" or len(insight.runs) < 2
    return "" if grid else ", the shade is the 95 % confidence interval of that of 95 %"


def _interval_words(one: Sensitivity) -> str:
    if one.method == "grid":
        return "They have no error of sampling."
    return f"Lines are 95 % confidence intervals by bootstrap, from {one.used} samples."


def _rank_words(found: list[Sensitivity]) -> str:
    quantities = {one.of for one in found}
    if "rank" not in quantities:
        return ""
    text = " The rank counts how many samples are better, whatever the size of the difference"
    text += "." if "value" in quantities else "; those that failed share the last."
    return text


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
