"""The figures of a study."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from ukctrl.reports import web_page
from ukctrl.reports.plot import map_figure, samples, shares
from ukctrl.studies.insight.insight_verdicts import METHODS, OF
from ukctrl.studies.insight.maps import Side
from ukctrl.studies.insight.sensitivity import Sensitivity
from ukctrl.studies.insight.study_tables import SHOWN

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
        web_page.picture(name, title, caption, draw())
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
            lambda: samples.histograms(_amounts(insight)),
        )
    strongest = insight.strongest[:MOST_PANELS]
    if known.any() and strongest:
        thinned = " Of many samples a part is drawn." if len(runs) > samples.MOST_DOTS else ""
        yield (
            NAMES[1],
            "Against each factor",
            f"'{cost}' against the factors, those that matter most first. Dots are samples, the "
            "dark line is their median, and between 5 and 95 % of them lie within the grey. Red "
            f"ticks at the top are samples that failed, which count as the worst.{thinned}",
            lambda: samples.clouds(
                cost,
                insight.unit,
                insight.merit,
                [samples.Cloud(axis.path, axis.values, axis.names, axis.log) for axis in strongest],
            ),
        )
    sensitivities = list(insight.sensitivities.values())
    if sensitivities:
        yield (
            NAMES[2],
            "Which factors matter",
            f"{_capital(METHODS[sensitivities[0].method])}. "
            f"{_interval_words(sensitivities[0])}{_rank_words(sensitivities)}",
            lambda: shares.bars([(_title(one, cost), _bars(one)) for one in sensitivities]),
        )
    if insight.separations:
        yield (
            NAMES[3],
            "Where samples succeed",
            "The share of samples that completed"
            f"{' within what is required' if insight.require else ''}, over ranges of each factor "
            "with about as many samples each; the factor that separates best first."
            f"{'' if runs.design == 'grid' else ' Lines are 95 % confidence intervals (Wilson).'}",
            lambda: shares.rates(
                [
                    shares.Rates(
                        one.path,
                        tuple(rate.label for rate in one.rates),
                        tuple(rate.share for rate in one.rates),
                        runs.design != "grid",
                    )
                    for one in insight.separations[:MOST_PANELS]
                ]
            ),
        )
    for place, one in enumerate(insight.maps):
        cells = map_figure.Cells(one.middle, one.share, one.samples)
        others = len(runs.varied) > 2
        exact = one.x.single and one.y.single
        what = "Each cell is a pair of values" if exact else "Each cell is a range of both factors"
        yield (
            f"{NAMES[4]}{'' if place == 0 else f'_{place + 1}'}",
            f"{one.x.path} × {one.y.path}",
            f"{what}{', over which the others vary' if others else ''}. Left: the median of "
            f"'{cost}', red where half of the samples failed. Right: how many succeeded"
            f"{'' if exact and not others else '; numbers are samples'}. Empty: no sample.",
            lambda one=one, cells=cells: map_figure.chart(  # type: ignore[misc]
                cost, insight.unit, _ticks(one.x), _ticks(one.y), cells
            ),
        )


def _amounts(insight: Insight) -> list[samples.Amount]:
    named = {one.metric: one for one in insight.summaries}
    chosen = [insight.overall]
    chosen += [
        named[name]
        for name in BESIDE
        if name in named and name != insight.cost.text and named[name].best < named[name].worst
    ]
    maps = []
    for one in chosen[:4]:
        of_cost = one is insight.overall
        values = insight.values if of_cost else insight.runs.metric(one.metric)
        marks = tuple(
            samples.Mark(f"{100.0 * entry.level:g} %", *entry.at)
            for entry in one.percentiles
            if entry.level in SHOWN
        )
        reason = "failed" if one.failed else "none"
        reason = "failed or none" if one.failed and one.without else reason
        maps.append(
            samples.Amount(
                one.metric,
                insight.unit_of(one.metric),
                values[np.isfinite(values)],
                one.failed + one.without,
                reason,
                marks,
            )
        )
    return maps


def _bars(one: Sensitivity) -> list[shares.Bar]:
    return [shares.Bar(path, one.first[path], one.total.get(path)) for path in one.ordered()]


def _title(one: Sensitivity, cost: str) -> str:
    return OF[one.of].format(cost=cost)


def _ticks(side: Side) -> map_figure.Ticks:
    return map_figure.Ticks(side.path, side.edges, side.labels, side.single, side.named, side.log)


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
