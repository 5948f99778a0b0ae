"""What a user installs: the wheel holds the library and the catalogue, and both work from it."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CATALOGUE = {"robots": "*/robot.toml", "controllers": "*.toml", "scenarios": "*.toml"}


def run(*command: object, cwd: Path) -> str:
    """Run a command away from the checkout and return what it prints."""
    environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PYTHONHOME")}
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env=environment | {"COLUMNS": "200", "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, f"{command} failed:\n{done.stdout}\n{done.stderr}"
    return done.stdout


def catalogue_names(kind: str) -> list[str]:
    """Return the names that the checkout's catalogue holds of one kind."""
    found = sorted((ROOT / kind).glob(CATALOGUE[kind]))
    return [path.parent.name if path.name == "robot.toml" else path.stem for path in found]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """Build the wheel with the build tools of this environment."""
    pytest.importorskip("build")
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation"]
    run(*build, "--outdir", folder, ROOT, cwd=folder)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    """Install the wheel into an environment of its own that borrows only the dependencies.

    Our site-packages come second on its path, so what is found of ukctrl is the wheel's.
    """
    folder = tmp_path_factory.mktemp("venv")
    venv.create(folder, with_pip=False)
    bin_folder = folder / ("Scripts" if os.name == "nt" else "bin")
    python = bin_folder / "python"
    pip = [sys.executable, "-m", "pip", "--python", python, "--disable-pip-version-check"]
    run(*pip, "install", "--quiet", "--no-deps", "--no-index", wheel, cwd=folder)
    inside = run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=folder)
    borrowed = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
    lines = [f"import site; site.addsitedir({path!r})" for path in sorted(borrowed)]
    (Path(inside.strip()) / "borrowed.pth").write_text("\n".join(lines), encoding="utf-8")
    return bin_folder


def test_the_wheel_holds_every_file_of_the_library_and_the_catalogue(wheel):
    names = set(zipfile.ZipFile(wheel).namelist())
    library = [path for path in (ROOT / "ukctrl").rglob("*") if path.is_file()]
    wanted = {
        str(path.relative_to(ROOT)) for path in library if "__pycache__" not in path.parts
    } | {
        f"ukctrl/_catalog/{path.relative_to(ROOT)}"
        for kind in (*CATALOGUE, "workspace")
        for path in (ROOT / kind).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert not wanted - names
    assert "ukctrl/py.typed" in names


def test_the_wheel_holds_nothing_else(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    tops = {name.split("/")[0] for name in names}
    assert tops == {"ukctrl", next(top for top in tops if top.endswith(".dist-info"))}
    assert not [name for name in names if name.endswith((".pyc", ".nbc", ".nbi"))]
    assert [name for name in names if name.endswith("licenses/LICENSE")]


@pytest.mark.parametrize("kind", CATALOGUE)
def test_the_installed_command_lists_the_catalogue(installed, kind, tmp_path):
    where = run(installed / "python", "-c", "import ukctrl; print(ukctrl.__file__)", cwd=tmp_path)
    assert Path(where.strip()).is_relative_to(installed.parent)

    listed = run(installed / "ukctrl", "list", kind, cwd=tmp_path)

    assert catalogue_names(kind)
    missing = [name for name in catalogue_names(kind) if name not in listed]
    assert not missing
