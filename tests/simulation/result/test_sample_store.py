"""A run that is too long for memory goes to disk as it comes, and is the same run."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tracemalloc

import numpy as np
import pytest

from ukctrl import Result, Scenario, simulate
from ukctrl.cli import main
from ukctrl.core.errors import ShapeError
from ukctrl.simulation.result import sample_store
from ukctrl.simulation.result.sample_store import SampleStore

SHORT = {"timing.duration": 0.4, "timing.sample": 0.001}


@pytest.fixture
def little(monkeypatch, tmp_path):
    """Memory for hardly any samples, and a folder of one's own for temporary files."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.setattr(sample_store, "MAX_MEMORY_BYTES", 2**14)
    monkeypatch.setattr(sample_store, "BLOCK_BYTES", 2**13)
    return folder


@pytest.mark.slow(only=["elastic-arm-middle"])
@pytest.mark.parametrize(
    "name",
    [
        "scara-helix",
        pytest.param("five-bar", marks=pytest.mark.slow),
        "scara-helix-bench",
        "elastic-arm-middle",
    ],
)
def test_a_run_on_disk_has_the_bits_of_one_in_memory(name, little, monkeypatch, tmp_path):
    scenario = Scenario.load(name, SHORT)
    seen = []
    on_disk = simulate(scenario, progress=lambda t, T: seen.extend(little.iterdir()))
    assert not on_disk.samples.store.in_memory
    assert not seen  # the file has no name that a kill could leave behind
    on_disk.save(tmp_path / "long")
    again = Result.load(tmp_path / "long")
    monkeypatch.undo()
    in_memory = simulate(scenario)
    in_memory.save(tmp_path / "short")
    assert on_disk.identical(in_memory)
    assert again.identical(Result.load(tmp_path / "short"))
    ours, theirs = on_disk.metrics, in_memory.metrics
    assert ours.keys() == theirs.keys()
    same = [name for name in ours if name != "mean_tick_us"]
    np.testing.assert_array_equal([ours[k] for k in same], [theirs[k] for k in same])


@pytest.mark.parametrize("held", [{}, {"timing.control": 0.001}], ids=["continuous", "held"])
def test_memory_does_not_grow_with_a_long_run(little, held, monkeypatch):
    monkeypatch.setattr(
        "ukctrl.core.jit.kernel.SECONDS_BEFORE_COMPILING", -1.0
    )  # nothing is compiled later ...
    monkeypatch.setattr(
        "ukctrl.core.jit.kernel.CALLS_BEFORE_ENTRY", 1
    )  # ... because it has come often
    peaks = []
    for duration in (1.0, 4.0):
        scenario = Scenario.load("two-mass-spring", {**SHORT, **held, "timing.duration": duration})
        simulate(scenario)  # all is compiled that this takes
        tracemalloc.start()
        simulate(scenario)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    samples = 3000
    # When outputs are and ticks, as lists and for the kernels: 8 bytes each, where the arrays have
    # 200. The robot was loaded before, and nothing is left over from sample to sample.
    assert peaks[1] - peaks[0] < 48 * samples


def test_a_disk_without_room_is_told_before_the_run(little, monkeypatch, capfd):
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: shutil._ntuple_diskusage(9, 8, 1))
    with pytest.raises(SystemExit) as ended:
        main(["run", "two-mass-spring", "--set", "timing.sample=1e-4"])
    out, err = capfd.readouterr()
    assert (ended.value.code, out, err.count("\n")) == (2, "", 1)
    assert f"'{little}' must have room for 3 MB of samples: there are 0 MB. Set TMPDIR" in err


FULL = """
import resource, sys
from ukctrl.cli import main
from ukctrl.simulation.result import sample_store
sample_store.MAX_MEMORY_BYTES = sample_store.BLOCK_BYTES = 2**13
resource.setrlimit(resource.RLIMIT_FSIZE, (2**16, 2**16))
main(sys.argv[1:])
"""


@pytest.mark.slow
def test_a_disk_that_fills_during_the_run_ends_it_in_one_line(little, tmp_path):
    settings = [f"--set={name}={value}" for name, value in SHORT.items()]
    done = subprocess.run(
        [sys.executable, "-P", "-c", FULL, "run", "scara-helix", "-q", *settings],
        cwd=tmp_path, capture_output=True, text=True, timeout=120, env={**os.environ},
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), done.stderr
    assert "File too large" in done.stderr
    assert not list(little.iterdir())


def test_samples_of_another_shape_are_refused():
    for size in (10, 10**7):
        store = SampleStore(size, 3)
        store.write(0, {"x": np.ones((4, 3))})
        with pytest.raises(ShapeError, match=r"x must have one shape; got \(3,\), and then \(2,\)"):
            store.write(4, {"x": np.ones((4, 2))})
        with pytest.raises(ShapeError, match="y must have one shape; got None"):
            store.write(4, {"y": np.ones(4)})
        np.testing.assert_array_equal(store.read(4)["x"], np.ones((4, 3)))
