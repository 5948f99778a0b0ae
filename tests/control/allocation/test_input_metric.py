"""Metrics that measure inputs by what they do, on closed chains and with redundant motors.

Beside a dense quadratic program over accelerations, inputs and reactions at once, which knows
nothing of projections: the acceleration is the nearest, and the input the least that gives it.
"""

import numpy as np
import pytest
from scipy.linalg import null_space
from seeds import seeded

from ukctrl import Scenario, Task, uk
from ukctrl.control import Bounded, Damped, LeastNorm, Prioritized, SelfMotion
from ukctrl.core.errors import GainError, ShapeError
from ukctrl.mechanics.constraints import Stack
from ukctrl.mechanics.dynamics import Dynamics
from ukctrl.simulation.assemble.loop import Loop

DENSE = {"rtol": 0.0, "atol": 1e-7}  # least squares of Lagrange matrices of condition 1e5
EXACT = {"rtol": 0.0, "atol": 1e-9}
METRICS = ("gauss", "resolved_acceleration")
NV = 8


def least(P, q, E, e):
    """Return an x that minimises x'Px/2 - q'x subject to E x = e."""
    x = np.linalg.pinv(E, rcond=1e-10) @ e
    N = null_space(E, rcond=1e-10)
    value, vector = np.linalg.eigh(N.T @ P @ N)
    curved = vector[:, value > 1e-10 * np.abs(P).max()]
    reduced = curved.T @ N.T @ P @ N @ curved
    x = x + N @ curved @ np.linalg.solve(reduced, curved.T @ N.T @ (q - P @ x))
    np.testing.assert_allclose(E @ x, e, **DENSE)
    return x


def nearest(metric, M, Q, B, A_p, b_p, A, b, u0):
    """Return the acceleration and the input, of a robot written as Lagrange's equations.

    First the acceleration, the nearest to what ``u0`` gives; then the input nearest to ``u0``.
    """
    n, nu, m = len(M), B.shape[1], len(A_p)
    physics = np.hstack([np.vstack([M, A_p]), np.vstack([-A_p.T, np.zeros((m, m))])])
    a0 = (np.linalg.pinv(physics, rcond=1e-10) @ np.concatenate([Q + B @ u0, b_p]))[:n]
    E = np.vstack(
        [
            np.hstack([M, -B, -A_p.T]),
            np.hstack([A_p, np.zeros((m, nu + m))]),
            np.hstack([A, np.zeros((len(A), nu + m))]),
        ]
    )
    weight = M if metric == "gauss" else np.eye(n)
    P = np.zeros((n + nu + m, n + nu + m))
    P[:n, :n] = weight
    q = np.concatenate([weight @ a0, np.zeros(nu + m)])
    a = least(P, q, E, np.concatenate([Q, b_p, b]))[:n]
    P = np.diag([1.0] * nu + [0.0] * m)
    force = np.hstack([B, A_p.T])
    x = least(P, np.concatenate([u0, np.zeros(m)]), force, M @ a - Q)
    return a, x[:nu]


def spd(rng, n):
    X = rng.standard_normal((n, n))
    return X @ X.T / n + np.eye(n)


ACTUATION = {
    "one motor a freedom": 5,
    "more motors than freedoms": 7,
    "a motor twice": 5,
    "a motor that only squeezes": 5,
    "fewer motors": 4,
}


rng = seeded(8)


def chain(rng, kind, redundant):
    """A closed chain of five freedoms, a task of three rows and a null-space input."""
    M, Q = spd(rng, NV), rng.standard_normal(NV)
    A_p, b_p = rng.standard_normal((3, NV)), rng.standard_normal(3)
    if redundant:
        T = np.vstack([np.eye(3), rng.standard_normal((2, 3))])
        A_p, b_p = T @ A_p, T @ b_p
    B = rng.standard_normal((NV, ACTUATION[kind]))
    if kind == "a motor twice":
        B = np.column_stack([B, 2.0 * B[:, 0]])
    elif kind == "a motor that only squeezes":
        B = np.column_stack([B, A_p.T @ rng.standard_normal(len(A_p))])
    A, b = rng.standard_normal((3, NV)), rng.standard_normal(3)
    return M, Q, B, A_p, b_p, A, b, rng.standard_normal(B.shape[1])


@pytest.mark.parametrize("redundant", [False, True], ids=["independent rows", "redundant rows"])
@pytest.mark.parametrize("kind", ACTUATION)
@pytest.mark.parametrize("metric", METRICS)
def test_the_acceleration_is_the_nearest_and_the_input_the_least_that_gives_it(
    rng, metric, kind, redundant
):
    M, Q, B, A_p, b_p, A, b, u0 = chain(rng, kind, redundant)
    a_free, G = uk.affine_acceleration(M, Q, B, A_p, b_p)
    u = uk.servo_input(A, b, a_free, G, R=uk.input_metric(metric, M, B, G), u0=u0)
    a, expected = nearest(metric, M, Q, B, A_p, b_p, A, b, u0)
    np.testing.assert_allclose(a_free + G @ u, a, **DENSE)
    np.testing.assert_allclose(u, expected, **DENSE)


@pytest.mark.parametrize("kind", ["one motor a freedom", "fewer motors"])
def test_the_metric_is_that_of_the_constrained_inverse_mass(rng, kind):
    M, Q, B, A_p, b_p, *_ = chain(rng, kind, redundant=True)
    _, G = uk.affine_acceleration(M, Q, B, A_p, b_p)
    inverse = np.linalg.inv(M)
    reaction = inverse @ A_p.T @ np.linalg.pinv(A_p @ inverse @ A_p.T, rcond=1e-10)
    W = inverse - reaction @ A_p @ inverse
    np.testing.assert_allclose(uk.input_metric("gauss", M, B, G), B.T @ W @ B, **EXACT)
    squared = uk.input_metric("resolved_acceleration", M, B, G)
    np.testing.assert_allclose(squared, B.T @ W @ W @ B, **EXACT)


@pytest.mark.parametrize("strength", [1e-9, 1e-4, 1e6])
@pytest.mark.parametrize("metric", METRICS)
def test_how_strong_a_motor_is_does_not_decide_whether_it_counts(metric, strength):
    """A unit of input may be a newton or a giganewton: the accelerations are the same."""
    rng = np.random.default_rng(1)
    M, Q, B, A_p, b_p, A, b, _ = chain(rng, "one motor a freedom", redundant=False)
    answers = []
    for scale in (1.0, strength):
        scaled = B * np.array([1.0, scale, 1.0, scale, 1.0])
        a_free, G = uk.affine_acceleration(M, Q, scaled, A_p, b_p)
        u = uk.servo_input(A, b, a_free, G, R=uk.input_metric(metric, M, scaled, G))
        answers.append(a_free + G @ u)
    np.testing.assert_allclose(*answers, rtol=0.0, atol=1e-6)


def test_a_metric_that_is_only_rounding_on_some_inputs_is_refused():
    M, Q, B, A_p, b_p, A, b, _ = chain(np.random.default_rng(2), "a motor twice", redundant=False)
    a_free, G = uk.affine_acceleration(M, Q, B, A_p, b_p)
    with pytest.raises(
        GainError, match=r"metric must be symmetric positive definite.*uk\.input_metric"
    ):
        uk.servo_input(A, b, a_free, G, R=G.T @ M @ G)


class Place:
    """A closed chain of the catalogue at its start, with a demand of its own on its rows."""

    def __init__(self, name, seed=0, **changes):
        loop = Loop(Scenario.load(name, changes))
        rng = np.random.default_rng(seed)
        q, v = loop.state.q, loop.state.v
        servo = loop.scenario.servo
        self.task = Task(robot=loop.robot, servo=servo, q=q, v=v)
        self.stack, self.dynamics = Stack(servo, loop.robot), Dynamics(loop.robot)
        self.dynamics.move(0.0, q, v)
        self.rows = self.stack.write(self.dynamics.snapshot)
        self.demand = rng.standard_normal(len(self.stack))

    def ask(self, allocation):
        allocator = allocation.attach(self.task, self.stack.names)
        return allocator.input(self.rows, self.demand, self.dynamics)

    def arrays(self):
        s, passive = self.dynamics.snapshot, self.dynamics.passive.rows
        b_p = passive.A @ self.dynamics.a_free  # stabilised as the loop does
        return s.M, s.f - s.nle, s.B, passive.A, b_p, self.rows.A, self.demand


CHAINS = ["three-rrr-redundant", "two-arms-carry", "a1-squat", "three-rrr"]


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("name", CHAINS)
def test_on_robots_it_is_the_same(name, metric):
    place = Place(name)
    a, expected = nearest(metric, *place.arrays(), np.zeros(place.task.robot.nu))
    u = place.ask(LeastNorm(metric=metric))
    size = np.abs(expected).max()
    np.testing.assert_allclose(place.dynamics.acceleration(u), a, rtol=0.0, atol=1e-5)
    np.testing.assert_allclose(u / size, expected / size, **DENSE)


@pytest.mark.parametrize("metric", METRICS)
def test_damping_priorities_and_limits_share_the_metric(metric):
    place = Place("three-rrr-redundant")
    u = place.ask(LeastNorm(metric=metric))
    others = (Damped(metric=metric), Prioritized(metric=metric), Bounded(metric=metric, limit=1e3))
    for allocation in others:
        np.testing.assert_allclose(place.ask(allocation), u, rtol=0.0, atol=1e-8)


def test_a_self_motion_is_as_near_as_task_and_closures_allow():
    """Of all accelerations that the closed chain and its task allow, the nearest to the asked."""
    place = Place("three-rrr-redundant")
    s, d = place.dynamics.snapshot, place.dynamics
    v = np.random.default_rng(3).standard_normal(len(s.v))
    d.move(0.0, s.q.copy(), v)
    u = place.ask(LeastNorm(metric="resolved_acceleration", null_space=SelfMotion(kd=7.0)))
    rows = np.vstack([place.rows.A, d.passive.rows.A])
    right = np.concatenate([place.demand, d.passive.rows.A @ d.a_free])
    P = np.eye(len(v))
    expected = least(P, -7.0 * v, rows, right)
    np.testing.assert_allclose(d.acceleration(u), expected, rtol=0.0, atol=1e-6)


@pytest.mark.parametrize(("name", "sizes"), [("M", (3, 2)), ("G", (2, 3))])
def test_a_metric_of_matrices_that_do_not_fit_is_refused(name, sizes):
    M, G = np.eye(sizes[0]), np.ones((sizes[1], 1))
    with pytest.raises(ShapeError, match=f"^{name} must have shape"):
        uk.input_metric("gauss", M, np.ones((2, 1)), G)
