"""Wherever a user is, in containers and on shared machines: it works, and leaves nothing behind."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NOBODY = 54321
"""A user without an entry in the password file."""
ASK = """
import sys
from ukctrl.core.subprocess_safety import begin_command
begin_command()
from ukctrl.core import cache_folder
from ukctrl.core.jit import machine_code_store as machine_code
machine_code.SECONDS_BEFORE_NOTICE = 0.0
import numpy as np
from ukctrl import uk
print(uk.affine_acceleration(np.diag([4.0]), [8.0], np.eye(1)).a_free[0])
print(cache_folder.writable_folder(str(machine_code.config.CACHE_DIR)))
"""
READ_ONLY = "mount --bind {0} {0} && mount -o remount,ro,bind {0} && "

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or os.getuid() != 0 or shutil.which("setpriv") is None,
    reason="only root of Linux, with setpriv, can become nobody",
)


@pytest.fixture(name="folder")
def _folder(tmp_path):
    """Return a working folder that anybody may write to."""
    temporary = Path(tempfile.gettempdir())
    for parent in (tmp_path, *tmp_path.parents):
        if temporary in parent.parents:
            parent.chmod(0o755)
    folder = tmp_path / "work"
    folder.mkdir()
    folder.chmod(0o777)
    return folder


@pytest.fixture(name="package", scope="module")
def _package(tmp_path_factory):
    """Return where a copy of ukctrl lies for which nothing is compiled, and nobody may write."""
    place = tmp_path_factory.mktemp("installed")
    ignored = shutil.ignore_patterns("_catalog", "ukctrl-*")
    shutil.copytree(ROOT / "ukctrl", place / "ukctrl", ignore=ignored)
    for kind in ("robots", "controllers", "scenarios"):
        (place / kind).symlink_to(ROOT / kind)
    return place


def as_nobody(folder: Path, code: list[str], read_only: tuple[str, ...], **variables: str):
    """Run Python as nobody, who may read everything and write what anybody may."""
    capability = ("--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search")
    user = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", *capability]
    bounds = ["--bounding-set=-all,+dac_read_search"]
    clean = ["env", "-i", "PATH=/usr/bin:/bin", *(f"{k}={v}" for k, v in variables.items())]
    command = [*user, *bounds, *clean, sys.executable, *code]
    if read_only:
        mounts = "".join(READ_ONLY.format(place) for place in read_only)
        mounts += f"mount --bind {folder} {folder} && mount -o remount,rw,bind {folder} && "
        command = ["unshare", "--mount", "sh", "-c", f'{mounts} exec "$@"', "sh", *command]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300)


PLACES = {
    "no-home": ((), {}),
    "home-is-the-root": ((), {"HOME": "/"}),
    "no-such-cache": ((), {"HOME": "/", "NUMBA_CACHE_DIR": "/nowhere"}),
    "nothing-but-the-working-folder": (("/tmp", "/var/tmp"), {"HOME": "/"}),
}


@pytest.mark.slow
@pytest.mark.parametrize("place", [*PLACES])
def test_nobody_computes_in_any_place_and_leaves_nothing_in_the_working_folder(
    place, folder, package
):
    read_only, variables = PLACES[place]
    variables = {**variables, "PYTHONPATH": str(package)}
    done = as_nobody(folder, ["-c", ASK], read_only, **variables)
    assert done.returncode == 0, done.stderr
    answer, stored = done.stdout.split()
    assert answer == "2.0"
    assert not os.listdir(folder)
    if read_only:
        assert stored == "None"
        assert "set NUMBA_CACHE_DIR to a folder that can be written to" in done.stderr
    else:
        state = Path(stored).parent.stat()
        shutil.rmtree(Path(stored).parent)
        assert state.st_uid == NOBODY
        assert not state.st_mode & 0o077
        assert done.stderr == "ukctrl: compiling, once on this machine ...\n"


@pytest.mark.slow
def test_nobody_runs_a_scenario_and_gets_its_page(folder):
    run = ["-m", "ukctrl.cli", "run", "two-mass-spring", "--set", "timing.duration=0.2"]
    done = as_nobody(folder, [*run, "--out", "out"], (), HOME="/")
    assert done.returncode == 0, done.stderr
    assert (folder / "out" / "report.html").stat().st_size > 1e5
    assert os.listdir(folder) == ["out"]
