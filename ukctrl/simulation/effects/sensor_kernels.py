"""Sensor kernels: each formula stands at the effect that it belongs to.

Arrays that a kernel reads and writes again are the memory of a sensor.
"""

from __future__ import annotations

import math

import numpy as np

from ukctrl.core.arrays import Array, Flags, Indices, Matrix, Vector
from ukctrl.core.compiled import compiled
from ukctrl.robot.manifold_kernels import difference, integrate


@compiled
def add_error(
    blocks: Indices, q: Vector, v: Vector, dq: Vector, dv: Vector, q_read: Vector, v_read: Vector
) -> None:
    """Write a state that is off by a tangent step and by a velocity."""
    integrate(blocks, q, dq, q_read)
    for i in range(len(v)):
        v_read[i] = v[i] + dv[i]


@compiled
def scale_noise(deviation: Matrix, numbers: Array, used: Indices, out: Matrix) -> int:
    """Write the next of each row of random numbers, times its deviation.

    Args:
        deviation: Standard deviations, shape ``(2, nv)``.
        numbers: What was drawn ahead, shape ``(2, n, nv)``.
        used: How many of the ``n`` were used, shape ``(1,)``.
        out: Shape ``(2, nv)``.

    Returns:
        0, or -1 where the last ones have been used: others must be drawn before the next call.
    """
    for k in range(len(out)):
        for i in range(out.shape[1]):
            out[k, i] = deviation[k, i] * numbers[k, used[0], i]
    used[0] += 1
    return -1 if used[0] == numbers.shape[1] else 0


@compiled
def quantise(coordinates: Indices, turns: Flags, step: Vector, q: Vector, q_read: Vector) -> None:
    """Write a configuration with the nearest step of some coordinates; see `EncoderSettings`."""
    for i in range(len(q)):
        q_read[i] = q[i]
    for k in range(len(step)):
        at = coordinates[k]
        if turns[k]:
            # the angle is what an encoder reads, and neither its cosine nor its sine
            angle = step[k] * np.round(math.atan2(q[at + 1], q[at]) / step[k])
            q_read[at], q_read[at + 1] = np.cos(angle), np.sin(angle)
        else:
            q_read[at] = step[k] * np.round(q[at] / step[k])


@compiled
def differentiate(
    blocks: Indices,
    rate: float,
    clock: Vector,
    q: Vector,
    v: Vector,
    since: Vector,
    old: Vector,
    filtered: Vector,
    v_read: Vector,
) -> None:
    """Write the velocity between two ticks through a low-pass; at the first one, ``v``.

    Args:
        blocks: How configurations move.
        rate: Of the low-pass [1/s]; infinite where there is none.
        clock: Time of the tick, shape ``(1,)`` [s].
        q: Configuration, shape ``(nq,)``.
        v: Velocity, shape ``(nv,)``.
        since: Time of the tick before, shape ``(1,)`` [s]; NaN where there was none.
        old: Configuration at that tick, shape ``(nq,)``.
        filtered: What was written then, shape ``(nv,)``.
        v_read: Shape ``(nv,)``.
    """
    passed = clock[0] - since[0]
    if np.isnan(passed):
        for i in range(len(v)):
            v_read[i] = v[i]
    else:
        difference(blocks, old, q, v_read)
        # exact for any interval, as jitter has it; expm1 keeps the digits of small ones
        share = -math.expm1(-rate * passed)
        for i in range(len(v)):
            raw = v_read[i] / passed
            # without a low-pass the difference itself, and no rounding of a sum
            v_read[i] = raw if share == 1.0 else filtered[i] + share * (raw - filtered[i])
    since[0] = clock[0]
    for i in range(len(q)):
        old[i] = q[i]
    for i in range(len(v)):
        filtered[i] = v_read[i]


@compiled
def delay_state(
    q: Vector,
    v: Vector,
    kept_q: Matrix,
    kept_v: Matrix,
    ticks: Indices,
    q_read: Vector,
    v_read: Vector,
) -> None:
    """Keep a state in the next row of a ring, and write the oldest that is kept.

    Args:
        q: Configuration, shape ``(nq,)``.
        v: Velocity, shape ``(nv,)``.
        kept_q: Shape ``(n, nq)`` for a delay of ``n - 1`` ticks.
        kept_v: Shape ``(n, nv)``.
        ticks: How many there were, shape ``(1,)``.
        q_read: Shape ``(nq,)``.
        v_read: Shape ``(nv,)``.
    """
    size = len(kept_q)
    row = ticks[0] % size
    ticks[0] += 1
    # until the ring is full the first state stands for all before it
    oldest = ticks[0] % size if ticks[0] >= size else 0
    for i in range(len(q)):
        kept_q[row, i] = q[i]
        q_read[i] = kept_q[oldest, i]
    for i in range(len(v)):
        kept_v[row, i] = v[i]
        v_read[i] = kept_v[oldest, i]


@compiled
def apply_play(
    blocks: Indices,
    freedoms: Indices,
    gap: Vector,
    q: Vector,
    v: Vector,
    ticks: Indices,
    last: Vector,
    behind: Vector,
    step: Vector,
    q_read: Vector,
    v_read: Vector,
) -> None:
    """Write readings that stay within a gap until their joint has crossed it.

    Args:
        blocks: How configurations move.
        freedoms: Of the joints, in ``v``, shape ``(k,)``.
        gap: Free play, shape ``(k,)``.
        q: Configuration, shape ``(nq,)``.
        v: Velocity, shape ``(nv,)``.
        ticks: How many there were, shape ``(1,)``.
        last: Configuration at the last one, shape ``(nq,)``.
        behind: By how much a reading is ahead of its joint, shape ``(k,)``.
        step: To work with, shape ``(nv,)``.
        q_read: Shape ``(nq,)``.
        v_read: Shape ``(nv,)``.
    """
    for i in range(len(v)):
        step[i], v_read[i] = 0.0, v[i]
    if ticks[0] > 0:
        difference(blocks, last, q, step)
    ticks[0] += 1
    for i in range(len(q)):
        last[i] = q[i]
    for k in range(len(gap)):
        half = 0.5 * gap[k]
        behind[k] -= step[freedoms[k]]
        # within the gap the encoder rests; at a flank it turns as its joint does
        if np.abs(behind[k]) < half:
            v_read[freedoms[k]] = 0.0
        elif behind[k] > half:
            behind[k] = half
        elif behind[k] < -half:
            behind[k] = -half
    for i in range(len(v)):
        step[i] = 0.0
    for k in range(len(gap)):
        step[freedoms[k]] = behind[k]
    integrate(blocks, q, step, q_read)
