"""A user's own Python classes, loaded only when the user says so."""

from __future__ import annotations

import hashlib
import importlib.util
import inspect
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import TypeVar

from ukctrl.core.errors import InputError, unknown_name
from ukctrl.core.files.file_stamps import record_read
from ukctrl.core.message_text import error_text

T = TypeVar("T")

PREFIX = "ukctrl_plugin_"
"""How the modules are called that come from users' files."""


def load_module(path: Path) -> ModuleType:
    """Run a Python file and return what it defines; it runs again only when it has changed.

    Raises:
        InputError: The file does not exist, or fails to run.
    """
    if not path.is_file():
        raise InputError(f"no file '{path}'.")
    record_read(path)
    # Two files of one name are two modules; one file is always the same.
    content = str(path).encode("utf-8", "surrogateescape") + b"\0" + path.read_bytes()
    digest = hashlib.sha256(content).hexdigest()[:12]
    module_name = f"{PREFIX}{path.stem}_{digest}"
    if module_name in sys.modules:
        return sys.modules[module_name]
    spec = importlib.util.spec_from_file_location(module_name, path)
    if spec is None or spec.loader is None:
        raise InputError(f"'{path}' must be a Python file ending in .py.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[module_name] = module  # dataclasses look their module up there
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[module_name]
        raise InputError(f"'{path}' failed to run: {error_text(error)}.") from error
    return module


def classes_in(module: ModuleType) -> dict[str, type]:
    """Return the classes that a module defines itself, by name."""
    return {
        key: value
        for key, value in vars(module).items()
        if isinstance(value, type) and value.__module__ == module.__name__
    }


def load_class(path: Path, name: str, base: type[T]) -> type[T]:
    """Run a Python file and return one of its classes.

    Args:
        path: The file.
        name: Name of the class in it.
        base: What the class must be derived from.

    Raises:
        InputError: The file does not exist, fails to run, or has no such class.
    """
    module = load_module(path)
    attribute = getattr(module, name, None)
    if attribute is None:
        raise unknown_name(f"class in '{path.name}'", name, classes_in(module))
    if not (isinstance(attribute, type) and issubclass(attribute, base)):
        raise InputError(f"'{name}' in '{path.name}' must be derived from {base.__name__}.")
    if inspect.isabstract(attribute):
        missing = ", ".join(sorted(getattr(attribute, "__abstractmethods__", ())))
        raise InputError(f"'{name}' in '{path.name}' must define {missing}.")
    return attribute


def loaded_files() -> list[tuple[str, str]]:
    """Return the users' files that have run in this process, each with its module's name."""
    return [
        (name, str(module.__file__))
        for name, module in sys.modules.items()
        if name.startswith(PREFIX)
    ]


def reload_files(files: Sequence[tuple[str, str]]) -> None:
    """Run the files that another process has run, whose objects this one is to get."""
    for name, path in files:
        if name not in sys.modules:
            load_module(Path(path))


def plugin_fault(error: BaseException) -> str | None:
    """Return what went wrong where in a user's file, or None where the fault is not theirs."""
    for frame, line in reversed(list(traceback.walk_tb(error.__traceback__))):
        if str(frame.f_globals.get("__name__", "")).startswith(PREFIX):
            file = Path(frame.f_code.co_filename).name
            return f"{file}, line {line}, in {frame.f_code.co_name}: {error_text(error)}."
    return None
