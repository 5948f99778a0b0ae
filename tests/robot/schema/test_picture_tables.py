"""What ``[[picture]]`` says is where its formulas say, and what it cannot say is refused."""

from __future__ import annotations

import numpy as np
import pytest

from ukctrl.core.errors import UkctrlError
from ukctrl.core.expression.compiled_formula import DomainError
from ukctrl.robot import Robot
from ukctrl.robot.geometry import primitive_meshes, quaternions

EXACT = {"rtol": 0.0, "atol": 1e-12}
PLANT = """
title = "a bead on a wire"
[lagrangian]
coordinates = { x = "m", turn = "rad" }
kinetic = "m/2*v.x**2 + v.turn**2/2"
parameters = { m = 2.0, l = 0.5 }
"""
MODEL = """<robot name="model"><link name="base"/><link name="arm"><inertial><mass value="1"/>
<inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link><link name="tip"/>
<joint name="q1" type="revolute"><parent link="base"/><child link="arm"/><origin xyz="0 0 1"/>
<axis xyz="0 0 1"/><limit lower="-2" upper="2" effort="1" velocity="1"/></joint>
<joint name="end" type="fixed"><parent link="arm"/><child link="tip"/>
<origin xyz="0.5 0 0"/></joint>
</robot>"""


@pytest.fixture
def plant(tmp_path):
    """Return what loads a plant of formulas with some text after it."""

    def load(text):
        path = tmp_path / "plant.toml"
        path.write_text(PLANT + text, encoding="utf-8")
        return Robot.load(path)

    return load


@pytest.fixture
def arm(tmp_path):
    """Return what loads an arm with some text after it."""

    def load(text):
        (tmp_path / "model.urdf").write_text(MODEL, encoding="utf-8")
        path = tmp_path / "arm.toml"
        path.write_text(f'title = "arm"\nmodel = "model.urdf"\n{text}', encoding="utf-8")
        return Robot.load(path)

    return load


def turned(poses, row, axis):
    return quaternions.rotated(poses.quaternion[:, row], np.array(axis, dtype=float))


def test_a_rope_reaches_from_the_trolley_to_the_load_of_a_crane():
    look, rng = Robot.load("crane_planar").look(), np.random.default_rng(1)
    q = np.column_stack([rng.normal(0, 2, 50), rng.uniform(1, 5, 50), rng.uniform(-1.5, 1.5, 50)])
    poses, row = look.poses(q, np.zeros(50)), look.frame_names.index("rope")
    s, length, theta = q.T
    load = np.column_stack([s + length * np.sin(theta), 0.0 * s, -length * np.cos(theta)])
    np.testing.assert_allclose(poses.position[:, row, 0], s, **EXACT)
    np.testing.assert_allclose(poses.stretch[:, row], length, **EXACT)
    end = poses.position[:, row] + length[:, None] * turned(poses, row, (0, 0, 1))
    np.testing.assert_allclose(end, load, **EXACT)


def test_a_wheel_of_the_car_rolls():
    look = Robot.load("mass_on_car").look()
    poses = look.poses(np.array([[0.0, 0.0], [0.1, 0.0]]), np.zeros(2))
    row = look.frame_names.index("front wheel")
    spoke = turned(poses, row, (1, 0, 0))
    angle = 0.1 / 0.14  # forwards, clockwise as one sees it
    np.testing.assert_allclose(spoke[1], [np.cos(angle), 0.0, -np.sin(angle)], **EXACT)
    np.testing.assert_allclose(np.diff(poses.position[:, row], axis=0), [[0.1, 0, 0]], **EXACT)


def test_the_bar_of_two_coordinated_arms_reaches_both_where_the_loop_is_closed():
    robot = Robot.load("coordinated_arms")
    look = robot.look()
    q = np.deg2rad([[60.0, 60.0, 0.0, -60.0, -60.0]])
    names, poses = look.frame_names, look.poses(q, np.zeros(1))
    right = [k for k, name in enumerate(names) if name == "right arm"]
    bar = [k for k, name in enumerate(names) if name == "bar"]
    grips = [[1.0, 0.0, np.sqrt(3.0)], [2.0, 0.0, np.sqrt(3.0)]]
    np.testing.assert_allclose(poses.position[0, bar[1:]], grips, **EXACT)
    np.testing.assert_allclose(poses.position[0, right[-1]], grips[1], **EXACT)


def test_a_picture_stands_in_the_axes_of_a_frame_and_turns_by_a_formula(arm):
    look = arm("""
[[picture]]
kind = "box"
name = "flag"
frame = "tip"
at = ["0.1*t", 0.0, 0.2]
rpy = [0.0, 0.0, "2*q1"]
size = [0.1, 0.1, 0.1]
""").look()
    poses = look.poses(np.array([[0.3]]), np.array([2.0]))
    row = look.frame_names.index("flag")
    c, s = np.cos(0.3), np.sin(0.3)
    np.testing.assert_allclose(poses.position[0, row], [0.7 * c, 0.7 * s, 1.2], **EXACT)
    pointing = turned(poses, row, (1, 0, 0))[0]
    np.testing.assert_allclose(pointing, [np.cos(0.9), np.sin(0.9), 0.0], **EXACT)


def test_a_line_may_end_at_frames_and_one_that_never_moves_is_a_part_of_its_joint(arm):
    look = arm("""
[[picture]]
kind = "line"
name = "beam"
points = ["base", "tip"]
[[picture]]
kind = "sphere"
name = "ball"
frame = "tip"
at = [0.1, 0.0, 0.0]
radius = 0.05
""").look()
    poses, row = look.poses(np.array([[0.0]]), np.zeros(1)), look.frame_names.index("beam")
    np.testing.assert_allclose(poses.stretch[0, row], np.hypot(0.5, 1.0), **EXACT)
    ball = next(part for part in look.parts if part.name == "ball")
    assert look.frame_names[ball.frame] == "q1"
    np.testing.assert_allclose(ball.mesh.vertices.mean(0), [0.6, 0.0, 0.0], **EXACT)


def test_pictures_stand_in_place_of_the_skeleton(arm):
    assert {part.name for part in arm("").look().parts} >= {"q1"}
    look = arm('[[picture]]\nkind = "text"\ntext = "<b>arm</b>"\nat = [0.0, "q1"]\n').look()
    assert [(part.name, part.text) for part in look.parts] == [("text", "<b>arm</b>")]


def test_a_force_is_no_part_and_leaves_the_skeleton(arm):
    force = '[[picture]]\nkind = "force"\ninput = "q1"\nframe = "tip"\nalong = [0.0, 0.0, 1.0]\n'
    bare, told = arm("").look(), arm(force).look()
    assert [part.name for part in told.parts] == [part.name for part in bare.parts]


def test_pictures_without_a_name_have_a_number_where_there_are_several_of_their_kind(plant):
    look = plant(LINE + ROD + LINE + ROD + '[[picture]]\nkind = "arrow"\n' + ROD).look()
    assert list(dict.fromkeys(part.name for part in look.parts)) == ["line 1", "line 2", "arrow"]


def test_an_arrow_points_at_its_second_point(plant):
    look = plant('[[picture]]\nkind = "arrow"\nradius = 0.1\n' + ROD).look()
    poses, row = look.poses(np.array([[2.0, 0.0]]), np.zeros(1)), look.frame_names.index("arrow")
    np.testing.assert_allclose(poses.position[0, row], [0.0, 0.0, 0.0], **EXACT)
    np.testing.assert_allclose(turned(poses, row, (0, 0, 1))[0], [1.0, 0.0, 0.0], **EXACT)
    (part,) = look.parts
    tip = part.mesh.vertices[part.mesh.vertices[:, 2] == 1.0]
    np.testing.assert_allclose(tip[:, :2], 0.0, **EXACT)
    assert poses.stretch[0, row] == 2.0


@pytest.mark.parametrize(("motor", "colors"), [("true", 2), ("false", 2)])
def test_a_joint_with_a_motor_is_larger_than_a_pin(plant, motor, colors):
    look = plant(f'[[picture]]\nkind = "joint"\nradius = 0.1\nmotor = {motor}\n').look()
    assert len({part.color for part in look.parts}) == colors
    across = max(np.ptp(part.mesh.vertices[:, 0]) for part in look.parts)
    assert across == pytest.approx(0.25 if motor == "true" else 0.23)


def test_where_a_formula_has_no_value_pictures_stay_where_they_were(plant):
    look = plant('[[picture]]\nkind = "sphere"\nname = "bead"\nat = ["sqrt(x)", 0.0]\n').look()
    q = np.array([[-1.0, 0.0], [4.0, 0.0], [-1.0, 0.0], [9.0, 0.0]])
    poses = look.poses(q, np.zeros(4))
    np.testing.assert_allclose(poses.position[:, 1, 0], [2.0, 2.0, 2.0, 3.0], **EXACT)
    with pytest.raises(DomainError, match=r"formulas of pictures \('sqrt\(x\)', .* never have"):
        look.poses(q[:1], np.zeros(1))


def test_a_line_without_length_has_no_stretch_and_a_direction_all_the_same(plant):
    look = plant('[[picture]]\nkind = "line"\npoints = [["x", 0.0], [0.0, 0.0]]\n').look()
    poses = look.poses(np.zeros((1, 2)), np.zeros(1))
    assert all(np.isfinite(values).all() for values in poses)
    assert poses.stretch[0, look.frame_names.index("line")] == 0.0


BOX = '[[picture]]\nkind = "box"\nsize = [1.0, 1.0, 1.0]\n'
LINE = '[[picture]]\nkind = "line"\n'
ROD = 'points = [[0.0, 0.0], ["x", 0.0]]\n'
FORCE = '[[picture]]\nkind = "force"\nalong = [1.0, 0.0]\n'
REFUSED = {
    '[[picture]]\nkind = "spiral"\n': r"picture\[0\].*kind.*spiral",
    "[[picture]]\nsize = [1, 1, 1]\n": r"picture\[0\].*kind",
    '[[picture]]\nkind = "box"\n': r"picture\[0\]\.box\.size|picture\[0\].*size",
    BOX + "radius = 1.0\n": r"picture\[0\].*radius: unknown",
    BOX + 'color = "oragne"\n': r"got 'oragne'; did you mean 'orange'\? Known: light, gray",
    BOX + 'color = "#12345g"\n': r"must be such as '#3d7ebf', or a name; got '#12345g'",
    BOX + 'at = ["y", 0.0]\n': r"picture\[0\]: at: in 'y': no variable named 'y'",
    BOX + 'at = ["v.x", 0.0]\n': r"'v.x' is a velocity; none may stand here",
    BOX + "at = [\"__import__('os')\", 0.0]\n": r"is not in the language",
    BOX + 'at = ["x.real", 0.0]\n': r"is not in the language",
    BOX + "at = [0.0]\n": r"at: must be a list of 3",
    BOX + "at = [nan, 0.0]\n": r"must be a finite number; got nan",
    BOX + 'angle = "turns"\n': r"angle: in 'turns': no variable named 'turns'; did you mean 'turn'",
    BOX + 'angle = "turn"\nrpy = [0.0, 0.0, 0.0]\n': r"takes an angle or rpy; got both",
    BOX + 'frame = "tool"\n': r"picture\[0\]: no frame named 'tool'",
    BOX + "opacity = 2.0\n": r"opacity: must be between 0 and 1; got 2.0",
    LINE + "points = [[0.0, 0.0]]\n": r"points: must be a list of at least 2; got 1",
    LINE + 'points = [[0.0, 0.0], "tip"]\n': r"points: no frame named 'tip'",
    LINE + "points = [[0.0, 0.0], [1.0, 0.0]]\nradius = 0.0\n": r"radius: must be .*; got 0.0",
    LINE + "points = [[0.0, 0.0], [1.0, 0.0]]\nradius = 1e9\n": r"must be between 0 and 10000",
    '[[picture]]\nkind = "spring"\npoints = [[0.0, 0.0], ["x", 0.0]]\nturns = 100000\n': (
        r"turns: must be between 1 and 100; got 100000"
    ),
    FORCE: r"takes an input or a reaction, one of them",
    FORCE + 'input = "x"\nreaction = "x"\n': r"takes an input or a reaction, one of them",
    FORCE + 'input = "F"\n': r"picture\[0\]: no input named 'F'.*x",
    FORCE + 'reaction = "loop"\n': r"no passive constraint named 'loop'",
    FORCE + 'input = "x"\nat = ["v.x", 0.0]\n': r"at: in 'v.x': 'v.x' is a velocity",
    FORCE + 'input = "x"\ncolor = "red"\n': r"picture\[0\].*color: unknown",
    '[[picture]]\nkind = "force"\ninput = "x"\n': r"along",
    '[[picture]]\nkind = "text"\ntext = ""\n': r"text: must be text; got ''",
}


@pytest.mark.parametrize("text", REFUSED)
def test_what_no_picture_can_say_is_refused_in_one_line(plant, text):
    with pytest.raises(UkctrlError, match=REFUSED[text]) as refusal:
        plant(text)
    assert "\n" not in str(refusal.value)
    assert "plant.toml" in str(refusal.value)


def test_a_tube_is_of_its_radius_and_seen_from_outside():
    rng = np.random.default_rng(0)
    points = np.cumsum(rng.uniform(-0.2, 1.0, (9, 3)), axis=0)
    points[4] = np.nan  # a gap
    tube = primitive_meshes.tube(points, 0.01)
    place = np.repeat(points, 8, axis=0)
    there = np.isfinite(place[:, 0])
    out = tube.vertices - place
    np.testing.assert_allclose(np.linalg.norm(out[there], axis=1), 0.01, rtol=1e-9)
    assert len(tube.faces) == 6 * 8 * 2
    for face in tube.faces:
        a, b, c = tube.vertices[face]
        normal = np.cross(b - a, c - a)
        assert normal @ out[face].sum(axis=0) > 0.0
