"""Motions of least effort and time against closed forms, and against what others print."""

from __future__ import annotations

import dataclasses as dc
import itertools
import sys

import numpy as np
import pytest
from extras import needs
from scipy.linalg import expm
from scipy.optimize import brentq, fsolve

from ukctrl import Robot
from ukctrl.control.safety import FormulaLimit, JointLimits
from ukctrl.control.task import Task
from ukctrl.core.algebra.rank_policy import RUN_RANK
from ukctrl.core.errors import InputError
from ukctrl.mechanics.dynamics import Dynamics
from ukctrl.robot import JointMotor, Lagrangian, Options
from ukctrl_optimal.decision_variables import MotionProblem
from ukctrl_optimal.gauss_legendre import control_point_rows, evaluation_rows, gauss_legendre
from ukctrl_optimal.independent_coordinates import IndependentCoordinates
from ukctrl_optimal.nonlinear_program import NonlinearProgram
from ukctrl_optimal.optimal_motion import optimal_motion
from ukctrl_optimal.optimised_rows import state_inequalities

SOLVED = 1e-7
"""Part of a time or an effort by which the solver may be off: ten times its tolerance."""


def freedoms(robot, q, joints=None):
    first = range(robot.nv) if joints is None else [robot.dofs.index(name) for name in joints]
    return IndependentCoordinates(
        robot, RUN_RANK, 0.0, np.array(q, dtype=float), np.array(first, dtype=np.intp)
    )


def motion(robot, q, goal, duration=None, *, steps, stages, joints=None, rate=None, **wanted):
    free = freedoms(robot, q, joints)
    rate = np.zeros(free.n) if rate is None else np.array(rate)
    ask = {"minimises_time": False, **wanted}
    want = MotionProblem(
        t=0.0, rate=rate, goal=np.array(goal, dtype=float), duration=duration, **ask
    )
    return optimal_motion(free, want, steps, stages)


def at_points(found, order=0):
    """Return the motion, or a derivative of it, at the points of its scheme."""
    series = [found.pieces.series(t, order)[order] for t in found.times.tolist()]
    return np.array(series) * (2.0 if order == 2 else 1.0)


def cart(**motor):
    """A cart of 2 kg on a rail."""
    return Robot.build(
        Lagrangian(coordinates={"x": "m"}, kinetic="v.x**2", potential="0*x", parameters={}),
        Options(actuator=[JointMotor(name="F", joint="x", **motor)]),
    )


@pytest.mark.parametrize("stages", range(1, 10))
def test_the_scheme_integrates_powers_of_the_time_exactly(stages):
    c, b, once, twice, powers = gauss_legendre(stages)
    for k in range(stages):
        a = c**k
        np.testing.assert_allclose(once @ a, c ** (k + 1) / (k + 1), atol=1e-12)
        np.testing.assert_allclose(twice @ a, c ** (k + 2) / (k + 1) / (k + 2), atol=1e-12)
        assert b @ a == pytest.approx(1.0 / (k + 1))
        assert gauss_legendre(stages).end_position_weights @ a == pytest.approx(
            1.0 / (k + 1) / (k + 2)
        )
        np.testing.assert_allclose(powers @ a, np.eye(stages)[k], atol=1e-8)


def bead():
    """A bead on a ring in the plane, pushed along x and y by motors that tire, under gravity."""
    motors = [
        JointMotor(name=f"push_{name}", joint=name, limit=30.0, no_load_speed=8.0)
        for name in ("x", "y")
    ]
    return Robot.build(
        Lagrangian(coordinates={"x": "m", "y": "m"}, kinetic="(v.x**2 + v.y**2)/2",
                   potential="9.81*y", parameters={}),
        Options(actuator=motors,
                passive=[{"kind": "expression", "name": "ring", "phi": "x**2 + y**2 - 1"}]),
    )  # fmt: skip


EVERY_DEGREE = (
    FormulaLimit(h=("y + 2 + x*sin(3*t)", "x**2 - y"), margin=0.1),
    FormulaLimit(h="1 - v.x*v.y*(1 + x*t)"),
    JointLimits(joints=("x", "y"), limits=("speeds", "accelerations"), speed=4.0, acceleration=9.0),
)


@pytest.mark.slow(only=["False-kept"])
@pytest.mark.parametrize("keeps", [(), EVERY_DEGREE], ids=["nothing", "kept"])
@pytest.mark.parametrize("fastest", [False, True])
def test_derivatives_of_the_program_are_those_of_differences(fastest, keeps):
    """On a closed chain, at a point away from any solution, for what is kept of every degree."""
    robot, q = bead(), np.array([0.0, -1.0])
    free = freedoms(robot, q, ["x"])
    wanted = MotionProblem(
        t=0.0, rate=np.zeros(1), goal=np.array([0.6]), duration=None, minimises_time=fastest
    )
    kept = state_inequalities(keeps, Task(robot=robot, servo=(), q=q, v=np.zeros(2)))
    program = NonlinearProgram(free, gauss_legendre(2), 2, wanted, 1.0, kept)
    rng = np.random.default_rng(0)
    z = 0.1 * rng.standard_normal(program.count)
    program.split(z).sigma[:] = 1.2 if fastest else 1.0
    weights, step = rng.standard_normal(program.rows), 1e-6
    slopes, bend = program.row_jacobian(z).toarray(), program.hessian(z, 0.7, weights).toarray()
    moved = range(program.count - (not fastest))

    def difference(of):
        columns = []
        for i in moved:
            ahead, back = z.copy(), z.copy()
            ahead[i] += step
            back[i] -= step
            columns.append((of(ahead) - of(back)) / (2.0 * step))
        return np.array(columns).T

    np.testing.assert_allclose(slopes[:, moved], difference(program.row_values), atol=1e-7)
    lagrange = difference(lambda at: 0.7 * program.cost_gradient(at)
                          + program.row_jacobian(at).T @ weights)  # fmt: skip
    full = bend + np.triu(bend, 1).T
    np.testing.assert_allclose(full[np.ix_(moved, moved)], lagrange[moved], atol=2e-4)
    assert program.cost_gradient(z) @ z == pytest.approx(
        (2.0 - fastest) * program.cost(z), rel=1e-2
    )  # a quadratic form, or a line and a little


@needs("casadi")
@pytest.mark.parametrize(("way", "duration"), [(1.0, 2.0), (-0.3, 0.5)])
def test_a_double_integrator_moves_by_a_cubic_with_least_effort(way, duration):
    found = motion(cart(), [0.2], [0.2 + way], duration, steps=3, stages=2)
    force = 2.0 * 6.0 * way / duration**2 * (1.0 - 2.0 * found.times / duration)
    np.testing.assert_allclose(found.inputs[:, 0], force, rtol=0.0, atol=SOLVED * max(abs(force)))
    assert found.effort == pytest.approx(2.0**2 * 12.0 * way**2 / duration**3, rel=SOLVED)
    tau = found.times / duration
    np.testing.assert_allclose(at_points(found)[:, 0], 0.2 + way * tau**2 * (3 - 2 * tau),
                               atol=SOLVED)  # fmt: skip
    assert found.residual < SOLVED


@pytest.mark.slow(but=["1.0-None"])
@needs("casadi")
@pytest.mark.parametrize(("way", "guess"), [(1.0, None), (1.0, 7.0), (40.0, None), (1e-3, 1e-2)])
def test_a_double_integrator_moves_by_full_force_both_ways_in_least_time(way, guess):
    found = motion(cart(limit=3.0), [0.0], [way], guess, steps=10, stages=1, minimises_time=True)
    assert found.duration == pytest.approx(2.0 * np.sqrt(way / 1.5), rel=SOLVED)
    np.testing.assert_allclose(np.abs(found.inputs), 3.0, rtol=1e-4)
    assert (np.diff(np.sign(found.inputs[:, 0])) != 0).sum() == 1


@pytest.mark.slow
@needs("casadi")
def test_a_motor_that_tires_takes_the_time_of_its_closed_form():
    """m v' = F (1 - v/V) speeding up, and m v' = -F down: it brakes with all of its force."""
    m, F, V, way = 2.0, 3.0, 2.0, 4.0
    found = motion(cart(limit=F, no_load_speed=V), [0.0], [way], steps=160, stages=1,
                   minimises_time=True)  # fmt: skip
    k = F / (m * V)

    def rest(t):
        speed = V * (1.0 - np.exp(-k * t))
        return V * t - speed / k + m * speed**2 / (2.0 * F) - way

    t = brentq(rest, 0.1, 20.0)
    closed = t + m * V * (1.0 - np.exp(-k * t)) / F
    assert closed < found.duration < closed * (1.0 + 1e-3)  # of first order at the switch


def two_masses(x, T):
    """Return the least effort and the inputs of a spring between masses, by the Gramian."""
    m1, m2, k = 1.0, 2.0, 50.0
    A, B = np.zeros((4, 4)), np.array([[0.0], [0.0], [1.0 / m1], [0.0]])
    A[:2, 2:] = np.eye(2)
    A[2:, :2] = [[-k / m1, k / m1], [k / m2, -k / m2]]
    both = expm(T * np.block([[-A, B @ B.T], [np.zeros((4, 4)), A.T]]))
    to_end = both[4:, 4:].T
    gramian = to_end @ both[:4, 4:]
    missing = x[1] - to_end @ x[0]
    costate = np.linalg.solve(gramian, missing)
    return missing @ costate, lambda t: (B.T @ expm((T - t) * A.T) @ costate)[0]


@pytest.mark.slow
@needs("casadi")
def test_masses_on_a_spring_move_with_the_effort_of_their_gramian_to_the_order_of_the_scheme():
    robot, T = Robot.load("two_mass_spring"), 1.5
    begin, end = np.array([0.0, 0.1, 0.5, -0.2]), np.array([1.0, 1.0, 0.0, 0.0])
    effort, force = two_masses((begin, end), T)

    def found(steps, stages):
        relaxed = np.array([0.0, 0.5])
        q, goal = begin[:2] + relaxed, end[:2] + relaxed
        return motion(robot, q, goal, T, steps=steps, stages=stages, rate=begin[2:])

    fine = found(10, 6)
    assert fine.effort == pytest.approx(effort, rel=1e-9)
    exact = np.array([force(t) for t in fine.times])
    np.testing.assert_allclose(fine.inputs[:, 0], exact, atol=1e-6 * np.abs(exact).max())
    for stages in (2, 3):
        off = [abs(found(steps, stages).effort - effort) for steps in (16, 32)]
        assert 2.0 ** (2 * stages - 0.5) < off[0] / off[1] < 2.0 ** (2 * stages + 0.5)


def swung():
    """The cart and pole of Kelly, "An introduction to trajectory optimization", SIAM Review 2017:
    1 kg, 0.3 kg, 0.5 m, 1 m to go within 2 s by at most 20 N.
    """
    robot = Robot.build(
        Lagrangian(
            coordinates={"x": "m", "angle": "rad"},
            kinetic="13/20*v.x**2 + 3/20*v.x*v.angle*cos(angle) + 3/80*v.angle**2",
            potential="-9.81*3/20*cos(angle)",
            parameters={},
        ),
        Options(actuator=[JointMotor(name="F", joint="x", limit=20.0)]),
    )
    return motion(robot, [0.0, 0.0], [1.0, np.pi], 2.0, steps=16, stages=5)


@pytest.mark.slow
@needs("casadi")
def test_a_pole_is_swung_up_with_the_effort_that_another_implementation_prints():
    """58.8839 N^2 s in the tests of Dymos, by 40 Hermite-Simpson intervals; these also ask for no
    force at the very end, which takes a little more.
    """
    found = swung()
    assert 0.998 * 58.8839489745 < found.effort < 58.8839489745
    assert found.residual < 1e-2
    assert np.abs(found.inputs).max() < 20.0


@pytest.mark.slow
@needs("casadi")
def test_masses_on_a_spring_are_as_fast_as_their_switches_allow():
    """The benchmark of Liu & Wie, "Robust time-optimal control of uncertain flexible spacecraft",
    J. Guidance 15(3), 1992: unit masses, spring, force and way, switches at 1.003, 2.109, 3.215
    and the end at 4.218 s. From the middle on the force is 1 for a time a, and then -1.
    """
    robot = Robot.build(
        Lagrangian(coordinates={"x": "m", "y": "m"}, kinetic="(v.x**2 + v.y**2)/2",
                   potential="(x - y)**2/2", parameters={}),
        Options(actuator=[JointMotor(name="F", joint="x", limit=1.0)]),
    )  # fmt: skip
    way, mode = (lambda T, a: (T / 2.0) ** 2 - 2.0 * a**2 - 2.0), np.sqrt(2.0)
    still = lambda T, a: 1.0 - 2.0 * np.cos(mode * a) + np.cos(mode * T / 2.0)  # noqa: E731
    T, a = fsolve(lambda at: [way(*at), still(*at)], [4.0, 1.0], xtol=1e-13)
    found = [
        motion(robot, [0.0, 0.0], [1.0, 1.0], steps=steps, stages=1, minimises_time=True)
        for steps in (20, 80)
    ]  # whose inputs are constant from step to step, so that they keep the limit everywhere
    over = [one.duration - T for one in found]
    assert round(T, 3) == 4.218
    assert 0.0 < over[1] < min(0.1 * over[0], 1e-3 * T)
    force, t = found[1].inputs[:, 0], found[1].times
    clear = np.min(np.abs(t[:, None] - [T / 2 - a, T / 2, T / 2 + a]), axis=1) > 0.05 * T
    sign = np.where(t < T / 2.0, 1.0, -1.0) * np.where(np.abs(t - T / 2.0) < a, -1.0, 1.0)
    np.testing.assert_allclose(force[clear], sign[clear], rtol=0.0, atol=1e-3)


@pytest.mark.slow
@needs("casadi")
def test_ranges_and_speeds_of_all_joints_are_kept_at_the_points():
    robot = Robot.load("two_link")
    found = motion(robot, [-3.0, 0.5], [3.0, -0.5], 1.4, steps=12, stages=4, limit_share=0.9)
    q, v = at_points(found), at_points(found, 1)
    assert np.abs(v).max() == pytest.approx(0.9 * 6.0, rel=1e-6)  # of 4.3 rad/s on the average
    assert (np.abs(found.inputs) <= 0.9 * robot.effort_limit * (1.0 + 1e-9)).all()
    assert (q >= robot.q_lower - 1e-9).all()
    assert (q <= robot.q_upper + 1e-9).all()


@pytest.mark.slow
@needs("casadi")
def test_a_bead_stays_on_its_ring_and_its_inputs_are_those_of_its_motion():
    robot = bead()
    found = motion(robot, [-0.6, -0.8], [0.6], 0.8, steps=6, stages=4, joints=["x"])
    free, near = freedoms(robot, [-0.6, -0.8], ["x"]), None
    for k, t in enumerate(found.times.tolist()):
        y, rate, half = found.pieces.series(t, 2)
        answer = free.forward_dynamics(t, near or free.start, y, rate, found.inputs[k], slopes=True)
        near = answer.place
        np.testing.assert_allclose(np.linalg.norm(near.q), 1.0, atol=1e-12)
        np.testing.assert_allclose(answer.v @ near.q, 0.0, atol=1e-12)
        np.testing.assert_allclose(answer.a, 2.0 * half, atol=1e-6)


REFUSED = {
    "no limits": (lambda: motion(cart(), [0.0], [1.0], steps=5, stages=1, minimises_time=True),
                  "must be bounded by limits where its time is least; robot 'lagrangian' has none"),
    "too short": (lambda: motion(cart(limit=3.0), [0.0], [1.0], 1.5, steps=5, stages=2),
                  "must be a motion within all limits; the solver finds none near"),
    "out of range": (lambda: motion(Robot.load("two_link"), [0.0, 0.0], [0.0, 3.0], 1.0, steps=5,
                                    stages=2), "must end within the range of 'elbow', -2.8 to 2.8"),
    "off the ring": (lambda: motion(bead(), [0.0, -1.0], [1.5], 1.0, steps=4, stages=2,
                                    joints=["x"]), "must be able to begin with the straight way"),
    "dependent": (lambda: freedoms(bead(), [0.6, -0.8], ["x", "y"]), "follow from the others"),
    "quaternions": (lambda: freedoms(Robot.load("quadrotor"), Robot.load("quadrotor").neutral),
                    "must have joints of one freedom only for an optimised path"),
}  # fmt: skip


@needs("casadi")
@pytest.mark.parametrize(("ask", "said"), REFUSED.values(), ids=REFUSED.keys())
def test_what_has_no_optimum_is_refused_with_the_reason(ask, said):
    with pytest.raises(InputError, match=said):
        ask()


def test_without_casadi_it_is_said_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "casadi", None)
    with pytest.raises(InputError, match=r"pip install 'ukctrl\[optimise\]'"):
        motion(cart(limit=3.0), [0.0], [1.0], 2.0, steps=5, stages=2)


def exceeded(found, robot):
    """Return what speeds and motors use beyond their limits, by inverse dynamics of the motion."""
    dynamics, used = Dynamics(robot), []
    for begin, end in itertools.pairwise(found.pieces.times.tolist()):
        # at its ends the acceleration jumps: both sides count
        for t in (begin + (end - begin) * np.linspace(1e-6, 1.0 - 1e-6, 23)).tolist():
            q, v, half = found.pieces.series(t, 2)
            dynamics.move(t, q, v)
            u = np.abs(dynamics.least_input(2.0 * half)) / robot.effort_limit
            used.append(np.concatenate([np.abs(v) / robot.velocity_limit, u]))
    return np.max(used, axis=0) - 1.0


@needs("casadi")
@pytest.mark.parametrize("steps", [8, 24])
def test_what_a_motion_of_least_time_exceeds_between_its_points_is_told(steps):
    robot = Robot.load("two_link")
    found = motion(
        robot, [0.3, 1.2], [1.2, 0.3], steps=steps, stages=2, minimises_time=True, duration=0.25
    )
    names = [f"speed of '{dof}'" for dof in robot.dofs] + [f"motor '{m}'" for m in robot.actuators]
    truth = dict(zip(names, exceeded(found, robot).tolist(), strict=True))
    told = dict(found.limit_excess)
    assert max(told.values()) > 1e-3  # or the test shows nothing
    for name, excess in truth.items():
        assert told.get(name, 0.0) == pytest.approx(max(excess, 0.0), abs=2e-3 + 0.1 * excess)
    name, excess = found.limit_excess[0]
    assert f"between points {name} exceeds its limit by {100.0 * excess:.2g} %" in found.sentence()
    shared = dc.replace(found, limit_share=0.95)
    assert f"{name} exceeds 95 % of its limit by {100.0 * excess:.2g} %" in shared.sentence()


@pytest.mark.parametrize("stages", [1, 2, 5])
def test_polynomials_stay_between_their_control_points(stages):
    steps, n, h, rng = 3, 2, 0.7, np.random.default_rng(stages)
    scheme = gauss_legendre(stages)
    unknowns = rng.standard_normal(n * (2 * (steps + 1) + steps * stages))
    fractions = np.linspace(0.0, 1.0, 201)
    onto = evaluation_rows(scheme, fractions, steps, n, h) @ unknowns
    values = onto.reshape(3, steps, len(fractions), n)
    for derivative, rows in enumerate(control_point_rows(scheme, steps, n, h)):
        points = (rows @ unknowns).reshape(steps, -1, n)
        ends = values[derivative, :, [0, -1]].swapaxes(0, 1)
        hull = np.concatenate([points, ends], axis=1)
        assert (values[derivative] <= hull.max(axis=1, keepdims=True) + 1e-12).all()
        assert (values[derivative] >= hull.min(axis=1, keepdims=True) - 1e-12).all()
        if derivative == 1:
            np.testing.assert_allclose(points[:, -1], ends[:, 1], atol=1e-12)


FAST = {
    "a wrist of little inertia": (
        "ur5", [0.2, -1.2, 1.5, -0.4, 0.8, 0.3], [0.9, -1.0, 1.0, -0.1, 0.3, -0.3],
        {"steps": 30, "stages": 2, "minimises_time": True},
    ),
    "few steps": (
        "two_link", [0.3, 1.2], [1.2, 0.3],
        {"steps": 6, "stages": 2, "minimises_time": True, "duration": 0.25},
    ),
    "least effort": (
        "ur5", [0.2, -1.2, 1.5, -0.4, 0.8, 0.3], [2.2, -1.2, 1.5, -0.4, 0.8, 0.3],
        {"steps": 6, "stages": 3, "duration": 0.75},
    ),
}  # fmt: skip


@needs("casadi")
@pytest.mark.parametrize(
    "name",
    [
        pytest.param("few steps"),
        "least effort",
        pytest.param("a wrist of little inertia", marks=pytest.mark.slow),
    ],
)
def test_speeds_are_kept_all_along(name):
    """Polynomials of few points leap between them: a wrist had three times its speed."""
    model, q, goal, how = FAST[name]
    robot = Robot.load(model)
    found = motion(robot, q, goal, **how)
    speeds = exceeded(found, robot)[: robot.nv]
    assert speeds.max() < 1e-6
    assert speeds.max() > -0.02  # or no speed binds, and the test shows nothing


@needs("casadi")
def test_of_a_motion_within_its_limits_nothing_is_told():
    found = motion(cart(limit=50.0), [0.0], [1.0], 1.0, steps=4, stages=3)
    assert found.limit_excess == ()
    assert "between points" not in found.sentence()
