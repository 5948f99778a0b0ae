"""Macro files of ROS, and the packages that models name."""

import numpy as np
import pytest

from ukctrl.core.errors import InputError, ModelError
from ukctrl.robot import Options, Robot
from ukctrl.robot.models.ros_packages import package_folder
from ukctrl.robot.schema.robot_file import runs_code

HEAD = '<robot name="arm" xmlns:xacro="http://www.ros.org/wiki/xacro">'
INERTIA = '<inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/>'
LEG = f"""{HEAD}
<xacro:macro name="leg" params="side sign">
  <link name="${{side}}_leg"><inertial><mass value="${{2*m}}"/>{INERTIA}</inertial></link>
  <joint name="${{side}}_hip" type="continuous"><parent link="base"/><child link="${{side}}_leg"/>
    <origin xyz="0 ${{sign*0.25}} 0"/><axis xyz="0 1 0"/></joint>
</xacro:macro></robot>"""
ARM = f"""{HEAD}
<xacro:arg name="mass" default="1.5"/><xacro:arg name="both" default="true"/>
<xacro:property name="m" value="$(arg mass)"/>
<xacro:include filename="$(find legs)/leg.xacro"/>
<link name="base"/>
<xacro:leg side="left" sign="1"/>
<xacro:if value="$(arg both)"><xacro:leg side="right" sign="-1"/></xacro:if>
</robot>"""


@pytest.fixture
def arm(tmp_path):
    """A macro file that includes one of a package elsewhere."""
    (tmp_path / "ws/deep/legs_ros").mkdir(parents=True)
    (tmp_path / "ws/deep/legs_ros/package.xml").write_text("<package><name> legs </name></package>")
    (tmp_path / "ws/deep/legs_ros/leg.xacro").write_text(LEG)
    path = tmp_path / "mine" / "arm.urdf.xacro"
    path.parent.mkdir()
    path.write_text(ARM)
    return path


def test_macros_are_expanded_with_arguments_and_packages(arm):
    pytest.importorskip("xacro")
    robot = Robot.load(arm, trust=True, override={"package_path": ["../ws"]})
    assert [block.name for block in robot.structure.blocks] == ["left_hip", "right_hip"]
    assert np.diag(robot.snapshot(robot.neutral).M) == pytest.approx([0.1, 0.1])
    assert robot.structure.model.jointPlacements[2].translation[1] == -0.25
    given = {"package_path": ["../ws"], "xacro_arguments": {"both": False, "mass": 4}}
    one = Robot.load(arm, trust=True, override=given)
    assert float(one.structure.model.inertias[1].mass) == 8.0
    assert one.nv == 1


def test_expressions_of_a_file_run_only_where_it_is_trusted(arm):
    with pytest.raises(InputError, match="are Python, which a file may not run by itself.*--trust"):
        Robot.load(arm, override={"package_path": ["../ws"]})
    assert runs_code(arm)


def test_a_file_without_macros_is_a_urdf_as_it_stands(tmp_path, text):
    path = tmp_path / "arm.xacro"
    path.write_text(text.urdf(text.body("a"), text.body("b"), text.joint("j", "a", "b")))
    assert Robot.load(path).coordinates == ("j",)


def test_a_robot_file_names_one_and_says_the_rest(arm):
    pytest.importorskip("xacro")
    (arm.parent / "robot.toml").write_text(
        'title = "two legs"\nmodel = "arm.urdf.xacro"\npackage_path = ["../ws"]\n'
        'xacro_arguments = { both = "false" }\n'
    )
    assert Robot.load(arm.parent / "robot.toml", trust=True).nv == 1
    assert runs_code(arm.parent / "robot.toml")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda t: t.replace("$(find legs)", "$(find arms)"), "no package 'arms'; name the folder"),
        (lambda t: t.replace("${sign", "${sing"), "sing"),
        (lambda t: t.replace("leg.xacro", "log.xacro"), "log.xacro"),
        (lambda t: t.replace("$(arg mass)", "$(arg weight)"), "weight"),
    ],
)
def test_what_xacro_does_not_accept_is_one_line(arm, change, words, capfd):
    pytest.importorskip("xacro")
    leg = arm.parents[1] / "ws/deep/legs_ros/leg.xacro"
    for file in (arm, leg):
        file.write_text(change(file.read_text()))
    with pytest.raises(ModelError, match="xacro does not accept it") as told:
        Robot.load(arm, trust=True, override={"package_path": ["../ws"]})
    assert words in str(told.value)
    assert "\n" not in str(told.value)
    assert capfd.readouterr() == ("", "")


def test_without_xacro_the_answer_names_it(arm, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "xacro", None)
    with pytest.raises(InputError, match=r"pip install 'ukctrl\[xacro\]'"):
        Robot.load(arm, trust=True)


def test_packages_are_found_by_the_rules_of_ros(tmp_path, monkeypatch):
    for name in ("ROS_PACKAGE_PATH", "AMENT_PREFIX_PATH"):
        monkeypatch.delenv(name, raising=False)
    for folder in ("a/one", "a/two/one", "b/deep/x", "b/plain", "c/share/three", "one/inner/four"):
        (tmp_path / folder).mkdir(parents=True)
    for folder, name in (("a/two", "one"), ("b/deep/x", "four"), ("one", "five")):
        (tmp_path / folder / "package.xml").write_text(f"<p><name>{name}</name></p>")
    # the name in package.xml goes before that of a folder
    assert package_folder("one", [tmp_path / "a"]) == tmp_path / "a/two"
    assert package_folder("plain", [tmp_path / "a", tmp_path / "b"]) == tmp_path / "b/plain"
    assert package_folder("b", [tmp_path / "b"]) == tmp_path / "b"
    assert package_folder("four", [tmp_path]) == tmp_path / "b/deep/x"
    for nowhere in ("three", "", "..", "x/y", "nobody"):
        assert package_folder(nowhere, [tmp_path / "a"]) is None
    monkeypatch.setenv("ROS_PACKAGE_PATH", f"{tmp_path / 'missing'}:{tmp_path / 'b'}")
    assert package_folder("four", []) == tmp_path / "b/deep/x"
    monkeypatch.setenv("AMENT_PREFIX_PATH", f"{tmp_path / 'c'}")
    assert package_folder("three", [tmp_path / "a"]) == tmp_path / "c/share/three"


def test_meshes_of_packages_elsewhere_are_seen(tmp_path, text):
    trimesh = pytest.importorskip("trimesh")
    (tmp_path / "ws/shapes").mkdir(parents=True)
    (tmp_path / "ws/shapes/package.xml").write_text("<package><name>shapes</name></package>")
    trimesh.creation.box((0.1, 0.2, 0.3)).export(tmp_path / "ws/shapes/box.stl")
    visual = '<visual><geometry><mesh filename="package://shapes/box.stl"/></geometry></visual>'
    model = text.urdf(text.body("a"), text.body("b"), text.joint("j", "a", "b"))
    (tmp_path / "mine").mkdir()
    path = tmp_path / "mine" / "arm.urdf"
    path.write_text(model.replace("</link>", visual + "</link>", 1))
    assert "is missing" in Robot.load(path).look().notes[0]
    seen = Robot.load(path, override={"package_path": ["../ws"]}).look()
    assert seen.notes == ()
    assert any(part.name == "a" and len(part.mesh.faces) == 12 for part in seen.parts)


def test_a_folder_of_packages_must_exist(tmp_path):
    with pytest.raises(InputError, match="package_path.*must be a folder that exists"):
        Robot.load("scara", override={"package_path": [str(tmp_path / "no")]})
    assert Options().package_path == ()
