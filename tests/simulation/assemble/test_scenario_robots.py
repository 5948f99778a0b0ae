"""The robot of a scenario is loaded once, and anew where a file that it was made of has changed."""

import os
import threading

import numpy as np
import pytest
from extras import needs

from ukctrl import Robot
from ukctrl.core.errors import InputError
from ukctrl.simulation.assemble.scenario_robots import true_robot

LINKS = (
    "<robot name='r'><link name='a'/><link name='b'><inertial><mass value='{mass}'/>"
    "<inertia ixx='1' iyy='1' izz='1' ixy='0' ixz='0' iyz='0'/></inertial></link>"
    "<joint name='j' type='prismatic'><parent link='a'/><child link='b'/>"
    "<limit lower='-1' upper='1' effort='9' velocity='9'/></joint></robot>"
)


def write(path, mass):
    """Write a model, as editors do: a new file in the place of the old one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_suffix(".new")
    beside.write_text(LINKS.format(mass=mass))
    os.replace(beside, path)


def mass_of(robot):
    return float(robot.snapshot(robot.neutral).M[0, 0])


def width_of(robot):
    """Return how far the picture of a robot reaches along x."""
    points = np.vstack([part.mesh.vertices for part in robot.look().parts])
    return float(np.ptp(points[:, 0]))


@pytest.fixture(name="named")
def _named(tmp_path):
    """A robot whose model lies in another folder than its file."""
    write(tmp_path / "models" / "arm.urdf", 2.0)
    (tmp_path / "arm").mkdir()
    (tmp_path / "arm" / "robot.toml").write_text('title = "r"\nmodel = "../models/arm.urdf"\n')
    return str(tmp_path / "arm" / "robot.toml")


def test_it_is_the_same_object_while_nothing_changes(named):
    changed = {"use": named, "actuator": []}
    assert true_robot(named) is true_robot(named)
    one = true_robot(changed)
    assert one is true_robot(dict(changed))
    assert one.nu == 0
    assert true_robot(named).nu == 1
    robot = Robot.load(named)
    assert true_robot(robot) is robot


def test_a_model_in_another_folder_that_changes_makes_another_robot(named, tmp_path):
    assert mass_of(true_robot(named)) == 2.0
    write(tmp_path / "models" / "arm.urdf", 3.0)
    assert mass_of(true_robot(named)) == 3.0
    (tmp_path / "models" / "arm.urdf").unlink()
    with pytest.raises(InputError):
        true_robot(named)
    write(tmp_path / "models" / "arm.urdf", 4.0)
    assert mass_of(true_robot(named)) == 4.0


def test_a_name_means_what_it_means_where_one_works(tmp_path, monkeypatch):
    for folder, mass in (("one", 2.0), ("other", 3.0)):
        write(tmp_path / folder / "robots" / "arm" / "arm.urdf", mass)
        table = 'title = "r"\nmodel = "arm.urdf"\n'
        (tmp_path / folder / "robots" / "arm" / "robot.toml").write_text(table)
    for folder, mass in (("one", 2.0), ("other", 3.0), ("one", 2.0)):
        monkeypatch.chdir(tmp_path / folder)
        assert mass_of(true_robot("arm")) == mass


def test_threads_share_no_robot(named):
    others = []
    thread = threading.Thread(target=lambda: others.append(true_robot(named)))
    thread.start()
    thread.join()
    assert true_robot(named) is not others[0]


@needs("mujoco")
def test_a_mesh_and_an_included_file_of_an_mjcf_robot_count_too(tmp_path):
    corners = "v 0 0 0\nv {x} 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 1 4 3\n"
    (tmp_path / "mesh.obj").write_text(corners.format(x=1.0))
    (tmp_path / "more.xml").write_text(
        "<mujoco><default><joint armature='0.5'/></default></mujoco>"
    )
    path = tmp_path / "arm.xml"
    path.write_text(
        "<mujoco><include file='more.xml'/><asset><mesh name='m' file='mesh.obj'/></asset>"
        "<worldbody><body><joint type='slide' axis='0 0 1'/><geom type='mesh' mesh='m'/></body>"
        "</worldbody></mujoco>"
    )
    first = mass_of(true_robot(str(path)))
    assert width_of(true_robot(str(path))) == pytest.approx(1.0, rel=1e-6)
    (tmp_path / "mesh.obj").write_text(corners.format(x=2.0))
    second = mass_of(true_robot(str(path)))
    assert width_of(true_robot(str(path))) == pytest.approx(2.0, rel=1e-6)
    assert second - 0.5 == pytest.approx(2.0 * (first - 0.5), rel=1e-6)
    (tmp_path / "more.xml").write_text(
        "<mujoco><default><joint armature='1.5'/></default></mujoco>"
    )
    assert mass_of(true_robot(str(path))) == pytest.approx(second + 1.0, rel=1e-9)
