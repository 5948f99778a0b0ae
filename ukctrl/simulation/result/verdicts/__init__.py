"""A result judged in plain words: did it finish, keep to the task, and can it be believed?

In order: ``error_floor``, what all share, ``authority_cost``, what that costs, and
``task_relaxation``, what limits cost the task; ``outcome_verdicts``: how the run ended, and how
well the task was met (errors, settling); ``actuator_verdicts``: whether the actuators and the
ground were up to it (grip, reach, limits, contacts); ``law_verdicts``: what the law gave up (motors
at their limits, damping, priorities, a promised bound); ``inequality_verdict``: whether everything
was kept that the law keeps; ``estimate_verdict``: whether an observer is as good as it says;
``log_verdicts``: how far it is from the log of a real robot;
``simulation_verdicts``: whether the simulation can be trusted (joint limits, drift and reactions of
passive constraints, energy, halved steps). `run_verdict`: the worst of them all.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from ukctrl.core.arguments import expect
from ukctrl.core.verdict import Level, Verdict
from ukctrl.simulation.result.run_record import RunRecord
from ukctrl.simulation.result.verdicts import (
    actuator_verdicts,
    estimate_verdict,
    inequality_verdict,
    log_verdicts,
    outcome_verdicts,
    simulation_verdicts,
)
from ukctrl.simulation.result.verdicts.law_verdicts import relaxation_verdicts
from ukctrl.simulation.result.verdicts.outcome_verdicts import headline

__all__ = ["SEVERITY", "Level", "RunVerdict", "Verdict", "headline", "judge", "run_verdict"]


SEVERITY = {"ok": 0, "warning": 1, "not to be believed": 2}
"""Verdicts on a whole run, from good to bad."""


class RunVerdict(NamedTuple):
    """Verdict on a whole run, whatever its status: the worst of what is said of it."""

    verdict: Literal["ok", "warning", "not to be believed"]
    """In a word."""
    reasons: tuple[Verdict, ...]
    """Whatever of its verdicts makes it so, the worst first; none where it is ok."""

    @property
    def level(self) -> Level:
        """How good the news is."""
        return "good" if self.verdict == "ok" else self.reasons[0].level


def run_verdict(result: RunRecord, verdicts: Sequence[Verdict]) -> RunVerdict:
    """Return the verdict on a run; what ends a run for its task alone is a warning."""
    warned = [verdict for verdict in verdicts if verdict.level == "warning"]
    worst = [verdict for verdict in verdicts if verdict.level == "bad"]
    if outcome_verdicts.valid_so_far(result):
        # what ended the run for its task alone comes first, as a warning: the numbers until then
        # stand
        warned = [verdict._replace(level="warning") for verdict in worst[:1]] + warned
        worst = worst[1:]
    if worst:
        return RunVerdict("not to be believed", (*worst, *warned))
    return RunVerdict("warning", tuple(warned)) if warned else RunVerdict("ok", ())


def judge(result: RunRecord) -> tuple[Verdict, ...]:
    """Return every verdict that the recorded data allow."""
    result = expect("result", result, RunRecord, "such as the Result that simulate returns")
    ending = outcome_verdicts.outcome(result)
    if not len(result.samples):
        return (ending,)
    verdicts = (
        ending,
        outcome_verdicts.error(result),
        outcome_verdicts.velocity(result),
        outcome_verdicts.switches(result),
        actuator_verdicts.authority(result),
        actuator_verdicts.reach(result),
        actuator_verdicts.limits(result),
        actuator_verdicts.ground(result),
        outcome_verdicts.effects(result),
        *relaxation_verdicts(result),
        *inequality_verdict.inequality_verdicts(result),
        estimate_verdict.consistency(result),
        *log_verdicts.log_verdicts(result),
        simulation_verdicts.joints(result),
        simulation_verdicts.drift(result),
        simulation_verdicts.reactions(result),
        simulation_verdicts.balance(result),
        simulation_verdicts.step_halving(result),
    )
    return tuple(verdict for verdict in verdicts if verdict is not None)
