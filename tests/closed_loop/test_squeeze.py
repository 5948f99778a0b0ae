"""Two arms squeeze a bar: the force that is held is the force that Newton and Euler find."""

import numpy as np
import pytest

from ukctrl import Scenario, simulate
from ukctrl_papers.servo.newton_euler import bar_forces

SQUEEZE = "coordinated-arms-squeeze"
HELD = {"rtol": 0.0, "atol": 1e-9}


@pytest.fixture(scope="module")
def squeezed():
    return simulate(Scenario.load(SQUEEZE))


@pytest.fixture(scope="module")
def relaxed():
    return simulate(Scenario.load(SQUEEZE, {"controller.allocation.null_space": None}))


def test_the_bar_is_squeezed_with_the_force_that_was_asked_for(squeezed):
    forces = bar_forces(squeezed)
    np.testing.assert_allclose(forces.left_force[:, 0], 20.0, **HELD)  # the bar is level
    np.testing.assert_allclose(forces.right_force[:, 0], -20.0, **HELD)
    np.testing.assert_allclose(squeezed["reaction"][:, 0], 20.0, **HELD)  # as it is recorded


def test_the_forces_of_both_arms_are_those_that_move_the_bar(squeezed, relaxed):
    for run in (squeezed, relaxed):
        np.testing.assert_allclose(bar_forces(run).residual, 0.0, **HELD)


def test_the_squeeze_does_not_disturb_the_task(squeezed, relaxed):
    assert squeezed.status == relaxed.status == "completed"
    np.testing.assert_allclose(squeezed["q"], relaxed["q"], **HELD)
    for run in (squeezed, relaxed):
        assert run.metric("peak_phi") < 1e-8
        assert run.metric("peak_passive_phi") < 1e-8
    assert np.abs(squeezed["u"] - relaxed["u"]).max() > 5.0


def test_a_squeeze_may_follow_a_path():
    path = {"kind": "expression", "components": ["20*sin(t)"]}
    changed = {"kind": "internal_force", "rows": ["grip.x"], "path": path}
    run = simulate(Scenario.load(SQUEEZE, {"controller.allocation.null_space": changed}))
    np.testing.assert_allclose(bar_forces(run).left_force[:, 0], 20.0 * np.sin(run["time"]), **HELD)
