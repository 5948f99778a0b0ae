"""`ukctrl identify`: from a table of text to a robot that other commands take."""

import json

import numpy as np
import pytest

from tests.identification.simulated_logs import efforts, moving
from ukctrl import Robot, Scenario, simulate
from ukctrl.cli import main
from ukctrl.robot.perturbation import Perturbation


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    """Return the log of an arm whose links weigh other than its file says, in degrees."""
    truth = Robot.load("two_link").perturbed(Perturbation(mass_scale={"elbow": 1.4}))
    rng = np.random.default_rng(0)
    motion = moving(truth, rng, n=8000, duration=16.0)
    effort = efforts(truth, motion, (0.3, 0.1, 0.0, 0.02)) + 0.02 * rng.normal(size=(8000, 2))
    path = tmp_path_factory.mktemp("log") / "log.csv"
    degrees = np.degrees(motion.q)
    columns = np.column_stack([motion.time, degrees, degrees, effort])
    names = "time,p_1,p_2,wish_shoulder,wish_elbow,i_1,i_2"
    np.savetxt(path, columns, delimiter=",", header=names, comments="")
    return path


TASK = """
title = "The law believes the file of the arm"
robot = "two_link"
believed = "two_link"

[[servo]]
kind   = "joint_follows"
joints = ["shoulder", "elbow"]
path   = { kind = "min_jerk", points = [[0, 0], [0.5, -0.5]], duration = 0.2 }

[controller]
use = "computed-torque"

[timing]
duration = 0.3
control  = 0.002
"""
COLUMNS = ["--log", "position=p_{n}", "--log", "position_unit={shoulder='deg',elbow='deg'}",
           "--log", "effort=i_{n}"]  # fmt: skip


def run(*words):
    with pytest.raises(SystemExit) as end:
        main(list(map(str, words)))
    return end.value.code


def test_a_log_becomes_a_robot_that_scenarios_and_comparisons_take(log, tmp_path, capsys):
    assert run("identify", "two_link", log, *COLUMNS, "--out", tmp_path / "two") == 0
    shown = capsys.readouterr().out
    assert "the identified robot may be believed" in shown
    robot, model = Robot.load(tmp_path / "two"), Robot.load("two_link")
    q, v = np.array([0.3, -0.7]), np.zeros(2)
    truth = model.perturbed(Perturbation(mass_scale={"elbow": 1.4}))
    np.testing.assert_allclose(robot.snapshot(q, v).M, truth.snapshot(q, v).M, rtol=0.02)
    assert not np.allclose(model.snapshot(q, v).M, truth.snapshot(q, v).M, rtol=0.05)
    data = json.loads((tmp_path / "two" / "identified.json").read_text())
    assert max(data["validation"]["rms"].values()) < 0.02
    task = tmp_path / "task.toml"
    task.write_text(TASK)
    measured = simulate(Scenario.load(task, {"robot": str(tmp_path / "two")}))
    trusting = simulate(Scenario.load(task))
    assert measured.status == trusting.status == "completed"
    # the law believes in lighter links than it moves
    assert measured.metric("rms_phi") > 10.0 * trusting.metric("rms_phi")
    assert (tmp_path / "two" / "report.html").stat().st_size > 50_000


def test_what_cannot_be_is_one_line(log, tmp_path, capsys):
    for words, told in (
        ((log,), "must have a column of the position"),
        ((log, *COLUMNS[:2], *COLUMNS[4:]), "position_unit"),
        ((tmp_path / "none.csv", *COLUMNS), "no such file"),
        ((), "at least one log"),
        ((log, *COLUMNS, "--cutoff", "-1"), "--cutoff must be a positive frequency"),
        ((log, *COLUMNS, "--method", "instrumental"), "positions that were asked for"),
    ):
        assert run("identify", "two_link", *words, "--out", tmp_path / "no") == 2
        said = capsys.readouterr().err
        assert told in said
        assert said.strip().count("\n") == 0
    assert not (tmp_path / "no").exists()


def test_asked_positions_are_read_for_instruments(log, tmp_path):
    fits = {}
    for method in ("weighted", "instrumental"):
        out = tmp_path / method
        words = [*COLUMNS, "--log", "asked=wish_{joint}", "--method", method]
        assert run("identify", "two_link", log, *words, "--out", out, "--quiet") == 0
        data = json.loads((out / "identified.json").read_text())
        fits[method] = {one["formula"]: one["value"] for one in data["base_parameters"]}
    # here what was asked is what was done, so that both find the same but for rounding
    assert fits["instrumental"] == pytest.approx(fits["weighted"], rel=1e-3, abs=1e-5)


def test_a_motor_constant_follows_from_a_joint_whose_torque_is_known(tmp_path):
    truth = Robot.load("two_link")
    rng = np.random.default_rng(1)
    motion = moving(truth, rng, n=8000, duration=16.0)
    effort = efforts(truth, motion, (0.3, 0.1, 0.0, 0.02))
    table = np.column_stack([motion.time, motion.q, effort / [1.0, 4.0]])
    names = "time,q1,q2,i1,i2"
    np.savetxt(tmp_path / "log.csv", table, delimiter=",", header=names, comments="")
    words = ["--log", "current=i{n}", "--log", "motor_constant.shoulder=1", "--quiet"]
    assert run("identify", "two_link", tmp_path / "log.csv", *words, "--out", tmp_path / "it") == 0
    data = json.loads((tmp_path / "it" / "identified.json").read_text())
    assert data["motor_constants"].keys() == {"elbow"}
    assert data["motor_constants"]["elbow"]["value"] == pytest.approx(4.0, rel=5e-3)
    assert "N m/A" in (tmp_path / "it" / "report.html").read_text()
    assert max(data["validation"]["rms"].values()) < 0.02


def test_a_designed_motion_is_what_was_asked_for_and_has_a_page(tmp_path, capsys):
    asked = ["--motion", "duration=4", "--motion", "harmonics=3", "--motion", "starts=1"]
    words = ["identify", "two_link", "--design", *asked, "--motion", "range.elbow=0.4"]
    assert run(*words, "--out", tmp_path / "it", "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["duration"], told["harmonics"]) == (4.0, 3)
    table = np.genfromtxt(tmp_path / "it" / "motion.csv", delimiter=",", names=True)
    start, moved = table["qelbow"][0], table["qelbow"]
    assert 0.2 < np.abs(moved - start).max() < 0.4
    page = (tmp_path / "it" / "report.html").read_text()
    for formula in (one["formula"] for one in told["parameters"]):
        assert formula in page
    assert all(f"{limit['limit']}".replace("'", "&#39;") in page for limit in told["limits"])


def test_what_a_motion_cannot_be_is_one_line(log, tmp_path, capsys):
    for words, told in (
        (("--design", "--motion", "duration"), "--motion must be KEY=VALUE"),
        (("--design", "--motion", "harmonics=1"), "harmonics must be 2 to 50"),
        (("--design", "--motion", "durration=4"), "did you mean 'duration'"),
        ((log, *COLUMNS, "--motion", "duration=4"), "add --design"),
        ((log, *COLUMNS, "--known", "gripper"), "no link that a joint moves named 'gripper'"),
    ):
        assert run("identify", "two_link", *words, "--out", tmp_path / "no") == 2
        said = capsys.readouterr().err
        assert told in said
        assert said.strip().count("\n") == 0
    assert not (tmp_path / "no").exists()
