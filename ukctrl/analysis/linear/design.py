r"""Gains of a scenario's controller from a settling time and a damping ratio.

The error of a row under second-order feedback obeys
$\ddot\varphi + 2\zeta\omega\,\dot\varphi + \omega^2 \varphi = 0$, and $\omega$ follows from the
settling time exactly, so that the metric ``settling_time`` of an ideal run from rest is what was
asked.
"""

from __future__ import annotations

import dataclasses as dc
import functools
import math
from collections.abc import Mapping
from typing import Any, final

import numpy as np

from ukctrl.analysis.linear.linear_loop import as_rates, growth_of
from ukctrl.control.controller import law_name
from ukctrl.control.error_dynamics import SETTLED, natural_frequency
from ukctrl.core.arrays import Vector
from ukctrl.core.errors import InputError, UkctrlError
from ukctrl.simulation.loop import Loop
from ukctrl.simulation.scenario import Scenario

KNOWN = (
    "servo with baumgarte, pid or first_order feedback, computed_torque, operational_space, "
    "resolved_acceleration, pd_gravity, pid, pole_placement, lqr or lqi"
)
DIGITS = 6
"""Significant digits of a gain; a settling time is kept to as many."""
DECADES = 12
"""How far the weight of an input is moved from the card's, either way, in the search for it."""
NEAR = 1e-5
"""How near the logarithm of the weight is brought to its limit."""
HALVINGS = 60


@final
@dc.dataclass(frozen=True, kw_only=True)
class Design:
    """Gains that were worked out, by their path."""

    settling: float
    """Settling time [s]."""
    damping: float
    """Damping ratio."""
    gains: Mapping[str, Any]
    """Values by path, as ``--set`` takes them: ``controller.feedback.alpha``."""
    notes: tuple[str, ...] = ()

    def arguments(self) -> list[str]:
        """Return the gains as ``PATH=VALUE``."""
        return [f"{path}={_written(value)}" for path, value in self.gains.items()]


def designed(scenario: Scenario, settling: float, damping: float = 1.0) -> Design:
    """Return the gains of a scenario's controller for a settling time and a damping ratio.

    Joint-space laws whose gains are forces get them times the inertia that each joint has at the
    start. Of a regulator, the weight of the inputs is chosen so that its slowest pole settles in
    that time; its damping follows from the other weights.

    Raises:
        InputError: The controller has no such gains, or cannot settle as quickly.
    """
    law = scenario.controller
    natural_frequency(settling, damping)  # refuses what no law could have
    notes: list[str] = []
    loads: list[Vector] = []

    def inertia() -> Vector:
        loads.append(_inertia(scenario))
        return loads[-1]

    gains = law.gains_for(settling, damping, inertia)
    if loads:
        notes.append("each joint as if it were alone, with its inertia at the start.")
    if gains is None and law.searched_weight is not None:
        gains = {law.searched_weight: _weight(scenario, law.searched_weight, settling)}
        notes.append("the damping of a regulator follows from its weights.")
    if gains is None:
        raise InputError(
            f"controller '{law_name(law)}' must be one whose gains follow from a settling time, "
            f"{KNOWN}."
        )
    rounded = {f"controller.{path}": _rounded(value) for path, value in gains.items()}
    return Design(settling=settling, damping=damping, gains=rounded, notes=tuple(notes))


def _inertia(scenario: Scenario) -> Vector:
    """Return the inertia of each row of the started law at the start, shape ``(m,)``."""
    loop = Loop(scenario)
    q, v, _ = loop.state
    rows = loop.law.stack.write(loop.robot.snapshot(q, v, loop.t0))
    s = loop.robot.snapshot(q)
    return np.asarray(np.einsum("ki,ij,kj->k", rows.A, s.M, rows.A))


def _weight(scenario: Scenario, name: str, settling: float) -> float:
    """Return the largest weight of all inputs with which a regulator settles in that time."""
    needed = -math.log(SETTLED) / settling

    @functools.cache
    def decay(R: float) -> float:
        try:
            law = Loop(scenario.replace({f"controller.{name}": R})).law
        except (UkctrlError, ArithmeticError, ValueError):
            return -math.inf
        assert law.poles is not None  # it has a weight to be searched
        return float(-growth_of(as_rates(law.poles, scenario.timing.control)))

    exponents = np.arange(DECADES, -DECADES - 1, -1).tolist()
    quick = next((k for k in exponents if decay(10.0**k) >= needed), None)
    if quick is None:
        best = max(decay(10.0**k) for k in exponents)
        raise InputError(
            f"no weight of the inputs makes the regulator settle within {settling:g} s: its "
            f"slowest pole decays with {best:.3g} 1/s at most, and {needed:.3g} 1/s is needed. "
            "Change the weights of the states, or ask for less."
        )
    low, high = float(quick), float(quick + 1)
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if decay(10.0**middle) >= needed else (low, middle)
        if high - low < NEAR:
            break
    return float(10.0**low)


def _rounded(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(_rounded(each) for each in value)
    return float(f"{value:.{DIGITS}g}")


def _written(value: Any) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(map(_written, value))}]"
    return f"{value:.{DIGITS}g}"
