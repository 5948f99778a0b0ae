"""The figures of a study."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from ukctrl.reports import html_page
from ukctrl.studies.sweep_analysis import sample_figures, sensitivity_figures
from ukctrl.studies.sweep_analysis.sensitivity import Sensitivity
from ukctrl.studies.sweep_analysis.sweep_verdicts import METHOD_TEXTS, QUANTITY_TEXTS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ukctrl.studies.sweep_analysis.sweep_analysis import SweepAnalysis

MAX_PANELS = 8
"""Factors with a panel of their own; of more, those that matter most."""
EXTRA_METRICS = ("rms_phi", "rms_beta", "effort", "peak_u", "settling_time")
"""Metrics that have a histogram beside the cost, as far as they differ and as there is room."""
FIGURE_NAMES = ("study_spread", "study_factors", "study_sensitivity", "study_success", "study_map")
"""Figures of a study; maps beyond the first have a number behind."""


def pictures(insight: SweepAnalysis) -> list[html_page.PageFigure]:
    """Draw every figure that has something to show."""
    return [html_page.page_figure(*figure) for figure in _figures(insight)]


def _figures(insight: SweepAnalysis) -> Iterator[tuple[str, str, str, Callable[[], Figure]]]:
    runs, cost = insight.runs, insight.cost.text
    finite = np.isfinite(insight.values)
    if finite.any():
        yield (
            FIGURE_NAMES[0],
            "How it spreads",
            f"Histogram of the samples. Lines are percentiles{_shade_text(insight)}. A red bar "
            "counts the samples without a value, which rank as worst: percentiles among them are "
            "named there.",
            lambda: sample_figures.histograms(_distributions(insight)),
        )
    strongest = insight.strongest[:MAX_PANELS]
    if finite.any() and strongest:
        thinned = " Of many samples a part is drawn." if len(runs) > sample_figures.MAX_DOTS else ""
        yield (
            FIGURE_NAMES[1],
            "Against each factor",
            f"'{cost}' over each factor, the most influential first. Dots are samples, the dark "
            "line is their median, the grey band their range from 5 to 95 %. Red ticks at the "
            f"top are failed samples, which rank as worst.{thinned}",
            lambda: sample_figures.scatter_figure(cost, insight.unit, insight.merit, strongest),
        )
    sensitivities = list(insight.sensitivities.values())
    if sensitivities:
        yield (
            FIGURE_NAMES[2],
            "Which factors matter",
            f"{_capital(METHOD_TEXTS[sensitivities[0].method])}. "
            f"{_interval_words(sensitivities[0])}{_rank_words(sensitivities)}",
            lambda: sensitivity_figures.sensitivity_figure(
                {QUANTITY_TEXTS[one.of].format(cost=cost): one for one in sensitivities}
            ),
        )
    if insight.separations:
        yield (
            FIGURE_NAMES[3],
            "Where samples succeed",
            "The share of samples that completed"
            f"{' within what is required' if insight.require else ''}, over ranges of each factor "
            "with about as many samples each; the factor that separates best first."
            f"{'' if runs.design == 'grid' else ' Lines are 95 % confidence intervals (Wilson).'}",
            lambda: sensitivity_figures.success_rate_figure(
                insight.separations[:MAX_PANELS], intervals=runs.design != "grid"
            ),
        )
    for index, one in enumerate(insight.maps):
        marginal = len(runs.varied) > 2
        exact = one.x.by_value and one.y.by_value
        cell_text = f"Each cell is a {'pair of values' if exact else 'range of both factors'}"
        yield (
            f"{FIGURE_NAMES[4]}{'' if index == 0 else f'_{index + 1}'}",
            f"{one.x.path} × {one.y.path}",
            f"{cell_text}{', over which the others vary' if marginal else ''}. Left: the median of "
            f"'{cost}', red where half of the samples failed. Right: how many succeeded"
            f"{'' if exact and not marginal else '; numbers are samples'}. Empty: no sample.",
            functools.partial(sensitivity_figures.map_figure, cost, insight.unit, one),
        )


def _distributions(insight: SweepAnalysis) -> list[sample_figures.MetricDistribution]:
    named = {one.metric: one for one in insight.summaries}
    chosen = [insight.overall]
    chosen += [
        named[name]
        for name in EXTRA_METRICS
        if name in named and name != insight.cost.text and named[name].best != named[name].worst
    ]
    amounts = []
    for one in chosen[:4]:
        values = insight.values if one is insight.overall else insight.runs.metric(one.metric)
        finite, unit = values[np.isfinite(values)], insight.unit_of(one.metric)
        amounts.append(sample_figures.MetricDistribution(one, unit, finite))
    return amounts


def _shade_text(insight: SweepAnalysis) -> str:
    grid = insight.runs.design == "grid" or len(insight.runs) < 2
    return "" if grid else ", the shade is the 95 % confidence interval of that of 95 %"


def _interval_words(one: Sensitivity) -> str:
    if one.method == "grid":
        return "They have no error of sampling."
    if one.method == "polynomial":
        return (
            f"Lines are 95 % confidence intervals, from {one.used} samples; their upper ends count "
            f"what the polynomial leaves unexplained, {100.0 * one.unexplained:.2g} %."
        )
    return f"Lines are 95 % confidence intervals by bootstrap, from {one.used} samples."


def _rank_words(sensitivities: list[Sensitivity]) -> str:
    quantities = {one.of for one in sensitivities}
    if "rank" not in quantities:
        return ""
    text = " The rank counts how many samples are better, whatever the size of the difference"
    text += "." if "value" in quantities else "; those that failed share the last."
    return text


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
