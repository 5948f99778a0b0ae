"""Which input an allocation chooses, in every metric, on open and closed chains."""

from __future__ import annotations

import dataclasses as dc

import numpy as np
import pytest
from scipy.linalg import null_space, sqrtm

from ukctrl import Robot, Task
from ukctrl.control import (
    Bounded,
    Chen,
    Damped,
    Damping,
    LeastNorm,
    Posture,
    Prioritized,
    SelfMotion,
)
from ukctrl.control.allocation.allocation import Allocation, Allocator
from ukctrl.control.feedback.model_mismatch import ModelMismatch, RowMismatch
from ukctrl.core.errors import InfeasibleConstraint
from ukctrl.core.fields import spec
from ukctrl.mechanics.constraints import Expression, Stack
from ukctrl.mechanics.dynamics import Dynamics
from ukctrl.robot import Lagrangian, Options, Transmission

CLOSED = {"rtol": 1e-9, "atol": 1e-9}
M = np.diag([1.7, 0.6, 0.9])
K = np.diag([4.0, 2.5, 5.0])
B = np.array([[2.0, 0.0, 0.0, 0.3], [0.0, 1.4, 0.0, 0.0], [0.0, 0.5, 0.8, -0.6]])
TIE = np.array([[1.0, 2.0, -1.0]])
ROW = np.array([[0.4, 1.0, 0.7]])
LIMITS = (80.0, 30.0, 50.0, 20.0)


def masses(tied=False, inputs=4):
    """Return three masses on springs, with four motors, and maybe a rod between them."""
    motors = [
        Transmission(name=name, ratios=dict(zip("xyz", column, strict=True)), limit=limit)
        for name, column, limit in zip("abcd"[:inputs], B.T.tolist(), LIMITS, strict=False)
    ]
    rod = {"kind": "expression", "phi": "x + 2*y - z", "name": "rod"}
    return Robot.build(
        Lagrangian(
            coordinates={"x": "m", "y": "m", "z": "m"},
            kinetic=["1.7/2*v.x**2", "0.6/2*v.y**2", "0.9/2*v.z**2"],
            potential="2*x**2 + 2.5/2*y**2 + 2.5*z**2",
        ),
        Options(actuator=motors, passive=[rod] if tied else []),
        name="masses",
    )


OPEN, TIED, FEW = masses(), masses(tied=True), masses(inputs=2)
ROBOTS = {"open": OPEN, "tied": TIED, "fewer motors": FEW}
SERVO = (Expression(phi="0.4*x + y + 0.7*z - 0.2", unit="m", name="sum"),)
TWO = (*SERVO, Expression(phi="x - z", unit="m", name="apart"))
POSTURE = Posture(kp=3.0, kd=1.3, q=(0.4, -0.3, 0.1), gravity=False)
SELF = SelfMotion(kp=2.0, kd=0.7, q=(0.3, 0.2, -0.5))


class Place:
    """A robot at a random state that its rod allows, and the answer to inputs there."""

    def __init__(self, robot, seed, servo=SERVO):
        rng, self.robot = np.random.default_rng(seed), robot
        tie = TIE if robot.passive else np.zeros((0, 3))
        free = null_space(tie) if len(tie) else np.eye(3)
        self.q, self.v = (free @ rng.standard_normal(free.shape[1]) for _ in range(2))
        self.B = B[:, : robot.nu]
        W = free @ np.linalg.solve(free.T @ M @ free, free.T)
        self.G, self.a_free = W @ self.B, -W @ K @ self.q
        self.task = Task(robot=robot, servo=servo, q=self.q, v=self.v)
        self.stack, self.dynamics = Stack(servo, robot), Dynamics(robot)
        self.dynamics.move(0.0, self.q, self.v)
        self.rows = self.stack.write(self.dynamics.snapshot)

    def ask(self, allocation, demand):
        allocator = allocation.attach(self.task, self.stack.names)
        return allocator.input(self.rows, np.array(demand), self.dynamics)

    def u0(self, posture):
        if posture is None:
            return np.zeros(self.robot.nu)
        back = posture.kp * (np.array(posture.q) - self.q) - posture.kd * self.v
        if posture is POSTURE:
            return np.linalg.pinv(self.B) @ back
        if self.robot is OPEN:  # its motors give any acceleration
            return np.linalg.pinv(self.B) @ (M @ back + K @ self.q)
        return np.linalg.pinv(self.G) @ (back - self.a_free)

    def root(self, metric):
        """Return W of the cost |W (u - u0)|^2."""
        constant = {
            "effort": np.eye(self.robot.nu),
            "limits": np.diag(1.0 / np.array(LIMITS[: self.robot.nu])),
            "gauss": np.real(sqrtm(M)) @ self.G,
            "resolved_acceleration": self.G,
        }
        if isinstance(metric, str):
            return constant[metric]
        if isinstance(metric, dict):
            return np.diag(np.sqrt([metric.get(name, 1.0) for name in self.robot.actuators]))
        return np.linalg.cholesky(np.array(metric)).T

    def best(self, H, d, u0, W):
        """Return the input with H u = d and the least cost; of several, the least."""
        p, N = np.linalg.pinv(H) @ (d - H @ u0), null_space(H)
        return u0 + p - N @ (np.linalg.pinv(W @ N, rcond=1e-9) @ W @ p)


def matrix(n):
    X = np.random.default_rng(9).standard_normal((n, n))
    return tuple(map(tuple, (X @ X.T + np.eye(n)).tolist()))


METRICS = ["effort", "limits", "gauss", "resolved_acceleration", {"b": 7.0}, "matrix"]
KINDS = {
    "least_norm": LeastNorm(),
    "damped": Damped(),
    "prioritized": Prioritized(),
    "bounded": Bounded(),
    "relaxed": Bounded(on_limit="relax"),
}


@pytest.mark.slow(only=["posture-damped-gauss-open"])
@pytest.mark.parametrize("robot", ROBOTS.values(), ids=ROBOTS)
@pytest.mark.parametrize("metric", METRICS, ids=str)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("posture", [None, POSTURE, SELF], ids=["", "posture", "self motion"])
def test_of_all_inputs_that_serve_the_rows_the_cheapest_is_chosen(robot, metric, kind, posture):
    at = Place(robot, 3)
    metric = matrix(robot.nu) if metric == "matrix" else metric
    H, demand, u0 = ROW @ at.G, [2.3], at.u0(posture)
    u = at.best(H, demand - ROW @ at.a_free, u0, at.root(metric))
    found = at.ask(dc.replace(KINDS[kind], metric=metric, null_space=posture), demand)
    np.testing.assert_allclose(found, u, rtol=1e-7, atol=1e-7)


CHAINS = pytest.mark.parametrize("robot", [OPEN, TIED], ids=["open", "tied"])


@CHAINS
@pytest.mark.parametrize("metric", ["effort", "gauss", {"b": 7.0}], ids=str)
def test_rows_that_contradict_each_other_are_met_as_nearly_as_can_be(robot, metric):
    """By least squares; of all inputs that come as near the cheapest is taken."""
    contradicting = (*SERVO, Expression(phi="0.8*x + 2*y + 1.4*z", unit="m", name="twice"))
    at, demand = Place(robot, 4, contradicting), np.array([1.5, -0.4])
    found = at.ask(LeastNorm(metric=metric, on_infeasible="least_squares"), demand)
    with pytest.raises(InfeasibleConstraint, match=r"'sum', 'twice'|'twice'"):
        at.ask(LeastNorm(metric=metric), demand)
    d = demand - np.vstack([ROW, 2.0 * ROW]) @ at.a_free
    H = ROW @ at.G
    best = at.best(H, [(d[0] + 2.0 * d[1]) / 5.0], np.zeros(4), at.root(metric))
    np.testing.assert_allclose(found, best, rtol=1e-7, atol=1e-7)


@CHAINS
@pytest.mark.parametrize("posture", [None, POSTURE], ids=["", "posture"])
def test_the_feedbacks_share_is_cheapest_in_a_metric_of_its_own(robot, posture):
    moving = (Expression(phi="0.4*x + y + 0.7*z - 0.2*t**2", unit="m", name="sum"),)
    at, demand = Place(robot, 5, moving), np.array([2.3])
    np.testing.assert_allclose(at.rows.b, [0.4], **CLOSED)  # without feedback
    H, rest = ROW @ at.G, ROW @ at.a_free
    share = at.best(H, demand - at.rows.b, np.zeros(4), at.root("gauss"))
    u0 = at.u0(posture) + share
    wanted = at.best(H, demand - rest, u0, at.root("limits"))
    law = LeastNorm(metric="limits", feedback_metric="gauss", null_space=posture)
    np.testing.assert_allclose(at.ask(law, demand), wanted, **CLOSED)


@pytest.mark.parametrize("posture", [None, POSTURE], ids=["", "posture"])
@pytest.mark.parametrize("metric", ["effort", "gauss"])
def test_other_readings_of_a_closed_chain_are_their_equations(metric, posture):
    """`frozen` leaves out what the reaction answers, `stacked` forbids it."""
    at, d = Place(TIED, 6), np.array([2.3])
    free, rest, u0 = np.linalg.solve(M, at.B), ROW @ at.a_free, at.u0(posture)
    W = np.eye(4) if metric == "effort" else np.real(sqrtm(M)) @ free
    given = {"metric": metric, "null_space": posture}
    frozen = at.best(ROW @ free, d - rest, u0, W)
    np.testing.assert_allclose(at.ask(LeastNorm(coupling="frozen", **given), d), frozen, **CLOSED)
    both = np.vstack([ROW, TIE])
    stacked = at.best(both @ free, np.append(d - rest, 0.0), u0, W)
    np.testing.assert_allclose(at.ask(LeastNorm(coupling="stacked", **given), d), stacked, **CLOSED)
    N, H = (ROW @ free).T, ROW @ at.G
    chen = u0 + N @ np.linalg.solve(H @ N, d - rest - H @ u0)
    np.testing.assert_allclose(at.ask(Chen(null_space=posture), d), chen, **CLOSED)


@pytest.mark.parametrize("posture", [None, POSTURE], ids=["", "posture"])
def test_on_an_open_chain_the_row_space_holds_the_least_norm(posture):
    """No reaction moves with the input there, so that Chen's equation is the pseudoinverse."""
    for seed, (A, servo) in enumerate([(ROW, SERVO), (np.vstack([ROW, [1.0, 0.0, -1.0]]), TWO)]):
        at, demand = Place(OPEN, seed, servo), np.array([2.3, -0.9])[: len(A)]
        H, u0 = A @ at.G, at.u0(posture)
        least = u0 + np.linalg.pinv(H) @ (demand - A @ at.a_free - H @ u0)
        np.testing.assert_allclose(at.ask(Chen(null_space=posture), demand), least, **CLOSED)


# What an allocation does where it is asked for too much, or for nothing.


@spec
class Clipped(Allocation):
    """A user's own: the least norm, cut off at one side alone, or at both."""

    low: bool = True
    high: bool = True

    def attach(self, task, rows):
        return ClippedAllocator(self, LeastNorm().attach(task, rows), task)


class ClippedAllocator(Allocator):
    def __init__(self, sides, inner, task):
        self._sides, self._inner, self._task = sides, inner, task

    def input(self, rows, demand, dynamics):
        u = self._inner.input(rows, demand, dynamics)
        low, high = self._task.robot.input_bounds(np.zeros(len(u)))
        u = np.maximum(u, low) if self._sides.low else u
        return np.minimum(u, high) if self._sides.high else u


CARRYING = Posture(kp=0.0, kd=0.0)


@CHAINS
@pytest.mark.parametrize(
    ("allocation", "servo", "stops", "keeps", "idle"),
    [
        (LeastNorm(), TWO, True, False, True),
        (LeastNorm(on_infeasible="least_squares"), TWO, False, False, True),
        (LeastNorm(null_space=POSTURE), TWO, True, False, False),
        (LeastNorm(null_space=CARRYING), TWO, True, False, False),
        (LeastNorm(null_space=Damping(gain=1.0, gravity=False)), TWO, True, False, False),
        (Damped(), TWO, False, False, True),
        (Prioritized(), SERVO, True, False, True),
        (Prioritized(), TWO, False, False, True),
        (Bounded(), TWO, True, True, True),
        (Bounded(on_limit="relax"), TWO, False, True, True),
        (Clipped(), TWO, True, True, True),
        (Clipped(low=False), TWO, True, False, True),
        (Clipped(high=False), TWO, True, False, True),
    ],
    ids=lambda one: getattr(one, "kind", type(one).__name__),
)
def test_an_allocation_is_told_by_what_it_does(robot, allocation, servo, stops, keeps, idle):
    at = Place(robot, 7, servo)
    found = allocation.behaviour(at.task)
    assert found == (stops, keeps, idle)


# What a wrong model does to the rows.

TRUE_M, TRUE_K = np.diag([2.1, 0.5, 1.3]), np.diag([3.0, 4.5, 2.0])
TRUTH = Robot.build(
    Lagrangian(
        coordinates={"x": "m", "y": "m", "z": "m"},
        kinetic=["2.1/2*v.x**2", "0.5/2*v.y**2", "1.3/2*v.z**2"],
        potential="1.5*x**2 + 4.5/2*y**2 + z**2",
    ),
    Options(
        actuator=[
            Transmission(name=name, ratios=dict(zip("xyz", column, strict=True)))
            for name, column in zip("abcd", (1.1 * B).T.tolist(), strict=True)
        ]
    ),
    name="truth",
)
PATH = (
    Expression(phi="0.4*x + y + 0.7*z - sin(t)", unit="m", name="sum"),
    Expression(phi="x - z**2/2", unit="m", name="bent"),
)


@pytest.mark.parametrize("metric", ["effort", "gauss"])
def test_what_a_wrong_model_leaves_of_a_demand_is_its_formula(metric):
    at, t = Place(OPEN, 8, PATH), 0.6
    error = ModelMismatch(at.task, TRUTH, LeastNorm(metric=metric))
    found = error.at(t, at.q, at.v)
    A = np.vstack([ROW, [1.0, 0.0, -at.q[2]]])
    b = np.array([-np.sin(t), at.v[2] ** 2])
    beta = A @ at.v - [np.cos(t), 0.0]
    H = A @ at.G
    R = np.eye(4) if metric == "effort" else at.G.T @ M @ at.G + 1e-12 * np.eye(4)
    back = np.linalg.solve(R, H.T)
    pinv = back @ np.linalg.inv(H @ back)
    true = A @ np.linalg.solve(TRUE_M, 1.1 * B)
    left = A @ np.linalg.solve(TRUE_M, -TRUE_K @ at.q) + true @ pinv @ (b - A @ at.a_free) - b
    close = {"rtol": 1e-5, "atol": 1e-5} if metric == "gauss" else CLOSED
    np.testing.assert_allclose(found.left, left, **close)
    np.testing.assert_allclose(found.grip, true @ pinv - np.eye(2), **close)
    np.testing.assert_allclose(found.beta, beta, **CLOSED)
    rate = np.array([3.0, 0.7])
    np.testing.assert_allclose(
        found.on_surface(rate), found.left - found.grip @ (rate * beta), **CLOSED
    )
    (along,) = error.along(np.array([t]), at.q[None], at.v[None])
    np.testing.assert_array_equal(along.left, found.left)
    np.testing.assert_array_equal(along.grip, found.grip)


def test_what_may_be_lost_of_a_push_is_the_least_of_a_quadratic_form():
    """With weights that tell rows apart; and row sums in units of their own."""
    E = np.array([[-0.3, 0.9], [0.2, -0.1]])
    found = RowMismatch(np.zeros(2), E, np.zeros(2))
    angles = np.linspace(0.0, np.pi, 20_001)
    x = np.array([np.cos(angles), np.sin(angles)])
    for weight in (1.0, 5.0, np.array([4.0, 0.25])):
        P = np.diag(np.sqrt(np.broadcast_to(weight, 2)))
        form = np.einsum("ik,ij,jk->k", x, P @ E @ np.linalg.inv(P), x)
        np.testing.assert_allclose(found.lost(weight), -form.min(), rtol=1e-6)
    assert RowMismatch(np.zeros(2), np.eye(2), np.zeros(2)).lost() == 0.0
    np.testing.assert_allclose(found.row_sum(), 1.2, **CLOSED)
    np.testing.assert_allclose(found.row_sum(3.0), 1.2, **CLOSED)
    # In units of 2 and of 0.5: |E_ij| u_j / u_i.
    np.testing.assert_allclose(found.row_sum(np.array([2.0, 0.5])), 0.8 + 0.1, **CLOSED)


@pytest.mark.parametrize("rate", [2.0, np.array([2.0, 0.5])])
def test_the_uncertainty_on_a_surface_is_that_of_what_it_asks_for_itself(rate):
    grip, left = np.array([[0.1, -0.3], [0.2, 0.4]]), np.array([1.0, -2.0])
    beta = np.array([0.5, -0.25])
    wanted = left - grip @ (rate * beta)
    np.testing.assert_allclose(RowMismatch(left, grip, beta).on_surface(rate), wanted, rtol=1e-14)
