"""Integral sliding: a PID inside its layer, no harder than its push outside."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from ukctrl import Robot, Scenario, Task, simulate
from ukctrl.control import Baumgarte, IntegralSliding, MomentumObserver, Pid, Sat, Servo, Tanh
from ukctrl.core.errors import InputError
from ukctrl.mechanics.constraints import Expression, LinearVelocity, PointFollows, Stack
from ukctrl.mechanics.dynamics import Dynamics
from ukctrl.mechanics.reference import Constant
from ukctrl.robot import Lagrangian

EXACT = {"rtol": 1e-11, "atol": 1e-11}
INTEGRATED = {"rtol": 0.0, "atol": 1e-9}  # two integrations of tolerance 1e-11
ALPHA, BETA, RATE, FORCE = 8.0, 20.0, 30.0, 5.0
WIDE = IntegralSliding(alpha=ALPHA, beta=BETA, rate=RATE, push=100.0)
Q, V = np.array([-0.5, 0.9, -0.4, 0.1]), np.array([0.3, -0.6, 0.8, 0.2])
UNIT = Robot.build(Lagrangian(coordinates={"x": "m"}, kinetic="v.x**2/2", inputs={"F": {"x": 1.0}}))
PUSHED = {
    "kind": "disturbance", "joint": "x", "effort": FORCE, "frequency": 1e-9, "phase": 0.5 * np.pi,
}  # fmt: skip


def unit_mass(feedback, disturbance=None, **more):
    """A mass of 1 kg that a constant force of 5 N pushes, released beside its place."""
    given = {
        "title": "Held", "robot": UNIT, "servo": (Expression(phi="x"),),
        "controller": Servo(feedback=feedback, disturbance=disturbance),
        "start": {"q": {"x": 0.3}, "v": {"x": -0.5}}, "effect": (PUSHED,),
        "timing": {"duration": 1.5, "sample": 0.1},
        "integrator": {"method": "DOP853", "rtol": 1e-11, "atol": 1e-13},
    }  # fmt: skip
    return simulate(Scenario(**{**given, **more}))


TURN = {"q1": 1.0, "q2": 1.0, "q3": 1.0}


@pytest.fixture(scope="module")
def stack():
    robot = Robot.load("scara")
    servo = (
        PointFollows(frame="tool", path=Constant(value=(0.1, 0.35, 0.1))),
        LinearVelocity(coefficients=TURN, path=Constant(value=(0.1,)), name="turn"),
    )
    return Stack(servo, robot)


@pytest.fixture(scope="module")
def place(stack):
    dynamics = Dynamics(stack.robot)
    dynamics.move(0.0, Q, V)
    return stack.write(dynamics.snapshot), dynamics


@pytest.mark.parametrize("function", [Sat(), Tanh(width=0.4)], ids=lambda f: f.kind)
@pytest.mark.parametrize("push", [0.3, 1e3], ids=["outside", "inside"])
def test_the_demand_is_the_formula(stack, place, function, push):
    rows, dynamics = place
    given = {"alpha": ALPHA, "beta": BETA, "rate": RATE, "push": push, "function": function}
    bound = IntegralSliding(**given).attach(stack)
    begun = bound.begin(0.0, rows)
    memory = begun + np.concatenate([[0.01, -0.02, 0.03, 0.04], np.zeros(4)])
    asked = bound.output(rows, memory, dynamics)
    has = stack.holonomic
    phi = np.where(has, rows.phi, 0.0)
    s = np.where(has, BETA, ALPHA) * memory[:4]  # since the start, where nothing has moved
    wanted = rows.b - ALPHA * rows.beta - BETA * phi - push * function(s * RATE / push)
    np.testing.assert_allclose(asked.demand, wanted, **EXACT)
    np.testing.assert_allclose(bound.demand(rows, memory), wanted, **EXACT)
    rate = np.concatenate([np.where(has, rows.phi, rows.beta), np.zeros(4)])
    np.testing.assert_allclose(asked.memory_rate, rate, **EXACT)
    np.testing.assert_allclose(bound.memory_rate(rows, memory), rate, **EXACT)


def test_inside_of_its_layer_it_asks_for_what_a_pid_does(stack, place):
    rows, dynamics = place
    gains = {"kd": ALPHA + RATE, "kp": BETA + ALPHA * RATE, "ki": BETA * RATE}
    pid = Pid(**gains).attach(stack)
    holonomic = stack.holonomic
    bound = WIDE.attach(stack)
    integral = np.array([0.01, -0.02, 0.03, 0.04])
    memory = np.concatenate([integral, np.zeros(4)])
    asked = bound.output(rows, memory, dynamics).demand[holonomic]
    wanted = pid.demand(rows, integral)[holonomic]
    np.testing.assert_allclose(asked, wanted, **EXACT)
    told = [each.gains for each in bound.error_polynomials(stack)]
    np.testing.assert_allclose(told[0], pid.error_polynomials(stack)[0].gains, **EXACT)
    assert told[3] == (ALPHA * RATE, ALPHA + RATE)  # of the velocity row


def test_its_poles_are_the_nominal_ones_and_the_rate(stack):
    found = WIDE.attach(stack).error_polynomials(stack)
    nominal = np.roots([1.0, ALPHA, BETA])
    np.testing.assert_allclose(
        np.sort(np.real(found[0].poles)), np.sort([*nominal.real, -RATE]), rtol=1e-9
    )
    curved = IntegralSliding(alpha=ALPHA, beta=BETA, rate=RATE, push=1.0, function=Tanh())
    assert curved.attach(stack).error_polynomials(stack) == ()


def test_a_disturbance_observer_of_the_same_rate_makes_the_same_motion():
    """On a unit mass, where the estimate is the push: three names of one law."""
    sliding = unit_mass(WIDE)
    observed = unit_mass(Baumgarte(alpha=ALPHA, beta=BETA), MomentumObserver(bandwidth=RATE))
    np.testing.assert_allclose(sliding["q"], observed["q"], **INTEGRATED)
    np.testing.assert_allclose(sliding["u"], observed["u"], rtol=0.0, atol=1e-7)


@pytest.mark.parametrize("push", [6.0, 100.0])
def test_one_mass_moves_as_the_textbook_says(push):
    def rate(t, y):
        x, v, z = y
        s = v + 0.5 + ALPHA * (x - 0.3) + BETA * z
        w = -ALPHA * v - BETA * x - push * np.clip(s * RATE / push, -1.0, 1.0)
        return [v, w + FORCE, x]

    law = IntegralSliding(alpha=ALPHA, beta=BETA, rate=RATE, push=push)
    run = unit_mass(law)
    exact = solve_ivp(
        rate, (0.0, 1.5), [0.3, -0.5, 0.0], "DOP853", run.time, rtol=1e-11, atol=1e-13
    ).y
    np.testing.assert_allclose(run["q"][:, 0], exact[0], **INTEGRATED)


@pytest.mark.parametrize(("push", "kept"), [(5.5, True), (4.5, False)])
def test_the_surface_stays_in_its_layer_while_the_push_is_above_the_disturbance(push, kept):
    law = IntegralSliding(alpha=ALPHA, beta=BETA, rate=RATE, push=push)
    surface = np.abs(unit_mass(law)["surface"])
    assert surface[0, 0] == 0.0  # no reaching phase
    assert bool(surface.max() <= 1.0) is kept


def test_an_error_at_the_start_decays_by_the_nominal_poles_alone():
    nominal = unit_mass(Baumgarte(alpha=ALPHA, beta=BETA), effect=())
    np.testing.assert_allclose(unit_mass(WIDE, effect=())["q"], nominal["q"], **INTEGRATED)


def test_it_is_started_by_a_servo_law_where_the_rows_are():
    rows = (Expression(phi="x"),)
    law = Servo(feedback=WIDE).start(Task(robot=UNIT, servo=rows, q=np.ones(1), v=np.zeros(1)))
    np.testing.assert_allclose(law.memory, [0.0, ALPHA], **EXACT)


@pytest.mark.parametrize("wrong", [{"rate": 0.0}, {"push": 0.0}, {"push": -1.0}, {"alpha": -1.0}])
def test_gains_out_of_range_are_refused(wrong):
    given = {"alpha": ALPHA, "beta": BETA, "rate": RATE, "push": 1.0}
    with pytest.raises(InputError, match=next(iter(wrong))):
        IntegralSliding(**{**given, **wrong})
