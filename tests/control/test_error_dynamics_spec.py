"""What is asked of an error, beside its closed forms: settling, bandwidth, rejection."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import brentq

from ukctrl.control.error_dynamics_spec import ErrorSpec, natural_frequency, unit_polynomial
from ukctrl.core.errors import InputError

CLOSE = {"rel": 1e-9}


def sensitivity(damping, poles):
    """Return where ``|S|`` first comes up to the root of a half, by another way."""
    p = {1: [1, 1], 2: [1, 2 * damping, 1], 3: np.polymul([1, 2 * damping, 1], [1, 1])}[poles]

    def above(w):
        return w**poles / abs(np.polyval(p, 1j * w)) - math.sqrt(0.5)

    grid = np.geomspace(1e-3, 1e3, 4000)
    k = int(np.flatnonzero(np.array([above(w) for w in grid]) > 0.0)[0])
    return brentq(above, grid[k - 1], grid[k], xtol=1e-14)


def settles(error, until):
    """Return the last time at which an error is two hundredths."""
    t = np.linspace(0.0, until, 200001)
    k = int(np.flatnonzero(np.abs(error(t)) > 0.02)[-1])
    return brentq(lambda at: abs(error(at)) - 0.02, t[k], t[k + 1], xtol=1e-13)


def released(damping):
    """Return an error of two poles that is let go at rest."""
    if damping == 1.0:
        return lambda t: (1.0 + t) * np.exp(-t)
    if damping < 1.0:
        w = math.sqrt(1.0 - damping**2)
        return lambda t: np.exp(-damping * t) * (np.cos(w * t) + damping / w * np.sin(w * t))
    root = math.sqrt(damping**2 - 1.0)
    slow, fast = damping - root, damping + root
    return lambda t: (fast * np.exp(-slow * t) - slow * np.exp(-fast * t)) / (fast - slow)


@pytest.mark.parametrize("damping", [0.1, 0.7, 1.0, 2.5])
def test_the_error_has_its_poles_at_one_distance(damping):
    np.testing.assert_array_equal(unit_polynomial(damping, 1), [1.0, 1.0])
    pair = [1.0, 2.0 * damping, 1.0]
    np.testing.assert_allclose(unit_polynomial(damping, 2), pair, rtol=1e-15)
    np.testing.assert_allclose(
        unit_polynomial(damping, 3), np.polymul(pair, [1.0, 1.0]), rtol=1e-15
    )


@pytest.mark.parametrize("damping", [0.3, 0.7, 1.0, 2.0])
def test_an_error_settles_in_the_time_that_was_asked_for(damping):
    time = settles(released(damping), 60.0)
    assert natural_frequency(2.0, damping) == pytest.approx(time / 2.0, **CLOSE)
    assert ErrorSpec(settling=0.5, damping=damping).frequency() == pytest.approx(
        2.0 * time, **CLOSE
    )


def test_an_error_of_one_pole_and_one_with_an_integral_settle_in_their_times():
    assert natural_frequency(1.0, 1.0, 1) == pytest.approx(math.log(50.0), **CLOSE)
    # Behind the integral: z = (t + t^2) exp(-t), released with z = 0 and z' = 1.
    triple = settles(lambda t: (1.0 + t - t * t) * np.exp(-t), 40.0)
    assert natural_frequency(1.0, 1.0, 3) == pytest.approx(triple, **CLOSE)


@pytest.mark.parametrize("poles", [1, 2, 3])
@pytest.mark.parametrize("damping", [0.3, 1.0, 3.0])
def test_a_bandwidth_is_where_the_sensitivity_comes_up(poles, damping):
    at = sensitivity(damping, poles)
    terms = ErrorSpec(bandwidth=12.0, damping=damping)
    assert terms.frequency(poles) == pytest.approx(12.0 / at, **CLOSE)
    assert terms.as_bandwidth(poles) == pytest.approx(12.0, **CLOSE)
    if (poles, damping) == (2, 1.0):
        assert at == pytest.approx(1.0 / math.sqrt(math.sqrt(2.0) - 1.0), **CLOSE)


@pytest.mark.parametrize(
    ("damping", "poles", "far"),
    [
        (1.0, 2, 1.0), (2.0, 2, 1.0),
        (0.5, 2, 1.0 + math.exp(-math.pi / math.sqrt(3.0))),
        (1.0, 3, 2.0 * math.exp(-2.0)),  # t^2 exp(-t)/2 at t = 2
    ],
)  # fmt: skip
def test_a_rejection_is_how_far_a_sudden_acceleration_brings_the_error(damping, poles, far):
    w = ErrorSpec(rejection=0.01, damping=damping).frequency(poles)
    assert w == pytest.approx(math.sqrt(far / 0.01), rel=1e-8)


def test_a_rejection_of_one_pole_is_refused():
    with pytest.raises(InputError) as caught:
        ErrorSpec(rejection=0.01).frequency(1)
    assert str(caught.value) == (
        "rejection is of position errors; a law of first order in the velocity leaves them where "
        "they are. Give a bandwidth or a settling time."
    )


@pytest.mark.parametrize("damping", [0.5, 1.0, 2.0])
def test_gains_are_the_coefficients_of_the_polynomials(damping):
    terms = ErrorSpec(bandwidth=6.0, damping=damping)
    w, w3 = terms.frequency(), terms.frequency(3)
    assert terms.second_order() == pytest.approx((w * w, 2.0 * damping * w), **CLOSE)
    _, kd, kp, ki = np.polymul([1.0, 2.0 * damping * w3, w3 * w3], [1.0, w3])
    assert terms.third_order() == pytest.approx((kp, ki, kd), **CLOSE)
    assert terms.beside_a_third().frequency() == pytest.approx(w3, **CLOSE)
    assert terms.beside_a_third().damping == damping
    pair = terms.real_pair()
    if damping < 1.0:
        assert pair is None
    else:
        slow, fast = pair
        assert slow <= fast
        assert (slow * fast, slow + fast) == pytest.approx((w * w, 2.0 * damping * w), **CLOSE)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "needs one of settling, bandwidth and rejection; got none."),
        (
            {"settling": 1.0, "rejection": 1.0},
            "needs one of settling, bandwidth and rejection; got settling and rejection.",
        ),
        ({"settling": 1.0, "damping": 0.04}, "damping: must be between 0.05 and 10; got 0.04."),
        ({"settling": 1.0, "damping": 10.1}, "damping: must be between 0.05 and 10; got 10.1."),
        ({"settling": 0.0}, "settling: must be positive; got 0.0."),
        ({"bandwidth": 0.0}, "bandwidth: must be positive; got 0.0."),
        ({"rejection": 0.0}, "rejection: must be positive; got 0.0."),
    ],
)
def test_terms_that_make_no_sense_are_refused(given, message):
    with pytest.raises(InputError) as caught:
        ErrorSpec(**given)
    assert str(caught.value).endswith(message)


@pytest.mark.parametrize(
    ("settling", "damping", "message"),
    [
        (0.0, 1.0, "the settling time must be positive; got 0 s."),
        (math.inf, 1.0, "the settling time must be positive; got inf s."),
        (1.0, 0.049, "the damping ratio must be from 0.05 to 10; got 0.049."),
        (1.0, 10.1, "the damping ratio must be from 0.05 to 10; got 10.1."),
    ],
)
def test_a_frequency_of_no_settling_time_is_refused(settling, damping, message):
    with pytest.raises(InputError) as caught:
        natural_frequency(settling, damping)
    assert str(caught.value) == message


def test_terms_are_told_with_their_unit_and_damping():
    assert str(ErrorSpec(settling=0.5)) == "settling in 0.5 s with damping 1"
    assert str(ErrorSpec(bandwidth=12.0, damping=0.7)) == "a bandwidth of 12 rad/s with damping 0.7"
    assert str(ErrorSpec(rejection=0.01)) == "a rejection of 0.01 s² with damping 1"
