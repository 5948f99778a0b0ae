"""References give derivatives of any order, and say how many of them are continuous."""

import numpy as np
import pytest

from ukctrl.core.errors import InputError
from ukctrl.mechanics.reference import (
    Line,
    MinJerk,
    Reference,
    Repeated,
    RestToRest,
    Spline,
    Stacked,
)
from ukctrl.mechanics.reference.piecewise_polynomial import PiecewisePolynomial

EXACT = {"rtol": 1e-11, "atol": 1e-11}


@pytest.mark.parametrize("still", [1, 2, 4, 7])
def test_rest_to_rest_keeps_as_many_derivatives_at_zero_as_asked(still):
    path = RestToRest(points=((0.0, 1.0), (2.0, -1.0)), duration=2.0, still=still)
    for t, point in ((0.0, (0.0, 1.0)), (2.0 - 1e-12, (2.0, -1.0))):
        found = path.derivatives(t, still + 1)
        np.testing.assert_allclose(found[0], point, atol=1e-9)
        np.testing.assert_allclose(found[1 : still + 1], 0.0, atol=1e-4)
        assert np.abs(found[still + 1]).min() > 1.0
    assert path.smoothness == still


def test_rest_to_rest_is_the_published_polynomial_of_the_crane():
    """s = 126 tau^5 - 420 tau^6 + 540 tau^7 - 315 tau^8 + 70 tau^9 (Blajer & Kolodziejczyk)."""
    tau = np.linspace(0.0, 1.0, 11)
    powers = {5: 126.0, 6: -420.0, 7: 540.0, 8: -315.0, 9: 70.0}
    expected = sum(c * tau**k for k, c in powers.items())
    path = RestToRest(points=((0.0,), (1.0,)), duration=1.0, still=4)
    np.testing.assert_allclose(path.sample(tau).r[:, 0], expected, rtol=0.0, atol=1e-12)


def test_with_two_derivatives_at_rest_it_is_the_path_of_least_jerk():
    points = ((0.0, 1.0), (2.0, -1.0), (1.0, 1.0))
    one = RestToRest(points=points, times=(0.0, 1.0, 2.5), still=2)
    other = MinJerk(points=points, times=(0.0, 1.0, 2.5))
    for t in (-0.1, 0.3, 1.7, 3.0):
        np.testing.assert_allclose(one.derivatives(t, 5), other.derivatives(t, 5), **EXACT)


def test_a_repeated_path_that_starts_again_with_another_velocity_has_no_smooth_derivative():
    saw = Repeated(path=Spline(points=(0.0, 1.0, 0.0), duration=1.0, ends="natural"), period=1.0)
    assert saw.smoothness == 0.0


def test_stacked_paths_are_as_smooth_as_the_worst():
    good = RestToRest(points=((0.0,), (1.0,)), duration=1.0, still=6)
    bad = Line(start=(0.0,), end=(1.0,), duration=1.0)
    assert Stacked(parts=(good, bad)).smoothness == 2.0


def test_more_derivatives_at_rest_than_digits_allow_are_refused():
    with pytest.raises(InputError, match="still must be 1 to 12 derivatives; got 13"):
        RestToRest(points=((0.0,), (1.0,)), duration=1.0, still=13)


def test_a_path_of_ones_own_says_that_it_has_no_third_derivative():
    class Own(Reference):
        size = 1

        def compile(self):
            return lambda t: (t, 1.0, 6.0)

    np.testing.assert_allclose(Own().derivatives(0.3, 2), [[0.3], [1.0], [6.0]])
    with pytest.raises(InputError, match="class 'Own' must give 4 derivatives; it gives two"):
        Own().derivatives(0.0, 4)


@pytest.mark.parametrize("repeat", [False, True])
def test_pieces_and_their_series_agree_wherever_they_begin(repeat):
    """On [3, 4] and [4, 6] the parabolas s (1 - s) and -s (1 - s/2): closed, and kinked at 3."""
    pieces = PiecewisePolynomial(
        np.array([3.0, 4.0, 6.0]),
        np.array([[[0.0], [1.0], [-1.0]], [[0.0], [-1.0], [0.5]]]),
        repeat,
    )
    path = pieces.compile()
    for turn in (-2, 0, 1, 5):
        for s, expected in ((0.25, (0.1875, 0.5, -1.0)), (1.5, (-0.375, -0.5, 0.5))):
            t = 3.0 + 3.0 * turn + s
            if not repeat and turn:
                expected = (0.0, 0.0, 0.0)
            np.testing.assert_allclose(pieces.series(t, 2).ravel(), expected, **EXACT)
            np.testing.assert_allclose(path(t), np.multiply(expected, [1, 1, 2]), **EXACT)
