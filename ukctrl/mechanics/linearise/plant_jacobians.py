"""How a robot's acceleration changes with its state, in closed form."""

from __future__ import annotations

import numpy as np

from ukctrl.core.arrays import Matrix, Vector
from ukctrl.mechanics.dynamics import Dynamics
from ukctrl.robot import ElasticJoints, Snapshot
from ukctrl.robot.forces import AppliedForce, Dampers, Forces, Friction, JointSprings

SMOOTH_FORCES = (Dampers, Friction, JointSprings, ElasticJoints)


def split_smooth_forces(
    forces: Forces,
) -> tuple[tuple[AppliedForce, ...], tuple[AppliedForce, ...]]:
    """Return the forces with derivatives in closed form, and the others."""
    exact = tuple(term for term in forces.terms if isinstance(term, SMOOTH_FORCES))
    return exact, tuple(term for term in forces.terms if not isinstance(term, SMOOTH_FORCES))


def force_jacobians(terms: tuple[AppliedForce, ...], snapshot: Snapshot) -> tuple[Matrix, Matrix]:
    r"""Return how the sum of forces in closed form changes with ``dq`` and ``v``.

    | force | $\partial f/\partial \delta q$ | $\partial f/\partial v$ |
    |---|---|---|
    | damper $-d\,v$ | | $-d$ |
    | friction $-c \tanh(v/w) - d\,v$ | | $-c'\tanh(v/w) - (c/w)\,(1 - \tanh^2(v/w)) - d$ |
    | joint spring $-k\,(q - q_0)$ | $-k$ | |
    | elastic joint $\pm(K(\theta - q) + D(\dot\theta - \dot q))$ | $\pm K$ | $\pm D$ |

    Args:
        terms: The forces, of the kinds of `SMOOTH_FORCES`.
        snapshot: The state.
    """
    n, v = len(snapshot.v), snapshot.v
    by_q, by_v = np.zeros((n, n)), np.zeros((n, n))
    for term in terms:
        match term:
            case Dampers():
                by_v -= np.diag(term.damping)
            case Friction():
                np.subtract.at(by_v, (term.dofs, term.dofs), _friction_slope(term, v[term.dofs]))
            case JointSprings():
                np.subtract.at(by_q, (term.dofs, term.dofs), term.stiffness)
            case ElasticJoints():
                for rate, gain in ((by_q, term.stiffness), (by_v, term.damping)):
                    rate[term.links, term.motors] += gain
                    rate[term.motors, term.links] += gain
                    rate[term.links, term.links] -= gain
                    rate[term.motors, term.motors] -= gain
    return by_q, by_v


def _friction_slope(term: Friction, v: Vector) -> Vector:
    """Return the derivative of the friction on some velocities, its level included."""
    level, scale, excess, fall, viscous, _ = term.columns()
    risen = excess * np.exp(-((v / fall) ** 2))
    tanh = np.tanh(v / scale)
    slope: Vector = (level + risen) / scale * (1.0 - tanh**2) + viscous
    return slope - 2.0 * v / fall**2 * risen * tanh


def has_closed_form_jacobians(plant: Dynamics) -> bool:
    """Return whether all that acts on a robot has derivatives in closed form."""
    robot = plant.robot
    _, nonsmooth = split_smooth_forces(robot.forces)
    # passive rows add a reaction whose derivative is not worked out here
    return not nonsmooth and not robot.actuation.varies and not len(plant.passive)


def acceleration_jacobians(plant: Dynamics, a: Vector) -> tuple[Matrix, Matrix]:
    r"""Return the derivatives of $a = M^{-1}(f + B u - \mathrm{nle})$ with ``q`` and ``v``.

    $M\,\partial a/\partial x = \partial f/\partial x - \partial (M a + \mathrm{nle})/\partial x$ at
    a fixed ``a``, along the tangent of ``q``: of rigid bodies by the recursion that
    `Snapshot.force_derivatives` names.

    Args:
        plant: The robot at the state, which `has_closed_form_jacobians`.
        a: Its acceleration, shape ``(nv,)``.

    Returns:
        Shape ``(nv, nv)`` each; ``u`` is held.
    """
    from scipy.linalg.lapack import dpotrs

    s = plant.snapshot
    closed = force_jacobians(plant.robot.forces.terms, s)
    wholes = s.force_derivatives(a)
    pushed = np.hstack([force - whole for force, whole in zip(closed, wholes, strict=True)])
    slopes: Matrix = dpotrs(plant.L, pushed, lower=1)[0]
    return slopes[:, : len(a)], slopes[:, len(a) :]
