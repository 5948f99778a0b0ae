"""What follows from what among the judgements of `check`: one cause, and what it brings about.

A row that no motor reaches makes the law give up, the motors miss the motion and inputs pass their
limits: four sentences, of which the first has the cure. `CAUSED_BY` says which kinds of judgement
may follow from which, and the motion whether they come together in time.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from ukctrl.analysis.check.check_result import Diagnostic, MotionCheck, RootCause
from ukctrl.analysis.check.motion_ranks import RankHistory
from ukctrl.core.arrays import Matrix
from ukctrl.core.verdict import Level

NEAR_SINGULAR = 0.02
"""Singular values of unit rows below which a singular position is near."""
END_WINDOW = 0.05
"""What happens so shortly before a motion ends belongs to its end [s]."""
SEVERITY: dict[Level, int] = {"bad": 0, "warning": 1, "note": 2, "good": 3}
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


CAUSELESS_AS_NOTE = ("degree", "held", "weak", "missed")
"""What brings nothing about where it is no more than a note: the law does without."""


def root_causes(judgements: Iterable[Diagnostic], along: MotionCheck) -> tuple[RootCause, ...]:
    """Return the judgements by their causes, the gravest first."""
    diagnostics = list(dict.fromkeys(judgements))
    parents = [_cause_index(effect, diagnostics, along) for effect in diagnostics]

    def root(i: int) -> int:
        parent = parents[i]
        return i if parent is None else root(parent)

    roots = [root(i) for i in range(len(diagnostics))]
    causes = [
        _group(
            diagnostics[i], [diagnostics[j] for j in range(len(diagnostics)) if roots[j] == i != j]
        )
        for i in dict.fromkeys(roots)
    ]
    return tuple(sorted(causes, key=lambda cause: SEVERITY[cause.level]))


def order_by_cause(
    causes: Sequence[RootCause], diagnostics: Sequence[Diagnostic]
) -> Iterator[Diagnostic]:
    """Yield judgements in the order of their causes, what follows behind each."""
    first = {judgement.text: judgement for judgement in diagnostics}
    for cause in causes:
        yield first[cause.text]
        yield from cause.follows


def _group(cause: Diagnostic, follows: list[Diagnostic]) -> RootCause:
    level = min(
        (cause.level, *(diagnostic.level for diagnostic in follows)), key=SEVERITY.__getitem__
    )
    follows.sort(key=lambda diagnostic: SEVERITY[diagnostic.level])
    return RootCause(level, cause.text, cause.remedy, tuple(follows))


def _cause_index(
    effect: Diagnostic, diagnostics: Sequence[Diagnostic], along: MotionCheck
) -> int | None:
    """Return the place of what an effect follows from; None where it stands alone."""
    for subject in CAUSED_BY.get(effect.subject, ()):
        for i, cause in enumerate(diagnostics):
            if cause.subject == subject and _coincides(cause, effect, along):
                return i
    return None


def _coincides(cause: Diagnostic, effect: Diagnostic, along: MotionCheck) -> bool:
    """Return whether an effect comes when, or after, its cause does."""
    trajectory, ranks, curves, at = along.way, along.ranks, along.curves, effect.time
    if cause.subject in CAUSELESS_AS_NOTE and SEVERITY[cause.level] > SEVERITY[effect.level]:
        return False
    if at is None:
        return True
    if cause.subject == "motion":
        return at >= trajectory.reached - END_WINDOW
    if cause.subject in ("ranks", "grip") and curves is not None and ranks is not None:
        sigma, rank = (
            (curves.servo, ranks.servo) if cause.subject == "ranks" else (curves.grip, ranks.grip)
        )
        return _near_singular(sigma, rank, int(np.abs(curves.t - at).argmin()))
    if cause.subject == "missed":
        return at >= (cause.time or -math.inf)
    if cause.subject == "internal":  # what runs away grows, and passes limits late
        return trajectory.kind == "law" and at >= 0.5 * (trajectory.start + trajectory.reached)
    return True


def _near_singular(sigma: Matrix, rank: RankHistory, k: int) -> bool:
    """Return whether the singular value that fails somewhere is small at a knot, or about it."""
    if not rank.highest:
        return True
    around = sigma[max(k - 1, 0) : k + 2, rank.highest - 1]
    return bool(around.min() < NEAR_SINGULAR)
