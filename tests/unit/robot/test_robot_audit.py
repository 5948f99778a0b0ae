"""What loading says of a model: findings by code, errors in one line."""

import os
import re

import numpy as np
import pytest
from extras import needs
from pydantic import TypeAdapter

from ukctrl.core.errors import ModelError
from ukctrl.mechanics.constraints import AnyConstraint
from ukctrl.robot import Options, Robot

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


MESH = '<visual><geometry><mesh filename="package://no/such.stl"/></geometry></visual></link>'
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
        ("note", "continuous_joint", "k",
         "joint 'k' turns without end; formulas know it as k_cos and k_sin."),
    ),
    "floating": (replaced('name="j" type="revolute"', 'name="j" type="floating"'), NO_MOTOR),
    "planar": (replaced('name="j" type="revolute"', 'name="j" type="planar"'), NO_MOTOR),
    "planar, another normal": (
        replaced('name="k" type="revolute"', 'name="k" type="planar"'),
        ("warning", "planar_axis", "k", PLANAR_K),
        ("note", "no_actuator", "k", "no actuator acts on joint 'k'."),
    ),
    "planar, without a normal": (
        lambda m: m.replace('name="k" type="revolute"', 'name="k" type="planar"').replace(
            '<axis xyz="0 1 0"/>', ""
        ),
        ("warning", "planar_axis", "k", PLANAR_K),
        ("note", "no_actuator", "k", "no actuator acts on joint 'k'."),
    ),
    "tags": (
        replaced("</robot>", '<transmission name="t"/><transmission name="s"/><gazebo/>'
                 '<loop_joint name="x"/></robot>'),
        ("note", "transmission_ignored", "transmission",
         "transmissions are not read; list the actuators in robot.toml (<transmission> appears 2 "
         "times)."),
        ("note", "gazebo_ignored", "gazebo", "gazebo extensions are not read."),
        ("warning", "loop_joint_ignored", "loop_joint",
         "loop joints are not read; write them as [[passive]] constraints."),
    ),
    "mesh": (
        replaced("</link>", MESH, 1),
        ("note", "mesh_ignored", "mesh",
         "meshes are for looking at; shapes do not enter the dynamics."),
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
        NO_MOTOR,
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", ODD)
def test_what_is_odd_is_said_whole_and_nothing_else(load, case):
    change, *findings = ODD[case]
    assert load(change).audit == tuple(findings)


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
        (replaced("<limit", "<limits"), "does not specify limits"),
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


def test_a_continuous_mimic_joint_is_held_at_the_level_of_velocity(load):
    def mimicking(model):
        head, _, tail = model.rpartition("</joint>")
        return (head + MIMIC + tail).replace("revolute", "continuous")

    robot = load(mimicking)
    assert robot.passive[0]["psi"] == "v.k - -2.0*v.j"
    constraint = TypeAdapter(AnyConstraint).validate_python(dict(robot.passive[0]))
    rows = constraint.rows(robot.snapshot(robot.neutral, [1.0, 4.0]))
    np.testing.assert_allclose(rows.beta, [6.0])


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
         "the actuator 'p' has a law of its own (position, velocity, filter or muscle), which the "
         "plant lacks: it is read as the motor behind it, whose input is its force, and a "
         "controller takes the law's place. At rest without one nothing holds these joints."),
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
