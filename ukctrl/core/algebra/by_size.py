"""Which functions solve the one equation: compiled loops for few freedoms, LAPACK for many."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from ukctrl.core.algebra import constrained, grip, kernels, least_input
from ukctrl.core.algebra.grip import Lengths
from ukctrl.core.arrays import Matrix

LARGE = 48
"""From so many freedoms on, blocked factorisations are faster."""


class Solvers(NamedTuple):
    """The same arguments and, to rounding, the same answers at every size."""

    plain_answer: Callable[..., int]
    """`ukctrl.core.algebra.kernels.plain_answer`."""
    ranked_answer: Callable[..., int]
    """`ukctrl.core.algebra.constrained.ranked_answer`."""
    lengths: Callable[[Matrix, Matrix, Matrix], Lengths]
    """`ukctrl.core.algebra.grip.lengths`."""
    servo_input: Callable[..., int]
    """`ukctrl.core.algebra.least_input.servo_input`."""


def solvers(nv: int) -> Solvers:
    """Return the functions that suit a robot of ``nv`` freedoms."""
    if nv < LARGE:
        return Solvers(
            kernels.plain_answer, constrained.ranked_answer, grip.lengths, least_input.servo_input
        )
    # SciPy's linear algebra takes a tenth of a second to load, which most robots never need.
    from ukctrl.core.algebra import kernels_large as many

    return Solvers(many.plain_answer, many.ranked_answer, many.lengths, many.servo_input)
