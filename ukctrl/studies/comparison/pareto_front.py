"""Pareto front of each law over its gains, and who beats whom along the fronts.

One set of gains is one point. So each law is run at many: where its gains follow from terms, at the
same bandwidths and dampings as all others, else over its own gains, a decade to either side of its
card. Its front are the points that no other of its own beats in both metrics, on average.
"""

from __future__ import annotations

import dataclasses as dc
import functools
import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ukctrl.core.arrays import Array
from ukctrl.core.errors import quoted
from ukctrl.core.number_text import number, percent, range_text
from ukctrl.core.statistics import Spread, paired_difference, spread
from ukctrl.core.verdict import Verdict
from ukctrl.reports.report_table import csv_text
from ukctrl.simulation.result.atomic_files import attributes_of, finite_or_none
from ukctrl.studies.batch.run_store import SimulationRecord
from ukctrl.studies.comparison.ranking import (
    FAMILY_ERROR_RATE,
    TIE_RTOL,
    rounding_floor,
    violates_limit,
)
from ukctrl.studies.tuning.gains import Range

LOG_FLOOR, LOG_ATOL = 1e-300, 1e-9
"""What stands for zero in a logarithm, and what rounding is there."""
COST_LEVELS = 8
"""Number of levels of the second metric at which fronts are compared."""


class FrontPoint(NamedTuple):
    """One setting of a law, on all repeats."""

    gains: Mapping[str, float]
    """Terms, or gains by their paths."""
    runs: tuple[SimulationRecord, ...]
    """Repeat by repeat; nothing where the law refuses the setting."""
    refused: str
    values: Array
    """Both metrics of every repeat, shape ``(2, repeats)``; NaN where one did not complete, or
    crossed a limit that was to be kept."""
    spreads: tuple[Spread, Spread]

    @staticmethod
    def of(
        gains: Mapping[str, float],
        done: Sequence[SimulationRecord],
        refused: str,
        metrics: tuple[str, str],
    ) -> FrontPoint:
        """Return what came of a setting."""
        valid_metrics = [
            run.metrics if run.completed and not violates_limit(run.metrics) else {} for run in done
        ]
        values = np.array([[one.get(name, np.nan) for one in valid_metrics] for name in metrics])
        return FrontPoint(
            gains, tuple(done), refused, values, (spread(values[0]), spread(values[1]))
        )

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
        front: list[FrontPoint] = []
        for point in ranked:
            if not front or point.means[0] < front[-1].means[0]:
                front.append(point)
        return tuple(front)

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
        x = np.log([max(p.means[1], LOG_FLOOR) for p in front])
        log_level = math.log(max(level, LOG_FLOOR))
        if not front or not x[0] - LOG_ATOL <= log_level <= x[-1] + LOG_ATOL:
            return None
        y = np.log(np.maximum([p.values[0] for p in front], max(floor, LOG_FLOOR)))
        if len(front) == 1:
            return y[0], 0.0
        k = min(max(int(np.searchsorted(x, log_level)) - 1, 0), len(x) - 2)
        w = min(max((log_level - x[k]) / (x[k + 1] - x[k]), 0.0), 1.0)
        mean = y.mean(axis=1)
        inner = [i for i in (k, k + 1) if 0 < i < len(x) - 1]
        missed = [
            abs(float(np.interp(x[i], x[[i - 1, i + 1]], mean[[i - 1, i + 1]]) - mean[i]))
            for i in inner
        ]
        off = max(missed, default=abs(float(mean[k + 1] - mean[k])))
        return (1.0 - w) * y[k] + w * y[k + 1], 0.5 * off


class FrontDifference(NamedTuple):
    """Two laws at one level of the second metric."""

    level: float
    lower: str
    """Who has less of the first metric."""
    higher: str
    more: float
    """By which fraction the higher one has more, on average."""
    off: float
    """How far both may be off between their points, as a fraction."""
    p: float
    """Probability of such a difference by chance; corrected where it is decided."""
    supported: bool = False


@dc.dataclass(frozen=True, kw_only=True, eq=False)
class Fronts:
    """The fronts of several laws."""

    metrics: tuple[str, str]
    units: tuple[str, str]
    over: Mapping[str, Range]
    laws: Mapping[str, LawFront]
    whole: bool = True
    """Whether no setting is missing."""

    @functools.cached_property
    def levels(self) -> tuple[float, ...]:
        """Levels of the second metric that at least two fronts reach."""
        ends = [[p.means[1] for p in law.front] for law in self.laws.values() if law.front]
        if len(ends) < 2:
            return ()
        low = sorted(max(costs[0], LOG_FLOOR) for costs in ends)[1]
        high = sorted(costs[-1] for costs in ends)[-2]
        if not low * (1.0 + TIE_RTOL) < high:  # one level, or none
            return (low,) if low <= high or math.isclose(low, high) else ()
        return tuple(np.geomspace(low, high, COST_LEVELS).tolist())

    @functools.cached_property
    def duels(self) -> tuple[FrontDifference, ...]:
        """Every two laws at every level that both reach; not corrected."""
        duels = []
        floor = rounding_floor(self.metrics[0])
        for one, peer in itertools.combinations(self.laws, 2):
            for level in self.levels:
                both = self.laws[one].at(level, floor), self.laws[peer].at(level, floor)
                if both[0] is None or both[1] is None:
                    continue
                (a, off_a), (b, off_b) = both[0], both[1]
                test = paired_difference(b, a)
                lower, higher = (one, peer) if test.mean >= 0.0 else (peer, one)
                off, more = math.expm1(off_a + off_b), math.expm1(min(abs(test.mean), 700.0))
                duels.append(FrontDifference(level, lower, higher, more, off, test.p))
        return tuple(duels)

    def decided(self, p: Sequence[float]) -> tuple[FrontDifference, ...]:
        """Return the duels with what is claimed, from their corrected probabilities."""
        decided = []
        for duel, sure in zip(self.duels, p, strict=True):
            supported = sure < FAMILY_ERROR_RATE and duel.more > max(TIE_RTOL, duel.off)
            decided.append(duel._replace(p=sure, supported=supported))
        return tuple(decided)

    def verdicts(self, duels: Sequence[FrontDifference]) -> Iterator[Verdict]:
        """Yield who beats whom on which part of the fronts, the picture of all first."""
        error, cost = self.metrics
        beaten = {duel.higher for duel in duels if duel.supported}
        leaders = [name for name, law in self.laws.items() if law.front and name not in beaten]
        text = f"At equal {cost} no law is distinguishable from another in {error}."
        if beaten:
            losers = [name for name in self.laws if name in beaten]
            text = f"At equal {cost} every law is beaten in {error} by another somewhere."
            if leaders:
                text = f"At equal {cost} {_subject_text(leaders)} nowhere beaten in {error}."
                text += f" {_subject_text(losers)} somewhere."
        if not duels:
            text = f"No two fronts of {error} against {cost} can be compared."
        elif all(math.isnan(duel.p) for duel in duels):
            text = "One run of each setting: fronts are drawn, and no test stands behind them."
        yield Verdict("note", "front", text)
        if not beaten:
            return
        equal: list[str] = []
        for one, peer in itertools.combinations(self.laws, 2):
            pair_text = self._pair_text(one, peer, duels)
            if pair_text:
                yield Verdict("note", "front", pair_text)
            else:
                equal.append(f"'{one}' from '{peer}'")
        if equal:
            text = f"Not distinguishable at any equal {cost}: {', '.join(equal)}."
            yield Verdict("note", "front", text)

    def _pair_text(self, one: str, peer: str, duels: Sequence[FrontDifference]) -> str:
        """Return which of two beats the other where, and by how much; empty where none does."""
        both = [duel for duel in duels if {duel.lower, duel.higher} == {one, peer}]
        clauses = []
        for winner, group in itertools.groupby(both, lambda d: d.lower if d.supported else ""):
            stretch = list(group)
            where = range_text([duel.level for duel in stretch])
            by = range_text([duel.more for duel in stretch], _excess_text)
            if winner:
                loser = peer if winner == one else one
                clauses.append(f"'{winner}' beats '{loser}' at {where}, which has {by} more")
        if clauses and not all(duel.supported for duel in both):
            clauses.append("elsewhere they are not distinguishable")
        return f"{'; '.join(clauses)}." if clauses else ""

    def to_dict(self, duels: Sequence[FrontDifference]) -> dict[str, Any]:
        """Return them as JSON-able data; numbers that are not finite are None."""
        laws = {
            name: [self._record(point, law.front) for point in law.points]
            for name, law in self.laws.items()
        }
        table = attributes_of(self, "metrics", "units", "over") | {"laws": laws}
        plain: dict[str, Any] = finite_or_none(table | {"duels": [one._asdict() for one in duels]})
        return plain

    def _record(self, point: FrontPoint, front: Sequence[FrontPoint]) -> dict[str, Any]:
        both = zip(self.metrics, point.spreads, strict=True)
        return {
            "gains": dict(point.gains),
            "refused": point.refused,
            "runs": len(point.runs),
            "completed": sum(run.completed for run in point.runs),
            "front": any(point is front_point for front_point in front),
            **{name: spread._asdict() for name, spread in both},
        }

    def to_csv(self) -> str:
        """Return one line a point: whose, its gains, how many runs completed, and both metrics."""
        paths = dict.fromkeys(
            path for law in self.laws.values() for point in law.points for path in point.gains
        )
        head = ["controller", "point", "front", *paths, "runs", "completed"]
        for name in self.metrics:
            head += [name, f"{name}:ci_low", f"{name}:ci_high"]
        lines: list[list[object]] = []
        for name, law in self.laws.items():
            front = law.front
            for k, point in enumerate(law.points):
                record = self._record(point, front)
                lines.append([name, k, int(record["front"]), *map(point.gains.get, paths)])
                lines[-1] += [record["runs"], record["completed"]]
                for interval in point.spreads:
                    lines[-1] += [interval.mean, interval.low, interval.high]
        return csv_text(head, lines)


def _excess_text(more: float) -> str:
    """Return by how much one is above the other."""
    return percent(more) if more < 1.0 else f"{number(more, 2)} times"


def _subject_text(names: Sequence[str]) -> str:
    return f"{quoted(names)} {'is' if len(names) == 1 else 'are'}"
