"""Everything of the catalogue satisfies the clauses of its kind."""

from __future__ import annotations

import pytest

from ukctrl import Robot, Scenario, catalog, testing
from ukctrl.control import (
    Baumgarte,
    Chen,
    Damping,
    Exact,
    FirstOrder,
    LeastNorm,
    Pid,
    Posture,
)

FEEDBACKS = {
    "exact": Exact(),
    "baumgarte": Baumgarte(alpha=20.0, beta=100.0),
    "pid": Pid(kp=100.0, ki=50.0, kd=20.0),
    "first_order": FirstOrder(kappa=5.0),
}
ALLOCATIONS = {
    "least_norm": LeastNorm(),
    "least_norm, gauss": LeastNorm(metric="gauss"),
    "least_norm, damping": LeastNorm(null_space=Damping(gain=2.0)),
    "least_norm, posture": LeastNorm(null_space=Posture(kp=5.0, kd=2.0)),
    "chen": Chen(),
}
SERVED = {}
"""On which scenario a card is tried that does not serve the usual one."""
USUAL = "scara-helix"
REFUSED = {"two-mass-spring-far": "infeasible"}
"""Scenarios that show a refusal, and its status."""
SMALLER = {"swarm-many": {"robot.particles.count": 12}}
"""Changes that make a large scenario quick."""


@pytest.mark.parametrize("feedback", FEEDBACKS.values(), ids=FEEDBACKS)
def test_every_feedback_conforms(feedback):
    testing.FEEDBACK.examine(feedback, feedback.kind).confirm()


@pytest.mark.parametrize("allocation", ALLOCATIONS.values(), ids=ALLOCATIONS)
def test_every_allocation_conforms(allocation):
    testing.ALLOCATION.examine(allocation, allocation.kind).confirm()


@pytest.mark.parametrize("card", catalog.names("controllers"))
def test_every_controller_conforms(card):
    on = Scenario.load(SERVED.get(card, USUAL))
    controller = on.replace({"controller": {"use": card}}).controller
    testing.CONTROLLER.examine(testing.Trial(controller, on), card).confirm()


@pytest.mark.parametrize("name", catalog.names("robots"))
def test_every_robot_conforms(name):
    testing.ROBOT.examine(Robot.load(name), name).confirm()


@pytest.mark.parametrize("name", [n for n in catalog.names("scenarios") if n not in REFUSED])
def test_every_scenario_conforms(name):
    testing.SCENARIO.examine(Scenario.load(name, SMALLER.get(name, {})), name).confirm()


@pytest.mark.parametrize(("name", "status"), REFUSED.items())
def test_a_scenario_that_shows_a_refusal_is_refused(name, status):
    found = testing.SCENARIO.examine(Scenario.load(name), name)
    assert not found.ok
    assert any(f"a short run {status}" in finding.detail for finding in found.findings)


@pytest.mark.parametrize("name", catalog.names("scenarios"))
def test_every_constraint_of_the_scenarios_conforms(name):
    scenario = Scenario.load(name, SMALLER.get(name, {}))
    from ukctrl.prepare import true_robot

    robot = true_robot(scenario.robot)
    for constraint in scenario.servo:
        placed = testing.Placed(constraint, robot)
        testing.CONSTRAINT.examine(placed, constraint.name or constraint.kind).confirm()
