"""Before a study starts: does every path exist, does every value fit, can some samples begin."""

from __future__ import annotations

import contextlib
import dataclasses as dc
from collections.abc import Mapping
from typing import final

from ukctrl.core.errors import InputError, MachineFailure, UkctrlError
from ukctrl.core.fields import is_number
from ukctrl.core.files.plugins import plugin_fault
from ukctrl.core.message_text import literal_text
from ukctrl.core.subprocess_safety import is_machine_failure
from ukctrl.simulation.assemble import Loop
from ukctrl.simulation.scenario import Scenario
from ukctrl.studies.batch.task import ProgressCallback, TaskCallback, TaskFailure
from ukctrl.studies.batch.task_runner import TaskRunner
from ukctrl.studies.batch.thread_safety import MAX_START_SECONDS
from ukctrl.studies.sweep.distributions import Log, Normal, Uniform
from ukctrl.studies.sweep.factor import Factor
from ukctrl.studies.sweep.sample_task import SweepInput

MAX_TEST_VALUES = 200
"""Values of one factor that are tried on the scenario."""
MAX_CATEGORIES = 20
"""Values that are no numbers and may each make another loop."""
INTERIOR_PLACE = 0.381966
"""A place in a range that is neither an end nor the middle."""


def dry_run(base: SweepInput, crew: TaskRunner, progress: ProgressCallback) -> None:
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
        for value in factor.trials[:MAX_TEST_VALUES]:
            changes = first | {factor.path: value}
            fault = _rejection_text(base, changes)
            if fault is not None:
                raise InputError(_with_causes(base, changes, fault))
        _check_inside(base, first, factor)
    care = dc.replace(crew.policy, timeout=MAX_START_SECONDS, chunk_seconds=0.0)
    with contextlib.suppress(MachineFailure):  # its sample will say why
        if not crew.run([_StartCheck(base, first, last)], _discard, progress, care=care):
            raise KeyboardInterrupt


def representative_scenarios(base: SweepInput) -> list[Scenario]:
    """Return scenarios of samples that differ in more than numbers; none where there are too many,
    or one is no scenario.
    """
    factors = base.plan.factors
    first = {factor.path: factor.trials[0] for factor in factors}
    shapes = {factor.path: _number_free_text(factor.trials[0]) for factor in factors}
    categories = [
        {factor.path: value}
        for factor in factors
        for shape, value in {_number_free_text(value): value for value in factor.trials[1:]}.items()
        if shape != shapes[factor.path]
    ]
    try:
        changes = [first | category for category in ({}, *categories[:MAX_CATEGORIES])]
        scenarios = [base.point_scenarios.check_values(one) for one in changes]
    except UkctrlError:
        return []
    return scenarios if len(categories) <= MAX_CATEGORIES else []


def _number_free_text(value: object) -> str:
    """Return a value as text, with all numbers alike; a truth value is none."""
    if isinstance(value, Mapping):
        entries = (f"{key}: {_number_free_text(inner)}" for key, inner in value.items())
        return f"{{{', '.join(entries)}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_number_free_text, value))}]"
    return repr(value) if isinstance(value, bool) or not is_number(value) else "0"


def _discard(k: int, value: TaskFailure | bool) -> None:
    """Take no notice of what took too long: its sample will say why."""


@final
@dc.dataclass(frozen=True)
class _StartCheck:
    """Whether some samples can begin: a task for `TaskRunner.run`."""

    base: SweepInput
    first: Mapping[str, object]
    last: Mapping[str, object]

    def __call__(self, watch: TaskCallback) -> bool:
        """Return that it was tried.

        Raises:
            InputError: A value does not fit, or no sample can begin.
        """
        _check_starts(self.base, self.first, self.last)
        return True


def _check_starts(
    base: SweepInput, first: Mapping[str, object], last: Mapping[str, object]
) -> None:
    for changes in (first, last):
        _check_units(base, changes)
    count = base.plan.count
    some = sorted({0, count // 2, count - 1})
    faults = [_start_error(base, base.plan.scenario_changes(k)) for k in some]
    if faults[0] is not None and None not in faults:
        raise InputError(faults[0])


def _check_inside(base: SweepInput, first: Mapping[str, object], factor: Factor) -> None:
    """Refuse a range both ends of which fit, and nothing else but whole numbers."""
    if not isinstance(factor.spread, Uniform | Log | Normal) or factor.spread.count is not None:
        return
    value = factor.spread.quantile(INTERIOR_PLACE)
    fault = _rejection_text(base, {**first, factor.path: value})
    if fault is not None and _rejection_text(base, {**first, factor.path: round(value)}) is None:
        low, high = factor.trials[0], factor.trials[-1]
        raise InputError(f"{fault} Write {factor.path}=whole:{low}:{high} for whole numbers alone.")


def _rejection_text(base: SweepInput, changes: Mapping[str, object]) -> str | None:
    """Return why a scenario cannot have these values; None where it can."""
    try:
        base.point_scenarios.check_values(changes)
    except InputError as error:
        return str(error)
    return None


def _with_causes(base: SweepInput, changes: Mapping[str, object], fault: str) -> str:
    """Return a fault with the fewest changes that bring it about, but those that it names."""
    for path in changes:
        fewer = {key: value for key, value in changes.items() if key != path}
        if _rejection_text(base, fewer) == fault:
            changes = fewer
    causes = [f"{path} = {literal_text(changes[path])}" for path in changes if path not in fault]
    return f"{fault} So with {' and '.join(causes)}." if causes else fault


def _check_units(base: SweepInput, written: Mapping[str, object]) -> None:
    """Refuse text with a unit that the robot does not have there: the bare number would pass."""
    if not any(isinstance(value, str) for value in written.values()):
        return
    fault = _start_error(base, written)
    plain = {
        factor.path: value
        for factor in base.plan.factors
        for value, text in zip(factor.spread.test_values(), factor.trials, strict=False)
        if text == written[factor.path]
    }
    if fault is not None and _start_error(base, {**written, **plain}) is None:
        raise InputError(fault)


def _start_error(base: SweepInput, changes: Mapping[str, object]) -> str | None:
    """Return why a sample with these values could not begin; None where it can."""
    try:
        Loop(base.point_scenarios.scenario(changes))
    except UkctrlError as error:
        return str(error)
    except Exception as error:  # in a user's own code
        if is_machine_failure(error):
            raise
        return plugin_fault(error) or f"{type(error).__name__}: {error}"
    return None
