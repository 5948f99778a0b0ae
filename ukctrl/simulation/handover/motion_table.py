"""The motion and the inputs of a run as one table, a row a sample."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ukctrl.simulation.result.plain_files import replacing, write_atomically
from ukctrl.simulation.result.quantities import FIELDS, Labels

if TYPE_CHECKING:
    import pandas as pd

    from ukctrl.simulation.result.result import Result

QUANTITIES = {
    "q": "coordinates",
    "v": "dofs",
    "a": "dofs",
    "u": "actuators",
    "q_measured": "coordinates",
    "v_measured": "dofs",
    "u_commanded": "actuators",
}
"""What the table has columns of, with the names along its axis; the last three only where what the
law sees or says is not what is."""


def motion_table(result: Result) -> pd.DataFrame:
    """Return the motion and the inputs of a run: ``time``, ``q.<coordinate>``, ``u.<motor>``, ...

    A text of the table by `DataFrame.to_csv` holds every number to its last bit.
    """
    import pandas as pd

    columns = {"time": np.array(result.time)}
    for name, axis in QUANTITIES.items():
        if name in result.samples.arrays:
            names = getattr(result.labels, axis)
            columns |= {f"{name}.{entry}": result[name][:, k] for k, entry in enumerate(names)}
    return pd.DataFrame(columns)


def column_units(labels: Labels) -> dict[str, str]:
    """Return the unit of every column of `motion_table`, and of those that it may lack."""
    units = {"time": "s"}
    for name, axis in QUANTITIES.items():
        names, known = getattr(labels, axis), FIELDS[name].units(labels)
        units |= {f"{name}.{entry}": unit for entry, unit in zip(names, known, strict=True)}
    return units


def write_csv(table: pd.DataFrame, path: Path) -> None:
    """Write a table as CSV, every number with all its digits."""
    write_atomically(path, table.to_csv(index=False, lineterminator="\n").encode())


def write_parquet(table: pd.DataFrame, units: dict[str, str], path: Path) -> None:
    """Write a table as Parquet, with the unit of each column in its metadata."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    arrow = pa.Table.from_pandas(table, preserve_index=False)
    fields = [field.with_metadata({"units": units.get(field.name, "")}) for field in arrow.schema]
    known = {**(arrow.schema.metadata or {}), b"units": json.dumps(units).encode()}
    arrow = arrow.cast(pa.schema(fields, metadata=known))
    with replacing(path) as temporary:
        pq.write_table(arrow, temporary)
