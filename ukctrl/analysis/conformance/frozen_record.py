"""What every part that can stand in a file must be: a frozen record of its settings."""

from __future__ import annotations

import copy
import dataclasses as dc
import pickle
from typing import Any

from ukctrl.analysis.conformance.clauses import Broken, require


def field_names(part: Any) -> set[str]:
    """Return the names of the settings that a part has."""
    return {field.name for field in dc.fields(part)} if dc.is_dataclass(part) else set()


def require_record(part: Any) -> None:
    """Require a frozen dataclass that equals its copy, its pickle and its replacement.

    Raises:
        Broken: It is not.
    """
    kind = type(part).__name__
    require(dc.is_dataclass(part), f"{kind} must be a dataclass; decorate it with @spec.")
    fields = dc.fields(part)
    if fields:
        name = fields[0].name
        try:
            object.__getattribute__(part, "__class__").__setattr__(part, name, getattr(part, name))
        except (dc.FrozenInstanceError, AttributeError, TypeError):
            pass
        else:
            raise Broken(f"{kind} must be frozen; its '{name}' can be set. Decorate it with @spec.")
    require(copy.deepcopy(part) == part, f"{kind} must equal its own copy.")
    require(dc.replace(part) == part, f"{kind} must equal dataclasses.replace of itself.")
    try:
        again = pickle.loads(pickle.dumps(part))
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise Broken(
            f"{kind} must pickle, so that runs can be spread over processes; {error}."
        ) from error
    require(again == part, f"{kind} must equal what its pickle gives back.")
