"""Disturbance observers: their formulas by other routes, and what they refuse."""

import dataclasses as dc

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from ukctrl import Robot, Scenario, Task, simulate
from ukctrl.control import AccelerationObserver, Baumgarte, Bounded, MomentumObserver, Servo
from ukctrl.control.disturbance.disturbance_observer import BoundObserver
from ukctrl.control.error_dynamics_spec import ErrorSpec
from ukctrl.core.algebra.finite_differences import jacobian
from ukctrl.core.errors import GainError, InputError
from ukctrl.core.program import KernelSequence
from ukctrl.mechanics.constraints import Expression
from ukctrl.mechanics.dynamics import Dynamics
from ukctrl.robot import Functions, Lagrangian

DIFFERENCES = {"rtol": 0.0, "atol": 1e-8}  # of the mass matrix along a motion
INTEGRATED = {"rtol": 0.0, "atol": 1e-9}  # two integrations of tolerance 1e-11
EXACT = {"rtol": 0.0, "atol": 1e-11}

MASS, TRUE, ALPHA, BETA, K, FORCE = 2.0, 3.0, 8.0, 20.0, 12.0, 5.0


def line(mass):
    """A mass on a line."""
    return Robot.build(
        Lagrangian(
            coordinates={"x": "m"}, kinetic="m/2*v.x**2", parameters={"m": mass},
            inputs={"F": {"x": 1.0}},
        )
    )  # fmt: skip


def servo(observer, **changes):
    """A servo law with an observer."""
    return Servo(feedback=Baumgarte(alpha=ALPHA, beta=BETA), disturbance=observer, **changes)


def scenario(observer, robot=None, **more):
    """A mass that follows a sine, of which the law believes 2 kg."""
    given = {
        "title": "A sine", "robot": line(TRUE) if robot is None else robot,
        "servo": (Expression(phi="x - sin(2*t)"),),
        "controller": servo(observer), "start": {"q": {"x": 0.2}},
        "timing": {"duration": 1.0, "sample": 0.1},
        "integrator": {"method": "DOP853", "rtol": 1e-11, "atol": 1e-13},
    }  # fmt: skip
    return Scenario(**{**given, **more})


def push():
    """A constant force: a wave of thirty years, at its crest."""
    wave = {"frequency": 1e-9, "phase": 0.5 * np.pi}
    return {"kind": "disturbance", "joint": "x", "effort": FORCE, **wave}


WRONG = {"believed": {"parameters": {"m": MASS}}, "effect": (push(),)}


@pytest.mark.parametrize(
    "name", ["scara", "panda", "floating_arm", "quadrotor", "mobile_ur5", "three_rrr", "a1"]
)
def test_the_momentum_of_bodies_drifts_by_the_rate_of_the_mass_matrix(name):
    robot, rng = Robot.load(name), np.random.default_rng(4)
    q, v = robot.random(rng), rng.standard_normal(robot.nv)
    along = jacobian(lambda h: robot.snapshot(robot.integrate(q, h[0] * v)).M @ v, 1)[:, 0]
    s, drift = robot.snapshot(q, v), np.zeros(robot.nv)
    KernelSequence(s.momentum_drift_steps(drift))()
    scale = 1.0 + np.abs(along).max()
    np.testing.assert_allclose(drift / scale, along / scale, **DIFFERENCES)


def crank(q):
    """The mass matrix of the first two plants."""
    return np.array([[2.0 + np.cos(q[1]), 0.3 * q[0]], [0.3 * q[0], 1.5]])


PLANTS = {
    "functions": Robot.build(
        Functions(coordinates=["x", "y"], M=crank, nle=lambda q, v: np.zeros(2))
    ),
    "lagrangian": Robot.build(
        Lagrangian(
            coordinates={"x": "m", "y": "rad"},
            kinetic="v.x**2*(2 + cos(y))/2 + 0.3*x*v.x*v.y + 1.5*v.y**2/2",
            potential="9.81*x",
        )
    ),
    "that loses mass": Robot.build(
        Lagrangian(
            coordinates={"x": "m", "y": "m"},
            kinetic="(3 - t)*(v.x + cos(2*t))**2/2 + (2 + x)*v.y**2/2",
            potential="9.81*y",
        )
    ),
}


@pytest.mark.parametrize("robot", PLANTS.values(), ids=PLANTS)
def test_the_momentum_of_formulas_drifts_so_too(robot):
    q, v, t, h = np.array([0.4, 0.9]), np.array([1.3, -0.7]), 0.5, 1e-5
    ahead, behind = (robot.snapshot(q + x * v, v, t + x).M @ v for x in (h, -h))
    s, drift = robot.snapshot(q, v, t), np.zeros(2)
    KernelSequence(s.momentum_drift_steps(drift))()
    np.testing.assert_allclose(drift, (ahead - behind) / (2.0 * h), **DIFFERENCES)


@pytest.mark.parametrize("kind", [MomentumObserver, AccelerationObserver])
def test_the_loop_of_one_mass_is_the_textbook_s(kind):
    run = simulate(scenario(kind(bandwidth=K), **WRONG))

    def rate(t, y):
        """The loop with the filter K/(s + K) of M_bar a - u, by its own state."""
        x, v, low = y  # low: the filter of u, whose part M_bar a is K/(s + K) s M_bar v
        d_hat = K * (MASS * v - MASS * V0 - low)
        asked = -4.0 * np.sin(2.0 * t) - ALPHA * (v - 2.0 * np.cos(2.0 * t))
        asked -= BETA * (x - np.sin(2.0 * t))
        u = MASS * asked - d_hat
        return [v, (u + FORCE) / TRUE, u + d_hat]

    V0 = run["v"][0, 0]
    exact = solve_ivp(
        rate, (0.0, 1.0), [0.2, V0, 0.0], "DOP853", run.time, rtol=1e-11, atol=1e-13
    ).y
    np.testing.assert_allclose(run["q"][:, 0], exact[0], **INTEGRATED)
    d_hat = K * (MASS * exact[1] - MASS * V0 - exact[2])
    np.testing.assert_allclose(run["disturbance_hat"][:, 0], d_hat, rtol=0.0, atol=1e-8)


@pytest.mark.parametrize("kind", [MomentumObserver, AccelerationObserver])
def test_a_constant_force_is_found_at_the_rate_of_the_bandwidth(kind):
    run = simulate(scenario(kind(bandwidth=K), robot=line(MASS), effect=(push(),)))
    wanted = FORCE * (1.0 - np.exp(-K * run.time))
    np.testing.assert_allclose(run["disturbance_hat"][:, 0], wanted, **INTEGRATED)


@pytest.mark.parametrize("kind", [MomentumObserver, AccelerationObserver])
def test_with_a_right_model_and_nothing_unknown_it_changes_nothing(kind):
    without = simulate(scenario(None, robot=line(MASS)))
    run = simulate(scenario(kind(bandwidth=K), robot=line(MASS)))
    np.testing.assert_allclose(run["q"], without["q"], **INTEGRATED)
    np.testing.assert_allclose(run["disturbance_hat"], 0.0, **INTEGRATED)


def test_held_without_a_bandwidth_it_is_the_difference_of_two_ticks():
    period = 0.01
    timing = {"duration": 0.5, "sample": period, "control": period}
    run = simulate(scenario(AccelerationObserver(), timing=timing, **WRONG))
    v, u = run["v"][:, 0], run["u"][:, 0]
    wanted = MASS * np.diff(v) / period - u[:-1]
    d_hat = run["disturbance_hat"][:, 0]
    np.testing.assert_allclose(d_hat[1:-1], wanted[:-1], rtol=0.0, atol=1e-8)
    assert d_hat[-1] == d_hat[-2]  # at the end of the run there is no tick


def test_by_acceleration_and_by_momentum_differ_as_the_inertia_turns_within_the_filter():
    arm = Robot.load("scara")
    off = []
    for rate in (50.0, 100.0, 200.0):
        runs = [
            simulate(
                Scenario.load("scara-helix").replace(
                    {
                        "controller.disturbance": {"kind": kind, "bandwidth": rate},
                        "effect": [{"kind": "payload", "frame": "tool", "mass": 1.0}],
                        "timing": {"duration": 0.4, "sample": 0.4},
                    }
                )
            )
            for kind in ("momentum_observer", "acceleration_observer")
        ]
        off.append(np.abs(runs[0]["disturbance_hat"][-1] - runs[1]["disturbance_hat"][-1]).max())
    assert arm.nv == 4
    assert off[0] > 1.8 * off[1] > 3.2 * off[2] > 0.0


def test_a_motor_at_its_limit_is_no_disturbance():
    weak = {"robot": line(MASS), "start": {"q": {"x": 2.0}}}
    saturation = {"kind": "saturation", "limit": 4.0}
    told, untold = (
        simulate(scenario(MomentumObserver(bandwidth=K, limit=x), effect=(saturation,), **weak))
        for x in (4.0, None)
    )
    assert (told["u"][:2] == -4.0).all()  # it does saturate
    np.testing.assert_allclose(told["disturbance_hat"], 0.0, **INTEGRATED)
    assert np.abs(untold["disturbance_hat"]).max() > 4.0


def test_an_allocation_within_limits_tells_the_observer_what_it_gives():
    law = servo(MomentumObserver(bandwidth=K), allocation=Bounded(limit=4.0))
    run = simulate(scenario(None, robot=line(MASS), start={"q": {"x": 2.0}}, controller=law))
    assert np.abs(run["u"]).max() == 4.0
    np.testing.assert_allclose(run["disturbance_hat"], 0.0, **INTEGRATED)


def test_a_law_that_takes_over_begins_where_the_robot_is():
    law = servo(MomentumObserver(bandwidth=K)).start(
        Task(robot=line(MASS), servo=(Expression(phi="x"),), q=np.zeros(1), v=np.zeros(1))
    )
    dynamics = Dynamics(law.task.robot)
    dynamics.move(3.0, np.array([0.5]), np.array([1.5]))
    np.testing.assert_allclose(law.begin(dynamics), [MASS * 1.5], **EXACT)


def test_gains_for_a_settling_time_are_those_of_both_parts():
    law = servo(MomentumObserver(bandwidth=K))
    terms = ErrorSpec(settling=0.5)
    gains = law.gains_for(terms, lambda: np.ones(1))
    w = terms.frequency(3)
    wanted = {"feedback.alpha": 2.0 * w, "feedback.beta": w * w, "disturbance.bandwidth": w}
    assert gains == pytest.approx(wanted, rel=1e-9)


@pytest.mark.parametrize(
    ("observer", "control", "said"),
    [
        (MomentumObserver(bandwidth=101.0), 0.01, "at most one over the control period, 100 1/s"),
        (AccelerationObserver(bandwidth=101.0), 0.01, "does not overshoot; got 101 1/s"),
        (AccelerationObserver(), None, "give timing.control, or a bandwidth"),
        (MomentumObserver(bandwidth=1.0, limit={"G": 2.0}), None, "'G'"),
    ],
)
def test_an_observer_that_does_not_fit_its_task_is_refused(observer, control, said):
    timing = {"duration": 0.1, "control": control}
    with pytest.raises((GainError, InputError), match=said):
        simulate(scenario(observer, timing=timing))


@pytest.mark.parametrize("bandwidth", [0.0, -1.0, float("nan")])
def test_a_bandwidth_must_be_positive(bandwidth):
    with pytest.raises(InputError, match="bandwidth"):
        MomentumObserver(bandwidth=bandwidth)


class Told(BoundObserver):
    """One of one's own, in Python: an acceleration that somebody has told."""

    def acceleration(self, dynamics, memory):
        return np.array([FORCE / MASS])


@dc.dataclass(frozen=True)
class ToldObserver:
    def attach(self, task):
        return Told()


def test_an_observer_of_one_s_own_needs_an_acceleration_alone():
    law = servo(None)
    object.__setattr__(law, "disturbance", ToldObserver())
    run = simulate(scenario(None, robot=line(MASS), controller=law, effect=(push(),)))
    calm = simulate(scenario(None, robot=line(MASS)))
    np.testing.assert_allclose(run["q"], calm["q"], **INTEGRATED)
    with pytest.raises(NotImplementedError, match="BoundObserver must have an acceleration"):
        BoundObserver().acceleration(Dynamics(line(MASS)), np.zeros(0))
