"""Robots of the zoo: found where example-robot-data puts them, and asked for by name."""

import sys

import numpy as np
import pytest

from ukctrl import Scenario, simulate
from ukctrl.core.errors import InputError, UnknownName
from ukctrl.core.files import catalog, zoo
from ukctrl.robot import Robot

INSTALLED = zoo.root() is not None
PENDULUM = """<robot name="{name}"><link name="base"><inertial><mass value="3"/>
<inertia ixx="0.2" iyy="0.2" izz="0.2" ixy="0" ixz="0" iyz="0"/></inertial></link>
<link name="rod"><inertial>
<origin xyz="0 0 -0.5"/><mass value="2"/>
<inertia ixx="0.1" iyy="0.1" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="swing" type="revolute"><parent link="base"/><child link="rod"/><axis xyz="0 1 0"/>
<limit lower="-3" upper="3" effort="{effort}" velocity="9"/></joint></robot>"""
SCENARIO = """
title = "A model of the zoo swings"
robot = "zoo:toy"
start.q = { swing = 0.3 }
timing = { duration = 0.1 }
"""


@pytest.fixture
def small_zoo(tmp_path, monkeypatch):
    """A package laid out like example-robot-data, with three models."""
    robots = tmp_path / "site" / zoo.MODEL_FOLDERS[0]
    for folder, effort in (
        ("toy_description/urdf/toy", 5.0),
        ("hopper_b_simple_description/robots/hopper", 0.0),
        ("hopper_c_simple_description/urdf/hopper", 1.0),
    ):
        file = robots / f"{folder}.urdf"
        file.parent.mkdir(parents=True)
        file.write_text(PENDULUM.format(name=file.stem, effort=effort))
    monkeypatch.setattr(sys, "path", [str(tmp_path / "site"), *sys.path])
    return robots


@pytest.fixture
def no_zoo(monkeypatch):
    monkeypatch.setattr(zoo, "MODEL_FOLDERS", ("nowhere", "nowhere"))


def test_a_model_is_called_after_its_file(small_zoo):
    assert zoo.find("zoo:toy") == small_zoo / "toy_description/urdf/toy.urdf"
    assert Robot.load("zoo:toy").actuators == ("swing",)


def test_models_of_one_name_are_told_apart_by_their_folder(small_zoo):
    assert zoo.names() == ("hopper_b_simple/hopper", "hopper_c_simple/hopper", "toy")
    assert Robot.load("zoo:hopper_c_simple/hopper").effort_limit == [1.0]


def test_the_audit_says_what_a_model_of_the_zoo_lacks(small_zoo):
    (finding,) = Robot.load("zoo:hopper_b_simple/hopper").audit
    assert (finding.level, finding.code) == ("warning", "zero_effort_limit")


def test_a_model_of_the_zoo_may_float(small_zoo):
    robot = Robot.load("zoo:toy", override={"floating_base": True})
    assert (robot.nq, robot.nv, robot.nu) == (8, 7, 1)


def test_a_scenario_names_a_robot_of_the_zoo_and_keeps_the_name(small_zoo, tmp_path):
    (tmp_path / "swing.toml").write_text(SCENARIO)
    scenario = Scenario.load(tmp_path / "swing.toml")
    assert scenario.robot == "zoo:toy"
    assert 'robot = "zoo:toy"' in scenario.to_toml()
    assert simulate(scenario).status == "completed"


def test_a_robot_file_may_build_on_a_model_of_the_zoo(small_zoo, tmp_path):
    folder = tmp_path / "robots" / "mine"
    folder.mkdir(parents=True)
    (folder / "robot.toml").write_text(
        'title = "mine"\nmodel = "zoo:toy"\nactuator = []\nhome = { swing = "90*deg" }\n'
    )
    robot = Robot.load(folder / "robot.toml")
    assert robot.actuators == ()
    np.testing.assert_allclose(robot.home, [np.pi / 2])


def test_an_unknown_model_gets_the_near_miss(small_zoo):
    with pytest.raises(UnknownName, match="no robot in the zoo named 'tyo'; did you mean 'toy'?"):
        Robot.load("zoo:tyo")


def test_without_the_extra_one_line_says_how_to_get_it(no_zoo, tmp_path):
    missing = "which is not installed; pip install 'ukctrl[zoo]' (420 MB)."
    with pytest.raises(InputError) as caught:
        zoo.names()
    assert str(caught.value) == f"there are no robots of the zoo, {missing}"
    with pytest.raises(InputError) as caught:
        Robot.load("zoo:panda")
    assert str(caught.value) == f"'zoo:panda' is a robot of the zoo, {missing}"
    (tmp_path / "swing.toml").write_text(SCENARIO)
    with pytest.raises(InputError, match=r"'zoo:toy' is a robot of the zoo, .* not installed"):
        Scenario.load(tmp_path / "swing.toml")


def test_a_name_of_the_zoo_is_not_a_path(small_zoo):
    with pytest.raises(UnknownName):
        catalog.find("robots", "zoo:../../toy")


@pytest.mark.skipif(not INSTALLED, reason="the zoo extra is not installed")
def test_the_panda_of_the_zoo_is_the_panda_of_the_catalogue():
    # Gaz et al.'s numbers in both; the zoo's has two fingers that move, held here at zero.
    ours, theirs = Robot.load("panda"), Robot.load("zoo:panda")
    rng = np.random.default_rng(0)
    for _ in range(5):
        q, v = ours.random(rng), rng.standard_normal(7)
        one = ours.snapshot(q, v)
        other = theirs.snapshot([*q, 0.0, 0.0], [*v, 0.0, 0.0])
        np.testing.assert_allclose(one.M, other.M[:7, :7], rtol=0.0, atol=1e-12)
        np.testing.assert_allclose(one.nle, other.nle[:7], rtol=0.0, atol=1e-11)
    np.testing.assert_allclose(ours.q_lower, theirs.q_lower[:7])
    np.testing.assert_allclose(ours.effort_limit, theirs.effort_limit[:7])


@pytest.mark.skipif(not INSTALLED, reason="the zoo extra is not installed")
def test_the_ur5_of_the_zoo_is_the_ur5_of_the_catalogue_with_its_base_turned():
    ours, theirs = Robot.load("ur5"), Robot.load("zoo:ur5_robot")
    turned = np.diag([-1.0, -1.0, 1.0])
    rng = np.random.default_rng(0)
    for _ in range(5):
        q = ours.random(rng)
        one, other = ours.snapshot(q).frame("tool"), theirs.snapshot(q).frame("tool0")
        np.testing.assert_allclose(one.position, turned @ other.position, rtol=0.0, atol=1e-10)
        np.testing.assert_allclose(one.rotation, turned @ other.rotation, rtol=0.0, atol=1e-10)


NOT_SOUND = {
    "alex_psyonic_hands": "mimics 'index_q1', which is not another moving joint",
    "romeo_laas_small": "inertia of 'body' must have no negative",
    "tiago": "inertia of 'base_antenna_left_link' must have no negative",
    "tiago_dual": "inertia of 'base_antenna_left_link' must have no negative",
    "tiago_no_hand": "inertia of 'base_antenna_left_link' must have no negative",
    "romeo": "moving 'LFinger21' moves no inertia",
    "ur3": "No name given for the robot",
}
"""Models of version 6.0 that say what cannot be, and why they are refused."""


@pytest.mark.skipif(not INSTALLED, reason="the zoo extra is not installed")
@pytest.mark.parametrize("name", zoo.names() if INSTALLED else ())
def test_every_robot_of_the_zoo_loads_unless_it_cannot_be(name):
    override = {"floating_base": "quadrotor" in name or "iris" in name}
    if name in NOT_SOUND:
        with pytest.raises(InputError, match=NOT_SOUND[name]):
            Robot.load(f"zoo:{name}")
        return
    robot = Robot.load(f"zoo:{name}", override=override)
    assert np.all(np.isfinite(robot.snapshot(robot.neutral).M))
