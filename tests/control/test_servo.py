"""Gains and allocations: what fits a task and what is refused, with the row or block named."""

import dataclasses as dc

import numpy as np
import pytest

from ukctrl import Robot, Scenario, Task, simulate
from ukctrl.control import (
    Baumgarte,
    Command,
    ComputedTorque,
    Damping,
    FirstOrder,
    Law,
    LeastNorm,
    Lqr,
    PdGravity,
    Pid,
    Posture,
    Servo,
    law_name,
)
from ukctrl.core.errors import GainError, InputError, StartError
from ukctrl.core.fields import spec
from ukctrl.mechanics.constraints import Expression, LinearVelocity, PointFollows, Stack
from ukctrl.mechanics.dynamics import Dynamics
from ukctrl.mechanics.reference import Constant

EXACT = {"rtol": 0.0, "atol": 1e-12}


@pytest.fixture(scope="module")
def robot():
    return Robot.load("scara")


@pytest.fixture(scope="module")
def servo():
    return (
        PointFollows(frame="tool", path=Constant(value=(0.1, 0.35, 0.1))),
        Expression(phi="q1 + q2 + q3", name="turn"),
    )


@pytest.fixture(scope="module")
def task(robot, servo):
    return Task(robot=robot, servo=servo, q=np.array([-0.5, 0.9, -0.4, 0.1]), v=np.zeros(4))


def demand(feedback, stack, robot, memory=None):
    rng = np.random.default_rng(2)
    rows = stack.write(robot.snapshot(robot.random(rng), rng.standard_normal(robot.nv)))
    bound = feedback.attach(stack)
    return bound.demand(rows, bound.memory if memory is None else memory), rows


def test_the_error_dynamics_are_those_of_the_one_convention(robot, servo):
    stack = Stack(servo, robot)
    asked, rows = demand(Baumgarte(alpha=6.0, beta=25.0), stack, robot)
    np.testing.assert_allclose(asked, rows.b - 6.0 * rows.beta - 25.0 * rows.phi, **EXACT)


def test_gains_may_differ_by_row_and_by_block(robot, servo):
    stack = Stack(servo, robot)
    listed, rows = demand(Baumgarte(alpha=(1.0, 2.0, 3.0, 4.0), beta=0.0), stack, robot)
    np.testing.assert_allclose(listed, rows.b - np.array([1.0, 2.0, 3.0, 4.0]) * rows.beta, **EXACT)
    tabled, _ = demand(Baumgarte(alpha={"tool": 5.0, "turn": 1.0}, beta=0.0), stack, robot)
    np.testing.assert_allclose(tabled, rows.b - np.array([5.0, 5.0, 5.0, 1.0]) * rows.beta, **EXACT)


def test_the_integral_of_the_error_is_part_of_the_demand(robot, servo):
    stack = Stack(servo, robot)
    memory = np.array([0.1, -0.2, 0.3, 0.4])
    asked, rows = demand(Pid(kp=30.0, ki=50.0, kd=10.0), stack, robot, memory)
    wanted = rows.b - 10.0 * rows.beta - 30.0 * rows.phi - 50.0 * memory
    np.testing.assert_allclose(asked, wanted, **EXACT)


def test_a_nonholonomic_row_decays_at_first_order_under_every_feedback(robot):
    row = LinearVelocity(coefficients={"q1": 1.0}, path=Constant(value=(0.2,)))
    stack = Stack((row,), robot)
    for feedback in (Baumgarte(alpha=7.0, beta=100.0), FirstOrder(kappa=7.0)):
        asked, rows = demand(feedback, stack, robot)
        np.testing.assert_allclose(asked, rows.b - 7.0 * rows.beta, **EXACT)


@pytest.mark.parametrize(
    ("feedback", "said"),
    [
        (
            Baumgarte(alpha=(1.0, 2.0), beta=1.0),
            "gain 'alpha' must have one number a row, 4; got 2",
        ),
        (Baumgarte(alpha={"tol": 1.0}, beta=1.0), "'tol'; did you mean 'tool'"),
        (Baumgarte(alpha={"tool": 1.0}, beta=1.0), "'turn' is missing"),
        (Pid(kp=1.0, ki=10.0, kd=1.0), "kd * kp must be greater than ki"),
    ],
)
def test_gains_that_do_not_fit_the_task_are_refused(task, feedback, said):
    with pytest.raises((GainError, InputError), match=said.replace("*", r"\*")):
        Servo(feedback=feedback).start(task)


def test_a_bad_gain_is_refused_even_by_replace():
    law = Baumgarte(alpha=20.0, beta=100.0)
    with pytest.raises(InputError, match=r"alpha: must be zero or positive; got -1\.0"):
        dc.replace(law, alpha=-1.0)


def test_a_metric_must_be_a_positive_definite_matrix_of_the_inputs(task):
    feedback = Baumgarte(alpha=1.0, beta=1.0)
    for metric, said in (
        (((1.0,),), "must be a matrix of 4 rows"),
        (tuple(tuple(row) for row in -np.eye(4)), "symmetric positive definite"),
    ):
        with pytest.raises(GainError, match=said):
            Servo(feedback=feedback, allocation=LeastNorm(metric=metric)).start(task)


def test_a_given_metric_weighs_the_motors(robot):
    height = PointFollows(frame="tool", axes="x", path=Constant(value=(0.1,)))
    task = Task(robot=robot, servo=(height,), q=np.array([-0.5, 0.9, -0.4, 0.1]), v=np.zeros(4))
    weights = np.diag([1.0, 100.0, 1.0, 1.0])
    feedback = Baumgarte(alpha=20.0, beta=100.0)
    inputs = {}
    for name, metric in (("even", "effort"), ("saving", tuple(map(tuple, weights.tolist())))):
        law = Servo(feedback=feedback, allocation=LeastNorm(metric=metric)).start(task)
        inputs[name] = law.command(0.0, task.q, task.v).u
    assert abs(inputs["saving"][1]) < abs(inputs["even"][1])


def test_damping_brakes_only_where_the_task_leaves_the_motors_free(robot):
    height = PointFollows(frame="tool", axes="z", path=Constant(value=(0.1,)))
    task = Task(robot=robot, servo=(height,), q=np.array([-0.5, 0.9, -0.4, 0.1]), v=np.zeros(4))
    feedback = Baumgarte(alpha=20.0, beta=100.0)
    v = np.array([1.0, -2.0, 0.5, 0.3])
    plain = Servo(feedback=feedback).start(task).command(0.0, task.q, v).u
    null_space = Damping(gain=3.0, gravity=False)
    braked = Servo(feedback=feedback, allocation=LeastNorm(null_space=null_space)).start(task)
    u = braked.command(0.0, task.q, v).u
    np.testing.assert_allclose(u[3], plain[3], **EXACT)
    np.testing.assert_allclose(u[:3], -3.0 * v[:3], rtol=0.0, atol=1e-9)


def test_a_posture_must_have_every_coordinate(task):
    allocation = LeastNorm(null_space=Posture(kp=1.0, kd=1.0, q=(0.0, 1.0)))
    with pytest.raises(GainError, match="one number a coordinate, 4; got 2"):
        Servo(feedback=Baumgarte(alpha=1.0, beta=1.0), allocation=allocation).start(task)


def test_joint_space_baselines_follow_the_joint_motion_of_the_task(robot, servo):
    task = Task(
        robot=robot, servo=servo, q=np.array([-0.5, 0.9, -0.4, 0.1]), v=np.zeros(4), duration=1.0
    )
    law = ComputedTorque(kp=100.0, kd=20.0).start(task)
    q = np.array([-0.5, 0.9, -0.4, 0.1]) - law.stack.write(robot.snapshot(task.q)).phi
    rows = Stack(servo, robot).write(robot.snapshot(q))
    np.testing.assert_allclose(rows.phi, 0.0, rtol=0.0, atol=1e-10)


@pytest.mark.parametrize(
    ("changes", "error", "said"),
    [
        ({"robot": Robot.load("floating_arm")}, InputError, "must have joints of one freedom only"),
        ({"duration": np.inf}, InputError, "must have a finite duration"),
        (
            {"servo": (LinearVelocity(coefficients={"q1": 1.0}, path=Constant(value=(0.2,))),)},
            InputError,
            "must have a position level",
        ),
        (
            {"servo": (PointFollows(frame="tool", path=Constant(value=(5.0, 0.0, 0.0))),)},
            StartError,
            "no position near the start meets all constraints",
        ),
    ],
)
def test_a_task_without_a_joint_motion_is_refused(robot, servo, changes, error, said):
    base = Task(robot=robot, servo=servo, q=np.zeros(4), v=np.zeros(4), duration=1.0)
    task = dc.replace(base, **changes)
    if task.robot.nq != robot.nq:
        task = dc.replace(
            task,
            q=task.robot.neutral,
            servo=(PointFollows(frame="tool", path=Constant(value=(1.0, 0.0, 0.0))),),
        )
    with pytest.raises(error, match=said):
        PdGravity(kp=1.0, kd=1.0).start(task)


def test_the_feedback_may_have_a_metric_of_its_own():
    """The law (72) of the review paper: u = A'(A M^-1 A')^-1 (...) - M A'(A A')^-1 kappa beta."""
    robot, kappa = Robot.load("flexible_arm_links"), 2.5
    row = Expression(psi="v.q2 + v.q4")
    law = Servo(
        feedback=FirstOrder(kappa=kappa),
        allocation=LeastNorm(metric="gauss", feedback_metric="resolved_acceleration"),
    )
    q, v, A = np.array([0.4, -0.7]), np.array([1.0, -0.3]), np.ones(2)
    task = Task(robot=robot, servo=(row,), q=q, v=v)
    s = robot.snapshot(q, v)
    inverse = np.linalg.solve(s.M, A)
    exact = A * (inverse @ s.nle) / (A @ inverse)
    expected = exact - s.M @ A / 2.0 * kappa * (A @ v)
    np.testing.assert_allclose(law.start(task).command(0.0, q, v).u, expected, rtol=1e-12)


def test_a_metric_for_the_feedback_needs_the_exact_coupling():
    with pytest.raises(InputError, match="feedback_metric goes with"):
        LeastNorm(feedback_metric="gauss", coupling="frozen")


class Own(Law):
    """A user's own law, a function of Python, which asks for rows where its memory says so."""

    memory = np.array([1.0])

    def step(self, dynamics, memory):
        asked = np.array([4.0, -2.0, 0.5, 1.5]) if memory[0] > 0.0 else None
        return Command(np.array([1.0, 2.0, 3.0, 4.0]), -memory, asked)


def test_what_a_law_of_ones_own_asks_for_is_known_and_so_is_that_it_asks_for_nothing(task):
    tick = Own(task).tick(Dynamics(task.robot))
    asking = tick.command(np.array([2.0]))
    assert tick.has_demand[0] == 1.0
    silent = tick.command(np.array([-1.0]))
    assert tick.has_demand[0] == 0.0
    np.testing.assert_array_equal(asking.demand, [4.0, -2.0, 0.5, 1.5])
    assert silent.demand is None
    np.testing.assert_array_equal(tick.command(np.array([2.0])).demand, asking.demand)


def test_a_law_is_called_by_its_name_or_its_kind_and_a_users_own_by_its_class():
    @spec
    class Mine(ComputedTorque):
        pass

    assert law_name(ComputedTorque(name="mine", kp=1.0, kd=1.0)) == "mine"
    assert law_name(ComputedTorque(kp=1.0, kd=1.0)) == "computed_torque"
    assert law_name(Lqr()) == "lqr"
    assert law_name(Mine(kp=1.0, kd=1.0)) == "Mine"


def test_a_result_and_its_modes_say_the_kind_of_a_law_without_a_name():
    swing = Scenario.load("cart-pole-swing-up", {"timing.duration": 0.02})
    modes = tuple(dc.replace(mode, name=None) for mode in swing.controller.modes)
    law = dc.replace(swing.controller, modes=modes)
    result = simulate(dc.replace(swing, controller=law))
    assert result.names["controller"] == "switching"
    assert result.samples.signals["mode"].long_name == "mode: 0 swing-up, 1 lqr"
