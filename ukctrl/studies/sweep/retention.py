"""Which results of a study are kept whole."""

from __future__ import annotations

import dataclasses as dc
from typing import Literal, final

import numpy as np

from ukctrl.core.errors import InputError, did_you_mean, unknown_name
from ukctrl.simulation.result import metrics
from ukctrl.simulation.result.column_files import Columns
from ukctrl.studies.sweep.sample_record import FAILED_STATUS, TIMED_OUT

MODES = ("none", "failed", "all", "worst")
MAX_WORST = 1000
"""More of the worst results than this are a typing error."""


@final
@dc.dataclass(frozen=True)
class RetentionPolicy:
    """Which results are kept whole."""

    what: Literal["none", "failed", "all", "worst"] = "none"
    """``failed`` are those of samples that did not complete."""
    count: int = 0
    """How many of the ``worst``."""
    metric: str = "rms_phi"
    """What the ``worst`` have most of, or least where more is better. Worse than any are those that
    did not complete."""

    @staticmethod
    def parse(text: str) -> RetentionPolicy:
        """Read ``none``, ``failed``, ``all``, ``worst:N`` or ``worst:N:METRIC``.

        Raises:
            InputError: It is none of these, or there is no such metric.
        """
        mode, *options = (piece.strip() for piece in text.split(":", 2))
        count = int(options[0]) if options and options[0].isdecimal() else 0
        if mode == "worst" and 1 <= count <= MAX_WORST:
            metric = options[1] if len(options) > 1 else "rms_phi"
            metrics.describe(metric)
            return RetentionPolicy("worst", count, metric)
        for choice in ("none", "failed", "all"):
            if choice == mode and not options:
                return RetentionPolicy(choice)
        raise InputError(
            "keep must be none, failed, all, or worst:N with N from 1 to "
            f"{MAX_WORST}; got '{text}'{did_you_mean(mode, MODES) if mode not in MODES else '.'}"
        )

    def worst(self, table: Columns) -> list[int]:
        """Return the samples of a table that are to be run again and kept.

        Raises:
            UnknownName: The task has no such metric.
        """
        if self.what != "worst":
            return []
        statuses = enumerate(table["status"])
        ran = [k for k, status in statuses if status not in (FAILED_STATUS, TIMED_OUT)]
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
