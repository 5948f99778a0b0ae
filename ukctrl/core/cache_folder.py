"""Cache folder: where machine code and derived formulas are stored between processes.

Stored files are valid for the contents of our sources alone, whose digest names the folder. They
are read wherever they are found, and written to the first place that can be written to.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import os
import stat
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1]
PACKAGES = (
    PACKAGE,
    *map(PACKAGE.with_name, ("ukctrl_identification", "ukctrl_laws", "ukctrl_optimal")),
)
"""Whose sources decide what a run computes."""
SHIPPED = PACKAGE / "_machine_code.zip"
"""What a wheel for one platform brings along: machine code and formulas of the catalogue."""
COMPILER = "core/jit/", "core/compiled.py", "core/expression/straight_line.py"
"""Files that decide what machine code is made of a function or of a formula; those of functions
name the second."""
MANIFEST = "manifest.json"
"""In it: the sources that its files are of, and what they were made with."""


def set_matplotlib_cache() -> None:
    """Give Matplotlib a folder for its list of fonts, where its own cannot be written to.

    It would make a temporary one each time, look through all fonts anew, and say so.
    """
    if "MPLCONFIGDIR" in os.environ:
        return
    home = _user_cache()
    if home is None or not _is_writable(home / "matplotlib"):
        folder = next(filter(_is_writable, _parents("")), None)
        if folder is not None:
            os.environ["MPLCONFIGDIR"] = str(folder / "matplotlib")


def folder_name() -> str:
    """Return the name of the folder: files of other sources lie in other folders."""
    return f"ukctrl-{source_hash(of_kernels=True)[:16]}"


@functools.cache
def readable_folders(chosen: str) -> tuple[Path, ...]:
    """Return where stored files may lie: in the folder that the user chose; where there is none,
    or it cannot be written to, beside the sources and in the user's cache as well; and where none
    of these can be written to, in the temporary folder.

    Args:
        chosen: ``NUMBA_CACHE_DIR``, or empty.
    """
    return tuple(parent / folder_name() for parent in _parents(chosen))


@functools.cache
def writable_folder(chosen: str) -> Path | None:
    """Return the first of `readable_folders` that can be written to, or None."""
    return next(
        (folder for folder in readable_folders(chosen) if _is_writable(folder.parent)), None
    )


def _parents(chosen: str) -> Iterator[Path]:
    if chosen and _is_writable(Path(chosen)):
        yield Path(chosen)
        return
    usual = [*([Path(chosen)] if chosen else []), PACKAGE / "__pycache__"]
    home = _user_cache()
    usual += [home / "ukctrl"] if home is not None else []
    yield from usual
    # only then: a temporary folder is emptied, and others can see it
    if not any(map(_is_writable, usual)):
        private = _private_temporary()
        if private is not None:
            yield private


def _user_cache() -> Path | None:
    """Return the user's folder for caches; None without HOME and entry in the password file."""
    with contextlib.suppress(RuntimeError):
        home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        return home if home.is_absolute() else None
    return None


def _is_writable(parent: Path) -> bool:
    try:
        parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=parent):
            return True
    except OSError:
        return False


def _private_temporary() -> Path | None:
    """Return a temporary folder of this user, or None where there is none."""
    parent = temporary_folder()
    user = os.getuid() if hasattr(os, "getuid") else "user"
    return None if parent is None else _private(parent / f"ukctrl-{user}")


def _private(folder: Path) -> Path | None:
    """Return the folder if nobody else can have put anything into it, else a new one, or None.

    What is read from it runs, and where all users may write its name could be taken.
    """
    with contextlib.suppress(OSError):
        folder.mkdir(mode=0o700, exist_ok=True)
        state = folder.lstat()
        # machine code is run: a folder that somebody else can write to is not trusted
        ours = not hasattr(os, "getuid") or state.st_uid == os.getuid()
        if stat.S_ISDIR(state.st_mode) and ours and not state.st_mode & 0o077:
            return folder
    with contextlib.suppress(OSError):
        return Path(tempfile.mkdtemp(prefix="ukctrl-"))
    return None


def temporary_folder() -> Path | None:
    """Return the system's temporary folder, or None where Python could offer only the working
    folder, in which nothing must be left.
    """
    with contextlib.suppress(OSError):
        folder = Path(tempfile.gettempdir())
        # the working folder may be anybody's
        return None if folder == Path.cwd() else folder
    return None


def source_hash(of_kernels: bool = False) -> str:
    """Return a digest of the contents of all our files, or of those that make machine code."""
    digest = hashlib.sha256()
    for name, source in _sources().items():
        if not of_kernels or makes_machine_code(name, source):
            digest.update(source)
    return digest.hexdigest()


def makes_machine_code(name: str, source: bytes) -> bool:
    """Return whether a file, named from ``ukctrl`` on, has compiled functions, or compiles."""
    # other sources change no machine code, and need no new folder
    return name.startswith(COMPILER) or b"core.compiled" in source


@functools.cache
def _sources() -> dict[str, bytes]:
    paths = [path for package in PACKAGES for path in sorted(package.rglob("*.py"))]
    names = (path.relative_to(PACKAGE.parent).as_posix().removeprefix("ukctrl/") for path in paths)
    return {name: path.read_bytes() for name, path in zip(names, paths, strict=True)}


@functools.cache
def _shipped() -> zipfile.ZipFile | None:
    """Return what a wheel brought along for these sources; a checkout has nothing."""
    with contextlib.suppress(OSError, zipfile.BadZipFile, KeyError, ValueError):
        archive = zipfile.ZipFile(SHIPPED)
        if json.loads(archive.read(MANIFEST))["folder"] == folder_name():
            return archive
    return None


def shipped_manifest() -> dict[str, str]:
    """Return what the shipped files were made with; nothing where there are none."""
    archive = _shipped()
    return dict(json.loads(archive.read(MANIFEST))) if archive is not None else {}


def shipped_file(name: str) -> bytes | None:
    """Return a stored file that the wheel brought along, or None."""
    archive = _shipped()
    if archive is None:
        return None
    try:
        return archive.read(name)
    except KeyError:
        return None


def write_atomically(path: Path, content: bytes) -> None:
    """Write a stored file so that no other process ever reads half of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, unfinished = tempfile.mkstemp(dir=path.parent)
    with open(handle, "wb") as file:
        file.write(content)
    # whoever reads sees the old file or the new one, never half
    os.replace(unfinished, path)
