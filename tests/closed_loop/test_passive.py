"""Passive constraints in closed loop: physics keeps them, the motors do not have to."""

import dataclasses as dc

import numpy as np
import pytest

from ukctrl import Robot, Scenario, check, simulate
from ukctrl.mechanics.constraints import JointFollows
from ukctrl.mechanics.reference import Expression

REACH = 0.6
ROD = {
    "kind": "distance",
    "frames": ["tool", "world"],
    "path": {"kind": "constant", "value": REACH},
}


def held_arm(*passive):
    """The two-link arm, its tool tied to the base as stated."""
    return dc.replace(Robot.load("two_link"), passive=passive)


def run_of(robot, **changes):
    path = Expression(components=("-0.6 + 0.3*sin(2*t)",))
    base = Scenario.load("scara-helix", {"timing": {"duration": 3.0, "sample": 0.01}})
    return base.replace(
        {
            "robot": robot,
            "servo": (JointFollows(joints=("shoulder",), path=path),),
            "start": {"q": {"shoulder": -0.6, "elbow": 1.5}, "v": {"shoulder": 0.6}, "solve": True},
            **changes,
        }
    )


@pytest.mark.slow
def test_the_closure_and_the_task_hold_together():
    run = simulate(run_of(held_arm(ROD)))
    assert run.status == "completed"
    assert run.metric("peak_phi") < 1e-9
    assert run.metric("peak_passive_phi") < 1e-9
    reach = np.linalg.norm(
        [Robot.load("two_link").snapshot(q).frame("tool").position for q in run["q"]], axis=1
    )
    np.testing.assert_allclose(reach, REACH, rtol=0.0, atol=1e-9)
    assert np.abs(run["passive_force"]).max() > 0.1


def test_an_ideal_reaction_does_no_work_and_the_energy_balance_closes():
    run = simulate(run_of(held_arm(ROD)))
    work_rate = np.einsum("ki,ki->k", run["passive_force"], run["v"])
    np.testing.assert_allclose(work_rate, 0.0, rtol=0.0, atol=1e-8)
    assert run.metric("energy_drift") < 1e-7


def test_a_redundant_passive_row_changes_nothing():
    single, double = simulate(run_of(held_arm(ROD))), simulate(run_of(held_arm(ROD, ROD)))
    np.testing.assert_allclose(double["q"], single["q"], rtol=0.0, atol=1e-8)
    np.testing.assert_allclose(
        double["passive_force"], single["passive_force"], rtol=0.0, atol=1e-6
    )


@pytest.mark.slow
def test_check_counts_the_mobility_that_is_left_and_the_motors_that_are_too_many():
    found = check(run_of(held_arm(ROD)))
    assert (found.start.freedoms, found.start.mobility, found.start.motors) == (2, 1, 2)
    assert found.start.actuation == "redundantly"
    assert found.ok


def test_a_start_that_breaks_a_closure_ends_as_drifted():
    apart = {"q": {"shoulder": -0.6, "elbow": 0.3}}
    run = simulate(run_of(held_arm(ROD), start=apart))
    assert run.status == "drifted"
    assert "passive_phi reached" in run.message
    worst = run.labels.passive_rows[int(np.argmax(np.abs(run["passive_phi"][-1])))]
    assert f"most on row '{worst}'; the monitor allows" in run.message
