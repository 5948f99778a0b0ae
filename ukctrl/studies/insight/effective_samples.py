"""How much samples say that are not independent of each other."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ukctrl.core.arrays import Flags
from ukctrl.core.statistics import CONFIDENCE, Estimate, wilson
from ukctrl.studies.insight.study_runs import Runs

Family = NDArray[np.intp] | None
"""Which samples share values of factors, shape `(n,)`; None where all are independent."""


def families(runs: Runs) -> Family:
    """Return which samples share values: the blocks of a Saltelli design, and repeats."""
    if runs.design == "saltelli":
        rows = -(-int(runs.point.max() + 1) // (len(runs.axes) + 2))
        family: NDArray[np.intp] = runs.point % rows
        return family
    return runs.point if runs.repeats > 1 else None


def worth(chosen: Flags, family: Family) -> float:
    r"""Return how many independent samples would tell a share as well as these.

    With $N$ families among $n$ samples and $e_j$ the sum of $[\text{chosen}] - p$ in each,
    $\widehat{\operatorname{var}} = \frac{N}{N-1} \sum_j e_j^2 / n^2$, and
    $n_\mathrm{eff} = p (1 - p) / \widehat{\operatorname{var}}$, between $N$ and $n$.
    """
    n = len(chosen)
    if family is None:
        return float(n)
    p = float(chosen.mean())
    apart = np.bincount(np.unique(family, return_inverse=True)[1], chosen - p)
    count = len(apart)
    variance = count / max(count - 1, 1) * float(np.sum(apart**2)) / n**2
    if variance <= 0.0:
        return float(count)
    return float(np.clip(p * (1.0 - p) / variance, count, n))


def share(chosen: Flags, family: Family = None, confidence: float = CONFIDENCE) -> Estimate:
    """Return the share of what is chosen, with Wilson's interval for what the samples are worth."""
    n = len(chosen)
    if not n:
        return wilson(0, 0)
    effective = worth(chosen, family)
    return wilson(float(chosen.sum()) * effective / n, effective, confidence)
