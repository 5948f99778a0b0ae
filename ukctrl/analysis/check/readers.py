"""How other readers take what a model file says, where they are known to differ.

Measured with Pinocchio 4.1.0, MuJoCo 4.0.1 and Drake 1.51.1 (a plant in discrete time).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple


class Reading(NamedTuple):
    """One thing that a file says, as each reader takes it."""

    what: str
    ukctrl: str
    pinocchio: str
    mujoco: str
    drake: str


URDF: Mapping[str, Reading] = {
    "": Reading(
        "the root link", "fixed; free with floating_base", "fixed", "fixed",
        "free, unless it is called world",
    ),
    "range_not_read": Reading(
        "the range of a continuous joint", "none", "none", "none", "kept",
    ),
    "half_a_range": Reading(
        "lower or upper alone", "the other is 0", "the other is 0", "unlimited",
        "the other is infinite",
    ),
    "no_effort_limit": Reading("no effort limit", "none", "refused", "none", "none"),
    "no_velocity_limit": Reading("no velocity limit", "none", "refused", "none", "none"),
    "mimic_joint": Reading(
        "a mimic joint", "held exactly, without a motor", "a free joint, unless mimic=True",
        "a soft equality", "a constraint",
    ),
    "planar_axis": Reading(
        "the axis of a planar joint", "its own xy plane", "its own xy plane", "normal to the plane",
        "normal to the plane",
    ),
    "joint_friction": Reading(
        "dry friction", "part of the plant", "kept; rnea leaves it out", "soft: a weight slides",
        "not read",
    ),
}  # fmt: skip
"""By the code of what the audit finds; the first is of every file."""


def readings(form: str, codes: Iterable[str]) -> Iterator[Reading]:
    """Yield how others read a file of a form in which the audit finds something."""
    found = {"", *codes}
    if form == "URDF":
        yield from (reading for code, reading in URDF.items() if code in found)
