"""Units and masses decide no rank: of rows, motors, coordinates, bodies, one by one or together."""

import mpmath as mp
import numpy as np
import pytest
from seeds import seeded

from ukctrl import Robot, Scenario, Task, uk
from ukctrl.analysis.linear.equilibria import equilibria
from ukctrl.control.inverse_actuation import FullActuation, InverseActuation
from ukctrl.control.regulators.pole_placement import PolePlacement
from ukctrl.control.regulators.riccati import uncontrollable_mode
from ukctrl.core.algebra import least_norm_input
from ukctrl.core.algebra.column_space import column_space, row_scaled_lstsq
from ukctrl.core.algebra.input_authority import (
    authority_scales,
    controllable_rows,
    surely_full_rank,
)
from ukctrl.core.algebra.multipliers import multipliers
from ukctrl.core.algebra.rank_policy import RANK
from ukctrl.core.errors import InfeasibleConstraint
from ukctrl.mechanics.constraints import Stack
from ukctrl.mechanics.dynamics import Dynamics
from ukctrl.mechanics.relative_degree import relative_degrees, shared_channel_degree
from ukctrl.simulation.assemble import Loop
from ukctrl_papers import motion

EXACT = {"rtol": 1e-8, "atol": 0.0}
DECADES = 6.0


rng = seeded(10)


def units(rng, *sizes):
    """Return random units, some 1e12 apart."""
    return [10.0 ** rng.uniform(-DECADES, DECADES, size) for size in sizes]


def of_rank(rng, m, n, rank):
    return rng.standard_normal((m, rank)) @ rng.standard_normal((rank, n))


# What a matrix spans


@pytest.mark.parametrize("rank", [1, 2, 3])
@pytest.mark.parametrize("decades", [3.0, 6.0])
def test_units_of_rows_and_columns_change_no_rank(rng, rank, decades):
    r, c = (10.0 ** rng.uniform(-decades, decades, size) for size in (3, 5))
    F, K = r[:, None] * rng.standard_normal((3, rank)), rng.standard_normal((rank, 5)) * c
    found, y = column_space(F @ K, c, 1e-9, rows=r), r * rng.standard_normal(3)
    assert found.basis.shape[1] == rank
    with mp.workdps(60):
        f, k = mp.matrix(F.tolist()), mp.matrix(K.tolist())
        near = mp.lu_solve(f.T * f, f.T * mp.matrix(y.tolist()))
        exact = np.array((k.T * mp.lu_solve(k * k.T, near)).tolist(), dtype=float)[:, 0]
    error = np.abs(found.solve(y) - exact).max() / np.abs(exact).max()
    assert error < (1e-8 if decades < 4.0 else 1e-2)  # what is least and near is blurred at 1e12


def test_of_the_units_at_hand_it_is_the_pseudoinverse(rng):
    for rank in (1, 2, 3):
        X, y = of_rank(rng, 3, 5, rank), rng.standard_normal(3)
        ones = np.ones(5)
        np.testing.assert_allclose(
            column_space(X, ones, 1e-9).solve(y),
            np.linalg.pinv(X, rcond=1e-9) @ y,
            rtol=1e-7,
            atol=1e-9,
        )


def test_an_empty_matrix_has_no_directions():
    assert column_space(np.zeros((3, 0)), np.zeros(0)).basis.shape == (3, 0)
    np.testing.assert_array_equal(
        column_space(np.zeros((2, 2)), np.zeros(2), 1e-9).solve(np.ones(2)), 0.0
    )
    np.testing.assert_array_equal(row_scaled_lstsq(np.zeros((3, 0)), np.ones(3)), np.zeros(0))


def test_units_of_rows_change_no_input_on_arrays_and_no_residual(rng):
    H, (r,) = of_rank(rng, 4, 5, 3), units(rng, 4)
    r = np.maximum(r, 1e-11 * r.max())  # beyond, a row of plain arrays is rounding beside others
    d = H @ rng.standard_normal(5)
    u = uk.least_squares_input(H, d)
    np.testing.assert_allclose(uk.least_squares_input(r[:, None] * H, r * d), u, rtol=1e-6)
    assert (np.abs(uk.reach_residual(r[:, None] * H, r * d)) <= 1e-6 * r * np.abs(d).max()).all()
    off = d + np.linalg.svd(H)[0][:, 3]
    assert np.linalg.norm(uk.reach_residual(r[:, None] * H, r * off) / r) > 1e-3


def test_a_matrix_without_grip_leaves_all_of_the_demand():
    np.testing.assert_array_equal(uk.reach_residual(np.zeros((2, 3)), [1.0, -2.0]), [1.0, -2.0])
    np.testing.assert_array_equal(uk.least_squares_input(np.zeros((2, 3)), [1.0, -2.0]), 0.0)


def test_units_of_redundant_rows_change_no_reaction(rng):
    S, F = rng.standard_normal((6, 6)), rng.standard_normal(6)
    L, A, (r,) = np.linalg.cholesky(S @ S.T + np.eye(6)), of_rank(rng, 5, 6, 3), units(rng, 5)
    r = np.maximum(r, 1e-11 * r.max())
    force = A.T @ (A @ F)
    lam = multipliers(L, r[:, None] * A, force, 3)
    np.testing.assert_allclose(
        (r[:, None] * A).T @ lam, force, rtol=0, atol=1e-9 * np.abs(force).max()
    )


def test_units_of_loose_coordinates_change_no_motion(rng):
    (size,) = units(rng, 4)
    M, Q, A = np.diag([1.0, 2.0, 0.0, 0.0]), np.array([1.0, 0.0, 0.0, 0.0]), np.eye(1, 4)
    a = motion.solve(M, Q, A, [0.5], "partitioned", undetermined="least_norm").a
    T = np.diag(size)
    found = motion.solve(T @ M @ T, T @ Q, A @ T, [0.5], "partitioned", undetermined="least_norm").a
    np.testing.assert_allclose(size * found, a, rtol=1e-9, atol=1e-12)


# What motors hold


def drawn(rng, nu=4):
    X = rng.standard_normal((6, 6))
    return X @ X.T + np.eye(6), rng.standard_normal((6, nu)), rng.standard_normal((3, 6))


def held(M, B, A, G):
    L = np.linalg.cholesky(M)
    order = np.arange(len(A))
    return controllable_rows(L, A, G, authority_scales(L, A, B), RANK.servo, order)


@pytest.mark.parametrize("lost", [0, 1, 2])
def test_units_of_rows_motors_and_coordinates_change_no_decision(rng, lost):
    M, B, A = drawn(rng)
    G = np.linalg.solve(M, B)
    if lost:  # rows on which motors do nothing, beside rows that they hold
        free = np.linalg.svd(G.T)[2][4:]
        A[:lost] = rng.standard_normal((lost, 2)) @ free
        A[:lost] += A[2]
    rows, motors, coordinates = units(rng, 3, 4, 6)
    T = np.diag(coordinates)
    M_, B_, A_ = T @ M @ T, T @ (B * motors), (rows[:, None] * A) @ T
    G_ = np.linalg.solve(T, G * motors)
    expected = 3 - lost if lost else 3
    assert held(M, B, A, G) == held(M_, B_, A_, G_) == expected
    b = rng.standard_normal(3)
    if lost:
        with pytest.raises(InfeasibleConstraint):
            uk.servo_input(A, b, np.zeros(6), G, M=M, B=B)
        with pytest.raises(InfeasibleConstraint):
            uk.servo_input(A_, rows * b, np.zeros(6), G_, M=M_, B=B_)
        return
    # Of the inputs that serve the rows, the least in the same units.
    u = uk.servo_input(A, b, np.zeros(6), G, M=M, B=B)
    R = np.diag(motors**2)
    u_ = uk.servo_input(A_, rows * b, np.zeros(6), G_, R=R, M=M_, B=B_)
    np.testing.assert_allclose(motors * u_, u, rtol=1e-6, atol=1e-9)
    plain = uk.servo_input(A_, rows * b, np.zeros(6), G_, M=M_, B=B_)
    np.testing.assert_allclose(A_ @ (G_ @ plain) / rows, b, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("spread", [3.0, 6.0, 7.0])
def test_sums_and_differences_of_a_light_and_a_heavy_body_are_served(spread):
    M, B = np.diag([10.0**-spread, 10.0**spread]), np.eye(2)
    A, G = np.array([[1.0, 1.0], [1.0, -1.0]]), np.linalg.inv(M)
    u = uk.servo_input(A, [5.0, -1.0], np.zeros(2), G, M=M, B=B)  # a = [2, 3]
    np.testing.assert_allclose(u, [2.0 * M[0, 0], 3.0 * M[1, 1]], **EXACT)
    assert uk.input_authority(A, G, M, B).level != "lost"


def test_one_decision_for_all_who_decide(rng):
    for weak in 10.0 ** rng.uniform(-11, -7, 30):
        M, B, A = drawn(rng, nu=3)
        G = np.linalg.solve(M, B)
        across = np.linalg.svd(G.T)[2][3:]  # rows on which motors do nothing
        A[2] = A[0] + 1e-2 * (across[0] + weak * rng.standard_normal(6))
        served = True
        try:
            uk.servo_input(A, [1.0, 1.0, 5.0], np.zeros(6), G, M=M, B=B)
        except InfeasibleConstraint:
            served = False
        assert served == (uk.input_authority(A, G, M, B).level != "lost"), weak


@pytest.mark.parametrize("metric", [False, True])
def test_care_and_haste_give_the_same_input(rng, metric):
    M, B, A = drawn(rng)
    G, L = np.linalg.solve(M, B), np.linalg.cholesky(M)
    S = rng.standard_normal((4, 4))
    R = S @ S.T + np.eye(4) if metric else np.zeros((0, 0))
    length, b, u0 = authority_scales(L, A, B), rng.standard_normal(3), rng.standard_normal(4)
    u, miss, again = np.empty(4), np.empty(3), np.empty(4)
    demand = least_norm_input.ServoProblem(A, b, np.zeros(6), G, L, length.motors, R, u0, 1e-9)
    assert least_norm_input.servo_input(demand, u, miss) == 3
    assert least_norm_input.scaled_input(demand, again, miss) == 3
    np.testing.assert_allclose(again, u, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(miss, 0.0, atol=1e-10)


def test_more_rows_than_a_few_are_judged_together():
    n = 60
    A = np.eye(n)
    A[1] = A[0] + 1e-6 * A[1]
    B = np.eye(n)
    B[:, 1] = B[:, 0] + 1e-6 * B[:, 1]
    found = uk.input_authority(A, B, np.eye(n), B)
    assert (found.rows > 0.5).all()
    assert found.level == "weak"
    assert found.row in ("row 0", "row 1")


def test_rows_that_depend_on_each_other_are_never_firm_by_rounding(rng):
    M, B, _ = drawn(rng, nu=6)
    A = of_rank(rng, 12, 6, 6)
    L, G = np.linalg.cholesky(M), np.linalg.solve(M, B)
    assert surely_full_rank(L, A, G, authority_scales(L, A, B).motors, np.empty(12)) == 0
    assert held(M, B, A, G) == 6
    assert surely_full_rank(L, A[:3], G, authority_scales(L, A, B).motors, np.empty(3)) in (0, 3)


# Robots


def robot(tmp_path, light, heavy, extra="", inputs="F1 = { x1 = 1.0 }, F2 = { x2 = 1.0 }"):
    text = (
        f'title = "r"\n[lagrangian]\ncoordinates = {{ x1 = "m", x2 = "m" }}\n'
        f'kinetic = "{light!r}*v.x1**2/2 + {heavy!r}*v.x2**2/2"\n{extra}inputs = {{ {inputs} }}\n'
    )
    path = tmp_path / "robot.toml"
    path.write_text(text, encoding="utf-8")
    return Robot.load(path)


MASSES = [(1.0, 1.0), (1e-3, 1e3), (1e-9, 1e9)]


@pytest.mark.parametrize(("light", "heavy"), MASSES)
def test_every_motor_reaches_its_own_body(tmp_path, light, heavy):
    plant = robot(tmp_path, light, heavy)
    task = Task(robot=plant, servo=(), q=np.zeros(2), v=np.zeros(2))
    dynamics = Dynamics(plant)
    dynamics.move(0.0, np.zeros(2), np.zeros(2))
    assert dynamics.reached().shape[1] == InverseActuation(task).rank == 2
    wanted = np.array([2.0, 3.0])
    forces = np.array([light, heavy]) * wanted
    np.testing.assert_allclose(dynamics.least_input(wanted), forces, **EXACT)
    np.testing.assert_allclose(FullActuation(task).input(dynamics, forces), forces, **EXACT)


@pytest.mark.parametrize(("light", "heavy"), MASSES)
def test_of_two_motors_on_a_body_each_does_its_share(tmp_path, light, heavy):
    inputs = "F1 = { x1 = 1.0 }, G1 = { x1 = 2.0 }, F2 = { x2 = 1.0 }, G2 = { x2 = 1.0 }"
    plant = robot(tmp_path, light, heavy, inputs=inputs)
    dynamics = Dynamics(plant)
    dynamics.move(0.0, np.zeros(2), np.zeros(2))
    u = dynamics.least_input(np.array([5.0, 2.0]))
    np.testing.assert_allclose(u, [light, 2.0 * light, heavy, heavy], rtol=1e-6)
    task = Task(robot=plant, servo=(), q=np.zeros(2), v=np.zeros(2))
    force = np.array([5.0 * light, 2.0 * heavy])
    np.testing.assert_allclose(FullActuation(task).input(dynamics, force), u, rtol=1e-6)


@pytest.mark.parametrize(("light", "heavy"), MASSES)
def test_poles_are_placed_whatever_bodies_weigh(tmp_path, light, heavy):
    plant = robot(tmp_path, light, heavy)
    task = Task(robot=plant, servo=(), q=np.zeros(2), v=np.zeros(2), start=0.0, duration=1.0)
    law = PolePlacement(settling=1.0, q=(0.0, 0.0)).start(task)
    poles = np.sort_complex(law.poles)
    expected = np.sort_complex(reference(tmp_path))
    np.testing.assert_allclose(poles, expected, rtol=1e-4)


def reference(tmp_path):
    task = Task(
        robot=robot(tmp_path, 1.0, 1.0),
        servo=(),
        q=np.zeros(2),
        v=np.zeros(2),
        start=0.0,
        duration=1.0,
    )
    return PolePlacement(settling=1.0, q=(0.0, 0.0)).start(task).poles


def test_units_of_states_and_inputs_change_no_mode_that_inputs_do_not_move(rng):
    A = rng.standard_normal((5, 5))
    B = rng.standard_normal((5, 2))
    A[4, :4], B[4] = 0.0, 0.0  # the last state goes its own way
    states, inputs = (10.0 ** rng.uniform(-2.5, 2.5, size) for size in (5, 2))
    A_, B_ = A * states / states[:, None], B * inputs / states[:, None]
    for pole in np.linalg.eigvals(A):
        own = abs(pole - A[4, 4]) < 1e-9
        assert (uncontrollable_mode(A, B, pole) is not None) == own
        assert (uncontrollable_mode(A_, B_, pole) is not None) == own


def scenario(tmp_path, light, heavy, rows, extra=""):
    robot(tmp_path, light, heavy, extra)
    tables = "".join(
        f'[[servo]]\nkind = "expression"\nname = "{name}"\nphi = "{phi}"\n' for name, phi in rows
    )
    path = tmp_path / "task.toml"
    path.write_text(
        'title = "t"\nrobot = "./robot.toml"\n[timing]\nduration = 0.1\ncontrol = 1e-3\n'
        f'[start]\nsolve = true\n{tables}[controller]\nuse = "servo-baumgarte"\n',
        encoding="utf-8",
    )
    return Scenario.load(path)


@pytest.mark.parametrize(("light", "heavy"), MASSES)
@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
def test_relative_degrees_are_those_of_the_rows_in_any_unit(tmp_path, light, heavy, unit):
    rows = [("a", f"{unit!r}*(x1 - 0.1*t**2)"), ("b", "x2 - 0.1*t**2")]
    loop = Loop(scenario(tmp_path, light, heavy, rows))
    servo = Stack(loop.scenario.servo, loop.robot)
    state = loop.t0, loop.state.q, loop.state.v
    degrees = relative_degrees(loop.plant, servo, *state)
    assert [one.value for one in degrees] == [2, 2]
    assert (
        shared_channel_degree(loop.plant, servo, *state, degrees) is None
    )  # each has grip of its own
    assert loop.plant.servo_report(servo.write(loop.plant.snapshot).A, servo.names).rank == 2


@pytest.mark.parametrize(("light", "heavy"), [(1.0, 1.0), (1e-6, 1.0), (1e-9, 1.0)])
def test_a_light_spring_hides_no_other_equilibrium(tmp_path, light, heavy):
    extra = 'potential = "5*(x1 - 0.3)**2 + 5*(x2 - 0.2)**2"\n'
    task = scenario(tmp_path, light, heavy, [("a", "x1 - 0.3")], extra)
    rests = equilibria(task, on_task=False, guesses=1)
    assert rests[0].family == 2  # motors hold it anywhere
    path = tmp_path / "robot.toml"
    text = path.read_text(encoding="utf-8").replace("x1 = 1.0 }", "x1 = 0.0 }")
    path.write_text(text.replace("{ x2 = 1.0 }", "{ x2 = 0.0 }"), encoding="utf-8")
    (alone,) = equilibria(Scenario.load(tmp_path / "task.toml"), on_task=False, guesses=1)
    assert alone.family == 0
    np.testing.assert_allclose(alone.point.q, [0.3, 0.2], atol=1e-6)
