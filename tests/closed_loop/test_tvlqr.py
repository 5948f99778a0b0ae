"""Time-varying LQR: Riccati's equation by other routes, and runs on robots of every kind."""

import dataclasses as dc

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from ukctrl import Robot, Scenario, Task, simulate
from ukctrl.control import Baumgarte, Lqr, NoControl, Servo, Tvlqr
from ukctrl.control.feedforward.feedforward_laws import riccati_gains, sampled_riccati_gains
from ukctrl.control.feedforward.nominal_motion import nominal_motion_of_law
from ukctrl.core.errors import GainError, InputError
from ukctrl.mechanics.constraints import Expression as Rows
from ukctrl.mechanics.constraints import OrientationFollows, PointFollows
from ukctrl.mechanics.dynamics import Dynamics
from ukctrl.mechanics.reference import ConstantOrientation, Expression
from ukctrl.robot import Lagrangian, Options, Wrench

SERVO = Servo(feedback=Baumgarte(alpha=20.0, beta=100.0))


def moving(t):
    """A system that changes with time, with its weight."""
    A = np.array([[0.1 * np.sin(t), 1.0], [2.0 + np.cos(2.0 * t), -0.3]])
    return A, np.array([[0.0], [1.0 + 0.5 * np.sin(t)]]), np.diag([1.0 + 0.5 * np.cos(t), 0.2])


def cart_pole():
    """A cart of 2 kg with a pole of 0.5 kg that hangs 0.7 m down at angle 0."""
    return Robot.build(
        Lagrangian(
            coordinates={"x": "m", "angle": "rad"},
            kinetic="v.x**2 + 0.25*(v.x**2 + 1.4*cos(angle)*v.x*v.angle + 0.49*v.angle**2)",
            potential="-0.5*9.81*0.7*cos(angle)",
            inputs={"F": {"x": 1.0}},
        ),
        name="cart_pole",
    )


def test_the_gains_are_those_of_riccatis_equation_integrated():
    R, S, T = np.array([[0.5]]), np.diag([3.0, 1.0]), 2.0

    def rate(t, s):
        S = s.reshape(2, 2)
        A, B, Q = moving(t)
        return -(A.T @ S + S @ A - S @ B @ np.linalg.solve(R, B.T) @ S + Q).ravel()

    solved = solve_ivp(rate, (T, 0.0), S.ravel(), rtol=1e-11, atol=1e-13)
    wanted = np.linalg.solve(R, moving(0.0)[1].T @ solved.y[:, -1].reshape(2, 2))
    errors = []
    for count in (200, 400):
        h = T / count
        systems = [(*moving((k + 0.5) * h), R) for k in range(count)]
        K = riccati_gains(systems, S, h, (*moving(T), R))
        assert K.shape == (count + 1, 1, 2)
        # The gain of a step's start takes that step's B; compare with B there.
        B0, B1 = moving(0.0)[1], moving(0.5 * h)[1]
        errors.append(np.abs(K[0] * (B0[1, 0] / B1[1, 0]) - wanted).max())
    assert errors[0] < 1e-3
    np.testing.assert_allclose(errors[0] / errors[1], 4.0, rtol=0.05)  # second order


def test_the_gains_of_a_hold_are_the_best_of_all_inputs():
    """Beside the least-squares solution for all inputs of a short horizon at once."""
    R, S, h, count = np.array([[0.5]]), np.diag([3.0, 1.0]), 0.2, 6
    from ukctrl.control.regulators.riccati import discretise_lq

    systems = [(*moving((k + 0.5) * h), R) for k in range(count)]
    K = sampled_riccati_gains(systems, S, h)
    x0 = np.array([0.7, -0.4])

    def cost(u):
        x, total = x0, 0.0
        for system, push in zip(systems, u, strict=True):
            Ad, Bd, Qd, Rd, Nd = discretise_lq(*system, h)
            w = np.array([push])
            total += x @ Qd @ x + w @ Rd @ w + 2.0 * x @ Nd @ w
            x = Ad @ x + Bd @ w
        return total + x @ S @ x

    from scipy.optimize import minimize

    best = minimize(cost, np.zeros(count), method="BFGS", options={"gtol": 1e-10})
    x, u = x0, []
    for system, gain in zip(systems, K, strict=True):
        Ad, Bd, *_ = discretise_lq(*system, h)
        w = -gain @ x
        u.append(w[0])
        x = Ad @ x + Bd @ w
    np.testing.assert_allclose(u, best.x, rtol=0.0, atol=1e-5)


def test_at_rest_it_is_the_regulator():
    robot = Robot.load("two_link")
    servo = (Rows(phi=("shoulder - 0.5", "elbow - 0.4")),)
    task = Task(robot=robot, servo=servo, q=np.array([0.4, 0.4]), v=np.zeros(2), duration=1.0)
    for period in (None, 0.01):
        at = dc.replace(task, period=period)
        along, about = Tvlqr(Q=100.0).start(at), Lqr(Q=100.0).start(at)
        np.testing.assert_allclose(along.K[0], about.regulator.K, rtol=1e-6)
        u = along.command(0.3, task.q, task.v).u
        np.testing.assert_allclose(u, about.command(0.3, task.q, task.v).u, rtol=1e-6)


def test_the_exact_model_is_followed_to_rounding_of_the_plan():
    helix = Scenario.load("scara-helix").replace({"timing.duration": 2.0})
    result = simulate(helix.replace({"controller": {"use": "tvlqr"}}))
    assert result.status == "completed"
    assert result.metric("peak_phi") < 1e-7


@pytest.mark.slow
def test_a_pole_that_no_motor_drives_is_brought_to_the_swing_that_was_planned():
    law = Tvlqr(Q=10.0, R=0.1, along=SERVO)
    robot = cart_pole()
    servo = (Rows(phi="x - 0.3*sin(2*t)", unit="m"),)
    q, v = np.zeros(2), np.array([0.6, 0.0])
    task = Task(robot=robot, servo=servo, q=q, v=v, duration=8.0)
    bound, alone = law.start(task), SERVO.start(task)
    plant = Dynamics(robot)

    def off(started):
        def rate(t, y):
            plant.move(t, y[:2], y[2:])
            u = started.step(plant, started.memory).u
            return np.concatenate([y[2:], plant.acceleration(u)])

        y = np.array([0.0, 0.3, 0.6, 0.0])  # the pole is 0.3 rad off
        end = solve_ivp(rate, (0.0, 7.5), y, rtol=1e-8, atol=1e-10).y[:, -1]
        q, v = bound.nominal.state(7.5)
        return np.abs(np.concatenate([end[:2] - q, end[2:] - v])).max()

    assert off(bound) < 0.01
    assert off(alone) > 0.2  # the servo law keeps the cart, and lets the pole swing on


def hull(names):
    urdf = """<robot name="quad"><link name="hull"><inertial><mass value="1.2"/>
      <inertia ixx="0.012" iyy="0.013" izz="0.022" ixy="0" ixz="0" iyz="0"/></inertial></link>
      </robot>"""
    axes = dict(zip("xyz", np.eye(3).tolist(), strict=True))
    pushes = [Wrench(name=f"f{n}", frame="hull", force=tuple(axes[n])) for n in names]
    pushes += [Wrench(name=f"t{n}", frame="hull", torque=tuple(axes[n])) for n in "xyz"]
    return Robot.build(urdf, Options(floating_base=True, actuator=pushes))


@pytest.mark.slow
def test_a_floating_body_is_brought_to_its_motion_on_the_manifold():
    """Planned with six pushes by a servo law, and started 0.7 rad and 0.2 m beside it."""
    robot = hull("xyz")
    path = Expression(x="0.5*sin(t)", y="0.2*t", z="1 + 0.1*cos(t)")
    servo = (
        PointFollows(frame="hull", path=path),
        OrientationFollows(frame="hull", path=ConstantOrientation(rpy=(0.3, -0.2, 0.4))),
    )
    task = Task(robot=robot, servo=servo, q=robot.neutral, v=np.zeros(6), duration=4.0)
    law = Tvlqr(Q={"q": 100.0, "v": 10.0}, R=1.0, along=SERVO).start(task)
    plant = Dynamics(robot)
    q = robot.integrate(law.nominal.q[0], np.array([0.2, -0.1, 0.1, 0.5, -0.4, 0.3]))
    v, h = law.nominal.v[0].copy(), 2e-3
    for k in range(1800):
        t = k * h
        half_t, (u, *_) = t + h / 2, law.command(t, q, v)
        plant.move(t, q, v)
        a = plant.acceleration(u)
        q2, v2 = robot.integrate(q, h / 2 * v), v + h / 2 * a
        u = law.command(half_t, q2, v2).u
        plant.move(half_t, q2, v2)
        q, v = robot.integrate(q, h * v2), v + h * plant.acceleration(u)
    planned, speed = law.nominal.state(3.6)
    np.testing.assert_allclose(robot.difference(planned, q), 0.0, atol=5e-3)
    np.testing.assert_allclose(v, speed, atol=5e-3)


def test_a_linkage_follows_in_the_coordinates_that_its_loops_leave():
    robot = Robot.load(
        "n_four_bar", override={"actuator": [{"kind": "joint", "joint": "rod0_angle"}]}
    )
    result = simulate(
        Scenario(
            title="bars", robot=robot, controller=Tvlqr(Q=1e3, R=0.01, plan_step=0.05),
            servo=(Rows(phi="rod0_angle - pi/2 - 0.4*sin(t)", unit="rad"),),
            start={"solve": True}, timing={"duration": 2.0, "sample": 0.05},
        )
    )  # fmt: skip
    assert result.status == "completed"
    assert result.metric("peak_phi") < 1e-4  # the plan has a knot every 50 ms


def test_a_held_input_follows_as_well():
    helix = Scenario.load("scara-helix").replace({"timing.duration": 1.0, "timing.control": 2e-3})
    result = simulate(helix.replace({"controller": {"use": "tvlqr"}}))
    assert result.status == "completed"
    assert result.metric("peak_phi") < 1e-5


def test_the_plan_of_a_law_is_the_laws_own_run():
    helix = Scenario.load("scara-helix").replace({"timing.duration": 0.5})
    result = simulate(helix.replace({"controller": SERVO}))
    task = Task(
        robot=Robot.load("scara"), servo=helix.servo, q=result["q"][0], v=result["v"][0],
        duration=0.5,
    )  # fmt: skip
    plan = nominal_motion_of_law(task, SERVO, 0.02)
    q, v = plan.state(0.37)
    k = int(np.argmin(np.abs(result.time - 0.37)))
    np.testing.assert_allclose(q, result["q"][k], rtol=0.0, atol=1e-7)  # cubic between knots
    np.testing.assert_allclose(v, result["v"][k], rtol=0.0, atol=1e-6)


@pytest.mark.parametrize(
    ("robot", "law", "duration", "error", "said"),
    [
        (cart_pole(), Tvlqr(), 1.0, InputError, "must have motors for the joint.*at 'angle'"),
        (cart_pole(), Tvlqr(along=SERVO), np.inf, InputError, "must have a finite duration"),
        (cart_pole(), Tvlqr(along=SERVO, plan_step=1e-9), 2e3, InputError, "plan_step must be at"),
        (cart_pole(), Tvlqr(along=SERVO, Q_final={"y": 1.0}), 0.1, InputError, "Q_final"),
        (cart_pole(), Tvlqr(along=NoControl(), R=0.0), 0.1, GainError, "R must be positive"),
    ],
)
def test_what_cannot_be_planned_is_refused(robot, law, duration, error, said):
    servo = (Rows(phi=("x - 0.3*sin(2*t)", "angle - 0.2*sin(5*t)")[: 1 if law.along else 2]),)
    task = Task(robot=robot, servo=servo, q=np.zeros(2), v=np.zeros(2), duration=duration)
    with pytest.raises(error, match=said):
        law.start(task)
