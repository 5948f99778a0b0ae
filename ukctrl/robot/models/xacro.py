"""Macro files of ROS (``.xacro``), which the package xacro expands to URDF."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from unittest import mock

from ukctrl.core.errors import InputError, ModelError
from ukctrl.core.message_text import one_line
from ukctrl.robot.models.captured_stderr import capture_stderr
from ukctrl.robot.models.ros_packages import package_folder


def expand_xacro(
    path: Path, arguments: Mapping[str, bool | float | str], packages: Sequence[Path]
) -> str:
    """Return the URDF that a macro file stands for; its expressions, which are Python, run.

    Args:
        path: The file.
        arguments: Values of its ``<xacro:arg>``.
        packages: Folders in which ``$(find NAME)`` looks first.

    Raises:
        InputError: The package xacro is not installed.
        ModelError: xacro does not accept it.
    """
    try:
        import xacro
        from xacro import substitution_args
    except ImportError:
        raise InputError(
            f"{path}: the package xacro expands .xacro files, and is not installed; pip install "
            "'ukctrl[xacro]', or expand it where ROS is: xacro FILE > robot.urdf."
        ) from None

    def find(name: str) -> str:
        folder = package_folder(name, packages)
        if folder is None:
            raise ModelError(
                f"there is no package '{name}'; name the folder that holds it in package_path of "
                "robot.toml, or in ROS_PACKAGE_PATH"
            )
        return str(folder)

    mappings = {
        name: str(value).lower() if isinstance(value, bool) else str(value)
        for name, value in arguments.items()
    }
    try:
        # xacro finds packages by what ROS installs alone.
        with (
            capture_stderr(),
            mock.patch.object(substitution_args, "_eval_find", find),
            mock.patch.dict(substitution_args._eval_dict, {"find": find}),
        ):
            document = xacro.process_file(str(path), mappings=mappings)
        return str(document.toxml())
    except Exception as error:  # its expressions raise what they like
        message = one_line(str(error) or type(error).__name__, 300).rstrip(".")
        raise ModelError(f"{path}: xacro does not accept it: {message}.") from None
