"""What a law can do, whatever its gains: its Pareto front of two metrics, and who beats whom there.

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
from ukctrl.core.number_text import number, percent
from ukctrl.core.statistics import Spread, paired_difference, spread
from ukctrl.core.verdict import Verdict
from ukctrl.reports.table import csv_text
from ukctrl.simulation.result import metrics as known_metrics
from ukctrl.simulation.result.plain_files import finite_or_none
from ukctrl.studies.comparison.claims import LEVEL
from ukctrl.studies.comparison.ranking import TIE_RTOL, rounding
from ukctrl.studies.tuning.gains import Range
from ukctrl.studies.tuning.tuning_journal import Done

LEVELS = 8
"""At so many levels of the second metric fronts are set against each other."""
SAME_RTOL = 1e-6
"""Runs of two laws that agree to this, at every point, are those of one."""


class FrontPoint(NamedTuple):
    """One setting of a law, on all repeats."""

    gains: Mapping[str, float]
    """Terms, or gains by their paths."""
    runs: tuple[Done, ...]
    """Repeat by repeat; nothing where the law refuses the setting."""
    refused: str
    values: Array
    """Both metrics of every repeat, shape ``(2, repeats)``; NaN where one did not complete."""
    spreads: tuple[Spread, Spread]

    @staticmethod
    def of(
        gains: Mapping[str, float], done: Sequence[Done], refused: str, metrics: tuple[str, str]
    ) -> FrontPoint:
        """Return what came of a setting."""
        values = np.array(
            [
                [run.metrics.get(name, np.nan) if run.completed else np.nan for run in done]
                for name in metrics
            ]
        )
        both = spread(values[0]), spread(values[1])
        return FrontPoint(gains, tuple(done), refused, values, both)

    @property
    def completed(self) -> bool:
        """Whether every run completed and has both metrics."""
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


TINY, NEAR = 1e-300, 1e-9
"""What stands for zero in a logarithm, and what rounding is there."""


class Duel(NamedTuple):
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
        low = sorted(max(every[0], TINY) for every in ends)[1]
        high = sorted(every[-1] for every in ends)[-2]
        if not low * (1.0 + TIE_RTOL) < high:  # one level, or none
            return (low,) if low <= high or math.isclose(low, high) else ()
        return tuple(np.geomspace(low, high, LEVELS).tolist())

    @functools.cached_property
    def same(self) -> tuple[tuple[str, ...], ...]:
        """Laws that are one in disguise: every run of one agrees with that of the other."""
        groups: list[list[str]] = []
        for name, law in self.laws.items():
            for group in groups:
                if self._agree(self.laws[group[0]], law):
                    group.append(name)
                    break
            else:
                groups.append([name])
        return tuple(tuple(group) for group in groups if len(group) > 1)

    def _agree(self, one: LawFront, other: LawFront) -> bool:
        floor, told = rounding(self.metrics[0]), False
        if [p.gains for p in one.points] != [p.gains for p in other.points]:
            return False
        for a, b in zip(one.points, other.points, strict=True):
            told = told or (a.completed and a.means[0] > floor)
            if len(a.runs) != len(b.runs) or not all(map(_alike, a.runs, b.runs)):
                return False
        return told  # errors of rounding alone are alike whatever the law

    @functools.cached_property
    def duels(self) -> tuple[Duel, ...]:
        """Every two laws at every level that both reach; not corrected."""
        found = []
        floor = rounding(self.metrics[0])
        for one, other in itertools.combinations(self.laws, 2):
            if any({one, other} <= set(group) for group in self.same):
                continue
            for level in self.levels:
                both = self.laws[one].at(level, floor), self.laws[other].at(level, floor)
                if both[0] is None or both[1] is None:
                    continue
                (a, off_a), (b, off_b) = both[0], both[1]
                test = paired_difference(b, a)
                lower, higher = (one, other) if test.mean >= 0.0 else (other, one)
                off, more = math.expm1(off_a + off_b), math.expm1(min(abs(test.mean), 700.0))
                found.append(Duel(level, lower, higher, more, off, test.p))
        return tuple(found)

    def decided(self, p: Sequence[float]) -> tuple[Duel, ...]:
        """Return the duels with what is claimed, from their corrected probabilities."""
        return tuple(
            duel._replace(p=sure, supported=sure < LEVEL and duel.more > max(TIE_RTOL, duel.off))
            for duel, sure in zip(self.duels, p, strict=True)
        )

    def verdicts(self, duels: Sequence[Duel]) -> Iterator[Verdict]:
        """Yield who beats whom on which part of the fronts, the picture of all first."""
        error, cost = self.metrics
        beaten = {duel.higher for duel in duels if duel.supported}
        ahead = [name for name, law in self.laws.items() if law.front and name not in beaten]
        text = f"At equal {cost} no law is distinguishable from another in {error}."
        if beaten:
            losers = [name for name in self.laws if name in beaten]
            text = f"At equal {cost} every law is beaten in {error} by another somewhere."
            if ahead:
                text = f"At equal {cost} {_are(ahead)} nowhere beaten in {error}."
                text += f" {_are(losers)} somewhere."
        if not duels:
            text = f"No two fronts of {error} against {cost} can be compared."
        elif all(math.isnan(duel.p) for duel in duels):
            text = "One run of each setting: fronts are drawn, and no test stands behind them."
        for group in self.same:
            text += f" {quoted(group)} are the same law in disguise."
        yield Verdict("note", "front", text)
        if not beaten:
            return
        equal: list[str] = []
        for one, other in itertools.combinations(self._distinct, 2):
            told = self._pair(one, other, duels)
            if told:
                yield Verdict("note", "front", told)
            else:
                equal.append(f"'{one}' from '{other}'")
        if equal:
            text = f"Not distinguishable at any equal {cost}: {', '.join(equal)}."
            yield Verdict("note", "front", text)

    @property
    def _distinct(self) -> list[str]:
        """Each law, and the first of those that are one."""
        again = {name for group in self.same for name in group[1:]}
        return [name for name in self.laws if name not in again]

    def _pair(self, one: str, other: str, duels: Sequence[Duel]) -> str:
        """Return which of two beats the other where, and by how much; empty where none does."""
        both = [duel for duel in duels if {duel.lower, duel.higher} == {one, other}]
        parts = []
        for winner, group in itertools.groupby(both, lambda d: d.lower if d.supported else ""):
            every = list(group)
            where = _span(number(every[0].level), number(every[-1].level))
            much = [duel.more for duel in every]
            by = _span(_much(min(much)), _much(max(much)))
            if winner:
                loser = other if winner == one else one
                parts.append(f"'{winner}' beats '{loser}' at {where}, which has {by} more")
        if parts and not all(duel.supported for duel in both):
            parts.append("elsewhere they are not distinguishable")
        return f"{'; '.join(parts)}." if parts else ""

    def to_dict(self, duels: Sequence[Duel]) -> dict[str, Any]:
        """Return them as JSON-able data; numbers that are not finite are None."""
        plain: dict[str, Any] = finite_or_none(
            {
                "metrics": list(self.metrics),
                "units": list(self.units),
                "over": {path: list(ends) for path, ends in self.over.items()},
                "laws": {
                    name: [self._record(point, law.front) for point in law.points]
                    for name, law in self.laws.items()
                },
                "same": [list(group) for group in self.same],
                "duels": [duel._asdict() for duel in duels],
            }
        )
        return plain

    def _record(self, point: FrontPoint, front: Sequence[FrontPoint]) -> dict[str, Any]:
        both = zip(self.metrics, point.spreads, strict=True)
        return {
            "gains": dict(point.gains),
            "refused": point.refused,
            "runs": len(point.runs),
            "completed": sum(run.completed for run in point.runs),
            "front": any(point is other for other in front),
            **{name: found._asdict() for name, found in both},
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
                said = self._record(point, front)
                gains = [point.gains.get(path) for path in paths]
                lines.append([name, k, int(said["front"]), *gains, said["runs"], said["completed"]])
                for found in point.spreads:
                    lines[-1] += [found.mean, found.low, found.high]
        return csv_text(head, lines)


def _much(more: float) -> str:
    """Return by how much one is above the other."""
    return percent(more) if more < 1.0 else f"{number(more, 2)} times"


def _are(names: Sequence[str]) -> str:
    return f"{quoted(names)} {'is' if len(names) == 1 else 'are'}"


def _span(low: str, high: str) -> str:
    return low if low == high else f"{low} to {high}"


def _alike(one: Done, other: Done) -> bool:
    """Tell whether two runs came out the same but for rounding."""
    if one.status != other.status or one.metrics.keys() != other.metrics.keys():
        return False
    return all(
        math.isclose(
            value, other.metrics[name], rel_tol=SAME_RTOL, abs_tol=max(rounding(name), 0.0)
        )
        or (math.isnan(value) and math.isnan(other.metrics[name]))
        for name, value in one.metrics.items()
        if known_metrics.describe(name).about_controller
    )
