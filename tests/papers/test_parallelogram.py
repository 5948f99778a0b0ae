"""The paper's linkage anywhere in its coordinates, against finite differences and a closed form."""

import numpy as np
import pytest

from ukctrl_papers import parallelogram as bar

STEP = 1e-6
DIFFERENCED = {"rtol": 0.0, "atol": 1e-8}  # central differences of smooth functions of order one


@pytest.fixture(params=[1, 2, 5])
def loops(request):
    return request.param


@pytest.fixture
def state(loops):
    rng = np.random.default_rng(loops)
    n = 3 * (loops + 2)
    return rng.standard_normal(n), rng.standard_normal(n)


def slope(function, x, along):
    return (function(x + STEP * along) - function(x - STEP * along)) / (2.0 * STEP)


def test_the_rows_are_the_derivatives_of_the_open_joints(state):
    q, v = state
    A, b = bar.constraint_rows(q, v)
    np.testing.assert_allclose(A @ v, slope(bar.position_errors, q, v), **DIFFERENCED)
    np.testing.assert_allclose(
        -b, slope(lambda x: bar.constraint_rows(x, v)[0] @ v, q, v), **DIFFERENCED
    )


def test_an_assembled_linkage_closes_every_joint_and_keeps_it_closed(loops):
    q, v = bar.closed_configuration(-0.7, 1.3, loops)
    np.testing.assert_allclose(bar.position_errors(q), 0.0, atol=1e-14)
    np.testing.assert_allclose(bar.constraint_rows(q, v)[0] @ v, 0.0, atol=1e-14)


def test_the_closed_form_starts_at_rest_and_obeys_the_pendulum_equation(loops):
    t = np.linspace(0.0, 5.0, 40)
    angle = bar.angle_from_rest(t, -0.8, loops)
    ends = [bar.angle_from_rest(t + s, -0.8, loops) for s in (-1e-4, 1e-4)]
    second = (ends[0] - 2.0 * angle + ends[1]) / 1e-8
    expected = [bar.angular_acceleration(theta, loops) for theta in angle]
    assert angle[0] == pytest.approx(-0.8, abs=1e-14)
    np.testing.assert_allclose(second, expected, rtol=0.0, atol=1e-6)
