"""Tables of made-up studies, in the form in which a sweep leaves them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import qmc
from studies import columns_of

from ukctrl.studies.sweep_analysis.study_arrays import StudyArrays


@pytest.fixture(name="table_of")
def _table_of():
    """Build a study's table of factors and metrics."""

    def build(factors, metrics, *, status=None, message="", seed=0):
        count = len(next(iter(metrics.values())))
        columns = {"sample": np.arange(count), **factors, "seed": seed}
        columns |= {"status": "completed" if status is None else status, "message": message}
        return columns_of(columns | {"reached": 1.0, **metrics})

    return build


@pytest.fixture(name="runs_of")
def _runs_of(table_of):
    """Build the samples of a design from an array of its points."""

    def build(points, y, design, *, failed=None, repeats=1, spread=None):
        factors = {f"x{i + 1}": column for i, column in enumerate(np.asarray(points).T)}
        status = None if failed is None else np.where(failed, "diverged", "completed")
        table = table_of(factors, {"rms_phi": y}, status=status)
        spreads = {} if spread is None else dict.fromkeys(factors, spread)
        return StudyArrays.of(table, list(factors), design, spreads=spreads, repeats=repeats)

    return build


@pytest.fixture(name="saltelli")
def _saltelli():
    """Return Saltelli's design in the unit cube: A, B, then each A with a column of B."""

    def build(n, d, seed=0):
        both = qmc.Sobol(2 * d, seed=seed).random(n)
        A, B = both[:, :d], both[:, d:]
        mixed = [np.where(np.arange(d) == i, B, A) for i in range(d)]
        return np.concatenate([A, B, *mixed])

    return build
