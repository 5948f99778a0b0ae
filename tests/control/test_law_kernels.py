"""Kernels of feedbacks and allocations beside formulas of another kind, and what asks Python."""

from __future__ import annotations

import dataclasses as dc

import numpy as np
import pytest
from scipy.linalg import null_space

from ukctrl import Loop, Robot, Scenario
from ukctrl.control import Power, Servo, Sliding
from ukctrl.control.allocation.allocation import Allocation, Allocator
from ukctrl.control.allocation.reaction_kernels import (
    ReactionDynamics,
    add_internal_force,
    row_null_space,
)
from ukctrl.control.feedback.feedback import ModelFeedback
from ukctrl.control.feedback.odd_functions import OddFunction
from ukctrl.control.feedback.sliding_mode import NominalError
from ukctrl.core.algebra.nearest_input import (
    ACCELERATION,
    FORCE,
    FORCE_EFFECT,
    InputMap,
    nearest_input,
)
from ukctrl.core.fields import spec
from ukctrl.mechanics.dynamics import Dynamics

CLOSED = {"rtol": 1e-9, "atol": 1e-9}
LOST = 1e-9
seeds = pytest.mark.parametrize("seed", range(4))


# Reactions.


class Chain:
    """A random robot with passive rows, and one servo row."""

    def __init__(self, seed, n=6, m=2, nu=5):
        rng = np.random.default_rng(seed)
        half = rng.standard_normal((n, n))
        self.M, self.A_p = half @ half.T + np.eye(n), rng.standard_normal((m, n))
        self.B, self.A = rng.standard_normal((n, nu)), rng.standard_normal((1, n))
        self.f, self.nonideal, self.nle = rng.standard_normal((3, n))
        self.b, self.u = rng.standard_normal(m), rng.standard_normal(nu)
        half = rng.standard_normal((nu, nu))
        self.R = half @ half.T + np.eye(nu)
        self.a_free, self.lam_free = self.answer(np.zeros(nu))
        each = [self.answer(one) for one in np.eye(nu)]
        self.G = np.ascontiguousarray(np.transpose([a - self.a_free for a, _ in each]))
        self.Lam = np.transpose([lam - self.lam_free for _, lam in each])

    def answer(self, u):
        """Return acceleration and multipliers, of the equations all at once."""
        n, m = len(self.M), len(self.A_p)
        both = np.block([[self.M, -self.A_p.T], [self.A_p, np.zeros((m, m))]])
        load = self.f + self.nonideal - self.nle + self.B @ u
        x = np.linalg.solve(both, np.concatenate([load, self.b]))
        return x[:n], x[n:]

    def moving(self, A_p=None, rank=None):
        rank = len(self.A_p) if rank is None else rank
        A_p = self.A_p if A_p is None else A_p
        given = self.f, self.nonideal, self.nle, np.ascontiguousarray(A_p), np.array([rank, rank])
        return ReactionDynamics(np.linalg.cholesky(self.M), self.B, self.G, self.a_free, *given)

    def wanted(self, at, value, R):
        """Return the input of the least addition, from the conditions of its minimum."""
        rows = np.vstack([self.A @ self.G, self.Lam[at]])
        k, nu = len(rows), len(self.u)
        both = np.block([[R, rows.T], [rows, np.zeros((k, k))]])
        gap = value - self.lam_free[at] - self.Lam[at] @ self.u
        right = np.concatenate([np.zeros(nu), [0.0], gap])
        return self.u + np.linalg.solve(both, right)[:nu]


@pytest.mark.slow(only=["False-at0-0"])
@seeds
@pytest.mark.parametrize("at", [(0,), (1,), (1, 0)])
@pytest.mark.parametrize("weighed", [False, True])
def test_reactions_get_their_values_by_the_least_addition_that_rows_do_not_feel(seed, at, weighed):
    chain, at = Chain(seed), np.array(at)
    value = np.array([3.0, -2.0])[: len(at)]
    R = chain.R if weighed else np.zeros((0, 0))
    u = chain.u.copy()
    assert add_internal_force(chain.moving(), at, value, chain.A, R, LOST, u)
    wanted = chain.wanted(at, value, chain.R if weighed else np.eye(len(u)))
    np.testing.assert_allclose(u, wanted, **CLOSED)
    np.testing.assert_allclose(chain.answer(u)[1][at], value, **CLOSED)


@seeds
def test_rows_that_others_repeat_do_not_hide_a_reaction_of_its_own(seed):
    chain = Chain(seed, m=3)
    twice = np.vstack([chain.A_p, 2.0 * chain.A_p[1] - chain.A_p[2]])
    u, alone = chain.u.copy(), chain.u.copy()
    none, value = np.zeros((0, 0)), np.array([4.0])
    assert add_internal_force(chain.moving(), np.array([0]), value, chain.A, none, LOST, alone)
    assert add_internal_force(chain.moving(twice, 3), np.array([0]), value, chain.A, none, LOST, u)
    np.testing.assert_allclose(u, alone, **CLOSED)
    for shared in (1, 2, 3):
        given = np.array([shared]), value, chain.A, none, LOST
        assert not add_internal_force(chain.moving(twice, 3), *given, u)
    np.testing.assert_allclose(u, alone, **CLOSED)  # and the input is as it was


def test_where_it_is_not_sure_the_input_stays_as_it_is():
    chain = Chain(0)
    u, none, value = chain.u.copy(), np.zeros((0, 0)), np.array([4.0])
    at = np.array([0])
    assert not add_internal_force(chain.moving(rank=1), at, value, chain.A, none, LOST, u)
    repeated = np.vstack([chain.A, 2.0 * chain.A])
    assert not add_internal_force(chain.moving(), at, value, repeated, none, LOST, u)
    every = np.linalg.qr(np.random.default_rng(0).standard_normal((6, 6)))[0][:5]
    assert not add_internal_force(
        chain.moving(), at, value, np.ascontiguousarray(every), none, LOST, u
    )
    np.testing.assert_array_equal(u, chain.u)


@pytest.mark.parametrize(("m", "nu"), [(0, 3), (1, 1), (2, 5), (6, 14), (13, 14)])
def test_what_rows_do_not_feel_is_their_null_space(m, nu):
    H = np.random.default_rng(m).standard_normal((m, nu)) * 10.0 ** np.arange(m)[:, None]
    N = row_null_space(H, LOST)
    assert N.shape == (nu, nu - m)
    np.testing.assert_allclose(N.T @ N, np.eye(nu - m), **CLOSED)
    other = null_space(H / np.linalg.norm(H, axis=1, keepdims=True))
    np.testing.assert_allclose(N @ N.T, other @ other.T, **CLOSED)


# Motors that do not reach all that is asked for.


class Motors:
    """Random motors of a given rank."""

    def __init__(self, seed, n, nu, rank):
        rng = np.random.default_rng(seed)
        half = rng.standard_normal((n, n))
        self.M = half @ half.T + np.eye(n)
        self.B = rng.standard_normal((n, rank)) @ rng.standard_normal((rank, nu))
        self.G = np.linalg.solve(self.M, self.B)
        self.rest, self.asked = rng.standard_normal((2, n))
        self.u = np.zeros(nu)

    def near(self, kind):
        robot = InputMap(self.M, self.B, self.G, self.rest)
        return nearest_input(kind, robot, self.asked, LOST, self.u)


@seeds
@pytest.mark.parametrize("sizes", [(4, 4, 4), (5, 3, 3), (3, 5, 3), (5, 4, 2), (3, 6, 1)])
def test_the_nearest_input_is_that_of_the_pseudoinverse(seed, sizes):
    one = Motors(seed, *sizes)
    tolerance = {"rtol": 1e-8, "atol": 1e-8, "err_msg": str(sizes)}
    assert one.near(FORCE)
    np.testing.assert_allclose(one.u, np.linalg.pinv(one.B, 1e-10) @ one.asked, **tolerance)
    assert one.near(ACCELERATION)
    wanted = np.linalg.pinv(one.G, 1e-10) @ (one.asked - one.rest)
    np.testing.assert_allclose(one.u, wanted, **tolerance)
    assert one.near(FORCE_EFFECT)
    L = np.linalg.cholesky(one.M)
    wanted = np.linalg.pinv(np.linalg.solve(L, one.B), 1e-10) @ np.linalg.solve(L, one.asked)
    np.testing.assert_allclose(one.u, wanted, **tolerance)


@pytest.mark.parametrize("apart", [1e-7, 1e-9, 1e-10])
@pytest.mark.parametrize("kind", [FORCE, FORCE_EFFECT, ACCELERATION])
def test_nearly_equal_motors_are_left_to_care(kind, apart):
    one = Motors(0, 4, 3, 3)
    one.B[:, 2] = one.B[:, 1] + apart * one.asked
    one.G[:] = np.linalg.solve(one.M, one.B)
    assert not one.near(kind)
    one.B[:] = one.G[:] = 0.0
    assert not one.near(kind)


@pytest.mark.parametrize("name", ["panda", "a1", "two_pandas"])
def test_gravity_is_the_slope_of_the_potential_energy(name):
    robot = Robot.load(name)
    rng = np.random.default_rng(0)
    q = np.ascontiguousarray(robot.integrate(robot.neutral, rng.standard_normal(robot.nv)))
    at, other = (robot.snapshot(q, rng.standard_normal(robot.nv)) for _ in range(2))
    step, slopes = 1e-5, np.zeros(robot.nv)
    for i, one in enumerate(np.eye(robot.nv)):
        for sign in (1.0, -1.0):
            other.move(np.ascontiguousarray(robot.integrate(q, sign * step * one)), at.v)
            slopes[i] += sign * other.potential_energy() / (2.0 * step)
    size = np.abs(slopes).max()  # step^2 times the third derivative, and rounding over the step
    np.testing.assert_allclose(at.gravity, slopes, rtol=0.0, atol=1e-7 * size)
    np.testing.assert_array_equal(other.gravity, other.copy().gravity)


# Sliding.


@pytest.mark.slow
def test_a_nominal_error_of_long_ago_is_gone_and_no_number_overflows():
    alpha, beta = np.array([20.0, 50.0, 8.0, 0.0]), np.array([100.0, 1.0, 0.0, 0.0])
    nominal = NominalError(alpha, beta, np.array([True, True, False, True]))
    error = nominal.evaluate(1e4, np.array([0.3, 0.2, 0.0, 0.5]), np.array([1.0, -2.0, 3.0, 0.1]))
    np.testing.assert_allclose(error.phi, [0.0, 0.0, 0.0, 0.5 + 0.1 * 1e4], rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(error.beta, [0.0, 0.0, 0.0, 0.1], rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(error.beta_rate, 0.0, atol=1e-12)


@spec
class Cube(OddFunction):
    """An odd function of one's own."""

    def __call__(self, x):
        return x**3


def own_law(function):
    """Return a loop and a memory with an error, so that the law pushes."""
    feedback = Sliding(
        alpha=8.0, beta=16.0, rate=9.0, box=0.01, uncertainty=2.0, mismatch=0.25, function=function
    )
    loop = Loop(Scenario.load("scara-helix").replace({"controller": Servo(feedback=feedback)}))
    memory = loop.law.memory + 0.01
    memory[0] = 0.0
    loop.believed_model.move(0.1, loop.state.q, loop.state.v)
    return loop, memory


def test_an_odd_function_of_ones_own_is_asked_in_its_place():
    (own, memory), (ours, _) = own_law(Cube()), own_law(Power(exponent=3.0))
    assert len(own.law.tick(own.believed_model).steps.python_owners) == 1
    assert not ours.law.tick(ours.believed_model).steps.python_owners
    first, second = (one.law.step(one.believed_model, memory).demand for one in (own, ours))
    np.testing.assert_allclose(first, second, **CLOSED)
    assert np.abs(second).max() > 1.0


class Nothing(ModelFeedback):
    """A feedback that forgot to say what it asks for."""

    names = ("one",)

    def begin(self, t, rows):
        return np.zeros(0)

    def promise(self, t, rows, memory):
        raise AssertionError


def test_a_feedback_without_a_question_is_refused_by_its_name():
    loop = Loop(Scenario.load("scara-helix"))
    rows = loop.law.stack.write(loop.believed_model.snapshot)
    with pytest.raises(NotImplementedError, match="Nothing must have a method output"):
        Nothing().output(rows, np.zeros(0), loop.believed_model)


# What is left to Python.

POSTURE = {"kind": "posture", "kp": 5.0, "kd": 1.0}
SELF = {"kind": "self_motion", "kp": 2.0, "kd": 1.0}
CHEN = {"kind": "chen", "null_space": POSTURE}
LAWS = {
    "chen robust": ("scara-helix", {"controller": {"use": "servo-chen-robust"}}),
    "adaptive": ("scara-helix", {"controller": {"use": "servo-adaptive-robust"}}),
    "sliding": ("scara-helix", {"controller": {"use": "servo-sliding"}}),
    "lyapunov": ("scara-helix", {"controller": {"use": "servo-lyapunov"}}),
    "squeeze": ("coordinated-arms-squeeze", {}),
    "carry": ("two-arms-carry", {}),
    "priorities": ("panda-priorities", {}),
    "weak": ("scara-weak-motors", {}),
    "damped": ("scara-helix", {"controller": {"use": "servo-damped"}}),
    "chen": (
        "coordinated-arms",
        {"controller.allocation": {"kind": "chen", "null_space": POSTURE}},
    ),
    "posture": ("coordinated-arms", {"controller.allocation.null_space": POSTURE}),
    "self motion": ("a1-three-feet", {"controller.allocation.null_space": SELF}),
}


@pytest.mark.slow(
    only=["chen robust", "lyapunov", "chen", "adaptive", "squeeze", "posture", "self motion"]
)
@pytest.mark.parametrize("name", LAWS)
def test_no_servo_law_of_the_catalogue_asks_python_in_between(name, monkeypatch):
    scenario, changes = LAWS[name]
    loop = Loop(Scenario.load(scenario).replace(changes))
    law, belief = loop.law, loop.believed_model
    steps = law.tick(belief).steps
    assert not steps.python_owners
    belief.move(0.0, loop.state.q, loop.state.v)
    asked = []
    monkeypatch.setattr(type(steps), "_help_with", staticmethod(lambda *given: asked.append(given)))
    law.step(belief, law.memory)
    assert not asked


@spec
class Remembers(Allocation):
    """An allocation of one's own that looks back by functions of Python."""

    def attach(self, task, rows):
        return _Remembers(task.robot.nu)


class _Remembers(Allocator):
    def __init__(self, nu):
        self.memory, self.seen = np.zeros(nu), []

    def look_back(self, memory):
        self.seen.append(memory.copy())

    def input(self, rows, demand, dynamics):
        return self.seen[-1] + 1.0

    def memory_rate(self, u, memory):
        return 2.0 * u - memory


def test_an_allocation_of_ones_own_looks_back_by_its_functions():
    plain = Scenario.load("scara-helix")
    law = dc.replace(plain.controller, allocation=Remembers())
    loop = Loop(plain.replace({"controller": law}))
    loop.believed_model.move(0.0, loop.state.q, loop.state.v)
    memory = np.array([1.0, 2.0, 3.0, 4.0])
    command = loop.law.step(loop.believed_model, memory)
    np.testing.assert_array_equal(command.u, memory + 1.0)
    np.testing.assert_array_equal(command.memory_rate, memory + 2.0)


@pytest.mark.slow
def test_the_memory_of_a_bounded_law_becomes_its_input_within_one_tick():
    changes = {"timing.control": 0.01, "controller.allocation.limit": 60.0}
    robot = {"use": "scara", "actuator": [
        {"kind": "joint", "joint": f"q{i}", "name": f"u{i}", "limit": 60.0, "rate_limit": 500.0}
        for i in (1, 2, 3, 4)
    ]}  # fmt: skip
    loop = Loop(Scenario.load("scara-weak-motors").replace({"robot": robot, **changes}))
    law, belief = loop.law, loop.believed_model
    assert isinstance(belief, Dynamics)
    assert not law.tick(belief).steps.python_owners
    belief.move(0.0, loop.state.q, loop.state.v)
    last = np.array([20.0, -10.0, 5.0, 30.0])
    command = law.step(belief, np.append(last, 1.0))
    assert (np.abs(command.u - last) <= 5.0 * (1.0 + 1e-9)).all()
    np.testing.assert_allclose(
        np.append(last, 1.0) + 0.01 * command.memory_rate, np.append(command.u, 1.0), **CLOSED
    )
    free = law.step(belief, np.append(last, 0.0))
    assert (np.abs(free.u - last) > 5.0).any()
