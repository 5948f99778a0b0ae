"""What model files show, and hostile ones: meshes from elsewhere, without size or end."""

from __future__ import annotations

import numpy as np
import pytest
import trimesh
from extras import needs
from PIL import Image
from scipy.spatial.transform import Rotation

from ukctrl.core.files import zoo
from ukctrl.reports.visual.mesh_budget import BUDGET
from ukctrl.robot import Options, Robot
from ukctrl.robot.geometry import primitive_meshes
from ukctrl.robot.geometry.mesh_files import MeshFiles
from ukctrl.robot.geometry.model_shapes import model_shapes

ARM = """<robot name="arm">{before}<link name="base"/><link name="arm"><inertial><mass value="1"/>
<origin xyz="0.25 0 0"/><inertia ixx="0.01" iyy="0.03" izz="0.03" ixy="0" ixz="0" iyz="0"/>
</inertial>{visuals}</link><link name="hand"><inertial><mass value="0.2"/>
<inertia ixx="0.001" iyy="0.001" izz="0.001" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="q1" type="continuous"><parent link="base"/><child link="arm"/><axis xyz="0 0 1"/>
</joint><joint name="q2" type="continuous"><parent link="arm"/><child link="hand"/>
<origin xyz="0.5 0 0"/><axis xyz="0 0 1"/></joint></robot>"""


def arm(folder, *visuals, before=""):
    """Return an arm whose first link shows something, from a file in a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "arm.urdf"
    shapes = "".join(f"<visual>{visual}</visual>" for visual in visuals)
    path.write_text(ARM.format(visuals=shapes, before=before), encoding="utf-8")
    return Robot.load(path)


def mesh_visual(name, scale="1 1 1"):
    return f'<geometry><mesh filename="{name}" scale="{scale}"/></geometry>'


def write_stl(path, mesh):
    """Write a binary STL."""
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = np.zeros(len(mesh.faces), dtype=[("numbers", "<f4", (4, 3)), ("attribute", "<u2")])
    rows["numbers"][:, 1:] = mesh.vertices[mesh.faces]
    path.write_bytes(bytes(80) + np.uint32(len(rows)).tobytes() + rows.tobytes())


CUBE = primitive_meshes.box(0.1, 0.2, 0.3)


def shown(look, name="arm"):
    return [part for part in look.parts if part.name == name]


def test_shapes_of_a_urdf_stand_where_it_says_in_its_colours(tmp_path):
    look = arm(
        tmp_path,
        '<origin xyz="0.2 0 0" rpy="0 0 1.5707963267948966"/>'
        '<geometry><box size="0.4 0.1 0.1"/></geometry><material name="sky"/>',
        '<geometry><sphere radius="0.1"/></geometry>'
        '<material name=""><color rgba="1 0 0.2 0.5"/></material>',
        '<geometry><capsule radius="0.02" length="0.3"/></geometry>',
        before='<material name="sky"><color rgba="0 0.4 1 1"/></material>',
    ).look()
    assert look.notes == ()
    box, ball, capsule = shown(look)
    assert (box.color, ball.color, ball.opacity, capsule.color) == ("#0066ff", "#ff0033", 0.5, "")
    np.testing.assert_allclose(np.ptp(box.mesh.vertices, axis=0), [0.1, 0.4, 0.1], atol=1e-12)
    np.testing.assert_allclose(box.mesh.vertices.mean(0), [0.2, 0.0, 0.0], atol=1e-12)
    np.testing.assert_allclose(capsule.mesh.vertices[:, 2].max(), 0.17, atol=1e-12)


def test_a_mesh_is_read_in_its_scale_and_the_rest_of_its_robot_shows_nothing(tmp_path):
    write_stl(tmp_path / "meshes" / "cube.stl", CUBE)
    look = arm(tmp_path, mesh_visual("meshes/cube.stl", "2 1 -1")).look()
    (part,) = look.parts
    np.testing.assert_allclose(np.ptp(part.mesh.vertices, axis=0), [0.2, 0.2, 0.3], rtol=1e-6)
    a, b, c = (part.mesh.vertices[part.mesh.faces[:, k]] for k in range(3))
    assert np.einsum("ij,ij->", a, np.cross(b, c)) > 0.0  # a mirror turns no face inside out


def test_a_texture_inside_a_file_gives_its_mean_colour_and_one_outside_that_of_the_mesh(tmp_path):
    box = trimesh.creation.box((0.1, 0.1, 0.1))
    image = Image.new("RGB", (2, 1))
    image.putdata([(200, 100, 50), (100, 100, 150)])
    paint = trimesh.visual.material.PBRMaterial(baseColorTexture=image)
    box.visual = trimesh.visual.TextureVisuals(uv=np.zeros((8, 2)), material=paint)
    painted = trimesh.creation.box((0.1, 0.1, 0.1))
    painted.visual.vertex_colors = [[10, 200, 30, 255]] * 8
    (tmp_path / "box.glb").write_bytes(box.export(file_type="glb"))
    (tmp_path / "painted.ply").write_bytes(painted.export(file_type="ply"))
    black = '<material name="m"><color rgba="0 0 0 1"/><texture filename="a.png"/></material>'
    look = arm(tmp_path, mesh_visual("box.glb"), mesh_visual("painted.ply") + black).look()
    assert look.notes == ()
    assert {part.color for part in shown(look)} == {"#966464", "#0ac81e"}


@pytest.mark.parametrize("name", ["package://my_arm/meshes/cube.stl", "../meshes/cube.stl"])
def test_a_mesh_of_its_package_is_found(tmp_path, name):
    package = tmp_path / "my_arm"
    write_stl(package / "meshes" / "cube.stl", CUBE)
    look = arm(package / "urdf", mesh_visual(name)).look()
    assert look.notes == ()
    assert len(look.parts) == 1


FILE = "file" + ":" + "//"
ELSEWHERE = [
    "../secret.stl", "../../secret.stl", "{folder}/secret.stl", FILE + "{folder}/secret.stl",
    "package://robot/../secret.stl", "package://../secret.stl", "link.stl",
    "meshes/../../secret.stl",
]  # fmt: skip


@pytest.mark.parametrize("name", ELSEWHERE)
def test_a_mesh_outside_of_the_robots_folder_is_never_opened(tmp_path, name):
    write_stl(tmp_path / "secret.stl", CUBE)
    (tmp_path / "robot").mkdir()
    (tmp_path / "robot" / "link.stl").symlink_to(tmp_path / "secret.stl")
    look = arm(tmp_path / "robot", mesh_visual(name.format(folder=tmp_path))).look()
    (note,) = look.notes
    assert note.endswith("of link 'arm' must lie in the robot's folder or package.")
    assert {part.name for part in look.parts} >= {"q1"}  # its skeleton stands in
    files = MeshFiles(tmp_path / "robot" / "arm.urdf")
    with pytest.raises(ValueError, match="must lie in the robot's folder"):
        files.find(name.format(folder=tmp_path))


UNFIT = {
    "nothing.stl": "is missing",
    "http://example.org/a.stl": "must be a path or package://NAME/path",
    "/etc/passwd": "must be one of .stl, .obj, .dae, .ply, .glb",
    "broken.stl": "cannot be read|holds no triangles",
    "empty.obj": "holds no triangles|cannot be read",
    "bomb.dae": "must not contain <!DOCTYPE> or entities",
}


@pytest.mark.parametrize("name", UNFIT)
def test_a_mesh_that_is_none_is_told_once_and_the_link_is_drawn_as_a_rod(tmp_path, name):
    (tmp_path / "broken.stl").write_bytes(b"solid nothing\nfacet")
    (tmp_path / "empty.obj").write_text("v 0 0 0\nmtllib ../../secret.mtl\n")
    (tmp_path / "bomb.dae").write_text('<!DOCTYPE a [<!ENTITY b "c">]><COLLADA>&b;</COLLADA>')
    look = arm(tmp_path, mesh_visual(name), mesh_visual(name)).look()
    (note,) = look.notes
    assert note.startswith(f"Left out: mesh '{name}' of link 'arm' ")
    assert any(text in note for text in UNFIT[name].split("|"))
    assert any(part.name == "q1" for part in look.parts)


@pytest.mark.parametrize(
    ("visual", "why"),
    [
        (mesh_visual("cube.stl", "0 1 1"), "must be finite and not zero"),
        (mesh_visual("cube.stl", "nan 1 1"), "must be finite and not zero"),
        (mesh_visual("cube.stl", "1e9 1 1"), "would reach 5e+07 m; 10000 m is the most"),
        ('<geometry><box size="1 0 1"/></geometry>', "must have positive sizes; got '1 0 1'"),
        ('<geometry><sphere radius="inf"/></geometry>', "must have positive sizes; got 'inf'"),
        ('<geometry><cylinder radius="1"/></geometry>', "must have positive sizes; got '1'"),
        ("<geometry><torus/></geometry>", "has the shape 'torus', which is not read"),
        ("", "must have a geometry"),
        ('<origin xyz="nan 0 0"/><geometry><box size="1 1 1"/></geometry>', "must lie within"),
        ('<geometry><box size="1e6 1 1"/></geometry>', "must lie within 10000 m"),
    ],
)
def test_shapes_without_size_or_end_are_left_out_and_the_robot_loads(tmp_path, visual, why):
    write_stl(tmp_path / "cube.stl", CUBE)
    look = arm(tmp_path, visual).look()
    (note,) = look.notes
    assert why in note
    assert "\n" not in note
    for part in look.parts:
        assert np.isfinite(part.mesh.vertices).all()
        assert np.abs(part.mesh.vertices).max() < 10.0


def test_names_with_markup_come_out_on_one_line(tmp_path):
    name = "&lt;script&gt;alert(1)&lt;/script&gt;&#10;.stl"
    (note,) = arm(tmp_path, mesh_visual(name)).look().notes
    assert note.startswith("Left out: mesh '<script>alert(1)</script> .stl' of link 'arm'")


def test_a_mesh_of_a_million_triangles_is_made_coarser_and_the_notes_say_so(tmp_path):
    latitude = np.linspace(-0.5 * np.pi, 0.5 * np.pi, 801)
    fine = primitive_meshes.revolve([(np.cos(x), np.sin(x)) for x in latitude], 640)
    write_stl(tmp_path / "ball.stl", fine)
    look = arm(tmp_path, mesh_visual("ball.stl")).look()
    (part,) = look.parts
    assert 0.5 * BUDGET < len(part.mesh.faces) <= BUDGET
    assert look.notes == (
        f"The meshes have {len(fine.faces)} triangles; they are drawn with {len(part.mesh.faces)}.",
    )


def test_corners_that_are_no_numbers_are_not_drawn(tmp_path):
    vertices = CUBE.vertices.copy()
    vertices[0] = np.nan
    write_stl(tmp_path / "cube.stl", CUBE._replace(vertices=vertices))
    for part in arm(tmp_path, mesh_visual("cube.stl")).look().parts:
        assert np.isfinite(part.mesh.vertices).all()


def test_a_model_in_text_alone_has_no_folder_for_meshes():
    text = ARM.format(before="", visuals=f"<visual>{mesh_visual('a.stl')}</visual>")
    (note,) = Robot.build(text).look().notes
    assert "belongs to a model that is text alone, without a folder" in note


def test_parts_of_a_composed_robot_keep_their_own_shapes(tmp_path):
    arm(tmp_path / "a", '<geometry><sphere radius="0.1"/></geometry>')
    (tmp_path / "two.toml").write_text(
        'title = "two"\n[[part]]\nmodel = "a/arm.urdf"\nprefix = "left_"\n'
        '[[part]]\nmodel = "a/arm.urdf"\nprefix = "right_"\nposition = [0.0, 1.0, 0.0]\n'
    )
    look = Robot.load(tmp_path / "two.toml").look()
    assert [part.name for part in look.parts] == ["left_arm", "right_arm"]
    poses = look.poses(np.array([[1.0, 0.0, 1.0, 0.0] * 2]), np.zeros(1))
    places = [poses.position[0, part.frame] for part in look.parts]
    np.testing.assert_allclose(places, [[0.0, 0.0, 0.0], [0.0, 1.0, 0.0]], atol=1e-12)


MJCF = """<mujoco model="m"><compiler angle="degree" meshdir="assets"/>
<default><geom rgba="0.2 0.4 0.6 1"/><default class="unseen"><geom group="3"/></default></default>
<asset><mesh name="cube" file="cube.stl" scale="2 2 2"/><material name="green" rgba="0 1 0 0.5"/>
<mesh name="spike" vertex="0 0 0 0.1 0 0 0 0.1 0 0 0 0.1"/></asset>
<worldbody><geom type="plane" size="5 5 1"/><body name="trunk" pos="0 0 1"><freejoint/>
<geom type="box" size="0.1 0.2 0.1" pos="0.1 0 0" euler="0 30 45" mass="3"/>
<body name="arm" pos="0.3 0 0"><joint name="swing" type="hinge" axis="0 1 0" pos="0 0 0.05"/>
<geom type="capsule" fromto="0 0 0 0.2 0 0.1" size="0.02" mass="0.5" rgba="1 0 0 1"/>
<geom type="sphere" class="unseen" size="1"/>
<geom type="cylinder" size="0.03 0.1" quat="0.7 0 0.7 0" mass="0.1"/>
<geom type="mesh" mesh="cube" mass="0.1"/>
<geom type="mesh" mesh="spike" mass="0.1" rgba="0.5 0.5 0.5 1" material="green" pos="0 0 0.3"/>
</body></body></worldbody></mujoco>"""


@pytest.fixture
def mjcf(tmp_path):
    folder = tmp_path / "robot"
    write_stl(folder / "assets" / "cube.stl", CUBE)
    (folder / "robot.xml").write_text(MJCF, encoding="utf-8")
    return folder / "robot.xml"


@needs("mujoco")
def test_an_mjcf_shows_geoms_in_their_colours_without_those_of_collisions(mjcf):
    look = Robot.load(mjcf).look()
    assert look.notes == ()
    assert {(part.name, part.color, part.opacity) for part in look.parts} >= {
        ("trunk", "#336699", 1.0), ("arm", "#336699", 1.0), ("arm", "#ff0000", 1.0),
        ("arm", "#00ff00", 0.5),
    }  # fmt: skip


@needs("mujoco")
def test_geoms_of_an_mjcf_are_where_the_file_has_them(mjcf):
    robot = Robot.load(mjcf)
    ours = model_shapes(robot.shape_sources.models[0]).shapes
    turn = Rotation.from_euler("XYZ", [0, 30, 45], degrees=True).as_matrix()
    along = np.array([0.2, 0.0, 0.1])
    lean = Rotation.from_euler("y", np.arctan2(0.2, 0.1)).as_matrix()
    half = 0.5 * np.linalg.norm(along)
    expected = [
        ("trunk", turn, [0.1, 0.0, 0.0], [0.1, 0.2, 0.1]),
        ("arm", lean, 0.5 * along, [0.02, 0.02, 0.02 + half]),
        ("arm", Rotation.from_euler("y", 90, degrees=True).as_matrix(), 0.0, [0.03, 0.03, 0.1]),
    ]
    for one, (link, rotation, centre, size) in zip(ours, expected, strict=False):
        assert one.link == link
        local = (one.mesh.vertices - centre) @ rotation
        np.testing.assert_allclose(np.abs(local).max(0), size, rtol=0.0, atol=1e-3)
        np.testing.assert_allclose(local.max(0), -local.min(0), rtol=0.0, atol=1e-6)
    cube, spike = (one.mesh.vertices for one in ours[3:])
    size = np.array([0.1, 0.2, 0.3])  # twice half of it
    np.testing.assert_allclose([cube.min(0), cube.max(0)], [-size, size], atol=1e-7)
    low = np.array([0.0, 0.0, 0.3])
    np.testing.assert_allclose([spike.min(0), spike.max(0)], [low, low + 0.1], atol=1e-7)


@needs("mujoco")
def test_a_picture_on_a_material_is_drawn_in_its_mean_colour(tmp_path):
    Image.fromarray(np.array([[[255, 0, 0], [0, 0, 255]]], dtype=np.uint8)).save(tmp_path / "t.png")
    (tmp_path / "m.xml").write_text(
        """<mujoco><asset><texture name="t" type="2d" file="t.png"/><material name="m" texture="t"
        rgba="1 1 1 1"/></asset><worldbody><body name="a"><joint/><geom size="0.1"
        material="m"/></body></worldbody></mujoco>""",
        encoding="utf-8",
    )
    assert [part.color for part in Robot.load(tmp_path / "m.xml").look().parts] == ["#800080"]


@pytest.mark.skipif(zoo.root() is None, reason="the extra [zoo] is not installed")
@pytest.mark.parametrize("name", ["panda", "talos_reduced", "iris"])
def test_robots_of_the_zoo_are_drawn_from_their_meshes_within_the_budget(name):
    look = Robot.build(zoo.find(f"zoo:{name}"), Options(actuator=())).look()
    assert sum(len(part.mesh.faces) for part in look.parts) <= BUDGET
    assert not any(note.startswith("Left out") for note in look.notes)
