"""The grip of a row knows no units and no masses, and is lost or weak for all who speak of it."""

from pathlib import Path

import numpy as np
import pytest
from scripts import module_of
from seeds import seeded

from ukctrl import Scenario, check, simulate, uk
from ukctrl.core.algebra.rank_policy import RANK
from ukctrl.core.algebra.solution_checks import violated_rows
from ukctrl.core.errors import InfeasibleConstraint
from ukctrl.mechanics.dynamics import Dynamics
from ukctrl.simulation.assemble import Loop
from ukctrl.simulation.result.verdicts.authority_cost import authority_cost

SCRIPT = Path(__file__).parents[4] / "docs" / "reference" / "grip_table.py"
EXACT = {"rtol": 1e-9, "atol": 0.0}
QUICK = (1e-2, 1e-4, 1e-6, 1e-8, 1e-10, 1e-16)
ROBOTS = ("leak", "rigid", "alike", "coupled")


@pytest.fixture(scope="module")
def sweep():
    return module_of(SCRIPT)


def never_quieter(sweep, name, leaks):
    every = [sweep.said(sweep.ROBOTS[name], leak) for leak in leaks]
    for speaker in ("arrays", "check", "page"):
        loud = [sweep.LOUDNESS[getattr(one, speaker)] for one in every]
        assert loud == sorted(loud), speaker
    for one in every:
        assert (one.arrays == "lost") == bool(np.isnan(one.input)) == (one.run == "infeasible")
        assert (one.arrays == "held") == (one.check == "ready") == (one.page in ("good", "note"))
    text = sweep.PAGE.read_text(encoding="utf-8")
    for line in sweep.table(dict(zip(leaks, every, strict=True))).splitlines():
        assert line in text


SLOWER = [pytest.param(name, marks=pytest.mark.slow) for name in ROBOTS[2:]]


@pytest.mark.slow
@pytest.mark.parametrize("name", [*ROBOTS[:2], *SLOWER])
def test_nobody_grows_quieter_as_a_grip_shrinks(sweep, name):
    never_quieter(sweep, name, QUICK)


@pytest.mark.slow
@pytest.mark.parametrize("name", ROBOTS)
def test_nobody_grows_quieter_at_any_decade(sweep, name):
    never_quieter(sweep, name, sweep.LEAKS)


rng = seeded(10)


def drawn(rng, passive=1):
    X = rng.standard_normal((6, 6))
    M, B, A = X @ X.T + np.eye(6), rng.standard_normal((6, 4)), rng.standard_normal((3, 6))
    A_p = rng.standard_normal((passive, 6))
    return M, B, A, A_p


def test_units_of_rows_motors_and_coordinates_change_no_grip(rng):
    M, B, A, A_p = drawn(rng)
    G = uk.affine_acceleration(M, np.zeros(6), B, A_p, np.zeros(1)).G
    found = uk.input_authority(A, G, M, B)
    rows, motors, coordinates = (10.0 ** rng.uniform(-6, 6, size) for size in (3, 4, 6))
    T = np.diag(coordinates)  # q = T q'
    M_, B_ = T @ M @ T, T @ (B * motors)
    G_ = np.linalg.solve(T, G * motors)
    scaled = uk.input_authority((rows[:, None] * A) @ T, G_, M_, B_)
    np.testing.assert_allclose(scaled.rows, found.rows, rtol=1e-6)
    np.testing.assert_allclose(scaled.weakest, found.weakest, rtol=1e-6)
    assert scaled.row == found.row


def test_grip_is_the_length_of_what_motors_do_along_a_row_by_the_root_of_the_mass(rng):
    M, B, A, A_p = drawn(rng)
    G = uk.affine_acceleration(M, np.zeros(6), B, A_p, np.zeros(1)).G
    values, vectors = np.linalg.eigh(M)
    root = vectors * np.sqrt(values) @ vectors.T
    pushes = np.linalg.solve(root, B)
    rows = np.linalg.solve(root, A.T).T
    N = (A @ G) / np.linalg.norm(rows, axis=1)[:, None] / np.linalg.norm(pushes, axis=0)
    np.testing.assert_allclose(
        uk.input_authority(A, G, M, B).rows, np.linalg.norm(N, axis=1), **EXACT
    )
    span = np.linalg.svd(rows, full_matrices=False)[2]
    together = np.linalg.svd(span @ root @ G / np.linalg.norm(pushes, axis=0))[1][-1]
    np.testing.assert_allclose(uk.input_authority(A, G, M, B).weakest, together, **EXACT)


def test_mixing_rows_changes_no_grip_of_all_together(rng):
    M, B, A, _ = drawn(rng)
    G = np.linalg.solve(M, B)
    mixed = rng.standard_normal((3, 3)) + 3.0 * np.eye(3)
    found, again = uk.input_authority(A, G, M, B), uk.input_authority(mixed @ A, G, M, B)
    np.testing.assert_allclose(again.weakest, found.weakest, rtol=1e-7)


def test_a_light_and_a_heavy_body_each_with_its_motor_are_held():
    M, B = np.diag([1e-9, 1e9]), np.eye(2)
    answer = uk.affine_acceleration(M, np.zeros(2), B)
    np.testing.assert_allclose(uk.input_authority(np.eye(2), answer.G, M, B).rows, 1.0, **EXACT)
    for given in ({}, {"M": M, "B": B}):
        u = uk.servo_input(np.eye(2), [2.0, 3.0], answer.a_free, answer.G, **given)
        np.testing.assert_allclose(u, [2e-9, 3e9], **EXACT)


def test_a_motor_that_closures_hold_has_no_effect_at_all():
    M, A_p = np.array([[2.0, 0.7, 0.0], [0.7, 1.0, 0.0], [0.0, 0.0, 1.0]]), np.eye(2, 3)
    answer = uk.affine_acceleration(M, np.zeros(3), [[1.0], [0.3], [0.0]], A_p, np.zeros(2))
    np.testing.assert_array_equal(answer.G, 0.0)
    with pytest.raises(InfeasibleConstraint, match="turn"):
        uk.servo_input([[1.0, 0.3, 0.2]], [0.01], answer.a_free, answer.G, rows=["turn"])


def test_no_motors_and_no_rows_have_a_grip_too():
    assert (
        uk.input_authority(np.eye(2), np.zeros((2, 0)), np.eye(2), np.zeros((2, 0))).level == "lost"
    )
    assert uk.input_authority(np.zeros((0, 2)), np.eye(2)).level == "held"
    assert uk.input_authority(np.eye(2), np.zeros((2, 3))).weakest == 0.0


def test_rows_that_depend_on_others_are_no_loss_of_grip():
    A = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    assert uk.input_authority(A, np.eye(2), np.eye(2), np.eye(2)).level == "held"


@pytest.mark.parametrize("speed", [0.0, 1e4, 1e8])
def test_a_robot_that_moves_fast_by_itself_excuses_no_miss(speed):
    A, a_free = np.array([[1.0, 1.0, 0.0]]), np.array([speed, -speed, 0.0])
    with pytest.raises(InfeasibleConstraint, match="rank 0 of 1"):
        uk.servo_input(A, [1.0], a_free, [[0.0], [0.0], [1.0]])
    assert violated_rows(A, np.ones(1), a_free, np.ones(1), RANK).all()


def test_a_nearly_lost_row_of_the_direction_of_another_is_rounding_beside_it():
    thrust = np.array([[5e-9, 6e-4, 1.0]]).T @ np.ones((1, 4))
    names = ["x", "y", "z"]
    for turn in np.linspace(0.0, 1e-3, 5):
        G = thrust * (1.0 + turn * 1e-13 * np.arange(4))
        with pytest.raises(InfeasibleConstraint, match="rank 1 of 3"):
            uk.servo_input(np.eye(3), [0.1, 0.1, 0.1], np.zeros(3), G, rows=names)


def scenario(tmp_path, robot, text):
    (tmp_path / "robot.toml").write_text(f'title = "r"\n[lagrangian]\n{robot}', encoding="utf-8")
    path = tmp_path / "task.toml"
    head = 'title = "t"\nrobot = "./robot.toml"\n[timing]\nduration = 0.5\ncontrol = 1e-3\n'
    path.write_text(head + text, encoding="utf-8")
    return Scenario.load(path)


SPRING = (
    'coordinates = { x1 = "m", x2 = "m" }\nkinetic = "v.x1**2/2 + v.x2**2"\n'
    'potential = "25*(x2 - x1)**2"\ninputs = { F = { x1 = 1.0, x2 = LEAK } }\n'
)
FAR = '[[servo]]\nkind = "expression"\nname = "far"\nphi = "x2 - 0.05*sin(t)**2"\n'


@pytest.mark.slow
@pytest.mark.parametrize("leak", [1e-4, 1e-6])
def test_a_leak_is_told_with_its_price_and_a_way_out_that_works(tmp_path, leak):
    robot = SPRING.replace("LEAK", repr(leak))
    law = '[controller]\nuse = "servo-baumgarte"\n'
    found = check(scenario(tmp_path, robot, FAR + law))
    (told,) = [text for text in (*found.problems, *found.warnings) if "weak grip" in text]
    assert "times the weight of what it drives" in told
    assert "the relative degree of the row is 4" in told
    assert "io_linearisation" in told
    other = f'[rank]\nservo = {20.0 * leak}\n[controller]\nuse = "io-linearisation"\n'
    result = simulate(scenario(tmp_path, robot, FAR + other))
    assert result.status == "completed"
    assert np.abs(result["u"]).max() < 10.0  # N: by the leak it would take 2e3 and 2e5


def test_the_price_stands_beside_a_limit_or_else_beside_a_weight():
    names, units, weights = ["a", "b"], ["N m", "N"], np.array([1.0, 10.0])
    limits = np.array([40.0, np.inf])
    told = authority_cost(names, units, np.array([80.0, -50.0]), limits, weights)
    assert told == "the row takes -50 N of motor 'b', 5 times the weight of what it drives"
    told = authority_cost(names, units, np.array([-800.0, 50.0]), limits, weights)
    assert told == "the row takes -800 N m of motor 'a', 20 times its limit of 40"
    assert authority_cost(names, units, np.zeros(2), limits, weights) == ""


def test_check_looks_at_bodies_of_1e_9_kg_and_1e9_kg_each_with_its_motor(tmp_path):
    robot = (
        'coordinates = { x1 = "m", x2 = "m" }\nkinetic = "1e-9*v.x1**2/2 + 1e9*v.x2**2/2"\n'
        "inputs = { F1 = { x1 = 1.0 }, F2 = { x2 = 1.0 } }\n"
    )
    rows = "".join(
        f'[[servo]]\nkind = "expression"\nname = "{x}"\nphi = "{x} - 0.1*t**2"\n'
        for x in ("x1", "x2")
    )
    task = scenario(tmp_path, robot, rows + '[controller]\nuse = "servo-baumgarte"\n')
    found = check(task)
    assert (found.verdict, found.start.grip.rank, found.start.actuation) == ("ready", 2, "fully")
    result = simulate(task)
    assert result.status == "completed"
    np.testing.assert_array_equal(result["rank"], 2.0)


def test_the_rank_policy_of_a_scenario_reaches_its_start(tmp_path):
    robot = 'coordinates = { x = "m", y = "m" }\nkinetic = "v.x**2/2 + v.y**2/2"\n'
    rows = (
        '[[servo]]\nkind = "expression"\nname = "a"\nphi = "x - 1"\n'
        '[[servo]]\nkind = "expression"\nname = "b"\nphi = "x + 1e-2*y - 1 - 1e-2*t"\n'
        '[start]\nsolve = true\n[controller]\nkind = "none"\n'
    )
    robot += "inputs = { F = { x = 1.0 }, G = { y = 1.0 } }\n"
    rows = rows.replace('kind = "none"', 'use = "servo-baumgarte"')
    fine = Loop(scenario(tmp_path, robot, rows)).state
    np.testing.assert_allclose(fine.v, [0.0, 1.0], atol=1e-9)
    loose = Loop(scenario(tmp_path, robot, f"{rows}[rank]\npassive = 0.1\n")).state
    np.testing.assert_allclose(loose.v, 0.0, atol=1e-2)  # the second row counts as the first


def test_firm_is_never_said_of_a_weak_grip(rng):
    loop = Loop(Scenario.load("panda-pose"))
    dynamics: Dynamics = loop.plant
    dynamics.move(loop.t0, loop.state.q, loop.state.v)
    grips = np.zeros(2)
    for weak in 10.0 ** rng.uniform(-5, 0, 20):
        A = rng.standard_normal((2, 7))
        A[1] = A[0] + 10.0 * weak * A[1]
        firm, found = dynamics.firm(A, grips), dynamics.grip(A, ["a", "b"])
        np.testing.assert_allclose(grips, found.rows, **EXACT)
        assert not firm or found.level == "held"
