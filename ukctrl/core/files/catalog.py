"""Where robots, controllers and scenarios are found by name.

A name is looked up beside the file that refers to it, then in the catalogue that ships with
ukctrl. A reference that ends like a file, or holds a slash, is a path; a robot called ``zoo:NAME``
is one of `ukctrl.core.files.zoo`, ``description:NAME`` of `ukctrl.core.files.robot_descriptions`.
"""

from __future__ import annotations

import difflib
import functools
import os
from pathlib import Path
from typing import Literal

from ukctrl.core.arguments import argument_error
from ukctrl.core.errors import InputError, unknown_name
from ukctrl.core.files import AnyPath, robot_descriptions, zoo
from ukctrl.core.message_text import one_line

Kind = Literal["robots", "controllers", "scenarios"]

KINDS: tuple[Kind, ...] = ("robots", "controllers", "scenarios")
FILE_ENDINGS = (".toml", ".urdf", ".xacro", ".xml", ".mjcf", ".sdf")
"""A reference with one of these endings is a path, not a name."""
MACRO_ENDING = ".xacro"
"""Of these, that of files with expressions in Python."""

COLLECTIONS = {
    zoo.PREFIX: zoo.find,
    robot_descriptions.PREFIX: robot_descriptions.find,
}
"""By the prefix of their names: what finds a robot of an installed package."""
MOST_FILES = 1000
"""Of a folder with more files the first are looked at for what was meant."""
PLANT_KEYS = ("model", "part", "lagrangian", "functions", "linkage", "particles")
"""What a robot may be made of: one of these keys stands in every ``robot.toml``."""


@functools.cache
def root() -> Path:
    """Return the folder that holds the shipped robots, controllers and scenarios.

    In a wheel this is ``ukctrl/_catalog``; in a checkout, its root.
    """
    package = Path(__file__).resolve().parents[2]
    packaged = package / "_catalog"
    return packaged if packaged.is_dir() else package.parent


def find(kind: Kind, reference: AnyPath, referrer: AnyPath | None = None) -> Path:
    """Return the file that a name or path refers to.

    Args:
        kind: What is looked for.
        reference: A name such as ``"scara"``, ``"zoo:talos_reduced"`` or ``"description:ur5e"``,
            or a path, relative to the referring file.
        referrer: The file that refers to it, or its folder. Without one the working folder
            counts as the workspace.

    Raises:
        UnknownName: There is nothing of this name.
        InputError: The path does not exist.
    """
    if not isinstance(reference, str | os.PathLike):
        raise argument_error(f"the reference to a {kind[:-1]}", "its name or path", reference)
    text = str(reference)
    if kind == "robots" and is_collection_name(text):
        return collection_model(text)
    if isinstance(reference, Path) or text.endswith(FILE_ENDINGS) or "/" in text or "\\" in text:
        path = _folder(referrer) / Path(text).expanduser()
        for candidate in (path, path / "robot.toml"):
            if _is_file(candidate):
                return candidate
        raise InputError(
            f"no file '{one_line(str(path))}'; {_suggest_path(kind, path, _folder(referrer))}"
        )
    for folder in _folders(kind, referrer):
        path = folder / _relative(kind, text)
        if _is_file(path):
            return path
    error = unknown_name(kind.removesuffix("s"), one_line(text, 60), names(kind, referrer))
    raise type(error)(_suggest_name(kind, text, referrer) or str(error))


def is_collection_name(reference: object) -> bool:
    """Return whether a reference names a robot of an installed collection."""
    return isinstance(reference, str) and reference.startswith(tuple(COLLECTIONS))


def collection_model(reference: str) -> Path:
    """Return the model file that the name of a robot of a collection stands for.

    Raises:
        InputError: The collection is not installed, or the robot not on this machine.
        UnknownName: The collection has no robot of this name.
    """
    prefix, _, _ = reference.partition(":")
    return COLLECTIONS[f"{prefix}:"](reference)


def _suggest_name(kind: Kind, name: str, referrer: AnyPath | None) -> str:
    """Say what there is where a name is none: a file without its ending, or another kind's name."""
    noun, shown = kind.removesuffix("s"), one_line(name, 60)
    base = _folder(referrer)
    for folder in (base, *_folders(kind, referrer)[:-1]):
        for ending in FILE_ENDINGS if kind == "robots" else (".toml",):
            path = folder / f"{name}{ending}"
            if _is_file(path):
                return (
                    f"no {noun} named '{shown}', but there is a file of that name; a file is given "
                    f"by its path: '{_path_text(path, base)}'."
                )
        path = folder / name
        if kind == "robots" and name not in ("", ".", "..") and _is_folder(path):
            return f"no robot named '{shown}': {_in_folder(path, base)}"
    for candidate in KINDS:
        if candidate != kind and name in names(candidate, referrer):
            use = "; ukctrl check looks at it" if candidate == "robots" else ""
            return f"no {noun} named '{shown}'; that is the name of a {candidate[:-1]}{use}."
    return ""


def _suggest_path(kind: Kind, path: Path, base: Path) -> str:
    """Say what a path that is no file may have been meant to be."""
    if _is_folder(path):
        models = any(name.endswith(FILE_ENDINGS[1:]) for name in _files(path))
        if kind == "robots" or (kind == "scenarios" and models):
            return _in_folder(path, base)
        return "that is a folder; name the .toml file in it."
    if _is_folder(path.parent):
        near = difflib.get_close_matches(path.name, _files(path.parent), n=1, cutoff=0.6)
        if near:
            return f"did you mean '{_path_text(path.with_name(near[0]), base)}'?"
    return "a path is relative to the file that names it."


def _in_folder(path: Path, base: Path) -> str:
    """Say what a robot's folder lacks, and which model in it is a robot by itself."""
    models = [name for name in _files(path) if name.endswith(FILE_ENDINGS[1:])]
    lacks = f"the folder '{_path_text(path, base)}' has no robot.toml"
    if not models:
        return f"{lacks}, and no model that one could name."
    return (
        f'{lacks}. Write one with title and model = "{models[0]}", or name the model itself: '
        f"'{_path_text(path / models[0], base)}'."
    )


def _files(folder: Path) -> list[str]:
    """Return the names of the files in a folder, sorted."""
    try:
        return sorted(path.name for path in folder.iterdir() if path.is_file())[:MOST_FILES]
    except OSError:
        return []


def _path_text(path: Path, base: Path) -> str:
    """Return a path as a file in a folder would write it, so that it is known as a path."""
    try:
        return one_line(path.relative_to(base).as_posix())
    except ValueError:
        return one_line(str(path))


def names(kind: Kind, referrer: AnyPath | None = None) -> tuple[str, ...]:
    """Return the names that `find` knows, sorted."""
    stems: set[str] = set()
    for folder in _folders(kind, referrer):
        if not folder.is_dir():
            continue
        if kind == "robots":
            files = filter(_is_file, folder.glob("*/robot.toml"))
            stems.update(path.parent.name for path in files)
        elif folder.name == kind:
            stems.update(path.stem for path in filter(_is_file, folder.glob("*.toml")))
    return tuple(sorted(stems))


def file_name(name: str, otherwise: str = "run") -> str:
    """Return a name that stays inside the folder it is written to, whatever a file calls itself."""
    safe = "".join(c if c.isalnum() or c in "-_." else "-" for c in name)
    return safe.strip("-.")[:100] or otherwise


def _folder(referrer: AnyPath | None) -> Path:
    if referrer is None:
        return Path.cwd()
    near = Path(referrer)
    return near if near.is_dir() else near.parent


def _folders(kind: Kind, referrer: AnyPath | None) -> tuple[Path, ...]:
    """Return the folders in which names of a kind are looked up, first come first."""
    folder = _folder(referrer)
    nearby = (folder / kind,) if referrer is None else (folder.parent / kind, folder / kind, folder)
    return (*nearby, root() / kind)


def _relative(kind: Kind, name: str) -> Path:
    return Path(name) / "robot.toml" if kind == "robots" else Path(f"{name}.toml")


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # a name too long, or with a NUL, for the file system
        return False
