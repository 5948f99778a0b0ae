"""Robots of the ``[zoo]`` extra: the models that the package example-robot-data brings.

A robot of the zoo is called ``zoo:NAME``, after its model file: ``zoo:panda`` is ``panda.urdf``.
Two files of one name are told apart by their folder, ``zoo:anymal_c_simple/anymal``.
"""

from __future__ import annotations

import collections
import sys
from pathlib import Path

from ukctrl.core.errors import InputError, unknown_name

PREFIX = "zoo:"
MODEL_FOLDERS = ("cmeel.prefix/share/example-robot-data/robots", "share/example-robot-data/robots")
"""Where the package puts its models: under a folder of Python's path, or under its prefix."""
MISSING = "which is not installed; pip install 'ukctrl[zoo]' (420 MB)."
FOLDER_SUFFIXES = ("_description", "_data")


def find(reference: str) -> Path:
    """Return the model file that ``zoo:NAME`` stands for.

    Raises:
        InputError: The extra is not installed.
        UnknownName: The zoo has no robot of this name.
    """
    if root() is None:
        raise InputError(f"'{reference}' is a robot of the zoo, {MISSING}")
    models = _models()
    name = reference.removeprefix(PREFIX)
    if name not in models:
        raise unknown_name("robot in the zoo", name, models)
    return models[name]


def names() -> tuple[str, ...]:
    """Return the names of the robots of the zoo, sorted.

    Raises:
        InputError: The extra is not installed.
    """
    if root() is None:
        raise InputError(f"there are no robots of the zoo, {MISSING}")
    return tuple(sorted(_models()))


def root() -> Path | None:
    """Return the folder of the models, if the extra is installed."""
    folders = [Path(entry) / MODEL_FOLDERS[0] for entry in sys.path]
    folders += [Path(sys.prefix) / subfolder for subfolder in MODEL_FOLDERS]
    return next((folder for folder in folders if folder.is_dir()), None)


def _models() -> dict[str, Path]:
    folder = root()
    if folder is None:
        return {}
    files = sorted(folder.rglob("*.urdf"))
    count = collections.Counter(file.stem for file in files)
    models: dict[str, Path] = {}
    for file in files:
        top = file.relative_to(folder).parts[0]
        for suffix in FOLDER_SUFFIXES:
            top = top.removesuffix(suffix)
        models[file.stem if count[file.stem] == 1 else f"{top}/{file.stem}"] = file
    return models
