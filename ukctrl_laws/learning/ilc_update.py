r"""From the errors of a trial to the correction of the next.

The error of a row obeys $\ddot e + k_d \dot e + k_p e + k_i \int e = c + d$ with the correction $c$
of this trial and all that disturbs it, $d$. Its left side, taken from what was measured, is the
inverse of the closed loop applied to $e$; tick by tick, with $\dot e$ and $e$ at the ticks,

$$ r_k = \frac{\dot e_{k+1} - \dot e_k}{h} + k_d \dot e_k + k_p e_k + k_i \sum_{l<k} h\, e_l ,
   \qquad c^{j+1} = Q\,[c^j - \gamma\, r^j] . $$

References:
    Arimoto, Kawamura & Miyazaki, "Bettering operation of robots by learning", J. Robotic Systems
    1(2), 1984; Bristow, Tharayil & Alleyne, "A survey of iterative learning control", IEEE Control
    Systems Magazine 26(3), 2006.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, final

import numpy as np

from ukctrl.control.error_polynomial import ErrorPolynomial
from ukctrl.core.arrays import Flags, Indices, Matrix
from ukctrl.core.errors import InputError
from ukctrl.core.fields import Count, Hertz, Index, Quantity, spec

FILTER_ORDER = 2
"""Of the low-pass, which runs once forward and once backward."""
MIN_TICKS = 20
"""Ticks of a trial, for the low-pass to have ends that do not meet."""


@final
@spec
class Learning:
    r"""How a row's correction follows from the errors of the trials before.

    Where the rows answer a correction with $m$ times what is believed, and nothing is late, the
    error falls by $|Q(\omega)|\,|1 - \gamma m|$ per trial at each frequency.
    """

    trials: Count = 10
    """How often the task is repeated before the correction is kept."""
    gain: Annotated[float, Quantity("1", minimum=0.0, maximum=2.0, open_minimum=True)] = 0.5
    r"""Share $\gamma$ of what is left that one trial learns: less averages noise over trials."""
    cutoff: Hertz = 20.0
    """Frequency above which nothing is learnt, where $Q$ halves the correction [Hz]."""
    lead: Index = 0
    """By how many ticks a correction comes before the error that it answers, where sensors,
    computation and motors are late."""

    def checked(self, period: float, ticks: int) -> None:
        """Refuse what a trial of so many ticks cannot be learnt from.

        Raises:
            InputError: The cutoff is beyond half of the sampling rate, or ticks are too few.
        """
        if not self.cutoff < 0.5 / period:
            raise InputError(
                f"cutoff must be below half of the sampling rate, {0.5 / period:g} Hz; got "
                f"{self.cutoff:g} Hz."
            )
        if ticks < MIN_TICKS + self.lead:
            raise InputError(
                f"a trial must have at least {MIN_TICKS + self.lead} ticks to learn from; got "
                f"{ticks}."
            )

    def next_correction(
        self, c: Matrix, beta: Matrix, phi: Matrix, h: float, gains: Matrix
    ) -> Matrix:
        """Return the correction of the next trial.

        Args:
            c: Correction of this one at its ``n`` ticks, shape ``(n, m)`` [row/s^2].
            beta: Velocity errors there, as the law measured them, ``(n, m)``.
            phi: Position errors, ``(n, m)``; anything on rows that have none.
            h: Control period [s].
            gains: Of each row the velocity error's, the position error's and the integral's, as
                `feedback_gains` has them, shape ``(4, m)``.
        """
        update = c - self.gain * row_residuals(beta, phi, h, gains)[self._lead_indices(len(c))]
        return zero_phase_low_pass(update, self.cutoff, h)

    def _lead_indices(self, n: int) -> Indices:
        indices: Indices = np.minimum(np.arange(n) + self.lead, n - 1)
        return indices


def row_residuals(beta: Matrix, phi: Matrix, h: float, gains: Matrix) -> Matrix:
    """Return the left side of the rows' equation at each tick; the last repeats the one before."""
    r = -feedback_acceleration(beta, phi, h, gains)
    r[:-1] += np.diff(beta, axis=0) / h
    r[-1] = r[-2]
    return r


def feedback_acceleration(beta: Matrix, phi: Matrix, h: float, gains: Matrix) -> Matrix:
    """Return what a law's feedback adds to the demand at each tick, ``(n, m)`` [row/s^2]."""
    a: Matrix = np.zeros_like(beta)
    for k, error in enumerate((beta, phi, _integral(phi, h), _integral(beta, h))):
        acts = gains[k] != 0.0  # phi is NaN on nonholonomic rows, and NaN * 0 is NaN
        a[:, acts] -= gains[k, acts] * error[:, acts]
    return a


def _integral(error: Matrix, h: float) -> Matrix:
    """Return the integral that a law has at each tick, by Euler's method."""
    integral: Matrix = h * (np.cumsum(error, axis=0) - error)
    return integral


def zero_phase_low_pass(c: Matrix, cutoff: float, h: float) -> Matrix:
    """Return signals, shape ``(n, m)``, without what is above a frequency, none of it later.

    Beyond their ends they are mirrored. Were they turned round there, ends would pass unchanged;
    what a first tick cannot mend, because inputs are late, would then grow from trial to trial.
    """
    from scipy.signal import butter, sosfiltfilt

    pad_length = min(round(1.0 / (cutoff * h)), len(c) - 1)
    sections = butter(FILTER_ORDER, cutoff, fs=1.0 / h, output="sos")
    filtered: Matrix = sosfiltfilt(sections, c, axis=0, padtype="even", padlen=pad_length)
    return filtered


def feedback_gains(polynomials: Sequence[ErrorPolynomial], holonomic: Flags) -> Matrix:
    """Return gains of ``beta``, ``phi`` and their integrals, shape ``(4, m)``, row by row.

    Raises:
        InputError: The error of the rows obeys no linear equation.
    """
    if len(polynomials) != len(holonomic) or not len(holonomic):
        raise InputError(
            "learning needs servo rows and a feedback that is linear in their errors, row by row, "
            "as baumgarte, pid, first_order and exact are."
        )
    gains: Matrix = np.zeros((4, len(holonomic)))
    for i, (equation, has_place) in enumerate(zip(polynomials, holonomic, strict=True)):
        *lower, gains[0, i] = equation.gains
        if has_place:
            gains[1, i] = lower.pop()
        if equation.integral:
            gains[2 if has_place else 3, i] = lower.pop()
    return gains
