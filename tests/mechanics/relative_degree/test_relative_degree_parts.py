"""The parts of relative degrees by closed forms, and what is said of them, whole."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from ukctrl import Robot
from ukctrl.core.errors import SingularMass, UkctrlError
from ukctrl.mechanics.constraints import Expression, Stack
from ukctrl.mechanics.derivatives import SampledJets, jets_of
from ukctrl.mechanics.dynamics import Dynamics
from ukctrl.mechanics.relative_degree import (
    Decoupling,
    DerivativeArray,
    RelativeDegree,
    VectorRelativeDegree,
    advice,
    decoupling,
    decoupling_rank,
    direct_decoupling,
    explain_unreachable_rows,
    recommend_law,
    relative_degrees,
    shared_channel_degree,
    vector_relative_degree,
)
from ukctrl.mechanics.relative_degree.advice import (
    DAMPED_KINDS,
    ELASTIC_KINDS,
    HIGHEST_OF_DAE,
    LINEARISE,
    PLANNED,
)
from ukctrl.mechanics.relative_degree.derivative_array import (
    MAX_TIME_SCALE,
    MIN_TIME_SCALE,
    RANK_TOLERANCE,
    _rank,
)
from ukctrl.mechanics.relative_degree.step_response import (
    GROWTH,
    LONGEST,
    SHORTEST,
    UNDECIDED,
    StepResponse,
    _orders_of,
    response_orders,
)
from ukctrl.robot import Lagrangian, Options

CLOSE = {"rtol": 1e-9, "atol": 1e-9}
DIFFERENCED = {"rtol": 1e-6, "atol": 1e-6}  # of polynomials of second order, by central differences


def masses(*weights, springs=(), potential="0", more=()):
    """Masses on a line, springs between neighbours, a force on the first; or on ``more``."""
    names = [f"x{k + 1}" for k in range(len(weights))]
    energy = [
        f"{k}/2*({b} - {a})**2"
        for k, (a, b) in zip(springs, itertools.pairwise(names), strict=True)
    ]
    return Robot.build(
        Lagrangian(
            coordinates=dict.fromkeys(names, "m"),
            kinetic=[f"{m}/2*v.{x}**2" for m, x in zip(weights, names, strict=True)],
            potential=[*energy, potential],
            inputs={f"F{x}": {x: 1.0} for x in ("x1", *more)},
        )
    )


def stack(robot, *texts, form="phi"):
    return Stack([Expression(**{form: t}, name=f"row{i}") for i, t in enumerate(texts)], robot)


def trial(robot, texts, q, v, form="phi"):
    servo = stack(robot, *texts, form=form)
    rows = np.arange(len(texts))
    return StepResponse(Dynamics(robot), servo, rows, 0.0, np.array(q, float), np.array(v, float))


def whole(**changes):
    plain = {
        "names": ("a", "b"), "channels": 1, "orders": (4, 4), "fixed": 6, "states": 6,
        "inputs": 2, "determined": True,
    }  # fmt: skip
    return VectorRelativeDegree(**plain | changes)


# how rows answer a constant input


@pytest.mark.parametrize("duration", [1e-3, 0.1, 1.0])
def test_the_errors_after_a_while_are_those_of_the_closed_form(duration):
    """A mass of 2 kg on a spring of 8 N/m, pulled by 3 N, in 2 rad/s."""
    robot = masses(2.0, potential="4*x1**2")
    here = trial(robot, ["x1 - 0.1"], [0.3], [-0.5])
    found, noise = here.errors(np.array([3.0]), duration)
    c, s, rest = math.cos(2.0 * duration), math.sin(2.0 * duration), 3.0 / 8.0
    expected = rest + (0.3 - rest) * c - 0.25 * s - 0.1
    assert abs(found[0] - expected) <= noise[0]
    assert 1e-15 <= noise[0] < 1e-7


def test_what_the_time_does_to_rows_and_plant_is_in_the_errors():
    """From t = 2 s a mass of 1 + t kg, pushed by 3 N against a row that is there at t^3."""
    robot = Robot.build(
        Lagrangian(
            coordinates={"x": "m"},
            kinetic="(1 + t)*v.x**2/2",
            potential="0",
            inputs={"F": {"x": 1.0}},
        )
    )
    servo, still = stack(robot, "x - t**3"), np.zeros(1)
    here = StepResponse(Dynamics(robot), servo, np.array([0]), 2.0, still, still)
    found, noise = here.errors(np.array([3.0]), 0.5)
    t = 2.5  # d((1 + t) v)/dt = 3: v = 3 (t - 2)/(1 + t), x its integral
    expected = 3.0 * (t - 2.0) - 9.0 * math.log((1.0 + t) / 3.0) - t**3
    assert abs(found[0] - expected) <= noise[0] < 1e-9


def test_inputs_are_tried_by_the_acceleration_that_they_give():
    robot = masses(2.0, 5.0, springs=[8.0], more=["x2"])
    here = trial(robot, ["x1"], [0.0, 0.0], [0.0, 0.0])
    np.testing.assert_allclose(here.inputs, np.diag([2.0, 5.0]), **CLOSE)
    # At rest a free mass moves by t^2/2 under an acceleration 1, whatever the strength tried.
    free = trial(masses(2.0), ["x1"], [0.3], [0.1])
    for duration in (1e-4, 1e-2, 1.0):
        size, noise = free.difference(free.inputs[0], duration)
        np.testing.assert_allclose(size, [0.5 * duration**2], rtol=1e-7)
        assert noise[0] < 1e-9 * size[0] + 1e-15 * duration


def test_an_input_that_pushes_nothing_is_not_tried():
    robot = Robot.build(
        Lagrangian(
            coordinates={"x": "m", "y": "m"}, kinetic="v.x**2 + v.y**2",
            inputs={"idle": {"x": "0*x"}, "F": {"x": 1.0}},
        )
    )  # fmt: skip
    inputs = trial(robot, ["x"], [0.0, 0.0], [0.0, 0.0]).inputs
    np.testing.assert_allclose(inputs, [[0.0, 2.0]], **CLOSE)


def test_what_weak_inputs_do_at_once_is_taken_out_with_the_least_force():
    """x1 is held; the push goes on through the spring, no further."""
    robot = masses(1.0, 1.0, springs=[9.0])
    servo, none = stack(robot, "x1", "x2"), np.zeros(2)
    held = StepResponse(Dynamics(robot), servo, np.array([0, 1]), 0.0, none, none, np.array([0]))
    size, noise = held.difference(np.array([1.0]), 0.1)
    assert (size <= 10.0 * noise + 1e-13).all()


def powers(*terms, noise=0.0):
    """Rows that grow with time as ``c t^k (1 + e t)``."""

    def difference(t):
        return np.array([c * t**k * (1.0 + e * t) for c, k, e in terms]), np.full(len(terms), noise)

    return difference


def test_slopes_are_the_powers_of_time():
    terms = [(3.0, k, e) for k in (1, 2, 3, 4, 6) for e in (0.0, 0.5, -0.5)]
    assert _orders_of(powers(*terms), len(terms)) == [k for _, k, _ in terms]


def test_a_power_that_is_no_whole_number_is_unclear():
    assert _orders_of(powers((1.0, 2.5, 0.0), (1.0, 2.06, 0.0)), 2) == [UNDECIDED, UNDECIDED]
    assert _orders_of(powers((1.0, 2.04, 0.0)), 1) == [2]


def test_what_stays_below_its_noise_is_not_seen():
    loud = powers((1.0, 2, 0.0), noise=1e-3)
    assert _orders_of(loud, 1) == [None]
    assert _orders_of(powers((0.0, 2, 0.0)), 1) == [None]
    # t^2 is 1e4 times 1e-6 from 0.1 s on: measured there, though its beginning is lost.
    asked = []
    quiet = powers((1.0, 2, 0.0), noise=1e-6)
    assert _orders_of(lambda t: (asked.append(t), quiet(t))[1], 1) == [2]
    assert asked[0] == SHORTEST
    np.testing.assert_allclose(np.divide(asked[1:], asked[:-1]), GROWTH)
    assert 0.1 < asked[-3] < 0.1 * GROWTH * 1.01
    assert asked[-1] <= LONGEST


def test_durations_end_at_the_longest():
    asked = []
    _orders_of(lambda t: (asked.append(t), (np.zeros(1), np.ones(1)))[1], 1)
    assert asked[-1] <= LONGEST < asked[-1] * GROWTH


def test_a_robot_that_breaks_down_on_the_way_leaves_what_was_measured_by_then():
    clear = powers((1.0, 3, 0.0), (1.0, 2, 0.0))

    def difference(t):
        if t > 3.0 * SHORTEST:
            raise SingularMass("gone")
        size, noise = clear(t)
        return size, noise + np.array([0.0, 1.0])

    # Three clear durations, 1e-6 and its next two, give the first row its power.
    assert _orders_of(difference, 2) == [3, UNDECIDED]


def test_the_least_power_of_all_inputs_counts_and_unclear_below_all():
    class Rows:
        inputs = np.eye(3)
        count = 3

        def difference(self, u, t):
            at = int(np.argmax(u))
            rows = [[(1, 4, 0), (1, 3, 0), (0, 1, 0)], [(1, 2, 0), (1, 2.5, 0), (0, 1, 0)],
                    [(0, 1, 0), (1, 2, 0), (0, 1, 0)]][at]  # fmt: skip
            return powers(*rows)(t)

    assert response_orders(Rows()) == [2, UNDECIDED, None]


# the derivative array


def test_the_array_of_a_chain_is_its_derivatives_in_units_of_its_time():
    """Masses 1 and 2 on a spring of 50: accelerations change by at most 50 a metre."""
    robot = masses(1.0, 2.0, springs=[50.0])
    q, v, U = np.array([0.1, 0.3]), np.array([0.2, -0.4]), np.array([[3.0], [0.5]])
    jets = jets_of(stack(robot, "x2"), 3, Dynamics(robot).rank)
    array = DerivativeArray(jets, Dynamics(robot), 0.0, q, v)
    T = 50.0**-0.5
    np.testing.assert_allclose(array.time_scale, T, **DIFFERENCED)
    np.testing.assert_allclose(array.input_scale, [50.0], **DIFFERENCED)
    assert [array.n_input_derivatives(order) for order in range(5)] == [0, 0, 1, 2, 3]
    found = array.values(0.0, q, v, U, 3)
    accelerations = -25.0 * (q[1] - q[0]), -25.0 * (v[1] - v[0])
    np.testing.assert_allclose(
        found, [q[1], T * v[1], T**2 * accelerations[0], T**3 * accelerations[1]], **DIFFERENCED
    )
    J = array.jacobian(0.0, q, v, U, 3)
    expected = [[0, 1, 0, 0], [0, 0, 0, 1], [0.5, -0.5, 0, 0], [0, 0, 0.5, -0.5]]
    np.testing.assert_allclose(J[:, :4], expected, rtol=0.0, atol=1e-6)
    np.testing.assert_allclose(J[:, 4:], 0.0, atol=1e-6)
    assert array.ranks(J, 3) == (0, 4, 4)
    assert array.ranks(J, 3, np.array([1])) == (0, 2, 2)
    moved = array.retract(q, v, U, np.arange(6.0))
    np.testing.assert_allclose(moved[0], [0.1, 1.3])
    np.testing.assert_allclose(moved[1], v + np.array([2.0, 3.0]) / T, **DIFFERENCED)
    np.testing.assert_allclose(moved[2], [[203.0], [0.5 + 250.0 / T]], **DIFFERENCED)


def test_an_input_fixed_by_its_row_counts_and_one_that_is_not_does_not():
    robot = masses(1.0, 2.0, springs=[50.0], more=["x2"])
    zero, U = np.zeros(2), np.zeros((1, 2))
    array = DerivativeArray(jets_of(stack(robot, "x1"), 2, Dynamics(robot).rank),
                            Dynamics(robot), 0.0, zero, zero)  # fmt: skip
    J = array.jacobian(0.0, zero, zero, U, 2)
    # x1, its velocity; its acceleration holds the input beside the spring: one more together.
    assert array.ranks(J, 2) == (0, 2, 3)


def test_the_scales_of_an_array_are_those_of_its_state_wherever_the_robot_was():
    """At rest, where only the spring of 60 N/m pulls at a mass of 1 + x^2 kg."""
    robot = Robot.build(
        Lagrangian(
            coordinates={"x": "m"}, kinetic="(1 + x**2)/2*v.x**2", potential="30*x**2",
            inputs={"F": {"x": 2.0}},
        )
    )  # fmt: skip
    dynamics, x = Dynamics(robot), 0.5
    dynamics.move(0.0, np.array([7.0]), np.array([3.0]))
    jets = jets_of(stack(robot, "x"), 2, dynamics.rank)
    array = DerivativeArray(jets, dynamics, 0.0, np.array([x]), np.zeros(1))
    mass, spring = 1.0 + x**2, 60.0
    np.testing.assert_allclose(array.holding_input, [spring * x / 2.0], **CLOSE)
    # Held, its acceleration (60 x - 60 q) / (1 + q^2) changes by 60 / (1 + x^2) a metre.
    np.testing.assert_allclose(array.time_scale, math.sqrt(mass / spring), **DIFFERENCED)
    np.testing.assert_allclose(array.input_scale, [mass / 2.0 / array.time_scale**2], **CLOSE)


@pytest.mark.parametrize("unit", [1.0, 1e6, 1e12])
def test_noise_of_measured_rows_counts_beside_their_size_whatever_their_unit(unit):
    """A far mass of 200 kg answers the spring weakly, by a two-hundredth: it is no noise."""
    robot = masses(1.0, 200.0, springs=[50.0])
    q, v, U = np.array([0.1, 0.3]), np.array([0.2, -0.4]), np.zeros((2, 1))
    array = DerivativeArray(SampledJets(stack(robot, f"{unit}*x2")), Dynamics(robot), 0.0, q, v)
    J = array.jacobian(0.0, q, v, U, 3)
    J[:, 4:] = 0.0  # up to the third derivative no input appears, whose noise is no matter here
    assert array.ranks(J, 3) == (0, 4, 4)
    assert array.ranks(np.zeros_like(J), 3) == (0, 0, 0)  # rows that nothing moves


@pytest.mark.parametrize(
    ("stiffness", "time"), [(0.1, MAX_TIME_SCALE), (1.0, 1.0), (4e4, 0.005), (1e8, MIN_TIME_SCALE)]
)
def test_a_time_scale_lies_between_a_millisecond_and_a_second(stiffness, time):
    robot = masses(1.0, potential=f"{stiffness}/2*x1**2")
    zero = np.zeros(1)
    jets = jets_of(stack(robot, "x1"), 2, Dynamics(robot).rank)
    array = DerivativeArray(jets, Dynamics(robot), 0.0, zero, zero)
    np.testing.assert_allclose(array.time_scale, time, rtol=1e-6)


def test_a_closure_fixes_the_states_that_it_takes():
    robot = Robot.build(
        Lagrangian(
            coordinates={"x": "m", "y": "m"},
            kinetic="v.x**2/2 + v.y**2/2",
            inputs={"F": {"x": 1.0}},
        ),
        Options(passive=[{"kind": "expression", "phi": "y - 2*x"}]),
    )
    found = vector_relative_degree(
        Dynamics(robot), stack(robot, "x"), 0.0, np.zeros(2), np.zeros(2), [2]
    )
    assert (found.fixed, found.states, found.internal, found.flat) == (2, 2, 0, True)


@pytest.mark.parametrize(
    ("rows", "rank"),
    [
        (np.zeros((0, 3)), 0), (np.zeros((2, 3)), 0), (np.eye(3), 3),
        ([[1.0, 0.0], [1.0, 1.7 * RANK_TOLERANCE]], 1),  # of two unit rows: 1.2 of 1.4
        ([[1.0, 0.0], [1.0, 2.5 * RANK_TOLERANCE]], 2),
        ([[1.0, 0.0], [0.0, 0.5 * RANK_TOLERANCE]], 1),  # a row that is rounding beside the other
        ([[1.0, 0.0], [0.0, 2.0 * RANK_TOLERANCE]], 2),  # and one that is small
    ],
)  # fmt: skip
def test_the_rank_of_rows_is_of_their_directions(rows, rank):
    assert _rank(np.array(rows), RANK_TOLERANCE) == rank


@pytest.mark.parametrize("unit", [1e-11, 1e-3, 1.0, 1e9])
def test_what_is_fixed_does_not_depend_on_the_units_of_rows(unit):
    """Of each row, and of all: the array of x1 and x2 with the unit and its root."""
    robot = masses(1.0, 2.0, springs=[50.0])
    zero = np.zeros(2)
    array = DerivativeArray(jets_of(stack(robot, "x1", "x2"), 3, Dynamics(robot).rank),
                            Dynamics(robot), 0.0, zero, zero)  # fmt: skip
    J = array.jacobian(0.0, zero, zero, np.zeros((2, 1)), 3)
    for units in ([1.0, 1.0], [unit, unit], [unit, unit**0.5]):
        assert array.ranks(np.tile(units, 4)[:, None] * J, 3) == (0, 4, 5)


def test_a_state_that_all_coordinates_leave_alike_is_not_special():
    """A cubic spring, relaxed: nearby it pushes, wherever it is stretched."""
    robot = masses(1.0, 2.0, springs=[0.0], potential="(x2 - x1)**4")
    found = vector_relative_degree(
        Dynamics(robot), stack(robot, "x2"), 0.0, np.zeros(2), np.zeros(2), [4]
    )
    assert (found.fixed, found.orders) == (4, (4,))


# decoupling


def test_derivatives_of_rows_that_inputs_reach_at_once_are_theirs():
    """x1 at position level and v.x2 at velocity level; an input for each."""
    robot = masses(2.0, 4.0, springs=[8.0], more=["x2"])
    q, v = np.array([0.1, 0.4]), np.array([0.3, -0.2])
    servo = Stack([Expression(phi="x1 - 0.5"), Expression(psi="v.x2 + 3*x2")], robot)
    dynamics = Dynamics(robot)
    dynamics.move(0.0, q, v)
    found = direct_decoupling(servo, dynamics)
    pull = 8.0 * (q[1] - q[0])
    last = [pull / 2.0, -pull / 4.0 + 3.0 * v[1]]
    np.testing.assert_allclose(found.last, last, **CLOSE)
    np.testing.assert_allclose(
        found.drift, [[q[0] - 0.5, v[1] + 3.0 * q[1]], [v[0], last[1]], [last[0], 0.0]], **CLOSE
    )
    np.testing.assert_allclose(found.E, np.diag([0.5, 0.25]), **CLOSE)
    usual = max(1.0, pull / 2.0, pull / 4.0)
    np.testing.assert_allclose(found.push, [2.0 * usual, 4.0 * usual], **CLOSE)
    assert found.rank == 2
    # The same by the general way, which does not know what is reached at once.
    jets = jets_of(servo, 2, dynamics.rank)
    same = decoupling(jets, dynamics, 0.0, q, v, [2, 1])
    np.testing.assert_allclose(same.E, found.E, **DIFFERENCED)
    np.testing.assert_allclose(same.last, last, **DIFFERENCED)


def test_the_far_mass_is_decoupled_at_its_fourth_derivative():
    robot = masses(2.0, 4.0, springs=[8.0])
    q, v = np.array([0.1, 0.4]), np.array([0.3, -0.2])
    dynamics = Dynamics(robot)
    found = decoupling(jets_of(stack(robot, "x2"), 4, dynamics.rank), dynamics, 0.0, q, v, [4])
    np.testing.assert_allclose(found.E, [[8.0 / (2.0 * 4.0)]], **DIFFERENCED)
    stretch = 8.0 * (q[1] - q[0])
    np.testing.assert_allclose(found.last, [(8 / 4) * (stretch / 2 + stretch / 4)], **DIFFERENCED)


def test_rows_of_a_unit_of_their_own_are_told_apart_down_to_a_threshold():
    assert decoupling_rank(np.diag([1e-9, 1e9])) == 2
    assert decoupling_rank(np.array([[1.0, 0.0], [1.0, 1e-7]])) == 1
    assert decoupling_rank(np.array([[1.0, 0.0], [1.0, 1e-5]])) == 2
    assert decoupling_rank(np.zeros((2, 2))) == 0
    E, push = np.array([[1.0, 0.0], [1.0, 1e-9]]), np.array([1.0, 1e9])
    assert (Decoupling(E, E[0], E, push).rank, Decoupling(E, E[0], E, push**0).rank) == (2, 1)


# sentences


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        (
            {"channels": 2, "fixed": 4, "states": 4},
            "4 of 4 states are fixed by the rows.",
        ),
        (
            {"channels": 2, "fixed": 3, "states": 4},
            "3 of 4 states are fixed by the rows; 1 remains as internal dynamics.",
        ),
        (
            {"channels": 2, "fixed": 2, "states": 4},
            "2 of 4 states are fixed by the rows; 2 remain as internal dynamics.",
        ),
        (
            {},
            "rows 'a', 'b' reach the inputs through 1 of 2 channels: together their relative "
            "degree is 4, 4, after dynamic extension; 6 of 6 states are fixed by the rows.",
        ),
        (
            {"orders": None, "fixed": 5, "determined": False},
            "rows 'a', 'b' reach the inputs through 1 of 2 channels, and further derivatives do "
            "not tell the inputs apart: 5 of 6 states are fixed by the rows; 1 remains as internal "
            "dynamics.",
        ),
    ],
)
def test_what_rows_do_together_is_said_whole(changes, sentence):
    found = whole(**changes)
    assert found.sentence == sentence
    assert found.internal == found.states - found.fixed
    assert found.extended == (found.channels < 2)
    assert found.flat == (found.internal == 0 and found.determined)


WAYS = {
    "nothing left inside": (
        (0, False, 2, 2, 2),
        f'Use {LINEARISE}; or a motion worked out before the run, {PLANNED} "flat" or "servo_dae".',
    ),
    "something left inside": (
        (2, False, 2, 2, 2),
        f"Use {LINEARISE}, if the internal dynamics are stable; or a motion worked out before the "
        f'run, {PLANNED} "servo_dae" or "stable_inversion".',
    ),
    "no static feedback": (
        (0, True, HIGHEST_OF_DAE, 2, 2),
        f'Use a motion worked out before the run, {PLANNED} "flat" or "servo_dae".',
    ),
    "too high for a DAE": (
        (0, True, HIGHEST_OF_DAE + 1, 2, 2),
        f'Use a motion worked out before the run, {PLANNED} "flat".',
    ),
    "of no known degree": (
        (None, True, None, 2, 2),
        f'Use a motion worked out before the run, {PLANNED} "servo_dae" or "stable_inversion".',
    ),
    "more inputs than rows": (
        (2, True, 2, 1, 2),
        "Hold what the inputs leave free by further rows, 2 in all: then a motion can be worked "
        f'out before the run, {PLANNED} "servo_dae" or "stable_inversion".',
    ),
    "more inputs, and static feedback": (
        (2, False, 2, 1, 2),
        f"Use {LINEARISE}, if the internal dynamics are stable.",
    ),
    "nothing serves": ((2, True, HIGHEST_OF_DAE + 1, 2, 2), "Hold other rows."),
}


@pytest.mark.parametrize("case", WAYS)
def test_what_serves_rows_is_said_whole(case):
    given, sentence = WAYS[case]
    assert recommend_law(*given) == sentence


def test_what_serves_rows_together_is_that_of_their_highest_degree():
    assert whole(orders=(2, HIGHEST_OF_DAE + 1)).advice == WAYS["too high for a DAE"][1]
    assert whole(orders=(2, 4)).advice == WAYS["no static feedback"][1]
    unknown = whole(orders=None, fixed=4)
    assert unknown.advice == WAYS["of no known degree"][1]


def test_springs_between_motors_and_links_are_named_first():
    elastic = Robot.load("two_link", override={"elastic": {"stiffness": 9.0, "motor_inertia": 0.1}})
    springs = f"Motors reach it through the springs of elastic joints: use {ELASTIC_KINDS}."
    assert advice(elastic, None) == advice(elastic, whole()) == springs
    damped = Robot.load(
        "two_link", override={"elastic": {"stiffness": 9.0, "motor_inertia": 0.1, "damping": 1.0}}
    )
    assert advice(damped, None) == springs.replace(ELASTIC_KINDS, DAMPED_KINDS)
    rigid = Robot.load("two_link")
    assert advice(rigid, None) == ""
    assert advice(rigid, whole()) == whole().advice


def test_a_degree_is_said_with_why_it_is_not_certain():
    certain = RelativeDegree(name="a", value=4, at_least=4)
    assert (str(certain), certain.sentence) == ("4", "its relative degree is 4.")
    open_ = RelativeDegree(name="a", value=None, at_least=3, note="it differs")
    assert str(open_) == "at least 3"
    assert open_.sentence == "its relative degree is at least 3: it differs."


def degrees(robot, *texts, q, v=None, least=None):
    zero = np.zeros(robot.nv)
    return relative_degrees(
        Dynamics(robot), stack(robot, *texts), 0.0, np.array(q, float),
        zero if v is None else np.array(v, float), least,
    )  # fmt: skip


NOTES = {
    "never moved": (
        lambda: degrees(masses(1.0, 2.0, springs=[0.0]), "x2", q=[0, 0]),
        (None, 3, "no input was seen to move it within 1 s"),
    ),
    "lost at this very state": (
        lambda: degrees(masses(1.0, 2.0, springs=[3.0]), "x1**2/2 + x2", q=[0, 0.1]),
        (None, 3, "nearby it is 2, but the motors lose their grip at this very state"),
    ),
    "certain": (
        lambda: degrees(masses(1.0, 2.0, springs=[3.0]), "x2", q=[0, 0.1]), (4, 4, ""),
    ),
    "by grip": (lambda: degrees(masses(1.0, 2.0, springs=[3.0]), "x1", q=[0, 0.1]), (2, 2, "")),
    "another nearby": (
        lambda: degrees(masses(1.0, 1.0, springs=[0.0], potential="x1**2*x2"), "x2", q=[0, 0]),
        (None, 3, "it differs between this state and others nearby, or could not be told"),
    ),
    "moved nearby alone": (
        lambda: degrees(masses(1.0, 1.0, 1.0, springs=[0.0, 0.0], potential="x1*x2*x3"), "x2",
                        q=[0, 0, 0]),
        (None, 3, "it differs between this state and others nearby, or could not be told"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", NOTES)
def test_every_note_on_a_degree_is_said_where_it_is_true(case):
    found, expected = NOTES[case]
    (row,) = found()
    assert (row.value, row.at_least, row.note) == expected


@pytest.mark.slow
def test_grip_below_what_is_asked_for_counts_as_none():
    """The force on x1 moves a hundredth of the row at once, and all of it through the spring."""
    robot = masses(1.0, 1.0, springs=[5.0])
    assert degrees(robot, "x2 + 0.01*x1", q=[0, 0])[0].value == 2
    assert degrees(robot, "x2 + 0.01*x1", q=[0, 0], least=0.1)[0].value == 4


@pytest.mark.slow
def test_a_row_above_two_is_explained_with_what_serves_it():
    robot = masses(1.0, 2.0, springs=[50.0])
    servo = stack(robot, "x2")
    at = 0.0, np.array([0.0, 0.1]), np.zeros(2)
    assert explain_unreachable_rows(Dynamics(robot), servo, ["row0"], *at) == (
        f"Row 'row0': its relative degree is 4. {WAYS['nothing left inside'][1]}"
    )
    assert explain_unreachable_rows(Dynamics(robot), servo, ["another"], *at) == ""
    still = masses(1.0, 2.0, springs=[0.0])
    assert explain_unreachable_rows(Dynamics(still), stack(still, "x2"), ["row0"], *at) == (
        "Row 'row0': its relative degree is at least 3: no input was seen to move it within 1 s."
    )


def test_a_row_on_velocities_behind_a_damper_is_explained_though_its_degree_is_two():
    plant = Lagrangian(
        coordinates={"x1": "m", "x2": "m"},
        kinetic="(v.x1**2 + v.x2**2)/2",
        dissipation="(v.x1 - v.x2)**2",
        inputs={"F": {"x1": 1.0}},
    )
    robot = Robot.build(plant)
    servo = Stack([Expression(psi="v.x2 - 0.1", name="rate")], robot)
    found = explain_unreachable_rows(
        Dynamics(robot), servo, servo.names, 0.0, np.zeros(2), np.zeros(2)
    )
    assert found == f"Row 'rate': its relative degree is 2. {WAYS['something left inside'][1]}"


def test_rows_that_share_a_channel_are_explained_together():
    """Both rows hang on x1, whose force is the only way; F on x3 reaches neither row at once."""
    robot = masses(1.0, 1.0, 1.0, springs=[5.0, 7.0], more=["x3"])
    servo = stack(robot, "x1 + 0*x2", "x1 + x2")
    found = explain_unreachable_rows(
        Dynamics(robot), servo, ["row0", "row1"], 0.0, np.zeros(3), np.zeros(3)
    )
    assert found == (
        "Rows 'row0', 'row1' reach the inputs through 1 of 2 channels: together their relative "
        "degree is 4, 4, after dynamic extension; 6 of 6 states are fixed by the rows. "
        f"{WAYS['no static feedback'][1]}"
    )


def test_passive_rows_take_states_also_where_inputs_must_be_differentiated():
    """The same, with a fourth mass tied to the first: two states more, and taken."""
    plant = Lagrangian(
        coordinates=dict.fromkeys(("x1", "x2", "x3", "y"), "m"),
        kinetic="(v.x1**2 + v.x2**2 + v.x3**2 + v.y**2)/2",
        potential="5/2*(x2 - x1)**2 + 7/2*(x3 - x2)**2",
        inputs={"F": {"x1": 1.0}, "G": {"x3": 1.0}},
    )
    robot = Robot.build(plant, Options(passive=[{"kind": "expression", "phi": "y - 2*x1"}]))
    zero, servo = np.zeros(4), stack(robot, "x1 + 0*x2", "x1 + x2")
    found = vector_relative_degree(Dynamics(robot), servo, 0.0, zero, zero, [2, 2])
    assert (found.orders, found.fixed, found.states, found.internal) == ((4, 4), 6, 6, 0)


def test_how_rows_reach_the_inputs_together_is_no_question():
    """With grip on each, with more rows than inputs, with dependent rows; else it is answered."""
    robot = masses(1.0, 2.0, springs=[50.0], more=["x2"])
    one = masses(1.0, 2.0, springs=[50.0])
    zero = np.zeros(2)

    def asked(robot, *texts, known=2):
        rows = [RelativeDegree(name="", value=known, at_least=2) for _ in texts]
        return shared_channel_degree(Dynamics(robot), stack(robot, *texts), 0.0, zero, zero, rows)

    assert asked(robot, "x1", "x2") is None
    assert asked(one, "x1", "x2") is None
    assert asked(robot, "x1", "2*x1") is None
    assert asked(one, "x2", known=4) == VectorRelativeDegree(
        names=("row0",), channels=1, orders=(4,), fixed=4, states=4, inputs=1, determined=True
    )


@pytest.mark.slow(only=["24"])
@pytest.mark.parametrize("count", [24, 25])
def test_robots_of_more_velocities_are_not_looked_at(count):
    robot = masses(*[1.0] * count, springs=[1.0] * (count - 1))
    given = Dynamics(robot), stack(robot, "x1"), 0.0, np.zeros(count), np.zeros(count), [2]
    if count == 24:
        assert vector_relative_degree(*given).fixed == 2
    else:
        with pytest.raises(UkctrlError) as caught:
            vector_relative_degree(*given)
        assert str(caught.value) == "robots with more than 24 velocities are not looked at."
