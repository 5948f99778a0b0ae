"""The benchmark beside other libraries: its cases, and that all solve the same problem."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import numpy as np
import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
CASES = ("scara", "panda", "arms", "two_arms", "a1", "humanoid")
FREEDOMS = {"scara": 4, "panda": 7, "arms": 5, "two_arms": 14, "a1": 18, "humanoid": 36}
SAME = {"rtol": 0.0, "atol": 1e-9}  # torques up to 60 N m, ranks far from their borders


@pytest.fixture(scope="module")
def load():
    """Import a module of the benchmark, which are scripts in a folder of their own."""
    folders = [str(BENCHMARKS / "peers"), str(BENCHMARKS / "cases" / "humanoid")]
    sys.path[:0] = folders
    yield importlib.import_module
    for folder in folders:
        sys.path.remove(folder)


@pytest.fixture(scope="module")
def cases(load, tmp_path_factory):
    """The case files, as written for every contestant."""
    folder = tmp_path_factory.mktemp("cases")
    return {name: load("export").export(name, folder) for name in CASES}


@pytest.mark.slow(only=["with_ukctrl-scara", "with_ukctrl-humanoid", "with_ukctrl-panda"])
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize(
    "contestant",
    ["with_ukctrl", "with_script", pytest.param("with_jitted", marks=pytest.mark.slow)],
)
def test_torques_are_those_of_a_dense_system_in_all_unknowns(load, cases, name, contestant):
    case = load("protocol").Case(cases[name])
    tick = load(contestant).prepare(case).tick
    found = np.array([tick(k) for k in range(case.count)])
    np.testing.assert_allclose(found, case["u"], **SAME)


@pytest.mark.parametrize("name", CASES)
def test_the_reference_does_what_the_case_demands(load, cases, name):
    dense = load("dense")
    model = dense.Model(cases[name])
    for k, u in enumerate(np.array(model.case["u"])):
        M, nle, A, b, A_p, b_p = model.evaluate(k)
        a = dense.acceleration(model, k, u)
        np.testing.assert_allclose(A @ a, b, **SAME)
        np.testing.assert_allclose(A_p @ a, b_p, **SAME)
        push = model.B @ u - nle - M @ a
        lam = np.linalg.lstsq(A_p.T, -push, rcond=None)[0]
        np.testing.assert_allclose(A_p.T @ lam, -push, **SAME)


@pytest.mark.parametrize("name", CASES)
def test_states_are_in_error_so_that_gains_matter(load, cases, name):
    model = load("dense").Model(cases[name])
    assert model.case["dofs"] == FREEDOMS[name]
    gains = model.case["gains"]
    for changed in ("alpha", "beta"):
        model.case["gains"] = {**gains, changed: 1.1 * gains[changed]}
        other = load("dense").optimum(model, 5)
        assert np.abs(other - model.case["u"][5]).max() > 1e-3


def test_the_humanoid_is_the_one_that_its_script_writes(load):
    written = (BENCHMARKS / "cases" / "humanoid" / "humanoid.urdf").read_text(encoding="utf-8")
    assert load("make").urdf() == written
