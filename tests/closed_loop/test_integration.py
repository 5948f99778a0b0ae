"""Integrators, holds and the manifold: order, limits and conserved quantities."""

import numpy as np
import pinocchio as pin
import pytest

from ukctrl import Robot, Scenario, simulate
from ukctrl.control import Baumgarte, LeastNorm, Pid, Posture, Servo
from ukctrl.mechanics.constraints import JointFollows, PointFollows
from ukctrl.mechanics.reference import Constant, Expression
from ukctrl.simulation.scenario import IntegratorOptions, StartState, Timing

TIGHT = IntegratorOptions(method="DOP853", rtol=1e-12, atol=1e-13)


def arm_on_a_circle(integrator, duration=1.0, control=None, feedback=None, sample=0.1):
    """The two-link arm, started off a circle that it is pulled onto."""
    path = Expression(components=("0.45 + 0.1*cos(2*t)", "0.1*sin(2*t)"))
    return Scenario(
        title="arm on a circle",
        robot="two_link",
        servo=(PointFollows(frame="tool", axes="xz", path=path),),
        controller=Servo(feedback=feedback or Baumgarte(alpha=6.0, beta=25.0)),
        start=StartState(q=(-0.9, 1.7), v=(0.2, -0.1)),
        timing=Timing(duration=duration, sample=sample, control=control),
        integrator=integrator,
    )


def satellite(integrator, duration=1.0, sample=0.1):
    """The free-floating arm: its joints are moved, its base tumbles as it must."""
    joints = ("shoulder", "elbow", "wrist")
    path = Expression(components=("0.5*sin(3*t)", "0.4*sin(2*t)", "0.8*t + 0.3*sin(4*t)"))
    return Scenario(
        title="satellite",
        robot="floating_arm",
        servo=(JointFollows(joints=joints, path=path),),
        controller=Servo(feedback=Baumgarte(alpha=20.0, beta=100.0)),
        start=StartState(v={"root_wx": 0.7, "root_wy": -1.1, "root_wz": 0.5, "root_vx": 0.2}),
        timing=Timing(duration=duration, sample=sample),
        integrator=integrator,
    )


@pytest.fixture(scope="module", params=[arm_on_a_circle, satellite], ids=["fixed", "floating"])
def system(request):
    truth = simulate(request.param(TIGHT))
    assert truth.status == "completed"
    return request.param, truth


def distance(scenario, run, truth):
    robot = Robot.load(scenario.robot)
    dq = robot.difference(np.array(truth["q"][-1]), np.array(run["q"][-1]))
    return float(np.linalg.norm(np.concatenate([dq, run["v"][-1] - truth["v"][-1]])))


@pytest.mark.parametrize(("method", "order"), [("RK4", 4), ("semi_implicit_euler", 1)])
def test_a_fixed_step_method_converges_with_its_order(system, method, order):
    make, truth = system
    errors = []
    for step in (0.02, 0.01, 0.005):
        scenario = make(IntegratorOptions(method=method, step=step))
        errors.append(distance(scenario, simulate(scenario), truth))
    observed = np.log2(np.array(errors[:-1]) / np.array(errors[1:]))
    np.testing.assert_allclose(observed, order, atol=0.25)


@pytest.mark.parametrize("method", ["DOP853", "RK45", "Radau", "BDF", "LSODA"])
def test_every_adaptive_method_finds_the_same_motion(system, method):
    make, truth = system
    scenario = make(IntegratorOptions(method=method, rtol=1e-8, atol=1e-9))
    run = simulate(scenario)
    assert run.status == "completed"
    assert distance(scenario, run, truth) < 1e-5


def test_quaternions_and_angle_pairs_stay_of_unit_length():
    for integrator in (TIGHT, IntegratorOptions(method="RK4", step=0.01)):
        q = simulate(satellite(integrator, duration=3.0))["q"]
        names = Robot.load("floating_arm").coordinates
        quaternion = [i for i, name in enumerate(names) if name.startswith("root_q")]
        pair = [names.index("wrist_cos"), names.index("wrist_sin")]
        np.testing.assert_allclose(np.linalg.norm(q[:, quaternion], axis=1), 1.0, atol=1e-12)
        np.testing.assert_allclose(np.linalg.norm(q[:, pair], axis=1), 1.0, atol=1e-12)


def test_a_free_floating_robot_keeps_its_momentum_whatever_its_joints_do():
    run = simulate(satellite(TIGHT, duration=3.0))
    robot = Robot.load("floating_arm")
    data = robot.model.createData()
    assert robot.gravity @ robot.gravity == 0.0
    momenta = []
    for q, v in zip(run["q"], run["v"], strict=True):
        pin.computeCentroidalMomentum(robot.model, data, np.array(q), np.array(v))
        momenta.append(np.array(data.hg.vector))
    np.testing.assert_allclose(momenta, np.tile(momenta[0], (len(momenta), 1)), atol=1e-9)
    assert run.metric("peak_phi") < 1.0


def test_the_energy_balance_closes():
    run = simulate(arm_on_a_circle(TIGHT, duration=3.0, sample=0.01))
    assert run.metric("energy_drift") < 1e-6


def test_sampled_control_tends_to_continuous_control_as_the_period_shrinks():
    truth = simulate(arm_on_a_circle(TIGHT))
    errors = []
    for period in (0.02, 0.01, 0.005):
        scenario = arm_on_a_circle(TIGHT, control=period)
        errors.append(distance(scenario, simulate(scenario), truth))
    observed = np.log2(np.array(errors[:-1]) / np.array(errors[1:]))
    np.testing.assert_allclose(observed, 1.0, atol=0.25)  # a hold is a delay of half a period


def test_a_hold_keeps_the_input_constant_over_each_period():
    run = simulate(arm_on_a_circle(TIGHT, control=0.1, sample=0.02))
    held = run["u"][:50].reshape(10, 5, 2)
    np.testing.assert_array_equal(held, np.repeat(held[:, :1], 5, axis=1))
    assert np.abs(np.diff(held[:, 0], axis=0)).min() > 0.0


@pytest.mark.parametrize(("control", "sample"), [(0.03, 0.01), (0.01, 0.03), (0.07, 0.1)])
def test_holds_and_outputs_need_not_fit_each_other(control, sample):
    run = simulate(arm_on_a_circle(TIGHT, control=control, sample=sample))
    assert run.status == "completed"
    assert run.time[0] == 0.0
    assert run.time[-1] == 1.0
    assert (np.diff(run.time) > 0.0).all()


def test_equal_scenarios_are_bit_identical():
    for scenario in (
        arm_on_a_circle(TIGHT),
        arm_on_a_circle(IntegratorOptions(method="RK4", step=0.01), control=0.01),
        satellite(TIGHT),
    ):
        assert simulate(scenario).identical(simulate(scenario))


def test_an_integral_removes_the_steady_error_of_a_wrong_model():
    still = PointFollows(frame="tool", axes="xz", path=Constant(value=(0.5, 0.1)))
    steady = {}
    for name, feedback in (
        ("pd", Baumgarte(alpha=20.0, beta=100.0)),
        ("pid", Pid(kp=300.0, ki=1000.0, kd=30.0)),
    ):
        base = arm_on_a_circle(TIGHT, duration=6.0, feedback=feedback)
        scenario = base.replace({"servo": (still,), "believed": {"mass_scale": 0.7}})
        steady[name] = simulate(scenario).metric("final_phi")
    assert steady["pd"] > 1e-3
    assert steady["pid"] < 1e-6


def test_the_null_space_posture_leaves_the_task_alone_and_settles_the_rest():
    height = PointFollows(frame="tool", axes="z", path=Constant(value=(0.2,)))
    allocation = LeastNorm(null_space=Posture(kp=30.0, kd=10.0, q=(-0.4, 1.2)))
    controller = Servo(feedback=Baumgarte(alpha=20.0, beta=100.0), allocation=allocation)
    base = arm_on_a_circle(TIGHT, duration=12.0)
    run = simulate(base.replace({"servo": (height,), "controller": controller}))
    assert run.status == "completed"
    assert run.metric("final_phi") < 1e-6
    assert np.abs(run["v"][-1]).max() < 1e-3


@pytest.mark.parametrize("metric", ["effort", "gauss", "resolved_acceleration"])
def test_every_metric_keeps_the_task(metric):
    height = PointFollows(frame="tool", axes="z", path=Constant(value=(0.2,)))
    controller = Servo(
        feedback=Baumgarte(alpha=20.0, beta=100.0), allocation=LeastNorm(metric=metric)
    )
    base = arm_on_a_circle(TIGHT, duration=1.0)
    run = simulate(base.replace({"servo": (height,), "controller": controller}))
    assert run.status == "completed"
    assert run.metric("final_phi") < 1e-3


def test_the_energy_balance_closes_under_a_hold_however_coarse_the_samples():
    run = simulate(arm_on_a_circle(TIGHT, duration=2.0, control=0.01, sample=0.25))
    assert run.metric("energy_drift") < 1e-8


def test_a_joint_that_runs_through_its_limit_is_reported():
    far = JointFollows(joints=("shoulder", "elbow"), path=Constant(value=(0.0, 3.0)))
    run = simulate(arm_on_a_circle(TIGHT, duration=3.0).replace({"servo": (far,)}))
    assert run.status == "completed"
    limit = Robot.load("two_link").q_upper[1]
    assert run["q"][:, 1].max() > limit
    (said,) = [text for text in run.provenance["beyond_limits"] if "rad at" in text]
    assert said.startswith(f"'elbow' passes its limit of {limit:.4g} rad at t = ")
