"""A robot that is turned in space, gravity with it, is told and does the same.

The table of many directions: ``python tests/shared/turned_loops.py``.
"""

import functools

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from tests.shared.turned_loops import CASES, answers, differences

START = 1e-12  # rad, m: closures are met to 1e-12 of their terms
INPUTS, MOTION = 1e-8, 1e-10  # rounding of 1e-16 by gains of 1e3 and masses of 1e3 in condition
FAST = ("four_bar revolute", "four_bar point")


@functools.cache
def drawn(robot, law):
    """Return the answers of the robot as it was drawn, which must be good ones."""
    asked = answers(robot, law, Rotation.identity())
    assert asked.verdict[:3] == ("ready", 0, "completed")
    return asked


@pytest.mark.parametrize(
    ("robot", "law", "seed"),
    [
        pytest.param(
            robot,
            law,
            seed,
            marks=()
            if robot in FAST and law == laws[0] and seed < 2
            else pytest.mark.slow(only=[f"{robot}-{law}-{seed}"]),
        )
        for robot, (*_, laws) in CASES.items()
        for law in laws
        for seed in range(12)
    ],
)
def test_a_robot_that_is_turned_as_a_whole_is_the_same_robot(robot, law, seed):
    turned = answers(robot, law, Rotation.random(random_state=seed))
    same, start, u, q = differences(turned, drawn(robot, law))
    assert same, turned.verdict
    assert (start < START, u < INPUTS, q < MOTION) == (True, True, True), (start, u, q)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["point_follows", "pose_follows"])
def test_a_planar_arm_that_stands_upright_is_the_one_that_lies(kind):
    """Turned by 90 degrees, the row across its plane is cos(90 deg) = 6e-17 times another."""
    upright = Rotation.from_euler("x", 90.0, degrees=True)

    def rows(turn):
        points = turn.apply([[1.0, 0.6, 0.0], [1.05, 0.6, 0.0]]).round(12).tolist()
        path = {"kind": "line", "start": points[0], "end": points[1], "duration": 1.0}
        row = {"kind": kind, "frame": "hand_end", "path": path}
        if kind == "pose_follows":
            rpy = (turn * Rotation.from_euler("z", 1.2)).as_euler("xyz").tolist()
            row["orientation"] = {"kind": "constant", "rpy": rpy}
        return [row]

    lying, standing = (
        answers("arm", "servo-baumgarte", turn, rows(turn))
        for turn in (Rotation.identity(), upright)
    )
    assert lying.verdict[:3] == standing.verdict[:3] == ("ready", 0, "completed")
    np.testing.assert_allclose(standing.u, lying.u, rtol=0.0, atol=1e-9)
