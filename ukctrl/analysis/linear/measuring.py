"""What the law measures of the plant's deviations, as a linear system at its ticks."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from ukctrl.analysis.linear.sampling import Block, series
from ukctrl.core.arrays import Matrix
from ukctrl.mechanics.linearise import Linearization
from ukctrl.simulation.effects.effect import Bench, Effect, LinearReading, SensorEffect


class Measured(NamedTuple):
    """The way from the plant's states to what the law measures."""

    block: Block
    """From the plant's states to coordinates of what is measured."""
    full: Matrix
    """All measured deviations ``(dq, dv)`` from those, shape ``(2 nv, k)``."""


def measured(effects: Sequence[Effect], linear: Linearization, bench: Bench) -> Measured:
    """Return the linear part of a scenario's sensors; noise and rounding have none."""
    n = len(linear.A)
    measurement = Measured(_straight(n), linear.full)
    for _, part in readings(effects, bench):
        if part is not None and part.late:
            ticks = round(part.late / (bench.period or 1.0))
            measurement = measurement._replace(
                block=series(measurement.block, _delay(ticks, measurement))
            )
        if part is not None and part.differentiates:
            assert bench.period is not None  # it acts at the ticks
            measurement = _differentiated(part, measurement, linear, bench.period)
    return measurement


def readings(
    effects: Sequence[Effect], bench: Bench
) -> Iterator[tuple[SensorEffect, LinearReading | None]]:
    """Yield the effects on sensors, each with its linear part if it has one."""
    for effect in effects:
        if isinstance(effect, SensorEffect):
            yield effect, effect.linear(bench)


def _straight(n: int) -> Block:
    none = np.zeros((0, 0))
    return Block(none, np.zeros((0, n)), np.zeros((n, 0)), np.eye(n), ())


def _delay(ticks: int, before: Measured) -> Block:
    k = len(before.block.D)
    size = ticks * k
    if not ticks:
        return _straight(k)
    A, B, C = np.zeros((size, size)), np.zeros((size, k)), np.zeros((k, size))
    B[:k] = np.eye(k)
    A[k:, :-k] = np.eye(size - k)
    C[:, -k:] = np.eye(k)
    names = [f"measured {i + 1}, {back} back" for back in range(1, ticks + 1) for i in range(k)]
    return Block(A, B, C, np.zeros((k, k)), tuple(names))


def _differentiated(
    part: LinearReading, before: Measured, linear: Linearization, period: float
) -> Measured:
    r"""Return velocities worked out from two ticks, through a low-pass where there is one."""
    robot, i = linear.robot, linear.positions
    n, k, nv = len(i), len(before.block.D), robot.nv
    N = linear.full[:nv, :n]
    turn = robot.bracket(linear.v)[i] @ N  # the tangent frame turns along with the motion
    share = 1.0 if part.cutoff is None else -math.expm1(-math.tau * part.cutoff * period)
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
    return Measured(series(before.block, Block(A, B, C, D, states)), full)
