"""Inversions and their parts: collocation, internal dynamics, and motions in closed form."""

from __future__ import annotations

import dataclasses as dc
import math

import numpy as np
import pytest
from scipy.integrate import quad, solve_ivp
from scipy.linalg import eig

from ukctrl import Robot, Task
from ukctrl.control import Feedforward, Flat, ServoDae, StableInversion
from ukctrl.control.feedforward.inversion.collocation import (
    differentiation_matrix,
    interpolation_matrix,
    radau_scheme,
)
from ukctrl.control.feedforward.inversion.zero_dynamics import (
    RESIDUAL_MOTION,
    EndDynamics,
    ZeroDynamics,
    linearise_task,
    zero_dynamics,
)
from ukctrl.core.errors import InputError
from ukctrl.mechanics.constraints import Expression, JointFollows
from ukctrl.mechanics.reference import RestToRest
from ukctrl.robot import JointDamper, Lagrangian, Options

CLOSED = {"rtol": 1e-9, "atol": 1e-9}


@pytest.mark.parametrize(
    ("stages", "nodes"),
    [
        (1, [1.0]),
        (2, [1.0 / 3.0, 1.0]),
        (3, [(4.0 - math.sqrt(6.0)) / 10.0, (4.0 + math.sqrt(6.0)) / 10.0, 1.0]),
    ],
)
def test_radaus_nodes_are_those_of_the_books(stages, nodes):
    np.testing.assert_allclose(radau_scheme(stages).nodes, nodes, **CLOSED)


@pytest.mark.parametrize("stages", [1, 2, 5, 9])
def test_collocation_is_exact_on_polynomials(stages):
    scheme, rng = radau_scheme(stages), np.random.default_rng(stages)
    p = np.polynomial.Polynomial(rng.standard_normal(stages + 1))
    whole = np.append(0.0, scheme.nodes)
    np.testing.assert_allclose(scheme.D @ p(whole), p.deriv()(scheme.nodes), **CLOSED)
    np.testing.assert_allclose(differentiation_matrix(whole) @ p(whole), p.deriv()(whole), **CLOSED)
    places = np.array([-0.4, 0.0, 0.31, scheme.nodes[0], 1.0, 1.7])
    np.testing.assert_allclose(interpolation_matrix(whole, places) @ p(whole), p(places), **CLOSED)


# The internal dynamics of a linear system.


def system(seed, direct):
    """Return six states, two inputs, two outputs; the first seen late unless `direct`."""
    rng = np.random.default_rng(seed)
    A, B, C = (rng.standard_normal(shape) for shape in ((6, 6), (6, 2), (2, 6)))
    if not direct:
        C[0] -= (C[0] @ np.linalg.pinv(B.T)) @ B.T  # no input moves it at once
    return A, B, C


@pytest.mark.parametrize("direct", [True, False], ids=["at once", "late"])
@pytest.mark.parametrize("seed", range(4))
def test_the_internal_eigenvalues_are_the_zeros_of_the_system(direct, seed):
    A, B, C = system(seed, direct)
    found = zero_dynamics(A, B, C)
    pencil = np.block([[A, B], [C, np.zeros((2, 2))]])
    zeros = eig(pencil, np.diag([1.0] * 6 + [0.0] * 2), right=False)
    zeros = zeros[np.abs(zeros) < 1e6]
    assert len(zeros) == (4 if direct else 3)
    np.testing.assert_allclose(
        np.poly(found.eigenvalues), np.poly(zeros), rtol=0.0, atol=1e-6 * abs(np.poly(zeros)).max()
    )
    np.testing.assert_allclose(C @ found.V, 0.0, **CLOSED)
    for unstable in (True, False):
        part = found.invariant_subspace(unstable)
        side = zeros.real > 0.0
        assert part.shape[1] == np.count_nonzero(side if unstable else ~side)
        # Its states go on within it, at the rates of that side.
        inner = found.V @ found.A @ found.V.T @ part
        rate = np.linalg.lstsq(part, inner, rcond=None)[0]
        np.testing.assert_allclose(part @ rate, inner, atol=1e-7)
        assert ((np.linalg.eigvals(rate).real > 0.0) == unstable).all()


def test_nothing_internal_is_left_where_rows_fix_the_state():
    none = zero_dynamics(np.array([[0.0, 1.0], [0.0, 0.0]]), np.eye(2)[:, 1:], np.eye(2)[:1])
    assert none.eigenvalues.size == 0
    assert none.invariant_subspace(True).shape == none.invariant_subspace(False).shape == (2, 0)


def test_an_input_that_rows_never_see_is_refused():
    with pytest.raises(InputError, match="must determine every input; to first order some comb"):
        zero_dynamics(-np.eye(3), np.eye(3)[:, :2], np.eye(3)[:1])


def test_a_side_tells_its_rates_and_how_long_they_take():
    unstable, watched = np.eye(4)[:, :1], np.zeros((1, 4))
    end = EndDynamics(np.array([-3.0, 5.0 + 2.0j, 5.0 - 2.0j, 2.0, -7.0]), unstable, watched)
    assert end.unstable_count() == "1 of 5"
    assert end.slowest_unstable() == 2.0
    np.testing.assert_allclose(
        [end.preactuation_time(), end.postactuation_time()],
        -np.log(RESIDUAL_MOTION) / [2.0, 3.0],
        **CLOSED,
    )
    np.testing.assert_allclose(end.unstable_manifold_condition() @ unstable, 0.0, **CLOSED)
    assert np.linalg.matrix_rank(end.unstable_manifold_condition()) == 3
    slow = EndDynamics(np.array([0.25, -0.5, 3.0, -4.0]), unstable, watched)
    assert slow.slowest_unstable() == 0.25
    np.testing.assert_allclose(
        [slow.preactuation_time(), slow.postactuation_time()],
        -np.log(RESIDUAL_MOTION) / [0.25, 0.5],
        **CLOSED,
    )
    still = EndDynamics(np.zeros(0), np.zeros((4, 0)), np.zeros((0, 4)))
    assert (still.preactuation_time(), still.postactuation_time()) == (0.0, 0.0)
    np.testing.assert_array_equal(still.unstable_manifold_condition(), np.eye(4))
    assert isinstance(zero_dynamics(*system(0, True)), ZeroDynamics)


# A cart with a pole that falls, or hangs: its inner motion is a convolution.

SWING, INERTIA, COUPLED, DAMPER, PUSH = 30.0, 0.6, 0.8, 2.4, 2.0
PATH = RestToRest(points=((0.1,), (0.5,)), duration=1.0, still=4)
ROW = (JointFollows(joints=("x",), path=PATH),)


def cart(falls=True, damper=DAMPER):
    sign = "-" if falls else ""
    return Robot.build(
        Lagrangian(
            coordinates={"x": "m", "th": "rad"},
            kinetic="1.3/2*v.x**2 + 0.8*v.x*v.th + 0.6/2*v.th**2",
            potential=f"{sign}{SWING}/2*th**2",
            inputs={"F": {"x": PUSH}},
        ),
        Options(force=[JointDamper(joint="th", damping=damper)] if damper else []),
        name="cart",
    )


def test_a_task_about_a_state_answers_as_the_robot_does_in_its_own_time():
    """Of rows of both kinds, beside the transfer function of the robot written out."""
    rows = (Expression(phi="x + 0.1*th", name="place"), Expression(psi="v.th + 3*x", name="turn"))
    robot = Robot.build(
        Lagrangian(
            coordinates={"x": "m", "th": "rad"},
            kinetic="1.3/2*v.x**2 + 0.8*v.x*v.th + 0.6/2*v.th**2",
            potential=f"-{SWING}/2*th**2 + 20*x**2",
            inputs={"F": {"x": PUSH}, "turn": {"th": 0.7}},
        ),
        Options(force=[JointDamper(joint="th", damping=DAMPER)]),
    )
    zero = np.zeros(2)
    found = linearise_task(Task(robot=robot, servo=rows, q=zero, v=zero), 0.0, zero, zero, zero)
    assert found.time_scale < 0.2  # quick modes, in which the scaling shows
    np.testing.assert_allclose(
        found.state_scale, np.repeat([1.0, 1.0 / found.time_scale], 2), **CLOSED
    )
    M, D, K = np.array([[1.3, 0.8], [0.8, 0.6]]), np.diag([0.0, DAMPER]), np.diag([40.0, -SWING])
    s = 1.7 + 2.9j
    motion = np.linalg.solve(M * s**2 + D * s + K, np.diag([PUSH, 0.7]))
    wanted = np.array([[1.0, 0.1], [3.0, s]]) @ motion
    ours = found.C @ np.linalg.solve(s * found.time_scale * np.eye(4) - found.A, found.B)
    ratio = ours / wanted  # what each row and column is scaled by
    np.testing.assert_allclose(ratio, np.outer(ratio[:, 0], ratio[0]) / ratio[0, 0], rtol=1e-7)
    phases = ratio / np.abs(ratio)
    np.testing.assert_allclose(phases, 1.0, atol=1e-7)
    np.testing.assert_allclose(np.linalg.norm(found.B, axis=0), 1.0, **CLOSED)
    np.testing.assert_allclose(np.linalg.norm(found.C, axis=1), 1.0, **CLOSED)


def started(robot, start=-2.5, duration=4.5, servo=ROW, **more):
    q = np.array([0.1, 0.0])
    return Task(
        robot=robot, servo=servo, q=q, v=np.zeros(2), start=start, duration=duration, **more
    )


def bend(t):
    return PATH.derivatives(min(max(t, 0.0), 1.0), 2)[2, 0] if 0.0 < t < 1.0 else 0.0


def falling(t):
    """Return the bounded motion of the pole and its rate, from Green's function on both sides."""
    slow, fast = sorted(np.roots([INERTIA, DAMPER, -SWING]).real)
    parts = np.zeros(2)
    for rate, begin, end in ((slow, 0.0, min(t, 1.0)), (fast, max(t, 0.0), 1.0)):
        if begin < end:
            part, _ = quad(
                lambda s, rate=rate: np.exp(rate * (t - s)) * bend(s), begin, end, epsabs=1e-13
            )
            parts += part * np.array([1.0, rate])
    return COUPLED / INERTIA / (fast - slow) * parts


def wanted(t, pole):
    th, rate = pole
    a = (SWING * th - DAMPER * rate - COUPLED * bend(t)) / INERTIA
    return (1.3 * bend(t) + COUPLED * a) / PUSH


@pytest.mark.slow(only=["plain", "few stages"])
@pytest.mark.parametrize(
    "given",
    [
        {"until": 1.0},
        {"until": 1.0, "stages": 5},
        {"until": 1.0, "before": 3.0, "after": 2.0, "step": 0.1},
        {"step": 0.1},
    ],
    ids=["plain", "few stages", "long", "to the end"],
)
def test_stable_inversion_finds_the_bounded_motion(given):
    found = StableInversion(**given).solve(started(cart()))
    for t in (-1.0, -0.2, 0.0, 0.37, 0.5, 0.99, 1.4):
        q, v = found.state(t)
        x = PATH.derivatives(min(max(t, 0.0), 1.0), 1)[:, 0]
        pole = falling(t)
        np.testing.assert_allclose(q, [x[0], pole[0]], rtol=0.0, atol=1e-6)
        np.testing.assert_allclose(v, [x[1], pole[1]], rtol=0.0, atol=1e-5)
        np.testing.assert_allclose(found.input(t), [wanted(t, pole)], rtol=0.0, atol=1e-4)


@pytest.mark.slow
def test_the_horizon_is_as_long_as_was_asked_for():
    """Before the run and after the path; at least to the end of the run."""
    task = started(cart())
    short = StableInversion(until=1.0, before=3.0, after=2.5, step=0.1).solve(task)
    np.testing.assert_allclose(short.times[[0, -1]], [-5.5, 3.5], **CLOSED)
    found = StableInversion(until=1.0, step=0.1).solve(task)
    slow, fast = sorted(np.roots([INERTIA, DAMPER, -SWING]).real)
    first, last = (
        math.ceil(-math.log(RESIDUAL_MOTION) / rate / 0.1) * 0.1 for rate in (fast, -slow)
    )
    np.testing.assert_allclose(found.times[[0, -1]], [-2.5 - first, 1.0 + last], **CLOSED)
    ends = StableInversion(until=1.0, after=0.1, before=0.1, step=0.1).solve(task)
    np.testing.assert_allclose(ends.times[[0, -1]], [-2.6, 2.0], **CLOSED)


@pytest.mark.parametrize(
    "along", [ServoDae(step=0.1), StableInversion(until=1.0, step=0.1)], ids=["dae", "stable"]
)
def test_a_pole_that_hangs_swings_as_its_equation_integrated_forwards(along):
    found = along.solve(started(cart(falls=False), start=-0.5, duration=2.0))

    def rate(t, y):
        return [y[1], (-SWING * y[0] - DAMPER * y[1] - COUPLED * bend(t)) / INERTIA]

    times = [0.2, 0.63, 1.0, 1.41]
    solved = solve_ivp(rate, (-0.5, 1.5), [0.0, 0.0], t_eval=times, rtol=1e-10, atol=1e-12,
                       max_step=0.05)  # fmt: skip
    for t, pole in zip(times, solved.y.T, strict=True):
        q, v = found.state(t)
        np.testing.assert_allclose([q[1], v[1]], pole, rtol=0.0, atol=1e-5)


SETTLE = "the internal dynamics must settle in a time comparable to the run; it"
GIVE = "Give controller.along.before and after, or lengthen controller.along.step."
BENT = Expression(phi="x - 0.3*sin(t)", unit="m", name="place")


@pytest.mark.parametrize(
    ("robot", "along", "given", "says"),
    [
        (
            cart(), StableInversion(until=-3.0), {},
            "controller.along.until must be after the start of the run, -2.5 s; got -3 s.",
        ),
        (
            cart(), StableInversion(), {"duration": np.inf},
            "task must have a finite duration to plan its motion; got inf.",
        ),
        (
            cart(), StableInversion(until=1.0, step=1e-6), {},
            "controller.along.step must be at least 2.4e-05 s; got 1e-06 s.",
        ),
        (
            cart(), StableInversion(until=1.0, before=5e3), {},
            f"{SETTLE} takes 5e+03 s before and 1 s after. {GIVE}",
        ),
        (
            cart(), StableInversion(until=1.0, step=0.03, stages=9, before=3331.0), {},
            f"{SETTLE} takes 3.33e+03 s before and 1 s after. {GIVE}",
        ),
        (
            cart(), StableInversion(), {"servo": (BENT,)},
            "the path must stand still at the start of the run and beyond it; row 'place' moves at "
            "t = -2.5 s. Let it come to rest, and say with controller.along.until when it has.",
        ),
        (
            cart(damper=0.0, falls=False), StableInversion(until=1.0), {},
            "stable_inversion needs internal dynamics without eigenvalues on the imaginary axis; "
            "at the start of the path there is one at +-7.071j 1/s, whose motion neither grows nor "
            "decays. Add damping there, move the point that the rows hold, or use kind = "
            '"servo_dae", which goes on from the given start.',
        ),
        (
            cart(), StableInversion(), {"servo": (*ROW, BENT)},
            "stable_inversion needs a task with as many rows as the robot has inputs; got 2 rows "
            "(joints.x, place) for 1 (F). Drop rows, or take further ones for what the inputs "
            "leave free.",
        ),
        (
            cart(), Flat(), {"servo": (*ROW, BENT)},
            'servo must have as many rows as the robot has inputs, 1, for along.kind = "flat"; got '
            "2.",
        ),
    ],
    ids=[
        "until", "endless", "fine", "long", "many knots", "moving", "undamped", "rows", "flat rows",
    ],
)  # fmt: skip
def test_what_has_no_bounded_motion_is_refused_by_its_sentence(robot, along, given, says):
    with pytest.raises(InputError) as caught:
        Feedforward(along=along).start(started(robot, **given))
    assert str(caught.value) == says


def test_a_run_begins_where_it_is_given_unless_it_asks_for_the_motions_own_start():
    """The cart stays where it is, and so does the pole that hangs, but for 0.02 rad."""
    stays = (Expression(phi="x - 0.1", unit="m"),)
    law = StableInversion(before=0.1, after=0.1, step=0.1, stages=2)
    given = {"start": 0.0, "duration": 0.1, "servo": stays}
    beside = dc.replace(started(cart(falls=False), **given), q=np.array([0.1, 0.02]))
    with pytest.raises(InputError, match="must begin on the motion, .* 'th' is 0.02 rad off"):
        law.solve(beside)
    found = law.solve(dc.replace(beside, planned=True))
    np.testing.assert_allclose(found.state(0.0), [[0.1, 0.0], [0.0, 0.0]], **CLOSED)


@pytest.mark.slow
def test_a_run_must_begin_on_the_motion_or_at_rest_on_the_path():
    law = StableInversion(until=1.0, step=0.1)
    beside = dc.replace(started(cart()), q=np.array([0.1, 0.02]))
    with pytest.raises(InputError) as caught:
        law.solve(beside)
    assert str(caught.value) == (
        "the run must begin on the motion, or at rest on the path before it; at t = -2.5 s 'th' is "
        "0.02 rad off. Give start.q = [0.1, 0. ] at rest, or start.planned = true."
    )
    late = started(cart(), start=-0.5)
    with pytest.raises(InputError) as caught:
        law.solve(late)
    rate = max(np.roots([INERTIA, DAMPER, -SWING]).real)
    off = np.abs(falling(-0.5))
    worst = int(np.argmax(off))
    lead = math.log(off[worst] / 1e-4) / rate
    assert str(caught.value) == (
        f"the run must begin before the motion does: the internal eigenvalue {rate:+.3g} 1/s needs "
        f"pre-actuation, and at t = -0.5 s '{('th', 'v.th')[worst]}' is {off[worst]:.2g} "
        f"{('rad', 'rad/s')[worst]} from rest already. Begin {lead:.2g} s earlier, with start.t = "
        f"{-0.5 - lead:.3g} or less (and the duration longer by as much), or on the motion with "
        "start.planned = true."
    )
    law.solve(started(cart(), start=-0.5, planned=True))


# Outputs that are flat: the far end of a chain, whose input is its fourth derivative.

CHAIN = Robot.build(
    Lagrangian(
        coordinates={"near": "m", "far": "m"},
        kinetic="1.7/2*v.near**2 + 0.6/2*v.far**2",
        potential="15*(near - far)**2 + 2*far**2",
        inputs={"F": {"near": 2.0}},
    ),
    Options(force=[JointDamper(joint="far", damping=0.35)]),
    name="chain",
)


@pytest.mark.slow(but=["Flat(kind='flat', step=0.02)"])
@pytest.mark.parametrize("along", [Flat(), Flat(step=0.05), ServoDae(step=0.05)], ids=str)
def test_a_flat_motion_is_its_closed_form(along):
    row = (Expression(phi="far - 0.2*sin(3*t)", unit="m"),)
    found = along.solve(
        Task(robot=CHAIN, servo=row, q=np.zeros(2), v=np.zeros(2), start=0.1, duration=0.8)
    )
    for t in (0.1, 0.33, 0.51, 0.9):
        r = [0.2 * 3.0**k * np.sin(3.0 * t + k * np.pi / 2.0) for k in range(5)]
        near = [r[k] + (0.6 * r[k + 2] + 0.35 * r[k + 1] + 4.0 * r[k]) / 30.0 for k in range(3)]
        q, v = found.state(t)
        np.testing.assert_allclose(q, [near[0], r[0]], rtol=0.0, atol=1e-6)
        np.testing.assert_allclose(v, [near[1], r[1]], rtol=0.0, atol=1e-5)
        u = (1.7 * near[2] + 30.0 * (near[0] - r[0])) / 2.0
        np.testing.assert_allclose(found.input(t), [u], rtol=0.0, atol=1e-4)
