"""A study, as a card in a notebook."""

from __future__ import annotations

from ukctrl.core.number_text import number
from ukctrl.reports.notebook import card
from ukctrl.reports.table import Column, Table
from ukctrl.studies.sweep.study import Study

MOST = 8
"""So many samples are listed."""
METRICS = ("rms_phi", "rms_beta", "effort", "peak_u")


def html(study: Study) -> str:
    """Return the card."""
    factors = [factor.path for factor in study.factors]
    metrics = [name for name in METRICS if name in study.table and study.table[name].notna().any()]
    columns = ["sample", *factors, "status", *metrics]
    rows = study.table[[name for name in columns if name in study.table]].head(MOST)
    table = Table.of(
        [Column(name, "number" if name in metrics else "text") for name in rows.columns],
        ([_text(value) for value in row] for row in rows.itertuples(index=False)),
    )
    counts = study.table["status"].value_counts()
    ended = ", ".join(f"{count} {status}" for status, count in counts.items())
    return card(
        str(study.scenario.get("title") or "A study"),
        f"{len(study.table)} of {study.about.plan.count} samples of "
        f"{', '.join(factors) or 'the seed'}: {ended or 'none yet'}.",
        table=table,
    )


def _text(value: object) -> str:
    return number(value) if isinstance(value, float) else str(value)
