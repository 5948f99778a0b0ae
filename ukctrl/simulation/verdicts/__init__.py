"""A result judged in plain words: did it finish, keep to the task, and can it be believed?

Three questions are kept apart: how well the *task* was met (errors, settling), whether the
*actuators* and the ground were up to it (rank, reach, limits, contacts), and whether the
*simulation* can be trusted (energy balance, drift of passive constraints).
"""

from __future__ import annotations

from ukctrl.simulation.result.result import Result
from ukctrl.simulation.verdicts import (
    actuator_verdicts,
    ground_verdicts,
    outcome_verdicts,
    simulation_verdicts,
    task_verdicts,
)
from ukctrl.simulation.verdicts.law_verdicts import concessions
from ukctrl.simulation.verdicts.outcome_verdicts import headline
from ukctrl.simulation.verdicts.verdict import Level, Verdict

__all__ = ["Level", "Verdict", "headline", "judge"]


def judge(result: Result) -> tuple[Verdict, ...]:
    """Return every verdict that the recorded data allow."""
    found = [outcome_verdicts.ending(result)]
    if len(result.samples):
        for verdict in (
            task_verdicts.error(result),
            task_verdicts.velocity(result),
            outcome_verdicts.switches(result),
            actuator_verdicts.grip(result),
            actuator_verdicts.reach(result),
            actuator_verdicts.limits(result),
            ground_verdicts.ground(result),
            outcome_verdicts.effects(result),
            *(
                Verdict("warning" if given.missed else "note", given.subject, given.text)
                for given in concessions(result)
            ),
            simulation_verdicts.joints(result),
            simulation_verdicts.drift(result),
            simulation_verdicts.reactions(result),
            simulation_verdicts.balance(result),
        ):
            found += [verdict] if verdict is not None else []
    return tuple(found)
