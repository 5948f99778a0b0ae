"""The checks behind the field types: numbers with a unit and a range, and lists."""

from __future__ import annotations

import abc
import dataclasses as dc
import math
import numbers
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeGuard

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

from ukctrl.core.arguments import by_name, labels_of
from ukctrl.core.errors import InputError
from ukctrl.core.expression.syntax import MAX_LENGTH
from ukctrl.core.expression.units import constant_value
from ukctrl.core.message_text import literal_text, quote_text


class FieldReader(abc.ABC):
    """Annotation of a field whose value `read` returns."""

    @abc.abstractmethod
    def read(self, value: object) -> Any:
        """Return the value of a field from what a file or a user says.

        Raises:
            InputError: It is not acceptable.
        """

    def __get_pydantic_core_schema__(
        self, source: object, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(self.read)


class WrittenNumber(float):
    """A number with its text, of a field of two units: the joint that it is for decides which."""

    def __new__(cls, number: float, text: str, unit: str) -> WrittenNumber:
        """Remember the text, and the units for what turns and for what slides."""
        made = super().__new__(cls, number)
        made._text, made._unit = text, unit
        return made

    _text: str
    _unit: str

    def __reduce__(self) -> tuple[Any, ...]:
        return WrittenNumber, (float(self), self._text, self._unit)

    def check(self, *, linear: bool) -> None:
        """Refuse it where its unit is that of the other kind of joint."""
        constant_value(self._text, self._unit.split(" or ")[linear])


@dc.dataclass(frozen=True)
class Quantity(FieldReader):
    """Annotation of a float: its unit and the range it must lie in.

    ``Annotated[float, Quantity("N m", minimum=0.0)]`` takes ``0.5`` and ``"500*mNm"``.
    """

    unit: str = ""
    """Unit that text is checked against, or several, ``"N m or N"``; ``""`` takes any unit, ``"1"``
    plain numbers only."""
    minimum: float = -math.inf
    """Least value allowed."""
    maximum: float = math.inf
    """Greatest value allowed."""
    open_minimum: bool = False
    """Whether ``minimum`` itself is refused."""

    def read(self, value: object) -> float:
        """Return the value as a finite float in SI units.

        Raises:
            InputError: It is not a number, not finite, of another unit or out of range.
        """
        if isinstance(value, str):
            number = constant_value(value, self.unit)
        elif is_number(value):
            number = finite(value)
        else:
            raise InputError(
                f'must be a number{self._in_unit()} or text such as "2*pi"; '
                f"got {literal_text(value)}."
            )
        if not self._allows(number):
            came = f"{number} from {quote_text(value)}" if isinstance(value, str) else f"{number}"
            raise InputError(f"must be {self._range()}; got {came}.")
        if isinstance(value, str) and " or " in self.unit:
            return WrittenNumber(number, value, self.unit)
        return number

    def _in_unit(self) -> str:
        return f" [{self.unit}]" if self.unit not in ("", "1") else ""

    def _allows(self, number: float) -> bool:
        above = number > self.minimum if self.open_minimum else number >= self.minimum
        return above and number <= self.maximum

    def _range(self) -> str:
        if self.maximum < math.inf:
            return f"between {self.minimum:g} and {self.maximum:g}"
        if self.minimum == 0.0:
            return "positive" if self.open_minimum else "zero or positive"
        return f"{'greater than' if self.open_minimum else 'at least'} {self.minimum:g}"

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        number: JsonSchemaValue = {"type": "number"}
        if math.isfinite(self.minimum):
            number["exclusiveMinimum" if self.open_minimum else "minimum"] = self.minimum
        if math.isfinite(self.maximum):
            number["maximum"] = self.maximum
        json: JsonSchemaValue = {"anyOf": [number, {"type": "string", "maxLength": MAX_LENGTH}]}
        if self.unit:
            json["description"] = f"[{self.unit}]"
        return json


def is_number(value: object) -> TypeGuard[numbers.Real]:
    """Tell whether the value is a real number; a truth value is not."""
    return not isinstance(value, bool) and isinstance(value, numbers.Real)


def finite(value: numbers.Real) -> float:
    """Return the value as a float.

    Raises:
        InputError: It is not finite.
    """
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise InputError(f"must be a finite number; got {literal_text(value)}.")
    return number


@dc.dataclass(frozen=True)
class PerElement(FieldReader):
    """Annotation of a number for all, a list with one for each, or a table by name."""

    quantity: Quantity
    """What each number must be."""

    def read(self, value: object) -> float | tuple[float, ...] | dict[str, float]:
        value = by_name(value)
        if isinstance(value, Mapping):
            return {str(name): self.quantity.read(item) for name, item in value.items()}
        if isinstance(value, list | tuple):
            return tuple(self.quantity.read(item) for item in value)
        return self.quantity.read(value)

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        number = self.quantity.__get_pydantic_json_schema__(schema, handler)
        table = {"type": "object", "additionalProperties": number}
        return {"anyOf": [*number["anyOf"], {"type": "array", "items": number}, table]}


NUMBER: JsonSchemaValue = {"anyOf": [{"type": "number"}, {"type": "string"}]}
"""JSON Schema of a number in a file."""
NumberByName = float | dict[str, float]
"""What `ByName` reads of numbers."""


@dc.dataclass(frozen=True, eq=False)
class ByName(FieldReader):
    """Annotation of one value for all, or a table of values by name.

    ``Annotated[NumberByName, ByName(Quantity("N m", minimum=0.0).read)]`` takes ``0.5`` and
    ``{shoulder = "500*mNm"}``.
    """

    read_one: Callable[[object], Any]
    """Returns a value as a file says it, or raises `InputError`."""
    schema: JsonSchemaValue = dc.field(default_factory=lambda: NUMBER)
    """JSON Schema of one value."""

    def read(self, value: object) -> Any:
        if not isinstance(value, Mapping):
            return self.read_one(value)
        table = {}
        for name, entry in value.items():
            try:
                table[str(name)] = self.read_one(entry)
            except InputError as error:
                raise InputError(f"{name}: {error}") from None
        return table

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        one = self.schema.get("anyOf", [self.schema])
        return {"anyOf": [*one, {"type": "object", "additionalProperties": self.schema}]}


@dc.dataclass(frozen=True)
class Instance:
    """Annotation of a class: an object made in Python, which no file can hold."""

    def __get_pydantic_core_schema__(
        self, source: type[object], handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        return core_schema.is_instance_schema(source)

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        return {"not": {}, "description": "an object made in Python"}


@dc.dataclass(frozen=True)
class ListSize:
    """Check before a tuple's own: a list (or array) of the right length has come."""

    minimum: int = 1
    """Least number of items."""
    maximum: int | None = None
    """Greatest number of items; ``None``: any."""

    def read(self, value: object) -> tuple[object, ...]:
        """Return the items.

        Raises:
            InputError: It is not a list, or it has too few or too many items.
        """
        labels = None if isinstance(value, Mapping) else labels_of(value)
        if labels is not None and labels != list("xyz"):
            raise InputError(
                f"must be a list; got numbers labelled {', '.join(labels)}, whose order is none. "
                "Give them in order (.tolist())."
            )
        # iterable as well, but nobody means their items, or not in an order
        if isinstance(value, str | bytes | Mapping | set | frozenset) or not isinstance(
            value, Iterable
        ):
            raise InputError(f"must be {self._wanted()}; got {literal_text(value)}.")
        items = tuple(value)
        if len(items) < self.minimum or (self.maximum is not None and len(items) > self.maximum):
            raise InputError(f"must be {self._wanted()}; got {len(items)}.")
        return items

    def _wanted(self) -> str:
        if self.minimum == self.maximum:
            return f"a list of {self.minimum} numbers"
        return f"a list of at least {self.minimum}"

    def __get_pydantic_core_schema__(
        self, source: object, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        return core_schema.no_info_before_validator_function(self.read, handler(source))
