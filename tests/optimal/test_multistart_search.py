"""The search for motions apart from its solver: ways tried, points added, refusals."""

from __future__ import annotations

import itertools
from types import SimpleNamespace

import numpy as np
import pytest

from ukctrl.core.errors import InputError, StartError
from ukctrl_optimal import multistart_search as lib
from ukctrl_optimal.decision_variables import MotionProblem
from ukctrl_optimal.initial_guesses import (
    _displacement,
    _rest_to_rest_guess,
    _within_limits,
    random_guesses,
    straight_guess,
)
from ukctrl_optimal.interior_point import STATUS_MESSAGES, OptimisationFailed
from ukctrl_optimal.path_constraint_grid import (
    ConstraintViolation,
    GridSelection,
    GridSlack,
    PathConstraintGrid,
    _cubic_minima,
)
from ukctrl_optimal.path_inequalities import TrajectoryPoint

# Which ways are tried


class Costs:
    """A program whose optimum near way ``k`` costs what it is told, or is none."""

    def __init__(self, *costs):
        self.costs, self.path_constraints = costs, SimpleNamespace(violations=lambda *given: ())
        self.tried = []

    def cost(self, z):
        return float(z)

    def grid_slack(self, z):
        return SimpleNamespace(cubic_minima=None, times=np.zeros((1, 1)))

    def near(self, program, guess):
        self.tried.append(guess)
        cost = self.costs[guess]
        if cost is None:
            raise OptimisationFailed(f"Verdict_{guess}", self, guess, 100)
        return lib.LocalOptimum(self, cost, 10, ())


@pytest.fixture
def best(monkeypatch):
    """Return the best of ways whose optima cost so much, and which were tried."""

    def asked(*costs, starts=None, in_the_way=False):
        program = Costs(*costs)
        monkeypatch.setattr(lib, "_require_feasible_ends", lambda *given: None)
        monkeypatch.setattr(lib, "_straight_guess_violates", lambda *given: in_the_way)
        monkeypatch.setattr(lib, "random_guesses", lambda *given: itertools.count(1))
        monkeypatch.setattr(lib, "_refined_optimum", program.near)
        return lib.best_optimum(program, 0, starts, 0), program.tried

    return asked


def test_the_straight_way_is_enough_where_it_leads_to_a_motion(best):
    found, tried = best(3.0, 1.0)
    assert (found.cost, found.guess, found.iterations, tried) == (3.0, 0, 10, [0])
    found, tried = best(3.0, 1.0, in_the_way=True)
    assert (found.guess, tried) == (0, [0])


def test_four_bent_ways_are_tried_where_something_is_in_the_way_of_the_straight_one(best):
    found, tried = best(None, None, 2.0, 1.0, in_the_way=True)
    assert (found.cost, found.guess, found.iterations, tried) == (2.0, 2, 210, [0, 1, 2])
    found, tried = best(None, None, None, None, 5.0, 1.0, in_the_way=True)
    assert (found.guess, tried) == (4, [0, 1, 2, 3, 4])
    with pytest.raises(InputError, match=r"which says Verdict_0\."):
        best(*[None] * 5, 1.0, in_the_way=True)
    with pytest.raises(InputError, match=r"which says Verdict_0\."):
        best(None, 1.0)


def test_of_as_many_ways_as_were_asked_for_the_best_is_taken_the_first_of_equals(best):
    found, tried = best(3.0, None, 1.0, 1.0, 0.5, starts=4)
    assert (found.cost, found.guess, found.iterations, tried) == (1.0, 2, 130, [0, 1, 2, 3])
    found, tried = best(3.0, 1.0, starts=1)
    assert (found.guess, tried) == (0, [0])


@pytest.mark.parametrize("verdict", [*STATUS_MESSAGES, "Surprise"])
def test_each_verdict_of_the_solver_says_what_to_do(verdict):
    error = OptimisationFailed(verdict, None, np.zeros(1), 7)
    assert str(error) == STATUS_MESSAGES.get(
        verdict, "must be found by the solver, which says Surprise."
    )
    assert error.iterations == 7


def test_sentences_of_the_solver():
    assert STATUS_MESSAGES["Maximum_Iterations_Exceeded"] == (
        "must be found within 500 iterations of the solver. Try other steps; of least time, give a "
        "duration to begin with."
    )
    assert STATUS_MESSAGES["Restoration_Failed"] is STATUS_MESSAGES["Infeasible_Problem_Detected"]
    assert STATUS_MESSAGES["Restoration_Failed"] == (
        "must be a motion within all limits; the solver finds none near the straight way. Give it "
        "more duration, or a pose that the robot can reach and rest in."
    )
    assert STATUS_MESSAGES["Invalid_Number_Detected"] == (
        "must stay where the passive rows can be kept and all that is kept has a value; the search "
        "left that. Name other joints, or a pose that is nearer, or more starts."
    )


# Points that are added


class Crossed:
    """A program that crosses something by less and less, the more points it has."""

    def __init__(self, beyond, fails_at=None):
        self.beyond, self.fails_at, self.points = beyond, fails_at, 0
        self.path_constraints = SimpleNamespace(refinement=self.refinement, violations=self.crossed)

    @property
    def now(self):
        return self.beyond[min(self.points, len(self.beyond) - 1)]

    def reset_continuation(self):
        self.points = 0

    def grid_slack(self, z):
        return SimpleNamespace(cubic_minima=np.array([-self.now]), times=np.zeros((1, 2)))

    def refinement(self, left):
        return "more" if self.now > 1e-9 else None

    def crossed(self, between, times, but):
        assert but == 1e-6
        return (ConstraintViolation("wall", self.now, "m", 0.5),) if self.now > but else ()

    def with_grid(self, z, closer):
        assert closer == "more"
        self.points += 1
        return self, z


@pytest.fixture
def near(monkeypatch):
    def asked(*beyond, fails_at=None):
        program, closes = Crossed(beyond), []

        def solved(program, guess, *, close=False):
            closes.append(close)
            if program.points == fails_at:
                raise OptimisationFailed("Restoration_Failed", program, guess, 1000)
            return guess, 10

        monkeypatch.setattr(lib, "solve_program", solved)
        return lib._refined_optimum(program, np.zeros(1)), program, closes

    return asked


def test_points_are_added_until_nothing_is_crossed(near):
    found, program, closes = near(0.5, 0.1, 0.01, 0.0)
    assert (found.violations, found.iterations, program.points) == ((), 40, 3)
    assert closes == [False, True, True, True]


def test_what_shrinks_too_slowly_is_not_looked_at_for_ever(near):
    found, program, _ = near(1e-3, 0.9e-3, 0.8e-3, 0.7e-3, 0.0)
    assert program.points == 2  # twice it left more than four fifths
    assert found.violations == (ConstraintViolation("wall", 0.8e-3, "m", 0.5),)
    found, program, _ = near(*(1e-3 * 0.75 ** np.arange(30.0)))
    assert program.points == lib.MAX_REFINEMENTS
    assert found.iterations == 10 * (lib.MAX_REFINEMENTS + 1)


def test_a_crossing_between_points_that_stays_is_no_motion(near):
    with pytest.raises(OptimisationFailed, match="Kept_Only_At_Points") as caught:
        near(1.0, 0.9, 0.85, 0.8)
    assert caught.value.iterations == 30
    found, _, _ = near(1e-3, 1e-3, 1e-3)
    assert [one.excess for one in found.violations] == [1e-3]
    with pytest.raises(OptimisationFailed):
        near(1.1e-3, 1.1e-3, 1.1e-3)


def test_a_search_with_more_points_that_fails_leaves_what_was_found_before(near):
    found, program, _ = near(5e-4, 1e-4, 0.0, fails_at=2)
    assert (found.iterations, program.points) == (1020, 2)


def test_where_to_look_closer():
    """At the least crossed point of the grid with both neighbours; or between two points."""
    own = SimpleNamespace(selection=GridSelection(np.zeros((2, 5), dtype=bool), np.zeros((2, 1))))
    own.selection.flags[:, 0] = True

    def closer(h, between):
        left = GridSlack(np.array(h)[..., None], np.array(between)[..., None], np.zeros((2, 5)))
        return PathConstraintGrid.refinement(own, left)

    fine, inside = [1.0] * 5, [1.0] * 4
    assert closer([fine, fine], [inside, inside]) is None
    assert closer([[1.0, -0.9e-9, 1.0, 1.0, 1.0], fine], [inside, inside]) is None
    found = closer([fine, [1.0, 0.5, -0.2, -0.1, 1.0]], [inside, [0.4, -0.3, -0.3, -0.2]])
    np.testing.assert_array_equal(found.flags, [[1, 0, 0, 0, 0], [1, 1, 1, 1, 0]])
    np.testing.assert_array_equal(found.margin, [[0.0], [0.0]])
    found = closer([fine, fine], [[0.5, 0.1, -0.01, -0.001], inside])
    np.testing.assert_array_equal(found.flags, [[1, 0, 1, 1, 0], [1, 0, 0, 0, 0]])
    assert 0.01 < found.margin[0, 0] < 0.02  # from further away
    assert found.margin[1, 0] == 0.0
    found = closer([fine, [-0.1, 1.0, 1.0, 1.0, 1.0]], [inside, inside])
    np.testing.assert_array_equal(found.flags, [[1, 0, 0, 0, 0], [1, 1, 0, 0, 0]])


def test_what_is_crossed_is_told_where_it_is_most_the_worst_first():
    def rows(*names):
        own = {"names": names, "units": ("m", "rad", ""), "__len__": lambda self: len(names)}
        return SimpleNamespace(rows=type("Rows", (), own)())

    own = rows("a", "b", "c")
    h = np.array([[[1.0, -0.1, 1.0], [-0.2, -0.5, 1.0]], [[-0.3, 0.1, -1e-10], [1.0, 1.0, 0.0]]])
    times = np.array([[0.0, 0.25], [0.5, 0.75]])
    found = PathConstraintGrid.violations(own, h, times)
    assert found == (
        ConstraintViolation("b", 0.5, "rad", 0.25),
        ConstraintViolation("a", 0.3, "m", 0.5),
    )
    assert PathConstraintGrid.violations(own, h, times, 0.4) == found[:1]
    assert [str(one) for one in found] == [
        "'b' by 0.5 rad at t = 0.25 s",
        "'a' by 0.3 m at t = 0.5 s",
    ]
    assert str(ConstraintViolation("c", 0.125, "", 1.0)) == "'c' by 0.12 at t = 1 s"
    assert PathConstraintGrid.violations(rows(), np.zeros((2, 2, 0)), times) == ()


def test_the_least_between_points_is_that_of_the_cubic_at_tenths():
    rng = np.random.default_rng(0)
    h, rate = rng.standard_normal((2, 2, 4, 3))
    straight = np.array([False, True, False])
    found = _cubic_minima(h, rate, straight)
    assert found.shape == (2, 3, 3)
    x = np.linspace(0.0, 1.0, 11)
    for step, k, i in np.ndindex(found.shape):
        a, b, p, q = h[step, k, i], h[step, k + 1, i], rate[step, k, i], rate[step, k + 1, i]
        cubic = (
            (2 * x**3 - 3 * x**2 + 1) * a + (x**3 - 2 * x**2 + x) * p
            + (3 * x**2 - 2 * x**3) * b + (x**3 - x**2) * q
        )  # fmt: skip
        least = min(a, b) if straight[i] else cubic.min()
        assert found[step, k, i] == pytest.approx(least, abs=1e-13)


# Ends, and what is in the way


class Kept:
    """Rows that are kept by so much at the beginning and at the end."""

    names, units = ("wall", "speed", "force"), ("m", "m/s", "")
    degree, is_time_varying = np.array([2, 1, 0]), np.array([False, True, False])

    def __init__(self, begin, end):
        self.ends, self.asked = [begin, end], []

    def __len__(self):
        return len(self.names)

    def slack(self, near, at):
        self.asked.append((near, at))
        return np.array(self.ends[len(self.asked) - 1]), near


def required(begin=(1.0, 1.0, 1.0), end=(1.0, 1.0, 1.0), goal=(3.0, 4.0), fastest=False):
    kept = Kept(begin, end)
    start = SimpleNamespace(y=np.array([1.0, 2.0]))
    program = SimpleNamespace(
        path_constraints=SimpleNamespace(rows=kept), freedoms=SimpleNamespace(start=start, n=2),
        h=0.25, steps=8,
        wanted=MotionProblem(t=5.0, rate=np.array([0.1, 0.2]), goal=np.array(goal), duration=None,
                      minimises_time=fastest, limit_share=1.0),
        point_dynamics=lambda z: [SimpleNamespace(place="near"), SimpleNamespace(place="last")],
    )  # fmt: skip
    lib._require_feasible_ends(program, np.zeros(1))
    return kept.asked


def same(one, other):
    for a, b in zip(one, other, strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_motion_must_begin_and_end_within_what_is_kept():
    (near, begin), (last, end) = required(begin=(0.0, 0.0, -9.0), end=(0.0, 0.0, -9.0))
    same(begin, TrajectoryPoint(5.0, [1.0, 2.0], [0.1, 0.2], [0.0, 0.0]))
    same(end, TrajectoryPoint(7.0, [3.0, 4.0], [0.0, 0.0], [0.0, 0.0]))
    np.testing.assert_array_equal(near.y, [1.0, 2.0])
    assert last == "last"
    assert len(required(goal=(3.0, np.nan), end=(-1.0, 1.0, 1.0))) == 1  # it ends where it likes
    required(end=(1.0, -1.0, 1.0), fastest=True)  # by then it may be another time


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            {"begin": (-0.5, -9.0, 1.0)},
            "begin within what is kept; 'wall' is crossed there by 0.5 m",
        ),
        (
            {"begin": (1.0, -9.0, 1.0)},
            "begin within what is kept; 'speed' is crossed there by 9 m/s",
        ),
        ({"end": (-2e-9, 1.0, 1.0)}, "end within what is kept; 'wall' is crossed there by 2e-09 m"),
        (
            {"end": (1.0, -0.25, 1.0)},
            "end within what is kept; 'speed' is crossed there by 0.25 m/s",
        ),
        (
            {"end": (-1.0, 1.0, 1.0), "fastest": True},
            "end within what is kept; 'wall' is crossed there by 1 m",
        ),
    ],
)
def test_an_end_beyond_what_is_kept_is_refused_with_the_first_that_is_crossed(given, said):
    with pytest.raises(InputError) as caught:
        required(**given)
    assert str(caught.value) == f"must {said}, its margin included."


@pytest.mark.parametrize(
    ("h", "in_the_way"),
    [
        ([1.0, 1.0, 1.0], False), ([-1.0, 1.0, 1.0], True), ([1.0, -1.0, -1.0], False),
        ([-0.9e-9, 1.0, 1.0], False), ([np.nan, 1.0, 1.0], True), (None, True),
    ],
)  # fmt: skip
def test_what_goes_by_the_position_is_in_the_way_of_the_straight_one(h, in_the_way):
    def on_grid(z):
        if h is None:
            raise InputError("it has no value there.")
        return SimpleNamespace(h=np.array([[h, [1.0, 1.0, 1.0]]]))

    kept = SimpleNamespace(rows=Kept((), ()))
    assert (
        lib._straight_guess_violates(
            SimpleNamespace(grid_slack=on_grid, path_constraints=kept), None
        )
        == in_the_way
    )


def test_a_motion_that_is_not_found_names_what_it_would_cross():
    crossings = [
        ConstraintViolation(name, 1.0 - 0.1 * k, "m", 0.5) for k, name in enumerate("abcd")
    ]
    left = SimpleNamespace(cubic_minima=None, times=np.zeros((1, 2)))
    program = SimpleNamespace(
        grid_slack=lambda z: left,
        path_constraints=SimpleNamespace(violations=lambda *given: tuple(crossings)),
    )
    error = OptimisationFailed("Restoration_Failed", program, np.zeros(1), 3)
    assert str(lib._infeasibility_error(error)) == (
        "must be a motion that keeps 'a', 'b', 'c'; the solver finds none from here, and the "
        "nearest crosses 'a' by 1 m at t = 0.5 s. Move what is kept or the pose, give it more "
        "duration, or more starts."
    )
    crossings.clear()
    assert lib._infeasibility_error(error) is error


# Ways that are bent


def test_coordinates_without_a_goal_stay_and_the_others_go_all_the_way():
    start = SimpleNamespace(y=np.array([1.0, 2.0, 3.0]))
    wanted = SimpleNamespace(goal=np.array([0.0, np.nan, 7.0]))
    program = SimpleNamespace(wanted=wanted, freedoms=SimpleNamespace(start=start))
    np.testing.assert_array_equal(_displacement(program), [-1.0, 0.0, 4.0])


@pytest.mark.parametrize(
    ("gone", "units", "sizes"),
    [
        # Of one unit, no coordinate is bent by less than half of what the farthest goes.
        ([4.0, 1.0, 3.0], ["rad/s"] * 3, [4.0, 2.0, 3.0]),
        ([4.0, 0.2, 0.1], ["rad/s", "m/s", "m/s"], [4.0, 0.2, 0.1]),
        ([4.0, 0.2, 0.05], ["rad/s", "m/s", "m/s"], [4.0, 0.2, 0.1]),
        # Where none of a unit goes anywhere, by half of what the farthest of all does.
        ([4.0, 0.0, 0.0], ["rad/s", "m/s", "m/s"], [4.0, 2.0, 2.0]),
    ],
)
def test_a_way_is_bent_in_parts_of_its_length(monkeypatch, gone, units, sizes):
    asides = []
    monkeypatch.setattr(
        "ukctrl_optimal.initial_guesses._rest_to_rest_guess",
        lambda program, aside: asides.append(aside.copy()),
    )
    monkeypatch.setattr(
        "ukctrl_optimal.initial_guesses._within_limits", lambda program, guess: "guess"
    )
    program = SimpleNamespace(
        wanted=SimpleNamespace(goal=np.array(gone)),
        freedoms=SimpleNamespace(
            start=SimpleNamespace(y=np.zeros(3)), dofs=[0, 1, 2],
            robot=SimpleNamespace(dof_units=tuple(units)),
        ),
        reset_continuation=lambda: None,
    )  # fmt: skip
    ways = random_guesses(program, np.random.default_rng(3))
    assert list(itertools.islice(ways, 2)) == ["guess", "guess"]
    drawn = np.random.default_rng(3)
    for aside in asides:  # a half wave twice as far as a whole one
        expected = 0.5 * drawn.standard_normal((2, 3)) * sizes * [[2.0], [1.0]]
        np.testing.assert_allclose(aside, expected, rtol=1e-12)


WAYS = "ukctrl_optimal.initial_guesses"


@pytest.mark.parametrize(
    ("given", "stretches", "durations"),
    [
        (2.0, [9.0], [2.0]),  # it is as long as was asked for
        (None, [1.04], [1.0]),
        (None, [0.96], [1.0]),
        (None, [2.0, 0.5, 1.0], [1.0, 2.0, 1.0]),
        (None, [10.0, 0.01, 1.2, 0.97], [1.0, 4.0, 1.0, 1.2]),  # by four at a time at most
        (None, [2.0] * 20, [2.0**k for k in range(12)]),
    ],
)
def test_the_straight_way_takes_the_time_that_uses_the_limits_up(
    monkeypatch, given, stretches, durations
):
    tried = []

    def program(freedoms, scheme, steps, wanted, duration, kept):
        tried.append(duration)
        return SimpleNamespace(time_scale_guess=lambda guess: stretches[len(tried) - 1])

    monkeypatch.setattr(f"{WAYS}.NonlinearProgram", program)
    monkeypatch.setattr(f"{WAYS}._rest_to_rest_guess", lambda program, aside: aside)
    monkeypatch.setattr(f"{WAYS}._within_limits", lambda program, guess: guess)
    wanted = SimpleNamespace(duration=given)
    _, guess = straight_guess(SimpleNamespace(n=3), None, 4, wanted, None)
    assert tried == pytest.approx(durations)
    np.testing.assert_array_equal(guess, np.zeros((2, 3)))


def test_a_straight_way_along_which_rows_cannot_be_kept_is_refused(monkeypatch):
    def fails(program, aside):
        raise StartError("no position meets the rows.")

    monkeypatch.setattr(f"{WAYS}.NonlinearProgram", lambda *given: None)
    monkeypatch.setattr(f"{WAYS}._rest_to_rest_guess", fails)
    with pytest.raises(InputError) as caught:
        straight_guess(SimpleNamespace(n=3), None, 4, SimpleNamespace(duration=None), None)
    assert str(caught.value) == (
        "must be able to begin with the straight way of its joints; on it, no position meets the "
        "rows."
    )


def test_a_way_is_from_rest_to_rest_with_least_jerk_and_bent_by_half_waves():
    """Beside the closed form, and its rates and accelerations beside differences of it."""
    rng, steps, h, begin = np.random.default_rng(4), 5, 0.3, 2.0
    y0, goal, aside = rng.standard_normal(2), rng.standard_normal(2), rng.standard_normal((2, 2))
    T, inner, seen = steps * h, begin + np.array([0.1, 0.7, 1.2]), np.array([0.4, 0.9])
    part = SimpleNamespace(
        y=np.zeros((6, 2)), w=np.zeros((6, 2)), y_points=np.zeros((3, 2)), rate=np.zeros((3, 2)),
        a=np.zeros((3, 2)), u=np.zeros((3, 1)), path_states=np.zeros((3, 2, 2)), sigma=np.zeros(1),
    )  # fmt: skip
    asked = []

    def input_for(answer, t, a):
        asked.append((answer, t, a.copy()))
        return np.full(1, t)

    program = SimpleNamespace(
        freedoms=SimpleNamespace(start=SimpleNamespace(y=y0), input_for=input_for),
        wanted=SimpleNamespace(goal=goal, t=begin), h=h, steps=steps, count=1,
        split=lambda z: part, times=lambda sigma: inner, point_dynamics=lambda z: "abc",
        path_constraints=SimpleNamespace(times=seen),
    )  # fmt: skip
    _rest_to_rest_guess(program, aside)

    def place(t):
        x = t / T
        s = 10.0 * x**3 - 15.0 * x**4 + 6.0 * x**5
        bend = np.sin(np.pi * s) * aside[0] + np.sin(2.0 * np.pi * s) * aside[1]
        return y0 + s * (goal - y0) + bend

    def slopes(t, d=1e-4):
        ends = [place(t + k * d) for k in (-1, 0, 1)]
        return (ends[2] - ends[0]) / (2.0 * d), (ends[2] - 2.0 * ends[1] + ends[0]) / d**2

    knots = np.linspace(0.0, T, 6)
    np.testing.assert_allclose(part.y, [place(t) for t in knots], atol=1e-12)
    np.testing.assert_allclose(part.y[[0, -1]], [y0, goal], atol=1e-12)
    np.testing.assert_allclose(part.w, [slopes(t)[0] for t in knots], atol=1e-5)
    np.testing.assert_allclose(part.y_points, [place(t - begin) for t in inner], atol=1e-12)
    np.testing.assert_allclose(part.rate, [slopes(t - begin)[0] for t in inner], atol=1e-5)
    np.testing.assert_allclose(part.a, [slopes(t - begin)[1] for t in inner], atol=1e-4)
    np.testing.assert_array_equal(part.u[:, 0], inner)
    assert [(answer, t) for answer, t, _ in asked] == list(zip("abc", inner.tolist(), strict=True))
    np.testing.assert_array_equal([a for *_, a in asked], part.a)
    np.testing.assert_allclose(part.path_states[0], [place(t) for t in seen], atol=1e-12)
    np.testing.assert_allclose(part.path_states[1], [slopes(t)[0] for t in seen], atol=1e-5)
    np.testing.assert_allclose(part.path_states[2], [slopes(t)[1] for t in seen], atol=1e-4)
    assert part.sigma[0] == 1.0


def test_inputs_of_a_way_are_kept_within_their_limits():
    parts = {"guess": np.array([-3.0, 0.5, 3.0]), "low": np.full(3, -1.0), "high": np.full(3, 2.0)}
    program = SimpleNamespace(
        split=lambda name: SimpleNamespace(u=parts[name]), bounds=lambda: ("low", "high")
    )
    assert _within_limits(program, "guess") == "guess"
    np.testing.assert_array_equal(parts["guess"], [-1.0, 0.5, 2.0])
