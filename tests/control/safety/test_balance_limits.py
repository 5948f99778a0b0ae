"""What kinds of things to keep measure: against other ways to work it out, and at their edges."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.spatial import ConvexHull

from ukctrl import Robot, Task
from ukctrl.control.safety import (
    CollisionLimit,
    ManipulabilityLimit,
    SupportPolygonLimit,
    TiltLimit,
)
from ukctrl.control.safety.balance_limits import convex_hull
from ukctrl.control.safety.safety_filter import SafetyFilter
from ukctrl.core.errors import InputError
from ukctrl.mechanics.constraints import Stack
from ukctrl.mechanics.constraints.capsule_distance import CapsuleAxes, capsule_rows
from ukctrl.mechanics.constraints.constraint import FrameProbe, Rows
from ukctrl.mechanics.constraints.signed_distances import RelativePointMotion
from ukctrl.robot.snapshot import FrameMotion

UR5 = Robot.load("ur5")
ARM = Robot.load("two_link")


def task_of(robot, q=None):
    q = robot.neutral if q is None else q
    return Task(robot=robot, servo=(), q=q, v=np.zeros(robot.nv))


def keeper_of(keep, task):
    return SafetyFilter([keep], task, Stack((), task.robot))


def left(keep, q):
    """Return the quantities that are kept of a UR5, at rest."""
    keeper = keeper_of(keep, task_of(UR5, q))
    return keeper.margins_at(keeper.stack_on(UR5).write(UR5.snapshot(q, np.zeros(6))))[0]


def moving(places, velocities):
    """Return ends of segments that move as the coordinates of free points, one a direction."""
    J = np.zeros((4, 6, 12))
    for k in range(4):
        J[k, :3, 3 * k : 3 * k + 3] = np.eye(3)
    motions = [
        FrameMotion(np.array(p), np.eye(3), J[k], np.concatenate([v, np.zeros(3)]), np.zeros(6))
        for k, (p, v) in enumerate(zip(places, velocities, strict=True))
    ]
    return CapsuleAxes(*motions)


def rows_of(places, velocities, count=5):
    rows = Rows.zeros(count, 12)
    capsule_rows(moving(places, velocities), 0.0, RelativePointMotion.zeros(12), rows)
    return rows


@pytest.mark.parametrize("seed", range(30))
def test_the_distance_of_segments_is_the_least_of_all_their_points(seed):
    rng = np.random.default_rng(seed)
    a0, a1, b0, b1 = places = rng.standard_normal((4, 3))
    rows = rows_of(places, np.zeros((4, 3)))

    def square(x):
        w = a0 + x[0] * (a1 - a0) - b0 - x[1] * (b1 - b0)
        return float(w @ w)

    starts = [(s, t) for s in (0.0, 0.5, 1.0) for t in (0.0, 0.5, 1.0)]
    best = min(
        minimize(square, x, bounds=[(0, 1)] * 2, options={"ftol": 1e-14}).fun for x in starts
    )
    np.testing.assert_allclose(rows.phi[0], np.sqrt(best), atol=1e-6)
    assert (rows.phi[0] <= rows.phi[1:] + 1e-12).all()


def test_between_skew_segments_the_row_is_the_derivative_though_the_nearest_points_move():
    inside = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        places, v, a = rng.standard_normal((3, 4, 3))
        e = 1e-4
        at = [rows_of(places + x * v + 0.5 * x * x * a, v + x * a) for x in (-e, 0.0, e)]
        before, now, later = (rows.phi.copy() for rows in at)
        inside += now[0] < now[1:].min() - 1e-3
        rows = at[1]
        np.testing.assert_allclose(rows.A @ v.ravel(), rows.beta, atol=1e-12)
        np.testing.assert_allclose(rows.beta, (later - before) / (2 * e), rtol=1e-5, atol=1e-5)
        second = (later - 2 * now + before) / e**2
        np.testing.assert_allclose(rows.A @ a.ravel() - rows.b, second, rtol=1e-3, atol=1e-2)
    assert inside > 5


def test_where_segments_become_parallel_one_end_after_the_other_is_the_nearest():
    """Seen from a segment below, a bar tips: the whole jumps from one end to the other."""
    below = [(-2.0, 0.0, 0.0), (2.0, 0.0, 0.0)]
    for tip in (-0.1, 0.0, 0.1):
        bar = [(-1.0, 0.0, 1.0 - tip), (1.0, 0.0, 1.0 + tip)]
        rows = rows_of(np.array(bar + below), np.zeros((4, 3)))
        np.testing.assert_allclose(rows.phi[1:3], [1.0 - tip, 1.0 + tip], atol=1e-15)
        np.testing.assert_allclose(rows.phi[0], 1.0 - abs(tip), atol=1e-15)


def test_spheres_and_axes_that_meet_have_a_row():
    point = np.array([[1.0, 0.0, 0.0]] * 2 + [[0.0, 0.0, 0.0]] * 2)
    np.testing.assert_allclose(rows_of(point, np.zeros((4, 3)), 1).phi, [1.0])
    met = rows_of(np.zeros((4, 3)), np.zeros((4, 3)), 1)
    assert np.isfinite(met.A).all()
    assert met.A.any()


@pytest.mark.parametrize("seed", range(5))
def test_manipulability_is_the_product_of_singular_values(seed):
    q = np.random.default_rng(seed).uniform(-2.0, 2.0, 6)
    probe = FrameProbe(UR5, "tool")
    probe.move(UR5.snapshot(q, np.zeros(6)))
    for axes, rows in (("xyz", [0, 1, 2]), (("z", "rx"), [2, 3])):
        keep = ManipulabilityLimit(frame="tool", axes=list(axes), at_least=0.02)
        exact = np.prod(np.linalg.svd(probe.J[rows], compute_uv=False))
        np.testing.assert_allclose(left(keep, q), exact - 0.02, atol=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_the_smallest_singular_value_is_never_less_than_what_is_kept_and_little_more(seed):
    q = np.random.default_rng(seed).uniform(-2.0, 2.0, 6)
    probe = FrameProbe(UR5, "tool")
    probe.move(UR5.snapshot(q, np.zeros(6)))
    for axes, rows in (("xyz", [0, 1, 2]), (("rz", "rx"), [5, 3]), ("y", [1])):
        keep = ManipulabilityLimit(frame="tool", axes=list(axes), measure="smallest", at_least=0.02)
        exact = np.linalg.svd(probe.J[rows], compute_uv=False)
        kept = left(keep, q)[0] + 0.02
        np.testing.assert_allclose(kept, 1.0 / np.linalg.norm(1.0 / exact), rtol=1e-10)
        assert kept <= exact.min() * (1.0 + 1e-10)
        assert exact.min() <= np.sqrt(len(rows)) * kept * (1.0 + 1e-10)


def test_metres_and_radians_have_no_smallest_singular_value():
    with pytest.raises(InputError, match="must all move the frame"):
        ManipulabilityLimit(frame="tool", axes=["x", "rx"], measure="smallest", at_least=0.1)


def test_a_frame_that_has_lost_a_direction_has_none_to_be_led_along():
    keep = ManipulabilityLimit(frame="tool", axes=["x", "y"], at_least=0.1)
    keeper = keeper_of(keep, task_of(ARM))  # which moves in the plane of x and z
    rows = keeper.stack_on(ARM).write(ARM.snapshot(np.array([0.3, 0.7]), np.ones(2)))
    np.testing.assert_array_equal(rows.A, 0.0)
    np.testing.assert_array_equal(rows.phi, -0.1)


@pytest.mark.parametrize("seed", range(20))
def test_the_hull_is_that_of_another_algorithm(seed):
    points = np.random.default_rng(seed).standard_normal((12, 2))
    mine, theirs = convex_hull(points), points[ConvexHull(points).vertices]
    first = int(np.argmin(np.linalg.norm(theirs - mine[0], axis=1)))
    np.testing.assert_array_equal(mine, np.roll(theirs, -first, axis=0))


def test_the_centre_of_mass_is_measured_from_every_edge():
    q = np.array([0.2, -1.2, 1.5, -0.4, 0.8, 0.3])
    com = UR5.snapshot(q, np.zeros(6)).com().position
    square = [[0.5, 0.5], [-0.5, -0.5], [0.5, -0.5], [-0.5, 0.5]]
    h = left(SupportPolygonLimit(polygon=square), q)
    np.testing.assert_allclose(
        sorted(h), sorted([0.5 - com[0], 0.5 + com[0], 0.5 - com[1], 0.5 + com[1]]), atol=1e-12
    )


@pytest.mark.parametrize("most", [0.3, 1.0, np.pi / 2])
def test_a_tilt_within_its_limit_is_never_more_than_what_is_left_of_the_angle(most):
    keep = TiltLimit(frame="tool", axis=[0.0, 1.0, 0.0], direction=[1.0, 2.0, -1.0], at_most=most)
    probe = FrameProbe(UR5, "tool")
    inside = 0
    for seed in range(200):
        q = np.random.default_rng(seed).uniform(-3.0, 3.0, 6)
        probe.move(UR5.snapshot(q, np.zeros(6)))
        cosine = probe.R[:, 1] @ np.array([1.0, 2.0, -1.0]) / np.sqrt(6.0)
        (h,) = left(keep, q)
        np.testing.assert_allclose(h, (cosine - np.cos(most)) / np.sin(most), atol=1e-12)
        spare = most - np.arccos(cosine)
        assert 0.0 <= h <= spare + 1e-12 or (h < 0.0 and spare < 0.0)
        inside += h >= 0.0
    assert inside > 1


@pytest.mark.parametrize(
    ("keep", "message"),
    [
        (CollisionLimit(capsules=({"frame": "tool", "radius": 0.1},) * 2), "on two bodies"),
        (
            CollisionLimit(
                capsules=({"frame": "tool", "radius": 0.0}, {"frame": "world", "radius": 0.0})
            ),
            "a radius or at_least",
        ),
        (CollisionLimit(capsules=({"frame": "tol", "radius": 0.1},) * 2), "did you mean 'tool'"),
        (SupportPolygonLimit(polygon=[[0, 0], [1, 1], [2, 2]]), "on a line"),
        (SupportPolygonLimit(feet=["tool", "tool", "tool"]), "on a line"),
        (ManipulabilityLimit(frame="base", axes=["x"], at_least=0.1), "no more than the 0 joints"),
    ],
)
def test_what_does_not_fit_the_robot_is_refused(keep, message):
    with pytest.raises(InputError, match=message):
        keeper_of(keep, task_of(UR5))


@pytest.mark.parametrize(
    ("kind", "fields", "message"),
    [
        (SupportPolygonLimit, {}, "either feet or polygon; got none"),
        (SupportPolygonLimit, {"feet": ["a"] * 3, "polygon": [[0, 0]] * 3}, "got both"),
        (TiltLimit, {"frame": "tool", "at_most": 4.0}, "between 0 and half a turn"),
        (TiltLimit, {"frame": "tool", "axis": [0, 0, 0], "at_most": 1.0}, "direction"),
        (ManipulabilityLimit, {"frame": "tool", "axes": ["x", "x"], "at_least": 1.0}, "different"),
        (ManipulabilityLimit, {"frame": "tool", "at_least": 0.0}, "must be positive"),
    ],
)
def test_what_contradicts_itself_is_refused(kind, fields, message):
    with pytest.raises(ValueError, match=message):
        kind(**fields)


def test_manipulability_is_refused_of_joints_with_several_freedoms():
    dog = Robot.load("a1")
    with pytest.raises(InputError, match="one freedom each"):
        keeper_of(ManipulabilityLimit(frame="FL_foot", at_least=0.1), task_of(dog))
