"""A table that was linked into one function does what the table did, to the last bit."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from ukctrl import Scenario, simulate
from ukctrl.core import cache_folder
from ukctrl.core.compiled import compiled, config
from ukctrl.core.expression import straight_line
from ukctrl.core.expression.compiled_formula import CompiledFormula, DomainError
from ukctrl.core.program import BoundKernel, KernelSequence, run
from ukctrl.core.program.kernel_sequence import FAULT, LINKED
from ukctrl.simulation import simulate as simulate_module

if not config.DISABLE_JIT:
    from ukctrl.simulation.step import linked_sequence
    from ukctrl.simulation.step.linked_sequence import LinkedCode, LinkedTables

pytestmark = pytest.mark.skipif(bool(config.DISABLE_JIT), reason="there is nothing to link")


@compiled
def scaled(x, factor, y):
    for i in range(len(x)):
        y[i] = factor * x[i] + np.sin(x[i])


@compiled
def at_most(x, limit):
    return 0 if x[0] <= limit else -7


def link_now(code, sequence, seconds=120.0):
    """Count until the table is linked, as runs of it would."""
    deadline = time.monotonic() + seconds
    while not code.address and time.monotonic() < deadline:
        code.count(linked_sequence.SECONDS_BEFORE_LINKING, sequence)
        time.sleep(0.02)


def linked(sequence):
    code = LinkedCode.of(sequence)
    link_now(code, sequence)
    assert code.address
    sequence.lines[0, LINKED] = code.address
    return sequence


@pytest.fixture
def own_cache(monkeypatch, tmp_path):
    """An empty folder for machine code, and a process that knows of no linked function."""
    monkeypatch.setattr(config, "CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(LinkedCode, "_known", {})
    monkeypatch.setattr(simulate_module._LAST, "run", None, raising=False)
    cache_folder.writable_folder.cache_clear()
    cache_folder.readable_folders.cache_clear()
    yield tmp_path
    cache_folder.writable_folder.cache_clear()
    cache_folder.readable_folders.cache_clear()


def test_kernels_and_functions_of_python_have_their_turns():
    x, y, z, calls = np.array([0.3, -0.7]), np.zeros(2), np.zeros(2), []
    steps = (
        BoundKernel(scaled, x, 2.0, y),
        lambda: calls.append(y.copy()),
        BoundKernel(scaled, y, -1.5, z),
    )
    KernelSequence(steps)()
    wanted = y.copy(), z.copy()
    y[:] = z[:] = 0.0
    linked(KernelSequence(steps))()
    assert np.array_equal(y, wanted[0])
    assert np.array_equal(z, wanted[1])
    assert len(calls) == 2
    assert np.array_equal(calls[0], calls[1])


def test_numbers_are_read_where_they_are_and_may_change():
    x, y = np.array([0.3, -0.7]), np.zeros(2)
    first, second = (KernelSequence((BoundKernel(scaled, x, c, y),) * 2) for c in (2.0, 5.0))
    assert LinkedCode.of(first) is LinkedCode.of(second)
    linked(second)()
    assert np.array_equal(y, 5.0 * x + np.sin(x))


def test_arrays_of_other_lengths_have_a_function_of_their_own():
    tables = [
        KernelSequence((BoundKernel(scaled, np.ones(n), 2.0, np.zeros(n)),) * 2) for n in (2, 3)
    ]
    assert LinkedCode.of(tables[0]) is not LinkedCode.of(tables[1])


def test_kernels_of_one_name_that_close_over_other_numbers_have_functions_of_their_own():
    def made(factor):
        @compiled
        def times(x, y):
            for i in range(len(x)):
                y[i] = factor * x[i]

        return times

    x = np.array([1.0, 2.0])
    for factor in (2.0, 5.0):
        y = np.zeros(2)
        step = BoundKernel(made(factor), x, y)
        linked(KernelSequence((step, step)))()
        assert np.array_equal(y, factor * x)


def test_what_a_kernel_cannot_do_goes_to_python_and_back():
    x, y, told = np.array([3.0]), np.zeros(1), []

    def help_with(code):
        told.append(code)
        return None if x[0] < 4.0 else ValueError("too large")

    table = linked(
        KernelSequence(
            (BoundKernel(at_most, x, 1.0, fault=help_with), BoundKernel(scaled, x, 2.0, y))
        )
    )
    table()
    assert told == [-7]
    assert y[0] == 6.0 + np.sin(3.0)
    x[0], y[0] = 5.0, 0.0
    assert run(table.lines) == FAULT
    assert y[0] == 0.0
    with pytest.raises(ValueError, match="too large"):
        table.raise_fault()


FORMULAS = {
    "plain": ("return 2.5 * sin(x) - y / 3.0, x",),
    "branch": ("if x < y:\n    return rest", "return sqrt(x), -1.0"),
    "none": ("return log(x) + y, y",),
    "interpreted": ("return pow(x * x, 1.5), y",),
}


@pytest.mark.parametrize("name", FORMULAS)
def test_formulas_give_the_bits_of_the_interpreter_and_its_errors(name):
    x, y, out = np.zeros(1), np.zeros(1), np.zeros(2)
    step = CompiledFormula(("x", "y"), FORMULAS[name], known={"rest": (-1.0, 0.5)}).as_step(
        (x, y), out
    )
    table = KernelSequence((step, step))
    code = LinkedCode.of(table)
    link_now(code, table)
    for at in np.random.default_rng(1).normal(size=(20, 2)):
        x[0], y[0] = at
        answers = []
        for table.lines[0, LINKED] in (0, code.address):
            out[:] = np.nan
            try:
                table()
                answers.append(out.tobytes())
            except DomainError as error:
                answers.append(str(error))
        assert answers[0] == answers[1]


def bits(result):
    return b"".join(np.ascontiguousarray(result[name]).tobytes() for name in ("q", "v", "u"))


def linked_run(scenario, monkeypatch):
    """Return a run whose tables were linked before it."""
    known = []
    begin = LinkedTables.begin

    def link_first(tables):
        tables._codes += [(LinkedCode.of(one), one) for one in tables._not_entered]
        tables._not_entered = []
        for code, sequence in tables._codes:
            link_now(code, sequence)
            known.append(code.address)
        begin(tables)

    monkeypatch.setattr(LinkedTables, "begin", link_first)
    result = simulate(scenario)
    assert known
    assert all(known)
    return result


def by_table(scenario, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(LinkedTables, "begin", lambda tables: None)
        patch.setattr(LinkedTables, "pass_time", lambda tables: None)
        return simulate(scenario)


SCENARIOS = {
    "scara-helix": {"timing.duration": 0.5},
    "panda-pose-sampled": {"timing.duration": 0.2},
    "coordinated-arms": {"timing.duration": 0.5},
    "five-bar": {"timing.duration": 0.5},
    "three-rrr": {"timing.duration": 0.2},
    "quadrotor-lemniscate": {"timing.duration": 0.5},
    "panda-elastic": {"timing.duration": 0.1},
    "a1-lean": {"timing.duration": 0.1},
    "two-arms-carry": {"timing.duration": 0.2},
    "ur5-post": {"timing.duration": 0.2},
    "cart-pole-swing-up": {"timing.duration": 0.3},
}


@pytest.mark.parametrize(
    "name",
    [
        "two-mass-spring",
        *(pytest.param(name, marks=pytest.mark.slow) for name in SCENARIOS),
    ],
)
def test_a_run_has_the_bits_that_tables_give(name, monkeypatch):
    scenario = Scenario.load(name, SCENARIOS.get(name, {"timing.duration": 0.5}))
    apart = by_table(scenario, monkeypatch)
    together = linked_run(scenario, monkeypatch)
    assert apart.status == together.status == "completed"
    assert bits(apart) == bits(together)


def test_tables_are_linked_once_they_have_run_for_long(own_cache, monkeypatch):
    monkeypatch.setattr(linked_sequence, "SECONDS_BEFORE_LINKING", 0.0)
    scenario = Scenario.load("two-mass-spring")
    first = simulate(scenario)
    codes = list(LinkedCode._known.values())
    assert codes
    assert not any(code.address for code in codes)
    deadline = time.monotonic() + 120.0
    while not all(code.address for code in codes) and time.monotonic() < deadline:
        time.sleep(0.2)
        again = simulate(scenario)
    assert all(code.address for code in codes)
    assert bits(first) == bits(again) == bits(simulate(scenario))
    assert not list(own_cache.rglob("*.claim"))


PROGRAM = """
import sys
from ukctrl import Scenario, simulate
from ukctrl.simulation.step.linked_sequence import LinkedCode
result = simulate(Scenario.load("two-mass-spring"))
assert all(code.address for code in LinkedCode._known.values()), "not stored"
sys.stdout.write(b"".join(result[name].tobytes() for name in ("q", "v", "u")).hex())
"""


def test_tables_within_tables_are_linked_once_they_were_entered(own_cache, monkeypatch):
    monkeypatch.setattr(linked_sequence, "SECONDS_BEFORE_LINKING", 0.0)
    x, y, chosen = np.ones(5), np.zeros(5), np.zeros(1)
    inner = KernelSequence([BoundKernel(scaled, x, 2.0, y)] * 2)
    middle = KernelSequence([inner.as_step(), BoundKernel(scaled, y, -1.0, x)])
    outer = KernelSequence([middle.when_equal(chosen, 1), BoundKernel(scaled, y, 1.0, y)])
    tables = LinkedTables([outer])
    deadline = time.monotonic() + 120.0
    while not outer.lines[0, LINKED] and time.monotonic() < deadline:
        outer()
        tables.pass_time()
        time.sleep(0.05)
    assert outer.lines[0, LINKED]
    assert len(LinkedCode._known) == 1
    chosen[0] = 1.0
    while not (inner.lines[0, LINKED] and middle.lines[0, LINKED]) and time.monotonic() < deadline:
        outer()
        tables.pass_time()
        time.sleep(0.05)
    assert inner.lines[0, LINKED]
    assert middle.lines[0, LINKED]
    addresses = {id(one): one.lines[0, LINKED] for one in (inner, middle, outer)}
    answers = []
    for is_linked in (True, False):
        for one in (inner, middle, outer):
            one.lines[0, LINKED] = addresses[id(one)] if is_linked else 0
        x[:], y[:] = np.arange(5.0), 0.0
        outer()
        answers.append((x.tobytes(), y.tobytes()))
    assert answers[0] == answers[1]
    assert x.any()


def test_another_process_runs_what_was_linked_from_its_start(monkeypatch):
    # its other kernels are loaded after the function, by names that LLVM knows in there, too
    wanted = bits(linked_run(Scenario.load("two-mass-spring"), monkeypatch))
    done = subprocess.run(
        [sys.executable, "-P", "-c", PROGRAM], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert bytes.fromhex(done.stdout) == wanted


def test_other_masses_run_the_same_function(monkeypatch):
    scenario = Scenario.load("panda-pose-sampled", {"timing.duration": 0.01})
    monkeypatch.setattr(LinkedCode, "_known", {})
    simulate(scenario)
    count = len(LinkedCode._known)
    feedback = {"kind": "baumgarte", "alpha": 9.0, "beta": 20.0}
    simulate(scenario.replace({"seed": 3}))
    simulate(scenario.replace({"controller.feedback": feedback}))
    simulate(scenario.replace({"controller.allocation.null_space.kp": 20.0}))
    assert count == len(LinkedCode._known) == 2
    simulate(scenario.replace({"effect": []}))
    assert len(LinkedCode._known) > count


def test_without_a_folder_to_write_to_nothing_is_linked(monkeypatch):
    monkeypatch.setattr(cache_folder, "writable_folder", lambda chosen: None)
    x, y = np.ones(5), np.zeros(5)
    table = KernelSequence((BoundKernel(scaled, x, 2.0, y),) * 3)
    code = LinkedCode(tuple(linked_sequence._structure(table)))
    link_now(code, table, seconds=0.3)
    assert code.address == 0


def test_structures_that_come_to_nothing_are_forgotten(monkeypatch):
    monkeypatch.setattr(linked_sequence, "MAX_KNOWN", 3)
    monkeypatch.setattr(LinkedCode, "_known", {})

    def of(n):
        return LinkedCode.of(
            KernelSequence((BoundKernel(scaled, np.ones(n), 2.0, np.zeros(n)),) * 2)
        )

    kept = of(7)
    kept.address = 1
    for n in range(8, 20):
        of(n)
        assert len(LinkedCode._known) <= 4
    assert of(7) is kept


def test_formulas_and_what_links_them_are_sources_of_machine_code():
    for module in (straight_line, linked_sequence):
        path = Path(module.__file__)
        name = path.relative_to(cache_folder.PACKAGE).as_posix()
        assert cache_folder.makes_machine_code(name, path.read_bytes())


def test_a_symbol_that_nobody_has_is_not_called(own_cache):
    x, y = np.ones(6), np.zeros(6)
    table = KernelSequence((BoundKernel(scaled, x, 2.0, y),) * 3)
    code = LinkedCode(tuple(linked_sequence._structure(table)))
    link_now(code, table)
    content = code._file.read_bytes().partition(b"\n")
    code._file.write_bytes(b'{"needs": ["nobody.has.this"]}\n' + content[2])
    assert code.address
    assert LinkedCode(tuple(linked_sequence._structure(table))).address == 0
