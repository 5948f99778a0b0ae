"""What a search makes small: a metric, or a weighted sum of metrics."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import NamedTuple

from ukctrl import metrics
from ukctrl.errors import InputError, unknown_name

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
    def parse(text: str) -> Cost:
        """Read a metric or a weighted sum: `rms_phi.tool + 0.01*effort`.

        Raises:
            InputError: It is no such sum, or a metric in it is unknown or no merit of a controller.
        """
        weights: dict[str, float] = {}
        position = 0
        while True:
            found = _TERM.match(text, position)
            if found is None:
                raise _unreadable(text)
            weight = float(found["weight"] or 1.0)
            name = found["metric"]
            metric = metrics.describe(name)
            if not metric.about_controller or metric.function is None:
                why = "judges the integration" if metric.function else "is wall time"
                raise InputError(f"cost '{text}': metric '{name}' {why}, and no gain should.")
            if not (math.isfinite(weight) and weight > 0.0):
                raise InputError(f"cost '{text}': the weight of '{name}' must be positive.")
            weights[name] = weights.get(name, 0.0) + weight
            position = found.end()
            if position == len(text):
                return Cost(text.strip(), weights)
            if text[position] != "+":
                raise _unreadable(text)
            position += 1

    def of(self, values: Mapping[str, float]) -> float:
        """Return the cost of a run with these metrics; NaN where one of them does not exist.

        Raises:
            UnknownName: The task has no such servo block.
        """
        for name in self.weights:
            if name not in values:
                raise unknown_name("metric (in the cost)", name, values, limit=40)
        return math.fsum(weight * values[name] for name, weight in self.weights.items())


def _unreadable(text: str) -> InputError:
    return InputError(
        f"cost must be a metric, or a weighted sum such as 'rms_phi + 0.01*effort'; got '{text}'."
    )
