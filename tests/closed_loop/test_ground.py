"""Contacts, rolling wheels and gears in closed loop, beside closed forms."""

import dataclasses as dc

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from tests.shared import free_bodies
from tests.shared.free_bodies import completed, free, inertial
from ukctrl import Robot, Scenario, simulate
from ukctrl.control import Lqr, NoControl
from ukctrl.mechanics.consistent_state import consistent_state
from ukctrl.mechanics.constraints import PoseFollows
from ukctrl.mechanics.reference import Constant, ConstantOrientation
from ukctrl.robot import Options
from ukctrl.robot.schema.force_tables import GivenForce
from ukctrl.robot.schema.robot_file import ExtraFrame
from ukctrl.simulation.scenario import Stabilisation, StartState, Timing

G = 9.81
MASS, RADIUS = 3.0, 0.4
ACROSS, ALONG = 0.25 * MASS * RADIUS**2, 0.5 * MASS * RADIUS**2  # of a thin disc, axle along y
INTEGRATED = {"rtol": 0.0, "atol": 2e-8}  # rtol 1e-9 over some seconds

STABILISED = {"rtol": 0.0, "atol": 2e-6}  # the gains, 40 and 400, times that


DISC = (
    f'<robot name="disc"><link name="wheel">{inertial(MASS, ACROSS, ALONG, ACROSS)}</link></robot>'
)


def run_of(robot, q, v, duration=3.0):
    return completed(free_bodies.run_of(robot, q, v, duration))


def test_a_disc_rolls_down_a_slope_as_its_inertia_says():
    slope = np.radians(20.0)
    normal = np.array([np.sin(slope), 0.0, np.cos(slope)])
    rolling = {"kind": "rolling", "frame": "wheel", "radius": RADIUS}
    disc = free(DISC, {**rolling, "ground": {"normal": normal.tolist()}})
    run = run_of(disc, [*(RADIUS * normal), 0, 0, 0, 1], np.zeros(6))
    a = G * np.sin(slope) / (1.0 + ALONG / (MASS * RADIUS**2))
    down = np.array([np.cos(slope), 0.0, -np.sin(slope)])
    expected = RADIUS * normal + 0.5 * a * run.time[:, None] ** 2 * down
    np.testing.assert_allclose(run["q"][:, :3], expected, **INTEGRATED)
    names = run.labels.passive_rows
    assert names == ("wheel_rolling.along", "wheel_rolling.across", "wheel_rolling.height")
    # The ground pushes with m g cos along the normal, and up the slope with I a / r^2.
    reaction = np.abs(run["reaction"])
    np.testing.assert_allclose(reaction[:, 2], MASS * G * np.cos(slope), **STABILISED)
    np.testing.assert_allclose(reaction[:, 0], ALONG * a / RADIUS**2, **STABILISED)


@pytest.mark.parametrize(("lean", "turning"), [(60.0, 1.5), (40.0, -2.0)])
def test_a_leaning_disc_rolls_in_a_circle_at_the_spin_that_carries_it(lean, turning):
    """Steady rolling: Euler's equation about the centre, with the force at the contact.

    W (I1 W sin cos - I3 w3 sin) = r m (g cos + W r w3 sin), where the axle makes the angle theta
    with the vertical, W is the rate of turning and w3 the spin about the axle.
    """
    theta = np.radians(lean)
    s, c = np.sin(theta), np.cos(theta)
    spin = (ACROSS * turning**2 * s * c - RADIUS * MASS * G * c) / (
        turning * s * (ALONG + MASS * RADIUS**2)
    )
    axle = np.array([s, 0.0, c])
    up = (np.array([0.0, 0.0, 1.0]) - c * axle) / s
    frame = np.column_stack([np.cross(axle, up), axle, up])
    q = [0, 0, RADIUS * s, *Rotation.from_matrix(frame).as_quat()]
    v = [RADIUS * spin, 0, 0, 0, spin, turning * s]
    disc = free(DISC, {"kind": "rolling", "frame": "wheel", "radius": RADIUS})
    run = run_of(disc, q, v, duration=2.0)
    turn = Rotation.from_rotvec(turning * run.time[:, None] * [0.0, 0.0, 1.0])
    axles = Rotation.from_quat(run["q"][:, 3:]).apply([0.0, 1.0, 0.0])
    np.testing.assert_allclose(axles, turn.apply(axle), rtol=0.0, atol=1e-7)
    start = np.array(q[:3])
    centre = start + RADIUS * spin / turning * np.cross([0, 0, 1.0], frame[:, 0])
    np.testing.assert_allclose(
        run["q"][:, :3], centre + turn.apply(start - centre), rtol=0.0, atol=1e-7
    )
    assert run.metric("energy_drift") < 1e-7


@pytest.mark.parametrize("control", [None, 0.02], ids=["continuous", "held"])
def test_projection_holds_wheels_too_which_have_velocities_to_keep(control):
    disc = free(DISC, {"kind": "rolling", "frame": "wheel", "radius": RADIUS})
    base = Scenario(
        title="disc",
        robot=disc,
        servo=(),
        controller=NoControl(),
        start=StartState(q=(0, 0, RADIUS, 0, 0, 0, 1), v=(0.4, 0, 0, 0, 1.0, 0.3)),
        timing=Timing(duration=1.0, sample=0.01, control=control),
        stabilisation=Stabilisation(kind="projection"),
    )
    run = simulate(base)
    assert run.status == "completed", run.message
    assert np.nanmax(np.abs(run["passive_phi"])) < 1e-13  # a radius of some 0.1 m, rounded
    assert np.abs(run["passive_beta"]).max() < 1e-13
    assert run.metric("energy_drift") < 1e-7


HALF_TRACK, WHEEL = 0.3, 0.1
BASE_MASS, BASE_INERTIA, WHEEL_MASS, WHEEL_SPIN, WHEEL_YAW = 10.0, 0.5, 1.0, 0.02, 0.01


def drive():
    """A base on x, y and yaw, with two wheels."""
    limit = '<limit lower="-99" upper="99" effort="1e30" velocity="1e30"/>'
    joint = (
        '<joint name="{0}" type="{1}"><parent link="{2}"/><child link="{3}"/>'
        f'<origin xyz="{{5}}"/><axis xyz="{{4}}"/>{limit}</joint>'
    )
    wheel = inertial(WHEEL_MASS, WHEEL_YAW, WHEEL_SPIN, WHEEL_YAW)
    return (
        '<robot name="drive"><link name="ground"/><link name="sx"/><link name="sy"/>'
        f'<link name="base">{inertial(BASE_MASS, 1, 1, BASE_INERTIA)}</link>'
        f'<link name="lw">{wheel}</link><link name="rw">{wheel}</link>'
        + joint.format("x", "prismatic", "ground", "sx", "1 0 0", f"0 0 {WHEEL}")
        + joint.format("y", "prismatic", "sx", "sy", "0 1 0", "0 0 0")
        + joint.format("yaw", "revolute", "sy", "base", "0 0 1", "0 0 0")
        + joint.format("left", "revolute", "base", "lw", "0 1 0", f"0 {HALF_TRACK} 0")
        + joint.format("right", "revolute", "base", "rw", "0 1 0", f"0 -{HALF_TRACK} 0")
        + "</robot>"
    )


def test_a_differential_drive_moves_as_a_unicycle():
    torques = {"left": 0.3, "right": 0.5}
    robot = Robot.build(
        drive(),
        Options(
            actuator=[],
            force=[GivenForce(joint=name, force=repr(value)) for name, value in torques.items()],
        ),
    )
    assert robot.dofs == ("x", "y", "yaw", "left", "right")
    rolling = {"kind": "rolling", "radius": WHEEL, "height": False}
    robot = dc.replace(robot, passive=({**rolling, "frame": "lw"}, {**rolling, "frame": "rw"}))
    run = run_of(robot, np.zeros(5), np.zeros(5))
    passive = run.provenance["passive"]
    assert (passive["rows"], passive["rank"]) == (4, 3)  # both wheels hold the base sideways
    assert passive["sharing"] == ["lw_rolling.across", "rw_rolling.across"]
    total = BASE_MASS + 2 * WHEEL_MASS + 2 * WHEEL_SPIN / WHEEL**2
    yaw = BASE_INERTIA + 2 * (WHEEL_YAW + WHEEL_MASS * HALF_TRACK**2)
    yaw += 2 * WHEEL_SPIN * HALF_TRACK**2 / WHEEL**2
    a = sum(torques.values()) / WHEEL / total
    alpha = (torques["right"] - torques["left"]) * HALF_TRACK / WHEEL / yaw
    t = run.time
    angle = 0.5 * alpha * t**2
    np.testing.assert_allclose(run["q"][:, 2], angle, **INTEGRATED)
    np.testing.assert_allclose(run["v"][:, 0], a * t * np.cos(angle), **INTEGRATED)
    np.testing.assert_allclose(run["v"][:, 1], a * t * np.sin(angle), **INTEGRATED)
    # d(angle) = alpha t dt, so the path is a logarithmic spiral without integrals left.
    np.testing.assert_allclose(run["q"][:, 0], a / alpha * np.sin(angle), **INTEGRATED)
    np.testing.assert_allclose(run["q"][:, 1], a / alpha * (1 - np.cos(angle)), **INTEGRATED)


BOX = f'<robot name="box"><link name="box">{inertial(2.0, 0.1, 0.2, 0.3)}</link></robot>'


@pytest.mark.slow
def test_a_box_slides_down_a_slope_and_its_contact_rubs():
    slope = np.radians(30.0)
    turned = Rotation.from_euler("y", slope)
    normal = turned.apply([0.0, 0.0, 1.0])
    foot = ExtraFrame(name="foot", parent="box", position=(0.0, 0.0, -0.1))
    contact = {
        "kind": "contact",
        "frame": "foot",
        "type": "flat",
        "ground": {"normal": normal.tolist()},
        "friction": {"kind": "viscous", "coefficient": 1.5},
    }
    box = free(BOX, contact, frame=[foot])
    run = run_of(box, [*(0.1 * normal), *turned.as_quat()], np.zeros(6))
    decay = 1.5 / 2.0
    speed = G * np.sin(slope) / decay * (1.0 - np.exp(-decay * run.time))
    np.testing.assert_allclose(run["v"][:, 0], speed, **INTEGRATED)  # in the box's axes
    np.testing.assert_allclose(run["reaction"][:, 0], 2.0 * G * np.cos(slope), **INTEGRATED)
    assert run.metric("energy_drift") < 1e-5


def test_a_foot_that_sticks_carries_the_weight_at_rest():
    foot = ExtraFrame(name="foot", parent="box", position=(0.05, 0.0, -0.1))
    contact = {"kind": "contact", "frame": "foot", "type": "flat", "sticks": True, "name": "foot"}
    run = run_of(
        free(BOX, contact, frame=[foot]), [0, 0, 0.1, 0, 0, 0, 1], np.zeros(6), duration=0.5
    )
    np.testing.assert_allclose(run["v"], 0.0, **INTEGRATED)
    reaction = dict(zip(run.labels.passive_rows, run["reaction"][-1], strict=True))
    np.testing.assert_allclose(reaction["foot.height"], 2.0 * G, **INTEGRATED)
    # The weight stands 0.05 m behind the foot: the tilt rows hold that moment.
    np.testing.assert_allclose(abs(reaction["foot.tilt_x"]), 2.0 * G * 0.05, **INTEGRATED)
    np.testing.assert_allclose(reaction["foot.tilt_y"], 0.0, **INTEGRATED)


def test_geared_flywheels_turn_as_one():
    limit = '<limit lower="-1e30" upper="1e30" effort="1e30" velocity="1e30"/>'
    urdf = '<robot name="gears"><link name="base"/>'
    for name, inertia in (("one", 0.2), ("two", 0.7)):
        urdf += (
            f'<link name="{name}_wheel">{inertial(1.0, inertia, inertia, inertia)}</link>'
            f'<joint name="{name}" type="revolute"><parent link="base"/>'
            f'<child link="{name}_wheel"/><axis xyz="0 0 1"/>{limit}</joint>'
        )
    robot = Robot.build(
        f"{urdf}</robot>", Options(actuator=[], force=[GivenForce(joint="one", force="0.4")])
    )
    gear = {"kind": "gear", "joints": ["two", "one"], "ratio": -0.5, "offset": 0.3}
    run = run_of(dc.replace(robot, passive=(gear,)), [0.0, 0.3], [0.0, 0.0])
    a = 0.4 / (0.2 + 0.25 * 0.7)
    np.testing.assert_allclose(run["q"][:, 0], 0.5 * a * run.time**2, **INTEGRATED)
    np.testing.assert_allclose(run["q"][:, 1], 0.3 - 0.25 * a * run.time**2, **INTEGRATED)
    np.testing.assert_allclose(run["reaction"][:, 0], -0.5 * a * 0.7, **INTEGRATED)


def test_the_same_rows_are_followed_by_motors():
    """A contact and a gear as servo constraints: the arm's tool slides along a table."""
    base = Scenario.load("scara-helix", {"timing": {"duration": 1.0}})
    tasks = (
        {"kind": "contact", "frame": "tool", "ground": {"point": [0, 0, -0.3]}},
        {"kind": "gear", "joints": ["elbow", "shoulder"], "ratio": 2.0},
    )
    for task in tasks:
        run = simulate(
            base.replace(
                {
                    "robot": "two_link",
                    "servo": [task],
                    "start": {"q": {"shoulder": 0.6, "elbow": 0.9}, "solve": True},
                }
            )
        )
        assert run.status == "completed", run.message
        assert run.metric("peak_phi") < 1e-9


def test_a_wheel_starts_where_it_touches():
    from ukctrl.mechanics.constraints import Rolling, Stack

    disc = free(DISC)
    stack = Stack([Rolling(frame="wheel", radius=RADIUS)], disc)
    found = consistent_state(
        stack, np.array([0, 0, 0.7, 0, 0, 0, 1.0]), np.array([1.0, 0.2, 0, 0, 0, 0])
    )
    np.testing.assert_allclose(found.q[2], RADIUS, rtol=0.0, atol=1e-12)
    rolled = found.v[0] - RADIUS * found.v[4]
    np.testing.assert_allclose([rolled, found.v[1] + RADIUS * found.v[3]], 0.0, atol=1e-12)


def test_a_quadruped_pushed_off_its_stance_is_brought_back_by_lqr():
    """The trunk starts moved and turned while the feet stand where they do at home."""
    robot = Robot.load("a1")
    feet = [f"{leg}_foot" for leg in ("FL", "FR", "RL", "RR")]
    stance = robot.home.copy()
    stance[2] = robot.home[2] - robot.snapshot(robot.home).frame(feet[0]).position[2]
    ground = np.array([robot.snapshot(stance).frame(foot).position for foot in feet])
    off = np.array([0.01, -0.02, 0.01, 0.02, 0.03, -0.02, *np.zeros(12)])
    q = robot.integrate(stance, off)
    for _ in range(8):
        s = robot.snapshot(q)
        gap = np.array([s.frame(foot).position for foot in feet]) - ground
        legs = np.vstack([s.frame(foot).J[:3, 6:] for foot in feet])
        q = robot.integrate(q, np.append(np.zeros(6), -np.linalg.solve(legs, gap.ravel())))
    pose = PoseFollows(
        frame="trunk",
        path=Constant(value=tuple(stance[:3])),
        orientation=ConstantOrientation(rpy=(0.0, 0.0, 0.0)),
    )
    run = simulate(
        Scenario(
            title="back to its stance",
            robot=robot,
            servo=(pose,),
            controller=Lqr(q=tuple(stance), Q={"q": 100.0, "v": 1.0}),
            start=StartState(q=tuple(q)),
            timing=Timing(duration=4.0, sample=0.5),
        )
    )
    assert run.status == "completed", run.message
    away = [np.abs(robot.difference(stance, each)).max() for each in run["q"]]
    assert away[0] > 0.1
    assert away[-1] < 1e-6
