"""Robots by the names of robot_descriptions: only where they are, never downloaded."""

import pytest

from ukctrl.core.errors import InputError, UnknownName
from ukctrl.core.files import robot_descriptions
from ukctrl.robot import Robot

pytest.importorskip("robot_descriptions")
from robot_descriptions import _cache


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """An empty cache; whoever would download fails the test."""
    monkeypatch.setenv("ROBOT_DESCRIPTIONS_CACHE", str(tmp_path))

    def download(*_, **__):
        raise AssertionError("downloads")

    monkeypatch.setattr(_cache, "clone_to_directory", download)
    return tmp_path


@pytest.fixture
def place(cache, text):
    """Put an arm where the package would have put a robot."""

    def put(path):
        arm = text.urdf(text.body("a"), text.body("b"), text.joint("j", "a", "b"))
        (cache / path).parent.mkdir(parents=True)
        (cache / path).write_text(arm)
        return cache / path

    return put


PANDA = "example-robot-data/robots/panda_description/urdf/panda.urdf"


@pytest.mark.parametrize("name", ["panda", "panda_description"])
def test_a_robot_of_the_cache_is_loaded_by_its_name(place, name):
    path = place(PANDA)
    assert robot_descriptions.find(f"description:{name}") == path
    assert Robot.load(f"description:{name}").coordinates == ("j",)


def test_where_no_urdf_is_described_the_mjcf_is_meant(cache):
    (cache / "mujoco_menagerie").mkdir()
    found = robot_descriptions.find("description:aloha")
    assert found == cache / "mujoco_menagerie/aloha/scene.xml"
    assert robot_descriptions.find("description:ur5e_mj").name == "ur5e.xml"


def test_a_robot_file_and_a_scenario_name_one(place, tmp_path):
    place(PANDA)
    folder = tmp_path / "robots" / "mine"
    folder.mkdir(parents=True)
    robot = 'title = "one of the descriptions"\nmodel = "description:panda"\nactuator = []\n'
    (folder / "robot.toml").write_text(robot)
    assert Robot.load(folder / "robot.toml").actuators == ()


def test_what_is_not_on_this_machine_is_told_how_to_get(cache):
    with pytest.raises(InputError) as told:
        Robot.load("description:panda")
    assert str(told.value) == (
        "'description:panda' is not on this machine; this downloads it: "
        "python -m robot_descriptions pull panda_description"
    )


def test_another_commit_is_another_folder(place, monkeypatch):
    path = place(PANDA.replace("-data/", "-data-abc/example-robot-data/"))
    monkeypatch.setenv("ROBOT_DESCRIPTION_COMMIT", "abc")
    assert robot_descriptions.find("description:panda") == path


def test_a_macro_file_is_named_with_what_to_write(cache):
    (cache / "franka_description").mkdir()
    with pytest.raises(
        InputError, match=r"robot.toml with model = '.*/fr3\.urdf\.xacro', package_"
    ) as told:
        robot_descriptions.find("description:fr3")
    assert f"package_path = ['{cache}']" in str(told.value)


def test_an_unknown_name_gets_the_near_miss():
    with pytest.raises(UnknownName, match="pandaa.*panda_description"):
        robot_descriptions.find("description:pandaa_description")
