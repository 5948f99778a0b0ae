"""What an identification is worth: may it be believed, where not, what would tell more."""

from __future__ import annotations

import numpy as np

from ukctrl.core.arrays import Vector
from ukctrl.core.number_text import number
from ukctrl.core.verdict import Level, Verdict
from ukctrl_identification.identify import Identification
from ukctrl_identification.validation import WINDOWS

GOOD_SHARE, FAIR_SHARE = 0.05, 0.25
"""Of the variance of a joint's effort, what a good and a fair model leave."""
OVERFIT = 1.5
"""What is left of unseen motions beside seen ones, from which on the fit has learnt noise."""
NOT_NOISE = 0.5
"""Correlation of neighbouring residuals from which on more than noise is left."""
UNSURE = 0.3
"""Deviation of a base parameter, beside its value, from which on it counts as hardly known."""
MISFIT = 10.0
"""Residuals beyond those of any parameters, in noise squared for each of them, that count."""
MAX_NAMED = 4


def unexplained(answer: Identification) -> Vector:
    """Return the share of each joint's variance that is left on unseen motions, shape ``(k,)``."""
    spread: Vector = np.nanvar(answer.measured, axis=0)
    return answer.validation["consistent"].rms ** 2 / np.maximum(spread, 1e-300)


def verdicts(answer: Identification) -> list[Verdict]:
    """Return judgements, the first of which says what a user wants to know first."""
    share = unexplained(answer)
    seen, (unseen, before) = (
        answer.training.rms,
        (answer.validation[source].rms for source in ("consistent", "model")),
    )
    worst = int(np.argmax(share))
    level: Level = (
        "good" if share.max() < GOOD_SHARE else "warning" if share.max() < FAIR_SHARE else "bad"
    )
    # a fit may lose to a model that was right, as long as it explains what was measured
    if ((unseen > before) & (share > GOOD_SHARE)).any():
        level = "bad"
    may = {"good": "may be believed", "warning": "may be believed in part"}.get(
        level, "is not to be believed"
    )
    result = [
        Verdict(
            level, "unseen motions",
            f"the identified robot {may}: on {answer.samples[1]} samples that it was not fitted "
            f"to, it explains all but {number(100 * share.max())} % of the variance of each "
            f"joint's effort (worst: '{answer.rows[worst]}', off by {number(unseen[worst])} "
            f"{answer.unit(worst)} rms, the model as it was by {number(before[worst])}).",
        )
    ]  # fmt: skip
    more = [name for name, a, b in zip(answer.rows, seen, unseen, strict=True) if b > OVERFIT * a]
    if more:
        result.append(Verdict(
            "warning", "overfitting",
            f"{_named(more)}: what is left of unseen motions is more than {OVERFIT:g} times that "
            "of the fit. Log a motion that tells more, or fit less.",
        ))  # fmt: skip
    rough = [
        n
        for n, c in zip(answer.rows, answer.validation["consistent"].correlation, strict=True)
        if c > NOT_NOISE
    ]
    if rough:
        result.append(Verdict(
            "note", "not only noise",
            f"{_named(rough)}: neighbouring residuals agree, so that something is left that the "
            "model does not have: other friction (--friction stribeck), cables, or springs. "
            "Deviations count it as noise that lasts.",
        ))  # fmt: skip
    turned = [name for name, value, *_ in answer.motor_constants() if value <= 0.0]
    if turned:
        result.append(Verdict(
            "bad", "motor constants",
            f"{_named(turned)}: the motor constant comes out below zero, so that the current "
            "counts against the motion; turn it in the log.",
        ))  # fmt: skip
    result += _unknown(answer)
    count = len(answer.base.independent)
    if answer.consistent.misfit > MISFIT * count:
        result.append(Verdict(
            "warning", "no body",
            f"the log asks for parameters that no bodies have: fitting it with bodies costs "
            f"{number(answer.consistent.misfit)} noise variances, where {count} parameters may "
            f"cost about {count}. The robot's files have bodies; least squares alone is in "
            "identified.json.",
        ))  # fmt: skip
    if np.isfinite(answer.open_loop["consistent"]).all():
        at = int(np.argmax(answer.open_loop["consistent"][-1]))
        name, unit = answer.robot.dofs[at], answer.robot.dof_units[at].removesuffix("/s")
        short, *_, long = answer.open_loop["consistent"][:, at]
        result.append(Verdict(
            "note", "left to itself",
            f"driven by the logged efforts alone, '{name}' is off by {number(short)} {unit} rms "
            f"after {WINDOWS[0]:g} s and by {number(long)} {unit} after {WINDOWS[-1]:g} s, the "
            "most of all joints then.",
        ))  # fmt: skip
    return result


def _unknown(answer: Identification) -> list[Verdict]:
    """Return what the log does not tell, and hardly tells."""
    result = []
    untold = answer.excited.names(answer.formulas)
    if untold:
        result.append(Verdict(
            "warning", "not excited",
            f"the log tells nothing of {len(untold)} combinations of base parameters, such as "
            f"{untold[0]}; they stay as the model has them. A motion that does: --design.",
        ))  # fmt: skip
    fit = answer.fit
    unsure = np.flatnonzero(fit.deviations > UNSURE * np.abs(fit.values))
    if len(unsure):
        order = unsure[np.argsort(-fit.deviations[unsure] / np.abs(fit.values[unsure]))]
        names = [answer.formulas[k].partition(" ")[0] for k in order]
        result.append(Verdict(
            "note", "hardly known",
            f"{len(unsure)} of {len(fit.values)} base parameters are known to no better than "
            f"{100 * UNSURE:g} % of their value: {_named(names)}. That is no fault where they are "
            "small.",
        ))  # fmt: skip
    return result


def _named(names: list[str]) -> str:
    shown = ", ".join(f"'{name}'" for name in names[:MAX_NAMED])
    more = len(names) - MAX_NAMED
    return f"{shown} and {more} more" if more > 0 else shown
