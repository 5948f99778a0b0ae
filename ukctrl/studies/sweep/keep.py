"""Which results of a study are kept whole."""

from __future__ import annotations

import dataclasses as dc
from typing import Literal, final

import numpy as np

from ukctrl.core.errors import InputError, near_miss, unknown_name
from ukctrl.simulation.result import metrics
from ukctrl.simulation.result.columns import Columns
from ukctrl.studies.sweep.journal import FAILED, TIMED_OUT

WHAT = ("none", "failed", "all", "worst")
MOST_WORST = 1000
"""More of the worst results than this are a typing error."""


@final
@dc.dataclass(frozen=True)
class Keep:
    """Which results are kept whole."""

    what: Literal["none", "failed", "all", "worst"] = "none"
    """``failed`` are those of samples that did not complete."""
    count: int = 0
    """How many of the ``worst``."""
    metric: str = "rms_phi"
    """What the ``worst`` have most of, or least where more is better. Worse than any are those that
    did not complete."""

    @staticmethod
    def parse(text: str) -> Keep:
        """Read ``none``, ``failed``, ``all``, ``worst:N`` or ``worst:N:METRIC``.

        Raises:
            InputError: It is none of these, or there is no such metric.
        """
        what, *rest = (part.strip() for part in text.split(":", 2))
        if what == "worst" and rest and rest[0].isdecimal() and 1 <= int(rest[0]) <= MOST_WORST:
            metric = rest[1] if len(rest) > 1 else "rms_phi"
            metrics.describe(metric)
            return Keep("worst", int(rest[0]), metric)
        for known in ("none", "failed", "all"):
            if known == what and not rest:
                return Keep(known)
        raise InputError(
            "keep must be none, failed, all, or worst:N with N from 1 to "
            f"{MOST_WORST}; got '{text}'{near_miss(what, WHAT) if what not in WHAT else '.'}"
        )

    def worst(self, table: Columns) -> list[int]:
        """Return the samples of a table that are to be run again and kept.

        Raises:
            UnknownName: The task has no such metric.
        """
        if self.what != "worst":
            return []
        ran = [k for k, status in enumerate(table["status"]) if status not in (FAILED, TIMED_OUT)]
        if not ran:
            return []
        if self.metric not in table:
            names = [name for name in table if name != "sample"]
            raise unknown_name("metric (in keep)", self.metric, names)
        completed = table["status"][ran] == "completed"
        reached = np.where(completed, 0.0, table["reached"][ran])
        badness = table[self.metric][ran] * (-1.0 if metrics.less_is_better(self.metric) else 1.0)
        sample = table["sample"][ran]
        order = np.lexsort((sample, badness, reached, completed))  # by the last first; NaN last
        return [int(worst) for worst in sample[order[: self.count]]]
