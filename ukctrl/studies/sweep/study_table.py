"""The rows of a study as a table, and as files that are the same whoever computed them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ukctrl.simulation.result.metrics import METRICS
from ukctrl.simulation.result.plain_files import replacing
from ukctrl.studies.sweep.factor import Factor
from ukctrl.studies.sweep.journal import Row
from ukctrl.studies.sweep.plan import SEED
from ukctrl.studies.sweep.spread import Column

if TYPE_CHECKING:
    import pandas as pd

FIXED = ("sample", SEED, "status", "message", "reached")
"""Columns that every study has, beside its factors and metrics."""
VERDICT = "verdict"
"""A column that studies of earlier versions lack."""
UNTIMED = tuple(name for name, metric in METRICS.items() if metric.function is not None)
"""Metrics that do not depend on wall time."""
CHUNK = 1000
"""Rows that are turned into text at a time."""
TYPES: dict[Column, str] = {"bool": "bool", "int": "int64", "float": "float64", "text": "object"}


def table_of(factors: Iterable[Factor], rows: Iterable[Row], count: int) -> pd.DataFrame:
    """Return the table of a study.

    Args:
        factors: What is varied.
        rows: What is recorded, in order of the samples' numbers.
        count: How many rows there are.
    """
    import pandas as pd

    given = {factor.path: factor.spread.column() for factor in factors if factor.path != SEED}
    metrics: dict[str, NDArray[np.float64]] = {}
    columns: dict[str, Any] = {"sample": np.zeros(count, dtype=np.int64)}
    columns |= {path: np.zeros(count, dtype=TYPES[kind]) for path, kind in given.items()}
    columns |= {SEED: np.zeros(count, dtype=np.int64), "status": [], "message": []}
    columns |= {"reached": np.zeros(count), VERDICT: []}
    for k, row in enumerate(rows):
        for name in ("sample", SEED, "reached"):
            columns[name][k] = getattr(row, name)
        for path, kind in given.items():
            value = row.values[path]
            columns[path][k] = _text(value) if kind == "text" else value
        columns["status"].append(row.status)
        columns["message"].append(row.message)
        columns[VERDICT].append(row.verdict)
        for name, number in row.metrics.items():
            if name not in metrics:
                metrics[name] = np.full(count, np.nan)
            metrics[name][k] = number
    return pd.DataFrame(columns | {name: metrics[name] for name in _ordered(metrics)})


def rows_of(factors: Iterable[Factor], table: pd.DataFrame) -> Iterator[Row]:
    """Yield the rows of a table again."""
    paths = [factor.path for factor in factors if factor.path != SEED]
    metrics = [name for name in table.columns if name not in (*FIXED, VERDICT, *paths)]
    for entry in table.to_dict("records"):
        yield Row(
            sample=int(entry["sample"]),
            values={path: entry[path] for path in paths},
            seed=int(entry[SEED]),
            status=str(entry["status"]),
            message=str(entry["message"]),
            reached=float(entry["reached"]),
            metrics={str(name): float(entry[name]) for name in metrics},
            verdict=str(entry.get(VERDICT, "")),
        )


def write_tables(folder: Path, table: pd.DataFrame) -> None:
    """Write `study.csv`, every number to its last bit, and `study.parquet`, each atomically."""
    with replacing(folder / "study.csv") as path, path.open("wb") as target:
        table.to_csv(target, index=False, lineterminator="\n", chunksize=CHUNK)
    with replacing(folder / "study.parquet") as path, path.open("wb") as target:
        table.to_parquet(target, engine="pyarrow", index=False)


def _ordered(names: Iterable[str]) -> list[str]:
    """Return metrics in the order of all tables, those of single servo blocks last.

    Which runs came first, and which of them had which blocks, must not tell.
    """
    places = {name: place for place, name in enumerate(METRICS)}

    def place(name: str) -> tuple[bool, str, int]:
        base, _, block = name.partition(".")
        return bool(block), block, places.get(base, len(places))

    return sorted(names, key=place)


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, default=str)
