"""What a study shows, worked out when it is first asked for."""

from __future__ import annotations

import dataclasses as dc
import functools
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from ukctrl.core.arrays import Array
from ukctrl.core.errors import InputError, UkctrlError, unknown_name
from ukctrl.core.statistics import Estimate
from ukctrl.simulation.assemble import Loop
from ukctrl.simulation.record.recorder import Recorder
from ukctrl.simulation.result import metrics
from ukctrl.simulation.result.quantities import Labels
from ukctrl.simulation.result.result import STATUSES
from ukctrl.studies.sweep import Log, Study
from ukctrl.studies.sweep_analysis.factor_maps import Map, factor_map
from ukctrl.studies.sweep_analysis.factor_units import factor_unit
from ukctrl.studies.sweep_analysis.failure_factors import FailureFactor, failure_factors
from ukctrl.studies.sweep_analysis.metric_summary import (
    FailureReason,
    Summary,
    dependent_groups,
    estimate_share,
    failure_reasons,
    summarise_metric,
    summarise_values,
)
from ukctrl.studies.sweep_analysis.sensitivity import (
    OutputKind,
    Sensitivity,
    rank_correlation,
    scaled_ranks,
    sensitivities,
)
from ukctrl.studies.sweep_analysis.study_arrays import Axis, StudyArrays, inf_where_missing
from ukctrl.studies.tuning.cost import Cost

MAX_LISTED = 10
"""Samples that a list of the worst, or of the failed, has."""


@dc.dataclass(frozen=True, kw_only=True, eq=False)
class SweepAnalysis:
    """What a study shows.

    Make one with [`SweepAnalysis.of`][ukctrl.SweepAnalysis.of]. Less of a metric is better; a
    sample that failed is worse than any other.
    """

    study: Study
    runs: StudyArrays
    """Its table as arrays."""
    cost: Cost
    """By what samples are called better or worse."""
    require: Mapping[str, float]
    """The largest value of a metric with which a sample still succeeds; the least where more is
    better."""
    pairs: tuple[tuple[str, str], ...]
    """Factors of the maps."""
    labels: Labels | None
    """Names and units of the robot and the task; None where the scenario cannot be loaded."""

    def __repr__(self) -> str:
        return f"<SweepAnalysis of {self.study!r}>"

    @staticmethod
    def of(
        study: Study,
        *,
        cost: str | None = None,
        require: Mapping[str, float] = MappingProxyType({}),
        maps: Sequence[tuple[str, str]] = (),
        trust: bool = False,
    ) -> SweepAnalysis:
        """Look at a study.

        Args:
            study: Its samples, at least one of them finished.
            cost: A metric or a weighted sum, as of a tuning: `rms_phi + 0.01*effort`; absent:
                `rms_phi`, or `rms_beta` where no sample has it.
            require: The largest value of a metric with which a sample still succeeds, or the least
                where more is better; absent: every sample that completed does.
            maps: Pairs of factors to draw maps over; absent: the two that matter most.
            trust: Whether Python code that the scenario names may run.

        Raises:
            InputError: There is no finished sample, or a metric or a factor is unknown.
        """
        spreads = {factor.path: factor.spread for factor in study.factors}
        log = {path for path, spread in spreads.items() if isinstance(spread, Log)}
        args = study.columns, list(spreads), study.design
        runs = StudyArrays.of(*args, log=log, spreads=spreads, repeats=study.repeats)
        for name, bound in require.items():
            runs.metric(name)
            if not np.isfinite(bound):
                raise InputError(f"the requirement on '{name}' must be a number; got {bound}.")
        chosen = Cost.parse(cost or _default_cost(runs))
        for name in chosen.weights:
            # Where nothing completed, no metric has a column.
            if runs.completed.any() and name not in runs.metrics:
                raise unknown_name("metric (in the cost)", name, runs.metrics, limit=40)
        for pair in maps:
            if pair[0] == pair[1]:
                raise InputError(f"a map must have two factors; got '{pair[0]}' twice.")
            for path in pair:
                if not runs.axis(path).varies:
                    raise InputError(f"a map needs factors that vary; '{path}' has one value.")
        labels, units = _labels(study, trust)
        axes = (dc.replace(axis, unit=units.get(axis.path, "")) for axis in runs.axes)
        return SweepAnalysis(
            study=study,
            runs=dc.replace(runs, axes=tuple(axes)),
            cost=chosen,
            require=MappingProxyType(dict(require)),
            pairs=tuple(maps),
            labels=labels,
        )

    @functools.cached_property
    def values(self) -> Array:
        """The cost of every sample; NaN where it failed or has none, shape `(n,)`."""
        none, runs = np.full(len(self.runs), np.nan), self.runs
        terms = [
            weight * runs.metric(name) if name in runs.metrics else none
            for name, weight in self.cost.weights.items()
        ]
        total: Array = np.sum(terms, axis=0)
        return np.where(np.isfinite(total), total, np.nan)

    @functools.cached_property
    def merit(self) -> Array:
        """The cost with infinity for what is worst."""
        return inf_where_missing(self.values)

    @functools.cached_property
    def good(self) -> NDArray[np.bool_]:
        """Which samples succeeded: completed, and within every requirement, shape `(n,)`."""
        good = self.runs.completed.copy()
        for name, end in self.require.items():
            values = self.runs.metric(name)
            with np.errstate(invalid="ignore"):
                good &= values <= end if metrics.less_is_better(name) else values >= end
        return good

    @property
    def unit(self) -> str:
        """Unit of the cost; empty of a sum, whose weights make it a plain number."""
        return self.unit_of(self.cost.text)

    def unit_of(self, name: str) -> str:
        """Return the unit of a metric for this robot and task; empty where it is not known."""
        if self.labels is None or name.partition(".")[0] not in metrics.METRICS:
            return ""
        try:
            return metrics.unit_in(name, self.labels)
        except UkctrlError:  # a block that only some samples have
            return ""

    @functools.cached_property
    def completed(self) -> Estimate:
        """The share of samples that completed."""
        return self._share(self.runs.completed)

    @functools.cached_property
    def succeeded(self) -> Estimate:
        """The share that succeeded."""
        return self._share(self.good)

    def _share(self, chosen: NDArray[np.bool_]) -> Estimate:
        rate = estimate_share(chosen, dependent_groups(self.runs))
        # The points of a grid are chosen, not drawn.
        return rate._replace(low=np.nan, high=np.nan) if self.runs.design == "grid" else rate

    @functools.cached_property
    def overall(self) -> Summary:
        """The cost over the samples."""
        return summarise_values(self.runs, self.cost.text, self.values)

    @functools.cached_property
    def summaries(self) -> tuple[Summary, ...]:
        """Every metric over the samples, without those that no sample has."""
        summaries = (summarise_metric(self.runs, name) for name in self.runs.metrics)
        return tuple(one for one in summaries if one.known)

    @functools.cached_property
    def reasons(self) -> tuple[FailureReason, ...]:
        """Why samples did not complete, the commonest first."""
        return failure_reasons(self.runs)

    @functools.cached_property
    def separations(self) -> tuple[FailureFactor, ...]:
        """What each factor has to do with failing; empty where all end alike."""
        return failure_factors(self.runs.varied, self.good, dependent_groups(self.runs))

    @functools.cached_property
    def sensitivities(self) -> Mapping[OutputKind, Sensitivity]:
        """What the cost depends on: by value where no sample failed, by rank, and the success."""
        outputs: dict[OutputKind, Array] = {}
        if np.isfinite(self.values).any():
            if np.isfinite(self.values).all():
                outputs["value"] = self.values
            outputs["rank"] = scaled_ranks(self.merit)
        if 0 < self.good.sum() < len(self.good):
            outputs["success"] = self.good.astype(np.float64)
        return {
            of: sensitivity
            for of, values in outputs.items()
            for sensitivity in sensitivities(self.runs, {self.cost.text: values}, of).values()
        }

    @functools.cached_property
    def dependence(self) -> Mapping[str, Sensitivity]:
        """What the rank of every metric depends on, without intervals."""
        summaries = [one for one in self.summaries if one.worst != one.best or one.failed]
        outputs = {one.metric: scaled_ranks(self.runs.merit(one.metric)) for one in summaries}
        return sensitivities(self.runs, outputs, "rank", intervals=False)

    @functools.cached_property
    def correlations(self) -> Mapping[str, Estimate]:
        """Spearman's rank correlation of every factor with the cost."""
        return {axis.path: rank_correlation(axis, self.merit) for axis in self.runs.axes}

    @functools.cached_property
    def strongest(self) -> tuple[Axis, ...]:
        """The factors that vary, those that matter most for the cost first.

        By the shares of the cost's rank, in which what failed is last; of too few samples by rank
        correlation.
        """
        sensitivity = self.sensitivities.get("rank") or self.sensitivities.get("success")
        strength = (
            {path: abs(rho.value) for path, rho in self.correlations.items()}
            if sensitivity is None
            else sensitivity.strength
        )
        strength = {path: float(np.nan_to_num(value)) for path, value in strength.items()}
        return tuple(sorted(self.runs.varied, key=lambda axis: -strength[axis.path]))

    @functools.cached_property
    def maps(self) -> tuple[Map, ...]:
        """The cost and the share of success over pairs of factors."""
        pairs = self.pairs
        if not pairs and len(self.strongest) > 1:
            first, second = self.strongest[:2]
            order = [axis.path for axis in self.runs.axes]
            x, y = sorted((first.path, second.path), key=order.index)
            pairs = ((x, y),)
        grid = self.runs.design == "grid"
        return tuple(
            factor_map(self.runs.axis(x), self.runs.axis(y), self.merit, self.good, grid=grid)
            for x, y in pairs
        )

    @functools.cached_property
    def worst(self) -> tuple[int, ...]:
        """The completed samples with the highest cost, the worst first; places in the table."""
        finite = np.flatnonzero(np.isfinite(self.values))
        order = finite[np.argsort(-self.values[finite], kind="stable")]
        return tuple(int(row) for row in order[:MAX_LISTED])

    @functools.cached_property
    def failed(self) -> tuple[int, ...]:
        """The first samples that did not complete; places in the table."""
        return tuple(int(row) for row in np.flatnonzero(~self.runs.completed)[:MAX_LISTED])


def _default_cost(runs: StudyArrays) -> str:
    for name in ("rms_phi", "rms_beta", *runs.metrics):
        if name in runs.metrics and np.isfinite(runs.metric(name)).any():
            return name
    return "rms_phi"


def _labels(study: Study, trust: bool) -> tuple[Labels | None, Mapping[str, str]]:
    """Return what the scenario's rows and actuators are called, without running it, and the units
    of the factors.

    Asked is a sample that has run: one that took its process along would take this one, too.
    """
    columns = study.columns
    ran = [k for k, status in enumerate(columns["status"]) if status in STATUSES]
    if not ran:
        return None, {}
    farthest = max(ran, key=np.nan_to_num(columns["reached"], nan=-np.inf).__getitem__)
    sample = int(columns["sample"][farthest])
    try:
        scenario = study.scenario_of(sample, trust=trust)
        units = {factor.path: factor_unit(scenario, factor.path) for factor in study.factors}
        return Recorder(Loop(scenario)).labels, units
    except Exception:  # such as in a user's code that the folder does not bring along
        return None, {}


def requirement_text(require: Mapping[str, float], text_of: Callable[[str, float], str]) -> str:
    """Return what is required in words."""
    return ", ".join(
        f"{name} {'≤' if metrics.less_is_better(name) else '≥'} {text_of(name, end)}"
        for name, end in require.items()
    )
