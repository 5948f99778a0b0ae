"""Integrals and integrating factors that computer algebra finds, without its process around."""

from __future__ import annotations

import io
import itertools
import json
import subprocess
import sys
from types import SimpleNamespace

import pytest
import sympy
from sympy.combinatorics.permutations import Permutation

from ukctrl_papers.integrability import first_integrals as first_integrals_module
from ukctrl_papers.integrability.first_integrals import FirstIntegrals, first_integrals

X, Y, Z, T = AXES = sympy.symbols("x y z t")
ANSWER = [[["1", "x"]], ""]


def component(forms, i, chosen):
    """The component of d omega_i ^ omega_1 ^ ... along some axes: the sum over all orders."""
    total = 0
    for order in itertools.permutations(range(len(chosen))):
        axes = [chosen[k] for k in order]
        a, b = axes[:2]
        term = forms[i][b].diff(AXES[a]) - forms[i][a].diff(AXES[b])
        for form, axis in zip(forms, axes[2:], strict=True):
            term *= form[axis]
        total += Permutation(list(order)).signature() * term
    return sympy.simplify(total / 2)


FORMS = {
    "one": [[Y, 0, 1, 0]],
    "one with time": [[1, 0, 0, X * Y]],
    "of the second only": [[1, 0, 0, 0], [0, Z, 0, X * Y]],
    "two": [[1, Z, 0, Y], [X * Z, 0, 1, 0]],
}


@pytest.mark.parametrize("case", FORMS)
def test_the_witness_is_the_first_component_of_frobenius_forms_that_is_not_zero(case):
    forms = [[sympy.sympify(entry) for entry in form] for form in FORMS[case]]
    m = len(forms)
    each = [
        (i, chosen, component(forms, i, chosen))
        for i in range(m)
        for chosen in itertools.combinations(range(4), m + 2)
    ]
    i, chosen, value = next(one for one in each if one[2] != 0)
    along = " ^ ".join(f"d{AXES[k]}" for k in chosen)
    which, others = ("omega", "omega") if m == 1 else (f"omega_{i + 1}", "omega_1 ^ omega_2")
    said = first_integrals_module._witness(forms, AXES)
    start, _, rest = said.partition(" has the component ")
    found, _, end = rest.partition(" along ")
    assert (start, end) == (f"d {which} ^ {others}", along)
    assert sympy.simplify(sympy.sympify(found) - value) == 0


def test_forms_that_integrate_have_no_witness_and_too_many_are_not_tried(monkeypatch):
    exact = [[sympy.sympify(entry) for entry in (1, 2 * Y, 0, 0)]]
    assert first_integrals_module._witness(exact, AXES) == ""
    broken = [[sympy.sympify(entry) for entry in FORMS["one"][0]]]
    monkeypatch.setattr(
        first_integrals_module, "MAX_FORMS", 4
    )  # three of four axes: four components
    assert first_integrals_module._witness(broken, AXES)
    monkeypatch.setattr(first_integrals_module, "MAX_FORMS", 3)
    assert first_integrals_module._witness(broken, AXES) == ""
    monkeypatch.setattr(first_integrals_module, "MAX_FORMS", 60)
    assert first_integrals_module._witness(broken * 4, sympy.symbols("x y z t s r")) == ""


INTEGRABLE = {
    "exact": ([Y, X, 3 * Z**2, 0], "1", X * Y + Z**3),
    "rheonomic": ([1, 0, 0, -sympy.cos(T)], "1", X - sympy.sin(T)),
    "over a coefficient": ([sympy.cos(Y), 1, 0, 0], None, None),
    "with a factor of x alone": ([Y + X, 1, 0, 0], None, None),
    "of the last": ([0, 0, 0, T], "1", T**2 / 2),
}


@pytest.mark.parametrize("case", INTEGRABLE)
def test_the_factor_makes_the_form_the_gradient_of_the_integral(case):
    entries, factor, integral = INTEGRABLE[case]
    form = [sympy.sympify(entry) for entry in entries]
    found = [sympy.sympify(text, dict(zip("xyzt", AXES, strict=True))) for text in
             first_integrals_module._integrate(form, AXES)]  # fmt: skip
    for entry, axis in zip(form, AXES, strict=True):
        assert sympy.simplify(found[0] * entry - found[1].diff(axis)) == 0
    if factor is not None:
        assert (str(found[0]), sympy.simplify(found[1] - integral)) == (factor, 0)


def test_a_form_without_an_integral_gets_none():
    form = [sympy.sympify(entry) for entry in (Y, 0, 1, 0)]
    assert first_integrals_module._integrate(form, AXES) == ("", "")


def test_an_integral_that_is_not_closed_is_none():
    hard = sympy.exp(sympy.sin(X))
    assert first_integrals_module._potential([hard, sympy.Integer(0)], [X, Y]) is None
    assert first_integrals_module._potential([Y, sympy.Integer(0)], [X, Y]) is None  # not exact
    assert (
        first_integrals_module._potential([1 / X, sympy.Integer(0)], [X, Y]) == sympy.log(X**2) / 2
    )


def test_factors_are_functions_of_one_variable_alone():
    found = first_integrals_module._factors([Y + X, sympy.Integer(1), sympy.Integer(0)], [X, Y, Z])
    assert found[0] == 1
    # (d_y a_x - d_x a_y)/a_y = 1: exp(x).
    assert sympy.exp(X) in found
    assert all(len(factor.free_symbols) <= 1 for factor in found)


def test_each_row_is_answered_by_what_it_is(monkeypatch):
    texts = ["x + y**2 - 1", "d.x + y*d.y", "d.z - y*d.x", "v.x**2 + v.y"]
    rows, witness = first_integrals_module._integrate_rows(
        texts, ["x", "y", "z"], [True, True, False, True]
    )
    assert rows == [("1", "x + y**2 - 1"), ("1", "x + y**2/2"), ("", ""), ("", "")]
    assert witness == ""  # for one row is not linear
    _, witness = first_integrals_module._integrate_rows(["d.z - y*d.x"], ["x", "y", "z"], [False])
    assert witness == "d omega ^ omega has the component 1 along dx ^ dy ^ dz"
    count = sum(entry.count_ops() for entry in (sympy.Integer(1), Y, sympy.Integer(0)))
    for most, answer in ((count + 1, ("1", "x + y**2/2")), (-1, ("", ""))):
        monkeypatch.setattr(first_integrals_module, "MAX_OPERATIONS", most)
        assert first_integrals_module._integrate_rows(["d.x + y*d.y"], ["x", "y", "z"], [True])[
            0
        ] == [answer]
    monkeypatch.setattr(first_integrals_module, "MAX_OPERATIONS", count)
    assert first_integrals_module._integrate_rows(["d.x + y*d.y"], ["x", "y"], [True])[0] == [
        ("1", "x + y**2/2")
    ]


@pytest.mark.parametrize(("seconds", "limit"), [(0.2, 1), (2.0, 2), (2.1, 3)])
def test_the_process_answers_within_its_processor_time(monkeypatch, seconds, limit):
    limits, out = [], io.StringIO()
    asked = [seconds, ["d.x"], ["x"], [True]]
    monkeypatch.setattr(sys, "stdin", io.StringIO(json.dumps(asked)))
    monkeypatch.setattr(sys, "stdout", out)
    given = SimpleNamespace(RLIMIT_CPU="cpu", setrlimit=lambda *a: limits.append(a))
    monkeypatch.setitem(sys.modules, "resource", given)
    monkeypatch.setattr(sys, "platform", "linux")
    first_integrals_module._main()
    assert limits == [("cpu", (limit, limit))]
    assert json.loads(out.getvalue()) == ANSWER


@pytest.mark.parametrize(("seconds", "timeout"), [(0.2, 10.0), (3.0, 30.0)])
def test_a_process_is_asked_and_waited_for_as_long_as_a_busy_machine_takes(
    monkeypatch, seconds, timeout
):
    asked = {}

    def run(words, **given):
        asked.update(given, words=words)
        return SimpleNamespace(stdout=json.dumps(ANSWER))

    monkeypatch.setattr(subprocess, "run", run)
    assert first_integrals(["d.x"], ["x"], [True], seconds) == FirstIntegrals([("1", "x")], "")
    assert asked["words"] == [sys.executable, first_integrals_module.__file__]
    assert (json.loads(asked["input"]), asked["timeout"]) == (
        [seconds, ["d.x"], ["x"], [True]],
        timeout,
    )
    assert asked["env"]["PYTHONPATH"]


@pytest.mark.parametrize("stdout", ["", "killed", "[1, 2, 3]"])
def test_a_process_that_was_ended_has_no_answer(monkeypatch, stdout):
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: SimpleNamespace(stdout=stdout))
    assert first_integrals(["d.x"], ["x"], [True], 1.0) is None


def test_where_no_process_can_be_started_there_is_no_answer(monkeypatch):
    def run(*_, **__):
        raise OSError

    monkeypatch.setattr(subprocess, "run", run)
    assert first_integrals(["d.x"], ["x"], [True], 1.0) is None
