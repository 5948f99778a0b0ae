"""Where a model's ``package://NAME`` and ``$(find NAME)`` lie, by the rules of ROS."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

MOST_FOLDERS = 5000
"""So many folders are looked through for a package."""
HEAD = 65536
"""Characters of a ``package.xml`` in which its name stands."""
NAME = re.compile(r"<name>\s*([^<\s]+)\s*</name>")


def package_folder(name: str, folders: Sequence[Path]) -> Path | None:
    """Return the folder of a package, or None.

    It is looked for in the folders given, then in those of ``ROS_PACKAGE_PATH`` (a folder whose
    ``package.xml`` has the name, else one that is called so, at any depth above other packages),
    then in ``share/NAME`` of those of ``AMENT_PREFIX_PATH``.

    Args:
        name: Its name.
        folders: Where it is looked for first.
    """
    if Path(name).name != name or name in ("", ".."):
        return None
    for folder in (*folders, *_of_environment("ROS_PACKAGE_PATH")):
        called = None
        for package in _packages(folder):
            if _name_of(package) == name:
                return package
            called = called or (package if package.name == name else None)
        plain = folder if folder.name == name else folder / name
        if called is not None or plain.is_dir():
            return called or plain
    shares = (prefix / "share" / name for prefix in _of_environment("AMENT_PREFIX_PATH"))
    return next((share for share in shares if share.is_dir()), None)


def _of_environment(variable: str) -> list[Path]:
    return [Path(entry) for entry in os.environ.get(variable, "").split(os.pathsep) if entry]


def _packages(root: Path) -> Iterator[Path]:
    """Yield the folders below that hold a ``package.xml``; what lies in one is no other."""
    for count, (folder, inner, files) in enumerate(os.walk(root)):
        if count >= MOST_FOLDERS:
            return
        if "package.xml" in files:
            inner.clear()
            yield Path(folder)
        inner[:] = sorted(name for name in inner if not name.startswith("."))


def _name_of(package: Path) -> str:
    try:
        with (package / "package.xml").open(encoding="utf-8", errors="replace") as file:
            match = NAME.search(file.read(HEAD))
    except OSError:
        return ""
    return match[1] if match else ""
