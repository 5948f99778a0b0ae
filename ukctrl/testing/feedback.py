"""What every feedback must do, on rows of every kind."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ukctrl.constraints import Rows
from ukctrl.control import BoundFeedback, Feedback
from ukctrl.control.feedback import StateFeedback
from ukctrl.dynamics import Dynamics
from ukctrl.errors import GainError, InputError
from ukctrl.factor import Vector
from ukctrl.testing.base import Broken, Suite, require, require_array, require_close, require_equal
from ukctrl.testing.record import require_record
from ukctrl.testing.situations import Situation, situations

FEEDBACK = Suite[Feedback]("feedback")
"""The clauses for feedbacks."""
ROUNDING = 1e-9
"""A demand on the task's path may differ from the exact one by this, relatively."""


class Answer(NamedTuple):
    """What a feedback says: the rows that it asks for, their acceleration, its memory's rate."""

    rows: Rows
    demand: Vector
    memory_rate: Vector


class Asked(NamedTuple):
    """A feedback, bound to the rows of a situation, at one state."""

    situation: Situation
    bound: BoundFeedback | StateFeedback
    dynamics: Dynamics
    rows: Rows
    memory: Vector

    def fresh(self, rows: Rows) -> Vector:
        """Return the memory of a run that starts with these rows."""
        if isinstance(self.bound, StateFeedback):
            return self.bound.begin(self.dynamics.snapshot.t, rows)
        return np.zeros_like(self.bound.memory)

    def answer(self, rows: Rows, memory: Vector) -> Answer:
        """Return what it says of rows."""
        if isinstance(self.bound, StateFeedback):
            asked = self.bound.ask(rows, memory, self.dynamics)
            return Answer(asked.rows, asked.demand, asked.memory_rate)
        return Answer(rows, self.bound.demand(rows, memory), self.bound.memory_rate(rows))


def _asked(feedback: Feedback) -> Iterator[Asked]:
    """Yield the feedback at states of each situation whose rows it serves."""
    served = False
    for place in situations():
        try:
            bound = feedback.attach(place.stack)
        except (GainError, InputError):
            continue  # gains by block, or for holonomic rows alone: not for these rows
        served = True
        rng = np.random.default_rng(1)
        for dynamics in place.states():
            rows = place.stack.write(dynamics.snapshot)
            if isinstance(bound, StateFeedback):
                memory = bound.begin(dynamics.snapshot.t, rows)
            else:
                memory = bound.memory + 0.01 * rng.uniform(size=bound.memory.shape)
            yield Asked(place, bound, dynamics, rows, memory)
    if not served:
        raise Broken("it must serve the rows of some situation; it refuses all of them.")


@FEEDBACK.clause
def record(feedback: Feedback) -> None:
    """A feedback is a frozen record that can be compared, copied and pickled."""
    require_record(feedback)


@FEEDBACK.clause
def shapes(feedback: Feedback) -> None:
    """The demand is one finite number a row; the memory's rate has the shape of the memory."""
    for at in _asked(feedback):
        found = at.answer(at.rows, at.memory)
        count = len(found.rows.b)
        require_array("the demand", found.demand, count)
        require_array("the rate of the memory", found.memory_rate, len(at.memory))
        if found.rows is at.rows:
            continue
        require_array("A of its own rows", found.rows.A.ravel(), count * at.rows.A.shape[1])


@FEEDBACK.clause
def asks_nothing_on_the_path(feedback: Feedback) -> None:
    """Where the rows are met and nothing is remembered, the demand is the exact motion's, b."""
    for at in _asked(feedback):
        zero = np.zeros(len(at.rows.b))
        met = Rows(at.rows.A, at.rows.b, zero, np.where(np.isnan(at.rows.phi), np.nan, zero))
        found = at.answer(met, at.fresh(met))
        require_close("the demand on the path and b", found.demand, found.rows.b, ROUNDING)


@FEEDBACK.clause
def opposes_errors(feedback: Feedback) -> None:
    """A velocity error alone is not fed: what is added to b does no positive work on it."""
    for at in _asked(feedback):
        zero = np.where(np.isnan(at.rows.phi), np.nan, 0.0)
        off = Rows(at.rows.A, at.rows.b, at.rows.beta, zero)
        found = at.answer(off, at.fresh(off))
        added, beta = found.demand - found.rows.b, found.rows.beta
        fed = float(added @ beta)
        room = ROUNDING * (1.0 + float(np.abs(added) @ np.abs(beta)))
        require(
            fed <= room, f"what it adds must oppose the velocity error; it feeds it ({fed:.1e})."
        )


@FEEDBACK.clause
def leaves_its_arguments_alone(feedback: Feedback) -> None:
    """Neither the rows nor the memory are changed."""
    for at in _asked(feedback):
        before = [part.copy() for part in (*at.rows, at.memory)]
        at.answer(at.rows, at.memory)
        for name, part, old in zip(
            ("A", "b", "beta", "phi", "memory"), (*at.rows, at.memory), before, strict=True
        ):
            require_equal(f"'{name}' before and after", part, old)


@FEEDBACK.clause
def depends_on_its_arguments_alone(feedback: Feedback) -> None:
    """The same rows and memory give the same demand, whatever was asked in between."""
    for at in _asked(feedback):
        first = at.answer(at.rows, at.memory).demand.copy()
        other = Rows(at.rows.A, at.rows.b + 1.0, 2.0 * at.rows.beta, -at.rows.phi)
        at.answer(other, at.memory + 1.0)
        again = at.answer(at.rows, at.memory).demand
        require_equal("two demands at one state", again, first)
