"""The parts that tell which rows integrate, by hand; and what is said of them, whole."""

from __future__ import annotations

import dataclasses as dc
import time
from fractions import Fraction
from importlib import import_module
from types import SimpleNamespace

import numpy as np
import pytest

from ukctrl import Robot, classify
from ukctrl.core.errors import InputError
from ukctrl.core.expression.constraint_rows import derive_rows
from ukctrl.mechanics.constraints import Expression, LinearVelocity, Stack
from ukctrl.mechanics.integrability import (
    POSITION_TOLERANCE,
    ContradictoryRow,
    DifferenceScheme,
    NoAdmissibleState,
    NumericRows,
    _extend,
    _pivots,
    growth_vector,
    positional_rows,
)
from ukctrl.mechanics.reference import Constant
from ukctrl.robot import Lagrangian
from ukctrl_papers.integrability.classify import (
    Integrability,
    RowIntegrability,
    classify_parts,
    gradient_turns,
)

CLOSE = {"rtol": 1e-10, "atol": 1e-10}
FIRST = DifferenceScheme(1e-4, (-1, 1), (-0.5, 0.5), 1e-6, 4)
NEVER = float("inf")


class Plane:
    """Rows of numbers ``[A(x) c(x)]`` over three coordinates and time."""

    def __init__(self, *rows, turned=None):
        self._rows, self._turned = rows, turned

    def rows(self, x):
        return np.array([row(*x) for row in self._rows], dtype=float).reshape(-1, 4)

    def retract(self, x, direction, h):
        return x + h * direction

    def constant_bracket(self, x, first, second):
        return None if self._turned is None else self._turned(first, second)


def grown(plane, scheme=FIRST, deadline=NEVER):
    return growth_vector(plane, range(len(plane._rows)), AT, scheme, deadline)


AT = np.array([0.3, 0.5, 0.7, 0.2])
HELD = (1, 0, 0, 1), (0, 1, 0, 0), (0, 0, 1, 2)
GROWTHS = {
    "free": ((), (4,), 0, None),
    "Heisenberg": ([lambda x, y, z, t: (-y, x, 1, 0)], (3, 4), 1, (0, 1)),
    "Martinet": ([lambda x, y, z, t: (-(y**2), 0, 1, 0)], (3, 4), 1, (0, 1)),
    "exact": ([lambda x, y, z, t: (y, x, 1, 0)], (3,), 1, None),
    "with time": ([lambda x, y, z, t: (0, 1, 0, x)], (3, 4), 1, (0, 3)),
    "two rows": (
        [lambda x, y, z, t: (1, 0, 0, 0), lambda x, y, z, t: (0, -z, 1, 0)], (2,), 2, None,
    ),
    "a row twice": (
        [lambda x, y, z, t: (0, 1, 0, 0), lambda x, y, z, t: (0, 2, 0, 0)], (3,), 1, None,
    ),
    "all": ([lambda *_, row=row: row for row in HELD], (1,), 3, None),
}  # fmt: skip


@pytest.mark.parametrize("case", GROWTHS)
def test_brackets_reach_what_they_reach_by_hand(case):
    rows, dims, rank, free = GROWTHS[case]
    found = grown(Plane(*rows))
    assert (found.dimensions, found.closed, found.rank) == (dims, True, rank)
    assert found.basis.shape == (4, dims[-1])
    np.testing.assert_allclose(found.basis.T @ found.basis, np.eye(dims[-1]), **CLOSE)
    assert (found.witness is None) == (free is None)
    if free is not None:
        assert found.witness[:2] == free


def test_the_witness_is_the_bracket_of_two_free_directions():
    """Of z' = y x' - x y': [d_x + y d_z, d_y - x d_z] = -2 d_z breaks the row by -2."""
    found = grown(Plane(lambda x, y, z, t: (-y, x, 1, 0)))
    np.testing.assert_allclose(found.rows @ found.witness[2], [-2.0], rtol=1e-6)
    assert found.violated_rows(1e-6).tolist() == [True]
    exact = grown(Plane(lambda x, y, z, t: (y, x, 1, 0)))
    assert exact.violated_rows(1e-6).tolist() == [False]


def test_velocities_that_turn_each_other_add_their_own_bracket():
    """Rotations about x and y, whose bracket is one about z."""

    def cross(a, b):
        return np.append(np.cross(a[:3], b[:3]), 0.0)

    still = Plane(lambda x, y, z, t: (0, 0, 1, 0))
    assert grown(still).dimensions == (3,)
    turning = Plane(lambda x, y, z, t: (0, 0, 1, 0), turned=cross)
    found = grown(turning)
    assert found.dimensions == (3, 4)
    np.testing.assert_allclose(found.rows @ found.witness[2], [1.0], rtol=1e-6)


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_brackets_end_where_differences_cannot_be_trusted(depth):
    """Engel's two rows need two brackets; here z' = y x', t stands for w."""
    engel = [lambda x, y, z, t: (-y, 0, 1, 0), lambda x, y, z, t: (-z * x, 1, 0, 0)]
    found = grown(Plane(*engel), FIRST._replace(depth=depth))
    assert len(found.dimensions) <= depth
    assert found.closed == (depth > len(found.dimensions) or found.dimensions[-1] == 4)


def test_brackets_end_when_the_time_is_up():
    space = Plane(lambda x, y, z, t: (-y, x, 1, 0))
    found = grown(space, deadline=time.thread_time() - 1.0)
    assert (found.dimensions, found.closed, found.witness) == ((3,), False, None)


def test_a_row_that_stops_the_time_is_named():
    space = Plane(lambda x, y, z, t: (1, 0, 0, 1), lambda x, y, z, t: (1, 0, 0, 2))
    with pytest.raises(ContradictoryRow) as caught:
        grown(space)
    assert caught.value.args == (1,)
    grown(Plane(lambda x, y, z, t: (0, 0, 0, 0.9e-6)))
    with pytest.raises(ContradictoryRow):
        grown(Plane(lambda x, y, z, t: (0, 0, 0, 1.1e-6)))


def test_independent_rows_are_chosen_by_their_largest_entries_and_never_by_time():
    rows = np.array([[1.0, 0.0, 2.0, 9.0], [0.0, 5.0, 0.0, 9.0], [2.0, 0.0, 4.0, 18.0]])
    assert _pivots(rows, 1e-9) == [(1, 1), (2, 2)]
    assert _pivots(np.zeros((0, 4)), 1e-9) == []
    assert _pivots(np.array([[1e-10, 0.0, 0.0]]), 1e-9) == []
    assert _pivots(np.array([[1e-8, 0.0, 0.0]]), 1e-9) == [(0, 0)]


@pytest.mark.parametrize("number", [Fraction, float])
def test_directions_are_exact_in_any_arithmetic(number):
    """Of 2 y' + 4 t' = 0 and 3 x' + y' + 5 t' = 0: (-1, -2, 0, 1), and z by itself."""
    rows = [[number(0), number(2), number(0), number(4)],
            [number(3), number(1), number(0), number(5)]]  # fmt: skip

    class Constants(Plane):
        def rows(self, x):
            return np.array(self._rows, dtype=object if number is Fraction else float)

    found = grown(Constants(*rows))
    assert (found.dimensions, found.closed, found.rank) == ((2,), True, 2)
    np.testing.assert_allclose(np.float64(found.rows @ found.basis), 0.0, atol=1e-15)
    np.testing.assert_allclose(np.float64(found.basis[3, 1] ** 2), 1 / 6, **CLOSE)


def test_a_span_takes_what_is_new():
    span = []
    assert _extend(span, np.array([3.0, 4.0, 0.0]), 1e-6)
    assert not _extend(span, np.array([-6.0, -8.0, 1e-6]), 1e-6)  # beside 1 + 10 it is rounding
    assert _extend(span, np.array([-6.0, -8.0, 1e-4]), 1e-6)
    assert _extend(span, np.array([0.0, 1.0, 0.0]), 1e-6)
    assert (len(span), _extend(span, np.array([1.0, 1.0, 1.0]), 1e-6)) == (3, False)
    np.testing.assert_allclose(np.abs(span[0]), [0.6, 0.8, 0.0], **CLOSE)
    np.testing.assert_allclose(np.array(span) @ np.array(span).T, np.eye(3), **CLOSE)


# rows in floating point


def particle():
    return Robot.build(
        Lagrangian(coordinates=dict.fromkeys("xyz", "m"), kinetic="v.x**2 + v.y**2 + v.z**2")
    )


def attached(robot, *constraints):
    return Stack(constraints, robot).attached


def test_a_sampled_space_has_the_rows_with_time_at_their_end():
    robot = particle()
    slow = LinearVelocity(coefficients={"x": 2.0, "z": 1.0}, path=Constant(value=(0.3,)))
    mixed = Expression(psi="x*v.y + t")
    curve = Expression(psi="v.x**2 - 1", name="curve")
    space = NumericRows(attached(robot, slow, mixed, curve), robot)
    assert space.linear == [True, True, False]
    q = np.array([0.4, 0.5, 0.6])
    np.testing.assert_allclose(
        space.rows((q, 0.7))[:2], [[2.0, 0.0, 1.0, -0.3], [0.0, 0.4, 0.0, 0.7]], **CLOSE
    )
    ahead, t = space.retract((q, 0.7), np.array([1.0, 2.0, 3.0, 4.0]), 0.1)
    np.testing.assert_allclose([*ahead, t], [0.5, 0.7, 0.9, 1.1], **CLOSE)
    assert space.constant_bracket((q, 0.7), np.ones(4), np.ones(4)) is None


@pytest.mark.parametrize("unit", [1e-3, 1.0, 1e6, 1e9])
def test_rounding_does_not_bend_a_row_that_is_linear_in_whatever_unit(unit):
    """Nor does a unit make a bent one straight; (v + c)^3 - v^3 - 3 c v^2 = 3 c^2 v + c^3."""
    robot = particle()
    cubes = [f"(v.x + {c})**3 - v.x**3 - 3*{c}*v.x**2" for c in (0.3, 0.7, 1.1)]
    texts = *(f"{one} + v.y" for one in cubes), "0.3*v.x + 0.7*v.y**2 - 1"
    rows = [Expression(psi=f"{unit}*({text})") for text in texts]
    assert NumericRows(attached(robot, *rows), robot).linear == [True, True, True, False]


def test_states_are_drawn_where_position_rows_are_met():
    robot = particle()
    ball = Expression(phi="x**2 + y**2 + z**2 - (1 + t)**2", name="ball")
    space, rng = NumericRows(attached(robot, ball), robot), np.random.default_rng(1)
    for t in (0.0, 0.5):
        q = space.configuration(rng, t)
        assert abs(q @ q - (1.0 + t) ** 2) <= 10.0 * POSITION_TOLERANCE
    assert NumericRows((), robot).configuration(rng, 0.0).shape == (3,)
    never = NumericRows(attached(robot, Expression(phi="x**2 + 1"), Expression(psi="v.y")), robot)
    with pytest.raises(ValueError, match="the position rows are not met from here"):
        never.configuration(rng, 0.0)
    with pytest.raises(NoAdmissibleState):
        never.draw(rng)


def test_rows_that_integrate_given_the_others_hold_positions():
    robot = particle()
    still = Expression(psi="v.x", name="still")
    area = Expression(psi="x*v.y - y*v.z", name="area")
    curve = Expression(psi="v.x**2 + v.y**2 - 1", name="curve")
    level = Expression(phi="z - 1", name="level")
    assert positional_rows(attached(robot, level, still), robot).tolist() == [True, True]
    assert positional_rows(attached(robot, still, area), robot).tolist() == [True, True]
    assert positional_rows(attached(robot, area), robot).tolist() == [False]
    assert positional_rows(attached(robot, level, curve), robot).tolist() == [True, False]
    assert positional_rows(attached(robot, level), robot).tolist() == [True]
    clash = Expression(psi="v.x - 1", name="clash")
    assert positional_rows(attached(robot, still, clash), robot).tolist() == [False, False]


def rows_of(text, names="xy"):
    names = tuple(names)
    rates = tuple(f"v.{name}" for name in names)
    return derive_rows([text], form="nonholonomic", coordinates=names, dofs=names, rates=rates)


@pytest.mark.parametrize(
    ("text", "turns"),
    [
        ("v.x**2 + v.y**2 - 1", True), ("v.x*v.y - x", True), ("(v.x + v.y)**2 - 1", None),
        ("v.x**2 + v.y**2 + 1", None), ("sqrt(-1 - v.x**2) + v.y", None),
    ],
)  # fmt: skip
def test_a_row_is_curved_where_its_gradient_turns(text, turns):
    assert gradient_turns(rows_of(text), 0, (2, 2), None) is turns


# what is said

PLAIN = Integrability(
    kind="nonholonomic", rank=2, integrable=0, nonholonomic=2, growth=(3, 4, 5), rows=(),
    evidence="digits",
)  # fmt: skip
COUNTED = "2 of 2 independent velocity and passive rows cannot be integrated (directions "
SAID = {
    "some": ({}, f"{COUNTED}3 -> 4 -> 5, degree 3)"),
    "some, by numbers": (
        {"evidence": "floating point"}, f"{COUNTED}3 -> 4 -> 5, degree 3); numerical evidence",
    ),
    "none": (
        {"kind": "holonomic", "growth": (3,)}, "they integrate to position constraints",
    ),
    "by counting": (
        {"kind": "holonomic", "growth": (0,)},
        "they fix every velocity, and so integrate by counting",
    ),
    "open": ({"kind": "undecided", "reason": "the time ran out"}, "undecided: the time ran out"),
}  # fmt: skip


@pytest.mark.parametrize("case", SAID)
def test_what_integrates_is_said_whole(case):
    changes, sentence = SAID[case]
    assert dc.replace(PLAIN, **changes).sentence() == sentence


def test_why_rows_do_not_integrate_is_said_whole():
    """Of z' = x y'/2, [d_x, d_y + x/2 d_z] = d_z/2, wherever it is evaluated."""
    found = classify(["d.z - 0.5*x*d.y"], ["x", "y", "z"], closed_form=False)
    assert found.witness == (
        "[x, y]: the bracket of the directions with these two free breaks 'd.z - 0.5*x*d.y' by 0.5"
    )
    assert (found.reason, found.degree) == ("", 2)


def test_rows_that_are_not_linear_are_counted_by_what_is_known_of_them():
    both = classify(["v.x**2 + v.y**2 - 1", "v.z - x"], ["x", "y", "z"], closed_form=False)
    assert [(row.kind, row.alone) for row in both.rows] == [
        ("nonholonomic", "nonholonomic"), ("nonholonomic", "nonholonomic"),
    ]  # fmt: skip
    assert (both.kind, both.rank, both.nonholonomic) == ("nonholonomic", 2, 2)
    partly = classify(["v.x**2 + v.y**2 - 1", "v.z"], ["x", "y", "z"], closed_form=False)
    assert (partly.kind, partly.rank, partly.integrable, partly.nonholonomic) == ("partly", 2, 1, 1)
    assert partly.witness == "'v.x**2 + v.y**2 - 1' is curved in the velocities"
    bent = classify(["v.x**2 + v.y"], ["x", "y"], closed_form=False)  # linear in one of the two
    assert (bent.kind, bent.witness) == (
        "nonholonomic", "'v.x**2 + v.y' is curved in the velocities",
    )  # fmt: skip
    unknown = classify(["v.x**2 + v.y**2 + 1", "v.z"], ["x", "y", "z"], closed_form=False)
    assert unknown.sentence() == (
        "undecided: 'v.x**2 + v.y**2 + 1' is not linear in the velocities, and no state shows what "
        "it allows"
    )
    assert unknown.rows[0] == RowIntegrability(
        name="v.x**2 + v.y**2 + 1", kind="undecided", alone="undecided"
    )


REFUSED = {
    "nothing": (([], ["x"]), "classify needs at least one constraint and one coordinate."),
    "no coordinate": ((["d.x"], []), "classify needs at least one constraint and one coordinate."),
    "a name twice": (
        (["d.x"], ["x", "y", "x"]),
        "coordinates must have names of their own, and 't' is the time; got 'x' twice.",
    ),
    "the time": (
        (["d.x"], ["x", "t"]),
        "coordinates must have names of their own, and 't' is the time; got 't' twice.",
    ),
    "no state": (
        (["log(-1 - x**2)*d.x + d.y"], ["x", "y"]),
        "the constraints have no finite real value at any state tried; check the domains of log, "
        "sqrt, asin and acos, and divisions.",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_classified_is_refused_whole(case):
    given, sentence = REFUSED[case]
    with pytest.raises(InputError) as caught:
        classify(*given)
    assert str(caught.value) == sentence


def test_parts_of_a_robot_are_classified_with_their_own_names():
    robot = particle()
    found = classify_parts(attached(robot, Expression(psi="v.x", name="still")), robot)
    assert [(row.name, row.kind) for row in found.rows] == [("still", "holonomic")]
    assert found.evidence == "digits"
    path = Constant(value=(0.2,))
    plain = LinearVelocity(coefficients={"x": 1.0}, path=path, name="slow")
    by_numbers = classify_parts(attached(robot, plain), robot)
    assert (by_numbers.evidence, by_numbers.rows[0].kind) == ("floating point", "holonomic")
    level = Expression(phi="x - 1")
    assert classify_parts(attached(robot, level), robot) is None


@pytest.mark.parametrize(
    ("reached", "best", "asked"),
    [([1, 3, 2], 1, 2), ([1, 2, 1], 1, 3), ([None, 1, 2], 2, 3), ([None, 3, None], 1, 2)],
)
def test_states_are_drawn_until_one_reaches_everything(monkeypatch, reached, best, asked):
    """Of three velocities; None stands for a state at which no velocity meets the rows."""
    drawn = []

    def growth(space, chosen, state, scheme, deadline):
        drawn.append(state)
        dim = reached[state]
        if dim is None:
            raise ContradictoryRow("none")
        return SimpleNamespace(
            rank=1, dimensions=[1, dim], closed=True, basis=range(3), state=state
        )

    module = import_module("ukctrl_papers.integrability.classify")
    monkeypatch.setattr(module, "growth_vector", growth)
    states = iter(range(3))
    space = SimpleNamespace(draw=lambda rng: next(states))
    assert module._generic_growth(space, [0], 3, None, 0.0).state == best
    assert drawn == list(range(asked))
