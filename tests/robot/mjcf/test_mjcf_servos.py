"""Servos of MJCF files that keep their law: accelerations under commands, beside MuJoCo's own."""

from __future__ import annotations

import numpy as np
import pytest
from extras import needs

from ukctrl import Robot
from ukctrl.core.errors import ModelError
from ukctrl.robot import Options

pytestmark = needs("mujoco")
COMMANDS = Options(servos="commands")
ARM = """<mujoco><worldbody>
<body><joint name="j" axis="0 1 0" {joint}/><geom size=".1" pos=".3 0 0" mass="1"/>
<body pos=".5 0 0"><joint name="s" type="slide" axis="0 0 1" ref=".1"/><geom size=".1" mass="2"/>
<body><joint name="b" type="ball"/><geom size=".1" pos=".1 0 0" mass="1"/></body>
</body></body></worldbody><actuator>{actuators}</actuator></mujoco>"""
SERVOS = {
    "position": '<position name="a" joint="j" kp="20" kv="1" gear="3"/>',
    "position of a slide with ref": '<position name="a" joint="s" kp="20"/>',
    "velocity": '<velocity name="a" joint="s" kv="7" gear="-2"/>',
    "general, about another place": '<general name="a" joint="j" gainprm="5" biastype="affine" '
    'biasprm="0.7 -20 -3"/>',
    "two, and a motor": '<position name="a" joint="j" kp="20"/>'
    '<velocity name="b" joint="j" kv="2"/><motor name="c" joint="s" gear="4"/>',
}


def read(actuators, joint="", options=COMMANDS):
    return Robot.build(ARM.format(joint=joint, actuators=actuators), options)


def theirs(actuators, q, v, u, joint=""):
    import mujoco

    m = mujoco.MjModel.from_xml_string(ARM.format(joint=joint, actuators=actuators))
    data = mujoco.MjData(m)
    data.qpos[:], data.qvel[:] = [*q[:2], q[5], *q[2:5]], v
    data.ctrl[:] = u
    mujoco.mj_forward(m, data)
    return data.qacc


@pytest.mark.parametrize("case", SERVOS)
def test_a_servo_that_is_kept_moves_the_arm_as_mujoco_does(case):
    robot, rng = read(SERVOS[case]), np.random.default_rng(2)
    for _ in range(3):
        q, v, u = robot.random(rng), rng.standard_normal(5), rng.standard_normal(robot.nu)
        s = robot.snapshot(q, v)
        ours = np.linalg.solve(s.M, s.B @ u + s.f - s.nle)
        np.testing.assert_allclose(ours, theirs(SERVOS[case], q, v, u), rtol=1e-9, atol=1e-9)
    assert not [each for each in robot.audit if each.code.startswith("servo")]


def test_inputs_are_commands_in_their_own_units_within_their_range():
    robot = read(
        '<position name="a" joint="j" kp="20" ctrlrange="-1 2" gear="2"/>'
        '<velocity name="b" joint="s" kv="7" ctrlrange="-3 3"/>'
        '<position name="c" joint="s" kp="1"/>'
    )
    assert robot.actuator_units == ("rad", "m/s", "m")
    low, high = robot.input_bounds(np.zeros(3))
    assert low.tolist() == [-1.0, -3.0, -np.inf]
    assert high.tolist() == [2.0, 3.0, np.inf]


@pytest.mark.parametrize(
    ("actuator", "joint"),
    [
        ('<position name="a" joint="j" kp="20" forcerange="-5 5"/>', ""),
        ('<position name="a" joint="j" kp="20"/>', 'actuatorfrcrange="-5 5"'),
    ],
)
def test_a_largest_force_that_is_not_kept_is_told(actuator, joint):
    robot = read(actuator, joint)
    (told,) = (each for each in robot.audit if each.code == "servo_limit_told")
    assert told.level == "warning"
    assert told.message.startswith("the largest force of 'a', whose input is a command, is not in")
    assert np.isinf(robot.input_bounds(np.zeros(1))).all()


MOTORS = {
    "pushes away": '<general joint="j" gainprm="5" biastype="affine" biasprm="0 20 0"/>',
    "gains speed": '<general joint="j" gainprm="5" biastype="affine" biasprm="0 -20 3"/>',
    "only leans": '<general joint="j" gainprm="5" biastype="affine" biasprm="2 0 -3"/>',
    "behind a filter": '<general joint="j" gainprm="5" biastype="affine" biasprm="0 -5 0" '
    'dyntype="filter" dynprm="0.1"/>',
    "at a ball": '<position joint="b" kp="20"/>',
}


@pytest.mark.parametrize("case", MOTORS)
def test_what_is_no_servo_of_one_joint_is_the_motor_behind_it_and_told(case):
    robot = read(MOTORS[case])
    assert [each.code for each in robot.audit if "servo" in each.code] == ["servo_told"]
    assert "N" in robot.actuator_units[0] or robot.actuator_units[0] == "1"
    at_rest = robot.snapshot(robot.neutral)
    np.testing.assert_array_equal(at_rest.f, np.zeros(5))


def test_without_a_word_servos_are_motors():
    robot = read(SERVOS["position"], options=Options())
    assert robot.actuator_units == ("N m",)
    assert [each.code for each in robot.audit if "servo" in each.code] == ["servo_told"]


def test_a_file_that_can_have_none_says_so():
    text = "<robot name='r'><link name='a'/></robot>"
    with pytest.raises(ModelError, match="servos is for MJCF"):
        Robot.build(text, COMMANDS)
