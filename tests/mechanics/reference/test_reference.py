"""References: every kind has exact derivatives, and its own shape."""

from __future__ import annotations

import copy
import dataclasses as dc
import math
import pickle

import numpy as np
import pytest
from differences import derivative
from pydantic import TypeAdapter, ValidationError

from ukctrl.core.errors import InputError
from ukctrl.core.expression.compiled_formula import DomainError
from ukctrl.mechanics.reference import (
    AnyReference,
    Circle,
    Constant,
    Expression,
    HarmonicSum,
    Helix,
    Lemniscate,
    Line,
    MinJerk,
    Polynomial,
    Reference,
    Repeated,
    Sample,
    Spline,
    Stacked,
    TimeScaled,
)

EXACT = {"rtol": 1e-12, "atol": 1e-12}
SERIES = {"rtol": 1e-11, "atol": 1e-11}  # another way to the same derivatives
DIFFERENCES = {"rtol": 1e-6, "atol": 1e-6}  # five-point differences 1e-4 apart
TIMES = np.linspace(-0.4, 3.7, 23) + 0.00137  # beside the waypoints, also outside the paths

CIRCLE = {"kind": "circle", "center": [0.1, 0.2, 0.3], "radius": 0.2, "period": 2.0}
SPECS = {
    "constant": {"kind": "constant", "value": [1, 2, 3]},
    "constant scalar": {"kind": "constant", "value": "30*deg"},
    "line": {"kind": "line", "start": [0, 1, 2], "end": [1, 0, 2.5], "duration": 3},
    "line uniform": {
        **{"kind": "line", "start": 0, "end": 2, "duration": 3},
        "profile": "uniform",
    },
    "line endless": {"kind": "line", "start": [0, 1], "velocity": [0.5, -1]},
    "circle": CIRCLE,
    "circle tilted": {**CIRCLE, "normal": [1, 2, 3], "phase": "30*deg", "first_axis": "y"},
    "helix": {
        **{"kind": "helix", "center": [0, 0.35, 0], "radius": 0.05, "period": 5},
        **{"rise": -0.02, "axis": "-z", "phase": "-90*deg"},
    },
    "helix pitch": {
        **{"kind": "helix", "center": [0, 0, 0], "radius": 1, "period": 3},
        **{"pitch": 0.4, "axis": [1, 1, 0]},
    },
    "lemniscate": {**CIRCLE, "kind": "lemniscate", "half_width": 0.2, "normal": "y"},
    "lemniscate gerono": {
        **{"kind": "lemniscate", "center": [0, 1, 0], "half_width": 0.2, "period": 3},
        **{"shape": "gerono", "phase": 0.4},
    },
    "harmonic": {
        "kind": "harmonic",
        "offset": [0, 1],
        "terms": [
            {"amplitude": [1, 0.5], "frequency": 0.5},
            {"amplitude": [0.1, 0], "frequency": "1.3*Hz", "phase": "pi/2"},
        ],
    },
    "polynomial": {"kind": "polynomial", "coefficients": [[1, 2, -3, 0.4], [0, 1], [5]]},
    "polynomial held": {"kind": "polynomial", "coefficients": [[1, 2, -3, 0.4]], "duration": 2},
    "min_jerk": {"kind": "min_jerk", "points": [[0, 0], [1, 2], [0, 1]], "times": [0, 1, 3]},
    "min_jerk pass": {"kind": "min_jerk", "points": [0, 1, 0.5], "duration": 3, "via": "pass"},
    "rest_to_rest": {
        **{"kind": "rest_to_rest", "points": [[0, 1], [1, -1], [0, 0]]},
        **{"times": [0.2, 1.5, 3], "still": 5},
    },
    "spline": {"kind": "spline", "points": [[0, 1], [1, 0], [0.5, 2]], "times": [0.2, 1, 3]},
    "spline natural": {
        **{"kind": "spline", "points": [0, 1, 0.5, 2], "duration": 3},
        "ends": "natural",
    },
    "spline periodic": {
        **{"kind": "spline", "points": [0, 1, 0.5, 0], "duration": 2},
        "ends": "periodic",
    },
    "quintic": {"kind": "spline", "points": [0, 1, 0.5, 2], "duration": 3, "degree": "quintic"},
    "quintic natural": {
        **{"kind": "spline", "points": [0, 1, 0.5, 2], "duration": 3},
        **{"degree": "quintic", "ends": "natural"},
    },
    "quintic periodic": {
        **{"kind": "spline", "points": [0, 1, 0.5, 2, 1, 0], "duration": 2},
        **{"degree": "quintic", "ends": "periodic"},
    },
    "expression": {"kind": "expression", "x": "0.05*sin(0.4*pi*t)", "y": "exp(-t)*t**2", "z": 2},
    "expression components": {"kind": "expression", "components": ["t**3", "cos(2*t)/(2 + t**2)"]},
    "time_scaled": {"kind": "time_scaled", "path": CIRCLE, "rate": -0.5, "delay": "250*ms"},
    "time_scaled clock": {
        "kind": "time_scaled",
        "path": CIRCLE,
        "clock": {"kind": "min_jerk", "points": [0, 3, 1], "duration": 2},
    },
    "repeated": {
        "kind": "repeated",
        "period": 1.5,
        "path": {"kind": "min_jerk", "points": [[0, 1], [1, 0], [0, 1]], "duration": 1.5},
    },
    "repeated advance": {
        "kind": "repeated",
        "period": 1,
        "advance": True,
        "path": {"kind": "line", "start": [0, 1], "end": [1, -1], "duration": 1},
    },
    "stacked": {"kind": "stacked", "parts": [{"kind": "constant", "value": 4}, CIRCLE]},
}
SPECS["lemniscate"].pop("radius")


@pytest.fixture(params=SPECS.values(), ids=SPECS.keys())
def spec(request):
    return request.param


def load(spec, **context):
    return TypeAdapter(AnyReference).validate_python(spec, context=context or None)


@pytest.mark.slow(only=["repeated"])
def test_the_derivatives_equal_finite_differences(spec):
    path = load(spec)
    for t in TIMES:
        sample = path(t)
        r_dot = derivative(lambda s: path(s).r, t)
        r_ddot = derivative(lambda s: path(s).r_dot, t)
        np.testing.assert_allclose(sample.r_dot, r_dot, **DIFFERENCES)
        np.testing.assert_allclose(sample.r_ddot, r_ddot, **DIFFERENCES)


def test_the_compiled_function_returns_plain_floats_in_order(spec):
    path = load(spec)
    flat = path.compile()(0.7)
    assert len(flat) == 3 * path.size
    assert all(type(value) is float for value in flat)
    np.testing.assert_array_equal(np.concatenate(path(0.7)), flat)


def test_many_samples_are_the_single_ones(spec):
    path = load(spec)
    together = path.sample(TIMES)
    assert together.r.shape == (len(TIMES), path.size)
    for index, t in enumerate(TIMES):
        for one, other in zip(path(t), together, strict=True):
            np.testing.assert_array_equal(one, other[index])


def test_a_reference_survives_writing_reading_pickling_and_copying(spec):
    path = load(spec)
    path(0.3)
    written = TypeAdapter(AnyReference).dump_python(path)
    for again in (load(written), pickle.loads(pickle.dumps(path)), copy.deepcopy(path)):
        assert again == path
        np.testing.assert_array_equal(again(0.7).r_ddot, path(0.7).r_ddot)


def test_replacing_a_field_checks_it_again():
    path = Circle(center=(0, 0, 0), radius=0.1, period=2.0)
    assert dc.replace(path, radius=0.2).radius == 0.2
    with pytest.raises(InputError, match=r"radius: must be positive; got -1.0\."):
        dc.replace(path, radius=-1.0)


def test_a_circle_keeps_its_distance_and_its_plane():
    normal = np.array([1.0, 2.0, 3.0]) / math.sqrt(14.0)
    path = Circle(center=(0.1, 0.2, 0.3), radius=0.2, period=2.0, normal=(1, 2, 3))
    r, r_dot, r_ddot = path.sample(TIMES)
    outward = r - np.array([0.1, 0.2, 0.3])
    omega = 2.0 * math.pi / 2.0
    np.testing.assert_allclose(np.linalg.norm(outward, axis=1), 0.2, **EXACT)
    np.testing.assert_allclose(outward @ normal, 0.0, **EXACT)
    np.testing.assert_allclose(r_dot, omega * np.cross(normal, outward), **EXACT)
    np.testing.assert_allclose(r_ddot, -(omega**2) * outward, **EXACT)


@pytest.mark.parametrize(
    ("normal", "first", "second"), [("z", "x", "y"), ("x", "y", "z"), ("y", "z", "x")]
)
def test_the_axes_of_a_plane_follow_each_other(normal, first, second):
    place = {"x": 0, "y": 1, "z": 2}
    path = Circle(center=(0, 0, 0), radius=1.0, period=4.0, normal=normal)
    np.testing.assert_allclose(path(0.0).r, np.eye(3)[place[first]], **EXACT)
    np.testing.assert_allclose(path(1.0).r, np.eye(3)[place[second]], **EXACT)


def test_the_opposite_normal_turns_the_other_way():
    one = Circle(center=(0, 0, 0), radius=1.0, period=4.0, normal="z")
    other = Circle(center=(0, 0, 0), radius=1.0, period=4.0, normal="-z")
    np.testing.assert_allclose(one(0.3).r[:2], other(-0.3).r[:2], **EXACT)


def test_the_first_axis_can_be_chosen():
    path = Circle(center=(0, 0, 0), radius=1.0, period=4.0, first_axis=(1, 1, 5))
    np.testing.assert_allclose(path(0.0).r, [math.sqrt(0.5), math.sqrt(0.5), 0.0], **EXACT)


def test_the_published_helix_can_be_written_as_a_formula_or_as_a_helix():
    formula = Expression(x="0.05*sin(0.4*pi*t)", y="0.35 + 0.05*cos(0.4*pi*t)", z="0.02*t")
    helix = Helix(
        center=(0, 0.35, 0), radius=0.05, period=5.0, rise=-0.02, axis="-z", phase="-90*deg"
    )
    for one, other in zip(formula.sample(TIMES), helix.sample(TIMES), strict=True):
        np.testing.assert_allclose(one, other, **EXACT)


def test_pitch_is_the_rise_of_one_turn():
    by_pitch = Helix(center=(0, 0, 0), radius=1.0, period=3.0, pitch=0.6)
    by_rise = Helix(center=(0, 0, 0), radius=1.0, period=3.0, rise=0.2)
    np.testing.assert_allclose(by_pitch(0.8), by_rise(0.8), **EXACT)
    np.testing.assert_allclose(by_pitch(4.0).r - by_pitch(1.0).r, [0, 0, 0.6], **EXACT)


def test_bernoullis_lemniscate_satisfies_its_equation():
    a = 0.2
    path = Lemniscate(center=(0, 0, 0), half_width=a, period=3.0)
    x, y, z = path.sample(TIMES).r.T
    np.testing.assert_allclose((x**2 + y**2) ** 2, a**2 * (x**2 - y**2), **EXACT)
    np.testing.assert_array_equal(z, 0.0)
    np.testing.assert_allclose(path(0.0).r, [a, 0, 0], **EXACT)
    np.testing.assert_allclose(path(0.75).r, [0, 0, 0], **EXACT)


def test_geronos_lemniscate_satisfies_its_equation():
    a = 0.2
    path = Lemniscate(center=(0, 0, 0), half_width=a, period=3.0, shape="gerono")
    x, y, _ = path.sample(TIMES).r.T
    np.testing.assert_allclose(x**4, a**2 * (x**2 - y**2), **EXACT)


def test_a_harmonic_sum_equals_its_formula():
    path = HarmonicSum(
        offset=(1.0,),
        terms=(
            {"amplitude": 0.5, "frequency": 2.0, "phase": 0.3},
            {"amplitude": -0.2, "frequency": 0.7},
        ),
    )
    formula = Expression(components=("1 + 0.5*sin(4*pi*t + 0.3) - 0.2*sin(1.4*pi*t)",))
    for one, other in zip(path.sample(TIMES), formula.sample(TIMES), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-11, atol=1e-11)


def test_a_polynomial_equals_numpys():
    coefficients = [1.0, 2.0, -3.0, 0.4]
    expected = np.polynomial.Polynomial(coefficients)
    sample = Polynomial(coefficients=(coefficients,)).sample(TIMES)
    for order, got in enumerate(sample):
        np.testing.assert_allclose(got[:, 0], expected.deriv(order)(TIMES), **EXACT)


def test_a_finite_path_holds_its_ends():
    for path in (
        Line(start=(0, 1), end=(2, 3), duration=2.0),
        Line(start=(0, 1), end=(2, 3), duration=2.0, profile="uniform"),
        MinJerk(points=((0, 1), (5, 5), (2, 3)), duration=2.0),
        Spline(points=((0, 1), (5, 5), (2, 3)), duration=2.0),
    ):
        for t, end in ((-1.0, [0, 1]), (3.0, [2, 3])):
            np.testing.assert_allclose(path(t), [end, [0, 0], [0, 0]], **EXACT)


def test_a_line_goes_straight_and_starts_and_ends_at_rest():
    path = Line(start=(0, 0, 0), end=(1, 2, 3), duration=2.0)
    r, r_dot, r_ddot = path.sample(np.linspace(0.0, 2.0, 11))
    for rows in (r, r_dot, r_ddot):
        np.testing.assert_allclose(np.cross(rows, [1.0, 2.0, 3.0]), 0.0, **EXACT)
    np.testing.assert_allclose(r_dot[[0, -1]], 0.0, **EXACT)
    np.testing.assert_allclose(r_ddot[[0, -1]], 0.0, **EXACT)


def test_a_uniform_line_has_constant_velocity_up_to_both_ends():
    path = Line(start=(0,), end=(3,), duration=2.0, profile="uniform")
    np.testing.assert_allclose(path.sample([0.0, 0.7, 2.0]).r_dot, 1.5, **EXACT)


def test_a_clock_is_applied_by_the_chain_rule():
    clocked = TimeScaled(path=CIRCLE, clock={"kind": "expression", "components": ["t + 0.1*t**2"]})
    circle = load(CIRCLE)
    for t in TIMES:
        s, s_dot, s_ddot = t + 0.1 * t**2, 1.0 + 0.2 * t, 0.2
        expected = circle(s)
        np.testing.assert_allclose(clocked(t).r, expected.r, **EXACT)
        np.testing.assert_allclose(clocked(t).r_dot, expected.r_dot * s_dot, **EXACT)
        np.testing.assert_allclose(
            clocked(t).r_ddot, expected.r_ddot * s_dot**2 + expected.r_dot * s_ddot, **EXACT
        )


def test_a_rate_is_the_clock_that_runs_evenly():
    by_rate = TimeScaled(path=CIRCLE, rate=0.5, delay=0.3)
    by_clock = TimeScaled(path=CIRCLE, clock=Expression(components=("0.5*(t - 0.3)",)))
    for one, other in zip(by_rate.sample(TIMES), by_clock.sample(TIMES), strict=True):
        np.testing.assert_allclose(one, other, **EXACT)


def test_repeating_a_circle_over_its_period_changes_nothing():
    repeated = Repeated(path=CIRCLE, period=2.0)
    for one, other in zip(repeated.sample(TIMES), load(CIRCLE).sample(TIMES), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-11, atol=1e-11)


def test_a_repetition_that_advances_turns_a_step_into_a_staircase():
    path = Repeated(path=MinJerk(points=(0, 2), duration=1.0), period=1.0, advance=True)
    np.testing.assert_allclose(path.sample([-1.0, 0.0, 0.5, 1.0, 3.5]).r.T, [[-2, 0, 1, 2, 7]])


def test_stacking_puts_components_one_after_the_other():
    parts = (Constant(value=4.0), Circle(**{k: v for k, v in CIRCLE.items() if k != "kind"}))
    stacked = Stacked(parts=parts)
    assert stacked.size == 4
    expected = Sample(*map(np.concatenate, zip(*(part(0.7) for part in parts), strict=True)))
    np.testing.assert_array_equal(stacked(0.7), expected)


class Parabola(Reference):
    """A reference that a user writes in Python."""

    @property
    def size(self):
        return 1

    def compile(self):
        return lambda t: (t * t, 2.0 * t, 2.0)


def test_a_reference_written_in_python_can_stand_inside_another():
    path = TimeScaled(path=Parabola(), rate=3.0)
    np.testing.assert_allclose(np.ravel(path(2.0)), [36.0, 36.0, 18.0], **EXACT)


def test_leaving_the_domain_of_a_formula_names_it_also_from_within_another_path():
    path = TimeScaled(path=Expression(components=("sqrt(t)",)), rate=-1.0)
    with pytest.raises(
        DomainError, match=r"in 'sqrt\(t\)': there is no finite real value at t = -1"
    ):
        path(1.0)


@pytest.mark.parametrize(
    ("spec", "place", "message"),
    [
        ({**CIRCLE, "radius": 0}, ("circle", "radius"), "must be positive; got 0.0."),
        ({**CIRCLE, "period": "-1*s"}, ("circle", "period"), "must be positive"),
        ({**CIRCLE, "center": [0, 0]}, ("circle", "center"), "must be a list of 3 numbers; got 2."),
        ({**CIRCLE, "first_axis": "z"}, ("circle",), "first_axis must not be along the normal."),
        (
            {"kind": "helix", "center": [0, 0, 0], "radius": 1, "period": 1},
            ("helix",),
            "must have either pitch [m] or rise [m/s].",
        ),
        (
            {"kind": "line", "start": 0, "end": 1},
            ("line",),
            "must have either end and duration, or velocity.",
        ),
        (
            {"kind": "line", "start": 0, "end": [1, 2], "duration": 1},
            ("line",),
            "end must have as many components as start, 1; got 2.",
        ),
        (
            {"kind": "harmonic", "offset": [0], "terms": [{"amplitude": [1, 2], "frequency": 1}]},
            ("harmonic",),
            "terms[0].amplitude must have as many components as offset, 1; got 2.",
        ),
        (
            {"kind": "polynomial", "coefficients": [[0.0] * 21]},
            ("polynomial",),
            "coefficients must be at most 20 for a component; got 21.",
        ),
        (
            {"kind": "expression", "x": "t", "y": "t"},
            ("expression",),
            "must have either x, y and z, or components.",
        ),
        (
            {"kind": "expression", "x": "t", "y": "tt", "z": "0"},
            ("expression",),
            "y: in 'tt': no variable named 'tt'; did you mean 't'?",
        ),
        (
            {"kind": "expression", "components": ["t", "__import__('os')"]},
            ("expression", "components", 1),
            "in '__import__('os')': ",
        ),
        (
            {"kind": "time_scaled", "path": CIRCLE, "clock": CIRCLE},
            ("time_scaled",),
            "clock must have one component; got 3.",
        ),
        (
            {"kind": "time_scaled", "path": CIRCLE, "rate": 2, "clock": SPECS["spline"]},
            ("time_scaled",),
            "must have either clock, or rate and delay.",
        ),
        (
            {"kind": "time_scaled", "path": {**CIRCLE, "radius": -1}},
            ("time_scaled", "path", "circle", "radius"),
            "must be positive; got -1.0.",
        ),
        (
            {"kind": "repeated", "path": CIRCLE, "period": 1.0},
            ("repeated",),
            "path must return to its start after period, 1 s; it is off by 0.4.",
        ),
        (
            {
                **{"kind": "repeated", "period": 1.0},
                "path": {"kind": "expression", "components": ["1/t"]},
            },
            ("repeated",),
            "path must exist at both ends of the period; in '1/t': there is no finite real value",
        ),
    ],
)
def test_a_bad_path_is_refused_where_it_is_bad(spec, place, message):
    with pytest.raises(ValidationError) as caught:
        load(spec)
    (error,) = caught.value.errors()
    assert error["loc"] == place
    assert error["msg"].removeprefix("Value error, ").startswith(message)


@pytest.mark.parametrize(
    "spec",
    [
        {**CIRCLE, "period": 1e-300},
        {"kind": "min_jerk", "points": [0, 1], "times": [0, 1e-200]},
        {"kind": "polynomial", "coefficients": [[0, 0, 0, 1e308]]},
    ],
)
def test_a_path_whose_derivatives_overflow_is_refused(spec):
    with pytest.raises(InputError, match="overflows"):
        load(spec).compile()


def test_the_derivatives_of_any_order_begin_with_those_of_the_compiled_path(spec):
    path = load(spec)
    for t in TIMES:
        np.testing.assert_allclose(
            path.derivatives(t, 2), np.array(path(t)), rtol=1e-11, atol=1e-11
        )


@pytest.mark.parametrize("order", [3, 4, 6])
def test_every_derivative_is_the_difference_quotient_of_the_one_below(spec, order):
    path = load(spec)
    for t in TIMES[::3]:
        found = path.derivatives(t, order)[-1]
        below = derivative(lambda s: path.derivatives(s, order - 1)[-1], t)
        size = 1.0 + np.abs(found).max()
        np.testing.assert_allclose(found / size, below / size, **DIFFERENCES)


def test_smoothness_counts_the_continuous_derivatives():
    counts = {
        "constant": math.inf,
        "line": 2.0,
        "line uniform": 0.0,
        "line endless": math.inf,
        "circle": math.inf,
        "polynomial": math.inf,
        "polynomial held": 0.0,
        "min_jerk": 2.0,
        "min_jerk pass": 2.0,
        "rest_to_rest": 5.0,
        "spline": 1.0,
        "spline periodic": 2.0,
        "quintic": 2.0,
        "quintic periodic": 4.0,
        "expression": math.inf,
        "time_scaled": math.inf,
        "time_scaled clock": 2.0,
        "repeated": 2.0,
        "stacked": math.inf,
    }
    assert {name: load(SPECS[name]).smoothness for name in counts} == counts


# Breaks and series of what is put together from other paths

RAMP = MinJerk(points=(0, 1, 3), duration=2.0)  # pieces meet at 0, 1 and 2 s
SINGLE = ({}, {"rate": 2.0}, {"rate": -0.5}, {"delay": 0.3}, {"rate": 2.0, "delay": 0.3})


@pytest.mark.parametrize("given", SINGLE, ids=str)
def test_a_clock_that_runs_evenly_moves_breaks_and_stretches_series(given):
    rate, delay = given.get("rate", 1.0), given.get("delay", 0.0)
    path = TimeScaled(path=RAMP, **given)
    meets = sorted(delay + k / rate for k in (0.0, 1.0, 2.0))
    np.testing.assert_allclose(path.breaks(-9.0, 9.0), meets, **EXACT)
    np.testing.assert_allclose(path.breaks(meets[0], meets[2]), meets[1:2], **EXACT)
    t = delay + 0.4 / rate
    powers = rate ** np.arange(4)
    np.testing.assert_allclose(path.series(t, 3).T, RAMP.series(0.4, 3).T * powers, **EXACT)


def test_a_clock_that_stands_or_is_a_path_has_the_breaks_of_the_clock():
    assert TimeScaled(path=RAMP, rate=0.0).breaks(-9.0, 9.0) == []
    clock = MinJerk(points=(0.0, 0.5), duration=4.0)
    assert TimeScaled(path=RAMP, clock=clock).breaks(-9.0, 9.0) == clock.breaks(-9.0, 9.0)


def test_a_repeated_path_breaks_at_every_seam_and_within_every_turn():
    path = Repeated(path=RAMP, period=2.0, advance=True)
    np.testing.assert_allclose(path.breaks(-1.5, 3.5), [-1.0, 0.0, 1.0, 2.0, 3.0], **EXACT)
    np.testing.assert_allclose(path.breaks(0.0, 2.0), [1.0], **EXACT)
    inside = RAMP.series(0.4, 2)
    for turn in (-1, 0, 2):
        found = path.series(0.4 + 2.0 * turn, 2)
        np.testing.assert_allclose(found[0], inside[0] + 3.0 * turn, **EXACT)
        np.testing.assert_allclose(found[1:], inside[1:], **EXACT)


def test_stacked_paths_break_where_any_of_them_does_and_have_their_series_beside_each_other():
    late = TimeScaled(path=RAMP, delay=0.5)
    stacked = Stacked(parts=(RAMP, late, Constant(value=4.0)))
    assert stacked.breaks(-9.0, 9.0) == [0.0, 0.5, 1.0, 1.5, 2.0, 2.5]
    np.testing.assert_array_equal(
        stacked.series(0.7, 2),
        np.hstack([RAMP.series(0.7, 2), late.series(0.7, 2), [[4.0], [0.0], [0.0]]]),
    )
