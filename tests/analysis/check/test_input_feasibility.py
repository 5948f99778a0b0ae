"""What a motion takes of the motors, beside formulas of small plants."""

from __future__ import annotations

import dataclasses as dc
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
import pytest

from ukctrl import Robot, Scenario
from ukctrl.analysis.check.input_feasibility import (
    PULL_TOLERANCE,
    Feasibility,
    alternative_input_exists,
    contact_loads,
    input_feasibility,
    law_inputs,
    required_inputs,
)
from ukctrl.analysis.check.limit_usage import (
    LimitUsage,
    larger_usages,
    limit_usages,
    max_usage_fraction,
)
from ukctrl.analysis.check.task_motion import (
    InitialTransient,
    TaskMotion,
    initial_transient,
    starts_off_rows,
)
from ukctrl.analysis.check.timing import path_timing
from ukctrl.control import Baumgarte, LeastNorm, Servo
from ukctrl.mechanics.constraints import Expression
from ukctrl.robot import Elastic, JointMotor, JointSpring, Lagrangian, Options
from ukctrl.simulation.assemble import Loop
from ukctrl.simulation.scenario import StartState, Timing

EXACT = {"rtol": 1e-10, "atol": 1e-10}
G = 9.81
T = np.linspace(0.0, 1.0, 101)
WAVE = (0.2 * np.sin(3.0 * T), 0.6 * np.cos(3.0 * T), -1.8 * np.sin(3.0 * T))


def motor(name, **limits):
    return JointMotor(name=name, joint="x", **limits)


def pushed(*motors, **more):
    """Return a mass of 2 kg on a line with these motors, or such as have limits."""
    return Robot.build(
        Lagrangian(
            coordinates={"x": "m"},
            kinetic="m/2*v.x**2",
            parameters={"m": 2.0},
        ),
        Options(
            actuator=[motor(name) if isinstance(name, str) else name for name in motors], **more
        ),
    )


PENDULUM = Robot.build(
    Lagrangian(
        coordinates=("q",),
        kinetic="m*l**2/2*v.q**2",
        potential="-m*g*l*cos(q)",
        dissipation=("c/2*v.q**2",),
        parameters={"m": 1.5, "l": 0.4, "g": G, "c": 0.3},
        inputs={"T": {"q": 1.0}},
    )
)
SPRUNG = Robot.build(
    Lagrangian(
        coordinates={"x1": "m", "x2": "m"},
        kinetic="m1/2*v.x1**2 + m2/2*v.x2**2",
        potential="k/2*(x2 - x1)**2",
        parameters={"m1": 1.0, "m2": 4.0, "k": 50.0},
        inputs={"F": {"x1": 1.0}},
    )
)


def loop_of(robot, phi="x - 0.2*sin(3*t)", *, start=None, duration=1.0, allocation=None, **timing):
    rows = (Expression(phi=phi, unit="m"),)
    return Loop(
        Scenario(
            title="test",
            robot=robot,
            servo=rows,
            start=StartState(q=start or {}),
            controller=Servo(
                feedback=Baumgarte(alpha=3.0, beta=2.0), allocation=allocation or LeastNorm()
            ),
            timing=Timing(duration=duration, **timing),
        )
    )


def motion(q, v, a, kind="law", t=T):
    columns = (np.reshape(x, (len(t), np.size(x) // max(len(t), 1) or 1)) for x in (q, v, a))
    return TaskMotion(kind=kind, t=t, **dict(zip("qva", columns, strict=True)))


ALONG = motion(*WAVE)


def test_a_mass_needs_its_acceleration_times_itself():
    needed, missed = required_inputs(loop_of(pushed("F")), ALONG)
    np.testing.assert_allclose(needed[:, 0], 2.0 * WAVE[2], **EXACT)
    assert missed is None


def test_motors_that_push_alike_share_the_force():
    needed, _ = required_inputs(loop_of(pushed("F", "P")), ALONG)
    np.testing.assert_allclose(needed, np.outer(WAVE[2], [1.0, 1.0]), **EXACT)


def test_a_pendulum_needs_the_torque_of_inertia_friction_and_gravity():
    needed, _ = required_inputs(loop_of(PENDULUM, "q - 0.2*sin(3*t)"), ALONG)
    q, v, a = WAVE
    wanted = 1.5 * 0.16 * a + 0.3 * v + 1.5 * G * 0.4 * np.sin(q)
    np.testing.assert_allclose(needed[:, 0], wanted, **EXACT)


@pytest.mark.parametrize("kind", ["none", "path alone"])
def test_of_a_path_alone_no_inputs_are_known(kind):
    needed, missed = required_inputs(loop_of(pushed("F")), motion(*WAVE, kind=kind))
    assert np.isnan(needed).all()
    assert missed is None


def test_a_plant_without_motors_and_a_motion_without_knots_need_nothing():
    assert required_inputs(loop_of(pushed("F")), motion(*np.zeros((3, 0)), t=T[:0]))[0].shape == (
        0,
        1,
    )
    bare = SimpleNamespace(robot=SimpleNamespace(nu=0, elastic=None))
    assert required_inputs(bare, ALONG)[0].shape == (101, 0)


def test_what_no_motor_gives_is_told_by_its_coordinate_its_time_and_its_share():
    """From t = 0.5 on the far mass of 4 kg should move without its spring being bent."""
    a = np.outer(T >= 0.495, [1.0, 0.5])
    needed, missed = required_inputs(
        loop_of(SPRUNG, "x1"), motion(np.zeros((101, 2)), np.zeros((101, 2)), a)
    )
    assert np.isnan(needed).all()
    assert (missed.dof, missed.t) == ("x2", pytest.approx(0.5))
    # In the measure of mass: sqrt(4) 0.5 of |(sqrt(1) 1, sqrt(4) 0.5)|.
    assert missed.share == pytest.approx(1.0 / np.sqrt(2.0), rel=1e-5)


def test_the_share_that_is_missed_counts_what_acts_without_motors():
    """A far mass that its spring of 50 N/m, bent by 0.1 m, pulls by 5 N, and that should rest."""
    q = np.tile([0.0, 0.1], (101, 1))
    _, missed = required_inputs(loop_of(SPRUNG, "x1"), motion(q, 0.0 * q, 0.0 * q))
    free = np.array([5.0 / 1.0, -5.0 / 4.0]) * np.sqrt([1.0, 4.0])
    assert missed.share == pytest.approx(2.5 / np.linalg.norm(free), rel=1e-5)
    assert (missed.dof, missed.t) == ("x2", 0.0)


def test_through_a_spring_a_motor_turns_further_than_its_link():
    """tau = m q'' + c q, s = tau/K - D tau'/K^2 and u = J (q'' + s'') + tau."""
    m, c, K, D, J, w = 2.0, 4.0, 200.0, 20.0, 0.05, 3.0
    robot = Robot.build(
        Lagrangian(
            coordinates=("q",),
            kinetic="m/2*v.q**2",
            parameters={"m": m},
            inputs={"T": {"q": 1.0}},
        ),
        Options(
            elastic=Elastic(stiffness={"q": K}, motor_inertia=J, damping={"q": D}),
            force=[JointSpring(joint="q", stiffness=c)],
        ),
    )
    both = motion(*(np.column_stack([x, 0.0 * x]) for x in WAVE))
    needed, missed = required_inputs(loop_of(robot, "q"), both)
    q, _, a = WAVE
    tau = m * a + c * q
    tau_rate = 0.2 * (c - m * w * w) * w * np.cos(w * T)
    bend = -w * w * (tau / K - D * tau_rate / K**2)
    inside = slice(5, -5)  # of one-sided differences at the ends more is left
    np.testing.assert_allclose(needed[inside, 0], (J * (a + bend) + tau)[inside], atol=1e-5)
    assert missed is None


def test_the_law_asks_on_the_path_for_what_the_motion_needs():
    loop = loop_of(pushed("F", "P"))
    law, refused = law_inputs(loop, ALONG)
    np.testing.assert_allclose(law, np.outer(WAVE[2], [1.0, 1.0]), **EXACT)
    assert refused is None
    off = dc.replace(ALONG, q=ALONG.q + 0.1)
    np.testing.assert_allclose(law_inputs(loop, off)[0], law - 0.5 * 2.0 * 2.0 * 0.1, **EXACT)


def test_of_a_path_alone_the_law_tells_nothing():
    assert np.isnan(law_inputs(loop_of(pushed("F")), dc.replace(ALONG, kind="path alone"))[0]).all()


def test_where_the_law_gives_up_its_row_and_moment_are_told():
    """y = x1 x2 changes with the driven x1 by x2, which comes to zero."""
    loop = loop_of(SPRUNG, "x1*x2 - 1", start={"x1": 1.0, "x2": 1.0})
    q = np.array([[1.0, 1.0], [1.0, 0.5], [1.0, 0.0]])
    law, refused = law_inputs(loop, motion(q, 0.0 * q, 0.0 * q, t=np.array([0.0, 0.1, 0.2])))
    assert (refused.t, refused.rows) == (0.2, ("expression",))
    assert refused.text
    assert np.isfinite(law[:2]).all()
    assert np.isnan(law[2]).all()


@pytest.mark.parametrize(
    ("limits", "serves"),
    [
        ((2.0, 8.0), True),  # the least is 4 N each, of 8 N together
        ((2.0, 5.0), False),
        ((-1.0, 8.0), True),
        ((3.99, 4.02), True),
        ((0.0, 0.0), False),
    ],
)
def test_another_input_serves_where_the_motors_together_are_strong_enough(limits, serves):
    loop, t = loop_of(pushed("F", "P")), T[:3]
    needed = np.array([[1.0, 1.0], [4.0, 4.0], [0.0, 0.0]])
    asked = motion(np.zeros(3), np.zeros(3), needed.sum(axis=1) / 2.0, t=t)
    high = np.tile(np.abs(limits), (3, 1))
    low = -high if limits != (0.0, 0.0) else high
    assert alternative_input_exists(loop, asked, needed, low, high) is serves


def test_no_other_input_serves_where_the_motors_are_as_many_as_the_freedoms():
    loop, t = loop_of(pushed("F")), T[:1]
    asked, limit = motion([0.0], [0.0], [1.0], t=t), np.ones((1, 1))
    assert not alternative_input_exists(loop, asked, 2.0 * limit, -limit, limit)
    assert alternative_input_exists(
        loop, asked, 0.5 * limit, -limit, limit
    )  # within them all the time


def test_one_motor_without_a_range_leaves_no_other_input():
    loop, t = loop_of(pushed("F", "P")), T[:1]
    asked = motion([0.0], [0.0], [1.0], t=t)
    low, high = np.array([[-1.0, 0.5]]), np.array([[1.0, 0.5]])
    assert not alternative_input_exists(loop, asked, np.array([[1.0, 1.0]]), low, high)


# Limits


def use_of(name, share, value=1.0, t=0.0, limit=2.0):
    return LimitUsage(name=name, unit="N", value=value, t=t, share=share, limit=limit)


def test_columns_without_limits_stand_beside_those_with():
    x = np.array([[0.0, 0.0], [-4.0, 1.0], [3.0, -1.5]])
    free, held = limit_usages(("a", "b"), ("m", "N"), T[:3], x, np.array([-np.inf, -2.0]),
                      np.array([np.inf, 2.0]))  # fmt: skip
    assert (free.name, free.unit, free.value, free.t) == ("a", "m", -4.0, T[1])
    assert (free.limit, free.share, free.since, free.beyond) == (None, None, None, 0.0)
    assert (held.name, held.unit, held.value, held.t) == ("b", "N", -1.5, T[2])
    assert (held.limit, held.share, held.since, held.beyond) == (-2.0, 0.75, None, 0.0)


def test_a_limit_is_passed_first_before_it_is_passed_most():
    x = np.array([[1.0], [2.5], [-3.0], [2.2]])
    [use] = limit_usages(("a",), ("N",), T[:4], x, np.array([-2.0]), np.array([2.0]))
    assert (use.value, use.t, use.limit) == (-3.0, T[2], -2.0)
    assert (use.beyond, use.since, use.share) == (1.0, T[1], 1.5)


@pytest.mark.parametrize(("value", "broken"), [(1000.0009, False), (1000.0011, True)])
def test_a_limit_is_passed_by_a_millionth_of_its_size(value, broken):
    for sign in (1.0, -1.0):
        x, limit = np.array([[sign * value]]), np.array([1000.0])
        [use] = limit_usages(("a",), ("N",), T[:1], x, -limit, limit)
        assert (use.since is not None) is broken
        assert (use.beyond > 0.0) is broken


def test_a_joint_without_a_range_is_beyond_it_wherever_else_it_is():
    """As of a model file that gives both limits as 0.5 m."""
    x, limit = np.array([[0.5], [0.75]]), np.array([0.5])
    [use] = limit_usages(("a",), ("m",), T[:2], x, limit, limit, True)
    assert (use.limit, use.value, use.beyond, use.since) == (0.5, 0.75, 0.25, T[1])
    [still] = limit_usages(("a",), ("m",), T[:2], 0.0 * x + 0.5, limit, limit, True)
    assert (still.limit, still.share, still.since) == (0.5, 0.0, None)


def test_the_way_counts_where_it_takes_more():
    ours, theirs = use_of("a", 0.5, t=3.0), use_of("a", 0.6, t=0.5)
    assert larger_usages((ours,), (theirs,), 1.0) == (dc.replace(theirs, approach=True),)
    assert larger_usages((ours,), (use_of("a", 0.5),), 1.0) == (ours,)
    late = use_of("a", 0.6, t=1.5)
    assert larger_usages((ours,), (late,), 1.0) == (late,)
    assert larger_usages((), (dc.replace(theirs, t=1.0),), 1.0)[0].approach
    assert larger_usages((ours,), (), 1.0) == (ours,)
    free, far = use_of("a", None, value=-2.0, limit=None), use_of("a", None, value=3.0, limit=None)
    assert larger_usages((free,), (far,), -1.0) == (far,)
    assert larger_usages((far,), (free,), -1.0) == (far,)


def test_the_largest_part_over_time_leaves_out_what_has_no_limit():
    x = np.array([[1.0, 100.0, -3.0], [2.0, 0.0, 0.0]])
    high = np.array([4.0, np.inf, 4.0])
    np.testing.assert_array_equal(max_usage_fraction(x, -high, high, False), [0.75, 0.5])
    assert np.isnan(max_usage_fraction(x[:, 1:2], -high[1:2], high[1:2], False)).all()


def test_the_first_of_equals_uses_most():
    nothing = dict.fromkeys(("rates", "law", "velocities", "positions", "ground"), ())
    made = Feasibility(inputs=(use_of("a", 0.5), use_of("b", None), use_of("c", 0.9)),
                       elsewhere=False, missed=None, refused=None,
                       **nothing | {"rates": (use_of("d", 0.9),)})  # fmt: skip
    assert made.most_used.name == "c"
    assert [use.name for use in made.limited] == ["a", "c", "d"]
    assert made.beyond == ()
    idle = dc.replace(made, inputs=(use_of("a", 0.0), use_of("b", 0.5)), rates=())
    assert idle.most_used.name == "b"
    none = dc.replace(made, inputs=(), rates=(), velocities=(use_of("v", None),))
    assert none.most_used is None


def test_rates_speeds_and_places_have_their_units_and_limits():
    """F = -3.6 sin(3t) N, its rate -10.8 cos(3t) N/s, x' = 0.6 cos(3t) m/s, x = 0.2 sin(3t) m."""
    robot = pushed(
        motor("F", limit=3.0, rate_limit=20.0),
        limit=[{"joint": "x", "position": [-0.1, 0.3], "velocity": 1.2}],
    )
    found, loads = input_feasibility(loop_of(robot), ALONG)
    [force], [rate], [speed], [place] = found.inputs, found.rates, found.velocities, found.positions
    assert (force.unit, rate.unit, speed.unit, place.unit) == ("N", "N/s", "m/s", "m")
    assert force.share == pytest.approx(3.6 / 3.0, rel=1e-3)
    assert force.since == pytest.approx(np.arcsin(3.0 / 3.6) / 3.0, abs=0.01)
    assert rate.share == pytest.approx(10.8 / 20.0, rel=1e-3)
    assert speed.share == pytest.approx(0.5)
    assert place.share == pytest.approx(0.1 / 0.2, rel=1e-3)  # 0.2 m, from the middle at 0.1 m
    assert (found.elsewhere, found.missed, found.refused, found.ground) == (False, None, None, ())
    wanted = np.column_stack([np.abs(3.6 * np.sin(3.0 * T)) / 3.0, np.abs(WAVE[1]) / 1.2,
                              np.abs(WAVE[0] - 0.1) / 0.2])  # fmt: skip
    np.testing.assert_allclose(loads.used, wanted, **EXACT)
    np.testing.assert_allclose(loads.law, loads.needed, **EXACT)
    assert found.law[0].share == pytest.approx(force.share)


def test_two_knots_tell_no_rate_and_a_path_alone_no_speed():
    robot = pushed(
        motor("F", limit=3.0, rate_limit=20.0),
        limit=[{"joint": "x", "position": [-0.1, 0.3], "velocity": 1.2}],
    )
    loop = loop_of(robot)
    short = motion(*(x[:2] for x in WAVE), t=T[:2])
    three = motion(*(x[:3] for x in WAVE), t=T[:3])
    assert input_feasibility(loop, short)[0].rates == ()
    assert len(input_feasibility(loop, three)[0].rates) == 1
    assert input_feasibility(loop_of(pushed("F")), ALONG)[0].rates == ()
    found, loads = input_feasibility(loop, dc.replace(ALONG, kind="path alone"))
    assert (found.inputs, found.law, found.rates, found.velocities) == ((), (), (), ())
    assert len(found.positions) == 1
    assert np.isnan(loads.used[:, :2]).all()


def test_two_motors_help_each_other_where_one_is_weak():
    robot = pushed(motor("F", limit=1.0), motor("P", limit=9.0))
    found, _ = input_feasibility(loop_of(robot), ALONG)
    assert found.elsewhere
    assert [use.since is None for use in found.inputs] == [False, True]


def test_limits_are_used_by_the_smallest_input_and_else_by_the_laws():
    loop = loop_of(pushed(motor("F", limit=4.0)))
    beside = dc.replace(ALONG, q=ALONG.q + 0.5)  # where the law asks for more
    _, loads = input_feasibility(loop, beside)
    np.testing.assert_allclose(loads.used[:, 0], np.abs(loads.needed[:, 0]) / 4.0, **EXACT)
    assert np.abs(loads.law - loads.needed).max() > 1.0
    missed = Robot.build(
        Lagrangian(coordinates={"x": "m", "y": "m"}, kinetic="v.x**2/2 + v.y**2/2"),
        Options(actuator=[motor("F", limit=4.0)]),
    )
    both = motion(*(np.column_stack([x, x]) for x in WAVE))
    found, loads = input_feasibility(loop_of(missed), both)
    assert found.missed.dof == "y"
    np.testing.assert_allclose(loads.used[:, 0], np.abs(WAVE[2]) / 4.0, **EXACT)


def grounded(*forces):
    """Return how two feet stand under these forces: height, along and across of each, by knots."""
    names = tuple(f"{foot}.{row}" for foot in "ab" for row in ("height", "along", "across"))
    table, t = np.array(forces, dtype=float), np.arange(float(len(forces)))
    dynamics = SimpleNamespace(
        move=lambda t, q, v: setattr(dynamics, "k", int(t)),
        acceleration=lambda u: u,
        passive_force=lambda a, u: None,
        reactions=lambda force: table[dynamics.k],
    )
    blocks = tuple(name[0] for name in names)
    pushing = SimpleNamespace(names=("b",), mu=np.array([0.7]))
    truth = SimpleNamespace(passive=Rows(names, blocks), contacts=pushing)
    loop = SimpleNamespace(
        plant=truth, robot=SimpleNamespace(elastic=None), plant_at=lambda t: dynamics
    )
    still = np.zeros((len(t), 1))
    return contact_loads(loop, motion(still, still, still, t=t), still)


class Rows(NamedTuple):
    """Passive rows by name."""

    names: tuple[str, ...]
    blocks: tuple[str, ...]

    def __len__(self):
        return len(self.names)


def test_how_the_ground_bears_each_foot():
    """Foot a needs 5 N across of 10 N, and 2 of 1; foot b is pulled from the second knot on."""
    one, other = grounded((10.0, 3.0, 4.0, 8.0, 0.0, 0.0), (1.0, 2.0, 0.0, -2.0, 9.0, 9.0),
                          (5.0, 0.0, 0.0, -3.0, 0.0, 0.0))  # fmt: skip
    assert (one.name, one.least, one.t, one.lifts) == ("a", 1.0, 1.0, None)
    assert one.friction == pytest.approx(2.0)
    assert (other.name, other.least, other.t, other.lifts) == ("b", -3.0, 2.0, 1.0)
    assert other.friction == 0.0
    assert (one.mu, other.mu) == (None, 0.7)


def test_a_pull_of_rounding_lifts_no_foot():
    least = 1e4 * PULL_TOLERANCE
    one, other = grounded((1e4, 0.0, 0.0, -0.5 * least, 1.0, 0.0))
    assert (one.lifts, other.lifts, other.friction) == (None, None, 0.0)
    _, other = grounded((1e4, 0.0, 0.0, -2.0 * least, 0.0, 0.0))
    assert other.lifts == 0.0


# The way to the rows

X = "x - 0.1"


@pytest.mark.parametrize(("x", "off"), [(0.1, False), (0.1 + 0.9e-6, False), (0.1 + 2e-6, True)])
def test_a_start_off_the_rows_by_more_than_rounding_is_off(x, off):
    assert starts_off_rows(loop_of(pushed("F"), X, start={"x": x})) is off


def test_a_start_on_the_rows_has_no_way_to_them():
    assert initial_transient(loop_of(pushed("F"), X, start={"x": 0.1}), ALONG) is None


@pytest.mark.parametrize(("duration", "over"), [(30.0, 10.0), (4.0, 4.0)])
@pytest.mark.parametrize("kind", ["law", "joint motion"])
def test_an_error_has_died_after_ten_of_its_slowest_time_constants(duration, over, kind):
    """The poles are -1 and -2, and e = 0.1 (2 exp(-t) - exp(-2 t)), u = 2 e''."""
    loop = loop_of(pushed("F"), X, duration=duration, sample=0.01)
    way = initial_transient(loop, dc.replace(ALONG, kind=kind))
    assert isinstance(way, InitialTransient)
    assert way.end == pytest.approx(over)
    length = duration if kind == "law" else over
    t = way.motion.t
    assert (t[0], t[-1]) == (0.0, pytest.approx(length))
    assert len(t) in (2000, 2001)
    assert way.covers_run is (length == duration)
    assert way.failure == ""
    decay = 2.0 * np.exp(-t) - np.exp(-2.0 * t)
    np.testing.assert_allclose(way.motion.q[:, 0], 0.1 - 0.1 * decay, atol=1e-7)
    push = -2.0 * 0.1 * (2.0 * np.exp(-t) - 4.0 * np.exp(-2.0 * t))
    np.testing.assert_allclose(way.u[:, 0], push, atol=1e-6)


def test_a_way_under_a_hold_is_looked_at_once_a_period_at_most():
    loop = loop_of(pushed("F"), X, duration=4.0, control=0.05)
    times = initial_transient(loop, ALONG).motion.t
    np.testing.assert_allclose(np.diff(times), 0.05, rtol=1e-9)


# The timing of a motion


def hurried(a=1.5, v0=0.0, t=T, kind="law"):
    """Return a motion at one acceleration."""
    return motion(v0 * t + 0.5 * a * t**2, v0 + a * t, a * np.ones(len(t)), kind, t)


def fastest(length, first, last, most):
    """Return the time of a way between two speeds, at full force forwards and back."""
    top = np.sqrt(0.5 * (first**2 + last**2) + most * length)
    return (2.0 * top - first - last) / most


@pytest.mark.parametrize("v0", [0.0, 0.4])
@pytest.mark.parametrize(("limit", "rate"), [(12.0, 2.0), (0.75, 0.5)])
def test_a_motion_at_one_force_may_be_as_much_quicker_as_the_root_of_what_the_motor_has(
    v0, limit, rate
):
    loop = loop_of(pushed(motor("F", limit=limit)))
    found = path_timing(loop, hurried(v0=v0))
    assert found.rate == pytest.approx(rate, rel=1e-9)
    assert (found.binding, found.clock_ends) == (("motor 'F'",), None)
    begin = T[1] if v0 == 0.0 else 0.0  # at a stop it begins from rest
    assert found.duration == pytest.approx(1.0 - begin)
    if limit > 3.0:
        length = v0 + 0.75 - 0.75 * begin**2
        least = fastest(length, v0, v0 + 1.5, limit / 2.0)
        assert found.least == pytest.approx(least, rel=2e-3)  # it turns between two points
        assert found.bound_by == pytest.approx({"motor 'F'": 1.0}, abs=0.05)


def test_where_the_force_is_largest_the_motion_is_bound():
    t = T
    course = motion(t + 0.1 * t**3, 1.0 + 0.3 * t**2, 0.6 * t)
    found = path_timing(loop_of(pushed(motor("F", limit=2.4))), course)
    assert found.t == 1.0
    assert found.rate == pytest.approx(np.sqrt(2.4 / 1.2), rel=1e-6)


def test_a_stop_parts_a_motion_and_what_is_too_short_has_no_timing():
    loop = loop_of(pushed(motor("F", limit=12.0)))
    t = np.linspace(0.0, 2.0, 201)
    v = 0.75 * np.maximum(np.abs(t - 1.0) - 0.1, 0.0) * np.sign(t - 1.0)
    a = np.where(np.abs(t - 1.0) > 0.1, 0.75, 0.0)
    q = 0.375 * np.maximum(np.abs(t - 1.0) - 0.1, 0.0) ** 2
    found = path_timing(loop, motion(q, v, a, t=t))
    assert found.duration == pytest.approx(1.8, abs=0.041)
    assert found.rate == pytest.approx(np.sqrt(8.0), rel=1e-6)
    assert path_timing(loop, hurried(t=np.linspace(0.0, 1.0, 5))) is None
    assert path_timing(loop, hurried(v0=1.0, a=0.0, t=np.linspace(0.0, 1e-7, 9))) is None


@pytest.mark.parametrize(
    ("robot", "kind"),
    [(pushed("F"), "law"), (pushed(), "law"), (pushed(motor("F", limit=12.0)), "path alone")],
    ids=["no limits", "no motors", "a path alone"],
)
def test_what_nothing_limits_or_no_motor_makes_has_no_timing(robot, kind):
    loop = SimpleNamespace(robot=robot)
    assert path_timing(loop, hurried(kind=kind)) is None
