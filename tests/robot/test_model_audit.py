"""What loading says of a model: findings by code, errors in one line."""

import os
import re
from types import SimpleNamespace

import numpy as np
import pytest
from extras import needs
from pydantic import TypeAdapter

from ukctrl.core.errors import ModelError
from ukctrl.mechanics.constraints import AnyConstraint
from ukctrl.robot import Options, Robot
from ukctrl.robot.model_audit import unit_diagnostics
from ukctrl.robot.schema.plant_tables import LagrangianTable
from ukctrl.robot.schema.robot_file import JointLimit

ROD = 'ixx="0.05" iyy="0.05" izz="0" ixy="0" ixz="0" iyz="0"'
GOOD = 'ixx="0.05" iyy="0.06" izz="0.07"'
ALL = f'{GOOD} ixy="0.004" ixz="-0.003" iyz="0.002"'


@pytest.fixture
def load(text):
    """Load a two-joint arm after a change to its text."""

    def build(change=lambda model: model, **options):
        parts = (
            text.body("a"), text.body("b"), text.body("c"),
            text.joint("j", "a", "b"), text.joint("k", "b", "c", axis="0 1 0"),
        )  # fmt: skip
        return Robot.build(change(text.urdf(*parts)), Options(**options))

    return build


def replaced(old, new, count=-1):
    def change(model):
        assert old in model
        return model.replace(old, new, count)

    return change


def emptied(link):
    inertial = rf'(<link name="{link}">)<inertial>.*?</inertial>'
    return lambda model: re.sub(inertial, r"\1", model, flags=re.DOTALL)


def codes(robot):
    return {(finding.level, finding.code, finding.subject) for finding in robot.audit}


def test_a_sound_model_has_no_findings(load, robots):
    assert load().audit == ()
    assert robots["scara"].audit == ()
    assert robots["two_link"].audit == ()


@pytest.mark.parametrize(
    "names",
    [
        {"joint": "x", "body": "j", "site": "t"},  # a body goes before a joint of its name
        {"joint": "b", "body": "x", "site": "j"},  # and so does a site
        {"joint": "b", "body": "j", "site": "t", "second": "j"},  # of those the first
    ],
)
def test_a_frame_that_is_no_joints_goes_before_a_joint_of_its_name_the_first_before_all(names):
    named = {"second": "s"} | names
    robot = Robot.build(
        """<mujoco><worldbody><body name="a"><freejoint name="f"/><inertial pos="0 0 0" mass="1"
        diaginertia="1 1 1"/><body name="BODY" pos="1 0 0"><joint name="JOINT"/><joint name="j"
        type="slide" pos="0 0 0"/><inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/><site
        name="SITE" pos="0 2 0"/><site name="SECOND" pos="0 0 3"/></body></body></worldbody>
        </mujoco>""".replace("BODY", named["body"])
        .replace("JOINT", named["joint"])
        .replace("SITE", named["site"])
        .replace("SECOND", named["second"])
    )
    where = robot.snapshot(robot.neutral).frame("j").position
    np.testing.assert_allclose(where, [1.0, 2.0 * (named["site"] == "j"), 0.0], atol=1e-12)


def test_a_joint_that_does_not_move_may_have_an_axis_of_zero(text):
    # Exporters write it there, where it means nothing.
    model = text.urdf(
        text.body("a"), text.body("b"), text.body("c"),
        text.joint("j", "a", "b", "fixed", "0 0 0"), text.joint("k", "b", "c"),
    )  # fmt: skip
    assert Robot.build(model).dofs == ("k",)


def test_a_moment_of_inertia_of_rounding_size_has_no_sign(load):
    point = 'ixx="1e-35" iyy="1e-35" izz="-2e-35" ixy="0" ixz="0" iyz="0"'
    assert ("error", "negative_inertia") not in {
        (level, code) for level, code, _ in codes(load(replaced(ALL, point, 1)))
    }


UNKNOWN = (
    "URDF knows nothing of the name, and so nothing of it is in the model: write in robot.toml "
    "what of it bears on the motion."
)
SHOWN = "It bears on pictures and contacts alone, not on the motion."
NO_LIMIT = "joint 'j' has no {} limit, which URDF asks for: taken as unlimited. Write the true one."


NO_RANGE_K = (
    "warning",
    "range_not_read",
    "k",
    "the range of continuous joint 'k' is not read, as URDF has it. Drake and urchin hold it; "
    'where the joint has one, write "revolute".',
)


def no_range(joint, kind):
    message = f"the range of {kind} joint '{joint}' is not read, as URDF has it."
    return ("warning", "range_not_read", joint, message)


def not_read(level, name, where, message):
    is_tag = name not in ("K", "tint", "age")
    shown = f"<{name}>" if is_tag else name
    return (level, "not_read", name, f"not read: {shown}{where}. {message}")


NO_MOTOR = ("note", "no_actuator", "j", "no actuator acts on joint 'j'.")
PLANAR_K = (
    "planar joint 'k' moves in the xy plane of its own frame; its axis is not read. "
    "Turn its <origin> instead."
)
MIMICS_K = (
    "joint 'j' mimics 'k'; it is kept as a joint without a motor, and the passive constraint "
    "{} = 0 holds it."
)
ODD = {
    "effort": (
        replaced('effort="7"', 'effort="0"', 1),
        ("warning", "zero_effort_limit", "j",
         "the effort limit of joint 'j' is zero; taken as unlimited. Write the true limit."),
    ),
    "velocity": (
        replaced('velocity="3"', 'velocity="0"', 1),
        ("warning", "zero_velocity_limit", "j",
         "the velocity limit of joint 'j' is zero; taken as unlimited."),
    ),
    "range": (
        replaced('lower="-2"', 'lower="2.5"', 1),
        ("warning", "no_range", "j",
         "both limits of joint 'j' are 2.5; use a fixed joint if it does not move, or leave the "
         "limits out."),
    ),
    "rod": (
        replaced(ALL, ROD, 1),
        ("warning", "zero_inertia", "a",
         "'a' has mass but a principal moment of zero, like a point or a thin rod."),
    ),
    "impossible": (
        replaced(ALL, 'ixx="0.05" iyy="0.06" izz="0.11001" ixy="0" ixz="0" iyz="0"', 1),
        ("warning", "impossible_inertia", "a",
         "no body has the principal moments of 'a' (0.05, 0.06, 0.11 kg m^2): the largest exceeds "
         "the sum of the others."),
    ),
    "just possible": (replaced(ALL, 'ixx="0.05" iyy="0.06" izz="0.11" ixy="0" ixz="0" iyz="0"'),),
    "massless": (
        replaced('value="1.0"', 'value="0"', 1),
        ("warning", "zero_mass", "a", "'a' has a rotational inertia but no mass."),
    ),
    "empty": (
        emptied("b"),
        ("note", "massless_joint", "j", "nothing that joint 'j' carries directly has mass."),
    ),
    "rubs": (
        replaced("</joint>", '<dynamics damping="0.3" friction="0.2"/></joint>', 1),
        ("note", "joint_damping", "j",
         "viscous damping of 0.3 at 'j', from the model file, is part of the plant."),
        ("note", "joint_friction", "j",
         "dry friction of 0.2 at 'j', from the model file, is part of the plant."),
    ),
    "renamed": (
        replaced('"k"', '"k-2"'),
        ("note", "renamed", "k-2", "formulas know joint 'k-2' as k_2."),
    ),
    "continuous": (
        replaced('name="k" type="revolute"', 'name="k" type="continuous"'),
        NO_RANGE_K,
        ("note", "continuous_joint", "k",
         "joint 'k' turns without end; formulas know it as k_cos and k_sin."),
    ),
    "floating": (replaced('name="j" type="revolute"', 'name="j" type="floating"'),
                 no_range("j", "floating"), NO_MOTOR),
    "planar": (replaced('name="j" type="revolute"', 'name="j" type="planar"'),
               no_range("j", "planar"), NO_MOTOR),
    "planar, another normal": (
        replaced('name="k" type="revolute"', 'name="k" type="planar"'),
        ("warning", "planar_axis", "k", PLANAR_K),
        no_range("k", "planar"),
        ("note", "no_actuator", "k", "no actuator acts on joint 'k'."),
    ),
    "planar, without a normal": (
        lambda m: m.replace('name="k" type="revolute"', 'name="k" type="planar"').replace(
            '<axis xyz="0 1 0"/>', ""
        ),
        ("warning", "planar_axis", "k", PLANAR_K),
        no_range("k", "planar"),
        ("note", "no_actuator", "k", "no actuator acts on joint 'k'."),
    ),
    "tags": (
        replaced("</robot>", '<loop_joint name="x"/><transmission name="t"/><transmission '
                 'name="s"/><gazebo reference="a"/><drake:linear_spring_damper/></robot>'),
        not_read("warning", "loop_joint", "", "Nothing closes the loop: write it as [[passive]] of "
                 "robot.toml, with kind = 'closure'."),
        not_read("warning", "drake:linear_spring_damper", "",
                 "Its force is missing: write it as [[force]] of robot.toml."),
        not_read("note", "transmission", ", and 1 more", "Every joint with one freedom has a motor "
                 "of unit gear; list the motors as [[actuator]] of robot.toml where these are "
                 "others."),
        not_read("note", "gazebo", "", "What it sets for a simulator is not in the model: springs, "
                 "damping or joints in it belong in robot.toml."),
    ),
    "attributes": (
        replaced("</joint>", '<dynamics damping="0" K="3"/><axis xyz="0 0 1"/></joint>', 1),
        not_read("warning", "K", " of joint 'j'",
                 "Its force is missing: write it as [[force]] of robot.toml."),
        ("warning", "not_read", "a second axis", "not read: a second <axis> of joint 'j'. The "
         "first alone is in the model: write one."),
    ),
    "pictures": (
        replaced("</link>", '<visual><geometry><box size="1 1 1"/></geometry><meshless/></visual>'
                 '<visual><geometry><mesh filename="m.stl" tint="2"/></geometry></visual></link>',
                 1),
        not_read("note", "meshless", " of link 'a'", SHOWN),
        not_read("note", "tint", " of link 'a'", SHOWN),
    ),
    "of no robot": (
        lambda m: m.replace("<robot ", '<robot xmlns:xacro="http://ros.org/wiki/xacro" age="3" ', 1)
        .replace('name="a">', 'name="a"><weight value="2"/>', 1),
        not_read("warning", "age", "", UNKNOWN),
        not_read("warning", "weight", " of link 'a'", UNKNOWN),
    ),
    "a slip of the pen": (
        replaced("<limit ", "<limits ", 1),
        ("warning", "no_effort_limit", "j", NO_LIMIT.format("effort")),
        ("warning", "no_velocity_limit", "j", NO_LIMIT.format("velocity")),
        not_read("warning", "limits", " of joint 'j'", UNKNOWN),
    ),
    "half a range": (
        replaced(' upper="2.5"', "", 1),
        ("warning", "half_a_range", "j", "the <limit> of joint 'j' has lower alone: upper is 0, as "
         "URDF has it; MuJoCo, Drake and urchin take it as unlimited. Write both."),
    ),
    "no velocity": (
        replaced('velocity="3"', "", 1),
        ("warning", "no_velocity_limit", "j", NO_LIMIT.format("velocity")),
    ),
    "no limit at all": (
        replaced('<limit lower="-2" upper="2.5" effort="7" velocity="3"/>', "", 1),
        ("warning", "no_effort_limit", "j", NO_LIMIT.format("effort")),
        ("warning", "no_velocity_limit", "j", NO_LIMIT.format("velocity")),
    ),
    "frame": (
        replaced('name="j"', 'name="c"'),
        ("note", "frame_name", "c",
         "'c' is both a link and a joint; the frame of that name is the link's."),
    ),
    "mimics": (
        replaced("</joint>", '<mimic joint="k" multiplier="-2" offset="0.1"/></joint>', 1),
        ("note", "mimic_joint", "j", MIMICS_K.format("j - (-2.0*k + 0.1)")),
        NO_MOTOR,
    ),
    "mimics as it is": (
        replaced("</joint>", '<mimic joint="k"/></joint>', 1),
        ("note", "mimic_joint", "j", MIMICS_K.format("j - (1.0*k + 0.0)")),
        NO_MOTOR,
    ),
    "mimics in vain": (
        lambda m: m.replace('name="j" type="revolute"', 'name="j" type="planar"').replace(
            "</joint>", '<mimic joint="k"/></joint>', 1
        ),
        ("warning", "mimic_joint", "j",
         "joint 'j' has several freedoms; its mimic tag is dropped."),
        no_range("j", "planar"),
        NO_MOTOR,
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", ODD)
def test_what_is_odd_is_said_whole_and_nothing_else(load, case):
    change, *findings = ODD[case]
    assert load(change).audit == tuple(findings)


def test_a_zero_limit_of_a_joint_without_ends_is_told_too(load):
    robot = load(lambda model: model.replace('type="revolute"', 'type="continuous"', 1)
                 .replace('effort="7"', 'effort="0"', 1).replace('velocity="3"', 'velocity="0"', 1)
                 )  # fmt: skip
    codes = {(one.code, one.subject) for one in robot.audit}
    assert {("zero_effort_limit", "j"), ("zero_velocity_limit", "j")} <= codes


def test_a_zero_effort_limit_counts_as_none(load):
    robot = load(replaced('effort="7"', 'effort="0"', 1))
    np.testing.assert_array_equal(robot.effort_limit, [np.inf, 7.0])


def test_of_a_joint_without_a_motor_no_effort_is_asked(load):
    """URDF requires a number all the same."""
    motors = [{"kind": "joint", "joint": "k"}]
    change = replaced('effort="7"', 'effort="0"', 2)
    codes = [(each.code, each.subject) for each in load(change, actuator=motors).audit]
    assert codes == [("zero_effort_limit", "k"), ("no_actuator", "j")]


LIMITS = "the lower limit of joint 'j' must not exceed the upper; got 3 and 2.5."
REFUSED = {
    "macros": (
        replaced("</robot>", '<xacro:arm prefix="left"/></robot>'),
        "not read: <xacro:arm>. It stands for links and joints that the robot would lack: expand "
        "the file, as 'xacro FILE > robot.urdf' does, or name the .xacro file itself.",
    ),
    "a turn as a quaternion": (
        replaced('rpy="0.4 0.1 -0.6"', 'quat_xyzw="0 0 1 0"', 1),
        "not read: quat_xyzw of joint 'j'. The parser would take no rotation for it: write it as "
        "rpy.",
    ),
    "light": (
        replaced('value="1.0"', 'value="-1.0"', 1),
        "the mass of 'a' must not be negative; got -1.0.",
    ),
    "heavy": (
        replaced('value="1.0"', 'value="1e16"', 1),
        "mass and inertia of 'a' must be finite and below 1e+15.",
    ),
    "broad": (
        replaced('ixx="0.05"', 'ixx="1e16"', 1),
        "mass and inertia of 'a' must be finite and below 1e+15.",
    ),
    "negative": (
        replaced(ALL, 'ixx="-0.05" iyy="0.06" izz="0.07" ixy="0" ixz="0" iyz="0"', 1),
        "the rotational inertia of 'a' must have no negative principal moment; got -0.05 kg m^2.",
    ),
    "limits": (replaced('lower="-2"', 'lower="3"', 1), LIMITS),
    "driving": (
        replaced("</joint>", '<dynamics damping="-0.3" friction="0"/></joint>', 1),
        "viscous damping of -0.3 at 'j', from the model file, must not be negative.",
    ),
    "axis": (replaced('xyz="0 1 0"', 'xyz="0 0 0"'), "the axis of joint 'k' must not be zero."),
    "loop": (
        replaced('<child link="c"/>', '<child link="b"/>'),
        "link 'b' is the child of joints 'j' and 'k'; a URDF is a tree. Cut the loop and close it "
        "with a [[passive]] constraint in robot.toml.",
    ),
    "rigid": (
        replaced('type="revolute"', 'type="fixed"'),
        "must have at least one joint that moves.",
    ),
    "mimics nobody": (
        replaced("</joint>", '<mimic joint="zz"/></joint>', 1),
        "joint 'j' mimics 'zz', which is not another moving joint. Known: k.",
    ),
    "mimics itself": (
        replaced("</joint>", '<mimic joint="j"/></joint>', 1),
        "joint 'j' mimics 'j', which is not another moving joint. Known: k.",
    ),
    "not a number": (
        replaced('value="1.0"', 'value="heavy"', 1),
        "not a valid URDF model: Inertial: mass [heavy] is not a float.",
    ),
    "unknown type": (
        replaced('name="j" type="revolute"', 'name="j" type="wobbly"'),
        "not a valid URDF model: Joint [j] has no known type [wobbly].",
    ),
    "no inertia": (
        emptied("c"),
        "the mass matrix is not positive definite: moving 'k' moves no inertia. Give the links "
        "beyond it a mass and an inertia, or make the joint fixed.",
    ),
    "another root": (
        lambda _: "<x/>",
        "the root element must be <robot> (URDF), <mujoco> (MJCF) or <sdf>; got <x>.",
    ),
    "entities": (
        lambda _: "<!DOCTYPE a><robot/>",
        "must not contain <!DOCTYPE> or entities; a robot model needs none.",
    ),
    "deep": (
        lambda _: "<robot>" + 256 * "<a>" + 256 * "</a>" + "</robot>",
        "elements are nested deeper than 256 levels.",
    ),
    "torn": (
        lambda _: "<robot>\n<a></robot>",
        "must be well-formed XML; line 2: mismatched tag.",
    ),
    "crowded": (
        replaced("</robot>", 999 * '<joint name="x"/>' + "</robot>"),
        "must have at most 1000 joints; got 1001.",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_simulated_is_refused_whole(load, case):
    change, message = REFUSED[case]
    with pytest.raises(ModelError) as caught:
        load(change)
    assert str(caught.value) == f"model text: {message}"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (replaced('value="1.0"', 'value="nan"'), r"mass \[nan\] is not a float"),
        (replaced('xyz="0 1 0"', 'xyz="nan 0 0"'), "Unable to parse component"),
        (replaced('name="k"', 'name="j"'), "joint 'j' is not unique"),
        (replaced('<link name="c">', '<link name="b">'), "link 'b' is not unique"),
        (replaced('<child link="c"/>', '<child link="z"/>'), r"child link \[z\].* not found"),
        (replaced('value="1.0"', 'value="1e400"'), "not a valid URDF|must be finite|not a float"),
        (lambda _: "<robot name='x'/>", "No link elements"),
    ],
)
def test_what_parsers_refuse_is_one_line_of_theirs(load, change, words):
    with pytest.raises(ModelError, match=words) as caught:
        load(change)
    assert "\n" not in str(caught.value)


def test_elements_may_be_nested_as_deep_as_the_parsers_bear():
    with pytest.raises(ModelError, match="No link elements"):
        Robot.build("<robot name='x'>" + 255 * "<a>" + 255 * "</a>" + "</robot>")


def test_parsers_do_not_write_to_the_terminal(load, capfd):
    with pytest.raises(ModelError):
        load(replaced('value="1.0"', 'value="heavy"'))
    out, err = capfd.readouterr()
    assert (out, err) == ("", "")


MIMIC = '<mimic joint="j" multiplier="-2" offset="0.1"/></joint>'


def test_a_mimic_joint_becomes_a_passive_constraint_without_a_motor(load):
    def mimicking(model):
        head, _, tail = model.rpartition("</joint>")
        return head + MIMIC + tail

    robot = load(mimicking)
    assert ("note", "mimic_joint", "k") in codes(robot)
    assert robot.actuators == ("j",)
    constraint = TypeAdapter(AnyConstraint).validate_python(dict(robot.passive[0]))
    assert constraint.unit == "rad"  # so that its reaction is a torque
    s = robot.snapshot([0.3, 0.5], [1.0, 4.0])
    rows = constraint.rows(s)
    np.testing.assert_allclose(rows.A, [[2.0, 1.0]])
    np.testing.assert_allclose(rows.phi, [0.5 - (-2 * 0.3 + 0.1)])
    np.testing.assert_allclose(rows.beta, [4.0 + 2.0])


@pytest.mark.parametrize(
    ("follower", "leader", "ratio", "angles", "rows"),
    [
        # the angle that follows is ratio * leader + 0.1, turns of both not counted
        ("continuous", "continuous", -2.0, (2.5, -4.9), [2.0, 1.0]),
        ("continuous", "continuous", 3.0, (2.5, 7.6), [-3.0, 1.0]),
        ("continuous", "revolute", -0.7, (2.5, -1.65), [0.7, 1.0]),
        ("revolute", "continuous", 0.5, (2.5, 1.35), [-0.5, 1.0]),
        ("revolute", "continuous", -0.25, (-3.0, 0.85), [0.25, 1.0]),
    ],
)
def test_a_mimic_of_a_joint_without_end_keeps_its_offset(
    load, follower, leader, ratio, angles, rows
):
    """There the rows hold it at the level of position, and off it they measure the angle."""

    def mimicking(model):
        head, _, tail = model.rpartition("</joint>")
        model = head + MIMIC.replace("-2", f"{ratio}") + tail
        model = model.replace('name="j" type="revolute"', f'name="j" type="{leader}"')
        return model.replace('name="k" type="revolute"', f'name="k" type="{follower}"')

    robot = load(mimicking)
    constraint = TypeAdapter(AnyConstraint).validate_python(dict(robot.passive[0]))
    assert constraint.unit == "rad"

    def at(first, second):
        q = []
        for angle, kind in ((first, leader), (second, follower)):
            q += [np.cos(angle), np.sin(angle)] if kind == "continuous" else [angle]
        return constraint.rows(robot.snapshot(q, [1.0, 4.0]))

    held = at(*angles)
    np.testing.assert_allclose(held.A, [rows], rtol=1e-14)
    np.testing.assert_allclose(held.phi, [0.0], atol=1e-14)
    np.testing.assert_allclose(held.beta, [rows[0] + 4.0 * rows[1]], rtol=1e-14)
    # of a difference x the rows say 2 tan(x / 2), scaled where the leader's turns count less
    scale = ratio if follower == "revolute" else 1.0
    off = 2.0 * scale * np.tan(0.02 / scale / 2.0)
    np.testing.assert_allclose(at(angles[0], angles[1] + 0.02).phi, [off], rtol=1e-12)
    assert abs(float(at(angles[0], angles[1] + 0.999 * np.pi * abs(scale)).phi[0])) > 100.0 * abs(
        scale
    )


def test_where_turns_would_have_to_be_counted_a_mimic_holds_velocities_and_says_so(load):
    def mimicking(model):
        head, _, tail = model.rpartition("</joint>")
        return (head + MIMIC.replace("-2", "-1.5") + tail).replace("revolute", "continuous")

    robot = load(mimicking)
    assert robot.passive[0]["psi"] == "v.k - -1.5*v.j"
    (told,) = (finding for finding in robot.audit if finding.code == "mimic_joint")
    assert told.level == "warning"
    assert "the offset 0.1 is kept only from a start that has it" in told.message


MJCF = """<mujoco model="m"><option gravity="0 0 -1.62"/><worldbody><body name="b">
<joint name="j" type="hinge" axis="0 1 0" {joint}/>
<geom type="sphere" pos="0.2 0 0" size="0.1" mass="1"/>
</body></worldbody>{extra}</mujoco>"""


TOUCHING = (
    "note", "contact_told", "contact", "contacts are not read; bodies pass through each other.",
)  # fmt: skip
LOSSES = (
    ("note", "joint_damping", "j",
     "viscous damping of 0.1 at 'j', from the model file, is part of the plant."),
    ("note", "joint_friction", "j",
     "dry friction of 0.2 at 'j', from the model file, is part of the plant."),
)  # fmt: skip
SAID = {
    "stiff": ('stiffness="3"', "", TOUCHING),
    "motor": ("", '<actuator><motor joint="j"/></actuator>', TOUCHING),
    "tied": ("", '<equality><joint joint1="j"/></equality>', TOUCHING),
    "contact": ("", "<contact/>", TOUCHING),
    "servo": (
        "", '<actuator><position name="p" joint="j"/></actuator>',
        ("warning", "servo_told", "p",
         "the law (position, velocity, filter or muscle) of 'p' is not in the plant: the input is "
         "the force of the motor behind it, and a controller takes the law's place. At rest "
         'without one nothing holds these joints; servos = "commands" in robot.toml keeps servos '
         "at joints."),
        TOUCHING,
    ),
    "rubs": ('damping="0.1" frictionloss="0.2"', "", TOUCHING, *LOSSES),
}  # fmt: skip


@needs("mujoco")
@pytest.mark.parametrize("case", SAID)
def test_what_is_said_of_an_mjcf_file_is_said_whole(case):
    joint, extra, *findings = SAID[case]
    assert Robot.build(MJCF.format(joint=joint, extra=extra)).audit == tuple(findings)


@needs("mujoco")
def test_the_gravity_of_an_mjcf_file_is_honoured_unless_another_is_given():
    model = MJCF.format(joint="", extra="")
    np.testing.assert_array_equal(Robot.build(model).gravity, [0.0, 0.0, -1.62])
    given = Robot.build(model, Options(gravity=(0.0, 0.0, -3.7))).gravity
    np.testing.assert_array_equal(given, [0.0, 0.0, -3.7])


def test_what_is_printed_after_a_model_was_read_appears(load, capfd):
    load()
    os.write(2, b"still here")
    assert capfd.readouterr().err == "still here"


def hinges(*limits):
    """Return names, units and limits of joints, each by lower, upper, fastest and unit."""
    table = [{"lower": -1.0, "upper": 1.0, "fastest": 5.0, "unit": "rad/s"} | one for one in limits]
    names = "abc"[: len(table)]
    return SimpleNamespace(
        blocks=[
            SimpleNamespace(shape="line", iq=k, iv=k, dofs=(name,), dof_units=(one["unit"],))
            for k, (name, one) in enumerate(zip(names, table, strict=True))
        ],
        q_lower=np.array([one["lower"] for one in table]),
        q_upper=np.array([one["upper"] for one in table]),
        velocity_limit=np.array([one["fastest"] for one in table]),
    )


@pytest.mark.parametrize(
    ("limits", "code"),
    [
        ({"lower": -6.2832, "upper": 6.2832}, []),  # two turns, rounded
        ({"lower": -6.45, "upper": 6.45}, ["wide_range"]),
        ({"lower": -4999.0, "upper": 5000.0}, ["wide_range"]),
        ({"lower": -5000.0, "upper": 5000.0}, []),  # there is none
        ({"lower": -180.0, "upper": 180.0, "unit": "m/s"}, []),
        ({"lower": -np.inf, "upper": np.inf}, []),
        ({"fastest": 60.0}, []),
        ({"fastest": 61.0}, ["fast_joint"]),
        ({"fastest": np.inf}, []),
        ({"fastest": 61.0, "unit": "m/s"}, []),
    ],
)
def test_numbers_that_are_likely_degrees(limits, code):
    assert [finding.code for finding in unit_diagnostics(hinges(limits))] == code


def test_what_many_joints_share_is_asked_once():
    wide = {"lower": -170.0, "upper": 170.0}
    found = list(unit_diagnostics(hinges(wide, wide, wide)))
    assert [(finding.code, finding.subject) for finding in found] == [("wide_range", "a")]
    assert found[0].message == (
        "joint 'a', and 2 more likewise, may turn from -170 to 170 rad, 54.1 times around; are "
        "these degrees? Write radians."
    )
    (fast,) = unit_diagnostics(hinges({"fastest": 180.0}))
    assert fast.message == (
        "joint 'a' may turn at 180 rad/s; are these degrees per second? Write radians per second."
    )


def test_a_range_in_degrees_is_asked_about_where_any_robot_is_loaded(load):
    told = load(limit=(JointLimit(joint="k", position=(-115.0, 115.0)),)).audit
    assert [(one.level, one.code, one.subject) for one in told] == [("warning", "wide_range", "k")]
    plant = LagrangianTable(coordinates=["x"], kinetic="v.x**2/2", limits={"x": (-115.0, 115.0)})
    assert "wide_range" in {one.code for one in Robot.build(plant).audit}


ARM = """title = "arm"
model = "arm.urdf"
[[actuator]]
kind = "joint"
joint = "turn"
{motor}
[[actuator]]
kind = "joint"
joint = "slide"
{second}
[[limit]]
joint = "turn"
{limit}
"""


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ({"motor": 'limit = "40*N*m"', "second": 'limit = "40*N"', "limit": 'velocity = 1'}, []),
        ({"motor": "limit = 40", "second": "limit = 40", "limit": 'position = ["-90*deg", 2]'}, []),
        (
            {"motor": 'limit = "40*N"'},
            ["limit of input 'turn' is in N m, and written '40*N'; 40 N m is taken. Is that meant? "
             'Write "40*N*m".'],
        ),
        (
            {"second": 'limit = [-3, "2*N*m"]\nrate_limit = "9*N*m/s"'},
            ["limit of input 'slide' is in N, and written '2*N*m'; 2 N is taken. Is that meant? "
             'Write "2*N".',
             "rate_limit of input 'slide' is in N/s, and written '9*N*m/s'; 9 N/s is taken. Is "
             'that meant? Write "9*N/s".'],
        ),
        (
            {"limit": 'position = ["-20*mm", "20*mm"]'},
            ["position of joint 'turn' is in rad, and written '-20*mm'; -0.02 rad is taken. Is "
             'that meant? Write "-0.02*rad".'],
        ),
        ({"motor": 'limit = "40*N"\nunit = "N"'}, []),  # a hinge behind a cylinder
    ],
)  # fmt: skip
def test_a_limit_in_the_unit_of_another_joint_is_asked_about(tmp_path, text, words, told):
    parts = (
        text.body("a"), text.body("b"), text.body("c"), text.joint("turn", "a", "b"),
        text.joint("slide", "b", "c", kind="prismatic"),
    )  # fmt: skip
    (tmp_path / "arm.urdf").write_text(text.urdf(*parts))
    lines = {"motor": "", "second": "", "limit": "velocity = 1"} | words
    (tmp_path / "robot.toml").write_text(ARM.format(**lines))
    audit = Robot.load(tmp_path / "robot.toml").audit
    assert [one.message for one in audit if one.code == "other_unit"] == told


PLANT = """title = "Cart"
[lagrangian]
coordinates = { x = "m", turn = "rad" }
kinetic     = "v.x**2/2 + v.turn**2/2"
inputs      = { F = { x = 1.0 } }
neutral     = { x = "2*cm", turn = "5*deg" }
limits      = { x = ["-90*deg", 2], turn = ["-3*rad", "3*rad"] }
"""
LINKAGE = """title = "Swing"
[linkage]
ground = { a = [0, 0], b = [1, 0] }
body   = [
  { name = "one", mass = 1, inertia = 0.1, points = { in = [-0.5, 0] } },
  { name = "bar0", mass = 1, inertia = 0.1, points = { in = [-0.5, 0] } },
]
joint  = [
  { kind = "revolute", points = ["ground.a", "one.in"] },
  { kind = "revolute", points = ["ground.b", "bar0.in"] },
]
motor  = [{ name = "first", bodies = ["ground", "one"], limit = "3*N" }]
[linkage.repeat.side]
count = 1
[[linkage.repeat.side.motor]]
name = "m{i}"
bodies = ["ground", "bar{i}"]
no_load_speed = "2*m/s"
corner_speed = "1*rad/s"
limit = "3*N*m"
"""


def test_coordinates_and_motors_of_plants_without_a_file_are_asked_about_too(tmp_path):
    for name, text in (("plant", PLANT), ("linkage", LINKAGE)):
        (tmp_path / f"{name}.toml").write_text(text)
    told = [
        [one.message for one in Robot.load(tmp_path / f"{name}.toml").audit
         if one.code == "other_unit"]
        for name in ("plant", "linkage")
    ]  # fmt: skip
    assert told == [
        ["x of lagrangian.limits is in m, and written '-90*deg'; -1.5708 m is taken. Is that "
         'meant? Write "-1.5708*m".'],
        ["limit of motor 'first' is in N m, and written '3*N'; 3 N m is taken. Is that meant? "
         'Write "3*N*m".',
         "no_load_speed of motor 'm{i}' is in rad/s, and written '2*m/s'; 2 rad/s is taken. Is "
         'that meant? Write "2*rad/s".'],
    ]  # fmt: skip
