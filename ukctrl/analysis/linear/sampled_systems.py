r"""Linear systems at the ticks of a hold: the plant, with inputs that arrive late, and sensors.

With the input held over a period $T$ and a delay $d = m T + f$, $0 \le f < T$,

$$ x_{k+1} = e^{AT} x_k + \Gamma_0\, u_{k-m} + \Gamma_1\, u_{k-m-1}, \qquad
   \Gamma_0 = \int_0^{T-f} e^{As}\,\mathrm ds\, B, \qquad
   \Gamma_1 = e^{A(T-f)} \int_0^{f} e^{As}\,\mathrm ds\, B, $$

which is exact. The inputs that are on their way are states.

References:
    Astrom & Wittenmark, "Computer-Controlled Systems", 3rd ed., 1997, section 2.3.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from ukctrl.core.arrays import Matrix
from ukctrl.mechanics.linearise import Linearization, zero_order_hold
from ukctrl.simulation.effects.effect import Effect, LinearSensorModel, RunContext, SensorEffect

PERIOD_RTOL = 1e-9
"""A delay this close to a whole number of periods is one, in periods."""


class LinearSystem(NamedTuple):
    """A linear system from inputs to outputs, ``x_next = A x + B u``, ``y = C x + D u``."""

    A: Matrix
    B: Matrix
    C: Matrix
    D: Matrix
    states: tuple[str, ...]


def sampled_plant(
    A: Matrix,
    B: Matrix,
    states: tuple[str, ...],
    inputs: tuple[str, ...],
    period: float,
    delays: Sequence[float],
    *,
    heard: bool = False,
) -> LinearSystem:
    """Return a continuous system at the ticks of a hold; its outputs are its own states.

    Args:
        A: Shape ``(n, n)``.
        B: Shape ``(n, m)``.
        states: Names of the states.
        inputs: Names of the inputs.
        period: Between ticks [s].
        delays: By how much each input arrives late, ``m`` of them [s].
        heard: Whether the inputs that act when the next ones are asked for are outputs too.
    """
    n, m = B.shape
    split = {delay: _ticks_and_part(delay, period) for delay in delays}
    past = [
        whole + (remainder > 0.0 or heard)
        for whole, remainder in (split[delay] for delay in delays)
    ]
    waiting = [(k, j) for k in range(1, max(past, default=0) + 1) for j in range(m) if k <= past[j]]
    indices = {pair: n + at for at, pair in enumerate(waiting)}
    size = n + len(waiting)
    F, G = np.zeros((size, size)), np.zeros((size, m))
    F[:n, :n] = zero_order_hold(A, B, period)[0]
    for delay, (whole, remainder) in split.items():
        step, last_effect = zero_order_hold(A, B, period - remainder)
        effects = {whole: last_effect}
        if remainder:
            effects[whole + 1] = step @ zero_order_hold(A, B, remainder)[1]
        for j in (j for j in range(m) if delays[j] == delay):
            for ticks, effect in effects.items():
                if ticks:
                    F[:n, indices[ticks, j]] += effect[:, j]
                else:
                    G[:n, j] += effect[:, j]
    for k, j in waiting:
        if k == 1:
            G[indices[k, j], j] = 1.0
        else:
            F[indices[k, j], indices[k - 1, j]] = 1.0
    names = [f"{inputs[j]} {k} back" for k, j in waiting]
    C = np.eye(n, size)
    if heard:
        acting = [indices[split[delay][0] + 1, j] for j, delay in enumerate(delays)]
        C = np.vstack([C, np.eye(size)[acting]])
    return LinearSystem(F, G, C, np.zeros((len(C), m)), (*states, *names))


def _ticks_and_part(delay: float, period: float) -> tuple[int, float]:
    whole = math.floor(delay / period + PERIOD_RTOL)
    remainder = delay - whole * period
    return whole, remainder if remainder > PERIOD_RTOL * period else 0.0


def series(first: LinearSystem, second: LinearSystem) -> LinearSystem:
    """Return the system that feeds the outputs of the first to the second."""
    A = np.block(
        [
            [first.A, np.zeros((len(first.A), len(second.A)))],
            [second.B @ first.C, second.A],
        ]
    )
    return LinearSystem(
        A,
        np.vstack([first.B, second.B @ first.D]),
        np.hstack([second.D @ first.C, second.C]),
        second.D @ first.D,
        (*first.states, *second.states),
    )


class LinearSensors(NamedTuple):
    """The way from the plant's states to what the law measures."""

    block: LinearSystem
    """From the plant's states to coordinates of what is measured."""
    full: Matrix
    """All measured deviations ``(dq, dv)`` from those, shape ``(2 nv, k)``."""


def linear_sensors(
    effects: Sequence[Effect], linear: Linearization, context: RunContext
) -> LinearSensors:
    """Return the linear part of a scenario's sensors; noise and rounding have none."""
    n = len(linear.A)
    measurement = LinearSensors(_identity(n), linear.full)
    for _, sensor_model in sensor_parts(effects, context):
        if sensor_model is not None and sensor_model.delay:
            ticks = round(sensor_model.delay / (context.period or 1.0))
            measurement = measurement._replace(
                block=series(measurement.block, _delay_line(ticks, measurement))
            )
        if sensor_model is not None and sensor_model.differentiates:
            assert context.period is not None  # it acts at the ticks
            measurement = _differentiator(sensor_model, measurement, linear, context.period)
    return measurement


def sensor_parts(
    effects: Sequence[Effect], context: RunContext
) -> Iterator[tuple[SensorEffect, LinearSensorModel | None]]:
    """Yield the effects on sensors, each with its linear part if it has one."""
    for effect in effects:
        if isinstance(effect, SensorEffect):
            yield effect, effect.linear(context)


def _identity(n: int) -> LinearSystem:
    none = np.zeros((0, 0))
    return LinearSystem(none, np.zeros((0, n)), np.zeros((n, 0)), np.eye(n), ())


def _delay_line(ticks: int, sensors: LinearSensors) -> LinearSystem:
    k = len(sensors.block.D)
    size = ticks * k
    if not ticks:
        return _identity(k)
    A, B, C = np.zeros((size, size)), np.zeros((size, k)), np.zeros((k, size))
    B[:k] = np.eye(k)
    A[k:, :-k] = np.eye(size - k)
    C[:, -k:] = np.eye(k)
    names = [f"measured {i + 1}, {back} back" for back in range(1, ticks + 1) for i in range(k)]
    return LinearSystem(A, B, C, np.zeros((k, k)), tuple(names))


def _differentiator(
    sensor_model: LinearSensorModel, sensors: LinearSensors, linear: Linearization, period: float
) -> LinearSensors:
    r"""Return velocities worked out from two ticks, through a low-pass where there is one."""
    robot, i = linear.robot, linear.positions
    n, k, nv = len(i), len(sensors.block.D), robot.nv
    N = linear.full[:nv, :n]
    turn = robot.bracket(linear.v)[i] @ N  # the tangent frame turns along with the motion
    share = (
        1.0
        if sensor_model.cutoff is None
        else -math.expm1(-math.tau * sensor_model.cutoff * period)
    )
    one = np.eye(n)
    raw = one / period + turn
    # States: the configuration of the last tick, then the filtered velocity.
    to_rate = np.hstack([-share / period * one, (1.0 - share) * one])
    A = np.vstack([np.zeros((n, 2 * n)), to_rate])
    B = np.zeros((2 * n, k))
    B[:n, :n], B[n:, :n] = one, share * raw
    C = np.vstack([np.zeros((n, 2 * n)), to_rate])
    D = np.zeros((2 * n, k))
    D[:n, :n], D[n:, :n] = one, share * raw
    names = [robot.dofs[j] for j in i]
    states = (*(f"{name} 1 back" for name in names), *(f"filtered v.{name}" for name in names))
    full = np.zeros((2 * nv, 2 * n))
    full[:nv, :n], full[nv:, n:] = N, N
    return LinearSensors(series(sensors.block, LinearSystem(A, B, C, D, states)), full)
