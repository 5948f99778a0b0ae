"""Orientation references: rotations with exact angular velocity and acceleration."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pinocchio as pin
import pytest
from differences import derivative
from pydantic import TypeAdapter, ValidationError
from seeds import seeded

from ukctrl.mechanics.reference import (
    AboutAxis,
    AnyOrientation,
    ConstantOrientation,
    OrientationWaypoints,
    RollPitchYaw,
)
from ukctrl.mechanics.reference.rotations import (
    from_axis_angle,
    from_quaternion,
    from_rpy,
    hat,
    to_axis_angle,
)

EXACT = {"rtol": 1e-12, "atol": 1e-12}
DIFFERENCES = {"rtol": 1e-7, "atol": 1e-7}  # five-point differences 1e-4 apart
TIMES = np.linspace(-0.4, 3.7, 23) + 0.00137

SPECS = {
    "constant": {"kind": "constant", "rpy": [0.1, "30*deg", -2]},
    "constant quaternion": {"kind": "constant", "quaternion": [0, 0.6, 0, 0.8]},
    "about_axis": {
        **{"kind": "about_axis", "axis": [1, 2, -1], "rpy": [0.1, 0.2, 0.3]},
        "angle": {"kind": "expression", "components": ["sin(2*t) + 0.3*t**2"]},
    },
    "rpy": {
        "kind": "rpy",
        "angles": {"kind": "expression", "components": ["0.3*sin(t)", "0.5*cos(2*t)", "t + t**2"]},
    },
    "rpy stacked": {
        "kind": "rpy",
        "angles": {
            "kind": "stacked",
            "parts": [
                {"kind": "min_jerk", "points": [0, 1], "duration": 2},
                {"kind": "constant", "value": 0.4},
                {"kind": "line", "start": 0, "velocity": "30*deg/s"},
            ],
        },
    },
    "between": {
        "kind": "between",
        "rpy": [[0, 0, 0], [1, 0.2, 0.3], ["30*deg", 0, 2]],
        "times": [0, 1, 3],
    },
    "between evenly": {
        "kind": "between",
        "rpy": [[0, 0, 0], [1, 0.2, 0.3]],
        "times": [-1, 4],
        "profile": "uniform",
    },
    "time_scaled": {
        "kind": "time_scaled",
        "orientation": {
            "kind": "rpy",
            "angles": {
                "kind": "expression",
                "components": ["0.3*sin(t)", "0.5*cos(2*t)", "t + t**2"],
            },
        },
        "clock": {"kind": "expression", "components": ["0.5*t + 0.1*sin(t)"]},
    },
    "between quaternions": {
        "kind": "between",
        "quaternions": [[0, 0, 0, 1], [0, 0, 0.6, 0.8], [0.6, 0, 0, -0.8]],
        "duration": 3,
    },
}


@pytest.fixture(params=SPECS.values(), ids=SPECS.keys())
def path(request):
    return TypeAdapter(AnyOrientation).validate_python(request.param)


rng = seeded(10)


def test_the_rotation_is_a_rotation(path):
    R = path.sample(TIMES).R
    np.testing.assert_allclose(R @ R.transpose(0, 2, 1), np.tile(np.eye(3), (23, 1, 1)), **EXACT)
    np.testing.assert_allclose(np.linalg.det(R), 1.0, **EXACT)


def test_velocity_and_acceleration_equal_finite_differences_in_world_axes(path):
    for t in TIMES:
        R, omega, omega_dot = path(t)
        R_dot = derivative(lambda s: path(s).R, t)
        np.testing.assert_allclose(hat(omega) @ R, R_dot, **DIFFERENCES)
        slope = derivative(lambda s: path(s).omega, t)
        np.testing.assert_allclose(omega_dot, slope, **DIFFERENCES)


def test_the_compiled_function_returns_fifteen_plain_floats(path):
    flat = path.compile()(0.7)
    assert len(flat) == 15
    assert all(type(value) is float for value in flat)


def test_an_orientation_survives_writing_and_pickling(path):
    path(0.3)
    kind = TypeAdapter(AnyOrientation)
    assert kind.validate_python(kind.dump_python(path)) == path
    assert pickle.loads(pickle.dumps(path)) == path


def test_rotations_agree_with_pinocchio(rng):
    rpy = rng.uniform(-1.5, 1.5, 3)
    np.testing.assert_allclose(from_rpy(rpy), pin.rpy.rpyToMatrix(rpy), **EXACT)
    quaternion = rng.standard_normal(4)
    quaternion /= np.linalg.norm(quaternion)
    expected = pin.Quaternion(quaternion).toRotationMatrix()
    np.testing.assert_allclose(from_quaternion(quaternion), expected, **EXACT)
    vector = rng.standard_normal(3)
    angle = float(np.linalg.norm(vector))
    np.testing.assert_allclose(from_axis_angle(vector / angle, angle), pin.exp3(vector), **EXACT)


@pytest.mark.parametrize("angle", [0.0, 1e-8, 1e-3, 1.0, 2.999, 3.001, 3.14159, math.pi])
def test_axis_and_angle_are_recovered(rng, angle):
    axis = rng.standard_normal(3)
    axis /= np.linalg.norm(axis)
    R = from_axis_angle(axis, angle)
    again, same = to_axis_angle(R)
    np.testing.assert_allclose(same, angle, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(from_axis_angle(again, same), R, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("axis", [(1, 0, 0), (0, 1, 0), (0, 0, 1), (0.6, 0.8, 0), (0, 0.6, 0.8)])
def test_the_axis_of_half_a_turn_is_the_one_with_a_positive_largest_component(axis):
    R = 2.0 * np.outer(axis, axis) - np.eye(3)  # symmetric to the last bit
    again, angle = to_axis_angle(R)
    np.testing.assert_allclose([*again, angle], [*axis, math.pi], **EXACT)
    still, none = to_axis_angle(np.eye(3))
    assert (still.tolist(), none) == ([0.0, 0.0, 1.0], 0.0)


@pytest.mark.parametrize("angle", [3.1, math.pi - 1e-7])
def test_the_axis_near_half_a_turn_keeps_its_sign(rng, angle):
    axis = rng.standard_normal(3)
    axis /= np.linalg.norm(axis)
    for sign in (1.0, -1.0):
        again, _ = to_axis_angle(from_axis_angle(sign * axis, angle))
        np.testing.assert_allclose(again, sign * axis, rtol=0.0, atol=1e-8)


def test_between_two_orientations_is_slerp():
    path = OrientationWaypoints(rpy=((0.2, 0.1, 0), (1.0, -0.5, 2.0)), duration=2.0)
    R0, R1 = from_rpy((0.2, 0.1, 0)), from_rpy((1.0, -0.5, 2.0))
    for t in (0.0, 0.3, 1.0, 2.0):
        s = t / 2.0
        share = 10 * s**3 - 15 * s**4 + 6 * s**5
        expected = R0 @ pin.exp3(share * pin.log3(R0.T @ R1))
        np.testing.assert_allclose(path(t).R, expected, **EXACT)


def test_between_passes_its_orientations_at_rest_and_holds_the_ends():
    rpy = ((0, 0, 0), (1, 0.2, 0.3), (0.5, 0, 2))
    path = OrientationWaypoints(rpy=rpy, times=(0, 1, 3))
    for t, angles in [(-1.0, rpy[0]), (0.0, rpy[0]), (1.0, rpy[1]), (3.0, rpy[2]), (9.0, rpy[2])]:
        R, omega, omega_dot = path(t)
        np.testing.assert_allclose(R, from_rpy(angles), **EXACT)
        np.testing.assert_allclose(omega, 0.0, **EXACT)
        np.testing.assert_allclose(omega_dot, 0.0, **EXACT)


def test_opposite_quaternions_are_one_orientation():
    one = OrientationWaypoints(quaternions=((0, 0, 0, 1), (0, 0, 0.6, 0.8)), duration=1.0)
    other = OrientationWaypoints(quaternions=((0, 0, 0, 1), (0, 0, -0.6, -0.8)), duration=1.0)
    np.testing.assert_allclose(one(0.4).R, other(0.4).R, **EXACT)


def test_a_turn_about_an_axis_starts_from_the_given_orientation():
    path = AboutAxis(
        axis="z", angle={"kind": "line", "start": 0, "velocity": 1.0}, rpy=(0.3, 0.0, 0.0)
    )
    np.testing.assert_allclose(path(0.0).R, from_rpy((0.3, 0.0, 0.0)), **EXACT)
    np.testing.assert_allclose(path(0.5).R, from_rpy((0.3, 0.0, 0.5)), **EXACT)
    np.testing.assert_allclose(path(0.5).omega, [0.0, 0.0, 1.0], **EXACT)


def test_yaw_alone_is_a_turn_about_the_vertical():
    yaw = {"kind": "expression", "components": [0, 0, "sin(t)"]}
    by_rpy = RollPitchYaw(angles=yaw)
    by_axis = AboutAxis(axis="z", angle={"kind": "expression", "components": ["sin(t)"]})
    for one, other in zip(by_rpy.sample(TIMES), by_axis.sample(TIMES), strict=True):
        np.testing.assert_allclose(one, other, **EXACT)


def test_a_constant_orientation_does_not_move():
    sample = ConstantOrientation(rpy=(0.1, 0.2, 0.3))(5.0)
    np.testing.assert_array_equal(sample.omega, 0.0)
    np.testing.assert_array_equal(sample.omega_dot, 0.0)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"kind": "constant"}, "must have either rpy or quaternion."),
        ({"kind": "constant", "quaternion": [0, 0, 0, 2]}, "must be a unit quaternion"),
        (
            {"kind": "about_axis", "axis": [0, 0, 0], "angle": {"kind": "constant", "value": 1}},
            "must be a direction",
        ),
        (
            {"kind": "about_axis", "axis": "z", "angle": {"kind": "constant", "value": [1, 2]}},
            "angle must have one component; got 2.",
        ),
        (
            {"kind": "rpy", "angles": {"kind": "constant", "value": 1}},
            "angles must have three components; got 1.",
        ),
        (
            {"kind": "between", "rpy": [[0, 0, 0], [0, 0, "pi"]], "duration": 1},
            "orientations 1 and 2 are half a turn apart, so the way round is not defined; put one "
            "in between.",
        ),
        (
            {"kind": "between", "rpy": [[0, 0, 0], [0, 0, 1]], "times": [1, 1]},
            "times must increase; got 1 after 1 at place 1.",
        ),
        ({"kind": "between", "duration": 1}, "must have either rpy or quaternions."),
    ],
)
def test_a_bad_orientation_is_refused(spec, message):
    with pytest.raises(ValidationError) as caught:
        TypeAdapter(AnyOrientation).validate_python(spec)
    assert message in caught.value.errors()[0]["msg"]
