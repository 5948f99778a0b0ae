"""A table of steps at the states that one's own loop measures: one call of machine code a tick."""

from __future__ import annotations

from array import array
from functools import partial
from typing import Any, final

import numpy as np
from numba import types
from numpy.typing import ArrayLike

from ukctrl.core.arrays import Indices, Vector
from ukctrl.core.compiled import compiled, config, is_tested_numba, python_entry_only
from ukctrl.core.jit.block_layout import pack_arguments
from ukctrl.core.program import KernelSequence, run
from ukctrl.robot.manifold_kernels import has_unit_norms
from ukctrl.robot.snapshot import Snapshot

INVALID_STATE = -3
"""What `run_at_state` returns of a state that is not the robot's, or not finite."""
TABLE_TYPE: Any = types.Array(types.int64, 2, "C")
VECTOR_TYPE: Any = types.Array(types.float64, 1, "C")
READ_ONLY_VECTOR_TYPE: Any = types.Array(types.float64, 1, "C", readonly=True)
"""As the arrays of a result are: without machine code for it, it would cost ten ticks."""


@compiled
def take_state(
    blocks: Indices,
    clock: Vector,
    here_q: Vector,
    here_v: Vector,
    t: float,
    q: Vector,
    v: Vector,
) -> int:
    """Copy a state to where steps read it.

    Returns 0, or `INVALID_STATE` of one that does not fit, is not finite or no configuration.
    """
    if len(q) != len(here_q) or len(v) != len(here_v):
        return INVALID_STATE
    zero = 0.0  # but NaN where an entry is not finite
    for i in range(len(q)):
        here_q[i] = q[i]
        zero += 0.0 * q[i]
    for i in range(len(v)):
        here_v[i] = v[i]
        zero += 0.0 * v[i]
    clock[0] = t
    return 0 if zero == 0.0 and has_unit_norms(blocks, here_q) else INVALID_STATE


@compiled
def run_at_state(
    lines: Indices,
    blocks: Indices,
    clock: Vector,
    here_q: Vector,
    here_v: Vector,
    t: float,
    q: Vector,
    v: Vector,
) -> int:
    """Run the steps of a table at a state; return what `run` does, or `INVALID_STATE`."""
    code = take_state(blocks, clock, here_q, here_v, t, q, v)
    return run(lines) if code == 0 else code


if is_tested_numba:
    from ukctrl.core.jit.argument_block import arguments_from_address

    here_at: Any = arguments_from_address(
        (TABLE_TYPE, TABLE_TYPE, VECTOR_TYPE, VECTOR_TYPE, VECTOR_TYPE)
    )


@python_entry_only
def run_at_state_in_block(block: int, t: float, q: Vector, v: Vector) -> int:
    """Run steps at a state, as `run_at_state`; its first five arrays are laid out at an address.

    Every array that Python hands over takes 50 ns.
    """
    lines, blocks, clock, here_q, here_v = here_at(block)
    return run_at_state(lines, blocks, clock, here_q, here_v, t, q, v)


@final
class StateEvaluator:
    """Steps that evaluate a robot at a state and answer it, called with one state after another."""

    def __init__(self, snapshot: Snapshot, steps: KernelSequence) -> None:
        self._snapshot, self._steps = snapshot, steps
        blocks = snapshot.robot.structure.manifold_table
        args = steps.lines, blocks, snapshot.clock, snapshot.q, snapshot.v
        if config.DISABLE_JIT or not is_tested_numba:
            self._run: Any = partial(run_at_state, *args)
            return
        kernel: Any = run_at_state_in_block
        if kernel._can_compile:
            for vector in (VECTOR_TYPE, READ_ONLY_VECTOR_TYPE):
                kernel.make_python_entry((types.int64, types.float64, vector, vector))
            kernel.disable_compile()  # for a list or a column of a matrix, which `at` converts
        words: list[int] = []
        pack_arguments(args, words)
        self._block = array("q", words)
        self._run = partial(kernel, self._block.buffer_info()[0])

    def evaluate(self, t: float, q: ArrayLike, v: ArrayLike) -> None:
        """Run the steps at a measured state.

        Raises:
            ShapeError: ``q`` or ``v`` does not have the shape of the robot.
            InputError: They are not finite numbers, or a rotation is not of unit length.
        """
        try:
            code = self._run(t, q, v)
        # lists and odd arrays: converted, slowly
        except TypeError:
            code = self._run(float(t), *(np.array(x) for x in self._check_shapes(q, v)))
        if code < 0:
            if code == INVALID_STATE:
                self._check_shapes(q, v)
            self._steps.raise_fault()

    def _check_shapes(self, q: ArrayLike, v: ArrayLike) -> tuple[Vector, Vector]:
        structure = self._snapshot.robot.structure
        return structure.checked_q(q), structure.checked_v(v)
