"""A planned motion: what goes in comes out, with two derivatives."""

import numpy as np
import pytest

from ukctrl.control.elastic.elastic_tracking import ChebyshevPlan
from ukctrl.core.errors import InputError

FITTED = {"rtol": 0.0, "atol": 1e-12}  # series of 16 terms of an oscillation
DERIVED = {"rtol": 0.0, "atol": 5e-9}
"""Rounding of a size 9, times the second derivative's 16**4 / 3 * (2 / 0.25)**2 = 1.4e6."""


def swing(t, y):
    return np.array([y[1], -9.0 * y[0]])


def plan(values=lambda t, y: np.array([y[0], t * y[1]]), segment=0.25, duration=2.0):
    return ChebyshevPlan(swing, np.array([1.0, 0.0]), 1.0, duration, segment, values)


@pytest.mark.parametrize("t", [1.0, 1.1, 1.25, 2.0, 2.9999, 3.0])
def test_values_and_derivatives_are_those_of_the_closed_form(t):
    s, c = np.sin(3.0 * (t - 1.0)), np.cos(3.0 * (t - 1.0))
    value, first, second = plan()(t)
    np.testing.assert_allclose(value, [c, -3.0 * t * s], **FITTED)
    np.testing.assert_allclose(first, [-3.0 * s, -3.0 * s - 9.0 * t * c], **DERIVED)
    np.testing.assert_allclose(second, [-9.0 * c, -18.0 * c + 27.0 * t * s], **DERIVED)


def test_pieces_meet():
    planned, t = plan(), 1.25
    np.testing.assert_allclose(planned(t - 1e-15), planned(t + 1e-15), **DERIVED)


def test_pieces_without_number_are_refused():
    with pytest.raises(InputError, match=r"segment must be at least 2.0e-05 s, .* got 1e-09 s"):
        plan(segment=1e-9)


def test_a_motion_that_breaks_off_is_refused():
    with pytest.raises(InputError, match=r"ends at t = 2 s, where its integration fails"):
        ChebyshevPlan(lambda t, y: y**2, np.array([1.0]), 1.0, 2.0, 0.25, lambda t, y: y)


def test_beyond_the_ends_it_stands():
    planned = plan()
    np.testing.assert_array_equal(planned(0.5), planned(1.0))
    np.testing.assert_array_equal(planned(3.5), planned(3.0))


def test_a_motion_with_a_corner_is_refused():
    with pytest.raises(InputError, match="must have four smooth derivatives; near t = 2 s"):
        plan(values=lambda t, y: np.array([max(t, 2.1)]))


def test_pieces_that_are_too_long_are_refused():
    with pytest.raises(InputError, match="shorten controller.segment"):
        plan(segment=20.0, duration=20.0)
