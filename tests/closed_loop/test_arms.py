"""Industrial arms under servo control: turns of half a circle, singular positions, real limits."""

import numpy as np
import pytest

from ukctrl import Scenario, simulate

CONTROLLER = {
    "kind": "servo",
    "feedback": {"kind": "baumgarte", "alpha": 20.0, "beta": 100.0},
    "allocation": {
        "kind": "least_norm",
        "metric": "gauss",
        "null_space": {"kind": "damping", "gain": 1.0},
    },
}
REAL = (
    "ur5-pose",
    "panda-pose",
    "panda-priorities",
    pytest.param("two-arms-carry", marks=pytest.mark.slow),
    "mobile-manipulator",
    "scara-pick-and-place",
)


def turned(degrees):
    """A UR5 whose tool is to turn about x by an angle, from rest."""
    angle = {"kind": "constant", "value": np.deg2rad(degrees)}
    path = {"kind": "about_axis", "axis": "x", "angle": angle, "rpy": [np.pi, 0.0, -np.pi / 2]}
    return Scenario(
        title="turn the tool",
        robot="ur5",
        servo=[{"kind": "orientation_follows", "frame": "tool", "path": path}],
        controller=CONTROLLER,
        timing={"duration": 2.0, "sample": 0.02},
    )


@pytest.mark.slow(only=["90.0"])
@pytest.mark.parametrize("degrees", [90.0, 179.0, 179.99, 180.0])
def test_a_turn_of_half_a_circle_asks_for_no_more_than_one_of_a_quarter(degrees):
    # With twice the vector part of the quaternion as the error: 79 N m at 179 and 9e15 at 180.
    result = simulate(turned(degrees))
    assert result.status == "completed"
    assert result.metric("peak_u") < 25.0
    assert result.metric("final_phi") < 1e-6
    np.testing.assert_allclose(
        np.linalg.norm(result["phi"][0]), 4.0 * np.tan(np.deg2rad(degrees) / 4.0), rtol=1e-12
    )


def test_at_a_singular_position_the_motors_are_not_blamed():
    stretched = {
        "shoulder_lift": "-90*deg",
        "elbow": "-90*deg",
        "wrist_1": "-90*deg",
        "wrist_2": 0.0,
    }
    path = {"kind": "constant", "rpy": [np.pi, 0.2, 0.3]}
    scenario = Scenario(
        title="fourth and sixth axis are parallel",
        robot="ur5",
        start={"q": stretched},
        servo=[
            {
                "kind": "pose_follows",
                "frame": "tool",
                "path": {"kind": "constant", "value": [0.45, -0.1, 0.5]},
                "orientation": path,
            }
        ],
        controller=CONTROLLER,
        timing={"duration": 0.1},
    )
    result = simulate(scenario)
    assert result.status == "infeasible"
    assert "rank 5 of 6 rows). No motor is to blame" in result.message
    assert "singular position" in result.message


@pytest.mark.slow(but=["ur5-pose"])
@pytest.mark.parametrize("name", REAL)
def test_the_arms_do_their_work_within_the_limits_of_their_joints_and_motors(name):
    result = simulate(Scenario.load(name, {"timing.sample": 0.02}))
    assert result.status == "completed"
    assert result.provenance["beyond_limits"] == []
    assert np.all(np.abs(result["u"]) < np.array(result.labels.effort_limit))
