"""Laws with modes, laws of any relative degree, and the swing-up: their formulas and refusals."""

from __future__ import annotations

import dataclasses as dc

import numpy as np
import pytest

from ukctrl import Robot, Task
from ukctrl.control import (
    Baumgarte,
    IoLinearisation,
    NoControl,
    Pid,
    Servo,
    SwingUp,
    Switching,
    SwitchingMode,
)
from ukctrl.core.errors import GainError, InfeasibleConstraint, InputError, ShapeError
from ukctrl.mechanics.constraints import Expression, JointFollows
from ukctrl.mechanics.dynamics import Dynamics
from ukctrl.mechanics.reference import Constant
from ukctrl.robot import Functions, JointDamper, Lagrangian, Options

CLOSED = {"rtol": 1e-9, "atol": 1e-9}
MASS, FIELD = 1.7, 4.0
CART = Robot.build(
    Lagrangian(
        coordinates={"x": "m"}, kinetic="1.7/2*v.x**2", potential="2*x**2", inputs={"F": {"x": 2.0}}
    ),
    name="cart",
)
PID, HOLD = Pid(kd=9.0, kp=26.0, ki=24.0), Pid(kd=11.0, kp=50.0, ki=31.0)


def place(goal):
    return (Expression(phi=f"x - {goal}", unit="m", name="place"),)


MODES = (
    SwitchingMode(law=Servo(feedback=PID), servo=place(1.0)),
    SwitchingMode(law=Servo(feedback=Baumgarte(alpha=5.0, beta=7.0)), servo=place(0.5), enter=0.6),
    SwitchingMode(law=Servo(feedback=HOLD), name="hold", enter=0.2, leave=0.3),
)
GOALS = (1.0, 0.5, 0.0)


@pytest.fixture(scope="module")
def switching():
    task = Task(robot=CART, servo=place(0.0), q=np.array([1.2]), v=np.array([0.1]))
    return Switching(modes=MODES).start(task)


def moved(x, v):
    dynamics = Dynamics(CART)
    dynamics.move(0.0, np.array([x]), np.array([v]))
    return dynamics


def sizes(x, v):
    return [np.hypot(x - goal, v) for goal in GOALS]


STATES = [(0.8, 0.3), (0.45, -0.1), (0.02, 0.05), (-3.0, 1.0), (0.15, 0.02)]


@pytest.mark.parametrize(("x", "v"), STATES)
def test_every_mode_gives_its_own_input_and_moves_its_own_memory_alone(switching, x, v):
    z = np.array([0.4, -0.3])
    wanted = [-9.0 * v - 26.0 * (x - 1.0) - 24.0 * z[0], -5.0 * v - 7.0 * (x - 0.5)]
    wanted.append(-11.0 * v - 50.0 * x - 31.0 * z[1])
    rates = [[0.0, x - 1.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, x]]
    for mode, (a, rate) in enumerate(zip(wanted, rates, strict=True)):
        command = switching.step(moved(x, v), np.array([mode, *z]))
        np.testing.assert_allclose(command.u, [(MASS * a + FIELD * x) / 2.0], **CLOSED)
        np.testing.assert_allclose(command.memory_rate, rate, **CLOSED)


@pytest.mark.parametrize(("x", "v"), STATES)
def test_a_mode_ends_where_the_next_begins_or_it_is_left(switching, x, v):
    _, middle, last = sizes(x, v)
    guards = [middle - 0.6, min(last - 0.2, 4.0 * 0.6 - middle), 0.3 - last]
    nexts = [1, 0 if 4.0 * 0.6 - middle < last - 0.2 else 2, 1]
    for mode, (guard, following) in enumerate(zip(guards, nexts, strict=True)):
        memory = np.array([mode, 0.4, -0.3])
        np.testing.assert_allclose(switching.guard(moved(x, v), memory), guard, **CLOSED)
        after = switching.switched(moved(x, v), memory)
        begun = [[1, 0.0, -0.3], [2, 0.4, 0.0]]  # of the mode that begins, the memory is new
        kept = {0: [0, 0.0, -0.3], 1: [1, 0.4, -0.3], 2: begun[1]}
        np.testing.assert_array_equal(after, kept[following])
        assert memory[0] == mode


def test_a_run_begins_in_the_first_mode_with_every_memory_as_it_starts(switching):
    np.testing.assert_array_equal(switching.memory, np.zeros(3))
    assert switching.switches


def test_the_mode_and_the_measure_of_every_region_are_recorded(switching):
    signals = switching.signals(moved(0.8, 0.3), np.array([1.0, 0.4, -0.3]))
    _, middle, last = sizes(0.8, 0.3)
    assert signals["mode"].value == 1.0
    assert signals["mode"].long_name == "mode: 0 servo, 1 servo, 2 hold"
    assert list(signals)[:3] == ["mode", "region_1", "region_2"]
    for number, (value, name) in enumerate([(middle, "servo"), (last, "hold")], 1):
        signal = signals[f"region_{number}"]
        np.testing.assert_allclose(signal.value, value, **CLOSED)
        assert (signal.units, signal.long_name) == ("1", f"measure for {name}")


def test_modes_without_memory_keep_the_number_of_the_mode_alone():
    task = Task(robot=CART, servo=place(0.0), q=np.zeros(1), v=np.zeros(1))
    law = Switching(
        modes=(SwitchingMode(law=NoControl()), SwitchingMode(law=MODES[1].law, enter=0.3))
    ).start(task)
    assert law.memory.tolist() == [0.0]
    assert law.step(moved(0.5, 0.1), np.array([1.0])).memory_rate.tolist() == [0.0]
    signals = law.signals(moved(0.5, 0.1), np.zeros(1))
    assert signals["mode"].long_name == "mode: 0 none, 1 servo"


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (
            lambda: SwitchingMode(law=NoControl(), enter=2.0, leave=2.0),
            "leave must be greater than enter, or the modes hand over to each other for ever; got "
            "2 and 2.0.",
        ),
        (
            lambda: SwitchingMode(law=NoControl(), leave=2.0),
            "leave must be greater than enter, or the modes hand over to each other for ever; got "
            "2 and none.",
        ),
        (
            lambda: Switching(
                modes=(SwitchingMode(law=NoControl()), SwitchingMode(law=NoControl()))
            ),
            "modes[1].enter: is missing.",
        ),
        (
            lambda: Switching(modes=(SwitchingMode(law=NoControl(), enter=1.0),) * 2),
            "modes[0].enter: is for later modes; the first has none.",
        ),
    ],
)
def test_regions_that_hand_over_for_ever_or_are_missing_are_refused(make, says):
    with pytest.raises(InputError) as caught:
        make()
    assert says in str(caught.value)


def test_a_memory_of_another_shape_is_refused_with_what_to_do(switching):
    with pytest.raises(ShapeError) as caught:
        switching.command(0.0, np.zeros(1), np.zeros(1))
    assert str(caught.value) == (
        "memory must have the shape of law.memory, (3,); got (0,). Start with law.memory and add "
        "memory_rate * dt at every tick."
    )


# Rows of any relative degree: a chain of two masses, pushed at its near end, and a third.

SPRING, ROOT = 30.0, np.sqrt(21.0)
CHAIN = Robot.build(
    Lagrangian(
        coordinates={"near": "m", "far": "m", "own": "m"},
        kinetic="1.7/2*v.near**2 + 0.6/2*v.far**2 + 0.9/2*v.own**2",
        potential="15*(near - far)**2 + 2*far**2 + 2.5*own**2",
        inputs={"F": {"near": 2.0, "own": 0.4}, "G": {"own": 1.5}},
    ),
    Options(force=[JointDamper(joint="far", damping=0.35)]),
    name="chain",
)
MASSES = np.array([1.7, 0.6, 0.9])
STIFF = np.array([[30.0, -30.0, 0.0], [-30.0, 34.0, 0.0], [0.0, 0.0, 5.0]])
A = np.block(
    [
        [np.zeros((3, 3)), np.eye(3)],
        [-STIFF / MASSES[:, None], -np.diag([0.0, 0.35, 0.0]) / MASSES[:, None]],
    ]
)
B = np.vstack([np.zeros((3, 2)), np.array([[2.0, 0.0], [0.0, 0.0], [0.4, 1.5]]) / MASSES[:, None]])
QUADRATIC = [1.0, 8.0, 21.0]
ROWS = {
    1: ({"psi": "v.own - 0.3*sin(2*t)", "unit": "m/s"}, (5, 0.3, 2.0), [1.0, ROOT]),
    2: ({"phi": "own - 0.3*sin(2*t)", "unit": "m"}, (2, 0.3, 2.0), QUADRATIC),
    3: (
        {"psi": "v.far - 0.2*sin(3*t)", "unit": "m/s"}, (4, 0.2, 3.0),
        np.polymul(QUADRATIC, [1.0, ROOT]),
    ),
    4: (
        {"phi": "far - 0.2*sin(3*t)", "unit": "m"}, (1, 0.2, 3.0),
        np.polymul(QUADRATIC, QUADRATIC),
    ),
}  # fmt: skip


@pytest.mark.slow(only=["degrees0", "degrees7", "degrees1"])
@pytest.mark.parametrize("degrees", [(1,), (2,), (3,), (4,), (1, 3), (2, 4), (4, 1), (3, 2)])
def test_rows_of_any_degree_obey_their_polynomials_with_the_least_input(degrees):
    rng = np.random.default_rng(len(degrees))
    q, v, t = rng.standard_normal(3), rng.standard_normal(3), 0.4
    rows = tuple(Expression(name=f"row{r}", **ROWS[r][0]) for r in degrees)
    task = Task(robot=CHAIN, servo=rows, q=q, v=v, start=0.1)
    law = IoLinearisation(alpha=8.0, beta=21.0).start(task)
    E, demand, x = [], [], np.concatenate([q, v])
    for r in degrees:
        place, size, w = ROWS[r][1]
        C = np.eye(6)[place]
        path = [size * w**k * np.sin(w * t + k * np.pi / 2.0) for k in range(r + 1)]
        y = [C @ np.linalg.matrix_power(A, k) @ x - path[k] for k in range(r + 1)]
        demand.append(-np.dot(ROWS[r][2], y[::-1]))
        E.append(C @ np.linalg.matrix_power(A, r - 1) @ B)
    u = np.linalg.pinv(E) @ demand
    np.testing.assert_allclose(law.command(t, q, v).u, u, rtol=1e-7, atol=1e-7)
    dynamics = Dynamics(CHAIN)
    dynamics.move(t, q, v)
    signals = law.signals(dynamics, law.memory)
    assert signals["relative_degree"].value.tolist() == list(degrees)
    assert signals["relative_degree"].components == tuple(f"row{r}" for r in degrees)
    assert signals["internal_states"].value == 6 - sum(degrees)


def test_a_row_that_loses_its_input_on_the_way_is_refused_with_the_rank():
    """The product of two positions, of which one is pushed, where the other is zero."""
    robot = Robot.build(
        Lagrangian(
            coordinates={"x": "m", "y": "m"}, kinetic="v.x**2 + v.y**2/2", inputs={"F": {"x": 3.0}}
        ),
        name="plane",
    )
    row = (Expression(phi="x*y - 0.3", name="area"),)
    task = Task(robot=robot, servo=row, q=np.array([0.4, 0.7]), v=np.zeros(2))
    law = IoLinearisation(alpha=2.0, beta=1.0).start(task)
    (x, y), (v, w) = (0.4, 0.7), (0.2, -0.5)
    d = -2.0 * v * w - 2.0 * (v * y + x * w) - (x * y - 0.3)
    u = law.command(0.0, np.array([x, y]), np.array([v, w])).u
    np.testing.assert_allclose(u, [d / y * 2.0 / 3.0], **CLOSED)
    with pytest.raises(InfeasibleConstraint) as caught:
        law.command(0.0, np.array([0.4, 0.0]), np.zeros(2))
    says = "Here the decoupling matrix of their relative degrees, 2, has rank 0: lead the path "
    assert says in str(caught.value)
    assert tuple(caught.value.rows) == ("area",)


# Swing-up.

ACROBOT = Robot.load("acrobot")
UP = (JointFollows(joints=ACROBOT.dofs, path=Constant(value=(np.pi, 0.0))),)


def swing_up(robot=ACROBOT, servo=UP, **gains):
    task = Task(robot=robot, servo=servo, q=robot.neutral, v=np.zeros(robot.nv))
    return SwingUp(**{"alpha": 1.5, "beta": 2.5, **gains}).start(task)


def test_the_swing_up_records_the_energy_that_is_missing_and_what_it_lowers():
    law, rng = swing_up(margin=1.7), np.random.default_rng(0)
    q, v = ACROBOT.random(rng), rng.standard_normal(2)
    dynamics = Dynamics(ACROBOT)
    dynamics.move(0.0, q, v)
    signals = law.signals(dynamics, law.memory)
    missing = sum(ACROBOT.snapshot(q, v).energy()) - sum(ACROBOT.snapshot(law.goal).energy())
    y, rate = ACROBOT.difference(law.goal, q)[1], v[1]
    np.testing.assert_allclose(signals["energy_error"].value, missing, **CLOSED)
    lowered = 0.5 * missing**2 + 0.5 * law.weight * (rate**2 + 2.5 * y**2)
    np.testing.assert_allclose(signals["lyapunov"].value, lowered, **CLOSED)
    assert [signals[name].units for name in ("energy_error", "lyapunov")] == ["J", "J^2"]
    np.testing.assert_allclose(law.weight / swing_up(margin=1.1).weight, 1.7 / 1.1, **CLOSED)


def test_a_margin_that_is_too_small_is_told_how_much_larger_it_must_be():
    law = swing_up(margin=1.0001)
    law.weight *= 0.05
    q, v = ACROBOT.neutral, np.array([0.0, 0.1])
    with pytest.raises(GainError) as caught:
        law.command(0.0, q, v)
    missing = sum(ACROBOT.snapshot(law.goal).energy()) - sum(ACROBOT.snapshot(q, v).energy())
    s = ACROBOT.snapshot(q, v)
    grip = (s.B.T @ np.linalg.solve(s.M, s.B))[0, 0]
    assert str(caught.value) == (
        f"margin must be {missing / grip / law.weight:.4g} times as large, or the input has no "
        f"bound at t = 0 s, where {missing:.3g} J are missing."
    )


TURNED = Robot.build(
    Lagrangian(
        coordinates=["a"], kinetic="v.a**2/2", potential="9*cos(a)", inputs={"u": {"a": "cos(a)"}}
    ),
    name="turned",
)


UNKNOWN = Functions(
    coordinates=["a"], M=lambda q: np.eye(1), nle=lambda q, v: np.array([9.0 * np.sin(q[0])])
)
"""A pendulum whose energy nobody has written down."""


@pytest.mark.parametrize(
    ("robot", "says"),
    [
        (
            TURNED,
            "robot 'turned' must have motors on its joints for kind = \"swing_up\"; its actuation "
            "changes with the configuration.",
        ),
        (
            Robot.build(UNKNOWN, name="unknown"),
            "robot 'unknown' must have a potential energy for kind = \"swing_up\"; it is not "
            "known. Give its plant a potential.",
        ),
    ],
)
def test_a_robot_that_no_energy_swings_up_is_refused(robot, says):
    with pytest.raises(InputError) as caught:
        swing_up(robot, (Expression(phi="a - pi"),))
    assert str(caught.value) == says


def test_a_task_off_balance_is_told_what_accelerates_there():
    slanted = dc.replace(UP[0], path=Constant(value=(np.pi / 2.0, 0.0)))
    goal = ACROBOT.integrate(ACROBOT.neutral, np.array([np.pi / 2.0, 0.0]))
    s = ACROBOT.snapshot(goal)
    a = np.linalg.solve(s.M, -s.nle)
    worst = int(np.argmax(np.abs(a)))
    with pytest.raises(InputError) as caught:
        swing_up(servo=(slanted,))
    assert str(caught.value) == (
        'the task must hold at an equilibrium without input for kind = "swing_up"; there '
        f"'{ACROBOT.dofs[worst]}' accelerates by {abs(a[worst]):.3g} rad/s^2. Ask for the upright "
        "position."
    )
