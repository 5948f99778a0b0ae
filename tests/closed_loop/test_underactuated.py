"""Underactuated robots: their models, partial feedback linearisation, swing-up and balance."""

import dataclasses as dc

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from ukctrl import Robot, Scenario, Task, simulate
from ukctrl.control import Baumgarte, Lqr, Servo, SwingUp, Switching, SwitchingMode
from ukctrl.core.errors import GainError, InfeasibleConstraint, InputError
from ukctrl.mechanics.constraints import EnergyFollows, JointFollows
from ukctrl.mechanics.dynamics import Dynamics
from ukctrl.mechanics.reference import Constant
from ukctrl.simulation.result.verdicts import judge

ROUNDING = {"rtol": 0.0, "atol": 1e-11}
NAMES = ("cart_pole", "acrobot", "pendubot", "furuta")
G = 9.81

# Textbook models, written by hand: M(q), the bias C v + g, and V(q), over plain angles.


def two_links(q, v, m1=1.0, m2=1.0, l1=1.0, c1=0.5, c2=1.0, J1=0.083, J2=0.33):
    """Spong 1995, eqs (1)-(10), with angles from hanging."""
    theta1, theta2 = m1 * c1**2 + m2 * l1**2 + J1, m2 * c2**2 + J2
    theta3, theta4, theta5 = m2 * l1 * c2, m1 * c1 + m2 * l1, m2 * c2
    cos, sin = np.cos(q[1]), np.sin(q[1])
    M = np.array(
        [
            [theta1 + theta2 + 2.0 * theta3 * cos, theta2 + theta3 * cos],
            [theta2 + theta3 * cos, theta2],
        ]
    )
    C = theta3 * sin * np.array([[-v[1], -v[1] - v[0]], [v[0], 0.0]])
    second = theta5 * G * np.sin(q[0] + q[1])
    gravity = np.array([theta4 * G * np.sin(q[0]) + second, second])
    V = -theta4 * G * np.cos(q[0]) - theta5 * G * np.cos(q[0] + q[1])
    return M, C @ v + gravity, V


def cart_pole(q, v, mc=0.57, m=0.23, r=0.3302, J=0.00788):
    """Lozano, Fantoni & Block 2000, eqs (2)-(6), with the angle from hanging."""
    cos, sin = np.cos(q[1]), np.sin(q[1])
    M = np.array([[mc + m, m * r * cos], [m * r * cos, J + m * r**2]])
    return M, np.array([-m * r * sin * v[1] ** 2, m * G * r * sin]), -m * G * r * cos


def furuta(q, v, m1=0.095, L=0.085, m=0.024, r=0.0645):
    """Acosta 2010, eqs (8)-(10), with slender rods and the angle from hanging."""
    J1, J = m1 * L**2 / 3.0, m * (2.0 * r) ** 2 / 3.0
    cos, sin = np.cos(q[1]), np.sin(q[1])
    M = np.array([[J1 + m * L**2 + J * sin**2, m * L * r * cos], [m * L * r * cos, J]])
    C = np.array(
        [
            [J * sin * cos * v[1], J * sin * cos * v[0] - m * L * r * sin * v[1]],
            [-J * sin * cos * v[0], 0.0],
        ]
    )
    return M, C @ v + np.array([0.0, m * G * r * sin]), -m * G * r * cos


TEXTBOOK = {"cart_pole": cart_pole, "acrobot": two_links, "pendubot": two_links, "furuta": furuta}
MOTOR = {"cart_pole": 0, "acrobot": 1, "pendubot": 0, "furuta": 0}
UPRIGHT = {"cart_pole": (0.0, np.pi), "acrobot": (np.pi, 0.0), "pendubot": (np.pi, 0.0)}
UPRIGHT["furuta"] = UPRIGHT["cart_pole"]


def upright(robot):
    """The task of a swing-up."""
    return JointFollows(joints=robot.dofs, path=Constant(value=UPRIGHT[robot.name]))


def at(robot, angles):
    return robot.configuration(dict(zip(robot.dofs, angles, strict=True)))


def draw(name, seed):
    rng = np.random.default_rng(seed)
    reach = (0.4, 2.8) if name == "cart_pole" else (2.8, 2.8)
    return rng.uniform(-1.0, 1.0, 2) * reach, rng.uniform(-4.0, 4.0, 2)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("seed", range(5))
def test_the_robot_is_that_of_the_textbook(name, seed):
    robot, (q, v) = Robot.load(name), draw(name, seed)
    s = robot.snapshot(at(robot, q), v)
    M, bias, V = TEXTBOOK[name](q, v)
    thickness = {"rtol": 0.0, "atol": 3e-8} if name == "furuta" else ROUNDING  # 1e-9 kg m^2
    np.testing.assert_allclose(s.M, M, **thickness)
    np.testing.assert_allclose(s.nle, bias, **thickness)
    np.testing.assert_allclose(s.potential_energy() - V, robot_zero(robot), **ROUNDING)
    np.testing.assert_array_equal(s.B[:, 0], np.eye(2)[MOTOR[name]])


def robot_zero(robot):
    """The potential energy that a textbook counts from another height."""
    neutral = np.zeros(2)
    return (
        robot.snapshot(robot.neutral).potential_energy() - TEXTBOOK[robot.name](neutral, neutral)[2]
    )


# Partial feedback linearisation is the servo law on one joint.


def spong(name, joint, q, v, wanted):
    """Spong's law by elimination: the torque that gives one joint the acceleration wanted.

    With the row of the passive joint, M_p a = -h_p, one acceleration follows from the other;
    put into the row of the motor, that is the torque (Spong 1994, IROS, eqs (6)-(9), (16)-(20)).
    """
    M, h, _ = TEXTBOOK[name](q, v)
    motor, passive = MOTOR[name], 1 - MOTOR[name]
    if joint == motor:  # collocated
        bar = M[motor, motor] - M[motor, passive] * M[passive, motor] / M[passive, passive]
        return bar * wanted + h[motor] - M[motor, passive] * h[passive] / M[passive, passive]
    bar = M[motor, passive] - M[motor, motor] * M[passive, passive] / M[passive, motor]
    return bar * wanted + h[motor] - M[motor, motor] * h[passive] / M[passive, motor]


@pytest.mark.parametrize("collocated", [True, False], ids=["collocated", "non-collocated"])
@pytest.mark.parametrize("name", ["cart_pole", "acrobot", "pendubot"])
def test_the_servo_law_on_one_joint_is_spongs_partial_feedback_linearisation(name, collocated):
    robot, (q, v) = Robot.load(name), draw(name, 11)
    joint = MOTOR[name] if collocated else 1 - MOTOR[name]
    servo = (JointFollows(joints=(robot.dofs[joint],), path=Constant(value=(0.3,))),)
    task = Task(robot=robot, servo=servo, q=at(robot, q), v=v)
    law = Servo(feedback=Baumgarte(alpha=6.0, beta=9.0)).start(task)
    u = law.command(0.0, task.q, v).u
    error = np.remainder(q[joint] - 0.3 + np.pi, 2.0 * np.pi) - np.pi
    wanted = -6.0 * v[joint] - 9.0 * error
    np.testing.assert_allclose(u, [spong(name, joint, q, v, wanted)], rtol=1e-11, atol=1e-11)


def test_where_the_coupling_of_the_joints_vanishes_the_law_names_the_row():
    """A cart cannot push a level pole: M_pa = m r cos(pole) = 0, Spong's condition fails."""
    robot = Robot.load("cart_pole")
    servo = (JointFollows(joints=("pole",), path=Constant(value=(np.pi,))),)
    level = at(robot, (0.0, 0.5 * np.pi))
    law = Servo(feedback=Baumgarte(alpha=6.0, beta=9.0)).start(
        Task(robot=robot, servo=servo, q=level, v=np.zeros(2))
    )
    with pytest.raises(InfeasibleConstraint, match=r"'joints\.pole' are out of .* rank 0 of 1"):
        law.command(0.0, level, np.zeros(2))


def test_the_energy_row_has_no_grip_at_rest_and_the_law_names_it():
    robot = Robot.load("acrobot")
    servo = (EnergyFollows(at={"shoulder": np.pi}),)
    task = Task(robot=robot, servo=servo, q=robot.neutral, v=np.zeros(2))
    law = Servo(feedback=Baumgarte(alpha=2.0, beta=0.0)).start(task)
    with pytest.raises(InfeasibleConstraint, match="'energy' are out of the actuators' reach"):
        law.command(0.0, robot.neutral, np.zeros(2))
    moving = np.array([0.3, 0.2])
    command = law.command(0.0, robot.neutral, moving)
    energy = sum(robot.snapshot(robot.neutral, moving).energy()) - 2.5 * G
    # E' = v_elbow u, and E' + 2 (E - E_d) = 0 is asked for.
    np.testing.assert_allclose(command.u * 0.2, [-2.0 * energy], rtol=1e-10)


# Swing-up.


def swing_up(name, **gains):
    robot = Robot.load(name)
    task = Task(robot=robot, servo=(upright(robot),), q=robot.neutral, v=np.zeros(2))
    return SwingUp(**{"alpha": 1.5, "beta": 2.0, **gains}).start(task)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("seed", range(5))
def test_the_swing_up_is_the_law_of_the_textbooks(name, seed):
    """(k_D M^-1 + E~) tau = k_D M^-1 h - k_V v - k_P y, in the rows of the motor."""
    law, (q, v) = swing_up(name), draw(name, seed)
    robot, motor = law.task.robot, MOTOR[name]
    M, h, V = TEXTBOOK[name](q, v)
    _, _, top = TEXTBOOK[name](UPRIGHT[name], np.zeros(2))
    error = 0.5 * v @ M @ v + V - top
    k, inverse = law.weight, np.linalg.inv(M)
    y = q[motor] - UPRIGHT[name][motor]
    left = k * inverse[motor, motor] + error
    right = k * (inverse @ h)[motor] - 1.5 * k * v[motor] - 2.0 * k * y
    tolerance = 1e-4 if name == "furuta" else 1e-10  # the thickness of its rods
    u = law.command(0.0, at(robot, q), v).u
    np.testing.assert_allclose(u, [right / left], rtol=tolerance)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("seed", range(5))
def test_the_swing_up_lowers_its_lyapunov_function_as_it_promises(name, seed):
    law, (q, v) = swing_up(name), draw(name, seed)
    robot, h = law.task.robot, 1e-6
    q = at(robot, q)
    dynamics = Dynamics(robot)
    dynamics.move(0.0, q, v)
    a = dynamics.acceleration(law.step(dynamics, law.memory).u)

    def lyapunov(step):
        there = robot.integrate(q, step * v + 0.5 * step**2 * a)
        dynamics.move(0.0, there, v + step * a)
        return law.signals(dynamics, law.memory)["lyapunov"].value

    rate = (lyapunov(h) - lyapunov(-h)) / (2.0 * h)
    promised = -law.weight * 1.5 * v[MOTOR[name]] ** 2
    np.testing.assert_allclose(rate, promised, rtol=1e-4, atol=1e-7 * lyapunov(0.0))


def test_the_least_weight_is_that_of_xin_and_kaneda():
    """Their eq for the Acrobot: k_D > max (E_r + Phi(q2)) M_11 M_22... , printed as 35.741.

    Sought here on a fine grid of the elbow with E >= -Phi in closed form, g = 9.8.
    """
    elbow = np.linspace(0.0, np.pi, 20_001)
    b1, b2 = 1.5 * 9.8, 9.8
    phi = np.sqrt(b1**2 + b2**2 + 2.0 * b1 * b2 * np.cos(elbow))
    t1, t2, t3 = 1.333, 1.33, 1.0
    det = t1 * t2 - (t3 * np.cos(elbow)) ** 2
    grip = (t1 + t2 + 2.0 * t3 * np.cos(elbow)) / det
    closed_form = float(np.max((b1 + b2 + phi) / grip))
    assert closed_form == pytest.approx(35.741, abs=5e-4)
    robot = Robot.load("acrobot", override={"gravity": (0.0, 0.0, -9.8)})
    task = Task(robot=robot, servo=(upright(robot),), q=robot.neutral, v=np.zeros(2))
    law = SwingUp(alpha=1.0, beta=1.0, margin=2.0).start(task)
    np.testing.assert_allclose(law.weight, 2.0 * closed_form, rtol=1e-6)


def test_at_rest_and_balanced_the_swing_up_says_that_it_will_not_move():
    run = simulate(Scenario.load("acrobot-swing-up", {"start.q": {"shoulder": 0.0}}))
    assert run.status == "infeasible"
    assert "at rest and balanced" in run.message
    assert "start.spread" in run.message


def test_a_task_that_no_robot_rests_in_is_refused():
    robot = Robot.load("acrobot")
    slanted = JointFollows(joints=robot.dofs, path=Constant(value=(2.0, 0.3)))
    task = Task(robot=robot, servo=(slanted,), q=robot.neutral, v=np.zeros(2))
    with pytest.raises(InputError, match="equilibrium without input .* accelerates by"):
        SwingUp(alpha=1.0, beta=1.0).start(task)
    down = JointFollows(joints=robot.dofs, path=Constant(value=(0.0, 0.0)))
    with pytest.raises(InputError, match="it is the lowest one"):
        SwingUp(alpha=1.0, beta=1.0).start(dc.replace(task, servo=(down,)))


def test_more_missing_energy_than_was_weighed_is_named():
    law = swing_up("acrobot", margin=1.0001)
    law.weight *= 0.05
    with pytest.raises(GainError, match="margin must be .* times as large"):
        law.command(0.0, at(law.task.robot, (0.0, 0.0)), np.array([0.0, 0.1]))


# Swing-up, then balance.

SWING_UPS = tuple(f"{name.replace('_', '-')}-swing-up" for name in NAMES)


@pytest.mark.parametrize("name", SWING_UPS)
def test_it_swings_up_from_hanging_and_stays(name):
    check_swing_up(name, {})


def test_it_swings_up_under_a_hold_of_a_millisecond():
    check_swing_up("furuta-swing-up", {"timing.control": 1e-3, "timing.duration": 6.0})


@pytest.mark.slow
@pytest.mark.parametrize("name", SWING_UPS)
def test_every_one_swings_up_under_a_hold_of_a_millisecond(name):
    check_swing_up(name, {"timing.control": 1e-3})


def check_swing_up(name, changes):
    run = simulate(Scenario.load(name, changes))
    assert run.status == "completed"
    assert len(run.switches) == 1
    assert run.metric("settling_time") < 0.6 * run.time[-1]
    last = run.time >= run.time[-1] - 2.0
    assert np.abs(run["phi"][last]).max() < 1e-3
    assert np.abs(run["beta"][last]).max() < 1e-3
    np.testing.assert_array_equal(run["mode"], run.time >= run.switches[0])
    moved = np.ptp(run["energy"])
    assert run.metric("energy_drift") < 1e-6 * moved
    limit = Robot.load(run.scenario["robot"]).effort_limit
    assert (np.abs(run["u"]) <= limit).all()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["cart-pole-swing-up", "acrobot-swing-up"])
def test_a_plain_simulation_with_textbook_equations_gives_the_same_motion(name):
    """Other equations, other integrator (Radau against DOP853), angles instead of (cos, sin)."""
    scenario = Scenario.load(name)
    run = simulate(scenario)
    robot = name.removesuffix("-swing-up").replace("-", "_")
    law = scenario.controller.start(
        Task(robot=Robot.load(robot), servo=scenario.servo, q=at(Robot.load(robot), (0, 0.0)),
             v=np.zeros(2))
    )  # fmt: skip
    swing, balance = law.laws
    model, motor, goal = TEXTBOOK[robot], MOTOR[robot], np.array(UPRIGHT[robot])
    k, gains = swing.weight, scenario.controller.modes[0].law
    K, S = balance.regulator.K[0], balance.regulator.S
    level = scenario.controller.modes[1].enter

    def deviation(x):
        d = x - np.concatenate([goal, np.zeros(2)])
        d[1 - motor] = np.remainder(d[1 - motor] + np.pi, 2.0 * np.pi) - np.pi
        return d

    def rate(balancing):
        def rate(t, x):
            q, v = x[:2], x[2:]
            M, h, V = model(q, v)
            error = 0.5 * v @ M @ v + V - model(goal, np.zeros(2))[2]
            free = -np.linalg.solve(M, h)[motor]
            H = np.linalg.inv(M)[motor, motor] + error / k
            u = -(free + gains.alpha * v[motor] + gains.beta * (q[motor] - goal[motor])) / H
            if balancing:
                u = -K @ deviation(x)
            force = -h
            force[motor] += u
            return np.concatenate([v, np.linalg.solve(M, force)])

        return rate

    def caught(t, x):
        d = deviation(x)
        return d @ S @ d - level

    caught.terminal, caught.direction = True, -1.0
    start = np.zeros(4)
    start[1 - motor] = np.deg2rad(1.0)
    options = {"method": "Radau", "rtol": 1e-9, "atol": 1e-11}
    up = solve_ivp(rate(False), (0.0, 20.0), start, events=caught, dense_output=True, **options)
    held = solve_ivp(
        rate(True), (up.t[-1], run.time[-1]), up.y[:, -1], dense_output=True, **options
    )
    np.testing.assert_allclose(run.switches, [up.t[-1]], rtol=0.0, atol=1e-4)
    other = np.array([(up if t < up.t[-1] else held).sol(t) for t in run.time])
    ours = run["phi"]
    theirs = np.array([deviation(x)[:2] for x in other])
    apart = np.remainder(ours - theirs + np.pi, 2.0 * np.pi) - np.pi
    np.testing.assert_allclose(apart, 0.0, atol=2e-3)
    np.testing.assert_allclose(run["v"], other[:, 2:], atol=2e-2)


# Switching.


def modes(**second):
    first = SwitchingMode(name="swing", law=SwingUp(alpha=1.0, beta=1.0))
    return Switching(modes=(first, SwitchingMode(law=Lqr(), **second)))


def test_a_region_is_left_later_than_it_is_entered():
    with pytest.raises(InputError, match=r"leave must be greater than enter.* got 5 and 10"):
        SwitchingMode(law=Lqr(), enter=10.0, leave=5.0)
    with pytest.raises(InputError, match=r"modes\[1\]\.enter: is missing"):
        modes()
    with pytest.raises(InputError, match="a list of at least 2"):
        Switching(modes=(SwitchingMode(law=Lqr()),))


def test_a_mode_cannot_switch_itself():
    robot = Robot.load("acrobot")
    task = Task(robot=robot, servo=(upright(robot),), q=robot.neutral, v=np.zeros(2))
    nested = Switching(
        modes=(SwitchingMode(law=modes(enter=1.0)), SwitchingMode(law=Lqr(), enter=1.0))
    )
    with pytest.raises(InputError, match=r"modes\[0\]: a mode must be one law"):
        nested.start(task)


def test_what_falls_out_of_the_region_swings_up_again():
    """A push ends the balance; hysteresis hands back, and the swing-up catches it once more."""
    push = {"kind": "push", "joint": "elbow", "effort": 20.0, "start": 7.0, "duration": 0.1}
    run = simulate(Scenario.load("pendubot-swing-up", {"effect": [push]}))
    assert run.status == "completed"
    assert len(run.switches) == 3
    assert 7.0 < run.switches[1] < 7.2
    assert np.abs(run["phi"][-1]).max() < 1e-3


@pytest.mark.parametrize(
    ("duration", "said"), [(0.3, "never left its first mode"), (8.0, "switched once, at t = ")]
)
def test_the_page_tells_whether_the_controller_switched(duration, said):
    run = simulate(Scenario.load("acrobot-swing-up", {"timing.duration": duration}))
    (told,) = [verdict.text for verdict in judge(run) if verdict.subject == "switching"]
    assert said in told
