"""Find the kinds of a part: a file in the folder of its package, and nothing else, adds one."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Annotated, Any, Union

from pydantic import Field, WrapValidator


def package_modules(package: str, without: tuple[str, ...] = ()) -> Iterator[ModuleType]:
    """Yield the modules of a package, by name.

    Args:
        package: Its full name; it may be in the middle of its own import.
        without: Modules that are left out, as they stand above those that ask.
    """
    folder = importlib.import_module(package).__path__
    for name in sorted(module.name for module in pkgutil.iter_modules(folder)):
        if name not in without:
            yield importlib.import_module(f"{package}.{name}")


def classes_by_kind(package: str, base: type, without: tuple[str, ...] = ()) -> dict[str, type]:
    """Return the classes of a package that derive from a base and have a ``kind``, by that.

    Args:
        package: Full name of the package in whose modules they stand.
        base: What they derive from.
        without: Modules that are left out.

    Raises:
        TypeError: Two have the same kind.
    """
    by_kind: dict[str, type] = {}
    for module in package_modules(package, without):
        for value in vars(module).values():
            if not (isinstance(value, type) and issubclass(value, base)):
                continue
            name = kind_of(value)
            if name is None or not value.__module__.startswith(f"{package}."):
                continue
            if by_kind.setdefault(name, value) is not value:
                raise TypeError(
                    f"kind '{name}' must be one class; {by_kind[name]} and {value} are."
                )
    return dict(sorted(by_kind.items()))


def kind_of(cls: type) -> str | None:
    """Return what a file calls a class; None where it has no name of its own."""
    if "kind" not in inspect.get_annotations(cls):
        return None
    kind = getattr(cls, "kind", None)
    return kind if isinstance(kind, str) else None


def union_of_kinds(classes: dict[str, type], *notes: Any) -> Any:
    """Return the type of any of these classes in a file, told apart by their ``kind``."""
    return Annotated[(Union[tuple(classes.values())], Field(discriminator="kind"), *notes)]  # noqa: UP007


def accept_instances(
    base: type, convert: Callable[[Any], Any] = lambda value: value
) -> WrapValidator:
    """Return what takes an object made in Python as it is, even of a class not in the union.

    Args:
        base: Its class.
        convert: Makes one of something else that stands for it, and returns all others as they are.
    """

    def accept(value: Any, read: Callable[[Any], Any]) -> Any:
        converted = convert(value)
        return converted if isinstance(converted, base) else read(value)

    return WrapValidator(accept)
