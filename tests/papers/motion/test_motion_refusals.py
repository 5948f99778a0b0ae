"""What equations of motion and start states refuse, whole, and thresholds from both sides."""

from __future__ import annotations

import numpy as np
import pytest

from ukctrl import Robot, motion
from ukctrl.core.errors import StartError, UkctrlError
from ukctrl.mechanics.consistent_state import (
    MAX_CONTINUATION_STEP,
    MAX_CONTINUATION_STEPS,
    TOLERANCE,
    _conflicting_rows,
    consistent_state,
    least_norm_change,
    random_consistent_configuration,
)
from ukctrl.mechanics.constraints import Expression, LinearVelocity, Stack
from ukctrl.mechanics.reference import Constant
from ukctrl.robot import Lagrangian
from ukctrl_papers.motion import FORMS, Hierarchy, Level, stabilised
from ukctrl_papers.motion.equation_forms import MASSLESS, pivoted_qr, triangular
from ukctrl_papers.motion.level import (
    cancellation_scale,
    enforce_exactly,
    enforce_with_clearance,
)

CLOSE = {"rtol": 1e-12, "atol": 1e-12}
ONE, NONE = [[1.0, 1.0]], np.zeros((0, 2))
EXACT_NAMES = {"rows": ["p"], "coordinates": ["x", "y"]}


def solved(M, Q=(0.0, 0.0), A=ONE, b=(0.0,), form="kkt", **options):
    return lambda: motion.solve(M, Q, A, b, form, **EXACT_NAMES | options)


BARE = np.diag([1.0, 0.0])
NOTHING = {"A": NONE, "b": (), "rows": None}
MODULE = Hierarchy.module(np.eye(2), np.zeros(2))
TIED = MODULE.enforce(Level("pins", np.eye(2), np.zeros(2)))
REFUSED = {
    "negative mass": (
        solved(np.diag([1.0, -2.0])),
        "mass matrix must be positive semidefinite; coordinate 'y' has -2.",
    ),
    "indefinite": (
        solved([[1.0, 2.0], [2.0, 1.0]]),
        "mass matrix must be positive semidefinite; scaled to a unit diagonal, its smallest "
        "eigenvalue is -1. Check its signs.",
    ),
    "massless": (
        solved(BARE, form="schur"),
        "form 'schur' needs a positive definite mass matrix; no mass moves along 'y'. Use a form "
        "that does not: partitioned, udwadia_phohomsiri, kkt, null_space.",
    ),
    "undetermined": (
        solved(BARE, A=[[1.0, 0.0]]),
        "no equation determines 1 combination of the accelerations of 'y': [M; A] must have full "
        "column rank. Give them mass, constrain them, or ask for the least norm.",
    ),
    "no least norm": (
        solved(BARE, A=[[1.0, 0.0]], undetermined="least_norm"),
        "form 'kkt' cannot give the least norm where motion is undetermined. Use 'partitioned' or "
        "'udwadia_phohomsiri'.",
    ),
    "pushed": (
        solved(BARE, (0.0, 1.0), [[1.0, 0.0]], form="partitioned", undetermined="least_norm"),
        "no equation determines 1 combination of the accelerations of 'y': [M; A] must have full "
        "column rank. A force acts along them that nothing resists: remove it.",
    ),
    "another way": (
        solved(BARE, A=[[1.0, 0.0]], undetermined="last"),
        "no way with the undetermined named 'last'. Known: least_norm, "
        "refuse.",
    ),
    "dependent": (
        solved(np.eye(2), A=[[1.0, 1.0]] * 2, b=(0.0, 0.0), form="schur", rows=["p", "q"]),
        "form 'schur' needs independent rows, and the others imply 'q'. Leave out what is implied, "
        "or use a form that accepts them: udwadia_kalaba, multiplier, partitioned, "
        "udwadia_phohomsiri, kkt, null_space, projection, recursive.",
    ),
    "conflicting": (
        solved(np.eye(2), A=[[1.0, 1.0]] * 2, b=(0.0, 1.0), rows=["p", "q"]),
        "passive rows 'p', 'q' contradict the others (worst miss 5.0e-01); no acceleration "
        "satisfies them all. Remove or correct one of them.",
    ),
    "conflicting but for rounding": (
        solved(np.eye(2), A=[[1.0, 0.0], [1.0, 1e-9]], b=(0.0, 1.0), rows=["p", "q"]),
        "passive rows 'p', 'q' contradict the others (worst miss 5.0e-01); no acceleration "
        "satisfies them all. Remove or correct one of them.",
    ),
    "no such form": (
        solved(np.eye(2), form="ktt"),
        "no form named 'ktt'; did you mean 'kkt'? Known: kkt, multiplier, null_space, partitioned, "
        "projection, recursive, schur, udwadia_kalaba, udwadia_phohomsiri.",
    ),
    "names of others": (
        solved(np.eye(2), coordinates=["x"]), "coordinates must name 2 columns; got 1 names.",
    ),
    "shape of others": (solved(np.eye(3)), "M must have shape (2, 2); got (3, 3)."),
    "rows of others": (
        solved(np.eye(2), A=np.eye(3), b=np.zeros(3)), "A must have shape (3, 2); got (3, 3).",
    ),
    "rates of others": (
        lambda: stabilised(np.zeros(2), [0.0], np.zeros(2), 1.0, 1.0),
        "beta must have shape (2,); got (1,).",
    ),
    "errors of others": (
        lambda: stabilised(np.zeros(2), np.zeros(2), [0.0], 1.0, 1.0),
        "phi must have shape (2,); got (1,).",
    ),
    "level of others": (
        lambda: Level("p", np.eye(3), np.zeros(2)), "A must have shape (2, 3); got (3, 3).",
    ),
    "clearance of others": (
        lambda: Level("p", np.eye(2), np.zeros(2), np.eye(3)),
        "R must have shape (2, 2); got (3, 3).",
    ),
    "level on others": (
        lambda: MODULE.enforce(Level("p", np.ones((1, 3)), np.zeros(1))),
        "A must have shape (1, 2); got (1, 3).",
    ),
    "no module": (
        lambda: Hierarchy.assemble({}), "an assembly must have at least one part; got none.",
    ),
    "dot": (
        lambda: Hierarchy.assemble({"a.b": MODULE}),
        "the name of a part must have no dot; got 'a.b'.",
    ),
    "level twice": (
        lambda: TIED.enforce(Level("pins", np.eye(2), np.zeros(2))),
        "levels must have different names; got 'pins' twice.",
    ),
    "no level": (
        lambda: TIED.without("pin"), "no level named 'pin'; did you mean 'pins'? Known: pins.",
    ),
    "module without mass": (
        lambda: Hierarchy.module(BARE, np.zeros(2)),
        "no equation determines 1 combination of the accelerations of 'coordinate 1': [M; A] must "
        "have full column rank. Give them mass, constrain them, or ask for the least norm.",
    ),
    "clearance of none": (
        lambda: MODULE.enforce(Level("pins", np.eye(2), np.zeros(2), BARE)),
        "clearance R must be symmetric positive definite; it is not. Rows without clearance belong "
        "to a level of their own.",
    ),
    "lopsided clearance": (
        lambda: MODULE.enforce(Level("p", np.eye(2), np.zeros(2), [[1.0, 0.1], [0.0, 1.0]])),
        "clearance R must be symmetric positive definite; it is not. Rows without clearance belong "
        "to a level of their own.",
    ),
    "rows without names": (
        lambda: Level("pins", np.eye(2), np.zeros(2), rows=("x",)),
        "rows must name 2 rows; got 1 names.",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_has_no_motion_is_refused_whole(case):
    call, sentence = REFUSED[case]
    with pytest.raises(UkctrlError) as caught:
        call()
    assert str(caught.value) == sentence


@pytest.mark.parametrize("form", FORMS)
def test_a_form_takes_no_rows_no_force_and_one_coordinate(form):
    given = np.array([[2.0]]), np.array([3.0])
    free = motion.solve(*given, np.zeros((0, 1)), [], form)
    np.testing.assert_allclose([*free.a, *free.force], [1.5, 0.0], **CLOSE)
    assert free.lam.shape == (0,)
    held = motion.solve(*given, [[4.0]], [2.0], form)
    np.testing.assert_allclose([*held.a, *held.force, *held.lam], [0.5, -2.0, -0.5], **CLOSE)


@pytest.mark.parametrize("form", ["partitioned", "udwadia_phohomsiri", "kkt", "null_space"])
def test_a_mass_is_none_below_a_threshold_for_a_unit_diagonal(form):
    """Two masses tied by springs of mass: the eigenvalue is 1 - c."""
    for gap, free in ((3.0 * MASSLESS, True), (0.3 * MASSLESS, False)):
        M = np.array([[1.0, 1.0 - gap], [1.0 - gap, 1.0]])
        call = solved(M, **NOTHING, form=form)
        if free:
            np.testing.assert_allclose(call().a, 0.0, atol=1e-9)
        else:
            with pytest.raises(UkctrlError, match=r"of 'x', 'y': \[M; A\] must have full"):
                call()


def test_triangles_and_pivots_of_nothing_are_nothing():
    T = np.array([[2.0, 0.0], [1.0, 4.0]])
    np.testing.assert_allclose(triangular(T, np.array([2.0, 5.0])), [1.0, 1.0], **CLOSE)
    np.testing.assert_allclose(triangular(T, np.array([3.0, 4.0]), trans=True), [1.0, 1.0], **CLOSE)
    np.testing.assert_allclose(triangular(T, np.eye(2)) @ T, np.eye(2), **CLOSE)
    assert triangular(T, np.zeros((2, 0))).shape == (2, 0)
    assert pivoted_qr(np.zeros((3, 0)), 1e-9)[3] == 0
    assert pivoted_qr(np.diag([1.0, 2e-9, 0.5e-9]), 1e-9)[3] == 2


def test_a_level_of_nothing_changes_nothing():
    S = np.eye(3)
    step, left, dependent = enforce_exactly(S, np.zeros((2, 3)), np.zeros(2), 1e-9)
    assert (step.tolist(), list(dependent)) == ([0.0] * 3, [0, 1])
    assert left is S
    assert enforce_exactly(S, np.zeros((0, 3)), np.zeros(0), 1e-9)[1] is S
    assert enforce_with_clearance(S, np.zeros((0, 3)), np.zeros(0), np.zeros((0, 0)))[1] is S
    np.testing.assert_allclose(
        cancellation_scale(np.array([[3.0, -4.0], [0.0, 0.0]]), np.eye(2)), [[5], [1]]
    )


def test_a_clearance_is_a_mass_beside_the_mass():
    """Of a unit mass asked for 1 with a clearance r, by hand: 1/(1 + r); W = r/(1 + r)."""
    for r in (1e-12, 0.5, 3.0):
        level = Level("soft", [[1.0]], [1.0], [[r]])
        system = Hierarchy.module([[1.0]], [0.0]).enforce(level)
        np.testing.assert_allclose([*system.a, *system.W[0]], [1 / (1 + r), r / (1 + r)], **CLOSE)
        (finding,) = system.findings
        assert (finding.rank, finding.redundant, system.freedom) == (0, (), 1)
        np.testing.assert_allclose(finding.variance, [1.0 + r], **CLOSE)


# start states


def plane(**units):
    units = units or {"x": "m", "y": "m"}
    kinetic = " + ".join(f"v.{name}**2" for name in units)
    return Robot.build(Lagrangian(coordinates=units, kinetic=kinetic))


def stack(robot, *rows):
    return Stack([Expression(**row) for row in rows], robot)


def start(robot, *rows, q=(0.0, 0.0), v=(0.0, 0.0), **options):
    return consistent_state(stack(robot, *rows), np.array(q, float), np.array(v, float), **options)


CIRCLE = {"phi": "x**2 + y**2 - 4", "name": "circle", "unit": "m"}


def test_the_nearest_state_on_a_circle_is_found_by_hand():
    found = start(plane(), CIRCLE, q=(3.0, 4.0), v=(1.0, 0.0))
    np.testing.assert_allclose(found.q, [1.2, 1.6], rtol=0.0, atol=1e-6)
    np.testing.assert_allclose(found.q @ found.q, 4.0, rtol=1e-12)
    # The velocity keeps its part along the tangent (-0.8, 0.6).
    np.testing.assert_allclose(found.v, [0.64, -0.48], rtol=0.0, atol=1e-6)
    np.testing.assert_allclose(found.dq, found.q - [3.0, 4.0], **CLOSE)
    np.testing.assert_allclose(found.dv, found.v - [1.0, 0.0], **CLOSE)
    robot = plane(x="rad", y="m")
    moved = start(robot, {"phi": "x - 0.3"}, {"psi": "v.y - 2*v.x", "name": "r"}, v=(1.0, 0.0))
    sizes = moved.correction_sizes(robot)
    assert list(sizes) == ["rad", "m", "rad/s", "m/s"]
    np.testing.assert_allclose(list(sizes.values()), [0.3, 0.0, 1.0, 0.0], atol=1e-12)


def test_what_is_held_stays_and_the_others_follow():
    found = start(plane(), CIRCLE, q=(1.0, 3.0), held=[0])
    np.testing.assert_allclose(found.q, [1.0, np.sqrt(3.0)], **CLOSE)
    assert found.q[0] == 1.0
    home = np.array([-1.9, -np.sqrt(4.0 - 1.9**2)])
    below = start(plane(), CIRCLE, q=(1.0, 3.0), held=[0], home=home)
    np.testing.assert_allclose(below.q, [1.0, np.sqrt(3.0)], **CLOSE)


def test_held_coordinates_walk_from_home_in_strides(monkeypatch):
    """One branch of y^3 = x is followed from home to where the guess has x."""
    taken = []
    row = {"phi": "y**3 + y - x"}
    robot = plane()
    integrate = type(robot).integrate
    monkeypatch.setattr(
        type(robot), "integrate", lambda self, q, d: (taken.append(d), integrate(self, q, d))[1]
    )
    found = start(robot, row, q=(2.0, 9.0), held=[0], home=np.zeros(2))
    np.testing.assert_allclose(found.q, [2.0, 1.0], **CLOSE)
    strides = [step for step in taken if abs(step[0]) > 0.01 and step[1] == 0.0]
    assert max(abs(step[0]) for step in strides[1:]) <= MAX_CONTINUATION_STEP * (1 + 1e-12)
    assert len([step for step in strides if step[0] > 0.0]) == round(2.0 / MAX_CONTINUATION_STEP)
    taken.clear()
    far = (MAX_CONTINUATION_STEP * MAX_CONTINUATION_STEPS + 1.0) * 1.0
    start(robot, {"phi": "y - x"}, q=(far, far), held=[0], home=np.zeros(2))
    assert len(taken) < 5  # a longer way is not walked


REFUSALS = {
    "no position": (
        lambda: start(plane(), {"phi": "x**2 + 1", "name": "never"}),
        "no position near the start meets all constraints at t = 0 s; worst row 'never' is off by "
        "1.0e+00. Start closer, or check that the path is within reach.",
    ),
    "no position, in metres": (
        lambda: start(plane(), {"phi": "x**2 + 1", "name": "never", "unit": "m"}, t=1.5),
        "no position near the start meets all constraints at t = 1.5 s; worst row 'never' is off "
        "by 1.0e+00 m. Start closer, or check that the path is within reach.",
    ),
    "two positions": (
        lambda: start(plane(), {"phi": "x - 1", "name": "a"}, {"phi": "x + 1", "name": "b"}),
        "no position near the start meets all constraints at t = 0 s; worst row 'a' is off by "
        "1.0e+00. Rows 'a', 'b' cannot be met together from here: start closer, or drop one.",
    ),
    "two velocities": (
        lambda: start(plane(), {"psi": "v.x - 1", "name": "a"}, {"psi": "v.x + 1", "name": "b"}),
        "no velocity near the start meets all constraints at t = 0 s; worst row 'b' is off by "
        "2.0e+00 1/s. Rows 'a', 'b' contradict each other there: drop one, or let them agree.",
    ),
    "a contradiction within one block": (
        lambda: start(plane(), {"psi": ("v.x - 1", "v.x + 1"), "name": "a"}),
        "no velocity near the start meets all constraints at t = 0 s; worst row 'a.2' is off by "
        "2.0e+00 1/s. Start closer, or check that the path is within reach.",
    ),
    "a direction that nothing moves": (
        lambda: start(
            plane(), {"phi": ("x + y + 1e-4", "x + y - 1e-4"), "name": "pin", "unit": "m"}
        ),
        "no position near the start meets all constraints at t = 0 s; worst row 'pin.1' is off by "
        "1.0e-04 m. No motion of the robot changes that, as across the plane of a mechanism: "
        'correct what is asked there, or leave that direction out (type = "planar_point" of a '
        "closure, axes of a path).",
    ),
    "held fast": (
        lambda: start(plane(), {"phi": "x - 1", "name": "a", "unit": "m"}, held=[0, 1]),
        "no position near the start meets all constraints at t = 0 s; worst row 'a' is off by "
        "1.0e+00 m. Start closer, or check that the path is within reach.",
    ),
}


@pytest.mark.parametrize("case", REFUSALS)
def test_a_start_that_cannot_be_is_refused_whole(case):
    call, sentence = REFUSALS[case]
    with pytest.raises(StartError) as caught:
        call()
    assert str(caught.value) == sentence


def test_a_clash_is_told_where_errors_cannot_shrink():
    A, e = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]), np.array([1.0, -1.0, 0.0])
    assert _conflicting_rows(A, e) == (0, 1)
    assert (
        _conflicting_rows(A, np.array([1.0, -1.0, 0.009])) == ()
    )  # the third could shrink: its own row is free
    assert _conflicting_rows(A[:2], e[:2]) == (0, 1)
    small = np.vstack([A[:2], [[0.0, 0.0]]])
    assert _conflicting_rows(small, np.array([1.0, -1.0, 0.011])) == (0, 1, 2)
    assert _conflicting_rows(small, np.array([1.0, -1.0, 0.009])) == (0, 1)
    assert _conflicting_rows(A, np.array([np.nan, 0.0, 0.0])) == ()
    assert _conflicting_rows(np.full((3, 2), np.inf), e) == ()


def test_the_least_change_leaves_what_is_held():
    from ukctrl.core.algebra.rank_policy import RANK

    A, d = np.array([[3.0, 4.0]]), np.array([10.0])
    np.testing.assert_allclose(least_norm_change(A, d, RANK), [1.2, 1.6], **CLOSE)
    np.testing.assert_allclose(least_norm_change(A, d, RANK, [0]), [0.0, 2.5], **CLOSE)
    np.testing.assert_array_equal(A, [[3.0, 4.0]])


def test_rows_that_can_be_met_somewhere_are_told_from_those_that_cannot():
    found = random_consistent_configuration(stack(plane(), CIRCLE))
    assert abs(found @ found - 4.0) <= TOLERANCE * 20.0
    assert random_consistent_configuration(stack(plane(), {"phi": "x**2 + 1"})) is None


def test_a_start_needs_no_rows():
    robot = plane()
    found = consistent_state(Stack([], robot), np.array([1.0, 2.0]), np.array([3.0, 4.0]))
    assert [*found.q, *found.v, *found.dq, *found.dv] == [1, 2, 3, 4, 0, 0, 0, 0]


def test_a_velocity_that_a_row_asks_for_is_met_by_the_least_change():
    robot = plane()
    row = LinearVelocity(coefficients={"x": 3.0, "y": 4.0}, path=Constant(value=(10.0,)))
    found = consistent_state(Stack([row], robot), np.zeros(2), np.zeros(2))
    np.testing.assert_allclose(found.v, [1.2, 1.6], **CLOSE)


@pytest.mark.parametrize("form", FORMS)
def test_the_card_of_a_form_says_whether_it_takes_a_pseudoinverse(form):
    asked = []

    def inverse(A, rtol):
        asked.append(A)
        return np.linalg.pinv(A)

    card = FORMS[form]
    found = card.equation(
        np.eye(2), np.array([1.0, 3.0]), np.array([[1.0, -1.0]]), np.zeros(1), inverse, 1e-10
    )
    np.testing.assert_allclose(found, [2.0, 2.0], rtol=1e-12)
    assert bool(asked) == card.inverts
