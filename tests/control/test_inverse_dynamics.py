"""With every coordinate prescribed, servo control is inverse dynamics: Pinocchio's RNEA."""

import numpy as np
import pinocchio as pin
import pytest

from ukctrl import Robot, Task, uk
from ukctrl.control import ComputedTorque, Exact, Servo
from ukctrl.mechanics.constraints import JointFollows
from ukctrl.mechanics.reference import Expression

EXACT = {"rtol": 0.0, "atol": 1e-10}


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("name", ["scara", "two_link"])
def test_the_servo_input_is_the_torque_of_the_recursive_newton_euler_algorithm(name, seed):
    rng = np.random.default_rng(seed)
    robot = Robot.load(name)
    q, v, a = robot.random(rng), rng.standard_normal(robot.nv), rng.standard_normal(robot.nv)
    s = robot.snapshot(q, v)
    a_free, G = uk.affine_acceleration(s.M, s.f - s.nle, s.B)
    u = uk.servo_input(np.eye(robot.nv), a, a_free, G)
    rnea = pin.rnea(robot.model, robot.model.createData(), q, v, a)
    np.testing.assert_allclose(s.B @ u, rnea - s.f, **EXACT)


def test_computed_torque_is_servo_control_of_the_joints():
    robot = Robot.load("two_link")
    path = Expression(components=("0.3*sin(2*t)", "0.5 + 0.2*cos(3*t)"))
    joints = JointFollows(joints=robot.dofs, path=path)
    rng = np.random.default_rng(1)
    q, v = rng.standard_normal(2), rng.standard_normal(2)
    task = Task(robot=robot, servo=(joints,), q=q, v=v)
    u = ComputedTorque(kp=100.0, kd=20.0, path=path).start(task).command(0.7, q, v).u
    r = path(0.7)
    wanted = r.r_ddot + 20.0 * (r.r_dot - v) + 100.0 * (r.r - q)
    rnea = pin.rnea(robot.model, robot.model.createData(), q, v, wanted)
    np.testing.assert_allclose(u, rnea - robot.snapshot(q, v).f, **EXACT)
    exact = Servo(feedback=Exact()).start(task).command(0.7, q, v).u
    rnea = pin.rnea(robot.model, robot.model.createData(), q, v, r.r_ddot)
    np.testing.assert_allclose(exact, rnea - robot.snapshot(q, v).f, **EXACT)
