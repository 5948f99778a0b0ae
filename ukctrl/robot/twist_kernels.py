r"""Twists, quaternions and the exponential of SE(3), compiled, as tuples of numbers.

A twist $\xi = (\rho, \omega)$ moves and turns a frame, told in its own axes. The right Jacobian of
the exponential and its inverse are series in the bracket $\mathrm{ad} = [\xi, \cdot]$, whose fifth
power is one of its lower ones. With $s = \lVert\omega\rVert^2$ and $\hat f = f - s f'$ (primes: by
$s$)

$$J_r = 1 - \hat b\,\mathrm{ad} + \hat c\,\mathrm{ad}^2 + b'\,\mathrm{ad}^3 - c'\,\mathrm{ad}^4,
\qquad J_r^{-1} = 1 + \tfrac12 \mathrm{ad} + \hat\beta\,\mathrm{ad}^2 - \beta'\,\mathrm{ad}^4,$$

of $b = (1 - \cos\theta)/\theta^2$, $c = (\theta - \sin\theta)/\theta^3$ and
$\beta = (1 - \tfrac\theta2 \cot\tfrac\theta2)/\theta^2$ at $\theta = \sqrt s$ (Bullo and Murray,
Proportional derivative (PD) control on the Euclidean group, 1995, appendix A). What moves in a
plane, or only turns, is a subgroup.
"""

from __future__ import annotations

import math

import numpy as np

from ukctrl.core.compiled import compiled, inlined

Three = tuple[float, float, float]
Quaternion = tuple[float, float, float, float]
Twist = tuple[Three, Three]
"""What moves along, and what turns."""

NEAR = 0.25
"""Squared angle below which differences that cancel are added up as series [rad^2]."""
ORDERS = range(8)
"""Terms of a series: the first that is left out is below rounding there."""
B_SERIES = tuple((-1.0) ** k / math.factorial(2 * k + 2) for k in ORDERS)
C_SERIES = tuple((-1.0) ** k / math.factorial(2 * k + 3) for k in ORDERS)
BETA_SERIES = (
    1 / 12, 1 / 720, 1 / 30240, 1 / 1209600, 1 / 47900160, 691 / 1307674368000, 1 / 74724249600,
    3617 / 10670622842880000,
)  # fmt: skip
"""Bernoulli's numbers $|B_{2k}| / (2k)!$."""


@compiled
def series(terms: tuple[float, ...], s: float) -> tuple[float, float]:
    """Return a power series and its slope."""
    value = slope = 0.0
    for k in range(len(terms) - 1, -1, -1):
        slope = slope * s + value
        value = value * s + terms[k]
    return value, slope


@compiled
def turning(s: float) -> Quaternion:
    """Return ``b, c, b', c'`` at a squared angle."""
    if s < NEAR:
        b, b_slope = series(B_SERIES, s)
        c, c_slope = series(C_SERIES, s)
        return b, c, b_slope, c_slope
    theta = np.sqrt(s)
    half = math.sin(0.5 * theta)
    mean, cosine = 2.0 * half * math.cos(0.5 * theta) / theta, 1.0 - 2.0 * half * half
    b, c = 2.0 * half * half / s, (1.0 - mean) / s
    return b, c, (0.5 * mean - b) / s, (0.5 * (mean - cosine) / s - c) / s


@compiled
def returning(s: float) -> tuple[float, float]:
    """Return ``beta`` and its slope at a squared angle."""
    if s < NEAR:
        return series(BETA_SERIES, s)
    half = 0.5 * np.sqrt(s)
    sine = math.sin(half)
    along, across = half * math.cos(half) / sine, half * half / (sine * sine)
    beta = (1.0 - along) / s
    return beta, (0.5 * (across - along) / s - beta) / s


@inlined
def cross(a: Three, b: Three) -> Three:
    """Return ``a x b``."""
    return (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])


@inlined
def plus(a: Three, k: float, b: Three) -> Three:
    """Return ``a + k b``."""
    return (a[0] + k * b[0], a[1] + k * b[1], a[2] + k * b[2])


@inlined
def square(a: Three) -> float:
    """Return ``a . a``."""
    return a[0] * a[0] + a[1] * a[1] + a[2] * a[2]


@inlined
def bracket(a: Twist, b: Twist) -> Twist:
    """Return the Lie bracket of two twists."""
    return plus(cross(a[1], b[0]), 1.0, cross(a[0], b[1])), cross(a[1], b[1])


@inlined
def twist_sum(a: Twist, k: float, b: Twist) -> Twist:
    """Return ``a + k b``."""
    return plus(a[0], k, b[0]), plus(a[1], k, b[1])


@compiled
def moved_along(step: Twist) -> Three:
    """Return where the exponential of a twist moves the origin."""
    linear, angular = step
    b, c, _, _ = turning(square(angular))
    across = cross(angular, linear)
    return plus(plus(linear, b, across), c, cross(angular, across))


@compiled
def linear_step(place: Three, angular: Three) -> Three:
    """Return the linear part of the twist that moves the origin to a place, given what turns."""
    beta, _ = returning(square(angular))
    across = cross(angular, place)
    return plus(plus(place, -0.5, across), beta, cross(angular, across))


@compiled
def product(a: Quaternion, b: Quaternion) -> Quaternion:
    """Return the product of two quaternions."""
    return (
        a[3] * b[0] + a[0] * b[3] + a[1] * b[2] - a[2] * b[1],
        a[3] * b[1] + a[1] * b[3] + a[2] * b[0] - a[0] * b[2],
        a[3] * b[2] + a[2] * b[3] + a[0] * b[1] - a[1] * b[0],
        a[3] * b[3] - a[0] * b[0] - a[1] * b[1] - a[2] * b[2],
    )


@compiled
def conjugate(a: Quaternion) -> Quaternion:
    """Return the quaternion that turns back."""
    return -a[0], -a[1], -a[2], a[3]


@compiled
def turned(a: Quaternion, x: Three) -> Three:
    """Return a vector that a quaternion turns."""
    axis = (a[0], a[1], a[2])
    twice = cross(axis, x)
    twice = plus(twice, 1.0, twice)
    return plus(plus(x, a[3], twice), 1.0, cross(axis, twice))


@compiled
def turn_by(angular: Three) -> Quaternion:
    """Return the quaternion of a rotation vector."""
    theta = np.sqrt(square(angular))
    share = math.sin(0.5 * theta) / theta if theta > 0.0 else 0.5
    return share * angular[0], share * angular[1], share * angular[2], math.cos(0.5 * theta)


@compiled
def turn_from(a: Quaternion, b: Quaternion) -> Three:
    """Return the rotation vector, of at most half a turn, from one quaternion to another."""
    x, y, z, w = product(conjugate(a), b)
    sign = 1.0 if w >= 0.0 else -1.0
    size = np.sqrt(x * x + y * y + z * z)
    share = 2.0 * sign * (math.atan2(size, sign * w) / size if size > 0.0 else 1.0)
    return share * x, share * y, share * z


@compiled
def chart_velocity(xi: Twist, rate: Twist) -> Twist:
    """Return ``J_r(xi) rate``."""
    s = square(xi[1])
    b, c, b_slope, c_slope = turning(s)
    once = bracket(xi, rate)
    twice = bracket(xi, once)
    thrice = bracket(xi, twice)
    total = twist_sum(rate, s * b_slope - b, once)
    total = twist_sum(total, c - s * c_slope, twice)
    total = twist_sum(total, b_slope, thrice)
    return twist_sum(total, -c_slope, bracket(xi, thrice))


@compiled
def chart_slope(xi: Twist, v: Twist) -> Twist:
    """Return ``x`` with ``J_r(xi) x = v``."""
    s = square(xi[1])
    beta, slope = returning(s)
    once = bracket(xi, v)
    twice = bracket(xi, once)
    total = twist_sum(v, 0.5, once)
    total = twist_sum(total, beta - s * slope, twice)
    return twist_sum(total, -slope, bracket(xi, bracket(xi, twice)))
