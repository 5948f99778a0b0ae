"""Where a robot can rest, with its constraints met."""

import numpy as np
import pytest

from ukctrl import Dynamics, Robot, Scenario
from ukctrl.analysis.linear import equilibria, linear_plant
from ukctrl.core.errors import InputError
from ukctrl.robot import Lagrangian

MET = {"rtol": 0.0, "atol": 1e-9}


def test_a_pole_rests_upright_and_hanging_the_nearer_first(plants):
    up, down = equilibria(
        plants.scenario(plants.cart_pole(), start={"q": {"angle": 0.4}}), guesses=8
    )
    np.testing.assert_allclose(up.point.q, [0.0, 0.0], **MET)
    np.testing.assert_allclose(np.cos(down.point.q[1]), -1.0, **MET)
    np.testing.assert_allclose([up.point.u[0], down.point.u[0]], 0.0, **MET)
    assert (up.family, up.distance < down.distance) == (0, True)


def test_without_the_task_the_cart_may_rest_anywhere_along_its_rail(plants):
    up, down = equilibria(plants.scenario(plants.cart_pole()), on_task=False, guesses=8)
    for each in (up, down):
        np.testing.assert_allclose(np.abs(each.directions[:, 0]), [1.0, 0.0], **MET)


def test_what_is_held_stays_where_it_is(plants):
    (near,) = equilibria(
        plants.scenario(plants.cart_pole(), start={"q": {"x": 0.3, "angle": 0.2}}),
        on_task=False, hold=["x"], guesses=1,
    )  # fmt: skip
    np.testing.assert_allclose(near.point.q, [0.3, 0.0], **MET)
    with pytest.raises(InputError, match="must rest somewhere.*Release angle"):
        equilibria(
            plants.scenario(plants.cart_pole(), start={"q": {"angle": 0.4}}),
            hold=["angle"],
            guesses=4,
        )


def test_a_spring_and_its_weight_rest_where_they_balance():
    robot = Robot.build(
        Lagrangian(
            coordinates={"z": "m"},
            kinetic="m/2*v.z**2",
            potential="m*g*z + k/2*z**2",
            parameters={"m": 2.0, "g": 9.81, "k": 50.0},
            inputs={},
        )
    )
    (rest,) = equilibria(Scenario(title="Hangs", robot=robot, timing={"duration": 1.0}), guesses=5)
    np.testing.assert_allclose(rest.point.q, [-2.0 * 9.81 / 50.0], **MET)


@pytest.mark.parametrize(("soft", "family"), [(1e-3, 0), (0.0, 1)])
def test_a_soft_spring_leaves_one_place_to_rest_and_none_leaves_a_line_of_them(soft, family):
    robot = Robot.build(
        Lagrangian(
            coordinates={"x": "m", "y": "m"},
            kinetic="v.x**2/2 + v.y**2/2",
            potential="50*x**2 + c*y**2",
            parameters={"c": soft},
            inputs={},
        )
    )
    (rest,) = equilibria(Scenario(title="Soft", robot=robot, timing={"duration": 1.0}), guesses=1)
    assert rest.family == family


@pytest.mark.parametrize("name", ["coordinated-arms", "three-rrr", "a1-squat", "quadrotor-hover"])
def test_at_an_equilibrium_nothing_accelerates_and_every_row_is_met(name):
    task = Scenario.load(name)
    (found, *_) = equilibria(task, guesses=1)
    plant = linear_plant(task, found.point)
    dynamics = Dynamics(plant.linear.robot)
    q, still = found.point.q, np.zeros(plant.linear.robot.nv)
    dynamics.move(found.point.t, q, still)
    np.testing.assert_allclose(dynamics.acceleration(found.point.u), 0.0, atol=1e-7)
    np.testing.assert_allclose(np.nan_to_num(dynamics.passive.rows.phi), 0.0, **MET)
    for constraint in task.servo:
        phi = constraint.rows(dynamics.snapshot).phi
        np.testing.assert_allclose(np.nan_to_num(phi), 0.0, **MET)


def test_masses_whose_held_distance_loads_a_spring_rest_nowhere():
    with pytest.raises(InputError, match="no equilibrium is found; at the nearest"):
        equilibria(Scenario.load("two-mass-spring"), guesses=3)


def test_a_freedom_that_does_not_exist_is_refused(plants):
    with pytest.raises(InputError, match="angel"):
        equilibria(plants.scenario(plants.cart_pole()), hold=["angel"])


def test_the_hanging_pole_swings_as_a_pendulum_under_a_held_cart(plants):
    _, down = equilibria(plants.scenario(plants.cart_pole()), guesses=8)
    swing = np.sqrt(9.81 / plants.length)
    zeros = linear_plant(plants.scenario(plants.cart_pole()), down.point).zeros()
    np.testing.assert_allclose(np.sort(zeros.imag), [-swing, swing], atol=1e-8)
