"""Runs whose motors are not enough, or whose pose is singular: what is kept, and what is told."""

import dataclasses as dc

import numpy as np
import pytest

from ukctrl import Scenario, simulate
from ukctrl.simulation.result.verdicts import judge
from ukctrl.simulation.result.verdicts.law_verdicts import limit_intervals, relaxation_verdicts

SERVO = {"kind": "servo", "feedback": {"kind": "baumgarte", "alpha": 20.0, "beta": 100.0}}
COARSE = {"integrator": {"method": "DOP853", "rtol": 1e-7, "atol": 1e-9}}


def run(name, allocation=None, **changes):
    table = dict(changes)
    if allocation is not None:
        table["controller"] = {**SERVO, "allocation": allocation}
    return simulate(Scenario.load(name, {**COARSE, **table}))


@pytest.fixture(scope="module")
def weak():
    return run("scara-weak-motors", timing={"duration": 1.0, "sample": 0.005})


@pytest.fixture(scope="module")
def stretched():
    return run("stretched-arm", timing={"duration": 3.0, "sample": 0.01})


def test_scaling_keeps_the_motors_within_their_limits_and_the_robot_on_its_path(weak):
    assert weak.status == "completed"
    np.testing.assert_array_less(np.abs(weak["u"]).max(axis=0), [40.0, 18.0 + 1e-9, 20.0, 20.0])
    assert 0.8 < weak["task_scale"].min() < 0.95
    assert 1e-3 < weak.metric("peak_phi.tool") < 3e-3
    assert weak.metric("peak_phi.orientation") < 1e-9  # its demand is scaled, and is zero


def test_the_run_tells_which_motor_bound_when_and_what_it_cost(weak):
    found = limit_intervals(weak)
    assert {(spell.actuator, spell.side) for spell in found} == {("u2", 1), ("u2", -1)}
    for spell in found:
        inside = (weak.time >= spell.start) & (weak.time <= spell.stop)
        np.testing.assert_allclose(weak["u"][inside, 1], 18.0 * spell.side, rtol=1e-9)
    verdict = next(verdict for verdict in judge(weak) if verdict.subject == "motors")
    assert verdict.level == "warning"
    first = found[0]
    assert verdict.text.startswith(
        f"'u2' at its upper limit, {first.start:.2f} s to {first.stop:.2f} s; 'u2' at its lower "
    )
    peak = weak.metric("peak_phi.tool")
    share = weak["task_scale"].min()
    assert f"scaled down to {share:.2f} of the demand" in verdict.text
    assert f"the tracking error grew to {1e3 * peak:.2f} mm in 'tool'." in verdict.text


def test_relaxing_keeps_the_tool_and_lets_the_wrist_go():
    relaxed = run(
        "scara-weak-motors",
        {"kind": "bounded", "on_limit": "relax", "order": ["tool", "orientation"]},
        timing={"duration": 1.0, "sample": 0.005},
    )
    assert relaxed.metric("peak_phi.tool") < 1e-6
    assert relaxed.metric("peak_phi.orientation") > 0.1
    (told,) = relaxation_verdicts(relaxed)
    assert "The rows of 'orientation' gave way; the tracking error grew to" in told.text


def test_with_motors_that_are_enough_the_run_is_that_of_the_least_norm():
    strong = {"u1": 40.0, "u2": 20.0, "u3": 20.0, "u4": 20.0}
    robot = Scenario.load("scara-weak-motors").to_table()["robot"]
    for motor in robot["actuator"]:
        motor["limit"] = strong[motor["name"]]
    timing = {"duration": 1.0, "sample": 0.005}
    bounded = run("scara-weak-motors", robot=robot, timing=timing)
    plain = run("scara-weak-motors", {"kind": "least_norm"}, robot=robot, timing=timing)
    np.testing.assert_array_equal(bounded["u"], plain["u"])
    np.testing.assert_array_equal(bounded["q"], plain["q"])
    assert not relaxation_verdicts(bounded)


def test_rate_limits_hold_from_tick_to_tick_in_a_run():
    robot = Scenario.load("scara-weak-motors").to_table()["robot"]
    for motor in robot["actuator"]:
        motor["rate_limit"] = 150.0
    tick = {"duration": 0.3, "sample": 0.002, "control": 0.002}
    result = run("scara-weak-motors", robot=robot, timing=tick)
    assert result.status == "completed"
    steps = np.abs(np.diff(result["u"], axis=0))
    np.testing.assert_allclose(steps.max(), 0.3, rtol=1e-6)
    assert result["binding"].any()


def test_an_arm_that_cannot_reach_stays_calm_within_the_bound_it_records(stretched):
    assert stretched.status == "completed"
    assert (np.linalg.norm(stretched["row_miss"], axis=1) <= stretched["miss_bound"] + 1e-9).all()
    assert stretched["miss_bound"].max() > 1.0
    assert np.abs(stretched["u"]).max() < 25.0
    assert stretched.metric("peak_phi") < 0.012  # 10 mm of it are out of reach
    assert stretched.metric("final_phi") < 1e-6
    (told,) = relaxation_verdicts(stretched)
    assert told.text.startswith("Near a singular pose, from 1.3")


def test_the_exact_law_does_not_pass_there():
    exact = run("stretched-arm", {"kind": "least_norm"}, timing={"duration": 3.0, "sample": 0.01})
    assert exact.status in ("diverged", "infeasible")
    assert exact.time[-1] < 1.5


def test_a_lower_level_in_conflict_leaves_the_higher_one_to_its_path():
    servo = Scenario.load("scara-weak-motors").to_table()["servo"]
    third = {"kind": "expression", "name": "elbow", "phi": "q2 - 1", "unit": "rad"}
    result = run(
        "scara-weak-motors",
        {"kind": "prioritized", "order": ["tool", "elbow", "orientation"]},
        servo=[*servo, third],
        timing={"duration": 0.5, "sample": 0.005},
        start={"q": {"q1": "-30*deg", "q2": "55*deg", "q3": "-25*deg", "q4": 0.1}, "v": {}},
    )
    alone = run(
        "scara-weak-motors",
        {"kind": "least_norm"},
        servo=servo[:1],
        timing={"duration": 0.5, "sample": 0.005},
        start={"q": {"q1": "-30*deg", "q2": "55*deg", "q3": "-25*deg", "q4": 0.1}, "v": {}},
    )
    np.testing.assert_allclose(result["phi"][:, :3], alone["phi"], rtol=0.0, atol=1e-6)
    assert result["level_miss"][:, 1].max() > 0.1
    assert any(told.subject == "priorities" for told in relaxation_verdicts(result))


def test_a_run_without_concessions_tells_of_none(weak):
    assert relaxation_verdicts(dc.replace(weak, samples=dc.replace(weak.samples, signals={}))) == ()


def test_the_time_at_a_narrowed_limit_counts_as_saturated():
    allocation = {"kind": "bounded", "limit": {"u2": 12.0}}
    timing = {"duration": 0.2, "sample": 0.005}
    told = run("scara-weak-motors", allocation, timing=timing)
    assert np.abs(told["u"][:, 1]).max() <= 12.0 * (1.0 + 1e-9)
    at = np.isclose(np.abs(told["u"][:, 1]), 12.0, rtol=1e-9).astype(float)
    assert at.mean() > 0.0
    share = np.trapezoid(at, told.time) / told.time[-1]
    np.testing.assert_allclose(told.metric("saturated_fraction"), share, rtol=1e-9)
