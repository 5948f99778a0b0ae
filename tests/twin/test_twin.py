"""A share of `make twin`: machine code beside Python, bit by bit; and the judge of both."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
import tomllib
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from ukctrl.core.files import catalog
from ukctrl.simulation.scenario.part_kinds import part_kinds

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
QUICK = ("scara-helix-bench", "two-mass-spring-far")
"""Scenarios of which every bit is wanted each time; one of them gives up on its way."""
PARTS = 4
"""How many slow tests share the others."""
SEED, MANY, GROUPS = 1, 500, 4
"""Random scenarios, and how many slow tests share those that `telling` chooses of them."""
OFTEN = 2
"""In how many of these every kind of part is at least, of all that are drawn."""


@pytest.fixture(scope="module")
def twin():
    """The script, which is no package."""
    sys.path.insert(0, str(HERE))
    try:
        yield importlib.import_module("twin")
    finally:
        sys.path.remove(str(HERE))
        for name in ("twin", "parts", "paths", "families", "runs"):
            sys.modules.pop(name, None)


def agree(twin, tasks):
    verdicts = twin.judge(tasks)
    assert not [one for one in verdicts if one.faults], "\n".join(twin.report(verdicts))
    return verdicts


def test_scenarios_of_the_catalogue_are_the_same_to_the_last_bit(twin):
    verdicts = agree(twin, list(map(twin.of_the_catalogue, QUICK)))
    assert [one.status for one in verdicts] == ["completed", "infeasible"]
    assert not any(one.libraries for one in verdicts)  # of which no bit is excused


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_all_others_are_too(twin, part):
    names = [name for name in catalog.names("scenarios") if name not in QUICK][part::PARTS]
    verdicts = agree(twin, [twin.of_the_catalogue(name) for name in names])
    plain = [one for one in verdicts if not one.libraries]
    assert len(plain) >= 4  # of which every bit is wanted
    assert "completed" in {one.status for one in verdicts}


def kinds_in(value):
    """Return the kinds of parts in a table, those of the laws that it names included."""
    found = set()
    if isinstance(value, dict):
        path = ROOT / "controllers" / f"{value.get('use')}.toml"
        found |= kinds_in(tomllib.loads(path.read_text())) if path.is_file() else set()
        found |= {value["kind"]} if "kind" in value else set()
        value = list(value.values())
    return found.union(*map(kinds_in, value)) if isinstance(value, list) else found


@pytest.fixture(name="telling", scope="module")
def _telling(twin):
    """Random scenarios of which each has a kind of part that few before it have."""
    chosen, seen = [], Counter()
    for number in range(MANY):
        kinds = kinds_in(tomllib.loads(twin.draw(SEED, number)["toml"]))
        if any(seen[kind] < OFTEN for kind in kinds):
            chosen.append(twin.drawn(SEED, number))
        seen.update(kinds)
    return chosen


@pytest.mark.slow
@pytest.mark.parametrize("group", range(GROUPS))
def test_random_scenarios_are_the_same(twin, telling, group):
    verdicts = agree(twin, telling[group::GROUPS])
    assert "completed" in {one.status for one in verdicts}


ELSEWHERE = {
    "closure", "rolling",  # rows of robots, which are drawn with them
    "table", "exciting", "optimised",  # paths worked out before a run, which become others
    "none",  # written by leaving the law out
}  # fmt: skip


@pytest.mark.slow
def test_every_kind_of_part_is_in_a_scenario_that_is_run_by_both(telling):
    texts = [each["toml"] for each in telling]
    texts += [path.read_text() for path in sorted((ROOT / "scenarios").glob("*.toml"))]
    seen = set().union(*(kinds_in(tomllib.loads(text)) for text in texts))
    kinds = {kind for sort, kinds in part_kinds().items() if sort != "metric" for kind in kinds}
    assert kinds - seen == ELSEWHERE - seen


# The judge.


def outcome(twin, status="completed", q=(1.0, 2.0), libraries=(), message=""):
    return twin.Outcome(status, message, ("ok",), {}, {"q": np.array(q)}, libraries)


NEXT = float(np.nextafter(2.0, 3.0))


def test_a_single_bit_is_a_fault_unless_a_library_explains_it(twin):
    verdict = twin.compare("x", outcome(twin), outcome(twin, q=(1.0, NEXT)))
    assert verdict.faults == ("bits differ though no kernel used a library",)
    named = outcome(twin, q=(1.0, NEXT), libraries=("kernel: svd",))
    verdict = twin.compare("x", outcome(twin), named)
    assert verdict.faults == ()
    assert verdict.apart == {"q": pytest.approx(np.spacing(2.0) / 2.0)}


@pytest.mark.parametrize("q", [(1.0, 2.0 + 1e-11), (1.0, np.nan), (1.0, np.inf), (1.0,)])
def test_no_library_explains_more_than_rounding(twin, q):
    other = outcome(twin, q=q, libraries=("kernel: svd",))
    assert twin.compare("x", outcome(twin), other).faults


def test_only_efforts_that_move_nothing_may_differ_by_more(twin):
    pressing = outcome(twin, q=(1.0, 2.0 + 8e-12), libraries=("definite_metric: svd",))
    assert twin.compare("x", outcome(twin), pressing).faults
    ours, theirs = (
        each._replace(arrays={"u": each.arrays["q"]}) for each in (outcome(twin), pressing)
    )
    assert twin.compare("x", ours, theirs).faults == ()
    assert twin.compare("x", ours, theirs._replace(libraries=("kernel: svd",))).faults


def test_what_is_not_a_number_must_not_be_one_in_both(twin):
    ours = outcome(twin, q=(np.nan, -np.inf))
    assert twin.compare("x", ours, outcome(twin, q=(np.nan, -np.inf))).faults == ()
    for q in ((np.nan, np.inf), (np.inf, -np.inf)):
        assert twin.compare("x", ours, outcome(twin, q=q, libraries=("kernel: svd",))).faults


def test_status_and_message_must_be_the_same_but_for_rounding_in_numbers(twin):
    ours = outcome(twin, message="reached 1.25e-03 m")
    close = outcome(twin, message="reached 1.26e-03 m", libraries=("kernel: svd",))
    assert twin.compare("x", ours, close).faults == ()
    assert twin.compare("x", ours, close._replace(libraries=())).faults
    assert twin.compare("x", ours, close._replace(message="reached it")).faults
    assert twin.compare("x", ours, ours._replace(status="diverged")).faults
    assert twin.compare("x", ours, ours._replace(verdicts=("warning",))).faults


def test_what_kernels_leave_to_libraries_is_read_from_their_text(twin):
    runs = importlib.import_module("runs")

    def kernel(A, x):
        y = A @ np.ascontiguousarray(x)
        return np.tan(x[0]) + np.sqrt(y[0]) ** 2 + x[0] ** y[0] + np.linalg.svd(A)[1][0]

    assert runs.libraries(kernel) == {"kernel: @", "kernel: np.tan", "kernel: **2"}


# Kernels as functions of Python.

FEW = (
    "core/program/test_kernel_sequence.py",
    "core/expression/test_compiled_formula.py",
    "mechanics/integrate/test_explicit_solver.py",
    "mechanics/integrate/test_fixed_step_integrator.py",
)
MORE = (
    "control/allocation/test_allocation_choices.py",
    "control/baselines/test_joint_formulas.py",
    "control/baselines/test_time_delay.py",
    "control/disturbance",
    "control/elastic/test_elastic_refusals.py",
    "control/elastic/test_elastic_row_laws.py",
    "control/feedback/test_feedback_formulas.py",
    "control/feedback/test_gain_rows.py",
    "control/feedback/test_integral_sliding_mode.py",
    "control/feedback/test_robust_feedback.py",
    "control/feedforward",
    "control/safety/test_barriers.py",
    "control/test_error_dynamics_spec.py",
    "control/test_law_kernels.py",
    "control/test_law_limits.py",
    "control/test_signals.py",
    "core/expression/test_constraint_rows.py",
    "core/expression/test_expression.py",
    "laws",
    "mechanics/constraints/test_energy.py",
    "mechanics/derivatives/test_jets.py",
    "mechanics/reference",
    "mechanics/test_projection.py",
    "robot/test_manifold_kernels.py",
    "robot/rigid/test_pinocchio_tree.py",
    "simulation/effects/test_effects.py",
)


def test_all_files_that_run_without_machine_code_are_there():
    assert not [file for file in (*FEW, *MORE) if not (ROOT / "tests" / file).exists()]


def passes_without_machine_code(files):
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "not slow"]
    done = subprocess.run(
        [*words, *(str(ROOT / "tests" / file) for file in files)], cwd=ROOT,
        capture_output=True, text=True, env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-3000:]


def test_programs_formulas_and_integrators_run_without_machine_code():
    passes_without_machine_code(FEW)


@pytest.mark.slow
def test_laws_robots_and_references_do():
    passes_without_machine_code(MORE)
