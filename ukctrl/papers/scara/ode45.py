"""The constrained motion, integrated with the step control of MATLAB's ``ode45``."""

from __future__ import annotations

import numpy as np
from scipy.integrate import RK45

from ukctrl.core.arrays import Matrix, Vector
from ukctrl.papers.scara.formulas import DURATION, V_PRINTED, rows, violation


def rate(t: float, state: Vector) -> Vector:
    """Return the rate of (q, v) under (49): four rows fix all four accelerations."""
    A, b = rows(state[:4], state[4:], t)
    return np.concatenate([state[4:], np.linalg.solve(A, b)])


def dormand_prince(start: Vector, rtol: float = 1e-3, atol: float = 1e-6) -> tuple[Vector, Matrix]:
    """Integrate (49) from the printed velocities with the step control of MATLAB's ``ode45``.

    The formula is that of SciPy's RK45. The control differs: the error of a step is measured by
    its worst component, relative to the larger of the state before and after, and a step changes
    by the rules of Shampine & Reichelt (1997).

    Returns:
        Times, shape ``(n,)``, and errors x, y, orientation, z at every tenth of a step.
    """
    y = np.concatenate([start, V_PRINTED])
    t, slope, floor, longest = 0.0, rate(0.0, y), atol / rtol, DURATION / 10.0
    h = min(
        longest,
        0.8 * rtol**0.2 / float(np.max(np.abs(slope) / np.maximum(np.abs(y), floor))),
    )
    times, errors = [t], [violation(y[:4], y[4:], t)[0]]
    while t < DURATION:
        if 1.1 * h >= DURATION - t:
            h = DURATION - t
        fresh = True
        while True:
            K = np.zeros((7, 8))
            K[0] = slope
            for i in range(1, 6):
                K[i] = rate(t + RK45.C[i] * h, y + h * (RK45.A[i, :i] @ K[:i]))
            after = y + h * (RK45.B @ K[:6])
            K[6] = rate(t + h, after)
            scale = np.maximum(np.maximum(np.abs(y), np.abs(after)), floor)
            error = h * float(np.max(np.abs(RK45.E @ K) / scale))
            if error <= rtol:
                break
            h *= max(0.1, 0.8 * (rtol / error) ** 0.2) if fresh else 0.5
            fresh = False
        for part in np.linspace(0.1, 1.0, 10):
            between = y + h * (K.T @ RK45.P @ part ** np.arange(1, 5))
            times.append(t + part * h)
            errors.append(violation(between[:4], between[4:], times[-1])[0])
        t, y, slope = t + h, after, K[6]
        if fresh:
            h *= min(5.0, 0.8 * (rtol / error) ** 0.2) if error > 0.0 else 5.0
        h = min(h, longest)
    return np.array(times), np.array(errors)
