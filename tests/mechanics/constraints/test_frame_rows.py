"""Rows of frames that move freely: every kernel beside the curve that it is the derivative of."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from ukctrl.mechanics.constraints import (
    contact,
    ground,
    kinematics,
    loop_closure,
    signed_distances,
    tilt_margin,
)
from ukctrl.mechanics.constraints.constraint import Rows
from ukctrl.mechanics.constraints.signed_distances import RelativePointMotion
from ukctrl.robot.snapshot import FrameMotion

STEP = 1e-3
NEAR = {"rtol": 0.0, "atol": 1e-6}
"""Differences of fourth order of a thousandth of curves that bend as numbers of order one do leave
some 1e-9 of the second derivative, rounding 1e-9."""
EXACT = {"rtol": 1e-12, "atol": 1e-12}
PLACE = np.array([0.3, -0.2, 0.5])


class Moving:
    """Two frames whose twelve velocities are coordinates, and their accelerations at ``a = 0``."""

    def __init__(self, seed, turn=None, place=None):
        rng = np.random.default_rng(seed)
        self.places = rng.standard_normal((2, 3))
        self.turns = Rotation.random(2, rng=rng)
        if turn is not None:
            self.turns = Rotation.concatenate([self.turns[1] * turn, self.turns[1]])
        if place is not None:
            self.places[0] = self.places[1] + place
        self.v, self.drift = rng.standard_normal((2, 2, 6))

    def at(self, t):
        """Return places and orientations after a time, to second order."""
        way = self.v * t + 0.5 * self.drift * t * t
        return self.places + way[:, :3], Rotation.from_rotvec(way[:, 3:]) * self.turns

    def motion(self, k):
        J = np.zeros((6, 12))
        J[:, 6 * k : 6 * k + 6] = np.eye(6)
        R = self.turns[k].as_matrix()
        return FrameMotion(self.places[k].copy(), R, J, self.v[k].copy(), self.drift[k].copy())

    @property
    def both(self):
        return self.motion(0), self.motion(1)


def fits(rows, moving, error, holonomic=True):
    """Assert that rows are an error, its derivative, and the second one in every direction."""
    ends = np.array([error(*moving.at(k * STEP)) for k in (-2, -1, 0, 1, 2)])
    if holonomic:
        np.testing.assert_allclose(rows.phi, ends[2], **EXACT)
    np.testing.assert_allclose(rows.beta, np.array([1, -8, 0, 8, -1]) @ ends / (12 * STEP), **NEAR)
    bend = np.array([-1, 16, -30, 16, -1]) @ ends / (12 * STEP**2)
    np.testing.assert_allclose(-rows.b, bend, rtol=0.0, atol=1e-4)
    np.testing.assert_allclose(rows.A @ moving.v.ravel(), rows.beta, **EXACT)
    for c in range(12):  # the same of every direction alone
        own = Moving(0)
        own.places, own.turns = moving.places, moving.turns
        own.v = np.eye(12)[c].reshape(2, 6)
        own.drift = np.zeros((2, 6))
        before, after = (error(*own.at(s * STEP)) for s in (-1, 1))
        slope = (8 * (after - before) - error(*own.at(2 * STEP)) + error(*own.at(-2 * STEP))) / 12
        np.testing.assert_allclose(rows.A[:, c], slope / STEP, **NEAR)


@pytest.mark.parametrize("seed", range(2))
def test_a_frame_beside_planes(seed):
    moving, rows = Moving(seed), Rows.zeros(2, 12)
    normals = np.array([[0.6, 0.0, 0.8], [0.0, -1.0, 0.0]])
    signed_distances.plane_rows(moving.motion(0), normals, PLACE, rows)
    fits(rows, moving, lambda p, R: normals @ (p[0] - PLACE))


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("inside", [False, True])
@pytest.mark.parametrize("flat", [False, True])
def test_a_frame_away_from_another(seed, inside, flat):
    moving, rows, apart = Moving(seed), Rows.zeros(1, 12), RelativePointMotion.zeros(12)
    P = np.eye(3) - np.outer([0.6, 0.0, 0.8], [0.6, 0.0, 0.8]) if flat else np.eye(3)
    signed_distances.write_relative_motion(*moving.both, P, apart)
    (signed_distances.half_square_row if inside else signed_distances.norm_row)(apart, 0.7, rows)

    def error(p, R):
        far = np.linalg.norm(P @ (p[0] - p[1]))
        return np.array([(far**2 - 0.7**2) / 1.4 if inside else far - 0.7])

    fits(rows, moving, error)


def test_a_length_of_zero_counts_along_the_first_axis():
    apart, rows = RelativePointMotion.zeros(12), Rows.zeros(1, 12)
    moving = Moving(3, place=np.zeros(3))
    signed_distances.write_relative_motion(*moving.both, np.eye(3), apart)
    signed_distances.norm_row(apart, 0.7, rows)
    relative = moving.v[0] - moving.v[1]
    drift = moving.drift[0] - moving.drift[1]
    assert rows.phi[0] == -0.7
    assert rows.beta[0] == pytest.approx(relative[0], rel=1e-14)
    assert rows.b[0] == pytest.approx(-drift[0], rel=1e-14)
    np.testing.assert_array_equal(np.flatnonzero(rows.A[0]), [0, 6])
    signed_distances.half_square_row(apart, 0.7, rows)  # which is smooth there
    assert rows.phi[0] == -0.35
    assert rows.b[0] == pytest.approx(-(relative[:3] @ relative[:3]) / 0.7, rel=1e-14)


def test_a_pull_is_taken_from_the_bend_of_a_length():
    apart, rows = RelativePointMotion.zeros(12), Rows.zeros(3, 12)
    signed_distances.write_relative_motion(*Moving(1).both, np.eye(3), apart)
    for k, pull in ((0, 0.0), (2, 0.5)):
        signed_distances.write_norm_row(apart, 0.7, pull, rows, k)
    length = np.linalg.norm(apart.position)
    assert rows.b[2] - rows.b[0] == pytest.approx(0.5 / length, rel=1e-12)
    assert rows.phi[1] == 0.0
    assert not rows.A[1].any()
    np.testing.assert_array_equal(rows.A[0], rows.A[2])


HALF = np.array([0.2, 0.3, 0.4])


@pytest.mark.parametrize(
    "at",
    [(0.5, 0.1, -0.2), (-0.5, 0.1, -0.2), (0.05, -0.6, 0.1), (0.0, 0.1, 0.7), (0.5, -0.6, 0.1),
     (0.5, 0.1, -0.7), (-0.5, 0.6, 0.7), (0.1, 0.05, -0.15), (0.01, -0.25, 0.1), (0.0, 0.02, 0.35)],
)  # fmt: skip
def test_a_frame_beside_a_box(at):
    """Beyond a face, an edge, a corner; and within, by how little it would have to move."""
    turn, rows = Rotation.from_rotvec([0.3, -0.5, 0.7]).as_matrix(), Rows.zeros(1, 12)
    moving = Moving(2)
    moving.places[0] = PLACE + turn.T @ np.array(at)
    signed_distances.box_row(moving.motion(0), PLACE, turn, HALF, np.zeros(3), np.zeros(3), rows)

    def error(p, R):
        beyond = np.abs(turn @ (p[0] - PLACE)) - HALF
        out = np.maximum(beyond, 0.0)
        return np.array([np.linalg.norm(out) if out.any() else beyond.max()])

    fits(rows, moving, error)


TURNS = [[0.3, -0.2, 0.1], [2.0, 1.0, -1.0], [1.0, 2.9, 0.3], [-0.4, 0.1, 3.0], [-2.9, 0.5, 0.6],
         [0.1, -3.0, 0.2], [0.2, 0.3, -2.9], [1.4, 1.4, 1.4]]  # fmt: skip


@pytest.mark.parametrize("turn", TURNS)
def test_a_frame_beside_an_orientation(turn):
    """Four times the modified Rodrigues vector, $n \\tan(\\theta/4)$, up to nearly half a turn."""
    moving, rows = Moving(4, turn=Rotation.from_rotvec(turn)), Rows.zeros(3, 12)
    own, other = moving.both
    J = own.J.copy()
    wanted = other.rotation, other.velocity[3:].copy(), other.drift[3:].copy()
    frame = own.rotation, J, own.velocity[3:].copy(), own.drift[3:].copy()
    kinematics.orientation_rows(frame, wanted, tuple(rows))

    def error(p, R):
        vector = (R[1].inv() * R[0]).as_rotvec()
        angle = np.linalg.norm(vector)
        return 4.0 * np.tan(angle / 4.0) * vector / angle

    ends = np.array([error(*moving.at(k * STEP)) for k in (-2, -1, 0, 1, 2)])
    np.testing.assert_allclose(rows.phi, ends[2], **EXACT)
    np.testing.assert_allclose(rows.beta, np.array([1, -8, 0, 8, -1]) @ ends / (12 * STEP), **NEAR)
    bend = np.array([-1, 16, -30, 16, -1]) @ ends / (12 * STEP**2)
    np.testing.assert_allclose(-rows.b, bend, rtol=0.0, atol=1e-4)
    still = rows.A @ np.r_[moving.v[0], np.zeros(6)]  # the orientation that is wanted moves by time
    of_wanted = np.linalg.solve(rows.A[:, 3:6], rows.beta - still)
    np.testing.assert_allclose(of_wanted, -moving.v[1, 3:], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("axis", [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
def test_at_half_a_turn_an_orientation_keeps_its_rank(axis):
    """There the vector is four times the axis, this way round or the other."""
    moving = Moving(5, turn=Rotation.from_rotvec(np.pi * np.array(axis)))
    (own, other), rows = moving.both, Rows.zeros(3, 12)
    still = np.zeros(3)
    frame = own.rotation, own.J, still, still
    kinematics.orientation_rows(frame, (other.rotation, still, still), tuple(rows))
    np.testing.assert_allclose(np.abs(rows.phi), 4.0 * np.array(axis), rtol=0.0, atol=1e-7)
    # T' T = (1 + |sigma|^2)^2 = 4 of sigma of length one
    np.testing.assert_allclose(rows.A[:, 3:6].T @ rows.A[:, 3:6], 4.0 * np.eye(3), atol=1e-6)


@pytest.mark.parametrize("seed", range(2))
def test_a_point_as_seen_from_a_frame_that_moves(seed):
    moving = Moving(seed)
    x, x_dot, drift, J = np.zeros(3), np.zeros(3), np.zeros(3), np.full((3, 12), 9.0)
    kinematics.relative_motion(*moving.both, x, x_dot, drift, J)
    rows = Rows(J, -drift, x_dot, x)
    fits(rows, moving, lambda p, R: R[0].inv().apply(p[1] - p[0]))


def test_a_contact_on_a_frame_has_the_height_over_its_plane_and_slips_along_it():
    moving, rows = Moving(6), Rows.zeros(3, 12)
    seen = np.zeros(3), np.zeros(3), np.zeros(3), np.zeros((3, 12))
    contact.point_on_frame_rows(*moving.both, seen, rows)
    fits(rows, moving, lambda p, R: R[0].inv().apply(p[1] - p[0])[[2, 0, 1]], holonomic=False)
    assert rows.phi[0] == pytest.approx(
        moving.turns[0].inv().apply(np.subtract(*moving.places[::-1]))[2]
    )
    assert np.isnan(rows.phi[1:]).all()


def test_some_components_of_a_jacobian_in_turned_axes():
    rng = np.random.default_rng(7)
    R, (J, other) = Rotation.random(rng=rng).as_matrix(), rng.standard_normal((2, 3, 5))
    found = np.zeros((2, 5))
    kinematics.relative_jacobian_rows(R, other, J, np.array([2, 0]), found)
    np.testing.assert_allclose(found, (R.T @ (J - other))[[2, 0]], **EXACT)


# Closures


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("count", [1, 2, 3])
def test_a_closure_holds_a_place_along_the_first_axes_of_the_other_frame(seed, count):
    moving, rows = Moving(seed), Rows.zeros(count, 12)
    loop_closure.position_rows(*moving.both, np.zeros((3, 12)), rows)
    fits(rows, moving, lambda p, R: R[0].inv().apply(p[1] - p[0])[:count])


@pytest.mark.parametrize("seed", range(2))
def test_a_closure_holds_an_axis_by_its_components_along_the_other_frame(seed):
    moving, rows = Moving(seed), Rows.zeros(2, 12)
    loop_closure.axis_alignment_rows(*moving.both, np.full((6, 12), 9.0), rows)
    fits(rows, moving, lambda p, R: R[0].inv().apply(R[1].apply([0.0, 0.0, 1.0]))[:2])


@pytest.mark.parametrize("turn", TURNS[:2])
def test_a_closure_holds_a_turn_by_four_times_the_rodrigues_vector(turn):
    moving, rows = Moving(4, turn=Rotation.from_rotvec(turn)), Rows.zeros(3, 12)
    own, other = moving.both
    loop_closure.locked_rotation_rows(other, own, np.zeros((6, 12)), rows)

    def error(p, R):
        vector = (R[1].inv() * R[0]).as_rotvec()
        angle = np.linalg.norm(vector)
        return 4.0 * np.tan(angle / 4.0) * vector / angle

    fits(rows, moving, error)


def test_an_axis_leans_by_the_cosine_of_its_angle():
    moving, rows, up = Moving(8), Rows.zeros(1, 12), np.array([0.0, 0.6, 0.8])
    tilt_margin.leaning_row(moving.motion(0), np.array([1.0, 0.0, 0.0]), up, 0.7, rows)
    fits(
        rows, moving,
        lambda p, R: np.array([(up @ R[0].apply([1.0, 0.0, 0.0]) - np.cos(0.7)) / np.sin(0.7)]),
    )  # fmt: skip


# Contacts and wheels, some of whose rows are velocities alone


NORMAL = np.array([0.36, -0.48, 0.8])


def rates_fit(rows, moving, rate):
    """Assert that rows are velocities that are linear in those of frames, and their derivatives.

    ``rate`` gives them from places, orientations and the velocities there.
    """
    v, drift = moving.v, moving.drift
    np.testing.assert_allclose(rows.beta, rate(*moving.at(0.0), v), **EXACT)
    h = 1e-4  # of second order: some 1e-8 of the third derivative is left
    ends = [rate(*moving.at(t), v + drift * t) for t in (-h, h)]
    np.testing.assert_allclose(-rows.b, (ends[1] - ends[0]) / (2.0 * h), **NEAR)
    each = [rate(*moving.at(0.0), one.reshape(2, 6)) for one in np.eye(12)]
    np.testing.assert_allclose(rows.A, np.transpose(each), **EXACT)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("height", [True, False])
def test_a_wheel_rolls_where_it_touches(seed, height):
    """The point of the disc that touches has no velocity along the heading, nor across it."""
    moving, rows = Moving(seed), Rows.zeros(2 + height, 12)
    axle, radius = np.array([0.0, 0.6, 0.8]), 0.3
    assert ground.rolling_rows(moving.motion(0), axle, radius, PLACE, NORMAL, rows)

    def rate(p, R, v):
        a = R[0].apply(axle)
        side = np.cross(a, NORMAL)
        s = np.linalg.norm(side)
        down = (NORMAL - (NORMAL @ a) * a) / s
        slip = v[0, :3] - radius * np.cross(v[0, 3:], down)
        e = side / s
        return np.array([e @ slip, np.cross(NORMAL, e) @ slip, NORMAL @ slip])[: 2 + height]

    rates_fit(rows, moving, rate)
    assert np.isnan(rows.phi[:2]).all()
    if height:
        s = np.linalg.norm(np.cross(moving.turns[0].apply(axle), NORMAL))
        high = NORMAL @ (moving.places[0] - PLACE) - radius * s
        assert rows.phi[2] == pytest.approx(high, rel=1e-12)


def test_a_wheel_that_lies_flat_has_no_heading():
    moving, rows = Moving(0), Rows.zeros(3, 12)
    moving.turns = Rotation.identity(2)
    up = np.array([0.0, 0.0, 1.0])
    assert not ground.rolling_rows(moving.motion(0), up, 0.3, PLACE, up, rows)
    assert not any(part.any() for part in rows)


@pytest.mark.parametrize("flat", [False, True])
@pytest.mark.parametrize("sticks", [False, True])
def test_a_contact_holds_its_height_and_where_it_is_flat_or_sticks_more(flat, sticks):
    axes = np.vstack([ground.plane_tangents(NORMAL), NORMAL])
    np.testing.assert_allclose(axes @ axes.T, np.eye(3), rtol=0.0, atol=1e-12)
    held = 1 + 2 * flat
    moving, rows = Moving(9), Rows.zeros(held + sticks * (2 + flat), 12)
    contact.contact_rows(moving.motion(0), PLACE, axes, flat, sticks, rows)

    def rate(p, R, v):
        turned = axes[:2] @ np.cross(v[0, 3:], R[0].apply([0.0, 0.0, 1.0]))
        parts = [[NORMAL @ v[0, :3]]] + [turned] * flat
        parts += [axes[:2] @ v[0, :3]] * sticks + [[NORMAL @ v[0, 3:]]] * (sticks and flat)
        return np.concatenate(parts)

    rates_fit(rows, moving, rate)
    places = [NORMAL @ (moving.places[0] - PLACE)]
    places += (axes[:2] @ moving.turns[0].apply([0.0, 0.0, 1.0])).tolist() * flat
    np.testing.assert_allclose(rows.phi[:held], places, **EXACT)
    assert np.isnan(rows.phi[held:]).all()


@pytest.mark.parametrize("normal", [[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [0.36, -0.48, 0.8]])
def test_tangents_are_x_and_y_where_the_normal_is_z_and_right_handed_everywhere(normal):
    first, second = ground.plane_tangents(np.array(normal))
    np.testing.assert_allclose(np.cross(first, second), normal, rtol=0.0, atol=1e-12)
    if normal[2] == 1.0:
        np.testing.assert_array_equal([first, second], np.eye(3)[:2])
    np.testing.assert_allclose(np.linalg.norm(ground.unit_vector((3.0, 0.0, 4.0))), 1.0, rtol=1e-15)
