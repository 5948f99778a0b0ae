"""Clock effects of a sampled law: jitter, and ticks that are missed."""

from __future__ import annotations

from typing import ClassVar, Literal, final

import numpy as np

from ukctrl.core.arrays import Vector
from ukctrl.core.errors import InputError
from ukctrl.core.fields import Fraction, Seconds, spec
from ukctrl.simulation.effects.effect import ClockEffect, RunContext


@final
@spec
class Jitter(ClockEffect):
    r"""Every tick comes late by a random time, uniform between 0 and a bound.

    Tick $k$ is at $t_0 + k T + \delta_k$; the first is on time. The law is told the time at which
    it really ticks.
    """

    kind: Literal["jitter"] = "jitter"
    alone: ClassVar[bool] = True
    bound: Seconds
    """Latest that a tick may come, below the control period [s]."""

    def ticks(self, times: Vector, context: RunContext, rng: np.random.Generator) -> Vector:
        period = context.period or 0.0
        if not self.bound < period:
            raise InputError(
                f"bound must be below the control period, {period:g} s, so that ticks stay in "
                f"order; got {self.bound:g} s."
            )
        late = self.bound * rng.uniform(0.0, 1.0, len(times))
        late[0] = 0.0
        return times + late


@final
@spec
class MissedTicks(ClockEffect):
    """Ticks that do not happen, each with the same probability; the input stays as it was.

    The first tick always happens.
    """

    kind: Literal["missed_ticks"] = "missed_ticks"
    alone: ClassVar[bool] = True
    probability: Fraction
    """Of each tick."""

    def ticks(self, times: Vector, context: RunContext, rng: np.random.Generator) -> Vector:
        happens = rng.uniform(0.0, 1.0, len(times)) >= self.probability
        # before its first tick a law has given no input to hold
        happens[0] = True
        return times[happens]
