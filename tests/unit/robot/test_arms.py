"""The industrial arms of the catalogue, against their makers' tables."""

import numpy as np
import pytest

from ukctrl.errors import InputError, UnknownName
from ukctrl.robot import Robot

EXACT = {"rtol": 0.0, "atol": 1e-12}  # seven rotations, metres
HALF = np.pi / 2
C45 = np.sqrt(0.5)


def about_x(angle, along=0.0):
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[1, 0, 0, along], [0, c, -s, 0], [0, s, c, 0], [0, 0, 0, 1.0]])


def about_z(angle, along=0.0):
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s, 0, 0], [s, c, 0, 0], [0, 0, 1, along], [0, 0, 0, 1.0]])


# Universal Robots, "DH parameters for calculations of kinematics and dynamics", UR5: a, d and alpha
# of Denavit and Hartenberg, mass, and centre of mass in the frame after the joint.
UR5 = (
    (0.0, 0.089159, HALF, 3.7, (0.0, -0.02561, 0.00193)),
    (-0.425, 0.0, 0.0, 8.393, (0.2125, 0.0, 0.11336)),
    (-0.39225, 0.0, 0.0, 2.33, (0.15, 0.0, 0.0265)),
    (0.0, 0.10915, HALF, 1.219, (0.0, -0.0018, 0.01634)),
    (0.0, 0.09465, -HALF, 1.219, (0.0, 0.0018, 0.01634)),
    (0.0, 0.0823, 0.0, 0.1879, (0.0, 0.0, -0.001159)),
)
# Franka Emika, interface documentation: a, d and alpha in Craig's form, before the joint.
PANDA = (
    (0.0, 0.333, 0.0),
    (0.0, 0.0, -HALF),
    (0.0, 0.316, HALF),
    (0.0825, 0.0, HALF),
    (-0.0825, 0.384, -HALF),
    (0.0, 0.0, HALF),
    (0.088, 0.0, HALF),
)


def ur5_frames(q):
    """Return the frames after each joint of the maker's table."""
    T, frames = np.eye(4), []
    for angle, (a, d, alpha, *_) in zip(q, UR5, strict=True):
        T = T @ about_z(angle, d) @ about_x(alpha, a)
        frames.append(T)
    return frames


def panda_flange(q):
    T = np.eye(4)
    for angle, (a, d, alpha) in zip(q, PANDA, strict=True):
        T = T @ about_x(alpha, a) @ about_z(angle, d)
    return T @ about_z(0.0, 0.107)


@pytest.fixture(params=range(5))
def rng(request):
    return np.random.default_rng(request.param)


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
        frames, masses, centres = ur5_frames(at), [r[3] for r in UR5], [r[4] for r in UR5]
        return 9.81 * sum(
            m * (T @ [*c, 1.0])[2] for m, T, c in zip(masses, frames, centres, strict=True)
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
    hand = panda_flange(q) @ about_z(-np.pi / 4, 0.1034)
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
    from ukctrl.prepare import start_state
    from ukctrl.scenario import StartState

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
