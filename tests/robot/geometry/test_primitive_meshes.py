"""Where the parts of a look are, whatever the robot, and what they are made of."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from ukctrl.core.errors import ShapeError
from ukctrl.core.files import catalog
from ukctrl.reports.visual.linkage_visual import linkage_layers
from ukctrl.reports.visual.mesh_budget import decimate
from ukctrl.reports.visual.mesh_collector import ACCENT, JOINT
from ukctrl.robot import Elastic, ExtraFrame, JointSpring, Options, Perturbation, Robot, Spring
from ukctrl.robot.geometry import primitive_meshes, quaternions
from ukctrl.robot.rigid.rigid_structure import RigidStructure

CATALOGUE = catalog.names("robots")
EXACT = {"rtol": 0.0, "atol": 1e-12}  # of metres, and of entries of rotations


PENDULUM = """<robot name="pendulum"><link name="rod"/><link name="bob"><inertial>
<origin xyz="0.3 0 0"/><mass value="1"/>
<inertia ixx="0.01" iyy="0.02" izz="0.02" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="pivot" type="revolute"><parent link="rod"/><child link="bob"/>
<origin xyz="0.1 0.2 0.3" rpy="0.4 0 0"/><axis xyz="0 0 1"/>
<limit lower="-2" upper="2" effort="7" velocity="3"/></joint></robot>"""


def at_random(robot, n=5):
    rng = np.random.default_rng(7)
    return np.array([robot.random(rng) for _ in range(n)]), np.linspace(0.0, 1.0, n)


def corners(look, poses, moment=0):
    """Return all corners of all parts in the world, shape ``(k, 3)``."""
    found = []
    for part in look.parts:
        along = part.mesh.vertices * [1.0, 1.0, poses.stretch[moment, part.frame]]
        turn = quaternions.matrix(poses.quaternion[moment, part.frame])
        found.append(along @ turn.T + poses.position[moment, part.frame])
    return np.concatenate(found)


def refuse_other_places(robot):
    look, (q, t) = robot.look(), at_random(robot)
    poses = look.poses(q, t)
    for moment in range(len(t)):
        snapshot = robot.snapshot(q[moment])
        for row, joint in enumerate(look.joints):
            place = snapshot.translations[joint]
            np.testing.assert_allclose(poses.position[moment, row], place, **EXACT)
            turn = quaternions.matrix(poses.quaternion[moment, row])
            np.testing.assert_allclose(turn, snapshot.rotations[joint], **EXACT)


@pytest.mark.parametrize("name", CATALOGUE)
def test_carriers_that_are_joints_are_where_the_snapshot_has_them(name):
    refuse_other_places(Robot.load(name))


def test_so_are_those_of_every_kind_of_joint(robot):
    refuse_other_places(robot)


@pytest.mark.parametrize("name", CATALOGUE)
def test_every_robot_of_the_catalogue_has_a_look_of_its_size(name):
    robot = Robot.load(name)
    look, (q, t) = robot.look(), at_random(robot)
    start = robot.neutral if robot.home is None else robot.home
    poses = look.poses(np.vstack([start, q]), np.append(0.0, t))
    assert look.parts
    assert look.notes == ()
    assert len(look.frame_names) == poses.position.shape[1]
    assert all(np.isfinite(values).all() for values in poses)
    assert (poses.stretch > 0.0).all()
    there = corners(look, poses)
    assert np.isfinite(there).all()
    extent = np.ptp(there, axis=0).max()
    if isinstance(robot.structure, RigidStructure):
        frames = [robot.snapshot(start).frame(name).position for name in robot.frames]
        reach = np.ptp(np.array(frames), axis=0).max()
        assert 0.9 * reach < extent < 3.0 * reach + 0.5
    else:
        assert 0.1 < extent < 20.0


@pytest.mark.parametrize("name", CATALOGUE)
def test_every_face_has_its_corners_and_colours_are_colours(name):
    for part in Robot.load(name).look().parts:
        assert part.mesh.faces.min() >= 0
        assert part.mesh.faces.max() < len(part.mesh.vertices)
        assert part.color == "" or int(part.color[1:], 16) >= 0
        assert 0.0 < part.opacity <= 1.0


def test_quaternions_are_of_unit_length_and_do_not_jump():
    robot = Robot.load("quadrotor")
    angle = np.linspace(0.0, 6.0 * np.pi, 300)
    q = np.zeros((300, 7))
    q[:, 5], q[:, 6] = np.sin(0.5 * angle), np.abs(np.cos(0.5 * angle))
    q[:, 5] *= np.sign(np.cos(0.5 * angle))  # the same turns, whose quaternions jump
    found = robot.look().poses(q, angle).quaternion
    np.testing.assert_allclose(np.linalg.norm(found, axis=-1), 1.0, rtol=0.0, atol=1e-14)
    assert np.linalg.norm(np.diff(found, axis=0), axis=-1).max() < 0.1


def test_configurations_of_another_robot_are_refused():
    look = Robot.load("two_link").look()
    with pytest.raises(ShapeError, match=r"q must have shape \(3, 2\); got \(3, 4\)"):
        look.poses(np.zeros((3, 4)), np.zeros(3))


def test_equal_particles_share_one_mesh_and_massless_slides_show_nothing():
    look = Robot.load("swarm").look()
    assert len(look.parts) == 5
    assert len({id(part.mesh) for part in look.parts}) == 1


def test_a_motor_of_an_elastic_joint_turns_by_its_own_coordinate():
    robot = Robot.build(PENDULUM, Options(elastic=Elastic(stiffness=9.0, motor_inertia=0.1)))
    look = robot.look()
    row = look.frame_names.index("pivot_motor")
    q = np.array([[0.3, 0.0], [0.3, 0.5]])
    poses = look.poses(q, np.zeros(2))
    still, ahead = (quaternions.matrix(x) for x in poses.quaternion[:, row])
    turn = np.array([[np.cos(0.5), -np.sin(0.5)], [np.sin(0.5), np.cos(0.5)]])
    np.testing.assert_allclose((still.T @ ahead)[:2, :2], turn, **EXACT)
    joint = robot.snapshot(q[1]).translations[1]
    np.testing.assert_allclose(poses.position[:, row], [joint, joint], **EXACT)


def test_springs_of_the_file_are_seen():
    end = ExtraFrame(name="end", parent="bob", position=(0.3, 0.0, 0.0))
    spring = Spring(frames=("world", "end"), stiffness=10.0, rest=0.1)
    about = JointSpring(joint="pivot", stiffness=1.0)
    robot = Robot.build(PENDULUM, Options(frame=(end,), force=(spring, about)))
    look, q = robot.look(), np.array([[0.4]])
    row = look.frame_names.index("spring")
    end = robot.snapshot(q[0]).frame("end").position
    poses = look.poses(q, np.zeros(1))
    np.testing.assert_allclose(poses.stretch[0, row], np.linalg.norm(end), **EXACT)
    colors = [part.color for part in look.parts if part.frame != row]
    assert colors.count("#e8833a") == 1  # the coil about the pivot


@pytest.mark.parametrize("motors", [None, ()], ids=["driven", "free"])
def test_the_coil_about_a_joint_shows_beyond_its_housing_and_ends_before_the_pin_within_it(motors):
    about = JointSpring(joint="pivot", stiffness=1.0)
    plain, sprung = (
        Robot.build(PENDULUM, Options(force=force, actuator=motors)).look()
        for force in ((), (about,))
    )

    def top(look, *colors):
        parts = [part for part in look.parts if part.name == "pivot" and part.color in colors]
        return max(part.mesh.vertices[:, 2].max() for part in parts)  # along the axis

    assert top(plain, JOINT, ACCENT) < top(sprung, ACCENT) < top(sprung, JOINT)


def test_a_perturbed_robot_looks_the_same_and_one_with_longer_links_does_not():
    robot = Robot.load("panda")
    same = robot.perturbed(Perturbation(mass_scale=1.1)).look()
    assert [part.name for part in same.parts] == [part.name for part in robot.look().parts]
    arm = Robot.load("flexible_arm_links")
    q, t = np.array([[0.5, 0.2]]), np.zeros(1)
    long = arm.perturbed(Perturbation(parameters={"l1": 2.0})).look()
    row = long.frame_names.index("elbow")
    elbow = [2.0 * np.sin(0.5), 0.0, -2.0 * np.cos(0.5)]
    np.testing.assert_allclose(long.poses(q, t).position[0, row], elbow, **EXACT)


@pytest.mark.parametrize(
    ("name", "driven"),
    [
        ("acrobot", {"elbow"}), ("pendubot", {"shoulder"}), ("five_bar_relative", set()),
        ("two_link", {"shoulder", "elbow"}),
        ("three_rrr", {"upper0", "upper1", "upper2"}), ("five_bar", set()),
    ],
)  # fmt: skip
def test_joints_with_a_motor_are_told_from_those_on_pins(name, driven):
    parts = Robot.load(name).look().parts
    assert {part.name for part in parts if part.color == "#e8833a"} == driven


@pytest.mark.parametrize("name", ["acrobot", "furuta", "n_four_bar", "five_bar", "three_rrr"])
def test_what_the_ground_carries_has_feet(name):
    robot = Robot.load(name)
    linkage = robot.shape_sources.linkage
    look = robot.look()
    assert len(look.mounts) == (1 if linkage is None else len(linkage.ground))
    assert all(foot.radius > 0.0 for foot in look.mounts)


def test_a_quadruped_has_a_trunk_over_its_hips_legs_that_taper_and_balls_as_feet():
    robot = Robot.load("a1")
    look, q = robot.look(), robot.home
    poses = look.poses(q[None], np.zeros(1))
    there = {}
    for part in look.parts:
        turn = quaternions.matrix(poses.quaternion[0, part.frame])
        place = part.mesh.vertices @ turn.T + poses.position[0, part.frame]
        there.setdefault(part.name, []).append(place)
    trunk = np.concatenate(there["root_joint"] if "root_joint" in there else there["root"])
    hips = [robot.snapshot(q).frame(f"{leg}_hip").position for leg in ("FL", "RR")]
    for hip in hips:
        assert (trunk.min(axis=0) < hip).all()
        assert (hip < trunk.max(axis=0)).all()
    thickness = [
        np.ptp(np.concatenate(there[f"FL_{part}_joint"])[:, 1]) for part in ("thigh", "calf")
    ]
    assert thickness[0] > 1.2 * thickness[1]


@pytest.mark.parametrize("name", ["five_bar", "n_four_bar", "three_rrr"])
def test_bars_that_a_joint_ties_together_lie_at_different_depths(name):
    linkage = Robot.load(name).shape_sources.linkage
    depth = linkage_layers(linkage)
    for joint in linkage.joint:
        first, second = (point.partition(".")[0] for point in joint.points)
        assert depth[first] != depth[second]


@pytest.mark.parametrize("name", ["five_bar", "n_four_bar"])
def test_a_bar_reaches_all_its_points(name):
    robot = Robot.load(name)
    look = robot.look()
    poses = look.poses(robot.home[None], np.zeros(1))
    there, snapshot = corners(look, poses), robot.snapshot(robot.home)
    for frame in robot.frames:
        if "." in frame:
            point = snapshot.frame(frame).position
            across = np.linalg.norm((there - point)[:, [0, 2]], axis=1)
            assert across.min() < 0.06 < 1.0


SHAPES = {
    "box": (primitive_meshes.box(1.0, 2.0, 3.0), 6.0),
    "sphere": (primitive_meshes.sphere(2.0), 4.0 / 3.0 * np.pi * 8.0),
    "cylinder": (primitive_meshes.cylinder(0.5, -1.0, 2.0), 0.75 * np.pi),
    "capsule": (primitive_meshes.capsule(1.0, 0.0, 1.0), np.pi * (4.0 / 3.0 + 1.0)),
    "cone": (primitive_meshes.cone(1.0, 0.0, 3.0), np.pi),
    "ring": (primitive_meshes.ring(2.0, 0.5), 2.0 * np.pi**2 * 2.0 * 0.25),
    "ellipsoid": (primitive_meshes.ellipsoid(np.array([1.0, 2.0, 3.0])), 8.0 * np.pi),
    "rod": (
        primitive_meshes.rod(np.zeros(3), np.array([0.6, 0.0, -0.8]), 1.0),
        np.pi * (4.0 / 3.0 + 1.0),
    ),
    "plate": (
        primitive_meshes.plate(np.array([[0.0, 0.0], [2.0, 0.0]]), 0.5, 0.0, 1.0),
        2.0 + 0.25 * np.pi,
    ),
}


@pytest.mark.parametrize("name", SHAPES)
def test_shapes_are_closed_face_outwards_and_hold_what_they_should(name):
    mesh, volume = SHAPES[name]
    a, b, c = (mesh.vertices[mesh.faces[:, k]] for k in range(3))
    held = np.einsum("ij,ij->i", a, np.cross(b, c)).sum() / 6.0
    assert 0.93 * volume < held < 1.0001 * volume  # corners lie on the round surface
    np.testing.assert_allclose(np.cross(b - a, c - a).sum(0), 0.0, atol=1e-12)


def test_a_coarser_mesh_has_as_many_triangles_as_asked_for_and_nearly_the_same_shape():
    latitude = np.linspace(-0.5 * np.pi, 0.5 * np.pi, 200)
    fine = primitive_meshes.revolve([(np.cos(x), np.sin(x)) for x in latitude], 300)
    few = decimate(fine, 3000)
    assert 1000 < len(few.faces) <= 3000
    radius = np.linalg.norm(few.vertices, axis=1)
    assert 0.9 < radius.min() <= radius.max() <= 1.0 + 1e-12
    a, b, c = (few.vertices[few.faces[:, k]] for k in range(3))
    area = 0.5 * np.linalg.norm(np.cross(b - a, c - a), axis=1).sum()
    assert 0.85 < area / (4.0 * np.pi) < 1.15


def test_a_coarser_mesh_has_every_triangle_once_and_lacks_none():
    """All triangles of the corners of a cube, each three times, from each of its corners on."""
    corners = np.array(list(itertools.product([0.0, 1.0], repeat=3)))
    every = list(itertools.combinations(range(len(corners)), 3))
    faces = np.array([np.roll(face, k) for k in range(3) for face in every])
    few = decimate(primitive_meshes.Mesh(corners, faces), len(every))
    kept = [frozenset(map(tuple, few.vertices[face].tolist())) for face in few.faces]
    assert len(kept) == len(every)
    assert set(kept) == {frozenset(map(tuple, corners[list(face)].tolist())) for face in every}


@pytest.mark.parametrize("direction", list(itertools.product([-1.0, 0.0, 2.0], repeat=3)))
def test_the_z_axis_is_turned_into_a_direction(direction):
    turn, length = quaternions.rotation_towards(np.array(direction)), np.linalg.norm(direction)
    expected = np.array(direction) / length if length else [0.0, 0.0, 1.0]
    np.testing.assert_allclose(turn[:, 2], expected, rtol=0.0, atol=1e-15)
    np.testing.assert_allclose(turn.T @ turn, np.eye(3), rtol=0.0, atol=1e-15)


def test_what_hangs_and_swings_does_not_spin_about_itself():
    look, swing = Robot.load("crane_planar").look(), np.linspace(-0.3, 0.3, 101)
    q = np.column_stack([0.0 * swing, 0.0 * swing + 4.0, swing])
    row = look.frame_names.index("rope")
    turn = look.poses(q, 0.0 * swing).quaternion[:, row]
    assert np.linalg.norm(np.diff(turn, axis=0), axis=1).max() < 0.0031  # half of 0.006 rad
