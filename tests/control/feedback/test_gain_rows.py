"""Gains may be given for a block of rows, for a row, or for a joint by its name."""

import numpy as np
import pytest

from ukctrl import Robot, Scenario, simulate
from ukctrl.control.feedback.feedback import row_gains
from ukctrl.core.errors import GainError, UnknownName
from ukctrl.mechanics.constraints import Stack

SCARA = Scenario.load("scara-helix", {"timing.duration": 0.02, "timing.control": 1e-3})


@pytest.fixture
def stack():
    return Stack(SCARA.servo, Robot.load("scara"))


def test_a_joint_law_takes_gains_by_the_names_of_joints():
    listed, named = (
        simulate(SCARA.replace({"controller": {"use": "pd-gravity"}, "controller.kd": kd}))
        for kd in ([10.0, 8.0, 1.0, 20.0], {"q4": 20.0, "q3": 1.0, "q2": 8.0, "q1": 10.0})
    )
    assert named.status == "completed"
    np.testing.assert_array_equal(named["u"], listed["u"])


def test_a_row_is_named_by_what_it_is_of_its_block(stack):
    names = [row.rpartition(".")[2] for row in stack.names]
    gain = {name: float(k) for k, name in enumerate(names)}
    np.testing.assert_array_equal(row_gains(gain, stack, "beta"), [0.0, 1.0, 2.0, 3.0])


def test_a_row_that_does_not_exist_and_one_that_is_missing_are_told(stack):
    with pytest.raises(UnknownName, match=r"no servo row \(in gain 'beta'\) named 'w'"):
        row_gains({"x": 1.0, "y": 1.0, "w": 1.0}, stack, "beta")
    with pytest.raises(GainError, match="gain 'beta' must name every row; 'z' is missing"):
        row_gains({"x": 1.0, "y": 1.0}, stack, "beta")
