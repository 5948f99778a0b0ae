"""The table of a study as arrays: where its samples stood, what came of them; and in ranges."""

from __future__ import annotations

import dataclasses as dc
import functools
import itertools
import math
from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ukctrl.core.arrays import Array, Indices
from ukctrl.core.errors import InputError, unknown_name
from ukctrl.core.number_text import number
from ukctrl.simulation.result.column_files import Columns
from ukctrl.simulation.result.metrics import less_is_better
from ukctrl.studies.sweep.distributions import Distribution
from ukctrl.studies.sweep.sampling_plan import DESIGNS, Design
from ukctrl.studies.sweep.study_table import FIXED_COLUMNS, VERDICT_COLUMN

MAX_DISCRETE_LEVELS = 8
"""A factor with no more values than this is looked at value by value."""
QUADRATURE_END, QUADRATURE_NODES = 8.0, 2001
"""Means over a distribution go so many standard deviations to either side, at so many points."""


@dc.dataclass(frozen=True, eq=False)
class Axis:
    """One factor over the samples."""

    path: str
    """Which value of the scenario it changes."""
    values: Array
    """Its value in every sample, shape `(n,)`; of names, their place among `names`."""
    names: tuple[str, ...] = ()
    """What its values are called where they are no numbers, such as controllers."""
    log: bool = False
    """Whether it was spread over decades."""
    spread: Distribution | None = None
    """How its values were drawn; None where that is not known."""
    unit: str = ""
    """Of its values; empty where it has none, or it is not known."""

    @staticmethod
    def of(
        path: str,
        raw: Sequence[object],
        *,
        log: bool = False,
        spread: Distribution | None = None,
    ) -> Axis:
        """Read a column of a study's table; whatever is no number becomes a name."""
        numbers = [_number(value) for value in raw]
        if all(value is not None for value in numbers):
            return Axis(path, np.array(numbers, dtype=np.float64), (), log, spread)
        texts = [str(value) for value in raw]
        names = tuple(dict.fromkeys(texts))
        return Axis(path, np.array([names.index(text) for text in texts], dtype=np.float64), names)

    @functools.cached_property
    def levels(self) -> Array:
        """Its different values, rising."""
        return np.unique(self.values)

    @property
    def varies(self) -> bool:
        """Whether it has more than one value."""
        return len(self.levels) > 1

    @property
    def discrete(self) -> bool:
        """Whether it is looked at value by value, not in ranges."""
        return bool(self.names) or len(self.levels) <= MAX_DISCRETE_LEVELS

    def quadrature(self) -> tuple[Array, Array]:
        """Return values and their weights, whose sums are means over its distribution.

        Of one without a known distribution they are those of the samples.
        """
        values = self.levels if self.discrete else self.values
        if self.names or self.spread is None:
            return values, np.full(len(values), 1.0 / len(values))
        from scipy.special import ndtr

        # in the normal variable trapezia are exact to rounding for what is smooth in it, though
        # quantiles go to infinity
        z = np.linspace(-QUADRATURE_END, QUADRATURE_END, QUADRATURE_NODES)
        weights = np.exp(-0.5 * z**2)
        nodes: Array = np.array(
            [_number(self.spread.quantile(p)) for p in ndtr(z).tolist()], dtype=np.float64
        )
        levels = np.unique(nodes)
        # of a list or of whole numbers, each as likely as another
        if len(levels) < QUADRATURE_NODES // 2:
            return levels, np.full(len(levels), 1.0 / len(levels))
        return nodes, weights / weights.sum()

    def places(self) -> Indices:
        """Return the place of every sample's value among the levels."""
        indices: Indices = np.searchsorted(self.levels, self.values)
        return indices


@dc.dataclass(frozen=True, eq=False)
class StudyArrays:
    """The samples of a study."""

    design: Design
    """How the samples were placed."""
    axes: tuple[Axis, ...]
    """The factors."""
    number: Indices
    """The samples' numbers, shape `(n,)`, rising."""
    seed: tuple[int, ...]
    """The seed of every sample."""
    status: tuple[str, ...]
    """How every sample ended."""
    message: tuple[str, ...]
    reached: Array
    """How far it came [s]."""
    metrics: Mapping[str, Array]
    """By name; NaN where a sample has none."""
    verdict: tuple[str, ...] = ()
    """Whether every sample is to be believed; nothing in studies of earlier versions."""
    repeats: int = 1
    """Samples of each point, which differ in their seeds; they have consecutive numbers."""

    @staticmethod
    def of(
        table: Columns,
        factors: Sequence[str],
        design: str,
        *,
        log: Collection[str] = (),
        spreads: Mapping[str, Distribution] = MappingProxyType({}),
        repeats: int = 1,
    ) -> StudyArrays:
        """Read a study's table.

        Args:
            table: One entry a sample, with the columns of a study.
            factors: The columns that are factors.
            design: How the samples were placed: grid, random, sobol or saltelli.
            log: Which factors are spread over decades.
            spreads: How the values of factors were drawn, by their paths, as far as it is known.
            repeats: Samples of each point.

        Raises:
            InputError: It has no sample, or lacks a column.
        """
        designs = {str(name): name for name in DESIGNS}
        if design not in designs:
            raise unknown_name("design", design, designs)
        missing = [name for name in (*FIXED_COLUMNS, *factors) if name not in table]
        if missing:
            raise InputError(f"the table of a study must have a column '{missing[0]}'.")
        if not len(table["sample"]):
            raise InputError("a study must have at least one finished sample; it has none.")
        order = np.argsort(table["sample"], kind="stable")
        ordered = {name: column[order] for name, column in table.items()}
        skipped = {*FIXED_COLUMNS, VERDICT_COLUMN, *factors}
        return StudyArrays(
            design=designs[design],
            axes=tuple(
                Axis.of(path, ordered[path].tolist(), log=path in log, spread=spreads.get(path))
                for path in factors
            ),
            number=ordered["sample"].astype(np.intp),
            seed=tuple(int(seed) for seed in ordered["seed"]),
            status=tuple(str(status) for status in ordered["status"]),
            message=tuple(m if isinstance(m, str) else "" for m in ordered["message"]),
            reached=ordered["reached"].astype(np.float64),
            metrics={
                name: values.astype(np.float64)
                for name, values in ordered.items()
                if name not in skipped
            },
            verdict=tuple(map(str, ordered[VERDICT_COLUMN])) if VERDICT_COLUMN in ordered else (),
            repeats=repeats,
        )

    def __len__(self) -> int:
        return len(self.number)

    @property
    def unbelievable(self) -> list[int]:
        """The numbers of the samples that are not to be believed."""
        pairs = zip(self.number.tolist(), self.verdict, strict=False)
        return [number for number, verdict in pairs if verdict == "not to be believed"]

    @functools.cached_property
    def completed(self) -> NDArray[np.bool_]:
        """Which samples reached their end, shape `(n,)`."""
        return np.array([status == "completed" for status in self.status], dtype=np.bool_)

    @functools.cached_property
    def point(self) -> Indices:
        """At which point of the design every sample is, shape `(n,)`."""
        return self.number // self.repeats

    @functools.cached_property
    def varied(self) -> tuple[Axis, ...]:
        """The factors that have more than one value."""
        return tuple(axis for axis in self.axes if axis.varies)

    def axis(self, path: str) -> Axis:
        """Return a factor.

        Raises:
            UnknownName: There is no such factor.
        """
        axes = {axis.path: axis for axis in self.axes}
        if path not in axes:
            raise unknown_name("factor", path, axes)
        return axes[path]

    def metric(self, name: str) -> Array:
        """Return a metric of the completed samples; NaN in the others, however far they came.

        Raises:
            UnknownName: There is no such metric.
        """
        if name not in self.metrics:
            raise unknown_name("metric", name, self.metrics, limit=40)
        values: Array = np.where(self.completed, self.metrics[name], np.nan)
        return values

    def merit(self, name: str) -> Array:
        """Return a metric, the higher the worse: infinite of a sample that failed or has none."""
        values = self.metric(name)
        return inf_where_missing(values if less_is_better(name) else -values)


def inf_where_missing(values: Array) -> Array:
    """Return the values with infinity for what is not finite: no merit is the worst merit."""
    merit: Array = np.where(np.isfinite(values), values, np.inf)
    return merit


def _number(value: object) -> float | None:
    """Return a value of a factor as a number; None where it is none, or not a finite one."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | float | np.number):
        return None
    number = float(value)
    return number if math.isfinite(number) else None


class FactorBins(NamedTuple):
    """A factor cut into ranges."""

    bin_index: Indices
    """In which range every sample is, shape `(n,)`."""
    edges: Array
    """Ends of the ranges, shape `(m + 1,)`; of single values, the values themselves, `(m,)`."""
    labels: tuple[str, ...]
    """The ranges in words."""
    by_value: bool
    """Whether every range is one value."""

    @property
    def size(self) -> int:
        """How many ranges there are."""
        return len(self.labels)


def bin_factor(axis: Axis, max_bins: int) -> FactorBins:
    """Cut a factor into ranges, at most so many; a factor with few values keeps each of them.

    Between ranges lies a value half-way between two samples, so that a range says nothing of
    where no sample was.
    """
    levels = axis.levels
    if axis.discrete or len(levels) <= max_bins:
        return FactorBins(axis.places(), levels, level_labels(axis, levels), by_value=True)
    ordered = np.sort(axis.values)
    n = len(ordered)
    cuts = [round(n * k / max_bins) for k in range(1, max_bins)]
    middles = [0.5 * (ordered[cut - 1] + ordered[cut]) for cut in cuts]
    inner = np.unique([middle for middle in middles if middle < ordered[-1]])
    edges = np.concatenate([ordered[:1], inner, ordered[-1:]])
    bin_index = np.searchsorted(inner, axis.values, side="right")
    used = np.unique(bin_index)
    if len(used) < len(edges) - 1:  # ties at a cut have left a range without samples
        edges = np.concatenate([edges[used], edges[-1:]])
        bin_index = np.searchsorted(used, bin_index)
    ends = itertools.pairwise(_distinct_texts(edges))
    return FactorBins(
        bin_index, edges, tuple(f"{low} to {high}" for low, high in ends), by_value=False
    )


def level_labels(axis: Axis, values: Array) -> tuple[str, ...]:
    """Return values of a factor in words: its names, or numbers with the digits that differ."""
    if axis.names:
        return tuple(axis.names[round(value)] for value in values)
    return _distinct_texts(values)


def _distinct_texts(values: Sequence[float] | Array) -> tuple[str, ...]:
    for digits in (3, 4, 5, 6):
        texts = tuple(number(float(value), digits) for value in values)
        if len(set(texts)) == len(texts):
            break
    return texts
