"""Numbers and units as people read them: tables over both sides of every border."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ukctrl.core import number_text as text
from ukctrl.core.algebra.finite_differences import (
    central_jacobian,
    jacobian,
    limited_step,
    state_jacobian,
)
from ukctrl.core.algebra.rank_policy import RANK
from ukctrl.core.algebra.solution_checks import (
    MIN_EIGENVALUE,
    conflict_error,
    expect_shape,
    raise_if_conflicting,
    raise_if_indefinite,
    raise_if_infeasible,
    raise_if_singular,
    row_names,
    symmetric,
    unit_rank,
    vector,
    violated_rows,
)
from ukctrl.core.algebra.stabilisation import SMALL_ACCELERATION
from ukctrl.core.errors import (
    ConflictingConstraints,
    GainError,
    InfeasibleConstraint,
    ShapeError,
    SingularMass,
    did_you_mean,
    unknown_name,
)
from ukctrl.core.tie_breaking import (
    TIE_RTOL,
    first_largest,
    first_smallest,
    tie_breaking_weights,
    tie_ranks,
)
from ukctrl_papers.motion.errors import DependentRows, UndeterminedMotion

NUMBERS = {
    math.nan: "–", math.inf: "∞", -math.inf: "−∞", 0.0: "0", 1.0: "1", -1.5: "−1.5",
    1234.5: "1234", 999999.0: "1×10⁶", 999499.0: "999499", 1e6: "1×10⁶", -2.5e7: "−2.5×10⁷",
    1e-3: "0.001", 1.234e-3: "0.00123", 9.999e-5: "1×10⁻⁴", 1.25e-9: "1.25×10⁻⁹", 100.0: "100",
    0.1 + 0.2: "0.3", 12.0: "12", 123.456: "123", 5e-324: "4.94×10⁻³²⁴", 1200.0: "1200",
}  # fmt: skip


@pytest.mark.parametrize("value", NUMBERS)
def test_a_number_has_three_digits_and_no_zeros_behind(value):
    assert text.number(value) == NUMBERS[value]


TABLE = [
    (text.number(3.14159, 5), "3.1416"), (text.number(1.0004, 4), "1"),
    (text.number(2.0e-7, 1), "2×10⁻⁷"), (text.number(123456.0, 1), "123456"),
    (text.percent(0.25), "25 %"), (text.percent(0.01), "1 %"), (text.percent(0.00999), "1 %"),
    (text.percent(0.00123), "0.12 %"), (text.percent(1.0), "100 %"), (text.percent(0.0), "0 %"),
    (text.percent(12.34), "1234 %"),
    (text.plus_minus(0.023412, 0.00118), "0.0234 ± 0.0012"),
    (text.plus_minus(math.nan, 1.0), "–"), (text.plus_minus(2.0, math.inf), "2"),
    (text.plus_minus(0.0, 0.0), "0 ± 0"), (text.plus_minus(1.23456, 1e-4), "1.235 ± 1×10⁻⁴"),
    (text.plus_minus(1.23456, 1e-3), "1.2346 ± 0.0010"),
    (text.plus_minus(-1.5, 0.25), "−1.50 ± 0.25"), (text.plus_minus(150.0, 25.0), "150 ± 25"),
    (text.plus_minus(2.5e7, 1e6), "(2.50 ± 0.10)×10⁷"),
    (text.plus_minus(2.5e-5, 1e-6), "(2.50 ± 0.10)×10⁻⁵"), (text.plus_minus(0.0, 2.0), "0.0 ± 2.0"),
    (text.unit_text("rad/s^2"), "rad/s²"), (text.unit_text("N m"), "N·m"),
    (text.unit_text("1"), ""), (text.unit_text(""), ""), (text.unit_text("us"), "µs"),
    (text.unit_text("m, rad"), "m, rad"), (text.unit_text("s^-1"), "s⁻¹"),
    (text.unit_text("(N m, N)^2 s"), "(N·m, N)²·s"),
    (text.quantity(0.02, "m, rad"), "0.02 (m, rad)"), (text.quantity(0.02, "(N m, N)^2 s"),
     "0.02 (N·m, N)²·s"), (text.quantity(math.nan, "m"), "–"), (text.quantity(2.0, "1"), "2"),
    (text.quantity(2.0, "m/s^2"), "2 m/s²"),
    (text.si(2.41e-5, "m"), "24.1 µm"), (text.si(3.2e-9, "N m"), "3.2 nN·m"),
    (text.si(0.1, "m"), "0.1 m"), (text.si(0.0999, "m"), "99.9 mm"), (text.si(1e-12, "J"), "1 pJ"),
    (text.si(9e-13, "J"), "9×10⁻¹³ J"), (text.si(-2e-3, "s"), "−2 ms"),
    (text.si(2e-5, "m/s^2"), "2×10⁻⁵ m/s²"), (text.si(0.0, "m"), "0 m"),
    (text.si_prefix(2e-15, "J"), (1e15, "fJ")),
    (text.si_prefix(2e-5, "m"), (1e6, "µm")), (text.si_prefix(0.1, "m"), (1.0, "m")),
    (text.si_prefix(0.099, "m"), (1e3, "mm")), (text.si_prefix(9999.0, "m"), (1.0, "m")),
    (text.si_prefix(1e4, "m"), (1e-3, "10³ m")), (text.si_prefix(1e-4, "m^2"), (1e6, "10⁻⁶ m²")),
    (text.si_prefix(math.nan, "m"), (1.0, "m")), (text.si_prefix(0.0, "m"), (1.0, "m")),
    (text.si_prefix(1e-3 * (1 - 1e-9), "s"), (1e3, "ms")), (text.si_prefix(1e-17, "s"),
     (1e18, "10⁻¹⁸ s")), (text.si_prefix(1e5, "1"), (1e-3, "10³")),
    (text.duration(0.85), "850 ms"), (text.duration(0.9994), "999 ms"),
    (text.duration(0.9996), "1 s"),
    (text.duration(1.0), "1 s"), (text.duration(12.4), "12.4 s"), (text.duration(119.9), "120 s"),
    (text.duration(120.0), "2 min 0 s"), (text.duration(200.4), "3 min 20 s"),
    (text.duration(math.inf), "–"),
    (text.sentence(" so it is "), "So it is."), (text.sentence("Is it?"), "Is it?"),
    (text.sentence("stop!"), "Stop!"), (text.sentence("  "), ""), (text.sentence("a."), "A."),
]  # fmt: skip


@pytest.mark.parametrize("row", TABLE)
def test_units_and_prefixes_read_as_printed(row):
    found, expected = row
    if isinstance(expected, tuple):
        assert found[1] == expected[1]
        np.testing.assert_allclose(found[0], expected[0], rtol=1e-12)
    else:
        assert found == expected


# the first among equals


def test_the_first_of_equals_is_named_and_nan_is_none():
    near = 1.0 - 0.9 * TIE_RTOL
    assert first_largest([0.0, near, 1.0]) == 1
    assert first_largest([0.0, 1.0 - 1.1 * TIE_RTOL, 1.0]) == 2
    assert first_largest([math.nan, -2.0, -1.0]) == 2
    assert first_largest([-math.inf, -math.inf]) == 0
    assert first_largest([1.0, math.inf, math.inf]) == 1
    assert first_largest([[0.0, 1.0], [2.0, 2.0]]) == 2
    assert first_largest([0.0, 1e-9, 2e-9], floor=1e-8) == 0
    assert first_smallest([3.0, 1.0 + 0.9 * TIE_RTOL, 1.0]) == 1
    assert first_smallest([3.0, 1.0 + 1.2 * TIE_RTOL, 1.0]) == 2


def test_places_are_shared_by_neighbours():
    assert tie_ranks([3.0, 1.0, 1.0 + 0.5e-6, 2.0, math.nan]).tolist() == [2, 0, 0, 1, 3]
    assert tie_ranks([1.0, 1.0 + 2e-6]).tolist() == [0, 1]
    assert tie_ranks([1e-9, 0.0], floor=1e-8).tolist() == [0, 0]
    assert tie_ranks([]).tolist() == []
    np.testing.assert_allclose(tie_breaking_weights(3), [1.0, 1.0 - 1e-6, 1.0 - 2e-6], rtol=1e-15)


# whether an answer is right


def test_symmetric_is_up_to_rounding():
    near = np.array([[1.0, 2.0], [2.0 * (1.0 + 0.9e-9), 5.0]])
    np.testing.assert_array_equal(symmetric("R", near), near)
    tiny = np.array([[1.0, 0.9e-12], [0.0, 1.0]])
    np.testing.assert_array_equal(symmetric("R", tiny), tiny)
    for bad in ([[1.0, 2.0], [2.0 + 4e-9, 5.0]], [[1.0, 2e-12], [0.0, 1.0]]):
        with pytest.raises(ShapeError, match=r"^R must be a symmetric matrix; it is not\.$"):
            symmetric("R", bad)


def test_a_metric_is_judged_for_a_unit_diagonal():
    raise_if_indefinite(np.diag([1e-30, 1e30]))
    raise_if_indefinite(np.array([[1.0, 1.0 - 1e-12], [1.0 - 1e-12, 1.0]]))
    raise_if_indefinite(np.zeros((0, 0)))
    close = 1.0 - 0.5 * MIN_EIGENVALUE
    for bad in (
        [[1.0, close], [close, 1.0]], [[0.0, 0.0], [0.0, 1.0]], [[-1.0, 0.0], [0.0, 1.0]],
        [[1.0, 2e-9], [0.0, 1.0]],
    ):  # fmt: skip
        with pytest.raises(GainError) as caught:
            raise_if_indefinite(np.array(bad))
        assert str(caught.value) == (
            "metric must be symmetric positive definite; it is not. Where it shall measure what "
            'redundant motors do, take "gauss" or "resolved_acceleration" (uk.input_metric).'
        )
    raise_if_indefinite(np.array([[1.0, 0.5e-9], [0.0, 1.0]]))


def test_a_code_below_zero_names_its_coordinate():
    raise_if_singular(0)
    with pytest.raises(SingularMass) as caught:
        raise_if_singular(-3)
    assert str(caught.value) == (
        "mass matrix must be symmetric positive definite; it fails at coordinate 2. Give every "
        "moving link a mass and an inertia."
    )


A = np.array([[1.0, 0.0], [0.0, 2.0]])


def test_passive_rows_may_be_missed_by_what_the_policy_allows():
    b, a = np.array([0.5, 1.0]), np.array([0.5, 0.5])
    room = RANK.reach * (0.5 + 0.5 + SMALL_ACCELERATION)
    raise_if_conflicting(A, b + np.array([0.9 * room, 0.0]), a, RANK, None)
    raise_if_conflicting(np.zeros((0, 2)), np.zeros(0), a, RANK, None)
    for off in (1.2 * room, math.nan):
        with pytest.raises(ConflictingConstraints) as caught:
            raise_if_conflicting(A, b + np.array([off, 0.0]), a, RANK, None)
        assert caught.value.rows == ("row 0",)
    with pytest.raises(ConflictingConstraints) as caught:
        raise_if_conflicting(A, b + 1.0, a, RANK, ["p", "q"])
    assert str(caught.value) == (
        "passive rows 'p', 'q' contradict the others (worst miss 1.0e+00); no acceleration "
        "satisfies them all. Remove or correct one of them."
    )
    error = conflict_error(np.array([1.0, 1.0]), np.array([2.0, 0.5]), ["p", "q"])
    assert (error.rows, error.miss) == (("q",), (1.0,))


def test_two_names_that_are_as_near_as_each_other_are_both_asked_about():
    known = ("root_vx", "root_vy", "root_wx", "root_wy")
    assert did_you_mean("root_x", known) == "; did you mean 'root_vx' or 'root_wx'?"
    assert did_you_mean("root_vz", ("root_vy", "hip")) == "; did you mean 'root_vy'?"
    assert did_you_mean("knee", known) == "."
    assert did_you_mean("joint9", [f"joint{k}" for k in range(1, 8)]).endswith("mean 'joint7'?")


@pytest.mark.parametrize("miss", [math.nan, math.inf, 3.5e98])
def test_a_miss_of_a_motion_that_ran_away_is_no_number_to_tell(miss):
    error = InfeasibleConstraint(["p", "q"], [1.0, miss], 1, 2)
    assert str(error).startswith(
        "servo rows 'p', 'q' are out of the actuators' reach (rank 1 of 2 rows). Drop"
    )
    assert str(ConflictingConstraints(["p"], [miss])).startswith(
        "passive rows 'p' contradict the others; no acceleration"
    )


def test_rounding_where_reactions_cancel_a_load_is_no_miss():
    """Two rows that hold all: what is left is rounding of 1e10 N over a kilogram."""
    b, a = np.zeros(2), np.array([1e-6, 0.0])
    load = np.eye(2), np.array([1e10, 0.0])
    raise_if_conflicting(A, b, a, RANK, None, load)
    with pytest.raises(ConflictingConstraints):
        raise_if_conflicting(A, b, a, RANK, None, (np.eye(2), np.array([1.0, 0.0])))
    with pytest.raises(ConflictingConstraints):
        raise_if_conflicting(A, b, a, RANK, None)


def test_servo_rows_are_missed_beyond_their_own_terms():
    b, still = np.array([3.0, 0.0]), np.zeros(2)
    room = RANK.reach * np.array([3.0 + SMALL_ACCELERATION, 2.0 * SMALL_ACCELERATION])
    assert violated_rows(A, b, still, 0.99 * room, RANK).tolist() == [False, False]
    assert violated_rows(A, b, still, -1.01 * room, RANK).tolist() == [True, True]
    assert violated_rows(A, b, still, np.array([math.nan, 0.0]), RANK).tolist() == [True, False]
    # a row that is zero, but for rounding of its demand, beside one that is not
    across = np.array([[0.0, 0.0], [2.0, 0.0]])
    for miss, missed in ((1e-3 * RANK.reach * 2.0 * 0.99, False), (1e-6, True)):
        demand, answer = np.array([miss, 1.0]), np.array([-miss, 0.0])
        assert violated_rows(across, demand, still, answer, RANK).tolist() == [missed, False]
    raise_if_infeasible(A, b, still, 0.99 * room, 2, RANK, None)
    for found, rows, advice in (
        (2, A, InfeasibleConstraint.ADVICE), (1, A, InfeasibleConstraint.ADVICE),
        (1, A[[0, 0]], InfeasibleConstraint.SINGULAR),
    ):  # fmt: skip
        with pytest.raises(InfeasibleConstraint) as caught:
            raise_if_infeasible(rows, b, still, np.array([0.0, -2.0]), found, RANK, ["p", "q"])
        assert str(caught.value) == (
            f"servo rows 'q' are out of the actuators' reach (worst miss 2.0e+00; rank {found} of "
            f"2 rows). {advice}"
        )
    with pytest.raises(InfeasibleConstraint, match=r"rows\)\. Do this\.$"):
        raise_if_infeasible(A, b, still, np.ones(2), 1, RANK, None, advice="Do this.")


def test_the_rank_of_rows_does_not_depend_on_their_units():
    assert unit_rank(np.diag([1e-20, 1e20]), 1e-9) == 2
    assert unit_rank(np.array([[1.0, 0.0], [1.0, 1e-10], [0.0, 0.0]]), 1e-9) == 1
    assert unit_rank(np.zeros((2, 2)), 1e-9) == unit_rank(np.zeros((0, 2)), 1e-9) == 0


def test_names_and_shapes_that_do_not_fit_are_refused_whole():
    assert row_names(None, 2) == ["row 0", "row 1"]
    assert row_names(["a"], 1) == ["a"]
    for call, sentence in (
        (lambda: row_names(["a"], 2), "rows must name 2 rows; got 1 names."),
        (lambda: expect_shape("b", (2,), (3,)), "b must have shape (3,); got (2,)."),
        (lambda: vector("b", [[1.0]]), "b must be a vector; got shape (1, 1)."),
    ):
        with pytest.raises(ShapeError) as caught:
            call()
        assert str(caught.value) == sentence


def test_errors_say_what_must_hold_whole():
    assert str(UndeterminedMotion(["x", "y"], 1, "Do.")) == (
        "no equation determines 1 combination of the accelerations of 'x', 'y': [M; A] must have "
        "full column rank. Do."
    )
    assert "determines 2 combinations of" in str(UndeterminedMotion(["x"], 2, ""))
    assert str(DependentRows("schur", ["a"], ["kkt", "recursive"])) == (
        "form 'schur' needs independent rows, and the others imply 'a'. Leave out what is implied, "
        "or use a form that accepts them: kkt, recursive."
    )
    assert str(unknown_name("frame", "tol", ["tool", "base"])) == (
        "no frame named 'tol'; did you mean 'tool'? Known: base, tool."
    )
    assert str(unknown_name("frame", "x", [])) == "no frame named 'x'. Known: none."
    many = [f"n{k:02}" for k in range(13)]
    assert str(unknown_name("n", "?", many)).endswith("n10, n11, ...")
    assert str(unknown_name("n", "?", many[:12])).endswith("n10, n11.")
    assert str(unknown_name("n", "?", many, limit=1)).endswith("Known: n00, ...")


# derivatives by differences


def curve(x):
    return np.array([math.sin(x[0]) * x[1], x[1] ** 3 + 0.0 * x[0]])


def test_differences_at_zero_are_as_good_as_they_say():
    def moved(x):
        return curve(np.array([0.4, 0.7]) + x)

    expected = [[math.cos(0.4) * 0.7, math.sin(0.4)], [0.0, 3.0 * 0.7**2]]
    np.testing.assert_allclose(jacobian(moved, 2), expected, rtol=0.0, atol=1e-11)
    np.testing.assert_allclose(central_jacobian(moved, 2), expected, rtol=0.0, atol=1e-9)
    assert jacobian(lambda x: np.zeros(3), 0).size == 0


def test_a_formula_of_sixth_order_is_exact_for_polynomials_of_that_order():
    def sixth(x):
        return np.array([5.0 * x[0] + x[0] ** 3 - 7.0 * x[0] ** 5 + x[0] ** 6])

    np.testing.assert_allclose(jacobian(sixth, 1, step=0.1), [[5.0]], rtol=1e-13)


@pytest.mark.parametrize(
    ("step", "taken"),
    [([0.5, -0.3], [0.5, -0.3]), ([1.0, -4.0], [0.125, -0.5]), ([0.0], [0.0]), ([], [])],
)
def test_a_step_is_taken_whole_or_scaled_to_the_longest(step, taken):
    np.testing.assert_array_equal(limited_step(np.array(step), 0.5), taken)


def test_steps_along_a_state_grow_with_what_is_no_position_or_velocity():
    asked = []

    def values(x):
        asked.append(x.copy())
        return np.array([x[0] * x[2], x[1] ** 2])

    at = np.array([1000.0, 0.5, 400.0])
    found = state_jacobian(values, at, 2)
    np.testing.assert_allclose(found, [[400.0, 0.0, 1000.0], [0.0, 1.0, 0.0]], rtol=1e-8)
    steps = [np.abs(x - at).max() for x in asked[::2]]
    np.testing.assert_allclose(steps, [2.0**-17, 2.0**-17, 400.0 * 2.0**-17], rtol=1e-12)
    small = state_jacobian(values, np.array([1.0, 0.5, 0.1]), 2)
    np.testing.assert_allclose(asked[-1], [1.0, 0.5, 0.1 - 2.0**-17], rtol=1e-14)
    np.testing.assert_allclose(small, [[0.1, 0.0, 1.0], [0.0, 1.0, 0.0]], rtol=0.0, atol=1e-9)
