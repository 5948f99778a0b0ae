"""What every feedback must do, on rows of every kind."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ukctrl.constraints import Rows
from ukctrl.control import BoundFeedback, Feedback
from ukctrl.dynamics import Dynamics
from ukctrl.errors import GainError
from ukctrl.factor import Vector
from ukctrl.testing.base import Broken, Suite, require, require_array, require_close, require_equal
from ukctrl.testing.record import require_record
from ukctrl.testing.situations import Situation, situations

FEEDBACK = Suite[Feedback]("feedback")
"""The clauses for feedbacks."""
ROUNDING = 1e-9
"""A demand on the task's path may differ from the exact one by this, relatively."""


class Asked(NamedTuple):
    """A feedback, bound to the rows of a situation, at one state."""

    situation: Situation
    bound: BoundFeedback
    dynamics: Dynamics
    rows: Rows
    memory: Vector


def _asked(feedback: Feedback) -> Iterator[Asked]:
    """Yield the feedback at states of each situation whose rows it serves."""
    served = False
    for place in situations():
        try:
            bound = feedback.attach(place.stack)
        except GainError:
            continue  # gains by block, or for holonomic rows alone: not for these rows
        served = True
        rng = np.random.default_rng(1)
        for dynamics in place.states():
            rows = place.stack.write(dynamics.snapshot)
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
        demand = at.bound.demand(at.rows, at.memory)
        require_array("the demand", demand, len(at.situation.stack))
        rate = at.bound.memory_rate(at.rows)
        require_array("the rate of the memory", rate, len(at.memory))


@FEEDBACK.clause
def asks_nothing_on_the_path(feedback: Feedback) -> None:
    """Where the rows are met and nothing is remembered, the demand is the exact motion's, b."""
    for at in _asked(feedback):
        zero = np.zeros(len(at.rows.b))
        met = Rows(at.rows.A, at.rows.b, zero, np.where(np.isnan(at.rows.phi), np.nan, zero))
        demand = at.bound.demand(met, np.zeros_like(at.memory))
        require_close("the demand on the path and b", demand, met.b, ROUNDING)


@FEEDBACK.clause
def opposes_errors(feedback: Feedback) -> None:
    """A velocity error alone is not fed: what is added to b does no positive work on it."""
    for at in _asked(feedback):
        zero = np.where(np.isnan(at.rows.phi), np.nan, 0.0)
        off = Rows(at.rows.A, at.rows.b, at.rows.beta, zero)
        added = at.bound.demand(off, np.zeros_like(at.memory)) - off.b
        fed = float(added @ off.beta)
        room = ROUNDING * (1.0 + float(np.abs(added) @ np.abs(off.beta)))
        require(
            fed <= room, f"what it adds must oppose the velocity error; it feeds it ({fed:.1e})."
        )


@FEEDBACK.clause
def leaves_its_arguments_alone(feedback: Feedback) -> None:
    """Neither the rows nor the memory are changed."""
    for at in _asked(feedback):
        before = [part.copy() for part in (*at.rows, at.memory)]
        at.bound.demand(at.rows, at.memory)
        at.bound.memory_rate(at.rows)
        for name, part, old in zip(
            ("A", "b", "beta", "phi", "memory"), (*at.rows, at.memory), before, strict=True
        ):
            require_equal(f"'{name}' before and after", part, old)


@FEEDBACK.clause
def depends_on_its_arguments_alone(feedback: Feedback) -> None:
    """The same rows and memory give the same demand, whatever was asked in between."""
    for at in _asked(feedback):
        first = at.bound.demand(at.rows, at.memory).copy()
        other = Rows(at.rows.A, at.rows.b + 1.0, 2.0 * at.rows.beta, -at.rows.phi)
        at.bound.demand(other, at.memory + 1.0)
        require_equal("two demands at one state", at.bound.demand(at.rows, at.memory), first)
