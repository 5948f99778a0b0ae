"""What is seen of limits: where each solid is, how large, of what role, and what carries it."""

from __future__ import annotations

import numpy as np
import pytest

from ukctrl import Robot, Task
from ukctrl.control.safety import (
    BoxLimit,
    CollisionLimit,
    CylinderLimit,
    DistanceLimit,
    HalfSpaceLimit,
    JointLimits,
    SphereLimit,
    SupportPolygonLimit,
    TiltLimit,
)
from ukctrl.reports.scene.limit_shapes import CENTRE_OF_MASS, WORLD, SceneContext, limit_shapes

ARM = Robot.load("two_link")
MIDDLE = np.array([0.3, -0.2, 0.5])
"""Where the frame of what is kept moves about."""
WALL, THICK = 1.4, 0.008
"""In a scene of two metres: 0.7 of it, and 0.004."""
NORMAL = np.array([2.0, -1.0, 2.0]) / 3.0
CENTRE = np.array([0.4, 0.1, -0.3])
PLACE = {"rtol": 0.0, "atol": 1e-12}


def raised(robot):
    return robot.integrate(robot.neutral, np.full(robot.nv, 0.4))


def seen(keep, robot=ARM):
    task = Task(robot=robot, servo=(), q=raised(robot), v=np.zeros(robot.nv))
    return list(limit_shapes(keep, SceneContext(task, 2.0, lambda frame: MIDDLE)))


def only(keep):
    (solid,) = seen(keep)
    return solid


def apart(points, centre, axis):
    """Return heights of points along an axis, and their distances from it."""
    along = (points - centre) @ axis
    return along, np.linalg.norm(points - centre - np.outer(along, axis), axis=1)


def test_a_half_space_is_seen_as_a_wall_behind_its_plane_near_the_frame():
    point = np.array([0.1, 0.7, 0.2])
    wall = only(HalfSpaceLimit(frame="tool", point=point, normal=NORMAL))
    assert (wall.frame, wall.role, wall.axes_frame) == (WORLD, "barred", None)
    corners = wall.mesh.vertices
    height, _ = apart(corners, point, NORMAL)
    np.testing.assert_allclose(np.unique(np.round(height, 12)), [-THICK, 0.0], **PLACE)
    _, aside = apart(corners, MIDDLE, NORMAL)
    np.testing.assert_allclose(aside, WALL / np.sqrt(2.0), **PLACE)


@pytest.mark.parametrize(("stay", "role"), [("outside", "barred"), ("inside", "free")])
def test_round_regions_and_boxes_are_seen_where_they_are(stay, role):
    sphere = only(SphereLimit(frame="tool", center=CENTRE, radius=0.25, stay=stay))
    far = np.linalg.norm(sphere.mesh.vertices - CENTRE, axis=1)
    np.testing.assert_allclose(far, 0.25, rtol=1e-12)

    given = {"center": CENTRE, "axis": 3.0 * NORMAL, "radius": 0.25}
    tube = only(CylinderLimit(frame="tool", **given, stay=stay))
    along, aside = apart(tube.mesh.vertices, CENTRE, NORMAL)
    middle = (MIDDLE - CENTRE) @ NORMAL  # without ends: drawn beside the frame
    np.testing.assert_allclose([along.min(), along.max()], middle + np.array([-0.7, 0.7]), **PLACE)
    np.testing.assert_allclose(aside[aside > 1e-9], 0.25, **PLACE)

    box = only(
        BoxLimit(frame="tool", center=CENTRE, size=(0.2, 0.4, 0.6), rpy=(0.0, 0.0, 0.5), stay=stay)
    )
    turn = np.array([[np.cos(0.5), -np.sin(0.5), 0.0], [np.sin(0.5), np.cos(0.5), 0.0], [0, 0, 1]])
    own = np.abs((box.mesh.vertices - CENTRE) @ turn)
    np.testing.assert_allclose(own, np.tile([0.1, 0.2, 0.3], (8, 1)), **PLACE)
    for solid in (sphere, tube, box):
        assert (solid.frame, solid.role, solid.axes_frame) == (WORLD, role, None)


@pytest.mark.parametrize(
    ("bound", "role"), [({"at_least": 0.3}, "barred"), ({"at_most": 0.3}, "free")]
)
def test_a_distance_is_seen_as_a_ball_about_its_first_frame(bound, role):
    ball = only(DistanceLimit(frames=("elbow", "tool"), **bound))
    assert (ball.frame, ball.role, ball.axes_frame) == ("elbow", role, None)
    np.testing.assert_allclose(np.linalg.norm(ball.mesh.vertices, axis=1), 0.3, rtol=1e-12)


def test_a_clearance_is_seen_as_its_two_capsules():
    end = np.array([0.0, 0.3, 0.4])
    limb = {"frame": "tool", "start": (0.1, 0.0, 0.0), "end": 0.1 * np.eye(3)[0] + end}
    limb["radius"] = 0.05
    post = {"frame": WORLD, "start": (0.5, 0.0, 0.2), "radius": 0.0}
    first, second = seen(CollisionLimit(capsules=(limb, post), at_least=0.1))
    assert [(s.frame, s.role, s.axes_frame) for s in (first, second)] == [
        ("tool", "mark", None), (WORLD, "barred", None),
    ]  # fmt: skip
    along, aside = apart(first.mesh.vertices, np.array([0.1, 0.0, 0.0]), end / 0.5)
    assert along.min() == pytest.approx(-0.05, abs=1e-12)
    assert along.max() == pytest.approx(0.55, abs=1e-12)
    assert aside.max() == pytest.approx(0.05, abs=1e-12)
    thin = np.linalg.norm(second.mesh.vertices - [0.5, 0.0, 0.2], axis=1)
    np.testing.assert_allclose(thin, THICK, rtol=1e-12)  # of no radius: as thick as a wall


@pytest.mark.parametrize("feet", [False, True])
def test_a_support_is_seen_as_a_plate_under_a_plumb_line(feet):
    robot = Robot.load("a1") if feet else ARM
    names = ("FL_foot", "FR_foot", "RL_foot", "RR_foot")
    square = ((0.5, 0.5), (-0.5, -0.5), (0.5, -0.5), (-0.5, 0.5))
    keep = SupportPolygonLimit(feet=names) if feet else SupportPolygonLimit(polygon=square)
    plate, plumb = seen(keep, robot)
    at = robot.snapshot(raised(robot))
    places = np.array([at.frame(name).position for name in names]) if feet else np.zeros((4, 3))
    low, mass = places[:, 2].min(), at.com().position
    corners = places[:, :2] if feet else np.array(square)
    assert (plate.frame, plate.role, plate.axes_frame) == (WORLD, "free", None)
    assert (plumb.frame, plumb.role, plumb.axes_frame) == (CENTRE_OF_MASS, "mark", WORLD)
    shape = plate.mesh.vertices
    np.testing.assert_allclose([shape[:, 2].min(), shape[:, 2].max()], [low, low + THICK], **PLACE)
    for end in (np.min, np.max):
        np.testing.assert_allclose(end(shape[:, :2], axis=0), end(corners, axis=0), atol=2e-6)
    line, down = plumb.mesh.vertices, low - mass[2]
    ball, foot = 6.0 * THICK, 2.5 * THICK
    assert line[:, 2].max() == pytest.approx(ball)
    assert line[:, 2].min() == pytest.approx(down - foot)
    at_the_end = line[np.abs(line[:, 2] - down) < 1e-12]
    widths = np.unique(np.round(np.linalg.norm(at_the_end[:, :2], axis=1), 12))
    np.testing.assert_allclose(widths, [0.0, 0.8 * THICK, foot], **PLACE)


@pytest.mark.parametrize("angle", [0.4, 1.2, 1.49, 1.51, 2.5])
def test_a_tilt_is_seen_as_a_needle_in_a_cone(angle):
    needle, *cone = seen(TiltLimit(frame="tool", axis=NORMAL, direction=(0, 3, 0), at_most=angle))
    assert (needle.frame, needle.role, needle.axes_frame) == ("tool", "mark", None)
    along, aside = apart(needle.mesh.vertices, np.zeros(3), NORMAL)
    high = 0.5 * np.cos(min(angle, 1.0))  # a quarter of the scene, shortened as the cone is
    np.testing.assert_allclose([along.min(), along.max()], [0.0, high], **PLACE)
    assert aside.max() == pytest.approx(THICK)
    assert len(cone) == (angle < 1.5)
    for solid in cone:
        assert (solid.frame, solid.role, solid.axes_frame) == ("tool", "free", WORLD)
        along, aside = apart(solid.mesh.vertices, np.zeros(3), np.array([0.0, 1.0, 0.0]))
        rim = along > 1e-9
        np.testing.assert_allclose(along[rim], 0.5 * np.cos(angle), **PLACE)
        np.testing.assert_allclose(aside[rim], 0.5 * np.sin(angle), **PLACE)
        np.testing.assert_allclose(aside[~rim], 0.0, **PLACE)


def test_what_has_no_place_in_space_is_not_seen():
    assert seen(JointLimits()) == []


def test_a_kind_of_ones_own_may_bring_its_shapes():
    class Own(JointLimits):
        def shapes(self, scene):
            return [
                ("tool", np.full(3, scene.size), "mark"),
                ("", scene.path_middle("a"), "free", WORLD),
            ]

    first, second = seen(Own())
    assert (first.frame, first.role, first.axes_frame) == ("tool", "mark", None)
    assert (second.frame, second.role, second.axes_frame) == (CENTRE_OF_MASS, "free", WORLD)
    np.testing.assert_array_equal([first.mesh, second.mesh], [np.full(3, 2.0), MIDDLE])
