"""The fastest timing of a path: closed forms, a linear program, phase planes, exact half-spaces."""

from __future__ import annotations

import itertools
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.integrate import quad, solve_ivp
from scipy.interpolate import make_interp_spline
from scipy.optimize import brentq, linprog

from ukctrl import Robot
from ukctrl.core.errors import InputError
from ukctrl.mechanics.dynamics import Dynamics
from ukctrl.mechanics.timing import GeometricPath, PathLimits, TimingLimits, time_optimal
from ukctrl.mechanics.timing.clock import clock_from_profile, clock_states, smooth_clock
from ukctrl.mechanics.timing.input_zonotope import input_zonotope
from ukctrl.mechanics.timing.reachability import (
    LinearPathLimits,
    NoFeasibleProfile,
    fastest_profile,
    passage_times,
)
from ukctrl.mechanics.timing.time_optimal import _refusal, describe_binding
from ukctrl.robot import DryFriction, JointDamper, JointMotor, Lagrangian, Options

EXACT = {"rtol": 1e-9, "atol": 1e-12}


def cart(distance, points, *forces, **limits):
    """Return the limits of a cart of 2 kg with 3 N and, if given, a damper, along a distance."""
    robot = Robot.build(
        Lagrangian(coordinates={"x": "m"}, kinetic="v.x**2", potential="0*x", parameters={}),
        Options(actuator=[JointMotor(name="F", joint="x", limit=3.0)], force=list(forces)),
    )
    s = np.linspace(0.0, 1.0, points + 1)
    one = np.ones((points + 1, 1))
    path = GeometricPath(s, distance * s[:, None], distance * one, 0.0 * one)
    dynamics = Dynamics(robot)
    return PathLimits(path, lambda at: dynamics, TimingLimits(**limits))


@pytest.mark.parametrize("points", [10, 64, 200])
@pytest.mark.parametrize("distance", [0.01, 1.0, 40.0])
def test_a_double_integrator_is_driven_as_its_closed_form_has_it(distance, points):
    timed = time_optimal(cart(distance, points))
    assert timed.duration == pytest.approx(2.0 * np.sqrt(distance / 1.5), rel=1e-9)
    assert set(timed.binding) == {("motor 'F'",)}


def test_a_part_of_the_limits_takes_longer_by_the_root_of_it():
    whole, part = (time_optimal(cart(1.0, 50, share=share)).duration for share in (1.0, 0.25))
    assert part == pytest.approx(2.0 * whole, rel=1e-9)


def test_a_largest_acceleration_binds_where_it_is_less_than_what_motors_give():
    timed = time_optimal(cart(1.0, 50, acceleration={"x": 0.5}))
    assert timed.duration == pytest.approx(2.0 * np.sqrt(2.0), rel=1e-9)
    assert set(timed.binding) == {("acceleration of 'x'",)}


@pytest.mark.parametrize(
    ("part", "used", "binds"),
    [(0.5, 1.0, "speed of 'x'"), (2.0, 1.0, "motor 'F'")],
)
def test_what_binds_is_told_from_point_to_point(part, used, binds):
    """At half of the speed that it would come to, it is that which binds in the middle."""
    limits = cart(1.5, 40)
    limits.max_square_speed[:] = (part * np.sqrt(1.5 * 1.5) / 1.5) ** 2
    timed = time_optimal(limits)
    np.testing.assert_allclose(timed.limit_usage, used, rtol=1e-9)
    assert timed.binding[20] == (binds,)
    assert timed.binding[0] == timed.binding[-1] == ("motor 'F'",)


HEAVY = "would need 150 % of what it has at rest, in the worst direction. Move the path, or give "


@pytest.mark.parametrize(
    ("c", "why", "text"),
    [
        ([1.0, -0.5, -0.2], "stuck",
         f"must be one that the robot can hold; at s = 0.5 motor 'b' {HEAVY}the robot stronger "
         "motors."),
        ([1.0, 0.0, 0.5], "stuck",
         "must leave a timing within the limits; the robot cannot go on from s = 0.5 on it."),
        ([1.0, 0.0, 0.5], "start",
         "must leave a timing within the limits; the robot cannot begin at rest on it."),
        ([], "stuck",
         "must leave a timing within the limits; the robot cannot go on from s = 0.5 on it."),
    ],
)  # fmt: skip
def test_a_path_without_a_timing_is_refused_with_what_it_lacks(c, why, text):
    limits = SimpleNamespace(
        path=SimpleNamespace(s=np.array([0.0, 0.5, 1.0])),
        binding=lambda k, row: (f"motor '{'abc'[row]}'",),
    )
    rows = LinearPathLimits(None, None, np.array([np.ones(len(c)), c, np.ones(len(c))]), None)
    assert _refusal(limits, rows, NoFeasibleProfile(1, why)) == text


def test_motors_that_bind_together_are_told_together():
    assert describe_binding(("speed of 'a'",)) == "speed of 'a'"
    assert describe_binding(("motor 'a'", "motor 'b'")) == "motors 'a', 'b' together"


def test_where_nothing_bounds_a_path_is_told():
    with pytest.raises(InputError) as caught:
        time_optimal(cart(1.0, 20, motors=False))
    text = str(caught.value)
    assert text.startswith("must be bounded by some limit all the way; nothing bounds it at s = ")
    assert text.endswith(
        "of 21). Give the robot's motors or joints limits, or the path an acceleration, such as "
        "acceleration = 10.0."
    )


def two_carts(*motors):
    """Return a path of two carts, of which some have motors."""
    robot = Robot.build(
        Lagrangian(coordinates={"x": "m", "y": "m"}, kinetic="v.x**2 + v.y**2", potential="0*x",
                   parameters={}),
        Options(
            actuator=[JointMotor(name=f"F{k}", joint=x, limit=3.0) for k, x in enumerate(motors)],
            passive=[{"kind": "expression", "name": "link", "phi": "x - y"}] if motors[2:] else [],
        ),
    )  # fmt: skip
    s = np.linspace(0.0, 1.0, 11)
    q = np.column_stack([s, s])
    return robot, GeometricPath(s, q, np.ones_like(q), 0.0 * q)


def test_a_path_that_no_motor_moves_is_refused_by_its_joint():
    robot, path = two_carts("x")
    dynamics = Dynamics(robot)
    with pytest.raises(InputError) as caught:
        PathLimits(path, lambda at: dynamics, TimingLimits())
    assert str(caught.value) == (
        "robot 'lagrangian' must have motors for the path at every timing; at s = 0 none of them "
        "moves 'y' as it asks."
    )


def test_reactions_that_spare_motors_leave_open_are_refused():
    robot, path = two_carts("x", "y", "x")
    dynamics = Dynamics(robot)
    with pytest.raises(InputError) as caught:
        PathLimits(path, lambda at: dynamics, TimingLimits(reaction=8.0))
    assert str(caught.value) == (
        "reaction must be of rows whose reactions the motion determines; 2 motors more than "
        "freedoms leave reactions open."
    )


def test_motors_behind_springs_have_no_timing():
    robot = SimpleNamespace(elastic=object(), name="soft", input_bounds=None)
    dynamics = SimpleNamespace(robot=robot)
    path = GeometricPath(np.zeros(2), *np.zeros((3, 2, 1)))
    with pytest.raises(InputError) as caught:
        PathLimits(path, lambda at: dynamics, TimingLimits())
    assert str(caught.value) == (
        "robot 'soft' must have rigid joints for a timing by its motors: through springs inputs "
        "depend on the path's fourth derivative. Use limits = 'speed', or the robot without its "
        "springs."
    )


def rail(distance, reaction, passive=({"kind": "expression", "name": "rail", "phi": "r - 1"},)):
    """Return the limits of 2 kg on a round rail of 1 m, pushed along it by 3 N m."""
    robot = Robot.build(
        Lagrangian(coordinates={"r": "m", "angle": "rad"},
                   kinetic="v.r**2 + r**2*v.angle**2", potential="0*r", parameters={}),
        Options(actuator=[JointMotor(name="push", joint="angle", limit=3.0)],
                passive=list(passive)),
    )  # fmt: skip
    s = np.linspace(0.0, 1.0, 801)
    q = np.column_stack([np.ones(801), distance * s])
    dq = np.column_stack([np.zeros(801), np.full(801, distance)])
    dynamics = Dynamics(robot)
    path = GeometricPath(s, q, dq, np.zeros_like(q))
    return PathLimits(path, lambda at: dynamics, TimingLimits(reaction=reaction))


@pytest.mark.slow(only=["reaction1"])
@pytest.mark.parametrize("reaction", [8.0, {"rail": 8.0}])
def test_a_largest_reaction_bounds_the_speed_in_a_curve(reaction):
    """m v^2 = 8 N: from rest to 2 m/s at 1.5 m/s^2, on, and back to rest."""
    timed = time_optimal(rail(6.0, reaction))
    assert timed.duration == pytest.approx(6.0 / 2.0 + 2.0 / 1.5, rel=1e-4)
    [middle] = {timed.binding[k] for k in range(390, 410)}
    assert middle == ("reaction of 'rail'",)


def test_a_reaction_of_no_row_and_one_that_no_motion_determines_are_refused():
    with pytest.raises(InputError, match="no passive row named 'rale'; did you mean 'rail'"):
        rail(6.0, {"rale": 8.0})
    twice = [{"kind": "expression", "name": name, "phi": "r - 1"} for name in ("rail", "other")]
    with pytest.raises(InputError, match="'rail' share their load"):
        rail(6.0, {"rail": 8.0}, passive=twice)


def test_without_limits_there_is_no_timing():
    with pytest.raises(InputError, match="must be bounded by some limit all the way"):
        time_optimal(cart(1.0, 20, motors=False))


@pytest.mark.slow
def test_viscous_friction_is_kept_as_its_closed_form_has_it():
    """m v' = F - d v: forward and backward arcs meet where their ways add up to the distance."""
    m, F, d, distance = 2.0, 3.0, 1.5, 4.0
    coarse, fine = (
        time_optimal(cart(distance, points, JointDamper(joint="x", damping=d))).duration
        for points in (200, 1600)
    )

    def way_up(t):
        return F / d * (t - m / d * (1.0 - np.exp(-d * t / m)))

    def speed_up(t):
        return F / d * (1.0 - np.exp(-d * t / m))

    def down(v):
        """Return time and way of braking with -F from v."""
        t = m / d * np.log(1.0 + d * v / F)
        return t, m / d * v - F / d * t

    turn = brentq(lambda t: way_up(t) + down(speed_up(t))[1] - distance, 0.0, 20.0)
    closed = turn + down(speed_up(turn))[0]
    assert closed < fine < closed * 1.002  # the error is of first order in the grid
    assert fine - closed < 0.25 * (coarse - closed)


def random_limits(rng, n, m):
    """Return limits that rest keeps, of a grid so fine that slopes outweigh what speeds add."""
    a = rng.choice([-1.0, 1.0], (n, m)) * rng.uniform(0.5, 2.0, (n, m))
    a[:, 0], a[:, 1] = np.abs(a[:, 0]), -np.abs(a[:, 1])  # both ways
    a = np.sort(a, axis=1)
    b, c = rng.uniform(-1.0, 1.0, (n, m)), rng.uniform(0.2, 2.0, (n, m))
    smooth = np.linspace(0.0, 1.0, n)[:, None]
    a, b, c = (one[:1] + smooth * (one[-1:] - one[:1]) for one in (a, b, c))
    return LinearPathLimits(a, b, c, rng.uniform(0.5, 3.0, n))


@pytest.mark.parametrize("seed", range(20))
def test_no_profile_is_faster_anywhere_by_an_independent_linear_program(seed):
    rng, n = np.random.default_rng(seed), 40
    limits, s = random_limits(rng, n, 4), np.linspace(0.0, 1.0, n)
    x = fastest_profile(s, limits)
    A, bound = [], []
    for k in range(n - 1):
        for end, at in ((k, 0), (k + 1, 1)):
            for a, b, c in zip(limits.a[end], limits.b[end], limits.c[end], strict=True):
                row = np.zeros(n)
                row[k] -= a / (2.0 * (s[k + 1] - s[k]))
                row[k + 1] += a / (2.0 * (s[k + 1] - s[k]))
                row[k + at] += b
                A.append(row)
                bound.append(c)
    box = [(0.0, float(most)) for most in limits.max_square_speed]
    box[0] = box[-1] = (0.0, 0.0)
    best = linprog(-np.ones(n), A_ub=np.array(A), b_ub=bound, bounds=box, method="highs")
    assert best.status == 0
    np.testing.assert_allclose(x, best.x, rtol=1e-6, atol=1e-8)


def test_a_path_that_cannot_be_held_at_rest_has_no_profile():
    one = np.ones((5, 1))
    limits = LinearPathLimits(np.hstack([one, -one]), np.zeros((5, 2)),
    np.hstack([-one, 0.5 * one]),
                    np.full(5, 2.0))  # fmt: skip
    with pytest.raises(NoFeasibleProfile):
        fastest_profile(np.linspace(0.0, 1.0, 5), limits)


def arm(points, q_0=(0.2, 0.9), way=(0.25, -0.3)):
    """Return an upright arm of two links with motors alone along a line of its joints."""
    robot = Robot.load("two_link")
    s = np.linspace(0.0, 1.0, points + 1)
    path = GeometricPath(
        s,
        np.array(q_0) + s[:, None] * np.array(way),
        np.tile(way, (points + 1, 1)),
        np.zeros((points + 1, 2)),
    )
    return robot, path


@pytest.mark.slow
def test_an_arm_is_as_fast_as_its_phase_plane_integrated_apart():
    """Forward with the largest acceleration, backward with the least; they meet once."""
    robot, path = arm(800)
    dynamics, way = Dynamics(robot), path.dq[0]
    timed = time_optimal(PathLimits(path, lambda at: dynamics, TimingLimits()))
    assert not any("speed" in name for names in timed.binding for name in names)

    def slope(s, x, side):
        """Return x' = 2 u at the end of what both motors allow."""
        snapshot = robot.snapshot(path.q[0] + s * way, way * np.sqrt(max(x, 0.0)))
        ahead, rest = snapshot.M @ way, snapshot.nle
        ends = np.sort((np.outer([-1.0, 1.0], robot.effort_limit) - rest) / ahead, axis=0)
        return 2.0 * (ends[1].min() if side > 0 else ends[0].max())

    options = {"rtol": 1e-9, "atol": 1e-10, "dense_output": True}
    forward = solve_ivp(lambda s, x: [slope(s, x[0], 1)], (0.0, 1.0), [0.0], **options).sol
    backward = solve_ivp(lambda s, x: [slope(s, x[0], -1)], (1.0, 0.0), [0.0], **options).sol
    turn = brentq(lambda s: forward(s)[0] - backward(s)[0], 0.01, 0.99)
    spent = quad(lambda r: 2.0 * r / np.sqrt(forward(r * r)[0]), 1e-6, np.sqrt(turn))[0]
    spent += quad(lambda r: 2.0 * r / np.sqrt(backward(1.0 - r * r)[0]), 1e-6,
                  np.sqrt(1.0 - turn))[0]  # fmt: skip
    assert timed.duration == pytest.approx(spent, rel=1e-3)
    assert timed.duration >= spent * (1.0 - 1e-5)


@pytest.mark.slow
def test_a_published_arm_takes_the_time_that_another_method_prints():
    """The straight line of Debrouwere's two-link arm, from 1 m/s on, under 30 and 15 N m.

    "Optimal robot path following", thesis, KU Leuven 2015; by multiple shooting the examples of
    rockit print 0.83293 s with 1000 intervals and 0.83357 s with 5000. Both methods are of first
    order, theirs from below and ours from above.
    """
    robot = Robot.build(
        Lagrangian(
            coordinates={"one": "rad", "two": "rad"},
            kinetic="(15/8 + cos(two))*v.one**2 + (1 + cos(two))*v.one*v.two + v.two**2/2",
            potential="9.81*(5/2*sin(one) + sin(one + two))",
            parameters={},
        ),
        Options(actuator=[JointMotor(name="base", joint="one", limit=30.0),
                          JointMotor(name="elbow", joint="two", limit=15.0)]),
    )  # fmt: skip
    fine = np.linspace(0.0, 1.0, 2001)
    x, y = 1.5 * fine, 1.5 * (1.0 - fine)
    two = np.arccos((x**2 + y**2) / 2.0 - 1.0)
    one = np.arctan2(y, x) - np.arctan2(np.sin(two), 1.0 + np.cos(two))
    way, dynamics = make_interp_spline(fine, np.column_stack([one, two]), k=5), Dynamics(robot)

    def duration(points):
        s = np.linspace(0.0, 1.0, points + 1)
        path = GeometricPath(s, way(s), way(s, nu=1), way(s, nu=2))
        limits = PathLimits(path, lambda at: dynamics, TimingLimits())
        return time_optimal(limits, first=1.0 / 4.5, last=np.inf).duration

    ours, theirs = [duration(points) for points in (300, 600)], [0.8329264936, 0.8335742877]
    assert theirs[1] < ours[1] < ours[0]
    limit = theirs[1] + (theirs[1] - theirs[0]) / 4.0
    assert 2.0 * ours[1] - ours[0] == pytest.approx(limit, rel=1e-4)


def with_blends(points, deviation, step):
    """Return grid and derivatives of lines through points with arcs that cut the corners."""
    every, passed, start = [], 0.0, points[0]
    for k in range(1, len(points)):
        into = points[k] - points[k - 1]
        into, length = into / np.linalg.norm(into), np.linalg.norm(into)
        end, arc = points[k], None
        if k < len(points) - 1:
            out = points[k + 1] - points[k]
            out, ahead = out / np.linalg.norm(out), np.linalg.norm(out)
            half = 0.5 * np.arccos(into @ out)
            cut = min(0.5 * length, 0.5 * ahead, deviation / np.tan(0.5 * half))
            radius, end = cut / np.tan(half), points[k] - cut * into
            inward = (out - into @ out * into) / np.sin(2.0 * half)
            arc = 2.0 * half * radius, into, inward, radius
        straight = np.linalg.norm(end - start)
        for long, along, inward, radius in filter(None, [(straight, into, 0.0 * into, 1.0), arc]):
            if long > 1e-6:
                at = np.linspace(1e-6, long, int(np.ceil(long / step)) + 1)[:, None] / radius
                bend = np.linalg.norm(inward)
                dq = along * np.cos(bend * at) + inward * np.sin(bend * at)
                ddq = (inward * np.cos(bend * at) - bend * along * np.sin(bend * at)) / radius
                every.append((passed + radius * at[:, 0], dq, ddq))
                passed += long
        start = end if arc is None else points[k] + cut * out
    return (np.concatenate(part) for part in zip(*every, strict=True))


@pytest.mark.slow
def test_a_published_path_takes_the_time_that_its_authors_print():
    """Kunz & Stilman, "Time-optimal trajectory generation for path following with bounded
    acceleration and velocity", RSS 2012; 1919.5598 s by steps of a millisecond in their own test.
    """
    points = np.array([[1427.0, 368.0, 690.0, 90.0], [1427.0, 368.0, 790.0, 90.0],
                       [952.499938964844, 433.0, 1051.0, 90.0], [452.5, 533.0, 1051.0, 90.0],
                       [452.5, 533.0, 951.0, 90.0]])  # fmt: skip
    speed, acceleration = np.array([1.3, 0.67, 0.67, 0.5]), 0.002

    def duration(step):
        s, dq, ddq = with_blends(points, 100.0, step)
        a, b = (np.hstack([part, -part]) / acceleration for part in (dq, ddq))
        with np.errstate(divide="ignore"):
            most = np.min(speed / np.abs(dq), axis=1) ** 2
        return passage_times(s, fastest_profile(s, LinearPathLimits(a, b, np.ones_like(a), most)))[
            -1
        ]

    printed, coarse, fine = 1919.5597888812974, duration(1.0), duration(0.125)
    assert printed < fine < printed * (1.0 + 5e-5)
    assert fine - printed < 0.125 * (coarse - printed)


SHAPES = [(1, 1), (1, 3), (2, 2), (2, 4), (3, 3), (3, 5), (4, 6)]


@pytest.mark.parametrize(("d", "nu"), SHAPES)
@pytest.mark.parametrize("seed", range(5))
def test_what_motors_give_together_is_bounded_as_a_linear_program_over_inputs_says(d, nu, seed):
    rng = np.random.default_rng(seed)
    E, low = rng.standard_normal((d, nu)), -rng.uniform(0.1, 3.0, nu)
    high = rng.uniform(0.1, 3.0, nu)
    around = input_zonotope(E, np.ones(nu, dtype=bool))
    middle, half = around.bounds(low, high)
    for _ in range(5):
        way, inside = rng.standard_normal(d), E @ rng.uniform(low, high)
        ahead, rest = around.normals @ way, around.normals @ inside
        reach = np.min((half + np.sign(ahead) * (middle - rest)) / np.abs(ahead))
        furthest = linprog(
            np.append(np.zeros(nu), -1.0),
            A_eq=np.column_stack([E, -way]),
            b_eq=inside,
            bounds=[*zip(low, high, strict=True), (None, None)],
        )
        assert reach == pytest.approx(-furthest.fun, rel=1e-7, abs=1e-9)


@pytest.mark.parametrize(("d", "nu"), SHAPES)
def test_where_a_facet_binds_all_motors_but_those_it_stands_on_are_at_a_limit(d, nu):
    around = input_zonotope(
        np.random.default_rng(3).standard_normal((d, nu)), np.ones(nu, dtype=bool)
    )
    assert {len(around.binding_motors(row)) for row in range(len(around.normals))} == {nu - d + 1}


def test_motors_without_limits_leave_no_bound_in_their_directions():
    E = np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 0.0]])
    around = input_zonotope(E, np.array([True, True, False]))
    middle, half = around.bounds(np.array([-2.0, -3.0, -np.inf]), np.array([2.0, 5.0, np.inf]))
    np.testing.assert_allclose(np.abs(around.normals), [[0.0, 1.0]], **EXACT)
    np.testing.assert_allclose([abs(middle[0]), half[0]], [1.0, 4.0], **EXACT)
    assert not len(input_zonotope(E, np.zeros(3, dtype=bool)).normals)


def test_the_clock_passes_every_point_at_its_time_and_speed():
    rng = np.random.default_rng(0)
    s = np.cumsum(rng.uniform(0.1, 1.0, 30))
    x = np.concatenate([[0.0], rng.uniform(0.5, 4.0, 28), [0.0]])
    clock = clock_from_profile(s, x, begin=2.0)
    t = passage_times(s, x) + 2.0
    np.testing.assert_allclose(clock.times, t, **EXACT)
    passed = clock_states(clock, t[:-1])
    np.testing.assert_allclose(passed[:, 0], s[:-1], **EXACT)
    np.testing.assert_allclose(passed[:, 1], np.sqrt(x[:-1]), **EXACT)
    np.testing.assert_allclose(passed[:, 2], np.diff(x) / (2.0 * np.diff(s)), **EXACT)
    assert clock.smoothness == 1.0
    np.testing.assert_array_equal(clock_states(clock, t[-1:] + 1.0), [[s[-1], 0.0, 0.0]])


@pytest.mark.parametrize("width", [1e-3, 0.1, 3.0])
def test_a_rounded_clock_is_the_mean_over_its_window(width):
    s = np.linspace(0.0, 2.0, 12)
    clock = clock_from_profile(s, np.minimum(s, 2.0 - s) * 3.0)
    smooth = smooth_clock(clock, width)
    assert smooth.smoothness == 2.0
    assert smooth.times[-1] - clock.times[-1] == pytest.approx(width, rel=1e-9)
    for t in np.linspace(0.0, smooth.times[-1], 7)[1:]:
        inside = [at for at in clock.times if t - width < at < t]
        edges = [t - width, *inside, t]
        mean = sum(
            quad(lambda at: clock_states(clock, np.array([at]))[0, 0], a, b)[0]
            for a, b in itertools.pairwise(edges)
        )
        assert clock_states(smooth, np.array([t]))[0, 0] == pytest.approx(mean / width, rel=1e-7)


@pytest.mark.slow
@pytest.mark.parametrize("width", [0.005, 0.02, 0.1])
def test_a_rounded_timing_keeps_the_limits_too(width):
    robot, path = arm(200)
    dynamics = Dynamics(robot)
    limits = PathLimits(path, lambda at: dynamics, TimingLimits())
    sharp, smooth = (time_optimal(limits, rounding=w) for w in (0.0, width))
    assert sharp.duration + width <= smooth.duration < sharp.duration + 2.0 * width
    used = []
    for s, rate, bend in clock_states(smooth.clock, np.linspace(0.0, smooth.duration, 1000)):
        dynamics.move(0.0, path.q[0] + s * path.dq[0], rate * path.dq[0])
        u = dynamics.least_input(bend * path.dq[0])
        used.append(np.abs(u) / robot.effort_limit)
    assert 0.5 < np.max(used) < 1.0 + 1e-3


@pytest.mark.parametrize("width", [0.0, 0.02, 0.3])
@pytest.mark.parametrize(("level", "scale"), [(0.05, 0.01), (0.5, 1e-3), (2.0, 0.01), (2.9, 0.1)])
def test_a_cart_with_dry_friction_is_timed_as_its_closed_form_has_it(level, scale, width):
    """Up with F - R, down with F + R; what the rounding and the rise of R at rest take is less."""
    limits = cart(1.0, 200, DryFriction(joint="x", level=level, velocity_scale=scale))
    timed = time_optimal(limits, rounding=width)
    up, down = (3.0 - level) / 2.0, (3.0 + level) / 2.0
    closed = np.sqrt(2.0 * (1.0 / up + 1.0 / down))
    assert 0.5 * closed < timed.duration - width < 1.02 * closed + 0.5 * width
    _, rate, bend = clock_states(timed.clock, np.linspace(0.0, timed.duration, 2000)[:-1]).T
    force = 2.0 * bend + level * np.tanh(rate / scale)
    assert 0.95 * 3.0 * (width < 0.1) < np.abs(force).max() < 3.0 * (1.0 + 1e-3)


@pytest.mark.parametrize("scale", [1e-4, 1e-2])
@pytest.mark.parametrize(("width", "points"), [(0.0, 200), (0.0, 800), (0.05, 200)])
def test_a_joint_that_turns_back_on_the_way_rubs_both_ways_and_delays_nothing(scale, width, points):
    """The second joint goes forth and back while the first moves on: its friction turns there."""
    motors = [JointMotor(name=name, joint=name, limit=3.0) for name in ("x", "y")]

    def timed(*forces):
        robot = Robot.build(
            Lagrangian(coordinates={"x": "m", "y": "m"}, kinetic="v.x**2 + v.y**2",
                       potential="0*x", parameters={}),
            Options(actuator=motors, force=list(forces)),
        )  # fmt: skip
        s = np.linspace(0.0, 1.0, points + 1)[:, None]
        q, dq, ddq = (
            np.hstack(pair)
            for pair in ((s, s * (1.0 - s)), (s**0, 1.0 - 2.0 * s), (0.0 * s, 0.0 * s - 2.0))
        )
        dynamics = Dynamics(robot)
        limits = PathLimits(GeometricPath(s[:, 0], q, dq, ddq), lambda at: dynamics, TimingLimits())
        return time_optimal(limits, rounding=width)

    rough = timed(DryFriction(joint="y", level=1.0, velocity_scale=scale))
    assert timed().duration < rough.duration < 1.1 * timed().duration
    s, rate, bend = clock_states(rough.clock, np.linspace(0.0, rough.duration, 3000)[:-1]).T
    turning = (1.0 - 2.0 * s) * rate
    force = 2.0 * ((1.0 - 2.0 * s) * bend - 2.0 * rate**2) + np.tanh(turning / scale)
    assert np.abs(2.0 * bend).max() < 3.0 * (1.0 + 1e-3)
    # friction turns within an interval, whose ends alone are looked at: first order in the grid
    assert np.abs(force).max() < 3.0 * (1.0 + 6.0 / points)
