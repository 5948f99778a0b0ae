"""What is published: the wheel holds the library and the catalogue, and both work from it.

`make release-check` goes on from here: what an index asks for, and the README in an empty place.
"""

from __future__ import annotations

import io
import os
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

from tests.project import release_check

ROOT = Path(__file__).parents[2]
LIBRARY = (
    "ukctrl", "ukctrl_film", "ukctrl_identification", "ukctrl_laws", "ukctrl_optimal",
    "ukctrl_papers",
)  # fmt: skip
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
def built(tmp_path_factory):
    """Build both with the build tools of this environment; the wheel from what is published."""
    pytest.importorskip("build")
    return release_check.built(tmp_path_factory.mktemp("built"))


@pytest.fixture(scope="module")
def wheel(built):
    """Return the wheel, which the checkout gives as well."""
    return built[1]


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


@pytest.mark.slow
def test_the_wheel_holds_every_file_of_the_library_and_the_catalogue(wheel):
    names = set(zipfile.ZipFile(wheel).namelist())
    library = [path for top in LIBRARY for path in (ROOT / top).rglob("*") if path.is_file()]
    wanted = {
        str(path.relative_to(ROOT)) for path in library if "__pycache__" not in path.parts
    } | {
        f"ukctrl/_catalog/{path.relative_to(ROOT)}"
        for kind in (*CATALOGUE, "workspace")
        for path in (ROOT / kind).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert not wanted - names
    assert {f"{top}/py.typed" for top in LIBRARY} <= names


@pytest.mark.slow
def test_the_wheel_holds_nothing_else(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    tops = {name.split("/")[0] for name in names}
    assert tops == {*LIBRARY, next(top for top in tops if top.endswith(".dist-info"))}
    assert not [name for name in names if name.endswith((".pyc", ".nbc", ".nbi"))]
    assert [name for name in names if name.endswith("licenses/LICENSE")]


def test_the_source_distribution_holds_what_the_wheel_is_built_from_and_no_pages(built):
    held = release_check.contents(built[0])
    tops = {name.split("/")[0] for name in held}
    assert {"LICENSE", "README.md", "pyproject.toml", *LIBRARY, *CATALOGUE} <= tops
    assert not tops & {"docs", "tests", "benchmarks", "out", "site"}


@pytest.mark.slow
def test_both_are_small_and_bring_the_licence_of_all_that_others_have_made(built):
    for archive in built:
        assert release_check.too_large(archive) is None
        assert release_check.without_licence(release_check.contents(archive)) == []


def test_every_licence_of_others_is_there_and_says_whose_it_is():
    for folder, licence in release_check.VENDORED.items():
        text = (ROOT / licence).read_text(encoding="utf-8")
        assert "Copyright" in text
        assert licence.startswith(folder)


def test_what_lacks_its_licence_or_is_listed_nowhere_is_named(tmp_path):
    three = "ukctrl/reports/templates/three/"
    held = {f"{three}three.min.js": b"", "ukctrl/taken.py": b"# Copyright (c) 2020 Somebody Else"}
    missing = release_check.without_licence(held)
    assert missing == [
        f"{three}three.min.js without {three}LICENSE",
        "ukctrl/taken.py, of others and not listed: b'# Copyright (c) 2020 Somebody Else'",
    ]
    held[f"{three}LICENSE"] = b"another text"
    assert release_check.without_licence(held) == missing
    held[f"{three}LICENSE"] = (ROOT / three / "LICENSE").read_bytes()
    assert release_check.without_licence(held) == missing[1:]


def test_an_archive_that_is_too_large_is_refused(tmp_path):
    large = tmp_path / "large.tar.gz"
    with tarfile.open(large, "w:gz") as archive:
        file = tarfile.TarInfo("large-0.1/film.mp4")
        noise = os.urandom(3_000_000)
        file.size = len(noise)
        archive.addfile(file, io.BytesIO(noise))
    assert "large.tar.gz has 3.0" in release_check.too_large(large)
    assert list(release_check.contents(large)) == ["film.mp4"]


@pytest.mark.slow
def test_a_page_that_shows_what_is_not_printed_is_not_followed(tmp_path):
    bin_folder, page = Path(sys.executable).parent, ROOT / "CHANGELOG.md"
    made = tmp_path / "page.md"
    shown = "$ ukctrl --version\nukctrl {}\n$ ukctrl run nothing  # exit {}\n"
    for version, code, word in [("9.9", 2, "'ukctrl 9.9' is not there"), ("...", 0, "code 2")]:
        made.write_text(f"```console\n{shown.format(version, code)}```\n", encoding="utf-8")
        with pytest.raises(release_check.Failed, match=word):
            list(release_check.follow(made, bin_folder, tmp_path))
    made.write_text(f"```console\n{shown.format('...', 2)}```\n", encoding="utf-8")
    assert len(list(release_check.follow(made, bin_folder, tmp_path))) == 2
    assert list(release_check.follow(page, bin_folder, tmp_path)) == []


@pytest.mark.slow
@pytest.mark.parametrize("kind", CATALOGUE)
def test_the_installed_command_lists_the_catalogue(installed, kind, tmp_path):
    where = run(installed / "python", "-c", "import ukctrl; print(ukctrl.__file__)", cwd=tmp_path)
    assert Path(where.strip()).is_relative_to(installed.parent)

    listed = run(installed / "ukctrl", "list", kind, cwd=tmp_path)

    assert catalogue_names(kind)
    missing = [name for name in catalogue_names(kind) if name not in listed]
    assert not missing
