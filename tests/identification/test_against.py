"""Runs beside logs of a robot: what is played, what is kept of the log, what is refused."""

from __future__ import annotations

import dataclasses as dc
import json

import numpy as np
import pinocchio as pin
import pytest

from tests.shared.command import ended
from ukctrl import Result, Scenario, simulate
from ukctrl.core.errors import InputError
from ukctrl.reports import html_page, plot
from ukctrl.reports.run_page import page_figures, write_report
from ukctrl.simulation.assemble.scenario_robots import true_robot
from ukctrl.simulation.effects import JointFriction
from ukctrl_identification.joint_log import JointLog
from ukctrl_identification.log_replay import simulate_against
from ukctrl_identification.replayed_scenario import FILE, motor_inputs

TIMES = {"timing.duration": 0.5, "timing.sample": 0.001}
HELIX = "scara-helix"


def log_of(result, robot, positions=None):
    """Return what sensors without noise say of a run: positions, and efforts of joints."""
    names = robot.coordinates if positions is None else positions
    at = {name: k for k, name in enumerate(robot.coordinates)}
    effort = result["u"] @ robot.actuation.constant.T
    pushed = np.asarray(robot.actuation.acts_on).any(axis=1)
    return JointLog(
        "real.csv", result.time, {name: result["q"][:, at[name]] for name in names}, {},
        {name: effort[:, k] for k, name in enumerate(robot.dofs) if pushed[k]},
    )  # fmt: skip


def at_times(result, name, time):
    return np.column_stack([np.interp(time, result.time, column) for column in result[name].T])


@pytest.fixture(scope="module", name="helix")
def _helix():
    """A scenario whose law believes too light a robot, a run of it, and the log of that."""
    scenario = Scenario.load(HELIX, {**TIMES, "believed.mass_scale": 0.7})
    result, robot = simulate(scenario), true_robot(scenario.robot)
    return scenario, result, log_of(result, robot), robot


PLAYED = {
    "scara, references": (HELIX, "references"),
    "scara, inputs": (HELIX, "inputs"),
    "panda, references": ("panda-pose", "references"),
    "panda, inputs": ("panda-pose", "inputs"),
    "a closed chain, references": ("three-rrr", "references"),
    "a closed chain, inputs": ("three-rrr", "inputs"),
}


@pytest.mark.slow(but=["scara, references", "scara, inputs"])
@pytest.mark.parametrize("case", PLAYED)
def test_the_robot_of_the_log_itself_goes_as_the_log(case, tmp_path):
    """Of the closed chain the three joints with motors were logged, of 21."""
    name, play = PLAYED[case]
    scenario = Scenario.load(name, TIMES)
    original, robot = simulate(scenario), true_robot(scenario.robot)
    pushed = np.asarray(robot.actuation.acts_on).any(axis=1)
    joints = [joint for joint, driven in zip(robot.dofs, pushed, strict=True) if driven]
    result = simulate_against(scenario, log_of(original, robot, joints), tmp_path, play=play)
    assert result.status == "completed"
    assert result.provenance["log"]["play"] == play
    t = result.time
    assert 0.0 < t[0] < 0.06
    assert 0.44 < t[-1] < 0.5
    # the filter knows nothing beyond the ends of half a second
    for quantity in ("q", "v"):
        wanted = at_times(original, quantity, t)
        size = np.abs(wanted).max()
        np.testing.assert_allclose(result[quantity], wanted, rtol=0.0, atol=1e-3 * size)
        np.testing.assert_allclose(result.logged[quantity], wanted, rtol=0.0, atol=1e-3 * size)
    inner = slice(2, -2)
    wanted = at_times(original, "u", t)
    np.testing.assert_allclose(result.logged["u"], wanted, rtol=0.0, atol=1e-9)
    size = np.abs(wanted).max()
    np.testing.assert_allclose(result["u"][inner], wanted[inner], rtol=0.0, atol=0.01 * size)


def test_a_task_that_goes_on_ends_as_the_run_that_was_logged(helix, tmp_path):
    scenario, original, log, _ = helix
    result = simulate_against(scenario, log, tmp_path, play="task")
    assert result.labels.blocks == original.labels.blocks
    wanted = at_times(original, "phi", result.time)
    assert np.abs(wanted).max() > 1e-3
    np.testing.assert_allclose(result["phi"], wanted, rtol=0.0, atol=2e-5)


def test_the_log_has_the_metrics_of_the_run_that_it_is_of(helix, tmp_path):
    scenario, original, log, robot = helix
    result = simulate_against(scenario, log, tmp_path, play="inputs")
    t = result.time
    phi, u = at_times(original, "phi", t), at_times(original, "u", t)
    mean = np.trapezoid((phi**2).sum(axis=1), t) / (t[-1] - t[0])
    assert result.log_metrics["rms_phi"] == pytest.approx(np.sqrt(mean), rel=1e-4)
    assert result.log_metrics["peak_u"] == pytest.approx(np.abs(u).max(), rel=1e-9)
    assert result.log_metrics["effort"] == pytest.approx(np.trapezoid((u**2).sum(axis=1), t))
    assert np.isnan(result.log_metrics["energy_drift"])  # which no sensor tells
    model, data = robot.model, robot.model.createData()
    frame = model.getFrameId("tool")
    for k in (0, len(t) // 2, len(t) - 1):
        pin.framesForwardKinematics(model, data, result.logged["q"][k])
        place = result.logged["frame_position"][k, 0]
        np.testing.assert_allclose(place, data.oMf[frame].translation, rtol=0.0, atol=1e-12)


def test_what_a_log_says_is_told_beside_the_run(helix, tmp_path):
    scenario, _, log, _ = helix
    light = scenario.replace({"robot.gravity": [0.0, 0.0, -5.0], "believed.mass_scale": 1.0})
    result = simulate_against(light, log, tmp_path, play="references", notes=["A note."])
    told = [verdict.text for verdict in result.verdicts if verdict.subject == "log"]
    assert "the controller followed the logged motion of real.csv" in told[0]
    assert "input of 'u4'" in told[0]
    assert told[-1] == "A note."
    summary = result.summary()["log"]
    lift = next(one for one in summary["differences"] if one["name"] == "u4")
    # half of the weight that the slide carries, 0.5 kg
    assert lift["rms"] == pytest.approx(0.5 * 4.81, rel=0.02)
    assert summary["metrics"]["peak_u"] == result.log_metrics["peak_u"]
    json.dumps(summary, allow_nan=False)


def test_a_saved_run_still_has_its_log_and_its_scenario_runs_again(helix, tmp_path):
    scenario, _, log, robot = helix
    result = simulate_against(scenario, log, tmp_path, play="inputs")
    result.save(tmp_path)
    loaded = Result.load(tmp_path)
    for name in ("q", "v", "u", "phi", "frame_position"):
        np.testing.assert_array_equal(loaded.logged[name], result.logged[name])
    again = simulate(Scenario.load(tmp_path / "scenario.toml"), robot=robot)
    assert again.logged is None
    np.testing.assert_array_equal(again["q"], result["q"])


def test_figures_show_the_log_dashed_within_their_axes(helix, tmp_path, monkeypatch):
    scenario, _, log, robot = helix
    result = simulate_against(scenario, log, tmp_path, play="task")
    moved = np.array(result["logged_q"])
    moved[:, 0] += 3.0
    signals = dict(result.samples.signals)
    signals["logged_q"] = dc.replace(signals["logged_q"], values=moved)
    result = dc.replace(result, samples=dc.replace(result.samples, signals=signals))
    axes = plot.draw(result, "motion").axes[0]
    dashed = [
        line for line in axes.lines if line.get_linestyle() == "--" and line.get_label()[0] == "_"
    ]
    np.testing.assert_allclose(dashed[0].get_ydata(), moved[:, 0])
    low, high = axes.get_ylim()
    assert low < np.min(moved[:, :3]) < np.max(moved[:, :3]) < high
    plain = dc.replace(result, samples=dc.replace(result.samples, signals={}))
    for name in ("errors", "inputs", "motion", "path"):
        counts = [sum(len(a.lines) for a in plot.draw(r, name).axes) for r in (result, plain)]
        assert counts[0] > counts[1]
    assert "signals" not in plot.available(result)
    monkeypatch.setattr(
        html_page, "page_figure", lambda name, title, caption, draw: (name, caption)
    )
    captions = dict(page_figures(result))
    monkeypatch.undo()
    assert "log of the real robot" in captions["inputs"]
    assert "log of the real robot" not in captions["energy"]
    monkeypatch.setattr(plot, "available", lambda result: ("path",))
    page = write_report(result, tmp_path / "page", robot).read_text(encoding="utf-8")
    assert "Difference from the log" in page
    assert "tool in the log" in page


def test_positions_that_were_asked_for_are_what_the_controller_follows(helix, tmp_path):
    scenario, _, log, _ = helix
    asked = {name: q + 0.05 for name, q in log.position.items()}
    result = simulate_against(scenario, log._replace(asked=asked), tmp_path)
    start = result["phi"][0]
    # it starts where the robot was, and not where it was asked to be
    np.testing.assert_allclose(start, -0.05, rtol=0.0, atol=1e-6)
    np.testing.assert_allclose(result.logged["phi"][5:-5], -0.05, rtol=0.0, atol=1e-4)


def test_played_is_what_scenario_and_log_have_in_common(helix, tmp_path):
    scenario, _, log, _ = helix
    part = (
        {name: q[:400] for name, q in log.position.items()},
        {name: tau[:400] for name, tau in log.effort.items()},
    )
    short = log._replace(time=log.time[:400] + 0.2, position=part[0], effort=part[1])
    result = simulate_against(scenario, short, tmp_path)
    assert 0.2 < result.time[0] < 0.26
    assert 0.44 < result.time[-1] < 0.5
    note = result.provenance["log"]["notes"][0]
    assert "The scenario lasts from 0 to 0.5 s and the log from 0.2 to 0.599 s" in note
    with pytest.raises(InputError, match="must go on for a while as the scenario lasts, from 0 to"):
        simulate_against(scenario, short._replace(time=short.time + 5.0), tmp_path)


def test_of_a_log_with_a_gap_the_longest_stretch_is_played(helix, tmp_path):
    scenario, _, log, _ = helix
    kept = (log.time < 0.15) | (log.time > 0.2)
    cut = log._replace(
        time=log.time[kept],
        position={name: q[kept] for name, q in log.position.items()},
        effort={name: tau[kept] for name, tau in log.effort.items()},
    )
    result = simulate_against(scenario, cut, tmp_path)
    assert result.time[0] > 0.2
    assert "played is the longest of 2 stretches" in " ".join(result.provenance["log"]["notes"])


def test_inputs_are_those_of_the_motors_as_far_as_efforts_were_logged(helix):
    _, original, log, robot = helix
    effort = np.column_stack([log.effort[name] for name in robot.dofs])
    np.testing.assert_allclose(motor_inputs(robot, original["q"], effort), original["u"])
    effort[:, 1] = np.nan
    u = motor_inputs(robot, original["q"], effort)
    assert np.isnan(u).all(axis=0).tolist() == [False, True, False, False]


def test_effects_at_motors_and_sensors_do_not_change_inputs_that_were_measured(helix, tmp_path):
    scenario, _, log, _ = helix
    effects = [
        {"kind": "noise", "std": 0.1}, {"kind": "saturation", "limit": 0.01},
        {"kind": "friction", "viscous": 0.1},
    ]  # fmt: skip
    shaken = scenario.replace({"effect": effects, "timing.control": 0.01})
    result = simulate_against(shaken, log, tmp_path, play="inputs")
    assert [entry["kind"] for entry in result.scenario["effect"]] == [JointFriction.kind]
    # an input is held at its value in the middle of a sample's period
    change = np.abs(np.diff(np.column_stack([*log.effort.values()]), axis=0)).max()
    np.testing.assert_allclose(result["u"], result.logged["u"], rtol=0.0, atol=change)


REFUSED = {
    "no efforts": (
        lambda scenario, log: (scenario, log._replace(effort={}), "inputs"),
        "must have the efforts of all motors for its inputs to be played; those of 'u1', ",
    ),
    "no controller": (
        lambda scenario, log: (scenario.replace({"controller": {"kind": "none"}, "servo": []}), log,
                               "references"),
        "a scenario without a controller follows no references; play the inputs.",
    ),
    "a position less": (
        lambda scenario, log: (scenario, log._replace(position={"q1": log.position["q1"]}), None),
        "positions must be logged of 'q2', 'q3', 'q4', too.",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_a_log_that_cannot_be_played_is_refused_in_one_line(case, helix, tmp_path):
    scenario, _, log, _ = helix
    change, words = REFUSED[case]
    changed, other, play = change(scenario, log)
    with pytest.raises(InputError, match=words) as refused:
        simulate_against(changed, other, tmp_path, play=play)
    assert "\n" not in str(refused.value)


def test_without_efforts_a_motion_can_be_followed_all_the_same(helix, tmp_path):
    scenario, _, log, _ = helix
    result = simulate_against(scenario, log._replace(effort={}), tmp_path)
    assert result.status == "completed"
    assert np.isnan(result.logged["u"]).all()
    for name in ("peak_u", "effort", "saturated_fraction"):
        assert np.isnan(result.log_metrics[name])


def written(log, path, **more):
    """Write a log as CSV with the names of joints."""
    columns = {"time": log.time, **{f"{name}_q": q for name, q in log.position.items()}}
    columns |= {f"{name}_tau": tau for name, tau in log.effort.items()} | more
    table = np.column_stack(list(columns.values()))
    np.savetxt(path, table, delimiter=",", header=",".join(columns), comments="")
    return path


def test_the_command_reads_a_log_and_shows_it_beside(helix, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(plot, "available", lambda result: ())
    log = helix[2]
    file = written(log, tmp_path / "real.csv")
    table = tmp_path / "log.toml"
    table.write_text('[log]\nposition = "{joint}_q"\neffort = "{joint}_tau"\n', encoding="utf-8")
    changes = [f"--set={key}={value}" for key, value in TIMES.items()]
    call = ["run", HELIX, *changes, "--out", str(tmp_path / "out"), "--against", str(file)]
    code, out, _ = ended(capsys, *call, "--log-file", str(table), "--play", "inputs")
    assert code == 0
    assert "the robot was left to the logged inputs of" in out
    assert any(line.split() == ["run", "log"] for line in out.splitlines())
    rms = next(line.split() for line in out.splitlines() if line.lstrip().startswith("rms_phi"))
    assert float(rms[2]) == pytest.approx(
        Result.load(tmp_path / "out").log_metrics["rms_phi"], rel=1e-3
    )
    assert (tmp_path / "out" / FILE).is_file()
    jumped = log.position["q1"].copy()
    jumped[60:] += 1.0
    bad = written(log._replace(position={**log.position, "q1": jumped}), tmp_path / "bad.csv")
    call[-1] = str(bad)
    code, out, err = ended(capsys, *call, "--log-file", str(table))
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert "position.q1 jumps by" in err


@pytest.mark.parametrize("option", [["--play", "inputs"], ["--log", "time=t"],
                                    ["--log-file", "log.toml"]])  # fmt: skip
def test_options_of_a_log_ask_for_one(option, capsys):
    code, _, err = ended(capsys, "run", HELIX, *option)
    assert code == 2
    assert "--play, --log and --log-file are about a log; give --against LOG, too." in err
