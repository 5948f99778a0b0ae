"""What a page claims, and how sure it is of all that together: the one place where that is decided.

A page ranks by many metrics, at several levels of mismatch and along fronts. Each claim is a paired
test; all of them together are corrected by Holm, so that on 95 of 100 pages none is false. The
error, its rows of single servo blocks, its levels and the fronts share half of the 5 %, all other
metrics the other half: what is read first shall not be lost among thirty rows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from ukctrl.core.statistics import CONFIDENCE, holm

TEST_DESCRIPTION = (
    "Student's paired t test at 5 %, corrected by Holm for all that the page claims, half of it "
    "for the error"
)
"""What decides about differences."""
FAMILY_ERROR_RATE = 1.0 - CONFIDENCE
"""How often a page may claim anything that is false."""


def correct_p_values(
    error: Sequence[float], secondary: Sequence[float]
) -> tuple[list[float], list[float]]:
    """Return the probabilities of all claims of a page, corrected together.

    Args:
        error: Of the claims about the error, which share half of the level.
        secondary: Of all other claims, which share the other half; NaN is no claim.
    """
    weights: list[float] = []
    for family in (error, secondary):
        count = sum(not math.isnan(p) for p in family)
        weights += [1.0 / max(count, 1)] * len(family)
    p = holm([*error, *secondary], weights)
    return p[: len(error)], p[len(error) :]
