"""Half a minute of `make fuzz`, with inputs of its own: none runs, crashes or hangs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from extras import needs

from ukctrl.core.cache_folder import writable_folder

FUZZ = Path(__file__).with_name("fuzz.py")


@pytest.mark.slow
@needs("psutil")
def test_strange_input_is_answered_in_one_line_and_runs_nothing():
    words = [sys.executable, FUZZ, "--count", "16", "--seed", "2026", "--jobs", "1"]
    stored = os.environ.get("NUMBA_CACHE_DIR") or str(writable_folder("").parent)
    env = {**os.environ, "NUMBA_CACHE_DIR": stored}  # or it would compile everything once more
    done = subprocess.run(words, capture_output=True, text=True, timeout=1500, env=env)
    assert done.returncode == 0, done.stdout + done.stderr
    kinds = done.stdout.splitlines()[1:]
    assert sum(int(line[14:].split()[0]) for line in kinds) == 16
