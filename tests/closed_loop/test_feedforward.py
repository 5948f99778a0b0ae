"""Controllers of two degrees of freedom: the input of a motion, and what holds to it."""

from __future__ import annotations

import numpy as np
import pytest

from ukctrl import Scenario, simulate
from ukctrl.control import Baumgarte, Feedforward, JointMotion, Servo, Tvlqr
from ukctrl.core.errors import InputError

PLANNED = 1e-7
"""What cubic pieces over 10 ms leave of the planned motion [rad or m]."""


def helix(changes):
    return Scenario.load("scara-helix").replace({"timing.duration": 1.0, **changes})


@pytest.mark.slow(only=["None"])
@pytest.mark.parametrize(
    "along", [None, JointMotion(), Servo(feedback=Baumgarte(alpha=0.5, beta=200.0))]
)
def test_the_input_of_the_motion_alone_keeps_an_exact_model_on_it(along):
    result = simulate(helix({"controller": Feedforward(along=along), "start.planned": True}))
    assert result.status == "completed"
    np.testing.assert_allclose(result["q"], result["q_planned"], rtol=0.0, atol=PLANNED)
    np.testing.assert_allclose(result["v"], result["v_planned"], rtol=0.0, atol=10.0 * PLANNED)
    np.testing.assert_array_equal(result["u"], result["u_planned"])


@pytest.mark.slow
def test_a_start_on_the_motion_is_where_inverse_kinematics_puts_it():
    off = {"start.q": {"q1": 0.6, "q2": -1.0, "q3": 0.3, "q4": 0.1}}
    result = simulate(helix({"controller": Tvlqr(), "start.planned": True, **off}))
    assert result.metric("peak_phi") < PLANNED
    assert simulate(helix({"controller": Tvlqr(), **off})).metric("peak_phi") > 0.01


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"start.planned": True}, "start.planned: the controller must follow a motion.*'servo"),
        ({"start.planned": True, "start.solve": True}, "planned = true takes the state"),
        (
            {"controller": Tvlqr(along=JointMotion(), plan_step=0.02)},
            "controller.plan_step is for.*give the inversion its own",
        ),
        (
            {"controller": {"kind": "feedforward", "along": {"kind": "joint_motoin"}}},
            "did you mean 'joint_motion'",
        ),
    ],
)
def test_what_contradicts_itself_is_refused(changes, said):
    with pytest.raises(InputError, match=said):
        simulate(helix(changes))
