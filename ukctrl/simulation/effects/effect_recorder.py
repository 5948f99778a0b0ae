"""Effect recorder: measured state, commanded input, input bounds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple, Protocol, cast, final

import numpy as np

from ukctrl.control.task import Signal
from ukctrl.core.algebra.factorisation import copy_into
from ukctrl.core.arrays import Vector
from ukctrl.core.program import BoundKernel, KernelStep
from ukctrl.robot import Robot, Snapshot
from ukctrl.simulation.effects.attached_effects import AttachedEffects
from ukctrl.simulation.effects.effect import Bounds


class EffectSample(NamedTuple):
    """Measured state and commanded input at a sample."""

    q: Vector
    """Measured configuration."""
    v: Vector
    """Measured velocity."""
    u: Vector
    """Input that the law commanded."""
    since: float
    """When the plant last changed [s]."""


class RecordedObserver(Protocol):
    """Observer whose quantities are recorded."""

    @property
    def recorded_values(self) -> Mapping[str, Vector]:
        """Quantities of the last tick, by name."""

    def signals(self) -> Mapping[str, Signal]:
        """Return what is recorded beside."""


@final
class EffectRecorder:
    """The measured state, the command and the bounds of the input, as far as there are."""

    def __init__(
        self,
        conditions: AttachedEffects,
        robot: Robot,
        observed: RecordedObserver | None,
        *,
        effect_signals: bool,
    ) -> None:
        self._conditions, self._observed = conditions, observed
        self._observer_values = {} if observed is None else observed.recorded_values
        self.records_effect_signals = effect_signals
        """Whether what effects tell is wanted: no metric and no verdict asks for it."""
        self.shapes: dict[str, tuple[int, ...]] = {}
        """Of what is kept of each sample, by name."""
        if conditions.senses:
            self.shapes |= {"q_measured": (robot.nq,), "v_measured": (robot.nv,)}
        self.shapes |= {name: value.shape for name, value in self._observer_values.items()}
        if conditions.drives:
            self.shapes |= {"u_commanded": (robot.nu,)}
        if self._bounds(robot, np.zeros(robot.nu)) is not None:
            self.shapes |= {"u_lower": (robot.nu,), "u_upper": (robot.nu,)}

    def steps(
        self, slot: Callable[[str], Vector], snapshot: Snapshot, sample: EffectSample
    ) -> Iterator[KernelStep]:
        """Yield what keeps it at a state of the true robot, in the places that ``slot`` names."""
        met_by_name = {"q_measured": sample.q, "v_measured": sample.v, "u_commanded": sample.u}
        for name, value in {**met_by_name, **self._observer_values}.items():
            if name in self.shapes:
                # single numbers have no axis, which kernels need
                yield BoundKernel(copy_into, np.atleast_1d(value), slot(name))
        if "u_lower" in self.shapes:
            yield lambda: self._keep_bounds(slot("u_lower"), slot("u_upper"), snapshot)

    def _keep_bounds(self, lower: Vector, upper: Vector, snapshot: Snapshot) -> None:
        bounds = self._bounds(cast(Robot, snapshot.robot), snapshot.v @ snapshot.B)
        if bounds is not None:
            lower[:], upper[:] = bounds

    def signals(self, snapshot: Snapshot, since: float) -> Iterator[tuple[str, Signal]]:
        """Yield what the effects and the observer tell beside."""
        if self.records_effect_signals:
            yield from self._conditions.signals(snapshot, since)
        yield from self._observed.signals().items() if self._observed else ()

    def _bounds(self, robot: Robot, rate: Vector) -> Bounds | None:
        """Return the bounds of the input, where limits of one size and sign are not enough."""
        bounds, limits = self._conditions.bounds(rate), robot.actuation.bounds
        # limits of one size and sign are in the labels already, once for all samples
        if bounds is None and (
            limits.depends_on_speed or not np.array_equal(limits.lower, -limits.upper)
        ):
            return Bounds(*robot.input_bounds(rate))
        return bounds
