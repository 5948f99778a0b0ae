"""What loading says of a model: findings by code, errors in one line."""

import re

import numpy as np
import pytest
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


def codes(robot):
    return {(finding.level, finding.code, finding.subject) for finding in robot.audit}


def test_a_sound_model_has_no_findings(load, robots):
    assert load().audit == ()
    assert robots["scara"].audit == ()
    assert robots["two_link"].audit == ()


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


@pytest.mark.parametrize(
    ("change", "finding"),
    [
        (replaced('effort="7"', 'effort="0"', 1), ("warning", "zero_effort_limit", "j")),
        (replaced('velocity="3"', 'velocity="0"', 1), ("warning", "zero_velocity_limit", "j")),
        (replaced('lower="-2"', 'lower="2.5"', 1), ("warning", "no_range", "j")),
        (replaced(ALL, ROD), ("warning", "zero_inertia", "b")),
        (replaced(GOOD, 'ixx="0.05" iyy="0.06" izz="0.2"'), ("warning", "impossible_inertia", "b")),
        (replaced('value="1.0"', 'value="0"'), ("warning", "zero_mass", "b")),
        (
            replaced("</joint>", '<dynamics damping="0.3" friction="0"/></joint>', 1),
            ("note", "joint_damping", "j"),
        ),
        (replaced('"k"', '"k-2"'), ("note", "renamed", "k-2")),
        (replaced('name="k" type="revolute"', 'name="k" type="continuous"'),
         ("note", "continuous_joint", "k")),
        (replaced('name="j" type="revolute"', 'name="j" type="floating"'),
         ("note", "no_actuator", "j")),
        (
            replaced('name="j" type="revolute"', 'name="j" type="planar"'),
            ("note", "no_actuator", "j"),
        ),
        (replaced("</robot>", '<transmission name="t"/></robot>'),
         ("note", "transmission_ignored", "transmission")),
        (replaced("</robot>", "<gazebo/></robot>"), ("note", "gazebo_ignored", "gazebo")),
        (
            replaced("</link>", '<visual><geometry><mesh filename="package://no/such.stl"/>'
                     "</geometry></visual></link>", 1),
            ("note", "mesh_ignored", "mesh"),
        ),
        (replaced('name="j"', 'name="c"'), ("note", "frame_name", "c")),
    ],
)  # fmt: skip
def test_what_is_odd_is_reported(load, change, finding):
    assert finding in codes(load(change))


def test_a_planar_joint_with_another_normal_is_reported(load):
    change = replaced('name="k" type="revolute"', 'name="k" type="planar"')
    assert ("warning", "planar_axis", "k") in codes(load(change))


def test_a_zero_effort_limit_counts_as_none(load):
    robot = load(replaced('effort="7"', 'effort="0"', 1))
    np.testing.assert_array_equal(robot.effort_limit, [np.inf, 7.0])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (replaced('value="1.0"', 'value="-1.0"'), "mass of 'a' must not be negative; got -1.0"),
        (replaced(GOOD, 'ixx="-0.05" iyy="0.06" izz="0.07"'), "no negative principal moment"),
        (replaced('value="1.0"', 'value="nan"'), r"mass \[nan\] is not a float"),
        (replaced('value="1.0"', 'value="heavy"'), r"mass \[heavy\] is not a float"),
        (replaced('xyz="0 1 0"', 'xyz="0 0 0"'), "the axis of joint 'k' must not be zero"),
        (replaced('xyz="0 1 0"', 'xyz="nan 0 0"'), "Unable to parse component"),
        (replaced('lower="-2"', 'lower="3"'), "the lower limit of joint 'j' must not exceed"),
        (replaced('name="k"', 'name="j"'), "joint 'j' is not unique"),
        (replaced('<link name="c">', '<link name="b">'), "link 'b' is not unique"),
        (replaced('<child link="c"/>', '<child link="b"/>'), "child of joints 'j' and 'k'"),
        (replaced('<child link="c"/>', '<child link="z"/>'), r"child link \[z\].* not found"),
        (replaced('type="revolute"', 'type="wobbly"'), "no known type"),
        (replaced('type="revolute"', 'type="fixed"'), "at least one joint that moves"),
        (replaced("</joint>", '<dynamics damping="-1" friction="0"/></joint>'), "not be negative"),
        (replaced("<limit", "<limits"), "does not specify limits"),
        (replaced("</joint>", '<mimic joint="zz"/></joint>'), "mimics 'zz', which is not"),
        (replaced('value="1.0"', 'value="1e400"'), "not a valid URDF|must be finite|not a float"),
        (lambda _: "<robot name='x'/>", "No link elements"),
    ],
)  # fmt: skip
def test_what_cannot_be_simulated_is_refused(load, change, message):
    with pytest.raises(ModelError, match=message) as caught:
        load(change)
    assert "\n" not in str(caught.value)


def test_a_joint_that_moves_no_inertia_is_refused_by_name(load):
    def emptied(model):
        return re.sub(r'(<link name="c">)<inertial>.*?</inertial>', r"\1", model, flags=re.DOTALL)

    with pytest.raises(ModelError, match=r"moving 'k' moves no inertia\. Give the links"):
        load(emptied)


def test_a_massless_link_between_joints_is_no_error(load):
    def emptied(model):
        return re.sub(r'(<link name="b">)<inertial>.*?</inertial>', r"\1", model, flags=re.DOTALL)

    assert ("note", "massless_joint", "j") in codes(load(emptied))


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


@pytest.mark.parametrize(
    ("joint", "extra", "code"),
    [
        ('stiffness="3"', "", "stiffness_ignored"),
        ("", '<actuator><motor joint="j"/></actuator>', "actuator_ignored"),
        ("", '<equality><joint joint1="j"/></equality>', "equality_ignored"),
        ("", '<tendon><spatial name="s"/></tendon>', "tendon_ignored"),
        ('damping="0.1"', "", "joint_damping"),
        ('frictionloss="0.1"', "", "joint_friction"),
    ],
)
def test_what_mjcf_says_in_vain_is_reported(joint, extra, code):
    robot = Robot.build(MJCF.format(joint=joint, extra=extra))
    assert code in {finding.code for finding in robot.audit}


def test_the_gravity_of_an_mjcf_file_is_honoured_unless_another_is_given():
    model = MJCF.format(joint="", extra="")
    np.testing.assert_array_equal(Robot.build(model).gravity, [0.0, 0.0, -1.62])
    given = Robot.build(model, Options(gravity=(0.0, 0.0, -3.7))).gravity
    np.testing.assert_array_equal(given, [0.0, 0.0, -3.7])


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ('<mujoco><include file="x.xml"/></mujoco>', "<include> is not read"),
        ("<mujoco/>", "no body found"),
        (MJCF.format(joint="", extra="").replace("0 0 -1.62", "down"), "gravity must be three"),
        (MJCF.format(joint="", extra="").replace("hinge", "wobbly"), "Unknown joint type"),
    ],
)
def test_mjcf_that_would_lose_something_is_refused(model, message):
    with pytest.raises(ModelError, match=message):
        Robot.build(model)


def test_a_floating_base_is_refused_for_mjcf():
    with pytest.raises(ModelError, match="write <freejoint/>"):
        Robot.build(MJCF.format(joint="", extra=""), Options(floating_base=True))


def test_sdf_is_read_or_refused_in_one_line():
    with pytest.raises(ModelError, match="cannot read SDF; convert the model to URDF"):
        Robot.build('<sdf version="1.7"><model name="m"/></sdf>')
