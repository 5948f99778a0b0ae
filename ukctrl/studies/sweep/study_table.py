"""The rows of a study as a table, and as files that are the same whoever computed them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ukctrl.simulation.result.column_files import Columns, write_csv, write_parquet
from ukctrl.simulation.result.metrics import METRICS
from ukctrl.studies.sweep.distributions import ColumnType
from ukctrl.studies.sweep.factor import Factor
from ukctrl.studies.sweep.sample_record import SampleRecord
from ukctrl.studies.sweep.sampling_plan import SEED_PATH

FIXED_COLUMNS = ("sample", SEED_PATH, "status", "message", "reached")
"""Columns that every study has, beside its factors and metrics."""
VERDICT_COLUMN = "verdict"
"""A column that studies of earlier versions lack."""
DETERMINISTIC_METRICS = tuple(name for name, one in METRICS.items() if one.function is not None)
"""Metrics that do not depend on wall time."""
DTYPES: dict[ColumnType, str] = {
    "bool": "bool", "int": "int64", "float": "float64", "text": "object"
}  # fmt: skip


def table_of(factors: Iterable[Factor], rows: Iterable[SampleRecord], count: int) -> Columns:
    """Return the table of a study.

    Args:
        factors: What is varied.
        rows: What is recorded, in order of the samples' numbers.
        count: How many rows there are.
    """
    column_types = {
        factor.path: factor.spread.column_type() for factor in factors if factor.path != SEED_PATH
    }
    metrics: dict[str, NDArray[np.float64]] = {}
    columns: dict[str, Any] = {"sample": np.zeros(count, dtype=np.int64)}
    columns |= {path: np.zeros(count, dtype=DTYPES[kind]) for path, kind in column_types.items()}
    columns |= {SEED_PATH: np.zeros(count, dtype=np.int64)}
    columns |= {name: np.zeros(count, dtype=object) for name in ("status", "message")}
    columns |= {"reached": np.zeros(count), VERDICT_COLUMN: np.zeros(count, dtype=object)}
    for k, row in enumerate(rows):
        for name in (*FIXED_COLUMNS, VERDICT_COLUMN):
            columns[name][k] = getattr(row, name)
        for path, kind in column_types.items():
            value = row.values[path]
            columns[path][k] = _text(value) if kind == "text" else value
        for name, number in row.metrics.items():
            if name not in metrics:
                metrics[name] = np.full(count, np.nan)
            metrics[name][k] = number
    return columns | {name: metrics[name] for name in _sort_metrics(metrics)}


def rows_of(factors: Iterable[Factor], table: Columns) -> Iterator[SampleRecord]:
    """Yield the rows of a table again."""
    paths = [factor.path for factor in factors if factor.path != SEED_PATH]
    metrics = [name for name in table if name not in (*FIXED_COLUMNS, VERDICT_COLUMN, *paths)]
    for values in zip(*(column.tolist() for column in table.values()), strict=True):
        entry = dict(zip(table, values, strict=True))
        yield SampleRecord(
            sample=int(entry["sample"]),
            values={path: entry[path] for path in paths},
            seed=int(entry[SEED_PATH]),
            status=str(entry["status"]),
            message=str(entry["message"]),
            reached=float(entry["reached"]),
            metrics={name: float(entry[name]) for name in metrics},
            verdict=str(entry.get(VERDICT_COLUMN, "")),
        )


def write_tables(folder: Path, table: Columns) -> None:
    """Write `study.csv`, and `study.parquet` where PyArrow is installed, each atomically."""
    write_csv(table, folder / "study.csv")
    write_parquet(table, folder / "study.parquet")


def _sort_metrics(names: Iterable[str]) -> list[str]:
    """Return metrics in the order of all tables, those of single servo blocks last.

    Which runs came first, and which of them had which blocks, must not tell.
    """
    ranks = {name: place for place, name in enumerate(METRICS)}

    def place(name: str) -> tuple[bool, str, int]:
        base, _, block = name.partition(".")
        return bool(block), block, ranks.get(base, len(ranks))

    return sorted(names, key=place)


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, default=str)
