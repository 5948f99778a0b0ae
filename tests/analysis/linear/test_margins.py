"""Margins beside closed forms, python-control, and loops driven to their limit."""

import control
import numpy as np
import pytest

from ukctrl import Scenario
from ukctrl.analysis.linear import as_rates, linear_loop
from ukctrl.analysis.linear.margins import (
    disk_gain,
    disk_margin,
    disk_phase,
    margins_at,
    mu_upper_bound,
)
from ukctrl.analysis.linear.response import frequencies

CLOSE = {"rtol": 1e-8, "atol": 1e-10}


def test_a_mass_under_proportional_and_derivative_control_has_the_margins_of_its_formula(plants):
    alpha, beta = 5.0, 6.0
    found = margins_at(linear_loop(plants.held_mass(alpha, beta)), 0)
    # |L| = 1: w^4 = alpha^2 w^2 + beta^2; its phase there is atan(alpha w / beta) - 180 deg
    w = np.sqrt((alpha**2 + np.sqrt(alpha**4 + 4.0 * beta**2)) / 2.0)
    phase = np.arctan2(alpha * w, beta)
    np.testing.assert_allclose(found.phase_frequency, w, **CLOSE)
    np.testing.assert_allclose(found.phase, np.degrees(phase), **CLOSE)
    np.testing.assert_allclose(found.delay, phase / w, **CLOSE)
    assert (found.gain_low, found.gain_high) == (0.0, np.inf)


@pytest.mark.parametrize("period", [None, 0.02, 0.2])
def test_python_control_finds_the_same_margins(plants, period):
    timing = {"duration": 1.0} | ({} if period is None else {"control": period})
    loop = linear_loop(plants.held_mass(5.0, 6.0, timing=timing))
    found, theirs = margins_at(loop, 0), loop.transfer(0)
    _, phases, _, _, crossings, _ = control.stability_margins(theirs, returnall=True)
    at = np.argmin(np.abs(crossings - found.phase_frequency))
    np.testing.assert_allclose([found.phase, found.phase_frequency], [phases[at], crossings[at]])
    # At half the rate of the hold the loop is real; python-control does not look there.
    limit = np.inf if period is None else 2.0 / (5.0 * period)
    np.testing.assert_allclose(found.gain_high, limit, rtol=1e-8)
    grid = np.concatenate([frequencies(loop, 0), [found.disk_frequency]])
    disk, _, turn = control.disk_margins(theirs, np.sort(grid))
    np.testing.assert_allclose(found.disk, disk, rtol=1e-8)
    np.testing.assert_allclose(found.disk_phase, turn, rtol=1e-6)


@pytest.mark.parametrize("name", ["panda-elastic", "scara-helix-bench", "quadrotor-lemniscate"])
def test_at_its_margins_a_loop_is_at_the_edge_of_stability(name):
    loop = linear_loop(Scenario.load(name))
    for motor in range(2):
        found = margins_at(loop, motor)
        A, b, c = loop.broken_at(motor)

        def quickest(k, A=A, b=b, c=c):
            return as_rates(np.linalg.eigvals(A - k * np.outer(b, c)), loop.period).real.max()

        for k in (found.gain_low, found.gain_high):
            if 1e-6 < k < np.inf:
                assert quickest(1.0 + (k - 1.0) * 0.999) < 0.0 < quickest(1.0 + (k - 1.0) * 1.001)
        turn = np.exp(1j * np.radians(found.phase))
        inside = min(quickest(turn**s) for s in (0.999, -0.999))
        outside = max(quickest(turn**s) for s in (1.001, -1.001))
        assert inside < 0.0 < outside
        assert found.disk_gain <= min(found.gain_high, 1.0 / max(found.gain_low, 1e-12)) * 1.000001
        assert found.disk_phase <= found.phase * 1.000001


def test_a_pole_that_must_be_balanced_bounds_the_gain_from_below(plants):
    loop = linear_loop(plants.scenario(plants.cart_pole()))
    found = margins_at(loop, 0)
    assert 0.0 < found.gain_low <= 0.5  # an optimal regulator stands half the gain
    assert found.gain_high == np.inf
    assert found.phase >= 60.0
    assert found.disk >= 2.0 / 3.0  # |S| <= 1 holds, so |S - 1/2| <= 3/2


def test_all_motors_at_once_stand_no_more_than_each_alone():
    loop = linear_loop(Scenario.load("flexible-joint-arm-motor"))
    together, at = disk_margin(loop)
    each = [margins_at(loop, k).disk for k in range(2)]
    assert 0.0 < together <= min(each) * (1.0 + 1e-9)
    # Factors of just that size, found by python-control's matrices, drive the loop to its limit.
    M = np.linalg.inv(np.eye(2) + loop.transfers()(1j * at)) - 0.5 * np.eye(2)
    np.testing.assert_allclose(together, 1.0 / mu_upper_bound(M), rtol=1e-9)


@pytest.mark.parametrize("seed", range(10))
def test_the_structured_singular_value_lies_between_its_bounds(seed):
    rng = np.random.default_rng(seed)
    M = rng.standard_normal((3, 3)) + 1j * rng.standard_normal((3, 3))
    found = mu_upper_bound(M)
    # For three factors the bound is exact: some unitary diagonal U has that spectral radius.
    radius, best = 0.0, None
    for _ in range(4000):
        turn = np.exp(1j * rng.uniform(0.0, 2.0 * np.pi, 3))
        size = np.abs(np.linalg.eigvals(turn[:, None] * M)).max()
        radius, best = (size, turn) if size > radius else (radius, best)
    assert radius <= found * (1.0 + 1e-9)
    assert radius >= 0.97 * found
    assert found <= np.linalg.svd(M)[1][0] * (1.0 + 1e-12)


def test_a_disk_stands_for_a_gain_and_a_phase():
    # Seiler, Packard & Gahinet 2020: alpha = 0.75 gives 2.2 and 41.1 deg
    np.testing.assert_allclose([disk_gain(0.75), disk_phase(0.75)], [2.2, 41.112], atol=1e-3)
    assert (disk_gain(2.0), disk_phase(2.0)) == (np.inf, 90.0)
