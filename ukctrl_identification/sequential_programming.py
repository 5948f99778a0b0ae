r"""Sequential quadratic programming in a box of trust, for costs that are smooth where they exist.

$$ \min_d \; g^\top d + \tfrac12 d^\top B d + \mu\, e \quad \text{subject to} \quad
   s + J d + e \ge 0, \; e \ge 0, \; |d_i| \le \Delta $$

with ``B`` by damped BFGS updates: the linearised limits may be missed by ``e``, for the price
$\mu$ of the merit function (Fletcher, "Practical Methods of Optimization", 2nd ed., sections 14.3
and 14.4, with the second-order correction). A step that leads where there is no cost, or that gains
too little, is undone, and the box made smaller; only steps that are taken cost derivatives.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np

from ukctrl.core.arrays import Indices, Matrix, Vector

FIRST_PRICE, MAX_PRICE = 10.0, 1e4
r"""$\mu$: of a limit that is missed, beside the cost. It grows while steps prefer to pay."""
FIRST_BOX, MAX_BOX, MIN_BOX = 0.1, 1.0, 1e-4
r"""$\Delta$: of the first step, at most, and where the search ends."""
ACCEPTED, POOR, GOOD = 1e-4, 0.25, 0.7
"""Gains beside those that the model promises: of a step that is taken, below which the box becomes
smaller, and from which it becomes larger."""
DAMPING = 0.2
"""Curvature that an update of ``B`` keeps at least of what there was."""
LEAST_CURVATURE, MISS_CURVATURE = 1e-3, 1e-6
"""Of ``B`` and of ``e``: the solver cycles where programs are hardly convex."""
MAX_STEPS = 150
SOLVED = (1, 2)
"""What the solver says where it has an answer."""
UNBOUNDED = 1e30


class Values(NamedTuple):
    """Cost and limits somewhere."""

    cost: float
    slack: Vector
    """What is left of each limit; the search keeps it at or above zero, shape ``(m,)``."""

    def merit(self, price: float) -> float:
        """Return the cost, and the price of the limit that is missed most."""
        return self.cost + price * self.miss

    @property
    def miss(self) -> float:
        """By how much that is."""
        return max(0.0, -float(self.slack.min(initial=0.0)))


class Slopes(NamedTuple):
    """Derivatives of them."""

    gradient: Vector
    """Shape ``(n,)``."""
    jacobian: Matrix
    """Shape ``(m, n)``."""


class Objective(Protocol):
    """What is least, and within what."""

    def values(self, z: Vector) -> Values | None:
        """Return cost and limits at variables, shape ``(n,)``; None where they do not exist."""

    def slopes(self, z: Vector) -> Slopes:
        """Return their derivatives where they do."""


class _Step(NamedTuple):
    d: Vector
    promised: float
    """By how much the merit falls by the model."""
    pays: bool
    """Whether it misses linearised limits."""
    active: Indices
    """Limits that hold it back."""
    multipliers: Vector


def least_cost(objective: Objective, z: Vector, tolerance: float) -> Vector:
    """Return a local minimum of a cost within limits.

    Args:
        objective: The cost, of order one in variables of order one.
        z: Where the search begins, shape ``(n,)``.
        tolerance: Of the cost: the search ends where steps promise less.
    """
    at, slopes = objective.values(z), objective.slopes(z)
    assert at is not None
    B, box, price = np.eye(len(z)), FIRST_BOX, FIRST_PRICE
    for _ in range(MAX_STEPS):
        step = _step(at.slack, at.miss, slopes, B, box, price)
        if step is None or step.promised < tolerance or box < MIN_BOX:
            break
        if step.pays and price < MAX_PRICE:
            price *= 2.0
            continue
        d, new = step.d, objective.values(z + step.d)
        if new is not None and at.merit(price) - new.merit(price) < ACCEPTED * step.promised:
            # limits curve: what the step missed of them is told to it
            bent = new.slack - slopes.jacobian @ d
            again = _step(bent, at.miss, slopes, B, box, price)
            if again is not None:
                d, new = again.d, objective.values(z + again.d)
        gain = -np.inf if new is None else at.merit(price) - new.merit(price)
        largest = float(np.abs(d).max())
        if new is not None and gain > ACCEPTED * step.promised:
            new_slopes = objective.slopes(z + d)
            y = new_slopes.gradient - slopes.gradient
            y -= (new_slopes.jacobian - slopes.jacobian)[step.active].T @ step.multipliers
            B, z, at, slopes = _updated(B, d, y), z + d, new, new_slopes
        if gain < POOR * step.promised:
            box = 0.5 * largest
        elif gain > GOOD * step.promised and largest > 0.99 * box:
            box = min(2.0 * box, MAX_BOX)
    return z


def _step(
    slack: Vector, miss: float, slopes: Slopes, B: Matrix, box: float, price: float
) -> _Step | None:
    """Return the step of the quadratic program; None where the solver has none."""
    import daqp

    g, J, n = slopes.gradient, slopes.jacobian, len(B)
    # no step within the box uses up the others
    near = np.flatnonzero(slack < box * np.abs(J).sum(axis=1))
    H: Matrix = np.zeros((n + 1, n + 1))
    H[:n, :n], H[n, n] = B + LEAST_CURVATURE * np.eye(n), MISS_CURVATURE
    A = np.hstack([J[near], np.ones((len(near), 1))])
    upper = np.concatenate([np.full(n, box), np.full(1 + len(near), UNBOUNDED)])
    lower = np.concatenate([np.full(n, -box), [0.0], -slack[near]])
    sense = np.zeros(len(upper), dtype=np.intc)
    x, _, flag, info = daqp.solve(H, np.append(g, price), A, upper, lower, sense)
    if flag not in SOLVED:
        return None
    d, multipliers = np.asarray(x[:n]), -np.asarray(info["lam"])[n + 1 :]
    promised = price * (miss - x[n]) - g @ d - 0.5 * d @ H[:n, :n] @ d
    held = multipliers != 0.0
    return _Step(d, float(promised), bool(x[n] > MIN_BOX), near[held], multipliers[held])


def _updated(B: Matrix, d: Vector, y: Vector) -> Matrix:
    """Return ``B`` with the curvature that a step has found, positive definite (Powell 1978)."""
    Bd = B @ d
    old, new = float(d @ Bd), float(d @ y)
    if new < DAMPING * old:
        share = (1.0 - DAMPING) * old / (old - new)
        y = share * y + (1.0 - share) * Bd
    return np.asarray(B - np.outer(Bd, Bd) / old + np.outer(y, y) / float(d @ y))
