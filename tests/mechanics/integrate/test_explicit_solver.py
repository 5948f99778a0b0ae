"""Our RK45 and DOP853 are SciPy's: coefficients, steps, and states between the steps."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import integrate

from ukctrl.mechanics.integrate.butcher_tableaux import TABLEAUX
from ukctrl.mechanics.integrate.explicit_solver import ExplicitSolver
from ukctrl.mechanics.integrate.ode_system import IntegratorState, OdeSystem

RNG = np.random.default_rng(0)
N = 4
A = RNG.standard_normal((N, 2 * N + 1))
START = IntegratorState(RNG.standard_normal(N), RNG.standard_normal(N), np.array([0.3]))
ROBOT = SimpleNamespace(
    structure=SimpleNamespace(manifold_table=np.array([[0, 0, 0, N]])), is_euclidean=True
)
LIMITS = {"rtol": 1e-9, "atol": 1e-11, "max_step": 0.5}


def bent(t, q, v, memory):
    """Return rates that are smooth, and bend enough for steps to change."""
    return np.sin(A @ np.concatenate([q, v, memory]) + t * t) * (1.0 + t), np.cos(3.0 * q[:1] + t)


def flat(t, y):
    a, rate = bent(t, y[:N], y[N : 2 * N], y[2 * N :])
    return np.concatenate([y[N : 2 * N], a, rate])


@pytest.mark.parametrize("name", TABLEAUX)
def test_the_coefficients_are_scipys(name):
    ours, theirs = TABLEAUX[name], getattr(integrate, name)
    s = ours.stages
    np.testing.assert_array_equal(ours.A[:s, : theirs.A.shape[1]], theirs.A)
    np.testing.assert_array_equal(ours.A[s, :s], theirs.B)
    np.testing.assert_array_equal(ours.c[:s], theirs.C)
    errors = [theirs.E] if name == "RK45" else [theirs.E5, theirs.E3]
    np.testing.assert_array_equal(ours.E, errors)
    if name == "RK45":
        np.testing.assert_array_equal(ours.D, theirs.P.T)
    else:
        np.testing.assert_array_equal(ours.D, theirs.D)
        np.testing.assert_array_equal(ours.A[s + 1 :], theirs.A_EXTRA)
        np.testing.assert_array_equal(ours.c[s + 1 :], theirs.C_EXTRA)
    assert ours.order == theirs.error_estimator_order
    np.testing.assert_allclose(ours.A.sum(axis=1), ours.c, atol=2e-15)


@pytest.mark.parametrize("name", TABLEAUX)
@pytest.mark.parametrize("first", [None, 1e-3])
def test_every_step_is_scipys_and_so_are_the_states_within(name, first):
    given = 0.2, np.concatenate(START), 3.0
    ours = ExplicitSolver(
        OdeSystem.from_function(bent, ROBOT, START), name, *given, first_step=first, **LIMITS
    )
    theirs = getattr(integrate, name)(flat, *given, first_step=first, **LIMITS)
    assert ours.h_abs == pytest.approx(theirs.h_abs, rel=1e-10)
    steps = 0
    while theirs.status == "running":
        assert ours.status == "running"
        ours.step()
        theirs.step()
        # The steps follow from estimates of the error, where rounding is large.
        np.testing.assert_allclose(ours.t, theirs.t, rtol=1e-4)
        steps += 1
        ours.prepare_dense_output()
        times = np.linspace(ours.t_old, ours.t, 5)[1:-1]
        np.testing.assert_allclose(
            ours.interpolate(times), theirs.dense_output()(times).T, rtol=1e-8
        )
    assert ours.status == "finished"
    assert steps > 20
    np.testing.assert_allclose(ours.y, theirs.y, rtol=1e-8)


@pytest.mark.parametrize(("name", "order"), [("RK45", 5), ("DOP853", 8)])
def test_the_error_of_a_step_and_within_it_falls_with_the_order(name, order):
    """Along a mass on a spring, whose motion is a sine."""
    one = SimpleNamespace(structure=SimpleNamespace(manifold_table=np.array([[0, 0, 0, 1]])))
    start = IntegratorState(np.zeros(1), np.ones(1), np.zeros(0))

    def error(h, x):
        system = OdeSystem.from_function(lambda t, q, v, memory: (-q, memory), one, start)
        wide = {"rtol": 1.0, "atol": 1.0, "max_step": h, "first_step": h}
        solver = ExplicitSolver(system, name, 0.0, np.array([0.0, 1.0]), 10.0, **wide)
        solver.step()
        assert solver.t == h
        solver.prepare_dense_output()
        (y,) = solver.interpolate(np.array([x * h]))
        return abs(y[0] - math.sin(x * h))

    at_end = math.log2(error(0.8, 1.0) / error(0.4, 1.0))
    inside = math.log2(error(0.8, 0.4) / error(0.4, 0.4))
    assert at_end > order + 0.7
    assert inside > order - 0.7 - (name == "DOP853")


def test_a_rate_that_fails_shortens_the_step_and_is_kept():
    def walled(t, q, v, memory):
        if q[0] > 1.0:
            raise ArithmeticError("behind the wall")
        return -np.ones(N), memory

    start = IntegratorState(np.zeros(N), np.full(N, 1.4), np.zeros(0))
    system = OdeSystem.from_function(walled, ROBOT, start)
    y = np.concatenate(start)
    solver = ExplicitSolver(system, "DOP853", 0.0, y, 2.8, rtol=1e-6, atol=1e-6, max_step=5.0)
    solver.h_abs = 2.0
    while solver.status == "running":
        solver.step()
    assert solver.status == "finished"  # at its height the motion is 0.02 below the wall
    np.testing.assert_allclose(solver.y[0], 0.0, atol=1e-12)
    assert str(system.steps.take_fault()) in ("behind the wall", "None")


def test_a_wall_that_cannot_be_passed_ends_the_steps():
    def walled(t, q, v, memory):
        if t > 0.5:
            raise ArithmeticError("behind the wall")
        return -q, memory

    start = IntegratorState(np.ones(N), np.zeros(N), np.zeros(0))
    system = OdeSystem.from_function(walled, ROBOT, start)
    solver = ExplicitSolver(system, "RK45", 0.0, np.concatenate(start), 2.0, **LIMITS)
    while solver.status == "running":
        solver.step()
    assert solver.status == "failed"
    np.testing.assert_allclose(solver.t, 0.5, atol=1e-12)
    assert str(system.steps.take_fault()) == "behind the wall"
    assert system.steps.take_fault() is None


def test_an_interruption_ends_a_step_at_once():
    asked = []

    def stopped(t, q, v, memory):
        asked.append(t)
        if len(asked) == 5:
            raise KeyboardInterrupt
        return -q, memory

    start = IntegratorState(np.ones(N), np.zeros(N), np.zeros(0))
    solver = ExplicitSolver(
        OdeSystem.from_function(stopped, ROBOT, start),
        "DOP853",
        0.0,
        np.concatenate(start),
        2.0,
        **LIMITS,
    )
    with pytest.raises(KeyboardInterrupt):
        solver.step()
    assert len(asked) == 5
