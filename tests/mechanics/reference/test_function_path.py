"""A plain function of Python as a path: its derivatives beside those of formulas."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest

from ukctrl import Scenario, check, simulate
from ukctrl.core.errors import InputError
from ukctrl.mechanics.reference import Expression
from ukctrl.mechanics.reference.function_path import STEP, FunctionPath, TaylorNumber

TIMES = (-0.3, 0.0, 0.4, 1.7, 3.1)
FORMULAS = {
    "sin(3*t) + t**3": lambda t: np.sin(3 * t) + t**3,
    "2 - cos(t)*t/(1 + t**2)": lambda t: 2 - np.cos(t) * t / (1 + t**2),
    "exp(-t)*sqrt(2 + sin(t))": lambda t: np.exp(-t) * np.sqrt(2 + np.sin(t)),
    "tanh(2*t) + log(3 + t**2)": lambda t: np.tanh(2 * t) + np.log(3 + t**2),
    "1/(2 + t**2)**1.5 - t": lambda t: (2 + t**2) ** -1.5 - t,
    "sinh(t) - cosh(t/2) + tan(t/9)": lambda t: np.sinh(t) - np.cosh(t / 2) + np.tan(t / 9),
    "exp(t*log(2)) + t**4 - (-t)": lambda t: 2**t + t**4 - (-t),
    "exp(sin(t)*log(3 + t**2))": lambda t: (3 + t**2) ** np.sin(t),
}


@pytest.mark.parametrize("formula", FORMULAS)
def test_a_function_that_takes_power_series_has_the_derivatives_of_its_formula(formula):
    path, exact = FunctionPath(FORMULAS[formula]), Expression(components=[formula])
    assert path.exact
    assert path.smoothness == math.inf
    for t in TIMES:
        np.testing.assert_allclose(path(t), exact(t), rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(path.series(t, 6), exact.series(t, 6), rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("omega", [0.5, 5.0, 100.0])
def test_differences_are_as_right_as_is_said(omega):
    path = FunctionPath(lambda t: (math.sin(omega * t), 0.5))
    assert not path.exact
    for t in TIMES:
        wave = math.sin(omega * t), omega * math.cos(omega * t), -(omega**2) * math.sin(omega * t)
        left_out = (omega * STEP) ** 6 * omega**2 / 100.0
        for level, value, rounding in zip(path(t), wave, (0.0, 1e-12, 2e-9), strict=True):
            assert abs(level[0] - value) <= rounding * max(1.0, omega) + left_out
    assert "right to about 1e-9" in path.remark


def test_a_function_that_gives_numbers_alone_has_no_more_derivatives_than_two():
    path = FunctionPath(lambda t: [math.sin(t)])
    assert path.series(0.3, 2).shape == (3, 1)
    with pytest.raises(InputError, match="must give 3 derivatives; it gives two"):
        path.series(0.3, 3)


def test_branches_go_by_the_time_and_periods_by_the_rest():
    path = FunctionPath(lambda t: [t**2 if t < 1.0 else 2 * t - 1, abs(t - 0.5), (t % 2.0) ** 2])
    assert path.exact
    np.testing.assert_allclose(path(0.75), [[0.5625, 0.25, 0.5625], [1.5, 1, 1.5], [2, 0, 2]])
    np.testing.assert_allclose(path(2.25), [[3.5, 1.75, 0.0625], [2, 1, 0.5], [0, 0, 2]])


def test_a_power_series_is_no_plain_number_where_that_would_lose_its_derivatives():
    number = TaylorNumber(np.array([1.0, 1.0, 0.0]))
    for lossy in (float, math.sin, int, round):
        with pytest.raises(TypeError):
            lossy(number)
    with pytest.raises(TypeError):
        np.asarray(number, dtype=np.float64)
    assert number == 1.0
    assert 0.0 < number <= 1.0
    assert not number > 1.0


@pytest.mark.parametrize("way", ["a list", "an array", "a tuple", "a column"])
def test_what_it_returns_may_be_any_list_of_numbers(way):
    make = {"a list": list, "an array": np.array, "a tuple": tuple}.get(
        way, lambda x: np.reshape(x, (-1, 1))
    )
    path = FunctionPath(lambda t: make([np.cos(t), 1.0, t]))
    assert (path.size, path.exact) == (3, True)
    np.testing.assert_allclose(path(0.5).r_dot, [-math.sin(0.5), 0.0, 1.0])


def test_where_it_has_no_finite_value_it_says_so_with_the_time():
    path = FunctionPath(lambda t: [math.inf if t > 1.0 else t])
    with pytest.raises(ArithmeticError, match=r"no finite value at t = 2 s"):
        path(2.0)


def test_other_processes_get_it_and_compute_the_same():
    path = FunctionPath(lambda t: [np.sin(t)])
    sent = pickle.loads(pickle.dumps(path))
    np.testing.assert_array_equal(sent(0.7), path(0.7))
    assert path == FunctionPath(path.function)
    assert path != FunctionPath(lambda t: [np.sin(t)])


@pytest.mark.parametrize(
    ("number", "agreement"), [(np, 1e-10), (math, 1e-7)], ids=["exact", "differences"]
)
def test_a_run_along_it_is_that_along_its_formula_and_a_check_says_how(number, agreement):
    scenario = Scenario.load("scara-helix", {"timing.duration": 0.2})
    (name,) = [c.name or c.frame for c in scenario.servo if c.kind == "point_follows"]

    def helix(t):
        turn = 0.4 * math.pi * t
        return [0.05 * number.sin(turn), 0.35 + 0.05 * number.cos(turn), 0.02 * t]

    along = scenario.replace({f"servo.{name}.path": helix})
    run, peer = simulate(along), simulate(scenario)
    np.testing.assert_allclose(run["u"], peer["u"], rtol=0.0, atol=agreement)
    notes = [entry.text for entry in check(along).judgements if "function of Python" in entry.text]
    way = "exact, of a power series" if number is np else "central differences over 6 ms"
    assert len(notes) == 1
    assert f"its derivatives are {way}" in notes[0]
    assert not [e for e in check(scenario).judgements if "function of Python" in e.text]
