"""The history of a search as a table."""

from __future__ import annotations

import csv
import io
import math

from ukctrl.studies.tuning.tuning_record import Tuning


def history_csv(tuning: Tuning) -> str:
    """Return one line per candidate, in the order in which they were tried.

    Columns: `candidate`, `simulations` until then, `stage`, the gains by their paths, `cost`,
    `violation`, `reached`, `status`, `lowest` cost so far of those that keep to the constraints,
    and the cost on each plant, `cost:0`, where there are several.
    """
    paths = [gain.path for gain in tuning.gains]
    each = [f"cost:{k}" for k in range(tuning.plants)] if tuning.plants > 1 else []
    head = ["candidate", "simulations", "stage", *paths, "cost", "violation", "reached", "status"]
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow([*head, "lowest", *each])
    for k, (trial, lowest) in enumerate(zip(tuning.trials, tuning.history(), strict=True)):
        writer.writerow(
            [
                k,
                (k + 1) * tuning.plants,
                trial.stage,
                *(repr(trial.gains[path]) for path in paths),
                _text(trial.cost),
                _text(trial.violation),
                repr(trial.reached),
                trial.status,
                _text(float(lowest)),
                *(_text(cost) for cost in trial.each),
            ]
        )
    return stream.getvalue()


def _text(value: float) -> str:
    return repr(value) if math.isfinite(value) else ""
