r"""Gains from a settling time and a damping ratio.

The error of a row under second-order feedback obeys
$\ddot\varphi + 2\zeta\omega\,\dot\varphi + \omega^2 \varphi = 0$. Released at rest it settles, to
2 % of what it was and for good, after $\tau(\zeta)/\omega$; the number $\tau$ is worked out, so
that $\omega = \tau(\zeta)/t_s$ is exact and the metric ``settling_time`` of an ideal run is $t_s$.
With an integral a third pole at $-\omega$ joins the pair, and $\tau$ is that of all three.
"""

from __future__ import annotations

import dataclasses as dc
import functools
import math
from collections.abc import Callable, Mapping
from typing import Any, final

import numpy as np

from ukctrl.control import (
    Baumgarte,
    ComputedTorque,
    FirstOrder,
    JointPid,
    Lqi,
    Lqr,
    OperationalSpace,
    PdGravity,
    Pid,
    Regulation,
    ResolvedAcceleration,
    Servo,
    law_name,
)
from ukctrl.errors import InputError, UkctrlError
from ukctrl.loop import Loop
from ukctrl.lti.loop import as_rates, growth_of
from ukctrl.metrics import SETTLED_FRACTION
from ukctrl.scenario import Scenario

KNOWN = (
    "servo with baumgarte, pid or first_order feedback, computed_torque, operational_space, "
    "resolved_acceleration, pd_gravity, pid, lqr or lqi"
)
LEAST_DAMPING, MOST_DAMPING = 0.05, 10.0
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


def natural_frequency(settling: float, damping: float, *, integral: bool = False) -> float:
    """Return the frequency of error dynamics that settle in that time [rad/s].

    Args:
        settling: Until the error is below 2 % for good [s].
        damping: Damping ratio of the pair of poles.
        integral: Whether a third pole at minus the frequency belongs to them.

    Raises:
        InputError: An argument is out of range.
    """
    if not (0.0 < settling < math.inf):
        raise InputError(f"the settling time must be positive; got {settling:g} s.")
    if not LEAST_DAMPING <= damping <= MOST_DAMPING:
        raise InputError(
            f"the damping ratio must be from {LEAST_DAMPING:g} to {MOST_DAMPING:g}; got "
            f"{damping:g}."
        )
    return _settles(damping, integral) / settling


def designed(scenario: Scenario, settling: float, damping: float = 1.0) -> Design:
    """Return the gains of a scenario's controller for a settling time and a damping ratio.

    Joint-space laws whose gains are forces get them times the inertia that each joint has at the
    start. Of a regulator, the weight of the inputs is chosen so that its slowest pole settles in
    that time; its damping follows from the other weights.

    Raises:
        InputError: The controller has no such gains, or cannot settle as quickly.
    """
    law = scenario.controller
    w = natural_frequency(settling, damping)
    kp, kd = w * w, 2.0 * damping * w
    notes: list[str] = []
    gains: dict[str, Any]
    if isinstance(law, Servo) and isinstance(law.feedback, Baumgarte):
        gains = {"feedback.alpha": kd, "feedback.beta": kp}
    elif isinstance(law, Servo) and isinstance(law.feedback, Pid):
        kp, ki, kd = _third_order(settling, damping)
        gains = {"feedback.kp": kp, "feedback.ki": ki, "feedback.kd": kd}
    elif isinstance(law, Servo) and isinstance(law.feedback, FirstOrder):
        gains = {"feedback.kappa": -math.log(SETTLED_FRACTION) / settling}
    elif isinstance(law, ComputedTorque | OperationalSpace | ResolvedAcceleration):
        gains = {"kp": kp, "kd": kd}
    elif isinstance(law, PdGravity | JointPid):
        gains = _times_inertia(scenario, law, settling, damping)
        notes.append("each joint as if it were alone, with its inertia at the start.")
    elif isinstance(law, Lqr | Lqi):
        gains = {"R": _weight(scenario, settling)}
        notes.append("the damping of a regulator follows from its weights.")
    else:
        raise InputError(
            f"controller '{law_name(law)}' must be one whose gains follow from a settling time, "
            f"{KNOWN}."
        )
    rounded = {f"controller.{path}": _rounded(value) for path, value in gains.items()}
    return Design(settling=settling, damping=damping, gains=rounded, notes=tuple(notes))


def _third_order(settling: float, damping: float) -> tuple[float, float, float]:
    w = natural_frequency(settling, damping, integral=True)
    # (s^2 + 2 zeta w s + w^2)(s + w)
    two = 2.0 * damping
    return (1.0 + two) * w * w, w**3, (1.0 + two) * w


def _times_inertia(
    scenario: Scenario, law: PdGravity | JointPid, settling: float, damping: float
) -> dict[str, Any]:
    loop = Loop(scenario)
    q, v, _ = loop.state
    rows = loop.law.stack.write(loop.robot.snapshot(q, v, loop.t0))
    s = loop.robot.snapshot(q)
    inertia = np.einsum("ki,ij,kj->k", rows.A, s.M, rows.A)
    if isinstance(law, PdGravity):
        w = natural_frequency(settling, damping)
        return {"kp": tuple(w * w * inertia), "kd": tuple(2.0 * damping * w * inertia)}
    kp, ki, kd = _third_order(settling, damping)
    return {"kp": tuple(kp * inertia), "ki": tuple(ki * inertia), "kd": tuple(kd * inertia)}


def _weight(scenario: Scenario, settling: float) -> float:
    """Return the largest weight of all inputs with which a regulator settles in that time."""
    needed = -math.log(SETTLED_FRACTION) / settling

    @functools.cache
    def decay(R: float) -> float:
        try:
            law = Loop(scenario.replace({"controller.R": R})).law
        except (UkctrlError, ArithmeticError, ValueError):
            return -math.inf
        assert isinstance(law, Regulation)  # what an lqr and an lqi start as
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


@functools.cache
def _settles(damping: float, integral: bool) -> float:
    """Return after how long error dynamics of frequency 1 settle, released at rest."""
    two = 2.0 * damping
    if integral:
        A = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [-1.0, -(1.0 + two), -(1.0 + two)]])
        x = np.array([0.0, 1.0, 0.0])  # the integral, the error, its rate
        place = 1
    else:
        A, x, place = np.array([[0.0, 1.0], [-1.0, -two]]), np.array([1.0, 0.0]), 0
    from scipy.linalg import expm
    from scipy.optimize import brentq

    def error(t: float) -> float:
        return float((expm(A * t) @ x)[place])

    step = 0.02
    flow, states = expm(A * step), [x]
    slowest = -float(np.linalg.eigvals(A).real.max())
    for _ in range(math.ceil(8.0 / (slowest * step))):
        states.append(flow @ states[-1])
    sizes = np.abs(np.array(states)[:, place])
    last = int(np.flatnonzero(sizes > SETTLED_FRACTION)[-1])
    outside: Callable[[float], float] = lambda t: abs(error(t)) - SETTLED_FRACTION  # noqa: E731
    return float(brentq(outside, last * step, (last + 1) * step, xtol=1e-13))


def _rounded(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(_rounded(each) for each in value)
    return float(f"{value:.{DIGITS}g}")


def _written(value: Any) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(map(_written, value))}]"
    return f"{value:.{DIGITS}g}"
