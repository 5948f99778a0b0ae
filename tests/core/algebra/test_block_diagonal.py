"""Bodies that share nothing give, one after the other, what all of them give together."""

import numpy as np
import pytest

from ukctrl.core.algebra import block_diagonal, dynamics_kernels, input_authority, least_norm_input
from ukctrl.core.algebra.gram_input import input_buffers
from ukctrl.core.arrays import MIN_MAPPED_BYTES, lazy_zeros
from ukctrl.robot import Robot
from ukctrl.simulation.record.sample_kernels import AuthorityRecord, record_orthogonal_authority

CLOSE = {"rtol": 1e-12, "atol": 1e-12}
BODIES, APART = 20, 3
SIZE = BODIES * APART


@pytest.fixture
def robots():
    """Return twenty bodies of three freedoms and two motors each, as one robot."""
    rng = np.random.default_rng(0)
    M, B = np.zeros((SIZE, SIZE)), np.zeros((SIZE, 2 * BODIES))
    for k in range(BODIES):
        own, S = slice(APART * k, APART * (k + 1)), rng.standard_normal((APART, APART))
        M[own, own] = S @ S.T + APART * np.eye(APART)
        B[own, 2 * k : 2 * k + 2] = rng.standard_normal((APART, 2))
    ties = block_diagonal.mass_blocks(np.repeat(np.arange(BODIES), APART), B != 0.0)
    return rng, ties, M, B


def answers(solve, M, nle, B):
    n, nu = B.shape
    written = dynamics_kernels.AccelerationMap(
        np.zeros((n, n)), np.zeros(n), np.zeros((n, nu)), np.zeros(nu)
    )
    code = solve(dynamics_kernels.EquationOfMotion(M, nle, np.ones(n), B), written)
    return code, *written


def test_ties_say_where_the_block_of_each_freedom_is(robots):
    _, ties, M, B = robots
    for i, (begin, end, first, beyond) in enumerate(ties):
        assert begin <= i < end
        assert not M[i, :begin].any()
        assert not M[i, end:].any()
        assert not B[i, :first].any()
        assert not B[i, beyond:].any()
    np.testing.assert_array_equal(ties[5], [3, 6, 2, 4])


@pytest.mark.parametrize(
    "change", ["a motor pushes two", "motors in another order", "trees in another order", "few"]
)
def test_bodies_whose_blocks_do_not_follow_each_other_hang_together(robots, change):
    _, _, _, B = robots
    trees = np.repeat(np.arange(BODIES), APART)
    if change == "a motor pushes two":
        B[0, -1] = 1.0
    elif change == "motors in another order":
        B = B[:, ::-1]
    elif change == "trees in another order":
        order = np.r_[APART : 2 * APART, :APART, 2 * APART : len(B)]
        B, trees = B[order], trees[order]
    else:
        B, trees = B[:6, :4], trees[:6]
    np.testing.assert_array_equal(
        block_diagonal.mass_blocks(trees, B != 0.0), block_diagonal.single_block(*B.shape)
    )


@pytest.mark.slow
def test_the_answer_body_by_body_is_that_of_all_together(robots):
    rng, ties, M, B = robots
    nle = rng.standard_normal(SIZE)
    together = answers(dynamics_kernels.unconstrained_acceleration, M, nle, B)
    apart = answers(lambda *given: block_diagonal.blockwise_acceleration(ties, *given), M, nle, B)
    for ours, wanted in zip(apart, together, strict=True):
        np.testing.assert_allclose(ours, wanted, **CLOSE)
    M[40, 40] = -1.0
    assert (
        answers(lambda *given: block_diagonal.blockwise_acceleration(ties, *given), M, nle, B)[0]
        == -41
    )


@pytest.mark.slow(only=["0.0-False-each of one body"])
@pytest.mark.parametrize("rows", ["each of one body", "one ties two", "one is zero"])
@pytest.mark.parametrize("weak", [False, True])
@pytest.mark.parametrize("reach", [0.0, 1e-6])
def test_the_input_body_by_body_is_the_least_that_meets_all_rows(robots, rows, weak, reach):
    rng, ties, M, B = robots
    _, L, a_free, G, motors = answers(
        dynamics_kernels.unconstrained_acceleration, M, rng.standard_normal(SIZE), B
    )
    m = SIZE // 2
    A = np.zeros((m, SIZE))
    for i, freedom in enumerate(rng.permutation(SIZE)[:m]):  # in no order
        A[i, freedom] = 1.0
        if freedom % APART:
            A[i, freedom - 1] = rng.standard_normal()
    if rows == "one ties two":
        A[0] = 1.0
    elif rows == "one is zero":
        A[0] = 0.0
    if weak:
        G[APART : 2 * APART] *= 1e-6
    b, u0 = rng.standard_normal(m), rng.standard_normal(2 * BODIES)
    found, desk = [], input_buffers(m, SIZE, 2 * BODIES, False)
    nothing, kept = block_diagonal.kept_owners(0), block_diagonal.kept_owners(m)
    for solve in (
        lambda *given: least_norm_input.checked_input(desk, *given),
        lambda *given: block_diagonal.blockwise_input(ties, nothing, *given),
        lambda *given: block_diagonal.blockwise_input(ties, kept, *given),
        lambda *given: block_diagonal.blockwise_input(ties, kept, *given),
    ):
        u, miss = np.zeros(2 * BODIES), np.zeros(m)
        demand = least_norm_input.ServoProblem(
            A, b, a_free, G, L, motors, np.zeros((0, 0)), u0, 1e-9
        )
        code = solve(demand, reach, u, miss)
        found.append((code, u, miss))
    assert found[0][0] == found[1][0] == found[2][0] == found[3][0]
    # what is known of the rows beforehand changes no bit, found now or before
    assert kept.found[0] > 0
    for _, u, miss in found[2:]:
        np.testing.assert_array_equal(u, found[1][1])
        np.testing.assert_array_equal(miss, found[1][2])
    if found[0][0] != least_norm_input.UNDECIDED:
        np.testing.assert_allclose(found[1][1], found[0][1], rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(found[1][2], found[0][2], rtol=1e-9, atol=1e-9)
    together, apart = np.zeros(m), np.zeros(m)
    firm = input_authority.surely_full_rank(L, A, G, motors, together)
    assert block_diagonal.blockwise_full_rank(ties, kept, L, A, G, motors, apart) == firm
    np.testing.assert_allclose(apart, together, **CLOSE)
    assert block_diagonal.blockwise_full_rank(ties, nothing, L, A, G, motors, apart) == firm
    np.testing.assert_allclose(apart, together, **CLOSE)


def test_a_large_blank_matrix_is_zeros_that_can_be_written():
    n = int(np.sqrt(MIN_MAPPED_BYTES / 8)) + 1
    X = lazy_zeros(n, n)
    assert not X.any()
    X[3, 4] = 1.0
    assert X.sum() == 1.0
    assert X.flags.c_contiguous
    assert lazy_zeros(0, 3).shape == (0, 3)


def test_particles_are_tied_to_themselves_and_arms_to_all_of_it():
    swarm = Robot.load("swarm", override={"particles": {"count": 30}})
    np.testing.assert_array_equal(swarm.ties[7], [6, 8, 6, 8])
    arm = Robot.load("two_link")
    np.testing.assert_array_equal(arm.ties, block_diagonal.single_block(2, arm.nu))


@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_what_motors_do_about_rows_that_share_none_is_that_of_singular_values(robots, seed, known):
    """Rows of one body each, one without a grip that is taken for rounding, against A G itself."""
    _, ties, M, B = robots
    rng, rows = np.random.default_rng(seed), 6
    A, G = np.zeros((rows, SIZE)), np.linalg.solve(M, B)
    for i, body in enumerate(rng.choice(BODIES, rows, replace=False)):
        A[i, APART * body : APART * (body + 1)] = rng.standard_normal(APART)
    asked, grips = rng.standard_normal(rows), np.ones(rows)
    grips[seed] = 1e-12
    now = AuthorityRecord(np.zeros(1), np.zeros(1), np.zeros(1))
    kept = block_diagonal.kept_owners(rows if known else 0)
    if known:  # found where somebody asks, without the row that has no grip as any other
        block_diagonal.owners_of(ties, A, kept)
    assert record_orthogonal_authority(ties, kept, A, G, asked, grips, 1e-9, now)
    sizes = np.linalg.svd(np.delete(A, seed, axis=0) @ G, compute_uv=False)
    assert now.rank[0] == rows - 1
    np.testing.assert_allclose(now.sigma_min[0], sizes.min(), **CLOSE)
    np.testing.assert_allclose(now.reach[0], abs(asked[seed]), **CLOSE)
    A[-1] = A[(seed + 1) % rows] if (seed + 1) % rows != rows - 1 else A[(seed + 2) % rows]
    grips[:] = 1.0
    assert not record_orthogonal_authority(
        ties, block_diagonal.kept_owners(0), A, G, asked, grips, 1e-9, now
    )  # two rows ask the same motors
