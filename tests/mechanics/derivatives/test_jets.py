"""Derivatives of rows along motions: exact where formulas are, measured elsewhere, and the same."""

import sys
from functools import partial

import numpy as np
import pytest

from ukctrl import Robot
from ukctrl.core.compiled import config
from ukctrl.core.errors import InputError, UkctrlError
from ukctrl.core.expression.codegen import compile_function
from ukctrl.mechanics.constraints import Expression, Gear, JointFollows, PointFollows, Stack
from ukctrl.mechanics.derivatives import Jets, SampledJets, check_smooth, formula_jets, jets_of
from ukctrl.mechanics.derivatives.path_smoothness import TaylorPath, breakpoints, commensurate_step
from ukctrl.mechanics.dynamics import Dynamics
from ukctrl.mechanics.reference import Circle, MinJerk, Repeated, RestToRest, Stacked
from ukctrl.robot import Functions, Lagrangian

ROUNDING = {"rtol": 1e-10, "atol": 1e-10}
MEASURED = {"rtol": 1e-7, "atol": 1e-7}  # four derivatives, two of them by the spectral method
GROWN = 100.0
"""How far beyond its own estimate the measured error may be."""


def furuta(changed=str):
    """A Furuta pendulum in text, with friction; gravity in its potential."""
    return Robot.build(
        Lagrangian(
            coordinates=["arm", "pole"],
            kinetic=[
                "(J1 + m*L**2 + J*sin(pole)**2)/2*v.arm**2",
                "m*L*r*cos(pole)*v.arm*v.pole + J/2*v.pole**2",
            ],
            potential="-m*9.81*r*cos(pole)",
            dissipation=changed("0.05*v.arm**2/2"),
            parameters={"J1": 0.6, "m": float(changed("0.5")), "L": 0.9, "J": 0.4, "r": 0.6},
            inputs={"tau": {"arm": changed("1 + 0.1*cos(pole)")}},
        )
    )


def states(robot, count=3):
    rng = np.random.default_rng(3)
    for _ in range(count):
        yield (
            rng.uniform(0.0, 1.0), rng.uniform(-0.5, 0.5, robot.nq),
            rng.uniform(-0.5, 0.5, robot.nv), rng.uniform(-2.0, 2.0, (3, robot.nu)),
        )  # fmt: skip


def rows(robot, path):
    return Stack(
        (
            JointFollows(joints=("pole",), path=path),
            Expression(phi="sin(arm + pole) - 0.2*t**3", name="sine"),
            Expression(psi="v.pole*cos(arm) - exp(-t)", name="rate"),
        ),
        robot,
    )


def test_what_an_input_reaches_at_once_is_measured_without_a_motion(monkeypatch):
    """Laws ask for it thousands of times a second of the run, of which most would be spent."""
    stack = Stack((JointFollows(joints=("pole",), path=PATH),), furuta())
    exact, measured = formula_jets(stack), SampledJets(stack)
    monkeypatch.setattr(SampledJets, "_values", None)
    for t, q, v, U in states(stack.robot):
        for order in (0, 1, 2):
            found, expected = (jets.derivatives(t, q, v, U, order) for jets in (measured, exact))
            np.testing.assert_allclose(found, expected, **ROUNDING)


PATH = RestToRest(points=((0.0,), (1.0,)), duration=2.0, still=6)


@pytest.mark.slow
def test_the_measured_derivatives_are_those_of_the_formulas():
    robot = furuta()
    stack = rows(robot, PATH)
    exact, measured = formula_jets(stack), SampledJets(stack)
    for t, q, v, U in states(robot):
        found, expected = (jets.derivatives(t, q, v, U, 4) for jets in (measured, exact))
        np.testing.assert_allclose(found, expected, **MEASURED)
        error = np.abs(found - expected).max(axis=1)
        assert (
            error <= GROWN * (measured.uncertainty + np.abs(expected).max(axis=1) * 1e-14)
        ).all()


def test_formulas_of_derivatives_are_stored_to_the_last_digit(monkeypatch, tmp_path):
    monkeypatch.setattr(config, "CACHE_DIR", str(tmp_path))
    module, derived = sys.modules[formula_jets.__module__], []

    def counted(*given):
        derived.append(given)
        return compile_function(*given)

    monkeypatch.setattr(module, "compile_function", counted)

    def answers(robot):
        # as another process, which remembers nothing
        for kept in (module._compiled_equation_derivative, module._compiled_rows):
            kept.cache_clear()
        jets, before = formula_jets(rows(robot, PATH)), len(derived)
        found = [jets.derivatives(*state, 4) for state in states(robot)]
        return np.array(found), len(derived) - before

    first, made = answers(furuta())
    again, made_again = answers(furuta())
    assert made > 0
    assert made_again == 0
    np.testing.assert_array_equal(first, again)
    # a mass, a friction and a lever that are off by a rounding are other formulas
    for old, new in (("0.5", "0.5000000000000001"), ("0.05*", "0.05000000000000001*"),
                     ("1 + 0.1*", "1 + 0.10000000000000002*")):  # fmt: skip
        _, made = answers(furuta(lambda text, old=old, new=new: text.replace(old, new)))
        assert made > 0, old


def test_the_motion_is_found_order_by_order_without_rounds(monkeypatch):
    """Laws ask at every tick: a tick of an elastic arm took 800 evaluations of the robot."""
    asked = []
    move = Dynamics.move
    monkeypatch.setattr(Dynamics, "move", lambda *a: (asked.append(a), move(*a))[1])
    jets = SampledJets(rows(furuta(), PATH))
    for t, q, v, U in states(jets.robot):
        for order, most in ((3, 80), (4, 120)):
            asked.clear()
            jets.derivatives(t, q, v, U, order)
            assert 19 < len(asked) <= most


@pytest.mark.parametrize("speed", [1.0, 10.0, 100.0])
@pytest.mark.parametrize("push", [1.0, 1e2, 1e4])
def test_fast_motions_are_resolved_however_short_they_have_to_be(speed, push):
    """An interval far too wide, and one a little less, were once taken for rounding: both err."""
    stack, rng = rows(furuta(), PATH), np.random.default_rng(0)
    exact, measured = formula_jets(stack), SampledJets(stack)
    q, v = rng.uniform(-0.5, 0.5, 2), speed * rng.uniform(-1.0, 1.0, 2)
    at = 0.3, q, v, push * rng.uniform(-1.0, 1.0, (3, 1)), 4
    found, expected = measured.derivatives(*at), exact.derivatives(*at)
    size = np.abs(expected).max(axis=1, keepdims=True)
    np.testing.assert_allclose(found / size, expected / size, **MEASURED)


def turning_base():
    """A base whose freedoms do not commute, and an arm with springs between motors and links."""
    elastic = {"stiffness": 50.0, "motor_inertia": 0.2}
    return Robot.load("floating_arm", override={"elastic": elastic})


def tool(robot):
    path = Circle(center=(0.5, 0.0, 0.3), radius=0.2, period=2.0, normal=(1.0, 0.0, 1.0))
    return Stack([PointFollows(frame="tool", path=path)], robot)


def elastic_panda(damping):
    override = {"elastic": {"stiffness": 4e3, "motor_inertia": 0.1, "damping": damping}}
    return Robot.load("panda_elastic", override=override)


def links_and_motor(robot):
    """A link behind its spring, and the motor of another."""
    servo = [Expression(phi="sin(joint2)*cos(joint4)"), Expression(phi="joint6_motor")]
    return Stack([*servo, *tool(robot).constraints], robot)


def springs_at_rest(robot, q):
    """Return a configuration with its motors where their springs are at rest."""
    q = q.copy()
    q[robot.elastic.motor_coordinates] = robot.elastic.angles(q)
    return q


@pytest.mark.parametrize(
    ("robot", "rows", "degrees"),
    [
        (turning_base, tool, (4, 4, 4)),
        (partial(elastic_panda, 0.0), links_and_motor, (4, 2, 4, 4, 4)),
        (partial(elastic_panda, 5.0), links_and_motor, (3, 2, 3, 3, 3)),
        (
            partial(Robot.load, "flexible_joint_arm"),
            lambda r: Stack([Expression(phi="q2")], r),
            (4,),
        ),
    ],
    ids=["floating", "springs", "dampers", "formulas"],
)
def test_what_inputs_add_is_what_pushes_on_each_of_them_show(robot, rows, degrees):
    robot = robot()
    stack, rng = rows(robot), np.random.default_rng(1)
    jets, push = SampledJets(stack), np.ones(robot.nu)
    for _ in range(3):
        q = springs_at_rest(robot, robot.random(rng))
        v = 0.3 * rng.standard_normal(robot.nv)
        drift, E = jets.with_inputs(0.2, q, v, degrees, push)
        expected, pushed = Jets.with_inputs(jets, 0.2, q, v, degrees, push)
        np.testing.assert_array_equal(drift, expected)
        size = np.abs(pushed).max(axis=1, keepdims=True)
        np.testing.assert_allclose(E / size, pushed / size, rtol=0.0, atol=1e-7)


def test_what_inputs_add_is_a_derivative_of_the_rows_acceleration_on_a_base_that_turns():
    """Along the inputs for degree 3, along their Lie bracket with the motion for degree 4."""
    robot = Robot.load("floating_arm")
    stack, rng = tool(robot), np.random.default_rng(4)
    t, q, v = 0.3, robot.random(rng), rng.standard_normal(robot.nv)
    dynamics, still = Dynamics(robot), np.zeros(robot.nv)

    def slope(value, dq, dv):
        step, sides = 1e-5, []
        for e in (-step, step):
            dynamics.move(t, robot.integrate(q, e * dq), v + e * dv)
            sides.append(value())
        return (sides[1] - sides[0]) / (2.0 * step)

    def acceleration():
        rows = stack.write(dynamics.snapshot)
        return rows.A @ dynamics.a_free - rows.b

    dynamics.move(t, q, v)
    G = dynamics.G.copy()
    G_rate = slope(lambda: dynamics.G.copy(), v, still)
    along = [slope(lambda: dynamics.a_free.copy(), still, g) for g in G.T] - G_rate.T
    third = np.transpose([slope(acceleration, still, g) for g in G.T])
    fourth = np.transpose([slope(acceleration, g, w) for g, w in zip(G.T, along, strict=True)])
    for degree, expected in ((3, third), (4, fourth)):
        _, E = SampledJets(stack).with_inputs(t, q, v, (degree,) * 3, np.ones(robot.nu))
        np.testing.assert_allclose(E, expected, rtol=0.0, atol=1e-7 * np.abs(expected).max())


def test_a_tick_of_an_arm_with_elastic_joints_follows_one_motion(monkeypatch):
    """It followed two for each input and two without: 400 evaluations for seven motors."""
    robot = elastic_panda(0.0)
    jets, v = SampledJets(tool(robot)), np.full(robot.nv, 0.2)
    q = springs_at_rest(robot, robot.home)
    asked = []
    move = Dynamics.move
    monkeypatch.setattr(Dynamics, "move", lambda *a: (asked.append(a), move(*a))[1])
    jets.with_inputs(0.1, q, v, (4, 4, 4), np.ones(robot.nu))
    assert 19 < len(asked) <= 60


@pytest.mark.parametrize("jets", [formula_jets, SampledJets])
def test_the_first_derivatives_are_the_rows_own(jets):
    robot = furuta()
    stack, dynamics = rows(robot, PATH), Dynamics(robot)
    derived = jets(stack)
    for t, q, v, U in states(robot):
        dynamics.move(t, q, v)
        own = stack.write(dynamics.snapshot)
        a = dynamics.acceleration(U[0])
        found = derived.derivatives(t, q, v, U, 2)
        np.testing.assert_allclose(found[:2, :2], [own.phi[:2], own.beta[:2]], **ROUNDING)
        np.testing.assert_allclose(found[2, :2], (own.A @ a - own.b)[:2], **ROUNDING)
        np.testing.assert_allclose(found[0, 2], own.beta[2], **ROUNDING)
        np.testing.assert_allclose(found[1, 2], (own.A @ a - own.b)[2], **ROUNDING)


def test_they_are_the_derivatives_of_the_simulated_motion():
    """Independent route: the motion by an integrator, and a polynomial fitted to its rows."""
    from scipy.integrate import solve_ivp

    robot = furuta()
    stack, dynamics = rows(robot, PATH), Dynamics(robot)
    exact = formula_jets(stack)
    t, q, v, U = next(states(robot))

    def rate(tau, x):
        u = U[0] + U[1] * tau + U[2] * tau**2 / 2.0
        dynamics.move(t + tau, x[:2], x[2:])
        return np.concatenate([x[2:], dynamics.acceleration(u)])

    taus = 0.2 * np.cos(np.pi * (np.arange(15) + 0.5) / 15)
    values = []
    for tau in taus:
        end = solve_ivp(
            rate, (0.0, tau), [*q, *v], method="DOP853", rtol=1e-13, atol=1e-14
        ).y[:, -1]  # fmt: skip
        dynamics.move(t + tau, end[:2], end[2:])
        values.append(stack.write(dynamics.snapshot).phi[:2].copy())
    series = np.polynomial.Chebyshev.fit(taus, np.array(values)[:, 1], 14, domain=[-0.2, 0.2])
    expected = [series.deriv(k)(0.0) for k in range(5)]
    found = exact.derivatives(t, q, v, U, 4)[:, 1]
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)


def test_a_robot_of_a_model_file_gives_the_derivatives_of_its_formulas():
    """The tip of the cart-pole, of the URDF and written by hand (Lozano et al. 2000)."""
    path = Stacked(parts=[RestToRest(points=((x,), (x + 0.3,)), duration=2.0, still=6)
                          for x in (0.1, 0.0, -0.5)])  # fmt: skip
    model = Robot.load("cart_pole")
    by_hand = Robot.build(
        Lagrangian(
            coordinates={"cart": "m", "pole": "rad"},
            kinetic="0.4*v.cart**2 + 0.23*0.3302*cos(pole)*v.cart*v.pole"
            " + (0.00788 + 0.23*0.3302**2)/2*v.pole**2",
            potential="-0.23*9.81*0.3302*cos(pole)",
            inputs={"F": {"cart": 1.0}},
        )
    )
    x, z = path.parts[0], path.parts[2]
    measured = SampledJets(Stack([PointFollows(frame="tip", path=path)], model))
    exact = formula_jets(
        Stack(
            (
                Expression(phi=f"cart + 0.6413*sin(pole) - ({_text(x)})", name="x"),
                Expression(phi=f"-0.6413*cos(pole) - ({_text(z)})", name="z"),
            ),
            by_hand,
        )
    )
    for t, q, v, U in states(by_hand):
        at = np.array([q[0], np.cos(q[1]), np.sin(q[1])])
        found = measured.derivatives(t, at, v, U, 4)[:, [0, 2]]
        np.testing.assert_allclose(found, exact.derivatives(t, q, v, U, 4), rtol=1e-6, atol=1e-6)


def _text(path):
    coefficients = path.pieces.coefficients[0, :, 0]
    return " + ".join(f"({c!r})*t**{k}" for k, c in enumerate(coefficients.tolist()))


def test_across_the_seam_of_a_path_the_derivatives_are_those_of_one_side():
    """The path is made of pieces; at a knot the spectral method must not smooth over it."""
    robot = furuta()
    path = Repeated(path=MinJerk(points=(0.0, 1.0, 0.0), duration=1.0), period=1.0)
    stack = rows(robot, path)
    t, q, v, U = 0.5, np.array([0.1, 0.2]), np.array([0.3, 0.1]), np.zeros((1, 1))
    found = SampledJets(stack).derivatives(t, q, v, U, 4)
    np.testing.assert_allclose(found, formula_jets(stack).derivatives(t, q, v, U, 4), **MEASURED)


def test_what_is_no_formula_is_measured():
    text, model = furuta(), Robot.load("acrobot")
    assert formula_jets(Stack([Gear(joints=("arm", "pole"), ratio=2.0)], text)) is None
    assert formula_jets(Stack([Expression(phi="elbow")], model)) is None
    elastic = Robot.load("flexible_joint_arm")  # its springs are no formulas
    assert not jets_of(Stack([Expression(phi="q2")], elastic), 4).exact
    assert jets_of(Stack([Expression(phi="arm")], text), 4).exact


@pytest.mark.parametrize(
    ("step", "gaps", "divided"),
    [
        (0.3, [], 0.3),
        (0.1, [0.3], 0.1),
        (0.3, [1.0], 0.25),
        (0.3, [1.0, 0.3], 0.1),
        (0.4, [1.0, 0.3], 0.4),  # of 1 s no more than nine parts are tried: none fits 0.3 s
        (0.1, [0.3 * (1.0 - 1e-10)], 0.1),
        (1.0, [0.5, 0.25], 0.25),
    ],
)
def test_a_step_that_divides_all_gaps_is_the_longest_of_few(step, gaps, divided):
    np.testing.assert_allclose(commensurate_step(step, gaps), divided, rtol=1e-9)


def test_the_ends_of_pieces_of_all_paths_are_breaks_once_and_in_order():
    robot = furuta()
    paths = [
        Repeated(path=MinJerk(points=(0.0, 1.0, 0.0), duration=d), period=d) for d in (1.0, 0.75)
    ]
    constraints = [
        JointFollows(joints=(j,), path=p) for j, p in zip(robot.dofs, paths, strict=True)
    ]
    every = {t for path in paths for t in path.breaks(0.1, 1.6)}
    assert breakpoints(constraints, 0.1, 1.6) == sorted(every)
    assert len(every) > 3
    assert breakpoints([Expression(phi="arm")], 0.0, 1.0) == []


def test_a_path_and_its_polynomial_touch_to_the_order_asked_for():
    path = Circle(center=(0.1, 0.2, 0.0), radius=0.3, period=2.0)
    touching = TaylorPath(path)
    assert touching.size == path.size
    touching.expand_about(0.4, 5)
    np.testing.assert_allclose(touching(0.4), path(0.4), **ROUNDING)
    series, follow = path.series(0.4, 5), touching.compile()
    for t in (0.4, 0.41, 0.3):
        powers = (t - 0.4) ** np.arange(len(series))
        np.testing.assert_allclose(follow(t)[:3], powers @ series, **ROUNDING)
    h = 1e-5
    slopes = (np.array(follow(0.41 + h)) - follow(0.41 - h)) / (2.0 * h)
    np.testing.assert_allclose(follow(0.41)[3:], slopes[:6], rtol=1e-7, atol=1e-7)


def test_a_path_with_too_few_continuous_derivatives_is_refused_by_name():
    stack = rows(furuta(), MinJerk(points=(0.0, 1.0), duration=1.0))
    check_smooth(stack, (3, 4, 3))
    with pytest.raises(InputError) as caught:
        check_smooth(stack, (4, 4, 3))
    assert str(caught.value) == (
        "servo[0].path must have 3 continuous derivatives, one less than the relative degree of "
        'its rows; it has 2. Use kind = "rest_to_rest" with still = 3 or more, or a formula.'
    )


def test_rows_along_a_motion_that_is_not_smooth_are_not_differentiated():
    kinked = Functions(coordinates=["x"], M=lambda q: [[1.0]], nle=lambda q, v: [np.sign(q[0])])
    robot = Robot.build(kinked)
    jets = SampledJets(Stack([Expression(phi="x")], robot))
    with pytest.raises(UkctrlError) as caught:
        jets.with_inputs(0.5, np.zeros(1), np.ones(1), (4,), np.ones(robot.nu))
    assert str(caught.value) == (
        "a motion from the state at t = 0.5 s must be smooth enough to be differentiated; it was "
        "not resolved within any time."
    )
