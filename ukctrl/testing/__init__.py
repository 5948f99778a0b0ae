"""Conformance: what every feedback, allocation, controller, robot ... of the catalogue satisfies.

Try your own part on the same clauses::

    from ukctrl import testing

    testing.FEEDBACK.examine(MyFeedback(rate=3.0), "mine").confirm()

or clause by clause in your own tests::

    @pytest.mark.parametrize("clause", testing.FEEDBACK, ids=str)
    def test_my_feedback(clause):
        clause(MyFeedback(rate=3.0))

A clause does nothing where it holds, and raises `Broken` where it does not.
"""

from ukctrl.testing.allocation import ALLOCATION
from ukctrl.testing.base import Broken, Clause, Conformance, Finding, Suite
from ukctrl.testing.constraint import CONSTRAINT, Placed
from ukctrl.testing.controller import CONTROLLER, Trial
from ukctrl.testing.effect import EFFECT, Exposed
from ukctrl.testing.feedback import FEEDBACK
from ukctrl.testing.robot import ROBOT
from ukctrl.testing.scenario import SCENARIO
from ukctrl.testing.situations import Situation, situation, situations

__all__ = [
    "ALLOCATION",
    "CONSTRAINT",
    "CONTROLLER",
    "EFFECT",
    "FEEDBACK",
    "ROBOT",
    "SCENARIO",
    "Broken",
    "Clause",
    "Conformance",
    "Exposed",
    "Finding",
    "Placed",
    "Situation",
    "Suite",
    "Trial",
    "situation",
    "situations",
]
