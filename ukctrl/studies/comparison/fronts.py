"""Who beats whom on the fronts of several laws, and which of them are one in disguise."""

from __future__ import annotations

import dataclasses as dc
import functools
import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ukctrl.core.errors import quoted
from ukctrl.core.number_text import number, percent, span
from ukctrl.core.statistics import paired_difference
from ukctrl.core.verdict import Verdict
from ukctrl.reports.table import csv_text
from ukctrl.simulation.result import metrics as known_metrics
from ukctrl.simulation.result.plain_files import finite_or_none
from ukctrl.studies.comparison.claims import LEVEL
from ukctrl.studies.comparison.law_front import TINY, FrontPoint, LawFront
from ukctrl.studies.comparison.ranking import TIE_RTOL, rounding
from ukctrl.studies.tuning.gains import Range
from ukctrl.studies.tuning.tuning_journal import Done

LEVELS = 8
"""At so many levels of the second metric fronts are set against each other."""
SAME_RTOL = 1e-6
"""Runs of two laws that agree to this, at every point, are those of one."""


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
            where = span([duel.level for duel in every])
            by = span([duel.more for duel in every], _much)
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
