"""A held input against the error dynamics: closed forms, and simulation of chain and robot."""

import math

import numpy as np
import pytest
from seeds import seeded

from ukctrl import Scenario, simulate
from ukctrl.analysis.check.timing import (
    max_error_period,
    sampled_error_matrix,
    sampled_error_rates,
)
from ukctrl.control.error_polynomial import ErrorPolynomial

ROUNDING = {"rtol": 1e-6}
EXACT = {"rtol": 1e-11, "atol": 1e-12}


rng = seeded(10)


def second(alpha, beta):
    return ErrorPolynomial(row="x", gains=(beta, alpha))


def after(error, period, late, x, count):
    """Integrate the chain in fine steps under an input that is held and comes late.

    By the exact motion of each step, which is short enough to end on every change of the input.
    """
    gains, r = np.array(error.gains), len(error.gains)
    first = int(error.integral)
    n = r - first
    fine = 20
    step = period / fine
    shift = np.zeros((n, n))
    for i in range(n):
        for j in range(i, n):
            shift[i, j] = step ** (j - i) / math.factorial(j - i)
    push = np.array([step ** (n - i) / math.factorial(n - i) for i in range(n)])
    asked, x = [], np.array(x)
    for k in range(count * fine):
        if k % fine == 0:
            asked.append(-gains @ x)
            before = x.copy()
        at = k - round(late * fine)
        w = asked[at // fine] if at >= 0 else 0.0
        x[first:] = shift @ x[first:] + push * w
        if error.integral and k % fine == fine - 1:
            x[0] += period * before[1]
    return x


def test_a_held_double_integrator_is_stable_below_the_smaller_of_two_periods(rng):
    r"""By Jury's criterion on the held error's polynomial.

    $z^2 + (a + b - 2) z + 1 - a + b$ with $a = \alpha h$ and $b = \beta h^2/2$.
    """
    alpha, beta = rng.uniform(0.5, 40.0), rng.uniform(1.0, 400.0)
    expected = min(2.0 / alpha, 2.0 * alpha / beta)
    np.testing.assert_allclose(max_error_period(second(alpha, beta)), expected, **ROUNDING)


def test_a_velocity_row_is_stable_below_two_over_its_rate(rng):
    kappa = rng.uniform(0.1, 50.0)
    found = max_error_period(ErrorPolynomial(row="x", gains=(kappa,)))
    np.testing.assert_allclose(found, 2.0 / kappa, **ROUNDING)


@pytest.mark.parametrize("late", [0.0, 0.35, 1.0, 1.6, 3.0])
@pytest.mark.parametrize("integral", [False, True])
def test_one_period_maps_the_error_as_simulation_does(rng, late, integral):
    error = ErrorPolynomial(row="x", gains=tuple(rng.uniform(1.0, 30.0, 3)), integral=integral)
    x, period, count = rng.standard_normal(3), 0.04, 7
    matrix = sampled_error_matrix(error, period, late)
    whole = np.zeros(len(matrix))
    whole[:3] = x
    for _ in range(count):
        whole = matrix @ whole
    np.testing.assert_allclose(whole[:3], after(error, period, late, x, count), **EXACT)


def test_short_periods_leave_the_poles_where_they_are():
    poles = np.array([-1.0, -4.0, -8.0])
    error = ErrorPolynomial(row="x", gains=tuple(np.poly(poles)[:0:-1]))
    np.testing.assert_allclose(error.poles, poles, **ROUNDING)
    np.testing.assert_allclose(sampled_error_rates(error, 1e-5), poles, rtol=1e-3)


def test_a_delay_shortens_the_longest_period(rng):
    error = second(rng.uniform(1.0, 40.0), rng.uniform(1.0, 400.0))
    limits = [max_error_period(error, late) for late in (0.0, 0.5, 1.0, 2.0)]
    assert (np.diff(limits) < 0.0).all()


def grown(period, duration=40.0):
    """Return by how much the error of a held row grows from the first third to the last.

    Its plant is the chain itself, so that the limit must hold exactly.
    """
    changes = {
        "servo": [{"kind": "expression", "name": "x", "phi": "x", "unit": "m"}],
        "controller": {"use": "servo-baumgarte", "feedback": {"alpha": 2.0, "beta": 40.0}},
        "start.q": {"x": 0.1, "y": 0.0},
        "start.v": {"x": 0.0, "y": 0.0},
        "timing": {"duration": duration, "control": period, "sample": period},
    }
    result = simulate(Scenario.load("log-spiral-particle", changes))
    phi = np.abs(result["phi"][:, 0])
    third = len(phi) // 3
    return phi[-third:].max() / phi[:third].max()


def test_the_limit_parts_runs_that_grow_from_runs_that_decay():
    limit = max_error_period(second(2.0, 40.0))
    np.testing.assert_allclose(limit, 0.1, **ROUNDING)
    assert grown(0.97 * limit) < 1.0 < grown(1.03 * limit)


@pytest.mark.slow
@pytest.mark.parametrize(("period", "status"), [(0.004, "completed"), (0.006, "diverged")])
def test_the_limit_holds_for_an_arm_on_its_helix(period, status):
    """Between 0.004 and 0.006 s lies 2 alpha/beta = 0.005 s; the error grows by 5 % a second."""
    changes = {
        "timing": {"duration": 120.0, "control": period, "sample": 0.05},
        "servo": [
            {
                "kind": "point_follows",
                "frame": "tool",
                "path": {
                    "kind": "expression",
                    "x": "0.05*sin(0.4*pi*t)",
                    "y": "0.35 + 0.05*cos(0.4*pi*t)",
                    "z": "0.0",
                },
            },
            {"kind": "expression", "name": "orientation", "phi": "q1 + q2 + q3", "unit": "rad"},
        ],
        "integrator": {"method": "DOP853", "rtol": 1e-7, "atol": 1e-9},
    }
    assert simulate(Scenario.load("scara-helix-baumgarte", changes)).status == status
