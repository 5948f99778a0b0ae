"""What a run records of its effects."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple, Protocol, cast, final

import numpy as np

from ukctrl.control.task import Signal
from ukctrl.core.arrays import Array, Vector
from ukctrl.robot import Robot, Snapshot
from ukctrl.simulation.effects.bound import Conditions
from ukctrl.simulation.effects.effect import Bounds


class MeasuredAndCommanded(NamedTuple):
    """What the effects made of a sample."""

    q: Vector
    """Measured configuration."""
    v: Vector
    """Measured velocity."""
    u: Vector
    """Input that the law commanded."""
    since: float
    """When the plant last changed [s]."""


class Observed(Protocol):
    """What is recorded of an observer."""

    @property
    def kept(self) -> Mapping[str, Vector]:
        """Quantities of the last tick, by name."""

    def signals(self) -> Mapping[str, Signal]:
        """Return what is recorded beside."""


@final
class Trail:
    """The measured state, the command and the bounds of the input, as far as there are."""

    def __init__(self, conditions: Conditions, robot: Robot, observed: Observed | None) -> None:
        self._conditions, self._observed = conditions, observed
        self._kept = {} if observed is None else observed.kept
        self.shapes: dict[str, tuple[int, ...]] = {}
        """Of what is kept of each sample, by name."""
        if conditions.senses:
            self.shapes |= {"q_measured": (robot.nq,), "v_measured": (robot.nv,)}
        self.shapes |= {name: value.shape for name, value in self._kept.items()}
        if conditions.drives:
            self.shapes |= {"u_commanded": (robot.nu,)}
        if self._bounds(robot, np.zeros(robot.nu)) is not None:
            self.shapes |= {"u_lower": (robot.nu,), "u_upper": (robot.nu,)}

    def keep(
        self, k: int, arrays: Mapping[str, Array], snapshot: Snapshot, met: MeasuredAndCommanded
    ) -> Iterator[tuple[str, Signal]]:
        """Keep a sample in a row, at a state of the true robot; yield the effects' own signals."""
        if "q_measured" in arrays:
            arrays["q_measured"][k], arrays["v_measured"][k] = met.q, met.v
        if "u_commanded" in arrays:
            arrays["u_commanded"][k] = met.u
        if "u_lower" in arrays:
            bounds = self._bounds(cast(Robot, snapshot.robot), snapshot.v @ snapshot.B)
            if bounds is not None:
                arrays["u_lower"][k], arrays["u_upper"][k] = bounds
        for name, value in self._kept.items():
            arrays[name][k] = value
        yield from self._conditions.signals(snapshot, met.since)
        yield from self._observed.signals().items() if self._observed else ()

    def _bounds(self, robot: Robot, rate: Vector) -> Bounds | None:
        """Return the bounds of the input, where limits of one size and sign are not enough."""
        found, limits = self._conditions.bounds(rate), robot.actuation.bounds
        if found is None and (limits.falls or not np.array_equal(limits.lower, -limits.upper)):
            return Bounds(*robot.input_bounds(rate))
        return found
