"""A study, as a card in a notebook."""

from __future__ import annotations

import collections

import numpy as np

from ukctrl.core.number_text import number
from ukctrl.reports.notebook_card import card
from ukctrl.reports.report_table import ReportTable, TableColumn
from ukctrl.studies.sweep.study import Study

MAX_SAMPLES = 8
"""So many samples are listed."""
CARD_METRICS = ("rms_phi", "rms_beta", "effort", "peak_u")


def html(study: Study) -> str:
    """Return the card."""
    factors = [factor.path for factor in study.factors]
    columns = study.columns
    metrics = [
        name for name in CARD_METRICS if name in columns and not np.isnan(columns[name]).all()
    ]
    shown = [name for name in ("sample", *factors, "status", *metrics) if name in columns]
    table = ReportTable.from_rows(
        [TableColumn(name, "number" if name in metrics else "text") for name in shown],
        zip(*(map(_text, columns[name][:MAX_SAMPLES].tolist()) for name in shown), strict=True),
    )
    counts = collections.Counter(columns["status"].tolist()).most_common()
    ended = ", ".join(f"{count} {status}" for status, count in counts)
    return card(
        str(study.scenario.get("title") or "A study"),
        f"{study.done} of {study.about.plan.count} samples of "
        f"{', '.join(factors) or 'the seed'}: {ended or 'none yet'}.",
        table=table,
    )


def _text(value: object) -> str:
    return number(value) if isinstance(value, float) else str(value)
