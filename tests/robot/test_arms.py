"""The industrial arms of the catalogue, against their makers' tables."""

import numpy as np
import pytest
from makers_tables import UR5, panda_flange, panda_tool, ur5_frames
from seeds import seeded

from ukctrl.core.errors import InputError, UnknownName
from ukctrl.robot import Robot

EXACT = {"rtol": 0.0, "atol": 1e-12}  # seven rotations, metres
C45 = np.sqrt(0.5)


rng = seeded(5)


def test_the_ur5_is_where_the_makers_table_has_it(rng):
    robot = Robot.load("ur5")
    q = robot.random(rng)
    tool = robot.snapshot(q).frame("tool")
    np.testing.assert_allclose(tool.rotation, ur5_frames(q)[-1][:3, :3], **EXACT)
    np.testing.assert_allclose(tool.position, ur5_frames(q)[-1][:3, 3], **EXACT)


def test_the_ur5_weighs_on_its_joints_as_the_makers_table_says(rng):
    robot = Robot.load("ur5")
    q = robot.random(rng)

    def potential(at):
        frames = ur5_frames(at)
        return 9.81 * sum(
            link.mass * (T @ [*link.centre, 1.0])[2] for link, T in zip(UR5, frames, strict=True)
        )

    h = 1e-5
    slope = [(potential(q + h * e) - potential(q - h * e)) / (2 * h) for e in np.eye(6)]
    np.testing.assert_allclose(robot.snapshot(q).gravity, slope, rtol=0.0, atol=1e-8)


def test_the_panda_is_where_the_makers_table_has_it(rng):
    robot = Robot.load("panda")
    q = robot.random(rng)
    flange = robot.snapshot(q).frame("flange")
    np.testing.assert_allclose(flange.rotation, panda_flange(q)[:3, :3], **EXACT)
    np.testing.assert_allclose(flange.position, panda_flange(q)[:3, 3], **EXACT)


def test_the_tool_of_the_panda_is_between_the_finger_tips(rng):
    robot = Robot.load("panda")
    q = robot.random(rng)
    hand = panda_tool(q)
    tool = robot.snapshot(q).frame("tool")
    np.testing.assert_allclose(tool.position, hand[:3, 3], **EXACT)
    np.testing.assert_allclose(tool.rotation, hand[:3, :3], **EXACT)


@pytest.mark.parametrize(
    ("name", "mass"),
    # The UR5's table, 18.4 kg with the base; what Gaz et al. identified, and the hand.
    [("ur5", 17.0489), ("panda", 16.062132 + 0.76)],
)
def test_the_masses_add_up(name, mass):
    robot = Robot.load(name)
    total = sum(body.mass for body in robot.structure.model.inertias)
    np.testing.assert_allclose(total, mass, rtol=1e-9)


@pytest.mark.parametrize("name", ["panda", "ur5"])
def test_every_body_of_the_arms_is_possible(name):
    robot = Robot.load(name)
    assert robot.audit == ()
    assert np.all(np.isfinite(robot.effort_limit))
    assert np.all(np.isfinite(robot.velocity_limit))


@pytest.mark.parametrize(
    ("name", "frame", "point"),
    # By hand: both forearms are level; the upper arm is upright, or leans back by 45 degrees.
    [
        ("ur5", "tool", (0.39225 + 0.09465, -0.10915, 0.089159 + 0.425 - 0.0823)),
        (
            "panda",
            "flange",
            (0.384 + 0.088 - 0.2335 * C45, 0.0, 0.333 + 0.3985 * C45 + 0.0825 - 0.107),
        ),
    ],
)
def test_at_home_the_tool_points_down(name, frame, point):
    robot = Robot.load(name)
    tool = robot.snapshot(robot.home).frame(frame)
    np.testing.assert_allclose(tool.rotation[:, 2], [0.0, 0.0, -1.0], **EXACT)
    np.testing.assert_allclose(tool.position, point, **EXACT)


def test_a_start_that_says_nothing_begins_at_home():
    from ukctrl.simulation.assemble.start_state import start_state
    from ukctrl.simulation.scenario import StartState

    robot = Robot.load("panda")
    q, v, _ = start_state(StartState(q={"joint1": "10*deg"}), robot, ())
    np.testing.assert_allclose(q[1:], robot.home[1:], **EXACT)
    assert q[0] == pytest.approx(np.deg2rad(10.0))
    assert not v.any()


@pytest.mark.parametrize(
    ("home", "error", "message"),
    [
        ({"joint9": 0.0}, UnknownName, "home: no coordinate named 'joint9'; did you mean"),
        ({"joint4": 0.5}, InputError, "home: joint4 must be within its limits, -3.072 to -0.0698"),
    ],
)
def test_a_home_that_the_robot_cannot_take_is_refused(home, error, message):
    with pytest.raises(error, match=message):
        Robot.load("panda", override={"home": home})
