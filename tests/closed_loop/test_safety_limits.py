"""Runs that keep limits: closed forms, many random ones, and what is told of them."""

import dataclasses as dc
import re

import numpy as np
import pytest
import tomli_w

from tests.shared.slow import slow_but
from ukctrl import Robot, Runtime, Scenario, check, replay, simulate
from ukctrl.control.safety import FormulaLimit
from ukctrl.control.safety.filtered_input import InequalityValues, raise_relaxation
from ukctrl.core.errors import InputError, UkctrlError
from ukctrl.core.number_text import quantity
from ukctrl.core.program import KernelSequence
from ukctrl.simulation.export.export_controller import export_controller
from ukctrl.simulation.result.result_files import netcdf_variables

WALL = {"kind": "expression", "name": "wall", "h": "1.0 - x", "unit": "m", "decay": 0.2}
SERVO = {"kind": "servo", "feedback": {"kind": "baumgarte", "alpha": 6.0, "beta": 9.0}}
TARGET = {"kind": "constant", "value": [2.0, 1.0]}


def mass(keep, control=None, v=(0.0, 0.0), duration=3.0, sample=0.001, **more):
    """A free mass that is asked to go to x = 2, y = 1."""
    timing = {"duration": duration, "sample": sample} | ({"control": control} if control else {})
    servo = [{"kind": "joint_follows", "name": "place", "joints": ["x", "y"], "path": TARGET}]
    start = {"q": [0.0, 0.0], "v": list(v)}
    table = {
        "title": "a mass before a wall", "robot": "particle", "servo": servo, "keep": keep,
        "controller": SERVO, "timing": timing, "start": start, **more,
    }  # fmt: skip
    return Scenario.from_toml(tomli_w.dumps(table))


@pytest.fixture(scope="module")
def stopped():
    return simulate(mass([WALL]))


def test_before_a_wall_a_mass_follows_the_barrier_in_closed_form(stopped):
    bound = np.flatnonzero(stopped["keep_binding"][:, 0])
    first, last = bound[0], bound[-1]
    np.testing.assert_array_equal(bound, np.arange(first, last + 1))  # once it binds, it does
    assert last == len(stopped.time) - 1
    t, p = stopped.time[first:] - stopped.time[first], 5.0
    h, rate = 1.0 - stopped["q"][first, 0], -stopped["v"][first, 0]
    exact = (h + (rate + p * h) * t) * np.exp(-p * t)
    np.testing.assert_allclose(stopped["keep"][first:, 0], exact, atol=1e-7)
    assert stopped["keep"].min() > -1e-9


def test_the_axis_along_the_wall_is_served_as_without_it(stopped):
    free = simulate(mass([]))
    np.testing.assert_allclose(stopped["q"][:, 1], free["q"][:, 1], atol=1e-8)
    assert free["q"][:, 0].max() > 1.9  # without, the same run goes through


def test_a_joint_brakes_at_its_end_by_its_own_deceleration():
    limits = {"kind": "joint_limits", "upper": {"x": 1.0}, "deceleration": 0.5}
    run = simulate(mass([{**limits, "limits": ["positions"]}], control=1e-3, v=(0.5, 0.0)))
    bound = run["keep_binding"].any(axis=1)
    moving = bound & (run["v"][:, 0] > 0.05)
    d, slow = 0.5, 0.5 * 0.1
    left, v, a = 1.0 - run["q"][moving, 0], run["v"][moving, 0], run["a"][moving, 0]
    fastest = np.sqrt(2.0 * d * left + slow**2) - slow
    np.testing.assert_allclose(v[5:], fastest[5:], atol=1e-3)
    np.testing.assert_allclose(a[5:], (-d * v / (v + slow))[5:], atol=5e-3)  # to a tick
    assert run["keep"].min() > -1e-12


def test_a_speed_is_kept():
    limits = {"kind": "joint_limits", "speed": {"x": 0.3}, "limits": ["speeds"]}
    run = simulate(mass([limits]))
    assert 0.3 - 1e-6 < run["v"][:, 0].max() < 0.3 + 1e-9


def test_a_law_of_ones_own_is_kept_too():
    from ukctrl import control

    class Push(control.Law):
        def step(self, dynamics, memory):
            return control.Command(np.array([3.0, 0.0]), np.zeros(0))

    @dc.dataclass(frozen=True, kw_only=True)
    class Pushing(control.Controller):
        needs_servo = False

        def start(self, task):
            return Push(task)

    scenario = mass([WALL], control=0.01)
    run = simulate(dc.replace(scenario, controller=Pushing(), servo=()))
    assert run.status == "completed", run.message
    assert run["keep"].min() > -1e-12
    assert run["q"][-1, 0] > 0.999


def test_a_tick_in_which_limits_bind_or_give_way_stays_in_machine_code(monkeypatch):
    behind = {**WALL, "name": "behind", "h": "x - 1.1"}
    free, kept, both = (Runtime(mass(walls, 0.01)) for walls in ([], [WALL], [WALL, behind]))
    asked = []
    monkeypatch.setattr(KernelSequence, "call_python", lambda self, line: asked.append(line) or -1)
    state = 0.0, [0.99, 0.0], [0.2, 0.0]
    inputs = [runtime.step(*state) for runtime in (free, kept, both)]
    assert not asked
    assert inputs[1][0] < inputs[0][0] - 0.1  # the wall binds
    assert inputs[2][0] == pytest.approx(inputs[1][0], abs=1e-6)  # the other one gives way


def test_no_controller_is_needed_to_keep_a_limit():
    thrown = dc.replace(mass([WALL], v=(2.0, 0.0)), servo=(), controller=None or
                        Scenario.load("projectile").controller)  # fmt: skip
    run = simulate(thrown)
    assert run["keep"].min() > -1e-9
    assert simulate(dc.replace(thrown, keep=()))["q"][-1, 0] > 5.0


def test_what_is_kept_first_holds_where_not_all_can_be():
    other = {"kind": "expression", "name": "ahead", "h": "x - 1.2", "unit": "m", "decay": 0.2}
    run = simulate(mass([WALL, other], control=0.01))
    assert run.metric("worst_margin.wall") > -1e-9
    assert run["keep_missed"][:, 1].max() > 0.0
    turned = simulate(mass([{**WALL, "order": 2}, {**other, "order": 1}], control=0.01))
    assert turned["keep_missed"][-1, 0] > turned["keep_missed"][-1, 1]
    assert turned.metric("worst_margin.wall") < -0.1


def test_what_may_not_give_way_ends_the_run_and_names_the_conflict():
    firm = {**WALL, "gives_way": False}
    other = {**firm, "name": "ahead", "h": "x - 1.2"}
    run = simulate(mass([firm, other], control=0.01))
    assert run.status == "infeasible"
    assert "rows to keep 'wall', 'ahead' contradict each other" in run.message


def test_motors_that_are_too_weak_are_named():
    limit = {"limit": 2.0}
    motors = [{"kind": "joint", "joint": j, "name": j, **limit} for j in ("x", "y")]
    scenario = mass([{**WALL, "gives_way": False}], control=0.01, v=(3.0, 0.0))
    scenario = scenario.replace({"robot": {"use": "particle", "actuator": motors}})
    run = simulate(scenario)
    assert run.status == "infeasible"
    assert "'wall' and the limits of 'x'" in run.message


def test_a_run_tells_what_was_left_for_how_long_and_at_what_cost(stopped):
    (said,) = [verdict.text for verdict in stopped.verdicts if verdict.subject == "keep"]
    assert said.startswith("'wall' was kept with a slack of ")
    assert f"the limit was active for {quantity(stopped.metric('time_at_limits'), 's')}" in said
    assert "with a task error of up to 2.14 m in 'place'" in said
    assert stopped.metric("worst_margin") == stopped["keep"].min()
    assert stopped.metric("task_given_up") > 1.0


def test_the_file_of_a_run_has_what_was_kept(stopped, tmp_path):
    from ukctrl import Result

    again = Result.load(stopped.save(tmp_path))
    np.testing.assert_array_equal(again["keep"], stopped["keep"])
    assert again.labels.keep_rows == ("wall",)
    assert again.labels.keep_row_margins == (0.0,)
    assert netcdf_variables(again.samples)["keep"].attributes["units"] == "m"


@pytest.mark.slow
def test_check_says_where_the_exact_task_goes_beyond():
    found = check(mass([WALL], control=0.01))
    (text,) = [text for text in found.warnings if "wall" in text]
    assert "beyond 'wall' by 1 m" in text
    outside = check(mass([{**WALL, "h": "-0.1 - x"}], control=0.01))
    assert any("the start is beyond the limit 'wall' by 0.1 m" in text for text in outside.warnings)
    fast = check(mass([WALL], control=0.01, v=(6.0, 0.0)))
    assert any("faster than the decay allows" in text for text in fast.warnings)


def test_check_names_what_no_motor_accelerates_at_once():
    far = [{"kind": "expression", "name": f"mass_{k}", "h": f"50 - x{k}"} for k in (1, 4)]
    found = check(Scenario.load("four-mass-chain", {"keep": far}))
    (text,) = [text for text in found.warnings if "directly at the start" in text]
    assert "accelerates 'mass_4' directly" in text


@pytest.mark.parametrize(
    "feedback",
    [
        {"kind": "pid", "kp": 75.0, "ki": 125.0, "kd": 15.0},
        {"kind": "integral_sliding", "alpha": 10.0, "beta": 25.0, "rate": 5.0, "push": 3.0},
    ],
    ids=lambda each: each["kind"],
)
def test_an_integral_does_not_hold_the_robot_at_a_limit_once_the_task_is_back(feedback):
    """The task is beyond the wall for two seconds, and comes back within a quarter of one."""
    there = "0.8 + 0.5*(tanh(8*(t - 1)) - tanh(8*(t - 3)))"
    away = {"kind": "expression", "components": [there, "0"]}
    servo = [{"kind": "joint_follows", "name": "place", "joints": ["x", "y"], "path": away}]
    law, start = {"kind": "servo", "feedback": feedback}, {"q": [0.8, 0.0], "v": [0.0, 0.0]}
    held = {"control": 2e-3, "sample": 2e-3, "duration": 7.0}
    run = simulate(mass([WALL], **held, servo=servo, controller=law, start=start))
    bound = run["keep_binding"][:, 0] > 0.0
    assert 2.8 < run.time[bound].max() < 3.5
    assert np.abs(run["phi"][run.time > 6.9]).max() < 2e-3
    assert run["keep"].min() > -1e-6


def test_check_names_positions_that_leave_no_room_between_them():
    """Whatever the task asks: wherever the mass is, it is beyond one of them."""
    left, right = {**WALL, "name": "left", "h": "-0.1 - x"}, {**WALL, "name": "right", "h": "x"}
    texts = [text for text in check(mass([left, right])).warnings if "limits overlap" in text]
    assert texts == [
        "'left', 'right' contradict each other at the start, whatever the task asks: no state "
        "keeps both; the limits overlap by 0.1 m."
    ]
    beside = {**right, "h": "x + 0.1001"}
    assert not [text for text in check(mass([left, beside])).warnings if "limits overlap" in text]


def test_a_formula_without_a_value_on_the_way_does_not_end_a_check():
    found = check(mass([{**WALL, "h": "sqrt(0.5 - x)"}]))
    (text,) = [text for text in found.warnings if "cannot be evaluated" in text]
    assert "all along the exact task: in 'sqrt(0.5 - x)': there is no finite real value" in text


@pytest.mark.parametrize(
    ("h", "message"),
    [
        ("z", "keep[0]: h: in 'z': no variable named 'z'"),
        ("t", "keep[0]: h: in 't': must contain a coordinate"),
        (["x", "v.x"], "keep[0]: h must be formulas that all have a velocity such as v.q1, or"),
    ],
)
def test_a_formula_to_keep_is_refused_by_its_own_key(h, message):
    with pytest.raises(UkctrlError, match=re.escape(message)):
        simulate(mass([{**WALL, "h": h}]))


@pytest.mark.parametrize(
    "table",
    [
        {"kind": "half_space", "frame": "p", "point": [0, 0, 0], "normal": [1, 0, 0],
         "margin": "5*deg"},
        {"kind": "tilt", "frame": "p", "at_most": 0.1, "margin": "1*m"},
        {"kind": "joint_limits", "margin": "1*N"},
        {"kind": "contact_forces", "mu": "1*m"},
    ],
)  # fmt: skip
def test_margins_have_the_unit_of_what_is_kept(table):
    with pytest.raises(InputError, match=r"keep\[0\]\.(margin|mu): must be "):
        mass([table])


def test_keep_needs_motors_and_its_own_names():
    with pytest.raises(InputError, match="another block's already"):
        simulate(mass([WALL, WALL]))


PERIOD = 4e-3
RANGES = {
    "scara": {"lower": -2.0, "upper": 2.0, "speed": 2.0, "deceleration": 6.0},
    "ur5": {"lower": -2.0, "upper": 2.0, "speed": 1.5, "deceleration": 3.0},
    "panda": {"speed": 1.5, "deceleration": 3.0},
}
TOLERANCE = 2e-6  # rad, rad/s and m: the prediction of a tick misses terms of order T^4


def random_run(robot, seed, keep, own=None, gains=(8.0, 16.0)):
    """A robot that is asked to go beyond its joint ranges, as fast as its motors let it."""
    rng, model, own = np.random.default_rng(seed), Robot.load(robot), own or {}
    low = np.full(model.nq, own["lower"]) if "lower" in own else model.q_lower
    high = np.full(model.nq, own["upper"]) if "upper" in own else model.q_upper
    middle, half, side = 0.5 * (low + high), 0.5 * (high - low), rng.choice([-1.0, 1.0], model.nq)
    q = middle + half * side * rng.uniform(0.2, 0.9, model.nq)
    target = middle + 1.6 * half * side
    path = {"kind": "constant", "value": target.tolist()}
    limits = {"kind": "joint_limits", "name": "range", "decay": 0.05, **own}
    table = {
        "title": "beyond the range", "robot": robot,
        "servo": [{"kind": "joint_follows", "name": "joints", "joints": list(model.dofs),
                   "path": path}],
        "controller": {"kind": "servo",
                       "feedback": {"kind": "baumgarte", "alpha": gains[0], "beta": gains[1]}},
        "timing": {"duration": 1.2, "sample": PERIOD / 10, "control": PERIOD},
        "start": {"q": q.tolist(), "v": [0.0] * model.nv},
        "integrator": {"method": "RK4", "step": PERIOD / 10},
        "keep": [limits] if keep else [],
    }  # fmt: skip
    return simulate(Scenario.from_toml(tomli_w.dumps(table))), low, high


@pytest.mark.parametrize("robot", RANGES)
@pytest.mark.parametrize("seed", slow_but(range(2), range(34)))
def test_a_robot_that_is_asked_to_leave_its_range_stays_within_it(robot, seed):
    run, low, high = random_run(robot, seed, True, RANGES[robot])
    assert run.status == "completed", run.message
    assert run["keep"].min() > -TOLERANCE
    assert not run["keep_missed"].any()
    assert run.metric("time_at_limits.range") > 0.1
    free, _, _ = random_run(robot, seed, False, RANGES[robot])
    q = free["q"]
    assert max((low - q).max(), (q - high).max()) > 0.1  # without, the same run leaves it


OWN = {"ur5": {"lower": -3.1, "upper": 3.1}, "panda": {}}
STIFF = (40.0, 400.0)


@pytest.mark.parametrize("robot", OWN)
@pytest.mark.parametrize("seed", slow_but([1], range(1, 17)))
def test_the_robots_own_speeds_are_kept_with_stiff_gains_and_the_deceleration_of_its_motors(
    robot, seed
):
    run, _, _ = random_run(robot, seed, True, OWN[robot], STIFF)
    assert run.status == "completed", run.message
    assert run["keep"].min() > -TOLERANCE
    assert not run["keep_missed"].any()
    free, _, _ = random_run(robot, seed, False, OWN[robot], STIFF)
    assert (np.abs(free["v"]) - Robot.load(robot).velocity_limit).max() > 1.0  # rad/s


@pytest.mark.slow(only=["servo-damped"])
@pytest.mark.parametrize("law", ["servo-damped", "servo-baumgarte"])
def test_rows_that_nearly_depend_on_each_other_are_kept(law):
    """A stretched arm at its own speeds and at a distance: rounding alone tells which rows bind."""
    robot = Robot.load("panda")
    run = simulate(Scenario.from_toml(tomli_w.dumps({
        "title": "an arm drawn beyond its reach", "robot": "panda",
        "servo": [{"kind": "point_follows", "frame": "tool",
                   "path": {"kind": "constant", "value": [1.1, 0.0, 0.4]}}],
        "keep": [{"kind": "joint_limits", "margin": "2*deg"},
                 {"kind": "distance", "frames": ["tool", "world"], "at_most": 0.7}],
        "controller": {
            "use": law, "allocation": {"null_space": {"kind": "damping", "gain": 5.0}}},
        "timing": {"duration": 1.0, "control": 0.002, "sample": 0.002},
    })))  # fmt: skip
    assert run.status == "completed"
    assert run["keep_binding"].any(axis=1).mean() > 0.9
    assert not run["keep_missed"].any()
    assert run["keep"].min() > -1e-9
    assert (np.abs(run["v"]) < robot.velocity_limit).all()


def test_an_input_that_falls_short_is_told_whoever_found_it():
    at = np.array([1.0, 1.0 - 1e-12, 0.2])
    seen = InequalityValues(*([np.zeros((2, 3)), at] + [np.ones(3)] * 2 + [np.zeros((3, 3))] * 2))
    missed = np.zeros(3)
    raise_relaxation(seen, np.ones(3), np.ones(3), missed)
    np.testing.assert_allclose(missed, [0.0, 0.0, 0.8])


def test_accelerations_are_kept_between_the_ticks_too():
    limits = {"limits": ["accelerations"], "acceleration": 4.0}
    run, _, _ = random_run("panda", 3, True, limits)
    assert run["keep"].min() > -1e-3  # of 4 rad/s^2: within a tick the prediction bends
    assert np.abs(run["a"]).max() > 3.99
    free, _, _ = random_run("panda", 3, False)
    assert np.abs(free["a"]).max() > 8.0


@pytest.mark.parametrize("whose", ["robot", "keep", "keep alone"])
def test_motors_change_their_inputs_no_faster_than_they_can(whose):
    slow = {"rate_limit": 40.0} if whose == "robot" else {}
    motors = [{"kind": "joint", "joint": j, "name": j, "limit": 50.0, **slow} for j in ("x", "y")]
    rates = {"kind": "joint_limits", "limits": ["input_rates"], "input_rate": {"x": 40.0, "y": 50}}
    keep = {"robot": [WALL], "keep": [WALL, rates], "keep alone": [rates]}[whose]
    scenario = mass(keep, control=0.01, sample=0.01, duration=1.0)
    run = simulate(scenario.replace({"robot": {"use": "particle", "actuator": motors}}))
    assert run.status == "completed", run.message
    steps = np.abs(np.diff(run["u"], axis=0)).max(axis=0) / 0.01
    np.testing.assert_allclose(steps, [40.0, 40.0 if whose == "robot" else 50.0], rtol=1e-9)
    again = simulate(scenario.replace({"robot": {"use": "particle", "actuator": motors}}))
    np.testing.assert_array_equal(again["u"], run["u"])


def test_check_doubts_a_deceleration_that_the_motors_have_not():
    table = mass([{"kind": "joint_limits", "upper": {"x": 1.0}, "deceleration": 25.0}]).to_table()
    motors = [{"kind": "joint", "joint": j, "name": j, "limit": 20.0} for j in ("x", "y")]
    table["robot"] = {"use": "particle", "actuator": motors}
    found = check(Scenario.from_toml(tomli_w.dumps(table)))
    (text,) = [text for text in found.warnings if "cannot all brake" in text]
    assert "motor 'x' would need 1.2 times what it has" in text


@pytest.mark.slow
def test_a_handed_over_controller_keeps_the_same(tmp_path):
    scenario = mass([WALL], control=0.01, duration=1.0).replace({"timing.sample": 0.01})
    run = simulate(scenario)
    assert run["keep_binding"].any()
    told = export_controller(scenario, run, tmp_path)
    assert told.replay.identical, str(told.replay)
    assert replay(Runtime.load(tmp_path), tmp_path / "motion.csv").identical


def test_a_thing_to_keep_of_ones_own_that_keeps_nothing_is_told_so():
    class Idle(FormulaLimit):
        def keeps(self, task):
            return None

    scenario = mass([WALL])
    own = dc.replace(scenario, keep=(Idle(name="mine", h="1.0 - x"),))
    with pytest.raises(InputError, match=r"^keep\[0\]: keeps must return a Kept; got NoneType"):
        simulate(own)


def test_a_thing_to_keep_of_ones_own_needs_trust(tmp_path):
    (tmp_path / "mine.py").write_text(
        "from ukctrl.control.safety import FormulaLimit\n\n\nclass Mine(FormulaLimit):\n    pass\n"
    )
    table = mass([WALL]).to_table()
    table["keep"] = [{"kind": "./mine.py:Mine", "name": "mine", "h": "1.0 - x"}]
    (tmp_path / "own.toml").write_text(tomli_w.dumps(table))
    with pytest.raises(InputError, match="--trust"):
        Scenario.load(tmp_path / "own.toml")
    (own,) = Scenario.load(tmp_path / "own.toml", trust=True).keep
    assert isinstance(own, FormulaLimit)
