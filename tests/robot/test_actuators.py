"""Actuators: the power of every input, by its own definition."""

import numpy as np
import pytest

from ukctrl.core.errors import InputError, ModelError, UnknownName
from ukctrl.robot import JointMotor, Options, Robot, TorqueBetween, Transmission, Wrench

EXACT = {"rtol": 0.0, "atol": 1e-12}


def power(robot, s, name, u=1.7):
    """Return the power of one input by the matrix B."""
    return u * s.B[:, robot.actuators.index(name)] @ s.v


@pytest.fixture(params=[False, True], ids=["fixed", "floating"])
def make(request, text):
    def build(*actuators):
        return Robot.build(text.tree, Options(floating_base=request.param, actuator=actuators))

    return build


def drawn(robot, rng):
    return robot.snapshot(robot.random(rng), rng.standard_normal(robot.nv))


def rate_of(s, name):
    return s.v[s.robot.dofs.index(name)]


def test_without_a_list_every_joint_with_one_freedom_has_a_motor(robots):
    robot = robots["floating_arm"]
    assert robot.actuators == ("shoulder", "elbow", "wrist")
    assert robot.actuator_units == ("N m",) * 3
    np.testing.assert_array_equal(robot.effort_limit, [8.0, 5.0, 1.0])
    np.testing.assert_array_equal(robot.snapshot(robot.neutral).B[6:], np.eye(3))
    assert not robot.snapshot(robot.neutral).B[:6].any()


def test_an_empty_list_means_no_actuators(make):
    robot = make()
    assert robot.nu == 0
    assert robot.snapshot(robot.neutral).B.shape == (robot.nv, 0)


def test_a_joint_motor_does_the_power_of_its_gear(make, rng):
    robot = make(JointMotor(joint="right_slide", name="m", gear=-3.0))
    s = drawn(robot, rng)
    np.testing.assert_allclose(power(robot, s, "m"), 1.7 * -3.0 * rate_of(s, "right_slide"))
    assert robot.actuator_units == ("N",)


def test_a_gear_divides_the_effort_limit_of_the_model(make):
    robot = make(
        JointMotor(joint="left_shoulder", gear=-2.0), JointMotor(joint="left_wrist", limit=1.5)
    )  # fmt: skip
    np.testing.assert_array_equal(robot.effort_limit, [3.5, 1.5])
    assert robot.actuators == ("left_shoulder", "left_wrist")


def test_a_motor_can_turn_one_freedom_of_a_ball_joint(text, rng):
    robot = Robot.build(text.ball, Options(actuator=[JointMotor(joint="ball_wy", name="m")]))
    s = drawn(robot, rng)
    np.testing.assert_allclose(power(robot, s, "m"), 1.7 * rate_of(s, "ball_wy"))


def test_a_tendon_does_the_power_of_its_shortening(make, rng):
    robot = make(
        Transmission(name="tendon", ratios={"left_shoulder": 0.03, "left_wrist": -0.02}, limit=50.0)
    )
    s = drawn(robot, rng)
    shortening = 0.03 * rate_of(s, "left_shoulder") - 0.02 * rate_of(s, "left_wrist")
    np.testing.assert_allclose(power(robot, s, "tendon"), 1.7 * shortening, **EXACT)
    np.testing.assert_array_equal(robot.effort_limit, [50.0])


def test_a_transmission_matrix_maps_inputs_to_joint_efforts(make, rng):
    matrix = ((1.0, 1.0, 0.5), (1.0, -1.0, 0.0))
    robot = make(
        Transmission(
            names=("a", "b", "c"), joints=("right_slide", "left_shoulder"), matrix=matrix, unit="V"
        )
    )
    s, u = drawn(robot, rng), rng.standard_normal(3)
    efforts = np.array(matrix) @ u
    expected = efforts @ [rate_of(s, "right_slide"), rate_of(s, "left_shoulder")]
    np.testing.assert_allclose((s.B @ u) @ s.v, expected, **EXACT)
    assert robot.actuator_units == ("V", "V", "V")


@pytest.mark.parametrize(
    "frames", [("left_hand", "right_hand"), ("world", "left_hand"), ("right_arm", "trunk")]
)
def test_a_torque_between_two_frames_does_the_power_of_their_relative_turning(make, rng, frames):
    axis = np.array([1.0, 2.0, -2.0])
    robot = make(TorqueBetween(name="m", frames=frames, axis=tuple(axis)))
    s = drawn(robot, rng)
    first, second = (s.frame(name) for name in frames)
    turning = (first.rotation @ axis / 3.0) @ (second.velocity[3:] - first.velocity[3:])
    np.testing.assert_allclose(power(robot, s, "m"), 1.7 * turning, **EXACT)


@pytest.mark.parametrize("frame", ["left_hand", "right_slide"])
def test_a_wrench_does_the_power_of_its_force_and_torque(make, rng, frame):
    force, torque = np.array([0.2, -1.0, 0.5]), np.array([0.0, 0.3, -0.1])
    robot = make(Wrench(name="jet", frame=frame, force=tuple(force), torque=tuple(torque)))
    s = drawn(robot, rng)
    motion = s.frame(frame)
    expected = (motion.rotation @ force) @ motion.velocity[:3]
    expected += (motion.rotation @ torque) @ motion.velocity[3:]
    np.testing.assert_allclose(power(robot, s, "jet"), 1.7 * expected, **EXACT)


@pytest.mark.parametrize(
    ("given", "unit"),
    [
        ({"force": (0, 0, 1)}, "N"),
        ({"torque": (0, 0, 1)}, "N m"),
        ({"force": (0, 0, 0), "torque": (0, 0, 1)}, "N m"),
        ({"force": (0, 0, 1), "torque": (0, 0, 1)}, "N"),
        ({"force": (0, 0, 1), "unit": "1"}, "1"),
    ],
)
def test_the_unit_of_a_wrench_is_that_of_its_force_unless_another_is_given(make, given, unit):
    assert make(Wrench(name="jet", frame="left_hand", **given)).actuator_units == (unit,)


def test_columns_that_depend_on_the_configuration_move_with_the_snapshot(make, rng):
    robot = make(
        Wrench(name="jet", frame="left_hand", force=(1, 0, 0)), JointMotor(joint="left_wrist")
    )
    s = drawn(robot, rng)
    q, v = robot.random(rng), rng.standard_normal(robot.nv)
    s.move(q, v)
    np.testing.assert_array_equal(s.B, robot.snapshot(q, v).B)
    assert robot.actuation.varies


def test_a_torque_between_links_of_a_planar_arm_is_found_to_be_constant(robots):
    scara = robots["scara"]
    spec = TorqueBetween(name="m", frames=("link1", "link3"), axis="z")
    robot = Robot.build(scara.path.parent / "scara.urdf", Options(actuator=[spec]))
    assert not robot.actuation.varies
    np.testing.assert_allclose(robot.snapshot(robot.neutral).B[:, 0], [0.0, 1.0, 1.0, 0.0], **EXACT)


@pytest.mark.parametrize(
    ("actuators", "message"),
    [
        ([JointMotor(joint="elbw")], "no joint named 'elbw'; did you mean 'elbow'"),
        ([JointMotor(joint="root")], "joint 'root' has 6 freedoms; name one of root_vx"),
        ([JointMotor(joint="elbow", gear=0.0)], "gear of the motor at joint 'elbow'"),
        ([Wrench(name="w", frame="tol", force=(1, 0, 0))], "no frame named 'tol'"),
        ([TorqueBetween(name="m", frames=("hand", "tool"), axis="x")], "are on one body"),
        ([Transmission(name="m", ratios={"wrist": 1.0, "elbw": 1.0})], "no joint named 'elbw'"),
    ],
)
def test_an_actuator_that_does_not_fit_the_robot_is_refused(robots, actuators, message):
    path = robots["floating_arm"].path.parent / "floating_arm.urdf"
    with pytest.raises((ModelError, InputError, UnknownName), match=message):
        Robot.build(path, Options(floating_base=True, actuator=actuators))


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: Transmission(name="m"),
        lambda: Transmission(name="m", ratios={}),
        lambda: Transmission(name="m", ratios={"a": 1.0}, joints=("a",)),
        lambda: Transmission(names=("a",), joints=("b",), matrix=((1.0, 2.0),)),
        lambda: Wrench(name="w", frame="tool"),
        lambda: Wrench(name="w", frame="tool", force=(0, 0, 0)),
        lambda: TorqueBetween(name="m", frames=("a", "b"), axis=(0, 0, 0)),
        lambda: JointMotor(joint="a", limit=-1.0),
        lambda: JointMotor(joint="a", gear=float("nan")),
    ],
)
def test_an_actuator_that_makes_no_sense_is_refused(wrong):
    with pytest.raises(ValueError, match=r"must|needs"):
        wrong()
