"""Conformance: what every feedback, allocation, controller, robot ... of the catalogue satisfies.

Try your own part on the same clauses::

    from ukctrl import testing

    testing.FEEDBACK.examine(MyFeedback(rate=3.0), "mine").confirm()

or clause by clause in your own tests::

    @pytest.mark.parametrize("clause", testing.FEEDBACK, ids=str)
    def test_my_feedback(clause):
        clause(MyFeedback(rate=3.0))

A clause does nothing where it holds, and raises `ClauseViolation` where it does not.

In order:

1. ``clauses``: what a suite is. ``situations``: where parts are tried.
2. One file a kind: ``feedback_clauses``, ``allocation_clauses``, ``disturbance_clauses``,
   ``constraint_clauses``, ``effect_clauses``, ``observer_clauses``, ``controller_clauses``.
3. ``robot_clauses``, ``scenario_clauses``: robots and scenarios as wholes.
4. ``examine_file``: from a file of one's own to what conforms in it.
"""

from ukctrl.analysis.conformance.allocation_clauses import ALLOCATION
from ukctrl.analysis.conformance.clauses import (
    Clause,
    ClauseResult,
    ClauseViolation,
    Conformance,
    Suite,
)
from ukctrl.analysis.conformance.constraint_clauses import CONSTRAINT, ConstraintCase
from ukctrl.analysis.conformance.controller_clauses import CONTROLLER, ControllerCase
from ukctrl.analysis.conformance.disturbance_clauses import DISTURBANCE
from ukctrl.analysis.conformance.effect_clauses import EFFECT, EffectCase
from ukctrl.analysis.conformance.feedback_clauses import FEEDBACK
from ukctrl.analysis.conformance.observer_clauses import OBSERVER, ObserverCase
from ukctrl.analysis.conformance.robot_clauses import ROBOT
from ukctrl.analysis.conformance.scenario_clauses import SCENARIO
from ukctrl.analysis.conformance.situations import Situation, situation, situations

__all__ = [
    "ALLOCATION",
    "CONSTRAINT",
    "CONTROLLER",
    "DISTURBANCE",
    "EFFECT",
    "FEEDBACK",
    "OBSERVER",
    "ROBOT",
    "SCENARIO",
    "Clause",
    "ClauseResult",
    "ClauseViolation",
    "Conformance",
    "ConstraintCase",
    "ControllerCase",
    "EffectCase",
    "ObserverCase",
    "Situation",
    "Suite",
    "situation",
    "situations",
]
