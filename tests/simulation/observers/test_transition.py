"""What becomes of deviations over a held period, beside SciPy's exponential."""

import numpy as np
import pytest
from scipy.linalg import expm

from ukctrl.simulation.observers.transition_kernels import held_integral


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("stiffness", [0.0, 1.0, 1e4, 1e6])
def test_a_period_of_a_stiff_system_is_that_of_the_exponential(seed, stiffness):
    rng, n, time = np.random.default_rng(seed), 4, 2e-3
    root = rng.standard_normal((n, n))
    A = np.zeros((2 * n, 2 * n))
    A[:n, n:] = np.eye(n)
    A[n:, :n] = rng.standard_normal((n, n)) - stiffness * root @ root.T
    A[n:, n:] = -rng.random() * np.eye(n)
    whole = np.zeros((4 * n, 4 * n))
    whole[: 2 * n, : 2 * n], whole[: 2 * n, 2 * n :] = A, np.eye(2 * n)
    wanted, once = expm(time * whole), np.zeros((2 * n, 2 * n))
    F = held_integral(A, time, once)
    for ours, theirs in ((F, wanted[: 2 * n, : 2 * n]), (once, wanted[: 2 * n, 2 * n :])):
        np.testing.assert_allclose(ours, theirs, rtol=0.0, atol=1e-11 * np.abs(theirs).max())


@pytest.mark.parametrize("entry", [np.inf, -np.inf, np.nan, 1e308])
def test_a_system_that_is_no_number_ends_in_none(entry):
    A, once = np.array([[0.0, 1.0], [entry, entry]]), np.zeros((2, 2))
    F = held_integral(A, 10.0, once)
    assert not np.isfinite(F).all()
    assert not np.isfinite(once).all()
