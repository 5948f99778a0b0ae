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

Triple = tuple[float, float, float]
Quaternion = tuple[float, float, float, float]
Twist = tuple[Triple, Triple]
"""What moves along, and what turns."""

SERIES_BELOW = 0.25
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
def power_series(terms: tuple[float, ...], s: float) -> tuple[float, float]:
    """Return a power series and its slope."""
    value = slope = 0.0
    for k in range(len(terms) - 1, -1, -1):
        slope = slope * s + value
        value = value * s + terms[k]
    return value, slope


@compiled
def exp_coefficients(s: float) -> Quaternion:
    """Return ``b, c, b', c'`` at a squared angle."""
    if s < SERIES_BELOW:
        b, b_slope = power_series(B_SERIES, s)
        c, c_slope = power_series(C_SERIES, s)
        return b, c, b_slope, c_slope
    theta = np.sqrt(s)
    half = math.sin(0.5 * theta)
    mean, cosine = 2.0 * half * math.cos(0.5 * theta) / theta, 1.0 - 2.0 * half * half
    b, c = 2.0 * half * half / s, (1.0 - mean) / s
    return b, c, (0.5 * mean - b) / s, (0.5 * (mean - cosine) / s - c) / s


@compiled
def log_coefficients(s: float) -> tuple[float, float]:
    """Return ``beta`` and its slope at a squared angle."""
    if s < SERIES_BELOW:
        return power_series(BETA_SERIES, s)
    half = 0.5 * np.sqrt(s)
    sine = math.sin(half)
    along, across = half * math.cos(half) / sine, half * half / (sine * sine)
    beta = (1.0 - along) / s
    return beta, (0.5 * (across - along) / s - beta) / s


@inlined
def cross(a: Triple, b: Triple) -> Triple:
    """Return ``a x b``."""
    return (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])


@inlined
def add_scaled(a: Triple, k: float, b: Triple) -> Triple:
    """Return ``a + k b``."""
    return (a[0] + k * b[0], a[1] + k * b[1], a[2] + k * b[2])


@inlined
def squared_norm(a: Triple) -> float:
    """Return ``a . a``."""
    return a[0] * a[0] + a[1] * a[1] + a[2] * a[2]


@inlined
def bracket(a: Twist, b: Twist) -> Twist:
    """Return the Lie bracket of two twists."""
    return add_scaled(cross(a[1], b[0]), 1.0, cross(a[0], b[1])), cross(a[1], b[1])


@inlined
def add_scaled_twist(a: Twist, k: float, b: Twist) -> Twist:
    """Return ``a + k b``."""
    return add_scaled(a[0], k, b[0]), add_scaled(a[1], k, b[1])


@compiled
def exp_translation(step: Twist) -> Triple:
    """Return where the exponential of a twist moves the origin."""
    linear, angular = step
    b, c, _, _ = exp_coefficients(squared_norm(angular))
    across = cross(angular, linear)
    return add_scaled(add_scaled(linear, b, across), c, cross(angular, across))


@compiled
def log_translation(translation: Triple, angular: Triple) -> Triple:
    """Return the linear part of the twist that moves the origin to a place, given what turns."""
    beta, _ = log_coefficients(squared_norm(angular))
    across = cross(angular, translation)
    return add_scaled(add_scaled(translation, -0.5, across), beta, cross(angular, across))


@compiled
def quaternion_product(a: Quaternion, b: Quaternion) -> Quaternion:
    """Return the product of two quaternions."""
    return (
        a[3] * b[0] + a[0] * b[3] + a[1] * b[2] - a[2] * b[1],
        a[3] * b[1] + a[1] * b[3] + a[2] * b[0] - a[0] * b[2],
        a[3] * b[2] + a[2] * b[3] + a[0] * b[1] - a[1] * b[0],
        a[3] * b[3] - a[0] * b[0] - a[1] * b[1] - a[2] * b[2],
    )


@compiled
def quaternion_conjugate(a: Quaternion) -> Quaternion:
    """Return the quaternion that turns back."""
    return -a[0], -a[1], -a[2], a[3]


@compiled
def rotate_by_quaternion(a: Quaternion, x: Triple) -> Triple:
    """Return a vector that a quaternion turns."""
    axis = (a[0], a[1], a[2])
    twice = cross(axis, x)
    twice = add_scaled(twice, 1.0, twice)
    return add_scaled(add_scaled(x, a[3], twice), 1.0, cross(axis, twice))


@compiled
def exp_quaternion(angular: Triple) -> Quaternion:
    """Return the quaternion of a rotation vector."""
    theta = np.sqrt(squared_norm(angular))
    share = math.sin(0.5 * theta) / theta if theta > 0.0 else 0.5
    return share * angular[0], share * angular[1], share * angular[2], math.cos(0.5 * theta)


@compiled
def log_quaternion(a: Quaternion, b: Quaternion) -> Triple:
    """Return the rotation vector, of at most half a turn, from one quaternion to another."""
    x, y, z, w = quaternion_product(quaternion_conjugate(a), b)
    sign = 1.0 if w >= 0.0 else -1.0
    size = np.sqrt(x * x + y * y + z * z)
    share = 2.0 * sign * (math.atan2(size, sign * w) / size if size > 0.0 else 1.0)
    return share * x, share * y, share * z


@compiled
def right_jacobian(xi: Twist, rate: Twist) -> Twist:
    """Return ``J_r(xi) rate``."""
    s = squared_norm(xi[1])
    b, c, b_slope, c_slope = exp_coefficients(s)
    once = bracket(xi, rate)
    twice = bracket(xi, once)
    thrice = bracket(xi, twice)
    total = add_scaled_twist(rate, s * b_slope - b, once)
    total = add_scaled_twist(total, c - s * c_slope, twice)
    total = add_scaled_twist(total, b_slope, thrice)
    return add_scaled_twist(total, -c_slope, bracket(xi, thrice))


@compiled
def right_jacobian_inverse(xi: Twist, v: Twist) -> Twist:
    """Return ``x`` with ``J_r(xi) x = v``."""
    s = squared_norm(xi[1])
    beta, slope = log_coefficients(s)
    once = bracket(xi, v)
    twice = bracket(xi, once)
    total = add_scaled_twist(v, 0.5, once)
    total = add_scaled_twist(total, beta - s * slope, twice)
    return add_scaled_twist(total, -slope, bracket(xi, bracket(xi, twice)))
