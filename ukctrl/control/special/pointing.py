"""Where a body should point so that its thrust gives what is wanted, compiled."""

from __future__ import annotations

import numpy as np

from ukctrl.core.algebra.compiled import compiled
from ukctrl.core.arrays import Matrix, Vector
from ukctrl.mechanics.constraints.kinematics import cross, quaternion

FALLING = 1.0
"""Below this the wanted thrust [m/s^2] loses its say in the direction, and at zero has none."""
UPRIGHT = 0.1
"""The same for the heading, below this sine of its angle to the z axis."""


@compiled
def fading(size: float, limit: float) -> float:
    """Return what stands in for a direction: nothing from ``limit`` on, all of it at zero."""
    return limit * (1.0 - size / limit) ** 3 if size < limit else 0.0


@compiled
def point(d: Vector, heading: float, now: Matrix, R: Matrix) -> None:
    r"""Write the orientation with its z axis along ``d`` and its x axis nearest a heading.

    $$ z \propto d + w(|d| / d_0)\, d_0\, z_\mathrm{now}, \qquad
       y \propto z \times h + w(|z \times h| / s_0)\, s_0\, y_\mathrm{now}, \qquad
       w(s) = \max(0, 1 - s)^3, $$

    $h$ the heading. The weights $w$ are zero unless a direction is about to vanish; there the body
    stays as it is, instead of turning at any rate.
    """
    size = float(np.sqrt(d @ d))
    z: Vector = d + fading(size, FALLING) * now[:, 2]
    length = np.sqrt(z @ z)
    if length > 0.0:
        z /= length
    else:
        z[:] = now[:, 2]
    ahead = np.array([np.cos(heading), np.sin(heading), 0.0])
    y, x = np.empty(3), np.empty(3)
    cross(z, ahead, y)
    sine = float(np.sqrt(y @ y))
    weight = fading(sine, UPRIGHT)
    for i in range(3):
        y[i] += weight * now[i, 1]
    cross(y, z, x)
    length = np.sqrt(x @ x)
    if length == 0.0:
        cross(now[:, 1], z, x)
        length = np.sqrt(x @ x)
    x /= length
    cross(z, x, y)
    R[:, 0], R[:, 1], R[:, 2] = x, y, z


@compiled
def turned(start: Matrix, end: Matrix, phi: Vector) -> None:
    r"""Write the turn between two orientations in world axes, $4 \tan(\theta/4)$ about its axis."""
    E = np.zeros((3, 3))
    for i in range(3):
        for k in range(3):
            for c in range(3):
                E[i, k] += end[i, c] * start[k, c]
    eta, epsilon = quaternion(E)
    for i in range(3):
        phi[i] = 4.0 * epsilon[i] / (1.0 + eta)
