"""What a tick must keep, and what is lost until its end, by hand; corrections that were learnt."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest

from ukctrl.control.learned_correction import LearnedCorrection, add_correction
from ukctrl.control.safety import filtered_input, tick_prediction
from ukctrl.control.safety.barriers import (
    Barriers,
    FilterDiagnostics,
    barrier_bound,
    check_barriers,
    hold_factor,
    write_inequalities,
)
from ukctrl.control.safety.tick_prediction import InequalityValues, QpBounds
from ukctrl.core.errors import InputError
from ukctrl.mechanics.constraints.constraint import Rows

EXACT = {"rtol": 1e-12, "atol": 1e-12}


def barriers(*degrees, sign=None, shift=None, margin=None, row=None, brake=None):
    n = len(degrees)
    zeros = [0.0] * n
    given = row or list(range(n)), sign or [1.0] * n, shift or zeros, margin or zeros
    row, sign, shift, margin = map(np.array, given)
    brake = np.array(brake or zeros)
    return Barriers(
        row, sign, shift, margin, np.array(degrees), np.full(n, 10.0), brake, np.ones(n)
    )


def account(k, rows):
    sizes = {"row_residual": rows, "row_magnitude": rows}
    return FilterDiagnostics(
        *(np.full(sizes.get(name, k), 9.0) for name in FilterDiagnostics._fields)
    )


def rows_of(count, nv=2, seed=0):
    rng = np.random.default_rng(seed)
    return Rows(*(rng.standard_normal((count, nv)), *rng.standard_normal((3, count))))


# What is left, and what must be kept of it


def test_what_is_left_is_of_its_level():
    rows, a, h = rows_of(3), np.array([0.5, -2.0]), np.zeros(3)
    write_inequalities(rows, barriers(2, 1, 0, sign=[1.0, -1.0, 1.0], shift=[3.0, 4.0, 5.0]), a, h)
    expected = [rows.phi[0] + 3.0, -rows.beta[1] + 4.0, rows.A[2] @ a - rows.b[2] + 5.0]
    np.testing.assert_allclose(h, expected, **EXACT)
    write_inequalities(rows, barriers(2, 2, row=[2, 2], sign=[1.0, -1.0]), a, h[:2])
    np.testing.assert_allclose(h[:2], [rows.phi[2], -rows.phi[2]], **EXACT)


@pytest.mark.parametrize("period", [0.0, 0.01])
def test_of_a_speed_and_a_position_the_derivative_must_not_fall_below(period):
    pole, h, rate = 10.0, 0.3, -0.7
    share = hold_factor(pole * period)
    assert barrier_bound(1, h, rate, pole, 0.0, period, share) == pytest.approx(-pole * share * h)
    wanted = -pole * (share * (rate + pole * h) + rate) / (1.0 + 0.5 * pole * period)
    assert barrier_bound(2, h, rate, pole, 0.0, period, share) == pytest.approx(wanted, rel=1e-12)
    if period == 0.0:  # h'' + 2 p h' + p^2 h = 0
        assert share == 1.0
        assert wanted == pytest.approx(-2.0 * pole * rate - pole**2 * h)


def asked(given, *, low=(-5.0, -5.0), high=(5.0, 5.0), u=(1.0, -1.0), period=0.0):
    """Return the alert and the account of a look at an input."""
    rows, a = rows_of(3), np.array([0.5, -2.0])
    own, alert = account(len(given.row), 3), np.full(1, 9.0)
    check_barriers(rows, given, period, a, np.array(u), np.array(low), np.array(high), own, alert)
    return alert[0], own, rows, a


def test_an_input_within_its_limits_that_keeps_all_is_not_looked_at():
    given = barriers(2, 1, 0, sign=[1.0, -1.0, 1.0], shift=[40.0, 40.0, 40.0],
                     margin=[0.1, 0.2, 0.3])  # fmt: skip
    alert, own, rows, a = asked(given)
    assert alert == 0.0
    gained = rows.A @ a - rows.b
    np.testing.assert_allclose(own.row_residual, gained, **EXACT)
    np.testing.assert_allclose(
        own.row_magnitude, np.abs(rows.b) + np.abs(rows.A) @ np.abs(a), **EXACT
    )
    h = np.array([rows.phi[0], -rows.beta[1], gained[2]]) + 40.0
    np.testing.assert_allclose(own.h, h, **EXACT)
    np.testing.assert_allclose(own.rate, [rows.beta[0], 0.0, 0.0], **EXACT)
    least = [
        barrier_bound(2, h[0] - 0.1, rows.beta[0], 10.0, 0.0, 0.0, 1.0),
        barrier_bound(1, h[1] - 0.2, 0.0, 10.0, 0.0, 0.0, 1.0),
        gained[2] - (h[2] - 0.3),
    ]
    np.testing.assert_allclose(own.lower_bound, least, rtol=1e-9)
    for name in ("active", "relaxation", "task_relaxation"):
        assert not getattr(own, name).any()


@pytest.mark.parametrize(
    ("given", "alert"),
    [({"low": (1.0, -1.0), "high": (1.0, -1.0)}, 0.0), ({"low": (1.1, -5.0)}, 1.0),
     ({"high": (5.0, -1.1)}, 1.0)],
)  # fmt: skip
def test_an_input_beyond_its_limits_is_looked_at(given, alert):
    assert asked(barriers(2, shift=[40.0]), **given)[0] == alert


@pytest.mark.parametrize("degree", [0, 1, 2])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_quantity_that_falls_too_fast_is_looked_at_and_one_that_just_does_not(degree, sign):
    """The shift at which its derivative is just what it must be is found by bisection."""
    low, high = -100.0, 100.0
    for _ in range(45):
        middle = 0.5 * (low + high)
        if asked(barriers(degree, sign=[sign], shift=[middle]))[0]:
            low = middle
        else:
            high = middle
    _, own, rows, a = asked(barriers(degree, sign=[sign], shift=[high]))
    gained = sign * (rows.A[0] @ a - rows.b[0])
    assert gained == pytest.approx(own.lower_bound[0], abs=1e-9)
    # Under a hold it is looked at with something to spare.
    assert asked(barriers(degree, sign=[sign], shift=[high + 1e-12]), period=1e-9)[0] == 1.0


# What an input does, and what a tick loses


def test_what_quantities_have_under_an_input():
    rng = np.random.default_rng(1)
    u, C = rng.standard_normal(2), rng.standard_normal((5, 2))
    row, sign, free = np.array([4, 2, 2]), np.array([1.0, -1.0, 1.0]), np.array([0.5, 0.6, 0.7])
    look = QpBounds(*np.zeros((2, 5)), C, np.zeros(0), row, sign, np.zeros(3))
    seen = InequalityValues(
        np.full((2, 5), 9.0), *np.zeros((3, 3)), np.zeros((3, 3)), np.zeros((3, 2))
    )
    tick_prediction.evaluate_inequalities(look, u, free, seen)
    np.testing.assert_allclose(
        seen.row_values[:, 2:], [C[2:] @ u, np.abs(C[2:]) @ np.abs(u)], **EXACT
    )
    np.testing.assert_array_equal(seen.row_values[:, :2], 9.0)  # of motors they are not needed
    at = sign * (C[row] @ u)
    np.testing.assert_allclose(seen.input_part, at, **EXACT)
    np.testing.assert_allclose(seen.magnitude, np.abs(C[row]) @ np.abs(u), **EXACT)
    np.testing.assert_allclose(seen.value, free + at, **EXACT)


def test_losses_have_the_weights_of_the_method_of_fourth_order():
    less = np.array([[0.6, -0.9, 0.3, 0.3], [0.9, 0.3, 0.5, -0.1], [1.2, 0.0, 0.4, 0.2]])
    given, lost = barriers(2, 1, 0, 0), np.full(4, 9.0)
    beside = np.zeros(4)
    tick_prediction.average_losses(given, 3, less, beside, lost)
    total = np.array([0.5 + 0.2, -0.2, 0.5, 0.3])  # of accelerations the most
    np.testing.assert_allclose(lost, np.maximum(total, 0.0), **EXACT)
    midpoint = np.array([0.6, -0.9, 0.6, 0.6])
    np.testing.assert_allclose(beside, total - midpoint, **EXACT)
    less[0] += 0.1
    kept = beside.copy()
    tick_prediction.average_losses(given, 1, less, beside, lost)
    np.testing.assert_array_equal(beside, kept)
    expected = midpoint + np.array([0.1, 0.1, 0.2, 0.2]) + kept
    np.testing.assert_allclose(lost, np.maximum(expected, 0.0), **EXACT)


@pytest.mark.parametrize(
    ("spare", "before", "lost", "changed"),
    [
        (0.0, 0.2, 0.3, 0.05),  # it binds: more or less is another bound
        (0.0, 0.3, 0.2, 0.05),
        (0.04, 0.2, 0.3, 0.03),  # what it has to spare takes a part of it
        (0.2, 0.2, 0.3, 0.0),
        (0.2, 0.3, 0.1, 0.0),
        (-0.1, 0.2, 0.3, 0.05),
    ],
)
def test_how_far_a_bound_has_changed_beside_its_size(spare, before, lost, changed):
    seen = InequalityValues(
        np.zeros((2, 1)), np.zeros(1), np.ones(1), np.array([1.0 + before + spare]),
        np.zeros((3, 1)), np.zeros((3, 1)),
    )  # fmt: skip
    given = np.ones(1), np.array([2.0]), np.array([before]), np.array([lost])
    assert tick_prediction.prediction_change(seen, *given) == pytest.approx(changed, abs=1e-12)


def test_an_input_obeys_all_rows_but_for_rounding():
    seen = InequalityValues(
        np.zeros((2, 2)), np.array([1.0, 2.0]), np.ones(2), np.zeros(2), np.zeros((3, 2)),
        np.zeros((3, 2)),
    )  # fmt: skip
    size = np.ones(2)
    assert filtered_input.all_satisfied_to_rounding(seen, np.array([1.0, 2.0]), size)
    assert filtered_input.all_satisfied_to_rounding(seen, np.array([1.0 + 1.9e-9, 2.0]), size)
    assert not filtered_input.all_satisfied_to_rounding(seen, np.array([1.0, 2.0 + 2.1e-9]), size)
    missed = np.array([0.5, 0.0])
    filtered_input.raise_relaxation(seen, np.array([1.25, 2.75]), size, missed)
    np.testing.assert_allclose(missed, [0.5, 0.75], **EXACT)
    filtered_input.raise_relaxation(seen, np.array([1.0, 2.0 + 5.9e-9]), size, missed)
    np.testing.assert_allclose(missed, [0.5, 0.75], **EXACT)


# Corrections that were learnt


TIMES = np.array([0.0, 0.1, 0.3, 0.35, 1.0])


@pytest.mark.parametrize("t", [-1.0, 0.0, 0.05, 0.1, 0.2, 0.3, 0.34, 0.9, 1.0, 2.0])
@pytest.mark.parametrize("count", [5, 2, 1])
def test_a_correction_is_straight_between_its_instants_and_stays_beyond_them(t, count):
    table = np.random.default_rng(2).standard_normal((count, 2))
    demand = np.array([1.0, -1.0])
    add_correction(np.array([t]), TIMES[:count], table, demand)
    wanted = [np.interp(t, TIMES[:count], column) for column in table.T]
    np.testing.assert_allclose(demand, np.array([1.0, -1.0]) + wanted, **EXACT)


@pytest.fixture
def learned(tmp_path):
    path = tmp_path / "learned.csv"
    path.write_text("t,b,a\n0.0,1.0,2.0\n0.5,3.0,4.0\n1.0,5.0,6.0\n", encoding="utf-8")
    return LearnedCorrection(file=path)


def attached(learned, *names, start=0.0, duration=1.0, period=None):
    task = SimpleNamespace(start=start, duration=duration, period=period)
    return learned.attach(task, SimpleNamespace(names=names))


def test_corrections_stand_in_the_order_of_the_rows(learned):
    times, values = attached(learned, "a", "b")
    np.testing.assert_array_equal(times, [0.0, 0.5, 1.0])
    np.testing.assert_array_equal(values, [[2.0, 1.0], [4.0, 3.0], [6.0, 5.0]])


def test_corrections_of_other_rows_are_refused(learned):
    with pytest.raises(InputError) as caught:
        attached(learned, "a", "c")
    assert str(caught.value) == (
        "learned: learned.csv must have a column for each servo row, 'a', 'c'; got 'b', 'a'. Learn "
        "anew on this scenario."
    )


@pytest.mark.parametrize(
    ("given", "fits"),
    [
        ({}, True), ({"duration": 1.01}, False), ({"start": -0.01}, False),
        ({"duration": 1.14, "period": 0.1}, True), ({"duration": 1.16, "period": 0.1}, False),
        ({"start": -0.1, "period": 0.1}, True), ({"start": -0.11, "period": 0.1}, False),
        ({"start": 0.5, "duration": 0.5}, True), ({"start": 0.5, "duration": math.inf}, False),
    ],
)  # fmt: skip
def test_corrections_of_another_time_are_refused(learned, given, fits):
    if fits:
        attached(learned, "a", "b", **given)
        return
    with pytest.raises(InputError) as caught:
        attached(learned, "a", "b", **given)
    start = given.get("start", 0.0)
    last = start + given.get("duration", 1.0)
    assert str(caught.value) == (
        f"learned: learned.csv is for 0 to 1 s; the run is from {start:g} to {last:g} s. Learn "
        "anew on this scenario."
    )
