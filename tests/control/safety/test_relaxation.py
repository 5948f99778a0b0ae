"""The input that keeps what is to be kept, against other solvers: random programs, degenerate ones.

Of every kind of degenerate program one in nine: rows twice, rows of zeros, rows that leave an input
no room, corners in which more rows meet than there are inputs, inputs without choice, rows that are
nearly the same, rows of very different lengths.
"""

import daqp
import numpy as np
import pytest
from scipy.optimize import linprog, minimize, nnls

from tests.shared.slow import slow_but
from ukctrl.control.allocation.bounded_input import (
    LinearBounds,
    nearest_in_bounds,
    stack_bounds,
)
from ukctrl.control.safety.relaxation import (
    RelaxationOrder,
    irreducible_infeasible_set,
    is_infeasible,
    lower_bounds,
    relax_inequalities,
)
from ukctrl.core.algebra.lexicographic_qp import factor_lexicographic, solve_lexicographic
from ukctrl.core.algebra.rank_policy import RANK

CHUNK = 100
SEVERAL = slow_but(range(3), range(100))
KINDS = 9
EXACT = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}


def random_program(seed):
    """Return rows to keep, rows that are served, bounds, limits and the input that is wanted."""
    rng, kind = np.random.default_rng(seed), seed % KINDS
    nu, k, m = rng.integers(1, 8), rng.integers(2, 10), rng.integers(2, 7)
    C, H = rng.standard_normal((k, nu)), rng.standard_normal((m, nu))
    low, high = -rng.uniform(0.5, 3.0, nu), rng.uniform(0.5, 3.0, nu)
    inside = low + (high - low) * rng.uniform(size=nu)
    room = rng.uniform(0.0, 0.3, k)
    if kind == 1:
        C[1], room[1] = C[0], room[0]
    elif kind == 2:
        C[0] = 0.0
    elif kind == 3:
        C[1], room[:2] = -C[0], 0.0
    elif kind == 4:
        H[1] = H[0]
    elif kind == 5:
        room[:] = 0.0
    elif kind == 6:
        low[0] = high[0] = inside[0]
    elif kind == 7:
        C[1] = C[0] + 1e-9 * rng.standard_normal(nu)
    elif kind == 8:
        C *= 10.0 ** rng.uniform(-2.0, 2.0, (k, 1))
    return (
        C,
        H,
        C @ inside - room * np.linalg.norm(C, axis=1),
        low,
        high,
        3.0 * rng.standard_normal(nu),
    )


def solved(program, H):
    C, _, least, low, high, wanted = program
    free = np.eye(len(wanted))
    box = stack_bounds(LinearBounds(free, low, high), lower_bounds(C, least))
    ends = np.array([len(H)] if len(H) else [], dtype=np.int64)
    rows = H, H @ wanted, ends, np.ones(len(H))
    lex, u = factor_lexicographic(*rows, free, wanted, box.C, RANK.servo), np.empty(len(wanted))
    solve_lexicographic(lex, box.low, box.high, u)
    return np.clip(u, low, high)


def way_given(limits, C, least, levels):
    """Return the bounds that give way and how much they are less."""
    order, ends = np.concatenate(levels), np.cumsum([len(level) for level in levels])
    yielding, found = (
        RelaxationOrder(order, ends, np.zeros(len(C), dtype=bool)),
        np.zeros((2, len(C))),
    )
    relax_inequalities(limits.low, limits.high, C, least, yielding, *found)
    return found


def nearest_of_others(program, E=None):
    """Return the nearest input that keeps everything, by Lawson and Hanson's least distance
    programming on non-negative least squares, within ``x0 + E z``.
    """
    C, _, least, low, high, wanted = program
    x0, E = E if E is not None else (np.zeros(len(wanted)), np.eye(len(wanted)))
    nearest = E.T @ (wanted - x0)
    G = np.vstack([C, np.eye(len(wanted)), -np.eye(len(wanted))])
    right = np.concatenate([least, low, -high]) - G @ (x0 + E @ nearest)
    G = G @ E
    lengths = np.linalg.norm(G, axis=1)
    at = lengths > 1e-12
    G, right = G[at] / lengths[at, None], right[at] / lengths[at]
    right = right - 1e-11  # rounding leaves programs without room none
    if (right <= 0.0).all():
        return x0 + E @ nearest
    stack, f = np.vstack([G.T, right]), np.append(np.zeros(E.shape[1]), 1.0)
    r = stack @ nnls(stack, f, maxiter=1000)[0] - f
    return x0 + E @ (nearest - r[:-1] / r[-1])


def by_daqp(X, r, C, low, high):
    """Return an ``x`` with the least ``|X x - r|`` in a box of rows, and nearest to zero; None of
    the few programs in which it finds no room, though there is some.
    """
    (k, n), lengths = C.shape, np.maximum(np.linalg.norm(C, axis=1), 1e-300)
    C, sense = C / lengths[:, None], np.zeros(k, dtype=np.intc)
    far = [np.clip(bound / lengths, -1e30, 1e30) for bound in (high, low)]
    P, q, proximal = (X.T @ X, -X.T @ r, 1e-4) if len(X) else (np.eye(n), np.zeros(n), 0.0)
    x, _, flag, _ = daqp.solve(
        P, q, C, *far, sense, primal_tol=1e-11, eps_prox=proximal, eta_prox=1e-13
    )
    assert flag in (1, 2, -1)
    return x if flag > 0 else None


@pytest.mark.parametrize("chunk", SEVERAL)
def test_daqp_finds_the_same(chunk):
    compared = 0
    for seed in range(CHUNK * chunk, CHUNK * (chunk + 1)):
        program = random_program(seed)
        C, H, least, low, high, wanted = program
        rows = np.vstack([C, np.eye(len(wanted))])
        bounds = np.append(least, low), np.append(np.full(len(C), np.inf), high)
        X, (low, high) = H / np.linalg.norm(H, 2), (bound - rows @ wanted for bound in bounds)
        other = by_daqp(X, np.zeros(len(X)), rows, low, high)
        nearest_by_daqp = by_daqp(H[:0], np.zeros(0), rows, low, high)
        if other is None or nearest_by_daqp is None:
            continue
        compared += 1
        u = solved(program, H)
        np.testing.assert_allclose(
            np.linalg.norm(X @ (u - wanted)),
            np.linalg.norm(X @ other),
            atol=1e-8,
            err_msg=str(seed),
        )
        u = solved(program, H[:0])
        np.testing.assert_allclose(u, wanted + nearest_by_daqp, atol=1e-7, err_msg=str(seed))
    assert compared >= CHUNK - 1


@pytest.mark.parametrize("chunk", SEVERAL)
def test_the_nearest_input_is_that_of_another_solver(chunk):
    for seed in range(CHUNK * chunk, CHUNK * (chunk + 1)):
        program = random_program(seed)
        C, _, least, low, high, wanted = program
        u = solved(program, np.zeros((0, len(wanted))))
        assert (u >= low).all()
        assert (u <= high).all()
        assert (C @ u - least >= -1e-9 * np.linalg.norm(C, axis=1)).all()
        np.testing.assert_allclose(u, nearest_of_others(program), atol=1e-6, err_msg=str(seed))


@pytest.mark.parametrize("chunk", SEVERAL)
def test_served_rows_come_as_near_as_any_input_brings_them_and_then_the_input_is_the_nearest(chunk):
    without = 0
    for seed in range(CHUNK * chunk, CHUNK * (chunk + 1)):
        program = random_program(seed)
        C, H, least, low, high, wanted = program
        u = solved(program, H)
        slack = 1e-9 * np.linalg.norm(C, axis=1)
        assert (C @ u - least >= -slack).all()
        # The slope of a convex cost points away from every input that is allowed.
        slope = H.T @ (H @ (u - wanted))
        limits = list(zip(low, high, strict=True))
        best = linprog(slope, A_ub=-C, b_ub=-least, bounds=limits, method="highs", options=EXACT)
        assert best.success
        assert slope @ u <= best.fun + 1e-7 * np.abs(slope) @ (high - low) + 1e-9, seed
        left = np.linalg.svd(H)[2][np.linalg.matrix_rank(H, tol=1e-9) :].T
        if left.shape[1]:
            other = nearest_of_others(program, (u, left))
            if (C @ other - least < -1e-6 * np.linalg.norm(C, axis=1)).any():
                without += 1  # least squares over hardly any room have no answer
                continue
            np.testing.assert_allclose(u, other, atol=1e-5, err_msg=str(seed))
    assert without <= 1


@pytest.mark.parametrize("chunk", SEVERAL)
def test_what_gives_way_first_misses_least_and_leaves_an_input(chunk):
    for seed in range(CHUNK * chunk, CHUNK * (chunk + 1)):
        C, _, least, low, high, _ = random_program(seed)
        least = least + np.random.default_rng(seed).uniform(0.0, 3.0) * np.linalg.norm(C, axis=1)
        half = len(C) // 2
        limits = LinearBounds(np.eye(len(low)), low, high)
        levels = [np.arange(half), np.arange(half, len(C))]
        reduced, missed = way_given(limits, C, least, levels)
        thin = 1e-10 * (1.0 + np.abs(reduced))
        assert not is_infeasible(stack_bounds(limits, lower_bounds(C, reduced - thin))), seed
        # Of a convex cost over a box the least slope is at a corner.
        u = nearest_in_bounds(
            stack_bounds(limits, lower_bounds(C[:half], reduced[:half])), np.zeros(len(low))
        )
        misses = np.maximum(least[:half] - C[:half] @ u, 0.0)
        assert (misses <= missed[:half] + 1e-7 * (1.0 + np.abs(least[:half]))).all(), seed
        slope = -C[:half].T @ missed[:half]
        corner = np.where(slope > 0.0, low, high)
        inexact = 1e-7 * (1.0 + np.abs(least[:half])) @ np.abs(C[:half]) @ (high - low)
        assert slope @ (u - corner) <= inexact + 1e-9, seed


def test_a_wall_across_a_row_that_is_served_costs_that_row_alone_and_no_more_input_than_it_must():
    """The row is bound by what the level leaves of it: no direction that is left is felt by it."""
    for seed in range(200):
        rng = np.random.default_rng(seed)
        nu = int(rng.integers(4, 8))
        H, wanted, gap = rng.standard_normal((3, nu)), rng.standard_normal(nu), rng.uniform(0.1, 1)
        C = np.vstack([H[:1] * 10.0 ** rng.uniform(-3, 3), rng.standard_normal((20, nu))])
        least = C @ wanted - 20.0  # far from most of them
        least[0] = C[0] @ wanted + gap * np.linalg.norm(C[0])
        u = solved((C, H, least, np.full(nu, -1e3), np.full(nu, 1e3), wanted), H)
        exact = wanted + np.linalg.pinv(H)[:, 0] * gap * np.linalg.norm(H[0])
        np.testing.assert_allclose(u, exact, atol=1e-9)


@pytest.mark.parametrize("seed", range(40))
def test_rows_that_cannot_all_be_kept_give_way_level_by_level(seed):
    rng = np.random.default_rng(seed)
    nu = int(rng.integers(1, 5))
    C, least = rng.standard_normal((4, nu)), rng.uniform(-1.0, 4.0, 4)
    limits = LinearBounds(np.eye(nu), np.full(nu, -0.5), np.full(nu, 0.5))
    levels = [np.array([0, 1]), np.array([2, 3])]
    reduced, missed = way_given(limits, C, least, levels)
    box = stack_bounds(limits, lower_bounds(C, reduced - 1e-8))
    assert not is_infeasible(box)
    # The first level alone, as bounded least squares.
    first = levels[0]
    alone = minimize(
        lambda x: 0.5 * np.sum(np.maximum(least[first] - C[first] @ x, 0.0) ** 2),
        np.zeros(nu),
        bounds=[(-0.5, 0.5)] * nu,
        method="L-BFGS-B",
        options={"ftol": 1e-15, "gtol": 1e-10},
    )
    np.testing.assert_allclose(0.5 * np.sum(missed[first] ** 2), alone.fun, atol=1e-6)


def test_a_conflict_is_named_by_the_smallest_set():
    C = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, 1.0]])
    least = np.array([0.2, 0.1, -1.0, 0.7])
    limits = LinearBounds(np.eye(2), np.full(2, -1.0), np.full(2, 1.0))
    motors, rows = irreducible_infeasible_set(limits, C, least)
    assert (motors.tolist(), rows.tolist()) == ([], [0, 1])
    motors, rows = irreducible_infeasible_set(limits, C[2:], np.array([0.0, 1.5]))
    assert (motors.tolist(), rows.tolist()) == ([1], [1])
