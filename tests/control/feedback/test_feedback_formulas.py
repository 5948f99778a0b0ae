"""Feedbacks on rows of both kinds: what they ask for, remember and promise, written out."""

from __future__ import annotations

import dataclasses as dc

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.linalg import expm

from ukctrl import Robot, Task
from ukctrl.control import (
    AdaptiveRobust,
    Arctan,
    Baumgarte,
    ChenRobust,
    Exact,
    FirstOrder,
    Lyapunov,
    Pid,
    Power,
    Servo,
    Sinh,
    Sliding,
    Tanh,
)
from ukctrl.control.error_dynamics_spec import ErrorSpec, natural_frequency
from ukctrl.control.feedback.feedback import BoundFeedback, Feedback
from ukctrl.core.errors import GainError, InfeasibleConstraint, InputError, ShapeError
from ukctrl.core.fields import spec
from ukctrl.mechanics.constraints import Expression, Stack
from ukctrl.mechanics.dynamics import Dynamics
from ukctrl.robot import Lagrangian

CLOSED = {"rtol": 1e-9, "atol": 1e-9}
ROBOT = Robot.build(
    Lagrangian(
        coordinates={"x": "m", "y": "m", "z": "m"},
        kinetic=["1.7/2*v.x**2", "0.6/2*v.y**2", "0.9/2*v.z**2"],
        potential="2*x**2 + 2.5/2*y**2 + 2.5*z**2",
        inputs={"a": {"x": 2.0}, "b": {"y": 1.4, "z": 0.5}, "c": {"z": 0.8, "x": -0.3}},
    ),
    name="masses",
)
SERVO = (
    Expression(phi=("0.4*x + y - 0.2*sin(t)", "x - z**2/2"), unit="m", name="place"),
    Expression(psi="v.x + 2*v.z - 0.3*t", unit="m/s", name="slide"),
)
STACK = Stack(SERVO, ROBOT)
START, T = 0.2, 0.75
HOLONOMIC = np.array([True, True, False])
WEIGHT, LAMBDA = np.array([4.0, 0.25, 9.0]), 3.0
RATE = LAMBDA * HOLONOMIC
P = np.sqrt(WEIGHT)


class Here:
    """A random state, its rows and how they answer inputs."""

    def __init__(self, seed, t=T):
        rng = np.random.default_rng(seed)
        self.t, self.q, self.v = t, rng.standard_normal(3), rng.standard_normal(3)
        (x, y, z), (dx, dy, dz) = self.q, self.v
        self.A = np.array([[0.4, 1.0, 0.0], [1.0, 0.0, -z], [1.0, 0.0, 2.0]])
        self.b = np.array([-0.2 * np.sin(t), dz**2, 0.3])
        self.phi = np.array([0.4 * x + y - 0.2 * np.sin(t), x - z**2 / 2.0, 0.0])
        self.beta = np.array(
            [0.4 * dx + dy - 0.2 * np.cos(t), dx - z * dz, dx + 2.0 * dz - 0.3 * t]
        )
        self.dynamics = Dynamics(ROBOT)
        self.dynamics.move(t, self.q, self.v)
        self.rows = Stack(SERVO, ROBOT).write(self.dynamics.snapshot)
        self.z = P * (self.beta + RATE * self.phi)
        self.size, self.place = np.linalg.norm(self.z), np.linalg.norm(P * self.phi)

    @property
    def task(self):
        return Task(robot=ROBOT, servo=SERVO, q=self.q, v=self.v, start=START)


seeds = pytest.mark.parametrize("seed", range(3))
KD, KP, KI = (5.0, 7.0, 3.0), (6.0, 11.0, 99.0), (2.0, 1.5, 0.7)
LINEAR = {
    "exact": (Exact(), 0.0, 0.0, 0.0),
    "baumgarte": (Baumgarte(alpha=KD, beta=KP), KD, KP, 0.0),
    "pid": (Pid(kd=KD, kp=KP, ki=KI), KD, KP, KI),
    "first order": (FirstOrder(kappa=KD), KD, 0.0, 0.0),
}


@seeds
@pytest.mark.parametrize("name", LINEAR)
def test_linear_feedbacks_are_their_equations(name, seed):
    """On a velocity's row the stiffness has no part, and the integral is the error's own."""
    feedback, *gains = LINEAR[name]
    kd, kp, ki = (np.broadcast_to(gain, 3) for gain in gains)
    at, bound = Here(seed), feedback.attach(STACK)
    memory = np.array([0.3, -0.2, 0.5]) if ki.any() else np.zeros(0)
    assert bound.memory.shape == memory.shape
    asked = bound.output(at.rows, memory, at.dynamics)
    past = ki * memory if ki.any() else 0.0
    demand = at.b - kd * at.beta - kp * at.phi - past
    np.testing.assert_allclose(asked.demand, demand, **CLOSED)
    rate = np.where(HOLONOMIC, at.phi, at.beta) if ki.any() else np.zeros(0)
    np.testing.assert_allclose(asked.memory_rate, rate, **CLOSED)
    assert (asked.share, asked.rows is at.rows) == (1.0, True)
    for i, each in enumerate(bound.error_polynomials(STACK)):
        wanted = [ki[i], kp[i], kd[i]] if ki.any() else [kp[i], kd[i]]
        if not HOLONOMIC[i]:
            wanted.remove(kp[i])
        assert (each.row, each.integral) == (STACK.names[i], bool(ki.any()))
        np.testing.assert_allclose(each.gains, wanted, **CLOSED)
        np.testing.assert_allclose(np.poly(each.poles), [1.0, *wanted[::-1]], **CLOSED)


def test_an_integral_that_makes_an_error_grow_is_refused_by_its_row():
    """By Routh and Hurwitz; a velocity's row has no such bound."""
    with pytest.raises(GainError) as caught:
        Pid(kd=(5.0, 7.0, 1.0), kp=(6.0, 2.0, 0.0), ki=(29.0, 14.0, 90.0)).attach(STACK)
    assert str(caught.value) == (
        "kd * kp must be greater than ki for a stable error; got 7 * 2 and 14 on row "
        f"'{STACK.names[1]}'."
    )
    Pid(kd=(5.0, 7.0, 1.0), kp=(6.0, 2.0, 0.0), ki=(29.0, 13.9, 90.0)).attach(STACK)


def error(A, x, t, place):
    return (expm(np.array(A) * t) @ x)[place]


@pytest.mark.parametrize("damping", [0.05, 0.4, 1.0, 1.7, 10.0])
def test_gains_settle_in_the_time_that_was_asked_for(damping):
    """At that time the error released at rest is 2 % of what it was, and never again above."""
    w = natural_frequency(1.5, damping)
    second = [[0.0, 1.0], [-w * w, -2.0 * damping * w]]
    kp, ki, kd = ErrorSpec(settling=1.5, damping=damping).third_order()
    third = [[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [-ki, -kp, -kd]]
    pole = natural_frequency(1.5, damping, 3)
    wanted = np.polymul([1.0, 2.0 * damping * pole, pole**2], [1.0, pole])
    np.testing.assert_allclose([1.0, kd, kp, ki], wanted, **CLOSED)
    for A, x, place in ((second, [1.0, 0.0], 0), (third, [0.0, 1.0, 0.0], 1)):
        assert abs(error(A, x, 1.5, place)) == pytest.approx(0.02, rel=1e-6)
        after = np.linspace(1.5 + 1e-6, 9.0, 400)
        assert max(abs(error(A, x, t, place)) for t in after) < 0.02
    told = Servo(feedback=Baumgarte(alpha=1.0, beta=1.0)).gains_for(
        ErrorSpec(settling=1.5, damping=damping), lambda: None
    )
    assert told == {"feedback.alpha": 2.0 * damping * w, "feedback.beta": w * w}
    told = Servo(feedback=Pid(kp=2.0, ki=1.0, kd=2.0)).gains_for(
        ErrorSpec(settling=1.5, damping=damping), lambda: None
    )
    assert told == {"feedback.kp": kp, "feedback.ki": ki, "feedback.kd": kd}
    told = Servo(feedback=FirstOrder(kappa=1.0)).gains_for(
        ErrorSpec(settling=1.5, damping=damping), lambda: None
    )
    np.testing.assert_allclose(np.exp(-1.5 * told["feedback.kappa"]), 0.02, **CLOSED)
    assert (
        Servo(feedback=Exact()).gains_for(ErrorSpec(settling=1.5, damping=damping), lambda: None)
        is None
    )


@pytest.mark.parametrize(
    ("settling", "damping", "says"),
    [
        (0.0, 1.0, "the settling time must be positive; got 0 s."),
        (np.inf, 1.0, "the settling time must be positive; got inf s."),
        (1.0, 0.049, "the damping ratio must be from 0.05 to 10; got 0.049."),
        (1.0, 10.1, "the damping ratio must be from 0.05 to 10; got 10.1."),
    ],
)
def test_wishes_out_of_range_are_refused(settling, damping, says):
    with pytest.raises(InputError) as caught:
        natural_frequency(settling, damping)
    assert str(caught.value) == says


# A user's own feedback: its equation, as its demands tell.


class Own(BoundFeedback):
    def __init__(self, demand, memory=0, rate=None):
        self.memory, self._demand = np.zeros(memory), demand
        self._rate = rate or (lambda rows, memory: np.zeros(len(memory)))

    def demand(self, rows, memory):
        return self._demand(rows, memory)

    def memory_rate(self, rows, memory):
        return self._rate(rows, memory)


def integrals(rows, memory):
    return np.where(HOLONOMIC, rows.phi, rows.beta)


def linear(rows, memory):
    past = 3.0 * memory if len(memory) else 0.0
    return rows.b - 4.0 * rows.beta - 9.0 * np.nan_to_num(rows.phi) - past


@pytest.mark.parametrize(
    ("bound", "gains"),
    [
        (Own(linear), [(9.0, 4.0), (9.0, 4.0), (4.0,)]),
        (Own(linear, 3, integrals), [(3.0, 9.0, 4.0), (3.0, 9.0, 4.0), (3.0, 4.0)]),
        (Own(linear, 2), []),
        (Own(linear, 3), []),
        (Own(linear, 3, lambda rows, memory: 2.0 * integrals(rows, memory)), []),
        (Own(linear, 3, lambda rows, memory: integrals(rows, memory) + memory), []),
        (Own(linear, 3, lambda rows, memory: np.zeros(2)), []),
        (Own(lambda rows, memory: rows.b - rows.beta**3), []),
        (Own(lambda rows, memory: rows.b - np.sinh(rows.beta)), []),
        (Own(lambda rows, memory: rows.b - rows.beta[::-1]), []),
        (Own(lambda rows, memory: (rows.b - rows.beta)[:2]), []),
    ],
    ids=[
        "linear", "integral", "half a memory", "idle memory", "twice the integral", "leaky",
        "wrong rate", "cubic", "saturating", "mixed rows", "wrong shape",
    ],
)  # fmt: skip
def test_the_equation_of_a_users_own_feedback_is_measured_or_not_claimed(bound, gains):
    found = bound.error_polynomials(STACK)
    assert len(found) == len(gains)
    for each, wanted in zip(found, gains, strict=True):
        np.testing.assert_allclose(each.gains, wanted, rtol=1e-7)
        assert each.integral == bool(len(bound.memory))


def test_a_demand_of_another_shape_is_refused_by_the_name_of_the_feedback():
    at = Here(0)
    with pytest.raises(ShapeError) as caught:
        Own(lambda rows, memory: 1.0 + np.zeros(1)).output(at.rows, np.zeros(0), at.dynamics)
    assert str(caught.value) == ("feedback 'Own' must return a demand of shape (3,); got (1,).")


# Robust feedbacks.


def decayed(radius, speed, start, after):
    return radius + max(0.0, start - radius) * np.exp(-speed * after)


def convolved(radius, speed, start, phi, after):
    """Return the bound of the position: that of the surface, through 1/(s + lambda)."""
    part, _ = quad(
        lambda x: np.exp(-LAMBDA * (after - x)) * decayed(radius, speed, start, x), 0.0, after
    )
    return phi * np.exp(-LAMBDA * after) + part


def kept(promise, at, radius, speed, start, phi):
    after = T - START
    wanted = (
        at.size, decayed(radius, speed, start, after),
        at.place, convolved(radius, speed, start, phi, after),
    )  # fmt: skip
    np.testing.assert_allclose(promise, wanted, rtol=1e-8)


CHEN = ChenRobust(
    kappa=6.0, rate=LAMBDA, rho=(2.0, 0.5, 0.1), epsilon=0.3, mismatch=0.2, weight=tuple(WEIGHT)
)
ADAPTIVE = AdaptiveRobust(
    kappa=6.0, rate=LAMBDA, growth=50.0, leak=0.7, epsilon=0.3, profile=(1.5, 0.4, 0.2),
    initial=0.6, mismatch=0.2, supposed=1.1, weight=tuple(WEIGHT),
)  # fmt: skip


@seeds
@pytest.mark.parametrize("epsilon", [0.3, 1e3], ids=["outside the layer", "inside it"])
def test_chens_law_is_its_formula_on_rows_of_both_kinds(seed, epsilon):
    at, law = Here(seed), dc.replace(CHEN, epsilon=epsilon)
    bound, begun = law.attach(STACK), Here(seed + 10, START)
    memory = bound.begin(START, begun.rows)
    np.testing.assert_allclose(memory, [START, begun.size, begun.place], **CLOSED)
    speed = np.linalg.norm(at.v)
    rho = (2.0 + 0.5 * speed + 0.1 * speed**2) / 0.8
    push = 6.0 * at.z + rho**2 * at.z / max(rho * at.size, epsilon)
    asked = bound.output(at.rows, memory, at.dynamics)
    np.testing.assert_allclose(asked.demand, at.b - RATE * at.beta - push / P, **CLOSED)
    np.testing.assert_array_equal(asked.memory_rate, np.zeros(3))
    radius = np.sqrt(epsilon / 24.0)
    promise = bound.promise(T, at.rows, memory)
    kept(promise, at, radius, 6.0 * 0.8, begun.size, begun.place)
    np.testing.assert_allclose(law.promised().position_radius, radius / LAMBDA, **CLOSED)
    assert dc.replace(law, rate=0.0).promised().position_radius == np.inf
    told = bound.signals(at.rows, memory, at.dynamics)
    names = ("surface_error", "surface_bound", "position_error", "position_bound")
    np.testing.assert_array_equal([told[name].value for name in names], promise)
    assert {told[name].units for name in names} == {"1"}  # rows are weighed


def test_without_weights_errors_have_the_rows_own_units():
    plain = dc.replace(CHEN, weight=1.0).attach(STACK)
    assert plain.units == ("m/s", "m")
    turn = Expression(phi="y", unit="rad")
    assert dc.replace(CHEN, weight=1.0).attach(Stack((*SERVO, turn), ROBOT)).units == ("1", "1")
    assert CHEN.attach(STACK).units == ("1", "1")


@seeds
def test_the_adaptive_law_is_its_formula_and_promises_for_what_is_supposed(seed):
    at, begun, bound = Here(seed), Here(seed + 10, START), ADAPTIVE.attach(STACK)
    memory = bound.begin(START, begun.rows)
    np.testing.assert_allclose(memory, [0.6, START, begun.size, begun.place], **CLOSED)
    memory[0] = 0.9
    speed = np.linalg.norm(at.v)
    profile = 1.5 + 0.4 * speed + 0.2 * speed**2
    rho = 0.9 * profile
    push = 6.0 * at.z + rho**2 * at.z / max(rho * at.size, 0.3)
    asked = bound.output(at.rows, memory, at.dynamics)
    np.testing.assert_allclose(asked.demand, at.b - RATE * at.beta - push / P, **CLOSED)
    rate = [50.0 * profile * at.size - 0.7 * 0.9, 0.0, 0.0, 0.0]
    np.testing.assert_allclose(asked.memory_rate, rate, **CLOSED)
    for leak in (0.7, 40.0):
        law = dc.replace(ADAPTIVE, leak=leak)
        c = min(2.0 * 6.0 * 0.8, leak)
        radius = np.sqrt(2.0 * 0.8 / c * (0.3 / 4.0 + leak * 1.1**2 / 100.0))
        w0 = np.sqrt(begun.size**2 + 0.8 / 50.0 * (0.6 - 1.1) ** 2)
        promise = law.attach(STACK).promise(T, at.rows, memory)
        kept(promise, at, radius, c / 2.0, w0, begun.place)
    unknown = dc.replace(ADAPTIVE, supposed=None).attach(STACK).promise(T, at.rows, memory)
    np.testing.assert_allclose(unknown, [at.size, np.nan, at.place, np.nan], **CLOSED)
    assert bound.signals(at.rows, memory, at.dynamics)["alpha_hat"].value == 0.9


LYAPUNOV = Lyapunov(
    kappa=6.0, rate=LAMBDA, tube=0.5, uncertainty=2.0, weight=tuple(WEIGHT), least_grip=1e-6
)


@seeds
@pytest.mark.parametrize("tube", [0.5, 40.0], ids=["outside the tube", "inside it"])
def test_the_lyapunov_law_asks_for_one_row_and_fades_out_within_its_tube(seed, tube):
    at, begun = Here(seed), Here(seed + 10, START)
    law = dc.replace(LYAPUNOV, tube=tube)
    bound = law.attach(STACK)
    memory = bound.begin(START, begun.rows)
    asked = bound.output(at.rows, memory, at.dynamics)
    n = P * at.z / at.size
    np.testing.assert_allclose(asked.rows.A, [n @ at.A], **CLOSED)
    demand = n @ (at.b - RATE * at.beta) - 6.0 * at.size
    np.testing.assert_allclose(asked.demand, [demand], **CLOSED)
    x = min(at.size / tube, 1.0)
    np.testing.assert_allclose(asked.share, x * x * (3.0 - 2.0 * x), **CLOSED)
    kept(bound.promise(T, at.rows, memory), at, max(tube, 2.0 / 6.0), 6.0, begun.size, begun.place)
    grip = np.linalg.norm(n @ at.A @ at.dynamics.G)
    grip /= np.linalg.norm(n @ at.A) * np.linalg.norm(at.dynamics.G)
    told = bound.signals(at.rows, memory, at.dynamics)
    np.testing.assert_allclose(told["grip"].value, grip, **CLOSED)
    # Through the law: the input fades from the one that asks for nothing.
    started = Servo(feedback=law).start(begun.task)
    command = started.command(T, at.q, at.v, memory)
    G, rest = at.dynamics.G, at.dynamics.a_free
    full = np.linalg.pinv((n @ at.A @ G)[None]) @ [demand - n @ at.A @ rest]
    u = asked.share * full
    np.testing.assert_allclose(command.u, u, **CLOSED)
    np.testing.assert_allclose(command.demand, at.A @ (rest + G @ u), **CLOSED)


@pytest.mark.parametrize("seed", range(4))
def test_a_lyapunov_row_with_too_little_grip_is_refused_with_what_it_misses(seed):
    at = Here(seed)
    law = dc.replace(LYAPUNOV, least_grip=0.99).attach(STACK)
    with pytest.raises(InfeasibleConstraint) as caught:
        law.output(at.rows, np.zeros(3), at.dynamics)
    n = P * at.z / at.size
    missed = n @ (at.b - RATE * at.beta - at.A @ at.dynamics.a_free) - 6.0 * at.size
    assert f"{abs(missed):.1e}" in str(caught.value)
    assert "vanishes here: no input changes V in the direction" in str(caught.value)
    nothing = at.rows._replace(A=np.zeros((3, 3)))
    with pytest.raises(InfeasibleConstraint):
        LYAPUNOV.attach(STACK).output(nothing, np.zeros(3), at.dynamics)


FUNCTIONS = {
    "tanh": (Tanh(width=0.4), lambda x: np.tanh(x / 0.4) / np.tanh(2.5)),
    "arctan": (Arctan(width=0.4), lambda x: np.arctan(x / 0.4) / np.arctan(2.5)),
    "power": (Power(exponent=1.7), lambda x: np.sign(x) * np.abs(x) ** 1.7),
    "sinh": (Sinh(width=0.4), lambda x: np.sinh(x / 0.4) / np.sinh(2.5)),
}


@seeds
@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_sliding_law_is_its_formula_on_rows_of_both_kinds(name, seed):
    function, f = FUNCTIONS[name]
    alpha, beta = np.array([8.0, 2.0, 5.0]), np.array([16.0, 9.0, 77.0])
    box, drive = np.array([2.0, 0.9, 3.0]), np.array([2.0, 0.7, 0.4])
    law = Sliding(
        alpha=tuple(alpha), beta=tuple(beta), rate=LAMBDA, box=tuple(box),
        uncertainty=tuple(drive), mismatch=0.25, function=function,
    )  # fmt: skip
    at, begun, bound = Here(seed), Here(seed + 10, START), law.attach(STACK)
    memory = bound.begin(START, begun.rows)
    np.testing.assert_allclose(memory, [START, *begun.phi, *begun.beta], **CLOSED)
    nominal = []
    for i in range(3):
        F = np.array([[0.0, 1.0], [-beta[i] * HOLONOMIC[i], -alpha[i]]])
        x = expm(F * (T - START)) @ [begun.phi[i], begun.beta[i]]
        nominal.append([x[0] * HOLONOMIC[i], x[1], (F @ x)[1]])
    phi, rate, bend = np.array(nominal).T
    sigma = np.where(HOLONOMIC, LAMBDA * box, box)
    needed = ((drive / sigma).max() + 2.0 * 0.25 * LAMBDA) / 0.75
    np.testing.assert_allclose([bound.needed, bound.gain], needed, **CLOSED)
    e, e_dot = at.phi - phi, at.beta - rate
    s = e_dot + RATE * e
    asked = bound.output(at.rows, memory, at.dynamics)
    demand = at.b + bend - RATE * e_dot - needed * sigma * f(s / sigma)
    np.testing.assert_allclose(asked.demand, demand, rtol=1e-8, atol=1e-8)
    np.testing.assert_array_equal(asked.memory_rate, np.zeros(7))
    promise = bound.promise(T, at.rows, memory)
    wanted = [np.abs(s / sigma).max(), bound.promised, np.abs(e / box).max(), bound.promised]
    np.testing.assert_allclose(promise, wanted, rtol=1e-8)
    for factor in (1.0, 3.0):
        r = dc.replace(law, gain=factor * needed).attach(STACK).promised
        push = factor * needed * 0.75 * f(np.array([r]))[0]
        uncertain = (drive / sigma).max() + 2.0 * 0.25 * LAMBDA * r
        np.testing.assert_allclose(push, uncertain, rtol=1e-9)


@spec
class Fixed(Feedback):
    """A feedback without gains that follow from anything."""

    def attach(self, stack):
        return Own(linear)


def test_a_feedback_of_ones_own_has_no_gains_for_a_settling_time():
    assert Fixed().gains_for(ErrorSpec(settling=1.0)) is None
    assert len(Servo(feedback=Fixed()).error_polynomials(STACK)) == 3
