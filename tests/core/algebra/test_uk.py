"""The theorems on plain arrays, each against an independent route."""

import numpy as np
import pytest
from scipy.linalg import null_space, pinv, sqrtm
from seeds import seeded

from ukctrl import uk
from ukctrl.core.algebra.factorisation import independent_rows, pivoted_lq, solve_least_norm
from ukctrl.core.errors import (
    ConflictingConstraints,
    GainError,
    InfeasibleConstraint,
    InputError,
    ShapeError,
    SingularMass,
)

EXACT = {"rtol": 0.0, "atol": 1e-9}  # algebra on matrices with condition numbers up to 1e3
NV, M = 6, 2


rng = seeded(20)


def draw_robot(rng, nu, nv=NV):
    root = rng.standard_normal((nv, nv))
    return root @ root.T + nv * np.eye(nv), rng.standard_normal(nv), rng.standard_normal((nv, nu))


def draw_rows(rng, m=M, nv=NV):
    return rng.standard_normal((m, nv)), rng.standard_normal(m)


actuations = pytest.mark.parametrize("nu", [3, 6, 9], ids=["under", "fully", "redundantly"])


@actuations
def test_the_servo_constraint_is_met_whatever_the_actuation(rng, nu):
    mass, force, B = draw_robot(rng, nu)
    A, b = draw_rows(rng)
    a_free, G = uk.affine_acceleration(mass, force, B)
    u = uk.servo_input(A, b, a_free, G)
    acceleration = np.linalg.solve(mass, force + B @ u)
    np.testing.assert_allclose(A @ acceleration, b, **EXACT)


@actuations
def test_passive_and_servo_rows_hold_together(rng, nu):
    mass, force, B = draw_robot(rng, nu)
    A_p, b_p = draw_rows(rng, m=1)
    A, b = draw_rows(rng)
    a_free, G = uk.affine_acceleration(mass, force, B, A_p, b_p)
    u = uk.servo_input(A, b, a_free, G)
    pushed = uk.reaction(mass, force + B @ u, A_p, b_p)
    acceleration = np.linalg.solve(mass, force + B @ u + pushed.force)
    np.testing.assert_allclose(acceleration, a_free + G @ u, **EXACT)
    np.testing.assert_allclose(A @ acceleration, b, **EXACT)
    np.testing.assert_allclose(A_p @ acceleration, b_p, **EXACT)


def test_a_reaction_frozen_at_zero_input_would_break_the_closure(rng):
    mass, force, B = draw_robot(rng, nu=6)
    A_p, b_p = draw_rows(rng, m=1)
    frozen = uk.reaction(mass, force, A_p, b_p).force
    u = rng.standard_normal(6)
    acceleration = np.linalg.solve(mass, force + B @ u + frozen)
    assert abs(A_p @ acceleration - b_p).max() > 1e-3


def test_the_constraint_force_is_the_published_formula_with_the_square_root(rng):
    mass, force, _ = draw_robot(rng, nu=1)
    A, b = draw_rows(rng)
    root = np.real(sqrtm(mass))
    published = root @ pinv(A @ np.linalg.inv(root)) @ (b - A @ np.linalg.solve(mass, force))
    np.testing.assert_allclose(uk.constraint_force(mass, force, A, b), published, **EXACT)


def test_no_feasible_acceleration_is_closer_in_the_sense_of_gauss(rng):
    mass, force, _ = draw_robot(rng, nu=1)
    A, b = draw_rows(rng)
    free = np.linalg.solve(mass, force)
    a = np.linalg.solve(mass, force + uk.constraint_force(mass, force, A, b))
    other = a + null_space(A) @ rng.standard_normal(NV - M)
    np.testing.assert_allclose(A @ other, b, **EXACT)
    assert (a - free) @ mass @ (a - free) <= (other - free) @ mass @ (other - free)


def test_the_ideal_constraint_force_does_no_work_on_admissible_velocities(rng):
    mass, force, _ = draw_robot(rng, nu=1)
    A, b = draw_rows(rng)
    work = null_space(A).T @ uk.constraint_force(mass, force, A, b)
    np.testing.assert_allclose(work, 0.0, **EXACT)


def test_the_servo_input_in_the_gauss_metric_is_the_udwadia_kalaba_force(rng):
    mass, force, _ = draw_robot(rng, nu=1)
    A, b = draw_rows(rng)
    a_free, G = uk.affine_acceleration(mass, force, np.eye(NV))
    u = uk.servo_input(A, b, a_free, G, R=np.linalg.inv(mass))
    np.testing.assert_allclose(u, uk.constraint_force(mass, force, A, b), **EXACT)


def test_the_servo_input_with_squared_inverse_mass_is_resolved_acceleration(rng):
    mass, force, _ = draw_robot(rng, nu=1)
    A, b = draw_rows(rng)
    a_free, G = uk.affine_acceleration(mass, force, np.eye(NV))
    inverse = np.linalg.inv(mass)
    u = uk.servo_input(A, b, a_free, G, R=inverse @ inverse, u0=-force)
    np.testing.assert_allclose(u, mass @ pinv(A) @ b - force, **EXACT)


def test_the_servo_input_equals_chens_formula_with_the_square_root(rng):
    mass, force, B = draw_robot(rng, nu=9)
    A, b = draw_rows(rng)
    half = np.linalg.inv(np.real(sqrtm(mass)))
    chen = pinv(A @ half @ half @ B) @ (b - A @ np.linalg.solve(mass, force))
    a_free, G = uk.affine_acceleration(mass, force, B)
    np.testing.assert_allclose(uk.servo_input(A, b, a_free, G), chen, **EXACT)


def test_no_other_input_that_works_is_closer_to_the_null_space_input(rng):
    mass, force, B = draw_robot(rng, nu=9)
    A, b = draw_rows(rng)
    a_free, G = uk.affine_acceleration(mass, force, B)
    root = rng.standard_normal((9, 9))
    R, u0 = root @ root.T + np.eye(9), rng.standard_normal(9)
    u = uk.servo_input(A, b, a_free, G, R=R, u0=u0)
    other = u + null_space(A @ G) @ rng.standard_normal(7)
    assert (u - u0) @ R @ (u - u0) <= (other - u0) @ R @ (other - u0)


def test_mixing_the_rows_changes_nothing(rng):
    mass, force, B = draw_robot(rng, nu=6)
    A, b = draw_rows(rng)
    a_free, G = uk.affine_acceleration(mass, force, B)
    T = np.array([[2.0, 1.0], [0.0, -3.0]])
    mixed = uk.servo_input(T @ A, T @ b, a_free, G)
    np.testing.assert_allclose(mixed, uk.servo_input(A, b, a_free, G), **EXACT)


def test_redundant_consistent_rows_change_nothing(rng):
    mass, force, B = draw_robot(rng, nu=6)
    A, b = draw_rows(rng)
    a_free, G = uk.affine_acceleration(mass, force, B)
    T = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [0.5, -2.0]])
    np.testing.assert_allclose(
        uk.servo_input(T @ A, T @ b, a_free, G), uk.servo_input(A, b, a_free, G), **EXACT
    )
    np.testing.assert_allclose(
        uk.constraint_force(mass, force, T @ A, T @ b),
        uk.constraint_force(mass, force, A, b),
        **EXACT,
    )


def test_redundant_passive_rows_change_nothing(rng):
    mass, force, B = draw_robot(rng, nu=6)
    A_p, b_p = draw_rows(rng)
    T = np.array([[1.0, 0.0], [0.0, 1.0], [3.0, -1.0]])
    plain = uk.affine_acceleration(mass, force, B, A_p, b_p)
    doubled = uk.affine_acceleration(mass, force, B, T @ A_p, T @ b_p)
    np.testing.assert_allclose(doubled.a_free, plain.a_free, **EXACT)
    np.testing.assert_allclose(doubled.G, plain.G, **EXACT)
    twice = uk.reaction(mass, force, T @ A_p, T @ b_p)
    np.testing.assert_allclose(twice.force, (T @ A_p).T @ twice.lam, **EXACT)
    assert twice.rank == 2


def test_the_affine_answer_is_the_projection_formula(rng):
    mass, force, B = draw_robot(rng, nu=3)
    A_p, b_p = draw_rows(rng)
    inverse = np.linalg.inv(mass)
    inner = pinv(A_p @ inverse @ A_p.T)
    W = inverse - inverse @ A_p.T @ inner @ A_p @ inverse
    a_free, G = uk.affine_acceleration(mass, force, B, A_p, b_p)
    np.testing.assert_allclose(G, W @ B, **EXACT)
    np.testing.assert_allclose(a_free, W @ force + inverse @ A_p.T @ inner @ b_p, **EXACT)


def test_rows_out_of_reach_are_an_error_that_names_them():
    A, b = np.eye(2), np.array([1.0, 1.0])
    G = np.array([[1.0], [0.0]])  # two coupled masses, the input pushes the first alone
    with pytest.raises(InfeasibleConstraint, match="servo rows 'far' are out of the actuators'"):
        uk.servo_input(A, b, np.zeros(2), G, rows=["near", "far"])


def test_rows_that_no_motion_tells_apart_are_no_fault_of_the_motors():
    A, b = np.array([[1.0, 1.0], [1.0, 1.0]]), np.array([1.0, 1.5])
    with pytest.raises(InfeasibleConstraint) as caught:
        uk.servo_input(A, b, np.zeros(2), np.eye(2), rows=["one", "other"])
    [row] = caught.value.rows  # either: the one that is kept is as good as the other
    assert str(caught.value) == (
        f"servo rows '{row}' are out of the actuators' reach (worst miss 5.0e-01; rank 1 of "
        "2 rows). No motor is to blame: no motion changes these rows independently of the others "
        "here. The robot is in a singular position, or two rows ask for different things. Lead the "
        "path around it, drop a row, or accept the closest motion with on_infeasible = "
        '"least_squares".'
    )


def test_a_loss_of_all_grip_is_an_error_and_not_a_silent_zero():
    with pytest.raises(InfeasibleConstraint) as caught:
        uk.servo_input(np.array([[0.0, 1.0]]), [2.0], np.zeros(2), np.array([[1.0], [0.0]]))
    assert caught.value.rank == 0
    np.testing.assert_allclose(caught.value.miss, [2.0], **EXACT)


def test_a_demand_that_is_not_a_number_is_an_error_and_not_a_silent_zero():
    with pytest.raises(InputError, match="b must be finite"):
        uk.servo_input(np.array([[0.0, 1.0]]), [np.nan], np.zeros(2), np.array([[1.0], [0.0]]))


def test_the_reach_residual_is_zero_exactly_for_reachable_demands(rng):
    H = rng.standard_normal((4, 2))
    np.testing.assert_allclose(uk.reach_residual(H, H @ rng.standard_normal(2)), 0.0, **EXACT)
    d = rng.standard_normal(4)
    best = H @ np.linalg.lstsq(H, d, rcond=None)[0]
    np.testing.assert_allclose(uk.reach_residual(H, d), d - best, **EXACT)


@pytest.mark.parametrize("columns", [0, 1, 3])
def test_without_grip_the_whole_demand_is_out_of_reach(columns):
    np.testing.assert_array_equal(uk.reach_residual(np.zeros((2, columns)), [1.0, -2.0]), [1, -2])


def test_the_closest_input_in_a_metric_solves_its_normal_equations(rng):
    H = rng.standard_normal((4, 2)) @ rng.standard_normal((2, 3))  # rank 2 of 3 inputs, 4 rows
    d, root = rng.standard_normal(4), rng.standard_normal((3, 3))
    R = root @ root.T + np.eye(3)
    for metric, u in ((np.eye(3), uk.least_squares_input(H, d)), (R, None)):
        u = uk.least_squares_input(H, d, metric) if u is None else u
        np.testing.assert_allclose(H.T @ (H @ u - d), 0.0, **EXACT)
        np.testing.assert_allclose(null_space(H).T @ metric @ u, 0.0, **EXACT)


def test_the_rank_report_names_the_rows_that_others_imply(rng):
    top = rng.standard_normal((3, 5))
    report = uk.rank_report(np.vstack([top, top[0] - top[2]]), ["x", "y", "z", "copy"])
    assert report.rank == 3
    assert set(report.independent) | set(report.dependent) == {"x", "y", "z", "copy"}
    assert report.dependent[0] in {"x", "z", "copy"}
    assert report.largest_dropped < 1e-12 < report.smallest_kept


ROWS = [[4.0, 0.0, 0.0], [0.0, 2.0, 0.0], [4.0, 2.0, 0.3]]


@pytest.mark.parametrize(
    ("rows", "rank"), [(ROWS, 2), (ROWS[:2], 2), (ROWS[:1] * 2, 1), ([[0.0] * 3], 0)]
)
def test_the_rank_report_tells_what_is_kept_and_dropped_beside_the_largest(rows, rank):
    report = uk.rank_report(rows, rtol=0.1)
    sigma = [*np.linalg.svd(rows, compute_uv=False), 0.0]
    scale = sigma[0] or 1.0
    expected = [sigma[rank - 1] / scale if rank else 0.0, sigma[rank] / scale]
    assert (report.rank, len(report.dependent)) == (rank, len(rows) - rank)
    np.testing.assert_allclose(
        [report.smallest_kept, report.largest_dropped], expected, rtol=1e-12, atol=1e-15
    )


def test_conflicting_passive_rows_are_an_error_that_names_them():
    A_p = np.array([[1.0, 0.0], [1.0, 0.0]])
    with pytest.raises(ConflictingConstraints, match=r"passive rows '(left|right)'"):
        uk.affine_acceleration(
            np.eye(2), np.zeros(2), np.eye(2), A_p, [0.0, 1.0], rows=["left", "right"]
        )


def test_a_singular_mass_matrix_is_an_error():
    with pytest.raises(SingularMass, match="fails at coordinate 1"):
        uk.affine_acceleration(np.diag([1.0, 0.0]), np.zeros(2), np.eye(2))


def test_a_metric_that_is_not_positive_definite_is_an_error():
    with pytest.raises(GainError, match="metric must be symmetric positive definite"):
        uk.servo_input(np.eye(2), np.ones(2), np.zeros(2), np.eye(2), R=np.diag([1.0, -1.0]))


def test_shapes_that_disagree_are_an_error_with_both_shapes():
    with pytest.raises(ShapeError, match=r"A must have shape \(2, 3\); got \(2, 2\)"):
        uk.servo_input(np.eye(2), np.ones(2), np.zeros(3), np.eye(3))


I2, I3, ONES = np.eye(2), np.eye(3), np.ones(3)
MISSHAPEN = [
    (lambda: uk.affine_acceleration(I2, ONES, I3), "M must have shape (3, 3); got (2, 2)."),
    (lambda: uk.affine_acceleration(I3, ONES, I2), "B must have shape (3, 2); got (2, 2)."),
    (
        lambda: uk.affine_acceleration(I3, ONES, I3, A_p=I3),
        "A_p and b_p must be given together or not at all.",
    ),
    (
        lambda: uk.affine_acceleration(I3, ONES, I3, A_p=I2, b_p=ONES[:2]),
        "A_p must have shape (2, 3); got (2, 2).",
    ),
    (lambda: uk.constraint_force(I2, ONES, I3, ONES), "M must have shape (3, 3); got (2, 2)."),
    (lambda: uk.servo_input(I2, ONES[:2], ONES, I3), "A must have shape (2, 3); got (2, 2)."),
    (lambda: uk.servo_input(I3, ONES, ONES, I2), "a_free must have shape (2,); got (3,)."),
    (
        lambda: uk.servo_input(I3, ONES, ONES, I3, R=I2),
        "R must have shape (3, 3); got (2, 2).",
    ),
    (
        lambda: uk.servo_input(I3, ONES, ONES, I3, u0=ONES[:2]),
        "u0 must have shape (3,); got (2,).",
    ),
    (lambda: uk.servo_matrix(I2, I3), "A must have shape (2, 3); got (2, 2)."),
    (lambda: uk.input_authority(I2, I3), "A must have shape (2, 3); got (2, 2)."),
    (lambda: uk.input_authority(I3, I3, B=I3), "M must be given where B is."),
    (lambda: uk.input_authority(I3, I3, M=I2, B=I3), "M must have shape (3, 3); got (2, 2)."),
    (
        lambda: uk.input_authority(I3, I3, M=I3, B=I3[:, :2]),
        "B must have shape (3, 3); got (3, 2).",
    ),
    (lambda: uk.reach_residual(I3, ONES[:2]), "H must have shape (2, 3); got (3, 3)."),
]


@pytest.mark.parametrize(("call", "says"), MISSHAPEN)
def test_every_shape_that_disagrees_is_refused_with_what_it_must_be(call, says):
    with pytest.raises(ShapeError) as caught:
        call()
    assert str(caught.value) == says


def test_the_rows_factor_reproduces_the_matrix(rng):
    H = rng.standard_normal((4, 6))
    L, Q, order, rank = pivoted_lq.py_func(H, 1e-9)
    assert rank == 4
    np.testing.assert_allclose(L[:, :rank] @ Q[:rank], H[order], **EXACT)
    np.testing.assert_allclose(Q[:rank] @ Q[:rank].T, np.eye(rank), **EXACT)


@pytest.mark.parametrize("condition", [1e2, 1e5, 1e8])
def test_the_least_norm_solution_survives_ill_conditioned_rows(rng, condition):
    U, V = (
        np.linalg.qr(rng.standard_normal((4, 4)))[0],
        np.linalg.qr(rng.standard_normal((6, 6)))[0],
    )
    H = U @ np.diag(np.geomspace(1.0, 1.0 / condition, 4)) @ V[:4]
    x = V[:4].T @ rng.standard_normal(4)
    found = np.empty(6)
    assert solve_least_norm(H, H @ x, 1e-12, found) == 4
    np.testing.assert_allclose(found, x, rtol=0.0, atol=1e-14 * condition)


def test_independent_rows_are_named_in_their_order_whichever_was_taken_first(rng):
    H, order = rng.standard_normal((6, 9)), np.empty(6, dtype=np.int64)
    assert independent_rows(H, 1e-9, order) == 6
    assert order.tolist() != sorted(order.tolist())
    assert uk.rank_report(H, list("abcdef")).independent == tuple("abcdef")


def test_the_constraint_force_of_a_mass_that_is_not_positive_is_refused():
    M = np.array([[1.0, 2.0], [2.0, 1.0]])
    with pytest.raises(SingularMass, match="fails at coordinate 1"):
        uk.constraint_force(M, np.zeros(2), np.array([[1.0, 0.0]]), np.zeros(1))
