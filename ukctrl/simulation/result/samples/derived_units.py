"""Units that follow from other units, as text."""

from __future__ import annotations

import re
from collections.abc import Iterable


def per_second(unit: str) -> str:
    """Return the unit of a time derivative: `rad` gives `rad/s`, `m/s` `m/s^2`, `J s` `J`."""
    if unit.endswith(" s"):
        return unit.removesuffix(" s")
    match = re.fullmatch(r"(.+)/s(?:\^(\d+))?", unit)
    if match:
        return f"{match[1]}/s^{int(match[2] or 1) + 1}"
    return f"{unit or '1'}/s"


def common_unit(units: Iterable[str]) -> str:
    """Return the one unit that all share, or each of them once: `m`, or `m, rad`."""
    return ", ".join(dict.fromkeys(unit or "1" for unit in units)) or "1"


def power_conjugate(unit: str) -> str:
    """Return the unit that multiplies with this one to watts: `rad/s` to `N m` and back."""
    known = {"rad/s": "N m", "m/s": "N", "N m": "rad/s", "N": "m/s", "1/s": "J"}
    return known.get(unit, f"W/({unit})")


def reaction_unit(unit: str) -> str:
    """Return the unit of the multiplier of a row: `m` gives `N`, `rad` gives `N m`."""
    return {"m": "N", "rad": "N m", "": "J", "1": "J"}.get(unit, f"J/({unit})")
