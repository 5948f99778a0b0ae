"""What linear analysis says in words and tables, and what it finds beyond the motors."""

import json

import numpy as np
import pytest

from ukctrl import Robot, Scenario
from ukctrl.analysis.linear import analyze, linear_plant, unreached_modes, unseen_modes
from ukctrl.analysis.linear.linear_loop import growth_of, idle
from ukctrl.analysis.linear.linear_page import write_analysis
from ukctrl.cli.terminal.analyze_text import analysis_lines, as_table
from ukctrl.cli.terminal.lines import show
from ukctrl.robot import Lagrangian

pytestmark = pytest.mark.portable


def test_a_motor_in_the_middle_does_not_move_what_swings_against_it(plants):
    # Two equal masses on equal springs, pulled by one force that acts on both alike.
    robot = Robot.build(
        Lagrangian(
            coordinates={"x": "m", "y": "m"},
            kinetic="m/2*(v.x**2 + v.y**2)",
            potential="k/2*(x**2 + y**2 + (x - y)**2)",
            parameters={"m": 1.0, "k": 4.0},
            inputs={"F": {"x": 1.0, "y": 1.0}},
        )
    )
    plant = linear_plant(plants.scenario(robot))
    (hidden,) = unreached_modes(plant.A, plant.B, plant.states)
    np.testing.assert_allclose(hidden.pole, 1j * np.sqrt(12.0), atol=1e-6)
    assert hidden.number == 2
    assert "'x'" in hidden.states or "'v.x'" in hidden.states
    assert unseen_modes(plant.A, plant.C, plant.states) == ()


def test_a_row_on_the_difference_of_two_masses_does_not_show_where_they_are():
    found = analyze(Scenario.load("two-mass-spring"))
    (hidden,) = found.unseen
    assert (hidden.pole, hidden.number, found.unreached) == (0.0, 2, ())


def test_a_platform_that_stands_cannot_be_moved_aside():
    found = analyze(Scenario.load("mobile-manipulator"))
    (hidden,) = found.unreached
    assert hidden.pole == 0.0
    assert "'base_vy'" in hidden.states
    assert found.stability == "neutral"
    assert "3 of 19 modes neither grow nor decay" in found.verdict


def test_an_unstable_loop_is_called_so_and_has_no_margins(plants):
    task = plants.held_mass(5.0, 6.0, timing={"duration": 1.0, "control": 0.5})
    found = analyze(task)
    assert (found.stability, found.margins) == ("unstable", ())
    assert found.verdict.startswith("unstable: a mode grows with s = ")


def test_without_a_controller_the_plant_alone_is_looked_at():
    found = analyze(Scenario.load("five-bar-drift"))
    assert (found.loop, found.stability) == (None, None)
    assert "no loop: the scenario has no controller." in found.notes


def test_a_law_out_of_reach_leaves_the_plant_to_look_at():
    found = analyze(Scenario.load("two-mass-spring-far"))
    assert found.loop is None
    assert len(found.plant.poles()) == 4
    assert any("out of the actuators' reach" in note for note in found.notes)


def test_zeros_that_rounding_has_scattered_neither_grow_nor_decay():
    rng = np.random.default_rng(1)
    chain = np.diag(np.ones(3), 1) + 1e-11 * rng.standard_normal((4, 4))
    rates = np.concatenate([np.linalg.eigvals(chain), [-1.0, -2.0 + 1j, -2.0 - 1j]])
    assert np.abs(rates[:4].real).max() > 1e-4
    assert (idle(rates), growth_of(rates)) == (4, 0.0)
    assert growth_of(np.array([0.005, -0.005, -1.0], dtype=complex)) == 0.005


@pytest.mark.parametrize("name", ["scara-helix", "panda-elastic", "five-bar-drift"])
def test_data_and_page_hold_what_was_found(name, tmp_path):
    found = analyze(Scenario.load(name))
    data = as_table(found, (), None, None)
    page = write_analysis(found, data, tmp_path).read_text()
    stored = json.loads((tmp_path / "analysis.json").read_text())
    assert stored["verdict"] == found.verdict
    np.testing.assert_array_equal(stored["plant"]["A"], found.plant.A)
    assert all(motor in page for motor in found.plant.inputs)
    assert (tmp_path / "poles.png").stat().st_size > 1000
    assert ("<h2>Nyquist</h2>" in page) == (found.loop is not None)


def test_the_table_begins_with_the_verdict_and_fits_the_terminal(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    show(analysis_lines(analyze(Scenario.load("scara-helix-bench")), tmp_path))
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("scara-helix-bench: stable at this moment: the slowest mode decays")
    assert max(map(len, lines[:-2])) <= 80
    assert any(line.split()[:1] == ["u2"] for line in lines)
    assert any("effect 'noise' has no linear part" in line for line in lines)
