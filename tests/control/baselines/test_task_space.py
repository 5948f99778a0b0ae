"""Operational space and resolved acceleration beside the textbooks' formulas, written out."""

import numpy as np
import pinocchio as pin
import pytest

from ukctrl import Robot, Task
from ukctrl.control import Damping, OperationalSpace, Posture, ResolvedAcceleration, SelfMotion
from ukctrl.core.errors import InfeasibleConstraint
from ukctrl.mechanics.constraints import JointFollows, PointFollows
from ukctrl.mechanics.reference import Constant, Expression

TEXTBOOK = {"rtol": 0.0, "atol": 1e-9}  # inverses of matrices of condition 1e3
KP, KD = 80.0, 15.0
TOOL = "tool"


def circle(s):
    """Return the path at a time, with its derivatives."""
    c, d, w = np.cos(s), np.sin(s), 0.1
    return (
        np.array([0.4 + w * c, w * d, 0.4]),
        np.array([-w * d, w * c, 0.0]),
        np.array([-w * c, -w * d, 0.0]),
    )


PATH = Expression(x="0.4 + 0.1*cos(t)", y="0.1*sin(t)", z="0.4")


@pytest.fixture(params=range(5))
def state(request):
    """A seven-joint arm somewhere, and Pinocchio's quantities of it, in the local frames' terms."""
    robot, rng = Robot.load("panda"), np.random.default_rng(request.param)
    q = robot.random(rng)
    v = rng.uniform(-1.0, 1.0, robot.nv)
    model, data = robot.model, robot.model.createData()
    frame = next(i for i, f in enumerate(model.frames) if f.name == TOOL)
    world = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
    pin.computeJointJacobians(model, data, q)
    pin.updateFramePlacements(model, data)
    J = pin.getFrameJacobian(model, data, frame, world)[:3].copy()
    x = data.oMf[frame].translation.copy()
    pin.forwardKinematics(model, data, q, v, np.zeros(robot.nv))
    drift = pin.getFrameClassicalAcceleration(model, data, frame, world).linear.copy()
    M = pin.crba(model, data, q).copy()
    M = np.triu(M) + np.triu(M, 1).T
    nle = pin.nonLinearEffects(model, data, q, v).copy()
    gravity = pin.computeGeneralizedGravity(model, data, q).copy()
    friction = -model.damping * v  # what the model file asks for
    return robot, q, v, J, x, drift, M, nle, gravity, friction


def asked(t, x, J, v):
    r, r_dot, r_ddot = circle(t)
    return r_ddot - KD * (J @ v - r_dot) - KP * (x - r)


def command(controller, robot, q, v, t=0.3):
    servo = (PointFollows(frame=TOOL, path=PATH),)
    task = Task(robot=robot, servo=servo, q=robot.neutral, v=np.zeros(robot.nv))
    return controller.start(task).command(t, q, v).u


@pytest.mark.parametrize("null_space", [None, Damping(gain=3.0), Posture(kp=5.0, kd=2.0)])
def test_operational_space_is_khatibs(state, null_space):
    robot, q, v, J, x, drift, M, nle, gravity, friction = state
    u = command(OperationalSpace(kp=KP, kd=KD, null_space=null_space), robot, q, v)
    Minv = np.linalg.inv(M)
    Lambda = np.linalg.inv(J @ Minv @ J.T)
    Jbar = Minv @ J.T @ Lambda
    F = Lambda @ (asked(0.3, x, J, v) - drift) + Jbar.T @ (nle - friction)
    tau_0 = np.zeros(robot.nv)
    if isinstance(null_space, Damping):
        tau_0 = gravity - 3.0 * v
    elif isinstance(null_space, Posture):
        tau_0 = gravity + 5.0 * (robot.neutral - q) - 2.0 * v
    np.testing.assert_allclose(u, J.T @ F + (np.eye(7) - J.T @ Jbar.T) @ tau_0, **TEXTBOOK)


@pytest.mark.parametrize("kp", [0.0, 4.0])
def test_resolved_acceleration_is_that_of_luh_and_hsu(state, kp):
    robot, q, v, J, x, drift, M, nle, _, friction = state
    null_space = SelfMotion(kp=kp, kd=6.0)
    u = command(ResolvedAcceleration(kp=KP, kd=KD, null_space=null_space), robot, q, v)
    a_0 = kp * (robot.neutral - q) - 6.0 * v
    Jplus = J.T @ np.linalg.inv(J @ J.T)
    a = Jplus @ (asked(0.3, x, J, v) - drift) + (np.eye(7) - Jplus @ J) @ a_0
    np.testing.assert_allclose(u, M @ a + nle - friction, **TEXTBOOK)


@pytest.mark.parametrize("law", [OperationalSpace, ResolvedAcceleration])
def test_motors_that_repeat_each_other_share_what_one_would_give(law):
    """Two motors on one joint give together what one would, each by its gear."""
    motors = [
        {"kind": "joint", "joint": "shoulder"},
        {"kind": "joint", "joint": "elbow"},
        {"kind": "joint", "joint": "elbow", "name": "b", "gear": 2.0},
    ]
    row = (JointFollows(joints=("shoulder",), path=Constant(value=(0.3,))),)
    q, v = np.array([0.2, 0.9]), np.array([0.5, -0.3])
    answers = []
    for some in (motors[:2], motors):
        robot = Robot.load("two_link", override={"actuator": some})
        task = Task(robot=robot, servo=row, q=q, v=v)
        answers.append(law(kp=KP, kd=KD, null_space=None).start(task).command(0.0, q, v).u)
    one, two = answers
    np.testing.assert_allclose(two, [one[0], one[1] / 5.0, one[1] * 2.0 / 5.0], **TEXTBOOK)


def test_a_task_out_of_reach_is_refused_by_its_row():
    robot = Robot.load("two_link")
    servo = (PointFollows(frame="tool", path=PATH),)  # a plane arm, and a path beside it
    task = Task(robot=robot, servo=servo, q=robot.neutral, v=np.zeros(2))
    law = OperationalSpace(kp=1.0, kd=1.0).start(task)
    with pytest.raises(InfeasibleConstraint, match="tool"):
        law.command(0.3, np.array([0.3, 0.4]), np.zeros(2))


@pytest.mark.parametrize("law", [OperationalSpace, ResolvedAcceleration])
def test_the_null_space_is_the_documented_one_unless_another_is_given(state, law):
    robot, q, v, *_ = state
    named = law(kp=KP, kd=KD, null_space=SelfMotion(kd=10.0))
    plain, same = (command(each, robot, q, v) for each in (law(kp=KP, kd=KD), named))
    np.testing.assert_array_equal(plain, same)
