"""Scenes: what there is to see of runs, where it is, and the numbers of it in a page."""

from __future__ import annotations

import dataclasses as dc
import itertools
import re
from types import SimpleNamespace

import numpy as np
import pytest
from page_numbers import decode
from plain_look import PlainLook, plain_look, quaternion_of

from ukctrl.reports import html_page, plot
from ukctrl.reports.plot import style
from ukctrl.reports.scene import extent, page_data
from ukctrl.reports.scene import run_scene as run_scene_module
from ukctrl.reports.scene import svg_still as still_picture
from ukctrl.reports.scene.pedestals import add_pedestals
from ukctrl.reports.scene.run_scene import run_scene, runs_scene
from ukctrl.reports.scene.scene import Actor, Arrow, Scene, SceneCurve
from ukctrl.reports.scene.svg_still import svg_still
from ukctrl.reports.visual.visual_model import MountPoint, Poses, VisualPart
from ukctrl.robot import Robot
from ukctrl.robot.geometry import primitive_meshes
from ukctrl.robot.geometry.primitive_meshes import Mesh
from ukctrl.robot.geometry.quaternions import matrix
from ukctrl.simulation.result.quantities import Labels
from ukctrl.simulation.result.result import Result

CORNERS_OF_CUBE = np.array(list(itertools.product((-1.0, 1.0), repeat=3)))
HOSTILE = """</script><script>alert(1)</script><img src=x onerror="alert(2)">'"&<!--"""


@pytest.fixture(autouse=True)
def _plain(monkeypatch):
    monkeypatch.setattr(Robot, "visuals", plain_look, raising=False)


@pytest.fixture(scope="module")
def scara():
    return Robot.load("scara")


def particles(count, moments=5, mesh=None, look=PlainLook, **part):
    """Return an actor of equal balls that drift apart, and turn."""
    t = np.linspace(0.0, 2.0, moments)
    ball = primitive_meshes.sphere(0.1) if mesh is None else mesh
    parts = tuple(VisualPart(name=f"p{k}", mesh=ball, frame=k, **part) for k in range(count))
    position = t[:, None, None] * np.arange(3.0 * count).reshape(count, 3)
    half = 0.5 * t[:, None] * np.ones(count)
    quaternion = np.stack([np.cos(half), 0 * half, 0 * half, np.sin(half)], axis=-1)
    poses = Poses(position, quaternion, 1.0 + np.arange(count) * t[:, None])
    names = tuple(f"c{k}" for k in range(count))
    made = look(parts=parts, frame_names=names, robot=None)
    return Actor(name="swarm", visuals=made, poses=poses)


def scene_of(*actors, curves=(), **more):
    n = len(actors[0].poses.position)
    given = {"title": "a scene", "time": np.linspace(0.0, 2.0, n), "ground": 0.0, **more}
    low, high = extent.bounding_box(actors, curves)
    return Scene(actors=actors, curves=curves, low=low, high=high, **given)


# What there is to see


def test_a_run_shows_its_robot_its_trail_and_its_reference(helix, scara):
    result = helix()
    scene = run_scene(result)
    (actor,) = scene.actors
    assert (actor.name, actor.color, actor.group) == ("scara", "", "robot")
    assert scene.time[0] == 0.0
    assert scene.time[-1] == 20.0
    here = actor.visuals.poses(result["q"], result.time)
    np.testing.assert_array_equal(actor.poses.position, here.position)
    kinds = [(curve.name, curve.kind, curve.color) for curve in scene.curves]
    first = style.PALETTE[0]
    assert kinds == [("tool", "reference", first), ("tool", "trail", first)]
    reference, trail = (curve.points for curve in scene.curves)
    np.testing.assert_array_equal(reference, result["frame_reference"][:, 0])
    np.testing.assert_array_equal(trail, result["frame_position"][:, 0])
    assert scene.notes == ()
    assert scene.up == (0.0, 0.0, 1.0)


def test_what_joints_feel_is_drawn_along_their_axes(helix, scara):
    result = helix()
    arrows = {arrow.name: arrow for arrow in run_scene(result).arrows}
    units = {name: (arrow.unit, arrow.group) for name, arrow in arrows.items()}
    turns = dict.fromkeys(("q1", "q2", "q3"), ("N m", "inputs"))
    assert units == {**turns, "q4": ("N", "inputs")}
    for k, name in enumerate(("q1", "q2", "q3")):  # all of its axes stand upright
        np.testing.assert_allclose(np.abs(arrows[name].vector[:, 2]), np.abs(result["u"][:, k]))
        np.testing.assert_allclose(arrows[name].vector[:, :2], 0.0, atol=1e-12)
    place = scara.structure.block_of(1).joint
    shot = scara.snapshot(result["q"][7])
    np.testing.assert_allclose(arrows["q2"].tail[7], shot.translations[place])


def test_a_payload_waits_where_it_is_picked_up_and_stays_where_it_is_let_go(helix, scara):
    result = helix()
    loads = [
        {"kind": "payload", "frame": "tool", "mass": 8.0, "com": [0.0, 0.0, -0.1],
         "start": 5.0, "stop": 15.0},
        {"kind": "payload", "frame": "tool", "mass": 1.0, "inertia": [0.001, 0.001, 0.001]},
    ]  # fmt: skip
    scene = run_scene(dc.replace(result, scenario={**result.scenario, "effect": loads}))
    _, picked, always = scene.actors
    for actor, edge, below, moments in (
        (picked, 0.2, 0.1, np.clip(result.time, 5.0, 15.0)), (always, 0.0775, 0.0, result.time),
    ):  # fmt: skip
        (part,) = actor.visuals.parts
        for k in (0, 40, len(result.time) - 1):
            R = matrix(actor.poses.quaternion[k, part.frame])
            corners = part.mesh.vertices @ R.T + actor.poses.position[k, part.frame]
            tool = scara.snapshot(result["q"][np.searchsorted(result.time, moments[k])]).frame(
                "tool"
            )
            middle = tool.position - below * tool.rotation[:, 2]
            np.testing.assert_allclose(corners.mean(axis=0), middle, atol=1e-9)
            np.testing.assert_allclose(np.ptp(part.mesh.vertices, axis=0).min(), edge, rtol=1e-3)


def test_a_long_run_is_thinned_and_keeps_both_ends(helix):
    scene = run_scene(helix(5000))
    assert len(scene.time) == run_scene_module.MOMENTS
    assert (scene.time[0], scene.time[-1]) == (0.0, 20.0)
    assert len(scene.actors[0].poses.position) == len(scene.curves[0].points) == len(scene.time)


def test_a_robot_that_is_gone_leaves_its_curves_and_a_note(helix):
    result = helix()
    gone = dc.replace(result, scenario={**result.scenario, "robot": "no-such-robot"})
    scene = run_scene(gone)
    assert scene.actors == ()
    assert [curve.kind for curve in scene.curves] == ["reference", "trail"]
    (note,) = scene.notes
    assert note.startswith("The robot itself is not shown: no robot named 'no-such-robot'")
    other = dc.replace(result, scenario={**result.scenario, "robot": "panda"})
    assert "its coordinates are not those of the run" in run_scene(other).notes[0]
    given = run_scene(gone, Robot.load("scara"))
    assert [actor.name for actor in given.actors] == ["scara"]


def test_of_nothing_there_is_no_scene(helix):
    assert runs_scene({}) is None
    bare = Result.build(time=[0.0, 1.0], samples={}, labels=Labels(), status="completed")
    assert run_scene(bare) is None
    assert html_page.embed_scene(None) is None


def test_a_run_that_did_not_begin_shows_its_robot_at_the_start_and_why(helix, scara):
    message = "after t = 0 s: the task is out of reach."
    result = helix(0, status="infeasible", message=message)
    start = {"q": {"q1": 0.3, "q4": 0.1}}
    result = dc.replace(result, scenario={**result.scenario, "start": start})
    scene = run_scene(result)
    (actor,) = scene.actors
    there = actor.visuals.poses(np.array([[0.3, 0.0, 0.0, 0.1]]), np.zeros(1))
    np.testing.assert_array_equal(actor.poses.position, there.position)
    assert scene.title == result.title
    assert scene.notes == (
        "The run ended as it began (infeasible): after t = 0 s: the task is out of reach.",
    )
    lost = dc.replace(result, scenario={**result.scenario, "robot": "no-such-robot"})
    assert run_scene(lost) is None


def test_a_run_that_blows_up_stays_where_it_was_known(helix):
    result = helix()
    q = result["q"].copy()
    q[300:, 0], q[310:] = 1e9, np.nan
    position = result["frame_position"].copy()
    position[300:] = 1e9
    samples = {**dict(result.samples.arrays), "q": q, "frame_position": position}
    scene = run_scene(helix(samples=samples))
    poses, trail = scene.actors[0].poses, scene.curves[1].points
    assert np.isfinite(poses.position).all()
    np.testing.assert_array_equal(poses.position[-1], poses.position[299])
    assert np.isnan(trail[300:]).all()
    assert np.abs([scene.low, scene.high]).max() < 2.0


def test_what_is_measured_wrongly_is_a_ghost(helix):
    result = helix()
    for off, ghosts in ((0.0, 0), (1e-5, 0), (0.2, 1)):
        samples = {**dict(result.samples.arrays), "q_measured": result["q"] + off}
        scene = run_scene(helix(samples=samples))
        found = [actor for actor in scene.actors if actor.group == "believed"]
        assert len(found) == ghosts
    assert (found[0].name, found[0].opacity) == ("as measured", 0.3)


def test_a_belief_with_other_masses_looks_like_the_truth(helix):
    result = helix()
    table = {**result.scenario, "believed": {"mass_scale": 0.5}}
    assert len(run_scene(dc.replace(result, scenario=table)).actors) == 1


def test_compared_controllers_are_in_step_and_in_their_colours(helix):
    early = helix()
    stopped = Result.build(
        time=early.time[:201], labels=early.labels, status="diverged", scenario=early.scenario,
        samples={name: array[:201] for name, array in early.samples.arrays.items()},
    )  # fmt: skip
    scene = runs_scene({"a": stopped, "b": helix(), "c": helix(0)})
    assert [(actor.name, actor.color) for actor in scene.actors] == [
        ("a", style.PALETTE[0]), ("b", style.PALETTE[1])
    ]  # fmt: skip
    assert all(actor.opacity < 1.0 for actor in scene.actors)  # they may hide each other
    assert scene.time[-1] == 20.0
    short, long = (actor.poses.position for actor in scene.actors)
    np.testing.assert_array_equal(short[:201], long[:201])
    np.testing.assert_array_equal(short[201:], np.broadcast_to(short[200], short[201:].shape))
    assert scene.actors[0].visuals is scene.actors[1].visuals
    kinds = [(curve.group, curve.kind) for curve in scene.curves]
    assert kinds == [("reference", "reference"), ("a", "trail"), ("b", "trail")]
    assert scene.arrows == ()


def test_a_swarm_in_a_wide_field_can_be_seen(monkeypatch):
    actor = run_scene_module._enlarge_particles(particles(4), 100.0)
    assert np.ptp(actor.visuals.parts[0].mesh.vertices, axis=0).max() == pytest.approx(3.0)
    crowd = run_scene_module._enlarge_particles(particles(100), 100.0)
    assert np.ptp(crowd.visuals.parts[0].mesh.vertices, axis=0).max() == pytest.approx(2.5)
    near = particles(4)
    assert run_scene_module._enlarge_particles(near, 1.0) is near


@pytest.mark.parametrize(
    ("length", "count", "picked"),
    [(5, 9, [0, 1, 2, 3, 4]), (5, 5, [0, 1, 2, 3, 4]), (5, 3, [0, 2, 4]), (10, 4, [0, 3, 6, 9]),
     (1, 3, [0])],
)  # fmt: skip
def test_moments_are_spread_over_a_run_with_both_ends(length, count, picked):
    assert run_scene_module._spread(length, count).tolist() == picked


def test_the_sample_of_a_time_is_the_nearest(scara):
    run = Result.build(
        time=[1.0, 2.0, 4.0], samples={"q": np.array([[1.0], [2.0], [np.nan]])},
        labels=Labels(coordinates=("x",), coordinate_units=("m",)), status="completed",
    )  # fmt: skip
    asked = np.array([0.0, 1.4, 1.5, 1.6, 2.0, 2.9, 3.0, 3.1, 9.0])
    assert run_scene_module._samples_at(run, asked).tolist() == [0, 0, 1, 1, 1, 1, 2, 2, 2]
    robot = SimpleNamespace(neutral=np.array([7.0]))
    found = run_scene_module._configurations(run, robot, np.array([2, 0, 1, 2, 2]))
    assert found.ravel().tolist() == [1.0, 1.0, 2.0, 2.0, 2.0]  # before it was known: as at first
    nowhere = run_scene_module._configurations(run, robot, np.array([2, 2]))
    assert nowhere.ravel().tolist() == [7.0, 7.0]


@pytest.mark.parametrize(
    ("mesh", "wide"),
    [
        (primitive_meshes.sphere(0.5), 1.0),
        (primitive_meshes.sphere(0.5).moved(np.eye(3), np.array([0.1, 0.0, 0.0])), 0.0),
        (primitive_meshes.ellipsoid(np.array([0.5, 0.5, 0.51])), 0.0),
        (primitive_meshes.box(1.0, 1.0, 1.0), 0.0),  # its corners are as far, but few
    ],
)
def test_a_ball_is_round_about_the_origin_of_its_carrier(mesh, wide):
    assert run_scene_module._ball_diameter(mesh) == pytest.approx(wide, rel=1e-5)


@pytest.mark.parametrize("below", [0.0, -2.0])
def test_a_foot_stands_on_a_post_where_the_floor_is_lower(below):
    actor = particles(2)
    foot = MountPoint(np.array([1.0, 2.0, 0.05]), 0.1)
    actor = dc.replace(actor, visuals=dc.replace(actor.visuals, mounts=(foot,)))
    posts = add_pedestals(actor, below).visuals.parts[2:]
    assert len(posts) == (below < 0.0)
    for post in posts:
        low, high = post.mesh.vertices.min(axis=0), post.mesh.vertices.max(axis=0)
        np.testing.assert_allclose([low[2], high[2]], [below, 0.05], atol=1e-12)
        np.testing.assert_allclose(0.5 * (low + high)[:2], [1.0, 2.0], atol=1e-12)
    assert add_pedestals(actor, None) is actor


def test_the_floor_is_what_a_robot_stands_on_though_it_reaches_below_later():
    actor = particles(1)
    position = np.array([[[0.0, 0.0, 0.1 - t]] for t in (0.0, 0.5, 1.0)])
    pose = np.tile([1.0, 0.0, 0.0, 0.0], (3, 1, 1))
    actor = dc.replace(actor, poses=Poses(position, pose, np.ones((3, 1))))
    low, high = extent.bounding_box([actor], [])
    assert extent.floor_height(None, low, high, [actor]) == 0.0
    hung = dc.replace(
        actor, visuals=dc.replace(actor.visuals, mounts=(MountPoint(np.zeros(3), 0.1),))
    )
    assert extent.floor_height(None, low, high, [hung]) == pytest.approx(-1.0)


# Where it is


def test_a_point_of_a_carrier_is_where_its_pose_puts_it():
    rng = np.random.default_rng(0)
    quaternion = rng.normal(size=(3, 2, 4))
    quaternion /= np.linalg.norm(quaternion, axis=-1, keepdims=True)
    turns = extent.rotation_matrices(quaternion)
    poses = Poses(rng.normal(size=(3, 2, 3)), quaternion, rng.uniform(0.5, 2.0, (3, 2)))
    points = rng.normal(size=(5, 3))
    for c in range(2):
        found = extent.to_world(points, poses, c)
        for k in range(3):
            stretched = points * [1.0, 1.0, poses.stretch[k, c]]
            wanted = poses.position[k, c] + stretched @ turns[k, c].T
            np.testing.assert_allclose(found[k], wanted)
            again = quaternion_of(turns[k, c])
            assert abs(again @ quaternion[k, c]) == pytest.approx(1.0)


def test_a_box_holds_every_body_at_every_moment_and_no_runaway():
    actor = particles(2)
    low, high = extent.bounding_box([actor], [])
    assert (low <= -0.1).all()  # corners of boxes around bodies that turn
    assert (low >= -0.1 * np.sqrt(2.0)).all()
    assert (high >= [6.0, 8.0, 10.0]).all()
    away = np.zeros((20, 3))
    away[1:, 0] = np.linspace(0.0, 1.0, 19)
    away[18:, 0] = 9e5, 2e7
    curves = [
        SceneCurve(name="c", points=away, kind="trail", color="", group="robot"),
        SceneCurve(name="c", points=away[:18], kind="reference", color="", group="reference"),
    ]
    low, high = extent.bounding_box([], curves)
    assert (low[0], high[0]) == (0.0, away[17, 0])
    assert high[1] - low[1] == pytest.approx(extent.SMALLEST)
    traveller = np.outer(np.arange(100.0), [1.0, 0.0, 0.0])
    curves = [SceneCurve(name="c", points=traveller, kind="trail", color="", group="robot")]
    assert extent.bounding_box([particles(1, moments=100)], curves)[1][0] == 99.0


@pytest.mark.parametrize(
    ("gravity", "low", "floor", "up"),
    [
        ([0, 0, -9.81], [0, 0, 0.2], 0.0, (0, 0, 1)),
        ([0, 0, -9.81], [0, 0, -0.5], -0.5, (0, 0, 1)),
        ([0, 0, -9.81], [0, 0, 90.0], 90.0, (0, 0, 1)),
        ([0, -9.81, 0], [0, 0, 0], None, (0, 1, 0)),
        ([0, 0, 0], [0, 0, -0.1], -0.1, (0, 0, 1)),
        (None, [0, 0, 0.01], 0.0, (0, 0, 1)),
        (None, [0, 0, -0.5], -0.5, (0, 0, 1)),
        ([0, 0, -9.81], [0, 0, 3.0], 0.0, (0, 0, 1)),
    ],
)
def test_the_floor_is_that_of_the_world_or_below_all(gravity, low, floor, up):
    gravity = None if gravity is None else np.array(gravity, dtype=float)
    low = np.array(low, dtype=float)
    assert extent.floor_height(gravity, low, low + 1.0) == floor
    assert extent.up_axis(gravity) == up


@pytest.mark.parametrize("up", [(0.0, 0.0, 1.0), (0.0, 1.0, 0.0), (1.0, 0.0, 0.0)])
@pytest.mark.parametrize("size", [(1, 1, 1), (1, 0.01, 1), (1, 1, 0.01), (0.01, 1, 1)])
def test_a_view_has_axes_of_unit_length_and_looks_down(size, up):
    axes = np.stack(extent.view_axes(np.zeros(3), np.array(size, dtype=float), up))
    np.testing.assert_allclose(axes @ axes.T, np.eye(3), atol=1e-12)
    assert np.linalg.det(axes) == pytest.approx(1.0)
    assert axes[1] @ up > 0.0
    assert axes[2] @ up > 0.0
    flat = int(np.argmin(size))
    if min(size) < 0.1 and not up[flat]:
        assert abs(axes[2][flat]) > 0.85  # a flat scene is seen from its front


@pytest.mark.parametrize(
    ("size", "up", "level", "lift"),
    [
        ((1, 1, 1), (0, 0, 1), (0.6, -1, 0), 0.42),  # over a corner
        ((1, 1, 1), (0, 1, 0), (0.6, 0, 1), 0.42),
        ((1, 1, 1), (1, 0, 0), (0, 0.6, 1), 0.42),
        ((1, 1, 0.1), (0, 0, 1), (0.6, -1, 0), 0.85),  # what lies is seen from higher
        ((1, 0.1, 1), (0, 1, 0), (0.6, 0, 1), 0.85),
        ((1, 1, 0.15), (0, 0, 1), (0.6, -1, 0), 0.42),
        ((0.1, 1, 1), (0, 0, 1), (1, 0.3, 0), 0.22),  # what stands, from its front, a bit aside
        ((1, 0.1, 1), (0, 0, 1), (0.3, -1, 0), 0.22),
        ((1, 1, 0.1), (0, 1, 0), (0.3, 0, 1), 0.22),
        ((0.15, 1, 1), (0, 0, 1), (0.6, -1, 0), 0.42),
    ],
)
def test_an_eye_looks_over_a_corner_or_at_the_front_of_what_is_flat(size, up, level, lift):
    low = np.array([0.0, 0.0, 0.0])
    right, above, toward = extent.view_axes(low, low + size, up)
    wanted = np.array(level) / np.linalg.norm(level) + lift * np.array(up, dtype=float)
    np.testing.assert_allclose(toward, wanted / np.linalg.norm(wanted), atol=1e-12)
    np.testing.assert_allclose(above, np.cross(toward, right), atol=1e-12)
    assert right @ up == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize(
    ("away", "end"),
    [
        ([0.0] * 9 + [2.5], 3.0),  # five times as far as the reference, from its middle
        ([0.0] * 9 + [2.51], 1.0),
        ([0.0] * 7 + [1.0, 1.0, 5.0], 5.5),  # five times what is reached four fifths of the time
        ([0.0] * 7 + [1.0, 1.0, 5.01], 1.5),
        ([0.0] * 8 + [1.0, 2.51], 1.5),
        ([0.0] * 9 + [np.nan], 1.0),
        ([0.0] * 6 + [0.5, 0.5, np.nan, np.inf], 1.0),
        ([0.0] * 6 + [2e6] * 4, 1.0),
    ],
)
def test_a_camera_follows_as_far_as_the_motion_mostly_goes(away, end):
    wanted = np.array([[0.0, 0, 0], [1.0, 0, 0]])
    way = np.zeros((10, 3))
    way[:, 0] = 0.5 + np.array(away)
    curves = [
        SceneCurve(name="c", points=points, kind=kind, color="", group="")
        for points, kind in ((wanted, "reference"), (way, "trail"))
    ]
    low, high = extent.bounding_box([], curves)
    assert (low[0], high[0]) == (0.0, end)
    np.testing.assert_allclose([low[1:], high[1:]], np.outer([-0.5, 0.5], [1e-3] * 2), atol=1e-15)


def test_without_anything_a_camera_shows_a_cube_of_a_metre():
    for curves in ((), [SceneCurve(name="", points=np.full((2, 3), np.nan), kind="trail", color="",
                              group="")]):  # fmt: skip
        np.testing.assert_array_equal(
            extent.bounding_box([], curves), np.outer([-0.5, 0.5], [1.0] * 3)
        )


def test_a_camera_must_show_the_corners_of_all_parts_and_all_lines_within_the_box():
    block = particles(2, moments=2, mesh=primitive_meshes.box(2.0, 4.0, 6.0))
    turned = block.poses.quaternion.copy()
    turned[1] = np.sqrt(0.5), np.sqrt(0.5), 0.0, 0.0  # y to z
    block = dc.replace(block, poses=block.poses._replace(quaternion=turned))
    line = SceneCurve(name="", points=np.array([[9.0, 9, 9], [np.nan] * 3]), kind="trail", color="",
                 group="")  # fmt: skip
    scene = dc.replace(
        scene_of(block, curves=(line,)), low=np.full(3, -99.0), high=np.full(3, 99.0)
    )
    signs = CORNERS_OF_CUBE
    found = extent.camera_points(scene)
    wanted = []
    for k, carrier in ((0, 0), (0, 1), (1, 0), (1, 1)):
        reach = np.array([1.0, 2.0, 3.0 * block.poses.stretch[k, carrier]])
        reach = reach if k == 0 else reach[[0, 2, 1]]
        wanted += list(signs * reach + block.poses.position[k, carrier])
    wanted.append([9.0, 9, 9])
    order = [np.lexsort(np.round(points, 6).T) for points in (found, np.array(wanted))]
    np.testing.assert_allclose(found[order[0]], np.array(wanted)[order[1]], atol=1e-12)
    close = dc.replace(scene, low=np.full(3, -1.0), high=np.full(3, 0.5))
    np.testing.assert_allclose(extent.camera_points(close), np.clip(found, -1.0, 0.5), atol=1e-12)
    bare = dc.replace(scene, actors=(), curves=())
    np.testing.assert_array_equal(extent.camera_points(bare), [scene.low, scene.high])


def test_of_a_long_motion_forty_moments_tell_where_a_body_goes():
    assert extent._corners(particles(3, moments=40)).shape == (40, 3, 8, 3)
    long = particles(3, moments=400)
    assert extent._corners(long).shape == (40, 3, 8, 3)
    np.testing.assert_allclose(
        extent._corners(long)[[0, -1]].mean(axis=2), long.poses.position[[0, -1]], atol=1e-12
    )
    nothing = dc.replace(long, visuals=dc.replace(long.visuals, parts=()))
    assert extent._corners(nothing).shape == (40, 3, 1, 3)


@pytest.mark.parametrize(
    ("gravity", "low", "floor"),
    [
        (None, -0.04, 0.0),  # a fiftieth of the size
        (None, -0.0401, -0.0401),
        (None, 10.0, 0.0),  # five times the size
        (None, 10.01, 10.01),
        ([9e-7, 0.0, -1.0], 0.0, 0.0),
        ([2e-6, 0.0, -1.0], 0.0, None),
    ],
)
def test_the_borders_of_where_the_floor_is_the_worlds(gravity, low, floor):
    low = np.array([0.0, 0.0, low])
    assert (
        extent.floor_height(None if gravity is None else np.array(gravity), low, low + 2.0) == floor
    )


@pytest.mark.parametrize("up", [-1.0, 1.0])
@pytest.mark.parametrize("axis", range(3))
def test_upwards_is_against_gravity_unless_that_is_downwards(axis, up):
    gravity = np.zeros(3)
    gravity[axis] = -9.81 * up
    wanted = [0.0, 0.0, 1.0] if axis == 2 else (up * np.eye(3)[axis]).tolist()
    assert list(extent.up_axis(gravity)) == wanted


# Numbers in a page


def test_numbers_of_a_page_are_those_of_the_scene():
    actor = particles(3)
    points = actor.poses.position[:, 1].copy()
    points[2] = np.nan
    curve = SceneCurve(name="c", points=points, kind="trail", color="#0072b2", group="robot")
    scene = scene_of(actor, curves=(curve,))
    data = page_data.page_data(scene)
    (told,) = data.head["actors"]
    for name in ("position", "quaternion", "stretch"):
        array = getattr(actor.poses, name).reshape(5, -1)
        found = decode(data, told[name])
        step = np.ptp(array, axis=0) / page_data.LEVELS
        assert (np.abs(found - array) <= 0.51 * step + 2e-7 * np.abs(array).max()).all()
    back = decode(data, data.head["curves"][0]["points"])
    np.testing.assert_array_equal(np.isnan(back), np.isnan(points))
    np.testing.assert_allclose(back, points, atol=1e-4)
    np.testing.assert_allclose(decode(data, data.head["time"])[:, 0], scene.time, atol=1e-4)
    assert data.head["span"] == [0.0, 2.0]
    assert data.head["curves"][0]["color"] == "--series-0"


@pytest.mark.parametrize(
    "column",
    [
        [np.nan] * 4,
        [np.nan, 1.0, np.nan, 1.0],
        [-3.5] * 4,
        [0.0, 1e-30, 0.0, 0.0],
        [1e5, -1e5, 0, 7],
    ],
)
def test_every_column_comes_back(column):
    pool = page_data._NumberBlock()
    values = np.array(column, dtype=float)[:, None]
    entry = pool.columns(values)
    found = decode(page_data.PageData({}, pool.block()), entry)
    size = np.nanmax(np.abs(values), initial=0.0)
    np.testing.assert_allclose(found, values, atol=2e-5 * size)


def test_quaternions_of_a_page_never_jump_to_their_negatives():
    angle = np.linspace(0.0, 4.0 * np.pi, 50)[:, None]
    quaternion = np.stack([np.cos(0.5 * angle), 0 * angle, 0 * angle, np.sin(0.5 * angle)], -1)
    signs = np.where(np.arange(50) % 3 == 0, -1.0, 1.0)[:, None, None]
    actor = particles(1)
    n, c = len(quaternion), len(actor.visuals.frame_names)
    poses = Poses(np.zeros((n, c, 3)), np.repeat(signs * quaternion, c, axis=1), np.ones((n, c)))
    scene = dc.replace(scene_of(dc.replace(actor, poses=poses)), time=np.arange(float(n)))
    data = page_data.page_data(scene)
    found = decode(data, data.head["actors"][0]["quaternion"]).reshape(n, c, 4)
    assert ((found[1:] * found[:-1]).sum(axis=-1) > 0.9).all()
    np.testing.assert_allclose(np.abs((found * quaternion).sum(axis=-1)), 1.0, atol=1e-4)


def test_equal_meshes_are_told_once():
    several = particles(50)
    data = page_data.page_data(scene_of(several))
    assert len(data.head["meshes"]) == 1
    copied = particles(50, mesh=primitive_meshes.sphere(0.1))
    assert len(page_data.page_data(scene_of(several, copied)).head["meshes"]) == 1


def test_vertices_of_a_page_are_within_rounding():
    mesh = primitive_meshes.capsule(0.05, -0.2, 0.7)
    data = page_data.page_data(scene_of(particles(1, mesh=mesh)))
    (entry,) = data.head["meshes"]
    block = page_data.zlib.decompress(page_data.base64.b64decode(data.block))
    faces = np.frombuffer(block, np.uint16, 3 * entry["faces"], entry["at"])
    start = entry["at"] + faces.nbytes
    levels = np.frombuffer(block, np.uint16, 3 * entry["vertices"], start).reshape(-1, 3)
    np.testing.assert_array_equal(faces.reshape(-1, 3), mesh.faces)
    found = entry["low"] + levels * np.array(entry["step"])
    np.testing.assert_allclose(found, mesh.vertices, atol=2e-5)


def test_a_swarm_of_hundreds_stays_within_the_budget():
    scene = scene_of(particles(600, moments=300))
    data = page_data.page_data(scene)
    assert len(data.block) < 1.4 * page_data.MOTION_BYTES
    kept = data.head["time"][0]
    assert page_data.FEWEST <= kept < 300
    assert data.head["notes"] == [
        f"The 3-D view shows {kept} of 300 time steps; the figures show all."
    ]


def test_of_too_many_moments_the_same_are_kept_of_everything(monkeypatch):
    """A ball that moves along three axes, and grows; a curve and an arrow that move along one."""
    t = np.arange(101.0)
    zero = 0.0 * t
    ball = particles(1, moments=101)
    still = np.tile([1.0, 0.0, 0.0, 0.0], (101, 1, 1))
    ball = dc.replace(ball, poses=ball.poses._replace(quaternion=still, stretch=1 + t[:, None]))
    points = np.stack([t, zero, zero], axis=1)
    curve = SceneCurve(name="c", points=points, kind="trail", color="", group="robot")
    given = {"vector": 2.0 * points, "unit": "N", "group": "inputs"}
    arrows = tuple(
        Arrow(name="a", tail=zero[:, None] * np.ones(3), limited=limited, **given)
        for limited in (t > 50.0, np.array([True]))
    )
    scene = scene_of(ball, curves=(curve,), arrows=arrows, notes=("a note.",))
    moving = 2 + 1 + 1 + 1 + 1  # the first coordinate of the ball stays zero
    monkeypatch.setattr(page_data, "MOTION_BYTES", 51 * (2 * moving + 2))
    thin, told = page_data._thin_moments(scene)
    kept = 2 * np.arange(51)
    assert told == ["The 3-D view shows 51 of 101 time steps; the figures show all."]
    np.testing.assert_array_equal(thin.time, scene.time[kept])
    for now, before in zip(thin.actors[0].poses, ball.poses, strict=True):
        np.testing.assert_array_equal(now, before[kept])
    np.testing.assert_array_equal(thin.curves[0].points, points[kept])
    for now, before in zip(thin.arrows, arrows, strict=True):
        np.testing.assert_array_equal(now.tail, before.tail[kept])
        np.testing.assert_array_equal(now.vector, before.vector[kept])
    np.testing.assert_array_equal(thin.arrows[0].limited, kept > 50)
    np.testing.assert_array_equal(thin.arrows[1].limited, np.ones(51, bool))
    assert page_data.page_data(scene).head["notes"] == ["a note.", *told]

    monkeypatch.setattr(page_data, "MOTION_BYTES", 101 * (2 * moving + 2) - 1)
    assert len(page_data._thin_moments(scene)[0].time) == 100
    monkeypatch.setattr(page_data, "MOTION_BYTES", 101 * (2 * moving + 2))
    assert page_data._thin_moments(scene) == (scene, [])
    monkeypatch.setattr(page_data, "MOTION_BYTES", 0)
    assert len(page_data._thin_moments(scene)[0].time) == page_data.FEWEST


def test_a_page_says_what_there_is_and_where():
    ball = particles(2, look=PlainLook, color="#123abc", opacity=0.5, text="M")
    ball = dc.replace(ball, opacity=0.5, group="believed")
    points = ball.poses.position[:, 1]
    curve = SceneCurve(
        name="c", points=points, kind="reference", color=style.MUTED, group="reference"
    )
    arrow = Arrow(name="a", tail=points, vector=2.0 * points, unit="N m", group="reactions")
    scene = scene_of(ball, curves=(curve,), arrows=(arrow,), ground=-0.5, up=(0.0, 1.0, 0.0))
    data = page_data.page_data(scene)
    (actor,), (line,), (push,) = (data.head[name] for name in ("actors", "curves", "arrows"))
    assert {name: data.head[name] for name in ("title", "span", "ground", "up", "notes")} == {
        "title": "a scene", "span": [0.0, 2.0], "ground": -0.5, "up": [0.0, 1.0, 0.0], "notes": []
    }  # fmt: skip
    for name, found in (("low", scene.low), ("high", scene.high)):
        assert data.head[name] == found.tolist()
    assert data.head["view"] == list(extent.view_axes(scene.low, scene.high, scene.up)[2])
    assert (actor["name"], actor["group"], actor["carriers"]) == ("swarm", "believed", ["c0", "c1"])
    assert actor["parts"] == [[0, 0, "#123abc", 0.25], [0, 1, "#123abc", 0.25]]
    assert actor["texts"] == [["M", 0], ["M", 1]]
    assert (line["name"], line["kind"], line["color"], line["group"]) == (
        "c", "reference", "--muted", "reference"
    )  # fmt: skip
    assert (push["name"], push["unit"], push["group"]) == ("a", "N m", "reactions")
    np.testing.assert_allclose(decode(data, push["tail"]), points, atol=1e-3)
    np.testing.assert_allclose(decode(data, push["vector"]), 2.0 * points, atol=1e-3)
    colored = page_data.page_data(scene_of(dc.replace(ball, color=style.PALETTE[2])))
    assert [part[2] for part in colored.head["actors"][0]["parts"]] == ["--series-2"] * 2
    packed = page_data.zlib.decompress(page_data.base64.b64decode(data.block))
    assert data.head["size"] == len(packed)
    assert data.head["size"] % 4 == 0
    assert all(entry["at"] % 4 == 0 for entry in data.head["meshes"])


@pytest.mark.parametrize(
    ("color", "told"),
    [("#0072b2", "--series-0"), ("#abcdeF", "#abcdeF"), ("#abcde", ""), ("#abcdefa", ""),
     ("red", ""), ("", ""), (style.MUTED, "--muted")],
)  # fmt: skip
def test_a_colour_is_a_series_or_six_digits(color, told):
    assert page_data.color_of(color) == told


@pytest.mark.parametrize(("count", "wide"), [(65_534, False), (65_535, True)])
def test_a_mesh_of_more_corners_than_16_bits_count_is_told_in_32(count, wide):
    vertices = np.stack([np.arange(float(count)), np.zeros(count), np.ones(count)], axis=1)
    entry, (faces, levels) = page_data._packed(Mesh(vertices, np.array([[0, 1, count - 1]])))
    assert (entry["vertices"], entry["faces"], entry["wide"]) == (count, 1, wide)
    assert (faces.dtype, levels.dtype) == (np.dtype("<u4" if wide else "<u2"), np.dtype("<u2"))
    assert faces.tolist() == [[0, 1, count - 1]]
    assert entry["low"] == [0.0, 0.0, 1.0]
    assert entry["step"][1:] == [1.0, 1.0]  # no width, no levels
    assert (levels[-1].tolist(), levels[0].tolist()) == ([65_534, 0, 0], [0, 0, 0])
    assert page_data._size(Mesh(vertices, faces)) == 6 * count + (12 if wide else 6)


def test_meshes_that_are_too_large_become_boxes(monkeypatch):
    monkeypatch.setattr(page_data, "MESH_BYTES", 10_000)
    fine, coarse = primitive_meshes.sphere(1.0), primitive_meshes.box(2.0, 1.0, 0.5)
    many = dc.replace(particles(1), name="ball"), particles(1, mesh=coarse)
    assert page_data._size(fine) > 2_000
    monkeypatch.setattr(page_data, "MESH_BYTES", 2_000)
    data = page_data.page_data(scene_of(particles(1, mesh=fine), many[1]))
    assert [mesh["faces"] for mesh in data.head["meshes"]] == [12, 12]
    assert data.head["notes"] == ["1 mesh is too large for a page and drawn as a box."]
    ball = data.head["meshes"][0]
    np.testing.assert_allclose(ball["low"], -1.0, rtol=1e-2)
    aside = primitive_meshes.sphere(0.5).moved(np.eye(3), np.array([1.0, 2.0, 3.0]))
    beside = particles(1, mesh=fine), particles(1, mesh=aside)
    monkeypatch.setattr(page_data, "MESH_BYTES", page_data._size(fine))
    notes = page_data.page_data(scene_of(*beside)).head["notes"]
    assert notes == ["1 mesh is too large for a page and drawn as a box."]
    monkeypatch.setattr(page_data, "MESH_BYTES", page_data._size(fine) - 1)
    data = page_data.page_data(scene_of(*beside))
    assert data.head["notes"] == ["2 meshes are too large for a page and drawn as boxes."]
    low, step = (np.array(data.head["meshes"][1][name]) for name in ("low", "step"))
    np.testing.assert_allclose(low, [0.5, 1.5, 2.5], atol=1e-2)
    np.testing.assert_allclose(low + page_data.LEVELS * step, [1.5, 2.5, 3.5], atol=1e-2)
    monkeypatch.setattr(page_data, "MESH_BYTES", 2 * page_data._size(fine))
    assert page_data.page_data(scene_of(*beside)).head["notes"] == []


def test_what_strangers_write_stays_text_in_a_page():
    actor = particles(2, color='red"><script>', text=HOSTILE)
    bad = Mesh(np.array([[0.0, np.nan, 0.0]] * 3), np.array([[0, 1, 2]]))
    parts = (*actor.visuals.parts, VisualPart(name="nan", mesh=bad, frame=0))
    look = dc.replace(actor.visuals, parts=parts, frame_names=(HOSTILE, HOSTILE))
    actor = dc.replace(actor, name=HOSTILE, visuals=look, group=HOSTILE)
    curve = SceneCurve(
        name=HOSTILE, points=actor.poses.position[:, 0], kind="trail", color=HOSTILE, group=HOSTILE
    )
    stage = html_page.embed_scene(scene_of(actor, curves=(curve,), title=HOSTILE, notes=(HOSTILE,)))
    head = html_page.inline_json(stage.head)
    for text in (head, stage.still):
        assert "</script" not in text
        assert "<img" not in text
        assert "<!--" not in text
    assert re.fullmatch(r"[A-Za-z0-9+/=]*", stage.block)
    assert "red" not in head
    assert len(stage.still.split("<polygon")) == 3


def test_the_still_picture_shows_every_part_and_where_it_went(helix):
    scene = run_scene(helix())
    text = svg_still(scene)
    assert text.count("<polygon") == len(scene.actors[0].visuals.parts)
    assert text.count("<polyline") == 2
    numbers = [
        float(x) for x in re.findall(r"-?\d+\.\d", re.sub(r'(stroke|opac)[^"]*"[^"]*"', "", text))
    ]
    assert min(numbers) >= 0.0
    assert max(numbers) <= 640.0
    assert len(text) < 60_000


CORNERS = np.array([[x, y, z] for x in (-1.0, 3.0) for y in (0.0, 2.0) for z in (-1.0, 0.5)])


@pytest.mark.parametrize("up", [(0.0, 0.0, 1.0), (0.0, 1.0, 0.0)])
@pytest.mark.parametrize("size", [(1.0, 1.0, 1.0), (0.1, 1.0, 1.0), (1.0, 1.0, 9.0)])
def test_the_still_picture_shows_the_whole_box_in_its_middle_as_large_as_it_can(up, size):
    corners = CORNERS * size
    low, high = corners.min(axis=0), corners.max(axis=0)
    right, above, _ = extent.view_axes(low, high, up)
    edge = SceneCurve(name="c", points=corners, kind="trail", color="#abcdef", group="robot")
    scene = Scene(
        title="", time=np.arange(8.0), actors=(), curves=(edge,), low=low, high=high, ground=None,
        up=up,
    )  # fmt: skip
    head, line = svg_still(scene).split(">")[:2]
    assert head == '<svg viewBox="0 0 640 480" role="img" class="still"'
    assert line.endswith('" fill="none" stroke="#abcdef" stroke-width="1.8" opacity="1.0"/')
    places = np.array([pair.split(",") for pair in line.split('"')[1].split()], dtype=float)
    from_middle = places - [320.0, 240.0]
    reach = np.abs(from_middle).max(axis=0) / [640.0, 480.0]
    assert reach.max() == pytest.approx(0.46, abs=2e-4)
    flat = (corners - 0.5 * (low + high)) @ np.stack([right, above], axis=1)
    scale = np.linalg.norm(from_middle) / np.linalg.norm(flat)
    np.testing.assert_allclose(from_middle, scale * flat * [1.0, -1.0], atol=0.06)


def test_the_still_picture_draws_what_is_far_first_and_ends_at_its_moment():
    toward = extent.view_axes(np.full(3, -2.0), np.full(3, 2.0), (0.0, 0.0, 1.0))[2]
    ball = particles(3, moments=3)
    parts = tuple(
        dc.replace(part, color=color, opacity=opacity)
        for part, color, opacity in zip(
            ball.visuals.parts, ("#000001", "#000002", "none"), (1.0, 0.5, 0.25), strict=True
        )
    )
    position = np.zeros((3, 3, 3))
    position[1] = np.outer([0.5, -0.5, 0.0], toward)
    position[2, 2] = np.nan
    ball = dc.replace(
        ball, opacity=0.5, visuals=dc.replace(ball.visuals, parts=parts),
        poses=ball.poses._replace(position=position),
    )  # fmt: skip
    points = np.array([[0.0, 0, 0], [1.0, 0, 0], [1.0, 1, 0]])
    curves = [
        SceneCurve(name="c", points=points, kind=kind, color=style.PALETTE[1], group="robot")
        for kind in ("trail", "reference")
    ]
    scene = Scene(
        title="", time=np.arange(3.0), actors=(ball,), curves=tuple(curves),
        low=np.full(3, -2.0), high=np.full(3, 2.0), ground=None,
    )  # fmt: skip

    def drawn(moment):
        return re.findall(r"<(\w+) points=\"([^\"]*)\" ([^>]*)/>", svg_still(scene, moment))

    looks = 'stroke="var(--series-1)" stroke-width="{}" opacity="{}"'
    assert [(kind, look) for kind, _, look in drawn(1)] == [
        ("polyline", 'fill="none" ' + looks.format(7.0, 0.3)),
        ("polygon", 'fill="#000002" fill-opacity="0.25"'),
        ("polygon", 'fill="var(--robot)" fill-opacity="0.12"'),
        ("polygon", 'fill="#000001" fill-opacity="0.5"'),
        ("polyline", 'fill="none" ' + looks.format(1.8, 1.0)),
    ]
    assert [len(places.split()) for kind, places, _ in drawn(1) if kind == "polyline"] == [3, 2]
    assert [kind for kind, *_ in drawn(-1)] == ["polyline", *["polygon"] * 2, "polyline"]
    assert len(drawn(-1)[-1][1].split()) == 3
    assert [kind for kind, *_ in drawn(0)] == ["polyline", *["polygon"] * 3]  # one place is no line
    many = dc.replace(ball, visuals=dc.replace(ball.visuals, parts=parts[:1] * 401))
    assert svg_still(dc.replace(scene, actors=(many,)), 1).count("<polygon") == 400


def test_the_outline_of_a_shadow_is_its_corners_that_lie_furthest_out():
    square = np.array([[0.0, 0.0], [20.0, 0.0], [20.0, 20.0], [0.0, 20.0], [9.0, 9.0]])
    found = still_picture._outline(square)
    assert {tuple(corner) for corner in found} == {(0, 0), (20, 0), (20, 20), (0, 20)}
    angle = np.linspace(0.0, 2.0 * np.pi, 1000, endpoint=False)
    ring = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    for radius, sides in ((1.0, 6), (5.0, 10), (400.0, 40)):
        assert len(still_picture._outline(radius * ring)) == sides


def test_a_line_with_gaps_is_drawn_in_pieces():
    nan, look = [np.nan, np.nan], 'fill="none" stroke="c" stroke-width="1" opacity="0.5"/>'
    points = np.array([[0.0, 1.0], [2.04, 3.06], nan, [4.0, 5.0], nan, nan, [6.0, 7.0], [8.0, -9]])
    assert still_picture._line(points, "c", 1, 0.5) == (
        f'<polyline points="0.0,1.0 2.0,3.1" {look}<polyline points="6.0,7.0 8.0,-9.0" {look}'
    )


# The time in figures


def test_panels_over_time_are_marked_with_their_place_and_their_times(helix):
    result = helix()
    text = style.svg(plot.inputs(result))
    marks = re.findall(r'data-time="([^"]*)"', text)
    assert len(marks) == 2
    for mark in marks:
        left, top, width, height, start, end = map(float, mark.split())
        assert (start, end) == (0.0, 20.0)
        assert 0.0 < left < left + width < 1.0
        assert 0.0 < top < top + height < 1.0
    assert "time:" not in text
    assert "data-time" not in style.svg(plot.path(result))


def test_the_marked_place_is_that_of_the_panel(helix):
    figure = plot.inputs(helix())
    marks = re.findall(r'data-time="([^"]*)"', style.svg(figure))
    for axes, mark in zip(figure.axes, marks, strict=True):
        left, top, width, height, start, end = map(float, mark.split())
        box = axes.get_position()
        np.testing.assert_allclose(
            [left, top, width, height], [box.x0, 1.0 - box.y1, box.width, box.height], atol=2e-5
        )
        np.testing.assert_allclose([start, end], axes.get_xlim())
