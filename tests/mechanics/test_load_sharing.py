"""Loads that no motion tells, shared within the cones."""

import numpy as np
import pytest

from ukctrl.mechanics.impact import ImpactContact
from ukctrl.mechanics.load_sharing import internal_forces, least_used_cones

# A rod in its plane on two points, 1 apart; heights and slips of each
ROWS = np.array(
    [[0.0, 1.0, -0.5], [1.0, 0.0, 0.3], [0.0] * 3, [0.0, 1.0, 0.5], [1.0, 0.0, 0.3], [0.0] * 3]
)
LENGTHS = np.linalg.norm(ROWS, axis=1)
UNIT = ROWS / np.maximum(LENGTHS, 1e-300)[:, None]


def points(*mu):
    return [
        ImpactContact(np.array([3 * c]), np.array([3 * c + 1, 3 * c + 2]), m)
        for c, m in enumerate(mu)
    ]


def test_internal_forces_move_nothing_and_are_all_that_do():
    basis = internal_forces(UNIT, LENGTHS)
    assert basis.shape == (6, 1)  # four rows of rank three
    np.testing.assert_allclose(ROWS.T @ basis, 0.0, atol=1e-15)
    assert abs(basis[[0, 3]]).max() < 1e-15
    # of a row that does not hold there is none
    assert internal_forces(UNIT, np.array([*LENGTHS[:4], 0.0, 0.0])).shape == (6, 0)


@pytest.mark.parametrize("mu", [(0.5, 0.5), (0.5, 0.25)])
def test_two_points_use_the_same_part_of_their_cones(mu):
    reaction = np.array([2.0, 3.0, 0.0, 8.0, -1.0, 0.0])
    forces, part = least_used_cones(reaction, internal_forces(UNIT, LENGTHS), points(*mu))
    shared = reaction + forces
    np.testing.assert_allclose(ROWS.T @ shared, ROWS.T @ reaction, atol=1e-12)
    # the sum along the ground, 2, by what each cone has
    assert part == pytest.approx(2.0 / (2.0 * mu[0] + 8.0 * mu[1]), rel=1e-6)
    np.testing.assert_allclose(
        shared[[1, 4]], part * np.array([2.0 * mu[0], 8.0 * mu[1]]), rtol=1e-5
    )


def test_without_internal_forces_or_without_a_load_nothing_is_shared():
    reaction = np.array([2.0, 3.0, 0.0, 8.0, -1.0, 0.0])
    forces, part = least_used_cones(reaction, np.zeros((6, 0)), points(0.5, 0.5))
    assert (abs(forces).max(), part) == (0.0, np.inf)
    forces, _ = least_used_cones(np.zeros(6), internal_forces(UNIT, LENGTHS), points(0.5, 0.5))
    assert abs(forces).max() == 0.0
