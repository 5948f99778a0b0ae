"""Large robots are asked for rows first: the input, the acceleration and ``G`` are those of all."""

import dataclasses as dc

import numpy as np
import pytest

from ukctrl import Robot, Scenario, Task, simulate
from ukctrl.control.allocation.least_norm import LeastNorm
from ukctrl.core.algebra import dynamics_kernels, least_norm_input
from ukctrl.core.algebra.adjoint_input import (
    MIN_BLOCKED_ROWS,
    MIN_FREEDOMS,
    PassiveDirections,
    adjoint_input,
    apply_input_by_columns,
    checked_adjoint_input,
    input_response,
)
from ukctrl.core.algebra.dynamics_kernels import AccelerationMap, EquationOfMotion, PassiveRows
from ukctrl.core.algebra.gram_factor import gram_factor_buffers
from ukctrl.core.algebra.gram_input import input_buffers
from ukctrl.mechanics.dynamics import Dynamics

CLOSE = {"rtol": 1e-10, "atol": 1e-10}
SIZE, MOTORS = 30, 20


@pytest.fixture(params=[0, 7], ids=["free", "with passive rows"])
def robot(request):
    """Return the two ways to the answer of one robot: with ``G``, and what comes before it."""
    rng = np.random.default_rng(request.param)
    S, mp = rng.standard_normal((SIZE, SIZE)), request.param
    M, B = S @ S.T + SIZE * np.eye(SIZE), np.zeros((SIZE, MOTORS))
    B[rng.permutation(SIZE)[:MOTORS], np.arange(MOTORS)] = rng.uniform(0.5, 2.0, MOTORS)
    A_p, b_p = rng.standard_normal((mp, SIZE)), rng.standard_normal((2, mp))
    if mp:
        A_p[-1], b_p[:, -1] = A_p[0], b_p[:, 0]  # redundant
    force = np.zeros(SIZE), rng.standard_normal(SIZE)
    L, a_free, a_0, motors = np.zeros((SIZE, SIZE)), *np.zeros((2, SIZE)), np.zeros(MOTORS)
    G, none, margins = np.zeros((SIZE, MOTORS)), np.zeros((SIZE, 0)), np.zeros(2)
    held = PassiveDirections(np.zeros((mp, SIZE)), np.zeros(mp), np.zeros(2, dtype=np.int64))
    pushed, answer = EquationOfMotion(M, *force, B), AccelerationMap(L, a_free, G, motors)
    if mp:
        passive, nowhere = (
            PassiveRows(A_p, b_p, 1e-9, a_0, margins),
            (np.zeros((0, SIZE)), np.zeros(0), gram_factor_buffers(SIZE, mp)),
        )
        assert (
            dynamics_kernels.constrained_acceleration(pushed, passive, answer, *nowhere) == mp - 1
        )
        alone = pushed._replace(B=none), passive, AccelerationMap(L, a_free, none, motors[:0])
        held.ranks[0] = dynamics_kernels.constrained_acceleration(
            *alone, held.Q, held.weight, nowhere[2]
        )
    else:
        assert dynamics_kernels.unconstrained_acceleration(pushed, answer) == 0
    return rng, L, B, held, a_free, G, motors


def test_the_answer_to_motors_can_come_later(robot):
    _, L, B, held, _, G, motors = robot
    later, lengths = np.zeros(G.shape), np.zeros(MOTORS)
    input_response(L, B, held, later, lengths)
    np.testing.assert_array_equal(later, G)
    np.testing.assert_array_equal(lengths, motors)


def test_an_input_is_answered_without_the_answer_to_each(robot):
    rng, L, B, held, a_free, G, _ = robot
    u, a = rng.standard_normal(MOTORS), np.zeros(SIZE)
    places = np.ascontiguousarray(np.argwhere(B))
    assert apply_input_by_columns(L, B, places, held, a_free, u, a)
    np.testing.assert_allclose(a, a_free + G @ u, **CLOSE)
    u[3] = np.inf
    assert not apply_input_by_columns(L, B, places, held, a_free, u, a)


@pytest.mark.slow(only=["free-1"])
@pytest.mark.parametrize("count", [1, MIN_BLOCKED_ROWS - 1, MIN_BLOCKED_ROWS, 12])
def test_the_input_of_rows_first_is_the_least_that_meets_them(robot, count):
    rng, L, B, held, a_free, G, motors = robot
    A, b, u0 = rng.standard_normal((count, SIZE)), rng.standard_normal(count), np.ones(MOTORS)
    A *= 10.0 ** rng.uniform(-4.0, 4.0, (count, 1))  # rows of any unit
    u, miss = np.zeros((2, MOTORS)), np.zeros((2, count))
    none, places = np.zeros((0, 0)), np.ascontiguousarray(np.argwhere(B))
    demand = least_norm_input.ServoProblem(A, b, a_free, G, L, motors, none, u0, 1e-9)
    assert adjoint_input(places, demand, B, held, u[0], miss[0]) == count
    assert least_norm_input.fast_input(demand, u[1], miss[1]) == count
    np.testing.assert_allclose(u[0], u[1], rtol=1e-9, atol=1e-9 * np.abs(u[1]).max())
    np.testing.assert_allclose(A @ (a_free + G @ u[0]), b, rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(miss[0], A @ (a_free + G @ u[0]) - b, atol=1e-8 * np.abs(A).max())


@pytest.mark.parametrize("rows", ["repeated", "almost repeated", "out of reach", "zero"])
def test_rows_that_depend_on_each_other_are_left_to_those_who_take_care(robot, rows):
    rng, L, B, held, a_free, G, motors = robot
    A, b, u0 = rng.standard_normal((4, SIZE)), rng.standard_normal(4), np.zeros(MOTORS)
    if rows == "out of reach":
        A[3] -= G @ np.linalg.lstsq(G, A[3], rcond=None)[0]
    else:
        A[3] = A[2] if rows != "zero" else 0.0
        A[3] += 1e-7 * rng.standard_normal(SIZE) if rows == "almost repeated" else 0.0
    u, miss, places = np.zeros((2, MOTORS)), np.zeros((2, 4)), np.ascontiguousarray(np.argwhere(B))
    own, none = (A, b, a_free), np.zeros((0, 0))
    nobody = least_norm_input.ServoProblem(
        *own, np.zeros((SIZE, 0)), L, np.zeros(0), none, u0, 1e-9
    )
    assert adjoint_input(places, nobody, B, held, u[0], miss[0]) == least_norm_input.UNDECIDED
    code = checked_adjoint_input(places, nobody, B, held, 1e-9, u[0], miss[0])
    desk = input_buffers(4, SIZE, MOTORS, False)
    demand = nobody._replace(G=G, motors=motors)
    assert code == least_norm_input.checked_input(desk, demand, 1e-9, u[1], miss[1])
    np.testing.assert_array_equal(u[0], u[1])


def chain(links):
    """Return a chain of links whose axes take turns, with a tip."""
    parts, axes, length = ['<link name="ground"/>'], ("0 0 1", "0 1 0", "1 0 0"), 2.0 / links
    for i in range(links):
        mass = f'<mass value="{length}"/><inertia ixx="{length**3}" iyy="{length**3}" izz="'
        parts.append(
            f'<link name="link{i}"><inertial><origin xyz="0 0 {length / 2}"/>{mass}{length**3}" '
            f'ixy="0" ixz="0" iyz="0"/></inertial></link><joint name="q{i + 1}" type="continuous">'
            f'<parent link="{f"link{i - 1}" if i else "ground"}"/><child link="link{i}"/>'
            f'<origin xyz="0 0 {length if i else 0.0}"/><axis xyz="{axes[i % 3]}"/></joint>'
        )
    parts.append(
        f'<link name="tip"/><joint name="end" type="fixed"><parent link="link{links - 1}"/>'
        f'<child link="tip"/><origin xyz="0 0 {length}"/></joint>'
    )
    return f'<robot name="chain">{"".join(parts)}</robot>'


SCENARIO = """
title = "the tip of a chain follows a circle"
robot = "chain.urdf"
start = { solve = true, spread = 0.2 }
controller = { kind = "servo", feedback = { kind = "baumgarte", alpha = 20.0, beta = 100.0 } }
timing = { duration = 0.05, sample = 0.01 }
[[servo]]
kind = "point_follows"
frame = "tip"
path = { kind = "circle", center = [0.0, 0.0, 1.0], radius = 0.1, period = 2.0 }
"""


@pytest.mark.parametrize("timing", [{}, {"timing.control": 0.005}, {"believed.mass_scale": 1.1}])
def test_a_run_is_the_same_whether_rows_or_motors_come_first(tmp_path, monkeypatch, timing):
    (tmp_path / "chain.urdf").write_text(chain(MIN_FREEDOMS), encoding="utf-8")
    (tmp_path / "chain.toml").write_text(SCENARIO, encoding="utf-8")
    scenario = Scenario.load(tmp_path / "chain.toml", timing)
    by_rows = simulate(scenario)
    assert by_rows.provenance["loop"] == {"compiled": True, "python": []}
    monkeypatch.setattr("ukctrl.mechanics.dynamics.MIN_FREEDOMS", MIN_FREEDOMS + 1)
    by_motors = simulate(scenario)
    for name in ("q", "u", "rank", "sigma_min", "reach"):
        ours, wanted = by_rows.samples[name], by_motors.samples[name]
        size = 1.0 + np.abs(wanted).max()
        np.testing.assert_allclose(ours, wanted, rtol=1e-7, atol=1e-9 * size)


def test_a_law_reads_the_answer_to_motors_where_its_metric_does(tmp_path):
    (tmp_path / "chain.urdf").write_text(chain(MIN_FREEDOMS), encoding="utf-8")
    (tmp_path / "chain.toml").write_text(SCENARIO, encoding="utf-8")
    scenario = Scenario.load(tmp_path / "chain.toml")
    robot = Robot.load(tmp_path / "chain.urdf")
    inputs = []
    for metric, reads in (
        ("effort", False),
        (tuple(map(tuple, np.eye(MIN_FREEDOMS).tolist())), True),
    ):
        controller = dc.replace(scenario.controller, allocation=LeastNorm(metric=metric))
        q, v = (
            robot.integrate(robot.neutral, np.linspace(0.1, 0.4, MIN_FREEDOMS)),
            np.full(MIN_FREEDOMS, 0.1),
        )
        law = controller.start(Task(robot=robot, servo=scenario.servo, q=q, v=v))
        dynamics = Dynamics(robot)
        assert law.tick(dynamics).steps.reads(dynamics.G, dynamics.motors) == reads
        inputs.append(law.command(0.0, q, v).u)
    np.testing.assert_allclose(*inputs, rtol=1e-9, atol=1e-9 * np.abs(inputs[1]).max())
