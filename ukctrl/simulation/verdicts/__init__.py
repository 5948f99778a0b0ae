"""A result judged in plain words: did it finish, keep to the task, and can it be believed?

In order: ``scales``, what all share, and ``weak_grip``, what that costs; ``outcome_verdicts``: how
the run ended, and how well the task was met (errors, settling); ``actuator_verdicts``: whether the
actuators and the ground were up to it (grip, reach, limits, contacts); ``law_verdicts``: what the
law gave up (motors at their limits, damping, priorities, a promised bound);
``simulation_verdicts``: whether the simulation can be trusted (joint limits, drift and reactions of
passive constraints, energy).
"""

from __future__ import annotations

from ukctrl.core.verdict import Level, Verdict
from ukctrl.simulation.result.result import Result
from ukctrl.simulation.verdicts import (
    actuator_verdicts,
    outcome_verdicts,
    simulation_verdicts,
)
from ukctrl.simulation.verdicts.law_verdicts import concessions
from ukctrl.simulation.verdicts.outcome_verdicts import headline

__all__ = ["Level", "Verdict", "headline", "judge"]


def judge(result: Result) -> tuple[Verdict, ...]:
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
        simulation_verdicts.joints(result),
        simulation_verdicts.drift(result),
        simulation_verdicts.reactions(result),
        simulation_verdicts.balance(result),
    )
    return tuple(verdict for verdict in verdicts if verdict is not None)
