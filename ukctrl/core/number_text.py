"""Numbers and units as people read them: `3.1×10⁻⁹ m`, `24 µm`, `rad/s²`, `N·m`."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping

_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_PREFIXES = {0: "", -3: "m", -6: "µ", -9: "n", -12: "p", -15: "f"}
_PREFIXABLE = ("m", "rad", "m/s", "rad/s", "J", "W", "N", "N m", "s")


def number(value: float, digits: int = 3) -> str:
    """Return a number with that many significant digits, and a dash for NaN."""
    if math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    if value == 0.0:
        return "0"
    mantissa, exponent = f"{value:.{digits - 1}e}".split("e")
    power = int(exponent)
    if -4 < power < 6:
        text = f"{value:.{max(digits - 1 - power, 0)}f}"
        if "." in text:
            text = text.rstrip("0").rstrip(".")
        return text.replace("-", "−")
    mantissa = mantissa.rstrip("0").rstrip(".") if "." in mantissa else mantissa
    return f"{mantissa.replace('-', '−')}×10{str(power).translate(_SUPERSCRIPTS)}"


def range_text(values: Iterable[float], formatter: Callable[[float], str] = number) -> str:
    """Return from where to where numbers go, `1 to 3`; of equal ones the one."""
    numbers = list(values)
    low, high = formatter(min(numbers)), formatter(max(numbers))
    return low if low == high else f"{low} to {high}"


def percent(share: float) -> str:
    """Return a share in words: `0.25` gives `25 %`."""
    value = 100.0 * share
    return f"{number(value, 2 if value < 1.0 else 3)} %"


def plus_minus(value: float, half: float) -> str:
    """Return a number with the half-width of its interval, both to the digits that mean something.

    >>> plus_minus(0.023412, 0.00118)
    '0.0234 ± 0.0012'
    """
    if not (math.isfinite(value) and math.isfinite(half)):
        return number(value)
    largest = max(abs(value), half)
    # digits down to the half width would be more than anybody reads
    if largest == 0.0 or half <= 1e-4 * largest:
        return f"{number(value, 4)} ± {number(half, 1)}"
    power = math.floor(math.log10(largest))
    scale, suffix = (0, "") if -4 < power < 6 else (power, str(power).translate(_SUPERSCRIPTS))
    decimals = max(0, 1 - math.floor(math.log10(half)) + scale)
    factor = 10.0**-scale
    text = f"{factor * value:.{decimals}f} ± {factor * half:.{decimals}f}".replace("-", "−")
    return f"({text})×10{suffix}" if suffix else text


def unit_text(unit: str) -> str:
    """Return a unit as it is printed: `rad/s^2` as `rad/s²`, `N m` as `N·m`, `1` as nothing."""
    if unit in ("1", ""):
        return ""
    if unit == "us":
        return "µs"
    raised = re.sub(r"\^(-?\d+)", lambda found: found[1].translate(_SUPERSCRIPTS), unit)
    return re.sub(r"(?<![,\s]) (?!\s)", "·", raised)


def quantity(value: float, unit: str, digits: int = 3) -> str:
    """Return a number with its unit: `0.02 (m, rad)` for mixed ones, a dash alone for NaN."""
    text, printed = number(value, digits), unit_text(unit)
    if math.isnan(value) or not printed:
        return text
    mixed = "," in printed and not printed.startswith("(")
    return f"{text} ({printed})" if mixed else f"{text} {printed}"


def si(value: float, unit: str, digits: int = 3) -> str:
    """Return a quantity with a prefix where that reads better: `24.1 µm`, `3.2 nm`."""
    if unit in _PREFIXABLE and 1e-12 <= abs(value) < 0.1:
        factor, printed = si_prefix(abs(value), unit)
        return f"{number(value * factor, digits)} {printed}"
    return quantity(value, unit, digits)


def si_prefix(largest: float, unit: str) -> tuple[float, str]:
    """Return the factor and the unit text that bring values of this size near one.

    `si_prefix(2e-5, "m")` is `(1e6, "µm")`. Units that take no prefix get a power of ten.
    """
    # numbers of this size read well as they are
    if not (math.isfinite(largest) and largest > 0.0) or 0.1 <= largest < 1e4:
        return 1.0, unit_text(unit)
    # a little above: 999.9999 would round to 1000 of the smaller prefix
    power = 3 * math.floor(math.log10(largest * 1.0000001) / 3)
    if unit in _PREFIXABLE and power in _PREFIXES:
        return 10.0**-power, f"{_PREFIXES[power]}{unit_text(unit)}"
    scale = f"10{str(power).translate(_SUPERSCRIPTS)}"
    return 10.0**-power, f"{scale} {unit_text(unit)}".strip()


def duration(seconds: float) -> str:
    """Return a wall time: `850 ms`, `12.4 s`, `3 min 20 s`."""
    if not math.isfinite(seconds):
        return "–"
    if seconds < 0.9995:  # from there on it is 1 s to three digits
        return f"{1e3 * seconds:.3g} ms"
    if seconds < 120.0:
        return f"{seconds:.3g} s"
    minutes, remainder = divmod(round(seconds), 60)
    return f"{minutes} min {remainder} s"


def sentence(text: str) -> str:
    """Return the text with a capital first letter and a full stop."""
    stripped = text.strip()
    if not stripped:
        return ""
    ended = stripped if stripped[-1] in ".!?" else f"{stripped}."
    return ended[0].upper() + ended[1:]


def start_shift_text(by: object) -> str:
    """Return how far a start was moved, in words; empty where it was not asked to be."""
    if not isinstance(by, Mapping) or not by:
        return ""
    far = [f"{float(size):.3g} {unit}" for unit, size in by.items() if size]
    if not far:
        return "satisfies the constraints as given"
    return f"moved to satisfy the constraints, by {', '.join(far)}"


MAX_GLANCE_LETTERS = 150
"""Letters of a text that is read at a glance."""


def first_sentence(text: str) -> tuple[str, str]:
    """Return the first sentence of a long text, and the rest; all of it where it is short."""
    # A colon behind a name only says of whom the sentence is.
    end = (
        re.search(r"(?:[.;]|(?<!'):) (?=[A-Z'(])", text) if len(text) > MAX_GLANCE_LETTERS else None
    )
    if end is None:
        return text, ""
    head, tail = text[: end.start()], text[end.end() :]
    return f"{head}{'.' if end[0][0] == '.' else end[0][0]}", tail
