"""Whether fixed steps are short enough: some of them are taken again, in two halves."""

from __future__ import annotations

from collections.abc import Callable
from typing import final

import numpy as np

from ukctrl.mechanics.integrate.integrator import State

SPACING = 0.02
"""Between two steps that are looked at lies this fraction of those behind, so that a long run costs
no more than some hundred steps."""
ROUNDING = 1e-12
"""A change of the velocity that is smaller than this fraction of it is rounding."""


@final
class StepHalving:
    r"""The share of all that velocities change that halved steps change otherwise.

    $\sum \tfrac{2^p}{2^p - 1} \lVert v_h - v_{h/2} \rVert \,/ \sum \lVert v_h - v_0 \rVert$ with
    the order $p$ of the method: Richardson's estimate of the error of every step that is looked at,
    counted for those since the last one. Nothing of the motion itself changes.
    """

    def __init__(self, step: Callable[[float, State, float], State], order: int) -> None:
        self._step, self._richardson = step, 2.0**order / (2.0**order - 1.0)
        self._behind = self._last = self._next = 0
        self.error = self.path = 0.0

    def look(self, t: float, before: State, h: float, after: State) -> None:
        """Look at a step from ``before`` to ``after``, if its turn has come."""
        count = self._behind
        self._behind += 1
        if count < self._next:
            return
        stands_for, self._last = max(count - self._last, 1), count
        self._next = count + 1 + int(SPACING * count)
        try:
            halved = self._step(t + 0.5 * h, self._step(t, before, 0.5 * h), 0.5 * h)
        except Exception:  # the step itself has passed; what it meets on the way is not this one's
            return
        change = float(np.linalg.norm(after.v - before.v))
        error = self._richardson * float(np.linalg.norm(after.v - halved.v))
        floor = ROUNDING * float(np.linalg.norm(after.v))
        if np.isfinite(error) and change > floor:
            self.path += stands_for * change
            self.error += stands_for * error if error > floor else 0.0
