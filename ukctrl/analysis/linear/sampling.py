r"""Linear systems at the ticks of a hold, with inputs that arrive late.

With the input held over a period $T$ and a delay $d = m T + f$, $0 \le f < T$,

$$ x_{k+1} = e^{AT} x_k + \Gamma_0\, u_{k-m} + \Gamma_1\, u_{k-m-1}, \qquad
   \Gamma_0 = \int_0^{T-f} e^{As}\,\mathrm ds\, B, \qquad
   \Gamma_1 = e^{A(T-f)} \int_0^{f} e^{As}\,\mathrm ds\, B, $$

which is exact. The inputs that are on their way are states.

References:
    Astrom & Wittenmark, "Computer-Controlled Systems", 3rd ed., 1997, section 2.3.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ukctrl.core.arrays import Matrix
from ukctrl.mechanics.linearise import held

SAME = 1e-9
"""A delay this close to a whole number of periods is one, in periods."""


class Block(NamedTuple):
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
    delay: float = 0.0,
) -> Block:
    """Return a continuous system at the ticks of a hold; its outputs are its own states.

    Args:
        A: Shape ``(n, n)``.
        B: Shape ``(n, m)``.
        states: Names of the states.
        inputs: Names of the inputs.
        period: Between ticks [s].
        delay: By how much inputs arrive late [s].
    """
    n, m = B.shape
    whole = int(np.floor(delay / period + SAME))
    part = delay - whole * period
    part = part if part > SAME * period else 0.0
    step, late = held(A, B, period - part)
    past = whole + (part > 0.0)
    size = n + past * m
    F, G = np.zeros((size, size)), np.zeros((size, m))
    F[:n, :n] = held(A, B, period)[0]

    def arrive(ticks: int, effect: Matrix) -> None:
        """Let the input of some ticks ago act."""
        if ticks == 0:
            G[:n] += effect
        else:
            F[:n, n + (ticks - 1) * m : n + ticks * m] += effect

    arrive(whole, late)
    if part:
        arrive(whole + 1, step @ held(A, B, part)[1])
    if past:
        G[n : n + m] = np.eye(m)
        F[n + m :, n:-m] = np.eye((past - 1) * m)
    waiting = [f"{name} {k} back" for k in range(1, past + 1) for name in inputs]
    C = np.eye(n, size)
    return Block(F, G, C, np.zeros((n, m)), (*states, *waiting))


def series(first: Block, second: Block) -> Block:
    """Return the system that feeds the outputs of the first to the second."""
    A = np.block(
        [
            [first.A, np.zeros((len(first.A), len(second.A)))],
            [second.B @ first.C, second.A],
        ]
    )
    return Block(
        A,
        np.vstack([first.B, second.B @ first.D]),
        np.hstack([second.D @ first.C, second.C]),
        second.D @ first.D,
        (*first.states, *second.states),
    )
