"""Build what is published, and try it as a stranger has it: `make release-check`.

    python -m tests.project.release_check [FOLDER]

In this order: source distribution and wheel are built, the wheel from the unpacked source
distribution and once more from the checkout, which must hold the same; both are checked by `twine`
and `check-wheel-contents`; sizes and licences are looked at; the wheel is installed into an empty
environment with the dependencies of the core alone; and the README is followed there, from an empty
folder. FOLDER keeps what was built; absent, nothing is kept.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from tests.shared.documents import ROOT, blocks, commands, not_printed

MOST = {".tar.gz": 3e6, ".whl": 3e6}
"""Bytes of a source distribution and of a wheel."""
VENDORED = {
    "docs/assets/iframe-worker/": "docs/assets/iframe-worker/LICENSE",
    "docs/assets/katex/": "docs/assets/katex/LICENSE",
    "robots/a1/": "robots/a1/LICENSE",
    "ukctrl/reports/templates/three/": "ukctrl/reports/templates/three/LICENSE",
}
"""What others have made, by its folder in the checkout, and the licence that goes with it."""
FOREIGN = re.compile(
    rb"@license|@preserve|SPDX-License-Identifier|all rights reserved"
    rb"|\b(?:copyright|\(c\)|\xc2\xa9)[ :]+(?:\(c\) *)?(?:19|20)\d\d",
    re.IGNORECASE,
)
"""What a file says that others have written, or whose licence wants to be kept."""
OURS = (b"The ukctrl developers",)
IN_WHEEL = {"ukctrl/_catalog/": ""}
"""Where a wheel has what stands at the root of a checkout."""


class Failed(Exception):
    """A release that must not be made, and why."""


def contents(archive: Path) -> dict[str, bytes]:
    """Return what a wheel or source distribution holds, by its place in the checkout."""
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel:
            held = {name: wheel.read(name) for name in wheel.namelist()}
        return {_place(name): data for name, data in held.items() if ".dist-info/" not in name}
    with tarfile.open(archive) as source:
        files = [member for member in source.getmembers() if member.isfile()]
        return {file.name.partition("/")[2]: _bytes(source, file) for file in files}


def _bytes(source: tarfile.TarFile, file: tarfile.TarInfo) -> bytes:
    opened = source.extractfile(file)
    assert opened is not None
    return opened.read()


def _place(name: str) -> str:
    return next(
        (place + name[len(top) :] for top, place in IN_WHEEL.items() if name.startswith(top)), name
    )


def without_licence(held: Mapping[str, bytes], checkout: Path = ROOT) -> list[str]:
    """Return what an archive holds of others whose licence it lacks, or that nobody has listed."""
    missing = []
    for folder, licence in VENDORED.items():
        inside = [name for name in held if name.startswith(folder) and name != licence]
        if inside and held.get(licence) != (checkout / licence).read_bytes():
            missing.append(f"{inside[0]} without {licence}")
    for name, data in held.items():
        if name.startswith(tuple(VENDORED)) or name in ("LICENSE", "PKG-INFO"):
            continue
        said = [line for line in data.splitlines() if FOREIGN.search(line)]
        if any(not any(our in line for our in OURS) for line in said):
            missing.append(f"{name}, of others and not listed: {said[0][:80]!r}")
    return missing


def too_large(archive: Path) -> str | None:
    """Return what is wrong with an archive's size."""
    most = next(most for ending, most in MOST.items() if archive.name.endswith(ending))
    size = archive.stat().st_size
    wrong = f"{archive.name} has {size / 1e6:.2f} MB, and must have less than {most / 1e6:g}"
    return wrong if size >= most else None


def difference(one: Mapping[str, bytes], other: Mapping[str, bytes]) -> list[str]:
    """Return the names of what two archives do not hold alike."""
    return sorted(name for name in {*one, *other} if one.get(name) != other.get(name))


def run(*command: object, cwd: Path, **environment: str) -> str:
    """Run a command away from the checkout; return what it prints.

    Raises:
        Failed: It ends with another code than 0.
    """
    code, printed = ended(*command, cwd=cwd, **environment)
    if code:
        raise Failed(f"{' '.join(map(str, command))} ended with {code}:\n{printed}")
    return printed


def ended(*command: object, cwd: Path, **environment: str) -> tuple[int, str]:
    """Run a command away from the checkout; return its code, and what it prints."""
    ours = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "PYTHONDONTWRITEBYTECODE")
    kept = {name: value for name, value in os.environ.items() if name not in ours}
    done = subprocess.run(
        [str(word) for word in command],
        cwd=cwd,
        env={**kept, "NO_COLOR": "1", "COLUMNS": "120", "TERM": "dumb", **environment},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=1800,
    )
    return done.returncode, done.stdout


def built(folder: Path) -> tuple[Path, Path]:
    """Build the source distribution, and the wheel from it; return both."""
    build = [sys.executable, "-m", "build", "--no-isolation", "--outdir", folder]
    run(*build, ROOT, cwd=folder)
    (source,), (wheel,) = folder.glob("*.tar.gz"), folder.glob("*.whl")
    with tempfile.TemporaryDirectory() as other:
        run(*build[:-1], other, "--wheel", ROOT, cwd=folder)
        (direct,) = Path(other).glob("*.whl")
        differing = difference(contents(wheel), contents(direct))
    if differing:
        raise Failed(f"the wheel of the source distribution differs in {differing}")
    return source, wheel


def empty_environment(wheel: Path, folder: Path) -> Path:
    """Install the wheel, with the dependencies of the core alone; return the folder of commands."""
    venv.create(folder, with_pip=True)
    commands_folder = folder / ("Scripts" if os.name == "nt" else "bin")
    pip = [commands_folder / "python", "-m", "pip", "--disable-pip-version-check"]
    pins = ["--constraint", ROOT / "constraints.txt"]
    run(*pip, "install", "--quiet", *pins, wheel, cwd=folder)
    run(*pip, "check", cwd=folder)
    return commands_folder


def follow(page: Path, commands_folder: Path, folder: Path) -> Iterator[str]:
    """Do in an empty folder what a page shows; yield each thing that was done.

    Raises:
        Failed: A command ends otherwise than it states, or does not print what is shown.
    """
    for block in blocks(page):
        if block.title:
            (folder / block.title).write_text(block.body, encoding="utf-8")
            yield f"wrote {block.title}"
        elif block.language == "python":
            run(commands_folder / "python", "-c", block.body, cwd=folder, MPLBACKEND="Agg")
            yield f"ran the Python of {block.where()}"
        elif block.language == "console":
            for command in commands(block):
                if command.words[0] != "ukctrl":
                    continue  # make, and how to install
                line = " ".join(command.words)
                words = [commands_folder / "ukctrl", *command.words[1:]]
                code, printed = ended(*words, cwd=folder)
                missing = not_printed(command.shown, printed)
                if code != command.code or missing is not None:
                    why = f"code {code}" if code != command.code else f"'{missing}' is not there"
                    raise Failed(f"{block.where()}: {line}: {why}:\n{printed}")
                yield line


def check(folder: Path, say: Callable[[str], None]) -> None:
    """Build a release in a folder, and try it.

    Raises:
        Failed: It must not be made.
    """
    source, wheel = built(folder)
    for archive in (source, wheel):
        say(f"built {archive.name}, {archive.stat().st_size / 1e6:.2f} MB")
        if wrong := too_large(archive):
            raise Failed(wrong)
        if lacking := without_licence(contents(archive)):
            raise Failed(f"{archive.name} lacks licences:\n" + "\n".join(lacking))
    run(sys.executable, "-m", "twine", "check", "--strict", source, wheel, cwd=folder)
    say("twine check --strict: passed")
    run(sys.executable, "-m", "check_wheel_contents", wheel, cwd=ROOT)
    say("check-wheel-contents: passed")
    with tempfile.TemporaryDirectory() as place:
        environment, empty = Path(place) / "environment", Path(place) / "empty"
        empty.mkdir()
        commands_folder = empty_environment(wheel, environment)
        size = sum(path.stat().st_size for path in environment.rglob("*") if not path.is_dir())
        say(f"installed the wheel in an empty environment, {size / 1e6:.0f} MB")
        for done in follow(ROOT / "README.md", commands_folder, empty):
            say(done)


def main(arguments: list[str]) -> int:
    """Check, say what was done, and hand over what has passed."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place).resolve()
        try:
            check(folder, lambda line: print(f"release-check: {line}", flush=True))
        except Failed as why:
            print(f"release-check: {why}", file=sys.stderr)
            return 1
        for kept in arguments[:1]:
            Path(kept).mkdir(parents=True, exist_ok=True)
            for archive in (*folder.glob("*.tar.gz"), *folder.glob("*.whl")):
                shutil.copy(archive, kept)
    print("release-check: passed")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
