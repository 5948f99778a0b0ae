"""The parts of `check`: walks along a path, derivatives, clashes, shares of limits, its output."""

import json

import numpy as np
import pytest

from ukctrl import Robot, Scenario, check, check_figure
from ukctrl.analysis.check.input_feasibility import limit_usages
from ukctrl.analysis.check.motion_end import row_conflict
from ukctrl.analysis.check.motion_ranks import motion_ranks, realisation
from ukctrl.analysis.check.task_motion import task_motion
from ukctrl.cli import main
from ukctrl.control import Task
from ukctrl.control.feedforward.nominal_motion import invert_joint_motion
from ukctrl.core.errors import InputError
from ukctrl.mechanics.constraints import Expression, Stack
from ukctrl.mechanics.path_inverse_kinematics import follow_path, joint_rates, time_derivatives
from ukctrl.simulation.assemble import Loop

EXACT = {"rtol": 0.0, "atol": 1e-9}
SPLINE = {"rtol": 0.0, "atol": 1e-5}
"""A quintic spline through knots 2 ms apart, differentiated twice."""


def walked(name, times, **changes):
    loop = Loop(Scenario.load(name, changes))
    stack = Stack(loop.scenario.servo, loop.robot)
    path = follow_path(stack, loop.state.q, times)
    return loop, stack, path


def test_a_walk_has_the_velocities_and_accelerations_of_the_joint_motion():
    times = np.linspace(0.0, 1.0, 51)
    loop, stack, path = walked("scara-helix", times)
    v, _ = joint_rates(stack, path)
    task = Task(robot=loop.robot, servo=loop.scenario.servo, q=loop.state.q, v=loop.state.v,
                duration=1.0)  # fmt: skip
    other = invert_joint_motion(task, 0.002)
    np.testing.assert_allclose(path.q, other.q[::10], **EXACT)
    np.testing.assert_allclose(v, other.v[::10], **SPLINE)


def test_accelerations_on_a_rotation_are_those_of_its_velocities():
    """On a quaternion: the derivative of the body's angular velocity, by differences of v."""
    times = np.linspace(0.0, 1.0, 201)
    _, stack, path = walked("quadrotor-attitude", times)
    v, a = joint_rates(stack, path)
    once, _ = time_derivatives(times, v)
    np.testing.assert_allclose(a, once, rtol=0.0, atol=1e-6)


def test_seven_points_differentiate_polynomials_of_degree_six_exactly():
    t = np.linspace(0.0, 2.0, 11)
    first, second = time_derivatives(t, (t**6 - t**3)[:, None])
    np.testing.assert_allclose(first[:, 0], 6 * t**5 - 3 * t**2, rtol=0.0, atol=1e-8)
    np.testing.assert_allclose(second[:, 0], 30 * t**4 - 6 * t, rtol=0.0, atol=1e-7)


def test_rows_of_a_clash_are_those_with_a_part_in_the_contradiction():
    robot = Robot.load("scara")
    rows = [
        Expression(phi="q1 - 0.3", name="one"),
        Expression(phi="2*q1 - 0.8", name="other"),
        Expression(phi="q2 - 0.5", name="apart"),
    ]
    found = row_conflict(Stack(rows, robot), robot.neutral, 0.0)
    assert set(found.rows) == {"one", "other"}
    # Least squares of q1 = 0.3 and 2 q1 = 0.8: q1 = (0.3 + 1.6)/5 = 0.38.
    assert found.residual == pytest.approx(0.08)


@pytest.mark.parametrize(
    ("grip", "servo", "called"), [(2, 2, "orthogonal"), (1, 2, "mixed"), (0, 2, "tangential")]
)
def test_the_realisation_goes_by_the_ranks_of_grip_and_rows(grip, servo, called):
    assert realisation(grip, servo) == called


@pytest.mark.slow
def test_ranks_do_not_depend_on_the_units_of_rows():
    """A row in millimetres and one in degrees have the singular values of the same in SI units."""
    loop = Loop(Scenario.load("scara-helix", {"timing.duration": 1.0}))
    scaled = [
        Expression(phi="1000*(q4 - 0.02*t)", name="mm"),
        Expression(phi="180/pi*(q1 + q2 + q3)", name="deg"),
    ]
    plain = [Expression(phi="q4 - 0.02*t"), Expression(phi="q1 + q2 + q3", name="rad")]
    found = []
    for rows in (scaled, plain):
        changed = loop.scenario.replace({"servo": tuple(rows)})
        again = Loop(changed)
        found.append(motion_ranks(again, task_motion(again))[0])
    assert found[0].servo.worst == pytest.approx(found[1].servo.worst, rel=1e-9)
    assert found[0].grip.worst == pytest.approx(found[1].grip.worst, rel=1e-9)


def test_motors_that_reach_everything_have_the_grip_of_the_rows():
    loop = Loop(Scenario.load("scara-helix", {"timing.duration": 1.0}))
    ranks, curves = motion_ranks(loop, task_motion(loop))
    np.testing.assert_allclose(curves.grip, curves.servo, **EXACT)
    assert ranks.realisation == "orthogonal"


@pytest.mark.parametrize(
    ("low", "high", "centred", "value", "share"),
    [
        (-4.0, 4.0, False, 3.0, 0.75),
        (0.0, 12.0, False, 3.0, 0.25),  # a propeller
        (0.0, 12.0, False, -3.0, 1.25),  # beyond, by a quarter of the range
        (-2.0, -1.0, True, -1.25, 0.5),  # a knee, from the middle of its range
        (-np.inf, 2.0, True, 1.0, 0.5),
    ],
)
def test_the_share_of_a_limit_is_counted_from_where_it_tells(low, high, centred, value, share):
    t, x = np.array([0.0, 1.0]), np.array([[value], [value]])
    ones = np.ones((2, 1))
    use = limit_usages(["x"], ["m"], t, x, low * ones, high * ones, centred)[0]
    assert use.share == pytest.approx(share)
    assert (use.since is not None) == (not low <= value <= high)


def test_joint_limits_of_a_robots_file_replace_those_of_the_model():
    limits = [
        {"joint": "shoulder", "position": ["-90*deg", "10*deg"]},
        {"joint": "elbow", "velocity": 1.5},
    ]
    plain = Robot.load("two_link")
    robot = Robot.load("two_link", override={"limit": limits})
    np.testing.assert_allclose(robot.q_lower, [-np.pi / 2, plain.q_lower[1]])
    np.testing.assert_allclose(robot.q_upper, [np.pi / 18, plain.q_upper[1]])
    np.testing.assert_allclose(robot.velocity_limit, [plain.velocity_limit[0], 1.5])


def test_plants_of_formulas_have_joint_limits_too():
    limits = [{"joint": "theta1", "position": [0.0, 2.0], "velocity": 3.0}]
    robot = Robot.load("coordinated_arms", override={"limit": limits})
    assert (robot.q_lower[0], robot.q_upper[0], robot.velocity_limit[0]) == (0.0, 2.0, 3.0)
    assert np.isinf(robot.velocity_limit[1:]).all()


@pytest.mark.parametrize(
    ("robot", "limits", "complaint"),
    [
        ("scara", [{"joint": "q9", "velocity": 1.0}], "no joint named 'q9'"),
        ("scara", [{"joint": "q1"}], "needs a position or a velocity"),
        ("scara", [{"joint": "q1", "position": [1.0, 0.0]}], "a lower and a higher number"),
        ("scara", [{"joint": "q1", "velocity": 1.0}] * 2, "it comes twice"),
        ("cart_pole", [{"joint": "pole", "position": [0.0, 1.0]}], "turns without end"),
    ],
)
def test_joint_limits_that_make_no_sense_are_refused(robot, limits, complaint):
    with pytest.raises(InputError, match=complaint):
        Robot.load(robot, override={"limit": limits})


@pytest.mark.slow
def test_what_check_prints_fits_into_eighty_columns(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit) as left:
        main(["check", "scara-weak-motors"])
    out = capsys.readouterr().out
    assert left.value.code == 0
    assert max(map(len, out.splitlines())) <= 80
    assert out.startswith("scara-weak-motors: ready, with warnings\nwarning: motor 'u2' needs")


@pytest.mark.slow
def test_out_writes_the_figure_and_everything_as_json(tmp_path, capsys):
    with pytest.raises(SystemExit):
        main(["check", "stretched-arm", "--out", str(tmp_path), "--json"])
    printed = json.loads(capsys.readouterr().out)
    written = json.loads((tmp_path / "check.json").read_text())
    curves = written.pop("curves")
    assert written == printed
    assert printed["verdict"] == "warnings"
    assert printed["way"]["stop"]["why"] == "reach"
    assert len(curves["t"]) == len(curves["servo"]) == len(curves["needed"])
    assert (tmp_path / "check.png").read_bytes().startswith(b"\x89PNG")


def test_a_scenario_without_a_task_has_no_figure():
    with pytest.raises(InputError, match="must have a motion for a figure"):
        check_figure(check(Scenario.load("projectile")))


def test_a_small_peak_is_told_to_its_last_digit_and_when_it_is_first_as_large():
    times = np.array([0.0, 1.0, 2.0, 3.0])
    x = np.array([[1.000e-4, -1.004e-4, 1.004e-4, 0.5e-4]]).T
    limit = np.array([10.0])
    [use] = limit_usages(("j7",), ("N m",), times, x, -limit, limit)
    assert (use.value, use.t, use.share) == (1.004e-4, 0.0, pytest.approx(1.004e-5))


def test_what_is_rounding_all_the_time_is_what_it_is_at_first():
    x = np.array([[0.0, 2e-16, -3e-16]]).T
    [use] = limit_usages(
        ("j1",), ("N m",), np.arange(3.0), x, np.full(1, -np.inf), np.full(1, np.inf)
    )
    assert (use.value, use.t) == (0.0, 0.0)
