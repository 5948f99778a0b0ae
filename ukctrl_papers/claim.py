"""What a published number is, beside ours."""

from __future__ import annotations

import dataclasses as dc
import math
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Literal, NamedTuple, TypedDict, Unpack

import numpy as np
from numpy.typing import ArrayLike

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Verdict = Literal[
    "agrees",
    "differs: misprint",
    "differs: underspecified",
    "differs: claim does not hold",
    "not reproducible",
    "differs",
]
"""What can come of a comparison. A bare ``differs`` has no explanation, and is a failure."""

ROUNDING_RTOL = 1e-12
"""Relative difference that the computer's own rounding makes."""


@dc.dataclass(frozen=True, kw_only=True)
class Claim:
    """One number, bound or statement that a paper prints, and what we find."""

    where: str
    """Place in the paper, such as ``Figure 2`` or ``eq (71)``."""
    what: str
    """The quantity in words."""
    printed: float | str | None = None
    """As printed; None where the paper says it in words or in a lost figure only."""
    ours: float | str
    """As computed now, never typed in."""
    unit: str = ""
    within: float = 0.0
    """Largest absolute difference that counts as agreement: what rounding of the printed digits
    allows."""
    holds: bool | None = None
    """For a statement in words: whether the computation confirms it."""
    otherwise: Verdict = "differs"
    """What a difference means, once it has been understood."""
    note: str = ""
    """Why, in a sentence; the route by which our number was verified."""

    @property
    def difference(self) -> float:
        """Return the relative difference ``|ours - printed| / |printed|``; NaN for words."""
        if isinstance(self.printed, str) or isinstance(self.ours, str) or self.printed is None:
            return math.nan
        error = abs(self.ours - self.printed)
        return error / abs(self.printed) if self.printed else error

    @property
    def verdict(self) -> Verdict:
        """Return ``agrees``, or what the difference means.

        What `otherwise` explains is a difference: a number of ours that is none stays a bare
        ``differs``, unless nothing was to be had in the first place.
        """
        if self.holds is not None:
            return "agrees" if self.holds else self.otherwise
        if isinstance(self.printed, str) or isinstance(self.ours, str) or self.printed is None:
            return "agrees" if self.printed == self.ours else self.otherwise
        if not math.isfinite(self.ours) and self.otherwise != "not reproducible":
            return "agrees" if self.ours == self.printed else "differs"
        allowed = self.within + ROUNDING_RTOL * abs(self.printed)
        return "agrees" if abs(self.ours - self.printed) <= allowed else self.otherwise


class _ClaimFields(TypedDict, total=False):
    """Fields of `Claim` that `bounded_claim` and `zero_claim` hand on."""

    unit: str
    otherwise: Verdict
    note: str


def bounded_claim(
    where: str, quantity: str, miss: ArrayLike, bound: float, **fields: Unpack[_ClaimFields]
) -> Claim:
    """Return the claim that a miss, of which nothing is printed, is at most a bound.

    Ours is the largest absolute entry of ``miss``; the other arguments are fields of `Claim`.
    """
    worst = float(np.abs(miss).max())
    return Claim(where=where, what=quantity, ours=worst, holds=worst <= bound, **fields)


def zero_claim(
    where: str, quantity: str, miss: ArrayLike, within: float, **fields: Unpack[_ClaimFields]
) -> Claim:
    """Return the claim that what two formulas of the paper differ by is zero; see
    `bounded_claim`.
    """
    claim = bounded_claim(where, quantity, miss, within, **fields)
    return dc.replace(claim, printed=0.0, within=within, holds=None)


ClaimGenerator = Callable[[], Iterable[Claim]]
"""Computes claims and yields them one by one, so that progress can be shown."""


class Drawing(NamedTuple):
    """A figure of a paper, ours; drawn when asked for."""

    name: str
    """A file name without its ending, such as ``drift``."""
    title: str
    """Such as ``Figure 5: displacement errors``."""
    caption: str
    draw: Callable[[], Figure]


@dc.dataclass(frozen=True, kw_only=True)
class Paper:
    """A paper and the claims that are recomputed."""

    key: str
    """What ``ukctrl reproduce KEY`` calls it."""
    citation: str
    claims: tuple[ClaimGenerator, ...]
    """Generator functions that need nothing of each other: when one fails, the others are computed.
    What one is about is the first line of its docstring."""
    figures: Callable[[], Iterable[Drawing]] | None = None
    """The figures of the paper, drawn from our numbers."""
