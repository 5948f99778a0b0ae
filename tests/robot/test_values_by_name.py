"""Numbers, configurations and limits that files give by name: every branch and both sides."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ukctrl.core.errors import InputError, ModelError, UkctrlError
from ukctrl.robot import Options, Robot
from ukctrl.robot.manifold_kernels import NOT_UNIT
from ukctrl.robot.rigid.pinocchio_structure import UNLIMITED
from ukctrl.robot.rigid_link_model import rigid_link_robot
from ukctrl.robot.schema.robot_file import JointLimit
from ukctrl.robot.values_by_name import (
    configuration,
    freedom_values,
    home_configuration,
    joint_values,
    values_by_name,
    with_limits,
)

EXACT = {"rtol": 0.0, "atol": 1e-12}


def test_one_number_stands_for_all_and_a_table_for_each():
    assert values_by_name(2.0, ("a", "b"), "thing").tolist() == [2.0, 2.0]
    assert values_by_name({"b": 1.0, "a": 3.0}, ("a", "b"), "thing").tolist() == [3.0, 1.0]
    assert values_by_name({"b": 1.0}, ("a", "b"), "thing", 7.0).tolist() == [7.0, 1.0]
    assert values_by_name({}, ("a",), "thing", 0.0).tolist() == [0.0]
    assert values_by_name(2.0, (), "thing").shape == (0,)


def test_a_word_stands_for_a_group_and_single_names_go_before():
    groups = {"arms": ("a", "b"), "all": ("a", "b", "c")}
    given = {"b": 9.0, "all": 1.0, "arms": 2.0}
    found = values_by_name(given, ("a", "b", "c"), "thing", None, groups)
    assert found.tolist() == [1.0, 9.0, 1.0]  # the last group that names one counts
    assert values_by_name({"arms": 2.0}, ("a", "b", "c"), "thing", 5.0, groups).tolist() == [
        2,
        2,
        5,
    ]


def test_numbers_by_joint_are_those_of_joints_with_one_freedom(robots):
    robot = robots["floating_arm"]
    assert joint_values(robot.structure, 2.0).tolist() == [0.0] * 6 + [2.0] * 3
    assert joint_values(robot.structure, {"root_wx": 1.0, "elbow": 3.0}).tolist() == [
        0, 0, 0, 1, 0, 0, 0, 3, 0,
    ]  # fmt: skip
    elastic = Robot.load("two_link", override={"elastic": {"stiffness": 9.0, "motor_inertia": 1.0}})
    assert joint_values(elastic.structure, 2.0).tolist() == [2.0, 2.0, 0.0, 0.0]


def test_numbers_by_freedom_are_those_of_whole_joints_too(robots):
    structure = robots["floating_arm"].structure
    assert freedom_values(structure, 2.0).tolist() == [2.0] * 9
    assert freedom_values(structure, {"root": 1.0, "elbow": 3.0}).tolist() == [1.0] * 6 + [0, 3, 0]
    assert freedom_values(structure, {"root_vy": 1.0}).tolist() == [0, 1, 0, 0, 0, 0, 0, 0, 0]


def test_a_configuration_is_neutral_but_for_what_it_names(robots):
    arm = robots["floating_arm"].structure
    found = configuration(arm, {"wrist": 2.0, "elbow": 0.1})
    expected = np.zeros(11)
    expected[[6, 8]], expected[9:] = [1.0, 0.1], [math.cos(2.0), math.sin(2.0)]
    np.testing.assert_allclose(found, expected, **EXACT)
    turned = configuration(arm, {"root_qw": 0.6, "root_qx": 0.8, "root_x": 5.0})
    np.testing.assert_allclose(turned[[0, 3, 6]], [5.0, 0.8, 0.6], **EXACT)
    planar = robots["cart"].structure
    angle = configuration(planar, {"cart_joint_cos": 0.6, "cart_joint_sin": 0.8, "cart_joint_x": 2})
    np.testing.assert_allclose(angle[:4], [2.0, 0.0, 0.6, 0.8], **EXACT)
    assert home_configuration(arm, {}) is None


@pytest.mark.parametrize("size", [1.0 - 0.9 * NOT_UNIT, 1.0 + 0.9 * NOT_UNIT])
def test_a_rotation_that_was_rounded_is_made_one(robots, size):
    found = configuration(robots["floating_arm"].structure, {"root_qw": 0.0, "root_qy": size})
    np.testing.assert_allclose(found[3:7], [0.0, 1.0, 0.0, 0.0], **EXACT)


def test_a_configuration_may_lie_on_its_limits(robots):
    structure = robots["pendulum"].structure
    for limit in (structure.q_lower[0], structure.q_upper[0]):
        assert configuration(structure, {"pivot": limit})[0] == limit


def limited(*limits, robot):
    return lambda robots: with_limits(
        robots[robot].structure, [JointLimit(**limit) for limit in limits]
    )


REFUSED = {
    "unknown name": (
        lambda _: values_by_name({"c": 1.0}, ("aa", "bb"), "thing", 0.0, {"all": ("aa",)}),
        "no thing named 'c'. Known: aa, all, bb.",
    ),
    "missing": (
        lambda _: values_by_name({"a": 1.0}, ("a", "b", "c"), "thing"),
        "must have a number for every thing; 'b' is missing.",
    ),
    "beyond": (
        lambda robots: configuration(robots["pendulum"].structure, {"pivot": 2.50001}),
        "pivot must be within its limits, -2 to 2.5; got 2.5.",
    ),
    "below": (
        lambda robots: home_configuration(robots["pendulum"].structure, {"pivot": -3.0}),
        "home: pivot must be within its limits, -2 to 2.5; got -3.",
    ),
    "no coordinate": (
        lambda robots: configuration(robots["pendulum"].structure, {"pivo": 0.0}),
        "no coordinate named 'pivo'; did you mean 'pivot'? Known: pivot.",
    ),
    "no rotation": (
        lambda robots: configuration(robots["floating_arm"].structure, {"root_qw": 1.002}),
        "root_qx, root_qy, root_qz, root_qw must have unit length; got 1.002.",
    ),
    "no rotation either": (
        lambda robots: configuration(robots["floating_arm"].structure, {"root_qw": 0.998}),
        "root_qx, root_qy, root_qz, root_qw must have unit length; got 0.998.",
    ),
    "no angle": (
        lambda robots: configuration(robots["wheel"].structure, {"turn_cos": 0.5}),
        "turn_cos, turn_sin must have unit length; got 0.5.",
    ),
    "limit twice": (
        limited({"joint": "pivot", "velocity": 1.0}, {"joint": "pivot", "velocity": 2.0},
                robot="pendulum"),
        "limit[1]: joint 'pivot' must have one table; it comes twice.",
    ),
    "limit of an endless joint": (
        limited({"joint": "turn", "position": (-1.0, 1.0)}, robot="wheel"),
        "limit[0]: position: joint 'turn' turns without end, or has several freedoms, and has no "
        "position limits; give a velocity.",
    ),
    "links of a rigid robot": (
        lambda robots: rigid_link_robot(robots["two_link"]),
        "robot 'two_link' must have elastic joints; it has none.",
    ),
    "links that a motor pushes": (
        lambda _: rigid_link_robot(elastic({"shoulder": 9.0})),
        "input 'elbow' of robot 'two_link' must push motors of elastic joints alone; it pushes "
        "bodies past their springs.",
    ),
    "names that agree": (
        lambda _: Robot.build(TWICE),
        "model text: joints 'k.1' and 'k-1' would share the name 'k_1' in formulas; rename one of "
        "them in the model file.",
    ),
}  # fmt: skip
BODY = (
    '<link name="{}"><inertial><mass value="1"/><origin xyz="1 0 0"/>'
    '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>'
)
JOINT = (
    '<joint name="{0}" type="{3}"><parent link="{1}"/><child link="{2}"/><axis xyz="0 1 0"/>'
    '<limit lower="{4}" upper="{5}" effort="{6}" velocity="{7}"/></joint>'
)


def chain(*joints):
    """A chain of bodies, ``(name, kind, lower, upper, effort, velocity)`` a joint."""
    text = BODY.format(0)
    for k, (name, *rest) in enumerate(joints):
        text += BODY.format(k + 1) + JOINT.format(name, k, k + 1, *rest)
    return f'<robot name="chain">{text}</robot>'


TWICE = chain(*((name, "revolute", -1, 1, 1, 1) for name in ("k-1", "k.1")))


def elastic(stiffness):
    given = {"stiffness": stiffness, "motor_inertia": 0.1, "damping": 0.5}
    return Robot.load("two_link", override={"elastic": given})


@pytest.mark.parametrize("case", REFUSED)
def test_what_names_nothing_or_too_much_is_refused_whole(robots, case):
    call, sentence = REFUSED[case]
    with pytest.raises(UkctrlError) as caught:
        call(robots)
    assert str(caught.value) == sentence
    assert isinstance(caught.value, InputError | ModelError)


def test_limits_of_a_file_replace_those_of_the_model(robots):
    structure = robots["cart"].structure
    tables = (
        JointLimit(joint="lift", position=(-0.1, 0.2)), JointLimit(joint="turn", velocity=3.0),
        JointLimit(joint="cart_joint_vy", velocity=0.5),
    )  # fmt: skip
    found = with_limits(structure, tables)
    lift = structure.coordinates.index("lift")
    for name, value in (("q_lower", -0.1), ("q_upper", 0.2)):
        old, new = getattr(structure, name).copy(), getattr(found, name)
        old[lift] = value
        np.testing.assert_array_equal(new, old)
    speeds = dict(zip(structure.dofs, structure.velocity_limit, strict=True))
    speeds |= {"turn": 3.0, "cart_joint_vy": 0.5}
    np.testing.assert_array_equal(found.velocity_limit, list(speeds.values()))
    assert with_limits(structure, ()) is structure


@pytest.mark.parametrize(
    ("written", "limit"),
    [("0", np.inf), ("1e-9", 1e-9), ("0.5", 0.5), ("1", 1.0), ("1e19", 1e19), ("1e20", np.inf),
     ("1e300", np.inf)],
)  # fmt: skip
def test_limits_of_a_model_are_as_written_unless_they_say_none(written, limit):
    assert UNLIMITED == 1e20
    robot = Robot.build(chain(("a", "revolute", f"-{written}", written, written, written)))
    assert robot.effort_limit.tolist() == robot.structure.velocity_limit.tolist() == [limit]
    if limit != np.inf:
        assert (robot.q_lower.tolist(), robot.q_upper.tolist()) == ([-limit], [limit])
    elif written != "0":
        assert (robot.q_lower.tolist(), robot.q_upper.tolist()) == ([-np.inf], [np.inf])


def test_a_continuous_joint_counts_its_turns(robots):
    (block,) = robots["wheel"].structure.blocks
    angles = np.linspace(-3.0, 20.0, 60)
    found = block.angles(np.column_stack([np.cos(angles), np.sin(angles)]))
    np.testing.assert_allclose(found, angles[:, None], **EXACT)


def test_the_bracket_is_how_neighbouring_motions_drift_apart(robot, rng):
    """Two motions of one velocity, by central differences of what lies between them."""
    q, v = robot.random(rng), rng.standard_normal(robot.nv)
    step, h = 1e-6 * rng.standard_normal(robot.nv), 1e-4
    near = robot.integrate(q, step)
    ends = [
        robot.difference(robot.integrate(q, x * v), robot.integrate(near, x * v)) for x in (h, -h)
    ]
    rate = (ends[0] - ends[1]) / (2.0 * h)
    np.testing.assert_allclose(rate / 1e-6, -robot.bracket(v) @ step / 1e-6, rtol=0.0, atol=1e-4)


def test_the_links_of_an_elastic_robot_are_pushed_as_springs_would():
    robot = elastic(9.0)
    alone = rigid_link_robot(robot)
    assert (alone.name, alone.elastic, alone.path) == ("two_link, links alone", None, None)
    q, v = np.array([0.1, 0.2, 0.5, 0.4]), np.array([1.0, 2.0, -1.0, 0.5])
    s, of_links = robot.snapshot(q, v), alone.snapshot(q, v)
    np.testing.assert_array_equal(of_links.M, s.M)
    np.testing.assert_array_equal(of_links.B, np.vstack([np.eye(2), np.zeros((2, 2))]))
    np.testing.assert_array_equal(s.B, np.vstack([np.zeros((2, 2)), np.eye(2)]))
    np.testing.assert_allclose(of_links.f, 0.0)
    stretched = 9.0 * (q[2:] - q[:2]) + 0.5 * (v[2:] - v[:2])
    np.testing.assert_allclose(s.f, [*stretched, *-stretched], **EXACT)


def test_a_floating_base_takes_a_free_name():
    taken = chain(("root", "revolute", -1, 1, 1, 1))
    assert Robot.build(taken, Options(floating_base=True)).joints[0] == "floating_root"
    free = chain(("a", "revolute", -1, 1, 1, 1))
    assert Robot.build(free, Options(floating_base=True)).joints[0] == "root"
