"""A controller that is handed over answers what the simulated one did, and its files say so."""

from __future__ import annotations

import csv
import dataclasses as dc
import json
import os
import shutil
import subprocess
import sys

import numpy as np
import pytest
from extras import needs

from ukctrl import Command, Controller, Law, Scenario, UkctrlError, simulate, spec
from ukctrl.core.errors import InputError, ShapeError
from ukctrl.core.subprocess_safety import module_path
from ukctrl.robot import Robot
from ukctrl.simulation.assemble.scenario_robots import true_robot
from ukctrl.simulation.export.export_controller import column_units, export_controller, motion_table
from ukctrl.simulation.export.ros_trajectory import driven_joints, joint_trajectory
from ukctrl.simulation.export.runtime import Runtime, replay
from ukctrl.simulation.result.result import Result

CASES = {
    "an integral": ("scara-helix", {"controller.use": "servo-pid"}),
    "an adaptive strength": ("scara-helix", {"controller.use": "servo-adaptive-robust"}),
    "modes": ("cart-pole-swing-up", {}),
    "a closed chain": ("coordinated-arms", {}),
    "a floating base": ("quadrotor-hover", {}),
    "noise, delay and a payload": ("scara-helix-bench", {}),
    "another belief": ("scara-helix", {"believed.mass_scale": 0.8}),
    "seven joints": ("panda-pose", {}),
}


def sampled(name: str, changes: dict[str, object], ticks: int = 60) -> tuple[Scenario, Result]:
    scenario = Scenario.load(name, changes)
    period = scenario.timing.control or 0.001
    timing = {"control": period, "sample": period, "duration": ticks * period}
    scenario = scenario.replace({f"timing.{key}": value for key, value in timing.items()})
    return scenario, simulate(scenario)


def seen(result: Result, quantity: str, otherwise: str) -> np.ndarray:
    return result[quantity] if quantity in result.samples.arrays else result[otherwise]


@pytest.mark.parametrize("case", CASES)
def test_it_returns_the_simulated_inputs_bit_for_bit(case):
    scenario, result = sampled(*CASES[case])
    runtime = Runtime(scenario)
    q, v = seen(result, "q_measured", "q"), seen(result, "v_measured", "v")
    wanted = seen(result, "u_commanded", "u")
    ticks = len(result.time) - 1  # at the end no tick is due
    assert ticks == 60
    for _ in range(2):  # and once more after a restart
        for k in range(ticks):
            u = runtime.step(float(result.time[k]), q[k], v[k])
            assert u.tobytes() == wanted[k].tobytes(), f"tick {k}"
        runtime.restart()


def test_an_own_loop_around_it_moves_the_robot_as_the_simulation_does():
    """The user's side: another library's forward dynamics (Pinocchio's ABA), another integrator."""
    import pinocchio as pin

    scenario, result = sampled("scara-helix", {"integrator": {"method": "RK4", "step": 1e-3}})
    runtime = Runtime(scenario)
    model = runtime.robot.model
    data = model.createData()

    def rate(x, u):
        return np.concatenate([x[4:], pin.aba(model, data, x[:4], x[4:], u)])

    x, h = np.concatenate([runtime.q, runtime.v]), 1e-3
    for k in range(60):
        u = runtime.step(k * h, x[:4], x[4:])
        k1 = rate(x, u)
        k2 = rate(x + 0.5 * h * k1, u)
        k3 = rate(x + 0.5 * h * k2, u)
        k4 = rate(x + h * k3, u)
        x = x + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
    same_motion = 1e-12
    np.testing.assert_allclose(x[:4], result["q"][-1], rtol=0.0, atol=same_motion)


def test_its_step_opens_no_file(monkeypatch):
    scenario, _ = sampled("scara-helix", {}, ticks=2)
    runtime = Runtime(scenario)
    opened = []
    sys.addaudithook(lambda event, args: opened.append(args) if event == "open" else None)
    for k in range(5):
        runtime.step(0.001 * k, runtime.q, runtime.v)
    assert opened == []


def test_it_says_what_is_wrong_with_a_call():
    scenario, _ = sampled("scara-helix", {}, ticks=2)
    runtime = Runtime(scenario)
    with pytest.raises(ShapeError, match="q must have shape"):
        runtime.step(0.0, runtime.q[:3], runtime.v)
    with pytest.raises(InputError, match="q must be finite"):
        runtime.step(0.0, np.full(4, np.nan), runtime.v)
    runtime.step(0.0, runtime.q, runtime.v)
    with pytest.raises(InputError, match="t must grow.*restart"):
        runtime.step(0.0, runtime.q, runtime.v)


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    scenario, result = sampled("scara-helix", {"controller.use": "servo-pid"})
    folder = tmp_path_factory.mktemp("exported")
    return scenario, result, export_controller(scenario, result, folder)


@pytest.mark.slow
def test_every_file_of_the_folder_holds_the_run(exported):
    scenario, result, done = exported
    assert (done.replay.ticks, done.replay.worst) == (60, 0.0)
    assert {path.name for path in done.folder.iterdir()} == set(done.files)
    table = motion_table(result)
    with (done.folder / "motion.csv").open(encoding="utf-8", newline="") as file:
        lines = list(csv.reader(file))
    assert lines[0] == list(table)
    numbers = np.array(lines[1:], dtype=np.float64)
    assert numbers.tobytes() == np.column_stack(list(table.values())).tobytes()
    card = Scenario.load("scara-helix", {"controller.use": str(done.folder / "controller.toml")})
    assert card.controller.feedback == scenario.controller.feedback


@pytest.mark.slow
@needs("pyarrow")
def test_its_parquet_file_holds_the_same_numbers_with_units(exported):
    import pyarrow.parquet as pq

    _, result, done = exported
    table, units = motion_table(result), column_units(result.labels)
    again = pq.read_table(done.folder / "motion.parquet")
    assert again.column_names == list(table)
    for field in again.schema:
        assert field.metadata[b"units"].decode() == units[field.name]
        np.testing.assert_array_equal(again[field.name].to_numpy(), table[field.name])
    assert (units["q.q4"], units["u.u1"]) == ("m", "N m")


@pytest.mark.slow
def test_the_script_of_the_folder_checks_itself_in_another_place(exported, tmp_path):
    folder = shutil.copytree(exported[2].folder, tmp_path / "moved")
    run = subprocess.run(
        [sys.executable, "-P", str(folder / "controller.py")],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": module_path()},
    )
    assert run.stdout.startswith("60 ticks: every input is the simulated one, bit for bit;")


@pytest.mark.parametrize(
    ("name", "changes", "files"),
    [
        ("scara-helix", {}, ["scara/robot.toml", "scara/scara.urdf"]),
        pytest.param(
            "panda-pose", {"believed.mass_scale": 0.9}, ["panda/panda.urdf", "panda/robot.toml"],
            marks=pytest.mark.slow,
        ),
        pytest.param("coordinated-arms", {"robot.title": "arms"},
                     ["coordinated_arms/robot.toml"], marks=pytest.mark.slow),
    ],
)  # fmt: skip
def test_the_folder_carries_the_files_of_its_robot(tmp_path, name, changes, files):
    scenario, result = sampled(name, changes, ticks=10)
    done = export_controller(scenario, result, tmp_path)
    assert done.replay.identical
    copies = [path for path in (tmp_path / "robot").rglob("*") if path.is_file()]
    assert sorted(path.relative_to(tmp_path / "robot").as_posix() for path in copies) == files
    runtime = Runtime.load(tmp_path)
    assert true_robot(runtime.scenario.robot).path.is_relative_to(tmp_path / "robot")
    assert runtime.robot.name == scenario_robot(scenario)
    assert not any("take it along" in note for note in done.notes)


def scenario_robot(scenario):
    """Return how a scenario calls its robot."""
    return scenario.robot if isinstance(scenario.robot, str) else scenario.robot["use"]


MESHES = """
<robot name="slide"><link name="base"/><link name="body">
<visual><geometry><mesh filename="package://slides/meshes/body.obj"/></geometry></visual>
<inertial><mass value="2"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
</link><joint name="x" type="prismatic"><parent link="base"/><child link="body"/><axis xyz="1 0 0"/>
<limit lower="-9" upper="9" effort="99" velocity="9"/></joint></robot>
"""
SLIDE = {
    "slides/package.xml": "<package><name>slides</name></package>",
    "slides/urdf/slide.urdf": MESHES,
    "slides/meshes/body.obj": "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n",
    "slides/robots/robot.toml": 'title = "a slide"\nmodel = "../urdf/slide.urdf"\n',
    "slide.toml": """
title = "a slide follows"
robot = "slides/robots/robot.toml"
controller = { use = "servo-baumgarte" }
timing = { duration = 0.02, control = 0.005, sample = 0.005 }
[[servo]]
kind = "joint_follows"
joints = ["x"]
path = { kind = "expression", components = ["t**2"] }
""",
}


def test_meshes_of_a_package_go_along(tmp_path):
    pytest.importorskip("trimesh")
    for name, text in SLIDE.items():
        path = tmp_path / "work" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    scenario = Scenario.load(tmp_path / "work" / "slide.toml")
    done = export_controller(scenario, simulate(scenario), tmp_path / "out")
    assert done.replay.identical, done
    (tmp_path / "work").rename(tmp_path / "elsewhere")
    robot = Runtime.load(tmp_path / "out").robot
    assert robot.look().notes == ()
    assert "body" in {part.name for part in robot.look().parts}


def test_a_folder_whose_robot_is_missing_or_another_is_no_controller_of_the_run(tmp_path, exported):
    folder = shutil.copytree(exported[2].folder, tmp_path / "moved")
    model = folder / "robot" / "scara" / "scara.urdf"
    text = model.read_text(encoding="utf-8")
    assert '<mass value="' in text
    model.write_text(text.replace('<mass value="', '<mass value="1'), encoding="utf-8")
    assert replay(Runtime.load(folder), folder / "motion.csv").worst > 0.1
    model.unlink()
    with pytest.raises(UkctrlError, match="scara.urdf"):
        Runtime.load(folder)


def test_a_law_that_no_file_names_is_handed_over_with_a_note_that_says_so(tmp_path):
    timing = {"duration": 0.02, "control": 0.005, "sample": 0.005}
    scenario = dc.replace(Scenario.load("scara-helix", {"timing": timing}), controller=Held())
    done = export_controller(scenario, simulate(scenario), tmp_path)
    assert done.replay.identical
    assert any("the folder cannot be read back: " in note for note in done.notes)


@spec
class Held(Controller):
    """A controller of a user's own, in Python."""

    def start(self, task):
        return HeldLaw(task)


class HeldLaw(Law):
    def step(self, dynamics, memory):
        return Command(np.ones(4), np.zeros(0))


def test_a_changed_gain_is_found_by_the_replay(exported, tmp_path):
    scenario, _, done = exported
    other = Runtime(scenario.replace({"controller.feedback.kp": 101.0}))
    start_is_off = 1e-9
    assert replay(other, done.folder / "motion.csv").worst > start_is_off


@needs("yaml")
def test_the_joint_trajectory_is_a_message_that_yaml_reads_back(exported):
    import yaml

    _, result, done = exported
    message = yaml.safe_load((done.folder / "trajectory.yaml").read_text(encoding="utf-8"))
    assert message["joint_names"] == ["q1", "q2", "q3", "q4"]
    points = message["points"]
    assert len(points) == 7  # every ten ticks
    for k, point in enumerate(points):
        sample = 10 * k
        for key, name in (("positions", "q"), ("velocities", "v"), ("accelerations", "a")):
            assert point[key] == result[name][sample].tolist()
        assert point["effort"] == result["u"][sample].tolist()
        at = point["time_from_start"]
        assert at["sec"] * 10**9 + at["nanosec"] == 10_000_000 * k


@pytest.mark.slow
@needs("yaml")
def test_a_continuous_joint_counts_its_turns():
    import yaml

    scenario = Scenario.load("cart-pole-swing-up", {"timing.duration": 4.0})
    result = simulate(scenario)
    block = next(block for block in Robot.load("cart_pole").blocks if block.shape == "circle")
    angles = block.angles(result["q"])[:, 0]
    rates = result["v"][:, block.iv]
    turned = np.concatenate(
        [[0.0], np.cumsum(0.5 * np.diff(result.time) * (rates[1:] + rates[:-1]))]
    )
    trapezium = 0.02  # of rates that change by some 40 rad/s^2 within 0.01 s, over 4 s
    np.testing.assert_allclose(angles - angles[0], turned, atol=trapezium)
    assert [block.name for block in driven_joints(Robot.load("furuta"))] == ["arm"]
    message = yaml.safe_load(joint_trajectory(result, Robot.load("cart_pole")))
    assert message["joint_names"] == ["cart"]


def test_a_controller_without_a_period_is_not_handed_over(tmp_path):
    scenario = Scenario.load("two-mass-spring", {"timing.duration": 0.1})
    with pytest.raises(InputError, match=r"timing\.control and timing\.sample must be equal"):
        export_controller(scenario, simulate(scenario), tmp_path)
    shaky = scenario.replace(
        {
            "timing.control": 0.01,
            "timing.sample": 0.01,
            "effect": [{"kind": "jitter", "bound": 1e-3}],
        }
    )
    with pytest.raises(InputError, match="'jitter' moves the ticks"):
        export_controller(shaky, simulate(shaky), tmp_path)


def test_the_command_hands_over_and_says_whether_it_is_the_same(tmp_path, capsys):
    from ukctrl.cli import main

    arguments = ["export", "two-mass-spring", "--period", "0.002", "--set", "timing.duration=0.1"]
    with pytest.raises(SystemExit) as ended:
        main([*arguments, "--out", str(tmp_path / "here"), "--json"])
    assert ended.value.code == 0
    told = json.loads(capsys.readouterr().out)
    assert told["identical"] is True
    assert told["ticks"] == 50
    assert {path.name for path in (tmp_path / "here").iterdir()} == set(told["files"])
