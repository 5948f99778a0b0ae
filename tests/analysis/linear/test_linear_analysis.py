"""What linear analysis says in words and tables, and what it finds beyond the motors."""

import json
from types import SimpleNamespace

import numpy as np
import pytest

from ukctrl import Robot, Scenario
from ukctrl.analysis.linear import analyze, linear_plant, uncontrollable_modes, unobservable_modes
from ukctrl.analysis.linear.linear_analysis import _rest_notes, _verdict
from ukctrl.analysis.linear.linear_law import ActiveSet
from ukctrl.analysis.linear.linear_loop import growth_rate, neutral_count
from ukctrl.analysis.linear.linear_page import write_analysis
from ukctrl.cli.terminal.analyze_text import analysis_data, analysis_lines
from ukctrl.cli.terminal.lines import print_lines
from ukctrl.robot import Lagrangian


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
    (hidden,) = uncontrollable_modes(plant.A, plant.B, plant.states)
    np.testing.assert_allclose(hidden.pole, 1j * np.sqrt(12.0), atol=1e-6)
    assert hidden.number == 2
    assert "'x'" in hidden.states or "'v.x'" in hidden.states
    assert unobservable_modes(plant.A, plant.C, plant.states) == ()


def test_a_mode_without_input_is_named_by_its_pole_and_its_states():
    A = np.diag([-1.0, -2.0, -3.0, 0.5])
    B = np.array([[1.0], [0.0], [1.0], [0.0]])
    grows, decays = uncontrollable_modes(A, B, ["a", "b", "c", "d"])
    assert (grows.number, decays.number, grows.grows, decays.grows) == (1, 1, True, False)
    np.testing.assert_allclose([grows.pole, decays.pole], [0.5, -2.0], rtol=1e-9)
    assert ("'d'" in grows.states, "'b'" in grows.states) == (True, False)
    assert ("'b'" in decays.states, "'d'" in decays.states) == (True, False)
    turned = np.linalg.qr(np.random.default_rng(3).standard_normal((4, 4)))[0]
    found = uncontrollable_modes(turned @ A @ turned.T, turned @ B, ["a", "b", "c", "d"])
    np.testing.assert_allclose([mode.pole for mode in found], [0.5, -2.0], rtol=1e-9)
    seen = unobservable_modes(A, B.T, ["a", "b", "c", "d"])
    assert seen == (grows, decays)


def test_a_row_on_the_difference_of_two_masses_does_not_show_where_they_are():
    found = analyze(Scenario.load("two-mass-spring"))
    (hidden,) = found.unseen
    assert (hidden.pole, hidden.number, found.unreached) == (0.0, 2, ())


@pytest.mark.slow
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
    assert (neutral_count(rates), growth_rate(rates)) == (4, 0.0)
    assert growth_rate(np.array([0.005, -0.005, -1.0], dtype=complex)) == 0.005


@pytest.mark.slow(but=["five-bar-drift"])
@pytest.mark.painted
@pytest.mark.parametrize("name", ["scara-helix", "panda-elastic", "five-bar-drift"])
def test_data_and_page_hold_what_was_found(name, tmp_path):
    found = analyze(Scenario.load(name))
    data = analysis_data(found, (), None, None)
    page = write_analysis(found, data, tmp_path).read_text()
    stored = json.loads((tmp_path / "analysis.json").read_text())
    assert stored["verdict"] == found.verdict
    np.testing.assert_array_equal(stored["plant"]["A"], found.plant.A)
    assert all(motor in page for motor in found.plant.inputs)
    assert (tmp_path / "poles.png").stat().st_size > 1000
    assert ("<h2>Nyquist</h2>" in page) == (found.loop is not None)
    dotted = "gain crossover with the least phase margin, a dashed line half the sampling rate"
    assert (dotted in page) == (found.loop is not None)


@pytest.mark.slow
def test_the_table_begins_with_the_verdict_and_fits_the_terminal(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    print_lines(analysis_lines(analyze(Scenario.load("scara-helix-bench")), tmp_path))
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("scara-helix-bench: stable at this moment: the slowest mode decays")
    assert max(map(len, lines[:-2])) <= 80
    assert any(line.split()[:1] == ["u2"] for line in lines)
    assert any("effect 'noise' has no linear part" in line for line in lines)


NOTHING = ActiveSet()


def stand_in(rates=None, margins=(), unreached=(), moves=False, poles=(), active=NOTHING):
    """Return what an analysis found, as far as its verdict looks at it."""
    plant = SimpleNamespace(
        point=SimpleNamespace(v=np.array([1.0 if moves else 0.0])),
        linear=SimpleNamespace(a=np.zeros(1)),
        poles=lambda: np.array(poles, dtype=complex),
    )
    loop = None
    if rates is not None:
        loop = SimpleNamespace(
            rates=lambda: np.array(rates, dtype=complex), active=active, plant=plant
        )
    return SimpleNamespace(plant=plant, loop=loop, margins=margins, unreached=unreached)


def margin(motor, disk, gain=1.5, phase=20.0):
    return SimpleNamespace(motor=motor, disk=disk, disk_gain=gain, disk_phase=phase)


DECAYS = "the slowest mode decays with 2 1/s"
VERDICTS = [
    ({"poles": [-1.0, 0.5]}, "no loop; of the plant alone a mode grows with 0.5 1/s."),
    ({"poles": [-1.0, 0.0]}, "no loop; of the plant alone no mode grows."),
    (
        {"poles": [-1.0], "moves": True},
        "no loop; of the plant alone no mode grows at this moment.",
    ),
    ({"rates": [-2.0, -3.0]}, f"stable: {DECAYS}."),
    ({"rates": [-2.0, -3.0], "moves": True}, f"stable at this moment: {DECAYS}."),
    (
        {"rates": [-2.0, -3.0], "active": ActiveSet(("wall", "q1.upper"), (("u2", "lower"),))},
        f"stable while 'wall', 'q1.upper' bind; motor 'u2' is at its lower limit: {DECAYS}.",
    ),
    (
        {"rates": [-2.0], "active": ActiveSet((), (), (("u1", "upper"),), (("toe", "slides"),))},
        "stable while motor 'u1' is held at its upper limit by the bench; contact 'toe' slides: "
        f"{DECAYS}.",
    ),
    ({"rates": [-2.0, 0.0, 0.0]}, "neutral: 2 of 3 modes neither grow nor decay."),
    ({"rates": [-2.0, 0.5]}, "unstable: a mode grows with s = 0.5 1/s."),
    (
        {"rates": [-2.0, 0.5 - 2.0j, 0.5 + 2.0j]},
        "unstable: a mode grows with s = 0.5 +- 2j 1/s.",
    ),
    (
        {
            "rates": [0.5],
            "unreached": (
                SimpleNamespace(grows=False, states="'a'"),
                SimpleNamespace(grows=True, states="'b'"),
            ),
        },
        "unstable: a mode grows with s = 0.5 1/s. No motor moves the one in 'b'.",
    ),
    (
        {"rates": [-2.0], "margins": (margin("m1", 0.6), margin("m2", 0.5))},
        f"stable: {DECAYS}; the least disk margin is 0.5 at motor 'm2' (a factor of 1.5, or 20 "
        "deg).",
    ),
    (
        {"rates": [-2.0], "margins": (margin("m1", 0.49),)},
        f"stable: {DECAYS}; the least disk margin is thin, 0.49 at motor 'm1' (a factor of 1.5, or "
        "20 deg).",
    ),
    (
        {"rates": [-2.0], "margins": (margin("m1", 2.0, np.inf, 90.0),)},
        f"stable: {DECAYS}; the least disk margin is 2 at motor 'm1' (any gain, or 90 deg).",
    ),
    (
        {"rates": [-2.0], "margins": (margin("m1", 0.9e-6), margin("m2", 1.0))},
        f"stable: {DECAYS}; motor 'm1' has no margin.",
    ),
    (
        {"rates": [0.0], "margins": (margin("m1", 1e-6),)},
        "neutral: 1 of 1 modes neither grow nor decay; the least disk margin is thin, 1e-06 at "
        "motor 'm1' (a factor of 1.5, or 20 deg).",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("given", "text"), VERDICTS)
def test_what_a_linear_analysis_says_in_a_sentence(given, text):
    assert _verdict(stand_in(**given)) == text


@pytest.mark.parametrize(
    ("v", "a", "text"),
    [
        (0.0, 0.0, []),
        (
            1.0, 0.0,
            [
                "the robot moves here: the poles hold for this moment alone; poles of an "
                "equilibrium hold later too (--at equilibrium)."],
        ),
        (
            0.0, 1.0,
            [
                "the robot is at rest here, but its input accelerates it: the poles hold for "
                "this moment alone."],
        ),
    ],
)  # fmt: skip
def test_poles_of_a_moment_are_told_as_such(v, a, text):
    plant = SimpleNamespace(
        point=SimpleNamespace(v=np.array([v])), linear=SimpleNamespace(a=np.array([a]))
    )
    assert _rest_notes(plant) == text
