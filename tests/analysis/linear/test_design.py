"""Gains from settling time and damping, and the longest hold, beside simulations."""

import re

import numpy as np
import pytest

from ukctrl import Scenario, simulate
from ukctrl.analysis.linear import (
    designed,
    largest_period,
    linear_loop,
    margins_at,
    natural_frequency,
)
from ukctrl.analysis.linear.design import largest_confirmed
from ukctrl.control.error_dynamics_spec import ErrorSpec
from ukctrl.core.errors import InputError

BAUMGARTE = {"kind": "baumgarte", "alpha": 1.0, "beta": 1.0}
PID = {"kind": "pid", "kp": 3.0, "ki": 1.0, "kd": 3.0}


@pytest.mark.parametrize("damping", [0.4, 1.0, 2.0])
@pytest.mark.parametrize("feedback", [BAUMGARTE, PID], ids=["baumgarte", "pid"])
def test_a_row_that_is_let_go_settles_in_the_time_that_was_asked(plants, feedback, damping):
    task = plants.scenario(
        plants.mass(),
        controller={"kind": "servo", "feedback": feedback},
        start={"q": {"x": 1.0}},
        timing={"duration": 0.8, "sample": 1e-3},
    )
    gains = designed(task, ErrorSpec(settling=0.5, damping=damping)).gains
    np.testing.assert_allclose(
        simulate(task.replace(gains)).metric("settling_time"), 0.5, atol=5e-6
    )


def test_critical_damping_settles_after_5_834_times_its_time_constant():
    # (1 + x) exp(-x) = 0.02
    x = natural_frequency(1.0, 1.0)
    np.testing.assert_allclose((1.0 + x) * np.exp(-x), 0.02, rtol=1e-9)


@pytest.mark.slow
def test_laws_in_joint_space_get_the_same_error_dynamics():
    helix = Scenario.load("scara-helix", {"controller": {"use": "computed-torque"}})
    loop = linear_loop(helix.replace(designed(helix, ErrorSpec(settling=0.5)).gains))
    np.testing.assert_allclose(loop.poles(), -natural_frequency(0.5, 1.0), atol=0.05)  # eightfold


def test_a_joint_alone_gets_gains_times_its_inertia(plants):
    task = plants.scenario(
        plants.mass(3.0), controller={"kind": "pd_gravity", "kp": 1.0, "kd": 1.0}
    )
    found = linear_loop(
        task.replace(designed(task, ErrorSpec(settling=2.0, damping=0.7)).gains)
    ).poles()
    w = natural_frequency(2.0, 0.7)
    np.testing.assert_allclose(np.abs(found), w, rtol=1e-5)
    np.testing.assert_allclose(found.real, -0.7 * w, rtol=1e-5)


def test_a_regulator_s_slowest_pole_settles_in_time(plants):
    weights = {"Q": {"q": 1e4, "v": 100.0}, "q": (0.0, 0.0)}
    task = plants.scenario(plants.cart_pole(), controller={"kind": "lqr", **weights})
    found = linear_loop(task.replace(designed(task, ErrorSpec(settling=2.0)).gains)).poles()
    np.testing.assert_allclose(found.real.max(), np.log(0.02) / 2.0, rtol=1e-4)
    with pytest.raises(InputError) as refusal:
        designed(task, ErrorSpec(settling=0.1))
    told = re.fullmatch(
        "no gains of 'lqr' are found for settling in 0.1 s with damping 1: the decay of its "
        "slowest pole is (.+) 1/s at most, and 39.1 1/s is asked. Ask for less.",
        str(refusal.value),
    )
    # However cheap the force, poles go to zeros of the cost: s^2 (1 +- i/l) = g/l.
    zero = np.sqrt(plants.gravity / plants.length / (1.0 + 1.0j / plants.length)).real
    np.testing.assert_allclose(float(told[1]), zero, rtol=1e-2)


@pytest.mark.parametrize(
    ("values", "largest"),
    [
        ([1.0, 2.0, 2.5, 2.501, 2.78, 2.4, 1.6, 0.0, 0.0], 2.5),  # scatter beyond what levels off
        ([1.0, 2.0, 4.0], 4.0),
        ([0.0, 0.0], 0.0),
    ],
)
def test_a_largest_value_that_none_beside_it_confirms_is_luck(values, largest):
    assert largest_confirmed(values) == largest


def test_what_has_no_such_gains_is_told_what_has():
    exact = Scenario.load("scara-helix", {"controller": {"use": "servo-exact"}})
    with pytest.raises(InputError, match="must be one whose gains follow from settling in 0.5 s"):
        designed(exact, ErrorSpec(settling=0.5))
    with pytest.raises(InputError, match="settling time must be positive; got -1"):
        natural_frequency(-1.0, 1.0)
    with pytest.raises(InputError, match="damping ratio must be from"):
        natural_frequency(1.0, 0.0)


@pytest.mark.parametrize(("alpha", "beta"), [(5.0, 6.0), (1.0, 4.0)])
def test_the_longest_hold_of_a_double_integrator_is_jury_s(plants, alpha, beta):
    found = largest_period(plants.held_mass(alpha, beta))
    limit = min(2.0 / alpha, 2.0 * alpha / beta)
    np.testing.assert_allclose(found.period, limit, rtol=1e-5)


@pytest.mark.slow
def test_a_hold_below_the_limit_settles_and_one_above_it_swings_up(plants):
    regulator = {"kind": "servo", "feedback": {"kind": "pid", "kp": 6.0, "ki": 4.0, "kd": 4.0}}
    task = plants.scenario(
        plants.mass(),
        controller=regulator,
        start={"q": {"x": 1e-3}},
        timing={"duration": 40.0, "sample": 0.05, "control": 0.1},
        effect=[{"kind": "input_delay", "time": 0.07}],
    )
    limit = largest_period(task.replace({"start.q": {}})).period

    def swing(period):
        run = simulate(task.replace({"timing.control": period, "timing.sample": period}))
        size = np.abs(run["q"][:, 0])
        return size[-20:].max() / size[20:40].max()

    assert swing(0.97 * limit) < 0.5
    assert swing(1.03 * limit) > 2.0


def test_the_longest_hold_keeps_the_margin_and_a_longer_one_does_not(plants):
    task = plants.held_mass(5.0, 6.0)
    found = largest_period(task, disk=0.8)
    for period, kept in ((found.period, True), (1.001 * found.beyond, False)):
        assert (margins_at(linear_loop(task, period=period), 0).disk >= 0.8) == kept
    with pytest.raises(InputError, match="must keep a disk margin of 1.9 at short periods"):
        largest_period(task, disk=1.9)
    with pytest.raises(InputError, match="must be at least 0 and below 2; got 3"):
        largest_period(task, disk=3.0)
