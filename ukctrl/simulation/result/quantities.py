"""Recorded quantities with their axes, meaning and units, and the names along axes.

Plain NumPy and nothing else, so that a study can read thousands of runs without paying for xarray.
"""

from __future__ import annotations

import dataclasses as dc
import re
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ukctrl.core.errors import ShapeError

AXES = ("x", "y", "z")


class AxisLabels(NamedTuple):
    """One text for each entry along an axis of a result."""

    name: str
    """Of the variable in a file; that of the axis where these are the entries' names."""
    axis: str
    attribute: str
    """Of `Labels`."""
    meaning: str
    always: bool = True
    """Whether it stands in the file of a run that has no such axis as well."""


AXIS_TEXTS = (
    AxisLabels("coordinate", "coordinate", "coordinates", "name of the coordinate"),
    AxisLabels("coordinate_units", "coordinate", "coordinate_units", "unit of the coordinate"),
    AxisLabels("dof", "dof", "dofs", "name of the degree of freedom"),
    AxisLabels("dof_units", "dof", "dof_units", "unit of the velocity"),
    AxisLabels("actuator", "actuator", "actuators", "name of the actuator"),
    AxisLabels("actuator_units", "actuator", "actuator_units", "unit of the input"),
    AxisLabels("row", "row", "rows", "name of the servo row"),
    AxisLabels("row_units", "row", "row_units", "unit of the row at position level"),
    AxisLabels("row_block", "row", "row_blocks", "servo block of the row"),
    AxisLabels("passive_row_block", "passive_row", "passive_row_blocks", "its constraint"),
    AxisLabels("passive_row", "passive_row", "passive_rows", "name of the passive row"),
    AxisLabels(
        "passive_row_units",
        "passive_row",
        "passive_row_units",
        "unit of the passive row at position level",
    ),
    AxisLabels("keep_row", "keep_row", "keep_rows", "name of what is kept", False),
    AxisLabels("keep_row_units", "keep_row", "keep_row_units", "its unit", False),
    AxisLabels("keep_row_block", "keep_row", "keep_row_blocks", "the block it is of", False),
    AxisLabels(
        "keep_row_missed_units",
        "keep_row",
        "keep_row_missed_units",
        "unit of its derivative that inputs change",
        False,
    ),
    AxisLabels("frame", "frame", "frames", "name of the frame"),
    AxisLabels("axis", "axis", "axes", "axis of the world frame"),
)
"""Every text along an axis, in the order of the file."""


@dc.dataclass(frozen=True, kw_only=True)
class Labels:
    """The names and units along every axis of a result."""

    coordinates: tuple[str, ...] = ()
    """Names of the entries of `q`, length nq."""
    coordinate_units: tuple[str, ...] = ()
    """Unit of each coordinate, such as `rad`, `m` or `1`."""
    dofs: tuple[str, ...] = ()
    """Names of the entries of `v`, length nv."""
    dof_units: tuple[str, ...] = ()
    """Unit of each velocity, `rad/s` or `m/s`."""
    actuators: tuple[str, ...] = ()
    """Names of the entries of `u`, length nu."""
    actuator_units: tuple[str, ...] = ()
    """Unit of each input, `N m` or `N`."""
    effort_limit: tuple[float, ...] = ()
    """Largest magnitude of each input, in its unit; `inf` (the default) where there is none."""
    rows: tuple[str, ...] = ()
    """Names of the servo rows, length m."""
    row_units: tuple[str, ...] = ()
    """Unit of each row at position level: a row whose `beta` is in m/s has the unit `m`,
    also when it is nonholonomic and has no `phi`."""
    row_blocks: tuple[str, ...] = ()
    """Name of the servo block that each row belongs to."""
    passive_rows: tuple[str, ...] = ()
    """Names of the passive rows."""
    passive_row_units: tuple[str, ...] = ()
    """Unit of each passive row at position level."""
    passive_row_blocks: tuple[str, ...] = ()
    """Name of the passive constraint that each row belongs to; absent: by the row's name."""
    keep_rows: tuple[str, ...] = ()
    """Names of the quantities that the law keeps at or above zero."""
    keep_row_units: tuple[str, ...] = ()
    """Unit of each of them."""
    keep_row_blocks: tuple[str, ...] = ()
    """Name of the block that each belongs to."""
    keep_row_missed_units: tuple[str, ...] = ()
    """Unit of the derivative of each that inputs change."""
    keep_row_margins: tuple[float, ...] = ()
    """How far from zero each is kept, in its unit; absent: zero."""
    frames: tuple[str, ...] = ()
    """Names of the frames whose positions were recorded."""

    def __post_init__(self) -> None:
        limit = tuple(float(value) for value in self.effort_limit)
        object.__setattr__(self, "effort_limit", limit or (np.inf,) * len(self.actuators))
        margins = tuple(float(value) for value in self.keep_row_margins)
        object.__setattr__(self, "keep_row_margins", margins or (0.0,) * len(self.keep_rows))
        blocks = tuple(self.passive_row_blocks) or tuple(
            name.rpartition(".")[0] or name for name in self.passive_rows
        )
        object.__setattr__(self, "passive_row_blocks", blocks)
        entries = self.names
        names = {text.axis: text.attribute for text in AXIS_TEXTS if text.name == text.axis}
        along = [(text.attribute, text.axis) for text in AXIS_TEXTS if text.axis != "axis"]
        for attribute, axis in (*along, ("effort_limit", "actuator")):
            values = tuple(getattr(self, attribute))
            object.__setattr__(self, attribute, values)
            if len(values) != len(entries[axis]):
                raise ShapeError(
                    f"labels: {attribute} must have one entry for each of the "
                    f"{len(entries[axis])} {names[axis]}; got {len(values)}."
                )

    @property
    def axes(self) -> tuple[str, ...]:
        """Names of the world's axes."""
        return AXES

    @property
    def names(self) -> dict[str, tuple[str, ...]]:
        """Names along every axis but time."""
        named = (text for text in AXIS_TEXTS if text.name == text.axis)
        return {text.axis: getattr(self, text.attribute) for text in named}

    @property
    def blocks(self) -> tuple[str, ...]:
        """The servo blocks, in order of their first row."""
        return tuple(dict.fromkeys(self.row_blocks))

    @property
    def keep_blocks(self) -> tuple[str, ...]:
        """The blocks of what is kept, in their order."""
        return tuple(dict.fromkeys(self.keep_row_blocks))

    def kept_rows(self, block: str | None) -> NDArray[np.intp]:
        """Return the indices of the quantities of one block to keep, or of all."""
        return np.flatnonzero([block in (None, name) for name in self.keep_row_blocks])

    def block_rows(self, block: str | None) -> NDArray[np.intp]:
        """Return the indices of the rows of one servo block, or of all."""
        return np.flatnonzero([block in (None, name) for name in self.row_blocks])


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
    conjugates = {"rad/s": "N m", "m/s": "N", "N m": "rad/s", "N": "m/s", "1/s": "J"}
    return conjugates.get(unit, f"W/({unit})")


def reaction_unit(unit: str) -> str:
    """Return the unit of the multiplier of a row: `m` and `m/s` give `N`, `rad` gives `N m`."""
    # of a row between velocities, times which it is a power
    if "/s" in unit:
        return power_conjugate(unit)
    return {"m": "N", "rad": "N m", "": "J", "1": "J"}.get(unit, f"J/({unit})")


class RecordedQuantity(NamedTuple):
    """One recorded quantity: its axes after time, its meaning and its units."""

    dims: tuple[str, ...]
    long_name: str
    units: Callable[[Labels], tuple[str, ...]]
    """Unit of each entry along the first axis after time; one alone where all share it."""
    always: bool = True
    """Present in every result; the others only when the run recorded them."""


def _along(axis: str, long_name: str, unit: Callable[[str], str] = str) -> RecordedQuantity:
    """Return a quantity whose entries have units that follow from those of its axis."""
    return RecordedQuantity(
        (axis,), long_name, lambda x: tuple(map(unit, getattr(x, f"{axis}_units")))
    )


def _one(unit: str) -> Callable[[Labels], tuple[str, ...]]:
    return lambda labels: (unit,)


def _row_acceleration(labels: Labels) -> tuple[str, ...]:
    return (common_unit(per_second(per_second(unit)) for unit in labels.row_units),)


def _grip(labels: Labels) -> tuple[str, ...]:
    rows, inputs = _row_acceleration(labels)[0], common_unit(labels.actuator_units)
    return (f"({rows})/({inputs})",)


_ALWAYS = {
    "q": _along("coordinate", "configuration"),
    "v": _along("dof", "velocity"),
    "a": _along("dof", "acceleration", per_second),
    "u": _along("actuator", "input"),
    "phi": _along("row", "servo constraint error at position level"),
    "beta": _along("row", "servo constraint error at velocity level, A v - c", per_second),
    "passive_phi": _along("passive_row", "passive constraint error at position level"),
    "passive_beta": _along("passive_row", "passive constraint error at velocity level", per_second),
    "passive_force": _along("dof", "generalised force of the passive constraints", power_conjugate),
    "energy": RecordedQuantity((), "kinetic plus potential energy", _one("J")),
    "frame_position": RecordedQuantity(
        ("frame", "axis"), "position of a frame in the world", _one("m")
    ),
}
_WHERE_RECORDED = {
    "frame_reference": RecordedQuantity(
        ("frame", "axis"), "where a servo constraint wants the frame", _one("m")
    ),
    "actuator_rate": _along("actuator", "rate on which an input does work, B' v", power_conjugate),
    "kinetic_energy": RecordedQuantity((), "kinetic energy", _one("J")),
    "power": RecordedQuantity((), "power fed to the robot", _one("W")),
    "supplied_energy": RecordedQuantity((), "energy fed to the robot since the start", _one("J")),
    "reach": RecordedQuantity(
        (), "row acceleration out of reach, |(I - H H+) d|", _row_acceleration
    ),
    "rank": RecordedQuantity((), "rank of H = A G", _one("1")),
    "reaction": _along(
        "passive_row",
        "multiplier of the passive row: what it transmits; of a closure, force and torque "
        "on its first frame in the axes of its second",
        reaction_unit,
    ),
    "reaction_residual": RecordedQuantity(
        (),
        "passive force that the rows cannot transmit, |F - A_p' lam|",
        lambda x: (common_unit(map(power_conjugate, x.dof_units)),),
    ),
    "reaction_power": RecordedQuantity((), "power of the reactions on drift, lam' beta", _one("W")),
    "nonideal_force": _along(
        "dof",
        "generalised force of passive constraints beside their reactions, such as friction",
        power_conjugate,
    ),
    "passive_rank": RecordedQuantity((), "directions that the passive rows constrain", _one("1")),
    "passive_sigma_min": RecordedQuantity(
        (), "smallest singular value of the passive rows that counts", _one("1")
    ),
    "passive_sigma_dropped": RecordedQuantity(
        (), "largest singular value of the passive rows that does not count", _one("1")
    ),
    "passive_holds": RecordedQuantity(
        ("passive_row",), "whether a row of a contact holds, or is let go", _one("1")
    ),
    "sigma_min": RecordedQuantity((), "smallest singular value of H that was kept", _grip),
    "q_measured": _along("coordinate", "configuration that the law measured"),
    "v_measured": _along("dof", "velocity that the law measured"),
    "q_estimated": _along("coordinate", "configuration that an observer estimated"),
    "v_estimated": _along("dof", "velocity that an observer estimated"),
    "q_estimate_error": _along(
        "dof",
        "configuration less its estimate at the last tick",
        lambda unit: unit.removesuffix("/s"),
    ),
    "v_estimate_error": _along("dof", "velocity less its estimate at the last tick"),
    "disturbance_estimated": _along(
        "dof", "generalised force that an observer takes for unexplained", power_conjugate
    ),
    "disturbance_error": _along(
        "dof", "unexplained generalised force less its estimate at the last tick", power_conjugate
    ),
    "nees": RecordedQuantity(
        (),
        "square of the estimation error over its covariance, a state: 1 on average if right",
        _one("1"),
    ),
    "nis": RecordedQuantity(
        (),
        "square of the innovation over its covariance, a reading: 1 on average if right",
        _one("1"),
    ),
    "keep": _along("keep_row", "what is left of what is kept"),
    "keep_binding": RecordedQuantity(
        ("keep_row",), "whether it changed the input at the last tick", _one("1")
    ),
    "keep_missed": RecordedQuantity(
        ("keep_row",),
        "by how much it gave way at the last tick",
        lambda labels: labels.keep_row_missed_units,
    ),
    "keep_given_up": _along(
        "row",
        "row acceleration that the servo rows did not get for what is kept",
        lambda unit: per_second(per_second(unit)),
    ),
    "u_commanded": _along("actuator", "input that the law commanded"),
    "u_lower": _along("actuator", "least input that the drive gives"),
    "u_upper": _along("actuator", "largest input that the drive gives"),
}
FIELDS: Mapping[str, RecordedQuantity] = MappingProxyType(
    _ALWAYS | {name: field._replace(always=False) for name, field in _WHERE_RECORDED.items()}
)
"""Every quantity that a run records, by its name in the file."""
