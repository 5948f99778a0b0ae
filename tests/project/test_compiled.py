"""The cache of machine code follows the sources."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import ukctrl

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
    assert source.count(before) == 2  # in solve_lower and in solve_upper
    factor.write_text(source.replace(before, "x[i] = 3.0 * total / L[i, i]"))
    assert answer() == 18.0
    assert answer() == 18.0  # now from the cache
