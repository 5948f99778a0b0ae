"""The ticks ahead of model predictive control beside a simulation, and its account."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from ukctrl import Robot
from ukctrl.core.errors import GainError
from ukctrl_laws.predictive.horizon import HorizonLimits, PredictionHorizon, block_ends
from ukctrl_laws.predictive.horizon_kernels import (
    HorizonTables,
    deadbeat_rate,
    law_within_limits,
    tick_index,
    write_input_sensitivities,
)
from ukctrl_laws.predictive.mpc_diagnostics import MpcDiagnostics, MpcInfeasible
from ukctrl_laws.predictive.qp import ITERATION_LIMIT, QpSolution

EXACT = {"rtol": 1e-10, "atol": 1e-10}
N, NU, R, TICKS = 3, 2, 2, 5
START, PERIOD = 1.5, 0.25
seeds = pytest.mark.parametrize("seed", range(2))
sorts = pytest.mark.parametrize("moving", [False, True])


def horizon(seed, moving, ends=(1, 2, 4)):
    """Return random systems at five ticks, their gains, and limits of inputs and of two numbers."""
    rng = np.random.default_rng(seed)
    F, B = 0.5 * rng.standard_normal((TICKS, N, N)), rng.standard_normal((TICKS, N, NU))
    K, E = rng.standard_normal((TICKS, NU, N)), rng.standard_normal((TICKS, R, N))
    u, x = rng.uniform(1.0, 9.0, (2, TICKS, NU)), rng.uniform(1.0, 9.0, (2, TICKS + 1, R))
    x = x if moving else x[:, :1]
    return HorizonTables(
        F, B, K, E, -u[0], u[1], -x[0], x[1], np.array(ends), START, PERIOD, moving
    )


def lived(ahead, first, x, changes):
    """Return the inputs where blocks begin, and limited numbers where they end."""
    p, told, j = len(ahead.F), [], 0
    for end, c in zip(ahead.ends.tolist(), changes, strict=True):
        told += (-ahead.K[min(first + j, p - 1)] @ x + c).tolist()
        for tick in range(j, end):
            at = min(first + tick, p - 1)
            x = ahead.F[at] @ x + ahead.B[at] @ c
        j = end
        told += (ahead.E[min(first + j, p - 1)] @ x).tolist()
    return np.array(told)


@pytest.mark.parametrize(
    ("t", "moving", "first"),
    [(1.5, True, 0), (1.74, True, 1), (1.62, True, 0), (0.0, True, 0), (2.5, True, 4),
     (99.0, True, 4), (2.5, False, 0)],
)  # fmt: skip
def test_the_present_tick_is_the_nearest_of_those_that_there_are(t, moving, first):
    assert tick_index(horizon(0, moving), np.array([t])) == first


@seeds
@sorts
@pytest.mark.parametrize("first", [0, 1, 3])
@pytest.mark.parametrize("ends", [(1, 2, 4), (2, 5), (3,)])
def test_changes_of_inputs_change_limited_numbers_as_the_systems_do(seed, moving, first, ends):
    ahead, rng = horizon(seed, moving, ends), np.random.default_rng(seed + 10)
    k = len(ends)
    W, z = rng.standard_normal((k, NU, NU)), rng.standard_normal(k * NU)
    C, (X, Y) = np.full((k * (NU + R), k * NU), 9.0), np.full((2, N, k * NU), 9.0)
    write_input_sensitivities(ahead, first, W, X, Y, C)
    changes = np.einsum("kij,kj->ki", W, z.reshape(k, NU))
    np.testing.assert_allclose(C @ z, lived(ahead, first, np.zeros(N), changes), **EXACT)


@seeds
@sorts
@pytest.mark.parametrize("first", [0, 1, 3])
def test_the_room_of_the_law_is_what_its_own_motion_leaves(seed, moving, first):
    ahead, rng = horizon(seed, moving), np.random.default_rng(seed)
    x, followed = 0.1 * rng.standard_normal(N), rng.standard_normal(NU)
    now = followed - 3.0, followed + 4.0
    room, u, clock = np.zeros((2, 12)), np.zeros(NU), np.array([START + first * PERIOD])
    at = first if moving else 0
    kept = law_within_limits(ahead, clock, x, followed, *now, room, np.zeros((2, N)), u)
    law = lived(ahead, at, x, np.zeros((3, NU)))
    np.testing.assert_allclose(u, followed + law[:NU], **EXACT)
    low, high, j = [], [], 0
    for end in (1, 2, 4):
        here = min(at + j, TICKS - 1)
        there = not moving or at + j < TICKS
        of_u = (-3.0, 4.0) if j == 0 else (ahead.u_low[here], ahead.u_high[here])
        for side, bound, none in ((low, of_u[0], -np.inf), (high, of_u[1], np.inf)):
            side += np.broadcast_to(bound if there else none, NU).tolist()
        j = end
        there, of = not moving or at + j <= TICKS, min(at + j, len(ahead.x_low) - 1)
        low += (ahead.x_low[of] if there else np.full(R, -np.inf)).tolist()
        high += (ahead.x_high[of] if there else np.full(R, np.inf)).tolist()
    np.testing.assert_allclose(room, [low - law, high - law], **EXACT)
    assert kept == bool((room[0] <= 0.0).all() and (room[1] >= 0.0).all())


@pytest.mark.parametrize("row", range(12))
@pytest.mark.parametrize("side", [0, 1])
def test_one_limit_that_is_crossed_is_enough(row, side):
    ahead, room = horizon(1, moving=True), np.zeros((2, 12))
    x, nothing, u = np.array([0.1, -0.2, 0.1]), np.zeros(NU), np.zeros(NU)
    law = lived(ahead, 0, x, np.zeros((3, NU)))
    bounds = [np.full((TICKS + 1, 2), end) for end in (-1e3, 1e3)] * 2
    now = [np.full(NU, -1e3), np.full(NU, 1e3)]
    u_low, u_high, x_low, x_high = bounds
    limits = {"u_low": u_low[:-1], "u_high": u_high[:-1], "x_low": x_low, "x_high": x_high}
    given = np.array([START]), x, nothing, *now, room, np.zeros((2, N)), u

    def kept():
        return law_within_limits(ahead._replace(**limits), *given)

    assert kept()
    block, place = divmod(row, NU + R)
    of_x, beyond = place >= NU, law[row] + (1e-6 if side == 0 else -1e-6)
    tick = (1, 2, 4)[block] if of_x else (0, 1, 2)[block]
    if of_x or block:
        bounds[2 * of_x + side][tick, place % 2] = beyond
    else:
        now[side][place] = beyond
    assert not kept()


def test_a_memory_becomes_the_active_limits_within_a_period():
    rate = np.zeros(2)
    deadbeat_rate(np.array([1.0, -1.0]), np.array([0.5, 0.0]), 0.25, rate)
    np.testing.assert_array_equal(rate, [2.0, -4.0])


@pytest.mark.parametrize(
    ("ticks", "moves", "ends"),
    [(3, 3, [1, 2, 3]), (2, 5, [1, 2]), (9, 1, [9]), (16, 5, [1, 2, 4, 8, 16]),
     (6, 5, [1, 2, 3, 4, 6]), (100, 3, [1, 10, 100])],
)  # fmt: skip
def test_blocks_are_of_one_tick_or_longer_and_longer(ticks, moves, ends):
    np.testing.assert_array_equal(block_ends(ticks, moves), ends)


def gains(rng, count):
    halves = rng.standard_normal((count, NU, NU))
    return [SimpleNamespace(input_hessian=half @ half.T + np.eye(NU)) for half in halves]


@pytest.mark.parametrize("first", [0, 2, 4])
def test_leaving_the_gains_costs_the_square_of_the_unknowns(first):
    own = gains(np.random.default_rng(4), TICKS)
    found = PredictionHorizon(horizon(4, moving=True), own)
    assert (found.n, found.m) == (6, 12)
    np.testing.assert_array_equal(found.block_lengths, [1, 1, 2])
    assert found.update(first)
    assert not found.update(first)
    z = np.random.default_rng(5).standard_normal((3, NU))
    for block, ticks in enumerate([(0,), (1,), (2, 3)]):
        c = found.W[block] @ z[block]
        cost = sum(c @ own[min(first + k, TICKS - 1)].input_hessian @ c for k in ticks)
        assert cost == pytest.approx(z[block] @ z[block], rel=1e-10)
    expected = np.zeros_like(found.C)
    write_input_sensitivities(
        found.tables, first, found.W, np.zeros((N, 6)), np.zeros((N, 6)), expected
    )
    np.testing.assert_array_equal(found.C, expected)
    assert found.update(1)


@pytest.mark.parametrize(
    ("ends", "shifts"), [((1, 2, 3), True), ((1, 2, 4), False), ((1,), False), ((4,), False)]
)
def test_limits_move_up_by_a_block_where_blocks_are_ticks(ends, shifts):
    found = PredictionHorizon(
        horizon(0, moving=True, ends=ends), gains(np.random.default_rng(0), TICKS)
    )
    active = np.arange(4.0 * len(ends))
    expected = np.concatenate([active[4:], active[-4:]]) if shifts else active
    np.testing.assert_array_equal(found.shift_active(active), expected)


def test_a_program_that_no_tick_can_solve_is_refused(monkeypatch):
    monkeypatch.setattr("ukctrl_laws.predictive.horizon.MAX_PROGRAM_ENTRIES", 71)
    with pytest.raises(GainError) as caught:
        PredictionHorizon(horizon(0, moving=True), gains(np.random.default_rng(0), TICKS))
    assert str(caught.value) == (
        "moves must leave a program that a tick can solve; 3 of them make one of 6 unknowns and 12 "
        "limits. Take fewer: later ones become longer."
    )
    monkeypatch.setattr("ukctrl_laws.predictive.horizon.MAX_PROGRAM_ENTRIES", 72)
    assert PredictionHorizon(horizon(0, moving=True), gains(np.random.default_rng(0), TICKS)).n == 6


ROBOT = Robot.load("two_link")


@pytest.mark.parametrize(
    ("low", "high", "limited"),
    [([-9.0, -np.inf], [np.inf, np.inf], True), ([-np.inf, -np.inf], [np.inf, 9.0], True),
     ([-9.0, -5.0], [9.0, 5.0], True), ([-np.inf, -np.inf], [np.inf, np.inf], False)],
    ids=["one downwards", "one upwards", "all", "none"],
)  # fmt: skip
def test_inputs_are_limited_where_one_of_them_is_on_one_side(low, high, limited):
    """And are not where nobody asks for their limits to be kept."""
    found = HorizonLimits.from_robot(ROBOT, ["inputs"], np.array(low), np.array(high))
    assert found.has_input_limits is limited
    assert not HorizonLimits.from_robot(
        ROBOT, ["speeds"], np.array(low), np.array(high)
    ).has_input_limits


# The account


def account():
    limited = HorizonLimits(
        np.array([1]), np.array([1]), np.array([0]), np.full(2, -np.inf), np.full(2, np.inf)
    )
    own = PredictionHorizon(
        horizon(0, moving=True, ends=(1, 2, 3)), gains(np.random.default_rng(0), TICKS)
    )
    return MpcDiagnostics(ROBOT, limited, own, PERIOD)


def change(gave_way):
    return QpSolution(
        **dict.fromkeys(QpSolution._fields)
        | {"z": np.arange(6.0), "active": np.arange(12.0) - 5.0, "iterations": 7,
           "is_relaxed": gave_way},
    )  # fmt: skip


def test_an_answer_is_taken_with_the_limits_that_it_gives_up():
    own = account()
    over = np.array([[0.25, -1.0], [0.5, 2e-9], [1e-9, 0.5e-9]])
    own.record_solution(change(gave_way=False), over)
    np.testing.assert_array_equal(own.z, np.arange(6.0))
    np.testing.assert_array_equal(own.active, [*(np.arange(4.0, 12.0) - 5.0), 3.0, 4.0, 5.0, 6.0])
    assert not own.excess.any()
    own.record_solution(change(gave_way=True), over)
    np.testing.assert_array_equal(own.excess, [[0.25, 0.0], [0.5, 2e-9], [0.0, 0.0]])
    told = own.signals()
    assert list(told) == [
        "binding", "active_limits", "iterations", "excess_ahead", "speed_excess_ahead"
    ]  # fmt: skip
    np.testing.assert_array_equal(told["binding"].value, [-5.0, -4.0])
    assert told["binding"].components == ROBOT.actuators
    assert told["active_limits"].value == 11.0  # one of twelve is none
    assert told["iterations"].value == 7.0
    np.testing.assert_array_equal(told["excess_ahead"].value, [0.5])
    np.testing.assert_array_equal(told["speed_excess_ahead"].value, [2e-9])
    assert (told["excess_ahead"].units, told["speed_excess_ahead"].units) == ("rad", "rad/s")
    assert told["excess_ahead"].components == ("elbow",)
    assert told["speed_excess_ahead"].components == ("v.shoulder",)
    own.reset_step().run_in_python()
    for values in (own.z, own.active, own.excess, own.signals()["binding"].value):
        assert not values.any()
    assert own.signals()["iterations"].value == 0.0


def test_limits_that_cannot_all_be_kept_are_named_by_where_they_are_crossed_most():
    own = account()
    own.record_solution(change(gave_way=True), np.array([[0.25, 0.0], [0.5, 0.0], [0.125, 0.0]]))
    error = own.conflict_error()
    assert isinstance(error, MpcInfeasible)
    assert error.limits == ("elbow",)
    assert str(error) == (
        "no inputs within their limits keep those of 'elbow': at best 'elbow' is 0.5 rad beyond "
        "0.5 s ahead. Begin elsewhere, ask for less, give the motors more, or let limits give way "
        'with on_conflict = "soften".'
    )
    own.record_solution(change(gave_way=True), np.array([[0.0, 0.0], [0.5, 0.0], [0.0, 2.0]]))
    assert own.conflict_error().limits == ("elbow", "v.shoulder")
    assert "'v.shoulder' is 2 rad/s beyond 0.75 s ahead" in str(own.conflict_error())


def test_a_program_without_an_answer_says_why():
    own = account()
    assert str(own.solver_error(ITERATION_LIMIT, 30)) == (
        "the program of 6 unknowns and 12 limits was not solved within 30 iterations. Raise "
        "controller.iterations, or take fewer moves."
    )
    assert str(own.solver_error(-5, 30)) == (
        "the program of 6 unknowns and 12 limits has no answer (exit flag -5 of the solver). Take "
        "fewer moves, or weights that are less far apart."
    )


@pytest.mark.parametrize(
    ("period", "level", "cure"), [(3.1e-4, "note", ""), (2.9e-4, "warning", " Take fewer moves.")]
)
def test_a_program_that_may_take_longer_than_a_tick_is_warned_of(period, level, cure):
    """It takes 30 µs, of which that of its 72 entries is next to nothing, or ten times that."""
    own = account()
    own._period = period
    said = own.size_verdict()
    assert said.level == level
    assert said.text == (
        "where a limit is in the way, a tick solves a program of 6 unknowns and 12 limits in some "
        "30 µs, and up to 10 times as long where many limits become active at once; the control "
        f"period is {1e6 * period:.0f} µs.{cure}"
    )


def test_programs_are_counted_and_timed_and_forgotten():
    own = account()
    assert own.wall_times() == {"programs": 0, "late_programs": 0}
    own.solve_times += [0.125, 0.25, 0.375]
    assert own.wall_times() == {
        "programs": 3, "mean_program_us": 0.25e6, "worst_program_us": 0.375e6, "late_programs": 1,
    }  # fmt: skip
    assert own.wall_times() == {"programs": 0, "late_programs": 0}
