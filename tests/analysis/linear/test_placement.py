"""Pole placement from settling time and damping."""

import numpy as np
import pytest

from ukctrl import Robot, Scenario, simulate
from ukctrl.analysis.linear import designed, linear_loop, loop_performance
from ukctrl.control.error_dynamics_spec import SETTLING_BAND, ErrorSpec, natural_frequency
from ukctrl.control.regulators.pole_placement import design_poles
from ukctrl.core.errors import GainError, InputError
from ukctrl.robot import Lagrangian
from ukctrl.simulation.result.metrics.metric_table import SETTLED_FRACTION


def law(settling, damping, **more):
    return {"kind": "pole_placement", "settling": settling, "damping": damping, **more}


def test_settled_means_the_same_to_a_design_and_to_the_metric():
    assert SETTLING_BAND == SETTLED_FRACTION


@pytest.mark.parametrize("control", [{}, {"control": 0.01}], ids=["continuous", "held"])
def test_a_mass_gets_the_gains_of_its_characteristic_polynomial(plants, control):
    task = plants.scenario(
        plants.mass(2.0),
        controller=law(0.5, 0.6),
        start={"q": {"x": 1.0}},
        timing={"duration": 0.8, "sample": 0.01, **control},
    )
    w = natural_frequency(0.5, 0.6)
    wanted = w * (-0.6 + 0.8j * np.array([-1.0, 1.0]))
    np.testing.assert_allclose(np.sort_complex(linear_loop(task).rates()), wanted, rtol=1e-6)
    settled = simulate(task).metric("settling_time")
    np.testing.assert_allclose(settled, 0.5, atol=0.012)  # a sample of 10 ms


def test_a_cart_pole_gets_four_poles_each_pair_quicker_than_the_one_before(plants):
    task = plants.scenario(plants.cart_pole(), controller=law(2.0, 0.7, q=(0.0, 0.0)))
    found = np.sort(np.abs(linear_loop(task).poles()))
    w = natural_frequency(2.0, 0.7)
    np.testing.assert_allclose(found, [w, w, 1.5 * w, 1.5 * w], rtol=1e-6)


def test_as_many_pairs_as_motors_are_as_quick_as_the_first():
    np.testing.assert_allclose(np.abs(design_poles(8, 4, 0.5, 0.7)), natural_frequency(0.5, 0.7))


def test_gains_for_the_command_line_are_its_own_fields(plants):
    task = plants.scenario(plants.mass(), controller=law(1.0, 1.0))
    wanted = {"controller.settling": 0.5, "controller.damping": 0.7}
    assert designed(task, ErrorSpec(settling=0.5, damping=0.7)).gains == wanted


def test_what_no_motor_moves_cannot_be_placed(plants):
    robot = Robot.build(
        Lagrangian(
            coordinates={"x": "m", "y": "m"},
            kinetic="1/2*(v.x**2 + v.y**2)",
            potential="y**2/2",
            inputs={"F": {"x": 1.0}},
        )
    )
    task = plants.scenario(robot, controller=law(1.0, 1.0))
    with pytest.raises(GainError, match="inputs that move every mode.*'y'"):
        linear_loop(task)


def test_bad_wishes_are_refused(plants):
    with pytest.raises(InputError, match="damping ratio must be from"):
        linear_loop(plants.scenario(plants.mass(), controller=law(1.0, 50.0)))


def test_more_motors_than_freedoms_place_the_poles_of_these_alone():
    redundant = Scenario.load(
        "three-rrr-redundant", {"controller": {"use": "pole-placement"}, "timing.duration": 0.1}
    )
    found = loop_performance(
        redundant.replace(designed(redundant, ErrorSpec(bandwidth=30.0)).gains)
    )
    np.testing.assert_allclose(found.bandwidth, 30.0, rtol=0.02)
