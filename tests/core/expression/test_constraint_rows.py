"""Rows derived from text, against finite differences of the text along motions."""

from __future__ import annotations

import math

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from seeds import seeded

from ukctrl.core.errors import ExpressionError, ShapeError
from ukctrl.core.expression import interpreter
from ukctrl.core.expression.compiled_formula import DomainError
from ukctrl.core.expression.constraint_rows import derive_rows
from ukctrl.core.expression.syntax import FUNCTIONS

NAMES = ("q1", "q2", "q3")
FIXED = {"coordinates": NAMES, "dofs": NAMES, "rates": tuple(f"v.{name}" for name in NAMES)}
STEP = 1e-3  # of the five-point differences below, whose error is of order STEP^4
DIFFERENCES = {"rtol": 1e-7, "atol": 1e-7}
EXACT = {"rtol": 1e-13, "atol": 1e-13}

HOLONOMIC = [
    "q1 + q2 + q3",
    "0.3*cos(q1) + 0.25*cos(q1 + q2) - 0.2*t",
    "q1*q2*q3 - t**2",
    "(q1 - 1)**2 + (q2 + 2*sin(t))**2 - 4",
    "exp(-q1)*sqrt(4 + q2) + atan2(q2, 3 + q3)",
    "tanh(q1*t)/(2 + cos(q3)) + q2",
]
NONHOLONOMIC = [
    "v.q1*sin(q3) - v.q2*cos(q3)",
    "v.q1**2 + v.q2**2 - 1 - 0.1*sin(t)",
    "v.q1 + v.q2*q3 + t*v.q3 - q1*q2",
]


def differences(values):
    """Return first and second derivative from five samples a STEP apart."""
    a, b, _, d, e = values
    first = (a - 8.0 * b + 8.0 * d - e) / (12.0 * STEP)
    second = (-a + 16.0 * b - 30.0 * values[2] + 16.0 * d - e) / (12.0 * STEP**2)
    return first, second


def split(flat, m, nv):
    """Return A, b, beta, phi from the flat tuple."""
    assert len(flat) == m * (nv + 3)
    parts = np.split(np.array(flat), [m * nv, m * nv + m, m * nv + 2 * m])
    return parts[0].reshape(m, nv), *parts[1:]


def python_value(text, q, v, t):
    """Evaluate our own text by Python itself, an independent route."""
    names = {**FUNCTIONS, "pi": math.pi, "t": t, **dict(zip(NAMES, q, strict=True))}
    names["v"] = type("V", (), dict(zip(NAMES, v, strict=True)))
    return eval(text, names)


rng = seeded(5)


@pytest.mark.parametrize("text", HOLONOMIC)
def test_holonomic_rows_equal_finite_differences_along_a_motion(text, rng):
    rows = derive_rows([text], form="holonomic", **FIXED)
    q, v, a = rng.uniform(0.2, 1.0, (3, 3))
    t = rng.uniform(0.2, 1.0)
    A, b, beta, phi = split(rows.evaluate(q.tolist(), v.tolist(), t), 1, 3)
    offsets = STEP * np.arange(-2, 3)
    path = [python_value(text, q + v * h + a * h * h / 2, v, t + h) for h in offsets]
    first, second = differences(path)
    np.testing.assert_allclose(phi, path[2], **EXACT)
    np.testing.assert_allclose(beta, first, **DIFFERENCES)
    np.testing.assert_allclose(A @ a - b, second, **DIFFERENCES)


@pytest.mark.parametrize("text", NONHOLONOMIC)
def test_nonholonomic_rows_equal_finite_differences_along_a_motion(text, rng):
    rows = derive_rows([text], form="nonholonomic", **FIXED)
    q, v, a = rng.uniform(0.2, 1.0, (3, 3))
    t = rng.uniform(0.2, 1.0)
    A, b, beta, phi = split(rows.evaluate(q.tolist(), v.tolist(), t), 1, 3)
    offsets = STEP * np.arange(-2, 3)
    path = [python_value(text, q + v * h + a * h * h / 2, v + a * h, t + h) for h in offsets]
    np.testing.assert_allclose(beta, path[2], **EXACT)
    np.testing.assert_allclose(A @ a - b, differences(path)[0], **DIFFERENCES)
    assert np.isnan(phi).all()


def test_several_rows_lie_one_after_the_other():
    together = derive_rows(HOLONOMIC, form="holonomic", **FIXED)
    state = [0.3, 0.5, 0.7], [0.1, -0.2, 0.4], 0.6
    A, b, beta, phi = split(together.evaluate(*state), len(HOLONOMIC), 3)
    for index, text in enumerate(HOLONOMIC):
        alone = derive_rows([text], form="holonomic", **FIXED)
        expected = split(alone.evaluate(*state), 1, 3)
        got = (A[[index]], b[[index]], beta[[index]], phi[[index]])
        for one, other in zip(got, expected, strict=True):
            np.testing.assert_allclose(one, other, **EXACT)


def test_a_pfaffian_form_is_the_velocity_constraint_that_it_becomes_over_dt():
    pfaffian = derive_rows(["sin(q3)*d.q1 - cos(q3)*d.q2 + t*d.t"], form="pfaffian", **FIXED)
    velocity = derive_rows(["sin(q3)*v.q1 - cos(q3)*v.q2 + t"], form="nonholonomic", **FIXED)
    state = [0.3, 0.5, 0.7], [0.1, -0.2, 0.4], 0.6
    np.testing.assert_allclose(pfaffian.evaluate(*state), velocity.evaluate(*state), **EXACT)


def test_differentiating_a_holonomic_row_by_hand_gives_the_nonholonomic_one():
    by_text = derive_rows(["q1*q2 - sin(t)"], form="holonomic", **FIXED)
    by_hand = derive_rows(["q1*v.q2 + q2*v.q1 - cos(t)"], form="nonholonomic", **FIXED)
    state = [0.3, 0.5, 0.7], [0.1, -0.2, 0.4], 0.6
    np.testing.assert_allclose(by_text.evaluate(*state)[:5], by_hand.evaluate(*state)[:5], **EXACT)


def quaternion_rates(name):
    """Return the rates of a free flyer's coordinates: position and quaternion, twist in body."""
    x, y, z, w = (f"{name}_q{letter}" for letter in "xyzw")
    vx, vy, vz, wx, wy, wz = (
        f"v.{name}_{letter}" for letter in ("vx", "vy", "vz", "wx", "wy", "wz")
    )
    turned = [
        f"(1 - 2*({y}**2 + {z}**2))*{vx} + 2*({x}*{y} - {w}*{z})*{vy} + 2*({x}*{z} + {w}*{y})*{vz}",
        f"2*({x}*{y} + {w}*{z})*{vx} + (1 - 2*({x}**2 + {z}**2))*{vy} + 2*({y}*{z} - {w}*{x})*{vz}",
        f"2*({x}*{z} - {w}*{y})*{vx} + 2*({y}*{z} + {w}*{x})*{vy} + (1 - 2*({x}**2 + {y}**2))*{vz}",
    ]
    spun = [
        f"0.5*({w}*{wx} + {y}*{wz} - {z}*{wy})",
        f"0.5*({w}*{wy} + {z}*{wx} - {x}*{wz})",
        f"0.5*({w}*{wz} + {x}*{wy} - {y}*{wx})",
        f"-0.5*({x}*{wx} + {y}*{wy} + {z}*{wz})",
    ]
    return [*turned, *spun]


@pytest.mark.parametrize(
    "text",
    [
        "b_x*b_y + 0.3*t",
        "b_z + 0.2*(1 - 2*(b_qx**2 + b_qy**2)) - sin(t)",  # height of a point of the body
        "2*(b_qx*b_qz + b_qw*b_qy)*b_x",
    ],
)
def test_rows_on_a_floating_base_follow_pinocchios_integration(text, rng):
    model = pin.Model()
    model.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), "b")
    coordinates = [f"b_{name}" for name in ("x", "y", "z", "qx", "qy", "qz", "qw")]
    dofs = [f"b_{name}" for name in ("vx", "vy", "vz", "wx", "wy", "wz")]
    rows = derive_rows(
        [text], form="holonomic", coordinates=coordinates, dofs=dofs, rates=quaternion_rates("b")
    )
    q = pin.integrate(model, pin.neutral(model), rng.standard_normal(6))
    v, a = rng.standard_normal((2, 6))
    A, b, beta, _ = split(rows.evaluate(q.tolist(), v.tolist(), 0.4), 1, 6)

    def phi(h):
        moved = pin.integrate(model, q, v * h + a * h * h / 2)  # velocity v + a h + O(h^2)
        return rows.evaluate(moved.tolist(), v.tolist(), 0.4 + h)[-1]

    first, second = differences([phi(h) for h in STEP * np.arange(-2, 3)])
    np.testing.assert_allclose(beta, first, **DIFFERENCES)
    np.testing.assert_allclose(A @ a - b, second, rtol=1e-6, atol=1e-6)


def formulas():
    leaves = st.sampled_from(["q1", "q2", "q3", "t", "2", "0.5", "pi"])

    def extend(children):
        return st.one_of(
            st.tuples(children, st.sampled_from("+-*"), children).map(
                "({0[0]}{0[1]}{0[2]})".format
            ),
            st.tuples(children, children).map("({0[0]}/(2 + cos({0[1]})))".format),
            st.tuples(st.sampled_from(["sin", "cos", "tanh", "atan"]), children).map(
                "{0[0]}({0[1]})".format
            ),
            children.map("({0})**2".format),
        )

    return st.recursive(leaves, extend, max_leaves=6).map("q1 + {}".format)


@pytest.mark.slow
@settings(max_examples=40, deadline=None, derandomize=True)
@given(formulas())
def test_any_smooth_formula_is_differentiated_exactly(text):
    rows = derive_rows([text, "q1"], form="holonomic", **FIXED)
    q, v, a, t = np.array([0.4, 0.7, 1.1]), np.array([0.3, -0.5, 0.2]), np.ones(3), 0.8
    A, b, beta, phi = split(rows.evaluate(q.tolist(), v.tolist(), t), 2, 3)
    offsets = STEP * np.arange(-2, 3)
    path = [python_value(text, q + v * h + a * h * h / 2, v, t + h) for h in offsets]
    first, second = differences(path)
    scale = 1.0 + max(map(abs, path)) + abs(second)
    np.testing.assert_allclose(phi[0] / scale, path[2] / scale, **EXACT)
    np.testing.assert_allclose(beta[0] / scale, first / scale, **DIFFERENCES)
    np.testing.assert_allclose((A @ a - b)[0] / scale, second / scale, rtol=1e-6, atol=1e-6)


PFAFFIAN = "a Pfaffian form must be a sum of terms, each a coefficient times one d.NAME."
STILL = "must contain a coordinate; no motion could change it."


@pytest.mark.parametrize(
    ("form", "text", "message"),
    [
        (
            "holonomic", "q1 + v.q1",
            "phi must not contain velocities; it has 'v.q1'. Write it as psi.",
        ),
        ("holonomic", "sin(t)", STILL),
        ("holonomic", "q1 - q1", STILL),
        ("holonomic", "(-2)**q1", "it or a derivative of it has no finite real value."),
        (
            "nonholonomic", "q1 + t",
            "psi must contain a velocity such as v.q1; without one, write it as phi.",
        ),
        ("nonholonomic", "d.q1", "'d.q1' is a differential; none may stand here."),
        ("pfaffian", "d.q1 + 1", PFAFFIAN),
        ("pfaffian", "d.q1*d.q2", PFAFFIAN),
        ("pfaffian", "sqrt(d.q1)", PFAFFIAN),
        ("pfaffian", "q1*d.t", "a Pfaffian form must contain a differential such as d.q1."),
        ("pfaffian", "v.q1", "'v.q1' is a velocity; none may stand here."),
        (
            "pfaffian", "d.q4",
            "no differential named 'd.q4'; did you mean 'd.q3'? Known: d.q1, d.q2, d.q3, d.t.",
        ),
    ],
)  # fmt: skip
def test_a_formula_of_another_form_is_refused(form, text, message):
    with pytest.raises(ExpressionError) as caught:
        derive_rows([text], form=form, **FIXED)
    assert str(caught.value) == f"in '{text}': {message}"


def test_no_formula_and_too_few_rates_are_refused():
    with pytest.raises(ExpressionError, match="at least one formula"):
        derive_rows([], form="holonomic", **FIXED)
    with pytest.raises(ShapeError, match="rates must be 3"):
        derive_rows(["q1"], form="holonomic", coordinates=NAMES, dofs=NAMES, rates=["v.q1"])


def test_leaving_the_domain_while_running_names_the_formula():
    rows = derive_rows(["sqrt(q1) - 1"], form="holonomic", **FIXED)
    with pytest.raises(DomainError, match=r"in 'sqrt\(q1\) - 1': there is no finite real value at"):
        rows.evaluate([-1.0, 0.0, 0.0], [0.0, 0.0, 0.0], 2.0)


def test_a_sum_of_angles_costs_sums_alone():
    rows = derive_rows(["q1 + q2 + q3"], form="holonomic", **FIXED)
    assert rows.evaluate([1.0, 2.0, 3.0], [0.1, 0.2, 0.3], 0.0) == (
        *(1.0, 1.0, 1.0),
        0.0,
        0.1 + 0.2 + 0.3,
        6.0,
    )
    ones = [code[3] for code in rows.evaluate.code.tolist()]
    assert rows.evaluate.code[:, 0].tolist() == [interpreter.MULTIPLY_ADD] * 4
    assert rows.evaluate.initial_slots[ones].tolist() == [1.0] * 4
