"""Collocation at Radau's points, from one stage (backward Euler) to many."""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np

from ukctrl.core.arrays import Matrix, Vector

MAX_STAGES = 9
"""More stages than this gain nothing in double precision."""


class Radau(NamedTuple):
    """A collocation scheme on the unit step."""

    nodes: Vector
    """The stages in (0, 1], the last one at the end, shape ``(s,)``."""
    D: Matrix
    """Derivative at the stages of the polynomial through the start and the stages, from its values
    there, shape ``(s, s + 1)``."""


@functools.cache
def radau(stages: int) -> Radau:
    """Return Radau's scheme IIA; with one stage it is the backward Euler method.

    References:
        Hairer & Wanner, "Solving Ordinary Differential Equations II", 1996, section IV.5.
    """
    from scipy.special import roots_jacobi

    inner = roots_jacobi(stages - 1, 1.0, 0.0)[0] if stages > 1 else np.zeros(0)
    nodes = np.append(0.5 * (inner + 1.0), 1.0)
    return Radau(nodes, differentiation(np.append(0.0, nodes))[1:])


def differentiation(nodes: Vector) -> Matrix:
    """Return the derivatives at the nodes of the polynomial with given values there."""
    weights = barycentric(nodes)
    gaps = nodes[:, None] - nodes
    np.fill_diagonal(gaps, 1.0)
    D = weights / weights[:, None] / gaps
    np.fill_diagonal(D, 0.0)
    np.fill_diagonal(D, -D.sum(axis=1))
    derivative: Matrix = D
    return derivative


def interpolation(nodes: Vector, places: Vector) -> Matrix:
    """Return the values at places of the polynomial with given values at the nodes."""
    weights = barycentric(nodes)
    gaps = places[:, None] - nodes
    hits = np.abs(gaps) < 1e-14
    at_node = hits.any(axis=1)
    weight: Matrix = hits.astype(np.float64)
    terms = weights / gaps[~at_node]
    weight[~at_node] = terms / terms.sum(axis=1, keepdims=True)
    return weight


def barycentric(nodes: Vector) -> Vector:
    """Return the weights of the barycentric formula (Berrut & Trefethen 2004)."""
    gaps = nodes[:, None] - nodes
    np.fill_diagonal(gaps, 1.0)
    weights: Vector = 1.0 / gaps.prod(axis=1)
    return weights
