"""What motors can give: limits, a velocity-torque curve, a rate limit."""

import numpy as np
import pytest

from ukctrl.core.errors import InputError, ModelError, ShapeError
from ukctrl.robot import JointMotor, Options, Robot, TorqueBetween

EXACT = {"rtol": 0.0, "atol": 1e-12}
CURVE = {"corner_speed": 2.0, "no_load_speed": 6.0}


@pytest.fixture
def make(text):
    def build(*actuators):
        return Robot.build(text.tree, Options(actuator=actuators))

    return build


def bounds(robot, *rate):
    return tuple(side.tolist() for side in robot.input_bounds(rate))


def test_without_limits_everything_is_allowed(make):
    robot = make(TorqueBetween(name="m", frames=("world", "left_hand"), axis=(0, 0, 1)))
    assert bounds(robot, 3.0) == ([-np.inf], [np.inf])
    np.testing.assert_array_equal(robot.input_rate_limit, [np.inf])


def test_one_number_bounds_both_signs_at_any_speed(make):
    robot = make(JointMotor(joint="left_shoulder", limit=3.0, rate_limit="40*N*m/s"))
    assert bounds(robot, -50.0) == bounds(robot, 50.0) == ([-3.0], [3.0])
    np.testing.assert_array_equal(robot.input_rate_limit, [40.0])


def test_a_pair_bounds_each_sign_on_its_own(make):
    robot = make(JointMotor(joint="left_shoulder", limit=(0.0, 12.0)))
    assert bounds(robot, 0.0) == ([0.0], [12.0])
    np.testing.assert_array_equal(robot.effort_limit, [12.0])


@pytest.mark.parametrize(
    ("rate", "low", "high"),
    [
        (0.0, -8.0, 8.0),
        (2.0, -8.0, 8.0),
        (4.0, -8.0, 4.0),
        (6.0, -8.0, 0.0),
        (9.0, -8.0, 0.0),
        (-3.0, -6.0, 8.0),
        (-9.0, 0.0, 8.0),
    ],
)
def test_a_motor_that_drives_loses_torque_with_speed_and_one_that_brakes_does_not(
    make, rate, low, high
):
    robot = make(JointMotor(joint="left_shoulder", limit=8.0, **CURVE))
    np.testing.assert_allclose(bounds(robot, rate), ([low], [high]), **EXACT)


def test_without_a_corner_torque_falls_from_standstill(make):
    robot = make(JointMotor(joint="left_shoulder", limit=8.0, no_load_speed=4.0))
    np.testing.assert_allclose(bounds(robot, 1.0), ([-8.0], [6.0]), **EXACT)


def test_the_curve_starts_from_the_limit_of_the_model_file(make):
    robot = make(JointMotor(joint="left_shoulder", gear=-2.0, no_load_speed=4.0))
    np.testing.assert_allclose(bounds(robot, -2.0), ([-1.75], [3.5]), **EXACT)


def test_speed_is_the_rate_of_the_input(make, rng):
    robot = make(JointMotor(joint="left_shoulder", gear=50.0, limit=2.0, no_load_speed=300.0))
    v = np.zeros(robot.nv)
    v[robot.dofs.index("left_shoulder")] = 3.0
    s = robot.snapshot(robot.random(rng), v)
    np.testing.assert_allclose(robot.input_bounds(v @ s.B)[1], [1.0], **EXACT)


def test_the_motor_of_an_elastic_joint_keeps_its_limits():
    robot = Robot.load("two_link", override={"elastic": {"stiffness": 100.0, "motor_inertia": 0.1}})
    assert bounds(robot, 0.0, 0.0) == ([-40.0, -20.0], [40.0, 20.0])


@pytest.mark.parametrize(
    ("keys", "says"),
    [
        ({"limit": -3.0}, "limit: must be positive; got -3"),
        ({"limit": (3.0, -3.0)}, "limit: must be a lower and a higher number; got 3 and -3"),
        ({"limit": (1.0, 2.0, 3.0)}, "limit: must be one number or a lower and an upper one"),
        ({"rate_limit": 0.0}, "rate_limit: must be positive; got 0"),
        ({"corner_speed": 6.0, "no_load_speed": 2.0}, "corner_speed must be less than no_load"),
        ({"corner_speed": 6.0}, "corner_speed goes with no_load_speed"),
        ({"limit": (1.0, 2.0), "no_load_speed": 2.0}, "limit on both sides of zero"),
    ],
)
def test_limits_that_contradict_each_other_are_refused(keys, says):
    with pytest.raises(InputError, match=says):
        JointMotor(joint="left_shoulder", **keys)


def test_a_curve_without_a_torque_to_start_from_is_refused_by_name(make):
    motor = TorqueBetween(
        name="m", frames=("world", "left_hand"), axis=(0, 0, 1), no_load_speed=2.0
    )
    with pytest.raises(ModelError, match="input 'm' has a no_load_speed and needs a limit"):
        make(motor)


def test_rates_of_another_robot_are_refused(make):
    robot = make(JointMotor(joint="left_shoulder"))
    with pytest.raises(ShapeError, match=r"rate must have shape \(1,\); got \(2,\)"):
        robot.input_bounds([1.0, 2.0])
