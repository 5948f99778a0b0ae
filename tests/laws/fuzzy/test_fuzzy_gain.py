"""Fuzzy numbers, their averages and the optimal gain, each by a route of its own."""

from __future__ import annotations

import dataclasses as dc
import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import minimize_scalar
from seeds import seeded

from ukctrl import Scenario, simulate
from ukctrl.control.feedback.chen_robust import ChenRobust
from ukctrl.core.errors import InputError
from ukctrl_laws.fuzzy.fuzzy_gain import Fuzzy, FuzzyGainCost, fuzzy_gain, positive_root

EXACT = {"rtol": 1e-12, "atol": 0.0}
MINIMISED = {"rtol": 1e-6, "atol": 0.0}  # a minimum is flat: half the digits of the cost

NUMBERS = [
    Fuzzy(0.0, 0.3, 0.3, 1.0),
    Fuzzy(0.0, 0.0, 0.0, 2.0),
    Fuzzy(0.1, 0.2, 0.6, 0.7),
    Fuzzy(0.5, 0.5, 0.9, 0.9),
    Fuzzy(1.0, 1.0, 1.5, 4.0),
]


rng = seeded(25)


@pytest.mark.parametrize("number", NUMBERS, ids=str)
@pytest.mark.parametrize("power", [0, 1, 2, 4])
def test_the_average_is_the_membership_weighted_one_and_that_over_cuts(number, power):
    ends = (number.low, number.high)
    corners = [number.left, number.right]
    top = quad(lambda x: x**power * number.membership(x), *ends, points=corners, epsabs=1e-13)[0]
    bottom = quad(number.membership, *ends, points=corners, epsabs=1e-13)[0]
    np.testing.assert_allclose(number.average(power), top / bottom, rtol=1e-9)

    def over_cut(level):
        low, high = number.cut(level)
        return (high ** (power + 1) - low ** (power + 1)) / (power + 1)

    cuts = quad(over_cut, 0.0, 1.0)[0] / quad(lambda a: np.ptp(number.cut(a)), 0.0, 1.0)[0]
    np.testing.assert_allclose(number.average(power), cuts, rtol=1e-9)


def test_the_second_moment_of_a_triangle_is_the_known_one():
    a, b, c = 0.1, 0.4, 1.3
    known = (a * a + b * b + c * c + a * b + b * c + c * a) / 6.0
    np.testing.assert_allclose(Fuzzy(a, b, b, c).average(2), known, **EXACT)
    np.testing.assert_allclose(Fuzzy(a, b, b, c).average(1), (a + b + c) / 3.0, **EXACT)


def test_a_crisp_number_is_its_own_average():
    assert Fuzzy.parse("0.3") == Fuzzy.crisp(0.3)
    np.testing.assert_allclose(Fuzzy.crisp(0.3).average(2), 0.09, **EXACT)
    assert Fuzzy.crisp(0.0).average(2) == 0.0


@pytest.mark.parametrize("text", ["", "1:2", "a:b:c", "3:2:1", "0:1:inf", "0:true:1", "1:2:3:4:5"])
def test_other_texts_are_no_fuzzy_numbers(text):
    with pytest.raises(InputError, match="a fuzzy number must"):
        Fuzzy.parse(text)


def test_the_quartic_has_one_positive_root_and_it_is_the_one_given(rng):
    p, q = 10.0 ** rng.uniform(-9.0, 9.0, 2)
    roots = np.roots([1.0, 0.0, 0.0, -p, -q])
    positive = [root.real for root in roots if abs(root.imag) < 1e-9 * abs(root) and root.real > 0]
    assert len(positive) == 1
    np.testing.assert_allclose(positive_root(p, q), positive[0], rtol=1e-9)
    np.testing.assert_allclose(positive_root(p, 0.0), p ** (1.0 / 3.0), **EXACT)
    np.testing.assert_allclose(positive_root(0.0, q), q**0.25, **EXACT)


@pytest.mark.parametrize("rho", [(0.0, 0.0, 0.0), (4.0, 1.0, 0.0)], ids=["linear", "layered"])
def test_no_other_gain_costs_less(rng, rho):
    law = ChenRobust(
        kappa=1.0, rate=5.0, rho=rho, epsilon=float(10.0 ** rng.uniform(-3, 0)), mismatch=0.3
    )
    top = float(rng.uniform(0.3, 1.0))
    found = fuzzy_gain(
        law,
        start=Fuzzy(0.0, 0.01, 0.02, float(rng.uniform(0.02, 0.1))),
        uncertainty=Fuzzy(0.0, 0.2, 0.2, top),
        horizon=float(rng.uniform(0.0, 20.0)),
        price=float(10.0 ** rng.uniform(-9, -3)),
    )
    # By another route: a minimisation over the logarithm, from a grid that finds every valley.
    grid = np.geomspace(1e-4, 1e6, 4001)
    costs = found.cost(grid)
    inside = np.flatnonzero((costs[1:-1] < costs[:-2]) & (costs[1:-1] < costs[2:])) + 1
    assert len(inside) == 1  # one valley
    low, high = np.log(grid[inside[0] - 1]), np.log(grid[inside[0] + 1])
    least = minimize_scalar(
        lambda x: found.cost(math.exp(x)), bounds=(low, high), options={"xatol": 1e-12}
    )
    np.testing.assert_allclose(found.kappa, math.exp(least.x), **MINIMISED)
    assert found.cost(found.kappa) <= least.fun * (1.0 + 1e-12)


def test_the_cost_is_the_average_of_the_integral_of_the_bound():
    law = ChenRobust(kappa=1.0, rate=5.0, rho=2.0, epsilon=0.02, mismatch=0.4)
    start, share = Fuzzy(0.0, 0.05, 0.05, 0.1), Fuzzy(0.0, 0.3, 0.3, 1.0)
    found = fuzzy_gain(law, start=start, uncertainty=share, horizon=3.0, price=1e-6)
    kappa, grip = 7.0, 0.6

    def averaged(number, function):
        ends = (number.low, number.high)
        top = quad(lambda x: function(x) * number.membership(x), *ends, points=[number.left])[0]
        return top / quad(number.membership, *ends, points=[number.left])[0]

    transient = averaged(
        start, lambda z: quad(lambda t: z * z * math.exp(-2 * grip * kappa * t), 0, np.inf)[0]
    )
    steady = 3.0 * averaged(share, lambda zeta: law.epsilon * zeta**2 / (4.0 * kappa))
    np.testing.assert_allclose(
        found.cost_terms(kappa), (transient, steady, 1e-6 * kappa**2), rtol=1e-8, atol=0.0
    )


@pytest.mark.parametrize(
    ("rho", "share"), [(math.sqrt(0.2), 0.6), (0.0, 1.8)], ids=["layered", "linear"]
)
def test_the_bound_that_is_averaged_holds_in_a_run_and_is_sharp(rho, share):
    """On one row that the uncertainty pushes outwards with all it has, integrated apart."""
    kappa, epsilon, grip, z0 = 4.0, 0.05, 1.0, 0.5
    from scipy.integrate import solve_ivp

    size = share * rho if rho else share

    def rate(_, z):
        layer = rho * rho / max(rho * abs(z[0]), epsilon) if rho else 0.0
        return [size * np.sign(z[0]) - (kappa + layer) * z[0]]

    time = np.linspace(0.0, 3.0, 301)
    run = solve_ivp(rate, (0.0, 3.0), [z0], t_eval=time, rtol=1e-9, atol=1e-12, max_step=0.01)
    if rho:
        bound = z0**2 * np.exp(-2 * grip * kappa * time) + epsilon * share**2 / (4 * kappa)
    else:
        bound = z0**2 * np.exp(-grip * kappa * time) + size**2 / (grip * kappa) ** 2
    ratio = run.y[0] ** 2 / bound
    assert ratio.max() <= 1.0 + 1e-9
    # In the end the layered error is 4 x / (1 + x)^2 of its bound, x = rho^2 / (epsilon kappa).
    assert ratio[-1] > 0.999


def test_a_law_with_the_optimal_gain_runs():
    scenario = Scenario.load(
        "scara-helix", {"controller.use": "servo-chen-robust", "timing.duration": 0.1}
    )
    law = scenario.controller.feedback
    found = fuzzy_gain(
        law,
        start=Fuzzy.parse("0:0.1:0.3"),
        uncertainty=Fuzzy.parse("0:0.3:1"),
        horizon=10.0,
        price=1e-6,
    )
    run = simulate(scenario.replace({"controller.feedback.kappa": found.kappa}))
    assert run.status == "completed"


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"price": 0.0}, "price must be positive; got 0"),
        ({"horizon": -1.0}, "horizon must be zero or above; got -1"),
        ({"start": Fuzzy(-1.0, 0.0, 0.0, 1.0)}, "start is a size and must not be negative"),
        ({"uncertainty": Fuzzy(0.0, 1.0, 1.0, 2.0)}, "uncertainty must be a share of rho, up to 1"),
        (
            {"start": Fuzzy.crisp(0.0), "uncertainty": Fuzzy.crisp(0.0)},
            "start or uncertainty must be above zero",
        ),
    ],
)
def test_what_has_no_best_gain_is_refused(change, says):
    law = ChenRobust(kappa=1.0, rate=5.0, rho=2.0, epsilon=0.02)
    given = {
        "start": Fuzzy.parse("0:0.1:0.2"),
        "uncertainty": Fuzzy.parse("0:0.3:1"),
        "horizon": 1.0,
        "price": 1e-4,
    }
    with pytest.raises(InputError) as refused:
        fuzzy_gain(law, **{**given, **change})
    assert says in str(refused.value)


def test_a_price_has_its_best_gain_and_the_parts_of_its_cost_in_a_line():
    gain = FuzzyGainCost(transient_weight=2.0, layer_weight=0.5, linear_weight=0.25, price=1.0)
    lines = gain.price_table([1.0, 1e-3])
    assert [line["price"] for line in lines] == [1.0, 1e-3]
    for line in lines:
        k, price = line["kappa"], line["price"]
        assert 4 * abs(k**4 - 2.5 / (2.0 * price) * k - 0.25 / price) < 1e-9 * k**4
        assert line["transient"] == pytest.approx(2.0 / k, rel=1e-12)
        assert line["steady"] == pytest.approx(0.5 / k + 0.25 / k**2, rel=1e-12)
        assert line["effort"] == pytest.approx(price * k**2, rel=1e-12)
        parts = line["transient"], line["steady"], line["effort"]
        assert line["cost"] == pytest.approx(sum(parts), rel=1e-12)
        assert dc.replace(gain, price=price).cost(k) == pytest.approx(sum(parts), rel=1e-12)
    curve = gain.gain_grid()
    assert (len(curve), curve[40]) == (81, pytest.approx(gain.kappa, rel=1e-12))
    np.testing.assert_allclose(curve[[0, -1]] / gain.kappa, [1e-2, 1e2], rtol=1e-12)
    np.testing.assert_allclose(curve[1:] / curve[:-1], 10.0**0.05, rtol=1e-12)
