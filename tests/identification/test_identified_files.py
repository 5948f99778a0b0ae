"""Robot files with identified numbers: read back, they are the robot that was asked for."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from extras import needs
from identified_robots import assert_same_dynamics, random_body, random_dynamics

from ukctrl import Robot, robot
from ukctrl.core.errors import InputError, ModelError
from ukctrl.core.files import catalog
from ukctrl_identification.identified_dynamics import DofFriction, IdentifiedDynamics
from ukctrl_identification.identified_files import HEAD, write_identified
from ukctrl_identification.robot_dynamics import (
    armature_of,
    bodies_of,
    dynamics_of,
    friction_of,
    with_dynamics,
)

ROBOTS = [
    name
    for name in catalog.names("robots")
    if {"model", "part"} & tomllib.loads(catalog.find("robots", name).read_text()).keys()
]
MODELS = json.loads(
    Path(__file__).parents[1].joinpath("robot/mjcf/models.json").read_text(encoding="utf-8")
)
MJCF = [name for name in MODELS if name != "replicate"]
NOTHING = IdentifiedDynamics({}, {}, {})


@pytest.fixture
def rng():
    return np.random.default_rng(5)


def assert_same_kinematics(one, other):
    """Assert that two robots have joints, frames, closures and inputs of the same names, places."""
    for name in ("coordinates", "dofs", "frames", "actuators", "actuator_units"):
        assert getattr(one, name) == getattr(other, name)
    assert [*map(dict, one.passive)] == [*map(dict, other.passive)]
    for name in ("q_lower", "q_upper", "velocity_limit", "effort_limit"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    places = zip(one.model.jointPlacements, other.model.jointPlacements, strict=True)
    frames = zip(one.model.frames, other.model.frames, strict=True)
    assert all(first == second for first, second in places)
    assert all(first.placement == second.placement for first, second in frames)
    assert len(one.look().notes) == len(other.look().notes)


def assert_same_friction(given, robot):
    """Assert that a robot rubs as formulas say; it must have no other forces at these speeds."""
    for v in (-0.7, -0.02, 0.004, 0.3):
        whole = np.full(robot.nv, v)
        came = robot.snapshot(robot.neutral, whole).f - robot.snapshot(robot.neutral).f
        for name, one in given.items():
            level = one.coulomb
            if one.static:
                level += (one.static - one.coulomb) * np.exp(-((v / one.stribeck_velocity) ** 2))
            effort = -level * np.tanh(v / one.velocity_scale) - one.viscous * v
            np.testing.assert_allclose(came[robot.dofs.index(name)], effort, rtol=1e-12)
    at_rest = robot.snapshot(robot.neutral).f
    for name, one in given.items():
        np.testing.assert_allclose(at_rest[robot.dofs.index(name)], -one.asymmetry, atol=1e-15)


def written(source, reference, dynamics, folder):
    write_identified(source, reference, dynamics, folder / "identified")
    return Robot.load(folder / "identified")


def mjcf_robot(name, folder):
    case = MODELS[name]
    for file, text in {**case["files"], "model.xml": case["xml"]}.items():
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_text(text, encoding="utf-8")
    return Robot.load(folder / "model.xml")


def assert_bit_for_bit(one, other, rng):
    q, v = one.random(rng), rng.standard_normal(one.nv)
    first, second = one.snapshot(q, v, 0.3), other.snapshot(q, v, 0.3)
    for name in ("M", "nle", "B", "f"):
        np.testing.assert_array_equal(getattr(first, name), getattr(second, name))


@pytest.mark.parametrize("name", ROBOTS)
def test_a_robot_of_the_catalogue_is_written_as_it_is_to_the_last_bit(name, tmp_path, rng):
    source = Robot.load(name)
    came = written(source, name, dynamics_of(source), tmp_path)
    assert_same_kinematics(source, came)
    assert_bit_for_bit(source, came, rng)


@pytest.mark.parametrize("name", ROBOTS)
def test_a_robot_of_the_catalogue_has_the_numbers_that_were_written(name, tmp_path, rng):
    source = Robot.load(name)
    dynamics = random_dynamics(source, rng)
    came = written(source, name, dynamics, tmp_path)
    assert_same_kinematics(source, came)
    assert_same_dynamics(source, dynamics, came, rng)
    assert_same_dynamics(source, dynamics, with_dynamics(source, dynamics), rng)


@needs("mujoco")
@pytest.mark.parametrize("name", MJCF)
def test_an_mjcf_file_has_the_numbers_that_were_written(name, tmp_path, rng):
    source = mjcf_robot(name, tmp_path)
    same = written(source, tmp_path / "model.xml", dynamics_of(source), tmp_path / "same")
    assert_bit_for_bit(source, same, rng)
    dynamics = random_dynamics(source, rng)
    came = written(source, tmp_path / "model.xml", dynamics, tmp_path / "new")
    assert_same_kinematics(source, came)
    assert_same_dynamics(source, dynamics, came, rng)
    for joint, one in dynamics.friction.items():
        np.testing.assert_allclose(friction_of(came)[joint], one, rtol=1e-12)


def test_what_is_absent_stays_as_it_is(tmp_path, rng):
    source = Robot.load("two_link")
    body = random_body(rng)
    came = written(source, "two_link", NOTHING._replace(bodies={"elbow": body}), tmp_path)
    np.testing.assert_array_equal(bodies_of(came)["shoulder"], bodies_of(source)["shoulder"])
    np.testing.assert_allclose(bodies_of(came)["elbow"], body, rtol=0.0, atol=1e-14)


INERTIAL = """<inertial><origin xyz="0.1 0 0"/><mass value="2"/>
  <inertia ixx="0.02" iyy="0.03" izz="0.04" ixy="0" ixz="0" iyz="0"/></inertial>"""
ARM = f"""<?xml version="1.0"?>
<!-- who made it -->
<robot name="arm" xmlns:drake="http://drake.mit.edu">
  <link name="base">{INERTIAL}</link>
  <link name="upper"><!-- turned from steel -->{INERTIAL}
    <visual><geometry><mesh filename="MESH" scale="0.5 0.5 0.5"/></geometry></visual></link>
  <link name="plate">{INERTIAL}</link>
  <link name="camera">{INERTIAL}</link>
  <link name="lower">{INERTIAL}</link>
  <joint name="shoulder-1" type="revolute"><parent link="base"/><child link="upper"/>
    <axis xyz="0 0.6 0.8"/><limit lower="-2" upper="2" effort="5" velocity="3"/>
    <dynamics damping="0.7" friction="0.2" K="7000"/></joint>
  <joint name="bolt" type="fixed"><parent link="upper"/><child link="plate"/>
    <origin xyz="0 0 0.2" rpy="0.1 0.2 0.3"/></joint>
  <joint name="glue" type="fixed"><parent link="plate"/><child link="camera"/></joint>
  <joint name="slide" type="prismatic"><parent link="plate"/><child link="lower"/>
    <origin xyz="0.3 0 0"/><axis xyz="0 0 1"/><mimic joint="shoulder-1" multiplier="0.5"/>
    <limit lower="-1" upper="1" effort="5" velocity="3"/></joint>
  <transmission name="t"><joint name="slide"/><actuator name="m">
    <drake:rotor_inertia value="0.01"/><drake:gear_ratio value="10"/></actuator></transmission>
</robot>"""
TETRAHEDRON = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"


@pytest.fixture
def arm(tmp_path):
    """An arm with plates that are bolted to a link, in a package with its meshes."""
    package = tmp_path / "arm_description"
    (package / "urdf").mkdir(parents=True)
    (package / "meshes").mkdir()
    (package / "package.xml").write_text("<package><name>arm_description</name></package>")
    (package / "meshes" / "link.obj").write_text(TETRAHEDRON)
    (package / "urdf" / "arm.urdf").write_text(ARM)
    return package / "urdf" / "arm.urdf"


def test_a_link_has_all_and_what_is_fixed_to_it_nothing(arm, tmp_path, rng):
    source = Robot.load(arm)
    dynamics = NOTHING._replace(bodies={"shoulder-1": random_body(rng)})
    came = written(source, arm, dynamics, tmp_path)
    assert_same_dynamics(source, dynamics, came, rng)
    text = (tmp_path / "identified" / "arm.urdf").read_text()
    assert text.count("<inertial>") == 3  # of the base, the link, and beyond the slide
    assert text.count("are in those of link 'upper', to which it is fixed") == 2
    assert "<!-- who made it -->" in text
    assert "<!-- turned from steel -->" in text


def test_rotors_and_friction_take_the_place_of_those_of_the_file(arm, tmp_path, rng):
    source = Robot.load(arm)
    assert armature_of(source) == {"slide": 1.0}
    friction = {
        "shoulder_1": DofFriction(0.3, 0.4),
        "slide": DofFriction(0.5, 0.0, 0.1),
    }
    dynamics = IdentifiedDynamics({}, {"shoulder_1": 0.2, "slide": 0.3}, friction)
    came = written(source, arm, dynamics, tmp_path)
    assert_same_dynamics(source, dynamics, came, rng)
    assert_same_friction(friction, came)
    tree = ElementTree.parse(tmp_path / "identified" / "arm.urdf")
    losses = [dict(one.attrib) for one in tree.iter("dynamics")]
    assert {"damping": "0.4", "friction": "0.3", "K": "7000"} in losses
    table = tomllib.loads((tmp_path / "identified" / "robot.toml").read_text())
    assert [force["joint"] for force in table["force"]] == ["slide"]


@pytest.mark.parametrize("where", ["relative", "absolute", "file", "package"])
def test_meshes_go_along_wherever_the_file_names_them(arm, tmp_path, where):
    mesh = arm.parents[1] / "meshes" / "link.obj"
    name = {
        "relative": "../meshes/link.obj",
        "absolute": str(mesh),
        "file": mesh.as_uri(),
        "package": "package://arm_description/meshes/link.obj",
    }[where]
    arm.write_text(ARM.replace("MESH", name))
    source = Robot.load(arm)
    assert not source.look().notes
    folder = tmp_path / "far" / "away"
    files = write_identified(source, arm, dynamics_of(source), folder)
    mesh.unlink()
    assert not Robot.load(folder).look().notes
    assert set(files) == {"robot.toml", "arm.urdf", "meshes/link.obj"}


def test_a_mesh_that_is_missing_stays_a_name(arm, tmp_path):
    arm.write_text(ARM.replace("MESH", "/nowhere/link.stl"))
    source = Robot.load(arm)
    came = written(source, arm, dynamics_of(source), tmp_path)
    assert [*came.look().notes] == [*source.look().notes]
    assert 'filename="/nowhere/link.stl"' in (tmp_path / "identified" / "arm.urdf").read_text()


def test_parts_share_names_of_meshes_and_hold_what_is_fixed_to_other_parts(arm, tmp_path, rng):
    other = tmp_path / "tool"
    other.mkdir()
    (other / "link.obj").write_text(TETRAHEDRON.replace("0 0 1", "0 0 2"))
    (other / "arm.urdf").write_text(
        f"""<robot name="tool"><link name="flange">{INERTIAL}<visual><geometry>
        <mesh filename="link.obj"/></geometry></visual></link><link name="finger">{INERTIAL}</link>
        <joint name="grip" type="continuous"><parent link="flange"/><child link="finger"/>
        <axis xyz="1 0 0"/></joint></robot>"""
    )
    arm.write_text(ARM.replace("MESH", "../meshes/link.obj"))
    (tmp_path / "robot.toml").write_text(
        f"""title = "an arm with a tool"
        floating_base = true
        frame = [{{ name = "tip", parent = "tool_finger", position = ["10*cm", 0, 0] }}]
        [[part]]
        model = "{arm}"
        prefix = "left_"
        [[part]]
        model = "tool/arm.urdf"
        prefix = "tool_"
        parent = "left_camera"
        position = [0.0, 0.1, 0.0]
        [[picture]]
        kind = "box"
        size = [0.1, 0.1, 0.1]
        frame = "tip"
        """
    )
    source = Robot.load(tmp_path / "robot.toml")
    dynamics = random_dynamics(source, rng)
    assert "root" in dynamics.bodies
    came = written(source, tmp_path / "robot.toml", dynamics, tmp_path)
    assert_same_kinematics(source, came)
    assert_same_dynamics(source, dynamics, came, rng)
    folder = tmp_path / "identified"
    assert "link 'left_upper'" in (folder / "tool_arm.urdf").read_text()
    shapes = {(folder / name).read_text() for name in ("meshes/link.obj", "meshes/2/link.obj")}
    assert len(shapes) == 2


@needs("xacro")
def test_macros_are_written_expanded(tmp_path, rng):
    path = tmp_path / "legs.urdf.xacro"
    path.write_text(
        f"""<robot name="legs" xmlns:xacro="http://www.ros.org/wiki/xacro">
        <xacro:arg name="mass" default="1"/><link name="trunk"/>
        <xacro:macro name="leg" params="side"><link name="${{side}}_leg">{INERTIAL}</link>
        <joint name="${{side}}_hip" type="continuous"><parent link="trunk"/>
        <child link="${{side}}_leg"/><axis xyz="0 1 0"/></joint></xacro:macro>
        <xacro:leg side="left"/><xacro:leg side="right"/></robot>"""
    )
    source = Robot.load(path, trust=True, override={"xacro_arguments": {"mass": 2.0}})
    dynamics = random_dynamics(source, rng)
    came = written(source, path, dynamics, tmp_path)
    assert_same_dynamics(source, dynamics, came, rng)


def test_what_a_scenario_laid_over_a_file_is_written_too(arm, tmp_path, rng):
    override = {"floating_base": True, "gravity": [0.0, 0.0, -1.6], "actuator": []}
    source = Robot.load(arm, override=override)
    dynamics = random_dynamics(source, rng)
    came = written(source, {"use": str(arm), **override}, dynamics, tmp_path)
    assert (came.nu, came.gravity[2]) == (0, -1.6)
    assert_same_dynamics(source, dynamics, came, rng)


def test_friction_of_the_card_is_replaced_and_other_forces_stay(arm, tmp_path):
    (arm.parent / "robot.toml").write_text(
        """title = "an arm"
        model = "arm.urdf"
        friction_velocity = 0.05
        [[force]]
        kind = "joint_damper"
        joint = "slide"
        damping = 3.0
        [[force]]
        kind = "joint_spring"
        joint = "slide"
        stiffness = "2*N/cm"
        damping = 4.0
        [[force]]
        kind = "dry_friction"
        joint = "shoulder_1"
        level = 9.0
        [[force]]
        kind = "dry_friction"
        joint = "slide"
        level = 9.0
        """
    )
    source = Robot.load(arm.parent)
    given = {"slide": DofFriction(0.2, 0.5, velocity_scale=0.05)}
    came = written(source, arm.parent, NOTHING._replace(friction=given), tmp_path)
    assert friction_of(came)["slide"] == given["slide"]
    assert friction_of(came).get("shoulder_1") == friction_of(source).get("shoulder_1")
    at = came.dofs.index("slide")
    q = came.neutral
    q[at] = 0.1
    np.testing.assert_allclose(came.snapshot(q).f[at], -20.0)  # of the spring
    text = (tmp_path / "identified" / "robot.toml").read_text()
    assert 'stiffness = "2*N/cm"' in text
    assert text.count('kind = "dry_friction"') == 1  # of the shoulder


def test_motors_behind_springs_have_their_inertia_and_friction(tmp_path, rng):
    source = Robot.load("panda_elastic")
    motor = next(block.dofs[0] for block in source.blocks if block.rotor)
    dynamics = IdentifiedDynamics({}, {motor: 0.7}, {motor: DofFriction(0.3, 0.2)})
    came = written(source, "panda_elastic", dynamics, tmp_path)
    assert_same_dynamics(source, dynamics, came, rng)
    np.testing.assert_allclose(friction_of(came)[motor], dynamics.friction[motor])
    np.testing.assert_array_equal(came.elastic.stiffness, source.elastic.stiffness)
    np.testing.assert_array_equal(came.elastic.inertia[1:], source.elastic.inertia[1:])
    np.testing.assert_allclose(came.elastic.inertia[0], 0.7)


def test_friction_of_one_freedom_of_a_free_body_is_a_force(tmp_path):
    source = Robot.load("floating_arm")
    given = {"root_wz": DofFriction(0.3, 0.4)}
    came = written(source, "floating_arm", NOTHING._replace(friction=given), tmp_path)
    assert_same_friction(given, came)


def test_a_robot_that_was_changed_after_it_was_loaded_is_written_whole(tmp_path, rng):
    source = Robot.load("two_link").perturbed(robot.Perturbation(mass_scale=2.0, damping=0.3))
    given = {"elbow": DofFriction(0.1, 0.2)}
    came = written(source, "two_link", NOTHING._replace(friction=given), tmp_path)
    assert_same_dynamics(source, NOTHING, came, rng)
    assert friction_of(came) == {"shoulder": DofFriction(viscous=0.3), **given}


def test_a_folder_is_identified_again_in_its_place(tmp_path, rng):
    source = Robot.load("ur5")
    folder = tmp_path / "identified"
    for _ in range(2):
        dynamics = random_dynamics(source, rng)
        reference = folder if folder.exists() else "ur5"  # a path, and a name
        write_identified(source, reference, dynamics, folder)
        source = Robot.load(folder)
        assert_same_dynamics(source, dynamics, source, rng)
    table = tomllib.loads((folder / "robot.toml").read_text())
    assert table["source"].count("identified from logs") == 1


@needs("mujoco")
@pytest.mark.parametrize("offset", [0.0, 1e-9, 3e-7, 2e-5])
def test_axes_that_mujoco_takes_for_parallel_are_written_all_the_same(offset, tmp_path, rng):
    source = mjcf_robot("base", tmp_path)
    body = np.array(
        [2.0, *offset * np.array([2.0, -4.0, 6.0]), 0.5, offset, 0.4, 0.0, -offset, 0.3]
    )
    came = written(
        source, tmp_path / "model.xml", NOTHING._replace(bodies={"j1": body, "j2": body}), tmp_path
    )
    for joint in ("j1", "j2"):
        np.testing.assert_allclose(bodies_of(came)[joint], body, rtol=1e-14, atol=1e-16)


SCENE = """<!-- a robot on a table --><mujoco><compiler angle="degree" settotalmass="10"/>
<include file="parts/defaults.xml"/>
<worldbody><include file="parts/arm.xml"/>
  <body name="cup"><freejoint name="loose"/><geom size="0.05"/></body></worldbody>
<equality><joint joint1="a" joint2="b" polycoef="0 0.5 0 0 0"/>
  <connect body1="tip" body2="cup" anchor="0.1 0 0"/></equality>
<tendon><fixed name="belt"><joint joint="a" coef="1"/><joint joint="b" coef="-2"/></fixed></tendon>
<actuator><motor tendon="belt" gear="3"/><position joint="b" kp="20"/></actuator></mujoco>"""
DEFAULTS = """<mujocoinclude><default><joint damping="0.3"/><default class="hard">
<joint armature="0.2" frictionloss="0.1" stiffness="4" springdamper="0.05 1"/><geom density="500"/>
</default></default></mujocoinclude>"""
CHAIN = """<mujoco><body name="base" pos="0 0 1" childclass="hard"><geom size="0.1"/>
<joint name="a" axis="0 1 0" range="-90 90"/>
<body pos="0 0 0.1"><geom type="box" size="0.1 0.2 0.3"/><body name="tip" euler="20 0 0">
<joint name="b" class="hard" axis="1 1 0" pos="0 0.1 0"/>
<geom type="capsule" size="0.02" fromto="0 0 0 0.3 0 0"/><site name="end" pos="0.3 0 0"/>
</body></body></body></mujoco>"""


@needs("mujoco")
def test_includes_defaults_closures_tendons_and_what_geoms_weigh(tmp_path, rng):
    (tmp_path / "parts").mkdir()
    for name, text in (("scene", SCENE), ("parts/defaults", DEFAULTS), ("parts/arm", CHAIN)):
        (tmp_path / f"{name}.xml").write_text(text)
    source = Robot.load(tmp_path / "scene.xml")
    dynamics = random_dynamics(source, rng)
    part = dynamics._replace(bodies={"a": dynamics.bodies["a"]})
    came = written(source, tmp_path / "scene.xml", part, tmp_path)
    assert_same_kinematics(source, came)
    assert_same_dynamics(source, part, came, rng)  # others weigh what they did, of ten kilograms
    folder = tmp_path / "identified"
    scene = (folder / "scene.xml").read_text()
    assert "<!-- a robot on a table -->" in scene
    assert '<include file="parts/arm.xml"/>' in scene
    assert "settotalmass" not in scene
    assert (folder / "parts" / "defaults.xml").read_text().count("springdamper") == 1
    at = source.coordinates.index("a"), source.dofs.index("a")
    q = source.neutral
    q[at[0]] = 0.3  # the spring is as stiff as it was, whatever the inertia is now
    springs = [
        one.snapshot(q).f[at[1]] - one.snapshot(one.neutral).f[at[1]] for one in (source, came)
    ]
    np.testing.assert_allclose(springs[1], springs[0], rtol=1e-12)
    assert springs[0] != 0.0


@needs("mujoco")
@pytest.mark.parametrize("key", ["file", "meshdir"])
def test_absolute_names_in_an_mjcf_file_become_those_of_the_copies(key, tmp_path, rng):
    (tmp_path / "model" / "assets").mkdir(parents=True)
    mesh = tmp_path / "model" / "assets" / "link.obj"
    mesh.write_text(TETRAHEDRON)
    folder, name = ("sub", str(mesh)) if key == "file" else (str(mesh.parent), "link.obj")
    path = tmp_path / "model" / "model.xml"
    path.write_text(
        f"""<mujoco><compiler meshdir="{folder}"/><asset><mesh name="m" file="{name}"/></asset>
        <worldbody><body name="b"><joint name="j"/><geom type="mesh" mesh="m"/></body></worldbody>
        </mujoco>"""
    )
    source = Robot.load(path)
    dynamics = random_dynamics(source, rng)
    write_identified(source, path, dynamics, tmp_path / "identified")
    mesh.unlink()
    came = Robot.load(tmp_path / "identified")
    assert_same_dynamics(source, dynamics, came, rng)
    assert str(tmp_path) not in (tmp_path / "identified" / "model.xml").read_text()


@needs("mujoco")
def test_models_that_attach_models_are_edited_where_the_body_stands(tmp_path, rng):
    (tmp_path / "gripper.xml").write_text(
        """<mujoco><worldbody><body name="palm"><joint name="turn"/><geom size="0.1"/>
        <body name="finger" pos="0.1 0 0"><joint name="bend"/><geom size="0.05"/></body></body>
        </worldbody></mujoco>"""
    )
    (tmp_path / "arm.xml").write_text(
        """<mujoco><asset><model name="g" file="gripper.xml"/></asset><worldbody><body name="link">
        <joint name="lift" axis="0 1 0"/><geom size="0.1" pos="0.1 0 0"/>
        <attach model="g" body="palm" prefix="g_"/></body></worldbody></mujoco>"""
    )
    (tmp_path / "cell.xml").write_text(
        """<mujoco><asset><model name="a" file="arm.xml"/></asset><worldbody>
        <frame pos="0 0 1"><attach model="a" prefix="a_"/></frame></worldbody></mujoco>"""
    )
    source = Robot.load(tmp_path / "cell.xml")
    assert source.joints == ("a_lift", "a_g_turn", "a_g_bend")
    dynamics = random_dynamics(source, rng)
    came = written(source, tmp_path / "cell.xml", dynamics, tmp_path)
    assert_same_dynamics(source, dynamics, came, rng)


LEVEL = "must be zero or above, and finite; got"


@pytest.mark.parametrize(
    ("dynamics", "words"),
    [
        ({"bodies": {"elbo": np.ones(10)}}, "a body named 'elbo'; did you mean"),
        ({"bodies": {"elbow": np.ones(9)}}, r"joint 'elbow': must have shape \(10,\), m, mx"),
        ({"bodies": {"elbow": np.full(10, np.nan)}}, "body of joint 'elbow': m must be finite"),
        ({"bodies": {"elbow": np.r_[0.0, 1.0, np.ones(8)]}}, "has first moments but no mass"),
        ({"bodies": {"elbow": np.r_[-1.0, np.zeros(9)]}}, "not be negative; got -1.0. No robot"),
        ({"bodies": {"elbow": np.r_[1.0, 1.0, np.zeros(8)]}}, "negative principal moment; got -1"),
        ({"armature": {"wrist": 1.0}}, "no joint named 'wrist'"),
        ({"armature": {"elbow": -1.0}}, f"armature of 'elbow': it {LEVEL} -1"),
        ({"armature": {"elbow": np.inf}}, f"armature of 'elbow': it {LEVEL} inf"),
        ({"friction": {"hand": DofFriction()}}, "no joint named 'hand'"),
        ({"friction": {"elbow": DofFriction(coulomb=-0.1)}}, f"coulomb {LEVEL} -0.1"),
        ({"friction": {"elbow": DofFriction(viscous=np.nan)}}, f"viscous {LEVEL} nan"),
        ({"friction": {"elbow": DofFriction(asymmetry=np.nan)}}, "asymmetry must be finite"),
        ({"friction": {"elbow": DofFriction(velocity_scale=0.0)}}, "scale must be above"),
        ({"friction": {"elbow": DofFriction(2.0, static=1.0)}}, "at least coulomb, 2; got 1"),
        ({"friction": {"elbow": DofFriction(1.0, static=2.0, velocity_scale=0.2)}}, "to be felt"),
    ],
)  # fmt: skip
def test_numbers_that_cannot_be_are_refused_by_name(dynamics, words, tmp_path):
    source = Robot.load("two_link")
    with pytest.raises(InputError, match=words):
        write_identified(source, "two_link", NOTHING._replace(**dynamics), tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("name", "kind"),
    [("five_bar", "linkage"), ("swarm", "particles"), ("crane_planar", "lagrangian")],
)
def test_what_has_no_inertial_parameters_is_refused(name, kind, tmp_path):
    with pytest.raises(InputError, match=rf"robot '{name}' is made of \[{kind}\], to which no"):
        write_identified(Robot.load(name), name, NOTHING, tmp_path / "out")


def test_a_robot_that_was_made_of_text_has_no_file(tmp_path):
    made = Robot.build(ARM, robot.Options(), name="arm")
    (tmp_path / "other.urdf").write_text(ARM)
    with pytest.raises(InputError, match="to which no inertial parameters can be written"):
        write_identified(made, tmp_path / "other.urdf", NOTHING, tmp_path / "out")


def test_rotors_of_a_joint_with_several_freedoms_are_refused(tmp_path):
    source = Robot.load("floating_arm")
    with pytest.raises(InputError, match="joint 'root' has 6 freedoms"):
        write_identified(
            source, "floating_arm", NOTHING._replace(armature={"root_vx": 1.0}), tmp_path / "out"
        )


def test_files_of_somebody_else_are_never_replaced(arm, tmp_path):
    source = Robot.load(arm)
    with pytest.raises(InputError, match=r"arm\.urdf' is there and would be replaced"):
        write_identified(source, arm, NOTHING, arm.parent)
    assert arm.read_text() == ARM
    assert not (arm.parent / "robot.toml").exists()
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "robot.toml").write_text('title = "mine"\nmodel = "a.urdf"\n')
    with pytest.raises(InputError, match=r"robot\.toml' is there and would be replaced"):
        write_identified(source, arm, NOTHING, tmp_path / "mine")
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot write the identified robot"):
        write_identified(source, arm, NOTHING, tmp_path / "file")
    (tmp_path / "link").mkdir()
    (tmp_path / "link" / "robot.toml").write_text(HEAD)
    (tmp_path / "link" / "arm.urdf").symlink_to(arm)
    with pytest.raises(InputError, match="is a link, and nothing is written through links"):
        write_identified(source, arm, NOTHING, tmp_path / "link")
    assert arm.read_text() == ARM


MJCF_HEAD = "<mujoco><compiler ALIGN/><worldbody><body name='b'>"
MJCF_TAIL = "<geom size='0.1' pos='0.1 0 0'/></body></worldbody></mujoco>"


@needs("mujoco")
@pytest.mark.parametrize(
    ("inside", "joint", "words"),
    [
        ("<freejoint name='j' align='true'/>", "j", "the frame of body 'b' follows its inertia"),
        ("<joint name='i'/><joint name='j' axis='1 0 0'/>", "i", "must move no mass by itself"),
        (
            "<joint name='j'/><body gravcomp='1'><geom size='0.1'/></body>",
            "j",
            "one rigid body, and a fluid or gravcomp acts",
        ),
    ],
)
def test_what_an_mjcf_file_has_no_place_for_is_refused(inside, joint, words, tmp_path, rng):
    path = tmp_path / "model.xml"
    path.write_text(f"{MJCF_HEAD.replace('ALIGN', '')}{inside}{MJCF_TAIL}")
    source = Robot.load(path)
    with pytest.raises(InputError, match=words):
        write_identified(
            source, path, NOTHING._replace(bodies={joint: random_body(rng)}), tmp_path / "out"
        )


@needs("mujoco")
def test_a_body_of_a_repeated_element_is_refused_by_name(tmp_path, rng):
    source = mjcf_robot("replicate", tmp_path)
    with pytest.raises(InputError, match="body 'b0' must have an element of its own"):
        write_identified(
            source, tmp_path / "model.xml", random_dynamics(source, rng), tmp_path / "out"
        )


@needs("mujoco")
def test_an_inertia_that_mujoco_refuses_is_told_in_its_words(tmp_path):
    """Of a body whose largest principal moment exceeds the sum of the others, by a fifth."""
    body = np.array([1.0, 0.0, 0.0, 0.0, 0.1, 0.0, 0.1, 0.0, 0.0, 0.24])
    dynamics = NOTHING._replace(bodies={"j2": body})
    source = mjcf_robot("base", tmp_path)
    with pytest.raises(
        ModelError, match=r"out.model\.xml: MuJoCo does not accept it: .*A \+ B >= C"
    ):
        write_identified(source, tmp_path / "model.xml", dynamics, tmp_path / "out")
    folder = tmp_path / "urdf"
    write_identified(
        Robot.load("two_link"), "two_link", NOTHING._replace(bodies={"elbow": body}), folder
    )
    assert "impossible_inertia" in {finding.code for finding in Robot.load(folder).audit}


@needs("mujoco")
def test_the_damping_of_a_servo_stays_beside_that_of_the_joint(tmp_path):
    path = tmp_path / "model.xml"
    path.write_text(
        f"""{MJCF_HEAD.replace("ALIGN", "")}<joint name="j" damping="0.5"/>
        {MJCF_TAIL.replace("</mujoco>", "")}<actuator><position joint="j" kp="5" kv="2"/></actuator>
        </mujoco>"""
    )
    override = {"servos": "commands"}
    source = Robot.load(path, override=override)
    assert friction_of(source)["j"].viscous == 2.5
    reference = {"use": str(path), **override}
    given = NOTHING._replace(friction={"j": DofFriction(viscous=3.0)})
    came = written(source, reference, given, tmp_path)
    assert friction_of(came)["j"].viscous == 3.0
    less = NOTHING._replace(friction={"j": DofFriction(viscous=1.5)})
    with pytest.raises(InputError, match="viscous must be at least 2, which the servo"):
        write_identified(source, reference, less, tmp_path / "less")
