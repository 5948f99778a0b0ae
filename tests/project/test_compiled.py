"""Machine code is made once on a machine, and what is kept of it follows the sources."""

import json
import math
import os
import pickle
import shutil
import subprocess
import sys
import time
import zipfile
from pathlib import Path
from typing import NamedTuple

import numba
import numpy as np
import pytest
from scripts import module_of

import ukctrl
from ukctrl.core import cache_folder
from ukctrl.core.algebra import factorisation
from ukctrl.core.compiled import allocating, compiled, config, deferred, python_entry_only
from ukctrl.core.jit import kernel as jit
from ukctrl.core.jit.compile_lock import FileLocks

ROOT = Path(__file__).parents[2]
ASK = """
import numpy as np
from ukctrl import uk
print(uk.affine_acceleration(np.diag([4.0]), [8.0], np.eye(1)).a_free[0])
"""
DEFERRED = """
import numpy as np
from ukctrl.core.algebra import sparse_products as products
from ukctrl.core.jit import kernel as jit
from ukctrl.core.jit.machine_code_store import CompileNotice
jit.SECONDS_BEFORE_COMPILING = float("{worth}")
products.is_diagonal(np.eye(3))
print(bool(products.is_diagonal.overloads), CompileNotice.functions > 0)
"""


@pytest.mark.slow
def test_a_change_in_one_file_reaches_the_cached_callers_in_others(tmp_path):
    shutil.copytree(
        Path(ukctrl.__file__).parent,
        tmp_path / "ukctrl",
        ignore=shutil.ignore_patterns("__pycache__", "_catalog"),
    )
    environment = {k: v for k, v in os.environ.items() if k != "NUMBA_CACHE_DIR"}
    environment["PYTHONPATH"] = str(tmp_path)

    def answer():
        done = subprocess.run(
            [sys.executable, "-c", ASK],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        return float(done.stdout)

    assert answer() == 2.0
    factor = tmp_path / "ukctrl" / "core" / "algebra" / "factorisation.py"
    before = "x[i] = total / L[i, i]"
    source = factor.read_text()
    assert source.count(before) == 1
    factor.write_text(source.replace(before, "x[i] = 3.0 * total / L[i, i]"))
    assert answer() == 6.0
    assert answer() == 6.0  # now from the cache


@pytest.mark.parametrize(
    ("name", "counts"),
    [
        ("core/jit/compiler_passes.py", True),
        ("core/jit/argument_block.py", True),
        ("core/compiled.py", True),
        ("core/algebra/factorisation.py", True),
        ("cli/main.py", False),
    ],
)
def test_machine_code_of_another_compiler_lies_in_another_folder(name, counts, monkeypatch):
    before, sources = cache_folder.folder_name(), dict(cache_folder._sources())
    sources[name] += b"# changed"
    monkeypatch.setattr(cache_folder, "_sources", lambda: sources)
    assert (cache_folder.folder_name() != before) == counts


def asked(code, folder):
    """Return what a process of its own prints, and what it complains of."""
    command = [sys.executable, *code]
    env = {**os.environ, "NUMBA_CACHE_DIR": str(folder / "store"), "PYTHONUNBUFFERED": "1"}
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=True)
    return done.stdout, done.stderr


MADE = f"""
from ukctrl.core.jit.machine_code_store import CompileNotice
{ASK}
print(CompileNotice.functions)
"""
"""Tells how many functions it has compiled."""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="there are no file locks")
@pytest.mark.skipif(config.DISABLE_JIT, reason="nothing is compiled")
def test_of_processes_that_start_together_one_compiles_and_all_find_it(tmp_path):
    env = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "-c", MADE]

    def started():
        return subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True)

    told = [process.communicate()[0].split() for process in [started(), started(), started()]]
    assert {answer for answer, _ in told} == {"2.0"}
    kept = [file.name for file in tmp_path.rglob("*.code")]
    assert sum(int(made) for _, made in told) == len(kept) > 5
    assert started().communicate()[0].split() == ["2.0", "0"]


@pytest.mark.skipif(sys.platform == "win32", reason="there are no file locks")
def test_a_lock_ends_with_its_process_and_nobody_waits_for_ever(tmp_path, monkeypatch):
    file = tmp_path / "of" / "locks"
    module = "ukctrl.core.jit.compile_lock"
    holding = f"from {module} import FileLocks; from pathlib import Path; import time; "
    holding += f"print(FileLocks(Path({str(file)!r})).acquire('a', print), flush=True); "
    command = [sys.executable, "-c", f"{holding} time.sleep(600)"]
    holder = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert holder.stdout.readline() == "True\n"
    locks, waited = FileLocks(file), []
    assert locks.acquire("b", lambda: waited.append("b"))
    monkeypatch.setattr(f"{module}.TIMEOUT_SECONDS", 0.05)
    assert not locks.acquire("a", lambda: waited.append("a"))
    assert set(waited) == {"a"}
    monkeypatch.setattr(f"{module}.TIMEOUT_SECONDS", 60.0)
    assert locks.acquire("a", holder.kill)
    holder.wait()
    assert not FileLocks(tmp_path).acquire("a", print)  # a folder cannot be shared so


@pytest.mark.slow
def test_any_part_of_the_machine_code_may_be_missing(tmp_path):
    first = asked(["-c", ASK], tmp_path)
    kept = sorted((tmp_path / "store").rglob("*.code"))
    assert len(kept) > 5
    for file in kept:
        file.unlink()  # made again where it is called, and not where it is part of its caller
        assert asked(["-c", ASK], tmp_path) == first, file.name
    for file in (tmp_path / "store").rglob("*.code"):
        file.unlink()
    assert asked(["-c", ASK], tmp_path) == first
    assert sorted((tmp_path / "store").rglob("*.code")) == kept


@pytest.mark.slow
def test_a_command_says_once_that_it_compiles(tmp_path):
    run = ["-m", "ukctrl.cli", "run", "two-mass-spring", "--out", "run"]
    assert asked(run, tmp_path)[1] == "ukctrl: compiling, once on this machine ...\n"
    assert asked(run, tmp_path)[1] == ""


@pytest.mark.slow
def test_a_quiet_command_does_not_say_that_it_compiles(tmp_path):
    run = ["-m", "ukctrl.cli", "run", "two-mass-spring", "--out", "run", "--quiet"]
    assert asked(run, tmp_path) == ("", "")


@pytest.mark.skipif(config.DISABLE_JIT, reason="nothing is compiled")
def test_python_and_kernels_call_the_same_machine_code(monkeypatch, tmp_path):
    monkeypatch.setattr(config, "CACHE_DIR", str(tmp_path))

    @compiled
    def halved(x: float) -> float:
        return 0.5 * x

    @compiled
    def quartered(x: float) -> float:
        return halved(halved(x))

    @python_entry_only
    def with_three(x: float) -> float:
        return halved(x) + 3.0

    assert quartered(6.0) == 1.5
    made = dict(halved.overloads)
    assert len(made) == 1
    assert halved(6.0) == 3.0
    assert with_three(6.0) == 6.0
    assert dict(halved.overloads) == made
    with pytest.raises(TypeError, match="not enough arguments"):
        halved()


@pytest.mark.skipif(config.DISABLE_JIT, reason="nothing is compiled")
def test_a_kernel_is_pickled_by_its_name():
    assert pickle.loads(pickle.dumps(factorisation.solve_lower)) is factorisation.solve_lower


@pytest.mark.skipif(config.DISABLE_JIT, reason="nothing is compiled")
def test_a_long_kernel_is_not_copied_into_what_calls_it(monkeypatch, tmp_path):
    monkeypatch.setattr(config, "CACHE_DIR", str(tmp_path))  # what is read has no code to look at

    @allocating
    def factored(M, L):
        return factorisation.envelope_cholesky(M, L)

    assert factored(np.eye(3), np.empty((3, 3))) == 0
    assert factored(-np.eye(3), np.empty((3, 3))) != 0
    (made,) = factored.overloads.values()
    assert [needed.name.rpartition(":")[2] for needed in made.reload_init] == ["envelope_cholesky"]


class Parts(NamedTuple):
    """What a deferred kernel takes in one argument."""

    columns: np.ndarray
    several: tuple[int, bool]


@pytest.mark.skipif(config.DISABLE_JIT, reason="nothing is compiled")
@pytest.mark.parametrize("returned", [float, int, bool, None])
def test_a_deferred_kernel_is_the_same_by_python_and_by_machine_code(
    returned, monkeypatch, tmp_path
):
    monkeypatch.setattr(config, "CACHE_DIR", str(tmp_path))

    def summed(parts: Parts, more: float, out: np.ndarray):
        total, (first, signed) = more, parts.several
        for k in range(first, len(parts.columns)):
            total += -parts.columns[k] if signed else parts.columns[k]
        out[0, 1] = total
        return total if returned is float else len(out) if returned is int else total > 1.0

    def written(parts: Parts, more: float, out: np.ndarray) -> None:
        summed_for_none(parts, more, out)

    summed_for_none = compiled(summed)
    summed.__annotations__["return"] = returned
    late = deferred(written if returned is None else summed)

    @compiled
    def cautious(A: np.ndarray, more: float, signed: bool, out: np.ndarray) -> object:
        return late(Parts(A[:, 1], (1, signed)), more, out[1:])

    A, answers = np.array([[1.0, 2.0], [-3.0, 0.3], [5.0, 0.7]]), []
    for worth, is_made in ((np.inf, False), (-1.0, True)):
        monkeypatch.setattr(jit, "SECONDS_BEFORE_COMPILING", worth)
        for signed in (False, True):
            out = np.zeros((2, 2))
            answer = cautious(A, 0.1, signed, out)
            answers.append((answer, type(answer), out.tobytes()))
        assert bool(late.overloads) == is_made
    assert answers[:2] == answers[2:]
    assert answers[0] != answers[1]


@pytest.mark.skipif(config.DISABLE_JIT, reason="nothing is compiled")
def test_what_raises_in_python_is_left_to_machine_code_with_arrays_as_before(monkeypatch, tmp_path):
    monkeypatch.setattr(config, "CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(jit, "SECONDS_BEFORE_COMPILING", np.inf)

    @deferred
    def scaled(x: np.ndarray, by: float) -> float:
        x[0] += 1.0
        return math.exp(x[0]) / by

    @compiled
    def calls(x: np.ndarray, by: float) -> float:
        return scaled(x, by)

    x = np.zeros(1)
    assert calls(x, 1.0) == math.exp(1.0)
    assert not scaled.overloads
    assert calls(x, 0.0) == np.inf  # Python raises ZeroDivisionError
    assert scaled.overloads
    assert scaled(x, 0.0) == np.inf
    assert x[0] == 3.0


@pytest.mark.slow
@pytest.mark.skipif(config.DISABLE_JIT, reason="nothing is compiled")
def test_a_deferred_kernel_that_is_stored_is_loaded_at_once(monkeypatch, tmp_path):
    env = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    outputs = []
    for worth in (-1.0, np.inf):
        script = DEFERRED.format(worth=worth)
        done = subprocess.run([sys.executable, "-c", script], env=env, capture_output=True)
        assert not done.stderr
        outputs.append(done.stdout.split())
    assert outputs == [[b"True", b"True"], [b"True", b"False"]]


@pytest.mark.skipif(config.DISABLE_JIT, reason="nothing is compiled")
def test_an_interrupted_deferred_kernel_ends_and_python_is_interrupted_behind_it(
    monkeypatch, tmp_path
):
    monkeypatch.setattr(config, "CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(jit, "SECONDS_BEFORE_COMPILING", np.inf)

    @deferred
    def counted(x: np.ndarray) -> None:
        x[0] += 1.0

    def interrupted(x):
        counted.py_func(x)
        if interrupts:
            raise interrupts.pop()

    interrupts = [KeyboardInterrupt()]
    monkeypatch.setattr(counted, "_in_python", interrupted)

    @compiled
    def calls(x: np.ndarray) -> float:
        counted(x)
        return x[0]

    x = np.zeros(1)
    with pytest.raises(KeyboardInterrupt):
        _ = calls(x), [time.sleep(0.01) for _ in range(1000)]
    assert x[0] == 1.0


@pytest.mark.parametrize("value", [None, True, False, -(2**40), -2.5, float("inf")])
@pytest.mark.skipif(config.DISABLE_JIT, reason="nothing is compiled")
def test_python_gets_what_a_kernel_returns_with_and_without_an_entry(value, monkeypatch, tmp_path):
    monkeypatch.setattr(config, "CACHE_DIR", str(tmp_path))

    @compiled
    def doubled(x: np.ndarray, several: bool) -> None:
        for k in range(len(x)):
            x[k] *= 2.0
            if not several:
                break

    @compiled
    def returned() -> object:
        return value

    x = np.array([1.0, 2.0, 3.0])
    for kernel in (doubled, returned):
        kernel.has_python_entry = False
    answers = [(doubled(x, True), returned())]
    for kernel in (doubled, returned):
        kernel.has_python_entry = True
    answers.append((doubled(x, False), returned()))
    assert answers == [(None, value)] * 2
    assert [type(answer) for _, answer in answers] == [type(value)] * 2
    np.testing.assert_array_equal(x, [4.0, 4.0, 6.0])


@pytest.fixture(name="elsewhere")
def _elsewhere(tmp_path):
    """Copy the package to another place, with machine code that was compiled in this one."""
    ship = module_of(ROOT / "tools" / "ship_machine_code.py")
    store = tmp_path / "store"
    env = {**os.environ, "NUMBA_CACHE_DIR": str(store), "NUMBA_CPU_NAME": "generic"}
    subprocess.run([sys.executable, "-c", MADE], env=env, check=True, capture_output=True)
    package = tmp_path / "elsewhere" / "ukctrl"
    ignored = shutil.ignore_patterns("__pycache__", "_catalog")
    for source in cache_folder.PACKAGES:
        shutil.copytree(source, package.with_name(source.name), ignore=ignored)
    ship.pack(store, package / cache_folder.SHIPPED.name)
    return package


def counted(package, **environment):
    """Return what `MADE` prints with the package of another place, and what it leaves."""
    empty = package.parents[1] / "empty"
    env = {**os.environ, "PYTHONPATH": str(package.parent), "NUMBA_CACHE_DIR": str(empty)}
    command = [sys.executable, "-P", "-c", f"import ukctrl; print(ukctrl.__file__){MADE}"]
    done = subprocess.run(command, env={**env, **environment}, capture_output=True, text=True)
    file, answer, compiled = done.stdout.split()
    assert Path(file).parent == package, done.stderr
    return answer, int(compiled), len(list(empty.rglob("*.code")))


@pytest.mark.slow
@pytest.mark.skipif(config.DISABLE_JIT, reason="nothing is compiled")
def test_what_a_wheel_ships_is_loaded_at_another_place_and_nothing_is_compiled(elsewhere):
    assert counted(elsewhere) == ("2.0", 0, 0)


@pytest.mark.slow
@pytest.mark.skipif(config.DISABLE_JIT, reason="nothing is compiled")
def test_what_is_shipped_is_of_no_use_to_other_sources_or_another_numba(elsewhere):
    archive = elsewhere / cache_folder.SHIPPED.name
    with zipfile.ZipFile(archive) as shipped:
        held = {name: shipped.read(name) for name in shipped.namelist()}
    note = json.loads(held[cache_folder.MANIFEST])
    for key in note:
        held[cache_folder.MANIFEST] = json.dumps({**note, key: "another"})
        with zipfile.ZipFile(archive, "w") as shipped:
            for name, content in held.items():
                shipped.writestr(name, content)
        shutil.rmtree(elsewhere.parents[1] / "empty", ignore_errors=True)
        answer, compiled, stored = counted(elsewhere)
        assert answer == "2.0", key
        assert compiled == stored > 5, key


RUN = """
import sys, numba
numba.__version__ = {version!r}
from ukctrl import Scenario, simulate
from ukctrl.core.compiled import is_tested_numba
result = simulate(Scenario.load("scara-helix").replace({{"timing.duration": 0.05}}))
print(is_tested_numba, result.status, *(float(x).hex() for x in result["q"].ravel()))
"""


@pytest.mark.slow
@pytest.mark.skipif(config.DISABLE_JIT, reason="nothing is compiled")
def test_a_numba_that_was_not_tried_computes_the_same_bits(tmp_path):
    answers = [
        asked(["-c", RUN.format(version=version)], tmp_path)[0].split()
        for version in (numba.__version__, "99.0.0")
    ]
    assert [answer[0] for answer in answers] == ["True", "False"]
    assert answers[0][1] == "completed"
    assert answers[0][1:] == answers[1][1:]


@pytest.mark.slow
@pytest.mark.skipif(config.DISABLE_JIT, reason="nothing is compiled")
def test_arrays_of_short_numbers_are_written_as_what_they_are(monkeypatch, tmp_path):
    monkeypatch.setattr(config, "CACHE_DIR", str(tmp_path))

    @compiled
    def count_up(out: np.ndarray) -> None:
        for k in range(len(out)):
            out[k] = k

    for dtype in (np.float32, np.int32, np.uint8, np.float64):
        room = np.full(12, 7, dtype)
        count_up(room[:4])
        np.testing.assert_array_equal(room, [0, 1, 2, 3, *[7] * 8])


@pytest.mark.skipif(config.DISABLE_JIT, reason="nothing is compiled")
def test_elements_are_those_of_python_whatever_the_array_and_the_place():
    def swap(x, A, B, i, j):
        x[i], A[i, j] = A[i, j], x[i]
        B[i, j, -1] = not B[i, -j, 0]
        A[-1, 0] += x[-1] + A[1][0]

    machine_code = numba.njit(boundscheck=False)(swap)
    for layout in (np.ascontiguousarray, np.asfortranarray, lambda array: array[..., ::-1]):
        for i, j in [(0, 0), (2, 1), (-3, 2), (1, -1), (np.uint8(2), np.int8(-2))]:
            x, A = np.arange(3.0), layout(np.arange(9.0).reshape(3, 3) ** 2)
            B = layout(np.arange(36).reshape(3, 3, 4) % 5 == 0)
            ours, theirs = (x, A, B), (x.copy(), A.copy(), B.copy())
            machine_code(*ours, i, j)
            swap(*theirs, i, j)
            for one, other in zip(ours, theirs, strict=True):
                np.testing.assert_array_equal(one, other)
    with pytest.raises(IndexError):
        numba.njit(boundscheck=True)(swap)(np.zeros(3), np.zeros((3, 3)), np.ones((3, 3, 4)), 3, 0)
