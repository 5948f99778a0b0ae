r"""Robots drawn from what a fit does not know.

The numbers of a fit are normal, with its covariance, under the condition that every body is
physically consistent: its pseudo-inertia

$$ J = \begin{pmatrix} \tfrac12 \mathrm{tr}(I)\,\mathbf 1 - I & m c \\ m c^\top & m \end{pmatrix} $$

is positive semidefinite (Wensing, Kim, Slotine, "Linear matrix inequalities for physically
consistent inertial parameter identification", IEEE RA-L 3(1), 2018). It is sampled by elliptical
slices (Murray, Adams, MacKay, "Elliptical slice sampling", AISTATS 2010), whose every step stays
consistent: plain draws hardly ever are where many bodies are near the border. A map that makes
every body consistent by itself (log-Cholesky, the nearest matrix) would move bodies one by one, and
with them the combinations that a log knows well, of parameters that it hardly knows one by one.
"""

from __future__ import annotations

import numpy as np

from ukctrl.core.arrays import Array, Flags, Indices, Matrix, Vector
from ukctrl.core.errors import InputError
from ukctrl_identification.identified_dynamics import (
    BODY_PARAMETERS,
    SPRINGS,
    DofFriction,
    IdentifiedDynamics,
)

FRICTION = ("coulomb", "viscous", "asymmetry")
"""What of a `DofFriction` is drawn; a static level moves with the Coulomb level."""
NOT_NEGATIVE = ("armature", "coulomb", "viscous", "damping")
LEAST_STIFFNESS = 0.01
"""Of the fit's: no spring is drawn without any."""
CONSISTENCY_RTOL = 1e-6
"""How far below zero an eigenvalue of a pseudo-inertia of unit diagonal may be: solvers and
exporters round, and loading a model allows as much."""
SLICES = 100
"""Steps from the fit to a draw. Far from the border each forgets half of the variance that is left
of the last."""
LEAST_ANGLE = 1e-9
"""Of a slice; where none that is larger is consistent, a step leads nowhere [rad]."""
LEAST_MOVE = 1e-3
"""Deviations that some parameter of a draw is off by at least: else the fit has no room around it.
"""


def parameter_names(dynamics: IdentifiedDynamics) -> list[tuple[str, str]]:
    """Return joint or velocity and name of all parameters, in the order of `stacked_parameters`.

    Ten of every body, then by velocity the armature, the Coulomb level, the damping, the asymmetry,
    then by elastic joint the stiffness and the damping of its spring.
    """
    names = [(joint, name) for joint in dynamics.bodies for name in BODY_PARAMETERS]
    names += [(velocity, "armature") for velocity in dynamics.armature]
    names += [(velocity, name) for name in FRICTION for velocity in dynamics.friction]
    return names + [(joint, name) for name in SPRINGS for joint in getattr(dynamics, name)]


def stacked_parameters(dynamics: IdentifiedDynamics) -> Vector:
    """Return all parameters as one vector, in the order of `parameter_names`."""
    friction = dynamics.friction.values()
    return np.array(
        [
            *(value for body in dynamics.bodies.values() for value in np.asarray(body)),
            *dynamics.armature.values(),
            *(getattr(one, name) for name in FRICTION for one in friction),
            *(value for name in SPRINGS for value in getattr(dynamics, name).values()),
        ],
        dtype=np.float64,
    )


def with_parameters(dynamics: IdentifiedDynamics, values: Vector) -> IdentifiedDynamics:
    """Return dynamics whose parameters are those of a vector, in the order of `parameter_names`.

    A static level stays as far above the Coulomb level as it was.
    """
    count = len(BODY_PARAMETERS)
    split = count * len(dynamics.bodies)
    rows = values[:split].reshape(-1, count)
    bodies = {joint: row.copy() for joint, row in zip(dynamics.bodies, rows, strict=True)}
    rest = iter(values[split:].tolist())
    armature = {velocity: next(rest) for velocity in dynamics.armature}
    columns = {name: [next(rest) for _ in dynamics.friction] for name in FRICTION}
    friction: dict[str, DofFriction] = {}
    for k, (velocity, one) in enumerate(dynamics.friction.items()):
        drawn = {name: column[k] for name, column in columns.items()}
        if one.static:
            drawn["static"] = one.static - one.coulomb + drawn["coulomb"]
        friction[velocity] = one._replace(**drawn)
    springs = ({joint: next(rest) for joint in getattr(dynamics, name)} for name in SPRINGS)
    return IdentifiedDynamics(bodies, armature, friction, *springs)


def draw_dynamics(
    mean: IdentifiedDynamics, covariance: Matrix, rng: np.random.Generator
) -> IdentifiedDynamics:
    """Return a physically consistent robot, drawn from a fit.

    Armature, Coulomb levels and damping that come out negative are zero, and springs keep
    `LEAST_STIFFNESS`.

    Args:
        mean: The fit.
        covariance: Of `stacked_parameters`, shape ``(n, n)``.
        rng: Random numbers.

    Raises:
        InputError: The covariance is none of these parameters, or a body of the fit that it is
            about is not consistent.
    """
    centre = stacked_parameters(mean)
    root = _square_root(covariance, len(centre))
    count = len(BODY_PARAMETERS)
    at = np.arange(count * len(mean.bodies)).reshape(-1, count)
    moved = np.flatnonzero(root[at].any(axis=(1, 2)))
    bad = moved[~is_consistent(centre[at[moved]])]
    if bad.size:
        raise InputError(
            f"the body of joint '{list(mean.bodies)[bad[0]]}' must be physically consistent for "
            "robots to be drawn around it; fit it so."
        )
    step = _consistent_step(centre, root, at[moved], rng)
    deviations = np.linalg.norm(root, axis=1)
    if (deviations > 0.0).any() and (np.abs(step) <= LEAST_MOVE * deviations).all():
        raise InputError(
            "no body in reach of the covariance is physically consistent but those of the fit, "
            "which are points or rods; fit it nearer to bodies that have an extent, such as those "
            "of the model file."
        )
    names = [name for _, name in parameter_names(mean)]
    lowest = np.where(np.isin(names, NOT_NEGATIVE), 0.0, -np.inf)
    sprung = np.isin(names, "stiffness")
    lowest[sprung] = LEAST_STIFFNESS * centre[sprung]
    return with_parameters(mean, np.maximum(centre + step, lowest))


def _consistent_step(
    centre: Vector, root: Matrix, bodies: Indices, rng: np.random.Generator
) -> Vector:
    """Return a step to consistent bodies, whose places are given, shape ``(k, 10)``."""
    step: Vector = np.zeros(len(centre))
    for _ in range(SLICES):
        other = root @ rng.standard_normal(len(centre))
        angle = rng.uniform(0.0, 2.0 * np.pi)
        low, high = angle - 2.0 * np.pi, angle
        while high - low > LEAST_ANGLE:
            tried = np.cos(angle) * step + np.sin(angle) * other
            if is_consistent((centre + tried)[bodies]).all():
                step = tried
                break
            low, high = (angle, high) if angle < 0.0 else (low, angle)
            angle = rng.uniform(low, high)
    return step


def is_consistent(bodies: Matrix) -> Flags:
    """Return of every body whether its pseudo-inertia is positive semidefinite, shape ``(k,)``.

    Args:
        bodies: `BODY_PARAMETERS` in lines, shape ``(k, 10)``.
    """
    J = pseudo_inertia(bodies)
    diagonal = J.diagonal(axis1=1, axis2=2)
    scale = np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0))
    least = np.linalg.eigvalsh(J / (scale[:, :, None] * scale[:, None, :]))[:, 0]
    consistent: Flags = least >= -CONSISTENCY_RTOL
    return consistent


def pseudo_inertia(bodies: Matrix) -> Array:
    """Return the pseudo-inertias of bodies, shape ``(k, 4, 4)``; see `is_consistent`."""
    m, h, (xx, xy, yy, xz, yz, zz) = bodies[:, 0], bodies[:, 1:4], bodies[:, 4:].T
    J = np.zeros((len(bodies), 4, 4))
    inertia = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]).transpose(2, 0, 1)
    J[:, :3, :3] = 0.5 * (xx + yy + zz)[:, None, None] * np.eye(3) - inertia
    J[:, :3, 3] = J[:, 3, :3] = h
    J[:, 3, 3] = m
    return J


def _square_root(covariance: Matrix, count: int) -> Matrix:
    """Return the symmetric square root in units of the deviations: the same on every machine."""
    C = np.asarray(covariance, dtype=np.float64)
    if C.shape != (count, count):
        raise InputError(
            f"covariance must have shape ({count}, {count}), as there are {count} parameters; got "
            f"{C.shape}."
        )
    deviation = np.sqrt(np.abs(np.diag(C)))
    unit = np.where(deviation > 0.0, deviation, 1.0)
    R = C / np.outer(unit, unit)
    eigenvalues, V = np.linalg.eigh(0.5 * (R + R.T)) if np.isfinite(R).all() else (-np.ones(1), R)
    tolerance = CONSISTENCY_RTOL * max(1.0, float(eigenvalues[-1]) if count else 1.0)
    if count and (eigenvalues[0] < -tolerance or np.abs(R - R.T).max() > tolerance):
        raise InputError("covariance must be symmetric and positive semidefinite, and is not.")
    root: Matrix = unit[:, None] * (V * np.sqrt(np.maximum(eigenvalues, 0.0))) @ V.T
    return root
