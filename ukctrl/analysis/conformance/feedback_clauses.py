"""What every feedback must do, on rows of every kind."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ukctrl.analysis.conformance.clauses import (
    ClauseViolation,
    Suite,
    field_names,
    require,
    require_array,
    require_close,
    require_equal,
)
from ukctrl.analysis.conformance.situations import Situation, situations
from ukctrl.control.error_dynamics_spec import ErrorSpec
from ukctrl.control.feedback.feedback import BoundFeedback, Feedback, FeedbackOutput, ModelFeedback
from ukctrl.core.arrays import Vector
from ukctrl.core.errors import GainError
from ukctrl.mechanics.constraints import Rows
from ukctrl.mechanics.dynamics import Dynamics

FEEDBACK = Suite[Feedback]("feedback")
"""The clauses for feedbacks."""
FEEDBACK.record("A feedback", lambda feedback: feedback)
ROUNDING = 1e-9
"""A demand on the task's path may differ from the exact one by this, relatively."""


class FeedbackProbe(NamedTuple):
    """A feedback, bound to the rows of a situation, at one state."""

    situation: Situation
    bound: BoundFeedback | ModelFeedback
    dynamics: Dynamics
    rows: Rows
    memory: Vector

    def ask(self, rows: Rows, memory: Vector) -> FeedbackOutput:
        """Return what it asks for at these rows."""
        return self.bound.output(rows, memory, self.dynamics)

    def on_path(self) -> tuple[Rows, Vector]:
        """Return the rows as if they were met, and the memory of a start there."""
        zero = np.zeros(len(self.rows.b))
        phi = np.where(np.isnan(self.rows.phi), np.nan, zero)
        rows = Rows(self.rows.A, self.rows.b, zero, phi)
        return rows, self.bound.begin(self.dynamics.snapshot.t, rows).copy()


def _probes(feedback: Feedback) -> Iterator[FeedbackProbe]:
    """Yield the feedback at states of each situation whose rows it serves."""
    served = False
    for situation in situations():
        try:
            bound = feedback.attach(situation.stack)
        except GainError:
            continue  # gains by block, or for holonomic rows alone: not for these rows
        served = True
        rng = np.random.default_rng(1)
        for dynamics in situation.states():
            rows = situation.stack.write(dynamics.snapshot)
            memory = bound.begin(dynamics.snapshot.t, rows)
            memory = memory + 0.01 * rng.uniform(size=memory.shape)
            yield FeedbackProbe(situation, bound, dynamics, rows, memory)
    if not served:
        raise ClauseViolation("it must serve the rows of some situation; it refuses all of them.")


@FEEDBACK.clause
def shapes(feedback: Feedback) -> None:
    """The demand is one finite number a row; the memory's rate has the shape of the memory."""
    for at in _probes(feedback):
        response = at.ask(at.rows, at.memory)
        require_array("the demand", response.demand, len(response.rows.b))
        require_array("the rate of the memory", response.memory_rate, len(at.memory))


@FEEDBACK.clause
def asks_nothing_on_the_path(feedback: Feedback) -> None:
    """Where the rows are met and nothing is remembered, the demand is the exact motion's, b."""
    for at in _probes(feedback):
        response = at.ask(*at.on_path())
        require_close("the demand on the path and b", response.demand, response.rows.b, ROUNDING)


@FEEDBACK.clause
def opposes_errors(feedback: Feedback) -> None:
    """A velocity error alone is not fed: what is added to b does no positive work on it."""
    for at in _probes(feedback):
        path_rows, memory = at.on_path()
        response = at.ask(path_rows._replace(beta=at.rows.beta), memory)
        added, beta = response.demand - response.rows.b, response.rows.beta
        fed = float(added @ beta)
        tolerance = ROUNDING * (1.0 + float(np.abs(added) @ np.abs(beta)))
        require(
            fed <= tolerance,
            f"what it adds must oppose the velocity error; it feeds it ({fed:.1e}).",
        )


@FEEDBACK.clause
def leaves_its_arguments_alone(feedback: Feedback) -> None:
    """Neither the rows nor the memory are changed."""
    for at in _probes(feedback):
        copies = [array.copy() for array in (*at.rows, at.memory)]
        at.ask(at.rows, at.memory)
        for name, array, old in zip(
            ("A", "b", "beta", "phi", "memory"), (*at.rows, at.memory), copies, strict=True
        ):
            require_equal(f"'{name}' before and after", array, old)


@FEEDBACK.clause
def depends_on_its_arguments_alone(feedback: Feedback) -> None:
    """The same rows and memory give the same demand, whatever was asked in between."""
    for at in _probes(feedback):
        first = at.ask(at.rows, at.memory).demand.copy()
        trial_rows = Rows(at.rows.A, at.rows.b + 1.0, 2.0 * at.rows.beta, -at.rows.phi)
        at.ask(trial_rows, at.memory + 1.0)
        require_equal("two demands at one state", at.ask(at.rows, at.memory).demand, first)


@FEEDBACK.clause
def answers_what_verdicts_ask(feedback: Feedback) -> None:
    """The equation of its errors has one entry a row, or is not linear; gains are its fields."""
    for at in _probes(feedback):
        polynomials = at.bound.error_polynomials(at.situation.stack)
        names = [polynomial.row for polynomial in polynomials]
        require(
            not polynomials or names == list(at.situation.stack.names),
            f"error_polynomials must have one entry a row, or none; got {names}.",
        )
    gains = feedback.gains_for(ErrorSpec(bandwidth=1.0)) or {}
    unknown = sorted(gains.keys() - field_names(feedback))
    require(not unknown, f"gains_for must give its own fields; got {unknown}.")
