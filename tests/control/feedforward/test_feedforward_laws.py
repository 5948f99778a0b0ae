"""Regulators and laws along a motion, on two masses whose linear system is known exactly."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad_vec, solve_ivp
from scipy.linalg import (
    block_diag,
    expm,
    solve_continuous_are,
    solve_continuous_lyapunov,
    solve_discrete_are,
    solve_discrete_lyapunov,
)

from ukctrl import Robot, Task
from ukctrl.control import (
    Baumgarte,
    Feedforward,
    JointMotion,
    Lqi,
    Lqr,
    PolePlacement,
    Servo,
    ServoDae,
    StableInversion,
    Tvlqr,
)
from ukctrl.control.error_dynamics_spec import natural_frequency
from ukctrl.control.feedforward.feedforward_laws import riccati_gains
from ukctrl.control.feedforward.nominal_motion import NominalMotion, simulate_knots
from ukctrl.control.regulators.riccati import discretise_lq
from ukctrl.core.errors import GainError, InputError
from ukctrl.mechanics.constraints import Expression
from ukctrl.mechanics.dynamics import Dynamics
from ukctrl.robot import JointDamper, Lagrangian, Options

CLOSED = {"rtol": 1e-7, "atol": 1e-7}  # through SciPy's Riccati solver
PLANNED = {"rtol": 0.0, "atol": 1e-6}  # a cubic spline over 10 ms
M, D = np.diag([1.7, 0.6]), np.diag([0.0, 0.35])
K = np.array([[4.0 + 9.0, -9.0], [-9.0, 2.5 + 9.0]])
PUSH = np.array([[2.0, 0.3], [0.0, 1.4]])
GOAL = np.array([0.3, -0.2])
Q = np.diag([3.0, 2.0, 0.5, 0.7])
R = np.array([[0.4, 0.1], [0.1, 0.9]])
WEIGHTS = {"Q": tuple(np.diag(Q)), "R": tuple(map(tuple, R.tolist()))}


def masses(unit="m"):
    return Robot.build(
        Lagrangian(
            coordinates={"x": "m", "y": unit},
            kinetic="1.7/2*v.x**2 + 0.6/2*v.y**2",
            potential="2*x**2 + 2.5/2*y**2 + 9/2*(x - y)**2",
            inputs={"F": {"x": 2.0}, "G": {"x": 0.3, "y": 1.4}},
        ),
        Options(force=[JointDamper(joint="y", damping=0.35)]),
        name="masses",
    )


ROBOT = masses()
REST = (Expression(phi=("x - 0.3", "y + 0.2"), unit="m", name="rest"),)
PATH = (Expression(phi=("x - 0.3*sin(2*t)", "y - 0.2*cos(3*t)"), unit="m", name="path"),)
A = np.block([[np.zeros((2, 2)), np.eye(2)], [-np.linalg.solve(M, K), -np.linalg.solve(M, D)]])
B = np.vstack([np.zeros((2, 2)), np.linalg.solve(M, PUSH)])


def task(servo=REST, robot=ROBOT, **given):
    given = {"q": np.array([0.1, 0.2]), "v": np.array([0.3, -0.4]), "start": 0.2, **given}
    return Task(robot=robot, servo=servo, **given)


def state(seed):
    rng = np.random.default_rng(seed)
    return rng.standard_normal(2), rng.standard_normal(2)


def at(law, t, q, v):
    dynamics = Dynamics(law.task.robot)
    dynamics.move(t, q, v)
    return dynamics


def held(A, B, Q, R, h):
    """Return system and cost over a tick with the input held, by quadrature."""
    n, m = B.shape
    F = np.zeros((n + m, n + m))
    F[:n, :n], F[:n, n:] = A, B
    cost = quad_vec(lambda t: expm(t * F).T @ block_diag(Q, R) @ expm(t * F), 0.0, h)[0]
    step = expm(h * F)
    return step[:n, :n], step[:n, n:], cost[:n, :n], cost[n:, n:], cost[:n, n:]


def best(A, B, Q, R, period):
    """Return the gains of a quadratic cost, and what it leaves."""
    if period is None:
        S = solve_continuous_are(A, B, Q, R)
        return np.linalg.solve(R, B.T @ S), S
    A, B, Q, R, N = held(A, B, Q, R, period)
    S = solve_discrete_are(A, B, Q, R, s=N)
    return np.linalg.solve(R + B.T @ S @ B, B.T @ S @ A + N.T), S


def reference(t):
    """Return the path with its rate and acceleration."""
    turn, w = np.array([0.0, np.pi / 2.0]), np.array([2.0, 3.0])
    return [np.array([0.3, 0.2]) * w**k * np.sin(w * t + turn + k * np.pi / 2.0) for k in range(3)]


def driving(t):
    """Return the inputs that make the path."""
    r, r_dot, r_ddot = reference(t)
    return np.linalg.solve(PUSH, M @ r_ddot + D @ r_dot + K @ r)


periods = pytest.mark.parametrize("period", [None, 0.3], ids=["continuous", "held"])


@periods
@pytest.mark.parametrize("q", [None, tuple(GOAL)], ids=["sought", "given"])
def test_lqr_is_its_formula(period, q):
    law = Lqr(**WEIGHTS, q=q).start(task(period=period))
    gains, S = best(A, B, Q, R, period)
    q, v = state(1)
    x = np.concatenate([q - GOAL, v])
    u = np.linalg.solve(PUSH, K @ GOAL) - gains @ x
    np.testing.assert_allclose(law.command(0.7, q, v).u, u, **CLOSED)
    dynamics = at(law, 0.7, q, v)
    np.testing.assert_allclose(law.error(dynamics), x @ S @ x, **CLOSED)
    closed = A - B @ gains
    if period is not None:
        step = expm(period * np.block([[A, B], [np.zeros((2, 6))]]))
        closed = step[:4, :4] - step[:4, 4:] @ gains
    wanted = np.sort_complex(np.linalg.eigvals(closed))
    np.testing.assert_allclose(np.sort_complex(law.poles), wanted, rtol=0.0, atol=1e-6)


@periods
def test_lqr_along_the_joint_motion_of_the_task_measures_from_it(period):
    law = Lqr(**WEIGHTS, follow="task").start(task(PATH, period=period, duration=1.0))
    gains, _ = best(A, B, Q, R, period)
    q, v = state(2)
    r, r_dot, _ = reference(0.7)
    rest = np.linalg.solve(PUSH, K @ reference(0.2)[0])
    u = rest - gains @ np.concatenate([q - r, v - r_dot])
    np.testing.assert_allclose(law.command(0.7, q, v).u, u, **PLANNED)


@periods
def test_lqi_is_its_formula_with_a_row_of_each_kind(period):
    """The integral of a position's error, and of a velocity's that depends on the place."""
    slide = Expression(psi="0.5*v.x + 2*v.y + 0.7*x - 0.21", unit="m/s")
    servo = (Expression(phi="x + 0.4*y - 0.22", unit="m"), slide)
    law = Lqi(**WEIGHTS, Q_integral=(5.0, 8.0), q=tuple(GOAL)).start(task(servo, period=period))
    C = np.array([[1.0, 0.4, 0.0, 0.0], [0.7, 0.0, 0.5, 2.0]])
    wide = np.block([[A, np.zeros((4, 2))], [C, np.zeros((2, 2))]])
    push = np.vstack([B, np.zeros((2, 2))])
    gains, S = best(wide, push, block_diag(Q, np.diag([5.0, 8.0])), R, period)
    (q, v), z = state(3), np.array([0.3, -0.6])
    x = np.concatenate([q - GOAL, v])
    command = law.command(0.7, q, v, z)
    rest = np.linalg.solve(PUSH, K @ GOAL)
    np.testing.assert_allclose(command.u, rest - gains @ np.append(x, z), **CLOSED)
    rate = [q[0] + 0.4 * q[1] - 0.22, 0.5 * v[0] + 2.0 * v[1] + 0.7 * q[0] - 0.21]
    np.testing.assert_allclose(command.memory_rate, rate, **CLOSED)
    np.testing.assert_array_equal(law.memory, np.zeros(2))
    dynamics = at(law, 0.7, q, v)
    np.testing.assert_allclose(law.error(dynamics), x @ S[:4, :4] @ x, **CLOSED)
    integral = law.signals(dynamics, z)["integral"]
    np.testing.assert_array_equal(integral.value, z)
    assert integral.units == ""


def test_the_integrals_of_rows_of_one_unit_have_it():
    law = Lqi(**WEIGHTS).start(task())
    assert law.signals(at(law, 0.2, *state(4)), law.memory)["integral"].units == "m s"


@periods
@pytest.mark.parametrize("damping", [0.4, 1.0, 1.3])
def test_poles_are_placed_where_the_settling_time_and_the_damping_say(period, damping):
    law = PolePlacement(settling=1.6, damping=damping).start(task(period=period))
    w = natural_frequency(1.6, damping)
    root = np.sqrt(complex(damping**2 - 1.0))
    pair = [-damping + root, -damping - root] if damping != 1.0 else [-0.95, -1.05]
    poles = w * np.array([*pair, *pair])  # two motors: two pairs, alike
    system = A, B
    if period is not None:
        step = expm(period * np.block([[A, B], [np.zeros((2, 6))]]))
        poles, system = np.exp(poles * period), (step[:4, :4], step[:4, 4:])
    gains = law.regulator.K
    closed = system[0] - system[1] @ gains
    for found in (np.linalg.eigvals(closed), law.poles):
        wanted = np.poly(poles)
        np.testing.assert_allclose(np.poly(found), wanted, rtol=0.0, atol=1e-7 * abs(wanted).max())
    q, v = state(5)
    x = np.concatenate([q - GOAL, v])
    rest = np.linalg.solve(PUSH, K @ GOAL)
    np.testing.assert_allclose(law.command(0.2, q, v).u, rest - gains @ x, **CLOSED)
    if period is None:
        S = solve_continuous_lyapunov(closed.T, -np.eye(4))
    else:
        S = solve_discrete_lyapunov(closed.T, period * np.eye(4))
    np.testing.assert_allclose(law.error(at(law, 0.2, q, v)), x @ S @ x, rtol=1e-6)


# Along a motion.

ALONG = {
    "inverse kinematics": None,
    "its inversion": JointMotion(step=0.01),
    "a law": Servo(feedback=Baumgarte(alpha=8.0, beta=16.0)),
    "the DAE": ServoDae(step=0.1),
}
along = pytest.mark.parametrize("along", ALONG.values(), ids=ALONG)


@periods
@along
def test_feedforward_is_the_input_of_the_motion_in_the_middle_of_the_tick(period, along):
    law = Feedforward(along=along).start(task(PATH, duration=0.6, period=period))
    q, v = state(6)
    command = law.command(0.4, q, v)
    ahead = 0.0 if period is None else 0.15
    np.testing.assert_allclose(command.u, driving(0.4 + ahead), rtol=0.0, atol=1e-4)
    told = law.signals(at(law, 0.4, q, v), law.memory)
    r, r_dot, _ = reference(0.4)
    np.testing.assert_allclose(told["u_planned"].value, driving(0.4), rtol=0.0, atol=1e-4)
    np.testing.assert_allclose(told["q_planned"].value, r, **PLANNED)
    np.testing.assert_allclose(told["v_planned"].value, r_dot, rtol=0.0, atol=1e-5)
    assert [told[f"{name}_planned"].units for name in "uqv"] == ["N", "m", "m/s"]
    np.testing.assert_array_equal(law.planned_state(0.4)[0], told["q_planned"].value)
    motion = law.planned_motion
    np.testing.assert_array_equal(motion.input(0.4), told["u_planned"].value)
    k = int(np.argmin(abs(motion.times - 0.4)))
    r, r_dot, _ = reference(motion.times[k])
    np.testing.assert_allclose(motion.q[k], r, **PLANNED)
    np.testing.assert_allclose(motion.v[k], r_dot, **PLANNED)


def test_units_of_unlike_coordinates_are_left_out():
    mixed = masses("rad")
    servo = (Expression(phi="x - 0.3*sin(2*t)", unit="m"), Expression(phi="y", unit="rad"))
    law = Feedforward().start(task(servo, mixed, duration=0.1))
    told = law.signals(at(law, 0.2, *state(6)), law.memory)
    assert {told[f"{name}_planned"].units for name in "uqv"} == {""}


def backwards(S, period, after):
    """Return the cost that is left at a time before the end."""
    if period is not None:
        A_d, B_d, Q_d, R_d, N = held(A, B, Q, R, period)
        for _ in range(round(after / period)):
            gains = np.linalg.solve(R_d + B_d.T @ S @ B_d, B_d.T @ S @ A_d + N.T)
            S = Q_d + A_d.T @ S @ A_d - (A_d.T @ S @ B_d + N) @ gains
        return gains

    def rate(_, s):
        S = s.reshape(4, 4)
        return (A.T @ S + S @ A - S @ B @ np.linalg.solve(R, B.T) @ S + Q).ravel()

    S = solve_ivp(rate, (0.0, after), S.ravel(), rtol=1e-11, atol=1e-12).y[:, -1].reshape(4, 4)
    return np.linalg.solve(R, B.T @ S)


FINAL = (9.0, 4.0, 2.0, 6.0)


@pytest.mark.slow(only=["inverse kinematics-0.2-None-final0"])
@pytest.mark.parametrize(
    ("t", "period", "final"),
    [(0.2, None, FINAL), (0.4, None, None), (0.5, 0.1, FINAL), (0.7, 0.1, None)],
)
@along
def test_the_regulator_along_a_motion_is_its_formula(t, period, final, along):
    law = Tvlqr(**WEIGHTS, Q_final=final, along=along)
    law = law.start(task(PATH, duration=0.6, period=period))
    # Where the inputs are free after the end, they are the same before it.
    S = solve_continuous_are(A, B, Q, R) if final is None else np.diag(final)
    gains = backwards(S, period, 0.8 - t)
    q, v = state(7)
    r, r_dot, _ = reference(t)
    u = driving(t + 0.5 * (period or 0.0)) - gains @ np.concatenate([q - r, v - r_dot])
    np.testing.assert_allclose(law.command(t, q, v).u, u, rtol=0.0, atol=2e-4)


def test_between_knots_gains_are_straight_and_beyond_the_ends_those_of_the_ends():
    law = Tvlqr(**WEIGHTS, Q_final=900.0, plan_step=0.05)
    law = law.start(task(PATH, duration=0.6))
    assert len(law.K) == 13
    still = np.zeros(2)

    def gains(t):
        q, v = law.nominal.state(t)
        columns = []
        for k in range(4):
            x = np.eye(4)[k]
            columns.append(law.nominal.input(t) - law.command(t, q + x[:2], v + x[2:] + still).u)
        return np.array(columns).T

    for t, wanted in (
        (0.1, law.K[0]), (0.2, law.K[0]), (0.76, 0.8 * law.K[11] + 0.2 * law.K[12]),
        (0.8, law.K[12]), (0.95, law.K[12]),
    ):  # fmt: skip
        np.testing.assert_allclose(gains(t), wanted, rtol=0.0, atol=1e-9 * np.abs(law.K).max())


def test_gains_of_a_long_step_are_those_of_the_regulator_for_ever():
    """In parts: the exponential over the whole would grow beyond all digits."""
    gains, S = best(A, B, Q, R, None)
    found = riccati_gains([(A, B, Q, R)], 0.1 * S, 500.0, (A, B, Q, R))
    np.testing.assert_allclose(found[0], gains, rtol=0.0, atol=1e-7)
    np.testing.assert_allclose(found[1], 0.1 * gains, **CLOSED)


def test_a_motion_that_crawls_is_given_up_from_one_knot_to_the_next():
    times, law = 0.2 + 0.1 * np.arange(4), ALONG["a law"]
    knots = list(simulate_knots(task(PATH), law, times, max_calls=500.0))
    np.testing.assert_allclose([knot.t for knot in knots], times, **CLOSED)
    for knot in knots:
        r, r_dot, r_ddot = reference(knot.t)
        np.testing.assert_allclose([knot.q, knot.v], [r, r_dot], **PLANNED)
        np.testing.assert_allclose(knot.a, r_ddot, rtol=0.0, atol=1e-5)
        np.testing.assert_allclose(knot.u, driving(knot.t), rtol=0.0, atol=1e-4)
    assert len(list(simulate_knots(task(PATH), law, times, max_calls=5.0))) == 1


def test_a_motion_has_the_knots_that_it_was_asked_for():
    for step, along, knots in (
        (None, None, 61), (0.05, None, 13), (None, ALONG["a law"], 61), (0.05, ALONG["a law"], 13),
        (None, JointMotion(step=0.02), 31),
    ):  # fmt: skip
        law = Feedforward(along=along, plan_step=step).start(task(PATH, duration=0.6))
        assert len(law.nominal.times) == knots
        assert law.nominal.times[0] == 0.2
    growth = [Feedforward(along=one).forgets_growth for one in (*ALONG.values(), StableInversion())]
    assert growth == [False, False, False, False, True]
    with pytest.raises(InputError) as caught:
        Feedforward(along=JointMotion(), plan_step=0.05).start(task(PATH, duration=0.6))
    assert str(caught.value) == (
        "controller.plan_step is for the motion of a law, or of inverse kinematics; give the "
        "inversion its own, such as controller.along.step."
    )


WHEEL = Robot.build("""<robot name="wheel"><link name="base"/>
<link name="disc"><inertial><mass value="1"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="turn" type="continuous"><parent link="base"/><child link="disc"/><axis xyz="0 0 1"/>
</joint></robot>""")


def test_a_motion_is_cubic_between_its_knots_also_round_and_round():
    times = np.array([0.5, 1.0, 1.5, 2.0])
    angle = np.polynomial.Polynomial([0.3, 2.0, -1.5, 0.8])
    rate, bend = angle.deriv(), angle.deriv(2)
    q = np.array([[np.cos(angle(t)), np.sin(angle(t))] for t in times])
    u = (times**3 - 2.0 * times)[:, None]
    motion = NominalMotion(WHEEL, times, q, rate(times)[:, None], bend(times)[:, None], u)
    for t in (0.5, 0.61, 1.0, 1.83, 2.0):
        place, speed = motion.state(t)
        np.testing.assert_allclose(place, [np.cos(angle(t)), np.sin(angle(t))], **CLOSED)
        np.testing.assert_allclose(speed, [rate(t)], **CLOSED)
        np.testing.assert_allclose(motion.input(t), [t**3 - 2.0 * t], **CLOSED)
    for t, end in ((0.1, 0.5), (7.0, 2.0)):
        np.testing.assert_array_equal(motion.state(t)[0], motion.state(end)[0])
        np.testing.assert_array_equal(motion.input(t), motion.input(end))


@pytest.mark.parametrize("corner", [1, 2, 5, 7])
def test_an_input_has_corners_where_it_is_told_and_only_there(corner):
    times = 0.5 + 0.1 * np.arange(9)
    at_corner = times[corner]
    u = np.abs(times - at_corner)[:, None]
    still = np.zeros((9, 1))
    parts = WHEEL, times, np.tile([1.0, 0.0], (9, 1)), still, still, u
    # One at an end is none.
    sharp = NominalMotion(*parts, breaks=(at_corner + 0.004, 0.5, times[-1]))
    for t in (0.53, at_corner - 0.03, at_corner, at_corner + 0.04, 1.28):
        np.testing.assert_allclose(sharp.input(t), [abs(t - at_corner)], **CLOSED)
    near = at_corner + 0.02
    assert abs(NominalMotion(*parts).input(near)[0] - 0.02) > 1e-3


def test_a_cost_over_a_period_that_is_no_number_is_refused():
    A, B = np.array([[0.0, 1.0], [4e5, 0.0]]), np.array([[0.0], [1.0]])
    with pytest.raises(GainError) as caught:
        discretise_lq(A, B, np.eye(2), np.eye(1), 2.0)
    assert str(caught.value) == (
        "the cost over a period of 2 s must be a finite number; with these weights it is not. Take "
        "smaller weights, or a shorter period."
    )
