"""Errors from inside that a wrong argument has caused, as one line that names the argument."""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar, get_args, get_type_hints

from pydantic import ConfigDict, TypeAdapter, ValidationError

from ukctrl.core.arguments import argument_error
from ukctrl.core.errors import ArgumentError, UkctrlError, did_you_mean

P = ParamSpec("P")
T = TypeVar("T")


def explain_argument_errors(function: Callable[P, T]) -> Callable[P, T]:
    """Return a function that says of an error from inside which argument has caused it.

    A call that works is not looked at. Where one ends in an `AttributeError`, a `TypeError`, a
    `KeyError` or an `AssertionError`, arguments are compared with what the function says that it
    takes; where all fit, the error is not theirs, and stays what it is. Of a class, so does its
    constructor.
    """
    if isinstance(function, type):
        constructor = explain_argument_errors(function.__init__)  # type: ignore[misc]
        setattr(function, "__init__", constructor)  # noqa: B010
        return function

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return function(*args, **kwargs)
        except UkctrlError:
            raise
        except (AttributeError, TypeError, KeyError, AssertionError) as error:
            wrong = _wrong_argument(function, args, kwargs)
            if wrong is None:
                raise
            raise wrong from error

    return call


def _wrong_argument(
    function: Callable[..., object], args: tuple[object, ...], kwargs: dict[str, object]
) -> ArgumentError | None:
    signature = inspect.signature(function)
    name = function.__qualname__.removesuffix(".__init__")
    for key in kwargs:
        if key not in signature.parameters:
            near = did_you_mean(key, signature.parameters)
            known = ", ".join(n for n in signature.parameters if n not in ("self", "cls"))
            return ArgumentError(f"{name} has no argument '{key}'{near} Known: {known}.")
    try:
        arguments = signature.bind(*args, **kwargs).arguments
    except TypeError as error:
        return ArgumentError(f"{name}: {error}.")
    for key, value in arguments.items():
        annotation = signature.parameters[key].annotation
        if annotation is inspect.Parameter.empty:
            continue  # self
        if not _fits(inspect.unwrap(function), key, annotation, value):
            return argument_error(key, str(annotation).replace("AnyPath", "a path"), value)
    return None


def _fits(function: Any, name: str, annotation: Any, value: object) -> bool:
    """Return whether an argument is of its type; also where that cannot be told."""
    # one at a time: a name that another annotation has may be known to types alone
    alone = types.SimpleNamespace(__annotations__={name: annotation})
    try:
        kind = get_type_hints(alone, function.__globals__)[name]
    except NameError:
        return True
    try:
        config = ConfigDict(arbitrary_types_allowed=True, strict=True)
        TypeAdapter(kind, config=config).validate_python(value)
    except ValidationError:
        return False
    except Exception:  # pydantic has no check of it, such as of a class with such fields
        members = get_args(kind) or (kind,)
        plain = all(isinstance(member, type) for member in members)
        return not plain or isinstance(value, members)
    return True
