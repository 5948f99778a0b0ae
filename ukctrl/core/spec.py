"""What makes a class readable from a file."""

from __future__ import annotations

import functools
from typing import Any, TypeVar, dataclass_transform

from pydantic import ConfigDict, ValidationError
from pydantic.dataclasses import dataclass

from ukctrl.core.errors import InputError
from ukctrl.core.files.toml import explain

T = TypeVar("T")
STRICT = ConfigDict(extra="forbid", arbitrary_types_allowed=True)
"""Configuration of every dataclass that is read from a file."""


@dataclass_transform(kw_only_default=True, frozen_default=True)
def spec(cls: type[T]) -> type[T]:
    """Turn a class into a frozen dataclass that checks its fields, from a file and in Python.

    Its fields are keyword-only and of the types in `ukctrl.core.fields`. Made in Python with a
    wrong value it raises `InputError`, in one line; read from a file, the same complaint gets the
    file's name and the key path.
    """
    checked: Any = dataclass(frozen=True, kw_only=True, config=STRICT)(cls)
    check = checked.__init__

    @functools.wraps(check)
    def __init__(self: T, *values: object, **named: object) -> None:  # noqa: N807
        try:
            check(self, *values, **named)
        except ValidationError as error:
            raise InputError(f"{cls.__name__}: {explain(error, cls)}") from None

    checked.__init__ = __init__
    finished: type[T] = checked
    return finished
