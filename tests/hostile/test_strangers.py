"""What a stranger's files may hold runs nothing, takes nothing down and is refused in one line."""

from __future__ import annotations

import ast
import csv
import json
import os
import resource
import shutil
import subprocess
import sys
from pathlib import Path

import h5py
import numpy as np
import pytest
from extras import needs

from tests.shared.slow import slow_but
from ukctrl import Result, Scenario, simulate
from ukctrl.cli import main
from ukctrl.core import cache_folder
from ukctrl.simulation.result import hdf5_writer, untrusted_hdf5

GOOD = Path(__file__).resolve().parents[1] / "conformance" / "bad" / "base"
FLAG = "code-ran"
CODE = f"open({FLAG!r}, 'w').write('x')"
MODULES = (
    "json", "sympy", "typing", "random", "multiprocessing", "loky", "pickle", "numpy", "runpy",
    "threading", "ukctrl", "sitecustomize",
)  # fmt: skip
"""What a folder may hold in the hope that a process imports it: the names that ours do import."""
ROLLS = """
title = "rows on velocities, of which computer algebra is asked"
robot = "scara"
start.q = { q1 = 0.5, q2 = -0.9, q3 = 0.4, q4 = 0.0 }
start.solve = true
controller.use = "servo-baumgarte"
timing.duration = 0.01
[[servo]]
kind = "expression"
psi = "v.q1*cos(q2) + v.q3*sin(q1) + v.q2"
"""
ARM = """
<robot name="r"><link name="base"/><link name="l1"><inertial><origin xyz="0.5 0 0"/><mass
value="1"/><inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="j1" type="revolute"><parent link="base"/><child link="l1"/><axis xyz="0 0 1"/>
<limit lower="-3" upper="3" effort="9" velocity="9"/></joint></robot>
"""
MOTOR = """
[[actuator]]
kind = "joint"
joint = "j1"
name = {name}
"""
TURNS = """
title = {title}
robot = "r"
controller.use = "servo-baumgarte"
timing = {{ duration = 0.005, control = 0.001, sample = 0.001 }}
[[servo]]
kind = "joint_follows"
joints = ["j1"]
path = {{ kind = "expression", components = ["0.1*t"] }}
"""
SLY = (
    f'x"""; {CODE}; """',
    f"x'; {CODE}; '",
    f'x\\"""\n{CODE}\n"""',
    "a, b: [c] {d} # e",
    "=1+1|cmd",
    "\u202eevil\x7f\x85",
    "{0.__class__}%s${HOME}",
)
"""Names that would be code, or other data, in Python, YAML, CSV or a template."""


def command(*arguments: str, cwd: Path, **given: object) -> subprocess.CompletedProcess[str]:
    """Run a command as the installed script does: without the working folder on its path."""
    return subprocess.run(
        [sys.executable, "-P", "-m", "ukctrl.cli", *arguments],
        cwd=cwd, capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL, **given,
    )  # fmt: skip


def refused(done: subprocess.CompletedProcess[str], *says: str) -> None:
    """Require one line and exit code 2."""
    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    assert done.stderr.startswith("ukctrl: ")
    assert done.stderr.count("\n") == 1
    for part in says:
        assert part in done.stderr


# Code


@pytest.fixture
def folder(tmp_path):
    """A folder that a stranger sent: a scenario, and modules with well-known names beside it."""
    (tmp_path / "task.toml").write_text(ROLLS, encoding="utf-8")
    for name in MODULES:
        (tmp_path / f"{name}.py").write_text(CODE, encoding="utf-8")
    return tmp_path


@pytest.mark.slow
def test_no_module_beside_a_scenario_is_imported_by_the_process_of_computer_algebra(folder):
    done = command("check", "task.toml", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "d omega ^ omega has the component" in done.stdout  # that process has answered
    assert not (folder / FLAG).exists()


@pytest.mark.slow
def test_no_module_beside_a_scenario_is_imported_by_workers(folder):
    varied = ("--vary", "controller.feedback.alpha=10,20", "--no-report")
    done = command("sweep", "task.toml", *varied, "--jobs", "2", "--out", "out", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert not (folder / FLAG).exists()


@pytest.mark.slow
def test_names_are_data_in_everything_that_is_exported(tmp_path):
    robot = tmp_path / "robots" / "r"
    robot.mkdir(parents=True)
    (robot / "r.urdf").write_text(ARM, encoding="utf-8")
    motors = "".join(MOTOR.format(name=json.dumps(name)) for name in SLY)
    (robot / "robot.toml").write_text(f'title = "one joint"\nmodel = "r.urdf"\n{motors}')
    (tmp_path / "task.toml").write_text(TURNS.format(title=json.dumps(SLY[0])))
    done = command("export", "task.toml", "--out", "out", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    out = tmp_path / "out"
    checked = subprocess.run(
        [sys.executable, "controller.py"], cwd=out, capture_output=True, text=True
    )
    assert "bit for bit" in checked.stdout, checked.stderr
    script = ast.parse((out / "controller.py").read_text(encoding="utf-8"))
    said = {
        target.id: ast.literal_eval(line.value)
        for line in script.body
        if isinstance(line, ast.Assign) and isinstance(target := line.targets[0], ast.Name)
        and target.id == "INPUTS"
    }  # fmt: skip
    assert said == {"INPUTS": SLY}
    with (out / "motion.csv").open(encoding="utf-8", newline="") as file:
        assert next(csv.reader(file))[-len(SLY) :] == [f"u.{name}" for name in SLY]
    assert not list(tmp_path.rglob(FLAG))


@needs("yaml")
@pytest.mark.parametrize("name", SLY[:-1])
def test_names_of_joints_are_data_in_a_trajectory(name):
    import yaml

    from ukctrl.simulation.export.ros_trajectory import _text

    assert yaml.safe_load(f"[{_text(name)}]") == [name]


def test_machine_code_is_read_from_no_folder_that_others_could_have_filled(tmp_path):
    own = tmp_path / "own"
    assert cache_folder._private(own) == own
    assert cache_folder._private(own) == own  # a second time it is there already
    assert own.stat().st_mode & 0o777 == 0o700
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    link = tmp_path / "link"
    link.symlink_to(own)
    for place in (shared, link, tmp_path / "no" / "parent"):
        chosen = cache_folder._private(place)
        assert chosen != place
        assert chosen.stat().st_mode & 0o777 == 0o700
        chosen.rmdir()


# Disks


@pytest.fixture(scope="module")
def warm(tmp_path_factory):
    """A command whose machine code is kept already."""
    arguments = ("run", "scara-helix", "--quiet", "--set", "timing.duration=0.1")
    assert command(*arguments, cwd=tmp_path_factory.mktemp("warm")).returncode == 0
    return arguments


@pytest.mark.slow
@pytest.mark.parametrize("kilobytes", slow_but([40], [4, 40, 100]))
def test_a_file_that_cannot_be_written_whole_is_told_in_one_line(warm, kilobytes, tmp_path):
    most = 1024 * kilobytes
    done = command(
        *warm, "--out", "out", cwd=tmp_path,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (most, most)),
    )  # fmt: skip
    refused(done, "cannot write the ", "File too large")
    left = sorted(path.name for path in (tmp_path / "out").glob("*"))
    assert not [name for name in left if name.startswith(".")]
    if "result.nc" in left:
        assert Result.load(tmp_path / "out").status == "completed"


def test_what_a_disk_takes_in_parts_is_written_whole_or_told():
    class Filling:
        """A disk that takes seven bytes at a time, and has room for some."""

        def __init__(self, room):
            self.room, self.taken = room, b""

        def write(self, data):
            if len(self.taken) >= self.room:
                raise OSError(28, "No space left on device")
            self.taken += bytes(data[:7])
            return min(7, len(data))

    enough, full = (hdf5_writer._FaultKeepingFile(Filling(room)) for room in (100, 21))
    content = bytes(range(50))
    assert enough.write(content) == full.write(content) == 50
    assert (enough._stream.taken, enough.failure) == (content, None)
    assert full.failure is not None


# Results


def external(file, name, folder):
    file.create_dataset(name, (1,), dtype="f8", external=[(str(folder / "secret"), 0, 8)])


def elsewhere(file, name, folder):
    file[name] = h5py.ExternalLink(str(folder / "secret"), "/time")


def soft(file, name, folder):
    file[name] = h5py.SoftLink("/q")


def virtual(file, name, folder):
    layout = h5py.VirtualLayout(shape=(3,), dtype="f8")
    layout[:] = h5py.VirtualSource(str(folder / "secret"), "time", shape=(3,))
    file.create_virtual_dataset(name, layout)


def group(file, name, folder):
    file.create_group(name)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (external, "must hold its arrays itself; 'time'"),
        (elsewhere, "must hold its arrays itself; 'time'"),
        (soft, "must hold its arrays itself; 'time'"),
        (virtual, "must hold its arrays itself; 'time'"),
        (group, "must hold its arrays itself; 'time'"),
    ],
)
def test_a_result_that_does_not_hold_its_numbers_is_refused(spoil, says, good, tmp_path, refused):
    (tmp_path / "secret").write_bytes(np.ones(3).tobytes())
    path = tmp_path / "result.nc"
    path.write_bytes(good)
    with h5py.File(path, "r+") as file:
        del file["time"]
        spoil(file, "time", tmp_path)
    refused(tmp_path, says)


@pytest.mark.slow
@needs("xarray")
def test_a_result_that_another_tool_has_compressed_is_read(good, tmp_path):
    import xarray as xr

    (tmp_path / "result.nc").write_bytes(good)
    with xr.open_dataset(tmp_path / "result.nc", engine="h5netcdf") as data:
        small = {name: {"zlib": True} for name in data.data_vars if data[name].dtype.kind == "f"}
        data.to_netcdf(tmp_path / "small.nc", engine="h5netcdf", encoding=small)
    ours, theirs = Result.load(tmp_path / "small.nc"), Result.load(tmp_path / "result.nc")
    assert np.array_equal(ours["q"], theirs["q"])


SETTINGS = {
    ".numba_config.yaml": b"cache_dir: planted\ndump_bytecode: 1\n",
    "matplotlibrc": b"text.usetex: True\nfont.size: 40\n",
    "cma_signals.in": b"{'maxiter': 1, 'verb_disp': 1}",
}
"""What libraries read in the working folder: code that a cache holds runs when it is loaded."""


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [("run", "task"), pytest.param(("tune", "task", "--method", "cma"), marks=pytest.mark.slow)],
)
def test_no_library_takes_settings_from_the_working_folder(tmp_path, words):
    folders = [tmp_path / name for name in ("plain", "strange")]
    for folder in folders:
        shutil.copytree(GOOD, folder)
    for name, content in SETTINGS.items():
        (folders[1] / name).write_bytes(content)
    budget = ("--budget", "8", "--jobs", "1") if words[0] == "tune" else ()
    done = [command(*words, *budget, "--out", "out", cwd=folder) for folder in folders]
    for ended in done:
        assert (ended.returncode, ended.stderr) == (0, "")
    assert "BINARY_OP" not in done[1].stdout
    assert not (folders[1] / "planted").exists()
    kept = "history.csv" if budget else "errors.png"
    plain, strange = ((folder / "out" / kept).read_bytes() for folder in folders)
    assert len(plain) == len(strange)
    assert budget == () or plain == strange


@pytest.mark.slow
def test_machine_code_that_no_disk_takes_is_used_without_being_kept(tmp_path):
    (tmp_path / "own.py").write_text(
        "import resource\nfrom ukctrl.core.compiled import compiled\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))\n"
        "@compiled\ndef double(x):\n    return 2.0 * x\nprint(double(4.0), end='')"
    )
    done = subprocess.run(
        [sys.executable, "own.py"], cwd=tmp_path, capture_output=True, text=True, timeout=120,
        env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache")},
    )  # fmt: skip
    assert (done.stdout, done.stderr) == ("8.0", "")


@pytest.mark.slow(only=["while True: pass-get to its end"])
@pytest.mark.parametrize(
    ("does", "told"), [("while True: pass", "get to its end"), ("import os; os.abort()", "crashes")]
)
def test_a_result_over_which_its_library_hangs_or_crashes_is_refused(
    tmp_path, monkeypatch, capsys, does, told
):
    """As HDF5 does over some damaged files; which ones depends on its version."""
    monkeypatch.setattr(untrusted_hdf5, "READ", does)
    monkeypatch.setattr(untrusted_hdf5, "READ_SECONDS", 1.0)
    simulate(Scenario.load("scara-helix", {"timing.duration": 0.02})).save(tmp_path)
    with pytest.raises(SystemExit, match="2"):
        main(["report", str(tmp_path)])
    (line,) = capsys.readouterr().err.splitlines()
    assert told in line
