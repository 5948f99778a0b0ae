"""Machine code is made once on a machine, and what is kept of it follows the sources."""

import os
import pickle
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import ukctrl
from ukctrl.core.algebra import factorisation
from ukctrl.core.compiled import allocating, compiled, config, for_python
from ukctrl.core.turns import Turns

ASK = """
import numpy as np
from ukctrl import uk
print(uk.affine_answer(np.diag([4.0]), [8.0], np.eye(1)).a_free[0])
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


def asked(code, folder):
    """Return what a process of its own prints, and what it complains of."""
    command = [sys.executable, *code]
    env = {**os.environ, "NUMBA_CACHE_DIR": str(folder / "store"), "PYTHONUNBUFFERED": "1"}
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=True)
    return done.stdout, done.stderr


MADE = f"""
from ukctrl.core.kernel import KERNELS
{ASK}
print(sum(sum(kernel._cache_misses.values()) for kernel in KERNELS.values()))
"""
"""Tells how many functions it has compiled."""


@pytest.mark.skipif(sys.platform == "win32", reason="processes there take no turns")
@pytest.mark.skipif(config.DISABLE_JIT, reason="nothing is compiled")
def test_of_processes_that_start_together_one_compiles_and_all_find_it(tmp_path):
    env = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "-c", MADE]

    def started():
        return subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True)

    told = [process.communicate()[0].split() for process in [started(), started(), started()]]
    assert {answer for answer, _ in told} == {"2.0"}
    kept = [file.name for file in tmp_path.rglob("*.nbc")]
    assert sum(int(made) for _, made in told) == len(kept) > 5
    assert started().communicate()[0].split() == ["2.0", "0"]


@pytest.mark.skipif(sys.platform == "win32", reason="processes there take no turns")
def test_a_turn_ends_with_its_process_and_nobody_waits_for_ever(tmp_path, monkeypatch):
    file = tmp_path / "of" / "turns"
    holding = "from ukctrl.core.turns import Turns; from pathlib import Path; import sys, time; "
    holding += f"print(Turns(Path({str(file)!r})).take('a', print), flush=True); time.sleep(600)"
    holder = subprocess.Popen([sys.executable, "-c", holding], stdout=subprocess.PIPE, text=True)
    assert holder.stdout.readline() == "True\n"
    turns, waited = Turns(file), []
    assert turns.take("b", lambda: waited.append("b"))
    monkeypatch.setattr("ukctrl.core.turns.PATIENT_SECONDS", 0.05)
    assert not turns.take("a", lambda: waited.append("a"))
    assert set(waited) == {"a"}
    monkeypatch.setattr("ukctrl.core.turns.PATIENT_SECONDS", 60.0)
    assert turns.take("a", holder.kill)
    holder.wait()
    assert not Turns(tmp_path).take("a", print)  # a folder cannot be shared so


@pytest.mark.slow
def test_any_part_of_the_machine_code_may_be_missing(tmp_path):
    first = asked(["-c", ASK], tmp_path)
    kept = sorted((tmp_path / "store").rglob("*.nbc"))
    assert len(kept) > 5
    for file in kept:
        file.unlink()  # made again where it is called, and not where it is part of its caller
        assert asked(["-c", ASK], tmp_path) == first, file.name
    for file in (tmp_path / "store").rglob("*.nb?"):
        file.unlink()
    assert asked(["-c", ASK], tmp_path) == first
    assert sorted((tmp_path / "store").rglob("*.nbc")) == kept


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

    @for_python
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
        return factorisation.cholesky_by_rows(M, L)

    assert factored(np.eye(3), np.empty((3, 3))) == 0
    assert factored(-np.eye(3), np.empty((3, 3))) != 0
    (made,) = factored.overloads.values()
    assert [needed.name.rpartition(":")[2] for needed in made.reload_init] == ["cholesky_by_rows"]
