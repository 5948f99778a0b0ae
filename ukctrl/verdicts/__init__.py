"""A result judged in plain words: did it finish, keep to the task, and can it be believed?

Three questions are kept apart: how well the *task* was met (errors, settling), whether the
*actuators* and the ground were up to it (rank, reach, limits, contacts), and whether the
*simulation* can be trusted (energy balance, drift of passive constraints).
"""

from __future__ import annotations

from ukctrl.concessions import concessions
from ukctrl.result import Result
from ukctrl.verdicts import actuators, ground, outcome, simulation, task
from ukctrl.verdicts.base import Level, Verdict
from ukctrl.verdicts.outcome import headline

__all__ = ["Level", "Verdict", "headline", "judge"]


def judge(result: Result) -> tuple[Verdict, ...]:
    """Return every verdict that the recorded data allow."""
    found = [outcome.ending(result)]
    if len(result.samples):
        for verdict in (
            task.error(result),
            task.velocity(result),
            outcome.switches(result),
            actuators.grip(result),
            actuators.reach(result),
            actuators.limits(result),
            ground.ground(result),
            outcome.effects(result),
            *(
                Verdict("warning" if given.missed else "note", given.subject, given.text)
                for given in concessions(result)
            ),
            simulation.joints(result),
            simulation.drift(result),
            simulation.reactions(result),
            simulation.balance(result),
        ):
            found += [verdict] if verdict is not None else []
    return tuple(found)
