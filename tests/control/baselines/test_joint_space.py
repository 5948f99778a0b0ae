"""Joint-space baselines on robots with springs, loops and joints without limits."""

import numpy as np
import pytest

from ukctrl import Robot, Scenario, simulate
from ukctrl.control import ComputedTorque, JointPid, PdGravity
from ukctrl.core.errors import InputError
from ukctrl.mechanics.constraints import Expression, JointFollows
from ukctrl.mechanics.reference import Expression as Path
from ukctrl.robot import JointDamper, JointSpring, Lagrangian, Options

FOLLOWED = {"rtol": 0.0, "atol": 1e-8}  # the spline and the integrator

FOUR_BAR = {"actuator": [{"kind": "joint", "joint": "rod0_angle"}]}
THREE = {"actuator": [{"kind": "joint", "joint": f"rod{i}_angle"} for i in range(3)]}


def run(robot, servo, controller, start=None, duration=6.0, **more):
    scenario = Scenario(
        title="joint space", robot=robot, servo=servo, controller=controller,
        start=start or {}, timing={"duration": duration, "sample": 0.05}, **more,
    )  # fmt: skip
    return simulate(scenario)


def sprung_arm():
    spring = JointSpring(joint="a", stiffness=30.0, rest=0.4)
    damper = JointDamper(joint="b", damping=0.5)
    return Robot.build(
        Lagrangian(
            coordinates=["a", "b"],
            kinetic="v.a**2 + v.b**2/2 + cos(a - b)*v.a*v.b/2",
            potential="-20*cos(a) - 5*cos(b)",
        ),
        Options(force=[spring, damper]),
        name="sprung",
    )


def test_pd_holds_a_robot_with_springs_without_error():
    robot = sprung_arm()
    servo = (Expression(phi=("a - 0.7", "b + 0.3")),)
    result = run(robot, servo, PdGravity(kp=20.0, kd=12.0), duration=12.0)
    assert result.status == "completed"
    np.testing.assert_allclose(result["q"][-1], [0.7, -0.3], atol=1e-5)
    s = robot.snapshot([0.7, -0.3])
    np.testing.assert_allclose(s.M @ result["a"][-1], 0.0, atol=1e-4)
    np.testing.assert_allclose(result["u"][-1], s.gravity + np.array([9.0, 0.0]), atol=1e-4)


@pytest.mark.parametrize("motors", [FOUR_BAR, THREE], ids=["one motor", "three motors"])
def test_pd_carries_a_linkage_where_it_stands(motors):
    """At any configuration of the loop the input at rest leaves it at rest."""
    robot = Robot.load("n_four_bar", override=motors)
    scenario = Scenario(
        title="bars", robot=robot, servo=(Expression(phi="rod0_angle - 1.1", unit="rad"),),
        controller=PdGravity(kp=200.0, kd=60.0), start={"solve": True},
        timing={"duration": 8.0, "sample": 0.1},
    )  # fmt: skip
    result = simulate(scenario)
    assert result.status == "completed"
    np.testing.assert_allclose(result["phi"][-1], 0.0, atol=1e-6)
    np.testing.assert_allclose(result["a"][-1], 0.0, atol=1e-5)
    # Gravity by hand: three rods and two couplers of 1 kg turn about their feet as one.
    load = (3 / 2 + 2) * 9.81 * np.cos(1.1)
    np.testing.assert_allclose(result["u"][-1].sum(), load, rtol=1e-6)
    np.testing.assert_allclose(result["u"][-1], load / robot.nu, rtol=1e-6)


@pytest.mark.slow
def test_computed_torque_moves_a_linkage_by_its_free_joint():
    robot = Robot.load("n_four_bar", override=FOUR_BAR)
    servo = (Expression(phi="rod0_angle - pi/2 - 0.4*sin(t)", unit="rad"),)
    result = run(
        robot, servo, ComputedTorque(kp=100.0, kd=20.0), duration=3.0,
        start={"solve": True}, integrator={"method": "DOP853", "rtol": 1e-10, "atol": 1e-12},
    )  # fmt: skip
    assert result.status == "completed"
    np.testing.assert_allclose(result["phi"][-5:], 0.0, atol=1e-6)
    assert np.abs(result["passive_phi"]).max() < 1e-6


def test_the_integral_carries_gravity_without_a_model():
    robot = Robot.load("two_link")
    servo = (Expression(phi=("shoulder - 0.5", "elbow - 0.4")),)
    start = {"q": {"shoulder": 0.4, "elbow": 0.4}}
    result = run(robot, servo, JointPid(kp=200.0, ki=300.0, kd=40.0), start, duration=8.0)
    assert result.status == "completed"
    np.testing.assert_allclose(result["phi"][-1], 0.0, atol=1e-4)
    np.testing.assert_allclose(result["u"][-1], robot.snapshot([0.5, 0.4]).gravity, atol=1e-2)
    without = run(robot, servo, JointPid(kp=200.0, ki=0.0, kd=40.0), start, duration=8.0)
    assert np.abs(without["phi"][-1]).max() > 1e-2


@pytest.mark.slow
def test_a_joint_without_limits_follows_beyond_a_turn():
    urdf = """<robot name="wheel"><link name="base"/><link name="disc"><inertial>
      <origin xyz="0.1 0 0"/><mass value="1"/>
      <inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
      <joint name="turn" type="continuous"><parent link="base"/><child link="disc"/>
      <axis xyz="0 1 0"/></joint></robot>"""
    robot = Robot.build(urdf)
    servo = (JointFollows(joints=("turn",), path=Path(components=("4*t",))),)
    result = run(robot, servo, ComputedTorque(kp=100.0, kd=20.0), duration=3.0,
                 start={"v": {"turn": 4.0}})  # fmt: skip
    assert result.status == "completed"
    np.testing.assert_allclose(result["phi"], 0.0, **FOLLOWED)


def test_velocity_constraints_and_missing_motors_are_refused():
    edge = Robot.build(
        Lagrangian(
            coordinates={"x": "m", "y": "m", "h": "rad"}, kinetic="v.x**2 + v.y**2 + v.h**2/4"
        ),
        Options(
            passive=[{"kind": "expression", "psi": "v.x*sin(h) - v.y*cos(h)", "name": "blade"}]
        ),
    )
    servo = (Expression(phi="x - t"),)
    with pytest.raises(InputError, match="passive row 'blade' must have a position level"):
        run(edge, servo, PdGravity(kp=1.0, kd=1.0))
    robot = Robot.load("n_four_bar")
    with pytest.raises(InputError, match="a motor for each of its 1 freedoms.*motors reach 0"):
        run(robot, (Expression(phi="rod0_angle - 1.5"),), JointPid(kp=1.0, ki=0.0, kd=1.0),
            start={"solve": True})  # fmt: skip
