"""`check` judges a control period by the poles of the whole loop, null space included."""

from __future__ import annotations

import numpy as np
import pytest
import tomli_w
from loop_verdicts import CATALOGUE, at_random, of_catalogue

from ukctrl import Robot, Scenario, analyze, check, simulate
from ukctrl.analysis.check.check_report import facts
from ukctrl.analysis.check.loop_stability import BEYOND_KEPT, _returns, loop_stability
from ukctrl.analysis.check.task_motion import task_motion
from ukctrl.control import Baumgarte, Damping, LeastNorm, Servo
from ukctrl.mechanics.constraints import JointFollows
from ukctrl.mechanics.reference import Line
from ukctrl.robot import JointMotor, Lagrangian, Options
from ukctrl.simulation.assemble import Loop
from ukctrl.simulation.effects import Differentiation, InputDelay
from ukctrl.simulation.scenario import StartState, Timing

LINE = Line(start=0.0, end=0.1, duration=1.0)
LIMIT = {"rel": 1e-3}
"""The bisection of the limit."""


def masses(period, damping=1.0, light=1.0, potential="0*x", motors=("x", "y"), *, alpha=20.0,
           beta=100.0, effect=(), duration=1.0):  # fmt: skip
    """A mass on a path, and a light one that the task leaves to the null space."""
    robot = Robot.build(
        Lagrangian(coordinates={"x": "m", "y": "m"}, kinetic="(v.x**2 + m*v.y**2)/2",
                   potential=potential, parameters={"m": light}),
        Options(actuator=[JointMotor(name=f"F{name}", joint=name) for name in motors]),
    )  # fmt: skip
    null_space = Damping(gain=damping, gravity=False) if len(motors) == 2 else None
    return Scenario(
        title="masses", robot=robot, servo=(JointFollows(joints=("x",), path=LINE),),
        controller=Servo(feedback=Baumgarte(alpha=alpha, beta=beta),
                         allocation=LeastNorm(null_space=null_space)),
        start=StartState(solve=True), effect=effect,
        timing=Timing(duration=duration, control=period, sample=0.01),
    )  # fmt: skip


def stability_of(scenario):
    loop = Loop(scenario)
    return loop_stability(loop, task_motion(loop))


@pytest.mark.parametrize(("damping", "light"), [(1.0, 0.01), (50.0, 1.0), (300.0, 2.0)])
def test_the_null_space_limits_the_period_as_its_closed_form_says(damping, light):
    """A mass under a held damper is stable up to ``2 m / d``; the rows would bear 0.1 s."""
    assert stability_of(masses(0.001, damping, light)).limit == pytest.approx(
        2.0 * light / damping, **LIMIT
    )


@pytest.mark.parametrize(("alpha", "beta"), [(20.0, 100.0), (4.0, 400.0)])
def test_where_the_null_space_is_slow_the_rows_limit_it_as_their_closed_form_says(alpha, beta):
    found = stability_of(masses(0.001, 0.1, alpha=alpha, beta=beta))
    assert found.limit == pytest.approx(min(2.0 / alpha, 2.0 * alpha / beta), **LIMIT)


def test_a_delay_of_a_tick_shortens_the_period_of_a_damper_to_its_half():
    """With one tick of delay ``z^2 - z + h d / m`` is stable up to ``h d / m = 1``."""
    found = stability_of(masses(0.001, 50.0, 1.0, effect=(InputDelay(ticks=1),)))
    assert found.limit == pytest.approx(1.0 / 50.0, **LIMIT)


@pytest.mark.parametrize(("period", "ready"), [(0.018, True), (0.022, False)])
def test_a_period_on_either_side_of_the_limit_is_judged_as_the_run_goes(period, ready):
    scenario = masses(period, 100.0, 1.0, duration=10.0)
    found = check(scenario)
    assert found.ok == ready
    pushed = scenario.replace({"start.v": [0.1, 1e-3], "start.solve": False})
    run = simulate(pushed)
    speed = abs(run["v"][-1, 1]) if run.status == "completed" else np.inf
    assert (speed < 1e-3) == ready
    if not ready:
        assert "is too long for the loop" in found.problems[0]
        shorter = found.motion.stability.recommended
        assert 0.0 < shorter < 0.02
        assert check(scenario.replace({"timing.control": shorter})).ok


def test_what_grows_without_a_hold_is_not_the_period_to_blame():
    scenario = masses(0.001, motors=("x",), potential="-4.5*y**2", duration=10.0)
    found = check(scenario)
    stability = found.motion.stability
    assert stability.growth[0] == pytest.approx(3.0, rel=1e-6)
    assert not stability.of_hold
    assert found.ok
    assert any(text.startswith("the law does not hold all of the robot") for text in found.warnings)
    # the rows bear their own period all the same, whatever grows beside them
    assert stability.limit == pytest.approx(0.1, **LIMIT)
    assert "; a hold makes no other mode grow below 0.1 s" in dict(facts(found))["loop"]


def test_what_grows_behind_a_sensor_is_not_the_period_to_blame_either():
    """A filtered velocity is made for the period, and tells nothing without it."""
    filtered = (Differentiation(cutoff=60.0),)
    scenario = masses(0.001, motors=("x",), potential="-4.5*y**2", duration=4.0, effect=filtered)
    stability = stability_of(scenario)
    assert stability.limit is None
    assert stability.growth[0] == pytest.approx(3.0, rel=1e-3)
    assert not stability.of_hold


def test_where_the_exact_task_is_beyond_what_is_kept_the_loop_is_not_looked_at():
    loop = Loop(masses(0.001, 50.0))
    motion = task_motion(loop)
    found = loop_stability(loop, motion, motion.t > 0.6)
    assert found.times == pytest.approx((0.0, 0.25, 0.5), abs=0.01)
    assert BEYOND_KEPT in found.left_out
    assert not found.decides  # a run is tried
    assert BEYOND_KEPT not in loop_stability(loop, motion, motion.t > 2.0).left_out


def test_check_and_analyze_write_the_same_poles():
    for scenario in (masses(0.01, 300.0), masses(0.01), masses(None)):
        stability = check(scenario).motion.stability
        linear = analyze(scenario)
        assert linear.verdict.startswith(stability.text)
        assert stability.growth[0] == pytest.approx(
            max(linear.loop.rates().real), rel=1e-9, abs=1e-9
        )


def test_the_fact_says_where_the_loop_was_looked_at():
    told = dict(facts(check(masses(0.001, 50.0))))
    assert "stable below" not in told["error"]
    assert told["loop"] == (
        "neutral: 1 of 4 modes neither grow nor decay; a hold makes no mode grow below 0.04 s "
        "(at 5 states)"
    )


@pytest.mark.parametrize(
    ("apart", "returns"), [((0.01, 0.05, 0.009), True), ((0.01, 0.05, 0.02), False)]
)
def test_a_run_comes_back_that_ends_nearer_than_it_was_pushed(monkeypatch, apart, returns):
    """Two runs on the limit cycle of one loop keep a distance that is no more than their first."""

    class Run(dict):
        status = "completed"

    loop = Loop(masses(0.001))
    q, v = np.zeros((3, 2)), np.zeros((3, 2))
    pushed = Run(v=np.column_stack([apart, np.zeros(3)]))
    monkeypatch.setattr("ukctrl.analysis.check.loop_stability.simulate", lambda _: pushed)
    assert _returns(loop, loop.scenario, Run(q=q, v=v)) is returns


SHORT = {
    "title": "a short line", "robot": "ur5", "start": {"solve": True},
    "servo": [{"kind": "point_follows", "frame": "tool",
               "path": {"kind": "line", "start": [0.45, -0.1, 0.4], "end": [0.5, -0.1, 0.4],
                        "duration": 2.0}}],
    "timing": {"duration": 2.0, "control": 0.002},
}  # fmt: skip
DAMPED = {"kind": "damping", "gain": 1.0}


@pytest.mark.parametrize(
    "controller",
    [
        {"use": "operational-space", "null_space": DAMPED},
        pytest.param({"use": "servo-gauss", "allocation": {"null_space": DAMPED}},
                     marks=pytest.mark.slow),
        pytest.param({"use": "operational-space"}, marks=pytest.mark.slow),
        {"use": "servo-gauss"},
    ],
    ids=["damped", "damped rows", "the card", "the card of rows"],
)  # fmt: skip
def test_a_wrist_that_is_damped_too_much_is_foreseen_and_the_cards_do_without(controller):
    scenario = Scenario.from_toml(tomli_w.dumps(SHORT | {"controller": controller}))
    found, run = check(scenario), simulate(scenario)
    assert found.ok == (run.status == "completed")
    assert found.ok == ("damping" not in str(controller))


def test_an_adaptive_law_whose_poles_do_not_decide_is_tried():
    changes = {"controller": {"use": "servo-adaptive-robust"}, "timing.control": 0.0044}
    found = check(Scenario.load("log-spiral-particle", changes | {"timing.duration": 0.6}))
    assert found.motion.trial.status == "diverged"
    assert any("a trial run of 0.6 s ends as 'diverged'" in text for text in found.problems)


FAST = (2, 12, 20)
"""Seeds of a sound loop, a null space and a fast one."""


@pytest.mark.parametrize("seed", FAST)
def test_check_analyze_and_the_run_do_not_contradict_each_other(seed):
    [outcome] = at_random([seed])
    assert outcome.status
    assert outcome.contradiction == ""


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 300, 10))
def test_over_300_random_scenarios_nothing_contradicts(first):
    assert [one for one in at_random(range(first, first + 10)) if one.contradiction] == []


@pytest.mark.slow
@pytest.mark.parametrize("name", CATALOGUE)
def test_over_the_catalogue_nothing_contradicts(name):
    outcomes = list(of_catalogue([name]))
    assert len(outcomes) == 3
    assert [one for one in outcomes if one.contradiction] == []


def squat(mu, control):
    """A quadruped that goes down and up on ground of some friction, and keeps no cones."""
    scenario = Scenario.load("a1-squat", {"timing.duration": 1.0, "timing.control": control})
    feet = [
        {"kind": "contact", "frame": f"{foot}_foot", "mu": mu} for foot in ("FL", "FR", "RL", "RR")
    ]
    return scenario.replace({"robot": {"use": "a1", "passive": feet}})


@pytest.mark.slow
@pytest.mark.parametrize(("mu", "control", "is_ready"), [
    (0.05, 0.002, False), (0.1, 0.001, False), (0.9, 0.002, True),
])  # fmt: skip
def test_feet_that_slide_are_tried(mu, control, is_ready):
    """Poles about the motion that friction does not allow call it stable."""
    scenario = squat(mu, control)
    report, result = check(scenario), simulate(scenario)
    assert report.ok == is_ready == (result.status == "completed")
    assert (report.motion.trial is None) == is_ready
