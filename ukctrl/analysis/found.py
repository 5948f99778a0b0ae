"""What `check` finds: plain data, for people and for programs."""

from __future__ import annotations

import dataclasses as dc
from typing import Any, Literal

import numpy as np

from ukctrl.constraints import Integrability
from ukctrl.uk import RankReport

Actuation = Literal["fully", "under", "redundantly"]


@dc.dataclass(frozen=True, kw_only=True)
class RowCheck:
    """One servo row at the start."""

    name: str
    unit: str
    phi: float
    """Position error [unit]; NaN where the row is nonholonomic."""
    beta: float
    """Velocity error [unit/s]."""
    reach: float
    """Part of the demanded acceleration that no input can give [unit/s^2]."""
    relative_degree: int | None
    """How often the row is differentiated until the input appears: 2 (1 for a nonholonomic
    row) where the motors have grip, more where they have none; None where it is not certain."""
    relative_degree_at_least: int
    """The same number where it is certain; else a bound."""
    relative_degree_note: str
    """Why it is not certain; empty where it is."""
    integrable: bool | None
    """Whether the row is, or integrates to, one on positions; None where that is undecided."""


@dc.dataclass(frozen=True, kw_only=True)
class Check:
    """What `check` found. ``problems`` empty means that a run can start."""

    scenario: str
    robot: str
    moved: dict[str, float]
    """How far ``start.solve`` moved the start, by unit; empty where it was not asked to."""
    sharing: tuple[str, ...]
    """Passive rows that share their load in a way that no motion tells."""
    freedoms: int
    """Degrees of freedom ``nv``."""
    mobility: int
    """Freedoms that the passive constraints leave."""
    motors: int
    actuation: Actuation
    """Whether the motors reach all of the mobility, part of it, or all in more than one way."""
    passive: RankReport
    """Ranks of the passive rows ``A_p``, of unit length in mass-weighted coordinates."""
    servo: RankReport
    """Ranks of the servo rows ``A``."""
    grip: RankReport
    """Ranks of ``H = A G``: how the motors hold the rows."""
    rows: tuple[RowCheck, ...]
    velocity_rows: Integrability | None
    """Which rows on velocities are truly nonholonomic, the passive rows given; None where there
    is no row on velocities."""
    inputs: dict[str, float]
    """Input at the start by actuator [N m or N]; empty when none is possible."""
    over_limit: tuple[str, ...]
    """Actuators whose start input is beyond a limit, at the speed of the start."""
    findings: tuple[str, ...]
    """What the model's audit says."""
    problems: tuple[str, ...]
    """Why a run cannot start or cannot hold the task."""
    notes: tuple[str, ...]
    """What is worth knowing, but no obstacle."""

    @property
    def ok(self) -> bool:
        """Whether nothing stands in the way of a run."""
        return not self.problems

    def to_dict(self) -> dict[str, Any]:
        """Return the findings as plain data for programs."""
        table = {**_plain(dc.asdict(self)), "ok": self.ok}
        if self.velocity_rows is not None:
            table["velocity_rows"]["degree"] = self.velocity_rows.degree
        return table


def _plain(value: Any) -> Any:
    """Return data that JSON can hold: NaN becomes null."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value
