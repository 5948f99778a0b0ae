"""Before a study starts: does every path exist, does every value fit, can some samples begin."""

from __future__ import annotations

from collections.abc import Mapping

from ukctrl.errors import InputError, UkctrlError
from ukctrl.loop import Loop
from ukctrl.plugin import blame
from ukctrl.scenario import Scenario
from ukctrl.study.sample import Base

MOST_TRIALS = 200
"""Values of one factor that are tried on the scenario."""


def rehearse(base: Base) -> None:
    """Try what a study varies, without running anything.

    Every value of a list and both ends of a range must fit the scenario as they were written,
    units included. That a single sample cannot begin is a result; that none of some can is not.

    Raises:
        InputError: A path does not exist, a value does not fit, or no sample can begin.
    """
    factors = base.plan.factors
    first = {factor.path: factor.trials[0] for factor in factors}
    last = {factor.path: factor.trials[-1] for factor in factors}
    for factor in factors:
        for value in factor.trials[:MOST_TRIALS]:
            _changed(base, first | {factor.path: value})
    for changes in (first, last):
        _check_units(base, changes)
    count = base.plan.count
    faults = [_fault(base, base.plan.changes(k)) for k in sorted({0, count // 2, count - 1})]
    told = [fault for fault in faults if fault is not None]
    if len(told) == len(faults):
        raise InputError(told[0])


def _check_units(base: Base, written: Mapping[str, object]) -> None:
    """Refuse text with a unit that the robot does not have there: the bare number would pass."""
    if not any(isinstance(value, str) for value in written.values()):
        return
    fault = _fault(base, written)
    plain = {
        factor.path: value
        for factor in base.plan.factors
        for value, text in zip(factor.spread.ends(), factor.trials, strict=False)
        if text == written[factor.path]
    }
    if fault is not None and _fault(base, {**written, **plain}) is None:
        raise InputError(fault)


def _changed(base: Base, changes: Mapping[str, object]) -> Scenario:
    # Another card comes before what is changed in it.
    ordered = dict(sorted(changes.items(), key=lambda item: not item[0].endswith(".use")))
    return base.scenario.replace(ordered, beside=base.beside, trust=base.trust)


def _fault(base: Base, changes: Mapping[str, object]) -> str | None:
    """Return why a sample with these values could not begin; None where it can."""
    try:
        Loop(_changed(base, changes))
    except UkctrlError as error:
        return str(error)
    except Exception as error:  # in a user's own code
        return blame(error) or f"{type(error).__name__}: {error}"
    return None
