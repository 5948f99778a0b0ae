"""Names and units along every axis of a result."""

from __future__ import annotations

import dataclasses as dc
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from ukctrl.core.errors import ShapeError

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
