"""A table of steps at the states that one's own loop measures: one call of machine code a tick."""

from __future__ import annotations

from array import array
from functools import partial
from typing import Any, final

import numpy as np
from numba import types
from numpy.typing import ArrayLike

from ukctrl.core.arrays import Indices, Vector
from ukctrl.core.compiled import compiled, config, for_python, is_tried
from ukctrl.core.jit.block_layout import laid_out
from ukctrl.core.program import Steps, run
from ukctrl.robot.configuration_kernels import is_unit
from ukctrl.robot.snapshot import Snapshot

UNFIT = -3
"""What `tick_at` returns of a state that is not the robot's, or not finite."""
TABLE: Any = types.Array(types.int64, 2, "C")
VECTOR: Any = types.Array(types.float64, 1, "C")
READ_ONLY: Any = types.Array(types.float64, 1, "C", readonly=True)
"""As the arrays of a result are: without machine code for it, it would cost ten ticks."""


@compiled
def tick_at(
    lines: Indices,
    blocks: Indices,
    clock: Vector,
    here_q: Vector,
    here_v: Vector,
    t: float,
    q: Vector,
    v: Vector,
) -> int:
    """Copy a state to where the steps of a table read it, and run them; return what `run` does.

    Of a state that does not fit, is not finite or no configuration, `UNFIT`; no step has run then.
    """
    if len(q) != len(here_q) or len(v) != len(here_v):
        return UNFIT
    zero = 0.0  # but NaN where an entry is not finite
    for i in range(len(q)):
        here_q[i] = q[i]
        zero += 0.0 * q[i]
    for i in range(len(v)):
        here_v[i] = v[i]
        zero += 0.0 * v[i]
    clock[0] = t
    return run(lines) if zero == 0.0 and is_unit(blocks, here_q) else UNFIT


if is_tried:
    from ukctrl.core.jit.argument_block import arguments_at

    here_at: Any = arguments_at((TABLE, TABLE, VECTOR, VECTOR, VECTOR))


@for_python
def tick_at_block(block: int, t: float, q: Vector, v: Vector) -> int:
    """Do what `tick_at` does, whose first five arrays are laid out at an address.

    Every array that Python hands over takes 50 ns.
    """
    lines, blocks, clock, here_q, here_v = here_at(block)
    return tick_at(lines, blocks, clock, here_q, here_v, t, q, v)


@final
class MeasuredTick:
    """Steps that evaluate a robot at a state and answer it, called with one state after another."""

    def __init__(self, snapshot: Snapshot, steps: Steps) -> None:
        self._snapshot, self._steps = snapshot, steps
        blocks = snapshot.robot.structure.configurations
        here = steps.lines, blocks, snapshot.clock, snapshot.q, snapshot.v
        if config.DISABLE_JIT or not is_tried:
            self._run: Any = partial(tick_at, *here)
            return
        kernel: Any = tick_at_block
        if kernel._can_compile:
            for vector in (VECTOR, READ_ONLY):
                kernel.enter((types.int64, types.float64, vector, vector))
            kernel.disable_compile()  # for a list or a column of a matrix, which `at` converts
        words: list[int] = []
        laid_out(here, words)
        self._block = array("q", words)
        self._run = partial(kernel, self._block.buffer_info()[0])

    def at(self, t: float, q: ArrayLike, v: ArrayLike) -> None:
        """Run the steps at a measured state.

        Raises:
            ShapeError: ``q`` or ``v`` does not have the shape of the robot.
            InputError: They are not finite numbers, or a rotation is not of unit length.
        """
        try:
            code = self._run(t, q, v)
        except TypeError:
            code = self._run(float(t), *(np.array(x) for x in self._checked(q, v)))
        if code < 0:
            if code == UNFIT:
                self._checked(q, v)
            self._steps.complain()

    def _checked(self, q: ArrayLike, v: ArrayLike) -> tuple[Vector, Vector]:
        structure = self._snapshot.robot.structure
        return structure.checked_q(q), structure.checked_v(v)
