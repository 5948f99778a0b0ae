"""What `internal_dynamics` finds: plain data, for people and for programs."""

from __future__ import annotations

import dataclasses as dc
from typing import Any, final

from ukctrl.analysis.internal_dynamics.internal_motion import InternalMotion
from ukctrl.analysis.internal_dynamics.local_dynamics import LocalDynamics
from ukctrl.analysis.internal_dynamics.modes import Kind
from ukctrl.analysis.internal_dynamics.periodic_orbit import PeriodicOrbit
from ukctrl.simulation.result.atomic_files import attributes_of, finite_or_none


@final
@dc.dataclass(frozen=True, kw_only=True, eq=False)
class InternalDynamics:
    """What `internal_dynamics` found."""

    scenario: str
    robot: str
    states: int
    """States that the passive constraints leave: twice the mobility, where all of them hold
    positions; one less for each that holds a velocity only."""
    reached: int
    """States that the rows determine: the sum of their relative degrees, redundant rows left
    out."""
    dimension: int
    """States that are left, ``states - reached``."""
    coordinates: tuple[str, ...]
    """The coordinates that stand for them at the start, those that determine the others best;
    rates as ``v.<name>``."""
    grip: bool
    """Whether the motors accelerate all independent rows at once. Where they do not, the input
    reaches them through further derivatives, or not at all."""
    free: int
    """States, of those left, that inputs can move without moving the rows: free for the null
    space. The others are nobody's to command."""
    path_moves: bool
    """Whether the path of the task moves."""
    rests: tuple[LocalDynamics, ...] = ()
    """States of rest with the path held where it is at the start, from the nearest on."""
    families: tuple[int, ...] = ()
    """How many states of rest were found that are like each of them: more than 1 of a continuum."""
    along: tuple[LocalDynamics, ...] = ()
    """The motion at some times, with time standing still; empty where the path is at rest."""
    motion: InternalMotion | None = None
    """The motion from the start, and one that begins a little beside; None where not asked for
    or not possible."""
    periodic: PeriodicOrbit | None = None
    """A periodic motion along a periodic path; None where not asked for or not found."""
    kind: Kind | None = None
    """What becomes of the motion that is left; None where that is not known."""
    verdict: str = ""
    """The same in words."""
    notes: tuple[str, ...] = ()
    """What is worth knowing beside."""

    def to_dict(self) -> dict[str, Any]:
        """Return the findings as plain data for programs; complex numbers as pairs."""
        cycle, run = self.periodic, self.motion
        table = attributes_of(
            self, "scenario", "robot", "states", "reached", "dimension", "coordinates"
        )
        table |= attributes_of(self, "grip", "free", "path_moves", "kind", "verdict", "notes")
        table["rests"] = [_plain(near) for near in self.rests]
        table["along"] = [_plain(near) for near in self.along]
        table["periodic"] = cycle and attributes_of(cycle, "period", "multipliers")
        table["motion"] = run and attributes_of(run, "fate", "rate", "factor", "ended")
        plain: dict[str, Any] = finite_or_none(table)
        return plain


def _plain(near: LocalDynamics) -> dict[str, Any]:
    return {
        **attributes_of(near, "t", "q", "v", "u", "states"),
        **attributes_of(near.modes, "kind", "poles"),
        **attributes_of(near, "zeros", "free", "moving", "routes"),
    }
