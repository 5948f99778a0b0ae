"""What a search makes small, and what it must keep to: metrics, and weighted sums of them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from ukctrl.core.errors import InputError, unknown_name
from ukctrl.core.fields import is_number
from ukctrl.core.files.table_paths import parse_value
from ukctrl.core.number_text import number, percent
from ukctrl.simulation.assemble import Loop
from ukctrl.simulation.record.recorder import Recorder
from ukctrl.simulation.result import metrics
from ukctrl.simulation.result.metrics.inequality_metrics import LENGTH_ROUNDING
from ukctrl.simulation.scenario import Scenario

_TERM = re.compile(
    r"\s*(?:(?P<weight>\d[\d.]*(?:[eE][+-]?\d+)?|\.\d+)\s*\*\s*)?(?P<metric>[A-Za-z_][^\s+*]*)\s*"
)


class Cost(NamedTuple):
    """A weighted sum of metrics; less is better."""

    text: str
    """As it was written."""
    weights: Mapping[str, float]
    """Weight of each metric; a weight has the unit that makes its term a plain number."""

    @staticmethod
    def parse(text: str, of: str = "cost", *, more: bool = False) -> Cost:
        """Read a metric or a weighted sum: `rms_phi.tool + 0.01*effort`.

        Args:
            text: The sum.
            of: What it is, for messages.
            more: Whether it is of metrics of which more is better.

        Raises:
            InputError: It is no such sum, or a metric in it is unknown or no merit of a controller.
        """
        weights: dict[str, float] = {}
        position = 0
        while True:
            term = _TERM.match(text, position)
            if term is None:
                raise _parse_error(text, of)
            weight = float(term["weight"] or 1.0)
            name = term["metric"]
            metric = metrics.describe(name)
            if not metric.about_controller or metric.function is None:
                reason = "judges the integration" if metric.function else "is wall time"
                reason = f"metric '{name}' {reason}, for which no gain is tuned"
                raise InputError(f"{of} '{text}': {reason}.")
            if metric.more_is_better is not more:
                direction, bound = "less", f"{name} <= NUMBER"
                if metric.more_is_better:
                    direction, bound = "more", f"{name} >= 0"
                raise InputError(
                    f"{of} '{text}': {direction} of '{name}' is better; bound it by a constraint, "
                    f"'{bound}'."
                )
            if not (math.isfinite(weight) and weight > 0.0):
                raise InputError(f"{of} '{text}': the weight of '{name}' must be positive.")
            weights[name] = weights.get(name, 0.0) + weight
            position = term.end()
            if position == len(text):
                return Cost(text.strip(), weights)
            if text[position] != "+":
                raise _parse_error(text, of)
            position += 1

    def of(self, values: Mapping[str, float]) -> float:
        """Return the cost of a run with these metrics; NaN where one of them does not exist.

        Raises:
            UnknownName: The task has no such servo block.
        """
        for name in self.weights:
            if name not in values:
                raise unknown_name("metric", name, values, limit=40)
        return math.fsum(weight * values[name] for name, weight in self.weights.items())


def _parse_error(text: str, of: str) -> InputError:
    return InputError(
        f"{of} must be a metric, or a weighted sum such as 'rms_phi + 0.01*effort'; got '{text}'."
    )


class Limit(NamedTuple):
    """A bound that a weighted sum of metrics must keep to, ``peak_u <= 40``, or of metrics of which
    more is better ``worst_margin.wall >= 0``.
    """

    text: str
    """As it was written."""
    left: Cost
    bound: float
    """In the units of the metrics."""
    below: bool = False
    """Whether it bounds from below."""

    @staticmethod
    def parse(text: str) -> Limit:
        """Read a bound: `peak_u <= 40`, `rms_phi.tool + 0.1*rms_phi.tilt <= 0.002`.

        Raises:
            InputError: It is no such bound, or a metric in it is unknown or no merit of a
                controller.
        """
        lhs_text, *tail = re.split(r"(<=|>=|<|>)", text)
        if len(tail) != 2:
            raise InputError(
                "a constraint must be METRIC <= NUMBER, or METRIC >= NUMBER where more is better; "
                f"got '{text}'."
            )
        below, written = tail[0].startswith(">"), tail[1].strip()
        bound = parse_value(written)
        if not (is_number(bound) and math.isfinite(bound) and (below or float(bound) >= 0.0)):
            must = "a number" if below else "a number, zero or above"
            raise InputError(
                f"constraint '{text.strip()}': the bound must be {must}; got '{written}'."
            )
        lhs = Cost.parse(lhs_text.strip(), "constraint", more=below)
        return Limit(text.strip(), lhs, float(bound), below)

    def excess(self, values: Mapping[str, float]) -> float:
        """Return how far a run with these metrics is beyond the bound, as a fraction of it.

        Zero where it keeps to it. Of a bound that is zero it is the value itself. A run without
        such a value, as one that never settles has no settling time, counts as `MAX_VIOLATION`.
        A margin that is less than `LENGTH_ROUNDING` beyond is rounding, as in the verdict on a run.

        Raises:
            UnknownName: The task has no such servo block.
        """
        value = self.left.of(values)
        if not math.isfinite(value):
            return MAX_VIOLATION
        excess = self.bound - value if self.below else value - self.bound
        if excess <= (LENGTH_ROUNDING if self.below else 0.0):
            return 0.0
        return min(excess / abs(self.bound) if self.bound else excess, MAX_VIOLATION)

    def amount(self, excess: float) -> str:
        """Return an excess in words: in per cent of the bound; of a bound of zero as it is."""
        return percent(excess) if self.bound else number(excess, 3)


MAX_VIOLATION = 1e6
"""The most that a constraint is violated by: this many times its bound."""


class RunScore(NamedTuple):
    """What one run is worth."""

    cost: float
    """Infinite where the run did not complete, or lacks a metric of the cost."""
    violation: float
    """How far it is beyond its constraints, as fractions of their bounds added up; infinite where
    it did not complete."""
    fraction_reached: float
    """Fraction of the run that was reached."""
    violations: tuple[float, ...] = ()
    """The violation, constraint by constraint; nothing where it did not complete."""


class Objective(NamedTuple):
    """What a search makes small, and what it must keep to."""

    cost: Cost
    limits: tuple[Limit, ...] = ()

    @staticmethod
    def parse(cost: str, limits: Iterable[str] = ()) -> Objective:
        """Read the texts of a cost and its constraints.

        Raises:
            InputError: One of them cannot be read.
        """
        return Objective(Cost.parse(cost), tuple(Limit.parse(text) for text in limits))

    @property
    def metrics(self) -> tuple[str, ...]:
        """The metrics in it."""
        sums = (self.cost, *(limit.left for limit in self.limits))
        return tuple(dict.fromkeys(name for weighted_sum in sums for name in weighted_sum.weights))

    def judge(self, completed: bool, reached: float, values: Mapping[str, float]) -> RunScore:
        """Return what a run is worth.

        Args:
            completed: Whether it reached its end.
            reached: Fraction of it that was reached.
            values: Its metrics.

        Raises:
            UnknownName: The task has no such servo block.
        """
        if not completed:
            return RunScore(math.inf, math.inf, reached)
        cost = self.cost.of(values)
        violations = tuple(limit.excess(values) for limit in self.limits)
        if not math.isfinite(cost):
            return RunScore(math.inf, math.inf, reached)
        return RunScore(cost, math.fsum(violations), reached, violations)


def check_metrics(scenario: Scenario, names: Iterable[str]) -> None:
    """Refuse metrics of servo blocks, or of what is kept, that a scenario has not, before it runs.

    Raises:
        UnknownName: It has not.
        InputError: It keeps nothing, or does not fit its robot.
    """
    names = tuple(names)
    keeps = [name for name in names if metrics.describe(name).per_keep]
    if keeps and not scenario.keep:
        raise InputError(
            f"'{keeps[0]}' is of what a law keeps, and the scenario keeps nothing: add a [[keep]]."
        )
    of_blocks = [name for name in names if "." in name]
    if of_blocks:
        block_metrics = metrics.block_metric_names(Recorder(Loop(scenario)).labels)
        for name in of_blocks:
            if name not in block_metrics:
                raise unknown_name("metric", name, [*metrics.METRICS, *block_metrics], limit=40)
