"""Local minima within limits, beside those that are known and those of SciPy."""

import numpy as np
import pytest
from scipy import optimize

from ukctrl_identification.fourier_series import FourierSeries, RestingSeries
from ukctrl_identification.sequential_programming import Slopes, Values, least_cost


class Problem:
    """A cost and limits with exact derivatives, which exist where they are told to."""

    def __init__(self, cost, gradient, slack, jacobian, exists=lambda z: True):
        self.functions, self.exists = (cost, gradient, slack, jacobian), exists
        self.slopes_asked = 0

    def values(self, z):
        cost, _, slack, _ = self.functions
        return Values(cost(z), slack(z)) if self.exists(z) else None

    def slopes(self, z):
        _, gradient, _, jacobian = self.functions
        self.slopes_asked += 1
        return Slopes(gradient(z), jacobian(z))


def banana(z):
    return 0.1 * ((1.0 - z[0]) ** 2 + 10.0 * (z[1] - z[0] ** 2) ** 2)


def banana_gradient(z):
    bend = z[1] - z[0] ** 2
    return 0.1 * np.array([-2.0 * (1.0 - z[0]) - 40.0 * z[0] * bend, 20.0 * bend])


DISC = {
    "slack": lambda z: np.array([0.5 - z @ z]),
    "jacobian": lambda z: -2.0 * z[None],
}


@pytest.mark.parametrize("start", [[0.0, 0.0], [-0.4, 0.5], [0.6, -0.3]])
def test_a_bent_valley_is_followed_to_the_edge_of_a_disc(start):
    found = least_cost(Problem(banana, banana_gradient, **DISC), np.array(start), 1e-10)
    known = optimize.minimize(
        banana, start, jac=banana_gradient, method="SLSQP", options={"ftol": 1e-14},
        constraints={"type": "ineq", "fun": DISC["slack"], "jac": DISC["jacobian"]},
    )  # fmt: skip
    np.testing.assert_allclose(found, known.x, atol=1e-4)
    assert DISC["slack"](found)[0] > -1e-6


def test_without_limits_the_end_of_the_valley_is_found():
    none = {"slack": lambda z: np.ones(1), "jacobian": lambda z: np.zeros((1, 2))}
    found = least_cost(Problem(banana, banana_gradient, **none), np.zeros(2), 1e-12)
    np.testing.assert_allclose(found, [1.0, 1.0], atol=1e-3)


def test_a_start_beyond_a_limit_is_brought_back():
    problem = Problem(banana, banana_gradient, **DISC)
    found = least_cost(problem, np.array([1.5, 1.0]), 1e-10)
    assert DISC["slack"](found)[0] > -1e-5


def test_a_step_to_where_there_is_no_cost_is_undone():
    # least at the edge of what exists, where no limit tells it
    none = {"slack": lambda z: np.ones(1), "jacobian": lambda z: np.zeros((1, 2))}
    problem = Problem(
        lambda z: z[0] + z[1] ** 2, lambda z: np.array([1.0, 2.0 * z[1]]), **none,
        exists=lambda z: z[0] > -1.0,
    )  # fmt: skip
    found = least_cost(problem, np.array([0.5, 0.7]), 1e-9)
    assert found[0] == pytest.approx(-1.0, abs=1e-3)


def test_many_limits_of_which_few_hold_end_at_the_corner_that_linear_programming_finds():
    rng = np.random.default_rng(0)
    A, c = rng.normal(size=(400, 6)), rng.normal(size=6)
    A /= np.linalg.norm(A, axis=1)[:, None]
    known = optimize.linprog(c, A_ub=A, b_ub=np.ones(400), bounds=(None, None))
    problem = Problem(
        lambda z: c @ z, lambda z: c, lambda z: 1.0 - A @ z, lambda z: -A,
    )  # fmt: skip
    found = least_cost(problem, np.zeros(6), 1e-10)
    assert c @ found == pytest.approx(known.fun, abs=1e-6)


@pytest.mark.parametrize("harmonics", [2, 3, 7])
def test_series_of_the_space_rest_at_both_ends_and_are_all_that_do(harmonics):
    rng, T = np.random.default_rng(harmonics), 3.0
    space = RestingSeries.of(T, harmonics)
    series = space.series(rng.normal(size=(2 * harmonics - 2, 4)))
    ends = np.array([0.0, T])
    for order in range(3):
        np.testing.assert_allclose(series(ends, order), 0.0, atol=1e-10)
    # 2 H coefficients less what rest takes: one sum of sines, one of cosines
    assert np.linalg.matrix_rank(np.vstack([space.cosine, space.sine])) == 2 * harmonics - 2


def test_derivatives_of_a_series_are_those_of_differences_and_its_path_is_the_same():
    rng = np.random.default_rng(0)
    series = FourierSeries(2.5, *rng.normal(size=(1, 3)), *rng.normal(size=(2, 4, 3)))
    t, step = np.linspace(0.1, 2.0, 7), 1e-5
    for order in range(2):
        slope = (series(t + step, order) - series(t - step, order)) / (2.0 * step)
        np.testing.assert_allclose(series(t, order + 1), slope, rtol=1e-6, atol=1e-5)
    start = np.array([0.3, -1.0, 2.0])
    path = series.path(start, begin=1.5)
    for at in t.tolist():
        sample = path(1.5 + at)
        np.testing.assert_allclose(sample.r, start + series(np.array([at]))[0], atol=1e-12)
        np.testing.assert_allclose(sample.r_ddot, series(np.array([at]), 2)[0], atol=1e-9)
    np.testing.assert_array_equal(series.part([2, 0])(t), series(t)[:, [2, 0]])
    np.testing.assert_allclose(series.scaled(0.5)(t), 0.5 * series(t))
