"""Rows of any relative degree: refused by the plain law, followed by the others, to 1e-6.

The independent solutions are the closed forms of chains and cranes: the path as a Beta integral,
each mass from its neighbour's equation of motion, trolley and rope from the direction of the force
on the load, all differentiated by sympy; and cranes written by hand as Newton's equations in
Cartesian coordinates, integrated under the inputs that were found.
"""

import dataclasses as dc

import numpy as np
import pytest

from ukctrl import Robot, Scenario, check, simulate
from ukctrl.control import (
    Feedforward,
    IoLinearisation,
    Servo,
    ServoDae,
    StableInversion,
    Task,
)
from ukctrl.control.feedback.linear_feedback import Baumgarte
from ukctrl.control.feedforward.inversion.flat_outputs import Flat
from ukctrl.core.errors import InputError
from ukctrl.mechanics.constraints import Expression, JointFollows
from ukctrl.mechanics.reference import MinJerk, RestToRest
from ukctrl.robot import Lagrangian
from ukctrl.simulation.assemble import Loop
from ukctrl_laws.io_linearisation import error_polynomial

SOLVED = {"rtol": 1e-6, "atol": 1e-6}
"""What a scenario must show against the independent solution; inputs in units of their peak."""
CRANES, CHAINS = (
    ("crane-planar", "crane-spatial"),
    ("two-mass-spring-far-solved", "four-mass-chain"),
)
G, MASS, BRIDGE, TROLLEY, WINCH, DRUM = 9.81, 100.0, 20.0, 10.0, 0.1, 0.1


def rest_to_rest(start, end, first, duration, still):
    """Return a path as sympy sees it: the normalised integral of tau^n (1 - tau)^n."""
    import sympy

    t = sympy.Symbol("t")
    tau = sympy.Symbol("tau")
    whole = sympy.integrate(sympy.expand((tau * (1 - tau)) ** still), tau)
    s = whole / whole.subs(tau, 1)
    moved = sympy.Rational(end) - sympy.Rational(start)
    return t, sympy.Rational(start) + moved * s.subs(tau, (t - first) / sympy.Rational(duration))


def evaluated(t, values, times):
    import sympy

    function = sympy.lambdify(t, values, "numpy", cse=True)
    return np.array([np.broadcast_to(row, times.shape) for row in function(times)]).T


def chain(masses, springs, rest, path, t):
    """Return the places of all masses and the force on the first, from the last mass's path."""
    x = [path]
    for i in reversed(range(len(springs))):
        pull = 0 if i + 1 == len(springs) else springs[i + 1] * (x[1] - x[0] - rest)
        x.insert(0, x[0] - rest + (masses[i + 1] * x[0].diff(t, 2) - pull) / springs[i])
    return x, masses[0] * x[0].diff(t, 2) - springs[0] * (x[1] - x[0] - rest)


def crane(load, t):
    """Return trolley, rope, rope's force on the load, and inputs, from the load's path."""
    import sympy

    force = [MASS * (p.diff(t, 2) + g) for p, g in zip(load, (0, 0, G), strict=True)]
    share = -load[2] / force[2]
    x, y = (p + share * f for p, f in zip(load[:2], force[:2], strict=True))
    size = sympy.sqrt(sum(f**2 for f in force))
    rope = share * size
    return x, y, rope, force, size - WINCH / DRUM**2 * rope.diff(t, 2)


CHAIN_DATA = {
    "two-mass-spring-far-solved": ([1, 2], [50], 0.5, (0.5, 1.5, 0, 2, 4)),
    "four-mass-chain": ([1, 1.5, 2, 1], [60, 50, 40], 0, (0, 1, 0, 4, 8)),
}


def chain_solution(name, times):
    masses, springs, rest, path = CHAIN_DATA[name]
    t, last = rest_to_rest(*path)
    x, F = chain(masses, springs, rest, last, t)
    times = np.minimum(times, path[3])  # and then at rest
    return evaluated(t, x, times), evaluated(t, [F], times)


def crane_solution(name, times):
    import sympy

    if name == "crane-planar":
        t, x = rest_to_rest(0, 5, 0, 4, 4)
        _, z = rest_to_rest(-4, -2, 0, 4, 4)
        s, _, rope, force, winch = crane((x, sympy.Integer(0), z), t)
        theta = sympy.atan2(x - s, -z)
        values = [s, rope, theta, TROLLEY * s.diff(t, 2) + force[0], winch]
        found = evaluated(t, values, np.minimum(times, 4.0 - 1e-12))
        return found[:, :3], found[:, 3:]
    t, x = rest_to_rest(0, 5, 0, 5, 4)
    _, y = rest_to_rest(0, 3, 0, 5, 4)
    rows = []
    legs = [
        (0.0, 2.5, rest_to_rest(-4, -2, 0, 2.5, 4)),
        (2.5, 6.1, rest_to_rest(-2, -3.5, 2.5, 2.5, 4)),
    ]
    for first, last, (_, z) in legs:
        cart_x, cart_y, rope, force, winch = crane((x, y, z), t)
        a, b = sympy.atan2(x - cart_x, -z), sympy.asin((y - cart_y) / rope)
        values = [cart_x, cart_y, rope, a, b]
        values += [(BRIDGE + TROLLEY) * cart_x.diff(t, 2) + force[0]]
        values += [TROLLEY * cart_y.diff(t, 2) + force[1], winch]
        part = times[(times >= first) & (times < last)]
        rows.append(evaluated(t, values, np.minimum(part, 5.0 - 1e-12)))
    found = np.vstack(rows)
    return found[:, :5], found[:, 5:]


def compared(name, times, q, u):
    expected_q, expected_u = (chain_solution if name in CHAINS else crane_solution)(name, times)
    np.testing.assert_allclose(q, expected_q, **SOLVED)
    peak = np.abs(expected_u).max()
    np.testing.assert_allclose(u / peak, expected_u / peak, **SOLVED)


@pytest.mark.slow(but=["two-mass-spring-far-solved"])
@pytest.mark.parametrize(
    "name", [*CHAINS, CRANES[0], pytest.param(CRANES[1], marks=pytest.mark.slow)]
)
def test_the_scenario_is_solved_as_the_closed_form_has_it(name):
    run = simulate(Scenario.load(name))
    assert run.status == "completed", run.message
    compared(name, run.time, run["q"], run["u"])


def task_of(scenario):
    return Loop(scenario.replace({"controller": {"use": "servo-baumgarte"}})).law.task


@pytest.mark.slow(only=["four-mass-chain", "crane-planar"])
@pytest.mark.parametrize(
    "name", [*CHAINS, CRANES[0], pytest.param(CRANES[1], marks=pytest.mark.slow)]
)
def test_the_flat_motion_is_the_closed_form(name):
    task = task_of(Scenario.load(name))
    nominal = Flat().solve(task)
    times = task.start + np.linspace(0.0, task.duration, 83)[1:-1]
    states = [nominal.state(t)[0] for t in times.tolist()]
    compared(name, times, np.array(states), np.array([nominal.input(t) for t in times.tolist()]))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "inversion"),
    [
        ("two-mass-spring-far-solved", ServoDae),
        ("two-mass-spring-far-solved", StableInversion),
        (CRANES[0], StableInversion),
        pytest.param(CRANES[1], ServoDae, marks=pytest.mark.slow),
        pytest.param(CRANES[0], ServoDae, marks=pytest.mark.slow),
        pytest.param(CRANES[1], StableInversion, marks=pytest.mark.slow),
    ],
)
def test_the_dae_has_the_closed_form_at_its_knots_and_between_them(name, inversion):
    """Also beside the end of the path, where the input has a corner."""
    scenario = Scenario.load(name)
    task, end = task_of(scenario), scenario.timing.duration - 1.0
    if name == "two-mass-spring-far-solved":
        end = 2.0
    nominal = (ServoDae() if inversion is ServoDae else StableInversion(until=end)).solve(task)
    times = np.append(nominal.times[1:-1:5], end + np.linspace(-0.03, 0.03, 25))
    states = [nominal.state(t)[0] for t in times.tolist()]
    compared(name, times, np.array(states), np.array([nominal.input(t) for t in times.tolist()]))


@pytest.mark.parametrize("inversion", [ServoDae(), StableInversion(until=4.0)])
def test_the_dae_is_refused_where_the_degree_is_too_high_for_it(inversion):
    with pytest.raises(InputError, match="degree 4 at most; that of row 'last.x4' is 8") as refused:
        inversion.solve(task_of(Scenario.load("four-mass-chain")))
    assert str(refused.value).endswith(
        'Use kind = "io_linearisation"; or a motion worked out before the run, kind = '
        '"feedforward" or "tvlqr" with along.kind = "flat".'
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "degrees"),
    [
        ("two-mass-spring-far-solved", "its relative degree is 4."),
        ("four-mass-chain", "its relative degree is 8."),
        ("crane-planar", "through 1 of 2 channels: together their relative degree is 4, 4,"),
        pytest.param(
            "crane-spatial",
            "through 1 of 3 channels: together their relative degree is 4, 4, 4,",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_the_plain_law_is_refused_with_the_right_relative_degree(name, degrees):
    plain = Scenario.load(name).replace({"controller": {"use": "servo-baumgarte"}})
    found = check(plain)
    assert not found.ok
    assert any(degrees in problem for problem in found.problems), found.problems
    assert any('along.kind = "flat"' in problem for problem in found.problems)
    run = simulate(plain)
    assert run.status == "infeasible"
    assert degrees in run.message


@pytest.mark.slow
def test_the_load_follows_its_path_by_the_inputs_alone_in_newtons_equations():
    """Independent plant: Cartesian coordinates, the rope's force from its constraint."""
    from scipy.integrate import solve_ivp

    task = task_of(Scenario.load("crane-spatial"))
    nominal = Flat().solve(task)
    masses = np.array([BRIDGE + TROLLEY, TROLLEY])

    def rate(t, w):
        cart, load, rope = w[:2], w[2:5], w[5]
        cart_v, load_v, rope_v = w[6:8], w[8:11], w[11]
        Fx, Fy, winch = nominal.input(t)
        arm, arm_v = np.array([*cart, 0.0]) - load, np.array([*cart_v, 0.0]) - load_v
        e = arm / rope
        # arm' arm = rope^2 twice differentiated; every acceleration is linear in the tension T.
        free = np.array([Fx, Fy]) / masses
        pull = -e[:2] / masses
        haul = -winch / (WINCH / DRUM**2)
        left = e @ (np.array([*pull, 0.0]) - e / MASS) - 1.0 / (WINCH / DRUM**2)
        right = haul + (rope_v**2 - arm_v @ arm_v) / rope - e @ np.array([*free, G])
        T = right / left
        accelerations = [
            *(free + pull * T), *(e * T / MASS - [0.0, 0.0, G]), haul + T / (WINCH / DRUM**2)
        ]  # fmt: skip
        return np.concatenate([cart_v, load_v, [rope_v], accelerations])

    start = np.concatenate([[0.0, 0.0, 0.0, 0.0, -4.0, 4.0], np.zeros(6)])
    times = np.linspace(0.0, 5.0, 21)
    path = task.servo[0].path
    found = solve_ivp(
        rate, (0.0, 5.0), start, t_eval=times, method="DOP853", rtol=1e-11, atol=1e-12
    )
    np.testing.assert_allclose(found.y[2:5].T, path.sample(times).r, **SOLVED)


def elastic_arm(along):
    """Return a task for the links of an arm with elastic joints, or of the same arm in text."""
    path = RestToRest(points=((0.0, 0.0), (0.8, -0.5)), duration=1.5, still=4)
    servo = (JointFollows(joints=("q2", "q4"), path=path),)
    robot = Robot.load("flexible_joint_arm") if along else in_text()
    return Task(robot=robot, servo=servo, q=np.zeros(4), v=np.zeros(4), start=0.6, duration=0.04)


LENGTHS = {"lc1": 0.5, "lc2": 0.5, "g": 9.81}


def in_text():
    return Robot.build(
        Lagrangian(
            coordinates=["q2", "q4", "p2", "p4"],
            kinetic=[
                "(m1*lc1**2 + I1)/2*v.q2**2",
                "m2/2*(l1**2*v.q2**2 + lc2**2*(v.q2 + v.q4)**2)",
                "m2*l1*lc2*cos(q4)*v.q2*(v.q2 + v.q4)",
                "I2/2*(v.q2 + v.q4)**2",
                "(v.p2**2 + v.p4**2)/2",
            ],
            potential=[
                "-(m1*lc1 + m2*l1)*g*cos(q2) - m2*lc2*g*cos(q2 + q4)",
                "((p2 - q2)**2 + (p4 - q4)**2)/2",
            ],
            parameters={**dict.fromkeys(("m1", "m2", "l1", "I1", "I2"), 1.0), **LENGTHS},
            inputs={"u1": {"p2": 1.0}, "u2": {"p4": 1.0}},
        )
    )


@pytest.mark.slow
def test_outputs_of_a_robot_that_is_no_formula_are_inverted_by_the_measured_derivatives():
    """Elastic joints, whose springs are no formulas, against the same arm written in text."""
    exact = Flat(step=0.01).solve(elastic_arm(False))
    q, v = exact.state(0.6)
    measured = Flat(step=0.01).solve(dc.replace(elastic_arm(True), q=q + 0.01, v=v))
    for t in (0.6, 0.613, 0.627, 0.64):
        (q, v), (expected_q, expected_v) = measured.state(t), exact.state(t)
        np.testing.assert_allclose(q, expected_q, **SOLVED)
        np.testing.assert_allclose(v, expected_v, **SOLVED)
        np.testing.assert_allclose(measured.input(t), exact.input(t), rtol=1e-5, atol=1e-5)


@pytest.mark.slow
def test_the_law_gives_a_robot_that_is_no_formula_the_input_of_its_formulas():
    law = IoLinearisation(alpha=10.0, beta=25.0)
    state = np.array([0.1, -0.1, 0.2, 0.1]), np.array([0.3, 0.2, -0.1, 0.4])
    u, expected = (law.start(elastic_arm(along)).command(0.4, *state).u for along in (True, False))
    np.testing.assert_allclose(u, expected, rtol=1e-7)


@pytest.mark.parametrize("degree", [1, 2, 3, 4, 8])
def test_the_error_polynomial_at_critical_damping_is_the_binomial(degree):
    expected = np.poly(np.full(degree, -3.0))[::-1]
    np.testing.assert_allclose(error_polynomial(6.0, 9.0, degree), expected, rtol=1e-13)


def test_the_error_polynomial_of_degree_two_is_the_feedbacks():
    np.testing.assert_allclose(error_polynomial(5.0, 7.0, 2), [7.0, 5.0, 1.0])


LEAST_NORM = {"kind": "least_norm"}


def test_on_rows_with_grip_the_law_is_baumgartes():
    robot = Robot.load("two_link")
    path = MinJerk(points=((0.1, 0.2), (1.0, -1.0)), duration=2.0)
    servo = (JointFollows(joints=("shoulder", "elbow"), path=path),)
    q, v = np.array([0.3, 0.5]), np.array([0.1, -0.2])
    task = Task(robot=robot, servo=servo, q=robot.neutral, v=v, duration=2.0)
    at = (0.7, robot.integrate(robot.neutral, q), v)
    ours = IoLinearisation(alpha=8.0, beta=20.0).start(task).command(*at).u
    plain = Servo(feedback=Baumgarte(alpha=8.0, beta=20.0)).start(task).command(*at).u
    np.testing.assert_allclose(ours, plain, rtol=1e-9)


def test_an_error_decays_as_the_polynomial_says():
    scenario = Scenario.load("two-mass-spring-far-solved").replace(
        {"start": {"q": {"x1": 0.05, "x2": 0.55}}, "timing": {"duration": 1.0, "sample": 0.05}}
    )
    run = simulate(scenario)
    t = run.time
    # y(0) = 0.05 and no derivative: y = 0.05 e^(-5t) (1 + 5t + (5t)^2/2 + (5t)^3/6).
    decay = 0.05 * np.exp(-5 * t) * (1 + 5 * t + (5 * t) ** 2 / 2 + (5 * t) ** 3 / 6)
    np.testing.assert_allclose(run["phi"][:, 0], decay, rtol=0.0, atol=1e-8)


def three_masses(*rows, path=None):
    robot = Robot.build(
        Lagrangian(
            coordinates=dict.fromkeys(("x1", "x2", "x3"), "m"),
            kinetic="(v.x1**2 + v.x2**2 + v.x3**2)/2",
            potential="20*(x2 - x1)**2 + 10*(x3 - x2)**2",
            inputs={"F": {"x1": 1.0}},
        )
    )
    servo = tuple(Expression(phi=row, name="row", path=path) for row in rows)
    return Task(robot=robot, servo=servo, q=np.zeros(3), v=np.zeros(3), duration=1.0)


def test_a_task_that_is_not_flat_is_refused_with_what_remains():
    with pytest.raises(InputError, match="4 of 6 states are fixed by the rows; 2 remain as int"):
        Flat().solve(three_masses("x2"))
    with pytest.raises(InputError, match="as many rows as the robot has inputs, 1, .* got 2"):
        Flat().solve(three_masses("x2", "x3"))


def test_rows_that_share_a_channel_are_refused_by_the_law_and_told_what_to_use():
    task = task_of(Scenario.load("crane-planar"))
    with pytest.raises(InputError, match="must each have an input of their own") as refused:
        IoLinearisation(alpha=10.0, beta=25.0).start(task)
    assert 'along.kind = "flat"' in str(refused.value)


def test_a_path_that_is_not_smooth_enough_is_refused_by_law_and_inversion():
    task = three_masses("x3", path=MinJerk(points=(0.0, 1.0), duration=1.0))
    for start in (IoLinearisation(alpha=10.0, beta=25.0).start, Flat().solve):
        with pytest.raises(InputError, match=r"servo\[0\].path must have 5 continuous derivatives"):
            start(task)
    far = dc.replace(
        task_of(Scenario.load("two-mass-spring-far-solved")),
        servo=(JointFollows(joints=("x2",), path=MinJerk(points=(0.5, 1.5), duration=2.0)),),
    )
    with pytest.raises(InputError, match=r"servo\[0\].path must have 3 continuous derivatives"):
        ServoDae().solve(far)


def test_the_law_counts_the_states_that_it_leaves_to_themselves():
    law = IoLinearisation(alpha=10.0, beta=25.0).start(three_masses("x2"))
    assert (law.degrees, law.vector_degree.internal) == ([4], 2)


@pytest.mark.slow
def test_the_feed_forward_alone_carries_the_load():
    scenario = Scenario.load("crane-planar").replace({"controller": {"use": "feedforward-flat"}})
    assert isinstance(scenario.controller, Feedforward)
    run = simulate(scenario)
    assert run.metric("peak_phi") < 1e-6


@pytest.mark.parametrize("name", ["scara-helix", "two-mass-spring"])
def test_a_run_on_rows_with_grip_is_that_of_the_servo_law(name):
    gains = {"alpha": 20.0, "beta": 400.0}
    short = {"timing.duration": 0.01, "timing.sample": 0.002}
    laws = (
        {"kind": "servo", "feedback": {"kind": "baumgarte", **gains}, "allocation": LEAST_NORM},
        {"kind": "io_linearisation", **gains},
    )
    one, other = (simulate(Scenario.load(name, {**short, "controller": law})) for law in laws)
    assert one.status == other.status == "completed"
    rounding = 1e-9
    np.testing.assert_allclose(one["u"], other["u"], rtol=rounding, atol=rounding)


ELASTIC = """
title = "links behind springs"
robot = "flexible_joint_arm"
start = {{ q = {{}}, springs = "loaded" }}
controller.use = "{card}"
timing = {{ duration = 0.2, sample = 0.01 }}
[[servo]]
kind = "joint_follows"
joints = ["q2", "q4"]
path = {{ kind = "rest_to_rest", points = [[0.0, 0.0], [0.4, -0.2]], duration = 0.4, still = 5 }}
"""


@pytest.fixture
def elastic(tmp_path):
    """Links behind springs, under a card."""

    def of(card):
        path = tmp_path / "elastic.toml"
        path.write_text(ELASTIC.format(card=card), encoding="utf-8")
        return Scenario.load(path)

    return of


@pytest.mark.slow
def test_links_behind_springs_are_flat_outputs_and_planning_tells_how_far_it_is(elastic):
    told = []
    run = simulate(elastic("feedforward-flat"), planning=lambda *reached: told.append(reached))
    assert run.status == "completed"
    assert np.abs(run["phi"]).max() < 1e-6  # nothing brings an error back
    assert {whole for _, whole in told} == {0.2}
    assert told[-1][0] == pytest.approx(0.2)
    assert len({reached for reached, _ in told}) > 10


def test_planning_can_be_stopped(elastic):
    def stop(reached, duration):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        simulate(elastic("feedforward-flat"), planning=stop)


@pytest.mark.slow
def test_links_behind_springs_are_followed_by_the_law_for_any_degree(elastic):
    run = simulate(elastic("io-linearisation"))
    assert run.status == "completed"
    assert np.abs(run["phi"]).max() < 1e-8
