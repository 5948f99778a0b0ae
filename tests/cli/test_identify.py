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
