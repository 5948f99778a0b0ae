"""Constants in text: ``"30*deg"``, ``"2*pi"``, ``"5*ms"``, with their units checked.

A text that names no unit is a plain number, taken in the unit of the field that it fills. A text
that names one carries its dimension through the arithmetic and must arrive at the field's.
"""

from __future__ import annotations

import functools
import math
import operator
import re
from collections.abc import Mapping
from typing import NamedTuple

from ukctrl.core.errors import ExpressionError, unknown_name
from ukctrl.core.expression.suggested_text import with_suggestion
from ukctrl.core.expression.syntax import (
    FUNCTIONS,
    CallNode,
    NameNode,
    Node,
    NumberNode,
    PowerNode,
    ProductNode,
    SumNode,
    formula_error,
    parse_syntax,
)
from ukctrl.core.message_text import printable_name, quote_text


class Dimension(NamedTuple):
    """Exponents of metre, kilogram, second and radian."""

    length: float = 0.0
    mass: float = 0.0
    time: float = 0.0
    angle: float = 0.0


class DimensionedValue(NamedTuple):
    """A value in SI units; ``named`` tells whether any unit was written in it."""

    value: float
    dimension: Dimension = Dimension()
    has_unit: bool = False


_PLAIN = Dimension()
_ANGLE = Dimension(angle=1)
_LENGTH = Dimension(length=1)
_MASS = Dimension(mass=1)
_TIME = Dimension(time=1)
_RATE = Dimension(time=-1)
_FORCE = Dimension(1, 1, -2)
_TORQUE = Dimension(2, 1, -2)
_POWER = Dimension(2, 1, -3)

UNITS: Mapping[str, tuple[float, Dimension]] = {
    "rad": (1.0, _ANGLE),
    "deg": (math.pi / 180.0, _ANGLE),
    "rev": (2.0 * math.pi, _ANGLE),
    "m": (1.0, _LENGTH),
    "km": (1e3, _LENGTH),
    "cm": (1e-2, _LENGTH),
    "mm": (1e-3, _LENGTH),
    "um": (1e-6, _LENGTH),
    "kg": (1.0, _MASS),
    "g": (1e-3, _MASS),
    "s": (1.0, _TIME),
    "ms": (1e-3, _TIME),
    "us": (1e-6, _TIME),
    "min": (60.0, _TIME),
    "h": (3600.0, _TIME),
    "Hz": (1.0, _RATE),
    "kHz": (1e3, _RATE),
    "rpm": (math.pi / 30.0, Dimension(time=-1, angle=1)),
    "N": (1.0, _FORCE),
    "mN": (1e-3, _FORCE),
    "kN": (1e3, _FORCE),
    "Nm": (1.0, _TORQUE),
    "mNm": (1e-3, _TORQUE),
    "J": (1.0, _TORQUE),
    "W": (1.0, _POWER),
}
"""Units that a constant may name: value in SI, and dimension."""

_QUANTITIES = {
    _PLAIN: "a plain number",
    _ANGLE: "an angle [rad]",
    _LENGTH: "a length [m]",
    _MASS: "a mass [kg]",
    _TIME: "a time [s]",
    _RATE: "a rate [1/s]",
    _FORCE: "a force [N]",
    _TORQUE: "a torque [N m]",
    Dimension(time=-1, angle=1): "an angular velocity [rad/s]",
    Dimension(time=-2, angle=1): "an angular acceleration [rad/s^2]",
    Dimension(1, 0, -1): "a velocity [m/s]",
    Dimension(1, 0, -2): "an acceleration [m/s^2]",
    Dimension(2, 1, 0): "a moment of inertia [kg m^2]",
    _POWER: "a power [W]",
}
_CONSTANTS = {"pi": math.pi}
_CIRCULAR = frozenset({"sin", "cos", "tan"})


def constant_value(source: str | float, unit: str = "") -> float:
    r"""Return the value of a constant in SI units.

    ``constant("20*deg", "rad")`` is ``0.349...``; ``constant("20*deg", "s")`` is an error;
    ``constant("2*pi", "s")`` and ``constant(3)`` name no unit and are taken as they are.
    The radian counts as a unit where it could be mistaken (``Hz`` against ``rad/s``) and as a
    plain number beside lengths and masses (``N m`` against ``N m/rad``).

    Args:
        source: A number, or a formula of numbers, ``pi``, units and functions.
        unit: The unit that the value is for, such as ``"rad/s"`` or ``"kg m^2"``, or several, such
            as ``"N m or N"``; ``""`` takes any and ``"1"`` takes a plain number only.

    Raises:
        ExpressionError: The text is not a constant of that unit, or its value is not finite.
    """
    if isinstance(source, str):
        try:
            value = _in_text(source, unit)
        except ExpressionError as error:
            raise with_suggestion(error, source, lambda text: _in_text(text, unit)) from None
    else:
        value = float(source)
    if not math.isfinite(value):
        got = source if isinstance(source, str) else repr(value)
        raise ExpressionError(f"must be finite; got {got}.")
    return value


def _in_text(text: str, unit: str) -> float:
    """Return the value of a text, with its unit checked."""
    measure = _evaluate(text)
    if unit and measure.has_unit:
        _check_dimension(text, measure.dimension, unit)
    return measure.value


def refuse_units(text: str) -> None:
    """Refuse a formula that no vocabulary takes, or hardly one: of units it may name degrees alone.

    Raises:
        ExpressionError: It is not in the language, or names a unit.
    """
    parse_syntax(text)
    for name in re.findall(r"[A-Za-z]\w*", text):
        if name in UNITS and name != "deg":
            raise formula_error(text, f"'{name}' is a unit.")


def _evaluate(text: str) -> DimensionedValue:
    try:
        measure = _value(text, parse_syntax(text))
    except (ArithmeticError, ValueError) as error:
        if isinstance(error, ExpressionError):
            raise
        raise formula_error(text, f"has no finite real value ({error}).") from None
    if not math.isfinite(measure.value):
        raise formula_error(text, "has no finite real value (it overflows).")
    return measure


def _value(text: str, node: Node) -> DimensionedValue:
    match node:
        case NumberNode(value):
            return DimensionedValue(float(value))
        case NameNode():
            return _named_value(text, node)
        case SumNode(terms):
            return _sum(text, [(sign, _value(text, term)) for sign, term in terms])
        case ProductNode(factors):
            return functools.reduce(
                _times, (_inverted(power, _value(text, factor)) for power, factor in factors)
            )
        case PowerNode(base, exponent):
            return _power(text, _value(text, base), _value(text, exponent))
        case CallNode(function, arguments):
            return _call(text, function, [_value(text, argument) for argument in arguments])


def _named_value(text: str, node: NameNode) -> DimensionedValue:
    name = str(node)
    if name in _CONSTANTS:
        return DimensionedValue(_CONSTANTS[name])
    if name in UNITS:
        return DimensionedValue(*UNITS[name], has_unit=True)
    candidates = [*_CONSTANTS, *UNITS]
    raise formula_error(
        text, str(unknown_name("constant or unit", printable_name(name), candidates, limit=40))
    )


def _sum(text: str, terms: list[tuple[int, DimensionedValue]]) -> DimensionedValue:
    dimension = functools.reduce(
        lambda so_far, term: _common(text, so_far, term[1].dimension), terms, terms[0][1].dimension
    )
    total = sum(sign * term.value for sign, term in terms)
    return DimensionedValue(total, dimension, any(term.has_unit for _, term in terms))


def _common(text: str, one: Dimension, second: Dimension) -> Dimension:
    """Return the dimension of a sum; a radian and a plain number may be added."""
    if one[:3] != second[:3] or (
        one.angle != second.angle and 0.0 not in (one.angle, second.angle)
    ):
        raise formula_error(text, f"adds {_quantity(one)} to {_quantity(second)}.")
    return one if one.angle else second


def _times(one: DimensionedValue, second: DimensionedValue) -> DimensionedValue:
    dimension = Dimension(*map(operator.add, one.dimension, second.dimension))
    return DimensionedValue(one.value * second.value, dimension, one.has_unit or second.has_unit)


def _inverted(power: int, factor: DimensionedValue) -> DimensionedValue:
    if power == 1:
        return factor
    return DimensionedValue(1.0 / factor.value, _scaled(factor.dimension, -1.0), factor.has_unit)


def _scaled(dimension: Dimension, by: float) -> Dimension:
    return Dimension(*(exponent * by + 0.0 for exponent in dimension))


def _power(text: str, base: DimensionedValue, exponent: DimensionedValue) -> DimensionedValue:
    if exponent.has_unit:
        raise formula_error(
            text, f"an exponent must be a plain number; got {_quantity(exponent.dimension)}."
        )
    value = math.pow(base.value, exponent.value)
    return DimensionedValue(value, _scaled(base.dimension, exponent.value), base.has_unit)


def _call(text: str, function: str, arguments: list[DimensionedValue]) -> DimensionedValue:
    value = FUNCTIONS[function](*(argument.value for argument in arguments))
    dimensions = [argument.dimension for argument in arguments]
    if function == "sqrt":
        return DimensionedValue(value, _scaled(dimensions[0], 0.5), arguments[0].has_unit)
    if function == "atan2":
        _common(text, *dimensions)
        return DimensionedValue(value)
    allowed = (_PLAIN, _ANGLE) if function in _CIRCULAR else (_PLAIN,)
    if dimensions[0] not in allowed:
        quantity = "an angle" if function in _CIRCULAR else "a plain number"
        raise formula_error(text, f"{function} takes {quantity}; got {_quantity(dimensions[0])}.")
    return DimensionedValue(value)


def _check_dimension(text: str, came: Dimension, unit: str) -> None:
    choices = unit.split(" or ")
    if any(_fits(came, dimension_of(choice)) for choice in choices):
        return
    quantities = " or ".join(_quantity(dimension_of(choice), choice) for choice in choices)
    raise ExpressionError(f"must be {quantities}; got {_quantity(came)} from {quote_text(text)}.")


def _fits(came: Dimension, target: Dimension) -> bool:
    loose = target.length != 0.0 or target.mass != 0.0
    return came[: 3 if loose else 4] == target[: 3 if loose else 4]


def _quantity(dimension: Dimension, unit: str = "") -> str:
    if dimension in _QUANTITIES:
        return _QUANTITIES[dimension]
    if unit:
        return f"a quantity in [{unit}]"
    names = [("m", dimension.length), ("kg", dimension.mass), ("s", dimension.time)]
    names.append(("rad", dimension.angle))
    factors = [name if power == 1 else f"{name}^{power:g}" for name, power in names if power]
    return f"a quantity in [{' '.join(factors)}]"


@functools.lru_cache(maxsize=256)
def dimension_of(unit: str) -> Dimension:
    """Return the dimension of a unit written as in the documentation: ``rad/s^2``, ``kg m^2``.

    Everything after a ``/`` up to the next one divides: ``N m s/rad`` and ``m/s/s`` both work.
    """
    total = _PLAIN
    for index, product in enumerate(unit.split("/")):
        for factor in product.split():
            name, _, exponent = factor.partition("^")
            if name == "1":
                continue
            if name not in UNITS:
                raise unknown_name("unit", name, UNITS, limit=40)
            power = float(exponent or 1.0) * (1.0 if index == 0 else -1.0)
            total = Dimension(*map(operator.add, total, _scaled(UNITS[name][1], power)))
    return total
