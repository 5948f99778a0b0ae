"""What is kept, in a scene: its surface is where nothing is left, and it goes with its frame."""

from __future__ import annotations

import numpy as np
import pytest
from plain_look import plain_look

from ukctrl.reports.scene import extent
from ukctrl.reports.scene.force_arrows import force_arrows
from ukctrl.reports.scene.limits_in_space import GROUP, ROLE_STYLES, limit_actors
from ukctrl.reports.scene.run_scene import run_scene, runs_scene
from ukctrl.reports.scene.svg_still import svg_still
from ukctrl.robot import Robot
from ukctrl.robot.geometry.quaternions import matrix
from ukctrl.simulation.result.quantities import Labels
from ukctrl.simulation.result.result import Result

ROUND = {"rtol": 0.0, "atol": 1e-9}
TIME = np.array([0.0, 0.5, 1.0])
CENTER, NORMAL = np.array([-0.4, 0.1, 0.3]), np.array([1.0, -2.0, 2.0]) / 3.0


@pytest.fixture(autouse=True)
def _plain(monkeypatch):
    monkeypatch.setattr(Robot, "visuals", plain_look, raising=False)


@pytest.fixture(name="arm", scope="module")
def _arm():
    robot = Robot.load("ur5")
    return robot, robot.home + np.linspace(0.0, 0.6, 3)[:, None] * np.ones(robot.nq)


def run(robot, q, keep=(), labels=None, **samples):
    names = {
        "coordinates": robot.coordinates, "coordinate_units": robot.coordinate_units,
        "actuators": robot.actuators, "actuator_units": robot.actuation.units,
    }  # fmt: skip
    samples |= {"u": np.zeros((len(TIME), robot.nu))}
    return Result.build(
        time=TIME, samples={"q": q, **samples}, status="completed",
        labels=Labels(**names, **(labels or {})),
        scenario={"robot": robot.name, "keep": list(keep)},
    )  # fmt: skip


def shown(robot, q, *keep, size=1.0):
    """Return where the points of every part of what is kept are, shape ``(3, k, 3)``."""
    result = run(robot, q, keep)
    found = {actor.name: actor for actor in limit_actors(result, robot, q, np.arange(3), size)}
    actor = found["limits"]
    assert actor.group == GROUP
    return [
        extent.to_world(part.mesh.vertices, actor.poses, part.frame) for part in actor.visuals.parts
    ]


def away(points, axis=None):
    """Return how far points are from the centre, or from the line through it along an axis."""
    from_center = points - CENTER
    if axis is not None:
        from_center = from_center - (from_center @ axis)[..., None] * axis
    return np.linalg.norm(from_center, axis=-1)


@pytest.mark.parametrize("stay", ["inside", "outside"])
def test_the_surface_of_a_region_is_where_nothing_is_left(arm, stay):
    place = {"frame": "tool", "center": CENTER.tolist(), "stay": stay}
    (ball,) = shown(*arm, {"kind": "sphere", "radius": 0.2, **place})
    np.testing.assert_allclose(away(ball), 0.2, **ROUND)
    (drum,) = shown(*arm, {"kind": "cylinder", "radius": 0.2, "axis": NORMAL.tolist(), **place})
    across = away(drum, NORMAL)
    np.testing.assert_allclose(across[across > 1e-6], 0.2, **ROUND)
    rpy, size = [0.3, -0.2, 0.5], np.array([0.4, 0.2, 0.6])
    (cell,) = shown(*arm, {"kind": "box", "size": size.tolist(), "rpy": rpy, **place})
    np.testing.assert_allclose(away(cell), 0.5 * np.linalg.norm(size), **ROUND)  # its corners
    roles = {"inside": "free", "outside": "barred"}
    (actor,) = limit_actors(
        run(*arm, [{"kind": "sphere", "radius": 0.2, **place}]), *arm, np.arange(3), 1.0
    )
    assert (actor.visuals.parts[0].color, actor.visuals.parts[0].opacity) == ROLE_STYLES[
        roles[stay]
    ]


def test_a_wall_stands_beside_the_way_of_its_frame_and_ends_at_its_plane(arm):
    robot, q = arm
    wall = {"kind": "half_space", "frame": "tool", "point": CENTER.tolist(),
            "normal": (3.0 * NORMAL).tolist()}  # fmt: skip
    (points,) = shown(robot, q, wall)
    beyond = (points - CENTER) @ NORMAL
    assert abs(beyond.max()) < 1e-9
    assert beyond.min() > -0.01
    way = np.array([robot.snapshot(each).frame("tool").position for each in q])
    middle = points.mean(axis=(0, 1)) - 0.5 * (way.min(axis=0) + way.max(axis=0))
    np.testing.assert_allclose(np.cross(middle, NORMAL), 0.0, **ROUND)


def test_capsules_and_distances_go_with_their_frames(arm):
    robot, q = arm
    one = {"frame": "forearm", "end": [-0.36, 0.0, 0.0], "radius": 0.05}
    other = {"frame": "world", "start": [-0.3, -0.3, 0.0], "end": [-0.3, -0.3, 1.0], "radius": 0.04}
    arm_hull, post = shown(robot, q, {"kind": "clearance", "capsules": [one, other]})
    (ball,) = shown(robot, q, {"kind": "distance", "frames": ["forearm", "tool"], "at_least": 0.2})
    for k, each in enumerate(q):
        frame = robot.snapshot(each).frame("forearm")
        inside = (arm_hull[k] - frame.position) @ frame.rotation
        along = np.clip(inside[:, :1], -0.36, 0.0) * [1.0, 0.0, 0.0]
        np.testing.assert_allclose(np.linalg.norm(inside - along, axis=1), 0.05, **ROUND)
        np.testing.assert_allclose(
            np.linalg.norm(ball[k] - frame.position, axis=1), 0.2, **ROUND
        )  # which the tool stays out of
    np.testing.assert_allclose(post, post[:1].repeat(3, axis=0), **ROUND)
    assert np.isclose(post[0, :, 2].max(), 1.04)


def test_a_tilt_is_a_cone_that_stays_upright_about_a_needle_that_leans(arm):
    robot, q = arm
    tilt = {"kind": "tilt", "frame": "tool", "axis": NORMAL.tolist(), "at_most": 0.3}
    needle, cone = shown(robot, q, tilt)
    for k, each in enumerate(q):
        frame = robot.snapshot(each).frame("tool")
        rim = (cone[k] - frame.position)[np.linalg.norm(cone[k] - frame.position, axis=1) > 1e-6]
        angle = np.arccos(rim[:, 2] / np.linalg.norm(rim, axis=1))
        np.testing.assert_allclose(angle, 0.3, **ROUND)
        tip = needle[k].mean(axis=0) - frame.position
        np.testing.assert_allclose(tip / np.linalg.norm(tip), frame.rotation @ NORMAL, atol=1e-6)
    assert len(shown(robot, q, {**tilt, "at_most": 2.0})) == 1


def test_support_is_the_hull_of_the_feet_and_a_plumb_below_the_centre_of_mass():
    robot = Robot.load("a1")
    feet = ["FL_foot", "FR_foot", "RL_foot", "RR_foot"]
    q = np.array([robot.home] * 3)
    q[1:, robot.coordinates.index("root_x")] += [0.1, 0.2]
    plate, mass = shown(robot, q, {"kind": "support", "feet": feet})
    places = np.array([robot.snapshot(q[0]).frame(foot).position for foot in feet])
    for end in (np.min, np.max):
        np.testing.assert_allclose(
            end(plate[0], axis=0)[:2], end(places, axis=0)[:2], rtol=0.0, atol=2e-6
        )
    np.testing.assert_allclose(plate[2], plate[0], **ROUND)
    for k, each in enumerate(q):
        com = robot.snapshot(each).com().position
        np.testing.assert_allclose(mass[k][:, :2].mean(axis=0), com[:2], rtol=0.0, atol=1e-3)


def test_cones_of_friction_are_gone_while_feet_are_open_and_forces_that_slide_are_marked():
    feet = [{"kind": "contact", "frame": f"{leg}_foot", "mu": 0.5} for leg in ("FL", "FR")]
    robot = Robot.load("a1", override={"passive": feet})
    rows = tuple(
        f"{leg}_foot_contact.{axis}"
        for leg in ("FL", "FR") for axis in ("height", "slip_x", "slip_y")
    )  # fmt: skip
    blocks = tuple(row.partition(".")[0] for row in rows)
    force = np.array([[9.0, 3.0, 1.0] * 2] * 3)
    holds = np.ones((3, 6))
    holds[1, :3], force[1, :3] = 0.0, 0.0  # the first is open
    holds[2, 4:] = 0.0  # the second slides
    q = np.array([robot.home] * 3)
    result = run(
        robot, q, labels={"passive_rows": rows, "passive_row_units": ("m",) * 6,
                          "passive_row_blocks": blocks},
        reaction=force, passive_holds=holds,
    )  # fmt: skip
    (actor,) = limit_actors(result, robot, q, np.arange(3), 1.0)
    assert np.isfinite(actor.poses.position).all(axis=2).tolist() == [
        [True, True],
        [False, True],
        [True, True],
    ]
    rim = actor.visuals.parts[0].mesh.vertices
    rim = rim[rim[:, 2] > 0.0]
    np.testing.assert_allclose(np.hypot(rim[:, 0], rim[:, 1]) / rim[:, 2], 0.5, **ROUND)
    scene = run_scene(result, robot)
    assert "nan" not in svg_still(scene, 1).lower()  # the first is open
    marked = {
        each.name: each.limited.tolist() for each in force_arrows(robot, result.samples, [0, 1, 2])
    }
    assert marked == {"FL_foot_contact": [False] * 3, "FR_foot_contact": [False, False, True]}


def test_a_scene_holds_what_is_kept_once_and_leaves_out_what_would_hide_all(arm):
    robot, q = arm
    place = {"kind": "sphere", "frame": "tool", "center": [0.0, 0.0, 0.0], "stay": "inside"}
    near, far = {**place, "radius": 1.0}, {**place, "name": "sky", "radius": 50.0}
    gone = {**near, "name": "gone", "frame": "lost"}
    result = run(robot, q, [near, far, gone])
    scene = run_scene(result, robot)
    (limits,) = (actor for actor in scene.actors if actor.group == GROUP)
    assert len(limits.visuals.parts) == 2
    assert scene.low[0] <= -1.0 < 1.0 <= scene.high[0] < 5.0
    both = runs_scene({"a": result, "b": result}, {"a": robot, "b": robot})
    assert [actor.group for actor in both.actors] == ["a", "b", GROUP]
    assert [actor.group for actor in run_scene(run(robot, q), robot).actors] == ["robot"]


def test_a_force_on_a_body_is_drawn_along_the_axes_of_that_body(arm):
    robot = Robot.load("ur5", override={"passive": [
        {"kind": "contact", "frame": "tool", "on": "forearm", "mu": 0.5}]})  # fmt: skip
    rows = tuple(f"tool_contact.{axis}" for axis in ("height", "slip_x", "slip_y"))
    labels = {"passive_rows": rows, "passive_row_units": ("m",) * 3,
              "passive_row_blocks": ("tool_contact",) * 3}  # fmt: skip
    result = run(robot, arm[1], labels=labels, reaction=np.array([[5.0, 1.0, 2.0]] * 3))
    (found,) = force_arrows(robot, result.samples, np.arange(3))
    frame = robot.snapshot(arm[1][1]).frame("forearm")
    np.testing.assert_allclose(found.vector[1], frame.rotation @ [1.0, 2.0, 5.0], **ROUND)
    (cone,) = limit_actors(result, robot, arm[1], np.arange(3), 1.0)
    np.testing.assert_allclose(cone.poses.position[1, 0], found.tail[1], **ROUND)
    np.testing.assert_allclose(matrix(cone.poses.quaternion[1, 0]), frame.rotation, **ROUND)
