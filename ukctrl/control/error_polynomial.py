r"""The equation that errors obey under a feedback, where it is linear.

A feedback that looks at the rows alone is a function $w(\phi, \dot\phi, \int\phi)$. Where it is
linear, row by row, one question for each argument tells its gains exactly, whatever it is called
and whoever wrote it.
"""

from __future__ import annotations

import dataclasses as dc
from collections.abc import Callable

import numpy as np

from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.tie_breaking import max_abs
from ukctrl.mechanics.constraints import Rows, Stack

PROBE_ERRORS = (1.0, -0.3, 40.0)
"""Errors at which a feedback is asked; a linear one gives the same gains at each."""
LINEARITY_RTOL = 1e-9
"""Gains that differ by more, relatively, are not those of a linear feedback."""


@dc.dataclass(frozen=True, kw_only=True)
class ErrorPolynomial:
    r"""The error of one row: $y^{(r)} + k_{r-1} y^{(r-1)} + \dots + k_0 y = 0$."""

    row: str
    gains: tuple[float, ...]
    """$k_0$ to $k_{r-1}$; with an integral, of the integral's own derivatives."""
    integral: bool = False
    """Whether the first state is an integral, which the law advances from tick to tick."""

    @property
    def poles(self) -> tuple[complex, ...]:
        """Roots of the continuous error [1/s], the slowest first."""
        roots = np.roots([1.0, *reversed(self.gains)])
        return tuple(sorted(roots.tolist(), key=lambda root: (-root.real, root.imag)))


def probed_error_polynomials(
    stack: Stack,
    memory: Vector,
    demand: Callable[[Rows, Vector], Vector],
    memory_rate: Callable[[Rows, Vector], Vector],
) -> tuple[ErrorPolynomial, ...]:
    """Return the equation of each row's error; empty where they are not linear, or mix rows.

    Args:
        stack: The rows.
        memory: The feedback's memory at the start, either none or one number a row.
        demand: Its demand.
        memory_rate: Time derivative of its memory, which must be ``phi`` of a holonomic row,
            ``beta`` of another and nothing else, for the memory to be their integral.
    """
    m, holonomic = len(stack), stack.holonomic
    nothing = Rows.zeros(m, stack.robot.nv)
    still = np.where(holonomic, 0.0, np.nan)
    none = np.zeros(len(memory))
    if len(memory) not in (0, m):
        return ()

    def response(level: str, size: Vector) -> tuple[Vector, Vector]:
        """Return what an error of one level takes from the demand, and what the memory gains."""
        beta, phi, past = np.zeros(m), still.copy(), none.copy()
        if level == "beta":
            beta = size
        elif level == "phi":
            phi = np.where(holonomic, size, np.nan)
        else:
            past = size
        rows = nothing._replace(beta=beta, phi=phi)
        with np.errstate(all="ignore"):
            return -np.asarray(demand(rows, past)), np.asarray(memory_rate(rows, past))

    levels = ("memory", "phi", "beta") if len(memory) else ("phi", "beta")
    gains: dict[str, Vector] = {}
    for level in levels:
        columns: list[Matrix] = []
        # one size cannot tell a linear law from one that bends: all must give the same gains
        for size in PROBE_ERRORS:
            responses = [response(level, size * row) for row in np.eye(m)]
            if any(action.shape != (m,) or rate.shape != none.shape for action, rate in responses):
                return ()
            columns.append(np.array([action for action, _ in responses]) / size)
            integrated = holonomic if level == "phi" else ~holonomic & (level == "beta")
            expected = np.diag(np.where(integrated, size, 0.0))
            if len(memory) and not np.allclose([rate for _, rate in responses], expected):
                return ()
        first = columns[0]
        tolerance = LINEARITY_RTOL * (1.0 + max_abs(first))
        alone = np.diag(np.diag(first))
        # an entry off the diagonal mixes rows: then no row has an equation of its own
        if not all(max_abs(matrix - alone) <= tolerance for matrix in columns):
            return ()
        gains[level] = np.diag(first) + 0.0  # no zero with a sign
    return tuple(
        ErrorPolynomial(
            row=name,
            gains=tuple(
                float(gains[level][i]) for level in levels if level != "phi" or holonomic[i]
            ),
            integral=bool(len(memory)),
        )
        for i, name in enumerate(stack.names)
    )
