"""A user's own laws and feedbacks in the loop, and what the loop must not take on trust."""

import dataclasses as dc

import numpy as np
import pytest

from ukctrl import Command, Controller, Law, Robot, Scenario, Stack, Task, simulate
from ukctrl.control import (
    Baumgarte,
    BoundFeedback,
    Feedback,
    LeastNorm,
    Pid,
    Posture,
    Servo,
)
from ukctrl.core.errors import InputError, ShapeError
from ukctrl.mechanics.constraints import JointFollows
from ukctrl.mechanics.dynamics import Dynamics
from ukctrl.mechanics.reference import Constant, MinJerk
from ukctrl.robot import JointMotor, Options, Perturbation
from ukctrl.simulation.scenario import BelievedRobot

RUN = {"timing": {"duration": 1.0, "sample": 0.1}}


@dc.dataclass(frozen=True)
class Idle(Controller):
    def start(self, task):
        return IdleLaw(task)


class IdleLaw(Law):
    def step(self, dynamics, memory):
        return Command(np.zeros(dynamics.robot.nu), memory)


@pytest.mark.parametrize("control", [None, 0.05], ids=["continuous", "sampled"])
def test_the_errors_of_a_law_that_never_looks_at_the_rows_are_measured_all_the_same(control):
    scenario = Scenario.load("scara-helix", RUN).replace({"controller": Idle()})
    if control:
        scenario = scenario.replace({"timing.control": control})
    run = simulate(scenario)
    robot = Robot.load("scara")
    last = Stack(scenario.servo, robot).write(robot.snapshot(run["q"][-1], run["v"][-1], 1.0))
    assert run.metric("final_phi") > 0.1
    np.testing.assert_allclose(run["phi"][-1], last.phi, rtol=0.0, atol=1e-12)


@dc.dataclass(frozen=True)
class Integrating(Controller):
    """Lends the recorder's own arrays, as a user would write it."""

    def start(self, task):
        return IntegratingLaw(task)


class IntegratingLaw(Law):
    def __init__(self, task):
        super().__init__(task)
        self.memory = np.zeros(len(self.stack))

    def step(self, dynamics, memory):
        rows = self.stack.write(dynamics.snapshot)
        pull = rows.phi + 0.3 * memory + 0.3 * rows.beta
        force = dynamics.snapshot.nle - 4.0 * rows.A.T @ pull
        return Command(force, rows.phi)


def test_how_often_samples_are_taken_does_not_change_a_sampled_motion():
    base = Scenario.load("scara-helix-drift", {"monitor.joint_error": False})
    ends = []
    for sample in (0.02, 0.005):
        timing = {"duration": 0.5, "sample": sample, "control": 0.02}
        run = simulate(base.replace({"timing": timing, "controller": Integrating()}))
        assert run.status == "completed"
        ends.append(run["q"][-1])
    np.testing.assert_allclose(ends[0], ends[1], rtol=0.0, atol=1e-8)


@dc.dataclass(frozen=True)
class Saturating(Feedback):
    """A feedback with a bounded answer: not linear, so not of the catalogue."""

    bound: float = 5.0

    def attach(self, stack):
        return BoundSaturating(self.bound)


class BoundSaturating(BoundFeedback):
    memory = np.zeros(0)

    def __init__(self, bound):
        self.bound = bound

    def demand(self, rows, memory):
        return rows.b - self.bound * np.tanh(rows.phi * 50.0) - 20.0 * rows.beta

    def memory_rate(self, rows, memory):
        return self.memory


def test_a_feedback_of_ones_own_takes_part_in_servo_control():
    controller = Servo(feedback=Saturating(bound=3.0))
    changes = {"controller": controller, "monitor.joint_error": False}
    run = simulate(Scenario.load("scara-helix-drift", {"timing.duration": 5.0}).replace(changes))
    assert run.status == "completed"
    assert run.metric("final_phi") < 1e-2 * run.metric("peak_phi")


def test_a_law_with_a_memory_must_be_given_it():
    robot = Robot.load("scara")
    servo = Scenario.load("scara-helix").servo
    task = Task(robot=robot, servo=servo, q=np.zeros(4), v=np.zeros(4))
    law = Servo(feedback=Pid(kp=300.0, ki=1000.0, kd=30.0)).start(task)
    with pytest.raises(ShapeError, match=r"memory must have the shape of law\.memory, \(4,\)"):
        law.command(0.0, np.zeros(4), np.zeros(4))
    assert law.command(0.0, np.array([0.1, 0.5, 0.0, 0.0]), np.zeros(4), law.memory).u.shape == (4,)


def test_a_brief_motion_after_a_long_rest_is_not_stepped_over():
    points = ((0.2, 0.5), (0.2, 0.5), (0.6, 0.9), (0.2, 0.5), (0.2, 0.5))
    path = MinJerk(points=points, times=(0.0, 20.0, 20.1, 20.2, 30.0))
    joints = JointFollows(joints=("shoulder", "elbow"), path=path)
    base = Scenario.load("scara-helix", {"start": {}, "timing": {"duration": 30.0, "sample": 0.05}})
    start = {"q": {"shoulder": 0.2, "elbow": 0.5}}
    run = simulate(base.replace({"robot": "two_link", "servo": (joints,), "start": start}))
    assert run.status == "completed"
    assert run["q"][:, 0].max() > 0.55
    assert run.metric("peak_phi") < 1e-6


def geared(gear):
    robot = Robot.load("two_link")
    actuators = tuple(JointMotor(joint=joint, gear=gear) for joint in ("shoulder", "elbow"))
    text = (robot.path.parent / "two_link.urdf").read_text()
    return Robot.build(text, Options(actuator=actuators))


def test_gears_do_not_change_what_the_null_space_input_does_to_the_robot():
    task_of = dict.fromkeys((1.0, 50.0))
    height = JointFollows(joints=("shoulder",), path=Constant(value=(0.3,)))
    for gear in task_of:
        robot = geared(gear)
        allocation = LeastNorm(null_space=Posture(kp=5.0, kd=2.0, q=(0.0, 1.0)))
        controller = Servo(feedback=Baumgarte(alpha=20.0, beta=100.0), allocation=allocation)
        q, v = np.array([0.4, 0.8]), np.array([0.3, -0.2])
        law = controller.start(Task(robot=robot, servo=(height,), q=q, v=v))
        task_of[gear] = robot.snapshot(q, v).B @ law.command(0.0, q, v).u
    np.testing.assert_allclose(task_of[50.0], task_of[1.0], rtol=0.0, atol=1e-9)


def test_repeated_motors_share_what_a_metric_of_accelerations_leaves_open():
    robot = Robot.build(
        (Robot.load("two_link").path.parent / "two_link.urdf").read_text(),
        Options(
            actuator=tuple(
                JointMotor(joint=joint, name=name)
                for joint, name in (("shoulder", "a"), ("elbow", "b"), ("elbow", "c"))
            )
        ),
    )
    bend = JointFollows(joints=("elbow",), path=Constant(value=(0.3,)))
    controller = Servo(
        feedback=Baumgarte(alpha=1.0, beta=1.0), allocation=LeastNorm(metric="gauss")
    )
    law = controller.start(Task(robot=robot, servo=(bend,), q=np.zeros(2), v=np.zeros(2)))
    dynamics = Dynamics(robot)
    dynamics.move(0.0, np.zeros(2), np.zeros(2))
    u = law.step(dynamics, law.memory).u
    assert abs(u[1]) > 1e-3
    assert u[1] == pytest.approx(u[2], rel=1e-12)


def test_a_continuous_joint_may_start_at_an_angle_and_no_quaternion_is_repaired_in_silence():
    joints = JointFollows(joints=("wrist",), path=Constant(value=(0.5,)))
    base = Scenario.load("scara-helix", {"start": {}, **RUN})
    at_angle = base.replace(
        {"robot": "floating_arm", "servo": (joints,), "start": {"q": {"wrist": "30*deg"}}}
    )
    run = simulate(at_angle)
    assert run["phi"][0, 0] == pytest.approx(np.pi / 6.0 - 0.5)
    for q in ({"root_qw": 0.0}, {"root_qx": 0.5}, {"wrist_cos": 0.0}):
        with pytest.raises(InputError, match="must have unit length"):
            simulate(at_angle.replace({"start": {"q": q}}))


def test_a_robot_changed_in_python_is_not_passed_off_as_its_file():
    heavy = Robot.load("scara").perturbed(Perturbation(mass_scale=3.0))
    scenario = Scenario.load("scara-helix", RUN).replace({"robot": heavy})
    assert simulate(scenario).metric("peak_u") > 14.0
    with pytest.raises(InputError, match="made in Python"):
        Scenario.from_toml(scenario.to_toml())


def test_a_believed_robot_must_have_the_motors_of_the_true_one():
    scenario = Scenario.load("scara-helix", RUN)
    with pytest.raises(InputError, match="must have the coordinates of the true one"):
        simulate(dc.replace(scenario, believed=BelievedRobot(robot="two_link")))
