"""What a run records of its effects."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple, Protocol, cast, final

import numpy as np

from ukctrl.control.task import Signal
from ukctrl.core.algebra.factorisation import copy_into
from ukctrl.core.arrays import Vector
from ukctrl.core.program import Call, Step
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
        self.effects_tell = True
        """Whether what effects tell is wanted: no metric and no verdict asks for it."""
        self.shapes: dict[str, tuple[int, ...]] = {}
        """Of what is kept of each sample, by name."""
        if conditions.senses:
            self.shapes |= {"q_measured": (robot.nq,), "v_measured": (robot.nv,)}
        self.shapes |= {name: value.shape for name, value in self._kept.items()}
        if conditions.drives:
            self.shapes |= {"u_commanded": (robot.nu,)}
        if self._bounds(robot, np.zeros(robot.nu)) is not None:
            self.shapes |= {"u_lower": (robot.nu,), "u_upper": (robot.nu,)}

    def steps(
        self, now: Callable[[str], Vector], snapshot: Snapshot, met: MeasuredAndCommanded
    ) -> Iterator[Step]:
        """Yield what keeps it at a state of the true robot, in the places that ``now`` names."""
        met_by_name = {"q_measured": met.q, "v_measured": met.v, "u_commanded": met.u}
        for name, value in {**met_by_name, **self._kept}.items():
            if name in self.shapes:
                yield Call(copy_into, np.atleast_1d(value), now(name))
        if "u_lower" in self.shapes:
            yield lambda: self._keep_bounds(now("u_lower"), now("u_upper"), snapshot)

    def _keep_bounds(self, lower: Vector, upper: Vector, snapshot: Snapshot) -> None:
        bounds = self._bounds(cast(Robot, snapshot.robot), snapshot.v @ snapshot.B)
        if bounds is not None:
            lower[:], upper[:] = bounds

    def signals(self, snapshot: Snapshot, since: float) -> Iterator[tuple[str, Signal]]:
        """Yield what the effects and the observer tell beside."""
        if self.effects_tell:
            yield from self._conditions.signals(snapshot, since)
        yield from self._observed.signals().items() if self._observed else ()

    def _bounds(self, robot: Robot, rate: Vector) -> Bounds | None:
        """Return the bounds of the input, where limits of one size and sign are not enough."""
        found, limits = self._conditions.bounds(rate), robot.actuation.bounds
        if found is None and (limits.falls or not np.array_equal(limits.lower, -limits.upper)):
            return Bounds(*robot.input_bounds(rate))
        return found
