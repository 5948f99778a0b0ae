"""How what steps write changes along some directions of a state, by differences in machine code."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, final

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
from ukctrl.core.program import BoundKernel, KernelSequence, KernelStep, run
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
        args = self._steps.lines, blocks, s.q, s.v, out, float(step), np.array(weights), buffers
        self._given = DifferenceTables(*args)
        self._size = len(out)

    def __call__(self, directions: Matrix) -> Matrix:
        """Return the slopes at the state in the snapshot, shape ``(m, k)``.

        Args:
            directions: Shape ``(2 nv, k)``.
        """
        slopes: Matrix = np.zeros((self._size, directions.shape[1]))
        if directional_differences(self._given, np.ascontiguousarray(directions), slopes) < 0:
            self._steps.raise_fault()
        return slopes

    def step(self, directions: Matrix, slopes: Matrix) -> KernelStep:
        """Return what writes the slopes along directions that are there then."""
        args = self._given, directions, slopes
        return BoundKernel(directional_differences, *args, inside=self._steps)

    def inside(self, kernel: Callable[..., int], *arguments: Any, **options: Any) -> BoundKernel:
        """Return a kernel that calls `directional_differences`, with its tables in front."""
        return BoundKernel(kernel, self._given, *arguments, inside=self._steps, **options)


class DifferenceTables(NamedTuple):
    """What `directional_differences` needs of the steps that it repeats."""

    lines: Indices
    blocks: Indices
    q: Vector
    v: Vector
    out: Vector
    step: float
    weights: Vector
    buffers: tuple[Vector, Vector, Vector]


@compiled
def directional_differences(tables: DifferenceTables, directions: Matrix, slopes: Matrix) -> int:
    """Write the slopes of what lines write, see `DirectionalDifferences`.

    Returns what `run` does where it fails.
    """
    lines, blocks, q, v, out, step, weights, buffers = tables
    q_0, v_0, dq = buffers
    n, code = len(v), 0
    for r in range(len(slopes)):
        for c in range(slopes.shape[1]):
            slopes[r, c] = 0.0
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
