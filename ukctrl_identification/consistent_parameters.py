r"""Parameters that bodies can have, near those of the model where a log says nothing.

A body's mass is distributed somehow exactly if its pseudo-inertia

$$ J = \begin{bmatrix} \tfrac12 \mathrm{tr}(I)\,1 - I & h \\ h^\top & m \end{bmatrix} $$

is positive definite (Wensing, Kim & Slotine, "Linear matrix inequalities for physically-consistent
inertial parameter identification", IEEE RA-L 3, 2018). With $J_0 = L L^\top$ the model's it is
written as $J = L\, e^S L^\top$, ``S`` symmetric: every step is consistent, and
$\lVert S\rVert_F$ is its distance from the model in the affine-invariant metric, which units and
axes do not change (Lee & Park, "A geometric algorithm for robust multibody inertial parameter
identification", IEEE RA-L 3, 2018).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ukctrl.core.arrays import Matrix, Vector
from ukctrl_identification.base_parameters import BaseParameters
from ukctrl_identification.identified_spread import pseudo_inertia
from ukctrl_identification.least_squares import Fit
from ukctrl_identification.regression import Regression

MODEL_DEVIATION = 0.5
"""Deviation of what the model says, as a distance: factors of mass of about 1.6 are one of it."""
MAX_DISTANCE = 30.0
"""Factors of inertia are tried up to this power of e."""
FLOOR = 1e-6
"""A model's pseudo-inertia has at least this of its largest eigenvalue in every direction."""
SIGNS = {"coulomb": 0.0, "viscous": 0.0, "armature": 0.0, "stiffness": 0.0, "damping": 0.0}
"""Parameters of joints that are never below a bound."""
SHARPNESS = 1e2, 1e3, 1e4, 1e5
"""Signals beside noise that the search goes through, each from where the one before ended; exact
data count as the last."""
TOLERANCE = 1e-10
STEP = 1e-6
"""Of the central differences of a body's parameters."""


class ConsistentFit(NamedTuple):
    """All parameters of a robot that can be, and what is known of them."""

    values: Vector
    """In the order of `Regression.parameters`, shape ``(p,)``."""
    covariance: Matrix
    """Of the model's distance and the log together, shape ``(p, p)``."""
    misfit: float
    """By how much the residual's square exceeds that of the unconstrained fit, in noise squared:
    about the number of base parameters where model and log agree, far more where the log asks for
    what no body has."""


def body_parameters(J: Matrix) -> Vector:
    """Return the ten parameters of a pseudo-inertia."""
    xx, yy, zz = J[1, 1] + J[2, 2], J[0, 0] + J[2, 2], J[0, 0] + J[1, 1]
    return np.array([J[3, 3], *J[:3, 3], xx, -J[0, 1], yy, -J[0, 2], -J[1, 2], zz])


class _Body(NamedTuple):
    """A body whose pseudo-inertia is ``root exp(S) root'``, with ``S`` symmetric."""

    first: int
    """Its first parameter."""
    root: Matrix
    """A root of the model's, shape ``(4, 4)``."""
    unknowns: int = 10
    """Ten numbers of ``S``, whose length is the distance from the model."""

    def parameters(self, theta: Vector) -> Vector:
        """Return the ten parameters at unknowns."""
        values, vectors = np.linalg.eigh(_symmetric(theta))
        grown = np.exp(np.clip(values, -MAX_DISTANCE, MAX_DISTANCE))
        return body_parameters(self.root @ (vectors * grown) @ vectors.T @ self.root.T)


class _Rotor(NamedTuple):
    """A motor of an elastic joint, which has no mass here and turns about one axis."""

    first: int
    model: Vector
    unknowns: int = 1
    """The logarithm of a factor."""

    def parameters(self, theta: Vector) -> Vector:
        """Return the ten parameters at the unknown."""
        return np.asarray(self.model * np.exp(np.clip(theta[0], -MAX_DISTANCE, MAX_DISTANCE)))


_UPPER = np.triu_indices(4)
_WEIGHT = np.where(_UPPER[0] == _UPPER[1], 1.0, np.sqrt(0.5))


def _symmetric(theta: Vector) -> Matrix:
    """Return the symmetric matrix whose Frobenius norm is the length of ten numbers."""
    S = np.zeros((4, 4))
    S[_UPPER] = _WEIGHT * theta
    S.T[_UPPER] = S[_UPPER]
    return S


def model_root(parameters: Vector) -> Matrix | None:
    """Return a root of the pseudo-inertia of a model's body; None of one without mass.

    One that no body has, such as a point mass or a rod without thickness, gets a little of it.
    """
    if not parameters[0] > 0.0:
        return None
    [J] = pseudo_inertia(parameters[None])
    com = J[:3, 3] / J[3, 3]
    spread = J[:3, :3] - np.outer(com, com) * J[3, 3]  # about the centre of mass
    values, vectors = np.linalg.eigh(spread)
    least = FLOOR * max(float(values[-1]), FLOOR * float(J[3, 3]))
    root: Matrix = np.zeros((4, 4))
    root[:3, :3] = vectors * np.sqrt(np.maximum(values, least))
    root[:, 3] = np.array([*com, 1.0]) * np.sqrt(J[3, 3])
    return root


def consistent_fit(
    regression: Regression, base: BaseParameters, fit: Fit, model: Vector
) -> ConsistentFit:
    r"""Return the most likely parameters that bodies can have.

    The least of $\lVert R K\pi - z\rVert^2 + \sum_b d(J_b, J_b^0)^2/\sigma_0^2$ over bodies'
    parameters, with friction, armature and springs not below zero.

    Args:
        regression: The columns.
        base: The base parameters, $\beta = K\pi$.
        fit: Their fit; its triangle is ``R`` and ``z``.
        model: What the robot's model says, shape ``(p,)``.
    """
    from scipy import optimize

    bodies = _unknown_bodies(base.map[:, : regression.inertial], model)
    joints = np.arange(regression.inertial, len(model))
    lower = np.array([SIGNS.get(regression.parameters[i].symbol, -np.inf) for i in joints])
    R, z = fit.triangle[:, :-1] @ base.map, fit.triangle[:, -1]
    ends = np.cumsum([0, *(body.unknowns for body in bodies)])
    k = int(ends[-1])
    # joints' parameters in their own deviations, so that all unknowns are of one size
    unit = np.linalg.norm(R[:, joints], axis=0)
    unit = 1.0 / np.where(unit > 0.0, unit, 1.0)

    def parameters(theta: Vector) -> Vector:
        values = model.copy()
        for body, first, last in zip(bodies, ends, ends[1:], strict=False):
            values[body.first : body.first + 10] = body.parameters(theta[first:last])
        values[joints] = unit * theta[k:]
        return values

    def jacobian(theta: Vector) -> Matrix:
        D: Matrix = np.zeros((len(model), len(theta)))
        for body, first, last in zip(bodies, ends, ends[1:], strict=False):
            for i in range(first, last):
                step = STEP * np.eye(last - first)[i - first]
                two = (body.parameters(theta[first:last] + sign * step) for sign in (1.0, -1.0))
                D[body.first : body.first + 10, i] = np.subtract(*two) / (2.0 * STEP)
        D[joints, k + np.arange(len(joints))] = unit
        return D

    prior: Matrix = np.hstack([np.eye(k), np.zeros((k, len(joints)))]) / MODEL_DEVIATION
    guess = model.copy()
    guess[base.independent] = fit.values  # of joints' parameters near to what comes of it
    low = np.concatenate([np.full(k, -np.inf), lower / unit])
    theta = np.concatenate([np.zeros(k), guess[joints] / unit])
    theta[k:] = np.maximum(theta[k:], low[k:] + 1.0)  # the search begins inside
    size = float(np.linalg.norm(z))
    for sharpness in SHARPNESS:
        share = min(1.0, sharpness / max(size, sharpness))
        A, b = share * R, share * z

        def residual(theta: Vector, A: Matrix = A, b: Vector = b) -> Vector:
            return np.concatenate([A @ parameters(theta) - b, theta[:k] / MODEL_DEVIATION])

        def slope(theta: Vector, A: Matrix = A) -> Matrix:
            return np.vstack([A @ jacobian(theta), prior])

        theta = optimize.least_squares(
            residual, theta, slope, bounds=(low, np.inf), method="trf", x_scale="jac",
            xtol=TOLERANCE, ftol=TOLERANCE, gtol=TOLERANCE, max_nfev=200,
        ).x  # fmt: skip
        if share == 1.0:
            break
    values, D = parameters(theta), jacobian(theta)
    inverse = np.linalg.pinv(slope(theta), rcond=1e-12)
    least = share * (fit.triangle[:, :-1] @ fit.values - z)
    e = A @ values - b
    spread = D @ inverse
    return ConsistentFit(values, spread @ spread.T, float(e @ e - least @ least))


def _unknown_bodies(columns: Matrix, model: Vector) -> list[_Body | _Rotor]:
    """Return the bodies of which motions can tell anything, and that are more than a name."""
    unknowns_of_bodies: list[_Body | _Rotor] = []
    for first in range(0, columns.shape[1], 10):
        own = model[first : first + 10]
        if not np.any(columns[:, first : first + 10]):
            continue
        root = model_root(own)
        if root is not None:
            unknowns_of_bodies.append(_Body(first, root))
        elif own.any():
            unknowns_of_bodies.append(_Rotor(first, own))
    return unknowns_of_bodies
