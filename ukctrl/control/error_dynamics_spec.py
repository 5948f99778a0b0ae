r"""Terms: what the error of a row is asked to do, whichever law brings it about.

The error is to have its poles at one distance $\omega$ from zero: $s + \omega$ of first order,
$s^2 + 2 \zeta \omega s + \omega^2$ of second, and with an integral a further pole at $-\omega$. One
number says how quick that is, in one of three ways. Each scales with $\omega$, so that what it is
for $\omega = 1$, worked out once, gives $\omega$ exactly:

| term | of an error $e$ | scale |
|---|---|---|
| settling time $t_s$ | let go at rest, $e$ is below 2 % for good after $t_s$ | $\tau/\omega$ |
| bandwidth | where the sensitivity $S = s^n/p(s)$ first comes up to $1/\sqrt 2$ | $c\,\omega$ |
| rejection $r$ | a sudden acceleration of 1 brings $e$ no farther than $r$ | $d/\omega^2$ |

Below its bandwidth a loop takes away more than 3 dB of what disturbs it (Skogestad & Postlethwaite,
"Multivariable Feedback Control", 2nd ed., section 2.4.5). Of a double pole at $-\omega$ it is
$1.55\,\omega$.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Annotated, Literal, final

import numpy as np
from pydantic import model_validator

from ukctrl.core.arrays import Vector
from ukctrl.core.errors import InputError
from ukctrl.core.fields import Positive, Quantity, Rate, Seconds, spec

SETTLING_BAND = 0.02
"""An error below this fraction of what it was has settled, as the metric ``settling_time`` says."""
MIN_DAMPING, MAX_DAMPING = 0.05, 10.0
PoleCount = Literal[1, 2, 3]
"""How many poles the error of a row has; three: two and that of an integral."""
SPEED_FIELDS = ("settling", "bandwidth", "rejection")
"""The terms of which one is given."""
ERROR_SPEC_FIELDS = ("bandwidth", "settling", "rejection", "damping")
"""All that may be asked, by the names that files and commands have for it."""


@final
@spec
class ErrorSpec:
    """What is asked of the error of every row: how quick, and how damped."""

    settling: Seconds | None = None
    """Until an error let go at rest is below 2 % for good [s]."""
    bandwidth: Annotated[Rate, Quantity("rad/s", minimum=0.0, open_minimum=True)] | None = None
    """Below it, disturbances are taken away by more than 3 dB [rad/s]."""
    rejection: Positive | None = None
    """How far an error goes, at most, under a sudden acceleration of 1 of its row [s^2]."""
    damping: Annotated[float, Quantity("1", minimum=MIN_DAMPING, maximum=MAX_DAMPING)] = 1.0
    """Damping ratio of the pair of poles."""

    @model_validator(mode="after")
    def _check_speed_field(self) -> ErrorSpec:
        fields = [name for name in SPEED_FIELDS if getattr(self, name) is not None]
        if len(fields) != 1:
            came = " and ".join(fields) or "none"
            raise InputError(f"needs one of settling, bandwidth and rejection; got {came}.")
        return self

    def frequency(self, poles: PoleCount = 2) -> float:
        r"""Return how far the poles are from zero, $\omega$ [rad/s].

        Raises:
            InputError: An error of one pole has no position whose rejection could be asked for.
        """
        if self.settling is not None:
            return natural_frequency(self.settling, self.damping, poles)
        if self.bandwidth is not None:
            return self.bandwidth / _unit_bandwidth(self.damping, poles)
        assert self.rejection is not None  # one of the three is given
        if poles == 1:
            raise InputError(
                "rejection is of position errors; a law of first order in the velocity leaves "
                "them where they are. Give a bandwidth or a settling time."
            )
        return math.sqrt(_unit_rejection(self.damping, poles) / self.rejection)

    def second_order(self) -> tuple[float, float]:
        r"""Return the gains of $s^2 + 2 \zeta \omega s + \omega^2$, stiffness first."""
        w = self.frequency()
        return w * w, 2.0 * self.damping * w

    def third_order(self) -> tuple[float, float, float]:
        r"""Return ``kp, ki, kd`` of $(s^2 + 2 \zeta \omega s + \omega^2)(s + \omega)$."""
        w, two = self.frequency(3), 2.0 * self.damping
        return (1.0 + two) * w * w, w**3, (1.0 + two) * w

    def beside_a_third(self) -> ErrorSpec:
        """Return the terms by which a pair of poles is where it is beside that of an integral.

        With an observer whose pole is as far from zero, both together do what is asked.
        """
        bandwidth = self.frequency(3) * _unit_bandwidth(self.damping, 2)
        return ErrorSpec(bandwidth=bandwidth, damping=self.damping)

    def real_pair(self) -> tuple[float, float] | None:
        """Return the rates of the two poles, the slower first; None where they are not real.

        What a law on a surface can have: the error decays to the surface with one, and along it
        with the other.
        """
        if self.damping < 1.0:
            return None
        w, apart = self.frequency(), math.sqrt(self.damping**2 - 1.0)
        fast = w * (self.damping + apart)
        return w * w / fast, fast

    def as_bandwidth(self, poles: PoleCount = 2) -> float:
        """Return the bandwidth of an error of so many poles that does what is asked [rad/s]."""
        return self.frequency(poles) * _unit_bandwidth(self.damping, poles)

    def __str__(self) -> str:
        name = next(name for name in SPEED_FIELDS if getattr(self, name) is not None)
        unit = {"settling": "s", "bandwidth": "rad/s", "rejection": "s²"}[name]
        phrase = {"settling": "settling in", "bandwidth": "a bandwidth of"}.get(
            name, f"a {name} of"
        )
        return f"{phrase} {getattr(self, name):g} {unit} with damping {self.damping:g}"


def natural_frequency(settling: float, damping: float, poles: PoleCount = 2) -> float:
    """Return how far the poles of an error are from zero that settles in that time [rad/s].

    Args:
        settling: Until the error is below 2 % for good [s].
        damping: Damping ratio of the pair of poles.
        poles: How many there are; three: with an integral.

    Raises:
        InputError: An argument is out of range.
    """
    if not (0.0 < settling < math.inf):
        raise InputError(f"the settling time must be positive; got {settling:g} s.")
    if not MIN_DAMPING <= damping <= MAX_DAMPING:
        raise InputError(
            f"the damping ratio must be from {MIN_DAMPING:g} to {MAX_DAMPING:g}; got {damping:g}."
        )
    return _unit_settling_time(damping, poles) / settling


def unit_polynomial(damping: float, poles: PoleCount) -> Vector:
    """Return the coefficients of the error's equation for a frequency of 1, the highest first."""
    two = 2.0 * damping
    polynomials = {1: [1.0, 1.0], 2: [1.0, two, 1.0], 3: [1.0, 1.0 + two, 1.0 + two, 1.0]}
    return np.array(polynomials[poles])


@functools.cache
def _unit_settling_time(damping: float, poles: PoleCount) -> float:
    """Return after how long an error of frequency 1 settles, released at rest."""
    released = np.zeros(poles)
    released[max(poles - 2, 0)] = 1.0  # behind the integral, where there is one
    return _last_crossing(damping, poles, released, max(poles - 2, 0))


@functools.cache
def _unit_bandwidth(damping: float, poles: PoleCount) -> float:
    r"""Return where the sensitivity of an error of frequency 1 first comes up to $1/\sqrt 2$.

    $|p(j\omega)|^2 = 2 \omega^{2n}$ is a polynomial in $\omega^2$.
    """
    p = unit_polynomial(damping, poles)
    real, imaginary = np.zeros(poles + 1), np.zeros(poles + 1)
    for k, c in enumerate(reversed(p)):  # c (j w)^k
        (real if k % 2 == 0 else imaginary)[poles - k] = c * (1.0 if k % 4 in (0, 1) else -1.0)
    size = np.convolve(real, real) + np.convolve(imaginary, imaginary)
    size[0] -= 2.0
    roots = np.roots(size)
    # roots of a real polynomial come with rounding: real is what is so to nine digits
    crossing = roots.real[(np.abs(roots.imag) < 1e-9 * np.abs(roots)) & (roots.real > 0.0)]
    return float(crossing.min())


@functools.cache
def _unit_rejection(damping: float, poles: PoleCount) -> float:
    """Return how far an error of frequency 1 goes under a sudden acceleration of 1, two or three
    poles: a step through $1/p$, or where an integral takes it back, an impulse.
    """
    from scipy.optimize import minimize_scalar

    flow = _transition_matrix(damping, poles)
    if poles == 2:
        if damping >= 1.0:
            return 1.0
        return 1.0 + math.exp(-math.pi * damping / math.sqrt(1.0 - damping**2))
    impulse = np.array([0.0, 0.0, 1.0])
    # in units of the time constant; the peak lies far within 20 of them, and the search refines it
    times = np.linspace(0.0, 20.0 * max(1.0, damping), 4001)
    sizes = np.array([flow(t) @ impulse for t in times])[:, 0]
    k = int(np.argmax(sizes))
    optimum = minimize_scalar(
        lambda t: -float((flow(t) @ impulse)[0]),
        bounds=(times[max(k - 1, 0)], times[k + 1]),
        method="bounded",
        options={"xatol": 1e-12},
    )
    return float(-optimum.fun)


def _transition_matrix(damping: float, poles: PoleCount) -> Callable[[float], Vector]:
    """Return the transition of the error's states, of frequency 1."""
    from scipy.linalg import companion, expm

    A = np.asarray(companion(unit_polynomial(damping, poles)))[::-1, ::-1]
    return lambda t: np.asarray(expm(A * t))


def _last_crossing(damping: float, poles: PoleCount, x: Vector, index: int) -> float:
    """Return the last time at which an entry of the states is as large as `SETTLING_BAND`."""
    from scipy.optimize import brentq

    flow, step = _transition_matrix(damping, poles), 0.02
    forward, states = flow(step), [x]
    slowest = -float(np.roots(unit_polynomial(damping, poles)).real.max())
    # 2 % is left after four slowest time constants of one pole: eight hold the last crossing of
    # more
    for _ in range(math.ceil(8.0 / (slowest * step))):
        states.append(forward @ states[-1])
    sizes = np.abs(np.array(states)[:, index])
    last = int(np.flatnonzero(sizes > SETTLING_BAND)[-1])

    def outside(t: float) -> float:
        return abs(float((flow(t) @ x)[index])) - SETTLING_BAND

    return float(brentq(outside, last * step, (last + 1) * step, xtol=1e-13))
