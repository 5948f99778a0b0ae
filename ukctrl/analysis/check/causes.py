"""What follows from what among the judgements of `check`: one cause, and what it brings about.

A row that no motor reaches makes the law give up, the motors miss the motion and inputs pass their
limits: four sentences, of which the first has the cure. `CAUSED_BY` says which kinds of judgement
may follow from which, and the motion whether they come together in time.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from ukctrl.analysis.check.findings import AlongMotion, Cause, Judgement
from ukctrl.analysis.check.ranks_along import RankAlong
from ukctrl.core.arrays import Matrix
from ukctrl.core.verdict import Level

NEAR = 0.02
"""Singular values of unit rows below which a singular position is near."""
AT_END = 0.05
"""What happens so shortly before a motion ends belongs to its end [s]."""
GRAVITY: dict[Level, int] = {"bad": 0, "warning": 1, "note": 2, "good": 3}
"""Levels, the gravest first."""

_NO_GRIP = ("closures", "degree", "held", "weak", "missed", "ranks", "grip")
_DEMANDING = (*_NO_GRIP, "open", "motion", "internal")
CAUSED_BY = {
    "degree": ("closures",),
    "held": ("closures", "degree"),
    "missed": ("closures", "degree", "held", "ranks", "grip"),
    "ranks": ("motion",),
    "grip": ("degree", "held", "weak", "ranks", "motion"),
    "law": (*_NO_GRIP, "motion"),
    "lost": (*_NO_GRIP, "law", "motion", "period", "off"),
    "motion": ("closures", "degree", "held"),
    "approach": ("degree", "held", "weak", "period", "off"),
    "first input": ("approach", "limits", "elsewhere", "off", *_NO_GRIP),
    "limits": _DEMANDING,
    "speed": ("open", "motion", "ranks", "internal"),
    "place": ("open", "internal"),
    "timing": ("open",),
    "ground": _DEMANDING,
    "gives way": ("limits", "motion"),
}
"""Of each subject those that may bring it about, the deepest first."""


HARMLESS = ("degree", "held", "weak", "missed")
"""What brings nothing about where it is no more than a note: the law does without."""


def causes(judgements: Iterable[Judgement], along: AlongMotion) -> tuple[Cause, ...]:
    """Return the judgements by their causes, the gravest first."""
    said = list(dict.fromkeys(judgements))
    parents = [_parent(effect, said, along) for effect in said]

    def root(i: int) -> int:
        parent = parents[i]
        return i if parent is None else root(parent)

    roots = [root(i) for i in range(len(said))]
    found = [
        _cause(said[i], [said[j] for j in range(len(said)) if roots[j] == i != j])
        for i in dict.fromkeys(roots)
    ]
    return tuple(sorted(found, key=lambda cause: GRAVITY[cause.level]))


def by_cause(found: Sequence[Cause], said: Sequence[Judgement]) -> Iterator[Judgement]:
    """Yield judgements in the order of their causes, what follows behind each."""
    first = {judgement.text: judgement for judgement in said}
    for cause in found:
        yield first[cause.text]
        yield from cause.follows


def _cause(cause: Judgement, follows: list[Judgement]) -> Cause:
    level = min((cause.level, *(each.level for each in follows)), key=GRAVITY.__getitem__)
    follows.sort(key=lambda each: GRAVITY[each.level])
    return Cause(level, cause.text, cause.cure, tuple(follows))


def _parent(effect: Judgement, said: Sequence[Judgement], along: AlongMotion) -> int | None:
    """Return the place of what an effect follows from; None where it stands alone."""
    for subject in CAUSED_BY.get(effect.subject, ()):
        for i, cause in enumerate(said):
            if cause.subject == subject and _together(cause, effect, along):
                return i
    return None


def _together(cause: Judgement, effect: Judgement, along: AlongMotion) -> bool:
    """Return whether an effect comes when, or after, its cause does."""
    way, ranks, curves, at = along.way, along.ranks, along.curves, effect.at
    if cause.subject in HARMLESS and GRAVITY[cause.level] > GRAVITY[effect.level]:
        return False
    if at is None:
        return True
    if cause.subject == "motion":
        return at >= way.reached - AT_END
    if cause.subject in ("ranks", "grip") and curves is not None and ranks is not None:
        sigma, rank = (
            (curves.servo, ranks.servo) if cause.subject == "ranks" else (curves.grip, ranks.grip)
        )
        return _near(sigma, rank, int(np.abs(curves.t - at).argmin()))
    if cause.subject == "missed":
        return at >= (cause.at or -math.inf)
    if cause.subject == "internal":  # what runs away grows, and passes limits late
        return way.kind == "law" and at >= 0.5 * (way.start + way.reached)
    return True


def _near(sigma: Matrix, rank: RankAlong, k: int) -> bool:
    """Return whether the singular value that fails somewhere is small at a knot, or about it."""
    if not rank.highest:
        return True
    around = sigma[max(k - 1, 0) : k + 2, rank.highest - 1]
    return bool(around.min() < NEAR)
