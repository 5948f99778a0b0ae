"""What the survey says: gains chosen on some plants and judged on others, and fronts.

Each plant for choosing is one search: the bandwidth with the least cost there, error and what its
price makes of the travel of the inputs. Judged are all searches on all plants for judging, crossed.
Who is better is a paired t test over both, corrected by Holm for all pairs of a robot's trouble;
who is better at equal travel, whatever the price, is one along the fronts.
"""

from __future__ import annotations

import dataclasses as dc
import functools
import itertools
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from survey_store import METRICS, Setting, load
from trials import ROBOTS, TROUBLES

from ukctrl import FrontPoint, Fronts, LawFront, statistics

LEVEL = 1.0 - statistics.CONFIDENCE
"""How often anything that is false is claimed of a robot in a trouble."""

GRID = 0.1
"""How much less a law may have between two bandwidths, as a part of its cost: not claimed."""


class Ran(NamedTuple):
    """One run, as far as fronts want to know it."""

    completed: bool
    metrics: Mapping[str, float]

    @property
    def status(self) -> str:
        """How it ended."""
        return "completed" if self.completed else "ended"


@dc.dataclass(frozen=True, kw_only=True, eq=False)
class Judged:
    """One law on one robot in one trouble, its bandwidth chosen elsewhere."""

    law: str
    values: np.ndarray
    """Error and travel, shape ``(2, searches, plants)``; NaN where a run did not complete."""
    chosen: tuple[float, ...]
    """The bandwidth that each search chose [rad/s]."""
    border: bool
    """Whether a search chose an end of the range."""
    price: float

    @property
    def completed(self) -> bool:
        """Whether every run completed, on each of the searches' choices."""
        return bool(self.values.size) and bool(np.isfinite(self.values).all())

    @property
    def share(self) -> tuple[int, int]:
        """How many runs completed, and how many there were."""
        return int(np.isfinite(self.values[0]).sum()), int(self.values[0].size)

    @property
    def cost(self) -> np.ndarray:
        """Error, and what the price makes of the travel; shape ``(searches, plants)``."""
        return np.asarray(self.values[0] + self.price * self.values[1])

    @property
    def error(self) -> float:
        """Mean over all."""
        return float(self.values[0].mean())

    @property
    def travel(self) -> float:
        """Mean over all [N m/s]."""
        return float(self.values[1].mean())

    @property
    def bandwidth(self) -> float:
        """Of the median search [rad/s]."""
        return float(np.median(self.chosen))


@dc.dataclass(frozen=True, kw_only=True, eq=False)
class Case:
    """One robot in one trouble."""

    robot: str
    trouble: str
    laws: Mapping[str, Judged]
    """All that begin at some bandwidth."""
    refused: tuple[str, ...]
    """Those that begin at none."""
    better: Mapping[tuple[str, str], float]
    """By which factor the cost of the second is above that of the first, where a test says so."""
    fronts: Fronts
    beats: Mapping[tuple[str, str], tuple[float, float]]
    """Where the first has less error than the second at equal travel, by a test: the smallest and
    the largest factor."""

    @property
    def ranked(self) -> list[Judged]:
        """Laws whose every run completed, the least cost first."""
        return sorted(
            (one for one in self.laws.values() if one.completed), key=lambda j: float(j.cost.mean())
        )

    @property
    def withheld(self) -> bool:
        """Whether nobody is called best: the law of least cost chose an end of the range, or no
        law has completed every run.
        """
        return not self.ranked or self.ranked[0].border

    @property
    def best(self) -> tuple[str, ...]:
        """The law of least cost, and all that a test cannot tell from it; none where withheld."""
        if self.withheld:
            return ()
        first, *others = self.ranked
        return (first.law, *(one.law for one in others if (first.law, one.law) not in self.better))

    @property
    def ahead(self) -> tuple[str, ...]:
        """Laws that no other beats at equal travel, anywhere."""
        beaten = {loser for _, loser in self.beats}
        return tuple(
            name for name, law in self.fronts.laws.items() if law.front and name not in beaten
        )


@functools.cache
def cases() -> dict[tuple[str, str], Case]:
    """Return every robot in every trouble, by both names."""
    stored = load()
    found: dict[tuple[str, str], dict[str, dict[float, Setting]]] = {}
    for (robot, trouble, law, bandwidth), setting in stored.items():
        found.setdefault((robot, trouble), {}).setdefault(law, {})[bandwidth] = setting
    return {
        key: _case(*key, found[key]) for key in itertools.product(ROBOTS, TROUBLES) if key in found
    }


def _case(robot: str, trouble: str, laws: Mapping[str, Mapping[float, Setting]]) -> Case:
    price = ROBOTS[robot].price
    refused = tuple(
        law for law, every in laws.items() if all(one.refused for one in every.values())
    )
    begun = {law: every for law, every in laws.items() if law not in refused}
    judged = {law: _judged(law, every, price) for law, every in begun.items()}
    fronts = Fronts(
        metrics=METRICS,
        units=("m, rad", "N m/s"),
        over={},
        laws={law: LawFront(tuple(_points(every))) for law, every in begun.items()},
    )
    return Case(
        robot=robot,
        trouble=trouble,
        laws=judged,
        refused=refused,
        better=_better([one for one in judged.values() if one.completed]),
        fronts=fronts,
        beats=_beats(fronts),
    )


def _judged(law: str, every: Mapping[float, Setting], price: float) -> Judged:
    bandwidths = sorted(every)
    tried = np.array([every[w].choosing for w in bandwidths])  # bandwidth, metric, plant
    cost = tried[:, 0] + price * tried[:, 1]
    done = np.isfinite(cost)
    chosen = [
        int(np.nanargmin(cost[:, plant])) if done[:, plant].any() else None
        for plant in range(cost.shape[1])
    ]
    nothing = np.full_like(every[bandwidths[0]].judging, np.nan)
    values = np.array([nothing if k is None else every[bandwidths[k]].judging for k in chosen])
    values = np.moveaxis(values, 0, 1)
    ends = (0, len(bandwidths) - 1)
    return Judged(
        law=law,
        values=values,
        chosen=tuple(bandwidths[k] for k in chosen if k is not None),
        border=any(k in ends for k in chosen),
        price=price,
    )


def _better(ranked: Sequence[Judged]) -> dict[tuple[str, str], float]:
    pairs, tests = [], []
    for one, other in itertools.combinations(ranked, 2):
        lower, higher = sorted((one, other), key=lambda j: float(j.cost.mean()))
        pairs.append((lower, higher))
        tests.append(statistics.paired_difference(np.log(higher.cost), np.log(lower.cost)))
    sure = statistics.holm([test.p for test in tests])
    return {
        (lower.law, higher.law): float(np.exp(test.mean))
        for (lower, higher), test, p in zip(pairs, tests, sure, strict=True)
        if p < LEVEL and test.mean > np.log(1.0 + GRID)
    }


def _points(every: Mapping[float, Setting]) -> list[FrontPoint]:
    points = []
    for bandwidth, setting in sorted(every.items()):
        done = [
            Ran(bool(np.isfinite(values).all()), dict(zip(METRICS, values.tolist(), strict=True)))
            for values in setting.judging.T
        ]
        points.append(
            FrontPoint.of({"bandwidth": bandwidth}, [] if setting.refused else done, "", METRICS)
        )
    return points


def _beats(fronts: Fronts) -> dict[tuple[str, str], tuple[float, float]]:
    duels = fronts.decided(statistics.holm([duel.p for duel in fronts.duels]))
    found: dict[tuple[str, str], list[float]] = {}
    for duel in duels:
        if duel.supported:
            found.setdefault((duel.lower, duel.higher), []).append(1.0 + duel.more)
    return {pair: (min(more), max(more)) for pair, more in found.items()}
