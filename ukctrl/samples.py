"""What a run records: sampled arrays, and the names and units along their axes.

Plain NumPy and nothing else, so that a study can read thousands of runs without paying
for xarray. [`ukctrl.result`][] adds the status, the files and the labelled dataset.
"""

from __future__ import annotations

import dataclasses as dc
import re
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ukctrl.errors import InputError, ShapeError, unknown_name

__all__ = [
    "FIELDS",
    "Field",
    "Labels",
    "Samples",
    "Signal",
    "common_unit",
    "per_second",
    "reaction_unit",
]

Array = NDArray[np.float64]

AXES = ("x", "y", "z")


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
    frames: tuple[str, ...] = ()
    """Names of the frames whose positions were recorded."""

    def __post_init__(self) -> None:
        limit = tuple(float(value) for value in self.effort_limit)
        object.__setattr__(self, "effort_limit", limit or (np.inf,) * len(self.actuators))
        blocks = tuple(self.passive_row_blocks) or tuple(
            name.rpartition(".")[0] or name for name in self.passive_rows
        )
        object.__setattr__(self, "passive_row_blocks", blocks)
        for names, companions in _COMPANIONS.items():
            entries = tuple(getattr(self, names))
            object.__setattr__(self, names, entries)
            for companion in companions:
                values = tuple(getattr(self, companion))
                object.__setattr__(self, companion, values)
                if len(values) != len(entries):
                    raise ShapeError(
                        f"labels: {companion} must have one entry for each of the "
                        f"{len(entries)} {names}; got {len(values)}."
                    )

    @property
    def blocks(self) -> tuple[str, ...]:
        """The servo blocks, in order of their first row."""
        return tuple(dict.fromkeys(self.row_blocks))

    def block_rows(self, block: str) -> NDArray[np.intp]:
        """Return the indices of the rows of one servo block."""
        return np.flatnonzero([name == block for name in self.row_blocks])


_COMPANIONS = MappingProxyType(
    {
        "coordinates": ("coordinate_units",),
        "dofs": ("dof_units",),
        "actuators": ("actuator_units", "effort_limit"),
        "rows": ("row_units", "row_blocks"),
        "passive_rows": ("passive_row_units", "passive_row_blocks"),
        "frames": (),
    }
)


@dc.dataclass(frozen=True, kw_only=True, eq=False)
class Signal:
    """One quantity that a controller recorded about itself, such as an adapted gain."""

    values: ArrayLike
    """One value, or one row of values, per sample: shape `(n,)` or `(n, k)`."""
    units: str = "1"
    """Unit of all its components."""
    long_name: str = ""
    """What it is, in words."""
    components: tuple[str, ...] = ()
    """Names of the k components; numbered from 0 when left out."""


def per_second(unit: str) -> str:
    """Return the unit of a time derivative: `rad` gives `rad/s`, `m/s` `m/s^2`, `J s` `J`."""
    if unit.endswith(" s"):
        return unit.removesuffix(" s")
    found = re.fullmatch(r"(.+)/s(?:\^(\d+))?", unit)
    if found:
        return f"{found[1]}/s^{int(found[2] or 1) + 1}"
    return f"{unit or '1'}/s"


def common_unit(units: Iterable[str]) -> str:
    """Return the one unit that all share, or each of them once: `m`, or `m, rad`."""
    return ", ".join(dict.fromkeys(unit or "1" for unit in units)) or "1"


def _power_conjugate(unit: str) -> str:
    """Return the unit that multiplies with this one to watts: `rad/s` to `N m` and back."""
    known = {"rad/s": "N m", "m/s": "N", "N m": "rad/s", "N": "m/s", "1/s": "J"}
    return known.get(unit, f"W/({unit})")


def reaction_unit(unit: str) -> str:
    """Return the unit of the multiplier of a row: `m` gives `N`, `rad` gives `N m`."""
    return {"m": "N", "rad": "N m", "": "J", "1": "J"}.get(unit, f"J/({unit})")


class Field(NamedTuple):
    """One recorded quantity: its axes after time, its meaning and its units."""

    dims: tuple[str, ...]
    long_name: str
    units: Callable[[Labels], tuple[str, ...]]
    """Unit of each entry along the first axis after time; one alone where all share it."""
    always: bool = True
    """Present in every result; the others only when the run recorded them."""


def _one(unit: str) -> Callable[[Labels], tuple[str, ...]]:
    return lambda labels: (unit,)


def _row_acceleration(labels: Labels) -> tuple[str, ...]:
    return (common_unit(per_second(per_second(unit)) for unit in labels.row_units),)


def _grip(labels: Labels) -> tuple[str, ...]:
    rows, inputs = _row_acceleration(labels)[0], common_unit(labels.actuator_units)
    return (f"({rows})/({inputs})",)


FIELDS: Mapping[str, Field] = MappingProxyType(
    {
        "q": Field(("coordinate",), "configuration", lambda x: x.coordinate_units),
        "v": Field(("dof",), "velocity", lambda x: x.dof_units),
        "a": Field(("dof",), "acceleration", lambda x: tuple(map(per_second, x.dof_units))),
        "u": Field(("actuator",), "input", lambda x: x.actuator_units),
        "phi": Field(("row",), "servo constraint error at position level", lambda x: x.row_units),
        "beta": Field(
            ("row",),
            "servo constraint error at velocity level, A v - c",
            lambda x: tuple(map(per_second, x.row_units)),
        ),
        "passive_phi": Field(
            ("passive_row",),
            "passive constraint error at position level",
            lambda x: x.passive_row_units,
        ),
        "passive_beta": Field(
            ("passive_row",),
            "passive constraint error at velocity level",
            lambda x: tuple(map(per_second, x.passive_row_units)),
        ),
        "passive_force": Field(
            ("dof",),
            "generalised force of the passive constraints",
            lambda x: tuple(map(_power_conjugate, x.dof_units)),
        ),
        "energy": Field((), "kinetic plus potential energy", _one("J")),
        "frame_position": Field(("frame", "axis"), "position of a frame in the world", _one("m")),
        "frame_reference": Field(
            ("frame", "axis"), "where a servo constraint wants the frame", _one("m"), always=False
        ),
        "actuator_rate": Field(
            ("actuator",),
            "rate on which an input does work, B' v",
            lambda x: tuple(map(_power_conjugate, x.actuator_units)),
            always=False,
        ),
        "kinetic_energy": Field((), "kinetic energy", _one("J"), always=False),
        "power": Field((), "power fed to the robot", _one("W"), always=False),
        "supplied_energy": Field((), "energy fed to the robot since the start", _one("J"), False),
        "reach": Field(
            (), "row acceleration out of reach, |(I - H H+) d|", _row_acceleration, False
        ),
        "rank": Field((), "rank of H = A G", _one("1"), always=False),
        "reaction": Field(
            ("passive_row",),
            "multiplier of the passive row: what it transmits; of a closure, force and torque "
            "on its first frame in the axes of its second",
            lambda x: tuple(map(reaction_unit, x.passive_row_units)),
            always=False,
        ),
        "reaction_residual": Field(
            (),
            "passive force that the rows cannot transmit, |F - A_p' lam|",
            lambda x: (common_unit(map(_power_conjugate, x.dof_units)),),
            always=False,
        ),
        "reaction_power": Field((), "power of the reactions on drift, lam' beta", _one("W"), False),
        "nonideal_force": Field(
            ("dof",),
            "generalised force of passive constraints beside their reactions, such as friction",
            lambda x: tuple(map(_power_conjugate, x.dof_units)),
            always=False,
        ),
        "passive_rank": Field((), "directions that the passive rows constrain", _one("1"), False),
        "passive_sigma_min": Field(
            (), "smallest singular value of the passive rows that counts", _one("1"), False
        ),
        "passive_sigma_dropped": Field(
            (), "largest singular value of the passive rows that does not count", _one("1"), False
        ),
        "sigma_min": Field((), "smallest singular value of H that was kept", _grip, always=False),
        "q_measured": Field(
            ("coordinate",),
            "configuration that the law measured",
            lambda x: x.coordinate_units,
            False,
        ),
        "v_measured": Field(
            ("dof",), "velocity that the law measured", lambda x: x.dof_units, False
        ),
        "u_commanded": Field(
            ("actuator",), "input that the law commanded", lambda x: x.actuator_units, False
        ),
        "u_lower": Field(
            ("actuator",), "least input that the drive gives", lambda x: x.actuator_units, False
        ),
        "u_upper": Field(
            ("actuator",), "largest input that the drive gives", lambda x: x.actuator_units, False
        ),
    }
)
"""Every quantity that a run records, by its name in the file."""


@dc.dataclass(frozen=True, kw_only=True, eq=False)
class Samples:
    """The arrays of one run, all with time as their first axis.

    `samples["phi"]` is a read-only float64 array. Made by
    [`Samples.build`][ukctrl.samples.Samples.build].
    """

    time: Array
    """Sampling times, shape `(n,)` [s]."""
    arrays: Mapping[str, Array]
    signals: Mapping[str, Signal]
    labels: Labels

    def __getitem__(self, name: str) -> Array:
        if name == "time":
            return self.time
        if name in self.arrays:
            return self.arrays[name]
        if name in self.signals:
            return np.asarray(self.signals[name].values)
        raise unknown_name("variable", name, ["time", *self.arrays, *self.signals])

    def __contains__(self, name: object) -> bool:
        return name == "time" or name in self.arrays or name in self.signals

    def __len__(self) -> int:
        return len(self.time)

    def __reduce__(self) -> tuple[object, ...]:
        """Let another process have a copy, as frozen as this one."""
        return Samples.build, (self.time, dict(self.arrays), self.labels, dict(self.signals))

    @staticmethod
    def build(
        time: ArrayLike,
        samples: Mapping[str, ArrayLike],
        labels: Labels,
        signals: Mapping[str, Signal] | None = None,
    ) -> Samples:
        """Check, copy and freeze the arrays of one run.

        Args:
            time: Sampling times, shape `(n,)` [s], finite and never decreasing; n may be 0.
            samples: Arrays by the names of [`FIELDS`][ukctrl.samples.FIELDS]. Those that every
                result has but this run did not record may be left out: they read as zeros for
                the passive rows' forces, and as NaN otherwise.
            labels: The names that give every array its shape.
            signals: A controller's own signals.

        Raises:
            ShapeError: An array does not have the shape that its labels imply.
            UnknownName: An array has a name that no result knows.
        """
        instants = _frozen(time)
        if instants.ndim != 1 or not np.isfinite(instants).all() or (np.diff(instants) < 0).any():
            raise ShapeError(
                "time must be a finite vector that never decreases; "
                f"got {instants.dtype} of shape {instants.shape}."
            )
        for name in samples:
            if name not in FIELDS:
                raise unknown_name("sampled quantity", name, FIELDS)
        n, sizes = len(instants), _sizes(labels)
        arrays = {}
        for name, field in FIELDS.items():
            shape = (n, *(sizes[dim] for dim in field.dims))
            if name in samples:
                arrays[name] = _shaped(name, samples[name], shape)
            elif field.always:
                absent = 0.0 if name == "passive_force" else np.nan
                arrays[name] = _frozen(np.full(shape, absent))
        own = {name: _checked(name, signal, n) for name, signal in (signals or {}).items()}
        return Samples(
            time=instants,
            arrays=MappingProxyType(arrays),
            signals=MappingProxyType(own),
            labels=labels,
        )


def _sizes(labels: Labels) -> dict[str, int]:
    return {
        "coordinate": len(labels.coordinates),
        "dof": len(labels.dofs),
        "actuator": len(labels.actuators),
        "row": len(labels.rows),
        "passive_row": len(labels.passive_rows),
        "frame": len(labels.frames),
        "axis": len(AXES),
    }


def _frozen(values: ArrayLike) -> Array:
    array = np.array(values, dtype=np.float64, order="C")
    array.flags.writeable = False
    return array


def _shaped(name: str, values: ArrayLike, shape: tuple[int, ...]) -> Array:
    array = _frozen(values)
    if array.shape != shape and array.size == 0 and 0 in shape:
        array = _frozen(array.reshape(shape))  # an empty list has lost its other axes
    if array.shape != shape:
        raise ShapeError(f"{name} must have shape {shape}; got {array.shape}.")
    return array


def _checked(name: str, signal: Signal, n: int) -> Signal:
    axes = _sizes(Labels())
    taken = {"time", "effort_limit", "row_block", *FIELDS, *axes, *(f"{dim}_units" for dim in axes)}
    if name in taken or not re.fullmatch(r"[\w.]+", name):
        raise InputError(
            f"a signal's name must be a word that no other variable has; got '{name}'. "
            "Rename the signal in the controller."
        )
    values = _frozen(signal.values)
    if values.ndim not in (1, 2) or len(values) != n:
        raise ShapeError(f"signal '{name}' must have shape ({n},) or ({n}, k); got {values.shape}.")
    count = values.shape[1] if values.ndim == 2 else 0
    components = tuple(signal.components) or tuple(str(i) for i in range(count))
    if len(components) != count:
        raise ShapeError(f"signal '{name}' must name its {count} components; got {components}.")
    return dc.replace(signal, values=values, components=components)
