"""What the internal dynamics decide, each on both sides of its border."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import numpy as np
import pytest

from ukctrl import Robot
from ukctrl.analysis.internal_dynamics.internal_dynamics import _equilibria, _same_poles, path_moves
from ukctrl.analysis.internal_dynamics.internal_equilibria import (
    _damped_step,
    forward_difference,
    golden_ratio_point,
)
from ukctrl.analysis.internal_dynamics.internal_motion import (
    InternalMotion,
    PeriodicOrbit,
    classify_growth,
    path_period,
)
from ukctrl.analysis.internal_dynamics.internal_verdict import (
    InternalDynamics,
    VerdictInputs,
    _escapes,
    _is_time_invariant,
    _motion_behaviour,
    _offset_text,
    _periodic,
    _perturbation_text,
)
from ukctrl.analysis.internal_dynamics.local_dynamics import (
    LocalDynamics,
    clean_zeros,
    modes,
    output_nulling_space,
    state_scale,
    time_constant,
    zero_mismatch,
)
from ukctrl.core.errors import InputError

ROBOT = Robot.load("two_link")
Q = np.array([0.1, 0.2])


def near(A=((3.0,),), q=Q, states=("elbow",), zeros=(), free=0, at_zero=None):
    A = np.atleast_2d(np.asarray(A, dtype=float))
    found = modes(A, 0)
    if at_zero is not None:
        found = found._replace(at_zero=at_zero)
    return LocalDynamics(
        t=0.0, q=q, v=np.zeros(2), u=np.zeros(2), A=A, modes=found, moving="elbow", states=states,
        zeros=np.array(zeros, dtype=complex), free=free,
    )  # fmt: skip


# Leaving a state of rest


def run(moved, coordinates=("shoulder", "elbow")):
    return SimpleNamespace(moved=np.array(moved, dtype=float), coordinates=coordinates)


def facts(motion):
    return VerdictInputs(SimpleNamespace(motion=motion), ROBOT, Q, 2, False)


LEAVES = [
    # It begins (0.1, -0.2) beside the state of rest, 0.2236 away: three times that is 0.671.
    ([0.1, -0.2], [[0.0, 0.0], [0.1, -0.3]], False),  # 0.539 away
    ([0.1, -0.2], [[0.0, 0.0], [0.3, -0.4]], True),  # 0.721 away
    ([0.1, -0.2], [[0.0, 0.0], [-0.3, 0.4]], False),  # past the state, to 0.283 on the other side
    ([-0.1, 0.2], [[0.0, 0.0], [-0.3, 0.4]], True),
    ([0.1, -0.2], [[0.3, -0.4], [0.0, 0.0]], True),  # and comes back
    # What begins at the state of rest leaves it from 3e-4 on.
    ([0.0, 0.0], [[0.0, 0.0], [0.0, 2.9e-4]], False),
    ([0.0, 0.0], [[0.0, 0.0], [0.0, 3.1e-4]], True),
]


@pytest.mark.parametrize(("away", "moved", "leaves"), LEAVES)
def test_a_motion_leaves_a_state_of_rest_from_three_times_its_first_distance_on(
    away, moved, leaves
):
    rest = near(q=Q - np.array(away))
    assert _escapes(facts(run(moved)), rest) is leaves


def test_only_the_internal_coordinates_count_for_a_leave():
    rest = near(q=Q - np.array([9.0, 0.1]))
    assert _escapes(facts(run([[0.0], [0.25]], ("elbow",))), rest)
    assert not _escapes(facts(run([[0.0], [0.15]], ("elbow",))), rest)


def test_what_does_not_run_away_leaves_nothing():
    far = run([[0.0, 0.0], [5.0, 5.0]])
    assert not _escapes(facts(far), near(-2.0))
    assert not _escapes(facts(None), near())
    assert not _escapes(facts(run(np.zeros((0, 2)))), near())
    assert _escapes(facts(far), near())


# One linear system along a motion


@pytest.mark.parametrize(
    ("first", "second", "steady"),
    [
        (3.0, 3.0, True),
        (3.0, 3.0 + 2.9e-6, True),
        (3.0, 3.0 + 3.1e-6, False),
        (3.0, 3.0 - 3.1e-6, False),
        (-300.0, -300.0 - 2.9e-4, True),
        (0.0, 0.9e-6, True),  # of what is slower than 1 rad/s, as a part of that
        (0.0, 1.1e-6, False),
    ],
)
def test_a_linear_system_is_steady_to_a_millionth(first, second, steady):
    assert _is_time_invariant((near(first), near(first), near(second))) is steady


def test_a_single_moment_and_other_states_are_not_steady():
    assert not _is_time_invariant((near(),))
    assert _is_time_invariant((near(), near()))
    assert not _is_time_invariant((near(), near(states=("shoulder",))))
    nothing = near(np.zeros((0, 0)), states=())
    assert not _is_time_invariant((nothing,))


# Where a state of rest is


@pytest.mark.parametrize(
    ("offset", "text"),
    [
        ((0.0, 0.0), ""),
        ((0.9e-4, -0.9e-4), ""),
        ((1.1e-4, 0.0), "'shoulder' +0.00011 rad away"),
        ((-0.25, 0.5), "'elbow' +0.5 rad away, 'shoulder' -0.25 rad away"),
        ((0.25, -0.25), "'shoulder' +0.25 rad away, 'elbow' -0.25 rad away"),
    ],
)
def test_the_place_of_a_state_of_rest_is_told_from_the_farthest_coordinate_on(offset, text):
    assert _offset_text(ROBOT, near(q=Q + np.array(offset)), Q) == text


def test_at_most_three_coordinates_are_told():
    arm = Robot.load("scara")
    here = np.zeros(4)
    place = _offset_text(arm, near(q=np.array([0.1, 0.4, 0.3, 0.2])), here)
    assert place == "'q2' +0.4 rad away, 'q3' +0.3 rad away, 'q4' +0.2 m away"


# What becomes of a motion, and of a push


def motion_of(course, fate="stays", pushed=0.0, count=41):
    t = np.linspace(1.0, 5.0, count)
    moved = np.column_stack([course(t - 1.0), 0.0 * t])
    return InternalMotion(
        times=t, q=moved, v=moved, coordinates=("shoulder", "elbow"), units=("rad", "rad"),
        moved=moved, pushed=moved + pushed, deviation=np.linspace(1.0, 2.0, count), fate=fate,
        rate=0.0, ended="",
    )  # fmt: skip


def test_a_motion_of_fewer_than_nine_moments_is_too_short_to_tell():
    assert _motion_behaviour(None) is None
    assert _motion_behaviour(motion_of(np.ones_like, count=8)) is None
    assert _motion_behaviour(motion_of(np.ones_like, count=9)) == "stays"
    assert _motion_behaviour(motion_of(lambda t: np.exp(2.0 * t))) == "runs_away"
    empty = SimpleNamespace(times=np.arange(9.0), moved=np.zeros((9, 0)))
    assert _motion_behaviour(empty) is None


def test_a_push_is_told_by_the_coordinate_that_it_moves_most_at_the_end():
    pushed = np.zeros((41, 2))
    pushed[:20, 0], pushed[20:, 1] = 5.0, -1.0
    kind, text = _perturbation_text(motion_of(np.ones_like, "runs_away", pushed), near())
    assert (kind, text) == (
        "runs_away",
            "'elbow' departs from its motion ever faster after a push: 2 times the push after 4 s",
    )  # fmt: skip


def test_the_coordinate_that_moves_farthest_is_told_with_its_unit():
    found = motion_of(lambda t: -0.5 * t)
    assert found.largest_displacement() == ("shoulder", 2.0, "rad")
    assert found.factor == 2.0


@pytest.mark.parametrize(
    ("largest", "kind"),
    [(1.0 + 2e-5, "runs_away"), (1.0 + 0.9e-5, "stays"), (1.0 - 0.9e-5, "stays"),
     (1.0 - 2e-5, "settles"), (-1.1, "runs_away"), (0.6 + 0.9j, "runs_away")],
)  # fmt: skip
def test_a_multiplier_is_judged_by_its_size(largest, kind):
    cycle = SimpleNamespace(multipliers=np.array([largest, 0.5]), period=2.0)
    assert _periodic(cycle, False)[0] == kind


def test_characteristic_exponents_are_logarithms_over_the_period():
    none = np.zeros((0, 0))
    cycle = PeriodicOrbit(period=2.0, q=Q, v=Q, coordinates=(), monodromy=none,
                     multipliers=np.array([np.exp(0.5), 0.25j]))  # fmt: skip
    wanted = [0.25, (np.log(0.25) + 0.5j * np.pi) / 2.0]
    np.testing.assert_allclose(cycle.exponents, wanted)


def stair(*sizes):
    """Return a deviation that is as large as these in the quarters of a time."""
    return np.repeat(sizes, 25).astype(float)


@pytest.mark.parametrize(
    ("sizes", "fate"),
    [
        ((1.0, 1.0, 2.9, 2.9), "stays"),  # no more in the last quarter than in the third
        ((1.0, 1.0, 2.9, 3.1), "runs_away"),
        ((1.0, 1.0, 1.2, 1.6), "drifts"),
        ((1.0, 1.0, 1.2, 1.45), "stays"),
        ((1.0, 1.0, 1.5, 1.6), "stays"),  # 1.07 times
        ((1.0, 1.0, 1.3, 1.6), "drifts"),  # 1.23 times
        ((1.0, 1.0, 1.0, 0.75), "stays"),
        ((1.0, 1.0, 0.9, 0.65), "settles"),
        ((9.0, 1.0, 1.0, 1.0), "stays"),
    ],
)
def test_a_deviation_is_judged_by_the_largest_of_its_quarters(sizes, fate):
    # The first sample of a quarter belongs to the one before too: it is as large as that.
    deviation = stair(*sizes)
    for k in (25, 50, 75):
        deviation[k] = min(deviation[k - 1], deviation[k])
    assert classify_growth(np.linspace(0.0, 4.0, 100), deviation)[0] == fate


@pytest.mark.parametrize("count", [8, 9, 11, 12, 13, 40, 43])
@pytest.mark.parametrize("rate", [0.7, 0.05])
def test_the_rate_of_what_grows_is_that_of_its_exponential(count, rate):
    t = np.cumsum(np.linspace(0.1, 0.2, count))
    assert classify_growth(t, np.exp(rate * t))[1] == pytest.approx(rate, rel=1e-12)


def test_what_soon_leaves_the_linear_range_runs_away():
    t = np.linspace(0.0, 4.0, 100)
    for first, fate in ((45, "runs_away"), (55, "stays")):
        assert (
            classify_growth(t, np.ones(100), np.where(np.arange(100) < first, 0.01, 10.0))[0]
            == fate
        )


# Modes


def test_sizes_of_rates_are_about_the_quickest_pole():
    A = np.array([[0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0], [-9.0, 0.0, 0.0, 0.0],
                  [0.0, -400.0, 0.0, -2.0]])  # fmt: skip
    np.testing.assert_allclose(state_scale(A, 2), [1.0, 1.0, 20.0, 20.0])
    np.testing.assert_allclose(state_scale(0.1 * A[:3, :3], 1), [1.0, 1.0, 1.0])
    np.testing.assert_allclose(state_scale(A, 0), np.ones(4))
    np.testing.assert_allclose(state_scale(A, 4), np.ones(4))
    damped = np.array([[0.0, 1.0], [-1.0, -30.0]])
    np.testing.assert_allclose(state_scale(damped, 1), [1.0, 30.0])


@pytest.mark.parametrize(
    ("A", "kind", "chain", "at_zero"),
    [
        (np.diag([-1.0, 2e-5]), "runs_away", 0, 0),
        (np.diag([-1.0, -2e-5]), "settles", 0, 0),
        (np.diag([-1.0, 0.0]), "stays", 1, 1),
        (np.diag([-1.0, 0.9e-7]), "stays", 1, 1),
        (np.diag([0.0, 0.0]), "stays", 1, 2),
        (np.diag([-1e3, 0.9e-4]), "stays", 1, 1),  # beside the quickest
        (np.diag([-1e3, -2e-2]), "settles", 0, 0),
        (np.eye(2, k=1), "drifts", 2, 2),
        (np.eye(3, k=1), "drifts", 3, 3),
        (np.diag([1.0, 0.0, 0.0, 0.0], k=1)[:4, :4], "drifts", 2, 4),
        (np.zeros((0, 0)), "none", 0, 0),
    ],
)
def test_what_a_linear_system_does(A, kind, chain, at_zero):
    found = modes(np.asarray(A, dtype=float), 0)
    assert (found.kind, found.chain, found.at_zero) == (kind, chain, at_zero)


def test_poles_come_from_the_right_to_the_left_and_pairs_the_upper_first():
    A = np.zeros((5, 5))
    A[0, 0], A[1, 1], A[4, 4] = -3.0, 1.0, 0.0
    A[2:4, 2:4] = [[-1.0, 2.0], [-2.0, -1.0]]
    found = modes(A, 0)
    np.testing.assert_allclose(found.poles, [1.0, 0.0, -1.0 + 2.0j, -1.0 - 2.0j, -3.0])
    assert found.pole == pytest.approx(1.0)
    np.testing.assert_allclose(np.abs(found.mode[:, 0]), [0.0, 1.0, 0.0, 0.0, 0.0], atol=1e-9)


def test_the_slowest_swing_decides_and_has_its_own_mode():
    A = np.zeros((4, 4))
    A[:2, 2:], A[2, 0], A[3, 1] = np.eye(2), -25.0, -4.0
    found = modes(A, 2)
    assert (found.kind, found.pole) == ("swings", pytest.approx(2.0j))
    mode = found.mode[:, 0] / found.mode[1, 0]
    np.testing.assert_allclose(np.abs(mode), [0.0, 1.0, 0.0, 2.0], atol=1e-9)


def test_what_drifts_moves_where_its_chain_leads():
    found = modes(np.array([[0.0, 1.0], [0.0, 0.0]]), 1)
    np.testing.assert_allclose(np.abs(found.mode), [[1.0], [0.0]], atol=1e-12)
    assert found.pole == 0.0


def test_a_time_constant_is_one_over_the_rate():
    assert time_constant(-4.0 + 9.0j) == 0.25
    assert time_constant(2.0 + 0.0j) == 0.5
    assert time_constant(3.0j) == np.inf


# Zeros beside poles


def test_how_far_zeros_are_from_poles():
    zeros, poles = np.array([1.0 + 0j, -2.0]), np.array([1.5 + 0j, -2.0, -50.0])
    assert zero_mismatch(zeros, poles) == pytest.approx(0.01)
    assert zero_mismatch(zeros, np.array([1.5 + 0j, -2.0])) == pytest.approx(0.25)
    assert zero_mismatch(0.1 * zeros, np.array([0.1 + 0j])) == pytest.approx(0.3)
    assert zero_mismatch(zeros[:0], poles) == 0.0
    assert zero_mismatch(zeros, poles[:0]) == np.inf


def test_zeros_scattered_about_zero_are_zero_and_come_from_the_right():
    zeros = np.array([-3.0, 0.9e-5j * 10, 2.0 - 1.0j, 2.0 + 1.0j, 10.0])
    np.testing.assert_array_equal(clean_zeros(zeros), [10.0, 2.0 + 1.0j, 2.0 - 1.0j, 0.0, -3.0])
    np.testing.assert_array_equal(clean_zeros(np.array([1.1e-4 + 0j, 10.0])), [10.0, 1.1e-4])
    np.testing.assert_array_equal(clean_zeros(np.array([0.9e-8 + 0j])), [0.0])
    assert len(clean_zeros(zeros[:0])) == 0


@pytest.mark.parametrize(
    ("zeros", "free", "fixed"),
    [((3.0,), 0, True), ((), 0, True), ((3.0,), 1, True), ((), 1, False), ((3.0004,), 1, False),
     ((3.0002,), 1, True), ((-3.0,), 1, False)],
)  # fmt: skip
def test_a_pole_is_fixed_where_a_zero_is_at_it(zeros, free, fixed):
    assert near(zeros=zeros, free=free).fixed is fixed


@pytest.mark.parametrize(
    ("A", "settled"), [(-1.0, True), (1.0, False), (0.0, False), (np.zeros((0, 0)), True)]
)
def test_what_settles_has_somewhere_to_come_back_to(A, settled):
    assert near(A).settled is settled


def test_states_that_outputs_do_not_see():
    """Two masses on springs, the force at the first, whose position is seen: the other swings."""
    K = np.array([[-60.0, 50.0], [25.0, -25.0]])  # masses of 1 and 2 kg, 50 and 10 N/m
    A = np.block([[np.zeros((2, 2)), np.eye(2)], [K, np.zeros((2, 2))]])
    B, C = np.array([[0.0], [0.0], [1.0], [0.0]]), np.array([[1.0, 0.0, 0.0, 0.0]])
    found = output_nulling_space(A, B, C, 2)
    assert (found.V.shape, found.free) == ((4, 2), 0)
    np.testing.assert_allclose(sorted(np.linalg.eigvals(found.A).imag), [-5.0, 5.0])
    np.testing.assert_allclose(found.V[[0, 2]], 0.0, atol=1e-9)
    # A second force, at the other mass: all that is unseen is free.
    both = output_nulling_space(A, np.vstack([np.zeros((2, 2)), np.eye(2)]), C, 2)
    assert (both.V.shape, both.free, both.A.shape) == ((4, 2), 2, (0, 0))
    # Nothing seen: all of it, and the force reaches all of it.
    blind = output_nulling_space(A, B, np.zeros((0, 4)), 2)
    assert (blind.V.shape, blind.free) == ((4, 4), 4)
    # The far mass seen: nothing is left.
    assert output_nulling_space(A, B, np.array([[0.0, 1.0, 0.0, 0.0]]), 2).V.shape == (4, 0)


# States of rest


def test_points_fill_an_interval_from_its_quarters_on():
    points = [float(golden_ratio_point(k, 1)[0]) for k in range(1, 9)]
    assert points[1:7] == [0.5, -0.5, 0.25, -0.25, 0.75, -0.75]
    assert 0.99 < points[0] < 1.0
    assert points[7] == points[0]


def test_points_fill_a_square_evenly():
    """By powers of the plastic number 1.3247: every ninth of the square is met soon."""
    points = np.array([golden_ratio_point(k, 2) for k in range(1, 28)])
    assert (np.abs(points) < 1.0).all()
    ratio = 1.324717957244746
    wanted = 2.0 * np.mod(0.5 + np.array([1.0 / ratio, 1.0 / ratio**2]), 1.0) - 1.0
    np.testing.assert_allclose(points[0], wanted)
    cells = {tuple(np.floor(1.5 * (point + 1.0)).astype(int)) for point in points}
    assert len(cells) == 9


def test_one_sided_differences():
    J = forward_difference(
        lambda x: np.array([x[0] ** 2 + 3.0 * x[1], 2.0 - x[0]]), np.array([0.0, 2.0]), 2
    )
    np.testing.assert_allclose(J, [[0.0, 3.0], [-1.0, 0.0]], atol=2e-6)


def test_a_damped_step_is_that_of_gauss_and_newton_where_damping_is_none():
    J, f = np.array([[2.0, 0.0], [0.0, 0.5]]), np.array([4.0, 1.0])
    np.testing.assert_allclose(_damped_step(J, f, 0.0), [-2.0, -2.0])
    # sigma/(sigma^2 + d sigma_max^2/1000)
    gain = np.array([2.0 / (4.0 + 0.4), 0.5 / (0.25 + 0.4)])
    np.testing.assert_allclose(_damped_step(J, f, 100.0), -gain * f)
    singular = np.array([[1.0, 0.0], [0.0, 1e-10]])
    np.testing.assert_allclose(_damped_step(singular, np.ones(2), 0.0), [-1.0, 0.0])


def test_states_of_rest_with_the_same_poles_are_one_family():
    assert _same_poles(near(3.0), near(3.0 + 2.9e-6))
    assert not _same_poles(near(3.0), near(3.0 + 3.1e-6))
    assert not _same_poles(near(3.0), near(np.diag([3.0, 3.0])))
    assert not _same_poles(near(3.0), near(3.0, at_zero=1))
    assert _same_poles(near(np.zeros((0, 0))), near(np.zeros((0, 0))))


def test_four_families_of_rest_are_told_and_counted(monkeypatch):
    module = sys.modules[_equilibria.__module__]
    poles = iter([1.0, 2.0, 1.0, None, 3.0, 4.0, 1.0, 5.0])

    def near_rest(held, grip, q, u):
        pole = next(poles)
        if pole is None:
            raise InputError("no.")
        return near(pole)

    rest = SimpleNamespace(q=Q, u=Q)
    monkeypatch.setattr(module, "about_equilibrium", near_rest)
    monkeypatch.setattr(
        module, "InternalEquilibriumSearch", lambda held: SimpleNamespace(find=lambda q: 8 * [rest])
    )
    notes = []
    rests, families = _equilibria(None, True, Q, notes)
    assert [float(each.A[0, 0]) for each in rests] == [1.0, 2.0, 3.0, 4.0]
    assert families == (3, 1, 1, 1)
    assert notes == [
        "a state of rest could not be looked at: no.",
        "5 different states of rest were found; the nearest are told.",
    ]


# Paths


def held(asked, start=1.0, duration=8.0):
    """Return rows that ask for something at times, whatever the configuration."""
    scenario = SimpleNamespace(
        start=SimpleNamespace(t=start), timing=SimpleNamespace(duration=duration)
    )
    table = lambda q, t: np.column_stack([np.asarray(x) + 0.0 * t for x in asked(t)])  # noqa: E731
    return SimpleNamespace(scenario=scenario, row_demands=table)


def test_a_path_moves_where_its_rows_ask_for_something_else():
    assert not path_moves(held(lambda t: [0.3]), Q)
    assert not path_moves(held(lambda t: [0.3, 0.9e-9 * (t - 1.0) / 8.0]), Q)
    assert path_moves(held(lambda t: [0.3, 1.1e-9 * (t - 1.0) / 8.0]), Q)
    assert path_moves(held(lambda t: [np.where(t > 8.9, 1.0, 0.0), 0.3]), Q)


@pytest.mark.parametrize("period", [0.5, 1.7, 4.0])
def test_the_period_of_a_path_is_its_shortest(period):
    found = path_period(held(lambda t: [np.sin(2.0 * np.pi * t / period), 0.3]), Q)
    assert found == pytest.approx(period, rel=1e-7)


def test_the_period_of_several_rows_is_one_of_all():
    def asked(t):
        return [1e-3 * np.sin(2.0 * np.pi * t), 5.0 * np.cos(np.pi * t)]

    assert path_period(held(asked), Q) == pytest.approx(2.0, rel=1e-7)


@pytest.mark.parametrize(
    "asked",
    [
        lambda t: [0.3],  # at rest
        lambda t: [t],  # goes on
        lambda t: [np.sin(2.0 * np.pi * t / 7.0)],  # not seen for a quarter of the run again
        lambda t: [np.sin(2.0 * np.pi * t) + 1e-3 * t],
    ],
)
def test_a_path_that_does_not_come_again_has_no_period(asked):
    assert path_period(held(asked), Q) is None


def test_only_lags_at_which_all_rows_come_near_are_looked_at_closely():
    looks = []
    path = held(lambda t: [np.sin(3.0 * np.pi * t), np.cos(np.pi * t), np.sin(2.0 * np.pi * t)])
    table = path.row_demands
    path.row_demands = lambda q, t: looks.append(len(t)) or table(q, t)
    assert path_period(path, Q) == pytest.approx(2.0, rel=1e-7)
    assert len(looks) < 20  # two tables, and one search for the place of one dip


# Plain data


def test_what_is_found_is_plain_data():
    rest = near(-2.0, zeros=(-2.0,), free=1)
    found = InternalDynamics(
        scenario="s", robot="r", states=4, reached=3, dimension=1, coordinates=("elbow",),
        grip=True, free=1, path_moves=False, rests=(rest,), kind="settles", verdict="words.",
        notes=("note.",), motion=motion_of(np.ones_like),
    )  # fmt: skip
    plain = found.to_dict()
    assert plain["periodic"] is None
    assert plain["motion"] == {"fate": "stays", "rate": 0.0, "factor": 2.0, "ended": ""}
    [told] = plain["rests"]
    assert told["kind"] == "settles"
    assert told["poles"] == [[-2.0, 0.0]]
    assert told["zeros"] == [[-2.0, 0.0]]
    assert (told["t"], told["free"], told["moving"], told["routes"]) == (0.0, 1, "elbow", None)
    assert plain["along"] == []
    same = ("scenario", "robot", "states", "reached", "dimension", "grip", "free", "kind")
    assert [plain[name] for name in same] == ["s", "r", 4, 3, 1, True, 1, "settles"]
    assert (plain["verdict"], plain["path_moves"]) == ("words.", False)
