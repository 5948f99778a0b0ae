"""Start states as files give them: angles, units, degrees by mistake, motors behind springs."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ukctrl import Robot
from ukctrl.core.errors import InputError, StartError, UnknownName
from ukctrl.mechanics.constraints import Expression
from ukctrl.mechanics.dynamics import passive_constraints
from ukctrl.robot import Elastic, Lagrangian, Options
from ukctrl.simulation.assemble.start_state import angles_without_unit, start_state
from ukctrl.simulation.scenario import StartState

ARM = Robot.load("two_link")  # its ranges are 3.2 and 2.8 rad
FREE = Robot.load("floating_arm")  # a free base, two angles, one without end
WHEEL = next(name.removesuffix("_cos") for name in FREE.coordinates if name.endswith("_cos"))
CART = Robot.build(
    Lagrangian(coordinates={"x": "m", "a": "rad"}, kinetic="v.x**2 + v.a**2", potential="0*x",
               parameters={}),
    Options(),
)  # fmt: skip


def at(robot, *rows, seed=0, **given):
    return start_state(StartState(**given), robot, rows, seed)


@pytest.mark.parametrize(
    ("given", "q"),
    [
        ({}, [0.0, 0.0]),
        ({"q": {"elbow": "90*deg"}}, [0.0, 0.5 * math.pi]),
        ({"q": (0.1, "-30*deg")}, [0.1, -math.pi / 6.0]),
        ({"q": {"shoulder": 0.1, "elbow": 0.2}}, [0.1, 0.2]),
    ],
)
def test_a_state_is_given_by_name_or_in_order_with_units(given, q):
    found, v, moved = at(ARM, **given, v={"elbow": "60*deg/s"})
    home = ARM.neutral if ARM.home is None else ARM.home
    expected = np.where(np.array(q) == 0.0, home, q)
    np.testing.assert_allclose(found, expected, rtol=1e-15)
    np.testing.assert_allclose(v, [0.0, math.pi / 3.0], rtol=1e-15)
    assert moved == {}


def test_an_angle_without_end_is_given_as_one():
    q, _, _ = at(FREE, q={WHEEL: "120*deg"})
    places = [FREE.coordinates.index(f"{WHEEL}_{end}") for end in ("cos", "sin")]
    np.testing.assert_allclose(q[places], [-0.5, math.sqrt(0.75)], rtol=1e-12)


@pytest.mark.parametrize(
    ("robot", "given", "error", "message"),
    [
        (ARM, {"q": (0.1, 0.2, 0.3)}, InputError,
         "start.q must have 2 numbers, shoulder, elbow; got 3."),
        (ARM, {"v": (0.1,)}, InputError, "start.v must have 2 numbers, shoulder, elbow; got 1."),
        (ARM, {"q": {"elbo": 0.1}}, UnknownName,
         "no coordinate (in start.q) named 'elbo'; did you mean 'elbow'?"),
        (ARM, {"q": {"elbow": "10*mm"}}, InputError,
         "start.q.elbow: must be an angle [rad]; got a length [m] from '10*mm'."),
        (ARM, {"q": {"elbow": 90.0}}, InputError,
         'start.q.elbow: must be within -2.8 and 2.8 rad; got 90; for degrees write "90*deg".'),
        (ARM, {"q": (0.0, -170.0)}, InputError,
         "start.q.elbow: must be within -2.8 and 2.8 rad; got -170."),
        (ARM, {"springs": "loaded"}, InputError,
         "start.springs = 'loaded' needs elastic joints; robot 'two_link' has none."),
        (ARM, {"solve": True, "hold": ("elbo",)}, UnknownName, "did you mean 'elbow'?"),
    ],
)  # fmt: skip
def test_a_state_that_does_not_fit_is_refused(robot, given, error, message):
    with pytest.raises(error) as caught:
        at(robot, **given)
    assert message in str(caught.value)


def test_a_row_that_does_not_fit_has_its_number_in_the_file_and_not_behind_the_closures():
    robot = Robot.load("five_bar")
    rows = *passive_constraints(robot), Expression(name="a", phi="nothing")
    assert len(rows) > 1
    with pytest.raises(InputError, match=r"^servo\[0\]: "):
        at(robot, *rows, solve=True)


def test_a_rotation_of_another_length_is_refused():
    places = [f"{WHEEL}_cos", f"{WHEEL}_sin"]
    with pytest.raises(InputError) as caught:
        at(FREE, q=dict(zip(places, (0.6, 0.6), strict=True)))
    assert str(caught.value) == (f"start.q: {', '.join(places)} must have unit length; got 0.8485.")
    q, _, _ = at(FREE, q=dict(zip(places, (0.6, 0.8001), strict=True)))
    at_wheel = [FREE.coordinates.index(name) for name in places]
    np.testing.assert_allclose(np.linalg.norm(q[at_wheel]), 1.0, rtol=1e-14)


@pytest.mark.parametrize(
    ("robot", "q", "found"),
    [
        (ARM, {"elbow": 6.2, "shoulder": -6.3}, [("shoulder", -6.3)]),
        (ARM, {"elbow": "400*deg"}, []),
        (ARM, (7.0, 0.0), [("shoulder", 7.0)]),
        (FREE, {WHEEL: 90.0}, [(WHEEL, 90.0)]),
        (CART, {"x": 90.0, "a": 1.0}, []),
    ],
)
def test_angles_of_more_than_a_turn_without_a_unit(robot, q, found):
    assert list(angles_without_unit(StartState(q=q), robot)) == found


def test_a_spread_is_drawn_with_the_seed_within_its_size():
    base, _, _ = at(ARM, q=(0.1, 0.2))
    moved = np.array([at(ARM, q=(0.1, 0.2), spread=0.05, seed=k)[0] - base for k in range(50)])
    assert np.abs(moved).max() <= 0.05
    assert moved.max() > 0.04
    assert moved.min() < -0.04
    again = at(ARM, q=(0.1, 0.2), spread=0.05, seed=3)[0] - base
    np.testing.assert_array_equal(again, moved[3])


def test_a_start_is_moved_onto_rows_by_how_much_is_told():
    row = Expression(phi="x + a - 1")
    q, v, moved = at(CART, row, q=(0.2, 0.4), v=(1.0, 0.0), solve=True)
    np.testing.assert_allclose(q, [0.4, 0.6], rtol=1e-12)
    np.testing.assert_allclose(v, [0.5, -0.5], rtol=1e-12)
    assert moved == pytest.approx({"m": 0.2, "rad": 0.2, "m/s": 0.5, "rad/s": 0.5})
    q, v, _ = at(CART, row, q=(0.2, 0.4), v=(1.0, 0.0), solve=True, hold=("x",))
    np.testing.assert_allclose(q, [0.2, 0.8], rtol=1e-12)
    np.testing.assert_allclose(v, [1.0, -1.0], rtol=1e-12)
    q, _, moved = at(CART, row, q=(0.2, 0.4))
    np.testing.assert_array_equal(q, [0.2, 0.4])
    assert moved == {}


def test_rows_that_are_met_elsewhere_are_told_from_where():
    row = Expression(phi="1 + x**2*(x - 3)")  # from x = 0 on no step leads down to it
    with pytest.raises(StartError) as caught:
        at(CART, row, q=(0.0, 0.0), solve=True)
    text = str(caught.value)
    start = text.rsplit(" They are met from start.q = { ", 1)[1].removesuffix(" }.")
    values = dict(part.split(" = ") for part in start.split(", "))
    assert list(values) == ["x", "a"]
    q, _, _ = at(CART, row, q={k: float(x) for k, x in values.items()}, solve=True)
    assert abs(1.0 + q[0] ** 2 * (q[0] - 3.0)) < 1e-9
    never = Expression(phi="1 + x**2")
    with pytest.raises(StartError) as caught:
        at(CART, never, solve=True)
    assert "They are met from" not in str(caught.value)


# Motors behind springs

SOFT = Robot.build(
    Lagrangian(
        coordinates={"a": "rad", "b": "rad"}, kinetic="v.a**2 + v.b**2",
        potential="3*sin(a) - 2*b", parameters={}, inputs={"u": {"a": 1.0}, "w": {"b": 1.0}},
    ),
    Options(elastic=Elastic(stiffness=50.0, motor_inertia=0.1)),
)  # fmt: skip


def motors(**given):
    q, v, _ = at(SOFT, **given)
    joints = SOFT.elastic
    return q[joints.motor_coordinates], v[list(joints.motors)]


def test_motors_that_are_left_out_stand_at_their_joints_and_turn_with_them():
    q, v = motors(q={"a": 0.5, "b": -0.25}, v={"a": 2.0})
    np.testing.assert_allclose(q, [0.5, -0.25], rtol=1e-15)
    np.testing.assert_allclose(v, [2.0, 0.0], rtol=1e-15)


def test_loaded_springs_carry_the_robot_at_rest():
    q, _ = motors(q={"a": 0.5, "b": -0.25}, springs="loaded")
    wanted = [0.5 + 3.0 * math.cos(0.5) / 50.0, -0.25 - 2.0 / 50.0]
    np.testing.assert_allclose(q, wanted, rtol=1e-12)


def test_motors_that_are_given_stay_where_they_are():
    name = SOFT.dofs[SOFT.elastic.motors[0]]
    q, v = motors(q={"a": 0.5, name: 0.7}, v={"a": 2.0, name: 3.0})
    np.testing.assert_allclose(q, [0.7, 0.0], rtol=1e-15)
    np.testing.assert_allclose(v, [3.0, 0.0], rtol=1e-15)
