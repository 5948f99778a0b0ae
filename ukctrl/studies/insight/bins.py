"""Ranges of a factor that hold about as many samples each; values, where it has few."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ukctrl.core.arrays import Array, Indices
from ukctrl.core.number_text import number
from ukctrl.studies.insight.study_runs import Axis


class Bins(NamedTuple):
    """A factor cut into ranges."""

    place: Indices
    """In which range every sample is, shape `(n,)`."""
    edges: Array
    """Ends of the ranges, shape `(m + 1,)`; of single values, the values themselves, `(m,)`."""
    labels: tuple[str, ...]
    """The ranges in words."""
    single: bool
    """Whether every range is one value."""

    @property
    def size(self) -> int:
        """How many ranges there are."""
        return len(self.labels)


def bins_of(axis: Axis, most: int) -> Bins:
    """Cut a factor into ranges, at most so many; a factor with few values keeps each of them.

    Between ranges lies a value half-way between two samples, so that a range says nothing of
    where no sample was.
    """
    levels = axis.levels
    if axis.discrete or len(levels) <= most:
        return Bins(axis.places(), levels, labels_of(axis, levels), single=True)
    ordered = np.sort(axis.values)
    n = len(ordered)
    cuts = [round(n * k / most) for k in range(1, most)]
    middles = [0.5 * (ordered[cut - 1] + ordered[cut]) for cut in cuts if 0 < cut < n]
    inner = np.unique([m for m in middles if ordered[0] < m < ordered[-1]])
    edges = np.concatenate([ordered[:1], inner, ordered[-1:]])
    place = np.searchsorted(inner, axis.values, side="right")
    used = np.unique(place)
    if len(used) < len(edges) - 1:  # ties at a cut have left a range without samples
        edges = np.concatenate([edges[used], edges[-1:]])
        place = np.searchsorted(used, place)
    return Bins(place, edges, _ranges(edges), single=False)


def labels_of(axis: Axis, values: Array) -> tuple[str, ...]:
    """Return values of a factor in words: its names, or numbers with the digits that differ."""
    if axis.names:
        return tuple(axis.names[round(value)] for value in values)
    return _numbers(values)


def _ranges(edges: Array) -> tuple[str, ...]:
    texts = _numbers(edges)
    return tuple(f"{low} to {high}" for low, high in itertools.pairwise(texts))


def _numbers(values: Sequence[float] | Array) -> tuple[str, ...]:
    for digits in (3, 4, 5, 6):
        texts = tuple(number(float(value), digits) for value in values)
        if len(set(texts)) == len(texts):
            break
    return texts
