"""A result judged in plain words: did it finish, keep to the task, and can it be believed?

In order: ``scales``, what all share, ``weak_grip``, what that costs, and ``gave_way``, what limits
cost the task; ``outcome_verdicts``: how the run ended, and how well the task was met (errors,
settling); ``actuator_verdicts``: whether the actuators and the ground were up to it (grip, reach,
limits, contacts); ``law_verdicts``: what the law gave up (motors at their limits, damping,
priorities, a promised bound); ``keep_verdict``: whether everything was kept that the law keeps;
``estimate_verdict``: whether an observer is as good as it says; ``simulation_verdicts``: whether
the simulation can be trusted (joint limits, drift and reactions of passive constraints, energy,
halved steps). `belief`: the worst of them all.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from ukctrl.core.verdict import Level, Verdict
from ukctrl.simulation.result.record import Record
from ukctrl.simulation.result.verdicts import (
    actuator_verdicts,
    estimate_verdict,
    keep_verdict,
    outcome_verdicts,
    simulation_verdicts,
)
from ukctrl.simulation.result.verdicts.law_verdicts import concessions
from ukctrl.simulation.result.verdicts.outcome_verdicts import headline

__all__ = ["SEVERITY", "Belief", "Level", "Verdict", "belief", "headline", "judge"]


SEVERITY = {"ok": 0, "warning": 1, "not to be believed": 2}
"""Verdicts on a whole run, from good to bad."""


class Belief(NamedTuple):
    """How far a run is to be believed, whatever its status: the worst of what is said of it."""

    verdict: Literal["ok", "warning", "not to be believed"]
    """In a word."""
    reasons: tuple[Verdict, ...]
    """Whatever of its verdicts makes it so, the worst first; none where it is ok."""

    @property
    def level(self) -> Level:
        """How good the news is."""
        return "good" if self.verdict == "ok" else self.reasons[0].level


def belief(result: Record, verdicts: Sequence[Verdict]) -> Belief:
    """Return the verdict on a run; what ends a run for its task alone is a warning."""
    warned = [each for each in verdicts if each.level == "warning"]
    worst = [each for each in verdicts if each.level == "bad"]
    if outcome_verdicts.valid_so_far(result):
        warned = [each._replace(level="warning") for each in worst[:1]] + warned
        worst = worst[1:]
    if worst:
        return Belief("not to be believed", (*worst, *warned))
    return Belief("warning", tuple(warned)) if warned else Belief("ok", ())


def judge(result: Record) -> tuple[Verdict, ...]:
    """Return every verdict that the recorded data allow."""
    ending = outcome_verdicts.ending(result)
    if not len(result.samples):
        return (ending,)
    verdicts = (
        ending,
        outcome_verdicts.error(result),
        outcome_verdicts.velocity(result),
        outcome_verdicts.switches(result),
        actuator_verdicts.grip(result),
        actuator_verdicts.reach(result),
        actuator_verdicts.limits(result),
        actuator_verdicts.ground(result),
        outcome_verdicts.effects(result),
        *concessions(result),
        *keep_verdict.kept(result),
        estimate_verdict.consistency(result),
        simulation_verdicts.joints(result),
        simulation_verdicts.drift(result),
        simulation_verdicts.reactions(result),
        simulation_verdicts.balance(result),
        simulation_verdicts.step_halving(result),
    )
    return tuple(verdict for verdict in verdicts if verdict is not None)
