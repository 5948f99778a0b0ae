"""Parts that other distributions bring, by the entry points that they declare.

The group is ``ukctrl.`` and the sort of part, as ``ukctrl list parts`` has it, such as
``ukctrl.controller``; the value is ``module:Class``.
"""

from __future__ import annotations

import functools
import sys
import warnings
from importlib.metadata import EntryPoint, EntryPoints, entry_points
from typing import Any, get_args

from pydantic.dataclasses import is_pydantic_dataclass

from ukctrl.core.errors import InputError, PartWarning
from ukctrl.core.kind_registry import kind_of
from ukctrl.core.message_text import error_text

OWN: dict[str, tuple[str, ...]] = {
    "controller": (
        "ukctrl_laws.predictive.model_predictive:ModelPredictive",
        "ukctrl_laws.io_linearisation:IoLinearisation",
        "ukctrl_laws.swing_up:SwingUp",
        "ukctrl_laws.switching:Switching",
        "ukctrl_laws.thrust_vectoring:ThrustVectoring",
    ),
    "reference": (
        "ukctrl_identification.exciting_path:Exciting",
        "ukctrl_optimal.optimised_path:Optimised",
    ),
}
"""Parts of this distribution that stand outside of ``ukctrl``, by sort."""
PACKAGES = {"ukctrl"}
"""Packages, at the top, whose parts a file names by kind."""

_all_entry_points = functools.cache(entry_points)


def with_entry_points(sort: str, base: type, classes: dict[str, type]) -> dict[str, type]:
    """Return the classes of a sort of part by ``kind``, and after them those of entry points.

    A `PartWarning` says which is left out: it cannot be imported, is no such part, or its kind is
    taken.
    """
    by_kind, group = dict(classes), f"ukctrl.{sort}"
    # ours by a tuple: an editable installation has new metadata only when it is made anew
    ours = EntryPoints(EntryPoint(value, value, group) for value in OWN.get(sort, ()))
    for entry in (*ours, *sorted(_all_entry_points().select(group=group))):
        try:
            cls = _load_class(entry)
            kind = _kind(cls, base)
            if by_kind.setdefault(kind, cls) is not cls:
                raise InputError(f"kind '{kind}' is that of {by_kind[kind].__qualname__}")
            PACKAGES.add(cls.__module__.partition(".")[0])
        # one broken distribution must not stop every command, also those that do not name its part
        except (Exception, SystemExit) as error:
            name = "ukctrl" if entry.dist is None else entry.dist.name
            label = f"entry point '{entry.name}' of group '{group}' in distribution '{name}'"
            reason = str(error) if isinstance(error, InputError) else error_text(error)
            line = " ".join(reason.split()).rstrip(".")
            warnings.warn(PartWarning(f"{label} is left out: {line}."), stacklevel=2)
    return by_kind


def part_distributions() -> dict[str, str]:
    """Return the version of each distribution that declares parts, by name."""
    groups = (group for group in _all_entry_points().groups if group.startswith("ukctrl."))
    dists = [entry.dist for group in groups for entry in _all_entry_points().select(group=group)]
    return {dist.name: dist.version for dist in dists if dist is not None}


def _load_class(entry: EntryPoint) -> Any:
    """Return what an entry point names, also where its module is what is importing ukctrl.

    That one runs anew: an import returns what stands in `sys.modules` at its end.
    """
    try:
        return entry.load()
    except (AttributeError, ImportError):
        top = entry.module.partition(".")[0]
        unfinished = {
            name: module
            for name, module in sys.modules.items()
            if name.partition(".")[0] == top and getattr(module.__spec__, "_initializing", False)
        }
        if not unfinished:
            raise
        for name in unfinished:
            del sys.modules[name]
        try:
            return entry.load()
        finally:
            for name, module in unfinished.items():
                sys.modules.setdefault(name, module)


def _kind(cls: Any, base: type) -> str:
    if isinstance(cls, type) and issubclass(cls, base) and is_pydantic_dataclass(cls):
        kind = kind_of(cls)
        if kind is not None and get_args(cls.__pydantic_fields__["kind"].annotation) == (kind,):
            return kind
    raise InputError(
        f"it must be a class that derives from {base.__name__}, is decorated with spec, and says "
        'kind: Literal["its_name"] = "its_name"'
    )
