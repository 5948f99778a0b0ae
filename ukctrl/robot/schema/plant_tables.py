"""Schema of the tables of a plant without a model file: formulas, functions, particles."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator

from ukctrl.core.errors import InputError, unknown_name
from ukctrl.core.expression.syntax import FUNCTIONS
from ukctrl.core.fields import Count, Formula, ListSize, Number, Positive, Text, spec
from ukctrl.core.message_text import literal_text
from ukctrl.robot.joint_layout import identifier

Unit = Literal["rad", "m"]


def _units(value: object) -> object:
    """Read a list of names as angles."""
    if isinstance(value, list | tuple):
        if len(set(map(str, value))) < len(value):
            raise InputError(f"must name every coordinate once; got {literal_text(value)}.")
        return dict.fromkeys(value, "rad")
    return value


def _texts(value: object) -> object:
    return value if isinstance(value, list | tuple) else (value,)


_TEXT = {"anyOf": [{"type": "string"}, {"type": "number"}]}
Coordinates = Annotated[
    dict[Text, Unit],
    BeforeValidator(_units),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "object", "additionalProperties": {"enum": ["rad", "m"]}},
                {"type": "array", "items": {"type": "string"}},
            ]
        }
    ),
]
"""Unit, ``"rad"`` or ``"m"``, by name; a list of names stands for angles."""
Formulas = Annotated[
    tuple[Formula, ...],
    BeforeValidator(_texts),
    WithJsonSchema({"anyOf": [*_TEXT["anyOf"], {"type": "array", "items": _TEXT}]}),
]
"""One formula, or a list of them that are added."""
Pair = Annotated[tuple[Number, Number], ListSize(2, 2)]
"""A lower and an upper limit."""


@spec
class PlantTable:
    """What every plant without a model file says of its coordinates."""

    coordinates: Coordinates
    """Unit of every coordinate, ``"rad"`` or ``"m"``; a list of names stands for angles."""
    neutral: dict[Text, Number] = Field(default_factory=dict)
    """Coordinates where nothing else is said [rad or m]; those not listed are 0."""
    limits: dict[Text, Pair] = Field(default_factory=dict)
    """Lower and upper limit of coordinates [rad or m]."""

    @model_validator(mode="after")
    def _good_names(self) -> PlantTable:
        if not self.coordinates:
            raise InputError("coordinates must name at least one coordinate; got none.")
        for name in self.coordinates:
            check_name("coordinates", name)
        tables: tuple[tuple[str, Mapping[str, Any]], ...] = (
            ("neutral", self.neutral),
            ("limits", self.limits),
        )
        for key, table in tables:
            for name in table:
                if name not in self.coordinates:
                    raise unknown_name(f"coordinate (in {key})", name, self.coordinates)
        for name, (lower, upper) in self.limits.items():
            if not lower < upper:
                raise InputError(
                    f"limits.{name} must be a lower and a higher number; got {lower:g} and "
                    f"{upper:g}."
                )
            if not lower <= self.neutral.get(name, 0.0) <= upper:
                raise InputError(
                    f"neutral.{name} must be within limits.{name}, {lower:g} to {upper:g}; "
                    f"got {self.neutral.get(name, 0.0):g}."
                )
        return self


RESERVED_MEANINGS = {
    "t": "is the time",
    "pi": "is a number",
    "deg": "is a degree",
    "v": "stands before velocities, as in v.x",
    "d": "stands before differentials, as in d.x",
}
"""Words of the language of formulas, which no quantity can be called."""


def check_name(key: str, name: str) -> None:
    """Refuse a name that formulas cannot use."""
    usable = identifier(name)
    if usable != name:
        meaning = RESERVED_MEANINGS.get(name) or ("is a function" if name in FUNCTIONS else "")
        reason = f"; in formulas '{name}' {meaning}" if meaning else ""
        raise InputError(
            f"{key}: '{name}' must be a name that formulas can use, such as '{usable}'{reason}."
        )


@spec
class LagrangianTable(PlantTable):
    """A plant written as a Lagrangian, ``L = T - V``."""

    kinetic: Formulas
    """Kinetic energy [J] in coordinates, ``v.<name>``, parameters and ``t``, at most quadratic in
    the velocities; of several texts, the sum."""
    potential: Formulas = ("0",)
    """Potential energy [J] in coordinates, parameters and ``t``; of several texts, the sum."""
    dissipation: Formulas = ()
    """Rayleigh's dissipation function [W], whose negative gradient in the velocities is a force."""
    parameters: dict[Text, Number] = Field(default_factory=dict)
    """Numbers that formulas use by name."""
    inputs: dict[Text, dict[Text, Formula]] | None = None
    """Generalised force per unit of input, by velocity, for every input: the columns of ``B``."""

    @model_validator(mode="after")
    def _good_parameters(self) -> LagrangianTable:
        for name in self.parameters:
            check_name("parameters", name)
            if name in self.coordinates:
                raise InputError(
                    f"parameters: '{name}' is the name of a coordinate already; rename one of them."
                )
        return self


@spec
class FunctionsTable(PlantTable):
    """A plant given as a Python class with methods ``M``, ``nle``, ``B`` and ``potential``."""

    file: Text
    """``file.py:Class``, the file relative to this one; runs with ``--trust`` only."""
    parameters: dict[Text, Any] = Field(default_factory=dict)
    """Values of the class's fields."""
    inputs: dict[Text, Text] | None = None
    """Unit of every input, by name, in the order of the columns of ``B``; absent: ``u1``, ..."""


@spec
class Functions(PlantTable):
    """A plant given as Python functions one by one: ``M(q) a + nle(q, v) = B(q) u``."""

    M: Callable[..., Any]
    """Mass matrix of ``q``, shape ``(n, n)``."""
    nle: Callable[..., Any]
    """Coriolis, centrifugal and gravity force of ``q`` and ``v``, shape ``(n,)``."""
    B: Callable[..., Any] | None = None
    """Actuation of ``q``, shape ``(n, nu)``; absent: one motor per coordinate."""
    potential: Callable[..., Any] | None = None
    """Potential energy of ``q`` [J]; absent: not known, and so is the energy."""
    inputs: dict[Text, Text] | None = None
    """Unit of every input, by name, in the order of the columns of ``B``; absent: ``u1``, ..."""


MAX_PARTICLES = 5000
"""More particles than this are a typing error; the mass matrix alone would fill the memory."""

MAX_COORDINATES = 10_000
"""The same of their coordinates."""


@spec
class Particles:
    """``[particles]`` of a ``robot.toml``: coordinates ``x1 y1 x2 y2 ...``, one motor on each.

    The frame of particle 3 is called ``p3``.
    """

    count: Count
    """How many."""
    mass: Positive | tuple[Positive, ...] = 1.0
    """Mass of each [kg]: one number for all, or one each."""
    dimension: Count = 2
    """Whether they move in the xy plane or in space."""

    @model_validator(mode="after")
    def _sensible(self) -> Particles:
        if self.count > MAX_PARTICLES:
            raise InputError(f"count must be at most {MAX_PARTICLES}; got {self.count}.")
        if self.dimension not in (2, 3):
            raise InputError(f"dimension must be 2 or 3; got {self.dimension}.")
        if self.count * self.dimension > MAX_COORDINATES:
            raise InputError(
                f"count must be at most {MAX_COORDINATES // self.dimension} in {self.dimension} "
                f"dimensions; got {self.count}."
            )
        if isinstance(self.mass, tuple) and len(self.mass) != self.count:
            raise InputError(
                f"mass must be one number, or one for each of the {self.count} particles; "
                f"got {len(self.mass)}."
            )
        return self
