"""The motion on the states that keep the rows, and a little beside it, of systems with formulas."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from ukctrl import Robot
from ukctrl.analysis.internal_dynamics import internal_motion as lib
from ukctrl.analysis.internal_dynamics.exact_tracking import InternalCoordinates
from ukctrl.analysis.internal_dynamics.local_dynamics import (
    OutputNullingSpace,
    _dominant_coordinate,
    _pivot_states,
)
from ukctrl.core.errors import InputError

ARM, FREE = Robot.load("two_link"), Robot.load("floating_arm")
BEGIN = 2.0
CLOSE = {"rtol": 0.0, "atol": 1e-7}
"""A relative error of 1e-8 is asked for at every step of some dozens."""
Q, V = np.array([0.3, -0.2]), np.array([0.1, 0.4])


def held(acceleration, robot=ARM, project=None):
    """Return rows that hold whatever an acceleration is given."""
    return SimpleNamespace(
        robot=robot,
        scenario=SimpleNamespace(start=SimpleNamespace(t=BEGIN)),
        acceleration=lambda t, q, v: acceleration(t, q, v),
        project=project or (lambda q, v, t: SimpleNamespace(q=q, v=v)),
    )


def pendulum(t, q, v):
    return -4.0 * q


def swing(t):
    turn = 2.0 * (t - BEGIN)[:, None]
    return Q * np.cos(turn) + 0.5 * V * np.sin(turn), V * np.cos(turn) - 2.0 * Q * np.sin(turn)


def test_states_are_those_of_the_closed_form_at_the_times_that_are_asked_for():
    t = BEGIN + np.array([0.0, 0.01, 0.02, 0.9, 2.5])
    states, reason = lib.integrate(held(pendulum), Q, V, t)
    assert reason == ""
    np.testing.assert_allclose(states, np.hstack(swing(t)), **CLOSE)


def test_a_free_body_turns_as_its_constant_twist_integrates():
    rng = np.random.default_rng(0)
    q, v = FREE.random(rng), rng.standard_normal(FREE.nv)
    t = np.linspace(BEGIN, BEGIN + 1.0, 6)
    states, reason = lib.integrate(held(lambda t, q, v: np.zeros(len(v)), FREE), q, v, t)
    assert reason == ""
    for at, state in zip(t, states, strict=True):
        off = FREE.difference(FREE.integrate(q, v * (at - BEGIN)), state[: FREE.nq])
        np.testing.assert_allclose(off, 0.0, **CLOSE)
        np.testing.assert_array_equal(state[: FREE.nq], FREE.normalize(state[: FREE.nq]))
        np.testing.assert_allclose(state[FREE.nq :], v, **CLOSE)


def test_a_motion_that_runs_away_ends_there():
    t = np.linspace(BEGIN, BEGIN + 4.0, 41)
    states, reason = lib.integrate(held(lambda t, q, v: 100.0 * q), Q, V, t)
    assert reason.startswith("it has run away at t = ")
    ended = float(reason.split()[-2])
    # q = 0.17 exp(10 t): its rate is 1e4 after 0.88 s
    assert 2.8 < ended < 3.3
    assert len(states) == np.count_nonzero(t <= ended)
    assert np.abs(states[:-1, 2:]).max() < 1e4


def test_an_error_on_the_way_ends_a_motion_behind_the_last_moment_that_is_known():
    def until(t, q, v):
        if t > BEGIN + 1.0:
            raise InputError("there is no more.")
        return pendulum(t, q, v)

    t = np.linspace(BEGIN, BEGIN + 4.0, 41)
    states, reason = lib.integrate(held(until), Q, V, t)
    last = t[len(states) - 1]
    assert reason == f"after t = {last:.4g} s: there is no more."
    assert BEGIN + 0.7 < last <= BEGIN + 1.0  # it steps by no more than a twentieth
    np.testing.assert_allclose(states, np.hstack(swing(t[: len(states)])), **CLOSE)


def test_a_motion_that_costs_too_much_is_broken_off(monkeypatch):
    monkeypatch.setattr(lib, "MAX_EVALUATIONS", 50)
    states, reason = lib.integrate(held(pendulum), Q, V, np.linspace(BEGIN, BEGIN + 4.0, 41))
    assert reason.startswith("it was broken off at t = ")
    assert reason.endswith(" s, for its cost")
    assert 1 < len(states) < 41


def test_steps_are_no_longer_than_a_twentieth_of_the_time():
    seen = []

    def still(t, q, v):
        seen.append(t)
        return np.zeros(2)

    lib.integrate(held(still), Q, np.zeros(2), np.array([BEGIN, BEGIN + 2.0]))
    assert np.diff(np.unique(seen)).max() <= 0.1 + 1e-12


# Beside the motion


BOTH = InternalCoordinates(np.array([1]), np.array([1]), np.eye(4)[:, [1, 3]])
"""The second joint is internal."""


def test_a_motion_beside_begins_a_push_away_along_every_internal_coordinate():
    asked = []

    def nearest(q, v, t):
        asked.append((q - Q, v - V, t))
        return SimpleNamespace(q=q, v=v)

    found = lib.internal_motion(held(pendulum, project=nearest), Q, V, BOTH, 3.0)
    ((at, rate, t),) = asked
    np.testing.assert_allclose(at, [0.0, 1e-4], rtol=0.0, atol=1e-15)
    np.testing.assert_allclose(rate, [0.0, 1e-4], rtol=0.0, atol=1e-15)
    assert t == BEGIN
    np.testing.assert_allclose(found.times, np.linspace(BEGIN, BEGIN + 3.0, 201), rtol=1e-15)
    places, rates = swing(found.times)
    np.testing.assert_allclose(found.q, places, **CLOSE)
    np.testing.assert_allclose(found.v, rates, **CLOSE)
    assert (found.coordinates, found.units, found.ended) == (("elbow",), ("rad",), "")
    np.testing.assert_allclose(found.moved[:, 0], places[:, 1] - Q[1], **CLOSE)
    turn = 2.0 * (found.times - BEGIN)
    away = 1e-4 * (np.cos(turn) + 0.5 * np.sin(turn))
    np.testing.assert_allclose(found.pushed - found.moved, away[:, None], rtol=0.0, atol=1e-8)
    np.testing.assert_allclose(found.deviation, np.abs(away) / 1e-4, rtol=0.0, atol=1e-3)
    assert found.factor == found.deviation[-1]
    assert found.fate == "stays"


def test_without_internal_positions_deviations_are_those_of_rates():
    rates = InternalCoordinates(np.zeros(0, dtype=int), np.array([0]), np.eye(4)[:, [2]])
    found = lib.internal_motion(held(lambda t, q, v: -v), Q, V, rates, 1.0)
    np.testing.assert_allclose(found.deviation, np.exp(BEGIN - found.times), rtol=0.0, atol=1e-3)
    assert (found.coordinates, found.moved.shape) == ((), (201, 0))
    assert found.largest_displacement() == ("", 0.0, "")
    nowhere = found.__class__(**{**vars(found), "deviation": np.zeros(0)})
    assert np.isnan(nowhere.factor)


def test_where_nothing_is_internal_only_the_motion_itself_is_followed():
    none = InternalCoordinates(np.zeros(0, dtype=int), np.zeros(0, dtype=int), np.zeros((4, 0)))
    found = lib.internal_motion(held(pendulum, project=None), Q, V, none, 1.0)
    assert (len(found.times), found.fate, found.rate, found.ended) == (201, "stays", 0.0, "")
    np.testing.assert_allclose(found.q, swing(found.times)[0], **CLOSE)


def test_a_motion_beside_that_cannot_begin_is_told():
    def nearest(q, v, t):
        raise InputError("the rows are out of reach.")

    found = lib.internal_motion(held(pendulum, project=nearest), Q, V, BOTH, 1.0)
    assert (found.fate, found.ended, len(found.times)) == ("ended", "the rows are out of reach.", 0)


def test_turns_are_counted_from_moment_to_moment():
    states = np.hstack([np.linspace(0.0, 20.0, 21)[:, None] * [1.0, -0.5], np.zeros((21, 2))])
    np.testing.assert_allclose(lib._displacements(held(pendulum), states), states[:, :2], **CLOSE)
    t = np.linspace(BEGIN, BEGIN + 20.0, 41)
    v = np.zeros(FREE.nv)
    v[FREE.dofs.index(FREE.dofs[-1])] = 1.0
    states = np.array([np.r_[FREE.integrate(FREE.neutral, v * (at - BEGIN)), v] for at in t])
    moved = lib._displacements(held(pendulum, FREE), states)
    np.testing.assert_allclose(moved, np.outer(t - BEGIN, v), **CLOSE)


@pytest.mark.parametrize("count", [9, 41, 43, 201])
@pytest.mark.parametrize(("rate", "fate"), [(0.7, "runs_away"), (-0.7, "settles"), (0.0, "stays")])
def test_the_rate_of_a_deviation_is_that_of_its_exponential(count, rate, fate):
    t = np.linspace(1.0, 5.0, count)
    found = lib.classify_growth(t, np.exp(rate * t))
    assert found[0] == fate
    assert found[1] == pytest.approx(rate, rel=1e-9)


@pytest.mark.parametrize("count", range(1, 13))
def test_however_soon_a_motion_ends_one_that_runs_away_is_never_said_to_stay(count, monkeypatch):
    """The deviation doubles from moment to moment; a few moments are too few to tell."""

    def follow(held, q, v, times):
        grown = 2.0 ** np.arange(count)
        return np.outer(grown, np.concatenate([q, v])), "it has run away."

    monkeypatch.setattr(lib, "integrate", follow)
    found = lib.internal_motion(held(pendulum), np.zeros(2), np.zeros(2), BOTH, 3.0)
    np.testing.assert_allclose(found.deviation, 2.0 ** np.arange(count), rtol=1e-12)
    assert found.ended == "it has run away."
    assert found.fate in {"ended", "runs_away"}


# What tells of a mode


def test_what_moves_most_is_told_by_mass_times_motion_and_a_rate_where_nothing_else_moves():
    plain = SimpleNamespace(
        nv=2, dofs=("a", "b"), snapshot=lambda q: SimpleNamespace(M=np.diag([1.0, 16.0]))
    )

    def most(*x):
        return _dominant_coordinate(SimpleNamespace(robot=plain), Q, np.array(x)[:, None] + 0j)

    assert most(3.0, 1.0, 0.0, 0.0) == "b"
    assert most(5.0, 1.0, 0.0, 9.0) == "a"
    assert most(0.0, 0.0, 3.0, 0.5) == "a"
    assert most(0.0, 0.0, 3.0, 1.0) == "b"
    assert most(1e-10, 0.0, 0.0, 1.0) == "b"  # places that rounding moves
    assert most(1e-8, 0.0, 0.0, 1.0) == "a"
    assert most(0.0, 0.0, 0.0, 0.0) == ""
    assert (
        _dominant_coordinate(SimpleNamespace(robot=plain), Q, np.zeros((4, 0), dtype=complex)) == ""
    )


@pytest.mark.parametrize(
    ("V", "told"),
    [
        ([[1.0], [0.0], [5.0], [0.0]], ("x",)),  # a position stands for its rate
        ([[1e-4], [0.0], [5.0], [0.0]], ("v.x",)),
        ([[0.0], [0.0], [0.0], [1.0]], ("v.y",)),
        ([[1.0], [1.0], [0.0], [0.0]], ("x",)),  # the first of equals
        ([[1.0, 0.0], [0.0, 0.0], [0.0, 0.0], [0.0, 1.0]], ("x", "v.y")),
        ([[0.0, 1.0], [1.0, 0.0], [9.0, 9.0], [9.0, 0.0]], ("x", "y")),
    ],
)
def test_states_that_tell_of_what_outputs_do_not_see(V, told):
    linear = SimpleNamespace(positions=("x", "y"), states=("x", "y", "v.x", "v.y"))
    assert _pivot_states(linear, OutputNullingSpace(np.array(V), 0, np.zeros((0, 0)))) == told
