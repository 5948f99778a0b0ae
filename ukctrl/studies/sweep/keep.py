"""Which results of a study are kept whole."""

from __future__ import annotations

import dataclasses as dc
from typing import TYPE_CHECKING, Literal, final

from ukctrl.core.errors import InputError, near_miss, unknown_name
from ukctrl.simulation.result import metrics
from ukctrl.studies.sweep.journal import FAILED, TIMED_OUT

if TYPE_CHECKING:
    import pandas as pd

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

    def worst(self, table: pd.DataFrame) -> list[int]:
        """Return the samples of a table that are to be run again and kept.

        Raises:
            UnknownName: The task has no such metric.
        """
        if self.what != "worst":
            return []
        ran = table[~table["status"].isin((FAILED, TIMED_OUT))]
        if not len(ran):
            return []
        if self.metric not in ran:
            raise unknown_name(
                "metric (in keep)", self.metric, ran.columns[ran.columns != "sample"]
            )
        failed = ran["status"] != "completed"
        ranked = ran.assign(_failed=failed, _reached=ran["reached"].where(failed, 0.0))
        by = ["_failed", "_reached", self.metric, "sample"]
        rising = [False, True, not metrics.less_is_better(self.metric), True]
        ranked = ranked.sort_values(by, ascending=rising, na_position="last")
        return [int(sample) for sample in ranked["sample"][: self.count]]
