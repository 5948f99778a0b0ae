"""Constraints enforced level by level give what they give at one stroke."""

import itertools

import numpy as np
import pytest
from scipy.linalg import null_space
from seeds import seeded

from ukctrl.core.errors import (
    ConflictingConstraints,
    GainError,
    InputError,
    ShapeError,
    UnknownName,
)
from ukctrl_papers import motion
from ukctrl_papers.motion import Hierarchy, Level
from ukctrl_papers.motion.errors import UndeterminedMotion
from ukctrl_papers.recursive import kalman_recursion as printed
from ukctrl_papers.recursive import three_rrr

EXACT = {"rtol": 0.0, "atol": 1e-9}  # accelerations of order one to a hundred
N = 9


rng = seeded(12)


def draw_mass(rng, n=N):
    axes = np.linalg.qr(rng.standard_normal((n, n)))[0]
    return (axes * rng.uniform(0.5, 2.0, n)) @ axes.T


def draw_levels(rng, independent=5, redundant=3, soft=False, n=N):
    """Consistent rows, shuffled and cut into levels, some of which may have a clearance."""
    base = np.linalg.qr(rng.standard_normal((n, n)))[0][:independent]
    A = np.vstack([base, rng.standard_normal((redundant, independent)) @ base])
    A = A[rng.permutation(len(A))]
    b = A @ rng.standard_normal(n)
    cuts = np.sort(rng.choice(np.arange(1, len(A)), size=2, replace=False))
    levels = []
    for k, rows in enumerate(np.split(np.arange(len(A)), cuts)):
        root = rng.standard_normal((len(rows), len(rows)))
        R = root @ root.T + 0.1 * np.eye(len(rows)) if soft and k != 1 else None
        levels.append(Level(f"level {k}", A[rows], b[rows], R))
    return levels


def test_any_grouping_and_any_order_give_the_motion_at_one_stroke(rng):
    M, Q, levels = draw_mass(rng), rng.standard_normal(N), draw_levels(rng)
    whole = motion.solve(
        M, Q, np.vstack([level.A for level in levels]), np.hstack([level.b for level in levels])
    )
    for order in itertools.permutations(levels):
        system = Hierarchy.module(M, Q)
        for level in order:
            system = system.enforce(level)
        np.testing.assert_allclose(system.a, whole.a, **EXACT)
        np.testing.assert_allclose(system.force, whole.force, **EXACT)
        assert system.freedom == N - 5
        assert sum(finding.rank for finding in system.findings) == 5
        assert sum(len(finding.redundant) for finding in system.findings) == 3


def test_it_is_the_kalman_filter_of_the_paper(rng):
    M, Q = draw_mass(rng), rng.standard_normal(N)
    system = Hierarchy.module(M, Q)
    root, _, a_0 = printed.mass_weighted(M, Q, np.zeros((0, N)))
    estimate = printed.KalmanEstimate(a_0, np.eye(N))
    for level in draw_levels(rng):
        system = system.enforce(level)
        estimate = printed.measurement_update(estimate, level.A @ root, level.b)
        np.testing.assert_allclose(system.a, root @ estimate.a, **EXACT)
        np.testing.assert_allclose(system.W, root @ estimate.P @ root, **EXACT)


def test_levels_with_clearance_are_the_batch_estimate(rng):
    M, Q = draw_mass(rng), rng.standard_normal(N)
    A, b = rng.standard_normal((6, N)), rng.standard_normal(6)
    R = np.diag(rng.uniform(0.1, 3.0, 6))
    system = Hierarchy.module(M, Q)
    for rows in (slice(0, 1), slice(1, 4), slice(4, 6)):
        system = system.enforce(Level(f"{rows.start}", A[rows], b[rows], R[rows, rows]))
    stiff = A.T @ np.linalg.solve(R, A)
    np.testing.assert_allclose(system.W, np.linalg.inv(M + stiff), **EXACT)
    batch = np.linalg.solve(M + stiff, Q + A.T @ np.linalg.solve(R, b))
    np.testing.assert_allclose(system.a, batch, **EXACT)
    assert system.freedom == N


def test_exact_rows_and_clearances_mix_in_any_order(rng):
    M, Q, levels = draw_mass(rng), rng.standard_normal(N), draw_levels(rng, redundant=0, soft=True)
    (hard,) = [level for level in levels if level.R is None]
    soft = [level for level in levels if level.R is not None]
    stiff = sum(level.A.T @ np.linalg.solve(level.R, level.A) for level in soft)
    push = sum(level.A.T @ np.linalg.solve(level.R, level.b) for level in soft)
    m = len(hard.b)
    K = np.block([[M + stiff, hard.A.T], [hard.A, np.zeros((m, m))]])
    exact = np.linalg.solve(K, np.concatenate([Q + push, hard.b]))[:N]
    for order in itertools.permutations(levels):
        system = Hierarchy.module(M, Q)
        for level in order:
            system = system.enforce(level)
        np.testing.assert_allclose(system.a, exact, **EXACT)
        np.testing.assert_allclose(system.W, np.linalg.inv(K)[:N, :N], **EXACT)


def test_a_clearance_goes_from_none_to_free(rng):
    M, Q = draw_mass(rng), rng.standard_normal(N)
    A, b = rng.standard_normal((3, N)), rng.standard_normal(3)
    tight = Hierarchy.module(M, Q).enforce(Level("pins", A, b, 1e-12 * np.eye(3)))
    loose = Hierarchy.module(M, Q).enforce(Level("pins", A, b, 1e12 * np.eye(3)))
    np.testing.assert_allclose(tight.a, motion.acceleration(M, Q, A, b), **EXACT)
    np.testing.assert_allclose(loose.a, np.linalg.solve(M, Q), **EXACT)


def test_taking_back_any_level_is_as_if_it_had_never_been(rng):
    M, Q, levels = draw_mass(rng), rng.standard_normal(N), draw_levels(rng)
    system = Hierarchy.module(M, Q)
    for level in levels:
        system = system.enforce(level)
    for taken in levels:
        left = [level for level in levels if level is not taken]
        fewer = system.without(taken.name)
        A, b = np.vstack([level.A for level in left]), np.hstack([level.b for level in left])
        np.testing.assert_allclose(fewer.a, motion.acceleration(M, Q, A, b), **EXACT)
        assert fewer.levels == tuple(level.name for level in left)
    assert system.without(levels[-1].name) is system.below


def test_rows_that_lower_levels_imply_are_named_and_have_no_innovation(rng):
    M, Q = draw_mass(rng), rng.standard_normal(N)
    A, b = rng.standard_normal((3, N)), rng.standard_normal(3)
    again = Level("again", [2.0 * A[0] - A[2], *rng.standard_normal((1, N))],
                  [2.0 * b[0] - b[2], 0.3], rows=("old", "new"))  # fmt: skip
    system = Hierarchy.module(M, Q).enforce(Level("first", A, b)).enforce(again)
    finding = system.findings[-1]
    assert (finding.level, finding.rank, finding.redundant) == ("again", 1, ("old",))
    np.testing.assert_allclose(finding.variance[0], 0.0, atol=1e-20)
    assert finding.variance[1] > 1e-3
    whole = system.enforce(Level("all", np.vstack([A, again.A]), np.append(b, again.b)))
    assert whole.findings[-1].rank == 0
    assert len(whole.findings[-1].redundant) == 5
    np.testing.assert_allclose(whole.a, system.a, **EXACT)


def test_a_level_that_contradicts_the_lower_ones_is_refused_by_row():
    below = Hierarchy.module(np.eye(2), np.zeros(2)).enforce(Level("x", [[1.0, 0.0]], [1.0]))
    with pytest.raises(ConflictingConstraints, match="'x again'"):
        below.enforce(Level("more", [[2.0, 0.0], [0.0, 1.0]], [3.0, 0.0], rows=("x again", "y")))


@pytest.mark.slow(only=["0.0", "1.0"])
@pytest.mark.parametrize("t", np.linspace(0.0, 6.0, 7))
def test_the_3rrr_robot_is_the_same_by_levels_at_one_stroke_and_in_three_coordinates(t):
    s, s_dot, s_ddot = three_rrr.path(t)
    at = three_rrr.state(s, s_dot)
    u = three_rrr.torques(at, s_ddot)
    robot = three_rrr.robot(at, u)
    A, b = three_rrr.all_rows(at, u)
    np.testing.assert_allclose(A @ at.T, 0.0, **EXACT)
    np.testing.assert_allclose(A @ at.drift, b, **EXACT)
    np.testing.assert_allclose(robot.a, motion.acceleration(robot.M, robot.Q, A, b), **EXACT)
    np.testing.assert_allclose(robot.a, three_rrr.reduced_accelerations(at, u), **EXACT)
    np.testing.assert_allclose(robot.a[robot.columns["platform"]], s_ddot, **EXACT)
    assert robot.levels == ("A.joints", "B.joints", "C.joints", "platform")
    assert (A.shape, robot.freedom) == ((15, 18), 3)


def test_the_3rrr_robot_loses_a_joint_inside_a_leg():
    s, s_dot, s_ddot = three_rrr.path(1.0)
    at = three_rrr.state(s, s_dot)
    u = three_rrr.torques(at, s_ddot)
    robot = three_rrr.robot(at, u)
    A, b = three_rrr.all_rows(at, u)
    keep = [*range(3), *range(6, 15)]
    broken = robot.without("B.joints")
    exact = motion.acceleration(robot.M, robot.Q, A[keep], b[keep])
    np.testing.assert_allclose(broken.a, exact, **EXACT)
    assert broken.freedom == 6


def test_a_module_may_lack_mass_where_its_own_rows_hold_it(rng):
    n = 5
    axes = np.linalg.qr(rng.standard_normal((n, n)))[0]
    M = (axes * np.append(rng.uniform(0.5, 2.0, n - 1), 0.0)) @ axes.T
    A, b, Q = rng.standard_normal((2, n)), rng.standard_normal(2), rng.standard_normal(n)
    more = Level("more", rng.standard_normal((1, n)), rng.standard_normal(1))
    system = Hierarchy.module(M, Q, A, b).enforce(more)
    Z = null_space(np.vstack([A, more.A]))
    softest = np.linalg.eigvalsh(Z.T @ M @ Z)[0]
    whole = motion.acceleration(
        M, Q, np.vstack([A, more.A]), np.append(b, more.b), form="partitioned"
    )
    np.testing.assert_allclose(system.a, whole, rtol=0.0, atol=1e-11 / softest)
    with pytest.raises(UndeterminedMotion):
        Hierarchy.module(np.diag([1.0, 0.0]), np.zeros(2))


def test_bad_levels_and_names_are_refused():
    module = Hierarchy.module(np.eye(2), np.zeros(2))
    pair = Hierarchy.assemble({"left": module, "right": module})
    with pytest.raises(UnknownName, match="did you mean 'left'"):
        pair.rows({"lefft": np.eye(2)})
    with pytest.raises(ShapeError, match="block 'right' must have shape"):
        pair.rows({"left": np.eye(2), "right": np.eye(3)})
    with pytest.raises(ShapeError, match="A must have shape"):
        pair.enforce(Level("pins", np.eye(2), np.zeros(2)))
    with pytest.raises(GainError, match="clearance R must be symmetric positive definite"):
        module.enforce(Level("pins", np.eye(2), np.zeros(2), np.diag([1.0, 0.0])))
    tied = module.enforce(Level("pins", np.eye(2), np.zeros(2)))
    with pytest.raises(InputError, match="levels must have different names"):
        tied.enforce(Level("pins", np.eye(2), np.zeros(2)))
    with pytest.raises(UnknownName, match="no level named 'pin'; did you mean 'pins'"):
        tied.without("pin")
    with pytest.raises(ShapeError, match="rows must name 2 rows"):
        Level("pins", np.eye(2), np.zeros(2), rows=("x",))
    with pytest.raises(InputError, match="at least one part"):
        Hierarchy.assemble({})


def test_a_dot_in_the_name_of_a_part_is_refused():
    leg = Hierarchy.module([[1.0]], [0.0])
    with pytest.raises(InputError, match="must have no dot; got 'a.b'"):
        Hierarchy.assemble({"a.b": leg, "a": Hierarchy.assemble({"b": leg})})
