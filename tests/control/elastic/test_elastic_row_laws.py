"""Laws for elastic joints: their input, written out for two masses behind springs of their own.

Nothing about the masses is alike, so that every derivative of the servo law's motion is known in
closed form and every sign, inertia, stiffness and gear shows.
"""

from __future__ import annotations

import numpy as np
import pytest

from ukctrl import Robot, Task
from ukctrl.control import (
    Baumgarte,
    ElasticCascade,
    ElasticLinearisation,
    ElasticSingularPerturbation,
    ElasticTracking,
    FirstOrder,
    Pid,
)
from ukctrl.control.elastic.elastic_tracking import ChebyshevPlan
from ukctrl.mechanics.constraints import Expression, LinearVelocity, Stack
from ukctrl.mechanics.dynamics import Dynamics
from ukctrl.mechanics.reference import Constant
from ukctrl.robot import Elastic, JointDamper, Lagrangian, Options

CLOSED = {"rtol": 1e-9, "atol": 1e-9}
DIFFERENCES = {"rtol": 1e-6, "atol": 1e-6}  # second derivatives from steps of 3 ms
M, FIELD = np.array([1.7, 0.6]), np.array([3.0, 1.1])
"""Masses [kg], and springs that tie them to the ground [N/m]."""
K, ROTOR, GEAR = np.array([90.0, 40.0]), np.array([0.2, 0.05]), np.array([2.0, 3.0])
J = ROTOR * GEAR**2
LINK_DAMPER, MOTOR_DAMPER = 0.35, 0.8
"""On the first mass and on the second motor [N s/m]."""
DAMPING = np.array([0.9, 0.4])
PIN = np.array([[2.0, 0.0], [0.0, 1.0]])
"""What the inputs push the motors with, per unit."""


def masses(damping=0.0, unit="m", inputs=None, force=(), **more):
    """Return two masses, each pulled by its motor's spring."""
    names = ("x", "y")
    return Robot.build(
        Lagrangian(
            coordinates=dict(zip(names, ("m", unit), strict=True)),
            kinetic=[f"{m}/2*v.{name}**2" for m, name in zip(M, names, strict=True)],
            potential=[f"{c}/2*{name}**2" for c, name in zip(FIELD, names, strict=True)],
            inputs=inputs or {"F": {"x": 2.0}, "G": {"y": 1.0}},
        ),
        Options(
            elastic=Elastic(
                stiffness=dict(zip(names, K, strict=True)),
                motor_inertia=dict(zip(names, ROTOR, strict=True)),
                gear=dict(zip(names, GEAR, strict=True)),
                damping=damping,
            ),
            force=[
                JointDamper(joint="x", damping=LINK_DAMPER),
                JointDamper(joint="y_motor", damping=MOTOR_DAMPER),
                *force,
            ],
            **more,
        ),
        name="masses",
    )


ROBOT = masses()
DAMPED = masses(dict(zip("xy", DAMPING, strict=True)))
PATH = Expression(phi=("x - 0.3*sin(2*t)", "y - 0.2*cos(3*t)"), unit="m", name="follow")
ON_LINKS = np.array([LINK_DAMPER, 0.0])
ON_MOTORS = np.array([0.0, MOTOR_DAMPER])


def path(t):
    """Return the path and its derivatives, the fourth last; shape ``(5, 2)``."""
    turn = np.array([0.0, np.pi / 2.0])
    amplitude, w = np.array([0.3, 0.2]), np.array([2.0, 3.0])
    return np.array([amplitude * w**k * np.sin(w * t + turn + k * np.pi / 2.0) for k in range(5)])


def task(robot=ROBOT, **given):
    q, v = np.array([0.1, -0.2, 0.15, -0.1]), np.array([0.4, 0.3, -0.2, 0.5])
    return Task(robot=robot, **{"servo": (PATH,), "q": q, "v": v, "start": 0.2, **given})


def state(seed):
    rng = np.random.default_rng(seed)
    return rng.uniform(0.1, 1.0), rng.standard_normal(4), rng.standard_normal(4)


FEEDBACKS = {
    "baumgarte": (Baumgarte(alpha=(5.0, 7.0), beta=(6.0, 11.0)), (5.0, 7.0), (6.0, 11.0), 0.0),
    "pid": (Pid(kd=9.0, kp=26.0, ki=24.0), 9.0, 26.0, 24.0),
}
MEMORY = np.array([0.21, -0.34])


class Slow:
    """What the servo law asks of the masses, along a motion with these derivatives."""

    def __init__(self, feedback, t, q, v):
        self.spec, *gains = FEEDBACKS[feedback]
        self.kd, self.kp, self.ki = (np.array(gain) for gain in gains)
        self.r, self.q, self.v = path(t), q[:2], v[:2]
        self.integral = MEMORY if np.any(self.ki) else np.zeros(2)
        self.phi, self.rate = self.q - self.r[0], self.v - self.r[1]
        self.a = self._wanted(2, self.rate, self.phi, self.integral)

    def _wanted(self, k, rate, error, integral):
        return self.r[k] - self.kd * rate - self.kp * error - self.ki * integral

    def jerk(self, a):
        return self._wanted(3, a - self.r[2], self.rate, self.phi)

    def snap(self, a, jerk):
        return self._wanted(4, jerk - self.r[3], a - self.r[2], self.rate)

    @property
    def torque(self):
        return M * self.a + FIELD * self.q + ON_LINKS * self.v


def answer(spec, robot, t, q, v, feedback):
    law = spec.start(task(robot))
    memory = MEMORY if len(law.memory) else law.memory
    command = law.command(t, q, v, memory)
    dynamics = Dynamics(robot)
    dynamics.move(t, q, v)
    return command, law.signals(dynamics, memory), law


every = pytest.mark.parametrize("feedback", FEEDBACKS)
seeds = pytest.mark.parametrize("seed", range(3))
damped = pytest.mark.parametrize(
    ("robot", "damping"), [(ROBOT, 0.0), (DAMPED, DAMPING)], ids=["plain", "damped"]
)


@every
@seeds
@damped
def test_the_cascade_is_its_formula(feedback, seed, robot, damping):
    t, q, v = state(seed)
    slow = Slow(feedback, t, q, v)
    spec = ElasticCascade(feedback=slow.spec, alpha=13.0, beta=170.0)
    command, signals, _ = answer(spec, robot, t, q, v, feedback)
    stretch, rate = q[2:] - q[:2], v[2:] - v[:2]
    goal = q[:2] + slow.torque / K
    other = -ON_MOTORS * v[2:] - damping * rate
    push = slow.torque + J * (slow.a - 13.0 * rate - 170.0 * (q[2:] - goal))
    np.testing.assert_allclose(PIN @ command.u, push - other - damping * rate, **CLOSED)
    rate_of_memory = slow.phi if np.any(slow.ki) else np.zeros(0)
    np.testing.assert_allclose(command.memory_rate, rate_of_memory, **CLOSED)
    wanted = {
        "spring_torque": K * stretch + damping * rate,
        "wanted_torque": slow.torque,
        "motor_error": q[2:] - goal,
    }
    for name, value in wanted.items():
        np.testing.assert_allclose(signals[name].value, value, **CLOSED)
    assert [signals[name].units for name in wanted] == ["N", "N", "m"]


@every
@seeds
@damped
@pytest.mark.parametrize("order", [0, 1])
def test_the_law_of_the_slow_motion_damps_the_springs_and_may_know_how_they_give_way(
    feedback, seed, robot, damping, order
):
    t, q, v = state(seed)
    slow = Slow(feedback, t, q, v)
    spec = ElasticSingularPerturbation(feedback=slow.spec, zeta=0.45, order=order)
    command, _, _ = answer(spec, robot, t, q, v, feedback)
    rate = v[2:] - v[:2]
    fast = 2.0 * 0.45 * np.sqrt(K * J)
    jerk = slow.jerk(slow.a)
    torque_rate = M * jerk + FIELD * slow.v + ON_LINKS * slow.a
    torque_bend = M * slow.snap(slow.a, jerk) + FIELD * slow.a + ON_LINKS * jerk
    push = slow.torque + J * slow.a - fast * rate + ON_MOTORS * v[2:]
    push += order * (J / K * torque_bend + fast / K * torque_rate)
    np.testing.assert_allclose(PIN @ command.u, push, **DIFFERENCES)


@every
@seeds
def test_the_linearisation_is_its_formula(feedback, seed):
    t, q, v = state(seed)
    slow = Slow(feedback, t, q, v)
    spec = ElasticLinearisation(feedback=slow.spec, alpha=13.0, beta=60.0)
    command, _, _ = answer(spec, ROBOT, t, q, v, feedback)
    stretch, rate = q[2:] - q[:2], v[2:] - v[:2]
    a = (K * stretch - FIELD * q[:2] - ON_LINKS * v[:2]) / M
    jerk = (K * rate - FIELD * v[:2] - ON_LINKS * a) / M
    snap = slow.snap(a, jerk) - 13.0 * (jerk - slow.jerk(a)) - 60.0 * (a - slow.a)
    motor = a + (M * snap + FIELD * a + ON_LINKS * jerk) / K
    push = J * motor + K * stretch + ON_MOTORS * v[2:]
    np.testing.assert_allclose(PIN @ command.u, push, **DIFFERENCES)


def test_the_error_of_a_linearised_row_obeys_the_product_of_both_polynomials():
    slide = LinearVelocity(coefficients={"y": 1.0}, path=Constant(value=(0.2,)))
    rows = Stack((Expression(phi="x", unit="m"), slide), ROBOT)
    gains = {"feedback": Baumgarte(alpha=5.0, beta=6.0), "alpha": 13.0, "beta": 60.0}
    position, rate = ElasticLinearisation(**gains).error_polynomials(rows)
    wanted = np.polymul([1.0, 5.0, 6.0], [1.0, 13.0, 60.0])
    np.testing.assert_allclose(position.gains, wanted[:0:-1], **CLOSED)
    wanted = np.polymul([1.0, 5.0], [1.0, 13.0, 60.0])
    np.testing.assert_allclose(rate.gains[: len(wanted) - 1], wanted[:0:-1], **CLOSED)


A0, A1, B0, B1 = 5.0, 6.0, 4.0, 3.0
"""Error of x: s^2 + 5 s + 6; of y: s^2 + 4 s + 3."""


def planned(t, start=0.2):
    """Return the motion of the masses from the task's start on, with four derivatives."""
    r, r0 = path(t), path(start)
    error, rate = task().q[:2] - r0[0], task().v[:2] - r0[1]
    slow, quick = np.array([-2.0, -1.0]), np.array([-3.0, -3.0])
    second = (rate - slow * error) / (quick - slow)
    first = error - second
    after = t - start
    return np.array(
        [
            r[k]
            + first * slow**k * np.exp(slow * after)
            + second * quick**k * np.exp(quick * after)
            for k in range(5)
        ]
    )


TRACKING = {"feedback": Baumgarte(alpha=(A0, B0), beta=(A1, B1)), "alpha": 13.0, "beta": 170.0}


@pytest.fixture(scope="module")
def tracking():
    return ElasticTracking(**TRACKING, segment=0.3).start(task(duration=0.8))


@pytest.mark.parametrize("t", [0.2, 0.31, 0.77, 1.0, 1.4])
def test_motors_are_tracked_where_their_springs_move_the_links_by_the_servo_law(tracking, t):
    """Beyond the end of the run the plan stands where it ends."""
    _, q, v = state(7)
    x = planned(min(t, 1.0))
    torque, torque_rate, torque_bend = (
        M * x[k + 2] + FIELD * x[k] + ON_LINKS * x[k + 1] for k in range(3)
    )
    theta, theta_dot, theta_ddot = (
        x[k] + each / K for k, each in enumerate((torque, torque_rate, torque_bend))
    )
    push = J * (theta_ddot - 13.0 * (v[2:] - theta_dot) - 170.0 * (q[2:] - theta)) + torque
    push += ON_MOTORS * v[2:]
    np.testing.assert_allclose(PIN @ tracking.command(t, q, v).u, push, **DIFFERENCES)
    dynamics = Dynamics(ROBOT)
    dynamics.move(t, q, v)
    signals = tracking.signals(dynamics, tracking.memory)
    np.testing.assert_allclose(signals["motor_error"].value, q[2:] - theta, rtol=0.0, atol=1e-8)
    np.testing.assert_allclose(signals["link_error"].value, q[:2] - x[0], rtol=0.0, atol=1e-8)
    assert signals["motor_error"].units == signals["link_error"].units == "m"


def test_an_integral_in_the_plan_is_integrated_with_it():
    """Both masses start on the path, where no integral builds up; and beside it, where one does."""
    gains = {**TRACKING, "feedback": Pid(kd=9.0, kp=26.0, ki=24.0)}  # poles 2, 3, 4
    law = ElasticTracking(**gains).start(task(duration=0.5))
    r0 = path(0.2)
    phi, rate = task().q[:2] - r0[0], task().v[:2] - r0[1]
    poles = np.array([-2.0, -3.0, -4.0])
    bend = -9.0 * rate - 26.0 * phi
    weights = np.linalg.solve(poles ** np.arange(3)[:, None], [phi, rate, bend])
    links = path(0.6)[0] + np.exp(0.4 * poles) @ weights
    np.testing.assert_allclose(law.plan(0.6).reshape(3, 3, 2)[0, 2], links, rtol=0.0, atol=1e-9)


def test_units_of_unlike_joints_are_told_one_by_one():
    mixed = masses(unit="rad")
    both = (
        Expression(phi="x", unit="m"),
        Expression(phi="y", unit="rad"),
    )
    law = ElasticCascade(feedback=FirstOrder(kappa=3.0), alpha=1.0, beta=1.0)
    law = law.start(task(mixed, servo=both))
    dynamics = Dynamics(mixed)
    dynamics.move(0.0, law.task.q, law.task.v)
    told = law.signals(dynamics, law.memory)
    assert [told[name].units for name in ("motor_error", "wanted_torque")] == ["m, rad", "N, N m"]


def test_a_plan_gives_its_functions_and_two_derivatives_wherever_it_is_asked():
    """Of y' = -2 y: y itself and t y, in pieces that do not divide the run."""
    plan = ChebyshevPlan(
        lambda t, y: -2.0 * y, np.array([3.0]), 0.5, 1.1, 0.4, lambda t, y: np.append(y, t * y)
    )
    for t in (0.5, 0.73, 1.1, 1.29, 1.6):
        y = 3.0 * np.exp(-2.0 * (t - 0.5))
        wanted = [[y, t * y], [-2.0 * y, y * (1.0 - 2.0 * t)], [4.0 * y, y * (4.0 * t - 4.0)]]
        np.testing.assert_allclose(plan(t), wanted, rtol=0.0, atol=1e-8)
    np.testing.assert_array_equal(plan(0.1), plan(0.5))
    np.testing.assert_array_equal(plan(9.0), plan(1.6))
