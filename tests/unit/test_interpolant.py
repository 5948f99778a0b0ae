"""The states between the steps of DOP853 are SciPy's own, to the last bit."""

from __future__ import annotations

import numpy as np
from scipy.integrate import DOP853

from ukctrl.mechanics.integrate.adaptive import _horner


def test_the_interpolant_of_a_step_is_scipys_to_the_last_bit():
    rng = np.random.default_rng(0)
    A = rng.standard_normal((8, 8))
    solver = DOP853(lambda t, y: np.sin(A @ y + t), 0.3, rng.standard_normal(8), 5.0, rtol=1e-9)
    steps = 0
    while solver.status == "running":
        solver.step()
        between = solver.dense_output()
        times = np.linspace(solver.t_old, solver.t, 7)
        states = np.empty((7, 8))
        _horner(between.F, between.y_old, between.t_old, between.h, times, states)
        np.testing.assert_array_equal(states, between(times).T)
        steps += 1
    assert steps > 10
