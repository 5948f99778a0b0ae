"""A robot or a run as a page: what joint sliders do, and what the command says and records."""

from __future__ import annotations

import json
import shutil
import subprocess

import numpy as np
import pytest
from PIL import Image

from ukctrl import Robot
from ukctrl.cli import main
from ukctrl.reports.html_page import TEMPLATES
from ukctrl.reports.scene.page_data import page_data
from ukctrl.reports.scene.robot_scene import robot_scene
from ukctrl.robot.geometry.quaternions import rotated

SLIDERS = {
    "panda": 7,
    "two_link": 2,
    "cart_pole": 2,  # a shift, and an angle as cosine and sine
    "scara": 4,
    "floating_arm": 3,  # its base stays where it is
    "swarm": 10,
    "a1": 0,  # contacts
    "five_bar_relative": 0,  # a closed loop
    "flexible_arm_links": 0,  # formulas
}


@pytest.mark.parametrize("name", SLIDERS)
def test_joints_of_one_freedom_have_sliders_and_what_has_none_is_noted(name):
    scene = robot_scene(Robot.load(name))
    assert len(scene.joints) == SLIDERS[name]
    reasons = [note for note in scene.notes if "slider" in note]
    assert bool(reasons) == (not scene.joints or name == "floating_arm")
    for joint in scene.joints:
        assert joint.low <= joint.home <= joint.high


def moved(robot, scene, changes):
    """Return the configuration that sliders ask for, and their values."""
    step = np.zeros(robot.nv)
    names = [joint.name for joint in scene.joints]
    step[[robot.dofs.index(name) for name in names]] = changes
    q = robot.integrate(home(robot), step)
    return q, [joint.home + change for joint, change in zip(scene.joints, changes, strict=True)]


def home(robot):
    from ukctrl.mechanics.home_configuration import home_configuration

    return home_configuration(robot)


def displaced(scene, values):
    """Return positions and the images of an axis, by the rule that the page's script follows."""
    poses = scene.actors[0].poses
    at, axis = poses.position[0].copy(), rotated(poses.quaternion[0], np.array([0.0, 0.6, 0.8]))
    chain = []
    for joint, value in zip(scene.joints, values, strict=True):
        change, turn = value - joint.home, np.array(joint.turn)
        K = np.cross(np.eye(3), turn)
        R = np.eye(3) + np.sin(change) * K + (1 - np.cos(change)) * K @ K
        p = np.array(joint.point)
        d = p - R @ p + change * np.array(joint.slide)
        if joint.parent >= 0:
            R0, d0 = chain[joint.parent]
            R, d = R0 @ R, R0 @ d + d0
        chain.append((R, d))
        for row in joint.carriers:
            at[row], axis[row] = R @ at[row] + d, R @ axis[row]
    return at, axis


@pytest.mark.parametrize("name", [name for name, count in SLIDERS.items() if count])
def test_sliders_move_the_robot_as_its_visuals_say(name):
    robot = Robot.load(name)
    scene = robot_scene(robot)
    q, values = moved(robot, scene, np.random.default_rng(2).uniform(-1, 1, len(scene.joints)))
    poses = robot.look().poses(q[None], np.zeros(1))
    at, axis = displaced(scene, values)
    np.testing.assert_allclose(at, poses.position[0], atol=1e-9)
    expected = rotated(poses.quaternion[0], np.array([0.0, 0.6, 0.8]))
    np.testing.assert_allclose(axis, expected, atol=1e-9)


SCRIPT = """
const fs = require("fs"), vm = require("vm");
const [three, source, data] = process.argv.slice(1);
vm.runInThisContext(fs.readFileSync(three, "utf8") + ";globalThis.THREE = THREE;");
const text = fs.readFileSync(source, "utf8"), { poses, joints, values } = JSON.parse(data);
const { Matrix4, Quaternion, Vector3 } = THREE;
const unit = new Vector3(1, 1, 1);
const matrices = poses.map(([p, [w, x, y, z]]) =>
  new Matrix4().compose(new Vector3(...p), new Quaternion(x, y, z, w), unit));
const actors = [{ matrices, place() {}, upload() {} }], head = { joints }, ask = () => {};
const begin = text.indexOf("const bend = ");
const end = text.indexOf("};", text.indexOf("robot.upload();", begin)) + 2;
eval(text.slice(begin, end).replace("const bend", "globalThis.bend"));
bend(values);
console.log(JSON.stringify(matrices.map((m) => [m.elements[12], m.elements[13], m.elements[14]])));
"""


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("node") is None, reason="no node on this machine")
@pytest.mark.parametrize("name", ["panda", "cart_pole", "scara", "floating_arm"])
def test_the_script_of_the_page_moves_what_sliders_move(name):
    robot = Robot.load(name)
    scene = robot_scene(robot)
    q, values = moved(robot, scene, np.random.default_rng(3).uniform(-1, 1, len(scene.joints)))
    home_poses = scene.actors[0].poses
    data = {
        "poses": [
            [p.tolist(), turn.tolist()]
            for p, turn in zip(home_poses.position[0], home_poses.quaternion[0], strict=True)
        ],
        "joints": page_data(scene).head["joints"],
        "values": values,
    }
    paths = [str(TEMPLATES / part) for part in ("three/three.min.js", "scene.js")]
    command = ["node", "-e", SCRIPT, *paths, json.dumps(data)]
    ended = subprocess.run(command, capture_output=True, text=True, check=True)
    expected = robot.look().poses(q[None], np.zeros(1)).position[0]
    np.testing.assert_allclose(json.loads(ended.stdout), expected, atol=1e-9)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            ["view", "panda", "-c", "pd-gravity"],
            "--controller goes with a scenario; 'panda' is a rob",
        ),
        (["view", "pandda"], "did you mean"),
        (
            ["view", ".", "--no-open"],
            "must hold a run (result.nc), a comparison's runs, or a robot",
        ),
        (["view", "panda", "--record", "x.png", "--size", "big"], "--size must be WIDTHxHEIGHT"),
        (["view", "panda", "--record", "x.png", "--camera", "behind"], "a camera is 'front'"),
        (["view", "panda", "--record", "x.avi"], "a film or picture ends in '.mp4'"),
    ],
)
def test_the_command_says_what_does_not_fit(arguments, words, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    said = capsys.readouterr().err
    assert words in said
    assert said.count("\n") == 1


def test_the_command_records_pictures_and_films(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    small = ["--size", "96x64", "--camera", "30,20"]
    run = ["two-mass-spring", "--set", "timing.duration=0.5"]
    for arguments in (
        ["two_link", "--record", "robot.png"],
        [*run, "--record", "strip.png", "--strip", "3"],
        [*run, "--record", "film.gif", "--fps", "10", "--speed", "0.5"],
    ):
        with pytest.raises(SystemExit) as ended:
            main(["view", *arguments, *small])
        assert ended.value.code == 0
        assert arguments[arguments.index("--record") + 1] in capsys.readouterr().out
    for name, count in (("robot.png", 1), ("strip.png", 1), ("film.gif", 11)):
        with Image.open(tmp_path / name) as picture:
            assert (picture.size, getattr(picture, "n_frames", 1)) == ((96, 64), count)
