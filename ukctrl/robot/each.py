"""Settings that are one value for all joints, or a table of values by joint."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pydantic import BeforeValidator

from ukctrl.errors import InputError

NUMBER = {"anyOf": [{"type": "number"}, {"type": "string"}]}
"""JSON Schema of a number in a file."""
EACH = {"anyOf": [*NUMBER["anyOf"], {"type": "object", "additionalProperties": NUMBER}]}
"""JSON Schema of a number for all joints, or of a table by joint."""


def all_or_each(read: Callable[[object], Any]) -> BeforeValidator:
    """Validate one value for all joints, or a table of values by joint."""

    def validate(value: object) -> Any:
        if not isinstance(value, Mapping):
            return read(value)
        table = {}
        for key, entry in value.items():
            try:
                table[str(key)] = read(entry)
            except InputError as error:
                raise InputError(f"{key}: {error}") from None
        return table

    return BeforeValidator(validate)
