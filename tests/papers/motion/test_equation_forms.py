"""Nine equations of motion, one answer: each form against routes that share nothing with it."""

import mpmath
import numpy as np
import pytest
from scipy.linalg import null_space, pinv, sqrtm
from seeds import seeded

from ukctrl import Robot, uk
from ukctrl.core.algebra.rank_policy import RankPolicy
from ukctrl.core.errors import (
    ConflictingConstraints,
    InputError,
    ShapeError,
    SingularMass,
    UnknownName,
)
from ukctrl.mechanics.dynamics import Dynamics
from ukctrl_papers import motion, parallelogram
from ukctrl_papers.motion import FORMS
from ukctrl_papers.motion.errors import DependentRows, UndeterminedMotion, UnsuitableForm
from ukctrl_papers.pseudoinverse import METHODS

EXACT = {"rtol": 0.0, "atol": 1e-9}  # accelerations of order one to a hundred
SMOOTH = [name for name, card in FORMS.items() if not card.definite]
REDUNDANT = [name for name, card in FORMS.items() if not card.independent]
INVERTING = [name for name, card in FORMS.items() if card.inverts]

every_form = pytest.mark.parametrize("form", list(FORMS))


rng = seeded(12)


def draw_mass(rng, n, massless=0):
    """A mass matrix with eigenvalues between 1/2 and 2, and as many zeros as asked for."""
    axes = np.linalg.qr(rng.standard_normal((n, n)))[0]
    values = np.append(rng.uniform(0.5, 2.0, n - massless), np.zeros(massless))
    return (axes * values) @ axes.T


def draw_rows(rng, n, independent, redundant=0):
    """Consistent rows with singular values of order one, some of which follow from others."""
    base = np.linalg.qr(rng.standard_normal((n, n)))[0][:independent]
    A = np.vstack([base, rng.standard_normal((redundant, independent)) @ base])
    A = A[rng.permutation(len(A))]
    return A, A @ rng.standard_normal(n)


def reduced(M, Q, A, b):
    """The motion in independent coordinates: a = a_p + Z y, by a basis of the null space."""
    a_p = np.linalg.lstsq(A, b, rcond=1e-10)[0]
    Z = null_space(A, rcond=1e-10)
    return a_p + Z @ np.linalg.solve(Z.T @ M @ Z, Z.T @ (Q - M @ a_p))


def in_fifty_digits(M, Q, A, b):
    """The Lagrange equations on independent rows, solved with fifty digits."""
    n, m = len(Q), len(b)
    with mpmath.workdps(50):
        K = mpmath.zeros(n + m)
        right = mpmath.zeros(n + m, 1)
        for i in range(n):
            right[i] = mpmath.mpf(float(Q[i]))
            for j in range(n):
                K[i, j] = mpmath.mpf(float(M[i, j]))
        for i in range(m):
            right[n + i] = mpmath.mpf(float(b[i]))
            for j in range(n):
                K[n + i, j] = K[j, n + i] = mpmath.mpf(float(A[i, j]))
        solution = mpmath.lu_solve(K, right)
        return np.array([float(solution[i]) for i in range(n)])


@every_form
def test_each_form_gives_the_motion_in_independent_coordinates(rng, form):
    n = int(rng.integers(3, 12))
    M, Q = draw_mass(rng, n), rng.standard_normal(n)
    A, b = draw_rows(rng, n, int(rng.integers(1, n)))
    found = motion.acceleration(M, Q, A, b, form)
    np.testing.assert_allclose(found, reduced(M, Q, A, b), **EXACT)


def draw_ill_conditioned(n=8, m=4, decades=3):
    """A mass matrix of condition 1e6 and rows of condition 1e3, or as many decades as asked."""
    rng = np.random.default_rng(3)
    axes = np.linalg.qr(rng.standard_normal((n, n)))[0]
    M = (axes * np.logspace(-3, 3, n)) @ axes.T
    M = 0.5 * (M + M.T)
    base = np.linalg.qr(rng.standard_normal((m, m)))[0]
    A = (base * np.logspace(0, -decades, m)) @ np.linalg.qr(rng.standard_normal((n, n)))[0][:m]
    return M, rng.standard_normal(n), A, A @ rng.standard_normal(n)


@pytest.mark.parametrize("form", [name for name in FORMS if name != "multiplier"])
def test_a_form_agrees_with_fifty_digits_on_an_ill_conditioned_system(form):
    M, Q, A, b = draw_ill_conditioned()
    exact = in_fifty_digits(M, Q, A, b)
    found = motion.acceleration(M, Q, A, b, form)
    np.testing.assert_allclose(found, exact, rtol=0.0, atol=1e-7 * np.abs(exact).max())


def test_the_form_that_squares_the_condition_number_says_when_that_is_too_much():
    with pytest.raises(UnsuitableForm) as caught:
        motion.solve(*draw_ill_conditioned(decades=5), "multiplier")
    assert str(caught.value) == (
        "form 'multiplier' loses its accuracy here: masses or rows are too close to dependent for "
        "it (smallest singular value of the rows 6.9e-06 of the largest). Use another form, such "
        "as 'null_space' or 'kkt' or 'udwadia_kalaba'."
    )


@pytest.mark.parametrize("form", REDUNDANT)
def test_redundant_rows_change_nothing(rng, form):
    n = int(rng.integers(3, 12))
    M, Q = draw_mass(rng, n), rng.standard_normal(n)
    A, b = draw_rows(rng, n, int(rng.integers(1, n)), redundant=int(rng.integers(1, 4)))
    found = motion.acceleration(M, Q, A, b, form)
    np.testing.assert_allclose(found, reduced(M, Q, A, b), **EXACT)


@pytest.mark.parametrize("form", SMOOTH)
def test_massless_directions_are_determined_by_the_rows(rng, form):
    n = int(rng.integers(4, 12))
    massless = int(rng.integers(1, n // 2))
    M, Q = draw_mass(rng, n, massless), rng.standard_normal(n)
    A, b = draw_rows(rng, n, n - 2, redundant=2)
    Z = null_space(A, rcond=1e-10)
    softest = np.linalg.eigvalsh(Z.T @ M @ Z)[0]
    found = motion.acceleration(M, Q, A, b, form)
    exact = reduced(M, Q, A, b)
    np.testing.assert_allclose(found, exact, rtol=0.0, atol=1e-11 / softest)


@pytest.mark.parametrize("form", REDUNDANT)
def test_a_system_without_freedom_obeys_its_rows_alone(rng, form):
    M, Q = draw_mass(rng, 5), rng.standard_normal(5)
    A, b = draw_rows(rng, 5, 5, redundant=2)
    found = motion.acceleration(M, Q, A, b, form)
    np.testing.assert_allclose(found, np.linalg.lstsq(A, b, rcond=None)[0], **EXACT)


@every_form
def test_without_rows_the_motion_is_free(rng, form):
    M, Q = draw_mass(rng, 5), rng.standard_normal(5)
    found = motion.acceleration(M, Q, np.zeros((0, 5)), np.zeros(0), form)
    np.testing.assert_allclose(found, np.linalg.solve(M, Q), **EXACT)


@every_form
@pytest.mark.parametrize("theta", [-0.25 * np.pi, 0.3, 2.0])
def test_the_overconstrained_linkage_is_a_pendulum(form, theta):
    M, Q, A, b = parallelogram.linkage_arrays(theta, rate=1.3)
    if FORMS[form].independent:
        with pytest.raises(DependentRows):
            motion.solve(M, Q, A, b, form)
        A, b = A[:-1], b[:-1]
    found = motion.acceleration(M, Q, A, b, form)
    np.testing.assert_allclose(found, parallelogram.acceleration(theta, 1.3), **EXACT)


def test_the_linkage_has_the_rank_that_the_paper_states():
    _, _, A, _ = parallelogram.linkage_arrays(-0.25 * np.pi, rate=0.0)
    assert A.shape == (12, 12)
    assert uk.rank_report(A).rank == 11
    assert uk.rank_report(parallelogram.linkage_arrays(0.0, 0.0).A).rank == 10


@every_form
def test_the_kernel_of_the_control_loop_says_the_same(rng, form):
    M, Q = draw_mass(rng, 7), rng.standard_normal(7)
    A, b = draw_rows(rng, 7, 3)
    found = motion.solve(M, Q, A, b, form)
    loop = uk.affine_acceleration(M, Q, np.zeros((7, 1)), A, b)
    pushed = uk.reaction(M, Q, A, b)
    np.testing.assert_allclose(found.a, loop.a_free, **EXACT)
    np.testing.assert_allclose(found.force, pushed.force, **EXACT)
    np.testing.assert_allclose(found.lam, pushed.lam, **EXACT)


@pytest.mark.parametrize("form", REDUNDANT)
def test_the_linkage_of_the_catalogue_moves_as_each_form_says(form):
    dynamics = Dynamics(Robot.load("five_bar"))
    dynamics.move(0.0, *parallelogram.closed_configuration(-0.7, 1.3))
    s, rows = dynamics.snapshot, dynamics.passive.rows
    found = motion.solve(s.M, s.f - s.nle, rows.A, rows.b, form)
    np.testing.assert_allclose(found.a, dynamics.a_free, **EXACT)
    np.testing.assert_allclose(found.a, parallelogram.acceleration(-0.7, 1.3), **EXACT)


@every_form
def test_no_motion_that_obeys_the_rows_is_closer_to_the_free_one(rng, form):
    M, Q = draw_mass(rng, 6), rng.standard_normal(6)
    A, b = draw_rows(rng, 6, 3)
    a, free = motion.acceleration(M, Q, A, b, form), np.linalg.solve(M, Q)
    other = a + null_space(A) @ rng.standard_normal(3)
    assert (a - free) @ M @ (a - free) < (other - free) @ M @ (other - free)


def test_the_symmetric_root_of_the_printed_formula_gives_the_same(rng):
    M, Q = draw_mass(rng, 6), rng.standard_normal(6)
    A, b = draw_rows(rng, 6, 3, redundant=1)
    root = np.linalg.inv(sqrtm(M).real)
    free = np.linalg.solve(M, Q)
    printed = free + root @ np.linalg.pinv(A @ root, rcond=1e-9) @ (b - A @ free)
    np.testing.assert_allclose(motion.acceleration(M, Q, A, b), printed, **EXACT)


@every_form
def test_units_of_coordinates_and_rows_cancel(rng, form):
    M, Q = draw_mass(rng, 6), rng.standard_normal(6)
    A, b = draw_rows(rng, 6, 3, redundant=0 if FORMS[form].independent else 2)
    unit = 10.0 ** rng.uniform(-6, 6, 6)  # a' = unit * a
    row = 10.0 ** rng.uniform(-6, 6, len(b))
    a = motion.acceleration(M, Q, A, b, form)
    M_, A_ = M / unit / unit[:, None], row[:, None] * A / unit
    found = motion.acceleration(M_, Q / unit, A_, row * b, form)
    np.testing.assert_allclose(found / unit, a, **EXACT)


@pytest.mark.parametrize("form", INVERTING)
@pytest.mark.parametrize("method", METHODS)
def test_the_pseudoinverse_may_be_computed_by_any_method(rng, form, method):
    M, Q = draw_mass(rng, 6), rng.standard_normal(6)
    A, b = draw_rows(rng, 6, 3, redundant=2)
    found = motion.acceleration(M, Q, A, b, form, inverse=method)
    np.testing.assert_allclose(found, reduced(M, Q, A, b), rtol=0.0, atol=1e-8)


@pytest.mark.parametrize("form", INVERTING)
def test_the_pseudoinverse_may_be_a_function_of_ones_own(rng, form):
    def own(X, rtol):
        return pinv(X, rtol=rtol)

    M, Q = draw_mass(rng, 6), rng.standard_normal(6)
    A, b = draw_rows(rng, 6, 3, redundant=2)
    found = motion.acceleration(M, Q, A, b, form, inverse=own)
    np.testing.assert_allclose(found, motion.acceleration(M, Q, A, b, form), **EXACT)


@pytest.mark.parametrize("form", INVERTING)
def test_a_wrong_pseudoinverse_is_not_believed(rng, form):
    def sloppy(X, rtol):
        return 1.001 * pinv(X, rtol=rtol)

    M, Q = draw_mass(rng, 6), rng.standard_normal(6)
    A, b = draw_rows(rng, 6, 3)
    with pytest.raises(UnsuitableForm, match=f"'{form}' loses its accuracy"):
        motion.solve(M, Q, A, b, form, inverse=sloppy)


@every_form
def test_stabilised_rows_make_the_violation_decay(rng, form):
    M, Q = draw_mass(rng, 6), rng.standard_normal(6)
    A, b = draw_rows(rng, 6, 3)
    phi, beta = rng.standard_normal(3), rng.standard_normal(3)
    right = motion.stabilised(b, beta, phi, alpha_gain=8.0, beta_gain=16.0)
    phi_second = A @ motion.acceleration(M, Q, A, right, form) - b
    np.testing.assert_allclose(phi_second + 8.0 * beta + 16.0 * phi, 0.0, atol=1e-9)


@pytest.mark.parametrize("form", REDUNDANT)
def test_conflicting_rows_are_named(form):
    A = np.array([[1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [2.0, 1.0, 0.0]])
    with pytest.raises(ConflictingConstraints, match="'sum'"):
        motion.solve(np.eye(3), np.zeros(3), A, [1.0, 1.0, 5.0], form, rows=["x", "x+y", "sum"])


@pytest.mark.parametrize("form", SMOOTH)
def test_coordinates_that_nothing_determines_are_named(form):
    M = np.diag([1.0, 0.0, 0.0, 2.0])
    A = np.array([[1.0, 1.0, 0.0, 0.0]])
    with pytest.raises(UndeterminedMotion, match="accelerations of 'spin'") as caught:
        motion.solve(M, np.zeros(4), A, [0.5], form, coordinates=["x", "y", "spin", "z"])
    assert caught.value.coordinates == ("spin",)
    assert caught.value.missing == 1


@pytest.mark.parametrize("form", [name for name, card in FORMS.items() if card.least_norm])
def test_the_least_acceleration_is_given_when_asked_for(rng, form):
    n, loose = 7, 2
    axes = np.linalg.qr(rng.standard_normal((n, n)))[0]
    N, rest = axes[:, :loose], axes[:, loose:]
    M = rest @ draw_mass(rng, n - loose, massless=1) @ rest.T
    A = draw_rows(rng, n - loose, 3, redundant=1)[0] @ rest.T
    Q, b = rest @ rng.standard_normal(n - loose), A @ rng.standard_normal(n)
    found = motion.solve(M, Q, A, b, form, undetermined="least_norm")
    K = np.block([[M, A.T], [A, np.zeros((len(b), len(b)))]])
    least = np.linalg.pinv(K, rcond=1e-10) @ np.concatenate([Q, b])
    np.testing.assert_allclose(found.a, least[:n], rtol=0.0, atol=1e-8)
    np.testing.assert_allclose(N.T @ found.a, 0.0, **EXACT)
    with pytest.raises(UndeterminedMotion, match="A force acts along them"):
        motion.solve(M, Q + N[:, 0], A, b, form, undetermined="least_norm")


@pytest.mark.parametrize("size", [1e-3, 1.0, 1e6])
@pytest.mark.parametrize("form", [name for name, card in FORMS.items() if card.least_norm])
def test_a_loose_coordinate_on_which_nothing_acts_stays_where_it_is(rng, form, size):
    """Its force is exactly zero, and rounding is not weighed against rounding."""
    M, A = np.zeros((6, 6)), np.zeros((2, 6))
    at = rng.permutation(6)[:4]  # the other two are loose
    M[np.ix_(at, at)] = draw_mass(rng, 4)
    A[:, at] = draw_rows(rng, 4, 2)[0]
    Q, b = np.zeros(6), rng.standard_normal(2)
    Q[at] = size * rng.standard_normal(4)
    found = motion.solve(M, Q, A, b, form, undetermined="least_norm").a
    alone = motion.solve(M[np.ix_(at, at)], Q[at], A[:, at], b).a
    scale = 1.0 + np.abs(alone).max()
    np.testing.assert_allclose(found[at] / scale, alone / scale, rtol=0.0, atol=1e-9)
    np.testing.assert_allclose(np.delete(found, at) / scale, 0.0, rtol=0.0, atol=1e-12)
    Q[np.delete(np.arange(6), at)] = 1e-6 * size
    with pytest.raises(UndeterminedMotion, match="A force acts along them"):
        motion.solve(M, Q, A, b, form, undetermined="least_norm")


@pytest.mark.parametrize("form", [name for name, card in FORMS.items() if card.least_norm])
def test_an_unforced_direction_is_told_from_one_with_hardly_any_mass(rng, form):
    """Rounding turns the massless direction towards the light one, on which a force acts."""
    light, axes = 1e-6, np.linalg.qr(rng.standard_normal((5, 5)))[0]
    M = (axes * [0.0, light, 1.0, 1.0, 1.0]) @ axes.T
    Q, A = axes[:, 1:] @ rng.standard_normal(4), np.zeros((0, 5))
    found = motion.solve(M, Q, A, np.zeros(0), form, undetermined="least_norm")
    expected = axes[:, 1:] @ ((axes[:, 1:].T @ Q) / [light, 1.0, 1.0, 1.0])
    np.testing.assert_allclose(found.a, expected, rtol=0.0, atol=1e-2)  # of 1e6
    with pytest.raises(UndeterminedMotion, match="A force acts along them"):
        motion.solve(M, Q + 1e-3 * axes[:, 0], A, np.zeros(0), form, undetermined="least_norm")


@pytest.mark.parametrize("unit", [1.0, 1e-4, 1e-9])
def test_multipliers_do_not_depend_on_the_units_of_rows(rng, unit):
    """A row in millimetres beside one in megametres transmits what it did."""
    M, Q = draw_mass(rng, 6), rng.standard_normal(6)
    A, b = draw_rows(rng, 6, 3)
    units = np.array([1.0, unit, 1.0])
    lam = np.linalg.lstsq(A.T, M @ motion.acceleration(M, Q, A, b) - Q, rcond=None)[0]
    scaled, right = units[:, None] * A, units * b
    found = motion.solve(M, Q, scaled, right).lam, uk.reaction(M, Q, scaled, right).lam
    for each in found:
        np.testing.assert_allclose(each * units, lam, rtol=0.0, atol=1e-7)


def test_out_of_plane_rows_that_are_only_rounding_transmit_nothing(rng):
    """A hinge of a planar mechanism, as a closure in space gives it."""
    M, Q = draw_mass(rng, 4), rng.standard_normal(4)
    plane, b = draw_rows(rng, 4, 2)
    rows, right = np.vstack([plane, 1e-17 * rng.standard_normal((3, 4))]), np.append(b, np.zeros(3))
    found = uk.reaction(M, Q, rows, right)
    assert found.rank == 2
    np.testing.assert_allclose(found.force, uk.constraint_force(M, Q, plane, b), **EXACT)
    np.testing.assert_allclose(found.lam[2:], 0.0, **EXACT)


@pytest.mark.parametrize("load", [1.0, 1e6, 1e12])
def test_a_structure_without_freedoms_stands_still_under_any_load(rng, load):
    """What rounding leaves of a load that reactions cancel is no contradiction."""
    M, A = draw_mass(rng, 4), rng.standard_normal((6, 4))
    Q = load * rng.standard_normal(4)
    found = uk.reaction(M, Q, A, np.zeros(6))
    np.testing.assert_allclose(found.force / load, -Q / load, rtol=0.0, atol=1e-12)
    uk.affine_acceleration(M, Q, np.eye(4), A, np.zeros(6))


@pytest.mark.parametrize("form", [name for name, card in FORMS.items() if card.definite])
def test_a_singular_mass_matrix_is_refused_by_forms_that_cannot_take_it(form):
    with pytest.raises(SingularMass, match=f"'{form}' needs a positive definite.* along 'y'"):
        motion.solve(
            np.diag([1.0, 0.0]), np.zeros(2), [[1.0, 1.0]], [0.0], form, coordinates=["x", "y"]
        )


@every_form
def test_an_indefinite_mass_matrix_is_refused(form):
    with pytest.raises(SingularMass, match="'y' has -1"):
        motion.solve(
            np.diag([1.0, -1.0]), np.zeros(2), [[1.0, 1.0]], [0.0], form, coordinates=["x", "y"]
        )
    with pytest.raises(SingularMass, match="smallest eigenvalue is -1"):
        motion.solve([[1.0, 2.0], [2.0, 1.0]], np.zeros(2), [[1.0, 1.0]], [0.0], form)


@every_form
@pytest.mark.parametrize("scale", [1e-300, 1e300])
def test_the_size_of_rows_does_not_matter_even_where_squares_overflow(form, scale):
    M, Q, A, b = np.diag([1.0, 2.0, 3.0]), np.ones(3), np.array([[1.0, 2.0, -1.0]]), np.array([2.0])
    unit = np.block([[M, A.T], [A, np.zeros((1, 1))]])
    wanted = np.linalg.solve(unit, [1.0, 1.0, 1.0, 2.0])[:3]
    np.testing.assert_allclose(
        motion.acceleration(M, Q, scale * A, scale * b, form), wanted, rtol=1e-12
    )


@pytest.mark.parametrize(
    ("M", "message"), [([[1j]], "M must be real"), ("a", "a table of numbers; got 'a'")]
)
def test_what_is_no_table_of_real_numbers_is_refused(M, message):
    with pytest.raises(InputError, match=message):
        motion.solve(M, [1.0], [[1.0]], [1.0])


def test_bad_arguments_are_refused_with_what_must_hold():
    M, Q, A, b = np.eye(2), np.zeros(2), [[1.0, 1.0]], [0.0]
    with pytest.raises(UnknownName, match="did you mean 'kkt'"):
        motion.solve(M, Q, A, b, "ktt")
    with pytest.raises(UnknownName, match="named .sdv.; did you mean .svd."):
        motion.solve(M, Q, A, b, inverse="sdv")
    with pytest.raises(ShapeError, match="A must have shape"):
        motion.solve(M, Q, [[1.0]], b)
    with pytest.raises(InputError, match="coordinates must name 2 columns; got 1 names"):
        motion.solve(M, Q, A, b, coordinates=["x"])
    with pytest.raises(InputError, match="cannot give the least norm"):
        motion.solve(np.zeros((2, 2)), Q, A, b, "kkt", undetermined="least_norm")


def test_the_threshold_of_the_policy_decides_what_is_redundant():
    A = np.array([[1.0, 0.0, 0.0], [1.0, 1e-5, 0.0]])
    right, M, Q = [0.0, 0.0], np.eye(3), np.array([0.0, 1.0, 0.0])
    kept = motion.acceleration(M, Q, A, right)
    dropped = motion.acceleration(M, Q, A, right, rank=RankPolicy(passive=1e-3, reach=1.0))
    np.testing.assert_allclose(kept, [0.0, 0.0, 0.0], atol=1e-9)
    np.testing.assert_allclose(dropped, [0.0, 1.0, 0.0], atol=1e-4)
