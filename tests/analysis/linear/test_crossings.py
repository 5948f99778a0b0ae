"""Where a loop transfer function crosses a circle or a line, beside closed forms."""

import numpy as np
import pytest

from ukctrl.analysis.linear import crossings as lib
from ukctrl.analysis.linear.response import FrequencyResponse

COARSE = np.array([1e-3, 1e3])
CLOSE = {"rtol": 1e-9, "atol": 1e-12}


def lag(gain, order=1, period=None):
    """Return ``gain / (s + 1)^order``."""
    A = -np.eye(order) + np.eye(order, k=-1)
    return FrequencyResponse(A, np.eye(order)[:, :1], gain * np.eye(order)[-1:], period)


def resonance(gain, damping):
    """Return ``gain / (s^2 + 2 damping s + 1)``."""
    A = np.array([[0.0, 1.0], [-1.0, -2.0 * damping]])
    return FrequencyResponse(A, np.array([[0.0], [1.0]]), np.array([[gain, 0.0]]), None)


def test_a_lag_has_gain_one_where_its_formula_says():
    found = lib.crossings(lag(2.0), lib.UNIT_CIRCLE, COARSE)
    np.testing.assert_allclose(found, [np.sqrt(3.0)], **CLOSE)
    assert lib.crossings(lag(0.5), lib.UNIT_CIRCLE, COARSE) == []


def test_both_sides_of_a_peak_that_no_grid_shows_are_found_in_their_order():
    # |w^2 - 1 - 2 j d w| = k: w^4 - 2 (1 - 2 d^2) w^2 + 1 - k^2 = 0
    k, d = 1e-4, 1e-5
    found = lib.crossings(resonance(k, d), lib.UNIT_CIRCLE, COARSE)
    middle = 1.0 - 2.0 * d**2
    spread = np.sqrt(middle**2 - 1.0 + k**2)
    np.testing.assert_allclose(found, np.sqrt([middle - spread, middle + spread]), rtol=1e-9)


def test_a_lag_of_third_order_is_real_where_its_phase_is_half_a_turn():
    found = lib.crossings(lag(10.0, order=3), lib.REAL_AXIS, COARSE)
    np.testing.assert_allclose(found, [np.sqrt(3.0)], **CLOSE)


def test_a_held_loop_is_looked_at_on_the_unit_circle():
    # k / (z - a): |exp(jwT) - a| = k
    T, a, k = 0.1, 0.5, 1.0
    response = FrequencyResponse(np.array([[a]]), np.array([[1.0]]), np.array([[k]]), T)
    found = lib.crossings(response, lib.UNIT_CIRCLE, np.array([1e-3, np.pi / T]))
    np.testing.assert_allclose(found, [np.arccos((1.0 + a**2 - k**2) / (2.0 * a)) / T], **CLOSE)


def test_a_point_of_the_grid_that_is_a_crossing_is_one_once():
    response = lag(np.sqrt(2.0))
    assert lib.crossings(response, lib.UNIT_CIRCLE, np.array([0.25, 1.0, 4.0])) == pytest.approx(
        [1.0], rel=1e-9
    )


def test_the_circle_of_a_disk_is_where_its_size_is_reached():
    for size in (0.3, 0.5, 2.0):
        inside, outside = ([value] for value in (0.99 * size, 1.01 * size))
        for turn in np.exp(1j * np.array([0.3, 1.2, -2.0])):
            # |S - T|/2 = |1 - L|/(2 |1 + L|) of L = (1 - x)/(1 + x) is |x|/2
            at, below, above = (
                (1.0 - 2.0 * r * turn) / (1.0 + 2.0 * r * turn)
                for r in (size, inside[0], outside[0])
            )
            form = lib.disk_circle(size)
            np.testing.assert_allclose(lib.form_values(form, np.array([at])), 0.0, atol=1e-12)
            signs = np.sign(lib.form_values(form, np.array([below, above])))
            assert signs[0] == -signs[1] != 0.0


@pytest.mark.parametrize("form", [lib.UNIT_CIRCLE, lib.REAL_AXIS, lib.disk_circle(0.4)])
def test_forms_are_finite_at_poles_and_those_of_large_values(form):
    values = lib.form_values(form, np.array([1e9, 1e200, complex(np.inf)]))
    np.testing.assert_allclose(values, form[0, 0], atol=1e-8)
    values = lib.form_values(form, np.array([1e-9, 0.0]))
    np.testing.assert_allclose(values, form[1, 1], atol=1e-8)


def test_a_larger_loop_is_looked_at_on_the_grid_alone():
    n = lib.MAX_STATES
    assert len(lib.pencil_frequencies(lag(2.0, order=1), lib.UNIT_CIRCLE))
    many = FrequencyResponse(-np.eye(n + 1), np.ones((n + 1, 1)), np.ones((1, n + 1)) / n, None)
    assert not len(lib.pencil_frequencies(many, lib.UNIT_CIRCLE))
    few = FrequencyResponse(-np.eye(n), np.ones((n, 1)), np.ones((1, n)) * 2.0 / n, None)
    assert len(lib.pencil_frequencies(few, lib.UNIT_CIRCLE))


def test_a_grid_takes_what_lies_in_its_range_and_the_middles_of_that():
    found = lib.refine_grid(np.array([1.0, 10.0, 20.0]), np.array([0.5, 2.0, 4.0, 30.0]))
    assert found.tolist() == [1.0, 2.0, 3.0, 4.0, 10.0, 20.0]
    ends = lib.refine_grid(np.array([1.0, 10.0]), np.array([1.0, 2.0, 10.0]))
    assert ends.tolist() == [1.0, 2.0, 10.0]
