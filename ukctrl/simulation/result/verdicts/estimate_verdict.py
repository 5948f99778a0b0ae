"""Verdict on an observer: whether its estimate is as good as its covariance says."""

from __future__ import annotations

import numpy as np

from ukctrl.core.number_text import percent
from ukctrl.core.verdict import Verdict
from ukctrl.simulation.result.run_record import RunRecord

BOUND = 0.95
"""Share of errors that should be within the bound that is looked at."""
MIN_CONSISTENT_SHARE = 0.8
"""A single run in which fewer samples are within it has an observer that is too sure: its errors
hang together over time, so that some runs of a right one fall below the bound's own share."""
MIN_MEAN_NEES = 0.1
"""Squared errors below this share of their covariance: noise is taken for far too large."""


def consistency(result: RunRecord) -> Verdict | None:
    """Judge the normalised estimation error squared against its chi-square bound."""
    facts = result.provenance.get("observer")
    if facts is None or "nees" not in result.samples:
        return None
    from scipy.stats import chi2

    # the last sample is no tick: its estimate is a period old
    nees, states = result["nees"][:-1], int(facts["states"])
    nees = nees[np.isfinite(nees)]
    if not len(nees):
        return None
    share = float(np.mean(nees <= chi2.ppf(BOUND, states) / states))
    mean = float(np.mean(nees))
    text = (
        f"Estimation errors are within the observer's own {percent(BOUND)} bound at "
        f"{percent(share)} of the samples; their squares are {mean:.3g} times the observer's "
        "covariance"
    )
    if share < MIN_CONSISTENT_SHARE:
        more = (
            ": the covariance is too small. Increase acceleration_std or input_std, or improve "
            "the model."
        )
        return Verdict("warning", "estimate", text + more)
    if mean < MIN_MEAN_NEES:
        more = (
            ": the covariance is too large. A smaller acceleration_std makes the estimate less "
            "noisy."
        )
        return Verdict("note", "estimate", text + more)
    return Verdict("good", "estimate", text + ".")
