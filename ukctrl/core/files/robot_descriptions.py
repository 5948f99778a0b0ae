"""Robots by the names of the package robot_descriptions, where they are on this machine.

A robot is called ``description:NAME``: ``description:ur5e`` is ``ur5e_description``, or
``ur5e_mj_description`` where that alone exists. The package downloads a robot when its module is
first imported; here nothing is downloaded, and what is absent is told how to get.
"""

from __future__ import annotations

import importlib
import os
import sys
from pathlib import Path
from unittest import mock

from ukctrl.core.errors import InputError, unknown_name

PREFIX = "description:"
ENDINGS = ("", "_description", "_mj_description")
"""What may be left out of a name, the first that exists."""
CACHE_FOLDER = "~/.cache/robot_descriptions"
"""Where the package puts robots unless ``ROBOT_DESCRIPTIONS_CACHE`` says otherwise."""


def find(reference: str) -> Path:
    """Return the model file that ``description:NAME`` stands for.

    Raises:
        InputError: The package is not installed, the robot not on this machine, or a macro file.
        UnknownName: The package has no robot of this name.
    """
    try:
        from robot_descriptions import DESCRIPTIONS, _cache
    except ImportError:
        raise InputError(
            f"'{reference}' is a robot of the package robot_descriptions, which is not installed "
            "or finds no git; pip install 'ukctrl[descriptions]'."
        ) from None
    name = reference.removeprefix(PREFIX)
    module = next((name + ending for ending in ENDINGS if name + ending in DESCRIPTIONS), None)
    if module is None:
        raise unknown_name("robot in robot_descriptions", name, DESCRIPTIONS)

    def on_this_machine(repository: str, commit: str | None = None) -> str:
        folder = Path(os.environ.get("ROBOT_DESCRIPTIONS_CACHE", CACHE_FOLDER)).expanduser()
        path = folder / _cache.REPOSITORIES[repository].cache_path
        if commit is not None:
            path = path.with_name(f"{path.name}-{commit}") / path.name
        if not path.is_dir():
            raise InputError(
                f"'{reference}' is not on this machine; this downloads it: "
                f"python -m robot_descriptions pull {module}"
            )
        return str(path)

    sys.modules.pop(f"robot_descriptions.{module}", None)  # where it lay may be another folder now
    with mock.patch.object(_cache, "clone_to_cache", on_this_machine):
        description = importlib.import_module(f"robot_descriptions.{module}")
    for kind in ("URDF_PATH", "MJCF_PATH"):
        if hasattr(description, kind):
            return Path(getattr(description, kind))
    macros = Path(getattr(description, "XACRO_PATH", ""))
    raise InputError(
        f"'{reference}' is a macro file. Write a robot.toml with model = '{macros}', package_path "
        f"= ['{Path(description.REPOSITORY_PATH).parent}'] and the xacro_arguments that it takes."
    )
