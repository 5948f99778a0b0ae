"""Robust feedbacks: their formulas, by other routes, and the gains that they refuse."""

import dataclasses as dc

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.linalg import expm, sqrtm

from ukctrl import Robot, Scenario, Task, simulate
from ukctrl.control import (
    AdaptiveRobust,
    Arctan,
    ChenRobust,
    DecayBound,
    LeastNorm,
    Lyapunov,
    Power,
    Servo,
    Sinh,
    Sliding,
    Tanh,
)
from ukctrl.control.feedback.sliding_mode import NominalError
from ukctrl.core.errors import GainError, InputError
from ukctrl.mechanics.constraints import Expression, LinearVelocity, PointFollows, Stack
from ukctrl.mechanics.dynamics import Dynamics
from ukctrl.mechanics.reference import Constant

EXACT = {"rtol": 1e-11, "atol": 1e-11}
QUADRATURE = {"rtol": 1e-8, "atol": 1e-12}
CHEN = ChenRobust(kappa=6.0, rate=9.0, rho=(2.0, 0.5, 0.1), epsilon=0.3, mismatch=0.2)
ADAPTIVE = AdaptiveRobust(kappa=6.0, rate=9.0, growth=50.0, leak=0.7, epsilon=0.3)
SLIDING = Sliding(alpha=8.0, beta=16.0, rate=9.0, box=0.01, uncertainty=2.0, mismatch=0.25)
LYAPUNOV = Lyapunov(kappa=6.0, rate=9.0, tube=1e-3)
Q, V = np.array([-0.5, 0.9, -0.4, 0.1]), np.array([0.3, -0.6, 0.8, 0.2])


@pytest.fixture(scope="module")
def robot():
    return Robot.load("scara")


@pytest.fixture(scope="module")
def task(robot):
    servo = (
        PointFollows(frame="tool", path=Constant(value=(0.1, 0.35, 0.1))),
        Expression(phi="q1 + q2 + q3", name="turn"),
    )
    return Task(robot=robot, servo=servo, q=Q, v=V, start=0.5)


def asked(feedback, task, t=0.5, memory=None, **changes):
    """Return rows, demand and memory rate of a law at the start state."""
    law = Servo(feedback=feedback, **changes).start(task)
    dynamics = Dynamics(task.robot)
    dynamics.move(t, task.q, task.v)
    command = law.step(dynamics, law.memory if memory is None else memory)
    rows = Stack(task.servo, task.robot).write(task.robot.snapshot(task.q, task.v, t))
    return rows, command


@pytest.mark.parametrize("epsilon", [1e-3, 1e3], ids=["outside the layer", "inside it"])
def test_the_robust_demand_is_the_formula(task, epsilon):
    weight = np.array([1.0, 4.0, 9.0, 0.25])
    law = dc.replace(CHEN, epsilon=epsilon, weight=tuple(weight))
    rows, command = asked(law, task)
    P = np.diag(np.sqrt(weight))
    z = P @ (rows.beta + 9.0 * rows.phi)
    speed = np.linalg.norm(V)
    rho = (2.0 + 0.5 * speed + 0.1 * speed**2) / 0.8
    gamma = 1.0 / max(rho * np.linalg.norm(z), epsilon)
    wanted = rows.b - 9.0 * rows.beta - np.linalg.solve(P, 6.0 * z + gamma * rho**2 * z)
    np.testing.assert_allclose(command.demand, wanted, **EXACT)


@pytest.mark.parametrize("metric", ["gauss", "resolved_acceleration"])
def test_the_allocation_turns_the_demand_into_the_forces_that_the_papers_write(robot, metric):
    servo = (PointFollows(frame="tool", axes="xz", path=Constant(value=(0.1, 0.1))),)
    task = Task(robot=robot, servo=servo, q=Q, v=V)
    law = dc.replace(CHEN, rate=0.0, mismatch=0.0, epsilon=1e3)
    allocation = LeastNorm(metric="gauss", feedback_metric=metric)
    rows, command = asked(law, task, t=0.0, allocation=allocation)
    s, A = robot.snapshot(Q, V), rows.A
    half = np.real(sqrtm(s.M))
    p1 = half @ np.linalg.pinv(A @ np.linalg.inv(half)) @ (rows.b + A @ np.linalg.solve(s.M, s.nle))
    rho = 2.0 + 0.5 * np.linalg.norm(V) + 0.1 * V @ V
    push = (6.0 + rho**2 / 1e3) * rows.beta
    if metric == "gauss":
        p23 = -half @ np.linalg.pinv(A @ np.linalg.inv(half)) @ push
    else:
        p23 = -s.M @ A.T @ np.linalg.solve(A @ A.T, push)
    np.testing.assert_allclose(command.u, p1 + p23, rtol=1e-9, atol=1e-9)


def test_the_estimate_grows_with_the_error_and_leaks(task):
    law = Servo(feedback=ADAPTIVE).start(task)
    memory = law.memory.copy()
    memory[0] = 0.4
    rows, command = asked(ADAPTIVE, task, memory=memory)
    z = rows.beta + 9.0 * rows.phi
    profile = (1.0 + np.linalg.norm(V)) ** 2
    rate = 50.0 * profile * np.linalg.norm(z) - 0.7 * 0.4
    np.testing.assert_allclose(command.memory_rate, [rate, 0.0, 0.0, 0.0], **EXACT)
    rho = 0.4 * profile
    gain = 6.0 + rho**2 / max(rho * np.linalg.norm(z), 0.3)
    np.testing.assert_allclose(command.demand, rows.b - 9.0 * rows.beta - gain * z, **EXACT)


def test_the_nominal_error_is_that_of_the_matrix_exponential(task):
    alpha, beta = np.array([8.0, 1.0, 5.0, 3.0, 4.0]), np.array([16.0, 9.0, 4.0, 0.0, 7.0])
    holonomic = np.array([True, True, True, True, False])
    nominal = NominalError(alpha, beta, holonomic)
    phi, rate, t = np.array([0.3, -0.2, 0.1, 0.5, 0.0]), np.array([1.0, 0.4, -2.0, 0.1, 0.6]), 0.37
    found = nominal.evaluate(t, phi, rate)
    for i in range(5):
        stiffness = beta[i] if holonomic[i] else 0.0
        F = np.array([[0.0, 1.0], [-stiffness, -alpha[i]]])
        x = expm(F * t) @ [phi[i], rate[i]]
        if holonomic[i]:
            np.testing.assert_allclose(found.phi[i], x[0], **EXACT)
        np.testing.assert_allclose(found.beta[i], x[1], **EXACT)
        np.testing.assert_allclose(found.beta_rate[i], (F @ x)[1], **EXACT)


def test_at_the_start_the_sliding_law_asks_for_the_nominal_motion(task):
    rows, command = asked(SLIDING, task)
    np.testing.assert_allclose(
        command.demand, rows.b - 8.0 * rows.beta - 16.0 * rows.phi, rtol=1e-9, atol=1e-9
    )


def test_off_the_nominal_motion_it_pushes_with_its_odd_function(task):
    law = Servo(feedback=SLIDING).start(task)
    memory = law.memory.copy()
    memory[1:] = 0.0  # as if the start had been exact
    rows, command = asked(SLIDING, task, memory=memory)
    sigma = 9.0 * 0.01
    gain = (2.0 / sigma + 2.0 * 0.25 * 9.0) / 0.75
    z = (rows.beta + 9.0 * rows.phi) / sigma
    push = gain * sigma * np.tanh(z / 0.3) / np.tanh(1.0 / 0.3)
    np.testing.assert_allclose(command.demand, rows.b - 9.0 * rows.beta - push, **EXACT)


@pytest.mark.parametrize(
    "function",
    [Tanh(width=0.2), Arctan(width=0.2), Power(exponent=1.0), Power(exponent=3.0), Sinh(width=0.2)],
    ids=lambda one: f"{type(one).__name__}",
)
def test_an_odd_function_is_odd_increasing_and_one_at_the_edge_of_the_box(function):
    x = np.linspace(-5.0, 5.0, 401)
    y = function(x)
    np.testing.assert_allclose(y, -function(-x), **EXACT)
    np.testing.assert_allclose(function(np.array([1.0])), 1.0, **EXACT)
    assert (np.diff(y) >= 0.0).all()
    assert np.isfinite(function(np.array([1e6]))).all()


@pytest.mark.parametrize(("speed", "rate"), [(3.0, 8.0), (8.0, 3.0), (5.0, 5.0), (2.0, 0.0)])
def test_the_bound_of_the_position_is_the_convolution_of_that_of_the_surface(speed, rate):
    decay, t = DecayBound(0.05, speed, rate), 0.6
    part, _ = quad(lambda x: np.exp(-rate * (t - x)) * decay.surface(x, 0.4), 0.0, t)
    wanted = 0.1 * np.exp(-rate * t) + part
    np.testing.assert_allclose(decay.position(t, 0.4, 0.1), wanted, **QUADRATURE)


@pytest.mark.parametrize("rate", [0.25, 1.0, 4.0])
def test_what_is_left_of_a_position_error_is_where_its_bound_ends(rate):
    """Also on surfaces that are slower than a second; without a rate the bound has no end."""
    decay = DecayBound(0.05, 2.0, rate)
    late = 60.0 / min(decay.speed, rate)  # e^-60 of anything is nothing beside rounding
    np.testing.assert_allclose(decay.position_radius, decay.position(late, 0.4, 0.1), **EXACT)
    assert DecayBound(0.05, 2.0, 0.0).position_radius == np.inf


def test_the_row_of_a_lyapunov_function_is_its_derivative(task):
    weight = np.array([1.0, 4.0, 9.0, 0.25])
    law = dc.replace(LYAPUNOV, weight=tuple(weight))
    rows, command = asked(law, task, allocation=LeastNorm(metric="gauss"))
    dynamics = Dynamics(task.robot)
    dynamics.move(0.5, Q, V)
    a = dynamics.acceleration(command.u)
    s = rows.beta + 9.0 * rows.phi
    V_rate = (weight * s) @ (rows.A @ a - rows.b + 9.0 * rows.beta)
    np.testing.assert_allclose(V_rate, -2.0 * 6.0 * 0.5 * s @ (weight * s), rtol=1e-9)
    np.testing.assert_allclose(command.demand, rows.A @ a, rtol=1e-9, atol=1e-9)


def two_masses(*rows):
    changes = {"servo": rows, "controller": Servo(feedback=LYAPUNOV), "timing.duration": 0.5}
    start = {"q": (0.1, 1.2), "v": (0.2, -0.1)}
    return simulate(Scenario.load("two-mass-spring").replace({**changes, "start": start}))


def test_one_motor_may_serve_two_rows_by_the_one_row_of_a_lyapunov_function():
    near, far = Expression(phi="x1 - 0.15", name="near"), Expression(phi="x2 - 1.1", name="far")
    run = two_masses(near, far)
    assert run["u"].shape[1] == 1
    s = run["beta"][0] + 9.0 * run["phi"][0]
    rate = s @ (run["a"][0] + 9.0 * run["beta"][0])  # A is the unit matrix
    np.testing.assert_allclose(rate, -2.0 * 6.0 * 0.5 * s @ s, rtol=1e-9)


def test_a_lyapunov_row_that_vanishes_is_named():
    run = two_masses(Expression(phi="x2 - 1.1", name="far"))
    assert run.status == "infeasible"
    assert "servo rows 'far' are out of the actuators' reach" in run.message
    assert "no input changes V in the direction that the error has" in run.message
    assert "Row 'far': its relative degree is 4." in run.message


def test_a_nonholonomic_row_has_a_box_for_its_velocity_error(robot):
    row = LinearVelocity(coefficients={"q1": 1.0}, path=Constant(value=(0.2,)))
    task = Task(robot=robot, servo=(row,), q=Q, v=V)
    law = dc.replace(SLIDING, rate=0.0, mismatch=0.0)
    bound = law.attach(Stack((row,), robot))
    np.testing.assert_allclose(bound.needed, 2.0 / 0.01, **EXACT)
    _, command = asked(law, task, t=0.0)
    np.testing.assert_allclose(command.demand, [-8.0 * (0.3 - 0.2)], rtol=1e-9)


@pytest.mark.parametrize(
    ("law", "said"),
    [
        (dc.replace(CHEN, mismatch=1.0), "mismatch must be below 1.*; got 1"),
        (dc.replace(ADAPTIVE, mismatch=1.0), "mismatch must be below 1.*; got 1"),
        (dc.replace(SLIDING, mismatch=1.0), "mismatch must be below 1.*; got 1"),
        (dc.replace(SLIDING, rate=0.0), "rate must be positive for a box on position errors"),
        (
            dc.replace(SLIDING, gain=20.0, box={"tool": 0.01, "turn": 0.002}),
            r"gain must be at least 154\.148 1/s to keep the box .* on row 'turn'; got 20 1/s",
        ),
        (dc.replace(SLIDING, box={"tool": 0.01}), "gain 'box' must name every block; 'turn'"),
        (dc.replace(CHEN, weight=(1.0, 2.0)), "'weight' must have one number a row, 4; got 2"),
    ],
)
def test_a_gain_that_breaks_what_its_law_assumes_is_refused(task, law, said):
    with pytest.raises(GainError, match=said):
        Servo(feedback=law).start(task)


def test_the_gain_that_is_needed_just_keeps_the_box(task):
    stack = Stack(task.servo, task.robot)
    needed = SLIDING.attach(stack).needed
    np.testing.assert_allclose(needed, (2.0 / 0.09 + 2 * 0.25 * 9.0) / 0.75, **EXACT)
    certain = dc.replace(SLIDING, mismatch=0.0, function=Power(exponent=3.0))
    assert certain.attach(stack).promised == pytest.approx(1.0, abs=1e-12)
    stronger = dc.replace(certain, gain=8.0 * certain.attach(stack).needed)
    assert stronger.attach(stack).promised == pytest.approx(0.5, abs=1e-12)
    with pytest.raises(GainError):
        dc.replace(SLIDING, gain=0.99 * needed).attach(stack)


def test_uncertainty_is_written_with_one_to_three_numbers():
    assert dc.replace(CHEN, rho=3.0).rho == (3.0, 0.0, 0.0)
    wrongs = ((1.0, 2.0, 3.0, 4.0), "one to three numbers; got 4"), (-1.0, "zero or positive")
    for wrong, said in wrongs:
        with pytest.raises(InputError, match=said):
            dc.replace(CHEN, rho=wrong)
