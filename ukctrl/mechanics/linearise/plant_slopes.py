"""How a robot's acceleration changes with its state, in closed form."""

from __future__ import annotations

import numpy as np

from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.program import Steps
from ukctrl.mechanics.dynamics import Dynamics
from ukctrl.robot import ElasticJoints, Snapshot
from ukctrl.robot.forces import Dampers, Forces, Friction, JointSprings, Term

EXACT = (Dampers, Friction, JointSprings, ElasticJoints)


def parted(forces: Forces) -> tuple[tuple[Term, ...], tuple[Term, ...]]:
    """Return the forces with derivatives in closed form, and the others."""
    exact = tuple(term for term in forces.terms if isinstance(term, EXACT))
    return exact, tuple(term for term in forces.terms if not isinstance(term, EXACT))


def derivatives(terms: tuple[Term, ...], snapshot: Snapshot) -> tuple[Matrix, Matrix]:
    r"""Return how the sum of forces in closed form changes with ``dq`` and ``v``.

    | force | $\partial f/\partial \delta q$ | $\partial f/\partial v$ |
    |---|---|---|
    | damper $-d\,v$ | | $-d$ |
    | dry friction $-c \tanh(v/w)$ | | $-(c/w)\,(1 - \tanh^2(v/w))$ |
    | joint spring $-k\,(q - q_0)$ | $-k$ | |
    | elastic joint $\pm(K(\theta - q) + D(\dot\theta - \dot q))$ | $\pm K$ | $\pm D$ |

    Args:
        terms: The forces, of the kinds of `EXACT`.
        snapshot: The state.
    """
    n, v = len(snapshot.v), snapshot.v
    by_q, by_v = np.zeros((n, n)), np.zeros((n, n))
    for term in terms:
        match term:
            case Dampers():
                by_v -= np.diag(term.damping)
            case Friction():
                slope = term.level / term.scale * (1.0 - np.tanh(v[term.dofs] / term.scale) ** 2)
                np.subtract.at(by_v, (term.dofs, term.dofs), slope)
            case JointSprings():
                np.subtract.at(by_q, (term.dofs, term.dofs), term.stiffness)
            case ElasticJoints():
                for rate, gain in ((by_q, term.stiffness), (by_v, term.damping)):
                    rate[term.links, term.motors] += gain
                    rate[term.motors, term.links] += gain
                    rate[term.links, term.links] -= gain
                    rate[term.motors, term.motors] -= gain
    return by_q, by_v


def has_slopes(plant: Dynamics) -> bool:
    """Return whether all that acts on a robot has derivatives in closed form."""
    robot = plant.robot
    _, others = parted(robot.forces)
    return not others and not robot.actuation.varies and not len(plant.passive)


def acceleration_slopes(plant: Dynamics, a: Vector) -> tuple[Matrix, Matrix]:
    r"""Return the derivatives of $a = M^{-1}(f + B u - \mathrm{nle})$ with ``q`` and ``v``.

    $M\,\partial a/\partial x = \partial f/\partial x - \partial (M a + \mathrm{nle})/\partial x$ at
    a fixed ``a``, along the tangent of ``q``: of rigid bodies by the recursion that
    `Snapshot.force_derivatives` names.

    Args:
        plant: The robot at the state, which `has_slopes`.
        a: Its acceleration, shape ``(nv,)``.

    Returns:
        Shape ``(nv, nv)`` each; ``u`` is held.
    """
    from scipy.linalg.lapack import dpotrs

    s = plant.snapshot
    closed = derivatives(plant.robot.forces.terms, s)
    wholes = s.force_derivatives(a)
    pushed = np.hstack([force - whole for force, whole in zip(closed, wholes, strict=True)])
    slopes: Matrix = dpotrs(plant.L, pushed, lower=1)[0]
    return slopes[:, : len(a)], slopes[:, len(a) :]


def power_slopes(plant: Dynamics, u: Vector) -> Vector:
    """Return how `Dynamics.power` changes with ``v``, shape ``(nv,)``; it knows no ``q``."""
    s = plant.snapshot
    lost: Vector = np.zeros(len(s.v))
    for term in plant.robot.forces.terms:
        _, by_v = derivatives((term,), s)
        rubs = by_v @ s.v
        if isinstance(term, Friction):
            rubs = np.zeros(len(s.v))
            Steps(term.steps(s, rubs))()
        lost += rubs + s.v @ by_v
    slopes: Vector = s.B @ u + lost
    return slopes
