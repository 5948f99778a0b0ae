r"""Which factors a metric depends on: shares of its variance.

Three ways, never mixed; each result names its own.

- `saltelli`: Sobol indices by SciPy, from a Saltelli design. Of first order they are
  $S_i = \operatorname{Var} E[y \mid x_i] / \operatorname{Var} y$, the total ones
  $S_{Ti} = E \operatorname{Var}[y \mid x_{\sim i}] / \operatorname{Var} y$.
- `grid`: the same two, computed without any error over the points of a full grid, each as
  likely as the others.
- `polynomial`: both from any samples, by polynomial chaos, with the part of the variance that the
  polynomial leaves unexplained.

Failed samples have no metric. To leave them out would ask what matters where nothing fails, with
factors that are no longer independent there. So where samples failed, `y` is the rank of the
metric, and the failed ones share the highest: its indices exist, and use every sample.

Where a point has repeats, `y` is their mean.
"""

from __future__ import annotations

import dataclasses as dc
from collections.abc import Mapping
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ukctrl.core.arrays import Array, Indices
from ukctrl.core.statistics import CONFIDENCE, Estimate
from ukctrl.studies.sweep_analysis.polynomial_chaos import chaos_indices
from ukctrl.studies.sweep_analysis.study_arrays import Axis, StudyArrays

SensitivityMethod = Literal["saltelli", "grid", "polynomial"]
OutputKind = Literal["value", "rank", "success"]

MIN_POINTS = 16
"""Of fewer points no share is estimated."""
MIN_ROWS = 64
"""Of fewer rows of a Saltelli design a bootstrap's intervals cover less than they say: of 16, 76 to
92 % in place of 95."""
RESAMPLES, MIN_RESAMPLES, MAX_DRAWS = 200, 40, 2_000_000
"""Resamples of a bootstrap; of many samples fewer, which tell a deviation to a tenth."""
MAX_UNEXPLAINED = 0.5
"""Where more of the variance is unexplained, the shares tell nothing."""
_SEED = 0
"""The bootstrap draws the same resamples every time, so that a report can be made again."""


class Sensitivity(NamedTuple):
    """How much of the variance of a quantity comes from each factor."""

    metric: str
    of: OutputKind
    """The metric itself, its rank with failed samples last, or whether a sample succeeded."""
    method: SensitivityMethod
    first: Mapping[str, Estimate]
    """First-order indices by factor: what it does alone."""
    total: Mapping[str, Estimate]
    """Total indices: what it does alone and together with others."""
    used: int
    """How many samples it is made of."""
    unexplained: float = 0.0
    """Of method `polynomial`, the part of the variance that it does not explain, by its
    leave-one-out error: high-order effects, jumps or chance."""

    @property
    def tells(self) -> bool:
        """Whether so much is explained that the shares tell something."""
        return self.unexplained <= MAX_UNEXPLAINED

    @property
    def strength(self) -> dict[str, float]:
        """The factors with their total index where it is known, else that of first order."""
        chosen = self.total or self.first
        return {path: share.value for path, share in chosen.items()}

    def ordered(self) -> list[str]:
        """Return the factors, the strongest first."""
        strength = self.strength
        return sorted(strength, key=lambda path: -np.nan_to_num(strength[path], nan=-1.0))


def choose_method(runs: StudyArrays) -> SensitivityMethod | None:
    """Return how the samples allow to tell shares; None where they are too few.

    A Saltelli design or a grid that was stopped in its middle has gaps, and is then no more than
    some samples.
    """
    if not runs.varied:
        return None
    points = _DesignPoints.of(runs)
    if runs.design == "saltelli" and points.rows >= MIN_ROWS:
        return "saltelli"
    if runs.design == "grid" and points.is_full_grid:
        return "grid"
    return "polynomial" if len(points.first_sample) >= MIN_POINTS else None


def sensitivities(
    runs: StudyArrays, outputs: Mapping[str, Array], of: OutputKind, *, intervals: bool = True
) -> dict[str, Sensitivity]:
    """Return the shares of several quantities at once.

    Args:
        runs: Where the samples stood.
        outputs: One finite value a sample, by the name of its metric.
        of: What the values are.
        intervals: Whether to bootstrap confidence intervals.
    """
    method = choose_method(runs)
    if method is None or not outputs:
        return {}
    points = _DesignPoints.of(runs)
    y = np.array([points.means(values) for values in outputs.values()])
    unexplained: Array = np.zeros(len(y))
    match method:
        case "saltelli":
            first, total = _sobol_indices(points, y, intervals)
        case "grid":
            shares = _grid_indices(points, y)
            first, total = np.stack([shares, shares, shares], axis=-1)
        case _:
            first, total, unexplained = chaos_indices(points.axes, y, intervals=intervals)
    results = {}
    for k, name in enumerate(outputs):
        alone, together = (
            {axis.path: Estimate(*row) for axis, row in zip(points.axes, rows, strict=True)}
            for rows in (first[k].tolist(), total[k].tolist())
        )
        results[name] = Sensitivity(
            name, of, method, alone, together, len(runs), float(unexplained[k])
        )
    return results


def scaled_ranks(merit: Array) -> Array:
    """Return the ranks of values from 0 to 1; equal ones, such as all that failed, share theirs."""
    rank: Array = (_average_ranks(merit) - 0.5) / len(merit)
    return rank


def _average_ranks(values: Array) -> Array:
    """Return the ranks of values from 1 on; equal ones share the average of theirs."""
    _, inverse, count = np.unique(values, return_inverse=True, return_counts=True)
    ranks: Array = (np.cumsum(count) - 0.5 * (count - 1))[inverse]
    return ranks


def rank_correlation(axis: Axis, merit: Array) -> Estimate:
    r"""Return Spearman's $\rho$ of a factor and a metric, failed samples being the worst of all.

    Its sign says in which direction the metric grows. The interval is Bonett and Wright's,
    $\tanh(\operatorname{artanh}\rho \pm z \sqrt{(1 + \rho^2/2)/(n - 3)})$. NaN for names, and of
    fewer than five samples.
    """
    nothing = Estimate(*[float("nan")] * 3)
    if axis.names or not axis.varies or len(merit) < 5 or np.all(merit == merit[0]):
        return nothing
    from scipy.special import ndtri

    rho = float(np.corrcoef(_average_ranks(axis.values), _average_ranks(merit))[0, 1])
    z = float(ndtri(0.5 + 0.5 * CONFIDENCE))
    middle = np.arctanh(np.clip(rho, -1.0 + 1e-12, 1.0 - 1e-12))
    half = z * np.sqrt((1.0 + 0.5 * rho**2) / (len(merit) - 3))
    return Estimate(rho, float(np.tanh(middle - half)), float(np.tanh(middle + half)))


@dc.dataclass(frozen=True, eq=False)
class _DesignPoints:
    """The points of a design, each once."""

    axes: tuple[Axis, ...]
    number: Indices
    """Their numbers, rising."""
    first_sample: Indices
    """Place of each point's first sample."""
    point_of_sample: Indices
    """Place of each sample's point."""

    @staticmethod
    def of(runs: StudyArrays) -> _DesignPoints:
        number, first, of_sample = np.unique(runs.point, return_index=True, return_inverse=True)
        axes = tuple(dc.replace(axis, values=axis.values[first]) for axis in runs.axes)
        return _DesignPoints(axes, number, first, of_sample)

    def means(self, values: Array) -> Array:
        """Return the mean of every point's samples."""
        mean: Array = np.bincount(self.point_of_sample, values) / np.bincount(self.point_of_sample)
        return mean

    @property
    def rows(self) -> int:
        """How many rows the matrices of a Saltelli design have; 0 with gaps."""
        rows, remainder = divmod(len(self.number), len(self.axes) + 2)
        whole = not remainder and np.array_equal(self.number, np.arange(len(self.number)))
        return rows if whole and rows & (rows - 1) == 0 else 0

    @property
    def shape(self) -> list[int]:
        """How many levels each factor has."""
        return [len(axis.levels) for axis in self.axes]

    @property
    def cells(self) -> Indices:
        """Which combination of levels every point is."""
        cell: Indices = np.ravel_multi_index([a.places() for a in self.axes], self.shape)
        return cell

    @property
    def is_full_grid(self) -> bool:
        """Whether every combination of levels is there, once."""
        size = np.prod(np.array(self.shape, dtype=np.float64))
        return bool(size == len(self.first_sample)) and len(np.unique(self.cells)) == len(
            self.first_sample
        )


def _sobol_indices(points: _DesignPoints, y: Array, intervals: bool) -> Array:
    """Return indices of first order and total ones with both ends, `(2, outputs, factors, 3)`."""
    from scipy.stats import sobol_indices

    d, n = len(points.axes), points.rows
    # SciPy cannot take a single output of a single factor: a copy makes it two.
    rows = y if len(y) > 1 else np.repeat(y, 2, axis=0)
    blocks = rows.reshape(len(rows), d + 2, n)

    def indices(chosen: Array) -> Array:
        f_A, f_B, f_AB = chosen[:, 0], chosen[:, 1], chosen[:, 2:].swapaxes(0, 1)
        indices = sobol_indices(func={"f_A": f_A, "f_B": f_B, "f_AB": f_AB}, n=n)
        shape = (len(rows), d)
        return np.array([indices.first_order.reshape(shape), indices.total_order.reshape(shape)])

    middle = indices(blocks)
    draws = _bootstrap_indices(n, intervals)
    again = [indices(blocks[..., draw]) for draw in draws]
    half = _interval_half_width(np.array(again)) if again else np.full_like(middle, np.nan)
    return np.stack([middle, middle - half, middle + half], axis=-1)[:, : len(y)]


def _bootstrap_indices(n: int, intervals: bool) -> NDArray[np.int64]:
    """Return the places of every bootstrap resample, shape `(resamples, n)`."""
    count = int(np.clip(MAX_DRAWS // n, MIN_RESAMPLES, RESAMPLES)) if intervals else 0
    return np.random.default_rng(_SEED).integers(0, n, (count, n))


def _interval_half_width(resampled: Array) -> Array:
    """Return the half-widths of the intervals: normal, with the bootstrap's deviation."""
    from scipy.special import ndtri

    half: Array = float(ndtri(0.5 + 0.5 * CONFIDENCE)) * np.std(resampled, axis=0, ddof=1)
    return half


def _grid_indices(points: _DesignPoints, y: Array) -> Array:
    """Return shares of first order and total ones, shape `(2, outputs, factors)`."""
    shape, order = points.shape, np.argsort(points.cells)
    shares = np.zeros((2, len(y), len(shape)))
    for k, row in enumerate(y):
        box, variance = row[order].reshape(shape), float(np.var(row))
        for i in range(len(shape)) if variance > 0.0 else ():
            axes = tuple(k for k in range(len(shape)) if k != i)
            alone, residual = np.var(box.mean(axis=axes)), np.mean(np.var(box, axis=i))
            shares[:, k, i] = alone / variance, residual / variance
    return shares
