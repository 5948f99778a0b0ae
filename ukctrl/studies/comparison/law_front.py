"""What a law can do, whatever its gains: its Pareto front of two metrics.

One set of gains is one point. So each law is run at many: where its gains follow from terms, at the
same bandwidths and dampings as all others, else over its own gains, a decade to either side of its
card. Its front are the points that no other of its own beats in both metrics, on average.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ukctrl.core.arrays import Array
from ukctrl.core.statistics import Spread, spread
from ukctrl.studies.comparison.ranking import crossed
from ukctrl.studies.tuning.tuning_journal import Done

TINY, NEAR = 1e-300, 1e-9
"""What stands for zero in a logarithm, and what rounding is there."""


class FrontPoint(NamedTuple):
    """One setting of a law, on all repeats."""

    gains: Mapping[str, float]
    """Terms, or gains by their paths."""
    runs: tuple[Done, ...]
    """Repeat by repeat; nothing where the law refuses the setting."""
    refused: str
    values: Array
    """Both metrics of every repeat, shape ``(2, repeats)``; NaN where one did not complete, or
    crossed a limit that was to be kept."""
    spreads: tuple[Spread, Spread]

    @staticmethod
    def of(
        gains: Mapping[str, float], done: Sequence[Done], refused: str, metrics: tuple[str, str]
    ) -> FrontPoint:
        """Return what came of a setting."""
        valid = [run.completed and not crossed(run.metrics) for run in done]
        values = np.array(
            [
                [
                    run.metrics.get(name, np.nan) if ok else np.nan
                    for run, ok in zip(done, valid, strict=True)
                ]
                for name in metrics
            ]
        )
        both = spread(values[0]), spread(values[1])
        return FrontPoint(gains, tuple(done), refused, values, both)

    @property
    def completed(self) -> bool:
        """Whether every run completed, crossed no limit, and has both metrics."""
        return bool(self.runs) and bool(np.isfinite(self.values).all())

    @property
    def means(self) -> tuple[float, float]:
        """Of what is to be small, and of what it costs."""
        return self.spreads[0].mean, self.spreads[1].mean


class LawFront(NamedTuple):
    """One law, at many settings."""

    points: tuple[FrontPoint, ...]

    @property
    def front(self) -> tuple[FrontPoint, ...]:
        """The points that no other beats in both metrics, by rising cost."""
        ranked = sorted((p for p in self.points if p.completed), key=lambda p: p.means[::-1])
        found: list[FrontPoint] = []
        for point in ranked:
            if not found or point.means[0] < found[-1].means[0]:
                found.append(point)
        return tuple(found)

    def at(self, level: float, floor: float) -> tuple[Array, float] | None:
        """Return the logarithm of the first metric at a level of the second, repeat by repeat.

        Between two points of the front it is taken as straight in logarithms. How far that may be
        off comes with it: half of what it misses a point by that is left out.

        Args:
            level: Of the second metric.
            floor: What is smaller of the first is rounding.

        Returns:
            None where the front does not reach there.
        """
        front = self.front
        x = np.log([max(p.means[1], TINY) for p in front])
        place = math.log(max(level, TINY))
        if not front or not x[0] - NEAR <= place <= x[-1] + NEAR:
            return None
        y = np.log(np.maximum([p.values[0] for p in front], max(floor, TINY)))
        if len(front) == 1:
            return y[0], 0.0
        k = min(max(int(np.searchsorted(x, place)) - 1, 0), len(x) - 2)
        w = min(max((place - x[k]) / (x[k + 1] - x[k]), 0.0), 1.0)
        mean = y.mean(axis=1)
        inner = [i for i in (k, k + 1) if 0 < i < len(x) - 1]
        missed = [
            abs(float(np.interp(x[i], x[[i - 1, i + 1]], mean[[i - 1, i + 1]]) - mean[i]))
            for i in inner
        ]
        off = max(missed, default=abs(float(mean[k + 1] - mean[k])))
        return (1.0 - w) * y[k] + w * y[k + 1], 0.5 * off
