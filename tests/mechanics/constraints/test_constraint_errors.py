"""What constraints hold, by closed forms of frames, joints and centres of mass; what they refuse.

That rows are the derivatives of their own error says nothing about the error itself.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from tests.mechanics.constraints.test_constraints import FRAMES, KINDS, SECOND, SLOPE, of
from ukctrl import Robot
from ukctrl.core.errors import UkctrlError
from ukctrl.core.program import KernelSequence
from ukctrl.mechanics.constraints import (
    Aggregation,
    Closure,
    ComFollows,
    Contact,
    Distance,
    Expression,
    Gear,
    JointFollows,
    PointFollows,
    PoseFollows,
    Rolling,
    Stack,
)
from ukctrl.mechanics.constraints.energy import EnergyFollows
from ukctrl.mechanics.constraints.kinematics import quaternion
from ukctrl.mechanics.reference import Constant
from ukctrl.robot import Lagrangian

CLOSE = {"rtol": 1e-10, "atol": 1e-10}
DIFFERENCED = {"rtol": 1e-6, "atol": 1e-6}
NONE = math.nan
T = 0.7
HELIX = np.array([0.3 * math.sin(2 * T), 0.2 * math.cos(3 * T), 0.1 * T**2])
PLANE = HELIX[0], 0.1 * T
SCALAR = 0.4 + 0.1 * math.sin(3 * T)
TURN = Rotation.from_rotvec((0.5 + 0.8 * math.sin(2 * T)) * np.array([1, 2, -1]) / math.sqrt(6.0))
NORMAL = np.array(SLOPE["normal"]) / np.linalg.norm(SLOPE["normal"])


def turned(wanted, R):
    """Four times the modified Rodrigues vector of what is left to turn."""
    return 4.0 * (wanted.inv() * Rotation.from_matrix(R)).as_mrp()


def angle(robot, q, joint):
    if joint in robot.coordinates:
        return q[robot.coordinates.index(joint)]
    at = robot.coordinates.index(f"{joint}_cos")
    return math.atan2(q[at + 1], q[at])


def wrapped(robot, error):
    """Within half a turn, where the last joint turns without end."""
    endless = f"{robot.dofs[-1]}_cos" in robot.coordinates
    return math.remainder(error, math.tau) if endless else error


def tangents(n):
    first = np.cross([0.0, 1.0, 0.0], n)
    first /= np.linalg.norm(first)
    return np.array([first, np.cross(n, first)])


def errors(robot, s, q):
    """The error of every kind, by the formulas of its documentation."""
    name_a, name_b = FRAMES[robot.name]
    (a, Ra), (b, Rb) = ((s.frame(f).position, s.frame(f).rotation) for f in (name_a, name_b))
    seen = Rotation.from_matrix(Ra)
    height = NORMAL @ (b - SLOPE["point"])
    axle = Rb @ [1.0, 0.0, 0.0]
    own, other = (angle(robot, q, name) for name in (robot.dofs[-1], SECOND[robot.name]))
    tilt = tangents(NORMAL) @ Rb[:, 2]
    return {
        "point": b + Rb @ [0.1, -0.2, 0.3] - HELIX,
        "point in a plane": b[[0, 2]] - PLANE,
        "orientation": turned(TURN, Rb),
        "pose": [*(b - HELIX), *turned(TURN, Rb)],
        "relative pose": [*(Ra.T @ (b - a) - HELIX), *turned(seen * TURN, Rb)],
        "centre of mass": s.com().position[1:] - PLANE,
        "distance": [np.linalg.norm(b - a) - SCALAR],
        "surface": [
            b[0] ** 2 - math.sin(b[2]) * b[0] + (b[0] - T) * (2 * b[1] + b[2]) + b[2] * T**2
        ],
        "point closure": Rb.T @ (a - b),
        "planar point closure": b[:2],
        "revolute closure": [*(Ra.T @ (b - a)), *(Ra.T @ Rb[:, 2])[:2]],
        "prismatic closure": [*(Rb.T @ (a - b))[:2], *turned(Rotation.from_matrix(Rb), Ra)],
        "weld closure": [*b, *turned(Rotation.identity(), Rb)],
        "point contact": [height],
        "flat contact": [height, *tilt],
        "point that sticks": [b[2], NONE, NONE],
        "foot that sticks": [height, *tilt, NONE, NONE, NONE],
        "wheel": [NONE, NONE, height - 0.3 * np.linalg.norm(np.cross(axle, NORMAL))],
        "wheel of a vehicle": [NONE, NONE],
        "gear": [wrapped(robot, own - 3.0 * other - math.radians(10.0))],
        "joint": [wrapped(robot, own - SCALAR)],
        "linear velocity": [NONE],
        "phi": [math.sin(q[-1]) * q[0] + 0.2 * T**2],
        "psi": [NONE],
        "pfaffian": [NONE],
    }


@pytest.mark.slow(only=["relative pose-scara", "surface-scara"])
@pytest.mark.parametrize("name", ["scara", "two_link", "floating_arm"])
@pytest.mark.parametrize("kind", KINDS)
def test_the_error_of_a_constraint_is_its_formula(name, kind):
    robot, rng = Robot.load(name), np.random.default_rng(5)
    for _ in range(3):
        q, v = robot.random(rng), rng.standard_normal(robot.nv)
        s = robot.snapshot(q, v, T)
        constraint = of(robot, kind)
        found = constraint.rows(s).phi
        np.testing.assert_allclose(found, errors(robot, s, q)[kind], **CLOSE)
        attached = constraint.attach(robot)
        np.testing.assert_array_equal(np.isfinite(found), attached.holonomic)


def test_rows_on_velocities_have_the_value_of_their_formula():
    robot, rng = Robot.load("two_link"), np.random.default_rng(5)
    q, v = robot.random(rng), rng.standard_normal(2)
    s = robot.snapshot(q, v, T)
    for kind, value in (
        ("linear velocity", 2.0 * v[1] - v[0] - SCALAR),
        ("psi", v[1] ** 2 * q[1] + math.cos(T) * v[0]),
        ("pfaffian", math.cos(q[1]) * v[1] - T * v[0] + 1.0),
    ):
        np.testing.assert_allclose(of(robot, kind).rows(s).beta, [value], **CLOSE)
    psi = Expression(psi="v.elbow", path=Constant(value=(0.3,)))
    np.testing.assert_allclose(psi.rows(s).beta, [v[1] - 0.3], **CLOSE)


def test_what_sticks_and_rolls_has_the_velocity_of_the_material_point():
    """Of the point in contact, by differences of where it is fixed in the frame."""
    robot, rng, h = Robot.load("floating_arm"), np.random.default_rng(1), 1e-6
    frame = FRAMES["floating_arm"][1]
    q, v = robot.random(rng), rng.standard_normal(robot.nv)
    s = robot.snapshot(q, v, T)
    at = s.frame(frame)

    def moved(local):
        """The velocity of a point fixed in the frame."""
        ends = [robot.snapshot(robot.integrate(q, x * v)).frame(frame) for x in (h, -h)]
        places = [end.position + end.rotation @ local for end in ends]
        return (places[0] - places[1]) / (2.0 * h)

    slip = tangents(NORMAL) @ moved(np.zeros(3))
    beta = of(robot, "foot that sticks").rows(s).beta
    np.testing.assert_allclose(beta[0], NORMAL @ moved(np.zeros(3)), **DIFFERENCED)
    np.testing.assert_allclose(beta[3:5], slip, **DIFFERENCED)
    spin = np.array([moved(at.rotation.T @ axis) for axis in np.eye(3)]) - moved(np.zeros(3))
    omega = np.array([spin[1, 2], spin[2, 0], spin[0, 1]])
    np.testing.assert_allclose(beta[5], NORMAL @ omega, **DIFFERENCED)
    axle = at.rotation @ [1.0, 0.0, 0.0]
    side = np.cross(axle, NORMAL)
    size = np.linalg.norm(side)
    touching = moved(at.rotation.T @ (-0.3 * (NORMAL - NORMAL @ axle * axle) / size))
    heading = side / size
    expected = [heading @ touching, np.cross(NORMAL, heading) @ touching, NORMAL @ touching]
    np.testing.assert_allclose(of(robot, "wheel").rows(s).beta, expected, **DIFFERENCED)


SLIPS = {
    "point": (0, 1, 2), "planar_point": (2,), "revolute": (2,), "prismatic": (2,), "weld": None,
}  # fmt: skip


@pytest.mark.parametrize("kind", SLIPS)
def test_a_closure_slips_along_what_it_leaves_free(kind):
    robot, rng, h = Robot.load("floating_arm"), np.random.default_rng(2), 1e-6
    first, last = FRAMES["floating_arm"]
    q, v = robot.random(rng), rng.standard_normal(robot.nv)
    stack = Stack([Closure(frames=(last, first), type=kind)], robot)
    stack.write(robot.snapshot(q, v))
    slip = stack.attached[0].slip()
    if SLIPS[kind] is None:
        assert slip is None
        return
    KernelSequence(slip.steps)()

    def seen(x):
        s = robot.snapshot(robot.integrate(q, x * v))
        a, b = s.frame(first), s.frame(last)
        return a.rotation.T @ (b.position - a.position), a.rotation.T @ b.rotation

    (x1, R1), (x0, R0) = seen(h), seen(-h)
    turning = Rotation.from_matrix(R1 @ R0.T).as_rotvec() / (2.0 * h)
    moving = (x1 - x0) / (2.0 * h)
    expected = (moving if kind == "prismatic" else turning)[list(SLIPS[kind])]
    np.testing.assert_allclose(slip.J @ v, expected, **DIFFERENCED)


def test_a_contact_slips_along_the_ground_unless_it_sticks():
    robot, rng = Robot.load("floating_arm"), np.random.default_rng(2)
    q, v = robot.random(rng), rng.standard_normal(robot.nv)
    for sticks in (False, True):
        stack = Stack([Contact(frame="hand", ground=SLOPE, sticks=sticks)], robot)
        stack.write(robot.snapshot(q, v))
        slip = stack.attached[0].slip()
        if sticks:
            assert slip is None
        else:
            KernelSequence(slip.steps)()
            moving = robot.snapshot(q, v).frame("hand").velocity[:3]
            np.testing.assert_allclose(slip.J @ v, tangents(NORMAL) @ moving, **CLOSE)


def test_a_trace_is_where_a_frame_is_and_should_be():
    robot, rng = Robot.load("scara"), np.random.default_rng(2)
    s = robot.snapshot(robot.random(rng), np.zeros(4), T)
    kinds = ("point", "point in a plane", "orientation", "pose", "surface", "gear")
    stack = Stack([of(robot, kind) for kind in kinds], robot)
    stack.write(s)
    at = s.frame("tool")
    nowhere = np.full(3, NONE)
    expected = [
        (at.position + at.rotation @ [0.1, -0.2, 0.3], HELIX),
        (at.position, [PLANE[0], NONE, PLANE[1]]),
        (at.position, HELIX),
        (at.position, nowhere),
    ]
    for trace, (position, reference) in zip(stack.traces(), expected, strict=True):
        assert trace.frame == "tool"
        np.testing.assert_allclose(trace.position, position, **CLOSE)
        np.testing.assert_allclose(trace.reference, reference, **CLOSE)


ROWS = {
    "point": ("tool", "x y z", "m m m"),
    "point in a plane": ("tool", "x z", "m m"),
    "orientation": ("tool", "rx ry rz", "rad rad rad"),
    "pose": ("tool", "x y z rx ry rz", "m m m rad rad rad"),
    "relative pose": ("tool_in_link1", "x y z rx ry rz", "m m m rad rad rad"),
    "centre of mass": ("com", "y z", "m m"),
    "distance": ("link1_to_tool", "", "m"),
    "surface": ("tool", "surface", " "),
    "point closure": ("link1_at_tool", "x y z", "m m m"),
    "planar point closure": ("tool_at_world", "x y", "m m"),
    "revolute closure": ("tool_at_link1", "x y z nx ny", "m m m rad rad"),
    "prismatic closure": ("link1_at_tool", "x y rx ry rz", "m m rad rad rad"),
    "weld closure": ("tool_at_world", "x y z rx ry rz", "m m m rad rad rad"),
    "point contact": ("tool_contact", "height", "m"),
    "flat contact": ("tool_contact", "height tilt_x tilt_y", "m rad rad"),
    "point that sticks": ("tool_contact", "height slip_x slip_y", "m m m"),
    "foot that sticks": (
        "tool_contact", "height tilt_x tilt_y slip_x slip_y spin", "m rad rad m m rad"
    ),
    "wheel": ("tool_rolling", "along across height", "m m m"),
    "wheel of a vehicle": ("tool_rolling", "along across", "m m"),
    "gear": ("q4_by_q1", "", "m"),
    "joint": ("joints", "q4", "m"),
    "linear velocity": ("velocity", "", " "),
    "phi": ("expression", "", " "), "psi": ("expression", "", " "),
    "pfaffian": ("expression", "", " "),
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_rows_are_named_after_what_they_hold_with_their_units(kind):
    attached = of(Robot.load("scara"), kind).attach(Robot.load("scara"))
    block, parts, units = ROWS[kind]
    names = tuple(f"{block}.{part}" for part in parts.split()) or (block,)
    assert (attached.block, attached.names) == (block, names)
    assert attached.units == (tuple(units.split()) or ("",))


def test_blocks_of_one_name_are_numbered_and_two_that_still_agree_are_refused():
    robot = Robot.load("scara")
    path = Constant(value=(0.0, 0.0, 0.0))
    point = PointFollows(frame="tool", path=path)
    stack = Stack([point, point, point], robot)
    assert stack.names[3:] == tuple(f"tool_{k}.{axis}" for k in (2, 3) for axis in "xyz")
    taken = PointFollows(frame="tool", path=path, name="tool_2")
    with pytest.raises(UkctrlError, match="^two constraints are named 'tool_2'; give each its own"):
        Stack([taken, point, point], robot)


WHEEL = """<robot name="w"><link name="a"/><link name="arm"/><link name="rim"><inertial>
<mass value="1"/><origin xyz="1 0 0"/><inertia ixx="1" iyy="1" izz="2" ixy="0" ixz="0" iyz="0"/>
</inertial></link><joint name="q" type="revolute"><parent link="a"/><child link="arm"/>
<axis xyz="0 1 0"/><limit lower="-1" upper="1" effort="1" velocity="1"/></joint>
<joint name="turn" type="continuous"><parent link="arm"/><child link="rim"/>
<axis xyz="0 0 1"/></joint></robot>"""


def wheel():
    """A wheel on an arm of no length."""
    return Robot.build(WHEEL)


def pumped():
    """A plant whose mass grows with time."""
    return Robot.build(
        Lagrangian(coordinates={"x": "m", "y": "m"}, kinetic="(1 + t**2)*(v.x**2 + v.y**2)")
    )


def at_once(make, robot="scara"):
    """Attach a constraint and write it at the neutral configuration."""

    def call():
        made = Robot.load(robot) if isinstance(robot, str) else robot()
        make().rows(made.snapshot(made.neutral))

    return call


POINT = Constant(value=(0.0, 0.0, 0.0))
ONE = Constant(value=(0.0,))
UPRIGHT = {"kind": "constant", "rpy": (0.0, 0.0, 0.0)}
REFUSED = {
    "distance of one": (
        at_once(lambda: Distance(frames=("tool", "tool"), path=ONE)),
        "frames must be two frames; got 'tool' twice.",
    ),
    "distance of nothing": (
        at_once(lambda: Distance(frames=("arm", "rim"), path=ONE, name="rod"), wheel),
        "distance 'rod' must stay above zero, where it has no direction; got 0.",
    ),
    "closure of one": (
        at_once(lambda: Closure(frames=("tool", "tool"), type="weld")),
        "frames must be two frames; got 'tool' twice.",
    ),
    "flat wheel": (
        at_once(lambda: Rolling(frame="tool", radius=0.1, axle=(0, 0, 1))),
        "wheel 'tool_rolling' must not lie flat on the ground, where it has no heading.",
    ),
    "gear of one": (
        at_once(lambda: Gear(joints=("q1", "q1"), ratio=2.0)),
        "joints must be two joints; got 'q1' twice.",
    ),
    "gear of none": (
        at_once(lambda: Gear(joints=("q1", "q2"), ratio=0.0)), "ratio must not be zero; got 0.",
    ),
    "broken gear": (
        at_once(lambda: Gear(joints=("q", "turn"), ratio=1.5), wheel),
        "ratio must be a whole number where 'turn' turns without limits, because its turns are not "
        "counted; got 1.5.",
    ),
    "joint that is none": (
        at_once(lambda: JointFollows(joints=("q9",), path=ONE)),
        "no degree of freedom named 'q9'. Known: q1, q2, q3, q4.",
    ),
    "joint of a base": (
        at_once(lambda: JointFollows(joints=("root_wx",), path=ONE), "floating_arm"),
        "'root_wx' must be a joint with one degree of freedom to follow a path; it belongs to a "
        "larger joint. Hold its frame with 'point_follows' or 'orientation_follows'.",
    ),
    "path of another size": (
        at_once(lambda: PointFollows(frame="tool", path=ONE)),
        "path of 'tool' must have 3 components, one for each of axes = \"xyz\"; got 1.",
    ),
    "path in space for a point in a plane": (
        at_once(lambda: PointFollows(frame="tool", axes="xz", path=POINT)),
        "path of 'tool' must have 2 components, one for each of axes = \"xz\"; got 3. Hold all of "
        '"xyz", or write a path of these alone: kind = "expression".',
    ),
    "path in space for a centre of mass over a plane": (
        at_once(lambda: ComFollows(axes="xy", path=POINT)),
        "path of 'com' must have 2 components, one for each of axes = \"xy\"; got 3. Hold all of "
        '"xyz", or write a path of these alone: kind = "expression".',
    ),
    "pose of another size": (
        at_once(lambda: PoseFollows(frame="tool", path=ONE, orientation=UPRIGHT)),
        "path of 'tool' must have 3 components; got 1.",
    ),
    "axes": (
        at_once(lambda: ComFollows(path=POINT, axes="zx")),
        'ComFollows: axes: axes must be some of "xyz" in this order, such as "xy"; got "zx".',
    ),
    "axes twice": (
        at_once(lambda: ComFollows(path=POINT, axes="xx")),
        'ComFollows: axes: axes must be some of "xyz" in this order, such as "xy"; got "xx".',
    ),
    "axes of another name": (
        at_once(lambda: ComFollows(path=POINT, axes="xw")),
        'ComFollows: axes: axes must be some of "xyz" in this order, such as "xy"; got "xw".',
    ),
    "no axes": (
        at_once(lambda: ComFollows(path=POINT, axes="")),
        'ComFollows: axes: axes must be some of "xyz" in this order, such as "xy"; got "".',
    ),
    "two forms": (
        at_once(lambda: Expression(phi="q1", psi="v.q1")),
        "Expression: give exactly one of phi, psi and pfaffian; got phi and psi.",
    ),
    "no form": (
        at_once(lambda: Expression()),
        "Expression: give exactly one of phi, psi and pfaffian; got none of them.",
    ),
    "Pfaffian on a path": (
        at_once(lambda: Expression(pfaffian="d.q1", path=ONE)),
        "Expression: path must come with phi or psi; a Pfaffian form follows none.",
    ),
    "energy without a level": (
        at_once(lambda: EnergyFollows()),
        "EnergyFollows: give exactly one of at and path; got none.",
    ),
    "energy of two levels": (
        at_once(lambda: EnergyFollows(at={}, path=ONE)),
        "EnergyFollows: give exactly one of at and path; got both.",
    ),
    "energy over time": (
        at_once(lambda: EnergyFollows(path=ONE), pumped),
        "robot 'lagrangian' must have an energy of its state alone; its formulas contain the time "
        "t.",
    ),
    "swarm of joints": (
        at_once(Aggregation, "floating_arm"),
        "robot 'floating_arm' must consist of particles.",
    ),
    "swarm of one": (
        at_once(lambda: Aggregation(), "two_link"),
        "robot 'two_link' must have at least two particles, with coordinates x1, y1, x2, y2.",
    ),
    "swarm in space": (
        at_once(lambda: Aggregation(axes="xyz"), "two_link"),
        "robot 'two_link' must have at least two particles, with coordinates x1, y1, z1, x2, y2, "
        "z2.",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_does_not_fit_a_robot_is_refused_whole(case):
    call, sentence = REFUSED[case]
    with pytest.raises((UkctrlError, ValueError)) as caught:
        call()
    assert str(caught.value) == sentence


@pytest.mark.parametrize("angle", [0.0, 1e-9, 1.0, 3.0, math.pi, 3.5, 6.0])
@pytest.mark.parametrize("axis", [*np.eye(3), *-np.eye(3), [0.6, -0.8, 0.0], [-0.5, 0.5, 0.5**0.5]])
def test_a_rotation_has_a_unit_quaternion_with_no_negative_real_part(axis, angle):
    E = Rotation.from_rotvec(angle * np.asarray(axis)).as_matrix()
    eta, e = quaternion(tuple(map(tuple, E)))
    e = np.array(e)
    assert eta >= 0.0
    np.testing.assert_allclose(eta**2 + e @ e, 1.0, rtol=1e-13)
    np.testing.assert_allclose(Rotation.from_quat([*e, eta]).as_matrix(), E, rtol=0.0, atol=1e-13)


def test_a_half_turn_about_an_axis_is_that_axis():
    for axis in np.eye(3):
        eta, e = quaternion(tuple(map(tuple, 2.0 * np.outer(axis, axis) - np.eye(3))))
        np.testing.assert_array_equal([eta, *e], [0.0, *axis])
