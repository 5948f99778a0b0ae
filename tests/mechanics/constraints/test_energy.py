"""Energy as a row: its own rate, with springs, and of some joints alone."""

import numpy as np
import pytest

from ukctrl import Robot
from ukctrl.analysis.conformance import CONSTRAINT, ConstraintCase
from ukctrl.core.errors import InputError
from ukctrl.mechanics.constraints import EnergyFollows, Stack
from ukctrl.mechanics.reference import Constant, Expression
from ukctrl.robot import Functions, Lagrangian

ROUNDING = {"rtol": 0.0, "atol": 1e-12}
ROBOTS = ("cart_pole", "acrobot", "furuta", "two_link", "flexible_joint_arm", "floating_arm", "ur5")


def rows_of(constraint, robot, q, v, t=0.0):
    return constraint.rows(robot.snapshot(q, v, t))


@pytest.mark.parametrize("clause", tuple(CONSTRAINT), ids=str)
@pytest.mark.parametrize("name", ROBOTS)
def test_the_row_is_the_rate_of_the_energy_of_any_robot(name, clause):
    path = Expression(components=("1.5 + 0.2*sin(3*t)",))
    clause(ConstraintCase(EnergyFollows(path=path), Robot.load(name)))


@pytest.mark.parametrize("clause", tuple(CONSTRAINT), ids=str)
@pytest.mark.parametrize(
    ("name", "joints"),
    [("cart_pole", ("pole",)), ("furuta", ("pendulum",)), ("furuta", ("arm",)),
     ("acrobot", ("shoulder",)), ("two_link", ("elbow",)), ("ur5", ("wrist_1", "elbow"))],
)  # fmt: skip
def test_the_row_of_some_joints_is_the_rate_of_their_energy(name, joints, clause):
    clause(
        ConstraintCase(EnergyFollows(joints=joints, path=Constant(value=(0.3,))), Robot.load(name))
    )


@pytest.mark.parametrize("joints", [(), ("pole",)])
def test_the_row_is_written_without_python_as_by_the_formulas_of_the_snapshot(joints):
    robot, rng = Robot.load("cart_pole"), np.random.default_rng(5)
    s = robot.snapshot(robot.random(rng), rng.standard_normal(2))
    stack = Stack((EnergyFollows(joints=joints, path=Constant(value=(0.7,))),), robot)
    assert stack.steps(s).python_owners == ()
    own = np.array([0.0, 1.0]) if joints else np.ones(2)
    w = own * s.v
    rows = stack.write(s)
    energy = 0.5 * w @ s.M @ w + s.potential_energy()
    np.testing.assert_allclose(rows.beta, [energy - 0.7], **ROUNDING)
    np.testing.assert_allclose(rows.A, [own * (s.M @ w)], **ROUNDING)


def test_the_power_of_the_motors_is_what_an_input_gives_to_the_row():
    robot, rng = Robot.load("acrobot"), np.random.default_rng(3)
    s = robot.snapshot(robot.random(rng), rng.standard_normal(2))
    A = EnergyFollows(at={"shoulder": np.pi}).rows(s).A
    np.testing.assert_allclose(A @ np.linalg.solve(s.M, s.B), [s.v @ s.B], **ROUNDING)


def test_the_pole_of_a_cart_has_the_textbook_energy_and_answers_the_cart_alone():
    robot = Robot.load("cart_pole")
    angle, v = 0.7, np.array([0.4, -1.3])
    s = robot.snapshot(robot.configuration({"cart": 0.1, "pole": angle}), v)
    A, b, beta, _ = EnergyFollows(joints=("pole",), at={"pole": np.pi}).rows(s)
    m, r, J, g = 0.23, 0.3302, 0.00788 + 0.23 * 0.3302**2, 9.81
    np.testing.assert_allclose(
        beta, [0.5 * J * v[1] ** 2 - m * g * r * (1.0 + np.cos(angle))], **ROUNDING
    )
    np.testing.assert_allclose(A, [[0.0, J * v[1]]], **ROUNDING)
    np.testing.assert_allclose(b, [-m * g * r * np.sin(angle) * v[1]], **ROUNDING)
    # J pole'' = -m g l sin(pole) - m l cos(pole) cart'', so that only cart'' changes it.
    a = s.M[1:] @ np.array([2.0, 0.0])
    np.testing.assert_allclose(a, m * r * np.cos(angle) * 2.0, **ROUNDING)


def test_the_level_is_the_energy_at_rest_in_the_configuration_given():
    robot = Robot.load("acrobot")
    q = robot.configuration({"shoulder": np.pi})
    rows = rows_of(EnergyFollows(at={"shoulder": np.pi}), robot, q, np.zeros(2))
    np.testing.assert_allclose(rows.beta, [0.0], **ROUNDING)
    hanging = rows_of(EnergyFollows(at={"shoulder": np.pi}), robot, robot.neutral, np.zeros(2))
    np.testing.assert_allclose(hanging.beta, [-2.0 * 9.81 * (0.5 + 1.0 + 1.0)], **ROUNDING)


def test_the_row_vanishes_at_rest():
    robot = Robot.load("furuta")
    stack = Stack((EnergyFollows(at={"pendulum": np.pi}),), robot)
    np.testing.assert_array_equal(stack.write(robot.snapshot(robot.neutral)).A, [[0.0, 0.0]])
    assert stack.units == ("J s",)


@pytest.mark.parametrize("given", [{}, {"at": {}, "path": Constant(value=(1.0,))}])
def test_one_level_is_given(given):
    with pytest.raises(InputError, match="give exactly one of at and path"):
        EnergyFollows(**given)


def test_a_joint_that_does_not_exist_is_named():
    with pytest.raises(InputError, match="did you mean 'pole'"):
        EnergyFollows(joints=("pol",), at={}).attach(Robot.load("cart_pole"))
    with pytest.raises(InputError, match="at: no coordinate named 'angle'"):
        EnergyFollows(at={"angle": 1.0}).attach(Robot.load("cart_pole"))


def test_a_robot_whose_formulas_contain_the_time_has_no_such_energy():
    robot = Robot.build(Lagrangian(coordinates=["x"], kinetic="v.x**2/2", potential="x*sin(t)"))
    with pytest.raises(InputError) as caught:
        EnergyFollows(at={}).attach(robot)
    assert str(caught.value) == (
        "robot 'lagrangian' must have an energy of its state alone; its formulas contain the time "
        "t."
    )


def test_a_robot_without_a_potential_has_no_such_energy():
    robot = Robot.build(Functions(coordinates=["x"], M=lambda q: [[1.0]], nle=lambda q, v: [0.0]))
    with pytest.raises(InputError) as caught:
        EnergyFollows(at={}).attach(robot)
    assert str(caught.value) == (
        "robot 'functions' must have an energy of its state alone; its potential energy is not "
        "known; give its plant a potential."
    )
