"""A share of `make truth`: random systems beside fifty digits."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import numpy as np
import pytest

HERE = str(Path(__file__).resolve().parent)
SHORT, LONG = 36, 600


@pytest.fixture(scope="module")
def truth():
    """The script, which is no package."""
    sys.path.insert(0, HERE)
    try:
        yield importlib.import_module("truth")
    finally:
        sys.path.remove(HERE)
        for name in ("truth", "exact", "systems"):
            sys.modules.pop(name, None)


def judged(truth, count, seed):
    verdicts = [truth.judge(number, seed) for number in range(count)]
    lines = truth.report(verdicts)
    assert not [one for one in verdicts if one.faults], "\n".join(lines)
    return verdicts, lines


def test_random_systems_move_as_fifty_digits_say(truth):
    verdicts, lines = judged(truth, SHORT, seed=2026)
    assert lines[-1] == "0 disagreements:"
    compared = {name for one in verdicts for name in one.errors}
    assert compared == {
        f"{what}{by}" for what in ("acceleration", "reaction", "least norm") for by in ("", " (uk)")
    } | {"multipliers"}


@pytest.mark.slow
def test_more_random_systems_do(truth):
    judged(truth, LONG, seed=2027)


def test_the_dense_solution_itself_is_right(truth):
    """A pendulum on a rail, held level by two rows of which one says nothing new."""
    M, Q, B = np.diag([2.0, 1.0]), np.array([3.0, -1.0]), np.eye(2)
    A, b = np.array([[1.0, 1.0], [2.0, 2.0]]), np.array([1.0, 2.0])
    exact = truth.Exact(M, Q, B, (A, b), 1)
    a, reaction, lam = exact.motion(np.zeros(2))
    # 2 a1 = 3 + l, a2 = -1 + l, a1 + a2 = 1: l = 1/3
    np.testing.assert_allclose(a, [5.0 / 3.0, -2.0 / 3.0], rtol=1e-15)
    np.testing.assert_allclose(reaction, [1.0 / 3.0, 1.0 / 3.0], rtol=1e-15)
    np.testing.assert_allclose(lam, [1.0 / 15.0, 2.0 / 15.0], rtol=1e-15)
    u = exact.least_input(
        np.array([[1.0, 0.0]]), np.array([2.0]), np.array([1.0, 3.0]), np.zeros(2)
    )
    # a1 = 5/3 + (u1 - u2)/3, so u1 - u2 = 1 with the least u1^2 + 3 u2^2
    np.testing.assert_allclose(u, [0.75, -0.25], rtol=1e-15)


def test_a_wrong_acceleration_is_found(truth, monkeypatch):
    """The judge sees an error of a millionth, and a rank that is one too low."""
    dynamics = type(truth.draw(2, 2026).dynamics)
    right = dynamics.acceleration
    monkeypatch.setattr(dynamics, "acceleration", lambda self, u: right(self, u) * (1.0 + 1e-6))
    assert any("acceleration is off" in text for text in truth.judge(2, 2026).faults)
