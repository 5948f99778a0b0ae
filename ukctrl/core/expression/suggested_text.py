"""What a formula was meant to say, where it is not in the language: `20°` is `20*deg`.

A suggestion is made only after it has been tried: who refused the text must accept it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from types import MappingProxyType

from ukctrl.core.errors import ExpressionError
from ukctrl.core.expression.syntax import FUNCTIONS, MAX_LENGTH

_SIGNS = MappingProxyType({
    "°": "*deg", "º": "*deg", "·": "*", "×": "*", "⋅": "*", "−": "-", "–": "-", "÷": "/", "^": "**",
    "²": "**2", "³": "**3", "π": "pi", "µ": "u", "μ": "u", "√": "sqrt", "Ω": "Ohm",
})  # fmt: skip
"""What people write, and the language does not have."""
_WORDS = MappingProxyType({
    "degree": "deg", "degrees": "deg", "grad": "deg", "radian": "rad", "radians": "rad",
    "sec": "s", "secs": "s", "second": "s", "seconds": "s", "msec": "ms", "minute": "min",
    "minutes": "min", "hour": "h", "hours": "h", "hz": "Hz", "khz": "kHz", "meter": "m",
    "meters": "m", "metre": "m", "metres": "m", "newton": "N", "nm": "Nm", "PI": "pi", "Pi": "pi",
})  # fmt: skip
_MODULES = re.compile(r"\b(?:np|numpy|math|sympy|sp|torch|jnp)\.")
_NUMBER = r"(?<![\w.])(?:\d++\.?+\d*+|\.\d++)(?:[eE][-+]?\d++)?+"
_GLUED = re.compile(rf"({_NUMBER})\s*(?=[A-Za-z_(])")
_APART = re.compile(r"(?<=[\w)])\s+(?=[A-Za-z_(])")
_COMMA = re.compile(r"\s*([-+]?\d+),(\d+)\s*")
_NAME = re.compile(r"[A-Za-z_]\w*")


def suggested_text(text: str) -> str:
    """Return a text as its author may have meant it.

    >>> meant("20°"), meant("1 kHz"), meant("2t"), meant("np.cos(2π·t)"), meant("0,5")
    ('20*deg', '1*kHz', '2*t', 'cos(2*pi*t)', '0.5')
    """
    comma = _COMMA.fullmatch(text)
    if comma is not None:
        return f"{comma[1]}.{comma[2]}"
    line = _MODULES.sub("", " ".join(text.split()))
    for sign, word in _SIGNS.items():
        line = line.replace(f" {sign}" if word == "*deg" else sign, word).replace(sign, word)
    line = _NAME.sub(_word, " ".join(line.split()))
    return _APART.sub("*", _GLUED.sub(r"\1*", line))


def _word(match: re.Match[str]) -> str:
    name = match[0]
    return name.lower() if name.lower() in FUNCTIONS else _WORDS.get(name, name)


def with_suggestion(
    error: ExpressionError, text: str, accept: Callable[[str], object]
) -> ExpressionError:
    """Return an error that says besides what would be accepted, where that is known.

    Args:
        error: Why the text was refused.
        text: What came.
        accept: Raises an `ExpressionError` of what it refuses.
    """
    if len(text) > MAX_LENGTH:
        return error
    suggestion = suggested_text(text)
    for candidate in (suggestion, f"1/({suggestion})"):
        try:
            accept(candidate)
        except ExpressionError:
            continue
        if candidate != text:
            message = re.sub(r"; did you mean '[^']*'\?.*", ".", str(error))
            return ExpressionError(f"{message.rstrip('.')}; write '{candidate}'.")
    return error
