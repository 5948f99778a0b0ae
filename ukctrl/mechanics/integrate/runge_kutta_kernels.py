r"""Steps of explicit Runge-Kutta methods with error control and interpolation, compiled.

References:
    Hairer, Norsett & Wanner, "Solving Ordinary Differential Equations I", sections II.4 (step
    sizes), II.5 (DOP853) and II.6 (interpolation).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.compiled import allocating, compiled, deferred
from ukctrl.core.program.kernel_sequence import STOP
from ukctrl.mechanics.integrate.ode_system import System, state_rates

T, T_OLD, H_ABS = range(3)
"""Places in `StepBuffers.times`."""
ACCEPTED, STEP_TOO_SMALL = 0, 1
SAFETY, MIN_FACTOR, MAX_FACTOR = 0.9, 0.2, 10.0
"""How far below the step that the error asks for one stays, and how much steps may change."""
MIN_STEP_ULPS = 10.0
"""A step is at least this many roundings of the time long."""


class ButcherTableau(NamedTuple):
    """The coefficients of a method of ``s`` stages, and of its interpolation."""

    A: Matrix
    """What each stage takes of those before it, shape ``(s + 1 + extra, s + 1 + extra)``; the row
    of number ``s`` is the step itself, and those behind it are for the interpolation alone."""
    c: Vector
    """When each stage is, as a fraction of the step."""
    E: Matrix
    """One or two estimates of the error, shape ``(k, s + 1)``."""
    D: Matrix
    """Of the interpolation, shape ``(4, s + 1 + extra)``."""
    stages: int
    """``s``."""
    order: int
    """Of the error that is controlled."""
    nested: bool
    """Whether ``D`` is in powers of x and 1 - x in turn, behind the cubic of Hermite."""


class StepBuffers(NamedTuple):
    """A step that is tried."""

    times: Vector
    """Time, time before the step, length to try next, shape ``(3,)`` [s]."""
    y_old: Vector
    y: Vector
    y_new: Vector
    K: Matrix
    """Rates at the stages, shape ``(s + 1 + extra, n)``; the first at ``y_old``, and that of number
    ``s`` at ``y``, where it must stand before the first step."""


@compiled
def evaluate_stage(
    port: System, method: ButcherTableau, trial: StepBuffers, k: int, t: float, h: float, y: Vector
) -> int:
    """Write the state of a stage and its rates, for a step of ``h`` from ``t`` and ``y``."""
    for i in range(len(y)):
        total = 0.0
        for j in range(k):
            total += method.A[k, j] * trial.K[j, i]
        trial.y_new[i] = y[i] + h * total
    return state_rates(port, t + method.c[k] * h, trial.y_new, trial.K[k])


@allocating
def error_norm(
    method: ButcherTableau, trial: StepBuffers, h: float, rtol: float, atol: float
) -> float:
    """Return the error of a step in units of what is tolerated, as a root mean square."""
    n, count = len(trial.y), len(method.E)
    squares = np.zeros(2)
    for i in range(n):
        scale = atol + rtol * max(abs(trial.y[i]), abs(trial.y_new[i]))
        for k in range(count):
            error = 0.0
            for j in range(method.stages + 1):
                error += method.E[k, j] * trial.K[j, i]
            error /= scale
            squares[k] += error * error
    if count == 1:
        return float(abs(h) * np.sqrt(squares[0] / n))
    total = squares[0] + 0.01 * squares[1]
    return 0.0 if total == 0.0 else float(abs(h) * squares[0] / np.sqrt(total * n))


@compiled
def take_step(
    port: System,
    method: ButcherTableau,
    trial: StepBuffers,
    stop: float,
    longest: float,
    rtol: float,
    atol: float,
) -> int:
    """Take one step; return `ACCEPTED`, `STEP_TOO_SMALL` or `STOP`."""
    t, n = trial.times[T], len(trial.y)
    for i in range(n):
        trial.K[0, i] = trial.K[method.stages, i]
    min_step = MIN_STEP_ULPS * abs(np.nextafter(t, np.inf) - t)
    h = min(max(trial.times[H_ABS], min_step), longest)
    rejected = False
    while True:
        if h < min_step:
            return STEP_TOO_SMALL
        end = min(t + h, stop)
        h = end - t
        for k in range(1, method.stages + 1):
            if evaluate_stage(port, method, trial, k, t, h, trial.y) == STOP:
                return STOP
        error = error_norm(method, trial, h, rtol, atol)
        if error < 1.0:
            break
        factor = SAFETY * error ** (-1.0 / (method.order + 1))
        h *= factor if factor > MIN_FACTOR else MIN_FACTOR
        rejected = True
    factor = MAX_FACTOR
    if error > 0.0:
        factor = min(MAX_FACTOR, SAFETY * error ** (-1.0 / (method.order + 1)))
    trial.times[H_ABS] = h * (min(1.0, factor) if rejected else factor)
    trial.times[T_OLD], trial.times[T] = t, end
    for i in range(n):
        trial.y_old[i], trial.y[i] = trial.y[i], trial.y_new[i]
    return ACCEPTED


@deferred
def initial_step(
    port: System,
    method: ButcherTableau,
    trial: StepBuffers,
    stop: float,
    longest: float,
    rtol: float,
    atol: float,
) -> int:
    """Write a length for the first step: one of which Euler's method would be 1 % off.

    Returns 0 or `STOP`.
    """
    t, n, f = trial.times[T], len(trial.y), trial.K[method.stages]
    d = np.zeros(3)
    for i in range(n):
        scale = atol + rtol * abs(trial.y[i])
        size, rate = trial.y[i] / scale, f[i] / scale
        d[0] += size * size
        d[1] += rate * rate
    state, slope = np.sqrt(d[0] / n), np.sqrt(d[1] / n)
    h0 = 1e-6 if state < 1e-5 or slope < 1e-5 else 0.01 * state / slope
    h0 = min(h0, stop - t)
    for i in range(n):
        trial.y_new[i] = trial.y[i] + h0 * f[i]
    if state_rates(port, t + h0, trial.y_new, trial.K[1]) == STOP:
        return STOP
    for i in range(n):
        scale = atol + rtol * abs(trial.y[i])
        turn = (trial.K[1, i] - f[i]) / scale
        d[2] += turn * turn
    bend = np.sqrt(d[2] / n) / h0
    h1 = max(1e-6, 1e-3 * h0)
    if not (slope <= 1e-15 and bend <= 1e-15):
        h1 = (0.01 / max(slope, bend)) ** (1.0 / (method.order + 1))
    trial.times[H_ABS] = min(min(100.0 * h0, h1), min(stop - t, longest))
    return 0


@compiled
def dense_output(port: System, method: ButcherTableau, trial: StepBuffers, F: Matrix) -> int:
    """Write the coefficients of the states within the step that was taken last.

    ``F`` has shape ``(7, n)`` of a nested method, else ``(4, n)``. Returns 0, `FAULT` or `STOP`.
    """
    t, n = trial.times[T_OLD], len(trial.y)
    h, code = trial.times[T] - t, 0
    for k in range(method.stages + 1, len(method.A)):
        code = min(code, evaluate_stage(port, method, trial, k, t, h, trial.y_old))
    above = 3 if method.nested else 0
    for i in range(n):
        if method.nested:
            change, last = trial.y[i] - trial.y_old[i], trial.K[method.stages, i]
            F[0, i] = change
            F[1, i] = h * trial.K[0, i] - change
            F[2, i] = 2.0 * change - h * (last + trial.K[0, i])
        for k in range(len(method.D)):
            total = 0.0
            for j in range(len(method.A)):
                total += method.D[k, j] * trial.K[j, i]
            F[above + k, i] = h * total
    return code


@compiled
def interpolate(
    nested: bool, F: Matrix, y_old: Vector, start: float, h: float, times: Vector, states: Matrix
) -> None:
    """Write the states at times within a step, one row each; see `dense_output`."""
    for k in range(len(times)):
        x = (times[k] - start) / h
        factor = 1.0 - x if nested else x
        for i in range(len(y_old)):
            total = 0.0
            for j in range(len(F)):
                total += F[len(F) - 1 - j, i]
                total *= x if j % 2 == 0 else factor
            states[k, i] = y_old[i] + total
