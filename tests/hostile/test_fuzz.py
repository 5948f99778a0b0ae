"""Half a minute of `make fuzz`, with inputs of its own: none runs, crashes or hangs."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
import time
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


@pytest.fixture(name="fuzz")
def _fuzz(monkeypatch):
    pytest.importorskip("psutil")
    monkeypatch.syspath_prepend(FUZZ.parent)
    return importlib.import_module("fuzz")


def test_a_line_of_progress_beside_a_refusal_is_no_fault_and_a_second_message_is(fuzz, tmp_path):
    """As where other work has the processor, so that a sweep of a strange input lasts a minute."""
    folder = tmp_path / "folder"
    progress = "ukctrl: 0 of 9\nukctrl: 2 of 9, 1 failed, 0.0667/s, 1 min 45 s left\n"
    told = progress + "ukctrl: task: 'x' must be a file.\n"
    assert list(fuzz.faults_of(2, "", told, folder)) == []
    assert list(fuzz.faults_of(2, "", f"{told}ukctrl: more.\n", folder)) == ["exit 2 with 2 lines"]
    assert list(fuzz.faults_of(2, "", progress, folder)) == ["exit 2 with 0 lines"]


@pytest.mark.skipif(not Path("/proc/self/schedstat").exists(), reason="Linux alone tells that")
def test_a_process_that_waits_for_a_processor_is_not_asleep(fuzz):
    """More processes than processors: each gets a part of them, and sleeps none of the rest."""
    script = "while True: pass"
    rivals = [
        subprocess.Popen([sys.executable, "-c", script]) for _ in range(2 * (os.cpu_count() or 1))
    ]
    sleeper = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    try:
        time.sleep(0.5)
        processes = [process.pid for process in (*rivals, sleeper)]
        before = [fuzz.Times.of(process) for process in processes]
        time.sleep(2.0)
        *busy, idle = (fuzz.Times.of(p).since(b) for p, b in zip(processes, before, strict=True))
    finally:
        for process in (*rivals, sleeper):
            process.kill()
            process.wait()
    assert max(entry.asleep for entry in busy) < 0.5
    assert min(entry.computed for entry in busy) < 1.5
    assert idle.asleep > 1.5
    assert idle.computed < 0.5
