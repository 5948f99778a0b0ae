"""How contacts that stand share a load, where no motion tells."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ukctrl.core.arrays import Matrix, Vector
from ukctrl.mechanics.impact import ImpactContact

NULL_RTOL = 1e-9
"""Singular value of unit rows below which forces along them move nothing."""


def internal_forces(rows: Matrix, lengths: Vector) -> Matrix:
    r"""Return a basis $N$ of multipliers that move nothing, $A^\top N = 0$, shape ``(m, k)``.

    Args:
        rows: Rows of unit length, zeros where none holds, shape ``(m, nv)``.
        lengths: Their lengths before, shape ``(m,)``.
    """
    held = np.flatnonzero(lengths > 0.0)
    basis = np.zeros((len(rows), 0))
    if held.size:
        U, sigma, _ = np.linalg.svd(rows[held])
        null = U[:, int(np.sum(sigma > NULL_RTOL)) :]
        basis = np.zeros((len(rows), null.shape[1]))
        basis[held] = null / lengths[held, None]
    return basis


def least_used_cones(
    reaction: Vector, internal: Matrix, contacts: Sequence[ImpactContact]
) -> tuple[Vector, float]:
    r"""Return the internal forces with which contacts use the least part of their cones.

    $\min_z \max_c \lVert \lambda_{t,c} \rVert / (\mu_c \lambda_{n,c})$ of $\lambda + N z$ with all
    $\lambda_n > 0$: at or below 1 all contacts can stand as they are, whichever forces of the same
    effect are looked at first.

    Args:
        reaction: Multipliers $\lambda$ of all rows, shape ``(m,)``.
        internal: $N$, see `internal_forces`.
        contacts: Those that stand, by their rows.

    Returns:
        $N z$, shape ``(m,)``, and the part; infinite where one must pull.
    """
    normal = np.array([contact.normal[0] for contact in contacts])
    slip = np.array([contact.tangential[:2] for contact in contacts])
    mu = np.array([contact.mu for contact in contacts])
    size = float(np.abs(reaction).max())
    if size == 0.0 or internal.shape[1] == 0:
        return np.zeros(len(reaction)), np.inf
    # most runs have no internal forces, and need no optimiser
    from scipy.optimize import minimize

    force = reaction / size

    def largest_part(z: Vector) -> float:
        shared = force + internal @ z
        friction = np.linalg.norm(shared[slip], axis=1)
        # without friction a contact asks for nothing but to be pressed
        rubs, load = mu > 0.0, shared[normal]
        if load.min() <= 0.0:
            return np.inf
        return float((friction[rubs] / (mu * load)[rubs]).max(initial=0.0))

    def room(x: Vector) -> Vector:
        shared = force + internal @ x[:-1]
        load, friction = shared[normal], shared[slip]
        return np.concatenate([(x[-1] * mu * load) ** 2 - (friction**2).sum(axis=1), load])

    start = np.zeros(internal.shape[1])
    part = largest_part(start)
    best = minimize(
        lambda x: x[-1],
        np.append(start, min(part, 10.0)),
        method="SLSQP",
        constraints={"type": "ineq", "fun": room},
        options={"ftol": 1e-12},
    ).x[:-1]
    # whatever the search says: the part of forces that are there
    if not largest_part(best) < part:
        return np.zeros(len(reaction)), part
    return size * (internal @ best), largest_part(best)
