"""What is kept: rows against differences, bounds under the hold, decelerations, refusals."""

import dataclasses as dc

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from ukctrl import Robot, Task
from ukctrl.control.safety import (
    BoxLimit,
    CollisionLimit,
    CylinderLimit,
    DistanceLimit,
    FormulaLimit,
    HalfSpaceLimit,
    JointLimits,
    ManipulabilityLimit,
    SphereLimit,
    SupportPolygonLimit,
    TiltLimit,
)
from ukctrl.control.safety.barriers import barrier_bound, hold_factor, recall_input
from ukctrl.control.safety.braking import (
    BrakingSamples,
    JointBounds,
    _sample_states,
    braking_samples,
    joint_decelerations,
)
from ukctrl.control.safety.safety_filter import SafetyFilter, derivative_unit
from ukctrl.core.errors import InputError, UnknownName
from ukctrl.mechanics.constraints import Stack
from ukctrl.mechanics.dynamics import Dynamics
from ukctrl.robot import Lagrangian, Options

UR5 = Robot.load("ur5")
ARM = Robot.load("two_link")
HERE = {"frame": "tool", "center": [0.3, 0.2, 0.4]}
ARMS = (
    {"frame": "upper_arm", "end": [0.0, 0.0, 0.4], "radius": 0.06},
    {"frame": "wrist_2", "start": [-0.3, 0.0, 0.1], "end": [0.2, 0.2, 0.1], "radius": 0.04},
)
POST = {"frame": "world", "start": [0.3, 0.4, -0.5], "end": [0.35, 0.3, 1.0], "radius": 0.05}
BALL = {"frame": "world", "start": [0.3, -0.4, 0.8], "radius": 0.05}
REGIONS = [
    HalfSpaceLimit(frame="tool", point=[0.1, 0.2, 0.3], normal=[1.0, -2.0, 0.5]),
    SphereLimit(radius=0.2, **HERE),
    SphereLimit(radius=0.9, stay="inside", **HERE),
    CylinderLimit(radius=0.1, axis=[1.0, 0.3, 0.2], **HERE),
    CylinderLimit(radius=0.9, axis=[1.0, 0.3, 0.2], stay="inside", **HERE),
    BoxLimit(size=[2.0, 1.5, 1.0], rpy=[0.3, -0.2, 0.9], **HERE),
    BoxLimit(size=[0.2, 0.1, 0.3], rpy=[0.3, -0.2, 0.9], stay="outside", **HERE),
    BoxLimit(size=[3.0, 2.5, 3.3], rpy=[0.3, -0.2, 0.9], stay="outside", **HERE),
    DistanceLimit(frames=("tool", "forearm"), at_least=0.1),
    DistanceLimit(frames=("tool", "world"), at_most=1.5),
    FormulaLimit(h=["1.5 - shoulder_pan*shoulder_lift", "t*sin(elbow) + 2"]),
    FormulaLimit(h="2.0 - v.shoulder_pan*cos(elbow) - t*v.elbow"),
    CollisionLimit(capsules=(ARMS[0], ARMS[1]), at_least=0.02),
    CollisionLimit(capsules=(ARMS[0], POST)),
    CollisionLimit(capsules=(ARMS[1], BALL)),
    CollisionLimit(capsules=(BALL, {"frame": "forearm", "radius": 0.1}), at_least=0.01),
    SupportPolygonLimit(polygon=[[0.3, 0.3], [-0.3, 0.3], [-0.3, -0.3], [0.3, -0.3], [0.0, 0.1]]),
    TiltLimit(frame="tool", axis=[1.0, 0.2, 0.3], at_most=2.0),
    ManipulabilityLimit(frame="tool", at_least=0.01),
    ManipulabilityLimit(frame="tool", axes=["rx", "ry", "rz"], at_least=0.01),
    ManipulabilityLimit(frame="tool", axes=["z", "x", "ry", "rx", "y", "rz"], at_least=0.01),
    ManipulabilityLimit(frame="wrist_1", axes=["x", "rz"], at_least=0.01),
    ManipulabilityLimit(frame="tool", measure="smallest", at_least=0.01),
    ManipulabilityLimit(frame="tool", axes=["rz", "rx"], measure="smallest", at_least=0.01),
    JointLimits(deceleration=5.0),
    JointLimits(limits=("accelerations",), acceleration={"elbow": 3.0}),
]


def task_of(robot, seed=0, **more):
    rng = np.random.default_rng(seed)
    q = robot.integrate(robot.neutral, 0.5 + rng.standard_normal(robot.nv))
    return Task(robot=robot, servo=(), q=q, v=rng.standard_normal(robot.nv), **more)


def keeper_of(keeps, task):
    return SafetyFilter(keeps, task, Stack(task.servo, task.robot))


def left(keeper, stack, snapshot, t, q, v):
    snapshot.move(q, v, t)
    h, _ = keeper.margins_at(stack.write(snapshot))
    return h


@pytest.mark.slow(only=["0-sphere0", "0-box1", "0-manipulability0"])
@pytest.mark.parametrize("keep", REGIONS, ids=lambda keep: f"{keep.kind}")
@pytest.mark.parametrize("seed", range(3))
def test_rows_are_the_derivatives_of_what_is_kept(keep, seed):
    task = task_of(UR5, seed)
    keeper = keeper_of([keep], task)
    stack, s = keeper.stack_on(UR5), UR5.snapshot(task.q, task.v, 0.3)
    a = np.random.default_rng(seed + 10).standard_normal(UR5.nv)
    e = 1e-5

    def at(step):
        q = UR5.integrate(task.q, step * task.v + 0.5 * step * step * a)
        return left(keeper, stack, s, 0.3 + step, q, task.v + step * a)

    before, now, later = at(-e), at(0.0), at(e)
    row, sign, _, _, degree, *_ = keeper.barriers
    rows = stack.write(s)
    top = sign * (rows.A[row] @ a - rows.b[row])
    first, second = (later - before) / (2.0 * e), (later - 2.0 * now + before) / e**2
    # Differences: steps of 1e-5 leave 1e-16 / 1e-10 of rounding in second ones.
    s.move(task.q, task.v, 0.3)
    rows = stack.write(s)
    top, rate = sign * (rows.A[row] @ a - rows.b[row]), sign * rows.beta[row]
    slope = np.where(degree == 2, rate, top)
    np.testing.assert_allclose(slope[degree > 0], first[degree > 0], rtol=1e-6, atol=1e-6)
    shift = keeper.barriers.offset[degree == 0]
    h, _ = keeper.margins_at(rows, a)
    np.testing.assert_allclose(h[degree == 0] - shift, top[degree == 0], atol=1e-12)
    np.testing.assert_allclose(top[degree == 2], second[degree == 2], rtol=1e-4, atol=1e-3)


def distances(keep, p):
    """Return how far a place is from the border of a region, by vectors alone."""
    if keep.kind == "half_space":
        normal = np.array(keep.normal)
        return [(p - keep.point) @ normal / np.linalg.norm(normal)]
    at, r = p - np.array(keep.center), getattr(keep, "radius", 0.0)
    if keep.kind == "cylinder":
        at = np.cross(at, np.array(keep.axis) / np.linalg.norm(keep.axis))
    if keep.kind != "box":  # inside it is smooth in the middle, too
        return [np.linalg.norm(at) - r if keep.stay == "outside" else (r * r - at @ at) / (2.0 * r)]
    roll, pitch, yaw = keep.rpy
    turn = Rotation.from_euler("ZYX", [yaw, pitch, roll])
    x, half = turn.inv().apply(at), 0.5 * np.array(keep.size)
    if keep.stay == "inside":
        return np.column_stack([half + x, half - x]).ravel()
    beyond = np.abs(x) - half
    return [np.linalg.norm(np.maximum(beyond, 0.0)) + min(beyond.max(), 0.0)]


@pytest.mark.parametrize("keep", REGIONS[:8], ids=lambda keep: f"{keep.kind}")
def test_what_is_left_of_a_region_is_the_distance_from_its_border(keep):
    for seed in range(5):
        task = task_of(UR5, seed)
        keeper, s = keeper_of([keep], task), UR5.snapshot(task.q, task.v)
        h = left(keeper, keeper.stack_on(UR5), s, 0.0, task.q, task.v)
        np.testing.assert_allclose(h, distances(keep, s.frame("tool").position), atol=1e-12)


def bound(degree, h, rate, pole, brake, period):
    return barrier_bound(degree, h, rate, pole, brake, period, hold_factor(pole * period))


HOLDS = [(pole, period) for pole in (2.0, 20.0, 100.0) for period in (1e-3, 1e-2)]


@pytest.mark.parametrize(("pole", "period"), HOLDS)
def test_a_barrier_under_the_hold_is_never_crossed_between_ticks(pole, period):
    rng = np.random.default_rng(0)
    worst = np.inf
    for _ in range(200):
        h = rng.uniform(0.0, 1.0)
        rate = rng.uniform(-pole * h, 1.0)
        for _ in range(50):
            w = bound(2, h, rate, pole, 0.0, period) + rng.choice([0.0, 0.0, 10.0])
            x = np.linspace(0.0, period, 11)
            way = h + rate * x + 0.5 * w * x * x
            worst = min(worst, float(way.min()))
            h, rate = float(way[-1]), rate + period * w
            assert rate + pole * h >= -1e-12
    assert worst >= -1e-14


@pytest.mark.parametrize(("brake", "period"), [(1.0, 1e-3), (8.0, 1e-2), (50.0, 2e-2)])
def test_a_joint_always_stops_before_its_end_and_never_brakes_harder_than_it_can(brake, period):
    rng = np.random.default_rng(1)
    for _ in range(200):
        h = rng.uniform(0.0, 1.0)
        fastest = np.sqrt(2.0 * brake * h + (0.1 * brake) ** 2) - 0.1 * brake
        rate = -fastest * rng.uniform(-1.0, 1.0)
        for _ in range(50):
            w = bound(2, h, rate, 10.0, brake, period)
            assert w <= brake * (1.0 + 1e-9)
            w += rng.choice([0.0, 0.0, 30.0])
            x = np.linspace(0.0, period, 11)
            way = h + rate * x + 0.5 * w * x * x
            assert way.min() >= -1e-12
            h, rate = float(way[-1]), rate + period * w


def test_a_joint_comes_to_rest_at_its_end_without_chatter():
    h, rate, period, asked = 1.0, 0.0, 4e-3, -50.0
    given = []
    for _ in range(1000):
        w = max(asked, bound(2, h, rate, 10.0, 3.0, period))
        given.append(w)
        h, rate = h + period * rate + 0.5 * period**2 * w, rate + period * w
    assert 0.0 <= h < 1e-6
    assert np.abs(np.diff(given[-500:])).max() < 1e-3


def test_without_a_hold_bounds_are_the_limits_of_those_under_it():
    rng = np.random.default_rng(2)
    for _ in range(100):
        h, rate, pole = rng.uniform(0.0, 1.0), rng.uniform(-1.0, 1.0), rng.uniform(1.0, 50.0)
        for degree in (1, 2):
            short = bound(degree, h, rate, pole, 0.0, 1e-7)
            np.testing.assert_allclose(bound(degree, h, rate, pole, 0.0, 0.0), short, rtol=1e-4)


@pytest.mark.parametrize(
    ("keep", "message"),
    [
        ({"kind": JointLimits, "joints": ["sholder"]}, "did you mean 'shoulder'"),
        ({"kind": JointLimits, "upper": {"sholder": 1.0}}, "did you mean 'shoulder'"),
        ({"kind": JointLimits, "lower": 1.0, "upper": 1.05, "margin": 0.1}, "two margins"),
        ({"kind": HalfSpaceLimit, "frame": "tol", "point": [0.0] * 3, "normal": [1.0, 0.0, 0.0]},
         "did you mean"),
        ({"kind": DistanceLimit, "frames": ("tool", "tool"), "at_least": 0.1}, "two frames"),
        ({"kind": FormulaLimit, "h": "1 - sholder"}, "did you mean 'shoulder'"),
        ({"kind": FormulaLimit, "h": "1 - shoulder", "decay": 1e-3}, "at least the control"),
        ({"kind": JointLimits, "limits": ("input_rates",)}, "input_rate must be given"),
        ({"kind": JointLimits, "limits": ("input_rates",), "input_rate": {"sholder": 1.0}},
         "did you mean 'shoulder'"),
    ],
)  # fmt: skip
def test_what_does_not_fit_the_robot_is_refused_by_name(keep, message):
    fields = {key: value for key, value in keep.items() if key != "kind"}
    with pytest.raises(InputError, match=message) as caught:
        keeper_of([keep["kind"](**fields)], task_of(ARM, period=1e-2))
    assert str(caught.value).startswith("keep[0]")


def braking(needs, room, alone=(True, True)):
    needs, room = np.array(needs, dtype=np.float64), np.array(room, dtype=np.float64)
    return BrakingSamples(("a", "b"), needs, room, np.array(alone))


@pytest.mark.parametrize(
    ("needs", "room", "given", "expected"),
    [
        # Each motor moves one joint: both brake as hard as they can alone.
        ([[[2.0, 0.0], [0.0, 4.0]]], [[1.0, 1.0]], {}, (0.5, 0.25)),
        # One motor brakes both: alone a has 1 and b has 0.5; together half of that.
        ([[[1.0, 2.0]]], [[1.0]], {}, (0.5, 0.25)),
        ([[[1.0, 2.0]]], [[1.0]], {"b": 0.25}, (0.5, None)),
        ([[[1.0, 2.0]]], [[1.0]], {"a": 0.75}, (None, 0.125)),
        # What is left is no more than what it has alone.
        ([[[1.0, 0.0], [0.0, 1.0]]], [[1.0, 1.0]], {"b": 0.1}, (1.0, None)),
        # The least of several states; one beside the start without room does not count.
        # Alone both have 0.5; together 4 d + 2 d <= 2 binds as 1 d + 2 d <= 1 does.
        ([[[1.0, 2.0]], [[4.0, 2.0]]], [[1.0], [2.0]], {}, (1.0 / 3.0, 1.0 / 3.0)),
        ([[[1.0, 2.0]], [[4.0, 2.0]]], [[1.0], [-2.0]], {}, (0.5, 0.25)),
        ([[[1.0, 2.0]], [[4.0, 2.0]]], [[1.0], [0.0]], {}, (0.5, 0.25)),
    ],
)
def test_decelerations_are_in_the_proportion_of_what_joints_have_alone(
    needs, room, given, expected
):
    asked = {joint: 0.9 * d for joint, d in zip("ab", expected, strict=True) if d is not None}
    assert joint_decelerations(braking(needs, room), given) == pytest.approx(asked, rel=1e-12)


GIVE = "Write deceleration = { b = ... }."


@pytest.mark.parametrize(
    ("found", "why"),
    [
        (braking([[[1.0, 1.0]]], [[1.0]], (True, False)), "no motors move it alone"),
        (braking([[[1.0, 0.0]]], [[1.0]]), "they have no limits"),
        (braking([[[0.0, 1.0]]], [[np.inf]]), "they have no limits"),
        (
            braking([[[0.0, 1.0]]], [[0.0]]),
            "they only just carry the load, or not even that",
        ),
        (
            braking([[[0.0, 1.0]]], [[-1.0]]),
            "they only just carry the load, or not even that",
        ),
    ],
)
def test_a_deceleration_that_does_not_follow_from_the_motors_is_asked_for(found, why):
    with pytest.raises(InputError) as caught:
        joint_decelerations(found, {"a": 0.5})
    assert str(caught.value) == (
        "deceleration of joint 'b' must be given, for it does not follow from the motors: "
        f"{why}. {GIVE}"
    )


def test_decelerations_that_take_all_of_a_motor_leave_the_others_none():
    for own in (1.0, 2.0):
        with pytest.raises(InputError) as caught:
            joint_decelerations(braking([[[1.0, 2.0]]], [[1.0]]), {"a": own})
        assert str(caught.value) == (
            "deceleration must leave the other joints some; those given take all that the motors "
            "have at some state within the ranges. Give less, or give all of them."
        )


def test_the_share_of_its_room_that_a_motor_needs_to_brake():
    found = braking([[[1.0, 2.0], [0.0, 0.0]], [[1.0, 2.0], [0.0, 1.0]]], [[4.0, 0.0], [0.0, -1.0]])
    shares = found.margin_usage(np.array([2.0, 0.5]))
    np.testing.assert_array_equal(shares, [[0.75, 0.0], [np.inf, np.inf]])
    np.testing.assert_array_equal(found.margin_usage(np.zeros(2)), [[0.0, 0.0], [0.0, np.inf]])


@pytest.mark.parametrize(
    ("keep", "period", "message"),
    [
        ({"limits": ("speeds",), "joints": ("q1",)}, None,
         "joints must have a limit of their speeds; those of robot 'scara' have none. Give lower, "
         "upper or speed."),
        ({}, None,
         "joints must have a limit of their positions or speeds; those of robot 'scara' have none. "
         "Give lower, upper or speed."),
        ({"limits": ("input_rates",)}, 1e-2,
         "input_rate must be given, for no motor of robot 'scara' has a rate limit."),
        ({"limits": ("input_rates",), "input_rate": 1.0}, None,
         "limits can name 'input_rates' only where an input holds from one tick to the next; give "
         "timing.control."),
        ({"lower": {"q1": -0.1}, "upper": {"q1": 0.1}, "margin": 0.1, "deceleration": 1.0}, None,
         "the range of joint 'q1' must be more than two margins; got -0.1 to 0.1 with a margin of "
         "0.1."),
    ],
)  # fmt: skip
def test_limits_that_joints_and_motors_do_not_have_are_refused(keep, period, message):
    robot = Robot.load("scara")
    with pytest.raises(InputError) as caught:
        JointLimits(**keep).keeps(task_of(robot, period=period))
    assert str(caught.value) == message


def test_limits_of_joints_are_quantities_of_their_rows():
    keep = JointLimits(
        limits=("positions", "speeds", "accelerations"), joints=("elbow",), lower={"elbow": -1.0},
        upper=2.0, speed=3.0, deceleration=5.0, acceleration={"elbow": 4.0}, margin=0.25,
    )  # fmt: skip
    kept = keep.keeps(task_of(ARM))
    assert (kept.block, kept.input_rates, kept.constraint.joints) == ("joints", {}, ("elbow",))
    assert [tuple(side) for side in kept.sides] == [
        ("elbow.lower", "rad", 0, 1.0, 1.0, 2, 0.25, 4.0),  # it brakes no harder than it may
        ("elbow.upper", "rad", 0, -1.0, 2.0, 2, 0.25, 4.0),
        ("elbow.backward", "rad/s", 0, 1.0, 3.0, 1, 0.0, 0.0),
        ("elbow.backward_acceleration", "rad/s^2", 0, 1.0, 4.0, 0, 0.0, 0.0),
        ("elbow.forward", "rad/s", 0, -1.0, 3.0, 1, 0.0, 0.0),
        ("elbow.forward_acceleration", "rad/s^2", 0, -1.0, 4.0, 0, 0.0, 0.0),
    ]


def test_rates_of_inputs_are_kept_by_motor():
    keep = JointLimits(limits=("input_rates",), input_rate={"elbow": 2.0}, name="own")
    kept = keep.keeps(task_of(ARM, period=1e-2))
    assert (kept.block, kept.sides) == ("own", ())
    assert kept.input_rates == {"shoulder": np.inf, "elbow": 2.0}


def test_a_deceleration_is_asked_for_where_motors_have_no_limits():
    with pytest.raises(InputError, match="deceleration of joint 'q1' must be given"):
        keeper_of([JointLimits(upper={"q1": 1.0})], task_of(Robot.load("scara")))


@pytest.mark.parametrize("name", ["two_link", "ur5", "panda"])
def test_joints_have_their_deceleration_all_at_once_within_their_ranges_and_speeds(name):
    robot = Robot.load(name)
    task = dc.replace(task_of(robot), q=0.5 * (robot.q_lower + robot.q_upper), v=np.zeros(robot.nv))
    keeper = keeper_of([JointLimits(limits=("positions",))], task)
    brake, dynamics = keeper.barriers.deceleration[::2], Dynamics(robot)
    rng, most = np.random.default_rng(5), 0.0
    for _ in range(300):  # others than those that were drawn
        q = robot.q_lower + (robot.q_upper - robot.q_lower) * rng.uniform(size=robot.nq)
        dynamics.move(0.0, q, robot.velocity_limit * rng.uniform(-1.0, 1.0, robot.nv))
        a = brake * rng.choice([-1.0, 1.0], robot.nv)
        u = np.linalg.solve(dynamics.G, a - dynamics.a_free)
        most = max(most, float(np.max(np.abs(u) / robot.effort_limit)))
    assert 0.5 < most < 1.0


def test_decelerations_are_looked_at_all_around_within_ranges_and_speeds():
    ends = JointBounds({"elbow": -0.5}, {"elbow": 0.25}, {"elbow": 2.0, "wrist_1": 3.0})
    task = task_of(UR5)
    (q, v), *drawn = _sample_states(task, ends)
    assert q is task.q
    assert v is task.v
    q, v = map(np.array, zip(*drawn, strict=True))
    names, low, high = list(UR5.coordinates), q.min(axis=0), q.max(axis=0)
    elbow, wrist, pan = (names.index(name) for name in ("elbow", "wrist_1", "shoulder_pan"))
    assert -0.5 <= low[elbow] < -0.4
    assert 0.2 < high[elbow] <= 0.25
    assert -np.pi <= low[pan] - task.q[pan] < -0.9 * np.pi
    assert 0.9 * np.pi < high[pan] - task.q[pan] <= np.pi
    np.testing.assert_allclose(np.abs(v[:, [elbow, wrist]]).max(axis=0), [2.0, 3.0], rtol=0.05)
    assert (v[:, pan] == task.v[pan]).all()


def test_a_deceleration_that_motors_have_not_everywhere_is_told():
    task = dc.replace(task_of(ARM), q=ARM.neutral, v=np.zeros(ARM.nv))
    assert not list(keeper_of([JointLimits()], task).warnings())
    (told,) = keeper_of([JointLimits(deceleration=60.0)], task).warnings()
    assert told.startswith("'joints': joints cannot all brake with their deceleration at ")
    assert "motor 'shoulder' would need" in told


def test_decelerations_that_are_given_leave_the_others_what_is_left():
    task = dc.replace(task_of(ARM), q=ARM.neutral, v=np.zeros(ARM.nv))
    both = keeper_of([JointLimits(limits=("positions",))], task).barriers.deceleration[::2]
    half = JointLimits(limits=("positions",), deceleration={"shoulder": 0.5 * both[0]})
    one = keeper_of([half], task).barriers.deceleration[::2]
    assert one[0] == 0.5 * both[0]
    assert one[1] > both[1]
    with pytest.raises(InputError, match="must leave the other joints some"):
        keeper_of([JointLimits(deceleration={"shoulder": 1e4})], task)


def test_a_joint_counts_on_no_more_deceleration_than_its_acceleration():
    keep = JointLimits(limits=("positions", "accelerations"), acceleration=2.0)
    np.testing.assert_array_equal(keeper_of([keep], task_of(ARM)).barriers.deceleration[::4], 2.0)


def test_a_tick_that_is_asked_for_twice_has_the_same_input_before_it():
    held, last = np.full((2, 3), -np.inf), np.zeros(3)
    for t, u, before in [
        (0.0, 1.0, None), (0.1, 2.0, 1.0), (0.1, 3.0, 1.0), (0.2, 4.0, 3.0), (0.0, 5.0, None),
        (0.1, 6.0, 5.0),
    ]:  # fmt: skip
        recall_input(np.array([t]), held, last)
        assert last[2] == (before is not None)
        if before is not None:
            np.testing.assert_array_equal(last[:2], before)
        held[1] = u, u, t


def test_blocks_are_told_apart():
    task = task_of(ARM)
    wall = {"frame": "tool", "point": [0.0] * 3, "normal": [0.0, 0.0, 1.0]}
    keeper = keeper_of([HalfSpaceLimit(**wall), HalfSpaceLimit(**wall)], task)
    assert keeper.blocks == ("tool", "tool_2")
    with pytest.raises(InputError, match="another block's already"):
        keeper_of([HalfSpaceLimit(**wall), HalfSpaceLimit(name="tool", **wall)], task)
    with pytest.raises(InputError, match="without dots"):
        HalfSpaceLimit(name="a.b", **wall)


def test_units_follow_from_those_of_what_is_kept():
    cases = ("m", 2), ("m/s", 1), ("rad", 1), ("", 2)
    assert [derivative_unit(unit, order) for unit, order in cases] == [
        "m/s^2", "m/s^2", "rad/s", "1/s^2",
    ]  # fmt: skip


def test_an_unknown_joint_is_an_unknown_name():
    with pytest.raises(UnknownName):
        keeper_of([JointLimits(joints=("nobody",))], task_of(ARM))


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"acceleration": 1.0}, "limits must name 'accelerations'"),
        ({"input_rate": 1.0}, "limits must name 'input_rates'"),
        ({"limits": ("accelerations",)}, "acceleration must be given"),
        ({"limits": ("accelerations",), "acceleration": 0.0}, "must be"),
    ],
)
def test_what_is_limited_is_named_and_given(fields, message):
    with pytest.raises((InputError, ValueError), match=message):
        JointLimits(**fields)


def test_states_are_drawn_once_for_a_robot_and_its_start():
    """By the start of a law, and by `check`, which asks for the joints' decelerations again."""
    task = Task(robot=UR5, servo=(), q=UR5.neutral, v=np.zeros(6))
    joints, ends = (
        UR5.dofs,
        JointBounds(*(dict.fromkeys(UR5.dofs, bound) for bound in (-1.0, 1.0, 2.0))),
    )
    first = braking_samples(task, joints, ends)
    assert braking_samples(dc.replace(task, q=task.q.copy()), list(joints), ends) is first
    assert braking_samples(dc.replace(task, q=task.q + 0.1), joints, ends) is not first
    assert braking_samples(task, joints, ends._replace(speed=ends.lower)) is not first


def test_without_motors_nothing_can_be_kept():
    robot = Robot.build(
        Lagrangian(coordinates={"x": "m"}, kinetic="v.x**2", potential="0*x", parameters={}),
        Options(actuator=[]),
    )
    with pytest.raises(InputError) as caught:
        keeper_of([FormulaLimit(h="1 - x")], task_of(robot))
    assert str(caught.value) == (
        "keep needs motors; robot 'lagrangian' has none, and nothing can be kept."
    )


@pytest.mark.parametrize("axes", [[], ["x", "x"]])
def test_axes_of_manipulability_are_different_ones(axes):
    with pytest.raises(InputError) as caught:
        ManipulabilityLimit(frame="tool", axes=axes, at_least=0.1)
    assert "axes must be different ones, at least one; got [" in str(caught.value)
