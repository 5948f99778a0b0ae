r"""Error dynamics from a settling time and a damping ratio.

Released at rest, an error that obeys $\ddot e + 2\zeta\omega\,\dot e + \omega^2 e = 0$ is below 2 %
of what it was for good after $\tau(\zeta)/\omega$. The number $\tau$ is worked out, so that
$\omega = \tau(\zeta)/t_s$ is exact. With an integral a third pole at $-\omega$ joins the pair, and
$\tau$ is that of all three.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

import numpy as np

from ukctrl.core.errors import InputError

SETTLED = 0.02
"""An error below this fraction of what it was has settled, as the metric ``settling_time`` says."""
LEAST_DAMPING, MOST_DAMPING = 0.05, 10.0


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


def third_order(settling: float, damping: float) -> tuple[float, float, float]:
    r"""Return ``kp, ki, kd`` of $(s^2 + 2 \zeta \omega s + \omega^2)(s + \omega)$."""
    w = natural_frequency(settling, damping, integral=True)
    two = 2.0 * damping
    return (1.0 + two) * w * w, w**3, (1.0 + two) * w


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
    last = int(np.flatnonzero(sizes > SETTLED)[-1])
    outside: Callable[[float], float] = lambda t: abs(error(t)) - SETTLED  # noqa: E731
    return float(brentq(outside, last * step, (last + 1) * step, xtol=1e-13))
