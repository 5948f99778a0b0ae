"""Before a study starts: does every path exist, does every value fit, can some samples begin."""

from __future__ import annotations

import contextlib
import dataclasses as dc
from collections.abc import Mapping
from typing import final

from ukctrl.core.errors import InputError, MachineFailure, UkctrlError
from ukctrl.core.fields import is_number, written
from ukctrl.core.files.plugins import blame
from ukctrl.core.own_processes import machine_failed
from ukctrl.simulation.loop import Loop
from ukctrl.simulation.scenario import Scenario
from ukctrl.studies.batch.crew import Crew
from ukctrl.studies.batch.suits_threads import LONGEST_SECONDS
from ukctrl.studies.batch.task import Lost, Progress, Watch
from ukctrl.studies.sweep.factor import Factor
from ukctrl.studies.sweep.sample import Base
from ukctrl.studies.sweep.spread import Log, Normal, Uniform

MOST_TRIALS = 200
"""Values of one factor that are tried on the scenario."""
MOST_NAMES = 20
"""Values that are no numbers and may each make another loop."""
INSIDE = 0.381966
"""A place in a range that is neither an end nor the middle."""


def rehearse(base: Base, crew: Crew, progress: Progress) -> None:
    """Try what a study varies, without running anything.

    Every value of a list and both ends of a range must fit the scenario as they were written,
    units included. That a single sample cannot begin is a result; that none of some can is not.
    Samples begin where they will run: one that takes its process along, or never ends, is a result
    like another.

    Args:
        base: What all samples share.
        crew: Whoever will run them.
        progress: Called now and then; raises where the user wants to stop.

    Raises:
        InputError: A path does not exist, a value does not fit, or no sample can begin.
        KeyboardInterrupt: The user has stopped it.
    """
    factors = base.plan.factors
    first = {factor.path: factor.trials[0] for factor in factors}
    last = {factor.path: factor.trials[-1] for factor in factors}
    for factor in factors:
        for value in factor.trials[:MOST_TRIALS]:
            fault = _refusal(base, first | {factor.path: value})
            if fault is not None:
                at = "" if factor.path in fault else f" So with {factor.path} = {written(value)}."
                raise InputError(f"{fault}{at}")
        _check_inside(base, first, factor)
    care = dc.replace(crew.care, timeout=LONGEST_SECONDS, batch=0.0)
    with contextlib.suppress(MachineFailure):  # its sample will say why
        if not crew.gather([_Beginnings(base, first, last)], _ignore, progress, care=care):
            raise KeyboardInterrupt


def representatives(base: Base) -> list[Scenario]:
    """Return scenarios of samples that differ in more than numbers; none where there are too many,
    or one is no scenario.
    """
    factors = base.plan.factors
    first = {factor.path: factor.trials[0] for factor in factors}
    shapes = {factor.path: _shape(factor.trials[0]) for factor in factors}
    others = [
        {factor.path: value}
        for factor in factors
        for shape, value in {_shape(value): value for value in factor.trials[1:]}.items()
        if shape != shapes[factor.path]
    ]
    try:
        changes = [first | other for other in ({}, *others[:MOST_NAMES])]
        found = [base.points.fits(one) for one in changes]
    except UkctrlError:
        return []
    return found if len(others) <= MOST_NAMES else []


def _shape(value: object) -> str:
    """Return a value as text, with all numbers alike; a truth value is none."""
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{key}: {_shape(inner)}' for key, inner in value.items())}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_shape, value))}]"
    return repr(value) if isinstance(value, bool) or not is_number(value) else "0"


def _ignore(k: int, value: Lost | bool) -> None:
    """Take no notice of what took too long: its sample will say why."""


@final
@dc.dataclass(frozen=True)
class _Beginnings:
    """Whether some samples can begin: a task for `Crew.gather`."""

    base: Base
    first: Mapping[str, object]
    last: Mapping[str, object]

    def __call__(self, watch: Watch) -> bool:
        """Return that it was tried.

        Raises:
            InputError: A value does not fit, or no sample can begin.
        """
        _begin(self.base, self.first, self.last)
        return True


def _begin(base: Base, first: Mapping[str, object], last: Mapping[str, object]) -> None:
    for changes in (first, last):
        _check_units(base, changes)
    count = base.plan.count
    faults = [_fault(base, base.plan.changes(k)) for k in sorted({0, count // 2, count - 1})]
    reasons = [fault for fault in faults if fault is not None]
    if len(reasons) == len(faults):
        raise InputError(reasons[0])


def _check_inside(base: Base, first: Mapping[str, object], factor: Factor) -> None:
    """Refuse a range both ends of which fit, and nothing else but whole numbers."""
    if not isinstance(factor.spread, Uniform | Log | Normal) or factor.spread.count is not None:
        return
    value = factor.spread.at(INSIDE)
    fault = _refusal(base, {**first, factor.path: value})
    if fault is not None and _refusal(base, {**first, factor.path: round(value)}) is None:
        low, high = factor.trials[0], factor.trials[-1]
        raise InputError(f"{fault} Write {factor.path}=whole:{low}:{high} for whole numbers alone.")


def _refusal(base: Base, changes: Mapping[str, object]) -> str | None:
    """Return why a scenario cannot have these values; None where it can."""
    try:
        base.points.fits(changes)
    except InputError as error:
        return str(error)
    return None


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


def _fault(base: Base, changes: Mapping[str, object]) -> str | None:
    """Return why a sample with these values could not begin; None where it can."""
    try:
        Loop(base.points.scenario(changes))
    except UkctrlError as error:
        return str(error)
    except Exception as error:  # in a user's own code
        if machine_failed(error):
            raise
        return blame(error) or f"{type(error).__name__}: {error}"
    return None
