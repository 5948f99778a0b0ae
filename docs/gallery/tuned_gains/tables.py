"""The tables of the page: what gains are worth where, and what each way of searching finds."""

from __future__ import annotations

import statistics

import searches
from markdown_text import table

from ukctrl import Tuned

SLOW = True
NAMES = {"simplex": "`simplex`", "evolution": "`evolution`", "cma": "`cma`"}


def _cost(value: float) -> str:
    return f"{1e3 * value:.3g}"


def _gains(found: Tuned) -> list[str]:
    return [f"{found.tuning.best.gains[path]:.4g}" for path in searches.OVER]


def _nominal(found: Tuned, which: str) -> float:
    run = found.results[which]
    return run.metric("rms_phi.tool") + 1e-6 * run.metric("input_travel")


def plants() -> str:
    """Return what gains tuned for one plant, and for several, are worth."""
    rows = []
    first = searches.on("nominal")
    assert first.held_out is not None
    card = [f"{gain.value:.4g}" for gain in first.tuning.gains]
    held = first.held_out.card
    rows.append(
        ["the card", *card, "", *map(_cost, (_nominal(first, "card"), held.average, held.worst))]
    )
    for how, words in (
        ("nominal", "the nominal robot"),
        ("average", "the average of 6"),
        ("worst", "the worst of 6"),
    ):
        found = searches.on(how)
        assert found.held_out is not None
        held = found.held_out.tuned
        numbers = (found.tuning.after, _nominal(found, "tuned"), held.average, held.worst)
        rows.append([words, *_gains(found), *map(_cost, numbers)])
    head = ["tuned for", "$k_p$", "$k_i$", "$k_d$", "its own cost", "nominal", "40 others: average",
            "worst"]  # fmt: skip
    return table(head, rows)


def ways() -> str:
    """Return what each way of searching has found after parts of the budget."""
    shares = (60, 120, 240)
    rows = []
    for way in searches.WAYS:
        cells = [NAMES[way]]
        for spent in shares:
            found = [
                float(t.history()[spent // searches.PLANTS - 1])
                for t in (searches.searched(way, seed).tuning for seed in searches.SEEDS)
            ]
            cells.append(f"{_cost(statistics.median(found))} ({_cost(min(found))} to "
                         f"{_cost(max(found))})")  # fmt: skip
        rows.append(cells)
    return table(["method", *(f"{spent} simulations" for spent in shares)], rows)


def lost() -> str:
    """Return how much worse the nominal gains are than the card's where robots differ."""
    found = searches.on("nominal").held_out
    assert found is not None
    return f"{found.tuned.average / found.card.average:.0f}"


def price() -> str:
    """Return what the worst-case gains cost on the nominal robot, against the nominal gains."""
    worst, nominal = searches.on("worst"), searches.on("nominal")
    return f"{_nominal(worst, 'tuned') / _nominal(nominal, 'tuned'):.0f}"


def gained() -> str:
    """Return how much better the worst-case gains are than the nominal ones where robots differ."""
    worst, nominal = searches.on("worst").held_out, searches.on("nominal").held_out
    assert worst is not None
    assert nominal is not None
    return f"{nominal.tuned.worst / worst.tuned.worst:.0f}"


TABLES = {"plants": plants, "ways": ways}
FACTS = {"lost": lost, "price": price, "gained": gained}
