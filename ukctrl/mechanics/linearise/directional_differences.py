"""How what steps write changes along some directions of a state, by differences in machine code."""

from __future__ import annotations

from collections.abc import Iterable
from typing import final

import numpy as np

from ukctrl.core.algebra.factorisation import copy_into
from ukctrl.core.algebra.finite_differences import (
    ROUGH_STEP,
    SECOND_ORDER_WEIGHTS,
    SIXTH_ORDER_WEIGHTS,
    STEP,
)
from ukctrl.core.arrays import Indices, Matrix, Vector
from ukctrl.core.compiled import compiled
from ukctrl.core.program import KernelSequence, KernelStep, run
from ukctrl.robot import Snapshot
from ukctrl.robot.manifold_kernels import integrate


@final
class DirectionalDifferences:
    """Central differences of what steps write, along directions ``(dq, dv)`` of a state.

    Args:
        snapshot: Whose state the steps read; it is moved about, and its state put back.
        steps: What writes ``out``, all that it depends on included.
        out: Shape ``(m,)``.
        rough: Whether nine digits will do, with a third of the evaluations.
    """

    def __init__(
        self, snapshot: Snapshot, steps: Iterable[KernelStep], out: Vector, *, rough: bool
    ) -> None:
        s, self._steps = snapshot, KernelSequence(steps)
        step, weights = (ROUGH_STEP, SECOND_ORDER_WEIGHTS) if rough else (STEP, SIXTH_ORDER_WEIGHTS)
        buffers = s.q.copy(), s.v.copy(), s.v.copy()
        blocks = s.robot.structure.manifold_table
        self._given = self._steps.lines, blocks, s.q, s.v, out, step, np.array(weights), buffers
        self._size = len(out)

    def __call__(self, directions: Matrix) -> Matrix:
        """Return the slopes at the state in the snapshot, shape ``(m, k)``.

        Args:
            directions: Shape ``(2 nv, k)``.
        """
        slopes: Matrix = np.zeros((self._size, directions.shape[1]))
        if directional_differences(*self._given, np.ascontiguousarray(directions), slopes) < 0:
            self._steps.raise_fault()
        return slopes


@compiled
def directional_differences(
    lines: Indices,
    blocks: Indices,
    q: Vector,
    v: Vector,
    out: Vector,
    step: float,
    weights: Vector,
    buffers: tuple[Vector, Vector, Vector],
    directions: Matrix,
    slopes: Matrix,
) -> int:
    """Add to zeros the slopes of what lines write, see `DirectionalDifferences`.

    Returns what `run` does where it fails.
    """
    q_0, v_0, dq = buffers
    n, code = len(v), 0
    copy_into(q, q_0)
    copy_into(v, v_0)
    for c in range(directions.shape[1]):
        for k in range(2 * len(weights)):
            sign = 1.0 if k % 2 == 0 else -1.0
            far = sign * (1 + k // 2) * step
            for i in range(n):
                dq[i] = far * directions[i, c]
                v[i] = v_0[i] + far * directions[n + i, c]
            integrate(blocks, q_0, dq, q)
            code = run(lines)
            if code < 0:
                break
            for r in range(len(out)):
                slopes[r, c] += sign * weights[k // 2] / step * out[r]
        if code < 0:
            break
    copy_into(q_0, q)
    copy_into(v_0, v)
    return code
